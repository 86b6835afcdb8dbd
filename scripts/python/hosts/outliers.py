# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Finds hosts and links that deviate from the median.

Values are compared by their logarithms, so that half and twice the median deviate alike. A value
deviates if it is farther from the median than a multiple of the median absolute deviation (times
1.4826, which makes that comparable with a standard deviation), and by more than a least ratio: on a
quiet network the median absolute deviation is almost zero.

A slow host makes its whole row and column slow, and with few hosts these are half of all values. So
a host is compared with the pairs between all other hosts. The host with the most deviating pairs is
left out; then the search is repeated. Links are searched last, among the hosts that remain. Only
hosts and links that are slower than the others are reported.
"""

import math
import statistics

SCALE = 1.4826
HOST_DEVIATIONS = 3.5
LINK_DEVIATIONS = 5  # a link is a single value
LEAST_PAIRS = 3  # of a host
LEAST_OTHERS = 6  # the median absolute deviation of fewer values says little
LEAST_SHARE = 2 / 3  # of a host's pairs must deviate; otherwise it is one of its links

# The metric's key and name, the least ratios of a host and of a link, and whether less is worse
METRICS = (
    ("bits_per_second", "throughput", 1.3, 1.5, True),
    ("half_round_trip_p50_ns", "latency", 2, 3, False),
)
BOTH = "client and server"


class Outlier:
    """what: "host" or "link". role: in which role a host deviates. pairs: how many of `of` pairs
    deviate."""

    def __init__(self, metric, what, name, ratio, pairs=1, of=1, role=None):
        self.metric = metric
        self.what = what
        self.name = name
        self.ratio = ratio
        self.pairs = pairs
        self.of = of
        self.role = role

    def __str__(self):
        name = self.name if self.role in (None, BOTH) else f"{self.name} as {self.role}"
        text = f"{self.what} {name}: {self.ratio:.2f} times the median {self.metric}"
        return text + (f" in {self.pairs} of {self.of} pairs" if self.what == "host" else "")

    def record(self):
        line = {"schema": 1, "event": "outlier", "metric": self.metric, "what": self.what,
                "name": self.name, "ratio": round(self.ratio, 3), "pairs": self.pairs,
                "of_pairs": self.of}
        return {**line, "role": self.role} if self.role else line


def find(pairs):
    """Returns the Outliers among JSON lines of pairs."""
    found = []
    for key, name, of_host, of_link, less_is_worse in METRICS:
        # 0: no message was complete in the time of the measurement. Logarithms need more than 0.
        values = {(pair["client"], pair["server"]): pair[key] or pair.get(f"at_most_{key}") or 1
                  for pair in pairs if key in pair}
        found += [one for one in search(values, name, of_host, of_link)
                  if (one.ratio < 1) == less_is_worse]
    return found


def search(values, metric, of_host, of_link):
    """values: from (client, server) to a number."""
    found = []
    enough = LEAST_OTHERS
    if len(hosts_of(values)) == 3:
        enough = 2  # the only pairs without this host
    while True:
        suspects = [judge(values, host, metric, of_host, enough) for host in hosts_of(values)]
        worst = max(filter(None, suspects), default=None,
                    key=lambda one: (one.pairs / one.of, strength(one.ratio)))
        if not worst:
            return found + links(values, metric, of_link)
        found.append(worst)
        values = {pair: value for pair, value in values.items() if worst.name not in pair}


def hosts_of(values):
    return sorted({host for pair in values for host in pair})


class Reference:
    """The median of values and their median absolute deviation, by logarithms. least: the least
    ratio that is a deviation."""

    def __init__(self, values, least):
        self.median = statistics.median(values)
        self.spread = statistics.median(abs(math.log(value / self.median)) for value in values)
        self.least = least

    def is_far(self, value, deviations):
        distance = abs(math.log(value / self.median))
        return distance > math.log(self.least) and distance > deviations * SCALE * self.spread

    def far(self, values):
        return [value for value in values if self.is_far(value, HOST_DEVIATIONS)]

    def are_mostly_far(self, values):
        return len(values) >= 2 and len(self.far(values)) >= LEAST_SHARE * len(values)


def judge(values, host, metric, least, enough):
    """Returns the Outlier that this host is, or None."""
    others = [value for pair, value in values.items() if host not in pair]
    if len(others) < enough:
        return None
    reference = Reference(others, least)
    sent = [value for pair, value in values.items() if pair[0] == host]
    served = [value for pair, value in values.items() if pair[1] == host]
    roles = [(role, own) for role, own in (("client", sent), ("server", served))
             if reference.are_mostly_far(own)]
    if not roles:
        return None
    role, own = roles[0] if len(roles) == 1 else (BOTH, sent + served)
    if len(own) < LEAST_PAIRS:
        return None
    return Outlier(metric, "host", host, statistics.median(own) / reference.median,
                   len(reference.far(own)), len(own), role)


def links(values, metric, least):
    if len(values) < LEAST_OTHERS:
        return []
    reference = Reference(values.values(), least)
    return [Outlier(metric, "link", f"{pair[0]} -> {pair[1]}", value / reference.median)
            for pair, value in sorted(values.items())
            if reference.is_far(value, LINK_DEVIATIONS)]


def strength(ratio):
    """Returns how far a ratio is from 1: 4 for a quarter, and for four times."""
    return max(ratio, 1 / ratio)
