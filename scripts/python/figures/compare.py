# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compares the ratios of a run with those of an earlier run.

A change is beyond the spread if the ranges of the ratios of both runs do not overlap. A single
measurement has no range, so nothing can be said of the spread.
"""

from . import rows


def changes(new, old):
    """Returns a list of dicts: id, now, then, percent, beyond, verdict, other_peer. Figures of one
    run only have None for the missing ratio."""
    before = {figure["id"]: figure for figure in old["figures"]}
    after = {figure["id"]: figure for figure in new["figures"]}
    names = list(after) + [name for name in before if name not in after]
    return [change(name, after.get(name), before.get(name)) for name in names]


def change(name, now, then):
    result = {"id": name, "now": now and now["ratio"], "then": then and then["ratio"],
              "percent": None, "beyond": False, "other_peer": False}
    if not now or not then:
        result["verdict"] = "not in the old file" if now else "not measured now"
        return result
    result["percent"] = (now["ratio"] / then["ratio"] - 1) * 100 if then["ratio"] else None
    known = all(run["ratio_min"] < run["ratio_max"] for run in (now, then))
    result["beyond"] = known and (now["ratio_min"] > then["ratio_max"] or
                                  now["ratio_max"] < then["ratio_min"])
    result["other_peer"] = name in rows.VARIABLE and now["what"] != then["what"]
    higher = now["ratio"] > then["ratio"]
    better = higher == (now["sign"] == rows.AT_LEAST)
    result["verdict"] = verdict(better, result["beyond"]) if known else "one measurement, no spread"
    if result["other_peer"]:
        result["verdict"] += f" (then: {then['what']})"
    return result


def verdict(better, beyond):
    return ("better" if better else "worse") + ", beyond the spread" if beyond \
        else "within the spread"


def lines(new, old, path):
    """Returns the comparison as lines of text."""
    yield f"Compared with {path} ({old['date'][:10]}, {old['cpu']}, kernel {old['kernel']}):"
    yield f"{'Id':8} {'ratio now':>9} {'then':>8} {'change':>8}"
    for each in changes(new, old):
        yield (f"{each['id']:8} {number(each['now']):>9} {number(each['then']):>8} "
               f"{percent(each['percent']):>8}  {each['verdict']}")


def number(value):
    return "-" if value is None else f"{value:.2f}"


def percent(value):
    return "-" if value is None else f"{value:+.1f} %"
