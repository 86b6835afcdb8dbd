# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Topology files: load(PATH) returns a Topology, or raises checked.Invalid with file and line.

A file is a mapping. All keys but `hosts` are optional:

    name        the label of the fabric (default: the name of the file)
    hosts       a number (h1, h2, ...), a list of names, or a mapping from names to {ssh: USER@HOST}
    routers     a number (r1, r2, ...), or a list of names: hosts that forward
    networks    a list of names, or a mapping from names to {members, prefix, addresses} and the
                keys of a link. A network is a switch. Its members are `all` hosts and routers, or a
                list. Default: all, unless a link names the network.
    links       a list of {between: [A, B]} with the keys of a link, and prefix and addresses if
                neither end is a network. A and B are hosts, routers or networks.
    families    [ipv4, ipv6] (default: both, if the kernel has IPv6)
    prefix      the prefixes from which automatic subnets are cut
                (default: [10.77.0.0/16, fd77::/48])
    emulation   relay, netem or auto (default: the relay if it is built, otherwise netem); a relay
                ends after a day
    seed        of the relays (default 1)
    mtu, offloads   of all links

Keys of a link:

    rate, delay, jitter, queue, loss, duplicate, corrupt, reorder, reorder-by   in both directions
    toward      a mapping from the name of an end to the same keys: only in this direction
    rules       a list of rules of ddp-impair(1), such as 'fpdu opcode=write nth=9: drop'; the
                initiator's side is the first end; only with the relay
    mtu         default 1500
    offloads    on or off (default: off where a relay sees the frames, otherwise on)

Without links and networks all hosts are members of one network, `lan`.
"""

import dataclasses
import os
import re

import checked

from . import addresses, labels, plan, relays, settings

NAME = r"[a-z][a-z0-9]{0,11}"
NAME_EXPECTED = "a name of at most 12 small letters and digits, such as h1"
MTU_MOST = 65535
LINK_KEYS = ("mtu", "offloads", "toward", "rules", *settings.KEYS)
TOP_KEYS = ("name", "routers", "networks", "switches", "links", "families", "prefix", "emulation",
            "seed", "mtu", "offloads")
HOSTS_MOST = 500


@dataclasses.dataclass
class Member:
    """A host, a router or a network. node: its place in the file."""
    name: str
    kind: str
    node: checked.Node
    ssh: str = None
    prefixes: list = dataclasses.field(default_factory=list)
    addresses: dict = dataclasses.field(default_factory=dict)
    ends: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class End:
    """An interface of a member, or a port of a network."""
    member: Member
    link: "Link" = None
    interface: str = None
    addresses: list = dataclasses.field(default_factory=list)  # ipaddress.IPv4Interface, IPv6...
    mac: str = None
    link_local: str = None


@dataclasses.dataclass
class Link:
    """toward[i]: what happens to frames that travel to ends[i]."""
    number: int
    ends: tuple
    node: checked.Node
    mtu: int = 1500
    mtu_node: checked.Node = None
    offloads: bool = True
    offloads_node: checked.Node = None
    toward: list = None
    rules: list = dataclasses.field(default_factory=list)
    rule_nodes: list = dataclasses.field(default_factory=list)
    prefixes: list = dataclasses.field(default_factory=list)
    addresses: dict = dataclasses.field(default_factory=dict)
    parallel: int = 1  # its number among the links between the same ends

    def impaired(self):
        return any(self.toward) or bool(self.rules)

    def name(self):
        names = "-".join(end.member.name for end in self.ends)
        return names if self.parallel == 1 else f"{names}.{self.parallel}"


@dataclasses.dataclass
class Topology:
    """hosts, routers, networks: dicts from name to Member. subnets and routes: see plan."""
    path: str
    label: str
    hosts: dict
    routers: dict = dataclasses.field(default_factory=dict)
    networks: dict = dataclasses.field(default_factory=dict)
    links: list = dataclasses.field(default_factory=list)
    families: tuple = ("ipv4", "ipv6")
    families_node: checked.Node = None
    emulation: str = "auto"
    seed: int = 1
    subnets: list = dataclasses.field(default_factory=list)
    routes: dict = dataclasses.field(default_factory=dict)

    def is_remote(self):
        return any(host.ssh for host in self.hosts.values())

    def members(self):
        """Returns hosts and routers."""
        return {**self.hosts, **self.routers}

    def impair(self, both):
        """Adds settings.Settings to all links in both directions. Those of the file remain."""
        for link in self.links:
            link.toward = [own.over(both) for own in link.toward]
        plan.choose_offloads(self)


def load(path, ssh=None):
    """Reads a topology file and plans its addresses and routes. ssh: a dict from host to
    USER@MACHINE, instead of what the file says; such hosts are real machines."""
    return parse(checked.load(path), ssh)


def parse(root, ssh=None):
    """Returns the Topology of a checked.Node."""
    top = root.mapping(["hosts"], TOP_KEYS)
    topology = Topology(root.path, parse_label(top, root.path), parse_hosts(top["hosts"]))
    for name, target in (ssh or {}).items():
        find(topology.hosts, checked.Node(name, "--ssh", 1), "a host of the file").ssh = target
    if "routers" in top:
        topology.routers = parse_names(top["routers"], "router", "r")
    parse_options(topology, top)
    networks = parse_networks(topology, top)
    check_names(topology)
    for item in top["links"].items() if "links" in top else []:
        topology.links.append(parse_link(topology, item, top))
    join_networks(topology, networks, top)
    check_remote(topology)
    check_emulation(topology)
    if not topology.is_remote():
        plan.make(topology, addresses.parse_prefixes(top.get("prefix")))
    return topology


def parse_label(top, path):
    if "name" in top:
        return top["name"].text(labels.LABEL, labels.LABEL_EXPECTED)
    stem = re.sub(r"[^a-z0-9]+", "-", os.path.basename(path).rsplit(".", 1)[0].lower())
    return stem.strip("-")[:32].strip("-") or "fabric"


def parse_options(topology, top):
    if "families" in top:
        topology.families = tuple(item.choice("ipv4", "ipv6") for item in top["families"].items())
        topology.families_node = top["families"]
        if not topology.families:
            raise top["families"].error("ipv4, ipv6 or both")
    if "emulation" in top:
        topology.emulation = top["emulation"].choice("auto", "relay", "netem")
    if "seed" in top:
        topology.seed = top["seed"].integer(0, relays.SEED_MOST)


# --- hosts and routers ---------------------------------------------------------------------------


def parse_hosts(node):
    if isinstance(node.value, dict):
        return {name: parse_host(name, item) for name, item in node.value.items()}
    return parse_names(node, "host", "h")


def parse_host(name, node):
    if not re.fullmatch(NAME, name):
        raise checked.Invalid(f'{node.path}:{node.line}: "{name}": expected {NAME_EXPECTED}')
    host = Member(name, "host", node)
    if node.value is not None:
        keys = node.mapping([], ["ssh", "addresses"])
        if "ssh" in keys:
            host.ssh = keys["ssh"].text(r"[A-Za-z0-9_.@:%\[\]][A-Za-z0-9_.@:%\[\]-]*",
                                        "USER@HOST or a host of ssh_config(5)")
        if "addresses" in keys:
            host.addresses = {name: [addresses.parse_address(item)
                                     for item in addresses.one_or_more(keys["addresses"])]}
    return host


def parse_names(node, kind, letter):
    """Returns a dict from name to Member, from a number or a list of names."""
    if isinstance(node.value, str):
        names = [(f"{letter}{n + 1}", node) for n in range(node.integer(1, HOSTS_MOST))]
    else:
        names = [(item.text(NAME, NAME_EXPECTED), item) for item in node.items()]
    found = {}
    for name, item in names:
        if name in found:
            raise item.error("each name once")
        found[name] = Member(name, kind, item)
    if not found:
        raise node.error(f"at least one {kind}")
    return found


def check_names(topology):
    seen = {}
    for member in [*topology.hosts.values(), *topology.routers.values(),
                   *topology.networks.values()]:
        if member.name in seen:
            raise checked.Invalid(f'{member.node.path}:{member.node.line}: "{member.name}": '
                                  f"expected a name that no {seen[member.name]} has")
        seen[member.name] = member.kind


def check_remote(topology):
    """Refuses routers and impairments: a topology cannot change the links of real machines."""
    if not topology.is_remote():
        return
    for host in topology.hosts.values():
        if not host.ssh:
            raise checked.Invalid(f"{host.node.path}:{host.node.line}: host {host.name}: no ssh: "
                                  "expected ssh for all hosts, or for none")
    for member in topology.routers.values():
        raise member.node.error("no routers: real machines have their own network")
    for link in topology.links:
        if link.impaired():
            raise checked.Invalid(
                f"{link.node.path}:{link.node.line}: link {link.name()}: has impairments: expected "
                "none between hosts over ssh: run ddp-impair between them")


def check_emulation(topology):
    for link in topology.links if topology.emulation == "netem" else []:
        for node in link.rule_nodes:
            raise node.error("no rules with emulation: netem, or emulation: relay")


# --- networks and links --------------------------------------------------------------------------


def parse_networks(topology, top):
    """Fills topology.networks and returns the mapping of each network."""
    if "networks" in top and "switches" in top:
        raise top["switches"].error("networks or switches, which are the same")
    node = top.get("networks") or top.get("switches")
    if node is None:
        if "links" in top:
            return {}
        node = checked.Node([checked.Node("lan", top["hosts"].path, top["hosts"].line)],
                            top["hosts"].path, top["hosts"].line)
    if not isinstance(node.value, dict):
        topology.networks = parse_names(node, "network", "s")
        return {name: {} for name in topology.networks}
    return {name: parse_network(topology, name, item) for name, item in node.value.items()}


def parse_network(topology, name, node):
    if not re.fullmatch(NAME, name):
        raise checked.Invalid(f'{node.path}:{node.line}: "{name}": expected {NAME_EXPECTED}')
    keys = {}
    if node.value is not None:
        keys = node.mapping([], ["members", "prefix", "addresses", *LINK_KEYS])
    network = Member(name, "network", node)
    network.prefixes = addresses.parse_prefixes(keys.get("prefix"))
    network.addresses = addresses.parse_addresses(keys.get("addresses"), topology.members())
    topology.networks[name] = network
    return keys


def join_networks(topology, networks, top):
    """Adds a link from each member to its network."""
    for name, keys in networks.items():
        network = topology.networks[name]
        if "members" in keys:
            members = network_members(topology, keys["members"])
        elif network.ends:
            continue
        else:
            members = [(member, network.node) for member in topology.members().values()]
        for member, node in members:
            link = new_link(topology, member, network, node)
            parse_link_keys(link, keys, top, name)
            topology.links.append(link)
        known = [name, *(end.member.name for link in topology.links for end in link.ends
                         if any(other.member is network for other in link.ends))]
        for toward, node in keys["toward"].mapping().items() if "toward" in keys else []:
            if toward not in known:
                raise wrong_toward(toward, node, "a member of the network", known)


def network_members(topology, node):
    if node.value == "all":
        return [(member, node) for member in topology.members().values()]
    if node.value == []:
        raise node.error("at least one member, or all")
    return [(find(topology.members(), item, "a host or router of this file"), item)
            for item in node.items()]


def parse_link(topology, node, top):
    keys = node.mapping(["between"], ["prefix", "addresses", *LINK_KEYS])
    ends = keys["between"].items()
    if len(ends) != 2:
        raise keys["between"].error("two ends, such as [a, b]")
    everything = {**topology.members(), **topology.networks}
    first, second = (find(everything, item, "a host, router or network of this file")
                     for item in ends)
    if first is second:
        raise ends[1].error("another end than the first")
    link = new_link(topology, first, second, node)
    parse_link_keys(link, keys, top)
    link.prefixes = addresses.parse_prefixes(keys.get("prefix"))
    members = {end.member.name: end.member for end in link.ends}
    link.addresses = addresses.parse_addresses(keys.get("addresses"), members)
    for key in ("prefix", "addresses"):
        if key in keys and "network" in (first.kind, second.kind):
            raise checked.Invalid(f"{node.path}:{keys[key].line}: {key} of a link to a network: "
                                  f"expected {key} at the network")
    return link


def new_link(topology, first, second, node):
    ends = (End(first), End(second))
    link = Link(len(topology.links), ends, node, toward=[settings.Settings()] * 2)
    link.parallel += sum(1 for other in topology.links
                         if [end.member for end in other.ends] == [first, second])
    for end in ends:
        end.link = link
        end.member.ends.append(end)
    return link


def parse_link_keys(link, keys, top, network=None):
    both = settings.parse(keys)
    link.toward = [both, both]
    if "toward" in keys:
        known = [end.member.name for end in link.ends]
        for name, node in keys["toward"].mapping().items():
            parse_toward(link, name, node, known, network, both)
    check_pairs(link, keys)
    if "rules" in keys:
        link.rule_nodes = addresses.one_or_more(keys["rules"])
        link.rules = [item.text(".+:.+", "a rule: UNIT [KEY=VALUE...]: ACTION")
                      for item in link.rule_nodes]
    for key in ("mtu", "offloads"):
        setattr(link, f"{key}_node", keys.get(key) or top.get(key))
    if link.mtu_node:
        link.mtu = link.mtu_node.integer(68, MTU_MOST)
    if link.offloads_node:
        link.offloads = link.offloads_node.flag()


def check_pairs(link, keys):
    """A setting that has no effect without another one is a mistake."""
    for needed, key in (("rate", "queue"), ("reorder", "reorder-by")):
        for one in link.toward:
            if getattr(one, key.replace("-", "_")) and getattr(one, needed) is None:
                node = keys.get(key) or keys["toward"]
                raise checked.Invalid(f"{node.path}:{node.line}: {key} without {needed}: expected "
                                      "both")


def parse_toward(link, name, node, known, network, both):
    """A network's `toward` names a member, and applies to this member's link alone."""
    if name not in known and not network:
        raise wrong_toward(name, node, "an end of the link", known)
    own = settings.parse(node.mapping([], settings.KEYS))
    if name in known:
        link.toward[known.index(name)] = own.over(both)


def wrong_toward(name, node, expected, known):
    return checked.Invalid(f'{node.path}:{node.line}: toward "{name}": expected {expected}: '
                           f"{', '.join(sorted(set(known)))}")


def find(known, node, expected):
    name = node.text(None, expected)
    if name not in known:
        raise node.error(f"{expected}: {', '.join(list(known)[:20])}")
    return known[name]
