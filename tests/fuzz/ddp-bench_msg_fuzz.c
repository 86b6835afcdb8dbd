// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Messages of ddp-bench from a peer, which also come as Private Data: a decoded message stays the
 * same when it is encoded and decoded again.
 */
#include "ddp-bench/msg.h"

#include "fuzz/property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct iw_bench_msg m, again, third;
	uint8_t buf[IW_BENCH_MSG_MAX];
	struct iw_fault why;
	size_t n;

	if (iw_bench_msg_decode(&m, data, len, &why) != 0) {
		must(why.err == IW_E_FORMAT || why.err == IW_E_TRUNC);
		return 0;
	}
	must(strlen(m.text) <= IW_BENCH_TEXT);
	must(strcmp(iw_bench_type_name(m.type), "?") != 0);
	n = iw_bench_msg_encode(buf, &m);
	must(n <= sizeof(buf));
	/* The encoder writes the numbers of its own version; a peer may send more or fewer. */
	must(iw_bench_msg_decode(&again, buf, n, &why) == 0);
	must(again.type == m.type && strcmp(again.text, m.text) == 0);
	must(iw_bench_msg_encode(buf, &again) == n);
	must(iw_bench_msg_decode(&third, buf, n, &why) == 0);
	must(memcmp(again.number, third.number, sizeof(again.number)) == 0);
	return 0;
}
