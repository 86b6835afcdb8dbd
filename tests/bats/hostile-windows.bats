# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
# bats file_tags=beside
#
# Listeners against peers that leave gaps in the windows of mode write, or that stop filling them:
# hostile.py.

load helpers

setup() {
    require_tool python3
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir dst
    export PYTHONPATH=$BATS_TEST_DIRNAME PYTHONDONTWRITEBYTECODE=1
    PORT=$(free_port)
}

# hostile SCRIPT: windows() returns a peer of the listener and its windows; ended(p, most) returns
# the text with which the listener ends the transfer, or "open" if it has not ended after most
# seconds, during which p sends messages.
hostile() {
    run_here python3 -c "
from hostile import *
import select

def windows(n=8):
    p = Peer.connect('127.0.0.1', $PORT, hello(SOURCE))
    p.open()
    windows.files = getattr(windows, 'files', 0) + 1  # a transfer that announces a file of another one has to wait
    p.send({0: FILES, 4: [p.entry(1, b'f%d' % windows.files, n * CHUNK)]})
    assert p.message(GO)[0] == GO
    p.send({0: WANT, 4: [{0: 1, 1: 0, 2: n * CHUNK}]})
    grants = []
    while len(grants) < n:
        grants += p.message(GRANT)[4]
    return p, grants

def ended(p, most):
    end = time.monotonic() + most
    while time.monotonic() < end:
        try:
            p.send({0: NOP, 4: True}, wait=False)
        except Closed:
            pass
        while select.select([p.sock], [], [], 0.2)[0]:
            m = p.any_message()
            if m[0] == ABORT:
                return m[5]
    return 'open'

def server(key):
    return next(int(l.split()[1]) for l in open('/proc/$SERVE_PID/status') if l.startswith(key + ':'))

$1"
}

# SEC-14, SEC-23: the transfer ends without a DONE, and its memory is freed.
@test "RDMA Writes that leave gaps in a window end the transfer, whatever other messages arrive" {
    local how

    serve_here ddp-recv -p "$PORT" --timeout 30s dst
    for how in 'for at in range(0, CHUNK, 4096): p.tagged(0, x[3], x[1] + at, b"z")' 'p.tagged(0, x[3], x[1] + x[2] - 1, b"z")' \
        'for n in range(9): p.write(x[3], x[1], bytes(1000))' \
        'p.tagged(0, x[3], x[1] + 1, b"z", last=False); p.tagged(0, x[3], x[1], b"z")'; do
        hostile "
p, grants = windows()
for x in grants:
    $how
print(ended(p, 15))"
        assert_status 0
        assert_output_has 'are not in ascending order'
    done
}

# SEC-14, SEC-16
@test "gaps in the windows of 60 connections hold no memory for longer than a few seconds" {
    serve_here ddp-recv -p "$PORT" --timeout 30s dst
    hostile "
before = server('VmRSS')
for _ in range(60):
    p, grants = windows()
    for x in grants:
        for at in range(0, CHUNK, 4096):
            p.tagged(0, x[3], x[1] + at, b'z')
    p.sock.setblocking(True)
    peers = globals().setdefault('peers', []) + [p]
for p in peers:
    assert 'are not in ascending order' in ended(p, 15)
end = time.monotonic() + 15
while server('VmRSS') - before > 100000 and time.monotonic() < end:
    time.sleep(0.1)
print(server('VmRSS') - before)"
    assert_status 0
    [ "$(cat "$OUTPUT_FILE")" -le 100000 ] || fail_with "$(cat "$OUTPUT_FILE") KiB are held"
}

# SEC-29: RFC 5042 6.4.2
@test "a partly filled window ends the transfer after --timeout, whatever other messages arrive" {
    local how

    serve_here ddp-recv -p "$PORT" --timeout 1s dst
    for how in 'p.write(grants[0][3], 0, bytes(1000))' 'for x in grants: p.tagged(0, x[3], x[1], b"z")' \
        'p.write(grants[0][3], 0, bytes(CHUNK))'; do
        hostile "
p, grants = windows()
$how
print(ended(p, 15))"
        assert_status 0
        assert_output_has 'no octets arrived in the middle of a chunk for 1 s'
    done
}

# bats test_tags=all
@test "empty windows stay open for a slow source, and so do windows that fill slowly" {
    serve_here ddp-recv -p "$PORT" --timeout 1s dst
    hostile "
p, grants = windows(2)
print(ended(p, 4))
for x in grants:
    for at in range(0, CHUNK, CHUNK // 16):
        p.write(x[3], x[1] + at, b'x' * (CHUNK // 16))
        if ended(p, 0.3) != 'open':
            raise Closed
    p.send({0: DONE, 4: [{0: 1, 1: x[1], 2: x[2], 4: digest(XXH3, b'x' * CHUNK)}]})
    print(ended(p, 3))
p.end(1, b'x' * (2 * CHUNK))
print(p.message(RESULT)[4][0].get(7, 0))"
    assert_status 0
    assert_output_is $'open\nopen\nopen\n0'
    cmp dst/f1 <(head -c 2M /dev/zero | tr '\0' x) || fail_with 'dst/f1 differs'
}
