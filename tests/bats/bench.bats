#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# scripts/bench: its measurements beside the peers, its page and pictures, and runs that fail.
# It occupies all processors, so this file runs alone.

# bats file_tags=plain

# run_here sets these variables:
# shellcheck disable=SC2030,SC2031,SC2154

load helpers
load net

# measure IDS [ARGUMENT...]: measures these figures shortly. A missed bar is no failure of a test,
# because the machine may be busy; a run that fails is.
measure() {
    run_here "$IW_TOP/scripts/bench" --quick --only "$1" --out "$BATS_TEST_TMPDIR/bench.json" "${@:2}"
    [ "$status" -le 1 ] || fail_with 'bench does not run'
}

# Sets output to the file that measure wrote, on one line.
read_result() {
    output=$(jq -c . "$BATS_TEST_TMPDIR/bench.json")
}

# bats test_tags=all
@test "scripts/bench measures beside the peers and writes every value" {
    require_tool iperf3 sockperf chrt
    require_netns
    IW_TIMEOUT=100 measure P1,P8,P10 --page "$BATS_TEST_TMPDIR/figures.md"
    assert_output_has 'P1 '
    assert_output_has 'P8 '
    assert_output_has 'P10 '
    assert_stderr_has 'P1: pair 1 of 1'
    assert_stderr_has 'of 3 figures done'
    assert_equal "$(grep -cE '^\| (P1|P8|P10) \| .* \| [<>]= [0-9.]+ \|' "$BATS_TEST_TMPDIR/figures.md")" 3
    read_result
    assert_jsonl '.[0] | [.event, (.figures | map(.id)), .failed, .pairs]' '["bench",["P1","P8","P10"],[],1]'
    assert_jsonl '.[0].figures | map(.ratio > 0 and .ratio == .values[0].ratio and (.values | length == 1)) | all' true
}

# Skips the test unless iperf3 can run with cubic and with bbr, between namespaces.
require_cubic_and_bbr() {
    local has

    require_tool iperf3 chrt
    require_netns
    has=$(tr ' ' '\n' </proc/sys/net/ipv4/tcp_available_congestion_control | grep -cxE 'cubic|bbr')
    [ "$has" -eq 2 ] || skip 'needs bbr: cubic and bbr are not both here'
}

# bats test_tags=all
@test "scripts/bench compares with the congestion control that is faster for TCP by the median" {
    require_cubic_and_bbr
    cd "$BATS_TEST_TMPDIR" || return 1
    # A simulated iperf3 that has two speeds with cubic and one with bbr, and takes no time.
    mkdir bin
    cat >bin/iperf3 <<EOF
#!/bin/bash
[ "\$1" = -c ] || exec $(command -v iperf3) "\$@"
echo >>"$PWD/calls.\$7"
case \$7.\$(wc -l <"$PWD/calls.\$7") in
cubic.[145]) b=12e9 ;;
cubic.*) b=41e9 ;;
*) b=22e9 ;;
esac
$(command -v iperf3) -c "\$2" -p "\$4" -J -C "\$7" -n 1M | jq --argjson b \$b '.end.sum_received.bits_per_second = \$b'
EOF
    chmod +x bin/iperf3
    PATH=$PWD/bin:$PATH IW_TIMEOUT=100 measure P1,P3 --pairs 3
    assert_output_has 'P1: beside cubic; iperf3, medians: bbr 22 Gb/s, cubic 41 Gb/s'
    assert_output_has 'P3: beside bbr; iperf3, medians: bbr 22 Gb/s, cubic 12 Gb/s'
    read_result
    assert_jsonl '.[0].congestion_control.P1 | { cc, peer_bits_per_second }' '{"cc":"cubic","peer_bits_per_second":{"bbr":22000000000,"cubic":41000000000}}'
    assert_jsonl '.[0].figures | map(.values | map(.peer / 1e9))' '[[12,41,41],[22,22,22]]'
    assert_jsonl '.[0].runs[0] | [.pairs, .others] | map(map(.ours.cc[]) | unique)' '[["cubic"],["bbr"]]'
}

@test "scripts/bench reports a figure whose run fails, and exits with 1" {
    local peer

    require_netns
    mkdir "$BATS_TEST_TMPDIR/bin"
    for peer in socat nc iperf3 rsync; do
        printf '#!/bin/sh\nexit 1\n' >"$BATS_TEST_TMPDIR/bin/$peer"
        chmod +x "$BATS_TEST_TMPDIR/bin/$peer"
    done
    PATH=$BATS_TEST_TMPDIR/bin:$PATH measure P7
    assert_status 1
    assert_stderr_has 'socat TCP-LISTEN failed'
    read_result
    assert_jsonl '.[0] | [.failed, .skipped]' '[["P7"],[]]'
}

# bats test_tags=all
@test "scripts/bench measures small messages, set-ups and a thousand connections" {
    require_tool iperf3 jq
    require_netns
    ulimit -n 4096 || skip 'needs 4,096 open files'
    IW_TIMEOUT=150 measure P14,P14u,P15,P15u,P16,P16m
    read_result
    assert_jsonl '.[0] | [.failed, .skipped, (.figures | map(.id))]' '[[],[],["P14","P14u","P15","P15u","P16","P16f","P16m"]]'
    assert_jsonl '.[0].figures | map(.ours > 0 and .peer > 0 and .ratio > 0) | all' true
    assert_jsonl '.[0].figures[] | select(.id == "P16f") | .ours <= 1' true
}

@test "scripts/bench makes no figure of a run whose data is not verified" {
    local build=$BATS_TEST_TMPDIR/build tool

    require_tool iperf3 jq
    require_netns
    # A ddp-bench that reports wrong data.
    mkdir "$build"
    for tool in ddp-recv ddp-send ddp-impair; do ln -s "$IW_BUILD/$tool" "$build/$tool"; done
    cat >"$build/ddp-bench" <<EOF
#!/bin/bash
set -o pipefail
case " \$* " in
*' --json '*) "$IW_BUILD/ddp-bench" "\$@" | sed 's/"verified":true/"verified":false/' ;;
*) exec "$IW_BUILD/ddp-bench" "\$@" ;;
esac
EOF
    chmod +x "$build/ddp-bench"
    IW_BUILD=$build IW_TIMEOUT=60 measure P2
    assert_status 1
    assert_stderr_has 'ddp-bench read: no verified result failed'
    read_result
    assert_jsonl '.[0] | [.failed, .figures]' '[["P2"],[]]'
}

# bats test_tags=all
@test "scripts/bench counts the sequences that one lost packet delays, and ends" {
    require_tool jq ethtool iperf3
    require_root
    require_netns
    IW_TIMEOUT=60 measure L3
    assert_status 0
    read_result
    assert_jsonl '.[0] | [.failed, .skipped, (.figures | map([.ours, .peer]))]' '[[],[],[[1,8]]]'
}

@test "scripts/bench holds idle connections and associations" {
    require_tool jq ss
    IW_TIMEOUT=60 measure P12,P12u
    read_result
    assert_jsonl '.[0] | [.failed, (.runs | map([.id, .idle.held]))]' '[[],[["P12",200],["P12u",2000]]]'
}

# bats test_tags=all
@test "scripts/bench measures TLS, DTLS and transfers by ssh beside their peers" {
    require_tool jq openssl socat sshd ssh scp rsync
    require_root
    require_netns
    IW_TIMEOUT=100 measure P30,P31,P32m,P33
    read_result
    assert_jsonl '.[0] | [.failed, .skipped, (.figures | map(.id))]' '[[],[],["P30","P30p","P31","P31p","P32m","P33","P33p"]]'
    # Both sides of P30 use the same cipher suite.
    assert_jsonl '.[0].runs[] | select(.id == "P30") | .rounds[0].ours.tls_cipher' TLS_AES_128_GCM_SHA256
    assert_jsonl '.[0].runs[] | select(.id == "P30") | .rounds[0].plain | has("tls_cipher")' false
}

# bats test_tags=all
@test "scripts/bench draws pictures" {
    require_tool gnuplot chrt
    require_netns
    IW_TIMEOUT=100 measure plot
    assert_status 0
    [ "$(grep -l '</svg>' "$BATS_TEST_TMPDIR"/*.svg | wc -l)" -eq 4 ] || fail_with 'not four pictures'
}

# bench_file NAME RATIO MIN MAX: writes a file of a run with the figures P1, of that ratio, and P8
bench_file() {
    jq -n --argjson ratio "$2" --argjson min "$3" --argjson max "$4" '{ schema: 1, event: "bench", date: "2026-11-28T02:00:00Z",
        kernel: "6.1", machine: "x86_64", cpu: "CPU <A>", cores: 2, load_before: 0.1, load_after: 1, pairs: 3, seconds: 5,
        versions: { ddp_bench: "ddp-bench 1", iperf3: "iperf 3.12", sockperf: "" }, congestion_control: {}, failed: [],
        skipped: [{ id: "P4", reason: "needs to be root" }], choice: [], runs: [], figures: [
            { id: "P1", what: "tcp / iperf3", unit: "Gb/s", sign: ">=", bar: 1.2, ours: 5e10, peer: 4e10, $ratio, ratio_min: $min,
              ratio_max: $max, pass: ($ratio >= 1.2) },
            { id: "P8", what: "p50 / sockperf", unit: "us", sign: "<=", bar: 1.05, ours: 10000, peer: 10000, ratio: 1, ratio_min: 1,
              ratio_max: 1, pass: true }] }' >"$BATS_TEST_TMPDIR/$1"
}

@test "scripts/bench reports a file again: table, page in Markdown and in HTML" {
    local svg

    require_tool jq
    bench_file now.json 1.3 1.1 1.5
    cd "$BATS_TEST_TMPDIR" || return 1
    run_here "$IW_TOP/scripts/bench" --from now.json --page now.md --html now.html
    assert_status 0
    assert_output_has 'P1       tcp / iperf3                                     50.0 Gb/s    40.0 Gb/s   1.30 (1.10..1.50)    >= 1.2   pass'
    # One measurement has no range.
    assert_output_has 'us     1.00                 <= 1.05  pass'
    grep -qF '| P1 | tcp / iperf3 | 50.0 Gb/s | 40.0 Gb/s | 1.30 (1.10 to 1.50) | >= 1.2 |  |' now.md || fail_with 'the page lacks P1'
    # One file: a picture of each figure, and nothing from elsewhere.
    svg=$(grep -o '<svg[^>]*aria-label="[^"]*"' now.html)
    assert_equal "$(grep -c . <<<"$svg")" 2
    [[ $svg == *'aria-label="P1: ratio 1.30 (1.10 to 1.50), bar &gt;= 1.2"'* ]] || fail_with "no picture of P1: $svg"
    ! grep -E 'https?://|<script|<link|src=' now.html || fail_with 'the page refers to other files'
    grep -qF 'CPU &lt;A&gt;' now.html || fail_with 'text is not escaped'
    grep -qF '2 of 2 bars met' now.html || fail_with 'no summary'
    bench_file missed.json 1.1 1.0 1.3
    run_here "$IW_TOP/scripts/bench" --from missed.json --html missed.html
    assert_status 1
    assert_output_has 'MISS'
    grep -qF '1 of 2 bars met' missed.html || fail_with 'the summary does not count the missed bar'
}

@test "a run of ours that was ended at its limit misses the bar; only iperf3 counts for what it ran with" {
    run_here env PYTHONPATH="$IW_TOP/scripts/python" python3 -B -c '
from figures import document, rows
slow, quick = {"seconds": 60, "ended": True}, {"seconds": 50}
for ours, peer in (slow, slow), (slow, quick), (quick, slow):
    run = {"id": "L4", "rounds": [dict.fromkeys(("scp_cubic", "scp_bbr", "rsync_bbr", "iperf_bbr"), peer) | {"ours": ours}]}
    print([figure["pass"] for figure in rows.figures([run], ("L4", "L4b"))])
pair = {"ours": {"cc": ["reno"]}, "peer": {"cc": ["cubic"]}, "cubic": {"cc": ["bbr"], "program": "iperf3"}}
print(document.reported({"rounds": [pair]}))'
    assert_status 0
    assert_equal "$output" "$(printf '%s\n' '[False, False]' '[False, False]' '[False, True]' "{'bbr'}")"
}

# compared OLD_RATIO OLD_MIN OLD_MAX EXPECTED: the line of P1, whose ratio is now 1.3, from 1.1 to 1.5
compared() {
    bench_file old.json "$1" "$2" "$3"
    run_here "$IW_TOP/scripts/bench" --from now.json --compare old.json --html now.html
    assert_status 0
    assert_equal "$(grep '^P1 ' <<<"$output" | tail -n 1 | tr -s ' ')" "P1 1.30 $4"
    grep -qF "${4##* % }" now.html || fail_with 'the HTML lacks the comparison'
}

@test "scripts/bench --compare reports changes beyond the spread of both runs" {
    require_tool jq
    bench_file now.json 1.3 1.1 1.5
    cd "$BATS_TEST_TMPDIR" || return 1
    compared 1.0 0.9 1.2 '1.00 +30.0 % within the spread'
    compared 1.0 0.9 1.05 '1.00 +30.0 % better, beyond the spread'
    compared 2.0 1.6 2.2 '2.00 -35.0 % worse, beyond the spread'
    compared 1.0 1.0 1.0 '1.00 +30.0 % one measurement, no spread'
    jq '.figures |= map(select(.id == "P8"))' old.json >less.json
    run_here "$IW_TOP/scripts/bench" --from less.json --compare now.json
    assert_status 0
    assert_output_has 'not measured now'
}

# rejected TEXT: old.json is an error with that text, before anything is measured
rejected() {
    run_here "$IW_TOP/scripts/bench" --quick --only P12 --compare "$BATS_TEST_TMPDIR/old.json" --out "$BATS_TEST_TMPDIR/x.json"
    assert_status 2
    assert_stderr_has "$1"
    assert_equal "$(grep -c . <<<"$stderr")" 1
    assert_equal "$output" ''
    [ ! -e "$BATS_TEST_TMPDIR/x.json" ] || fail_with 'it measures all the same'
}

@test "scripts/bench rejects a bad file, and bad options, with one line" {
    require_tool jq
    rejected 'old.json: No such file or directory'
    echo '{' >"$BATS_TEST_TMPDIR/old.json"
    rejected 'old.json: not JSON'
    echo '{"event":"result"}' >"$BATS_TEST_TMPDIR/old.json"
    rejected 'old.json: no "event": "bench": expected a file of'
    bench_file old.json 1.3 1.1 1.5
    jq '.figures[0].ratio = "1.3"' "$BATS_TEST_TMPDIR/old.json" >"$BATS_TEST_TMPDIR/text.json"
    mv "$BATS_TEST_TMPDIR/text.json" "$BATS_TEST_TMPDIR/old.json"
    rejected "old.json: figure 'P1': ratio is '1.3': expected a number"
    run_here "$IW_TOP/scripts/bench" --beside "$BATS_TEST_TMPDIR"
    assert_status 2
    assert_stderr_has 'it has no ddp-bench; expected a build folder'
    run_here "$IW_TOP/scripts/bench" --html
    assert_status 2
    run_here "$IW_TOP/scripts/bench" --help
    assert_status 0
    assert_output_has '--compare   also compares'
}

# bats test_tags=all
@test "scripts/bench does not use a run of iperf3 with another congestion control" {
    require_cubic_and_bbr
    cd "$BATS_TEST_TMPDIR" || return 1
    # A simulated iperf3 whose second run with cubic is with reno.
    mkdir bin
    cat >bin/iperf3 <<EOF
#!/bin/bash
[ "\$1" = -c ] || exec $(command -v iperf3) "\$@"
echo >>"$PWD/calls.\$7"
used=\$7
[ "\$7.\$(wc -l <"$PWD/calls.\$7")" != cubic.2 ] || used=reno
$(command -v iperf3) -c "\$2" -p "\$4" -J -C "\$7" -n 1M | jq --arg cc \$used '.end.sender_tcp_congestion = \$cc'
EOF
    chmod +x bin/iperf3
    PATH=$PWD/bin:$PATH IW_TIMEOUT=100 measure P3 --pairs 2
    assert_stderr_has 'P3: cubic is not used: iperf3 ran with cubic and reno instead'
    assert_output_has 'note: P3: cubic is not used'
    assert_output_has 'iperf3 reports that it ran with bbr in P3'
    read_result
    assert_jsonl '.[0] | [.failed, .congestion_control.P3.cc, (.runs[0].others | length), (.notes | length)]' '[[],"bbr",0,1]'
}

# bats test_tags=all
@test "scripts/bench --beside measures another build in the same rounds" {
    local other=$BATS_TEST_TMPDIR/other

    require_tool iperf3 jq ss chrt
    require_netns
    # A build whose ddp-bench knows no option --mulpdu.
    mkdir "$other"
    ln -s "$IW_BUILD/ddp-recv" "$other/ddp-recv"
    cat >"$other/ddp-bench" <<EOF
#!/bin/sh
case " \$* " in *' --mulpdu '*) echo "ddp-bench: unrecognized option '--mulpdu'" >&2; exit 2 ;; esac
exec "$IW_BUILD/ddp-bench" "\$@"
EOF
    chmod +x "$other/ddp-bench"
    IW_TIMEOUT=100 measure P1,P1a,P12 --beside "$other" --html "$BATS_TEST_TMPDIR/bench.html" \
        --page "$BATS_TEST_TMPDIR/bench.md"
    assert_output_has "note: P1a: not measured with the other build, which does not know an option:"
    assert_output_has "unrecognized option '--mulpdu'"
    grep -qE '^\| P1 \|.*\| [0-9.]+ Gb/s \| [0-9.]+ \|$' "$BATS_TEST_TMPDIR/bench.md" || fail_with 'no column in the page'
    grep -qF 'ours / other' "$BATS_TEST_TMPDIR/bench.html" || fail_with 'no column in the HTML'
    read_result
    assert_jsonl '.[0] | [.failed, (.figures | map([.id, has("other")])), (.notes | length)]' '[[],[["P1",true],["P1a",false],["P12",true]],1]'
    assert_jsonl '.[0].figures[0] | .other_ratio == .values[0].ours / .values[0].other' true
    assert_jsonl '.[0].beside.folder' "$other"
}

@test "scripts/bench builds missing programs, or prints the command" {
    local build=$BATS_TEST_TMPDIR/build tool

    require_tool jq ss
    mkdir -p "$build"
    for tool in ddp-bench ddp-recv ddp-send ddp-impair; do ln -s "$IW_BUILD/$tool" "$build/$tool"; done
    IW_BUILD=$build run_here "$IW_TOP/scripts/bench" --quick --only P12u --out "$BATS_TEST_TMPDIR/x.json"
    assert_status 3
    assert_stderr_has "$build lacks tests/crowd/crowd"
    assert_stderr_has "make -C $IW_TOP BUILD=$build all crowd-bin"
    # The folder is of these sources: bench runs make, with the variables of the folder.
    echo "gcc -include $build/config.h" >"$build/flags.key"
    echo 'CC=ccache gcc CFLAGS=-O2 -g CPPFLAGS= LDFLAGS= WITHOUT=xdp VERSION=1 FUZZ= LTO= SEEN=1-2' >"$build/config.key"
    rm "$build/ddp-bench"
    # shellcheck disable=SC2016
    printf '#!/bin/sh\nexec "%s" "$@"\n' "$IW_BUILD/ddp-bench" >"$build/ddp-bench"
    # shellcheck disable=SC2016
    printf '#!/bin/sh\nprintf "[%%s]" "$@" >"%s"\n' "$BATS_TEST_TMPDIR/made" >"$BATS_TEST_TMPDIR/make"
    chmod +x "$build/ddp-bench" "$BATS_TEST_TMPDIR/make"
    IW_BUILD=$build MAKE=$BATS_TEST_TMPDIR/make run_here "$IW_TOP/scripts/bench" --quick --only P12u --out "$BATS_TEST_TMPDIR/x.json"
    assert_equal "$(cat "$BATS_TEST_TMPDIR/made")" \
        "[--no-print-directory][-j$(nproc)][-C][$IW_TOP][BUILD=$build][CC=ccache gcc][CFLAGS=-O2 -g][CPPFLAGS=][LDFLAGS=][WITHOUT=xdp][LTO=][all][crowd-bin]"
}

@test "scripts/bench rewrites one line on a terminal each second" {
    local drawn

    require_tool script jq
    IW_TIMEOUT=60 run_here script -qec "stty cols 50; '$IW_TOP/scripts/bench' --quick --only P11 --out '$BATS_TEST_TMPDIR/x.json'" /dev/null
    # Each part after a carriage return and the code that clears the line.
    drawn=$(tr '\r' '\n' <<<"$output" | sed -n 's/^\x1b\[K\(bench: P11.*\)/\1/p')
    [ "$(grep -c . <<<"$drawn")" -ge 2 ] || fail_with "the line is not rewritten: $drawn"
    [ "$(wc -L <<<"$drawn")" -le 49 ] || fail_with 'the line is wider than the terminal'
}

@test "scripts/bench leaves no process when it is ended" {
    local pid pids=

    require_tool iperf3 sockperf chrt
    require_netns
    setpriv --pdeathsig TERM env IW_BUILD="$IW_BUILD" "$IW_TOP/scripts/bench" --quick --time 20 --only P8awake \
        --out "$BATS_TEST_TMPDIR/x.json" >/dev/null 2>&1 3>&- &
    pid=$!
    bench_is_in_the_middle() {
        local groups

        # Each program that bench runs has a process group of its own.
        groups=$(pgrep -d , -P "$pid") && pids=$(pgrep -g "$groups" | tr '\n' ' ') && pgrep -g "$groups" -f 'sockperf ping-pong'
    }
    wait_until 15 bench_is_in_the_middle || fail_with 'bench does not come to its first run'
    kill -TERM "$pid"
    wait_until 5 iw_gone "$pid" || fail_with 'bench does not end'
    for pid in $pids; do
        wait_until 3 iw_gone "$pid" || fail_with "still running: $(tr '\0' ' ' <"/proc/$pid/cmdline")"
    done
    [ -n "$pids" ]
}
