// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Receives and outgoing messages, for both ends of a run. */
#include "ddp-bench/internal.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "cli/param.h"
#include "os/os.h"

const char *const iw_bench_mode_names[IW_BENCH_MODES + 1] = { "write",    "read", "send",
							      "pingpong", "rate", NULL };

int iw_bench_send_msg(struct outbox *o, struct iw_qp *qp, const struct iw_bench_msg *m,
		      unsigned flags, uint64_t mark)
{
	struct iw_send_wr wr = { .op = IW_WR_SEND, .flags = IW_WR_SOLICITED | flags, .nsge = 1 };
	struct iw_sge sge;
	int err;

	for (unsigned i = 0; i < OUTBOX; i++) {
		if (o->busy[i])
			continue;
		sge = (struct iw_sge){ o->buf[i], iw_bench_msg_encode(o->buf[i], m) };
		wr.sge = &sge;
		wr.wr_id = WR_MSG | mark << 8 | i;
		err = iw_post_send(qp, &wr, NULL);
		o->busy[i] = err == 0;
		return err;
	}
	return IW_E_FULL;
}

void iw_bench_inbox_shape(struct inbox *in, bool server, enum iw_bench_mode mode, uint64_t size,
			  uint32_t depth)
{
	bool data = mode == IW_BENCH_PINGPONG || (mode == IW_BENCH_SEND && server);

	in->n = (server ? MSG_RECEIVES_SERVER : MSG_RECEIVES) + (data ? depth : 0);
	in->cap = data ? (uint32_t)IW_MAX(size, (uint64_t)IW_BENCH_MSG_MAX) : IW_BENCH_MSG_MAX;
}

int iw_bench_inbox_open(struct inbox *in, struct iw_bench_blocks *from, struct iw_qp *qp,
			struct iw_fault *why)
{
	int err = iw_bench_memory_get(&in->mem, from, (uint64_t)in->n * in->cap, why);

	for (uint32_t i = 0; i < in->n && !err; i++) {
		err = inbox_post(in, qp, i);
		if (err)
			iw_fail(why, err, "post a receive: %s", iw_err_text(err));
	}
	return err;
}

void iw_bench_kernel(char *out, size_t cap)
{
	struct utsname u;

	snprintf(out, cap, "%s", uname(&u) == 0 ? u.release : "unknown");
}
