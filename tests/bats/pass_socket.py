#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Starts a program as systemd does for a .socket unit: sd_listen_fds(3).

pass_socket.py KIND PORT COMMAND...   KIND: tcp, tcp6, udp, two (descriptors), other (for another process)
"""
import os
import socket
import sys

kind, port, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
family = socket.AF_INET6 if kind == 'tcp6' else socket.AF_INET
s = socket.socket(family, socket.SOCK_DGRAM if kind == 'udp' else socket.SOCK_STREAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(('::1' if kind == 'tcp6' else '127.0.0.1', port))
if kind != 'udp':
    s.listen(16)
os.environ['LISTEN_FDS'] = '2' if kind == 'two' else '1'
os.environ['LISTEN_PID'] = str(os.getpid() + (1 if kind == 'other' else 0))
fd = os.dup(s.fileno())
s.close()
if fd != 3:
    os.dup2(fd, 3)
    os.close(fd)
os.set_inheritable(3, True)
os.execvp(command[0], command)
