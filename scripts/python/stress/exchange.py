# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""One transfer of the model `files`: its command, its disturbances, and the judgement.

A transfer that was disturbed (a side killed, a file changed, a quota) may leave each name as it was
or as it becomes. The same command then runs again without disturbance, and must complete.
"""

import os
import signal
import time

from stress import trees
from stress.failure import require
from stress.testbed import Server
from stress.trees import DIRECTORY, FILE, Entry, Transfer

TIMEOUT = "10s"
TEMPORARY_SECONDS = 5  # a server has removed its temporaries after this time
PAGE = 4096
STATUS_DONE, STATUS_PARTLY, STATUS_BROKEN = 0, 1, 4
# A mount namespace of its own, in which a small tmpfs is the directory that the receiver serves.
SMALL_DISK = ("unshare", "--mount", "sh", "-c",
              'mount -t tmpfs -o "size=$1" tmpfs "$2" && shift 2 && exec "$@"', "sh")
DISK_OVERHEAD = 1 << 18  # pages and directories of a tmpfs; small files are written before others
RULES = {"force": ["--force"], "checksum": ["-c"], "update": ["-u"], "keep": ["--no-clobber"]}


def target_of(operation):
    """The host, the kind and the origin of the directory that a transfer changes."""
    if operation["op"] == "push":
        return operation["to"], "in", operation["host"]
    return operation["host"], "pulled", operation["from"]


class Exchange:
    """files: the model."""

    def __init__(self, files, operation):
        self.files = files
        self.testbed = files.testbed
        self.operation = operation
        self.pushes = operation["op"] == "push"
        self.target = target_of(operation)
        self.client = self.testbed.hosts[operation["host"]]
        peer = self.testbed.hosts[operation["to" if self.pushes else "from"]]
        self.server = peer.receiver if self.pushes else peer.source
        self.top = self.testbed.hosts[self.target[0]].path(self.target[1], f"from-{self.target[2]}")
        self.old = files.targets.get(self.target, {})
        self.rule = self.rule_for(files.trees[self.target[2]])
        self.disturbed = None  # the Run of a disturbed transfer
        self.partial = None  # what it left, a tree
        self.last = None

    def rule_for(self, source):
        """A target name that --no-clobber or -u keeps gives its octets to the further hard links
        of the source, which ddp-send does not send as files. The model has no such transfers."""
        numbers = [entry.file for entry in source.values() if entry.file is not None]
        keeps = self.operation["rule"] in ("keep", "update")
        return "" if keeps and len(set(numbers)) < len(numbers) else self.operation["rule"]

    # --- the commands -----------------------------------------------------------------------------

    def words(self, server):
        operation = self.operation
        words = ["ddp-send" if self.pushes else "ddp-recv", "--json", "--timeout", TIMEOUT,
                 *server.address(), "-m", operation["mode"], "-j", str(operation["jobs"]),
                 "--digest", operation["digest"]]
        words += RULES.get(self.rule, [])
        words += ["--verify"] if operation["verify"] else []
        words += ["--delete"] if operation["delete"] else []
        words += ["--yes"] if operation["delete"] else []
        words += ["--dry-run"] if "dry" in operation else []
        words += [f"--exclude={operation['exclude']}"] if operation["exclude"] else []
        words += [f"--bwlimit={operation['rate']}"] if "rate" in operation else []
        address = server.host.place.address
        if self.pushes:
            return [*words, self.client.path("tree") + "/", f"{address}:from-{self.client.number}"]
        return [*words, f"{address}:", self.top]

    def run(self):
        if "kill" in self.operation:
            self.run_killed()
        elif "during" in self.operation:
            self.run_changed()
        elif "quota" in self.operation:
            self.run_limited()
        elif "disk" in self.operation and os.geteuid() == 0:
            self.run_full()
        self.last = self.testbed.run(self.client, self.words(self.server))

    def run_killed(self):
        """A server that is killed is a temporary one: the servers of the hosts continue."""
        kill = self.operation["kill"]
        temporary = self.temporary_server() if kill["victim"] == "server" else None
        tool = self.testbed.start(self.client, self.words(temporary or self.server))
        tool.wait(kill["after_ms"] / 1000)
        if temporary:
            temporary.tool.kill()
            temporary.start()
        else:
            tool.kill()
        self.end_disturbed(tool)
        if temporary:
            temporary.stop()

    def run_changed(self):
        """Changes a file of the source while it may be being read."""
        during = self.operation["during"]
        tool = self.testbed.start(self.client, self.words(self.server))
        time.sleep(during["after_ms"] / 1000)
        origin = self.target[2]
        tree, top = self.files.trees[origin], self.testbed.hosts[origin].path("tree")
        self.files.write(tree, top, {**during, "time": self.operation["time"], "hole": False,
                                     "mode": 0o644})
        self.end_disturbed(tool)

    def run_limited(self):
        """The receiver has a quota."""
        server = self.temporary_server("--quota", str(self.operation["quota"]))
        tool = self.testbed.start(self.client, self.words(server))
        self.end_disturbed(tool)
        server.stop()

    def run_full(self):
        """The receiver's disk is small and empty. It is seen through the receiver's root."""
        directory = self.server.command[-1]
        prefix = (*SMALL_DISK, str(self.operation["disk"]), directory)
        server = self.temporary_server(prefix=prefix)
        self.disturbed = self.testbed.run(self.client, self.words(server))
        top = f"/proc/{server.pid()}/root{self.top}"
        self.partial = trees.scan(top) if os.path.isdir(top) else {}
        server.stop()

    def temporary_server(self, *options, prefix=()):
        host = self.server.host
        command = [self.server.command[0], *options, *(
            ["--delete", "--control", "none"] if self.pushes else ["--listen"]),
            self.server.command[-1]]
        name = f"temporary-{'-'.join(map(str, self.target))}-{self.testbed.number}"
        return Server(self.testbed, host, name, command, prefix).start()

    def end_disturbed(self, tool):
        self.disturbed = self.testbed.finish(tool)
        self.partial = trees.scan(self.top) if os.path.isdir(self.top) else {}

    # --- the judgement ----------------------------------------------------------------------------

    def judge(self):
        """Compares with the model, and changes the model."""
        origin = self.target[2]
        operation = self.operation
        options = {self.rule, *(["delete"] if operation["delete"] else [])}
        transfer = Transfer(self.files.trees[origin], self.old, options, operation["exclude"])
        if self.disturbed:
            self.judge_disturbed(transfer)
        elif not self.old and "dry" not in operation:
            self.judge_hard_links(transfer)
        status = STATUS_PARTLY if transfer.failed else STATUS_DONE
        require(self.last.status == status, f"{self.last.summary()}: expected status {status}")
        if "dry" not in operation:
            self.files.targets[self.target] = transfer.result
        if self.receiver_was_killed():
            self.remove_small_temporaries()
        self.wait_for_temporaries()

    def judge_hard_links(self, transfer):
        """In a new directory, the names of one file are names of one file again."""
        found = trees.scan(self.top) if os.path.isdir(self.top) else {}
        sent = {n: e for n, e in transfer.source.items() if n in found and n not in transfer.failed}
        for number in {e.file for e in sent.values() if e.file is not None}:
            names = [n for n, e in sent.items() if e.file == number]
            require(all(n == names[0] or trees.same_file(found[n], found[names[0]]) for n in names),
                    f"{self.last.summary()}: {names}: expected hard links of one file")

    def judge_disturbed(self, transfer):
        """Each name is as it was, or as it becomes."""
        before = self.old
        if "disk" in self.operation:
            before = {}
            transfer = Transfer(transfer.all, before, transfer.options, self.operation["exclude"])
        allowed = {name: [self.loose(tree.get(name)) for tree in (before, transfer.result)]
                   for name in before.keys() | transfer.result.keys()}
        found = {n: self.loose(e) for n, e in self.partial.items()
                 if not os.path.basename(n).startswith(trees.TEMPORARY)}
        changed = self.operation.get("during", {}).get("name")
        if changed:
            for name in (changed, *trees.parents(changed)):
                found.pop(name, None)
                allowed.pop(name, None)
        trees.compare(f"after {self.disturbed.summary()}: {self.top}", found, allowed)
        if "kill" in self.operation:
            self.judge_killed(transfer, found)
        elif "during" in self.operation:
            self.require_status(STATUS_DONE, STATUS_PARTLY)
        elif "quota" in self.operation:
            self.judge_quota(transfer, found)
        elif "disk" in self.operation:
            self.judge_disk(transfer, found)

    def require_status(self, *allowed):
        require(self.disturbed.status in allowed, f"{self.disturbed.summary()}: expected status "
                f"{' or '.join(map(str, allowed))}")

    def judge_killed(self, transfer, found):
        """Status 0 only if everything was stored."""
        status = -signal.SIGKILL if self.operation["kill"]["victim"] == "client" else STATUS_BROKEN
        self.require_status(STATUS_DONE, STATUS_PARTLY, status)
        if self.disturbed.status == STATUS_DONE:
            expected = {n: self.loose(e) for n, e in transfer.result.items()}
            trees.compare(f"after {self.disturbed.summary()}: {self.top}", found, expected)

    def judge_disk(self, transfer, found):
        """Status 0 if and only if everything is there; it must be if there is space for it."""
        status, total = self.disturbed.status, sum(len(e.data) for e in transfer.source.values())
        complete = found == {n: self.loose(e) for n, e in transfer.result.items()}
        require(status == (STATUS_DONE if complete else STATUS_PARTLY),
                f"{self.disturbed.summary()}: expected status 0 if everything was stored, "
                "otherwise 1")
        files = len(transfer.source) * PAGE
        require(complete or total + files + DISK_OVERHEAD > self.operation["disk"],
                f"{self.disturbed.summary()}: {total} octets: expected space on a disk of "
                f"{self.operation['disk']} octets")

    def judge_quota(self, transfer, found):
        quota, status = self.operation["quota"], self.disturbed.status
        new = [e for n, e in found.items() if e.kind == FILE and e != self.old.get(n)]
        stored = sum(len(e.data) for e in {e.file or id(e): e for e in new}.values())
        require(stored <= quota, f"{self.disturbed.summary()}: stored {stored} octets: expected at "
                f"most --quota {quota}")
        total = sum(len(e.data) for e in transfer.source.values())
        require(total > quota or transfer.failed or status == STATUS_DONE,
                f"{self.disturbed.summary()}: expected status 0: {total} octets are within the "
                "quota")
        self.require_status(STATUS_DONE, STATUS_PARTLY)

    def loose(self, entry):
        """A directory gets its mode only at the end of a transfer."""
        return Entry(DIRECTORY) if entry and entry.kind == DIRECTORY else entry

    def receiver_was_killed(self):
        victim = self.operation.get("kill", {}).get("victim")
        return victim == ("server" if self.pushes else "client")

    def remove_small_temporaries(self):
        """On a file system without unnamed files, a receiver that is killed leaves the temporaries
        of files up to 1 MiB, which are not resumed, until --max-age is over (ddp-recv(1))."""
        for name, entry in trees.scan(self.top).items():
            small = name.endswith(".part") and entry.mode == 0o600 and len(entry.data) <= trees.MIB
            if os.path.basename(name).startswith(trees.TEMPORARY) and small:
                os.unlink(os.path.join(self.top, name))

    def wait_for_temporaries(self):
        limit = time.monotonic() + TEMPORARY_SECONDS
        while os.path.isdir(self.top) and trees.temporaries(trees.scan(self.top)):
            require(time.monotonic() < limit, f"{self.last.summary()}: left "
                    f"{trees.temporaries(trees.scan(self.top))} in {self.top}")
            time.sleep(0.02)
