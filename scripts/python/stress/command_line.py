# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The command scripts/stress: its options, its report and its exit status."""

import argparse
import json
import os
import re
import shlex
import shutil
import signal
import sys
import tempfile
import time
import traceback

from stress import operations, work
from stress.failure import Cannot, Failure, Invalid
from stress.places import Loopback, Namespaces
from stress.runner import Runner, Shrinker

PROGRAM = "stress"
TOP = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
TOOLS = ("ddp-send", "ddp-recv", "stag-reg")
PASSED, FAILED, USAGE, CANNOT, BROKEN = range(5)
ENDED_BY_SIGNAL = 128  # plus its number

DESCRIPTION = """\
Runs random operations of several hosts, one after the other or at the same time. After each
operation, every file and buffer is compared with a model, octet by octet.

models:
  files     trees that are changed and moved by ddp-send and ddp-recv, with killed clients and
            servers, files that change meanwhile, quotas, and several hosts at the same time
  buffers   registered buffers that hosts write and read at random offsets, and revoke
  stags     rights, bounds, lifetimes and guesses: nothing is placed where it must not be
  sessions  connections that are set up, left half open, reset, and torn down
"""
EXAMPLES = """\
The operations depend on MODEL, --seed, --hosts and --transport alone. If one fails, stress removes
operations while the rest still fails, writes the rest to a file, and prints the command that runs
it again.

examples:
  scripts/stress files --seed 7                      200 operations of three hosts
  scripts/stress buffers --transport udp --seconds 60
  scripts/stress files --seed 7 --operations 50 --list >operations
  scripts/stress --replay operations

exit status: 0 every result was right; 1 one was not; 2 wrong usage or a file that cannot be used;
3 this machine lacks what the run needs; 4 the run itself failed; 130 Ctrl-C ended it
"""


def parser():
    p = argparse.ArgumentParser(prog=PROGRAM, description=DESCRIPTION, epilog=EXAMPLES,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model", nargs="?", choices=list(operations.MODELS), metavar="MODEL",
                   help="files, buffers, stags or sessions; needed unless --replay is given")
    p.add_argument("--seed", type=int, default=1, metavar="N",
                   help="chooses the operations (default: 1)")
    p.add_argument("--operations", type=int, metavar="N",
                   help="how many operations of a seed (default: 200)")
    p.add_argument("--seconds", type=float, metavar="N",
                   help="run one seed after the other for that long")
    p.add_argument("--hosts", type=int, default=3, metavar="N", help="2 to 100 hosts (default: 3)")
    p.add_argument("--transport", choices=operations.TRANSPORTS, default="tcp",
                   help="of all transfers (default: tcp)")
    p.add_argument("--fabric", metavar="FILE",
                   help="run on the first hosts of this topology (scripts/fabric), not on loopback")
    p.add_argument("--replay", metavar="FILE", help="run the operations of this file")
    p.add_argument("--list", action="store_true", help="write the operations, and run none")
    p.add_argument("--shrink-seconds", type=float, default=60, metavar="N",
                   help="how long to remove operations after a failure; 0: keep all (default: 60)")
    p.add_argument("--build", metavar="DIR", default=os.environ.get("IW_BUILD", TOP + "/build"),
                   help="the directory of the tools (default: $IW_BUILD, or build)")
    p.add_argument("--work", metavar="DIR",
                   help="where the hosts' files and the failing operations are written (default: "
                   "$TMPDIR for the files, the current directory for the operations)")
    p.add_argument("--json", action="store_true", help="write JSON lines")
    p.add_argument("--verbose", action="store_true", help="write each operation")
    return p


def parse(words):
    p = parser()
    arguments = p.parse_args(words)
    if not arguments.model and not arguments.replay:
        p.error(f"no MODEL: expected {', '.join(operations.MODELS)}, or --replay FILE")
    if not 2 <= arguments.hosts <= 100:
        p.error(f"--hosts {arguments.hosts}: expected 2 to 100")
    for name in ("operations", "seconds"):
        value = getattr(arguments, name)
        if value is not None and not value > 0:
            p.error(f"--{name} {value:g}: expected a number above 0")
    if arguments.work and not os.path.isdir(arguments.work):
        p.error(f"--work {arguments.work}: no such directory: expected an existing one")
    arguments.build = os.path.abspath(arguments.build)
    os.environ.setdefault("IW_BUILD", arguments.build)  # where a fabric finds its relay
    return arguments


class Report:
    def __init__(self, arguments):
        self.arguments = arguments
        self.start = time.monotonic()
        self.lists = self.operations = self.skipped = self.commands = self.octets = 0

    def note(self, index, operation):
        self.operations += 1
        if self.arguments.json and self.arguments.verbose:
            self.line("operation", index=index, operation=operation)
        elif self.arguments.verbose:
            print(f"{index}: {json.dumps(operation)}", flush=True)

    def add(self, result):
        self.lists += 1
        self.skipped += result.skipped
        self.commands += result.commands
        self.octets += result.octets

    def line(self, event, **keys):
        print(json.dumps({"schema": 1, "event": event, **keys}), flush=True)

    def failure(self, first, shrinker, path):
        """first: the Result of the list before it was reduced."""
        items, result = shrinker.best, shrinker.result
        replay = f"{shlex.quote(os.path.relpath(TOP + '/scripts/stress'))} {self.options()}" \
                 f"--replay {shlex.quote(path)}"
        if self.arguments.json:
            return self.line("failure", **items.head, text=result.failure, first=first.failure,
                             file=path, replay=replay, operations=len(items.operations),
                             repeats=shrinker.repeats, tries=shrinker.tries)
        print(f"{PROGRAM}: {items.head['model']}, seed {items.head['seed']}: {result.failure}")
        if without_numbers(first.failure) != without_numbers(result.failure):
            print(f"The whole list had another failure: {first.failure}")
        last = json.dumps(items.operations[-1]) if items.operations else "none"
        print(f"{len(items.operations)} operations fail (of {shrinker.tries} lists tried), the "
              f"last one: {last}")
        if shrinker.tries and not shrinker.repeats:
            print("The failure did not occur again: the file has the operations up to the failure.")
        print(f"operations: {path}\nreplay: {replay}", flush=True)
        return None

    def options(self):
        words = ["--build", os.path.relpath(self.arguments.build)]
        if self.arguments.fabric:
            words += ["--fabric", self.arguments.fabric]
        return shlex.join(words) + " "

    def result(self, head):
        seconds = time.monotonic() - self.start
        if self.arguments.json:
            self.line("result", model=head["model"], transport=head["transport"],
                      hosts=head["hosts"], lists=self.lists, operations=self.operations,
                      skipped=self.skipped, commands=self.commands, moved_octets=self.octets,
                      seconds=round(seconds, 3))
        else:
            print(f"{head['model']}: {self.operations} operations ({self.skipped} without effect), "
                  f"{self.lists} lists, {self.commands} commands, {self.octets / 1e6:.1f} MB, "
                  f"{seconds:.1f} s: all as the model", flush=True)


def without_numbers(text):
    return re.sub(r"(0x)?[0-9a-f]*[0-9][0-9a-f]*", "", text)


# --- the run --------------------------------------------------------------------------------------


def lists(arguments, first):
    """Yields the lists to run, and the time to stop at or None."""
    repeats = arguments.seconds and not arguments.replay
    until = time.monotonic() + arguments.seconds if repeats else None
    seed, items = arguments.seed, first
    while True:
        yield items, until
        if until is None or time.monotonic() > until:
            return
        seed += 1
        items = make(arguments, seed)


def make(arguments, seed):
    return operations.generate(arguments.model, seed, arguments.hosts, arguments.transport,
                               arguments.operations or 200)


def run(arguments, first, directory):
    """first: the first List."""
    report = Report(arguments)
    hosts = first.head["hosts"]
    with (Namespaces(arguments.fabric, hosts) if arguments.fabric else Loopback(hosts)) as places:
        runner = Runner(arguments.build, places, directory, report.note)
        for items, until in lists(arguments, first):
            result = runner.run(items, until)
            report.add(result)
            if result.failure:
                reduce(arguments, report, runner, items, result)
                return FAILED
    report.result(items.head)
    return PASSED


def reduce(arguments, report, runner, items, result):
    """Reports the failure, also if the reduction is interrupted or fails itself."""
    runner.note = None
    shrinker = Shrinker(runner, arguments.shrink_seconds, items, result)
    try:
        shrinker.reduce()
    finally:
        report.failure(result, shrinker, save(shrinker.best, arguments.work or "."))


def save(items, directory):
    """Writes a list that failed. Returns the name of the file."""
    name = f"stress-{items.head['model']}-{items.head['seed']}.operations"
    path = os.path.join(directory, name)
    try:
        items.save(path)
    except OSError as error:
        number, path = tempfile.mkstemp(prefix="stress-", suffix=".operations")
        os.close(number)
        items.save(path)
        complain(PROGRAM, f"{os.path.join(directory, name)}: {error.strerror}: expected a place to "
                 f"write to; wrote {path}", FAILED)
    return path


def check_tools(build):
    for tool in TOOLS:
        if not os.access(os.path.join(build, tool), os.X_OK):
            raise Cannot(f"{build}: has no {tool}: build the tools, or name their directory by "
                         "--build")
    if not shutil.which("setpriv"):
        raise Cannot("no setpriv: install util-linux")


def end(number, _frame):
    """Ends through the clean-up of every function; a second signal must not disturb it."""
    for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)
    raise KeyboardInterrupt(number)


def guarded(program, function):
    """Runs the function, and turns its exceptions into messages and an exit status."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    os.umask(0o022)
    try:
        return function()
    except Invalid as error:
        return complain(program, error, USAGE)
    except Cannot as error:
        return complain(program, error, CANNOT)
    except KeyboardInterrupt as error:
        number = error.args[0] if error.args else signal.SIGINT
        return complain(program, f"ended by {signal.Signals(number).name}",
                        ENDED_BY_SIGNAL + number)
    except (OSError, Failure) as error:
        return complain(program, error, BROKEN)
    except Exception:  # an error of this program is not a failure of the tools
        traceback.print_exc()
        return BROKEN


def complain(program, text, status):
    print(f"{program}: {text}", file=sys.stderr)
    return status


def list_or_run(arguments):
    items = operations.load(arguments.replay) if arguments.replay else \
        make(arguments, arguments.seed)
    if arguments.list:
        sys.stdout.write(items.text())
        return PASSED
    check_tools(arguments.build)
    with work.directory(arguments.work) as path:
        return run(arguments, items, path)


def main(words=None):
    arguments = parse(words)
    return guarded(PROGRAM, lambda: list_or_run(arguments))
