#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Interrupted transfers that the same command resumes: processes are killed at random times, and
# connections are cut.
#
#   IW_KILLS=200          kills
#   IW_KILL_SIZE=1G       size of the large file
#   IW_KILL_FILES=5000    number of small files
#   IW_KILL_WITHIN=2000   the longest time in ms that a run has before it is killed
#   IW_KILL_RATE=40G      --bwlimit of a run
#   IW_SEED               determines the times of the kills
#
# The defaults are a few kills, small sizes, 400 ms and 1G, so that most kills interrupt a running
# transfer.

# bats file_tags=beside

# Each test is a separate shell, and fail_with prints the variables that look unused.
# shellcheck disable=SC2030,SC2031,SC2034

load helpers
load transfers

: "${IW_KILLS:=6}" "${IW_KILL_SIZE:=96M}" "${IW_KILL_FILES:=300}" "${IW_KILL_WITHIN:=400}" "${IW_KILL_RATE:=1G}"

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

# Every file with its final name at the target is complete; partial files have other names.
assert_none_torn() {
    local torn

    [ -d dst/t ] || return 0
    torn=$(LC_ALL=C diff -rq src/t dst/t | grep -v '^Only in ' || true)
    [ -z "$torn" ] || fail_with "torn: $torn"
}

# await_killed PID source|sink: the source dies of the signal, or fails because its sink died
await_killed() {
    local expected=137

    [ "$2" = source ] || expected=4
    status=0
    wait "$1" || status=$?
    assert_equal "$status" $expected "$2 killed"
}

# has_kib N: more than N KiB have arrived
has_kib() {
    [ "$(du -ks --apparent-size dst | cut -f 1)" -gt "$1" ]
}

# push_started KIB OPTION...: sends src/f in the background, as $pid, and returns when more than KIB
# KiB are stored; fails the test after 10 s
push_started() {
    local kib=$1

    shift
    timeout --foreground 60 ddp-send -p "$PORT" "$@" src/f 127.0.0.1: >send.out 2>send.err </dev/null 3>&- &
    pid=$!
    wait_until 10 has_kib "$kib" || fail_with "at most $kib KiB arrived within 10 s" "$(cat send.err)"
}

# push_ended: waits until the sender of push_started ends; sets $status, $output and $stderr, as
# run_here does
push_ended() {
    status=0
    wait "$pid" || status=$?
    output=$(cat send.out) stderr=$(cat send.err)
}

# The file octets moved, as reported by the surviving process.
moved_octets() {
    jq -nR '[inputs | fromjson? | select(.event == "result") | .moved_octets] | add // 0' <"$1"
}

@test "after kills at random times, on either side, the same command completes the same tree" {
    local n pid moved=0 once total rounds=0 hits=0 options status_wanted after survivor whole=yes
    local IW_SERVE_TIMEOUT=3000 IW_TIMEOUT=120

    RANDOM=${IW_SEED:-$$}
    echo "seed ${IW_SEED:-$$}"
    make_mixed_tree
    total=$(du -bs src | cut -f 1)
    listen
    push --json src/t 127.0.0.1:
    assert_status 0
    once=$(moved_octets "$OUTPUT_FILE")
    serve_end
    for ((n = 0; n < IW_KILLS; n++)); do
        options="--redial 0 --bwlimit $IW_KILL_RATE $([ $((n % 3)) -eq 2 ] && echo '-j 3' || true)"
        # A round ends with its sixth kill, or earlier if a transfer completes before its kill.
        if [ $((n % 6)) -eq 0 ] || [ -n "$whole" ]; then
            rm -rf dst/t dst/.iw-*
            rounds=$((rounds + 1))
        fi
        serve_here ddp-recv --json -p "$PORT" dst
        # shellcheck disable=SC2086
        ddp-send -p "$PORT" $options --json src/t 127.0.0.1: >send.out 2>send.err </dev/null 3>&- &
        pid=$!
        after=$((RANDOM % IW_KILL_WITHIN))
        sleep "$(printf '%d.%03d' $((after / 1000)) $((after % 1000)))"
        # If killed before its end, the source dies of the signal (137); the death of the sink makes
        # it fail (4).
        if [ $((n % 2)) -eq 0 ]; then
            kill -KILL $pid 2>/dev/null || true
            status_wanted=137
        else
            kill -KILL "$SERVE_PID"
            status_wanted=4
        fi
        status=0
        wait $pid || status=$?
        [ "$status" -eq 0 ] || [ "$status" -eq $status_wanted ] || fail_with "kill $n: status $status: $(tail -n 3 send.err)"
        whole=yes survivor=send.out
        [ "$status" -eq 0 ] || { whole='' hits=$((hits + 1)); }
        serve_end
        [ $((n % 2)) -ne 0 ] || [ -n "$whole" ] || survivor=$OUTPUT_FILE
        moved=$((moved + $(moved_octets "$survivor")))
        assert_none_torn
        if [ $((n % 6)) -eq 5 ] || [ $((n + 1)) -eq "$IW_KILLS" ] || [ -n "$whole" ]; then
            listen
            push --json src/t 127.0.0.1:
            assert_status 0
            moved=$((moved + $(moved_octets "$OUTPUT_FILE")))
            serve_end
            diff -r src/t dst/t || fail_with 'the trees differ'
            assert_equal "$(find dst -name '.iw-*.part')" ''
        fi
    done
    [ "$hits" -gt 0 ] || fail_with 'no kill hit a running transfer'
    echo "# $IW_KILLS kills, $hits of running transfers, in $rounds rounds of $total octets; $((moved - rounds * once)) octets sent again" >&3
}

@test "stored octets are not sent again after a kill of either side, in every mode" {
    local mode moved side

    random_file src/f 100M
    for mode in write read send; do
        for side in source sink; do
            rm -rf dst/f dst/.iw-*
            listen
            ddp-send -p "$PORT" -m $mode --redial 0 --bwlimit 400M src/f 127.0.0.1: >/dev/null 2>&1 </dev/null 3>&- &
            pid=$!
            wait_until 10 has_kib 25000 || fail_with 'nothing arrives'
            if [ $side = source ]; then kill -KILL $pid; else kill -KILL "$SERVE_PID"; fi
            await_killed $pid $side
            serve_end "$SERVED" KILL
            [ ! -e dst/f ] || fail_with 'it was too fast'
            listen
            push -m $mode --json src/f 127.0.0.1:
            assert_status 0
            moved=$(jq -s '[.[] | select(.event=="result")][0].moved_octets' <<<"$output")
            [ "$moved" -lt 92000000 ] || fail_with "$mode, $side killed: $moved octets were moved"
            assert_same_file src/f dst/f
            assert_equal "$(find dst -name '.iw-*')" ''
            serve_end
        done
    done
}

@test "over udp, too, the same command resumes" {
    local there moved side

    there=(-t udp -p "$PORT" --udp-port "$(free_port)")
    random_file src/f 60M
    for side in source sink; do
        rm -rf dst/f dst/.iw-*
        serve_here ddp-recv "${there[@]}" dst
        ddp-send "${there[@]}" --redial 0 --timeout 3s --bwlimit 200M src/f 127.0.0.1: >/dev/null 2>&1 </dev/null 3>&- &
        pid=$!
        wait_until 20 has_kib 20000 || fail_with 'nothing arrives'
        if [ $side = source ]; then kill -KILL $pid; else kill -KILL "$SERVE_PID"; fi
        await_killed $pid $side
        serve_end "$SERVED" KILL
        [ ! -e dst/f ] || fail_with 'it was too fast'
        serve_here ddp-recv "${there[@]}" dst
        run_here ddp-send "${there[@]}" --json src/f 127.0.0.1:
        assert_status 0
        moved=$(jq -s '[.[] | select(.event=="result")][0].moved_octets' <<<"$output")
        [ "$moved" -lt 50000000 ] || fail_with "$side killed: $moved octets were moved"
        assert_same_file src/f dst/f
        assert_equal "$(find dst -name '.iw-*')" ''
        serve_end
    done
}

@test "a source that changed meanwhile is sent from the start" {
    random_file src/f 100M
    listen
    ddp-send -p "$PORT" --bwlimit 400M src/f 127.0.0.1: >/dev/null 2>&1 </dev/null 3>&- &
    pid=$!
    wait_until 10 has_kib 20000 || fail_with 'nothing arrives'
    kill -KILL $pid
    await_killed $pid source
    touch -r src/f stamp
    printf changed | dd of=src/f conv=notrunc status=none
    # Restoring the old modification time does not hide the change.
    touch -r stamp src/f
    push --json src/f 127.0.0.1:
    assert_status 0
    assert_jsonl '[.[] | select(.event=="result")][0].moved_octets' 104857600
    assert_same_file src/f dst/f
}

@test "a connection lost in the middle of a file costs its ranges, not the transfer" {
    require_root
    random_file src/f 100M
    listen
    push_started 15000 -j 3 --bwlimit 400M --json
    # Cut one of the three connections in the kernel.
    local victim
    victim=$(ss -Htn state established "( dport = :$PORT )" | awk 'NR == 2 { sub(/.*:/, "", $3); print $3 }')
    ss -K "( sport = :$victim and dport = :$PORT )" >/dev/null 2>&1 || skip 'needs root: this kernel does not let ss -K cut connections'
    push_ended
    assert_status 0
    assert_stderr_has 'connecting again'
    assert_jsonl '[.[] | select(.event=="result")][0].redials' 1
    assert_same_file src/f dst/f
    assert_jsonl '[.[] | select(.event=="result")][0].files_failed' 0
}

@test "an interrupted sender says that the same command resumes, also before the target reported what it has" {
    random_file src/f 5M
    listen
    push_started 2000 --bwlimit 20M
    kill -INT $pid
    push_ended
    assert_status 4
    assert_stderr_has ': run the same command again to resume'
    push --stats src/f 127.0.0.1:
    assert_status 0
    assert_output_lacks ' and 0 B found by resume'
    assert_same_file src/f dst/f
}

@test "a listener that ended is one message for each reason, and the last ones say what to do" {
    random_file src/f 50M
    listen
    push_started 3000 -j 3 --bwlimit 100M --timeout 2s
    serve_end "$SERVED" KILL
    push_ended
    assert_status 4
    assert_equal "$(grep -c 'connection refused' send.err)" 1
    assert_stderr_has 'the listener no longer answers'
    assert_stderr_has 'stored so far stay at the target: start the listener again, and run the same command again to resume'
    (($(wc -l <send.err) <= 5)) || fail_with 'a reason is repeated'
}

@test "a listener that ended before it reported what it stored: one message says what to do" {
    random_file src/f 5M
    listen
    push_started 500 --bwlimit 20M --timeout 2s
    serve_end "$SERVED" KILL
    push_ended
    assert_status 4
    assert_stderr_has 'the listener no longer answers'
    assert_equal "$(grep -o 'start [a-z]* *[a-z]* again' send.err)" 'start the listener again'
}

# From a result: the octets that were moved in addition to the size of the file.
octets_again() {
    jq -s '[.[] | select(.event=="result")][0].moved_octets - 25165824' <<<"$output"
}

# cuts TCP|UDP PORT TO-PORT NTH...: starts a relay that ends the first connections within their NTH
# FPDU or RDMA chunk: a TCP connection by a reset, an association by a chunk that becomes an ABORT
cuts() {
    local t=$1 port=$2 to=$3 conn=0 nth rules=()
    shift 3

    for nth in "$@"; do
        conn=$((conn + 1))
        if [ "$t" = tcp ]; then
            rules+=(--rule "fpdu conn=$conn nth=$nth: reset after 20")
        else
            rules+=(--rule "chunk conn=$conn opcode=write nth=$nth: set e=0 fix-crc" --rule "chunk conn=$conn opcode=write nth=$nth: set type=6 fix-crc")
        fi
    done
    IW_READY=', relaying' serve_here ddp-impair -t "$t" --listen "$port" --to "127.0.0.1:$to" "${rules[@]}"
}

# relayed TRANSPORT push|pull OPTION...: 24 MiB through a relay that cuts a connection twice, each
# time after some 6 MiB; windows are 8 MiB
relayed() {
    local t=$1 way=$2 listener relay again there here
    shift 2

    PORT=$(free_port)
    listener=$(free_port)
    relay=$(free_port)
    if [ "$t" = tcp ]; then
        there=(-p "$listener") here=(-p "$relay")
    else
        there=(-t udp -p "$PORT" --udp-port "$listener") here=(-t udp -p "$PORT" --udp-port "$relay")
    fi
    rm -rf dst/*
    cuts "$t" "$relay" "$listener" 100 100
    if [ "$way" = push ]; then
        serve_here ddp-recv --once --json "${there[@]}" dst
        run_here ddp-send --json "${here[@]}" --bwlimit 400M "$@" src/f 127.0.0.1:
        again=$(octets_again)
    else
        serve_here ddp-send --listen --once --json "${there[@]}" --bwlimit 400M src
        run_here ddp-recv --json "${here[@]}" "$@" 127.0.0.1:f dst
    fi
    assert_status 0
    assert_stderr_has 'connecting again'
    assert_same_file src/f dst/f
    assert_equal "$(find dst -name '.iw-*')" ''
    assert_jsonl '[.[] | select(.event=="result")][0] | [.complete, .files_done, .files_same, .files_failed, .redials > 1]' '[true,1,0,0,true]'
    # The listener saw one transfer, and reports its end.
    wait_served
    assert_status 0
    assert_jsonl '[.[] | select(.event=="result")] | [length, .[0].complete, .[0].files_failed]' '[1,true,0]'
    [ "$way" = push ] || again=$(octets_again)
    [ "$again" -le $((2 * 8388608)) ] || fail_with "$t, $way $*: $again octets were sent again"
    echo "# $t, $way $*: $again octets again after two cuts" >&3
    serve_end $((SERVED - 1))
}

@test "a lost connection is set up again and costs only the data in flight, pushing and pulling" {
    random_file src/f 24M
    relayed tcp push
    relayed tcp pull
    relayed tcp push -m read
    relayed tcp pull -m send
    relayed tcp pull -j 3
}

@test "a lost association is set up again likewise, with one stream and with several" {
    random_file src/f 24M
    relayed udp push
    relayed udp pull
    relayed udp push -j 3
}

@test "a lost connection of a tree costs no file; with --redial 0 it ends the transfer" {
    local relay i

    relay=$(free_port)
    mkdir -p src/t/small src/t/empty
    for ((i = 0; i < 500; i++)); do head -c 9000 /dev/urandom >src/t/small/$i; done
    random_file src/t/large 8M
    ln src/t/large src/t/other
    ln -s large src/t/link
    cuts tcp "$relay" "$PORT" 60 60 60
    serve_here ddp-recv --once --delete -p "$PORT" dst
    mkdir -p dst/t
    : >dst/t/stranger
    run_here ddp-send --json -p "$relay" --delete --yes --bwlimit 400M src/t 127.0.0.1:
    assert_status 0
    assert_jsonl '[.[] | select(.event=="result")][0] | [.files_done + .files_same, .files_failed, .redials > 2, .removed]' '[503,0,true,1]'
    diff -r src/t dst/t || fail_with 'the trees differ'
    assert_equal "$(stat -c %i dst/t/large)" "$(stat -c %i dst/t/other)"
    wait_served
    assert_status 0
    serve_end 1
    relay=$(free_port)
    cuts tcp "$relay" "$PORT" 120
    serve_here ddp-recv -p "$PORT" dst
    run_here ddp-send --force --redial 0 -p "$relay" src/t 127.0.0.1:
    assert_status 4
}

@test "a listener that no longer knows a transfer reports that" {
    local relay pid first

    relay=$(free_port)
    random_file src/f 24M
    cuts tcp "$relay" "$PORT"
    listen
    first=$SERVED
    ddp-send -p "$relay" --bwlimit 100M src/f 127.0.0.1: >send.out 2>send.err </dev/null 3>&- &
    pid=$!
    wait_until 10 has_kib 3000 || fail_with 'nothing arrives'
    serve_end "$first" KILL
    listen
    status=0
    wait $pid || status=$?
    assert_status 1
    stderr=$(cat send.err)
    assert_stderr_has 'the listener no longer knows this transfer, for example after a restart: run the command again to resume'
}

@test "after Ctrl-C the tool reports that the same command resumes, if octets were kept" {
    require_tool python3
    random_file src/f 40M
    serve_here ddp-recv -p "$PORT" dst
    (
        # shellcheck disable=SC2016
        wait_until 10 bash -c 'compgen -G "dst/.iw-*.journal" >/dev/null && [ "$(du -sm dst | cut -f 1)" -ge 5 ]'
        kill -INT "$(cat pid)"
    ) 3>&- &
    # A shell makes its background commands ignore SIGINT.
    run_here python3 -c '
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
open("pid", "w").write(str(os.getpid()))
os.execvp(sys.argv[1], sys.argv[1:])' ddp-send -p "$PORT" --bwlimit 40M src/f 127.0.0.1:
    [[ $stderr =~ [0-9.]+\ MiB\ stored\ so\ far\ stay\ at\ the\ target:\ run\ the\ same\ command\ again\ to\ resume ]] ||
        fail_with 'the message is missing'
    assert_equal "$(grep -c 'run the same command' <<<"$stderr")" 1
    run_here ddp-send --json -p "$PORT" src/f 127.0.0.1:
    assert_status 0
    assert_jsonl '[.[] | select(.event=="result")][0].moved_octets < 40000000' true
    assert_same_file src/f dst/f
}

@test "--stats and the result count what was sent, what was there and what a resume found, at both sides" {
    local keys='[.[]|select(.event=="result")]|last|[.files_done,.links,.directories,.files_same,.files_failed,.content_octets]'
    local pid

    mkdir src/t
    printf four >src/t/small
    ln -s small src/t/link
    serve_here ddp-recv --json -p "$PORT" dst
    # The order in which a directory is sent is unknown, so these files are sent before the
    # interruption.
    push src/t 127.0.0.1:
    assert_status 0
    random_file src/t/big 12M
    ddp-send --bwlimit 40M -p "$PORT" src/t 127.0.0.1: >/dev/null 2>&1 </dev/null 3>&- &
    pid=$!
    wait_until 10 has_kib 5000 || fail_with 'nothing arrives'
    kill -KILL $pid
    ln -s big src/t/link2
    run_here ddp-send --json -j 2 -p "$PORT" src/t 127.0.0.1:
    assert_status 0
    assert_jsonl "$keys" '[2,1,1,2,0,12582912]'
    assert_jsonl '[.[]|select(.event=="result")][0]|.connections, .resumed_octets >= 1048576, .moved_octets + .resumed_octets == .content_octets' $'2\ntrue\ntrue'
    run_here ddp-send --stats -p "$PORT" src/t 127.0.0.1:
    assert_status 0
    assert_output_has 'files:       0 sent, 4 unchanged, 0 kept, 0 left out, 0 failed'
    assert_output_has 'directories: 1'
    assert_output_has 'content:     0 B, of which 0 B moved and 0 B found by resume'
    assert_output_has 'connections: 1, of which 0 set up again'
    serve_end
    assert_jsonl '[.[]|select(.event=="result" and .complete and .files_done > 0)]|last|.links, .moved_octets + .resumed_octets == .content_octets' $'1\ntrue'
}
