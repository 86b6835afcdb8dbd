#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The teaching labs as students and teachers use them: ./check, make trace, the tarball, grade-all.
# What each lab's steps find is the work of labs/.solutions/prove.
#
# run_here and similar functions set the variables; each @test is a subshell:
# shellcheck disable=SC2030,SC2031,SC2034,SC2154

# bats file_tags=beside

load helpers
load labs

setup_file() {
    lab_grader_exists || return 0
    file_requires require_tool gcc make jq python3 || return 0
    # Three submissions of lab 1, built once: the solution, the template, and a solution that loses
    # the points of some steps, first those of `build`.
    lab_copy 1 "$BATS_FILE_TMPDIR/right" solution
    lab_copy 1 "$BATS_FILE_TMPDIR/template"
    lab_copy 1 "$BATS_FILE_TMPDIR/half" solution
    lab_break 1 "$BATS_FILE_TMPDIR/half" crc-big-endian
    for name in right template half; do
        make -s -C "$BATS_FILE_TMPDIR/$name" build/student 3>&- &
    done
    wait
}

setup() {
    skip_with_file
    cd "$BATS_TEST_TMPDIR" || return 1
}

# --- ./check -----------------------------------------------------------------------------------------------------------------

# built NAME: a copy of a submission of setup_file, in lab
built() {
    cp -a "$BATS_FILE_TMPDIR/$1" lab
}

@test "./check prints all points of a solution, and has status 0" {
    built right
    run_here lab/check
    assert_status 0
    assert_output_has 'lab 1, '
    assert_output_has ': seed 0'
    assert_output_has '100 of 100 points'
    assert_output_lacks FAIL
}

@test "./check of the template: no points, and the first failing step in words" {
    built template
    run_here lab/check
    assert_status 1
    assert_output_has 'first failing step: 1, crc'
    assert_output_has 'rule: RFC 5044'
    assert_output_has $'\n0 of 100 points'
    # Every step fails, and none passes.
    assert_equal "$(grep -c '^  FAIL ' <<<"$output")" "$(grep -cE '^  (FAIL|ok) ' <<<"$output")"
}

@test "./check: the same seed gives the same report; --step runs one step" {
    local first

    built half
    run_here lab/check --seed 5
    assert_status 1
    first=$output
    assert_output_has 'first failing step: 3, build'
    assert_output_has '  expected  '
    assert_output_has '  seen      '
    run_here lab/check --seed 5
    assert_equal "$output" "$first"
    # Another seed has other octets in this failure.
    run_here lab/check --seed 6
    assert_output_has 'first failing step: 3, build'
    run_here lab/check --step size
    assert_status 0
    assert_equal "$(grep -cE '^  (FAIL|ok) ' <<<"$output")" 1
    run_here lab/check --step build
    assert_status 1
    assert_output_has '0 of 100 points'
}

@test "./check --json is one line; --brief is one word or two" {
    built half
    run_here lab/check --json --seed 18446744073709551615
    assert_status 1
    assert_equal "$(wc -l <<<"$output")" 1
    assert_jsonl '.[0] | [.event, .lab, .name, .seed, .sanitized, .of, .points_that_need_root]' \
        '["lab",1,"01-framing","18446744073709551615",false,100,0]'
    assert_jsonl '.[0] | [.points == ([.steps[].points] | add), ([.steps[].of] | add), .first_failure.step]' '[true,100,"build"]'
    assert_jsonl '.[0].steps[0] | keys' '["name","of","points","verdict"]'
    assert_jsonl '.[0].first_failure | keys' '["case","clause","expected","function","seen","step","text"]'
    points=$(jq .points <<<"$output")
    run_here lab/check --brief
    assert_status 1
    assert_output_is "$points build"
    # grade-all reads the first line, and the report after it.
    run_here "$IW_LAB" check 1 --student lab/build/student --brief --report
    assert_equal "$(head -n 2 <<<"$output" | tr '\n' ' ' | cut -d , -f 1)" "$points build lab 1"
    assert_equal "$(tail -n 1 <<<"$output")" "$points of 100 points"
    run_here lab/check --json --sanitize
    assert_jsonl '.[0] | [.sanitized, .first_failure.step]' '[true,"build"]'
}

@test "./check of code that does not compile, wrong options, and no grader" {
    built template
    run_here lab/check --help
    assert_status 0
    assert_output_has 'usage: ./check [--seed N] [--step NAME] [--sanitize] [--speed] [--json | --brief]'
    run_here lab/check --fast
    assert_status 2
    assert_stderr_is "check: unknown argument '--fast'; see ./check --help"
    run_here lab/check --seed
    assert_status 2
    assert_stderr_is 'check: --seed needs a value'
    run_here lab/check --seed x
    assert_status 2
    assert_stderr_has '--seed x: not a number; use 0 to 18446744073709551615'
    run_here lab/check --step nothing
    assert_status 2
    assert_stderr_has '--step nothing: not a step of this lab'
    echo 'int x = ;' >>lab/framing.c
    run_here lab/check
    assert_status 4
    assert_stderr_has 'check: your code does not compile'
    assert_equal "$output" ''
    IW_LAB=$BATS_TEST_TMPDIR/nowhere run_here lab/check
    [ "$status" -ne 0 ] || fail_with 'a check without a grader succeeds'
    [ -x /usr/libexec/iwarp-labs/iwarp-lab ] || [ -x /usr/local/libexec/iwarp-labs/iwarp-lab ] || {
        run_here env -u IW_LAB lab/check
        assert_status 3
        assert_stderr_has 'check: the grader is not installed; install the package iwarp-labs'
    }
}

# --- the grader --------------------------------------------------------------------------------------------------------------

@test "iwarp-lab refuses wrong command lines with status 2" {
    local message arguments

    while IFS='|' read -r arguments message; do
        # shellcheck disable=SC2086
        run_here "$IW_LAB" $arguments
        assert_status 2
        assert_stderr_has "$message"
        assert_equal "$output" '' "$arguments"
    done <<'END'
|no command; use check
judge 1|judge: not a command
check|no lab; use 1 to 10
check 11|11: not a lab; use 1 to 10
check 1x|1x: not a lab; use 1 to 10
check 1|no --student FILE
check 1 --student x --step y|--step y: not a step of this lab
check 1 2 --student x|2: too many arguments
check 1 --student x --seed -1|--seed -1: not a number
check 1 --student x --seed 18446744073709551616|--seed 18446744073709551616: not a number
trace 1 --student x|no --output FILE
captures|no --output DIR
peer 8 --student x|peer: labs 1 to 5 have one
peer 1 --student x --port 65536|--port 65536: not a number; use 0 to 65535
peer 1 --student x --size 65536|--size 65536: not a number; use 26 to 65535
peer 1 --student x --count 0|--count 0: not a number
END
    run_here "$IW_LAB" check 1 --student "$BATS_TEST_TMPDIR/none"
    assert_status 4
    assert_stderr_has "$BATS_TEST_TMPDIR/none: no such file or directory"
    run_here "$IW_LAB" list
    assert_status 0
    # The steps of each lab have 100 points together.
    assert_equal "$(awk '/^[0-9]/ { labs++ } /^ / { points += $2 } END { print points / labs }' <<<"$output")" 100
}

@test "the process of a module ends with its grader, and runs in a user namespace without other users" {
    local grader module

    lab_copy 1 lab
    echo '__attribute__((constructor)) static void loop(void) { for (volatile int i = 0;; i++); }' >>lab/framing.c
    run_here make -s -C lab build/student
    assert_status 0
    setpriv --pdeathsig TERM "$IW_LAB" check 1 --student lab/build/student >/dev/null 2>&1 3>&- &
    grader=$!
    wait_until 5 pgrep -P $grader -x -f student || fail_with 'the grader starts no process'
    module=$(pgrep -P $grader -x -f student)
    assert_equal "$(sed -n 's/^CapPrm:[[:space:]]*//p; s/^NoNewPrivs:[[:space:]]*//p; s/^Seccomp:[[:space:]]*//p' "/proc/$module/status" | xargs)" \
        '0000000000000000 1 2'
    kill -KILL $grader
    wait_until 3 iw_gone "$module" || fail_with 'the process of the module is left'
    unshare --user --map-root-user true || skip 'needs userns: not permitted here'
    run_here unshare --user --map-root-user "$IW_LAB" check 1 --student "$BATS_FILE_TMPDIR/right/build/student"
    assert_status 0
    assert_output_has '100 of 100 points'
}

@test "make peer: a connection with mpa-probe, in both roles" {
    local port

    built right
    port=$(free_port)
    IW_READY='listening on' serve_here make -s -C lab peer PORT="$port"
    run_here mpa-probe --app rping -p "$port" -c 3 127.0.0.1
    assert_status 0
    wait_served
    assert_status 0
    assert_output_has '3 rounds of rping, all data correct'
    port=$(free_port)
    serve_here mpa-probe --listen --app rping --once -p "$port"
    run_here make -s -C lab peer PORT="$port" TO=127.0.0.1
    assert_status 0
    assert_output_has '10 rounds of rping, all data correct'
    wait_served
    assert_status 0
}

@test "make trace of two labs draws what the module did" {
    local lab

    require_tool gnuplot
    export IW_PLOT=$IW_TOP/scripts/plot
    lab_copy 2 lab2 solution
    cp -a "$BATS_FILE_TMPDIR/right" lab1
    for lab in 1 2; do
        run_here make -s -C lab$lab trace
        assert_status 0
        run_here python3 "$BATS_TEST_DIRNAME/plot_check.py" svg lab$lab/trace.svg
        assert_status 0
    done
}

# --- the tarball -------------------------------------------------------------------------------------------------------------

@test "dist-labs: twice the same tarball, without solutions; each folder compiles by itself" {
    local tar folder

    for folder in a b; do
        run_here "$IW_TOP/scripts/dist-labs" "$BATS_TEST_TMPDIR/$folder"
        assert_status 0
    done
    tar=${output##*/}
    assert_same_file "a/$tar" "b/$tar"
    tar -tvzf "a/$tar" >list
    # Files alone, which all can read, owned by 0.
    run_here grep -vE '^-rw-r--r-- 0/0|^-rwxr-xr-x 0/0' list
    assert_equal "$output" ''
    run_here grep -E '/(\.solutions|grader|common|build)/|labs\.mk|wrong\.tsv|answers\.md' list
    assert_equal "$output" ''
    assert_equal "$(grep -cE '/[01][0-9]-[a-z]+/check$' list)" "$(find "$IW_TOP"/labs/[01][0-9]-* -maxdepth 0 | wc -l)"
    grep -q '/grade-all$' list
    mkdir out
    tar -xzf "a/$tar" -C out
    for folder in out/*/[01][0-9]-*; do
        run_here make -s -j2 -C "$folder" CFLAGS=-O0
        assert_status 0
        assert_equal "$stderr" '' "$folder"
    done
}

# --- grade-all ---------------------------------------------------------------------------------------------------------------

grade_all() {
    run_here "$IW_TOP/labs/grade-all" "$@"
    [ "$status" -ne 3 ] || skip "needs namespaces: ${stderr##*grade-all: }"
}

# student NAME: an empty submission of lab 1; $STUDENT
student() {
    STUDENT=class/$1/01-framing
    mkdir -p "$STUDENT"
}

# hostile NAME KIND: the template, with code that attacks the grader
hostile() {
    student "$1"
    {
        cat "$IW_TOP/labs/01-framing/framing.c"
        printf '#define HOSTILE_%s 1\n#define VICTIM "%s"\n' "$2" "$BATS_TEST_TMPDIR/victim"
        cat "$IW_TOP/labs/.solutions/hostile.h"
    } >"$STUDENT/framing.c"
}

# line STUDENT: its line of the CSV
line() {
    grep -F "\"$1\"," <<<"$output"
}

none_runs() {
    ! pgrep -f "bwrap.*$TMPDIR"
}

# nothing_is_left: no process of a submission, and no temporary file
nothing_is_left() {
    run_here find "$TMPDIR" -mindepth 1
    assert_equal "$output" ''
    none_runs >/dev/null || fail_with 'a process is left'
}

class_begins() {
    require_tool bwrap prlimit
    export TMPDIR=$BATS_TEST_TMPDIR/tmp
    mkdir class "$TMPDIR"
    echo secret >victim
    chmod 666 victim
}

@test "grade-all: right, half right, empty, and broken submissions, and reports" {
    local solution=$IW_TOP/labs/.solutions

    class_begins
    student right
    cp "$solution/01-framing/framing.c" "$STUDENT"
    # A file can also be in the folder of the student itself.
    cp "$solution/02-tagged/tagged.c" class/right
    student template
    cp "$IW_TOP/labs/01-framing/framing.c" "$STUDENT"
    for name in half 'O"Neil, "Mary"'; do
        student "$name"
        cp "$BATS_FILE_TMPDIR/half/framing.c" "$STUDENT"
    done
    student broken
    echo 'int x = ;' >"$STUDENT/framing.c"
    mkdir class/empty
    grade_all --lab 1 --lab 2 --seed 4 --reports reports class
    assert_status 0
    assert_equal "$(head -n 1 <<<"$output")" 'student,01-framing,02-tagged,sum,first failing steps'
    assert_equal "$(line right)" '"right",100,100,200,'
    assert_equal "$(line template)" '"template",0,,0,01-framing:crc'
    assert_equal "$(line broken)" '"broken",0,,0,01-framing:(does-not-compile)'
    assert_equal "$(line empty)" '"empty",,,0,'
    [[ $(line half) =~ ^'"half",'([1-9][0-9]?),,([1-9][0-9]?),01-framing:build$ ]] || fail_with 'the line of half is wrong'
    assert_equal "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
    assert_equal "$(grep Neil <<<"$output")" "\"O\"\"Neil, \"\"Mary\"\"\"$(line half | sed 's/^"half"//')"
    assert_equal "$(wc -l <<<"$output")" 7
    grep -q '^100 of 100 points' reports/right-01-framing.txt
    grep -q ': seed 4$' reports/right-02-tagged.txt
    grep -q 'first failing step: 3, build' "reports/O\"Neil, \"Mary\"-01-framing.txt"
    grep -q 'framing.c:1:' reports/broken-01-framing.txt
    nothing_is_left
    # Reports of an earlier run are replaced.
    rm -rf class/[!r]*
    grade_all --lab 1 --reports reports class
    assert_status 0
    assert_equal "$(grep -c 'of 100 points' reports/right-01-framing.txt)" 1
    grep -q ': seed 0$' reports/right-01-framing.txt
}

@test "grade-all: submissions that attack get no points and change nothing" {
    class_begins
    student 0-right
    cp "$BATS_FILE_TMPDIR"/right/framing.[ch] "$STUDENT"
    student device
    echo '#include "/dev/zero"' >"$STUDENT/framing.c"
    student shadow
    echo '#include "/etc/shadow"' >"$STUDENT/framing.c"
    student neighbour
    echo "#include \"$BATS_TEST_TMPDIR/class/0-right/01-framing/framing.c\"" >"$STUDENT/framing.c"
    student link
    ln -s ../../0-right/01-framing/framing.c "$STUDENT/framing.c"
    mkdir class/folder-link class/fifo
    ln -s ../0-right/01-framing class/folder-link/01-framing
    ln -s 0-right class/whole-link
    mkfifo class/fifo/framing.c
    hostile print PRINT
    hostile fork FORK
    hostile write WRITE
    hostile loop LOOP
    grade_all --lab 1 --jobs 4 --reports reports class
    assert_status 0
    assert_equal "$(line 0-right)" '"0-right",100,100,'
    for name in device shadow neighbour; do
        assert_equal "$(line $name)" "\"$name\",0,0,01-framing:(does-not-compile)"
    done
    for name in print fork write loop; do
        assert_equal "$(line $name)" "\"$name\",0,0,01-framing:crc"
    done
    # A link is not a submission.
    for name in link folder-link fifo; do
        assert_equal "$(line $name)" "\"$name\",,0,"
    done
    assert_output_lacks whole-link
    ! grep -q root: reports/shadow-* || fail_with 'a report has lines of /etc/shadow'
    assert_equal "$(cat victim)" secret
    [ ! -e /tmp/iwarp-lab-hostile ] || fail_with 'a file is left in /tmp'
    nothing_is_left
}

@test "grade-all --sanitize gives the lower points" {
    class_begins
    student overrun
    # An overrun that only a sanitizer finds: of a variable of the module.
    {
        cat "$IW_TOP/labs/.solutions/01-framing/framing.c"
        echo 'static volatile char small[3], after[64];'
        echo '__attribute__((constructor)) static void overrun(void) { volatile int i = 3; small[i] = after[0]; }'
    } >"$STUDENT/framing.c"
    grade_all --lab 1 class
    assert_equal "$(line overrun)" '"overrun",100,100,'
    grade_all --lab 1 --sanitize class
    assert_equal "$(line overrun)" '"overrun",0,0,01-framing:crc'
}

@test "grade-all that is ended leaves no process and no file; --time ends a check" {
    local grader

    class_begins
    hostile loop LOOP
    grade_all --lab 1 --time 2 class
    assert_status 0
    assert_equal "$(line loop)" '"loop",0,0,01-framing:(stopped)'
    setpriv --pdeathsig TERM "$IW_TOP/labs/grade-all" --lab 1 class >csv 2>err 3>&- &
    grader=$!
    # The module is built, and does not return for 8 s.
    wait_until 15 sh -c "ls $TMPDIR/*/submission.*/build/student" || fail_with 'grade-all starts no check'
    kill -TERM $grader
    wait_until 4 iw_gone $grader || fail_with 'grade-all does not end'
    wait $grader || status=$?
    assert_equal "$status" 130
    wait_until 2 none_runs || fail_with 'a process is left'
    nothing_is_left
}

@test "grade-all refuses wrong options" {
    local message arguments

    mkdir class
    while IFS='|' read -r arguments message; do
        # shellcheck disable=SC2086
        run_here "$IW_TOP/labs/grade-all" $arguments
        assert_status 2
        assert_stderr_is "grade-all: $message"
    done <<'END'
|no DIR; see --help
none|none: not a folder
--fast class|unknown option --fast; see --help
--seed|--seed needs a value
--seed x class|--seed x: not a number
--lab 0 class|--lab 0: at least 1
--jobs 0 class|--jobs 0: at least 1
--memory 1 class|--memory 1: at least 64
class class|class: only one DIR
END
    run_here "$IW_TOP/labs/grade-all" --help
    assert_status 0
    assert_output_has 'usage: grade-all'
    if command -v bwrap >/dev/null; then
        run_here "$IW_TOP/labs/grade-all" --lab 77 class
        assert_status 2
        assert_stderr_is 'grade-all: no such lab: 77'
        IW_LAB=$BATS_TEST_TMPDIR/none run_here "$IW_TOP/labs/grade-all" class
        assert_status 3
    fi
}
