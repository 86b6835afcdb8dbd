#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# An independent program decodes the traffic of this suite: in captures of every mode, tshark finds
# MPA, DDP and RDMAP, only good CRCs, nothing malformed, and exactly the FPDUs that ddp-dump finds.

# bats file_tags=beside

bats_require_minimum_version 1.5.0
load helpers
load net

setup_file() { net_setup --offloads off; }
teardown_file() { net_teardown; }
setup() { skip_with_file; }

# If a sender moves to another core, two cores transmit its segments through the veth, and these may
# overtake each other. TCP restores the order. tshark must do so too, otherwise it loses an FPDU for
# each early segment.
readonly TSHARK_OPTIONS='-o tcp.try_heuristic_first:TRUE -o tcp.reassemble_out_of_order:TRUE --disable-protocol rpcordma'

# tshark_lines FIELD: prints every value of it in the capture, one per line
tshark_lines() {
    # shellcheck disable=SC2086
    tshark -r "$BATS_TEST_TMPDIR/c.pcap" $TSHARK_OPTIONS -T fields -e "$1" 2>/dev/null | tr ',' '\n' | grep -v '^$' || true
}

# traffic MODE OPTIONS...: captures a complete run between the namespaces that is shorter than the
# first window (64 KiB). If the reader is slow and the window is full, TCP splits a segment at the
# window's edge; then FPDUs are not aligned, and tshark loses them.
traffic() {
    local mode=$1
    shift

    require_tool tshark tcpdump
    capture_in left "$BATS_TEST_TMPDIR/c.pcap" -s 0 tcp port 7471
    IW_READY=listening serve_in left ddp-bench --listen --once --bind "$LEFT_IP" "$@"
    run_in right ddp-bench "$@" -w 0 --interval 0 --depth 2 -n 3 -s 20011 "$LEFT_IP" "$mode"
    assert_status 0
    wait_served
    capture_end "$CAPTURE"
}

# Decodes the whole capture with tshark.
tshark_reads() {
    # shellcheck disable=SC2086
    tshark -r "$BATS_TEST_TMPDIR/c.pcap" $TSHARK_OPTIONS -V 2>/dev/null >"$BATS_TEST_TMPDIR/c.txt"
}

# both_read OPCODES...: tshark and ddp-dump agree, nothing is malformed, and these opcodes occur
both_read() {
    local fpdus op bad

    tshark_reads
    bad=$(grep -ciE 'malformed|bad crc32' "$BATS_TEST_TMPDIR/c.txt" || true)
    assert_equal "$bad" 0
    fpdus=$(tshark_lines iwarp_rdma.opcode | wc -l)
    [ "$fpdus" -gt 20 ] || fail_with "tshark sees only $fpdus FPDUs"
    run_here ddp-dump --json -r "$BATS_TEST_TMPDIR/c.pcap"
    assert_status 0
    assert_jsonl 'map(select(.event=="ddp")) | length' "$fpdus"
    for op in "$@"; do
        tshark_lines iwarp_rdma.opcode | sort -u | grep -qx "$op" || fail_with "tshark sees no opcode $op"
    done
}

# MPA-21, MPA-25: CRC is on, and FPDUs are in TCP segments of their own
@test "writes with aligned FPDUs, read by tshark" {
    traffic write --mulpdu emss
    both_read 0x00 0x05
    # As RNICs need it: a segment begins with an FPDU.
    assert_jsonl 'map(select(.event=="ddp" and .aligned==false)) | length' 0
}

@test "reads with aligned FPDUs, read by tshark" {
    traffic read --mulpdu emss
    both_read 0x01 0x02 0x05
}

@test "sends with aligned FPDUs, read by tshark" {
    traffic send --mulpdu emss
    both_read 0x03
}

# MPA-11, MPA-12, MPA-15. RFC 5044 4.3 assigns a marker directly after a CRC to the next FPDU;
# tshark 4.0 assigns it to the previous FPDU. From that FPDU on, tshark may lose the FPDU boundaries
# in that direction. Before it, tshark must find every CRC good; the CRCs cover the markers too.
@test "writes with markers both ways, read by tshark" {
    local good

    traffic write --mulpdu emss --markers
    tshark_reads
    good=$(grep -c 'CRC check: .*Good CRC32' "$BATS_TEST_TMPDIR/c.txt" || true)
    run_here ddp-dump --json -r "$BATS_TEST_TMPDIR/c.pcap"
    assert_status 0
    assert_jsonl "map(select(.event==\"ddp\")) | group_by(.from) | map(map(.position) |
        [length, ([range(1; length) as \$i | select(.[\$i] % 512 == 0) | \$i - 1] | min // empty)] | min) | add <= $good" true
    [ "$good" -gt 3 ] || fail_with "tshark finds only $good good CRCs"
    grep -q 'Marker' "$BATS_TEST_TMPDIR/c.txt" || fail_with 'tshark sees no marker'
    # ddp-dump decodes the stream to its end.
    assert_jsonl 'map(select(.event=="ddp" and .markers=="good")) | length > 40' true
}

# ENH-02
@test "revision 1, read by tshark" {
    traffic write --mulpdu emss --rev 1
    both_read 0x00 0x05
}

# MPA-20
@test "without CRC, read by tshark" {
    traffic write --mulpdu emss --crc off
    both_read 0x00 0x05
}
