# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
# bats file_tags=beside
# Texts in quotes are for another shell, or for Python.
# shellcheck disable=SC2016,SC2030,SC2031
#
# Peers that try to read octets of earlier transfers, or to send more than the limits allow.

load helpers

setup() {
    require_tool python3
    cd "$BATS_TEST_TMPDIR" || return
    mkdir dir
    PORT=$(free_port)
    export PYTHONPATH=$BATS_TEST_DIRNAME PYTHONDONTWRITEBYTECODE=1
}

listen() {
    serve_here ddp-recv -p "$PORT" --control none "$@" dir
}

# peer TEXT: runs TEXT with hostile.py and the functions that the tests here share.
peer() {
    run_here python3 -c "
from hostile import *

def to(kind=XXH3, mode=WRITE, opts=0, conns=1, path=b'', **keys):
    p = Peer.connect('127.0.0.1', $PORT, hello(SOURCE, mode, kind, **keys))
    p.open(opts, conns, path)
    return p

def code(m):
    return 'abort' if m[0] == ABORT else m[4][0].get(7)

$1"
}

# --- octets of other peers ---------------------------------------------------------------------------------------------------

# The secret passes through all memory that the listener uses for chunks.
leave_secret() {
    peer "
p = to()
print(p.push(1, b'secret', b'SECRET!!' * (24 * CHUNK // 8)), p.bye()[5])"
    assert_output_is '0 0'
    rm dir/secret
}

# SEC-23: RFC 5042 6.3.2
@test "DONE without RDMA Writes gets an ABORT and stores no octets of an earlier transfer" {
    local how

    listen
    for how in '' 'p.write(g[3], g[1], bytes(CHUNK - 1))' 'p.write(g[3], g[1] + 1, bytes(CHUNK - 1))' \
        'for n in range(8): p.write(g[3], g[1], b"x" * (CHUNK // 2))' \
        'p.tagged(0, g[3], 0, b"x" * 512, last=False); p.tagged(0, g[3], 0, b"x" * 512, last=False); p.tagged(0, g[3], 1024, b"x" * 512)' \
        'p.write(g[3], CHUNK // 2, bytes(CHUNK // 2)); p.write(g[3], 0, bytes(CHUNK // 2 - 1))'; do
        leave_secret
        peer "
p = to(kind=NONE)
p.send({0: FILES, 4: [p.entry(1, b'mine', CHUNK)]})
p.message(GO)
p.send({0: WANT, 4: [{0: 1, 1: 0, 2: CHUNK}]})
g = p.message(GRANT)[4][0]
$how
p.send({0: DONE, 4: [{0: 1, 1: 0, 2: CHUNK}], 5: [{0: 1, 6: CHUNK}]})
m = p.message(RESULT)
print(code(m), m.get(5, ''))"
        # The listener can detect a gap before the DONE.
        grep -Eq 'abort the peer broke the protocol: (DONE of 1048576 octets at 0 of file 1: .* of them were written|RDMA Writes .* are not in ascending order)' \
            "$OUTPUT_FILE" || fail_with "$(cat "$OUTPUT_FILE")"
        ! grep -rq SECRET dir || fail_with "octets of another transfer are stored: $how"
        [ ! -e dir/mine ] || fail_with "a file that was not written is stored: $how"
    done
}

@test "windows that are written in several ascending parts are stored" {
    listen
    peer "
p = to(kind=NONE)
data = os.urandom(CHUNK)
open('source', 'wb').write(data)
p.send({0: FILES, 4: [p.entry(1, b'mine', CHUNK)]})
p.message(GO)
p.send({0: WANT, 4: [{0: 1, 1: 0, 2: CHUNK}]})
g = p.message(GRANT)[4][0]
for at in range(0, CHUNK, 100000):
    p.write(g[3], at, data[at:at + 100000])
p.send({0: DONE, 4: [{0: 1, 1: 0, 2: CHUNK}], 5: [{0: 1, 6: CHUNK}]})
print(code(p.message(RESULT)), p.bye()[5])"
    assert_output_is '0 0'
    assert_same_file source dir/mine
}

@test "a listener that requires digests rejects a transfer without them, with the reason" {
    listen --require-digest
    random_file source 3M
    run_here ddp-send -p "$PORT" --digest none source 127.0.0.1:
    assert_status 1
    assert_stderr_has 'this listener requires a digest (--require-digest): use --digest xxh3 or sha256'
    run_here ddp-send -p "$PORT" source 127.0.0.1:
    assert_status 0
    serve_end
    PORT=$(free_port)
    listen --require-digest=no
    run_here ddp-send --force -p "$PORT" --digest none source 127.0.0.1:
    assert_status 0
    run_here ddp-recv --require-digest -p "$PORT" 127.0.0.1:x dir
    assert_status 2
    assert_stderr_has '--require-digest applies to listeners only'
}

@test "a listener not on loopback requires digests unless --require-digest=no" {
    local bind

    require_root
    require_tool unshare ip
    random_file source 1M
    for bind in '127.0.0.1 0' '127.0.0.2 0' '::1 0' '* 1' '10.9.8.7 1' '10.9.8.7 --require-digest=no 0'; do
        rm -f dir/source listening
        run_here unshare -n bash -c '
            ip link set lo up && ip addr add 10.9.8.7/32 dev lo || exit 99
            set -f
            set -- $1
            want=${*: -1}
            ddp-recv -p 7471 --control none --bind "${@:1:$#-1}" dir >listening 2>&1 &
            for ((n = 0; n < 200; n++)); do grep -q "listening on" listening && break; sleep 0.05; done
            to=$1
            [ "$to" != "*" ] || to=127.0.0.1
            ddp-send -p 7471 --digest none source "[$to]:"
            status=$?
            kill %1
            wait
            exit $((status == want ? 0 : 100 + status))' net "$bind"
        assert_status 0
    done
}

# --- limits ------------------------------------------------------------------------------------------------------------------

# Octets stored below dir, without holes.
stored() {
    find dir -type f -printf '%b\n' | awk '{ n += $1 * 512 } END { print n + 0 }'
}

# SEC-14
@test "a part of a file cannot be larger than the admitted size" {
    listen --max-size 2M --quota 4M --max-files 2
    peer "
p = to(conns=2)
p.send({0: FILES, 4: [p.entry(1, b'small', CHUNK, keys={1: 0, 2: CHUNK, 23: 7})]})
m = p.message(GO, RESULT)
print(m[0] == GO)
for name, size in ((b'small', 64 * CHUNK), (b'other', CHUNK)):
    n = 2 if size > CHUNK else 3
    p.send({0: FILES, 4: [p.entry(n, name, size, keys={1: 0, 2: size, 23: 7})]})
    print(code(p.message(RESULT)))
# A part with another size or name than the admitted one is refused; the admitted part continues.
p.push_rest = p.fill(1, b'1' * CHUNK)
print(p.push_rest)"
    assert_status 0
    assert_output_is $'True\n13\n13\n0'
    assert_equal "$(stat -c %s dir/small)" 1048576
}

@test "zeros that are not sent are charged for a stream, in a file and on standard output" {
    local to

    for to in dir -; do
        PORT=$(free_port)
        serve_here ddp-recv -p "$PORT" --control none --max-size 1M "$to"
        peer "
p = to(path=b'' if '$to' == '-' else b'stream')
p.send({0: FILES, 4: [p.entry(1, b'stream', 0, kind=STREAM)]})
p.message(GO)
p.send({0: WANT, 4: [{0: 1, 1: 0, 2: 1024 * CHUNK}]})
n = 0
try:
    while n < 1024:
        m = p.message(GRANT, RESULT)
        if m[0] != GRANT:
            break
        for g in m[4]:
            p.send({0: DONE, 4: [{0: 1, 1: g[1], 2: g[2], 5: True}]})
            n += 1
    else:
        end = digest(XXH3, struct.pack('>Q', 1024 * CHUNK))
        p.send({0: DONE, 5: [{0: 1, 6: 1024 * CHUNK, 4: end}]})
        m = p.message(RESULT)
    print(code(m))
except Closed:
    print('closed')"
        assert_output_is 9
        [ "$to" != - ] || wait_served
        [ "$to" = - ] || serve_end
        [ "$(wc -c <"$OUTPUT_FILE")" -le 1100000 ] || fail_with 'zeros were written to standard output'
        assert_equal "$(find dir -type f -size +1M)" ''
    done
}

@test "a sparse file above --max-size is not written to standard output" {
    truncate -s 1G sparse
    serve_here ddp-recv -p "$PORT" --control none --max-size 1M -
    run_here ddp-send -p "$PORT" sparse 127.0.0.1:
    assert_status 1
    assert_stderr_has "octets: above the receiver's --max-size"
    wait_served
    assert_equal "$(wc -c <"$OUTPUT_FILE")" 0
    PORT=$(free_port)
    serve_here ddp-send -p "$PORT" --listen .
    run_here ddp-recv -p "$PORT" --max-size 1M 127.0.0.1:sparse -
    assert_status 1
    assert_equal "$(wc -c <"$OUTPUT_FILE")" 0
}

@test "standard output accepts only one file" {
    serve_here ddp-recv -p "$PORT" --control none -
    peer "
p = to()
print(p.push(1, b'one', b'first'), p.push(2, b'two', b'second'))"
    assert_output_is '0 12'
    serve_end
    assert_output_is 'first'
}

# SEC-14, SEC-16
@test "--quota covers all transfers, partial files and parts, and failed files return their charge" {
    local n

    random_file source 3M
    listen --quota 8M --max-files 3
    for n in 1 2; do
        run_here ddp-send -p "$PORT" source 127.0.0.1:f$n
        assert_status 0
    done
    # 6 MiB are charged. 3 MiB more fail, also in parts, and also when announced repeatedly.
    for n in 1 2 3; do
        run_here ddp-send -p "$PORT" -j $n source 127.0.0.1:f3
        assert_status 1
        assert_stderr_has "3145728 more octets, 6291456 used so far: above the receiver's --quota 8388608"
    done
    # Other failures return the charge: 2 MiB fit after many files that were announced and not sent.
    peer "
for n in range(20):
    p = to(kind=NONE)
    p.send({0: FILES, 4: [p.entry(1, b'x%d' % n, 2 * CHUNK)]})
    assert p.message()[0] == GO
    p.send({0: DONE, 5: [{0: 1, 7: 6}]})
    assert code(p.message(RESULT)) == 6
p = to()
print(p.push(1, b'fits', b'2' * (2 * CHUNK)), p.push(2, b'not', b'.'))"
    assert_output_is '0 9'
    assert_equal "$(find dir -type f | wc -l)" 3
}

@test "partial files are charged until they are resumed, also those of an earlier listener" {
    local again

    # 3 MiB of 4 are stored when the connection ends.
    leave='
def leave(name):
    p = to()
    p.send({0: FILES, 4: [p.entry(1, name, 4 * CHUNK, keys={19: b"same"})]})
    if p.message(GO, RESULT)[0] != GO:
        return "refused"
    p.send({0: WANT, 4: [{0: 1, 1: 0, 2: 4 * CHUNK}]})
    left = 3
    while left > 0:
        for g in p.message(GRANT)[4]:
            if left == 0:
                break
            p.write(g[3], g[1], b"p" * g[2])
            p.send({0: DONE, 4: [{0: 1, 1: g[1], 2: g[2], 4: digest(XXH3, b"p" * g[2])}]})
            left -= 1
    p.push(2, b"tiny", b".")  # the worker has stored the chunks before it
    p.send({0: ABORT, 4: 11, 5: "enough"})
    p.gone()
    return "left"
'
    listen --quota 8M
    for again in 1 2; do
        # An existing temporary is not written a second time, so "one" is left only once.
        peer "$leave
print(leave(b'one') if $again == 1 else 'left', leave(b'two'))"
        assert_output_is 'left left'
        [ "$(stored)" -ge 6291456 ] || fail_with "$(find dir -ls)"
        # 6 MiB of partial files exist: 2 MiB under a new name are too many, 4 MiB under their names
        # fit.
        peer "
p = to()
print(p.push(1, b'more', b'm' * (2 * CHUNK)))"
        assert_output_is 9
        [ "$again" = 2 ] || {
            serve_end
            PORT=$(free_port)
            listen --quota 8M
        }
    done
    peer "
p = to()
p.send({0: FILES, 4: [p.entry(1, b'one', 4 * CHUNK, keys={19: b'same'})]})
m = p.message(HAVE, RESULT)
print(m[0] == HAVE, sum(e[2] for e in m[4]) // CHUNK)"
    assert_output_is 'True 3'
}

@test "directories that were not announced are charged" {
    listen --max-files 10
    peer "
p = to()
print(p.push(1, b'/'.join([b'd'] * 200) + b'/f', b'x'), p.push(2, b'file', b'x'))"
    assert_output_is '9 9'
    assert_equal "$(find dir -mindepth 1 | wc -l)" 10
}

@test "members of a pack are charged one by one" {
    local n

    mkdir -p source/many
    for n in {1..40}; do echo "$n" >"source/many/$n"; done
    listen --max-files 21
    run_here ddp-send -p "$PORT" source/many 127.0.0.1:
    assert_status 1
    assert_stderr_has 'the peer says: above a limit'
    assert_equal "$(find dir -mindepth 1 | wc -l)" 21
    # An existing file is not sent again, and is not charged.
    run_here ddp-send -p "$PORT" source/many 127.0.0.1:
    assert_status 1
    assert_equal "$(find dir -mindepth 1 | wc -l)" 21
}

@test "--max-transfer limits one transfer, of a client too" {
    mkdir source
    random_file source/a 700K
    random_file source/b 700K
    listen --max-transfer 1M
    run_here ddp-send -p "$PORT" source/a source/b 127.0.0.1:
    assert_status 1
    assert_stderr_has "above the receiver's --max-transfer 1048576"
    run_here ddp-send -p "$PORT" source/b 127.0.0.1:
    assert_status 0
    assert_same_file source/b dir/b
    PORT=$(free_port)
    serve_here ddp-send -p "$PORT" --listen source
    mkdir own
    run_here ddp-recv -p "$PORT" --quota 1M 127.0.0.1:a 127.0.0.1:b own
    assert_status 1
    assert_stderr_has "above the receiver's --quota 1048576"
    assert_equal "$(find own -type f | wc -l)" 1
}

@test "a limit that would have no effect is refused" {
    local uri option

    uri="ddp+tcp://127.0.0.1:$PORT/stag/00000100?to=0&len=10&access=rw&key=$(printf '%032d' 0)"
    for option in --quota=1M --max-size=1M --max-age=9h --max-memory=1M --max-connections=3; do
        run_here ddp-recv "$option" --from "$uri"
        assert_status 2
        assert_stderr_has "--from: ${option%=*} applies to transfers only"
    done
    run_here ddp-send --quota 1M dir 127.0.0.1:
    assert_status 2
    for option in --max-memory=1M --max-connections=3; do
        run_here ddp-recv "$option" 127.0.0.1:a dir
        assert_status 2
        assert_stderr_has "${option%=*} applies to listeners only"
    done
    # Only stag-reg applies such a small memory limit.
    listen --max-memory 1M
    grep -q 'warning: --max-memory: a transfer needs 4M' "$BATS_TEST_TMPDIR/serve.$SERVED.err" || fail_with 'no warning'
    printf x >f
    run_here ddp-send -p "$PORT" f 127.0.0.1:
    assert_status 1
    assert_stderr_has "this listener's --max-memory (1048576 octets) is too small: a transfer needs 4M"
    serve_end
    PORT=$(free_port)
    serve_here ddp-send --listen -p "$PORT" --max-memory 1M .
    run_here ddp-recv -p "$PORT" 127.0.0.1:f got
    assert_status 1
    assert_stderr_has "this listener's --max-memory (1048576 octets) is too small: a transfer needs 4M"
    serve_end
    assert_stderr_has 'warning: --max-memory: a transfer needs 4M; all peers are rejected'
}

@test "a listener with the memory that the page names takes a transfer of each mode" {
    local mode

    random_file f 20000000
    for mode in write read send; do
        listen --max-memory "$([ $mode = send ] && echo 33M || echo 4M)"
        run_here ddp-send -p "$PORT" --force -m "$mode" f 127.0.0.1:
        assert_status 0
        serve_end
        PORT=$(free_port)
    done
}
