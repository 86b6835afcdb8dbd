/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Inside ddp-bench: a client and its lanes. A lane is a connection, or a DDP stream of an
 * association, with memory, operations and MARKs of its own. To the server each lane is a client.
 *
 * lane.c moves and checks data. client.c moves all lanes together from phase to phase, and
 * calculates one result from their MARKs. The MARKs number n of all lanes are round n. A round is
 * complete when all of them are; before round 0 is complete, no lane posts data for the
 * measurement.
 */
#ifndef IW_DDP_BENCH_LANE_H
#define IW_DDP_BENCH_LANE_H

#include "ddp-bench/bench.h"
#include "ddp-bench/internal.h"

/*
 * The seed of the data in the memory of both ends. It is the same in each run, so that a failure
 * can be repeated.
 */
#define SEED UINT64_C(0x6977617270626e63)

/* The phase of a client, with all its lanes. */
enum phase {
	CONNECTING,
	PREPARING, /* the server fills its memory */
	FLOWING,   /* data moves */
	CHECKING,  /* the server calculates its digests */
	CLOSING,   /* the connections are being closed */
	OVER,
};

/* The stage of a lane while data moves. */
enum stage {
	WARM,   /* before the first MARK */
	WINDOW, /* between the first and the last MARK */
	TAIL,   /* after the last MARK: nothing more is posted */
};

/*
 * A MARK is complete when it was sent, which gives the sample of this end, and answered, which
 * gives the report of the server.
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
	uint64_t *posted_at; /* by slot: time of the latest operation, ns */
	bool failed;         /* an operation has failed; an event with the reason follows */
	bool ready, checked; /* READY, CHECKED were received */
	uint32_t stag;       /* write, read: the server's memory, from READY */
	uint64_t to;

	enum stage stage;
	uint64_t posted, done; /* operations: posted, completed */
	uint64_t first;        /* first operation of the window */
	uint64_t count;        /* operations in the window; 0: limited by time */
	uint64_t credited;     /* send: operations whose buffers the server has posted again */
	bool ping_out;         /* pingpong: a message has no answer yet */
	/* pingpong: when the latest message was posted, ns; the receive with the latest answer. */
	uint64_t pinged_at, pong_at;

	bool mark_wanted;             /* an interval has ended: post a MARK */
	struct mark marks[MARKS_MAX]; /* MARK n is number n % MARKS_MAX */
	uint64_t next_mark;           /* number of the next MARK */
	struct mark origin, final;    /* the first MARK, and the last complete one */
};

struct iw_bench_client {
	struct iw_bench_cfg cfg;
	struct iw_ctx *ctx;
	struct iw_pd *pd;
	struct iw_cq *cq;
	struct lane *lanes;
	uint32_t nlanes;
	struct iw_bench_blocks blocks; /* the memory of the lanes */
	struct memory umem;            /* with cfg.umem: the data of all lanes */
	enum phase phase;
	uint32_t steps;     /* lanes that have completed the phase */
	uint64_t now, seen; /* ns; seen: time of the last progress */
	/* Times in ns; next_tick: when the interval ends; 0: no intervals. */
	uint64_t warm_end, window_end, next_tick;

	uint64_t round;        /* the first one that is not complete */
	uint64_t began_at;     /* beginning of the window on the receiver's clock, ns */
	uint64_t reported_end; /* end of the last interval, ns since began_at */
	bool interval_ready;   /* `interval` is to be returned to the caller */
	struct iw_bench_interval interval;

	struct iw_hist round_trips, completions;
	struct iw_bench_result result;
};

/*
 * Allocates memory and queue pair, and posts receives. The caller frees them with
 * iw_bench_lane_close, also after an error. IW_E_NOMEM; IW_E_CANCELED: a signal asked the process
 * to stop; others: of iw_qp_new(), iw_post_recv() and iw_mr_reg().
 */
IW_MUST_CHECK int iw_bench_lane_open(struct lane *l, struct iw_fault *why);
/*
 * Begins to connect. beside: a lane whose established association is used; NULL: a connection or
 * association of its own. Errors: those of iw_connect().
 */
IW_MUST_CHECK int iw_bench_lane_connect(struct lane *l, const struct lane *beside,
					struct iw_fault *why);
/* Frees the lane's memory. Call it after iw_ctx_free(): the context refers to this memory. */
void iw_bench_lane_close(struct lane *l);

/* Posts a message. mark: the number of a MARK plus 1; 0: another message. Errors: those of
 * iw_bench_send_msg. */
IW_MUST_CHECK int iw_bench_lane_send_msg(struct lane *l, const struct iw_bench_msg *m,
					 uint64_t mark, struct iw_fault *why);
/* Posts as much data as possible, and MARKs at their positions. Errors: those of iw_post_send() and
 * iw_bench_send_msg. */
IW_MUST_CHECK int iw_bench_lane_flow(struct lane *l, struct iw_fault *why);
/* Handles the completion of an operation. */
void iw_bench_lane_done(struct lane *l, const struct iw_wc *wc);
/* Handles the answer of pingpong. IW_E_FORMAT: no message was sent. */
IW_MUST_CHECK int iw_bench_lane_pong(struct lane *l, const struct iw_wc *wc, struct iw_fault *why);
/* Requests the digest of the server's memory. Errors: those of iw_bench_send_msg. */
IW_MUST_CHECK int iw_bench_lane_check(struct lane *l, struct iw_fault *why);
/* Compares the digest with the one expected, and sets the verdict of the result. */
void iw_bench_lane_verify(struct lane *l, const struct iw_bench_checked *k);

/* Returns the mode that the RUN requests: for rate, it is send. */
static inline enum iw_bench_mode operation(const struct iw_bench_cfg *cfg)
{
	return cfg->mode == IW_BENCH_RATE ? IW_BENCH_SEND : cfg->mode;
}

#endif
