# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Faults of datagrams, as rules of ddp-impair. Each kind is a function of a random number generator
and the round; it returns the stages of the middle."""

from middle import Stage

USUAL = 180  # a round has at least this many datagrams
USUAL_MS = 200  # and often lasts about this long
EVER = 10**9


def ways(rng):
    """One direction, or both."""
    return rng.choice(["from=initiator ", "from=responder ", "", ""])


def share(rng, low, high):
    return f"prob={rng.uniform(low, high) * 100:.2f}%"


def start(rng):
    """The number of a datagram; small ones are more frequent."""
    return int(USUAL ** rng.random())


def loss(rng, _round):
    return [Stage([f"packet {ways(rng)}{share(rng, 0.005, 0.05)}: drop"])]


def duplicate(rng, _round):
    return [Stage([f"packet {ways(rng)}{share(rng, 0.01, 0.2)}: duplicate"])]


def reorder(rng, _round):
    action = rng.choice(["delay 100us..10ms", "delay 100us..10ms", "reorder 1..4"])
    return [Stage([f"packet {ways(rng)}{share(rng, 0.01, 0.2)}: {action}"])]


def corrupt(rng, _round):
    """Inverted bits: of packets, and of single chunks."""
    return [Stage([f"packet {ways(rng)}{share(rng, 0.005, 0.03)}: flip-bit any",
                   f"chunk {ways(rng)}{share(rng, 0.002, 0.01)}: flip-bit any"])]


def blackout(rng, round_):
    """Nothing passes for some time, once or twice, or for ever."""
    first = int(USUAL_MS ** rng.random())
    if round_.forever:
        return [Stage([f"packet count={start(rng)}..{EVER}: drop"])]
    rules, at = [], first
    for _ in range(rng.choice([1, 1, 2])):
        end = at + int(rng.uniform(0.2, 0.8) * round_.timeout * 1000)
        rules.append(f"packet after={at}ms until={end}ms: drop")
        at = end + 100
    return [Stage(rules)]


def rebind(rng, _round):
    """The port towards the listener changes at some datagrams, as behind a NAT."""
    return [Stage([f"packet from=initiator nth={start(rng)}: rebind"
                   for _ in range(rng.choice([1, 1, 2]))])]


def mtu(rng, _round):
    """From a datagram on, larger ones than the MTU are dropped."""
    return [Stage([f"packet len={rng.randint(1300, 4000)}..65535 count={start(rng)}..{EVER}: drop"])]


def none(_rng, _round):
    return [Stage([])]


KINDS = {
    "udp-loss": loss, "udp-duplicate": duplicate, "udp-reorder": reorder, "udp-corrupt": corrupt,
    "udp-blackout": blackout, "udp-rebind": rebind, "udp-mtu": mtu, "udp-none": none,
}
