#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Compares, field by field, the MPA frames and FPDUs that ddp-dump and tshark find in the captures
# of tests/vectors/traces.
#
# tshark reassembles an FPDU that spans TCP segments if it begins a segment, and reports it in the
# frame that completes it. All FPDUs of these captures begin a segment, and ddp-dump reports the
# same frame. So every FPDU of every capture is compared, and the numbers of rows must agree. tshark
# 4.0 prints CRC verdicts only as text, so verdicts are compared by number, and the CRC fields one
# by one.
#
# bats file_tags=beside
#
# Exit status: 0 they agree, 1 they do not, 3 tshark is not installed.

set -uo pipefail
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 4

dump=${IW_BUILD:-build}/ddp-dump
traces=tests/vectors/traces

for tool in tshark jq; do
	command -v "$tool" >/dev/null || {
		echo "needs $tool: it is not installed"
		exit 3
	}
done
[ -x "$dump" ] || {
	echo "$dump was not built"
	exit 1
}
tmp=$(mktemp -d) || exit 4
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

readonly OPTIONS=(-o tcp.try_heuristic_first:TRUE --disable-protocol rpcordma)

readonly FIELDS=(frame.number tcp.stream
	iwarp_mpa.marker_flag iwarp_mpa.crc_flag iwarp_mpa.rej_flag iwarp_mpa.res iwarp_mpa.rev iwarp_mpa.pdlength iwarp_mpa.privatedata
	iwarp_mpa.ulpdulength iwarp_rdma.opcode iwarp_ddp.tagged_flag iwarp_ddp.last_flag iwarp_ddp.dv iwarp_rdma.version
	iwarp_ddp.stag iwarp_ddp.tagged_offset iwarp_ddp.qn iwarp_ddp.msn iwarp_ddp.mo iwarp_rdma.inval_stag
	iwarp_mpa.crc iwarp_mpa.crc_check
	iwarp_rdma.sinkstag iwarp_rdma.sinkto iwarp_rdma.rdmardsz iwarp_rdma.srcstag iwarp_rdma.srcto
	iwarp_rdma.term_layer iwarp_rdma.term_hdrct_m iwarp_rdma.hdrct_d iwarp_rdma.hdrct_r)

# tshark_rows FILE: prints one line per frame, with fields separated by |, and "-" for a missing
# field. tshark has a field for an unchecked CRC and one for a checked CRC; the row has the one that
# is present.
tshark_rows() {
	local f args=()

	for f in "${FIELDS[@]}"; do args+=(-e "$f"); done
	tshark -r "$1" "${OPTIONS[@]}" -T fields -E separator='|' "${args[@]}" 2>/dev/null |
		awk -F '|' -v OFS='|' '{ for (i = 1; i <= NF; i++) if ($i == "") $i = "-"; if ($22 == "-") $22 = $23; print }'
}

tshark_mpa() {
	awk -F '|' '$3 != "-"' "$1" | cut -d '|' -f 1-9
}

tshark_ddp() {
	awk -F '|' -v OFS='|' '$10 != "-" { if ($21 != "-") $21 = sprintf("0x%08x", $21); print }' "$1" | cut -d '|' -f 1,2,10-22,24-
}

# shellcheck disable=SC2016
ours_ddp() {
	jq -r 'def bit: if . then 1 else 0 end;
		def hex2: "0x0" + "0123456789abcdef"[.:. + 1];
		select(.event == "ddp") |
		[.frame, .flow, .ulpdu_octets, (.opcode | hex2), (.t | bit), (.l | bit), .dv, .rv, .stag // "-", .to // "-",
		 .qn // "-", .msn // "-", .mo // "-",
		 (if .opcode == 4 or .opcode == 6 then .inval_stag else "-" end), .crc_field] +
		(.read_request // {} | [.sink_stag // "-", .sink_to // "-", .size_octets // "-", .src_stag // "-", .src_to // "-"]) +
		(.terminate | if . then [(.layer | hex2), (.m | bit), (.d | bit), (.r | bit)] else ["-", "-", "-", "-"] end) |
		map(tostring) | join("|")' "$1"
}

# tshark 4.0 does not know RFC 6581: the enhanced data is converted back to octets.
# shellcheck disable=SC2016
ours_mpa() {
	jq -r 'def bit: if . then 1 else 0 end;
		select(.event == "mpa") |
		[.frame, .flow, (.m | bit), (.c | bit), (.r | bit), (.s | bit), .res, .rev, .private_data_octets, (has("ird") | bit),
		 (.peer_to_peer | bit), (.rtr_send | bit), .ird // 0, (.rtr_write | bit), (.rtr_read | bit), .ord // 0, .private_data] |
		map(tostring) | join("|")' "$1" |
		awk -F '|' '{
			enhanced = $10 ? sprintf("%04x%04x", $11 * 32768 + $12 * 16384 + $13, $14 * 32768 + $15 * 16384 + $16) : ""
			pd = enhanced $17
			printf "%s|%s|%s|%s|%s|0x%02x|%s|%s|%s\n", $1, $2, $3, $4, $5, $6 * 16 + $7, $8, $9, pd == "" ? "-" : pd
		}'
}

# Prints "GOOD BAD", the numbers of the verdicts in tshark's text.
tshark_verdicts() {
	if ! awk -F '|' '$23 != "-" { found = 1 } END { exit !found }' "$2"; then
		echo '0 0'
		return
	fi
	tshark -r "$1" "${OPTIONS[@]}" -O iwarp_mpa 2>/dev/null |
		awk '/\(Good CRC32\)/ { good++ } /\(Bad CRC32/ { bad++ } END { print good + 0, bad + 0 }'
}

files=0 frames=0 fpdus=0 good=0 bad=0

# agree WHAT FILE: compares $tmp/theirs with $tmp/ours
agree() {
	if ! diff "$tmp/theirs" "$tmp/ours" >"$tmp/diff"; then
		echo "$2: $1: tshark (<) and ddp-dump (>) differ"
		head -n 20 "$tmp/diff"
		bad=1
	fi
}

for pcap in "$traces"/*.pcap; do
	files=$((files + 1))
	"$dump" -q --json -r "$pcap" >"$tmp/json" || {
		echo "$pcap: ddp-dump ended with status $?"
		bad=1
	}
	tshark_rows "$pcap" >"$tmp/rows"
	tshark_mpa "$tmp/rows" >"$tmp/theirs"
	ours_mpa "$tmp/json" >"$tmp/ours"
	agree 'MPA Requests and Replies' "$pcap"
	frames=$((frames + $(wc -l <"$tmp/theirs")))

	tshark_ddp "$tmp/rows" >"$tmp/theirs"
	ours_ddp "$tmp/json" >"$tmp/ours"
	if grep -q , "$tmp/theirs"; then
		echo "$pcap: tshark shows two FPDUs in one frame, which this comparison does not take apart"
		bad=1
	fi
	agree FPDUs "$pcap"
	fpdus=$((fpdus + $(wc -l <"$tmp/theirs")))

	theirs=$(tshark_verdicts "$pcap" "$tmp/rows")
	ours=$(jq -r 'select(.event == "result") | "\(.crc_good) \(.crc_bad)"' "$tmp/json")
	if [ "$theirs" != "$ours" ]; then
		echo "$pcap: CRCs good and bad: tshark says $theirs, ddp-dump $ours"
		bad=1
	fi
	good=$((good + ${ours%% *}))
done

# Fail if nothing was compared.
if [ $files -lt 25 ] || [ $frames -lt 60 ] || [ $fpdus -lt 1000 ] || [ $good -lt 200 ]; then
	echo "too little was compared: $files captures, $frames MPA frames, $fpdus FPDUs, $good good CRCs"
	bad=1
fi
echo "$files captures, $frames MPA frames, $fpdus FPDUs, $good good CRCs compared with $(tshark -v 2>/dev/null | sed -n '1s/ (Git.*//p')"
exit $bad
