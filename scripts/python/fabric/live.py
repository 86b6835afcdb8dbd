# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A running fabric.

    with Fabric(topology.load(path)) as net:      # up; down at the end, also after an exception
        net.run(host, argv, timeout)              # subprocess.CompletedProcess with text
        net.popen(host, argv)                     # subprocess.Popen; down ends it
        net.serve(host, argv, port)               # the same, and waits until a server listens there
        net.wait_listening(host, port)            # until a server listens there
        net.address(host), net.addresses(host)    # texts; see there
        net.command(host, argv)                   # (argv, environment), to start it in another way
    net.counters                                  # after down: the relays' lines of JSON, by link

A Fabric of a program has the label NAME-PID-N, so several can be up at a time. If the program is
killed, a supervisor process takes the fabric down. attach(label) returns a fabric that the command
line made. Raises errors.Cannot (no permission, no tool) and errors.Failed.

On each host /etc/hosts has the names of all hosts, the host name is the name in the file, and the
tools of the build folder are in PATH.
"""

import contextlib
import itertools
import os
import signal
import subprocess
import sys

from . import errors, labels, processes, relays, remote, state

ANSWER_SECONDS = 20  # until a host has run a short command
NUMBERS = itertools.count(1)
ENTER = """
mount --bind "$1" /etc/hosts 2>/dev/null
hostname "$2" 2>/dev/null
shift 2
command -v "$1" >/dev/null || { echo "fabric: exec: $1: no such command" >&2; exit 127; }
exec "$@"
"""


class Fabric:
    """See the module. topology: topology.Topology. owner: the process whose end takes the fabric
    down (default: this one); None: no such process."""

    def __init__(self, topology, label=None, owner=0):
        self.topology = topology
        self.label = label or f"{topology.label}-{os.getpid()}-{next(NUMBERS)}"
        self.owner = os.getpid() if owner == 0 else owner
        self.claimed = False
        self.record = None
        self.counters = {}

    def __enter__(self):
        self.up()
        return self

    def __exit__(self, *_):
        self.down()

    # --- up and down ---------------------------------------------------------------------------

    def up(self):
        """Raises errors.Failed if the label is in use: see is_up()."""
        from . import build  # only `up` needs it, see cli.py
        try:
            claim(self)
            if self.owner:  # before anything is made, so that kill -9 leaves nothing
                start_supervisor(self.label, self.owner)
            build.Builder(self).build()
        except BaseException:
            if self.claimed:
                self.down()
            raise

    def down(self):
        self.counters = take_down(self.label)

    def save(self):
        state.write(self.label, self.record)

    # --- hosts ---------------------------------------------------------------------------------

    def hosts(self):
        """Returns the names of the hosts, in the order of the file."""
        return [name for name, host in self.record["hosts"].items() if host["kind"] == "host"]

    def addresses(self, host, family=None):
        """Returns the addresses of a host as texts, interface after interface. family: 4 or 6."""
        return [one["address"] for one in self.interfaces(host)
                if family in (None, 6 if ":" in one["address"] else 4)]

    def address(self, host, source=None, family=None):
        """Returns the first address of a host; with `source`, if possible, one in a network that
        both hosts share."""
        own = [one for one in self.interfaces(host)
               if family in (None, 6 if ":" in one["address"] else 4)]
        shared = {one["prefix"] for one in self.interfaces(source)} if source else ()
        return next((one["address"] for one in own if one["prefix"] in shared), own[0]["address"])

    def interfaces(self, host):
        """Returns dicts with interface, address and prefix."""
        return self.host(host)["addresses"]

    def host(self, name):
        if name not in self.record["hosts"]:
            raise errors.Failed(f"{name}: not a host of {self.label}: expected one of "
                               f"{', '.join(list(self.record['hosts'])[:20])}")
        return self.record["hosts"][name]

    # --- commands ------------------------------------------------------------------------------

    def command(self, host, argv):
        """Returns the words and the environment that run a command on a host."""
        if self.host(host).get("ssh"):
            marked = ["env", f"IW_FABRIC={self.label}", f"IW_FABRIC_HOST={host}", *argv]
            return remote.command(self.host(host)["ssh"], marked), dict(os.environ)
        words = state.namespaces_of(self.record).enter(labels.namespace(self.label, host))
        words += ["unshare", "--mount", "--uts", "sh", "-c", ENTER, "sh",
                  os.path.join(labels.folder_of(self.label), "hosts"), host, *argv]
        environment = labels.environment(self.label)
        environment["IW_FABRIC_HOST"] = host
        if os.path.isdir(relays.build_folder()):
            environment["PATH"] = f"{relays.build_folder()}:{environment.get('PATH', '')}"
        return words, environment

    def popen(self, host, argv, **options):
        """Returns a Popen object; options are those of subprocess.Popen. `env` adds variables."""
        words, environment = self.command(host, argv)
        environment.update(options.pop("env", None) or {})
        options.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.Popen(words, env=environment, **options)

    def run(self, host, argv, timeout=60, stdin=None):
        """Returns a CompletedProcess with text output. After the timeout the command and its
        children are killed, and subprocess.TimeoutExpired is raised."""
        process = self.popen(host, argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, errors="replace",
                             start_new_session=True)
        try:
            output, said = process.communicate(stdin or "", timeout)
        except BaseException:
            kill(process)
            raise
        return subprocess.CompletedProcess(argv, process.returncode, output, said)

    def serve(self, host, argv, port, seconds=30):
        """Starts a command in the background, and returns its Popen object as soon as a program on
        the host listens to this TCP or UDP port. Its output is that of this process. Raises
        errors.Failed if the port is in use before, or if the command ends or the time is over
        before that. down() ends the command."""
        if self.listens(host, port):
            raise errors.Failed(f"{host}: port {port}: in use before {argv[0]} has started: "
                                "expected a free port")
        process = self.popen(host, argv, start_new_session=True)
        try:
            processes.wait_until(lambda: process.poll() is not None or self.listens(host, port),
                                 seconds, 0.02)
            if self.listens(host, port):  # the command, or a daemon that it has started
                return process
            what = f"does not listen to port {port} after {seconds} s"
            if process.poll() is not None:
                what = f"ended with status {process.returncode}: expected it to listen to {port}"
            raise errors.Failed(f"{host}: {argv[0]}: {what}")
        except BaseException:
            kill(process)
            raise

    def wait_listening(self, host, port, transport="tcp", seconds=15):
        """Waits until a program on the host listens to this port. transport: tcp or udp. Raises
        errors.Failed after the time."""
        if not processes.wait_until(lambda: self.listens(host, port, [transport]), seconds, 0.02):
            raise errors.Failed(f"{host}: no program listens to {transport} port {port} after "
                                f"{seconds} s")

    def listens(self, host, port, transports=("tcp", "udp")):
        """True if a program on the host listens to this port of one of these transports. Raises
        errors.Failed if the host does not answer."""
        argv = ["ss", "-Hln", *(f"--{one}" for one in transports), f"sport = :{port}"]
        try:
            done = self.run(host, argv, ANSWER_SECONDS)
        except subprocess.TimeoutExpired:
            raise errors.Failed(f"{host}: no answer within {ANSWER_SECONDS} s") from None
        if done.returncode:
            said = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
            raise errors.Failed(f"{host}: {said[-1]}")
        return bool(done.stdout.strip())


def kill(process):
    """Kills a process that leads a session, and its group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):  # a process of another group has the pipe
        process.communicate(timeout=5)


def attach(label):
    """Returns the Fabric that is up under this label. Raises errors.Failed."""
    record = state.read(label)
    if not record or record.get("status") != "up" or not state.is_alive(record):
        raise errors.Failed(f"{label}: not up: run scripts/fabric up FILE")
    net = Fabric(None, label, None)
    net.record = record
    return net


def is_up(label):
    record = state.read(label)
    return bool(record) and record.get("status") == "up" and state.is_alive(record)


def claim(net):
    """Makes the state file. Removes what a killed `up` left. Raises errors.Failed if the label is
    in use."""
    with state.lock():
        check_free(net.label)
        take_down(net.label)
        net.claimed = True
        state.create(net.label, {"label": net.label, "status": "starting", "pid": os.getpid(),
                                 "start": processes.start_time(os.getpid())})


def check_free(label):
    record = state.read(label)
    if record and state.is_alive(record):
        now = "is up already" if record["status"] == "up" else \
            f"process {record['pid']} is making it"
        raise errors.Failed(f"{label}: {now}; run scripts/fabric down, or use another --label")
    other = state.elsewhere(label)
    if other:
        raise errors.Failed(f"{label}: in use, see {other}; use another --label")


def take_down(label):
    """Removes everything of a fabric, whether it is complete or not. Returns the counters of its
    relays, by link."""
    record = state.read(label) or {}
    if record.get("remote"):
        targets = [host["ssh"] for host in record["hosts"].values()]
        for target, reason in remote.end(label, targets):
            errors.warn(f"{label}: {target}: processes of exec may be left: {reason}")
    namespaces = state.find_namespaces(label, record)
    running = [relay for relay in record.get("relays", [])
               if processes.start_time(relay["pid"]) == relay["start"]]
    counters = relays.stop([relay["pid"] for relay in running],
                           {relay["link"]: relay["log"] for relay in running})
    # A killed `up` can have left a command that still makes namespaces: it ends first.
    rest = processes.end(lambda: processes.processes_of(
        label, {namespaces.inode(name) for name in state.names_of(label, namespaces)}))
    if namespaces.holder is None:
        namespaces.delete(lambda: state.names_of(label, namespaces))
    state.remove(label)
    if rest:
        raise errors.Failed(f"{label}: processes do not end: {', '.join(map(str, sorted(rest)))}")
    return counters


def start_supervisor(label, owner):
    """Starts a process that takes the fabric down when `owner` ends."""
    program = os.path.join(relays.TOP, "scripts", "fabric")
    start = processes.start_time(owner)
    subprocess.Popen([sys.executable, program, "supervise", label, str(owner), str(start)],
                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                     stderr=subprocess.DEVNULL, start_new_session=True,
                     env=labels.environment(label))
