/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Inside bench: what the two ends share. */
#ifndef IW_BENCH_INTERNAL_H
#define IW_BENCH_INTERNAL_H

#include "ddp-bench/bench.h"

#include "ddp-bench/msg.h"
#include "util/num.h"
#include "util/text.h"

/* Memory of a run: pages of its own, zeroed. */
struct memory {
	uint8_t *base;
	size_t len;
	struct iw_xdp_memory *umem; /* NULL: it is none of it */
	bool borrowed;              /* a part of another one's */
};
IW_MUST_CHECK int iw_bench_memory_get(struct memory *m, uint64_t len, struct iw_fault *why);
/* The same in the UMEM of conn's interface, where "xdp" sends from it without a copy of ours. */
IW_MUST_CHECK int iw_bench_memory_get_umem(struct memory *m, const struct iw_conn_param *conn,
					   uint64_t len, struct iw_fault *why);
/* Writes all octets of it, so that no page is new in the window: the pattern of *seed, or zeros if seed
 * is NULL. IW_E_CANCELED: a signal asked to stop. */
IW_MUST_CHECK int iw_bench_memory_fill(struct memory *m, const uint64_t *seed,
				       struct iw_fault *why);
/* Octets of physical memory of this machine; UINT64_MAX: not known. */
uint64_t iw_bench_memory_of_machine(void);
/* @len octets of @all from @at on, for as long as that is there. */
void iw_bench_memory_part(struct memory *m, const struct memory *all, uint64_t at, uint64_t len);
void iw_bench_memory_put(struct memory *m);
/* Octets that an end needs for depth operations of size octets: UINT64_MAX when that is above
 * any bound. */
uint64_t iw_bench_memory_need(uint64_t size, uint64_t depth);

/* Work request numbers: data has the operation's, messages this bit with their place in the
 * outbox, and a MARK's number. */
#define WR_MSG      (UINT64_C(1) << 63)
#define WR_SLOT(id) ((unsigned)((id)&0xff))
#define WR_MARK(id) ((id) >> 8 & 0xffffffff)

/* Messages on their way out. */
#define OUTBOX 8
struct outbox {
	uint8_t buf[OUTBOX][IW_BENCH_MSG_MAX];
	bool busy[OUTBOX];
};
/* Posts it; @flags: more of enum iw_wr_flag; @mark is kept in the work request's number.
 * IW_E_FULL: OUTBOX of them are outstanding; or what iw_post_send says. */
IW_MUST_CHECK int iw_bench_send_msg(struct outbox *o, struct iw_qp *qp,
				    const struct iw_bench_msg *m, unsigned flags, uint64_t mark);
static inline void outbox_done(struct outbox *o, uint64_t wr_id)
{
	o->busy[WR_SLOT(wr_id) % OUTBOX] = false;
}

/* Posted receives: n buffers of cap octets each, used in turn. */
struct inbox {
	struct memory mem;
	uint32_t n, cap;
};
static inline uint8_t *inbox_at(const struct inbox *in, uint64_t i)
{
	return in->mem.base + i * in->cap;
}
/* Receives that an end posts for a mode, and the octets of each. The server's for IW_BENCH_SEND
 * are as many as may be outstanding. */
void iw_bench_inbox_shape(struct inbox *in, bool server, enum iw_bench_mode mode, uint64_t size,
			  uint32_t depth);
/* Memory for it, and all of them posted. */
IW_MUST_CHECK int iw_bench_inbox_open(struct inbox *in, struct iw_qp *qp, struct iw_fault *why);
static inline IW_MUST_CHECK int inbox_post(const struct inbox *in, struct iw_qp *qp, uint64_t i)
{
	return iw_post_recv(qp, i, inbox_at(in, i), in->cap);
}

/* MARKs that may be outstanding: a tick's, and the last. */
#define MARKS_MAX           4
/* Receives for messages beside those for data. A client's: an answer to each MARK, and as many CREDITs
 * as it has messages out for. A server's, where each may be as long as a message: MARKs and CHECK. */
#define MSG_RECEIVES        8
#define MSG_RECEIVES_SERVER 4

/* RDMA Reads outstanding that the ends agree on for that depth. */
static inline uint16_t iw_bench_reads(uint64_t depth)
{
	return (uint16_t)IW_MAX((uint64_t)16, IW_MIN(depth, (uint64_t)1024));
}

/* "6.1.0-18-amd64" into @out (@cap octets). */
void iw_bench_kernel(char *out, size_t cap);

#endif
