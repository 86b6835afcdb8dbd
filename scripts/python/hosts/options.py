# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Options that `fabric measure` and scripts/hosts-task share, and checks of their values."""

import argparse
import ipaddress
import re

from hosts import patterns


def add(parser):
    """Adds the shared options to an argparse parser."""
    parser.add_argument("--pattern", type=pattern, default=patterns.parse("pairwise"),
                        metavar="pairwise|k-batch[=K]|all-to-all",
                        help="pairwise (default): in each round every host measures one other; "
                        "k-batch: every client measures K servers at once (default 2); all-to-all: "
                        "all at once")
    parser.add_argument("-t", "--transport", choices=("tcp", "udp"), default="tcp",
                        help="transport (default tcp)")
    parser.add_argument("--mode", choices=("write", "read", "send"), default="write",
                        help="operation that measures the throughput (default write)")
    parser.add_argument("--size", type=size, default="1M", metavar="SIZE",
                        help="octets of a message (default 1M)")
    parser.add_argument("--seconds", type=seconds, default=1.0, metavar="N",
                        help="length of each measurement (default 1); latencies take half of it, "
                        "at least 0.5")
    parser.add_argument("--timeout", type=seconds, default=10.0, metavar="N",
                        help="give up on a peer after N seconds without progress (default 10)")
    parser.add_argument("--tools", metavar="DIR",
                        help="folder of ddp-bench on every host (default: PATH)")
    parser.add_argument("--network", type=network, metavar="PREFIX",
                        help="measure over this network, such as 10.1.0.0/16 (default: the "
                        "network of the host's name)")
    parser.add_argument("--port", type=port, default=0, metavar="N",
                        help="port of every server (default: any free port)")


def pattern(text):
    return checked(patterns.parse, text)


def size(text):
    if not re.fullmatch(r"[1-9][0-9]{0,11}[KMG]?", text):
        raise argparse.ArgumentTypeError(f"\"{text}\": expected octets, such as 64K")
    return text


def seconds(text):
    if not re.fullmatch(r"[0-9]{1,5}(\.[0-9]{1,3})?", text) or not 0.05 <= float(text) <= 86400:
        raise argparse.ArgumentTypeError(f"\"{text}\": expected seconds from 0.05 to 86400")
    return float(text)


def port(text):
    if not re.fullmatch(r"[0-9]{1,5}", text) or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"\"{text}\": expected a port from 0 to 65535")
    return int(text)


def network(text):
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"\"{text}\": expected a network, such as 10.1.0.0/16") from None


def checked(function, text):
    """Calls a function that raises ValueError with a message for the user."""
    try:
        return function(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def split(arguments):
    """Returns the arguments before `--`, and those after it, which are for ddp-bench."""
    if "--" not in arguments:
        return arguments, []
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1:]
