# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
# bats file_tags=beside
#
# Transfers that end before all announced files have arrived: parts of files are missing, or a
# connection was lost.

# Each test is a separate shell, and fail_with prints the variables that look unused.
# shellcheck disable=SC2030,SC2031,SC2034

load helpers

setup() {
    require_tool python3
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir dst
    PORT=$(free_port)
    export PYTHONPATH=$BATS_TEST_DIRNAME PYTHONDONTWRITEBYTECODE=1
}

preamble() {
    cat <<'END'
from hostile import *
SAME, PROTOCOL, LIMIT = 1, 13, 9


# Announces and moves one part: octets octets at off of a file of size octets. Returns the code of
# its RESULT.
def part(p, n, name, size, off, octets, share=7, keys=None):
    p.send({0: FILES, 4: [p.entry(n, name, size, keys={1: off, 2: octets, 23: share, **(keys or {})})]})
    m = p.message(GO, RESULT)
    if m[0] == RESULT:
        return m[4][0][7]
    p.send({0: WANT, 4: [{0: n, 1: off, 2: octets}]})
    left = octets
    while left > 0:
        m = p.message(GRANT, RESULT)
        if m[0] == RESULT:
            return m[4][0][7]
        for g in m[4]:
            chunk = b'p' * g[2]
            p.write(g[3], g[1], chunk)
            p.send({0: DONE, 4: [{0: n, 1: g[1], 2: g[2], **p.digest_key(digest(p.kind, chunk))}]})
            left -= g[2]
    whole = bytes(off) + b'p' * octets
    p.send({0: DONE, 5: [{0: n, 6: size, **p.digest_key(row_digest(p.kind, whole, size))}]})
    return p.message(RESULT)[4][0][7]


# The digest of a file of which only these octets are sent.
def row_digest(kind, data, size):
    rows = b''
    for n in range(0, len(data), CHUNK):
        if data[n:n + CHUNK].strip(b'\0'):
            rows += struct.pack('>Q', n // CHUNK) + digest(kind, data[n:n + CHUNK])
    return digest(kind, rows + struct.pack('>Q', size))


def asked(p):
    p.message(OPEN)
    p.message(GET)
    return p


# Announces a file of three chunks, and moves one.
def begin(p, name):
    p.send({0: FILES, 4: [p.entry(1, name, 3 * CHUNK, keys={19: b'id'})]})
    p.message(GO)
    p.send({0: WANT, 4: [{0: 1, 1: 0, 2: 3 * CHUNK}]})
    g = p.message(GRANT)[4][0]
    p.write(g[3], 0, b'p' * g[2])
    p.send({0: DONE, 4: [{0: 1, 1: 0, 2: g[2], 4: digest(XXH3, b'p' * g[2])}]})


END
}

# hostile_server CODE: serves CODE, Python with a source that has received GET.
hostile_server() {
    {
        preamble
        printf 'p = asked(Peer.listen(%s))\n%s\n' "$PORT" "$1"
    } >server.py
    IW_READY='^port' serve_here python3 server.py
}

# hostile_client CODE: runs CODE, Python with a source that has connected.
hostile_client() {
    {
        preamble
        printf 'PORT, first = %s, hello(SOURCE)\np = Peer.connect("127.0.0.1", PORT, first)\n%s\n' "$PORT" "$1"
    } >client.py
    run_here python3 client.py
}

# Pulls "report" from such a server, which moves the parts of CODE. Afterwards only the old file may
# exist.
missing_parts() {
    local kind=$1 code=$2

    rm -rf dst
    mkdir dst
    printf old >dst/report
    hostile_server "$code
m = p.bye()
print('failed', m[5])
p.gone()"
    run_here ddp-recv -p "$PORT" --digest "$kind" 127.0.0.1:report dst
    assert_status 1
    assert_stderr_has 'report: '
    assert_stderr_has 'parts of it were not sent'
    assert_output_has ': 0 files, '
    assert_output_has '1 FAILED'
    assert_equal "$(cat dst/report)" old
    wait_served
    assert_output_has 'failed 1'
    PORT=$(free_port)
}

@test "a pull that ends with missing parts of a file fails, and reports the name of the file" {
    local kind

    for kind in xxh3 none; do
        missing_parts "$kind" 'print(part(p, 1, b"report", 3 * CHUNK, 0, CHUNK))'
        missing_parts "$kind" 'print(part(p, 1, b"report", 3 * CHUNK, 0, CHUNK), part(p, 2, b"report", 3 * CHUNK, 2 * CHUNK, CHUNK))'
        # The same part again does not replace a missing one.
        missing_parts "$kind" 'for n in range(1, 4): print("part", part(p, n, b"report", 3 * CHUNK, 0, CHUNK))'
        assert_output_has $'part 0\npart 1\npart 1'
    done
}

@test "parts that overlap are refused" {
    hostile_server '
print(part(p, 1, b"report", 3 * CHUNK, 0, 2 * CHUNK), part(p, 2, b"report", 3 * CHUNK, CHUNK, CHUNK))
p.bye()
p.gone()'
    run_here ddp-recv -p "$PORT" 127.0.0.1:report dst
    assert_status 1
    assert_stderr_has 'a part of a file that overlaps another part'
    assert_equal "$(ls dst)" ''
    wait_served
    assert_output_has '0 13'
}

@test "a file is complete when all its parts have arrived" {
    hostile_server '
print(part(p, 1, b"report", 3 * CHUNK, 2 * CHUNK, CHUNK), part(p, 2, b"report", 3 * CHUNK, 0, 2 * CHUNK))
print("failed", p.bye()[5])
p.gone()'
    run_here ddp-recv -p "$PORT" 127.0.0.1:report dst
    assert_status 0
    assert_equal "$(tr -d p <dst/report | wc -c) $(stat -c %s dst/report)" '0 3145728'
    wait_served
    assert_output_has 'failed 0'
}

@test "a listener counts a file with missing parts as failed, and reports that to the source" {
    serve_here ddp-recv -p "$PORT" --control none --once dst
    hostile_client '
p.open()
print(part(p, 1, b"report", 3 * CHUNK, 0, CHUNK))
print("failed", p.bye()[5])
p.gone()'
    assert_output_is $'0\nfailed 1'
    wait_served
    assert_equal "$status" 1
    assert_stderr_has 'report: '
    assert_stderr_has 'parts of it were not sent'
    assert_equal "$(ls dst)" ''
}

# The second connection of a source that sends BYE on the first one, and then begins a part.
@test "parts that are begun after BYE on another connection count as missing too" {
    serve_here ddp-recv -p "$PORT" --control none --once dst
    hostile_client '
p.open(conns=2)
q = Peer.connect("127.0.0.1", PORT, {**first, 12: 2})
q.open(conns=2)
print(p.push(1, b"small", b"s"))
p.send({0: BYE, 4: 1, 5: 0})
p.message(BYE)
print(part(q, 1, b"report", 3 * CHUNK, 0, CHUNK))
q.close()
p.close()'
    assert_status 0
    assert_output_is $'0\n0'
    wait_served
    assert_equal "$status" 1
    assert_stderr_has 'parts of it were not sent'
    assert_equal "$(cat dst/*)" s
}

@test "a file whose connection was lost has failed if it is not announced again" {
    hostile_server '
begin(p, b"report")
p.sock.shutdown(socket.SHUT_RDWR)
p = Peer.accept()
p.message(OPEN)
print("failed", p.bye(files=0)[5])
p.gone()'
    run_here ddp-recv -p "$PORT" --redial 3 --timeout 10s 127.0.0.1:report dst
    assert_status 1
    assert_stderr_has 'report: '
    assert_stderr_has 'its connection was lost, and it was not announced again'
    assert_output_has '0 files, 1 FAILED'
    assert_equal "$(ls dst)" ''
    wait_served
    assert_output_has 'failed 1'
}

@test "a file that is announced again after its connection was lost has not failed" {
    hostile_server '
begin(p, b"report")
p.sock.shutdown(socket.SHUT_RDWR)
p = Peer.accept()
p.message(OPEN)
print(p.push(1, b"report", b"whole"))
print("failed", p.bye()[5])
p.gone()'
    run_here ddp-recv -p "$PORT" --redial 3 --timeout 10s 127.0.0.1:report dst
    assert_status 0
    assert_equal "$(cat dst/report)" whole
    wait_served
    assert_output_has 'failed 0'
}

# Each of them holds descriptors of the listener.
@test "the number of files that wait for parts is limited, and others are served" {
    serve_here ddp-recv -p "$PORT" --control none dst
    hostile_client '
p.open()
codes = []
for n in range(1, 101):
    p.send({0: FILES, 4: [p.entry(n, b"g%03d" % n, 2 * CHUNK, keys={1: 0, 2: CHUNK, 23: n})]})
    m = p.message(GO, RESULT)
    if m[0] == GO:
        end = digest(XXH3, struct.pack(">Q", 2 * CHUNK))
        p.send({0: DONE, 5: [{0: n, 6: 2 * CHUNK, 4: end}]})
        m = p.message(RESULT)
    codes.append(m[4][0][7])
    text = m[4][0].get(8, "")
print(codes.count(0), codes.count(LIMIT), text)
# A file that was begun can be completed, which permits another one.
print(part(p, 101, b"g001", 2 * CHUNK, CHUNK, CHUNK, share=1), part(p, 102, b"more", 2 * CHUNK, 0, CHUNK, share=200))
print("failed", p.bye()[5])'
    assert_status 0
    assert_output_is $'65 35 65 files wait for missing parts: the limit is 65 for one transfer\n0 0\nfailed 100'
    printf honest >source
    run_here ddp-send -p "$PORT" source 127.0.0.1:
    assert_status 0
    assert_equal "$(cat dst/source)" honest
}
