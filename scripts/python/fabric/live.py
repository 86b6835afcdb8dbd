# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A running fabric.

    with Fabric(topology.load(path)) as net:      # up; down at the end, also after an exception
        net.run(host, argv, timeout)              # subprocess.CompletedProcess with text
        net.popen(host, argv)                     # subprocess.Popen; down ends it
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
import subprocess
import sys

from . import build, errors, labels, processes, relays, remote, state

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
        self.record = None
        self.counters = {}

    def __enter__(self):
        self.up()
        return self

    def __exit__(self, *_):
        self.down()

    # --- up and down ---------------------------------------------------------------------------

    def up(self):
        """Raises errors.Failed if the label is in use; is_up() tells."""
        claim(self.label)
        try:
            build.Builder(self).build()
            if self.owner:
                start_supervisor(self.label, self.owner)
        except BaseException:
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
            output, errors = process.communicate(stdin or "", timeout)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            process.communicate()
            raise
        return subprocess.CompletedProcess(argv, process.returncode, output, errors)

    def wait_listening(self, host, port, transport="tcp", seconds=15):
        """Waits until a program on the host listens to this port. transport: tcp or udp. Raises
        errors.Failed after the time."""
        argv = ["ss", "-Hln", "-t" if transport == "tcp" else "-u", f"sport = :{port}"]
        if not processes.wait_until(lambda: self.run(host, argv).stdout, seconds, 0.02):
            raise errors.Failed(f"{host}: no program listens to {transport} port {port} after "
                               f"{seconds} s")


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


def claim(label):
    """Makes the state file. Removes what a killed `up` left. Raises errors.Failed if the label is
    in use."""
    with state.lock():
        claim_locked(label)


def claim_locked(label):
    record = state.read(label)
    if record and state.is_alive(record):
        now = "is up already" if record["status"] == "up" else \
            f"process {record['pid']} is making it"
        raise errors.Failed(f"{label}: {now}; run scripts/fabric down, or use another --label")
    other = state.elsewhere(label)
    if other:
        raise errors.Failed(f"{label}: in use, see {other}; use another --label")
    take_down(label)
    state.create(label, {"label": label, "status": "starting", "pid": os.getpid(),
                         "start": processes.start_time(os.getpid())})


def take_down(label):
    """Removes everything of a fabric, whether it is complete or not. Returns the counters of its
    relays, by link."""
    record = state.read(label) or {}
    if record.get("remote"):
        targets = [host["ssh"] for host in record["hosts"].values()]
        for target, reason in remote.end(label, targets):
            errors.warn(f"{label}: {target}: processes of exec may be left: {reason}")
    namespaces = state.find_namespaces(label, record)
    names = state.names_of(label, namespaces)
    inodes = {namespaces.inode(name) for name in names}
    running = [relay for relay in record.get("relays", [])
               if processes.start_time(relay["pid"]) == relay["start"]]
    counters = relays.stop([relay["pid"] for relay in running],
                           {relay["link"]: relay["log"] for relay in running})
    rest = processes.end(lambda: processes.processes_of(label, inodes))
    if namespaces.holder is None:
        namespaces.batch([f"netns delete {name}" for name in names])
    state.remove(label)
    if rest:
        raise errors.Failed(f"{label}: processes do not end: {', '.join(map(str, sorted(rest)))}")
    return counters


def start_supervisor(label, owner):
    """Starts a process that takes the fabric down when `owner` ends."""
    program = os.path.join(relays.TOP, "scripts", "fabric")
    subprocess.Popen([sys.executable, program, "supervise", label, str(owner)],
                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                     stderr=subprocess.DEVNULL, start_new_session=True,
                     env=labels.environment(label))
