#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Socket activation: a listener on the socket that the service manager passes, and the systemd
# units.

# bats file_tags=beside

load helpers

setup() {
    require_tool python3
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir dst
    random_file f 3M
    PORT=$(free_port)
    PASS=$IW_TOP/tests/bats/pass_socket.py
}

teardown() {
    helpers_teardown
}

@test "ddp-recv accepts on the socket that is passed to it" {
    local kind

    for kind in tcp tcp6; do
        [ $kind = tcp ] || [ -e /proc/net/if_inet6 ] || continue
        IW_READY=listening serve_here "$PASS" $kind "$PORT" ddp-recv --once dst
        run_here ddp-send -p "$PORT" -j 2 f "$([ $kind = tcp ] && echo 127.0.0.1 || echo '[::1]'):$kind"
        assert_status 0
        wait_served
        assert_status 0
        [[ "$output" = "listening on "*":$PORT"$'\n'* ]] || fail_with "$output"
        cmp f dst/$kind
    done
}

@test "connections that came before the start are accepted" {
    # shellcheck disable=SC2016
    IW_MAY_END=1 IW_READY=listening serve_here "$PASS" tcp "$PORT" bash -c '
        ddp-send -p "$1" f 127.0.0.1: 3>&- &
        deadline=$((SECONDS + 10))
        until ss -Hnlt "sport = :$1" | grep -q "^LISTEN *1 " || [ $SECONDS -gt $deadline ]; do sleep 0.05; done
        exec ddp-recv --once dst' bash "$PORT"
    wait_served
    assert_status 0
    cmp f dst/f
}

@test "ddp-send --listen serves on a passed socket too" {
    mkdir src && mv f src
    IW_READY=listening serve_here "$PASS" tcp "$PORT" ddp-send --listen --once src
    run_here ddp-recv -p "$PORT" 127.0.0.1:f dst
    assert_status 0
    cmp src/f dst/f
}

@test "a descriptor for another process is not used" {
    local other

    other=$(free_port)
    IW_READY=listening serve_here "$PASS" other "$PORT" ddp-recv --once -p "$other" dst
    run_here ddp-send -p "$other" f 127.0.0.1:
    assert_status 0
    wait_served
    assert_status 0
}

@test "a passed socket of the wrong kind is an error that names the expected kind" {
    run_here "$PASS" udp "$PORT" ddp-recv --once dst
    assert_status 2
    assert_stderr_has 'descriptor 3: a socket, but not of TCP; expected a listening TCP socket'
    run_here "$PASS" two "$PORT" ddp-recv --once dst
    assert_status 2
    assert_stderr_has 'LISTEN_FDS=2: expected 1; use one ListenStream= line'
    run_here "$PASS" tcp "$PORT" ddp-recv -t udp --once dst
    assert_status 2
    assert_stderr_has '--transport udp: a socket passed by LISTEN_FDS needs -t tcp'
    run_here "$PASS" tcp "$PORT" ddp-recv --bind 127.0.0.1 --once dst
    assert_status 2
    assert_stderr_has 'has an address; remove --bind'
    run_here "$PASS" tcp "$PORT" ddp-recv --port 7000 --once dst
    assert_status 2
    assert_stderr_has 'has a port; remove --port'
}

@test "systemd accepts the units, and rates the service as safe" {
    require_tool systemd-analyze
    sed -e "s|@BINDIR@|$IW_BUILD|" -e 's|@CONFDIR@|/etc/iwarp-tools|' "$IW_TOP/scripts/systemd/ddp-recv.service.in" >ddp-recv.service
    cp "$IW_TOP/scripts/systemd/ddp-recv.socket" .
    run_here systemd-analyze verify --man=no --recursive-errors=no ./ddp-recv.service ./ddp-recv.socket
    assert_status 0
    assert_stderr_is ''
    # In tenths: 10 is the exposure level that systemd prints as "1.0 OK".
    run_here systemd-analyze security --no-pager --offline=true --threshold=15 ./ddp-recv.service
    assert_status 0
}

@test "the service permits each system call that the tool permits itself" {
    require_tool systemd-analyze python3
    run_here systemd-analyze syscall-filter
    [ "$status" -eq 0 ] || skip 'needs systemd-analyze: it does not list its sets of system calls'
    run_here python3 "$IW_TOP/tests/bats/unit_calls.py" "$OUTPUT_FILE" "$IW_TOP/scripts/systemd/ddp-recv.service.in" "$IW_TOP/cmd/cli/seccomp.c"
    assert_status 0
}
