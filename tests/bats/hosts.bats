#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# bats file_tags=waits,all,plain
#
# scripts/fabric measure: patterns, outliers, srun with PMIx and with a shared directory, ClusterShell,
# namespaces. Slurm and sshd run in namespaces of scripts/fabric.

load helpers
load net
load cluster

setup_file() {
    file_requires require_root || return 0
    file_requires require_netns || return 0
    file_requires require_tool jq tc || return 0
    export IW_TIMEOUT=100
    cluster_up
}

setup() {
    skip_with_file
}

teardown_file() {
    cluster_down
}

require_slurm() {
    local tool

    for tool in srun slurmctld slurmd munged; do
        command -v $tool >/dev/null || skip "needs slurm: $tool is not installed"
    done
    export SLURM_CONF=$CLUSTER/slurm.conf
    [ -e "$SLURM_CONF" ] || cluster_slurm
    cluster_idle
}

require_clustershell() {
    /usr/bin/python3 -c 'import ClusterShell' 2>/dev/null || skip 'needs clustershell: python3-clustershell is not installed'
    [ -x /usr/sbin/sshd ] || skip 'needs clustershell: openssh-server is not installed'
    [ -e "$CLUSTER/ssh" ] || cluster_sshd
}

# measure OPTION...: runs scripts/fabric measure on ctl, from which all nodes can be reached
measure() {
    measure_words "$@"
    run_here "${WORDS[@]}"
}

# measure_start OPTION...: the same in the background, until wait_served
measure_start() {
    measure_words "$@"
    IW_READY='"event": "plan"' serve_here "${WORDS[@]}"
}

measure_words() {
    # shellcheck disable=SC2016
    WORDS=("$IW_TOP/scripts/fabric" exec --label "$CLUSTER_LABEL" ctl unshare --mount sh -c "${CLUSTER_PMIX:-} exec \"\$@\"" sh
        "$IW_TOP/scripts/fabric" measure --tools "$IW_BUILD" --seconds 0.3 --json "$@")
}

# ends_clean SIGNAL STATUS OPTION...: ends a measurement while it measures
ends_clean() {
    local signal=$1 expected=$2
    shift 2

    measure_start --seconds 30 "$@"
    wait_until 60 cluster_measures node2 || fail_with 'node2 does not measure' "$(iw_served_said "$SERVED")"
    serve_end "$SERVED" "$signal"
    assert_status "$expected"
    assert_clean
}

assert_stderr_matches() {
    # shellcheck disable=SC2154
    grep -qE -- "$1" <<<"$stderr" || fail_with "standard error does not match: $1"
}

# lines EVENT FILTER: the lines of an event, one by one, through jq
lines() {
    jq -r "select(.event == \"$1\") | $2" <"$OUTPUT_FILE"
}

assert_pairs() {
    [ "$(lines pair 'select(.verified) | "\(.client) \(.server)"' | sort -u | wc -l)" -eq "$1" ] || fail_with "not $1 pairs"
    [ "$(lines pair .client | wc -l)" -eq "$1" ] || fail_with "not $1 lines of pairs"
}

# measure_slow HOST OPTION...: measures while this host sends at a fifth of the rate of the others.
# Every line has a limit that a busy machine reaches. Without limits only the
# processor limits the other pairs: on a busy machine their throughput varied tenfold, and the slow host
# did not deviate.
measure_slow() {
    local slow=$1 i rate
    shift

    for i in 1 2 3 4; do
        rate=200mbit
        [ "node$i" != "$slow" ] || rate=40mbit
        inside node$i tc qdisc add dev eth0 root tbf rate $rate burst 32k latency 20ms
    done
    measure --size 64K "$@"
    for i in 1 2 3 4; do inside node$i tc qdisc del dev eth0 root; done
}

# A link of another host may deviate too. The slow host comes first.
assert_slow() {
    assert_equal "$(lines outlier 'select(.metric == "throughput") | "\(.what) \(.name) \(.role) \(.pairs) of \(.of_pairs)"' | head -n 1)" \
        "host $1 client 3 of 3"
}

assert_clean() {
    wait_until 10 cluster_is_clean || fail_with "processes are left: $(cluster_left)"
    wait_until 10 rmdir "$CLUSTER/board" || fail_with 'the board is left'
    mkdir "$CLUSTER/board"
}

@test "every plan has each pair once, and no host twice in a phase of pairwise" {
    run_here /usr/bin/python3 -B "$IW_TOP/tests/bats/hosts_plans.py"
    assert_status 0
}

@test "a host or link that deviates is named, also if half of all pairs are slow" {
    run_here /usr/bin/python3 -B "$IW_TOP/tests/bats/hosts_outliers.py"
    assert_status 0
}

@test "bad options are refused with what was expected" {
    # One program tries all of them: a start of Python for each would take most of the time.
    cat >"$BATS_TEST_TMPDIR/bad.py" <<'END'
import contextlib, io, re, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1] + "/scripts/python")
import program
from hosts import cli
for line in sys.stdin.read().splitlines():
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            status = cli.main(line.split())
    except SystemExit as end:
        status = end.code
    except program.Problem as problem:
        status = problem.status
        print(problem, file=said)
    if status != 2 or not re.search("expected|required|no such file", said.getvalue()):
        sys.exit(f"{line}: {status}: {said.getvalue()}")
    print(line)
END
    printf ' # not a host\nnode1\n' >"$BATS_TEST_TMPDIR/one"
    printf 'node1\n-oProxyCommand=x\n' >"$BATS_TEST_TMPDIR/dash"
    printf 'node\377\n' >"$BATS_TEST_TMPDIR/binary"
    sed "s|TMP|$BATS_TEST_TMPDIR|" >"$BATS_TEST_TMPDIR/cases" <<'END'
--hosts 4
--engine srun
--engine clush
--engine netns
--engine clush --hosts node[1-
--engine clush --hosts node1
--engine clush --hosts a,b --ssh-config /nonexistent
--engine netns --hosts a --pattern k-batch=0
--engine netns --hosts a b
--engine netns --hosts a --pattern ring
--engine netns --hosts a --seconds 0
--engine netns --hosts a --size 1T
--engine netns --hosts a --network 10.0.0.1/8
--engine netns --hosts a --port 65536
--engine netns --hosts no-such-file-or-label
--engine clush --hosts node[1-1000000000]
--engine clush --hosts TMP/one
--engine clush --hosts TMP/dash
--engine clush --hosts TMP/binary
END
    IW_STDIN=$BATS_TEST_TMPDIR/cases run_here /usr/bin/python3 "$BATS_TEST_TMPDIR/bad.py" "$IW_TOP"
    assert_status 0
    assert_equal "$output" "$(cat "$BATS_TEST_TMPDIR/cases")"
}

@test "without Slurm or ClusterShell: status 3, and what to install" {
    mkdir -p "$BATS_TEST_TMPDIR/bin" "$BATS_TEST_TMPDIR/python/ClusterShell"
    ln -s /usr/bin/env "$BATS_TEST_TMPDIR/bin/env"
    echo 'raise ImportError' >"$BATS_TEST_TMPDIR/python/ClusterShell/__init__.py"
    run_here env PATH="$BATS_TEST_TMPDIR/bin" "$IW_TOP/scripts/fabric" measure --engine srun --hosts 2
    assert_status 3
    assert_stderr_matches '^fabric: needs slurm: srun is not installed; install slurm-client'
    run_here env PYTHONPATH="$BATS_TEST_TMPDIR/python" "$IW_TOP/scripts/fabric" measure --engine clush --hosts a,b
    assert_status 3
    assert_stderr_matches '^fabric: needs clustershell: python3-clustershell is not installed'
    run_here env -u SLURM_CONF "$IW_TOP/scripts/fabric" measure --engine srun --hosts 2
    assert_status 3
    assert_stderr_matches '^fabric: needs slurm: '
}

@test "netns: a topology is up while it is measured; the host with the slow line is named" {
    # As star-4.yaml, but each line has a rate: see measure_slow.
    cat >"$BATS_TEST_TMPDIR/star-4.yaml" <<'END'
hosts: 4
networks: [lan]
links:
  - {between: [h1, lan], rate: 200M}
  - {between: [h2, lan], rate: 200M}
  - {between: [h3, lan], rate: 200M}
  - {between: [h4, lan], rate: 40M, delay: 1ms}
END
    run_here "$IW_TOP/scripts/fabric" measure --engine netns "$BATS_TEST_TMPDIR/star-4.yaml" \
        --tools "$IW_BUILD" --seconds 0.3 --size 64K --json
    assert_status 0
    assert_pairs 12
    assert_equal "$(lines outlier 'select(.metric == "throughput" and .what == "host") | .name')" h4
    run -1 grep -E '^iwf-star-4-[0-9]+-' <<<"$(ip netns list)"
}

@test "netns: SIGTERM leaves nothing on the hosts of a network that stays up" {
    IW_READY='"event": "task"' serve_here "$IW_TOP/scripts/fabric" measure --engine netns "$CLUSTER_LABEL" --tools "$IW_BUILD" --seconds 30 --json
    wait_until 10 cluster_measures node2
    serve_end "$SERVED" TERM
    assert_status 143
    [ -z "$(cluster_left)" ] || fail_with "processes are left: $(cluster_left)"
}

@test "srun: pairwise over PMIx; the host that sends slowly is named" {
    require_slurm
    [ -n "$CLUSTER_PMIX" ] || skip 'needs slurm: libpmix2 is not installed'
    measure_slow node3 --engine srun --hosts 'node[1-4]' --board pmix
    assert_status 0
    assert_pairs 12
    assert_slow node3
    assert_clean
}

@test "srun: all-to-all and k-batch over a shared directory, which is removed" {
    require_slurm
    measure --engine srun --hosts 4 --board "$CLUSTER/board" --pattern all-to-all -t udp
    assert_status 0
    assert_pairs 12
    cluster_idle
    measure --engine srun --hosts 3 --board "$CLUSTER/board" --pattern k-batch=1 --mode read -- --spin 100us
    assert_status 0
    assert_pairs 6
    assert_clean
}

@test "srun: a task that is killed ends the run in seconds, and is named" {
    local began board

    require_slurm
    for board in "$CLUSTER/board" ${CLUSTER_PMIX:+pmix}; do
        cluster_idle
        measure_start --engine srun --hosts 4 --board "$board" --seconds 30
        wait_until 30 cluster_measures node2
        began=$SECONDS
        cluster_kill node2 hosts-task
        wait_served
        [ $((SECONDS - began)) -le 15 ] || fail_with 'took too long'
        assert_status 4
        assert_stderr_matches '^fabric: task [0-9] on node2: Killed$'
        assert_clean
    done
}

@test "srun: a server that is killed ends the run, and its host is named" {
    require_slurm
    measure_start --engine srun --hosts 4 --board "$CLUSTER/board" --seconds 2
    wait_until 30 cluster_measures node2
    cluster_kill node2 ddp-bench
    wait_served
    assert_status 4
    assert_stderr_matches '^fabric: task [0-9] on node2: the server ended: Killed'
    assert_clean
}

@test "srun: a host whose slurmd was killed is reported within a minute" {
    require_slurm
    cluster_kill node4 slurmd
    IW_TIMEOUT=60 measure --engine srun --hosts 'node[1-4]' --board "$CLUSTER/board"
    assert_status 4
    assert_stderr_matches '^fabric: .*(node4|nodes)'
    assert_clean
    cluster_slurmd node4
    cluster_idle
}

@test "srun: Ctrl-C, SIGTERM and SIGKILL leave nothing" {
    local end

    require_slurm
    for end in 'INT 130' 'TERM 143' 'KILL 137'; do
        # shellcheck disable=SC2086
        ends_clean $end --engine srun --hosts 4 --board "$CLUSTER/board"
        cluster_idle
    done
}

@test "clush: pairwise and all-to-all; the host that sends slowly is named" {
    require_clustershell
    measure_slow node2 --engine clush --hosts 'node[1-4]' --ssh-config "$CLUSTER/ssh/config"
    assert_status 0
    assert_pairs 12
    assert_slow node2
    printf 'node1\n# not this one: node2\nnode3\nnode4\n' >"$BATS_TEST_TMPDIR/hosts"
    measure --engine clush --hosts "$BATS_TEST_TMPDIR/hosts" --ssh-config "$CLUSTER/ssh/config" --pattern all-to-all -t udp
    assert_status 0
    assert_pairs 6
    assert_clean
}

@test "clush: Ctrl-C and SIGKILL leave nothing" {
    require_clustershell
    ends_clean INT 130 --engine clush --hosts 'node[1-4]' --ssh-config "$CLUSTER/ssh/config"
    ends_clean KILL 137 --engine clush --hosts 'node[1-4]' --ssh-config "$CLUSTER/ssh/config"
}

@test "clush: different versions of the tools are reported" {
    require_clustershell
    mkdir "$CLUSTER/old"
    cat >"$CLUSTER/old/ddp-bench" <<END
#!/bin/sh
[ "\$1" != --version ] || [ "\$(hostname)" != node3 ] || { echo ddp-bench old; exit; }
exec "$IW_BUILD/ddp-bench" "\$@"
END
    chmod +x "$CLUSTER/old/ddp-bench"
    measure --engine clush --hosts 'node[2-3]' --ssh-config "$CLUSTER/ssh/config" --tools "$CLUSTER/old"
    assert_status 0
    assert_stderr_matches '^fabric: the versions of ddp-bench differ: .* on node2, ddp-bench old on node3$'
}

@test "clush: a host without ddp-bench, and one that ssh does not reach, are named" {
    require_clustershell
    measure --engine clush --hosts 'node[1-2]' --ssh-config "$CLUSTER/ssh/config" --tools /nonexistent
    assert_status 4
    assert_stderr_matches '^fabric: node[12]: .*/nonexistent/ddp-bench'
    cluster_kill node4 sshd
    measure --engine clush --hosts 'node[1-4]' --ssh-config "$CLUSTER/ssh/config"
    assert_status 4
    assert_stderr_matches '^fabric: node4: ssh: connect to host node4 port 22: Connection refused$'
    assert_clean
    cluster_one_sshd node4
    wait_until 10 cluster_listens node4 22
}

@test "clush: a host whose sshd is killed during the measurement ends the run, and is named" {
    require_clustershell
    measure_start --engine clush --hosts 'node[1-4]' --ssh-config "$CLUSTER/ssh/config" --seconds 30
    wait_until 30 cluster_measures node2
    cluster_kill node4 sshd
    wait_served
    assert_status 4
    assert_stderr_matches '^fabric: node4: '
    assert_clean
    cluster_one_sshd node4
    wait_until 10 cluster_listens node4 22
}
