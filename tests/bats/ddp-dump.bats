#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# ddp-dump on captures of other implementations' iWARP, complete and damaged.

# bats file_tags=beside

load helpers
load net

setup() {
    TRACES=$IW_TOP/tests/vectors/traces
    export TZ=UTC
}

# bytes HEX...: writes these octets to standard output
bytes() {
    local hex i

    hex=$(tr -d ' ' <<<"$*")
    for ((i = 0; i < ${#hex}; i += 2)); do printf '%b' "\\x${hex:i:2}"; done
}

# For each connection and direction: FPDUs, those that begin a TCP segment, good CRCs, and CRC
# fields of zero although CRC is off. The texts beside the captures contain the same counts, from a
# decoder that shares no code with ours.
told_by_text() {
    awk '
        /^connection [0-9]+:/ { flow = $2 - 1 }
        /^  totals:/ {
            sub(/^  totals: /, "")
            n = split($0, part, /, /)
            for (i = 1; i <= n; i++) {
                dir = substr(part[i], 1, 1)
                value = part[i]; sub(/.* /, "", value)
                key = substr(part[i], 2); sub(/ [0-9]+$/, "", key)
                got[dir, key] = value
            }
            for (d = 1; d <= 2; d++) {
                dir = substr("><", d, 1)
                printf "%d %s %d %d %d %d\n", flow, dir, got[dir, "FPDUs"], got[dir, "start a TCP segment"], got[dir, "ok"], got[dir, "zero"]
            }
            delete got
        }' "$1" | sort
}

told_by_us() {
    jq -r -s '
        ([.[] | select(.event == "mpa") | .flow] | unique) as $flows |
        [.[] | select(.event == "ddp")] as $ddp |
        $flows[] as $f | ("initiator", "responder") as $from |
        [$ddp[] | select(.flow == $f and .from == $from)] |
        [$f, (if $from == "initiator" then ">" else "<" end), length, (map(select(.aligned)) | length),
         (map(select(.crc == "good")) | length), (map(select(.crc == "off" and .crc_field == "0x00000000")) | length)] |
        map(tostring) | join(" ")' "$1" | sort
}

@test "every capture: FPDUs, their alignment and their CRCs agree with another decoder" {
    local text name n=0

    for text in "$TRACES"/*.txt; do
        name=$(basename "$text" .txt)
        run_here ddp-dump -q --json -r "$TRACES/$name.pcap"
        assert_status 0
        assert_stderr_is ''
        diff <(told_by_text "$text") <(told_by_us "$OUTPUT_FILE") || fail_with "$name: the text (<) and ddp-dump (>) differ"
        n=$((n + 1))
    done
    [ $n -ge 25 ]
}

@test "a Send in human form is one line with time, frame, ends, header and verdict" {
    run_here ddp-dump -q -r "$TRACES/rping-crc.pcap"
    assert_status 0
    [ "$(grep -c ' Send L ' <<<"$output")" -eq 12 ]
    grep -qE '^[0-2][0-9]:[0-5][0-9]:[0-5][0-9]\.[0-9]{6} 8 #0 10\.88\.0\.2:[0-9]+ > 10\.88\.0\.1:7174 Send L MSN 1 MO 0, length 16, crc good$' \
        <<<"$output" || fail_with 'no such line'
}

@test "JSON lines begin with schema and event, carry numbers as numbers and end with the totals" {
    run_here ddp-dump --json -r "$TRACES/ops.pcap"
    assert_status 0
    assert_jsonl 'all(.[]; keys_unsorted[0:2] == ["schema", "event"] and .schema == 1)' true
    assert_jsonl '[.[].event] | group_by(.) | map({(.[0]): length}) | add' '{"ddp":27,"mpa":2,"result":1,"tcp":2}'
    assert_jsonl '.[-1] | [.event, .segments, .crc_off, .deviations, .errors, .complete, .exit_status]' '["result",27,27,4,0,true,0]'
    assert_jsonl '[.[] | select(.event == "ddp")][0] | [.op, .opcode, .t, .l, .qn, .msn, .mo, .payload_octets, .crc, .aligned]' \
        '["Send",3,false,true,0,1,0,0,"off",true]'
    assert_jsonl '[.[] | select(.opcode == 0)][-1] | [.op, .stag, .to, .payload_octets]' '["RDMA Write","0xeb9c1b00","0x000055bd9558d000",100]'
    assert_jsonl '[.[] | select(.opcode == 1)][1].read_request' \
        '{"size_octets":5,"sink_stag":"0xdb6e8a00","sink_to":"0x0000564bef7dc000","src_stag":"0xeb9c1b00","src_to":"0x000055bd9558d000"}'
}

@test "Private Data of a peer comes out as hex digits and as printable text only" {
    run_here ddp-dump -q -r "$TRACES/ops.pcap"
    assert_status 0
    assert_output_has 'Private Data 32 "probe!....U..X.................." 70726f6265210000000055bd9558d000eb9c1b00000100001af1d80000000000'
    run ! grep -qP '[^\x20-\x7e]' <<<"$output"
}

@test "the agreed parameters are reported with the Reply" {
    run_here ddp-dump --json -r "$TRACES/probe-mpa.pcap"
    assert_status 0
    # C = 1 in a Reply to a Request with C = 0 switches CRC on
    assert_jsonl '[.[] | select(.event == "mpa" and .kind == "reply" and .flow == 14)][0] | [.c, .crc_on]' '[true,true]'
    # R = 1: nothing is agreed
    assert_jsonl '[.[] | select(.event == "mpa" and .kind == "reply" and .r)] | map(has("crc_on"))' '[false]'
    assert_jsonl '[.[] | select(.event == "mpa" and .kind == "reply" and .flow == 5)][0] | [.peer_to_peer, .rtr_write, .rtr_read, .ird, .ord]' \
        '[true,true,false,1,1]'
}

@test "a Terminate of siw is decoded as RFC 5040 requires, and its deviation is named" {
    run_here ddp-dump --json -r "$TRACES/term-badread.pcap"
    assert_status 0
    assert_jsonl '.[] | select(.opcode == 7) | [.terminate | .layer, .etype, .code, .m, .d, .r]' '[1,0,0,false,false,false]'
    assert_jsonl '.[] | select(.opcode == 7) | [.terminate_exchanged | .layer, .etype, .code, .m, .d, .r, .text]' \
        '[0,1,0,true,true,true,"RDMAP remote protection error: invalid STag"]'
    assert_jsonl '.[] | select(.opcode == 7) | .deviations' '["terminate-bit-order","terminate-length"]'
    run_here ddp-dump -r "$TRACES/term-badread.pcap"
    assert_output_has '[terminate-bit-order]'
}

@test "a responder that sends first is named" {
    run_here ddp-dump --json -r "$TRACES/ucmatose.pcap"
    assert_status 0
    assert_jsonl '[.[] | select(.event == "ddp" and (.deviations // [] | index("responder-first"))) | [.flow, .from, .msn]]' '[[0,"responder",1],[1,"responder",1]]'
}

# The deviations of Linux siw from the RFCs in each of its captures, with the number of reports;
# there are no others. In the three captures with CRCs and no entry, siw does everything that a
# capture can show according to the RFCs.
readonly SIW_DEVIATIONS='
ops crc-not-asked 1 invalidate-zero 2 pad-not-zero 1
ops-rev1 crc-not-asked 1 invalidate-zero 2 pad-not-zero 1
probe-mpa crc-not-asked 13 markers-refused 1 mpa-res-not-zero 2 revision-0 1
rdma_client crc-not-asked 1
read-1 crc-not-asked 2 pad-not-zero 2
read-20011 crc-not-asked 2 pad-not-zero 2
read-4096 crc-not-asked 2 pad-not-zero 2
rping crc-not-asked 1
rping-crc
rping-p2p crc-not-asked 1
rping-rev1 crc-not-asked 1
rping-size30011 crc-not-asked 1
rping-size30011-crc
send-1 crc-not-asked 2 pad-not-zero 2
send-20011 crc-not-asked 2 pad-not-zero 2
send-20011-crc pad-not-zero 2
term-badread crc-not-asked 1 terminate-bit-order 1 terminate-length 1
term-norecv crc-not-asked 1 terminate-bit-order 1 terminate-length 1
term-oobwrite crc-not-asked 1 terminate-bit-order 1
ucmatose crc-not-asked 2 responder-first 2
write-1 crc-not-asked 2 pad-not-zero 2
write-20011-crc pad-not-zero 2
write-30000-mtu9000 crc-not-asked 2 pad-not-zero 2
write-4096 crc-not-asked 2 pad-not-zero 2
write-65536 crc-not-asked 2 pad-not-zero 2'

@test "every capture of siw: its deviations are named, no rule is broken" {
    local pcap name n=0

    for pcap in "$TRACES"/*.pcap; do
        name=$(basename "$pcap" .pcap)
        run_here ddp-dump -q --json -r "$pcap"
        assert_status 0
        jq -r -s --arg name "$name" '[.[] | select(.event != "result") | .deviations // [] | .[]] | group_by(.) |
            map("\(.[0]) \(length)") | [$name] + . | join(" ")' "$OUTPUT_FILE"
        assert_jsonl '[.[] | select(.event == "error")] | length' 0
        n=$((n + 1))
    done | sort >"$BATS_TEST_TMPDIR/named"
    diff <(sed 1d <<<"$SIW_DEVIATIONS" | sort) "$BATS_TEST_TMPDIR/named" || fail_with 'expected (<) and named (>) differ'
    [ "$(wc -l <"$BATS_TEST_TMPDIR/named")" -eq 25 ]
}

@test "captures without iWARP end with 1 and say so" {
    local f

    for f in kernel-bulk kernel-multihomed; do
        run_here ddp-dump -r "$TRACES/sctp/$f.pcap"
        assert_status 1
        assert_output_is ''
        assert_stderr_has 'no iWARP found'
        assert_stderr_has 'capture from before a connection begins, and give the UDP port of SCTP with --udp-port if it is not 9899'
    done
}

@test "SCTP of other implementations that indicates DDP is followed, and messages that are not DDP are reported" {
    local f

    for f in usrsctp-unordered usrsctp-udp; do
        run_here ddp-dump --json -r "$TRACES/sctp/$f.pcap"
        assert_status 1
        assert_jsonl '[.[] | select(.event == "sctp") | .kind]' '["init","init-ack","cookie-echo","cookie-ack","shutdown","shutdown-ack","shutdown-complete"]'
        assert_jsonl '[.[] | select(.event == "sctp") | .adaptation_indication // empty]' '[1,1]'
        assert_jsonl '[.[] | select(.event == "error") | .clause]' '["RFC 5043 5.1"]'
    done
    assert_jsonl '[.[] | select(.event == "sctp") | [.over, .dst]][0]' '["udp","10.99.0.2:5001/udp:9899"]'
    # As many SACKs as another decoder finds.
    run_here ddp-dump --json --sacks -r "$TRACES/sctp/usrsctp-udp.pcap"
    assert_jsonl '[.[] | select(.kind == "sack")] | [length, (.[0] | .from, .tsn, .gaps, .duplicates, .rwnd_octets)]' '[40,"responder",1202581658,0,0,129916]'
    run_here ddp-dump --sacks -r "$TRACES/sctp/usrsctp-udp.pcap"
    assert_output_has 'SCTP SACK: all up to TSN 1202581658, window 129916 octets'
    # The kernel sends the PPIDs of DDP with data that is not DDP, one of the messages in fragments.
    run_here ddp-dump --json -r "$TRACES/sctp/kernel-fragments.pcap"
    assert_status 1
    assert_jsonl '[.[] | select(.event == "ddp") | [.fragments, .payload_octets, .crc]]' '[[3,3980,"good"],[3,3980,"good"]]'
}

@test "standard input is a capture too" {
    IW_STDIN=$TRACES/rping.pcap run_here ddp-dump -q -r -
    assert_status 0
    assert_output_has 'Send L MSN 1'
}

@test "pcapng gives the same output as pcap" {
    local ng=$BATS_TEST_TMPDIR/ops.pcapng

    require_tool editcap
    editcap -F pcapng "$TRACES/ops.pcap" "$ng"
    run_here ddp-dump --json -r "$TRACES/ops.pcap"
    cp "$OUTPUT_FILE" "$BATS_TEST_TMPDIR/want"
    run_here ddp-dump --json -r "$ng"
    assert_status 0
    assert_same_file "$BATS_TEST_TMPDIR/want" "$OUTPUT_FILE"
}

@test "a snap length leaves headers and verdict absent, not a lost stream" {
    local cut=$BATS_TEST_TMPDIR/cut.pcap

    require_tool editcap
    editcap -F pcap -s 110 "$TRACES/write-20011-crc.pcap" "$cut"
    run_here ddp-dump --json -r "$cut"
    assert_status 0
    assert_jsonl '[.[] | select(.event == "ddp" and .opcode == 0)] | length' 75
    assert_jsonl '[.[] | select(.event == "ddp") | .crc] | unique' '["absent","good"]'
    # reported once for each direction, not for every frame
    assert_jsonl '[.[] | select(.event == "tcp" and .kind == "loss")] | map([.flow, .from, .why, .sync])' \
        '[[0,"initiator","snap",true],[0,"responder","snap",true],[1,"initiator","snap",true]]'
    assert_jsonl '.[-1] | [.segments, .headless, .undecoded_octets]' '[107,0,0]'
    # too short for the MPA Request
    editcap -F pcap -s 64 "$TRACES/write-20011-crc.pcap" "$cut"
    run_here ddp-dump -r "$cut"
    assert_status 1
    # shellcheck disable=SC2154
    [[ $stderr =~ 'the snap length cut '[1-9][0-9]*' of them; capture whole frames, with tcpdump -s 0' ]] ||
        fail_with "standard error lacks the snap length: $stderr"
    [[ $stderr != *--udp-port* ]] || fail_with 'the message does not name the UDP port'
}

@test "an INIT ACK that the snap length cut breaks no rule" {
    require_tool editcap
    editcap -F pcap -s 96 "$TRACES/transfer/send-udp.pcap" "$BATS_TEST_TMPDIR/cut.pcap"
    run_here ddp-dump -r "$BATS_TEST_TMPDIR/cut.pcap"
    assert_status 0
    assert_output_has 'SCTP INIT ACK: streams 1000 out, at most 1000 in, first TSN 2750902134, the rest not captured (snap)'
    assert_output_lacks 'error:'
}

@test "a frame that was not captured is reported, and the rest is decoded" {
    local holed=$BATS_TEST_TMPDIR/holed.pcap

    require_tool editcap
    editcap -F pcap "$TRACES/write-20011-crc.pcap" "$holed" 37
    run_here ddp-dump --json -r "$holed"
    assert_status 0
    assert_jsonl '[.[] | select(.event == "tcp" and .kind == "loss") | [.octets, .why, .sync]]' '[[1448,"gap",false]]'
    assert_jsonl '[.[] | select(.event == "tcp" and .kind == "resync") | .why]' '["crc"]'
    assert_jsonl '.[-1] | [.segments, .crc_good, .crc_bad, .lost_octets]' '[106,106,0,1448]'
}

@test "a wrong CRC is reported with both values and ends with 1" {
    local bad=$BATS_TEST_TMPDIR/bad.pcap off

    cp "$TRACES/rping-crc.pcap" "$bad"
    # The CRC of the first Send, which occurs only once.
    off=$(LC_ALL=C grep -obUaP '\x28\xea\x70\xb0' "$bad" | head -n 1 | cut -d : -f 1)
    bytes 29 | dd of="$bad" bs=1 seek="$off" conv=notrunc status=none
    run_here ddp-dump --json -r "$bad"
    assert_status 1
    assert_jsonl '[.[] | select(.crc == "bad") | [.frame, .crc_field, .crc_expected]]' '[[8,"0x29ea70b0","0x28ea70b0"]]'
    assert_jsonl '[.[] | select(.event == "error") | [.frame, .error, .clause, .from]]' '[[8,"MPA_CRC","RFC 5044 8","initiator"]]'
    assert_jsonl '.[-1] | [.crc_bad, .crc_good, .errors, .exit_status]' '[1,20,1,1]'
}

@test "a capture that ends early is decoded up to there and ends with 4" {
    head -c 3000 "$TRACES/ops.pcap" >"$BATS_TEST_TMPDIR/half.pcap"
    run_here ddp-dump --json -r "$BATS_TEST_TMPDIR/half.pcap"
    assert_status 4
    assert_stderr_has truncated
    assert_jsonl '[.[] | select(.event == "ddp")] | length > 3' true
    assert_jsonl '.[-1] | [.event, .complete, .exit_status]' '["result",false,4]'
}

@test "a signal before the first frame leaves a capture incomplete" {
    local fifo=$BATS_TEST_TMPDIR/fifo writer

    mkfifo "$fifo"
    exec {writer}<>"$fifo"
    # Only the header of the file: ddp-dump then waits for a frame.
    head -c 24 "$TRACES/ops.pcap" >"$fifo"
    # It creates the copy before it begins to read.
    # shellcheck disable=SC2016
    run_here bash -c 'ddp-dump --json -r "$1" -w "$2" & until [ -e "$2" ]; do sleep 0.02; done; kill -TERM $!; wait $!' - \
        "$fifo" "$BATS_TEST_TMPDIR/copy.pcap"
    exec {writer}>&-
    assert_status 1
    assert_jsonl '.[-1] | [.event, .frames, .complete]' '["result",0,false]'
}

@test "a file that is not a capture, missing or unreadable ends with 4 and the reason" {
    run_here ddp-dump -r "$IW_TOP/README.md"
    assert_status 4
    assert_stderr_has README.md
    run_here ddp-dump -r "$BATS_TEST_TMPDIR/none.pcap"
    assert_status 4
    assert_stderr_has 'no such file'
    run_here ddp-dump -r "$BATS_TEST_TMPDIR"
    assert_status 4
    : >"$BATS_TEST_TMPDIR/empty"
    run_here ddp-dump -r "$BATS_TEST_TMPDIR/empty"
    assert_status 4
}

@test "a file that is not a capture and a damaged one are named with the reason" {
    : >"$BATS_TEST_TMPDIR/empty"
    run_here ddp-dump -r "$BATS_TEST_TMPDIR/empty"
    assert_stderr_is "ddp-dump: $BATS_TEST_TMPDIR/empty: empty; expected a pcap or pcapng capture"
    run_here ddp-dump -r -
    assert_stderr_is 'ddp-dump: standard input: empty; expected a pcap or pcapng capture'
    run_here ddp-dump -r "$IW_TOP/README.md"
    assert_stderr_is "ddp-dump: $IW_TOP/README.md: not a capture; expected pcap or pcapng"
    head -c 3000 "$TRACES/ops.pcap" >"$BATS_TEST_TMPDIR/half.pcap"
    run_here ddp-dump -q -r "$BATS_TEST_TMPDIR/half.pcap"
    assert_stderr_has "$BATS_TEST_TMPDIR/half.pcap: frame 18: truncated"
}

@test "an input that is not a plain capture is named with what to do" {
    cd "$BATS_TEST_TMPDIR"
    mkdir dir
    cp "$TRACES/ops.pcap" .
    gzip -k ops.pcap
    run_here ddp-dump -r dir
    assert_status 4
    assert_stderr_is 'ddp-dump: dir: a directory; expected a pcap or pcapng capture'
    run_here ddp-dump -r ops.pcap.gz
    assert_status 4
    assert_stderr_is "ddp-dump: ops.pcap.gz: compressed with gzip; use \`zcat ops.pcap.gz | ddp-dump -r -\`"
    run_here bash -c 'ddp-dump -r - <ops.pcap.gz'
    assert_status 4
    assert_stderr_is 'ddp-dump: standard input: compressed with gzip; decompress it first: ... | zcat | ddp-dump -r -'
    run_here ddp-dump ops.pcap
    assert_status 2
    assert_stderr_has 'ddp-dump: "ops.pcap": a file, not a filter; read a capture with -r ops.pcap'
    run_here ddp-dump -r ops.pcap ops.pcap
    assert_status 2
    assert_stderr_is 'ddp-dump: "ops.pcap": a file, not a filter; -r reads one capture at a time'
}

@test "a copy that cannot be written is named with the directory" {
    cd "$BATS_TEST_TMPDIR"
    : >file
    run_here ddp-dump -q -r "$TRACES/ops.pcap" -w no/copy.pcap
    assert_status 4
    assert_stderr_is 'ddp-dump: -w no/copy.pcap: the directory no does not exist; create it, or name another file'
    run_here ddp-dump -q -r "$TRACES/ops.pcap" -w file/copy.pcap
    assert_status 4
    assert_stderr_is 'ddp-dump: -w file/copy.pcap: file is not a directory; name another file'
    run_here ddp-dump -q -r "$TRACES/ops.pcap" -w .
    assert_status 4
    assert_stderr_is 'ddp-dump: -w .: a directory; expected the name of a file'
}

@test "a --stream that is malformed or absent is explained" {
    run_here ddp-dump -r "$TRACES/ops.pcap" --stream 0:x
    assert_status 2
    assert_stderr_has 'ddp-dump: --stream "0:x": after the colon: not a number; expected the number of a connection, such as 3, or with a stream of SCTP from 0 to 65535, such as 3:0'
    run_here ddp-dump -r "$TRACES/ops.pcap" --stream 0:3
    assert_status 0
    assert_stderr_has 'no segment of stream 3: connection 0 is TCP, which has no streams; use --stream 0'
}

@test "two sources exclude each other, and a filter needs one" {
    local args

    for args in '-r A -r B' '-i v0 -i v1' '-i v0 -I v1' '-i v0 -w A -w B'; do
        # shellcheck disable=SC2086
        run_here ddp-dump $args
        assert_status 2
        assert_stderr_has 'exclude each other; leave out one'
    done
    run_here ddp-dump t.pacp
    assert_status 2
    assert_stderr_has '"t.pacp": no such file, and a filter needs input: name a capture with -r FILE or an interface with -i IF'
}

@test "the reason is given if no event is shown" {
    head -c 24 "$TRACES/ops.pcap" >"$BATS_TEST_TMPDIR/none.pcap"
    run_here ddp-dump -r "$BATS_TEST_TMPDIR/none.pcap"
    assert_status 1
    assert_stderr_is "$BATS_TEST_TMPDIR/none.pcap has no frames"
    run_here ddp-dump -r "$TRACES/ops.pcap" udp
    assert_status 1
    assert_stderr_is 'the filter "udp" matches no frame'
    run_here ddp-dump -r "$BATS_TEST_TMPDIR/none.pcap" udp
    assert_stderr_is "$BATS_TEST_TMPDIR/none.pcap has no frames"
    run_here ddp-dump -r "$TRACES/ops.pcap" -c 2
    assert_status 1
    assert_stderr_has 'no iWARP found in 2 frames'
    assert_stderr_has '--count ended it there: use a larger one'
    run_here ddp-dump -r "$TRACES/rping-crc.pcap" --errors --json
    assert_stderr_has ' frames: --errors shows nothing else'
    run_here ddp-dump -r "$TRACES/ops.pcap" --stream 99 --json
    assert_stderr_has 'no segment of connection 99; the capture has 1 connection'
    head -c 12 "$TRACES/ops.pcap" >"$BATS_TEST_TMPDIR/12.pcap"
    run_here ddp-dump -r "$BATS_TEST_TMPDIR/12.pcap"
    assert_status 4
    assert_stderr_has '12.pcap: ends within the header of a capture; copy or capture it again'
    run_here ddp-dump -r "$TRACES/ops.pcap" --stream 99
    assert_status 0
    assert_stderr_has 'no segment of connection 99; the capture has 1 connection'
    run_here ddp-dump -r "$TRACES/ops.pcap" --stag 12
    assert_stderr_has 'no segment names the STag 0x00000012'
    run_here ddp-dump -r "$TRACES/ops.pcap" --stag 12 --stream 0
    assert_stderr_has 'no segment matches --stream and --stag'
    run_here ddp-dump -r "$TRACES/ops.pcap" foo bar
    assert_status 2
    assert_stderr_has 'see pcap-filter(7)'
}

@test "an unknown link type is named" {
    local pcap=$BATS_TEST_TMPDIR/wifi.pcap

    { bytes d4c3b2a1 0200 0400 00000000 00000000 ffff0000 69000000; } >"$pcap"
    run_here ddp-dump -r "$pcap"
    assert_status 4
    assert_stderr_has 'link type 105'
}

@test "usage errors end with 2 and name what is wrong" {
    run_here ddp-dump
    assert_status 2
    assert_stderr_has '-r FILE'
    run_here ddp-dump -r ''
    assert_status 2
    run_here ddp-dump -r "$TRACES/rping.pcap" b.pcap
    assert_status 2
    assert_stderr_has b.pcap
    run_here ddp-dump -r a.pcap -i lo
    assert_status 2
    run_here ddp-dump -r "$TRACES/rping.pcap" -s 100
    assert_status 2
    assert_stderr_has '--snapshot-length: only for a live capture; use it with -i IF'
    run_here ddp-dump -r "$TRACES/rping.pcap" -B 1M
    assert_status 2
    assert_stderr_has '--buffer-size: only for a live capture; use it with -i IF'
    run_here ddp-dump -r "$TRACES/rping.pcap" --no-promiscuous-mode
    assert_status 2
    run_here ddp-dump -r "$TRACES/rping.pcap" --align -x
    assert_status 2
    assert_stderr_has '--align cannot be combined with --hex'
    for bad in '--stag x' '--stag 123456789' '--stag=' '--stream=' '--stream 1:' '--stream 1:65536' '--stream a' '-c 0' '-s 1' '-w -' \
        '--align --errors' '--align -x' '--udp-port 0' '-B 1'; do
        # shellcheck disable=SC2086
        run_here ddp-dump -r "$TRACES/rping.pcap" $bad
        assert_status 2
    done
}

@test "a reader that closes the output ends the tool silently" {
    # The output of 130 lines exceeds the buffer. Status 0 is the result for the frames that were
    # read before the reader left.
    run_here bash -c "set -o pipefail; ddp-dump -r '$TRACES/write-65536.pcap' --explain | head -n 1"
    assert_status 0
    assert_stderr_is ''
    run_here bash -c "set -o pipefail; ddp-dump --json -r '$TRACES/write-65536.pcap' --explain | head -n 1"
    assert_status 0
    assert_stderr_is ''
}

@test "a filter expression, a count and a copy" {
    local copy=$BATS_TEST_TMPDIR/copy.pcap

    run_here ddp-dump --json -r "$TRACES/read-1.pcap" -w "$copy" tcp and port 18515
    assert_status 0
    jq -s -c '.[-1] | [.frames, .segments]' "$OUTPUT_FILE" >"$BATS_TEST_TMPDIR/want"
    run_here ddp-dump --json -r "$copy"
    assert_same_file "$BATS_TEST_TMPDIR/want" <(jq -s -c '.[-1] | [.frames, .segments]' "$OUTPUT_FILE")
    run_here ddp-dump --json -r "$copy" host 10.1.2.3
    assert_status 1
    assert_jsonl '.[-1].frames' 0
    run_here ddp-dump --json -r "$TRACES/read-1.pcap" -c 20
    assert_jsonl '.[-1] | [.frames, .complete]' '[20,true]'
    run_here ddp-dump -r "$TRACES/rping.pcap" -w /nonexistent/x.pcap
    assert_status 4
}

@test "the input file is never overwritten" {
    local f=$BATS_TEST_TMPDIR/f.pcap link=$BATS_TEST_TMPDIR/link.pcap name

    cp "$TRACES/rping.pcap" "$f"
    ln -s f.pcap "$link"
    for name in "$f" "$link"; do
        run_here ddp-dump -r "$f" -w "$name"
        assert_status 2
        assert_stderr_has "-w $name: the same file as -r $f; name another file"
        IW_STDIN=$f run_here ddp-dump -r - -w "$name"
        assert_status 2
    done
    assert_same_file "$TRACES/rping.pcap" "$f"
}

@test "each header field is explained under its octets" {
    run_here ddp-dump -q -r "$TRACES/term-badread.pcap" --explain
    assert_status 0
    assert_output_has '    0002  41 43 00 00 00 00 00 00  00 00 00 00 00 01 00 00    DDP untagged, RDMAP'
    assert_output_has '          Opcode        ....0011          3                   Send [RFC 5040 4.1]'
    assert_output_has '    001a  41 41 00 00 00 00 00 00  00 01 00 00 00 10 00 00    its DDP header'
    assert_output_has 'with the bits in order 1 [RFC 5040 4.8]'
    run_here ddp-dump -q --json -r "$TRACES/ops.pcap" --explain
    assert_status 0
    # Every field has an offset, a meaning and a clause; the fields of an FPDU are contiguous.
    assert_jsonl '[.[] | .fields // [] | .[] | (.clause | startswith("RFC ")) and .meaning != "" and has("offset_octets")] | all' true
    assert_jsonl '[.[] | select(.event == "ddp") | .fields | map(select(has("bits") | not)) |
        [.[:-1], .[1:]] | transpose | map(.[1].offset_octets - .[0].offset_octets - .[0].octets)] | flatten | unique - [0, 2]' '[]'
    assert_jsonl '[.[] | select(.op == "RDMA Read Request")][0].fields | map(.name) | .[0:4] + .[-6:]' \
        '["ULPDU_Length","T","L","Rsvd","Data Sink STag","Data Sink TO","RDMA Read Message Size","Data Source STag","Data Source TO","CRC"]'
}

@test "filters: an STag, a connection, errors" {
    run_here ddp-dump -q --json -r "$TRACES/ops.pcap" --stag eb9c1b00
    assert_status 0
    # as target of a Write and as source of a Read
    assert_jsonl '[.[] | select(.event != "result")] | map(.op) | unique' '["RDMA Read Request","RDMA Write"]'
    assert_jsonl '[.[] | select(.event != "result") | .stag == "0xeb9c1b00" or .read_request.src_stag == "0xeb9c1b00"] | all' true
    run_here ddp-dump -q --json -r "$TRACES/ucmatose.pcap" --stream 1
    assert_jsonl '[.[] | select(.event != "result") | .flow] | unique' '[1]'
    run_here ddp-dump -q --json -r "$TRACES/ucmatose.pcap" --stream 1 --stream 0
    assert_jsonl '[.[] | select(.event != "result") | .flow] | unique' '[0,1]'
    run_here ddp-dump -q --json -r "$TRACES/term-badread.pcap" --errors
    assert_jsonl '[.[] | select(.event != "result") | [.event, .op // .kind]]' '[["mpa","reply"],["ddp","Terminate"]]'
}

@test "the histogram of FPDU starts" {
    run_here ddp-dump -q --align -r "$TRACES/read-20011.pcap"
    assert_status 0
    assert_output_has '#1 10.88.0.1:18515 > 10.88.0.2:47873 75 FPDUs'
    # Every FPDU of siw begins a segment. The end of most Read Responses is in a segment of its own.
    assert_output_has '              0          75   100.0 %'
    assert_output_has '              2          61    81.3 %'
    run_here ddp-dump -q --align --json -r "$TRACES/read-20011.pcap" --stream 1
    assert_jsonl '[.[] | select(.event == "align") | [.flow, .from, .fpdus, .offsets[0], .segments[0:3]]]' \
        '[[1,"initiator",5,5,[5,0,0]],[1,"responder",75,75,[14,61,0]]]'
}

@test "live: traffic between two namespaces, Ctrl-C, totals and dropped frames" {
    local shown

    require_raw
    net_setup
    IW_READY='listening on' serve_in left ddp-dump -i left0 -w "$BATS_TEST_TMPDIR/live.pcap" tcp port 7471
    shown=$SERVED
    # It has dropped its privileges.
    run_here grep CapEff "/proc/$SERVE_PID/status"
    assert_output_has 0000000000000000
    IW_READY=listening serve_in left ddp-bench --listen --once --bind "$LEFT_IP"
    run_in right ddp-bench -w 0 --interval 0 --depth 2 -n 20 -s 20011 "$LEFT_IP" write
    assert_status 0
    wait_served
    wait_until 5 grep -q 'TCP FIN' "$BATS_TEST_TMPDIR/serve.$shown.out"
    serve_end "$shown" INT
    net_teardown
    assert_status 0
    assert_output_has 'RDMA Write'
    assert_output_has 'crc good'
    assert_stderr_has '           0 frames that the kernel dropped'
    # Decoding the saved frames prints the same.
    run_here ddp-dump -q -r "$BATS_TEST_TMPDIR/live.pcap"
    assert_same_file "$OUTPUT_FILE" "$BATS_TEST_TMPDIR/serve.$shown.out"
}

@test "live: a missing interface, and a user without the privilege" {
    run_here ddp-dump -i no-such-interface
    [ "$status" -eq 3 ] || assert_stderr_has "interface no-such-interface: no such interface; \`ip link\` lists them"
    [ "$status" -eq 3 ] || assert_status 4
    require_root
    run_here setpriv --bounding-set=-all --inh-caps=-all --reuid 65534 --clear-groups "$IW_BUILD/ddp-dump" -i lo
    assert_status 3
    assert_stderr_has CAP_NET_RAW
}

@test "a full disk does not go unnoticed" {
    [ -c /dev/full ] || skip 'needs devfull: there is no /dev/full'
    run_here bash -c "ddp-dump -q -r '$TRACES/write-65536.pcap' >/dev/full"
    assert_status 4
    assert_stderr_has 'standard output'
    # -w alone writes frames one by one; selected frames are written at the end.
    for options in '' '--stream 0'; do
        # shellcheck disable=SC2086
        run_here ddp-dump -q -r "$TRACES/write-65536.pcap" -w /dev/full $options
        assert_status 4
        assert_stderr_has 'ddp-dump: write /dev/full: no space left on device; '
        assert_stderr_has '; the copy is incomplete'
    done
    # All selected frames were decoded.
    [[ $stderr != *stopped* ]] || fail_with "nothing stopped: $stderr"
}

@test "a full disk under -w: the frame at which decoding stopped is reported" {
    local small=$BATS_TEST_TMPDIR/small

    require_root
    mkdir "$small"
    run_here unshare --mount sh -c "mount -t tmpfs -o size=16k small $small &&
        exec ddp-dump -q -r $TRACES/write-65536.pcap -w $small/copy.pcap"
    assert_status 4
    [[ $stderr =~ 'write '.*'/copy.pcap: no space left on device; stopped at frame '[1-9][0-9]*', the rest was not decoded; the copy is incomplete' ]] ||
        fail_with "standard error lacks where it stopped: $stderr"
}

@test "an interface that is not up, or removed during a capture, is named" {
    require_raw
    net_setup
    net_ip left link add gone0 type veth peer name gone1
    run_in left ddp-dump -i gone0
    assert_status 4
    assert_stderr_is 'ddp-dump: interface gone0: not up; ip link set gone0 up'
    net_ip left link set gone0 up
    IW_READY='listening on' serve_in left ddp-dump -i gone0
    net_ip left link del gone0
    wait_served
    assert_status 4
    assert_stderr_has 'interface gone0: it was removed'
    net_teardown
}

# The examples as printed in the page; each is one command line, which may span several lines.
@test "the examples of the man page run" {
    local n=0 example

    cp "$TRACES/rping.pcap" "$BATS_TEST_TMPDIR/capture.pcap"
    cd "$BATS_TEST_TMPDIR" || return 1
    while IFS= read -r -d $'\f' example; do
        run_here bash -c "set -o pipefail; $example"
        assert_status 0
        n=$((n + 1))
    done < <(sed -n '/^\.SH EXAMPLES/,/^\.SH STANDARDS/p' "$IW_TOP/man/ddp-dump.1" |
        sed -e 's/\\-/-/g' -e '/^\.EE/s/.*/\f/' | awk '/^\.EX/ { on = 1; next } /\f/ { if (on) printf "\f"; on = 0 } on')
    [ $n -eq 4 ]
}

@test "every key of the JSON output is in the man page" {
    local f key

    for f in rping-p2p term-badread ucmatose write-20011-crc sctp/kernel-fragments sctp/usrsctp-udp transfer/write-tcp transfer/send-udp; do
        run_here ddp-dump --json --explain --hex -r "$TRACES/$f.pcap"
        jq -r 'paths | map(select(type == "string")) | last // empty' <<<"$output"
    done | sort -u >"$BATS_TEST_TMPDIR/keys"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/keys")" -gt 60 ]
    while read -r key; do
        grep -qw -- "$key" "$IW_TOP/man/ddp-dump.1" || fail_with "the page lacks $key"
    done <"$BATS_TEST_TMPDIR/keys"
}

# Transfers of a directory with three small files, over each transport.
@test "control messages of a transfer get a second line, over TCP and over SCTP" {
    run_here ddp-dump -q -r "$TRACES/transfer/write-tcp.pcap"
    assert_status 0
    assert_output_has '    ddp-transfer version 3, source, mode write, digest xxh3, transfer 9862263d1e3ede0c9048bdbe769e3479, connection 1, 16 receives of 65536 octets'
    assert_output_has '    ddp-transfer FILES credit 17: file 2 pack of 3 members: "dir/link", "dir/numbers", "dir/a.txt"'
    assert_output_has '    ddp-transfer GRANT credit 20: file 2 offset 0 length 1048576 STag 0xd577c3b1'
    run_here ddp-dump -q --json -r "$TRACES/transfer/send-udp.pcap"
    assert_status 0
    assert_jsonl '[.[] | .transfer.message // empty]' \
        '["OPEN","NOP","FILES","RESULT","FILES","GO","data","DONE","DONE","RESULT","BYE","BYE"]'
    assert_jsonl '[.[] | .transfer | select(.message == "BYE")][1] | [.files, .failed, .removed, .directories_created]' '[2,0,0,1]'
    assert_jsonl '[.[] | .transfer.entries // [] | .[].members // [] | .[].name]' '["dir/link","dir/numbers","dir/a.txt"]'
    run_here ddp-dump -q --explain -r "$TRACES/transfer/send-udp.pcap"
    assert_output_has '          3 from message                  3                   the first message with these receives [ddp-transfer(7) Credit]'
}

@test "the payload in hex and as text is that of the file, over TCP and over SCTP" {
    local want

    run_here ddp-dump -q -x -r "$TRACES/transfer/write-tcp.pcap" --stag d577c3b1
    assert_status 0
    assert_output_has '    0000  00 31 0a 32 0a 33 0a 34  0a 35 0a 36 0a 37 0a 38  .1.2.3.4.5.6.7.8'
    # In a pack each file is preceded by one octet.
    want=$(seq 1 2000 | od -An -v -tx1 | tr -d ' \n')
    run_here ddp-dump -q -x --json -r "$TRACES/transfer/write-tcp.pcap"
    assert_jsonl "[.[] | select(.opcode == 0)] | map(.payload | contains(\"$want\"))" '[true]'
    assert_jsonl '[.[] | select(.event == "ddp") | (.payload | length) == 2 * .payload_octets] | all' true
    run_here ddp-dump -q -x --json -r "$TRACES/transfer/send-udp.pcap"
    assert_jsonl "[.[] | select(.transfer.message == \"data\")] | map(.payload | contains(\"$want\"))" '[true]'
}

@test "pcapng of selected frames: tshark reads their number, times and comments" {
    local ng=$BATS_TEST_TMPDIR/some.pcapng all=$TRACES/ucmatose.pcap

    command -v tshark >/dev/null || skip 'needs tshark: it is not installed'
    run_here ddp-dump -q -r "$all" --stream 1 -w "$ng"
    assert_status 0
    diff <(tshark -r "$all" -Y 'tcp.stream == 1' -T fields -e frame.time_epoch -e tcp.seq_raw) \
        <(tshark -r "$ng" -T fields -e frame.time_epoch -e tcp.seq_raw) || fail_with 'connection 1 (<) and the copy (>) differ'
    run tshark -r "$ng" -T fields -e frame.comment
    assert_output_has 'Send L MSN 1 MO 0'
    run capinfos -t "$ng"
    assert_output_has pcapng
    # Only the frames whose segments name the STag.
    run_here ddp-dump -q -r "$TRACES/transfer/write-tcp.pcap" --stag d577c3b1 -w "$ng"
    diff <(tshark -r "$TRACES/transfer/write-tcp.pcap" -Y 'frame.number == 16' -T fields -e frame.time_epoch -e tcp.len) \
        <(tshark -r "$ng" -T fields -e frame.time_epoch -e tcp.len) || fail_with 'frame 16 (<) and the copy (>) differ'
    # Any other file name: pcap, with the same timestamps.
    run_here ddp-dump -q -r "$all" -w "$BATS_TEST_TMPDIR/all.pcap"
    run capinfos -t "$BATS_TEST_TMPDIR/all.pcap"
    assert_output_has nanosecond
    diff <(tshark -r "$all" -T fields -e frame.time_epoch) <(tshark -r "$BATS_TEST_TMPDIR/all.pcap" -T fields -e frame.time_epoch)
}
