#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Sends the same MPA stream through ddp-impair again and again: the decisions and the octets that
leave must be the same each time.

impair_stream.py DDP-IMPAIR ROUNDS
    makes a record with random rules, replays it ROUNDS times, and prints "N of ROUNDS identical".
"""
import hashlib
import json
import random
import socket
import struct
import subprocess
import sys
import threading

RULES = ["fpdu prob=5%: flip-bit any", "fpdu prob=4%: duplicate 1..3", "fpdu prob=3%: reorder 1..5",
         "fpdu prob=2%: drop", "fpdu prob=3%: split 1..100 100us", "fpdu prob=2%: truncate 20..300",
         "fpdu prob=2%: swap-words", "fpdu prob=2%: set ddp.stag=0x1234 fix-crc"]
FPDUS = 200
START = bytes([0x00, 1, 0, 0])  # flags (no CRC, no markers), revision 1, no Private Data


def fpdu(n):
    """An RDMA Write of 500 octets; the CRC field is not in use."""
    ulpdu = struct.pack(">BBIQ", 0xc1, 0x40, 0x100, n * 500) + bytes((n * 7 + i) & 255 for i in range(500))
    octets = struct.pack(">H", len(ulpdu)) + ulpdu
    return octets + bytes(-len(octets) % 4 + 4)


STREAM = b"".join(fpdu(n) for n in range(FPDUS))


class Responder(threading.Thread):
    """Answers one connection with a Reply, and hashes what it receives."""

    def __init__(self, listener):
        super().__init__(daemon=True)
        self.listener = listener
        self.digest = hashlib.sha256()

    def run(self):
        conn, _ = self.listener.accept()
        with conn:
            conn.sendall(b"MPA ID Rep Frame" + START)
            while octets := conn.recv(65536):
                self.digest.update(octets)


def send_stream(port):
    """The stream is divided differently each time."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as conn:
        conn.sendall(b"MPA ID Req Frame" + START)
        conn.recv(100)
        at = 0
        while at < len(STREAM):
            length = random.randint(1, 20000)
            conn.sendall(STREAM[at:at + length])
            at += length
        conn.shutdown(socket.SHUT_WR)
        while conn.recv(1000):
            pass


def one_round(tool, listener, options):
    """Returns the digest of the octets that left, the decisions, and the result."""
    responder = Responder(listener)
    responder.start()
    relay = subprocess.Popen([tool, "--listen", "0", "--to", "127.0.0.1:%d" % listener.getsockname()[1], "--json",
                              "--seconds", "60", *options],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    send_stream(json.loads(relay.stdout.readline())["port"])
    responder.join(10)
    relay.terminate()
    lines = [{key: value for key, value in json.loads(line).items() if key != "time_ns"}
             for line in relay.stdout]
    relay.wait(10)
    return (responder.digest.hexdigest(), [e for e in lines if e["event"] == "decision"],
            relay.returncode)


def main(tool, rounds):
    listener = socket.create_server(("127.0.0.1", 0))
    rules = [word for rule in RULES for word in ("--rule", rule)]
    first = one_round(tool, listener, [*rules, "--seed", "7", "--record", "record"])
    again = one_round(tool, listener, [*rules, "--seed", "7"])
    other = one_round(tool, listener, [*rules, "--seed", "8"])
    same = sum(one_round(tool, listener, ["--replay", "record"]) == first for _ in range(rounds))
    print(f"{same} of {rounds} identical")
    seeded = again == first and other[:2] != first[:2] and len(first[1]) > 20
    return 0 if same == rounds and seeded else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
