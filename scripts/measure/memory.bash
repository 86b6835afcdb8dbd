# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# The figures from memory to memory: throughput, latency, look-ups, AF_XDP, plots.
#
# Over SCTP (P3, P3u, P4, P9) the peers are TCP as above, usrsctp in its fastest configuration
# (packets through one UDP socket, no threads), usrsctp on raw IP, and UDP. The peer's program is
# tests/interop/usrsctp_bench.c, compiled here, because usrsctp's example tsctp prints every packet.
#
# P8, P8awake and P9 pin client and server to a processor each, both for our tools and for the
# peer's, if the machine has two processors. Otherwise the scheduler sometimes puts both on one
# processor and sometimes on two; a round trip between two processors takes ten times as long, and
# the ratio would measure only that.
#
# sockperf sleeps between two messages, its default. So do our tools at first, but after a few short
# waits they poll for the next message before they sleep (spin_ns in libiwarp(3)). Most of sockperf's
# time in P8 and P9 is that of the kernel to wake up a sleeping core.
#
# "awake" runs an endless loop at the lowest priority on each core, so that no core sleeps.
#
# P3m, P3j and P3s are P3 with an MTU of 9000, with two associations beside two connections of
# iperf3, and with eight streams in one association. They have no bar.
#
# The pieces of scripts/bench share their variables:
# shellcheck disable=SC2034,SC2119,SC2120,SC2154

# veth_mtu OCTETS
veth_mtu() {
	$in_left ip link set bench0 mtu "$1" && $in_right ip link set bench1 mtu "$1"
}

# jumbo CMD...: runs it with an MTU of 9000
jumbo() {
	veth_mtu 9000 && "$@"
	veth_mtu 1500
}

# with_two CMD...: runs it with two connections of iperf3
with_two() {
	local iperf_options=(-P 2)

	"$@"
}

bandwidth() {
	local id

	if [ -z "$have_iperf" ]; then
		for id in P1 P1lo P1a P2 P3 P3m P3j P3s P10; do wanted $id && skip $id 'needs iperf3: scripts/packages --install bench'; done
		return
	fi
	if [ -n "$have_veth" ]; then
		if wanted P1 || wanted P10; then beside_tcp P1 veth ours write --cc @CC@; fi
		if wanted P1a; then beside_tcp P1a veth ours write --cc @CC@ --mulpdu emss; fi
		if wanted P2; then beside_tcp P2 veth ours read --cc @CC@; fi
		if wanted P3; then beside_tcp P3 veth ours_over udp write; fi
		if wanted P3m; then jumbo beside_tcp P3m veth ours_over udp write; fi
		if wanted P3j; then with_two beside_tcp P3j veth ours_over udp write -j 2; fi
		if wanted P3s; then beside_tcp P3s veth ours_over udp write --streams 8; fi
	else
		for id in P1 P1a P2 P3 P3m P3j P3s P10; do wanted $id && skip $id 'needs network namespaces'; done
	fi
	if wanted P1lo; then beside_tcp P1lo lo ours write --cc @CC@; fi
}

beside_usrsctp() {
	local id

	wanted P3u || wanted P4 || return
	for id in P3u P4; do
		wanted $id || continue
		if [ -z "$have_veth" ]; then
			skip $id 'needs network namespaces'
		elif [ ! -e "$work/usrsctp" ] && ! ${CC:-cc} -O2 -o "$work/usrsctp" "$top/tests/interop/usrsctp_bench.c" -lusrsctp 2>/dev/null; then
			skip $id 'needs libusrsctp-dev and a compiler: scripts/packages --install bench'
		elif [ $id = P3u ]; then
			series P3u veth ours_over udp write -- usrsctp udp
		elif [ "$(id -u)" -ne 0 ]; then
			skip P4 'needs to be root: raw sockets'
		else
			series P4 veth ours_over raw write -- usrsctp raw
		fi
	done
}

latency() {
	local where=veth id

	if [ -z "$have_sockperf" ] || [ -z "$have_veth" ]; then
		for id in P8 P8awake P9; do
			wanted $id && skip $id "$([ -n "$have_sockperf" ] && echo 'needs network namespaces' || echo 'needs sockperf: scripts/packages --install bench')"
		done
		return
	fi
	pin_apart
	if wanted P8; then series P8 $where ours pingpong -s 64 -- sock tcp; fi
	if wanted P9; then series P9 $where ours_over udp pingpong -s 64 -- sock udp; fi
	if wanted P8awake; then
		stay_awake
		series P8awake $where ours pingpong -s 64 -- sock tcp
		may_sleep
	fi
	pin_server='' pin_client=''
}

look_ups() {
	wanted P11 || return 0
	say 'P11: ddp-bench stag'
	from=''
	if call "$work/stag" "$bench" stag --json; then
		jq -c '{ id: "P11", stag: . }' "$work/stag" >>"$work/series"
	else
		run_failed 'ddp-bench stag' "$work/stag.err"
		failed="$failed P11"
	fi
	say ''
}

# The tool creates both ends and both namespaces; one run gives all four figures.
fast_path() {
	wanted P5 || wanted P5m || wanted P6 || wanted P6m || return 0
	say 'P5: ddp-bench xdp, for P5, P5m, P6 and P6m'
	from=''
	local id lost row rc=0 limit=120
	call "$work/xdp" "$bench" xdp --json --count $((pairs < 5 ? pairs : 5)) || rc=$?
	if [ $rc = 0 ]; then
		jq -c 'select(.event == "result") | { id: "P5", xdp: .p5.single }, { id: "P5m", xdp: .p5.multi },
			{ id: "P6", xdp: .p6.single }, { id: "P6m", xdp: .p6.multi }' "$work/xdp" >"$work/xdp.rows"
		while read -r row; do
			id=$(jq -r .id <<<"$row")
			wanted "$id" || continue
			lost=$(jq 'select(.id | startswith("P6")).xdp.lost' <<<"$row")
			if [ "${lost:-0}" -eq 0 ]; then
				echo "$row" >>"$work/series"
			else
				run_failed "$id: $lost generated segments were lost before a receiver had them; it" /dev/null
				failed="$failed $id"
			fi
		done <"$work/xdp.rows"
	else
		[ $rc = 3 ] || run_failed 'ddp-bench xdp' "$work/xdp.err"
		for id in P5 P5m P6 P6m; do
			wanted $id || continue
			if [ $rc = 3 ]; then skip $id "$(head -n 1 "$work/xdp.err")"; else failed="$failed $id"; fi
		done
	fi
	say ''
}

# Plots all powers of two from 1 octet to 1 MiB.
pictures() {
	local via mode file limit=120 each=500ms

	wanted plot || return 0
	if ! command -v gnuplot >/dev/null; then
		skip plot 'needs gnuplot: scripts/packages --install bench'
		return 0
	fi
	[ -z "$quick" ] || each=20ms
	place "$([ -n "$have_veth" ] && echo veth || echo lo)"
	mkdir -p "$(dirname "$out")" || return
	for via in tcp udp; do
		for mode in write pingpong; do
			say "plot: $mode over $via"
			file=$out.$via-$mode.svg
			start "$work/server" "$bench" --listen -q -t $via -b "$addr" -p @PORT@ || give_up 'ddp-bench --listen' "$work/server" || return
			call "$work/ours" "$bench" "$addr" $mode -t $via -p @PORT@ -s 1-1M --time $each -w $each --json --interval 0 --plot "$file" ||
				give_up "ddp-bench $mode --plot" "$work/ours.err" || return
			end TERM
			drawn+=("$file")
		done
	done
	say ''
}
