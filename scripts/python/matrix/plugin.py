# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Plug-ins: folders with `capabilities`, `serve`, `connect` and `version`, as
scripts/implementations/README.md describes them."""

import dataclasses
import os

from matrix import plan, side

PROGRAMS = ("capabilities", "serve", "connect", "version")
KINDS = ("native", "emulated", "guest", "remote")
WORDS = ("title", "about", "kind", "role", "transport", "operation", "serves", "connects",
         "option", "needs", "address", "local")
ONLY = {"serves": "server", "connects": "client"}
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
    """Returns a dict from name to folder. A folder with a file `capabilities` is a plug-in."""
    found = {}
    for folder in folders:
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            if os.path.exists(os.path.join(path, "capabilities")):
                found[name] = path
    return found


def load(name, folder, environment, log):
    """Asks a plug-in what it can do; ask_version() follows, when its guest is up."""
    plugin = Plugin(name, folder, title=name)
    missing = [p for p in PROGRAMS if not os.access(os.path.join(folder, p), os.X_OK)]
    if missing:
        plugin.broken = f"{name}: {missing[0]} is missing or not executable"
        return plugin
    answer = side.ask("capabilities", [plugin.program("capabilities")], environment, log, SECONDS)
    if answer.trouble:
        plugin.broken = answer.trouble
    elif answer.status == 3:
        take(plugin, answer.lines[:-1])
        plugin.unavailable = answer.lines[-1] if answer.lines else "cannot run here"
    elif answer.status != 0:
        plugin.broken = f"capabilities: exit status {answer.status}: expected 0 or 3"
    else:
        take(plugin, answer.lines)
    return plugin


def take(plugin, lines):
    """Reads the lines of capabilities into the plug-in; sets broken."""
    for line in lines:
        word, _, rest = line.strip().partition(" ")
        values = rest.split()
        if not word:
            continue
        if word not in WORDS or not values or (word == "kind" and rest not in KINDS):
            plugin.broken = f"capabilities printed {line[:60]!r}: expected one of " \
                f"{', '.join(WORDS)} and its values"
            return
        if word in ("title", "about", "kind", "address", "local"):
            setattr(plugin, word, rest)
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
        plugin.version = answer.lines[0][:200]
