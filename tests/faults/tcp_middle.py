# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A middle between MPA/TCP ends: forwards each unit of the streams, and lets faults strike them.

A lane is one direction of one connection. Its queue holds the next actions in order: octets to
send, seconds to wait, functions to call, END.
"""

import collections
import selectors
import socket
import struct
import time

import ports
from middle import TO_CLIENT, TO_LISTENER, Middle
from mpa import Framer

RST = struct.pack("ii", 1, 0)
READ_SIZE = 262144
QUEUE_LIMIT = 1 << 20  # octets queued in a lane; above this the middle stops reading
END = object()  # the end of the stream: FIN


class Lane:
    """Octets from one socket to another. frozen: None, "hold" (it does not read either, so the
    sender's window closes) or "discard" (the sender sees acknowledgments)."""

    def __init__(self, connection, way, source, sink):
        self.connection = connection
        self.way = way
        self.source = source
        self.sink = sink
        self.framer = Framer(connection.number, way)
        self.queue = collections.deque()
        self.queued = 0
        self.ready_at = None  # the head of the queue is held until this time
        self.frozen = None
        self.ended = False  # end of stream was read

    def put(self, item):
        self.queue.append(item)
        if isinstance(item, bytes):
            self.queued += len(item)

    def wants_read(self):
        if self.ended or self.frozen == "hold":
            return False
        return self.frozen == "discard" or self.queued < QUEUE_LIMIT

    def wants_write(self):
        return bool(self.queue) and not self.frozen and self.ready_at is None

    def freeze(self, manner):
        if not self.frozen:
            self.frozen = manner
            self.queue.clear()
            self.queued = 0
            self.ready_at = None

    def read(self, strike):
        """Reads once. strike(unit, lane) queues the octets to forward."""
        octets = self.source.recv(READ_SIZE)
        if self.frozen:
            self.ended = not octets
        elif octets:
            for unit in self.framer.feed(octets):
                if not self.frozen:
                    strike(unit, self)
        else:
            self.ended = True
            self.put(self.framer.rest())
            self.put(END)

    def write(self):
        """Handles the head of the queue until it must wait."""
        while self.wants_write():
            item = self.queue[0]
            if isinstance(item, bytes):
                if not self.write_octets(item):
                    return
            else:
                self.queue.popleft()
                self.act(item)

    def write_octets(self, octets):
        """Returns True if all of them are written."""
        sent = 0
        if octets:
            try:
                sent = self.sink.send(octets)
            except BlockingIOError:
                return False
        self.queued -= sent
        if sent < len(octets):
            self.queue[0] = octets[sent:]
            return False
        self.queue.popleft()
        return True

    def act(self, item):
        if item is END:
            self.sink.shutdown(socket.SHUT_WR)
        elif callable(item):
            item()
        else:
            self.ready_at = time.monotonic() + item


class Connection:
    """A client's connection, and the connection to the listener for it."""

    def __init__(self, middle, number, client, listener):
        self.middle = middle
        self.number = number
        self.sockets = [client, listener]
        self.lanes = [Lane(self, TO_LISTENER, client, listener),
                      Lane(self, TO_CLIENT, listener, client)]
        self.masks = {client: 0, listener: 0}
        self.open = True
        for s in self.sockets:
            s.setblocking(False)
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def on_event(self, s, mask):
        """Handles readiness of one of its sockets; None: a timer."""
        for lane in self.lanes:
            if mask & selectors.EVENT_READ and lane.source is s and lane.wants_read():
                self.attempt(lane.source, lane.read, self.middle.strike)
        for lane in self.lanes:
            self.attempt(lane.sink, lane.write)
        self.update()

    def attempt(self, s, call, *arguments):
        """Calls a function that uses the socket s."""
        if s not in self.masks:
            return
        try:
            call(*arguments)
        except BlockingIOError:
            pass
        except OSError:
            self.on_error(s)

    def on_error(self, s):
        """An end reset its connection. The other connection is reset too, unless its lane is frozen."""
        if not self.open:
            return
        outward, inward = sorted(self.lanes, key=lambda lane: lane.sink is s)
        if not outward.frozen:
            self.reset()
            return
        outward.ended = True
        inward.freeze("discard")
        self.forget(s)

    def on_timer(self, now):
        for lane in self.lanes:
            if lane.ready_at is not None and lane.ready_at <= now:
                lane.ready_at = None
                self.on_event(None, 0)

    def update(self):
        """Registers the events that the lanes wait for."""
        if not self.open:
            return
        if all(lane.ended and not lane.queue and not lane.frozen for lane in self.lanes):
            self.close()
            return
        for s in self.masks:
            self.watch(s, self.mask(s))

    def mask(self, s):
        mask = 0
        for lane in self.lanes:
            if lane.source is s and lane.wants_read():
                mask |= selectors.EVENT_READ
            if lane.sink is s and lane.wants_write():
                mask |= selectors.EVENT_WRITE
        return mask

    def watch(self, s, mask):
        events, old = self.middle.events, self.masks[s]
        if mask == old:
            return
        call = lambda ready, s=s: self.on_event(s, ready)  # noqa: E731
        if not old:
            events.register(s, mask, call)
        elif not mask:
            events.unregister(s)
        else:
            events.modify(s, mask, call)
        self.masks[s] = mask

    def forget(self, s):
        """Stops watching a socket that failed, and closes it."""
        self.watch(s, 0)
        self.masks.pop(s)
        s.close()

    def reset(self):
        """Sends RST to both ends."""
        for s in self.masks:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RST)
        self.close()

    def finish(self):
        """Sends FIN to both ends; later octets from them are discarded."""
        for lane in self.lanes:
            lane.freeze("discard")
        for s in self.masks:
            try:
                s.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # the peer has reset the connection
        self.update()

    def close(self):
        for s in list(self.masks):
            self.forget(s)
        self.open = False
        for lane in self.lanes:
            lane.queue.clear()
            lane.ready_at = None


class TcpMiddle(Middle):
    """faults: objects with strike(unit, lane), which returns True if it handled the unit."""

    def __init__(self, to_port, faults):
        super().__init__()
        self.to_port = to_port
        self.faults = faults
        self.connections = []
        self.freeze_new = None
        self.reopen_at = None
        self.door = ports.listen(socket.SOCK_STREAM)
        self.port = self.door.getsockname()[1]
        self.watch_door()

    def watch_door(self):
        self.events.register(self.door, selectors.EVENT_READ, self.accept)

    def accept(self, _mask):
        client = self.door.accept()[0]
        try:
            listener = socket.create_connection((ports.HOST, self.to_port))
        except OSError:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RST)
            client.close()
            return
        connection = Connection(self, len(self.connections), client, listener)
        self.connections.append(connection)
        if self.freeze_new:
            for lane in connection.lanes:
                lane.freeze(self.freeze_new)
        connection.update()

    def strike(self, unit, lane):
        for fault in self.faults:
            if fault.strike(unit, lane):
                return
        lane.put(unit.octets)

    def freeze(self, connection, ways, manner, new):
        """Freezes these directions of one connection, or of all of them (None), and of new ones."""
        for c in [connection] if connection else self.connections:
            for way in ways:
                c.lanes[way].freeze(manner)
            c.update()
        if new:
            self.freeze_new = manner

    def cut(self, connection, manner, refuse):
        """Ends one connection, or all of them (None), by RST or FIN. Then refuses new connections
        for that many seconds."""
        for c in [connection] if connection else self.connections:
            if c.open:
                c.reset() if manner == "RST" else c.finish()
        if refuse and self.reopen_at is None:
            self.events.unregister(self.door)
            self.door.close()
            self.reopen_at = time.monotonic() + refuse

    def reopen(self):
        self.door = ports.bound(socket.SOCK_STREAM, self.port)
        if not self.door:
            raise OSError(f"port {self.port} was taken by another process")
        self.reopen_at = None
        self.watch_door()

    def next_due(self):
        due = [lane.ready_at for c in self.connections for lane in c.lanes
               if lane.ready_at is not None]
        if self.reopen_at is not None:
            due.append(self.reopen_at)
        return min(due, default=None)

    def tick(self, now):
        for connection in self.connections:
            connection.on_timer(now)
        if self.reopen_at is not None and self.reopen_at <= now:
            self.reopen()

    def close(self):
        for connection in self.connections:
            if connection.open:
                connection.close()
        if self.reopen_at is None:
            self.door.close()
