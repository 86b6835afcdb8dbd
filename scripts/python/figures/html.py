# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A run of scripts/bench as one HTML file that needs no network and no script.

Each figure has a small picture. Its horizontal axis is logarithmic, and shows by which factor the
ratio is better than the bar, to the right, or worse, to the left. So all figures have the same
picture, for "at least" and for "at most". A figure without a bar is drawn beside the ratio 1.
"""

import html
import math

from . import compare, rows, text

WIDTH, HEIGHT, EDGE = 200, 22, 6
SPAN = 4  # the factor at both ends of the axis

STYLE = """
:root { color-scheme: light dark; --back: #fff; --text: #1a1a1a; --dim: #626262; --line: #d4d4d4;
  --good: #1a7f37; --bad: #c02b2b; --none: #3867b8; --then: #8a5a00; }
@media (prefers-color-scheme: dark) {
  :root { --back: #16181c; --text: #e8e8e8; --dim: #a0a4aa; --line: #3a3f46;
    --good: #4cc266; --bad: #ff7b72; --none: #7fb0ff; --then: #e0b050; } }
body { background: var(--back); color: var(--text); font: 15px/1.45 system-ui, sans-serif;
  margin: 2rem auto; max-width: 92rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
p, ul { max-width: 60rem; } .dim { color: var(--dim); }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem; text-align: left;
  vertical-align: middle; }
th { color: var(--dim); font-weight: 600; white-space: nowrap; }
.what { min-width: 15rem; }
.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.met { color: var(--good); } .missed { color: var(--bad); font-weight: 600; }
svg { display: block; } svg .axis { stroke: var(--line); } svg .bar { stroke: var(--text); }
svg .met { fill: var(--good); } svg .missed { fill: var(--bad); } svg .none { fill: var(--none); }
svg .range { fill-opacity: .35; } svg .then { fill: none; stroke: var(--then); stroke-width: 1.5; }
"""


def page(document, old=None):
    """Returns the whole page. old: the document to compare with, or None."""
    before = {figure["id"]: figure for figure in old["figures"]} if old else {}
    title = f"Figures of {document['date'][:10]}"
    parts = [f"<h1>{escape(title)}</h1>", summary(document), facts(document),
             legend(bool(old)), table(document, before), remarks(document)]
    if old:
        parts.append(comparison(document, old))
    return ('<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
            "style-src 'unsafe-inline'\">\n"
            f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
            + "\n".join(part for part in parts if part) + "\n</body>\n</html>\n")


def escape(value):
    return html.escape(str(value))


def summary(document):
    results = [figure.get("pass") for figure in document["figures"]]
    told = [f"{results.count(True)} of {len(results) - results.count(None)} bars met"]
    if document["failed"]:
        told.append(f"runs failed for {' '.join(document['failed'])}")
    if document["skipped"]:
        told.append(f"{len(document['skipped'])} not measured")
    if document.get("quick"):
        told.append("--quick: one short pair each, so these figures mean little")
    return f"<p><strong>{escape('; '.join(told))}.</strong></p>"


def facts(document):
    lines = [f"{document['cpu']}, {document['cores']} cores, {document.get('machine', '')} Linux "
             f"{document['kernel']}; {document['date']}",
             f"{text.pairs(document)} of {document['seconds']} s; load "
             f"{document['load_before']} before, {document['load_after']} after",
             "Versions: " + ", ".join(value for value in document["versions"].values() if value)]
    if document["beside"]:
        lines.append(f"Other build: {document['beside']['version']}, "
                     f"{document['beside']['folder']}")
    if document["iperf3_ran_with"]:
        lines.append(f"iperf3 reports that it ran with {text.ran_with(document)}")
    for name, control in document["congestion_control"].items():
        lines.append(f"{name}: {text.peer_medians(control)}")
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"


def legend(compared):
    then = "; the open circle is the ratio of the earlier run" if compared else ""
    return ('<p class="dim">In the pictures the vertical line is the bar to reach. The dot is the '
            "ratio, the wide stripe its range from the lowest to the highest pair. Right of the "
            f"line is better, each mark is a factor of two{then}. A figure without a bar is drawn "
            "beside the ratio 1.</p>")


def table(document, before):
    other = ('<th class="n">other build</th><th class="n">ours / other</th>'
             if document["beside"] else "")
    lines = ['<div class="scroll"><table><thead><tr><th>Id</th><th>What</th>'
             '<th class="n">ours</th><th class="n">peer</th><th class="n">ratio (min to max)</th>'
             f'<th>picture</th><th class="n">bar</th><th></th>{other}'
             "</tr></thead><tbody>"]
    for figure in document["figures"]:
        lines.append(row(figure, before.get(figure["id"]), bool(document["beside"])))
    return "\n".join(lines) + "</tbody></table></div>"


def row(figure, then, other):
    cells = [f'<td id="{escape(figure["id"])}">{escape(figure["id"])}</td>',
             f"<td class=\"what\">{escape(figure['what'])}</td>",
             number(f"{text.amount(figure, 'ours')} {figure['unit']}"),
             number(f"{text.amount(figure, 'peer')} {figure['unit']}"),
             number(text.spread(figure, "ratio")), f"<td>{picture(figure, then)}</td>",
             number(text.bar(figure)),
             f'<td class="{kind(figure)}">{"" if kind(figure) == "none" else kind(figure)}</td>']
    if other:
        cells += [number(f"{text.amount(figure, 'other')} {figure['unit']}"),
                  number(text.spread(figure, "other_ratio"))] if "other" in figure \
            else ["<td></td>", "<td></td>"]
    return "<tr>" + "".join(cells) + "</tr>"


def number(value):
    return f'<td class="n">{escape(value)}</td>'


def kind(figure):
    return {True: "met", False: "missed"}.get(figure.get("pass"), "none")


# --- pictures ------------------------------------------------------------------------------------

def picture(figure, then):
    """Returns the SVG of a figure. then: the same figure of an earlier run, or None."""
    low, high = sorted(place(figure, figure[key]) for key in ("ratio_min", "ratio_max"))
    middle, centre = HEIGHT / 2, place(figure, reference(figure))
    told = (f"{figure['id']}: ratio {text.spread(figure, 'ratio')}, bar {text.bar(figure)}"
            + (f", then {then['ratio']:.2f}" if then else ""))
    marks = "".join(f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{middle - 3:.1f}" '
                    f'y2="{middle + 3:.1f}"/>' for x in (at(factor) for factor in
                                                         (1 / SPAN, 1 / 2, 2, SPAN)))
    circle = f'<circle class="then" cx="{place(figure, then["ratio"]):.1f}" cy="{middle}" r="4"/>' \
        if then else ""
    return (f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'aria-label="{escape(told)}"><title>{escape(told)}</title>'
            f'<line class="axis" x1="{EDGE}" x2="{WIDTH - EDGE}" y1="{middle}" y2="{middle}"/>'
            f'{marks}<rect class="range {kind(figure)}" x="{low:.1f}" y="{middle - 6}" '
            f'width="{max(high - low, 1):.1f}" height="12"/>'
            f'<line class="bar" x1="{centre:.1f}" x2="{centre:.1f}" y1="1" y2="{HEIGHT - 1}"/>'
            f'<circle class="{kind(figure)}" cx="{place(figure, figure["ratio"]):.1f}" '
            f'cy="{middle}" r="4"/>{circle}</svg>')


def reference(figure):
    return figure.get("bar") or 1


def place(figure, ratio):
    """Returns the horizontal place of a ratio."""
    if ratio <= 0:
        return at(0)
    factor = ratio / reference(figure)
    return at(factor if figure["sign"] == rows.AT_LEAST else 1 / factor)


def at(factor):
    """Returns the place of a factor; those beyond the ends of the axis are at the ends."""
    limited = min(max(factor, 1 / SPAN), SPAN)
    return WIDTH / 2 + math.log(limited) / math.log(SPAN) * (WIDTH / 2 - EDGE)


# --- below the table -----------------------------------------------------------------------------

def remarks(document):
    lines = [f"{skipped['id']}: not measured; {skipped['reason']}"
             for skipped in document["skipped"]]
    lines += [*document["notes"], *text.ended_lines(document), *text.busy(document)]
    if not lines:
        return ""
    return "<h2>Remarks</h2><ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"


def comparison(document, old):
    lines = [f"<h2>Compared with the run of {escape(old['date'][:10])}</h2>",
             f'<p class="dim">{escape(old["cpu"])}, Linux {escape(old["kernel"])}. A change is '
             "beyond the spread if the ranges of both runs do not overlap. One measurement has no "
             "range.</p>",
             '<div class="scroll"><table><thead><tr><th>Id</th>'
             '<th class="n">ratio now</th><th class="n">then</th><th class="n">change</th>'
             "<th></th></tr></thead><tbody>"]
    for each in compare.changes(document, old):
        css = "" if not each["beyond"] else \
            ' class="met"' if each["verdict"].startswith("better") else ' class="missed"'
        lines.append(f"<tr><td>{escape(each['id'])}</td>{number(compare.number(each['now']))}"
                     f"{number(compare.number(each['then']))}"
                     f"{number(compare.percent(each['percent']))}"
                     f"<td{css}>{escape(each['verdict'])}</td></tr>")
    return "\n".join(lines) + "</tbody></table></div>"
