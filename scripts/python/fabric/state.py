# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""State files of fabrics, and how to find fabrics without a state file (labels.py)."""

import contextlib
import fcntl
import json
import os
import shutil

from . import errors, labels, netns, processes

LOCK_SECONDS = 30

@contextlib.contextmanager
def lock():
    """Only one process at a time decides whether a label is free."""
    os.makedirs(labels.state_folder(), mode=0o700, exist_ok=True)
    if os.stat(labels.state_folder()).st_uid != os.geteuid():
        raise errors.Failed(f"{labels.state_folder()}: owned by another user; set XDG_RUNTIME_DIR")
    with open(os.path.join(labels.state_folder(), "lock"), "w", encoding="utf-8") as file:
        if not processes.wait_until(lambda: try_lock(file), LOCK_SECONDS, 0.02):
            raise errors.Failed(f"{file.name}: another process has held the lock for "
                                f"{LOCK_SECONDS} s: end it, and try again")
        yield


def try_lock(file):
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def create(label, record):
    """Makes the files of a new fabric."""
    os.makedirs(labels.folder_of(label), mode=0o700, exist_ok=True)
    write(label, record)


def write(label, record):
    temporary = f"{labels.path_of(label)}.new"
    write_text(temporary, json.dumps(record, indent=1) + "\n")
    os.replace(temporary, labels.path_of(label))


def write_text(path, text):
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:  # that of a write, such as "no space left", names no file
        raise errors.Failed(f"{path}: {error.strerror}") from None


def read(label):
    """Returns the record of a fabric, or None."""
    try:
        with open(labels.path_of(label), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def remove(label):
    for path in (labels.path_of(label), f"{labels.path_of(label)}.new"):
        try:
            os.unlink(path)
        except OSError:
            pass
    shutil.rmtree(labels.folder_of(label), ignore_errors=True)


def digest(path):
    """Returns what differs between two files."""
    import hashlib  # only `up` needs it, see cli.py
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def namespaces_of(record):
    """Returns the Namespaces of a fabric that is up."""
    return netns.Namespaces(record.get("holder"))


def find_namespaces(label, record):
    """Returns the Namespaces of a fabric, even if its record is incomplete or its holder has
    ended."""
    if netns.is_system():
        return netns.Namespaces()
    for pid in [record.get("holder"), *(pid for pid, marks in processes.marked_processes()
                                        if marks["IW_FABRIC"] == label)]:
        if pid and netns.Namespaces(pid).inode(labels.wiring(label)):
            return netns.Namespaces(pid)
    return netns.Namespaces()


def names_of(label, namespaces):
    """Returns the names of the network namespaces of a fabric."""
    if not namespaces.holder and not netns.is_system():
        return []
    return [name for name in namespaces.names() if labels.label_of(name) == label]


# --- fabrics of this user ------------------------------------------------------------------------


def recorded():
    """Returns the labels that have a state file here."""
    try:
        names = os.listdir(labels.state_folder())
    except OSError:
        return []
    return sorted(name[:-5] for name in names if name.endswith(".json"))


def leftovers():
    """Returns the labels of fabrics whose state file is gone: the process that made them was
    killed, and its state folder removed. Fabrics of other state folders are not among them, and
    neither are namespaces that this program did not make."""
    files = {}
    names = netns.Namespaces().names() if netns.is_system() else []
    wirings = [name for name in names if name.endswith(f"-{labels.WIRING}")]
    for label in set(map(labels.label_of, wirings)) - {None}:
        files[label] = state_file_of(label)
    for _, marks in processes.marked_processes():
        if "IW_FABRIC_STATE" in marks:
            files[marks["IW_FABRIC"]] = os.path.join(marks["IW_FABRIC_STATE"],
                                                     f"{marks['IW_FABRIC']}.json")
    return sorted(label for label, path in files.items() if path and not os.path.exists(path))


def state_file_of(label):
    """Returns the state file that a fabric of root names, or None."""
    try:
        shown = netns.Namespaces().call(["ip", "-json", "link", "show", "lo"], labels.wiring(label))
        return json.loads(shown)[0].get("ifalias")
    except (errors.Failed, ValueError):
        return None


def elsewhere(label):
    """Returns the state file of a fabric that another state folder has, or None."""
    if not netns.is_system() or labels.wiring(label) not in netns.Namespaces().names():
        return None
    other = state_file_of(label)
    return other if other and other != labels.path_of(label) and os.path.exists(other) else None


def is_made(record):
    """True while the `up` of this fabric runs."""
    return bool(record) and record.get("status") == "starting" and \
        processes.start_time(record["pid"]) == record["start"]


def is_alive(record):
    """True if a fabric is up, or its `up` still runs."""
    if record.get("status") == "starting":
        return is_made(record)
    if record.get("remote"):
        return True
    return namespaces_of(record).inode(labels.wiring(record["label"])) is not None
