# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# P7 and P13: files.
#
# P7 and P13 move files from tmpfs to tmpfs, ours with digests; the copies are compared afterwards,
# except that of iperf3, which leaves out octets (seen with 3.12) and still counts as the whole file.
# The time ends when the receiver has all files. The memory is warm, as described for P32. Each pair
# runs with cubic and with bbr, each at both ends.
#
# The pieces of scripts/bench share their variables:
# shellcheck disable=SC2034,SC2119,SC2120,SC2154

shm=
move_limit=120 # seconds for one transfer
file_octets=$((2 << 30)) file_count=50000
[ -z "$quick" ] || file_octets=$((64 << 20)) file_count=2000

# Makes the folders for the files, unless they exist. Fails if /dev/shm has no room for the files.
make_files() {
	[ -z "$shm" ] || return 0
	[ "$(df -B1 --output=avail /dev/shm | tail -n 1)" -gt $((file_octets * 2 + (64 << 20))) ] || return 1
	shm=$(mktemp -d /dev/shm/iw-bench.XXXXXX) && mkdir "$shm/src" "$shm/dst"
}

now_us() {
	echo "${EPOCHREALTIME/[.,]/}"
}

# warm WHAT: writes and removes as many octets and files as WHAT has, a file or a directory below
# src
warm() {
	{ rm -rf "${shm:?}/dst/$1" "$shm/warm" && cp -r "$shm/src/$1" "$shm/warm" && rm -rf "$shm/warm"; } 2>"$work/warm.err" ||
		run_failed 'writing before a run' "$work/warm.err"
}

# moved OCTETS BEGAN [CPU_SECONDS [ENDED]]: sets `value` for a run that ended at ENDED (now)
moved() {
	local took=$((${4:-$(now_us)} - $2))

	value=$(jq -nc --argjson octets "$1" --argjson us "$took" --argjson cpu "${3:-null}" '
		{ bits_per_second: ($octets * 8e6 / $us), seconds: ($us / 1e6) }
		+ if $cpu then { cpu_seconds: $cpu, cpu_seconds_per_gib: ($cpu * 1073741824 / $octets) } else {} end')
}

# The CPU seconds of `server` and `client`, both ended.
both_cpu() {
	awk "BEGIN { print $(cpu_of "$work/peer.cpu") + $(cpu_of "$work/server.cpu") }"
}

# server CMD... and client CMD... run without redirection of standard input and output. Their CPU
# seconds are in server.cpu and peer.cpu when they end.
server() {
	# shellcheck disable=SC2086
	{ time timeout -k 5 --foreground $move_limit $to "$@" 2>"$work/server"; } 2>"$work/server.cpu" &
	server=$!
	await_listener
}

client() {
	local rc=0

	# shellcheck disable=SC2086
	{ time timeout -k 5 --foreground $move_limit $from "$@" 2>"$work/peer.err"; } 2>"$work/peer.cpu" &
	client=$!
	wait $client 2>/dev/null || rc=$?
	client=
	called=$rc
	return $rc
}

# arrived WHAT NAME: fails unless the receiver has WHAT as the sender has it
arrived() {
	diff -rq "$shm/src/$1" "$shm/dst/$1" >"$work/differ" 2>&1 || run_failed "$2: what arrived is not what was sent" "$work/differ"
}

# ours_files WHAT: moves WHAT, a file or a directory below src
ours_files() {
	local what=$1 began

	warm "$what" || return
	next_port
	server "$build/ddp-recv" --once -q -b "$addr" -p "$port" "$shm/dst" || give_up ddp-recv "$work/server" || return
	began=$(now_us)
	client "$build/ddp-send" -q -p "$port" "$shm/src/$what" "$addr:" || give_up ddp-send "$work/peer.err" || return
	end || run_failed ddp-recv "$work/server" || return
	moved "$(octets_of "$what")" "$began" "$(both_cpu)"
	arrived "$what" ddp-send
}

octets_of() {
	if [ -d "$shm/src/$1" ]; then echo $((file_count * 4096)); else echo $file_octets; fi
}

# with_PEER: moves the file "file" with that peer
with_nc() {
	local began

	warm file || return
	next_port
	server nc -l "$addr" "$port" </dev/null >"$shm/dst/file" || give_up 'nc -l' "$work/server" || return
	began=$(now_us)
	client nc -N "$addr" "$port" <"$shm/src/file" || give_up nc "$work/peer.err" || return
	end
	moved $file_octets "$began" "$(both_cpu)"
	arrived file nc
}

with_socat() {
	local began

	warm file || return
	next_port
	server socat -u -b 1048576 "TCP-LISTEN:$port,bind=$addr,reuseaddr" "OPEN:$shm/dst/file,creat,trunc" </dev/null ||
		give_up 'socat TCP-LISTEN' "$work/server" || return
	began=$(now_us)
	client socat -u -b 1048576 "OPEN:$shm/src/file" "TCP:$addr:$port" </dev/null || give_up socat "$work/peer.err" || return
	end
	moved $file_octets "$began" "$(both_cpu)"
	arrived file socat
}

with_iperf3() {
	local began

	warm file || return
	next_port
	server iperf3 -s -1 -B "$addr" -p "$port" -F "$shm/dst/file" </dev/null >/dev/null || give_up 'iperf3 -s -F' "$work/server" || return
	began=$(now_us)
	# Without -t it ends after 10 s, even in the middle of the file.
	client iperf3 -c "$addr" -p "$port" -F "$shm/src/file" -t 600 </dev/null >/dev/null || give_up 'iperf3 -F' "$work/peer.err" || return
	end
	moved $file_octets "$began" "$(both_cpu)"
}

with_rsync() {
	local began ended

	warm file || return
	next_port
	printf 'pid file = %s\nuse chroot = no\n[dst]\npath = %s\nread only = no\nuid = %s\ngid = %s\n' "$work/rsyncd.pid" "$shm/dst" "$(id -u)" "$(id -g)" >"$work/rsyncd.conf"
	server rsync --daemon --no-detach --config="$work/rsyncd.conf" --address="$addr" --port="$port" </dev/null || give_up 'rsync --daemon' "$work/server" || return
	began=$(now_us)
	client rsync --whole-file --inplace "$shm/src/file" "rsync://$addr:$port/dst/file" </dev/null || give_up rsync "$work/peer.err" || return
	ended=$(now_us)
	kill "$(cat "$work/rsyncd.pid")"
	end
	moved $file_octets "$began" "$(both_cpu)" "$ended"
	arrived file rsync
}

with_tar() {
	local began

	warm many || return
	next_port
	# shellcheck disable=SC2016
	server bash -c 'nc -l "$1" "$2" | tar x -C "$3"' - "$addr" "$port" "$shm/dst" </dev/null || give_up 'nc -l | tar x' "$work/server" || return
	began=$(now_us)
	# shellcheck disable=SC2016
	client bash -c 'tar c -C "$3" many | nc -N "$1" "$2"' - "$addr" "$port" "$shm/src" </dev/null || give_up 'tar c | nc' "$work/peer.err" || return
	end
	moved $((file_count * 4096)) "$began" "$(both_cpu)"
	arrived many tar
}

# over CC CMD...: runs CMD with that congestion control at both ends
over() {
	use_cc veth "$1" && "${@:2}"
}

# Sets $fastest to the fastest with_... function whose program is installed, with the congestion
# control that suits it best; empty: none is. Fails if a run fails.
choose_mover() {
	local peer cc i list best=0 rate

	fastest=
	for peer in socat nc iperf3 rsync; do
		command -v $peer >/dev/null || continue
		for cc in $(tcp_ccs); do
			say "P7: $peer, $cc"
			list=
			for ((i = 0; i < (pairs + 2) / 3; i++)); do
				over "$cc" with_$peer || return
				list="$list$value"
			done
			rate=$(jq -s 'map(.bits_per_second) | sort | .[length / 2 | floor] | floor' <<<"$list")
			jq -c --arg mover $peer --arg cc "$cc" -s '{ mover: $mover, cc: $cc, runs: . }' <<<"$list" >>"$work/choice"
			[ "$rate" -le "$best" ] || best=$rate fastest=$peer
		done
	done
}

# small_files NAME COUNT: makes files of 4 KiB below src/NAME, 1,000 in each folder
small_files() {
	local i

	mkdir "$shm/src/$1"
	for ((i = 0; i < $2; i += 1000)); do
		mkdir "$shm/src/$1/$i"
		head -c $((1000 * 4096)) /dev/urandom | split -b 4096 -a 3 -d - "$shm/src/$1/$i/f"
	done
}

files() {
	local i

	wanted P7 || wanted P13 || return
	if [ -z "$have_veth" ] || ! make_files; then
		for i in P7 P13; do wanted $i && skip $i "$([ -n "$have_veth" ] && echo 'needs room in /dev/shm' || echo 'needs network namespaces')"; done
		return
	fi
	place veth
	if wanted P7; then
		head -c $file_octets /dev/urandom >"$shm/src/file"
		if ! choose_mover; then
			say ''
			failed="$failed P7"
		elif [ -n "$fastest" ]; then
			with_each_cc P7 "$fastest" veth over @CC@ ours_files file -- over @CC@ with_"$fastest"
		else
			skip P7 'needs socat, nc, iperf3 or rsync'
		fi
		rm -f "$shm/src/file" "$shm/dst/file"
	fi
	if wanted P13 && command -v nc >/dev/null; then
		small_files many "$file_count"
		with_each_cc P13 'tar through nc' veth over @CC@ ours_files many -- over @CC@ with_tar
	elif wanted P13; then
		skip P13 'needs nc'
	fi
	use_cc veth
}
