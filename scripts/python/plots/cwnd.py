# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""cwnd: congestion window, octets in flight and losses above, round trips and timeout below."""

from . import draw
from .inputs import Invalid
from .view import time_text

HELP = "congestion window, octets in flight, losses; round trips and retransmission timeout"
UNSET = 0xffffffff  # ssthresh before the first loss
HEIGHT = 640
COLUMNS = 450  # of each curve


def sender(view):
    """Returns (role, path) whose congestion window changed most often."""
    counts = {}
    for _, event, part in view.events("window"):
        key = (part.role, event.get("path", 0))
        counts[key] = counts.get(key, 0) + 1
    if not counts:
        raise Invalid(f"{view.paths()}: no event window: cwnd needs the trace (--trace) of the end "
                      "that sends")
    return max(counts, key=counts.get)


def changes(points):
    """Leaves out points that repeat the value before: equal neighbours break dashed lines."""
    last = len(points) - 1
    return [p for i, p in enumerate(points) if i in (0, last) or p[1] != points[i - 1][1]]


def series(view, name, key, who, accept=lambda value: value > 0):
    """Returns [(seconds, value)] of a key of the events of one end and path."""
    role, path = who
    points = [(at, event[key]) for at, event, part in view.events(name)
              if part.role == role and event.get("path", path) == path and accept(event[key])]
    return draw.thinned(changes(points) if name != "rtt" else points, COLUMNS)


def in_flight(view, who):
    """Returns [(seconds, octets)]. The event window has the octets in flight after a SACK; each
    chunk that is sent adds to them."""
    role, path = who
    points, octets = [], 0
    for at, event, part in view.events("window", "chunk_sent", "chunk_retransmitted"):
        if part.role != role or event.get("path", path) != path:
            continue
        octets = event["flight_octets"] if event["event"] == "window" else octets + event["octets"]
        points.append((at, octets))
    return draw.thinned(changes(points), COLUMNS)


def stairs(points):
    """Two rows at each change, and zeros at both ends: one polygon."""
    if not points:
        return []
    rows = [(points[0][0], 0), points[0]]
    for before, point in zip(points, points[1:]):
        rows += [(point[0], before[1]), point]
    return rows + [(points[-1][0], 0)]


def window_tables(view, who):
    return [
        ("cwnd", ("seconds", "octets"), series(view, "window", "cwnd_octets", who)),
        ("ssthresh", ("seconds", "octets"),
         series(view, "window", "ssthresh_octets", who, lambda v: 0 < v < UNSET)),
        ("flight", ("seconds", "octets"), stairs(in_flight(view, who))),
        ("rwnd", ("seconds", "octets"), series(view, "acked", "rwnd_octets", who)),
    ]


def marks(view, who, name, kinds):
    """Returns [(seconds, what)] of losses, retransmissions or timers of one end."""
    return [(at, event.get(kinds, "")) for at, event, part in view.events(name)
            if part.role == who[0]]


def again(view, who):
    """When retransmissions were counted: by the engine one by one, by the kernel with a report."""
    found = [(at, 1) for at, _, part in view.events("chunk_retransmitted") if part.role == who[0]]
    if found:
        return found
    before = 0
    for at, event, part in view.events("window"):
        if part.role == who[0] and event.get("retransmits", 0) > before:
            found.append((at, event["retransmits"] - before))
            before = event["retransmits"]
    return found


def rtt_tables(view, who):
    def ms(points):
        return [(at, value / 1e6) for at, value in points]
    return [
        ("rtt", ("seconds", "ms"), ms(series(view, "rtt", "rtt_ns", who))),
        ("srtt", ("seconds", "ms"), ms(series(view, "rtt", "srtt_ns", who))),
        ("rto", ("seconds", "ms"), ms(series(view, "rtt", "rto_ns", who))),
    ]


def window_parts(tables, high):
    """Draws rwnd only if it is close to the window; a much larger one flattens the other curves."""
    styles = {"flight": ("filledcurves closed", "#cfe3f2", "in flight"),
              "cwnd": ("steps lw 1.8", draw.BLUE, "congestion window"),
              "ssthresh": ("steps lw 1.5 dt 2", draw.GREY, "ssthresh"),
              "rwnd": ("steps lw 1.2 dt 3", draw.PINK, "the peer's window")}
    parts = []
    for name in ("flight", "cwnd", "ssthresh", "rwnd"):
        rows = tables[name]
        if rows and (name != "rwnd" or max(r[1] for r in rows) <= 2 * high):
            style, colour, legend = styles[name]
            parts.append(f"{draw.table('cwnd', name)} using 1:($2 / 1024) with {style} "
                         f"lc rgb '{colour}' title {draw.quote(legend)}")
    return parts + mark_parts(tables, high / 1024 * 1.06)


def mark_parts(tables, height):
    """Losses and timers along the top. The kernel reports no losses, but counts retransmissions."""
    lost, again = len(tables["lost"]), sum(row[1] for row in tables["again"])
    style = f"pt 2 ps 0.8 lw 1.5 lc rgb '{draw.RED}'"
    marks = [("lost", f"lost ({lost})", style)] if lost else \
        [("again", f"retransmitted ({again})", style)]
    marks.append(("timer", f"timer ({len(tables['timer'])})",
                  f"pt 9 ps 0.9 lc rgb '{draw.ORANGE}'"))
    return [f"{draw.table('cwnd', name)} using 1:({height:.3f}) with points {style} "
            f"title {draw.quote(legend)}" for name, legend, style in marks if tables[name]]


def rtt_range(tables):
    """Some space at the top and at the bottom, so that no curve is on the border."""
    times = [row[1] for name in ("rtt", "srtt", "rto") for row in tables[name]]
    return f"set yrange [{min(times) / 1.5:.6f}:{max(times) * 1.5:.6f}]\n"


def rtt_plot(tables):
    styles = {"rtt": (f"points pt 7 ps 0.3 lc rgb '{draw.SKY}'", "round trip"),
              "srtt": (f"lines lw 1.8 lc rgb '{draw.BLUE}'", "smoothed round trip"),
              "rto": (f"steps lw 1.8 lc rgb '{draw.RED}'", "retransmission timeout")}
    parts = [f"{draw.table('cwnd', name)} using 1:2 with {style} title '{legend}'"
             for name, (style, legend) in styles.items() if tables[name]]
    return draw.plot(parts)


def make(view):
    """Returns the Picture. Raises Invalid if no trace has windows."""
    who = sender(view)
    tables = [*window_tables(view, who), *rtt_tables(view, who),
              ("lost", ("seconds", "reason"), marks(view, who, "lost", "reason")),
              ("again", ("seconds", "count"), again(view, who)),
              ("timer", ("seconds", "name"), marks(view, who, "timer", "name"))]
    named = {name: rows for name, _, rows in tables}
    high = max(row[1] for name in ("cwnd", "flight") for row in named[name] or [(0, 1)])
    last = max(row[0] for _, _, rows in tables for row in rows)
    picture = draw.Picture("cwnd", f"Congestion window of the {who[0]}",
                           view.facts(*figures(named)), tables, "", (960, HEIGHT))
    upper = window_parts(named, high)
    picture.key_lines = draw.key_lines(len(upper), 4)
    picture.script = script_of(view, named, high, last, draw.plot(upper))
    return picture


def figures(named):
    yield f"{sum(row[1] for row in named['again'])} retransmitted"
    srtt = [row[1] for row in named["srtt"]]
    if srtt:
        yield f"smoothed round trip {time_text(min(srtt) / 1e3)} to {time_text(max(srtt) / 1e3)}"


def script_of(view, named, high, last, upper):
    """Two plots with one axis of time."""
    lower = any(named[name] for name in ("rtt", "srtt", "rto"))
    split = 0.40 if lower else 58 / HEIGHT
    text = draw.x_range(view, last) + f"set yrange [0:{high / 1024 * 1.12:.3f}]\n"
    text += "set ylabel 'KiB'\n"
    if not lower:
        return text + "set xlabel 'seconds'\n" + upper
    text += f"set bmargin at screen {split}\nset multiplot\nset format x ''\n"
    text += upper
    text += ("unset label\nset format x '%g'\nset xlabel 'seconds'\nset ylabel 'ms'\n"
             f"{rtt_range(named)}set logscale y\n"
             f"set key top left Left reverse maxrows 1 samplen 2 font '{draw.FONT},11' "
             f"at screen {draw.MARGIN / 960:.4f}, screen "
             f"{split - 0.02:.4f}\nset tmargin at screen {split - 0.06:.4f}\n"
             f"set bmargin at screen {58 / HEIGHT:.4f}\n")
    return text + rtt_plot(named) + "unset multiplot\n"
