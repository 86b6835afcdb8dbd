# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# Progress on standard error.
# The pieces of scripts/bench share their variables:
# shellcheck disable=SC2034,SC2119,SC2120,SC2154

# cost ID: the approximate seconds that a figure takes, including starts and ends of programs
cost() {
	local run=$((seconds + 2))

	case $1 in
	P1 | P1a | P1lo | P2 | P3) echo $((pairs * 2 * 2 * run)) ;; # cubic and bbr
	P3u | P4 | P8 | P8awake | P9 | L1) echo $((pairs * 2 * run)) ;;
	L2) echo $((pairs * (2 * seconds + 3))) ;;
	L3) echo 10 ;;
	# P5m, P6 and P6m come from the same run, P10 from the run of P1
	P5) [ -z "$quick" ] && echo 120 || echo 20 ;;
	P5m | P6 | P6m | P10) echo 0 ;;
	P7 | P13) echo $((pairs * 10 + 10)) ;;
	P11) echo 8 ;;
	P30) echo $((pairs * 4 * run)) ;;
	P31) echo $((pairs * 2 * run)) ;;
	P32 | P32m) echo $((pairs * 40 + 10)) ;;
	P33) echo $((pairs * 3 * (seconds + 1))) ;;
	P12 | P12u) echo 15 ;;
	plot) [ -z "$quick" ] && echo 170 || echo 8 ;;
	esac
}

began=$SECONDS
figure='' figure_began=0
declare -A is_done=() # the figures that were measured, failed or were skipped

clock() {
	printf '%d:%02d' $(($1 / 60)) $(($1 % 60))
}

# say 'ID: WHAT': reports what runs now; say '': that figure is done
say() {
	local id=${1%%:*} i left=0 n=0 total=0 text

	if [ -z "$1" ]; then
		case $figure in
		P1) is_done[P10]=1 ;;
		P5) is_done[P5m]=1 is_done[P6]=1 is_done[P6m]=1 ;;
		esac
		[ -z "$figure" ] || is_done[$figure]=1
		figure=
		[ ! -t 2 ] || printf '\r\033[K' >&2
		return
	fi
	[ "$id" = "$figure" ] || figure_began=$SECONDS
	for i in $only; do
		total=$((total + 1))
		if [ -n "${is_done[$i]:-}" ]; then n=$((n + 1)); else left=$((left + $(cost "$i"))); fi
	done
	left=$((left - (SECONDS - figure_began)))
	[ $left -ge 0 ] || left=0
	text="bench: $1; $n of $total figures done, $(clock $((SECONDS - began))), about $(clock $left) left"
	if [ -t 2 ]; then
		printf '\r\033[K%s' "$text" >&2
	elif [ "$id" != "$figure" ]; then
		echo "$text" >&2
	fi
	figure=$id
}

# skip ID REASON: the figure is not measured
skip() {
	is_done[$1]=1
	printf '%s\t%s\n' "$1" "$2" >>"$work/skipped"
}
