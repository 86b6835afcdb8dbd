#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Configuration files, iwarp-config(5): which files the tools read, and which options they take from
# them. tests/unit/cli_config_test.c has the rules of precedence.

# bats file_tags=beside

load helpers

setup() {
    [[ $(ddp-recv --doctor 2>&1) != *'built without inih'* ]] || skip 'needs inih: built without it'
    cd "$BATS_TEST_TMPDIR" || return 1
    export XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/xdg
    CONFIG=$XDG_CONFIG_HOME/iwarp/config
    mkdir -p "${CONFIG%/*}" in
    echo content >f
}

# config LINE...: writes the user's file
config() {
    printf '%s\n' "$@" >"$CONFIG"
    chmod 600 "$CONFIG"
}

# with_system FILE CMD...: runs CMD where FILE is /etc/iwarp/config
with_system() {
    local file=$1

    shift
    # shellcheck disable=SC2016
    run_here unshare -m sh -c 'mount -t tmpfs none /etc && mkdir -m 755 /etc/iwarp && cp -p "$0" /etc/iwarp/config && exec "$@"' "$file" "$@"
}

@test "both ends of a transfer take their port from the file" {
    local port

    port=$(free_port)
    config '[all]' "port = $port" 'timeout = 20s' '[ddp-recv]' 'max-memory = 64M' 'stats = yes'
    serve_here ddp-recv --once in
    run_here ddp-send f 127.0.0.1:
    assert_status 0
    wait_served
    assert_status 0
    cmp f in/f
    # --max-memory is for listeners.
    run_here ddp-recv -v --redial 0 --timeout 1s 127.0.0.1:f g
    assert_stderr_has "$CONFIG:5: max-memory: left out: --max-memory applies to listeners only"
    assert_stderr_has "127.0.0.1 port $port"
}

@test "the command line replaces the file, and --no-config ignores it" {
    config '[all]' 'transport = tcp' 'crc = off' 'timeout = 1s'
    run_here ddp-recv -v -t udp --redial 0 127.0.0.1:f g
    assert_stderr_has "$CONFIG:3: crc: left out: --crc: -t udp has no MPA CRC"
    config '[all]' 'timeout = never'
    run_here ddp-recv --no-config --redial 0 --timeout 1s 127.0.0.1:f g
    assert_status 4
    run_here ddp-recv --help
    assert_status 0
    run_here ddp-recv 127.0.0.1:f g
    assert_status 2
    assert_stderr_has "ddp-recv: $CONFIG:2: --timeout \"never\": "
}

@test "a pipe that an option names is read once, although the parser is tried" {
    config '[all]' 'timeout = 5s' '[ddp-recv]' 'max-memory = 1G'
    mkfifo uri
    echo 'ddp+tcp:nonsense' >uri &
    run_here ddp-recv --from @uri
    assert_status 2
    assert_stderr_has 'ddp-recv: --from @uri: first line: '
}

@test "every tool reads its section and ignores other ones" {
    local tool

    for tool in ddp-bench ddp-dump ddp-impair ddp-recv ddp-send ddp-xdp mpa-probe sctp-ddp-ping stag-reg; do
        config '[all]' 'port = 7000' 'udp-port = 9000' "[$tool]" 'json = yes' '[ddp-other]'
        run_here $tool --doctor
        assert_jsonl '[.[] | select(.subject == "configuration, user") | .verdict]' '["ok"]'
        config "[$tool]" 'jsn = yes'
        run_here $tool --doctor
        assert_status 2
        assert_stderr_has "$tool: $CONFIG:2: \"jsn\": not a long option of $tool"
        # With a command, in the place where commands have their options.
        run_here $tool list --no-config --doctor
        [ $status -eq 2 ] || assert_stderr_lacks "$CONFIG"
    done
}

@test "the common options of a tool with commands apply to its commands" {
    config '[stag-reg]' 'port = 7001'
    run_here stag-reg list
    assert_stderr_has 'recv-7001.sock'
    run_here stag-reg list -p 7002
    assert_stderr_has 'recv-7002.sock'
    run_here stag-reg -p 7003 list
    assert_stderr_has 'recv-7003.sock'
    run_here stag-reg list --no-config
    assert_stderr_has 'recv-7471.sock'
}

@test "--doctor names the files and counts their options" {
    config '[all]' 'port = 7001' 'crc = off' '[ddp-recv]' 'stats = yes' 'verify = no'
    run_here ddp-recv --doctor --json .
    assert_jsonl '[.[] | select(.subject == "configuration, user") | .seen]' "[\"$CONFIG: sets 3 options here\"]"
    rm "$CONFIG"
    run_here ddp-recv --doctor --json .
    assert_jsonl '[.[] | select(.subject == "configuration, user") | .seen]' "[\"$CONFIG: does not exist\"]"
}

@test "the file of the system must belong to root, and the user's file replaces its keys" {
    require_root
    unshare -m true || skip 'needs root: no mount namespace'
    printf '%s\n' '[all]' 'port = 7001' '[stag-reg]' 'timeout = 1s' >system
    chmod 644 system
    with_system system stag-reg list
    assert_stderr_has 'recv-7001.sock'
    config '[all]' 'port = 7002'
    with_system system stag-reg list
    assert_stderr_has 'recv-7002.sock'
    chmod 664 system
    with_system system stag-reg list
    assert_status 3
    assert_stderr_has 'stag-reg: /etc/iwarp/config: other users can write to it'
    chmod 644 system
    chown 12345 system
    with_system system stag-reg list
    assert_status 3
    assert_stderr_has 'stag-reg: /etc/iwarp/config: belongs to uid 12345'
    with_system system stag-reg list --no-config
    assert_status 4
}

@test "a file that the user cannot read ends the tool, a closed directory does not" {
    require_root
    XDG_CONFIG_HOME=$(mktemp -d)
    CONFIG=$XDG_CONFIG_HOME/iwarp/config
    chmod 755 "$XDG_CONFIG_HOME"
    mkdir -m 755 "${CONFIG%/*}"
    config '[all]' 'port = 7001'
    run_here setpriv --reuid=12345 --clear-groups stag-reg list
    assert_status 4
    assert_stderr_has "stag-reg: $CONFIG: cannot be read: "
    chmod 700 "${CONFIG%/*}"
    run_here setpriv --reuid=12345 --clear-groups stag-reg list
    rm -r "$XDG_CONFIG_HOME"
    assert_stderr_has 'recv-7471.sock'
}
