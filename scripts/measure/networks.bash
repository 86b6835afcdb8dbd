# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# The network namespaces of the measurements, and the processes of this script that hold them.
# The pieces of scripts/bench share their variables:
# shellcheck disable=SC2034,SC2119,SC2120,SC2154

all_work=$work # `both` has another $work for a while
server= # the processes that run now, each in its own process group
client=
spinners=
left_pid=
right_pid=
middle_pid=
enter=
set -m

clean_up() {
	local p

	trap '' INT TERM HUP
	for p in $client $server $spinners $ticker; do kill -TERM -- "-$p" 2>/dev/null; done
	for p in $right_pid $left_pid $middle_pid; do kill -KILL "$p" 2>/dev/null; done
	# shellcheck disable=SC2086
	wait $client $server $spinners $ticker 2>/dev/null
	rm -rf "$all_work" ${shm:+"$shm"}
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# hold PREFIX OPTIONS...: starts a process that holds a namespace and ends with this script
hold() {
	local prefix=$1
	shift

	# shellcheck disable=SC2086
	$prefix unshare "$@" setpriv --pdeathsig KILL sleep infinity </dev/null >/dev/null 2>&1 &
	disown
}

# await SECONDS CMD...: runs CMD every 20 ms until it succeeds; fails after that time
await() {
	local i n=$(($1 * 50))
	shift

	for ((i = 0; i < n; i++)); do
		! "$@" || return 0
		sleep 0.02
	done
	return 1
}

# True if the process that `hold` started is in its namespace.
held() {
	[ "$(cat "/proc/$1/comm" 2>/dev/null)" = sleep ]
}

in_left=
in_right=
left_ip=10.77.1.1
far_ip=10.77.2.2 # reached through the relay
right_ip=10.77.1.2

make_places() {
	local user=() prefix=''

	if [ "$(id -u)" -ne 0 ]; then
		user=(--user --map-root-user)
		enter='--user --preserve-credentials'
	fi
	unshare "${user[@]}" --net true 2>/dev/null || return 1
	hold '' "${user[@]}" --net
	left_pid=$!
	await 4 held "$left_pid" || return 1
	[ ${#user[@]} -eq 0 ] || prefix="nsenter --user --preserve-credentials -t $left_pid"
	hold "$prefix" --net
	right_pid=$!
	await 4 held "$right_pid" || return 1
	in_left="nsenter $enter -t $left_pid --net"
	in_right="nsenter $enter -t $right_pid --net"
	{
		$in_left ip link add bench0 mtu 1500 type veth peer name bench1 mtu 1500 netns "$right_pid" &&
			$in_left ip address add $left_ip/24 dev bench0 &&
			$in_right ip address add $right_ip/24 dev bench1 &&
			$in_left ip link set lo up && $in_right ip link set lo up &&
			$in_left ip link set bench0 up && $in_right ip link set bench1 up
	} || return 1
	await 4 veth_up
}

veth_up() {
	$in_left ip -o link show bench0 | grep -q LOWER_UP && $in_right ip -o link show bench1 | grep -q LOWER_UP
}

have_veth=yes
make_places || {
	have_veth=
	echo 'bench: no network namespaces here (run as root, or allow user namespaces): loopback only' >&2
}

# The second path between the two namespaces, through a third one that sends nothing by itself.
in_middle=
make_bad_link() {
	local prefix='' i side at

	[ "$(id -u)" -eq 0 ] || prefix="nsenter --user --preserve-credentials -t $left_pid"
	hold "$prefix" --net
	middle_pid=$!
	await 4 held "$middle_pid" || return 1
	in_middle="nsenter $enter -t $middle_pid --net"
	for side in left right; do
		at=in_$side
		i=${side}_pid
		$in_middle ip link add $side type veth peer name bad0 netns "${!i}" && $in_middle ip link set $side up addrgenmode none &&
			${!at} ethtool -K bad0 tso off gso off gro off tx off rx off >/dev/null 2>&1 || return 1
	done
	$in_left ip address add "${far_ip%.*}.1/24" dev bad0 && $in_right ip address add $far_ip/24 dev bad0 &&
		$in_left ip link set bad0 up && $in_right ip link set bad0 up
}

# bad_link OPTION...: the options of ddp-impair. may_sleep ends it; the limit is for the case that
# this script cannot.
bad_link() {
	: >"$work/relay"
	# shellcheck disable=SC2086
	$in_middle "$build/ddp-impair" --json --seed 1 --seconds $((pairs * 10 * (seconds + share_seconds + far_limit))) --between left,right "$@" </dev/null >"$work/relay" 2>&1 &
	spinners="$spinners $!"
	await 5 grep -q 'relaying between' "$work/relay" || run_failed relay "$work/relay"
}

# place veth|bad|lo: sets `from` and `to` (the commands that enter the client's and the server's
# namespace) and `addr`
place() {
	if [ "$1" = lo ]; then
		from=$in_left to=$in_left addr=127.0.0.1
	else
		from=$in_left to=$in_right addr=$right_ip
		[ "$1" != bad ] || addr=$far_ip
	fi
}

# use_cc veth|bad [CC]: chooses the congestion control of all TCP connections of that place, or
# the default again. A route may name any that the kernel has; the sysctl of a namespace may not.
use_cc() {
	local devices=(bench0 bench1) near=$left_ip far=$right_ip

	[ "$1" = veth ] || devices=(bad0 bad0) near=${far_ip%.*}.1 far=$far_ip
	{
		$in_left ip route replace "${near%.*}.0/24" dev "${devices[0]}" src "$near" ${2:+congctl "$2"} &&
			$in_right ip route replace "${near%.*}.0/24" dev "${devices[1]}" src "$far" ${2:+congctl "$2"}
	} 2>"$work/route" || run_failed "ip route congctl ${2:-}" "$work/route"
}
