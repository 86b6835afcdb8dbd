#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Labs 1 to 5 against Linux siw in the guest: rping completes with the module of the reference
# solution, as its client and as its server, and does not complete with wrong modules.
#
# run_guest and similar functions set the variables; each @test is a subshell:
# shellcheck disable=SC2030,SC2031

# bats file_tags=waits

load ../bats/helpers
load guest
load ../bats/labs

setup_file() {
    lab_grader_exists || return 0
    guest_up
    guest_is_up || return 0
    # A server for all tests of this file. rping -P serves each client in a thread of its own.
    "$PEER_VM" run -b rping -s -P -a "$GUEST_IP" -S 65535 3>&-
}

teardown_file() {
    guest_down
}

setup() {
    skip_with_file
    [ "$BATS_TEST_NUMBER" -gt 1 ] || wait_listening 7174
}

teardown() {
    helpers_teardown
    [ -z "${TUNED:-}" ] || "$PEER_VM" siw stock 3>&-
}

# module LAB [WRONG]: builds the solution of a lab, or one of its wrong solutions; $MODULE
module() {
    MODULE=$BATS_TEST_TMPDIR/$1-${2:-solution}
    lab_copy "$1" "$MODULE" solution
    [ -z "${2:-}" ] || lab_break "$1" "$MODULE" "$2"
    run_here make -s -C "$MODULE" build/student
    assert_status 0
}

# serve_module LAB: starts the built module as rping's server on $PORT
serve_module() {
    PORT=7190
    IW_READY='listening on' IW_MAY_END=1 serve_beside iwarp-lab peer "$1" --student "$MODULE/build/student" --bind "$HOST_IP" --port $PORT
}

# ping_module LAB ROUNDS SIZE: Linux's client, the module as its server
ping_module() {
    serve_module "$1"
    run_guest rping -c -a "$HOST_IP" -p $PORT -C "$2" -S "$3" -v -V
    assert_status 0
    assert_output_has "ping data: rdma-ping-$(($2 - 1))"
    wait_served
    assert_status 0
    assert_output_has "$2 rounds of rping, all data correct"
}

# ping_siw LAB ROUNDS SIZE [PORT]: Linux's server, the module as its client
ping_siw() {
    run_beside iwarp-lab peer "$1" --student "$MODULE/build/student" --to "$GUEST_IP" --port "${4:-7174}" --count "$2" --size "$3"
}

completes() {
    local size

    module "$1"
    for size in 64 4096 65535; do
        ping_module "$1" 5 $size
        ping_siw "$1" 5 $size
        assert_status 0
        assert_output_has '5 rounds of rping, all data correct'
    done
    guest_is_well
}

@test "lab 1: rping completes with the framing of the solution, in both roles" {
    completes 1
}

@test "lab 2: rping completes with the placement of the solution, in both roles" {
    completes 2
}

@test "lab 3: rping completes with the queues of the solution, in both roles" {
    completes 3
}

@test "lab 4: rping completes with the RDMA Reads of the solution, in both roles" {
    completes 4
}

@test "lab 5: rping completes with the start-up of the solution, in both roles" {
    completes 5
}

@test "a server of rping that serves one client ends after the module's conversation" {
    module 1
    guest_job rping -s -a "$GUEST_IP" -p 7191 -C 5 -v
    wait_listening 7191
    ping_siw 1 5 64 7191
    assert_status 0
    guest_wait
    assert_status 0
    assert_output_has 'server ping data: rdma-ping-4'
    guest_is_well
}

# does_not_complete LAB WRONG: neither role completes a round, and the peer reports a failure. The
# exit status of rping is 0 even if its peer ends the connection in a round; its output is not.
does_not_complete() {
    module "$1" "$2"
    serve_module "$1"
    run_guest timeout -s KILL 20 rping -c -a "$HOST_IP" -p $PORT -C 2 -v
    assert_output_lacks 'ping data:'
    serve_end
    [ "$status" -ne 0 ] || fail_with "the module's server completes with $2"
    assert_output_lacks 'all data correct'
    ping_siw "$1" 2 64
    assert_status 1
    assert_output_lacks 'all data correct'
}

@test "lab 1: rping does not complete with a CRC of the wrong byte order" {
    does_not_complete 1 crc-big-endian
    guest_is_well
}

@test "lab 2: rping does not complete with a table that refuses the first octet of a buffer" {
    does_not_complete 2 first-octet-refused
    guest_is_well
}

@test "an initiator that wants RTR, one of Rev 1, and one that requires CRC, with the start-up of lab 5 and without" {
    local lab parameters

    # The rping servers of the other tests keep the module in use that is changed here.
    run_guest pkill -KILL rping
    TUNED=yes
    for parameters in peer_to_peer=1 mpa_version=1 mpa_crc_required=1; do
        run_here "$PEER_VM" siw tunable "$parameters"
        assert_status 0
        for lab in 1 5; do
            module $lab
            ping_module $lab 5 4096
            rm -rf "$MODULE"
        done
    done
    guest_is_well
}
