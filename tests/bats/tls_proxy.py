#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Forwards one TCP connection, and ends TLS on either side: a party between both ends of a transfer.

tls_proxy.py PORT TO_PORT [--in CERT KEY] [--out]

Listens on PORT of 127.0.0.1 and connects to TO_PORT there. --in: the connection that arrives has TLS, and the proxy has this
certificate. --out: the connection to TO_PORT has TLS, without any check. Prints a line when it listens.
"""

import argparse
import contextlib
import select
import socket
import ssl

SECONDS = 20
PROTOCOL = "iwarp"


def context(purpose):
    made = ssl.SSLContext(purpose)
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    made.set_alpn_protocols([PROTOCOL])
    return made


def server(accepted, files):
    if not files:
        return accepted
    made = context(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(*files)
    return made.wrap_socket(accepted, server_side=True)


def client(port, tls):
    connected = socket.create_connection(("127.0.0.1", port), SECONDS)
    if not tls:
        return connected
    made = context(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    return made.wrap_socket(connected)


def has_octets(end, readable):
    return end in readable or (isinstance(end, ssl.SSLSocket) and end.pending() > 0)


def forward(one, other):
    while True:
        pending = [end for end in (one, other) if has_octets(end, [])]
        readable = pending or select.select([one, other], [], [], SECONDS)[0]
        if not readable:
            return
        for source, target in ((one, other), (other, one)):
            if source not in readable:
                continue
            octets = source.recv(65536)
            if not octets:
                return
            target.sendall(octets)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("to", type=int)
    parser.add_argument("--in", dest="files", nargs=2)
    parser.add_argument("--out", action="store_true")
    options = parser.parse_args()
    with socket.create_server(("127.0.0.1", options.port)) as listener:
        listener.settimeout(SECONDS)
        print("listening", flush=True)
        accepted = listener.accept()[0]
    accepted.settimeout(SECONDS)
    # Either end may end the connection at any time.
    with contextlib.suppress(OSError), server(accepted, options.files) as one, client(options.to, options.out) as other:
        forward(one, other)


if __name__ == "__main__":
    main()
