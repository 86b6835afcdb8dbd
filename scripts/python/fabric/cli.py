# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The command line of scripts/fabric."""

import argparse
import json
import os
import re
import signal
import sys
import time

import checked

from . import build, errors, graph, live, netns, state, status, supervisor, topology

OK, NO, USAGE, CANNOT, FAILED = range(5)
DESCRIPTION = "Makes test networks of namespaces from topology files (YAML)."
EPILOG = """\
A topology file names hosts, routers, networks and links; scripts/topologies has
examples, scripts/python/fabric/topology.py describes all keys.

  scripts/fabric up scripts/topologies/pair-lossy.yaml
  scripts/fabric exec b ddp-bench --listen -t udp --bind '*' &
  scripts/fabric exec a ddp-bench b write -t udp --time 1s
  scripts/fabric down

Exit status: 0 yes, 1 no, 2 usage or a bad file, 3 not possible here, 4 failed on
the way; exec: the status of the command.
"""


class Ended(BaseException):
    """SIGINT or SIGTERM arrived."""


def build_parser():
    parser = argparse.ArgumentParser(prog="fabric", description=DESCRIPTION, epilog=EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    label = argparse.ArgumentParser(add_help=False)
    label.add_argument("--label", help="the label of the fabric (default: the file's name)")

    one = commands.add_parser("up", parents=[label], help="make the network of a file")
    one.add_argument("file", metavar="FILE", help="a topology, such as those in scripts/topologies")
    one.add_argument("--seed", type=int, help="seed of the relays, instead of the file's")
    one.add_argument("--ssh", action="append", default=[], metavar="HOST=USER@MACHINE",
                     help="run HOST on this machine; repeat it for each host")
    one.add_argument("--owner", type=int, metavar="PID",
                     help="take the network down when this process ends")
    one = commands.add_parser("down", parents=[label],
                              help="remove a network; without FILE, all of this user and leftovers")
    one.add_argument("file", metavar="FILE", nargs="?", help="the file that `up` was given")
    one.add_argument("--json", action="store_true", help="print the counters of the relays")
    one.add_argument("--force", action="store_true",
                     help="also if another session, with another state folder, made it")
    one = commands.add_parser("exec", parents=[label], help="run a command on a host",
                              usage="fabric exec [--label LABEL] [-f FILE | FILE] HOST CMD...")
    one.add_argument("-f", "--file", help="the file, if more than one network is up")
    one.add_argument("words", metavar="HOST CMD", nargs=argparse.REMAINDER,
                     help="a host of the file, and the command with its arguments")
    one = commands.add_parser("status", parents=[label],
                              help="show hosts, addresses, links and relays")
    one.add_argument("file", metavar="FILE", nargs="?", help="the file that `up` was given")
    one.add_argument("--json", action="store_true", help="print a line of JSON for each network")
    one = commands.add_parser("graph", help="draw the network of a file")
    one.add_argument("file", metavar="FILE", help="a topology")
    one.add_argument("-o", "--output", help="write to this file; its name selects the format")
    one.add_argument("--format", choices=graph.FORMATS,
                     help="default: svg if graphviz is installed, otherwise dot")
    commands.add_parser("measure", add_help=False, help="measure between all hosts")
    return parser


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    netns.extend_path()
    if argv[:1] == ["measure"]:
        return measure(argv[1:])
    if argv[:1] == ["supervise"]:  # live.start_supervisor() runs this
        supervisor.supervise(argv[1], int(argv[2]))
        return OK
    arguments = build_parser().parse_args(argv)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, interrupt)
    try:
        return COMMANDS[arguments.command](arguments)
    except checked.Invalid as error:
        return report(error, USAGE)
    except errors.Problem as error:
        return report(error, error.status)
    except OSError as error:
        return report(f"{error.filename}: {error.strerror}", FAILED)
    except Ended as ended:
        return 128 + ended.args[0]


def report(error, status_code):
    errors.warn(str(error))
    return status_code


def interrupt(number, _):
    # A second signal must not interrupt the clean-up.
    for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)
    raise Ended(number)


def measure(argv):
    from hosts import cli as hosts_cli  # only this command needs it
    return hosts_cli.main(argv)


# --- commands ------------------------------------------------------------------------------------


def up(arguments):
    made = topology.load(arguments.file, dict(map(ssh_target, arguments.ssh)))
    if arguments.seed is not None:
        made.seed = arguments.seed
    label = checked_label(arguments.label) or made.label
    if live.is_up(label):
        return is_up_already(label, arguments.file)
    began = time.monotonic()
    net = live.Fabric(made, label, arguments.owner)
    net.up()
    print(f"{label}: {len(made.hosts)} hosts up in {time.monotonic() - began:.1f} s")
    return OK


def ssh_target(text):
    if not re.fullmatch(r"[^=]+=[A-Za-z0-9_.@:%\[\]][A-Za-z0-9_.@:%\[\]-]*", text):
        raise checked.Invalid(f'--ssh "{text}": expected HOST=USER@MACHINE')
    return text.split("=", 1)


def is_up_already(label, path):
    record = state.read(label)
    if record.get("path") == os.path.abspath(path) and record.get("digest") == build.digest(path):
        print(f"{label}: is up already")
        return OK
    errors.warn(f"{label}: is up from {record.get('path')}, whose contents were different: run "
               f"scripts/fabric down --label {label} first")
    return NO


def down(arguments):
    if arguments.file or arguments.label:
        labels = [label_of(arguments)]
    else:
        labels = sorted({*state.recorded(), *state.leftovers()})
    done = [down_one(label, arguments) for label in labels]
    if not labels and not arguments.json:
        print("nothing is up")
    return OK if all(done) else NO


def down_one(label, arguments):
    other = state.elsewhere(label)
    if other and not arguments.force:
        errors.warn(f"{label}: belongs to another session, see {other}: use --force to remove it")
        return False
    known = state.read(label) or label in state.leftovers() or other
    counters = live.take_down(label)
    if arguments.json:
        print(json.dumps({"label": label, "relays": {
            link: [json.loads(line) for line in lines] for link, lines in counters.items()}}))
    else:
        print(f"{label}: {'down' if known else 'was not up'}")
    return True


def execute(arguments):
    words = arguments.words
    if not arguments.file and words and words[0].endswith((".yaml", ".yml")):
        arguments.file, words = words[0], words[1:]
    if words[:1] == ["--"]:
        words = words[1:]
    if len(words) < 2:
        errors.warn("exec: expected HOST and a command")
        return USAGE
    net = live.attach(label_of(arguments) if arguments.file or arguments.label else only_one())
    argv, environment = net.command(words[0], words[1:])
    sys.stdout.flush()
    os.execvpe(argv[0], argv, environment)


def show(arguments):
    if arguments.file or arguments.label:
        labels = [label_of(arguments)]
    else:
        labels = state.recorded()
    good = True
    for label in labels:
        report_of = status.collect(label)
        good = good and report_of["up"] and all(one["alive"] for one in report_of["relays"])
        print(json.dumps(report_of) if arguments.json else status.text(report_of))
    if not labels and not arguments.json:
        print("nothing is up")
    return OK if labels and good else NO


def draw(arguments):
    return graph.draw(topology.load(arguments.file), arguments.format, arguments.output)


COMMANDS = {"up": up, "down": down, "exec": execute, "status": show, "graph": draw}


# --- labels --------------------------------------------------------------------------------------


def checked_label(label):
    if label is not None and not re.fullmatch(topology.LABEL, label):
        raise checked.Invalid(f'--label "{label}": expected {topology.LABEL_EXPECTED}')
    return label


def label_of(arguments):
    """Without --label, the label of the fabric that is up from this file."""
    if arguments.label:
        return checked_label(arguments.label)
    path = os.path.abspath(arguments.file)
    for label in state.recorded():
        if (state.read(label) or {}).get("path") == path:
            return label
    return topology.load(arguments.file).label


def only_one():
    labels = [label for label in state.recorded() if live.is_up(label)]
    if len(labels) != 1:
        raise errors.Failed(f"{', '.join(labels)}: more than one is up: use --label or -f FILE"
                           if labels else "nothing is up: run scripts/fabric up FILE")
    return labels[0]
