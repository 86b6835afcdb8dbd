#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Another local user, who may write to the directory of ddp-recv: files that this user creates under
# the names of temporaries before a transfer begins are neither resumed nor trusted nor removed.

# bats file_tags=beside

# Each test is a separate shell, and fail_with prints the variables that look unused.
# shellcheck disable=SC2030,SC2031,SC2034

load helpers

STRANGER=65534

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir src dst
    # The directory is not sticky, so the kernel's fs.protected_regular does not protect the files.
    chmod 777 dst
    PORT=$(free_port)
}

listen() {
    serve_here ddp-recv -p "$PORT" "$@" dst
}

push() {
    run_here ddp-send -p "$PORT" "$@"
}

# Runs a command in dst as the other user.
as_stranger() {
    (cd dst && exec setpriv --reuid $STRANGER --regid $STRANGER --clear-groups "$@")
}

# interrupt FILE: leaves its temporary and journal in dst; $PART and $JOURNAL are their names
interrupt() {
    local pid status

    listen
    ddp-send -p "$PORT" --redial 0 --bwlimit 100M "$1" 127.0.0.1: >/dev/null 2>&1 </dev/null 3>&- &
    pid=$!
    wait_until 20 has_kib 4096 || fail_with 'nothing arrives'
    kill -KILL $pid
    status=0
    wait $pid 2>/dev/null || status=$?
    assert_equal $status 137 'exit status of the interrupted transfer'
    serve_end "$SERVED" KILL
    PART=$(cd dst && compgen -G '.iw-*.part') || fail_with 'no temporary remained'
    JOURNAL=${PART%.part}.journal
    [ -e "dst/$JOURNAL" ] || fail_with 'no journal remained'
}

has_kib() {
    [ "$(du -ks --apparent-size dst | cut -f 1)" -gt "$1" ]
}

@test "a temporary that another user has prepared is not used for the file" {
    local spy

    require_root
    random_file src/f 16M
    interrupt src/f
    rm dst/.iw-*
    : >dst/locked
    chown $STRANGER dst/locked
    # The other user keeps the file open and locked.
    # shellcheck disable=SC2016
    as_stranger sh -c 'umask 0; exec 5<>"$1"; flock 5; echo $$ >locked; exec sleep 60' _ "$PART" 3>&- &
    wait_until 10 test -s dst/locked
    spy=$(cat dst/locked)
    listen
    push src/f 127.0.0.1:
    kill "$spy"
    wait_until 10 iw_gone "$spy"
    assert_status 0
    assert_same_file src/f dst/f
    assert_equal "$(stat -c %u dst/f)" 0 'owner of the file'
    assert_equal "$(stat -c %s "dst/$PART")" 0 'octets that he got'
    # The same without the lock.
    rm dst/f
    push src/f 127.0.0.1:
    assert_status 0
    assert_same_file src/f dst/f
    assert_equal "$(stat -c %u dst/f)" 0 'owner of the file'
    assert_equal "$(stat -c %s "dst/$PART")" 0 'octets that he got'
}

@test "a journal of another user is not trusted" {
    require_root
    random_file src/f 16M
    interrupt src/f
    # The other user now owns both, and the octets do not match the journal's digests.
    printf forged | dd of="dst/$PART" conv=notrunc status=none
    chown $STRANGER "dst/$PART" "dst/$JOURNAL"
    listen
    push src/f 127.0.0.1:
    assert_status 0
    assert_same_file src/f dst/f
    # Only the journal: the temporary belongs to this user, with octets of an earlier transfer.
    rm -f dst/f dst/.iw-*
    serve_end
    interrupt src/f
    printf forged | dd of="dst/$PART" conv=notrunc status=none
    chown $STRANGER "dst/$JOURNAL"
    listen
    push src/f 127.0.0.1:
    assert_status 0
    assert_same_file src/f dst/f
}

@test "links, fifos and directories under the names of temporaries are ignored" {
    local kind

    require_root
    random_file src/f 16M
    printf precious >precious
    interrupt src/f
    listen
    for kind in link fifo dir; do
        rm -rf dst/.iw-* dst/f
        case $kind in
        link) as_stranger ln -s ../precious "$PART" && as_stranger ln -s ../precious "$JOURNAL" ;;
        fifo) as_stranger mkfifo "$PART" "$JOURNAL" ;;
        dir) as_stranger mkdir "$PART" "$JOURNAL" ;;
        esac
        push src/f 127.0.0.1:
        assert_status 0
        assert_same_file src/f dst/f
        assert_equal "$(cat precious)" precious
    done
}

@test "the sweep leaves the files of another user" {
    local ours=.iw-0123456789abcdef.part theirs=.iw-fedcba9876543210.part

    require_root
    printf 1 >src/f
    : >"dst/$ours"
    as_stranger touch "$theirs"
    touch -d '2 hours ago' "dst/$ours" "dst/$theirs"
    listen --max-age 1h
    push src/f 127.0.0.1:
    assert_status 0
    wait_until 10 [ ! -e "dst/$ours" ]
    assert_equal "$(cd dst && echo .iw-*)" "$theirs"
}

@test "a peer cannot send a file under the name of a temporary" {
    local name

    listen
    for name in .iw-0123456789abcdef.part .iw-0123456789abcdef.journal .IW-0123456789ABCDEF.PART; do
        random_file "src/$name" 1000
        push "src/$name" 127.0.0.1:
        assert_status 1
        assert_stderr_has 'reserved for temporary files'
        [ ! -e "dst/$name" ] || fail_with 'it exists'
        push "src/$name" "127.0.0.1:$name"
        assert_status 1
        printf 1 >src/g
        push src/g "127.0.0.1:$name"
        assert_status 1
        [ ! -e "dst/$name" ] || fail_with 'it exists'
        # No temporary is created below a directory of that name either.
        run_here python3 -c "
import sys
sys.path.insert(0, '$BATS_TEST_DIRNAME')
from hostile import *
p = Peer.connect('127.0.0.1', $PORT, hello(SOURCE))
p.open()
p.send({0: FILES, 4: [p.entry(1, b'$name/g', 1)]})
print(p.message(GO, RESULT)[0] == RESULT)"
        assert_output_is True
        [ ! -e "dst/$name" ] || fail_with 'it exists as a directory'
    done
}
