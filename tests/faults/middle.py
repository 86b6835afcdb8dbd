# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The common part of the middles for TCP and for UDP: a thread with an event loop, and a record
of the injected faults."""

import os
import selectors
import sys
import threading
import time
import traceback

TO_LISTENER, TO_CLIENT = 0, 1  # directions


class Middle:
    """Forwards between a client and a listener. port: where the client connects."""

    def __init__(self):
        self.events = selectors.DefaultSelector()
        self.strikes = []  # a line for each fault that was injected
        self.last_fault = 0.0  # time.monotonic() of the end of the last one
        self.broken = None  # the middle's own failure
        self.stopping = False
        self.wake_read, self.wake_write = os.pipe()
        self.events.register(self.wake_read, selectors.EVENT_READ, None)
        self.thread = threading.Thread(target=self.run, daemon=True)

    def start(self):
        self.thread.start()

    def stop(self):
        """Ends the thread and closes all sockets."""
        if not self.stopping:
            self.stopping = True
            os.write(self.wake_write, b"x")
            self.thread.join()

    def struck(self, line, lasts=0.0):
        """Records a fault that lasts for that many seconds from now."""
        if line:
            self.strikes.append(line)
        self.last_fault = max(self.last_fault, time.monotonic() + lasts)

    def run(self):
        try:
            while not self.stopping:
                self.step()
        except Exception:  # the round reports it: a failure of the middle must never stay unnoticed
            self.broken = traceback.format_exc()
            print(self.broken, file=sys.stderr)
        self.close()
        self.events.close()
        os.close(self.wake_read)
        os.close(self.wake_write)

    def step(self):
        """Waits for events and handles them."""
        for key, mask in self.events.select(self.patience()):
            if key.data:
                key.data(mask)
        self.tick(time.monotonic())

    def patience(self):
        """Seconds until the next timer; None: no timer."""
        due = self.next_due()
        return None if due is None else max(0.0, due - time.monotonic())

    def next_due(self):
        raise NotImplementedError

    def tick(self, now):
        """Handles timers that are due."""
        raise NotImplementedError

    def close(self):
        raise NotImplementedError
