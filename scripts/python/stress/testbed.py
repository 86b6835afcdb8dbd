# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Hosts with their servers, and the commands that run on them.

Each host has a directory, a ddp-recv that receives files into DIRECTORY/in and holds registered
buffers, and a ddp-send --listen that serves DIRECTORY/tree. All processes end with this one.
"""

import json
import os
import shutil
import signal
import threading
import time

from stress.failure import Cannot, Failure, require
from tools import Tool

STATUS_CANNOT = 3  # of a tool: not with this machine
SERVER_TIMEOUT = "3s"  # --timeout of the servers: how long they keep the state of a lost transfer
COMMAND_SECONDS = 60  # a command that lasts longer hangs
END_SECONDS = 20
IDLE_SECONDS = 15  # a server without work has closed its connections after this time
MOST_RSS_KIB = 512 << 10
MORE_DESCRIPTORS = 2
LAST_CHARACTERS = 2000  # of a server's messages


class Server:
    """A listener of a host. port and udp_port are those of its first start. prefix: words before
    its command, after those of the place."""

    def __init__(self, testbed, host, name, command, prefix=()):
        self.testbed = testbed
        self.prefix = prefix
        self.host = host
        self.name = f"{host.name}, {command[0]}"
        self.file = name
        self.command = command
        self.port = self.udp_port = 0
        self.starts = 0
        self.idle_descriptors = 0
        self.tool = None

    def start(self):
        self.starts += 1
        self.tool = self.testbed.tool(self.host, self.words(), f"{self.file}-{self.starts}",
                                    prefix=self.prefix)
        if not self.tool.wait_ready():
            if self.tool.ended() and self.tool.status() == STATUS_CANNOT:
                raise Cannot(self.tool.messages())
            raise Failure(f"{self.name}: does not listen: {self.tool.messages()}")
        listening = decoded(self.tool.text(self.tool.out).partition("\n")[0], self.name)
        require("port" in listening, f"{self.name}: {listening}: expected the key port")
        self.port = listening["port"]
        self.udp_port = listening.get("udp_port", 0)
        self.idle_descriptors = self.descriptors()
        return self

    def words(self):
        words = [*self.command, "--json", "--timeout", SERVER_TIMEOUT,
                 "--bind", self.host.place.address,
                 "-t", self.testbed.transport, "-p", str(self.port)]
        if self.testbed.transport == "udp":
            words += ["--udp-port", str(self.udp_port)]
        return words

    def address(self):
        """The options of a client that name this server's port."""
        words = ["-t", self.testbed.transport, "-p", str(self.port)]
        udp = ["--udp-port", str(self.udp_port)] if self.testbed.transport == "udp" else []
        return words + udp

    def pid(self):
        return self.tool.process.pid

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid()}/fd"))

    def rss_kib(self):
        with open(f"/proc/{self.pid()}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * (os.sysconf("SC_PAGE_SIZE") >> 10)

    def cpu_seconds(self):
        with open(f"/proc/{self.pid()}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def check_alive(self):
        require(not self.tool.ended(),
                f"{self.name}: ended with status {self.tool.status()}: {self.messages()}")
        require(self.rss_kib() <= MOST_RSS_KIB,
                f"{self.name}: has {self.rss_kib()} KiB: expected at most {MOST_RSS_KIB} KiB")

    def check_idle(self):
        """Every descriptor that a transfer opened must be closed after some time."""
        limit = time.monotonic() + IDLE_SECONDS
        most = self.idle_descriptors + MORE_DESCRIPTORS
        while self.descriptors() > most and time.monotonic() < limit:
            time.sleep(0.05)
        require(self.descriptors() <= most,
                f"{self.name}: has {self.descriptors()} open descriptors without work, "
                f"{IDLE_SECONDS} s after the last one: expected at most {most}")

    def stop(self):
        """Ends it in order."""
        self.tool.signal(signal.SIGTERM)
        if not self.tool.wait(END_SECONDS):
            self.tool.kill()
            raise Failure(f"{self.name}: still runs {END_SECONDS} s after SIGTERM")
        require(self.tool.status() == 0, f"{self.name}: ended with status {self.tool.status()} "
                f"after SIGTERM: {self.messages()}")
        require(not self.tool.sanitizer_found(),
                f"{self.name}: a sanitizer found a fault: {self.messages()}")

    def messages(self):
        return self.tool.messages()[-LAST_CHARACTERS:]


class Host:
    def __init__(self, testbed, number, place):
        self.number = number
        self.place = place
        self.name = place.name
        self.directory = os.path.join(testbed.directory, f"host-{number}")
        for name in ("in", "tree", "pulled", "buffers"):
            os.makedirs(os.path.join(self.directory, name))
        self.control = os.path.join(self.directory, "control")
        self.receiver = Server(testbed, self, f"receiver-{number}", [
            "ddp-recv", "--delete", "--control", self.control, os.path.join(self.directory, "in")])
        self.source = Server(testbed, self, f"source-{number}", [
            "ddp-send", "--listen", os.path.join(self.directory, "tree")])

    def servers(self):
        return [self.receiver, self.source]

    def path(self, *names):
        return os.path.join(self.directory, *names)


def decoded(text, source):
    """The JSON object in the text that a tool wrote."""
    try:
        return json.loads(text)
    except ValueError:
        raise Failure(f"{source}: {text[:100]!r}: expected a JSON object") from None


class Run:
    """A command that has ended. events: its lines of --json."""

    def __init__(self, tool):
        self.words = " ".join(tool.command)
        self.status = tool.status()
        self.message = tool.messages()
        with open(tool.out, "rb") as file:
            self.output = file.read()

    def events(self, kind):
        lines = (decoded(line, self.words) for line in self.output.splitlines()
                 if line.startswith(b"{"))
        return [line for line in lines if line.get("event") == kind]

    def summary(self):
        return f"{self.words}: status {self.status}: {self.message or 'no message'}"[:1500]


class Testbed:
    """commands, octets: how many commands ran, and how many octets of content they moved.
    environment: further variables of all processes."""

    def __init__(self, build, directory, places, transport, environment=None):
        self.build = build
        self.directory = directory
        self.transport = transport
        self.commands = self.octets = self.number = 0
        self.lock = threading.Lock()
        self.logs = os.path.join(directory, "logs")
        os.makedirs(self.logs)
        self.environment = {"IW_STRESS_RUN": directory, "XDG_RUNTIME_DIR": directory, "XDG_CONFIG_HOME": directory,
                            "LC_ALL": "C.UTF-8", **(environment or {})}
        self.hosts = [Host(self, number, place) for number, place in enumerate(places)]
        self.running = set()
        self.closed = False

    def __enter__(self):
        try:
            for server in self.servers():
                server.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.kill()

    def kill(self):
        """Ends everything. Nothing starts afterwards, also not in other threads."""
        with self.lock:
            self.closed = True
        for tool in list(self.running):
            tool.kill()

    def servers(self):
        return [server for host in self.hosts for server in host.servers()]

    def tool(self, host, words, name, stdin=None, prefix=()):
        environment = {**host.place.environment, **self.environment}
        prefix = (*host.place.prefix, *prefix)
        with self.lock:
            require(not self.closed, f"{' '.join(words)}: not started: the testbed has ended")
            tool = Tool(self.build, words, self.logs, name, stdin, prefix, environment)
            self.running = {t for t in self.running if not t.ended()} | {tool}
        return tool

    def start(self, host, words, stdin=None):
        """Starts a command of a host. stdin: bytes, or None."""
        with self.lock:
            self.number += 1
            name = f"command-{self.number}"
        path = None
        if stdin is not None:
            path = os.path.join(self.logs, name + ".in")
            with open(path, "wb") as file:
                file.write(stdin)
        return self.tool(host, words, name, path)

    def finish(self, tool):
        """Waits for a command, and returns its Run."""
        if not tool.wait(COMMAND_SECONDS):
            tool.kill()
            raise Failure(f"{' '.join(tool.command)}: still runs after {COMMAND_SECONDS} s")
        run = Run(tool)
        require(not tool.sanitizer_found(), f"a sanitizer found a fault: {run.summary()}")
        require(run.status >= 0 or run.status == -signal.SIGKILL,
                f"ended by signal {-run.status}: {run.summary()}")
        self.count(tool, run)
        return run

    def count(self, tool, run):
        with self.lock:
            self.commands += 1
            if "--json" in tool.command:
                self.octets += sum(e.get("moved_octets", 0) for e in run.events("result"))
            elif "--from" in tool.command:
                self.octets += len(run.output)
        for path in (tool.out, tool.err, tool.out[:-len("out")] + "in"):
            if os.path.exists(path):
                os.unlink(path)

    def run(self, host, words, stdin=None):
        return self.finish(self.start(host, words, stdin))

    def reset(self):
        """Empties the directories of all hosts; the servers continue."""
        for host in self.hosts:
            for name in ("in", "tree", "pulled", "buffers"):
                for entry in os.scandir(host.path(name)):
                    if entry.is_dir(follow_symlinks=False):
                        shutil.rmtree(entry.path)
                    else:
                        os.unlink(entry.path)

    def check_alive(self):
        for server in self.servers():
            server.check_alive()

    def check_idle(self):
        for server in self.servers():
            server.check_idle()

    def stop(self):
        for server in self.servers():
            server.stop()
