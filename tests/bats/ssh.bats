#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# bats file_tags=beside
#
# Transfers that ssh starts, with a real sshd. Not tested: ssh that asks for a password, because that
# needs a terminal and a user with a password.

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

@test "the test's own sshd runs commands as an ordinary user" {
    start_sshd
    in_far echo hi
    assert_status 0
    assert_output_is hi
    # shellcheck disable=SC2016
    in_far 'id -un; id -u; pwd; command -v ddp-recv; echo $SSH_CONNECTION'
    assert_status 0
    assert_output_has $'iwtest\n12345\n/home\n/opt/ddp-recv\n'"$LEFT_IP "
    assert_output_has " $RIGHT_IP 2222"
    assert_far_is_clean
}

@test "the test's own sshd refuses a wrong key, and its processes end with it" {
    start_sshd
    run_in left ssh -F none -i "$SSH_KEYS/wrong" -p 2222 -o IdentitiesOnly=yes -o StrictHostKeyChecking=no \
        -o UserKnownHostsFile=/dev/null -o BatchMode=yes "$FAR" true
    assert_status 255
    in_far "sleep 100$$ >/dev/null 2>&1 </dev/null &"
    assert_status 0
    assert_equal "$(far_processes)" "sleep sleep 100$$ "
    pid=$(pgrep -f "^sleep 100$$\$")
    end_sshd
    wait_until 5 iw_gone "$pid" || fail_with 'a process outlives its sshd'
}

@test "the test's blocked ports hang or refuse, and others work" {
    start_sshd
    serve_in right python3 -c 'import socket, time; l = socket.create_server(("", 30005)); time.sleep(100)'
    block_ports hang 30000-30010
    run_in left timeout 1 bash -c 'exec 3<>/dev/tcp/'"$RIGHT_IP"'/30005'
    assert_status 124
    in_far echo hi
    assert_output_is hi
    unblock_ports
    block_ports refuse 30000-30010
    run_in left timeout 5 bash -c 'exec 3<>/dev/tcp/'"$RIGHT_IP"'/30005'
    assert_status 1
    unblock_ports
    run_in left timeout 5 bash -c 'exec 3<>/dev/tcp/'"$RIGHT_IP"'/30005'
    assert_status 0
}
