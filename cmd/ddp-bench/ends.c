// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Memory, receives and outgoing messages, for both ends of a run. */
#include "ddp-bench/internal.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/human.h"
#include "cli/param.h"
#include "cli/pattern.h"
#include "cli/signals.h"
#include "os/os.h"

/* Octets that are filled between two checks for a signal. */
#define FILL ((size_t)16 << 20)

const char *const iw_bench_mode_names[IW_BENCH_MODES + 1] = { "write",    "read", "send",
							      "pingpong", "rate", NULL };

uint64_t iw_bench_memory_need(uint64_t size, uint64_t depth)
{
	if (size > IW_BENCH_SIZE_MAX || depth > IW_BENCH_DEPTH_MAX)
		return UINT64_MAX;
	return IW_MAX(size, (uint64_t)1) * depth;
}

int iw_bench_memory_get(struct memory *m, uint64_t len, struct iw_fault *why)
{
	char size[IW_HUMAN_TEXT];
	void *p;

	/* Even zero-length messages need an address. */
	m->len = len ? (size_t)len : 1;
	p = mmap(NULL, m->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		m->len = 0;
		return iw_fail(
			why, IW_E_NOMEM,
			"allocate %s: out of memory; use a smaller --size, --depth or --connections",
			iw_human_size(size, len));
	}
	m->base = p;
	return 0;
}

int iw_bench_memory_get_umem(struct memory *m, const struct iw_cli_param *conn, uint64_t len,
			     struct iw_fault *why)
{
	int err = iw_xdp_memory_new(&m->umem, &conn->at, len ? (size_t)len : 1, why);

	if (err)
		return err;
	m->len = len ? (size_t)len : 1;
	m->base = iw_xdp_memory_addr(m->umem);
	return 0;
}

int iw_bench_memory_fill(struct memory *m, const uint64_t *seed, struct iw_fault *why)
{
	for (size_t at = 0; at < m->len; at += FILL) {
		size_t len = IW_MIN(m->len - at, FILL);

		if (iw_signals_stop())
			return iw_fail(why, IW_E_CANCELED, "stopped by a signal");
		if (seed)
			iw_pattern_fill(m->base + at, len, *seed, at);
		else
			memset(m->base + at, 0, len);
	}
	return 0;
}

uint64_t iw_bench_memory_of_machine(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : UINT64_MAX;
}

void iw_bench_memory_part(struct memory *m, const struct memory *all, uint64_t at, uint64_t len)
{
	*m = (struct memory){ .base = all->base + at, .len = (size_t)len, .borrowed = true };
}

void iw_bench_memory_put(struct memory *m)
{
	if (m->umem)
		iw_xdp_memory_free(m->umem);
	else if (m->base && !m->borrowed)
		munmap(m->base, m->len);
	*m = (struct memory){ 0 };
}

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

int iw_bench_inbox_open(struct inbox *in, struct iw_qp *qp, struct iw_fault *why)
{
	int err = iw_bench_memory_get(&in->mem, (uint64_t)in->n * in->cap, why);

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
