# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Evaluates the traces of both ends of tests/parallel_streams (jq -s): on how many sequences one
# lost message delayed others. A sequence is late if one of its messages took longer than the
# quickest message by more than half of the difference between the slowest and the quickest. If this
# difference is less than 100 ms, no message was lost, and none is late: a retransmission takes at
# least a round trip, and all our measurements have one of 200 ms or more. The
# first twelve messages of a sequence (1.2 s) are ignored: on a new TCP connection they also wait
# for its congestion window, which starts with ten segments (RFC 6928). The traces also contain
# events of these kinds without a sequence, which are ignored.
[.[] | select((.event == "posted" or .event == "delivered") and has("sequence"))]
| (map(select(.event == "posted")) | length) as $posted
| group_by([.sequence, .number])
| map(select(length == 2))
| length as $delivered
| map(select(.[0].number >= 12) | { sequence: .[0].sequence, took: (map(.t_ns) | max - min) })
| (map(.took) | min) as $least | (map(.took) | max) as $most
| {
	posted: $posted, $delivered, least_ns: $least, most_ns: $most,
	late: (if $most - $least < 100000000 then 0
		else map(select(.took - $least > ($most - $least) / 2) | .sequence) | unique | length end)
}
