# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The virtual machine for implementations of the kernel: scripts/peer-vm."""

import os
import subprocess

from matrix import net, side

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))))
PEER_VM = os.path.join(TOP, "scripts", "peer-vm")


TOOLS = ("ddp-bench", "ddp-send", "ddp-recv", "sctp-ddp-ping")
# Operations that need the programs and modules of `peer-vm extra`.
EXTRA = ("nfs", "iser", "open-mpi")


class Wanted:
    """reason: why no guest is used, or ""."""

    def __init__(self, reason):
        self.reason = reason

    def environment(self):
        """What plug-ins see: IW_GUESTS is `yes`, or the reason why there is no guest."""
        return {"IW_GUESTS": self.reason or "yes"}

    def up(self, environment, log):
        """Boots a guest. environment gets its name."""
        with open(log, "ab") as error:
            done = subprocess.run([PEER_VM, "up", "--siw", "tunable", "--owner", str(os.getpid())],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=error,
                                  text=True)
        said = side.short(done.stdout) or side.last_line(log)
        if done.returncode == 3:
            raise net.Missing(said)
        if done.returncode:
            raise net.Trouble(f"the guest does not start: {said}: see {log}")
        environment["IW_VM"] = done.stdout.strip()
        guest = Guest(environment)
        guest.prepare(log)
        return guest


class Guest:
    def __init__(self, environment):
        self.environment = environment

    def prepare(self, log):
        """Tells plug-ins how to reach the guest, and copies our tools into it."""
        with open(log, "ab") as error:
            info = subprocess.run([PEER_VM, "info"], env=self.environment, stdout=subprocess.PIPE,
                                  stderr=error, text=True).stdout
            facts = dict(line.split("=", 1) for line in info.split() if "=" in line)
            if "call" not in facts or "state" not in facts:
                raise net.Trouble(f"peer-vm info: {info[:60]!r}: expected call= and state=: see "
                                  f"{log}")
            self.environment["IW_GUEST_CALL"] = facts["call"]
            self.environment["IW_GUEST_STATE"] = facts["state"]
            found = [net.find(tool) for tool in TOOLS]
            subprocess.run([PEER_VM, "program", *(tool for tool in found if tool)],
                           env=self.environment, stdout=error, stderr=error)

    def add_extra(self, log):
        """Adds what the operations of EXTRA need. Plug-ins see IW_GUEST_EXTRA: `yes`, or the reason
        why it is not there."""
        done = subprocess.run([PEER_VM, "extra"], env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        with open(log, "a", encoding="utf-8") as file:
            file.write(done.stdout)
        said = done.stdout.strip().splitlines() or [f"exit status {done.returncode}"]
        self.environment["IW_GUEST_EXTRA"] = f"peer-vm extra: {said[-1]}" if done.returncode \
            else "yes"

    def inside_command(self):
        """Returns the command of a process that holds the network of the guest."""
        return [PEER_VM, "host", "-n", self.environment["IW_VM"], "sleep", "infinity"]

    def clean(self):
        """Kills the programs that plug-ins have left in the guest."""
        self.run("for job in /run/jobs/*; do [ -e $job/status ] || "
                 "kill -s KILL -- -$(cat $job/pid); done 2>/dev/null; rm -rf /tmp/file /tmp/in")

    def run(self, script):
        subprocess.run([PEER_VM, "run", "-t", "10", "sh", "-c", script], env=self.environment,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    def down(self):
        subprocess.run([PEER_VM, "down"], env=self.environment, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wanted(choice):
    """choice: on, off or auto."""
    if choice == "off":
        return Wanted("needs guest: --guests off")
    reason = cannot()
    if reason and choice == "on":
        raise net.Missing(reason)
    return Wanted(reason)


def cannot():
    if "IW_MATRIX_USER" in os.environ:
        return "needs guest: only root can use it in the matrix"
    for tool in ("qemu-system-x86_64", "mmdebstrap"):
        if not net.find(tool):
            return f"needs guest: {tool} is not installed (scripts/packages --install guest)"
    if not os.access("/dev/net/tun", os.W_OK):
        return "needs guest: /dev/net/tun cannot be opened"
    return ""
