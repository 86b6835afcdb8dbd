# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the label of a fabric marks, so that `down` finds everything without a state file.

namespaces  iwf-LABEL-HOST, and iwf-LABEL-0net for the wiring; the alias of `lo` in the wiring
            namespace is the path of the state file
processes   IW_FABRIC=LABEL is in their environment, or they are in one of the namespaces
files       LABEL.json in state_folder() describes the fabric, the folder LABEL beside it has its
            other files
"""

import os
import re

LABEL = r"[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?"
LABEL_EXPECTED = "a name of at most 32 small letters, digits and hyphens, such as pair-lossy"
PREFIX = "iwf-"
WIRING = "0net"


def namespace(label, host):
    return f"{PREFIX}{label}-{host}"


def wiring(label):
    return namespace(label, WIRING)


def label_of(name):
    """Returns the label of a namespace, or None if it is not one of ours."""
    match = re.fullmatch(PREFIX + r"([a-z0-9-]+)-[a-z0-9]+", name)
    return match[1] if match else None


def environment(label):
    """Returns the environment that marks a process as one of this fabric."""
    return {**os.environ, "IW_FABRIC": label, "IW_FABRIC_STATE": state_folder()}


def state_folder():
    """Returns the folder of state files."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if not runtime:
        user = f"/run/user/{os.geteuid()}"
        runtime = "/run" if os.geteuid() == 0 else user if os.path.isdir(user) else \
            f"/tmp/iwarp-{os.geteuid()}"
    return os.path.join(os.path.abspath(runtime), "iwarp", "fabric")


def path_of(label):
    return os.path.join(state_folder(), f"{label}.json")


def folder_of(label):
    return os.path.join(state_folder(), label)
