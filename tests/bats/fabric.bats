#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# bats file_tags=waits,plain
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
#
# scripts/fabric. Each test has a label of its own; at its end nothing of this label may be left.

load helpers
load net

setup_file() {
    file_requires require_netns || return 0
    file_requires require_tool python3 ethtool jq || return 0
    file_requires require_yaml || return 0
}

require_yaml() {
    python3 -c 'import yaml' 2>/dev/null || skip 'needs yaml: python3-yaml is not installed'
}

setup() {
    skip_with_file
    FABRIC=$IW_TOP/scripts/fabric
    TOPOLOGIES=$IW_TOP/scripts/topologies
    LABEL=t$$-$BATS_TEST_NUMBER
    PORT=7471
    cd "$BATS_TEST_TMPDIR" || return
}

teardown() {
    [ -z "${LABEL:-}" ] || timeout -k 5 30 "$FABRIC" down --label "$LABEL" >/dev/null 2>&1 || true
    helpers_teardown
}

up() { run_here "$FABRIC" up --label "$LABEL" "$@"; }
on() { run_here "$FABRIC" exec --label "$LABEL" "$@"; }
serve_on() { IW_READY='listening on' serve_here "$FABRIC" exec --label "$LABEL" "$@"; }
down() { run_here "$FABRIC" down --label "$LABEL" "$@"; }

# The processes of this test's fabric; /proc/PID/environ of a process that has ended is empty.
marked() {
    grep -laz "^IW_FABRIC=$LABEL\$" /proc/[0-9]*/environ 2>/dev/null | grep -v "^/proc/$$/" || true
}

has_marked() { [ "$(marked | wc -l)" -ge "$1" ]; }

nothing_left() {
    wait_until 5 is_gone || fail_with "left: $(marked | tr '\n' ' ')" "$(ls -R "$XDG_RUNTIME_DIR/iwarp" /run/netns)"
}

is_gone() {
    [ -z "$(marked)" ] && [ ! -e "$XDG_RUNTIME_DIR/iwarp/fabric/$LABEL.json" ] &&
        [ ! -e "$XDG_RUNTIME_DIR/iwarp/fabric/$LABEL" ] && [ -z "$(our_namespaces)" ]
}

our_namespaces() {
    find /run/netns -regex ".*/iwf-$LABEL-[a-z0-9]*" 2>/dev/null
}

topology() { cat >topology.yaml; }

# reaches FROM ADDRESS...: a listener at each address accepts a TCP connection
reaches() {
    on "$1" env PORT="$PORT" timeout 10 bash -c 'for to; do exec 3<>"/dev/tcp/$to/$PORT" || exit; done' bash "${@:2}"
    assert_status 0
}

# bats test_tags=all
@test "each example comes up, its hosts reach each other over both families, and it goes down" {
    local name first last addresses

    mkdir dst
    while read -r name first last; do
        up "$TOPOLOGIES/$name.yaml"
        assert_status 0
        serve_on "$last" ddp-recv -p "$PORT" --bind '*' "$PWD/dst"
        run_here "$FABRIC" status --label "$LABEL" --json
        mapfile -t addresses < <(jq -r --arg host "$last" '.hosts[] | select(.name == $host).addresses[].address' <<<"$output")
        [ ${#addresses[@]} -ge 2 ]
        reaches "$first" "${addresses[@]}"
        down
        assert_status 0
        assert_equal "$output" "$LABEL: down"
        nothing_left
    done <<'X'
pair a b
pair-lossy b a
star-4 h1 h4
dual-homed a b
router c b
X
}

@test "a command gets its arguments, standard input and host names, and its status is returned" {
    up "$TOPOLOGIES/pair.yaml"
    echo 'a  line' >in
    IW_STDIN=in on a sh -c 'cat; printf "<%s>" "$@"; hostname; echo $IW_FABRIC_HOST; exit 7' sh 'x  y' ''
    assert_status 7
    assert_equal "$output" $'a  line\n<x  y><>a\na'
    on b getent ahosts a
    [[ $output == *10.77.0.1* ]]
    on c true
    assert_status 4
    assert_stderr_has 'c: not a host of'
    on a
    assert_status 2
    # By file, as the first argument or with -f.
    run_here "$FABRIC" exec "$TOPOLOGIES/pair.yaml" b hostname
    assert_equal "$output" b
    run_here "$FABRIC" exec -f "$TOPOLOGIES/pair.yaml" b hostname
    assert_equal "$output" b
}

@test "a command that does not exist is named, with status 127" {
    up "$TOPOLOGIES/pair.yaml"
    on a nowhere -x
    assert_status 127
    assert_stderr_is 'fabric: exec: nowhere: no such command'
}

@test "exec --until-listening returns when the command listens, and reports a command that does not" {
    up "$TOPOLOGIES/pair.yaml"
    on --until-listening "$PORT" b ddp-bench --listen -p "$PORT" --bind '*'
    assert_status 0
    on a ddp-bench b write -p "$PORT" --time 50ms
    assert_status 0
    on --until-listening "$PORT" b true
    assert_status 4
    assert_stderr_is "fabric: b: port $PORT: in use before true has started: expected a free port"
    on --until-listening 1 a sh -c 'exit 7'
    assert_status 4
    assert_stderr_is 'fabric: a: sh: ended with status 7: expected it to listen to 1'
    on --until-listening 0 a true
    assert_status 2
    # Python ignores SIGPIPE; the command does not.
    on a sh -c 'kill -PIPE $$'
    assert_status 141
    down
    nothing_left
}

@test "a file crosses a lossy link over TCP and SCTP, and the relay counts lost frames" {
    local t

    head -c 2M /dev/urandom >src
    up "$TOPOLOGIES/pair-lossy.yaml"
    for t in tcp udp; do
        mkdir dst-$t
        serve_on b ddp-recv -t "$t" -p "$PORT" --bind '*' --once "$PWD/dst-$t"
        on a ddp-send -t "$t" -p "$PORT" src b:
        assert_status 0
        wait_served
        assert_status 0
        cmp src dst-$t/src
    done
    run_here "$FABRIC" status --label "$LABEL" --json
    assert_jsonl '.[0].relays | map([.link, .alive])' '[["a-b",true]]'
    assert_jsonl '.[0].relays[0].directions | map(.frames_in > 1000 or .to == "a")' '[true,true]'
    down --json
    assert_jsonl '.[0].relays["a-b"] | map(select(.event == "direction").lost > 0)' '[true,true]'
    nothing_left
}

@test "delay and rate are those of the file, each direction its own" {
    topology <<'X'
hosts: [a, b]
families: [ipv4]
links:
  - between: [a, b]
    delay: 20ms
    toward: {b: {delay: 30ms, rate: 5M}}
X
    up topology.yaml
    serve_on b sctp-ddp-ping --listen -p "$PORT" --bind '*'
    on a sctp-ddp-ping b -p "$PORT" -c 5 -i 10ms --json
    assert_status 0
    assert_jsonl '.[-1] | .min_ns >= 50e6 and .min_ns < 90e6' true
    serve_end
    # 1 MiB takes 1.68 s at 5 Mb/s.
    head -c 1M /dev/urandom >src
    mkdir dst
    serve_on b ddp-recv -p "$PORT" --bind '*' --once "$PWD/dst"
    on a ddp-send -p "$PORT" --json src b:
    assert_status 0
    assert_jsonl '.[-1].duration_ns >= 1600e6' true
}

@test "a router forwards between networks, and the path to b has the smaller MTU" {
    head -c 300K /dev/urandom >src
    mkdir dst
    up "$TOPOLOGIES/router.yaml"
    serve_on b ddp-recv -p "$PORT" --bind '*' "$PWD/dst"
    on a ddp-send -p "$PORT" src 10.77.1.2:4
    assert_status 0
    on c ddp-send -p "$PORT" src '[fd77:0:0:1::2]:6'
    assert_status 0
    cmp src dst/4
    cmp src dst/6
    on b ip link show eth0
    [[ $output == *'mtu 1400'* ]]
}

# bats test_tags=all
@test "a host with two networks has two paths" {
    up "$TOPOLOGIES/dual-homed.yaml"
    serve_on b sctp-ddp-ping --listen -p "$PORT" --bind '*'
    on a sctp-ddp-ping 10.1.0.2 -p "$PORT" -c 3 -i 10ms --json
    assert_status 0
    on a sctp-ddp-ping 10.2.0.2 -p "$PORT" -c 3 -i 10ms --json
    assert_status 0
    # The second network has a delay of 2 ms between a host and the switch.
    assert_jsonl '.[-1].min_ns >= 8e6' true
}

@test "fifty hosts come up, and each reaches the first" {
    up "$TOPOLOGIES/fifty.yaml"
    assert_status 0
    mkdir dst
    serve_on h1 ddp-recv -p "$PORT" --bind '*' "$PWD/dst"
    for n in 2 27 50; do reaches h$n 10.77.0.1; done
    run_here "$FABRIC" status --label "$LABEL" --json
    assert_jsonl '.[0].hosts | length' 50
    down
    assert_status 0
    nothing_left
}

@test "a file, label, owner or seed that is not clear is refused" {
    local option

    mkdir other
    cp "$TOPOLOGIES/pair.yaml" "$LABEL.yaml"
    cp "$TOPOLOGIES/pair.yaml" "other/$LABEL.yaml"
    run_here "$FABRIC" up "$LABEL.yaml"
    assert_status 0
    run_here "$FABRIC" exec -f "other/$LABEL.yaml" a true
    assert_status 2
    assert_stderr_is "fabric: other/$LABEL.yaml: $LABEL is up from $PWD/$LABEL.yaml: expected this file, or --label"
    run_here "$FABRIC" up --label "$LABEL-x" "$LABEL.yaml"
    run_here "$FABRIC" down "$LABEL.yaml"
    assert_status 2
    assert_stderr_is "fabric: $LABEL.yaml: $LABEL, $LABEL-x are up from it: expected --label"
    run_here "$FABRIC" down --label "$LABEL-x"
    # A file that has become invalid since it came up.
    echo 'hosts: 0' >"$LABEL.yaml"
    run_here "$FABRIC" down "$LABEL.yaml"
    assert_status 0
    for option in --owner=0 --owner=999999999 --seed=-1; do
        up $option "$TOPOLOGIES/pair.yaml"
        assert_status 2
    done
    nothing_left
}

@test "up twice reports that it is up; another file under the same label is refused" {
    up "$TOPOLOGIES/pair.yaml"
    up "$TOPOLOGIES/pair.yaml"
    assert_status 0
    assert_equal "$output" "$LABEL: is up already"
    up "$TOPOLOGIES/star-4.yaml"
    assert_status 1
    assert_stderr_has 'whose contents were different'
}

# bats test_tags=all
@test "of two that make the same fabric at the same time, one does" {
    local first=0 second=0

    timeout -k 5 30 "$FABRIC" up --label "$LABEL" "$TOPOLOGIES/star-4.yaml" >/dev/null 2>err.1 3>&- &
    timeout -k 5 30 "$FABRIC" up --label "$LABEL" "$TOPOLOGIES/star-4.yaml" >/dev/null 2>err.2 3>&- || second=$?
    wait $! || first=$?
    # The later one is refused, or finds it up.
    [ $((first * second)) -eq 0 ]
    [ $((first + second)) -eq 0 ] || grep -q 'is up already\|is making it' err.1 err.2
    on h1 true
    assert_status 0
}

@test "down ends what exec started, also in a namespace of its own, and ends only its own fabric" {
    up "$TOPOLOGIES/pair.yaml"
    run_here "$FABRIC" up --label "$LABEL-x" "$TOPOLOGIES/pair.yaml"
    setsid "$FABRIC" exec --label "$LABEL" a sleep 1000 </dev/null >/dev/null 2>&1 3>&- &
    setsid "$FABRIC" exec --label "$LABEL" b unshare --net sleep 1000 </dev/null >/dev/null 2>&1 3>&- &
    setsid "$FABRIC" exec --label "$LABEL" b env -i sleep 1000 </dev/null >/dev/null 2>&1 3>&- &
    run_here "$FABRIC" exec --label "$LABEL-x" a true
    assert_status 0
    wait_until 5 has_marked 2
    down
    assert_status 0
    nothing_left
    run_here "$FABRIC" exec --label "$LABEL-x" a true
    assert_status 0
    run_here "$FABRIC" down --label "$LABEL-x"
    assert_status 0
}

# bats test_tags=all
@test "nothing is left after SIGINT and SIGTERM during up, at any time" {
    local signal after rc

    topology <<<$'hosts: 12\nnetworks:\n  lan: {loss: 1%}'
    for signal in INT TERM; do
        for after in 0.1 0.2 0.3 0.5; do
            rc=0
            timeout -k 20 -s $signal $after "$FABRIC" up --label "$LABEL" topology.yaml >/dev/null 2>&1 3>&- || rc=$?
            [ $rc -ne 137 ] || fail_with "up does not end after SIG$signal"
            # A signal before the handlers are set, or after up is complete, changes nothing.
            if is_up; then down; fi
            nothing_left
        done
    done
}

is_up() { run_here "$FABRIC" status --label "$LABEL" && [ "$status" -eq 0 ]; }

# Starts `up` with an ip that ends late; $SLOW is its process.
slow_up() {
    mkdir -p bin
    printf '#!/bin/sh\n[ "$1" != -batch ] || sleep 0.7\nexec %s "$@"\n' "$(command -v ip)" >bin/ip
    chmod +x bin/ip
    PATH=$PWD/bin:$PATH setpriv --pdeathsig KILL "$FABRIC" up --label "$LABEL" "$TOPOLOGIES/pair.yaml" >/dev/null 2>&1 3>&- &
    SLOW=$!
    wait_until 5 has_marked 1
}

@test "down ends the commands of an up that was killed, and leaves one that still runs" {
    slow_up
    down
    assert_status 1
    assert_stderr_is "fabric: $LABEL: process $SLOW is making it: wait, or end it with --force"
    kill -KILL $SLOW
    timeout -k 5 30 "$FABRIC" down --label "$LABEL" >/dev/null 2>&1 3>&- &
    down
    assert_status 0
    wait $!
    # The ip of slow_up waits 0.7 s: if it survived, it makes its namespaces in this time.
    sleep 1
    nothing_left
    slow_up
    down --force
    assert_status 0
    wait_until 20 iw_gone $SLOW
    wait $SLOW || [ $? -eq 143 ]
    nothing_left
}

@test "up on a full disk names the file, and leaves nothing" {
    local rc=0

    require_root
    mkdir run
    unshare --mount sh -c 'mount -t tmpfs -o size=64k tmpfs run && mkdir -p run/iwarp/fabric && { cat /dev/zero >run/full; } 2>/dev/null
        XDG_RUNTIME_DIR=$PWD/run timeout -k 5 20 "$@"; s=$?; ls run/iwarp/fabric; exit $s' sh \
        "$FABRIC" up --label "$LABEL" "$TOPOLOGIES/pair.yaml" >out 2>err || rc=$?
    assert_equal "$rc" 4 "$(cat err)"
    assert_equal "$(cat err)" "fabric: $PWD/run/iwarp/fabric/$LABEL.json.new: No space left on device"
    assert_equal "$(cat out)" lock
    nothing_left
}

# bats test_tags=all
@test "down removes what kill -9 of up left, with and without the state file" {
    local after

    topology <<<$'hosts: 12\nnetworks:\n  lan: {loss: 1%}'
    for after in 0.2 0.3 0.4 2; do
        timeout -s KILL $after "$FABRIC" up --label "$LABEL" topology.yaml >/dev/null 2>&1 3>&- || true
        [ $after != 0.4 ] || rm -rf "$XDG_RUNTIME_DIR/iwarp/fabric"
        if [ $after = 2 ]; then
            rm -rf "$XDG_RUNTIME_DIR/iwarp/fabric"
            run_here "$FABRIC" down
            assert_status 0
            [[ $output == *"$LABEL: down"* ]]
        else
            down
            assert_status 0
        fi
        nothing_left
    done
    # A state file whose process has ended.
    mkdir -p "$XDG_RUNTIME_DIR/iwarp/fabric"
    echo "{\"label\": \"$LABEL\", \"status\": \"up\", \"pid\": 1, \"start\": 1}" >"$XDG_RUNTIME_DIR/iwarp/fabric/$LABEL.json"
    run_here "$FABRIC" status --label "$LABEL"
    assert_status 1
    assert_equal "$output" "$LABEL: not up, but leftovers exist: scripts/fabric down removes them"
    # up itself removes the rest of a killed up.
    timeout -s KILL 0.3 "$FABRIC" up --label "$LABEL" topology.yaml >/dev/null 2>&1 3>&- || true
    is_up || up topology.yaml
    is_up
    # The fabric of another session is safe.
    XDG_RUNTIME_DIR=$PWD run_here "$FABRIC" down --label "$LABEL"
    assert_status 1
    assert_stderr_has 'belongs to another session'
    XDG_RUNTIME_DIR=$PWD run_here "$FABRIC" down
    assert_equal "$output" 'nothing is up'
    is_up
}

@test "a relay that was killed is reported, and down still works" {
    up "$TOPOLOGIES/pair-lossy.yaml"
    kill -KILL "$(jq '.relays[0].pid' "$XDG_RUNTIME_DIR/iwarp/fabric/$LABEL.json")"
    run_here "$FABRIC" status --label "$LABEL"
    assert_status 1
    [[ $output == *'relay a-b: DEAD'* ]]
    down
    assert_status 0
    nothing_left
}

# bats test_tags=all
@test "a fabric goes down when its owner ends, also by kill -9" {
    sleep 1000 >/dev/null 2>&1 3>&- &
    local owner=$!

    up --owner $owner "$TOPOLOGIES/pair-lossy.yaml"
    on a true
    assert_status 0
    kill -KILL $owner
    nothing_left
}

# bats test_tags=all
@test "a program uses fabrics through Python; they end with it, also by kill -9" {
    cat >program.py <<'X'
import subprocess, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1] + "/scripts/python")
from fabric import live, topology
made = topology.load(sys.argv[1] + "/scripts/topologies/star-4.yaml")
with live.Fabric(made) as one, live.Fabric(made, sys.argv[2]) as other:
    print(one.hosts(), one.addresses("h2", 4), other.address("h1", "h4", 6))
    server = one.popen("h4", ["ddp-recv", "--once", "--bind", "*", "in"], stdout=subprocess.DEVNULL)
    one.wait_listening("h4", 7471)
    print(one.run("h2", ["ddp-send", "program.py", one.address("h4") + ":"], 20).returncode)
    print(server.wait(20), open("program.py").read() == open("in/program.py").read())
    try:
        one.run("h1", ["sleep", "100"], timeout=0.2)
    except subprocess.TimeoutExpired:
        print("timeout")
    if len(sys.argv) > 3:
        print(one.label, flush=True)
        other.run("h1", ["sh", "-c", "kill -9 $PPID; kill -9 " + sys.argv[3]], 10)
print(list(one.counters))
X
    mkdir in
    run_here python3 program.py "$IW_TOP" "$LABEL"
    assert_status 0
    assert_equal "$output" "['h1', 'h2', 'h3', 'h4'] ['10.77.0.2'] fd77::1
0
0 True
timeout
['h4-lan']"
    nothing_left
    rm in/*
    run_here sh -c 'exec python3 program.py "$@" $$' sh "$IW_TOP" "$LABEL"
    [ "$status" -eq 137 ]
    nothing_left
    LABEL=$(tail -n 1 <<<"$output") nothing_left
}

@test "a signal that arrives while threads make a fabric takes effect, and leaves no lock taken" {
    cat >signals.py <<'X'
import os, signal, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1] + "/scripts/python")
import program
done = []
def work(number):
    if number == 0:
        os.kill(os.getpid(), signal.SIGTERM)
    done.append(number)
ended = 0
for _ in range(300):
    for number in program.SIGNALS:
        signal.signal(number, program.raise_ended)
    try:
        program.at_once(work, range(12), 8)
    except program.Ended:
        ended += 1
print(ended, len(done), len(program.ARRIVED))
X
    run_here python3 signals.py "$IW_TOP"
    assert_status 0
    assert_equal "$output" '300 3600 300'
    assert_equal "$stderr" ''
}

@test "bad topologies are refused with file, line, value and what was expected" {
    # One program reads all files: a start of Python for each would take most of the time.
    cat >bad.py <<'X'
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1] + "/scripts/python")
import checked
from fabric import topology
lines = sys.stdin.read().splitlines()
for line in lines:
    text, expected = line.split("|")
    with open("bad.yaml", "w") as file:
        file.write(text.replace("\\n", "\n"))
    try:
        said = topology.load("bad.yaml") and "accepted"
    except checked.Invalid as error:
        said = str(error)
    if not said.startswith("bad.yaml:" + expected):
        sys.exit(f"{text}: {said}: expected {expected}")
print(len(lines))
X
    cat >cases <<'X'
hosts: [a, b]\nlinks:\n- between: [a, c]|3: "c": expected a host, router or network of this file: a, b
hosts: [a, b]\nlinks:\n- between: [a, a]|3: "a": expected another end
hosts: [a, b, c]\nlinks:\n- between: [a, b, c]|3: a list: expected two ends
hosts: [a, b, c]\nlinks:\n- between: [a, b]|1: host c: no link
hosts: [a, b]\nlinks:\n- between: [a, b]\n  delay: 10|4: "10": expected a duration with its unit
hosts: [a, b]\nlinks:\n- between: [a, b]\n  loss: 0.1|4: "0.1": expected a percentage
hosts: [a, b]\nlinks:\n- between: [a, b]\n  rate: 10|4: "10": expected a rate from 1k
hosts: [a, b]\nlinks:\n- between: [a, b]\n  dealy: 1ms|4: unknown key "dealy": expected one of
hosts: [a, b]\nlinks:\n- between: [a, b]\n  mtu: 60|4: "60": expected a whole number from 68
hosts: [a, b]\nlinks:\n- between: [a, b]\n  mtu: 1000|4: "1000": expected at least 1280 with IPv6
hosts: [a, b]\nlinks:\n- between: [a, b]\n  mtu: 9300\n  loss: 1%|4: "9300": expected at most 9216
hosts: [a, b]\nlinks:\n- between: [a, b]\n  loss: 1%\n  offloads: on|5: "on": expected off
hosts: [a, b]\nlinks:\n- between: [a, b]\n  toward: {c: {loss: 1%}}|4: toward "c": expected an end of the link: a, b
hosts: 2\nnetworks:\n  x: {toward: {c: {loss: 1%}}}|3: toward "c": expected a member of the network
hosts: [a, b]\nnetworks:\n  x:\n    prefix: 10.1.0.0/24\n    addresses: {a: 10.1.0.5, b: 10.1.0.5}|5: "10.1.0.5": expected another address than that of a
hosts: [a, b]\nnetworks:\n  x: {prefix: 10.1.0.0/24, addresses: {a: 10.2.0.5}}|3: "10.2.0.5": expected an address in 10.1.0.0/24
hosts: [a, b]\nnetworks:\n  x: {prefix: 10.1.0.0/24, addresses: {a: 10.1.0.255}}|3: "10.1.0.255": expected an address of a host
hosts: 2\nnetworks:\n  x: {prefix: 10.0.0.0/24}\n  y: {prefix: 10.0.0.128/25}|4: "10.0.0.128/25": expected a prefix apart from
hosts: 20\nfamilies: [ipv4]\nnetworks:\n  x: {prefix: 10.0.0.0/28}|4: no address is left in 10.0.0.0/28
hosts: [a]\nnetworks: [x, y, z]\nlinks:\n- between: [x, y]\n- between: [y, z]\n- between: [z, x]\n- between: [a, x]|6: link z-x closes a loop of networks
hosts: [a, b]\nnetworks: [x]\nlinks:\n- between: [a, x]\n- between: [a, x]\n- between: [b, x]|5: a is in network x twice
hosts: [a, a]|1: "a": expected each name once
hosts: [a, B]|1: "B": expected a name of
hosts: 0|1: "0": expected a whole number from 1
hosts: [a, b]\nrouters: [a]|2: "a": expected a name that no host has
hosts:\n  a: {ssh: x}\n  b:|3: host b: no ssh
hosts:\n  a: {ssh: -oProxyCommand=x}|2: "-oProxyCommand=x": expected USER@HOST
hosts:\n  a: {ssh: x}\n  b: {ssh: y}\nlinks:\n- between: [a, b]\n  loss: 1%|5: link a-b: has impairments
hosts: [a, b]\nlinks:\n- between: [a, b]\n  queue: 64K|4: queue without rate
hosts: 2\nname: ../x|2: "../x": expected a name of
host: 2|1: unknown key "host"
hosts: [a|1: expected ',' or ']'
hosts: [a, b]\nlinks:\n- {between: [a, b], rules: "fpdu: drop"}\nemulation: netem|3: "fpdu: drop": expected no rules with emulation: netem
hosts: 2\nprefix: fe80::/64|2: "fe80::/64": expected a prefix of hosts
hosts: 2\nprefix: 0.0.0.0/0|2: "0.0.0.0/0": expected a prefix of hosts
hosts: 2\nnetworks:\n  x: {members: []}|3: a list: expected at least one member
hosts: &a [*a]|1: nested too deeply, or an alias within its own value
hosts: 2\nname: "a\x00"|2: "a\x00": expected a name of
hosts: [a, b]\nlinks:\n- between: [a, b]\n  rate: NINES|4: "999999999999999999999999999999
a: &a [x, x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]\ng: &g [*c, *c, *c, *c, *c, *c, *c, *c, *c]\ne: &e [*g, *g, *g, *g, *g, *g, *g, *g, *g]\nf: [*e, *e, *e, *e, *e, *e, *e]|1: more than 200000 values
X
    sed -i "s/NINES/$(printf '9%.0s' {1..400})/" cases
    IW_STDIN=cases run_here python3 bad.py "$IW_TOP"
    assert_status 0
    [ "$output" -ge 30 ]
    topology <<<'hosts: [a, B]'
    up topology.yaml
    assert_status 2
    assert_equal "$stderr" 'fabric: topology.yaml:1: "B": expected a name of at most 12 small letters and digits, such as h1'
    up nowhere.yaml
    assert_status 2
    nothing_left
}

@test "emulation: netem uses netem, and where the kernel has none, the reason is printed" {
    topology <<<$'hosts: [a, b]\nemulation: netem\nlinks:\n- {between: [a, b], delay: 10ms}'
    up topology.yaml
    if [ "$status" -eq 0 ]; then
        on a tc qdisc show dev eth0
        [[ $output == *'netem'*'delay 10ms'* ]]
    else
        assert_status 3
        assert_equal "$stderr" 'fabric: needs netem: this kernel has no netem queue; use emulation: relay'
        nothing_left
    fi
}

@test "a link has the MTU and the offloads of the file" {
    topology <<<$'hosts: [a, b]\nmtu: 9000\nlinks:\n- {between: [a, b], offloads: off}\n- {between: [a, b], mtu: 2000}'
    up topology.yaml
    on b sh -c 'ip -o link show eth0; ethtool -k eth0'
    [[ $output == *'mtu 9000 '* && $output == *'tcp-segmentation-offload: off'* ]]
    on b sh -c 'ip -o link show eth1; ethtool -k eth1'
    [[ $output == *'mtu 2000 '* && $output == *'tcp-segmentation-offload: on'* ]]
}

@test "settings become words of netem and of the relay" {
    topology <<'X'
hosts: [a, b]
links:
  - between: [a, b]
    rate: 100M
    delay: 10ms
    jitter: 500us
    queue: 64K
    loss: 0.05%
    duplicate: 1%
    corrupt: 2%
    toward: {b: {reorder: 3%, loss: 0%}}
X
    cat >words.py <<'X'
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1] + "/scripts/python")
from fabric import topology
for one in topology.load("topology.yaml").links[0].toward:
    print(" ".join(one.netem_words()), one.relay_words(), sep="\n")
X
    run_here python3 words.py "$IW_TOP"
    assert_equal "$output" 'delay 10000us 500us loss 0.05% duplicate 1% corrupt 2% rate 100000000bit limit 125
rate=100000000,delay=10000000ns,jitter=500000ns,queue=65536,loss=0.05%,duplicate=1%,corrupt=2%
delay 10000us 500us duplicate 1% corrupt 2% reorder 3% rate 100000000bit limit 125
rate=100000000,delay=10000000ns,jitter=500000ns,queue=65536,loss=0%,duplicate=1%,corrupt=2%,late=3%,late-by=5000000ns'
}

@test "a link applies rules of ddp-impair to protocol units" {
    topology <<'X'
hosts: [a, b]
links:
  - between: [a, b]
    rules: ['fpdu opcode=write nth=3: drop']
X
    head -c 1M /dev/urandom >src
    mkdir dst
    up topology.yaml
    serve_on b ddp-recv -p "$PORT" --bind '*' --once "$PWD/dst"
    on a ddp-send -p "$PORT" src b:
    assert_status 0
    cmp src dst/src
    down --json
    assert_jsonl '[.[0].relays["a-b"][] | select(.event == "decision")] | length' 1
    topology <<<$'hosts: [a, b]\nlinks:\n- {between: [a, b], rules: "fpdu: explode"}'
    up topology.yaml
    assert_status 2
    assert_stderr_has 'fabric: topology.yaml:3: rule "fpdu: explode", column 7: "explode": expected an action'
    nothing_left
}

# bats test_tags=all
@test "hosts over ssh: up checks that they are reachable, exec quotes, down ends what exec started" {
    mkdir bin
    cat >bin/ssh <<'X'
#!/bin/sh
while [ "$1" != -- ]; do
    [ "$1" != -G ] || exit 255
    shift
done
[ "$2" != root@192.0.2.9 ] || { echo 'ssh: connect to host 192.0.2.9 port 22: No route to host' >&2; exit 255; }
echo "$2" >>calls
exec sh -c "$3"
X
    chmod +x bin/ssh
    PATH=$PWD/bin:$PATH
    up "$TOPOLOGIES/ssh.yaml"
    assert_status 0
    assert_equal "$(sort calls | tr '\n' ' ')" 'root@192.0.2.1 root@192.0.2.2 '
    on b printf '<%s>' 'a  b' '$HOME;'
    assert_equal "$output" '<a  b><$HOME;>'
    run_here "$FABRIC" status --label "$LABEL"
    [[ $output == *'host   b            root@192.0.2.2'* ]]
    setsid "$FABRIC" exec --label "$LABEL" b sleep 1000 </dev/null >/dev/null 2>&1 3>&- &
    wait_until 5 has_marked 1
    down
    assert_status 0
    nothing_left
    # What the machine itself does: it kills a process that ignores SIGTERM.
    IW_FABRIC=$LABEL setsid sh -c 'trap "" TERM; while :; do sleep 1; done' </dev/null >/dev/null 2>&1 3>&- &
    wait_until 5 has_marked 1
    run_here python3 -Bc 'import sys; sys.path.insert(0, sys.argv[1] + "/scripts/python")
from fabric import remote
print(remote.end(sys.argv[2], ["root@192.0.2.1"]))
remote.ANSWER_SECONDS = 0.3
print(remote.attempt("root@192.0.2.1", ["sleep", "20"]))' "$IW_TOP" "$LABEL"
    assert_equal "$output" $'[]\nno answer within 0.3 s'
    nothing_left
    sed 's/192.0.2.2, /192.0.2.9, /; s/root@192.0.2.2/root@192.0.2.9/' "$TOPOLOGIES/ssh.yaml" >topology.yaml
    up topology.yaml
    assert_status 3
    assert_stderr_has 'b (root@192.0.2.9): ssh: connect to host 192.0.2.9 port 22: No route to host'
    # A file of namespaces on real machines.
    up --ssh a=root@192.0.2.1 --ssh b=root@192.0.2.2 "$TOPOLOGIES/pair.yaml"
    assert_status 0
    run_here "$FABRIC" status --label "$LABEL" --json
    assert_jsonl '.[0].hosts | map(.addresses[0].address)' '["192.0.2.1","192.0.2.2"]'
    down
    up --ssh a=root@192.0.2.1 --ssh b=root@192.0.2.2 "$TOPOLOGIES/pair-lossy.yaml"
    assert_status 2
    assert_stderr_has 'link a-b: has impairments: expected none between hosts over ssh'
    up --ssh q=x "$TOPOLOGIES/pair.yaml"
    assert_status 2
    nothing_left
}

@test "an ordinary user gets a user namespace; where there is none, the reason is printed" {
    local user='setpriv --reuid 65534 --regid 65534 --clear-groups'

    require_root
    # shellcheck disable=SC2086
    $user test -r "$IW_TOP/scripts/fabric" || skip 'needs user: nobody cannot read the tree'
    # This user cannot enter the folder of the test.
    OWN=$(mktemp -d)
    chown 65534 "$OWN"
    # shellcheck disable=SC2086
    $user unshare --user --map-root-user true || skip 'needs userns: not permitted here'
    cd "$OWN"
    XDG_RUNTIME_DIR=$OWN
    # shellcheck disable=SC2086
    user_runs() { run_here $user "$@"; }
    cp "$TOPOLOGIES/pair-lossy.yaml" topology.yaml
    user_runs "$FABRIC" up --label "$LABEL" topology.yaml
    assert_status 0
    user_runs "$FABRIC" exec --label "$LABEL" b hostname
    assert_equal "$output" b
    user_runs "$FABRIC" status --label "$LABEL" --json
    assert_jsonl '.[0].relays[0].alive' true
    user_runs "$FABRIC" down
    assert_status 0
    # ip and ethtool are in /usr/sbin, which is not in the PATH of an ordinary user.
    user_runs env PATH="$IW_BUILD:/usr/bin:/bin" "$FABRIC" measure --engine netns --hosts topology.yaml --seconds 0.2
    assert_status 0
    nothing_left
    user_runs unshare --user "$FABRIC" up --label "$LABEL" topology.yaml
    assert_status 3
    assert_stderr_has 'needs root or user namespaces: '
    nothing_left
    rm -r "$OWN"
}

@test "two links between the same hosts have two names, and counters each" {
    topology <<<$'hosts: [a, b]\nlinks:\n- {between: [a, b], loss: 1%}\n- {between: [a, b], loss: 1%, prefix: 10.9.0.0/31}'
    up topology.yaml
    assert_status 0
    run_here "$FABRIC" status --label "$LABEL" --json
    assert_jsonl '.[0].relays | map(.link)' '["a-b","a-b.2"]'
    assert_jsonl '.[0].hosts | map(.addresses[2].address)' '["10.9.0.0","10.9.0.1"]'
    # A relay that does not end in time, in the middle of a line.
    kill -STOP "$(jq '.relays[1].pid' "$XDG_RUNTIME_DIR/iwarp/fabric/$LABEL.json")"
    printf '{"event": "dec' >>"$XDG_RUNTIME_DIR/iwarp/fabric/$LABEL/relay-1"
    down --json
    assert_status 0
    assert_jsonl '.[0].relays | map_values(map(.event) | index("direction") != null)' '{"a-b":true,"a-b.2":false}'
    nothing_left
}

@test "a program that is interrupted while it starts has status 130 and prints nothing" {
    local program

    mkdir slow
    echo 'import time; time.sleep(10)' >slow/argparse.py
    for program in fabric interop-matrix interop-report stress soak plot hosts-task; do
        run_here env PYTHONPATH="$PWD/slow" timeout --preserve-status -s INT 0.4 "$IW_TOP/scripts/$program" --help
        assert_status 130
        assert_equal "$output$stderr" ''
    done
}

@test "graph draws hosts, networks and impairments" {
    run_here "$FABRIC" graph --format text "$TOPOLOGIES/router.yaml"
    assert_output_has '  router r eth0  10.77.1.1 fd77:0:0:1::1'
    assert_output_has '  link r-b: rate 500M, delay 2ms, MTU 1400'
    run_here "$FABRIC" graph --format dot "$TOPOLOGIES/router.yaml"
    assert_status 0
    [[ $output == *'"r" -- "b" [label="rate 500M\ndelay 2ms\nMTU 1400"]'* ]]
    require_tool dot
    run_here "$FABRIC" graph -o router.svg "$TOPOLOGIES/router.yaml"
    assert_status 0
    grep -q '<svg' router.svg
    grep -q '>10.77.1.2<' router.svg
}
