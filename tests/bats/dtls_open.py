#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Decrypts the DTLS 1.2 of a capture with a key log, by an implementation of its own.

dtls_open.py CAPTURE KEYLOG OUT
    writes a capture with one UDP datagram for each record of application data. Prints the number of
        records that the client and the server sent. The exit status is 1 if a record is not authentic,
    or if an end used a sequence number twice.

tshark 4.0 leaves the epoch out of the nonce of ChaCha20-Poly1305 (RFC 7905 2 has it), so that it
decrypts no record of this suite. Only this suite is supported here. CAPTURE: Ethernet or raw IPv4.
"""
import hashlib
import hmac
import struct
import sys

HANDSHAKE, DATA = 22, 23
CLIENT_HELLO, SERVER_HELLO = 1, 2
SUITES = {0xcca8, 0xcca9, 0xccac, 0xccad}  # RSA, ECDSA, ECDHE-PSK, DHE-PSK with ChaCha20-Poly1305
LINKTYPE_ETHERNET, LINKTYPE_RAW = 1, 101
MASK = 0xffffffff


def fail(text):
    sys.exit(f"dtls_open: {text}")


def chacha20(key, counter, nonce, data):
    """RFC 8439 2.4"""
    start = list(struct.unpack("<16I", b"expand 32-byte k" + key + bytes(4) + nonce))
    order = [(i, 4 + i, 8 + i, 12 + i) for i in range(4)] + [(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4) for i in range(4)]
    out = bytearray()
    for at in range(0, len(data), 64):
        start[12] = counter + at // 64
        s = start[:]
        for _ in range(10):
            for a, b, c, d in order:
                for to, by, turned, shift in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                    s[to] = (s[to] + s[by]) & MASK
                    x = s[turned] ^ s[to]
                    s[turned] = (x << shift | x >> (32 - shift)) & MASK
        block = struct.pack("<16I", *((x + y) & MASK for x, y in zip(s, start)))
        out += bytes(x ^ y for x, y in zip(data[at:at + 64], block))
    return bytes(out)


def poly1305(key, text):
    """RFC 8439 2.5"""
    r = int.from_bytes(key[:16], "little") & 0x0ffffffc0ffffffc0ffffffc0fffffff
    total = 0
    for at in range(0, len(text), 16):
        total = (total + int.from_bytes(text[at:at + 16] + b"\1", "little")) * r % (2**130 - 5)
    return ((total + int.from_bytes(key[16:], "little")) % 2**128).to_bytes(16, "little")


def pad16(text):
    return text + bytes(-len(text) % 16)


def open_record(key, iv, header, sealed):
    """Returns the plaintext, or None (RFC 7905 2, RFC 8439 2.8). header: the 13 octets of the record's header."""
    kind, version, seq = header[:1], header[1:3], header[3:11]
    nonce = bytes(x ^ y for x, y in zip(iv, bytes(4) + seq))
    text, tag = sealed[:-16], sealed[-16:]
    aad = seq + kind + version + struct.pack(">H", len(text))
    mac = poly1305(chacha20(key, 0, nonce, bytes(32)), pad16(aad) + pad16(text) + struct.pack("<QQ", len(aad), len(text)))
    return chacha20(key, 1, nonce, text) if hmac.compare_digest(mac, tag) else None


def expand(secret, label, seed, length):
    """P_SHA256 (RFC 5246 5)"""
    seed, out = label + seed, b""
    a = seed
    while len(out) < length:
        a = hmac.digest(secret, a, hashlib.sha256)
        out += hmac.digest(secret, a + seed, hashlib.sha256)
    return out[:length]


def read_keys(path):
    keys = {}
    for line in open(path, encoding="ascii"):
        words = line.split()
        if words and words[0] == "CLIENT_RANDOM":
            keys[bytes.fromhex(words[1])] = bytes.fromhex(words[2])
    return keys


def datagrams(path):
    """Yields (source, destination, payload) of each UDP packet over IPv4; an address has its port."""
    data = open(path, "rb").read()
    link = struct.unpack_from("<I", data, 20)[0]
    if data[:4] != b"\xd4\xc3\xb2\xa1" or link not in (LINKTYPE_ETHERNET, LINKTYPE_RAW):
        fail(f"{path}: expected a little-endian pcap of Ethernet or raw IP")
    at = 24
    while at < len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        packet = data[at + 16:at + 16 + length]
        at += 16 + length
        if link == LINKTYPE_ETHERNET:
            if packet[12:14] != b"\x08\x00":
                continue
            packet = packet[14:]
        head = (packet[0] & 15) * 4
        if packet[0] >> 4 != 4 or packet[9] != 17:
            continue
        udp = packet[head:]
        yield packet[12:16] + udp[:2], packet[16:20] + udp[2:4], udp[8:struct.unpack_from(">H", udp, 4)[0]]


def records(payload):
    """Yields (header, fragment). Several datagrams of a batch may be one packet of the capture."""
    at = 0
    while at + 13 <= len(payload):
        length = struct.unpack_from(">H", payload, at + 11)[0]
        yield payload[at:at + 13], payload[at + 13:at + 13 + length]
        at += 13 + length


class Session:
    """Between two addresses. keys: {source: (key, iv)} once both hellos were seen."""

    def __init__(self):
        self.client, self.random, self.keys, self.seen = None, {}, {}, set()

    def hello(self, source, destination, body, masters):
        kind, random = body[0], body[14:46]
        self.random[kind] = random
        if kind == CLIENT_HELLO:
            self.client = source
            return
        suite = struct.unpack_from(">H", body, 47 + body[46])[0]
        if suite not in SUITES:
            fail(f"cipher suite {suite:#06x}: expected one with ChaCha20-Poly1305")
        master = masters.get(self.random.get(CLIENT_HELLO))
        if master is None:
            fail("the key log does not have the session of the capture")
        block = expand(master, b"key expansion", random + self.random[CLIENT_HELLO], 88)
        self.keys = {self.client: (block[:32], block[64:76]), source: (block[32:64], block[76:88])}


def checksum(head):
    total = sum(struct.unpack(">10H", head))
    return ~(total % 0xffff or 0xffff) & 0xffff


def plain_packet(source, destination, payload):
    udp = source[4:] + destination[4:] + struct.pack(">HH", 8 + len(payload), 0) + payload
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0) + source[:4] + destination[:4]
    return head[:10] + struct.pack(">H", checksum(head)) + head[12:] + udp


def main(capture, keylog, out):
    masters, sessions, counts = read_keys(keylog), {}, {"client": 0, "server": 0}
    with open(out, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 262144, LINKTYPE_RAW))
        for source, destination, payload in datagrams(capture):
            s = sessions.setdefault(frozenset((source, destination)), Session())
            for header, fragment in records(payload):
                kind, epoch = header[0], header[3:5]
                if kind == HANDSHAKE and epoch == b"\0\0" and fragment[0] in (CLIENT_HELLO, SERVER_HELLO):
                    s.hello(source, destination, fragment, masters)
                if kind != DATA:
                    continue
                if (source, header[3:11]) in s.seen:
                    fail(f"sequence number {header[3:11].hex()} was used twice")
                s.seen.add((source, header[3:11]))
                text = open_record(*s.keys[source], header, fragment)
                if text is None:
                    fail(f"record {header[3:11].hex()} is not authentic")
                counts["client" if source == s.client else "server"] += 1
                packet = plain_packet(source, destination, text)
                f.write(struct.pack("<IIII", 0, 0, len(packet), len(packet)) + packet)
    print(counts["client"], counts["server"])


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
