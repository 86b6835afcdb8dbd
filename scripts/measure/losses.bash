# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# L1 to L4: links that lose, delay and queue packets.
#
# L1 to L3 use a bad link: ddp-impair forwards frames between the two namespaces, with offloads off,
# so that one drop is one packet. L1: 1 % random loss in each direction and a round trip of 20 ms;
# udp against TCP, both with cubic. L2: udp and TCP at the same time through 50 Mb/s with a queue of
# 128 KiB, for 20 s or more; the figure is the smaller of the two shares. L3: tests/parallel_streams
# sends eight sequences of small messages in turn, over udp on 8 DDP streams of one association and
# over tcp on one connection. The same packet, with one message, is lost on each. The figure is the
# number of sequences with late messages, from the traces of both ends.
#
# L1b is L1 with --cc bbr beside TCP with bbr; L1c, of the same rounds, beside TCP with cubic. L2b
# is L2 with --cc bbr.
#
# L4: a file of 200 MiB from tmpfs to tmpfs through 200 Mb/s with a queue of 1.5 MiB, a round trip
# of 60 ms and 0.5 % random loss in each direction: ddp-send -t udp with its defaults beside scp,
# rsync -e ssh and iperf3 -F, with cubic and with bbr, at most three rounds. The time is that of the
# whole command. A command that has not ended after 60 s is ended, and has that time: the ratio is
# then a bound. rsync and iperf3 run only once with cubic, because they give no figure.
#
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

# share CC: runs both at once; TCP begins earlier and ends later. Its rate is that of the seconds in
# which ours is measured too: ours begins when TCP has its connections, and warms up for a second.
# Sets `value` to {ours, peer}.
share() {
	local ours rival tcp_end

	next_port
	# shellcheck disable=SC2086
	$to timeout $limit iperf3 -s -1 -B "$addr" -p $port </dev/null >/dev/null 2>&1 &
	tcp_end=$!
	spinners="$spinners $tcp_end"
	await_listener $tcp_end || run_failed iperf3 /dev/null || return
	# shellcheck disable=SC2086
	$from timeout $limit iperf3 -c "$addr" -p $port -J -C cubic -O 1 -t $((share_seconds + 3)) </dev/null >"$work/rival" 2>&1 &
	rival=$!
	await_iperf $rival || return
	if ! seconds=$share_seconds ours_over udp write --cc "$1" -s 64K; then
		kill -TERM -- "-$rival" 2>/dev/null
		wait $rival 2>/dev/null
		return 1
	fi
	ours=$value
	wait $rival || run_failed iperf3 "$work/rival" || return
	ran_with cubic "$work/rival" || run_failed "iperf3: cubic: $refused_cc; it" /dev/null || return
	value=$(jq -c --argjson ours "$ours" --argjson n "$share_seconds" '
		([.intervals[].sum | select(.omitted | not)] | .[:$n]) as $both
		| select($both | length == $n)
		| { $ours, peer: { program: "iperf3",
			bits_per_second: (($both | map(.bytes) | add) * 8 / ($both | map(.seconds) | add)),
			cc: [.end.sender_tcp_congestion, .end.receiver_tcp_congestion] } }' "$work/rival")
	[ -n "$value" ] || run_failed "iperf3: not $share_seconds intervals; it" "$work/rival"
}

# sharing ID CC
sharing() {
	local i id=$1 list=

	for ((i = 0; i < pairs; i++)); do
		say "$id: $((i + 1)) of $pairs"
		share "$2" || return
		list="$list$value"
		other share "$2"
		[ -z "$value" ] || list="${list%\}},\"other\":$value}"
	done
	say ''
	jq -c --arg id "$id" -s '{ id: $id, pairs: . }' <<<"$list" >>"$work/series"
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
	[ "$(jq .late <<<"$value")" -gt 0 ] || run_failed 'parallel_streams: no message was late, so none was lost; it' /dev/null || return
	may_sleep
}

head_of_line() {
	local ours

	one_lost udp || return
	ours=$value
	one_lost tcp || return
	jq -nc --argjson ours "$ours" --argjson tcp "$value" '{ id: "L3", sequences: { $ours, peer: $tcp } }' >>"$work/series"
}

# --- a file over a long path (L4) ----------------------------------------------------------------

far_octets=$((200 << 20)) far_limit=60
[ -z "$quick" ] || far_octets=$((2 << 20)) far_limit=20

# far_run NAME CMD...: moves src/far with this client. A client that has not ended after $far_limit
# seconds is ended, and that time is its value, with "ended".
far_run() {
	local name=$1 began rc=0 move_limit=$far_limit
	shift

	began=$(now_us)
	client "$@" </dev/null >"$work/peer" || rc=$?
	if [ $rc -eq 124 ]; then
		value="{\"seconds\":$far_limit,\"ended\":true}"
		return
	fi
	[ $rc -eq 0 ] || give_up "$name" "$work/peer.err" || return
	moved $far_octets "$began"
}

far_arrived() {
	[[ $value == *'"ended"'* ]] || arrived far "$1"
}

far_ours() {
	local via=udp udp_port

	warm far || return
	next_port
	udp_port=$port
	server "$build/ddp-recv" --once -q -t udp --udp-port "$port" -b "$addr" -p "$port" "$shm/dst" || give_up ddp-recv "$work/server" || return
	far_run ddp-send "$build/ddp-send" -q -t udp --udp-port "$port" -p "$port" "$shm/src/far" "$addr:" || return
	if [[ $value == *'"ended"'* ]]; then end TERM || :; else end || run_failed ddp-recv "$work/server" || return; fi
	far_arrived ddp-send
}

far_scp() {
	use_cc bad "$1" && warm far && far_run scp scp -q -F "$work/ssh_config" "$shm/src/far" "bench:$shm/dst/" && far_arrived scp
}

far_rsync() {
	use_cc bad "$1" && warm far && far_run rsync rsync --whole-file --inplace -e "ssh -F $work/ssh_config" "$shm/src/far" "bench:$shm/dst/" &&
		far_arrived rsync
}

far_iperf() {
	use_cc bad "$1" && warm far || return
	next_port
	server iperf3 -s -1 -B "$addr" -p "$port" -F "$shm/dst/far" </dev/null >/dev/null || give_up 'iperf3 -s -F' "$work/server" || return
	far_run 'iperf3 -F' iperf3 -J -c "$addr" -p "$port" -F "$shm/src/far" -C "$1" -t 600 || return
	if [[ $value == *'"ended"'* ]]; then
		end TERM
		return 0
	fi
	end
	ran_with "$1" "$work/peer" || run_failed "iperf3: $1: $refused_cc; it" /dev/null
}

# With cubic only scp gives a figure; the others run once, because each takes minutes.
far_scp_cubic() { far_scp cubic; }
far_scp_bbr() { far_scp bbr; }
far_rsync_bbr() { far_rsync bbr; }
far_iperf_bbr() { far_iperf bbr; }
far_rsync_cubic() { far_once far_rsync cubic; }
far_iperf_cubic() { far_once far_iperf cubic; }

# far_once CMD...: runs it in the first round; no value in the others
far_once() {
	if [ "$round" -eq 1 ]; then "$@"; else value=; fi
}

far_file() {
	local pairs=$((pairs < 3 ? pairs : 3))

	head -c $far_octets /dev/urandom >"$shm/src/far"
	rounds L4 bad far ours scp_bbr scp_cubic rsync_bbr iperf_bbr rsync_cubic iperf_cubic
	rm -f "$shm/src/far" "$shm/dst/far"
}

# --- all of them ---------------------------------------------------------------------------------

# True if the engine of this ddp-bench has the model-based congestion control.
knows_bbr() {
	local rc=0

	timeout 5 "$bench" 127.0.0.1 write -t udp --udp-port 9 --cc bbr --timeout 500ms --time 1s >/dev/null 2>&1 || rc=$?
	[ $rc -ne 2 ]
}

# Sets `why` to the reason why ID cannot be measured, or to nothing.
loss_needs() {
	local tool

	why=
	for tool in iperf3 ethtool; do
		command -v $tool >/dev/null || why="needs $tool: scripts/packages --install test bench"
	done
	[ -n "$have_veth" ] || why='needs network namespaces'
	[ -n "$why" ] || [ -n "$in_middle" ] || make_bad_link || why='the path through ddp-impair cannot be made'
	[ -z "$why" ] || return
	case $1 in
	L1b | L2b) knows_bbr || why='this ddp-bench knows no --cc bbr' ;;
	L3) [ -x "$build/tests/parallel_streams/parallel_streams" ] || why='needs the test program: make parallel-streams-bin' ;;
	L4) far_needs ;;
	esac
	[ -z "$why" ]
}

far_needs() {
	local tool

	for tool in ssh-keygen ssh scp rsync; do
		command -v $tool >/dev/null || why="needs $tool: scripts/packages --install bench"
	done
	[ "$(id -u)" -eq 0 ] || why='needs to be root: sshd'
	[ -n "$why" ] || make_files || why='needs room in /dev/shm'
}

# 16 MiB in flight: the usual 2 MiB would be the limit at more than 600 Mb/s.
lossy_ours() { ours_over udp write --cc bbr -s 64K --depth 256; }
lossy_bbr() { iperf bbr; }
lossy_cubic() { iperf cubic; }

# loss ID: its link and its runs
loss() {
	local narrow=(--link-ab 'rate=50M,queue=128K,delay=10ms' --link-ba 'delay=10ms')

	case $1 in
	L1) bad_link --link loss=1%,delay=10ms && series L1 bad ours_over udp write --cc cubic -s 64K -- iperf cubic ;;
	L1b) bad_link --link loss=1%,delay=10ms && rounds L1b bad lossy ours bbr cubic ;;
	L2) bad_link "${narrow[@]}" && sharing L2 cubic ;;
	L2b) bad_link "${narrow[@]}" && sharing L2b bbr ;;
	L3) say 'L3: one packet lost' && both head_of_line ;;
	L4) bad_link --link rate=200M,queue=1536K,delay=30ms,loss=0.5% && start_sshd && far_file ;;
	esac
}

# lossy_seconds: how long one run over a lossy link takes. Losses are rare: with less than 5 s the
# figures of two runs differ by a third.
lossy_seconds() {
	if [ -n "$quick" ] || [ "$seconds" -ge 5 ]; then echo "$seconds"; else echo 5; fi
}

# sharing_seconds: how long one run of L2 or L2b takes. A flow that begins beside another one needs
# many seconds to reach its share.
sharing_seconds() {
	if [ -n "$quick" ] || [ "$seconds" -ge 10 ]; then echo $((seconds * 2)); else echo 20; fi
}

losses() {
	local id why share_seconds whole_seconds=$seconds seconds=$seconds limit

	share_seconds=$(sharing_seconds)
	seconds=$(lossy_seconds)
	limit=$((share_seconds + 25))

	for id in L1 L1b L2 L2b L3 L4; do
		wanted $id || continue
		if ! loss_needs $id; then
			skip $id "$why"
			continue
		fi
		place bad
		loss $id || failed="$failed $id"
		may_sleep
		sshd=
		say ''
	done
}
