# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The JSON document of a run of scripts/bench: made of the files that the script leaves, or read
from a file of an earlier run."""

import json
import os

import program

from . import rows

REQUIRED = {"id": str, "what": str, "unit": str, "sign": str,
            **dict.fromkeys(("ours", "peer", "ratio", "ratio_min", "ratio_max"), (int, float))}

EMPTY = {"date": "", "cpu": "unknown processor", "cores": "?", "kernel": "?", "pairs": "?",
         "seconds": "?", "load_before": 0, "load_after": 0, "versions": {},
         "congestion_control": {}, "iperf3_ran_with": {}, "skipped": [], "failed": [], "notes": [],
         "beside": None}  # for the keys that a file of an earlier version lacks


class Invalid(program.Problem):
    status = program.USAGE


def make(work):
    """Returns the document of the run whose files are in the folder `work`: facts.json, and the
    objects of series and choice, one on each line."""
    facts = read(os.path.join(work, "facts.json"))
    wanted = facts.pop("wanted")
    runs = lines(os.path.join(work, "series"))
    add_other(runs, os.path.join(work, "other", "series"))
    return {
        "schema": 1, "event": "bench", **facts,
        "iperf3_ran_with": {run["id"]: sorted(reported(run)) for run in runs if reported(run)},
        "congestion_control": {run["id"]: {"cc": run["cc"], "peer": run["peer"],
                                           "peer_bits_per_second": run["peer_medians"],
                                           "ratios": run["ratios"]}
                               for run in runs if "cc" in run},
        "figures": rows.figures(runs, wanted),
        "choice": lines(os.path.join(work, "choice")), "runs": runs,
    }


def add_other(runs, path):
    """Gives each run without pairs the object of the other build, if that was measured."""
    others = {run["id"]: run for run in lines(path)} if os.path.exists(path) else {}
    for run in runs:
        if run["id"] in others:
            run["other"] = others[run["id"]]


def reported(run):
    """Returns the congestion controls that iperf3 reported in its runs."""
    found = set()
    for each in [*run.get("pairs", ()), *run.get("others", ()), *run.get("rounds", ())]:
        for value in each.values():
            if isinstance(value, dict) and value.get("program") == "iperf3":
                found.update(cc for cc in value.get("cc") or () if cc)
    return found


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def load(path):
    """Returns the document in the file of an earlier run. Raises Invalid with one line if the file
    is not of `scripts/bench --out`."""
    try:
        found = read(path)
    except OSError as error:
        raise Invalid(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise Invalid(f"{path}: not JSON ({error}): expected a file of `scripts/bench --out`") \
            from None
    if not isinstance(found, dict) or found.get("event") != "bench":
        raise Invalid(f'{path}: no "event": "bench": expected a file of `scripts/bench --out`')
    if found.get("schema") != 1:
        raise Invalid(f"{path}: schema {found.get('schema')!r}: expected 1")
    if not isinstance(found.get("figures"), list):
        raise Invalid(f"{path}: no list of figures: expected a file of `scripts/bench --out`")
    for figure in found["figures"]:
        check(path, figure)
    return {**EMPTY, **found}


def check(path, figure):
    if not isinstance(figure, dict):
        raise Invalid(f"{path}: a figure is {figure!r}: expected an object")
    for key, kind in REQUIRED.items():
        value = figure.get(key)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise Invalid(f"{path}: figure {figure.get('id')!r}: {key} is {value!r}: expected a "
                          + ("text" if kind is str else "number"))


def write(document, path):
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", path)


def write_text(text, path):
    """Replaces the file as a whole, so that an error leaves the earlier one as it was."""
    if os.path.exists(path) and not os.path.isfile(path):  # such as /dev/stdout
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return
    part = f"{path}.part{os.getpid()}"
    with open(part, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(part, path)
