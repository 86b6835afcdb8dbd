# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Networks for cells: two namespaces joined by a veth pair, with an impairment between them.

A process holds each namespace and dies with this process. When the last process of a namespace has
ended, the kernel removes it with its interfaces, so nothing is left, not even after kill -9.
"""

import os
import subprocess
import time

from matrix import side

CLIENT = {"4": "10.77.0.1", "6": "fd77::1"}
SERVER = {"4": "10.77.0.2", "6": "fd77::2"}
MAC = {CLIENT["4"]: "02:00:00:00:77:01", SERVER["4"]: "02:00:00:00:77:02"}
GUEST_HOST = {"4": "10.78.0.1", "6": "fd78::1"}
GUEST = {"4": "10.78.0.2", "6": "fd78::2"}
PORT = 7471
READY = 10


class Trouble(Exception):
    """The network cannot be made. str() is the reason."""


class Missing(Trouble):
    """This machine lacks something. str() is `needs WORD: reason`."""


def cannot():
    """Returns why no network namespace can be made here, or ""."""
    for tool in ("ip", "unshare", "nsenter", "setpriv", "ethtool"):
        if not find(tool):
            return f"needs netns: {tool} is not installed (scripts/packages --install fabric)"
    probe = subprocess.run(["unshare", "--net", "--pid", "--fork", "--mount-proc", "true"],
                           capture_output=True, text=True)
    if probe.returncode:
        return "needs netns: cannot make a namespace here: " + probe.stderr.strip()
    return ""


def lacks(family):
    """Returns why this machine has no addresses of this family, or ""."""
    return "" if family == "4" or os.path.exists("/proc/net/if_inet6") else \
        "needs ipv6: this kernel has none"


def find(tool):
    path = os.environ.get("PATH", "").split(":") + ["/usr/sbin", "/sbin"]
    return next((p for p in (os.path.join(folder, tool) for folder in path)
                 if os.access(p, os.X_OK) and os.path.isfile(p)), None)


class Holder:
    """A process that holds a network namespace."""

    def __init__(self, command=("unshare", "--net", "sleep", "infinity")):
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *command], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self.inside = ["nsenter", f"--net=/proc/{self.process.pid}/ns/net"]
        end = time.monotonic() + READY
        while not self.is_apart():
            if time.monotonic() > end or self.process.poll() is not None:
                self.close()
                raise Trouble("cannot make a network namespace")
            time.sleep(0.002)

    def is_apart(self):
        try:
            with open(f"/proc/{self.process.pid}/comm", encoding="ascii") as file:
                name = file.read().strip()
            return name == "sleep" and \
                os.readlink(f"/proc/{self.process.pid}/ns/net") != os.readlink("/proc/self/ns/net")
        except OSError:
            return False

    def close(self):
        self.process.kill()
        self.process.wait()

    def ip(self, *commands):
        self.run(["ip", "-batch", "-"], "\n".join(commands) + "\n")

    def wait_up(self, interface):
        """Waits until the kernel uses the interface; until then it drops packets."""
        end = time.monotonic() + READY
        while "state UP" not in self.run(["ip", "link", "show", interface]):
            if time.monotonic() > end:
                raise Trouble(f"{interface} does not come up")
            time.sleep(0.01)

    def run(self, command, text=""):
        """Runs a command in the namespace and returns its output. Ctrl-C does not reach the
        command, so its failure is never the consequence of an interruption."""
        done = subprocess.run([*self.inside, *command], input=text, capture_output=True, text=True,
                              start_new_session=True)
        if done.returncode:
            raise Trouble(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout


class Pair:
    """Two namespaces, for the client and for the server. With a link impairment a third one is
    between them, in which the relay forwards frames."""

    interface = "server0"

    def __init__(self, family, middle):
        self.family = family
        self.holders = []
        try:
            self.client, self.server = self.hold(), self.hold()
            self.middle = self.hold() if middle else None
            self.wire()
        except BaseException:
            self.close()
            raise
        self.client_address, self.server_address = CLIENT[family], SERVER[family]

    def hold(self):
        self.holders.append(Holder())
        return self.holders[-1]

    def wire(self):
        if self.middle:
            self.middle.ip(*ends("client0", "a0", self.client), *ends("server0", "b0", self.server),
                           "link set a0 addrgenmode none", "link set b0 addrgenmode none",
                           "link set a0 up", "link set b0 up")
        else:
            self.client.ip(*ends("server0", "client0", self.server))
        self.end(self.client, "client0", CLIENT, SERVER)
        self.end(self.server, "server0", SERVER, CLIENT)
        for holder, interface in ((self.client, "client0"), (self.server, "server0")):
            holder.wait_up(interface)

    def end(self, holder, interface, own, peer):
        """Gives an interface its addresses. The neighbour is known, so that no packet waits for its
        address."""
        lengths = {"4": 24, "6": 64} if os.path.exists("/proc/net/if_inet6") else {"4": 24}
        holder.ip("link set lo up", f"link set {interface} address {MAC[own['4']]}",
                  *(f"address add {own[v]}/{n} dev {interface}{' nodad' if v == '6' else ''}"
                    for v, n in lengths.items()),
                  f"link set {interface} up",
                  *(f"neighbour replace {peer[v]} lladdr {MAC[peer['4']]} dev {interface} "
                    "nud permanent" for v in lengths))
        # Each segment is a frame of its own, with its checksum: captures show the real units.
        holder.run(["ethtool", "-K", interface, "tx", "off", "gso", "off", "tso", "off",
                    "gro", "off"])

    def close(self):
        for holder in self.holders:
            holder.close()


class Outside:
    """Takes the place of a namespace: programs run in the network of this machine."""
    inside = []


class MachineNet:
    """The network of this machine, for a cell with an implementation on another machine."""

    interface = None
    middle = None

    def __init__(self, client, server):
        """client, server: plug-ins. One on this machine uses the address that the other names."""
        self.family = "4"
        self.client = self.server = Outside()
        self.client_address = client.address or server.local
        self.server_address = server.address or client.local
        self.local = client.local or server.local

    def close(self):
        pass


def ends(name, here, holder):
    """Returns the command that makes a veth pair: `here` in this namespace, `name` in the other."""
    return [f"link add {here} type veth peer name {name} netns {holder.process.pid}"]


class GuestNet:
    """The network of a guest (scripts/peer-vm). Both ends are the guest, or one of them is here."""

    interface = "vm0"
    middle = None

    def __init__(self, family, guest, client_in_guest, server_in_guest):
        self.family = family
        self.client = self.server = Holder(guest.inside_command())
        self.client_address = (GUEST if client_in_guest else GUEST_HOST)[family]
        self.server_address = (GUEST if server_in_guest else GUEST_HOST)[family]

    def close(self):
        self.client.close()


def background(name, command, holder, environment, log, ready):
    """Starts a helper program in a namespace; returns it when its output has the text `ready`."""
    start = os.path.getsize(log) if os.path.exists(log) else 0
    helper = side.Side(name, command, environment, log, holder.inside)

    def is_ready():
        with open(log, "rb") as file:
            file.seek(start)
            return helper.ended() or ready.encode() in file.read() or \
                any(ready in line for line in helper.lines)

    try:
        if not side.wait_for([helper], is_ready, READY) or helper.ended():
            raise Trouble(f"{name} does not start: {side.last_line(log, start)}")
    except BaseException:
        helper.close()
        raise
    return helper
