# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The launcher that runs commands in the network namespaces of this machine."""

import os
import selectors
import signal
import subprocess
import time

from fabric.errors import Cannot
from hosts.session import Command

END_SECONDS = 4  # for commands to end: bench.guarded() kills them after 2 s
TICK = 0.2  # seconds between two checks of the deadlines


class Local(Command):
    """A command with its process; `partial` has the beginning of the next line of a stream."""

    def __init__(self, host, process):
        super().__init__(host)
        self.process = process
        self.partial = {process.stdout: b"", process.stderr: b""}

    def lines(self, stream):
        return self.output if stream is self.process.stdout else self.errors


class Launcher:
    """command(host, words): returns the words that run a command on a host, and their
    environment."""

    def __init__(self, command):
        self.command = command
        self.selector = selectors.DefaultSelector()
        self.commands = []

    def connect(self):
        """Nothing to wait for."""

    def start(self, host, shell, _session):
        words, environment = self.command(
            host, ["setpriv", "--pdeathsig", "TERM", "sh", "-c", shell])
        try:
            process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, start_new_session=True,
                                       env=environment)
        except OSError as error:
            raise Cannot(f"{words[0]}: {error.strerror}") from None
        command = Local(host, process)
        for stream in command.partial:
            os.set_blocking(stream.fileno(), False)
            self.selector.register(stream, selectors.EVENT_READ, command)
        self.commands.append(command)
        return command

    def end(self, command):
        """The shell ends the command when its standard input ends (bench.guarded)."""
        command.process.stdin.close()

    def run(self, session):
        while self.commands:
            for key, _ in self.selector.select(TICK):
                self.read(key.data, key.fileobj)
            for command in [one for one in self.commands if not one.partial]:
                command.process.wait()
                command.status = command.process.returncode
                self.forget(command)
            session.resume()

    def read(self, command, stream):
        data = stream.read(65536)
        if data is None or stream not in command.partial:
            return
        if not data:
            data, last = b"", command.partial.pop(stream)
            command.lines(stream).extend([last.decode(errors="replace")] if last else [])
            self.selector.unregister(stream)
            stream.close()
            return
        *whole, rest = (command.partial[stream] + data).split(b"\n")
        command.lines(stream).extend(line.decode(errors="replace") for line in whole)
        command.partial[stream] = rest

    def forget(self, command):
        self.commands.remove(command)
        if not command.process.stdin.closed:
            command.process.stdin.close()

    def abort(self):
        """Ends all commands. Their shells do that when standard input ends; `timeout`, which they
        run, has a process group of its own."""
        for command in self.commands:
            self.end(command)
        end = time.monotonic() + END_SECONDS
        while time.monotonic() < end and any(one.process.poll() is None for one in self.commands):
            time.sleep(0.01)
        for command in list(self.commands):
            try:
                os.killpg(command.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            for stream in list(command.partial):
                self.selector.unregister(stream)
                stream.close()
            command.partial.clear()
            command.process.wait()
            self.forget(command)

    def close(self):
        self.selector.close()
