# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The command line of scripts/plot."""

import argparse
import os
import re
import shutil
import signal
import sys
import tempfile

from . import cwnd, draw, inputs, ladder, latency, placement, throughput, timeline
from .view import View

KINDS = {"placement": placement, "timeline": timeline, "ladder": ladder, "throughput": throughput,
         "latency": latency, "cwnd": cwnd}
YES, USAGE, CANNOT_HERE, FAILED, ENDED_BY_SIGNAL = 0, 2, 3, 4, 128

EXAMPLES = """\
A FILE is a trace (--trace of a tool), a capture (pcap or pcapng, decoded by ddp-dump), saved output
of ddp-dump --json, or results (--json of ddp-bench or sctp-ddp-ping). Several files show one
transfer: the traces of both ends, or a trace and a capture. They must be of one machine, or of
machines with the same time.

examples:
  ddp-recv -t udp --trace recv.trace dir &  ddp-send -t udp --trace send.trace file HOST:
  scripts/plot placement recv.trace send.trace -o placement.svg
  scripts/plot cwnd send.trace -o cwnd.png
  scripts/plot ladder iwarp.pcap --connection 2 --to 20ms -o ladder.svg
  ddp-bench HOST pingpong --trace t; scripts/plot latency t --data folder

exit status: 0 drawn, 2 wrong usage or a file that cannot be plotted, 3 gnuplot or ddp-dump is
missing, 4 failed on the way, 130 after Ctrl-C.
"""


class Usage(Exception):
    """A wrong option."""


def seconds(text):
    from checked import SECONDS  # only here: it loads YAML, which takes longer than most pictures
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([a-z]*)", text)
    if not match or match[2] and match[2] not in SECONDS:
        raise argparse.ArgumentTypeError(f'"{text}": expected seconds, or a duration such as 20ms')
    return float(match[1]) * SECONDS[match[2] or "s"]


def connection(text):
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise argparse.ArgumentTypeError(f'"{text}": expected a number of a connection, such as 1')
    return int(text)


def parser():
    p = argparse.ArgumentParser(
        prog="plot", formatter_class=argparse.RawDescriptionHelpFormatter, epilog=EXAMPLES,
        allow_abbrev=False, description="Draws a transfer as SVG, with gnuplot.\n\nkinds:\n" +
        "\n".join(f"  {name:11} {module.HELP}" for name, module in KINDS.items()))
    p.add_argument("kind", choices=KINDS, metavar="KIND", help="what to draw, see above")
    p.add_argument("file", nargs="+", metavar="FILE",
                   help="trace, capture or results; for a ladder also the decisions of "
                   "ddp-impair --json")
    p.add_argument("-o", "--output", metavar="OUT",
                   help="the picture, OUT.svg or OUT.png (default: KIND.svg); - is standard output")
    p.add_argument("--png", action="store_true", help="draw PNG (default: KIND.png)")
    p.add_argument("--data", metavar="DIR", help="keep the data file and the gnuplot script in DIR")
    p.add_argument("--from", dest="low", type=seconds, metavar="T",
                   help="show from this time after the first event, in seconds, or such as 20ms")
    p.add_argument("--to", dest="high", type=seconds, metavar="T", help="show until this time")
    p.add_argument("--connection", type=connection, metavar="N",
                   help="the connection: the key stream of a trace, flow of a capture (default: "
                   "the one with most octets)")
    return p


def main(arguments):
    options = parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, end)
    try:
        run(options)
    except (inputs.Invalid, Usage) as error:
        return complain(error, USAGE)
    except inputs.CannotHere as error:
        return complain(error, CANNOT_HERE)
    except draw.Failed as error:
        return complain(error, FAILED)
    except OSError as error:
        return complain(f"{error.filename or 'output'}: {error.strerror}: expected a place to "
                        "write to", FAILED)
    except KeyboardInterrupt as error:
        return complain("interrupted", ENDED_BY_SIGNAL + (error.args or [signal.SIGINT])[0])
    return YES


def end(number, _frame):
    """SIGTERM ends like Ctrl-C, so that the temporary folder is removed."""
    raise KeyboardInterrupt(number)


def complain(message, status):
    print(f"plot: {message}", file=sys.stderr)
    return status


def run(options):
    if options.low is not None and options.high is not None and options.low >= options.high:
        raise Usage(f"--from {options.low:g} --to {options.high:g}: expected --from before --to")
    if options.png and (options.output or "").endswith(".svg"):
        raise Usage(f"--png -o {options.output}: expected a name that ends in .png")
    if os.path.splitext(options.output or "")[1] not in ("", ".svg", ".png"):
        raise Usage(f"-o {options.output}: expected a name that ends in .svg or .png")
    options.png = options.png or (options.output or "").endswith(".png")
    draw.gnuplot_program()
    sources = [inputs.read(path) for path in options.file]
    view = View(sources, options.connection, (options.low, options.high))
    picture = KINDS[options.kind].make(view)
    output = options.output or f"{options.kind}.{'png' if options.png else 'svg'}"
    if options.data:
        os.makedirs(options.data, exist_ok=True)
        deliver(picture, options.data, options.png, output)
    else:
        with tempfile.TemporaryDirectory(prefix="iwarp-plot.") as folder:
            deliver(picture, folder, options.png, output)


def deliver(picture, folder, png, output):
    """Makes the picture in folder and copies it to output, which is complete or absent."""
    made = draw.make(picture, folder, png)
    if output == "-":
        with open(made, "rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        return
    if os.path.realpath(made) == os.path.realpath(output):
        return
    if os.path.lexists(output) and (os.path.islink(output) or not os.path.isfile(output)):
        # Never replace a link or a device, such as /dev/stdout: write through it.
        with open(made, "rb") as source, open(output, "wb") as target:
            shutil.copyfileobj(source, target)
        return
    partial = f"{output}.{os.getpid()}"
    try:
        shutil.copyfile(made, partial)
        os.replace(partial, output)
    except OSError as error:
        raise draw.Failed(f"{output}: {error.strerror}: expected a file that can be written") \
            from None
    finally:
        if os.path.exists(partial):
            os.unlink(partial)
