# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reads the frames of a capture for what ddp-dump does not report: the octets of each frame on the
wire, and the SACKs of SCTP. Truncated frames and those of other protocols are skipped."""

import ipaddress
import struct
import sys

PCAP = {b"\xd4\xc3\xb2\xa1": ("<", 1000), b"\xa1\xb2\xc3\xd4": (">", 1000),
        b"\x4d\x3c\xb2\xa1": ("<", 1), b"\xa1\xb2\x3c\x4d": (">", 1)}
PCAPNG = b"\x0a\x0d\x0d\x0a"
MAGICS = (*PCAP, PCAPNG)
LINK_HEADERS = {0: 4, 1: 14, 12: 0, 101: 0, 113: 16, 228: 0, 229: 0, 276: 20}
ETHERNET = 1
TCP, UDP, SCTP = 6, 17, 132
SACK = 3


class Frame:
    """at: ns since 1970. octets: on the wire. src, dst: address:port as ddp-dump prints them,
    without the UDP port of SCTP. sack: (cumulative TSN, gap blocks), or None."""

    __slots__ = ("at", "octets", "src", "dst", "sack")

    def __init__(self, at, octets, src, dst, sack):
        self.at, self.octets, self.src, self.dst, self.sack = at, octets, src, dst, sack


def read(data):
    """Returns the frames of TCP and SCTP over IP, in the order of the file. data: the octets of the
    file, in memory or mapped."""
    records = pcapng_records(data) if data[:4] == PCAPNG else pcap_records(data)
    frames = (decode(*record) for record in records)
    return [frame for frame in frames if frame]


def pcap_records(data):
    order, unit = PCAP[data[:4]]
    if len(data) < 24:
        return
    link = struct.unpack_from(order + "I", data, 20)[0] & 0xffff
    at = 24
    while at + 16 <= len(data):
        seconds, part, kept, octets = struct.unpack_from(order + "IIII", data, at)
        yield seconds * 10**9 + part * unit, octets, link, data[at + 16:at + 16 + kept]
        at += 16 + kept


def pcapng_records(data):
    order, links, at = "<", [], 0
    while at + 12 <= len(data):
        if data[at:at + 4] == PCAPNG:
            order = "<" if data[at + 8:at + 12] == b"\x4d\x3c\x2b\x1a" else ">"
            links = []
        kind, length = struct.unpack_from(order + "II", data, at)
        body = data[at + 8:at + length - 4]
        if kind == 1 and len(body) >= 8:
            links.append((struct.unpack_from(order + "H", body)[0], resolution(order, body)))
        elif kind == 6 and len(body) >= 20:
            number, high, low, kept, octets = struct.unpack_from(order + "IIIII", body)
            if number < len(links):
                link, per_second = links[number]
                yield ((high << 32 | low) * 10**9 // per_second, octets, link, body[20:20 + kept])
        if length < 12:
            return
        at += length


def resolution(order, body):
    """The units of time in a second: the option if_tsresol of an interface."""
    at = 8
    while at + 4 <= len(body):
        code, length = struct.unpack_from(order + "HH", body, at)
        if code == 9 and length == 1 and at + 4 < len(body):
            value = body[at + 4]
            return 2 ** (value & 127) if value & 128 else 10 ** value
        at += 4 + (length + 3) // 4 * 4
    return 10**6


def decode(at, octets, link, data):
    skip = LINK_HEADERS.get(link)
    if skip is None:
        return None
    if link == ETHERNET:
        while data[skip - 2:skip] in (b"\x81\x00", b"\x88\xa8"):
            skip += 4
    try:
        return decode_ip(at, octets, data[skip:])
    except (struct.error, IndexError):
        return None


def decode_ip(at, octets, data):
    if data[0] >> 4 == 4:
        ends, proto, payload = (data[12:16], data[16:20]), data[9], data[(data[0] & 15) * 4:]
    elif data[0] >> 4 == 6:
        ends, proto, payload = (data[8:24], data[24:40]), data[6], data[40:]
    else:
        return None
    if proto == UDP:
        payload = payload[8:]
    elif proto not in (TCP, SCTP):
        return None
    ports = struct.unpack_from(">HH", payload)
    src, dst = (end_name(*end) for end in zip(ends, ports))
    return Frame(at, octets, src, dst, None if proto == TCP else sack_of(payload))


def end_name(address, port):
    text = str(ipaddress.ip_address(address))
    return sys.intern(f"[{text}]:{port}" if ":" in text else f"{text}:{port}")


def sack_of(packet):
    """The first SACK chunk of an SCTP packet (RFC 9260 3.3.4)."""
    at = 12
    while at + 16 <= len(packet):
        kind, _, length = struct.unpack_from(">BBH", packet, at)
        if kind == SACK and length >= 16:
            tsn, _, gaps = struct.unpack_from(">IIH", packet, at + 4)
            return tsn, gaps
        if length < 4:
            return None
        at += (length + 3) // 4 * 4
    return None
