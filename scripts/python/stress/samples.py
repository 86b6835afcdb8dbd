# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Samples of servers, once a second: a table in memory, and a CSV file."""

import threading
import time

COLUMNS = ("seconds", "server", "pid", "rss_kib", "descriptors", "cpu_seconds", "cpu_percent",
           "commands_per_second", "bits_per_second")
INTERVAL_SECONDS = 1.0


class Row:
    """One sample of one server. The rates are those of its testbed: what all its clients did."""

    def __init__(self, seconds, server, pid, rss_kib, descriptors, cpu_seconds):
        self.seconds = seconds
        self.server = server
        self.pid = pid
        self.rss_kib = rss_kib
        self.descriptors = descriptors
        self.cpu_seconds = cpu_seconds
        self.cpu_percent = self.commands_per_second = self.bits_per_second = 0.0

    def text(self):
        values = [getattr(self, name) for name in COLUMNS]
        return ",".join(f"{v:.3f}" if isinstance(v, float) else str(v) for v in values) + "\n"


class Sampler:
    """A thread. rows: a list of Rows for each server, by name."""

    def __init__(self, testbeds, path):
        self.testbeds = testbeds
        self.rows = {}
        self.file = open(path, "w", encoding="ascii")
        self.file.write(",".join(COLUMNS) + "\n")
        self.start = time.monotonic()
        self.before = {}
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.loop, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        self.file.close()

    def loop(self):
        due = self.start
        while not self.over.wait(max(0.0, due - time.monotonic())):
            due += INTERVAL_SECONDS
            for testbed in self.testbeds:
                self.sample(testbed)
            self.file.flush()

    def sample(self, testbed):
        seconds = time.monotonic() - self.start
        now = seconds, testbed.commands, testbed.octets
        old, commands, octets = self.before.get(testbed, now)
        self.before[testbed] = now
        passed = seconds - old
        for host in testbed.hosts:
            for server, name in ((host.receiver, "recv"), (host.source, "send")):
                row = self.read(server, f"{testbed.transport}-{name}-{host.number}", seconds)
                if row and passed > 0:
                    row.commands_per_second = (testbed.commands - commands) / passed
                    row.bits_per_second = 8 * (testbed.octets - octets) / passed
                self.add(row)

    def read(self, server, name, seconds):
        """Returns None if the server has ended."""
        try:
            return Row(seconds, name, server.pid(), server.rss_kib(), server.descriptors(),
                       server.cpu_seconds())
        except (OSError, IndexError):
            return None

    def add(self, row):
        if row is None:
            return
        rows = self.rows.setdefault(row.server, [])
        if rows:
            passed = row.seconds - rows[-1].seconds
            row.cpu_percent = 100 * (row.cpu_seconds - rows[-1].cpu_seconds) / passed
        rows.append(row)
        self.file.write(row.text())
