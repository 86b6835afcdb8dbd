#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The first process of a plug-in's process namespace (side.py): runs `PROGRAM ARG...`, passes SIGTERM
# on to it and ends with its exit status. If a process is left one second later, it reports
# `left behind: NAME...` on standard error and exits with status 97. The kernel then kills all of them,
# because the first process of the namespace has ended.

# A plug-in cannot fill the disk: 64 MiB a file.
ulimit -f 131072
trap 'stopped=x$stopped; [ -z "$program" ] || kill -TERM "$program" 2>/dev/null' TERM
program='' stopped=''

"$@" &
program=$!
[ -z "$stopped" ] || kill -TERM "$program"
while :; do
	before=$stopped
	wait "$program"
	status=$?
	# A wait that the trap has interrupted returns the status of the signal.
	[ "$before" != "$stopped" ] || break
done

# Sets left to the names of the other processes that run. It starts no process itself.
look() {
	left=
	for process in /proc/[0-9]*; do
		[ "$process" != /proc/1 ] || continue
		{ read -r line <"$process/stat"; } 2>/dev/null || continue
		case ${line##*) } in
		Z* | X*) continue ;;
		esac
		line=${line#*(}
		left="$left ${line%)*}"
	done
}

tries=20
look
while [ -n "$left" ] && [ "$tries" -gt 0 ]; do
	sleep 0.05
	tries=$((tries - 1))
	look
done
if [ -n "$left" ]; then
	echo "left behind:$left" >&2
	exit 97
fi
exit "$status"
