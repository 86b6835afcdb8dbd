#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# --profile rdmac: the RDMA Consortium's version 0 of MPA, DDP and RDMAP, and the errors of peers that use the RFCs.

# bats file_tags=beside

load helpers

setup() {
    another_port
    cd "$BATS_TEST_TMPDIR" || return
    mkdir dst
    random_file f 300000
}

another_port() {
    PORT=$(free_port)
}

send() {
    run_here ddp-send -p "$PORT" "$@"
}

# through_tap: starts a relay to the server that records what each side sends; PORT becomes the
# relay's port
through_tap() {
    require_tool socat
    local server=$PORT

    another_port
    serve_here socat -r to_server -R to_client "TCP-LISTEN:$PORT,bind=127.0.0.1,reuseaddr" "TCP:127.0.0.1:$server"
}

tap_closed() {
    ! kill -0 "${SERVE_WRAPPER[$SERVED]}" 2>/dev/null
}

# wire FILE OPCODES: checks that this side used version 0 of all protocols, and these operations
wire() {
    local got

    got=$(python3 "$BATS_TEST_DIRNAME/rdmac_wire.py" "$1" 2>&1) || fail_with "$1: $got"
    assert_equal "$got" "$2" "$1"
}

@test "a file arrives in every mode between two ends of --profile rdmac, with version 0 on the wire" {
    local mode
    # Writes (0), Read Requests (1) and Responses (2), Sends (3): those of the source, then those of
    # the sink.
    local -A source=([write]='0 3' [read]='2 3' [send]='3') sink=([write]='3' [read]='1 3' [send]='3')

    for mode in write read send; do
        another_port
        serve_here ddp-recv -p "$PORT" --profile rdmac dst
        through_tap
        send --profile rdmac -m "$mode" f "127.0.0.1:$mode"
        assert_status 0
        assert_same_file f "dst/$mode"
        wait_until 10 tap_closed || fail_with 'the relay still runs'
        wire to_server "${source[$mode]}"
        wire to_client "${sink[$mode]}"
        rm to_server to_client
    done
}

@test "ddp-bench measures over --profile rdmac, and reports the revision" {
    local mode

    serve_here ddp-bench --listen -p "$PORT" --profile rdmac
    for mode in write read send; do
        run_here ddp-bench 127.0.0.1 "$mode" -p "$PORT" --profile rdmac --time 100ms --warmup 0 --interval 0 --json
        assert_status 0
        assert_jsonl '.[-1] | .event' result
    done
}

@test "ends of different profiles report the value seen, the value expected, and what to use" {
    serve_here ddp-recv -p "$PORT" --profile rdmac dst
    send f 127.0.0.1:
    assert_status 1
    assert_stderr_has 'the Reply has Rev 0 (RDMA Consortium): expected Rev 1 or 2; use profile rdmac'
    send --rev 1 f 127.0.0.1:
    assert_status 1
    assert_stderr_has 'use profile rdmac'
    another_port
    serve_here ddp-recv -p "$PORT" dst
    send --profile rdmac f 127.0.0.1:
    assert_status 1
    assert_stderr_has 'the Reply has Rev 1: expected Rev 0 (profile rdmac); use profile rfc for this peer'
    # The same listener serves the next connection.
    send f 127.0.0.1:
    assert_status 0
    assert_same_file f dst/f
}

@test "a profile that does not apply to the transport, the revision or the CRC is refused with status 2" {
    send --profile rdmac -t udp f 127.0.0.1:
    assert_status 2
    assert_stderr_has "profile rdmac: needs transport tcp, not udp"
    send --profile sctp-draft-02 f 127.0.0.1:
    assert_status 2
    assert_stderr_has 'profile sctp-draft-02: needs transport sctp, udp, raw or xdp'
    send --profile rdmac --rev 2 f 127.0.0.1:
    assert_status 2
    assert_stderr_has 'uses MPA Rev 0'
    send --profile rdmac --crc off f 127.0.0.1:
    assert_status 2
    assert_stderr_has 'the CRC is always on'
    send --profile rdma f 127.0.0.1:
    assert_status 2
    assert_stderr_has 'rfc, rdmac, sctp-draft-02'
    run_here ddp-recv --profile rdmac -t udp dst
    assert_status 2
    run_here ddp-bench --listen --profile sctp-draft-02
    assert_status 2
}

@test "mpa-probe acts as an endpoint of the RDMA Consortium, identifies one, and runs rping with one" {
    serve_here mpa-probe --listen -p "$PORT" --profile rdmac
    run_here mpa-probe 127.0.0.1 -p "$PORT" --profile rdmac
    assert_status 0
    assert_output_has 'revision      0'
    assert_output_has 'markers       to the peer on, from the peer on'
    # Without the profile the listener answers the third Request, of Rev 1.
    run_here mpa-probe 127.0.0.1 -p "$PORT"
    assert_status 0
    assert_output_has 'an endpoint of the RDMA Consortium (use --profile rdmac)'
    another_port
    serve_here ddp-recv -p "$PORT" --profile rdmac dst
    run_here mpa-probe 127.0.0.1 -p "$PORT"
    assert_status 1
    assert_output_has 'speaks MPA, but refuses the connection'
    assert_output_has 'Rev 0 C=1 M=1 R=1'
    # The tool's own Private Data is missing in a Reply of Rev 0.
    run_here mpa-probe 127.0.0.1 -p "$PORT" --rev 0 --markers
    assert_status 1
    assert_output_has 'Rev 0 C=1 M=1 R=1'
    another_port
    serve_here mpa-probe --listen --app rping -p "$PORT" --rev 0
    run_here mpa-probe --app rping 127.0.0.1 -p "$PORT" --profile rdmac -c 20
    assert_status 0
    assert_output_has 'MPA Rev 0, CRC on, markers on'
    assert_output_has '20 rounds'
    assert_output_has 'verified'
    run_here mpa-probe --app rping 127.0.0.1 -p "$PORT" -c 20
    assert_status 1
    assert_stderr_has 'use profile rdmac'
}

@test "mpa-probe refuses options that contradict --profile rdmac" {
    local bad

    for bad in '--rev 1' '--crc off' '--peer-to-peer' '--rtr send' '--all'; do
        # shellcheck disable=SC2086
        run_here mpa-probe 127.0.0.1 -p "$PORT" --profile rdmac $bad
        assert_status 2
        assert_stderr_has '--profile rdmac'
    done
    run_here mpa-probe --listen --profile rdmac --personality siw
    assert_status 2
}
