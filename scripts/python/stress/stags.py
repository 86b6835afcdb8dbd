# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The model `stags`: what admits a peer to a registered buffer, and what it may do there.

Every buffer is a file, so that all of its octets can be compared after each operation, also those
outside the registered part.
"""

import os
import re
import sys
import time

from stress import buffers, trees
from stress.buffers import Buffers
from stress.failure import Failure, require

KINDS = [("register", 22), ("write", 14), ("read", 10), ("revoke", 6), ("outside", 10),
         ("guess", 10), ("wire", 22), ("expire", 2)]
ATTACKS = ["valid", "beyond", "before", "wrap", "foreign", "random", "rights", "read_beyond",
           "revoked"]
LIFETIME_MS = 150
CLAIM_VERSION = 1
PLACED_SECONDS = 5
ALL_BITS = (1 << 64) - 1


class Maker(buffers.Maker):
    def __init__(self, rng, hosts, transport):
        super().__init__(rng, hosts, transport)
        self.kinds = [row for row in KINDS if row[0] != "wire" or transport == "tcp"]

    def register(self):
        operation = {**super().register(), "kind": "file"}
        operation["size"] = min(operation["size"], 1 << 16)
        draw = self.rng.random()
        if draw < 0.3:
            operation["options"] = ["--pd", self.rng.choice(["one", "two"])]
        elif draw < 0.45:
            operation["options"] = ["--no-key"]
        elif draw < 0.6:
            operation["options"] = ["--uses", str(self.rng.randint(1, 4))]
        return operation

    def outside(self):
        return {**self.use(), "past": self.rng.choice([1, 1, 4096, 1 << 40]),
                "reads": self.rng.random() < 0.5}

    def guess(self):
        return {**self.use(), "what": self.rng.choice(["stag", "key", "no key", "rights"]),
                "number": self.rng.randrange(1 << 32), "reads": self.rng.random() < 0.5}

    def wire(self):
        return {**self.use(), "attack": self.rng.choice(ATTACKS), "other": self.slot(),
                "number": self.rng.randrange(1 << 32), "length": self.rng.randint(1, 1000)}

    def expire(self):
        return {**self.any_slot(), "seed": self.seed(), "kind": "file", "access": "rw", "range": 0,
                "size": 1000, "client": self.rng.randrange(self.hosts)}


class Stags(Buffers):
    maker = Maker

    def register(self, key, operation):
        """Hosts of a fabric have one address, from which they also guess: there every buffer has a
        key."""
        local = self.testbed.hosts[key[0]].place.local()
        if not local and operation.get("options") == ["--no-key"]:
            return False
        return super().register(key, operation)

    # --- with the tools ---------------------------------------------------------------------------

    def write(self, buffer, operation):
        """Does not apply to a buffer that was revoked: that would be a guess."""
        return buffer.live and super().write(buffer, {**operation, "excess": 0}) and \
            self.spend(buffer, "w")

    def read(self, buffer, operation):
        return buffer.live and super().read(buffer, operation) and self.spend(buffer, "r")

    def spend(self, buffer, right):
        """Counts an operation of a buffer with --uses. A tool without the right does none: it reads
        the rights from the server's Reply."""
        if buffer.options[:1] == ["--uses"] and right in buffer.access:
            left = int(buffer.options[1]) - 1
            buffer.options = ["--uses", str(left)]
            buffer.live = left > 0
        return True

    def outside(self, buffer, operation):
        """A part that ends after the buffer. The server rejects the claim, or terminates."""
        if not buffer.live or buffer.options[:1] == ["--uses"]:
            return False
        at, _ = buffer.range(operation["permille"], 1)
        uri = buffer.part(at, buffer.length - at + operation["past"])
        self.must_fail(self.use(operation, uri, buffer, buffer.length - at + 1), buffer,
                       buffer.length - at)
        return True

    def guess(self, buffer, operation):
        """A claim that is wrong, or whose text claims more rights than the buffer has."""
        uri = wrong_uri(buffer, operation)
        if not uri:
            return False
        if operation["what"] == "rights":
            operation = {**operation, "reads": "r" not in buffer.access}
        self.must_fail(self.use(operation, uri, buffer, buffer.length), buffer)
        return True

    def use(self, operation, uri, buffer, size):
        words = buffer.client(*(("ddp-recv", "--from") if operation["reads"] else
                                ("ddp-send", "--to")), uri)
        octets = None if operation["reads"] else b"\xa5" * min(size, 1 << 17)
        return self.testbed.run(self.client(operation), words, octets)

    def must_fail(self, run, buffer, most=0):
        """most: how many octets it may read before it fails."""
        require(run.status in (1, 4) and run.message,
                f"{run.summary()}: expected status 1 or 4 and a message")
        require("--to" in run.words or len(run.output) <= most,
                f"{run.words}: read {len(run.output)} octets of buffer {buffer.stag}: expected at "
                f"most {most}")

    def apply(self, operation):
        if operation["op"] == "expire":
            return self.expire(operation)
        return super().apply(operation)

    def expire(self, operation):
        """A buffer with a lifetime is not registered after it."""
        key = operation["host"], operation["slot"] % buffers.SLOTS
        if not self.register(key, {**operation, "options": ["--expires", f"{LIFETIME_MS}ms"]}):
            return False
        buffer = self.slots[key]
        time.sleep(LIFETIME_MS * 2 / 1000)
        buffer.live = False
        run = self.use({**operation, "reads": False}, buffer.uri, buffer, buffer.length)
        self.must_fail(run, buffer)
        return True

    # --- on the wire: a peer that is admitted to one buffer, and breaks the rules -----------------

    def wire(self, buffer, operation):
        if not buffer.live or buffer.options[:1] in (["--uses"], ["--no-key"]) or \
                not buffer.host.place.local():
            return False
        other = operation["other"]
        attack = Attack(buffer, self.slots.get((other["host"], other["slot"])), operation)
        if not attack.possible():
            return False
        attack.run()
        return True


def wrong_uri(buffer, operation):
    """None if the operation does not apply."""
    what, number = operation["what"], operation["number"]
    if what == "stag":
        return buffer.uri.replace(buffer.stag, f"{number ^ int(buffer.stag, 16) or 1:08x}")
    if what == "rights":
        applies = buffer.live and buffer.access != "rw" and buffer.options[:1] != ["--uses"]
        return re.sub(r"access=r?w?", "access=rw", buffer.uri) if applies else None
    if "key=" not in buffer.uri:
        return None
    return re.sub(r"&key=\w+", f"&key={number:032x}" if what == "key" else "", buffer.uri)


class Attack:
    """One RDMA Write or Read of a peer of `buffer`, written from the RFCs alone."""

    def __init__(self, buffer, other, operation):
        self.buffer = buffer
        self.other = other
        self.kind = operation["attack"]
        self.number = operation["number"]
        self.octets = trees.content(self.number, min(operation["length"], buffer.length), False)
        self.at = buffer.first + operation["permille"] * (buffer.length - len(self.octets)) // 1000
        self.stag = int(buffer.stag, 16)
        self.hostile = hostile_peer()
        self.peer = None

    def possible(self):
        if self.kind == "foreign":
            return self.other not in (None, self.buffer) and self.other.live and \
                self.other.host is self.buffer.host and self.other.options[:1] != ["--uses"]
        if self.kind == "revoked":
            return self.other is not None and not self.other.live
        if self.kind == "before":
            return self.buffer.first > 0
        if self.kind == "rights":
            return self.buffer.access != "rw"
        return self.kind == "read_beyond" or "w" in self.buffer.access

    def run(self):
        key = bytes.fromhex(re.search(r"key=(\w+)", self.buffer.uri)[1])
        claim = {0: "ddp-buffer", 1: CLAIM_VERSION, 2: CLAIM_VERSION, 3: self.stag, 4: key}
        host = self.buffer.host
        try:
            self.peer = self.hostile.Peer.connect(host.place.address, host.receiver.port, claim,
                                                  check=False)
        except (OSError, self.hostile.Closed, self.hostile.Rejected) as error:
            raise Failure(f"{self.kind}: claim of buffer {self.buffer.stag}: "
                          f"{type(error).__name__} {error}: expected that it is admitted") from None
        try:
            getattr(self, self.kind)()
        finally:
            self.peer.sock.close()

    def valid(self):
        self.placed(self.buffer, self.at)

    def placed(self, buffer, to):
        """The octets must be in the file soon."""
        try:
            self.peer.write(int(buffer.stag, 16), to, self.octets)
        except (OSError, self.hostile.Closed) as error:
            raise Failure(f"{self.kind}: write of {len(self.octets)} octets to buffer "
                          f"{buffer.stag}: {error}: expected that they are placed") from None
        buffer.data[to:to + len(self.octets)] = self.octets
        limit = time.monotonic() + PLACED_SECONDS
        while buffer.content(None) != buffer.data and time.monotonic() < limit:
            time.sleep(0.002)

    def beyond(self):
        """One segment that begins within the buffer and ends after it."""
        end = self.buffer.first + self.buffer.length
        self.refused(self.stag, end - len(self.octets) + 1)

    def before(self):
        self.refused(self.stag, self.buffer.first - 1)

    def wrap(self):
        """The octets end at or after the highest Tagged Offset."""
        self.refused(self.stag, ALL_BITS - self.number % len(self.octets))

    def random(self):
        self.refused(self.stag ^ (self.number or 1), self.at)

    def revoked(self):
        self.refused(int(self.other.stag, 16), self.other.first)

    def foreign(self):
        """The STag of another buffer."""
        if self.other_is_open():
            self.placed(self.other, self.other.first)
        else:
            self.refused(int(self.other.stag, 16), self.other.first)

    def other_is_open(self):
        """A peer may use every buffer of the protection domain that it was admitted to."""
        other = self.other
        return self.buffer.options[:1] == ["--pd"] and other.options == self.buffer.options and \
            "w" in other.access and len(self.octets) <= other.length

    def rights(self):
        if self.buffer.access == "r":
            self.refused(self.stag, self.at)
        else:
            self.read_refused(self.at, 1)

    def read_beyond(self):
        self.read_refused(self.buffer.first, self.buffer.length + 1)

    def refused(self, stag, to):
        self.must_end(lambda: self.peer.tagged(0, stag, to, self.octets))

    def read_refused(self, to, size):
        self.must_end(lambda: self.peer.read_request(7, 0, size, self.stag, to))
        require(not self.peer.responses[7],
                f"{self.kind}: read {len(self.peer.responses[7])} octets: expected a Terminate")

    def must_end(self, send):
        """The server sends a Terminate, or closes."""
        try:
            send()
            while True:
                self.peer.any_message()
        except (self.hostile.Closed, self.hostile.Terminated):
            pass
        except TimeoutError:
            require(False, f"{self.kind}: the server did not end the connection")


def hostile_peer():
    """tests/bats/hostile.py: MPA, DDP and RDMAP, without any checks."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tests/bats")
    if path not in sys.path:
        sys.path.append(path)
    import hostile
    return hostile
