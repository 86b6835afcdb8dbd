#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Transfers of ddp-send and ddp-recv, with seeded faults between them.

A round starts a listener and a client, with a middle between them that forwards and injects
faults. It must end in one of two ways:

    complete       status 0; the target equals the source and has nothing else
    clean failure  another status, with a message; each entry that has its name at the target is
                   whole and right; the same command without faults then completes the transfer

Anything else is wrong. A client that does not end in time is a hang. A round is decided by its
kind and its seed.
"""

import argparse
import ctypes
import json
import multiprocessing
import multiprocessing.connection
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback

sys.dont_write_bytecode = True  # before the imports: leave no files in the sources
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/python"))

import self_test  # noqa: E402
from one_round import CLEAN, COMPLETE, HANG, WRONG, Result, Round  # noqa: E402
from plan import GROUPS, KINDS, Plan  # noqa: E402
from tree import Cache  # noqa: E402

WORKER_SECONDS = 200  # longer than any round; then its process is killed
PR_SET_PDEATHSIG = 1


def parse_arguments():
    parser = argparse.ArgumentParser(description="Seeded faults on transfers.")
    parser.add_argument("--build", required=True, metavar="DIR", help="where the tools are")
    parser.add_argument("--kinds", default="tcp,udp", metavar="K,K...",
                        help="kinds of faults; tcp and udp are all of a transport (default: both)")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="seeds of each kind")
    parser.add_argument("--first", type=int, default=1, metavar="N", help="the first seed")
    parser.add_argument("--parallel", type=int, default=4, metavar="N", help="rounds at a time")
    parser.add_argument("--timeout", type=float, default=3, metavar="SECONDS",
                        help="--timeout of the tools")
    parser.add_argument("--work", metavar="DIR", help="where the trees are made")
    parser.add_argument("--keep", action="store_true", help="keep the files of failing rounds")
    parser.add_argument("--json", action="store_true", help="write JSON lines")
    parser.add_argument("--verbose", action="store_true", help="write a line for each round")
    parser.add_argument("--self-test", action="store_true",
                        help="damage results on purpose; each damage must be found")
    arguments = parser.parse_args()
    try:
        arguments.kinds = expand_kinds(arguments.kinds)
    except ValueError as error:
        parser.error(str(error))
    for option in ("seeds", "parallel", "timeout"):
        if getattr(arguments, option) <= 0:
            parser.error(f"--{option} {getattr(arguments, option):g}: use a number above 0")
    arguments.build = os.path.abspath(arguments.build)
    for tool in ("ddp-send", "ddp-recv", "ddp-impair"):
        if not os.access(os.path.join(arguments.build, tool), os.X_OK):
            parser.error(f"--build {arguments.build}: has no {tool}")
    return arguments


def expand_kinds(text):
    kinds = []
    for name in text.split(","):
        if name not in GROUPS and name not in KINDS:
            raise ValueError(f"--kinds {name}: not a kind; use tcp, udp, {', '.join(KINDS)}")
        kinds += GROUPS.get(name, [name])
    return kinds


# --- one process for each round ----------------------------------------------------------------


def work(pipe, round_):
    """A worker: runs the round and sends its result."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process ends with its parent
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        result = round_.run()
    except Exception:  # an error of the test itself is a failing round
        result = round_.result
        result.wrong("the test itself failed: " + traceback.format_exc())
    pipe.send(result)
    pipe.close()


class Worker:
    def __init__(self, round_):
        self.round = round_
        self.limit = time.monotonic() + WORKER_SECONDS
        self.pipe, end = multiprocessing.Pipe(duplex=False)
        self.process = multiprocessing.Process(target=work, args=(end, round_))
        self.process.start()
        end.close()

    def overdue(self):
        return time.monotonic() > self.limit

    def take(self):
        """Returns the result. Call it when the pipe is readable, or the worker overdue."""
        try:
            result = self.pipe.recv() if self.pipe.poll() else None
        except EOFError:
            result = None
        self.kill()
        if result is None:
            result = Result(self.round.plan)
            result.wrong("the round's process failed")
        return result

    def kill(self):
        self.process.kill()
        self.process.join()
        self.pipe.close()


class Runner:
    """Runs rounds, some at a time. make_round(job) makes one from an item of jobs."""

    def __init__(self, parallel, make_round, report):
        self.parallel = parallel
        self.make_round = make_round
        self.report = report
        self.workers = []

    def run(self, jobs):
        jobs = iter(jobs)
        try:
            while self.fill(jobs):
                self.collect()
        finally:
            for worker in self.workers:
                worker.kill()

    def fill(self, jobs):
        """Starts rounds. Returns False if none runs and none is left."""
        while len(self.workers) < self.parallel:
            job = next(jobs, None)
            if job is None:
                break
            self.workers.append(Worker(self.make_round(job)))
        return bool(self.workers)

    def collect(self):
        ready = multiprocessing.connection.wait([w.pipe for w in self.workers], timeout=1)
        for worker in list(self.workers):
            if worker.pipe in ready or worker.overdue():
                self.workers.remove(worker)
                self.report(worker.take(), worker.round)


# --- the report --------------------------------------------------------------------------------


class Row:
    """The sums of one kind."""

    def __init__(self):
        self.rounds = self.struck = self.complete = self.clean = self.redial = self.resumed = 0
        self.wrong = self.hangs = 0
        self.longest = 0.0

    def add(self, result):
        verdict = result.verdict()
        self.rounds += 1
        self.struck += bool(result.strikes)
        self.complete += verdict == COMPLETE
        self.clean += verdict == CLEAN
        self.redial += verdict == CLEAN and result.redial
        self.resumed += result.resumed
        self.wrong += verdict == WRONG
        self.hangs += verdict == HANG
        self.longest = max(self.longest, result.longest)


class Report:
    def __init__(self, arguments):
        self.arguments = arguments
        self.rows = {kind: Row() for kind in arguments.kinds}

    def add(self, result, round_):
        self.rows[result.kind].add(result)
        failed = bool(result.problems)
        if self.arguments.json:
            self.write_json(result)
        elif failed or self.arguments.verbose:
            self.write_text(result)
        if not (failed and self.arguments.keep):
            round_.remove()

    def command(self, result):
        command = f"tests/faults/rounds.py --build {self.arguments.build} --kinds {result.kind} " \
                  f"--first {result.seed} --seeds 1"
        return command if self.arguments.timeout == 3 else \
            f"{command} --timeout {self.arguments.timeout:g}"

    def write_text(self, result):
        print(f"{result.verdict()}: {result.plan}; {result.seconds:.1f} s, end after "
              f"{result.longest:.2f} timeouts")
        for line in result.strikes:
            print(f"    fault: {line}")
        for what, text in result.problems[:8]:
            print(f"    {what}: {text}")
        if result.message:
            print("    client: " + result.message.replace("\n", "\n            ")[:600])
        if result.problems:
            print(f"    repeat: {self.command(result)}")
        sys.stdout.flush()

    def write_json(self, result):
        print(json.dumps({
            "schema": 1, "event": "round", "kind": result.kind, "seed": result.seed,
            "verdict": result.verdict(), "plan": result.plan, "faults": result.strikes,
            "problems": [f"{what}: {text}" for what, text in result.problems],
            "message": result.message, "resumed": result.resumed,
            "end_timeouts": round(result.longest, 3), "repeat": self.command(result)}), flush=True)

    def finish(self):
        """Writes the table. Returns True if nothing was wrong."""
        if self.arguments.json:
            for kind, row in self.rows.items():
                print(json.dumps({"schema": 1, "event": "kind", "kind": kind, **vars(row)}))
        else:
            self.write_table()
        return not any(row.wrong or row.hangs for row in self.rows.values())

    def write_table(self):
        """struck: rounds in which a fault struck. (redial): those failures that had --redial."""
        print(f"{'kind':14} rounds struck complete  clean (redial) resumed  wrong  hangs longest")
        for kind, r in self.rows.items():
            print(f"{kind:14} {r.rounds:6} {r.struck:6} {r.complete:8} {r.clean:6} {r.redial:8} "
                  f"{r.resumed:7} {r.wrong:6} {r.hangs:6} {r.longest:7.2f}", flush=True)


# --- the run -----------------------------------------------------------------------------------


def run_rounds(arguments, cache, work_directory):
    report = Report(arguments)

    def make_round(job):
        plan = Plan(*job, arguments.timeout)
        directory = os.path.join(work_directory, f"{plan.kind}-{plan.seed}")
        return Round(plan, arguments.build, cache.get(plan.tree, plan.large), directory)

    seeds = range(arguments.first, arguments.first + arguments.seeds)
    Runner(arguments.parallel, make_round, report.add).run(
        (kind, seed) for seed in seeds for kind in arguments.kinds)
    return report.finish()


def end(_signal, _frame):
    sys.exit(1)


def main():
    arguments = parse_arguments()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    multiprocessing.set_start_method("fork")
    os.umask(0o022)
    if arguments.work:
        os.makedirs(arguments.work, exist_ok=True)
    work_directory = tempfile.mkdtemp(prefix="ddp-faults-", dir=arguments.work)
    passed = False
    try:
        run = self_test.run if arguments.self_test else run_rounds
        passed = run(arguments, Cache(work_directory), work_directory)
    finally:
        if arguments.keep and not passed:
            print(f"kept: {work_directory}")
        else:
            shutil.rmtree(work_directory, ignore_errors=True)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
