# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes the namespaces, links and relays of a topology.

A namespace for each host and router, and one for the wiring: all networks (bridges), relays and
unfinished links are there. So nothing is ever in the namespace of the caller.
"""

import json
import os

import program

from . import errors, labels, netns, processes, relays, remote, state

THREADS = 8
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
# The wiring namespace must not send frames of its own.
NO_IPV6 = """
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


class Builder:
    """Makes what a topology describes, step by step."""

    def __init__(self, net):
        self.net = net
        self.topology = net.topology
        self.label = net.label
        self.wiring = labels.wiring(net.label)
        self.namespaces = None
        self.emulation = None

    def build(self):
        net = self.net
        claimed = state.read(self.label)
        if not claimed:
            raise errors.Failed(f"{self.label}: another process has taken it down")
        net.record = {**claimed, "path": os.path.abspath(self.topology.path),
                      "digest": state.digest(self.topology.path), "relays": [], "remote": False,
                      "hosts": {name: describe(member)
                                for name, member in self.topology.members().items()}}
        if self.topology.is_remote():
            net.record["remote"] = True
            for name, address in remote.check(self.topology).items():
                net.record["hosts"][name]["addresses"] = \
                    net.record["hosts"][name]["addresses"] or [entry("", address, "")]
        else:
            self.build_here()
        net.record["status"] = "up"
        net.save()

    def build_here(self):
        self.namespaces = netns.make(self.label)
        self.net.record["holder"] = self.namespaces.holder
        self.net.save()
        if any(link.impaired() for link in self.topology.links):
            self.emulation = relays.choose(self.topology, self.namespaces)
            self.net.record["emulation"] = self.emulation
        self.write_hosts()
        self.make_namespaces()
        self.make_links()
        program.at_once(self.configure, self.topology.members().values(), THREADS)
        self.start_relays()
        if not processes.wait_until(self.is_wired, 10):
            raise errors.Failed(f"{self.label}: the links are not up after 10 s")

    def write_hosts(self):
        lines = ["127.0.0.1 localhost", "::1 localhost ip6-localhost"]
        for name, host in self.net.record["hosts"].items():
            lines += [f"{one['address']} {name}" for one in host["addresses"]]
        path = os.path.join(labels.folder_of(self.label), "hosts")
        state.write_text(path, "\n".join(lines) + "\n")

    def make_namespaces(self):
        """The wiring is first: the alias of its lo names the state file, which identifies the owner
        of the namespaces."""
        self.namespaces.batch([f"netns add {self.wiring}"])
        self.namespaces.call(["ip", "link", "set", "lo", "alias", labels.path_of(self.label)],
                             self.wiring)
        self.namespaces.batch([f"netns add {labels.namespace(self.label, name)}"
                         for name in self.topology.members()])

    # --- links: all interfaces are made in the wiring, and moved from there -----------------------

    def make_links(self):
        make, bare, move = [], [], []
        for name, network in self.topology.networks.items():
            mtu = max((end.link.mtu for end in network.ends), default=1500)
            make += [f"link add {bridge(name)} mtu {mtu} type bridge forward_delay 0 "
                     "mcast_snooping 0",
                     f"link set {bridge(name)} up"]
        for link in self.topology.links:
            make += self.pairs(link)
            if not link.offloads:
                bare += self.all_interfaces(link)
            for end, name in zip(link.ends, outer(link)):
                move += self.attach(end, name)
            if self.relayed(link):
                move += [f"link set {name} up" for name in inner(link)]
        self.namespaces.call(["sh", "-c", NO_IPV6], self.wiring,
                             "".join(f"{line}\n" for line in make))
        if bare:
            self.namespaces.call(["sh", "-c", OFFLOADS], self.wiring, "\n".join(bare) + "\n")
        self.namespaces.batch(move, self.wiring)
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
        target = labels.namespace(self.label, end.member.name)
        return [f"link set {name} address {end.mac}",
                f"link set {name} netns {target} name {end.interface}"]

    def add_netem(self):
        for link in self.topology.links if self.emulation == "netem" else []:
            for index, (end, name) in enumerate(zip(link.ends, outer(link))):
                where = self.wiring
                if end.member.kind != "network":
                    where, name = labels.namespace(self.label, end.member.name), end.interface
                if link.toward[1 - index]:
                    self.namespaces.call(relays.netem(link, 1 - index, name), where)

    # --- hosts ------------------------------------------------------------------------------------

    def configure(self, member):
        """Sets up lo, the interfaces, their addresses, and the routes of a host."""
        lines = ["link set lo up"]
        for end in member.ends:
            # The kernel would send frames to detect duplicates of a link-local address of its own.
            if "ipv6" in self.topology.families:
                lines += [f"link set {end.interface} addrgenmode none",
                          f"address add {end.link_local}/64 dev {end.interface} nodad"]
            for address in end.addresses:
                dad = " nodad" if address.version == 6 else ""
                lines.append(f"address add {address} dev {end.interface}{dad}")
            lines.append(f"link set {end.interface} up")
        for prefix, gateway in self.topology.routes[member.name]:
            lines.append(f"route add {prefix} via {gateway}")
        self.namespaces.call(["sh", "-c", CONFIGURE, "sh", member.kind],
                       labels.namespace(self.label, member.name),
                       "".join(f"{line}\n" for line in lines))

    def is_wired(self):
        shown = self.namespaces.call(["ip", "-json", "link", "show"], self.wiring)
        return all("LOWER_UP" in one["flags"] for one in json.loads(shown)
                   if one["ifname"] != "lo")

    # --- relays -----------------------------------------------------------------------------------

    def start_relays(self):
        links = [link for link in self.topology.links if self.relayed(link)]
        started = program.at_once(self.start_relay, links, THREADS)
        self.net.record["relays"] = [describe_relay(link, *one)
                                     for link, one in zip(links, started)]
        self.net.save()
        for link, (process, log) in zip(links, started):
            relays.wait_ready(process, log, link)

    def start_relay(self, link):
        log = os.path.join(labels.folder_of(self.label), f"relay-{link.number}")
        argv = relays.command(link, inner(link), self.topology.seed)
        return relays.start(self.namespaces, self.wiring, argv, log, self.label), log


def describe_relay(link, process, log):
    """Returns a relay's entry in the state file."""
    return {"link": link.name(), "pid": process.pid, "start": processes.start_time(process.pid),
            "log": log, "interfaces": inner(link), "rules": link.rules,
            "toward": {end.member.name: direction.text()
                       for end, direction in zip(link.ends, link.toward)}}


def describe(member):
    """Returns a host's entry in the state file."""
    addresses = [entry(end.interface, one.ip, one.network)
                 for end in member.ends for one in end.addresses]
    for _, address in member.addresses.get(member.name, []):
        addresses.append(entry("", address, ""))
    return {"kind": member.kind, "ssh": member.ssh, "addresses": addresses}


def entry(interface, address, prefix):
    return {"interface": interface, "address": str(address), "prefix": str(prefix)}


def bridge(name):
    return f"s-{name}"


def outer(link):
    return [f"l{link.number}a", f"l{link.number}b"]


def inner(link):
    return [f"l{link.number}ra", f"l{link.number}rb"]
