# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A fabric of real machines: `up` checks that ssh reaches them, `exec` runs commands there, `down`
ends these commands: IW_FABRIC=LABEL is in their environment."""

import os
import shlex
import shutil
import subprocess

import program

from . import errors

# No questions, and no wait for a machine that has stopped: they would hang a test.
OPTIONS = ["-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=5",
           "-o", "ServerAliveCountMax=6"]
THREADS = 16
ANSWER_SECONDS = 20  # until a machine has run a short command
END = r"""
found() {
    grep -lzx "IW_FABRIC=$1" /proc/[0-9]*/environ 2>/dev/null | sed 's|/proc/\([0-9]*\)/.*|\1|'
}
pids=$(found "$1")
[ -n "$pids" ] || exit 0
kill $pids 2>/dev/null
for wait in 1 2 3 4 5 6 7 8 9 10; do
    sleep 0.1
    pids=$(found "$1")
    [ -n "$pids" ] || exit 0
done
kill -s KILL $pids 2>/dev/null
true
"""


def command(target, argv):
    """Returns the words that run a command on a machine. ssh joins its arguments with spaces and
    gives them to the remote shell, so they are quoted here."""
    return [*ssh(), "--", target, " ".join(map(shlex.quote, argv))]


def ssh():
    """Returns the words before the machine. IW_SSH_OPTIONS adds options, such as -F FILE."""
    more = os.environ.get("IW_SSH_OPTIONS", "")
    try:
        return ["ssh", *OPTIONS, *shlex.split(more)]
    except ValueError as error:
        raise errors.Wrong(f"IW_SSH_OPTIONS={more}: {error}: expected words of ssh") from None


def check(topology):
    """Returns a dict from host to the address that ssh uses. Raises errors.Cannot with all machines
    that ssh does not reach."""
    if not shutil.which("ssh"):
        raise errors.Cannot("needs ssh: not installed; run scripts/packages --install hosts")
    hosts = topology.hosts.values()
    answers = program.at_once(reach, hosts, THREADS)
    bad = [f"{host.name} ({host.ssh}): {answer}" for host, answer in zip(hosts, answers) if answer]
    if bad:
        raise errors.Cannot("ssh: " + "; ".join(bad))
    return {host.name: address_of(host.ssh) for host in hosts}


def address_of(target):
    """Returns the host name of a machine, which can be an alias of ssh_config(5)."""
    try:
        done = subprocess.run([*ssh(), "-G", "--", target], stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=ANSWER_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise errors.Cannot(f"ssh -G {target}: no answer within {ANSWER_SECONDS} s") from None
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

    return [pair for pair in zip(targets, program.at_once(one, targets, THREADS)) if pair[1]]


def attempt(target, argv):
    """Runs a command on a machine. Returns None, or why it failed."""
    try:
        done = subprocess.run(command(target, argv), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace",
                              timeout=ANSWER_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"no answer within {ANSWER_SECONDS} s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
    return None
