# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reports a run of scripts/bench; the script calls it at its end.

Exit status: 0 every figure reaches its bar; 1 a figure misses its bar, or a run failed; 2 a file
that cannot be used; 3 nothing was measured.
"""

import argparse

from . import compare, document, html, text


def main():
    options = parsed()
    old = document.load(options.compare) if options.compare else None
    if options.check:
        return 0
    found = document.load(options.from_file) if options.from_file else document.make(options.work)
    if options.out:
        document.write(found, options.out)
    for line in text.terminal(found):
        print(line)
    if old:
        print()
        for line in compare.lines(found, old, options.compare):
            print(line)
    write_files(options, found, old)
    return status(found, options.picture)


def parsed():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--from", dest="from_file")
    parser.add_argument("--work")
    parser.add_argument("--out")
    parser.add_argument("--page")
    parser.add_argument("--html")
    parser.add_argument("--compare")
    parser.add_argument("--picture", action="append", default=[])
    return parser.parse_args()


def write_files(options, found, old):
    print()
    if options.out:
        print(f"every value: {options.out}")
    for picture in options.picture:
        print(f"picture: {picture}")
    if options.page:
        document.write_text(text.page(found), options.page)
        print(f"page: {options.page}")
    if options.html:
        document.write_text(html.page(found, old), options.html)
        print(f"summary: {options.html}")


def status(found, pictures):
    if found["failed"] or any(figure.get("pass") is False for figure in found["figures"]):
        return 1
    return 0 if found["figures"] or pictures else 3
