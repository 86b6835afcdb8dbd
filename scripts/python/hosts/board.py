# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A board, where tasks publish what others need, and wait for each other.

    publish(value)         makes a dict known to all tasks; once, before the first barrier
    read(task, seconds)    returns the dict of a task
    barrier(seconds)       waits until all tasks are here; raises Missing after this time
    close()

This module has the board in a directory that all hosts share; pmix.py has the other one. Files are
written under another name and renamed, so that no task reads half of a file. The process that made
the directory removes it (srun.py).
"""

import json
import os
import time

PAUSE = 0.02  # seconds between two reads of the directory


class Missing(Exception):
    """A task did not arrive in time. tasks: their numbers, if they are known."""

    def __init__(self, text, tasks=()):
        super().__init__(text)
        self.tasks = tasks


class DirectoryBoard:
    """task: the own number of `tasks`."""

    def __init__(self, folder, task, tasks):
        self.folder = folder
        self.task = task
        self.tasks = tasks
        self.barriers = 0
        if not os.path.isdir(folder):
            raise Missing(f"{folder}: not on this host: expected a directory that all hosts share; "
                          "use --board DIR")

    def publish(self, value):
        self.write(f"task.{self.task}", json.dumps(value))

    def read(self, task, seconds):
        path = os.path.join(self.folder, f"task.{task}")
        self.wait([task], "task", seconds)
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def barrier(self, seconds):
        self.barriers += 1
        self.write(f"barrier-{self.barriers}.{self.task}", "")
        self.wait(range(self.tasks), f"barrier-{self.barriers}", seconds)

    def close(self):
        """Nothing to release: the directory belongs to the process that started the tasks."""

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(f"{path}.new", path)

    def wait(self, tasks, name, seconds):
        """Waits for a file of each task."""
        end = time.monotonic() + seconds
        missing = list(tasks)
        while True:
            missing = [task for task in missing
                       if not os.path.exists(os.path.join(self.folder, f"{name}.{task}"))]
            if not missing:
                return
            if time.monotonic() > end:
                numbers = ", ".join(map(str, missing))
                raise Missing(f"waited {seconds:.0f} s for task {numbers}", missing)
            time.sleep(PAUSE)
