#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The privileges that the tools drop before they read from the network: as the kernel reports them,
# and by attempts to use them.

# bats file_tags=beside

# Each test is a separate process.
# shellcheck disable=SC2030,SC2031

load helpers
load net

setup_file() {
    net_setup
}

teardown_file() {
    net_teardown
}

setup() {
    skip_with_file
    net_files 3M
}

teardown() {
    [ -z "${HELD:-}" ] || exec {HELD}>&-
    helpers_teardown
}

# status_of PID FIELD: prints that field of all threads of the process, equal values once
status_of() {
    sed -n "s/^$2:[[:space:]]*//p" /proc/"$1"/task/*/status | sort -u | tr '\t' ' '
}

is_confined() {
    [ "$(status_of "$1" NoNewPrivs)" = 1 ] && [ "$(status_of "$1" Seccomp)" = "$(filter_mode)" ]
}

# Prints 2 if the tools install a system call filter. Sanitizer builds and builds without libseccomp
# do not.
filter_mode() {
    ddp-bench --doctor --json | jq -r 'select(.subject=="system call filter") | if .seen == "in force" then 2 else 0 end'
}

# assert_confined PID UID CAPABILITIES [GROUPS]: checks every thread of the process
assert_confined() {
    wait_until 5 is_confined "$1" || fail_with "$(ps -o args= -p "$1"): $(grep -E 'NoNew|Seccomp' "/proc/$1/status")"
    assert_equal "$(status_of "$1" CapPrm)" "$3"
    assert_equal "$(status_of "$1" CapEff)" "$3"
    assert_equal "$(status_of "$1" CapInh)" 0000000000000000
    assert_equal "$(status_of "$1" CapAmb)" 0000000000000000
    assert_equal "$(status_of "$1" Uid)" "$2 $2 $2 $2"
    assert_equal "$(status_of "$1" Gid)" "$2 $2 $2 $2"
    [ "$2" = 0 ] || assert_equal "$(status_of "$1" Groups)" "${4-}"
}

none=0000000000000000
write=000000000000000a # CAP_DAC_OVERRIDE, CAP_FOWNER
read=0000000000000004  # CAP_DAC_READ_SEARCH
bpf=0000008000000000   # CAP_BPF
admin=0000000000001000 # CAP_NET_ADMIN

# Starts a ddp-send that waits for its standard input, which stays open until $HELD is closed;
# $SENDER is its process.
hold_sender() {
    mkfifo in
    ddp-send -p "$PORT" "$@" <in >sender.out 2>&1 3>&- &
    SENDER=$!
    exec {HELD}>in
    echo data >&"$HELD"
}

let_go() {
    exec {HELD}>&-
    HELD=
}

@test "a listener of each tool keeps only the privileges that it needs" {
    require_root
    IW_READY='listening on' serve_here ddp-recv -p 0 dst
    assert_confined "$SERVE_PID" 0 $write
    IW_READY='listening on' serve_here ddp-recv -p 0 -t raw dst
    assert_confined "$SERVE_PID" 0 $write
    IW_READY='listening on' serve_here ddp-recv -p 0 --owner --owner-from-anyone dst
    assert_confined "$SERVE_PID" 0 000000000000000b
    IW_READY='listening on' serve_here ddp-recv -p 0 --owner --owner-from-anyone --setid dst
    assert_confined "$SERVE_PID" 0 000000000000001b
    IW_READY='listening on' serve_here ddp-send -p 0 --listen src
    assert_confined "$SERVE_PID" 0 $read
    # Clients choose the congestion control of TCP.
    IW_READY='listening on' serve_here ddp-bench -p 0 --listen
    assert_confined "$SERVE_PID" 65534 $admin
    IW_READY='listening on' serve_here ddp-bench -p 0 --listen -t udp --udp-port 0
    assert_confined "$SERVE_PID" 65534 $none
    IW_READY='listening on' serve_here mpa-probe -p 0 --listen
    assert_confined "$SERVE_PID" 65534 $none
    IW_READY='listening on' serve_here mpa-probe -p 0 --listen --app rping
    assert_confined "$SERVE_PID" 65534 $none
    IW_READY='listening on' serve_here sctp-ddp-ping -t raw -p "$PORT" --listen
    assert_confined "$SERVE_PID" 65534 $none
}

@test "a live capture runs as user 65534 (nobody)" {
    require_root
    require_localhost
    # The filter is needed because other tests use the same interface.
    IW_READY='listening on' serve_here ddp-dump -i lo -w cap.pcap "port $PORT"
    assert_confined "$SERVE_PID" 65534 $none
    # Files that were opened before confinement can still be written.
    IW_READY='listening on' serve_here ddp-recv -p "$PORT" dst
    run_here ddp-send -p "$PORT" src/f localhost:
    assert_status 0
    serve_end 1
    assert_output_has 'RDMA Write'
    run_here ddp-dump -r cap.pcap
    assert_status 0
}

@test "the threads of a transfer are confined as their process is" {
    require_root
    require_localhost
    IW_READY='listening on' serve_here ddp-recv -p "$PORT" dst
    run_here ddp-send -p "$PORT" src/f localhost:
    assert_status 0
    [ "$(cat /proc/"$SERVE_PID"/task/*/comm | wc -l)" -gt 1 ] || fail_with 'no thread'
    assert_confined "$SERVE_PID" 0 $write
}

@test "the connecting side is confined, too" {
    require_root
    require_localhost
    IW_READY='listening on' serve_here ddp-recv -p "$PORT" dst
    hold_sender - localhost:got
    assert_confined "$SENDER" 0 $read
    let_go
    wait "$SENDER"
    run_here cat dst/got
    assert_output_is data
    IW_READY='listening on' serve_here sctp-ddp-ping -t raw -p "$PORT" --listen
    sctp-ddp-ping -t raw -p "$PORT" 127.0.0.1 >ping.out 2>&1 3>&- &
    SENDER=$!
    wait_until 10 grep -q seq ping.out || fail_with "$(cat ping.out)"
    assert_confined "$SENDER" 65534 $none
    kill "$SENDER"
}

@test "AF_XDP continues to work with the open descriptors" {
    require_root
    require_xdp
    IW_READY='listening on' serve_in left ddp-bench --listen -t xdp -I "$LEFT_IF" -p "$PORT" --bind '*'
    assert_confined "$SERVE_PID" 65534 $bpf
    run_in right ddp-bench -t xdp -I "$RIGHT_IF" -p "$PORT" --time 1s --json "$LEFT_IP" write
    assert_status 0
    assert_jsonl 'map(select(.event=="result")) | .[0].verified' true
    # The second size opens everything again.
    run_in right ddp-bench -t xdp -I "$RIGHT_IF" -p "$PORT" --time 1s -s 4K,1M --json "$LEFT_IP" write
    assert_status 0
    assert_jsonl 'map(select(.event=="result")) | length' 2
}

# Another process moves the directory of a partly received file out of the served one. The
# listener's descriptor then leads outside.
move_away() {
    mkdir dst/d out
    hold_sender - localhost:d/got
    wait_until 10 sh -c 'ls -A dst/d | grep -q part' || fail_with 'nothing arrived'
    mv dst/d out/
    let_go
    SENT=0
    wait "$SENDER" || SENT=$?
}

@test "nothing is written outside the served directory, even through an open descriptor" {
    local abi

    abi=$(ddp-recv --doctor --json . | jq -r 'select(.subject=="Landlock") | .seen | capture("ABI (?<n>[0-9]+)").n')
    [ "${abi:-0}" -ge 2 ] || skip 'needs landlock: ABI 2, Linux 5.19'
    IW_READY='listening on' serve_here ddp-recv -p "$PORT" dst
    move_away
    assert_equal "$SENT" 1
    [ ! -e out/d/got ] || fail_with 'written outside'
    # Without Landlock it is written, because the open descriptor permits that.
    rm -rf in out dst/d
    PORT=$(free_port)
    IW_READY='listening on' serve_here env IWARP_UNCONFINED=1 ddp-recv -p "$PORT" dst
    move_away
    assert_equal "$SENT" 0
    [ -e out/d/got ] || fail_with 'not written'
}

@test "the listener removes its control socket when it ends" {
    IW_READY='listening on' serve_here ddp-recv -p "$PORT" --control "$PWD/c.sock" dst
    [ -S c.sock ] || fail_with 'no socket'
    run_here stag-reg list --control "$PWD/c.sock"
    assert_status 0
    serve_end
    assert_status 0
    [ ! -e c.sock ] || fail_with 'it was not removed'
}

@test "IWARP_UNCONFINED=1 switches confinement off" {
    require_root
    IW_READY='listening on' serve_here env IWARP_UNCONFINED=1 mpa-probe -p 0 --listen
    assert_equal "$(status_of "$SERVE_PID" NoNewPrivs)" "$(status_of $$ NoNewPrivs)"
    assert_equal "$(status_of "$SERVE_PID" Seccomp)" "$(status_of $$ Seccomp)"
    assert_equal "$(status_of "$SERVE_PID" Uid)" '0 0 0 0'
    assert_equal "$(status_of "$SERVE_PID" CapEff)" "$(status_of $$ CapEff)"
}

@test "--doctor shows the measures in force" {
    require_root
    run_here ddp-bench --doctor --json
    assert_status 0
    assert_jsonl 'map(select(.subject=="user when confined"))[0].seen' 'uid 65534, gid 65534'
    assert_jsonl 'map(select(.subject=="capabilities kept"))[0].seen' CAP_NET_ADMIN
    assert_jsonl 'map(select(.subject=="no new privileges"))[0].seen' 'in force'
    run_here ddp-recv --doctor --json -t xdp -I lo .
    assert_jsonl 'map(select(.subject=="capabilities kept"))[0].seen' 'CAP_DAC_OVERRIDE CAP_FOWNER CAP_BPF'
    # Options and operands are considered.
    run_here ddp-recv --owner --owner-from-anyone --setid --doctor --json .
    assert_jsonl 'map(select(.subject=="capabilities kept"))[0].seen' 'CAP_CHOWN CAP_DAC_OVERRIDE CAP_FOWNER CAP_FSETID'
    run_here ddp-send --doctor --json -t raw . 127.0.0.1:
    assert_jsonl 'map(select(.subject=="capabilities kept"))[0].seen' 'CAP_DAC_READ_SEARCH CAP_NET_ADMIN CAP_NET_RAW'
    run_here ddp-bench --doctor --json 127.0.0.1 write
    assert_jsonl 'map(select(.subject=="capabilities kept"))[0].seen' none
    run_here env IWARP_UNCONFINED=1 ddp-bench --doctor
    assert_output_has 'IWARP_UNCONFINED is set'
    run_here env IWARP_UNCONFINED=1 ddp-recv --doctor --json .
    assert_jsonl 'map(select(.subject=="Landlock"))[0].seen' 'not in force'
    run_here env IWARP_UNCONFINED=yes ddp-recv -p 0 nowhere
    assert_stderr_has 'IWARP_UNCONFINED=yes is ignored: expected 1'
}

@test "root of a user namespace without other users is confined otherwise" {
    require_tool unshare
    unshare --user --map-root-user true 2>/dev/null || skip 'needs netns: no user namespaces'
    IW_READY='listening on' serve_here unshare --user --map-root-user mpa-probe -v -p 0 --listen
    assert_confined "$SERVE_PID" "$(id -u)" $none "$(status_of $$ Groups)"
    grep -q 'not given up: .*leave all groups' "$BATS_TEST_TMPDIR/serve.$SERVED.err" || fail_with 'it is not logged'
}
