# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Damages the results of transfers without faults: the judge must detect each damage."""

import os
import signal

import tree
from one_round import CLEAN, COMPLETE, HANG, WRONG, Round
from plan import Plan

SMALL = b"t/two words"
BIG = b"t/a/big-0"


def path(round_, name):
    return os.path.join(os.fsencode(round_.target), name)


def rewrite(round_, name, change):
    """Changes a file, but not its time."""
    file = path(round_, name)
    times = os.stat(file)
    with open(file, "r+b") as f:
        change(f)
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


def invert_bit(f):
    f.seek(-1, os.SEEK_END)
    octet = f.read(1)[0]
    f.seek(-1, os.SEEK_END)
    f.write(bytes([octet ^ 1]))


def write_new(round_, name):
    with open(path(round_, name), "wb"):
        pass


def relink(round_):
    link = path(round_, b"t/a/link")
    os.remove(link)
    os.symlink(b"elsewhere", link)


def replace_by_directory(round_):
    os.remove(path(round_, SMALL))
    os.mkdir(path(round_, SMALL))


def end_listener(round_):
    round_.listener.kill()


# For each damage to the target: the expected verdicts about a complete and an incomplete transfer.
DAMAGES = {
    "nothing": (lambda r: None, COMPLETE, CLEAN),
    "a bit of a file": (lambda r: rewrite(r, BIG, invert_bit), WRONG, WRONG),
    "a shorter file": (lambda r: rewrite(r, BIG, lambda f: f.truncate(1000)), WRONG, WRONG),
    "a file that is missing": (lambda r: os.remove(path(r, SMALL)), WRONG, CLEAN),
    "a file of another name": (lambda r: os.rename(path(r, SMALL), path(r, b"t/other")),
                               WRONG, WRONG),
    "a file too many": (lambda r: write_new(r, b"other"), WRONG, WRONG),
    "a temporary": (lambda r: write_new(r, b"t/a/.iw-0123456789abcdef.part"), WRONG, CLEAN),
    "a journal": (lambda r: write_new(r, b"t/a/.iw-0123456789abcdef.journal"), WRONG, CLEAN),
    "the mode of a file": (lambda r: os.chmod(path(r, BIG), 0o640), WRONG, WRONG),
    "the mode of a directory": (lambda r: os.chmod(path(r, b"t/private"), 0o700), WRONG, CLEAN),
    "the time of a file": (lambda r: os.utime(path(r, SMALL), ns=(1, 1)), WRONG, WRONG),
    "a link": (relink, WRONG, WRONG),
    "the type of a file": (replace_by_directory, WRONG, WRONG),
    "the listener's end": (end_listener, WRONG, WRONG),
}


class Damaged(Round):
    """A round whose target is damaged before it is judged as complete."""

    damage = None

    def judge(self, port):
        self.damage(self)
        super().judge(port)


class DamagedPartial(Damaged):
    """The same, judged as incomplete."""

    def judge(self, port):
        self.damage(self)
        self.result.outcome = CLEAN
        self.check(tree.check_partial, "incomplete")


class Stopped(Round):
    """The client is stopped before it does anything."""

    def start_client(self, port, name):
        client = super().start_client(port, name)
        client.signal(signal.SIGSTOP)
        return client


class Killed(Round):
    """The client ends by a signal."""

    def start_client(self, port, name):
        client = super().start_client(port, name)
        client.kill()
        return client


def cases():
    """Yields a name, the class of the round, the damage and the correct verdict."""
    for name, (damage, complete, partial) in DAMAGES.items():
        yield name + ", complete", Damaged, damage, complete
        yield name + ", incomplete", DamagedPartial, damage, partial
    yield "a client that hangs", Stopped, None, HANG
    yield "a client that is killed", Killed, None, WRONG


def run(arguments, cache, work_directory):
    """Runs all cases. Returns True if each has the right verdict."""
    failed = 0
    for number, (name, class_, damage, expected) in enumerate(cases()):
        plan = Plan("tcp-none", number, 0.5)
        directory = os.path.join(work_directory, f"self-{number}")
        round_ = class_(plan, arguments.build, cache.get(0, False), directory)
        round_.damage = damage
        verdict = round_.run().verdict()
        round_.remove()
        failed += verdict != expected
        if verdict != expected or arguments.verbose:
            print(f"{name}: {verdict}, expected {expected}: {round_.result.problems}", flush=True)
    print(f"self-test: {number + 1} cases, {failed} failed")
    return not failed
