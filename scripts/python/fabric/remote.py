# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A fabric of real machines: `up` checks that ssh reaches them, `exec` runs commands there, `down`
ends these commands: IW_FABRIC=LABEL is in their environment."""

import concurrent.futures
import os
import shlex
import shutil
import subprocess

from . import errors

# No questions: they would hang a test.
OPTIONS = ["-o", "BatchMode=yes", "-o", "ConnectTimeout=10"]
END = """
for file in /proc/[0-9]*/environ; do
    grep -qzx "IW_FABRIC=$1" "$file" 2>/dev/null || continue
    pid=${file#/proc/}
    kill "${pid%/environ}" 2>/dev/null
done
true
"""


def command(target, argv):
    """Returns the words that run a command on a machine. ssh joins its arguments with spaces and
    gives them to the remote shell, so they are quoted here."""
    return [*ssh(), "--", target, " ".join(map(shlex.quote, argv))]


def ssh():
    """Returns the words before the machine. IW_SSH_OPTIONS adds options, such as -F FILE."""
    return ["ssh", *OPTIONS, *shlex.split(os.environ.get("IW_SSH_OPTIONS", ""))]


def check(topology):
    """Returns a dict from host to the address that ssh uses. Raises errors.Cannot with all machines
    that ssh does not reach."""
    if not shutil.which("ssh"):
        raise errors.Cannot("needs ssh: not installed; run scripts/packages --install hosts")
    hosts = topology.hosts.values()
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(reach, hosts))
    bad = [f"{host.name} ({host.ssh}): {answer}" for host, answer in zip(hosts, answers) if answer]
    if bad:
        raise errors.Cannot("ssh: " + "; ".join(bad))
    return {host.name: address_of(host.ssh) for host in hosts}


def address_of(target):
    """Returns the host name of a machine, which can be an alias of ssh_config(5)."""
    done = subprocess.run([*ssh(), "-G", "--", target], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        if line.startswith("hostname "):
            return line.split()[1]
    return target.rsplit("@", 1)[-1]


def reach(host):
    return attempt(host.ssh, ["true"])


def end(label, targets):
    """Ends what exec started. Returns (machine, reason) of those that ssh does not reach."""
    def one(target):
        return attempt(target, ["sh", "-c", END, "sh", label])

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        return [pair for pair in zip(targets, pool.map(one, targets)) if pair[1]]


def attempt(target, argv):
    """Runs a command on a machine. Returns None, or why it failed."""
    try:
        done = subprocess.run(command(target, argv), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=20, check=False)
    except subprocess.TimeoutExpired:
        return "no answer within 20 s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
    return None
