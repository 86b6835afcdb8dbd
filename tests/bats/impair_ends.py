#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Two ends of ddp-impair that end a connection in unusual ways.

impair_ends.py CASE DDP-IMPAIR [OPTION...]
    prints what the other end received. OPTIONs are passed to ddp-impair. The cases:

last-words   the responder sends some octets and resets, while the initiator sends
slow-reader  the initiator sends 100 kB and resets, before the responder reads
half-closed  the initiator ends its direction and then resets, while the responder sends
held         64 FPDUs that the initiator sends, then a FIN; prints whether each arrived 16 times
crowd        300 connections at once
"""
import fcntl
import os
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import time

SIOCOUTQ = 0x5411
WAIT = 10  # seconds at most for anything
START = bytes([0x00, 1, 0, 0])  # flags (no CRC, no markers), revision 1, no Private Data
REQUEST, REPLY = b"MPA ID Req Frame" + START, b"MPA ID Rep Frame" + START


class Relay:
    """ddp-impair between a listener of ours and its port."""

    def __init__(self, tool, options, receive_buffer=0):
        self.listener = socket.socket()
        if receive_buffer:
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(512)
        self.listener.settimeout(WAIT)
        self.process = subprocess.Popen(
            [tool, "--listen", "0", "--to", "127.0.0.1:%d" % self.listener.getsockname()[1],
             "--seconds", "60", *options], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True)
        self.port = int(self.process.stderr.readline().split(" port ")[1].split(",")[0])

    def connect(self):
        initiator = socket.create_connection(("127.0.0.1", self.port), timeout=WAIT)
        responder, _ = self.listener.accept()
        responder.settimeout(WAIT)
        return initiator, responder

    def end(self):
        self.process.terminate()
        said = self.process.communicate(timeout=WAIT)[1].strip()
        if self.process.returncode:
            print(f"exit status {self.process.returncode}: {said}")


def reset(end):
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    end.close()


def wait_acknowledged(end):
    """Until the relay has received all octets that this end sent."""
    until = time.monotonic() + WAIT
    while struct.unpack("i", fcntl.ioctl(end, SIOCOUTQ, bytes(4)))[0]:
        if time.monotonic() > until:
            sys.exit("the relay does not read")
        time.sleep(0.005)


def wait_readable(end):
    if not select.select([end], [], [], WAIT)[0]:
        sys.exit("nothing arrives")


def receive(end):
    """Returns all octets, and how the stream ended."""
    octets = b""
    while True:
        try:
            got = end.recv(1 << 20)
        except ConnectionResetError:
            return octets, "reset"
        except socket.timeout:
            return octets, "nothing more"
        if not got:
            return octets, "FIN"
        octets += got


def last_words(relay):
    initiator, responder = relay.connect()
    initiator.sendall(b"first")
    wait_readable(responder)
    # The relay sees what follows at once, first that of the initiator.
    os.kill(relay.process.pid, signal.SIGSTOP)
    initiator.sendall(b"second")
    responder.sendall(b"last words")
    responder.close()  # with unread octets: a reset
    os.kill(relay.process.pid, signal.SIGCONT)
    octets, end = receive(initiator)
    print(f"{octets.decode()}, {end}")


def slow_reader(relay):
    initiator, responder = relay.connect()
    initiator.sendall(bytes(100000))
    wait_acknowledged(initiator)
    reset(initiator)
    octets, end = receive(responder)
    print(f"{len(octets)} octets, {end}")


def half_closed(relay):
    initiator, responder = relay.connect()
    initiator.shutdown(socket.SHUT_WR)
    _, end = receive(responder)
    reset(initiator)
    until = time.monotonic() + WAIT
    try:
        while time.monotonic() < until:
            responder.sendall(b"more")
            time.sleep(0.005)
    except (BrokenPipeError, ConnectionResetError):
        end += ", reset"
    print(end)


def fpdu(n):
    """An RDMA Write of 20000 octets; the CRC field is not in use."""
    ulpdu = struct.pack(">BBIQ", 0xc1, 0x40, 0x100, n * 20000) + bytes([n]) * 20000
    octets = struct.pack(">H", len(ulpdu)) + ulpdu
    return octets + bytes(-len(octets) % 4 + 4)


def held(relay):
    initiator, responder = relay.connect()
    initiator.sendall(REQUEST)
    responder.recv(100)
    responder.sendall(REPLY)
    initiator.recv(100)
    fpdus = [fpdu(n) for n in range(64)]
    initiator.sendall(b"".join(fpdus))
    initiator.shutdown(socket.SHUT_WR)
    octets, end = receive(responder)
    same = octets == b"".join(octets * 16 for octets in fpdus)
    print(f"{'all' if same else 'not all'}, {end}")


def crowd(relay):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    pairs = [relay.connect() for _ in range(300)]
    for number, (initiator, responder) in enumerate(pairs):
        initiator.sendall(b"%d" % number)
        responder.sendall(b"%d" % -number)
    passed = sum(responder.recv(10) == b"%d" % number and initiator.recv(10) == b"%d" % -number
                 for number, (initiator, responder) in enumerate(pairs))
    print(f"{passed} connections")


def main(case, tool, *options):
    run = {"last-words": last_words, "slow-reader": slow_reader, "half-closed": half_closed,
           "held": held, "crowd": crowd}[case]
    relay = Relay(tool, options, 4096 if case == "slow-reader" else 0)
    run(relay)
    relay.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
