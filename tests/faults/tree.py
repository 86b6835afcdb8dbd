# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Source trees, made from a number, and their comparison with a target.

All names are bytes: some of them are not valid UTF-8.
"""

import os
import random
import stat

MIB = 1 << 20
TOP = b"t"  # the directory that each tree consists of
TEMPORARY = b".iw-"  # ddp-recv(1): the names of temporaries and journals begin with this
ODD_NAMES = [
    b"two words", b"-rf", b"caf\xc3\xa9", b"latin-\xe9", b"quote'\"", b"back\\slash", b"new\nline",
    b"*", b".hidden", b"~", b"colon:name", b"n" * 255,
]
DIRECTORIES = [b"a", b"a/b", b"a/b/c", b"d e", b"empty", b"private"]
MODES = [0o600, 0o644, 0o755]
TIMES_NS = [86400 * 10**9 + 1, 999999999 * 10**9, 1700000000123456789, 1924992000 * 10**9 + 999]


def make(parent, number, large):
    """Makes the tree below parent. A large tree has a file that is sent in parts (ddp-send -j)."""
    rng = random.Random(f"tree {number} {large}")
    top = os.path.join(parent, TOP)
    os.makedirs(top)
    for name in DIRECTORIES:
        os.mkdir(os.path.join(top, name))
    for name in small_names(rng):
        write_file(os.path.join(top, name), rng.randbytes(small_size(rng)), rng)
    make_big_files(top, rng, large)
    os.symlink(b"../two words", os.path.join(top, b"a/link"))
    os.chmod(os.path.join(top, b"private"), 0o750)


def small_names(rng):
    plain = [b"file-%d" % n for n in range(rng.randint(24, 36))]
    directories = [b""] + [d for d in DIRECTORIES if d != b"empty"]
    return ODD_NAMES[:1] + [os.path.join(rng.choice(directories), name)
                            for name in ODD_NAMES[1:] + plain]


def small_size(rng):
    other = rng.randint(2, 8191)
    return rng.choice([0, 1, 8192, other, other, other])


def write_file(path, octets, rng):
    with open(path, "wb") as f:
        f.write(octets)
    finish_file(path, rng)


def finish_file(path, rng):
    os.chmod(path, rng.choice(MODES))
    time_ns = rng.choice(TIMES_NS)
    os.utime(path, ns=(time_ns, time_ns))


def make_big_files(top, rng, large):
    """Files of 1.5 to 12 MiB, at most 18 MiB together, one of them with a hole."""
    left = 4 * MIB if large else 18 * MIB
    for n in range(rng.randint(1, 3)):
        size = rng.randint(3 * MIB // 2, min(12 * MIB, left))
        left -= size
        make_big_file(os.path.join(top, b"a/big-%d" % n), size, rng, n == 0)
        if left < 3 * MIB // 2:
            break
    if large:
        make_parts_file(os.path.join(top, b"parts"), rng)


def make_big_file(path, size, rng, with_hole):
    with open(path, "wb") as f:
        f.truncate(size)
        hole = rng.randint(0, size - MIB) if with_hole else size
        f.write(rng.randbytes(hole))
        f.seek(MIB, os.SEEK_CUR)
        f.write(rng.randbytes(max(0, size - hole - MIB)))
    finish_file(path, rng)


def make_parts_file(path, rng):
    """130 MiB, most of it holes; data in each part of 64 MiB."""
    with open(path, "wb") as f:
        f.truncate(130 * MIB)
        for start in range(0, 130, 10):
            f.seek(start * MIB + rng.randint(0, 8 * MIB))
            f.write(rng.randbytes(rng.randint(1, 3 * MIB // 2)))
    finish_file(path, rng)


class Cache:
    """The trees of a run, each made when it is first used."""

    def __init__(self, work):
        self.work = work

    def get(self, number, large):
        """Returns the directory in which the tree is."""
        parent = os.path.join(self.work, "tree-%d%s" % (number, "-large" if large else ""))
        if not os.path.isdir(parent):
            make(os.fsencode(parent), number, large)
        return parent


# --- comparison --------------------------------------------------------------------------------


def scan(parent):
    """All entries below parent: relative name and lstat result."""
    found = {}
    pending = [b""]
    while pending:
        directory = pending.pop()
        for entry in os.scandir(os.path.join(parent, directory) if directory else parent):
            name = os.path.join(directory, entry.name)
            found[name] = entry.stat(follow_symlinks=False)
            if entry.is_dir(follow_symlinks=False):
                pending.append(name)
    return found


def is_temporary(name):
    return os.path.basename(name).startswith(TEMPORARY)


def check_complete(source, target):
    """The target must equal the source and have nothing else. Returns a line for each
    difference."""
    source, target = os.fsencode(source), os.fsencode(target)
    wanted, found = scan(source), scan(target)
    problems = [f"left behind: {name!r}" if is_temporary(name) else f"not in the source: {name!r}"
                for name in sorted(found.keys() - wanted.keys())]
    problems += [f"missing: {name!r}" for name in sorted(wanted.keys() - found.keys())]
    for name in sorted(wanted.keys() & found.keys()):
        problems += check_entry(source, target, name, wanted[name], found[name])
        problems += check_directory_mode(name, wanted[name], found[name])
    return problems


def check_partial(source, target):
    """The same for an incomplete transfer: each entry that has its final name must be right."""
    source, target = os.fsencode(source), os.fsencode(target)
    wanted, found = scan(source), scan(target)
    problems = []
    for name in sorted(found):
        if is_temporary(name):
            continue
        if name not in wanted:
            problems.append(f"not in the source: {name!r}")
        else:
            problems += check_entry(source, target, name, wanted[name], found[name])
    return problems


def check_entry(source, target, name, wanted, found):
    if stat.S_IFMT(wanted.st_mode) != stat.S_IFMT(found.st_mode):
        return [f"of another type: {name!r}"]
    paths = os.path.join(source, name), os.path.join(target, name)
    if stat.S_ISLNK(wanted.st_mode):
        texts = [os.readlink(path) for path in paths]
        return [] if texts[0] == texts[1] else [f"link {name!r} to {texts[1]!r}, not {texts[0]!r}"]
    if stat.S_ISREG(wanted.st_mode):
        return check_file(*paths, name, wanted, found)
    return []


def check_file(source, target, name, wanted, found):
    problems = []
    if wanted.st_size != found.st_size:
        problems.append(f"{name!r} has {found.st_size} octets, not {wanted.st_size}")
    else:
        offset = first_difference(source, target)
        if offset is not None:
            problems.append(f"{name!r} differs from octet {offset} on")
    if stat.S_IMODE(wanted.st_mode) != stat.S_IMODE(found.st_mode):
        problems.append("%r has mode %o, not %o" % (
            name, stat.S_IMODE(found.st_mode), stat.S_IMODE(wanted.st_mode)))
    if wanted.st_mtime_ns != found.st_mtime_ns:
        problems.append(f"{name!r} has time {found.st_mtime_ns}, not {wanted.st_mtime_ns}")
    return problems


def check_directory_mode(name, wanted, found):
    """Unlike a file, a directory gets its mode only at the end."""
    modes = stat.S_IMODE(wanted.st_mode), stat.S_IMODE(found.st_mode)
    if not stat.S_ISDIR(wanted.st_mode) or modes[0] == modes[1]:
        return []
    return ["%r has mode %o, not %o" % (name, modes[1], modes[0])]


def first_difference(one, other):
    """The offset of the first octet that differs in two files of one size; None if none does."""
    offset = 0
    with open(one, "rb") as a, open(other, "rb") as b:
        while True:
            left, right = a.read(MIB), b.read(MIB)
            if left != right:
                return offset + next((i for i, (x, y) in enumerate(zip(left, right)) if x != y),
                                     min(len(left), len(right)))
            if not left:
                return None
            offset += len(left)
