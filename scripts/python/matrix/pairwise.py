# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Combinations of options. A combination is a dict from the name of an option to one of its values.

A full product of eight options has thousands of combinations. Most errors of interoperation need only
two values together, so `pairwise` covers each pair of values of two options at least once, with few
combinations. The seed decides which ones; the same seed gives the same combinations.
"""

import itertools
import random

CANDIDATES = 30


def combine(how, options, seed):
    """how: product, pairwise or each. options: a dict from name to the list of its values, the
    default first. Returns the combinations; the first one has all defaults."""
    if how == "product":
        return (dict(zip(options, row)) for row in itertools.product(*options.values()))
    if how == "each":
        return each(options)
    return pairwise(options, random.Random(seed))


def each(options):
    """The defaults, and the defaults with one option changed."""
    default = {name: values[0] for name, values in options.items()}
    return [default] + [{**default, name: value} for name, values in options.items()
                        for value in values[1:]]


def pairwise(options, choose):
    first = {name: values[0] for name, values in options.items()}
    rows = [first]
    # An ordered list, because the order of a set is not the same in two runs.
    missing = [pair for pair in all_pairs(options) if not has(first, pair)]
    if len(options) == 1:
        return each(options)
    while missing:
        rows.append(best_row(options, missing, choose))
        missing = [pair for pair in missing if not has(rows[-1], pair)]
    return rows


def all_pairs(options):
    """Returns ((name, value), (name, value)) for each pair of values of two different options."""
    return [((a, x), (b, y)) for a, b in itertools.combinations(options, 2)
            for x in options[a] for y in options[b]]


def has(row, pair):
    return all(row[name] == value for name, value in pair)


def best_row(options, missing, choose):
    """Returns the candidate that has the most missing pairs."""
    rows = [candidate(options, missing, choose) for _ in range(CANDIDATES)]
    return max(rows, key=lambda row: sum(has(row, pair) for pair in missing))


def candidate(options, missing, choose):
    """Returns a combination with one missing pair. The other values are chosen one after another,
    each for the most missing pairs with the values that are already there."""
    row = dict(choose.choice(missing))
    for name in choose.sample(list(options), len(options)):
        if name in row:
            continue
        values = choose.sample(options[name], len(options[name]))
        row[name] = max(values, key=lambda value: gain(missing, {**row, name: value}, name))
    return {name: row[name] for name in options}


def gain(missing, row, name):
    """Returns how many missing pairs with this option the incomplete combination has."""
    return sum(any(n == name for n, _ in pair) and
               all(row.get(n) == value for n, value in pair) for pair in missing)
