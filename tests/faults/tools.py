# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The processes of a round. The kernel ends them when this process ends."""

import os
import signal
import subprocess
import time

READY_SECONDS = 15
POLL_SECONDS = 0.01


class Tool:
    """A running ddp-send or ddp-recv. Its output is in DIR/NAME.out and DIR/NAME.err."""

    def __init__(self, build, command, directory, name):
        self.command = command
        self.out = os.path.join(directory, name + ".out")
        self.err = os.path.join(directory, name + ".err")
        self.start = time.monotonic()
        self.end = None
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", os.path.join(build, command[0]), *command[1:]],
                stdin=subprocess.DEVNULL, stdout=out, stderr=err)

    def ended(self):
        """Returns True if it has ended; notes when."""
        if self.end is None and self.process.poll() is not None:
            self.end = time.monotonic()
        return self.end is not None

    def wait(self, seconds):
        """Returns True if it ends within that time."""
        limit = time.monotonic() + seconds
        while not self.ended():
            if time.monotonic() > limit:
                return False
            time.sleep(POLL_SECONDS)
        return True

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
