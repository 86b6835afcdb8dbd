# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""placement: octets of a buffer against the time when they were placed."""

from . import draw
from .inputs import Invalid
from .view import chunk_octets, size_text, time_text

HELP = "octets of a buffer against time as they were placed, out of order included"
BUFFERS_MAX = 8
POINTS_MAX = 400  # more would make a large file
COLUMNS = 1200  # segments that are placed within this fraction of the time may share a bar
CLASSES = (  # table, legend, colour
    ("in-order", "in order", draw.SKY),
    ("ahead", "beyond a hole", draw.ORANGE),
    ("fills", "fills a hole", draw.BLUE),
    ("retransmitted", "retransmitted", draw.RED),
    ("again", "placed again", draw.PINK),
)


class Ranges:
    """The octets that have been placed, as disjoint ranges in order."""

    def __init__(self):
        self.held = []

    def add(self, low, high):
        """Returns how many octets were held before."""
        before = self.overlap(low, high)
        touching = [(b, e) for b, e in self.held if b <= high and e >= low]
        rest = [(b, e) for b, e in self.held if b > high or e < low]
        merged = (min([low] + [b for b, _ in touching]), max([high] + [e for _, e in touching]))
        self.held = sorted([*rest, merged])
        return before

    def overlap(self, low, high):
        return sum(max(0, min(high, end) - max(low, begin)) for begin, end in self.held)

    def remove(self, low, high):
        kept = []
        for begin, end in self.held:
            kept += [(b, e) for b, e in ((begin, min(end, low)), (max(begin, high), end)) if b < e]
        self.held = kept


def tagged_events(view):
    """Returns (seconds, stag, to, octets, tsn, what) of what was placed or delivered."""
    events = []
    for at, event, _ in view.events("placed", "delivered"):
        if event["tagged"]:
            events.append((at, int(event["stag"], 16), int(event["to"], 16), event["octets"], None,
                           event["event"]))
    if not events:
        events = [(s.at, s.stag, s.to, s.octets, s.tsn, "placed") for s in view.segments("ddp")
                  if s.tagged]
    return [event for event in events if event[3]]


def untagged_events(view):
    """The same of the buffers of untagged messages, each named by QN and MSN in place of an STag."""
    return [(at, (event.get("qn", 0), event.get("msn", 0)), event.get("mo", 0), event["octets"], None,
             event["event"])
            for at, event, _ in view.events("placed", "delivered")
            if not event["tagged"] and event["octets"]]


def sent_again(view):
    """The segments that were sent more than once: (stag, to) by the sender's trace, and TSNs by a
    capture."""
    tsns = {e["tsn"] for _, e, _ in view.events("sctp", kind="capture")
            if e["kind"] == "retransmission" and "tsn" in e}
    places = {(s.stag, s.to) for s in view.segments("ddp") if s.tagged and s.tsn in tsns and tsns}
    return places | traced_again(view)


def traced_again(view):
    """A trace has segments and chunks in the same order: the next chunk that is longer than the
    segment by the header of DDP carries it."""
    again = {(id(part), e["tsn"]) for _, e, part in view.events("chunk_retransmitted")}
    segments = [(e, part) for _, e, part in view.events("segment_sent")]
    chunks = {}
    for _, event, part in view.events("chunk_sent"):
        chunks.setdefault(id(part), []).append(event)
    places, at = set(), {}
    for event, part in segments:
        queue, i = chunks.get(id(part), []), at.get(id(part), 0)
        while i < len(queue) and queue[i]["octets"] != chunk_octets(event):
            i += 1
        if i < len(queue) and event["tagged"] and (id(part), queue[i]["tsn"]) in again:
            places.add((int(event["stag"], 16), int(event["to"], 16)))
        at[id(part)] = i + 1
    return places


class Classifier:
    """Classifies the segments of a buffer. A hole is a range that later segments skipped. A segment
    below the highest octet and outside all holes begins to fill the buffer again."""

    def __init__(self, again):
        self.again = again
        self.held, self.holes, self.highest = Ranges(), Ranges(), 0

    def delivered(self, low, high):
        self.held.remove(low, high)

    def placed(self, key, low, high):
        before = self.held.add(low, high)
        name = "again" if before else self.new(low, high)
        self.holes.remove(low, high)
        return "retransmitted" if key in self.again and not before else name

    def new(self, low, high):
        fills = self.holes.overlap(low, high) > 0
        if fills:
            return "fills"
        if low > self.highest:
            self.holes.add(self.highest, low)
        self.highest = high
        return "ahead" if self.holes.overlap(0, low) else "in-order"


def classify(events, base, again):
    """Returns [(seconds, offset, octets, class)]."""
    state, found = Classifier(again), []
    for at, stag, to, octets, _, what in events:
        low, high = to - base, to - base + octets
        if what == "delivered":
            state.delivered(low, high)
        else:
            found.append((at, low, octets, state.placed((stag, to), low, high)))
    return found


# --- the buffers ---------------------------------------------------------------------------------

def buffers(events):
    """Returns the STags with most octets, at most BUFFERS_MAX, in the order of their first use, and
    the number of all."""
    octets = {}
    for event in events:
        if event[5] == "placed":
            octets[event[1]] = octets.get(event[1], 0) + event[3]
    largest = set(sorted(octets, key=octets.get, reverse=True)[:BUFFERS_MAX])
    return [stag for stag in octets if stag in largest], len(octets)


def merged(rows, width):
    """Joins segments of a class that follow each other within `width` seconds. A row before the last
    one in time is of the next buffer."""
    result = []
    for at, offset, octets, name in rows:
        if result:
            first, low, length, before = result[-1]
            if before == name and low + length == offset and 0 <= at - first < width:
                result[-1] = (first, low, length + octets, name)
                continue
        result.append((at, offset, octets, name))
    return result


def stacked(events, stags, again):
    """Returns the rows of all buffers, one above the other, and (STag, begin, end) of each."""
    rows, places, floor = [], [], 0
    for stag in stags:
        own = [event for event in events if event[1] == stag]
        base = min(event[2] for event in own)
        size = max(event[2] + event[3] for event in own) - base
        rows += [(at, floor + low, octets, name) for at, low, octets, name
                 in classify(own, base, again)]
        places.append((stag, floor, floor + size))
        floor += size
    return rows, places


def delivery_marks(events, places):
    """Returns (seconds, offset) of the deliveries, at the end of each buffer."""
    ends = {key: end for key, _, end in places}
    return [(event[0], ends[event[1]]) for event in events
            if event[5] == "delivered" and event[1] in ends]


def scale_of(octets):
    for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if octets >= 4 * size:
            return unit, size
    return "octets", 1


def bar(kind, name, legend, colour, unit, least, rows):
    """Draws offset and octets as a stroke, never lower than `least`; rare classes as dots."""
    if rows <= POINTS_MAX and name in ("fills", "retransmitted", "again"):
        return (f"{draw.table(kind, name)} using 1:(($2 + $3 / 2) / {unit}) with points "
                f"pt 7 ps 0.6 lc rgb '{colour}' title {draw.quote(legend)}")
    height = f"($3 > {least:.3f} ? $3 : {least:.3f})"
    return (f"{draw.table(kind, name)} using 1:($2 / {unit}):(0):({height} / {unit}) "
            f"with vectors nohead lw 3 lc rgb '{colour}' title {draw.quote(legend)}")


def make(view):
    """Returns the Picture. Raises Invalid if nothing was placed."""
    events = tagged_events(view) or untagged_events(view)
    stags, count = buffers(events)
    if not stags:
        raise Invalid(f"{view.paths()}: no event placed with an STag: placement needs the trace of "
                      "the end that receives RDMA Writes or Read Responses, or a capture")
    rows, places = stacked(events, stags, sent_again(view))
    first, last = min(row[0] for row in rows), max(row[0] for row in rows)
    total = places[-1][2]
    unit, size = scale_of(total)
    tables, parts = [], []
    for name, legend, colour in CLASSES:
        own = [row for row in rows if row[3] == name]
        if own:
            octets = sum(row[2] for row in own)
            few = [row[:3] for row in merged(own, (last - first) / COLUMNS)]
            tables.append((name, ("seconds", "offset", "octets"), few))
            parts.append(bar("placement", name, f"{legend} ({size_text(octets)})", colour, size,
                             total / 130, len(few)))
    marks = delivery_marks(events, places) if isinstance(stags[0], tuple) else []
    if marks:
        last = max(last, marks[-1][0])
        tables.append(("delivered", ("seconds", "offset"), marks))
        parts.append(f"{draw.table('placement', 'delivered')} using 1:($2 / {size}) with points "
                     f"pt 11 ps 1.2 lc rgb '{draw.BLACK}' title 'delivered ({len(marks)})'")
    script = draw.x_range(view, last) + f"set yrange [0:{1.02 * total / size:.6f}]\n"
    where = "offset in the buffer" if len(places) == 1 else "buffers, one above the other"
    script += "set xlabel 'seconds'\n" + f"set ylabel '{where}, {unit}'\n"
    script += separators(places, size)
    facts = view.facts(f"{size_text(sum(r[2] for r in rows))} in {len(rows)} segments, "
                       f"{time_text(last - first)}")
    picture = draw.Picture("placement", title_of(stags, count), facts, tables,
                           script + draw.plot(parts))
    picture.key_lines = draw.key_lines(len(parts))
    return picture


def buffer_name(key):
    return f"QN {key[0]} MSN {key[1]}" if isinstance(key, tuple) else f"STag {key:08x}"


def title_of(stags, count):
    if count == 1:
        return f"Placement into {buffer_name(stags[0])}"
    shown = f"the largest {len(stags)} of " if len(stags) < count else ""
    return f"Placement into {shown}{count} buffers"


def separators(places, size):
    if len(places) < 2:
        return ""
    text = ""
    for count, (stag, begin, end) in enumerate(places, 20):
        text += (f"set label {count} '{buffer_name(stag)}' at graph 0.995, first {begin / size:.6f} "
                 f"right offset 0,0.7 font '{draw.FONT},9' textcolor rgb '#505050'\n"
                 f"set arrow {count} from graph 0, first {end / size:.6f} to graph 1, first "
                 f"{end / size:.6f} nohead lc rgb '#a0a0a0' dt 2\n")
    return text
