# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Transfers of one file, for the model `files`: to a name of its own, out of a stream, into a
stream, and of a file that is large enough to be divided into parts."""

import os
import random

from stress import trees
from stress.exchange import TIMEOUT
from stress.failure import require
from stress.trees import FILE, Entry, Transfer

BLOCK = 1 << 16


class Single:
    """files: the model. Each host has one name at each other host for its files, and one for its
    streams."""

    def __init__(self, files):
        self.files = files
        self.testbed = files.testbed
        self.stored = {}  # (host, name in in/): Entry

    # --- the operations: each returns False if it does not apply ----------------------------------

    def push_file(self, operation):
        entry = self.entry(operation["host"], operation["name"])
        if not entry:
            return False
        name = f"file-{operation['host']}"
        self.send(operation, self.path(operation["host"], operation["name"]), name)
        key = operation["to"], name
        old = {name: self.stored[key]} if key in self.stored else {}
        self.stored[key] = Transfer({name: entry}, old, set(), "").result[name]
        return True

    def push_stream(self, operation):
        name = f"stream-{operation['host']}"
        data = trees.content(operation["seed"], operation["size"], operation["hole"])
        self.send(operation, "-", name, data)
        self.stored[operation["to"], name] = Entry(FILE, data)
        return True

    def fetch(self, operation):
        """A file goes to standard output."""
        entry = self.entry(operation["from"], operation["name"])
        if not entry:
            return False
        server = self.testbed.hosts[operation["from"]].source
        run = self.testbed.run(self.testbed.hosts[operation["host"]], [
            "ddp-recv", "--timeout", TIMEOUT, *server.address(), "-m", operation["mode"],
            f"{server.host.place.address}:{operation['name']}", "-"])
        require(run.status == 0, f"{run.summary()}: expected status 0")
        require(run.output == entry.data, f"{run.words}: {len(run.output)} octets are not those of "
                f"the file, which has {len(entry.data)}")
        return True

    def push_large(self, operation):
        """A sparse file, divided into parts. It exists during the operation only."""
        path = self.testbed.hosts[operation["host"]].path("large")
        made = self.testbed.hosts[operation["to"]].path("in", "large")
        write_sparse(path, operation)
        try:
            self.send(operation, path, "large")
            require(same_octets(path, made), f"{made}: other octets than {path}")
        finally:
            for name in (path, made):
                if os.path.exists(name):
                    os.unlink(name)
        return True

    # --- the parts of an operation ----------------------------------------------------------------

    def entry(self, host, name):
        entry = self.files.trees[host].get(name)
        return entry if entry and entry.kind == FILE else None

    def path(self, host, name):
        return self.testbed.hosts[host].path("tree", name)

    def send(self, operation, path, name, stdin=None):
        host, to = (self.testbed.hosts[operation[key]] for key in ("host", "to"))
        words = ["ddp-send", "--json", "--timeout", TIMEOUT, *to.receiver.address(),
                 "-m", operation["mode"], "-j", str(operation.get("jobs", 1)), path,
                 f"{to.place.address}:{name}"]
        run = self.testbed.run(host, words, stdin)
        require(run.status == 0, f"{run.summary()}: expected status 0")

    # --- the comparison ---------------------------------------------------------------------------

    def check(self):
        for (host, name), entry in self.stored.items():
            found = trees.scan_file(self.testbed.hosts[host].path("in", name))
            if found and name.startswith("stream-"):
                found = Entry(FILE, found.data)  # a stream has no mode and no time
            trees.compare_entry(f"host {host}, in/{name}", found, [entry])

    def names(self, host):
        return {name for number, name in self.stored if number == host}


def write_sparse(path, operation):
    """Some blocks of random octets in a file of zeros."""
    rng = random.Random(operation["seed"])
    with open(path, "wb") as file:
        file.truncate(operation["size"])
        for _ in range(operation["blocks"]):
            file.seek(rng.randrange(operation["size"] - BLOCK))
            file.write(rng.randbytes(BLOCK))


def same_octets(path, other):
    if not os.path.isfile(other) or os.path.getsize(path) != os.path.getsize(other):
        return False
    with open(path, "rb") as one, open(other, "rb") as two:
        while True:
            octets = one.read(1 << 20)
            if octets != two.read(1 << 20):
                return False
            if not octets:
                return True
