# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Checks the plans of scripts/python/hosts/patterns.py for 2 to 17 hosts."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "scripts", "python"))

from hosts import patterns  # noqa: E402


def check(name, hosts):
    rounds = patterns.parse(name).plan(hosts)
    pairs = [pair for phases in rounds for phase in phases for pair in phase]
    assert all(client != server for client, server in pairs), (name, hosts)
    assert len(pairs) == len(set(pairs)) == hosts * (hosts - 1), (name, hosts)
    return rounds


def busy(phase):
    return sorted(host for pair in phase for host in pair)


for count in range(2, 18):
    plan = check("pairwise", count)
    assert len(plan) == count - 1 + count % 2
    for phases in plan:
        assert len(phases) == 2 and busy(phases[0]) == busy(phases[1])
        assert len(set(busy(phases[0]))) == len(busy(phases[0])) == count - count % 2
    assert len(check("all-to-all", count)) == 1
    for batch in range(1, count):
        plan = check(f"k-batch={batch}", count)
        assert len(plan) == -(-(count - 1) // batch)
        for (phase,) in plan:
            clients = [client for client, _ in phase]
            assert max(map(clients.count, clients)) <= batch
