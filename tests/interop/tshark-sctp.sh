#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Compares how ddp-dump and tshark decode the SCTP captures of other implementations in
# tests/vectors/traces/sctp: the INITs, the messages with the PPIDs of DDP and their streams, and
# the verdict on every checksum. (tshark 4.0 does not decode DDP after these PPIDs.)
#
# ddp-dump reports a fragmented message with the TSN of its last fragment, so the chunk with the E
# bit is compared. ddp-dump does not follow associations that indicate no DDP; their INITs are not
# compared.
#
# bats file_tags=beside
#
# Exit status: 0 they agree, 1 they do not, 3 tshark is not installed.

set -uo pipefail
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 4

dump=${IW_BUILD:-build}/ddp-dump

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

readonly FIELDS=(frame.number sctp.chunk_type
	sctp.init_initial_tsn sctp.init_nr_out_streams sctp.init_nr_in_streams
	sctp.initack_initial_tsn sctp.initack_nr_out_streams sctp.initack_nr_in_streams sctp.adaptation_layer_indication
	sctp.data_tsn_raw sctp.data_sid sctp.data_payload_proto_id sctp.data_e_bit sctp.checksum.status)

tshark_rows() {
	local f args=()

	for f in "${FIELDS[@]}"; do args+=(-e "$f"); done
	tshark -r "$1" -o 'sctp.checksum:CRC 32c' -T fields -E separator='|' "${args[@]}" 2>/dev/null
}

# Prints "init FRAME TSN OUT IN ADAPTATION", and "data TSN STREAM PPID" for each message: a frame
# may hold several chunks.
tshark_says() {
	awk -F '|' '
		$3 != "" && $9 != "" { print "init", $1, $3, $4, $5, hex($9) }
		$6 != "" && $9 != "" { print "init", $1, $6, $7, $8, hex($9) }
		$10 != "" {
			n = split($10, tsn, ","); split($11, sid, ","); split($12, ppid, ","); split($13, e, ",")
			for (i = 1; i <= n; i++)
				if (e[i] == 1 && (ppid[i] == 16 || ppid[i] == 17) && !seen[tsn[i]]++)
					print "data", tsn[i], hex(sid[i]), ppid[i]
		}
		function hex(s,   i, v) {
			for (i = 3; i <= length(s); i++) v = v * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1
			return v + 0
		}' "$1" | sort
}

we_say() {
	jq -r 'if .event == "sctp" and (.kind == "init" or .kind == "init-ack") and has("adaptation_indication") then
			"init \(.frame) \(.tsn) \(.streams_out) \(.streams_in_max) \(.adaptation_indication)"
		elif .event == "ddp" then "data \(.tsn) \(.stream) 16"
		elif .event == "session" then "data \(.tsn) \(.stream) 17"
		else empty end' "$1" | sort
}

files=0 rows=0 bad=0 packets=0
for pcap in tests/vectors/traces/sctp/*.pcap; do
	files=$((files + 1))
	# status 1: the data after the PPIDs of DDP is not DDP
	"$dump" -q --json -r "$pcap" >"$tmp/json"
	[ $? -le 1 ] || bad=1
	tshark_rows "$pcap" >"$tmp/rows"
	tshark_says "$tmp/rows" >"$tmp/theirs"
	we_say "$tmp/json" >"$tmp/ours"
	if ! diff "$tmp/theirs" "$tmp/ours" >"$tmp/diff"; then
		echo "$pcap: tshark (<) and ddp-dump (>) differ"
		head -n 20 "$tmp/diff"
		bad=1
	fi
	rows=$((rows + $(wc -l <"$tmp/theirs")))
	# tshark prints 1 for a good checksum; ddp-dump prints nothing.
	theirs=$(cut -d '|' -f 14 "$tmp/rows" | grep -vc '^1\(,1\)*$')
	ours=$(jq -r 'select(.event == "error" and .clause == "RFC 9260 6.8") | .frame' "$tmp/json" | wc -l)
	if [ "$theirs" != "$ours" ]; then
		echo "$pcap: bad checksums: tshark says $theirs, ddp-dump $ours"
		bad=1
	fi
	packets=$((packets + $(wc -l <"$tmp/rows")))
done

# Fail if nothing was compared.
if [ $files -lt 7 ] || [ $rows -lt 12 ] || [ $packets -lt 400 ]; then
	echo "too little was compared: $files captures, $rows INITs and messages, $packets packets"
	bad=1
fi
echo "$files captures, $rows INITs and messages, $packets checksums compared with $(tshark -v 2>/dev/null | sed -n '1s/ (Git.*//p')"
exit $bad
