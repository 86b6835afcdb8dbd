#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# DDP/SCTP through AF_XDP between two hosts: with which other transports it interoperates, what it
# leaves when it ends, and what happens when the interface changes.

# bats file_tags=beside

load helpers
load net

setup_file() {
    net_setup
}

teardown_file() {
    net_teardown
}

setup() {
    skip_with_file
    net_files 5M
    require_xdp
}

# listen TRANSPORT [OPTION...]: starts a listener on every address
listen() {
    local t=$1
    shift

    [ "$t" != xdp ] || set -- -I "$LEFT_IF" "$@"
    IW_READY='listening on' serve_in left ddp-recv -t "$t" -p "$PORT" --bind '*' "$@" dst
}

# push HOST TRANSPORT [OPTION...]: sends src/f to HOST
push() {
    local host=$1 t=$2
    shift 2

    [ "$t" != xdp ] || set -- -I "$RIGHT_IF" "$@"
    rm -f dst/f
    run_in right ddp-send -t "$t" -p "$PORT" "$@" src/f "$host:"
    assert_status 0
    assert_same_file src/f dst/f
}

# Prints the number of IP packets that the kernel of that side has sent.
kernel_sent() {
    # shellcheck disable=SC2046,SC2016
    $(net_into "$1") awk '/^Ip: [0-9]/ { print $11 }' /proc/net/snmp
}

@test "a file over IPv4 and over IPv6, past the kernel" {
    local before

    listen xdp
    push "$LEFT_IP" xdp
    push "[$LEFT_IP6]" xdp
    # The route is known now: the kernel sends almost no packets.
    before=$(kernel_sent right)
    push "$LEFT_IP" xdp
    [ $(($(kernel_sent right) - before)) -le 20 ] || fail_with "the kernel sent $(($(kernel_sent right) - before)) packets"
    serve_end
    wait_until 5 no_program || fail_with 'a program stays attached'
}

@test "xdp and raw are the same on the wire, whichever connects" {
    listen raw
    push "$LEFT_IP" xdp
    push "[$LEFT_IP6]" xdp
    serve_end
    listen xdp
    push "$LEFT_IP" raw
    push "[$LEFT_IP6]" raw
}

@test "in UDP (--udp-port), with xdp at both ends and with udp at either" {
    listen xdp --udp-port 9955
    run_in left ddp-xdp status -I "$LEFT_IF" --json
    assert_jsonl '.[0] | .endpoints[0].udp_port' 9955
    push "$LEFT_IP" xdp --udp-port 9955
    push "[$LEFT_IP6]" xdp --udp-port 9955
    push "$LEFT_IP" udp --udp-port 9955
    push "[$LEFT_IP6]" udp --udp-port 9955
    run_in left ddp-xdp status -I "$LEFT_IF" --json
    assert_jsonl '.[0] | [.tagged_octets >= 20971520, .seen.chunk_bad, .passed.no_socket]' '[true,0,0]'
    serve_end
    # The kernel's UDP verifies the checksums of packets that xdp sends.
    listen udp --udp-port 9956
    push "$LEFT_IP" xdp --udp-port 9956
    push "[$LEFT_IP6]" xdp --udp-port 9956
    serve_end
    # Without UDP encapsulation it is another endpoint, without a listener.
    listen xdp --udp-port 9957
    run_in right ddp-send -t xdp -I "$RIGHT_IF" -p "$PORT" --timeout 500ms src/f "$LEFT_IP:"
    [ "$status" -ne 0 ] || fail_with 'connected without UDP to an endpoint in UDP'
}

@test "an interface of two queues: several connections of one process share its frames" {
    local two=two$$ q came

    require_tool ethtool
    net_ip left link add "l$two" numtxqueues 2 numrxqueues 2 type veth peer name "r$two" numtxqueues 2 numrxqueues 2 netns "$NET_RIGHT_PID"
    net_ip left address add 10.78.0.1/24 dev "l$two"
    net_ip right address add 10.78.0.2/24 dev "r$two"
    net_ip left link set "l$two" up
    net_ip right link set "r$two" up
    IW_READY='listening on' serve_in left ddp-recv -t xdp -I "l$two" -p "$PORT" --bind 10.78.0.1 dst
    run_in left ddp-xdp status -I "l$two" --json
    assert_jsonl '.[0] | .sockets | map(.queue)' '[0,1]'
    run_in right ddp-send -v -t xdp -I "r$two" -p "$PORT" -j 4 src/f 10.78.0.1:
    assert_status 0
    assert_stderr_has 'XDP native, copied'
    assert_same_file src/f dst/f
    run_in left ddp-xdp status -I "l$two" --json
    assert_jsonl '.[0] | [.tagged_octets >= 5242880, .passed.no_socket]' '[true,0]'
    serve_end
    # A worker sends on one queue. The kernel spreads associations over both queues; of so many, at
    # least one uses each queue.
    IW_READY='listening on' serve_in left ddp-bench --listen -t xdp -I "l$two" -p "$PORT" --bind 10.78.0.1
    run_in right ddp-bench 10.78.0.1 write -t raw -p "$PORT" -j 16 --time 1s -w 0 --interval 0 --json
    assert_status 0
    assert_jsonl '.[0].verified' true
    run_in left ethtool -S "l$two"
    for q in 0 1; do
        came=$(sed -n "s/^ *rx_queue_${q}_xdp_packets: //p" <<<"$output")
        [ "${came:-0}" -gt 1000 ] || fail_with "$came packets came on queue $q" "$output"
    done
    serve_end
    net_ip left link del "l$two"
}

@test "figures of every mode, verified, without retransmissions for lack of a frame" {
    local mode

    IW_READY='listening on' serve_in left ddp-bench --listen -t xdp -I "$LEFT_IF" -p "$PORT" --bind "$LEFT_IP"
    for mode in write read send pingpong; do
        run_in right ddp-bench "$LEFT_IP" $mode -t xdp -I "$RIGHT_IF" -p "$PORT" --time 300ms --warmup 200ms --json --interval 0
        assert_status 0
        assert_jsonl '.[0] | [.mode, .transport, .verified]' "[\"$mode\",\"xdp\",true]"
    done
}

# The test moves 100 messages of whole segments, so that no segment is partly filled. All are sent from
# their memory, but for a segment that the kernel sends when its neighbour entry has become stale.
@test "segments are written and sent from memory in the UMEM by descriptors, without copies" {
    local mode head segment

    IW_READY='listening on' serve_in left ddp-bench --listen -t xdp -I "$LEFT_IF" -p "$PORT" --bind "$LEFT_IP"
    set -- -t xdp -I "$RIGHT_IF" -p "$PORT" --umem --warmup 0 --json --interval 0
    for mode in write send; do
        run_in right ddp-bench "$LEFT_IP" $mode "$@" -s 1000003 --count 20
        assert_status 0
        assert_jsonl '.[0] | [.mode, .transport, .verified, .in_place_octets >= 0.99 * .octets]' "[\"$mode\",\"xdp\",true,true]"
        # The headers of a tagged segment and of an untagged one (RFC 5041 4.3, 4.4).
        head=14
        [ $mode = write ] || head=18
        segment=$(($(jq -r 'select(.event == "result").mulpdu_octets' <<<"$output") - head))
        run_in right ddp-bench "$LEFT_IP" $mode "$@" -s $((100 * segment)) --count 100 -j 2 --streams 2
        assert_status 0
        assert_jsonl ".[0] | [.connections, .streams_used, .verified, .in_place_octets >= .octets - 2 * $segment]" '[2,2,true,true]'
    done
    run_in right ddp-bench "$LEFT_IP" write "$@" -s 1G --depth 1 -j 2
    assert_status 2
    assert_stderr_has 'use a smaller --size, --depth or --connections'
    # In UDP, whose checksum covers every octet, all segments are copied, and arrive intact.
    serve_end
    IW_READY='listening on' serve_in left ddp-bench --listen -t xdp -I "$LEFT_IF" -p "$PORT" --bind "$LEFT_IP" --udp-port 9958
    run_in right ddp-bench "$LEFT_IP" write "$@" --udp-port 9958 --count 10
    assert_status 0
    assert_jsonl '.[0] | [.verified, .in_place_octets]' '[true,0]'
    run_in right ddp-bench "$LEFT_IP" read -t xdp -I "$RIGHT_IF" -p "$PORT" --umem
    assert_status 2
    run_in right ddp-bench "$LEFT_IP" write -t udp -p "$PORT" --umem
    assert_status 2
}

# A Send of one segment is read in place. If more Sends are outstanding than buffers can be lent,
# the others are copied. Longer and shorter Sends are always copied.
@test "Sends are read in the UMEM, up to a limit, and returned" {
    IW_READY='listening on' serve_in left ddp-bench --listen -t xdp -I "$LEFT_IF" -p "$PORT" --bind "$LEFT_IP"
    set -- -t xdp -I "$RIGHT_IF" -p "$PORT" --loan --warmup 0 --json --interval 0
    run_in right ddp-bench "$LEFT_IP" send "$@" -s 1K --count 20000 --depth 64
    assert_status 0
    assert_jsonl '.[0] | [.mode, .verified, .loans, .copies]' '["send",true,20000,0]'
    run_in right ddp-bench "$LEFT_IP" send "$@" -s 1K --count 20000 --depth 2000
    assert_status 0
    assert_jsonl '.[0] | [.verified, .loans > 0, .copies > 0, .loans + .copies]' '[true,true,true,20000]'
    run_in right ddp-bench "$LEFT_IP" send "$@" -s 511,4K --count 1000
    assert_status 0
    assert_jsonl 'map(select(.event == "result") | [.verified, .loans, .copies])' '[[true,0,1000],[true,0,1000]]'
    run_in right ddp-bench "$LEFT_IP" pingpong "$@" -s 1K --count 1000
    assert_status 0
    assert_jsonl '.[0].verified' true
    # A client that is killed does not keep its loans: the next client gets all buffers.
    run_in right timeout -s KILL 1 ddp-bench "$LEFT_IP" send "$@" -s 1K --time 30s
    assert_status 137
    run_in right ddp-bench "$LEFT_IP" send "$@" -s 1K --count 20000 --depth 64
    assert_status 0
    assert_jsonl '.[0] | [.verified, .loans, .copies]' '[true,20000,0]'
    run_in right ddp-bench "$LEFT_IP" write -t xdp -I "$RIGHT_IF" -p "$PORT" --loan
    assert_status 2
    run_in right ddp-bench "$LEFT_IP" send -t udp -p "$PORT" --loan
    assert_status 2
    # Debug builds count the frames when the interface is closed.
    serve_end
}

@test "round trips of many DDP streams, with xdp at one end and at both" {
    IW_READY='listening on' serve_in left sctp-ddp-ping --listen -t xdp -I "$LEFT_IF" -p "$PORT" --bind '*'
    run_in right sctp-ddp-ping "$LEFT_IP" -t xdp -I "$RIGHT_IF" -p "$PORT" -n 20 -c 5 -i 10ms --json
    assert_status 0
    assert_jsonl '.[-1] | [.replies, .lost]' '[100,0]'
    run_in right sctp-ddp-ping -v "$LEFT_IP" -t xdp --xdp generic -I "$RIGHT_IF" -p "$PORT" -c 1
    assert_status 0
    assert_stderr_has 'XDP generic, copied'
    run_in right sctp-ddp-ping "$LEFT_IP6" -t raw -p "$PORT" -n 20 -c 5 -i 10ms --json
    assert_status 0
    assert_jsonl '.[-1] | [.replies, .lost]' '[100,0]'
}

@test "tshark reads what xdp sends, checksums good" {
    local bad

    require_tool tshark
    listen xdp
    capture_in right "$BATS_TEST_TMPDIR/all.pcap" -s 4096 sctp
    push "$LEFT_IP" raw
    push "[$LEFT_IP6]" raw
    wait_until 20 sh -c "tshark -r all.pcap -Y 'ipv6 && (sctp.chunk_type == 14 || sctp.chunk_type == 6)' 2>/dev/null | grep -q ."
    capture_end
    bad=$(tshark -o 'sctp.checksum:CRC 32c' -o ip.check_checksum:TRUE -r all.pcap \
        -Y '_ws.malformed || sctp.checksum.status == "Bad" || ip.checksum.status == "Bad"' 2>/dev/null | head -5)
    [ -z "$bad" ] || fail_with 'tshark reports errors' "$bad"
    # Both ends indicate DDP (RFC 5043 5.1).
    [ "$(tshark -r all.pcap -Y "ip.src == $LEFT_IP && sctp.adaptation_layer_indication" -T fields -e sctp.adaptation_layer_indication 2>/dev/null | sort -u)" = 0x00000001 ] ||
        fail_with 'wrong adaptation indication over xdp'
}

@test "kill -9 leaves no program, and the next one has every queue at once" {
    local try

    for try in 1 2 3; do
        listen xdp
        push "$LEFT_IP" xdp
        kill -KILL "$SERVE_PID"
        wait_served
        wait_until 5 no_program || fail_with "a program stays attached ($try)"
    done
}

@test "a second process cannot use the queue, and gets the reason" {
    listen xdp
    run_in left ddp-recv -t xdp -I "$LEFT_IF" -p "$(free_port)" --bind "$LEFT_IP" dst
    assert_status 4
    assert_stderr_has "$LEFT_IF"
    # The refused listener did not disturb the first one.
    push "$LEFT_IP" xdp
}

@test "the interface must be named, must exist, and must be Ethernet" {
    run_in left ddp-recv -t xdp -I lo --bind '*' dst
    assert_status 3
    assert_stderr_has 'is not Ethernet'
    run_in left ddp-recv -t xdp -I nosuch0 --bind '*' dst
    assert_status 4
    assert_stderr_has "interface nosuch0: no such interface; \`ip link\` lists them"
    run_in left ddp-recv -t xdp -I "$LEFT_IF" --bind 198.51.100.1 dst
    assert_status 4
    assert_stderr_has "198.51.100.1: not an address of this machine; \`ip address\` lists them"
    run_in left ddp-recv -t xdp --bind '*' dst
    assert_status 2
    assert_stderr_has '-I'
    run_in left ddp-recv -t xdp -I "$LEFT_IF" dst
    assert_status 2
    assert_stderr_has '--bind'
    no_program
}

@test "a loopback address and the own address are refused at once" {
    local address

    for address in 127.0.0.1 "$LEFT_IP"; do
        run_in left ddp-send -t xdp -I "$LEFT_IF" src/f "$address:"
        assert_status 2
        assert_stderr_has "$address cannot be reached through $LEFT_IF; use udp or raw"
    done
    no_program
}

@test "a neighbour that moves to another MAC address is found again" {
    local old

    old=$(net_ip left -o link show "$LEFT_IF" | sed 's/.*link.ether \([^ ]*\).*/\1/')
    listen xdp
    push "$LEFT_IP" xdp
    serve_end
    net_ip left link set "$LEFT_IF" address 02:00:00:00:77:01
    listen xdp
    push "$LEFT_IP" xdp
    serve_end
    net_ip left link set "$LEFT_IF" address "$old"
}

@test "a neighbour that moves during a run is followed at once" {
    local old new=02:00:00:00:77:02

    old=$(net_ip left -o link show "$LEFT_IF" | sed 's/.*link.ether \([^ ]*\).*/\1/')
    # Over raw, the kernel compares the destination address of frames.
    IW_READY='listening on' serve_in left ddp-bench --listen -t raw -p "$PORT" --bind "$LEFT_IP"
    IW_READY='messages' serve_in right ddp-bench "$LEFT_IP" write -t xdp -I "$RIGHT_IF" -p "$PORT" --time 3s -w 0 --interval 200ms --timeout 7s
    net_ip left link set "$LEFT_IF" address $new
    net_ip right neighbour replace "$LEFT_IP" lladdr $new dev "$RIGHT_IF" nud reachable
    wait_served
    net_ip left link set "$LEFT_IF" address "$old"
    net_ip right neighbour flush dev "$RIGHT_IF"
    assert_status 0
    assert_output_has verified
}

@test "frames of several buffers: an MTU of 9000" {
    net_ip left link set "$LEFT_IF" mtu 9000
    net_ip right link set "$RIGHT_IF" mtu 9000
    IW_READY='listening on' serve_in left ddp-bench --listen -t xdp -I "$LEFT_IF" -p "$PORT" --bind '*'
    for host in "$LEFT_IP" "$LEFT_IP6"; do
        run_in right ddp-bench "$host" write -t xdp -I "$RIGHT_IF" -p "$PORT" --time 300ms --warmup 200ms --json --interval 0
        assert_status 0
        assert_jsonl '.[0] | [.verified, .mulpdu_octets > 8800]' '[true,true]'
    done
    run_in right ddp-bench "$LEFT_IP" write -t raw -p "$PORT" --time 300ms --warmup 200ms --json --interval 0
    assert_status 0
    assert_jsonl '.[0] | [.verified, .mulpdu_octets > 8800]' '[true,true]'
    serve_end
    net_ip left link set "$LEFT_IF" mtu 1500
    net_ip right link set "$RIGHT_IF" mtu 1500
}

@test "the MTU shrinks during a transfer, and packets already sent arrive in fragments" {
    IW_READY='listening on' serve_in left ddp-bench --listen -t xdp -I "$LEFT_IF" -p "$PORT" --bind "$LEFT_IP"
    IW_READY='messages' serve_in right ddp-bench "$LEFT_IP" write -t xdp -I "$RIGHT_IF" -p "$PORT" --time 3s -w 0 --interval 500ms
    net_ip right link set "$RIGHT_IF" mtu 1280
    wait_served
    assert_status 0
    assert_output_has verified
    net_ip right link set "$RIGHT_IF" mtu 1500
}

@test "an interface that goes down and comes back costs only time" {
    IW_READY='listening on' serve_in left ddp-bench --listen -t xdp -I "$LEFT_IF" -p "$PORT" --bind "$LEFT_IP"
    IW_READY='messages' serve_in right ddp-bench "$LEFT_IP" write -t xdp -I "$RIGHT_IF" -p "$PORT" --time 4s -w 0 --interval 500ms
    net_ip left link set "$LEFT_IF" down
    net_ip left link set "$LEFT_IF" up
    wait_served
    assert_status 0
    assert_output_has verified
}

@test "a removed interface ends the run, with its name" {
    net_ip left link add gone0 mtu 1500 type veth peer name gone1 netns "$NET_RIGHT_PID"
    net_ip left address add 10.79.0.1/24 dev gone0
    net_ip left link set gone0 up
    net_ip right address add 10.79.0.2/24 dev gone1
    net_ip right link set gone1 up
    IW_READY='listening on' serve_in left ddp-bench --listen -t xdp -I gone0 -p "$PORT" --bind 10.79.0.1 --timeout 15s
    IW_READY='messages' serve_in right ddp-bench 10.79.0.1 write -t xdp -I gone1 -p "$PORT" --time 20s -w 0 --interval 500ms --timeout 15s
    net_ip left link delete gone0
    wait_served
    assert_status 4
    assert_stderr_has 'gone1'
}

@test "ddp-xdp status shows a listener's resources and counts the packets for it" {
    listen xdp
    run_in left ddp-xdp status -I "$LEFT_IF" --json
    assert_jsonl '.[0] | [.mode, (.sockets | length), .sockets[0].zerocopy, .endpoints[0].udp_port]' '["native",1,false,0]'
    push "$LEFT_IP" xdp
    run_in left ddp-xdp status -I "$LEFT_IF" --json
    # The file's octets are all in tagged segments (RDMA Write). The association has ended or is
    # ending.
    assert_jsonl '.[0] | [.tagged_octets >= 5242880, .seen.chunk_bad, .passed.no_socket]' '[true,0,0]'
}

@test "--require is kept or refused with 3; --xdp generic runs in the stack, with every mode's data right" {
    local words

    run_in left ddp-recv -t xdp -I "$LEFT_IF" --bind "$LEFT_IP" --require zerocopy dst
    assert_status 3
    assert_stderr_has zero-copy
    no_program || fail_with 'a program stays attached'
    for words in --require=native --xdp=generic --xdp=copy,busy-poll; do
        listen xdp $words
        push "$LEFT_IP" xdp $words
        net_ip left link show "$LEFT_IF" >shown
        case $words in
        *generic) grep -q xdpgeneric shown ;;
        *) grep -q 'xdp ' shown ;;
        esac
        serve_end
    done
    run_in left ddp-recv --require nothing dst
    assert_status 2
    run_in left sctp-ddp-ping --require native --xdp generic host
    assert_status 2
}

@test "ddp-bench xdp: both figures, of one buffer and of several, and the baselines, all of it verified" {
    require_root
    IW_TIMEOUT=150 run_here ddp-bench xdp --time 100ms --count 1 --json
    assert_status 0
    assert_jsonl '[.[] | select(.event == "pair")] | [length, (map(.frame_octets) | unique)]' '[4,[1498,2998]]'
    assert_jsonl '[.[] | select(.event == "pair") | .bits_per_second > 0 and .bare_bits_per_second > 0 and .read_bits_per_second > 0] | all' true
    # The number of segments that a busy machine loses at full rate is a measurement; the test only
    # requires that it is reported.
    assert_jsonl '[.[] | select(.event == "pair" and .figure == "p6") | .lost >= 0] | all' true
    assert_jsonl '[.[] | select(.event == "baseline") | .name]' '["kernel_tcp","tcp","kernel_tcp_without_offloads","tcp_without_offloads","udp","raw"]'
    assert_jsonl '[.[] | select(.event == "baseline") | .bits_per_second > 0] | all' true
    assert_jsonl '.[-1] | [.event, .mode, (.p5, .p6 | .single.pairs, .multi.pairs)]' '["result","xdp",1,1,1,1]'
    assert_jsonl '.[-1].placement | map(.million_segments_per_second > 0 and .bits_per_second > 0 and .segment_ns > 0) | [length, all]' '[2,true]'
    # Each packet of the generator passed the steering program. It needs some time, and less than
    # placement.
    assert_jsonl '.[-1].steering | .packets > 1000 and .packet_ns > 1 and .packet_ns < 20000' true
    assert_jsonl '.[-1].environment | [.mtu_octets, .driver, .xdp_mode != null]' '[1500,"veth",true]'
    assert_jsonl '.[-1] | .baselines_bits_per_second.kernel_tcp > 0 and .duration_ns > 1000000000' true
    # The namespaces were removed with the tool.
    run_here ip link show left0
    [ "$status" -ne 0 ] || fail_with "an interface is left"
}

# between COMMAND: runs COMMAND in a namespace with two veth interfaces, a0 (MTU 1400, up) and b0
# (down), and prints their state afterwards
between() {
    IW_TIMEOUT=150 run_here unshare -n bash -c "ip link add a0 mtu 1400 type veth peer name b0 && ip link set a0 up
        $1; echo \"status \$?\"; ip -o link show a0; ip -o link show b0"
}

@test "ddp-bench xdp --between: two interfaces of this machine, which come back as they were" {
    require_root
    between 'ddp-bench xdp --time 200ms --count 1 --between a0,b0'
    assert_output_has 'status 0'
    assert_output_has 'p6 multi   ratio '
    assert_output_has 'receive and place, single'
    grep -qE 'a0@b0: <.*[,<]UP[,>].* mtu 1400 ' <<<"$output" || fail_with 'a0 did not come back'
    grep -qE 'b0@a0: .* mtu 1500 .* state DOWN' <<<"$output" || fail_with 'b0 did not come back'

    # Like Ctrl-C: one signal to the process group, after ddp-bench has moved b0 away.
    between 'setsid ddp-bench xdp -q --between a0,b0 & while kill -0 $! && ip link show b0 >shown 2>&1; do sleep 0.1; done; kill -INT -- -$!; wait $!'
    assert_output_has 'status 4'
    grep -qE 'a0@b0: <.*[,<]UP[,>].* mtu 1400 ' <<<"$output" || fail_with 'interrupted: a0 did not come back'

    between 'ip address add 10.9.8.7/24 dev b0; ddp-bench xdp --between a0,b0'
    assert_output_has 'status 4'
    assert_stderr_has 'interface b0: has the address 10.9.8.7, which it would lose'
    between 'ddp-bench xdp --between a0,c0'
    assert_stderr_has 'interface c0: no interface has this name'
    between 'ddp-bench xdp --between a0'
    assert_output_has 'status 2'
    assert_stderr_has 'expected two interface names'
}
