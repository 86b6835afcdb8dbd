#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Transfers that are interrupted, and the same command that goes on: processes killed at random moments, connections cut.
#
#   IW_KILLS=200 IW_KILL_SIZE=1G IW_KILL_FILES=5000   kills, the large file's size, small files; by default few and small

# Each test is a shell of its own, and fail_with shows what looks unused.
# shellcheck disable=SC2030,SC2031,SC2034

load helpers

: "${IW_KILLS:=6}" "${IW_KILL_SIZE:=96M}" "${IW_KILL_FILES:=300}"

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir src dst
    PORT=$(free_port)
}

listen() {
    serve_here ddp-recv -p "$PORT" dst
}

push() {
    run_here ddp-send -p "$PORT" "$@"
}

make_mixed_tree() {
    local i

    mkdir -p src/t/small
    random_file src/t/large "$IW_KILL_SIZE"
    truncate -s 64M src/t/holes
    printf data | dd of=src/t/holes bs=1 seek=33000000 conv=notrunc status=none
    : >src/t/empty
    printf x >src/t/one
    for ((i = 0; i < IW_KILL_FILES; i++)); do
        printf '%s%4096s' "$i" '' >"src/t/small/$i"
    done
}

# Every file at the target that has its name is whole: what is torn has another name.
assert_none_torn() {
    local f

    [ -d dst/t ] || return 0
    while IFS= read -r -d '' f; do
        cmp -s "src/${f#dst/}" "$f" || fail_with "torn: $f"
    done < <(find dst/t -type f ! -name '.iw-*' -print0)
}

# More than so many KiB have arrived.
has_kib() {
    [ "$(du -ks --apparent-size dst | cut -f 1)" -gt "$1" ]
}

@test "killed at random moments, on either side, the same command ends with the same tree" {
    local n pid again=0 total moved rounds=0 hits=0 options status_wanted
    local IW_SERVE_TIMEOUT=3000 IW_TIMEOUT=120

    RANDOM=${IW_SEED:-$$}
    echo "seed ${IW_SEED:-$$}"
    make_mixed_tree
    total=$(du -bs src | cut -f 1)
    for ((n = 0; n < IW_KILLS; n++)); do
        options=$([ $((n % 3)) -eq 2 ] && echo '-j 3' || true)
        if [ $((n % 6)) -eq 0 ]; then
            rm -rf dst/t dst/.iw-*
            rounds=$((rounds + 1))
        fi
        listen
        # shellcheck disable=SC2086
        ddp-send -p "$PORT" $options --json src/t 127.0.0.1: >send.out 2>&1 </dev/null 3>&- &
        pid=$!
        sleep "0.$((RANDOM % 4))$((RANDOM % 10))"
        # Killed before its end, the source dies of it (137); a killed sink fails it (4).
        if [ $((n % 2)) -eq 0 ]; then
            kill -KILL $pid 2>/dev/null || true
            status_wanted=137
        else
            kill -KILL "$SERVE_PID"
            status_wanted=4
        fi
        status=0
        wait $pid || status=$?
        [ "$status" -eq 0 ] || [ "$status" -eq $status_wanted ] || fail_with "kill $n: status $status: $(tail -n 3 send.out)"
        [ "$status" -eq 0 ] || hits=$((hits + 1))
        serve_end "$SERVED" KILL
        assert_none_torn
        if [ $((n % 6)) -eq 5 ] || [ $((n + 1)) -eq "$IW_KILLS" ]; then
            listen
            push --json src/t 127.0.0.1:
            assert_status 0
            moved=$(jq -s '[.[] | select(.event=="result")][0].moved_octets' <<<"$output")
            again=$((again + moved))
            serve_end
            diff -r src/t dst/t || fail_with 'the trees differ'
            assert_equal "$(find dst -name '.iw-*.part')" ''
        fi
    done
    [ "$hits" -gt 0 ] || fail_with 'no kill hit a running transfer'
    echo "# $IW_KILLS kills, $hits of running transfers, in $rounds rounds of $total octets; the last run of each moved $again octets together" >&3
}

@test "what arrived is not sent again, whoever was killed, in every mode" {
    local mode moved side

    random_file src/f 400M
    for mode in write read send; do
        for side in source sink; do
            rm -rf dst/f dst/.iw-*
            listen
            ddp-send -p "$PORT" -m $mode --bwlimit 1G src/f 127.0.0.1: >/dev/null 2>&1 </dev/null 3>&- &
            pid=$!
            wait_until 10 has_kib 60000 || fail_with 'nothing arrives'
            if [ $side = source ]; then kill -KILL $pid; else kill -KILL "$SERVE_PID"; fi
            wait $pid || true
            serve_end "$SERVED" KILL
            [ ! -e dst/f ] || fail_with 'it was too fast'
            listen
            push -m $mode --json src/f 127.0.0.1:
            assert_status 0
            moved=$(jq -s '[.[] | select(.event=="result")][0].moved_octets' <<<"$output")
            [ "$moved" -lt 370000000 ] || fail_with "$mode, $side killed: $moved octets were moved"
            assert_same_file src/f dst/f
            assert_equal "$(find dst -name '.iw-*')" ''
            serve_end
        done
    done
}

@test "a source that changed meanwhile begins anew" {
    random_file src/f 100M
    listen
    ddp-send -p "$PORT" --bwlimit 1G src/f 127.0.0.1: >/dev/null 2>&1 </dev/null 3>&- &
    pid=$!
    wait_until 10 has_kib 20000 || fail_with 'nothing arrives'
    kill -KILL $pid
    wait $pid || true
    touch -r src/f stamp
    printf changed | dd of=src/f conv=notrunc status=none
    # Even the old time does not hide it.
    touch -r stamp src/f
    push --json src/f 127.0.0.1:
    assert_status 0
    assert_jsonl '[.[] | select(.event=="result")][0].moved_octets' 104857600
    assert_same_file src/f dst/f
}

@test "a connection lost in mid-file costs its ranges, not the transfer" {
    require_root
    random_file src/f 400M
    listen
    ddp-send -p "$PORT" -j 3 --bwlimit 2G --json src/f 127.0.0.1: >send.out 2>send.err </dev/null 3>&- &
    pid=$!
    wait_until 10 has_kib 60000 || fail_with 'nothing arrives'
    # One of the three, cut by the kernel.
    local victim
    victim=$(ss -Htn state established "( dport = :$PORT )" | awk 'NR == 2 { sub(/.*:/, "", $3); print $3 }')
    ss -K "( sport = :$victim and dport = :$PORT )" >/dev/null 2>&1 || skip 'needs root: this kernel does not let ss -K cut connections'
    status=0
    wait $pid || status=$?
    output=$(cat send.out) stderr=$(cat send.err)
    assert_status 0
    assert_stderr_has 'the others go on'
    assert_same_file src/f dst/f
    assert_jsonl '[.[] | select(.event=="result")][0].files_failed' 0
}
