# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The model of a directory, its comparison with a real one, and its changes.

A tree is a dict from name to Entry. Names have slashes, and no slash at either end. The top itself
is not in the tree.
"""

import fnmatch
import os
import random
import stat

from stress.failure import require

MIB = 1 << 20
FILE, DIRECTORY, LINK = "file", "directory", "link"
TEMPORARY = ".iw-"  # ddp-recv(1): the names of temporaries and journals begin with this


class Entry:
    """data: the octets of a file, or the target of a link. file: a file with several names has the
    same number in the entries of all; None: it has one name. Entries are never changed."""

    def __init__(self, kind, data=b"", mode=0o755, time_ns=0, file=None):
        self.kind = kind
        self.data = data
        self.mode = mode
        self.time_ns = time_ns
        self.file = file

    def __eq__(self, other):
        """Compares what a transfer keeps. Links have no mode; the time of a directory depends on
        when its entries were made."""
        if not isinstance(other, Entry) or (self.kind, self.data) != (other.kind, other.data):
            return False
        if self.kind != DIRECTORY and self.time_ns != other.time_ns:
            return False
        return self.kind == LINK or self.mode == other.mode

    def __str__(self):
        if self.kind == LINK:
            return f"a link to {self.data}, time {self.time_ns}"
        if self.kind == DIRECTORY:
            return f"a directory with mode {self.mode:o}"
        return f"a file with mode {self.mode:o}, time {self.time_ns}, {len(self.data)} octets"


def content(seed, size, hole):
    """The octets of a file. hole: the middle third is zeros."""
    octets = random.Random(seed).randbytes(size)
    if hole:
        third = size // 3
        octets = octets[:third] + bytes(third) + octets[2 * third:]
    return octets


def parents(name):
    """a/b/c: a, a/b"""
    parts = name.split("/")
    return ["/".join(parts[:n]) for n in range(1, len(parts))]


def below(tree, name):
    """The name itself and all names below it that the tree has."""
    return [n for n in tree if n == name or n.startswith(name + "/")]


# --- real directories -----------------------------------------------------------------------------


def scan(top):
    """Reads a real directory into a tree."""
    tree = {}
    pending = [""]
    while pending:
        directory = pending.pop()
        for found in os.scandir(os.path.join(top, directory)):
            name = os.path.join(directory, found.name)
            try:
                tree[name] = read_entry(found)
            except FileNotFoundError:  # a temporary that a server has removed since
                continue
            if tree[name].kind == DIRECTORY:
                pending.append(name)
    return tree


def read_entry(found):
    status = found.stat(follow_symlinks=False)
    mode, time_ns = stat.S_IMODE(status.st_mode), status.st_mtime_ns
    if found.is_symlink():
        return Entry(LINK, os.readlink(found.path), mode, time_ns)
    if found.is_dir(follow_symlinks=False):
        return Entry(DIRECTORY, b"", mode, time_ns)
    with open(found.path, "rb") as file:
        return Entry(FILE, file.read(), mode, time_ns,
                     status.st_ino if status.st_nlink > 1 else None)


def scan_file(path):
    """The Entry of a file; None if there is no such name."""
    directory, name = os.path.split(path)
    return next((read_entry(f) for f in os.scandir(directory) if f.name == name), None)


def temporaries(tree):
    return [name for name in tree if os.path.basename(name).startswith(TEMPORARY)]


def write_entry(top, name, entry):
    """Makes a file or link; its directory exists."""
    path = os.path.join(top, name)
    if entry.kind == DIRECTORY:
        os.makedirs(path, exist_ok=True)
        os.chmod(path, entry.mode)
    elif entry.kind == LINK:
        os.symlink(entry.data, path)
        os.utime(path, ns=(entry.time_ns, entry.time_ns), follow_symlinks=False)
    else:
        write_file(path, entry)


def write_file(path, entry):
    with open(path, "wb") as file:
        file.write(entry.data)
    os.chmod(path, entry.mode)
    os.utime(path, ns=(entry.time_ns, entry.time_ns))


# --- comparison -----------------------------------------------------------------------------------


def compare(where, found, expected):
    """Both are trees; a value of `expected` is an Entry, or a list of those allowed (None: the name
    may be missing)."""
    for name in sorted(found.keys() | expected.keys()):
        allowed = expected.get(name)
        allowed = allowed if isinstance(allowed, list) else [allowed]
        compare_entry(f"{where}, {name!r}", found.get(name), allowed)


def compare_entry(what, found, allowed):
    if found in allowed:
        return
    if found is None:
        require(False, f"{what}: missing: expected {described(allowed)}")
    same = [e for e in allowed if e and e.kind == FILE and len(e.data) == len(found.data)]
    if found.kind == FILE and same and same[0].data != found.data:
        at = next(n for n, (x, y) in enumerate(zip(found.data, same[0].data)) if x != y)
        require(False, f"{what}: octet {at} of {len(found.data)} is {found.data[at]:#04x}: "
                       f"expected {same[0].data[at]:#04x}")
    require(False, f"{what}: {found}: expected {described(allowed)}")


def same_file(one, other):
    return one is not None and other is not None and one.file is not None and one.file == other.file


def described(allowed):
    return " or ".join("no such name" if e is None else str(e) for e in allowed)


# --- a transfer -----------------------------------------------------------------------------------


def excluded(name, pattern):
    """True if the pattern, of one component, excludes the name or a directory above it."""
    return bool(pattern) and any(fnmatch.fnmatchcase(part, pattern) for part in name.split("/"))


class Transfer:
    """What a transfer of the contents of `source` makes of `target`. options: a set of force,
    checksum, update, keep, delete. failed: names that cannot be stored. all: the source with the
    names that the pattern excludes."""

    def __init__(self, source, target, options, pattern):
        self.all = source
        self.source = {n: e for n, e in source.items() if not excluded(n, pattern)}
        self.options = options
        self.failed = set()
        self.result = dict(target)
        for name in sorted(self.source):
            self.place(name, self.source[name])
        if "delete" in options:
            self.delete(source, pattern)

    def place(self, name, entry):
        old = self.result.get(name)
        if any(parent in self.failed for parent in parents(name)):
            self.failed.add(name)
        elif entry.kind == DIRECTORY:
            self.place_directory(name, entry, old)
        elif old and old.kind == DIRECTORY:
            self.failed.add(name)
        else:
            self.place_file(name, entry, old)

    def place_directory(self, name, entry, old):
        if old and old.kind != DIRECTORY:
            self.failed.add(name)
        else:
            self.result[name] = entry

    def place_file(self, name, entry, old):
        if old and "keep" in self.options:
            return
        if old and "update" in self.options and old.time_ns > entry.time_ns:
            return
        if old and old.kind == FILE and entry.kind == FILE:
            same = len(old.data) == len(entry.data) and old.time_ns == entry.time_ns
            if same and not self.options & {"force", "checksum"}:
                entry = Entry(FILE, old.data, entry.mode, entry.time_ns, entry.file)
        self.result[name] = entry

    def delete(self, source, pattern):
        kept = set()
        for name in self.result:
            if excluded(name, pattern):
                kept |= {name, *parents(name)}
        for name in list(self.result):
            if name not in self.source and name not in kept:
                del self.result[name]
