# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Random operations of the model `files`.

Names are taken from a small set, so that most operations find what earlier ones have made. An
operation on a name that does not exist does nothing: a list from which some operations were removed
still runs.
"""

MIB = 1 << 20
DIRECTORIES = ["a", "a/b", "a/b/c", "d e", "private"]
FILES = ["f0", "f1", "f2", "f3", "x.o", "y.o", "caf\u00e9", "-rf", "new\nline", ".hidden"]
LINK_TARGETS = ["f0", "../f1", "nowhere", "/nonexistent/name"]
SIZES = [0, 1, 4095, 4096, 65536, MIB - 1, MIB, MIB + 1]
MOVES = ["write", "read", "send"]
MODES = [0o600, 0o644, 0o755]
PATTERNS = ["*.o", "f[12]", "b", ".*"]
RULES = ["", "", "", "", "", "force", "checksum", "update", "keep"]
KINDS = [("write", 30), ("edit", 8), ("truncate", 5), ("rename", 6), ("remove", 5), ("chmod", 4),
         ("link", 3), ("hard_link", 5), ("push", 17), ("pull", 14), ("together", 8),
         ("push_file", 3), ("push_stream", 3), ("fetch", 3), ("push_large", 1)]
LAST_KILL_MS = 120
KILL_RATE = "200M"  # slow enough for a kill to find a transfer in progress


class Maker:
    def __init__(self, rng, hosts, transport):
        self.rng = rng
        self.hosts = hosts
        self.transport = transport
        self.kinds = KINDS

    def next(self, number):
        kinds, weights = zip(*self.kinds)
        return self.operation(self.rng.choices(kinds, weights)[0], number)

    def operation(self, kind, number):
        """number: of the operation in its list."""
        operation = {"op": kind, **getattr(self, kind)()}
        if kind != "together":
            operation["time"] = number
        return operation

    def name(self):
        base = self.rng.choice(FILES)
        return base if self.rng.random() < 0.5 else f"{self.rng.choice(DIRECTORIES)}/{base}"

    def any_name(self):
        return self.name() if self.rng.random() < 0.8 else self.rng.choice(DIRECTORIES)

    def host(self):
        return self.rng.randrange(self.hosts)

    def size(self):
        if self.rng.random() < 0.3:
            return self.rng.choice(SIZES)
        return self.rng.randrange(1 << self.rng.randint(4, 21))

    def seed(self):
        return self.rng.randrange(1 << 32)

    # --- changes of a tree ------------------------------------------------------------------------

    def write(self):
        name = self.any_name() if self.rng.random() < 0.1 else self.name()
        return {"host": self.host(), "name": name, "size": self.size(), "seed": self.seed(),
                "hole": self.rng.random() < 0.2, "mode": self.rng.choice(MODES)}

    def edit(self):
        return {"host": self.host(), "name": self.name(), "permille": self.rng.randrange(1000),
                "size": self.rng.randint(1, 5000), "seed": self.seed(),
                "unseen": self.rng.random() < 0.2}

    def truncate(self):
        return {"host": self.host(), "name": self.name(), "size": self.size()}

    def rename(self):
        return {"host": self.host(), "name": self.any_name(), "to": self.any_name()}

    def remove(self):
        return {"host": self.host(), "name": self.any_name()}

    def chmod(self):
        return {"host": self.host(), "name": self.any_name(), "mode": self.rng.choice(MODES)}

    def link(self):
        return {"host": self.host(), "name": self.name(), "target": self.rng.choice(LINK_TARGETS)}

    def hard_link(self):
        return {"host": self.host(), "name": self.name(), "to": self.name()}

    # --- transfers --------------------------------------------------------------------------------

    def push(self):
        return self.transfer("to")

    def pull(self):
        return self.transfer("from")

    def transfer(self, peer):
        operation = {**self.peers(peer), "jobs": self.rng.choice([1, 1, 2, 4]),
                     "delete": self.rng.random() < 0.4,
                     "exclude": self.rng.choice(PATTERNS) if self.rng.random() < 0.2 else "",
                     "rule": self.rng.choice(RULES), "verify": self.rng.random() < 0.2,
                     "digest": self.rng.choice(["xxh3", "xxh3", "sha256"])}
        draw = self.rng.random()
        if draw < 0.2:
            operation["kill"] = {"victim": self.rng.choice(["client", "server"]),
                                 "after_ms": self.rng.randrange(5, LAST_KILL_MS)}
        elif draw < 0.3:
            operation["during"] = {"name": self.name(), "size": self.size(), "seed": self.seed(),
                                   "after_ms": self.rng.randrange(LAST_KILL_MS // 2)}
        elif draw < 0.36 and peer == "to":
            operation["quota"] = self.rng.randrange(1 << self.rng.randint(10, 23))
        elif draw < 0.42 and peer == "to":
            operation["disk"] = self.rng.randrange(1 << 16, 1 << self.rng.randint(18, 23))
        elif draw < 0.46:
            operation["dry"] = True
        if "kill" in operation or "during" in operation:
            operation["rate"] = KILL_RATE
            operation["rule"] = self.rng.choice(["", "force"])
        return operation

    def peers(self, peer):
        host, other = self.rng.sample(range(self.hosts), 2)
        return {"host": host, peer: other, "mode": self.rng.choice(MOVES)}

    def push_file(self):
        return {**self.peers("to"), "name": self.name()}

    def push_stream(self):
        return {**self.peers("to"), "size": self.size(), "seed": self.seed(),
                "hole": self.rng.random() < 0.2}

    def fetch(self):
        return {**self.peers("from"), "name": self.name()}

    def push_large(self):
        return {**self.peers("to"), "size": self.rng.randrange(128 * MIB, 200 * MIB),
                "jobs": self.rng.randint(2, 4), "seed": self.seed(),
                "blocks": self.rng.randint(1, 20)}

    def together(self):
        """Several transfers at the same time. Files are changed only between transfers."""
        operations, targets = [], set()
        for _ in range(self.rng.randint(2, 5)):
            kind = self.rng.choice(["push", "push", "pull"])
            operation = {"op": kind, **getattr(self, kind)()}
            operation.pop("during", None)
            operation["time"] = 0
            target = (kind, operation["host"], operation.get("to", operation.get("from")))
            if target not in targets:
                operations.append(operation)
                targets.add(target)
        return {"operations": operations}
