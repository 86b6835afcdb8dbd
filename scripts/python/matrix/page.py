# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Results as one HTML page that needs no network: web/page.html.j2 with its styles, its scripts and
the data inlined.

The data is JSON in a script element that the browser does not run; web/*.js shows it as text, never
as markup. A content security policy admits exactly the inlined style and script, by their hashes.
"""

import base64
import hashlib
import json
import os

import jinja2
import markupsafe

from . import compare, results, tables, units

WEB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "web")
STYLES = ("page.css", "parts.css")
SCRIPTS = ("data.js", "state.js", "filters.js", "grid.js", "measurements.js", "changes.js",
           "history.js", "panel.js", "page.js")
FIELDS = ("id", "client", "server", "test", "impairment", "result", "reason", "seconds", "seed",
          "attempts", "log", "capture", "rerun", "versions", "measurements")


def html(document, old=None, change=None, history=()):
    """The whole page as text. old, change: the run to compare with, and compare.difference()."""
    style, script = bundle(STYLES), "(() => {\n" + bundle(SCRIPTS) + "\n})();"
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(WEB), autoescape=True,
                                     trim_blocks=True, lstrip_blocks=True,
                                     undefined=jinja2.StrictUndefined)
    return environment.get_template("page.html.j2").render(
        run=document["run"], total=results.totals(document["cells"]), results=results.RESULTS,
        facts=facts(document), style=markupsafe.Markup(style), script=markupsafe.Markup(script),
        policy=policy(style, script),
        data=markupsafe.Markup(embedded(data(document, old, change, history))))


def bundle(names):
    texts = []
    for name in names:
        with open(os.path.join(WEB, name), encoding="utf-8") as file:
            texts.append(file.read())
    return "\n".join(texts)


def policy(style, script):
    return (f"default-src 'none'; img-src data:; style-src '{digest(style)}'; "
            f"script-src '{digest(script)}'; base-uri 'none'; form-action 'none'")


def digest(content):
    octets = hashlib.sha256(content.encode()).digest()
    return "sha256-" + base64.b64encode(octets).decode()


def embedded(value):
    """JSON that cannot end the script element, and that every browser reads as UTF-8."""
    encoded = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    for mark in "<>&":
        encoded = encoded.replace(mark, f"\\u{ord(mark):04x}")
    return encoded


def data(document, old, change, history):
    """What the scripts show."""
    names = tables.measurement_names(document)
    return {
        "run": document["run"],
        "implementations": document["implementations"],
        "tests": results.by_operation(document["tests"]),
        "codes": results.codes(document),
        "impairments": document["impairments"],
        "fields": FIELDS,
        "cells": [[cell[field] for field in FIELDS] for cell in document["cells"]],
        "notRun": results.not_run(document),
        "measurements": {name: units.describe(name) for name in names},
        "old": compare.run_facts(old) if old else None,
        "difference": change,
        "history": compare.timeline(document, history) if history else None,
    }


def facts(document):
    """(name, value) of the header."""
    run, machine = document["run"], document["run"]["machine"]
    version = f"{run['version']} ({run['commit']})" if run["commit"] else run["version"]
    rows = [("Started", run["started"].replace("T", " ").replace("Z", " UTC")),
            ("Duration", duration(run["seconds"])),
            ("Version", version), ("Profile", run["profile"]), ("Seed", str(run["seed"])),
            ("System", machine["system"]), ("Kernel", machine["kernel"]),
            ("Processor", processor(machine))]
    return [(name, value) for name, value in rows if value]


def duration(seconds):
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def processor(machine):
    count = f"{machine['processors']} x " if machine["processors"] else ""
    name = count + machine["processor"] if machine["processor"] else ""
    memory = f"{machine['memory_octets'] / (1 << 30):.1f} GiB" if machine["memory_octets"] else ""
    return ", ".join(part for part in (name, memory) if part)
