#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Many connections: one after another without a leak, and a thousand at the same time.

# bats file_tags=plain

load helpers

setup() {
    PORT=$(free_port)
}

# no_leak KIND N: N connections one after another. After the first 10,000 neither end may grow: a
# leak of 64 octets in each of the others would be more than the bound.
no_leak() {
    local program=$IW_BUILD/tests/setups/setups n=$2 bound=$((($2 - 10000) * 48)) end

    export IW_TIMEOUT=$((30 + n / 200))
    # With its dynamic threshold, glibc keeps a varying number of freed blocks of 4 MiB, up to five. A
    # fixed threshold returns each one to the system.
    export MALLOC_MMAP_THRESHOLD_=131072
    IW_READY=listening serve_here "$program" serve "$1" 127.0.0.1 "$PORT"
    run_here "$program" open "$1" 127.0.0.1 "$PORT" "$n"
    assert_status 0
    assert_output_has "connections $n failed 0 "
    end=$(tail -n 1 <<<"$output")
    within "$end" "$bound"
    serve_end 1 TERM
    assert_status 0
    end=$(tail -n 1 <<<"$output")
    within "$end" "$bound"
}

# within REPORT BOUND: checks the report of one end: octets of resident memory, and descriptors
within() {
    local _ first last fds_first fds_last

    read -r _ _ _ _ _ _ _ first last _ fds_first fds_last <<<"$1"
    [ "$first" -gt 0 ] || fail_with 'no resident memory is reported' "$1"
    [ $((last - first)) -le "$2" ] || fail_with "resident memory grew by more than $2 octets" "$1"
    # One connection may still be open when an end counts its descriptors.
    [ "$fds_last" -le $((fds_first + 1)) ] || fail_with 'descriptors are left open' "$1"
}

@test "20,000 connections over tcp leave no memory and no descriptor" {
    no_leak tcp 20000
}

@test "20,000 associations over udp leave no memory and no descriptor" {
    no_leak udp 20000
}

@test "20,000 sessions on one association leave no memory and no descriptor" {
    no_leak session 20000
}

# A small form of figure P16.
@test "a thousand connections at once have the same share of the rate" {
    ulimit -n 4096 || skip 'needs 4,096 open files'
    IW_TIMEOUT=60 serve_here ddp-bench --listen --once -q -p "$PORT"
    run_here ddp-bench 127.0.0.1 write -p "$PORT" -j 1000 -s 4K --depth 4 --time 500ms -w 200ms --json
    assert_status 0
    assert_jsonl '.[-1] | [.connections, .server_clients, .verified, .fairness >= 0.9]' '[1000,1000,true,true]'
    wait_served
}
