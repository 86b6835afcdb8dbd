# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What one task of a parallel job does (scripts/hosts-task).

A task starts a server, publishes its address on the board, and measures the servers that the
pattern gives it. All tasks pass a barrier after each step, so that only pairs of the same phase
measure at the same time. Standard output has JSON lines: `task` when the server listens, `pair` for
each measurement, `end`. Each line is shorter than 1,024 octets: srun forwards it in one piece.
"""

import argparse
import ipaddress
import json
import os
import select
import signal
import socket
import subprocess
import sys

from hosts import bench, options
from hosts.board import DirectoryBoard, Missing
from hosts.pmix import PmixBoard

START = 30  # seconds until all tasks are there
SLACK = 5  # seconds between the first and the last task at a barrier


class Failed(Exception):
    """The task cannot continue. str() is the message for the user."""


class Rank:
    """Which of how many tasks this is, and the name of its host, by the variables of Slurm."""

    def __init__(self, environment):
        self.task = number(environment, "SLURM_PROCID")
        self.tasks = number(environment, "SLURM_NTASKS")
        self.name = environment.get("SLURMD_NODENAME") or socket.gethostname()
        if self.tasks > int(environment.get("SLURM_NNODES", self.tasks)):
            self.name += f".{environment.get('SLURM_LOCALID', self.task)}"
        self.launcher = environment.get("SLURM_LAUNCH_NODE_IPADDR")

    def address(self, network):
        """Returns the own address in a network, or the one that leads to the launching host."""
        target = str(network[min(1, network.num_addresses - 1)]) if network else self.launcher
        try:
            own = route(target or socket.gethostname())
        except OSError as error:
            own = None
            if not network:
                raise Failed(f"no route to {target or 'the own name'}: {error.strerror}; use "
                             "--network") from None
        if network and (not own or ipaddress.ip_address(own) not in network):
            raise Failed(f"no address in --network {network}")
        return own


def number(environment, name):
    text = environment.get(name, "")
    if not text.isdigit():
        raise Failed(f"{name}: \"{text}\": expected a number; start hosts-task with srun")
    return int(text)


def route(target):
    """Returns the local address of packets to a target. Nothing is sent."""
    family, kind, _, _, where = socket.getaddrinfo(target, 9, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind) as probe:
        probe.connect(where)
        return probe.getsockname()[0]


class Task:
    def __init__(self, rank, settings, board):
        self.rank = rank
        self.settings = settings
        self.board = board
        self.processes = []
        self.server = None
        self.peers = []
        # Every command ends when the writing end is closed, that is, at the latest when this
        # process ends.
        self.life, self.held = os.pipe()

    def start(self, words, seconds):
        """Starts a command that ends with this task, and after this time."""
        process = subprocess.Popen(["sh", "-c", bench.guarded(words, seconds)], stdin=self.life,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True)
        self.processes.append(process)
        return process

    def meet(self, address, seconds):
        """Starts the server, publishes it, and reads what the other tasks published. seconds: how
        long the server may be needed."""
        ports = self.serve(address, seconds)
        own = {"name": self.rank.name, "address": address, "version": self.version(), **ports}
        say({"event": "task", "task": self.rank.task, **own})
        self.board.publish(own)
        self.barrier(START)
        self.peers = [self.board.read(task, START) for task in range(self.rank.tasks)]

    def version(self):
        version = self.start(self.settings.version(), START)
        output, errors = version.communicate()
        self.processes.remove(version)
        if version.returncode:
            raise Failed(bench.reason(version.returncode, errors.splitlines()))
        return output.strip()

    def serve(self, address, seconds):
        self.server = self.start(self.settings.server(address), seconds)
        if not select.select([self.server.stdout], [], [], START)[0]:
            raise Failed(f"{self.settings.tool()}: does not listen after {START} s")
        ports = bench.listening(self.server.stdout.readline())
        if not ports:
            errors = self.server.stderr.read().splitlines()
            raise Failed(bench.reason(self.server.wait(), errors))
        return ports

    def barrier(self, seconds):
        if self.server.poll() is not None:
            errors = self.server.stderr.read().splitlines()
            raise Failed(f"the server ended: {bench.reason(self.server.returncode, errors)}")
        try:
            self.board.barrier(seconds)
        except Missing as error:
            names = [self.peers[task]["name"] for task in error.tasks if self.peers]
            raise Failed(f"{error}{' on ' if names else ''}{', '.join(names)}") from None

    def measure(self, rounds):
        for count, phases in enumerate(rounds, 1):
            for phase in phases:
                pairs = {server: bench.Pair(count, self.rank.name, self.peers[server]["name"])
                         for client, server in phase if client == self.rank.task}
                for mode in (bench.LATENCY, self.settings.mode):
                    self.run_clients(pairs, mode)
                    self.barrier(self.settings.deadline(mode) + SLACK)
                for pair in pairs.values():
                    say(pair.record(self.settings))

    def run_clients(self, pairs, mode):
        """Measures all servers of these pairs at once. A pair that failed is not tried again."""
        clients = [(pair, self.start(self.settings.client(
            mode, self.peers[self.rank.task]["address"], self.peers[server]),
            self.settings.deadline(mode))) for server, pair in pairs.items() if not pair.failure]
        for pair, client in clients:
            output, errors = client.communicate()
            pair.take(mode, client.returncode, output.splitlines(), errors.splitlines())
            self.processes.remove(client)

    def close(self):
        """Ends all commands."""
        os.close(self.held)
        for process in self.processes:
            try:
                process.wait(2)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def say(line):
    """Writes a JSON line with one system call, so that lines of several tasks do not mix."""
    sys.stdout.flush()
    os.write(1, (json.dumps({"schema": 1, **line}, separators=(",", ":")) + "\n").encode())


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="hosts-task",
        description="One task of `fabric measure --engine srun`. It finds itself by SLURM_PROCID "
        "and SLURM_NTASKS.",
        epilog="Example: srun -N4 -n4 --mpi=pmix scripts/hosts-task --board pmix")
    options.add(parser)
    parser.add_argument("--board", default="pmix", metavar="pmix|DIR",
                        help="where tasks find each other: PMIx (default), or an empty directory "
                        "that all hosts share")
    before, extra = options.split(arguments)
    parsed = parser.parse_args(before)
    parsed.extra = extra
    return parsed


def open_board(parsed, rank):
    if parsed.board != "pmix":
        return DirectoryBoard(parsed.board, rank.task, rank.tasks)
    try:
        return PmixBoard()
    except OSError as error:
        raise Failed(f"PMIx: {error}; install libpmix2, or use --board DIR") from None


def work(parsed, rank):
    board = open_board(parsed, rank)
    task = Task(rank, bench.Settings(parsed), board)
    try:
        rounds = parsed.pattern.plan(rank.tasks)
        task.meet(rank.address(parsed.network), task.settings.total(rounds))
        task.measure(rounds)
        say({"event": "end", "task": rank.task, "name": rank.name})
        task.barrier(START)
        board.close()
    finally:
        task.close()


def end_by_signal(number, _):
    raise Failed(f"ended by {signal.Signals(number).name}")


def main(arguments):
    parsed = parse(arguments)
    name = "hosts-task"
    for number_ in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number_, end_by_signal)
    try:
        rank = Rank(os.environ)
        name += f": task {rank.task} on {rank.name}"
        work(parsed, rank)
    except (Failed, Missing, OSError) as error:
        print(f"{name}: {error}", file=sys.stderr, flush=True)
        # A thread may still be inside PMIx; an ordinary exit would wait for it.
        os._exit(4)
    return 0
