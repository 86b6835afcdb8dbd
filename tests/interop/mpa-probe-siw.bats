#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# mpa-probe and its library against Linux siw in the guest: the probe's report, rping in both roles
# over every kind of connection, and how far other programs of rdma-core and perftest work.
#
# The long conversations have IW_ROUNDS rounds of 65535 octets (100):
#   IW_ROUNDS=1000 make check-interop
#
# run_here and similar functions set the variables; each @test is a subshell:
# shellcheck disable=SC2030,SC2031,SC2034

# bats file_tags=waits

load ../bats/helpers
load guest

: "${IW_ROUNDS:=100}"

setup_file() {
    guest_up --mtu 9000
    guest_is_up || return 0
    # Servers for all tests of this file. rping -P serves each client in a thread of its own.
    "$PEER_VM" run -b rping -s -P -a "$GUEST_IP" -S 65535 3>&-
    "$PEER_VM" run -b rping -s -P -a "$GUEST_IP6" -p 7175 -S 65535 3>&-
}

teardown_file() {
    guest_down
}

setup() {
    skip_with_file
    [ "$BATS_TEST_NUMBER" -gt 1 ] || { wait_listening 7174 && wait_listening 7175; }
}

# mtu N: sets the MTU at both ends of the link
mtu() {
    run_guest ip link set eth0 mtu "$1"
    assert_status 0
    run_beside ip link set vm0 mtu "$1"
    assert_status 0
}

teardown() {
    helpers_teardown
    [ -z "${TUNED:-}" ] || "$PEER_VM" siw stock 3>&-
}

probe() {
    run_beside mpa-probe "$GUEST_IP" -p 7174 "$@"
}

# pinged MTU: checks the result of a conversation of 5 rounds: the JSON line of either side on
# standard output
pinged() {
    jq -c '[.rounds, .rounds_verified, .octets_read, .octets_written, .emss_octets > '$(($1 - 100))' and .emss_octets < '"$1"']'
}

# --- the probe ---------------------------------------------------------------------------------------------------------------

@test "the probe identifies siw by its answers, and gives the reasons" {
    probe
    assert_status 0
    assert_output_has "$GUEST_IP:7174: an iWARP endpoint"
    assert_output_has 'revision      2, enhanced (RFC 6581); Rev 1 is accepted'
    assert_output_has 'a Request with M=1 is refused by R = 1, then closed'
    assert_output_has 'RTR           offered Send Write Read; agreed Write; sent write'
    assert_output_has '4 RDMA Reads answered, CRC correct'
    assert_output_has 'looks like    Linux siw (software iWARP)'
    assert_output_has '+ its Reply echoes the reserved flag bits of the Request'
    probe --json
    assert_status 0
    assert_jsonl '.[-1] | [.iwarp, .looks_like.name, .looks_like.against, .fpdu_exchange, .exit_status]' '[true,"siw",[],"works",0]'
    assert_jsonl '.[-1] | [.reply.rev, .reply.ird, .reply.ord, .agreed.crc, .agreed.rtr]' '[2,16,16,true,["write"]]'
    assert_jsonl '.[-1] | .emss_octets == 8948 and .mulpdu_octets == 8942 and .path_mtu_octets == 9000' true
    assert_jsonl '.[-1] | .connect_ns > 0 and .reply_ns > 0 and .read_rtt_ns > 0' true
    run_beside mpa-probe "$GUEST_IP6" -p 7175 --json
    assert_status 0
    assert_jsonl '.[-1] | [.peer, .looks_like.name]' "[\"[$GUEST_IP6]:7175\",\"siw\"]"
    run_beside mpa-probe "$GUEST_IP" -p 7171
    assert_status 1
    assert_output_has 'connection refused'
    guest_is_well
}

@test "the grid: what siw accepts, refuses, and how" {
    probe --all --json
    assert_status 0
    assert_jsonl '.[-1] | [.listener_gone, .looks_like.name]' '[false,"siw"]'
    # No markers, no revision above 2; the RTR is a Write unless only Read was offered. With Rev 1
    # siw accepts no Reads at all, because its IRD is that of RFC 6581's fields, which Rev 1 lacks.
    assert_jsonl 'map(select(.purpose == "grid") | [.request.rev, .request.m, .outcome]) | unique' \
        '[[0,false,"accepted"],[0,true,"refused"],[1,false,"accepted"],[1,true,"refused"],[2,false,"accepted"],[2,true,"refused"],[3,false,"closed"],[3,true,"closed"]]'
    assert_jsonl 'map(select(.purpose == "grid" and .outcome == "accepted") | [.request.rev, .fpdu_exchange]) | unique' '[[0,"none"],[1,"broken"],[2,"works"]]'
    assert_jsonl 'map(select(.purpose == "grid" and .outcome == "accepted") | .request.c == .reply.c) | unique' '[true]'
    assert_jsonl 'map(select(.purpose == "grid" and .outcome == "accepted" and .request.peer_to_peer) | [.request.rtr, .reply.rtr]) | unique' \
        '[[["read"],["read"]],[["send"],["write"]],[["send","write","read"],["write"]],[["write"],["write"]]]'
    guest_is_well
}

# --- rping: our client -------------------------------------------------------------------------------------------------------

@test "our rping client, Linux's server: CRC, RTR, MTU, IPv4 and IPv6" {
    local mtu to crc rtr form

    for mtu in 9000 1500; do
        mtu $mtu
        for to in "$GUEST_IP -p 7174" "$GUEST_IP6 -p 7175"; do
            for crc in wanted off; do
                for rtr in '' '--rtr write' '--rtr read'; do
                    # shellcheck disable=SC2086
                    run_beside mpa-probe --app rping $to -c 5 -s 65535 --crc $crc $rtr --json
                    assert_status 0
                    form=${rtr#--rtr }
                    assert_equal "$(pinged $mtu <<<"$output")" '[5,5,327675,327675,true]' "$COMMAND"
                    assert_jsonl '.[-1] | [.rev, .crc, .rtr]' "[2,$([ $crc = off ] && echo false || echo true),[${form:+\"$form\"}]]"
                done
            done
        done
    done
    guest_is_well
}

@test "our client requests Rev 1, over which siw as a responder neither accepts nor sends Reads" {
    # Its IRD and ORD are those of RFC 6581's fields, here 0. It answers our Read with a Terminate
    # (with layer and type exchanged, as siw does), and fails its own Read with an error.
    probe --rev 1 --json
    assert_status 0
    assert_jsonl '.[-1] | [.reply.rev, .agreed.crc, .fpdu_exchange, .terminate]' '[1,true,"broken",{"layer":0,"etype":2,"code":7}]'
    run_beside mpa-probe --app rping "$GUEST_IP" -p 7174 -c 5 --rev 1
    assert_status 1
    assert_stderr_has 'rping: the server ended the connection in round 0'
    assert_stderr_has 'the rping server of Linux siw does no RDMA Reads over MPA Rev 1'
    guest_is_well
}

@test "a first FPDU that siw does not notice is followed by one that it notices" {
    local i

    # Without the nudge one connection in ten hangs, in a busy guest one in two.
    for ((i = 0; i < 12; i++)); do
        run_beside mpa-probe --app rping "$GUEST_IP" -p 7174 -c 2 --json
        assert_status 0
        assert_jsonl '.[-1] | [.rounds_verified, .nudges <= 3]' '[2,true]'
    done
    guest_is_well
}

@test "many rounds of 65535 octets from our client, verified" {
    IW_TIMEOUT=$((30 + IW_ROUNDS / 5))
    run_beside mpa-probe --app rping "$GUEST_IP" -p 7174 -c "$IW_ROUNDS" -s 65535 --json
    assert_status 0
    assert_jsonl '.[-1] | [.rounds, .rounds_verified, .octets_read, .octets_written, .crc]' \
        "[$IW_ROUNDS,$IW_ROUNDS,$((IW_ROUNDS * 65535)),$((IW_ROUNDS * 65535)),true]"
    guest_is_well
}

# --- rping: our server -------------------------------------------------------------------------------------------------------

# serve_rping OPTION...: starts our server on every address; $PORT
serve_rping() {
    PORT=7180
    IW_MAY_END=1 serve_beside mpa-probe --listen --app rping --bind '*' -p $PORT --json "$@"
}

# ping_us ADDRESS ROUNDS: runs Linux's client against our server
ping_us() {
    run_guest rping -c -a "$1" -p $PORT -C "$2" -V -S 65535
    assert_status 0
}

# assert_reported FILTER EXPECTED: ends our server and compares FILTER, applied to its reports of
# closed connections, with EXPECTED
assert_reported() {
    serve_end
    assert_status 0
    assert_jsonl "map(select(.event == \"closed\")) | $1" "$2"
}

@test "Linux's rping client, our server: CRC, MTU, IPv4 and IPv6" {
    local mtu to crc

    for mtu in 9000 1500; do
        mtu $mtu
        for crc in wanted off; do
            serve_rping --crc $crc
            for to in "$HOST_IP" "$HOST_IP6"; do
                ping_us "$to" 5
            done
            assert_reported "map([.rounds, .rounds_verified, .octets_read, .rev, .crc, .emss_octets < $mtu and .emss_octets > $mtu - 100])" \
                "$(printf '[%s,%s]' "[5,5,327675,2,$([ $crc = off ] && echo false || echo true),true]"{,})"
        done
    done
    guest_is_well
}

@test "Linux's rping client, our server with the answers of each personality" {
    local personality

    for personality in siw chelsio; do
        serve_rping --personality $personality
        ping_us "$HOST_IP" 5
        assert_reported '.[] | [.personality, .emulated, .rounds_verified]' "[\"$personality\",true,5]"
        assert_jsonl 'map(select(.event == "request")) | .[] | [.verdict, .reply.rev, .reply.ird]' '["accept",2,1]'
    done
    guest_is_well
}

@test "many rounds of 65535 octets from Linux's client, verified at both ends" {
    IW_TIMEOUT=$((30 + IW_ROUNDS / 5))
    IW_SERVE_TIMEOUT=$((60 + IW_ROUNDS / 5)) serve_rping
    ping_us "$HOST_IP" "$IW_ROUNDS"
    assert_reported '.[] | [.rounds, .rounds_verified, .octets_read, .octets_written]' \
        "[$IW_ROUNDS,$IW_ROUNDS,$((IW_ROUNDS * 65535)),$((IW_ROUNDS * 65535))]"
    guest_is_well
}

@test "Linux's client with switches that Debian's siw lacks: RTR, Rev 1, CRC required, large FPDUs" {
    local form personality

    # The rping servers of the other tests keep the module in use that is changed here.
    run_guest pkill -KILL rping
    TUNED=yes
    run_here "$PEER_VM" siw tunable 'peer_to_peer=1'
    assert_status 0
    for form in write read; do
        serve_rping --rtr $form
        ping_us "$HOST_IP" 5
        assert_reported '.[] | [.rounds_verified, .rev, .rtr]' "[5,2,[\"$form\"]]"
    done
    run_here "$PEER_VM" siw tunable 'mpa_version=1'
    assert_status 0
    serve_rping
    ping_us "$HOST_IP" 5
    ping_us "$HOST_IP6" 5
    assert_reported 'map([.rounds_verified, .rev, .rtr])' '[[5,1,[]],[5,1,[]]]'
    for personality in windows plain; do
        serve_rping --personality $personality
        ping_us "$HOST_IP" 5
        assert_reported '.[] | [.personality, .emulated, .rounds_verified]' "[\"$personality\",true,5]"
        assert_jsonl 'map(select(.event == "request")) | .[] | [.verdict, .request.rev, .reply.rev]' '["accept",1,1]'
    done
    run_here "$PEER_VM" siw tunable 'mpa_crc_required=1'
    assert_status 0
    serve_rping --crc off
    ping_us "$HOST_IP" 5
    assert_reported '.[] | [.rounds_verified, .crc]' '[5,true]'
    # siw agrees to FPDUs above the MSS with a bit of the flags. The bit is reserved, so we do not
    # send it back.
    run_here "$PEER_VM" siw tunable 'try_gso=1'
    assert_status 0
    serve_rping
    ping_us "$HOST_IP" 5
    assert_reported '.[] | .rounds_verified' 5
    guest_is_well
}

# --- other programs, as far as they work -------------------------------------------------------------------------------------

# serve_sink OPTION...: starts a responder on port 7471 that accepts all messages and sends none by
# itself
serve_sink() {
    serve_beside mpa-probe --listen --bind '*' -p 7471 --json "$@"
}

# meets CMD...: runs a program in the guest until it ends, or until some seconds after our responder
# accepted it. A program that still runs then is killed. $ended: its exit status, or 124 if it was
# killed.
meets() {
    ended=0
    guest_job "$@"
    wait_until 60 grep -q '"verdict":"accept"' "$BATS_TEST_TMPDIR/serve.$SERVED.out"
    "$PEER_VM" wait -t 4 "$JOB" >/dev/null 2>&1 3>&- || ended=$?
    [ "$ended" -ne 124 ] || guest_kill "$JOB" KILL
}

@test "ucmatose: its client waits for Sends that a responder must not send first" {
    serve_sink
    # Its own server sends first, which siw permits. RFC 5044 7.1.2 rule 4 lets a responder wait for
    # the initiator's first FPDU, which never arrives.
    meets ucmatose -s "$HOST_IP" -p 7471 -C 10
    assert_equal "$ended" 124
    serve_end
    assert_jsonl 'map(select(.event == "request")) | .[] | [.verdict, .request.ird, .request.ord]' '["accept",1,1]'
    assert_jsonl 'map(select(.event == "closed")) | .[] | [.rx_fpdus, .tx_fpdus]' '[0,0]'
    guest_is_well
}

@test "rstream: rsockets need their own Private Data, and then the buffers that it names" {
    serve_sink
    # Without this Private Data librdmacm crashes.
    meets rstream -s "$HOST_IP" -p 7471 -S 1000 -C 10
    assert_equal "$ended" 139
    serve_end
    assert_jsonl 'map(select(.event == "request")) | .[] | [.verdict, .request.private_data_octets]' '["accept",40]'
    assert_jsonl 'map(select(.event == "closed")) | .[] | .rx_fpdus' 0
    # struct rs_conn_data: version 1, 64 credits, a target at address 0 with STag 0.
    serve_sink --private-data "0x0100000000000040$(printf '00%.0s' {1..32})"
    meets rstream -s "$HOST_IP" -p 7471 -S 1000 -C 10
    serve_end
    assert_jsonl 'map(select(.event == "closed")) | .[] | [.rx_fpdus, .error, .text]' \
        '[1,"DDP_STAG","ddp: STag 0x00000000 TO 0x10 length 16: not registered"]'
    guest_is_well
}

@test "perftest: its clients send their version, and wait for that of their server" {
    local program

    for program in ib_send_bw ib_write_bw ib_read_bw; do
        serve_sink
        meets "$program" -R -d siw0 -n 100 -s 4096 -p 7471 "$HOST_IP"
        assert_equal "$ended" 124 "$program"
        serve_end
        assert_jsonl 'map(select(.event == "closed")) | .[] | [.sends, .send_octets, .rev, .crc]' '[1,16,2,true]'
    done
    guest_is_well
}
