# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The process that takes a fabric down when the owner of the fabric ends."""

import contextlib
import os
import select

from . import live, processes, state

UP_SECONDS = 120


def supervise(label, owner, start):
    """owner, start: the process id, and when it started. Does not disturb an `up` that still
    runs."""
    with contextlib.suppress(ProcessLookupError):
        watched = os.pidfd_open(owner)
        if str(processes.start_time(owner)) == start:
            select.select([watched], [], [])
    processes.wait_until(lambda: not state.is_made(state.read(label)), UP_SECONDS, 0.1)
    live.take_down(label)
