# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A running fabric.

    with Fabric(topology.load(path)) as net:      # up, and down at the end, however that comes
        net.run(host, argv, timeout)              # subprocess.CompletedProcess with text
        net.popen(host, argv)                     # subprocess.Popen; down ends it
        net.address(host), net.addresses(host)    # texts; see there
        net.command(host, argv)                   # (argv, environment), to start it in another way
    net.counters                                  # after down: the relays' lines of JSON, by link

A Fabric of a program has the label NAME-PID-N, so several can be up at a time. If the program is
killed, a keeper process takes the fabric down. attach(label) gives a fabric that the command line
made. Raises place.Cannot (no permission, no tool) and place.Failed.

On each host /etc/hosts has the names of all hosts, the host name is the name in the file, and the
tools of the build folder are in PATH.
"""

import concurrent.futures
import contextlib
import hashlib
import itertools
import json
import os
import subprocess
import sys

from . import place, relays, remote, state

NUMBERS = itertools.count(1)
PARALLEL = 8
ENTER = """
mount --bind "$1" /etc/hosts 2>/dev/null
hostname "$2" 2>/dev/null
shift 2
exec "$@"
"""
CONFIGURE = """
for conf in all default; do
    echo 0 >/proc/sys/net/ipv4/conf/$conf/rp_filter
    [ ! -e /proc/sys/net/ipv6 ] || echo 0 >/proc/sys/net/ipv6/conf/$conf/accept_ra
done
if [ "$1" = router ]; then
    echo 1 >/proc/sys/net/ipv4/ip_forward
    [ ! -e /proc/sys/net/ipv6 ] || echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
fi
exec ip -batch -
"""
# Nothing in the wiring namespace sends frames of its own.
SILENCE = """
for conf in all default; do
    [ ! -e /proc/sys/net/ipv6 ] || echo 1 >/proc/sys/net/ipv6/conf/$conf/disable_ipv6
done
exec ip -batch -
"""
OFFLOADS = """
while read -r interface; do
    ethtool -K "$interface" tso off gso off gro off tx off rx off >/dev/null || exit
done
"""


class Fabric:
    """See the module. topology: topology.Topology. owner: the process whose end takes the fabric
    down (default: this one); None: no such process."""

    def __init__(self, topology, label=None, owner=0):
        self.topology = topology
        self.label = label or f"{topology.label}-{os.getpid()}-{next(NUMBERS)}"
        self.owner = os.getpid() if owner == 0 else owner
        self.record = None
        self.counters = {}

    def __enter__(self):
        self.up()
        return self

    def __exit__(self, *_):
        self.down()

    # --- up and down ---------------------------------------------------------------------------

    def up(self):
        """Raises place.Failed if the label is in use; is_up() tells."""
        claim(self.label)
        try:
            Builder(self).build()
        except BaseException:
            self.down()
            raise

    def down(self):
        self.counters = take_down(self.label)

    def save(self):
        state.write(self.label, self.record)

    # --- hosts ---------------------------------------------------------------------------------

    def hosts(self):
        """Returns the names of the hosts, in the order of the file."""
        return [name for name, host in self.record["hosts"].items() if host["kind"] == "host"]

    def addresses(self, host, family=None):
        """Returns the addresses of a host as texts, interface after interface. family: 4 or 6."""
        return [one["address"] for one in self.interfaces(host)
                if family in (None, 6 if ":" in one["address"] else 4)]

    def address(self, host, source=None, family=None):
        """Returns the first address of a host; with `source`, if possible, one in a network that
        both hosts share."""
        own = [one for one in self.interfaces(host)
               if family in (None, 6 if ":" in one["address"] else 4)]
        shared = {one["prefix"] for one in self.interfaces(source)} if source else ()
        return next((one["address"] for one in own if one["prefix"] in shared), own[0]["address"])

    def interfaces(self, host):
        """Returns dicts with interface, address and prefix."""
        return self.host(host)["addresses"]

    def host(self, name):
        if name not in self.record["hosts"]:
            raise place.Failed(f"{name}: not a host of {self.label}: expected one of "
                               f"{', '.join(list(self.record['hosts'])[:20])}")
        return self.record["hosts"][name]

    # --- commands ------------------------------------------------------------------------------

    def command(self, host, argv):
        """Returns the words and the environment that run a command on a host."""
        if self.host(host).get("ssh"):
            return remote.command(self.host(host)["ssh"], argv), dict(os.environ)
        words = state.here_of(self.record).enter(state.namespace(self.label, host))
        words += ["unshare", "--mount", "--uts", "sh", "-c", ENTER, "sh",
                  os.path.join(state.folder_of(self.label), "hosts"), host, *argv]
        environment = place.environment(self.label)
        environment["IW_FABRIC_HOST"] = host
        if os.path.isdir(relays.build_folder()):
            environment["PATH"] = f"{relays.build_folder()}:{environment.get('PATH', '')}"
        return words, environment

    def popen(self, host, argv, **options):
        """Returns a Popen object; options are those of subprocess.Popen. `env` adds variables."""
        words, environment = self.command(host, argv)
        environment.update(options.pop("env", None) or {})
        options.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.Popen(words, env=environment, **options)

    def run(self, host, argv, timeout=60, stdin=None):
        """Returns a CompletedProcess with text output. After the timeout the command and its
        children are killed, and subprocess.TimeoutExpired is raised."""
        process = self.popen(host, argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, errors="replace",
                             start_new_session=True)
        try:
            output, errors = process.communicate(stdin or "", timeout)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            process.communicate()
            raise
        return subprocess.CompletedProcess(argv, process.returncode, output, errors)


def attach(label):
    """Returns the Fabric that is up under this label. Raises place.Failed."""
    record = state.read(label)
    if not record or record.get("status") != "up" or not state.is_alive(record):
        raise place.Failed(f"{label}: not up: run scripts/fabric up FILE")
    net = Fabric(None, label, None)
    net.record = record
    return net


def is_up(label):
    record = state.read(label)
    return bool(record) and record.get("status") == "up" and state.is_alive(record)


def claim(label):
    """Makes the state file. Removes what a killed `up` left. Raises place.Failed if the label is
    in use."""
    record = state.read(label)
    if record and state.is_alive(record):
        raise place.Failed(f"{label}: is up already; run scripts/fabric down, or use another "
                           "--label")
    if place.is_system() and state.namespace(label, state.WIRING) in place.Place().namespaces():
        other = state.state_file_of(label)
        if other and other != state.path_of(label) and os.path.exists(other):
            raise place.Failed(f"{label}: in use, see {other}; use another --label")
    take_down(label)
    if not state.create(label, {"label": label, "status": "starting", "pid": os.getpid(),
                                "start": state.start_time(os.getpid())}):
        raise place.Failed(f"{label}: another process is making it at this moment")


def take_down(label):
    """Removes everything of a fabric, whether it is complete or not. Returns the counters of its
    relays, by link."""
    record = state.read(label) or {"label": label}
    here = state.here_of(record)
    try:
        names = [name for name in here.namespaces() if state.label_of(name) == label]
    except place.Failed:  # the user namespace is gone, and so is everything in it
        here, names = place.Place(), []
    if not here.holder and not place.is_system():
        names = []
    inodes = {here.inode(name) for name in names}
    folder = place.state_folder()

    running = [relay for relay in record.get("relays", []) if state.start_time(relay["pid"]) == relay["start"]]
    counters = relays.stop([relay["pid"] for relay in running],
                           {relay["link"]: relay["log"] for relay in running})
    rest = state.end(lambda: state.processes_of(label, inodes, folder))
    if names and here.holder is None:
        here.batch([f"netns delete {name}" for name in names])
    state.remove(label)
    if rest:
        raise place.Failed(f"{label}: processes do not end: {', '.join(map(str, sorted(rest)))}")
    return counters


# --- building ------------------------------------------------------------------------------------


class Builder:
    """Makes what a topology describes, step by step."""

    def __init__(self, net):
        self.net = net
        self.topology = net.topology
        self.label = net.label
        self.wiring = state.namespace(net.label, state.WIRING)
        self.here = None
        self.emulation = None

    def build(self):
        net = self.net
        net.record = {**state.read(self.label), "path": os.path.abspath(self.topology.path),
                      "digest": digest(self.topology.path), "relays": [], "remote": False,
                      "hosts": {name: describe(member)
                                for name, member in self.topology.members().items()}}
        if self.topology.is_remote():
            net.record["remote"] = True
            remote.check(self.topology)
        else:
            self.build_here()
        net.record["status"] = "up"
        net.save()
        if self.net.owner:
            start_keeper(self.label, self.net.owner)

    def build_here(self):
        self.here = place.make(self.label)
        self.net.record["holder"] = self.here.holder
        self.net.save()
        if any(link.impaired() for link in self.topology.links):
            self.emulation = relays.choose(self.topology, self.here)
            self.net.record["emulation"] = self.emulation
        self.write_hosts()
        self.make_namespaces()
        self.make_links()
        self.in_parallel(self.configure, self.topology.members().values())
        self.start_relays()
        place.wait_until(self.is_wired, 5)

    def in_parallel(self, function, items):
        with concurrent.futures.ThreadPoolExecutor(PARALLEL) as pool:
            return list(pool.map(function, items))

    def write_hosts(self):
        lines = ["127.0.0.1 localhost", "::1 localhost ip6-localhost"]
        for name, host in self.net.record["hosts"].items():
            lines += [f"{one['address']} {name}" for one in host["addresses"]]
        with open(os.path.join(state.folder_of(self.label), "hosts"), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")

    def make_namespaces(self):
        """The wiring is first, because its alias tells whose namespaces these are."""
        self.here.batch([f"netns add {self.wiring}"])
        self.here.batch([f"link set lo alias {state.path_of(self.label)}"], self.wiring)
        self.here.batch([f"netns add {state.namespace(self.label, name)}"
                         for name in self.topology.members()])

    # --- links: all interfaces are made in the wiring, and moved from there -----------------------

    def make_links(self):
        make, bare, move = [], [], []
        for name, network in self.topology.networks.items():
            mtu = max((end.link.mtu for end in network.ends), default=1500)
            make += [f"link add {bridge(name)} mtu {mtu} type bridge forward_delay 0 mcast_snooping 0",
                     f"link set {bridge(name)} up"]
        for link in self.topology.links:
            make += self.pairs(link)
            if not link.offloads:
                bare += self.all_interfaces(link)
            for end, name in zip(link.ends, outer(link)):
                move += self.attach(end, name)
            if self.relayed(link):
                move += [f"link set {name} up" for name in inner(link)]
        self.here.call(["sh", "-c", SILENCE], self.wiring, "".join(f"{line}\n" for line in make))
        if bare:
            self.here.call(["sh", "-c", OFFLOADS], self.wiring, "\n".join(bare) + "\n")
        self.here.batch(move, self.wiring)
        self.add_netem()

    def relayed(self, link):
        return link.impaired() and self.emulation == "relay"

    def pairs(self, link):
        (one, other), mtu = outer(link), link.mtu
        if not self.relayed(link):
            return [f"link add {one} mtu {mtu} type veth peer name {other} mtu {mtu}"]
        return [f"link add {mine} mtu {mtu} type veth peer name {middle} mtu {mtu}"
                for mine, middle in zip((one, other), inner(link))]

    def all_interfaces(self, link):
        return [*outer(link), *(inner(link) if self.relayed(link) else ())]

    def attach(self, end, name):
        if end.member.kind == "network":
            return [f"link set {name} master {bridge(end.member.name)} up"]
        target = state.namespace(self.label, end.member.name)
        return [f"link set {name} address {end.mac}",
                f"link set {name} netns {target} name {end.interface}"]

    def add_netem(self):
        for link in self.topology.links if self.emulation == "netem" else []:
            for index, (end, name) in enumerate(zip(link.ends, outer(link))):
                is_port = end.member.kind == "network"
                where = self.wiring if is_port else state.namespace(self.label, end.member.name)
                if link.toward[1 - index]:
                    self.here.call(relays.netem(link, 1 - index, name if is_port else end.interface),
                                   where)

    # --- hosts ------------------------------------------------------------------------------------

    def configure(self, member):
        """Sets up lo, the interfaces, their addresses, and the routes of a host."""
        lines = ["link set lo up"]
        for end in member.ends:
            # A link-local address of the kernel's own would cost frames to detect duplicates.
            if "ipv6" in self.topology.families:
                lines += [f"link set {end.interface} addrgenmode none",
                          f"address add {end.link_local}/64 dev {end.interface} nodad"]
            for address in end.addresses:
                dad = " nodad" if address.version == 6 else ""
                lines.append(f"address add {address} dev {end.interface}{dad}")
            lines.append(f"link set {end.interface} up")
        for prefix, gate in self.topology.routes[member.name]:
            lines.append(f"route add {prefix} via {gate}")
        self.here.call(["sh", "-c", CONFIGURE, "sh", member.kind],
                       state.namespace(self.label, member.name),
                       "".join(f"{line}\n" for line in lines))

    def is_wired(self):
        shown = self.here.call(["ip", "-json", "link", "show"], self.wiring)
        return all("LOWER_UP" in one["flags"] for one in json.loads(shown)
                   if one["ifname"] != "lo")

    # --- relays -----------------------------------------------------------------------------------

    def start_relays(self):
        links = [link for link in self.topology.links if self.relayed(link)]
        started = self.in_parallel(self.start_relay, links)
        self.net.save()
        for process, log in started:
            relays.wait_ready(process, log)

    def start_relay(self, link):
        log = os.path.join(state.folder_of(self.label), f"relay-{link.number}")
        argv = relays.command(link, inner(link), self.topology.seed)
        process = relays.start(self.here, self.wiring, argv, log, self.label)
        self.net.record["relays"].append({
            "link": link.name(), "pid": process.pid, "start": state.start_time(process.pid),
            "log": log, "interfaces": inner(link),
            "toward": {end.member.name: direction.text()
                       for end, direction in zip(link.ends, link.toward)}})
        return process, log


def describe(member):
    """Returns a host's entry in the state file."""
    addresses = [{"interface": end.interface, "address": str(one.ip), "prefix": str(one.network)}
                 for end in member.ends for one in end.addresses]
    for _, address in member.addresses.get(member.name, []):
        addresses.append({"interface": "", "address": str(address), "prefix": ""})
    return {"kind": member.kind, "ssh": member.ssh, "addresses": addresses}


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def bridge(name):
    return f"s-{name}"


def outer(link):
    return [f"l{link.number}a", f"l{link.number}b"]


def inner(link):
    return [f"l{link.number}ra", f"l{link.number}rb"]


def start_keeper(label, owner):
    """Starts a process that takes the fabric down when `owner` ends."""
    program = os.path.join(relays.TOP, "scripts", "fabric")
    subprocess.Popen([sys.executable, program, "keep", label, str(owner)],
                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                     stderr=subprocess.DEVNULL, start_new_session=True,
                     env=place.environment(label))
