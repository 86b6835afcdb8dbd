/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Inside ddp-bench: what client and server share. */
#ifndef IW_DDP_BENCH_INTERNAL_H
#define IW_DDP_BENCH_INTERNAL_H

#include "cli/param.h"
#include "ddp-bench/bench.h"

#include "ddp-bench/msg.h"
#include "util/num.h"
#include "util/text.h"

/* Memory of a run: pages of its own, zeroed. */
struct memory {
	uint8_t *base;
	size_t len;
	struct iw_xdp_memory *umem; /* the UMEM to which it belongs; NULL: ordinary memory */
	bool borrowed;              /* it is a part of another memory */
};
IW_MUST_CHECK int iw_bench_memory_get(struct memory *m, uint64_t len, struct iw_fault *why);
/* Allocates it in the UMEM of conn's interface, from which "xdp" sends without a copy. */
IW_MUST_CHECK int iw_bench_memory_get_umem(struct memory *m, const struct iw_cli_param *conn,
					   uint64_t len, struct iw_fault *why);
/*
 * Writes all octets, so that no page is touched first within the window: the pattern of *seed, or
 * zeros if seed is NULL. Returns 0, or
 *  - IW_E_CANCELED: a signal asked to stop.
 */
IW_MUST_CHECK int iw_bench_memory_fill(struct memory *m, const uint64_t *seed,
				       struct iw_fault *why);
/* Returns the octets of physical memory of this machine; UINT64_MAX: not known. */
uint64_t iw_bench_memory_of_machine(void);
/* Sets *m to len octets of *all from offset `at`. Valid as long as *all is. */
void iw_bench_memory_part(struct memory *m, const struct memory *all, uint64_t at, uint64_t len);
void iw_bench_memory_put(struct memory *m);
/*
 * Returns the octets that an end needs for depth operations of size octets; UINT64_MAX on overflow.
 */
uint64_t iw_bench_memory_need(uint64_t size, uint64_t depth);

/*
 * Ids of work requests. Data: the number of the operation. Messages: this bit, the slot of the
 * outbox, and the number of a MARK.
 */
#define WR_MSG      (UINT64_C(1) << 63)
#define WR_SLOT(id) ((unsigned)((id)&0xff))
#define WR_MARK(id) ((id) >> 8 & 0xffffffff)

/* Messages being sent. */
#define OUTBOX 8
struct outbox {
	uint8_t buf[OUTBOX][IW_BENCH_MSG_MAX];
	bool busy[OUTBOX];
};
/*
 * Posts a message. flags: more of enum iw_wr_flag. mark becomes part of the work request's id.
 * Returns 0, or
 *  - IW_E_FULL: OUTBOX messages are outstanding;
 *  - others: of iw_post_send().
 */
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
/*
 * Sets the number and the size of the receives that an end posts for a mode. A server posts for
 * IW_BENCH_SEND as many as may be outstanding.
 */
void iw_bench_inbox_shape(struct inbox *in, bool server, enum iw_bench_mode mode, uint64_t size,
			  uint32_t depth);
/* Allocates the memory and posts all receives. */
IW_MUST_CHECK int iw_bench_inbox_open(struct inbox *in, struct iw_qp *qp, struct iw_fault *why);
static inline IW_MUST_CHECK int inbox_post(const struct inbox *in, struct iw_qp *qp, uint64_t i)
{
	return iw_post_recv(qp, i, inbox_at(in, i), in->cap, NULL);
}

/* MARKs that may be outstanding: one of an interval, and the last. */
#define MARKS_MAX           4
/*
 * Receives for messages, in addition to those for data. A client's: an answer to each MARK, and as
 * many CREDITs as the server may have outstanding. A server's, each as long as a data message:
 * MARKs and CHECK.
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
