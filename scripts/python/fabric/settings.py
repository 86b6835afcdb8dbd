# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a link does to the frames of one direction, as text for the relay and for netem."""

import dataclasses

KEYS = ("rate", "delay", "jitter", "queue", "loss", "duplicate", "corrupt", "reorder", "reorder-by")
CHANCES = ("loss", "duplicate", "corrupt", "reorder")
DURATIONS = ("delay", "jitter", "reorder-by")
FRAME_OCTETS = 1514  # netem counts its queue in packets


@dataclasses.dataclass(frozen=True)
class Settings:
    """Rates are in bits per second, durations in seconds, queues in octets, chances from 0 to 1.
    None: not set."""
    rate: int = None
    delay: float = None
    jitter: float = None
    queue: int = None
    loss: float = None
    duplicate: float = None
    corrupt: float = None
    reorder: float = None
    reorder_by: float = None

    def __bool__(self):
        return any(value is not None for value in dataclasses.astuple(self))

    def over(self, base):
        """Returns these settings, with those of `base` where this object has none."""
        own = {key: value for key, value in vars(self).items() if value is not None}
        return dataclasses.replace(base, **own)

    def relay_words(self):
        """Returns the settings in the relay's syntax: loss=1%,delay=10000000ns."""
        words = []
        for key, value in self.shown():
            words.append(f"{RELAY_NAMES.get(key, key)}={value}")
        if self.reorder and self.reorder_by is None:
            words.append(f"late-by={nanoseconds(self.default_reorder_by())}")
        return ",".join(words)

    def netem_words(self):
        """Returns the arguments of `tc qdisc add ... netem`."""
        words = []
        if self.delay is not None or self.jitter is not None or self.reorder:
            delay = self.delay or self.default_reorder_by()
            words += ["delay", f"{delay * 1e6:.0f}us", f"{(self.jitter or 0) * 1e6:.0f}us"]
        for key in CHANCES:
            if getattr(self, key):
                words += [key, percent(getattr(self, key))]
        if self.rate is not None:
            words += ["rate", f"{self.rate}bit"]
        queue = self.queue or 256 << 10
        waiting = int((self.rate or 0) * (self.delay or 0) / 8)
        packets = (queue + waiting) // FRAME_OCTETS + 1000 * (not self.rate)
        return [*words, "limit", str(max(1, packets))]  # netem drops all packets with 0

    def text(self):
        """Returns the settings as in a topology file, for people: loss 1%, delay 10ms."""
        shown = {"delay": short_duration, "jitter": short_duration, "reorder-by": short_duration,
                 "rate": short_rate, "queue": short_size}
        words = []
        for key, value in self.shown():
            raw = getattr(self, key.replace("-", "_"))
            words.append(f"{key} {shown[key](raw) if key in shown else value}")
        return ", ".join(words)

    def shown(self):
        for key in KEYS:
            value = getattr(self, key.replace("-", "_"))
            if value is None:
                continue
            if key in CHANCES:
                yield key, percent(value)
            elif key in DURATIONS:
                yield key, nanoseconds(value)
            else:
                yield key, str(value)

    def default_reorder_by(self):
        """A frame that is held back this long is overtaken by others on most links."""
        return max(0.005, (self.delay or 0) / 2)


RELAY_NAMES = {"reorder": "late", "reorder-by": "late-by"}


def percent(value):
    return f"{value * 100:.6f}".rstrip("0").rstrip(".") + "%"


def nanoseconds(value):
    return f"{round(value * 1e9)}ns"


def short_duration(value):
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value * 1e9:g}ns"


def short_rate(value):
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if value >= size:
            return f"{value / size:g}{unit}"
    return str(value)


def short_size(value):
    for unit, size in (("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)):
        if value >= size and value % size == 0:
            return f"{value // size}{unit}"
    return str(value)


def parse(mapping):
    """Returns the Settings of a dict from str to checked.Node. Keys that are not in KEYS are
    ignored. Raises checked.Invalid."""
    values = {}
    for key in KEYS:
        node = mapping.get(key)
        if node is None:
            continue
        values[key.replace("-", "_")] = value_of(key, node)
    return Settings(**values)


def value_of(key, node):
    if key in CHANCES:
        return node.percentage()
    if key in DURATIONS:
        return bounded(node, node.duration(), 3600, "a duration of at most 1h, such as 10ms")
    if key == "rate":
        rate = node.rate()
        if not 1000 <= rate <= 10**12:
            raise node.error("a rate from 1k to 1000G")
        return rate
    return bounded(node, node.size(), 1 << 30, "a size of at most 1G")


def bounded(node, value, most, expected):
    if value > most:
        raise node.error(expected)
    return value
