#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests of the page of the interop matrix in headless Chromium, without a network.

usage: page_test.py RUNS GROUP...    RUNS: what runs.py made, and scripts/interop-report turned into pages

Prints a line for each check that fails. Exit status: 0 if all pass, 1 if not. An error on the console,
an exception, or a request for anything but a file is a failure of any group.
"""

import json
import os
import sys
import time

sys.dont_write_bytecode = True

from browser import Browser  # noqa: E402

CHIPS = "#main .chip[data-cell]"
FAILED = []


def check(what, seen, expected):
    if seen != expected:
        FAILED.append(what)
        print(f"{what}: {seen!r}: expected {expected!r}")


class Page:
    """The page of a run in a browser, with the questions that the checks ask."""

    def __init__(self, browser, runs, name):
        self.browser = browser
        self.path = os.path.join(runs, name, "index.html")
        with open(os.path.join(runs, name, "result.json"), encoding="utf-8") as file:
            self.document = json.load(file)

    def open(self, fragment=""):
        self.browser.open(self.path, fragment)

    def run(self, expression):
        return self.browser.run(expression)

    def key(self, key, modifier=""):
        self.browser.key(key, modifier)

    def count(self, selector):
        return self.run(f"document.querySelectorAll({json.dumps(selector)}).length")

    def text(self, selector):
        return self.run(f"document.querySelector({json.dumps(selector)})?.textContent")

    def hash(self):
        return self.run("location.hash")

    def focused(self):
        """The label of the element with the focus."""
        return self.run("document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent")

    def press(self, facet, value):
        self.browser.click(f'#facets .value[data-facet="{facet}"][data-value="{value}"]')

    def cells(self, **wanted):
        """The cells of the run that have these values."""
        return [cell for cell in self.document["cells"]
                if all(cell[name] in values for name, values in wanted.items())]

    def facet_counts(self, facet):
        return self.run("Object.fromEntries([...document.querySelectorAll('#facets .value[data-facet=\"%s\"]')]"
                        ".map((b) => [b.dataset.value, Number(b.lastElementChild.textContent)]))" % facet)


# --- groups ----------------------------------------------------------------------------------------

def filters(browser, runs):
    page = Page(browser, runs, "now")
    page.open()
    check("all cells are chips", page.count(CHIPS), len(page.document["cells"]))
    page.press("result", "fail")
    check("fail", page.count(CHIPS), len(page.cells(result=["fail"])))
    page.press("result", "error")
    bad = page.cells(result=["fail", "error"])
    check("fail or error", page.count(CHIPS), len(bad))
    check("address of fail or error", page.hash(), "#result=fail,error")
    page.press("client", "siw")
    check("and of one client", page.count(CHIPS), len(page.cells(result=["fail", "error"], client=["siw"])))
    check("the counts of clients apply the other filters", page.facet_counts("client"),
          {name: len([c for c in bad if c["client"] == name]) for name in page.facet_counts("client")})
    check("the counts of results apply the other filters", page.facet_counts("result"),
          {name: len(page.cells(result=[name], client=["siw"])) for name in page.facet_counts("result")})
    check("status", page.text("#shown"), f"{page.count(CHIPS)} of {len(page.document['cells'])} cells")
    page.browser.click("#clear")
    check("cleared", (page.count(CHIPS), page.hash()), (len(page.document["cells"]), ""))
    filter_text(page)


def filter_text(page):
    page.key("/")
    check("/ focuses the filter", page.run("document.activeElement.id"), "query")
    page.browser.type("crc flag probe-rdmac")
    shown = [c for c in page.document["cells"] if "CRC flag" in c["reason"]
             and "probe-rdmac" in (c["client"], c["server"])]
    check("words of a reason and a name", page.count(CHIPS), len(shown))
    check("address of a text", page.hash(), "#q=crc%20flag%20probe-rdmac")
    page.browser.type(" nothing-has-this")
    check("no match", page.text("#main .empty p"), "No cell matches the filters.")
    page.browser.click("#main .empty button")
    check("clear in the empty state", page.count(CHIPS), len(page.document["cells"]))


def address(browser, runs):
    """An address that was copied opens the same view in another browser tab."""
    page = Page(browser, runs, "now")
    wanted = page.cells(result=["fail"], client=["probe-rdmac", "usrsctp"])
    cell = wanted[0]["id"]
    fragment = "#cell=" + cell.replace("/", "%2F") + "&result=fail&client=probe-rdmac,usrsctp"
    page.open(fragment)
    check("cells of an address", page.count(CHIPS), len(wanted))
    check("the panel of an address", page.run("document.querySelector('#panel').hidden"), False)
    check("rerun command", page.text("#panel .command code"), wanted[0]["rerun"])
    check("the address stays", page.hash(), fragment)
    page.open("#view=list&sort=-seconds")
    slowest = max(page.document["cells"], key=lambda c: c["seconds"])
    check("sorted list", page.text("#main tbody td:nth-child(6)"), f"{slowest['seconds']:.2f} s")
    page.browser.click('[data-sort="client"]')
    check("address of a sort", page.hash(), "#view=list&sort=client")
    page.run("history.back()")
    page.browser.wait("location.hash === '#view=list&sort=-seconds'")
    page.browser.wait("document.querySelector('th[aria-sort=descending]')?.textContent === 'seconds'")
    page.open("#view=nonsense&result=odd,fail&client=%E0%A4%A&cell=none&q")
    check("unknown parts are ignored", page.count(CHIPS), len(page.cells(result=["fail"])))


def keyboard(browser, runs):
    page = Page(browser, runs, "now")
    page.open("#impairment=none")
    page.run("document.querySelector('#skip').focus()")
    page.key("Enter")
    first = page.focused()
    check("skip leads to the first chip", first.split(":")[0], "Write of 64K over TCP, iwarp-tools to iwarp-tools, none")
    check("the focus is visible", page.run("document.activeElement.matches(':focus-visible')"), True)
    check("tooltip on focus", page.run("document.querySelector('#tip').hidden"), False)
    page.key("ArrowRight")
    check("right", page.run("document.activeElement.textContent"), "W2")
    page.key("ArrowDown")
    check("down stays in the column", page.run("document.activeElement.textContent")[1:], "4")
    page.key("ArrowUp")
    check("up", page.run("document.activeElement.textContent"), "W2")
    page.key("End")
    check("end of the row", "iwarp-tools to usrsctp" in page.focused(), True)
    page.key("PageDown")
    check("next client", "probe-strict to iwarp-tools" in page.focused(), True)
    page.key("End", "Control")
    check("last chip", "usrsctp to usrsctp" in page.focused(), True)
    page.key("Home", "Control")
    check("first chip", page.focused(), first)
    check("one stop for Tab", page.count('#main [role="grid"] [tabindex="0"]'), 1)
    check("roles", [page.count(f'#main [role="{role}"]') for role in ("grid", "row", "columnheader", "rowheader")],
          [1, 6, 6, 5])
    panel_keys(page, first)


def panel_keys(page, first):
    page.key("ArrowRight")
    page.key("Enter")
    check("Enter opens", page.text("#panel h2"), "pass Write of 1M over TCP")
    check("the focus is in the panel", page.run("document.activeElement.id"), "panel")
    page.key("Escape")
    check("Esc closes", page.run("document.querySelector('#panel').hidden"), True)
    check("the focus is back", page.run("document.activeElement.textContent"), "W2")
    bad = page.cells(result=["fail", "error"], impairment=["none"])
    for cell in bad[:2]:
        page.key("n")
        check("n: next failure", page.text("#panel .reason"), cell["reason"])
    page.key("p")
    check("p: previous failure", page.text("#panel .reason"), bad[0]["reason"])
    page.key("Escape")
    page.run("document.querySelector('#tab-results').focus()")
    page.key("ArrowRight")
    check("arrows in the views", page.hash(), "#view=measurements&impairment=none")
    check("another chip has been first", first != page.focused(), True)


def panel(browser, runs):
    page = Page(browser, runs, "now")
    page.open()
    cell = page.cells(result=["fail"])[0]
    index = page.document["cells"].index(cell)
    page.browser.click(f'[data-cell="{index}"]')
    links = page.run("[...document.querySelectorAll('#panel .files a')].map((a) => decodeURIComponent(a.getAttribute('href')))")
    check("links", links, ["./" + cell["log"], "./" + cell["capture"]])
    for value in (cell["reason"], f"{cell['seconds']:.2f} s", cell["versions"]["client"], "crc="):
        check(f"the panel has {value}", value in page.text("#panel"), True)
    page.run("(navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }, 0)")
    page.browser.click("#panel .copy")
    check("copy", page.run("window.copied"), cell["rerun"])
    page.browser.wait("document.querySelector('#panel .copy').textContent === 'Copied'")
    page.run("(navigator.clipboard.writeText = () => Promise.reject(new Error('refused')), 0)")
    page.browser.click("#command + .copy")
    page.browser.wait("document.querySelector('#command + .copy').textContent === 'Copied'")
    page.browser.click("#panel .close")
    check("closed", page.hash(), "")


def measurements(browser, runs):
    page = Page(browser, runs, "now")
    page.open("#view=measurements")
    check("a square for each pair that was measured", page.count("#main button.heat"), 24)
    check("unit", page.text("#main button.heat b").split()[-1], "Gb/s")
    own = [c["measurements"]["throughput_bits_per_second"] for c in page.cells(
        client=["iwarp-tools"], server=["siw"], impairment=["none"]) if c["measurements"]]
    check("unimpaired cells are counted", page.text('[data-pair^="iwarp-tools"][data-pair$="siw"] .n'), f"n = {len(own)}")
    check("legend", page.text("#main .heatlegend").endswith("higher is better; logarithmic scale"), True)
    page.browser.click('[data-stat="worst"]')
    check("the worst", page.text('[data-pair^="iwarp-tools"][data-pair$="siw"] b'), f"{min(own) / 1e9:.3g} Gb/s")
    check("the focus stays on the button", page.run("document.activeElement.dataset.stat"), "worst")
    page.browser.click('[data-stat="median"]')
    page.browser.click('[data-metric="latency_p50_seconds"]')
    check("address of a measurement", page.hash(), "#view=measurements&metric=latency_p50_seconds")
    check("lower is better", "lower is better" in page.text("#main .heatlegend"), True)
    page.browser.click('[data-pair^="iwarp-tools"][data-pair$="siw"]')
    check("a pair lists its cells", page.count("#panel .bars li"), len(own))
    page.browser.click("#panel .bars button")
    check("a cell of the pair", page.text("#panel .route"), "iwarp-tools \u2192 siw")


def changes(browser, runs):
    page = Page(browser, runs, "now")
    page.open("#view=changes")
    tally = page.run("Object.fromEntries([...document.querySelectorAll('[data-tally]')]"
                     ".map((li) => [li.dataset.tally, Number(li.querySelector('b').textContent)]))")
    check("tally", {kind: tally[kind] for kind in ("appeared", "disappeared", "measurements")},
          {"appeared": 1, "disappeared": 1, "measurements": 1})
    check("failures and repairs exist", tally["failures"] > 0 and tally["repairs"] > 0, True)
    check("rows", page.count('[data-kind="failures"] tbody tr'), tally["failures"])
    check("the slower cell", page.text('[data-kind="measurements"] td'), "iwarp-tools \u2192 probe-strict tcp-send-0 / none")
    check("is worse", "worse" in page.text('[data-kind="measurements"] tbody'), True)
    page.browser.click('[data-kind="repairs"] .link')
    check("the panel of a repair", page.text("#panel .changednote"), "repaired, compared with 20261102T101500Z-0001")
    page.browser.click("#panel .close")
    page.browser.click("#tab-results")
    page.press("change", "new failure")
    check("the facet of changes", page.count(CHIPS), tally["failures"])
    check("marks in the matrix", page.count(CHIPS + ".changed"), tally["failures"])


def past(browser, runs):
    page = Page(browser, runs, "now")
    page.open("#view=history")
    check("runs", page.count('[data-kind="runs"] tbody tr'), 9)
    check("newest first", page.text('[data-kind="runs"] td'), page.document["run"]["id"])
    check("cells with changes", page.count('[data-kind="turns"] .strip') > 5, True)
    check("bars of a strip", page.run("document.querySelector('[data-kind=turns] .strip').querySelectorAll('rect:not(.axis)').length"), 9)
    page.browser.click('[data-kind="turns"] .link')
    check("runs of a cell", page.count("#panel .runs li"), 9)
    check("first run with this result", page.count("#panel .runs .first"), 1)
    cell = page.run("decodeURIComponent(location.hash.split('cell=')[1])")
    check("since", page.text("#panel .since b"), first_run_with_result(runs, page.document, cell))
    page.open("#cell=iwarp-tools%2Fiwarp-tools%2Ftcp-write-0%2Fnone")
    check("a line for each measurement", page.count("#panel .spark"), 2)


def first_run_with_result(runs, document, name):
    """The id of the first run of the last unbroken series of equal results."""
    first = document["run"]["id"]
    wanted = next(cell["result"] for cell in document["cells"] if cell["id"] == name)
    for number in range(8, 0, -1):
        with open(os.path.join(runs, f"past-{number}", "result.json"), encoding="utf-8") as file:
            earlier = json.load(file)
        if next(cell["result"] for cell in earlier["cells"] if cell["id"] == name) != wanted:
            break
        first = earlier["run"]["id"]
    return first


def hostile(browser, runs):
    """Markup in the data is text."""
    page = Page(browser, runs, "hostile")
    for view in ("results", "measurements", "list", "legend"):
        page.open(f"#view={view}")
        check(f"no script has run in {view}", page.run("window.hacked"), None)
        check(f"no image in {view}", page.count("img"), 0)
    page.open("#cell=" + page.document["cells"][1]["id"].replace("/", "%2F"))
    check("the reason is text", page.text("#panel .reason"), page.document["cells"][1]["reason"])
    check("a link stays in the folder", page.run("document.querySelector('#panel .files a').protocol"), "file:")
    check("one style, two scripts", (page.count("style"), page.count("script")), (1, 2))


def sizes(browser, runs):
    page = Page(browser, runs, "empty")
    page.open()
    check("empty", page.text("#main .empty p"), "This run has no cells.")
    page.open("#view=list")
    check("empty list", page.text("#main .empty p"), "This run has no cells.")
    page = Page(browser, runs, "huge")
    page.open()
    check("huge", page.count(CHIPS), len(page.document["cells"]))
    check("no chip is too narrow for its text", page.run(
        "(() => { const chips = [...document.querySelectorAll('#main .chip.fail')].slice(0, 60);"
        " const widths = chips.map((chip) => chip.offsetWidth);"
        " for (const chip of chips) chip.style.width = 'max-content';"
        " return chips.filter((chip, index) => chip.offsetWidth > widths[index]).length; })()"), 0)
    fastest = min(page.run("(() => { const t = performance.now(); document.querySelector('#facets [data-value=fail]').click();"
                           " document.body.offsetHeight; return performance.now() - t; })()") for _ in range(4))
    check(f"a filter of 5,184 cells takes {fastest:.0f} ms", fastest < 1000, True)
    page.run("document.querySelector('#skip').focus()")
    page.key("Enter")
    page.key("End", "Control")
    check("the last chip is in sight", page.run(
        "(() => { const box = document.activeElement.getBoundingClientRect(); return box.top > 0 && box.bottom < innerHeight; })()"), True)
    check("it is the last cell", "implementation-11 to implementation-11" in page.focused(), True)
    page.open("#view=list")
    check("a long list is short at first", page.count("#main tbody tr"), 300)
    page.browser.click("#main .more")
    check("and whole on request", page.count("#main tbody tr"), len(page.document["cells"]))


def looks(browser, runs):
    page = Page(browser, runs, "now")
    browser.media("screen", "dark")
    page.open()
    dark = page.run("getComputedStyle(document.documentElement).backgroundColor")
    browser.media("screen", "light")
    light = page.run("getComputedStyle(document.documentElement).backgroundColor")
    check("the system's colours", dark != light, True)
    browser.click('[data-theme-choice="dark"]')
    check("the switch", page.run("getComputedStyle(document.documentElement).backgroundColor"), dark)
    browser.click('[data-theme-choice="auto"]')
    contrast(page)
    browser.size(400, 800)
    page.open()
    check("narrow: no sideways scrolling of the page", page.run("document.documentElement.scrollWidth <= 400"), True)
    check("narrow: filters are folded", page.run("document.querySelector('#filters-fold').open"), False)
    page.key("/")
    check("narrow: / opens them", page.run("document.activeElement.id"), "query")
    browser.size(1280, 900)
    browser.media("print", "dark")
    page.open()
    check("print is on white", page.run("getComputedStyle(document.documentElement).backgroundColor"), "rgb(255, 255, 255)")
    page.open("#result=fail&client=siw,usrsctp")
    check("print names the filters", page.run("document.querySelector('.paper').innerText"),
          "Only cells with result: fail; client: siw, usrsctp")
    check("print has no filters", page.run("getComputedStyle(document.querySelector('.filters')).display"), "none")


def contrast(page):
    """Text of chips and badges has at least 4.5:1 (WCAG 2.1, 1.4.3), in both schemes."""
    for scheme in ("light", "dark"):
        page.browser.media("screen", scheme)
        for result in ("pass", "fail", "unsupported"):
            ratio = page.run("""(() => {
                const parse = (c) => c.match(/[\\d.]+/g).map(Number);
                const lum = (c) => parse(c).slice(0, 3).map((v) => v / 255).map((v) => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
                    .reduce((s, v, i) => s + v * [.2126, .7152, .0722][i], 0);
                const chip = document.querySelector('.chip.%s'), style = getComputedStyle(chip);
                const ground = parse(style.backgroundColor)[3] === 0 ? getComputedStyle(chip.closest('.scroll')).backgroundColor : style.backgroundColor;
                const [a, b] = [lum(style.color), lum(ground)].sort((x, y) => y - x);
                return (a + .05) / (b + .05); })()""" % result)
            check(f"contrast of {result} ({scheme}) {ratio:.1f}", ratio >= 4.5, True)
    page.browser.media("screen", "light")


GROUPS = {"filters": filters, "address": address, "keyboard": keyboard, "panel": panel,
          "measurements": measurements, "changes": changes, "history": past, "hostile": hostile,
          "sizes": sizes, "looks": looks}


def run_group(browser, runs, name):
    begun = time.monotonic()
    browser.size(1280, 900)
    browser.media("screen", "light")
    GROUPS[name](browser, runs)
    browser.run("0")  # collects what the page has reported until now
    for fault in browser.faults:
        check(f"{name}: a fault of the page", fault, None)
    browser.faults.clear()
    print(f"# {name}: {time.monotonic() - begun:.1f} s")


def main():
    runs, names = sys.argv[1], sys.argv[2:] or list(GROUPS)
    with Browser() as browser:
        for name in names:
            run_group(browser, runs, name)
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
