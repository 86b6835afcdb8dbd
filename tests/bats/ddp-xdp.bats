#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# ddp-xdp: programs on the interfaces of two namespaces. tests/unit/loader_steer_test.c tests how
# the steering program handles packets.

# bats file_tags=beside

# Each test is a separate shell, and fail_with prints the variables that look unused.
# shellcheck disable=SC2030,SC2031,SC2034

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
    cd "$BATS_TEST_TMPDIR" || return 1
    # A user namespace gives no right to load programs.
    run_in left ddp-xdp attach -I lo --mode generic
    # shellcheck disable=SC2154
    [ "$status" -ne 3 ] || skip "needs xdp: ${stderr##*ddp-xdp: }"
    assert_status 0
    run_in left ddp-xdp detach -I lo
    assert_status 0
}

teardown() {
    [ -n "${NET_LEFT_PID:-}" ] || return 0
    # A background program must not keep a namespace alive after the tests of this file.
    for i in lo "$LEFT_IF"; do
        run_in left ddp-xdp detach -I "$i" --force-clean
    done
    helpers_teardown
}

holder() {
    run_in left ddp-xdp status -I "$LEFT_IF" --json
    assert_status 0
    jq -r 'select(.event == "status") | .holder_pid // empty' <<<"$output"
}

nothing_attached() {
    run_in left ddp-xdp status -I "$LEFT_IF" --json
    [ "$(jq -r 'select(.event == "status") | .owner' <<<"$output")" = none ]
}

require_mounts() {
    unshare --mount true 2>/dev/null || skip 'needs netns: no mount namespace can be made'
}

# in_bpffs COMMANDS: runs them in a shell with a BPF file system of its own
in_bpffs() {
    run_in left unshare --mount sh -c "mount -t bpf bpf /sys/fs/bpf && $1"
}

@test "a process in the background keeps the program until it is detached" {
    local pid

    run_in left ddp-xdp attach -I "$LEFT_IF" --json
    assert_status 0
    assert_jsonl '.[0] | [.event, .interface, .program, .mode, .kept_by, .multi_buffer, .offloads_lost]' \
        "[\"attached\",\"$LEFT_IF\",\"steer\",\"native\",\"holder\",true,[]]"
    assert_jsonl '.[0] | .verified_insns > 1000' true
    pid=$(holder)
    [ "$(cat "/proc/$pid/comm")" = ddp-xdp ]
    # The tool needs no privileges, and drops them.
    [ "$(sed -n 's/^CapEff:[[:space:]]*//p' "/proc/$pid/status")" = 0000000000000000 ]
    run_in left ddp-xdp status -I "$LEFT_IF"
    assert_status 0
    assert_output_has "steer (iw_steer_5), native mode"
    assert_output_has "kept by process $pid (ddp-xdp)"
    run_in left ddp-xdp detach -I "$LEFT_IF"
    assert_status 0
    nothing_attached
    wait_until 5 iw_gone "$pid"
}

@test "the program is removed with its process, however that ends" {
    local pid

    run_in left ddp-xdp attach -I "$LEFT_IF"
    assert_status 0
    pid=$(holder)
    kill -KILL "$pid"
    wait_until 5 nothing_attached
}

@test "in the foreground it stays until a signal, and reports when another process removed it" {
    IW_READY=attached serve_in left ddp-xdp attach -I "$LEFT_IF" --foreground
    serve_end
    assert_status 0
    nothing_attached
    IW_READY=attached serve_in left ddp-xdp attach -I "$LEFT_IF" --foreground
    run_in left ddp-xdp detach -I "$LEFT_IF"
    assert_status 0
    wait_served
    assert_status 4
    assert_stderr_has 'another process detached the program'
}

@test "the holder ends when its interface is removed" {
    local pid

    net_ip left link add gone0 type veth peer name gone1
    net_ip left link set gone0 up
    run_in left ddp-xdp attach -I gone0 --json
    assert_status 0
    pid=$(jq .holder_pid <<<"$output")
    net_ip left link del gone0
    wait_until 5 iw_gone "$pid"
}

@test "a pinned program needs no process, and its pin is removed with it" {
    require_mounts
    # The host may have mounted the BPF file system.
    run_in left unshare --mount sh -c "while umount /sys/fs/bpf 2>/dev/null; do :; done; ddp-xdp attach -I $LEFT_IF --pin"
    assert_status 3
    assert_stderr_has 'mount -t bpf'
    nothing_attached
    in_bpffs "ddp-xdp attach -I $LEFT_IF --pin && ddp-xdp status -I $LEFT_IF --json && ddp-xdp detach -I $LEFT_IF &&
        test ! -e /sys/fs/bpf/iwarp/$LEFT_IF"
    assert_status 0
    assert_output_has 'pinned in /sys/fs/bpf/iwarp'
    output=$(grep '^{' <<<"$output")
    assert_jsonl '.[0] | [.owner, .pin, .pin_stale, .holder_pid]' '["steer","/sys/fs/bpf/iwarp",false,null]'
    nothing_attached
}

@test "a program that is pinned in another directory stays" {
    require_mounts
    in_bpffs "ddp-xdp attach -I $LEFT_IF --pin=/sys/fs/bpf/other; ddp-xdp detach -I $LEFT_IF; echo \"status \$?\"
        ddp-xdp status -I $LEFT_IF; ddp-xdp detach -I $LEFT_IF --pin=/sys/fs/bpf/other && ls /sys/fs/bpf/other"
    assert_status 0
    assert_output_has 'status 1'
    assert_stderr_has 'is pinned, but not in /sys/fs/bpf/iwarp; give the directory with --pin, or use --force-clean'
    assert_output_has "$LEFT_IF: steer (iw_steer_5)"
    assert_output_has "$LEFT_IF: iw_steer_5 detached"
    assert_output_has "/sys/fs/bpf/other/$LEFT_IF removed"
    nothing_attached
    in_bpffs "ddp-xdp attach -I $LEFT_IF --pin=/sys/fs/bpf/other -q && ddp-xdp detach -I $LEFT_IF --force-clean"
    assert_status 0
    nothing_attached
}

@test "a pin of a link without a program is found, and removed by force" {
    require_mounts
    local elsewhere="ddp-xdp detach -I $LEFT_IF --pin /sys/fs/bpf/elsewhere --force-clean -q"

    in_bpffs "ddp-xdp attach -I $LEFT_IF --pin -q; $elsewhere; ddp-xdp status -I $LEFT_IF; ddp-xdp attach -I $LEFT_IF; $elsewhere
        ddp-xdp detach -I $LEFT_IF; echo \"status \$?\"; ddp-xdp detach -I $LEFT_IF --force-clean && ls /sys/fs/bpf/iwarp"
    assert_status 0
    assert_output_has 'leftover pin of a link without a program'
    assert_output_has 'status 1'
    assert_output_has "/sys/fs/bpf/iwarp/$LEFT_IF removed"
    assert_stderr_has 'leftover pin'
    assert_stderr_has 'a pin is left'
}

@test "leftovers of a dispatcher are reported at the next start, and removed by force" {
    require_mounts
    local left="/sys/fs/bpf/xdp/dispatch-\$(cat /sys/class/net/$LEFT_IF/ifindex)-4711"

    # sysfs shows the network namespace in which it was mounted.
    run_in left unshare --mount sh -c "mount -t sysfs sysfs /sys && mount -t bpf bpf /sys/fs/bpf && mkdir -p $left &&
        ddp-xdp attach -I $LEFT_IF; ddp-xdp status -I $LEFT_IF; ddp-xdp detach -I $LEFT_IF -q; ddp-xdp detach -I $LEFT_IF
        echo \"status \$?\"; ddp-xdp detach -I $LEFT_IF --force-clean && ! test -e $left"
    assert_status 0
    assert_stderr_has 'leftovers of a former dispatcher'
    assert_output_has 'leftovers of former dispatchers (1)'
    assert_stderr_has 'but files of a dispatcher are left over'
    assert_output_has 'status 1'
    assert_output_has 'leftovers of dispatchers (1) in /sys/fs/bpf/xdp removed'
    nothing_attached
}

@test "a second program is refused, and the first one named" {
    run_in left ddp-xdp attach -I "$LEFT_IF"
    assert_status 0
    run_in left ddp-xdp attach -I "$LEFT_IF"
    assert_status 4
    assert_stderr_has 'has the requested program iw_steer_5'
    assert_stderr_has "already, kept by process $(holder): nothing to do; for other options, first \`ddp-xdp detach -I $LEFT_IF\`"
    run_in left ddp-xdp attach -I "$LEFT_IF" --program mpa
    assert_status 4
    assert_stderr_has 'has the program iw_steer_5'
    assert_stderr_has "already; detach it with \`ddp-xdp detach -I $LEFT_IF\`"
    [[ $stderr != *--force-clean* ]] || fail_with 'a program of iwarp-tools needs no force'
}

@test "a program that this user may not query is reported as unknown" {
    local plain

    require_root
    plain="setpriv --bounding-set=-all --inh-caps=-all --reuid 65534 --clear-groups $IW_BUILD/ddp-xdp"
    run_in left ddp-xdp attach -I "$LEFT_IF"
    assert_status 0
    # shellcheck disable=SC2086
    run_in left $plain detach -I "$LEFT_IF"
    assert_status 3
    assert_stderr_has "$LEFT_IF: this user may not look at program"
    assert_stderr_has 'be root'
    # shellcheck disable=SC2086
    run_in left $plain detach -I "$LEFT_IF" --force-clean
    assert_status 3
    # shellcheck disable=SC2086
    run_in left $plain status -I "$LEFT_IF"
    assert_status 0
    assert_output_has "$LEFT_IF: unknown, native mode, program"
    # shellcheck disable=SC2086
    run_in left $plain status -I "$LEFT_IF" --json
    assert_status 0
    assert_jsonl '.[0].owner' unknown
    run_in left ddp-xdp detach -I "$LEFT_IF"
    assert_status 0
}

@test "status --interval ends when its interface is removed" {
    net_ip left link add gone0 type veth peer name gone1
    IW_READY='no XDP program' serve_in left ddp-xdp status -I gone0 --interval 50ms
    net_ip left link del gone0
    wait_served
    assert_status 4
    assert_stderr_has 'interface gone0: it was removed'
}

@test "the program of another owner is reported, left attached, and removed only by force" {
    local object

    object=$(ls /usr/lib/*/bpf/xdpfilt_alw_all.o)
    [ -e "$object" ] || skip 'needs libxdp: there is no program of other people here'
    in_bpffs "ip link set dev $LEFT_IF xdpgeneric obj $object sec xdp"
    [ "$status" -eq 0 ] || skip "needs libxdp: ip cannot attach its program: $stderr"
    run_in left ddp-xdp status -I "$LEFT_IF" --json
    assert_status 0
    assert_jsonl '.[0] | [.owner, .mode, .link_id]' '["foreign","generic",0]'
    run_in left ddp-xdp attach -I "$LEFT_IF"
    assert_status 4
    assert_stderr_has 'has the program'
    assert_stderr_has "which is not part of iwarp-tools; \`ddp-xdp detach -I $LEFT_IF --force-clean\`"
    run_in left ddp-xdp detach -I "$LEFT_IF"
    assert_status 1
    assert_stderr_has 'is not part of iwarp-tools'
    run_in left ddp-xdp detach -I "$LEFT_IF" --force-clean
    assert_status 0
    nothing_attached
    # A program on a bridge blocks attaching to the bridge's port.
    in_bpffs "ip link add above type bridge && ip link set $LEFT_IF master above && ip link set dev above xdpgeneric obj $object sec xdp"
    assert_status 0
    run_in left unshare -m sh -c "mount -t sysfs sysfs /sys && ddp-xdp attach -I $LEFT_IF"
    net_ip left link delete above
    assert_status 4
    assert_stderr_has "attach to $LEFT_IF: above, which is stacked on it, has the program xdp"
    assert_stderr_has "which is not part of iwarp-tools, so Linux refuses: \`ddp-xdp detach -I above --force-clean\` detaches it"
}

@test "native mode without driver support, and a dispatcher without its file system, are refused" {
    run_in left ddp-xdp attach -I lo --mode native
    assert_status 3
    assert_stderr_has 'no native XDP, only generic mode; use --mode generic'
    run_in left ddp-xdp attach -I lo --program mpa
    assert_status 3
    assert_stderr_has 'use another interface, for --program mpa needs native mode'
    # tests/interop/xdp-guest.bats has a kernel where this works.
    run_in left ddp-xdp attach -I "$LEFT_IF" --dispatcher
    assert_status 3
    assert_stderr_has dispatcher
    nothing_attached
    run_in left ddp-xdp attach -I no-such-if
    assert_status 4
    run_in left ddp-xdp detach -I "$LEFT_IF"
    assert_status 1
}

@test "foreign packets pass the steering program and are counted" {
    random_file f 3M
    run_in left ddp-xdp attach -I "$LEFT_IF"
    assert_status 0
    serve_in left ddp-recv -b "$LEFT_IP" .
    mkdir dst && mv f dst/f
    run_in right ddp-send dst/f "$LEFT_IP:"
    assert_status 0
    assert_same_file f dst/f
    run_in left ddp-xdp status -I "$LEFT_IF" --json
    assert_jsonl '.[0] | [.packets, .passed.protocol > 100, .passed.ip_bad]' '[0,true,0]'
    run_in left ddp-xdp status -I "$LEFT_IF" --json --interval 50ms -c 2
    assert_jsonl '[.[] | select(.event == "status")] | [length, (.[0] | has("packets_per_second")), .[1].packets_per_second]' \
        '[2,false,0]'
}

@test "fragments are sampled as events" {
    run_in left ddp-xdp attach -I "$LEFT_IF" --sample 1
    assert_status 0
    require_tool socat
    run_in right sh -c "head -c 4000 /dev/zero | socat -b 4000 - UDP4-SENDTO:$LEFT_IP:9"
    assert_status 0
    run_in left ddp-xdp status -I "$LEFT_IF" --json --events
    assert_status 0
    assert_jsonl '[.[] | select(.event == "sample" and .kind == "fragment" and .every == 1)] | [length, (.[0].head | startswith("45"))]' \
        '[3,true]'
}

@test "the mpa program counts the share of TCP segments that begin with an FPDU" {
    run_in left ddp-xdp attach -I "$LEFT_IF" --program mpa
    assert_status 0
    assert_output_has 'sends without segmentation offload'
    serve_in left ddp-bench --listen -b "$LEFT_IP"
    # With one FPDU per segment, segments begin with an FPDU, except those that end a message or
    # that TCP split.
    run_in right ddp-bench "$LEFT_IP" write --mulpdu emss --time 300ms -w 50ms --interval 0 -q
    assert_status 0
    run_in left ddp-xdp status -I "$LEFT_IF" --json
    assert_jsonl '.[0].mpa | [.flows, .lost, .aligned_share > 0.8, .fpdus > 1000, (.connections | length)]' '[1,0,true,true,1]'
    # Large FPDUs span many segments.
    run_in right ddp-bench "$LEFT_IP" write --mulpdu auto --time 300ms -w 50ms --interval 0 -q
    assert_status 0
    run_in left ddp-xdp status -I "$LEFT_IF" --json
    assert_jsonl '[.[0].mpa.connections[] | .aligned / .followed] | [length, min < 0.2]' '[2,true]'
    run_in left ddp-xdp status -I "$LEFT_IF"
    assert_output_has 'TCP segments begin with one'
    # With markers, which the server requests from its peer.
    serve_end
    serve_in left ddp-bench --listen -b "$LEFT_IP" --markers
    run_in right ddp-bench "$LEFT_IP" write --mulpdu emss --time 300ms -w 50ms --interval 0 -q
    assert_status 0
    run_in left ddp-xdp status -I "$LEFT_IF" --json
    assert_jsonl '[.[0].mpa.connections[] | select(.markers)] | [length, .[0].lost, .[0].fpdus > 1000, .[0].aligned / .[0].followed > 0.8]' \
        '[1,false,true,true]'
}

@test "a tool with -t xdp uses the attached program, and its counters add up" {
    local port

    port=$(free_port)
    random_file f 5M
    mkdir src && mv f src/f
    run_in left ddp-xdp attach -I "$LEFT_IF"
    assert_status 0
    IW_READY='listening on' serve_in left ddp-recv -t xdp -I "$LEFT_IF" -p "$port" -b '*' .
    run_in left ddp-xdp detach -I "$LEFT_IF"
    assert_status 1
    assert_stderr_has 'receives through the program'
    run_in left ddp-xdp attach -I "$LEFT_IF"
    assert_status 4
    assert_stderr_has 'uses it: nothing to do; for other options, end that process first'
    run_in right ddp-send -t raw -p "$port" src/f "$LEFT_IP:"
    assert_status 0
    assert_same_file src/f f
    run_in left ddp-xdp status -I "$LEFT_IF" --json
    assert_jsonl ".[0] | [.endpoints[0].sctp_port == $port, (.sockets | length), .sockets[0].pid > 0]" '[true,1,true]'
    # Every segment belongs to a stream and names an STag that the sink has registered.
    assert_jsonl '.[0] | [.tl.tagged > 3000, .tagged_octets >= 5242880, .seen.stag_unknown, .seen.data_part, .seen.chunk_bad, .foreign]' \
        '[true,true,0,0,0,0]'
    assert_jsonl '.[0] | (.segments == ([.streams[].segments] | add)) and (.segments == ([.tl[]] | add)) and
        (.segments == ([.opcodes[].segments] | add)) and (.tagged_octets + .untagged_octets == ([.streams[].octets] | add))' true
    # The human-readable output has names.
    run_in left ddp-xdp status -I "$LEFT_IF"
    assert_output_has 'segments of RDMA Write'
    assert_output_has "endpoint *, SCTP port $port"
    serve_end
    # The remaining program keeps no state of the ended listener.
    run_in left ddp-xdp status -I "$LEFT_IF" --json
    assert_jsonl '.[0] | [.owner, (.endpoints | length), .associations, (.sockets | length)]' '["steer",0,0,0]'
}

@test "segments of --profile sctp-draft-02, with other payload protocols, are counted as segments" {
    local port

    port=$(free_port)
    random_file f 1M
    mkdir src && mv f src/f
    run_in left ddp-xdp attach -I "$LEFT_IF"
    assert_status 0
    IW_READY='listening on' serve_in left ddp-recv -t xdp -I "$LEFT_IF" -p "$port" -b '*' --profile sctp-draft-02 .
    run_in right ddp-send -t raw -p "$port" --profile sctp-draft-02 src/f "$LEFT_IP:"
    assert_status 0
    assert_same_file src/f f
    run_in left ddp-xdp status -I "$LEFT_IF" --json
    assert_jsonl '.[0] | [.segments > 600, .controls > 0, .tagged_octets >= 1048576, .seen.stag_unknown, .foreign]' '[true,true,true,0,0]'
}

# name_stag TAG STREAM STAG: sends a segment that names STAG, in a packet of that association. The
# checksum is wrong, so the engine ignores it.
name_stag() {
    run_in right python3 -c '
import socket, struct, sys
host, (port, tag, stream, stag) = sys.argv[1], map(int, sys.argv[2:])
segment = struct.pack("!HBBIQ", 0, 0xC1, 0x40, stag, 0) + bytes(16)
data = struct.pack("!BBHIHHI", 0, 7, 16 + len(segment), 1, stream, 0, 16) + segment
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, 132)
s.sendto(struct.pack("!HHI", 7, port, tag) + b"none" + data, (host, 0))' "$LEFT_IP" "$PORT" "$@"
    assert_status 0
}

# status_jq FILTER: prints status of the program on left, filtered by jq
status_jq() {
    run_in left ddp-xdp status -I "$LEFT_IF" --json
    jq -c "select(.event == \"status\") | $1" <<<"$output"
}

# seen_is UNKNOWN NO_SESSION
seen_is() {
    [ "$(status_jq '.seen | [.stag_unknown, .no_session]')" = "[$1,$2]" ]
}

assert_seen() {
    wait_until 5 seen_is "$@" || fail_with "the counters stag_unknown and no_session are not $*" "$(status_jq .seen)"
}

# known SESSIONS STAGS
known() {
    [ "$(status_jq '[.sessions, .stags]')" = "[$1,$2]" ]
}

# buffer N [OPTION...]: registers STAG[N] in a Protection Domain of its own, and starts a ddp-send
# that writes to it on an association of its own: TAG[N], STREAM[N]
buffer() {
    local uri old new

    run_in left stag-reg add --size 64K --access w --json --control ctl "${@:2}"
    assert_status 0
    uri=$(jq -r .uri <<<"$output")
    # raw and xdp are the same on the wire, and raw does not add an interface to the status.
    uri=${uri/ddp+xdp:/ddp+raw:}
    STAG[$1]=$((16#$(jq -r .stag <<<"$output")))
    old=$(status_jq '[.streams[] | [.tag, .stream]]')
    mkfifo "fifo$1"
    # Opened for reading and writing, so that ddp-send never sees end of file.
    exec {FIFO}<>"fifo$1"
    IW_STDIN=fifo$1 serve_in right ddp-send --to "$uri" --timeout 30s
    head -c 1000 /dev/zero >&"$FIFO"
    has_stream() {
        new=$(status_jq "[.streams[] | [.tag, .stream]] - $old")
        [ "$new" != '[]' ]
    }
    wait_until 5 has_stream || fail_with 'the stream is not in the status' "$(status_jq .)"
    TAG[$1]=$(jq '.[0][0]' <<<"$new") STREAM[$1]=$(jq '.[0][1]' <<<"$new")
}

@test "an STag of one association is unknown on another, and the maps follow registrations and sessions" {
    local -a STAG TAG STREAM

    require_tool python3
    PORT=$(free_port)
    run_in left ddp-xdp attach -I "$LEFT_IF"
    assert_status 0
    IW_READY='listening on' serve_in left ddp-recv -t xdp -I "$LEFT_IF" -p "$PORT" -b "$LEFT_IP" --control ctl .
    buffer 1
    buffer 2
    known 2 2 || fail_with 'not two sessions and two STags are known' "$(status_jq .)"
    assert_seen 0 0
    # Each stream may use its own STag. The STag of the other stream, in another Protection Domain,
    # is unknown to it.
    name_stag "${TAG[1]}" "${STREAM[1]}" "${STAG[1]}"
    name_stag "${TAG[2]}" "${STREAM[2]}" "${STAG[2]}"
    name_stag "${TAG[1]}" "${STREAM[1]}" "${STAG[2]}"
    assert_seen 1 0
    name_stag "${TAG[2]}" "${STREAM[2]}" "${STAG[1]}"
    assert_seen 2 0
    # Streams without a session.
    name_stag "${TAG[1]}" 7 "${STAG[1]}"
    assert_seen 2 1
    run_in left ddp-xdp status -I "$LEFT_IF"
    assert_output_has '2 associations, 2 sessions on them, 2 STags'
    assert_output_has 'passed to sockets: a tagged segment for an STag not registered for its stream'
    # Revoking the STag ends the session of its writer; the association waits for its peer.
    run_in left stag-reg revoke "$(printf %08x "${STAG[1]}")" --control ctl
    assert_status 0
    wait_until 20 known 1 1 || fail_with 'not exactly one session with its STag is left' "$(status_jq .)"
    # The peer of the other association aborts it.
    serve_end 3
    wait_until 20 known 0 1 || fail_with 'the session outlived its association' "$(status_jq .)"
    serve_end 2
    no_association() {
        [ "$(status_jq .associations)" = 0 ]
    }
    wait_until 20 no_association || fail_with 'ended associations are still listed' "$(status_jq .)"
}

# The initiator of the association receives the Read Responses, which name an STag of the initiator.
# The program stays attached after the run, and its counters show the segments.
@test "the sessions of the connecting side are known too, from the first segment on" {
    local port

    port=$(free_port)
    run_in right ddp-xdp attach -I "$RIGHT_IF"
    assert_status 0
    IW_READY='listening on' serve_in left ddp-bench --listen -t raw -p "$port" -b "$LEFT_IP"
    run_in right ddp-bench "$LEFT_IP" read -t xdp -I "$RIGHT_IF" -p "$port" -j 3 --time 300ms -w 50ms --interval 0 -q
    assert_status 0
    run_in right ddp-xdp status -I "$RIGHT_IF" --json
    assert_jsonl '.[0] | [.tl.tagged > 1000, .seen.no_session, .seen.stag_unknown, .sessions, .stags]' '[true,0,0,0,0]'
    run_in right ddp-xdp detach -I "$RIGHT_IF"
    assert_status 0
}

@test "an expired STag is unknown, even before it is removed" {
    local -a STAG TAG STREAM
    local pid

    require_tool python3
    PORT=$(free_port)
    run_in left ddp-xdp attach -I "$LEFT_IF"
    assert_status 0
    IW_READY='listening on' serve_in left ddp-recv -t xdp -I "$LEFT_IF" -p "$PORT" -b "$LEFT_IP" --control ctl .
    buffer 1 --expires 5s
    name_stag "${TAG[1]}" "${STREAM[1]}" "${STAG[1]}"
    assert_seen 0 0
    pid=$(status_jq '.sockets[0].pid')
    kill -STOP "$pid"
    expired() {
        name_stag "${TAG[1]}" "${STREAM[1]}" "${STAG[1]}"
        [ "$(status_jq '[.stags, .seen.stag_unknown > 0, .seen.no_session]')" = '[1,true,0]' ]
    }
    wait_until 10 expired || { kill -CONT "$pid"; fail_with 'the STag is still known' "$(status_jq .)"; }
    kill -CONT "$pid"
    wait_until 20 known 0 0 || fail_with 'it is not removed' "$(status_jq .)"
}

@test "options that exclude each other, and those that are missing, are usage" {
    local args

    for args in '' 'attach' 'detach' 'attach -I lo --pin --foreground' 'attach -I lo --program mpa --mode generic' \
        'attach -I lo --program mpa --dispatcher' 'attach -I lo --pin=here' 'attach -I lo --mode fast' 'status lo' 'status -c 0' \
        'attach -I lo --sample 0' 'attach -I lo --stags 100000000' 'attach -I lo -I v0' 'status -c 2' 'attach -I lo --program mpa --stags 9'; do
        # shellcheck disable=SC2086
        run_in left ddp-xdp $args
        assert_status 2
    done
    run_in left ddp-xdp attach -I lo --program mpa --dispatcher
    assert_stderr_has 'needs native mode; leave out --dispatcher'
    run_in left ddp-xdp attach -I lo --pin --foreground
    assert_stderr_has 'exclude each other; leave out one'
    run_in left ddp-xdp attach -I lo -I v0
    assert_stderr_has '--interface lo and --interface v0 exclude each other; leave out one'
    run_in left ddp-xdp status -c 2
    assert_stderr_has '--count: only with --interval; add --interval TIME'
    run_in left ddp-xdp attach -I lo --program mpa --stags 9
    assert_stderr_has '--stags: only for --program steer; leave it out'
    run_in left ddp-xdp attach -I lo --pin /sys/fs/bpf/here
    assert_status 2
    assert_stderr_has '"/sys/fs/bpf/here": unexpected argument; --pin takes its directory with =: --pin=/sys/fs/bpf/here'
}

@test "impossible and useless requests are reported" {
    require_mounts
    run_in left ddp-xdp detach -I "$LEFT_IF" --json
    assert_status 1
    assert_jsonl '.[0] | [.event, .text, .exit_status]' "[\"error\",\"$LEFT_IF: no XDP program is attached\",1]"
    run_in left ddp-xdp attach -I lo --mode generic
    assert_status 0
    assert_stderr_has 'lo is not Ethernet, which -t xdp needs'
    run_in left ddp-xdp attach -I "$LEFT_IF" --program mpa
    assert_status 0
    run_in left ddp-xdp status -I "$LEFT_IF" --events
    assert_status 0
    assert_stderr_has "$LEFT_IF: no events: only the program steer samples them, not iw_observe_1"
    run_in left ddp-xdp detach -I "$LEFT_IF" --pin=/sys/fs/bpf/elsewhere
    assert_status 1
    assert_stderr_has 'is not pinned in /sys/fs/bpf/elsewhere; leave out --pin, or give the directory of its pin'
    run_in left ddp-xdp detach -I "$LEFT_IF"
    assert_status 0
    in_bpffs "ddp-xdp attach -I $LEFT_IF --pin=/sys/fs/bpf/a/b"
    assert_status 4
    assert_stderr_has 'xdp: /sys/fs/bpf/a/b: no such directory: mkdir -p /sys/fs/bpf/a/b'
    net_ip left link set "$LEFT_IF" mtu 9000
    net_ip right link set "$RIGHT_IF" mtu 9000
    run_in left ddp-xdp attach -I "$LEFT_IF" --program mpa
    net_ip left link set "$LEFT_IF" mtu 1500
    net_ip right link set "$RIGHT_IF" mtu 1500
    assert_status 4
    assert_stderr_has "the other end of $LEFT_IF has an MTU above about 3500: lower it there (ip link set PEER mtu 1500)"
    assert_stderr_has 'or use another interface, for --program mpa needs native mode'
}

@test "an option of another command is named with its command" {
    run_in left ddp-xdp status --sample 3
    assert_status 2
    assert_stderr_has "--sample: an option of \`ddp-xdp attach\`"
    run_in left ddp-xdp detach -I lo --events
    assert_status 2
    assert_stderr_has "--events: an option of \`ddp-xdp status\`"
    run_in left ddp-xdp attach -I lo --force-clean
    assert_status 2
    assert_stderr_has "--force-clean: an option of \`ddp-xdp detach\`"
    # An option of the command itself is accepted as before.
    run_in left ddp-xdp attach -I lo --sample 0
    assert_status 2
    assert_stderr_has '--sample "0": too small'
}

@test "the doctor loads the program and names the attached one" {
    run_in left ddp-xdp attach -I "$LEFT_IF"
    assert_status 0
    run_in left ddp-xdp --doctor
    assert_output_has 'instructions verified'
    assert_output_has "$LEFT_IF: steer (iw_steer_5)"
    run_in left ddp-xdp --doctor --json
    assert_jsonl '[.[] | select(.subject == "steering program")] | .[0].verdict' ok
}
