# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Errors that end a measurement, and their exit status."""


class Problem(Exception):
    """str() is the message for the user, without the name of the program."""

    status = 4


class Failed(Problem):
    """The measurement failed on the way."""


class Cannot(Problem):
    """This machine cannot do it: str() says what is missing and how to get it."""

    status = 3


class Wrong(Problem):
    """An option or a file is wrong."""

    status = 2
