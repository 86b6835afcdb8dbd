#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# ddp-recv as a server of many senders, its target directory under the actions of peers, disks and
# signals, and ddp-recv pulling from ddp-send --listen.

# bats file_tags=beside

load helpers
load transfers

no_parts() {
    [ -z "$(find "$1" -name '.iw-*')" ]
}

# has_kib N: more than N KiB have arrived
has_kib() {
    [ "$(du -ks --apparent-size dst | cut -f 1)" -gt "$1" ]
}

some_parts() {
    [ -n "$(find "$1" -name '.iw-*')" ]
}

@test "pulling: every mode and size, several files, another name, standard output" {
    local mode

    : >src/empty
    printf x >src/one
    random_file src/odd 5000001
    offer
    for mode in write read send; do
        rm -rf dst/*
        pull -m $mode 127.0.0.1:empty 127.0.0.1:one 127.0.0.1:odd dst
        assert_status 0
        run_here diff -r src dst
        assert_status 0
        assert_equal "$(stat -c '%a %.9Y' src/odd)" "$(stat -c '%a %.9Y' dst/odd)"
        pull -m $mode 127.0.0.1:odd dst/renamed
        assert_status 0
        assert_same_file src/odd dst/renamed
        pull -m $mode 127.0.0.1:odd -
        assert_status 0
        assert_same_file src/odd "$OUTPUT_FILE"
    done
    pull 127.0.0.1: dst/
    assert_status 0
    assert_output_has 'nothing to do: 3 files are up to date'
    assert_no_parts dst
}

@test "pulling: no file outside the served directory can be fetched" {
    mkdir src/sub outside
    printf secret >outside/s
    ln -s ../outside/s src/link
    ln -s ../outside src/dir
    ln -s sub/inner src/inside
    printf inner >src/sub/inner
    offer
    for path in ../outside/s sub/../../outside/s "$PWD/outside/s" link dir/s /etc/passwd; do
        pull 127.0.0.1:"$path" dst
        assert_status 1
        case $path in
        /*) why='the path is absolute; paths are relative to the served directory' ;;
        *..*) why='the path leads out of the served directory by ".."; paths are relative to it' ;;
        *) why='cannot open it: a symbolic link in the path leads out of the served directory' ;;
        esac
        assert_stderr_is "ddp-recv: $path: the peer says: name refused: $why"
        grep -qxF "ddp-send: $path: name refused: $why" "$BATS_TEST_TMPDIR/serve.$SERVED.err" || fail_with "the server does not name $path"
        assert_equal "$(find dst -type f)" ''
    done
    pull 127.0.0.1:missing dst
    assert_status 1
    assert_stderr_has 'no such file or directory'
    # A link that stays inside is followed.
    pull 127.0.0.1:inside dst
    assert_status 0
    assert_equal "$(cat dst/inside)" inner
}

@test "links planted in the target are not followed out of it" {
    mkdir -p src/tree outside
    printf evil >src/tree/f
    printf evil >src/g
    printf precious >outside/f
    ln -s "$PWD/outside" dst/tree
    ln -s ../outside dst/rel
    ln -s "$PWD/outside/f" dst/g
    listen
    # The directory of that name is a link that leads outside.
    push src/tree 127.0.0.1:
    assert_status 1
    push src/g 127.0.0.1:rel/f
    assert_status 1
    assert_stderr_has 'cannot open the target directory: a symbolic link in the path leads out of the served directory'
    push src/g 127.0.0.1:tree
    assert_status 1
    push src/g 127.0.0.1:../outside/f
    assert_status 1
    assert_stderr_has "the target's path \"../outside/f\" has a component \"..\"; paths are relative to the directory that the listener serves"
    # A link in place of the file is replaced, not followed.
    push --force src/g 127.0.0.1:
    assert_status 0
    [ ! -L dst/g ] || fail_with 'dst/g is still a link'
    assert_equal "$(cat outside/f)" precious
    assert_equal "$(ls -A outside)" f
}

@test "many senders at once, while one sends garbage, one is silent and one stops in the middle of a file" {
    local i pids=() staller

    for i in 1 2 3 4 5 6; do
        random_file src/f$i 8M
    done
    random_file src/slow 64M
    listen --timeout 60s
    # Garbage instead of an MPA Request, half of a Request, no octet at all.
    (printf 'GET / HTTP/1.0\r\n\r\n' >&5; sleep 20) 5<>/dev/tcp/127.0.0.1/"$PORT" 3>&- &
    pids+=($!)
    (printf 'MPA ID Req Frame' >&5; sleep 20) 5<>/dev/tcp/127.0.0.1/"$PORT" 3>&- &
    pids+=($!)
    (sleep 20) 5<>/dev/tcp/127.0.0.1/"$PORT" 3>&- &
    pids+=($!)
    ddp-send -p "$PORT" --bwlimit 400M src/slow 127.0.0.1: >/dev/null 2>&1 </dev/null 3>&- &
    staller=$!
    wait_until 10 some_parts dst
    kill -STOP $staller
    for i in 1 2 3 4 5 6; do
        ddp-send -p "$PORT" src/f$i 127.0.0.1: >send.$i 2>&1 </dev/null 3>&- &
        SENDERS[i]=$!
    done
    for i in 1 2 3 4 5 6; do
        wait "${SENDERS[i]}" || fail_with "sender $i: $(cat send.$i)"
        assert_same_file src/f$i dst/f$i
    done
    kill -CONT $staller
    wait $staller || fail_with 'the transfer of the stopped sender failed'
    assert_same_file src/slow dst/slow
    kill "${pids[@]}" 2>/dev/null || true
    serve_end
    assert_status 0
}

@test "a sender that is killed, or stops for longer than --timeout, leaves the old file as it was" {
    local pid

    random_file src/big 64M
    printf old >dst/big
    listen --timeout 2s
    ddp-send -p "$PORT" --bwlimit 200M src/big 127.0.0.1: >/dev/null 2>&1 </dev/null 3>&- &
    pid=$!
    wait_until 10 some_parts dst
    kill -KILL $pid
    assert_equal "$(cat dst/big)" old
    ddp-send -p "$PORT" --bwlimit 200M src/big 127.0.0.1: >/dev/null 2>&1 </dev/null 3>&- &
    pid=$!
    # More than the first sender can have left.
    wait_until 10 has_kib 30000 || fail_with 'nothing arrives'
    kill -STOP $pid
    wait_until 15 grep -q 'nothing was heard from the peer for 2 s' "$BATS_TEST_TMPDIR/serve.1.err" || fail_with 'the listener does not abandon the sender'
    kill -KILL $pid
    assert_equal "$(cat dst/big)" old
    # The server continues to serve.
    push --force src/big 127.0.0.1:
    assert_status 0
    assert_same_file src/big dst/big
    assert_no_parts dst
}

# in_mount CMD...: runs CMD in the mount namespace of the server
in_mount() {
    nsenter -t "$MOUNT_PID" -m "$@"
}

# serve_small SIZE [OPTION...]: starts a receiver on a small file system of its own, which no other
# process sees
serve_small() {
    local size=$1
    shift

    unshare --mount true 2>/dev/null || skip 'needs root: no mount namespace'
    serve_here unshare --mount --propagation private bash -c \
        "mount -t tmpfs -o size=$size none dst && exec ddp-recv -p $PORT $* dst"
    MOUNT_PID=$SERVE_PID
}

# gate OCTETS CMD...: relays a connection from $GATE to $PORT, and runs CMD before it passes more than
# OCTETS of the client
gate() {
    GATE=$(free_port)
    serve_here python3 -c "
import select, socket, subprocess, sys
before = int(sys.argv[1])
client, _ = socket.create_server(('127.0.0.1', $GATE)).accept()
server = socket.create_connection(('127.0.0.1', $PORT))
while True:
    for sock in select.select([client, server], [], [])[0]:
        octets = sock.recv(65536)
        if not octets:
            sys.exit()
        if sock is client and 0 <= before < len(octets):
            subprocess.run(sys.argv[2:], check=True)
        before -= len(octets) if sock is client else 0
        (server if sock is client else client).sendall(octets)
" "$@"
}

# push_until_full [OPTION...]: sends src/big; after 4 MB of it another file takes the free space
push_until_full() {
    gate 4000000 nsenter -t "$MOUNT_PID" -m fallocate -l 10M "$PWD/dst/filler"
    run_here ddp-send -p "$GATE" "$@" src/big 127.0.0.1:
    assert_status 1
    assert_stderr_has 'big: the peer says: cannot write: no space left on device; '
}

@test "a full disk fails the file with its reason, and the same command resumes when there is space" {
    random_file src/big 12M
    serve_small 16M
    for mode in write read send; do
        push_until_full -m $mode --force
        # shellcheck disable=SC2154
        [[ $stderr =~ \;\ (\.iw-[0-9a-f]{16}\.part)\ is\ kept:\ the\ same\ command\ resumes\ it ]] ||
            fail_with 'the partial file is not named'
        in_mount test -e "$PWD/dst/${BASH_REMATCH[1]}" || fail_with 'it is not there'
        assert_output_has '1 FAILED'
        # The free space is not enough for the whole file, but for the missing part.
        in_mount bash -c "rm $PWD/dst/filler && fallocate -l 2M $PWD/dst/filler"
        push -m $mode --force --json src/big 127.0.0.1:
        assert_status 0
        assert_jsonl '[.[] | select(.event=="result") | .resumed_octets > 1000000][0]' true
        in_mount cmp "$PWD/src/big" "$PWD/dst/big"
        in_mount bash -c "cd $PWD/dst && rm -rf ./* ./.iw*"
    done
}

@test "--no-keep-partial removes the partial file of a failed transfer, pushed or fetched" {
    random_file src/big 12M
    serve_small 16M --no-keep-partial
    push_until_full
    assert_stderr_lacks 'is kept'
    assert_stderr_lacks 'resume'
    wait_until 5 in_mount bash -c "! compgen -G '$PWD/dst/.iw-*'" || fail_with 'it is kept'
    serve_end 1
    serve_here ddp-send --listen --bwlimit 40M -p "$PORT" src
    for option in '' --no-keep-partial; do
        # timeout --foreground sends one signal; a second one would end the tool at once.
        run_here timeout --foreground -s TERM 0.8 ddp-recv $option -p "$PORT" 127.0.0.1:big dst
        assert_stderr_has interrupted
        if [ -z "$option" ]; then
            assert_stderr_has 'run the same command again to resume'
            [ -n "$(find dst -name '.iw-*.part')" ] || fail_with 'nothing was kept'
        else
            assert_stderr_lacks 'to resume'
            assert_equal "$(find dst -name '.iw-*')" ''
        fi
    done
}

@test "a file that does not fit is refused before it is sent, a sparse one is not" {
    random_file src/big 12M
    truncate -s 1G src/sparse
    dd if=src/big of=src/sparse bs=1M seek=500 count=3 conv=notrunc status=none
    serve_small 8M
    for options in '' '-j 2' '-m send'; do
        # shellcheck disable=SC2086
        push --json $options src/big 127.0.0.1:
        assert_status 1
        assert_jsonl '[.[]|select(.event=="file")|[.code,.text]][0]' '["SPACE","needs 12.0 MiB, the file system has 8.0 MiB free"]'
        assert_jsonl '[.[]|select(.event=="result")][0].moved_octets' 0
    done
    push src/sparse 127.0.0.1:
    assert_status 0
    in_mount cmp "$PWD/src/sparse" "$PWD/dst/sparse"
    random_file src/fits 4M
    push src/fits 127.0.0.1:
    assert_status 0
    # The new file needs space in addition to the old one.
    push --force src/fits 127.0.0.1:
    assert_status 1
    assert_stderr_has 'needs 4.0 MiB'
}

@test "a limit on the size of files is an error, not the end" {
    random_file src/big 3M
    serve_here bash -c "ulimit -f 1024; exec ddp-recv -p $PORT dst"
    push src/big 127.0.0.1:
    assert_status 1
    assert_stderr_is 'ddp-send: src/big: the peer says: above a limit: cannot write: file too large: the limit is 1048576 octets (ulimit -f)'
    assert_equal "$(find dst -type f)" ''
    [ ! -e dst/big ] || fail_with 'dst/big exists'
    printf 1 >src/small
    push src/small 127.0.0.1:
    assert_status 0
}

@test "--delete reports that it removed nothing when no directory is fetched" {
    mkdir src/d
    printf 1 >src/d/f
    printf 1 >src/f
    offer
    pull --delete --yes 127.0.0.1:f dst
    assert_status 0
    assert_stderr_is 'ddp-recv: warning: --delete had no effect: no directory was transferred; leave it out'
    pull --delete --yes 127.0.0.1:d dst
    assert_status 0
    assert_stderr_is ''
    pull --delete --yes 127.0.0.1:d/ dst/d
    assert_status 0
    assert_stderr_is ''
    # A missing source may have been a directory: nothing is removed.
    pull --delete --yes 127.0.0.1:nosuch dst
    assert_status 1
    assert_stderr_is 'ddp-recv: nosuch: the peer says: cannot open it: no such file or directory'
}

@test "permission denied in the target directory" {
    require_root
    printf 1 >src/a
    mkdir dst/open
    chmod 777 dst/open
    chmod 755 . dst
    serve_here setpriv --reuid 65534 --regid 65534 --clear-groups ddp-recv -p "$PORT" dst
    push src/a 127.0.0.1:
    assert_status 1
    assert_stderr_is 'ddp-send: src/a: the peer says: cannot create a temporary file in the target directory: permission denied; user 65534 needs write permission there'
    push src/a 127.0.0.1:open
    assert_status 0
}

@test "only a regular file is replaced" {
    printf 1 >src/fifo
    printf 1 >src/dir
    mkfifo dst/fifo
    mkdir dst/dir
    listen
    push src/fifo 127.0.0.1:
    assert_status 1
    assert_stderr_has 'the target is a named pipe, not a regular file'
    [ -p dst/fifo ] || fail_with 'dst/fifo is not a pipe any more'
    push src/dir 127.0.0.1:
    assert_status 1
    assert_stderr_has 'at the target, dir is a directory, not a file; remove it, or name another target'
}

@test "a link that leads to a device, a pipe or a socket is not replaced" {
    local special='not a possible target: the target is a symbolic link to a'

    mkdir -p src/d
    printf 1 >src/d/f
    mkfifo pipe
    ln -s ../pipe dst/f
    ln -s /dev/null null
    ln -s nowhere dangling
    offer
    pull 127.0.0.1:d/ dst
    assert_status 1
    assert_stderr_is "ddp-recv: f: $special named pipe, not a regular file"
    pull 127.0.0.1:d/f null
    assert_status 1
    assert_stderr_is "ddp-recv: d/f: $special character device, not a regular file; to write there, use - as TARGET, and >null"
    pull 127.0.0.1:d/f dangling
    assert_status 0
    assert_equal "$(find . -type l -printf '%p %l\n' | sort)" "$(printf '%s\n' './dst/f ../pipe' './null /dev/null')"
    serve_end
    listen
    push src/d/f 127.0.0.1:
    assert_status 1
    assert_stderr_is "ddp-send: src/d/f: the peer says: $special named pipe, not a regular file"
    [ -L dst/f ] || fail_with 'dst/f is not a link any more'
    # A link may replace a link.
    ln -sf other src/d/f
    push src/d/ 127.0.0.1:
    assert_status 0
    assert_equal "$(readlink dst/f)" other
}

@test "nothing is stored or removed in /dev, /proc and /sys" {
    local own='mount -t tmpfs own /dev && mkdir /dev/shm /dev/dir && mount -t tmpfs shm /dev/shm && ln -s /proc/self/fd/1 /dev/stdout'
    local to name

    require_root
    mkdir -p src/d src/dev
    printf 1 >src/f
    offer
    while read -r name to; do
        run_here unshare -m sh -c "$own && ddp-recv -p $PORT --delete --yes 127.0.0.1:$name $to >out; echo \$?; ls /dev; test -L /dev/stdout"
        assert_status 0
        assert_stderr_is "ddp-recv: $to: no files are stored in /dev, which the kernel provides; name another target, or - for standard output"
        assert_output_is "$(printf '%s\n' 4 dir shm stdout)"
    done <<'EOF'
f /dev
f /dev/stdout
f /dev/new
f /dev/dir
d/ /dev
d/ /dev/dir
EOF
    run_here unshare -m sh -c "$own && ddp-recv -p $PORT 127.0.0.1:f /dev/shm && cat /dev/shm/f"
    assert_status 0
    run_here unshare -m sh -c "$own && ddp-recv -p $PORT --delete --yes 127.0.0.1:dev /; ls /dev"
    assert_stderr_has 'dev: not a possible target: no files are stored in /dev, which the kernel provides; name another target'
    assert_output_has stdout
    run_here unshare -m sh -c "$own && exec ddp-recv -p $PORT /dev"
    assert_status 4
    assert_stderr_is 'ddp-recv: /dev: no files are stored in /dev, which the kernel provides; name another directory'
}

@test "a target of ddp-send may lead through a link that stays in the served directory" {
    mkdir dst/real outside
    ln -s real dst/in
    ln -s ../outside dst/out
    printf 1 >src/f
    listen
    push src/f 127.0.0.1:in
    assert_status 0
    push src/f 127.0.0.1:in/g
    assert_status 0
    assert_equal "$(ls -m dst/real)" 'f, g'
    push src/f 127.0.0.1:out/g
    assert_status 1
    assert_equal "$(ls outside)" ''
}

@test "a requested name that cannot be sent is shown as it was typed, with a remedy" {
    mkdir -p src/d
    printf 1 >src/d/f
    offer
    pull 127.0.0.1:d/nosuch dst
    assert_status 1
    assert_stderr_is 'ddp-recv: d/nosuch: the peer says: cannot open it: no such file or directory'
    for name in d/f/ d/f/x; do
        pull 127.0.0.1:$name dst
        assert_status 1
        assert_stderr_is "ddp-recv: $name: the peer says: name refused: a component before a slash is a file; end the path with the file's name"
    done
    name=$(printf %0256d 0)
    pull "127.0.0.1:$name" dst
    assert_status 1
    assert_stderr_is "ddp-recv: $name: the peer says: name refused: cannot open it: file name too long: at most 255 octets, and 4095 in a path"
    pull '127.0.0.1:d/*' dst
    assert_status 1
    assert_stderr_is 'ddp-recv: d/*: the peer says: cannot open it: no such file or directory; wildcards are not expanded: name the directory, and select files with --include and --exclude'
    pull 127.0.0.1: -
    assert_status 1
    assert_stderr_is 'ddp-recv: the served directory: a directory cannot be written to standard output; name one file, or give a directory as TARGET'
    pull 127.0.0.1:d -
    assert_status 1
    assert_stderr_is 'ddp-recv: d: a directory cannot be written to standard output; name one file, or give a directory as TARGET'
}

@test "a directory is not fetched to standard output" {
    mkdir src/d
    # Files of that size are not sent in packs.
    random_file src/large 2M
    random_file src/d/large 2M
    offer
    for path in '' d d/; do
        pull "127.0.0.1:$path" -
        assert_status 1
        assert_equal '' "$output"
        assert_stderr_has 'a directory cannot be written to standard output; name one file'
    done
}

@test "a listener that writes to standard output says how a directory can be sent" {
    local why="the listener is \`ddp-recv -\`, which takes one file: start it as \`ddp-recv DIR\`, or send a stream: tar c DIR | ddp-send - HOST:"

    mkdir src/d
    printf 1 >src/d/f
    printf 2 >src/g
    serve_here ddp-recv -p "$PORT" -
    push src/d 127.0.0.1:
    assert_status 1
    assert_stderr_is "ddp-send: src/d: the peer says: $why"
    serve_end
    serve_here ddp-recv -p "$PORT" -
    push src/g src/d/f 127.0.0.1:
    assert_status 1
    assert_stderr_is "ddp-send: src/d/f: the peer says: $why"
    serve_end
    assert_output_is 2
}

@test "of two fetched files with the same name, the second is refused by name" {
    mkdir src/q
    echo first >src/f
    echo later >src/q/f
    offer
    pull 127.0.0.1:f 127.0.0.1:q/f dst
    assert_status 1
    assert_stderr_is 'ddp-recv: f: the peer says: name refused: q/f and f would have one name at the target; use two target directories'
    assert_same_file src/f dst/f
}

@test "a target that cannot be written is named, with a remedy" {
    printf 1 >src/f
    printf 1 >file
    printf 1 >dst/file
    offer
    pull 127.0.0.1:f file/y
    assert_status 4
    assert_stderr_is 'ddp-recv: file/y: "file" is a regular file, not a directory; name another target'
    mkfifo pipe
    pull 127.0.0.1:f pipe
    assert_status 1
    assert_stderr_is 'ddp-recv: f: not a possible target: the target is a named pipe, not a regular file; to write there, use - as TARGET, and >pipe'
    pull 127.0.0.1:f file/
    assert_status 4
    assert_stderr_is 'ddp-recv: file/: "file" is a regular file, not a directory; name another target'
    run_here sh -c "mkdir gone && cd gone && rmdir ../gone && ddp-recv -p $PORT 127.0.0.1:f ."
    assert_status 4
    assert_stderr_is 'ddp-recv: .: the target directory has been removed; name one that exists'
    run_here sh -c "mkdir gone && cd gone && rmdir ../gone && exec ddp-recv -p $PORT ."
    assert_status 4
    assert_stderr_is 'ddp-recv: .: the directory has been removed; name one that exists'
    serve_end
    listen
    push src/f 127.0.0.1:file/y
    assert_status 1
    assert_stderr_has 'not a possible target: "file" is a regular file, not a directory; name another target'
}

@test "a listener that cannot create files in its directory says so at the start" {
    require_root
    chmod 755 . dst
    serve_here setpriv --reuid 65534 --regid 65534 --clear-groups ddp-recv -p "$PORT" dst
    serve_end
    assert_stderr_has 'dst: user 65534 cannot create files there: permission denied; only directories below it that permit this can be targets'
}

@test "without permission the target's directory and the user are named" {
    require_root
    printf 1 >src/f
    chmod 755 . dst
    mkdir closed
    chmod 700 closed
    offer
    run_here setpriv --reuid 65534 --regid 65534 --clear-groups ddp-recv -p "$PORT" 127.0.0.1:f dst
    assert_status 1
    assert_stderr_is 'ddp-recv: f: cannot create a temporary file in dst: permission denied; user 65534 needs write permission there'
    run_here setpriv --reuid 65534 --regid 65534 --clear-groups ddp-recv -p "$PORT" 127.0.0.1:f closed
    assert_status 3
    assert_stderr_is 'ddp-recv: closed: cannot open the target directory: permission denied'
}

@test "--once takes one transfer and ends with its status" {
    printf 1 >src/a
    listen --once
    push src/a 127.0.0.1:
    assert_status 0
    wait_served
    assert_status 0
    listen --once
    push --force src/a src/none 127.0.0.1:
    assert_status 1
    wait_served
    assert_status 1
}

@test "SIGTERM: an idle listener ends at once, a busy one finishes, a stuck one gives up" {
    local pid

    listen
    serve_end
    assert_status 0
    random_file src/big 64M
    # During a transfer, the listener completes it before it ends.
    listen
    ddp-send -p "$PORT" --bwlimit 400M src/big 127.0.0.1: >send.out 2>&1 </dev/null 3>&- &
    pid=$!
    wait_until 10 some_parts dst
    kill -TERM "$SERVE_PID"
    wait $pid || fail_with "the sender failed: $(cat send.out)"
    wait_served
    assert_status 0
    assert_same_file src/big dst/big
    rm dst/big
    # If the transfer is stuck, the listener waits at most for its --timeout.
    listen --timeout 3s
    ddp-send -p "$PORT" --bwlimit 400M src/big 127.0.0.1: >send.out 2>&1 </dev/null 3>&- &
    pid=$!
    wait_until 10 some_parts dst
    kill -STOP $pid
    kill -TERM "$SERVE_PID"
    wait_served
    assert_status 0
    kill -KILL $pid
    [ ! -e dst/big ] || fail_with 'dst/big exists'
}

rss_kib() {
    sed -n 's/^VmRSS:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$SERVE_PID/status"
}

# holds_at_most KIB: the listener's memory
holds_at_most() {
    [ "$(rss_kib)" -le "$1" ]
}

# AddressSanitizer keeps freed memory for a while.
# bats test_tags=plain
@test "a listener without connections does not keep the memory of a large transfer" {
    local transport before words

    printf x >src/one
    random_file src/big 24M
    for transport in tcp udp; do
        words=(-t "$transport")
        [ $transport = tcp ] || words+=(--udp-port "$PORT")
        listen "${words[@]}"
        push "${words[@]}" src/one 127.0.0.1:
        assert_status 0
        before=$(rss_kib)
        push "${words[@]}" -j 4 src/big 127.0.0.1:$transport
        assert_status 0
        # It held 12 MiB: chunks of 1 MiB.
        wait_until 10 holds_at_most $((before + 4096)) ||
            fail_with "$transport: $before KiB before the transfer, $(rss_kib) KiB after it"
        serve_end
    done
}

@test "the listener waits for a slow reader of standard output, longer than --timeout" {
    random_file stream 30M
    IW_READY='listening on' serve_here bash -c "ddp-recv --timeout 1s -p $PORT - | { sleep 2.5; cat >slow.out; }"
    IW_STDIN=stream push --timeout 1s - 127.0.0.1:
    assert_status 0
    wait_served
    assert_same_file stream slow.out
}

@test "a reader that closes standard output fails the transfer" {
    random_file stream 30M
    IW_READY='listening on' serve_here bash -c "ddp-recv -p $PORT - | head -c 1000 >/dev/null; exit \${PIPESTATUS[0]}"
    IW_STDIN=stream push - 127.0.0.1:
    assert_status 1
    assert_stderr_has 'write to standard output: broken pipe'
    wait_served
    assert_status 1
}

@test "a source that waits for its pipe for longer than --timeout is not given up" {
    listen --timeout 1s
    run_here bash -c "{ printf one; sleep 2.5; printf two; } | ddp-send --timeout 1s -p $PORT - 127.0.0.1:slow"
    assert_status 0
    assert_equal "$(cat dst/slow)" onetwo
}

@test "the listening event names transport and ports, and -q keeps the line of port 0" {
    local got

    IW_READY='listening' serve_here ddp-recv --json -t udp -p "$PORT" --udp-port 17500 dst
    serve_end
    got=$(jq -c 'select(.event=="listening") | [.transport, .port, .udp_port]' "$BATS_TEST_TMPDIR/serve.$SERVED.out")
    assert_equal "$got" "[\"udp\",$PORT,17500]"
    IW_READY='listening on' serve_here ddp-recv -q -p 0 dst
    serve_end
}

@test "with --udp-port 0 a listener reports the UDP port that the system chose" {
    local udp

    printf data >file
    IW_READY='listening on' serve_here ddp-recv -q -t udp -p "$PORT" --udp-port 0 dst
    udp=$(sed -n 's/.*UDP port \([0-9]*\).*/\1/p' "$BATS_TEST_TMPDIR/serve.$SERVED.out")
    [ "${udp:-9899}" -ne 9899 ] || fail_with 'the listener uses the default port, or none'
    run_here ddp-send -t udp -p "$PORT" --udp-port "$udp" file 127.0.0.1:
    assert_status 0
    assert_equal "$(cat dst/file)" data
    run_here ddp-send -t udp -p "$PORT" --udp-port 0 file 127.0.0.1:
    assert_status 2
    assert_stderr_has "--udp-port 0: the system chooses the UDP port of a listener only; give the listener's UDP port here"
    run_here ddp-bench -t udp --udp-port 0 127.0.0.1 write
    assert_status 2
    run_here sctp-ddp-ping -t udp --udp-port 0 127.0.0.1
    assert_status 2
}

@test "no event is written to the output of the data: a usage error with - or --from has none" {
    run_here ddp-recv --json 127.0.0.1:a -
    assert_status 2
    assert_output_is ''
    assert_stderr_has '--json: not possible when the data go to standard output'
    run_here ddp-recv --json --port 99999 127.0.0.1:a -
    assert_status 2
    assert_output_is ''
    run_here ddp-recv --json --from nothing
    assert_status 2
    assert_output_is ''
    run_here ddp-recv --json --port 99999 127.0.0.1:a dst
    assert_status 2
    assert_jsonl '.[0].event' error
}

@test "a dry run writes no data to standard output, and its totals say that nothing was moved" {
    printf 1 >src/f
    offer
    pull --dry-run 127.0.0.1:f -
    assert_status 2
    assert_output_is ''
    assert_stderr_has '--dry-run: not possible when the data go to standard output'
    pull --dry-run --stats 127.0.0.1:f dst
    assert_status 0
    assert_output_has 'files:       1 would be sent, 0 unchanged'
}

@test "usage errors, and impossible requests, with their status" {
    run_here ddp-recv
    assert_status 2
    run_here ddp-recv 127.0.0.1:x
    assert_status 2
    run_here ddp-recv 127.0.0.1:x 10.0.0.1:y dst
    assert_status 2
    assert_stderr_has 'all sources must be on one host'
    run_here ddp-recv a host:
    assert_status 2
    assert_stderr_has 'the target is remote; to send, use ddp-send a host:'
    run_here ddp-recv -m read dst
    assert_status 2
    run_here ddp-recv --json -
    assert_status 2
    run_here ddp-recv nowhere
    assert_status 4
    assert_stderr_has 'nowhere'
    touch plain
    run_here ddp-recv plain
    assert_status 4
    assert_stderr_has 'plain: not a directory; name an existing directory for the files'
    run_here ddp-send --listen plain
    assert_status 4
    assert_stderr_has 'plain: not a directory; name the directory whose files are to be served'
    run_here ddp-recv -t xdp -I lo -p "$PORT" dst
    assert_status 3
}

@test "a listener without --bind serves only this machine, and reports that" {
    listen
    wait_until 5 grep -q "listening on 127.0.0.1:$PORT, for this machine only" "$BATS_TEST_TMPDIR/serve.$SERVED.out"
    serve_end
    serve_here ddp-recv --json -p 0 dst
    wait_until 5 grep -q '"event":"listening"' "$BATS_TEST_TMPDIR/serve.$SERVED.out"
    serve_end
    assert_jsonl '.[0] | .port > 0' true
}

@test "small files and directories of one pack each have their own reason" {
    require_root
    mkdir src/sub
    printf 1 >src/f
    printf 2 >src/sub/g
    chmod 755 . dst
    offer
    run_here setpriv --reuid 65534 --regid 65534 --clear-groups ddp-recv -p "$PORT" 127.0.0.1: dst
    assert_status 1
    assert_stderr_has 'ddp-recv: f: cannot create a temporary file in dst: permission denied; user 65534 needs write permission there'
    assert_stderr_has 'ddp-recv: sub: cannot create the directory: permission denied'
    assert_stderr_has 'ddp-recv: sub/g: cannot create its directory: permission denied'
    # The pack fails as a whole, with one reason, which does not apply to all three files.
    serve_end
    assert_stderr_has 'f: the peer says: permission denied'
    assert_stderr_has 'sub/g: the peer says: permission denied'
}
