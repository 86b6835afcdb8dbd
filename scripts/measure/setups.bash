# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# Small messages, connections one after another, and many connections at once.
#
# P14 and P14u are Sends of 64 octets over tcp and udp, beside iperf3 -l 64, whose calls of 64 octets
# count as messages.
#
# P15 is the number of connections in a second, one after another, by tests/setups: each is set up
# with MPA Rev 2, carries one zero-length RDMA Read, and is closed in order by both ends. The peer is
# a bare loop of connect and accept whose ends close in order too. P15u is the number of SCTP
# associations over udp, used in the same way, beside that of DDP stream sessions on one association.
#
# P16 is the rate of 1,000 connections from one client to one listener, beside that of one, both with
# RDMA Writes of 16 KiB, 8 of them in flight on each; P16f is Jain's index of the octets of the 1,000,
# in the worst run. The 1,000 use 125 MiB of memory, more than the caches hold, and the one 128 KiB.
# In P16m the one has 4,096 Writes in flight (the most of ddp-bench), and uses 64 MiB.
#
# The pieces of scripts/bench share their variables:
# shellcheck disable=SC2034,SC2119,SC2120,SC2154

small_messages() {
	local id iperf_options=(-l 64)

	for id in P14 P14u; do
		wanted $id || continue
		if [ -z "$have_iperf" ]; then
			skip $id 'needs iperf3: scripts/packages --install bench'
		elif [ -z "$have_veth" ]; then
			skip $id 'needs network namespaces'
		elif [ $id = P14 ]; then
			beside_tcp P14 veth ours rate -s 64 --cc @CC@
		else
			beside_tcp P14u veth ours_over udp rate -s 64
		fi
	done
}

# setups KIND: connections one after another
setups() {
	local program=$build/tests/setups/setups via=tcp udp_port=$((port + 1))

	case $1 in udp | session) via=udp ;; esac
	start "$work/server" "$program" serve "$1" "$addr" @PORT@ || give_up "setups serve $1" "$work/server" || return
	call "$work/setups" "$program" open "$1" "$addr" @PORT@ "${seconds}s" || give_up "setups open $1" "$work/setups.err" || return
	end TERM
	grep -q '^connections [1-9][0-9]* failed [01] ' "$work/server" || run_failed "setups serve $1" "$work/server" || return
	value=$(awk '$1 == "connections" && $2 > 0 && $4 == 0 { printf "{\"per_second\":%.1f}\n", $2 * 1e9 / $6 }' "$work/setups")
	[ -n "$value" ] || run_failed "setups open $1: connections failed" "$work/setups"
}

# The side that closes first keeps a port of each connection for a minute: enough of them for the run,
# and after a second for another connection.
many_ports() {
	# shellcheck disable=SC2086
	$in_left sh -c 'echo 1024 65535 >/proc/sys/net/ipv4/ip_local_port_range && echo 1 >/proc/sys/net/ipv4/tcp_tw_reuse'
}

set_ups() {
	local id

	for id in P15 P15u; do
		wanted $id || continue
		if [ -z "$have_veth" ] || ! many_ports; then
			skip $id 'needs network namespaces'
		elif [ ! -x "$build/tests/setups/setups" ]; then
			skip $id 'needs the test program: make setups-bin'
		elif [ $id = P15 ]; then
			series P15 veth setups tcp -- setups bare
		else
			series P15u veth setups udp -- setups session
		fi
	done
}

many_connections() {
	local id depth=8

	for id in P16 P16m; do
		wanted $id || continue
		if [ -z "$have_veth" ] || ! ulimit -Sn 4096 2>/dev/null; then
			skip $id 'needs network namespaces, and 4,096 open files'
			continue
		fi
		if [ $id = P16m ]; then depth=4096; fi
		series $id veth ours write -s 16K --depth 8 -j 1000 -- ours write -s 16K --depth $depth
	done
}
