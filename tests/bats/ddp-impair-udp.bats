#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# ddp-impair -t udp: a relay of datagrams, and rules over SCTP packets and chunks in them.

# bats file_tags=beside

# Each test is a separate shell, and fail_with prints the variables that look unused.
# shellcheck disable=SC2030,SC2031,SC2034

load helpers

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir src dst
    PORT=$(free_port)
    FAR=$(free_port)
    NEAR=$(free_port)
    random_file src/f 3M
}

# relay OPTION...
relay() {
    IW_READY='relaying datagrams' serve_here ddp-impair -t udp --listen "$NEAR" --to "127.0.0.1:$FAR" --json "$@"
    RELAY=$SERVED
}

relay_end() {
    serve_end "$RELAY"
    assert_status 0
}

# sends OPTION...: a file through the relay, with these options of the sender
sends() {
    serve_here ddp-recv -t udp -p "$PORT" --udp-port "$FAR" dst
    run_here ddp-send -t udp -p "$PORT" --udp-port "$NEAR" "$@" src/f 127.0.0.1:
}

arrived() {
    assert_status 0
    serve_end
    assert_same_file src/f dst/f
    rm dst/f
}

@test "without rules datagrams of many clients pass, and replies return to each" {
    local i

    relay
    serve_here ddp-recv -t udp -p "$PORT" --udp-port "$FAR" dst
    for i in 1 2 3; do
        run_here ddp-send -t udp -p "$PORT" --udp-port "$NEAR" src/f "127.0.0.1:"
        assert_status 0
        assert_same_file src/f dst/f
        rm dst/f
    done
    serve_end
    relay_end
    assert_jsonl '.[-1] | [.event, .connections, .refused]' '["result",3,0]'
}

@test "a link loses, delays and duplicates datagrams" {
    relay --link loss=5%,duplicate=10%,delay=1ms,jitter=1ms,late=10%,late-by=3ms --seed 4
    sends
    arrived
    relay_end
    assert_jsonl 'map(select(.event == "direction")) | [.[0].lost, .[0].duplicated, .[0].late] | all(. > 0)' true
}

@test "packets are dropped, delayed, overtaken and duplicated by rules" {
    relay --rule 'packet opcode=data every=17: drop' --rule 'packet every=19: delay 3ms' --rule 'packet every=9: reorder 2' \
        --rule 'packet every=7: duplicate'
    sends
    arrived
    relay_end
    assert_jsonl '.[-1].decisions | map(.kind) | sort' '["delay","drop","duplicate","reorder"]'
}

@test "a chunk is cut out of its packet, and its data is sent again" {
    relay --rule 'chunk opcode=write every=5: drop' --rule 'chunk opcode=sack prob=20%: drop' --pcap out.pcap
    sends
    arrived
    relay_end
    run_here ddp-dump -r out.pcap --udp-port "$FAR" --json
    assert_status 0
    # All checksums are right, although packets became shorter.
    assert_jsonl 'map(select(.event == "error")) | length' 0
}

@test "corrupted chunks are detected; with a right checksum the layer above reports them" {
    relay --rule 'chunk opcode=write prob=5%: flip-bit any'
    sends
    arrived
    relay_end
    relay --rule 'chunk opcode=write nth=3: set stag=0x1 fix-crc'
    sends --redial 0
    assert_status 1
    assert_stderr_has 'invalid STag'
    serve_end
    relay_end
    assert_jsonl '.[-1].decisions' '[{"kind":"set","count":1}]'
}

@test "the message that accepts a session is lost: it is sent again" {
    relay --rule 'chunk opcode=session-accept nth=1: drop'
    sends
    arrived
    relay_end
    assert_jsonl '.[-1].decisions' '[{"kind":"drop","count":1}]'
}

@test "a stream is that of DATA chunks: INIT and SACK are in none" {
    relay --rule 'chunk stream=0 nth=1: drop'
    sends
    arrived
    relay_end
    assert_jsonl 'map(select(.event == "decision") | .opcode | split(",")[0]) | unique' '["data"]'
}

@test "a stall shorter than the time limit delays, a discarding direction ends the transfer" {
    relay --rule 'packet nth=20: stall 300ms'
    sends
    arrived
    relay_end
    relay --rule 'packet from=responder nth=8: discard'
    sends --redial 0 --timeout 1s
    assert_status 4
    serve_end
    relay_end
}

@test "injected and truncated datagrams are ignored by SCTP" {
    relay --rule 'packet nth=5: inject deadbeef0102' --rule 'packet nth=9: inject deadbeef0102 after' --rule 'packet opcode=data every=11: truncate 20' \
        --rule 'packet nth=5: inject cafe0506' --rule 'packet nth=5: set verification-tag=0xfeedf00d' --pcap out.pcap
    sends
    arrived
    relay_end
    assert_jsonl '.[-1].decisions | map(.kind) | sort' '["inject","set","truncate"]'
    # Two in each direction; one more before the same packet, which leaves with its change.
    assert_equal "$(LC_ALL=C grep -aobP '\xde\xad\xbe\xef\x01\x02' out.pcap | wc -l)" 4
    assert_equal "$(LC_ALL=C grep -aobP '\xca\xfe\x05\x06' out.pcap | wc -l)" 2
    assert_equal "$(LC_ALL=C grep -aobP '\xfe\xed\xf0\x0d' out.pcap | wc -l)" 2
}

@test "the port of a client changes, and its association continues" {
    relay --rule 'packet from=initiator nth=15: rebind' --rule 'packet from=initiator nth=30: rebind'
    sends --redial 0
    arrived
    relay_end
    assert_jsonl '.[-1].decisions' '[{"kind":"rebind","count":2}]'
}

@test "an address in use, and rules that no datagram can have, are refused" {
    relay
    run_here ddp-impair -t udp --listen "$NEAR" --to "127.0.0.1:$FAR"
    assert_status 4
    assert_stderr_has "--listen: bind to UDP 127.0.0.1:$NEAR"
    relay_end
    run_here ddp-impair --listen 0 --to "127.0.0.1:$FAR" --rule 'fpdu: rebind'
    assert_status 2
    assert_stderr_has 'the port of a connection does not change'
    run_here ddp-impair -t udp --listen 0 --to "127.0.0.1:$FAR" --rule 'packet: split 5'
    assert_status 2
    assert_stderr_has 'a datagram is not divided'
}

@test "an ICMP message about one client does not end the relay" {
    require_raw
    require_ipv6
    IW_READY='relaying datagrams' serve_here ddp-impair -t udp --listen "[::1]:$NEAR" --to "[::1]:$FAR" --json
    RELAY=$SERVED
    # A firewall prohibits the datagrams of the relay (RFC 4443 3.1), which socket errors report as EACCES.
    run_here python3 -c "
import socket, struct
server = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
server.bind(('::1', $FAR))
client = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
client.connect(('::1', $NEAR))
for s in server, client:
    s.settimeout(10)
client.send(b'one')
_, relay = server.recvfrom(100)
one = socket.inet_pton(socket.AF_INET6, '::1')
refused = struct.pack('>IHBB', 6 << 28, 11, 17, 64) + one + one + struct.pack('>HHHH', relay[1], $FAR, 11, 0) + b'one'
raw = socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58)
raw.sendto(struct.pack('>BBHI', 1, 1, 0, 0) + refused, ('::1', 0))
client.send(b'two')
print(server.recv(100).decode())"
    assert_output_is two
    relay_end
}
