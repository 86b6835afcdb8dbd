#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# scripts/stress: random operations compared with a model; a tool that is broken on purpose must be
# found. scripts/soak --parts stress: long-lived servers whose growth is judged.

# bats file_tags=beside

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

# The seventh transfer changes one octet of a file that was received, and keeps its time.
broken_send() {
    broken ddp-send <<'END'
case " $* " in *" --listen "*) exec "$TOOL" "$@" ;; esac
echo >>"$IW_STRESS_RUN/calls"
"$TOOL" "$@" || exit
[ "$(wc -l <"$IW_STRESS_RUN/calls")" -ge 7 ] || exit 0
file=$(find "$IW_STRESS_RUN"/host-*/in -type f -size +0 ! -name '.iw-*' | head -n 1)
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

@test "operations depend on the seed alone" {
    stress files --seed 5 --operations 40 --list
    cp "$OUTPUT_FILE" one
    stress files --seed 5 --operations 40 --list
    assert_same_file one "$OUTPUT_FILE"
    stress files --seed 6 --operations 40 --list
    run ! cmp -s one "$OUTPUT_FILE"
}

@test "a tool that changes an octet is found, and the list shrinks to what is needed" {
    broken_send
    stress files --seed 1 --operations 120 --build broken --work . --shrink-seconds 40
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
