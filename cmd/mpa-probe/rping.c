// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Both sides of rping's conversation: what each posts, and which messages it expects. */
#include "mpa-probe/rping.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/num.h"
#include "util/text.h"

#define ADVERT_LEN 16
/* More than 16 octets, so that a longer message is reported and not terminated. */
#define RECV_CAP   64
#define RECVS      2 /* one being answered, one for the next message */

/* Not zero and far apart, to detect offsets that are mixed up or cut to 32 bits. */
#define SOURCE_TO UINT64_C(0x0000000100000000)
#define SINK_TO   UINT64_C(0x7f00000000000000)

/* Ids of work requests. The id of a receive is the number of its buffer. */
enum work { WORK_ADVERT = 16, WORK_READ, WORK_GO_ON, WORK_WRITE, WORK_ROUND };

/* The event that a side waits for. */
enum state {
	STATE_NEW,         /* client: the connection */
	STATE_SOURCE_READ, /* client: `continue` after the advertisement of the source */
	STATE_SINK_FULL,   /* client: `continue` after the advertisement of the sink */
	STATE_SOURCE,      /* server: the advertisement of the client's source */
	STATE_READ,        /* server: the Read's completion */
	STATE_SINK,        /* server: the advertisement of the client's sink */
	STATE_OVER,
};

struct advert {
	uint64_t to;
	uint32_t stag, len;
};

struct iw_rping {
	struct iw_qp *qp;
	struct iw_rping_cfg cfg;
	struct iw_rping_result result;
	enum state state;
	uint64_t round_began;
	uint64_t round; /* the current one */
	bool stop;
	/*
	 * writing: the server's last Write and `continue` are not complete, so its buffer is still
	 * in use. An advertisement received meanwhile is kept in `waiting`, and `waits` is set.
	 */
	bool writing, waits;
	struct advert waiting;
	struct iw_mr *source_mr, *sink_mr;
	/*
	 * Client: the data of a round are read from source, and written back to sink. Server: the
	 * data read are in sink.
	 */
	uint8_t *source, *sink;
	uint8_t source_advert[ADVERT_LEN], sink_advert[ADVERT_LEN], go_on[ADVERT_LEN];
	uint8_t recv[RECVS][RECV_CAP];
};

static void put_advert(uint8_t *out, const struct advert *a)
{
	iw_put_be64(out, a->to);
	iw_put_be32(out + 8, a->stag);
	iw_put_be32(out + 12, a->len);
}

static struct advert get_advert(const uint8_t *p)
{
	return (struct advert){ .to = iw_get_be64(p),
				.stag = iw_get_be32(p + 8),
				.len = iw_get_be32(p + 12) };
}

void iw_rping_text(uint8_t *out, uint32_t size, uint64_t round)
{
	char head[40];
	uint32_t n = (uint32_t)snprintf(head, sizeof(head),
					"rdma-ping-%llu: ", (unsigned long long)round);
	unsigned c = (uint32_t)(round % ('z' - 'A' + 1));

	for (uint32_t i = 0; i < size; i++) {
		if (i < n) {
			out[i] = (uint8_t)head[i];
			continue;
		}
		out[i] = (uint8_t)('A' + c);
		c = (c + 1) % ('z' - 'A' + 1);
	}
	if (size > 0)
		out[size - 1] = '\0';
}

/* Keeps the beginning of a ping as printable text. */
static void keep_text(struct iw_rping_result *res, const uint8_t *text, uint32_t len)
{
	size_t n = 0;

	while (n < len && n < sizeof(res->text) - 1 && text[n] != '\0') {
		res->text[n] = isprint(text[n]) ? (char)text[n] : '.';
		n++;
	}
	res->text[n] = '\0';
	res->size = len;
}

static int compare(struct iw_rping *r, const uint8_t *got, const uint8_t *expected, uint32_t len,
		   struct iw_fault *why)
{
	for (uint32_t i = 0; i < len; i++) {
		if (got[i] == expected[i])
			continue;
		return iw_fail(why, IW_E_FORMAT,
			       "rping: round %U: octet %u of %u is %b, expected %b",
			       (uint64_t)r->round, (uint32_t)i, (uint32_t)len, got[i], expected[i]);
	}
	r->result.verified++;
	return 0;
}

/* --- posting --- */

static int post(struct iw_rping *r, const struct iw_send_wr *wr, const char *what,
		struct iw_fault *why)
{
	int err = iw_post_send(r->qp, wr, NULL);

	return err ? iw_fail(why, err, "rping: cannot post %s: %s", what, iw_err_text(err)) : 0;
}

static int post_message(struct iw_rping *r, enum work work, const uint8_t *message,
			struct iw_fault *why)
{
	struct iw_sge sge = { message, ADVERT_LEN };
	struct iw_send_wr wr = {
		.wr_id = work, .op = IW_WR_SEND, .flags = IW_WR_SOLICITED, .sge = &sge, .nsge = 1
	};

	return post(r, &wr, "a Send", why);
}

static int post_receive(struct iw_rping *r, uint64_t i, struct iw_fault *why)
{
	int err = iw_post_recv(r->qp, i, r->recv[i], RECV_CAP, NULL);

	return err ? iw_fail(why, err, "rping: cannot post a receive: %s", iw_err_text(err)) : 0;
}

/* --- the client --- */

static int begin_round(struct iw_rping *r, uint64_t now, struct iw_fault *why)
{
	iw_rping_text(r->source, r->cfg.size, r->round);
	keep_text(&r->result, r->source, r->cfg.size);
	if (r->cfg.verify)
		memset(r->sink, 0, r->cfg.size);
	r->round_began = now;
	r->state = STATE_SOURCE_READ;
	return post_message(r, WORK_ADVERT, r->source_advert, why);
}

static int end_round(struct iw_rping *r, uint64_t now, struct iw_fault *why)
{
	struct iw_rping_result *res = &r->result;
	uint64_t ns = now - r->round_began;
	int err;

	res->read += r->cfg.size;
	res->written += r->cfg.size;
	if (r->cfg.verify) {
		err = compare(r, r->sink, r->source, r->cfg.size, why);
		if (err)
			return err;
	}
	res->rounds++;
	res->sum_ns += ns;
	res->min_ns = res->rounds == 1 ? ns : IW_MIN(res->min_ns, ns);
	res->max_ns = IW_MAX(res->max_ns, ns);
	r->round++;
	if (r->stop || (r->cfg.count && r->round == r->cfg.count)) {
		r->state = STATE_OVER;
		return 0;
	}
	return begin_round(r, now, why);
}

static int client_received(struct iw_rping *r, uint64_t now, struct iw_fault *why)
{
	if (r->state == STATE_SOURCE_READ) {
		r->state = STATE_SINK_FULL;
		return post_message(r, WORK_ADVERT, r->sink_advert, why);
	}
	if (r->state == STATE_SINK_FULL)
		return end_round(r, now, why);
	return iw_fail(
		why, IW_E_FORMAT,
		"rping: the server sent a message before the advertisement that it must wait for");
}

/* --- the server --- */

static int read_source(struct iw_rping *r, const struct advert *a, struct iw_fault *why)
{
	struct iw_send_wr wr = { .wr_id = WORK_READ,
				 .op = IW_WR_READ,
				 .sink = r->sink_mr,
				 .sink_to = SINK_TO,
				 .len = a->len,
				 .remote_stag = a->stag,
				 .remote_to = a->to };

	r->state = STATE_READ;
	r->result.size = a->len;
	return post(r, &wr, "an RDMA Read", why);
}

static int source_was_read(struct iw_rping *r, struct iw_fault *why)
{
	int err;

	r->result.read += r->result.size;
	keep_text(&r->result, r->sink, r->result.size);
	if (r->cfg.verify) {
		iw_rping_text(r->source, r->result.size, r->round);
		err = compare(r, r->sink, r->source, r->result.size, why);
		if (err)
			return err;
	}
	r->state = STATE_SINK;
	return post_message(r, WORK_GO_ON, r->go_on, why);
}

static int write_sink(struct iw_rping *r, const struct advert *a, struct iw_fault *why)
{
	uint32_t len = IW_MIN(a->len, r->result.size);
	struct iw_sge sge = { r->sink, len };
	struct iw_send_wr wr = { .wr_id = WORK_WRITE,
				 .op = IW_WR_WRITE,
				 .flags = IW_WR_UNSIGNALED,
				 .sge = &sge,
				 .nsge = 1,
				 .remote_stag = a->stag,
				 .remote_to = a->to };
	int err = post(r, &wr, "an RDMA Write", why);

	if (err)
		return err;
	r->result.written += len;
	r->state = STATE_SOURCE;
	r->writing = true;
	r->round++;
	/*
	 * Sent after the Write, it is delivered after the Write's data are placed (RFC 5040 5.5).
	 */
	return post_message(r, WORK_ROUND, r->go_on, why);
}

static int server_received(struct iw_rping *r, const struct advert *a, struct iw_fault *why)
{
	if (r->state == STATE_SOURCE && !r->waits) {
		if (a->len > r->cfg.size)
			return iw_fail(
				why, IW_E_REJECTED,
				"rping: the client advertises %u octets: at most %u are accepted here (--size)",
				(uint32_t)a->len, (uint32_t)r->cfg.size);
		if (!r->writing)
			return read_source(r, a, why);
		r->waiting = *a;
		r->waits = true;
		return 0;
	}
	if (r->state == STATE_SINK)
		return write_sink(r, a, why);
	return iw_fail(why, IW_E_FORMAT, "rping: the client sent a message while it must wait");
}

/* The Write and the Send after it are complete: the buffer is free for the next round. */
static int round_sent(struct iw_rping *r, struct iw_fault *why)
{
	r->writing = false;
	r->result.rounds++;
	if (!r->waits)
		return 0;
	r->waits = false;
	return read_source(r, &r->waiting, why);
}

/* --- both --- */

static int received(struct iw_rping *r, const struct iw_wc *wc, uint64_t now, struct iw_fault *why)
{
	struct advert a;
	int err;

	if (wc->wr_id >= RECVS)
		return iw_fail(why, IW_E_INVAL, "rping: completion of an unknown receive");
	if (wc->len != ADVERT_LEN)
		return iw_fail(why, IW_E_FORMAT, "rping: a message of %u octets: expected %u",
			       (uint32_t)wc->len, ADVERT_LEN);
	a = get_advert(r->recv[wc->wr_id]);
	err = post_receive(r, wc->wr_id, why);
	if (err)
		return err;
	return r->cfg.client ? client_received(r, now, why) : server_received(r, &a, why);
}

int iw_rping_done(struct iw_rping *r, const struct iw_wc *wc, uint64_t now, struct iw_fault *why)
{
	if (wc->status != IW_OK) {
		if (r->state == STATE_OVER && wc->op == IW_WC_RECV)
			return 0; /* receives left over at the end */
		return iw_fail(why, wc->status, "rping: %s", iw_err_text(wc->status));
	}
	if (wc->op == IW_WC_RECV)
		return received(r, wc, now, why);
	if (wc->wr_id == WORK_READ)
		return source_was_read(r, why);
	if (wc->wr_id == WORK_ROUND)
		return round_sent(r, why);
	return 0;
}

int iw_rping_start(struct iw_rping *r, uint64_t now, struct iw_fault *why)
{
	if (!r->cfg.client)
		return 0;
	if (r->state != STATE_NEW)
		return iw_fail(why, IW_E_STATE, "rping: started twice");
	return begin_round(r, now, why);
}

bool iw_rping_over(const struct iw_rping *r)
{
	return r->cfg.client ? r->state == STATE_OVER : r->state == STATE_SOURCE && !r->waits;
}

void iw_rping_stop(struct iw_rping *r)
{
	r->stop = true;
}

const struct iw_rping_result *iw_rping_result(const struct iw_rping *r)
{
	return &r->result;
}

/* --- life --- */

static int reg(struct iw_rping *r, struct iw_pd *pd, struct iw_mr **mr, uint8_t *addr, uint64_t to,
	       unsigned access, struct iw_fault *why)
{
	struct iw_mr_attr a = {
		.addr = addr, .len = r->cfg.size, .to = to, .access = access, .qp = r->qp
	};

	return iw_mr_reg(mr, pd, &a, why);
}

static int reg_client(struct iw_rping *r, struct iw_pd *pd, struct iw_fault *why)
{
	struct advert a = { .len = r->cfg.size };
	int err = reg(r, pd, &r->source_mr, r->source, SOURCE_TO, IW_ACCESS_REMOTE_READ, why);

	if (err == 0)
		err = reg(r, pd, &r->sink_mr, r->sink, SINK_TO, IW_ACCESS_REMOTE_WRITE, why);
	if (err)
		return err;
	a.to = SOURCE_TO;
	a.stag = iw_mr_stag(r->source_mr);
	put_advert(r->source_advert, &a);
	a.to = SINK_TO;
	a.stag = iw_mr_stag(r->sink_mr);
	put_advert(r->sink_advert, &a);
	return 0;
}

int iw_rping_new(struct iw_rping **out, struct iw_pd *pd, struct iw_qp *qp,
		 const struct iw_rping_cfg *cfg, struct iw_fault *why)
{
	struct iw_rping *r;
	int err = 0;

	if (cfg->size > IW_RPING_SIZE_MAX && cfg->size != IW_RPING_SIZE_NONE)
		return iw_fail(why, IW_E_INVAL, "rping: the size of a ping is above 65535 octets");
	r = calloc(1, sizeof(*r));
	if (!r)
		return iw_fail(why, IW_E_NOMEM, "rping: out of memory");
	r->qp = qp;
	r->cfg = *cfg;
	/* The server may see the client's first message before IW_EV_ESTABLISHED. */
	r->state = cfg->client ? STATE_NEW : STATE_SOURCE;
	if (r->cfg.size == 0)
		r->cfg.size = cfg->client ? 64 : IW_RPING_SIZE_MAX;
	else if (r->cfg.size == IW_RPING_SIZE_NONE)
		r->cfg.size = 0;
	/* Even zero-length pings need an address. */
	r->source = calloc(1, IW_MAX(r->cfg.size, 1u));
	r->sink = calloc(1, IW_MAX(r->cfg.size, 1u));
	if (!r->source || !r->sink) {
		err = iw_fail(why, IW_E_NOMEM, "rping: out of memory");
		goto failed;
	}
	err = cfg->client ? reg_client(r, pd, why)
			  : reg(r, pd, &r->sink_mr, r->sink, SINK_TO, IW_ACCESS_READ_SINK, why);
	for (uint64_t i = 0; err == 0 && i < RECVS; i++)
		err = post_receive(r, i, why);
	if (err)
		goto failed;
	*out = r;
	return 0;
failed:
	iw_rping_free(r);
	return err;
}

void iw_rping_free(struct iw_rping *r)
{
	if (!r)
		return;
	if (r->source_mr)
		iw_mr_revoke(r->source_mr);
	if (r->sink_mr)
		iw_mr_revoke(r->sink_mr);
	free(r->source);
	free(r->sink);
	free(r);
}
