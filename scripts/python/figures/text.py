# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A run of scripts/bench as text: the table on the terminal and the page in Markdown."""

from . import rows

BUSY = 0.5  # load average above which other work may have disturbed the run


def amount(figure, key):
    """A value in the unit of its row, without the unit."""
    digits = 3 if figure["unit"] == "s/GiB" else 1
    return f"{figure[key] / rows.scale(figure):.{digits}f}"


def bar(figure):
    return f"{figure['sign']} {figure['bar']:g}" if figure.get("bar") is not None else "-"


def verdict(figure):
    return {True: "pass", False: "MISS", None: ""}[figure.get("pass")]


def terminal(document):
    """Returns the lines of the table and of what belongs to it."""
    yield from machine_lines(document)
    yield ""
    yield f"{'Id':8} {'What':46} {'ours':>12} {'peer':>12}  {'ratio (min..max)':18} {'bar':8}"
    for figure in document["figures"]:
        yield table_line(figure)
    for skipped in document["skipped"]:
        yield f"{skipped['id']:8} not measured; {skipped['reason']}"
    for name in document["failed"]:
        yield f"{name:8} a run failed"
    if document.get("quick"):
        yield "\n--quick: one short pair each; these figures mean little"
    if document["load_before"] > BUSY:
        yield "\nthe machine was busy before: figures may be off"


def machine_lines(document):
    versions = document["versions"]
    yield (f"{document['cpu']}, {document['cores']} cores, kernel {document['kernel']}; "
           f"{versions['ddp_bench']}, {versions['iperf3'] or 'no iperf3'}, "
           f"{versions['sockperf'].split(',')[0] or 'no sockperf'}")
    yield (f"{document['pairs']} pair(s) of {document['seconds']} s; load "
           f"{document['load_before']} before, {document['load_after']} after")
    for name, control in document["congestion_control"].items():
        medians = ", ".join(f"{cc} {round(value / 1e9, 1):g} Gb/s" for cc, value
                            in sorted(control["peer_bits_per_second"].items()))
        yield f"{name}: beside {control['cc']}; iperf3, medians: {medians}"
    for figure in document["figures"]:
        cpu = figure.get("cpu_seconds_per_gib")
        if cpu:
            yield (f"{figure['id']}: CPU seconds per GiB, both ends, medians: ours "
                   f"{cpu['ours']:.3f}, peer {cpu['peer']:.3f}")


def table_line(figure):
    ours, peer = (f"{amount(figure, key):>6} {figure['unit']:5}" for key in ("ours", "peer"))
    return (f"{figure['id']:8} {figure['what']:46} {ours} {peer}  {figure['ratio']:.2f} "
            f"({figure['ratio_min']:.2f}..{figure['ratio_max']:.2f})  {bar(figure):8} "
            f"{verdict(figure)}").rstrip()


# --- the page ------------------------------------------------------------------------------------

INTRODUCTION = """\
# Figures

`scripts/bench --page docs/figures.md` writes this page. It measures each figure beside a named peer in the same run: over two network
namespaces joined by veth (MTU 1500, default offloads), with CRC on (off in P32 and P32m: the default of start-up by ssh) and the data of every run verified. A ratio is the median of the ratios of
the pairs; its range follows in parentheses. The head of `scripts/bench` describes each figure.
"""


def page(document):
    """Returns the page in Markdown: the same table, with a description of the measurements."""
    parts = [INTRODUCTION, measured(document), table(document)]
    if document["skipped"]:
        parts.append("Not measured:\n\n" + "".join(
            f"- {skipped['id']}: {skipped['reason']}\n" for skipped in document["skipped"]))
    if document["failed"]:
        parts.append(f"Runs failed for: {' '.join(document['failed'])}.\n")
    if document.get("quick"):
        parts.append("These are figures of --quick: one short pair each.\n")
    return "\n".join(parts)


def measured(document):
    versions = ", ".join(version for version in document["versions"].values() if version)
    result = (f"Measured on {document['date'][:10]}: {document['cpu']}, {document['cores']} cores, "
              f"Linux {document['kernel']}; {document['pairs']} interleaved pairs of "
              f"{document['seconds']} s; load before: {document['load_before']}.\n\n"
              f"Versions: {versions}.\n")
    if document["congestion_control"]:
        chosen = ", ".join(f"{name} {control['cc']}" for name, control
                           in document["congestion_control"].items())
        result += ("\nTCP congestion control, the one that was faster for iperf3: "
                   f"{chosen}.\n")
    return result


def table(document):
    lines = ["| Id | What | ours | peer | ratio | bar | |", "|---|---|---|---|---|---|---|"]
    for figure in document["figures"]:
        missed = "missed" if figure.get("pass") is False else ""
        lines.append(f"| {figure['id']} | {figure['what']} | {amount(figure, 'ours')} "
                     f"{figure['unit']} | {amount(figure, 'peer')} {figure['unit']} | "
                     f"{figure['ratio']:.2f} ({figure['ratio_min']:.2f} to "
                     f"{figure['ratio_max']:.2f}) | {bar(figure)} | {missed} |")
    return "\n".join(lines) + "\n"
