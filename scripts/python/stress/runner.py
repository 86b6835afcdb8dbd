# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs a list of operations, and reduces a list that fails."""

import os
import shutil
import time

from stress.failure import Failure
from stress.testbed import Testbed


class Result:
    """failure: the text, or None. index: of the operation that failed; len(operations) if the check
    at the end failed."""

    def __init__(self):
        self.failure = None
        self.index = 0
        self.skipped = 0
        self.commands = self.octets = 0
        self.seconds = 0.0


def run_operations(testbed, items, result, until=None, note=None):
    """Runs the operations of a List on a testbed. Fills result. until: the time to stop at."""
    model = items.model()(testbed)
    for result.index, operation in enumerate(items.operations):
        if until and time.monotonic() > until:
            return
        if not model.apply(operation):
            result.skipped += 1
        model.check()
        testbed.check_alive()
        if note:
            note(result.index, operation)
    result.index = len(items.operations)
    model.finish()
    testbed.check_idle()


class Runner:
    """Runs lists, each in a testbed of its own."""

    def __init__(self, build, places, work, note=None):
        self.build = build
        self.places = places
        self.work = work
        self.note = note
        self.testbeds = 0

    def run(self, items, until=None):
        """Returns the Result of a List."""
        self.testbeds += 1
        directory = os.path.join(self.work, f"run-{self.testbeds}")
        os.makedirs(directory)
        result = Result()
        start = time.monotonic()
        try:
            self.run_in(directory, items, result, until)
        except Failure as failure:
            result.failure = str(failure)
        finally:
            shutil.rmtree(directory, ignore_errors=True)
        result.seconds = time.monotonic() - start
        return result

    def run_in(self, directory, items, result, until):
        places = self.places[:items.head["hosts"]]
        with Testbed(self.build, directory, places, items.head["transport"]) as testbed:
            try:
                run_operations(testbed, items, result, until, self.note)
                testbed.stop()
            finally:
                result.commands, result.octets = testbed.commands, testbed.octets


class Shrinker:
    """Removes operations while the list still fails, for at most `seconds`. tries: how many lists
    were run."""

    def __init__(self, runner, seconds):
        self.runner = runner
        self.until = time.monotonic() + seconds
        self.tries = 0

    def reduce(self, items, result):
        """Returns the smallest list found, its Result, and whether the failing prefix failed
        again."""
        best = items.part(items.operations[:result.index + 1])
        again = self.fails(best)
        if again is None:
            return best, result, False
        step = max(1, len(best.operations) // 2)
        while step and time.monotonic() < self.until:
            best, again = self.pass_over(best, again, step)
            step //= 2
        return best, again, True

    def pass_over(self, best, result, step):
        """Tries to remove each run of `step` operations, from the end: the last one failed and so
        stays."""
        at = len(best.operations) - 1 - step
        while at > -step and time.monotonic() < self.until:
            first = max(0, at)
            shorter = best.part(best.operations[:first] + best.operations[at + step:])
            again = self.fails(shorter)
            if again:
                best = shorter.part(shorter.operations[:again.index + 1])
                result = again
            at -= step
        return best, result

    def fails(self, items):
        self.tries += 1
        result = self.runner.run(items)
        return result if result.failure else None
