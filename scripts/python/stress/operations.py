# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A list of operations: made from a seed, written to a file, read from it.

The file has JSON lines. The first one is the head: model, seed, hosts, transport. Each further line
is one operation, a mapping whose key "op" names it. The list depends on the head alone.
"""

import json
import random

from stress.buffers import Buffers
from stress.failure import Invalid
from stress.files import Files
from stress.operation_check import Checker
from stress.sessions import Sessions
from stress.stags import Stags

MODELS = {"files": Files, "buffers": Buffers, "stags": Stags, "sessions": Sessions}
TRANSPORTS = ("tcp", "udp", "raw", "sctp")
SCHEMA = 1


class List:
    """head: a dict with model, seed, hosts, transport. operations: a list of dicts."""

    def __init__(self, head, operations):
        self.head = head
        self.operations = operations

    def model(self):
        return MODELS[self.head["model"]]

    def part(self, operations):
        return List(self.head, operations)

    def text(self):
        lines = [{"schema": SCHEMA, **self.head}, *self.operations]
        return "".join(json.dumps(line) + "\n" for line in lines)

    def save(self, path):
        with open(path, "w", encoding="ascii") as file:
            file.write(self.text())


def generate(model, seed, hosts, transport, count):
    """Returns a List of count operations."""
    rng = random.Random(f"{model} {seed} {hosts} {transport}")
    maker = MODELS[model].maker(rng, hosts, transport)
    head = {"model": model, "seed": seed, "hosts": hosts, "transport": transport}
    return List(head, [maker.next(number) for number in range(count)])


def load(path):
    """Reads a file that save() wrote."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except OSError as error:
        raise Invalid(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Invalid(f"{path}: not a text file: expected JSON lines") from None
    if not lines:
        raise Invalid(f"{path}: empty: expected JSON lines")
    rows = [row(path, number, line) for number, line in enumerate(lines, 1)]
    check_head(path, rows[0])
    checker = Checker(MODELS[rows[0]["model"]].maker, rows[0]["hosts"], rows[0]["transport"])
    for number, operation in enumerate(rows[1:], 2):
        checker.check(f"{path}:{number}", operation)
    head = {key: rows[0][key] for key in ("model", "seed", "hosts", "transport")}
    return List(head, rows[1:])


def row(path, number, line):
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise Invalid(f"{path}:{number}: {line[:40]}: expected a JSON object")
    return value


def check_head(path, head):
    expected = {"schema": lambda v: v == SCHEMA,
                "model": lambda v: isinstance(v, str) and v in MODELS,
                "seed": lambda v: isinstance(v, int), "transport": lambda v: v in TRANSPORTS,
                "hosts": lambda v: isinstance(v, int) and 2 <= v <= 100}
    for key, valid in expected.items():
        if not valid(head.get(key)):
            raise Invalid(f"{path}:1: {key} {json.dumps(head.get(key))}: expected the first line "
                          "of a file that scripts/stress wrote")
