#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# scripts/stress: random operations compared with a model; a tool that is broken on purpose must be
# found. scripts/soak --parts stress: long-lived servers whose growth is judged.

# bats file_tags=beside,all

load helpers

# fail_with prints the variables that look unused.
# shellcheck disable=SC2034

setup() {
    require_tool python3
    cd "$BATS_TEST_TMPDIR" || return 1
    IW_TIMEOUT=150
}

stress() {
    run_here "$IW_TOP/scripts/stress" "$@"
}

# broken NAME: a directory with the tools, in which NAME runs the script of standard input. The
# script finds the real tool in $TOOL.
broken() {
    mkdir -p broken
    ln -sf "$IW_BUILD"/{ddp-send,ddp-recv,stag-reg} broken/
    rm "broken/$1"
    {
        echo '#!/bin/sh'
        echo "TOOL=$IW_BUILD/$1"
        cat
    } >"broken/$1"
    chmod +x "broken/$1"
}

# The seventh transfer changes one octet of a file that was received, and keeps its time. A run kills
# this script, not the tool, so the tool must end with it.
broken_send() {
    broken ddp-send <<'END'
case " $* " in *" --listen "*) exec "$TOOL" "$@" ;; esac
echo >>"$IW_STRESS_RUN/calls"
setpriv --pdeathsig KILL "$TOOL" "$@" || exit
[ "$(wc -l <"$IW_STRESS_RUN/calls")" -ge 7 ] || exit 0
file=$(find "$IW_STRESS_RUN"/host-*/in -type f -size +0 ! -name '.iw-*' ! -name '*[[:cntrl:]]*' | LC_ALL=C sort | head -n 1)
[ -n "$file" ] || exit 0
touch -r "$file" "$IW_STRESS_RUN/time"
printf '%b' "\\0$(od -An -to1 -N1 "$file" | tr 0-7 7654321 | tr -d ' ' | cut -c 2-)" |
    dd of="$file" bs=1 count=1 conv=notrunc 2>/dev/null
touch -r "$IW_STRESS_RUN/time" "$file"
END
}

# left: the directories and processes of a run
left() {
    find "$BATS_TEST_TMPDIR" -maxdepth 1 -name 'iw-stress-*'
    pgrep -af "$BATS_TEST_TMPDIR" | grep -E 'ddp-(send|recv)'
}

models() {
    local seed

    for seed in 1 2; do
        stress "$1" --seed $seed --operations 30 --work . "${@:2}"
        assert_status 0
        assert_output_has 'all as the model'
    done
    assert_equal "$(left)" ''
}

# bad_operation TEXT OPERATION: the operation of a list is refused
bad_operation() {
    printf '%s\n' '{"schema": 1, "model": "files", "seed": 1, "hosts": 3, "transport": "tcp"}' "$2" >bad
    stress --replay bad
    assert_status 2
    assert_stderr_has "stress: bad:2: "
    assert_stderr_has "$1"
}

# bats test_tags=plain
@test "a right that is not kept is found, and so is a server that ends" {
    broken stag-reg <<'END'
for word; do shift; case $word in r | w) word=rw ;; esac; set -- "$@" "$word"; done
exec "$TOOL" "$@"
END
    stress stags --seed 1 --operations 100 --build broken --work . --shrink-seconds 5
    assert_status 1
    assert_output_has 'replay: '
    broken ddp-recv <<'END'
case " $* " in *" --bind "*) exec "$TOOL" --once "$@" ;; *) exec "$TOOL" "$@" ;; esac
END
    stress sessions --seed 1 --operations 400 --build broken --work . --shrink-seconds 0
    assert_status 1
    assert_output_has 'ended with status 0'
    assert_output_has 'replay: '
}

# found TEXT OPERATION...: the broken tool is found by these operations of two hosts; the right one passes
found() {
    local text=$1
    shift

    printf '%s\n' '{"schema": 1, "model": "files", "seed": 1, "hosts": 2, "transport": "tcp"}' "$@" >list
    stress --replay list --build broken --work . --shrink-seconds 0
    assert_status 1
    assert_output_has "$text"
    stress --replay list --work .
    assert_status 0
}

# bats test_tags=plain
@test "a dry run that creates, a lost hard link, a short stream and a damaged part are found" {
    local write='{"op": "write", "host": 0, "name": "f0", "size": 100, "seed": 1, "hole": false, "mode": 420, "time": 1}'
    local push='"op": "push", "host": 0, "to": 1, "mode": "write", "jobs": 1, "delete": false, "exclude": "", "rule": ""'
    push+=', "verify": false, "digest": "xxh3", "time": 2'

    broken ddp-send <<'END'
for word; do shift; case $word in -n | --dry-run) continue ;; esac; set -- "$@" "$word"; done
exec "$TOOL" "$@"
END
    found "in: ['from-0']: expected no such names" "$write" "{$push, \"dry\": true}"
    broken ddp-send <<'END'
case " $* " in *" --listen "*) exec "$TOOL" "$@" ;; esac
"$TOOL" "$@"
status=$?
find "$IW_STRESS_RUN"/host-*/in -type f -links +1 -exec sh -c 'cp -p "$1" "$1.new" && mv "$1.new" "$1"' sh {} \;
exit $status
END
    found 'expected hard links of one file' "$write" '{"op": "hard_link", "host": 0, "name": "f0", "to": "f1", "time": 1}' "{$push}"
    broken ddp-send <<'END'
case " $* " in *' - 127.0.0.1:stream-'*) head -c 99 | "$TOOL" "$@" ;; *) exec "$TOOL" "$@" ;; esac
END
    found 'in/stream-0: a file with' \
        '{"op": "push_stream", "host": 0, "to": 1, "mode": "read", "size": 100, "seed": 1, "hole": false, "time": 1}'
    broken ddp-recv <<'END'
case " $* " in *' - '*) "$TOOL" "$@" | tr a b ;; *) exec "$TOOL" "$@" ;; esac
END
    found '100 octets are not those of the file' "$write" '{"op": "fetch", "host": 1, "from": 0, "mode": "send", "name": "f0", "time": 1}'
    broken ddp-send <<'END'
case " $* " in *" --listen "*) exec "$TOOL" "$@" ;; esac
"$TOOL" "$@" && printf x | dd of="$(find "$IW_STRESS_RUN"/host-*/in/large)" bs=1 seek=134217728 conv=notrunc 2>/dev/null
END
    found 'in/large: other octets than' \
        '{"op": "push_large", "host": 0, "to": 1, "mode": "write", "size": 140000000, "jobs": 2, "seed": 1, "blocks": 3, "time": 1}'
}

# bats test_tags=plain
@test "an interruption while a list is reduced keeps the failure" {
    broken_send
    setpriv --pdeathsig TERM timeout 60 "$IW_TOP/scripts/stress" files --seed 1 --operations 120 --build broken --work . \
        --shrink-seconds 60 >said 2>&1 3>&- &
    wait_until 30 reducing
    kill -s INT "$(pgrep -P $! -f scripts/stress)"
    status=0
    wait $! || status=$?
    assert_status 130
    grep -q '^replay: .*--replay ./stress-files-1.operations' said || fail_with "$(cat said)"
    [ "$(wc -l <stress-files-1.operations)" -gt 1 ]
    assert_equal "$(left)" ''
}

# True if a second list runs.
reducing() {
    ls -d "$BATS_TEST_TMPDIR"/iw-stress-*/run-[2-9]*
}

# bats test_tags=plain
@test "a killed run leaves no process, and the next one removes its files" {
    setpriv --pdeathsig TERM timeout 60 "$IW_TOP/scripts/stress" sessions --seed 1 --operations 5000 --work . >said 2>&1 3>&- &
    wait_until 20 running
    kill -s KILL "$(pgrep -P $! -f scripts/stress)"
    wait $! || true
    wait_until 5 no_servers
    [ "$(left | wc -l)" -eq 1 ] || fail_with "$(left)"
    stress sessions --seed 1 --operations 1 --work .
    assert_status 0
    assert_equal "$(left)" ''
}

no_servers() {
    ! left | grep -q ddp-
}

@test "random operations on files end as the model" {
    models files
}

@test "random operations on buffers end as the model" {
    models buffers
}

@test "rights, bounds and guesses of STags end as the model" {
    models stags
}

@test "sessions set up and torn down end as the model" {
    models sessions
}

@test "all models hold over SCTP in UDP" {
    local model

    for model in files buffers stags sessions; do
        stress $model --seed 3 --operations 20 --transport udp --work .
        assert_status 0
    done
}

@test "hosts of a fabric with a link that loses frames end as the model" {
    local model

    for model in files buffers stags sessions; do
        stress $model --seed 4 --operations 10 --hosts 2 --work . --fabric "$IW_TOP/scripts/topologies/pair-lossy.yaml"
        [ "$status" -ne 3 ] || skip "needs netns: ${stderr:-}"
        assert_status 0
    done
}

# bats test_tags=plain
@test "operations depend on the seed alone" {
    stress files --seed 5 --operations 40 --list
    cp "$OUTPUT_FILE" one
    stress files --seed 5 --operations 40 --list
    assert_same_file one "$OUTPUT_FILE"
    stress stags --seed 2 --operations 5 --json --work .
    assert_jsonl '.[] | [.event, .model, .operations, .lists]' '["result","stags",5,1]'
    stress files --seed 6 --operations 40 --list
    run ! cmp -s one "$OUTPUT_FILE"
}

# bats test_tags=plain
@test "a tool that changes an octet is found, and the list shrinks to what is needed" {
    broken_send
    # No kills: whether the script is killed before it changes the octet depends on the load.
    stress files --seed 1 --operations 120 --list
    jq -c 'walk(if type == "object" then del(.kill) else . end)' "$OUTPUT_FILE" >no-kills.operations
    stress --replay no-kills.operations --build broken --work . --shrink-seconds 40
    assert_status 1
    assert_output_has 'octet 0 of'
    count=$(wc -l <stress-files-1.operations)
    [ "$count" -le 16 ] || fail_with "$count lines: $(cat stress-files-1.operations)"
    stress --replay stress-files-1.operations --build broken --shrink-seconds 0 --work .
    assert_status 1
    assert_output_has 'octet 0 of'
    stress --replay stress-files-1.operations --work .
    assert_status 0
    assert_equal "$(left)" ''
}

# bats test_tags=plain
@test "a revocation without effect is found, and so is an octet that a write changes" {
    broken stag-reg <<'END'
[ "$1" != revoke ] || case " $* " in *" --all "*) ;; *) exit 0 ;; esac
exec "$TOOL" "$@"
END
    stress buffers --seed 1 --operations 100 --build broken --work . --shrink-seconds 10
    assert_status 1
    assert_output_has 'replay: '
    broken ddp-send <<'END'
case " $* " in *" --to "*) tr '\000' '\001' | "$TOOL" "$@" ;; *) exec "$TOOL" "$@" ;; esac
END
    stress buffers --seed 1 --operations 100 --build broken --work . --shrink-seconds 10
    assert_status 1
    assert_output_has 'is 0x01: expected 0x00'
}

# bats test_tags=plain
@test "an interrupted run leaves no process and no file" {
    local signal

    for signal in INT TERM; do
        setpriv --pdeathsig TERM timeout 60 "$IW_TOP/scripts/stress" sessions --seed 1 --operations 5000 --work . \
            >said 2>&1 3>&- &
        wait_until 20 running
        kill -s $signal "$(pgrep -P $! -f scripts/stress)"
        status=0
        wait $! || status=$?
        assert_status $((128 + $(kill -l $signal)))
        assert_equal "$(cat said)" "stress: ended by SIG$signal"
        assert_equal "$(left)" ''
    done
}

# True if the servers of a run listen, and commands run.
running() {
    ls "$BATS_TEST_TMPDIR"/iw-stress-*/run-1/logs/command-* && left | grep -q 'ddp-recv.*host-2'
}

# bats test_tags=plain
@test "a soak writes samples and a picture, and ends its servers in order" {
    run_here "$IW_TOP/scripts/soak" --hours 0.002 --operations 5 --out out
    assert_status 0
    assert_output_has 'tcp-recv-0: RSS'
    assert_output_has '3 hosts, '
    assert_equal "$(head -n 1 out/soak.csv | cut -d , -f 1-5)" seconds,server,pid,rss_kib,descriptors
    [ "$(grep -c '^[0-9.]*,udp-send-2,' out/soak.csv)" -ge 5 ] || fail_with "too few samples: $(cat out/soak.csv)"
    if command -v gnuplot >/dev/null; then
        python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' out/soak.svg
        [ "$(stat -c %s out/soak.png)" -gt 10000 ]
    fi
    assert_equal "$(left)" ''
}

# bats test_tags=plain
@test "a soak judges a leak, not a step and not noise" {
    cat >judge.py <<'END'
import random
import sys

sys.path.insert(0, sys.argv[1])
from stress import growth
from stress.samples import Row

rng = random.Random(1)
shapes = {"leak": lambda s: 10000 + 20 * s, "step": lambda s: 10000 + 8000 * (s > 700),
          "noise": lambda s: 10000 + rng.randrange(5000)}
for name, rss in shapes.items():
    memory, descriptors = growth.judge([Row(s, "x", 1, rss(s), 12 + s % 9, 0.0) for s in range(1000)])
    print(name, memory.grows(), descriptors.grows())
rows = [Row(s, "x", 1, 10000, 12 + s // 100, 0.0) for s in range(1000)]
print("descriptors", *(line.grows() for line in growth.judge(rows)))
END
    run_here python3 -B judge.py "$IW_TOP/scripts/python"
    assert_status 0
    assert_output_is "$(printf '%s\n' 'leak True False' 'step False False' 'noise False False' 'descriptors False True')"
}

# bats test_tags=plain
@test "wrong usage and bad files are named" {
    stress
    assert_status 2
    assert_stderr_has 'no MODEL: expected files, buffers, stags, sessions, or --replay FILE'
    stress files --hosts 1
    assert_status 2
    assert_stderr_has '--hosts 1: expected 2 to 100'
    stress files --work nowhere
    assert_status 2
    assert_stderr_has '--work nowhere: no such directory'
    stress --replay none
    assert_status 2
    assert_stderr_is 'stress: none: No such file or directory'
    stress files --list --operations 1
    { head -n 1 "$OUTPUT_FILE" && echo '{"op": "fly"}'; } >bad
    stress --replay bad
    assert_status 2
    assert_stderr_has 'stress: bad:2: op "fly": expected one of write, edit,'
    bad_operation 'no hole: expected this key' '{"op": "write", "host": 0, "name": "f", "size": 1, "seed": 1, "mode": 420, "time": 1}'
    bad_operation 'name "../x": expected a name without empty components and without ..' '{"op": "remove", "host": 0, "name": "../x", "time": 1}'
    bad_operation 'host 3: expected a host from 0 to 2' '{"op": "remove", "host": 3, "name": "x", "time": 1}'
    bad_operation 'host "a": expected a whole number' '{"op": "remove", "host": "a", "name": "x", "time": 1}'
    bad_operation 'op "write": expected one of push, pull' '{"op": "together", "operations": [{"op": "write"}]}'
    echo '{"schema": 1, "model": "files", "seed": 1, "hosts": 1000, "transport": "tcp"}' >bad
    stress --replay bad
    assert_status 2
    assert_stderr_has 'stress: bad:1: hosts 1000: expected'
    stress files --build .
    assert_status 3
    assert_stderr_has 'has no ddp-send: build the tools'
    if [ ! -e /proc/net/sctp ]; then
        stress files --transport sctp --work .
        assert_status 3
        assert_stderr_has 'transport sctp: '
    fi
}
