#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compares the JUnit, CSV and Markdown files of runs with their result.json.

usage: formats_test.py DIR...    Prints a line for each difference. Exit status: 0 if there is none.
"""

import collections
import csv
import json
import os
import sys
import xml.etree.ElementTree as ET

NAMES = {"pass": "pass", "failure": "fail", "error": "error", "skipped": "unsupported"}
FAILED = []


def check(what, seen, expected):
    if seen != expected:
        FAILED.append(what)
        print(f"{what}: {seen!r}: expected {expected!r}")


def counts(cells):
    return collections.Counter(cell["result"] for cell in cells)


def kind_of(case):
    found = [child.tag for child in case if child.tag in NAMES]
    return NAMES[found[0]] if found else "pass"


def junit(folder, cells):
    root = ET.parse(os.path.join(folder, "result.junit.xml")).getroot()
    seen = collections.Counter(kind_of(case) for case in root.iter("testcase"))
    check(f"{folder}: JUnit cases", seen, counts(cells))
    for element in (root, *root.iter("testsuite")):
        cases = collections.Counter(kind_of(case) for case in element.iter("testcase"))
        check(f"{folder}: JUnit counts", [int(element.get(name)) for name in ("tests", "failures", "errors", "skipped")],
              [sum(cases.values()), cases["fail"], cases["error"], cases["unsupported"]])


def comma_separated(folder, cells):
    with open(os.path.join(folder, "result.csv"), newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    check(f"{folder}: CSV ids", [row["id"] for row in rows], [cell["id"] for cell in cells])
    check(f"{folder}: CSV results", counts(rows), counts(cells))
    for row, cell in zip(rows, cells):
        measured = {name: float(row[name]) for name in cell["measurements"]}
        check(f"{folder}: CSV measurements", measured, cell["measurements"])
        formula = any(value.startswith(("=", "+", "@")) for value in row.values() if value)
        check(f"{folder}: CSV formulas", formula, False)


def markdown(folder, cells):
    with open(os.path.join(folder, "result.md"), encoding="utf-8") as file:
        lines = file.read().split("\n")
    total = ", ".join(f"{counts(cells)[name]} {name}" for name in ("pass", "fail", "unsupported", "error")
                      if counts(cells)[name]) or "no cells"
    check(f"{folder}: Markdown total", lines[2], f"**{total}**")
    for table in tables(lines):
        borders = {line.replace("\\|", "").count("|") for line in table}
        check(f"{folder}: columns of a Markdown table", len(borders), 1)
        markup = [line for line in table if "<" in outside_code(line)]
        check(f"{folder}: markup in Markdown", markup, [])


def outside_code(line):
    """Without what is between backquotes, where markup is text."""
    return "".join(line.replace("\\`", "").replace("``", "`").split("`")[::2])


def tables(lines):
    table = []
    for line in [*lines, ""]:
        if line.startswith("|"):
            table.append(line)
        elif table:
            yield table
            table = []


def main():
    for folder in sys.argv[1:]:
        with open(os.path.join(folder, "result.json"), encoding="utf-8") as file:
            cells = json.load(file)["cells"]
        junit(folder, cells)
        comma_separated(folder, cells)
        markdown(folder, cells)
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
