# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Measurements as people read them: `throughput_bits_per_second` is a name, 9.41e9 is 9.41 Gb/s.

The unit is the end of the name, as in the tools' --json.
"""

SCALES = {
    "bits_per_second": ([(1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s"), (1, "b/s")], "higher"),
    "octets_per_second": ([(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1, "B/s")], "higher"),
    "per_second": ([(1e6, "M/s"), (1e3, "k/s"), (1, "/s")], "higher"),
    "seconds": ([(1, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")], "lower"),
    "octets": ([(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")], ""),
}


def unit_of(name):
    """(name without its unit, scales, better): better is `higher`, `lower` or `` (unknown)."""
    for suffix, (scales, better) in SCALES.items():
        if name == suffix or name.endswith("_" + suffix):
            return name[:-len(suffix)].rstrip("_") or name, scales, better
    return name, [(1, "")], ""


def title(name):
    """`latency_p50_seconds` -> `latency p50`."""
    return unit_of(name)[0].replace("_", " ")


def describe(name):
    """What the page needs to show values of this measurement."""
    _, scales, better = unit_of(name)
    return {"title": title(name), "scales": scales, "better": better}


def show(name, value):
    """9.41e9 -> `9.41 Gb/s`: three significant digits."""
    scales = unit_of(name)[1]
    factor, unit = next((scale for scale in scales if value >= scale[0]), scales[-1])
    return f"{digits(value / factor)} {unit}".rstrip()


def digits(value):
    if value >= 100 or value == 0:
        return f"{value:.0f}"
    return f"{value:.3g}"
