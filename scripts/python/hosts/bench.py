# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Command lines of ddp-bench, and the results that it prints.

Every pair is measured twice: its latency with pingpong, then its throughput with write, read or
send. ddp-bench verifies the data after each measurement.
"""

import json
import math
import os
import shlex

import checked

LATENCY = "pingpong"
LEAST_LATENCY = 0.5  # seconds
WARMUP = 0.2  # seconds before each measurement
GRACE = 10  # seconds for connecting and verifying, on top of the time that is measured


class Settings:
    """What is measured, and how. tools: the folder of ddp-bench, or None for PATH."""

    def __init__(self, options):
        self.transport = options.transport
        self.mode = options.mode
        self.size = options.size
        self.seconds = options.seconds
        self.tools = options.tools
        self.timeout = options.timeout
        self.port = options.port
        self.extra = options.extra

    def words(self):
        """Returns the options that describe these settings to another process."""
        words = ["--transport", self.transport, "--mode", self.mode, "--size", self.size,
                 "--seconds", str(self.seconds), "--timeout", str(self.timeout),
                 "--port", str(self.port)]
        words += ["--tools", self.tools] if self.tools else []
        return words

    def octets(self):
        """Returns the size of a message."""
        unit = checked.UNITS.get(self.size[-1], 1)
        return int(self.size.rstrip("KMG")) * unit

    def tool(self):
        return os.path.join(self.tools, "ddp-bench") if self.tools else "ddp-bench"

    def measured(self, mode):
        """Returns the length of a measurement in seconds. A latency takes half of the time, but
        long enough for some round trips on busy machines."""
        return max(LEAST_LATENCY, self.seconds / 2) if mode == LATENCY else self.seconds

    def deadline(self, mode):
        """Returns the longest time in seconds that a client may take."""
        return self.measured(mode) + WARMUP + self.timeout + GRACE

    def total(self, rounds):
        """Returns the longest time in seconds that all rounds may take."""
        phases = sum(len(phases) for phases in rounds)
        return phases * (self.deadline(LATENCY) + self.deadline(self.mode)) + 2 * GRACE

    def server(self, address):
        words = [self.tool(), "--listen", "--json", "-t", self.transport, "-b", address,
                 "-p", str(self.port)]
        return words + (["--udp-port", str(self.port)] if self.transport == "udp" else [])

    def client(self, mode, local, server):
        """Returns the command that measures a server: a dict with address, port, udp_port."""
        words = [self.tool(), "--json", "--interval", "0", "-t", self.transport, "-b", local,
                 "-p", str(server["port"]), "--time", milliseconds(self.measured(mode)),
                 "--warmup", milliseconds(WARMUP), "--timeout", milliseconds(self.timeout)]
        if server.get("udp_port"):
            words += ["--udp-port", str(server["udp_port"])]
        words += ["--size", self.size] if mode != LATENCY else []
        return words + self.extra + [server["address"], mode]

    def version(self):
        return [self.tool(), "--version"]


def milliseconds(seconds):
    return f"{math.ceil(seconds * 1000)}ms"


def guarded(words, seconds):
    """Returns a shell command for a far host: the words run for at most this time, and end when the
    shell's standard input ends, that is, when the connection to the host ends."""
    command = f"timeout -k 2 {math.ceil(seconds)} {shlex.join(words)}"
    return (f"exec 3<&0; {command} </dev/null 3<&- & p=$!; "
            "{ read -r line <&3; kill $p; } >/dev/null 2>&1 & c=$!; "
            "wait $p; s=$?; kill $c 2>/dev/null; exit $s")


def listening(line):
    """Returns the address and ports in a server's line, or None if it is another line."""
    event = parse(line)
    if not event or event.get("event") != "listening":
        return None
    return {key: event[key] for key in ("port", "udp_port") if key in event}


def parse(line):
    """Returns the object of a JSON line, or None."""
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) else None


class Pair:
    """The measurement of a pair: client and server are names of hosts."""

    def __init__(self, number, client, server):
        self.round = number
        self.client = client
        self.server = server
        self.values = {}
        self.failure = None

    def take(self, mode, status, output, errors):
        """Keeps what a client printed, or the reason of its failure."""
        for event in filter(None, map(parse, output)):
            if event.get("event") == "result":
                self.take_result(mode, event)
                return
        self.failure = self.failure or f"{mode}: {reason(status, errors)}"

    def take_result(self, mode, event):
        if not event.get("verified", False):
            self.failure = self.failure or f"{mode}: the data is wrong"
        elif mode != LATENCY:
            self.values["bits_per_second"] = event["bits_per_second"]
            self.values["duration_ns"] = event["duration_ns"]
        elif "half_round_trip" not in event:
            self.failure = f"{mode}: no round trip in this time; use more --seconds"
        else:
            measured = event["half_round_trip"]
            self.values["half_round_trip_p50_ns"] = measured["p50_ns"]
            self.values["half_round_trip_p99_ns"] = measured["p99_ns"]

    def record(self, settings):
        """Returns the JSON line of this pair. It stays below 1,024 octets, which srun forwards in
        one piece."""
        line = {"schema": 1, "event": "pair", "round": self.round, "client": self.client,
                "server": self.server, "transport": settings.transport, "mode": settings.mode,
                "size": settings.size, **self.values, "verified": self.failure is None}
        if self.values.get("bits_per_second") == 0:
            line["at_most_bits_per_second"] = int(8 * settings.octets() / settings.seconds)
        if self.failure:
            line["failure"] = self.failure[:300]
        return line


def reason(status, errors):
    """Returns one line that says why a client failed."""
    lines = [line.strip() for line in errors
             if line.strip() and not line.startswith("Try `")]
    if lines:
        return lines[-1] + ("; use --tools" if status == 127 else "")
    if status == 124:
        return "no result in time"
    if status in (137, -9):
        return "killed"
    return f"exit status {status} without a message"
