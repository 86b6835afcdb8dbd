# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a measurement prints: JSON lines, or matrices and a list of outliers for people."""

import json
import sys

from hosts import outliers

GRID = (
    ("bits_per_second", "Gb/s, from client (row) to server (column)", 1e9, 2),
    ("half_round_trip_p50_ns", "half round trip p50 in us, client (row), server (column)", 1e3, 1),
)


class Report:
    """Collects the lines of a measurement. as_json: prints each of them at once."""

    def __init__(self, as_json):
        self.as_json = as_json
        self.hosts = {}
        self.pairs = []

    def take(self, line):
        """Takes a line of a task or of a session."""
        if line["event"] == "task":
            self.hosts[line["task"]] = line
        elif line["event"] == "pair":
            self.pairs.append(line)
            if line.get("failure") and not self.as_json:
                print(f"{line['client']} -> {line['server']}: {line['failure']}", file=sys.stderr)
        else:
            return
        self.say(line)

    def say(self, line):
        if self.as_json:
            print(json.dumps({"schema": 1, **line}), flush=True)

    def names(self):
        return [self.hosts[task]["name"] for task in sorted(self.hosts)]

    def versions(self):
        """Returns the hosts of each version of the tools."""
        versions = {}
        for task in sorted(self.hosts):
            versions.setdefault(self.hosts[task]["version"], []).append(self.hosts[task]["name"])
        return versions

    def finish(self, expected):
        """Prints matrices, outliers and the summary. Returns (failed pairs, outliers)."""
        found = outliers.find(self.pairs)
        versions = self.versions()
        failed = expected - sum(1 for pair in self.pairs if pair["verified"])
        if len(versions) > 1:
            self.say({"event": "versions", "versions": versions})
            text = ", ".join(f"{version} on {' '.join(names)}"
                             for version, names in versions.items())
            print(f"fabric: the versions of ddp-bench differ: {text}", file=sys.stderr)
        for key, title, unit, digits in GRID:
            self.grid(key, title, unit, digits)
        for one in found:
            self.say(one.record())
        self.say({"event": "summary", "hosts": len(self.hosts), "pairs": expected,
                  "failed": failed, "outliers": len(found)})
        if not self.as_json:
            self.conclude(found, expected, failed)
        return failed, len(found)

    def conclude(self, found, expected, failed):
        print("outliers:" if found else "outliers: none")
        for one in found:
            print(f"  {one}")
        short = sum(1 for pair in self.pairs if "at_most_bits_per_second" in pair)
        if short:
            print(f"{short} pairs completed no message in their time: use more --seconds, or a "
                  "smaller --size")
        print(f"{expected - failed} of {expected} pairs measured, data verified")

    def grid(self, key, title, unit, digits):
        """Prints a matrix of the pairs' values."""
        names = self.names()
        values = {(pair["client"], pair["server"]): pair.get(key) for pair in self.pairs}
        rows = [[values.get((client, server)) for server in names] for client in names]
        if self.as_json:
            self.say({"event": "matrix", "metric": key, "hosts": names, "rows": rows})
            return
        print(title)
        for line in table(names, rows, unit, digits):
            print(line)
        print()


def table(names, rows, unit, digits):
    """Returns the lines of a matrix. A pair without a value is a dash, a host and itself a dot."""
    texts = [["." if row == column else "-" if value is None else f"{value / unit:.{digits}f}"
              for column, value in enumerate(values)] for row, values in enumerate(rows)]
    first = max(map(len, names), default=0)
    widths = [max(len(name), *(len(text[column]) for text in texts))
              for column, name in enumerate(names)]
    lines = ["  ".join([" " * first, *(name.rjust(width) for name, width in zip(names, widths))])]
    for name, text in zip(names, texts):
        lines.append("  ".join([name.ljust(first),
                                *(cell.rjust(width) for cell, width in zip(text, widths))]))
    return lines
