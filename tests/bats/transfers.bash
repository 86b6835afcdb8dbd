# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# Transfers on this machine, between the folders src and dst. Load helpers.bash first.
#
#   listen [OPTION...], offer   start a listener at $PORT: ddp-recv on dst, ddp-send on src
#   push ARG..., pull ARG...    connect to it: ddp-send, ddp-recv
#   assert_no_parts DIR         no temporary is left below DIR

setup() {
    transfer_setup
}

transfer_setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir src dst
    PORT=$(free_port)
}

listen() {
    serve_here ddp-recv -p "$PORT" "$@" dst
}

offer() {
    serve_here ddp-send --listen -p "$PORT" src
}

push() {
    run_here ddp-send -p "$PORT" "$@"
}

pull() {
    run_here ddp-recv -p "$PORT" "$@"
}

assert_no_parts() {
    assert_equal "$(find "$1" -name '.iw-*')" ''
}
