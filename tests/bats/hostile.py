# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A peer for tests that breaks rules on purpose: MPA (RFC 5044, RFC 6581) over TCP, DDP (RFC 5041), RDMAP (RFC 5040), and the
messages of the transfer protocol (ddp-transfer(7)).

It is written from those documents alone and shares no code with the library. It sends whatever the test requests, without checks. Every
wait has a deadline: TIMEOUT seconds without an octet raises an exception, and the script ends with a traceback and status 1.

    from hostile import *
    p = Peer.connect('127.0.0.1', port, hello(SOURCE))     # a data source that pushes
    p = Peer.listen(0, role=SOURCE)                        # a server: prints "port N", accepts one connection
    p.send({...})                                          # a control message; key 1 (credit) is added
    m = p.message()                                        # the next control message of the peer, a dict; NOPs are skipped

The file moves of an honest source are here too, so that a test has to write only what it does differently: push().
"""
import ctypes
import os
import socket
import struct
import sys
import time

# The programs of the tests import all names of this module, and use these two modules as well.
PROGRAMS_USE = (sys, time)

TIMEOUT = 20

# --- RFC 3385: CRC32c -----------------------------------------------------------------------------------------------------------

_TABLE = []
for _n in range(256):
    for _ in range(8):
        _n = _n >> 1 ^ (0x82F63B78 if _n & 1 else 0)
    _TABLE.append(_n)
try:
    _ISAL = ctypes.CDLL('libisal.so.2')
    _ISAL.crc32_iscsi.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_uint]
    _ISAL.crc32_iscsi.restype = ctypes.c_uint
except OSError:
    _ISAL = None


def crc32c(data):
    if _ISAL:
        return _ISAL.crc32_iscsi(bytes(data), len(data), 0xFFFFFFFF) ^ 0xFFFFFFFF
    c = 0xFFFFFFFF
    for b in data:
        c = c >> 8 ^ _TABLE[(c ^ b) & 255]
    return c ^ 0xFFFFFFFF


# --- RFC 8949: the part of CBOR that the protocol uses ---------------------------------------------------------------------------


def _head(major, n):
    for code, size, limit in ((0, 0, 24), (24, 1, 1 << 8), (25, 2, 1 << 16), (26, 4, 1 << 32), (27, 8, 1 << 64)):
        if n < limit:
            return bytes([major << 5 | (code if size else n)]) + (n.to_bytes(size, 'big') if size else b'')
    raise ValueError(n)


def cbor(v):
    if v is True or v is False:
        return b'\xf5' if v else b'\xf4'
    if isinstance(v, int):
        return _head(0, v) if v >= 0 else _head(1, -1 - v)
    if isinstance(v, (bytes, bytearray)):
        return _head(2, len(v)) + bytes(v)
    if isinstance(v, str):
        return _head(3, len(v.encode())) + v.encode()
    if isinstance(v, (list, tuple)):
        return _head(4, len(v)) + b''.join(map(cbor, v))
    return _head(5, len(v)) + b''.join(cbor(k) + cbor(v[k]) for k in v)


def uncbor(b, at=0):
    """(value, offset after it)"""
    major, low, at = b[at] >> 5, b[at] & 31, at + 1
    if major == 7:
        return low == 21, at
    size = 0 if low < 24 else 1 << low - 24
    n = int.from_bytes(b[at:at + size], 'big') if size else low
    at += size
    if major == 0:
        return n, at
    if major == 1:
        return -1 - n, at
    if major in (2, 3):
        return (bytes(b[at:at + n]) if major == 2 else b[at:at + n].decode()), at + n
    if major == 4:
        items = []
        for _ in range(n):
            v, at = uncbor(b, at)
            items.append(v)
        return items, at
    pairs = {}
    for _ in range(n):
        k, at = uncbor(b, at)
        pairs[k], at = uncbor(b, at)
    return pairs, at


# --- digests -----------------------------------------------------------------------------------------------------------------------

NONE, XXH3, SHA256 = 0, 1, 2


class _U128(ctypes.Structure):
    _fields_ = [('low', ctypes.c_uint64), ('high', ctypes.c_uint64)]


def digest(kind, data):
    if kind == NONE:
        return b''
    if kind == SHA256:
        import hashlib
        return hashlib.sha256(data).digest()
    f = ctypes.CDLL('libxxhash.so.0').XXH3_128bits
    f.argtypes, f.restype = [ctypes.c_char_p, ctypes.c_size_t], _U128
    h = f(bytes(data), len(data))
    return struct.pack('>QQ', h.high, h.low)


CHUNK = 1 << 20


def file_digest(kind, data):
    rows = b''
    for n in range(0, len(data), CHUNK):
        chunk = data[n:n + CHUNK]
        if chunk.strip(b'\0'):
            rows += struct.pack('>Q', n // CHUNK) + digest(kind, chunk)
    return digest(kind, rows + struct.pack('>Q', len(data)))


# --- ddp-transfer(7) ---------------------------------------------------------------------------------------------------------------

SOURCE, SINK = 1, 2
WRITE, READ, SEND = 1, 2, 3
(NOP, OPEN, GET, FILES, GO, WANT, GRANT, DONE, OFFER, RELEASE, RESULT, BYE, ABORT, HAVE, ATTRS) = range(15)
FILE, DIR, STREAM, SYMLINK, HARDLINK, PACK = range(6)
# OPEN's options
FORCE, MANY, NO_CLOBBER, UPDATE, DRY_RUN, DELETE, OWNER, XATTR, VERIFY = (1 << n for n in range(9))


def hello(role, mode=WRITE, kind=XXH3, ident=None, **more):
    """Private Data; `keys` are changed or added: hello(SOURCE, keys={5: 0})"""
    m = {0: 'ddp-transfer', 1: 3, 2: 3, 3: role, 4: mode, 5: kind, 6: ident or os.urandom(16), 7: 64, 8: 262160 if mode == SEND else 65536,
         9: 32, 10: 64, 12: 1}
    m.update(more.get('keys', {}))
    return m


class Closed(Exception):
    """The peer closed the connection, or reset it."""


class Terminated(Exception):
    """The peer sent a Terminate; args[0] is its payload."""


class Rejected(Exception):
    """The Reply has the R bit; args[0] is its Private Data."""


class Peer:
    # --- MPA ---

    def __init__(self, sock):
        self.sock = sock
        sock.settimeout(TIMEOUT)
        self.msn = {}          # QN -> next MSN to send
        self.parts = {}        # QN -> octets of the message that is arriving
        self.inbox = []        # (opcode, QN, payload) of whole untagged messages
        self.memory = {}       # STag -> (TO of the first octet, bytearray) that the peer may write or read
        self.responses = {}    # STag -> bytearray of RDMA Read Responses that arrived
        self.received = 0      # messages, for credit
        self.window = 64
        self.credit = 0        # total number of messages that the peer permits
        self.sent = 0
        self.hello = {}
        self.mulpdu = 1400

    @classmethod
    def connect(cls, host, port, private, check=True, rev=1, raw_private=None):
        p = cls(socket.create_connection((host, int(port)), TIMEOUT))
        data = raw_private if raw_private is not None else cbor(private)
        p.mode, p.kind = private.get(4, WRITE), private.get(5, XXH3)
        p.window = private.get(7, 64)
        p.sock.sendall(b'MPA ID Req Frame' + struct.pack('>BBH', 0x40, rev, len(data)) + data)
        key, flags, _, pd = p._startup()
        if flags & 0x20:
            raise Rejected(uncbor(pd)[0] if pd else {})
        if check:
            p.hello = uncbor(pd)[0]
            p.credit = p.hello.get(7, 0)
        return p

    @classmethod
    def listen(cls, port=0, role=SOURCE, host='127.0.0.1', keys=None, family=socket.AF_INET):
        """Prints "port N", accepts one connection; accept() takes the next one."""
        s = socket.socket(family)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.settimeout(TIMEOUT)
        s.bind((host, port))
        s.listen(16)
        print('port', s.getsockname()[1], flush=True)
        cls.listener = s
        return cls.accept(role, keys)

    @classmethod
    def accept(cls, role=SOURCE, keys=None):
        """Accepts another connection of the listener."""
        p = cls(cls.listener.accept()[0])
        _, flags, rev, pd = p._startup()
        enhanced = b''
        if flags & 0x10:
            pd, enhanced = pd[4:], struct.pack('>HH', 16, 16)  # RFC 6581: IRD and ORD come first
        if pd[:1] != b'\xa0' and pd[0] >> 5 != 5:
            at = next(i for i in range(len(pd)) if pd[i] >> 5 == 5 and b'ddp-transfer' in pd[i:i + 20])
            pd = pd[at:]  # the library's own field precedes the map
        p.hello = uncbor(pd)[0]
        p.mode, p.kind = p.hello[4], p.hello[5]
        p.credit = p.hello[7]
        mine = hello(role, p.mode, p.kind, p.hello[6])
        del mine[12]
        mine.update(keys or {})
        p.window = mine[7]
        data = enhanced + cbor(mine)
        p.sock.sendall(b'MPA ID Rep Frame' + struct.pack('>BBH', 0x40 | flags & 0x10, rev, len(data)) + data)
        return p

    def _take(self, n):
        b = b''
        while len(b) < n:
            try:
                got = self.sock.recv(n - len(b))
            except ConnectionError as e:
                raise Closed(str(e)) from None
            if not got:
                raise Closed('end of stream')
            b += got
        return b

    def _startup(self):
        head = self._take(20)
        flags, rev, n = struct.unpack('>BBH', head[16:])
        return head[:16], flags, rev, self._take(n)

    def fpdu(self, ulpdu):
        b = struct.pack('>H', len(ulpdu)) + ulpdu
        b += bytes(-len(b) % 4)
        try:
            self.sock.sendall(b + struct.pack('<I', crc32c(b)))
        except ConnectionError as e:
            raise Closed(str(e)) from None

    # --- DDP and RDMAP ---

    def untagged(self, opcode, payload, qn=0, msn=None, mo=0, last=True, stag=0):
        n = self.msn.get(qn, 1) if msn is None else msn
        self.fpdu(struct.pack('>BBIIII', (0x40 if last else 0) | 1, 0x40 | opcode, stag, qn, n, mo) + payload)

    def tagged(self, opcode, stag, to, payload, last=True):
        self.fpdu(struct.pack('>BBIQ', 0x80 | (0x40 if last else 0) | 1, 0x40 | opcode, stag, to) + payload)

    def raw_send(self, payload, qn=0, opcode=3):
        """A whole message in as many segments as it needs."""
        step = self.mulpdu - 18
        for at in range(0, max(len(payload), 1), step):
            self.untagged(opcode, payload[at:at + step], qn, mo=at, last=at + step >= len(payload))
        self.msn[qn] = self.msn.get(qn, 1) + 1

    def write(self, stag, to, payload):
        step = self.mulpdu - 14
        for at in range(0, max(len(payload), 1), step):
            self.tagged(0, stag, to + at, payload[at:at + step], at + step >= len(payload))

    def read_request(self, sink_stag, sink_to, size, src_stag, src_to):
        self.responses.setdefault(sink_stag, bytearray())
        self.raw_send(struct.pack('>IQIIQ', sink_stag, sink_to, size, src_stag, src_to), qn=1, opcode=1)

    def offer_memory(self, stag, to, data):
        self.memory[stag] = (to, bytearray(data))

    def _arrive(self):
        """One FPDU."""
        n, = struct.unpack('>H', self._take(2))
        rest = self._take(n + -(n + 2) % 4 + 4)
        ulpdu = rest[:n]
        if ulpdu[0] & 0x80:
            _, op, stag, to = struct.unpack('>BBIQ', ulpdu[:14])
            if op & 15 == 2:
                self.responses.setdefault(stag, bytearray()).extend(ulpdu[14:])
            elif stag in self.memory:
                base, mem = self.memory[stag]
                mem[to - base:to - base + n - 14] = ulpdu[14:]
            return
        flags, op, _, qn, _, _ = struct.unpack('>BBIIII', ulpdu[:18])
        self.parts[qn] = self.parts.get(qn, b'') + ulpdu[18:]
        if not flags & 0x40:
            return
        payload, self.parts[qn] = self.parts[qn], b''
        if op & 15 == 7:
            raise Terminated(payload)
        if op & 15 == 1:
            self._answer_read(payload)
            return
        self.inbox.append((op & 15, qn, payload))

    def _answer_read(self, payload):
        sink, to, size, src, src_to = struct.unpack('>IQIIQ', payload)
        base, mem = self.memory.get(src, (0, b''))
        data = bytes(mem[src_to - base:src_to - base + size])
        step = self.mulpdu - 14
        for at in range(0, max(len(data), 1), step):
            self.tagged(2, sink, to + at, data[at:at + step], at + step >= len(data))

    # --- messages ---

    def any_message(self):
        """The next untagged message: a dict, or the octets of a data Send."""
        while not self.inbox:
            self._arrive()
        _, _, payload = self.inbox.pop(0)
        self.received += 1
        if payload[:1] == b'\0':
            return payload
        m = uncbor(payload)[0]
        self.credit = max(self.credit, m.get(1, 0))
        return m

    def message(self, *types):
        """The next one of these types (of any type but NOP when none is named); others are skipped, an ABORT is not."""
        while True:
            m = self.any_message()
            if isinstance(m, bytes) or m[0] == NOP and NOP not in types:
                if self.received % 8 == 0:
                    self.send({0: NOP, 4: True}, wait=False)
                continue
            if not types or m[0] in types or m[0] == ABORT:
                return m

    def send(self, m, wait=True):
        """A control message. Waits for credit like an honest peer, except with wait=False."""
        while wait and m[0] not in (NOP, ABORT) and self.sent + 1 >= self.credit:
            self._arrive()
            for op, qn, payload in self.inbox:
                if payload[:1] != b'\0':
                    self.credit = max(self.credit, uncbor(payload)[0].get(1, 0))
        self.sent += 1
        self.raw_send(self.sealed({0: m[0], 1: self.received + self.window, **m}))

    def sealed(self, m):
        """A control message, followed by its digest."""
        octets = cbor(m)
        return octets + digest(self.kind, octets)

    def open(self, opts=0, conns=1, path=b''):
        m = {0: OPEN, 5: opts, 6: conns}
        if path is not None:
            m[4] = path
        self.send(m)

    def gone(self):
        """Waits for the end of the connection; returns "closed", or the Terminate's octets in hexadecimal."""
        try:
            while True:
                self._arrive()
                self.inbox.clear()
        except Terminated as e:
            return e.args[0].hex()
        except Closed:
            return 'closed'

    def close(self):
        self.sock.close()

    # --- an honest source, mode write ---

    def entry(self, number, name, size, kind=FILE, top=True, **more):
        e = {0: number, 9: name, 10: kind, 14: top}
        if kind in (FILE, DIR):
            e.update({11: 0o644 if kind == FILE else 0o755, 12: 1700000000, 13: 0})
        if kind == FILE:
            e[6] = size
        e.update(more.get('keys', {}))
        return e

    def push(self, number, name, data, kind=FILE, top=True, keys=None):
        """Announces and moves one file (mode write). Returns its RESULT's code, or the ABORT."""
        self.send({0: FILES, 4: [self.entry(number, name, len(data), kind, top, keys=keys or {})]})
        m = self.message(GO, RESULT)
        if m[0] != GO:
            return m[4][0][7] if m[0] == RESULT else m
        return self.fill(number, data)

    def fill(self, number, data):
        """After GO: windows, RDMA Writes, DONE, end."""
        if data:
            self.send({0: WANT, 4: [{0: number, 1: 0, 2: len(data)}]})
        left = len(data)
        while left > 0:
            m = self.message(GRANT, RESULT)
            if m[0] != GRANT:
                return m[4][0][7] if m[0] == RESULT else m
            for g in m[4]:
                chunk = data[g[1]:g[1] + g[2]]
                self.write(g[3], g[1], chunk)
                self.send({0: DONE, 4: [{0: number, 1: g[1], 2: g[2], **self.digest_key(digest(self.kind, chunk))}]})
                left -= g[2]
        self.end(number, data)
        m = self.message(RESULT)
        return m[4][0][7] if m[0] == RESULT else m

    def digest_key(self, d):
        return {4: d} if self.kind != NONE else {}

    def end(self, number, data):
        self.send({0: DONE, 5: [{0: number, 6: len(data), **self.digest_key(file_digest(self.kind, data))}]})

    def bye(self, files=1, failed=0):
        self.send({0: BYE, 4: files, 5: failed})
        m = self.message(BYE)
        self.sock.shutdown(socket.SHUT_WR)
        return m
