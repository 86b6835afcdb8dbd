# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Results as JUnit XML: one suite for each pair of client and server, one case for each cell.

fail is a failure, error an error, unsupported a skipped case.
"""

import re
import xml.etree.ElementTree as ET

from . import results
from .tables import pairs

# What XML 1.0 cannot hold, not even as a reference.
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
ELEMENT = {"fail": "failure", "error": "error", "unsupported": "skipped"}


def xml(document):
    """The whole file as text."""
    run = document["run"]
    root = ET.Element("testsuites", name="interop-matrix", time=seconds(run["seconds"]),
                      **counts(document["cells"]))
    for number, (pair, cells) in enumerate(pairs(document).items()):
        root.append(suite(number, pair, cells, run))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + \
        ET.tostring(root, encoding="unicode") + "\n"


def clean(value):
    return FORBIDDEN.sub("\ufffd", str(value))


def seconds(value):
    return f"{value:.3f}"


def counts(cells):
    total = results.totals(cells)
    return {"tests": str(len(cells)), "failures": str(total["fail"]),
            "errors": str(total["error"]), "skipped": str(total["unsupported"])}


def suite(number, pair, cells, run):
    client, server = pair
    element = ET.Element("testsuite", id=str(number), name=clean(f"{client} to {server}"),
                         timestamp=run["started"], time=seconds(sum(c["seconds"] for c in cells)),
                         **counts(cells))
    properties = ET.SubElement(element, "properties")
    for name in ("id", "version", "commit", "profile", "seed", "command"):
        ET.SubElement(properties, "property", name=name, value=clean(run[name]))
    for cell in cells:
        element.append(case(cell))
    return element


def case(cell):
    element = ET.Element("testcase", classname=clean(f"{cell['client']}.{cell['server']}"),
                         name=clean(f"{cell['test']}/{cell['impairment']}"),
                         time=seconds(cell["seconds"]))
    if cell["result"] in ELEMENT:
        ET.SubElement(element, ELEMENT[cell["result"]], message=clean(cell["reason"]))
    ET.SubElement(element, "system-out").text = clean(notes(cell))
    return element


def notes(cell):
    lines = [f"run again: {cell['rerun']}"] if cell["rerun"] else []
    lines += [f"{name}: {cell[name]}" for name in ("log", "capture") if cell[name]]
    lines += [f"{name}: {value}" for name, value in cell["measurements"].items()]
    return "\n".join(lines)
