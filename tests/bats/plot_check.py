# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Checks of what scripts/plot makes.

plot_check.py svg FILE                 well-formed XML, with lines and text
plot_check.py png FILE                 complete and not blank: a quarter of its lines show something
plot_check.py sum FILE TABLE COLUMN    prints the sum of a column (from 1) of a table
plot_check.py max FILE TABLE COLUMN    prints the largest value; min: the smallest
plot_check.py rows FILE TABLE          prints the number of rows
"""
import struct
import sys
import xml.etree.ElementTree
import zlib


def table(path, name):
    rows, here = [], False
    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\n")
        if line.startswith("# ") and "\t" not in line:
            here = line[2:] == name
        elif here and line and not line.startswith("#"):
            rows.append(line.split("\t"))
    return rows


def svg(path):
    tree = xml.etree.ElementTree.parse(path)
    tags = [element.tag.split("}")[1] for element in tree.iter()]
    return tags[0] == "svg" and tags.count("path") > 3 and tags.count("text") > 3


def png(path):
    data, at, packed = open(path, "rb").read(), 8, b""
    width, height, depth, colour = struct.unpack_from(">IIBB", data, 16)
    while at < len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        packed += data[at + 8:at + 8 + length] if kind == b"IDAT" else b""
        at += length + 12
    line = 1 + width * {2: 3, 6: 4}.get(colour, 1) * depth // 8
    pixels = zlib.decompress(packed)
    # A row of one colour is a few octets and zeros after its filter.
    written = sum(1 for i in range(0, len(pixels), line) if any(pixels[i + 8:i + line]))
    return width > 500 and len(pixels) == line * height and written > height / 4


def main(what, path, *rest):
    if what in ("svg", "png"):
        return 0 if {"svg": svg, "png": png}[what](path) else 1
    rows = table(path, rest[0])
    values = [float(row[int(rest[1]) - 1]) for row in rows] if len(rest) > 1 else []
    print({"sum": lambda: f"{sum(values):.9g}", "max": lambda: f"{max(values):.9g}",
           "min": lambda: f"{min(values):.9g}", "rows": lambda: len(rows)}[what]())
    return 0


sys.exit(main(*sys.argv[1:]))
