#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests of the comparison of runs and of the units: scripts/python/matrix/{compare,units,results}.py."""

import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/python"))

from matrix import compare, results, units  # noqa: E402


def run(number, cells):
    """A document with cells {name: (result, throughput)}."""
    rows = [{"id": name, "client": "a", "server": "b", "test": "t", "impairment": "none", "reason": "",
             "result": result, "versions": {"client": "", "server": ""},
             "measurements": {"bits_per_second": value} if value else {}}
            for name, (result, value) in cells.items()]
    return {"run": {"id": f"r{number}", "started": f"2026-11-{number:02d}T00:00:00Z", "version": "",
                    "commit": ""}, "cells": rows}


def kinds(change):
    names = ("failures", "errors", "repairs", "others", "appeared", "disappeared", "measurements")
    return {name: [cell["id"] for cell in change[name]] for name in names if change[name]}


class Difference(unittest.TestCase):
    def test_each_change_of_a_result_has_one_kind(self):
        old = run(1, {"f": ("pass", 0), "g": ("error", 0), "e": ("fail", 0), "r": ("fail", 0), "s": ("error", 0),
                      "o": ("unsupported", 0), "u": ("pass", 0), "same": ("fail", 0), "gone": ("pass", 0)})
        new = run(2, {"f": ("fail", 0), "g": ("fail", 0), "e": ("error", 0), "r": ("pass", 0), "s": ("pass", 0),
                      "o": ("pass", 0), "u": ("unsupported", 0), "same": ("fail", 0), "new": ("pass", 0)})
        self.assertEqual(kinds(compare.difference(old, new)), {
            "failures": ["f", "g"], "errors": ["e"], "repairs": ["r", "s"], "others": ["o", "u"],
            "appeared": ["new"], "disappeared": ["gone"]})

    def test_a_new_cell_that_fails_is_worse_and_a_repair_is_not(self):
        bad = compare.difference(run(1, {}), run(2, {"x": ("fail", 0)}))
        good = compare.difference(run(1, {"x": ("fail", 0)}), run(2, {"x": ("pass", 0)}))
        self.assertEqual((compare.worse(bad), compare.worse(good)), (True, False))

    def test_the_least_noise_of_few_cells_is_a_quarter(self):
        for value, seen in ((120, []), (130, ["x"]), (83, []), (79, ["x"])):
            change = compare.difference(run(1, {"x": ("pass", 100)}), run(2, {"x": ("pass", value)}))
            self.assertEqual([cell["id"] for cell in change["measurements"]], seen, value)

    def test_a_cell_whose_history_is_uneven_needs_a_larger_change(self):
        history = [run(n, {"x": ("pass", value)}) for n, value in enumerate((100, 160, 70, 130, 90), 1)]
        old, new = run(6, {"x": ("pass", 100)}), run(7, {"x": ("pass", 170)})
        self.assertEqual(kinds(compare.difference(old, new, history)), {})
        self.assertEqual(kinds(compare.difference(old, new)), {"measurements": ["x"]})

    def test_a_shift_of_all_cells_is_reported_as_such(self):
        old = run(1, {f"x{n}": ("pass", 100 + n) for n in range(9)})
        new = run(2, {f"x{n}": ("pass", 2 * (100 + n)) for n in range(9)})
        shift = compare.difference(old, new)["shifts"][0]
        self.assertEqual((shift["cells"], round(shift["ratio"], 3)), (9, 2.0))


class History(unittest.TestCase):
    def test_the_first_run_of_the_last_series(self):
        for letters, first in (("p", 0), ("pp", 0), ("fp", 1), ("pfpp", 2), ("fp-p", 1), ("-p", 1), ("ff--", 2)):
            self.assertEqual(compare.first_with(letters), first, letters)

    def test_runs_are_sorted_and_counted_once_and_the_run_itself_is_last(self):
        runs = [run(n, {"x": (result, n)}) for n, result in ((3, "fail"), (1, "pass"), (2, "error"), (1, "pass"))]
        past = compare.timeline(run(9, {"x": ("fail", 9)}), runs)
        self.assertEqual([one["id"] for one in past["runs"]], ["r1", "r2", "r3", "r9"])
        self.assertEqual(past["cells"]["x"], {"results": "peff", "first": 2, "values": {"bits_per_second": [1, 2, 3, 9]}})


class Words(unittest.TestCase):
    def test_values_have_three_digits_and_a_unit(self):
        for name, value, text in (("throughput_bits_per_second", 9.41e9, "9.41 Gb/s"), ("seconds", 0, "0 ns"),
                                  ("latency_p50_seconds", 1.4e-5, "14 us"), ("rate_per_second", 1500, "1.5 k/s"),
                                  ("rss_octets", 3 << 20, "3 MiB"), ("retries", 7, "7")):
            self.assertEqual(units.show(name, value), text)

    def test_codes_of_tests_are_unique(self):
        operations = ("write", "read", "send", "rping", "file-write", "file-read", "terminate", "write")
        tests = {f"t{n}": {"operation": operation} for n, operation in enumerate(operations)}
        codes = results.codes({"tests": tests})
        self.assertEqual([codes[name] for name in tests], ["W1", "R", "S", "P", "F", "I", "T", "W2"])
        self.assertEqual([codes[name] for name in results.by_operation(tests)],
                         ["W1", "W2", "R", "S", "P", "F", "I", "T"])

    def test_more_operations_than_letters(self):
        tests = {f"t{n}": {"operation": f"operation-{n}"} for n in range(60)}
        self.assertEqual(len(set(results.codes({"tests": tests}).values())), 60)


if __name__ == "__main__":
    unittest.main()
