# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compares runs of the interop matrix: the difference of two runs, and the history of a cell.

Cells of different runs are the same cell if they have the same id. A measurement has changed
*beyond noise* if its ratio, new to old, exceeds three times the usual spread, and at least LEAST.
The usual spread is that of the cell's own history if at least ENOUGH earlier runs measured it;
otherwise it is the spread of the ratios of all cells that have this measurement.
"""

import math
import statistics

from . import results

LEAST = math.log(1.25)
ENOUGH = 4
SIGMA = 1.4826  # times the median absolute deviation: a robust standard deviation
LETTERS = {"pass": "p", "fail": "f", "unsupported": "u", "error": "e"}
ABSENT = "-"


def difference(old, new, history=()):
    """What changed from one document to another: a dict of lists.

    failures: passed or was unsupported, and now fails; repairs: failed, and now passes; errors: now
    an infrastructure error; others: any other change of the result; appeared, disappeared: cells of
    one run only; measurements: changes beyond noise. shifts: the median ratio of each measurement.
    """
    before, after = by_id(old), by_id(new)
    kinds = {"failures": [], "repairs": [], "errors": [], "others": []}
    for name, cell in after.items():
        if name in before and before[name]["result"] != cell["result"]:
            kinds[kind_of(before[name]["result"], cell["result"])].append(pair(before[name], cell))
    kinds["appeared"] = [pair(None, after[name]) for name in after if name not in before]
    kinds["disappeared"] = [pair(before[name], None) for name in before if name not in after]
    kinds.update(measured(before, after, history))
    return kinds


def by_id(document):
    return {cell["id"]: cell for cell in document["cells"]}


def kind_of(old, new):
    if new == "fail":
        return "failures"
    if new == "error":
        return "errors"
    if new == "pass" and old != "unsupported":
        return "repairs"
    return "others"


def pair(old, new):
    """One change, as the page and the text show it."""
    cell = new or old
    return {
        "id": cell["id"], "client": cell["client"], "server": cell["server"],
        "test": cell["test"], "impairment": cell["impairment"],
        "old": old["result"] if old else "", "new": new["result"] if new else "",
        "reason": cell["reason"],
        "versions": [versions_of(old), versions_of(new)],
    }


def versions_of(cell):
    return dict(cell["versions"]) if cell else None


def worse(change):
    """True if the new run has failures or errors that the old one did not have."""
    bad = [cell for cell in change["appeared"] if cell["new"] in ("fail", "error")]
    return bool(change["failures"] or change["errors"] or bad)


# --- measurements --------------------------------------------------------------------------------

def measured(before, after, history):
    ratios = ratios_of(before, after)
    past = past_values(history)
    usual = {name: noise(values) for name, values in by_name(ratios).items()}
    changes = []
    for (name, cell), ratio in ratios.items():
        own = past.get((name, cell), [])
        limit = noise(own) if len(own) >= ENOUGH else usual[name]
        if abs(ratio) > limit:
            changes.append({**pair(before[cell], after[cell]), "name": name,
                            "before": before[cell]["measurements"][name],
                            "after": after[cell]["measurements"][name],
                            "ratio": math.exp(ratio), "limit": math.exp(limit)})
    changes.sort(key=lambda change: (-abs(math.log(change["ratio"])), change["id"]))
    return {"measurements": changes, "shifts": shifts_of(ratios)}


def ratios_of(before, after):
    """The logarithm of new / old for each (measurement, cell) that both runs have."""
    result = {}
    for cell in after:
        if cell not in before:
            continue
        old = before[cell]["measurements"]
        for name, value in after[cell]["measurements"].items():
            if old.get(name, 0) > 0 and value > 0:
                result[name, cell] = math.log(value / old[name])
    return result


def by_name(ratios):
    groups = {}
    for (name, _), ratio in ratios.items():
        groups.setdefault(name, []).append(ratio)
    return groups


def shifts_of(ratios):
    return [{"name": name, "cells": len(values), "ratio": math.exp(statistics.median(values))}
            for name, values in by_name(ratios).items()]


def past_values(history):
    result = {}
    for document in history:
        for cell in document["cells"]:
            for name, value in cell["measurements"].items():
                if value > 0:
                    result.setdefault((name, cell["id"]), []).append(math.log(value))
    return result


def noise(values):
    """The largest logarithm of a ratio that is still noise, if the usual ones are `values`."""
    return LEAST if len(values) < ENOUGH else max(LEAST, 3 * spread(values))


def spread(values):
    middle = statistics.median(values)
    return SIGMA * statistics.median(abs(value - middle) for value in values)


# --- history -------------------------------------------------------------------------------------

def timeline(document, earlier):
    """The history of the cells of `document`, which is the last run: facts of each run, oldest
    first; for each cell one letter a run (LETTERS, or ABSENT), and its measured values."""
    runs = in_order([*earlier, document])
    indexes = [by_id(run) for run in runs]
    return {
        "runs": [run_facts(run) for run in runs],
        "cells": {cell["id"]: cell_history(cell["id"], indexes) for cell in document["cells"]},
    }


def in_order(documents):
    """Sorted by the time of the start; a run that is there twice is used once."""
    unique = {document["run"]["id"]: document for document in documents}
    last = documents[-1]["run"]["id"]
    others = [run for run in unique.values() if run["run"]["id"] != last]
    return [*sorted(others, key=lambda run: run["run"]["started"]), documents[-1]]


def run_facts(document):
    run = document["run"]
    return {"id": run["id"], "started": run["started"], "version": run["version"],
            "commit": run["commit"], "totals": results.totals(document["cells"])}


def cell_history(name, indexes):
    cells = [index.get(name) for index in indexes]
    values = {}
    for position, cell in enumerate(cells):
        for key, value in (cell["measurements"] if cell else {}).items():
            values.setdefault(key, [None] * len(cells))[position] = value
    letters = "".join(LETTERS[cell["result"]] if cell else ABSENT for cell in cells)
    return {"results": letters, "first": first_with(letters), "values": values}


def first_with(letters):
    """The index of the first run of the last unbroken series of equal results. Runs without the
    cell do not break the series."""
    first = len(letters) - 1
    for index in range(len(letters) - 1, -1, -1):
        if letters[index] == letters[-1]:
            first = index
        elif letters[index] != ABSENT:
            break
    return first
