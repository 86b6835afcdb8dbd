# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Selects one connection in each file, and gives the events of all files one clock: seconds since
the first event of the connection."""

from .inputs import Invalid, clean

ROLES = ("initiator", "responder")
SIDE_EVENTS = ("connected", "request")  # of a connection that has no number yet
LINE_MAX = 120
CONTROL_OCTETS = 2048  # of the messages that set a session up and end it


def other(role):
    return ROLES[1] if role == ROLES[0] else ROLES[0]


class Segment:
    """A DDP segment, sent or received. role: of the end that sends it. at: seconds."""

    def __init__(self, at, role, event):
        traced = "opcode" in event and isinstance(event["opcode"], str)
        self.at = at
        self.role = role
        self.opcode = event["opcode"] if traced else event["op"]
        self.octets = event["octets" if traced else "payload_octets"]
        self.tagged = event["tagged" if traced else "t"]
        self.stag = int(event["stag"], 16) if self.tagged else 0
        self.to = int(event["to"], 16) if self.tagged else 0
        self.qn, self.msn, self.mo = (event.get(key, 0) for key in ("qn", "msn", "mo"))
        self.last = event["last" if traced else "l"]
        self.crc = event.get("crc")
        self.tsn = event.get("tsn")
        self.event = event


class Part:
    """What one file has of the connection. role: of the end that wrote the trace, or None."""

    def __init__(self, source, number, count, events):
        self.source, self.number, self.count, self.events = source, number, count, events
        self.role, self.ends = None, {}
        if source.kind == "trace":
            self.find_trace_ends()
        elif source.kind == "capture":
            self.find_capture_ends()

    def find_trace_ends(self):
        found = [e for e in self.events if e["event"] in ("connected", "established")]
        self.role = ROLES[0] if not found or found[0]["initiator"] else ROLES[1]
        for event in found:
            self.ends[other(self.role)] = clean(event["peer"])
            if "local" in event:
                self.ends[self.role] = clean(event["local"])

    def find_capture_ends(self):
        for event in self.events:
            if event["from"] in ROLES:
                self.ends[event["from"]] = clean(event["src"])
                self.ends[other(event["from"])] = clean(event["dst"])
                return

    def named(self, *names):
        return [event for event in self.events if event["event"] in names]

    def span(self):
        return self.events[0]["at"], self.events[-1]["at"]


# --- the connections of a file -------------------------------------------------------------------

def key_of(source):
    return "stream" if source.kind == "trace" else "flow"


def weights(source):
    """Returns the connections of a file and the octets that each moved."""
    octets = {}
    for event in source.events:
        if event["event"] == "result" or event["event"] not in LIKELY[source.kind]:
            continue
        number = event.get(key_of(source), 0)
        if source.kind == "capture" or number:
            size = event.get("payload_octets", event.get("octets", 0))
            octets[number] = octets.get(number, 0) + size
    return octets


LIKELY = {
    "trace": ("segment_sent", "segment_received", "placed", "established", "posted", "fpdu_sent"),
    "capture": ("ddp", "mpa", "session", "sctp"),
}


def events_of(source, number):
    key = key_of(source)
    own = [e for e in source.events if e.get(key) == number and e["event"] != "result"]
    if source.kind != "trace" or not own:
        return own
    first = own[0]["at"]
    shared = [e for e in source.events if e.get("stream") == 0]
    early = {e["event"]: e for e in shared if e["event"] in SIDE_EVENTS and e["at"] <= first}
    if any(e["event"] == "connected" for e in own):
        early = {}
    assoc = association(shared, own)
    mine = [e for e in shared if "assoc" in e and e["assoc"] == assoc]
    return sorted([*early.values(), *mine, *own], key=lambda event: event["at"])


def association(shared, own):
    """The association that carries a stream, which the trace does not name: the one whose DATA has
    the octets of the stream's segments; if several have, the one that sent a chunk of the right
    length right after most segments."""
    carried = {}
    for event in shared:
        if "assoc" in event:
            carried.setdefault(event["assoc"], {})
        if event["event"] == "chunk_sent":
            by_stream, sid = carried[event["assoc"]], event["sctp_stream"]
            by_stream[sid] = by_stream.get(sid, 0) + event["octets"]
    if len(carried) < 2:
        return next(iter(carried), None)
    sent = [e for e in own if e["event"] == "segment_sent"]
    octets = sum(chunk_octets(e) for e in sent)
    distance = {assoc: min((abs(sum_ - octets) for sum_ in sums.values()), default=octets)
                for assoc, sums in carried.items()}
    near = [a for a in distance if distance[a] <= min(distance.values()) + CONTROL_OCTETS]
    return near[0] if len(near) == 1 else sent_after(shared, sent, near)


def chunk_octets(segment):
    """The user data of the DATA chunk with this segment: a header of DDP and a DDP-SSN more."""
    return segment["octets"] + (16 if segment["tagged"] else 20)


def sent_after(shared, sent, candidates):
    chunks = [e for e in shared if e["event"] == "chunk_sent"]
    votes, at = dict.fromkeys(candidates, 0), 0
    for segment in sent:
        while at < len(chunks) and chunks[at]["at"] < segment["at"]:
            at += 1
        near = next((c for c in chunks[at:at + 8] if c["octets"] == chunk_octets(segment)), None)
        if near and near["assoc"] in votes:
            votes[near["assoc"]] += 1
    return max(votes, key=votes.get)


def part_of(source, number, span=None):
    """Returns the Part for connection number (None: the one with most octets; with span: the one
    that most overlaps that time)."""
    octets = weights(source)
    if not octets:
        raise Invalid(f"{source.path}: no connection: expected one with DDP segments")
    if number is None:
        number = closest(source, octets, span) if span else max(octets, key=octets.get)
    if number not in octets:
        known = ", ".join(str(n) for n in sorted(octets)[:20])
        raise Invalid(f"{source.path}: --connection {number}: expected one of {known}")
    return Part(source, number, len(octets), events_of(source, number))


def closest(source, octets, span):
    def shared(number):
        begin, end = Part(source, number, 0, events_of(source, number)).span()
        return min(end, span[1]) - max(begin, span[0])
    return max(octets, key=shared)


# --- all files -----------------------------------------------------------------------------------

class View:
    """The connection in all files. limits: the seconds that are shown, or None for either."""

    def __init__(self, sources, number=None, limits=(None, None)):
        self.sources = sources
        timed = [source for source in sources if source.kind in ("trace", "capture")]
        self.decided = [e for source in sources if source.kind == "decisions"
                        for e in source.events]
        self.results = [source for source in sources if source.kind == "results"]
        self.parts = []
        for source in timed:
            span = self.parts[0].span() if self.parts else None
            self.parts.append(part_of(source, None if span else number, span))
        self.check_clocks()
        self.zero = min((part.events[0]["at"] for part in self.parts), default=0)
        self.limits = limits
        self.ends = self.find_ends()

    def check_clocks(self):
        for part in self.parts[1:]:
            first, this = self.parts[0], part
            begin, end = first.span()
            if this.span()[0] > end or this.span()[1] < begin:
                apart = (this.span()[0] - begin) / 1e9
                raise Invalid(f"{this.source.path}: begins {apart:.3f} s from the begin of "
                              f"{first.source.path} and never overlaps it: expected files of one "
                              "transfer, by one clock (mixed clocks)")

    def find_ends(self):
        ends = {}
        for part in sorted(self.parts, key=lambda part: part.source.kind):
            for role, name in part.ends.items():
                if role not in ends or ends[role].startswith(("0.0.0.0:", "[::]:")):
                    ends[role] = name.split("/")[0]
        return {role: name.replace("0.0.0.0:", "port ").replace("[::]:", "port ")
                for role, name in ends.items()}

    def seconds(self, event):
        return (event["at"] - self.zero) / 1e9

    def shown(self, at):
        low, high = self.limits
        return (low is None or at >= low) and (high is None or at <= high)

    def events(self, *names, kind="trace"):
        """Returns (seconds, event, part) of the events with these names, in the order of time."""
        found = [(self.seconds(event), event, part) for part in self.parts
                 if part.source.kind == kind for event in part.named(*names)]
        return sorted((f for f in found if self.shown(f[0])), key=lambda f: f[0])

    def decisions(self):
        """Returns (seconds, event) of what ddp-impair decided while the connection lasted."""
        end = max((part.span()[1] for part in self.parts), default=0)
        return [(self.seconds(event), event) for event in self.decided
                if self.zero <= event["at"] <= end and self.shown(self.seconds(event))]

    def segments(self, name):
        """name: segment_sent or segment_received, of traces, or ddp, of captures."""
        if name == "ddp":
            return [Segment(at, event["from"], event)
                    for at, event, _ in self.events("ddp", kind="capture") if "op" in event]
        sent = name == "segment_sent"
        return [Segment(at, part.role if sent else other(part.role), event)
                for at, event, part in self.events(name)]

    # --- what titles say ---------------------------------------------------------------------

    def transport(self):
        for part in self.parts:
            for event in part.events:
                if "over" in event:
                    return {"tcp": "TCP", "sctp": "SCTP on IP", "udp": "SCTP in UDP"}.get(
                        event["over"], "SCTP")
                if event["event"] in ("chunk_sent", "acked"):
                    return "SCTP"
                if event["event"].startswith("fpdu_"):
                    return "TCP"
        # A trace of the labs has no connection.
        return "SCTP (kernel)" if any(part.ends for part in self.parts) else ""

    def facts(self, *more):
        """Lines: the files, the ends, the transport and the totals of the picture."""
        ends = ""
        if len(self.ends) == 2:
            ends = f"{self.ends['initiator']} (initiator), {self.ends['responder']} (responder)"
        first = self.parts[0] if self.parts else None
        which = ""
        if first and first.count > 1:
            which = f"connection {first.number}, one of {first.count}"
        return [*wrapped(name.name() for name in self.sources), *wrapped(
            f for f in (ends, self.transport(), which, *more) if f)]

    def paths(self):
        return ", ".join(source.path for source in self.sources)


def wrapped(facts):
    """Joins facts to lines that fit under the title."""
    lines = []
    for fact in facts:
        if lines and len(lines[-1]) + len(fact) < LINE_MAX:
            lines[-1] += f" \u00b7 {fact}"
        else:
            lines.append(fact)
    return lines


def size_text(octets):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if octets < 1024 or unit == "GiB":
            return f"{octets} B" if unit == "B" else f"{octets:.1f} {unit}"
        octets /= 1024
    return ""


def time_text(seconds):
    for scale, unit in ((1, "s"), (1e3, "ms")):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"
