#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""same_sparse.py FILE FILE...: compares pairs of sparse files. Reads only where one of a pair has data: holes are zeros."""

import os
import sys


def data(fd, size):
    """The ranges of the file that are not holes."""
    end = 0
    while end < size:
        try:
            begin = os.lseek(fd, end, os.SEEK_DATA)
        except OSError:
            return
        end = os.lseek(fd, begin, os.SEEK_HOLE)
        yield begin, end


def differ(a, b):
    size = os.fstat(a).st_size
    if os.fstat(b).st_size != size:
        return f"{size} and {os.fstat(b).st_size} octets"
    for begin, end in [*data(a, size), *data(b, size)]:
        while begin < end:
            n = min(end - begin, 1 << 20)
            if os.pread(a, n, begin) != os.pread(b, n, begin):
                return f"within {n} octets from {begin}"
            begin += n
    return None


paths = sys.argv[1:]
for one, other in zip(paths[::2], paths[1::2]):
    fds = [os.open(p, os.O_RDONLY) for p in (one, other)]
    where = differ(*fds)
    if where:
        sys.exit(f"{one} and {other} differ: {where}")
    for fd in fds:
        os.close(fd)
