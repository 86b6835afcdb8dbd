# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Plug-ins: folders with `capabilities`, `serve`, `connect` and `version`, as
scripts/implementations/README.md describes them."""

import dataclasses
import os
import re

import checked
from matrix import plan, side

PROGRAMS = ("capabilities", "serve", "connect", "version")
KINDS = ("native", "emulated", "guest", "remote")
ROLES = ("client", "server")
# The values of a keyword of capabilities, of an option its names; None: any.
WORDS = {"title": None, "about": None, "kind": KINDS, "role": ROLES, "transport": plan.TRANSPORTS,
         "operation": None, "serves": None, "connects": None, "option": tuple(plan.OPTIONS),
         "needs": None, "address": None, "local": None}
ONLY = {"serves": "server", "connects": "client"}
NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"
SECONDS = 20


@dataclasses.dataclass
class Plugin:
    """unavailable: why it cannot run here, or "". broken: what is wrong with the plug-in itself, or
    "": its cells are infrastructure errors. only: operations in one role. address, local: of a
    remote one, and of this machine in its network."""
    name: str
    folder: str
    title: str = ""
    about: str = ""
    kind: str = "native"
    roles: list = dataclasses.field(default_factory=list)
    transports: list = dataclasses.field(default_factory=list)
    operations: list = dataclasses.field(default_factory=list)
    only: dict = dataclasses.field(default_factory=lambda: {"client": [], "server": []})
    options: dict = dataclasses.field(default_factory=dict)
    needs: list = dataclasses.field(default_factory=list)
    version: str = ""
    address: str = ""
    local: str = ""
    unavailable: str = ""
    broken: str = ""

    def program(self, name):
        return os.path.join(self.folder, name)

    def lacks(self, role, test):
        """Returns why this implementation cannot do the test in this role, or "". Everything that
        it does not declare is unsupported."""
        if self.unavailable:
            return f"{self.name}: {self.unavailable}"
        for word, value, declared in (("role", role, self.roles),
                                      ("transport", test.transport, self.transports),
                                      ("operation", test.operation,
                                       self.operations + self.only[role])):
            if value not in declared:
                return f"{self.name} does not declare {word} {value}" + \
                    (f" as {role}" if value in self.only["client"] + self.only["server"] else "")
        for name, value in test.options.items():
            # An option that the plug-in does not mention has its default only.
            if not allows(self.options.get(name), name, value):
                return f"{self.name} does not declare option {name} {value}"
        return ""


def allows(declared, name, value):
    if declared is None:
        return value == plan.DEFAULTS[name]
    return value in declared or "any" in declared


def discover(folders):
    """Returns a dict from name to folder. A folder with a file `capabilities` is a plug-in; its
    name becomes a part of ids and paths. Raises checked.Invalid."""
    found = {}
    for folder in map(os.path.abspath, folders):
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            if not os.path.exists(os.path.join(path, "capabilities")):
                continue
            if not re.fullmatch(NAME, name):
                raise checked.Invalid(f"{folder}: plug-in {name!r}: expected a name of at most 64 "
                                      "letters, digits, and the characters _ . -")
            found[name] = path
    return found


def load(name, folder, environment, log):
    """Asks a plug-in what it can do; ask_version() follows, when its guest is up."""
    plugin = ask_capabilities(name, folder, environment, log)
    if plugin.kind == "guest" and environment["IW_GUESTS"] != "yes":
        plugin.unavailable = plugin.unavailable or environment["IW_GUESTS"]
    if plugin.kind == "remote" and not plugin.unavailable and not (plugin.address and plugin.local):
        plugin.broken = plugin.broken or "capabilities: kind remote without address or local: " \
            "expected both"
    return plugin


def ask_capabilities(name, folder, environment, log):
    plugin = Plugin(name, folder, title=name)
    missing = [p for p in PROGRAMS if not os.access(os.path.join(folder, p), os.X_OK)]
    if missing:
        plugin.broken = f"{missing[0]} is missing or not executable"
        return plugin
    answer = side.ask("capabilities", [plugin.program("capabilities")], environment, log, SECONDS)
    if answer.trouble:
        plugin.broken = answer.trouble
    elif answer.status == 3:
        take(plugin, answer.lines[:-1])
        plugin.unavailable = side.short("".join(answer.lines[-1:])) or "cannot run here"
    elif answer.status != 0:
        plugin.broken = f"capabilities: exit status {answer.status}: expected 0 or 3"
    else:
        take(plugin, answer.lines)
    return plugin


def take(plugin, lines):
    """Reads the lines of capabilities into the plug-in; sets broken."""
    for line in filter(str.strip, lines):
        plugin.broken = wrong(line)
        if plugin.broken:
            return
        store(plugin, line)


def wrong(line):
    """Returns what is wrong with a line of capabilities, or ""."""
    word, _, rest = line.strip().partition(" ")
    values = rest.split()
    if word not in WORDS or not values:
        return f"capabilities printed {line[:60]!r}: expected one of {', '.join(WORDS)} and its " \
            "values"
    judged = {"kind": [rest], "option": values[:1]}.get(word, values)
    unknown = [value for value in judged if WORDS[word] and value not in WORDS[word]]
    return f"capabilities: {word} {unknown[0][:60]!r}: expected one of {', '.join(WORDS[word])}" \
        if unknown else ""


def store(plugin, line):
    """Adds a line of capabilities to the plug-in."""
    word, _, rest = line.strip().partition(" ")
    values = rest.split()
    if word in ("title", "about", "kind", "address", "local"):
        setattr(plugin, word, side.short(rest))
    elif word == "option":
        plugin.options[values[0]] = values[1:]
    elif word == "needs":
        plugin.needs += values
    elif word in ONLY:
        plugin.only[ONLY[word]] += values
    else:
        getattr(plugin, word + "s").extend(values)


def ask_version(plugin, environment, log):
    answer = side.ask("version", [plugin.program("version")], environment, log, SECONDS)
    if answer.trouble or answer.status != 0 or len(answer.lines) != 1:
        plugin.broken = answer.trouble or \
            f"version: exit status {answer.status}, {len(answer.lines)} lines: expected 0 and " \
            "one line"
    else:
        plugin.version = side.short(answer.lines[0])
