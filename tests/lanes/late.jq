# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# From the traces of both ends of tests/lanes (jq -s), what one lost message held up: a lane is late when one of its messages took
# longer, beyond what the quickest took, than half of what the slowest did. The first twelve of a lane (1.2 s) do not count: on a new
# TCP connection they also wait for its congestion window, which starts with ten segments (RFC 6928).
# Of these events the traces have others, without a lane.
[.[] | select((.event == "posted" or .event == "delivered") and has("lane"))]
| (map(select(.event == "posted")) | length) as $posted
| group_by([.lane, .number])
| map(select(length == 2))
| length as $delivered
| map(select(.[0].number >= 12) | { lane: .[0].lane, took: (map(.t_ns) | max - min) })
| (map(.took) | min) as $least | (map(.took) | max) as $most
| {
	posted: $posted, $delivered, least_ns: $least, most_ns: $most,
	late: (map(select(.took - $least > ($most - $least) / 2) | .lane) | unique | length)
}
