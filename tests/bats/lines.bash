# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# Transfers over a bad link: a listener at $PORT (and $UDP_PORT), and a relay at $LINE that disturbs
# the traffic. Load helpers.bash first.

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir src dst
    PORT=$(free_port)
    LINE=$(free_port)
}

# bad_line TCP|UDP WHAT: see bad_line.py
bad_line() {
    local to=$PORT

    require_tool python3
    [ "$1" = tcp ] || to=$UDP_PORT
    IW_READY=listening serve_here python3 "$IW_TOP/tests/bats/bad_line.py" "$1" "$LINE" "$to" "$2"
    LINE_SERVED=$SERVED
}

harmed() {
    grep -q harmed "$BATS_TEST_TMPDIR/serve.$LINE_SERVED.out"
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
