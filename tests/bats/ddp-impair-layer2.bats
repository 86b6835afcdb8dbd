#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# ddp-impair --between: rules over units in Ethernet frames, seen by the ends and in captures.

# Each test is a separate shell, and fail_with prints the variables that look unused.
# shellcheck disable=SC2030,SC2031,SC2034

# bats file_tags=all

load helpers
load net

setup_file() {
    net_setup --relay
}

teardown_file() {
    net_teardown
}

setup() {
    skip_with_file
    net_files 300K
}

# decided KIND N: the relay carried out N such decisions, and missed none
decided() {
    assert_jsonl "map(select(.event == \"result\"))[0] | [.decisions, .missed]" "[[{\"kind\":\"$1\",\"count\":$2}],0]"
}

@test "a flipped bit of an FPDU is detected by its CRC" {
    relay_start --rule 'fpdu opcode=write nth=5: flip-bit payload'
    file_sent tcp --redial 0
    assert_status 1
    assert_stderr_has 'MPA CRC error'
    serve_end
    relay_end
    decided flip-bit 1
}

@test "a changed STag with a right CRC reaches the layer above, which terminates" {
    relay_start --rule 'fpdu opcode=write nth=5: set stag=0x1 fix-crc'
    file_sent tcp --redial 0
    assert_status 1
    assert_stderr_has 'invalid STag'
    serve_end
    relay_end
    decided set 1
}

# With offloads an FPDU may begin near the end of a frame. An edit of a header in two frames comes too late
# for the first of them; a drop does not.
@test "rules find the units of ends with offloads on" {
    net_offloads on
    relay_start --rule 'fpdu opcode=write nth=5: drop'
    file_sent tcp
    net_offloads off
    file_arrived
    relay_end
    decided drop 1
}

@test "a frame with an FPDU is dropped once: TCP retransmits it, and the retransmission is not a new unit" {
    relay_start --rule 'fpdu every=2: drop' --pcap out.pcap
    file_sent tcp
    file_arrived
    relay_end
    assert_jsonl 'map(select(.event == "decision") | [.from, .number]) | length > 5 and (unique | length) == length' true
    run_here ddp-dump -r out.pcap --json
    assert_status 0
    assert_jsonl 'map(select(.event == "error")) | length' 0
}

@test "frames are duplicated, delayed and overtaken: no octet is wrong" {
    local t unit

    for t in tcp udp; do
        if [ $t = tcp ]; then unit=fpdu; else unit=packet; fi
        relay_start --rule "$unit nth=4: duplicate" --rule "$unit nth=5: delay 2ms" --rule "$unit nth=6: reorder 3"
        file_sent $t
        file_arrived
        relay_end
        assert_jsonl 'map(select(.event == "decision").action | split(" ")[0]) | unique' '["delay","duplicate","reorder"]'
    done
}

@test "a chunk is cut out of its packet; SCTP sends it again" {
    relay_start --rule 'chunk opcode=write every=10: drop'
    file_sent udp
    file_arrived
    relay_end
    assert_jsonl 'map(select(.event == "decision" and .opcode == "write,data")) | length > 2' true
}

@test "a corrupted packet is discarded by SCTP, one with a right checksum is not" {
    relay_start --rule 'chunk opcode=write nth=3: flip-bit payload'
    file_sent udp
    file_arrived
    relay_end
    relay_start --rule 'chunk opcode=write nth=3: set stag=0x1 fix-crc'
    file_sent udp --redial 0
    assert_status 1
    assert_stderr_has 'invalid STag'
    serve_end
    relay_end
}

@test "SCTP on IP and IPv6 have the same units" {
    require_raw
    require_ipv6
    relay_start --rule 'chunk opcode=write nth=2: drop'
    serve_in right ddp-recv -t raw -p "$PORT" --bind '*' --once dst
    run_in left ddp-send -t raw -p "$PORT" src/f "[$RIGHT_IP6]:"
    file_arrived
    relay_end
    assert_jsonl 'map(select(.event == "decision")) | length' 1
}

# The same units come in both runs: the sizes of FPDUs depend on the ends only.
@test "a replay decides as the recorded run" {
    local run

    for run in record replay; do
        if [ $run = record ]; then relay_start --record log --rule 'fpdu prob=30%: delay 0ms..5ms'; else relay_start --replay log; fi
        file_sent tcp
        file_arrived
        relay_end
        jq -c 'select(.event == "decision") | [.connection, .from, .number, .action, .choice]' <<<"$output" | sort >$run
    done
    [ "$(wc -l <record)" -gt 3 ]
    run_here diff record replay
    assert_status 0
}

@test "edits that change the length of a stream are refused at start" {
    local rule

    for rule in 'fpdu: truncate 5' 'fpdu: split 5' 'fpdu: reset' 'fpdu: inject 00'; do
        run_in middle ddp-impair --between left,right --rule "$rule"
        assert_status 2
        assert_stderr_has 'between interfaces'
    done
    run_in middle ddp-impair --between left,nothing0
    assert_stderr_has 'interface nothing0'
}

@test "an interface that goes down and up again is used again" {
    relay_start
    net_ip middle link set left down
    net_ip middle link set left up
    file_sent tcp
    file_arrived
    # A frame that came meanwhile may be lost.
    serve_end "$RELAY" INT
    [ "$status" -le 1 ]
}
