# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reads the files that are plotted: traces of --trace, captures (through ddp-dump --json), saved
output of ddp-dump --json, results of --json, and decisions of ddp-impair --json. Every event is
checked when it is read, so the pictures use its keys without further checks."""

import json
import mmap
import os
import re
import shutil
import subprocess
import sys
import tempfile

from . import frames

CAPTURE_MAGICS = frames.MAGICS
STEP_MAX_NS = 1_000_000_000  # a trace of several threads may be out of order by less than this
CLOCK_STEP_NS = 100_000_000  # the time of day was set, if it moves by more than this
EVENTS_MAX = 2_000_000  # of a file; they take some 700 bytes each


class Invalid(Exception):
    """A file that cannot be plotted. str() is the message for the user."""


class Empty(Invalid):
    """A file without events."""


class CannotHere(Exception):
    """A program that is missing. str() is the message for the user."""


class Source:
    """One file. kind: trace, capture, results or decisions. events: dicts with the keys of
    iwarp-json(5), and `at`, the time in ns since 1970 (results: None), and `line`. frames: the
    packets of a capture."""

    def __init__(self, path, kind, events, packets=()):
        self.path = path
        self.kind = kind
        self.events = events
        self.frames = packets

    def name(self):
        return clean(os.path.basename(self.path))


def clean(text):
    """Text that is safe in titles and labels: one line of printable characters."""
    shown = text.encode("utf-8", "replace").decode("utf-8")
    return "".join(c if c.isprintable() else "?" for c in shown)


def shortened(line):
    return f'"{clean(line[:40])}"' + ("..." if len(line) > 40 else "")


# --- the keys of each event ----------------------------------------------------------------------

def is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53


def is_hex(value):
    return isinstance(value, str) and re.fullmatch(r"(0x)?[0-9a-f]{1,16}", value) is not None


def is_time(value):
    return isinstance(value, str) and re.fullmatch(r"[0-9]{1,19}", value) is not None


TYPES = {
    "count": (is_count, "a number"),
    "hex": (is_hex, "hex digits"),
    "text": (lambda v: isinstance(v, str), "a text"),
    "flag": (lambda v: isinstance(v, bool), "true or false"),
}
SEGMENT = {"opcode": "text", "octets": "count", "stag": "hex", "to": "hex", "msn": "count",
           "mo": "count", "qn": "count", "tagged": "flag", "last": "flag"}
PLACED = {key: SEGMENT[key] for key in SEGMENT if key not in ("opcode", "last")}
CHUNK = {"assoc": "hex", "tsn": "count", "octets": "count"}
TRACE_KEYS = {
    "connected": {"initiator": "flag", "local": "text", "peer": "text"},
    "established": {"initiator": "flag", "peer": "text", "crc": "flag"},
    "state": {"from": "text", "to": "text"},
    "posted": {"op": "text", "wr_id": "hex", "octets": "count"},
    "completion": {"op": "text", "wr_id": "hex", "octets": "count", "status": "text"},
    "terminate": {"from_peer": "flag", "error": "text"},
    "fpdu_sent": {"octets": "count"},
    "fpdu_received": {"octets": "count"},
    "segment_sent": SEGMENT,
    "segment_received": SEGMENT,
    "placed": PLACED,
    "delivered": {"opcode": "text", "octets": "count", "stag": "hex", "to": "hex",
                  "tagged": "flag"},
    "chunk_sent": {**CHUNK, "sctp_stream": "count"},
    "chunk_retransmitted": CHUNK,
    "acked": {"assoc": "hex", "tsn": "count", "gaps": "count", "rwnd_octets": "count"},
    "lost": {**CHUNK, "reason": "text"},
    "window": {"assoc": "hex", "cwnd_octets": "count", "ssthresh_octets": "count",
               "flight_octets": "count"},
    "rtt": {"assoc": "hex", "rtt_ns": "count", "srtt_ns": "count", "rto_ns": "count"},
    "path": {"assoc": "hex", "address": "text", "state": "text", "mtu_octets": "count"},
    "timer": {"assoc": "hex", "name": "text"},
}
CAPTURED = {"flow": "count", "frame": "count", "from": "text", "src": "text", "dst": "text",
            "over": "text"}
CAPTURE_KEYS = {
    "mpa": {**CAPTURED, "kind": "text", "rev": "count", "m": "flag", "c": "flag", "r": "flag"},
    "session": {**CAPTURED, "function": "text", "stream": "count"},
    "ddp": {**CAPTURED, "crc": "text"},
    "tcp": {**CAPTURED, "kind": "text"},
    "sctp": {**CAPTURED, "kind": "text"},
}
RESULT_KEYS = {
    "interval": {"start_ns": "count", "end_ns": "count", "octets": "count",
                 "bits_per_second": "count"},
    "reply": {"rtt_ns": "count"},
}
DECISION_KEYS = {"decision": {"from": "text", "rule": "count", "action": "text"}}
SUMMARIES = ("result", "error")  # lines of ddp-dump that are about the whole capture
RELAY = ("listening", "direction")  # lines of ddp-impair that are not about a unit
KEYS = {"trace": TRACE_KEYS, "capture": CAPTURE_KEYS, "results": RESULT_KEYS,
        "decisions": DECISION_KEYS}


# Keys that not every event has.
OPTIONAL = {
    "count": ("stream", "path", "payload_octets", "qn", "msn", "mo", "tsn", "seq", "octets", "ird",
              "ord", "private_data_octets", "streams_out", "streams_in_max", "retransmits"),
    "hex": ("stag", "to", "assoc"),
    "text": ("op", "why"),
    "flag": ("t", "l", "peer_to_peer", "rtr_send", "rtr_write", "rtr_read"),
}
OPTIONAL_KEYS = {key: type_name for type_name, keys in OPTIONAL.items() for key in keys}
DECODED = {"t": "flag", "l": "flag", "payload_octets": "count"}  # of a segment with a header
PLACE = {"stag": "hex", "to": "hex"}  # of a tagged segment


def keys_of(kind, event):
    """Returns the keys that the event must have, and the known ones of those that it has."""
    must = dict(KEYS[kind].get(event["event"], {}))
    if kind == "results":
        return must
    if kind == "capture" and event["event"] == "ddp" and "op" in event:
        must.update(DECODED, **(PLACE if event.get("t") is True else {}))
    if kind == "capture" and "streams_out" in event:
        must.update(streams_in_max="count", tsn="count")
    if kind == "trace" and event["event"] != "played":
        must["stream"] = "count"
    return {**{key: OPTIONAL_KEYS[key] for key in event if key in OPTIONAL_KEYS}, **must}


def check_keys(place, kind, event):
    for key, type_name in keys_of(kind, event).items():
        fits, expected = TYPES[type_name]
        if key not in event or not fits(event[key]):
            seen = f"no {key}" if key not in event else f"{key} {clean(json.dumps(event[key]))}"
            raise Invalid(f"{place}: {clean(event['event'])}: {seen}: expected {expected}")


# --- lines of JSON -------------------------------------------------------------------------------

def kind_of(event):
    if "t_ns" in event:
        return "trace"
    if event["event"] == "decision":
        return "decisions"
    return "capture" if "frame" in event or "kernel_dropped" in event else "results"


def shared(pairs):
    """A dict that shares keys and short texts with all others, without `schema`: a trace may have a
    million lines."""
    return {sys.intern(key): sys.intern(value) if isinstance(value, str) and key != "time_ns"
            else value for key, value in pairs if key != "schema"}


def parse_line(place, line):
    if not line.startswith("{"):
        raise Invalid(f"{place}: {shortened(line)}: expected a JSON object: a trace (--trace), "
                      "lines of --json; or a capture (pcap, pcapng)")
    try:
        event = json.loads(line, object_pairs_hook=shared)
    except (ValueError, RecursionError):
        raise Invalid(f"{place}: {shortened(line)}: expected a whole JSON object; "
                      "was the line cut?") from None
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        raise Invalid(f"{place}: {shortened(line)}: expected an object with the key event")
    return event


def time_of(place, event, kind):
    """ns since 1970; None for results."""
    if kind == "results":
        return None
    if not is_time(event.get("time_ns")):
        raise Invalid(f"{place}: no time_ns: expected the time of the event, in decimal digits")
    if kind == "trace" and not is_count(event["t_ns"]):
        raise Invalid(f"{place}: t_ns {clean(str(event['t_ns']))}: expected a number")
    return int(event["time_ns"])


def read_lines(path, lines):
    """Returns the kind of the file and its events. The whole of a large file is never in memory."""
    kind, events = None, []
    for number, line in enumerate(lines, 1):
        line = line.rstrip("\n")
        if not line.strip():
            continue
        place = f"{path}:{number}"
        event = parse_line(place, line)
        if event["event"] in RELAY or kind == "decisions" and event["event"] in SUMMARIES:
            continue
        this = kind_of(event)
        if kind is None:
            kind = this
        elif kind != this:
            raise Invalid(f"{place}: a line of {this}: expected {kind}, as in line 1; "
                          "give each file by itself")
        if kind != "results" and event["event"] in SUMMARIES and "time_ns" not in event:
            continue
        if len(events) == EVENTS_MAX:
            raise Invalid(f"{place}: more than {EVENTS_MAX:,} events: expected fewer; plot a part "
                          "of the file, such as its first million lines: head -n 1000000")
        check_keys(place, kind, event)
        event["at"], event["line"] = time_of(place, event, kind), number
        event.pop("time_ns", None)
        events.append(event)
    if not events:
        raise Empty(f"{path}: empty: expected a trace (--trace), a capture, or lines of --json")
    return kind, events


def one_clock(path, events):
    """Gives the events of a trace times that follow its monotonic clock: the time of day may be
    set while a trace is written."""
    first = events[0]
    for before, event in zip(events, events[1:]):
        if before["event"] == "trace_end":
            raise Invalid(f"{path}:{event['line']}: {clean(event['event'])}: expected nothing "
                          "after trace_end; give each trace in a file of its own")
        back = before["t_ns"] - event["t_ns"]
        if back > STEP_MAX_NS:
            raise Invalid(f"{path}:{event['line']}: t_ns {event['t_ns']}: expected at least "
                          f"{before['t_ns']}, the time of the line before; mixed clocks: "
                          "are these two traces in one file?")
    base, start = first["at"], first["t_ns"]
    for event in events:
        at = base + event["t_ns"] - start
        if abs(at - event["at"]) > CLOCK_STEP_NS:
            raise Invalid(f"{path}:{event['line']}: time_ns {event['at']}: expected {at} by "
                          "t_ns; mixed clocks: the time of day was set during the trace")
        event["at"] = at
    events.sort(key=lambda event: event["at"])


# --- files ---------------------------------------------------------------------------------------

def read(path):
    """Reads one file. Raises Invalid, or CannotHere."""
    try:
        with open(path, "rb") as file:
            if file.peek(4)[:4] in CAPTURE_MAGICS:
                return read_capture(path, file)
            kind, events = read_lines(path, texts(path, file))
    except OSError as error:
        raise Invalid(f"{path}: {error.strerror}: expected a file") from None
    if kind == "trace":
        one_clock(path, events)
    return Source(path, kind, events)


def texts(path, file):
    for line in file:
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError:
            raise Invalid(f"{path}: not a text: expected a trace (--trace), a capture (pcap, "
                          "pcapng), or lines of --json") from None


def dump_program():
    top = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "..")
    for folder in (os.environ.get("IW_BUILD"), os.path.join(top, "build")):
        if folder and os.access(os.path.join(folder, "ddp-dump"), os.X_OK):
            return os.path.join(folder, "ddp-dump")
    found = shutil.which("ddp-dump")
    if not found:
        raise CannotHere("ddp-dump: not found: expected it in $IW_BUILD, build/ or PATH, to decode "
                         "captures; run make")
    return found


def read_capture(path, file):
    with tempfile.TemporaryFile() as said, subprocess.Popen(
            [dump_program(), "-q", "--json", "-r", path], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=said, text=True, errors="replace") as run:
        try:
            kind, events = read_lines(f"ddp-dump -r {path}", without_errors(path, run.stdout))
        except Empty:
            raise Invalid(f"{path}: {last_line(run, said)}: expected a capture with iWARP") \
                from None
    if kind != "capture" or not any(event["event"] in CAPTURE_KEYS for event in events):
        raise Invalid(f"{path}: no iWARP in this capture: expected a connection with its set-up")
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return Source(path, kind, events, frames.read(data))


def without_errors(path, lines):
    """The lines of ddp-dump. Where the capture cannot be read further, the picture ends."""
    for line in lines:
        if '"event":"error"' in line and '"frame":' not in line:
            text = parse_line(f"ddp-dump -r {path}", line).get("text", "")
            print(f"plot: warning: {clean(str(text))}; shown up to there", file=sys.stderr)
        else:
            yield line


def last_line(run, said):
    run.wait()
    said.seek(0)
    text = said.read().decode("utf-8", "replace").strip().split("\n")[-1]
    return clean(text) or f"exit status {run.returncode}"
