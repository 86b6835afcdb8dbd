#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# ddp-bench: its measurements, its reports, and the arguments that it refuses. No test compares a
# throughput with a number; some compare the time until the end with a time limit.

# bats file_tags=waits

load helpers
load net

setup() {
    PORT=$(free_port)
    SHORT=(--time 200ms --warmup 50ms)
}

teardown_file() {
    net_teardown
}

# serve [OPTION...]: starts a server on this machine
serve() {
    serve_here ddp-bench --listen -p "$PORT" "$@"
}

# bench MODE [OPTION...]: runs a client of that server
bench() {
    run_here ddp-bench 127.0.0.1 "$@" -p "$PORT"
}

@test "every mode reports one verified result with the figures of both ends" {
    local mode keys

    keys='["calls_per_mib","client","connections","cpu_seconds_per_gib","environment","streams_used","crc","depth","duration_ns","emss_octets","event","ird","large_fpdus","local","messages","messages_per_second","mode","mulpdu_octets","octets","ord","peer","receiver","rev","rtr","rx_markers","schema","server","server_clients","size_octets","transport","tx_markers","verified","version","bits_per_second"]'
    serve
    for mode in write read send pingpong rate; do
        bench $mode "${SHORT[@]}" --json --interval 0
        assert_status 0
        assert_jsonl 'map(.event) | unique' '["result"]'
        assert_jsonl ".[0] | [.mode, .transport, .crc, .rev, .verified]" "[\"$mode\",\"tcp\",true,2,true]"
        assert_jsonl ".[0] | (del(.half_round_trip, .completion) | keys) == ($keys | sort)" true
        assert_jsonl '.[0] | .octets == .messages * .size_octets and .octets > 0 and .bits_per_second > 0' true
        assert_jsonl '.[0] | [.client, .server] | map(.cpu_user_ns + .cpu_sys_ns > 0 and .window_ns > 0 and .tx_calls > 0 and .waits >= 0 and .kernel != "") | all' true
        assert_jsonl '.[0] | (.calls_per_mib * .octets / 1048576 - ([.client, .server] | map(.tx_calls + .rx_calls + .waits) | add)) | fabs < 1' true
        assert_jsonl '.[0] | .half_round_trip // .completion | .p50_ns > 0 and .p50_ns <= .p90_ns and .p90_ns <= .p99_ns and .p99_ns <= .p999_ns and .p999_ns <= .p9999_ns and .p9999_ns <= .max_ns' true
        assert_jsonl '.[0] | has("completion") == (.mode != "pingpong") and has("half_round_trip") == (.mode == "pingpong")' true
        assert_jsonl '.[0] | (.bits_per_second - .octets * 8e9 / .duration_ns) | fabs < 2' true
    done
    bench pingpong "${SHORT[@]}" --json --interval 0
    assert_jsonl '.[0] | .half_round_trip.round_trips == .messages' true
}

@test "the receiver is the server for write and send, the client for read and pingpong" {
    serve
    bench write -n 1 -w 0 --json
    assert_jsonl '.[0].receiver' server
    bench send -n 1 -w 0 --json
    assert_jsonl '.[0].receiver' server
    bench read -n 1 -w 0 --json
    assert_jsonl '.[0].receiver' client
    bench pingpong -n 1 -w 0 --json
    assert_jsonl '.[0].receiver' client
}

@test "intervals add up to the result" {
    serve
    bench write --time 500ms -w 50ms --interval 100ms --json
    assert_status 0
    assert_jsonl 'map(select(.event == "interval")) | length >= 3' true
    assert_jsonl '(map(select(.event == "interval") | .octets) | add) == .[-1].octets' true
    assert_jsonl 'map(select(.event == "interval")) | .[-1].end_ns == ([.[].end_ns] | max)' true
    assert_jsonl '.[-1] | .duration_ns' "$(jq -s '[.[] | select(.event == "interval") | .end_ns] | max' <<<"$output")"
}

@test "a count is kept exactly, and several sizes are several results" {
    serve
    bench write -n 100 -w 0 -s 1,64K,0 --json
    assert_status 0
    assert_jsonl 'map([.size_octets, .messages, .octets])' '[[1,100,100],[65536,100,6553600],[0,100,0]]'
}

@test "a sweep doubles the size, and the human output has a row for each" {
    serve
    bench write -n 20 -w 0 -s 0-8,100-300 --json
    assert_status 0
    assert_jsonl 'map(.size_octets)' '[0,1,2,4,8,100,200,300]'
    bench pingpong -n 20 -w 0 -s 64-256
    assert_status 0
    assert_output_has 'calls/MiB  data'
    assert_output_has '  verified'
    [ "$(grep -c ' B ' <<<"$output")" -eq 3 ] || fail_with 'not a row for each size'
    [ "$(wc -l <<<"$output")" -eq 4 ] || fail_with 'the output has more than the rows'
}

@test "long messages of every mode" {
    serve
    for mode in write read send pingpong; do
        bench $mode -n 1 -w 0 -s 64M --depth 1 --json
        assert_status 0
        assert_jsonl 'map([.octets, .verified])' '[[67108864,true]]'
    done
}

@test "several connections are one result, counted together" {
    serve --once --json
    bench write -j 3 -n 100 -w 0 -s 1000 --json
    assert_status 0
    assert_jsonl '.[0] | [.messages, .octets, .connections, .streams_used, .server_clients, .verified]' '[100,100000,3,1,3,true]'
    assert_jsonl '.[0] | .client.tx_octets >= .octets and .server.rx_octets >= .octets' true
    # 34, 33 and 33 messages: 100 * 100 / (3 * (34 * 34 + 2 * 33 * 33))
    assert_jsonl '.[0].fairness > 0.9997 and .[0].fairness < 0.9999' true
    wait_served
    assert_status 0
    assert_jsonl 'map(.event) | [index("listening"), (map(select(. == "client")) | length), (map(select(. == "served")) | length)]' '[0,3,3]'
}

@test "several streams of several associations are one result" {
    serve -t udp --udp-port "$PORT" --json
    bench rate -t udp --udp-port "$PORT" -j 2 --streams 3 -n 600 -w 0 --json --interval 0
    assert_status 0
    assert_jsonl '.[0] | [.mode, .messages, .connections, .streams_used, .streams_out >= 3, .verified]' '["rate",600,2,3,true,true]'
    serve_end
    assert_jsonl '[.[] | select(.event == "client") | .peer] | [length, (unique | length)]' '[6,2]'
    bench write -j 2 --streams 2
    assert_status 2
    assert_stderr_has '--streams 2: -t tcp has no streams'
}

@test "a result names the environment of the measurement" {
    serve
    bench write -n 10 -w 0 --json
    assert_jsonl '.[0].environment | [.kernel, .machine, .interface]' "[\"$(uname -r)\",\"$(uname -m)\",\"lo\"]"
    assert_jsonl '.[0].environment | .mtu_octets' "$(cat /sys/class/net/lo/mtu)"
    assert_jsonl '.[0].environment | .cpus >= 1 and (.offloads | type) == "object" and (has("xdp_mode") | not)' true
}

@test "--plot draws the measurements, or reports at once that gnuplot is missing" {
    local bin=$BATS_TEST_TMPDIR/bin svg="$BATS_TEST_TMPDIR/a picture.svg"

    serve
    mkdir "$bin"
    run_here env "PATH=$bin" "$IW_BUILD/ddp-bench" 127.0.0.1 write -p "$PORT" -n 1 -s 1K,2K --plot "$svg" --json
    assert_status 3
    assert_jsonl '[.[].event]' '["error"]'
    assert_stderr_has 'install gnuplot-nox'

    # If gnuplot fails, no file is left. A gnuplot that only copies its input shows the script that
    # ddp-bench writes.
    printf '#!/bin/sh\ncat >/dev/null\nexit 1\n' >"$bin/gnuplot"
    chmod +x "$bin/gnuplot"
    PATH=$bin:$PATH bench write -n 5 -w 0 -s 1K-4K --plot "$svg"
    assert_status 4
    [ -z "$(find "$BATS_TEST_TMPDIR" -name '*picture*')" ] || fail_with 'a failed picture is left'
    printf '#!/bin/sh\nexec cat\n' >"$bin/gnuplot"
    # The temporary is a link that another user created: it is not followed.
    printf precious >"$BATS_TEST_TMPDIR/precious"
    ln -s precious "$svg.part"
    PATH=$bin:$PATH bench write -n 5 -w 0 -s 1K-4K --plot "$svg"
    assert_status 0
    [ "$(awk '/^END/ { exit } on { print $1 } /points <</ { on = 1 }' "$svg" | xargs)" = '1024 2048 4096' ] || fail_with 'the plot has other points'
    assert_equal "$(cat "$BATS_TEST_TMPDIR/precious")" precious

    require_tool gnuplot
    bench pingpong -n 5 -w 0 -s 1-4K --plot "$svg"
    assert_status 0
    grep -q '</svg>' "$svg" || fail_with 'no picture'
    [ ! -e "$svg.part" ]
}

@test "the human output is a table, with -q without interval lines" {
    serve
    bench write --time 300ms -w 50ms --interval 100ms
    assert_status 0
    assert_output_has ' messages  '
    assert_output_has 'verified'
    assert_output_has 'the server; duration and counts are its own'
    bench pingpong "${SHORT[@]}" --interval 100ms -q
    assert_status 0
    assert_output_has 'p99.9 '
    assert_output_lacks ' messages  '
}

@test "--mulpdu emss makes every FPDU one TCP segment" {
    serve
    bench write "${SHORT[@]}" --mulpdu emss --json --interval 0
    assert_status 0
    # RFC 5044 4.5: 2 octets of length and 4 of CRC, no padding; at most 64768
    assert_jsonl '.[0] | .large_fpdus == false and .mulpdu_octets == ([.emss_octets - 6 - .emss_octets % 4, 64768] | min)' true
    bench write "${SHORT[@]}" --mulpdu 4000 --json --interval 0
    # TCP segments of loopback hold more than 4000 octets: --mulpdu does not shrink FPDUs that fit
    # one segment
    assert_jsonl '.[0] | .large_fpdus and (.mulpdu_octets == ([([.emss_octets - 6 - .emss_octets % 4, 64768] | min), 4000] | max))' true
    bench write "${SHORT[@]}" --json --interval 0
    assert_jsonl '.[0] | [.large_fpdus, .mulpdu_octets]' '[true,64768]'
}

@test "CRC is off only if both ends request that" {
    serve
    bench write -n 10 -w 0 --crc off --json
    assert_jsonl '.[0].crc' true
    serve_end
    serve --crc off
    bench write -n 10 -w 0 --json
    assert_jsonl '.[0].crc' true
    bench write -n 10 -w 0 --crc off --json
    assert_jsonl '.[0] | [.crc, .verified]' '[false,true]'
}

@test "markers and revision 1 on request" {
    serve --markers
    bench write "${SHORT[@]}" --json --interval 0
    assert_status 0
    assert_jsonl '.[0] | [.tx_markers, .rx_markers, .verified]' '[true,false,true]'
    bench read "${SHORT[@]}" --markers --rev 1 --json --interval 0
    assert_status 0
    assert_jsonl '.[0] | [.rev, .tx_markers, .rx_markers, .verified]' '[1,true,true,true]'
}

@test "--no-verify says nothing about the data" {
    serve
    bench read -n 10 -w 0 --no-verify --json
    assert_status 0
    assert_jsonl '.[0] | has("verified")' false
    bench read -n 10 -w 0 --no-verify
    assert_output_has 'not verified'
}

@test "the client's congestion control is used at both ends, or refused" {
    serve
    bench read -n 10 -w 0 --cc reno --json
    assert_status 0
    assert_jsonl '.[0] | [.client.cc, .server.cc]' '["reno","reno"]'
    bench read -n 10 -w 0 --cc nosuch --json
    assert_status 3
    assert_jsonl '.[0] | [.event, .error]' '["error","NOTSUP"]'
    assert_stderr_has nosuch
    serve_end
    serve --cc reno
    bench read -n 10 -w 0 --json
    assert_jsonl '.[0].server.cc' reno
}

@test "a transport that cannot run is refused with exit 3 and a reason, at both ends" {
    # lo is not Ethernet, XDP may not be built in, and an ordinary user has no CAP_NET_RAW.
    local error=NOTSUP

    [ "$(id -u)" -eq 0 ] || [[ $(ddp-bench --doctor --json) != *'needs CAP_NET_RAW'* ]] || error=PERM
    run_here ddp-bench --listen -t xdp -I lo -p "$PORT"
    assert_status 3
    assert_stderr_has 'xdp: '
    run_here ddp-bench 127.0.0.1 write -t xdp -I lo -p "$PORT" --json
    assert_status 3
    assert_jsonl '.[0] | [.event, .error, .exit_status]' "[\"error\",\"$error\",3]"
}

@test "arguments that make no sense are usage errors" {
    local bad

    while read -r bad; do
        # shellcheck disable=SC2086
        run_here ddp-bench $bad
        assert_status 2
        assert_output_is ''
    done <<'END'
127.0.0.1
127.0.0.1 fly
127.0.0.1 write read
--listen 127.0.0.1
--listen -s 1M
127.0.0.1 write --once
127.0.0.1 write --memory 1M
127.0.0.1 write -n 1 --time 1s
127.0.0.1 write -n 0
127.0.0.1 write -s 2G
127.0.0.1 write -s 1,
127.0.0.1 write -s 2-1
127.0.0.1 write -s 1-2G
127.0.0.1 write -s 1-
127.0.0.1 write -j 0
127.0.0.1 write -j 2000
127.0.0.1 write --streams 2
127.0.0.1 write -t udp -j 100 --streams 100
xdp -j 2
xdp --plot x.svg
127.0.0.1 write --depth 0
127.0.0.1 write --depth 5000
127.0.0.1 write --mulpdu 100
127.0.0.1 write --mulpdu large
127.0.0.1 write --crc maybe
127.0.0.1 write --rev 3
127.0.0.1 write -p 0
127.0.0.1 write --cc a-name-that-is-too-long
stag -n 5
stag --cc cubic
END
    run_here ddp-bench
    assert_status 2
    assert_stderr_has 'expected HOST and write, read, send, pingpong or rate'
}

# refused TEXT ARG...: a usage error with this message
refused() {
    local text=$1
    shift

    run_here ddp-bench "$@"
    assert_status 2
    assert_output_is ''
    assert_stderr_has "ddp-bench: $text"
}

@test "wrong sizes and modes are explained" {
    local range

    for range in 64- -64 64-1K-2K -; do
        refused "--size \"$range\": not a range; expected the smallest and the largest size, such as 64-1M" \
            127.0.0.1 write -s "1,$range"
    done
    refused '--size 1M-64: the first size is larger than the last; expected 64-1M, the smaller one first' 127.0.0.1 write -s 1M-64
    refused 'write: a mode without a host; expected ddp-bench HOST write' write
    refused '--listen send: the client chooses the mode; leave it out here, and run ddp-bench HOST send there' --listen send
    refused '--plot: a picture of one size has no curve; give at least two, such as --size 64-1M' 127.0.0.1 write --plot x.svg
    refused '--plot: a picture of one size has no curve' 127.0.0.1 write --plot x.svg -s 64,64
}

@test "an error over SCTP cites no clause about TCP, and a lost server is named" {
    local peer

    for peer in 'sctp-ddp-ping --listen' 'ddp-bench --listen --memory 64K'; do
        # shellcheck disable=SC2086
        serve_here $peer -t udp --udp-port "$PORT" -p "$PORT"
        bench write -t udp --udp-port "$PORT" --json
        assert_status 1
        assert_jsonl '.[0] | [.error, .clause]' '["REJECTED",null]'
        serve_end
    done
    serve -t udp --udp-port "$PORT"
    IW_READY='"interval"' serve_here ddp-bench 127.0.0.1 write -p "$PORT" -t udp --udp-port "$PORT" --time 20s --json --interval 50ms -w 0
    serve_end "$((SERVED - 1))" KILL
    wait_served
    assert_status 4
    assert_stderr_has 'ddp-bench: 127.0.0.1: sctp: '
    assert_stderr_has 'the server has ended or the connection was cut; its output may have the reason'
}

@test "without a server it fails with status 4" {
    bench write --json
    assert_status 4
    assert_jsonl '.[0] | [.event, .exit_status]' '["error",4]'
    assert_stderr_has refused
}

@test "a run that exceeds the server's memory is refused, and the server continues" {
    serve --memory 1M --json
    bench write -s 1M --json
    assert_status 1
    assert_jsonl '.[0] | [.event, .error]' '["error","REJECTED"]'
    assert_stderr_has "the server refused: --size 1.0 MiB, --depth 2: 2.0 MiB of memory are needed; 1.0 MiB of the server's 1.0 MiB are free: use a smaller --size or --depth, or give the server more --memory"
    bench write -s 1K -n 10 -w 0
    assert_status 0
    serve_end
    assert_status 0
    assert_jsonl 'map(.event)' '["listening","refused","client","served","stopped"]'
    assert_jsonl '.[2] | [.mode, .size_octets]' '["write",1024]'
    assert_jsonl '.[1].error' LIMIT
}

@test "--once serves one client and ends with the status of its run" {
    serve --once
    bench send -n 10 -w 0
    assert_status 0
    wait_served
    assert_status 0
    serve --once --timeout 300ms
    # a client that is killed in the middle of its run
    run_here timeout -s KILL 0.3 ddp-bench 127.0.0.1 write -p "$PORT" --time 20s
    wait_served
    assert_status 4
}

@test "a server that disconnects ends the run" {
    serve
    IW_READY='"interval"' serve_here ddp-bench 127.0.0.1 write -p "$PORT" --time 20s --json --interval 50ms -w 0
    serve_end 1 KILL
    wait_served 2
    assert_status 4
    assert_jsonl '.[-1] | [.event, .exit_status]' '["error",4]'
    assert_jsonl 'map(.event) | index("result")' null
    # The connection ends by a reset or by a FIN.
    assert_stderr_has '; its output '
}

@test "a client that disconnects does not affect another" {
    serve
    run_here timeout -s KILL 0.3 ddp-bench 127.0.0.1 write -p "$PORT" --time 20s
    bench write -n 100 -w 0
    assert_status 0
}

@test "an interrupted client reports that" {
    serve
    IW_READY='"interval"' serve_here ddp-bench 127.0.0.1 pingpong -p "$PORT" --time 20s --json --interval 50ms -w 0
    serve_end 2 INT
    assert_status 4
    assert_jsonl '.[-1] | [.event, .error]' '["error","CANCELED"]'
}

@test "more memory than this machine has is refused before it is allocated" {
    run_here timeout 5 ddp-bench 127.0.0.1 write -p "$PORT" -j 1024 -s 1G --depth 64
    assert_status 4
    assert_stderr_has '--connections 1024, --size 1.0 GiB, --depth 64: 64.0 TiB of memory; this machine has '
    assert_stderr_has 'use a smaller --size, --depth or --connections'
}

@test "a signal interrupts the set-up" {
    local began=$EPOCHREALTIME

    [ "$(awk '/^MemTotal/ { print $2 }' /proc/meminfo)" -gt 10000000 ] || skip 'needs memory: 10 GB'
    # timeout --foreground sends one signal; a second one would end the client at once.
    run_here timeout --foreground -s TERM 0.3 ddp-bench 127.0.0.1 write -p "$PORT" -j 8 -s 1G --depth 1
    assert_stderr_has 'stopped by a signal'
    [ $((${EPOCHREALTIME/./} - ${began/./})) -lt 2000000 ] || fail_with 'it took more than 2 s'
}

@test "a picture that cannot be created is an error before the measurement" {
    run_here ddp-bench 127.0.0.1 write -p "$PORT" -s 64-1K --plot /nonexistent/x.svg
    assert_status 4
    assert_stderr_is 'ddp-bench: --plot "/nonexistent/x.svg": its directory does not exist; create it, or name another file'
}

@test "a server of another kind, and one that sends no Reply, are named" {
    serve_here mpa-probe --listen -p "$PORT"
    bench write --timeout 500ms
    assert_status 4
    assert_stderr_has "127.0.0.1, port $PORT: the listener accepted, then sent nothing for "
    assert_stderr_has 'is it ddp-bench --listen, not another program?'
    serve_end
    serve --rev 1
    bench write --rev 2
    assert_status 4
    assert_stderr_has 'the peer ended the connection after the Request with Rev 2; try another --rev, or none'
    serve_end
    require_tool socat
    serve_here socat "TCP-LISTEN:$PORT,bind=127.0.0.1,fork,reuseaddr" SYSTEM:true
    bench write
    assert_status 4
    assert_stderr_has "127.0.0.1, port $PORT: the peer closed the connection without an MPA Reply; is it an iWARP listener?"
}

@test "a server that stops during the run is reported after --timeout, in every mode alike" {
    local mode began server pid

    for mode in write send; do
        serve
        server=$SERVED
        pid=$SERVE_PID
        IW_READY='messages' serve_here ddp-bench 127.0.0.1 "$mode" -p "$PORT" --time 20s --warmup 0 --interval 1500ms --timeout 1600ms
        kill -STOP "$pid"
        began=${EPOCHREALTIME/./}
        wait_served
        # The end mark of an interval is not progress.
        [ $((${EPOCHREALTIME/./} - began)) -lt 2600000 ] || fail_with 'it took more than 2.6 s'
        assert_status 4
        assert_stderr_is "ddp-bench: 127.0.0.1, port $PORT: no progress for 1600 ms while moving data; is the network up, and does the server still run? --timeout allows more"
        serve_end "$server" KILL
    done
}

@test "the test xdp prints nothing before it can begin" {
    run_here ddp-bench xdp --between nosuch0,nosuch1
    [ "$status" -ne 0 ] || fail_with 'it ran'
    assert_output_is ''
}

@test "a peer that is not ddp-bench is not accepted as server" {
    require_tool socat
    serve_here socat -u "TCP-LISTEN:$PORT,bind=127.0.0.1" OPEN:/dev/null
    bench write --timeout 300ms
    assert_status 4
    assert_stderr_has 'no'
}

@test "over a veth pair, IPv4 and IPv6, write with the congestion control of the client" {
    local ip

    require_netns
    net_setup
    for ip in "$RIGHT_IP" "$RIGHT_IP6"; do
        [[ $ip != *:* ]] || [ -e /proc/net/if_inet6 ] || continue
        serve_in right ddp-bench --listen --once -p "$PORT" -b "$ip"
        run_in left ddp-bench "$ip" write -p "$PORT" "${SHORT[@]}" --cc cubic --json --interval 0
        assert_status 0
        assert_jsonl '.[0] | [.verified, .client.cc, .server.cc]' '[true,"cubic","cubic"]'
        wait_served
        assert_status 0
    done
    serve_in right ddp-bench --listen --once -p "$PORT" -b "$RIGHT_IP"
    run_in left ddp-bench "$RIGHT_IP" write -p "$PORT" "${SHORT[@]}" --mulpdu emss --json --interval 0
    assert_status 0
    assert_jsonl '.[0] | [.verified, .emss_octets < 1500, .client.tx_fpdus >= .octets / 1448]' '[true,true,true]'
    wait_served
}

@test "a listener on an interface needs an address, whatever the tool" {
    local tool

    require_netns
    net_setup
    for tool in 'ddp-bench --listen' 'ddp-bench --listen -t udp' 'mpa-probe --listen' 'mpa-probe --listen --app rping' \
        'sctp-ddp-ping --listen' "ddp-recv $BATS_TEST_TMPDIR" "ddp-send --listen $BATS_TEST_TMPDIR"; do
        # shellcheck disable=SC2086
        run_in left $tool -I "$LEFT_IF" -p "$PORT"
        assert_status 2
        assert_stderr_has "listen on 127.0.0.1: no host reaches a loopback address through $LEFT_IF (-I): give an address of $LEFT_IF with -b"
    done
    serve_in left ddp-bench --listen --once -p "$PORT" -I "$LEFT_IF" -b '*'
    run_in right ddp-bench "$LEFT_IP" write -p "$PORT" -n 1 -w 0
    assert_status 0
    serve_here ddp-bench --listen -p "$PORT" -I lo
    run_here ddp-bench 127.0.0.1 write -p "$PORT" -n 1 -w 0
    assert_status 0
}

@test "--trace writes JSON lines" {
    serve
    bench write -n 3 -w 0 -s 100 --trace "$BATS_TEST_TMPDIR/trace"
    assert_status 0
    [ "$(jq -s length <"$BATS_TEST_TMPDIR/trace")" -gt 3 ]
}

@test "over SCTP the result describes the association, and each of its congestion controllers works at both ends" {
    serve -t udp --udp-port "$PORT"
    for cc in rfc9260 cubic bbr; do
        bench write -t udp --udp-port "$PORT" "${SHORT[@]}" --json --interval 0 --cc $cc
        assert_status 0
        assert_jsonl '.[0] | [.transport, .verified, .client.cc, .server.cc, .stream]' "[\"udp\",true,\"$cc\",\"$cc\",0]"
        assert_jsonl '.[0] | [.rev, has("rx_markers") or has("emss_octets") or has("large_fpdus") or has("rtr")]' '[2,false]'
        assert_jsonl '.[0] | .streams_out >= 1 and (.addresses[0] | .path_mtu_octets >= 1200 and .srtt_ns > 0) and .mulpdu_octets < .addresses[0].path_mtu_octets' true
    done
    for cc in '' --cc=auto; do # loopback: the round trip is below 1 ms
        bench write -t udp --udp-port "$PORT" "${SHORT[@]}" --json --interval 0 $cc
        assert_status 0
        assert_jsonl '.[0] | [.client.cc, .server.cc]' '["cubic","cubic"]'
    done
    bench write -t udp --udp-port "$PORT" "${SHORT[@]}" --interval 0
    assert_status 0
    assert_output_has ' udp, enhanced (RFC 6581), CRC on, MULPDU '
    assert_output_has ' stream 0; '
    assert_output_has 'chunks by the client'
    assert_output_lacks 'MPA'
    bench write -t udp --udp-port "$PORT" "${SHORT[@]}" --cc reno
    assert_status 2
    assert_stderr_has '--cc reno: not known for -t udp; expected auto, bbr, cubic or rfc9260'
}

@test "stag compares a million registrations with a thousand" {
    run_here ddp-bench stag --json
    assert_status 0
    assert_jsonl '.[0] | [.event, .mode, .ratio > 0, .ratio_min <= .ratio_max, .pairs >= 5]' '["result","stag",true,true,true]'
}

@test "the examples of the page run" {
    require_localhost
    local n=0 line words

    serve
    while read -r line; do
        read -ra words <<<"${line//\\/}"
        [ "${words[2]}" != --listen ] || continue
        case ${words[2]} in
        stag | xdp) run_here "${words[@]:1}" ;;
        *) run_here "${words[@]:1}" -p "$PORT" ;;
        esac
        assert_status 0
        n=$((n + 1))
    done < <(grep '^\$ ddp' "$IW_TOP/man/ddp-bench.1")
    [ $n -ge 4 ]
}
