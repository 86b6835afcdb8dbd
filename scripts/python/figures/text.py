# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A run of scripts/bench as text: the table on the terminal and the page in Markdown."""

from . import rows

BUSY = 0.5  # load average above which other work may have disturbed the run
DIGITS = {"s/GiB": 3, "": 2, "/s": 0, "of 8": 0}  # after the point, for a unit; default 1


def amount(figure, key):
    """A value in the unit of its row, without the unit."""
    digits = DIGITS.get(figure["unit"], 1)
    return f"{figure[key] / rows.scale(figure):.{digits}f}"


def bar(figure):
    return f"{figure['sign']} {figure['bar']:g}" if figure.get("bar") is not None else "-"


def verdict(figure):
    return {True: "pass", False: "MISS", None: ""}[figure.get("pass")]


def terminal(document):
    """Returns the lines on the machine, those of the table, and the remarks."""
    yield from machine_lines(document)
    yield ""
    width = max([46, *(len(figure["what"]) for figure in document["figures"])])
    other = "  other build   ours/other" if document["beside"] else ""
    yield (f"{'Id':8} {'What':{width}} {'ours':>12} {'peer':>12}  {'ratio (min..max)':20} "
           f"{'bar':8}     {other}").rstrip()
    for figure in document["figures"]:
        yield table_line(figure, width)
    for skipped in document["skipped"]:
        yield f"{skipped['id']:8} not measured; {skipped['reason']}"
    for name in document["failed"]:
        yield f"{name:8} a run failed"
    for note in document["notes"]:
        yield f"note: {note}"
    yield from ended_lines(document)
    if document.get("quick"):
        yield "\n--quick: one short pair each; these figures mean little"
    for line in busy(document):
        yield f"\n{line}"


def busy(document):
    """Returns the remark on other work, if there was any before the run, as a list."""
    if document["load_before"] <= BUSY:
        return []
    return [f"the machine was busy before the run (load {document['load_before']}, above {BUSY}): "
            "the figures may be wrong"]


def machine_lines(document):
    versions = document["versions"]
    named = [versions.get("ddp_bench") or "unknown ddp-bench", versions.get("iperf3") or
             "no iperf3", versions.get("sockperf") or "no sockperf"]
    yield (f"{document['cpu']}, {document['cores']} cores, kernel {document['kernel']}; "
           f"{', '.join(named)}")
    if document["beside"]:
        yield f"other build: {document['beside']['folder']}, {document['beside']['version']}"
    yield (f"{pairs(document)} of {document['seconds']} s; load "
           f"{document['load_before']} before, {document['load_after']} after")
    for name, control in document["congestion_control"].items():
        yield f"{name}: {peer_medians(control)}"
    if document["iperf3_ran_with"]:
        yield "iperf3 reports that it ran with " + ran_with(document)
    for figure in document["figures"]:
        cpu = figure.get("cpu_seconds_per_gib")
        if cpu:
            yield (f"{figure['id']}: CPU seconds per GiB, both ends, medians: ours "
                   f"{cpu['ours']:.3f}, peer {cpu['peer']:.3f}")


def pairs(document):
    return "1 pair" if document["pairs"] == 1 else f"{document['pairs']} interleaved pairs"


def peer_medians(control):
    """The medians of the peer with each congestion control, and the ratio of rates beside those
    that do not give the figure."""
    medians = ", ".join(f"{cc} {round(value / 1e9, 1):g} Gb/s" for cc, value
                        in sorted(control["peer_bits_per_second"].items()))
    others = "".join(f"; ratio of rates with {cc}: {ratio:.2f}" for cc, ratio
                     in sorted(control.get("ratios", {}).items()) if cc != control["cc"])
    return f"beside {control['cc']}; {control.get('peer', 'iperf3')}, medians: {medians}{others}"


def ran_with(document):
    """The congestion control that iperf3 reported, for each figure."""
    return "; ".join(f"{' and '.join(ccs)} in {name}"
                     for name, ccs in document["iperf3_ran_with"].items())


def ended_lines(document):
    """One line for each figure with runs that were ended at their time limit."""
    for figure in document["figures"]:
        sides = {name: figure[key] for key, name in (("ours_ended", "ours"),
                                                     ("peer_ended", "the peer")) if key in figure}
        if sides:
            counts = " and ".join(f"{name} in {count}" for name, count in sides.items())
            bound = {("ours",): "the true ratio is at least this one",
                     ("the peer",): "the true ratio is at most this one"}.get(
                         tuple(sides), "the ratio says nothing")
            yield (f"{figure['id']}: runs that were ended at the time limit: {counts} of "
                   f"{len(figure['values'])} rounds; {bound}")


def table_line(figure, width):
    ours, peer = (f"{amount(figure, key):>6} {figure['unit']:5}" for key in ("ours", "peer"))
    return (f"{figure['id']:8} {figure['what']:{width}} {ours} {peer}  "
            f"{spread(figure, 'ratio', '..'):20} {bar(figure):8} "
            f"{verdict(figure):4}{other_build(figure)}").rstrip()


def other_build(figure):
    if "other" not in figure:
        return ""
    return (f"  {amount(figure, 'other'):>6} {figure['unit']:5}  "
            f"{spread(figure, 'other_ratio', '..')}")


# --- the page ------------------------------------------------------------------------------------

INTRODUCTION = """\
# Figures

`scripts/bench --page FILE` writes such a page. Most figures compare with a named peer in the same
run, over two network namespaces joined by veth (MTU 1500, default offloads). P12, P12u and P31
compare with a constant, P1lo uses loopback, P3m an MTU of 9,000 octets, and the L figures a link
that `ddp-impair` makes, with offloads off. CRC is on, except in P32 and P32m (the default of
start-up by ssh) and in P31 (DTLS protects the packets, and SCTP then needs no checksum). The data
of every run is verified. A ratio is the median of the ratios of the pairs, which can differ from
the ratio of the two medians; its range follows in parentheses, unless there was only one
measurement. In P8 and P9 our tools poll for up to 60 us before they sleep; sockperf sleeps at once.
`scripts/bench --help` and the heads of the files in `scripts/measure` describe the figures.
"""


def page(document):
    """Returns the page in Markdown: the same table, with a description of the measurements."""
    parts = [INTRODUCTION, measured(document), table(document)]
    if document["skipped"]:
        parts.append("Not measured:\n\n" + "".join(
            f"- {skipped['id']}: {skipped['reason']}\n" for skipped in document["skipped"]))
    remarks = [*document["notes"], *ended_lines(document), *busy(document)]
    if remarks:
        parts.append("Remarks:\n\n" + "".join(f"- {remark}\n" for remark in remarks))
    if document["failed"]:
        parts.append(f"Runs failed for: {' '.join(document['failed'])}.\n")
    if document.get("quick"):
        parts.append("These are figures of --quick: one short pair each.\n")
    return "\n".join(parts)


def measured(document):
    versions = ", ".join(version for version in document["versions"].values() if version)
    result = (f"Measured on {document['date'][:10]}: {document['cpu']}, {document['cores']} cores, "
              f"Linux {document['kernel']}; {pairs(document)} of "
              f"{document['seconds']} s (L1 and L1b: at least 5 s; L2 and L2b: at least 20 s; "
              "L4: at most three rounds; P5 to P6m: at most 5 pairs of 200 ms; P11: 7 pairs); "
              f"load before: {document['load_before']}.\n\n"
              f"Versions: {versions}.\n")
    if document["beside"]:
        result += (f"\nOther build: {document['beside']['version']}, measured in the same "
                   "rounds.\n")
    if document["iperf3_ran_with"]:
        result += f"\niperf3 reports that it ran with {ran_with(document)}.\n"
    if document["congestion_control"]:
        chosen = ", ".join(f"{name} {control['cc']}" for name, control
                           in document["congestion_control"].items())
        result += ("\nThe congestion control of TCP with which the peer was faster; the figure "
                   f"uses it: {chosen}.\n")
    return result


def table(document):
    other = bool(document["beside"])
    lines = ["| Id | What | ours | peer | ratio | bar | |" +
             (" other build | ours / other |" if other else ""),
             "|---|---|---|---|---|---|---|" + ("---|---|" if other else "")]
    for figure in document["figures"]:
        missed = "missed" if figure.get("pass") is False else ""
        lines.append(f"| {figure['id']} | {figure['what']} | {amount(figure, 'ours')} "
                     f"{figure['unit']} | {amount(figure, 'peer')} {figure['unit']} | "
                     f"{spread(figure, 'ratio')} | {bar(figure)} | {missed} |" +
                     (other_cells(figure) if other else ""))
    return "\n".join(lines) + "\n"


def other_cells(figure):
    if "other" not in figure:
        return " | |"
    return f" {amount(figure, 'other')} {figure['unit']} | {spread(figure, 'other_ratio')} |"


def spread(figure, key, to=" to "):
    """The ratio and its range. One measurement has no range."""
    low, high = figure[key + "_min"], figure[key + "_max"]
    return f"{figure[key]:.2f}" + ("" if low == high else f" ({low:.2f}{to}{high:.2f})")
