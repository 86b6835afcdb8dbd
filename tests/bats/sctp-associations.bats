#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A listener ends SCTP associations on which no DDP stream session is open (ddp-sctp(7), LIMITS).
# The peer is sctp_idle.py.

# bats file_tags=waits

# Each test runs in a shell of its own, and fail_with uses variables that look unused.
# shellcheck disable=SC2030,SC2031,SC2034

load helpers

setup() {
    require_tool python3
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir src dst
    PORT=$(free_port)
    UDP_PORT=$(free_port)
    export PYTHONPATH=$BATS_TEST_DIRNAME PYTHONDONTWRITEBYTECODE=1
}

# idle_peer COUNT SECONDS MODE: starts the peer in the background, and waits until its associations
# are up
idle_peer() {
    IW_READY='^up' IW_READY_TIMEOUT=60 serve_here python3 "$BATS_TEST_DIRNAME/sctp_idle.py" "$UDP_PORT" "$PORT" "$@"
}

memory_of() {
    sed -n 's/^VmRSS:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$(iw_served_pid "${SERVE_WRAPPER[$1]}")/status"
}

# SEC-29: 512 associations of one address stay until the time-out (lib/sctpmap/unused.h).
@test "associations without a session end at the time-out or above the limit, and a transfer works meanwhile" {
    # The address sanitizer keeps freed memory in quarantine and allocates a second stack for each
    # thread.
    local -x ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=1:thread_local_quarantine_size_kb=64
    ASAN_OPTIONS+=:detect_stack_use_after_return=0

    random_file src/f 1M
    serve_here ddp-recv -t udp -p "$PORT" --udp-port "$UDP_PORT" --timeout 6s --max-connections 5 dst
    before=$(memory_of 1)
    idle_peer 3000 24 idle
    run_here ddp-send -t udp -p "$PORT" --udp-port "$UDP_PORT" src/f 127.0.0.1:
    assert_status 0
    assert_same_file src/f dst/f
    more=$(($(memory_of 1) - before))
    wait_served 2
    assert_status 0
    assert_output_has 'up 3000'
    # The association of ddp-send counts until its session is accepted, so it may evict another.
    late=$(sed -n 's/ ABORT no DDP stream session within T (RFC 5043 6)$//p' <<<"$output")
    evicted=$(sed -n 's/ ABORT too many associations without a DDP stream session (RFC 5043): at most 512 of one address, 4096 in all$//p' \
        <<<"$output")
    gone=$(sed -n 's/ ABORT out of the blue$//p' <<<"$output")
    # How many are evicted depends on how quickly this machine opens 3,000 associations.
    assert_equal $((late + evicted + gone)) 3000
    [ "$late" -gt 0 ] && [ "$evicted" -gt 0 ] || fail_with "$late ended at the time-out, $evicted were evicted"
    # 3,000 associations need 30 MB.
    [ "$more" -lt 20000 ] || fail_with "associations without a session hold $more KiB"
    run_here ddp-send -t udp -p "$PORT" --udp-port "$UDP_PORT" --force src/f 127.0.0.1:
    assert_status 0
}

# SEC-29
@test "a rejected session does not keep its association" {
    serve_here ddp-recv -t udp -p "$PORT" --udp-port "$UDP_PORT" --timeout 1s dst
    idle_peer 20 10 reject
    wait_served 2
    assert_status 0
    assert_output_is "up 20
20 ABORT no DDP stream session within T (RFC 5043 6)"
}

# SEC-29
@test "after its last session an association is shut down" {
    serve_here ddp-recv -t udp -p "$PORT" --udp-port "$UDP_PORT" --timeout 1s dst
    idle_peer 20 10 session
    wait_served 2
    assert_status 0
    assert_output_is "up 20
20 SHUTDOWN"
}

# SEC-29
@test "a peer that ignores SHUTDOWN gets an ABORT" {
    serve_here ddp-recv -t udp -p "$PORT" --udp-port "$UDP_PORT" --timeout 1s dst
    idle_peer 20 10 deaf
    wait_served 2
    assert_status 0
    assert_output_is "up 20
20 ABORT SHUTDOWN after the last DDP stream session not completed within T (RFC 5043 6)"
}

# SEC-29, SEC-14: associations without a session may hold a quarter of --max-memory, and those of
# one address a quarter of that.
@test "sessions that are rejected and never acknowledged do not use up the memory of other peers" {
    random_file src/f 200k
    serve_here ddp-recv -t udp -p "$PORT" --udp-port "$UDP_PORT" --timeout 8s --max-memory 24M dst
    idle_peer 60 6 hoard
    run_here ddp-send -t udp -p "$PORT" --udp-port "$UDP_PORT" src/f 127.0.0.1:
    assert_status 0
    assert_same_file src/f dst/f
    wait_served 2
    assert_output_has ' ABORT too much memory without a DDP stream session (RFC 5043)'
}

# SEC-29, SEC-14
@test "fragments of messages that never become complete are limited" {
    serve_here ddp-recv -t udp -p "$PORT" --udp-port "$UDP_PORT" --timeout 20s --max-memory 24M dst
    idle_peer 40 4 fragments
    wait_served 2
    # Each association needs some 130 KB of the 1,536 KB for one address.
    left=$(sed -n 's/ alive$//p' <<<"$output")
    [ "$left" -gt 5 ] && [ "$left" -lt 13 ] || fail_with "$left associations remain"
    assert_equal "$(sed -n 's/ ABORT too much memory without a DDP stream session (RFC 5043)$//p' <<<"$output")" $((40 - left))
}
