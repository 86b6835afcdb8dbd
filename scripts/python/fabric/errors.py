# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Errors that end a program of scripts/, and their exit status. hosts has the same."""

import sys

import program


class Failed(program.Problem):
    """A command failed on the way."""


class Cannot(program.Problem):
    """This machine or this user cannot do it: str() says what is missing and how to get it."""

    status = program.CANNOT


class Wrong(program.Problem):
    """An option or a file is wrong."""

    status = program.USAGE


def warn(text):
    print(f"fabric: {text}", file=sys.stderr)
