# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The units of an MPA stream without markers (RFC 5044): the start-up frame, then FPDUs."""

START_HEADER = 20  # key, flags, revision, length of the Private Data (RFC 5044 7.1.1)
REJECTED = 0x20  # flag of a Reply: no FPDU follows
TAGGED = 0x80  # in the first octet of a DDP header (RFC 5041 4.1)


class Unit:
    """One unit of a stream. what: start, tagged, untagged or other. number: among those of its
    stream with the same what."""

    def __init__(self, conn, way, what, number, octets):
        self.conn = conn
        self.way = way
        self.what = what
        self.number = number
        self.octets = octets


class Framer:
    """Divides one direction of one connection into units."""

    def __init__(self, conn, way):
        self.conn = conn
        self.way = way
        self.buffer = bytearray()
        self.started = False
        self.opaque = False
        self.counts = {}

    def feed(self, octets):
        """Returns the units that these octets complete."""
        self.buffer += octets
        units = []
        while (length := self.next_length()) is not None:
            units.append(self.take(length))
        return units

    def rest(self):
        """What remains of a stream that ended inside a unit."""
        octets = bytes(self.buffer)
        self.buffer.clear()
        return octets

    def next_length(self):
        have = len(self.buffer)
        if self.opaque:
            return have or None
        if not self.started:
            if have < START_HEADER:
                return None
            need = START_HEADER + int.from_bytes(self.buffer[18:20], "big")
        else:
            if have < 2:
                return None
            need = fpdu_octets(int.from_bytes(self.buffer[:2], "big"))
        return need if have >= need else None

    def take(self, length):
        octets = bytes(self.buffer[:length])
        del self.buffer[:length]
        what = self.what(octets)
        number = self.counts.get(what, 0)
        self.counts[what] = number + 1
        return Unit(self.conn, self.way, what, number, octets)

    def what(self, octets):
        if self.opaque:
            return "other"
        if not self.started:
            self.started = True
            self.opaque = self.way == 1 and bool(octets[16] & REJECTED)
            return "start"
        return "tagged" if len(octets) > 6 and octets[2] & TAGGED else "untagged"


def fpdu_octets(ulpdu):
    """The length of an FPDU on the wire: length field, ULPDU, padding to 4 octets, CRC."""
    return (2 + ulpdu + 3) // 4 * 4 + 4
