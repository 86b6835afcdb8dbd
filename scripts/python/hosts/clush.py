# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The launcher that runs commands through ssh, with ClusterShell."""

import os
import shlex

try:
    from ClusterShell.Event import EventHandler
    from ClusterShell.NodeSet import NodeSet, NodeSetException
    from ClusterShell.Task import task_self
except ImportError:
    EventHandler = object
    NodeSet = None

from hosts.errors import Cannot, Wrong
from hosts.session import Command

TICK = 0.2  # seconds between two looks at the deadlines
CONNECTIONS = 4096  # at the same time: every host has a server and clients
SSH = "-oBatchMode=yes -oConnectTimeout=10 -oServerAliveInterval=2 -oServerAliveCountMax=3"


def check():
    """Raises Cannot without ClusterShell."""
    if NodeSet is None:
        raise Cannot("needs clustershell: python3-clustershell is not installed; run "
                     "scripts/packages --install hosts")


def expand(text):
    """Returns the names of a set such as node[1-4],login, or of the lines of a file."""
    try:
        if os.path.isfile(text):
            with open(text, encoding="utf-8") as file:
                return list(NodeSet.fromlist(
                    [line.strip() for line in file if line.strip() and line[0] != "#"]))
        return list(NodeSet(text))
    except NodeSetException as error:
        raise Wrong(f"--hosts {text}: {error}: expected hosts such as node[1-4]") from None


class Events(EventHandler):
    """Passes the events of one command to its session."""

    def __init__(self, command, session):
        super().__init__()
        self.command = command
        self.session = session

    def ev_read(self, worker, node, sname, msg):
        lines = self.command.output if sname == "stdout" else self.command.errors
        lines.append(msg.decode(errors="replace"))
        self.session.poke()

    def ev_hup(self, worker, node, rc):
        self.command.status = rc

    def ev_close(self, worker, timedout):
        if self.command.status is None:
            self.command.status = 255
        self.session.poke()


class Ticks(EventHandler):
    def __init__(self, session):
        super().__init__()
        self.session = session

    def ev_timer(self, timer):
        self.session.poke()


class Launcher:
    """config: a file for `ssh -F`, or None."""

    def __init__(self, config):
        check()
        self.task = task_self()
        self.task.set_info("fanout", CONNECTIONS)
        self.task.set_info("ssh_options", (f"-F {shlex.quote(config)} " if config else "") + SSH)
        self.task.set_default("stdout_msgtree", False)
        self.task.set_default("stderr_msgtree", False)
        self.workers = {}
        self.aborted = False

    def start(self, host, shell, session):
        command = Command(host)
        self.workers[command] = self.task.shell(
            shell, nodes=host, handler=Events(command, session), stderr=True)
        return command

    def end(self, command):
        """The shell on the far host ends the command when its standard input ends."""
        self.workers[command].set_write_eof()

    def run(self, session):
        self.task.timer(TICK, Ticks(session), interval=TICK, autoclose=True)
        self.task.resume()

    def abort(self):
        if not self.aborted:
            self.aborted = True
            self.task.abort()

    def close(self):
        """Nothing to release: the connections end with their commands."""
