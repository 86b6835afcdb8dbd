#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# scripts/check and scripts/run-tests: the two levels, the count, the status line.

# bats file_tags=beside,plain

load helpers

# Three tests in two files; --quick runs one of them.
setup_file() {
    mkdir "$BATS_FILE_TMPDIR/t"
    printf '%s\n' '@test "always" { true; }' '# bats test_tags=all' '@test "one of all" { true; }' >"$BATS_FILE_TMPDIR/t/some.bats"
    printf '%s\n' '# bats file_tags=beside,all' '@test "a file of all" { true; }' >"$BATS_FILE_TMPDIR/t/whole.bats"
}

setup() {
    cd "$IW_TOP" || return 1
    export BATS_FILES="$BATS_FILE_TMPDIR/t/some.bats $BATS_FILE_TMPDIR/t/whole.bats"
    unset IW_MUST_RUN IW_TRIES IW_TEST_LIMIT MAKEFLAGS MAKELEVEL
}

run_tests() {
    IW_TIMEOUT=60 run_here env IW_TIME_FACTOR=1 scripts/run-tests --build "$BATS_TEST_TMPDIR/b" "$@"
}

@test "all tests run without --quick, with it those without the tag" {
    run_tests bats
    assert_status 0
    assert_output_has 'ok    bats/whole'
    assert_equal "$(tail -n 1 <<<"$output")" '3 passed, 0 failed, 0 skipped'
    run_tests --quick bats
    assert_status 0
    assert_output_lacks bats/whole
    assert_equal "$(tail -n 1 <<<"$output")" '1 passed, 0 failed, 0 skipped'
}

@test "files with and without the tags of the order all run, those that compile at a low priority" {
    local tag

    for tag in waits compiles; do
        # shellcheck disable=SC2016
        printf '%s\n' "# bats file_tags=all,$tag" '@test "priority" { echo "# priority $(nice)" >&3; }' >"$BATS_TEST_TMPDIR/$tag.bats"
    done
    sed 1d "$BATS_TEST_TMPDIR/waits.bats" >"$BATS_TEST_TMPDIR/alone.bats"
    BATS_FILES="$(echo "$BATS_TEST_TMPDIR"/*.bats)" run_tests bats
    assert_status 0
    assert_equal "$(tail -n 1 <<<"$output")" '3 passed, 0 failed, 0 skipped'
    assert_equal "$(grep -h '^# priority' "$BATS_TEST_TMPDIR"/b/test-logs/bats-{alone,compiles,waits}.tap | tr '\n' ' ')" \
        "# priority $(nice) # priority 19 # priority $(nice) "
}

@test "a failure, a skip without a reason and a file without tests are failures" {
    printf '%s\n' '@test "fails" { false; }' '@test "skips" { skip "why not"; }' '@test "passes" { true; }' >"$BATS_TEST_TMPDIR/some.bats"
    : >"$BATS_TEST_TMPDIR/none.bats"
    BATS_FILES="$BATS_TEST_TMPDIR/some.bats $BATS_TEST_TMPDIR/none.bats" run_tests bats
    assert_status 1
    assert_output_has "a skip must say 'needs WORD: reason', this one said 'why not'"
    assert_output_has 'none::(all) (ran no test)'
    assert_equal "$(tail -n 1 <<<"$output")" '1 passed, 3 failed, 0 skipped'
}

@test "a test that does not end fails by name, its processes are shown, and its file continues" {
    printf '%s\n' '@test "first" { true; }' '@test "a_hang (of 1%), it'"'"'s long" { sleep 987 || true; }' '@test "last" { true; }' \
        >"$BATS_TEST_TMPDIR/some.bats"
    BATS_FILES=$BATS_TEST_TMPDIR/some.bats IW_TEST_LIMIT=10 run_tests bats
    assert_status 1
    assert_output_has "some::a_hang (of 1%), it's long (no end within 10 s)"
    grep -qE '\| +[0-9]+ S[a-zN<+]* +[0-9]+ [^ ]+ +sleep 987$' <<<"$output" || fail_with 'the process is not shown'
    assert_equal "$(tail -n 1 <<<"$output")" '2 passed, 1 failed, 0 skipped'
}

@test "a program that failed runs again with longer time limits, if IW_TRIES permits it" {
    mkdir -p "$BATS_TEST_TMPDIR/tests/bats"
    ln -s "$IW_TOP"/tests/bats/*.bash "$BATS_TEST_TMPDIR/tests/bats"
    printf '%s\n' 'load helpers' '@test "slow" { IW_TIMEOUT=1 run_here sleep 2; assert_status 0; }' '@test "stuck" { sleep 16; }' \
        >"$BATS_TEST_TMPDIR/tests/bats/slow.bats"
    BATS_FILES=$BATS_TEST_TMPDIR/tests/bats/slow.bats IW_TEST_LIMIT=8 run_tests bats
    assert_status 1
    assert_output_has '(ended after 1 s)'
    assert_equal "$(tail -n 1 <<<"$output")" '0 passed, 2 failed, 0 skipped'
    BATS_FILES=$BATS_TEST_TMPDIR/tests/bats/slow.bats IW_TEST_LIMIT=8 IW_TRIES=2 run_tests bats
    assert_status 0
    assert_output_has 'bats: slow::slow (go 1)'
    assert_equal "$(tail -n 1 <<<"$output")" '2 passed, 0 failed, 0 skipped'
}

# shellcheck disable=SC2016
@test "of a file only the failed tests run again, but all if a failure belongs to no test, or if they are ordered" {
    local file=$BATS_TEST_TMPDIR/some.bats

    export SEEN=$BATS_TEST_TMPDIR
    # The first test fails in its first run, the second one would fail in its second run.
    printf '%s\n' '@test "a (b) [c] d|e.f* g, it'"'"'s ^h" { [ -e "$SEEN/a" ] || ! touch "$SEEN/a"; }' \
        '@test "once" { mkdir "$SEEN/once"; }' '@test "never" { [ -e "$SEEN/never" ]; }' >"$file"
    BATS_FILES=$file IW_TRIES=2 run_tests bats
    assert_status 1
    assert_output_has "some::a (b) [c] d|e.f* g, it's ^h (go 1)"
    assert_output_has 'bats: some::never'
    assert_equal "$(tail -n 1 <<<"$output")" '2 passed, 1 failed, 0 skipped'
    touch "$SEEN/never"
    rmdir "$SEEN/once"
    echo 'teardown_file() { [ -e "$SEEN/t" ] || ! touch "$SEEN/t"; }' >>"$file"
    BATS_FILES=$file IW_TRIES=2 run_tests bats
    assert_status 1
    assert_output_has 'bats: some::once'
    assert_equal "$(tail -n 1 <<<"$output")" '2 passed, 1 failed, 0 skipped'
    printf '%s\n' '# bats file_tags=all,ordered' '@test "first" { echo >>"$SEEN/first"; }' '@test "second" { [ "$(wc -l <"$SEEN/first")" -eq 2 ]; }' >"$file"
    BATS_FILES=$file IW_TRIES=2 run_tests bats
    assert_status 0
    assert_equal "$(tail -n 1 <<<"$output")" '2 passed, 0 failed, 0 skipped'
}

@test "a skip is a failure when IW_MUST_RUN names its reason" {
    printf '%s\n' '@test "skips" { skip "needs raw: no"; }' '@test "passes" { true; }' >"$BATS_TEST_TMPDIR/some.bats"
    export BATS_FILES=$BATS_TEST_TMPDIR/some.bats
    run_tests bats
    assert_status 0
    assert_equal "$(tail -n 1 <<<"$output")" '1 passed, 0 failed, 1 skipped'
    IW_MUST_RUN=raw run_tests bats
    assert_status 1
    assert_equal "$(tail -n 1 <<<"$output")" '1 passed, 1 failed, 0 skipped'
}

@test "a terminal shows how many of the programs have ended, and the time left" {
    printf '%s\n' '@test "waits" { sleep 3; }' >"$BATS_TEST_TMPDIR/waits.bats"
    # script(1) starts its command with $SHELL. The tests need functions that bats exports, and dash
    # does not pass functions on.
    BATS_FILES=$BATS_TEST_TMPDIR/waits.bats TERM=xterm IW_TIMEOUT=60 SHELL=$BASH \
        run_here script -qec "scripts/run-tests --build '$BATS_TEST_TMPDIR/b' bats" "$BATS_TEST_TMPDIR/typescript"
    assert_status 0
    output=$(tr '\r' '\n' <"$BATS_TEST_TMPDIR/typescript")
    grep -qE '0 of 1 ended, 0:0[0-9], about 0:[0-9]+ left: bats/waits' <<<"$output" || fail_with 'no status line'
    grep -qE 'ok +bats/waits +1 passed' <<<"$output" || fail_with 'no report'
    # The measured time is stored for the next run.
    grep -qE '^bats'$'\t''waits'$'\t''3\.' "$BATS_TEST_TMPDIR/b/test-times" || fail_with 'the time was not stored'
}

@test "scripts/check explains itself, and refuses arguments that it does not know" {
    run_here scripts/check --help
    assert_status 0
    assert_output_has 'scripts/check --all'
    run_here scripts/check --everything
    assert_status 2
    assert_stderr_has "unknown argument '--everything'"
}
