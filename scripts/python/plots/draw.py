# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Writes the data file and the gnuplot script of a picture, and runs gnuplot. The script needs
only the data file: `gnuplot KIND.gp` in its folder makes the same SVG again."""

import os
import shutil
import subprocess

from .inputs import CannotHere, clean

TIME_LIMIT = 120  # seconds
NO_TERMINAL = 33  # exit status of the scripts
FONT = "DejaVu Sans"
MARGIN = 92  # pixels at the left of a plot
KEY_LINE = 18  # pixels
# Okabe and Ito's colours, which are distinct for every kind of colour vision.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PINK, GREY = (
    "#000000", "#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7",
    "#8c8c8c")

PREAMBLE = """\
# {title}
# gnuplot {kind}.gp          makes {kind}.svg
# gnuplot -e png=1 {kind}.gp makes {kind}.png
set encoding utf8
if (strstrt(GPVAL_TERMINALS, exists('png') ? ' png' : ' svg ') == 0) {{ exit status {missing} }}
if (exists('png')) {{
	if (strstrt(GPVAL_TERMINALS, 'pngcairo') > 0) {{
		set terminal pngcairo size {width},{height} font '{font},11' noenhanced background rgb 'white'
	}} else {{
		set terminal png size {width},{height} font '{font},11' noenhanced
	}}
	set output '{kind}.png'
}} else {{
	set terminal svg size {width},{height} font '{font},12' noenhanced background rgb 'white'
	set output '{kind}.svg'
}}
set datafile separator tab
set datafile commentschars '#'
set border 3 lc rgb '#606060'
set tics nomirror out textcolor rgb '#303030'
set grid lc rgb '#e4e4e4' lw 1 lt 1
set key top left Left reverse maxrows {rows} samplen 2 font '{font},11'
set key at screen {left:.4f}, screen {key:.4f}
set style fill solid 1.0 noborder
set lmargin at screen {left:.4f}
set rmargin at screen {right:.4f}
set tmargin at screen {top:.4f}
set bmargin at screen {bottom:.4f}
"""


class Failed(Exception):
    """A picture that could not be made. str() is the message for the user."""


class Picture:
    """tables: (name, heads, rows) in the order of the data file. script: gnuplot commands after the
    preamble; `table(NAME)` of this module names a table in them."""

    def __init__(self, kind, title, facts, tables, script, size=(960, 540)):
        self.kind, self.title, self.facts = kind, title, facts
        self.tables = [table for table in tables if table[2]]
        self.script, self.size, self.key_lines = script, size, 1

    def top(self):
        """Where the plot ends and the lines of the title begin, in pixels from the top."""
        return 50 + 16 * len(self.facts) + KEY_LINE * self.key_lines


def quote(text):
    """A gnuplot string: nothing in single quotes is special, and '' is a quote."""
    return "'" + clean(text).replace("'", "''") + "'"


def table(kind, name):
    return f"'{kind}.dat' index '{name}'"


def number(value):
    if isinstance(value, float):
        return f"{value:.9f}".rstrip("0").rstrip(".")
    return clean(str(value)).replace("\t", " ").replace('"', "''")


def data_text(picture):
    """All tables: a name, a line with the names of the columns, then a row for each line."""
    blocks = []
    for name, heads, rows in picture.tables:
        lines = [f"# {name}", "# " + "\t".join(heads)]
        lines += ["\t".join(number(value) for value in row) for row in rows]
        blocks.append("\n".join(lines) + "\n")
    return "\n\n".join(blocks)


def script_text(picture):
    width, height = picture.size
    text = PREAMBLE.format(
        title=clean(picture.title), kind=picture.kind, width=width, height=height, font=FONT,
        missing=NO_TERMINAL,
        left=MARGIN / width, right=1 - 28 / width, top=1 - picture.top() / height,
        bottom=58 / height, key=1 - (picture.top() - 6 - KEY_LINE * picture.key_lines) / height,
        rows=picture.key_lines)
    lines = [(picture.title, 16, "#000000")] + [(fact, 10, "#505050") for fact in picture.facts]
    down = 24
    for count, (line, size, colour) in enumerate(lines, 1):
        text += (f"set label {count} {quote(line)} at screen {24 / width:.4f}, screen "
                 f"{1 - down / height:.4f} left font '{FONT},{size}' textcolor rgb '{colour}' "
                 "front\n")
        down += 24 if count == 1 else 16
    return text + picture.script


def gnuplot_program():
    found = shutil.which("gnuplot")
    if not found:
        raise CannotHere("gnuplot: not found: expected gnuplot 5; install gnuplot-nox")
    return found


def run_gnuplot(folder, *arguments):
    environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C.UTF-8",
                   "HOME": folder}
    try:
        run = subprocess.run([gnuplot_program(), "-d", *arguments], cwd=folder, env=environment,
                             stdin=subprocess.DEVNULL, capture_output=True, text=True,
                             errors="replace", timeout=TIME_LIMIT, check=False)
    except subprocess.TimeoutExpired:
        raise Failed(f"gnuplot: no end after {TIME_LIMIT} s; show less with --from and --to") \
            from None
    if run.returncode == NO_TERMINAL:
        raise CannotHere("gnuplot: no terminal for this format: expected a gnuplot that draws SVG "
                         "and PNG; install gnuplot-nox")
    if run.returncode != 0:
        said = " ".join(line.strip() for line in run.stderr.split("\n") if line.strip())
        raise Failed(f"gnuplot: exit status {run.returncode}: {clean(said[-300:])}")


def make(picture, folder, png):
    """Writes data and script into folder, and makes the picture there. Returns its path."""
    for suffix, text in (("dat", data_text(picture)), ("gp", script_text(picture))):
        with open(os.path.join(folder, f"{picture.kind}.{suffix}"), "w", encoding="utf-8") as file:
            file.write(text)
    script = f"{picture.kind}.gp"
    run_gnuplot(folder, *(("-e", "png=1", script) if png else (script,)))
    made = os.path.join(folder, f"{picture.kind}.{'png' if png else 'svg'}")
    if not os.path.exists(made) or os.path.getsize(made) == 0:
        raise Failed("gnuplot: no picture; expected one")
    return made


def key_lines(entries, in_a_line=3):
    """Lines of a legend; all its columns are as wide as the widest entry."""
    return -(-entries // in_a_line)


# --- parts of scripts ----------------------------------------------------------------------------

def thinned(points, columns=900):
    """points: (x, y) in the order of x. Keeps first, lowest, highest and last point of each column
    of the picture, so that the file stays small and looks the same."""
    if len(points) <= 2 * columns:
        return points
    low, high = points[0][0], points[-1][0]
    width = (high - low) / columns or 1
    kept, column = [], []
    for point in points:
        if column and int((point[0] - low) / width) != int((column[0][0] - low) / width):
            kept += extremes(column)
            column = []
        column.append(point)
    return kept + extremes(column)


def extremes(column):
    picked = {0, len(column) - 1}
    ys = [point[1] for point in column]
    picked |= {ys.index(min(ys)), ys.index(max(ys))}
    return [column[i] for i in sorted(picked)]


def plot(parts):
    return "plot \\\n\t" + ", \\\n\t".join(parts) + "\n"


def x_range(view, last):
    """The seconds that are shown."""
    low = view.limits[0] if view.limits[0] is not None else 0
    high = view.limits[1] if view.limits[1] is not None else last
    return f"set xrange [{low:.9f}:{max(high, low + 1e-6):.9f}]\n"
