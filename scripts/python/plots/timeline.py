# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""timeline: a row for each type of event of each end."""

from . import draw
from .inputs import Invalid
from .view import ROLES, time_text

HELP = "rows of events of both ends: sent, received, placed, delivered, lost, timers"
COLUMNS = 420  # events within this fraction of the time share a bar
ROW = 22  # pixels
# name of the row, colour, events
TRACE_ROWS = (
    ("posted", draw.GREY, ("posted",)),
    ("sent", draw.BLUE, ("segment_sent",)),
    ("retransmitted", draw.ORANGE, ("chunk_retransmitted",)),
    ("lost", draw.RED, ("lost",)),
    ("timer", draw.PINK, ("timer",)),
    ("SACK received", draw.GREY, ("acked",)),
    ("received", draw.SKY, ("segment_received",)),
    ("placed", draw.GREEN, ("placed",)),
    ("delivered", draw.BLUE, ("delivered",)),
    ("completed", draw.BLACK, ("completion",)),
    ("Terminate", draw.RED, ("terminate",)),
)
CAPTURE_ROWS = (
    ("set-up", draw.BLACK, ("mpa", "session")),
    ("segments", draw.BLUE, ("ddp",)),
    ("transport", draw.ORANGE, ("tcp", "sctp")),
)


def rows_of(view):
    """Returns (role, name, colour, times), the initiator first."""
    found = []
    for role in ROLES:
        for name, colour, events in TRACE_ROWS:
            times = [at for at, _, part in view.events(*events) if part.role == role]
            if times:
                found.append((role, name, colour, times))
        for name, colour, events in CAPTURE_ROWS:
            times = [(at, e.get("kind")) for at, e, _ in view.events(*events, kind="capture")
                     if e["from"] == role]
            found += split(role, name, colour, times)
    return found


def split(role, name, colour, times):
    """Retransmissions have a row of their own."""
    again = [at for at, kind in times if kind == "retransmission"]
    rest = [at for at, kind in times if kind != "retransmission"]
    rows = [(role, f"captured {name}", colour, rest)] if rest else []
    return rows + ([(role, "captured again", draw.ORANGE, again)] if again else [])


def bars(times, width, y):
    """Rows of the table (begin, row, length): events less than `width` apart share a bar."""
    rows, begin, end = [], times[0], times[0]
    for at in times[1:]:
        if at - end > width:
            rows.append((begin, y, max(end - begin, width)))
            begin = at
        end = at
    return rows + [(begin, y, max(end - begin, width))]


def make(view):
    """Returns the Picture. Raises Invalid if there is nothing to show."""
    found = rows_of(view)
    if not found:
        raise Invalid(f"{view.paths()}: no event of a connection in this time: timeline needs a "
                      "trace or a capture")
    begin, end = min(f[3][0] for f in found), max(f[3][-1] for f in found)
    tables, parts, ticks, heads, y = [], [], [], [], 0
    for i, (role, name, colour, times) in enumerate(found):
        if i == 0 or found[i - 1][0] != role:
            y += 1
            heads.append((role, y))
        y += 1
        table = f"{role}-{name.replace(' ', '-')}"
        tables.append((table, ("begin", "row", "length"),
                       bars(times, max(end - begin, 1e-6) / COLUMNS, y)))
        parts.append(f"{draw.table('timeline', table)} using 1:2:3:(0) with vectors nohead lw 11 "
                     f"lc rgb '{colour}' notitle")
        ticks.append(f"{draw.quote(f'{name} ({len(times)})')} {y}")
    events = sum(len(f[3]) for f in found)
    picture = draw.Picture("timeline", "Timeline of both ends" if len(heads) > 1 else
                           f"Timeline of the {heads[0][0]}",
                           view.facts(f"{events} events, {time_text(max(end - begin, 1e-9))}"),
                           tables, "", (1060, 0))
    picture.size = (1060, picture.top() + ROW * (y + 1) + 58)
    picture.script = script_of(view, picture, heads, ticks, y, end) + draw.plot(parts)
    return picture


def script_of(view, picture, heads, ticks, rows_count, end):
    width, height = picture.size
    text = (draw.x_range(view, end) + f"set lmargin at screen {224 / width:.4f}\n"
            f"set tmargin at screen {1 - (picture.top() - 24) / height:.4f}\n"
            f"set yrange [{rows_count + 1}:0.3]\nset ytics ({', '.join(ticks)})\n"
            "set xlabel 'seconds'\nunset key\n")
    for number, (role, y) in enumerate(heads, 20):
        name = draw.quote(f"{role} {view.ends.get(role, '')}")
        text += (f"set label {number} {name} at screen {24 / width:.4f}, first {y} left "
                 f"font '{draw.FONT},11' front\n")
    return text
