#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Transfers through a middle that injects seeded faults (tests/faults/rounds.py). Each transfer must
# be complete, or fail cleanly and be completed by the same command.
#
#   IW_FAULT_SEEDS=200   seeds of each kind of fault; IW_SEED is the first one

# Each test is a separate shell, and fail_with prints the variables that look unused.
# shellcheck disable=SC2030,SC2031,SC2034

# bats file_tags=waits,all

load helpers

: "${IW_FAULT_SEEDS:=3}" "${IW_SEED:=1}"

setup() {
    require_tool python3
    cd "$BATS_TEST_TMPDIR" || return 1
    IW_TIMEOUT=$((60 + 60 * IW_FAULT_SEEDS))
}

rounds() {
    run_here python3 -B "$IW_TOP/tests/faults/rounds.py" --build "$IW_BUILD" --work "$BATS_TEST_TMPDIR" "$@"
}

faults() {
    rounds --kinds "$1" --seeds "$IW_FAULT_SEEDS" --first "$IW_SEED"
    assert_status 0
}

# bats test_tags=plain
@test "the judge of the rounds finds each damaged target, and a client that hangs" {
    rounds --self-test
    assert_status 0
}

@test "faults of TCP streams never give a wrong target or a client that hangs" {
    faults tcp
}

@test "faults of SCTP datagrams never give a wrong target or a client that hangs" {
    faults udp
}
