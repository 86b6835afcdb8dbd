# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A middle between ends of SCTP in UDP: forwards datagrams, and lets a fault strike them."""

import heapq
import selectors
import socket
import time

import ports
from middle import TO_CLIENT, TO_LISTENER, Middle

BUFFER = 4 << 20
BATCH = 64  # datagrams from one socket before the next socket is served


class UdpMiddle(Middle):
    """fault.packets(way, number, octets, middle) returns what is forwarded for a datagram: pairs
    of seconds to wait and octets. Datagrams of both directions have one numbering."""

    def __init__(self, to_port, fault):
        super().__init__()
        self.to_port = to_port
        self.fault = fault
        self.number = 0
        self.later = []  # heap of (time, number, socket, address, octets)
        self.upstream = {}  # client address -> socket towards the listener
        self.door = ports.listen(socket.SOCK_DGRAM)
        self.door.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
        self.port = self.door.getsockname()[1]
        self.events.register(self.door, selectors.EVENT_READ, self.from_clients)

    def open_upstream(self, client):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
        s.bind((ports.HOST, 0))
        s.setblocking(False)
        self.upstream[client] = s
        self.events.register(s, selectors.EVENT_READ, lambda _mask: self.from_listener(s, client))

    def close_upstream(self, client):
        s = self.upstream.pop(client)
        self.events.unregister(s)
        s.close()

    def rebind(self):
        """Changes the ports towards the listener."""
        for client in list(self.upstream):
            old = self.upstream[client].getsockname()
            s = self.upstream[client]
            self.events.unregister(s)
            self.open_upstream(client)
            s.close()
            assert self.upstream[client].getsockname() != old

    def from_clients(self, _mask):
        for octets, client in receive(self.door):
            if client not in self.upstream:
                self.open_upstream(client)
            self.forward(TO_LISTENER, octets, client)

    def from_listener(self, s, client):
        for octets, _ in receive(s):
            if self.upstream[client] is not s:
                return
            self.forward(TO_CLIENT, octets, client)

    def forward(self, way, octets, client):
        number, self.number = self.number, self.number + 1
        for wait, packet in self.fault.packets(way, number, octets, self):
            if wait:
                due = time.monotonic() + wait
                heapq.heappush(self.later, (due, len(self.later), number, way, packet, client))
            else:
                self.send(way, packet, client)

    def send(self, way, octets, client):
        try:
            if way == TO_LISTENER:
                self.upstream[client].sendto(octets, (ports.HOST, self.to_port))
            else:
                self.door.sendto(octets, client)
        except OSError:
            pass  # a full buffer or a closed port drops the datagram

    def next_due(self):
        return self.later[0][0] if self.later else None

    def tick(self, now):
        while self.later and self.later[0][0] <= now:
            _, _, _, way, octets, client = heapq.heappop(self.later)
            self.send(way, octets, client)

    def close(self):
        for client in list(self.upstream):
            self.close_upstream(client)
        self.door.close()


def receive(s):
    """Yields the datagrams that have arrived, at most a batch."""
    for _ in range(BATCH):
        try:
            yield s.recvfrom(65536)
        except BlockingIOError:
            return
        except OSError:
            continue  # an ICMP error about an earlier datagram
