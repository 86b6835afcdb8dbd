#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# scripts/interop-matrix: the quick profile, plug-ins that misbehave, selection of cells, baselines,
# and invalid files. The networks of the cells are namespaces of their own.

# bats file_tags=waits,plain

# Each test is a separate shell, and fail_with prints the variables that look unused.
# shellcheck disable=SC2030,SC2031,SC2034,SC2154

load helpers
load net

MATRIX=$IW_TOP/scripts/interop-matrix

setup() {
    require_netns
    require_tool python3 ethtool
    python3 -c 'import yaml' 2>/dev/null || skip 'needs yaml: python3-yaml is not installed (scripts/packages --install fabric)'
    cd "$BATS_TEST_TMPDIR" || return 1
    IW_TIMEOUT=120
}

# plugin NAME [PROGRAM TEXT]: makes a plug-in that passes by itself, and replaces one of its programs
plugin() {
    mkdir -p "impl/$1"
    cat >"impl/$1/capabilities" <<'END'
#!/bin/sh
cat <<'TEXT'
title test
role client server
transport tcp
operation write
option size any
TEXT
END
    printf '#!/bin/sh\necho 1.0\n' >"impl/$1/version"
    # shellcheck disable=SC2016
    printf '#!/bin/sh\necho ready "$IW_PORT"\ntrap "exit 0" TERM\nwhile :; do sleep 0.02; done\n' >"impl/$1/serve"
    printf '#!/bin/sh\nexit 0\n' >"impl/$1/connect"
    [ $# -eq 1 ] || printf '#!/bin/sh\n%s\n' "$3" >"impl/$1/$2"
    chmod +x "impl/$1"/*
}

# profile CLIENTS SERVERS [BLOCK-LINE...]: writes p.yaml
profile() {
    cat >p.yaml <<END
title: Test
blocks:
  - clients: [$1]
    servers: [$2]
    transports: [tcp]
    operations: [write]
    timeout: 1s
END
    shift 2
    [ $# -eq 0 ] || printf '    %s\n' "$@" >>p.yaml
}

matrix() {
    rm -rf out
    run_here "$MATRIX" --implementations impl --profile ./p.yaml --output out --no-capture --guests off "$@"
}

# cells FILTER: applies a jq filter to the cells of the run
cells() {
    jq -r -c ".cells | $1" out/result.json
}

@test "the quick profile passes; each cell has its log, its capture and a command that runs it again" {
    require_tool tcpdump
    run_here "$MATRIX" --profile quick --guests off --output out
    assert_status 0
    assert_equal "$(cells 'map(select(.result == "fail" or .result == "error"))')" '[]'
    assert_equal "$(cells 'map(select(.client == "iwarp-tools" and .server != "usrsctp") | .result) | unique')" '["pass"]'
    assert_equal "$(cells 'map(select(.server == "mpa-chelsio")) | length')" 2
    # shellcheck disable=SC2016
    assert_equal "$(jq -c '. as $r | .cells | map($r.implementations[.server].kind) | unique' out/result.json)" '["emulated","native"]'
    # Only root can capture.
    [ "$(id -u)" -eq 0 ] || assert_equal "$(cells 'map(.capture) | unique')" '[null]'
    while read -r file; do
        [ -s "out/$file" ] || fail_with "empty or missing: $file"
    done < <(cells ".[] | select(.result == \"pass\") | .log$([ "$(id -u)" -ne 0 ] || echo ', .capture')")
    assert_equal "$(cells 'map(select(.test == "write-tcp")) | .[0] | [.measurements.throughput_bits_per_second > 0, .versions.client != "", .attempts]')" '[true,true,1]'
}

@test "the command of a cell runs exactly this cell again, in the top folder of the tree" {
    # Not the first cell, another seed, and files with relative names.
    plugin good
    profile good good 'options: {crc: ["on"], size: ["1", "2", "3"]}' 'impairments: [none, delay]'
    printf 'title: test\nlink: delay=1ms\n' >fault.yaml
    matrix --seed 7 --impair fault.yaml
    assert_status 0
    assert_equal "$(cells length)" 3
    again=$(cells '.[2].rerun')
    cells '.[2] | [.id, .seed, .result]' >first
    rm -rf out
    run_here sh -c "cd '$IW_TOP' && $again --output '$PWD/out'"
    assert_status 0
    assert_equal "$(cells '.[0] | [.id, .seed, .result]')" "$(cat first)"
    assert_equal "$(cells length)" 1
    assert_equal "$(cells '.[0].rerun')" "$again"
}

# reason_is CLIENT/SERVER TEXT: that cell is an infrastructure error, in less than 15 seconds, for
# this reason
reason_is() {
    local cell

    cell=$(cells "map(select(.id == \"$1/write-tcp/none\")) | .[0]")
    assert_equal "$(jq -c '[.result, .seconds < 15]' <<<"$cell")" '["error",true]' "$1"
    [[ $(jq -r .reason <<<"$cell") == *"$2"* ]] || fail_with "the reason of $1 is: $(jq -r .reason <<<"$cell")"
}

# MARK is an argument of each process that a plug-in starts.
none_left() {
    ! pgrep -f "$MARK" >/dev/null
}

@test "what a plug-in prints or removes cannot break the results" {
    plugin good
    plugin c-binary connect 'head -c 5000 /dev/urandom'
    plugin c-infinite connect 'echo measure x_seconds 1e99999'
    plugin c-negative connect 'echo measure x_seconds -1'
    # shellcheck disable=SC2016
    plugin c-removes connect 'rm -rf "$IW_SHARED"'
    # shellcheck disable=SC2016
    plugin c-replaces connect 'rm "$IW_SHARED/log.txt" && mkdir "$IW_SHARED/log.txt"'
    plugin c-away connect 'cd / && echo "measure x_seconds 1.5e-3"'
    plugin c-script version "echo '</script><script>alert(1)</script>'"
    plugin c-escape connect "printf 'reason \\033[31mred\\n'; exit 1"
    # shellcheck disable=SC2016
    plugin c-full connect 'head -c 80000000 /dev/zero >"$IW_WORK/file"'
    plugin c-role capabilities 'echo role clnt'
    plugin c-guest capabilities 'printf "kind guest\nrole client\ntransport tcp\noperation write\n"'
    plugin c-remote capabilities 'printf "kind remote\nrole client\ntransport tcp\noperation write\n"'
    plugin s-port serve 'echo ready 99999; sleep 3'
    profile '"c-*"' good
    sed -n '/^  - /,$p' p.yaml | sed 's/clients: .*/clients: [good]/; s/servers: .*/servers: ["s-*"]/' >second
    cat second >>p.yaml
    matrix --jobs 8
    assert_status 1
    reason_is c-binary/good 'connect printed'
    reason_is c-infinite/good "connect printed 'measure x_seconds 1e99999': expected a name and a number, at least 0"
    reason_is c-negative/good "connect printed 'measure x_seconds -1'"
    reason_is c-removes/good 'cells/c-removes/good/write-tcp/none/client/stderr.txt: No such file or directory'
    reason_is c-replaces/good 'cells/c-replaces/good/write-tcp/none/log.txt: Is a directory'
    reason_is c-full/good 'connect died of SIGXFSZ'
    reason_is c-role/good "capabilities: role 'clnt': expected one of client, server"
    reason_is c-remote/good 'capabilities: kind remote without address or local: expected both'
    reason_is good/s-port "serve printed 'ready 99999': expected a port"
    assert_equal "$(cells 'map(select(.client == "c-guest")) | .[0].reason')" 'c-guest: needs guest: --guests off'
    assert_equal "$(cells 'map(select(.client == "c-away")) | .[0] | [.result, .measurements.x_seconds]')" '["pass",0.0015]'
    assert_equal "$(cells 'map(select(.client == "c-escape")) | .[0].reason')" 'c-escape: [31mred'
    [ -s out/index.html ]
    assert_equal "$(grep -c 'alert(1)</script>' out/index.html)" 0
    grep -q 'alert(1)\\u003c/script\\u003e' out/index.html
    # A name becomes a part of ids and paths.
    plugin '<b>'
    matrix --list
    assert_status 2
    assert_stderr_has "impl: plug-in '<b>': expected a name of at most 64 letters"
}

# bats test_tags=all
@test "a plug-in that hangs, crashes, floods, prints garbage, leaves a daemon or ignores SIGTERM is an infrastructure error, and leaves nothing" {
    MARK=1000.$$$RANDOM
    plugin good
    plugin c-hangs connect "sleep $MARK"
    plugin c-garbage connect 'echo "<b>hello</b>"'
    plugin c-floods connect 'yes'
    plugin c-daemon connect "setsid sh -c 'trap : TERM HUP; while :; do sleep 1; : $MARK; done' >/dev/null 2>&1 &"
    plugin c-status connect 'exit 42'
    plugin c-capable capabilities 'echo what is this'
    plugin c-missing
    rm impl/c-missing/version
    plugin s-hangs serve "sleep $MARK"
    # shellcheck disable=SC2016
    plugin s-crashes serve 'kill -SEGV $$'
    plugin s-deaf serve "trap '' TERM; echo ready 7471; while :; do sleep 0.05; : $MARK; done"
    profile '"c-*"' good
    sed -n '/^  - /,$p' p.yaml | sed 's/clients: .*/clients: [good]/; s/servers: .*/servers: ["s-*"]/' >second
    cat second >>p.yaml
    matrix --jobs 10
    assert_status 1
    reason_is c-hangs/good 'connect did not end within 7 s'
    reason_is c-garbage/good "connect printed '<b>hello</b>': expected one of"
    reason_is c-floods/good 'connect printed more than 262144 octets'
    reason_is c-daemon/good 'connect left processes behind: s'
    reason_is c-status/good 'connect: exit status 42'
    reason_is c-capable/good "capabilities printed 'what is this': expected one of title"
    reason_is c-missing/good 'version is missing or not executable'
    reason_is good/s-hangs 'serve was not ready within 7 s'
    reason_is good/s-crashes 'serve died of SIGSEGV'
    reason_is good/s-deaf 'serve did not end within 3 s of SIGTERM'
    none_left || fail_with "left: $(pgrep -af "$MARK")"
}

@test "a bad plug-in does not disturb the others" {
    plugin good
    # A second attempt finds nothing of the first one.
    # shellcheck disable=SC2016
    plugin bad connect '[ -e "$IW_WORK/file" ] || { : >"$IW_WORK/file"; kill -SEGV $$; }'
    profile 'good, bad' good
    matrix --attempts 2
    assert_status 1
    assert_equal "$(cells 'map([.client, .result, .attempts])')" '[["bad","error",2],["good","pass",1]]'
}

@test "unsupported is declared: by capabilities, or by exit status 3 with a reason" {
    plugin good
    plugin three connect 'echo reason the weather is bad; exit 3'
    plugin away capabilities 'echo title away; echo needs hardware: there is none; exit 3'
    plugin one connect 'echo reason no; exit 1'
    profile '*' good 'options: {crc: ["on", "off"]}'
    sed -i 's/clients: .*/clients: [good, three, away, one]/' p.yaml
    matrix
    assert_status 1
    assert_equal "$(cells 'map(select(.test == "write-tcp") | [.client, .result, .reason])')" \
        '[["away","unsupported","away: needs hardware: there is none"],["good","pass",""],["one","fail","one: no"],["three","unsupported","three: the weather is bad"]]'
    assert_equal "$(cells 'map(select(.id == "good/good/write-tcp,crc=off/none") | .reason) | .[0]')" 'good does not declare option crc off'
}

@test "--list and --only choose cells, --seed chooses the combinations" {
    plugin good
    profile good good 'options: {crc: ["on", "off"], markers: ["on", "off"], size: ["1", "2", "3"]}'
    matrix --list
    assert_status 0
    assert_output_has 'good/good/write-tcp,markers=on,size=1/none'
    # Each pair of values of two options is there; the product has twice as many combinations.
    assert_equal "$(wc -l <<<"$output")" 6
    for pair in crc=off.*size=1/ markers=on.*size=2/ crc=off.*size=3/ crc=off,markers=on; do
        grep -q "$pair" <<<"$output" || fail_with "no cell with $pair"
    done
    first=$output
    matrix --list
    assert_equal "$output" "$first"
    matrix --list --seed 2
    [ "$output" != "$first" ] || fail_with 'another seed has the same combinations'
    matrix --list --only '~size=1/'
    assert_equal "$(grep -c 'size=1/' <<<"$output")" "$(wc -l <<<"$output")"
    matrix --list --only '*nothing*'
    assert_status 2
    assert_stderr_has 'interop-matrix: --only *nothing*: no cell of profile p matches'
    matrix --list --only '~('
    assert_status 2
    assert_stderr_has 'expected a regular expression'
}

@test "a baseline decides the exit status: worse is 1, expected and better are 0" {
    plugin good
    plugin one connect 'exit 1'
    profile 'good, one' good
    matrix
    assert_status 1
    assert_output_has 'failures and errors:'
    assert_output_lacks worse
    cp out/result.json before.json
    cat >base.yaml <<'END'
- {cells: "one/*", result: fail, reason: "it always fails"}
END
    matrix --baseline base.yaml
    assert_status 0
    assert_output_lacks worse
    assert_equal "$stderr" ''
    matrix --baseline before.json
    assert_status 0
    grep -q '"difference":{"failures":\[\]' out/index.html
    plugin one
    matrix --baseline base.yaml
    assert_status 0
    assert_output_has '1 better than expected'
    # Entries without a cell, and cells without an entry.
    printf -- '- {cells: "on/*", result: fail, reason: "a wrong name"}\n' >>base.yaml
    plugin two
    profile 'good, two' good
    matrix --baseline base.yaml
    assert_status 0
    assert_stderr_has 'note: base.yaml:2: "on/*": no cell of this run matches'
    matrix --baseline before.json
    assert_status 0
    assert_stderr_has 'note: cells of the baseline that are not in this run: 1'
    plugin good connect 'kill -SEGV $$'
    matrix --baseline before.json
    assert_status 1
    assert_output_has '/2 error (worse) good/good/write-tcp/none'
    assert_output_has '1 worse than expected'
}

@test "the page compares with another run, and shows the history of runs" {
    plugin good
    profile good good
    matrix
    assert_status 0
    mkdir old
    mv out old/1
    plugin good connect 'exit 1'
    matrix --against old/1 --history old
    assert_status 1
    grep -q '"difference":{"failures":\[{"id":"good/good/write-tcp/none"' out/index.html
    grep -q '"good/good/write-tcp/none":{"results":"pf"' out/index.html
}

@test "an invalid file is reported with file, line and what was expected" {
    plugin good
    profile good good 'combine: pairwse'
    matrix
    assert_status 2
    assert_stderr_has 'interop-matrix: ./p.yaml:8: "pairwse": expected one of pairwise, product, each'
    profile good good 'impairment: [none]'
    matrix
    assert_status 2
    assert_stderr_has './p.yaml:8: unknown key "impairment": expected one of'
    profile god good
    matrix
    assert_status 2
    assert_stderr_has 'profile p: god: no such implementation: expected one of'
    profile good good
    printf 'title: x\n' >i.yaml
    matrix --impair i.yaml
    assert_status 2
    assert_stderr_has 'i.yaml:1: neither link nor rules: expected one of them'
    printf -- '- {cells: "*", result: maybe, reason: x}\n' >b.yaml
    matrix --baseline b.yaml
    assert_status 2
    assert_stderr_has 'b.yaml:1: "maybe": expected one of pass, unsupported, fail, error'
    printf -- '- {cells: "~(", result: fail, reason: x}\n' >b.yaml
    matrix --baseline b.yaml
    assert_status 2
    assert_stderr_has 'b.yaml:1: "~(": expected a regular expression after ~'
    head -c 100 "$IW_TOP/tests/page/result.json" >b.json
    matrix --baseline b.json
    assert_status 2
    assert_stderr_has 'b.json:2: '
    sed 's/"format": 1/"format": 2/' "$IW_TOP/tests/page/result.json" >b.json
    matrix --against b.json
    assert_status 2
    assert_stderr_has 'b.json: format: 2: expected 1'
    [ ! -e out ]
    profile good good
    sed -i 's/1s/0s/' p.yaml
    matrix
    assert_status 2
    assert_stderr_has './p.yaml:7: "0s": expected a duration from 1s to 1h'
    profile good good
    printf 'title: x\nlink: delay=1ms\n' >none.yaml
    matrix --impair none.yaml
    assert_status 2
    assert_stderr_has 'none.yaml: the name none is taken: expected another name of the file'
    printf 'title: x\nrules:\n- "fpdu nth=1: drop"\n- "fpdu: explode"\n' >i.yaml
    matrix --impair i.yaml
    assert_status 2
    assert_stderr_has 'i.yaml:4: rule "fpdu: explode", column 7: "explode": expected an action'
    printf 'title: x\nlink: los=1%%\n' >i.yaml
    matrix --impair i.yaml
    assert_status 2
    assert_stderr_has 'i.yaml:2: link "los=1%": los'
    matrix --implementations "$IW_TOP/tests"
    assert_status 2
    assert_stderr_has 'tests: no plug-in: expected a folder of plug-ins'
    matrix --profile nowhere
    assert_status 2
    assert_stderr_has '--profile nowhere: expected one of default, ofa, quick, unh, or a file'
    matrix --jobs 0
    assert_status 2
    assert_stderr_has "argument --jobs: '0': expected a number from 1 to 64"
}

# bats test_tags=all
@test "an interrupted run, and one that is killed, leave no process and no namespace" {
    MARK=1000.$$$RANDOM
    plugin good
    plugin bad serve "echo ready 7471; trap 'exit 0' TERM; while :; do sleep 0.05; : $MARK; done"
    plugin slow connect "sleep $MARK"
    profile slow bad
    for signal in INT TERM KILL; do
        rm -rf out
        "$MATRIX" --implementations impl --profile ./p.yaml --output out --guests off >said 2>&1 3>&- &
        run=$!
        wait_until 10 pgrep -f "sleep $MARK"
        kill -s $signal $run
        wait $run && status=0 || status=$?
        [ $signal = KILL ] || assert_equal "$status: $(sed '/^results: /d; s/ in [0-9]* s//' said)" $'130: 0 cells: 0 passed, 0 failed, 0 unsupported, 0 infrastructure errors\ninterop-matrix: interrupted'
        [ $signal = KILL ] || assert_equal "$(jq -c '.run.not_run' out/result.json)" '[{"row":"1 cell","reason":"the run was interrupted"}]'
        wait_until 5 none_left || fail_with "left after $signal: $(pgrep -af "$MARK")"
    done
}

@test "without namespaces the reason is reported, with status 3" {
    plugin good
    profile good good
    mkdir -p bin
    printf '#!/bin/sh\necho "unshare: Operation not permitted" >&2\nexit 1\n' >bin/unshare
    chmod +x bin/unshare
    PATH=$PWD/bin:$PATH matrix
    assert_status 3
    assert_stderr_has 'needs netns: cannot make a namespace here: unshare: Operation not permitted'
}

# impaired RULE EXPECT: runs RDMA Writes with this impairment; $result and $reason
impaired() {
    printf 'title: test\nrules: ["%s"]\nexpect: %s\nclause: RFC 5041 7.1\n' "$1" "$2" >fault.yaml
    matrix --impair fault.yaml
    result=$(cells '.[0].result')
    reason=$(cells '.[0].reason')
}

# bats test_tags=all
@test "an impairment says what must happen: success, or a fault that is detected" {
    local fault='fpdu opcode=write nth=2: set stag=0x5a5a5a5a fix-crc'

    plugin good
    profile iwarp-tools iwarp-tools
    sed -i 's/1s/10s/' p.yaml
    impaired "$fault" detected
    assert_equal "$result" pass "$reason"
    assert_equal "$(cells '.[0].id')" iwarp-tools/iwarp-tools/write-tcp/fault
    grep -q '"action":"set stag=0x5a5a5a5a fix-crc"' out/cells/iwarp-tools/iwarp-tools/write-tcp/fault/decisions.jsonl
    impaired "$fault" success
    assert_equal "$result" fail
    [[ $reason == *STag* ]] || fail_with "the reason is: $reason"
    impaired 'fpdu nth=2: delay 1ms' detected
    assert_equal "$reason" 'the operation succeeded; RFC 5041 7.1: an error must be reported'
    # A cell whose fault did not occur proves nothing.
    impaired 'fpdu opcode=terminate nth=9: drop' success
    assert_equal "$result: $reason" 'error: impairment fault: no unit met its rules'
    printf 'title: test\nlink: loss=0.0001%%,delay=1ms\n' >fault.yaml
    matrix --impair fault.yaml
    assert_equal "$(cells '.[0].reason')" 'impairment fault: no frame was lost'
}

# A pass without a comparison of all octets would hide a flipped bit whose CRC is right.
# bats test_tags=all
@test "each operation compares the octets that arrive" {
    plugin good
    profile iwarp-tools iwarp-tools 'options: {size: [64K]}' 'combine: product'
    sed -i 's/1s/10s/; s/operations: .*/operations: [write, read, send, pingpong, file-write, file-read, file-send]/' p.yaml
    printf 'title: test\nrules: ["fpdu opcode=write,read-response,send len=5000..70000 count=1..3: flip-bit payload fix-crc"]\n' >fault.yaml
    matrix --impair fault.yaml
    assert_equal "$(cells 'map(.result) | unique')" '["fail"]'
    profile iwarp-tools,usrsctp iwarp-tools 'options: {size: [64K]}'
    sed -i 's/1s/10s/; s/tcp/udp/; s/operations: .*/operations: [ping]/' p.yaml
    printf 'title: test\nrules: ["packet opcode=data len=1000..2000 nth=5: flip-bit payload fix-crc"]\n' >fault.yaml
    matrix --impair fault.yaml
    assert_equal "$(cells 'map(select(.result != "unsupported") | .result) | unique')" '["fail"]'
}

@test "an operation or an option that a transport does not have is unsupported" {
    plugin good
    profile iwarp-tools iwarp-tools 'options: {crc: ["on", "off"]}' 'combine: product'
    sed -i 's/1s/10s/; s/tcp/tcp, raw/; s/operations: .*/operations: [rping, ping]/' p.yaml
    matrix
    assert_equal "$(cells 'map("\(.test) \(.result): \(.reason)")[]')" "$(cat <<'END'
rping-tcp pass: 
rping-tcp,crc=off pass: 
ping-tcp unsupported: iwarp-tools: sctp-ddp-ping needs SCTP, not tcp
ping-tcp,crc=off unsupported: iwarp-tools: sctp-ddp-ping needs SCTP, not tcp
rping-raw unsupported: iwarp-tools: rping is an operation over MPA, not over raw
rping-raw,crc=off unsupported: option crc is one of MPA, which raw does not use
ping-raw pass: 
ping-raw,crc=off unsupported: option crc is one of MPA, which raw does not use
END
)"
}

# as_user CMD...: as an ordinary user
as_user() {
    if [ "$(id -u)" -eq 0 ]; then
        set -- setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
    fi
    run_here "$@"
}

@test "an ordinary user runs the matrix in a user namespace, and reads what needs root" {
    local folder=$BATS_TEST_TMPDIR

    plugin good
    profile 'iwarp-tools, siw' iwarp-tools
    sed -i 's/1s/10s/; s/tcp/tcp, raw/; s/operations: .*/operations: [write, rping]/' p.yaml
    mkdir mine
    chmod 777 mine
    while [ "$folder" != "${BATS_RUN_TMPDIR%/*}" ]; do
        chmod o+x "$folder"
        folder=${folder%/*}
    done
    as_user test -r p.yaml -a -x "$MATRIX" -a -x "$IW_BUILD/mpa-probe"
    [ "$status" -eq 0 ] || skip 'needs user: another user cannot read this tree'
    as_user unshare --user --map-root-user --net true
    [ "$status" -eq 0 ] || skip "needs netns: $stderr"
    as_user "$MATRIX" --profile ./p.yaml --output mine/out
    assert_status 0
    assert_stderr_is 'interop-matrix: note: no captures: without root'
    mv mine/out out
    assert_equal "$(cells 'map(select(.client == "siw") | .reason) | unique')" '["siw: needs guest: only root can use it in the matrix"]'
    assert_equal "$(cells 'map(select(.client != "siw") | [.test, .result]) | sort')" '[["rping-raw","unsupported"],["rping-tcp","pass"],["write-raw","pass"],["write-tcp","pass"]]'
    as_user "$MATRIX" --profile ./p.yaml --guests on --output mine/out
    assert_status 3
    assert_stderr_has 'interop-matrix: needs guest: only root can use it in the matrix'
}

# bats test_tags=all
@test "a cell with a guest: siw answers rping" {
    printf 'title: x\nblocks:\n- {clients: [iwarp-tools], servers: [siw], transports: [tcp], operations: [rping]}\n' >p.yaml
    run_here "$MATRIX" --profile ./p.yaml --guests on --output out
    [ "$status" -ne 3 ] || skip "needs guest: ${stderr##*needs guest: }"
    assert_status 0
    assert_equal "$(cells 'map([.id, .result, (.versions.server | startswith("siw of Linux "))])')" '[["iwarp-tools/siw/rping-tcp/none","pass",true]]'
    [ -s "out/$(cells '.[0].capture')" ]
}

# The other machine is emulated: ssh runs the command here, and rping there is mpa-probe.
# bats test_tags=all
@test "the template for a real RNIC runs rping over ssh, in both roles" {
    mkdir -p bin impl
    cat >bin/ssh <<'END'
#!/bin/sh
while [ "$1" != lab ]; do shift; done
shift
exec sh -c "$*"
END
    cat >bin/rping <<'END'
#!/bin/sh
while getopts scPVa:p:S:C: option; do
    case $option in
    s) side='--listen --timeout 60s' ;;
    c) side='-c 10' ;;
    a) address=$OPTARG ;;
    p) port=$OPTARG ;;
    S) size=$OPTARG ;;
    *) ;;
    esac
done
[ "$side" = '-c 10' ] || exec mpa-probe --app rping $side --bind "$address" -p "$port"
exec mpa-probe --app rping $side "$address" -p "$port" -s "$size"
END
    chmod +x bin/*
    cp -r "$IW_TOP/scripts/implementations/rnic-template" impl/lab
    profile 'iwarp-tools, lab' 'iwarp-tools, lab'
    sed -i 's/operations: .*/operations: [rping]/; s/1s/10s/' p.yaml
    PATH=$PWD/bin:$PATH matrix --only '*lab*'
    assert_status 3
    assert_output_has 'lab: needs ssh: this is a template'
    printf '%s\n' HOST=lab ADDRESS=127.0.0.1 LOCAL=127.0.0.1 'TITLE="RNIC of a test"' >impl/lab/settings
    PATH=$PWD/bin:$PATH matrix --only '*lab*' --jobs 1
    assert_status 0
    assert_equal "$(cells 'map([.client, .server, .result])')" \
        '[["iwarp-tools","lab","pass"],["lab","iwarp-tools","pass"],["lab","lab","pass"]]'
}
