# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A peer that opens many SCTP associations in UDP (RFC 6951, RFC 9260) from one socket, each from an SCTP port of its own, keeps them up by
answering HEARTBEATs, and waits until the listener ends them.

    sctp_idle.py UDP-PORT SCTP-PORT COUNT SECONDS idle|reject|session|deaf|hoard|fragments [ADDRESS]

idle     no DDP stream session
reject   one Initiate (RFC 5043) whose Private Data the listener rejects
session  one session that is accepted and then terminated; a SHUTDOWN is answered
deaf     the same, and SHUTDOWN is ignored
hoard    one Initiate on each of 400 streams, all rejected; the rejections are never acknowledged. Sends from 127.0.0.66
fragments  the first 100 fragments of a message

Prints "up COUNT" when all handshakes are complete, and after at most SECONDS more, or as soon as none is left, one line for each way in
which associations ended: "NUMBER ABORT reason" or "NUMBER SHUTDOWN", and "NUMBER alive". The time-out in a reason is replaced by T.
"""

import collections
import re
import select
import socket
import struct
import sys
import time

from hostile import SOURCE, cbor, crc32c, hello

DATA, INIT, INIT_ACK, SACK, HEARTBEAT, HEARTBEAT_ACK, ABORT, SHUTDOWN, SHUTDOWN_ACK, COOKIE_ECHO, COOKIE_ACK = *range(8), 8, 10, 11
COMPLETE = 14
INITIATE, ACCEPT, REJECT, TERMINATE = 1, 2, 3, 4
FIRST_PORT, AT_ONCE, LATE = 1024, 64, 20
HOARD_STREAMS, HOARD_BURST, FRAGMENTS = 400, 30, 100
udp_port, port, count, seconds, mode = *map(int, sys.argv[1:5]), sys.argv[5]
address = sys.argv[6] if len(sys.argv) > 6 else "127.0.0.1"
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
if mode == "hoard":
    sock.bind(("127.0.0.66", 0))
sock.connect((address, udp_port))


def chunk(kind, value=b"", flags=0):
    return struct.pack("!BBH", kind, flags, 4 + len(value)) + value + bytes(-len(value) % 4)


class Assoc:
    def __init__(self, n):
        self.port, self.tag, self.peer_tag = FIRST_PORT + n, 0x1000000 + n, 0
        self.tsn, self.cum = 1, 0
        self.up, self.ended, self.sent = False, None, 0.0
        self.last = b""

    def send(self, *chunks, keep=False):
        body = b"".join(chunks)
        head = struct.pack("!HHI", self.port, port, self.peer_tag)
        packet = head + struct.pack("<I", crc32c(head + bytes(4) + body)) + body
        if keep:  # at most until the listener has answered
            self.last, self.sent = packet, time.monotonic()
        sock.send(packet)

    def init(self):
        indication = struct.pack("!HHI", 0xC006, 8, 1)
        n = HOARD_STREAMS if mode == "hoard" else 1
        self.send(chunk(INIT, struct.pack("!IIHHI", self.tag, 65536, n, n, self.tsn) + indication), keep=True)

    def control(self, ssn, fn, private=b""):
        value = struct.pack("!IHHIHH", self.tsn, 0, 0, 17, ssn, fn) + private
        self.tsn += 1
        self.send(chunk(DATA, value, 7), keep=True)

    def hoard(self):
        for first in range(0, HOARD_STREAMS, HOARD_BURST):
            some = range(first, min(first + HOARD_BURST, HOARD_STREAMS))
            self.send(*(chunk(DATA, struct.pack("!IHHIHH", self.tsn + i, i, 0, 17, 0, INITIATE) + b"not a hello", 7) for i in some))
            time.sleep(0.001)  # otherwise the listener's socket buffer overflows

    def fragments(self):
        for i in range(FRAGMENTS):
            self.send(chunk(DATA, struct.pack("!IHHI", self.tsn + i, 0, 0, 16) + bytes(1200), 4 if i else 6))
            time.sleep(0.0005)

    def came_up(self):
        self.up, self.last = True, b""
        if mode in ("hoard", "fragments"):
            self.hoard() if mode == "hoard" else self.fragments()
            return
        if mode == "reject":
            self.control(0, INITIATE, b"not a hello")
        elif mode != "idle":
            self.control(0, INITIATE, cbor(hello(SOURCE)))

    def take_data(self, value):
        tsn, _, _, _, _, fn = struct.unpack("!IHHIHH", value[:16])
        new = tsn == self.cum + 1 & 0xFFFFFFFF
        if new:
            self.cum = tsn
        self.send(chunk(SACK, struct.pack("!IIHH", self.cum, 65536, 0, 0)))
        if new and fn == ACCEPT:
            self.control(1, TERMINATE)

    def take(self, kind, value):
        if kind == INIT_ACK and not self.peer_tag:
            self.peer_tag, _, _, _, tsn = struct.unpack("!IIHHI", value[:16])
            self.cum = tsn - 1 & 0xFFFFFFFF
            at = 16
            while struct.unpack("!H", value[at : at + 2])[0] != 7:
                at += struct.unpack("!H", value[at + 2 : at + 4])[0] + 3 & ~3
            size = struct.unpack("!H", value[at + 2 : at + 4])[0]
            self.send(chunk(COOKIE_ECHO, value[at + 4 : at + size]), keep=True)
        elif kind == COOKIE_ACK and not self.up:
            self.came_up()
        elif kind == HEARTBEAT:
            self.send(chunk(HEARTBEAT_ACK, value))
        elif kind == DATA and mode != "hoard":
            self.take_data(value)
        elif kind == SACK:
            self.last = b""
        elif kind == ABORT and not self.ended:
            # Cause 12, User-Initiated Abort, and its reason
            if not value:
                self.ended = "ABORT out of the blue"
                return
            text = value[4:].split(b"\0")[0].decode() if value[:2] == b"\0\x0c" else f"cause {value[:2].hex()}"
            self.ended = "ABORT " + (re.sub(r"\d+ ms", "T", text) or "without a reason")
        elif kind == SHUTDOWN and mode != "deaf":
            self.send(chunk(SHUTDOWN_ACK))
        elif kind == COMPLETE and not self.ended:
            self.ended = "SHUTDOWN"

    def arrived(self, packet):
        at = 12
        while at + 4 <= len(packet):
            kind, _, size = struct.unpack("!BBH", packet[at : at + 4])
            self.take(kind, packet[at + 4 : at + size])
            at += size + 3 & ~3


assocs = [Assoc(n) for n in range(count)]


def turn(some):
    """Handles all packets that have arrived, and retransmits chunks that were not answered for a second."""
    if select.select([sock], [], [], 0.2)[0]:
        for _ in range(1000):
            try:
                packet = sock.recv(65536, socket.MSG_DONTWAIT)
            except BlockingIOError:
                break
            to = struct.unpack("!H", packet[2:4])[0]
            assocs[to - FIRST_PORT].arrived(packet)
    now = time.monotonic()
    for a in some:
        if a.last and not a.ended and now - a.sent > 1:
            a.sent = now
            sock.send(a.last)


for at in range(0, count, AT_ONCE):
    some = assocs[at : at + AT_ONCE]
    for a in some:
        a.init()
    until = time.monotonic() + LATE
    while not all(a.up or a.ended for a in some):
        assert time.monotonic() < until, "no handshake"
        turn(some)
print("up", sum(a.up for a in assocs), flush=True)
began = time.monotonic()
asked = began + seconds / 2
while time.monotonic() < began + seconds and not all(a.ended for a in assocs):
    turn(assocs)
    # An ABORT may have been lost: the listener then answers for an association that no longer
    # exists.
    if mode == "idle" and time.monotonic() > asked:
        asked = time.monotonic() + 1
        for a in [a for a in assocs if not a.ended][:100]:
            a.send(chunk(HEARTBEAT, struct.pack("!HH", 1, 4)))
for end, n in sorted(collections.Counter(a.ended or "alive" for a in assocs).items()):
    print(n, end)
