# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Baselines: the results that are expected. A cell that is worse than expected makes the run fail.

A baseline is a list in YAML, of which the last entry that matches a cell applies:

    - {cells: "siw/*", result: fail, reason: "siw sends no Reads over Rev 1"}

or the result.json of an earlier run. A cell without an entry is expected to pass, or to be
unsupported.
"""

import json

import checked
from matrix import plan

RANK = {"pass": 0, "unsupported": 1, "fail": 2, "error": 3}


class Baseline:
    """entries: (pattern, result, reason)."""

    def __init__(self, entries=()):
        self.entries = list(entries)

    def expected(self, cell_id):
        """Returns (result, reason); the result is `unsupported` where nothing else is known."""
        for pattern, result, reason in reversed(self.entries):
            if plan.matches(cell_id, pattern):
                return result, reason
        return "unsupported", ""

    def judge(self, entry):
        """Returns worse, better or expected for an entry of result.json."""
        expected, _ = self.expected(entry["id"])
        seen = entry["result"]
        if RANK[seen] > RANK[expected]:
            return "worse"
        # A cell that did not run is no progress.
        return "better" if RANK[expected] > RANK["unsupported"] and seen != expected and \
            seen != "unsupported" else "expected"


def load(path):
    """Raises checked.Invalid."""
    if path.endswith(".json"):
        return from_result(path)
    return read(checked.load(path))


def read(node):
    return Baseline([read_entry(item) for item in node.items()])


def read_entry(node):
    keys = node.mapping(["cells", "result", "reason"], [])
    return keys["cells"].text(), keys["result"].choice(*RANK), keys["reason"].text()


def from_result(path):
    try:
        with open(path, encoding="utf-8") as file:
            cells = json.load(file)["cells"]
        return Baseline([(exactly(cell["id"]), cell["result"], cell["reason"]) for cell in cells
                         if cell["result"] in RANK])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise checked.Invalid(f"{path}: {error}: expected the result.json of a run") from None


def exactly(cell_id):
    """Returns a pattern that matches this id only."""
    return cell_id.replace("[", "[[]")
