# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# Interleaved runs of ours and of the peer.
# The pieces of scripts/bench share their variables:
# shellcheck disable=SC2034,SC2119,SC2120,SC2154

# --- the other build -----------------------------------------------------------------------------

declare -A other_fails=() # the figures that the other build cannot measure

# other CMD...: one of our runs for the figure $id, with the programs of the build that --beside
# names. Sets $value to nothing if that build cannot do it, and notes why.
other() {
	local build=$beside bench=$beside/ddp-bench

	value='' called=0
	[ -n "$beside" ] && [ -z "${other_fails[$id]:-}" ] || return 0
	! "$@" 2>"$work/other.err" || return 0
	value=
	other_fails[$id]=1
	if [ $called -eq 2 ]; then
		note "$id: not measured with the other build, which does not know an option: $(reason "$work/other.err")"
	else
		note "$id: not measured with the other build: $(reason "$work/other.err")"
	fi
}

# The reason in the messages of run_failed, on one line.
reason() {
	grep -a 'failed:' "$1" | head -n 1 | sed 's/^bench: //; s/ Try `.*//; s/ *$//'
}

# both FUNCTION...: measures figures without pairs, then again with the other build. The files of
# the second time are in $work/other.
both() {
	local rc=0

	"$@" || rc=$?
	[ -z "$beside" ] || both_other "$@"
	return $rc
}

both_other() {
	local mine=$work work=$work/other build=$beside bench=$beside/ddp-bench failed='' which why rc=0

	mkdir -p "$work"
	: >"$work/skipped"
	"$@" 2>"$work/err" || rc=$?
	while IFS=$'\t' read -r which why; do
		grep -q "^$which	" "$mine/skipped" || echo "$which: not measured with the other build: $why" >>"$mine/notes"
	done <"$work/skipped"
	[ $rc -eq 0 ] || [ -n "$failed" ] || failed=${id:-$1}
	[ -z "$failed" ] || echo "${failed# }: not measured with the other build: $(reason "$work/err")" >>"$mine/notes"
}

# --- pairs and rounds ----------------------------------------------------------------------------

# all_measured ID N: fails, and adds ID to $failed, unless N is the number of wanted pairs
all_measured() {
	[ "$2" -lt "$pairs" ] || return 0
	failed="$failed $1"
	return 1
}

# pair N OURS... -- PEER...: runs pair N, whose number determines the order; our value in $a, the
# peer's in $b, that of the other build in $c
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
		other "${mine[@]}"
		c=$value
	else
		other "${mine[@]}"
		c=$value
		"$@" || return
		b=$value
		"${mine[@]}" || return
		a=$value
	fi
}

# series ID PLACE OURS... -- PEER...: runs the pairs and appends {id, pairs: [{ours, peer, other}]}
# to $work/series
series() {
	local id=$1 where=$2 i a b c list=
	shift 2

	place "$where"
	for ((i = 0; i < pairs; i++)); do
		say "$id: pair $((i + 1)) of $pairs"
		pair $i "$@" || break
		list="$list{\"ours\":$a,\"peer\":$b${c:+,\"other\":$c}}"
	done
	say ''
	all_measured "$id" $i || return 0
	jq -c --arg id "$id" -s '{ id: $id, pairs: . }' <<<"$list" >>"$work/series"
}

# rounds ID PLACE PREFIX NAME...: runs PREFIX_NAME for each NAME in turn, and PREFIX_ours of the
# other build, in every second round in reverse order. They may read $round, the number of the
# round from 1. Appends {id, rounds: [{NAME: value}]} to $work/series.
rounds() {
	local id=$1 where=$2 prefix=$3 round name order one list=
	shift 3

	place "$where"
	for ((round = 1; round <= pairs; round++)); do
		order="$*${beside:+ other}"
		((round % 2)) || order=$(tr ' ' '\n' <<<"$order" | tac)
		one=
		for name in $order; do
			say "$id: round $round of $pairs, $name"
			if [ "$name" = other ]; then
				other "${prefix}_ours"
			else
				"${prefix}_$name" || break 2
			fi
			[ -z "$value" ] || one="$one,\"$name\":$value"
		done
		list="$list{${one#,}}"
	done
	say ''
	all_measured "$id" $((round - 1)) || return 0
	jq -c --arg id "$id" -s '{ id: $id, rounds: . }' <<<"$list" >>"$work/series"
}

# The peer's congestion control: cubic and bbr, as far as this kernel has them.
tcp_ccs() {
	grep -owE 'cubic|bbr' /proc/sys/net/ipv4/tcp_available_congestion_control || cat /proc/sys/net/ipv4/tcp_congestion_control
}

# without WORDS WORD: prints WORDS without WORD
without() {
	tr -s '[:space:]' '\n' <<<"$1" | grep -vxF "$2" | tr '\n' ' '
}

# beside_tcp ID PLACE OURS...: a series beside iperf3 with each congestion control.
beside_tcp() {
	local id=$1 where=$2
	shift 2

	with_each_cc "$id" iperf3 "$where" "$@" -- iperf @CC@
}

# with_each_cc ID NAME PLACE OURS... -- PEER...: a series beside the program NAME in which each pair
# runs each congestion control in turn; @CC@ in OURS and PEER is replaced by it. The medians of all
# pairs decide which one gives the figure: with cubic, iperf3 has two speeds on this path and keeps
# the one that it began with. One that the peer does not really use is left out.
with_each_cc() {
	local id=$1 name=$2 where=$3 cc ccs i a b c list=
	shift 3

	place "$where"
	ccs=$(tcp_ccs)
	for ((i = 0; i < pairs; i++)); do
		for cc in $ccs; do
			say "$id: pair $((i + 1)) of $pairs, $cc"
			refused_cc=
			if pair $i "${@//@CC@/$cc}"; then
				list="$list{\"cc\":\"$cc\",\"ours\":$a,\"peer\":$b${c:+,\"other\":$c}}"
			elif [ -n "$refused_cc" ]; then
				note "$id: $cc is not used: $refused_cc"
				ccs=$(without "$ccs" "$cc")
			else
				break 2
			fi
		done
		[ -n "${ccs// /}" ] || break
	done
	say ''
	all_measured "$id" $i || return 0
	jq -c --arg id "$id" --arg peer "$name" --arg ccs "$ccs" -s 'def median: sort | (.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2;
		map(select(.cc as $cc | $ccs | split("[ \n]+"; null) | index($cc)))
		| (group_by(.cc) | map({ (.[0].cc): map(.peer.bits_per_second) | median }) | add) as $peers
		| (group_by(.cc) | map({ (.[0].cc): map(.ours.bits_per_second / .peer.bits_per_second) | median }) | add) as $ratios
		| ($peers | to_entries | max_by(.value).key) as $cc
		| { id: $id, cc: $cc, $peer, peer_medians: $peers, ratios: $ratios, pairs: map(select(.cc == $cc)), others: map(select(.cc != $cc)) }' <<<"$list" >>"$work/series"
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

	# `wait` without a process would wait for the ticker, which never ends by itself.
	[ -n "$spinners" ] || return 0
	for p in $spinners; do kill -TERM -- "-$p" 2>/dev/null; done
	# shellcheck disable=SC2086
	wait $spinners 2>/dev/null
	spinners=
}
