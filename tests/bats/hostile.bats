# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
# bats file_tags=beside
#
# ddp-send and ddp-recv against peers that break the rules: hostile.py. Each theme has its own file,
# hostile-*.bats.

load helpers

setup() {
    require_tool python3
    mkdir "$BATS_TEST_TMPDIR/dir"
    export PYTHONPATH=$BATS_TEST_DIRNAME PYTHONDONTWRITEBYTECODE=1
}

# All hostile tests rely on this: the peer fails because of its hostile act, not because it does not
# implement the protocol.
@test "the peer of the hostile tests can send a file by the rules" {
    port=$(free_port)
    serve_here ddp-recv -p "$port" --once "$BATS_TEST_TMPDIR/dir"
    run_here python3 -c "
from hostile import *
p = Peer.connect('127.0.0.1', $port, hello(SOURCE))
p.open()
data = os.urandom(CHUNK) + b'the end'
open('$BATS_TEST_TMPDIR/source', 'wb').write(data)
print(p.push(1, b'file', data), p.bye()[5])"
    assert_status 0
    assert_output_is '0 0'
    wait_served
    assert_status 0
    assert_same_file "$BATS_TEST_TMPDIR/source" "$BATS_TEST_TMPDIR/dir/file"
}

@test "a first message that breaks the protocol is answered with an ABORT" {
    port=$(free_port)
    serve_here ddp-recv -p "$port" "$BATS_TEST_TMPDIR/dir"
    # An option that is not known, too many connections, no OPEN at all.
    run_here python3 -c "
from hostile import *
for m in ({0: OPEN, 4: b'', 5: 1 << 20, 6: 1}, {0: OPEN, 4: b'', 5: 0, 6: 257}, {0: FILES, 4: []}, {0: 20}):
    p = Peer.connect('127.0.0.1', $port, hello(SOURCE))
    p.send(m)
    got = p.message()
    print(got[0], got[4], p.gone())"
    assert_status 0
    assert_output_is "12 13 closed
12 13 closed
12 13 closed
12 13 closed"
}

# Everything arrives at once: the listener detects the violation before it has memory for a
# transfer.
@test "a violation directly after OPEN and FILES ends only that connection" {
    port=$(free_port)
    serve_here ddp-recv -p "$port" "$BATS_TEST_TMPDIR/dir"
    run_here python3 -c "
from hostile import *
for name in (b'file', b'new/file'):
    for end in ('abort', 'cbor', 'terminate', 'crc'):
        p = Peer.connect('127.0.0.1', $port, hello(SOURCE))
        p.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        p.send({0: OPEN, 4: b'', 5: 0, 6: 1}, wait=False)
        p.send({0: FILES, 4: [p.entry(1, name, 100)]}, wait=False)
        if end == 'abort':
            p.send({0: ABORT, 4: 11, 5: 'over'}, wait=False)
        elif end == 'cbor':
            p.raw_send(b'\\xff')
        elif end == 'terminate':
            p.untagged(7, b'\\x11\\0\\0\\0', qn=2)
        else:
            p.sock.sendall(bytes(2) + b'\\x01\\x43' + bytes(12))
        p.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
        p.gone()
p = Peer.connect('127.0.0.1', $port, hello(SOURCE))
p.open()
print(p.push(1, b'whole', b'data'), p.bye()[5])"
    assert_status 0
    assert_output_is '0 0'
}
