# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A relay that disturbs the traffic in one way.

    bad_line.py tcp PORT TO-PORT WHAT       bad_line.py udp PORT TO-PORT dead=N

    hold=N     after N octets, nothing is forwarded on the existing connections, which stay open; new ones work
    dead=N     after N octets, nothing is forwarded any more, on new connections either; for UDP, no datagram
    flip=N     inverts a bit of octet N of the first connection, in the direction of TO-PORT
    reply=K    inverts a bit of octet 16 that connection K (from 1) receives from TO-PORT: a flag of its MPA Reply
    rate=N     forwards N octets a second in both directions together; if a busy machine delays the relay, it is
               faster afterwards until the mean is N again

Octets of both directions are added. Prints "listening", and "harmed" after the disturbance.
"""

import selectors
import socket
import sys
import time

how, port, to, what = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
kind, number = what.split("=")
number = int(number)
events = selectors.DefaultSelector()


def say(word):
    print(word, flush=True)


class Way:
    """One direction of a TCP connection."""

    def __init__(self, conn, inward, source, sink):
        self.conn, self.inward, self.source, self.sink = conn, inward, source, sink
        self.octets = 0

    def harm(self, octets):
        at = None
        if kind == "flip" and self.conn == 1 and self.inward:
            at = number - self.octets
        if kind == "reply" and self.conn == number and not self.inward:
            at = 16 - self.octets
        self.octets += len(octets)
        if at is None or not 0 <= at < len(octets):
            return octets
        say("harmed")
        return octets[:at] + bytes([octets[at] ^ 0x20]) + octets[at + 1:]


def small(sock):
    if kind == "rate":
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    return sock


def tcp():
    through = conns = due = 0
    ways, held, dead = {}, [], False
    door = small(socket.create_server(("127.0.0.1", port), backlog=64))
    events.register(door, selectors.EVENT_READ)
    say("listening")
    while True:
        for key, _ in events.select():
            s = key.fileobj
            if s is door:
                a = door.accept()[0]
                conns += 1
                if dead:
                    held.append(a)
                    continue
                try:
                    b = small(socket.socket())
                    b.connect(("127.0.0.1", to))
                except OSError:
                    a.close()
                    continue
                for source, sink, inward in ((a, b, True), (b, a, False)):
                    ways[source] = Way(conns, inward, source, sink)
                    events.register(source, selectors.EVENT_READ)
                continue
            way = ways.get(s)
            if way is None:
                continue
            try:
                octets = s.recv(512 if kind == "rate" else 65536)
                way.sink.sendall(way.harm(octets))
            except OSError:
                octets = b""
            if not octets:
                for end in (s, way.sink):
                    events.unregister(end)
                    ways.pop(end)
                    end.close()
                continue
            through += len(octets)
            if kind == "rate":
                due = max(due, time.monotonic() - 0.5) + len(octets) / number
                time.sleep(max(0, due - time.monotonic()))
            if kind in ("hold", "dead") and not dead and number and through >= number:
                for end in ways:
                    events.unregister(end)
                    held.append(end)
                ways.clear()
                number_done()
                dead = kind == "dead"
                say("harmed")


def number_done():
    global number
    number = 0


def udp():
    through, far = 0, {}
    door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    door.bind(("127.0.0.1", port))
    events.register(door, selectors.EVENT_READ)
    say("listening")
    while through < number:
        for key, _ in events.select():
            if key.fileobj is door:
                octets, who = door.recvfrom(65536)
                if who not in far:
                    far[who] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                    far[who].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
                    far[who].connect(("127.0.0.1", to))
                    events.register(far[who], selectors.EVENT_READ, who)
                far[who].send(octets)
            else:
                octets = key.fileobj.recv(65536)
                door.sendto(octets, key.data)
            through += len(octets)
    say("harmed")
    while True:
        time.sleep(60)


{"tcp": tcp, "udp": udp}[how]()
