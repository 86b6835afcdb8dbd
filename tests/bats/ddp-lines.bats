#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Transfers over bad links, one fault at a time, where time matters: silence, low throughput, little
# memory. Link errors and interruptions are in ddp-errors.bats, seeded mixtures of all faults in
# faults.bats.

# bats file_tags=waits

# Each test is a separate shell, and fail_with prints the variables that look unused.
# shellcheck disable=SC2030,SC2031,SC2034,SC2153

load helpers
load transfers
load lines

now_ms() {
    echo $((${EPOCHREALTIME/[.,]/} / 1000))
}

# ended_within MS SINCE: the last command ended within that time
ended_within() {
    local took=$(($(now_ms) - $2))

    [ "$took" -le "$1" ] || fail_with "it took $took ms, at most $1 were expected"
}

# --- one connection of several cannot be set up ---

@test "pulling with -j 4: whichever connection cannot be set up, the others move everything" {
    local k since

    make_tree
    serve_here ddp-send --listen -p "$PORT" --timeout 3s src
    for k in 1 2 3 4; do
        rm -rf dst/t
        bad_line tcp --rule "mpa-reply conn=$k: set reject=1"
        since=$(now_ms)
        run_here ddp-recv -j 4 -p "$LINE" --timeout 3s 127.0.0.1:t dst
        assert_status 0
        ended_within 6000 "$since"
        harmed || fail_with 'no Reply was changed'
        assert_same_tree src/t dst/t
        serve_end "$LINE_SERVED"
    done
}

# --- silence ---

# silent TCP|UDP push|pull JOBS: the link goes dead, also for new connections
silent() {
    local dead=() conn since there=(-p "$PORT") here=(-p "$LINE")

    if [ "$1" = udp ]; then
        UDP_PORT=$(free_port)
        there=(-t udp -p "$PORT" --udp-port "$UDP_PORT")
        here=(-t udp -p "$PORT" --udp-port "$LINE")
    fi
    if [ "$1" = udp ]; then
        dead=(--rule 'packet conn=1 count=40..1000000000: drop')
        for conn in {2..40}; do dead+=(--rule "packet conn=$conn: drop"); done
    else
        dead=(--rule 'fpdu nth=8: stall forever')
        for conn in {5..40}; do dead+=(--rule "mpa-request conn=$conn: stall forever"); done
    fi
    if [ "$2" = push ]; then
        serve_here ddp-recv "${there[@]}" --timeout 1s dst
        bad_line "$1" "${dead[@]}"
        run_here ddp-send "${here[@]}" -j "$3" --timeout 1s src/t 127.0.0.1:
    else
        serve_here ddp-send --listen "${there[@]}" --timeout 1s src
        bad_line "$1" "${dead[@]}"
        run_here ddp-recv "${here[@]}" -j "$3" --timeout 1s 127.0.0.1:t dst
    fi
    harmed || fail_with 'the link did not go dead'
    [ "$status" -eq 4 ] || [ "$status" -eq 1 ] || fail_with "status $status"
    [ -n "$stderr" ] || fail_with 'no reason'
    since=$(stat -c %Y "$BATS_TEST_TMPDIR/serve.$LINE_SERVED.out")
    # Times in whole seconds, and a busy machine: 2 s more than the limit.
    [ $(($(date +%s) - since)) -le 5 ] || fail_with "it ended $(($(date +%s) - since)) s after the link went dead"
    serve_end "$LINE_SERVED"
    serve_end $((LINE_SERVED - 1))
}

@test "a dead link is detected within three times --timeout, over tcp" {
    make_tree
    random_file src/t/huge 20M
    silent tcp push 1
    silent tcp push 4
    silent tcp pull 4
}

@test "a dead link is detected within three times --timeout, over SCTP in udp" {
    make_tree
    random_file src/t/huge 20M
    silent udp push 1
    silent udp push 4
    silent udp pull 4
}

@test "the same command after the silent death of a client resumes at once, and nothing is left" {
    local pid

    random_file src/big 40M
    serve_here ddp-recv -p "$PORT" dst
    # Some 26 MB. The second connection is not concerned.
    bad_line tcp --rule 'fpdu conn=1 opcode=write nth=400: stall forever' --rule 'fpdu conn=1 from=responder nth=30: stall forever'
    ddp-send -p "$LINE" src/big 127.0.0.1: >/dev/null 2>&1 </dev/null 3>&- &
    pid=$!
    wait_until 10 harmed || fail_with 'the relay has not stopped the first connection'
    sleep 0.2
    kill -KILL $pid
    run_here ddp-send --json -p "$LINE" src/big 127.0.0.1:
    assert_status 0
    assert_jsonl '[.[]|select(.event=="result")][0].moved_octets < 20000000' true
    assert_same_file src/big dst/big
    serve_end "$LINE_SERVED"
    serve_end 1
    assert_status 0
    assert_no_leftovers
}

# --- little throughput ---

# bats test_tags=all
@test "a slow link is not mistaken for a dead one, in any mode" {
    local mode

    random_file src/f 300000
    serve_here ddp-recv -p "$PORT" --timeout 2s dst
    bad_line tcp --link rate=600k
    for mode in write read send; do
        rm -f dst/f
        run_here ddp-send --json -m $mode --timeout 2s -p "$LINE" src/f 127.0.0.1:
        assert_status 0
        assert_jsonl '[.[]|select(.event=="result")][0].redials' 0
        assert_same_file src/f dst/f
    done
}

# --- little memory ---

# The address sanitizer reserves terabytes of address space.
require_limit_of_memory() {
    prlimit --as=100000000 ddp-send --version >/dev/null 2>&1 || skip 'needs prlimit: these tools do not start with 100 MB of addresses'
}

@test "four connections that share too little memory end, in both directions" {
    local kib since n

    require_limit_of_memory
    mkdir src/t
    random_file src/t/a 5M
    for n in 1 2 3 4 5 6; do random_file src/t/$n 1500000; done
    for kib in $(seq 18250 500 22500); do
        rm -rf dst/t
        serve_here ddp-recv -p "$PORT" --timeout 1s dst
        since=$(now_ms)
        run_here prlimit --as=$((kib * 1024)) ddp-send -j 4 -p "$PORT" --timeout 1s src/t 127.0.0.1:
        ended_within 5000 "$since"
        serve_end
        rm -rf dst/t
        serve_here prlimit --as=$((kib * 1024)) ddp-send --listen -p "$PORT" --timeout 1s src
        since=$(now_ms)
        run_here ddp-recv -j 4 -p "$PORT" --timeout 1s 127.0.0.1:t dst
        ended_within 5000 "$since"
        serve_end
    done
}

@test "without memory for a chunk both sides report that, and neither waits for ever" {
    local kib since ends=0

    require_limit_of_memory
    random_file src/f 5M
    for kib in $(seq 10500 500 16000); do
        rm -f dst/f
        serve_here ddp-recv -p "$PORT" --timeout 1s dst
        since=$(now_ms)
        run_here prlimit --as=$((kib * 1024)) ddp-send -p "$PORT" --timeout 1s src/f 127.0.0.1:
        ended_within 5000 "$since"
        if [ "$status" -ne 0 ]; then
            [ -n "$stderr" ] || fail_with "no reason with $kib KiB"
            ends=$((ends + 1))
        fi
        serve_end
    done
    [ "$ends" -gt 0 ] || fail_with 'memory was never short'
}

# push_rate [OPTION...]: sends src/$TREE; sets $rate to the sink's octets divided by the time of the
# transfer, in kb/s
push_rate() {
    local port

    rm -rf dst/*
    port=$(free_port)
    serve_here ddp-recv --once --json ${SINK_LIMIT:+--bwlimit "$SINK_LIMIT"} -p "$port" dst
    run_here ddp-send -p "$port" "$@" "src/$TREE" 127.0.0.1:
    assert_status 0
    wait_served
    rate=$(jq -s '[.[]|select(.event=="result")] | last | .moved_octets * 8000000 / .duration_ns | floor' <<<"$output")
}

# pace KBPS [OPTION...]: the rate is at most 5 % above the limit, and near it. A busy machine can be
# slower than the limit: then the same transfer without a limit must not be much faster either.
pace() {
    local limit=$1 rate limited try own=()
    shift

    [ -n "$SINK_LIMIT" ] || own=(--bwlimit "${limit}k")
    for try in 1 2 3; do
        push_rate "$@" "${own[@]}"
        limited=$rate
        [ "$limited" -le $((limit * 105 / 100)) ] || fail_with "$TREE $*: $limited kb/s with a limit of $limit kb/s"
        [ "$limited" -lt $((limit * 6 / 10)) ] || return 0
        SINK_LIMIT='' push_rate "$@"
        echo "$TREE $*: attempt $try: $limited kb/s with a limit of $limit kb/s, $rate kb/s without a limit"
        [ "$rate" -ge $((limit * 2)) ] || return 0
    done
    fail_with "$TREE $*: $limited kb/s with a limit of $limit kb/s, and $rate kb/s without one"
}

# bats test_tags=plain
@test "--bwlimit holds for a file that is smaller than a chunk, and a rate in rsync's unit is questioned" {
    random_file src/f 500000
    serve_here ddp-recv --once -p "$PORT" dst
    # 500,000 octets at 1 Mb/s take 4 s.
    run_here ddp-send -p "$PORT" --bwlimit 1000k --json src/f 127.0.0.1:
    assert_status 0
    assert_jsonl '[.[] | select(.event == "result") | .duration_ns][0] | . > 3800000000 and . < 7000000000' true
    assert_same_file src/f dst/f
    run_here ddp-send -p "$PORT" --bwlimit 1000 src/f 127.0.0.1:
    assert_status 4
    assert_stderr_has 'warning: --bwlimit: 1.0 kb/s, in bits per second; for 1 MB/s give 8M'
}

# bats test_tags=plain
@test "--bwlimit holds for many small files, for a large one and for both" {
    local j i TREE SINK_LIMIT=''

    mkdir -p src/all/many
    for ((i = 0; i < 1000; i++)); do head -c 2000 /dev/zero | tr '\0' x >src/all/many/$i; done
    random_file src/all/large 8M
    for j in 1 4; do
        # Small files get a low limit, which even a slow machine would exceed without the limiter.
        TREE=all/many
        pace 8000 -j $j
        TREE=all/large
        pace 60000 -j $j
        TREE=all
        pace 40000 -j $j
    done
    # The receiver's own limit also applies to windows that a pack only partly fills.
    SINK_LIMIT=40000k
    pace 40000
}
