# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Baselines: the results that are expected. A cell that is worse than expected makes the run fail.

A baseline is a list in YAML, of which the last entry that matches a cell applies:

    - {cells: "siw/*", result: fail, reason: "siw sends no Reads over Rev 1"}

or the result.json of an earlier run. A cell without an entry is expected to pass, or to be
unsupported.
"""

import dataclasses
import os
import re

import checked
from matrix import plan, results

RANK = {"pass": 0, "unsupported": 1, "fail": 2, "error": 3}


@dataclasses.dataclass
class Baseline:
    """patterns: (pattern, result, its place in a file). exact: id -> result."""
    patterns: list = dataclasses.field(default_factory=list)
    exact: dict = dataclasses.field(default_factory=dict)

    def is_empty(self):
        return not self.patterns and not self.exact

    def expected(self, cell_id):
        """Returns a result; `unsupported` where nothing else is known."""
        if cell_id in self.exact:
            return self.exact[cell_id]
        return next((result for pattern, result, _ in reversed(self.patterns)
                     if plan.matches(cell_id, pattern)), "unsupported")

    def judge(self, entry):
        """Returns worse, better or expected for an entry of result.json."""
        expected = self.expected(entry["id"])
        seen = entry["result"]
        if RANK[seen] > RANK[expected]:
            return "worse"
        # A cell that did not run is not better than a failure.
        return "better" if RANK[expected] > RANK["unsupported"] and seen != expected and \
            seen != "unsupported" else "expected"

    def unused(self, ids):
        """Returns a line for each entry that no cell has."""
        lines = [f"{place}: \"{pattern}\": no cell of this run matches"
                 for pattern, _, place in self.patterns
                 if not any(plan.matches(cell_id, pattern) for cell_id in ids)]
        missing = len(self.exact.keys() - ids)
        return lines + ([f"cells of the baseline that are not in this run: {missing}"]
                        if missing else [])


def is_run(path):
    """Returns whether a baseline is an earlier run."""
    return path.endswith(".json") or os.path.isdir(path)


def load(path):
    """Raises checked.Invalid."""
    if is_run(path):
        return Baseline(exact={cell["id"]: cell["result"] for cell in results.load(path)["cells"]})
    return read(checked.load(path))


def read(node):
    return Baseline([read_entry(item) for item in node.items()])


def read_entry(node):
    keys = node.mapping(["cells", "result", "reason"], [])
    keys["reason"].text()
    return read_pattern(keys["cells"]), keys["result"].choice(*RANK), f"{node.path}:{node.line}"


def read_pattern(node):
    try:
        plan.matches("", node.text())
    except re.error as error:
        raise node.error(f"a regular expression after ~ ({error})") from None
    return node.value
