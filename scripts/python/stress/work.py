# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The directory in which a run works. A run that was killed leaves it; the next one removes it."""

import contextlib
import fcntl
import os
import shutil
import tempfile

PREFIX = "iw-stress-"
LOCK = "lock"  # locked while the run lives


@contextlib.contextmanager
def directory(parent=None):
    """Makes a directory in parent (default: that of temporary files), and removes it at the end."""
    parent = os.path.abspath(parent or tempfile.gettempdir())
    remove_abandoned(parent)
    path = tempfile.mkdtemp(prefix=PREFIX, dir=parent)
    try:
        with open(os.path.join(path, LOCK + ".new"), "w", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            # Others see the lock only when it is held.
            os.rename(file.name, os.path.join(path, LOCK))
            yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def remove_abandoned(parent):
    for found in os.scandir(parent):
        if found.name.startswith(PREFIX) and found.is_dir(follow_symlinks=False) and \
                found.stat(follow_symlinks=False).st_uid == os.geteuid() and \
                is_abandoned(os.path.join(found.path, LOCK)):
            shutil.rmtree(found.path, ignore_errors=True)


def is_abandoned(lock):
    try:
        with open(lock, encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # no lock yet, or held
        return False
    return True
