# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# Listeners whose disk is slow for one peer: the transfers of other peers continue. The limit of the
# tests, 250 ms, is half the time of one call on the slow disk. On an idle machine the longest gap
# in 3 s is about 7 ms, and 4 ms without the slow peer. All files are in memory, because the journal
# of a real file system makes one fsync() wait for another.

# bats file_tags=waits

load helpers

teardown() {
    helpers_teardown
    cd / || return 1
    [ -z "${TREE:-}" ] || rm -rf "$TREE"
}

setup() {
    require_tool python3 cc
    TREE=$(mktemp -d /dev/shm/iw-disk.XXXXXX)
    cd "$TREE" || return 1
    mkdir src dst dst/slow dst/fast
    export PYTHONPATH=$BATS_TEST_DIRNAME PYTHONDONTWRITEBYTECODE=1
    PORT=$(free_port)
    cc -D_GNU_SOURCE -O1 -fPIC -shared -o slow.so "$BATS_TEST_DIRNAME/slow_disk.c" -ldl ||
        fail_with 'slow_disk.c does not compile'
    : >slow.log
}

# The sanitizer's library must be preloaded first.
serve_slow() {
    serve_here env LD_PRELOAD="$PWD/slow.so" SLOW_LOG="$PWD/slow.log" ASAN_OPTIONS=verify_asan_link_order=0 \
        "$1" -p "$PORT" "${@:2}"
}

slow_calls() {
    stat -c %s slow.log
}

is_slow() {
    [ "$(slow_calls)" -ge 5 ]
}

# Another peer, which sends small files one after the other for the given number of seconds. Prints
# the longest time of a step in milliseconds.
FAST='
from hostile import *
import threading
def fast(port, seconds, path=b"fast"):
    begin = time.monotonic()
    p = Peer.connect("127.0.0.1", port, hello(SOURCE))
    p.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    p.open(path=path)
    longest, at, n, take = time.monotonic() - begin, [time.monotonic()], 0, p._arrive
    def arrive():
        nonlocal longest
        take()
        now = time.monotonic()
        longest, at[0] = max(longest, now - at[0]), now
    p._arrive = arrive
    end = at[0] + seconds
    while time.monotonic() < end:
        n += 1
        at[0] = time.monotonic()
        assert p.push(n, b"%d" % n, os.urandom(64)) == 0
    p.bye(n)
    return n, longest * 1000
'

# fast SECONDS: sets $output to the longest gap in whole milliseconds
fast() {
    run_here python3 -c "$FAST
n, longest = fast($PORT, $1)
print(\"%d files, longest gap %.1f ms\" % (n, longest), file=sys.stderr)
print(int(longest) if n > 10 else 'only %d files' % n)"
    assert_status 0
    echo "# ${stderr:-}" >&3
}

assert_quick() {
    [ "$output" -lt "${1:-250}" ] || fail_with "another peer waited for $output ms"
}

@test "files, packs and removals on a slow disk do not delay another peer" {
    local i jobs=()

    mkdir src/tree
    for i in 1 2 3 4 5 6 7 8; do
        printf %s "$i" >"src/tree/$i"
    done
    random_file src/big 3M
    serve_slow ddp-recv --delete dst
    mkdir -p dst/slow/tree/strange
    : >dst/slow/tree/strange/file
    ddp-send -q -p "$PORT" --delete --yes src/tree 127.0.0.1:slow </dev/null >pack.log 2>&1 3>&- &
    jobs+=($!)
    for i in 1 2 3; do
        ddp-send -q -p "$PORT" src/big 127.0.0.1:slow/big$i </dev/null >big$i.log 2>&1 3>&- &
        jobs+=($!)
    done
    # A transfer whose connection ends during a disk operation, so that its end must wait for it.
    ddp-send -q -p "$PORT" src/big 127.0.0.1:slow/cut </dev/null >cut.log 2>&1 3>&- &
    wait_until 10 is_slow || fail_with 'the disk is not slow'
    kill -KILL $!
    fast 3
    assert_quick
    for i in "${jobs[@]}"; do
        wait "$i" || fail_with "a transfer to the slow disk failed: $(cat ./*.log)"
    done
    assert_same_file src/big dst/slow/big3
    diff -r src/tree dst/slow/tree || fail_with 'the tree differs'
    # Open, fsync and rename of each file at least.
    [ "$(slow_calls)" -ge 15 ] || fail_with "only $(slow_calls) slow calls"
}

attributes_of() {
    (cd "$1" && find . -type f -printf '%P %m %T@\n' | sort)
}

@test "two packs of one transfer are stored at the same time" {
    mkdir src/tree
    # A pack has at most 1 MiB.
    random_file all 4M
    split -b 60000 -a 3 -d all src/tree/f
    chmod 640 src/tree/f00*
    export SLOW_SYNC=yes
    serve_slow ddp-recv dst
    run_here ddp-send -q -p "$PORT" src/tree 127.0.0.1:slow
    assert_status 0
    diff -r src/tree dst/slow/tree || fail_with 'the tree differs'
    assert_equal "$(attributes_of dst/slow/tree)" "$(attributes_of src/tree)" 'modes and times'
    # Each pack flushes its files, and then its names.
    [ "$(slow_calls)" -ge 8 ] || fail_with "only $(slow_calls) slow calls"
    grep -q 2 slow.log || fail_with "no two packs at the same time: $(cat slow.log)"
    ! grep -q '[3-9]' slow.log || fail_with "more than two packs at the same time: $(cat slow.log)"
}

@test "directories that a peer announces alternately are each searched once" {
    local before after

    python3 -c "
import os
os.mkdir('dst/big')
for n in range(200000):
    os.close(os.open('dst/big/.iw-%016x.part' % n, os.O_CREAT, 0o600))"
    serve_here ddp-recv -p "$PORT" dst
    before=$(cut -d ' ' -f 14,15 "/proc/$SERVE_PID/stat")
    run_here python3 -c "$FAST
# 1.1 KB of announcements, at most 32 files at once; they stay open
p = Peer.connect('127.0.0.1', $PORT, hello(SOURCE))
p.open()
p.send({0: FILES, 4: [p.entry(n, b'big/%d' % n if n % 2 else b'fast/x%d' % n, 64, top=False) for n in range(1, 25)]})
n, longest = fast($PORT, 2)
print('%d files, longest gap %.1f ms' % (n, longest), file=sys.stderr)
print(int(longest) if n > 10 else 'only %d files' % n)"
    after=$(cut -d ' ' -f 14,15 "/proc/$SERVE_PID/stat")
    echo "# $stderr; processor time of the listener: $before before, $after after (user, system, in ticks)" >&3
    assert_status 0
    assert_quick
}

@test "reading from a slow disk for one peer does not delay another peer" {
    local i slow

    mkdir src/slow src/fast
    # The tool searches its holes one after the other.
    for i in 1 3 5 7 9; do
        random_file part 64K
        dd if=part of=src/slow/big bs=1M seek="$i" conv=notrunc status=none
    done
    random_file src/fast/small 64
    serve_slow ddp-send --listen src
    ddp-recv -q -p "$PORT" 127.0.0.1:slow/big dst/big </dev/null >big.log 2>&1 3>&- &
    slow=$!
    wait_until 10 is_slow || fail_with 'the disk is not slow'
    run_here python3 -c "
import subprocess, sys, time
longest = 0
for n in range(8):
    begin = time.monotonic()
    subprocess.run(['ddp-recv', '-q', '-p', '$PORT', '127.0.0.1:fast/small', 'dst/fast/%d' % n], check=True)
    longest = max(longest, time.monotonic() - begin)
print('longest pull of one small file %.1f ms' % (longest * 1000), file=sys.stderr)
print(int(longest * 1000))"
    assert_status 0
    echo "# ${stderr:-}" >&3
    # Most of that is the time to start a process; one call on the slow disk alone takes 500 ms.
    [ "$output" -lt 490 ] || fail_with "another peer waited for $output ms"
    wait "$slow" || fail_with "the slow transfer failed: $(cat big.log)"
    assert_same_file src/slow/big dst/big
}

# The names are those of existing files; announcing their directory takes one message. With JSON
# each name is one line.
@test "the report of many removed names does not delay another peer" {
    local lines

    python3 -c "
import os
os.mkdir('dst/big')
for n in range(150000):
    os.close(os.open('dst/big/%06d' % n, os.O_CREAT, 0o600))"
    serve_here ddp-recv --json --delete --force -p "$PORT" dst
    run_here python3 -c "$FAST
import hostile
hostile.TIMEOUT = 60
far = []
def remove():
    p = Peer.connect('127.0.0.1', $PORT, hello(SOURCE))
    p.sock.settimeout(60)
    p.open(DELETE)
    assert p.push(1, b'big', b'', kind=DIR) == 0
    assert p.push(2, b'big/new', b'new') == 0
    far.append(p.bye(2)[6])
t = threading.Thread(target=remove)
longest, files = 0, 0
t.start()
while t.is_alive():
    n, gap = fast($PORT, 1)
    longest, files = max(longest, gap), files + n
print('%d files, longest gap %.1f ms, %s removed' % (files, longest, far), file=sys.stderr)
assert far == [150000] and os.listdir('dst/big') == ['new']
print(int(longest) if files > 10 else 'only %d files' % files)"
    echo "# $stderr" >&3
    assert_status 0
    # Reported at once, that many names take more than a second.
    assert_quick 500
    serve_end
    # Each name is reported once, and all of them before the end of the transfer.
    lines=$(python3 -c "
import json, sys
seen = [json.loads(l) for l in open(sys.argv[1])]
gone = [n for n, e in enumerate(seen) if e['event'] == 'removed']
end = [n for n, e in enumerate(seen) if e['event'] == 'result' and e['removed']]
names = {seen[n]['name'] for n in gone}
print(len(gone), names == {'big/%06d' % n for n in range(150000)}, [seen[n]['removed'] for n in end], max(gone) < end[0])" "$OUTPUT_FILE")
    assert_equal "$lines" '150000 True [150000] True' 'the names that were reported'
}

@test "a file that fits when a failed one has returned its charge waits for that" {
    serve_slow ddp-recv --quota 3M dst
    # The charge of the failed file is returned after the slow creation of the next one.
    run_here python3 -c "
from hostile import *
a = Peer.connect('127.0.0.1', $PORT, hello(SOURCE))
a.open(path=b'slow')
a.send({0: FILES, 4: [a.entry(1, b'failed', 2 * CHUNK)]})
a.message(GO)
b = Peer.connect('127.0.0.1', $PORT, hello(SOURCE))
b.open(path=b'fast')
a.send({0: FILES, 4: [a.entry(2, b'next', 1)]})
a.send({0: DONE, 5: [{0: 1, 7: 8}]})
a.message(RESULT)
print(b.push(1, b'fits', b'2' * (2 * CHUNK)))"
    assert_status 0
    assert_output_is 0
}
