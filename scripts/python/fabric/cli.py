# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The command line of scripts/fabric. `exec` runs often: modules that read files (YAML) and make
networks take most of the time of its start, and are imported where they are needed."""

import argparse
import json
import os
import re
import signal
import sys
import time

import program

from . import errors, graph, labels, live, netns, processes, relays, state, status, supervisor

OK, NO = range(2)
DESCRIPTION = "Makes test networks of namespaces from topology files (YAML)."
EPILOG = """\
A topology file names hosts, routers, networks and links; scripts/topologies has
examples, scripts/python/fabric/topology.py describes all keys.

  scripts/fabric up scripts/topologies/pair-lossy.yaml
  scripts/fabric exec --until-listening 9899 b ddp-bench --listen -t udp --bind '*'
  scripts/fabric exec a ddp-bench b write -t udp --time 1s
  scripts/fabric down

Exit status: 0 yes, 1 no, 2 usage or a bad file, 3 not possible here, 4 failed on
the way, 130 interrupted (128 and the number of the signal); exec: the status of
the command.
"""


def build_parser():
    parser = argparse.ArgumentParser(prog="fabric", description=DESCRIPTION, epilog=EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    label = argparse.ArgumentParser(add_help=False)
    label.add_argument("--label", help="the label of the fabric (default: the file's name)")

    one = commands.add_parser("up", parents=[label], help="make the network of a file")
    one.add_argument("file", metavar="FILE", help="a topology, such as those in scripts/topologies")
    one.add_argument("--seed", type=number(0, relays.SEED_MOST), metavar="N",
                     help="seed of the relays, instead of the file's")
    one.add_argument("--ssh", action="append", default=[], metavar="HOST=USER@MACHINE",
                     help="run HOST on this machine; repeat it for each host")
    one.add_argument("--owner", type=running, metavar="PID",
                     help="take the network down when this process ends")
    one = commands.add_parser("down", parents=[label],
                              help="remove a network; without FILE, all networks of this user, "
                              "and leftovers")
    one.add_argument("file", metavar="FILE", nargs="?", help="the file that `up` was given")
    one.add_argument("--json", action="store_true", help="print the counters of the relays")
    one.add_argument("--force", action="store_true",
                     help="also remove a network of another session (another state folder), "
                     "and one whose `up` still runs: end that `up`")
    one = commands.add_parser("exec", parents=[label], help="run a command on a host",
                              usage="fabric exec [--label LABEL] [--until-listening PORT] "
                              "[-f FILE | FILE] HOST CMD...")
    one.add_argument("-f", "--file",
                     help="the file that `up` was given, if more than one network is up")
    one.add_argument("--until-listening", type=number(1, 65535), metavar="PORT",
                     help="run the command in the background, until `down`; return as soon as "
                     "a program on HOST listens to this TCP or UDP port")
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
                     help="default: svg if graphviz is installed, otherwise text")
    commands.add_parser("measure", add_help=False, help="measure between all hosts")
    return parser


def number(least, most):
    def convert(text):
        if not re.fullmatch(r"[0-9]{1,10}", text) or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f'"{text}": expected a number from {least} to {most}')
        return int(text)
    return convert


def running(text):
    """Returns the id of a process."""
    if not re.fullmatch(r"[1-9][0-9]{0,9}", text) or not processes.is_running(int(text)):
        raise argparse.ArgumentTypeError(f'"{text}": expected the id of a process that runs')
    return int(text)


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    sys.stdout.reconfigure(errors="backslashreplace")  # names of files can be of any octets
    netns.extend_path()
    if argv[:1] == ["measure"]:
        return measure(argv[1:])
    if argv[:1] == ["supervise"]:  # live.start_supervisor() runs this
        supervisor.supervise(argv[1], int(argv[2]), argv[3])
        return OK
    arguments = build_parser().parse_args(argv)
    program.raise_ended_on_signals()
    return COMMANDS[arguments.command](arguments)


def measure(argv):
    from hosts import cli as hosts_cli  # only this command needs it
    return hosts_cli.main(argv)


# --- commands ------------------------------------------------------------------------------------


def up(arguments):
    from . import topology
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
        raise errors.Wrong(f'--ssh "{text}": expected HOST=USER@MACHINE')
    return text.split("=", 1)


def is_up_already(label, path):
    record = state.read(label)
    if record.get("path") == os.path.abspath(path) and record.get("digest") == state.digest(path):
        print(f"{label}: is up already")
        return OK
    errors.warn(f"{label}: is up from {record.get('path')}, whose contents were different: run "
               f"scripts/fabric down --label {label} first")
    return NO


def down(arguments):
    if arguments.file or arguments.label:
        found = [label_of(arguments)]
    else:
        found = sorted({*state.recorded(), *state.leftovers()})
    done = [down_one(label, arguments) for label in found]
    if not found and not arguments.json:
        print("nothing is up")
    return OK if all(done) else NO


def down_one(label, arguments):
    other = state.elsewhere(label)
    if other and not arguments.force:
        errors.warn(f"{label}: belongs to another session, see {other}: use --force to remove it")
        return False
    if state.is_made(state.read(label)) and not end_maker(label, arguments.force):
        return False
    known = state.read(label) or label in state.leftovers() or other
    counters = live.take_down(label)
    if arguments.json:
        print(json.dumps({"label": label, "relays": {
            link: [json.loads(line) for line in lines] for link, lines in counters.items()}}))
    else:
        print(f"{label}: {'down' if known else 'was not up'}")
    return True


def end_maker(label, force):
    """Ends the `up` that makes this fabric. Without force: warns and returns False."""
    pid = state.read(label)["pid"]
    if not force:
        errors.warn(f"{label}: process {pid} is making it: wait, or end it with --force")
        return False
    processes.end(lambda: {pid} if state.is_made(state.read(label)) else set(), 10)
    return True


def execute(arguments):
    words = arguments.words
    if not arguments.file and words and words[0].endswith((".yaml", ".yml")):
        arguments.file, words = words[0], words[1:]
    if words[:1] == ["--"]:
        words = words[1:]
    if len(words) < 2:
        raise errors.Wrong("exec: expected HOST and a command")
    net = live.attach(label_of(arguments) if arguments.file or arguments.label else only_one())
    if arguments.until_listening:
        net.serve(words[0], words[1:], arguments.until_listening)
        return OK
    argv, environment = net.command(words[0], words[1:])
    for number_ in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, the command must not
        signal.signal(number_, signal.SIG_DFL)
    os.execvpe(argv[0], argv, environment)


def show(arguments):
    if arguments.file or arguments.label:
        found = [label_of(arguments)]
    else:
        found = state.recorded()
    good = True
    for label in found:
        report_of = status.collect(label)
        good = good and report_of["up"] and all(one["alive"] for one in report_of["relays"])
        print(json.dumps(report_of) if arguments.json else status.text(report_of))
    if not found and not arguments.json:
        print("nothing is up")
    return OK if found and good else NO


def draw(arguments):
    from . import topology
    return graph.draw(topology.load(arguments.file), arguments.format, arguments.output)


COMMANDS = {"up": up, "down": down, "exec": execute, "status": show, "graph": draw}


# --- labels --------------------------------------------------------------------------------------


def checked_label(label):
    if label is not None and not re.fullmatch(labels.LABEL, label):
        raise errors.Wrong(f'--label "{label}": expected {labels.LABEL_EXPECTED}')
    return label


def label_of(arguments):
    """Without --label, the label of the fabric that is up from this file, also if the file has
    changed. Raises errors.Wrong if that is not clear."""
    if arguments.label:
        return checked_label(arguments.label)
    paths = {label: (state.read(label) or {}).get("path") for label in state.recorded()}
    wanted = os.path.realpath(arguments.file)
    found = [label for label, path in paths.items() if path and os.path.realpath(path) == wanted]
    if len(found) > 1:
        raise errors.Wrong(f"{arguments.file}: {', '.join(found)} are up from it: expected --label")
    if found:
        return found[0]
    from . import topology
    label = topology.load(arguments.file).label
    if paths.get(label):
        raise errors.Wrong(f"{arguments.file}: {label} is up from {paths[label]}: expected this "
                           "file, or --label")
    return label


def only_one():
    found = [label for label in state.recorded() if live.is_up(label)]
    if len(found) != 1:
        raise errors.Failed(f"{', '.join(found)}: more than one is up: use --label or -f FILE"
                            if found else "nothing is up: run scripts/fabric up FILE")
    return found[0]
