# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The command line of scripts/interop-matrix."""

import argparse
import os
import re
import shlex
import signal
import subprocess
import sys
import time

import checked
from matrix import baseline, guest, impairment, net, plan, plugin, results, run, side

SCRIPTS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
TOP = os.path.dirname(SCRIPTS)
SHOWN = 20  # cells of the summary
EXAMPLES = """\
Exit status: 0: no cell is worse than its expected result; 1: a cell is worse; 2: wrong usage, or
an invalid file; 3: cannot run here; 4: failed on the way; 130: interrupted.

Examples:
  scripts/interop-matrix --list                     the cells of the default profile
  scripts/interop-matrix --profile quick            less than 30 seconds
  scripts/interop-matrix --only 'iwarp-tools/mpa-*' against the personalities of mpa-probe
  scripts/interop-matrix --only '~/rping.*crc=off'  the ids that match a regular expression
  scripts/interop-matrix --baseline expected.yaml   known failures are not status 1
  scripts/interop-matrix --against results/old --output results/new
                                                    the page shows what has changed
"""


class Usage(Exception):
    """A wrong command line. str() is the message."""


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="interop-matrix", epilog=EXAMPLES, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Run implementations of iWARP against each other: clients x servers x tests x "
        "impairments.")
    parser.add_argument("--profile", default="default", metavar="NAME|FILE",
                        help="the cells: default, quick, ofa, unh, or a YAML file")
    parser.add_argument("--only", action="append", default=[], metavar="GLOB|~REGEX",
                        help="only the cells whose id CLIENT/SERVER/TEST/IMPAIRMENT matches; may "
                        "be repeated")
    parser.add_argument("--impair", action="append", default=[], metavar="FILE",
                        help="run each cell with this impairment instead of its own; may be "
                        "repeated")
    parser.add_argument("--baseline", metavar="FILE",
                        help="the expected results: YAML, or the result.json of an earlier run")
    parser.add_argument("--against", metavar="RUN",
                        help="the folder of another run: the page shows what has changed since "
                        "(default: the baseline, if it is a run)")
    parser.add_argument("--history", metavar="DIR", nargs="+",
                        help="runs, or folders of runs: the page shows the history of each cell "
                        "(default: the runs in build/interop-matrix, if this one is there)")
    parser.add_argument("--guests", choices=["on", "off", "auto"], default="auto",
                        help="run implementations that need a virtual machine; auto: if this "
                        "machine can boot it (default); on: fail if it cannot")
    parser.add_argument("--implementations", action="append", default=[], metavar="DIR",
                        help="a folder with more plug-ins; may be repeated")
    parser.add_argument("--list", action="store_true", help="print the ids of the cells, and exit")
    parser.add_argument("--jobs", type=number(1, 64), default=len(os.sched_getaffinity(0)),
                        metavar="N", help="cells at a time (default: the number of processors)")
    parser.add_argument("--seed", type=number(0, 2**32 - 1), default=1, metavar="N",
                        help="decides the combinations and all random choices (default: 1)")
    parser.add_argument("--attempts", type=number(1, 9), default=1, metavar="N",
                        help="attempts of a cell that is an infrastructure error (default: 1; 2 "
                        "with a guest)")
    parser.add_argument("--no-capture", action="store_true", help="do not capture packets")
    parser.add_argument("--output", metavar="DIR", help="the folder for the results, new or empty "
                        "(default: build/interop-matrix/ID)")
    parser.add_argument("-q", "--quiet", action="store_true", help="print only unexpected results")
    return parser.parse_args(arguments)


def number(least, most):
    def convert(text):
        if not re.fullmatch(r"[0-9]{1,10}", text) or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r}: expected a number from {least} to {most}")
        return int(text)
    return convert


def main():
    options = parse(sys.argv[1:])
    sys.stdout.reconfigure(errors="backslashreplace")
    for number_ in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number_, interrupt)
    try:
        status = matrix(options)
        sys.stdout.flush()
        return status
    except (checked.Invalid, Usage) as error:
        return say(f"{error}", 2)
    except net.Trouble as error:
        return say(f"{error}", 3 if isinstance(error, net.Missing) else 4)
    except (KeyboardInterrupt, side.Stopped):
        return say("interrupted", 130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 4
    except OSError as error:
        return say(f"{error.filename}: {error.strerror}" if error.filename else error.strerror, 4)


def interrupt(*_):
    raise KeyboardInterrupt


def say(text, status):
    print(f"interop-matrix: {text}", file=sys.stderr)
    return status


# --- the run -----------------------------------------------------------------------------------


def matrix(options):
    profile = plan.load(find_profile(options.profile))
    expected = find_baseline(options.baseline, profile)
    folders = plugin.discover([os.path.join(SCRIPTS, "implementations"),
                               *map(existing, options.implementations)])
    cells = choose(profile, folders, options)
    if options.against:
        results.load(options.against)
    impairments = impairment.find(os.path.join(SCRIPTS, "impairments"),
                                  options.impair or dict.fromkeys(c.impairment for c in cells))
    if options.list:
        print("\n".join(c.id for c in cells))
        return 0
    if not options.only and not options.impair:
        for line in expected.unused({c.id for c in cells}):
            say(f"note: {line}", 0)
    return prepare(options, profile, expected, folders, cells, impairments)


def find_baseline(path, profile):
    if path:
        return baseline.load(path)
    return baseline.read(profile.expected) if profile.expected else baseline.Baseline()


def find_profile(name):
    if is_file(name):
        return name
    folder = os.path.join(SCRIPTS, "profiles")
    known = sorted(f.removesuffix(".yaml") for f in os.listdir(folder) if f.endswith(".yaml"))
    if name not in known:
        raise Usage(f"--profile {name}: expected one of {', '.join(known)}, or a file: NAME.yaml")
    return os.path.join(folder, f"{name}.yaml")


def is_file(profile):
    return "/" in profile or profile.endswith(".yaml")


def existing(folder):
    if not os.path.isdir(folder):
        raise Usage(f"--implementations {folder}: not a folder: expected a folder of plug-ins")
    if not plugin.discover([folder]):
        raise Usage(f"--implementations {folder}: no plug-in: expected a folder of plug-ins, each a "
                    "folder with the program `capabilities`")
    return folder


def choose(profile, folders, options):
    """Returns the cells of this run. Names of implementations that match nothing are an error."""
    for pattern in dict.fromkeys(p for b in profile.blocks for p in b.clients + b.servers):
        if not plan.matching(list(folders), [pattern]):
            raise Usage(f"profile {profile.name}: {pattern}: no such implementation: "
                        f"expected one of {', '.join(folders)}")
    if options.impair:
        names = [os.path.basename(f).removesuffix(".yaml") for f in options.impair]
        for block in profile.blocks:
            block.impairments = names
    cells = plan.cells(profile, list(folders), options.seed)
    for pattern in options.only:
        try:
            if not any(plan.matches(c.id, pattern) for c in cells):
                raise Usage(f"--only {pattern}: no cell of profile {profile.name} matches: "
                            "expected an id, as --list prints them")
        except re.error as error:
            raise Usage(f"--only {pattern}: {error}: expected a regular expression") from None
    return [c for c in cells if plan.chosen(c.id, options.only)]


def prepare(options, profile, expected, folders, cells, impairments):
    """Makes the folder of the run, asks the plug-ins, boots a guest if necessary; then runs."""
    missing = net.cannot()
    if missing:
        become_root()
        return say(missing, 3)
    environment = make_environment()
    impairment.check(impairments)
    run_id = run.new_id()
    output = make_output(options.output or os.path.join(TOP, "build", "interop-matrix", run_id))
    log = os.path.join(output, "plug-ins.txt")
    wanted = guest.wanted(options.guests)
    environment.update(wanted.environment())
    used = {name for c in cells for name in (c.client, c.server)}
    plugins = {name: plugin.load(name, folders[name], environment, log) for name in folders
               if name in used}
    context = run.Context(plugins, impairments, environment, output, options.seed, options.attempts,
                          can_capture(options), None, rerun_command(options))
    try:
        boot(options, context, wanted, log)
        if context.guest and any(c.test.operation in guest.EXTRA for c in cells):
            context.guest.add_extra(log)
        for item in plugins.values():
            if not item.unavailable and not item.broken:
                plugin.ask_version(item, environment, log)
        return execute(options, profile, expected, cells, context, run_id)
    finally:
        if context.guest:
            context.guest.down()


def boot(options, context, wanted, log):
    """Boots a guest if a plug-in needs one. If this fails, only the cells of these plug-ins cannot
    run, unless the user insists on the guest."""
    plugins = [p for p in context.plugins.values()
               if p.kind == "guest" and not p.unavailable and not p.broken]
    if not plugins:
        return
    try:
        context.guest = wanted.up(context.environment, log)
    except net.Trouble as trouble:
        if options.guests == "on":
            raise
        for item in plugins:
            item.unavailable = f"needs guest: {str(trouble).removeprefix('needs guest: ')}"


def can_capture(options):
    """In a user namespace tcpdump cannot change to its own user, and ends."""
    if options.no_capture:
        return False
    missing = "without root" if "IW_MATRIX_USER" in os.environ else \
        "" if net.find("tcpdump") else "tcpdump is not installed"
    if missing:
        say(f"note: no captures: {missing}", 0)
    return not missing


def become_root():
    """An ordinary user has the rights for namespaces in a user namespace: continues in one, if this
    is possible and not done yet."""
    apart = ["unshare", "--user", "--map-root-user"]
    if os.geteuid() == 0 or "IW_MATRIX_USER" in os.environ or \
            subprocess.run([*apart, "--net", "true"], capture_output=True).returncode:
        return
    os.environ["IW_MATRIX_USER"] = "yes"
    os.execvp("unshare", [*apart, sys.executable, *sys.argv])


def make_output(path):
    if os.path.exists(path) and (not os.path.isdir(path) or os.listdir(path)):
        raise Usage(f"--output {path}: is in use: expected a new or an empty folder")
    os.makedirs(path, exist_ok=True)
    return os.path.abspath(path)


def make_environment():
    build = os.environ.get("IW_BUILD", os.path.join(TOP, "build"))
    path = [build, os.path.join(build, "tests", "interop"),
            os.environ.get("PATH", "/usr/bin:/bin"), "/usr/sbin", "/sbin"]
    os.environ["PATH"] = ":".join(path)
    return {**os.environ, "IW_TOP": TOP, "IW_BUILD": build, "LC_ALL": "C.UTF-8",
            "IW_LIB": os.path.join(SCRIPTS, "implementations", "lib.sh")}


def rerun_command(options):
    """Returns how the commands begin that run a cell again, in the top folder of the tree."""
    words = ["scripts/interop-matrix", "--profile",
             from_top(options.profile) if is_file(options.profile) else options.profile]
    for folder in options.implementations:
        words += ["--implementations", from_top(folder)]
    for file in options.impair:
        words += ["--impair", from_top(file) if file.endswith(".yaml") else file]
    build = os.environ.get("IW_BUILD")
    return (f"IW_BUILD={shlex.quote(os.path.abspath(build))} " if build else "") + shlex.join(words)


def from_top(path):
    path = os.path.abspath(path)
    return os.path.relpath(path, TOP) if path.startswith(TOP + os.sep) else path


def execute(options, profile, expected, cells, context, run_id):
    began, clock = time.time(), time.monotonic()
    os.environ["PATH"] = context.environment["PATH"]
    report = Report(expected, len(cells), options.quiet)
    entries = run.run_all(cells, context, options.jobs, report)
    facts = run.facts(run_id, began, time.monotonic() - clock,
                      shlex.join(["scripts/interop-matrix", *sys.argv[1:]]), options.seed, profile,
                      TOP)
    if side.stopping.is_set():
        facts["not_run"] = [*facts["not_run"], {"row": plural(len(cells) - len(entries), "cell"),
                                                "reason": "the run was interrupted"}]
    run.write(os.path.join(context.output, "result.json"),
              run.result(facts, cells, context, entries))
    page = write_reports(context.output, options)
    status = report.summary(entries, facts["seconds"], page)
    return say("interrupted", 130) if side.stopping.is_set() else status


def write_reports(output, options):
    """Writes the page and the other forms of result.json. Returns the best one for people."""
    try:
        from matrix import report
    except ImportError as error:
        say(f"no page: {error} (scripts/packages --install fabric)", 0)
        return os.path.join(output, "result.json")
    against = options.against or \
        (options.baseline if options.baseline and baseline.is_run(options.baseline) else None)
    report.write_all(output, against, find_history(output, options))
    return os.path.join(output, "index.html")


def find_history(output, options):
    """A run in the default folder has its predecessors as its history."""
    if options.history:
        return options.history
    return [] if options.output else [os.path.dirname(output)]


class Report:
    """What the user sees while cells end, and at the end."""

    def __init__(self, expected, count, quiet):
        self.expected = expected
        self.count = count
        self.quiet = quiet

    def __call__(self, entry, number_):
        judged = self.expected.judge(entry)
        if self.quiet and judged == "expected":
            return
        # Without a baseline the result says everything.
        mark = "" if judged == "expected" or self.expected.is_empty() else f" ({judged})"
        reason = f": {entry['reason']}" if entry["reason"] else ""
        print(f"{number_}/{self.count} {entry['result']}{mark} {entry['id']}"
              f" {entry['seconds']:.1f} s{reason}", flush=True)

    def summary(self, entries, seconds, page):
        """Prints the counts and the cells that need attention. Returns the exit status."""
        seen = [entry["result"] for entry in entries]
        print(f"{plural(len(entries), 'cell')} in {seconds:.0f} s: {seen.count('pass')} passed, "
              f"{seen.count('fail')} failed, {seen.count('unsupported')} unsupported, "
              f"{plural(seen.count('error'), 'infrastructure error')}")
        judged = [self.expected.judge(entry) for entry in entries]
        for judgement in ("worse", "better"):
            self.list_cells(judgement, [e for e, is_ in zip(entries, judged) if is_ == judgement],
                            page)
        print(f"results: {page}")
        if not side.stopping.is_set() and set(seen) == {"unsupported"}:
            return say(f"no cell can run here: {entries[0]['reason']}", 3)
        return 1 if "worse" in judged else 0

    def list_cells(self, judgement, entries, page):
        if not entries:
            return
        print("failures and errors:" if self.expected.is_empty() else
              f"{len(entries)} {judgement} than expected:")
        for entry in entries[:SHOWN]:
            print(f"  {entry['result']}: {entry['rerun']}")
        if len(entries) > SHOWN:
            print(f"  and {len(entries) - SHOWN} more: see {page}")


def plural(number_, noun):
    return f"{number_} {noun}{'' if number_ == 1 else 's'}"
