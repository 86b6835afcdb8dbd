# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Checks the operations of a file. They must look like those that a model makes: a file may come
from another version, or from another user."""

import json
import random

from stress.failure import Invalid

EXAMPLES = 300  # of each kind: enough to have every key and every choice
CHOICES = ("access", "attack", "digest", "end", "exclude", "kind", "mode", "rule", "server",
           "state", "victim", "what")
NAMES = ("name", "to")
TYPES = {bool: "true or false", int: "a whole number", str: "a text", list: "a list",
         dict: "an object"}


class Checker:
    """For the operations of a maker: a class with kinds and operation(kind, number)."""

    def __init__(self, maker, hosts, transport):
        self.hosts = hosts
        maker = maker(random.Random(0), hosts, transport)
        self.kinds = [kind for kind, _ in maker.kinds]
        self.examples = {kind: [maker.operation(kind, 0) for _ in range(EXAMPLES)]
                         for kind in self.kinds}

    def check(self, where, operation, kinds=None):
        """where: the file and the line. Raises Invalid."""
        kinds = kinds or self.kinds
        if operation.get("op") not in kinds:
            raise Invalid(f"{where}: op {shown(operation.get('op'))}: expected one of "
                          f"{', '.join(kinds)}")
        wrong = misfit(operation["op"], operation, self.examples[operation["op"]]) or \
            self.no_host(operation)
        if wrong:
            raise Invalid(f"{where}: {wrong}")
        for part in operation.get("operations", []):
            self.check(where, part, ("push", "pull"))

    def no_host(self, operation):
        for key in ("host", "to", "from", "client"):
            value = operation.get(key)
            if isinstance(value, int) and value >= self.hosts:
                return f"{key} {value}: expected a host from 0 to {self.hosts - 1}"
        return None


def shown(value):
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:40] + "..."


def misfit(key, value, examples):
    """Returns what is wrong with the value of a key, or None. It must have the type of an example;
    an object must also have the keys that all examples have, and no others."""
    same = [example for example in examples if type(example) is type(value)]
    if not same:
        return f"{key} {shown(value)}: expected {TYPES[type(examples[0])]}"
    if isinstance(value, dict):
        return misfit_object(key, value, same)
    if isinstance(value, list):
        elements = [element for example in same for element in example]
        wrong = (misfit(key, element, elements) for element in value)
        return next((text for text in wrong if text), None)
    if key in CHOICES and value not in same:
        known = ", ".join(json.dumps(one) for one in sorted(set(same)))
        return f"{key} {shown(value)}: expected one of {known}"
    if key in NAMES and isinstance(value, str) and not is_name(value):
        return f"{key} {shown(value)}: expected a name without empty components and without .."
    if isinstance(value, int) and value < 0:
        return f"{key} {value}: expected at least 0"
    return None


def misfit_object(name, value, examples):
    needed = set(examples[0]).intersection(*examples)
    for key in sorted(needed - value.keys()):
        return f"{name}: no {key}: expected this key"
    for key, part in value.items():
        parts = [example[key] for example in examples if key in example]
        if not parts:
            return f"{name}: {shown(key)}: expected no such key"
        if key != "operations":
            wrong = misfit(key, part, parts)
        else:
            wrong = None if isinstance(part, list) and all(isinstance(p, dict) for p in part) \
                else f"{key} {shown(part)}: expected a list of objects"
        if wrong:
            return wrong
    return None


def is_name(text):
    return "\0" not in text and not {"", ".."} & set(text.split("/"))
