# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
# bats file_tags=beside
#
# Chunks that a hostile peer stored for a file that an honest peer sends later: the receiver keeps
# them, and the honest sender replaces them.

# Each test is a separate shell, and fail_with prints the variables that look unused.
# shellcheck disable=SC2030,SC2031,SC2034

load helpers

setup() {
    require_tool python3 jq
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir src dst
    PORT=$(free_port)
    export PORT PYTHONPATH=$BATS_TEST_DIRNAME PYTHONDONTWRITEBYTECODE=1
    # Six chunks: two of data, a hole, one that is mostly zero, one of data, and a short one.
    python3 - <<'PY'
import os
M = 1 << 20
with open('src/f', 'wb') as f:
    f.write(os.urandom(2 * M))
    f.seek(3 * M + 5)
    f.write(b'little')
    f.seek(4 * M)
    f.write(os.urandom(M + 77))
PY
}

# Stores the honest sender's announcement of src/f. Every peer that receives or requests the file
# gets it.
learn() {
    IW_READY='^port' serve_here python3 -c "
from hostile import *
p = Peer.listen($PORT, SINK)
p.message(OPEN)
e = p.message(FILES)[4][0]
open('learned', 'w').write(repr(e))
p.close()"
    run_here ddp-send -p "$PORT" --redial 0 src/f 127.0.0.1:
    serve_end
    [ -s learned ] || fail_with 'nothing was announced'
}

# A source that announces the same file, moves some chunks, correct or wrong, and exits.
preamble() {
    cat <<'PY'
from hostile import *
import ast
e = ast.literal_eval(open('learned').read())
e[0] = 1
own = open('src/f', 'rb').read()
size = len(own)

def leave(p, chunks):
    p.send({0: FILES, 4: [e]})
    assert p.message(GO, RESULT)[0] == GO
    for at, octets in chunks:
        p.send({0: WANT, 4: [{0: 1, 1: at, 2: len(octets)}]})
        g = p.message(GRANT)[4][0]
        p.write(g[3], at, octets)
        p.send({0: DONE, 4: [{0: 1, 1: at, 2: len(octets), 4: digest(p.kind, octets)}]})
    # The chunk is stored before the connection is lost: the next grant follows it.
    deadline = time.time() + TIMEOUT
    while sum(os.stat(n).st_size for n in journals()) < 104 + 48 * len(chunks):
        assert time.time() < deadline
        time.sleep(0.01)
    p.close()

def journals():
    return ['dst/' + n for n in os.listdir('dst') if n.endswith('.journal')]

def bad(n):
    return n * CHUNK, b'X' * min(CHUNK, size - n * CHUNK)

def right(n):
    return n * CHUNK, own[n * CHUNK:(n + 1) * CHUNK]
PY
}

# poison CHUNKS: pushes those to the listener at $PORT, and exits
poison() {
    {
        preamble
        printf 'p = Peer.connect("127.0.0.1", %s, hello(SOURCE))\np.open()\nleave(p, %s)\n' "$PORT" "$1"
    } >client.py
    run_here python3 client.py
    assert_status 0
}

# assert_poisoned: the receiver keeps the octets of the hostile source for resumption
assert_poisoned() {
    grep -q XXXXXXXX dst/.iw-*.part || fail_with 'no octets of the hostile source are stored'
}

# assert_honest OCTETS: dst/f equals the honest file, and that many octets were moved
assert_honest() {
    assert_status 0
    assert_same_file src/f dst/f
    assert_equal "$(jq -s 'map(select(.event == "result"))[0].moved_octets' "$OUTPUT_FILE")" "$1"
}

M=1048576

@test "chunks that another client stored under the file's name, time and ident are replaced, in every mode" {
    local mode options

    learn
    for mode in write read send; do
        for options in '' --verify --digest=sha256; do
            rm -rf dst/f dst/.iw-*
            serve_here ddp-recv -p "$PORT" dst
            poison '[right(0), bad(1), bad(2), bad(3), right(4)]'
            [ "$options" = --digest=sha256 ] || assert_poisoned
            # shellcheck disable=SC2086
            run_here ddp-send -p "$PORT" -m $mode $options --json src/f 127.0.0.1:
            # Chunks 1 to 3, including the hole, and the 77 octets that were not sent; with the
            # other digest nothing is resumed.
            if [ "$options" = --digest=sha256 ]; then
                assert_honest $((4 * M + 77))
            else
                assert_honest $((3 * M + 77))
            fi
            serve_end
        done
    done
}

@test "nothing is resumed without digests" {
    learn
    serve_here ddp-recv -p "$PORT" dst
    poison '[bad(1)]'
    assert_poisoned
    run_here ddp-send -p "$PORT" --digest none --json src/f 127.0.0.1:
    assert_honest $((4 * M + 77))
}

@test "a file of another client, complete except for its end, is replaced chunk by chunk, also over several connections" {
    learn
    for options in '' '-j 3' '--bwlimit 100M'; do
        rm -rf dst/f dst/.iw-*
        serve_here ddp-recv -p "$PORT" dst
        poison '[bad(n) for n in range(6)]'
        assert_poisoned
        # shellcheck disable=SC2086
        run_here ddp-send -p "$PORT" $options --json src/f 127.0.0.1:
        assert_honest $((5 * M + 77))
        serve_end
    done
}

@test "chunks that a hostile server sent are replaced by those of the honest one" {
    # The served directory has another name: only the file's name, size, time and ident are
    # compared.
    learn
    {
        preamble
        cat <<'PY'
p = Peer.listen(int(os.environ['PORT']))
p.message(OPEN)
p.message(GET)
leave(p, [right(0), bad(1), bad(2)])
PY
    } >server.py
    IW_READY='^port' serve_here python3 server.py
    run_here ddp-recv -p "$PORT" --redial 0 127.0.0.1:f dst
    assert_status 4
    serve_end
    assert_poisoned
    serve_here ddp-send --listen -p "$PORT" src
    run_here ddp-recv -p "$PORT" --json 127.0.0.1:f dst
    assert_honest $((4 * M + 77))
}
