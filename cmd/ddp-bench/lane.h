/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Inside ddp-bench: a client and its lanes. A lane is a connection, or a DDP stream of an
 * association, with memory, operations and MARKs of its own. The server sees each lane as a client.
 *
 * lane.c moves and checks data. client.c moves all lanes together from phase to phase, and makes
 * one result of their MARKs. MARK n of all lanes is round n: the first round ends with the MARK of
 * the last lane, and no lane posts data for the measurement before.
 */
#ifndef IW_DDP_BENCH_LANE_H
#define IW_DDP_BENCH_LANE_H

#include "ddp-bench/bench.h"
#include "ddp-bench/internal.h"

/*
 * Seed of the data in the server's memory and in ours. It is the same in each run, so that a
 * failure can be repeated.
 */
#define SEED UINT64_C(0x6977617270626e63)

/* The phase of all lanes. */
enum phase {
	CONNECTING,
	PREPARING, /* the server fills its memory */
	FLOWING,
	CHECKING, /* the server calculates its digest */
	CLOSING,
	OVER,
};

enum stage {
	WARM,   /* before the first MARK */
	WINDOW, /* after it */
	TAIL,   /* after the last MARK: nothing more is posted */
};

/*
 * A MARK is complete when it is sent, which gives the position of this end, and answered, which
 * gives that of the server.
 */
struct mark {
	bool sent, answered;
	uint64_t messages; /* messages posted before it */
	struct iw_bench_sample mine;
	struct iw_bench_report theirs;
};

struct lane {
	struct iw_bench_client *client;
	struct iw_qp *qp;
	struct iw_mr *mr;   /* read: the sink */
	struct memory data; /* depth slots of size octets */
	struct inbox inbox;
	struct outbox outbox;
	uint64_t *posted_at; /* by slot */
	bool failed;         /* an operation has failed; an event with the reason follows */
	bool ready, checked; /* received from the server */
	uint32_t stag;
	uint64_t to;

	enum stage stage;
	uint64_t posted, done; /* operations */
	uint64_t first;        /* first operation of the window */
	uint64_t count;        /* operations in the window; 0: limited by time */
	uint64_t credited;     /* send: operations whose buffers the server has posted again */
	bool ping_out;         /* pingpong: a message is with the server */
	uint64_t pinged_at, pong_at;

	bool mark_wanted; /* for an interval */
	struct mark marks[MARKS_MAX];
	uint64_t next_mark;        /* number of the next MARK */
	struct mark origin, final; /* of the window */
};

struct iw_bench_client {
	struct iw_bench_cfg cfg;
	struct iw_ctx *ctx;
	struct iw_pd *pd;
	struct iw_cq *cq;
	struct lane *lanes;
	uint32_t nlanes;
	struct memory umem; /* with cfg.umem: the memory of all lanes */
	enum phase phase;
	uint32_t steps;     /* lanes that have completed the phase */
	uint64_t now, seen; /* seen: time of the last progress */
	uint64_t warm_end, window_end, next_tick;

	uint64_t round;        /* the first incomplete one */
	uint64_t began_at;     /* begin of the window on the receiver's clock */
	uint64_t reported_end; /* end of the last interval, since began_at */
	bool interval_ready;   /* `interval` is to be returned to the caller */
	struct iw_bench_interval interval;

	struct iw_hist round_trips, completions;
	struct iw_bench_result result;
};

/*
 * Allocates memory and queue pair, and posts receives. After an error call iw_bench_lane_close(),
 * too.
 */
IW_MUST_CHECK int iw_bench_lane_open(struct lane *l, struct iw_fault *why);
/*
 * Connects. beside: a lane whose established association is used; NULL: a connection or association
 * of its own.
 */
IW_MUST_CHECK int iw_bench_lane_connect(struct lane *l, const struct lane *beside,
					struct iw_fault *why);
/* Call it after the context is freed, because the context refers to its memory. */
void iw_bench_lane_close(struct lane *l);

IW_MUST_CHECK int iw_bench_lane_send_msg(struct lane *l, const struct iw_bench_msg *m,
					 uint64_t mark, struct iw_fault *why);
/* Posts as much data as possible, and MARKs at their positions. */
IW_MUST_CHECK int iw_bench_lane_flow(struct lane *l, struct iw_fault *why);
/* Take a completion: of an operation, or of a message that the server sent back. */
void iw_bench_lane_done(struct lane *l, const struct iw_wc *wc);
IW_MUST_CHECK int iw_bench_lane_pong(struct lane *l, const struct iw_wc *wc, struct iw_fault *why);
/*
 * Requests the digest of the server's memory; takes the answer, and sets the verdict of the result.
 */
IW_MUST_CHECK int iw_bench_lane_check(struct lane *l, struct iw_fault *why);
void iw_bench_lane_verify(struct lane *l, const struct iw_bench_checked *k);

/* For rate, the RUN requests send. */
static inline enum iw_bench_mode operation(const struct iw_bench_cfg *cfg)
{
	return cfg->mode == IW_BENCH_RATE ? IW_BENCH_SEND : cfg->mode;
}

#endif
