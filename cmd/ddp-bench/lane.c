// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A connection or stream of a client: moves data, posts MARKs between them, checks data. */
#include "ddp-bench/lane.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/param.h"
#include "cli/pattern.h"
#include "os/os.h"

static enum iw_bench_mode mode_of(const struct lane *l)
{
	return operation(&l->client->cfg);
}

static uint64_t slot_number(const struct lane *l, uint64_t message)
{
	return message % l->client->cfg.depth;
}

static uint8_t *slot_of(const struct lane *l, uint64_t message)
{
	return l->data.base + slot_number(l, message) * l->client->cfg.size;
}

/* --- operations ------------------------------------------------------------------------------- */

static int post_failed(const char *what, int err, struct iw_fault *why)
{
	return iw_fail(why, err, "post %s: %s", what, iw_err_text(err));
}

static int send_msg(struct lane *l, const struct iw_bench_msg *m, unsigned flags, uint64_t mark,
		    struct iw_fault *why)
{
	int err = iw_bench_send_msg(&l->outbox, l->qp, m, flags, mark);

	return err ? post_failed(iw_bench_type_name(m->type), err, why) : 0;
}

int iw_bench_lane_send_msg(struct lane *l, const struct iw_bench_msg *m, uint64_t mark,
			   struct iw_fault *why)
{
	return send_msg(l, m, 0, mark, why);
}

/*
 * Posts the next MARK. The first and the last MARK are fenced, so that no Read is pending and both
 * ends count the same Reads. Other MARKs are not: a fence would stop the flow for a round trip.
 */
static int post_mark(struct lane *l, struct iw_fault *why)
{
	struct iw_bench_msg m = { .type = IW_BENCH_MARK };
	uint64_t number = l->next_mark++;
	unsigned flags = number == 0 || l->stage == TAIL ? IW_WR_FENCE : 0;

	l->mark_wanted = false;
	l->marks[number % MARKS_MAX] = (struct mark){ .messages = l->posted };
	m.mark.number = number;
	m.mark.octets = l->posted * l->client->cfg.size;
	m.mark.last = l->stage == TAIL;
	/* In the id, 0 stands for messages that are not MARKs. */
	return send_msg(l, &m, flags, number + 1, why);
}

static int post_data(struct lane *l, struct iw_fault *why)
{
	const struct iw_bench_cfg *cfg = &l->client->cfg;
	uint64_t slot = slot_number(l, l->posted);
	struct iw_sge sge = { slot_of(l, l->posted), cfg->size };
	struct iw_send_wr wr = {
		.wr_id = l->posted,
		/* The answer shows that the message was sent, so no completion is needed. */
		.flags = cfg->mode == IW_BENCH_PINGPONG ? IW_WR_UNSIGNALED : 0,
		.remote_stag = l->stag,
		.remote_to = l->to + slot * cfg->size,
	};
	int err;

	if (cfg->mode == IW_BENCH_READ) {
		wr.op = IW_WR_READ;
		wr.sink = l->mr;
		wr.sink_to = slot * cfg->size;
		wr.len = (uint32_t)cfg->size;
		/* The Read must replace this value. */
		iw_pattern_stamp(slot_of(l, l->posted), cfg->size, UINT64_MAX);
	} else {
		wr.op = cfg->mode == IW_BENCH_WRITE ? IW_WR_WRITE : IW_WR_SEND;
		wr.sge = &sge;
		wr.nsge = 1;
		/* The previous operation of this slot is complete, so the slot may be written. */
		iw_pattern_stamp(slot_of(l, l->posted), cfg->size, l->posted);
	}
	err = iw_post_send(l->qp, &wr, NULL);
	if (err)
		return post_failed("an operation", err, why);
	l->posted_at[slot] = l->client->now;
	l->posted++;
	return 0;
}

/* --- the flow --------------------------------------------------------------------------------- */

/* True if all data of the window is posted, by its count or its time. */
static bool window_full(const struct lane *l)
{
	const struct iw_bench_client *c = l->client;

	if (l->stage != WINDOW || c->round == 0)
		return false;
	if (c->cfg.count)
		return l->posted - l->first >= l->count;
	return c->now >= c->window_end;
}

/* Posts the MARK that is due between two operations, if one is. */
static int mark_if_due(struct lane *l, struct iw_fault *why)
{
	if (l->stage == WARM && l->client->now >= l->client->warm_end) {
		l->stage = WINDOW;
		l->first = l->posted;
		return post_mark(l, why);
	}
	if (window_full(l)) {
		l->stage = TAIL;
		return post_mark(l, why);
	}
	return l->mark_wanted ? post_mark(l, why) : 0;
}

static bool may_post(const struct lane *l)
{
	uint32_t depth = l->client->cfg.depth;

	if (l->stage == TAIL || l->posted - l->done >= depth || window_full(l))
		return false;
	/* Data sent before all lanes have begun the window would not be measured. */
	if (l->stage == WINDOW && l->client->round == 0)
		return false;
	return mode_of(l) != IW_BENCH_SEND || l->posted - l->credited < depth;
}

/* Keeps as much data in flight as cfg.depth and the server's credit allow. */
static int stream(struct lane *l, struct iw_fault *why)
{
	int err = mark_if_due(l, why);

	while (!err && may_post(l)) {
		err = post_data(l, why);
		if (!err && window_full(l))
			err = mark_if_due(l, why);
	}
	return err;
}

/* True if a MARK of this lane is in a round that is not complete. */
static bool marks_pending(const struct lane *l)
{
	return l->next_mark > l->client->round;
}

/*
 * Exchanges one message at a time. MARKs are posted between two messages, and the next message
 * waits for their answers.
 */
static int pingpong(struct lane *l, struct iw_fault *why)
{
	int err;

	if (l->ping_out || marks_pending(l))
		return 0;
	err = mark_if_due(l, why);
	if (err || l->stage == TAIL || marks_pending(l))
		return err;
	l->ping_out = true;
	l->pinged_at = l->client->now;
	return post_data(l, why);
}

int iw_bench_lane_flow(struct lane *l, struct iw_fault *why)
{
	if (l->failed)
		return 0;
	return l->client->cfg.mode == IW_BENCH_PINGPONG ? pingpong(l, why) : stream(l, why);
}

/* --- completions ------------------------------------------------------------------------------ */

/* Sets the verdict of the run, unless another lane has found a mismatch. NULL: no mismatch. */
static void verdict(struct lane *l, const char *mismatch)
{
	struct iw_bench_result *r = &l->client->result;

	if (r->verdict == IW_BENCH_BAD)
		return;
	r->verdict = mismatch ? IW_BENCH_BAD : IW_BENCH_GOOD;
	snprintf(r->mismatch, sizeof(r->mismatch), "%s", mismatch ? mismatch : "");
}

/*
 * Checks the first octets of a completed Read against what the server's memory holds. The end of
 * the run checks the rest.
 */
static void check_read(struct lane *l, uint64_t message)
{
	const struct iw_bench_cfg *cfg = &l->client->cfg;
	size_t len = IW_MIN(cfg->size, (uint64_t)IW_PATTERN_STAMP);
	char text[100];

	if (!cfg->verify ||
	    iw_pattern_holds(slot_of(l, message), len, SEED, slot_number(l, message) * cfg->size))
		return;
	snprintf(text, sizeof(text),
		 "RDMA Read %" PRIu64 " completed before its first octets were placed", message);
	verdict(l, text);
}

void iw_bench_lane_done(struct lane *l, const struct iw_wc *wc)
{
	struct iw_bench_client *c = l->client;

	if (wc->op == IW_WC_READ)
		check_read(l, wc->wr_id);
	if (l->stage != WARM && wc->wr_id >= l->first)
		iw_hist_add(&c->completions, c->now - l->posted_at[slot_number(l, wc->wr_id)]);
	l->done++;
}

static void check_pong(struct lane *l, const struct iw_wc *wc)
{
	char text[100];

	if (!l->client->cfg.verify)
		return;
	if (wc->len == l->client->cfg.size &&
	    iw_pattern_stamped(inbox_at(&l->inbox, wc->wr_id), wc->len, l->done))
		return;
	snprintf(text, sizeof(text), "answer %" PRIu64 ": its %u octets differ from those sent",
		 l->done, wc->len);
	verdict(l, text);
}

int iw_bench_lane_pong(struct lane *l, const struct iw_wc *wc, struct iw_fault *why)
{
	if (!l->ping_out)
		return iw_fail(
			why, IW_E_FORMAT,
			"the server sent data without a request: is it another version of ddp-bench?");
	l->ping_out = false;
	l->pong_at = wc->wr_id;
	check_pong(l, wc);
	l->done++;
	if (l->stage == WINDOW)
		iw_hist_add(&l->client->round_trips, l->client->now - l->pinged_at);
	return 0;
}

/* --- verification ----------------------------------------------------------------------------- */

int iw_bench_lane_check(struct lane *l, struct iw_fault *why)
{
	struct iw_bench_msg m = { .type = IW_BENCH_CHECK };

	m.check.slots = IW_MIN(l->posted, (uint64_t)l->client->cfg.depth);
	return send_msg(l, &m, 0, 0, why);
}

/* Calculates the digest that the server's memory must have. False: out of memory. */
static bool digest_of_slots(const struct lane *l, uint64_t *out)
{
	const struct iw_bench_cfg *cfg = &l->client->cfg;
	struct iw_pattern_digest d;

	if (!iw_pattern_digest_init(&d))
		return false;
	iw_pattern_digest_add(&d, l->data.base,
			      IW_MIN(l->posted, (uint64_t)cfg->depth) * cfg->size);
	*out = iw_pattern_digest_end(&d);
	return true;
}

/* Calculates the digest of the messages first to last-1 as they were sent. False: out of memory. */
static bool digest_of_messages(const struct lane *l, uint64_t first, uint64_t last, uint64_t *out)
{
	uint64_t size = l->client->cfg.size;
	struct iw_pattern_digest d;

	if (!iw_pattern_digest_init(&d))
		return false;
	for (uint64_t i = first; i < last; i++) {
		iw_pattern_stamp(slot_of(l, i), size, i);
		iw_pattern_digest_add(&d, slot_of(l, i), size);
	}
	*out = iw_pattern_digest_end(&d);
	return true;
}

/* Returns the difference between the server's digest and the expected one; NULL: none. */
static const char *compare(struct lane *l, const struct iw_bench_checked *k, char text[static 160])
{
	uint64_t expected;
	bool made;

	if (mode_of(l) == IW_BENCH_SEND) {
		if (k->wrong || k->last != l->posted || k->first > k->last ||
		    k->last - k->first > l->client->cfg.depth + MSG_RECEIVES) {
			snprintf(text, 160,
				 "the server received %" PRIu64 " messages, %" PRIu64
				 " of them wrong; %" PRIu64 " were sent",
				 k->last, k->wrong, l->posted);
			return text;
		}
		made = digest_of_messages(l, k->first, k->last, &expected);
	} else {
		made = digest_of_slots(l, &expected);
	}
	if (!made)
		return "not compared: out of memory for the digest";
	if (k->digest == expected)
		return NULL;
	snprintf(text, 160, "digest of the server's memory %016" PRIx64 ", expected %016" PRIx64,
		 k->digest, expected);
	return text;
}

void iw_bench_lane_verify(struct lane *l, const struct iw_bench_checked *k)
{
	char text[160];

	if (l->client->cfg.mode != IW_BENCH_PINGPONG)
		verdict(l, compare(l, k, text));
	else if (l->done && memcmp(inbox_at(&l->inbox, l->pong_at), slot_of(l, l->done - 1),
				   l->client->cfg.size) != 0)
		verdict(l, "the last answer differs from what was sent");
	verdict(l, NULL);
}

/* --- set-up ----------------------------------------------------------------------------------- */

/* Allocates and fills the memory before the lane connects, so that the server does not wait for it
 * during set-up. */
static int make_memory(struct lane *l, struct iw_fault *why)
{
	const struct iw_bench_cfg *cfg = &l->client->cfg;
	const uint64_t seed = ~SEED, need = iw_bench_memory_need(cfg->size, cfg->depth);
	int err = 0;

	if (cfg->umem)
		iw_bench_memory_part(&l->data, &l->client->umem,
				     need * (uint64_t)(l - l->client->lanes), need);
	else
		err = iw_bench_memory_get(&l->data, &l->client->blocks, need, why);
	if (!err)
		err = iw_bench_memory_fill(&l->data, cfg->mode == IW_BENCH_READ ? NULL : &seed,
					   why);
	if (err)
		return err;
	l->posted_at = calloc(cfg->depth, sizeof(*l->posted_at));
	return l->posted_at ? 0 : iw_fail(why, IW_E_NOMEM, "out of memory");
}

static int make_sink(struct lane *l, struct iw_fault *why)
{
	struct iw_mr_attr mr = {
		.addr = l->data.base,
		.len = l->data.len,
		.access = IW_ACCESS_READ_SINK,
		.qp = l->qp,
	};

	return l->client->cfg.mode == IW_BENCH_READ ? iw_mr_reg(&l->mr, l->client->pd, &mr, why)
						    : 0;
}

int iw_bench_lane_open(struct lane *l, struct iw_fault *why)
{
	struct iw_bench_client *c = l->client;
	struct iw_qp_attr qp = {
		.size = sizeof(qp),
		.send_cq = c->cq,
		.recv_cq = c->cq,
		.sq_depth = c->cfg.depth + OUTBOX,
		.user = l,
	};
	int err = make_memory(l, why);

	if (err)
		return err;
	iw_bench_inbox_shape(&l->inbox, false, mode_of(l), c->cfg.size, c->cfg.depth);
	qp.rq_depth = l->inbox.n;
	err = iw_qp_new(&l->qp, c->pd, &qp, why);
	if (!err)
		err = iw_bench_inbox_open(&l->inbox, &c->blocks, l->qp, why);
	return err ? err : make_sink(l, why);
}

int iw_bench_lane_connect(struct lane *l, const struct lane *beside, struct iw_fault *why)
{
	const struct iw_bench_cfg *cfg = &l->client->cfg;
	struct iw_bench_msg run = {
		.type = IW_BENCH_RUN,
		.run = {
			.version = IW_BENCH_VERSION,
			.mode = mode_of(l),
			.size = cfg->size,
			.depth = cfg->depth,
			.seed = SEED,
			.loan = cfg->loan,
		},
	};
	uint8_t private_data[IW_BENCH_MSG_MAX];
	struct iw_cli_param param = cfg->conn;
	struct iw_qp_info leader;

	snprintf(run.text, sizeof(run.text), "%s", param.at.cc ? param.at.cc : "");
	param.protocol.ord = iw_bench_reads(cfg->depth);
	param.protocol.private_data = private_data;
	param.protocol.private_data_len = iw_bench_msg_encode(private_data, &run);
	if (beside) {
		iw_qp_info(beside->qp, &leader);
		param.at.beside = beside->qp;
		param.protocol.rev = leader.rev;
	}
	return iw_connect(l->qp, &param.at, &param.protocol, why);
}

void iw_bench_lane_close(struct lane *l)
{
	iw_bench_memory_put(&l->data);
	iw_bench_memory_put(&l->inbox.mem);
	free(l->posted_at);
}
