# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Checks which hosts and links scripts/python/hosts/outliers.py names, for random values within
10 % of what they should be."""

import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "scripts", "python"))

from hosts import outliers  # noqa: E402


def found(hosts, factor, seed):
    """factor(client, server): of the throughput between two hosts."""
    noise = random.Random(seed)
    pairs = [{"client": f"h{client}", "server": f"h{server}",
              "bits_per_second": 1e9 * factor(client, server) * noise.uniform(0.9, 1.1),
              "half_round_trip_p50_ns": 1e4 * noise.uniform(0.9, 1.1)}
             for client in range(hosts) for server in range(hosts) if client != server]
    return sorted((one.what, one.name, one.role) for one in outliers.find(pairs))


def expect(wanted, hosts, factor):
    for seed in range(5):
        seen = found(hosts, factor, seed)
        assert seen == wanted, f"{hosts} hosts, seed {seed}: {seen}: expected {wanted}"


for count in (2, 3, 4, 5, 8, 16):
    expect([], count, lambda client, server: 1)
for count in (3, 4, 5, 8, 16):
    expect([("host", "h2", "client and server")], count,
           lambda client, server: 0.4 if 2 in (client, server) else 1)
for count in (4, 5, 8, 16):
    expect([("host", "h2", "client")], count, lambda client, server: 0.4 if client == 2 else 1)
    expect([("host", "h2", "server")], count, lambda client, server: 0.3 if server == 2 else 1)
    expect([], count, lambda client, server: 3 if server == 2 else 1)
    expect([("link", "h0 -> h1", None)], count,
           lambda client, server: 0.4 if (client, server) == (0, 1) else 1)
for count in (7, 8, 16):
    expect([("host", "h1", "client and server"), ("host", "h2", "client and server")], count,
           lambda client, server: 0.2 if {1, 2} & {client, server} else 1)
expect([], 8, lambda client, server: 3 if (client, server) == (0, 1) else 1)
