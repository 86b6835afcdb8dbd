#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compares two lists of system calls: SystemCallFilter= of a unit, and the calls that cmd/cli/seccomp.c allows.

unit_calls.py SETS UNIT SECCOMP_C    SETS: output of `systemd-analyze syscall-filter`; exit status 1 if the unit lacks a call
"""
import re
import sys

# Names that the systemd of Debian 12 does not know yet, and one that no program of this suite
# calls.
EXCEPT = {'futex_wait', 'futex_wake', 'mincore'}
# Needed to install the filter and the rules.
INSTALL = {'seccomp', 'prctl', 'landlock_create_ruleset', 'landlock_add_rule', 'landlock_restrict_self', 'execve', 'clone'}

sets, current = {}, None
for line in open(sys.argv[1]):
    word = line.strip()
    if line.startswith('@'):
        current = sets.setdefault(word, [])
    elif line.startswith('    ') and current is not None and word[:1] != '#':
        current.append(word)
    elif not line.startswith(' '):
        current = None


def calls(name):
    return set().union(*(calls(n) for n in sets[name])) if name.startswith('@') else {name}


unit = open(sys.argv[2]).read()
permitted = set()
for value in re.findall(r'^SystemCallFilter=(.*)$', unit, re.M):
    for name in value.split():
        permitted |= calls(name)
source = open(sys.argv[3]).read()
table = re.search(r'allowed\[\] = \{(.*?)\};', source, re.S).group(1)
wanted = set(re.findall(r'"(\w+)"', table)) | INSTALL
assert len(wanted) > 100
missing = sorted(wanted - permitted - EXCEPT)
if missing:
    print('SystemCallFilter= lacks:', *missing)
    sys.exit(1)
