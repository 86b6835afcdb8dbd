#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# DDP over SCTP with usrsctp, another SCTP in user space, as peer: on IP, in UDP (RFC 6951) with and
# without its threads, and inside one program with our engine (AF_CONN). The peer has its own
# implementation of DDP (usrsctp/speaker.c), which compares every octet. Then usrsctp's own
# programs, as far as they work with an end that accepts only DDP.

# bats file_tags=beside

# Each test is a separate shell, and fail_with prints the variables that look unused.
# shellcheck disable=SC2030,SC2031,SC2034

load ../bats/helpers
load ../bats/net

PROGRAMS=/usr/lib/usrsctp

require_peer() {
    [ -x "$IW_BUILD/tests/interop/usrsctp-peer" ] || skip 'needs usrsctp: libusrsctp-dev is not installed'
}

setup_file() {
    file_requires require_peer || return 0
    net_setup --relay
}

teardown_file() {
    [ -z "${NET_LEFT_PID:-}" ] || net_teardown
}

setup() {
    skip_with_file
    cd "$BATS_TEST_TMPDIR" || return 1
    PATH=$IW_BUILD/tests/interop:$PATH
    PORT=$(free_port)
    relay_start
}

require_programs() {
    [ -x "$PROGRAMS/tsctp" ] || skip 'needs usrsctp: libusrsctp-examples is not installed'
}

# carrier NAME: sets PEER and OURS to the options of the peer and of our tool if the peer listens;
# from_peer sets them if the peer connects
carrier() {
    if [ "$1" = raw ]; then
        PEER=(-t raw -p "$PORT") OURS=(-t raw -p "$PORT")
    else
        PEER=(-t "$1" -p "$PORT" --udp-port 9899) OURS=(-t udp -p "$PORT")
    fi
}

peer_listens() {
    carrier "$1"
    shift
    IW_READY='^listening' serve_in right usrsctp-peer "${PEER[@]}" --listen "$@"
}

# The peer ends by itself and found no error.
peer_was_content() {
    wait_served
    assert_status 0
}

# --- the peer listens --------------------------------------------------------------------------------------------------------

@test "usrsctp listens: messages of every size return, on IP, in UDP, and without its threads" {
    local t size

    for t in raw udp conn; do
        for size in 0 1 1150 100K 1M; do
            peer_listens $t --bind "$RIGHT_IP"
            run_in left sctp-ddp-ping "$RIGHT_IP" "${OURS[@]}" -n 2 -c 5 -i 1ms -s $size --json
            assert_status 0
            assert_jsonl '.[-1] | [.replies, .lost, .adaptation_indication]' '[10,0,1]'
            peer_was_content
        done
    done
}

@test "usrsctp listens over IPv6" {
    local t

    require_ipv6
    for t in raw udp; do
        peer_listens $t --bind "$RIGHT_IP6"
        run_in left sctp-ddp-ping "$RIGHT_IP6" "${OURS[@]}" -c 5 -i 1ms -s 100K --json
        assert_status 0
        assert_jsonl '.[-1] | [.replies, .lost]' '[5,0]'
        peer_was_content
    done
}

# SCTP-48
@test "usrsctp listens with a thousand streams" {
    peer_listens udp --bind "$RIGHT_IP"
    run_in left sctp-ddp-ping "$RIGHT_IP" "${OURS[@]}" -n 1000 -c 2 -f --json
    assert_status 0
    assert_jsonl '.[-1] | [.replies, .lost, .streams_out, .streams_in]' '[2000,0,1000,1000]'
    peer_was_content
}

@test "a buffer of usrsctp's peer is written by RDMA Write and read back by RDMA Read" {
    local t

    random_file f 3M
    for t in raw udp conn; do
        peer_listens $t --bind "$RIGHT_IP" --associations 2 --stag 1234abcd -s 3M
        IW_STDIN=f run_in left ddp-send --to \
            "ddp+${OURS[1]}://$RIGHT_IP:$PORT/stag/1234abcd?to=0&len=3145728&access=rw"
        assert_status 0
        run_in left ddp-recv --from "ddp+${OURS[1]}://$RIGHT_IP:$PORT/stag/1234abcd?to=0&len=3145728&access=rw"
        assert_status 0
        assert_same_file f "$OUTPUT_FILE"
        peer_was_content
    done
}

@test "a peer that supports only RFC 5043 gets a second, plain Initiate" {
    peer_listens udp --bind "$RIGHT_IP" --plain --associations 2
    run_in left sctp-ddp-ping "$RIGHT_IP" "${OURS[@]}" -c 3 -i 1ms
    assert_status 0
    assert_output_has '1 DDP stream session, messages of 64 octets'
    peer_was_content
    assert_output_has 'sessions 0 rejected 0 refused 1'
    assert_output_has 'sessions 1 rejected 0 refused 0 messages 3'
}

@test "a session that usrsctp's peer rejects: its reason is reported" {
    random_file f 1K
    peer_listens udp --bind "$RIGHT_IP"
    run_in left ddp-send "${OURS[@]}" f "$RIGHT_IP:"
    assert_status 1
    peer_was_content
    assert_output_has 'rejected 1'
}

@test "a port of usrsctp without a listener: its ABORT is reported" {
    local t

    for t in udp raw; do
        peer_listens $t --bind "$RIGHT_IP"
        run_in left sctp-ddp-ping "$RIGHT_IP" -t $t -p 4711 -c 1 --timeout 5s --json
        assert_status 1
        assert_jsonl '.[-1] | [.answer, .exit_status]' '["abort",1]'
        serve_end
    done
}

# --- the peer connects -------------------------------------------------------------------------------------------------------

@test "usrsctp connects: messages of its peer return, on IP, in UDP, and without its threads" {
    local t

    for t in raw udp conn; do
        carrier $t
        serve_in right sctp-ddp-ping --listen --once "${OURS[@]}" --bind "$RIGHT_IP"
        run_in left usrsctp-peer "${PEER[@]}" -n 5 -s 20K ping "$RIGHT_IP" 40
        assert_status 0
        assert_output_has 'sessions 5 rejected 0 refused 0 messages 200 octets 4096000'
        wait_served
        assert_status 0
    done
}

@test "usrsctp connects over IPv6, and with a thousand streams" {
    require_ipv6
    carrier udp
    serve_in right sctp-ddp-ping --listen --once "${OURS[@]}" --bind "$RIGHT_IP6"
    run_in left usrsctp-peer "${PEER[@]}" -n 1000 -s 200 ping "$RIGHT_IP6" 2
    assert_status 0
    assert_output_has 'sessions 1000 rejected 0 refused 0 messages 2000 octets 400000'
    wait_served
    assert_status 0
}

@test "usrsctp's peer writes a registered buffer by RDMA Write, and reads it by RDMA Read" {
    local t stag key

    mkdir in
    for t in raw udp conn; do
        carrier $t
        serve_in right ddp-recv "${OURS[@]}" --bind "$RIGHT_IP" --control "ctl-$t" in
        run_in right stag-reg add --size 2M --access rw --json --control "ctl-$t"
        assert_status 0
        stag=$(jq -r .stag <<<"$output")
        key=$(jq -r '.uri | capture("key=(?<k>[0-9a-f]+)").k' <<<"$output")
        run_in left usrsctp-peer "${PEER[@]}" -s 2M buffer "$RIGHT_IP" "$stag" "$key"
        assert_status 0
        assert_output_has 'sessions 1 rejected 0 refused 0 messages 32 octets 2097152'
        # Without the key the peer is rejected.
        run_in left usrsctp-peer "${PEER[@]}" -s 2M buffer "$RIGHT_IP" "$stag"
        assert_status 1
        assert_stderr_has 'peer: stream 0: rejected'
        serve_end
    done
}

# RFC 5043 9: a peer may let SCTP fragment its messages; RFC 9260 6.9.
@test "messages that usrsctp fragments are reassembled" {
    carrier udp
    serve_in right sctp-ddp-ping --listen --once "${OURS[@]}" --bind "$RIGHT_IP"
    run_in left usrsctp-peer "${PEER[@]}" --fragments --mulpdu 8000 -s 50K ping "$RIGHT_IP" 40
    assert_status 0
    assert_output_has 'messages 40 octets 2048000'
    wait_served
}

@test "usrsctp's peer connects with RFC 5043 alone" {
    carrier udp
    serve_in right sctp-ddp-ping --listen --once "${OURS[@]}" --bind "$RIGHT_IP"
    run_in left usrsctp-peer "${PEER[@]}" --plain -s 1K ping "$RIGHT_IP" 10
    assert_status 0
    wait_served
    assert_status 0
}

# --- a bad link --------------------------------------------------------------------------------------------------------------

# The peer has received all messages and our SHUTDOWN. Status 6 is accepted too: the rest of the
# shutdown sequence was lost, and our side exited before a retransmission arrived.
peer_saw_all() {
    wait_served
    [ "$status" -eq 6 ] || assert_status 0
    assert_output_has "$1"
}

@test "loss, duplicates and reordering in both directions: every octet is correct" {
    local t

    relay_end
    relay_start --seed 3 --link loss=1%,duplicate=1%,late=1%,late-by=3ms,delay=1ms
    for t in udp conn; do
        peer_listens $t --bind "$RIGHT_IP" --timeout 60s
        run_in left sctp-ddp-ping "$RIGHT_IP" "${OURS[@]}" -c 20 -i 1ms -s 20K --json
        assert_status 0
        assert_jsonl '.[-1] | [.replies, .lost]' '[20,0]'
        peer_saw_all 'sessions 1 rejected 0 refused 0 messages 20 octets 409600'
    done
}

# RFC 9260 9.2: no other packet of a ping has 62 octets with all headers; the first of them is lost.
@test "a lost SHUTDOWN is retransmitted before the tool exits" {
    relay_end
    relay_start --link-ab drop=1,min=62,max=62
    peer_listens udp --bind "$RIGHT_IP"
    run_in left sctp-ddp-ping "$RIGHT_IP" "${OURS[@]}" -c 3 -i 1ms
    assert_status 0
    peer_was_content
    relay_end
    assert_jsonl '[.[:2][].lost]' '[1,0]'
}

# usrsctp and the engine in one program, with simulated time, over a link that also corrupts bits.
# Sometimes usrsctp never sends messages that it has accepted (its issue 750). usrsctp-peer reports
# that case with status 5; every other failure is ours.
@test "inside one program: the engine and usrsctp over bad links, both roles" {
    local seed bad stalled=0 good=0 job

    for seed in $(seq 1 20); do
        for bad in 0 2000 10000 40000; do
            for job in "--listen -n 4" "-n 4 ping 192.0.2.1 20" "buffer 192.0.2.1 00000077"; do
                # shellcheck disable=SC2086
                run_here usrsctp-peer -t inside -p 5000 --timeout 3600s --seed "$seed" --bad "$bad" -s $((seed * 300)) $job
                case $status in
                0) good=$((good + 1)) ;;
                5) stalled=$((stalled + 1)) ;;
                *) fail_with "seed $seed, $bad of a million" ;;
                esac
                [ "$bad" -gt 0 ] || assert_status 0
            done
        done
    done
    echo "$good ended well, $stalled times usrsctp stalled"
    [ "$good" -gt 180 ] || fail_with "only $good of 240 ended well"
}

# --- usrsctp's own programs --------------------------------------------------------------------------------------------------

program_serves() {
    local name=$1
    shift

    serve_in right "$PROGRAMS/$name" "$@"
}

# far_end_is ANSWER PORT [OPTION...]: a ping to that port reports ANSWER and exits with 1
far_end_is() {
    local answer=$1 port=$2
    shift 2

    run_in left sctp-ddp-ping "$RIGHT_IP" -p "$port" -c 1 --timeout 3s --json "$@"
    assert_status 1
    assert_jsonl '.[-1] | [.answer, .replies, .exit_status]' "[\"$answer\",0,1]"
}

# SCTP-3, SCTP-5: a peer without the adaptation indication has no DDP.
@test "discard_server and echo_server indicate no DDP: the association is aborted, and they continue" {
    require_programs
    program_serves discard_server 9899 9899
    far_end_is no-ddp 9 -t udp
    far_end_is no-ddp 9 -t raw
    far_end_is no-ddp 9 -t udp
    serve_end
    assert_output_has 'sctp_handle_abort: finished'
    program_serves echo_server 9899 9899
    far_end_is no-ddp 7 -t udp
    far_end_is no-ddp 7 -t raw
    far_end_is no-ddp 7 -t udp
    serve_end
}

@test "tsctp with the indication of DDP answers no Initiate: that is reported" {
    require_programs
    program_serves tsctp -a 1 -p 5001 -E 9899
    far_end_is other 5001 -t udp
    assert_stderr_has 'no answer to the Initiate on stream 0'
    serve_end
}

# tsctp sends messages of its own protocol to our listener.
sends_to_us() {
    run_in left timeout 10 "$PROGRAMS/tsctp" -p "$PORT" -E 9898 -U 9899 -l 1000 -n 100 "$@" "$RIGHT_IP"
}

# aborts FILE: prints the causes of the ABORTs that our side sent
aborts() {
    tshark -r "$1" -Y "sctp.chunk_type == 6 && sctp.abort_t_bit == 0 && ip.src == $RIGHT_IP" -T fields -e sctp.cause_code 2>/dev/null | sort -u | tr '\n' ' '
}

# SCTP-3: our side aborts an association without the adaptation indication. RFC 5043 10: DATA chunks
# are unordered; an ordered one causes an ABORT with cause 13 (RFC 9260 3.3.10.13). DATA chunks of
# another payload protocol are acknowledged and answered with a Terminate (RFC 5043 6.2), and the
# association is shut down in order.
@test "tsctp sends messages that are not DDP: aborted or dropped, and the listener continues" {
    require_programs
    require_tool tshark tcpdump
    serve_in right sctp-ddp-ping --listen -t udp -p "$PORT" --bind "$RIGHT_IP"
    capture_in right plain.pcap udp
    sends_to_us -u
    capture_end
    assert_equal "$(aborts plain.pcap)" '0x000c '
    capture_in right ordered.pcap udp
    sends_to_us -a 1
    capture_end
    assert_equal "$(aborts ordered.pcap)" '0x000d '
    capture_in right other.pcap udp
    sends_to_us -a 1 -u -n 1
    assert_status 0
    capture_end
    assert_equal "$(aborts other.pcap)" ''
    run_in left sctp-ddp-ping "$RIGHT_IP" -t udp -p "$PORT" -c 2 -i 1ms --json
    assert_status 0
    assert_jsonl '.[-1] | [.replies, .lost]' '[2,0]'
    serve_end 2
    assert_status 0
}
