/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Inside ddp-bench: memory, receives and outgoing messages, for client and server. */
#ifndef IW_DDP_BENCH_INTERNAL_H
#define IW_DDP_BENCH_INTERNAL_H

#include "cli/param.h"
#include "ddp-bench/bench.h"

#include "ddp-bench/msg.h"
#include "util/num.h"
#include "util/text.h"

/* Memory of a run, in pages of its own. */
struct memory {
	uint8_t *base;
	size_t len;
	struct iw_xdp_memory *umem; /* owned: memory in a UMEM; NULL: ordinary memory */
	bool borrowed;              /* it is a part of other memory */
};
/* Allocates zeroed memory of len octets (0: 1). The caller frees it with iw_bench_memory_put.
 * IW_E_NOMEM. */
IW_MUST_CHECK int iw_bench_memory_get(struct memory *m, uint64_t len, struct iw_fault *why);
/* The same in the UMEM of conn's interface, from which "xdp" sends without a copy. Errors: those of
 * iw_xdp_memory_new. */
IW_MUST_CHECK int iw_bench_memory_get_umem(struct memory *m, const struct iw_cli_param *conn,
					   uint64_t len, struct iw_fault *why);
/*
 * Writes all octets, so that no page is touched for the first time within the window: with the
 * pattern of *seed, or zeros if seed is NULL. IW_E_CANCELED: a signal asked the process to stop.
 */
IW_MUST_CHECK int iw_bench_memory_fill(struct memory *m, const uint64_t *seed,
				       struct iw_fault *why);
/* Returns the octets of physical memory of this machine; UINT64_MAX: not known. */
uint64_t iw_bench_memory_of_machine(void);
/* Sets *m to len octets of *all, beginning at offset `at`. Valid as long as *all is. */
void iw_bench_memory_part(struct memory *m, const struct memory *all, uint64_t at, uint64_t len);
/* Frees the memory, unless it is borrowed, and sets *m to zero. */
void iw_bench_memory_put(struct memory *m);
/*
 * Returns the octets that an end needs for depth operations of size octets; UINT64_MAX: one of them
 * is above its limit.
 */
uint64_t iw_bench_memory_need(uint64_t size, uint64_t depth);

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
IW_MUST_CHECK int iw_bench_inbox_open(struct inbox *in, struct iw_qp *qp, struct iw_fault *why);
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
