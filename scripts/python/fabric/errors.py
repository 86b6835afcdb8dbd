# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Errors that end a program of scripts/, and their exit status. hosts has the same."""

import sys


class Problem(Exception):
    """str() is the message for the user, without the name of the program."""

    status = 4


class Failed(Problem):
    """A command failed on the way."""


class Cannot(Problem):
    """This machine or this user cannot do it: str() says what is missing and how to get it."""

    status = 3


class Wrong(Problem):
    """An option or a file is wrong."""

    status = 2


def warn(text):
    print(f"fabric: {text}", file=sys.stderr)
