#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes results of runs of the interop matrix, for the tests of the page. They are seeded, and no run
of any program stands behind their figures.

usage: runs.py DIR    makes DIR/{now,old,huge,empty,hostile}/result.json and DIR/past-N/result.json
"""

import json
import os
import random
import sys

IMPLEMENTATIONS = {
    "iwarp-tools": ("iwarp-tools", "0.9.0", "native", "This project: libiwarp over TCP and SCTP."),
    "probe-strict": ("mpa-probe --as strict", "0.9.0", "emulated", "Rejects what RFC 5044 forbids."),
    "probe-rdmac": ("mpa-probe --as rdmac", "0.9.0", "emulated", "An RNIC of the RDMA Consortium."),
    "siw": ("Linux siw", "6.1.0-28", "guest", "Software iWARP of the Linux kernel, in a guest."),
    "usrsctp": ("usrsctp peer", "0.9.5.0", "native", "A DDP peer on libusrsctp."),
}
OPERATIONS = ("write", "read", "send")
OPTIONS = [{"crc": "on", "markers": "off", "size": "64K"}, {"crc": "off", "markers": "off", "size": "1M"},
           {"crc": "on", "markers": "on", "size": "1461"}, {"crc": "on", "markers": "off", "size": "0"}]
IMPAIRMENTS = {
    "none": {"title": "No impairment", "rules": [], "link": ""},
    "loss": {"title": "1 % loss, 5 ms delay", "rules": [], "link": "loss=1%,delay=5ms"},
    "bad-crc": {"title": "One bit of a Write in a hundred", "link": "", "expect": "terminate", "clause": "RFC 5044 8.1",
                "rules": ["fpdu opcode=write nth=100: flip-bit payload"]},
}
REASONS = {
    "fail": ["the responder closed before the last completion: 12 of 16 Writes placed",
             "Terminate (MPA, CRC error) where none was expected",
             "Reply without the CRC flag, although the Request asked for CRC (RFC 5044 7.1.1)"],
    "error": ["connect did not end within 20 s", "serve: no `ready PORT` line within 5 s"],
    "unsupported": ["server has no markers", "client has no operation read over revision 1"],
}


def tests(operations=OPERATIONS, options=OPTIONS):
    result = {}
    for operation in operations:
        for number, option in enumerate(options):
            result[f"tcp-{operation}-{number}"] = {
                "title": f"{operation.capitalize()} of {option['size']} over TCP",
                "transport": "tcp", "operation": operation, "options": option}
    return result


def header(number, seconds=212.4):
    return {"id": f"202611{number + 1:02d}T101500Z-{number:04x}", "seconds": seconds, "seed": 7,
            "started": f"2026-11-{number + 1:02d}T10:15:00Z", "profile": "default",
            "command": "scripts/interop-matrix --profile default --seed 7",
            "version": "0.9.0", "commit": f"{0xabc1230 + number:07x}",
            "machine": {"system": "Debian GNU/Linux 12", "kernel": "6.1.0-28-amd64",
                        "processor": "AMD EPYC 7B13", "processors": 2, "memory_octets": 8 << 30}}


def implementations(rows):
    return {name: {"title": title, "version": version, "kind": kind, "about": about,
                   "roles": ["client", "server"]} for name, (title, version, kind, about) in rows.items()}


def cell(names, result, reason, rng, versions):
    client, server, test, impairment = names
    name = "/".join(names)
    folder = "cells/" + name.replace("/", "_")
    return {"id": name, "client": client, "server": server, "test": test, "impairment": impairment,
            "result": result, "reason": reason, "seconds": round(rng.uniform(0.2, 4), 2), "seed": 7,
            "attempts": 1, "log": f"{folder}/log.txt",
            "capture": None if result == "unsupported" else f"{folder}/capture.pcap",
            "rerun": f"scripts/interop-matrix --only '{name}' --seed 7", "versions": versions,
            "measurements": measured(names, rng) if result == "pass" else {}}


def measured(names, rng):
    if names[3] == "bad-crc" or names[2].endswith("-3"):
        return {}
    slow = {"siw": 9, "usrsctp": 30}
    factor = max(slow.get(names[0], 1), slow.get(names[1], 1)) * (4 if names[3] == "loss" else 1)
    return {"throughput_bits_per_second": round(2.2e10 / factor * rng.uniform(.93, 1.07)),
            "latency_p50_seconds": round(14e-6 * factor * rng.uniform(.93, 1.07), 9)}


def outcome(names, seed):
    """Decided by the cell's name and the seed of a run: most cells keep their result."""
    rng = random.Random("/".join(names) + str(seed))
    if names[2].endswith("-2") and "usrsctp" in names[:2]:
        return "unsupported", REASONS["unsupported"][0]
    if names[0] == "siw" and "read" in names[2]:
        return "unsupported", REASONS["unsupported"][1]
    kind = rng.choices(["pass", "fail", "error"], [94, 4, 2])[0]
    return kind, rng.choice(REASONS[kind]) if kind != "pass" else ""


def document(number=9, seed="a", rows=None, chosen=None, impairments=None):
    rows, chosen = rows or IMPLEMENTATIONS, chosen or tests()
    impairments = impairments or IMPAIRMENTS
    rng = random.Random(f"{number} {seed}")
    cells = []
    for names in [(c, s, t, i) for c in rows for s in rows for t in chosen for i in impairments]:
        if names[0] == names[1] == "siw":
            continue
        # One cell in eight is decided anew in each run.
        new = random.Random("/".join(names)).random() < .12
        result, reason = outcome(names, f"{number}{seed}" if new else "fixed")
        versions = {"client": rows[names[0]][1], "server": rows[names[1]][1]}
        cells.append(cell(names, result, reason, rng, versions))
    return {"format": 1, "run": header(number), "implementations": implementations(rows),
            "tests": chosen, "impairments": impairments, "cells": cells}


def now():
    result = document(9)
    result["implementations"]["rnic"] = {
        "title": "A real RNIC over ssh", "version": "", "kind": "remote", "roles": ["client", "server"],
        "about": "A template.", "unavailable": "not configured; see scripts/implementations/README.md"}
    result["run"]["not_run"] = [{"row": "iSER", "reason": "needs a target in the guest"}]
    return result


def old():
    """As now() eight days before, except: one cell less, one more, one slower."""
    result = document(1)
    result["cells"] = [one for one in result["cells"] if one["id"] != "iwarp-tools/siw/tcp-send-0/none"]
    extra = dict(result["cells"][0], id="iwarp-tools/iwarp-tools/tcp-rping/none", test="tcp-rping")
    result["tests"]["tcp-rping"] = {"title": "rping", "transport": "tcp", "operation": "rping", "options": {}}
    result["cells"].append(extra)
    for one in result["cells"]:
        if one["id"] == "iwarp-tools/probe-strict/tcp-send-0/none":
            one["measurements"]["throughput_bits_per_second"] = 4e10
    return result


def huge():
    """5,184 cells: 12 clients, 12 servers, 36 tests."""
    rows = {f"implementation-{n:02d}": (f"Implementation {n}", f"1.{n}", "native", "") for n in range(12)}
    options = [{"crc": "on", "size": str(1 << n)} for n in range(7)]
    options += [{"crc": "off", "size": "1K"}] * 5
    chosen = tests(("write", "read", "send"), options)
    return document(9, "h", rows, chosen, {"none": IMPAIRMENTS["none"]})


def hostile():
    """Texts that would be markup, script or addresses if the page did not escape them."""
    evil = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked=1'>&amp;\u2028"
    result = document(9, "x", {"iwarp-tools": (evil, evil, "native", evil), "a\"><b>": (evil, "1", "native", evil)})
    result["run"]["command"] = result["run"]["profile"] = evil
    for one in result["cells"]:
        one.update(reason=evil + "\x1b[31m\0\x07", rerun="echo '" + evil + "' | `id` $(id)",
                   result="fail", log="cells/javascript%3Aalert(1)/<b>/log.txt")
    result["cells"][2]["reason"] = "not UTF-8: \udc80"
    result["cells"][0]["reason"] = "=HYPERLINK(\"http://example.org\")"
    return result


def write(top, name, content):
    folder = os.path.join(top, name)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "result.json"), "w", encoding="utf-8") as file:
        json.dump(content, file)


def main():
    top = sys.argv[1]
    write(top, "now", now())
    write(top, "old", old())
    write(top, "huge", huge())
    write(top, "empty", {**now(), "cells": []})
    write(top, "hostile", hostile())
    for number in range(1, 9):
        write(top, f"past-{number}", document(number))


if __name__ == "__main__":
    main()
