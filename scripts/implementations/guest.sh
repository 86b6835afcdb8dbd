# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2034
#
# Functions for plug-ins whose implementation runs in the guest (scripts/peer-vm), after lib.sh. peer-vm
# itself needs the process ids of the machine, so these functions use its `call`.
#
#   needs_guest             for capabilities: ends with status 3 if no guest is used
#   in_guest CMD...         runs CMD in the guest
#   serve_in_guest CHECK CMD...   starts CMD there, prints `ready PORT` when the command CHECK succeeds
#                           there, ends CMD on SIGTERM; its output goes to $IW_WORK/out
#   serve_in_kernel NAME    the kernel of the guest serves until SIGTERM: `extra-NAME start`, `extra-NAME stop`
#   needs_extra             ends with status 3 if the guest has no programs of `peer-vm extra`
#   fetch FILE CMD...       runs CMD there and writes its output to FILE
#   connect_in_guest CMD... runs CMD there with a time limit, as connect_with does here

needs_guest() {
	[ "${IW_GUESTS:-}" = yes ] || {
		echo "${IW_GUESTS:-needs guest: no guest is used}"
		exit 3
	}
}

in_guest() {
	"$IW_GUEST_CALL" -t 50 "$IW_GUEST_STATE" "$@"
}

needs_extra() {
	[ "${IW_GUEST_EXTRA:-}" = yes ] || {
		echo "reason ${IW_GUEST_EXTRA:-the guest has no programs of peer-vm extra}"
		exit 3
	}
}

fetch() {
	to=$1
	shift
	in_guest "$@" >"$to" || exit 4
}

# job WHAT...: runs guest-job, which keeps programs that run in the background
job() {
	in_guest /usr/lib/iw/guest-job "$@"
}

serve_in_guest() {
	check=$1
	shift
	number=$(job start "$@") || exit 4
	stop=
	trap 'stop=yes' TERM
	if ! in_guest sh -c "i=400; until $check; do i=\$((i - 1)); [ \$i -gt 0 ] && [ ! -e /run/jobs/$number/status ] || exit 1; sleep 0.05; done"; then
		job kill "$number" KILL >&2
		exit 4
	fi
	echo "ready $IW_PORT"
	until [ -n "$stop" ]; do sleep 0.05; done
	# TERM for those that report at their end; a server of rdma-core may ignore it.
	SERVED=0
	in_guest sh -c "p=\$(cat /run/jobs/$number/pid); i=40; while [ ! -e /run/jobs/$number/status ]; do
		[ \$i -ne 38 ] || kill -s TERM -- -\$p; [ \$i -ne 0 ] || kill -s KILL -- -\$p; i=\$((i - 1)); sleep 0.05; done" >&2
	job wait "$number" >"$IW_WORK/out" || SERVED=$?
	cat "$IW_WORK/out" >&2
}

serve_in_kernel() {
	needs_extra
	stop=
	trap 'stop=yes' TERM
	in_guest "/usr/lib/iw/extra-$1" start "$IW_ADDRESS" "$IW_PORT" >&2 || exit 4
	echo "ready $IW_PORT"
	until [ -n "$stop" ]; do sleep 0.05; done
}

connect_in_guest() {
	status=0
	"$IW_GUEST_CALL" -t "$IW_TIMEOUT" "$IW_GUEST_STATE" "$@" >"$IW_WORK/out" 2>"$IW_WORK/err" || status=$?
	cat "$IW_WORK/out" "$IW_WORK/err" >&2
	case $status in
	0) return ;;
	2 | 125) exit 4 ;;
	124)
		echo "stuck $1 did not end within $IW_TIMEOUT s"
		exit 1
		;;
	*) failed "$1: exit status $status: $(cat "$IW_WORK/err" "$IW_WORK/out" | tail -n 1)" ;;
	esac
}

# tcp_listens: the check whether a program, or siw for rdma_cm, listens on the port
tcp_listens() {
	echo "ss -Hltn sport = :$IW_PORT | grep -q ."
}

# Sets the parameters of siw_tunable for this cell.
tune_siw() {
	p2p=N required=N
	[ "$IW_RTR" = none ] || p2p=Y
	[ "$IW_CRC" != required ] || required=Y
	in_guest sh -c "cd /sys/module/siw_tunable/parameters && echo $IW_REV >mpa_version && echo $p2p >peer_to_peer && echo $required >mpa_crc_required" || exit 4
}

# Loads SCTP. A socket of a cell over udp uses SCTP in UDP (RFC 6951). Each write of udp_port closes the
# kernel's UDP socket and opens another.
prepare_sctp() {
	encap=0
	[ "$IW_TRANSPORT" != udp ] || encap=9899
	in_guest sh -c "modprobe sctp && cd /proc/sys/net/sctp && echo $encap >encap_port &&
		{ [ \"\$(cat udp_port)\" = 9899 ] || echo 9899 >udp_port; }" >&2 || exit 4
}
