# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""ddp-impair between a client and a listener: runs it, and records the faults that it injects."""

import json
import os
import signal
import threading
import time

import ports
from tools import POLL_SECONDS, Tool

START_ATTEMPTS = 5
END_SECONDS = 10
STRIKES_MAX = 8  # lines of the record; a fault may strike some hundred times


class Stage:
    """Rules for one run of ddp-impair. With trigger, the number of a rule from 1, the first decision
    of this rule ends the run, all connections with it; after pause seconds the next stage begins on
    the same port. The last stage is followed by one without rules."""

    def __init__(self, rules, trigger=None, pause=0.0):
        self.rules = rules
        self.trigger = trigger
        self.pause = pause


class Middle:
    """port: where the client connects."""

    def __init__(self, build, directory, plan, to_port, stages):
        self.build = build
        self.directory = directory
        self.plan = plan
        self.to_port = to_port
        self.stages = list(stages)
        self.strikes = []  # a line for each fault that was injected
        self.last_fault = 0.0  # time.monotonic() of the end of the last one
        self.broken = None  # the middle's own failure
        self.stopping = threading.Event()
        self.tool = None
        self.runs = 0
        self.port = None
        self.thread = threading.Thread(target=self.follow, daemon=True)

    # --- runs of ddp-impair -----------------------------------------------------------------

    def start(self):
        for _ in range(START_ATTEMPTS):
            self.port = ports.free(self.plan.socket_type())
            if self.run():
                self.thread.start()
                return
        raise OSError("ddp-impair does not start: " + self.tool.messages())

    def run(self):
        """Starts ddp-impair with the rules of the present stage; True if it is ready."""
        name = f"middle-{self.runs}"
        self.runs += 1
        rules = os.path.join(self.directory, name + ".rules")
        with open(rules, "w", encoding="utf-8") as f:
            f.writelines(line + "\n" for line in (self.stages[0].rules if self.stages else []))
        self.tool = Tool(self.build, [
            "ddp-impair", "--json", "--seed", str(self.plan.seed + 1), "--rules", rules,
            "-t", "tcp" if self.plan.tcp() else "udp", "--listen", f"{ports.HOST}:{self.port}",
            "--to", f"{ports.HOST}:{self.to_port}"], self.directory, name)
        return self.tool.wait_ready()

    def stop(self):
        """Ends ddp-impair, and all connections through it."""
        if self.stopping.is_set() or not self.tool:
            return
        self.stopping.set()
        if self.thread.ident:
            self.thread.join()
        self.end_tool()

    def end_tool(self):
        early = self.tool.ended()
        self.tool.signal(signal.SIGTERM)
        if not self.tool.wait(END_SECONDS):
            self.broken = f"ddp-impair did not end within {END_SECONDS} s"
            self.tool.kill()
        elif early or self.tool.status() != 0 or self.tool.sanitizer_found():
            self.broken = f"ddp-impair ended with {self.tool.status()}: {self.tool.messages()}"

    # --- what it reports --------------------------------------------------------------------

    def follow(self):
        """Reads the events of all runs until the end."""
        while not self.stopping.is_set() and not self.broken:
            with open(self.tool.out, encoding="utf-8") as lines:
                self.read_run(lines)

    def read_run(self, lines):
        """Reads the events of one run; returns at its end."""
        part = ""
        while not self.stopping.is_set():
            part += lines.readline()
            if not part.endswith("\n"):
                time.sleep(POLL_SECONDS)
            elif self.read_event(json.loads(part)):
                self.next_stage()
                return
            else:
                part = ""

    def read_event(self, event):
        """Returns True if this stage is over."""
        if event["event"] != "decision":
            return False
        self.last_fault = max(self.last_fault,
                              time.monotonic() + event.get("wait_ns", 0) / 1e9)
        if len(self.strikes) < STRIKES_MAX:
            self.strikes.append("connection {connection}, from the {from}, {unit} {number}: "
                                "{action}".format(**event))
        return bool(self.stages) and event["rule"] == self.stages[0].trigger

    def next_stage(self):
        stage = self.stages.pop(0)
        self.tool.kill()
        self.stopping.wait(stage.pause)
        if not self.stopping.is_set() and not self.run():
            self.broken = "ddp-impair does not start again: " + self.tool.messages()
        self.last_fault = max(self.last_fault, time.monotonic())
