#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# bats file_tags=beside
#
# Start-up by ssh without ssh: a program that takes its arguments runs the far end on this machine.
# ssh.bats has the tests with a real sshd.

load helpers

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir far src
    # As ssh: options, HOST, --, a command for the shell of the far user, whose home is far.
    cat >fake-ssh <<'SH'
#!/bin/sh
printf '%s\n' "$@" >"$FAKE_DIR/arguments"
while [ "$1" != -- ]; do shift; done
shift
echo $$ >>"$FAKE_DIR/pids"
# A far end of ssh gets no signal from the local end.
cd "$FAKE_DIR/far" && HOME=$PWD PATH=$FAKE_PATH exec setpriv --pdeathsig clear sh -c "exec $*"
SH
    # The far end is in a network of its own: its port refuses connections.
    sed 's/clear sh/clear unshare --user --map-root-user --net sh/; s/"exec/"ip link set lo up; exec/' fake-ssh >blocked-ssh
    chmod +x fake-ssh blocked-ssh
    export FAKE_DIR=$PWD FAKE_PATH="$IW_BUILD:/usr/sbin:/usr/bin:/sbin:/bin"
    echo content >src/file
    printf x >$'src/a b"\'\n'
}

teardown() {
    wait_until 10 far_has_ended
}

far_has_ended() {
    local pid

    [ -e pids ] || return 0
    while read -r pid; do
        iw_gone "$pid" || return 1
    done <pids
}

# refuses STATUS TEXT CMD...: the command fails with one line, and nothing has arrived
refuses() {
    local want=$1 text=$2
    shift 2

    run_here "$@"
    assert_status "$want"
    assert_stderr_has "$text"
    assert_equal "$(ls far)" ''
}

# waits_for_ssh CMD...: the command waits for each process that it started. The program that runs it
# becomes the parent of those that are left, as process 1 otherwise does.
waits_for_ssh() {
    run_here python3 -c 'import ctypes, os, subprocess, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
status = subprocess.call(sys.argv[1:])
left = open(f"/proc/self/task/{os.getpid()}/children").read().split()
sys.exit(f"processes that are left: {left}" if left else status)' "$@"
}

@test "a transfer leaves no process that nobody has waited for" {
    require_tool python3
    waits_for_ssh ddp-send --ssh=./fake-ssh src/file box:
    assert_status 0
    waits_for_ssh ddp-send -j 2 --ssh=./fake-ssh src box:
    assert_status 0
    waits_for_ssh ddp-recv --ssh=./fake-ssh box:file back
    assert_status 0
    waits_for_ssh ddp-send --ssh=./blocked-ssh src/file box:other
    assert_status 0
    waits_for_ssh ddp-recv --ssh=./fake-ssh box:nothing back
    assert_status 1
}

@test "a file and a directory arrive below the home of the far user, and come back" {
    run_here ddp-send --ssh=./fake-ssh src box:
    assert_status 0
    diff -r src far/src
    run_here ddp-send --ssh=./fake-ssh src/file me@box:new
    assert_status 0
    assert_same_file src/file far/new
    assert_equal "$(paste -sd' ' arguments)" \
        '-x -a -T -oClearAllForwardings=yes -oPermitLocalCommand=no -oRemoteCommand=none -l me box -- ddp-recv --ssh-server'
    mkdir back
    run_here ddp-recv --ssh=./fake-ssh me@box:new me@box:src me@box:"$PWD/src/file" back
    assert_status 0
    assert_same_file src/file back/new
    assert_same_file src/file back/file
    diff -r src back/src
}

@test "the far end listens at the address at which ssh connected" {
    SSH_CONNECTION='127.0.0.1 9 127.0.0.7 22' run_here ddp-send --ssh=./fake-ssh src box:
    assert_status 0
    assert_output_has '127.0.0.7:'
    rm -r far/src
    SSH_CONNECTION='127.0.0.1 9 box 22' refuses 1 'SSH_CONNECTION="127.0.0.1 9 box 22": the third word is not an address' \
        ddp-send --ssh=./fake-ssh src box:
    require_ipv6
    SSH_CONNECTION='::1 9 ::1 22' run_here ddp-recv --ssh=./fake-ssh "me@[::1]:$PWD/src" back
    assert_status 0
    diff -r src back
}

@test "streams pass through a far end that ssh has started" {
    IW_STDIN=src/file run_here ddp-send --ssh=./fake-ssh - box:stream
    assert_status 0
    assert_same_file src/file far/stream
    run_here ddp-recv --ssh=./fake-ssh box:~/stream -
    assert_status 0
    assert_output_is content
}

@test "connections, patterns and --delete work with a far end that ssh has started" {
    head -c 20M /dev/urandom >src/big
    run_here ddp-send -j 4 --exclude 'a*' --ssh=./fake-ssh src box:
    assert_status 0
    assert_same_file src/big far/src/big
    assert_equal "$(ls far/src)" $'big\nfile'
    touch far/src/old
    run_here ddp-send --delete --yes --exclude 'a*' --ssh=./fake-ssh src box:
    assert_status 0
    assert_equal "$(ls far/src)" $'big\nfile'
}

@test "if the port of the far end is blocked, the pipe of ssh carries the transfer" {
    unshare --user --map-root-user --net true || skip 'needs netns: cannot make a network namespace'
    head -c 20M /dev/urandom >src/big
    run_here ddp-send -j 4 --ssh=./blocked-ssh src box:
    assert_status 0
    assert_stderr_has 'connection refused: the transfer uses the connection of ssh instead'
    diff -r src far/src
    run_here ddp-recv --ssh=./blocked-ssh box:src/big -
    assert_status 0
    assert_same_file "$OUTPUT_FILE" src/big
    rm -r far/src
    # It carries MPA, whose CRC is off: ssh has its own.
    run_here ddp-send --json -t udp --ssh=./blocked-ssh src box:
    assert_status 0
    assert_jsonl '[.[] | .crc | booleans] | unique' '[false]'
    rm -r far/src
    refuses 4 'connection refused (--no-fallback)' ddp-send --no-fallback --ssh=./blocked-ssh src box:
    run_here ddp-send --ssh=./blocked-ssh src box:
    assert_status 0
    # The dry run and the transfer use up an ssh each.
    touch far/src/old
    run_here ddp-send --delete --yes --exclude 'a*' --ssh=./blocked-ssh src box:
    assert_status 0
    assert_output_has '1 removed'
    [ ! -e far/src/old ]
    touch src/old
    run_here ddp-recv --dry-run --delete --ssh=./blocked-ssh box:src .
    assert_status 0
    assert_output_has '1 would be removed'
}

@test "each way in which the start can fail has its own message" {
    refuses 4 '/no/ssh: no such program; install it' ddp-send --ssh=/no/ssh src box:
    refuses 4 'box: ssh failed; its own message has the reason' ddp-send --ssh="sh -c 'exit 255'" src box:
    refuses 4 'nope is not installed at box, or not in its PATH: install it, or give --far-program' \
        ddp-send --far-program=nope --ssh=./fake-ssh src box:
    refuses 4 "it's; there is not installed" ddp-send --far-program="it's; there" --ssh=./fake-ssh src box:
    refuses 4 'box printed "Welcome to box" on standard output before ddp-recv answered' \
        ddp-send --ssh="sh -c 'echo Welcome to box; echo more; cat >/dev/null'" src box:
    refuses 4 'box printed "iwarp-ss" on' ddp-send --ssh="sh -c 'printf iwarp-ss'" src box:
    refuses 3 'ddp-recv 7.8.9 there has protocol 2 of the ssh start-up' \
        ddp-send --ssh="sh -c 'echo iwarp-ssh 2 7.8.9'" src box:
    refuses 4 'ended with status 2 before it answered' ddp-send --ssh="sh -c 'exit 2'" src box:
    refuses 4 'malformed message of the far end' \
        ddp-send --ssh="sh -c 'echo iwarp-ssh 1 0; head -c 100 /dev/zero; cat >/dev/null'" src box:
    refuses 4 'box: the ssh connection has ended' ddp-send --ssh="sh -c 'echo iwarp-ssh 1 0'" src box:
    refuses 1 'box: no/dir: no directory no there: create it first' ddp-send --ssh=./fake-ssh src box:no/dir
    refuses 1 'box: ~other/x: ~ is expanded only as ~/' ddp-send --ssh=./fake-ssh src box:~other/x
    refuses 1 'box: none/x: open the directory none there: no such file' ddp-recv --ssh=./fake-ssh box:none/x .
}

@test "a far end that offers another name than the requested one is refused" {
    mkdir in far/dir
    echo good >far/file
    echo evil >far/.evl
    # READY has the name that the far end will send.
    cat >other-name.py <<'PY'
import os, sys
while octets := os.read(0, 65536):
    os.write(1, octets.replace(b'file', os.environb[b'NAME']))
PY
    # shellcheck disable=SC2016
    sed 's/exec setpriv \(.*\)/setpriv \1 | python3 "$FAKE_DIR\/other-name.py"/' fake-ssh >lying-ssh
    chmod +x lying-ssh
    for name in .evl dir/ d/..; do
        NAME=$name run_here ddp-recv --ssh=./lying-ssh box:file in
        assert_status 4
        assert_stderr_has "box: the far end offers \"$name\" in place of \"file\"; nothing was received"
    done
    assert_equal "$(ls -A in)" ''
    NAME='file' run_here ddp-recv --ssh=./lying-ssh box:file in
    assert_status 0
    assert_same_file far/file in/file
    run_here ddp-recv --ssh=./fake-ssh 'box:~' in
    assert_status 0
    assert_same_file far/file in/far/file
}

@test "the far end listens in the range of ports, and says that all are in use" {
    local port

    port=$(free_port)
    run_here ddp-send --ssh-port-range="$port-$port" --ssh=./fake-ssh src box:
    assert_status 0
    assert_output_has "127.0.0.1:$port: 2 files"
    rm -r far/src
    serve_here python3 -c "import socket, time; l = socket.create_server(('127.0.0.1', $port)); print('listening', flush=True); time.sleep(100)"
    refuses 1 "ports $port to $port are all in use (--ssh-port-range)" \
        ddp-send --ssh-port-range="$port-$port" --ssh=./fake-ssh src box:
}

@test "options that contradict start-up by ssh are refused" {
    refuses 2 '--ssh: only with HOST:PATH, not for a listener' ddp-recv --ssh far
    refuses 2 '--no-fallback: only with USER@HOST or --ssh' ddp-send --no-fallback src box:
    refuses 2 '--ssh="ssh '"'"'x": a quote is not closed' ddp-send --ssh="ssh 'x" src box:
    refuses 2 '--ssh-port-range "9-8": expected FIRST-LAST' ddp-send --ssh-port-range=9-8 src me@box:
    refuses 2 '--ssh-port-range "0": expected FIRST-LAST' ddp-send --ssh-port-range=0 src me@box:
    refuses 2 '--port 22: the far end chooses its port' ddp-send -p 22 src me@box:
    refuses 2 '--ca: ssh authenticates the far end' ddp-send --ca=x src me@box:
    refuses 2 'ssh start-up works with -t tcp and -t udp' ddp-send -t sctp src me@box:
    refuses 2 '"-oProxyCommand=x": the name of a host cannot begin with a hyphen' \
        ddp-send --ssh -- src -oProxyCommand=x:
    refuses 2 '"-x": the name of a user cannot begin with a hyphen' ddp-send -- src -x@box:
    refuses 2 'all sources must be on one host, here me@box' ddp-recv me@box:a you@box:b .
}

has_begun() {
    [ -n "$(find far/src -name '.iw-*' -size +1M 2>/dev/null)" ]
}

@test "the far end ends at once when the local end is killed, and the local end when the far end is" {
    local pid

    # Random, because zeros are not sent.
    head -c 50M /dev/urandom >src/big
    ddp-send --bwlimit 20M --ssh=./fake-ssh src box: 3>&- &
    pid=$!
    wait_until 10 has_begun
    kill -KILL $pid
    wait_until 5 far_has_ended
    rm -rf far/src
    ddp-send --redial 3 --bwlimit 20M --ssh=./fake-ssh src box: 2>err 3>&- &
    pid=$!
    wait_until 10 has_begun
    kill -KILL "$(tail -n 1 pids)"
    status=0
    wait $pid || status=$?
    assert_equal $status 4
}
