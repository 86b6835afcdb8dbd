# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# Transfers over a bad link: a listener at $PORT (and $UDP_PORT), and ddp-impair at $LINE, which
# disturbs the traffic. Load helpers.bash and transfers.bash first.

setup() {
    transfer_setup
    LINE=$(free_port)
}

# bad_line TCP|UDP OPTION...: options of ddp-impair
bad_line() {
    local t=$1 to=$PORT
    shift

    [ "$t" = tcp ] || to=$UDP_PORT
    IW_READY=', relaying' serve_here ddp-impair -t "$t" --listen "$LINE" --to "127.0.0.1:$to" --json "$@"
    LINE_SERVED=$SERVED
}

# True after the first decision by a rule.
harmed() {
    grep -q '"event":"decision"' "$BATS_TEST_TMPDIR/serve.$LINE_SERVED.out"
}

make_tree() {
    mkdir -p src/t/d
    random_file src/t/big 6M
    random_file src/t/other 3M
    random_file src/t/d/small 5000
    : >src/t/d/empty
    chmod 640 src/t/other
}

assert_same_tree() {
    diff -r "$1" "$2" || fail_with "trees differ: $1 $2"
    assert_equal "$(cd "$1" && find . -type f -printf '%P %m %T@\n' | sort)" "$(cd "$2" && find . -type f -printf '%P %m %T@\n' | sort)"
}

assert_no_leftovers() {
    assert_equal "$(find dst -name '.iw-*')" ''
}
