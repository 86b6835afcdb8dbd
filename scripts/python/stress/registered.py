# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A registered buffer: its model, and the commands that use it."""

import re

from stress import trees
from stress.failure import require
from stress.testbed import decoded

TIMEOUT = "10s"
CLAIM_ADDRESS = "127.0.0.9"


class Buffer:
    """data: the octets of the whole file or memory. first, length: the part that is registered.
    live: peers can use it. path: None for memory."""

    def __init__(self, testbed, host, name, operation):
        self.testbed = testbed
        self.host = host
        self.access = operation["access"]
        self.live = False
        self.uri = self.stag = ""
        self.path = host.path("buffers", name) if operation["kind"] == "file" else None
        size = operation["size"]
        self.data = bytearray(trees.content(operation["seed"], size, False) if self.path else size)
        self.first = operation["range"] * size // 2000 if self.path else 0
        self.length = size - self.first
        self.options = operation.get("options", [])

    def register(self):
        what = ["--size", str(len(self.data))]
        if self.path:
            with open(self.path, "wb") as file:
                file.write(self.data)
            what = ["--range", f"{self.first}:{self.length}", self.path]
        run = self.stag_reg("add", "--json", "--access", self.access, *self.options, *what)
        require(run.status == 0, f"{run.summary()}: expected status 0")
        answer = decoded(run.output, run.words)
        require(answer.keys() >= {"length_octets", "to", "uri", "stag"} and
                answer["length_octets"] == self.length and int(answer["to"], 16) == self.first,
                f"{run.words}: {answer}: expected {self.length} octets from {self.first}")
        self.uri, self.stag, self.live = answer["uri"], answer["stag"], True

    def stag_reg(self, command, *words):
        words = ["stag-reg", command, "--control", self.host.control, *words]
        return self.testbed.run(self.host, words)

    def revoke(self):
        run = self.stag_reg("revoke", self.stag)
        require(run.status == 0, f"{run.summary()}: expected status 0")
        self.live = False

    def part(self, at, length):
        """The URI of a part; at: an offset in the registered part."""
        return re.sub(r"to=\d+&len=\d+", f"to={self.first + at}&len={length}", self.uri)

    def client(self, tool, option, uri):
        """A server delays the claims without a key of an address that has made wrong claims. So
        only claims of live buffers without a key come from the hosts' own address."""
        words = [tool, "--timeout", TIMEOUT, option, uri]
        admitted = self.live and "key=" not in self.uri and self.stag in uri
        if self.host.place.local() and not admitted:
            words[1:1] = ["--bind", CLAIM_ADDRESS]
        if self.testbed.transport == "udp":
            words[1:1] = ["-t", "udp", "--udp-port", str(self.host.receiver.udp_port)]
        return words

    def start_write(self, host, at, length, octets):
        words = self.client("ddp-send", "--to", self.part(at, length))
        return self.testbed.start(host, [*words, "--json"], octets)

    def start_read(self, host, at, length):
        return self.testbed.start(host, self.client("ddp-recv", "--from", self.part(at, length)))

    def place(self, at, octets):
        """The model of a write."""
        first = self.first + at
        self.data[first:first + len(octets)] = octets

    def octets(self, at, length):
        return bytes(self.data[self.first + at:self.first + at + length])

    def range(self, permille, size):
        """An offset and a length within the registered part."""
        at = permille * self.length // 1000
        return at, max(1, min(size, self.length - at))

    def content(self, host):
        """What the buffer really holds, the whole file or memory; None if peers cannot read it."""
        if self.path:
            with open(self.path, "rb") as file:
                return file.read()
        if not self.live or "r" not in self.access:
            return None
        run = self.testbed.finish(self.start_read(host, 0, self.length))
        require(run.status == 0, f"{run.summary()}: expected status 0")
        return run.output

    def check(self, host, allowed=None):
        """allowed: another content that each octet may have."""
        found = self.content(host)
        what = f"buffer {self.stag} of {self.host.name}"
        if found is None or found == self.data:
            return
        require(len(found) == len(self.data),
                f"{what}: has {len(found)} octets: expected {len(self.data)}")
        for at, (seen, wanted) in enumerate(zip(found, self.data)):
            require(seen == wanted or allowed and allowed[at] == seen,
                    f"{what}: octet {at} is {seen:#04x}: expected {wanted:#04x}"
                    + (f" or {allowed[at]:#04x}" if allowed else ""))
        self.data = bytearray(found)
