# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The messages of a connection in the order of time, as the rows of a ladder: from captures, or
from the traces of one or both ends. Runs of messages of one kind become one row."""

from .view import ROLES, other, size_text, time_text

SETUP, SEND, WRITE, READ, ACK, AGAIN, BAD, NOTE = (
    "setup", "send", "write", "read", "ack", "again", "bad", "note")


class Row:
    """One message, or a run of messages with the same `run`. role: of the end that sends it; a
    note: the end where it happened. at: seconds, by the clock of the end `seen`. arrived:
    seconds at the receiver, or None."""

    def __init__(self, at, role, kind, text, run=None, octets=0, detail="", arrived=None):
        self.at, self.role, self.kind, self.text, self.run = at, role, kind, text, run
        self.octets, self.detail, self.arrived = octets, detail, arrived
        self.count, self.end, self.seen = 1, at, role

    def join(self, row):
        self.count += row.count
        self.octets += row.octets
        self.end, self.last = row.at, row

    def label(self):
        if self.count == 1:
            return self.text + self.detail
        spread = f", in {time_text(self.end - self.at)}" if self.end > self.at else ""
        if self.kind in (ACK, AGAIN):
            return f"{self.run} \u00d7 {self.count}{self.last.detail}{spread}"
        return f"{self.text} \u00d7 {self.count}{self.run_detail()}{spread}"

    def run_detail(self):
        place = self.detail.split(", length")[0]
        crc = self.detail[self.detail.index(", CRC"):] if ", CRC" in self.detail else ""
        return f"{place}, {size_text(self.octets)}{crc}"


def collapse(rows):
    """Joins runs. SACKs that flow at the same time do not end a run of segments, nor do segments
    end a run of SACKs."""
    result, opened = [], {}
    for row in rows:
        key = (row.role, row.run)
        if row.run is not None and key in opened:
            opened[key].join(row)
            continue
        if row.kind in (SEND, WRITE, READ):
            opened = {k: v for k, v in opened.items() if v.kind == ACK}
        elif row.kind != ACK:
            opened = {}
        if row.run is not None:
            opened[key] = row
        result.append(row)
    return result


# --- segments ------------------------------------------------------------------------------------

def kind_of(opcode):
    if opcode == "Terminate":
        return BAD
    if "Read" in opcode or "Atomic" in opcode:
        return READ
    return WRITE if "Write" in opcode else SEND


def segment_row(segment, arrived=None):
    if segment.tagged:
        place = f" STag {segment.stag:08x} TO 0x{segment.to:x}"
        run = f"{segment.opcode} {segment.stag:08x}"
    else:
        place = f" MSN {segment.msn}"
        place += f" MO {segment.mo}" if segment.mo or not segment.last else ""
        run = f"{segment.opcode} {segment.qn} {segment.octets} {message_of(segment.event)}"
    detail = place + f", length {segment.octets}" + (", last" if segment.last else "")
    kind = kind_of(segment.opcode)
    detail += copied(segment.event)
    if segment.crc:
        detail += f", CRC {segment.crc}"
        if segment.crc == "bad":
            kind, run = BAD, None
    return Row(segment.at, segment.role, kind, segment.opcode, None if kind == BAD else run,
               segment.octets, detail, arrived)


def message_of(event):
    transfer = event.get("transfer")
    return str(transfer.get("message", "")) if isinstance(transfer, dict) else ""


def copied(event):
    """What a Read Request asks for, what a Terminate reports, the name of a transfer's message."""
    read, ended = event.get("read_request"), event.get("terminate")
    if message_of(event):
        return f": ddp-transfer {message_of(event)}"
    if isinstance(read, dict):
        return f", reads {read.get('size_octets')} octets of STag {str(read.get('src_stag'))[-8:]}"
    if isinstance(ended, dict):
        return f": {ended.get('text')}"
    return ""


# --- captures ------------------------------------------------------------------------------------

def enhanced(event):
    if "ird" not in event:
        return ""
    rtr = [name for name in ("send", "write", "read") if event.get(f"rtr_{name}")]
    modes = ", peer-to-peer" if event.get("peer_to_peer") else ""
    modes += f", RTR {' '.join(rtr)}" if rtr else ""
    return f", IRD {event['ird']} ORD {event.get('ord', 0)}{modes}"


def private(event):
    octets = event.get("private_data_octets", 0)
    return f", Private Data {octets}" if octets else ""


def mpa_row(at, event):
    flags = ["CRC" if event["c"] else "no CRC"] + (["markers"] if event["m"] else [])
    name = "MPA Request" if event["kind"] == "request" else "MPA Reply"
    text = f"{name} Rev {event['rev']}, {', '.join(flags)}"
    refused = event["r"] and event["kind"] == "reply"
    return Row(at, event["from"], BAD if refused else SETUP,
               text + (", rejected" if refused else "") + enhanced(event) + private(event))


def session_row(at, event):
    return Row(at, event["from"], SETUP, f"DDP Stream Session {event['function']}, stream "
               f"{event['stream']}" + enhanced(event) + private(event))


def transport_row(at, event):
    """INIT, FIN, retransmissions and losses. Returns None for what is not shown."""
    kind, tcp = event["kind"], event["event"] == "tcp"
    if kind == "retransmission":
        what = f" sequence {event.get('seq', 0)}, {event.get('octets', 0)} octets" if tcp else \
            f" TSN {event.get('tsn', 0)}"
        name = "TCP retransmission" if tcp else "DATA retransmission"
        return Row(at, event["from"], AGAIN, name, name, event.get("octets", 0), what)
    if kind in ("reset", "abort"):
        return Row(at, event["from"], BAD, "TCP RST" if tcp else "SCTP ABORT")
    if kind in ("loss", "overlap", "forgotten"):
        return Row(at, event["from"], NOTE, f"not in the capture: {kind}")
    names = {"fin": "TCP FIN", "init": "SCTP INIT", "init-ack": "SCTP INIT ACK",
             "cookie-echo": "SCTP COOKIE ECHO", "cookie-ack": "SCTP COOKIE ACK",
             "shutdown": "SCTP SHUTDOWN", "shutdown-ack": "SCTP SHUTDOWN ACK",
             "shutdown-complete": "SCTP SHUTDOWN COMPLETE"}
    if kind not in names:
        return None
    more = f", streams {event['streams_out']} out, at most {event['streams_in_max']} in, TSN " \
        f"{event['tsn']}" if "streams_out" in event else ""
    return Row(at, event["from"], SETUP, names[kind] + more)


def sack_rows(view):
    roles = {name: role for role, name in view.ends.items()}
    for part in view.parts:
        ends = {role: name.split("/")[0] for role, name in part.ends.items()}
        roles.update({name: role for role, name in ends.items()})
        for frame in part.source.frames:
            if frame.sack and frame.src in roles and frame.dst in roles:
                at = (frame.at - view.zero) / 1e9
                if view.shown(at):
                    yield sack_row(at, roles[frame.src], *frame.sack)


def sack_row(at, role, tsn, gaps):
    run = "SACK with gaps" if gaps else "SACK"
    more = f", {gaps} gap{'s' if gaps > 1 else ''}" if gaps else ""
    return Row(at, role, ACK, "SACK", run, 0, f" up to TSN {tsn}{more}")


def captured(view):
    rows = [segment_row(segment) for segment in view.segments("ddp")]
    makers = {"mpa": mpa_row, "session": session_row, "tcp": transport_row, "sctp": transport_row}
    for name, maker in makers.items():
        rows += [maker(at, event) for at, event, _ in view.events(name, kind="capture")]
    rows = [row for row in rows if row and row.role in ROLES] + list(sack_rows(view))
    return [seen_by(ROLES[0], row) for row in rows] + notes(view)


# --- traces --------------------------------------------------------------------------------------

def identity(segment):
    return (segment.role, segment.opcode, segment.stag, segment.to, segment.qn, segment.msn,
            segment.mo)


def seen_by(role, row):
    row.seen = role
    return row


def traced(view):
    """Segments that both ends traced get the time of arrival too."""
    received = {}
    for segment in view.segments("segment_received"):
        received.setdefault(identity(segment), []).append(segment)
    rows = []
    for segment in view.segments("segment_sent"):
        arrivals = received.get(identity(segment))
        rows.append(segment_row(segment, arrivals.pop(0).at if arrivals else None))
    for segments in received.values():
        rows += [seen_by(other(segment.role), segment_row(segment)) for segment in segments]
    for at, event, part in view.events("chunk_retransmitted"):
        rows.append(Row(at, part.role, AGAIN, "DATA retransmission", "DATA retransmission",
                        event["octets"], f" TSN {event['tsn']}"))
    for at, event, part in view.events("acked"):
        rows.append(seen_by(part.role, sack_row(at, other(part.role), event["tsn"], event["gaps"])))
    return rows + setup_rows(view) + notes(view)


def setup_rows(view):
    rows = [Row(at, part.role, NOTE, f"Terminate: {event['error']}") for at, event, part
            in view.events("terminate") if not event["from_peer"]]
    for at, event, part in view.events("connected", "established"):
        text = "connected" if event["event"] == "connected" else \
            f"established, CRC {'on' if event['crc'] else 'off'}"
        more = "".join(f", {key.upper()} {event[key]}" for key in ("ird", "ord") if key in event)
        rows.append(Row(at, part.role, NOTE, text + more))
    return rows


def notes(view):
    rows = []
    for at, event, part in view.events("lost", "timer"):
        text = f"lost: TSN {event['tsn']} ({event['reason']})" if event["event"] == "lost" else \
            f"timer {event['name']}"
        rows.append(Row(at, part.role, NOTE, text))
    return rows + [Row(at, event["from"], NOTE, f"rule {event['rule']}: {event['action']}")
                   for at, event in view.decisions() if event["from"] in ROLES]


def captures(view):
    return any(part.source.kind == "capture" for part in view.parts)


def rows_of(view):
    """Returns all rows in the order of time, runs joined."""
    rows = captured(view) if captures(view) else traced(view)
    return collapse(sorted(rows, key=lambda row: row.at))
