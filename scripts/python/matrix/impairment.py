# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Impairments (scripts/impairments/*.yaml): what happens between the two ends of a cell, and what
the ends must do about it."""

import dataclasses
import json
import os
import re
import subprocess

import checked
from matrix import net

EXPECTATIONS = ("success", "detected", "either")
NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"
DECISIONS = "decisions.jsonl"
# A setting of the link that affects some frames only, and how ddp-impair counts them.
COUNTS = {"loss": "lost", "drop": "lost", "duplicate": "duplicated", "corrupt": "corrupted",
          "swap": "swapped", "late": "late"}


@dataclasses.dataclass
class Impairment:
    """link: settings of the link, both directions. rules: of ddp-impair. expect: success: the
    operation works. detected: it ends with an error in time, and no end accepts wrong
    octets. either: one of both. clause: of the standard that says so."""
    name: str
    title: str
    keys: dict = dataclasses.field(default_factory=dict)  # of the file
    link: str = ""
    rules: list = dataclasses.field(default_factory=list)
    expect: str = "success"
    clause: str = ""


NONE = Impairment("none", "no impairment")


def load(path):
    """Raises checked.Invalid."""
    node = checked.load(path)
    keys = node.mapping(["title"], ["about", "link", "rules", "expect", "clause"])
    name = os.path.basename(path).removesuffix(".yaml")
    if not re.fullmatch(NAME, name):
        raise checked.Invalid(f"{path}: expected a name of at most 64 letters, digits, and the "
                              "characters _ . -")
    if "link" not in keys and "rules" not in keys:
        raise checked.Invalid(f"{path}:{node.line}: neither link nor rules: expected one of them")
    return Impairment(
        name, keys["title"].text(), keys,
        keys["link"].text(r"[a-z0-9=%.,A-Z-]+", "settings such as loss=1%,delay=10ms")
        if "link" in keys else "",
        [rule.text(r".+:.+", "a rule of ddp-impair, such as \"fpdu nth=5: drop\"")
         for rule in keys["rules"].items()] if "rules" in keys else [],
        keys["expect"].choice(*EXPECTATIONS) if "expect" in keys else "success",
        keys["clause"].text() if "clause" in keys else "")


def find(folder, names):
    """Returns a dict from name to Impairment. A name is that of a file of the folder, or a path."""
    found = {"none": NONE}
    for name in names:
        if name != "none":
            path = name if name.endswith(".yaml") else os.path.join(folder, f"{name}.yaml")
            impairment = load(path)
            if impairment.name in found:
                raise checked.Invalid(f"{path}: the name {impairment.name} is taken: expected "
                                      "another name of the file")
            found[impairment.name] = impairment
    return found


# --- the relay ---------------------------------------------------------------------------------


def check(impairments):
    """Raises checked.Invalid if ddp-impair refuses a rule or the link of an impairment."""
    program = net.find("ddp-impair")
    for impairment in impairments.values() if program else []:
        keys = impairment.keys
        for node in keys["rules"].items() if "rules" in keys else []:
            transport = "udp" if node.value.split()[0] in ("packet", "chunk") else "tcp"
            check_option(program, transport, "--rule", node)
        if "link" in keys:
            check_option(program, "udp", "--link", keys["link"])


def check_option(program, transport, option, node):
    done = subprocess.run([program, "--check", "-t", transport, option, node.value],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        message = done.stderr.splitlines()[0].removeprefix("ddp-impair: ").removeprefix("--")
        raise checked.Invalid(f"{node.path}:{node.line}: {message}")


def in_frames(impairment, cell):
    """Returns whether the relay forwards frames (--between) or a TCP stream (--listen)."""
    return bool(impairment.link) and not impairment.rules or \
        bool(impairment.rules) and cell.test.transport != "tcp"


def cannot(impairment, cell, is_far):
    """Returns why this impairment cannot be used in this cell, or ""."""
    if impairment.name == "none":
        return ""
    if not net.find("ddp-impair"):
        return "needs ddp-impair: not built"
    if is_far and in_frames(impairment, cell):
        return f"impairment {impairment.name}: frames to a guest or to another machine do not " \
            "pass the relay"
    return ""


class Relay:
    """How the relay of a cell is started. holder: the namespace in which it runs. target: address
    and port for the client."""

    def __init__(self, impairment, cell, network, port):
        self.impairment = impairment
        self.frames = in_frames(impairment, cell)
        self.to = network.server_address, port
        if self.frames:
            self.holder, self.target = network.middle, self.to
        elif network.middle is None and isinstance(network, net.GuestNet):
            self.holder, self.target = network.server, (net.GUEST_HOST[network.family], port + 1)
        elif isinstance(network, net.MachineNet):
            self.holder, self.target = network.server, (network.local, port + 1)
        else:
            self.holder, self.target = network.server, (network.server_address, port + 1)

    def command(self, seed, folder):
        impairment = self.impairment
        where = ["--between", "a0,b0"] if self.frames else \
            ["-t", "tcp", "--listen", place(self.target), "--to", place(self.to)]
        link = ["--link", impairment.link] if impairment.link else []
        rules = [word for rule in impairment.rules for word in ("--rule", rule)]
        # With rules, --json would also list the decisions, which the record has.
        result = ["--record", os.path.join(folder, DECISIONS)] if rules else ["--json"]
        return [net.find("ddp-impair"), "--seed", str(seed), *where, *link, *rules, *result]


def idle(impairment, lines, folder):
    """Returns how the impairment has changed nothing, or "". lines: the output of ddp-impair."""
    if impairment.rules:
        with open(os.path.join(folder, DECISIONS), encoding="utf-8") as file:
            used = any('"event":"decision"' in line for line in file)
        return "" if used else "no unit met its rules"
    wanted = {COUNTS[name] for name in re.findall(r"([a-z-]+)=", impairment.link) if name in COUNTS}
    counts = [event for event in map(json.loads, lines) if event["event"] == "direction"]
    missed = sorted(name for name in wanted if not any(event[name] for event in counts))
    return f"no frame was {', '.join(missed)}" if missed else ""


def place(address):
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
