# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Faults of TCP streams, as rules of ddp-impair. Each kind is a function of a random number
generator and the round; it returns the stages of the middle."""

from middle import Stage

ENDS = ("initiator", "responder")
OPCODES = {
    "tagged": "write,read-response",
    "untagged": "send,send-inv,send-se,send-se-inv,read-request,terminate",
}
# The number of units that a round usually has, by direction and kind. The listener sends data to
# the client (tagged) only when files are pulled.
USUAL = {"tagged": 60, "untagged": 10}
# The part in which a bit is inverted. The payload of untagged units is mostly control messages.
PARTS = {
    "tagged": ["header", "header", "payload", "any", "trailer"],
    "untagged": ["header", "payload", "payload", "payload", "trailer"],
    "start": ["header", "header", "payload", "any"],
}
NEW_CONNECTIONS = 60  # at least as many as a client opens in a round


class Where:
    """One unit of one connection."""

    def __init__(self, rng, round_, index, what=None):
        """index: which fault of the round it is. All but the first may strike a connection that
        replaces a lost one."""
        self.conn = 1 + rng.randrange(round_.jobs)
        if index and rng.random() < 0.3:
            self.conn = round_.jobs + 1
        self.what = what or rng.choice(round_.whats())
        if self.what == "tagged":
            self.end = ENDS[not round_.push]
        else:
            self.end = rng.choice(ENDS)
        self.number = number(rng, self.what)

    def unit(self, conn=None):
        """The part of a rule before its colon; conn: of another connection."""
        conn = conn or self.conn
        if self.what == "start":
            return f"{'mpa-request' if self.end == ENDS[0] else 'mpa-reply'} conn={conn}"
        return f"fpdu conn={conn} from={self.end} opcode={OPCODES[self.what]} nth={self.number}"


def number(rng, what):
    """Small numbers are more frequent than large ones, because every stream has them."""
    return 1 + int(USUAL[what] ** rng.random() * rng.uniform(0.5, 1.5)) if what in USUAL else 1


def several(rng, make):
    """One to three faults."""
    return [Stage([make(index) for index in range(rng.choice([1, 1, 2, 3]))])]


def sometimes_start(rng):
    return rng.choice([None, None, None, None, "start"])


def start(rng, round_):
    return several(rng, lambda i: Where(rng, round_, i, "start").unit() +
                   f": flip-bit {rng.choice(PARTS['start'])}")


def flip(rng, round_):
    def one(index):
        where = Where(rng, round_, index)
        return f"{where.unit()}: flip-bit {rng.choice(PARTS[where.what])}"

    return several(rng, one)


def drop(rng, round_):
    return several(rng, lambda i: f"{Where(rng, round_, i).unit()}: drop")


def duplicate(rng, round_):
    return several(rng, lambda i: f"{Where(rng, round_, i).unit()}: duplicate")


def delay(rng, round_):
    """Together they are shorter than the timeout, because one may wait for octets that the other
    delays."""
    wheres = [Where(rng, round_, i, sometimes_start(rng)) for i in range(rng.choice([1, 1, 2, 3]))]
    return [Stage([
        f"{where.unit()}: delay "
        f"{int(rng.uniform(0.1, 0.8) * round_.timeout / len(wheres) * 1000)}ms"
        for where in wheres])]


def split(rng, _round):
    """Many units on all connections are sent in pieces, with pauses."""
    every = rng.choice([1, 1, 3, 7])
    last = every * rng.randint(10, 40)
    return [Stage([f"fpdu every={every} count=1..{last}: split 1..{rng.choice([24, 128, 1536])} "
                   f"{rng.choice(['10us', '500us', '3ms'])}"])]


def freeze(rng, round_):
    """Nothing is forwarded from a unit on, but the connections stay open: with hold the sender's
    window closes, with discard the sender sees acknowledgments."""
    where = Where(rng, round_, 0, sometimes_start(rng))
    both = rng.random() < 0.7
    action = rng.choice(["stall forever", "discard"])
    conns = [where.conn] if rng.random() < 0.5 else range(1, round_.jobs + 1)
    rules = [f"{where.unit(conn)}: {action}" for conn in conns]
    if both:
        other = ENDS[where.end == ENDS[0]]
        rules += [f"fpdu conn={conn} from={other} nth={number(rng, 'untagged')}: {action}"
                  for conn in conns]
    if rng.random() < 0.4:
        rules += [f"mpa-request conn={conn}: {action}"
                  for conn in range(round_.jobs + 1, round_.jobs + NEW_CONNECTIONS)]
    return [Stage(rules)]


def cut(rng, round_):
    """Connections end inside a unit. With a trigger all of them end, and new ones are refused for
    some time."""
    rules = []
    for index in range(rng.choice([1, 1, 2, 3])):
        where = Where(rng, round_, index, sometimes_start(rng))
        manner = rng.choice(["reset", "close"])
        rules.append(f"{where.unit()}: {manner} after {rng.choice([0, 1, 2, 17, 100, 1000])}")
    everything = rng.random() < 0.4
    pause = rng.choice([0, 0, rng.uniform(0.1, 2.0)]) * round_.timeout
    return [Stage(rules, trigger=1 if everything or pause else None, pause=pause)]


def none(_rng, _round):
    return [Stage([])]


KINDS = {
    "tcp-start": start, "tcp-flip": flip, "tcp-drop": drop, "tcp-freeze": freeze,
    "tcp-split": split, "tcp-duplicate": duplicate, "tcp-delay": delay, "tcp-cut": cut,
    "tcp-none": none,
}
