# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The picture of a soak: memory, descriptors, processor time and rates, by gnuplot."""

import os
import shutil
import subprocess

MOST_POINTS = 600
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]  # Okabe and Ito
FIELDS = ("seconds", "rss_kib", "descriptors", "cpu_percent", "commands_per_second",
          "bits_per_second")
GNUPLOT_SECONDS = 60


class Failed(Exception):
    """No picture. str() is the reason."""


def write_data(path, rows):
    """One block for each server, for `index` of gnuplot; long runs are thinned out."""
    with open(path, "w", encoding="ascii") as file:
        for name in sorted(rows):
            file.write(f'"{name}"\n')
            step = len(rows[name]) // MOST_POINTS + 1
            for first in range(0, len(rows[name]), step):
                part = rows[name][first:first + step]
                means = [sum(getattr(row, f) for row in part) / len(part) for f in FIELDS]
                file.write(" ".join(f"{value:.3f}" for value in means) + "\n")
            file.write("\n\n")


def panel(curves, y, label):
    """curves: index, title and style of each line. y: the gnuplot expression of its values."""
    lines = [f"'$DATA' index {index} using ($1/60):({y}) every ::1 with lines lw 1.5 {style} "
             f"title '{title}'" for index, title, style in curves]
    return f"set ylabel '{label}'\nplot " + ", \\\n  ".join(lines) + "\n"


def server_curves(names, titles):
    return [(n, name if titles else "", style(n)) for n, name in enumerate(names)]


def testbed_curves(names):
    """The rates are those of a testbed: one line for each transport."""
    firsts = {}
    for n, name in enumerate(names):
        firsts.setdefault(name.split("-")[0], n)
    return [(n, transport, style(number))
            for number, (transport, n) in enumerate(firsts.items())]


def style(number):
    return f"lc rgb '{COLOURS[number % len(COLOURS)]}' dt {number // len(COLOURS) + 1}"


def script(names, title, data, terminal, output):
    text = f"""set terminal {terminal}
set output '{output}'
set multiplot layout 5,1 title "{title}" font ',14' margins 0.08,0.86,0.05,0.95 spacing 0.0,0.02
set grid lt 1 lw 0.5 lc rgb '#dddddd'
set yrange [0:*]
set key outside right top vertical maxcols 1 samplen 2 spacing 0.85
set format x ''
"""
    text += panel(server_curves(names, True), "$2/1024", "RSS (MiB)")
    text += panel(server_curves(names, False), "$3", "descriptors")
    text += panel(server_curves(names, False), "$4", "CPU (%)")
    text += panel(testbed_curves(names), "$5", "commands/s")
    text += "set format x '%g'\nset xlabel 'minutes'\n"
    text += panel(testbed_curves(names), "$6/1e6", "Mb/s")
    return (text + "unset multiplot\n").replace("$DATA", data)


def draw(folder, rows, title):
    """Writes soak.dat, soak.gp, soak.svg and soak.png. Returns the names of the pictures. Raises
    Failed."""
    if not shutil.which("gnuplot"):
        return []
    names = sorted(rows)
    write_data(os.path.join(folder, "soak.dat"), rows)
    svg = script(names, title, "soak.dat", "svg size 1000,1200 font 'Sans,11' background 'white'",
                 "soak.svg")
    png = script(names, title, "soak.dat", "pngcairo size 1000,1200 font 'Sans,10'", "soak.png")
    with open(os.path.join(folder, "soak.gp"), "w", encoding="utf-8") as file:
        file.write(svg)
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    for text in (svg, png):
        try:
            subprocess.run(["gnuplot", "-"], input=text.encode(), cwd=folder, check=True,
                           env=environment, timeout=GNUPLOT_SECONDS, stderr=subprocess.PIPE)
        except subprocess.SubprocessError as error:
            raise Failed(f"gnuplot: {error} {getattr(error, 'stderr', b'')!r}") from None
    return ["soak.svg", "soak.png"]
