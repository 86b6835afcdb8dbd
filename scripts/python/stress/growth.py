# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Does a server grow? Judged by the slope of its memory and of its descriptors.

The first half of the time is the warm-up and is not judged: a server grows until it has done
everything once, also several things at the same time. The rest is divided into bins. The least
value of each bin is what the server holds when it has little work; a line is fitted to these values
(least squares).

A server grows if the line rises by more than its bound, and if it also rises from each quarter of
the time to the next. A single step is not a leak: a server may keep the memory of its largest load.
"""

WARM_UP = 0.5  # of the time
BINS = 20
QUARTERS = 4
LEAST_SECONDS = 600  # a shorter soak is not judged
RSS_SPARE_KIB = 2048
RSS_SPARE = 0.1  # of the memory at the end of the warm-up
DESCRIPTORS_SPARE = 2.0
STEP = 0.1  # of the bound: a smaller step from quarter to quarter is no growth


class Line:
    """The line of one quantity of one server. growth: over the judged time."""

    def __init__(self, points, spare):
        """points: (seconds, value). spare: a function of the first value of the line: the bound."""
        self.slope, self.first = fit(points)
        self.growth = self.slope * (points[-1][0] - points[0][0])
        self.bound = spare(self.first)
        quarter = max(1, len(points) // QUARTERS)
        self.levels = [min(value for _, value in points[n * quarter:(n + 1) * quarter])
                       for n in range(QUARTERS) if n * quarter < len(points)]

    def grows(self):
        steps = [b - a for a, b in zip(self.levels, self.levels[1:])]
        return self.growth > self.bound and min(steps, default=0) > STEP * self.bound


def fit(points):
    """Returns slope and first value of the line of least squares."""
    count = len(points)
    mean_x = sum(x for x, _ in points) / count
    mean_y = sum(y for _, y in points) / count
    square = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / square if square else 0.0
    return slope, mean_y + slope * (points[0][0] - mean_x)


def least(rows, value):
    """The least value of each bin, with its time."""
    start, end = rows[0].seconds, rows[-1].seconds
    width = (end - start) / BINS or 1.0
    bins = {}
    for row in rows:
        number = min(BINS - 1, int((row.seconds - start) / width))
        point = (row.seconds, value(row))
        bins[number] = min(bins.get(number, point), point, key=lambda p: p[1])
    return [bins[number] for number in sorted(bins)]


def judge(rows):
    """rows: the samples of one server. Returns the Lines of memory (KiB) and of descriptors."""
    judged = [row for row in rows if row.seconds >= WARM_UP * rows[-1].seconds]
    memory = Line(least(judged, lambda row: row.rss_kib),
                  lambda first: RSS_SPARE_KIB + RSS_SPARE * first)
    descriptors = Line(least(judged, lambda row: row.descriptors), lambda _: DESCRIPTORS_SPARE)
    return memory, descriptors


def is_long(rows):
    """True if the samples are enough for a judgement."""
    return rows[-1].seconds - rows[0].seconds >= LEAST_SECONDS
