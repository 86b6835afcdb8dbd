# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The command line of `scripts/fabric measure`."""

import argparse
import os
import sys

import program
from fabric.errors import Wrong
from hosts import clush, local, options, srun
from hosts.report import Report
from hosts.session import Session

OK, NO = 0, 1
DESCRIPTION = """\
Measures throughput and latency between hosts with ddp-bench, which verifies the data, and names
the hosts and links that deviate from the median.
"""
EPILOG = """\
--hosts is, for srun: a number, or nodes (inside a job of Slurm it is optional);
for clush: hosts such as node[1-4], or a file with one host in each line;
for netns: a topology file, which is up for the time of the measurement, or the
label of one that is up.

  scripts/fabric measure --engine netns scripts/topologies/star-4.yaml
  scripts/fabric measure --engine srun --hosts 16 --pattern all-to-all --tools /opt/iwarp/bin
  scripts/fabric measure --engine clush --hosts node[1-4] -t udp -- --cc cubic

Options after -- are those of every client of ddp-bench.

Exit status: 0 all pairs measured, 1 a pair failed or (with --strict) deviates,
2 usage or a bad file, 3 not possible here, 4 failed on the way, 130 interrupted
(128 and the number of the signal).
"""
MOST_HOSTS = 4096


def parse(argv):
    parser = argparse.ArgumentParser(
        prog="fabric measure", description=DESCRIPTION, epilog=EPILOG,
        usage="fabric measure --engine srun|clush|netns [--hosts HOSTS | FILE] [OPTION...] "
        "[-- OPTION...]",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=("srun", "clush", "netns"), required=True,
                        help="srun: tasks of Slurm; clush: ssh, with ClusterShell; netns: "
                        "namespaces of scripts/fabric")
    parser.add_argument("--hosts", metavar="HOSTS", help="see below")
    parser.add_argument("file", metavar="FILE", nargs="?",
                        help="the same as --hosts FILE: a topology, or a list of hosts")
    options.add(parser)
    parser.add_argument("--board", metavar="pmix|DIR",
                        help="for srun: tasks find each other by PMIx (default, where Slurm has "
                        "it), or in DIR, which all hosts share (otherwise; default: this folder)")
    parser.add_argument("--ssh-config", metavar="FILE", help="for clush: a file for ssh -F")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a host or link "
                        "deviates")
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    before, extra = options.split(argv)
    parsed = parser.parse_args(before)
    parsed.extra = extra
    if parsed.file and parsed.hosts:
        parser.error(f"--hosts {parsed.hosts}, and also {parsed.file}: expected one of them")
    parsed.hosts = parsed.hosts or parsed.file
    return parsed


def main(argv):
    parsed = parse(argv)
    program.raise_ended_on_signals()
    return measure(parsed)


def measure(parsed):
    report = Report(parsed.json)
    hosts = ENGINES[parsed.engine](parsed, report)
    expected = sum(len(phase) for phases in parsed.pattern.plan(hosts) for phase in phases)
    failed, deviating = report.finish(expected)
    return NO if failed or parsed.strict and deviating else OK


def begin(parsed, report, hosts, **facts):
    """Prints what is going to be measured. Raises Wrong if there are not enough hosts."""
    if not 2 <= hosts <= MOST_HOSTS:
        raise Wrong(f"--hosts {parsed.hosts}: {hosts}: expected from 2 to {MOST_HOSTS} hosts")
    rounds = len(parsed.pattern.plan(hosts))
    report.say({"event": "plan", "engine": parsed.engine, "pattern": str(parsed.pattern),
                "hosts": hosts, "rounds": rounds, "transport": parsed.transport, **facts})
    if not parsed.json:
        print(f"{parsed.pattern}, {hosts} hosts, {rounds} rounds: {parsed.mode} of {parsed.size} "
              f"over {parsed.transport} for {parsed.seconds:g} s\n", flush=True)


# --- engines: each returns the number of hosts ---------------------------------------------------


def with_srun(parsed, report):
    srun.check(parsed.hosts)
    hosts = srun.count_hosts(parsed.hosts)
    begin(parsed, report, hosts)
    try:
        srun.Run(parsed, hosts, report.take).run()
    except srun.NoPmix:
        if parsed.board:
            raise
        parsed.board = os.getcwd()
        print(f"fabric: srun does not load PMIx; the tasks meet in {parsed.board}",
              file=sys.stderr)
        srun.Run(parsed, hosts, report.take).run()
    return hosts


def with_clush(parsed, report):
    clush.check()
    if not parsed.hosts:
        raise Wrong("--engine clush: expected --hosts node[1-4], or --hosts FILE")
    if parsed.ssh_config and not os.path.isfile(parsed.ssh_config):
        raise Wrong(f"--ssh-config {parsed.ssh_config}: no such file")
    hosts = clush.expand(parsed.hosts)
    begin(parsed, report, len(hosts))
    return run_session(clush.Launcher(hosts, parsed.ssh_config), hosts, parsed, report)


def with_netns(parsed, report):
    from fabric import live, topology  # only this engine needs them
    if not parsed.hosts:
        raise Wrong("--engine netns: expected --hosts FILE, a topology, or the label of one that "
                    "is up")
    if not os.path.exists(parsed.hosts):
        if not live.is_up(parsed.hosts):
            raise Wrong(f"--hosts {parsed.hosts}: no such file, and no fabric of this label is up: "
                        "expected a topology, or a label of scripts/fabric status")
        return measure_fabric(live.attach(parsed.hosts), parsed, report)
    with live.Fabric(topology.load(parsed.hosts)) as net:
        return measure_fabric(net, parsed, report)


def measure_fabric(net, parsed, report):
    hosts = net.hosts()
    begin(parsed, report, len(hosts))
    return run_session(local.Launcher(net.command), hosts, parsed, report)


def run_session(launcher, hosts, parsed, report):
    Session(launcher, hosts, parsed, report.take).run()
    return len(hosts)


ENGINES = {"srun": with_srun, "clush": with_clush, "netns": with_netns}
