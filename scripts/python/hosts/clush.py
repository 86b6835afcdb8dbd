# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The launcher that runs commands through ssh, with ClusterShell.

Each host gets one ssh connection (a ControlMaster), which all commands on this host share: logging
in takes longer than most commands. A master ends with this process, also if that is killed; the
commands on the hosts then end too (bench.guarded).
"""

import glob
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time

try:
    from ClusterShell.Event import EventHandler
    from ClusterShell.NodeSet import NodeSet, NodeSetException
    from ClusterShell.Task import task_self
except ImportError:
    EventHandler = object
    NodeSet = None

from fabric.errors import Cannot, Failed, Wrong
from hosts import bench
from hosts.session import Command

TICK = 0.2  # seconds between two checks of the deadlines
CONNECTIONS = 4096  # at the same time: every host has a server and clients
CONNECT = 15  # seconds until ssh has connected
FOLDER = "/tmp/iwarp-ssh"  # of control sockets, whose paths must be short
SSH = "-oBatchMode=yes -oConnectTimeout=10 -oServerAliveInterval=2 -oServerAliveCountMax=3"


def check():
    """Raises Cannot without ClusterShell."""
    if NodeSet is None:
        raise Cannot("needs clustershell: python3-clustershell is not installed; run "
                     "scripts/packages --install hosts")


def expand(text):
    """Returns the names of a set such as node[1-4],login, or of the lines of a file."""
    names = lines_of(text) if os.path.isfile(text) else [text]
    for first, last in re.findall(r"[\[,]([0-9]{1,20})-([0-9]{1,20})", " ".join(names)):
        if int(last) - int(first) >= CONNECTIONS:  # NodeSet would need the memory for all of them
            raise Wrong(f"--hosts {text}: {first}-{last}: expected at most {CONNECTIONS} hosts")
    try:
        nodes = NodeSet.fromlist(names)
    except NodeSetException as error:
        raise Wrong(f"--hosts {text}: {error}: expected hosts such as node[1-4]") from None
    if len(nodes) > CONNECTIONS:
        raise Wrong(f"--hosts {text}: {len(nodes)}: expected at most {CONNECTIONS} hosts")
    for name in nodes:
        if name.startswith("-"):  # ssh would take it as an option
            raise Wrong(f"--hosts {text}: \"{name}\": expected the name of a host")
    return list(nodes)


def lines_of(path):
    """Returns the lines of a file but comments."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = [line.strip() for line in file]
    except (OSError, UnicodeDecodeError) as error:
        raise Wrong(f"--hosts {path}: {error}: expected a file with one host in each line") \
            from None
    return [line for line in lines if line and not line.startswith("#")]


class Events(EventHandler):
    """Passes the events of one command to its session."""

    def __init__(self, command, session):
        super().__init__()
        self.command = command
        self.session = session

    def ev_read(self, worker, node, sname, msg):
        lines = self.command.output if sname == "stdout" else self.command.errors
        lines.append(msg.decode(errors="replace"))
        self.session.resume()

    def ev_hup(self, worker, node, rc):
        self.command.status = rc

    def ev_close(self, worker, timedout):
        if self.command.status is None:
            self.command.status = 255
        self.session.resume()


class Ticks(EventHandler):
    def __init__(self, session):
        super().__init__()
        self.session = session

    def ev_timer(self, timer):
        self.session.resume()


class Masters:
    """The ssh connections to all hosts. options: words for ssh."""

    def __init__(self, hosts, options):
        clear_stale()
        self.folder = tempfile.mkdtemp(prefix=f"{FOLDER}-{os.getuid()}-{os.getpid()}-")
        self.path = os.path.join(self.folder, "%C")
        self.processes = {host: subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", "ssh", *options, "-M", "-N", "-S", self.path,
             "-oPermitLocalCommand=yes", f"-oLocalCommand=touch {self.folder}/up-$PPID", host],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            for host in hosts}

    def wait(self):
        """Waits until all hosts are connected. Raises Failed with the first that is not."""
        end = time.monotonic() + CONNECT
        for host, process in self.processes.items():
            while not os.path.exists(f"{self.folder}/up-{process.pid}"):
                if process.poll() is not None:
                    said = process.stderr.read().decode(errors="replace").split("\n")
                    raise Failed(f"{host}: {bench.reason(process.returncode, said)}")
                if time.monotonic() > end:
                    raise Failed(f"{host}: ssh has not connected after {CONNECT} s")
                time.sleep(0.02)

    def close(self):
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(2)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stderr.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def clear_stale():
    """Removes the folders of this user's processes that were killed."""
    for folder in glob.glob(f"{FOLDER}-{os.getuid()}-*-*"):
        pid = folder.removeprefix(f"{FOLDER}-{os.getuid()}-").split("-")[0]
        if not os.path.exists(f"/proc/{pid}"):
            shutil.rmtree(folder, ignore_errors=True)


class Launcher:
    """config: a file for `ssh -F`, or None."""

    def __init__(self, hosts, config):
        options = [*(["-F", config] if config else []), *SSH.split()]
        self.masters = Masters(hosts, options)
        self.task = task_self()
        self.task.set_info("fanout", CONNECTIONS)
        self.task.set_info("ssh_options",
                           shlex.join([*options, f"-oControlPath={self.masters.path}"]))
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

    def connect(self):
        self.masters.wait()

    def run(self, session):
        self.task.timer(TICK, Ticks(session), interval=TICK, autoclose=True)
        self.task.resume()

    def abort(self):
        if not self.aborted:
            self.aborted = True
            self.task.abort()

    def close(self):
        self.masters.close()
