#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The first command of the README, complete: in a copy of the tree without build results, as an
# ordinary user and then as root. And the report of the README's second command to an ordinary user,
# with a few test files.

# bats file_tags=compiles,all,plain

load helpers

readonly NOBODY=65534

# The first run builds.
setup_file() {
    export TREE ORDINARY=''

    TREE=$(mktemp -d "${TMPDIR:-/tmp}/iwarp-demo-test.XXXXXX")
    mkdir "$TREE/tmp" "$TREE/top"
    tar -C "$IW_TOP" -c --exclude=./.git --exclude="./${IW_BUILD#"$IW_TOP/"}" --exclude=./build . | tar -C "$TREE/top" -x
    if [ "$(id -u)" -eq 0 ]; then
        chmod 755 "$TREE"
        chown -R $NOBODY "$TREE"
        ORDINARY="setpriv --reuid $NOBODY --regid $NOBODY --clear-groups"
    fi
    demo user "$ORDINARY"
}

teardown_file() {
    rm -rf "$TREE"
}

# demo WHO PREFIX: runs the demo with its output in $TREE/WHO.log and its status in
# $TREE/WHO.status. It runs in its own session, so that the test can find processes that it fails to
# end. LTO would triple the build time, and is not tested here.
demo() {
    local rc=0

    # shellcheck disable=SC2016,SC2086
    timeout -k 5 1500 $2 env -u MAKEFLAGS -u MAKELEVEL -u BUILD -C "$TREE/top" TMPDIR="$TREE/tmp" HOME="$TREE/tmp" DEMO_SIZE=4M LTO= \
        setsid --wait sh -c 'echo $$ >"$TMPDIR/session"; exec scripts/demo' >"$TREE/$1.log" 2>&1 </dev/null 3>&- || rc=$?
    echo $rc >"$TREE/$1.status"
}

# Loads the log and the status of demo WHO.
said() {
    status=$(cat "$TREE/$1.status")
    output=$(cat "$TREE/$1.log")
    # For fail_with.
    # shellcheck disable=SC2034
    stderr='' COMMAND="scripts/demo ($1)"
}

# moved TRANSPORT: each operation moved the file, and the copy is identical
moved() {
    local mode

    for mode in write read send; do
        grep -qE "^$1 +$mode +4194304 .* yes, byte by byte\$" <<<"$output" || fail_with "$1 $mode was not moved"
    done
}

# The row of ssh: moved, or a reason such as a user who has no login shell
moved_by_ssh() {
    grep -qE '^ssh +(write +4194304 .* yes, byte by byte|- .* not here: .+)$' <<<"$output" || fail_with 'ssh: neither moved nor a reason'
}

left_nothing() {
    local session

    session=$(cat "$TREE/tmp/session")
    rm "$TREE/tmp/session"
    assert_equal "$(ls -A "$TREE/tmp")" ''
    assert_equal "$(pgrep -s "$session")" '' 'processes that are left'
}

@test "scripts/demo as an ordinary user moves its file over tcp and udp and gives a reason for the others" {
    said user
    assert_status 0
    left_nothing
    moved tcp
    moved udp
    moved_by_ssh
    for transport in raw xdp; do
        grep -qE "^$transport .* not here: .*(CAP_NET_RAW|built without)" <<<"$output" || fail_with "$transport has no reason"
    done
}

@test "tests of an ordinary user pass, or skip with a reason" {
    local ended

    # shellcheck disable=SC2086
    IW_TIMEOUT=300 run_here $ORDINARY env -i -C "$TREE/top" PATH="/usr/local/bin:/usr/bin:/bin" HOME="$TREE/tmp" TMPDIR="$TREE/tmp" \
        IW_BUILD="$TREE/top/build" \
        bats --tap tests/bats/confine.bats tests/bats/ddp-examples.bats tests/bats/tshark.bats tests/interop/usrsctp.bats
    assert_status 0
    # The plan of bats includes the tests of a file whose setup_file ended early.
    ended=$(grep -cE '^ok [0-9]' <<<"$output")
    assert_equal "1..$ended" "$(head -n 1 <<<"$output")"
    assert_output_has '# skip needs usrsctp: '
    ! grep '# skip' <<<"$output" | grep -vE '# skip needs [a-z-]+: .' || fail_with 'a skip has no reason'
}

@test "scripts/demo as root moves its file over every transport, AF_XDP included, and cleans up" {
    local why

    require_root
    demo root ''
    said root
    assert_status 0
    left_nothing
    moved tcp
    moved udp
    moved raw
    moved_by_ssh
    why=$(sed -n 's/^xdp .* not here: //p' <<<"$output")
    [ -z "$why" ] || skip "needs xdp: $why"
    moved xdp
}
