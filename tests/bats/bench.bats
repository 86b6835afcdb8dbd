#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# scripts/bench: its measurements beside the peers, its page and pictures, and runs that fail.
# It occupies all processors, so this file runs alone.

# bats file_tags=plain

load helpers
load net

# bats test_tags=all
@test "scripts/bench measures beside the peers and writes every value" {
    require_tool iperf3 sockperf chrt
    require_netns
    IW_TIMEOUT=100 run_here "$IW_TOP/scripts/bench" --quick --only P1,P8,P10 --out "$BATS_TEST_TMPDIR/bench.json" \
        --page "$BATS_TEST_TMPDIR/figures.md"
    # On a busy machine a bar missed in one second is not a failure here; a failed run is.
    [ "$status" -le 1 ] || fail_with 'bench does not run'
    assert_output_has 'P1 '
    assert_output_has 'P8 '
    assert_output_has 'P10 '
    assert_stderr_has 'P1: pair 1 of 1'
    assert_stderr_has 'of 3 figures done'
    assert_equal "$(grep -cE '^\| (P1|P8|P10) \| .* \| [<>]= [0-9.]+ \|' "$BATS_TEST_TMPDIR/figures.md")" 3
    output=$(cat "$BATS_TEST_TMPDIR/bench.json")
    assert_jsonl '.[0] | [.event, (.figures | map(.id)), .failed, .pairs]' '["bench",["P1","P8","P10"],[],1]'
    assert_jsonl '.[0].figures | map(.ratio > 0 and .ratio == .values[0].ratio and (.values | length == 1)) | all' true
}

# bats test_tags=all
@test "scripts/bench compares with the congestion control that is faster for TCP by the median" {
    local has

    require_tool iperf3 chrt
    require_netns
    has=$(tr ' ' '\n' </proc/sys/net/ipv4/tcp_available_congestion_control | grep -cxE 'cubic|bbr')
    [ "$has" -eq 2 ] || skip 'needs bbr: cubic and bbr are not both here'
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
    PATH=$PWD/bin:$PATH IW_TIMEOUT=100 run_here "$IW_TOP/scripts/bench" --pairs 3 --time 1 --only P1,P3 --out "$PWD/bench.json"
    [ "$status" -le 1 ] || fail_with 'bench does not run'
    assert_output_has 'P1: beside cubic; iperf3, medians: bbr 22 Gb/s, cubic 41 Gb/s'
    assert_output_has 'P3: beside bbr; iperf3, medians: bbr 22 Gb/s, cubic 12 Gb/s'
    output=$(jq -c . bench.json)
    assert_jsonl '.[0].congestion_control.P1' '{"cc":"cubic","peer_bits_per_second":{"bbr":22000000000,"cubic":41000000000}}'
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
    PATH=$BATS_TEST_TMPDIR/bin:$PATH run_here "$IW_TOP/scripts/bench" --quick --only P7 --out "$BATS_TEST_TMPDIR/bench.json"
    assert_status 1
    assert_stderr_has 'socat TCP-LISTEN failed'
    output=$(cat "$BATS_TEST_TMPDIR/bench.json")
    assert_jsonl '.[0] | [.failed, .skipped]' '[["P7"],[]]'
}

@test "scripts/bench holds idle connections and associations" {
    require_tool jq ss
    IW_TIMEOUT=60 run_here "$IW_TOP/scripts/bench" --quick --only P12,P12u --out "$BATS_TEST_TMPDIR/bench.json"
    [ "$status" -le 1 ] || fail_with 'bench does not run'
    output=$(cat "$BATS_TEST_TMPDIR/bench.json")
    assert_jsonl '.[0] | [.failed, (.runs | map([.id, .idle.held]))]' '[[],[["P12",200],["P12u",2000]]]'
}

# bats test_tags=all
@test "scripts/bench measures TLS, DTLS and transfers by ssh beside their peers" {
    require_tool jq openssl socat sshd ssh scp rsync
    require_root
    require_netns
    IW_TIMEOUT=100 run_here "$IW_TOP/scripts/bench" --quick --only P30,P31,P32m,P33 --out "$BATS_TEST_TMPDIR/bench.json"
    [ "$status" -le 1 ] || fail_with 'bench does not run'
    output=$(cat "$BATS_TEST_TMPDIR/bench.json")
    assert_jsonl '.[0] | [.failed, .skipped, (.figures | map(.id))]' '[[],[],["P30","P30p","P31","P31p","P32m","P33","P33p"]]'
    # Both sides of P30 use the same cipher suite.
    assert_jsonl '.[0].runs[] | select(.id == "P30") | .rounds[0].ours.tls_cipher' TLS_AES_128_GCM_SHA256
    assert_jsonl '.[0].runs[] | select(.id == "P30") | .rounds[0].plain | has("tls_cipher")' false
}

# bats test_tags=all
@test "scripts/bench draws pictures" {
    require_tool gnuplot chrt
    require_netns
    IW_TIMEOUT=100 run_here "$IW_TOP/scripts/bench" --quick --only plot --out "$BATS_TEST_TMPDIR/bench.json"
    assert_status 0
    [ "$(grep -l '</svg>' "$BATS_TEST_TMPDIR"/*.svg | wc -l)" -eq 4 ] || fail_with 'not four pictures'
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
