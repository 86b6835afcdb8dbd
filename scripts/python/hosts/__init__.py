# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Measurements between many hosts: `scripts/fabric measure`.

    cli.py        the sub-command: options, engines, exit status
    options.py    options that the sub-command and a task share
    errors.py     errors and their exit status
    patterns.py   which hosts measure which others, in which round
    bench.py      command lines and results of ddp-bench
    outliers.py   hosts and links that deviate from the median
    report.py     matrices, lists and JSON lines

With srun, every host runs a task, and the tasks agree on each round by themselves:

    srun.py       starts the tasks and collects their results
    task.py       what one task does (scripts/hosts-task)
    board.py      where tasks publish addresses and wait for each other: a shared directory
    pmix.py       the same with PMIx

With ssh or namespaces, this process starts every command:

    session.py    servers, rounds and clients as a sequence of commands
    clush.py      runs commands through ssh, with ClusterShell
    local.py      runs commands in the namespaces of a topology
"""
