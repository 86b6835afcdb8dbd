# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# Progress on standard error.
# The pieces of scripts/bench share their variables:
# shellcheck disable=SC2034,SC2119,SC2120,SC2154

# cost ID: the approximate seconds that a figure takes, including starts and ends of programs
cost() {
	local seconds=${whole_seconds:-$seconds} # losses() has its own `seconds`
	local run=$((seconds + 2))

	case $1 in
	P1 | P1a | P1lo | P2 | P3 | P3m | P3j | P3s) echo $((pairs * 2 * 2 * run)) ;; # cubic and bbr
	P3u | P4 | P8 | P8awake | P9) echo $((pairs * 2 * run)) ;;
	L1) echo $((pairs * 2 * ($(lossy_seconds) + 2))) ;;
	L1b) echo $((pairs * 3 * ($(lossy_seconds) + 2))) ;;
	L2 | L2b) echo $((pairs * ($(sharing_seconds) + 3))) ;;
	# at most three rounds, with scp and cubic up to the time limit; two more runs up to it
	L4) [ -z "$quick" ] && echo $(((pairs < 3 ? pairs : 3) * 110 + 135)) || echo 60 ;;
	L3) echo 10 ;;
	# P5m, P6 and P6m come from the same run, P10 from the run of P1
	P5) echo $(((pairs < 5 ? pairs : 5) * 8 + 10)) ;;
	P5m | P6 | P6m | P10) echo 0 ;;
	P7) echo $((pairs * 20 + 50)) ;; # cubic and bbr
	P13) echo $((pairs * 16 + 10)) ;;
	P11) echo 8 ;;
	P30) echo $((pairs * 4 * run)) ;;
	P31) echo $((pairs * 2 * run)) ;;
	P32) echo $((pairs * 16 + 5)) ;;
	P32m) echo $((pairs * 9 + 5)) ;;
	P14 | P14u) echo $((pairs * 2 * 2 * run)) ;;
	P15 | P15u | P16 | P16m) echo $((pairs * 2 * run)) ;;
	P33) echo $((pairs * 3 * (seconds + 1))) ;;
	P12 | P12u) echo 15 ;;
	plot) [ -z "$quick" ] && echo 95 || echo 8 ;;
	esac
}

began=$SECONDS
figure='' figure_began=0
declare -A is_done=() # the figures that were measured, failed or were skipped

clock() {
	printf '%d:%02d' $(($1 / 60)) $(($1 % 60))
}

# What runs now: the second of the script, the seconds left at that time, and the text. Empty:
# nothing.
progress=$work/progress
ticker=

# Prints the current line.
draw() {
	local at left text width

	read -r at left text 2>/dev/null <"$progress" || return 0
	left=$((left - (SECONDS - at)))
	[ $left -ge 0 ] || left=0
	text="bench: $text, $(clock $((SECONDS - began))), about $(clock $left) left"
	if [ -t 2 ]; then
		width=$(stty size <&2 2>/dev/null)
		width=${width#* }
		[ "${width:-0}" -gt 1 ] || width=80
		printf '\r\033[K%.*s' $((width - 1)) "$text" >&2
	else
		echo "$text" >&2
	fi
}

# Draws the line again each second on a terminal, and each 30 s elsewhere.
tick() {
	local each=30

	[ ! -t 2 ] || each=1
	while sleep $each; do
		(flock 9 && draw) 9>"$progress.lock"
	done
}

# Replaces the line, or removes it if TEXT is empty.
show() {
	[ -n "$ticker" ] || {
		: >"$progress"
		tick </dev/null >/dev/null &
		ticker=$!
	}
	(
		flock 9
		echo "$1" >"$progress"
		[ ! -t 2 ] || printf '\r\033[K' >&2
	) 9>"$progress.lock"
}

# say 'ID: WHAT': reports what runs now; say '': that figure is done
say() {
	local id=${1%%:*} i left=0 n=0 total=0

	if [ -z "$1" ]; then
		case $figure in
		P1) is_done[P10]=1 ;;
		P5) is_done[P5m]=1 is_done[P6]=1 is_done[P6m]=1 ;;
		esac
		[ -z "$figure" ] || is_done[$figure]=1
		figure=
		show ''
		return
	fi
	[ "$id" = "$figure" ] || figure_began=$SECONDS
	for i in $only; do
		total=$((total + 1))
		if [ -n "${is_done[$i]:-}" ]; then n=$((n + 1)); else left=$((left + $(cost "$i"))); fi
	done
	[ -z "$beside" ] || left=$((left * 3 / 2))
	left=$((left - (SECONDS - figure_began)))
	show "$SECONDS $left $1; $n of $total figures done"
	if [ -t 2 ] || [ "$id" != "$figure" ]; then draw; fi
	figure=$id
}

# complain TEXT: prints a message in place of the line
complain() {
	[ ! -t 2 ] || printf '\r\033[K' >&2
	echo "bench: $1" >&2
}

# note TEXT: a remark that also follows the table
note() {
	complain "$1"
	echo "$1" >>"$work/notes"
}

# skip ID REASON: the figure is not measured
skip() {
	is_done[$1]=1
	printf '%s\t%s\n' "$1" "$2" >>"$work/skipped"
}
