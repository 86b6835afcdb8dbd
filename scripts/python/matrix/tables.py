# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Results as Markdown (tables for a README) and as CSV (one line for each cell)."""

import csv
import io
import statistics

from . import results, units

MOST_ROWS = 200  # of cells that did not pass, in Markdown

# --- Markdown ------------------------------------------------------------------------------------


def markdown(document, change=None):
    """The whole page: facts, matrix, measurements, failures, and the difference if there is one."""
    parts = [heading(document), matrix(document), measurements(document), failures(document),
             not_run(document), difference(change), legend(document)]
    return "\n".join(part for part in parts if part)


def text(value):
    """Data as text in a table: no markup, no line breaks, no cell borders."""
    flat = " ".join(str(value).split())
    for mark in "\\`*_[]|~#":
        flat = flat.replace(mark, "\\" + mark)
    return flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def code(value):
    """Data as code in a table."""
    flat = " ".join(str(value).split()).replace("|", "\\|")
    fence = "`" * (longest_run(flat) + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{fence}{pad}{flat}{pad}{fence}" if flat else ""


def longest_run(value):
    longest = current = 0
    for letter in value:
        current = current + 1 if letter == "`" else 0
        longest = max(longest, current)
    return longest


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def heading(document):
    run, machine = document["run"], document["run"]["machine"]
    where = ", ".join(part for part in (machine["system"], machine["kernel"]) if part)
    facts = [f"Run {text(run['id'])}, {text(run['started'])}, {run['seconds']:.0f} s, "
             f"profile {text(run['profile'] or 'none')}, seed {run['seed']}.",
             f"Version {text(run['version'])} ({text(run['commit'])})"
             + (f" on {text(where)}." if where else ".")]
    total = results.summary(results.totals(document["cells"]))
    return f"# Interop matrix\n\n**{total}**\n\n{chr(10).join(facts)}\n"


def grouped(cells, key):
    groups = {}
    for cell in cells:
        groups.setdefault(key(cell), []).append(cell)
    return groups


def pairs(document):
    return grouped(document["cells"], lambda cell: (cell["client"], cell["server"]))


def matrix(document):
    if not document["cells"]:
        return "This run has no cells.\n"
    groups, short = pairs(document), results.codes(document)
    servers = results.names_of(document, "server")
    rows = [[f"**{text(client)}**",
             *(square(groups.get((client, server), []), short) for server in servers)]
            for client in results.names_of(document, "client")]
    head = ["client \\ server", *(text(server) for server in servers)]
    return "## Results\n\n" + table(head, rows)


def square(cells, short):
    """`12 pass; FAIL W1 R2; ERROR S; 3 unsupported`"""
    parts = []
    for result, group in sorted_groups(cells):
        names = list(dict.fromkeys(short[cell["test"]] for cell in group))
        if result in ("fail", "error"):
            more = f" and {len(names) - 6} more" if len(names) > 6 else ""
            parts.append(f"**{result.upper()}** {' '.join(names[:6])}{more}")
        else:
            parts.append(f"{len(group)} {result}")
    return "; ".join(parts) or "-"


def sorted_groups(cells):
    groups = grouped(cells, lambda cell: cell["result"])
    return [(result, groups[result]) for result in results.RESULTS if result in groups]


def failures(document):
    cells = [cell for cell in document["cells"] if cell["result"] in ("fail", "error")]
    if not cells:
        return ""
    rows = [[cell["result"], text(cell["id"]), text(cell["reason"]), code(cell["rerun"])]
            for cell in cells[:MOST_ROWS]]
    more = f"\n{len(cells) - MOST_ROWS} more are in result.csv.\n" if len(cells) > MOST_ROWS else ""
    return "## Failures and errors\n\n" + \
        table(["result", "cell", "reason", "command"], rows) + more


def not_run(document):
    rows = [[text(what), text(reason)] for what, reason in results.not_run(document)]
    return "## Not run here\n\n" + table(["what", "reason"], rows) if rows else ""


def unimpaired(document):
    """The cells without impairment, or all cells if there is none. Impaired and other cells have no
    common median."""
    plain_ones = {name for name, it in document["impairments"].items()
                  if not it["rules"] and not it["link"]}
    return [cell for cell in document["cells"] if cell["impairment"] in plain_ones] \
        or document["cells"]


def measurement_names(document):
    return list(dict.fromkeys(name for cell in document["cells"] for name in cell["measurements"]))


def measurements(document):
    parts = [one_measurement(document, name) for name in measurement_names(document)]
    return "## Measurements\n\n" + "\n".join(parts) if parts else ""


def one_measurement(document, name):
    groups = grouped([cell for cell in unimpaired(document) if name in cell["measurements"]],
                     lambda cell: (cell["client"], cell["server"]))
    servers = [server for server in results.names_of(document, "server")
               if any(pair[1] == server for pair in groups)]
    clients = [client for client in results.names_of(document, "client")
               if any(pair[0] == client for pair in groups)]
    if not groups:
        return ""
    rows = [[f"**{text(client)}**",
             *(median_of(groups.get((client, server), []), name) for server in servers)]
            for client in clients]
    return table([f"{text(units.title(name))} (median)", *(text(server) for server in servers)],
                 rows)


def median_of(cells, name):
    if not cells:
        return "-"
    return units.show(name, statistics.median(cell["measurements"][name] for cell in cells))


def difference(change):
    if change is None:
        return ""
    rows = [[kind, text(cell["id"]), cell["old"] or "-", cell["new"] or "-", text(cell["reason"])]
            for kind in ("failures", "errors", "repairs", "others", "appeared", "disappeared")
            for cell in change[kind][:MOST_ROWS]]
    if not rows:
        return "## Difference\n\nNo result has changed.\n"
    return "## Difference\n\n" + table(["kind", "cell", "before", "now", "reason"], rows)


def legend(document):
    short = results.codes(document)
    rows = [[short[name], text(name), text(test["title"])]
            for name, test in results.by_operation(document["tests"]).items()]
    return "## Tests\n\n" + table(["code", "test", "what"], rows) if rows else ""


# --- CSV -----------------------------------------------------------------------------------------

COLUMNS = ("id", "client", "server", "test", "transport", "operation", "options", "impairment",
           "result", "reason", "seconds", "seed", "attempts", "client_version", "server_version",
           "log", "capture", "rerun")


def comma_separated(document):
    """One line for each cell, and one column for each measurement."""
    names = measurement_names(document)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*COLUMNS, *(plain(name) for name in names)])
    for cell in document["cells"]:
        row = csv_row(cell, document["tests"][cell["test"]])
        writer.writerow([plain(row[column]) for column in COLUMNS]
                        + [cell["measurements"].get(name, "") for name in names])
    return out.getvalue()


def csv_row(cell, test):
    options = ";".join(f"{key}={value}" for key, value in test["options"].items())
    return {**cell, "transport": test["transport"], "operation": test["operation"],
            "options": options, "client_version": cell["versions"]["client"],
            "server_version": cell["versions"]["server"]}


def plain(value):
    """Spreadsheets run a text that begins like a formula: an apostrophe makes it text."""
    if isinstance(value, str):
        flat = " ".join(value.replace("\0", "").split())
        return "'" + flat if flat.startswith(("=", "+", "-", "@")) else flat
    return "" if value is None else value
