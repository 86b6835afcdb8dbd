# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Plans subnets, addresses, interfaces, offloads and routes of a topology. make() fills:

    topology.subnets    all Subnets: a network (or several joined ones), or a link between hosts
    topology.routes     a dict from the name of a host or router to (ip_network, ip_address) pairs
    end.interface, end.addresses, end.mac, end.link_local   of each end at a host or router
    link.offloads       off where frames pass a relay
"""

import collections
import dataclasses
import ipaddress
import os

import checked

DEFAULT_PREFIXES = ("10.77.0.0/16", "fd77::/48")
SUBNET_BITS = {4: 24, 6: 64}
FAMILY = {4: "ipv4", 6: "ipv6"}


@dataclasses.dataclass
class Subnet:
    """The ends and links of one layer 2 network, in the order of the file."""
    networks: list
    links: list
    ends: list = dataclasses.field(default_factory=list)
    prefixes: dict = dataclasses.field(default_factory=dict)  # from 4, 6 to ip_network
    fixed: dict = dataclasses.field(default_factory=dict)  # from member name to (Node, ip_address)


def make(topology, prefixes):
    """Raises checked.Invalid if the file asks for something that is impossible."""
    choose_families(topology)
    topology.subnets = find_subnets(topology)
    name_interfaces(topology)
    for subnet in topology.subnets:
        check_mtu(topology, subnet)
    choose_offloads(topology)
    give_prefixes(topology, prefixes)
    for subnet in topology.subnets:
        give_addresses(subnet)
    topology.routes = {name: routes_of(member, topology)
                       for name, member in topology.members().items()}


def choose_families(topology):
    if not topology.families_node and not os.path.exists("/proc/net/if_inet6"):
        topology.families = ("ipv4",)


def versions(topology):
    return [version for version, name in FAMILY.items() if name in topology.families]


# --- layer 2 -------------------------------------------------------------------------------------


def find_subnets(topology):
    """Networks that a link joins are one subnet. A loop of networks would repeat frames for
    ever."""
    subnet_of = {name: Subnet([network], []) for name, network in topology.networks.items()}
    for link in topology.links:
        first, second = (end.member for end in link.ends)
        if first.kind == second.kind == "network":
            join(subnet_of, link, first, second)
    found = list({id(subnet): subnet for subnet in subnet_of.values()}.values())
    for link in topology.links:
        first, second = link.ends
        networks = [end for end in link.ends if end.member.kind == "network"]
        if len(networks) == 2:
            continue
        subnet = subnet_of[networks[0].member.name] if networks else Subnet([], [])
        subnet.links.append(link)
        subnet.ends += [end for end in (first, second) if end.member.kind != "network"]
        if not networks:
            found.append(subnet)
    for subnet in found:
        check_twice(subnet)
    return [subnet for subnet in found if subnet.ends]


def join(subnet_of, link, first, second):
    one, other = subnet_of[first.name], subnet_of[second.name]
    if one is other:
        raise checked.Invalid(f"{link.node.path}:{link.node.line}: link {link.name()} closes a "
                              "loop of networks: expected a tree")
    one.networks += other.networks
    one.links += [*other.links, link]
    for network in other.networks:
        subnet_of[network.name] = one


def check_twice(subnet):
    seen = set()
    for end in subnet.ends:
        if end.member.name in seen and subnet.networks:
            raise checked.Invalid(
                f"{end.link.node.path}:{end.link.node.line}: {end.member.name} is in network "
                f"{subnet.networks[0].name} twice: expected one link, or another network")
        seen.add(end.member.name)


def name_interfaces(topology):
    """eth0, eth1, ... in the order of the links. The addresses of interfaces are fixed, so that
    captures of two runs can be compared."""
    for number, member in enumerate(topology.members().values()):
        if not member.ends:
            raise checked.Invalid(f"{member.node.path}:{member.node.line}: {member.kind} "
                                  f"{member.name}: no link: expected at least one")
        for index, end in enumerate(member.ends):
            end.interface = f"eth{index}"
            end.link_local = f"fe80::{number + 1:x}"
            digits = f"{number:04x}{index:04x}"
            end.mac = ":".join(["02:77", *(digits[at:at + 2] for at in range(0, 8, 2))])


def check_mtu(topology, subnet):
    for link in subnet.links:
        node = link.mtu_node
        if node and 6 in versions(topology) and link.mtu < 1280:
            raise node.error("at least 1280 with IPv6, or families: [ipv4]")
        if node and link.impaired() and link.mtu > 9216:
            raise node.error("at most 9216 on a link with impairments")


def choose_offloads(topology):
    """A relay must see each frame as it is on a wire. Frames of the whole subnet can reach it."""
    for subnet in topology.subnets:
        if topology.emulation == "netem" or not any(link.impaired() for link in subnet.links):
            continue
        for link in subnet.links:
            node = link.offloads_node
            if node and node.flag():
                raise node.error("off: a relay forwards the frames of this link")
            link.offloads = False


# --- prefixes and addresses ----------------------------------------------------------------------


def give_prefixes(topology, prefixes):
    """Subnets without a prefix get the next free one."""
    pools = {item.version: item for item in map(ipaddress.ip_network, DEFAULT_PREFIXES)}
    pools.update({network.version: network for _, network in prefixes})
    taken = []
    for subnet in topology.subnets:
        owners = subnet.networks or subnet.links
        for node, prefix in [pair for owner in owners for pair in owner.prefixes]:
            take(taken, node, prefix)
            subnet.prefixes[prefix.version] = prefix
        for owner in owners:
            collect_fixed(subnet, owner)
    for subnet in topology.subnets:
        for version in versions(topology):
            if version not in subnet.prefixes:
                subnet.prefixes[version] = next_free(pools[version], taken, subnet)
        subnet.prefixes = {version: subnet.prefixes[version] for version in versions(topology)}


def take(taken, node, prefix):
    for other in taken:
        if prefix.version == other.version and prefix.overlaps(other):
            raise node.error(f"a prefix apart from {other}")
    taken.append(prefix)


def next_free(pool, taken, subnet):
    bits = max(pool.prefixlen, SUBNET_BITS[pool.version])
    while bits > pool.prefixlen and (1 << (pool.max_prefixlen - bits)) < len(subnet.ends) + 3:
        bits -= 1
    for prefix in pool.subnets(new_prefix=bits):
        if not any(prefix.version == other.version and prefix.overlaps(other) for other in taken):
            taken.append(prefix)
            return prefix
    node = (subnet.networks or subnet.links)[0].node
    raise checked.Invalid(f"{node.path}:{node.line}: no subnet is left in {pool}: expected a "
                          "larger prefix at the top of the file")


def collect_fixed(subnet, owner):
    for name, addresses in owner.addresses.items():
        if name not in [end.member.name for end in subnet.ends]:
            node = addresses[0][0]
            raise node.error(f"an address of a member of this network, which {name} is not")
        subnet.fixed.setdefault(name, []).extend(addresses)


def give_addresses(subnet):
    used = {}
    for name, pairs in subnet.fixed.items():
        for node, address in pairs:
            prefix = subnet.prefixes.get(address.version)
            if prefix is None or address not in prefix:
                raise node.error(f"an address in {prefix}" if prefix else
                                 "an address of a family of this file")
            if prefix.prefixlen < prefix.max_prefixlen - 1 and \
                    address in (prefix[0], prefix[-1] if prefix.version == 4 else None):
                raise node.error(f"an address of a host, from {prefix[1]} to {prefix[-2]}")
            if address in used:
                raise node.error(f"another address than that of {used[address]}")
            used[address] = name
    for end in subnet.ends:
        for version, prefix in subnet.prefixes.items():
            own = [one for _, one in subnet.fixed.get(end.member.name, [])
                   if one.version == version]
            for address in own or [next_address(prefix, used, end)]:
                used[address] = end.member.name
                end.addresses.append(ipaddress.ip_interface(f"{address}/{prefix.prefixlen}"))


def next_address(prefix, used, end):
    # RFC 3021, RFC 6164: a prefix for two addresses has no address of the network.
    small = prefix.prefixlen >= prefix.max_prefixlen - 1
    for index in range(not small, prefix.num_addresses - (prefix.version == 4 and not small)):
        if prefix[index] not in used:
            return prefix[index]
    node = end.link.node
    raise checked.Invalid(f"{node.path}:{node.line}: no address is left in {prefix} for "
                          f"{end.member.name}: expected a larger prefix")


# --- routes --------------------------------------------------------------------------------------


def routes_of(member, topology):
    """Returns the shortest paths from this member to all subnets that it is not part of. Only
    routers forward."""
    subnets = {id(end): subnet for subnet in topology.subnets for end in subnet.ends}
    reached = {id(subnets[id(end)]) for end in member.ends}
    queue = collections.deque((subnets[id(end)], None) for end in member.ends)
    routes = []
    while queue:
        subnet, via = queue.popleft()
        for gateway in subnet.ends:
            if gateway.member.kind != "router" or gateway.member is member:
                continue
            first = via or gateway
            for end in gateway.member.ends:
                beyond = subnets[id(end)]
                if id(beyond) not in reached:
                    reached.add(id(beyond))
                    queue.append((beyond, first))
                    routes += routes_to(beyond, first)
    return routes


def routes_to(subnet, gateway):
    first = {address.version: address.ip for address in reversed(gateway.addresses)}
    return [(prefix, first[version]) for version, prefix in subnet.prefixes.items()
            if version in first]
