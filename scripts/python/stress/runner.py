# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs a list of operations, and reduces a list that fails."""

import os
import shutil
import time

from stress.failure import Failure
from stress.testbed import Testbed

FIRST_TRIES = 3  # a failure that depends on timing does not occur each time


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
    """Runs the operations of a List on a testbed, and the checks at the end. Fills result. until:
    the time to begin no further operation."""
    model = items.model()(testbed)
    for result.index, operation in enumerate(items.operations):
        if until and time.monotonic() > until:
            break
        if not model.apply(operation):
            result.skipped += 1
        model.check()
        testbed.check_alive()
        if note:
            note(result.index, operation)
    else:
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
    """Removes operations while the list still fails, for at most `seconds`. best: the smallest list
    found. result: its Result. repeats: whether a list failed again. tries: how many lists were
    run."""

    def __init__(self, runner, seconds, items, result):
        self.runner = runner
        self.until = time.monotonic() + seconds
        self.best = items.part(items.operations[:result.index + 1])
        self.result = result
        self.repeats = False
        self.tries = 0

    def reduce(self):
        """Can be interrupted: then best is what was found until then."""
        for _ in range(FIRST_TRIES):
            if self.time_left() and self.fails(self.best):
                break
        else:
            return
        step = max(1, len(self.best.operations) // 2)
        while step and self.time_left():
            self.pass_over(step)
            step //= 2

    def time_left(self):
        return time.monotonic() < self.until

    def pass_over(self, step):
        """Tries to remove each run of `step` operations, from the end, before the one that
        failed."""
        at = self.result.index - step
        while at > -step and self.time_left():
            operations = self.best.operations
            self.fails(self.best.part(operations[:max(0, at)] + operations[at + step:]))
            at = min(at, self.result.index) - step

    def fails(self, items):
        """Runs a list. Keeps it if it fails."""
        self.tries += 1
        result = self.runner.run(items)
        if not result.failure:
            return False
        self.best = items.part(items.operations[:result.index + 1])
        self.result, self.repeats = result, True
        return True
