# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
# bats file_tags=beside
#
# Peers that send octets endlessly but no payload, against --timeout: hostile.py. Also slow peers,
# which must not be disconnected.

load helpers

setup() {
    require_tool python3
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir dst
    printf data >source
    export PYTHONPATH=$BATS_TEST_DIRNAME PYTHONDONTWRITEBYTECODE=1
    PORT=$(free_port)
}

# The tools run for 30 seconds at most (IW_TIMEOUT), and a listener must end a connection within 15
# seconds.
preamble() {
    cat <<'END'
from hostile import *
import select


# Drips on a connection until the other end closes it: "closed", or "open" after most seconds.
def drip(p, how, most=15):
    octets = struct.pack('>H', 60000) + b'\xc1\x40' + bytes(60000)
    end = time.monotonic() + most
    n = 0
    while time.monotonic() < end:
        try:
            if how == 'write':
                p.tagged(0, 1, 0, b'')
            else:
                p.sock.sendall(octets[n:n + 1])
        except (Closed, OSError):
            return 'closed'
        n += 1
        if select.select([p.sock], [], [], 0.2)[0]:
            try:
                if not p.sock.recv(65536):
                    return 'closed'
            except OSError:
                return 'closed'
    return 'open'


END
}

hostile() {
    {
        preamble
        printf 'PORT = %s\n%s\n' "$PORT" "$1"
    } >peer.py
    run_here python3 peer.py
}

hostile_server() {
    {
        preamble
        printf 'PORT = %s\n%s\n' "$PORT" "$1"
    } >server.py
    IW_READY='^port' serve_here python3 server.py
}

# SEC-29
@test "a connecting side abandons a peer that sends only empty RDMA Writes, or parts of an FPDU" {
    local how

    for how in write octet; do
        hostile_server "print(drip(Peer.listen(PORT, role=SINK), '$how', 60))"
        run_here ddp-send -p "$PORT" --redial 0 --timeout 1s source 127.0.0.1:
        assert_status 4
        assert_stderr_has 'the peer answers, but nothing advances for 1 s'
        serve_end

        hostile_server "print(drip(Peer.listen(PORT, role=SOURCE), '$how', 60))"
        run_here ddp-recv -p "$PORT" --redial 0 --timeout 1s 127.0.0.1:source dst
        assert_status 4
        assert_stderr_has 'the peer answers, but nothing advances for 1 s'
        serve_end
    done
}

# SEC-29
@test "a stream to or from a registered buffer abandons such a peer" {
    local how uri="ddp+tcp://127.0.0.1:$PORT/stag/00001234?to=0&len=4096&access=rw&key=00000000000000000000000000000000"

    for how in write octet; do
        hostile_server "
s = socket.create_server(('127.0.0.1', PORT))
print('port', PORT, flush=True)
for _ in range(2):
    p = Peer(s.accept()[0])
    _, flags, rev, pd = p._startup()
    enhanced = struct.pack('>HH', 16, 16) if flags & 0x10 else b''
    data = enhanced + cbor({0: 'ddp-buffer', 1: 1, 2: 1, 5: 0, 6: 4096, 7: 3})
    p.sock.sendall(b'MPA ID Rep Frame' + struct.pack('>BBH', 0x40 | flags & 0x10, rev, len(data)) + data)
    print(drip(p, '$how', 60), flush=True)"
        run_here ddp-recv --timeout 1s --from "$uri"
        assert_status 4
        assert_stderr_has 'the peer does not answer an RDMA Read'
        run_here ddp-send --timeout 1s --to "$uri" <source
        assert_status 4
        assert_stderr_has 'the peer does not answer an RDMA Read'
        serve_end
    done
}

# SEC-29
@test "a listener closes a connection that sends such octets and no OPEN" {
    local how

    serve_here ddp-recv -p "$PORT" --control none --timeout 1s dst
    for how in write octet; do
        hostile "print(drip(Peer.connect('127.0.0.1', PORT, hello(SOURCE)), '$how'))"
        assert_status 0
        assert_output_is closed
    done
    serve_end
    serve_here ddp-send --listen -p "$PORT" --timeout 1s dst
    for how in write octet; do
        hostile "print(drip(Peer.connect('127.0.0.1', PORT, hello(SINK)), '$how'))"
        assert_status 0
        assert_output_is closed
    done
}

# SEC-29: zero-length Reads are answered, which is not progress either.
@test "empty RDMA Reads do not keep a connection open" {
    serve_here ddp-recv -p "$PORT" --control none --timeout 1s dst
    hostile "
p = Peer.connect('127.0.0.1', PORT, hello(SOURCE))
p.open()
p.sock.settimeout(0.2)
end = time.monotonic() + 15
how = 'open'
while time.monotonic() < end and how == 'open':
    try:
        p.read_request(1, 0, 0, 1, 0)
        while True:
            p._arrive()
    except (Closed, Terminated):
        how = 'closed'
    except OSError:
        pass
print(how)"
    assert_status 0
    assert_output_is closed
}

@test "a source on a slow path, one FPDU of which takes longer than --timeout, is not disconnected" {
    serve_here ddp-recv -p "$PORT" --control none --timeout 1s --once dst
    hostile "
p = Peer.connect('127.0.0.1', PORT, hello(SOURCE))
p.open()
data = os.urandom(30000)
open('source', 'wb').write(data)
p.send({0: FILES, 4: [p.entry(1, b'f', len(data))]})
p.message(GO)
p.send({0: WANT, 4: [{0: 1, 1: 0, 2: len(data)}]})
g = p.message(GRANT)[4][0]
u = struct.pack('>BBIQ', 0xc1, 0x40, g[3], 0) + data
b = struct.pack('>H', len(u)) + u
b += bytes(-len(b) % 4)
b += struct.pack('<I', crc32c(b))
for at in range(0, len(b), 1500):
    p.sock.sendall(b[at:at + 1500])
    time.sleep(0.2)
p.send({0: DONE, 4: [{0: 1, 1: 0, 2: len(data), 4: digest(XXH3, data)}]})
p.end(1, data)
print(p.message(RESULT)[4][0].get(7, 0), p.bye()[5])"
    assert_status 0
    assert_output_is '0 0'
    wait_served
    assert_status 0
    assert_same_file source dst/f
}

@test "a peer that sends NOPs while it works is not disconnected" {
    hostile_server "
p = Peer.listen(PORT, role=SINK)
p.message(OPEN)
n = len(p.message(FILES)[4])
for _ in range(20):
    p.send({0: NOP, 4: True}, wait=False)
    time.sleep(0.2)
p.send({0: RESULT, 4: [{0: 1 + i, 7: 1} for i in range(n)]})
p.message(BYE)
p.send({0: BYE, 4: n, 5: 0})
p.gone()"
    run_here ddp-send -p "$PORT" --redial 0 --timeout 1s source 127.0.0.1:
    assert_status 0
}

# A transfer that does not end, and a peer that does not close the connection after the ABORT.
@test "a listener that gets SIGTERM does not wait for its peers longer than --timeout" {
    serve_here ddp-recv -p "$PORT" --control none --timeout 1s dst
    {
        preamble
        printf 'PORT = %s\n' "$PORT"
        cat <<'END'
p = Peer.connect('127.0.0.1', PORT, hello(SOURCE))
p.open()
p.send({0: FILES, 4: [p.entry(1, b'f', CHUNK)]})
p.message(GO)
p.send({0: WANT, 4: [{0: 1, 1: 0, 2: CHUNK}]})
p.message(GRANT)
print('port', PORT, flush=True)
for _ in range(150):
    time.sleep(0.2)
    try:
        p.send({0: NOP, 4: True}, wait=False)
    except Closed:
        time.sleep(30)
END
    } >peer.py
    IW_READY='^port' serve_here python3 peer.py
    SECONDS=0
    serve_end 1 TERM
    [ "$SECONDS" -lt 5 ] || fail_with "it ended after $SECONDS s"
    assert_status 0
}
