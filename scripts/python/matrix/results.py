# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The results of a run of the interop matrix: reads result.json and checks it against format 1.

load() returns the document of the file: dicts and lists as in the file, with every optional part
present. Every error names the file, the place in the document, the value seen and the value
expected. Unknown keys are ignored, because format 1 may gain keys.
"""

import json
import os
import re

from checked import Invalid

FORMAT = 1
NAME = "result.json"
MOST_OCTETS = 256 << 20
RESULTS = ("pass", "fail", "unsupported", "error")
KINDS = ("native", "emulated", "guest", "remote")
ROLES = ("client", "server")
RUN_ID = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"
LINK = r"(?!/)(?!.*(?:^|/)\.\.(?:/|$))[^\0-\x1f\\:?#]{1,1000}"

# --- reading -------------------------------------------------------------------------------------


def path_of(where):
    """The file of a run: `where` is a folder that holds result.json, or the file itself."""
    return os.path.join(where, NAME) if os.path.isdir(where) else where


def load(where):
    """Reads and checks the results of a run. Raises Invalid."""
    path = path_of(where)
    return check(parse(read(path), path), path)


def read(path):
    try:
        with open(path, "rb") as file:
            octets = file.read(MOST_OCTETS + 1)
    except OSError as error:
        raise Invalid(f"{path}: {error.strerror}: expected the result.json of a run") from None
    if len(octets) > MOST_OCTETS:
        raise Invalid(f"{path}: more than {MOST_OCTETS} bytes: expected at most {MOST_OCTETS}")
    try:
        return octets.decode("utf-8")
    except UnicodeDecodeError:
        raise Invalid(f"{path}: not a text file: expected JSON in UTF-8") from None


def parse(text, path):
    """Decodes JSON. A key that is there twice, NaN and Infinity are errors."""
    def no_constant(word):
        raise Invalid(f"{path}: {word}: expected a finite number")

    def unique(pairs):
        result = dict(pairs)
        if len(result) != len(pairs):
            names = [key for key, _ in pairs]
            twice = next(key for key in names if names.count(key) > 1)
            raise Invalid(f"{path}: key \"{twice}\" is there twice: expected once in its object")
        return result

    try:
        return json.loads(text, parse_constant=no_constant, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise Invalid(f"{path}:{error.lineno}: {error.msg}: expected JSON") from None
    except (RecursionError, ValueError):
        raise Invalid(f"{path}: nested too deeply, or too long a number: expected JSON") from None


# --- checking ------------------------------------------------------------------------------------

class Place:
    """A value and its place in the document. Each method returns the value or raises Invalid."""

    def __init__(self, value, path, place):
        self.value = value
        self.path = path
        self.place = place

    def error(self, expected):
        seen = json.dumps(self.value, ensure_ascii=False)
        seen = seen if len(seen) <= 60 else seen[:57] + "..."
        return Invalid(f"{self.path}: {self.place}: {seen}: expected {expected}")

    def at(self, key, default=...):
        """The value of a key of an object; without a default it must be there."""
        if not isinstance(self.value, dict):
            raise self.error("an object")
        place = f"{self.place}.{key}".lstrip(".")
        if key not in self.value and default is ...:
            raise Invalid(f"{self.path}: {place}: missing: expected a value")
        return Place(self.value.get(key, default), self.path, place)

    def members(self):
        """(name, Place) of every member of an object. A name has no control characters."""
        if not isinstance(self.value, dict):
            raise self.error("an object")
        for name in self.value:
            if not re.fullmatch(r"[^\0-\x1f]{1,200}", name):
                raise Place(name, self.path, self.place).error("a name of 1 to 200 characters")
            yield name, self.at(name)

    def items(self):
        if not isinstance(self.value, list):
            raise self.error("a list")
        return [Place(value, self.path, f"{self.place}[{index}]")
                for index, value in enumerate(self.value)]

    def text(self, pattern=None, expected="a text"):
        if not isinstance(self.value, str) or (pattern and not re.fullmatch(pattern, self.value)):
            raise self.error(expected)
        return self.value

    def choice(self, words):
        if not isinstance(self.value, str) or self.value not in words:
            near = ", ".join(list(words)[:12]) + (", ..." if len(words) > 12 else "")
            raise self.error(f"one of {near}" if words else "nothing: there is none")
        return self.value

    def number(self, least=0, whole=False):
        kinds = int if whole else (int, float)
        if isinstance(self.value, bool) or not isinstance(self.value, kinds) or \
                not least <= self.value < 1e300:
            raise self.error(f"a {'whole ' if whole else ''}number, at least {least}")
        return self.value

    def link(self):
        """A path below the folder of the run, or nothing."""
        if self.value is None:
            return None
        return self.text(LINK, "a path below the run's folder, or null")


def check(document, path):
    """Returns a copy that has every key of format 1. Raises Invalid."""
    top = Place(document, path, "")
    if not isinstance(document, dict):
        raise Place(document, path, "document").error("an object")
    if top.at("format").number(whole=True) != FORMAT:
        raise top.at("format").error(f"{FORMAT}; other formats need another version of the tool")
    result = {
        "format": FORMAT,
        "run": check_run(top.at("run")),
        "implementations": check_each(top.at("implementations"), check_implementation),
        "tests": check_each(top.at("tests"), check_test),
        "impairments": check_each(top.at("impairments"), check_impairment),
    }
    result["cells"] = check_cells(top.at("cells"), result)
    return result


def check_each(place, one):
    return {name: one(member, name) for name, member in place.members()}


def check_run(run):
    machine = run.at("machine", {})
    return {
        "id": run.at("id").text(RUN_ID, "an identifier such as 20261127T101500Z-1f2e"),
        "started": run.at("started").text(TIME, "a time such as 2026-11-27T10:15:00Z"),
        "seconds": run.at("seconds").number(),
        "command": run.at("command", "").text(),
        "seed": run.at("seed").number(whole=True),
        "profile": run.at("profile", "").text(),
        "version": run.at("version", "").text(),
        "commit": run.at("commit", "").text(),
        "not_run": [{"row": row.at("row").text(), "reason": row.at("reason").text()}
                    for row in run.at("not_run", []).items()],
        "machine": {
            "system": machine.at("system", "").text(),
            "kernel": machine.at("kernel", "").text(),
            "processor": machine.at("processor", "").text(),
            "processors": machine.at("processors", 0).number(whole=True),
            "memory_octets": machine.at("memory_octets", 0).number(whole=True),
        },
    }


def check_implementation(place, name):
    return {
        "title": place.at("title", name).text(),
        "version": place.at("version", "").text(),
        "kind": place.at("kind").choice(KINDS),
        "roles": [role.choice(ROLES) for role in place.at("roles", []).items()],
        "about": place.at("about", "").text(),
        "unavailable": optional_text(place.at("unavailable", None)),
    }


def optional_text(place):
    return "" if place.value is None else place.text()


def check_test(place, name):
    options = {key: option_text(value) for key, value in place.at("options", {}).members()}
    return {
        "title": place.at("title", name).text(),
        "transport": place.at("transport", "").text(),
        "operation": place.at("operation", "").text(),
        "options": options,
    }


def option_text(place):
    if isinstance(place.value, bool):
        return "on" if place.value else "off"
    if isinstance(place.value, (int, float, str)):
        return str(place.value)
    raise place.error("a text, a number, true or false")


def check_impairment(place, name):
    rules = place.at("rules", [])
    return {
        "title": place.at("title", name).text(),
        "rules": [rule.text() for rule in rules.items()],
        "link": optional_text(place.at("link", "")),
        "expect": optional_text(place.at("expect", "")),
        "clause": optional_text(place.at("clause", "")),
    }


def check_cells(place, document):
    cells, ids = [], set()
    for item in place.items():
        cell = check_cell(item, document)
        if cell["id"] in ids:
            raise item.at("id").error("an id that no other cell has")
        ids.add(cell["id"])
        cells.append(cell)
    return cells


def check_cell(place, document):
    versions = place.at("versions", {})
    return {
        "id": place.at("id").text(r"[^\0-\x1f]{1,900}", "CLIENT/SERVER/TEST/IMPAIRMENT"),
        "client": place.at("client").choice(document["implementations"]),
        "server": place.at("server").choice(document["implementations"]),
        "test": place.at("test").choice(document["tests"]),
        "impairment": place.at("impairment").choice(document["impairments"]),
        "result": place.at("result").choice(RESULTS),
        "reason": optional_text(place.at("reason", "")),
        "seconds": place.at("seconds").number(),
        "seed": place.at("seed").number(whole=True),
        "attempts": place.at("attempts", 1).number(whole=True),
        "log": place.at("log", None).link(),
        "capture": place.at("capture", None).link(),
        "rerun": place.at("rerun", "").text(),
        "versions": {role: optional_text(versions.at(role, "")) for role in ROLES},
        "measurements": {name: value.number()
                         for name, value in place.at("measurements", {}).members()},
    }


# --- facts ---------------------------------------------------------------------------------------

def totals(cells):
    """How many cells have each result, in the order of RESULTS."""
    count = dict.fromkeys(RESULTS, 0)
    for cell in cells:
        count[cell["result"]] += 1
    return count


def summary(count):
    """One line: `412 pass, 3 fail`; without zeros."""
    words = [f"{number} {result}" for result, number in count.items() if number]
    return ", ".join(words) or "no cells"


def names_of(document, role):
    """The implementations that have cells in this role, in the order of the document."""
    used = {cell[role] for cell in document["cells"]}
    return [name for name in document["implementations"] if name in used]


def not_run(document):
    """(what, reason) of implementations that cannot run here, and of rows of a test plan."""
    missing = [(name, it["unavailable"]) for name, it in document["implementations"].items()
               if it["unavailable"]]
    return missing + [(row["row"], row["reason"]) for row in document["run"]["not_run"]]


def by_operation(tests):
    """The same tests, those of one operation together. A profile mixes them, because it covers pairs
    of options."""
    order = list(dict.fromkeys(test["operation"] for test in tests.values()))
    return dict(sorted(tests.items(), key=lambda item: order.index(item[1]["operation"])))


def codes(document):
    """A short code for each test: the first letter of its operation, and a number if several tests
    have the letter."""
    letters, groups, result = {}, {}, {}
    for name, test in document["tests"].items():
        operation = test["operation"] or name
        if operation not in letters:
            letters[operation] = free_letter(operation, set(letters.values()))
        groups.setdefault(letters[operation], []).append(name)
    for letter, names in groups.items():
        for number, name in enumerate(names, 1):
            result[name] = letter if len(names) == 1 else f"{letter}{number}"
    return result


def free_letter(word, taken):
    wanted = [letter for letter in word.upper() if letter.isascii() and letter.isalpha()]
    for letter in wanted + list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"):
        if letter not in taken:
            return letter
    return "X"
