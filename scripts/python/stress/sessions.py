# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The model `sessions`: connections that are set up, left half open, reset and torn down.

The transfers of the model `files` run between attacks on the same listeners. After each operation
the servers must run. When the model holds no connection, they must have closed theirs.
"""

import socket
import struct

from stress import files_maker, trees
from stress.failure import Failure, require
from stress.files import Files

MPA_REQUEST = b"MPA ID Req Frame" + struct.pack(">BBH", 0x40, 1, 0)  # RFC 5044 7.1.1
KINDS = [("write", 20), ("push", 12), ("pull", 8), ("together", 8), ("dry", 8), ("burst", 8),
         ("open", 14), ("release", 8), ("datagrams", 6), ("idle", 3)]
STREAM_ONLY = ("open",)
DATAGRAM_ONLY = ("datagrams",)
SCTP_HEADER = struct.Struct(">HHII")  # RFC 9260 3.1
INIT = bytes([1, 0, 0, 20]) + struct.pack(">IIHHI", 7, 65536, 4, 4, 1)  # RFC 9260 3.3.2
CONNECT_SECONDS = 5
MOST_HELD = 200


class Maker(files_maker.Maker):
    def __init__(self, rng, hosts, transport):
        super().__init__(rng, hosts, transport)
        left_out = DATAGRAM_ONLY if transport == "tcp" else STREAM_ONLY
        if transport not in ("tcp", "udp"):
            left_out = STREAM_ONLY + DATAGRAM_ONLY
        self.kinds = [row for row in KINDS if row[0] not in left_out]

    def size(self):
        return self.rng.randrange(1 << self.rng.randint(1, 14))

    def transfer(self, peer):
        operation = super().transfer(peer)
        operation["jobs"] = self.rng.choice([1, 2, 8, 16])
        return operation

    def dry(self):
        host, other = self.rng.sample(range(self.hosts), 2)
        return {"host": host, "to": other, "jobs": self.rng.choice([1, 4, 16])}

    def burst(self):
        """Clients that start at the same time, and are killed one after the other."""
        return {**self.dry(), "count": self.rng.randint(2, 6), "after_ms": self.rng.randrange(30)}

    def open(self):
        return {"host": self.host(), "server": self.rng.choice(["receiver", "source"]),
                "count": self.rng.randint(1, 40), "seed": self.seed(),
                "state": self.rng.choice(["silent", "part", "set up", "garbage", "fpdu"]),
                "end": self.rng.choice(["hold", "close", "reset"])}

    def release(self):
        return {"end": self.rng.choice(["close", "reset"])}

    def datagrams(self):
        return {"host": self.host(), "server": self.rng.choice(["receiver", "source"]),
                "count": self.rng.randint(1, 200), "seed": self.seed(),
                "state": self.rng.choice(["garbage", "init", "short"])}

    def idle(self):
        return {}


class Sessions(Files):
    maker = Maker

    def __init__(self, testbed):
        super().__init__(testbed)
        self.held = []

    def apply(self, operation):
        if operation["op"] in ("write", "push", "pull", "together"):
            return super().apply(operation)
        return getattr(self, operation["op"])(operation)

    def finish(self):
        self.release({"end": "close"})
        super().finish()

    def server(self, operation):
        return getattr(self.testbed.hosts[operation["host"]], operation["server"])

    # --- clients ----------------------------------------------------------------------------------

    def dry_words(self, operation):
        host, to = self.testbed.hosts[operation["host"]], self.testbed.hosts[operation["to"]]
        return host, ["ddp-send", "--json", "-n", "-j", str(operation["jobs"]),
                      *to.receiver.address(), host.path("tree") + "/", f"{to.place.address}:dry"]

    def dry(self, operation):
        run = self.testbed.run(*self.dry_words(operation))
        require(run.status == 0, f"{run.summary()}: expected status 0")
        return True

    def burst(self, operation):
        tools = [self.testbed.start(*self.dry_words(operation)) for _ in range(operation["count"])]
        for tool in tools:
            tool.wait(operation["after_ms"] / 1000)
            tool.kill()
        for tool in tools:
            self.testbed.finish(tool)
        return True

    # --- connections without a client -------------------------------------------------------------

    def open(self, operation):
        """TCP connections in one state of their set-up."""
        server = self.server(operation)
        if not server.host.place.local() or len(self.held) > MOST_HELD:
            return False
        for _ in range(operation["count"]):
            self.held.append(connect(server))
            self.send(self.held[-1], first_octets(operation))
        if operation["end"] != "hold":
            self.release(operation)
        return True

    def send(self, connection, octets):
        try:
            connection.sendall(octets)
        except ConnectionError:
            pass  # the server has closed it

    def release(self, operation):
        """Closes the connections that are held."""
        if not self.held:
            return False
        for connection in self.held:
            if operation["end"] == "reset":
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
        self.held = []
        return True

    def datagrams(self, operation):
        """Packets of no association."""
        server = self.server(operation)
        if not server.host.place.local():
            return False
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            for number in range(operation["count"]):
                s.sendto(packet(operation, server.port, number),
                         (server.host.place.address, server.udp_port))
        return True

    def idle(self, _operation):
        if self.held:
            return False
        self.testbed.check_idle()
        return True


def connect(server):
    try:
        return socket.create_connection((server.host.place.address, server.port), CONNECT_SECONDS)
    except OSError as error:
        raise Failure(f"{server.name}, port {server.port}: {error}: expected that it accepts a "
                      "connection") from None


def first_octets(operation):
    """What a connection sends before it is left alone."""
    octets = trees.content(operation["seed"], 100, False)
    part = MPA_REQUEST[:operation["seed"] % len(MPA_REQUEST)]
    return {"silent": b"", "part": part, "set up": MPA_REQUEST, "garbage": octets,
            "fpdu": MPA_REQUEST + octets}[operation["state"]]


def packet(operation, port, number):
    """An SCTP packet in UDP. Its checksum is wrong, unless it is an INIT."""
    octets = trees.content(operation["seed"] + number, 60, False)
    if operation["state"] == "short":
        return octets[:number % 30]
    if operation["state"] == "garbage":
        return octets
    head = SCTP_HEADER.pack(1024 + number, port, 0, 0)
    checksum = crc32c(head + INIT)
    return head[:8] + struct.pack("<I", checksum) + INIT


def crc32c(octets):
    """RFC 9260 appendix A."""
    crc = 0xFFFFFFFF
    for octet in octets:
        crc ^= octet
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF
