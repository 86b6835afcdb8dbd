#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""mpa_idle.py PORT COUNT silent|writes|drip: COUNT accepted MPA connections without payload.
silent sends nothing, writes sends zero-length RDMA Writes, drip sends an FPDU octet by octet that
is never complete. Exit status 0: the peer has ended all of them; 1: it has not after 20 s."""

import select
import socket
import struct
import sys
import time

LIMIT, PACE = 20, 0.1
# A tagged segment to STag 1, TO 0 (RFC 5041 4.2, RFC 5040 4.1), ULPDU_Length 14, and its CRC32c.
ZERO_WRITE = bytes.fromhex("000ec140000000010000000000000000ebd34c5f")
LONG_FPDU = bytes.fromhex("ea60c1400000000100000000") + bytes(60000)


def accepted(port):
    s = socket.create_connection(("127.0.0.1", port), timeout=LIMIT)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    s.sendall(b"MPA ID Req Frame" + struct.pack(">BBH", 0x40, 1, 0))
    reply = b""
    while len(reply) < 20:
        octets = s.recv(20 - len(reply))
        assert octets, "no Reply"
        reply += octets
    assert not reply[16] & 0x20, "rejected"
    return s


def is_over(s):
    try:
        return s.recv(4096) == b""
    except ConnectionError:
        return True


port, count, mode = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
left = {accepted(port) for _ in range(count)}
until, sent = time.monotonic() + LIMIT, 0
while left and time.monotonic() < until:
    what = {"silent": b"", "writes": ZERO_WRITE, "drip": LONG_FPDU[sent : sent + 1]}[mode]
    for s in list(left):
        try:
            s.sendall(what)
        except ConnectionError:
            left.discard(s)
    sent += 1
    ready, _, _ = select.select(list(left), [], [], 0)
    left -= {s for s in ready if is_over(s)}
    time.sleep(PACE)
if left:
    sys.exit(f"{mode}: {len(left)} of {count} connections are still open after {LIMIT} s")
