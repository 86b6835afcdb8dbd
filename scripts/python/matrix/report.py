# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Writes the results of a run in every form: result.md, result.csv, result.junit.xml, index.html.

write_all() is for the runner, main() is scripts/interop-report.
"""

import argparse
import os
import signal
import sys
import tempfile

from checked import Invalid

from . import compare, junit, page, results, tables

DESCRIPTION = """\
Writes the results of a run of the interop matrix next to its result.json:

  index.html         one page that needs no network
  result.md          tables for a README
  result.csv         one line for each cell
  result.junit.xml   for continuous integration
"""
EPILOG = """\
exit status:
  0  written; with --against: nothing is worse than in the other run
  1  written; with --against: new failures or errors
  2  wrong usage, or a result.json that is not one
  3  a Python package is missing
  4  the files cannot be written
  130  interrupted

examples:
  scripts/interop-report results/20261127T101500Z-1f2e
  scripts/interop-report results/new --against results/old
  scripts/interop-report results/new --history results
"""

SHOWN = 20  # cells that only one of two runs has, in the text
LABELS = {
    "failures": ("new failure", "new failures"), "errors": ("new error", "new errors"),
    "repairs": ("repaired", "repaired"), "others": ("changed", "changed otherwise"),
    "appeared": ("appeared", "appeared"), "disappeared": ("disappeared", "disappeared"),
}


def write_all(directory, against=None, history=()):
    """Writes all forms into `directory`, which holds result.json. against: another run to compare
    with. history: earlier runs, or folders of them; the run itself and unreadable runs may be among
    them. Returns compare.difference(), or None without `against`. Raises Invalid, OSError."""
    document = results.load(directory)
    directory = os.path.dirname(results.path_of(directory)) or "."
    earlier, problems = load_history(history)
    old = results.load(against) if against else None
    change = compare.difference(old, document, earlier) if old else None
    write(directory, "result.md", tables.markdown(document, change))
    write(directory, "result.csv", tables.comma_separated(document))
    write(directory, "result.junit.xml", junit.xml(document))
    write(directory, "index.html", page.html(document, old, change, earlier))
    for problem in problems:
        print(f"interop-report: left out of the history: {printable(str(problem))}",
              file=sys.stderr)
    return change


def load_history(folders):
    """Runs that cannot be read are left out: an interrupted run must not spoil the history."""
    documents, problems = [], []
    for folder in runs_below(folders):
        try:
            documents.append(results.load(folder))
        except Invalid as problem:
            problems.append(problem)
    return documents, problems


def runs_below(folders):
    """A folder without result.json means the runs in its folders."""
    for folder in folders:
        if not os.path.isdir(folder) or os.path.exists(results.path_of(folder)):
            yield folder
            continue
        inner = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
        yield from (path for path in inner if os.path.exists(os.path.join(path, results.NAME)))


def write(directory, name, content):
    """Replaces a file as a whole, so that a reader never sees a part of it."""
    handle, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=directory)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="\n") as file:
            os.fchmod(file.fileno(), 0o644)
            file.write(content)
        os.replace(temporary, os.path.join(directory, name))
    except BaseException:
        os.unlink(temporary)
        raise


def print_change(change):
    """The difference as text: a line for each change, then the counts."""
    for kind, (label, _) in LABELS.items():
        hidden = change[kind][SHOWN:] if kind in ("appeared", "disappeared") else []
        for cell in change[kind][:len(change[kind]) - len(hidden)]:
            results_of = " -> ".join(part for part in (cell["old"], cell["new"]) if part)
            reason = f": {cell['reason']}" if cell["reason"] else ""
            print(f"{label:<12} {printable(cell['id'])} ({results_of}){printable(reason)}")
        if hidden:
            print(f"{label:<12} {len(hidden)} more: see index.html")
    for cell in change["measurements"]:
        print(f"{'measurement':<12} {printable(cell['id'])}: {printable(cell['name'])} "
              f"x{cell['ratio']:.2f}, noise is up to x{cell['limit']:.2f}")
    print(", ".join(f"{len(change[kind])} {several}" for kind, (_, several) in LABELS.items())
          + f"; measurements beyond noise: {len(change['measurements'])}")


def printable(value):
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in value)


def arguments_of(words):
    parser = argparse.ArgumentParser(prog="interop-report", description=DESCRIPTION, epilog=EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", metavar="DIR", help="the folder of a run, with result.json")
    parser.add_argument("--against", metavar="OLD",
                        help="the folder of another run: show and print what has changed since")
    parser.add_argument("--history", metavar="DIR", nargs="+", default=[],
                        help="runs, or folders of runs: show the history of each cell")
    return parser.parse_args(words)


def main(words=None):
    """Returns the exit status."""
    arguments = arguments_of(words)
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        change = write_all(arguments.directory, arguments.against, arguments.history)
        if change is not None:
            print_change(change)
        sys.stdout.flush()
    except Invalid as problem:
        print(f"interop-report: {printable(str(problem))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interop-report: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 4
    except OSError as problem:
        where = problem.filename2 or problem.filename
        print(f"interop-report: {where}: {problem.strerror}", file=sys.stderr)
        return 4
    return 1 if change is not None and compare.worse(change) else 0
