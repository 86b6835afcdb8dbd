# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How the programs in scripts/ start and end.

run(MODULE) imports a module, calls its main() and exits with the status that main() returns.
A program that a signal ends has the status 128 plus the signal's number, 130 after Ctrl-C, and
prints no traceback, also while it still imports its modules.
"""

import contextlib
import importlib
import os
import signal
import sys

USAGE, CANNOT, FAILED = 2, 3, 4
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ARRIVED = []  # the number of the signal that ends this program


class Problem(Exception):
    """Ends a program. str() is the message for the user, without the name of the program."""

    status = FAILED


class Ended(BaseException):
    """A signal arrived, see ARRIVED."""


def raise_ended_on_signals():
    """From now on the first signal raises Ended in the main thread. Later signals are ignored: they
    must not disturb the clean-up. A signal that is ignored already stays ignored."""
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, raise_ended)


def raise_ended(number, _):
    for other in SIGNALS:
        signal.signal(other, signal.SIG_IGN)
    ARRIVED.append(number)
    raise Ended()


@contextlib.contextmanager
def signals_deferred():
    """A signal that arrives in this block takes effect at its end. Threads that the main thread
    starts and waits for use locks written in Python. An exception that a signal raises inside them
    can leave a lock taken, so that the program hangs, or can itself be lost. In another thread this
    does nothing, because signals interrupt only the main thread."""
    import threading  # few programs need it
    arrived = []
    handlers = {}
    for number in SIGNALS if threading.current_thread() is threading.main_thread() else ():
        if callable(signal.getsignal(number)):
            handlers[number] = signal.signal(number, lambda which, _: arrived.append(which))
    try:
        yield
    finally:
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        for number in arrived:
            signal.raise_signal(number)


def at_once(function, items, threads):
    """Returns the results of function(item), which run in at most this many threads. A signal takes
    effect when they have ended."""
    with signals_deferred():
        return in_threads(function, items, threads)


def in_threads(function, items, threads):
    """A function of its own, so that the pool is freed while signals are deferred: Python ignores
    an exception in the middle of that."""
    import concurrent.futures  # few programs need it
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, items))


def run(module, *arguments):
    """Exits with what main(*arguments) of this module returns; 3 if a package of Python is
    missing."""
    try:
        main = imported(module).main
    except ModuleNotFoundError as missing:
        sys.exit(complain(f"needs {missing.name}: run scripts/packages --install fabric", CANNOT))
    try:
        status = main(*arguments)
        flush()
    except KeyboardInterrupt:
        ARRIVED.append(signal.SIGINT)
    except Ended:
        pass
    except Problem as problem:
        # After a signal the clean-up can fail, because it has ended processes.
        status = problem.status if ARRIVED else complain(problem, problem.status)
    except BrokenPipeError:  # the reader of the output has ended, and needs no message
        status = FAILED
        discard_output()
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        status = complain(f"{where}{error.strerror}", FAILED)
        discard_output()
    sys.exit(128 + ARRIVED[0] if ARRIVED else status)


def imported(module):
    """Imports a module. Until that is done, SIGINT ends the program at once."""
    before = signal.getsignal(signal.SIGINT)
    if before == signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    found = importlib.import_module(module)
    signal.signal(signal.SIGINT, before)
    return found


def flush():
    try:
        sys.stdout.flush()
    except OSError as error:
        error.filename = "standard output"
        raise


def complain(text, status):
    print(f"{os.path.basename(sys.argv[0])}: {text}", file=sys.stderr)
    return status


def discard_output():
    """Otherwise Python tries again to write what it could not write, and prints a traceback."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
