# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reads YAML files and checks what they hold. Every error names the file, the line, the value seen
and the value expected.

load() returns a Node. The caller asks for the type that it expects; a Node of another type raises
Invalid. A mapping must have all keys of the caller's list `required`, and no key outside `required`
and `optional`, so that a misspelt key is an error and never ignored.
"""

import difflib
import re

import yaml

import program

DECIMAL = r"[0-9]{1,18}(?:\.[0-9]{1,18})?"
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
RATES = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9}
MOST_OCTETS = 4 << 20  # of a file
MOST_NODES = 200_000  # of a file, each use of an alias counted
MOST_LEVELS = 30
SHOWN = 80  # characters of a value in a message
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


class Invalid(program.Problem):
    """A file that cannot be used. str() is the message for the user."""

    status = program.USAGE


class Node:
    """A value of a file and its place. value: a str, a list of Nodes, a dict from str to Node, or
    None."""

    def __init__(self, value, path, line):
        self.value = value
        self.path = path
        self.line = line

    def error(self, expected):
        """Returns the exception to raise when this value is not what was expected."""
        return Invalid(f"{self.path}:{self.line}: {self.seen()}: expected {expected}")

    def seen(self):
        if self.value is None:
            return "nothing"
        if isinstance(self.value, dict):
            return "a mapping"
        if isinstance(self.value, list):
            return "a list"
        text = "".join(one if one.isprintable() else repr(one)[1:-1] for one in self.value[:SHOWN])
        return f'"{text}{"..." if len(self.value) > SHOWN else ""}"'

    # --- types: each returns a Python value or raises Invalid ------------------------------------

    def mapping(self, required=(), optional=None):
        """Returns a dict from str to Node. optional=None: any key is allowed."""
        if not isinstance(self.value, dict):
            raise self.error("a mapping" + (f" with {', '.join(required)}" if required else ""))
        for key, node in self.value.items():
            if optional is not None and key not in required and key not in optional:
                raise unknown_key(key, node, [*required, *optional])
        for key in required:
            if key not in self.value:
                raise Invalid(f"{self.path}:{self.line}: no {key}: expected a mapping with "
                              f"{', '.join(required)}")
        return self.value

    def items(self):
        """Returns a list of Nodes."""
        if not isinstance(self.value, list):
            raise self.error("a list")
        return self.value

    def text(self, pattern=None, expected="a text"):
        """Returns a str that matches the whole regular expression."""
        if not isinstance(self.value, str) or (pattern and not re.fullmatch(pattern, self.value)):
            raise self.error(expected)
        return self.value

    def choice(self, *words):
        """Returns one of the words."""
        if self.value not in words:
            raise self.error("one of " + ", ".join(words))
        return self.value

    def flag(self):
        """Returns a bool."""
        return self.choice("on", "off", "yes", "no", "true", "false") in ("on", "yes", "true")

    def integer(self, least, most):
        """Returns an int within these limits, both included."""
        if not isinstance(self.value, str) or not re.fullmatch(r"-?[0-9]{1,18}", self.value) or \
                not least <= int(self.value) <= most:
            raise self.error(f"a whole number from {least} to {most}")
        return int(self.value)

    def size(self):
        """Returns octets: 64K is 65536."""
        return self.scaled(UNITS, "a size in octets, such as 64K", int)

    def rate(self):
        """Returns bits per second: 100M is 100,000,000."""
        return self.scaled(RATES, "a rate in bits per second, such as 100M", int)

    def duration(self):
        """Returns seconds: 10ms is 0.01."""
        return self.scaled(SECONDS, "a duration with its unit, such as 10ms", float)

    def percentage(self):
        """Returns a fraction: 0.5% is 0.005."""
        if not isinstance(self.value, str) or not re.fullmatch(DECIMAL + "%", self.value) or \
                float(self.value[:-1]) > 100:
            raise self.error("a percentage from 0% to 100%, such as 0.5%")
        return float(self.value[:-1]) / 100

    def scaled(self, units, expected, kind):
        match = re.fullmatch(f"({DECIMAL})([a-zA-Z]*)", self.value) \
            if isinstance(self.value, str) else None
        if not match or match[2] not in units:
            raise self.error(expected)
        return kind(float(match[1]) * units[match[2]])


def unknown_key(key, node, known):
    near = difflib.get_close_matches(key, known, 1)
    hint = f"; {near[0]}?" if near else ""
    return Invalid(f"{node.path}:{node.line}: unknown key \"{key}\": expected one of "
                   f"{', '.join(known)}{hint}")


def load(path):
    """Reads a YAML file and returns its Node. Raises Invalid if it cannot be read or parsed, or if
    a mapping has a key twice."""
    text = read(path)
    try:
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise Invalid(f"{path}:{line}: the character U+{error.character:04X}: expected YAML") \
            from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise Invalid(f"{path}:{mark.line + 1 if mark else 1}: {error.problem}: expected YAML") \
            from None
    except RecursionError:
        raise Invalid(f"{path}: nested too deeply: expected at most {MOST_LEVELS} levels") from None
    if tree is None:
        raise Invalid(f"{path}: empty: expected a mapping")
    return Converter(path).convert(tree)


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(MOST_OCTETS + 1)
    except OSError as error:
        raise Invalid(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Invalid(f"{path}: not a text file: expected YAML in UTF-8") from None
    if len(text) > MOST_OCTETS:
        raise Invalid(f"{path}: larger than {MOST_OCTETS >> 20} MiB: expected a smaller file")
    return text


class Converter:
    """Makes Nodes of a tree of YAML. Scalars remain text: the caller decides whether 1500 is a
    number and whether `on` is a switch. Aliases can make a short file large, or endless: the number
    of nodes and levels is limited."""

    def __init__(self, path):
        self.path = path
        self.nodes = 0

    def convert(self, tree, level=1):
        line = tree.start_mark.line + 1
        self.count(line, level)
        if isinstance(tree, yaml.ScalarNode):
            empty = tree.tag == "tag:yaml.org,2002:null"
            return Node(None if empty else tree.value, self.path, line)
        if isinstance(tree, yaml.SequenceNode):
            return Node([self.convert(item, level + 1) for item in tree.value], self.path, line)
        return Node(self.mapping(tree, level), self.path, line)

    def mapping(self, tree, level):
        result = {}
        for key, value in tree.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise Invalid(f"{self.path}:{line}: a key that is not a text: expected "
                              "a name")
            if key.value in result:
                raise Invalid(f"{self.path}:{line}: {key.value} is there twice: expected "
                              "each key once")
            result[key.value] = self.convert(value, level + 1)
            result[key.value].line = line
        return result

    def count(self, line, level):
        self.nodes += 1
        if level > MOST_LEVELS:
            raise Invalid(f"{self.path}:{line}: nested too deeply, or an alias within its own "
                          f"value: expected at most {MOST_LEVELS} levels")
        if self.nodes > MOST_NODES:
            raise Invalid(f"{self.path}:{line}: more than {MOST_NODES} values, aliases counted: "
                          "expected fewer")
