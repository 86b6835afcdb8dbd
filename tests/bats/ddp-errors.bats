#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Transfers over links with errors, after interruptions, and with few descriptors, one fault at a
# time.

# bats file_tags=beside

# Each test is a separate shell, and fail_with prints the variables that look unused.
# shellcheck disable=SC2030,SC2031,SC2034,SC2154

load helpers
load transfers
load lines

# --- after an interruption ---

# True when 2 MB of a file are in its temporary.
part_has_data() {
    [ -n "$(find dst -name '.iw-*.part' -printf '%b\n' | awk '$1 * 512 > 2000000')" ]
}

# interrupted FILE: leaves a part of it at the listener, which has ended
interrupted() {
    local pid ended=0

    serve_here ddp-recv -p "$PORT" dst
    # Some 5 MB. New connections are not concerned.
    bad_line tcp --rule 'fpdu conn=1 opcode=write nth=80: stall forever'
    ddp-send --redial 0 -p "$LINE" "$1" 127.0.0.1: >/dev/null 2>&1 </dev/null 3>&- &
    pid=$!
    wait_until 10 harmed || fail_with 'the relay has not stopped forwarding'
    wait_until 10 part_has_data || fail_with 'nothing is stored'
    kill -KILL $pid
    wait $pid || ended=$?
    [ "$ended" -eq 137 ] || fail_with "the client ended by itself, with status $ended"
    serve_end "$LINE_SERVED"
    serve_end $((LINE_SERVED - 1)) KILL
    [ -n "$(find dst -name '.iw-*.part')" ] || fail_with 'the interrupted transfer left nothing to resume'
}

@test "the partial file of another version of the source stays" {
    mkdir old new
    random_file old/big 9M
    random_file new/big 9M
    touch -d 2001-01-01 old/big
    interrupted new/big
    cp -p old/big dst/big
    serve_here ddp-recv -p "$PORT" dst
    run_here ddp-send -p "$PORT" old/big 127.0.0.1:
    assert_status 0
    run_here ddp-send --json -p "$PORT" new/big 127.0.0.1:
    assert_status 0
    assert_jsonl '[.[]|select(.event=="result")][0].moved_octets < 8000000' true
    assert_same_file new/big dst/big
    assert_no_leftovers
}

@test "the partial file of a file that is already complete is removed" {
    random_file src/big 9M
    interrupted src/big
    cp -p src/big dst/big
    serve_here ddp-recv -p "$PORT" dst
    run_here ddp-send -p "$PORT" src/big 127.0.0.1:
    assert_status 0
    assert_no_leftovers
}

# --- link errors ---

@test "after a CRC error the connection is set up again, and everything arrives" {
    local where

    make_tree
    serve_here ddp-recv -p "$PORT" dst
    for where in 'opcode=send nth=2' 'opcode=write nth=5' 'opcode=write nth=40'; do
        rm -rf dst/t
        bad_line tcp --rule "fpdu conn=1 from=initiator $where: flip-bit any"
        run_here ddp-send -p "$LINE" src/t 127.0.0.1:
        assert_status 0
        harmed || fail_with "$where did not pass"
        assert_same_tree src/t dst/t
        assert_no_leftovers
        serve_end "$LINE_SERVED"
    done
}

@test "without CRC a changed octet of a large file is noticed, by either digest" {
    local digest

    random_file src/big 5M
    serve_here ddp-recv --crc off -p "$PORT" dst
    for digest in xxh3 sha256; do
        bad_line tcp --seed 1 --rule "fpdu conn=1 from=initiator opcode=write nth=40: flip-bit any"
        run_here ddp-send --crc off --redial 0 --digest "$digest" -p "$LINE" src/big 127.0.0.1:
        assert_status 1
        assert_stderr_has 'the digest of a chunk differs'
        harmed || fail_with "$digest: no octet was changed"
        [ ! -e dst/big ]
        serve_end "$LINE_SERVED"
    done
}

# bats test_tags=all
@test "without CRC the digest covers control messages: no changed octet passes for a whole file" {
    local nth seed ok=0 failed=0

    mkdir src/t
    for nth in a b c d; do random_file src/t/$nth 700; done
    chmod 640 src/t/a
    serve_here ddp-recv --crc off -p "$PORT" dst
    for nth in 1 2 3 4 5 6; do
        for seed in {1..12}; do
            rm -rf dst/t
            bad_line tcp --seed "$seed" --rule "fpdu from=initiator nth=$nth: flip-bit any"
            run_here ddp-send --crc off --redial 0 -p "$LINE" --timeout 2s src/t 127.0.0.1:
            if [ "$status" -eq 0 ]; then
                assert_same_tree src/t dst/t
                ok=$((ok + 1))
            else
                failed=$((failed + 1))
            fi
            serve_end "$LINE_SERVED"
        done
    done
    [ "$failed" -gt 10 ] || fail_with "only $failed of $((ok + failed)) changed octets were noticed"
}

@test "with neither CRC nor digest both sides warn" {
    printf x >src/f
    serve_here ddp-recv -p "$PORT" --crc off dst
    run_here ddp-send --crc off --digest none -p "$PORT" src/f 127.0.0.1:
    assert_status 0
    assert_stderr_has 'neither CRC nor digest'
    serve_end
    assert_stderr_has 'neither CRC nor digest'
    run_here ddp-send --help
    serve_here ddp-recv -p "$PORT" --crc off dst
    run_here ddp-send --crc off --force -p "$PORT" src/f 127.0.0.1:
    assert_status 0
    assert_equal "$stderr" ''
}

# --- few descriptors ---

@test "with a limit of 256 or 64 open files every file arrives, whatever their number" {
    local n d j

    for d in $(seq 60); do
        mkdir src/"$d"
        for n in 1 2 3 4 5 6; do printf '%s' "$d$n" >src/"$d"/$n; done
        head -c 90000 /dev/zero | tr '\0' x >src/"$d"/large
    done
    for n in 256 64; do
        serve_here prlimit --nofile=$n:$n ddp-recv -p "$PORT" dst
        for j in 1 4; do
            rm -rf dst/src
            run_here prlimit --nofile=$n:$n ddp-send -j $j -p "$PORT" src 127.0.0.1:
            assert_status 0
            assert_same_tree src dst/src
        done
        serve_end
    done
}

arrived() {
    [ -n "$(find "$1" -type f -name '[0-9]*')" ]
}

@test "with few descriptors a slow transfer of many files does not keep another one waiting" {
    local pid n

    mkdir src/many
    for n in $(seq 40); do random_file src/many/"$n" 100000; done
    random_file src/one 100000
    serve_here prlimit --nofile=64:64 ddp-recv -p "$PORT" dst
    ddp-send --bwlimit 800k -p "$PORT" src/many 127.0.0.1: >/dev/null 2>&1 </dev/null 3>&- &
    pid=$!
    wait_until 10 arrived dst/many || fail_with 'the first one does not start'
    run_here timeout 10 ddp-send -p "$PORT" src/one 127.0.0.1:
    assert_status 0
    kill -0 $pid || fail_with 'the first one has ended already'
    kill $pid
}
