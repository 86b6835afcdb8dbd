# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Processes that a test starts. The kernel ends them when this process ends."""

import os
import select
import signal
import subprocess
import time

READY_SECONDS = 15
POLL_SECONDS = 0.01


class Tool:
    """A running tool of the directory `build`. Its output is in DIRECTORY/NAME.out and
    DIRECTORY/NAME.err. stdin: the name of a file, or None. prefix: words of a command that runs the
    tool elsewhere, such as in a namespace. environment: variables beside those of this process."""

    def __init__(self, build, command, directory, name, stdin=None, prefix=(), environment=None):
        self.command = command
        self.out = os.path.join(directory, name + ".out")
        self.err = os.path.join(directory, name + ".err")
        self.start = time.monotonic()
        self.end = None
        with open(self.out, "wb") as out, open(self.err, "wb") as err, \
                open(stdin or os.devnull, "rb") as input_:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *prefix, os.path.join(build, command[0]),
                 *command[1:]],
                stdin=input_, stdout=out, stderr=err, env={**os.environ, **(environment or {})})

    def ended(self):
        """Returns True if it has ended; notes when."""
        if self.end is None and self.process.poll() is not None:
            self.end = time.monotonic()
        return self.end is not None

    def wait(self, seconds):
        """Returns True if it ends within that time."""
        if not self.ended():
            handle = os.pidfd_open(self.process.pid)
            if select.select([handle], [], [], seconds)[0]:
                self.process.wait()  # unlike poll(), right when another thread polls, too
            os.close(handle)
        return self.ended()

    def status(self):
        return self.process.returncode

    def signal(self, number):
        if not self.ended():
            self.process.send_signal(number)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait()
        self.ended()

    def text(self, path):
        with open(path, "rb") as f:
            return f.read().decode("utf-8", "backslashreplace").replace("\0", "")

    def messages(self):
        return self.text(self.err).strip()

    def sanitizer_found(self):
        return "Sanitizer" in self.messages() or "runtime error:" in self.messages()

    def wait_ready(self):
        """Waits until a listener listens. Returns False if it does not."""
        limit = time.monotonic() + READY_SECONDS
        while time.monotonic() < limit and not self.ended():
            if "listening" in self.text(self.out) + self.text(self.err):
                return True
            time.sleep(POLL_SECONDS)
        return False
