# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Links with impairments: a relay process for each, or netem at both ends.

The two ends of such a link are the outer interfaces of two veth pairs. The inner interfaces are in
the wiring namespace, where the relay forwards frames between them.
"""

import json
import os
import shutil
import signal
import subprocess

from . import errors, labels, processes

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
SEED_MOST = 2**32 - 1
DAY = 24 * 3600
READY = "relaying "
BAD_USAGE = 2  # exit status of ddp-impair
QUOTED = 90  # octets of a rule in its messages


def build_folder():
    return os.environ.get("IW_BUILD") or os.path.join(TOP, "build")


def program():
    """Returns the path of ddp-impair, or None if it is not built."""
    path = os.path.join(build_folder(), "ddp-impair")
    return path if os.access(path, os.X_OK) else shutil.which("ddp-impair")


def command(link, names, seed):
    """Returns the relay's command for a link between the interfaces `names`. A frame that arrives
    at names[0] travels toward ends[1]."""
    options = [program(), "--json", "--seed", str(seed + link.number), "--seconds", str(DAY)]
    for option, direction in (("--link-ab", 1), ("--link-ba", 0)):
        if link.toward[direction]:
            options += [option, link.toward[direction].relay_words()]
    for rule in link.rules:
        options += ["--rule", rule]
    return [*options, "--between", ",".join(names)]


def choose(topology, namespaces):
    """Returns relay or netem. Raises errors.Cannot if neither exists, or if the one that the
    file names does not."""
    wanted = topology.emulation
    if any(link.rules for link in topology.links):
        wanted = "relay"  # netem has no rules; topology.check_emulation() refuses both
    if wanted in ("auto", "relay") and program():
        return "relay"
    if wanted == "relay":
        raise errors.Cannot(f"needs relay: no ddp-impair in {build_folder()} or PATH; run make")
    if has_netem(namespaces):
        return "netem"
    if wanted == "netem":
        raise errors.Cannot("needs netem: this kernel has no netem queue; use emulation: relay")
    raise errors.Cannot(f"needs relay: no ddp-impair in {build_folder()} or PATH, and this kernel "
                       "has no netem; run make")


def has_netem(namespaces):
    """A namespace of its own, so that the probe disturbs nothing."""
    probe = ["unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", "netem"]
    return shutil.which("tc") and subprocess.run(
        [*namespaces.enter(), *probe], capture_output=True, timeout=60, check=False).returncode == 0


def netem(link, direction, interface):
    """Returns the command that impairs frames toward ends[direction]. They leave through this
    interface."""
    return ["tc", "qdisc", "add", "dev", interface, "root", "netem",
            *link.toward[direction].netem_words()]


# --- processes -----------------------------------------------------------------------------------


def start(namespaces, namespace, argv, log, label):
    """Starts a relay in the wiring namespace and returns the Popen object."""
    with open(log, "wb") as out:
        process = subprocess.Popen([*namespaces.enter(namespace), *argv], stdin=subprocess.DEVNULL,
                                   stdout=out, stderr=out, start_new_session=True,
                                   env=labels.environment(label))
    return process


def wait_ready(process, log, link):
    """Raises checked.Invalid if ddp-impair refuses a rule of the file, and errors.Failed if it ends
    for another reason or does not start to forward within 10 s."""
    def said():
        with open(log, encoding="utf-8", errors="replace") as file:
            text = file.read()
        return text if READY in text or process.poll() is not None else None

    text = processes.wait_until(said, 10)
    if not text or READY not in text:
        first = (text or "").strip().splitlines() or ["no message within 10 s"]
        if process.poll() == BAD_USAGE and link.rules:
            raise refused(link, first[0])
        raise errors.Failed(f"relay: {first[0]}")


def refused(link, message):
    """Returns the error for a message of ddp-impair, which quotes the start of the rule."""
    import checked  # only `up` needs it, see cli.py
    node = next((one for one in link.rule_nodes if f'rule "{one.value[:QUOTED]}' in message),
                link.node)
    return checked.Invalid(f"{node.path}:{node.line}: {message.removeprefix('ddp-impair: ')}")


def stop(pids, logs):
    """Interrupts relays, waits for their counters, and returns the last lines of their logs."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGINT)
        except ProcessLookupError:
            pass
    processes.wait_until(lambda: all(not processes.is_running(pid) for pid in pids), 2)
    return {name: json_lines(log) for name, log in logs.items()}


def json_lines(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return [line.strip() for line in file if is_json(line)]
    except OSError:
        return []


def is_json(line):
    """The last line of a relay that did not end in time can be incomplete."""
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False
