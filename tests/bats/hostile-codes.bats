# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
# bats file_tags=beside
#
# What a source may report about files: sources that report success for files that they did not
# send, that send codes reserved to the sink, and that send owners and attributes which cannot be
# set. The sink's report and exit status show the true state.

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
import sys
from hostile import *
OK, SAME, PROTOCOL, WOULD, EXISTS, NEWER, EXCLUDED = 0, 1, 13, 17, 18, 19, 20


def expect(got, wanted, what):
    if got != wanted:
        sys.exit('%s: got %r, expected %r' % (what, got, wanted))


def result(*types):
    """Code, text and members' codes of the next RESULT; the type of what else was asked for."""
    m = p.message(RESULT, *types)
    return (m[4][0][7], m[4][0].get(8), list(m[4][0].get(22, b''))) if m[0] == RESULT else m[0]


def say(n, name, code, kind=FILE, top=True, text=None):
    """The source cannot send it."""
    e = p.entry(n, name, 4, kind, top, keys={7: code})
    if text:
        e[8] = text
    p.send({0: FILES, 4: [e]})
    return result()[0]


def directory(n, name, **keys):
    p.send({0: FILES, 4: [p.entry(n, name, 0, DIR, keys={int(k[1:]): v for k, v in keys.items()})]})
    return result()


def pack(n, members, keys=None):
    """Announces files, of a name and octets each."""
    some = []
    for name, data in members:
        e = p.entry(0, name, len(data), FILE, False, keys=keys or {})
        del e[0]
        some.append(e)
    p.send({0: FILES, 4: [{0: n, 9: b'', 10: PACK, 14: False, 20: cbor(some)}]})


def fill(n, data, end=True):
    """The content of a pack, and its end."""
    if p.mode == WRITE:
        p.send({0: WANT, 4: [{0: n, 1: 0, 2: CHUNK}]})
        g = p.message(GRANT)[4][0]
        p.write(g[3], 0, data)
    elif p.mode == READ:
        p.offer_memory(77, 0, data)
    else:
        p.sent += 1
        p.raw_send(struct.pack('>IIQ', 0, n, 0) + data)
    done = {0: n, 1: 0, 2: len(data), **p.digest_key(digest(p.kind, data))}
    if p.mode == READ:
        p.send({0: OFFER, 4: [{**done, 3: 77}]})
        p.message(RELEASE)
    else:
        p.send({0: DONE, 4: [done]})
    if end:
        p.end(n, data)


END
}

# serve CODE: a server that runs CODE, Python with p, which has received OPEN and GET.
serve() {
    {
        preamble
        printf 'p = Peer.listen(%s)\np.message(OPEN)\np.message(GET)\n%s\n' "$PORT" "$1"
    } >server.py
    IW_READY='^port' serve_here python3 server.py
}

pull() {
    run_here ddp-recv -p "$PORT" "$@"
}

content() {
    wait_served
    assert_status 0
}

# push CODE: a client that runs CODE; listens with the options that follow.
push() {
    {
        preamble
        printf 'p = Peer.connect("127.0.0.1", %s, hello(SOURCE))\n%s\n' "$PORT" "$1"
    } >client.py
    serve_here ddp-recv -p "$PORT" --once "${@:2}" dst
    run_here python3 client.py
    assert_status 0
    wait_served
}

@test "a source that reports files as already present has failed" {
    local code opts

    for code in 0 1 17 18 19 20; do
        for opts in '' '--update --dry-run' '--delete --yes'; do
            serve "
for code in ($code,):
    expect(say(1, b'report', code), PROTOCOL, code)
p.bye(1, 0)"
            # shellcheck disable=SC2086
            pull $opts 127.0.0.1:report dst
            assert_status 1
            assert_stderr_has 'report: protocol error: the source reported'
            assert_stderr_has 'which only a sink can determine'
            assert_output_lacks 'unchanged'
            content
        done
    done
}

@test "a source may report names below a directory as left out, if the sink removes names that are not announced" {
    mkdir dst/docs
    echo mine >dst/docs/log
    echo old >dst/docs/other
    serve "
expect(directory(1, b'docs')[0], OK, 'docs')
expect(say(2, b'docs/log', EXCLUDED, top=False), EXCLUDED, 'left out')
p.bye(2, 0)"
    pull --delete --yes 127.0.0.1:docs dst
    assert_status 0
    assert_equal "$(ls dst/docs)" log
    content
    serve "
expect(directory(1, b'docs')[0], OK, 'docs')
expect(say(2, b'docs/log', EXCLUDED, top=False), PROTOCOL, 'left out')
p.bye(2, 0)"
    pull 127.0.0.1:docs dst
    assert_status 1
    content
}

@test "a source that reports at the end of a file that it was already present has failed" {
    local code

    for code in 0 1 17 18 19 20; do
        serve "
p.send({0: FILES, 4: [p.entry(1, b'report', 4)]})
expect(p.message(GO, RESULT)[0], GO, 'announced')
p.send({0: DONE, 5: [{0: 1, 7: $code, 8: 'all is well'}]})
expect(result()[0], PROTOCOL, $code)
p.bye(1, 0)"
        pull 127.0.0.1:report dst
        assert_status 1
        assert_stderr_has 'report: protocol error: the source reported'
        assert_equal "$(ls -A dst)" ''
        content
    done
}

@test "the reasons that a source sends are reported unchanged" {
    serve "
expect(say(1, b'report', 4, text='open it'), 4, 'no permission')
p.bye(1, 1)"
    pull 127.0.0.1:report dst
    assert_status 1
    assert_stderr_has 'report: the peer says: permission denied: open it'
    content
}

@test "members of a pack that are reported as already present have failed" {
    local mode

    for mode in write read send; do
        rm -rf dst/docs
        serve "
expect(directory(1, b'docs')[0], OK, 'docs')
names = [b'docs/%c' % c for c in b'abcdef']
pack(2, [(name, b'x') for name in names])
expect(result(GO), GO, 'the pack')
fill(2, bytes((SAME, WOULD, EXISTS, EXCLUDED, 4, OK)) + b'x')
expect(result()[2], [PROTOCOL] * 4 + [4, OK], 'codes')
p.bye(2, 5)"
        pull -m "$mode" 127.0.0.1:docs dst
        assert_status 1
        assert_stderr_has 'docs/a: protocol error: the source reported'
        assert_output_has '5 FAILED'
        assert_equal "$(ls dst/docs)" f
        content
    done
}

@test "a pack that ends early fails only the members that did not arrive" {
    local mode content

    for mode in write read send; do
        for content in "b'\0' + b'A' * 100" "b'\0' + b'A' * 100 + b'\0'" "b'\0' + b'A' * 100 + b'\0' + b'B' * 99"; do
            rm -rf dst/docs
            serve "
expect(directory(1, b'docs')[0], OK, 'docs')
pack(2, [(b'docs/a', b'A' * 100), (b'docs/b', b'B' * 100)])
expect(result(GO), GO, 'the pack')
fill(2, $content)
expect(result()[2], [OK, PROTOCOL], 'codes')
p.bye(2, 0)"
            pull -m "$mode" 127.0.0.1:docs dst
            assert_status 1
            assert_stderr_has 'docs/b: protocol error: the pack ended before this file'
            assert_stderr_lacks 'docs/a'
            assert_output_has '1 file, 1 FAILED'
            assert_equal "$(ls dst/docs)" a
            content
        done
    done
}

@test "no file of a pack that continues after its last file, or has no content, is stored" {
    local mode content

    for mode in write read send; do
        rm -rf dst/docs
        serve "
expect(directory(1, b'docs')[0], OK, 'docs')
pack(2, [(b'docs/a', b'A' * 100), (b'docs/b', b'B' * 100)])
expect(result(GO), GO, 'the pack')
fill(2, b'\0' + b'A' * 100 + b'\0' + b'B' * 101)
expect(result()[2], [PROTOCOL] * 2, 'goes on')
pack(3, [(b'docs/c', b'C')])
expect(result(GO), GO, 'another pack')
p.end(3, b'')
expect(result()[2], [PROTOCOL], 'empty')
p.bye(3, 0)"
        pull -m "$mode" 127.0.0.1:docs dst
        assert_status 1
        assert_stderr_has 'docs/a: protocol error: the pack continues after its last file'
        assert_stderr_has 'docs/b: protocol error: the pack continues after its last file'
        assert_stderr_has 'docs/c: protocol error: a pack without content'
        assert_output_has '3 FAILED'
        assert_equal "$(ls -A dst/docs)" ''
        content
    done
}

@test "an owner that chown(2) would ignore is refused" {
    push "
p.open(opts=OWNER | 512)
for n, keys in enumerate(({16: 2**32 - 1, 17: 5}, {16: 5, 17: 2**32 - 1}, {16: 2**32 - 1, 17: 2**32 - 1})):
    keys[11] = 0o4755
    for k, (name, kind) in enumerate(((b'file%d' % n, FILE), (b'dir%d' % n, DIR), (b'link%d' % n, SYMLINK))):
        more = {15: b'file'} if kind == SYMLINK else {}
        p.send({0: FILES, 4: [p.entry(4 * n + k + 1, name, 0, kind, keys={**keys, **more})]})
        expect(result(GO)[:2], (PROTOCOL, '4294967295 is not the number of an owner or group'), name)
    pack(4 * n + 4, [(b'packed%d' % n, b'x')], keys)
    expect(result(GO)[2], [PROTOCOL], 'pack')
p.bye(12, 12)" --owner --owner-from-anyone --setid
    assert_status 1
    assert_equal "$(ls -A dst)" ''
}

@test "attributes of a directory that are never transferred are refused by name" {
    push "
def attr(name, value):
    return struct.pack('>BH', len(name), len(value)) + name + value


p.open(opts=XATTR)
what = 'an extended attribute that is never transferred'
bad = 'its extended attributes are malformed'
for n, (name, attrs, text) in enumerate(((b'caps', attr(b'security.capability', bytes(20)), what), (b'garbage', bytes(3) + b'x', bad),
        (b'trusted', attr(b'user.a', b'1') + attr(b'trusted.a', b'1'), what), (b'cut', attr(b'user.a', b'1')[:-1], bad),
        (b'acl', attr(b'system.posix_acl_default', b'x'), what))):
    expect(directory(n + 1, name, k18=attrs)[:2], (PROTOCOL, text), name)
expect(directory(6, b'good', k18=attr(b'user.a', b'1'))[0], OK, 'good')
p.bye(6, 5)" --xattr
    assert_status 1
    assert_stderr_has 'caps: protocol error: an extended attribute that is never transferred'
    assert_stderr_has 'garbage: protocol error: its extended attributes are malformed'
    assert_equal "$(ls dst)" good
}

@test "a directory that cannot be given its attributes is reported by name with the reason" {
    push "
def attr(name, value):
    return struct.pack('>BH', len(name), len(value)) + name + value


p.open(opts=XATTR)
for n, name in enumerate((b'one', b'two')):
    expect(directory(n + 1, name, k18=attr(b'user.', b'1'))[0], OK, name)
p.bye(2, 0)" --xattr
    assert_status 1
    assert_stderr_has 'one: input or output error: cannot set an extended attribute: '
    assert_stderr_has 'two: input or output error: cannot set an extended attribute: '
    assert_stderr_has '2 names could not be given their attributes, or could not be removed'
    assert_stderr_lacks 'directories could not'
}
