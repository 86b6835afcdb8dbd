# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The board of PMIx: the interface of board.py on libpmix.so.2, through ctypes.

A call of PMIx can block for ever if another task has ended. Each runs in a thread of its own, so
that this process can give up after a deadline.

Slurm's PMIx skips the barrier of a fence that collects no data (PMIxFenceBarrier in mpi.conf(5)),
so every fence here collects data.
"""

import ctypes
import json
import threading

from hosts.board import Missing

KEY = b"iwarp.task"
GLOBAL = 3  # PMIX_GLOBAL: for tasks of all hosts
BOOL = 1  # PMIX_BOOL
STRING = 3  # PMIX_STRING
NAMESPACE = 255  # PMIX_MAX_NSLEN
KEY_LENGTH = 511  # PMIX_MAX_KEYLEN
START = 30  # seconds for PMIx_Init and PMIx_Finalize


class Process(ctypes.Structure):
    """pmix_proc_t"""

    _fields_ = [("namespace", ctypes.c_char * (NAMESPACE + 1)), ("rank", ctypes.c_uint32)]


class Content(ctypes.Union):
    """The members of the union in pmix_value_t that are used, and its size."""

    _fields_ = [("flag", ctypes.c_bool), ("string", ctypes.c_char_p), ("size", ctypes.c_uint64 * 3)]


class Value(ctypes.Structure):
    """pmix_value_t"""

    _fields_ = [("type", ctypes.c_uint16), ("data", Content)]


class Info(ctypes.Structure):
    """pmix_info_t"""

    _fields_ = [("key", ctypes.c_char * (KEY_LENGTH + 1)), ("flags", ctypes.c_uint32),
                ("value", Value)]


class PmixBoard:
    """The task's own number is the rank that PMIx gives."""

    def __init__(self):
        self.library = ctypes.CDLL("libpmix.so.2")
        self.me = Process()
        self.call("PMIx_Init", START, ctypes.byref(self.me), None, ctypes.c_size_t(0))
        self.task = self.me.rank

    def publish(self, value):
        text = Value(STRING)
        text.data.string = json.dumps(value).encode()
        self.call("PMIx_Put", START, ctypes.c_uint8(GLOBAL), KEY, ctypes.byref(text))
        self.call("PMIx_Commit", START)

    def read(self, task, seconds):
        owner = Process(self.me.namespace, task)
        found = ctypes.POINTER(Value)()
        self.call("PMIx_Get", seconds, ctypes.byref(owner), KEY, None, ctypes.c_size_t(0),
                  ctypes.byref(found))
        return json.loads(found.contents.data.string)

    def barrier(self, seconds):
        collect = Info(b"pmix.collect", 0, Value(BOOL))
        collect.value.data.flag = True
        self.call("PMIx_Fence", seconds, None, ctypes.c_size_t(0), ctypes.byref(collect),
                  ctypes.c_size_t(1))

    def close(self):
        self.call("PMIx_Finalize", START, None, ctypes.c_size_t(0))

    def call(self, name, seconds, *arguments):
        """Calls a function of PMIx. Raises Missing if it fails or does not return in time."""
        status = []
        thread = threading.Thread(
            target=lambda: status.append(getattr(self.library, name)(*arguments)), daemon=True)
        thread.start()
        thread.join(seconds)
        if not status:
            raise Missing(f"{name}: waited {seconds:.0f} s for the other tasks")
        if status[0] != 0:
            raise Missing(f"{name}: {self.describe(status[0])}")

    def describe(self, status):
        text = self.library.PMIx_Error_string
        text.restype = ctypes.c_char_p
        return f"{text(status).decode()} ({status})"
