# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# Interleaved runs of ours and of the peer.
# The pieces of scripts/bench share their variables:
# shellcheck disable=SC2034,SC2119,SC2120,SC2154

# pair N OURS... -- PEER...: runs pair N, whose number determines the order; our value in $a, the
# peer's in $b
pair() {
	local n=$1 mine=()
	shift

	while [ "$1" != -- ]; do
		mine+=("$1")
		shift
	done
	shift
	if ((n % 2)); then
		"${mine[@]}" || return
		a=$value
		"$@" || return
		b=$value
	else
		"$@" || return
		b=$value
		"${mine[@]}" || return
		a=$value
	fi
}

# series ID PLACE OURS... -- PEER...: runs the pairs and appends {id, pairs: [{ours, peer}]} to
# $work/series
series() {
	local id=$1 where=$2 i a b list=
	shift 2

	place "$where"
	for ((i = 0; i < pairs; i++)); do
		say "$id: pair $((i + 1)) of $pairs"
		pair $i "$@" || break
		list="$list{\"ours\":$a,\"peer\":$b}"
	done
	say ''
	if ((i < pairs)); then
		failed="$failed $id"
		return
	fi
	jq -c --arg id "$id" -s '{ id: $id, pairs: . }' <<<"$list" >>"$work/series"
}

# rounds ID PLACE PREFIX NAME...: runs PREFIX_NAME for each NAME in turn, in every second round in
# reverse order, and appends {id, rounds: [{NAME: value}]} to $work/series
rounds() {
	local id=$1 where=$2 prefix=$3 i name order one list=
	shift 3

	place "$where"
	for ((i = 0; i < pairs; i++)); do
		order=$*
		! ((i % 2)) || order=$(tr ' ' '\n' <<<"$order" | tac)
		one=
		for name in $order; do
			say "$id: round $((i + 1)) of $pairs, $name"
			"${prefix}_$name" || break 2
			one="$one,\"$name\":$value"
		done
		list="$list{${one#,}}"
	done
	say ''
	if ((i < pairs)); then
		failed="$failed $id"
		return
	fi
	jq -c --arg id "$id" -s '{ id: $id, rounds: . }' <<<"$list" >>"$work/series"
}

# The peer's congestion control: cubic and bbr, as far as this kernel has them.
tcp_ccs() {
	grep -owE 'cubic|bbr' /proc/sys/net/ipv4/tcp_available_congestion_control || cat /proc/sys/net/ipv4/tcp_congestion_control
}

# beside_tcp ID PLACE OURS...: a series beside iperf3, in which each pair runs each congestion
# control in turn; @CC@ in OURS is replaced by it. The medians of all pairs decide which one gives
# the figure: with cubic, iperf3 has two speeds on this path and keeps the one that it began with.
beside_tcp() {
	local id=$1 where=$2 cc i a b list=
	shift 2

	place "$where"
	for ((i = 0; i < pairs; i++)); do
		for cc in $(tcp_ccs); do
			say "$id: pair $((i + 1)) of $pairs, $cc"
			pair $i "${@//@CC@/$cc}" -- iperf "$cc" || break 2
			list="$list{\"cc\":\"$cc\",\"ours\":$a,\"peer\":$b}"
		done
	done
	say ''
	if ((i < pairs)); then
		failed="$failed $id"
		return
	fi
	jq -c --arg id "$id" -s 'def median: sort | (.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2;
		(group_by(.cc) | map({ (.[0].cc): map(.peer.bits_per_second) | median }) | add) as $peers
		| ($peers | to_entries | max_by(.value).key) as $cc
		| { id: $id, cc: $cc, peer_medians: $peers, pairs: map(select(.cc == $cc)), others: map(select(.cc != $cc)) }' <<<"$list" >>"$work/series"
}

# Keeps every core busy at the lowest priority.
stay_awake() {
	local n

	for ((n = 0; n < $(nproc); n++)); do
		chrt --idle 0 timeout --foreground $((limit * 2 * pairs)) sh -c 'while :; do :; done' &
		spinners="$spinners $!"
	done
}

may_sleep() {
	local p

	for p in $spinners; do kill -TERM -- "-$p" 2>/dev/null; done
	# shellcheck disable=SC2086
	wait $spinners 2>/dev/null
	spinners=
}
