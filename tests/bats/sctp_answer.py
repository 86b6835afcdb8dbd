# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A peer at a UDP port that answers an SCTP INIT (RFC 6951, RFC 9260).

    sctp_answer.py UDP-PORT silent|abort|plain|VALUE|rfc5043|draft-02

silent sends nothing, abort sends ABORT, plain makes an association without adaptation indication, VALUE one with
that value. rfc5043 and draft-02 also accept DDP stream sessions of that edition and return each message. They know
only Function Codes 1 to 4, and do not answer others.
"""

import socket
import struct
import sys

DATA, SACK, ABORT, SHUTDOWN, SHUTDOWN_ACK = 0, 3, 6, 7, 8
INIT, INIT_ACK, COOKIE_ECHO, COOKIE_ACK = 1, 2, 10, 11
INITIATE, ACCEPT, TERMINATE = 1, 2, 4
# For each edition: adaptation indication, PPID of segments, PPID of session control.
EDITIONS = {"rfc5043": (1, 16, 17), "draft-02": (2, 1, 2)}
COOKIE, ADAPTATION = 7, 0xC006
TAG = 0x01020304


def crc32c(octets):
    crc = 0xFFFFFFFF
    for octet in octets:
        crc ^= octet
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def packet(to, tag, kind, value, flags=0):
    """A packet with one chunk, for the sender of a packet with these ports."""
    sport, dport = struct.unpack("!HH", to[:4])
    chunk = struct.pack("!BBH", kind, flags, 4 + len(value)) + value + bytes(-len(value) % 4)
    head = struct.pack("!HHI", dport, sport, tag)
    return head + struct.pack("<I", crc32c(head + bytes(4) + chunk)) + chunk


def init_ack(indication):
    params = struct.pack("!HHI", COOKIE, 8, 0)
    if indication is not None:
        params += struct.pack("!HHI", ADAPTATION, 8, indication)
    return struct.pack("!IIHHI", TAG, 65536, 10, 10, 1) + params


def chunks(octets):
    at = 12
    while at + 4 <= len(octets):
        kind, _, length = struct.unpack("!BBH", octets[at : at + 4])
        yield kind, octets[at + 4 : at + length]
        at += max(4, length + 3 & ~3)


def message(ppid, user, edition):
    """The user data of the reply. A segment is returned as it came: its numbers are the same in both directions."""
    _, segments, control = edition
    if ppid == segments:
        return user
    number, function = struct.unpack("!HH", user[:4])
    if ppid != control or function not in (INITIATE, TERMINATE):
        return None
    return struct.pack("!HH", number, ACCEPT if function == INITIATE else TERMINATE)


def on_data(octets, value, edition, peer):
    tsn, stream, _, ppid = struct.unpack("!IHHI", value[:12])
    if tsn != peer["next"]:
        return []
    peer["next"] = tsn + 1 & 0xFFFFFFFF
    replies = [packet(octets, peer["tag"], SACK, struct.pack("!IIHH", tsn, 65536, 0, 0))]
    user = message(ppid, value[12:], edition)
    if user is not None:
        head = struct.pack("!IHHI", peer["tsn"], stream, 0, ppid)
        # Unordered, first and last fragment.
        replies.append(packet(octets, peer["tag"], DATA, head + user, 7))
        peer["tsn"] += 1
    return replies


def on_init(octets, value, mode, peer):
    if mode == "abort":
        return packet(octets, struct.unpack("!I", value[:4])[0], ABORT, b"")
    peer["tag"], peer["next"], peer["tsn"] = *struct.unpack("!I", value[:4]), struct.unpack("!I", value[12:16])[0], 1
    indication = EDITIONS[mode][0] if mode in EDITIONS else None if mode == "plain" else int(mode, 0)
    return packet(octets, peer["tag"], INIT_ACK, init_ack(indication))


def answer(octets, mode, peer):
    replies = []
    for kind, value in chunks(octets):
        if kind == INIT:
            replies.append(on_init(octets, value, mode, peer))
        elif kind == COOKIE_ECHO:
            replies.append(packet(octets, peer["tag"], COOKIE_ACK, b""))
        elif kind == DATA and mode in EDITIONS:
            replies += on_data(octets, value, EDITIONS[mode], peer)
        elif kind == SHUTDOWN:
            replies.append(packet(octets, peer["tag"], SHUTDOWN_ACK, b""))
    return replies


def main():
    port, mode = int(sys.argv[1]), sys.argv[2]
    peer = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", port))
        while True:
            octets, source = s.recvfrom(65536)
            for reply in answer(octets, mode, peer) if mode != "silent" else []:
                s.sendto(reply, source)


main()
