// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Diagnoses the far end by sending one message. */
#include "sctp-ddp-ping/ping.h"

#include <string.h>

void iw_ping_diagnose(struct iw_ping_diagnosis *out, const struct iw_ping_cfg *cfg)
{
	struct iw_ping_cfg one = *cfg;
	struct iw_ping_event event = { .kind = IW_PING_UP };
	struct iw_ping *p;
	struct iw_fault why;
	const uint8_t *pd;
	int err;

	*out = (struct iw_ping_diagnosis){ .transport = cfg->conn.at.transport };
	one.streams = 1;
	one.count = 1;
	one.timeout_ns = one.setup_ns;
	if (iw_ping_new(&p, &one, &why) < 0) {
		out->fault = why;
		out->what = iw_ping_far_end(&out->fault, false);
		return;
	}
	do {
		err = iw_ping_next(p, &event, &why);
		if (!err && event.kind == IW_PING_REPLY)
			out->rtt_ns = event.rtt_ns;
	} while (!err && event.kind != IW_PING_DONE);
	if (err)
		out->fault = why;
	out->assoc = *iw_ping_assoc(p);
	out->what = iw_ping_far_end(&out->fault, out->assoc.npaths > 0);
	pd = iw_ping_private_data(p, &out->private_data_len);
	if (pd)
		memcpy(out->private_data, pd, out->private_data_len);
	iw_ping_free(p);
}
