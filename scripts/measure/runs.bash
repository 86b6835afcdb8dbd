# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# One run of a program and of its peer.
# The pieces of scripts/bench share their variables:
# shellcheck disable=SC2034,SC2119,SC2120,SC2154

# Each sets `value` to a JSON object, or prints the reason and fails.

limit=$((seconds + 25))
port=17471

# The options of ddp-bench for encryption, of the listener and of the client; empty: none.
lock_server=() lock_client=()

# The commands that pin the server and the client to one processor each; empty: not pinned.
pin_server='' pin_client=''

# Chooses the first two processors that this process may use.
pin_apart() {
	local i mine=()

	for ((i = 0; i < $(nproc --all) && ${#mine[@]} < 2; i++)); do
		! taskset -c $i true 2>/dev/null || mine+=("$i")
	done
	[ ${#mine[@]} -eq 2 ] || return 0
	pin_client="taskset -c ${mine[0]}"
	pin_server="taskset -c ${mine[1]}"
}

# The transport of the server that the script waits for: tcp, udp (at $udp_port) or raw.
via=tcp
udp_port=9899

heard() {
	# shellcheck disable=SC2086
	case $via in
	tcp) $to ss -Hnlt "sport = :$port" ;;
	udp) $to ss -Hnlu "sport = :$udp_port" ;;
	raw) $to ss -Hnlw | grep ':132 ' ;;
	esac
}

# await_listener [PID]: waits until $server, or PID, listens
await_listener() {
	local i

	for ((i = 0; i < 250; i++)); do
		[ -z "$(heard)" ] || return 0
		kill -0 "${1:-$server}" 2>/dev/null || return 1
		sleep 0.02
	done
	return 1
}

run_failed() {
	complain "$1 failed: $(head -c 300 "$2" | tr '\n' ' ')"
	value=
	return 1
}

# A new port for each run, so that connections of earlier runs do not interfere.
next_port() {
	port=$((port + 1))
}

# start FILE CMD...: starts the server in its namespace, with the new port in place of @PORT@. Its
# CPU seconds are in FILE.cpu when it ends.
TIMEFORMAT='%3U %3S'
start() {
	local file=$1
	shift

	next_port
	# shellcheck disable=SC2086
	{ time timeout --foreground $limit $to $pin_server "${@//@PORT@/$port}" </dev/null >"$file" 2>&1; } 2>"$file.cpu" &
	server=$!
	await_listener
}

called=0 # the exit status of the last client, or of a server that ended early

# call FILE CMD...: runs the client in its namespace to its end. It runs in the background, because
# only then the shell handles signals at once.
call() {
	local file=$1 rc=0
	shift

	# shellcheck disable=SC2086
	{ time timeout --foreground $limit $from $pin_client "${@//@PORT@/$port}" </dev/null >"$file" 2>"$file.err"; } 2>"$file.cpu" &
	client=$!
	wait $client 2>/dev/null || rc=$?
	client=
	called=$rc
	return $rc
}

# Ends the server, with SIGNAL if one is given.
end() {
	local rc=0

	[ -z "${1:-}" ] || kill -s "$1" -- "-$server" 2>/dev/null
	wait "$server" 2>/dev/null || rc=$?
	server=
	return $rc
}

give_up() {
	local rc=0

	[ -z "$server" ] || end TERM || rc=$?
	[ $rc -ne 2 ] || called=2
	run_failed "$@"
}

cpu_of() {
	awk 'END { print $1 + $2 }' "$1"
}

# ours MODE OPTION...
ours() {
	start "$work/server" "$bench" --listen --once -q -t "$via" -b "$addr" -p @PORT@ "${lock_server[@]}" ||
		give_up 'ddp-bench --listen' "$work/server" || return
	call "$work/ours" "$bench" "$addr" "$@" -t "$via" -p @PORT@ --json --interval 0 --time "${seconds}s" --warmup "$warmup" "${lock_client[@]}" ||
		give_up "ddp-bench $1" "$work/ours.err" || return
	end || run_failed 'ddp-bench --listen' "$work/server" || return
	value=$(jq -c --argjson locked ${#lock_client[@]} 'select(.event == "result" and .verified and (($locked > 0) == has("tls_version"))) | {
		tls_version, tls_cipher, fairness,
		bits_per_second, cpu_seconds_per_gib, p50_ns: .half_round_trip.p50_ns, mulpdu_octets, crc, cc: [.client.cc, .server.cc],
		retransmits: (.client.retransmits + .server.retransmits),
		calls_per_fpdu: ((.client.tx_calls + .server.tx_calls) / ([.client.tx_fpdus + .server.tx_fpdus, 1] | max))
	} | with_entries(select(.value != null)) | select(.bits_per_second != 0)' "$work/ours")
	[ -n "$value" ] || run_failed "ddp-bench $1: no verified result${lock_client:+ with encryption}" "$work/ours"
}

# ours_over TRANSPORT MODE OPTION...
ours_over() {
	local via=$1
	shift

	ours "$@"
}

# Options of iperf3 beside the usual ones.
iperf_options=()

# Why iperf3 did not use the congestion control that it should; empty: it did.
refused_cc=

# ran_with CC FILE: fails, and sets $refused_cc, unless iperf3 reports that both ends ran with CC
ran_with() {
	local used

	refused_cc=
	used=$(jq -r '.end | [.sender_tcp_congestion, .receiver_tcp_congestion] | map(select(.)) | unique | join(" and ")' "$2" 2>/dev/null)
	[ "$used" != "$1" ] || return 0
	if grep -q TCP_CONGESTION "$2"; then
		refused_cc="iperf3 may not choose it"
	elif [ -n "$used" ]; then
		refused_cc="iperf3 ran with $used instead"
	else
		return 0 # no result at all: the caller reports it
	fi
	refused_cc="$refused_cc. Without CAP_NET_ADMIN a namespace has only what net.ipv4.tcp_allowed_congestion_control of the first namespace names"
	return 1
}

# iperf CC
iperf() {
	local cpu rc=0

	start "$work/server" iperf3 -s -1 -B "$addr" -p @PORT@ || give_up 'iperf3 -s' "$work/server" || return
	call "$work/peer" iperf3 -c "$addr" -p @PORT@ -J -C "$1" -O 1 -t "$seconds" "${iperf_options[@]}" || rc=$?
	ran_with "$1" "$work/peer" || give_up "iperf3: $1: $refused_cc; it" /dev/null || return
	[ $rc -eq 0 ] || give_up iperf3 "$work/peer" || return
	end
	cpu=$(awk "BEGIN { print $(cpu_of "$work/peer.cpu") + $(cpu_of "$work/server.cpu") }")
	value=$(jq -c --argjson cpu "$cpu" '
		([.intervals[].sum.bytes] | add) as $all | .end | {
			program: "iperf3", bits_per_second: .sum_received.bits_per_second, cpu_seconds_per_gib: ($cpu * 1073741824 / $all),
			# Its own figure, for its time including the warm-up: a cross-check.
			cpu_seconds_per_gib_reported: ((.cpu_utilization_percent | .host_total + .remote_total) / 100 * ($seconds + 1) * 1073741824 / $all),
			cc: [.sender_tcp_congestion, .receiver_tcp_congestion], retransmits: .sum_sent.retransmits
		} | select(.bits_per_second != 0)' --argjson seconds "$seconds" "$work/peer")
	[ -n "$value" ] || run_failed iperf3 "$work/peer"
}

# sock tcp|udp: half a round trip of 64 octets
sock() {
	local us via=$1 udp_port=$((port + 1)) kind=()

	[ "$1" = udp ] || kind=(--tcp)
	start "$work/server" sockperf server "${kind[@]}" -i "$addr" -p @PORT@ || give_up 'sockperf server' "$work/server" || return
	call "$work/peer" sockperf ping-pong "${kind[@]}" -i "$addr" -p @PORT@ -m 64 -t "$seconds" ||
		give_up 'sockperf ping-pong' "$work/peer" || return
	end INT
	us=$(sed -n 's/.*percentile 50\.000 *= *\([0-9.]*\).*/\1/p' "$work/peer")
	[ -n "$us" ] || run_failed 'sockperf: no median' "$work/peer" || return
	value=$(jq -nc --argjson us "$us" '{ p50_ns: ($us * 1000) }')
}

# usrsctp udp|raw
usrsctp() {
	local via=$1 udp_port=$((port + 1)) at=@PORT@ octets

	[ "$1" = udp ] || at=0
	start "$work/server" "$work/usrsctp" listen "$addr" $at || give_up 'usrsctp_bench listen' "$work/server" || return
	call "$work/peer" "$work/usrsctp" send "$addr" $at "$seconds" || give_up 'usrsctp_bench send' "$work/peer.err" || return
	end
	octets=$(tail -n 1 "$work/server")
	value=$(jq -nc --argjson octets "${octets:-0}" '{ bits_per_second: ($octets * 8) }')
	[ "${octets:-0}" -gt 0 ] || run_failed 'usrsctp_bench: nothing moved' "$work/server"
}
