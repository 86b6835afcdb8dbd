#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Transfers over a link that loses, delays, reorders, duplicates and corrupts frames, with kernel
# TCP and with our SCTP; every octet is compared.

# bats file_tags=waits,all

# Each test is a separate shell, and fail_with prints the variables that look unused.
# The filters of jq have variables of their own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2034

load helpers
load net

setup_file() {
    net_setup --relay
}

teardown_file() {
    net_teardown
}

setup() {
    skip_with_file
    net_files 3M
}

# Sends a file to the right, over tcp and over udp, through the disturbed link.
carries() {
    local t

    for t in tcp udp; do
        relay_start "$@"
        file_sent $t
        file_arrived
        relay_end
        RELAYED[${#RELAYED[@]}]=$output
    done
}

# did PROGRAM: the jq program is true for each run of the relay; .ab and .ba are the directions
did() {
    local i

    for i in "${!RELAYED[@]}"; do
        output=${RELAYED[i]}
        assert_jsonl "{ ab: .[0], ba: .[1] } | $1" true
    done
}

@test "a link without settings passes everything" {
    carries
    did '[.ab, .ba] | all(.frames > 0 and .frames == .passed and .octets == .passed_octets)'
}

@test "one frame in fifty is lost in each direction" {
    carries --seed 2 --link loss=2%
    did '.ab.lost > 10 and .ba.lost > 0 and .ab.passed + .ab.lost == .ab.frames'
}

@test "frames overtake each other" {
    carries --seed 3 --link late=5%,late-by=3ms,delay=1ms
    did '.ab.late > 10'
}

@test "frames are duplicated" {
    carries --seed 4 --link duplicate=10%
    did '.ab.duplicated > 10 and .ab.passed == .ab.frames + .ab.duplicated'
}

@test "single bits are inverted" {
    carries --seed 5 --link corrupt=2%
    did '.ab.corrupted > 10'
}

@test "all faults at once, with delay and jitter, after a slow router" {
    carries --seed 6 --link loss=1%,late=1%,late-by=4ms,duplicate=1%,corrupt=1%,delay=2ms,jitter=1ms,rate=100M,queue=64K
    did '.ab.lost > 0 and .ab.late > 0 and .ab.duplicated > 0 and .ab.corrupted > 0'
}

# Without redials: no connection is ever considered dead, although the transfer takes several times
# --timeout, and the sender's buffers hold the whole file. The queue alone delays an acknowledgement
# by 2 s.
@test "a link of 25 kB/s is not considered dead, over tcp and over udp" {
    local how t j

    random_file src/slow 250000
    for how in 'tcp 4' 'udp 1'; do
        read -r t j <<<"$how"
        relay_start --link rate=200k,queue=48K,delay=5ms
        serve_in right ddp-recv -t "$t" -p "$PORT" --bind '*' --timeout 3500ms --once dst
        run_in left ddp-send -t "$t" -p "$PORT" -j "$j" --redial 0 --timeout 3500ms src/slow "$RIGHT_IP:"
        assert_status 0
        wait_served
        assert_status 0
        assert_same_file src/slow dst/slow
        rm dst/slow
        relay_end
    done
}

# RFC 9260 6.8: CRC32c detects errors that the checksums of IP and UDP miss.
@test "swapped words pass the Internet checksum, and no wrong octet arrives over udp" {
    relay_start --seed 7 --link swap=2%
    file_sent udp
    file_arrived
    relay_end
    RELAYED=("$output")
    did '.ab.swapped > 10'
}

@test "sctp-ddp-ping under loss: every reply arrives, and retransmissions are reported" {
    local t

    require_raw
    for t in udp raw; do
        relay_start --seed 9 --link loss=5%,min=70,delay=1ms
        serve_in right sctp-ddp-ping --listen -t $t -p "$PORT" --bind '*'
        run_in left sctp-ddp-ping "$RIGHT_IP" -t $t -p "$PORT" -n 4 -c 50 -i 5ms -s 2K --json
        assert_status 0
        assert_jsonl '.[-1] | [.replies, .lost]' '[200,0]'
        assert_jsonl '.[-1].retransmits > 0' true
        serve_end
        relay_end
    done
}

@test "1 % loss and 20 ms: a second of RDMA Write goes through, every octet verified" {
    relay_start --seed 3 --link loss=1%,delay=10ms
    serve_in right ddp-bench --listen -t udp -p "$PORT" --bind '*'
    run_in left ddp-bench "$RIGHT_IP" write -t udp -p "$PORT" --cc cubic -s 64K --time 1s --warmup 0 --json --interval 0
    assert_status 0
    assert_jsonl '.[0] | [.verified, .octets > 0]' '[true,true]'
    serve_end
    relay_end
    assert_jsonl '[.[].lost > 0] | any' true
}

@test "--cc auto, the default, is bbr on a path of 20 ms" {
    relay_start --link delay=10ms
    serve_in right ddp-bench --listen -t udp -p "$PORT" --bind '*'
    run_in left ddp-bench "$RIGHT_IP" write -t udp -p "$PORT" -s 64K --time 1s --warmup 0 --json --interval 0
    assert_status 0
    assert_jsonl '.[0] | [.verified, .client.cc]' '[true,"bbr"]'
    serve_end
    relay_end
}

# A frame of another length holds no message, or several. The delay is long because a process that
# is stalled for about that time also delays its messages.
@test "a lost message delays its own DDP stream and not the other seven; on a TCP connection it delays all" {
    local t streams=$IW_BUILD/tests/parallel_streams/parallel_streams
    declare -A late

    for t in udp tcp; do
        relay_start --link-ab drop=120,min=150,max=250,delay=200ms --link-ba delay=200ms
        IW_READY='"listening"' serve_in right "$streams" serve $t "$RIGHT_IP" "$PORT"
        run_in left "$streams" send $t "$RIGHT_IP" "$PORT" 30 100
        assert_status 0
        cp "$OUTPUT_FILE" sent
        wait_served
        assert_status 0
        jq -c -s -f "$IW_TOP/tests/parallel_streams/late.jq" sent "$OUTPUT_FILE" >late
        relay_end
        assert_jsonl '.[0].lost' 1
        output=$(cat late)
        assert_jsonl '.[0] | [.posted, .delivered]' '[240,240]'
        late[$t]=$(jq .late late)
    done
    assert_equal "${late[udp]} ${late[tcp]}" '1 8'
}

@test "a seed gives the same faults in every run, also over IPv6" {
    local i

    require_ipv6
    for i in 1 2; do
        relay_start --seed 8 --link-ab loss=5%,min=1000
        serve_in right ddp-recv -t udp -p "$PORT" --bind '*' --once dst
        run_in left ddp-send -t udp -p "$PORT" src/f "[$RIGHT_IP6]:"
        assert_status 0
        wait_served
        rm dst/f
        relay_end
        RELAYED[i]=$output
    done
    # The affected frames vary with the timing. tests/unit/ddp-impair-link_link_test.c tests that the first
    # 100 frames are treated alike.
    did '.ab.lost > 10 and .ba.lost == 0'
}

# offloads_on: until the end of the test
offloads_on() {
    net_offloads on
    OFFLOADS=on
}

teardown() {
    [ -z "${OFFLOADS:-}" ] || net_offloads off
    helpers_teardown
}

@test "what ends with offloads send passes as it is" {
    offloads_on
    carries
    did '[.ab, .ba] | all(.frames > 0 and .frames == .passed and .offloaded == 0)'
}

@test "a link divides what ends with offloads send into frames" {
    offloads_on
    carries --seed 2 --link loss=2%
    did '.ab.frames > 2000 and .ab.lost > 10 and .ba.lost > 0 and .ab.offloaded == 0'
}

@test "captured frames of ends with offloads have right lengths and checksums" {
    require_tool tshark
    offloads_on
    carries --pcap frames.pcap
    run_here tshark -n -r frames.pcap -o ip.check_checksum:TRUE -o tcp.check_checksum:TRUE -o udp.check_checksum:TRUE \
        -T fields -e frame.len -e ip.checksum.status -e tcp.checksum.status -e udp.checksum.status
    assert_status 0
    printf '%s\n' "$output" >fields
    [ "$(wc -l <fields)" -gt 1000 ] || fail_with "only $(wc -l <fields) frames"
    awk -F'\t' '$1 > 1514 || $2 == 0 || $3 == 0 || $4 == 0 { print; bad = 1 } END { exit bad }' fields
}

# Sends one frame with a tag of VLAN 5, of an EtherType for experiments.
TAGGED='import socket
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("left0", 0))
s.send(b"\xff" * 6 + b"\x02\0\0\0\0\1" + bytes.fromhex("8100000588b5") + b"tagged" * 10)'

tag_arrived() { grep -q tagged tags.pcap; }

@test "VLAN tags pass, with and without rules" {
    local rule

    require_tool tshark
    for rule in '' 'fpdu opcode=write: drop'; do
        relay_start ${rule:+--rule "$rule"}
        capture_in right tags.pcap
        run_in left python3 -c "$TAGGED"
        assert_status 0
        wait_until 5 tag_arrived
        capture_end
        relay_end
        run_here tshark -n -r tags.pcap -Y 'eth.type == 0x88b5 || vlan' -T fields -e vlan.id -e data.data
        assert_equal "$output" "5"$'\t'"$(printf 'tagged%.0s' {1..10} | od -An -v -tx1 | tr -d ' \n')"
    done
}

@test "settings that make no sense are refused" {
    local what

    for what in loss loss=2 loss=101% delay=1x rate=0 speed=1 min=-1; do
        run_here ddp-impair --between left,right --link $what
        assert_status 2
    done
    run_here ddp-impair --between left
    assert_status 2
}

# traced T: a file to the right over a lossy link, traced at the left
traced() {
    relay_start --seed 6 --link loss=2%
    file_sent "$1" --trace trace
    file_arrived
    relay_end
    assert_equal "$(jq -s -c '.[-1] | [.event, .events, .dropped]' trace)" "[\"trace_end\",$(($(wc -l <trace) - 1)),0]"
}

# holds FILTER: jq's FILTER is true of the array of all lines of the trace
holds() {
    jq -s -e "$1" trace >holds || {
        echo "not true of the trace: $1"
        jq -r .event trace | sort | uniq -c
        return 1
    }
}

@test "a trace of SCTP shows losses, retransmissions, windows and round trips" {
    traced udp
    holds 'map(select(.event == "lost")) | length > 10 and all(.reason == "gap" or .reason == "rack" or .reason == "t3")'
    holds 'map(select(.event == "rtt" and .path == 0)) | length > 10 and all(.rtt_ns > 0 and .srtt_ns > 0 and .rto_ns >= .srtt_ns)'
    holds 'map(select(.event == "window")) | length > 10 and all(.cwnd_octets > 0) and (map(.ssthresh_octets) | min) < 4294967295'
    # Each TSN that is lost was sent before, and is sent again. The timer T3 also marks those whose SACK was
    # lost; the next SACK acknowledges them.
    holds '(map(select(.event == "chunk_sent").tsn)) as $sent | (map(select(.event == "chunk_retransmitted").tsn)) as $again |
        (map(select(.event == "lost")) | [(map(.tsn) | unique), (map(select(.reason != "t3").tsn) | unique)]) as [$all, $seen] |
        ($all - $sent == []) and ($seen - $again == [])'
    holds '(map(select(.event == "window").retransmits) | max) <= (map(select(.event == "chunk_retransmitted")) | length)'
    holds 'map(select(.event == "path")) | .[0].state == "active" and .[0].primary'
    # The octets of the file are in the segments, and the segments in the chunks.
    holds '(map(select(.event == "segment_sent").octets) | add) >= 3 * 1024 * 1024'
    holds '(map(select(.event == "segment_sent")) | length) as $n | (map(select(.event == "chunk_sent")) | length) >= $n'
    holds 'map(select(.event == "acked")) | length > 10 and any(.gaps > 0)'
}

@test "a trace of TCP shows FPDUs, windows and round trips" {
    traced tcp
    holds '(map(select(.event == "fpdu_sent").ulpdu_octets) | add) >= 3 * 1024 * 1024'
    holds 'map(select(.event == "fpdu_sent" and .stream == 1)) | .[1:] as $next | [.[:-1], $next] | transpose |
        all(.[0].offset_octets + .[0].octets == .[1].offset_octets)'
    holds 'map(select(.event == "window")) | length > 2 and all(.cwnd_octets > 0) and (map(.retransmits) | max) > 0'
    holds 'map(select(.event == "rtt")) | length > 2 and (map(.srtt_ns) | max) > 0'
    holds 'map(.event) | index("chunk_sent") == null'
}
