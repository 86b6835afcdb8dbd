# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Somebody at a UDP port who answers an SCTP INIT (RFC 6951, RFC 9260), and goes no further than the cookie.

    sctp_answer.py UDP-PORT silent|abort|plain|VALUE

silent says nothing, abort sends ABORT, plain makes an association without adaptation indication, VALUE one with that.
"""

import socket
import struct
import sys

ABORT, INIT, INIT_ACK, COOKIE_ECHO, COOKIE_ACK = 6, 1, 2, 10, 11
COOKIE, ADAPTATION = 7, 0xC006
TAG = 0x01020304


def crc32c(octets):
    crc = 0xFFFFFFFF
    for octet in octets:
        crc ^= octet
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def packet(to, tag, kind, value):
    """To whom the packet with these ports came from: one chunk."""
    sport, dport = struct.unpack("!HH", to[:4])
    chunk = struct.pack("!BBH", kind, 0, 4 + len(value)) + value
    head = struct.pack("!HHI", dport, sport, tag)
    return head + struct.pack("<I", crc32c(head + bytes(4) + chunk)) + chunk


def init_ack(indication):
    params = struct.pack("!HHI", COOKIE, 8, 0)
    if indication is not None:
        params += struct.pack("!HHI", ADAPTATION, 8, indication)
    return struct.pack("!IIHHI", TAG, 65536, 10, 10, 1) + params


def answer(octets, mode, peer):
    kind = octets[12]
    if kind == INIT:
        peer["tag"] = struct.unpack("!I", octets[16:20])[0]
        if mode == "abort":
            return packet(octets, peer["tag"], ABORT, b"")
        return packet(octets, peer["tag"], INIT_ACK, init_ack(None if mode == "plain" else int(mode, 0)))
    if kind == COOKIE_ECHO:
        return packet(octets, peer["tag"], COOKIE_ACK, b"")
    return None


def main():
    port, mode = int(sys.argv[1]), sys.argv[2]
    peer = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", port))
        while True:
            octets, source = s.recvfrom(65536)
            reply = answer(octets, mode, peer) if mode != "silent" else None
            if reply:
                s.sendto(reply, source)


main()
