# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Which hosts measure which others at the same time.

A plan is a list of rounds. A round is a list of phases. A phase is a list of pairs (client, server)
that measure at the same time; hosts are numbers from 0. Every plan has every ordered pair once.
"""

import re


class Pattern:
    """A pattern and, for k-batch, its K."""

    def __init__(self, name, batch=None):
        self.name = name
        self.batch = batch

    def __str__(self):
        return f"{self.name}={self.batch}" if self.batch else self.name

    def plan(self, hosts):
        """Returns the rounds for this number of hosts."""
        if self.name == "pairwise":
            return pairwise(hosts)
        return batches(hosts, self.batch or hosts - 1)


def parse(text):
    """Returns the Pattern that an option names. Raises ValueError if it names none."""
    if text in ("pairwise", "all-to-all"):
        return Pattern(text)
    match = re.fullmatch(r"k-batch(?:=([0-9]{1,4}))?", text)
    if not match or match[1] == "0":
        raise ValueError(f"\"{text}\": expected pairwise, k-batch, k-batch=K with K of at least 1, "
                         "or all-to-all")
    return Pattern("k-batch", int(match[1] or 2))


def pairwise(hosts):
    """A round-robin tournament by the circle method: each round is a perfect matching (with an odd
    number of hosts, one host pauses). Each match is two phases, one for each direction."""
    circle = list(range(hosts)) + ([None] if hosts % 2 else [])
    rounds = []
    for _ in range(len(circle) - 1):
        half = len(circle) // 2
        matches = [(one, other) for one, other in zip(circle[:half], reversed(circle[half:]))
                   if one is not None and other is not None]
        rounds.append([matches, [(other, one) for one, other in matches]])
        circle = [circle[0], circle[-1], *circle[1:-1]]
    return rounds


def batches(hosts, batch):
    """In round r, client i measures the next `batch` servers after i + r * batch, all at once."""
    rounds = []
    for first in range(1, hosts, batch):
        steps = range(first, min(first + batch, hosts))
        rounds.append([[(client, (client + step) % hosts)
                        for client in range(hosts) for step in steps]])
    return rounds
