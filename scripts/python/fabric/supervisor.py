# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The process that takes a fabric down when the owner of the fabric ends."""

import os
import select

from . import live


def supervise(label, owner):
    try:
        watched = os.pidfd_open(owner)
    except ProcessLookupError:
        live.take_down(label)
        return
    select.select([watched], [], [])
    live.take_down(label)
