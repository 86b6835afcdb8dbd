# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Measures between hosts on which this process starts every command.

A launcher starts commands and reports what they do:

    connect()                              waits until all hosts can be used, or raises Failed
    start(host, words, seconds, session)   returns a Command; calls session.resume() when it has
                                           printed or ended
    end(command)                           ends a command
    run(session)                           reports until no command is left; calls session.resume()
                                           also from time to time
    abort()                                ends all commands at once
    close()                                releases what the launcher made

The steps of a session are a generator that yields what it waits for.
"""

import ipaddress
import shlex
import time

from fabric.errors import Failed
from hosts import bench

START = 20  # seconds until a host has answered, and until a server listens


class Command:
    """A command on a host. status is None until it has ended."""

    def __init__(self, host):
        self.host = host
        self.output = []
        self.errors = []
        self.status = None

    def said(self):
        """Returns one line that says why the command ended."""
        if self.status == 255 and not any(self.errors):
            return "the connection ended"
        return bench.reason(self.status, self.errors)


class Session:
    """consumer(line): takes the JSON lines. launcher: see above."""

    def __init__(self, launcher, hosts, options, consumer):
        self.launcher = launcher
        self.hosts = hosts
        self.settings = bench.Settings(options)
        self.network = options.network
        self.rounds = options.pattern.plan(len(hosts))
        self.consumer = consumer
        self.peers = {}
        self.servers = []
        self.ending = False
        self.steps = None
        self.until = None
        self.failure = None

    def run(self):
        """Raises Failed if the measurement cannot be finished."""
        self.steps = self.script()
        try:
            self.launcher.connect()
            self.step()
            self.launcher.run(self)
        finally:
            self.launcher.abort()
            self.launcher.close()
        if self.failure:
            raise self.failure

    def resume(self):
        """Resumes the script if what it waits for is there. The launcher's loop calls this."""
        try:
            for server in self.servers:
                if server.status is not None and not self.ending:
                    raise Failed(f"{server.host}: the server ended: {server.said()}")
            condition, deadline, names = self.until
            if condition():
                self.step()
            elif time.monotonic() > deadline:
                raise Failed(f"{', '.join(names())}: no answer in time")
        except Failed as error:
            self.failure = self.failure or error
            self.launcher.abort()

    def step(self):
        self.until = (lambda: False, float("inf"), lambda: [])  # a resume() from within the script
        condition, seconds, commands = next(self.steps, (lambda: True, 0, []))
        self.until = (condition, time.monotonic() + seconds,
                      lambda: [one.host for one in commands if one.status is None])

    # --- the script ------------------------------------------------------------------------------

    def script(self):
        probes = [self.launch(host, probe_words(self.settings), START) for host in self.hosts]
        yield self.ended(probes), START, probes
        for command in probes:
            self.peers[command.host] = self.read_probe(command)
        total = self.settings.total(self.rounds)
        for host in self.hosts:
            words = self.settings.server(self.peers[host]["address"])
            self.servers.append(self.launch(host, words, total))
        yield self.listening, START, self.servers
        for host in self.hosts:
            self.consumer({"event": "task", "task": self.hosts.index(host), "name": host,
                       **self.peers[host]})
        for number, phases in enumerate(self.rounds, 1):
            for phase in phases:
                yield from self.measure(number, phase)
        self.ending = True
        for server in self.servers:
            self.launcher.end(server)
        yield self.ended(self.servers), START, self.servers

    def measure(self, number, phase):
        """Measures the pairs of a phase at once: one command on each client's host."""
        pairs = {(client, server): bench.Pair(number, self.hosts[client], self.hosts[server])
                 for client, server in phase}
        for mode in (bench.LATENCY, self.settings.mode):
            seconds = self.settings.deadline(mode)
            commands = {client: self.launch(self.hosts[client],
                                            self.clients(client, pairs, mode), seconds)
                        for client in sorted({client for client, _ in pairs})}
            yield self.ended(commands.values()), seconds + START, list(commands.values())
            for (client, server), pair in pairs.items():
                take(pair, mode, server, commands[client])
        for pair in pairs.values():
            self.consumer(pair.record(self.settings))

    def clients(self, client, pairs, mode):
        """Returns the command that runs all clients of a host. Each line of their output begins
        with the number of the server."""
        own = self.peers[self.hosts[client]]["address"]
        parts = []
        for server in [server for one, server in pairs if one == client]:
            words = self.settings.client(mode, own, self.peers[self.hosts[server]])
            parts.append(f"{{ {shlex.join(words)} 2>&1; echo status $?; }} | "
                         f"sed 's/^/{server} /' &")
        return ["sh", "-c", " ".join([*parts, "wait"])]

    def launch(self, host, words, seconds):
        return self.launcher.start(host, bench.guarded(words, seconds), self)

    def ended(self, commands):
        return lambda: all(command.status is not None for command in commands)

    def listening(self):
        for server in self.servers:
            ports = next(filter(None, map(bench.listening, server.output)), None)
            if not ports:
                return False
            self.peers[server.host].update(ports)
        return True

    def read_probe(self, command):
        if command.status != 0:
            raise Failed(f"{command.host}: {command.said()}")
        version, connection, *addresses = command.output
        if not version.startswith("ddp-bench"):
            raise Failed(f"{command.host}: {version}: expected {self.settings.tool()}; use --tools")
        own = choose(connection.split(), [line.split()[3].split("/")[0] for line in addresses],
                     self.network)
        if not own:
            raise Failed(f"{command.host}: no address" +
                         (f" in --network {self.network}" if self.network else ""))
        return {"version": version, "address": own}


def probe_words(settings):
    """Returns the command that prints a host's version, the addresses of its ssh connection, and
    the addresses of its interfaces."""
    return ["sh", "-c", f"{shlex.join(settings.version())} && echo \"$SSH_CONNECTION\" && "
            "ip -o address show scope global"]


def choose(connection, addresses, network):
    """Returns the address of a host: in the network, or the one that ssh connected to."""
    if network:
        return next((one for one in addresses if ipaddress.ip_address(one) in network), None)
    if len(connection) == 4:
        return connection[2]
    return addresses[0] if addresses else None


def take(pair, mode, server, command):
    """Gives a pair the lines of its client among those of a host's command."""
    if pair.failure:
        return
    prefix = f"{server} "
    lines = [line[len(prefix):] for line in command.output if line.startswith(prefix)]
    status = next((int(line.split()[1]) for line in lines if line.startswith("status ")), None)
    if status is None:
        pair.take(mode, command.status, [], command.errors)
    else:
        errors = [line for line in lines if not line.startswith(("{", "status "))]
        pair.take(mode, status, lines, errors)
