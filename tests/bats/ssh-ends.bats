#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# bats file_tags=beside
#
# Transfers that ssh starts, with a real sshd: processes that are killed, and third parties at the
# port of the far end.

load helpers
load net
load ssh

setup_file() {
    net_setup
    ssh_setup
}

setup() {
    skip_with_file
    cd "$BATS_TEST_TMPDIR" || return 1
    ssh_far
}

teardown_file() {
    net_teardown
}

# --- kill ---------------------------------------------------------------------------------------------------------------------

@test "ssh: kill -9 of either end or of ssh during a transfer leaves nothing" {
    local party

    start_sshd
    for party in near ssh far; do
        begin_push
        kill_one $party
        begun_ends
        [ "$status" -ne 0 ] || fail_with "succeeded after the end of $party"
        assert_all_clean
        [ ! -e far/f ] || fail_with "a part has the name of the file after the end of $party"
    done
    # The same command then succeeds.
    send_far half "$FAR:f"
    assert_status 0
    assert_same_file half far/f
}

@test "ssh: kill -9 of the process between the pipes leaves nothing, and the data arrives" {
    start_sshd
    begin_push
    kill_one bridge
    begun_ends
    assert_status 0
    assert_same_file half far/f
    assert_all_clean
}

@test "ssh: kill -9 while the data port is tried leaves nothing" {
    local party

    start_sshd
    block_ports hang 30000-30010
    for party in near ssh far; do
        begin ddp-send --ssh="$(ssh_command)" --ssh-port-range 30000-30010 "$SSH_KEYS/user.pub" "$FAR:f"
        wait_until 20 far_listens || fail_with 'does not listen' "$(begun_said)"
        kill_one $party
        begun_ends
        [ "$status" -ne 0 ] || fail_with "succeeded after the end of $party"
        assert_all_clean
    done
    unblock_ports
}

@test "ssh: kill -9 while the connection of ssh carries the data leaves nothing" {
    local party

    start_sshd
    block_ports refuse 30000-30010
    for party in near ssh far bridge; do
        begin_push --ssh-port-range 30000-30010
        kill_one $party
        begun_ends
        [ "$status" -ne 0 ] || fail_with "succeeded after the end of $party"
        assert_all_clean
    done
    unblock_ports
}

@test "ssh: kill -9 before the far program starts leaves nothing" {
    mkdir bin
    printf '%s\n' '#!/bin/sh' 'until [ -e go ]; do sleep 0.02; done' 'exec /opt/ddp-recv "$@"' >far/ddp-recv
    chmod 755 far/ddp-recv
    start_sshd 'SetEnv PATH=/home:/usr/bin:/bin'
    begin ddp-send --ssh="$(ssh_command)" "$SSH_KEYS/user.pub" "$FAR:f"
    wait_until 20 far_has ddp-recv || fail_with 'does not start' "$(begun_said)"
    kill_one near
    begun_ends
    touch far/go
    assert_all_clean
}

@test "ssh: SIGINT ends both ends, and the same command completes the transfer" {
    start_sshd
    begin_push
    kill -INT "$(begun_pid)"
    begun_ends
    [ "$status" -ne 0 ] || fail_with 'succeeded'
    assert_all_clean
    send_far half "$FAR:f"
    assert_status 0
    assert_same_file half far/f
    assert_equal "$(find far -name '.iw-*')" ''
}

# --- the listener of the far end --------------------------------------------------------------------------------------------------

# far_port: the port of the far listener
far_port() {
    far_listeners | awk '$1 == "tcp" { sub(".*:", "", $5); print $5 }'
}

@test "ssh: the far listener has only the address at which ssh connected" {
    start_sshd
    begin_push
    assert_equal "$(far_listeners | awk '$1 == "tcp" { sub(":[0-9]*$", "", $5); print $5 }')" "$RIGHT_IP"
    begun_ends
    assert_status 0
    assert_far_is_clean
}

# A third party that reaches the port has no key.
@test "ssh: the far listener refuses connections without the key, and the transfer continues" {
    start_sshd
    mkdir other
    random_file other/g 100K
    begin_push
    run_in left ddp-send -p "$(far_port)" other/g "$RIGHT_IP:"
    [ "$status" -ne 0 ] || fail_with 'the listener accepts a plain connection'
    run_in left timeout 10 openssl s_client -tls1_3 -connect "$RIGHT_IP:$(far_port)" -alpn iwarp
    [ "$status" -ne 0 ] || fail_with 'the listener accepts TLS without the key'
    run_in left timeout 10 openssl s_client -tls1_3 -connect "$RIGHT_IP:$(far_port)" -alpn iwarp -psk_identity iwarp/1 -psk 00112233445566778899aabbccddeeff
    [ "$status" -ne 0 ] || fail_with 'the listener accepts another key'
    begun_ends
    assert_status 0
    assert_same_file half far/f
    [ ! -e far/g ]
    assert_far_is_clean
}

# The client's octets of a connection, sent again to the same listener while it still listens.
# DDP-119
@test "ssh: a replayed connection is refused by the far listener" {
    require_tool tshark xxd
    start_sshd
    capture_in left all.pcap "tcp and not port $SSH_PORT"
    begin_push
    port=$(far_port)
    capture_end
    tshark -r all.pcap -Y "tcp.dstport == $port && tcp.len > 0" -T fields -e tcp.payload | tr -d ':\n' | xxd -r -p >replay
    [ "$(stat -c %s replay)" -gt 100000 ] || fail_with 'the capture has no data'
    # Nothing of the data or of the file's name is readable.
    ! grep -q 'MPA ID' replay || fail_with 'the connection is not encrypted'
    run_in left timeout 20 bash -c "exec 5<>/dev/tcp/$RIGHT_IP/$port; cat replay >&5 2>/dev/null; timeout 5 head -c 3 <&5 | xxd -p"
    # A record of type alert, not a ServerHello.
    assert_output_is 150303
    begun_ends
    assert_status 0
    assert_same_file half far/f
    assert_far_is_clean
}

@test "ssh: the command line of the far end has no data of the user" {
    start_sshd
    begin_push
    assert_equal "$(far_processes | grep '^ddp-recv')" 'ddp-recv ddp-recv --ssh-server'
    assert_equal "$(far_processes | grep -v 'ddp-recv --ssh-server$')" ''
    begun_ends
    assert_status 0
}
