# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Pictures of a topology: SVG or PNG by graphviz, its dot language, or plain text."""

import os
import shutil
import subprocess
import sys

from . import errors

FORMATS = ("svg", "png", "dot", "text")
SUFFIXES = {".svg": "svg", ".png": "png", ".dot": "dot", ".txt": "text"}
DRAW_SECONDS = 60
SHAPES = {"host": 'shape=box style="rounded,filled" fillcolor="#dbe9f6"',
          "router": 'shape=box style="filled" fillcolor="#fde2c4"',
          "network": 'shape=ellipse style=filled fillcolor="#e6e6e6"'}


def draw(topology, wanted, output):
    """Writes the picture to a file or standard output. Returns the exit status."""
    kind = wanted or kind_of(output)
    data = (plain_text if kind == "text" else dot_text)(topology).encode()
    if kind in ("svg", "png"):
        data = render(data, kind, len(topology.members()))
    if output:
        with open(output, "wb") as file:
            file.write(data)
    else:
        sys.stdout.buffer.write(data)
    return 0


def kind_of(output):
    """Returns the format that the name of the output selects."""
    if not output:
        return "svg" if shutil.which("dot") else "text"
    suffix = os.path.splitext(output)[1]
    if suffix not in SUFFIXES:
        raise errors.Wrong(f"-o {output}: expected a name that ends with {', '.join(SUFFIXES)}, or "
                           "--format")
    return SUFFIXES[suffix]


def render(text, kind, members):
    if not shutil.which("dot"):
        raise errors.Cannot("needs dot: graphviz is not installed; use --format text")
    engine = "twopi" if members > 12 and shutil.which("twopi") else "dot"
    try:
        done = subprocess.run([engine, f"-T{kind}"], input=text, capture_output=True, check=False,
                              timeout=DRAW_SECONDS)
    except subprocess.TimeoutExpired:
        raise errors.Failed(f"{engine}: no picture after {DRAW_SECONDS} s; use --format text") \
            from None
    if done.returncode:
        raise errors.Failed(f"{engine}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def dot_text(topology):
    lines = [f'graph "{topology.label}" {{',
             f'  label="{topology.label}"; labelloc=t; fontname="DejaVu Sans"; rankdir=LR; '
             "nodesep=0.4; ranksep=1.2; overlap=false;",
             '  node [fontname="DejaVu Sans" fontsize=11]; '
             'edge [fontname="DejaVu Sans" fontsize=9];']
    for member in [*topology.members().values(), *topology.networks.values()]:
        lines.append(f'  "{member.name}" [label="{node_label(topology, member)}" '
                     f"{SHAPES[member.kind]}];")
    for link in topology.links:
        first, second = (end.member.name for end in link.ends)
        lines.append(f'  "{first}" -- "{second}" [label="{link_label(topology, link)}"];')
    return "\n".join([*lines, "}"]) + "\n"


def plain_text(topology):
    """Returns a line for each network and link, followed by its interfaces."""
    lines = [f"{topology.label}: {', '.join(counted(topology))}"]
    for member in topology.members().values():
        if member.ssh:
            lines.append(f"{member.name}  {member.ssh}")
    for subnet in topology.subnets:
        prefixes = " ".join(map(str, subnet.prefixes.values()))
        names = " + ".join(f"network {one.name}" for one in subnet.networks)
        lines += ["", f"{names or 'link ' + subnet.links[0].name()}  {prefixes}"]
        for end in subnet.ends:
            shown = " ".join(str(address.ip) for address in end.addresses)
            lines.append(f"  {end.member.kind:6} {end.member.name} {end.interface}  {shown}")
        for link in subnet.links:
            text = link_label(topology, link).replace("\\n", ", ")
            lines += [f"  link {link.name()}: {text}"] if text else []
    return "\n".join(lines) + "\n"


def counted(topology):
    for kind, all_of in (("host", topology.hosts), ("router", topology.routers),
                         ("network", topology.networks)):
        if all_of:
            yield f"{len(all_of)} {kind}{'s' if len(all_of) > 1 else ''}"


def node_label(topology, member):
    if member.ssh:
        return f"{member.name}\\n{member.ssh}"
    many = len(topology.members()) > 12
    if member.kind == "network":
        prefixes = [prefix for one in topology.subnets if member in one.networks
                    for prefix in one.prefixes.values()]
        return "\\n".join([member.name, *map(str, prefixes)])
    shown = [str(address.ip) for end in member.ends for address in end.addresses]
    return "\\n".join([member.name, *(shown[:1] if many else shown)])


def link_label(topology, link):
    """Both directions on one line if they are alike."""
    both = [one.text() for one in link.toward]
    if both[0] == both[1]:
        lines = [both[0].replace(", ", "\\n")] if both[0] else []
    else:
        lines = [f"to {end.member.name}: {text or 'unimpaired'}"
                 for end, text in zip(link.ends, both)]
    lines += [rule.replace("\\", "\\\\").replace('"', '\\"') for rule in link.rules]
    if link.mtu != 1500:
        lines.append(f"MTU {link.mtu}")
    return "\\n".join(lines)
