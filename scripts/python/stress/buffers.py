# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The model `buffers`: registered buffers that hosts write and read at random offsets.

Each host has some slots, each for one buffer: a file, or memory. The model of a buffer is an array
of octets. A revoked buffer stays in its slot, because hosts still try to use it.
"""

from stress import trees
from stress.failure import require
from stress.registered import Buffer

SLOTS = 3
MIB = 1 << 20
SIZES = [1, 2, 4095, 4096, 4097, 65536, MIB - 1, MIB, MIB + 1, 3 * MIB]
KINDS = [("register", 20), ("write", 26), ("read", 18), ("revoke", 10), ("local", 8),
         ("together", 10), ("kill", 5), ("race", 6)]
LAST_MS = 30


class Maker:
    def __init__(self, rng, hosts, _transport):
        self.rng = rng
        self.hosts = hosts
        self.kinds = KINDS
        self.used = []  # slots that have had a buffer

    def next(self, number):
        kinds, weights = zip(*self.kinds)
        kind = self.rng.choices(kinds, weights)[0] if self.used else "register"
        return self.operation(kind, number)

    def operation(self, kind, _number):
        return {"op": kind, **getattr(self, kind)()}

    def slot(self):
        return dict(self.rng.choice(self.used))

    def any_slot(self):
        slot = {"host": self.rng.randrange(self.hosts), "slot": self.rng.randrange(SLOTS)}
        self.used += [slot] if slot not in self.used else []
        return slot

    def register(self):
        size = self.rng.choice(SIZES) if self.rng.random() < 0.4 else \
            self.rng.randint(1, 1 << self.rng.randint(1, 21))
        return {**self.any_slot(), "kind": self.rng.choice(["file", "memory"]), "size": size,
                "access": self.rng.choice(["r", "w", "rw", "rw", "rw"]), "seed": self.seed(),
                "range": self.rng.choice([0, 0, self.rng.randrange(1000)])}

    def seed(self):
        return self.rng.randrange(1 << 32)

    def use(self):
        size = self.rng.randint(1, 1 << self.rng.randint(1, 22))
        return {**self.slot(), "client": self.rng.randrange(self.hosts),
                "permille": self.rng.choice([0, self.rng.randrange(1000)]), "size": size}

    def write(self):
        return {**self.use(), "seed": self.seed(), "excess": self.rng.choice([0, 0, 0, 1, 70000])}

    def read(self):
        return self.use()

    def revoke(self):
        return self.slot()

    def local(self):
        return {**self.slot(), "permille": self.rng.randrange(1000), "seed": self.seed(),
                "size": self.rng.randint(1, 10000)}

    def kill(self):
        return {**self.write(), "after_ms": self.rng.randrange(LAST_MS)}

    def race(self):
        """Revokes a buffer while a host writes to it."""
        return self.kill()

    def together(self):
        """Writes at the same time, to parts of one buffer that do not overlap."""
        count = self.rng.randint(2, 6)
        return {**self.slot(), "count": count, "seed": self.seed(),
                "reads": self.rng.random() < 0.5}


class Buffers:
    maker = Maker

    def __init__(self, testbed):
        self.testbed = testbed
        self.slots = {}  # (host, slot): Buffer
        self.names = 0
        self.touched = None

    def apply(self, operation):
        key = operation["host"], operation["slot"] % SLOTS
        self.touched = self.slots.get(key)
        if operation["op"] == "register":
            return self.register(key, operation)
        return self.touched is not None and getattr(self, operation["op"])(self.touched, operation)

    def check(self):
        """Files are compared after every operation, memory only if the operation used it."""
        for buffer in self.slots.values():
            if buffer.path or buffer is self.touched:
                buffer.check(self.testbed.hosts[0])

    def finish(self):
        for buffer in self.slots.values():
            buffer.check(self.testbed.hosts[0])
        for host in self.testbed.hosts:
            self.check_list(host)
            run = self.testbed.run(host, ["stag-reg", "revoke", "--control", host.control, "--all"])
            require(run.status == 0, f"{run.summary()}: expected status 0")

    def check_list(self, host):
        """The server must hold the live buffers and no others."""
        run = self.testbed.run(host, ["stag-reg", "list", "--json", "--control", host.control])
        found = {event["stag"] for event in run.events("buffer")}
        expected = {b.stag for b in self.slots.values() if b.host is host and b.live}
        require(found == expected, f"{host.name}: registered: {sorted(found)}: expected "
                f"{sorted(expected)}")

    # --- operations: each returns False if it does not apply --------------------------------------

    def register(self, key, operation):
        if key in self.slots and self.slots[key].live:
            return False
        self.names += 1
        buffer = Buffer(self.testbed, self.testbed.hosts[key[0]], f"b{self.names}", operation)
        buffer.register()
        self.slots[key] = self.touched = buffer
        return True

    def write(self, buffer, operation):
        at, length = buffer.range(operation["permille"], operation["size"])
        octets = trees.content(operation["seed"], length + operation["excess"], False)
        run = self.testbed.finish(buffer.start_write(self.client(operation), at, length, octets))
        if buffer.live and "w" in buffer.access:
            status = 4 if operation["excess"] else 0
            require(run.status == status, f"{run.summary()}: expected status {status}")
            buffer.place(at, octets[:length])
        else:
            self.must_fail(run, buffer)
        return True

    def read(self, buffer, operation):
        at, length = buffer.range(operation["permille"], operation["size"])
        run = self.testbed.finish(buffer.start_read(self.client(operation), at, length))
        if buffer.live and "r" in buffer.access:
            self.must_read(run, buffer, at, length)
        else:
            self.must_fail(run, buffer)
        return True

    def must_read(self, run, buffer, at, length):
        require(run.status == 0, f"{run.summary()}: expected status 0")
        require(run.output == buffer.octets(at, length),
                f"{run.words}: read other octets than the model has")

    def must_fail(self, run, buffer):
        state = f"access {buffer.access}" if buffer.live else "revoked"
        require(run.status in (1, 4) and run.message,
                f"{run.summary()}: expected status 1 or 4 and a message: the buffer is {state}")
        require("--from" not in run.words or not run.output,
                f"{run.words}: read {len(run.output)} octets of a buffer that is {state}")

    def revoke(self, buffer, _operation):
        if not buffer.live:
            return False
        buffer.revoke()
        return True

    def local(self, buffer, operation):
        """Another process of the host writes to a registered file."""
        if not buffer.path:
            return False
        at, length = buffer.range(operation["permille"], operation["size"])
        octets = trees.content(operation["seed"], length, False)
        with open(buffer.path, "r+b") as file:
            file.seek(buffer.first + at)
            file.write(octets)
        buffer.place(at, octets)
        return True

    def together(self, buffer, operation):
        count = operation["count"]
        if not buffer.live or buffer.access != "rw" or buffer.length < count:
            return False
        step = buffer.length // count
        octets = trees.content(operation["seed"], step * count, False)
        tools = [buffer.start_write(self.testbed.hosts[n % len(self.testbed.hosts)], n * step, step,
                                    octets[n * step:(n + 1) * step]) for n in range(count)]
        for run in [self.testbed.finish(tool) for tool in tools]:
            require(run.status == 0, f"{run.summary()}: expected status 0")
        buffer.place(0, octets)
        if operation["reads"]:
            self.read_together(buffer, count, step)
        return True

    def read_together(self, buffer, count, step):
        tools = [buffer.start_read(self.testbed.hosts[n % len(self.testbed.hosts)], n * step, step)
                 for n in range(count)]
        for n, run in enumerate([self.testbed.finish(tool) for tool in tools]):
            self.must_read(run, buffer, n * step, step)

    def kill(self, buffer, operation):
        """A writer that is killed has written some of its octets, and nothing else. Its last octets
        may still be on their way to the buffer; after a revocation none is written any more."""
        def kill_and_revoke(tool):
            tool.kill()
            buffer.revoke()
        return self.disturb(buffer, operation, kill_and_revoke)

    def race(self, buffer, operation):
        """After stag-reg revoke has returned, nothing more is written."""
        if not buffer.path:
            return False
        return self.disturb(buffer, operation, lambda _tool: buffer.revoke())

    def disturb(self, buffer, operation, act):
        if not buffer.live or "w" not in buffer.access:
            return False
        at, length = buffer.range(operation["permille"], operation["size"])
        octets = trees.content(operation["seed"], length, False)
        tool = buffer.start_write(self.client(operation), at, length, octets)
        tool.wait(operation["after_ms"] / 1000)
        act(tool)
        before = buffer.content(self.testbed.hosts[0])
        run = self.testbed.finish(tool)
        self.judge_disturbed(buffer, run, at, octets, before)
        return True

    def judge_disturbed(self, buffer, run, at, octets, before):
        old = bytearray(buffer.data)
        buffer.place(at, octets)
        if run.status == 0 and not buffer.live:
            require(before in (None, buffer.data), f"{run.summary()}: expected that every octet was "
                    "written when the revocation returned")
        if run.status != 0:
            buffer.check(self.testbed.hosts[0], old)
        if not buffer.live:
            require(before == buffer.content(None),
                    f"{run.words}: wrote to buffer {buffer.stag} after its revocation returned")

    def client(self, operation):
        return self.testbed.hosts[operation["client"] % len(self.testbed.hosts)]
