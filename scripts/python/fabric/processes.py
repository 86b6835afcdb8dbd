# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Finds the processes of fabrics in /proc, and ends them."""

import collections
import os
import signal
import time

from . import labels



def start_time(pid):
    """Returns when a process started, in clock ticks since the system did; None if it has ended."""
    return int(stat_fields(pid)[19]) if is_running(pid) else None


def stat_fields(pid):
    """Returns the fields of /proc/PID/stat after the name, or None: state, parent, ..."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()
    except OSError:
        return None


def all_processes():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def marked_processes():
    """Returns (process id, environment) of the processes that a fabric of this user started."""
    found = []
    for pid in all_processes():
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                text = file.read()
            if b"IW_FABRIC=" not in text or os.stat(f"/proc/{pid}").st_uid != os.geteuid():
                continue
        except OSError:
            continue
        marks = dict(item.decode(errors="replace").split("=", 1)
                     for item in text.split(b"\0") if b"=" in item)
        if "IW_FABRIC" in marks:
            found.append((pid, marks))
    return found


def processes_of(label, inodes):
    """Returns the ids of the processes of a fabric: in one of its namespaces, or marked. This
    process and those that started it are not among them."""
    found = {pid for pid, marks in marked_processes() if marks["IW_FABRIC"] == label
             and is_ours(label, marks.get("IW_FABRIC_STATE", ""))}
    return (found | processes_in(inodes)) - self_and_ancestors()


def is_ours(label, folder):
    return folder == labels.state_folder() or \
        not os.path.exists(os.path.join(folder, f"{label}.json"))


def processes_in(inodes):
    """Returns the ids of the processes in these network namespaces."""
    return {pid for pid in all_processes() if inode_of(pid) in inodes}


def namespaces_of_processes():
    """Returns how many processes each network namespace has, by inode."""
    return collections.Counter(map(inode_of, all_processes()))


def inode_of(pid):
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino
    except OSError:
        return 0


def self_and_ancestors():
    found, pid = set(), os.getpid()
    while pid > 1 and pid not in found:
        found.add(pid)
        fields = stat_fields(pid)
        pid = int(fields[1]) if fields else 0
    return found


def end(find, grace=0.5):
    """Ends all processes that find() returns: SIGTERM, then SIGKILL. Returns those that remain."""
    def signalled(number):
        pids = {pid for pid in find() if is_running(pid)}
        for pid in pids:
            try:
                os.kill(pid, number)
            except OSError:
                pass
        return pids

    first = signalled(signal.SIGTERM)
    wait_until(lambda: not any(map(is_running, first)), grace)
    # A process can have started another one meanwhile.
    wait_until(lambda: not signalled(signal.SIGKILL), 5)
    return {pid for pid in find() if is_running(pid)}


def is_running(pid):
    fields = stat_fields(pid)
    return bool(fields) and fields[0] not in "ZX"


def wait_until(condition, seconds, pause=0.01):
    """Returns what condition() returned last."""
    limit = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < limit:
        time.sleep(pause)
    return value
