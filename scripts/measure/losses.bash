# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# L1 to L3: links that lose, delay and queue packets.
# The pieces of scripts/bench share their variables:
# shellcheck disable=SC2034,SC2119,SC2120,SC2154

# Waits for both connections of iperf3, control and data.
await_iperf() {
	local i

	for ((i = 0; i < 250; i++)); do
		# shellcheck disable=SC2086
		[ "$($to ss -Hnt state established "sport = :$port" | wc -l)" -lt 2 ] || return 0
		kill -0 "$1" 2>/dev/null || break
		sleep 0.02
	done
	run_failed iperf3 "$work/rival"
}

# Runs both at once; TCP begins earlier and ends later.
sharing() {
	local i ours rival list=

	for ((i = 0; i < pairs; i++)); do
		say "L2: $((i + 1)) of $pairs"
		next_port
		# shellcheck disable=SC2086
		$to timeout $limit iperf3 -s -1 -B "$addr" -p $port </dev/null >/dev/null 2>&1 &
		spinners="$spinners $!"
		await_listener $! || run_failed iperf3 /dev/null || return
		# shellcheck disable=SC2086
		$from timeout $limit iperf3 -c "$addr" -p $port -J -C cubic -O 2 -t $((share_seconds + 2)) </dev/null >"$work/rival" 2>&1 &
		rival=$!
		await_iperf $rival || return
		seconds=$share_seconds ours_over udp write --cc cubic -s 64K || return
		ours=$value
		wait $rival
		value=$(jq -c '{ bits_per_second: .end.sum_received.bits_per_second }' "$work/rival")
		list="$list{\"ours\":$ours,\"peer\":$value}"
	done
	say ''
	jq -c -s '{ id: "L2", pairs: . }' <<<"$list" >>"$work/series"
}

# one_lost TRANSPORT: counts on which of 8 sequences one lost packet makes messages late. Frames of
# other lengths hold no message, or several.
one_lost() {
	local via=$1 streams=$build/tests/parallel_streams/parallel_streams

	bad_link --link-ab drop=120,min=150,max=250,delay=100ms --link-ba delay=100ms || return
	start "$work/streams.in" "$streams" serve "$1" "$addr" @PORT@ || give_up 'parallel_streams serve' "$work/streams.in" || return
	call "$work/streams.out" "$streams" send "$1" "$addr" @PORT@ 30 100 || give_up 'parallel_streams send' "$work/streams.out.err" || return
	end || run_failed 'parallel_streams serve' "$work/streams.in" || return
	value=$(jq -c -s -f "$top/tests/parallel_streams/late.jq" "$work/streams.out" "$work/streams.in")
	may_sleep
}

head_of_line() {
	local ours

	one_lost udp || return
	ours=$value
	one_lost tcp || return
	jq -nc --argjson ours "$ours" --argjson tcp "$value" '{ id: "L3", sequences: { $ours, peer: $tcp } }' >>"$work/series"
}

losses() {
	local id share_seconds=$((seconds * 2))

	wanted L1 || wanted L2 || wanted L3 || return
	if [ -z "$have_veth" ] || [ -z "$have_iperf" ] || [ ! -x "$build/ddp-impair" ] || [ ! -x "$build/tests/parallel_streams/parallel_streams" ] || ! command -v ethtool >/dev/null || ! make_bad_link; then
		for id in L1 L2 L3; do wanted $id && skip $id 'needs network namespaces, iperf3, ethtool and the test program (make parallel-streams-bin)'; done
		return
	fi
	place bad
	if wanted L1; then
		if bad_link --link loss=1%,delay=10ms; then
			series L1 bad ours_over udp write --cc cubic -s 64K -- iperf cubic
		else
			failed="$failed L1"
		fi
		may_sleep
	fi
	if wanted L2; then
		bad_link --link-ab rate=50M,queue=128K,delay=10ms --link-ba delay=10ms && sharing || failed="$failed L2"
		may_sleep
	fi
	if wanted L3; then
		say 'L3: one packet lost'
		head_of_line || failed="$failed L3"
		may_sleep
		say ''
	fi
}
