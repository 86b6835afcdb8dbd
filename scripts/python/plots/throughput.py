# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""throughput: the rate over time in both directions, payload and on the wire."""

import math

from . import draw
from .inputs import Invalid
from .view import ROLES, other, size_text

PER_INTERVAL = 3  # segments, so that long segments do not look like gaps
HELP = "rate over time in both directions: DDP payload, and octets on the wire"
BINS = 100  # about that many intervals
LEAST = 0.001  # seconds
COLOURS = {ROLES[0]: (draw.BLUE, "#9ecae8"), ROLES[1]: (draw.RED, "#f2b98f")}


def payload(view, role):
    """Returns what the octets are, and (seconds, octets) of the payload that `role` sent: as its
    peer received it, if the trace of that end is there."""
    found = traced(view, other(role), "segment_received")
    if found:
        return "payload received", found
    found = [(s.at, s.octets) for s in view.segments("ddp") if s.role == role]
    if found:
        return "payload", found
    # SCTP queues segments that DDP passes on, so their time says little.
    found = traced(view, role, "chunk_sent")
    return ("new DATA", found) if found else ("payload sent", traced(view, role, "segment_sent"))


def traced(view, role, *names):
    return [(at, e["octets"]) for at, e, part in view.events(*names) if part.role == role]


def wire(view, role):
    """Returns what the octets are, and (seconds, octets) of all that `role` sent."""
    framed = captured_frames(view, role)
    if framed:
        return "on the wire", framed
    for what, names in (("in FPDUs", ("fpdu_sent",)),
                        ("all DATA", ("chunk_sent", "chunk_retransmitted"))):
        found = traced(view, role, *names)
        if found:
            return what, found
    return "", []


def captured_frames(view, role):
    found = []
    for part in view.parts:
        if len(part.ends) == 2:
            src, dst = (part.ends[r].split("/")[0] for r in (role, other(role)))
            found += [((f.at - view.zero) / 1e9, f.octets) for f in part.source.frames
                      if f.src == src and f.dst == dst]
    return [f for f in found if view.shown(f[0])]


def interval(span, segments):
    """A round number of seconds, so that about BINS intervals cover the span."""
    rough = max(span / BINS, LEAST, PER_INTERVAL * span / max(1, segments))
    power = 10 ** math.floor(math.log10(rough))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= rough * 0.999)


def rates(points, begin, end, width):
    """Returns (seconds, Mb/s) at the beginning of each interval, and a last row at the end."""
    count = max(1, math.ceil((end - begin) / width))
    octets = [0] * count
    for at, size in points:
        octets[min(count - 1, int((at - begin) / width))] += size
    rows = [(begin + i * width, size * 8 / width / 1e6) for i, size in enumerate(octets)]
    return rows + [(begin + count * width, 0.0)]


def measured(view):
    """The lines `interval` of results, one after the other."""
    rows, at, before = [], 0.0, 0
    for source in view.results:
        for event in source.events:
            if event["event"] == "interval":
                if event["start_ns"] < before:
                    at += before / 1e9
                before = event["end_ns"]
                rows.append((at + event["start_ns"] / 1e9, event["bits_per_second"] / 1e6))
    return rows + [(at + before / 1e9, 0.0)] if rows else []


def curves(view):
    """Returns (table, legend, colour, style, points)."""
    found = []
    for role in ROLES:
        dark, light = COLOURS[role]
        what, data = payload(view, role)
        if data:
            found.append((f"{role}-payload", f"{what} from the {role}", dark, "lw 2", data))
        what, data = wire(view, role)
        if data:
            found.append((f"{role}-wire", f"{what} from the {role}", light, "lw 1.5", data))
    return found


def make(view):
    """Returns the Picture. Raises Invalid if nothing says how much was moved when."""
    found, direct = curves(view), measured(view)
    if not found and not direct:
        raise Invalid(f"{view.paths()}: no segment and no event interval: throughput needs a "
                      "trace, a capture, or ddp-bench --json of more than a second")
    tables, parts, facts = [], [], []
    times = [point[0] for curve in found for point in curve[4]]
    begin, end = min(times, default=0.0), max(times, default=0.0)
    width = interval(end - begin, max((len(c[4]) for c in found if "payload" in c[0]), default=1))
    # Payload is drawn over the octets on the wire.
    for name, legend, colour, style, points in sorted(found, key=lambda c: "payload" in c[0]):
        total = size_text(sum(point[1] for point in points))
        tables.append((name, ("seconds", "Mb/s"), rates(points, begin, end, width)))
        parts.append(f"{draw.table('throughput', name)} using 1:2 with steps {style} "
                     f"lc rgb '{colour}' title {draw.quote(f'{legend} ({total})')}")
    if found:
        facts.append(f"intervals of {width * 1e3:g} ms")
    if direct:
        tables.append(("measured", ("seconds", "Mb/s"), direct))
        parts.append(f"{draw.table('throughput', 'measured')} using 1:2 with steps lw 2 "
                     f"lc rgb '{draw.BLACK}' title 'measured by the tool'")
    last = max([end, *(row[0] for row in direct)])
    script = draw.x_range(view, last)
    script += "set yrange [0:*]\nset xlabel 'seconds'\nset ylabel 'Mb/s'\n"
    picture = draw.Picture("throughput", "Throughput", view.facts(*facts), tables, "")
    picture.key_lines = draw.key_lines(len(parts), 2)
    picture.script = script + draw.plot(parts)
    return picture
