# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""latency: a histogram above, and below the share of operations that took longer."""

import math

from . import draw
from .inputs import Invalid, clean
from .view import time_text

HELP = "histogram and distribution of round trips and completion times"
HEIGHT = 640
PER_DECADE = 20  # bars of the histogram
PLOTTED = 400  # points of a distribution, and as many of its tail
ALTERNATES = 0.9  # share of Sends that must be answered before the next one
FIGURES = (("half_round_trip", "half round trip"), ("completion", "completion"))
WHOLE = 8  # fewer counts have a tic for each number, and none for halves
RARE = 8  # as many times fewer than the most frequent operation is rare
PERCENTILES = (("p50_ns", 0.5), ("p90_ns", 0.9), ("p99_ns", 0.99), ("p999_ns", 0.999),
               ("p9999_ns", 0.9999))
COLOURS = (draw.BLUE, draw.ORANGE, draw.GREEN, draw.PINK, draw.RED, draw.BLACK, draw.SKY)


def round_trips(pairs):
    """pairs: (ns, True for a question, False for an answer). Returns the times between, or nothing
    if questions and answers do not alternate."""
    found, asked, open_at = [], 0, None
    for at, question in pairs:
        if question:
            asked += 1
            open_at = at
        elif open_at is not None:
            found.append(at - open_at)
            open_at = None
    return found if asked and len(found) >= ALTERNATES * asked and len(found) >= 2 else []


def traced(view):
    """Times from posting to completion by operation, and round trips of Sends, of each trace."""
    found = {}
    for part in view.parts:
        mark = f" ({part.source.name()})" if len(view.parts) > 1 else ""
        waiting, pairs, operations = {}, [], 0
        for event in part.named("posted", "completion"):
            if not view.shown(view.seconds(event)):
                continue
            op, key = clean(event["op"]), (event["op"], event["wr_id"])
            posted = event["event"] == "posted"
            if posted and op == "send" or not posted and op == "recv":
                pairs.append((event["at"], posted))
            operations += posted and op != "recv"
            if posted:
                waiting.setdefault(key, []).append(event["at"])
            elif waiting.get(key) and op != "recv":
                took = event["at"] - waiting[key].pop(0)
                found.setdefault(f"{op}, posted to completed{mark}", []).append(took)
        answered = round_trips(pairs)
        asked = sum(1 for _, question in pairs if question)
        if answered and pairs[0][1] and 2 * asked > operations:
            found.pop(f"send, posted to completed{mark}", None)
            found[f"Send to Send{mark}"] = answered
    return found


def captured(view):
    """Round trips at the capture: the last segment of a Send to that of the answer."""
    pairs = [(round(s.at * 1e9), s.role == "initiator") for s in view.segments("ddp")
             if s.last and s.opcode.startswith("Send")]
    answered = round_trips(pairs)
    return {"Send to Send at the capture": answered} if answered else {}


def replies(view):
    found = {}
    for source in view.results:
        times = [e["rtt_ns"] for e in source.events if e["event"] == "reply"]
        if times:
            found[f"round trips ({source.name()})"] = times
    return found


def percentiles(view):
    """Returns the distributions in results: {legend: [(ns, share)]}."""
    found = {}
    for source in view.results:
        for event in source.events:
            for key, legend in FIGURES:
                figures = event.get(key)
                if event["event"] == "result" and isinstance(figures, dict):
                    points = known(figures, event.get("messages"))
                    if points:
                        what = clean(f"{event.get('transport', '')} {event.get('mode', '')} "
                                     f"{event.get('size_octets', '')} B")
                        found[f"{what}: {legend} ({source.name()})"] = points
    return found


def known(figures, count):
    """Returns the percentiles for which there are enough messages."""
    most = 1 - 0.5 / count if isinstance(count, int) and count > 0 else 1
    return [(figures[key], share) for key, share in PERCENTILES
            if isinstance(figures.get(key), int) and figures[key] > 0 and share <= most]


def frequent(samples):
    """Omits rare kinds of messages, such as those that control a measurement."""
    most = max((len(times) for times in samples.values()), default=0)
    return {name: times for name, times in samples.items() if RARE * len(times) >= most}


# --- tables --------------------------------------------------------------------------------------

def depth(share):
    """The axis of the distribution: 0 for 0 %, 1 for 90 %, 2 for 99 %, and so on."""
    return -math.log10(max(1 - share, 1e-9))


def distribution(times):
    """Rows (us, share in percent, depth)."""
    ordered, count = sorted(max(t, 1) for t in times), len(times)
    step = max(1, count // PLOTTED)
    picked = sorted({*range(0, count, step), *range(max(0, count - PLOTTED), count)})
    return [(ordered[i] / 1e3, 100 * (i + 0.5) / count, depth((i + 0.5) / count)) for i in picked]


def histogram(times):
    """Rows (us at the beginning of the bar, at its end, count)."""
    bars = {}
    for took in times:
        bar = math.floor(math.log10(max(took, 1)) * PER_DECADE)
        bars[bar] = bars.get(bar, 0) + 1
    return [(10 ** (bar / PER_DECADE) / 1e3, 10 ** ((bar + 1) / PER_DECADE) / 1e3, bars[bar])
            for bar in sorted(bars)]


def legend_of(name, times):
    ordered = sorted(times)
    p50, p99 = (ordered[min(len(ordered) - 1, int(len(ordered) * p))] for p in (0.5, 0.99))
    return (f"{name}: {len(times)}, p50 {time_text(p50 / 1e9)}, p99 {time_text(p99 / 1e9)}, "
            f"longest {time_text(ordered[-1] / 1e9)}")


def make(view):
    """Returns the Picture. Raises Invalid if there are no times."""
    samples = frequent({**replies(view), **traced(view), **captured(view)})
    points = percentiles(view)
    if not samples and not points:
        raise Invalid(f"{view.paths()}: no completion, no reply and no percentiles: latency "
                      "needs a trace, ddp-bench --json or sctp-ddp-ping --json")
    tables, bars, lines = [], [], []
    for i, (name, times) in enumerate(samples.items()):
        colour = COLOURS[i % len(COLOURS)]
        tables += [(f"bars-{i}", ("from us", "to us", "count"), histogram(times)),
                   (f"share-{i}", ("us", "percent", "depth"), distribution(times))]
        bars.append(f"{draw.table('latency', f'bars-{i}')} using "
                    "(sqrt($1 * $2) / scale):3:($1 / scale):($2 / scale):(0):3 "
                    f"with boxxyerror lc rgb '{colour}' fs solid 0.55 noborder notitle")
        lines.append(f"{draw.table('latency', f'share-{i}')} using ($1 / scale):3 with steps lw 2 "
                     f"lc rgb '{colour}' title {draw.quote(legend_of(name, times))}")
    for i, (name, found) in enumerate(points.items(), len(samples)):
        colour = COLOURS[i % len(COLOURS)]
        tables.append((f"share-{i}", ("us", "percent", "depth"),
                       [(ns / 1e3, 100 * share, depth(share)) for ns, share in found]))
        lines.append(f"{draw.table('latency', f'share-{i}')} using ($1 / scale):3 "
                     f"with linespoints lw 1.5 pt 7 ps 0.5 lc rgb '{colour}' "
                     f"title {draw.quote(name)}")
    count = sum(len(times) for times in samples.values())
    picture = draw.Picture("latency", "Latency", view.facts(f"{count} times" if count else ""),
                           tables, "", (960, HEIGHT))
    picture.key_lines = len(lines)
    picture.script = script_of(tables, bars, lines)
    return picture


def script_of(tables, bars, lines):
    """Histogram and distribution with one axis of time."""
    shares = [rows for name, _, rows in tables if name.startswith("share")]
    times = [row[0] for rows in shares for row in rows]
    unit, scale = ("ms", 1000) if max(times) >= 10000 else ("us", 1)
    low, high = min(times) / 1.3 / scale, max(times) * 1.3 / scale
    deepest = max(1, math.ceil(max(row[2] for rows in shares for row in rows)))
    text = (f"scale = {scale}\nset logscale x\nset xrange [{low:.6f}:{high:.6f}]\n")
    ends = ("set ylabel 'share of all'\n"
            f"set ytics ({ticks(deepest)})\nset yrange [0:{deepest}]\n"
            f"set xlabel '{unit}'\nset format x '%g'\n")
    if not bars:
        return text + ends + draw.plot(lines)
    empty = [line.split(" title ", 1) for line in lines]
    legend = [f"NaN with lines lw 4 lc rgb {style.split('lc rgb ')[1]} title {title}"
              for style, title in empty]
    counts = [row[2] for name, _, rows in tables if name.startswith("bars") for row in rows]
    text += ("set bmargin at screen 0.50\nset multiplot\nset format x ''\nset ylabel 'count'\n"
             f"{'set ytics 1' if max(counts) < WHOLE else ''}\n"
             "set yrange [0:*]\n" + draw.plot(bars + legend))
    text += (f"unset label\nunset key\nset tmargin at screen 0.46\n"
             f"set bmargin at screen {58 / HEIGHT:.4f}\n")
    return text + ends + draw.plot(lines) + "unset multiplot\n"


def ticks(deepest):
    marks = ["'0 %%' 0", "'50 %%' 0.30103"]
    for nines in range(1, deepest + 1):
        percent = "90" if nines == 1 else "99" if nines == 2 else "99." + "9" * (nines - 2)
        marks.append(f"'{percent} %%' {nines}")
    return ", ".join(marks)
