-- SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
--
-- MPA inside TLS (RFC 5044 over RFC 8446) and SCTP inside DTLS (RFC 8261) for Wireshark and tshark.
-- Their own dissector of MPA works only directly on TCP, and they do not know the ALPN name
-- "iwarp":
--
--   tshark -o tls.keylog_file:KEYS -X lua_script:scripts/wireshark/iwarp-tls.lua -r FILE -Y mpa_tls
--
-- A debug build (make DEBUG=1) writes the key log to the file that SSLKEYLOGFILE names. The option
-- tls.keylog_file applies to DTLS too. The ALPN name in the handshake selects this dissector.
-- Markers are reported, not removed: a stream with markers is not decoded.

local mpa = Proto("mpa_tls", "MPA inside TLS")
local f = {
    request = ProtoField.none("mpa_tls.request", "MPA Request"),
    reply = ProtoField.none("mpa_tls.reply", "MPA Reply"),
    markers = ProtoField.bool("mpa_tls.markers", "Markers required (M)", 8, nil, 0x80),
    crc_on = ProtoField.bool("mpa_tls.crc_flag", "CRC required (C)", 8, nil, 0x40),
    rejected = ProtoField.bool("mpa_tls.rejected", "Rejected (R)", 8, nil, 0x20),
    enhanced = ProtoField.bool("mpa_tls.enhanced", "Enhanced (S)", 8, nil, 0x10),
    rev = ProtoField.uint8("mpa_tls.rev", "Revision"),
    pd_length = ProtoField.uint16("mpa_tls.pd_length", "Private Data length"),
    pd = ProtoField.bytes("mpa_tls.private_data", "Private Data"),
    fpdu = ProtoField.none("mpa_tls.fpdu", "FPDU"),
    ulpdu_length = ProtoField.uint16("mpa_tls.ulpdu_length", "ULPDU length"),
    pad = ProtoField.bytes("mpa_tls.pad", "Padding"),
    crc = ProtoField.uint32("mpa_tls.crc", "CRC", base.HEX),
    crc_good = ProtoField.bool("mpa_tls.crc_good", "CRC is good"),
}
mpa.fields = { f.request, f.reply, f.markers, f.crc_on, f.rejected, f.enhanced, f.rev, f.pd_length, f.pd, f.fpdu,
    f.ulpdu_length, f.pad, f.crc, f.crc_good }

local bad_crc = ProtoExpert.new("mpa_tls.bad_crc", "Bad CRC32c (RFC 5044 4.4)", expert.group.CHECKSUM, expert.severity.ERROR)
local marked = ProtoExpert.new("mpa_tls.marked", "Markers: the rest of this stream is not decoded",
    expert.group.UNDECODED, expert.severity.WARN)
mpa.experts = { bad_crc, marked }

mpa.prefs.check_crc = Pref.bool("Check the CRC", true, "Compute the CRC32c of each FPDU")

local ddp = Dissector.get("iwarp_ddp_rdmap")
local stream_of = Field.new("tcp.stream")
-- By number of the TCP stream: whether the Request or the Reply requires CRC or markers.
local streams = {}

local HEADER, CRC = 20, 4
local kinds = { ["MPA ID Req Frame"] = "request", ["MPA ID Rep Frame"] = "reply" }

-- CRC32c, reflected (RFC 3385)
local crc_table = {}
for i = 0, 255 do
    local c = i
    for _ = 1, 8 do
        c = bit.bxor(bit.rshift(c, 1), bit.band(c, 1) == 1 and 0x82f63b78 or 0)
    end
    crc_table[i] = c
end

local function crc32c(octets)
    local c = 0xffffffff
    for i = 1, #octets do
        c = bit.bxor(bit.rshift(c, 8), crc_table[bit.band(bit.bxor(c, octets:byte(i)), 0xff)])
    end
    c = bit.bnot(c)
    return c < 0 and c + 0x100000000 or c
end

-- Each of these returns the length of the frame at `at`, or nil and the number of octets that it
-- needs.
local function start_frame(tvb, at, pinfo, tree, kind, state)
    local left = tvb:len() - at
    if left < HEADER then
        return nil, HEADER - left
    end
    local pd = tvb(at + 18, 2):uint()
    if left < HEADER + pd then
        return nil, HEADER + pd - left
    end
    local flags = tvb(at + 16, 1)
    local t = tree:add(mpa, tvb(at, HEADER + pd))
    t:add(f[kind], tvb(at, 16))
    for _, field in ipairs({ f.markers, f.crc_on, f.rejected, f.enhanced }) do
        t:add(field, flags)
    end
    t:add(f.rev, tvb(at + 17, 1))
    t:add(f.pd_length, tvb(at + 18, 2))
    if pd > 0 then
        t:add(f.pd, tvb(at + HEADER, pd))
    end
    t:append_text(kind == "request" and ", Request" or ", Reply")
    pinfo.cols.info = kind == "request" and "MPA Request" or "MPA Reply"
    state.crc = state.crc or bit.band(flags:uint(), 0x40) ~= 0
    state.markers = state.markers or bit.band(flags:uint(), 0x80) ~= 0
    return HEADER + pd
end

local function fpdu(tvb, at, pinfo, tree, state)
    local left = tvb:len() - at
    if left < 2 then
        return nil, 2 - left
    end
    local ulpdu = tvb(at, 2):uint()
    local pad = (4 - (2 + ulpdu) % 4) % 4
    local length = 2 + ulpdu + pad + CRC
    if left < length then
        return nil, length - left
    end
    local t = tree:add(mpa, tvb(at, length))
    local crc = tvb(at + length - CRC, CRC)
    t:add(f.fpdu, tvb(at, length))
    t:add(f.ulpdu_length, tvb(at, 2))
    if pad > 0 then
        t:add(f.pad, tvb(at + 2 + ulpdu, pad))
    end
    t:append_text(", FPDU, ULPDU length " .. ulpdu)
    local item = t:add(f.crc, crc)
    if state.crc and mpa.prefs.check_crc then
        -- The CRC is on the wire with the least significant octet first.
        local good = crc32c(tvb:raw(at, length - CRC)) == crc:le_uint()
        t:add(f.crc_good, crc, good):set_generated()
        if not good then
            item:add_proto_expert_info(bad_crc)
        end
    end
    if ulpdu > 0 then
        ddp:call(tvb(at + 2, ulpdu):tvb(), pinfo, tree)
    end
    return length
end

function mpa.dissector(tvb, pinfo, tree)
    local stream = stream_of()
    local state = streams[stream and stream.value or -1] or {}
    streams[stream and stream.value or -1] = state
    local at = 0
    pinfo.cols.protocol = "MPA/TLS"
    while at < tvb:len() do
        local kind = tvb:len() - at >= 16 and kinds[tvb:raw(at, 16)]
        local length, more
        if kind then
            length, more = start_frame(tvb, at, pinfo, tree, kind, state)
        elseif state.markers then
            tree:add(mpa, tvb(at)):add_proto_expert_info(marked)
            return tvb:len()
        else
            length, more = fpdu(tvb, at, pinfo, tree, state)
        end
        if not length then
            pinfo.desegment_offset = at
            pinfo.desegment_len = more
            return tvb:len()
        end
        at = at + length
    end
    return tvb:len()
end

function mpa.init()
    streams = {}
end

DissectorTable.get("tls.alpn"):add("iwarp", mpa)
DissectorTable.get("tls.port"):add_for_decode_as(mpa)
DissectorTable.get("dtls.alpn"):add("iwarp", Dissector.get("sctp"))
