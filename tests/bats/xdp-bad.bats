#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Failures around -t xdp: missing rights, limits, other programs, a stopped receiver, an MTU that
# grows, and interaction with the kernel's own stack. The tools report each failure with its reason,
# and leave no program attached. tests/bats/xdp.bats tests queues and interfaces that are removed;
# tests/interop/xdp-guest.bats a kernel without multi-buffer frames; tests/unit/pkt_xdp_test.c a
# kernel without AF_XDP or BPF.

# bats file_tags=beside

# Each test is a separate shell.
# shellcheck disable=SC2030,SC2031,SC2034,SC2154

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
    cd "$BATS_TEST_TMPDIR" || return 1
    require_xdp
    mkdir src dst
    PORT=$(free_port)
}

teardown() {
    # A failed test may have left a bridge with a program, which would block later tests.
    if [ -z "${FILE_SKIPS:-}" ] && [[ $(net_ip left -o link) == *' above: '* ]]; then
        net_ip left link delete above
    fi
    helpers_teardown
}

listen() {
    IW_READY='listening on' serve_in left ddp-recv -t xdp -I "$LEFT_IF" -p "$PORT" --bind '*' dst
}

bench_listen() {
    IW_READY='listening on' serve_in left ddp-bench --listen -t xdp -I "$LEFT_IF" -p "$PORT" --bind '*'
}

# refused STATUS TEXT CMD...: ddp-recv, run by CMD, exits with STATUS and reports TEXT as the
# reason. It leaves no program attached, and the next start finds all resources free.
refused() {
    local want=$1 text=$2
    shift 2

    run_in left "$@" ddp-recv -t xdp -I "$LEFT_IF" -p "$PORT" --bind "$LEFT_IP" dst
    assert_status "$want"
    assert_stderr_has "$text"
    no_program || fail_with 'a program stays attached'
}

@test "a missing privilege is named" {
    refused 3 'CAP_NET_RAW' setpriv --bounding-set -net_raw
    refused 3 'CAP_BPF' setpriv --bounding-set -bpf,-sys_admin
    refused 3 'CAP_NET_ADMIN' setpriv --bounding-set -net_admin,-sys_admin
    refused 3 'CAP_PERFMON' setpriv --bounding-set -perfmon,-sys_admin
    refused 3 'CAP_NET_RAW' setpriv --bounding-set -all
    refused 3 'CAP_NET_ADMIN, CAP_BPF, CAP_PERFMON and CAP_NET_RAW' setpriv --bounding-set -all
}

@test "too little locked memory is reported with the amount needed; less memory means fewer frames" {
    local enough

    refused 4 'the limit of locked memory is 65536 octets' setpriv --bounding-set -ipc_lock prlimit --memlock=65536
    [[ $stderr =~ ulimit\ -l\ ([0-9]+) ]] || fail_with 'no limit is named'
    # Exactly the limit in the message, in KiB, is enough.
    enough=$((BASH_REMATCH[1] * 1024))
    random_file src/f 3M
    IW_READY='listening on' serve_in left setpriv --bounding-set -ipc_lock prlimit --memlock=$enough \
        ddp-recv -t xdp -I "$LEFT_IF" -p "$PORT" --bind "$LEFT_IP" dst
    run_in right ddp-send -t xdp -I "$RIGHT_IF" -p "$PORT" src/f "$LEFT_IP:"
    assert_status 0
    assert_same_file src/f dst/f
    # The limit applies to all processes of a user together.
    run_in right setpriv --bounding-set -ipc_lock prlimit --memlock=$enough ddp-recv -t xdp -I "$RIGHT_IF" -p "$PORT" --bind "$RIGHT_IP" dst
    assert_status 4
    assert_stderr_has "the limit of locked memory is $enough octets; the frames need $enough, and other processes of this user have locked a part of it"
}

@test "a program that is already attached is named, and stays" {
    run_in left ddp-xdp attach -I "$LEFT_IF" --program mpa
    assert_status 0
    run_in left ddp-recv -t xdp -I "$LEFT_IF" -p "$PORT" --bind "$LEFT_IP" dst
    assert_status 4
    assert_stderr_has 'has the program iw_observe_1'
    assert_stderr_has "already; detach it with \`ddp-xdp detach -I $LEFT_IF\`"
    run_in left ddp-xdp status -I "$LEFT_IF" --json
    assert_jsonl '.[0].owner' observe
    run_in left ddp-xdp detach -I "$LEFT_IF"
    assert_status 0
}

@test "a program on a stacked interface blocks attaching below it, and is named" {
    run_in left sh -c "ip link add above type bridge && ip link set above up && ip link set $LEFT_IF master above"
    assert_status 0
    run_in left ddp-xdp attach -I above
    assert_status 0
    run_in left unshare -m sh -c "mount -t sysfs sysfs /sys && ddp-xdp attach -I $LEFT_IF"
    assert_status 4
    assert_stderr_has "xdp: attach to $LEFT_IF: above, which is stacked on it, has the program iw_steer_"
    assert_stderr_has "so Linux refuses: end its process or \`ddp-xdp detach -I above\`; to have both, attach to $LEFT_IF first"
    # Without that mount, /sys shows another network namespace, which does not list the bridge.
    run_in left ddp-xdp attach -I "$LEFT_IF"
    assert_status 4
    assert_stderr_has "attach to $LEFT_IF: an interface stacked on it (VLAN, bridge, bond, macvlan; perhaps in another network namespace) has a program"
    # The order of commands in the message works.
    run_in left sh -c "ddp-xdp detach -I above && ddp-xdp attach -I $LEFT_IF && ddp-xdp attach -I above"
    assert_status 0
    run_in left sh -c "ddp-xdp detach -I above && ddp-xdp detach -I $LEFT_IF && ip link delete above"
    assert_status 0
}

@test "a listener whose XDP program is removed receives through the kernel" {
    random_file src/f 3M
    listen
    run_in left ddp-xdp detach -I "$LEFT_IF" --force-clean
    assert_status 0
    assert_stderr_has "process $SERVE_PID now receives through the kernel, without XDP"
    # Packets now arrive through the kernel: the raw socket that keeps the kernel from answering
    # receives them.
    run_in right ddp-send -t xdp -I "$RIGHT_IF" -p "$PORT" src/f "$LEFT_IP:"
    assert_status 0
    assert_same_file src/f dst/f
}

@test "a stopped receiver with full rings loses nothing, and the kernel's traffic continues" {
    bench_listen
    local stuck=$SERVE_PID
    # The window is as large as half the ring, so only packets with little payload can fill the
    # ring.
    IW_READY='messages' serve_in right ddp-bench "$LEFT_IP" send -t xdp -I "$RIGHT_IF" -p "$PORT" -s 64 --depth 16 --time 6s -w 0 --interval 200ms \
        --timeout 20s --json
    local sender=$SERVED
    kill -STOP "$stuck"
    random_file src/g 2M
    serve_in left ddp-recv -b "$LEFT_IP" -p "$PORT" --once dst
    local other=$SERVED
    run_in right ddp-send -p "$PORT" src/g "$LEFT_IP:"
    assert_status 0
    assert_same_file src/g dst/g
    wait_served "$other"
    kill -CONT "$stuck"
    wait_served "$sender"
    assert_status 0
    assert_jsonl '[.[] | select(.event == "result")][0] | [.verified, .messages > 100]' '[true,true]'
    # The rings lost no frame: a full load passes through them many times.
    run_in right ddp-bench "$LEFT_IP" write -t xdp -I "$RIGHT_IF" -p "$PORT" -n 32 -w 0 --interval 0 --json
    assert_status 0
    assert_jsonl '.[0].verified' true
}

@test "a flood into the full ring of a stopped receiver is dropped and counted, and afterwards all works as before" {
    require_tool python3
    random_file src/f 3M
    listen
    local stuck=$SERVE_PID
    kill -STOP "$stuck"
    # Sends more packets to the receiver's endpoint than the receiver has frames; they belong to no
    # association.
    run_in right python3 -c '
import socket, struct, sys
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, 132)
p = struct.pack("!HHII", 7, int(sys.argv[2]), 0x12345678, 0)
for i in range(6000):
    s.sendto(p, (sys.argv[1], 0))' "$LEFT_IP" "$PORT"
    assert_status 0
    kill -CONT "$stuck"
    run_in right ddp-send -t xdp -I "$RIGHT_IF" -p "$PORT" src/f "$LEFT_IP:"
    assert_status 0
    assert_same_file src/f dst/f
    run_in left ddp-xdp status -I "$LEFT_IF" --json
    # The ring holds 2,048 frames of one worker.
    assert_jsonl '.[0].sockets[0] | .rx_ring_full + .rx_fill_empty + .rx_dropped > 1000' true
}

@test "an MTU that grows during a run has no effect on it, and the next association uses it" {
    bench_listen
    IW_READY='messages' serve_in right ddp-bench "$LEFT_IP" write -t xdp -I "$RIGHT_IF" -p "$PORT" --time 2s -w 0 --interval 200ms --json
    net_ip left link set "$LEFT_IF" mtu 9000
    net_ip right link set "$RIGHT_IF" mtu 9000
    wait_served
    status_was=$status output_was=$output
    run_in right ddp-bench "$LEFT_IP" write -t xdp -I "$RIGHT_IF" -p "$PORT" -n 16 -w 0 --interval 0 --json
    net_ip left link set "$LEFT_IF" mtu 1500
    net_ip right link set "$RIGHT_IF" mtu 1500
    assert_status 0
    assert_jsonl '.[0] | [.verified, .mulpdu_octets > 1400]' '[true,true]'
    status=$status_was output=$output_was
    assert_status 0
    assert_jsonl '[.[] | select(.event == "result")][0].verified' true
}

@test "the doctor of each tool reports whether -t xdp runs on an interface, and why not" {
    local tool

    for tool in 'ddp-send -t xdp' 'ddp-recv -t xdp' 'ddp-bench -t xdp' 'sctp-ddp-ping -t xdp' ddp-xdp; do
        # shellcheck disable=SC2086 # a tool and its transport
        run_in left $tool --doctor -I "$LEFT_IF" --json
        assert_status 0
        assert_jsonl "[.[] | select(.subject == \"transport xdp\" or .subject == \"steering program\") | .verdict] | unique" '["ok"]'
        assert_jsonl "[.[] | select(.subject == \"interface $LEFT_IF\") | .verdict != \"no\"]" '[true]'
    done
    # Linux 6.3 and later report the XDP features of the driver.
    run_in left ddp-recv --doctor -t xdp -I lo
    assert_output_has 'XDP'
    run_in left ddp-recv --doctor -t xdp -I nosuch0
    assert_status 3
    assert_output_has 'no such interface'
    run_in left setpriv --bounding-set -bpf,-sys_admin sctp-ddp-ping --doctor -t xdp --json
    assert_status 3
    assert_jsonl '[.[] | select(.subject == "steering program")][0] | [.verdict, (.seen | contains("CAP_BPF"))]' '["no",true]'
    run_in left ddp-xdp attach -I "$LEFT_IF" --program mpa
    run_in left sctp-ddp-ping --doctor -t xdp -I "$LEFT_IF"
    assert_status 3
    assert_output_has 'another program is attached already: iw_observe_1'
    run_in left ddp-xdp detach -I "$LEFT_IF"
    assert_status 0
}

# fragments PORT SECONDS: sends an SCTP packet to PORT on left, in IP fragments. Prints "answered"
# if an ICMP message reports that packet within SECONDS, otherwise "silent".
fragments() {
    run_in right python3 -c '
import os, socket, struct, sys, time
icmp = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, 132)
s.setsockopt(socket.IPPROTO_IP, 10, 0)  # DF is not set
head = struct.pack("!HH", 7, int(sys.argv[2])) + os.urandom(4)
s.sendto(head + bytes(4000), (sys.argv[1], 0))
end = time.monotonic() + float(sys.argv[3])
answered = False
while not answered and time.monotonic() < end:
    icmp.settimeout(max(end - time.monotonic(), 0.001))
    try:
        answered = head in icmp.recv(4096)
    except socket.timeout:
        pass
print("answered" if answered else "silent")' "$LEFT_IP" "$1" "$2"
    assert_status 0
}

is_answered() {
    fragments "$PORT" 1
    [ "$output" = answered ]
}

@test "the kernel does not answer fragments with ICMP while a listener runs" {
    require_tool python3
    # The rate of ICMP messages is limited.
    wait_until 20 is_answered || fail_with 'without a listener the kernel sends no ICMP message either, so this test proves nothing'
    listen
    for _ in 1 2 3; do
        fragments "$PORT" 1
        assert_output_is silent
    done
}

@test "ICMP from the other side ends a set-up at once, over IPv4 and IPv6" {
    local host began

    for host in "$LEFT_IP" "$LEFT_IP6"; do
        began=$SECONDS
        run_in right sctp-ddp-ping "$host" -t xdp -I "$RIGHT_IF" -p "$PORT" -c 1 --timeout 25s
        assert_status 1
        assert_stderr_has 'ICMP reports that the peer does not receive SCTP'
        [ $((SECONDS - began)) -lt 20 ] || fail_with 'it took too long'
    done
}
