#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compares JSON lines, and the sources, with the schema in man/iwarp-json.5.

json_schema.py lines TOOL FILE [TOOL FILE]...
    checks each line of each FILE as an event of TOOL (a tool's name, "trace", or "any").
json_schema.py sources TOP
    checks that lib and cmd below TOP write the keys of the page, and no others.

Each fault is a line on standard output; the exit status is 1 if there are any.
"""
import ast
import json
import math
import os
import re
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
NUMBER_MAX = 2**53 - 1
TOOLS = ["ddp-send", "ddp-recv", "ddp-bench", "ddp-dump", "ddp-impair", "ddp-xdp", "mpa-probe", "sctp-ddp-ping", "stag-reg", "fabric", "trace"]
TYPES = {
    "string": lambda v: isinstance(v, str),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "boolean": lambda v: isinstance(v, bool),
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "null": lambda v: v is None,
}
FORMS = {"hex": re.compile(r"(0x)?[0-9a-f]*"), "decimal ns": re.compile(r"[0-9]+")}


class Key:
    """An entry of the page: key (type, unit, when)."""

    def __init__(self, what):
        kind, _, rest = what.partition(", ")
        self.kinds, _, self.of = kind.partition(" of ")
        self.kinds = self.kinds.split(" or ")
        self.unit = None
        if {"integer", "number"} & set(re.split(" of | or ", kind)):
            self.unit, _, rest = rest.partition(", ")
        elif rest.startswith(("hex, ", "decimal ns, ")):
            self.unit, _, rest = rest.partition(", ")
        self.when = rest
        if not all(k in TYPES for k in self.kinds) or not rest:
            raise ValueError(what)

    def __str__(self):
        return " or ".join(self.kinds) + (" of " + self.of if self.of else "") + (", " + self.unit if self.unit else "")


class Page:
    """events: {tool: {event: [entries]}}, groups: {name: entries}; entries: [(key or None, Key or group, when)]."""

    def __init__(self, path):
        self.events, self.groups, self.used = {}, {}, set()
        tools, entries = [], None
        lines = open(path, encoding="utf-8").read().replace(r"\-", "-").split("\n")
        for i, line in enumerate(lines):
            if not line.startswith((".S", ".TP")):
                continue
            if m := re.fullmatch(r'\.SH "?([A-Z -]+)"?', line):
                words = m[1].lower().split()
                tools = ["common"] if words[-1] == "events" else [w for w in words if w in TOOLS]
                entries = None
            elif m := re.fullmatch(r'\.SS "Keys of (\w+)"', line):
                if m[1] in self.groups:
                    raise ValueError(f"two lists of keys of {m[1]}")
                entries = self.groups[m[1]] = []
            elif m := re.fullmatch(r'\.SS "(\w+)(?:, .*)?"', line):
                entries = []
                for tool in tools:
                    self.events.setdefault(tool, {}).setdefault(m[1], []).append(entries)
            elif line == ".TP" and entries is not None:
                self.entry(entries, lines[i + 1])

    def entry(self, entries, line):
        if m := re.fullmatch(r'\.RB "keys of " (\w+) " \((.+)\)"', line):
            entries.append((None, m[1], m[2]))
        elif m := re.fullmatch(r'\.BR ([\w-]+) " \((.+)\)"', line):
            entries.append((m[1], Key(m[2]), None))
        else:
            raise ValueError(f"not an entry: {line}")

    def keys(self, entries, always=True):
        """Yields (name, Key, required) of the entries, those of groups included."""
        for name, what, when in entries:
            if name is None:
                self.used.add(what)
                yield from self.keys(self.groups[what], always and when == "always")
            else:
                yield name, what, always and what.when == "always"

    def all_keys(self, entries, seen=()):
        """The names of all keys of the entries, those of nested objects included."""
        for name, key, _ in self.keys(entries):
            yield name
            if key.of in self.groups and key.of not in seen:
                self.used.add(key.of)
                yield from self.all_keys(self.groups[key.of], (*seen, key.of))

    def candidates(self, tool, event):
        tools = [t for t in self.events if tool == "any" or t == tool or (t == "common" and tool != "trace")]
        return [e for t in tools for e in self.events[t].get(event, [])]


def check_value(page, where, key, v):
    if not any(TYPES[k](v) for k in key.kinds):
        return [f"{where}: {json.dumps(v)}, expected {key}"]
    if isinstance(v, float) and not math.isfinite(v):
        return [f"{where}: {v}, expected a finite number"]
    if isinstance(v, (int, float)) and not isinstance(v, bool) and abs(v) > NUMBER_MAX:
        return [f"{where}: {v}, expected at most 2^53-1 = {NUMBER_MAX}"]
    if isinstance(v, str) and key.unit in FORMS and not FORMS[key.unit].fullmatch(v):
        return [f'{where}: "{v}", expected {key}']
    if isinstance(v, dict) and key.of and key.of not in page.groups:  # of any keys
        return [fault for name, item in v.items() for fault in check_item(page, f"{where}.{name}", key, item)]
    if isinstance(v, dict):
        return check_object(page, where + ".", page.groups[key.of], v)
    if isinstance(v, list):
        return [fault for i, item in enumerate(v) for fault in check_item(page, f"{where}[{i}]", key, item)]
    return []


def check_item(page, where, key, item):
    if key.of in page.groups:
        if isinstance(item, dict):
            return check_object(page, where + ".", page.groups[key.of], item)
        return [f"{where}: {json.dumps(item)}, expected object of {key.of}"]
    if key.of == "string" and isinstance(item, dict) and sorted(item) == ["text", "text_b64"]:
        return []
    return check_value(page, where, Key(f"{key.of}, {key.unit}, always" if key.unit else f"{key.of}, always"), item)


def check_object(page, where, entries, o):
    keys = {}
    for name, key, required in page.keys(entries):
        keys[name] = (key, required)
    faults = []
    for name, v in o.items():
        if name in keys:
            faults += check_value(page, where + name, keys[name][0], v)
        elif not (name.endswith("_b64") and name[:-4] in o and isinstance(v, str)):
            faults.append(f"{where}{name}: unknown key, expected one of: {' '.join(sorted(keys))}")
    faults += [f"{where}{name}: missing, expected {key}" for name, (key, required) in keys.items() if required and name not in o]
    return faults


def check_line(page, tool, line):
    try:
        o = json.loads(line)
    except ValueError as e:
        return [f"not JSON: {e}"]
    if not isinstance(o, dict):
        return ["not an object"]
    candidates = page.candidates(tool, o.get("event"))
    if not candidates:
        return [f"event: {json.dumps(o.get('event'))}, expected an event of {tool} in iwarp-json(5)"]
    best = None
    for entries in candidates:
        faults = check_object(page, "", page.groups["line"] + entries, o)
        if best is None or len(faults) < len(best):
            best = faults
        if not best:
            break
    if o.get("schema") != 1:
        best = best + [f"schema: {json.dumps(o.get('schema'))}, expected 1"]
    return best


def check_files(page, pairs):
    faults, seen = [], set()
    for tool, path in pairs:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="\n") as f:
            for number, line in enumerate(f, 1):
                # A killed process may leave a partial line, and large captures repeat the same
                # line.
                if not line.endswith("\n") and not line.endswith("}"):
                    continue
                shape = (tool, re.sub(r"\d", "0", line))
                if shape in seen and not re.search(r":-?0{16}", shape[1]):
                    continue
                seen.add(shape)
                shown = line.strip()[:200]
                faults += [f"{path}:{number}: {tool}: {fault}\n    {shown}" for fault in check_line(page, tool, line)]
                if len(faults) > 20:
                    return faults
    return faults


# --- sources ---------------------------------------------------------------------------------------------------------

# The files that write the keys of each tool; those of cmd/cli are common to all.
SOURCES = {
    "common": ["cmd/cli"],
    "ddp-send": ["cmd/transfer", "cmd/transfer/files"],
    "ddp-bench": ["cmd/ddp-bench"],
    "ddp-dump": ["cmd/ddp-dump"],
    "ddp-impair": ["cmd/ddp-impair"],
    "ddp-xdp": ["cmd/ddp-xdp"],
    "mpa-probe": ["cmd/mpa-probe"],
    "sctp-ddp-ping": ["cmd/sctp-ddp-ping"],
    "stag-reg": ["cmd/stag-reg"],
    "trace": ["lib/trace", "lib/util/events.def"],
}
# The writers of a connection's facts, which tools call; and the groups of the page that they write.
FACTS = "cmd/cli/conn_facts.c"
WRITERS = {"ends_": "ends", "": "facts", "setup_": "setup", "traffic_": "traffic", "assoc_": "association", "tls_": "encryption"}
# Files with lists of names that become keys: every string literal, and every name in an X(...)
# list, is accepted.
LISTS = {
    "ddp-bench": ["cmd/ddp-bench", "lib/loader/interface.c"],
    "ddp-dump": ["cmd/ddp-dump/capture.h"],
    "ddp-impair": ["cmd/ddp-impair"],
    "ddp-xdp": ["cmd/ddp-xdp", "xdp/shared.h"],
    "trace": ["cmd/mpa-probe/play.c"],
    "stag-reg": ["cmd/stag-reg"],
}


def text_of(top, paths):
    text = ""
    for path in paths:
        path = os.path.join(top, path)
        files = [path] if os.path.isfile(path) else [os.path.join(path, f) for f in sorted(os.listdir(path))
                                                     if not f.startswith("conn_facts.")]
        for name in files:
            if name.endswith((".c", ".h", ".def")):
                text += open(name, encoding="utf-8").read()
    return re.sub(r"(?m)^#define (?:BEGIN|FIELD).*", "", re.sub(r"(?s)/\*.*?\*/", "", text))


def written(text):
    """The events and keys that are literals of calls: iw_json_...(w, "key"), put_...(t, "key"), ..._json(w, "key")."""
    keys = set(re.findall(r'\b(?:iw_json_(?!begin)\w+|put_\w+|\w+_json)\(\s*[^,()]*(?:\([^()]*\))?[^,()]*,\s*"([a-z][\w-]*)"', text))
    keys |= set(re.findall(r'\\"([a-z][\w-]*)\\":', text)) | set(re.findall(r'KEY\("([\w-]+)"\)', text))
    keys |= set(re.findall(r"\bFIELD\(\w+, \w+, (\w+)\)", text))
    return keys


def check_trace(page, top):
    """Each traced event has exactly the fields of the list, in the same types."""
    types = {"U64": "integer", "HEX": "string, hex", "HEX32": "string, hex", "BOOL": "boolean", "STR": "string"}
    fields, faults = {}, []
    for event, kind, name in re.findall(r"\bFIELD\((\w+), (\w+), (\w+)\)", text_of(top, ["lib/util/events.def"])):
        fields.setdefault(event, {})[name] = types[kind]
    lines = {name for name, _, _ in page.keys(page.groups["traced"])}
    for event, wanted in fields.items():
        for entries in page.events["trace"].get(event, []):
            listed = {n: str(k).split(", ")[0] if "integer" in k.kinds else str(k)
                      for n, k, _ in page.keys(entries) if n not in lines}
            faults += [f"trace: {event}: {n}: {listed.get(n)} in iwarp-json(5), {wanted.get(n)} in lib/util/events.def"
                       for n in sorted(set(listed) | set(wanted)) if listed.get(n) != wanted.get(n)]
    return faults


def check_facts(page, top):
    """The faults of the writers of facts, and the keys that each writes."""
    written_by, faults = {}, []
    for name, body in re.findall(r"(?ms)^void iw_cli_facts_(\w*)json\((.*?)^}", text_of(top, [FACTS])):
        written_by[name] = written(body)
        listed = set(page.all_keys(page.groups[WRITERS[name]]))
        faults += [f"{FACTS}: {k}: only in one of iw_cli_facts_{name}json and the keys of {WRITERS[name]} in iwarp-json(5)"
                   for k in sorted(written_by[name] ^ listed)]
    return faults + [f"{FACTS}: no iw_cli_facts_{n}json" for n in sorted(set(WRITERS) - set(written_by))], written_by


def check_fabric(page, top):
    """The events that scripts/fabric measure writes are dicts with the key "event"."""
    faults, words, events = [], set(), set()
    folder = os.path.join(top, "scripts", "python", "hosts")
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".py"):
            continue
        for node in ast.walk(ast.parse(open(os.path.join(folder, name), encoding="utf-8").read())):
            if isinstance(node, ast.Constant):
                words.add(node.value)
            items = {k.value: v for k, v in zip(node.keys, node.values) if isinstance(k, ast.Constant)} if isinstance(node, ast.Dict) else {}
            if isinstance(items.get("event"), ast.Constant):
                event = items["event"].value
                events.add(event)
                listed = {key for entries in page.events["fabric"].get(event, []) for key in page.all_keys(entries)}
                faults += [f"fabric: {event}: {name} writes {key}, which iwarp-json(5) lacks"
                           for key in sorted(set(items) - listed - {"schema", "event"})]
    listed = {key for e in page.events["fabric"].values() for entries in e for key in page.all_keys(entries)}
    faults += [f"fabric: iwarp-json(5) has {key}, which scripts/python/hosts does not write" for key in sorted(listed - words)]
    return faults + [f"fabric: the event {event} is only in one of scripts/python/hosts and iwarp-json(5)"
                     for event in sorted(events ^ set(page.events["fabric"]))]


def check_sources(page, top):
    faults, written_by = check_facts(page, top)
    faults += check_trace(page, top) + check_fabric(page, top)
    common = {"schema", "event"} | {k for e in page.events["common"].values() for v in e for k in page.all_keys(v)}
    for tool, paths in SOURCES.items():
        text = text_of(top, paths)
        listed = {k for e in page.events[tool].values() for v in e for k in page.all_keys(v)}
        allowed = listed | common
        if tool == "mpa-probe":
            allowed |= {k for v in page.events["trace"]["played"] for k in page.all_keys(v)}
        found = written(text)
        for name in re.findall(r"\biw_cli_facts_(\w*)json\(", text):
            found |= written_by[name]
        faults += [f"{tool}: {' '.join(paths)} write {k}, which iwarp-json(5) lacks" for k in sorted(found - allowed)]
        lists = text_of(top, LISTS.get(tool, []))
        found |= written(lists) | set(re.findall(r'"([\w-]+)"', lists)) | set(re.findall(r"\bX\((\w+),", lists))
        faults += [f"{tool}: iwarp-json(5) has {k}, which {' '.join(paths)} do not write"
                   for k in sorted(listed - found - {"schema", "event"})]
        events = set(re.findall(r'iw_json_begin\([^,]+,\s*"(\w+)"', text)) | set(re.findall(r"\bBEGIN\((\w+)\)", text))
        faults += [f"{tool}: iwarp-json(5) lacks the event {e}" for e in sorted(events) if not page.candidates(tool, e)]
        faults += [f"{tool}: iwarp-json(5) has the event {e}, which {' '.join(paths)} do not write"
                   for e in sorted(page.events[tool]) if not re.search(rf'"{e}"|\bBEGIN\({e}\)|\\"{e}\\"', text + lists)]
    faults += [f"no event uses the keys of {g}" for g in sorted(set(page.groups) - page.used - {"line"})]
    return faults


def main(args):
    page = Page(os.path.join(TOP, "man", "iwarp-json.5"))
    if args[:1] == ["lines"] and len(args) % 2 == 1:
        faults = check_files(page, list(zip(args[1::2], args[2::2])))
    elif args[:1] == ["sources"] and len(args) == 2:
        faults = check_sources(page, args[1])
    else:
        print(__doc__, file=sys.stderr)
        return 2
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
