#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# mpa-probe: its report about each kind of listener, its personalities, rping against itself, and
# what it refuses.

# bats file_tags=beside

load helpers

setup() {
    another_port
}

another_port() {
    PORT=$(free_port)
}

# listen [OPTION...]: starts a responder on this machine
listen() {
    serve_here mpa-probe --listen -p "$PORT" "$@"
}

probe() {
    run_here mpa-probe 127.0.0.1 -p "$PORT" "$@"
}

rping() {
    run_here mpa-probe --app rping 127.0.0.1 -p "$PORT" "$@"
}

# says SCRIPT [,SOCKET-OPTION]: starts a listener that sends the output of a shell script to each
# client
says() {
    require_tool socat
    # The script is in a file, because socat has a quoting syntax of its own.
    echo "$1" >"$BATS_TEST_TMPDIR/says.$PORT"
    serve_here socat "TCP-LISTEN:$PORT,bind=127.0.0.1,fork,reuseaddr${2:-}" "SYSTEM:exec sh $BATS_TEST_TMPDIR/says.$PORT"
}

# --- the probe -------------------------------------------------------------------------------------------------------------

@test "a personality is identified by its answers, and reported as emulated" {
    local what=(rfc siw chelsio windows plain) p
    local -A name=([rfc]='libiwarp (this library)' [siw]='Linux siw (software iWARP)'
        [chelsio]='Chelsio T4 to T6 (Linux cxgb4)' [windows]='Windows SMB Direct over MPA Rev 1'
        [plain]='an RFC 5044 endpoint that supports only Rev 1')
    local -A json=([rfc]='["libiwarp",2,true,["send","write","read"]]' [siw]='["siw",2,true,["write"]]'
        [chelsio]='["chelsio",2,true,["read"]]' [windows]='["windows",1,true,[]]' [plain]='["plain",1,true,[]]')

    for p in "${what[@]}"; do
        another_port
        listen --personality "$p" --json
        probe
        assert_status 0
        assert_stderr_is ''
        assert_output_has "127.0.0.1:$PORT: an iWARP endpoint"
        assert_output_has "looks like    ${name[$p]}"
        assert_output_has 'RDMA Reads answered'
        probe --json
        assert_status 0
        assert_jsonl '[.[] | .schema] | unique' '[1]'
        assert_jsonl '.[-1] | [.looks_like.name, .reply.rev, .agreed.crc, .agreed.rtr]' "${json[$p]}"
        assert_jsonl '.[-1] | [.event, .iwarp, .outcome, .fpdu_exchange, .exit_status]' '["result",true,"accepted","works",0]'
        assert_jsonl '.[-1] | .looks_like.against' '[]'
        assert_jsonl '.[-1] | .emss_octets >= 536 and .mulpdu_octets < .emss_octets and .connect_ns > 0 and .reply_ns > 0' true
        assert_jsonl '.[-1] | .read_rtt_ns > 0 and .reads_answered >= 3 and .fpdus_aligned <= .fpdus_received' true
        assert_jsonl '(.[-1].connections == length - 1) and (.[:-1] | map(.event) | unique == ["attempt"])' true
        serve_end
        assert_status 0
        assert_jsonl '[.[0].event, .[-1].event, .[-1].exit_status]' '["listening","stopped",0]'
        assert_jsonl 'map(.event) | unique' '["closed","listening","request","stopped"]'
        assert_jsonl 'map(select(.event != "stopped") | [.personality, .emulated]) | unique' "[[\"$p\",$([ "$p" = rfc ] && echo false || echo true)]]"
    done
}

@test "the human output says that a personality is emulated, and what it answered" {
    listen --personality siw
    probe --markers
    assert_status 1
    assert_output_has "127.0.0.1:$PORT: speaks MPA, but refuses the connection"
    assert_output_has 'Rev 2 C=1 M=0 R=1 client-server IRD 0 ORD 0'
    assert_output_has 'the peer closed the connection'
    serve_end
    assert_status 0
    assert_output_has "listening on 127.0.0.1:$PORT as siw (emulated), sink, for this machine only: --bind ADDR for others"
    assert_output_has ': Request Rev 2 C=1 M=1 R=0 client-server IRD 16 ORD 16'
    assert_output_has ': siw (emulated): reject, Reply Rev 2 C=1 M=0 R=1 client-server IRD 0 ORD 0'
}

@test "the default probe ends in a second on this machine" {
    local try

    listen --personality siw
    # On a busy machine one probe may take longer than the limit.
    for try in 1 2 3; do
        probe --json
        assert_status 0
        jq -s -e '.[-1].took_ns < 1e9' <<<"$output" && return
    done
    fail_with "after $try tries"
}

@test "the grid has every Request and its outcome" {
    listen --personality chelsio
    probe --all --json --rate 1000
    assert_status 0
    # Revision 2 in five forms, and 1, 0 and 3 in one form, each with the four combinations of C and
    # M.
    assert_jsonl 'map(select(.purpose == "grid")) | length' 32
    assert_jsonl 'map(select(.purpose == "grid" and .request.rev == 2) | [.request.c, .request.m, .request.rtr]) | unique | length' 20
    assert_jsonl 'map(select(.purpose == "grid" and .request.rev == 3) | .outcome) | unique' '["reset"]'
    assert_jsonl 'map(select(.purpose == "grid" and .request.rev == 1) | [.outcome, .reply.c]) | unique' '[["accepted",true]]'
    # Revision 0 uses another version of DDP: the probe requests it but exchanges no FPDUs.
    assert_jsonl 'map(select(.purpose == "grid" and .outcome == "accepted") | [.request.rev == 0, .fpdu_exchange]) | unique' '[[false,"works"],[true,"none"]]'
    assert_jsonl 'map(select(.purpose == "grid" and .request.m and .outcome == "accepted") | .agreed.rx_markers) | unique' '[true]'
    assert_jsonl 'map(select(.purpose == "stag0")) | .[0].fpdu_exchange' broken
    assert_jsonl '.[-1] | [.listener_gone, .looks_like.name]' '[false,"chelsio"]'
    assert_jsonl '.[-1].looks_like.evidence | map(select(.fact == "stag0_fatal").is)' '[true]'
    probe --all --rate 1000
    assert_status 0
    grep -qE '^grid +3 +1 +0 +client-server +reset' <<<"$output" || fail_with 'no row of Rev 3'
    grep -qE '^stag0 +2 +1 +0 ' <<<"$output" || fail_with 'no row of STag 0'
}

@test "one Request can be spelled out, and is the only one" {
    listen
    probe --rev 1 --crc off --json
    assert_status 0
    assert_jsonl '[length, .[0].request.rev, .[0].request.c, .[0].request.s, .[1].connections]' '[2,1,false,false,1]'
    probe --rtr write,read --private-data 0x00ff41 --json
    assert_status 0
    assert_jsonl '.[0] | [.request.rtr, .request.private_data_hex, .agreed.rtr, .agreed.rtr_sent]' '[["write","read"],"00ff41",["write","read"],"read"]'
    probe --markers --peer-to-peer --json
    assert_jsonl '.[0] | [.request.m, .request.peer_to_peer, .agreed.rx_markers, .fpdu_exchange]' '[true,true,true,"works"]'
    probe --single --json
    assert_status 0
    assert_jsonl '[length, .[0].purpose]' '[2,"main"]'
    serve_end
}

@test "Private Data is shown by number and by letter" {
    listen --private-data 'hello there'
    probe --private-data 'from me'
    assert_status 0
    assert_output_has 'Private Data  11 "hello there" 68656c6c6f207468657265'
    serve_end
    assert_output_has 'Private Data 7 "from me" 66726f6d206d65'
}

@test "the last of several --private-data applies, and no octet is written past the end" {
    local full

    full=$(printf '%1024s' '')
    listen
    probe --rev 1 --private-data "0x${full// /a}" --private-data 0x00ff41 --json
    assert_status 0
    assert_jsonl '.[0].request | [.private_data_octets, .private_data_hex]' '[3,"00ff41"]'
    serve_end
}

@test "a refusal is reported with its Private Data" {
    listen --personality plain --reject --private-data 'members only'
    probe --json
    assert_status 1
    assert_jsonl '.[-1] | [.outcome, .iwarp, .exit_status]' '["refused",false,1]'
    probe --rev 1
    assert_status 1
    assert_output_has 'Rev 1 C=0 M=0 R=1 Private Data 12 "members only"'
    # Without a personality the engine of this library answers.
    another_port
    listen --reject --private-data 'members only'
    probe --json
    assert_status 1
    assert_jsonl '.[-1] | [.outcome, .iwarp, .exit_status]' '["refused",false,1]'
    probe
    assert_output_has 'Private Data 12 "members only"'
    serve_end
    assert_output_has ': reject'
}

@test "the library's own tools are identified by their Private Data" {
    serve_here ddp-bench --listen -p "$PORT"
    probe
    assert_status 1
    assert_output_has 'speaks MPA, but refuses the connection'
    assert_output_has 'looks like    libiwarp (this library)'
    another_port
    mkdir "$BATS_TEST_TMPDIR/dst"
    serve_here ddp-recv -p "$PORT" "$BATS_TEST_TMPDIR/dst"
    probe --json
    assert_jsonl '.[-1].looks_like.name' libiwarp
}

@test "the example responder is an endpoint" {
    IW_READY='^listening on ' serve_here "$IW_BUILD/tests/examples/responder"
    # The responder serves only one connection, too few to identify the implementation.
    run_here mpa-probe 127.0.0.1 -p "$(sed -n 's/^listening on 127\.0\.0\.1://p' "$BATS_TEST_TMPDIR/serve.1.out")" --single --json
    assert_status 0
    assert_jsonl '.[-1] | [.iwarp, .fpdu_exchange, .connections]' '[true,"works",1]'
}

# --- listeners without iWARP --------------------------------------------------------------------

@test "a closed port, a silent one, one that resets, one that closes" {
    probe
    assert_status 1
    assert_output_has "127.0.0.1:$PORT: not an iWARP endpoint: "
    assert_output_has 'connection refused'
    says 'sleep 20'
    probe --json
    assert_status 1
    assert_jsonl '.[-1] | [.outcome, .connections, .took_ns < 3e9]' '["silent",1,true]'
    serve_end
    another_port
    require_tool python3
    # A connection that is closed with unread octets is reset.
    serve_here python3 -c 'import socket, sys
s = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    c = s.accept()[0]
    c.recv(4)
    c.close()' "$PORT"
    probe --json
    assert_status 1
    assert_jsonl '.[-1] | [.outcome, .connections]' '["reset",3]'
    another_port
    says 'head -c 20 >/dev/null'
    probe
    assert_status 1
    assert_output_is "127.0.0.1:$PORT: not an iWARP endpoint: the peer closed the connection without a Reply; another program may listen there: give the port of the iWARP listener with -p"
}

@test "a closed port has no ending, since there was no connection" {
    probe --json
    assert_status 1
    assert_jsonl 'map([.outcome, has("ending"), has("connect_ns")]) | unique' '[["port_closed",false,false]]'
}

@test "an echo service is not mistaken for an initiator" {
    says 'cat'
    probe
    assert_status 1
    assert_output_has "127.0.0.1:$PORT: not an iWARP endpoint: it speaks an echo protocol: it sends back what it receives"
    rping
    assert_status 1
    assert_stderr_has 'mpa: got an MPA Request, expected a Reply: both ends are initiators, or an echo service is there'
}

@test "a part of a Reply is reported with the length that was expected" {
    says 'head -c 20 >/dev/null; printf "MPA ID Rep Fr"'
    probe
    assert_status 1
    assert_output_is "127.0.0.1:$PORT: not an iWARP endpoint: 13 of at least 20 octets of a Reply were received, then the end of the stream; see the log of that listener, and of a relay before it"
}

@test "a refusal with another revision proposes it" {
    listen
    probe --rev 0
    assert_status 1
    assert_output_has "127.0.0.1:$PORT: speaks MPA, but refuses the connection"
    assert_output_has '  then try      --rev 1, the revision of its Reply; this Request had Rev 0'
    probe --profile rdmac
    assert_status 1
    assert_output_has '  then try      without --profile rdmac: its Reply has Rev 1'
    assert_output_lacks '--rev 1'
    serve_end
    listen --reject
    probe --single
    assert_status 1
    assert_output_lacks 'then try'
}

@test "a listener of --profile rdmac names the profile, also as the reason for a rejected Rev" {
    listen --profile rdmac
    probe --rev 2
    assert_status 1
    # --profile rfc does not restrict a probe to one Request.
    probe --profile rfc
    assert_status 0
    assert_output_has 'use --profile rdmac'
    serve_end
    assert_output_has "listening on 127.0.0.1:$PORT as rfc, sink, profile rdmac, for this machine only"
    assert_output_has 'close: Rev 2: at most 1 is accepted here (--profile rdmac); both ends must use the same --profile'
    listen --rev 1
    probe --rev 2
    serve_end
    assert_output_has 'close: Rev 2: at most 1 is accepted here'
    assert_output_lacks profile
}

@test "a trace that cannot be written completely does not affect the result" {
    cd "$BATS_TEST_TMPDIR" || return 1
    listen --app rping
    # If SIGXFSZ is ignored, a write above the limit fails.
    run_here bash -c "trap '' XFSZ; ulimit -f 1; exec mpa-probe 127.0.0.1 -p $PORT --app rping --trace t.json"
    assert_status 4
    assert_output_has '10 rounds of 64 octets'
    assert_stderr_has 'mpa-probe: write trace file t.json: file too large; the trace is incomplete, the result is not affected; missing events: '
    assert_equal "$(jq -s -c '[.[-1].event, .[-1].events == length - 1, .[-1].dropped > 0]' t.json)" '["trace_end",true,true]'
}

@test "without an answer there is no verdict, and a local error is reported as an error" {
    probe --bind 198.51.100.1
    assert_status 4
    assert_output_is ''
    assert_stderr_has 'bind to 198.51.100.1'
    unshare --user --map-root-user --net true 2>/dev/null || skip 'needs netns: no user namespaces'
    # Runs in a namespace without a route.
    run_here unshare --user --map-root-user --net mpa-probe 198.51.100.1 -p "$PORT"
    assert_status 4
    assert_output_has "198.51.100.1:$PORT: not known whether it is an iWARP endpoint: network is unreachable"
}

@test "a custom Request that is not accepted gives no verdict on the endpoint" {
    listen
    probe --rev 3
    assert_status 1
    assert_output_is "127.0.0.1:$PORT: does not accept this Request with Rev 3: the peer reset the connection; try without options such as --rev and --single"
}

@test "a listener of another tool is named when it rejects the connection" {
    mkdir "$BATS_TEST_TMPDIR/dst"
    serve_here ddp-recv -p "$PORT" "$BATS_TEST_TMPDIR/dst"
    rping
    assert_status 1
    assert_stderr_has "mpa-probe: connect to 127.0.0.1:$PORT: ddp-recv listens there, not mpa-probe --listen --app rping; start that there, or give its port with -p"
    run_here mpa-probe -p "$PORT" --single 127.0.0.1
    assert_status 1
    assert_output_has 'listener      ddp-recv, which accepts only its own clients; for a full probe run mpa-probe --listen there'
    serve_end
    another_port
    serve_here ddp-bench --listen -p "$PORT"
    rping
    assert_status 1
    assert_stderr_has "mpa-probe: connect to 127.0.0.1:$PORT: ddp-bench --listen listens there, not mpa-probe --listen --app rping; start that there, or give its port with -p"
}

@test "an ordinary web server" {
    require_tool python3
    serve_here python3 -m http.server -b 127.0.0.1 -d "$BATS_TEST_TMPDIR" "$PORT"
    probe
    assert_status 1
    assert_output_is "127.0.0.1:$PORT: not an iWARP endpoint: it speaks HTTP (\"<!DOCTYPE HTML>\")"
    probe --json
    assert_status 1
    assert_jsonl '.[-1] | [.iwarp, .outcome, .connections, .exit_status, .took_ns < 3e9]' '[false,"not_mpa",1,1,true]'
}

@test "a server that answers in HTTP, and one that sends first" {
    says 'head -c 20 >/dev/null; printf "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"'
    probe
    assert_status 1
    assert_output_is "127.0.0.1:$PORT: not an iWARP endpoint: it speaks HTTP (\"HTTP/1.1 400 Bad Request\")"
    another_port
    says 'printf "SSH-2.0-OpenSSH_9.2\r\n"; cat >/dev/null'
    probe --json
    assert_status 1
    assert_jsonl '.[-1] | [.outcome, .received]' '["not_mpa","SSH-2.0-OpenSSH_9.2\r\n"]'
}

@test "garbage does not affect the terminal" {
    says 'printf "\033[31m\000\377\012 garbage garbage garbage"; cat >/dev/null'
    probe
    assert_status 1
    assert_output_has 'not an iWARP endpoint'
    [[ $output != *$'\e'* ]]
    probe --json
    assert_status 1
    assert_jsonl '.[-1].outcome' not_mpa
    assert_jsonl '.[-1] | has("received_b64")' true
}

@test "a Reply may arrive octet by octet, but a part of one is not a Reply" {
    # shellcheck disable=SC2016
    says 'head -c 20 >/dev/null; for c in M P A " " I D " " R e p " " F r a m e "\100" "\001" "\000" "\000"; do printf "$c"; sleep 0.01; done; cat >/dev/null'
    probe --rev 1 --json
    assert_status 0
    assert_jsonl '.[-1] | [.outcome, .reply.rev, .reply.c, .fpdu_exchange]' '["accepted",1,true,"silent"]'
    assert_jsonl '.[-1].reply_ns > 150e6' true
    another_port
    says 'head -c 20 >/dev/null; printf "MPA ID Rep Fr"; sleep 20'
    probe --rev 1 --json
    assert_status 1
    assert_jsonl '.[-1].outcome' bad_reply
}

@test "a Reply with more than 512 octets of Private Data is malformed, not an endpoint" {
    says 'head -c 20 >/dev/null; printf "MPA ID Rep Frame\100\001\002\001"; head -c 513 /dev/zero; cat >/dev/null'
    probe --rev 1
    assert_status 1
    assert_output_is "127.0.0.1:$PORT: not an iWARP endpoint: PD_Length of the Reply is 513: expected at most 512 (RFC 5044 7.1.1)"
    probe --rev 1 --json
    assert_status 1
    assert_jsonl '.[-1] | [.iwarp, .outcome]' '[false,"bad_reply"]'
    another_port
    says 'head -c 20 >/dev/null; printf "MPA ID Rep Frame\100\001\002\000"; head -c 512 /dev/zero; cat >/dev/null'
    probe --rev 1 --json
    assert_status 0
    assert_jsonl '.[-1] | [.outcome, .reply.private_data_octets]' '["accepted",512]'
}

@test "an unreachable host or an unknown name is a failure, not an answer" {
    run_here mpa-probe no.such.host.invalid
    assert_status 4
    assert_stderr_has no.such.host.invalid
    # TEST-NET-1, over an interface that does not lead there.
    run_here mpa-probe 192.0.2.1 -I lo --timeout 300ms
    assert_status 4
}

# --- rping ---------------------------------------------------------------------------------------------------------------------

@test "rping of every size, verified on both sides" {
    local size

    listen --app rping --json
    for size in 0 1 17 64 1448 30011 65535; do
        rping -c 5 -s $size --json
        assert_status 0
        assert_jsonl '.[-1] | [.event, .app, .rounds, .rounds_verified, .octets_read, .octets_written, .exit_status]' \
            "[\"result\",\"rping\",5,5,$((5 * size)),$((5 * size)),0]"
        assert_jsonl '.[-1] | .round_min_ns > 0 and .round_min_ns <= .round_mean_ns and .round_mean_ns <= .round_max_ns' true
    done
    serve_end
    assert_status 0
    assert_jsonl 'map(select(.event == "closed") | [.rounds, .rounds_verified, has("error")]) | unique' '[[5,5,false]]'
    assert_jsonl 'map(select(.event == "closed").octets_written)' '[0,5,85,320,7240,150055,327675]'
}

@test "a listener that accepts only Rev 1 reports the Rev that it rejected" {
    listen --app rping --rev 1
    rping -c 1 --rev 2
    assert_status 4
    rping -c 1
    assert_status 0
    serve_end
    assert_output_has 'Request Rev 2 C=1 M=0 R=0, 20 of its 24 octets'
    assert_output_has 'close: Rev 2: at most 1 is accepted here'
    assert_output_lacks 'no whole frame'
    another_port
    listen --app rping --rev 1 --json
    rping -c 1 --rev 2
    serve_end
    assert_jsonl '[.[] | select(.event == "request")][0] | [.verdict, .text, .request.rev]' \
        '["close","Rev 2: at most 1 is accepted here",2]'
}

@test "rping over every kind of connection" {
    local crc how

    listen --app rping --json
    for crc in wanted required off; do
        for how in '--rev 1' '--rev 2' '--rtr send' '--rtr write' '--rtr read' '--rtr send,read' '--peer-to-peer' '--markers'; do
            # shellcheck disable=SC2086
            rping -c 3 -s 5000 --crc $crc $how --json
            assert_status 0
            assert_jsonl '.[-1] | [.rounds_verified, .rev, .rx_markers]' \
                "[3,$([ "$how" = '--rev 1' ] && echo 1 || echo 2),$([ "$how" = --markers ] && echo true || echo false)]"
            case $how in
                --rtr*) assert_jsonl '.[-1].rtr' "[\"${how##*[ ,]}\"]" ;;
                --peer*) assert_jsonl '.[-1].rtr' '["write"]' ;;
                --rev*) assert_jsonl '.[-1].rtr' '[]' ;;
            esac
        done
    done
    serve_end
    # A listener without --crc still uses the CRC if its peer requests it.
    another_port
    listen --app rping --crc off
    rping -c 2 --crc off --json
    assert_jsonl '.[-1] | [.crc, .rounds_verified]' '[false,2]'
    for crc in wanted required; do
        rping -c 2 --crc $crc --json
        assert_status 0
        assert_jsonl '.[-1] | [.crc, .rounds_verified]' '[true,2]'
    done
}

@test "rping over IPv6" {
    require_ipv6
    serve_here mpa-probe --listen --app rping -p "$PORT" --bind ::1
    run_here mpa-probe --app rping ::1 -p "$PORT" -c 3 -s 65535
    assert_status 0
    assert_output_has "[::1]:$PORT: MPA Rev 2, CRC on"
    assert_output_has '3 rounds of 65535 octets: 196605 octets by RDMA Read, 196605 by RDMA Write, verified'
    run_here mpa-probe ::1 -p "$PORT"
    assert_status 0
    assert_output_has "[::1]:$PORT: an iWARP endpoint"
}

@test "rping with each personality in front, and several at once" {
    local p i pids=()

    for p in siw chelsio; do
        another_port
        listen --app rping --personality $p --json
        rping -c 3 -s 3000 --json
        assert_status 0
        assert_jsonl '.[-1] | [.rounds_verified, .nudges]' '[3,0]'
        for ((i = 0; i < 8; i++)); do
            timeout 20 mpa-probe --app rping 127.0.0.1 -p "$PORT" -c 20 -s 9999 -q >/dev/null 3>&- &
            pids+=($!)
        done
        for i in "${pids[@]}"; do
            wait "$i" || fail_with "one of eight at once: status $?"
        done
        pids=()
        serve_end
        assert_jsonl 'map(select(.event == "closed" and .rounds_verified == 20)) | length' 8
        assert_jsonl 'map(select(.event == "closed") | [.personality, .emulated]) | unique' "[[\"$p\",true]]"
    done
}

@test "the quirk siw-first-fpdu is found, played and switched off" {
    listen --app rping --personality siw --quirk siw-first-fpdu --json
    rping -c 2 -v
    assert_status 0
    assert_stderr_has 'quirk siw-first-fpdu: sent 1 zero-length RDMA Writes so that the peer notices the first FPDU'
    rping -c 2 --quirk siw-first-fpdu --json
    assert_status 0
    assert_jsonl '.[-1] | [.nudges >= 1, .rounds_verified, .round_max_ns < 4e8]' '[true,2,true]'
    # Without the nudge the first FPDU stays unnoticed.
    rping -c 2 --quirk none --timeout 800ms
    assert_status 4
    assert_stderr_has "127.0.0.1:$PORT: rping: round 0: no progress for"
    assert_stderr_has 'is the peer an rping server (mpa-probe --listen --app rping)?'
    assert_stderr_lacks '--timeout'
    probe --json
    assert_status 0
    assert_jsonl '.[-1].looks_like.name' siw
    serve_end
    # The Request follows the RFCs: its reserved bits are 0.
    assert_jsonl 'map(select(.event == "request").request.reserved) | .[0]' 0
}

@test "rping whose server stops after some rounds asks for the server, not for its kind" {
    listen --app rping
    local server=$SERVE_PID

    IW_READY='round 9:' serve_here mpa-probe -v --app rping 127.0.0.1 -p "$PORT" -c 0 --timeout 600ms
    kill -STOP "$server"
    wait_served
    kill -KILL "$server"
    assert_status 4
    assert_stderr_has 'no progress for 6'
    assert_stderr_has '; does the server still run, and is the network up?'
    assert_stderr_lacks 'is the peer an rping server'
}

# received REGEX: the number of octets that the listener has received matches
received() {
    ss -Htin state established "sport = :$PORT" | grep -qE "bytes_received:($1)( |\$)"
}

# interrupt REGEX [OPTION...]: ends a client of rping by SIGTERM when the listener has received that
# many octets. Without --foreground, timeout sends the signal twice, and the second one ends the
# client at once.
# shellcheck disable=SC2034
interrupt() {
    local octets=$1 pid
    shift

    OUTPUT_FILE=$BATS_TEST_TMPDIR/rping.out
    COMMAND="mpa-probe --app rping 127.0.0.1 --json $*"
    timeout --foreground -k 5 20 mpa-probe --app rping 127.0.0.1 -p "$PORT" --json "$@" >"$OUTPUT_FILE" 2>"$OUTPUT_FILE.err" 3>&- &
    pid=$!
    wait_until 10 received "$octets" || fail_with "never received: $octets"
    kill -TERM $pid
    wait_until 8 iw_gone $pid || fail_with 'it does not end'
    status=0
    wait $pid || status=$?
    output=$(cat "$OUTPUT_FILE")
    stderr=$(cat "$OUTPUT_FILE.err")
}

@test "an interrupted rping client ends soon with status 4, and names the round" {
    # A sink accepts the connection, but it is not an rping server.
    listen
    interrupt '6[0-9]|[1-9][0-9]{2,}'
    assert_status 4
    assert_stderr_has "127.0.0.1:$PORT: rping: interrupted in round 0: no progress for "
    assert_stderr_has 'is the peer an rping server (mpa-probe --listen --app rping)?'
    assert_jsonl '.[-1] | [.error, .exit_status, has("clause")]' '["CANCELED",4,false]'
    serve_end
    another_port
    listen --app rping
    interrupt '[0-9]{4,}' -c 1000000000
    assert_status 4
    assert_stderr_has "127.0.0.1:$PORT: rping: interrupted after "
    assert_stderr_has ' of 1000000000 rounds'
    # Without a number of rounds, an interruption is the expected end.
    interrupt '[0-9]{4,}' -c 0
    assert_status 0
    assert_stderr_is ''
    serve_end
    another_port
    says 'sleep 20'
    interrupt 24
    assert_status 4
    assert_stderr_has "connect to 127.0.0.1 port $PORT: interrupted before the connection was set up"
}

@test "a server that does not accept the size ends the conversation, and reports that" {
    listen --app rping -s 1000 --once --json
    rping -s 1001
    assert_status 1
    assert_stderr_has 'rping: the server ended the connection in round 0; is its --size (-S of rping) at least 1001?'
    wait_served
    assert_status 1
    assert_jsonl '.[1:] | map(.event)' '["request","closed","stopped"]'
    assert_jsonl 'map(select(.event == "closed")) | .[0] | [.rounds, .error, .text]' '[0,"REJECTED","rping: the client advertises 1001 octets: at most 1000 are accepted here (--size)"]'
}

# --- listeners -------------------------------------------------------------------------------------------------------------------

@test "--once serves one connection, or refuses one" {
    listen --once --json
    probe --single
    assert_status 0
    wait_served
    assert_status 0
    assert_jsonl 'map(.event)' '["listening","request","closed","stopped"]'
    another_port
    listen --once --personality siw
    probe --markers
    assert_status 1
    wait_served
    assert_status 1
    another_port
    listen --once --personality siw --reject
    probe --single
    assert_status 1
    wait_served
    assert_status 0
    another_port
    listen --once --reject
    probe --single
    assert_status 1
    wait_served
    assert_status 0
}

@test "a listener survives every kind of client" {
    require_tool socat
    listen --personality windows --json
    head -c 2000 /dev/urandom | timeout 5 socat -t 0.2 - "TCP:127.0.0.1:$PORT" >/dev/null || true
    printf 'GET / HTTP/1.0\r\n\r\n' | timeout 5 socat -t 0.2 - "TCP:127.0.0.1:$PORT" >/dev/null || true
    printf 'MPA ID Req Fr' | timeout 5 socat -t 0.2 - "TCP:127.0.0.1:$PORT" >/dev/null || true
    timeout 5 socat -t 0.1 /dev/null "TCP:127.0.0.1:$PORT" || true
    probe
    assert_status 0
    serve_end
    assert_status 0
    assert_jsonl 'map(select(.verdict == "close" or .verdict == "reset")) | length >= 3' true
}

# all_end COUNT: the listener ends connections that it accepted and that carry no payload
all_end() {
    local mode

    require_tool python3
    for mode in silent writes drip; do
        run_here python3 "$BATS_TEST_DIRNAME/mpa_idle.py" "$PORT" "$1" "$mode"
        assert_status 0
    done
}

@test "a listener ends connections without payload after --timeout" {
    listen --timeout 1s --json
    all_end 3
    probe
    assert_status 0
    serve_end
    assert_status 0
    assert_jsonl 'map(select(.event == "closed" and .error == "TIMEOUT")) | length' 9
}

@test "rping's server ends connections without progress after --timeout, and serves the next client" {
    listen --app rping --timeout 1s --json
    all_end 32
    rping -c 2
    assert_status 0
    serve_end
    assert_status 0
    assert_jsonl 'map(select(.event == "closed" and .error == "TIMEOUT")) | length' 96
}

@test "Ctrl-C and SIGTERM end a listener with status 0, also during a connection" {
    listen --app rping --json
    timeout 20 mpa-probe --app rping 127.0.0.1 -p "$PORT" -c 0 >/dev/null 2>&1 3>&- &
    wait_until 5 grep -q '"verdict":"accept"' "$BATS_TEST_TMPDIR/serve.1.out"
    serve_end 1 INT
    assert_status 0
    assert_jsonl 'map(.event)' '["listening","request","closed","stopped"]'
    wait $! || true
    another_port
    listen
    serve_end 2 TERM
    assert_status 0
}

@test "the trace has every octet of a probe" {
    listen --personality plain
    probe --rev 1 --crc off --trace "$BATS_TEST_TMPDIR/trace"
    assert_status 0
    jq -s -e 'map(select(.event == "played")) | length > 4' "$BATS_TEST_TMPDIR/trace"
    grep -q "$(printf 'MPA ID Req Frame' | od -An -tx1 | tr -d ' \n')00010000" "$BATS_TEST_TMPDIR/trace"
    grep -q "$(printf 'MPA ID Rep Frame' | od -An -tx1 | tr -d ' \n')00010000" "$BATS_TEST_TMPDIR/trace"
}

# --- usage -------------------------------------------------------------------------------------------------------------------------

@test "arguments that make no sense end with status 2" {
    local words

    while read -r -a words; do
        run_here mpa-probe "${words[@]}"
        assert_status 2
        assert_output_is ''
        assert_stderr_has 'mpa-probe: '
    done <<'END'
-p 7471
127.0.0.1 more
127.0.0.1 -p 0
127.0.0.1 -t sctp
127.0.0.1 --all --rev 1
127.0.0.1 --all --single
127.0.0.1 --rtr fax
127.0.0.1 --rtr send,,read
127.0.0.1 --rev 256
127.0.0.1 --private-data 0x123
127.0.0.1 --private-data 0xgg
127.0.0.1 --personality siw
127.0.0.1 --once
127.0.0.1 --count 3
127.0.0.1 --quirk none
127.0.0.1 --rate 0
--listen 127.0.0.1
--listen --all
--listen --personality vax
--listen --rev 3
--listen --peer-to-peer
--listen --app rping --reject
--listen --size 5
--app rping
--app rping 127.0.0.1 --rev 3
--app rping 127.0.0.1 --rev 1 --rtr send
--app rping 127.0.0.1 --size 65536
--app rping 127.0.0.1 --private-data x
--app rping 127.0.0.1 --all
--app ping 127.0.0.1
END
}

@test "a wrong revision of a personality and a quirk of a probe are explained" {
    run_here mpa-probe --listen --personality siw --rev 5
    assert_status 2
    assert_stderr_has 'mpa-probe: --rev 5: with --personality siw, expected 1 or 2, the highest accepted revision'
    run_here mpa-probe --listen --personality plain --rev 2
    assert_status 2
    assert_stderr_has 'mpa-probe: --rev 2: with --personality plain, expected 1, its only revision'
    run_here mpa-probe --listen --personality siw --rev 0
    assert_status 2
    assert_stderr_has 'mpa-probe: --rev 0: with --personality siw, expected 1 or 2'
    run_here mpa-probe 127.0.0.1 --quirk none
    assert_status 2
    assert_stderr_has 'mpa-probe: --quirk: only for rping and for a listener; add --app rping or --listen'
}

@test "a port in use is a failure with its reason" {
    listen
    run_here mpa-probe --listen -p "$PORT"
    assert_status 4
    assert_stderr_has 'in use'
}
