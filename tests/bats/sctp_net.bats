#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# DDP/SCTP between two hosts: udp and raw, IPv4 and IPv6, packets of 1,500 octets.

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
}

# Starts a listener on every address.
listen() {
    serve_in left ddp-recv -p "$PORT" --bind '*' "$@" dst
}

# push HOST [OPTION...]: sends src/f to HOST
push() {
    local host=$1
    shift

    rm -f dst/f
    run_in right ddp-send -p "$PORT" "$@" src/f "$host:"
    assert_status 0
    assert_same_file src/f dst/f
}

@test "udp: a file over IPv4 and over IPv6" {
    listen -t udp
    push "$LEFT_IP" -t udp
    push "[$LEFT_IP6]" -t udp
}

@test "raw: a file over IPv4 and over IPv6" {
    listen -t raw
    push "$LEFT_IP" -t raw
    push "[$LEFT_IP6]" -t raw
}

# Two listeners would abort each other's associations.
@test "raw: a second listener on the same port and address is refused" {
    local place

    serve_in left sctp-ddp-ping --listen -t raw -p "$PORT" --bind "$LEFT_IP"
    for place in "$LEFT_IP" '*'; do
        run_in left sctp-ddp-ping --listen -t raw -p "$PORT" --bind "$place"
        assert_status 4
        assert_stderr_has "listen on $place port $PORT (-t raw): another listener has this SCTP port: stop it, or give another port with -p"
    done
    serve_in left sctp-ddp-ping --listen -t raw -p "$PORT" --bind "$LEFT_IP6"
    run_in right sctp-ddp-ping -t raw -p "$PORT" -c 1 "$LEFT_IP"
    assert_status 0
    serve_end 1
    serve_end 2
    listen -t raw
    run_in left sctp-ddp-ping --listen -t raw -p "$PORT" --bind "$LEFT_IP"
    assert_status 4
}

# fails TEXT ARGUMENT...: a push without a listener ends with status 4 and this line.
fails() {
    local text=$1
    shift

    run_in right ddp-send -p "$PORT" --redial 0 --timeout 1s "$@"
    assert_status 4
    assert_stderr_is "ddp-send: connect to $text"
}

@test "no answer, no route, an interface that is down, a wrong -b: each is named" {
    local t

    fails "$LEFT_IP:$PORT: sctp: ICMP reports that the peer does not receive SCTP there; is a listener with -t sctp, raw or xdp and --bind '*' running there? (RFC 9260)" \
        -t raw src/f "$LEFT_IP:"
    fails "10.77.0.99:$PORT: no answer to the INIT within 1 s (-t raw); is the address right, is a listener with -t sctp, raw or xdp and --bind '*' there, and does a firewall let SCTP through?" \
        -t raw src/f 10.77.0.99:
    fails "10.77.0.99:$PORT, UDP port 9900: no answer to the INIT within 1 s (-t udp); is the address right, is a listener with -t udp and --bind '*' there, does it use --tls, and does a firewall let UDP through?" \
        -t udp --udp-port 9900 src/f 10.77.0.99:
    # A long address is not truncated.
    fails "[fd77::1234:5678:9abc:def0]:$PORT, UDP port 9900: no answer to the INIT within 1 s (-t udp); is the address right, is a listener with -t udp and --bind '*' there, does it use --tls, and does a firewall let UDP through?" \
        -t udp --udp-port 9900 src/f '[fd77::1234:5678:9abc:def0]:'
    # A firewall that rejects answers the same as a host without a listener.
    fails "$LEFT_IP port $PORT: connection refused; is a listener with -t tcp and --bind '*' running there, and does a firewall let the connection through?" \
        src/f "$LEFT_IP:"
    net_ip right route add unreachable 192.0.2.8
    fails "192.0.2.8 port $PORT: no route to host; is the address right, is that host running, and does a firewall let the connection through?" \
        src/f 192.0.2.8:
    net_ip right route delete unreachable 192.0.2.8
    fails "10.77.0.98:$PORT: no answer to the TCP SYN within 1 s; is the address right, and does a firewall let TCP through?" \
        src/f 10.77.0.98:
    net_ip right link add down0 type veth peer name down1
    net_ip right address add 10.79.0.2/24 dev down0
    for t in tcp udp raw; do
        fails "192.0.2.7 port $PORT: network is unreachable: no route to 192.0.2.7; is the address right? \`ip route\` lists the routes" \
            -t $t src/f 192.0.2.7:
        fails "10.79.0.1 port $PORT: network is unreachable: interface down0 is down, see \`ip link show down0\`" \
            -t $t src/f 10.79.0.1:
        fails "$LEFT_IP port $PORT: network is unreachable: interface down0 is down, see \`ip link show down0\`" \
            -t $t -I down0 src/f "$LEFT_IP:"
        fails "$LEFT_IP port $PORT: the local address 127.0.0.1 (-b) cannot reach that host; \`ip route get $LEFT_IP\` shows one that can" \
            -t $t -b 127.0.0.1 src/f "$LEFT_IP:"
    done
    fails "192.0.2.7:$PORT: no answer to the INIT within 1 s (-t raw); no route to that host: is the address right? \`ip route\` lists the routes" \
        -t raw -I "$RIGHT_IF" src/f 192.0.2.7:
    fails "192.0.2.7:$PORT: no answer to the TCP SYN within 1 s; no route to that host: is the address right? \`ip route\` lists the routes" \
        -I "$RIGHT_IF" src/f 192.0.2.7:
    # A network of two addresses has no broadcast address.
    net_ip right addr add 10.83.0.0/31 dev down0
    fails "10.83.0.1 port $PORT: network is unreachable: interface down0 is down, see \`ip link show down0\`" src/f 10.83.0.1:
    net_ip right link set down0 up
    for t in 'TCP SYN within 1 s' 'INIT within 1 s (-t raw)'; do
        fails "10.79.0.1:$PORT: no answer to the $t; interface down0 has no carrier: is it plugged in, and is its other end up?" \
            -t "$([[ $t == *raw* ]] && echo raw || echo tcp)" src/f 10.79.0.1:
    done
    fails "$LEFT_IP:$PORT: no answer to the INIT within 1 s (-t raw); the route to that host leads through $RIGHT_IF, not through lo (-I)" \
        -t raw -I lo src/f "$LEFT_IP:"
    net_ip right link delete down0
}

# refused STATUS TEXT ARGUMENT...: a ping that sends nothing ends with this status and line.
refused() {
    local code=$1 text=$2
    shift 2

    run_in right sctp-ddp-ping --timeout 1s "$@"
    assert_status "$code"
    assert_stderr_has "sctp-ddp-ping: $text"
}

@test "an address that is not one host, and a route to nowhere: each is named" {
    local t

    net_ip right route add blackhole 10.81.0.0/16
    net_ip right route add prohibit 10.82.0.0/16
    for t in udp raw; do
        refused 4 "connect to 10.81.0.1 port 7471: invalid argument; a blackhole route? \`ip route get 10.81.0.1\` shows it" -t $t 10.81.0.1
        refused 4 "connect to 10.81.0.1 port 7471: invalid argument; a blackhole route? \`ip route get 10.81.0.1\` shows it" \
            -t $t -b "$RIGHT_IP" 10.81.0.1
        refused 3 "connect to 10.82.0.1 port 7471: permission denied; a prohibit route? \`ip route get 10.82.0.1\` shows it" -t $t 10.82.0.1
        refused 3 "connect to ${LEFT_IP%.*}.255 port 7471: permission denied: a broadcast address; expected the address of one host" \
            -t $t "${LEFT_IP%.*}.255"
        refused 2 'connect to 224.0.0.1: a multicast address; expected the address of one host' -t $t 224.0.0.1
        refused 2 'connect to 10.77.0.1:7471: the local address ::1 (-b) has another address family; use one of IPv4, or leave it out' \
            -t $t -b ::1 10.77.0.1
        refused 4 "connect to fd88::1 port 7471: network is unreachable: no route to fd88::1; is the address right? \`ip -6 route\` lists the routes" \
            -t $t fd88::1
        refused 4 '[fe80::1%eth9]: no such interface, or not an IPv6 address' -t $t '[fe80::1%eth9]'
    done
    net_ip right route del blackhole 10.81.0.0/16
    net_ip right route del prohibit 10.82.0.0/16
    for t in udp raw; do
        refused 2 "listen on 127.0.0.1: no host reaches a loopback address through $RIGHT_IF (-I): give an address of $RIGHT_IF with -b" \
            -l -t $t -I "$RIGHT_IF" -b 127.0.0.1
    done
}

both_ways_through_black_hole() {
    local t

    for t in udp raw; do
        listen -t $t
        push "$LEFT_IP" -t $t
        run_in right ddp-send -p "$PORT" -t $t -m read src/f "$LEFT_IP:back"
        assert_status 0
        assert_same_file src/f dst/back
        serve_end
        rm dst/back
    done
}

# RFC 8899 4.3: the sender gets no report. Its own device drops packets larger than the MTU of the
# other end (ENOBUFS).
@test "a black hole for full packets: udp and raw find the path MTU in each direction" {
    net_ip left link set "$LEFT_IF" mtu 1300
    both_ways_through_black_hole
    net_ip left link set "$LEFT_IF" mtu 1500
}

# RFC 8899 5.2: the MTU is below the initial size of the search. The right end gets no report; the
# left end knows the MTU of its own interface.
@test "a black hole for packets of more than 900 octets: udp and raw find the path MTU in each direction" {
    # With offloads, packets that are segmented later would pass a veth of any MTU.
    require_tool ethtool
    net_offloads off
    net_ip left link set "$LEFT_IF" mtu 900
    both_ways_through_black_hole
    # The kernel removed the IPv6 address together with IPv6, which needs an MTU of 1,280.
    net_ip left link set "$LEFT_IF" mtu 1500
    net_ip left addr add "$LEFT_IP6/64" dev "$LEFT_IF" nodad
    net_offloads on
}

@test "udp: figures of every mode, verified, with segments that fit the path" {
    local mode

    serve_in left ddp-bench --listen -t udp -p "$PORT" --bind '*'
    for mode in write read send pingpong; do
        run_in right ddp-bench "$LEFT_IP" $mode -t udp -p "$PORT" --time 300ms --warmup 200ms --json --interval 0
        assert_status 0
        assert_jsonl '.[0] | [.mode, .transport, .verified]' "[\"$mode\",\"udp\",true]"
        # 1,500 less the headers of IP, UDP, SCTP and chunk, the DDP-SSN, and space for a SACK
        assert_jsonl '.[0] | .mulpdu_octets >= 516 and .mulpdu_octets <= 1442' true
    done
}

@test "-j N is N streams of one association" {
    local file=$BATS_TEST_TMPDIR/j.pcap i

    require_tool tshark tcpdump
    for i in 1 2 3 4 5 6; do random_file "src/f$i" 300K; done
    listen -t raw
    capture_in left "$file" sctp
    run_in right ddp-send -t raw -p "$PORT" -j 4 src/f1 src/f2 src/f3 src/f4 src/f5 src/f6 "$LEFT_IP:"
    assert_status 0
    capture_end
    for i in 1 2 3 4 5 6; do assert_same_file "src/f$i" "dst/f$i"; done
    # RFC 5043 8: streams 0 to 3, paired; one INIT
    [ "$(tshark -r "$file" -Y 'sctp.chunk_type == 1' 2>/dev/null | wc -l)" -eq 1 ] || fail_with 'more than one association'
    assert_equal "$(tshark -r "$file" -Y 'sctp.data_payload_proto_id == 17' -T fields -e sctp.data_sid 2>/dev/null | tr ',' '\n' | sort -u | tr '\n' ' ')" \
        '0x0000 0x0001 0x0002 0x0003 '
}

@test "an unreachable host takes the set-up time-out, no longer" {
    run_in right ddp-send -t raw -p "$PORT" --timeout 2s src/f "$LEFT_IP:"
    assert_status 4
}

@test "the dissector for Wireshark reads sessions and hands DDP on" {
    local file=$BATS_TEST_TMPDIR/all.pcap fields

    require_tool tshark tcpdump
    serve_in left ddp-bench --listen -t raw -p "$PORT" --bind '*'
    capture_in left "$file" sctp
    run_in right ddp-bench "$LEFT_IP" send -t raw -p "$PORT" -n 5 -s 4K -w 0 --json
    assert_status 0
    capture_end
    # Initiate and Accept with their depths, and Terminate from both ends
    fields=$(tshark -X lua_script:"$IW_TOP/scripts/wireshark/ddp-sctp.lua" -r "$file" -Y ddp_sctp.function -T fields \
        -e ddp_sctp.function -e ddp_sctp.ird -E occurrence=f 2>/dev/null)
    assert_equal "$(cut -f1 <<<"$fields" | sort | tr '\n' ' ')" '4 4 5 6 '
    assert_equal "$(awk '$1 == 5 { print ($2 > 0) }' <<<"$fields")" 1
    # Sends, as Wireshark's own dissector decodes them
    [ -n "$(tshark -X lua_script:"$IW_TOP/scripts/wireshark/ddp-sctp.lua" -r "$file" -Y 'ddp_sctp.ssn && iwarp_rdma.opcode' 2>/dev/null)" ] ||
        fail_with 'no DDP segment was decoded'
    [ -z "$(tshark -o 'sctp.checksum:CRC 32c' -X lua_script:"$IW_TOP/scripts/wireshark/ddp-sctp.lua" -r "$file" \
        -Y '_ws.malformed || sctp.checksum.status == "Bad" || ddp_sctp.short || ddp_sctp.unknown' 2>/dev/null)" ] ||
        fail_with 'malformed packets'
}

@test "draft -02: ddp-dump detects it by the adaptation indication, or needs an option like the dissector" {
    local file=$BATS_TEST_TMPDIR/draft.pcap fields

    require_tool tshark tcpdump
    serve_in left sctp-ddp-ping --listen -t raw -p "$PORT" --bind '*' --profile sctp-draft-02
    capture_in left "$file" sctp
    run_in right sctp-ddp-ping "$LEFT_IP" -t raw -p "$PORT" --profile sctp-draft-02 -c 3 -i 1ms
    assert_status 0
    capture_end
    run_here ddp-dump -r "$file" --json
    assert_status 0
    assert_jsonl '[map(select(.event == "sctp" and .adaptation_indication != null).adaptation_indication), map(select(.event == "session").ddp_ssn)[:2]]' '[[2,2],[1,1]]'
    assert_jsonl 'map(select(.event == "ddp")) | length >= 6' true
    # Function Codes 1 to 4 (2.2.3): this edition lacks those of RFC 6581.
    assert_jsonl 'map(select(.event == "session").function_code) | unique' '[1,2,4]'
    assert_jsonl '[.[] | select(.event == "error")] | length' 0
    # Without the handshake, PPIDs 1 and 2 may belong to any protocol.
    tcpdump -r "$file" -w late.pcap 'sctp[12] != 1 and sctp[12] != 2' 2>/dev/null
    run_here ddp-dump -r late.pcap --json
    assert_jsonl 'map(select(.event == "ddp")) | length' 0
    run_here ddp-dump -r late.pcap --json --profile sctp-draft-02
    assert_jsonl 'map(select(.event == "ddp")) | length >= 6' true
    for fields in TRUE FALSE; do
        tshark -X lua_script:"$IW_TOP/scripts/wireshark/ddp-sctp.lua" -o "ddp_sctp.draft_02:$fields" -r "$file" -Y 'ddp_sctp.ssn && iwarp_rdma.opcode' \
            >"$fields" 2>/dev/null
    done
    [ -s TRUE ] && [ ! -s FALSE ] || fail_with 'the dissector does not do as the preference says'
}

@test "ddp-dump decodes udp and raw: every octet of the file, every CRC" {
    local file=$BATS_TEST_TMPDIR/live.pcap t

    require_tool tcpdump
    truncate -s 300000 src/f
    for t in udp raw; do
        serve_in left ddp-recv -t "$t" -p "$PORT" --bind '*' --once dst
        capture_in left "$file" 'udp port 9899 or sctp'
        run_in right ddp-send -p "$PORT" -t "$t" src/f "$LEFT_IP:"
        assert_status 0
        capture_end
        run_here ddp-dump -r "$file" --json
        assert_status 0
        assert_jsonl '[.[] | select(.op == "RDMA Write") | .payload_octets] | add' 300000
        assert_jsonl '[.[] | select(.event == "ddp") | .crc] | unique' '["good"]'
        rm dst/f
    done
}

# eight TRANSPORT: runs eight processes on one host at once, with forty associations each; every one
# reports its result
eight() {
    # shellcheck disable=SC2016
    run_in right bash -c 'for i in 1 2 3 4 5 6 7 8; do
            "$1" "$2" -p "$3" -t "$4" send -j 40 -s 64 -n 400 --warmup 0 --interval 0 --json || echo failed &
        done
        wait' eight "$IW_BUILD/ddp-bench" "$LEFT_IP" "$PORT" "$1"
    assert_output_lacks failed
    assert_jsonl 'map(select(.event == "result" and .connections == 40 and .verified)) | length' 8
}

# SX-29: their SCTP ports differ, and a listener distinguishes associations by UDP port, too.
@test "udp and raw: eight processes of one host with forty associations each" {
    local t

    for t in udp raw; do
        serve_in left ddp-bench --listen -t $t -p "$PORT" --bind '*'
        eight $t
        serve_end
    done
}
