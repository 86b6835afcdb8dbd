# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs the cells of a plan and writes result.json."""

import concurrent.futures
import dataclasses
import datetime
import json
import os
import platform
import re
import secrets
import shlex
import subprocess
import threading
import time

import program
from matrix import cell as cells
from matrix import side


@dataclasses.dataclass
class Context:
    """What all cells of a run share. environment: of all programs. output: its folder."""
    plugins: dict
    impairments: dict
    environment: dict
    output: str
    seed: int
    attempts: int
    capture: bool
    guest: object
    rerun_command: str

    def rerun(self, cell):
        return f"{self.rerun_command} --only {shlex.quote(cell.id)} --seed {self.seed}"


def folder(cell):
    """Returns the folder of a cell in the folder of the run."""
    return os.path.join("cells", re.sub(r"[^A-Za-z0-9_.,=+/-]", "_", cell.id))


def run_all(plan, context, jobs, report):
    """Runs all cells, at most `jobs` at a time; those with a guest or another machine one after
    another. report() gets each entry as it ends. Returns the entries in the order of the plan,
    those of an interrupted run too."""
    lock = threading.Lock()
    done = {}

    def one(cell):
        if side.stopping.is_set():
            return
        try:
            entry = cells.run(cell, context, os.path.join(context.output, folder(cell)))
        except side.Stopped:
            return
        if side.stopping.is_set() and entry["result"] == "error":
            return
        with lock:
            done[cell.id] = entry
            report(entry, len(done))

    far = [c for c in plan if is_far(c, context)]
    near = [c for c in plan if not is_far(c, context)]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool, \
            concurrent.futures.ThreadPoolExecutor(1) as single:
        try:
            with program.signals_deferred():
                futures = [pool.submit(one, c) for c in near] + [single.submit(one, c) for c in far]
            for future in futures:
                future.result()
        except KeyboardInterrupt:
            # The cells that run end at once; the others return without a result.
            side.stopping.set()
        except BaseException:
            side.stopping.set()
            raise
    return [done[c.id] for c in plan if c.id in done]


def is_far(cell, context):
    return any(context.plugins[name].kind in ("guest", "remote")
               for name in (cell.client, cell.server))


# --- result.json -------------------------------------------------------------------------------


def new_id():
    return time.strftime("%Y%m%dT%H%M%SZ-", time.gmtime()) + secrets.token_hex(2)


def facts(run_id, began, seconds, command, seed, profile, top):
    """Returns the part `run` of result.json."""
    return {
        "id": run_id,
        "started": datetime.datetime.fromtimestamp(began, datetime.timezone.utc)
        .strftime("%Y-%m-%dT%H:%M:%SZ"),
        "seconds": round(seconds, 1), "command": command, "seed": seed, "profile": profile.name,
        "version": first_line(os.path.join(top, "VERSION")) or "unknown", "commit": commit(top),
        "machine": machine(), "not_run": profile.not_run,
    }


def first_line(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.readline().strip()
    except OSError:
        return ""


def commit(top):
    try:
        done = subprocess.run(["git", "-c", "safe.directory=*", "-C", top, "rev-parse", "--short",
                               "HEAD"], capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip()


def machine():
    return {"system": find_line("/etc/os-release", r'PRETTY_NAME="?([^"\n]*)"?') or "unknown",
            "kernel": platform.release(),
            "processor": find_line("/proc/cpuinfo", r"model name\s*: (.*)") or platform.machine(),
            "processors": len(os.sched_getaffinity(0)),
            "memory_octets": int(find_line("/proc/meminfo", r"MemTotal: +([0-9]+)") or 0) * 1024}


def find_line(path, pattern):
    try:
        with open(path, encoding="utf-8") as file:
            match = re.search("^" + pattern, file.read(), re.MULTILINE)
    except OSError:
        return None
    return match[1].strip() if match else None


def result(run_facts, plan, context, entries):
    """Returns the content of result.json."""
    names = {name for c in plan for name in (c.client, c.server)}
    return {
        "format": 1, "run": run_facts,
        "implementations": {name: implementation(context.plugins[name]) for name in context.plugins
                            if name in names},
        "tests": {c.test.name: {"title": c.test.title, "transport": c.test.transport,
                                "operation": c.test.operation, "options": c.test.options}
                  for c in plan},
        "impairments": {name: {"title": i.title, "rules": i.rules, "link": i.link,
                               "expect": i.expect, "clause": i.clause}
                        for name, i in context.impairments.items()
                        if any(c.impairment == name for c in plan)},
        "cells": entries,
    }


def implementation(plugin):
    entry = {"title": plugin.title, "version": plugin.version, "kind": plugin.kind,
             "roles": plugin.roles, "about": plugin.about}
    if plugin.unavailable or plugin.broken:
        entry["unavailable"] = plugin.unavailable or plugin.broken
    return entry


def write(path, content):
    """Writes result.json, complete or not at all."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1, allow_nan=False)
        file.write("\n")
    os.replace(path + ".new", path)
