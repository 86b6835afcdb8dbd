# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Faults of datagrams. A fault has packets(way, number, octets, middle): it returns what is
forwarded for a datagram, as pairs of seconds to wait and octets."""

import time

from middle import TO_CLIENT, TO_LISTENER

USUAL = 180  # a round has at least this many datagrams


class Fault:
    """Strikes a random share of the datagrams in some directions; the seed determines which."""

    def __init__(self, rng, share):
        self.rng = rng
        self.share = share
        self.ways = rng.choice([(TO_LISTENER,), (TO_CLIENT,), (TO_LISTENER, TO_CLIENT),
                                (TO_LISTENER, TO_CLIENT)])
        self.struck = False

    def packets(self, way, _number, octets, middle):
        if way not in self.ways or self.rng.random() >= self.share:
            return [(0, octets)]
        middle.struck(None if self.struck else str(self))
        self.struck = True
        return self.act(octets)

    def act(self, octets):
        raise NotImplementedError

    def __str__(self):
        return "%s of %.1f %% of the datagrams, %s" % (
            type(self).__name__.lower(), self.share * 100,
            "both ways" if len(self.ways) == 2 else f"way {self.ways[0]}")


class Loss(Fault):
    def act(self, _octets):
        return []


class Duplication(Fault):
    def act(self, octets):
        return [(0, octets), (self.rng.choice([0, 0.0001, 0.005]), octets)]


class Reordering(Fault):
    def act(self, octets):
        return [(self.rng.uniform(0.0001, 0.01), octets)]


class Corruption(Fault):
    """One to four bits inverted."""

    def act(self, octets):
        changed = bytearray(octets)
        for _ in range(self.rng.randint(1, 4)):
            changed[self.rng.randrange(len(changed))] ^= 1 << self.rng.randrange(8)
        return [(0, bytes(changed))]


class Blackout:
    """From a datagram on, nothing is forwarded for some seconds; None: for ever."""

    def __init__(self, start, seconds):
        self.start = start
        self.seconds = seconds
        self.until = None

    def packets(self, _way, number, octets, middle):
        if number < self.start:
            return [(0, octets)]
        now = time.monotonic()
        if self.until is None:
            middle.struck(str(self), self.seconds or 0)
            self.until = now + self.seconds if self.seconds else float("inf")
        return [] if now < self.until else [(0, octets)]

    def __str__(self):
        lasts = f"for {self.seconds:.2f} s" if self.seconds else "for ever"
        return f"blackout {lasts} from datagram {self.start} on"


class Sequence:
    """Several faults, applied to each datagram in order."""

    def __init__(self, faults):
        self.faults = faults

    def packets(self, way, number, octets, middle):
        for fault in self.faults:
            if not fault.packets(way, number, octets, middle):
                return []
        return [(0, octets)]


class Rebind:
    """The port towards the listener changes at some datagrams, as behind a NAT."""

    def __init__(self, rng):
        self.at = sorted(start(rng) for _ in range(rng.choice([1, 1, 2])))

    def packets(self, _way, number, octets, middle):
        if self.at and number >= self.at[0]:
            middle.struck(f"new port at datagram {self.at.pop(0)}")
            middle.rebind()
        return [(0, octets)]


class Mtu:
    """From a datagram on, larger ones than the MTU are dropped."""

    def __init__(self, rng):
        self.start = start(rng)
        self.size = rng.randint(1300, 4000)
        self.struck = False

    def packets(self, _way, number, octets, middle):
        if number < self.start or len(octets) <= self.size:
            return [(0, octets)]
        middle.struck(None if self.struck else str(self))
        self.struck = True
        return []

    def __str__(self):
        return f"datagrams above {self.size} octets lost from datagram {self.start} on"


class Nothing:
    def packets(self, _way, _number, octets, _middle):
        return [(0, octets)]


def start(rng):
    return int(USUAL ** rng.random())


def blackout(rng, round_):
    """Several blackouts with octets between them, or one without end."""
    if round_.forever:
        return Blackout(start(rng), None)
    first, second = start(rng), start(rng)
    times = [rng.uniform(0.2, 0.8) * round_.timeout for _ in range(2)]
    return Sequence([Blackout(first, times[0])] +
                    ([Blackout(first + second + 200, times[1])] if rng.random() < 0.4 else []))


KINDS = {
    "udp-loss": lambda rng, _: Loss(rng, rng.uniform(0.005, 0.05)),
    "udp-duplicate": lambda rng, _: Duplication(rng, rng.uniform(0.01, 0.2)),
    "udp-reorder": lambda rng, _: Reordering(rng, rng.uniform(0.01, 0.2)),
    "udp-corrupt": lambda rng, _: Corruption(rng, rng.uniform(0.005, 0.03)),
    "udp-blackout": blackout,
    "udp-rebind": lambda rng, _: Rebind(rng),
    "udp-mtu": lambda rng, _: Mtu(rng),
    "udp-none": lambda _rng, _: Nothing(),
}
