#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# ddp-impair as a relay of streams: each action against ddp-send and ddp-recv, and what these or
# ddp-dump report of it.

# bats file_tags=beside

# Each test runs in its own shell; helpers.bash sets status, output and stderr.
# shellcheck disable=SC2030,SC2031,SC2154

load helpers

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    mkdir dst
    head -c 300000 /dev/urandom >src
}

# relay_to PORT ARG...: starts a relay and sets $relay to its port
relay_to() {
    local to=$1
    shift

    IW_READY='^ddp-impair: listening' serve_here ddp-impair --listen 0 --to "127.0.0.1:$to" "$@"
    relay=$(sed -n 's/.*listening on .* port \([0-9]*\), relaying.*/\1/p' "$BATS_TEST_TMPDIR/serve.$SERVED.err")
}

# receive ARG...: starts ddp-recv and sets $to to its port
receive() {
    to=$(free_port)
    serve_here ddp-recv -p "$to" --control none "$@" dst
}

# transfer ARG...: sends src through the relay, once
transfer() {
    run_here ddp-send -p "$relay" --timeout 2 --redial 0 "$@" src 127.0.0.1:
}

# refused TEXT ARG...: a relay with these arguments does not start, and its message has the text
refused() {
    local text=$1
    shift

    run_here ddp-impair --listen 0 --to 127.0.0.1:1 --seconds 1 "$@"
    assert_status 2
    assert_stderr_has "$text"
}

@test "without rules a transfer passes unchanged" {
    receive
    relay_to "$to"
    transfer
    assert_status 0
    cmp src dst/src
    serve_end
    assert_status 0
    assert_output_has '1 connection, 0 refused; octets from initiators 3'
    assert_output_has 'no decisions'
}

@test "each action that breaks a transfer is seen by the peer" {
    local rule what sent

    receive
    # The rule, and what ddp-send or the capture of the relay shows.
    while IFS='|' read -r rule what; do
        relay_to "$to" --pcap out.pcap --rule "$rule"
        transfer
        [ "$status" -ne 0 ] || fail_with "$rule: the transfer is complete"
        sent=$stderr
        serve_end
        assert_output_has 'decisions: '
        run_here ddp-dump -r out.pcap
        grep -qE -- "$what" <<<"$sent $output" || fail_with "$rule: no \"$what\"" "$sent" "$output"
    done <<'END'
fpdu opcode=write nth=2: flip-bit payload|Write.* crc bad
fpdu from=initiator nth=2: flip-bit trailer|Terminate LLP error: MPA CRC error
fpdu opcode=write nth=2: flip-bit payload fix-crc|digests differ
fpdu opcode=write nth=2: swap-words|MPA CRC error
fpdu opcode=write nth=2: set ddp.stag=0x1234 fix-crc|invalid STag.* STag 0x00001234
fpdu opcode=send from=initiator nth=4: set msn=77 fix-crc|Send L MSN 77 MO 0.* crc good
mpa-request: set rev=9|Rev 9
mpa-reply: set reject=1|the peer rejected the connection
fpdu opcode=write nth=3: drop|outside|base or bounds|0 of them were written
fpdu opcode=write nth=2: duplicate|base or bounds
fpdu opcode=write nth=1: reorder 2|TO 0x1f9e4.*
fpdu from=initiator nth=3: truncate 20|CRC
fpdu opcode=write nth=2: truncate 1000 fix-length|length 980, crc good
fpdu from=initiator nth=3: inject 00110022|CRC
fpdu from=initiator nth=3: reset after 30|connection reset
fpdu from=initiator nth=3: close|closed the connection
fpdu from=responder nth=3: half-close|closed the connection
fpdu from=responder nth=3: stall forever|nothing advances
fpdu from=initiator nth=4: discard|nothing advances
END
}

@test "actions that change only the timing do no harm" {
    local rule

    receive
    while read -r rule; do
        relay_to "$to" --rule "$rule"
        rm -f dst/src
        transfer
        assert_status 0
        cmp src dst/src
        serve_end
        assert_output_has 'decisions: '
    done <<'END'
fpdu: split 7 200us
mpa-request: split 3
fpdu count=2..4: delay 5ms..20ms
fpdu nth=3: stall 100ms
fpdu opcode=write nth=1: coalesce 3
fpdu opcode=write: coalesce 5ms
END
}

@test "markers are right again after an edit that moves them" {
    local rule

    receive --markers
    for rule in 'fpdu opcode=write nth=2: truncate 1000 fix-length' 'fpdu opcode=write nth=2: drop' \
        'fpdu opcode=write nth=1: reorder 2' 'fpdu opcode=write nth=2: duplicate' 'fpdu every=2: split 5'; do
        relay_to "$to" --pcap out.pcapng --rule "$rule"
        transfer --markers
        serve_end
        run_here ddp-dump --json -r out.pcapng
        assert_jsonl '[.[] | select(.event == "ddp")] | length > 8 and all(.crc == "good") and any(.markers > 100)' true
    done
    rm -f dst/src
    relay_to "$to" --pcap out.pcapng --rule 'fpdu opcode=write nth=3: flip-bit payload'
    transfer --markers
    serve_end
    run_here ddp-dump --json -r out.pcapng
    assert_jsonl '[.[] | select(.event == "ddp" and .crc == "bad")] | length' 1
}

@test "a replay makes the same decisions, and the same octets leave: 100 of 100" {
    require_tool python3
    run_here python3 "$IW_TOP/tests/bats/impair_stream.py" "$IW_BUILD/ddp-impair" 100
    assert_output_is '100 of 100 identical'
    assert_status 0
    # A replay that does not meet the units of its record.
    relay_to 1 --replay record
    serve_end
    assert_status 1
    assert_output_has 'of the record had no unit'
    echo '{"schema":1,"event":"decision","connection":1,"from":"initiator","unit":"fpdu","number":"x"}' >record
    refused 'record:1: "number": expected a number' --replay record
}

@test "decisions are reported as JSON, and by name with --verbose" {
    receive
    relay_to "$to" --json -v --seed 5 --record rec --rule 'fpdu opcode=write nth=2: flip-bit payload' --rule 'fpdu opcode=write: delay 1ms..3ms'
    transfer
    serve_end
    assert_jsonl '[.[] | select(.event == "decision" and .rule == 1) | [.connection, .from, .unit, .opcode, .number, .unit_octets, .action]] | .[0]' \
        '[1,"initiator","fpdu","write",6,64776,"flip-bit payload"]'
    assert_jsonl '[.[] | select(.event == "decision" and .rule == 2) | .wait_ns | . >= 1e6 and . <= 3e6] | all' true
    assert_jsonl "[.[] | select(.event == \"decision\") | .time_ns | tonumber / 1e9 - $EPOCHSECONDS | . > -60 and . < 1] | all" true
    assert_jsonl '.[-1] | [.event, .connections, .initiator_units > 5, .decisions[1].kind, .decisions[1].count]' '["result",1,true,"flip-bit",1]'
    assert_stderr_has 'connection 1, from the initiator, unit 6 (fpdu write): rule 1: flip-bit payload'
    assert_equal "$(grep -c '"decision"' rec)" "$(grep -c '"decision"' <<<"$output")"
}

@test "a bad rule is refused with its column and what was expected" {
    refused 'column 6: "opcod": expected a key' --rule 'fpdu opcod=write: drop'
    refused 'did you mean opcode?' --rule 'fpdu opcod=write: drop'
    refused 'column 1: "fpd": expected fpdu, mpa-request' --rule 'fpd: drop'
    refused 'column 13: "drip": expected an action' --rule 'fpdu nth=5: drip'
    refused 'column 11: nothing: expected a colon and an action' --rule 'fpdu nth=5'
    refused 'column 12: "nth": expected each key once' --rule 'fpdu nth=5 nth=6: drop'
    refused '"99999999999999999999": expected a number from 1 to 18446744073709551615' --rule 'fpdu nth=99999999999999999999: drop'
    refused 'column 13: "1": expected the unit chunk: only DATA chunks have a stream' --rule 'fpdu stream=1: drop'
    refused '--link "foo=1": foo: unknown name; expected one of loss, duplicate' --link foo=1
    refused '--link "loss= 1%": loss= 1%: expected a percentage from 0% to 100%, as 0.5%' --link 'loss= 1%'
    refused 'expected a percentage' --link loss=1e1%
    refused '--link "delay=10": delay=10: expected a time with its unit, as 10ms' --link delay=10
    refused 'jitter=0.5: expected a time with its unit' --link delay=0,jitter=0.5
    refused '"0x1ffffffff": expected a value that fits in the field' --rule 'fpdu: set mo=0x1ffffffff'
    refused 'SCTP packets are not in a TCP stream' --rule 'packet: drop'
    refused 'cannot be done over UDP: a datagram is not divided' -t udp --rule 'packet: split 5'
    printf '# comment\n\nfpdu nth=1: drop\n  fpdu nth=x: drop\n' >rules
    refused 'rules:4: rule "fpdu nth=x: drop", column 10: "x": expected a number' --rules rules
    refused 'none: no such file' --rules none
    refused '.: is a directory' --rules .
    refused 'none: no such file' --replay none
    refused 'none: no such file' --rule 'fpdu: inject @none'
    run_here ddp-impair --listen 0 --to 127.0.0.1:1 --pcap none/p
    assert_status 4
    assert_stderr_has '--pcap none/p: the directory none does not exist'
    refused '--link loss: TCP would repair it' --link loss=1%
    refused '--replay and --rule exclude each other' --replay r --rule 'fpdu: drop'
    run_here ddp-impair --listen 0
    assert_status 2
    assert_stderr_has '--listen needs --to HOST:PORT'
    run_here ddp-impair --listen 0 --to ::1:5
    assert_stderr_has 'expected brackets around an IPv6 address'
}

@test "--check reads rules, links and a replay, and writes no file" {
    printf 'fpdu nth=1: drop\n# comment\nmpa-reply: delay 1ms\n' >rules
    run_here ddp-impair --check --rules rules --rule 'fpdu: drop' --link delay=1ms --record r --pcap p
    assert_status 0
    assert_output_is 'valid: rules: 3, recorded decisions: 0'
    [ ! -e r ] && [ ! -e p ]
    run_here ddp-impair --check --json --between a,b --rule 'chunk: drop' --link loss=1%
    assert_status 0
    assert_jsonl '.' '[{"schema":1,"event":"checked","rules":1,"recorded_decisions":0}]'
    run_here ddp-impair --check --rule 'chunk: drop'
    assert_status 2
    run_here ddp-impair --check -t udp --rule 'chunk: drop' --rule 'chunk: drip'
    assert_status 2
    assert_stderr_has '"drip": expected an action'
    run_here ddp-impair --check --link-ba loss=1%
    assert_status 2
    assert_stderr_has '--link-ba loss: TCP would repair it'
    echo '{"schema":1,"event":"decision","connection":1,"from":"initiator","unit":"fpdu","number":1,"rule":1,"action":"drop","choice":0}' >record
    run_here ddp-impair --check --replay record
    assert_output_is 'valid: rules: 0, recorded decisions: 1'
    echo '{"event":"decision"}' >>record
    run_here ddp-impair --check --replay record
    assert_status 2
    assert_stderr_has 'record:2: "connection": expected a number'
}

@test "a link delays and paces a stream" {
    receive
    relay_to "$to" --link delay=20ms,rate=20M
    run_here ddp-send --json -p "$relay" src 127.0.0.1:
    assert_status 0
    cmp src dst/src
    # 300000 octets at 20 Mb/s take 120 ms.
    assert_jsonl '.[-1].duration_ns > 120000000' true
}

@test "refused connections, IPv6 and the end by a signal" {
    local pid

    relay_to "$(free_port)"
    transfer
    [ "$status" -ne 0 ]
    serve_end
    assert_status 0
    # ddp-send tries MPA Rev 1 too if it learns of the reset after its Request.
    [[ $output =~ ^'0 connections, '[12]' refused' ]]
    assert_stderr_has 'connection refused'
    [ -e /proc/net/if_inet6 ] || return 0
    to=$(free_port)
    serve_here ddp-recv -p "$to" --bind ::1 --control none dst
    IW_READY='^ddp-impair: listening' serve_here ddp-impair --listen '[::1]:0' --to "[::1]:$to" --rule 'fpdu nth=1: delay 1ms'
    pid=$SERVE_PID
    relay=$(sed -n 's/.*listening on ::1 port \([0-9]*\),.*/\1/p' "$BATS_TEST_TMPDIR/serve.$SERVED.err")
    # It is confined.
    grep -q '^NoNewPrivs:.1' "/proc/$pid/status"
    run_here ddp-send -p "$relay" src '[::1]:'
    assert_status 0
    serve_end "$SERVED" INT
    assert_status 0
}

@test "an endpoint that does not answer is given up after --timeout" {
    local port

    require_tool python3
    # A listener whose queue is full does not answer further connections.
    IW_READY='^[0-9]' serve_here python3 -u -c '
import socket, time
s = socket.create_server(("127.0.0.1", 0), backlog=0)
full = [socket.socket() for _ in range(4)]
for c in full:
    c.setblocking(False)
    c.connect_ex(s.getsockname())
print(s.getsockname()[1])
time.sleep(30)'
    port=$(cat "$BATS_TEST_TMPDIR/serve.$SERVED.out")
    relay_to "$port" --timeout 300ms
    transfer
    [ "$status" -ne 0 ]
    serve_end
    assert_stderr_has '127.0.0.1: no answer within --timeout'
    assert_output_has '0 connections, '
}

@test "many connections at once, without and with rules" {
    receive
    for rule in '' 'fpdu prob=20%: delay 1ms'; do
        relay_to "$to" ${rule:+--rule "$rule"}
        mkdir -p many
        for i in {1..40}; do head -c 20000 src >"many/$i"; done
        run_here ddp-send -p "$relay" -j 16 many/ 127.0.0.1:many
        assert_status 0
        diff -r many dst/many
        rm -r dst/many
        serve_end
        assert_output_has '16 connections'
    done
}

# ends CASE TEXT ARG...: impair_ends.py, which prints the text
ends() {
    local case=$1 text=$2
    shift 2

    run_here python3 "$IW_TOP/tests/bats/impair_ends.py" "$case" "$IW_BUILD/ddp-impair" "$@"
    assert_output_is "$text"
    assert_status 0
}

@test "octets before a reset arrive, and then the reset, without and with rules" {
    local rule

    require_tool python3
    for rule in '' 'fpdu nth=99: drop'; do
        ends last-words 'last words, reset' ${rule:+--rule "$rule"}
        ends slow-reader '100000 octets, reset' ${rule:+--rule "$rule"}
        ends half-closed 'FIN, reset' ${rule:+--rule "$rule"}
    done
}

@test "reordered units that do not fit into the queue at once leave one after the other" {
    require_tool python3
    ends held 'all, FIN' --rule 'fpdu: duplicate 15' --rule 'fpdu: reorder 1000'
}

@test "more connections pass than the soft limit of descriptors allows" {
    require_tool python3
    [ "$(ulimit -Hn)" = unlimited ] || [ "$(ulimit -Hn)" -ge 2048 ] || skip "needs root: $(ulimit -Hn) descriptors, this test uses 2048"
    ulimit -Sn 256
    ends crowd '300 connections'
}

@test "a capture that cannot be written is reported, also if a replay did not meet its units" {
    echo '{"schema":1,"event":"decision","connection":1,"from":"initiator","unit":"fpdu","number":1,"rule":1,"action":"drop","choice":0}' >record
    relay_to 1 --pcap /dev/full --replay record
    serve_end
    assert_status 4
    assert_stderr_has 'no space left'
}

@test "tshark reads the capture of a relay" {
    require_tool tshark
    receive
    relay_to "$to" --pcap out.pcap --rule 'fpdu nth=3: split 9'
    transfer
    serve_end
    run_here tshark -r out.pcap -q -z io,phs
    assert_output_has 'iwarp_ddp_rdmap'
    run_here tshark -r out.pcap -o tcp.check_checksum:TRUE -Y 'tcp.checksum.status == 0 || tcp.analysis.flags'
    assert_output_is ''
}
