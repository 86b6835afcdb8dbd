#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# DDP over the SCTP of Linux in the guest: against the library's own SCTP on the host, on IP and in
# UDP, in both directions, and against itself. The guest has an IPv4 and an IPv6 address, and lists
# both.
#
# run_guest and similar functions set the variables; each @test is a subshell:
# shellcheck disable=SC2030,SC2031,SC2034

# bats file_tags=waits

load ../bats/helpers
load guest

setup_file() {
    guest_up --siw none
    guest_is_up || return 0
    "$PEER_VM" program "$IW_BUILD/ddp-bench" "$IW_BUILD/ddp-send" "$IW_BUILD/ddp-recv" \
        "$IW_BUILD/sctp-ddp-ping" "$IW_BUILD/tests/sessions/sessions" 3>&-
    # --doctor and a raw ping run before any program has used SCTP. The far end, 127.0.0.1, does not
    # answer. The last line records whether the SCTP module is loaded after them.
    "$PEER_VM" run sh -c 'ddp-bench --doctor --json; sctp-ddp-ping --doctor --json; sctp-ddp-ping -t raw --doctor --json 127.0.0.1 --timeout 1s
        sctp-ddp-ping -t raw -c 1 --timeout 1s 127.0.0.1 >/dev/null; echo "{\"raw_status\":$?}"
        [ ! -e /proc/net/sctp ] || echo "{\"loaded\":true}"' >"$BATS_FILE_TMPDIR/looked" 2>/dev/null 3>&-
    "$PEER_VM" run modprobe sctp 3>&-
    # SCTP in UDP (RFC 6951) beside SCTP on IP: a socket uses the values of these settings at its
    # creation.
    "$PEER_VM" run sysctl -q -w net.sctp.udp_port=9899 3>&-
    "$PEER_VM" run -b ddp-bench -t sctp --listen --bind '*' -p 7471 3>&-
    "$PEER_VM" run sysctl -q -w net.sctp.encap_port=9899 3>&-
    "$PEER_VM" run -b ddp-bench -t sctp --listen --bind '*' -p 7472 3>&-
    "$PEER_VM" run sysctl -q -w net.sctp.encap_port=0 3>&-
}

teardown_file() {
    guest_down
}

# sctp_listens PORT: waits until an SCTP socket in the guest listens on PORT. /proc/net/sctp/eps
# lists the port in decimal. The loop runs in the guest, in one call: each check from the host would
# delay a busy guest.
sctp_listens() {
    guest_does sh -c "until grep -qE '^ *[0-9a-f]+ +[0-9a-f]+ +2 +10 +[0-9]+ +$1 ' /proc/net/sctp/eps; do sleep 0.1; done"
}

setup() {
    skip_with_file
    cd "$BATS_TEST_TMPDIR" || return 1
    [ "$BATS_TEST_NUMBER" -gt 1 ] || { sctp_listens 7471 && sctp_listens 7472; }
}

# every_mode RUN HOST [OPTION...]: makes a short, verified run of each mode
every_mode() {
    local run=$1 mode
    shift

    for mode in pingpong write read send; do
        $run ddp-bench "$@" $mode --time 300ms -w 100ms --interval 0 --json
        assert_status 0
        assert_jsonl '.[0] | [.mode, .verified]' "[\"$mode\",true]"
    done
}

@test "the doctor reports that SCTP's module is not loaded, and does not load it; nor does a ping over raw" {
    output=$(cat "$BATS_FILE_TMPDIR/looked")
    assert_jsonl 'map(select(.subject == "transport sctp") | [.verdict, (.seen | contains("not loaded"))])' '[["ok",true],["ok",true],["ok",true]]'
    assert_jsonl 'map(select(.subject == "kernel SCTP") | [.verdict, (.seen | contains("not loaded"))])' '[["ok",true],["ok",true],["ok",true]]'
    assert_jsonl 'map(select(.subject == "transport raw") | .verdict)' '["ok","ok","ok"]'
    assert_jsonl 'map(select(.event == "far_end") | .transport)' '["raw","udp"]'
    assert_jsonl '[map(.raw_status // empty), any(.loaded)]' '[[1],false]'
    run_guest ddp-bench --doctor --json
    assert_jsonl 'map(select(.subject == "transport sctp" or .subject == "transport raw") | .verdict)' '["ok","no"]'
}

@test "raw on the host connects to kernel SCTP in the guest: IPv4 and IPv6" {
    every_mode run_beside "$GUEST_IP" -t raw -p 7471
    assert_jsonl '.[0].mulpdu_octets >= 516 and .[0].mulpdu_octets <= 1450' true
    every_mode run_beside "$GUEST_IP6" -t raw -p 7471
}

@test "kernel SCTP in the guest connects to raw on the host: IPv4 and IPv6" {
    serve_beside ddp-bench --listen -t raw --bind '*' -p 7473
    every_mode run_guest "$HOST_IP" -t sctp -p 7473
    every_mode run_guest "$HOST_IP6" -t sctp -p 7473
}

# The interface is a tap device: the program runs in its driver.
require_xdp() {
    run_beside sctp-ddp-ping 192.0.2.1 -t xdp -I vm0 -c 1 --timeout 100ms
    # shellcheck disable=SC2154
    [ "$status" -ne 3 ] || skip "needs xdp: ${stderr##*: }"
}

@test "xdp on the host connects to kernel SCTP in the guest: IPv4 and IPv6" {
    require_xdp
    every_mode run_beside "$GUEST_IP" -t xdp -I vm0 -p 7471
    assert_jsonl '.[0].mulpdu_octets >= 516 and .[0].mulpdu_octets <= 1450' true
    every_mode run_beside "$GUEST_IP6" -t xdp -I vm0 -p 7471
}

@test "kernel SCTP in the guest connects to xdp on the host: IPv4 and IPv6" {
    require_xdp
    IW_READY='listening on' serve_beside ddp-bench --listen -t xdp -I vm0 --bind '*' -p 7478
    every_mode run_guest "$HOST_IP" -t sctp -p 7478
    every_mode run_guest "$HOST_IP6" -t sctp -p 7478
}

@test "udp on the host against the guest's SCTP in UDP" {
    every_mode run_beside "$GUEST_IP" -t udp -p 7472
}

@test "kernel SCTP against itself" {
    every_mode run_guest 127.0.0.1 -t sctp -p 7471
}

@test "a trace over kernel SCTP shows the path, its congestion window and its round-trip time" {
    run_guest ddp-bench 127.0.0.1 -t sctp -p 7471 write --time 300ms -w 0 --interval 0 --trace /tmp/events
    assert_status 0
    run_guest grep -E '"event":"(path|window|rtt)"' /tmp/events
    assert_status 0
    assert_jsonl 'map(.event) | unique' '["path","rtt","window"]'
    # A path is reported only when it changes; a slow guest can change it.
    assert_jsonl 'map(select(.event == "path") | [.state, .mtu_octets]) | [.[:-1], .[1:]] | transpose | all(.[0] != .[1])' true
    assert_jsonl '.[0] | [.event, .address, .state, .primary, .mtu_octets > 1000]' '["path","127.0.0.1","active",true,true]'
    assert_jsonl 'map(select(.event == "window")) | [length > 3, all(.cwnd_octets > 0)]' '[true,true]'
    assert_jsonl 'map(select(.event == "rtt") | .rto_ns > 0) | all' true
}

# serve_in_udp PORT DESCRIPTORS: starts a listener in the guest that answers SCTP in UDP
serve_in_udp() {
    "$PEER_VM" run sysctl -q -w net.sctp.encap_port=9899 3>&-
    guest_job sh -c "ulimit -n $2 && exec ddp-recv -t sctp --bind '*' -p $1 --timeout 2s /tmp"
    sctp_listens "$1"
    "$PEER_VM" run sysctl -q -w net.sctp.encap_port=0 3>&-
}

idle_peer() {
    run_beside env PYTHONPATH="$BATS_TEST_DIRNAME/../bats" PYTHONDONTWRITEBYTECODE=1 python3 "$BATS_TEST_DIRNAME/../bats/sctp_idle.py" \
        9899 "$@" "$GUEST_IP"
}

# SEC-29. Linux does not let a program choose the reason in the ABORT.
@test "kernel SCTP in the guest ends associations without a session" {
    serve_in_udp 7479 1024
    idle_peer 7479 20 30 idle
    assert_status 0
    assert_output_is "up 20
20 ABORT without a reason"
    idle_peer 7479 20 30 reject
    assert_output_is "up 20
20 ABORT without a reason"
    idle_peer 7479 20 30 session
    assert_output_is "up 20
20 SHUTDOWN"
    idle_peer 7479 20 30 deaf
    assert_output_is "up 20
20 ABORT without a reason"
    guest_kill
}

@test "a file goes into the guest and comes back the same" {
    random_file here 3M
    run_guest mkdir -p /tmp/in
    guest_job ddp-recv -t sctp --bind '*' -p 7474 /tmp/in
    sctp_listens 7474
    run_beside ddp-send -t raw -p 7474 here "$GUEST_IP:"
    assert_status 0
    guest_kill
    guest_job ddp-send --listen -t sctp --bind '*' -p 7475 /tmp/in
    sctp_listens 7475
    run_beside ddp-recv -t raw -p 7475 "$GUEST_IP:here" back
    assert_status 0
    assert_same_file here back
    guest_kill
}

@test "tshark decodes everything, with good checksums" {
    local bad capture

    require_tool tshark tcpdump
    "$PEER_VM" host tcpdump -U -i vm0 -w "$BATS_TEST_TMPDIR/all.pcap" sctp >/dev/null 2>tcpdump.err 3>&- &
    capture=$!
    wait_until 20 grep -q 'listening on' tcpdump.err
    run_beside ddp-bench "$GUEST_IP" send -t raw -p 7471 -n 20 -s 4K -w 0 --json
    assert_status 0
    wait_until 20 sh -c "tshark -r '$BATS_TEST_TMPDIR/all.pcap' -Y 'sctp.chunk_type == 14 || sctp.chunk_type == 6' 2>/dev/null | grep -q ."
    kill "$capture"
    # tcpdump exits on the signal; the file is complete when it has exited.
    wait "$capture"
    bad=$(tshark -o 'sctp.checksum:CRC 32c' -r all.pcap -Y '_ws.malformed || sctp.checksum.status == "Bad"' 2>/dev/null)
    [ -z "$bad" ] || fail_with 'tshark reports errors' "$bad"
    # Both ends indicate DDP (RFC 5043 5.1), every DATA chunk is unordered, and its PPID is one of
    # the two of DDP.
    [ "$(tshark -r all.pcap -Y sctp.adaptation_layer_indication -T fields -e sctp.adaptation_layer_indication 2>/dev/null | sort -u)" = 0x00000001 ] ||
        fail_with 'wrong adaptation indications'
    bad=$(tshark -r all.pcap -Y 'sctp.chunk_type == 0 && (sctp.data_u_bit == 0 || sctp.data_payload_proto_id < 16 || sctp.data_payload_proto_id > 17)' 2>/dev/null)
    [ -z "$bad" ] || fail_with 'chunks that RFC 5043 does not know' "$bad"
}

# in_sequence RUN TRANSPORT HOST PORT STREAMS [busy]: SCTP-37. IW_ROUNDS=10000 is the long run.
in_sequence() {
    local run=$1 n=${IW_ROUNDS:-300} sessions=sessions
    shift

    [ "$run" = run_guest ] || sessions=$IW_BUILD/tests/sessions/sessions
    IW_TIMEOUT=$((60 + n / 5))
    $run "$sessions" open "$1" "$2" "$3" "$4" "$n" ${5+"$5"}
    assert_status 0
    echo "# $run $*: $output, ${stderr#sessions: }" >&3
    [[ "$output" =~ ^"sessions $n failed 0 streams "[1-9] ]] || fail_with 'sessions failed' "$output"
}

@test "sessions one after another on one association of kernel SCTP: none fails" {
    guest_job sessions serve sctp '*' 7479 1000
    sctp_listens 7479
    in_sequence run_guest sctp 127.0.0.1 7479 1000
    in_sequence run_guest sctp 127.0.0.1 7479 2
    guest_kill
}

# A busy association is not idle, and the kernel does not report acknowledgements.
@test "sessions one after another on one association of kernel SCTP while another session sends: none fails" {
    guest_job sessions serve sctp '*' 7480 1000
    sctp_listens 7480
    in_sequence run_guest sctp 127.0.0.1 7480 1000 busy
    in_sequence run_guest sctp 127.0.0.1 7480 2 busy
    guest_kill
}

@test "sessions one after another on one association, kernel SCTP at one end: none fails" {
    guest_job sessions serve sctp '*' 7481 1000
    sctp_listens 7481
    in_sequence run_beside raw "$GUEST_IP" 7481 2
    guest_kill
    IW_READY=listening serve_beside "$IW_BUILD/tests/sessions/sessions" serve raw '*' 7482 1000
    in_sequence run_guest sctp "$HOST_IP" 7482 2
}

# RFC 5043 10 requires an ABORT. The kernel's close() would shut the association down in order.
@test "ordered DATA gets an ABORT" {
    run_beside python3 "$IW_TOP/tests/interop/sctp_ordered.py" "$GUEST_IP" 9899 7472
    assert_status 0
    assert_equal "$output" 'ABORT'
}

@test "the guest's kernel reports no error" {
    guest_is_well
}

@test "sctp-ddp-ping both ways: addresses, path MTU and the peer's indication" {
    "$PEER_VM" run ip address replace 10.78.0.3/24 dev eth0 3>&-
    guest_job sctp-ddp-ping --listen -t sctp --bind '*' -p 7476
    sctp_listens 7476
    run_beside sctp-ddp-ping "$GUEST_IP" -t raw -p 7476 -n 2 -c 3 -i 50ms --json
    assert_status 0
    assert_jsonl '.[-1] | [.replies, .lost, .adaptation_indication]' '[6,0,1]'
    assert_jsonl '.[-1].addresses[0] | [.address, .primary, .active, .path_mtu_octets]' "[\"$GUEST_IP:7476\",true,true,1500]"
    # The guest lists both of its addresses (RFC 9260 5.1.2).
    assert_jsonl '.[-1].addresses | map(.address) | sort' "[\"$GUEST_IP:7476\",\"10.78.0.3:7476\"]"
    guest_kill "$JOB"
    serve_beside sctp-ddp-ping --listen -t raw --bind '*' -p 7477
    run_guest sctp-ddp-ping "$HOST_IP" -t sctp -p 7477 -c 3 -i 50ms -s 4K --json
    assert_status 0
    assert_jsonl '.[-1] | [.replies, .streams_in, .adaptation_indication]' '[3,1000,1]'
    assert_jsonl '.[-1].addresses | map([.address, .primary, .active, .path_mtu_octets > 576, .srtt_ns >= 0])' \
        "[[\"$HOST_IP:7477\",true,true,true,true]]"
}

@test "sctp-ddp-ping over udp to the guest's SCTP in UDP" {
    "$PEER_VM" run sysctl -q -w net.sctp.encap_port=9899 3>&-
    guest_job sctp-ddp-ping --listen -t sctp --bind '*' -p 7478
    sctp_listens 7478
    "$PEER_VM" run sysctl -q -w net.sctp.encap_port=0 3>&-
    run_beside sctp-ddp-ping "$GUEST_IP" -t udp -p 7478 -n 3 -c 5 -i 20ms -s 3K --json
    assert_status 0
    assert_jsonl '.[-1] | [.replies, .lost, .adaptation_indication]' '[15,0,1]'
    guest_kill
}

@test "sctp-ddp-ping: kernel SCTP answers with ABORT without a listener, and recognizes one" {
    run_beside sctp-ddp-ping "$GUEST_IP" -t raw -p 7999 -c 1 --timeout 5s --json
    assert_status 1
    assert_jsonl '.[-1] | [.answer, .exit_status]' '["abort",1]'
    run_guest sctp-ddp-ping 127.0.0.1 -t sctp -p 7999 -c 1 --timeout 5s --json
    assert_status 1
    assert_jsonl '.[-1] | [.answer, .exit_status]' '["abort",1]'
}
