# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs one cell: makes its network, starts server, impairment and client, and judges what they
reported."""

import contextlib
import os
import re
import shutil
import time

from matrix import impairment, net, plan, side

START = 15      # seconds until a server must be ready
FAR_START = 60  # and in a guest or on another machine; a busy guest loads a module slowly
SLACK = 6       # seconds that a plug-in has after its own time limit
FAR_GRACE = 20  # seconds from SIGTERM to SIGKILL for a server on another machine
LOG = "log.txt"
KEPT = (LOG, "capture.pcap", impairment.DECISIONS)
MEASURE = re.compile(r"([a-z0-9_]{1,60}) ([0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,2})?)")
MOST_MEASURED = 1e100
MOST_LOG = 20000  # octets of each end of a long file in the log
KEYWORDS = ("ready", "measure", "note", "reason", "corrupt", "stuck")


class Attempt:
    """One attempt of a cell. run() returns (result, reason) and sets measurements."""

    def __init__(self, cell, context, folder):
        self.cell = cell
        self.context = context
        self.folder = folder
        self.log = os.path.join(folder, LOG)
        self.impairment = context.impairments[cell.impairment]
        self.client_plugin = context.plugins[cell.client]
        self.server_plugin = context.plugins[cell.server]
        self.measurements = {}
        self.capture = None
        self.relay = None

    def run(self):
        for role, plugin in (("client", self.client_plugin), ("server", self.server_plugin)):
            if plugin.broken:
                return "error", f"{plugin.name}: {plugin.broken}"
            lacks = plugin.lacks(role, self.cell.test)
            if lacks:
                return "unsupported", lacks
        missing = plan.contradiction(self.cell.test) or \
            net.lacks(self.cell.test.options["family"]) or \
            impairment.cannot(self.impairment, self.cell, self.is_far())
        if missing:
            return "unsupported", missing
        try:
            with contextlib.ExitStack() as stack:
                return self.run_on(stack)
        except net.Trouble as trouble:
            return "error", str(trouble)

    def uses_guest(self):
        return "guest" in (self.client_plugin.kind, self.server_plugin.kind)

    def is_far(self):
        """Returns whether an end is outside the namespaces of the cell."""
        return self.uses_guest() or "remote" in (self.client_plugin.kind, self.server_plugin.kind)

    def run_on(self, stack):
        """stack: everything that must be ended, the newest first."""
        network = self.make_network()
        stack.callback(network.close)
        if self.uses_guest():
            stack.callback(self.context.guest.clean)
        self.start_capture(network, stack)
        address = network.server_address
        server = stack.enter_context(self.start_side("serve", network, []))
        port = self.wait_ready(server)
        if port is None:
            return self.judge_start(server)
        if self.impairment.name != "none":
            address, port = self.start_impairment(network, stack, port)
        client = stack.enter_context(self.start_side("connect", network, [address, str(port)]))
        limit = self.cell.timeout + SLACK
        if not side.wait_for([client, server], client.ended, limit):
            client.fail(f"connect did not end within {limit:g} s")
            client.kill()
        server.stop(FAR_GRACE if self.server_plugin.kind in ("guest", "remote") else side.GRACE)
        if self.relay:
            self.relay.stop()
        return self.judge([(client, self.client_plugin), (server, self.server_plugin)])

    # --- the pieces ----------------------------------------------------------------------------

    def make_network(self):
        family = self.cell.test.options["family"]
        if "remote" in (self.client_plugin.kind, self.server_plugin.kind):
            return net.MachineNet(self.client_plugin, self.server_plugin)
        if self.uses_guest():
            return net.GuestNet(family, self.context.guest, self.client_plugin.kind == "guest",
                                self.server_plugin.kind == "guest")
        return net.Pair(family, impairment.in_frames(self.impairment, self.cell))

    def start_capture(self, network, stack):
        if not self.context.capture or not network.interface:
            return
        path = os.path.join(self.folder, "capture.pcap")
        command = ["tcpdump", "-U", "--immediate-mode", "-Z", "root", "-i", network.interface,
                   "-c", "20000", "-w", path]
        tcpdump = stack.enter_context(net.background(
            "tcpdump", command, network.server, self.context.environment,
            os.path.join(self.folder, "tcpdump.txt"), "listening on"))
        # It writes the packets that it has received.
        stack.callback(tcpdump.stop)
        self.capture = path

    def start_impairment(self, network, stack, port):
        """Returns the address and the port that the client connects to."""
        relay = impairment.Relay(self.impairment, self.cell, network, port)
        path = os.path.join(self.folder, "impairment.txt")
        seed = self.cell.seed(self.context.seed)
        stack.callback(self.append, path)
        self.relay = stack.enter_context(net.background(
            "ddp-impair", relay.command(seed, self.folder), relay.holder, self.context.environment,
            path, "elaying"))
        return relay.target

    def start_side(self, name, network, arguments):
        client = name == "connect"
        plugin = self.client_plugin if client else self.server_plugin
        holder = network.client if client else network.server
        own, peer = network.client_address, network.server_address
        if not client:
            own, peer = peer, own
        work = os.path.join(self.folder, "client" if client else "server")
        os.makedirs(work, exist_ok=True)
        self.note(f"--- {name} of {plugin.name}, in the network of {own}")
        return side.Side(name, [plugin.program(name), *arguments],
                         self.environment(work, own, peer, network, client),
                         os.path.join(work, "stderr.txt"), holder.inside)

    def environment(self, work, own, peer, network, client):
        test = self.cell.test
        return {**self.context.environment,
                "IW_ROLE": "client" if client else "server", "IW_TRANSPORT": test.transport,
                "IW_OPERATION": test.operation, "IW_SIZE": str(plan.octets(test)),
                **{f"IW_{name.upper()}": value for name, value in test.options.items()
                   if name != "size"},
                "IW_SEED": str(self.cell.seed(self.context.seed)), "IW_WORK": work,
                "IW_SHARED": self.folder, "IW_TIMEOUT": f"{self.cell.timeout:g}",
                "IW_ADDRESS": own, "IW_PEER": peer, "IW_PORT": str(net.PORT),
                "IW_INTERFACE": (network.interface or "").replace(
                    "server", "client" if client else "server"),
                "IW_IMPAIRMENT": self.impairment.name,
                "IW_CLIENT": self.cell.client, "IW_SERVER": self.cell.server}

    def note(self, text):
        os.makedirs(self.folder, exist_ok=True)
        with open(self.log, "a", encoding="utf-8") as file:
            file.write(text + "\n")

    def wait_ready(self, server):
        """Returns the port, or None if the server ended, is not ready in time, or printed something
        else."""
        side.wait_for([server], lambda: server.ended() or server.words("ready") or
                      server.trouble, self.start_limit())
        return int(server.words("ready")[0]) if server.words("ready") and \
            not first_garbage(server) else None

    def start_limit(self):
        far = self.server_plugin.kind in ("guest", "remote")
        return FAR_START if far else min(START, self.cell.timeout + SLACK)

    # --- the judgement -------------------------------------------------------------------------

    def judge_start(self, server):
        """The result of a cell whose server was never ready."""
        self.record(server)
        garbage = first_garbage(server)
        if server.status == 3 and not server.trouble and not garbage:
            return "unsupported", self.reason(server, self.server_plugin)
        if not server.ended():
            server.fail(garbage or f"serve was not ready within {self.start_limit():g} s")
            server.kill()
        return "error", f"{self.cell.server}: " + (server.trouble or garbage or self.why(server))

    def judge(self, ends):
        """ends: (side, plug-in) of the client and of the server."""
        for end, _ in ends:
            self.record(end)
            end.fail(first_garbage(end))
        for end, plugin in ends:
            if end.trouble:
                return "error", f"{plugin.name}: {end.trouble}"
            if end.status not in (0, 1, 3):
                return "error", f"{plugin.name}: {self.why(end)}"
        if self.relay and (self.relay.trouble or self.relay.status != 0):
            return "error", self.relay.trouble or self.why(self.relay)
        for end, plugin in ends:
            if end.status == 3:
                return "unsupported", self.reason(end, plugin)
        return judge_content(ends) or self.judge_idle() or self.judge_expectation(ends)

    def judge_idle(self):
        """A cell whose impairment has changed nothing proves nothing."""
        idle = self.relay and impairment.idle(self.impairment, self.relay.lines, self.folder)
        return ("error", f"impairment {self.impairment.name}: {idle}") if idle else None

    def judge_expectation(self, ends):
        reasons = [self.reason(end, plugin) for end, plugin in ends if end.status == 1]
        expect = self.impairment.expect
        if expect == "detected" and ends[0][0].status == 0:
            return "fail", f"the operation succeeded; {self.impairment.clause}: an error must be" \
                " reported"
        if expect == "success" and reasons:
            return "fail", "; ".join(reasons)
        return "pass", ""

    def reason(self, end, plugin):
        said = end.words("reason") or [side.last_line(end.log)]
        return f"{plugin.name}: {said[-1] or f'{end.name}: exit status {end.status}'}"

    def why(self, end):
        said = side.last_line(end.log)
        return f"{end.name}: exit status {end.status}" + (f": {said}" if said else "")

    def append(self, path):
        """Appends a file to the log, without its middle if it is long."""
        with open(path, "rb") as file:
            text = file.read(MOST_LOG)
            if os.path.getsize(path) > 2 * MOST_LOG:
                text += b"\n[...]\n"
                file.seek(-MOST_LOG, os.SEEK_END)
            text += file.read(MOST_LOG)
        self.note(text.decode("utf-8", "backslashreplace").rstrip("\n"))

    def record(self, end):
        self.note(f"--- {end.name}: exit status {end.status}" +
                  (f", {end.trouble}" if end.trouble else ""))
        self.append(end.log)
        for line in end.lines[:400]:
            self.note(f"{end.name}: {line[:400]}")
        for text in end.words("measure"):
            match = MEASURE.fullmatch(text)
            if match:
                self.measurements[match[1]] = float(match[2])


def judge_content(ends):
    """The result of a cell that fails whatever its impairment permits, or None."""
    for end, plugin in ends:
        for word, text in (("corrupt", "wrong octets were delivered"),
                           ("stuck", "the operation did not end in time")):
            if end.words(word):
                return "fail", f"{plugin.name}: {text}: {end.words(word)[0]}"
    return None


def first_garbage(end):
    """Returns what is wrong with the output of a side, or None."""
    for line in end.lines:
        word, _, rest = line.partition(" ")
        if word not in KEYWORDS:
            expected = f"one of {', '.join(KEYWORDS)}"
        elif word == "ready" and not is_port(rest.strip()):
            expected = "a port"
        elif word == "measure" and not is_measure(rest.strip()):
            expected = "a name and a number, at least 0"
        else:
            continue
        return f"{end.name} printed {line[:60]!r}: expected {expected}"
    return None


def is_port(text):
    return bool(re.fullmatch(r"[0-9]{1,5}", text)) and 1 <= int(text) <= 65535


def is_measure(text):
    match = MEASURE.fullmatch(text)
    return bool(match) and float(match[2]) < MOST_MEASURED


def run(cell, context, folder):
    """Runs a cell, again if it is an infrastructure error and attempts are left. Returns the entry
    of result.json."""
    began = time.monotonic()
    for number in range(1, attempts(cell, context) + 1):
        attempt = Attempt(cell, context, folder)
        try:
            result, reason = run_attempt(attempt, number)
        except OSError as error:
            # A plug-in has removed or replaced a file of the cell, for example.
            result, reason = "error", f"{error.filename or 'this machine'}: {error.strerror}"
        if result != "error":
            break
    return entry(cell, context, attempt, result, reason, number, time.monotonic() - began)


def run_attempt(attempt, number):
    """Returns (result, reason)."""
    tidy(attempt.folder, (LOG,))
    attempt.note(f"=== {attempt.cell.id}, attempt {number}, seed {attempt.context.seed}")
    result, reason = attempt.run()
    attempt.note(f"=== {result}{': ' + reason if reason else ''}")
    if result in ("pass", "unsupported"):
        tidy(attempt.folder, KEPT)
    return result, reason


def attempts(cell, context):
    """A program in a busy guest sometimes does not start in time: such a cell has two attempts."""
    guest = any(context.plugins[name].kind == "guest" for name in (cell.client, cell.server))
    return max(context.attempts, 2 if guest else 1)


def tidy(folder, kept):
    """Removes everything else from the folder of a cell."""
    os.makedirs(folder, exist_ok=True)
    for item in os.scandir(folder):
        if item.is_dir(follow_symlinks=False):
            shutil.rmtree(item.path)
        elif item.name not in kept:
            os.unlink(item.path)


def entry(cell, context, attempt, result, reason, number, seconds):
    def relative(path):
        return os.path.relpath(path, context.output)

    captured = attempt.capture and os.path.exists(attempt.capture)
    return {
        "id": cell.id, "client": cell.client, "server": cell.server, "test": cell.test.name,
        "impairment": cell.impairment, "result": result, "reason": reason.replace("\n", " "),
        "seconds": round(seconds, 3), "seed": cell.seed(context.seed), "attempts": number,
        "log": relative(attempt.log), "capture": relative(attempt.capture) if captured else None,
        "rerun": context.rerun(cell),
        "versions": {"client": attempt.client_plugin.version,
                     "server": attempt.server_plugin.version},
        "measurements": attempt.measurements,
    }
