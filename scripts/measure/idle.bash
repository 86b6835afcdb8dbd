# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# P12 and P12u: the memory of idle connections and associations.
#
# P12 is the growth of ddp-recv's resident memory with 10,000 connections that have sent no request.
# P12u is the same with 5,000 SCTP associations over udp, each with a DDP stream session.
#
# The pieces of scripts/bench share their variables:
# shellcheck disable=SC2034,SC2119,SC2120,SC2154

# An MPA Request (RFC 5044 7.1.1) with the Private Data of a source (ddp-transfer(7)).
hello='MPA ID Req Frame\x40\x01\x00\x35\xab\x00\x6cddp-transfer\x01\x03\x02\x03\x03\x01\x04\x01\x05\x01\x06\x500123456789abcdef\x07\x02\x08\x19\x10\x00\x09\x01\x0a\x01'

resident() {
	awk '/^VmRSS:/ { print $2 * 1024 }' "/proc/$1/status"
}

# Runs in a background process of its own, which holds the descriptors until it is killed. `read`
# has no time limit here: with one, bash waits in select(), which supports no descriptor above 1023.
hold_idle() {
	local n=$1 i fd reply

	ulimit -n "$(ulimit -Hn)"
	for ((i = 0; i < n; i++)); do
		{ exec {fd}<>"/dev/tcp/127.0.0.1/$port"; } 2>/dev/null || break
		# shellcheck disable=SC2059
		printf "$hello" >&"$fd"
		IFS= read -r -N 16 -u "$fd" reply
		[ "$reply" = 'MPA ID Rep Frame' ] || break
	done
	echo "$i" >"$work/held"
	sleep infinity
}

idle() {
	local want=10000 before after pid holder held

	wanted P12 || return 0
	[ -z "$quick" ] || want=200
	if [ "$(ulimit -Hn)" -lt $((2 * want)) ]; then
		skip P12 "needs $((2 * want)) open files: ulimit -Hn says $(ulimit -Hn)"
		return
	fi
	say 'P12: idle connections'
	next_port
	from='' to=''
	mkdir "$work/idle"
	"$build/ddp-recv" -q --timeout 300s --max-connections 20000 -p "$port" "$work/idle" 2>"$work/server" &
	server=$! pid=$!
	await_listener || {
		give_up ddp-recv "$work/server"
		failed="$failed P12"
		return
	}
	before=$(resident $pid)
	rm -f "$work/held"
	hold_idle $want 2>/dev/null &
	holder=$!
	await 200 test -e "$work/held"
	after=$(resident $pid)
	held=$(ss -Htn state established "( sport = :$port )" | wc -l)
	kill -KILL -- "-$holder" 2>/dev/null
	wait $holder 2>/dev/null
	end TERM
	idle_result P12 "$held" $want "$before" "$after"
}

# idle_result ID HELD WANT BEFORE AFTER: appends the growth of the memory for each connection to
# $work/series; the figure fails if fewer than WANT were held
idle_result() {
	say ''
	if [ "$2" -lt "$3" ]; then
		run_failed "$1: $2 of $3 were held, which" "$work/server"
		failed="$failed $1"
		return
	fi
	jq -nc --arg id "$1" --argjson held "$2" --argjson before "$4" --argjson after "$5" \
		'{ $id, idle: { $before, $after, $held, each: (($after - $before) / $held) } }' >>"$work/series"
}

# The same Private Data as above, without the frame of the MPA Request.
idle_udp() {
	local want=5000 before after pid held

	wanted P12u || return 0
	if [ ! -x "$build/tests/crowd/crowd" ]; then
		skip P12u 'needs the test program: make crowd-bin'
		return
	fi
	[ -z "$quick" ] || want=2000
	say 'P12u: idle associations'
	next_port
	from='' to=''
	mkdir "$work/idle-udp"
	"$build/ddp-recv" -q -t udp --udp-port "$port" --timeout 300s --max-connections 20000 -p "$port" "$work/idle-udp" 2>"$work/server" &
	server=$! pid=$!
	via=udp udp_port=$port await_listener || {
		give_up ddp-recv "$work/server"
		failed="$failed P12u"
		return
	}
	before=$(resident $pid)
	# shellcheck disable=SC2059
	printf "${hello#*x00\\x35}" | "$build/tests/crowd/crowd" 127.0.0.1 "$port" "$port" $want >"$work/crowd" 2>>"$work/server" &
	client=$!
	await 120 test -s "$work/crowd"
	after=$(resident $pid)
	held=$(sed -n 's/^held //p' "$work/crowd")
	kill -INT -- "-$client" 2>/dev/null
	wait $client 2>/dev/null
	client=
	end TERM
	idle_result P12u "${held:-0}" $want "$before" "$after"
}
