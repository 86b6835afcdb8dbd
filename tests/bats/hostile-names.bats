# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
# bats file_tags=beside
#
# Names from peers: a server from which files are fetched, and a client that pushes files, try to
# use other names, other kinds, other owners and modes, and removals that were not confirmed.

# Each test is a separate shell, and fail_with prints the variables that look unused.
# shellcheck disable=SC2030,SC2031,SC2034

load helpers

setup() {
    require_tool python3
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir -p dst/.ssh
    printf precious >dst/.ssh/authorized_keys
    PORT=$(free_port)
    export PYTHONPATH=$BATS_TEST_DIRNAME PYTHONDONTWRITEBYTECODE=1
}

# hostile_client CODE: runs CODE, Python with a source that is connected to $PORT and must send
# OPEN; say, member and pack as below.
hostile_client() {
    {
        preamble
        printf 'p = Peer.connect("127.0.0.1", %s, hello(SOURCE))\n%s\n' "$PORT" "$1"
    } >client.py
    run_here python3 client.py
}

# hostile_server CODE: serves CODE, Python with a source p that has received OPEN and GET. say(n,
# name, kind, top, keys) announces an entry and returns the code of its RESULT; pack(n, member...)
# announces a pack and returns the codes of its members, or any other message.
hostile_server() {
    {
        preamble
        printf 'p = asked(Peer.listen(%s))\n%s\n' "$PORT" "$1"
    } >server.py
    IW_READY='^port' serve_here python3 server.py
}

preamble() {
    cat <<'END'
import sys
from hostile import *
NAME, PROTOCOL, TARGET = 2, 13, 12
SETID = 512


def asked(p):
    p.options = p.message(OPEN)[5]
    p.paths = p.message(GET)[4]
    return p


def say(n, name, kind=DIR, top=False, keys=None):
    p.send({0: FILES, 4: [p.entry(n, name, 0, kind, top, keys=keys or {})]})
    m = p.message(GO, RESULT)
    return m[4][0][7] if m[0] == RESULT else 'GO'


def member(name, kind=FILE, **keys):
    e = p.entry(0, name, 1, kind, False, keys={int(k[1:]): v for k, v in keys.items()})
    del e[0]
    return e


def pack(n, *members):
    p.send({0: FILES, 4: [{0: n, 9: b'', 10: PACK, 14: False, 20: cbor(members)}]})
    m = p.message(GO, RESULT)
    return list(m[4][0][22]) if m[0] == RESULT else 'GO'


def expect(got, wanted, what):
    if got != wanted:
        sys.exit('%s: got %r, expected %r' % (what, got, wanted))


END
}

pull() {
    run_here ddp-recv -p "$PORT" "$@"
}

# Everything in dst, with modes and the contents of files.
picture() {
    (cd dst && find . -printf '%p %y %m %l\n' | sort && find . -type f -print0 | sort -z | xargs -0 cat)
}

# The names in a directory, in one line.
names_in() {
    find "$1" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | tr '\n' ' '
}

server_was_content() {
    wait_served
    assert_status 0
}

@test "a server cannot send another file than the requested one" {
    local before

    before=$(picture)
    hostile_server "
for n, (name, kind, top) in enumerate(((b'.ssh/authorized_keys', FILE, False), (b'.ssh/authorized_keys', FILE, True), (b'other', FILE, True),
        (b'other', FILE, False), (b'.ssh', DIR, True), (b'.ssh', DIR, False), (b'report.pdf/x', FILE, True), (b'report.pdf', FILE, False),
        (b'report.pdf2', FILE, True), (b'report', FILE, True), (b'.ssh/s', SYMLINK, False), (b'.ssh/h', HARDLINK, False))):
    keys = {15: b'/etc/passwd'} if kind == SYMLINK else {15: b'report.pdf/x'} if kind == HARDLINK else {}
    expect(say(n + 1, name, kind, top, keys), NAME, name)
expect(pack(13, member(b'.ssh/authorized_keys'), member(b'other'), member(b'report.pdf'), member(b'.ssh', DIR)), [NAME] * 4, 'pack')
p.bye(13, 0)"
    pull 127.0.0.1:report.pdf dst
    assert_status 1
    assert_stderr_has '.ssh/authorized_keys: name refused: it was not requested'
    assert_stderr_has 'report.pdf: not found: the peer did not announce it'
    assert_equal "$(picture)" "$before"
    server_was_content
}

@test "a requested file is accepted together with refused ones" {
    hostile_server "
expect(p.paths, [b'a/report.pdf', b'docs'], 'paths')
expect(p.push(1, b'report.pdf', b'right'), 0, 'file')
expect(p.push(2, b'other', b'wrong'), NAME, 'other')
expect(say(3, b'docs', DIR, True), 0, 'directory')
expect(p.push(4, b'docs/x', b'right', top=False), 0, 'below')
expect(say(5, b'docs/l', SYMLINK, False, {15: b'/anywhere'}), 0, 'symbolic link')
expect(say(6, b'docs/h', HARDLINK, False, {15: b'docs/x'}), 0, 'hard link')
p.bye(6, 0)"
    pull 127.0.0.1:a/report.pdf 127.0.0.1:docs dst
    assert_status 1
    assert_equal "$(cat dst/report.pdf dst/docs/x dst/docs/h)" rightrightright
    [ ! -e dst/other ] || fail_with 'dst/other was created'
    server_was_content
}

@test "a server cannot send another file under the local name of the target" {
    hostile_server "
expect(p.push(1, b'other', b'wrong'), NAME, 'other')
expect(p.push(2, b'other/x', b'wrong', top=False), NAME, 'other/x')
expect(p.push(3, b'report.pdf', b'right'), 0, 'file')
p.bye(3, 0)"
    pull 127.0.0.1:report.pdf dst/mine
    assert_status 1
    assert_equal "$(cat dst/mine)" right
    assert_equal "$(names_in dst)" '.ssh mine '
    server_was_content
}

@test "a server cannot send a link in place of a requested file" {
    local before

    before=$(picture)
    hostile_server "
expect(say(1, b'report.pdf', SYMLINK, True, {15: b'/etc/passwd'}), NAME, 'symbolic link')
expect(say(2, b'report.pdf', HARDLINK, True, {15: b'.ssh/authorized_keys'}), NAME, 'hard link')
expect(say(3, b'report.pdf', HARDLINK, True, {15: b'report.pdf/x'}), NAME, 'hard link')
expect(say(4, b'report.pdf', DIR, True), 0, 'directory')
expect(say(5, b'report.pdf/k', HARDLINK, False, {15: b'.ssh/authorized_keys'}), NAME, 'hard link to a name that was not requested')
expect(pack(6, member(b'report.pdf/k', HARDLINK, _15=b'.ssh/authorized_keys')), [NAME], 'the same in a pack')
p.bye(6, 0)"
    pull 127.0.0.1:report.pdf dst
    assert_status 1
    assert_stderr_has 'report.pdf: name refused: a link in place of a requested name'
    assert_stderr_has 'report.pdf/k: name refused: a link to a name that was not requested'
    assert_equal "$(names_in dst/report.pdf)" ''
    server_was_content
}

@test "no name is followed through a link below a requested directory, even inside the target" {
    mkdir -p dst/docs/old
    ln -s ../../.ssh dst/docs/old/before
    hostile_server "
expect(say(1, b'docs', DIR, True), 0, 'directory')
expect(say(2, b'docs/l', SYMLINK, False, {15: b'../.ssh'}), 0, 'symbolic link')
expect(p.push(3, b'docs/l/authorized_keys', b'evil', top=False), TARGET, 'file')
expect(say(4, b'docs/l/sub', DIR, False), TARGET, 'directory')
expect(say(5, b'docs/l/sub/deep', DIR, False), TARGET, 'directories on the way')
expect(say(6, b'docs/k', HARDLINK, False, {15: b'docs/l/authorized_keys'}), TARGET, 'hard link')
expect(pack(7, member(b'docs/l/authorized_keys'), member(b'docs/k', HARDLINK, _15=b'docs/l/authorized_keys')), [TARGET] * 2, 'pack')
expect(p.push(8, b'docs/old/before/authorized_keys', b'evil', top=False), TARGET, 'a link that was there')
p.bye(8, 0)"
    pull 127.0.0.1:docs dst
    assert_status 1
    assert_stderr_has 'a component of the path is a symbolic link'
    assert_equal "$(names_in dst/.ssh)" 'authorized_keys '
    assert_equal "$(cat dst/.ssh/authorized_keys)" precious
    [ ! -e dst/docs/k ] || fail_with 'dst/docs/k was created'
    server_was_content
}

@test "requested contents may have any names, and are stored only in the target" {
    hostile_server "
expect(p.push(1, b'any', b'right', top=False), 0, 'file')
expect(say(2, b'more', DIR, False), 0, 'directory')
for n, (name, top) in enumerate(((b'../out', False), (b'/tmp/iw-out', False), (b'more/../../out', False), (b'', False), (b'.', False), (b'..', False),
        (b'any/../x', False), (b'named', True))):
    expect(say(3 + n, name, FILE, top), NAME, name)
p.bye(10, 0)"
    pull 127.0.0.1: dst
    assert_status 1
    assert_equal "$(cat dst/any)" right
    assert_equal "$(names_in dst)" '.ssh any more '
    [ ! -e out ] || fail_with 'a file was created outside the directory'
    server_was_content
}

@test "a path that has no name is refused before it is requested" {
    local path

    for path in .. a/.. a/../ / //; do
        pull "127.0.0.1:$path" dst
        assert_status 2
        assert_stderr_has "\"127.0.0.1:$path\": the path "
    done
}

# --- removals -------------------------------------------------------------------------------------------------------------------

@test "a server cannot clear a directory that was not requested" {
    mkdir -p dst/docs dst/private/deep
    touch dst/docs/old dst/private/deep/f dst/top
    hostile_server "
expect(say(1, b'private', DIR, True), NAME, 'another directory')
expect(say(2, b'private/deep', DIR, False), NAME, 'below another directory')
expect(say(3, b'.ssh', DIR, False), NAME, 'a hidden one')
expect(say(4, b'docs', DIR, True), 0, 'the one that was asked for')
expect(p.bye(4, 3)[6], 1, 'removals')"
    pull --delete --yes 127.0.0.1:docs dst
    assert_status 1
    assert_equal "$(find dst | sort | tr '\n' ' ')" \
        'dst dst/.ssh dst/.ssh/authorized_keys dst/docs dst/private dst/private/deep dst/private/deep/f dst/top '
    server_was_content
}

@test "only confirmed names are removed when a server announces others the second time" {
    require_tool script
    mkdir -p dst/docs/stale dst/docs/kept
    touch dst/docs/stale/x dst/docs/old dst/docs/mine dst/docs/kept/f
    hostile_server "
expect(say(1, b'docs', DIR, True), 0, 'directory')
expect(say(2, b'docs/kept', DIR, False), 0, 'another one')
for n, name in enumerate((b'docs/mine', b'docs/kept/f')):
    p.send({0: FILES, 4: [{**p.entry(3 + n, name, 0, top=False), 7: 4}]})
    p.message(RESULT)
expect(p.bye(4, 2)[6], 3, 'removals looked for')
p = asked(Peer.accept())
expect(p.options & DRY_RUN, 0, 'options')
open('dst/docs/stale/new', 'w').close()
expect(say(1, b'docs', DIR, True), 0, 'directory')
expect(say(2, b'docs/kept', DIR, False), 0, 'another one')
expect(p.bye(2, 0)[6], 2, 'removals')"
    printf 'y\n' >answer
    IW_STDIN=answer run_here script -qec "ddp-recv -p $PORT --delete 127.0.0.1:docs dst" /dev/null
    assert_output_has 'docs/old: would be removed'
    assert_output_has 'docs/stale/x: would be removed'
    assert_output_lacks 'docs/mine: would be removed'
    assert_output_has '3 files and directories that are not at the source would be removed from the target. Continue?'
    assert_output_has '3 names not removed: not among the confirmed removals'
    assert_equal "$(find dst/docs | sort | tr '\n' ' ')" 'dst/docs dst/docs/kept dst/docs/kept/f dst/docs/mine dst/docs/stale dst/docs/stale/new '
    server_was_content
}

# --- modes and owners ----------------------------------------------------------------------------------------------------------

# mode, owner and group of a file
owner_of() {
    stat -c '%a %u %g' "$1"
}

@test "set-id bits are not set unless --setid permits them" {
    umask 022
    serve_here ddp-recv -p "$PORT" dst
    hostile_client "
p.open()
evil = {11: 0o6755, 16: 0, 17: 0}
expect(p.push(1, b'plain', b'#!', keys={11: 0o6755}), 0, 'file')
expect(p.push(2, b'owned', b'#!', keys=evil), 0, 'file with an owner')
expect(say(3, b'dir', DIR, True, {11: 0o7777}), 0, 'directory')
p.send({0: FILES, 4: [{0: 4, 9: b'', 10: PACK, 14: False, 20: cbor([member(b'dir/m', _11=0o6777, _16=0, _17=0)])}]})
expect(p.message(GO, RESULT)[0], GO, 'pack')
p.send({0: WANT, 4: [{0: 4, 1: 0, 2: CHUNK}]})
g = p.message(GRANT)[4][0]
p.write(g[3], 0, b'\\0x')
d = digest(p.kind, b'\\0x')
p.send({0: DONE, 4: [{0: 4, 1: 0, 2: 2, 4: d}], 5: [{0: 4, 6: 2, 4: file_digest(p.kind, b'\\0x')}]})
expect(p.message(RESULT)[4][0].get(7), 0, 'pack')
expect(p.push(5, b'open', b'#!', keys={11: 0o777}), 0, 'writable by all')
# Again with another mode, when the file exists.
expect(p.push(6, b'plain', b'#!', keys={11: 0o7777}), 1, 'the same file')
p.bye(6, 0)"
    assert_status 0
    assert_equal "$(stat -c %a dst/plain dst/owned dst/dir dst/dir/m dst/open | tr '\n' ' ')" '755 755 755 755 755 '
}

@test "set-id bits are set with an owner, when both are permitted and requested" {
    local me

    umask 022
    me="$(id -u) $(id -g)"
    serve_here ddp-recv -p "$PORT" dst
    hostile_client "
for opts in SETID, SETID | OWNER, OWNER:
    p = Peer.connect('127.0.0.1', $PORT, hello(SOURCE))
    p.open(opts)
    expect(p.message(ABORT)[0], ABORT, opts)"
    assert_status 0
    serve_end
    [ "$(id -u)" -eq 0 ] || return 0
    PORT=$(free_port)
    serve_here ddp-recv -p "$PORT" --owner --owner-from-anyone dst
    hostile_client "
p.open(OWNER)
expect(p.push(1, b'f', b'#!', keys={11: 0o7755, 16: 1234, 17: 2345}), 0, 'file')
expect(say(2, b'd', DIR, True, {11: 0o7777, 16: 1234, 17: 2345}), 0, 'directory')
p.bye(2, 0)
p = Peer.connect('127.0.0.1', $PORT, hello(SOURCE))
p.open(OWNER | SETID)
expect(p.message(ABORT)[0], ABORT, 'set-id bits')"
    assert_status 0
    assert_equal "$(owner_of dst/f)" '755 1234 2345'
    assert_equal "$(owner_of dst/d)" '1777 1234 2345'
    serve_end
    PORT=$(free_port)
    serve_here ddp-recv -p "$PORT" --owner --setid --owner-from-anyone dst
    hostile_client "
p.open(OWNER | SETID)
expect(p.push(1, b'g', b'#!', keys={11: 0o4755}), 0, 'without an owner')
expect(p.push(2, b'h', b'#!', keys={11: 0o4755, 16: 1234, 17: 2345}), 0, 'with an owner')
p.bye(2, 0)
p = Peer.connect('127.0.0.1', $PORT, hello(SOURCE))
p.open(SETID)
expect(p.push(1, b'i', b'#!', keys={11: 0o4755, 16: 0, 17: 0}), 0, 'set-id bits alone')
p.bye(1, 0)"
    assert_status 0
    assert_equal "$(owner_of dst/g)" "755 $me"
    assert_equal "$(owner_of dst/h)" '4755 1234 2345'
    assert_equal "$(owner_of dst/i)" "755 $me"
}

@test "--owner as root without --owner-from-anyone is refused with the reason" {
    require_root
    pull --owner dst
    assert_status 2
    assert_stderr_has 'every peer that can connect could create files of any user here, root included, because peers are not authenticated'
    pull --owner 127.0.0.1:f dst
    assert_status 2
    assert_stderr_has 'the server could create files of any user'
    pull --owner-from-anyone dst
    assert_status 2
    assert_stderr_has 'only with --owner'
    pull --setid dst
    assert_status 2
    assert_stderr_has '--setid needs --owner'
    # A user other than root cannot change the owner of a file.
    chmod 777 . dst
    run_here setpriv --reuid 65534 --regid 65534 --clear-groups ddp-recv -p "$PORT" --timeout 1s --owner 127.0.0.1:f dst
    assert_status 4
}

@test "attributes that grant rights are not set by --xattr" {
    serve_here ddp-recv -p "$PORT" --xattr dst
    hostile_client "
def attr(name, value):
    return bytes([len(name)]) + struct.pack('>H', len(value)) + name + value

acl = bytes.fromhex('02000000' '01000600ffffffff' '02000600d2040000' '04000400ffffffff' '10000600ffffffff' '20000000ffffffff')
p.open(XATTR)
for n, (name, value) in enumerate(((b'security.capability', bytes(20)), (b'trusted.x', b'1'), (b'system.posix_acl_access', acl))):
    expect(p.push(n + 1, b'f%d' % n, b'data', keys={18: attr(name, value)}), PROTOCOL, name)
p.bye(3, 0)"
    assert_status 0
    assert_equal "$(names_in dst)" '.ssh '
}

@test "the attributes of a file that has other hard links do not change" {
    local before

    mkdir elsewhere
    printf secret >elsewhere/f
    chmod 600 elsewhere/f
    touch -d @1700000000 elsewhere/f
    ln -s target elsewhere/l
    touch -h -d @1600000000 elsewhere/l
    ln elsewhere/f dst/f
    ln -P elsewhere/l dst/l
    before=$(stat -c '%a %u %g %Y' elsewhere/f elsewhere/l)
    serve_here ddp-recv -p "$PORT" dst
    hostile_client "
p.open()
p.send({0: FILES, 4: [p.entry(1, b'f', 6, keys={11: 0o666})]})
expect(p.message(GO, RESULT)[0], GO, 'a file with another mode')
expect(p.fill(1, b'secret'), 0, 'the file')
expect(say(2, b'l', SYMLINK, True, {15: b'target'}), 1, 'the link')
p.bye(2, 0)"
    assert_status 0
    assert_equal "$(stat -c '%a %u %g %Y' elsewhere/f elsewhere/l)" "$before"
    assert_equal "$(stat -c '%h' elsewhere/f)" 1
    # With the right mode, or without other names, nothing is sent again.
    printf secret >dst/g
    chmod 600 dst/g
    touch -d @1700000000 dst/g
    hostile_client "
p.open()
for n, mode in enumerate((0o600, 0o644)):
    p.send({0: FILES, 4: [p.entry(n + 1, b'g', 6, keys={11: mode})]})
    m = p.message(GO, RESULT)
    expect((m[0], m[4][0].get(7)), (RESULT, 1), oct(mode))
p.bye(2, 0)"
    assert_status 0
    assert_equal "$(stat -c %a dst/g)" 644
}

@test "--safe-links leaves out links that lead out of their tree" {
    serve_here ddp-recv -p "$PORT" --safe-links dst
    hostile_client "
EXCLUDED = 20
p.open()
expect(say(1, b't', DIR, True), 0, 'directory')
expect(say(2, b't/d', DIR, False), 0, 'directory below')
for n, (name, to, code) in enumerate(((b't/abs', b'/etc', EXCLUDED), (b't/up', b'../.ssh', EXCLUDED), (b't/d/up', b'../../.ssh', EXCLUDED),
        (b't/round', b'd/../../.ssh', EXCLUDED), (b'top', b'.ssh', EXCLUDED), (b't/d/ok', b'../x', 0), (b't/ok', b'd/x', 0))):
    expect(say(n + 3, name, SYMLINK, False, {15: to}), code, name)
expect(pack(10, member(b't/p', SYMLINK, _15=b'/etc'), member(b't/q', SYMLINK, _15=b'd')), [EXCLUDED, 0], 'pack')
p.bye(10, 0)"
    assert_status 0
    assert_equal "$(find dst -type l | sort | tr '\n' ' ')" 'dst/t/d/ok dst/t/ok dst/t/q '
    serve_end
    assert_stderr_has 't/abs: skipped: excluded: the link points outside the transferred directory'
    assert_output_has ', 6 left out'
}
