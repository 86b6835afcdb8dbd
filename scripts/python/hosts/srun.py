# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Starts one task on each host with Slurm's srun, and collects what the tasks print.

A task that dies ends the run: srun ends the others, and names it. Nothing is left: this process
ends srun, cancels the job by its name, and removes the board's directory. If this process is
killed, srun gets a signal, and a shell that waits for the end of this process removes the
directory.
"""

import os
import re
import selectors
import shutil
import subprocess
import tempfile
import time

from fabric.errors import Cannot, Failed, Wrong
from hosts import bench

TASK = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "hosts-task")
ALLOCATE = 20  # seconds until srun has its hosts
REMOVE = """
read -r line
for try in 1 2 3 4 5 6 7 8 9 10; do
    rm -rf -- "$1" 2>/dev/null && [ ! -e "$1" ] && exit
    sleep 1
done
"""
START = 40  # seconds until the first task has printed something
GRACE = 15  # seconds for srun to end
TICK = 0.5


def check(hosts):
    """Raises Cannot without Slurm, or if its controller does not answer; Wrong without --hosts,
    unless this process is in a job."""
    if not hosts and not os.environ.get("SLURM_JOB_NUM_NODES", "").isdigit():
        raise Wrong("--engine srun: no --hosts, and no job of Slurm around this: expected --hosts "
                    "N, or --hosts node[1-4]")
    if not shutil.which("srun"):
        raise Cannot("needs slurm: srun is not installed; install slurm-client, or use --engine "
                     "clush")
    _, output, errors = ask("scontrol", "ping")
    if not any(line.endswith("is UP") for line in output):  # one of several controllers is enough
        said = (errors or output or ["scontrol ping: no answer"])[-1]
        raise Cannot(f"needs slurm: {said}; see slurm.conf(5) and SLURM_CONF, or use --engine "
                     "clush")


def ask(*words):
    """Runs a command of Slurm. Returns its status (None: too slow), output and errors as lines."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=GRACE, check=False)
    except subprocess.TimeoutExpired as late:
        return None, [], (late.stderr or b"").decode(errors="replace").splitlines()
    except OSError as error:
        raise Cannot(f"needs slurm: {words[0]}: {error.strerror}") from None
    return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()


def has_pmix():
    """Returns whether srun lists PMIx. Whether its plug-in loads is known when a job starts."""
    status, output, errors = ask("srun", "--mpi=list")
    return status == 0 and any("pmix" in line for line in output + errors)


class NoPmix(Failed):
    """srun lists PMIx, but does not load it."""


def count_hosts(hosts):
    """Returns the number of hosts of --hosts, which is a number or a list of nodes."""
    if not hosts:
        return int(os.environ["SLURM_JOB_NUM_NODES"])
    if is_number(hosts):
        return int(hosts)
    status, names, _ = ask("scontrol", "show", "hostnames", hosts)
    if status or not names:
        raise Wrong(f"--hosts {hosts}: expected a number, or nodes such as node[1-4]")
    return len(names)


def is_number(text):
    return text.isascii() and text.isdigit()


class Run:
    """consumer(line): takes the JSON lines of the tasks."""

    def __init__(self, options, hosts, consumer):
        self.options = options
        self.settings = bench.Settings(options)
        self.hosts = hosts
        self.consumer = consumer
        self.name = f"iwarp-measure-{os.getpid()}"
        self.remover = None
        self.process = None
        self.seen = {}
        self.ended = set()
        self.messages = []

    def run(self):
        """Raises Failed if the measurement cannot be finished."""
        try:
            self.start()
            self.collect()
            status = self.process.wait(GRACE)
        except subprocess.TimeoutExpired:
            raise Failed("srun does not end") from None
        finally:
            self.close()
        if status or len(self.ended) < self.hosts:
            raise self.explain(status)

    def start(self):
        words = ["setpriv", "--pdeathsig", "TERM", "srun", "--job-name", self.name,
                 "--kill-on-bad-exit=1", "--wait=5", f"--immediate={ALLOCATE}", "--input=none",
                 "--nodes", str(self.hosts), "--ntasks", str(self.hosts), "--ntasks-per-node=1"]
        if self.options.hosts and not is_number(self.options.hosts):
            words += ["--nodelist", self.options.hosts]
        board = self.board()
        words += ["--mpi=pmix" if board == "pmix" else "--mpi=none"]
        words += [os.path.realpath(TASK), "--board", board, "--pattern",
                  str(self.options.pattern), *self.settings.words()]
        words += ["--network", str(self.options.network)] if self.options.network else []
        words += ["--", *self.options.extra] if self.options.extra else []
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, start_new_session=True)

    def board(self):
        """Returns "pmix", or the directory that it makes for the tasks to meet in."""
        board = self.options.board
        if board == "pmix" or board is None and has_pmix():
            return "pmix"
        parent = os.path.abspath(board or os.getcwd())
        try:
            folder = tempfile.mkdtemp(prefix="iwarp-board-", dir=parent)
        except OSError as error:
            raise Wrong(f"--board {parent}: {error.strerror}: expected a directory that all hosts "
                        "share") from None
        self.remover = subprocess.Popen(["sh", "-c", REMOVE, "sh", folder], stdin=subprocess.PIPE,
                                        start_new_session=True)
        return folder

    # --- the output of srun ----------------------------------------------------------------------

    def collect(self):
        """Reads until srun has closed its output. A time without any line is limited."""
        silence = 2 * START + self.settings.deadline(bench.LATENCY) + \
            self.settings.deadline(self.settings.mode)
        partial = {self.process.stdout: b"", self.process.stderr: b""}
        last = time.monotonic()
        with selectors.DefaultSelector() as selector:
            for stream in partial:
                selector.register(stream, selectors.EVENT_READ)
            while partial:
                ready = selector.select(TICK)
                last = time.monotonic() if ready else last
                for key, _ in ready:
                    if not self.read(key.fileobj, partial):
                        selector.unregister(key.fileobj)
                if time.monotonic() - last > (silence if self.seen else START):
                    raise Failed(self.silent())

    def read(self, stream, partial):
        """Takes the lines that came. Returns False at the end of the stream."""
        data = os.read(stream.fileno(), 65536)
        *lines, rest = (partial[stream] + data).split(b"\n")
        for line in lines:
            self.take(line.decode(errors="replace"))
        partial[stream] = rest
        if not data:
            del partial[stream]
        return bool(data)

    def take(self, text):
        line = bench.parse(text)
        if not line or "event" not in line:
            self.messages.append(text)
            return
        if line["event"] == "task":
            self.seen[line["task"]] = line["name"]
        elif line["event"] == "end":
            self.ended.add(line["task"])
        self.consumer(line)

    # --- failures --------------------------------------------------------------------------------

    def silent(self):
        if not self.seen:
            return f"no task has started after {START} s: {self.last_message()}"
        names = [name for task, name in sorted(self.seen.items()) if task not in self.ended]
        return f"no news from {', '.join(names)}: {self.last_message()}"

    def last_message(self):
        return self.messages[-1] if self.messages else "srun says nothing"

    def explain(self, status):
        """Returns the error that names the host and the task that failed first."""
        if not self.seen and any(re.search("PMIx library|MPI type|MPI: Unable", message)
                                 for message in self.messages):
            return NoPmix(f"--board pmix: {self.messages[0]}; install libpmix-dev on all hosts, or "
                          "use --board DIR")
        for find in (launch_failed, task_failed, other_trouble):
            if found := next(filter(None, map(find, self.messages)), None):
                return Failed(found if self.seen else f"--hosts {self.options.hosts}: {found}")
        return Failed(f"srun: exit status {status}: {self.last_message()}")

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(GRACE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            ask("scancel", "--name", self.name)
        if self.remover:
            self.remover.communicate()


def launch_failed(message):
    match = re.match(r"srun: error: Task launch for \S+ failed on node (\S+): (.+)", message)
    return match and f"{match[1]}: {match[2]}"


def task_failed(message):
    """Returns what a task said before it ended by itself, or that a signal has ended it. When a
    task has ended, srun terminates the others."""
    if message.startswith("hosts-task: ") and "ended by SIG" not in message:
        return message[len("hosts-task: "):]
    match = re.match(r"srun: error: (\S+): tasks? ([0-9,-]+): (.+)", message)
    return match and "exit code" not in match[3] and f"task {match[2]} on {match[1]}: {match[3]}"


def other_trouble(message):
    match = re.match(r"srun: error: (.+)", message)
    return match and f"srun: {match[1]}"
