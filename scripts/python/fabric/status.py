# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What `fabric status` shows: hosts and their processes, relays and their frames."""

import collections
import json

from . import errors, labels, processes, state


def collect(label):
    """Returns a dict for JSON. leftovers: `up` was killed, or the machine has restarted."""
    record = state.read(label)
    if not record or record.get("status") != "up" or not state.is_alive(record):
        return {"label": label, "up": False, "leftovers": bool(record), "hosts": [], "relays": []}
    return {"label": label, "up": True, "file": record["path"], "remote": record["remote"],
            "emulation": record.get("emulation"),
            "hosts": host_status(record),
            "relays": [relay_status(relay, counters_of(record)) for relay in record["relays"]]}


def host_status(record):
    running = collections.Counter() if record["remote"] else processes.namespaces_of_processes()
    found = []
    for name, host in record["hosts"].items():
        one = {"name": name, **{key: value for key, value in host.items() if value is not None}}
        if not record["remote"]:
            inode = state.namespaces_of(record).inode(labels.namespace(record["label"], name))
            one["processes"] = running[inode]
        found.append(one)
    return found


def counters_of(record):
    """Returns what the kernel counted at each interface of the wiring."""
    namespace = labels.wiring(record["label"])
    try:
        shown = state.namespaces_of(record).call(["ip", "-s", "-json", "link", "show"], namespace)
    except errors.Failed:
        return {}
    return {one["ifname"]: one["stats64"] for one in json.loads(shown)}


def relay_status(relay, counters):
    """Frames that entered at one interface and left at the other, for each direction."""
    alive = processes.start_time(relay["pid"]) == relay["start"]
    names = list(relay["toward"])
    directions = []
    for source, target in ((0, 1), (1, 0)):
        entered = counters.get(relay["interfaces"][source], {}).get("rx", {})
        left = counters.get(relay["interfaces"][target], {}).get("tx", {})
        directions.append({"from": names[source], "to": names[target],
                           "impairment": relay["toward"][names[target]],
                           "frames_in": entered.get("packets"), "octets_in": entered.get("bytes"),
                           "frames_out": left.get("packets"), "octets_out": left.get("bytes")})
    return {"link": relay["link"], "pid": relay["pid"], "alive": alive, "rules": relay["rules"],
            "directions": directions}


def text(found):
    """Returns the lines for people."""
    if not found["up"]:
        rest = ", but leftovers exist: scripts/fabric down removes them"
        return f"{found['label']}: not up{rest if found['leftovers'] else ''}"
    lines = [f"{found['label']}: up, {found['file']}"]
    for host in found["hosts"]:
        where = f"{host['ssh']} " if "ssh" in host else ""
        addresses = " ".join(f"{one['interface']} {one['address']}".strip()
                             for one in host["addresses"])
        processes = f"  processes: {host['processes']}" if host.get("processes") else ""
        lines.append(f"  {host['kind']:<6} {host['name']:<12} {where}{addresses}{processes}")
    for relay in found["relays"]:
        lines.append(f"  relay {relay['link']}: "
                     f"{'process ' + str(relay['pid']) if relay['alive'] else 'DEAD'}")
        lines += [f"    rule {rule}" for rule in relay["rules"]]
        for one in relay["directions"]:
            lines.append(f"    to {one['to']}: {one['impairment'] or 'unimpaired'}; "
                         f"{one['frames_in']} frames in, {one['frames_out']} out")
    return "\n".join(lines)
