# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
# bats file_tags=beside
#
# Listeners against peers that occupy memory, or the only transfer, and send little: hostile.py.

load helpers

setup() {
    require_tool python3
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir dst src
    export PYTHONPATH=$BATS_TEST_DIRNAME PYTHONDONTWRITEBYTECODE=1
    PORT=$(free_port)
}

listen() {
    serve_here ddp-recv -p "$PORT" "$@" dst
}

# hostile SCRIPT: runs a peer of the listener; server("VmRSS") returns that field of
# /proc/PID/status in KiB
hostile() {
    run_here python3 -c "
from hostile import *
PORT, PID = $PORT, $SERVE_PID
def server(key):
    return next(int(l.split()[1]) for l in open('/proc/%d/status' % PID) if l.startswith(key + ':'))
$1"
}

# SEC-14: a name that is announced repeatedly is kept once, and attributes that were not requested
# are not kept.
@test "a directory announced 600 times with its attributes is kept once, without them" {
    # The address sanitizer keeps freed memory in quarantine.
    local -x ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=1:thread_local_quarantine_size_kb=64
    listen
    hostile "
p = Peer.connect('127.0.0.1', PORT, hello(SOURCE))
p.open()
attrs = bytes(28000)
p.mulpdu = 30000
for n in range(1, 601):
    p.send({0: FILES, 4: [p.entry(n, b'd', 0, DIR, keys={18: attrs} if n > 1 else {})]})
    m = p.message(RESULT)
    assert m[0] == RESULT and m[4][0].get(7, 0) == 0, m
    # Measured after the growth of the first messages, which a sanitizer multiplies.
    if n == 150:
        before = server('VmRSS')
grown = server('VmRSS') - before
assert grown < 6000, grown
print(p.bye(600)[5])"
    assert_status 0
    assert_output_is 0
    [ -d dst/d ] || fail_with 'dst/d is missing'
}

# SEC-14
@test "the names of REMOVE count against --max-memory, also at a listener without --delete" {
    listen --max-memory 24M
    hostile "
LISTED, REMOVE = 2048, 16
p = Peer.connect('127.0.0.1', PORT, hello(SOURCE))
p.mulpdu = 30000
p.open(LISTED)
p.send({0: NOP, 4: True})
n, end = 0, None
def look():
    global end
    while p.inbox and not end:
        m = p.any_message()
        end = m if m[0] == ABORT else None
try:
    while not end and n < 600000:
        p.send({0: REMOVE, 4: [b'%06x' % i for i in range(n, n + 6000)]})
        n += 6000
        look()
except Closed:
    look()
print(end and end[5])"
    assert_status 0
    assert_output_has 'more than is left of --max-memory'
}

# SEC-29: messages that move no octets do not extend the deadline of a chunk.
@test "a Send without its DONE ends the transfer after --timeout, whatever other messages arrive" {
    listen --timeout 1s
    hostile "
p = Peer.connect('127.0.0.1', PORT, hello(SOURCE, SEND))
p.open()
p.send({0: FILES, 4: [p.entry(1, b'f', CHUNK)]})
assert p.message(GO)[0] == GO
p.raw_send(struct.pack('>IIQ', 0, 1, 0) + bytes(256 << 10))
began = time.monotonic()
p.sock.settimeout(0.1)
while True:
    try:
        m = p.any_message()
    except TimeoutError:
        assert time.monotonic() - began < 15
        p.send({0: NOP, 4: True}, wait=False)
        continue
    if not isinstance(m, bytes) and m[0] == ABORT:
        break
print(m[5])"
    assert_status 0
    assert_output_has 'in the middle of a chunk'
}

# SEC-14, SEC-16, SEC-29: RFC 5042 6.4.2
@test "empty windows: the largest idle connection is closed for another transfer when --max-memory is used up" {
    random_file src/f 12M
    listen --timeout 20s --max-memory 24M
    hostile "
import select, subprocess
before = server('VmRSS')
peers = []
for _ in range(4):
    p = Peer.connect('127.0.0.1', PORT, hello(SOURCE))
    p.mulpdu = 30000
    p.open()
    p.send({0: FILES, 4: [p.entry(1, b'idle%d' % len(peers), 16 * CHUNK)]})
    assert p.message(GO)[0] == GO
    p.send({0: WANT, 4: [{0: 1, 1: 0, 2: 16 * CHUNK}]})
    peers.append(p)
    for q in list(peers):
        try:
            q.send({0: NOP, 4: True}, wait=False)
        except Closed:
            peers.remove(q)
    p.sock.settimeout(0.3)
    try:
        while True:
            for g in p.message(GRANT)[4]:
                p.write(g[3], g[1], bytes(g[2]))
    except TimeoutError:
        p.sock.settimeout(TIMEOUT)
grown = server('VmRSS') - before
honest = subprocess.Popen(['ddp-send', '-q', '-p', str(PORT), 'src/f', '127.0.0.1:'])
said, end = [], time.monotonic() + 20
while honest.poll() is None:
    assert time.monotonic() < end
    for p in list(peers):
        try:
            p.send({0: NOP, 4: True}, wait=False)
            while select.select([p.sock], [], [], 0.02)[0]:
                m = p.any_message()
                if m[0] == ABORT:
                    said.append(m[5])
                    raise Closed
        except Closed:
            peers.remove(p)
assert grown < 24000, grown
print(honest.returncode, len(said) > 0, any('--max-memory' in t for t in said))"
    assert_status 0
    assert_output_is '0 True True'
    assert_same_file src/f dst/f
}

# Each connection holds little memory, together they hold all of it.
@test "connections that sent OPEN alone are closed for another transfer when --max-memory is used up" {
    random_file src/f 3M
    listen --timeout 60s --max-memory 24M
    hostile "
import subprocess
peers, turned_away = [], False
while not turned_away:
    try:
        p = Peer.connect('127.0.0.1', PORT, hello(SOURCE))
        p.open()
        peers.append(p)
        assert len(peers) < 1000
    except Rejected:
        turned_away = True
honest, end = 1, time.monotonic() + 30
while honest != 0 and time.monotonic() < end:
    honest = subprocess.run(['ddp-send', '-q', '-p', str(PORT), 'src/f', '127.0.0.1:'], stderr=subprocess.DEVNULL).returncode
    time.sleep(0.2)
print(honest)"
    assert_status 0
    assert_output_is 0
    assert_same_file src/f dst/f
}

# Each connection takes a descriptor; those of transfers and of files must not run out.
@test "fewer connections are accepted where the process may open few descriptors" {
    printf data >src/f
    # shellcheck disable=SC2016
    serve_here bash -c 'ulimit -n 96; exec "$@"' _ ddp-recv -v -p "$PORT" --timeout 2s dst
    grep -q 'at most 48 connections: this process may open 96 descriptors' "$BATS_TEST_TMPDIR/serve.$SERVED.err" ||
        fail_with 'it is not reported'
    hostile "
peers = []
for _ in range(60):
    try:
        peers.append(Peer.connect('127.0.0.1', PORT, hello(SOURCE)))
    except Rejected:
        pass
print(len(peers))
[p.close() for p in peers]"
    assert_status 0
    assert_output_is 48
    run_here ddp-send -q -p "$PORT" src/f 127.0.0.1:
    assert_status 0
}

# SEC-29: a connection that sends nothing does not become the only transfer.
@test "--once: idle connections and one without a request are not the one transfer" {
    random_file src/f 3M
    listen --once
    hostile "
import subprocess
idle = [Peer.connect('127.0.0.1', PORT, hello(SOURCE)) for _ in range(3)]
quiet = Peer.connect('127.0.0.1', PORT, hello(SOURCE))
quiet.open()
done = subprocess.run(['ddp-send', '-p', str(PORT), 'src/f', '127.0.0.1:'])
print(done.returncode, quiet.message()[0] == ABORT)
for p in idle:
    p.gone()"
    assert_status 0
    assert_output_has '0 True'
    assert_same_file src/f dst/f
    wait_served
    assert_status 0
}

@test "--once: of two open transfers the first that announces a file is the one" {
    listen --once
    hostile "
p, q = (Peer.connect('127.0.0.1', PORT, hello(SOURCE)) for _ in range(2))
p.open()
q.open()
p.send({0: FILES, 4: [p.entry(1, b'first', 4)]})
assert p.message(GO)[0] == GO
m = q.message()
assert m[0] == ABORT and 'once' in m[5], m
try:
    Peer.connect('127.0.0.1', PORT, hello(SOURCE))
except Rejected as e:
    print('rejected')
print(p.fill(1, b'data'), p.bye()[5])"
    assert_status 0
    assert_output_is "rejected
0 0"
    wait_served
    assert_status 0
    assert_equal "$(cat dst/first)" data
}

@test "--once: a transfer that ends in order without files that move is the one, unless another was first" {
    listen --once
    hostile "
p = Peer.connect('127.0.0.1', PORT, hello(SOURCE))
p.open()
p.send({0: FILES, 4: [p.entry(1, b'../x', 1)]})
print(p.message(RESULT)[4][0][7], p.bye()[5])"
    assert_output_is '2 1'
    wait_served
    assert_status 1
    listen --once
    hostile "
p = Peer.connect('127.0.0.1', PORT, hello(SOURCE))
p.open()
print(p.bye(files=0)[5])"
    assert_output_is 0
    wait_served
    assert_status 0
    listen --once
    hostile "
first, p = [Peer.connect('127.0.0.1', PORT, hello(SOURCE)) for _ in range(2)]
first.open()
p.open()
first.send({0: FILES, 4: [first.entry(1, b'f', 4)]})
first.message(GO)
try:
    p.send({0: BYE, 4: 0, 5: 0})
    p.gone()
except Closed:
    pass
print(first.fill(1, b'data'), first.bye()[5])"
    assert_output_is '0 0'
    wait_served
    assert_status 0
}

@test "--once: a server's one transfer is the first whose files move" {
    random_file src/f 3M
    serve_here ddp-send --listen --once -p "$PORT" src
    hostile "
import subprocess
q = Peer.connect('127.0.0.1', PORT, hello(SINK))
q.open(path=None)
q.send({0: GET, 4: [b'f'], 5: True})
assert q.message(FILES)[0] == FILES
done = subprocess.run(['ddp-recv', '-p', str(PORT), '127.0.0.1:f', 'dst'])
m = q.message()
print(done.returncode, m[0] == ABORT)"
    assert_status 0
    assert_output_has '0 True'
    wait_served
    assert_status 0
    assert_same_file src/f dst/f
}

# SEC-29: a peer that announces a file and then sends only NOPs does not stay the only transfer.
@test "--once: a transfer that moves no octets for --timeout is replaced by another one" {
    random_file src/f 3M
    listen --once --timeout 2s
    hostile "
import subprocess
def send():
    return subprocess.run(['ddp-send', '-p', str(PORT), 'src/f', '127.0.0.1:']).returncode
p = Peer.connect('127.0.0.1', PORT, hello(SOURCE))
p.open()
p.send({0: FILES, 4: [p.entry(1, b'never', CHUNK)]})
assert p.message(GO)[0] == GO
began = time.monotonic()
early = send()
p.sock.settimeout(0.1)
abort = None
def say_nop():
    global abort
    try:
        m = p.any_message()
        if not isinstance(m, bytes) and m[0] == ABORT:
            abort = m
    except TimeoutError:
        p.send({0: NOP, 4: True}, wait=False)
while time.monotonic() - began < 2:
    say_nop()
while send() != 0:
    assert time.monotonic() - began < 30
    say_nop()
while not abort:
    assert time.monotonic() - began < 30
    say_nop()
print(early > 0, abort[5])"
    assert_status 0
    assert_output_has 'True no octets of this transfer'
    assert_same_file src/f dst/f
    wait_served
    assert_status 0
}

@test "a listener holds 1024 connections by default" {
    ulimit -n 4096 || skip 'needs 4096 descriptors'
    listen
    hostile "
p = [Peer.connect('127.0.0.1', PORT, hello(SOURCE)) for _ in range(1024)]
try:
    Peer.connect('127.0.0.1', PORT, hello(SOURCE))
except Rejected as e:
    print(e.args[0])"
    assert_status 0
    assert_output_has '--max-connections 1024'
}
