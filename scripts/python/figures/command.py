# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reports a run of scripts/bench; the script calls it at its end.

Exit status: 0 every figure reaches its bar; 1 a figure misses its bar, or a run failed; 2 a file that
cannot be used; 3 nothing was measured.
"""

import argparse

from . import document, text


def main():
    options = parsed()
    found = document.make(options.work)
    document.write(found, options.out)
    for line in text.terminal(found):
        print(line)
    print(f"\nevery value: {options.out}")
    for picture in options.picture:
        print(f"picture: {picture}")
    if options.page:
        document.write_text(text.page(found), options.page)
        print(f"page: {options.page}")
    return status(found, options.picture)


def parsed():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--work", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--page")
    parser.add_argument("--picture", action="append", default=[])
    return parser.parse_args()


def status(found, pictures):
    if found["failed"] or any(figure["pass"] is False for figure in found["figures"]):
        return 1
    return 0 if found["figures"] or pictures else 3
