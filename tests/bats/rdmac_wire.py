#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""rdmac_wire.py FILE: one direction of an MPA connection, checked against RFC 5044 appendix C for
the RDMA Consortium: Rev 0, M and C set, markers every 512 octets, DV and RV 0 in each segment.
Prints the OpCodes of its segments in order of their numbers."""

import struct
import sys

octets = open(sys.argv[1], "rb").read()
assert octets[:16] in (b"MPA ID Req Frame", b"MPA ID Rep Frame"), octets[:16]
flags, rev, length = struct.unpack(">BBH", octets[16:20])
assert rev == 0, f"Rev {rev}"
assert flags & 0xC0 == 0xC0, f"flags {flags:#x}: M and C"
assert flags & 0x1F == 0, f"flags {flags:#x}: S (RFC 6581) and the reserved bits are 0"

stream = octets[20 + length :]
fpdus = b""
for at in range(0, len(stream), 512):
    # RFC 5044 4.3: 16 reserved bits of zero, then the distance to the start of the FPDU.
    assert stream[at : at + 2] == b"\0\0", f"no marker at {at}"
    fpdus += stream[at + 4 : at + 512]

opcodes, at = set(), 0
while at < len(fpdus):
    (length,) = struct.unpack(">H", fpdus[at : at + 2])
    ddp, rdmap = fpdus[at + 2], fpdus[at + 3]
    assert ddp & 3 == 0, f"DDP version {ddp & 3} at {at}"
    assert rdmap >> 6 == 0, f"RDMAP version {rdmap >> 6} at {at}"
    opcodes.add(rdmap & 15)
    at += (2 + length + 3) // 4 * 4 + 4
print(*sorted(opcodes))
