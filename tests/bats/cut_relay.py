# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A relay that cuts connections: TCP by RST, SCTP associations in UDP by ABORT, to both ends at once.

    cut_relay.py tcp|udp PORT TO-PORT OCTETS...

Cuts all connections each time that it has forwarded one of these numbers of octets, in both directions together.
After the last cut it only forwards.
"""

import selectors
import socket
import struct
import sys

RST = struct.pack("ii", 1, 0)


def crc32c(octets):
    crc = 0xFFFFFFFF
    for octet in octets:
        crc ^= octet
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def abort(ports_and_tag):
    """RFC 9260 3.3.7, with the ports and the tag of a packet in the same direction."""
    chunk = struct.pack("!BBH", 6, 0, 4)
    return ports_and_tag + struct.pack("<I", crc32c(ports_and_tag + bytes(4) + chunk)) + chunk


class Cuts:
    def __init__(self, at):
        self.at = [int(n) for n in at]
        self.octets = 0

    def due(self, n):
        self.octets += n
        if self.at and self.octets >= self.at[0]:
            self.at.pop(0)
            print("cut at", self.octets, flush=True)
            return True
        return False


def tcp(port, to, cuts):
    events = selectors.DefaultSelector()
    other = {}

    def drop(s):
        for end in (s, other.pop(s)):
            other.pop(end, None)
            events.unregister(end)
            end.close()

    with socket.create_server(("127.0.0.1", port)) as door:
        events.register(door, selectors.EVENT_READ)
        print("listening", flush=True)
        while True:
            for key, _ in events.select():
                s = key.fileobj
                if s is door:
                    a = door.accept()[0]
                    try:
                        b = socket.create_connection(("127.0.0.1", to))
                    except OSError:
                        a.close()  # the listener is not running at this time
                        continue
                    other[a], other[b] = b, a
                    events.register(a, selectors.EVENT_READ)
                    events.register(b, selectors.EVENT_READ)
                    continue
                if s not in other:
                    continue
                try:
                    octets = s.recv(262144)
                    other[s].sendall(octets)
                except OSError:
                    octets = b""
                if not octets:
                    drop(s)
                elif cuts.due(len(octets)):
                    for end in list(other):
                        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RST)
                    while other:
                        drop(next(iter(other)))


def udp(port, to, cuts):
    events = selectors.DefaultSelector()
    far = {}  # client address -> socket towards the listener
    heads = {}  # direction -> ports and tag of the last packet
    door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    door.bind(("127.0.0.1", port))
    events.register(door, selectors.EVENT_READ)
    print("listening", flush=True)
    while True:
        for key, _ in events.select():
            s = key.fileobj
            if s is door:
                octets, who = door.recvfrom(65536)
                if who not in far:
                    far[who] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                    far[who].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
                    far[who].connect(("127.0.0.1", to))
                    events.register(far[who], selectors.EVENT_READ, who)
                far[who].send(octets)
                heads[who, True] = octets[:8]
            else:
                who = key.data
                octets = s.recv(65536)
                door.sendto(octets, who)
                heads[who, False] = octets[:8]
            if cuts.due(len(octets)):
                for (who, out), head in heads.items():
                    if out:
                        far[who].send(abort(head))
                    else:
                        door.sendto(abort(head), who)
                heads.clear()


{"tcp": tcp, "udp": udp}[sys.argv[1]](int(sys.argv[2]), int(sys.argv[3]), Cuts(sys.argv[4:]))
