# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""ladder: the exchange between two ends as a ladder diagram."""

from . import draw
from .exchange import ACK, AGAIN, BAD, NOTE, READ, SEND, SETUP, WRITE, captures, rows_of
from .inputs import Invalid, clean
from .view import ROLES, other

HELP = "the exchange of two ends as a ladder: set-up, segments, acknowledgements, retransmissions"
WIDTH, PITCH = 1120, 27
ROWS_FIRST, ROWS_LAST = 44, 12  # of a longer exchange
LEFT, RIGHT = 0.13, 0.90
LABEL_MAX = 112
HEAD_MAX = 28  # a longer name of an end begins at the edge
HEADS = ((ROLES[0], LEFT, 0.01, "left"), (ROLES[1], RIGHT, 0.99, "right"))
FAULTS = ("lost", "Terminate", "timer", "rule", "not in the capture")  # first words of notes
FALL = 0.16  # of an arrow, in rows
TIME_AT = {ROLES[0]: LEFT - 0.008, ROLES[1]: RIGHT + 0.008}
STYLES = {  # kind: legend, colour, line
    SETUP: ("set-up and end", draw.BLACK, "lw 1.5"),
    SEND: ("Send", draw.BLUE, "lw 1.5"),
    WRITE: ("RDMA Write", draw.GREEN, "lw 1.5"),
    READ: ("RDMA Read, Atomic", "#7a5195", "lw 1.5"),
    ACK: ("SACK", draw.GREY, "lw 1"),
    AGAIN: ("retransmission", draw.ORANGE, "lw 1.8 dt 2"),
    BAD: ("error", draw.RED, "lw 2"),
}


def shown_rows(rows):
    """Returns the rows that fit, and a row for those between that do not."""
    if len(rows) <= ROWS_FIRST + ROWS_LAST + 1:
        return rows, 0
    return rows[:ROWS_FIRST] + [None] + rows[-ROWS_LAST:], len(rows) - ROWS_FIRST - ROWS_LAST


def milliseconds(at):
    return f"{at * 1e3:.3f}"


def shortened(text):
    return text if len(text) <= LABEL_MAX else text[:LABEL_MAX - 1] + "\u2026"


def arrow(y, row):
    """x, y, dx, dy: the arrow falls a little from the sender to the receiver."""
    begin, end = (LEFT, RIGHT) if row.role == ROLES[0] else (RIGHT, LEFT)
    return begin, y, end - begin, FALL


def tables_of(rows, left_out):
    """The arrows of each kind, the labels, notes and times, with y as the number of the row."""
    arrows = {kind: [] for kind in STYLES}
    labels, notes, times = [], [], {role: [] for role in ROLES}
    for y, row in enumerate(rows, 1):
        if row is None:
            labels.append(((LEFT + RIGHT) / 2, y,
                           f"{left_out} rows are left out; choose with --from and --to"))
            continue
        text = shortened(clean(row.label()))
        if row.kind == NOTE:
            x = LEFT + 0.012 if row.role == ROLES[0] else RIGHT - 0.012
            notes.append((x, y, text, row.role, text.startswith(FAULTS)))
        else:
            arrows[row.kind].append((*arrow(y, row), text))
            labels.append(((LEFT + RIGHT) / 2, y, text))
        times[row.seen].append((TIME_AT[row.seen], y if row.seen == row.role else y + FALL,
                                milliseconds(row.at)))
        if row.arrived is not None and row.count == 1:
            far = other(row.role)
            times[far].append((TIME_AT[far], y + FALL, milliseconds(row.arrived)))
    return arrows, labels, notes, times


def text_part(name, where, colour, size=9):
    return (f"{draw.table('ladder', name)} using 1:2:3 with labels {where} "
            f"font '{draw.FONT},{size}' textcolor rgb '{colour}' notitle")


def make(view):
    """Returns the Picture. Raises Invalid if there is nothing to show."""
    rows = rows_of(view)
    if not rows:
        raise Invalid(f"{view.paths()}: no event of a connection in this time: ladder needs a "
                      "capture, or a trace with segment_sent or segment_received")
    messages = sum(row.count for row in rows if row.kind != NOTE)
    span = rows[-1].at - rows[0].at
    rows, left_out = shown_rows(rows)
    arrows, labels, notes, times = tables_of(rows, left_out)
    tables = [(kind, ("x", "row", "dx", "dy", "text"), found) for kind, found in arrows.items()]
    tables += [("labels", ("x", "row", "text"), labels),
               *((f"{name}-{side}", ("x", "row", "text"),
                  [n[:3] for n in notes if n[3] == role and n[4] == (name == "faults")])
                 for name in ("notes", "faults") for side, role in zip(("left", "right"), ROLES)),
               ("times-left", ("x", "row", "ms"), times[ROLES[0]]),
               ("times-right", ("x", "row", "ms"), times[ROLES[1]])]
    tables = [table for table in tables if table[2]]
    facts = view.facts(f"{messages} messages in {milliseconds(span)} ms", "times in ms" +
                       (" at the capture" if captures(view) else ""))
    picture = draw.Picture("ladder", "Exchange of initiator and responder", facts, tables, "",
                           (WIDTH, 0))
    picture.key_lines = draw.key_lines(sum(1 for kind in arrows if arrows[kind]), 5)
    picture.size = (WIDTH, picture.top() + PITCH * (len(rows) + 2) + 20)
    picture.script = script_of(view, picture, {table[0] for table in tables}, len(rows))
    return picture


def script_of(view, picture, names, count):
    height = picture.size[1]
    text = ("unset border\nunset tics\nunset grid\n"
            "set lmargin at screen 0\nset rmargin at screen 1\n"
            f"set bmargin at screen {16 / height:.4f}\n"
            f"set xrange [0:1]\nset yrange [{count + 0.8}:-0.9]\n")
    for number, (role, x, edge, side) in enumerate(HEADS, 30):
        label = f"{role} {view.ends.get(role, '')}"
        where = f"{x},-0.45 center" if len(label) <= HEAD_MAX else f"{edge},-0.45 {side}"
        text += (f"set arrow {number} from {x},0 to {x},{count + 0.6} nohead lw 1.5 "
                 f"lc rgb '#404040' back\nset label {number} {draw.quote(label)} at {where} "
                 f"font '{draw.FONT},11'\n")
    parts = []
    for kind, (legend, colour, line) in STYLES.items():
        if kind in names:
            parts.append(f"{draw.table('ladder', kind)} using 1:2:3:4 with vectors head filled "
                         f"size screen 0.009,14 {line} lc rgb '{colour}' title '{legend}'")
    for name, where, colour in (("labels", "center offset 0,0.5", "#202020"),
                                ("notes-left", "left", "#202020"),
                                ("notes-right", "right", "#202020"),
                                ("faults-left", "left", draw.RED),
                                ("faults-right", "right", draw.RED),
                                ("times-left", "right", "#606060"),
                                ("times-right", "left", "#606060")):
        if name in names:
            parts.append(text_part(name, where, colour))
    return text + draw.plot(parts)
