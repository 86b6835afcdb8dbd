# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""State files of fabrics, and how to find what a fabric left behind.

LABEL.json in place.state_folder() describes a fabric, the folder LABEL beside it has its other
files. The namespaces of a fabric are iwf-LABEL-HOST, and iwf-LABEL-0net for the wiring. The alias
of `lo` in the wiring namespace is the path of the state file. Processes of a fabric are in one of
its namespaces, or have IW_FABRIC=LABEL in their environment. So `down` finds everything without a
state file.
"""

import collections
import contextlib
import fcntl
import json
import os
import re
import shutil
import signal

from . import place

PREFIX = "iwf-"
WIRING = "0net"


def namespace(label, host):
    return f"{PREFIX}{label}-{host}"


def label_of(name):
    """Returns the label of a namespace, or None if it is not one of ours."""
    match = re.fullmatch(r"iwf-([a-z0-9-]+)-[a-z0-9]+", name)
    return match[1] if match else None


def path_of(label):
    return os.path.join(place.state_folder(), f"{label}.json")


def folder_of(label):
    return os.path.join(place.state_folder(), label)


@contextlib.contextmanager
def lock():
    """Only one process at a time decides whether a label is free."""
    os.makedirs(place.state_folder(), mode=0o700, exist_ok=True)
    if os.stat(place.state_folder()).st_uid != os.geteuid():
        raise place.Failed(f"{place.state_folder()}: owned by another user; set XDG_RUNTIME_DIR")
    with open(os.path.join(place.state_folder(), "lock"), "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def create(label, record):
    """Makes the files of a new fabric."""
    os.makedirs(folder_of(label), mode=0o700, exist_ok=True)
    write(label, record)


def write(label, record):
    temporary = f"{path_of(label)}.new"
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump(record, file, indent=1)
        file.write("\n")
    os.replace(temporary, path_of(label))


def read(label):
    """Returns the record of a fabric, or None."""
    try:
        with open(path_of(label), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def remove(label):
    for path in (path_of(label), f"{path_of(label)}.new"):
        try:
            os.unlink(path)
        except OSError:
            pass
    shutil.rmtree(folder_of(label), ignore_errors=True)


def here_of(record):
    """Returns the Place of a fabric that is up."""
    return place.Place(record.get("holder"))


def place_of(label, record):
    """Returns the Place of a fabric, even if its record is incomplete or its holder has ended."""
    if place.is_system():
        return place.Place()
    for pid in [record.get("holder"), *(pid for pid, marks in marked_processes()
                                        if marks["IW_FABRIC"] == label)]:
        if pid and place.Place(pid).inode(namespace(label, WIRING)):
            return place.Place(pid)
    return place.Place()


def namespaces_of(label, here):
    if not here.holder and not place.is_system():
        return []
    return [name for name in here.namespaces() if label_of(name) == label]


# --- fabrics of this user ------------------------------------------------------------------------


def recorded():
    """Returns the labels that have a state file here."""
    try:
        names = sorted(os.listdir(place.state_folder()))
    except OSError:
        return []
    return [name[:-5] for name in names if name.endswith(".json")]


def leftovers():
    """Returns the labels of fabrics whose state file is gone: the process that made them was
    killed, and its state folder removed. Fabrics of other state folders are not among them, and
    neither are namespaces that this program did not make."""
    files = {}
    names = place.Place().namespaces() if place.is_system() else []
    for label in {label_of(name) for name in names if name.endswith(f"-{WIRING}")} - {None}:
        files[label] = state_file_of(label)
    for _, marks in marked_processes():
        if "IW_FABRIC_STATE" in marks:
            files[marks["IW_FABRIC"]] = os.path.join(marks["IW_FABRIC_STATE"],
                                                     f"{marks['IW_FABRIC']}.json")
    return sorted(label for label, path in files.items() if path and not os.path.exists(path))


def state_file_of(label):
    """Returns the state file that a fabric of root names, or None."""
    try:
        shown = place.Place().call(["ip", "-json", "link", "show", "lo"], namespace(label, WIRING))
        return json.loads(shown)[0].get("ifalias")
    except (place.Failed, ValueError):
        return None


def elsewhere(label):
    """Returns the state file of a fabric that another state folder has, or None."""
    if not place.is_system() or namespace(label, WIRING) not in place.Place().namespaces():
        return None
    other = state_file_of(label)
    return other if other and other != path_of(label) and os.path.exists(other) else None


def is_alive(record):
    """True if a fabric is up, or its `up` still runs."""
    if record.get("status") == "starting":
        return start_time(record.get("pid")) == record.get("start")
    if record.get("remote"):
        return True
    return here_of(record).inode(namespace(record["label"], WIRING)) is not None


# --- processes -----------------------------------------------------------------------------------


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
    return (found | processes_in(inodes)) - own_line()


def is_ours(label, folder):
    return folder == place.state_folder() or \
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


def own_line():
    line, pid = set(), os.getpid()
    while pid > 1 and pid not in line:
        line.add(pid)
        fields = stat_fields(pid)
        pid = int(fields[1]) if fields else 0
    return line


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
    place.wait_until(lambda: not any(map(is_running, first)), grace)
    # A process can have started another one meanwhile.
    place.wait_until(lambda: not signalled(signal.SIGKILL), 5)
    return {pid for pid in find() if is_running(pid)}


def is_running(pid):
    fields = stat_fields(pid)
    return bool(fields) and fields[0] not in "ZX"
