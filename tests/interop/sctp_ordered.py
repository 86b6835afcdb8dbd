# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""An SCTP peer in UDP (RFC 6951) that indicates DDP, sends one ordered DATA chunk, and prints how the far end ends the association.

    sctp_ordered.py HOST UDP-PORT SCTP-PORT
"""

import socket
import struct
import sys

DATA, INIT, INIT_ACK, SACK, HEARTBEAT, ABORT, SHUTDOWN, COOKIE_ECHO, COOKIE_ACK = 0, 1, 2, 3, 4, 6, 7, 10, 11
HEARTBEAT_ACK, COOKIE, ADAPTATION = 5, 7, 0xC006
TAG, TSN, PORT = 0x01020304, 1, 40000


def crc32c(octets):
    crc = 0xFFFFFFFF
    for octet in octets:
        crc ^= octet
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def packet(port, tag, kind, flags, value):
    chunk = struct.pack("!BBH", kind, flags, 4 + len(value)) + value + bytes(-len(value) % 4)
    head = struct.pack("!HHI", PORT, port, tag)
    return head + struct.pack("<I", crc32c(head + bytes(4) + chunk)) + chunk


def tlvs(octets, head):
    """Chunks of a packet, or parameters of a chunk: type and value."""
    while len(octets) >= 4:
        kind, length = struct.unpack(head, octets[:4])
        if length < 4:
            return
        yield kind, octets[4:length]
        octets = octets[length + -length % 4 :]


def main():
    host, udp, port = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    tag = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect((host, udp))
        s.settimeout(20)
        params = struct.pack("!HHI", ADAPTATION, 8, 1)
        s.send(packet(port, 0, INIT, 0, struct.pack("!IIHHI", TAG, 65536, 10, 10, TSN) + params))
        while True:
            for kind, value in tlvs(s.recv(65536)[12:], "!BxH"):
                if kind == INIT_ACK:
                    tag = struct.unpack("!I", value[:4])[0]
                    cookie = dict(tlvs(value[16:], "!HH"))[COOKIE]
                    s.send(packet(port, tag, COOKIE_ECHO, 0, cookie))
                elif kind == COOKIE_ACK:
                    s.send(packet(port, tag, DATA, 3, struct.pack("!IHHI", TSN, 0, 0, 16) + b"ordered."))
                elif kind == HEARTBEAT:
                    s.send(packet(port, tag, HEARTBEAT_ACK, 0, value))
                elif kind in (ABORT, SHUTDOWN):
                    print("ABORT" if kind == ABORT else "SHUTDOWN")
                    return


main()
