# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs one round and judges it."""

import os
import shutil
import signal
import time

import ports
import tree
from tools import POLL_SECONDS, Tool

PATIENCE = 3  # the client must end within this many --timeout after the last fault
SLACK_SECONDS = 1.0  # extra time for a loaded machine
LATEST = 10  # a late client is killed after this many
TOTAL_SECONDS = 60
LISTENER_END_SECONDS = 15
START_ATTEMPTS = 5

COMPLETE, CLEAN, WRONG, HANG = "complete", "clean failure", "wrong", "hang"


class Result:
    """problems: a list of (WRONG or HANG, text). longest: how long after the last fault the
    client ended, in units of --timeout."""

    def __init__(self, plan):
        self.kind = plan.kind
        self.seed = plan.seed
        self.plan = str(plan)
        self.redial = plan.redial
        self.outcome = None
        self.resumed = False
        self.longest = 0.0
        self.seconds = 0.0
        self.strikes = []
        self.message = ""
        self.problems = []

    def wrong(self, text):
        self.problems.append((WRONG, text))

    def hang(self, text):
        self.problems.append((HANG, text))

    def verdict(self):
        """The worst outcome."""
        found = [what for what, _ in self.problems]
        return WRONG if WRONG in found else HANG if HANG in found else self.outcome


class Round:
    """source: the directory that has the tree."""

    def __init__(self, plan, build, source, directory):
        self.plan = plan
        self.build = build
        self.source = source
        self.directory = directory
        self.target = os.path.join(directory, "target")
        self.result = Result(plan)
        self.listener = self.middle = self.client = None

    def run(self):
        start = time.monotonic()
        os.makedirs(self.target)
        try:
            self.run_steps()
        finally:
            self.end_all()
        self.result.seconds = time.monotonic() - start
        return self.result

    def run_steps(self):
        port = self.start_listener()
        self.middle = self.plan.make_middle(self.build, self.directory, port)
        self.middle.start()
        self.client = self.start_client(self.middle.port, "client")
        self.transfer()
        self.result.strikes = list(self.middle.strikes)
        if self.middle.broken:
            self.result.wrong("the middle failed: " + self.middle.broken)
        self.judge(port)
        self.end_listener()

    def start_listener(self):
        """Tries other ports, because a port that was free may be in use when the listener binds it."""
        for _ in range(START_ATTEMPTS):
            port = ports.free(self.plan.socket_type())
            command = self.plan.listener(port, self.source, self.target)
            self.listener = Tool(self.build, command, self.directory, "listener")
            if self.listener.wait_ready():
                return port
            self.listener.kill()
        raise OSError("the listener does not start: " + self.listener.messages())

    def start_client(self, port, name):
        command = self.plan.client(port, self.source, self.target)
        return Tool(self.build, command, self.directory, name)

    # --- the transfer with faults ----------------------------------------------------------

    def transfer(self):
        """Waits for the client's end. A late client gets some more time, to see whether it
        ends at all."""
        while not self.client.ended() and not self.too_late(LATEST):
            time.sleep(POLL_SECONDS)
        ended = self.client.ended()
        if not ended:
            self.client.kill()
        self.result.longest = max(0.0, self.client.end - self.last_event()) / self.plan.timeout
        if self.too_late(PATIENCE):
            self.result.hang("the client %s %.1f timeouts after the last fault, %.1f s in all" % (
                "ended" if ended else "was still running", self.result.longest,
                self.client.end - self.client.start))

    def last_event(self):
        return max(self.client.start, self.middle.last_fault)

    def too_late(self, timeouts):
        """Returns True if the client ended, or still runs, later than it may."""
        end = self.client.end or time.monotonic()
        if end > self.client.start + TOTAL_SECONDS:
            return True
        return self.plan.has_last_fault() and \
            end > self.last_event() + timeouts * self.plan.timeout + SLACK_SECONDS

    # --- the verdict -------------------------------------------------------------------------

    def judge(self, port):
        if self.client.status() == 0:
            self.judge_success()
        else:
            self.judge_failure(port)
        for tool in (self.client, self.listener):
            if tool.sanitizer_found():
                self.result.wrong(f"{tool.command[0]}: a sanitizer found a fault")

    def judge_success(self):
        self.result.outcome = COMPLETE
        self.check(tree.check_complete, "status 0")

    def judge_failure(self, port):
        self.result.outcome = CLEAN
        self.result.message = self.client.messages()
        self.check(tree.check_partial, f"status {self.client.status()}")
        if self.result.problems:
            return  # wrong, or a hang that was ended above
        if self.client.status() < 0:
            self.result.wrong(f"the client ended by signal {-self.client.status()}")
        elif not self.result.message:
            self.result.wrong(f"status {self.client.status()} without a message; standard output: "
                              + self.client.text(self.client.out))
        elif self.plan.must_complete():
            self.result.wrong(f"status {self.client.status()}, but this kind must complete")
        self.resume(port)

    def check(self, compare, when):
        for text in compare(self.source, self.target):
            self.result.wrong(f"{when}: {text}")

    def resume(self, port):
        """Runs the same command again, without faults."""
        if not self.plan.linger:
            self.middle.stop()
        again = self.start_client(port, "again")
        if not again.wait(TOTAL_SECONDS):
            again.kill()
            self.result.hang(f"the second command did not end within {TOTAL_SECONDS} s")
            return
        if again.status() != 0:
            self.result.wrong(f"the second command ended with {again.status()}: "
                              + again.messages())
        self.check(tree.check_complete, "after the second command")
        self.result.resumed = not self.result.problems

    # --- clean-up ----------------------------------------------------------------------------

    def end_listener(self):
        if self.listener.ended():
            self.result.wrong(f"the listener ended with status {self.listener.status()}: "
                              + self.listener.messages())
            return
        self.listener.signal(signal.SIGTERM)
        if not self.listener.wait(LISTENER_END_SECONDS):
            self.result.wrong(f"the listener did not end within {LISTENER_END_SECONDS} s")
        elif self.listener.status() != 0:
            self.result.wrong(f"the listener ended with status {self.listener.status()} "
                              "after SIGTERM: " + self.listener.messages())

    def end_all(self):
        for tool in (self.client, self.listener):
            if tool:
                tool.kill()
        if self.middle:
            self.middle.stop()

    def remove(self):
        shutil.rmtree(self.directory, ignore_errors=True)
