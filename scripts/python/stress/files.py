# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The model `files`: hosts change their trees, and move them to each other.

Each host has a tree. A push makes it the directory in/from-HOST of another host, a pull makes the
tree of another host the directory pulled/from-HOST. The model holds each of these directories in
memory; after each operation they are compared with the real ones.
"""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor

import program
from stress import trees
from stress.exchange import Exchange, target_of
from stress.failure import require
from stress.files_maker import Maker
from stress.single import Single
from stress.trees import DIRECTORY, FILE, LINK, Entry

FIRST_TIME_NS = 1700000000 * 10**9 + 7
LOCAL = ("write", "edit", "truncate", "rename", "remove", "chmod", "link", "hard_link")
SINGLE = ("push_file", "push_stream", "fetch", "push_large")


def time_of(operation):
    """Each change has a modification time of its own."""
    return FIRST_TIME_NS + operation["time"] * 1_000_003_000


class Files:
    maker = Maker

    def __init__(self, testbed):
        self.testbed = testbed
        self.trees = [{} for _ in testbed.hosts]
        self.single = Single(self)
        self.linked = 0  # files with several names
        self.targets = {}  # (host, "in" or "pulled", from): tree

    def apply(self, operation):
        """Returns False if the operation does not apply, such as one on a file that does not
        exist."""
        if operation["op"] in LOCAL:
            host = self.testbed.hosts[operation["host"]]
            tree = self.trees[host.number]
            return getattr(self, operation["op"])(tree, host.path("tree"), operation)
        if operation["op"] in SINGLE:
            return getattr(self.single, operation["op"])(operation)
        self.exchange(operation.get("operations", [operation]))
        return True

    def check(self):
        """Every directory must equal the model's, and have no temporaries."""
        for number, tree in enumerate(self.trees):
            found = trees.scan(self.testbed.hosts[number].path("tree"))
            trees.compare(f"the tree of host {number}", found, tree)
        for (host, kind, origin), tree in self.targets.items():
            top = self.testbed.hosts[host].path(kind, f"from-{origin}")
            found = trees.scan(top)
            trees.compare(f"host {host}, {kind}/from-{origin}", found, tree)
        self.single.check()

    def finish(self):
        """Directories that the model does not have must not exist either."""
        for host in self.testbed.hosts:
            for kind in ("in", "pulled"):
                expected = {f"from-{origin}" for number, k, origin in self.targets
                            if (number, k) == (host.number, kind)}
                expected |= self.single.names(host.number) if kind == "in" else set()
                more = sorted(set(os.listdir(host.path(kind))) - expected)
                require(not more, f"host {host.number}, {kind}: {more}: expected no such names")

    # --- changes of a tree. Each returns False if it does not apply. ------------------------------

    def write(self, tree, top, operation):
        name = operation["name"]
        if any(tree[p].kind != DIRECTORY for p in trees.parents(name) if p in tree):
            return False
        if name in tree and tree[name].kind == DIRECTORY:
            return False
        for parent in trees.parents(name):
            if parent not in tree:
                tree[parent] = Entry(DIRECTORY)
                trees.write_entry(top, parent, tree[parent])
        data = trees.content(operation["seed"], operation["size"], operation["hole"])
        self.replace(tree, top, name, Entry(FILE, data, operation["mode"], time_of(operation)))
        return True

    def edit(self, tree, top, operation):
        """Overwrites some octets. With "unseen", size and time stay as they were; not with several
        names, because a target with several names is sent again in any case."""
        name = operation["name"]
        if name not in tree or tree[name].kind != FILE or not tree[name].data:
            return False
        old = tree[name]
        at = operation["permille"] * len(old.data) // 1000
        part = trees.content(operation["seed"], operation["size"], False)[:len(old.data) - at]
        time_ns = old.time_ns if operation["unseen"] and old.file is None else time_of(operation)
        data = old.data[:at] + part + old.data[at + len(part):]
        self.replace(tree, top, name, Entry(FILE, data, old.mode, time_ns))
        return True

    def truncate(self, tree, top, operation):
        name = operation["name"]
        if name not in tree or tree[name].kind != FILE:
            return False
        old, size = tree[name], operation["size"]
        data = old.data[:size] + bytes(max(0, size - len(old.data)))
        self.replace(tree, top, name, Entry(FILE, data, old.mode, time_of(operation)))
        return True

    def link(self, tree, top, operation):
        name = operation["name"]
        if name in tree and tree[name].kind == DIRECTORY or \
                any(p not in tree or tree[p].kind != DIRECTORY for p in trees.parents(name)):
            return False
        self.replace(tree, top, name, Entry(LINK, operation["target"], 0o777, time_of(operation)))
        return True

    def hard_link(self, tree, top, operation):
        """Gives a file a second name, and a new time: a file with an unseen edit would not be sent
        again, and its new name at the target would get the old octets."""
        name, to = operation["name"], operation["to"]
        if name not in tree or tree[name].kind != FILE or name == to or \
                to in tree and tree[to].kind == DIRECTORY or \
                any(p not in tree or tree[p].kind != DIRECTORY for p in trees.parents(to)):
            return False
        if trees.same_file(tree[name], tree.get(to)):
            return False
        if to in tree:
            os.unlink(os.path.join(top, to))
        os.link(os.path.join(top, name), os.path.join(top, to))
        old, time_ns = tree[name], time_of(operation)
        os.utime(os.path.join(top, name), ns=(time_ns, time_ns))
        if old.file is None:
            self.linked += 1
        number = old.file or self.linked
        tree[to] = Entry(FILE, old.data, old.mode, time_ns, number)
        for other in self.names_of(tree, name, old):
            tree[other] = tree[to]
        return True

    def names_of(self, tree, name, entry):
        """All names of the file."""
        return [n for n in tree if n == name or trees.same_file(tree[n], entry)]

    def replace(self, tree, top, name, entry):
        path = os.path.join(top, name)
        if name in tree:
            os.unlink(path)
        trees.write_entry(top, name, entry)
        tree[name] = entry

    def rename(self, tree, top, operation):
        name, to = operation["name"], operation["to"]
        if name not in tree or to in tree or to.startswith(name + "/") or \
                any(p not in tree or tree[p].kind != DIRECTORY for p in trees.parents(to)):
            return False
        os.rename(os.path.join(top, name), os.path.join(top, to))
        for old in trees.below(tree, name):
            tree[to + old[len(name):]] = tree.pop(old)
        return True

    def remove(self, tree, top, operation):
        name = operation["name"]
        if name not in tree:
            return False
        path = os.path.join(top, name)
        if tree[name].kind == DIRECTORY:
            shutil.rmtree(path)
        else:
            os.unlink(path)
        for old in trees.below(tree, name):
            del tree[old]
        return True

    def chmod(self, tree, top, operation):
        name = operation["name"]
        if name not in tree or tree[name].kind == LINK:
            return False
        old = tree[name]
        mode = operation["mode"] | (0o700 if old.kind == DIRECTORY else 0)
        os.chmod(os.path.join(top, name), mode)
        for other in self.names_of(tree, name, old):
            tree[other] = Entry(old.kind, old.data, mode, old.time_ns, old.file)
        return True

    # --- transfers --------------------------------------------------------------------------------

    def exchange(self, operations):
        """Runs transfers at the same time. Two of them never have the same target."""
        exchanges = {target_of(o): Exchange(self, o) for o in operations}
        with ThreadPoolExecutor(len(exchanges)) as pool:
            try:
                with program.signals_deferred():
                    running = [pool.submit(e.run) for e in exchanges.values()]
                for done in running:
                    done.result()
            except BaseException:
                self.testbed.kill()  # the pool waits for the other transfers
                raise
        for exchange in exchanges.values():
            exchange.judge()
