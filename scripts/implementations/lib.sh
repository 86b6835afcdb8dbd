# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh
#
# Functions for the plug-ins of the interop matrix: `. "$IW_LIB"`. A plug-in need not use them.
#
#   unsupported TEXT        ends the plug-in: this cell is unsupported
#   failed TEXT             ends it: the test failed
#   serve_with PROGRAM...   starts a listener with --json, prints `ready PORT` when it listens, ends it
#                           on SIGTERM; $SERVED is its exit status, its output is in $IW_WORK/out
#   connect_with PROGRAM... runs a client with a time limit; its output is in $IW_WORK/out
#   has TEXT                whether that output has the text
#   number KEY              prints the last value of a key in that output, JSON
#   check_transport         ends the plug-in as unsupported if our tools do not have the operation over the transport
#   check_received FILE     compares a file with the one that the client has sent, $IW_SHARED/sent, if it exists or
#                           the client reports success by the file $IW_SHARED/complete
#   seeded_file FILE        writes a file of IW_SIZE octets that depends on IW_SEED only
#   connection_options      sets $OPTIONS to those of our tools that describe the connection

unsupported() {
	echo "reason $*"
	exit 3
}

failed() {
	echo "reason $*"
	exit 1
}

serve_with() {
	"$@" >"$IW_WORK/out" &
	SERVER=$!
	STOP=
	trap 'STOP=x$STOP; kill -TERM "$SERVER" 2>/dev/null' TERM
	until grep -q '"event":"listening"' "$IW_WORK/out"; do
		if ! kill -0 "$SERVER" 2>/dev/null; then
			wait "$SERVER"
			status=$?
			cat "$IW_WORK/out" >&2
			[ "$status" -ne 3 ] || unsupported "$1 cannot run here"
			exit 4
		fi
		sleep 0.02
	done
	echo "ready $IW_PORT"
	wait_served
}

wait_served() {
	while :; do
		before=$STOP
		SERVED=0
		wait "$SERVER" || SERVED=$?
		# A wait that the trap has interrupted returns the status of the signal.
		[ "$before" != "$STOP" ] || break
	done
	cat "$IW_WORK/out" >&2
}

connect_with() {
	status=0
	# Our tools have this time limit too, and report what they waited for.
	timeout -k 2 "$((${IW_TIMEOUT%%.*} + 3))" "$@" >"$IW_WORK/out" 2>"$IW_WORK/err" || status=$?
	cat "$IW_WORK/out" "$IW_WORK/err" >&2
	case $status in
	0) return ;;
	2) exit 2 ;;
	3) unsupported "$(tail -n 1 "$IW_WORK/err")" ;;
	124 | 137)
		echo "stuck $1 did not end within $IW_TIMEOUT s"
		exit 1
		;;
	*) failed "$(tail -n 1 "$IW_WORK/err")" ;;
	esac
}

has() {
	grep -q -e "$1" "$IW_WORK/out"
}

number() {
	sed -n 's/.*"'"$1"'":\(-\{0,1\}[0-9.]*\).*/\1/p' "$IW_WORK/out" | tail -n 1
}

# measure NAME KEY [DIVISOR]: prints a measurement, if the output has the key
measure() {
	value=$(number "$2")
	[ -z "$value" ] || awk -v name="$1" -v value="$value" -v by="${3:-1}" 'BEGIN { printf "measure %s %.9g\n", name, value / by }'
}

check_transport() {
	case $IW_OPERATION:$IW_TRANSPORT in
	setup:tcp | rping:tcp) ;;
	setup:* | rping:*) unsupported "$IW_OPERATION is an operation over MPA, not over $IW_TRANSPORT" ;;
	ping:tcp) unsupported 'sctp-ddp-ping needs SCTP, not tcp' ;;
	esac
}

check_received() {
	[ -e "$1" ] || [ -e "$IW_SHARED/complete" ] || return 0
	cmp "$1" "$IW_SHARED/sent" >&2 || {
		echo "corrupt the received file differs from the one that was sent"
		exit 1
	}
}

seeded_file() {
	awk -v seed="$IW_SEED" -v left="$IW_SIZE" 'BEGIN {
		srand(seed)
		for (; left > 0; left -= 9) printf "%s", substr(sprintf("%08x\n", rand() * 4294967296), 1, left)
	}' >"$1"
}

# The words are those of our tools: OPTIONS has no blanks inside a word.
connection_options() {
	case $IW_CRC in
	on) OPTIONS='--crc wanted' ;;
	*) OPTIONS="--crc $IW_CRC" ;;
	esac
	[ "$IW_MARKERS" = off ] || OPTIONS="$OPTIONS --markers"
}

# Fails if the connection does not have the options of the cell.
check_connection() {
	if [ "$IW_CRC" = off ]; then
		has '"crc":false' || failed 'CRC off: the connection uses CRC'
	else
		has '"crc":true' || failed "CRC $IW_CRC: the connection has none"
	fi
	if [ "$IW_MARKERS" = off ]; then
		has '"rx_markers":false' || failed 'markers were not requested, the connection has them'
	else
		has '"rx_markers":true' || failed 'markers were requested, the connection has none'
	fi
	has "\"rev\":${IW_REV}[,}]" || failed "Rev $IW_REV was requested, the connection has Rev $(number rev)"
}

# serve_personality NAME: the listener of mpa-probe with the answers of another implementation
serve_personality() {
	connection_options
	app=
	[ "$IW_OPERATION" != rping ] || app='--app rping'
	# shellcheck disable=SC2086
	serve_with mpa-probe --listen --personality "$1" $app -t tcp --bind "$IW_ADDRESS" -p "$IW_PORT" --json $OPTIONS
	exit "$SERVED"
}
