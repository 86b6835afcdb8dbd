# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Faults of TCP streams. A fault has strike(unit, lane): it returns True if it handled the unit.

Each fault is made from a random number generator, and does not depend on the time.
"""

from middle import TO_CLIENT, TO_LISTENER
from mpa import START_HEADER

WAYS = {TO_LISTENER: "to the listener", TO_CLIENT: "to the client"}
DDP_HEADER = 20  # octets at the beginning of an FPDU: MPA length, DDP and RDMAP headers
TRAILER = 8  # octets at its end: the end of the payload, padding, CRC
# The number of units that a round usually has, by direction and kind. The listener sends data to
# the client (tagged) only when files are pulled.
USUAL = {"tagged": 60, "untagged": 10}
# The part in which a bit is inverted. The payload of untagged units is mostly control messages.
PARTS = {
    "tagged": ["header", "header", "payload", "any", "trailer"],
    "untagged": ["header", "payload", "payload", "payload", "trailer"],
}


class Where:
    """Chooses one unit of one connection."""

    def __init__(self, rng, round_, index, what=None):
        """index: which fault of the round it is. All but the first may strike a connection that
        replaces a lost one."""
        self.conn = rng.randrange(round_.jobs)
        if index and rng.random() < 0.3:
            self.conn = round_.jobs
        self.what = what or rng.choice(round_.whats())
        self.way = self.choose_way(rng, round_)
        self.number = number(rng, self.what)

    def choose_way(self, rng, round_):
        if self.what == "tagged":
            return TO_LISTENER if round_.push else TO_CLIENT
        return rng.choice([TO_LISTENER, TO_CLIENT])

    def hits(self, unit):
        return (unit.conn, unit.way, unit.what, unit.number) == \
            (self.conn, self.way, self.what, self.number)

    def __str__(self):
        return f"connection {self.conn}, {WAYS[self.way]}, {self.what} unit {self.number}"


def number(rng, what):
    """Small numbers are more frequent than large ones, because every stream has them."""
    return int(USUAL[what] ** rng.random() * rng.uniform(0.5, 1.5)) if what in USUAL else 0


class Fault:
    """A fault that strikes once."""

    def __init__(self, where):
        self.where = where
        self.done = False

    def strike(self, unit, lane):
        if self.done or not self.where.hits(unit):
            return False
        self.done = True
        lane.connection.middle.struck(f"{self}: {self.where}")
        self.act(unit, lane)
        return True

    def act(self, unit, lane):
        raise NotImplementedError


class Flip(Fault):
    """One bit of the unit is inverted."""

    def __init__(self, rng, where):
        super().__init__(where)
        self.part = rng.choice(PARTS.get(where.what, PARTS["tagged"]))
        self.at = rng.random()
        self.bit = rng.randrange(8)

    def act(self, unit, lane):
        octets = bytearray(unit.octets)
        octets[self.offset(len(octets))] ^= 1 << self.bit
        lane.put(bytes(octets))

    def offset(self, length):
        start, end = {
            "header": (0, DDP_HEADER), "payload": (DDP_HEADER, length - TRAILER),
            "any": (0, length), "trailer": (length - TRAILER, length),
        }[self.part]
        if end - start < 1:
            start, end = 0, length
        return min(start + int(self.at * (end - start)), length - 1)

    def __str__(self):
        return f"bit {self.bit} at {self.at:.3f} of {self.part} inverted"


class FlipStart(Flip):
    """One bit of a start-up frame: of its header, or of its Private Data."""

    def offset(self, length):
        if self.part in ("header", "trailer") or length <= START_HEADER:
            return int(self.at * START_HEADER)
        return START_HEADER + int(self.at * (length - START_HEADER))


class Drop(Fault):
    def act(self, unit, lane):
        pass

    def __str__(self):
        return "dropped"


class Duplicate(Fault):
    def act(self, unit, lane):
        lane.put(unit.octets)
        lane.put(unit.octets)

    def __str__(self):
        return "sent twice"


class Delay(Fault):
    """The unit and all later ones on its lane are delayed."""

    def __init__(self, where, seconds):
        super().__init__(where)
        self.seconds = seconds

    def act(self, unit, lane):
        lane.connection.middle.struck(None, self.seconds)
        lane.put(self.seconds)
        lane.put(unit.octets)

    def __str__(self):
        return f"held for {self.seconds:.2f} s"


class Split:
    """The first octets of many units on all connections are sent in pieces, with pauses."""

    def __init__(self, rng):
        self.rng = rng
        self.units = self.left = rng.randint(40, 80)
        self.every = rng.choice([1, 1, 3, 7])
        self.seen = 0

    def strike(self, unit, lane):
        self.seen += 1
        if self.left == 0 or self.seen % self.every:
            return False
        first = self.left == self.units
        lane.connection.middle.struck(f"{self.units} units in pieces" if first else None)
        self.left -= 1
        end = self.rng.choice([128, 512, 1536])
        for piece in self.pieces(unit.octets[:end]):
            lane.put(piece)
            lane.put(self.rng.choice([0.0, 0.0005, 0.003]))
        lane.put(unit.octets[end:])
        return True

    def pieces(self, octets):
        offset = 0
        while offset < len(octets):
            length = self.rng.randint(1, 64)
            yield octets[offset:offset + length]
            offset += length


class Freeze(Fault):
    """Nothing is forwarded from this unit on, but the connections stay open."""

    def __init__(self, rng, where):
        super().__init__(where)
        self.ways = rng.choice([[where.way], [TO_LISTENER, TO_CLIENT], [TO_LISTENER, TO_CLIENT]])
        self.all = rng.random() < 0.5
        self.manner = rng.choice(["hold", "discard"])
        self.new = rng.random() < 0.4

    def act(self, unit, lane):
        connection = None if self.all else lane.connection
        lane.connection.middle.freeze(connection, self.ways, self.manner, self.new)

    def __str__(self):
        return "frozen (%s, %s, %s%s)" % (
            "both ways" if len(self.ways) == 2 else "one way",
            "all connections" if self.all else "one connection", self.manner,
            ", new ones too" if self.new else "")


class Cut(Fault):
    """One or all connections end inside the unit."""

    def __init__(self, rng, where, timeout):
        super().__init__(where)
        self.at = rng.random()
        self.all = rng.random() < 0.4
        self.manner = rng.choice(["RST", "FIN"])
        self.refuse = rng.choice([0, 0, rng.uniform(0.1, 2.0)]) * timeout

    def act(self, unit, lane):
        lane.put(unit.octets[:int(self.at * len(unit.octets))])
        lane.put(lambda: self.cut(lane.connection))

    def cut(self, connection):
        connection.middle.struck(None, self.refuse)
        connection.middle.cut(None if self.all else connection, self.manner, self.refuse)

    def __str__(self):
        return "cut (%s, %s%s)" % (
            self.manner, "all connections" if self.all else "one connection",
            f", new ones refused for {self.refuse:.2f} s" if self.refuse else "")


# --- the faults of a round ---------------------------------------------------------------------


def several(rng, make):
    """One to three faults."""
    return [make(index) for index in range(rng.choice([1, 1, 2, 3]))]


def start(rng, round_):
    return several(rng, lambda i: FlipStart(rng, Where(rng, round_, i, "start")))


def flip(rng, round_):
    return several(rng, lambda i: Flip(rng, Where(rng, round_, i)))


def drop(rng, round_):
    return several(rng, lambda i: Drop(Where(rng, round_, i)))


def duplicate(rng, round_):
    return several(rng, lambda i: Duplicate(Where(rng, round_, i)))


def sometimes_start(rng):
    return rng.choice([None, None, None, None, "start"])


def freeze(rng, round_):
    return [Freeze(rng, Where(rng, round_, 0, sometimes_start(rng)))]


def delay(rng, round_):
    """Together they are shorter than the timeout, because one may wait for octets that the other delays."""
    wheres = several(rng, lambda i: Where(rng, round_, i, sometimes_start(rng)))
    return [Delay(where, rng.uniform(0.1, 0.8) * round_.timeout / len(wheres))
            for where in wheres]


def split(rng, _round):
    return [Split(rng)]


def cut(rng, round_):
    return several(rng, lambda i: Cut(rng, Where(rng, round_, i, sometimes_start(rng)),
                                      round_.timeout))


def none(_rng, _round):
    return []


KINDS = {
    "tcp-start": start, "tcp-flip": flip, "tcp-drop": drop, "tcp-freeze": freeze,
    "tcp-split": split, "tcp-duplicate": duplicate, "tcp-delay": delay, "tcp-cut": cut,
    "tcp-none": none,
}
