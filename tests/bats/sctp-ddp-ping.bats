#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# sctp-ddp-ping over udp on this machine, over udp and raw between two hosts, and with far ends that
# give wrong answers or none.

# bats file_tags=beside

# Each test is a separate shell, and fail_with prints the variables that look unused.
# shellcheck disable=SC2030,SC2031,SC2034

load helpers
load net

setup_file() {
    # Without namespaces only the tests that need them are skipped.
    if net_probe; then net_setup; fi
}

teardown_file() {
    net_teardown
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    PORT=$(free_port)
    UDP_PORT=$(free_port)
    UDP=(-t udp -p "$PORT" --udp-port "$UDP_PORT")
}

ping_here() {
    run_here sctp-ddp-ping 127.0.0.1 "${UDP[@]}" "$@"
}

# doctor_says ANSWER: checks what --doctor reports about the far end over udp
doctor_says() {
    run_here sctp-ddp-ping --doctor --json --timeout 1s 127.0.0.1 "${UDP[@]}"
    assert_jsonl '[.[] | select(.event == "far_end" and .transport == "udp") | .answer]' "[\"$1\"]"
}

# --- replies -----------------------------------------------------------------------------------------------------------------

@test "a line for each reply, and the association that carried it" {
    serve_here sctp-ddp-ping --listen "${UDP[@]}"
    ping_here -c 3 -i 10ms
    assert_status 0
    assert_output_has 'over udp: 1000 streams out, 1000 in, adaptation indication 0x00000001 (DDP)'
    assert_output_has "address 127.0.0.1:$PORT, primary, path MTU "
    assert_equal "$(grep -c "^64 octets from 127.0.0.1:$PORT: stream=0 seq=[123] time=" <<<"$output")" 3
    assert_output_has 'retransmitted chunks: 0'
}

@test "a second listener on a UDP port is refused, with what to do" {
    serve_here sctp-ddp-ping --listen "${UDP[@]}"
    run_here sctp-ddp-ping --listen "${UDP[@]}" -p "$(free_port)"
    assert_status 4
    assert_stderr_is "sctp-ddp-ping: udp: bind to 127.0.0.1:$UDP_PORT: address already in use; another listener has it: stop it, or give another UDP port with --udp-port, at both ends"
}

@test "a session for each stream, and statistics of each and of all" {
    serve_here sctp-ddp-ping --listen "${UDP[@]}"
    ping_here -n 3 -c 5 -i 10ms -s 5000 --json
    assert_status 0
    assert_jsonl '[.[] | select(.event == "sessions") | .sessions]' '[3]'
    assert_jsonl '[.[] | select(.event == "reply") | .stream] | group_by(.) | map(length)' '[5,5,5]'
    assert_jsonl '.[-1] | [.event, .sent, .replies, .lost, .exit_status]' '["result",15,15,0,0]'
    assert_jsonl '.[-1].streams | map([.stream, .sent, .replies, .lost])' '[[0,5,5,0],[1,5,5,0],[2,5,5,0]]'
    assert_jsonl '.[-1] | .min_ns > 0 and .min_ns <= .p50_ns and .p50_ns <= .p99_ns and .p99_ns <= .max_ns
        and .min_ns <= .avg_ns and .avg_ns <= .max_ns' true
}

@test "a thousand streams in one association, and not one more than were agreed on" {
    serve_here sctp-ddp-ping --listen "${UDP[@]}"
    ping_here -n 1000 -c 2 -f --json
    assert_status 0
    assert_jsonl '.[-1] | [.sent, .replies, (.streams | length)]' '[2000,2000,1000]'
    ping_here -n 1001 -c 1
    assert_status 1
    assert_stderr_has '--streams 1001: the association has 1000 outbound and 1000 inbound streams; use at most 1000, or give the listener more --streams'
}

@test "messages of any size: zero-length, one segment, many" {
    local size

    serve_here sctp-ddp-ping --listen "${UDP[@]}"
    for size in 0 1 8 100K 16M; do
        ping_here -c 2 -i 1ms -s $size --json
        assert_status 0
        assert_jsonl '.[-1] | [.replies, .lost]' '[2,0]'
    done
}

@test "flood sends as soon as the reply arrives, and prints only statistics" {
    serve_here sctp-ddp-ping --listen "${UDP[@]}"
    ping_here -c 1000 -n 2 -f
    assert_status 0
    assert_output_lacks 'seq='
    [[ $output =~ all\ +2000\ +2000\ +0 ]] || fail_with 'not 2000 replies'
}

@test "an interrupt ends it with statistics" {
    serve_here sctp-ddp-ping --listen "${UDP[@]}"
    IW_READY='seq=2 ' serve_here sctp-ddp-ping 127.0.0.1 "${UDP[@]}" -i 50ms
    serve_end "$SERVED" INT
    assert_status 0
    assert_output_has 'retransmitted chunks: 0'
    [[ $output =~ all\ +[0-9]+\ +[0-9]+\ +0 ]] || fail_with 'no statistics'
}

@test "a listener reports its clients, and with --once ends after the first" {
    serve_here sctp-ddp-ping --listen --once --json "${UDP[@]}"
    ping_here -n 2 -c 4 -i 1ms
    assert_status 0
    wait_served
    assert_status 0
    assert_jsonl '[.[] | select(.event == "served") | [.stream, .messages, .error]] | sort' '[[0,4,null],[1,4,null]]'
    assert_jsonl '.[-1].event' stopped
}

@test "the listener is gone: failure with statistics" {
    local signal

    for signal in TERM KILL; do
        serve_here sctp-ddp-ping --listen "${UDP[@]}"
        IW_READY='seq=2 ' serve_here sctp-ddp-ping 127.0.0.1 "${UDP[@]}" -i 50ms --timeout 2s
        serve_end $((SERVED - 1)) $signal
        wait_served
        assert_status 4
        assert_output_has 'retransmitted chunks'
        assert_stderr_has "sctp-ddp-ping: 127.0.0.1:$PORT: "
        assert_stderr_has '; has the listener ended? Start it again'
    done
}

@test "a listener over TCP: the tool for it is named" {
    serve_here mpa-probe --listen -p "$PORT"
    ping_here -c 1
    assert_status 1
    assert_stderr_has "127.0.0.1:$PORT, UDP port $UDP_PORT: unreachable; is a listener with -t udp running there, and does it have --udp-port $UDP_PORT? For a listener with -t tcp, use mpa-probe"
}

@test "an interrupt before the set-up is reported" {
    require_tool python3
    serve_here python3 "$IW_TOP/tests/bats/sctp_answer.py" "$UDP_PORT" silent
    serve_here sctp-ddp-ping 127.0.0.1 "${UDP[@]}"
    serve_end "$SERVED" INT
    assert_status 1
    assert_stderr_is "sctp-ddp-ping: interrupted: no session with 127.0.0.1 port $PORT (-t udp) was open yet"
}

# SX-15: RFC 9260 8.4; the listener uses the UDP port, but no endpoint uses the SCTP port.
@test "another SCTP port of a listener answers with ABORT" {
    serve_here sctp-ddp-ping --listen "${UDP[@]}"
    run_here sctp-ddp-ping 127.0.0.1 -t udp -p $((PORT + 1)) --udp-port "$UDP_PORT" -c 1 --json
    assert_status 1
    assert_jsonl '.[-1] | [.answer, .exit_status]' '["abort",1]'
}

# --- editions ----------------------------------------------------------------------------------------------------------------

@test "the edition of draft-02: its indication, between ends that both speak it" {
    local other=(--profile sctp-draft-02)

    serve_here sctp-ddp-ping --listen "${UDP[@]}" "${other[@]}"
    ping_here -c 3 -i 1ms -s 20K -n 2 "${other[@]}"
    assert_status 0
    assert_output_has 'adaptation indication 0x00000002 (DDP and RDMA, draft-ietf-rddp-sctp-02)'
    [[ $output =~ all\ +6\ +6\ +0 ]] || fail_with 'not 6 replies'
    # Ends of different editions cannot talk to each other, whichever connects and whichever aborts
    # first.
    ping_here -c 1 --json
    assert_status 1
    assert_jsonl '.[-1].answer | . == "no-ddp" or . == "abort"' true
    serve_end
    serve_here sctp-ddp-ping --listen "${UDP[@]}"
    ping_here -c 1 --json "${other[@]}"
    assert_status 1
    assert_jsonl '.[-1].answer | . == "no-ddp" or . == "abort"' true
    ping_here --profile sctp-draft-03
    assert_status 2
}

# --- the set-up of sessions ----------------------------------------------------------------------------------------------

# rev_is REV: checks the revision of the set-up of sessions; 2: as in RFC 6581
rev_is() {
    assert_jsonl '[.[] | select(.event == "sessions" or .event == "result") | .rev]' "[$1,$1]"
}

# ENH-06
@test "--rev chooses the set-up of sessions: enhanced, or that of RFC 5043" {
    local rev

    serve_here sctp-ddp-ping --listen --json "${UDP[@]}"
    ping_here -c 1 --json
    assert_status 0
    rev_is 2
    ping_here -c 1 --json --rev 2
    assert_status 0
    rev_is 2
    ping_here -c 2 -i 1ms -n 3 --json --rev 1
    assert_status 0
    rev_is 1
    serve_end
    assert_jsonl '[.[] | select(.event == "session") | .rev] | .[:2] + (.[2:] | unique)' '[2,2,1]'
    # A listener without RFC 6581 answers with Terminate; by default the client then tries the other
    # set-up.
    serve_here sctp-ddp-ping --listen --rev 1 "${UDP[@]}"
    ping_here -c 1 --json
    assert_status 0
    rev_is 1
    ping_here -c 1 --json --rev 2
    assert_status 1
    assert_stderr_has 'answered the Enhanced Initiate (--rev 2) with Terminate: use --rev 1 if the peer has it'
    for rev in 0 3 two; do
        ping_here --rev "$rev"
        assert_status 2
    done
}

@test "--rev 1 reaches a peer that does not answer an Enhanced Initiate" {
    require_tool python3
    serve_here python3 "$IW_TOP/tests/bats/sctp_answer.py" "$UDP_PORT" rfc5043
    ping_here -c 1 --timeout 1s --json
    assert_status 1
    assert_jsonl '.[-1].replies' 0
    ping_here -c 3 -i 1ms --json --rev 1
    assert_status 0
    assert_jsonl '.[-1] | [.replies, .rev]' '[3,1]'
    run_here sctp-ddp-ping --doctor --json --timeout 1s --rev 1 127.0.0.1 "${UDP[@]}"
    assert_status 0
    assert_jsonl '[.[] | select(.event == "far_end" and .transport == "udp") | .answer]' '["answers"]'
}

# Draft 02 2.2.3 defines Function Codes 1 to 4.
@test "the edition of draft-02 has no enhanced set-up: it is not tried, and asking for it is an error" {
    local other=(--profile sctp-draft-02)

    require_tool python3
    serve_here python3 "$IW_TOP/tests/bats/sctp_answer.py" "$UDP_PORT" draft-02
    ping_here -c 3 -i 1ms --timeout 5s --json "${other[@]}"
    assert_status 0
    assert_jsonl '.[-1] | [.replies, .rev, .adaptation_indication]' '[3,1,2]'
    ping_here -c 1 "${other[@]}" --rev 1
    assert_status 0
    ping_here -c 1 "${other[@]}" --rev 2
    assert_status 2
    assert_stderr_has 'profile sctp-draft-02 has no enhanced sessions (RFC 6581): leave out rev 2, or use profile rfc'
    run_here sctp-ddp-ping --listen "${UDP[@]}" "${other[@]}" --rev 2
    assert_status 2
}

# --- between hosts -----------------------------------------------------------------------------------------------------------

@test "udp and raw between hosts, IPv4 and IPv6: the path MTU is found" {
    local t

    require_netns
    for t in udp raw; do
        serve_in left sctp-ddp-ping --listen -t $t -p "$PORT" --bind '*'
        run_in right sctp-ddp-ping "$LEFT_IP" -t $t -p "$PORT" -n 4 -c 20 -i 50ms -s 4K --pmtu --json
        assert_status 0
        assert_jsonl '.[-1] | [.transport, .replies, .lost, .streams_in]' "[\"$t\",80,0,1000]"
        assert_jsonl '.[-1].addresses | map([.address, .primary, .active, .path_mtu_octets])' "[[\"$LEFT_IP:$PORT\",true,true,1500]]"
        run_in right sctp-ddp-ping "$LEFT_IP6" -t $t -p "$PORT" -c 2 -i 10ms
        assert_status 0
        assert_output_has "64 octets from [$LEFT_IP6]:$PORT: stream=0 seq=2 "
        serve_end
    done
}

@test "the path MTU shrinks: --pmtu reports it, and nothing is lost" {
    require_netns
    serve_in left sctp-ddp-ping --listen -t udp -p "$PORT" --bind '*'
    IW_READY='seq=3 ' serve_in right sctp-ddp-ping "$LEFT_IP" -t udp -p "$PORT" -c 20 -i 100ms -s 4K --pmtu
    net_ip right link set "$RIGHT_IF" mtu 1300
    wait_served
    net_ip right link set "$RIGHT_IF" mtu 1500
    assert_status 0
    # Whether the engine finds the exact value is tested elsewhere, and takes longer.
    grep -qE '^path MTU 1(2..|300)$' <<<"$output" || fail_with 'the change of the path MTU is not reported'
    grep -qE '^  address .*, primary, path MTU 1(2..|300),' <<<"$output" || fail_with 'the path MTU is not in the summary'
    [[ $output =~ all\ +20\ +20\ +0 ]] || fail_with 'not 20 replies'
}

@test "the default transport is udp for every user, so that two ends meet" {
    local drop=()

    require_netns
    serve_in left sctp-ddp-ping --listen -p "$PORT" --bind '*'
    run_in right sctp-ddp-ping "$LEFT_IP" -p "$PORT" -c 1
    assert_status 0
    assert_output_has 'over udp: '
    [ "$(id -u)" -ne 0 ] || drop=(setpriv --bounding-set -net_raw --inh-caps -net_raw)
    run_in right "${drop[@]}" sctp-ddp-ping "$LEFT_IP" -p "$PORT" -c 1
    assert_status 0
    assert_output_has 'over udp: '
}

@test "raw: a host without SCTP, and an unreachable one" {
    require_netns
    [ ! -e /proc/net/sctp ] || skip 'needs no-sctp: this kernel has SCTP'
    run_in right sctp-ddp-ping "$LEFT_IP" -t raw -p "$PORT" -c 1 --timeout 5s --json
    assert_status 1
    assert_jsonl '.[-1] | [.event, .answer, .exit_status]' '["result","icmp",1]'
    run_in right sctp-ddp-ping "${LEFT_IP%.*}.9" -t raw -p "$PORT" -c 1 --timeout 1s --json
    assert_status 1
    assert_jsonl '.[-1] | [.event, .answer, .exit_status]' '["result","silent",1]'
}

# --- no replies --------------------------------------------------------------------------------------------------------------

@test "no listener at the UDP port: ICMP reports it at once" {
    ping_here -c 1 --timeout 10s --json
    assert_status 1
    assert_jsonl '.[-1] | [.answer, .sent, .exit_status]' '["icmp",0,1]'
    assert_stderr_has 'unreachable'
    doctor_says icmp
    assert_status 1
}

@test "a session rejected by another tool of this suite: one line names it" {
    mkdir dst
    serve_here ddp-recv "${UDP[@]}" dst
    ping_here -c 1
    assert_status 1
    assert_stderr_has ': ddp-recv listens there, not sctp-ddp-ping --listen; start that there, or give its port with -p'
    assert_output_is ''
    ping_here -c 1 --json
    assert_jsonl '.[0].event' rejected
    doctor_says rejected
    assert_status 1
    run_here sctp-ddp-ping --doctor --timeout 1s 127.0.0.1 "${UDP[@]}"
    assert_output_has "speaks DDP, and rejected the session (connect to 127.0.0.1:$PORT: ddp-recv listens there"
}

@test "a listener refuses what needs more memory than it has" {
    serve_here sctp-ddp-ping --listen --memory 64K "${UDP[@]}"
    ping_here -c 1 -s 1M
    assert_status 1
    assert_output_is ''
    assert_stderr_has '"the session needs 134218240 octets, 65536 of 65536 are free: use a smaller -s, or more --memory"'
    ping_here -c 1 -s 100
    assert_status 0
}

@test "silence, ABORT, no adaptation indication, another one: each is reported" {
    local row mode answer text

    require_tool python3
    for row in 'silent silent no answer to the INIT' 'abort abort nothing listens on SCTP port' \
        'plain no-ddp no adaptation indication' '0x2a no-ddp indication is 0x0000002a'; do
        read -r mode answer text <<<"$row"
        serve_here python3 "$IW_TOP/tests/bats/sctp_answer.py" "$UDP_PORT" "$mode"
        ping_here -c 1 --timeout 1s --json
        assert_status 1
        assert_jsonl '.[-1] | [.answer, .replies, .exit_status]' "[\"$answer\",0,1]"
        assert_stderr_has "$text"
        doctor_says "$answer"
        assert_status 1
        serve_end
    done
}

@test "doctor: a listener accepts no host argument" {
    run_here sctp-ddp-ping --doctor --listen 127.0.0.1
    assert_status 2
    assert_stderr_has '--doctor "127.0.0.1" tests a listener there: leave out --listen'
}

@test "doctor: the far end answers" {
    serve_here sctp-ddp-ping --listen "${UDP[@]}"
    doctor_says answers
    assert_status 0
    assert_jsonl '.[-1] | [.streams_in, .adaptation_indication, (.addresses | length)]' '[1000,1,1]'
}

@test "doctor: without any attempt the status is that of the failure" {
    run_here sctp-ddp-ping --doctor nosuch.invalid
    assert_status 4
    assert_output_has 'nosuch.invalid -t udp: not tried'
}

@test "a usage error names the option that was given" {
    local text args

    while IFS='|' read -r text args; do
        # shellcheck disable=SC2086
        run_here sctp-ddp-ping $args
        assert_status 2
        assert_stderr_has "$text"
    done <<'END'
--pmtu: only for the connecting side; leave out --listen|--listen --pmtu
--memory: only for a listener; add --listen|--memory 1M host
--flood and --interval exclude each other; leave out one|-f -i 1s host
END
}

@test "bad usage ends with status 2" {
    local args

    for args in '' '--listen host' 'a b' '-t tcp host' '-t nosuch host' '-s 17M host' '-n 0 host' '--once host' '--listen -c 1' '-p 0 host'; do
        # shellcheck disable=SC2086
        run_here sctp-ddp-ping $args
        assert_status 2
    done
}
