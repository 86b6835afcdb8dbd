# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""one_piece.py SOCKET: a caller of the guest's agent (scripts/guest/frame.h) that sends a command, its input and the end of
the input in one piece: `cat` and 400 zeros. Prints the output; the exit status is the command's."""
import os
import socket
import struct
import sys


def frame(kind, payload):
    return kind + struct.pack(">I", len(payload)) + payload


port = socket.socket(socket.AF_UNIX)
port.settimeout(20)
port.connect(sys.argv[1])
hello = b"iw-vm-1\n" + os.urandom(8)
port.sendall(hello)
said = b""
while hello not in said:
    octet = port.recv(1)
    if not octet:
        sys.exit("the guest is gone")
    said += octet

port.sendall(frame(b"R", struct.pack(">I", 15000) + b"cat\0") + frame(b"I", b"0" * 400) + frame(b"I", b""))
answer = port.makefile("rb")
while True:
    kind, length = struct.unpack(">cI", answer.read(5))
    payload = answer.read(length)
    if kind == b"X":
        sys.exit(struct.unpack(">I", payload)[0])
    (sys.stdout if kind == b"O" else sys.stderr).buffer.write(payload)
