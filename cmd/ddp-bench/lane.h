/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Inside bench: a client and its lanes. A lane is one connection, or one DDP stream of an association,
 * with memory, operations and MARKs of its own; the server takes each for a client by itself.
 *
 * lane.c moves data and looks at it; client.c takes the lanes from phase to phase together and makes
 * one result of their MARKs. MARK n of all lanes is round n: the first ends when the last lane's does,
 * and before that no lane posts what is measured.
 */
#ifndef IW_BENCH_LANE_H
#define IW_BENCH_LANE_H

#include "ddp-bench/bench.h"
#include "ddp-bench/internal.h"

/* Of what the server's memory is to hold, and ours. Any will do; the same in each run, so that
 * a failure can be repeated. */
#define SEED UINT64_C(0x6977617270626e63)

/* What all lanes are at. */
enum phase {
	CONNECTING,
	PREPARING, /* the server fills its memory */
	FLOWING,
	CHECKING, /* the server makes its digest */
	CLOSING,
	OVER,
};

enum stage {
	WARM,   /* before the first MARK */
	WINDOW, /* after it */
	TAIL,   /* after the last one: nothing more is posted */
};

/* A MARK is complete when it has been sent, which says how far we are, and answered, which says
 * how far the server is. */
struct mark {
	bool sent, answered;
	uint64_t messages; /* posted before it */
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
	bool failed;         /* an operation has: the event that says why is on its way */
	bool ready, checked; /* the server has said so */
	uint32_t stag;
	uint64_t to;

	enum stage stage;
	uint64_t posted, done; /* operations */
	uint64_t first;        /* of the window */
	uint64_t count;        /* of those that are counted; 0 where time counts */
	uint64_t credited;     /* send: those whose buffers the server has posted again */
	bool ping_out;         /* pingpong: it is with the server */
	uint64_t pinged_at, pong_at;

	bool mark_wanted; /* a tick's */
	struct mark marks[MARKS_MAX];
	uint64_t next_mark;        /* number of the next to be posted */
	struct mark origin, final; /* the window's */
};

struct iw_bench_client {
	struct iw_bench_cfg cfg;
	struct iw_ctx *ctx;
	struct iw_pd *pd;
	struct iw_cq *cq;
	struct lane *lanes;
	uint32_t nlanes;
	struct memory umem; /* with cfg.umem: that of all lanes' data */
	enum phase phase;
	uint32_t steps;     /* lanes that have done what the phase waits for */
	uint64_t now, seen; /* seen: when something moved last */
	uint64_t warm_end, window_end, next_tick;

	uint64_t round;        /* the first that is not complete */
	uint64_t began_at;     /* the window, on the receiver's clock */
	uint64_t reported_end; /* of the last interval, since then */
	bool interval_ready;   /* an interval waits to be taken */
	struct iw_bench_interval interval;

	struct iw_hist round_trips, completions;
	struct iw_bench_result result;
};

/* Memory, queue pair, receives; a lane that failed here is put away like any other. */
IW_MUST_CHECK int iw_bench_lane_open(struct lane *l, struct iw_fault *why);
/* @beside: on the association of that lane, which is up; NULL: on one of its own. */
IW_MUST_CHECK int iw_bench_lane_connect(struct lane *l, const struct lane *beside,
					struct iw_fault *why);
/* Call it after the context is freed, because the context refers to its memory. */
void iw_bench_lane_close(struct lane *l);

IW_MUST_CHECK int iw_bench_lane_send_msg(struct lane *l, const struct iw_bench_msg *m,
					 uint64_t mark, struct iw_fault *why);
/* Posts what may be posted: data, and MARKs in their places. */
IW_MUST_CHECK int iw_bench_lane_flow(struct lane *l, struct iw_fault *why);
/* Data of ours is complete; a ball came back. */
void iw_bench_lane_done(struct lane *l, const struct iw_wc *wc);
IW_MUST_CHECK int iw_bench_lane_pong(struct lane *l, const struct iw_wc *wc, struct iw_fault *why);
/* Asks what the server's memory holds; and the answer, which goes into the result's verdict. */
IW_MUST_CHECK int iw_bench_lane_check(struct lane *l, struct iw_fault *why);
void iw_bench_lane_verify(struct lane *l, const struct iw_bench_checked *k);

/* RUN and the server say send for rate. */
static inline enum iw_bench_mode operation(const struct iw_bench_cfg *cfg)
{
	return cfg->mode == IW_BENCH_RATE ? IW_BENCH_SEND : cfg->mode;
}

#endif
