# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The network namespaces that a fabric uses.

root      those in /run/netns, as `ip netns` lists them
a user    those in a user namespace with a /run of its own. A process holds it: it ends with this
          process and with all processes in it.
"""

import functools
import os
import select
import shutil
import subprocess

from . import errors, labels

NETNS = "/run/netns"
SYSTEM = ("/usr/sbin", "/sbin")
HOLD_SECONDS = 20  # until the user namespace is ready
TOOLS = ("ip", "ethtool", "nsenter", "unshare")

# A tmpfs replaces /run, which an ordinary user cannot write, and shows the folders of the old one.
HOLD = """
new=/mnt
mount -t tmpfs tmpfs $new && mkdir -p $new/netns || exit 1
for old in /run/*; do
    name=${old##*/}
    [ "$name" != netns ] && [ -d "$old" ] || continue
    mkdir "$new/$name" && mount --rbind "$old" "$new/$name" || rmdir "$new/$name"
done
mount --rbind $new /run && mount --make-rprivate / && echo ready && exec sleep infinity
"""


class Namespaces:
    """holder: the process id that holds the user namespace, or None for root. label: of the fabric
    that is made, so that `down` also ends commands of an `up` that was killed."""

    def __init__(self, holder=None, label=None):
        self.holder = holder
        self.environment = labels.environment(label) if label else None

    def enter(self, namespace=None):
        """Returns the words that run a command there, and in this network namespace."""
        words = []
        if self.holder:
            words = ["nsenter", "-t", str(self.holder), "-U", "-m", "-n", "--preserve-credentials",
                     f"--wd={os.getcwd()}"]
        if namespace:
            words += ["nsenter", f"--net={NETNS}/{namespace}"]
        return words

    def call(self, argv, namespace=None, text=None):
        """Runs a command and returns its standard output. Raises Failed with its first message."""
        try:
            done = subprocess.run([*self.enter(namespace), *argv], input=text or "", timeout=60,
                                  capture_output=True, text=True, check=False,
                                  env=self.environment)
        except subprocess.TimeoutExpired:
            raise errors.Failed(f"{argv[0]}: does not end within 60 s") from None
        if done.returncode:
            said = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
            where = f"{namespace}: " if namespace else ""
            what = "set-up" if argv[0] == "sh" else argv[0]
            raise errors.Failed(f"{where}{what}: {said[0]}")
        return done.stdout

    def batch(self, lines, namespace=None):
        """Runs lines of ip(8) at once."""
        if lines:
            self.call(["ip", "-batch", "-"], namespace, "".join(f"{line}\n" for line in lines))

    def names(self):
        """Returns the names of all network namespaces."""
        try:
            return sorted(os.listdir(self.folder()))
        except OSError:  # no namespace was ever made, or the holder has ended
            return []

    def folder(self):
        return f"/proc/{self.holder}/root{NETNS}" if self.holder else NETNS

    def inode(self, namespace):
        """Returns the inode of a network namespace, which /proc/PID/ns/net also shows, or None."""
        try:
            return os.stat(f"{self.folder()}/{namespace}").st_ino
        except OSError:
            return None

    def delete(self, find):
        """Deletes the namespaces whose names find() returns. Another process may do the same."""
        lines = [f"netns delete {name}\n" for name in find()]
        try:
            self.call(["ip", "-force", "-batch", "-"], None, "".join(lines))
        except errors.Failed:
            if find():
                raise


def extend_path():
    """The PATH of an ordinary user may lack the folder of ethtool."""
    folders = os.environ.get("PATH", "/usr/bin:/bin").split(":")
    os.environ["PATH"] = ":".join([*folders, *(one for one in SYSTEM if one not in folders)])


def check_tools():
    """Raises Cannot if a program is missing."""
    extend_path()
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        raise errors.Cannot(f"needs {', '.join(missing)}: not installed; run scripts/packages "
                            "--install fabric")


@functools.lru_cache(None)
def is_system():
    """True if this process makes namespaces in /run/netns: it is root, and may mount there. Root
    of a user namespace may not."""
    if os.geteuid() != 0:
        return False
    probe = ["nsenter", "--mount=/proc/self/ns/mnt", "true"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


def make(label):
    """Returns the Namespaces of a new fabric. Raises Cannot."""
    check_tools()
    if not is_system():
        return Namespaces(hold(label), label)
    if subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False).returncode:
        raise errors.Cannot("needs netns: cannot make a network namespace, not even as root; in a "
                            "container, add CAP_SYS_ADMIN and CAP_NET_ADMIN")
    return Namespaces(None, label)


def hold(label):
    """Starts the process that holds a user namespace and returns its process id."""
    holder = subprocess.Popen(
        ["unshare", "--user", "--map-root-user", "--mount", "--net", "sh", "-c", HOLD],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, env=labels.environment(label))
    if not select.select([holder.stdout], [], [], HOLD_SECONDS)[0] or \
            holder.stdout.readline() != "ready\n":
        holder.kill()
        said = holder.communicate()[1].strip().splitlines() or ["no message"]
        raise errors.Cannot(f"needs root or user namespaces: {said[0]}; run as root, or see "
                            "user.max_user_namespaces and "
                            "kernel.apparmor_restrict_unprivileged_userns in sysctl(8)")
    holder.stdout.close()
    holder.stderr.close()
    return holder.pid
