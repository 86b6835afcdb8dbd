# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Loopback ports for listeners."""

import os
import random
import socket

HOST = "127.0.0.1"
FIRST, LAST = 20000, 31999  # a range that the kernel does not assign automatically
TRIES = 200


def listen(type_):
    """Returns a socket, bound to a free port; a TCP socket listens."""
    rng = random.Random(os.urandom(8))
    for _ in range(TRIES):
        s = bound(type_, rng.randint(FIRST, LAST))
        if s:
            return s
    raise OSError(f"no free port between {FIRST} and {LAST}")


def bound(type_, port):
    """Returns such a socket for this port, or None if the port is in use."""
    s = socket.socket(socket.AF_INET, type_)
    try:
        if type_ == socket.SOCK_STREAM:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind((HOST, port))
        if type_ == socket.SOCK_STREAM:
            s.listen(64)
    except OSError:
        s.close()
        return None
    s.setblocking(False)
    return s


def free(type_):
    """Returns a port that was free a moment ago."""
    with listen(type_) as s:
        return s.getsockname()[1]
