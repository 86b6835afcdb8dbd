-- SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
--
-- DDP over SCTP (RFC 5043) for Wireshark and tshark, which know the two payload protocols by name
-- only:
--
--   tshark -X lua_script:scripts/wireshark/ddp-sctp.lua -r FILE -Y ddp_sctp
--
-- PPID 16: the DDP-SSN, then a DDP segment, for Wireshark's own dissector of DDP and RDMAP.
-- PPID 17: session control, with the IRD, ORD and RTR of the enhanced forms (RFC 6581 section 9).
--
-- draft-ietf-rddp-sctp-02 used PPIDs 1 and 2, which now belong to other protocols: -o
-- ddp_sctp.draft_02:TRUE decodes them as DDP.

local functions = {
    [1] = "Initiate", [2] = "Accept", [3] = "Reject", [4] = "Terminate",
    [5] = "Enhanced Initiate", [6] = "Enhanced Accept", [7] = "Enhanced Reject",
}

local ddp_sctp = Proto("ddp_sctp", "DDP over SCTP")
local f = {
    ssn = ProtoField.uint16("ddp_sctp.ssn", "DDP-SSN"),
    fn = ProtoField.uint16("ddp_sctp.function", "Function Code", base.DEC, functions),
    p2p = ProtoField.bool("ddp_sctp.peer_to_peer", "Peer-to-peer model (A)", 32, nil, 0x80000000),
    send = ProtoField.bool("ddp_sctp.rtr_send", "RTR: zero-length Send (B)", 32, nil, 0x40000000),
    ird = ProtoField.uint32("ddp_sctp.ird", "IRD", base.DEC, nil, 0x3fff0000),
    write = ProtoField.bool("ddp_sctp.rtr_write", "RTR: zero-length RDMA Write (C)", 32, nil, 0x00008000),
    read = ProtoField.bool("ddp_sctp.rtr_read", "RTR: zero-length RDMA Read (D)", 32, nil, 0x00004000),
    ord = ProtoField.uint32("ddp_sctp.ord", "ORD", base.DEC, nil, 0x00003fff),
    pd = ProtoField.bytes("ddp_sctp.private_data", "Private Data"),
}
ddp_sctp.fields = { f.ssn, f.fn, f.p2p, f.send, f.ird, f.write, f.read, f.ord, f.pd }

local short = ProtoExpert.new("ddp_sctp.short", "Shorter than its header", expert.group.MALFORMED, expert.severity.ERROR)
local unknown = ProtoExpert.new("ddp_sctp.unknown", "No such Function Code", expert.group.PROTOCOL, expert.severity.WARN)
local long = ProtoExpert.new("ddp_sctp.long", "More than 512 octets of Private Data (RFC 5043 5.2.3)",
    expert.group.PROTOCOL, expert.severity.WARN)
ddp_sctp.experts = { short, unknown, long }

local ddp = Dissector.get("iwarp_ddp_rdmap")

local segment = Proto("ddp_sctp_segment", "DDP Segment Chunk (RFC 5043)")
function segment.dissector(tvb, pinfo, tree)
    local t = tree:add(ddp_sctp, tvb(0, math.min(2, tvb:len())))
    if tvb:len() < 2 then
        t:add_proto_expert_info(short)
        return tvb:len()
    end
    t:add(f.ssn, tvb(0, 2))
    t:append_text(", Segment, DDP-SSN " .. tvb(0, 2):uint())
    if tvb:len() > 2 then
        ddp:call(tvb(2):tvb(), pinfo, tree)
    end
    return tvb:len()
end

-- The 32 bits before the Private Data of Enhanced Initiate and Enhanced Accept.
local function enhanced(t, at)
    for _, field in ipairs({ f.p2p, f.send, f.ird, f.write, f.read, f.ord }) do
        t:add(field, at)
    end
end

local control = Proto("ddp_sctp_control", "DDP Stream Session Control (RFC 5043)")
function control.dissector(tvb, pinfo, tree)
    local t = tree:add(ddp_sctp, tvb())
    if tvb:len() < 4 then
        t:add_proto_expert_info(short)
        return tvb:len()
    end
    local fn, pd = tvb(2, 2):uint(), 4
    t:add(f.ssn, tvb(0, 2))
    local item = t:add(f.fn, tvb(2, 2))
    local name = functions[fn]
    if not name then
        item:add_proto_expert_info(unknown)
    end
    name = name or "unknown function"
    t:append_text(", " .. name .. ", DDP-SSN " .. tvb(0, 2):uint())
    pinfo.cols.protocol = "DDP/SCTP"
    pinfo.cols.info = "Session " .. name .. " DDP-SSN=" .. tvb(0, 2):uint()
    if (fn == 5 or fn == 6) and tvb:len() >= 8 then
        enhanced(t, tvb(4, 4))
        pd = 8
    end
    if tvb:len() > pd then
        t:add(f.pd, tvb(pd))
    end
    if tvb:len() - 4 > 512 then
        t:add_proto_expert_info(long)
    end
    return tvb:len()
end

local ppids = DissectorTable.get("sctp.ppi")
ppids:add(16, segment)
ppids:add(17, control)

-- Preferences are set after this file was read.
ddp_sctp.prefs.draft_02 = Pref.bool("Draft -02", false, "PPIDs 1 and 2 are those of draft-ietf-rddp-sctp-02, not IUA and M2UA")
local taken = false
function ddp_sctp.prefs_changed()
    if ddp_sctp.prefs.draft_02 == taken then
        return
    end
    taken = ddp_sctp.prefs.draft_02
    for ppid, dissector in pairs({ [1] = segment, [2] = control }) do
        if taken then
            ppids:add(ppid, dissector)
        else
            ppids:remove(ppid, dissector)
        end
    end
end
