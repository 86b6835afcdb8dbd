# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The exceptions of a run."""


class Failure(Exception):
    """A result that the model does not allow. str() is the message for the user."""


class Cannot(Exception):
    """This machine lacks what the run needs. str() is the reason."""


class Invalid(Exception):
    """A file that cannot be used. str() is the message for the user."""


def require(condition, text):
    """Raises Failure with this text unless the condition is true."""
    if not condition:
        raise Failure(text)
