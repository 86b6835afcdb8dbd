#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Captures of encrypted connections: nothing of MPA is readable without the keys. With the key log
# of a debug build, tshark reads MPA inside TLS by scripts/wireshark/iwarp-tls.lua, and dtls_open.py
# decrypts DTLS. A release build writes no key log.

# bats file_tags=compiles

bats_require_minimum_version 1.5.0
load helpers
load net

setup_file() { net_setup; }
teardown_file() { net_teardown; }

setup() {
    skip_with_file
    export XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/config
    export SSLKEYLOGFILE=$BATS_TEST_TMPDIR/keys
}

readonly SIZE=20011 COUNT=3
readonly MPA_KEY='MPA ID Re[qp] Frame' # the first octets of MPA's Request and Reply

# The program with the key log, built once for this file.
debug_bench() {
    local out=$BATS_FILE_TMPDIR/debug

    IW_TIMEOUT=400 run_here make --no-print-directory -C "$IW_TOP" -j2 DEBUG=1 LTO= CFLAGS=-O0 BUILD="$out" "$out/ddp-bench"
    assert_status 0
    BENCH=$out/ddp-bench
}

# encrypted_run VERSION OPTION...: captures a run of $BENCH between the namespaces, with this version
# of TLS or DTLS
encrypted_run() {
    local version=$1
    shift

    require_tool tshark tcpdump
    capture_in left "$BATS_TEST_TMPDIR/c.pcap" -s 0 port 7471 or udp
    IW_READY=listening serve_in left "$BENCH" --listen --once --tls --insecure --bind "$LEFT_IP" "$@"
    run_in right "$BENCH" --tls --json -w 0 --interval 0 --depth 2 -n $COUNT -s $SIZE "$@" "$LEFT_IP" write
    assert_status 0
    assert_jsonl 'map(select(.event=="result"))[0].tls_version' "$version"
    wait_served
    capture_end "$CAPTURE"
    ! grep -qaE "$MPA_KEY" "$BATS_TEST_TMPDIR/c.pcap" || fail_with 'the capture has frames of MPA in clear text'
}

# dissect [OPTION...]: prints what tshark says with both dissectors of scripts/wireshark
dissect() {
    tshark -r "$BATS_TEST_TMPDIR/c.pcap" -X lua_script:"$IW_TOP/scripts/wireshark/iwarp-tls.lua" \
        -X lua_script:"$IW_TOP/scripts/wireshark/ddp-sctp.lua" "$@" 2>/dev/null
}

with_keys() {
    dissect -o tls.keylog_file:"$SSLKEYLOGFILE" "$@"
}

# values FIELD...: prints the values of these fields, one line for each FPDU or DDP segment
values() {
    local field columns=()

    for field in "$@"; do
        with_keys -T fields -e "$field" | tr ',' '\n' | sed '/^$/d' >"$BATS_TEST_TMPDIR/$field"
        columns+=("$BATS_TEST_TMPDIR/$field")
    done
    paste "${columns[@]}"
}

# bats test_tags=all,plain
@test "with the key log of a debug build tshark reads MPA, DDP and RDMAP inside TLS" {
    debug_bench
    encrypted_run TLSv1.3
    [ -s "$SSLKEYLOGFILE" ] || fail_with 'no key log'
    assert_equal "$(dissect -Y 'mpa_tls || iwarp_rdma')" ''
    assert_equal "$(with_keys -Y mpa_tls.request -T fields -e mpa_tls.rev -e mpa_tls.crc_flag)" $'2\t1'
    assert_equal "$(with_keys -Y mpa_tls.reply -T fields -e mpa_tls.rejected)" 0
    # A tagged segment has 14 octets of header (RFC 5041 4.1).
    assert_equal "$(values iwarp_rdma.opcode mpa_tls.ulpdu_length | awk '$1 == "0x00" { n += $2 - 14 } END { print n }')" $((SIZE * COUNT))
    values iwarp_rdma.opcode | sort -u | grep -qx 0x05 || fail_with 'tshark finds no Send with Solicited Event'
    assert_equal "$(values mpa_tls.crc_good | sort -u)" 1
    assert_equal "$(with_keys -Y '_ws.malformed || _ws.lua.error')" ''
}

# tshark 4.0 cannot decrypt this cipher suite in DTLS; dtls_open.py says why.
# bats test_tags=all,plain
@test "with the key log of a debug build every DTLS record is authentic and holds a packet of SCTP" {
    local plain=$BATS_TEST_TMPDIR/plain.pcap fields

    require_tool python3
    debug_bench
    encrypted_run DTLSv1.2 -t udp
    [ -s "$SSLKEYLOGFILE" ] || fail_with 'no key log'
    # Otherwise tshark takes this port for SCTP.
    assert_equal "$(dissect -d udp.port==9899,dtls -Y 'sctp || iwarp_rdma')" ''
    run_here python3 -S -E "$IW_TOP/tests/bats/dtls_open.py" "$BATS_TEST_TMPDIR/c.pcap" "$SSLKEYLOGFILE" "$plain"
    assert_status 0
    mv "$plain" "$BATS_TEST_TMPDIR/c.pcap"
    # Enhanced Initiate and Enhanced Accept
    fields=$(dissect -Y 'ddp_sctp.function == 5 || ddp_sctp.function == 6' -T fields -e ddp_sctp.function)
    assert_equal "$(sort <<<"$fields" | tr '\n' ' ')" '5 6 '
    dissect -T fields -e iwarp_rdma.opcode | tr ',' '\n' | sort -u >"$BATS_TEST_TMPDIR/opcodes"
    grep -qx 0x00 "$BATS_TEST_TMPDIR/opcodes" || fail_with 'tshark finds no RDMA Write'
    grep -qx 0x05 "$BATS_TEST_TMPDIR/opcodes" || fail_with 'tshark finds no Send with Solicited Event'
    assert_equal "$(dissect -Y '_ws.malformed || _ws.lua.error || ddp_sctp.short || ddp_sctp.unknown')" ''
    # ddp-dump finds all octets that were written.
    run_here ddp-dump --json -r "$BATS_TEST_TMPDIR/c.pcap"
    assert_status 0
    assert_jsonl 'map(select(.event=="ddp" and .opcode==0)) | unique_by(.tsn) | map(.payload_octets) | add' $((SIZE * COUNT))
}

@test "a release build writes no key log" {
    local t

    ! grep -q IW_DEBUG "$IW_BUILD/flags.key" || skip "needs release: $IW_BUILD was built with DEBUG=1"
    BENCH=$IW_BUILD/ddp-bench
    encrypted_run TLSv1.3
    [ ! -e "$SSLKEYLOGFILE" ] || fail_with 'there is a key log'
    encrypted_run DTLSv1.2 -t udp
    [ ! -e "$SSLKEYLOGFILE" ] || fail_with 'there is a key log'
    for t in "$IW_BUILD"/ddp-* "$IW_BUILD"/mpa-probe "$IW_BUILD"/sctp-ddp-ping "$IW_BUILD"/libiwarp.a; do
        ! grep -qa SSLKEYLOGFILE "$t" || fail_with "$t reads SSLKEYLOGFILE"
    done
}
