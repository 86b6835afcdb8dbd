#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The tools over DDP/SCTP: they do the same over udp as over tcp.

# Each test is a separate shell, and fail_with prints the variables that look unused.
# shellcheck disable=SC2030,SC2031,SC2034

load helpers

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir src dst
    PORT=$(free_port)
    UDP_PORT=$(free_port)
}

@test "ddp-bench: every mode over udp, verified" {
    local mode

    serve_here ddp-bench --listen -t udp -p "$PORT" --udp-port "$UDP_PORT"
    for mode in write read send pingpong; do
        run_here ddp-bench 127.0.0.1 $mode -t udp -p "$PORT" --udp-port "$UDP_PORT" --time 300ms --warmup 50ms --json --interval 0
        assert_status 0
        assert_jsonl '.[0] | [.mode, .transport, .crc, .verified]' "[\"$mode\",\"udp\",true,true]"
        assert_jsonl '.[0] | .octets > 0' true
    done
}

@test "ddp-send to ddp-recv over udp: files of every size in every mode" {
    local mode f

    : >src/empty
    printf x >src/one
    random_file src/chunk 1M
    random_file src/odd 5000001
    serve_here ddp-recv -t udp -p "$PORT" --udp-port "$UDP_PORT" dst
    for mode in write read send; do
        rm -rf dst/*
        run_here ddp-send -t udp -p "$PORT" --udp-port "$UDP_PORT" -m $mode src/empty src/one src/chunk src/odd 127.0.0.1:
        assert_status 0
        for f in empty one chunk odd; do
            assert_same_file src/$f dst/$f
        done
    done
}

@test "ddp-recv pulls from ddp-send over udp" {
    random_file src/f 3M
    serve_here ddp-send --listen -t udp -p "$PORT" --udp-port "$UDP_PORT" src
    run_here ddp-recv -t udp -p "$PORT" --udp-port "$UDP_PORT" 127.0.0.1:f dst
    assert_status 0
    assert_same_file src/f dst/f
}

@test "a file and a figure in the edition of draft-02" {
    local udp=(-t udp -p "$PORT" --udp-port "$UDP_PORT")

    random_file src/f 1M
    serve_here ddp-recv "${udp[@]}" --profile sctp-draft-02 dst
    run_here ddp-send "${udp[@]}" --profile sctp-draft-02 --trace trace src/f 127.0.0.1:
    assert_status 0
    assert_same_file src/f dst/f
    # The draft has no enhanced set-up (RFC 6581): none was tried.
    assert_equal "$(jq -r 'select(.event == "established").rev' trace)" 1
    assert_equal "$(jq -c 'select(.event == "retry")' trace)" ''
    run_here ddp-send "${udp[@]}" --profile sctp-draft-02 --rev 2 src/f 127.0.0.1:
    assert_status 2
    assert_stderr_has 'profile sctp-draft-02 has no enhanced sessions (RFC 6581): leave out rev 2, or use profile rfc'
    run_here ddp-send "${udp[@]}" --profile rfc src/f 127.0.0.1:g
    [ "$status" -ne 0 ] || fail_with 'ends of different editions exchanged messages'
    [ ! -e dst/g ] || fail_with 'a file was received'
    serve_end
    serve_here ddp-bench --listen "${udp[@]}" --profile sctp-draft-02
    run_here ddp-bench 127.0.0.1 write "${udp[@]}" --profile sctp-draft-02 --time 100ms --warmup 0 --json --interval 0
    assert_status 0
    assert_jsonl '.[0].verified' true
    run_here ddp-bench 127.0.0.1 write "${udp[@]}" --profile sctp-draft-02 --rev 2
    assert_status 2
}

@test "no listener: udp reports it at once" {
    run_here ddp-send -t udp -p "$PORT" --udp-port "$UDP_PORT" --timeout 5s /etc/hostname 127.0.0.1:
    assert_status 4
}

@test "raw without the privilege names the missing one" {
    local drop=()

    [ "$(id -u)" -ne 0 ] || drop=(setpriv --bounding-set -net_raw --inh-caps -net_raw)
    run_here "${drop[@]}" ddp-recv -t raw -p "$PORT" dst
    assert_status 3
    assert_stderr_has 'CAP_NET_RAW'
}

@test "sctp without kernel support is reported" {
    ! grep -qs . /proc/net/sctp/snmp || skip 'needs no-sctp: this kernel has SCTP'
    run_here ddp-recv -t sctp -p "$PORT" dst
    assert_status 3
    assert_stderr_has 'not in this kernel'
}

# scripts/bench measures 5,000 associations (P12u), and the cost of each.
@test "a listener with a thousand associations serves the next one as before" {
    random_file src/f 1M
    # The associations send no OPEN. The listener must not end the first ones before the last ones
    # begin, even on a slow machine.
    serve_here ddp-recv -t udp -p "$PORT" --udp-port "$UDP_PORT" --timeout 10m dst
    # The Private Data of a source (ddp-transfer(7)).
    printf '\xab\x00\x6cddp-transfer\x01\x03\x02\x03\x03\x01\x04\x01\x05\x01\x06\x500123456789abcdef\x07\x02\x08\x19\x10\x00\x09\x01\x0a\x01' >hello
    IW_STDIN=hello IW_READY='^held' IW_READY_TIMEOUT=60 serve_here "$IW_BUILD/tests/crowd/crowd" 127.0.0.1 "$PORT" "$UDP_PORT" 1000
    run_here ddp-send -t udp -p "$PORT" --udp-port "$UDP_PORT" src/f 127.0.0.1:
    assert_status 0
    assert_same_file src/f dst/f
    serve_end 2 INT
    assert_status 0
    assert_equal "$output" 'held 1000'
}

# SCTP-37. IW_ROUNDS=10000 is the long run. With two streams, each session must reuse the stream of
# an earlier one.
@test "sessions one after another on one association: none fails, and their streams are used again" {
    local n=${IW_ROUNDS:-300}

    # The program uses one number as UDP port and as port.
    IW_TIMEOUT=$((30 + n / 50))
    IW_READY=listening serve_here "$IW_BUILD/tests/sessions/sessions" serve udp 127.0.0.1 "$UDP_PORT" 1000
    run_here "$IW_BUILD/tests/sessions/sessions" open udp 127.0.0.1 "$UDP_PORT" 2 "$n"
    assert_status 0
    assert_equal "$output" "sessions $n failed 0 streams 2"
    run_here "$IW_BUILD/tests/sessions/sessions" open udp 127.0.0.1 "$UDP_PORT" 1000 "$n" busy
    assert_status 0
    [[ "$output" =~ ^"sessions $n failed 0 streams "[234]$ ]] || fail_with 'streams are not used again' "$output"
    serve_end 1 TERM
}
