#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The XDP programs and -t xdp on another kernel than the host's: the guest runs Linux 6.1 with
# Debian 12. It has an older verifier and no multi-buffer AF_XDP frames, and it allows programs to
# be replaced, which libxdp's dispatcher needs.
#
# run_guest and similar functions set the variables; each @test is a subshell:
# shellcheck disable=SC2030,SC2031,SC2034

# bats file_tags=waits

load ../bats/helpers
load guest

require_libxdp() {
    [ -e "$IW_BUILD/tests/beside/beside" ] || skip 'needs libxdp: built without it'
}

setup_file() {
    file_requires require_libxdp || return 0
    guest_up --siw none
    guest_is_up || return 0
    "$PEER_VM" program "$IW_BUILD/ddp-xdp" "$IW_BUILD/ddp-bench" "$IW_BUILD/ddp-recv" "$IW_BUILD/tests/beside/beside" 3>&-
    # The object files that libxdp searches by name.
    find /usr/lib/*/bpf -name xdp-dispatcher.o -o -name xdpfilt_alw_all.o | tar -c -P -T - | "$PEER_VM" run -i tar -x -P 3>&-
    # Two hosts: the guest with va, and a namespace with vb.
    "$PEER_VM" run sh -c 'modprobe veth && mount -t bpf bpf /sys/fs/bpf && ip netns add far &&
        ip link add va type veth peer name vb netns far && ip netns exec far sh -c "ip link set lo up
            ip address add 10.77.0.2/24 dev vb; ip address add fd77::2/64 dev vb nodad; ip link set vb up" &&
        ip address add 10.77.0.1/24 dev va && ip address add fd77::1/64 dev va nodad && ip link set va up' 3>&-
    # The kernel's SCTP must not be loaded: it would abort our associations.
    "$PEER_VM" run sh -c 'mkdir -p /etc/modprobe.d && echo install sctp /bin/false >/etc/modprobe.d/sctp.conf' 3>&-
}

teardown_file() {
    guest_down
}

setup() {
    skip_with_file
    cd "$BATS_TEST_TMPDIR" || return 1
}

teardown() {
    guest_is_up || return 0
    # A failed test has left its listener.
    [ -z "${JOB:-}" ] || guest_kill "$JOB" KILL
    run_guest ddp-xdp detach -I va --force-clean
    helpers_teardown
}

@test "both programs pass the verifier" {
    run_guest ddp-xdp attach -I va --json
    assert_status 0
    assert_jsonl '.[0] | [.program, .mode, .multi_buffer, .verified_insns > 1000]' '["steer","native",true,true]'
    run_guest ddp-xdp detach -I va
    assert_status 0
    run_guest ddp-xdp attach -I va --program mpa --json
    assert_status 0
    assert_jsonl '.[0] | [.program, .mode]' '["mpa","native"]'
}

# through WHAT: writes over IPv4 and IPv6 to a listener on va
through() {
    local host

    guest_job ddp-bench --listen -t xdp -I va -p 7471 --bind '*'
    # shellcheck disable=SC2016
    guest_does sh -c 'until [ "$(ddp-xdp status -I va --json | grep -c "\"sctp_port\":7471")" -gt 0 ]; do sleep 0.1; done'
    for host in 10.77.0.1 fd77::1; do
        run_guest ip netns exec far ddp-bench $host write -t xdp -I vb -p 7471 -n 4 --warmup 0 --timeout 40s --json --interval 0
        assert_status 0
        assert_jsonl '.[0] | [.transport, .verified]' '["xdp",true]'
    done
    run_guest ddp-xdp status -I va --json
    assert_jsonl '.[0] | [.opcodes[] | select(.opcode == 0) | .segments > 5000][0]' true
    guest_kill
    JOB=
}

@test "xdp to xdp in the guest" {
    through
    run_guest ddp-xdp status -I va --json
    assert_jsonl '.[0].owner' none
}

@test "multi-buffer frames, which this kernel lacks, are refused, and the largest MTU is named" {
    # shellcheck disable=SC2016
    run_guest sh -c 'case $(uname -r) in [0-5].* | 6.[0-5].*) ;; *) exit 9 ;; esac'
    [ "$status" -ne 9 ] || skip 'needs another guest: its kernel has them'
    run_guest ip link set va mtu 9000
    assert_status 0
    run_guest ddp-recv -t xdp -I va --bind 10.77.0.1 /tmp
    run_status=$status run_stderr=$stderr
    run_guest ip link set va mtu 1500
    status=$run_status stderr=$run_stderr
    assert_status 3
    assert_stderr_has 'interface va has an MTU of 9000: without multi-buffer frames (Linux 6.6, and support in the driver)'
    assert_stderr_has 'ip link set va mtu'
    # No program is left.
    run_guest ddp-xdp status -I va --json
    assert_jsonl '.[0].owner' none
}

@test "through the dispatcher, beside a program of another owner" {
    run_guest beside va "$(find /usr/lib/*/bpf -name xdpfilt_alw_all.o)"
    assert_status 0
    run_guest ddp-xdp attach -I va
    assert_status 4
    assert_stderr_has xdp_dispatcher
    run_guest ddp-xdp attach -I va --dispatcher --json
    assert_status 0
    assert_jsonl '.[0] | [.mode, .kept_by]' '["native","dispatcher"]'
    run_guest beside -l va
    assert_equal "$(sort <<<"$output" | tr '\n' ' ')" 'iw_steer_5 xdpfilt_alw_all '
    through
    # Our program is detached, the other one stays.
    run_guest ddp-xdp detach -I va
    assert_status 0
    run_guest beside -l va
    assert_output_is xdpfilt_alw_all
    run_guest ddp-xdp detach -I va
    assert_status 1
    assert_stderr_has 'is not part of iwarp-tools'
}

@test "leftovers of a dispatcher are reported at the next start, and removed by force" {
    run_guest ddp-xdp attach -I va --dispatcher
    assert_status 0
    # ip detaches the dispatcher, but does not know dispatchers and leaves its pins.
    run_guest ip link set va xdp off
    assert_status 0
    run_guest ddp-xdp attach -I va
    assert_status 0
    assert_stderr_has 'leftovers of a former dispatcher'
    run_guest ddp-xdp status -I va --json
    assert_jsonl '.[0] | [.owner, .dispatchers_left]' '["steer",1]'
    run_guest ddp-xdp detach -I va --force-clean
    assert_status 0
    assert_output_has '/sys/fs/bpf/xdp removed'
    run_guest find /sys/fs/bpf/xdp -name 'dispatch-*'
    assert_output_is ''
    run_guest ddp-xdp detach -I va --force-clean
    assert_status 1
}

# attached INTERFACE JOB: waits until the listener has attached its program. If the listener ends or
# does not attach, the test fails with the listener's report.
attached() {
    local end=$((SECONDS + 120))

    while :; do
        run_guest ddp-xdp status -I "$1" --json
        ! grep -q '"sctp_port":7471' <<<"$output" || return 0
        run_guest /usr/lib/iw/guest-job show "$2"
        [ "$status" -eq 0 ] || fail_with "the listener on $1 ended"
        [ $SECONDS -lt $end ] || fail_with "the listener on $1 has not attached its program after 120 s"
        sleep 0.5
    done
}

# The endpoint on the lower interface serves all addresses, but not packets with a VLAN tag in the
# frame.
@test "over VLAN interfaces, beside an endpoint of the interface below" {
    local below above

    run_guest sh -c 'modprobe 8021q && ip link add link va name va.5 type vlan id 5 && ip address add 10.77.5.1/24 dev va.5 &&
        ip link set va.5 up && ip netns exec far sh -c "ip link add link vb name vb.5 type vlan id 5 &&
            ip address add 10.77.5.2/24 dev vb.5 && ip link set vb.5 up && ethtool -K vb txvlan off"'
    assert_status 0
    # Linux attaches no program to va while va.5 has one, so the order matters.
    run_guest ddp-xdp attach -I va.5
    assert_status 0
    for option in "" --dispatcher; do
        # shellcheck disable=SC2086
        run_guest ddp-xdp attach -I va $option
        assert_status 4
        assert_stderr_has 'attach to va: va.5, which is stacked on it, has the program iw_steer_'
    done
    run_guest ddp-xdp detach -I va.5
    assert_status 0
    guest_job ddp-bench --listen -t xdp -I va -p 7471 --bind '*'
    below=$JOB
    attached va "$below"
    guest_job ddp-bench --listen -t xdp -I va.5 -p 7471 --bind 10.77.5.1
    above=$JOB
    attached va.5 "$above"
    for kind in 'xdp -I vb.5' raw; do
        # shellcheck disable=SC2086
        run_guest ip netns exec far ddp-bench 10.77.5.1 write -t $kind -p 7471 -n 4 --warmup 0 --timeout 40s --json --interval 0
        assert_status 0
        assert_jsonl '.[0] | [.transport, .verified]' "[\"${kind%% *}\",true]"
    done
    run_guest ddp-xdp status -I va.5 --json
    assert_jsonl '.[0] | [.mode, (.opcodes[] | select(.opcode == 0) | .segments > 5000)]' '["generic",true]'
    run_guest ddp-xdp status -I va --json
    assert_jsonl '.[0] | [.mode, (.passed.vlan > 5000)]' '["native",true]'
    guest_kill "$above"
    guest_kill "$below"
    JOB=
    run_guest sh -c 'ip link del va.5 && ip netns exec far ip link del vb.5'
    assert_status 0
}

@test "the guest's kernel reports no error" {
    guest_is_well
}
