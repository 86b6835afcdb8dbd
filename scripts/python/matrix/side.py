# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs one program of a plug-in: `serve`, `connect`, `capabilities` or `version`.

A program gets a process namespace and a session of its own. Its first process (side.sh) ends after
the program, and then the kernel kills all processes of the namespace, whatever they did to survive.
The same happens when this process is killed. Standard output is read as the lines that
scripts/implementations/README.md defines; standard error goes to the log.
"""

import os
import selectors
import signal
import subprocess
import threading
import time

SIDE_SH = os.path.join(os.path.dirname(os.path.realpath(__file__)), "side.sh")
LEFT_BEHIND = 97          # exit status of side.sh
MOST_OUTPUT = 256 * 1024  # octets of standard output
MOST_TEXT = 300           # letters of a text for people
GRACE = 3                 # seconds from SIGTERM to SIGKILL

stopping = threading.Event()  # the run was interrupted


class Stopped(Exception):
    """The run was interrupted."""


class Side:
    """A running program. Use it in a `with` statement: at its end nothing of it runs any more.

    trouble: why the cell is an infrastructure error, or None. lines: of standard output. status:
    the exit status, or None while it runs."""

    def __init__(self, name, command, environment, log, inside=None):
        """inside: the words that run a command in a network namespace. log: a file to append to."""
        self.name = name
        self.lines = []
        self.pending = b""
        self.octets = 0
        self.status = None
        self.trouble = None
        self.log = log
        apart = ["unshare", "--pid", "--mount-proc", "--fork", "--kill-child=KILL"]
        with open(log, "ab") as error:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *(inside or []), *apart, SIDE_SH, *command],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=error, env=environment,
                start_new_session=True)
        self.output = self.process.stdout.fileno()
        os.set_blocking(self.output, False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.kill()
        self.read()
        self.process.stdout.close()

    # --- output --------------------------------------------------------------------------------

    def read(self):
        """Reads what has arrived. Returns False at the end of the output."""
        try:
            data = os.read(self.output, 65536)
        except BlockingIOError:
            return True
        self.octets += len(data)
        if self.octets > MOST_OUTPUT:
            self.fail(f"{self.name} printed more than {MOST_OUTPUT} octets")
            self.kill()
            return False
        *lines, self.pending = (self.pending + data).split(b"\n")
        self.lines += [line.decode("utf-8", "backslashreplace") for line in lines]
        if not data and self.pending:
            self.lines.append(self.pending.decode("utf-8", "backslashreplace"))
            self.pending = b""
        return bool(data)

    def words(self, keyword):
        """Returns the rest of each line of output that begins with this keyword, as short text."""
        return [short(line[len(keyword) + 1:]) for line in self.lines
                if line.split(" ", 1)[0] == keyword]

    def fail(self, text):
        """Keeps the first trouble: later ones are its consequences."""
        self.trouble = self.trouble or text

    # --- the end -------------------------------------------------------------------------------

    def ended(self):
        """Returns whether the program has ended; sets status and trouble."""
        if self.status is None and self.process.poll() is not None:
            self.finish()
        return self.status is not None

    def finish(self):
        """Takes the exit status of a process that has ended."""
        self.status = self.process.returncode
        while self.read() and self.octets <= MOST_OUTPUT:
            pass
        if self.status == LEFT_BEHIND:
            left = last_line(self.log).removeprefix("left behind: ")
            self.fail(f"{self.name} left processes behind: {left}")
        elif self.status < 0 or self.status > 128:
            number = -self.status if self.status < 0 else self.status - 128
            self.fail(f"{self.name} died of {signal_name(number)}")

    def stop(self, seconds=GRACE):
        """Sends SIGTERM to the program and waits for its end. A program that ignores it is killed,
        which is trouble."""
        first = first_process(self.process.pid)
        if not self.ended() and first:
            try:
                os.kill(first, signal.SIGTERM)
            except ProcessLookupError:
                pass
        # side.sh itself may need one second more, for processes that are left.
        if not wait_for([self], self.ended, seconds + 1.5):
            self.fail(f"{self.name} did not end within {seconds} s of SIGTERM")
            self.kill()

    def kill(self):
        """Kills the whole process namespace."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.status is None:
            self.status = self.process.returncode


def wait_for(sides, condition, seconds):
    """Reads the output of all sides until the condition holds. Returns False after that time."""
    end = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        for side in sides:
            selector.register(side.output, selectors.EVENT_READ, side)
        while not condition():
            if stopping.is_set():
                raise Stopped
            left = end - time.monotonic()
            if left <= 0:
                return False
            if not selector.get_map():
                time.sleep(min(left, 0.01))
                continue
            # An end without output is noticed by the condition.
            for key, _ in selector.select(min(left, 0.05)):
                if not key.data.read():
                    selector.unregister(key.fileobj)
    return True


def first_process(parent):
    """Returns the process id, seen from here, of side.sh: the only child of `unshare --fork`."""
    try:
        with open(f"/proc/{parent}/task/{parent}/children", encoding="ascii") as file:
            children = file.read().split()
    except OSError:
        # Some kernels lack this list (CONFIG_PROC_CHILDREN), and pgrep reads all of /proc.
        children = subprocess.run(["pgrep", "-P", str(parent)], stdin=subprocess.DEVNULL,
                                  capture_output=True, start_new_session=True).stdout.split()
    return int(children[0]) if children else None


def signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def ask(name, command, environment, log, seconds):
    """Runs a program that answers and ends. Returns it; trouble says why there is no answer."""
    with Side(name, command, environment, log) as side:
        if not wait_for([side], side.ended, seconds):
            side.fail(f"{name} did not end within {seconds} s")
    return side


def last_line(log, since=0):
    """Returns the last line of a log that is not empty, as a short text."""
    with open(log, "rb") as file:
        file.seek(max(since, os.path.getsize(log) - 4096))
        lines = [short(line) for line in file.read().decode("utf-8", "replace").splitlines()]
    return next((line for line in reversed(lines) if line), "")


def short(text):
    """Returns what people may see of a text of a plug-in: one line without control characters."""
    line = " ".join(text.split())
    return "".join(letter for letter in line if letter.isprintable())[:MOST_TEXT]
