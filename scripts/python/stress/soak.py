# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The command scripts/soak: the models of stress, one after the other, against servers that live as
long as the soak; their samples, the picture, and the judgement of their growth."""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time

from stress import command_line, growth, operations, picture, work
from stress.command_line import BROKEN, FAILED, PASSED, TOP
from stress.failure import Failure
from stress.places import Loopback, Namespaces
from stress.runner import Result, Runner, Shrinker, run_operations
from stress.samples import Sampler
from stress.testbed import Testbed

PROGRAM = "soak"
PARTS = ("stress", "suite")
SHRINK_SECONDS = 60
# Freed memory goes back to the system at once (mallopt(3)), so that RSS is what a server holds.
RETURN_MEMORY = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536",
                 "MALLOC_TOP_PAD_": "0", "MALLOC_ARENA_MAX": "1"}

DESCRIPTION = """\
Runs the models of scripts/stress one after the other, each with the next seed, against servers that
are started once. Samples each server once a second: memory (RSS), descriptors, processor time, and
the rates of its clients. At the end, a server whose memory or descriptors grow is a failure.

parts:
  stress   the above (default)
  suite    repeats the simulator, the seeded faults, and the unit, bats and sanitizer suites
"""
EPILOG = """\
Each server's line has what it held after the warm-up, the slope, and the growth with its bound. A
server grows if it exceeds the bound and rises from each quarter of the time to the next.

files in --out: soak.csv the samples, soak.svg and soak.png the picture, soak.gp and soak.dat to
draw it again, *.operations a list that failed

example:
  scripts/soak --hours 0.1 --out soak
  make soak HOURS=8

exit status: as scripts/stress; a server that grows is 1
"""


def parse(words):
    p = argparse.ArgumentParser(prog=PROGRAM, description=DESCRIPTION, epilog=EPILOG,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--hours", type=float, default=1.0, metavar="N", help="how long (default: 1)")
    p.add_argument("--parts", default="stress", metavar="P,P", help="stress, suite, or both; they "
                   "share the time (default: stress)")
    p.add_argument("--models", default=",".join(operations.MODELS), metavar="M,M",
                   help="models of stress (default: all)")
    p.add_argument("--transports", default="tcp,udp", metavar="T,T",
                   help="each has servers of its own (default: tcp,udp)")
    p.add_argument("--seed", type=int, default=1, metavar="N", help="the first seed (default: 1)")
    p.add_argument("--hosts", type=int, default=3, metavar="N", help="(default: 3)")
    p.add_argument("--operations", type=int, default=60, metavar="N",
                   help="of one list (default: 60)")
    p.add_argument("--fabric", metavar="FILE", help="as stress --fabric")
    p.add_argument("--build", metavar="DIR", default=os.environ.get("IW_BUILD", TOP + "/build"),
                   help="the directory of the tools (default: $IW_BUILD, or build)")
    p.add_argument("--out", metavar="DIR", help="for the results (default: BUILD/soak)")
    p.add_argument("--json", action="store_true", help="write JSON lines")
    return check(p, p.parse_args(words))


def check(p, arguments):
    known = {"parts": PARTS, "models": list(operations.MODELS), "transports": operations.TRANSPORTS}
    for option, names in known.items():
        chosen = getattr(arguments, option).split(",")
        for name in chosen:
            if name not in names:
                p.error(f"--{option} {name}: expected one of {', '.join(names)}")
        setattr(arguments, option, chosen)
    if not arguments.hours > 0:
        p.error(f"--hours {arguments.hours:g}: expected a number above 0")
    if not 2 <= arguments.hosts <= 100:
        p.error(f"--hosts {arguments.hosts}: expected 2 to 100")
    arguments.build = os.path.abspath(arguments.build)
    os.environ.setdefault("IW_BUILD", arguments.build)  # where a fabric finds its relay
    arguments.out = os.path.abspath(arguments.out or arguments.build + "/soak")
    return arguments


class Totals:
    def __init__(self):
        self.lists = self.operations = 0
        self.failure = None  # (List, Result) of the list that failed

    def note(self, _index, _operation):
        self.operations += 1


class Soak:
    def __init__(self, arguments, work, places):
        self.arguments = arguments
        self.work = work
        self.places = places
        self.totals = Totals()
        self.testbeds = []
        self.sampler = None

    def run(self, seconds):
        """Returns True if no list failed and no server grows."""
        until = time.monotonic() + seconds
        with contextlib.ExitStack() as stack:
            for transport in self.arguments.transports:
                directory = os.path.join(self.work, transport)
                testbed = Testbed(self.arguments.build, directory, self.places, transport,
                              RETURN_MEMORY)
                self.testbeds.append(stack.enter_context(testbed))
            csv = os.path.join(self.arguments.out, "soak.csv")
            self.sampler = stack.enter_context(Sampler(self.testbeds, csv))
            self.run_lists(until)
        return self.report()

    def run_lists(self, until):
        jobs = self.jobs()
        while time.monotonic() < until and not self.totals.failure:
            testbed, items = next(jobs)
            result = Result()
            try:
                testbed.reset()
                run_operations(testbed, items, result, until, self.totals.note)
            except Failure as failure:
                result.failure = str(failure)
                self.totals.failure = items, result
            self.totals.lists += 1
        if not self.totals.failure:
            self.stop()

    def stop(self):
        """Every server must end in order."""
        self.sampler.over.set()
        self.sampler.thread.join()
        for testbed in self.testbeds:
            testbed.stop()

    def jobs(self):
        """Yields testbeds and Lists: all models over all transports, then the next seed."""
        arguments, seed = self.arguments, self.arguments.seed
        while True:
            for model in arguments.models:
                for testbed in self.testbeds:
                    yield testbed, operations.generate(
                        model, seed, arguments.hosts, testbed.transport, arguments.operations)
            seed += 1

    # --- the report ------------------------------------------------------------------------------

    def report(self):
        grows = []
        for name, rows in sorted(self.sampler.rows.items()):
            memory, descriptors = growth.judge(rows)
            judged = growth.is_long(rows)
            if judged and (memory.grows() or descriptors.grows()):
                grows.append(name)
            self.report_server(name, memory, descriptors, judged, name in grows)
        if self.totals.failure:
            self.report_failure()
        self.report_result(grows)
        return not grows and not self.totals.failure

    def report_server(self, name, memory, descriptors, judged, grows):
        if self.arguments.json:
            self.line("server", server=name, judged=judged, grows=grows,
                      rss_kib=round(memory.first),
                      rss_slope_kib_per_hour=round(memory.slope * 3600),
                      rss_growth_kib=round(memory.growth), rss_bound_kib=round(memory.bound),
                      descriptors=round(descriptors.first, 2),
                      descriptors_growth=round(descriptors.growth, 2),
                      descriptors_bound=descriptors.bound)
            return
        verdict = "grows" if grows else "does not grow" if judged else "too short to judge"
        print(f"{name}: RSS {memory.first:.0f} KiB, {memory.slope * 3600:+.0f} KiB/h, "
              f"{memory.growth:+.0f} KiB of {memory.bound:.0f}; descriptors "
              f"{descriptors.first:.1f}, {descriptors.growth:+.1f} of {descriptors.bound:g}: "
              f"{verdict}")

    def report_failure(self):
        """The list is reduced with servers of its own; one that fails only with old servers is
        kept as it is."""
        items, result = self.totals.failure
        runner = Runner(self.arguments.build, self.places, self.work)
        shrinker = Shrinker(runner, SHRINK_SECONDS, items, result)
        try:
            shrinker.reduce()
        finally:
            path = command_line.save(shrinker.best, self.arguments.out)
            command_line.Report(self.arguments).failure(result, shrinker, path)

    def report_result(self, grows):
        commands = sum(testbed.commands for testbed in self.testbeds)
        octets = sum(testbed.octets for testbed in self.testbeds)
        seconds = time.monotonic() - self.sampler.start
        facts = f"{seconds / 60:.1f} min, {'+'.join(self.arguments.transports)}, " \
                f"{self.arguments.hosts} hosts, {self.totals.operations} operations, " \
                f"{octets / 1e9:.2f} GB"
        pictures = self.draw(f"Soak: {facts}")
        if self.arguments.json:
            self.line("result", seconds=round(seconds, 1), lists=self.totals.lists,
                      operations=self.totals.operations, commands=commands, moved_octets=octets,
                      grows=grows, failed=bool(self.totals.failure), pictures=pictures)
            return
        verdict = f"{', '.join(grows)}: more than the bound" if grows else "no server grows"
        if seconds < growth.LEAST_SECONDS:
            verdict = f"growth is judged from {growth.LEAST_SECONDS / 60:g} minutes on"
        print(f"soak: {facts}, {self.totals.lists} lists, {commands} commands: {verdict}\n"
              f"samples and picture: {self.arguments.out}"
              f"{'' if pictures else ' (no picture)'}", flush=True)

    def draw(self, title):
        """The judgement is more important than a picture that cannot be drawn."""
        try:
            pictures = picture.draw(self.arguments.out, self.sampler.rows, title)
        except picture.Failed as error:
            print(f"{PROGRAM}: {error}: expected a picture", file=sys.stderr)
            return []
        if not pictures:
            print(f"{PROGRAM}: no gnuplot: no picture; install gnuplot-nox", file=sys.stderr)
        return pictures

    def line(self, event, **keys):
        print(json.dumps({"schema": 1, "event": event, **keys}), flush=True)


def run_stress(arguments, seconds):
    command_line.check_tools(arguments.build)
    os.makedirs(arguments.out, exist_ok=True)
    with work.directory() as directory, \
            (Namespaces(arguments.fabric, arguments.hosts) if arguments.fabric
             else Loopback(arguments.hosts)) as places:
        return PASSED if Soak(arguments, directory, places).run(seconds) else FAILED


def run_suite(arguments, seconds):
    minutes = max(1, round(seconds / 60))
    command = [os.path.join(TOP, "scripts", "soak-suite"), "--build", arguments.build, "--minutes",
               str(minutes)]
    status = subprocess.run(command, check=False).returncode
    return status if status >= 0 else BROKEN


def run(arguments):
    seconds = arguments.hours * 3600 / len(arguments.parts)
    for part in arguments.parts:
        status = {"stress": run_stress, "suite": run_suite}[part](arguments, seconds)
        if status != PASSED:
            return status
    return PASSED


def main(words=None):
    arguments = parse(words)
    return command_line.guarded(PROGRAM, lambda: run(arguments))


if __name__ == "__main__":
    sys.exit(main())
