# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The plan of a round, which depends only on its kind and its seed."""

import random
import socket

import tcp_faults
import udp_faults
from middle import Middle
from ports import HOST
from tree import TOP

KINDS = {**tcp_faults.KINDS, **udp_faults.KINDS}
GROUPS = {group: [k for k in KINDS if k.startswith(group) and not k.endswith("-none")]
          for group in ("tcp", "udp")}
# Faults of these kinds change only the timing: the transfer must be complete.
HARMLESS = ["tcp-split", "tcp-delay", "udp-duplicate", "udp-reorder", "tcp-none", "udp-none"]
# Faults of these kinds never stop, so "after the last fault" has no meaning.
ENDLESS = ["udp-loss", "udp-duplicate", "udp-reorder", "udp-corrupt", "udp-mtu"]
TREES, LARGE_TREES = 8, 2
SCTP_PORT = 7471


class Plan:
    """One round. timeout: the tools' --timeout in seconds."""

    def __init__(self, kind, seed, timeout):
        rng = random.Random(f"{kind} {seed}")
        self.kind = kind
        self.seed = seed
        self.timeout = timeout
        # Successive seeds vary these, so that a short run has all combinations.
        self.push = seed % 2 == 0
        self.jobs = 4 if seed // 2 % 2 else 1
        self.mode = ("write", "read", "send")[seed % 3]
        self.digest = rng.choice(["xxh3", "xxh3", "sha256", "none"])
        self.crc_off = self.tcp() and rng.random() < (0.5 if kind == "tcp-flip" else 0.25)
        if kind == "tcp-flip" and self.crc_off and self.digest == "none":
            self.digest = "xxh3"
        self.redial = rng.random() < 0.7
        self.large = self.jobs > 1 and rng.random() < 0.4
        self.tree = rng.randrange(LARGE_TREES if self.large else TREES)
        self.forever = kind == "udp-blackout" and rng.random() < 0.4
        # After a failure the middle keeps its connections open, so the listener still has the old
        # ones when the same command runs again.
        self.linger = kind in ("tcp-freeze", "udp-blackout") and rng.random() < 0.5
        self.rng = rng

    def tcp(self):
        return self.kind.startswith("tcp")

    def whats(self):
        """The units that a TCP fault may strike."""
        return ["untagged"] if self.mode == "send" else ["tagged", "untagged"]

    def must_complete(self):
        return self.kind in HARMLESS

    def has_last_fault(self):
        return self.kind not in ENDLESS

    def make_middle(self, build, directory, to_port):
        return Middle(build, directory, self, to_port, KINDS[self.kind](self.rng, self))

    def socket_type(self):
        return socket.SOCK_STREAM if self.tcp() else socket.SOCK_DGRAM

    def listener(self, port, source, target):
        """The command of the listener."""
        if self.push:
            return ["ddp-recv", *self.common(port), "--control", "none", target]
        return ["ddp-send", "--listen", *self.common(port), source]

    def client(self, port, source, target):
        """The command of the connecting side."""
        options = [*self.common(port), "-m", self.mode, "-j", str(self.jobs),
                   "--digest", self.digest, *([] if self.redial else ["--redial", "0"])]
        top = TOP.decode()
        if self.push:
            return ["ddp-send", *options, f"{source}/{top}", f"{HOST}:"]
        return ["ddp-recv", *options, f"{HOST}:{top}", target]

    def common(self, port):
        where = ["-p", str(port)] if self.tcp() else \
            ["-t", "udp", "-p", str(SCTP_PORT), "--udp-port", str(port)]
        return [*where, "--timeout", f"{round(self.timeout * 1000)}ms",
                *(["--crc", "off"] if self.crc_off else [])]

    def __str__(self):
        return "%s %d: %s, %s, -j %d, %s%s%s%s%s" % (
            self.kind, self.seed, "push" if self.push else "pull", self.mode, self.jobs,
            self.digest, ", CRC off" if self.crc_off else "",
            "" if self.redial else ", redial 0",
            ", large" if self.large else "", ", lingering" if self.linger else "")
