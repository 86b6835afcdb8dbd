/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Inside ddp-bench: receives and outgoing messages, for client and server. */
#ifndef IW_DDP_BENCH_INTERNAL_H
#define IW_DDP_BENCH_INTERNAL_H

#include "cli/param.h"
#include "ddp-bench/bench.h"

#include "ddp-bench/memory.h"
#include "ddp-bench/msg.h"
#include "util/num.h"
#include "util/text.h"

/*
 * Ids of work requests. Data: the number of the operation. Messages: WR_MSG, the slot of the
 * outbox, and for a MARK its number plus 1.
 */
#define WR_MSG      (UINT64_C(1) << 63)
#define WR_SLOT(id) ((unsigned)((id)&0xff))
#define WR_MARK(id) ((id) >> 8 & 0xffffffff)

/* Messages posted and not yet completed, and their memory. */
#define OUTBOX 8
struct outbox {
	uint8_t buf[OUTBOX][IW_BENCH_MSG_MAX];
	bool busy[OUTBOX];
};
/*
 * Posts a message. flags: further ones of enum iw_wr_flag. mark becomes part of the work request's
 * id: WR_MARK. Returns 0, or
 *  - IW_E_FULL: OUTBOX messages are outstanding;
 *  - others: of iw_post_send().
 */
IW_MUST_CHECK int iw_bench_send_msg(struct outbox *o, struct iw_qp *qp,
				    const struct iw_bench_msg *m, unsigned flags, uint64_t mark);
/* Frees the slot of a completed message. */
static inline void outbox_done(struct outbox *o, uint64_t wr_id)
{
	o->busy[WR_SLOT(wr_id) % OUTBOX] = false;
}

/* Posted receives, with n buffers of cap octets each. */
struct inbox {
	struct memory mem;
	uint32_t n, cap;
};
static inline uint8_t *inbox_at(const struct inbox *in, uint64_t i)
{
	return in->mem.base + i * in->cap;
}
/*
 * Sets the number and the size of the receives that an end posts for a mode. An end that receives
 * data as Sends posts a receive for each message that may be outstanding.
 */
void iw_bench_inbox_shape(struct inbox *in, bool server, enum iw_bench_mode mode, uint64_t size,
			  uint32_t depth);
/* Allocates the memory and posts all receives. Frees nothing after an error. IW_E_NOMEM; others: of
 * iw_post_recv(). */
IW_MUST_CHECK int iw_bench_inbox_open(struct inbox *in, struct iw_bench_blocks *from,
				      struct iw_qp *qp, struct iw_fault *why);
static inline IW_MUST_CHECK int inbox_post(const struct inbox *in, struct iw_qp *qp, uint64_t i)
{
	return iw_post_recv(qp, i, inbox_at(in, i), in->cap, NULL);
}

/* MARKs whose state a client keeps. Outstanding are at most one for an interval and the last. */
#define MARKS_MAX           4
/*
 * Receives for messages, in addition to those for data. At a client they are for an answer to each
 * MARK and for as many CREDITs as the server may have outstanding. At a server they are for MARKs
 * and CHECK, and as long as those for data.
 */
#define MSG_RECEIVES        8
#define MSG_RECEIVES_SERVER 4

/* Returns the IRD and ORD that both ends use for that depth. */
static inline uint16_t iw_bench_reads(uint64_t depth)
{
	return (uint16_t)IW_MAX((uint64_t)16, IW_MIN(depth, (uint64_t)1024));
}

/* Writes the kernel's release, "6.1.0-18-amd64", to out of cap octets. */
void iw_bench_kernel(char *out, size_t cap);

#endif
