# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reads addresses and prefixes of a topology file. Each comes with its checked.Node."""

import ipaddress

import checked

SPECIAL = [ipaddress.ip_network(text) for text in (
    "0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/3", "::/16", "fe80::/10", "ff00::/8")]

def one_or_more(node):
    return node.value if isinstance(node.value, list) else [node]


def parse_prefixes(node):
    """Returns (checked.Node, ip_network) pairs, at most one for each family."""
    found = []
    for item in one_or_more(node) if node else []:
        try:
            network = ipaddress.ip_network(item.text(None, "a prefix"))
        except ValueError:
            raise item.error("a prefix such as 10.1.0.0/24 or fd01::/64, without host bits") \
                from None
        if any(network.overlaps(other) for other in SPECIAL if other.version == network.version):
            raise item.error("a prefix of hosts: not loopback, link-local or multicast")
        if any(network.version == other.version for _, other in found):
            raise item.error(f"one prefix of IPv{network.version}")
        found.append((item, network))
    return found


def parse_address(node):
    try:
        return node, ipaddress.ip_address(node.text(None, "an address"))
    except ValueError:
        raise node.error("an address such as 10.1.0.2 or fd01::2") from None


def parse_addresses(node, members):
    """Returns a dict from member name to (checked.Node, ip_address) pairs."""
    found = {}
    for name, item in node.mapping().items() if node else []:
        if name not in members:
            raise checked.Invalid(f'{item.path}:{item.line}: "{name}": expected one of '
                                  f"{', '.join(list(members)[:20])}")
        found[name] = [parse_address(one) for one in one_or_more(item)]
    return found
