# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The plan of a run: profiles (scripts/profiles/*.yaml) become tests and cells.

A test is a transport, an operation and options. A cell is a client, a server, a test and an
impairment. Its id is CLIENT/SERVER/TEST/IMPAIRMENT.
"""

import dataclasses
import fnmatch
import os
import re
import zlib

import checked
from matrix import pairwise

# Name: (title, allowed values, the default first). None: see sizes() and mulpdus().
OPTIONS = {
    "crc": ("CRC", ["on", "off", "required"]),
    "markers": ("markers", ["off", "on"]),
    "rev": ("Rev", ["2", "1", "0"]),
    "rtr": ("RTR", ["none", "send", "write", "read"]),
    "mulpdu": ("MULPDU", None),
    "profile": ("edition", ["rfc", "rdmac"]),
    "size": ("size", None),
    "family": ("IPv", ["4", "6"]),
}
DEFAULTS = {"mulpdu": "auto", "size": "4K",
            **{name: values[0] for name, (_, values) in OPTIONS.items() if values}}
MPA = ["crc", "markers", "rev", "rtr", "mulpdu", "profile"]  # of them
TRANSPORTS = ["tcp", "sctp", "udp", "raw", "xdp"]
TITLES = {
    "setup": "connection set-up", "rping": "rping", "write": "RDMA Write", "read": "RDMA Read",
    "send": "Send", "pingpong": "Send and answer", "file-write": "file by RDMA Write",
    "file-read": "file by RDMA Read", "file-send": "file by Send", "ping": "SCTP ping",
    "buffer": "registered buffer", "nfs": "NFS over RDMA", "iser": "iSER", "open-mpi": "Open MPI",
}
SIZE = r"emss([+-][0-9]{1,3})?|[0-9]{1,4}[KM]?([+-][0-9]{1,3})?"
MTU = 1500
MOST_CELLS = 20000


@dataclasses.dataclass(frozen=True)
class Test:
    """options: all options, also those that have their defaults."""
    name: str
    title: str
    transport: str
    operation: str
    options: dict = dataclasses.field(hash=False)


@dataclasses.dataclass(frozen=True)
class Cell:
    client: str
    server: str
    test: Test
    impairment: str
    timeout: float

    @property
    def id(self):
        return f"{self.client}/{self.server}/{self.test.name}/{self.impairment}"

    def seed(self, seed):
        """The seed of this cell depends on nothing but the seed of the run and the id."""
        return zlib.crc32(f"{seed}/{self.id}".encode())


@dataclasses.dataclass
class Block:
    """A part of a profile; see scripts/profiles/README.md."""
    clients: list
    servers: list
    transports: list
    operations: list
    options: dict
    combine: str
    impairments: list
    timeout: float


@dataclasses.dataclass
class Profile:
    """not_run: rows of a test plan that no plug-in can run. expected: the baseline, if the user
    names no other."""
    name: str
    title: str
    about: str
    blocks: list
    not_run: list
    expected: checked.Node


# --- reading a profile -------------------------------------------------------------------------


def load(path):
    """Raises checked.Invalid."""
    node = checked.load(path)
    top = node.mapping(["title", "blocks"], ["about", "not-run", "expected"])
    blocks = [read_block(block) for block in top["blocks"].items()]
    rows = [read_not_run(row) for row in top["not-run"].items()] if "not-run" in top else []
    return Profile(os.path.basename(path).removesuffix(".yaml"), top["title"].text(),
                   top["about"].text() if "about" in top else "", blocks, rows,
                   top.get("expected"))


def read_not_run(node):
    """Returns a row of a test plan that no plug-in can run, and the reason."""
    row = node.mapping(["row", "reason"], [])
    return {"row": row["row"].text(), "reason": row["reason"].text()}


def read_block(node):
    keys = node.mapping(["clients", "servers", "transports", "operations"],
                        ["options", "combine", "impairments", "timeout"])
    name = r"[A-Za-z0-9_.*?-]+"
    return Block(
        words(keys["clients"], name, "the name of an implementation, or a pattern such as mpa-*"),
        words(keys["servers"], name, "the name of an implementation, or a pattern such as mpa-*"),
        [item.choice(*TRANSPORTS) for item in items(keys["transports"])],
        words(keys["operations"], r"[a-z0-9-]+", "the name of an operation, such as write"),
        read_options(keys["options"]) if "options" in keys else {},
        keys["combine"].choice("pairwise", "product", "each") if "combine" in keys else "pairwise",
        words(keys["impairments"], r"[a-z0-9-]+", "the name of an impairment")
        if "impairments" in keys else ["none"],
        read_timeout(keys["timeout"]) if "timeout" in keys else 20)


def read_timeout(node):
    if not 1 <= node.duration() <= 3600:
        raise node.error("a duration from 1s to 1h")
    return node.duration()


def items(node):
    if not node.items():
        raise node.error("a list that is not empty")
    return node.items()


def words(node, pattern, expected):
    return [item.text(pattern, expected) for item in items(node)]


def read_options(node):
    keys = node.mapping([], list(OPTIONS))
    return {name: [read_value(name, item) for item in items(value)]
            for name, value in keys.items()}


def read_value(name, node):
    values = OPTIONS[name][1]
    if values:
        return node.choice(*values)
    if name == "size":
        return node.text(SIZE, "a size, such as 64K, 64K+1 or emss-1")
    return node.text(r"auto|emss|[0-9]{3,5}", "auto, emss or a number of octets")


# --- the plan ----------------------------------------------------------------------------------


def cells(profile, names, seed):
    """names: of all implementations. Returns the cells of the profile in its order, each once.
    Raises checked.Invalid if they are too many."""
    found = {}
    for block in profile.blocks:
        for cell in block_cells(block, names, seed):
            found.setdefault(cell.id, cell)
            if len(found) > MOST_CELLS:
                raise checked.Invalid(f"profile {profile.name}: more than {MOST_CELLS} cells: "
                                      f"expected at most {MOST_CELLS}; use combine: pairwise")
    return list(found.values())


def block_cells(block, names, seed):
    for test in tests(block, seed):
        for client in matching(names, block.clients):
            for server in matching(names, block.servers):
                for impairment in block.impairments:
                    yield Cell(client, server, test, impairment, block.timeout)


def matching(names, patterns):
    return [name for name in names if any(fnmatch.fnmatch(name, p) for p in patterns)]


def tests(block, seed):
    """Makes the tests of a block."""
    options = {"transport": block.transports, "operation": block.operations, **block.options}
    return map(make_test, pairwise.combine(block.combine, options, seed))


def make_test(row):
    options = {name: row.get(name, DEFAULTS[name]) for name in OPTIONS}
    changed = {name: value for name, value in options.items() if value != DEFAULTS[name]}
    name = ",".join([f"{row['operation']}-{row['transport']}",
                     *(f"{option}={value}" for option, value in changed.items())])
    title = ", ".join([f"{TITLES.get(row['operation'], row['operation'])} over {row['transport']}",
                       *(describe(option, value) for option, value in changed.items())])
    return Test(name, title, row["transport"], row["operation"], options)


def contradiction(test):
    """Returns why no implementation can run a test, or ""."""
    wrong = [name for name in MPA if test.options[name] != DEFAULTS[name]]
    return f"option {wrong[0]} is one of MPA, which {test.transport} does not use" \
        if wrong and test.transport != "tcp" else ""


def describe(option, value):
    if option == "size":
        return f"{value} octets"
    return f"{OPTIONS[option][0]}{'' if option == 'family' else ' '}{value}"


def octets(test):
    """Returns the size of a message in octets. EMSS: that of an MTU of 1500 with TCP timestamps."""
    match = re.fullmatch(r"(emss|[0-9]+)([KM]?)([+-][0-9]+)?", test.options["size"])
    emss = MTU - (40 if test.options["family"] == "4" else 60) - 12
    base = emss if match[1] == "emss" else int(match[1])
    return max(0, base * {"": 1, "K": 1 << 10, "M": 1 << 20}[match[2]] + int(match[3] or 0))


# --- choosing cells ----------------------------------------------------------------------------


def chosen(cell_id, patterns):
    """patterns: globs in which * also matches a slash, or regular expressions after a ~."""
    return not patterns or any(matches(cell_id, pattern) for pattern in patterns)


def matches(cell_id, pattern):
    if pattern.startswith("~"):
        return bool(re.search(pattern[1:], cell_id))
    return fnmatch.fnmatchcase(cell_id, pattern)
