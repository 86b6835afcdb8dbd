// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * TLS 1.3 around a stream: to the engine a stream of plaintext, to the stream below one of records
 * (RFC 8446 5.1). Ciphertext is in scratch memory of the credentials during a call. What remains
 * after it, because the socket is full or the engine has no room, is in memory of the connection
 * until it is used.
 */
#include "llp/stream.h"

#include <stdlib.h>
#include <string.h>

#include "tls/tls.h"
#include "util/num.h"
#include "util/text.h"

/* Ciphertext of at least one record: short reads of the engine do not become short system calls. */
#define READ_LEAST (IW_TLS_RECORD_MAX + IW_TLS_RECORD_MORE)

/* Ciphertext that is kept from one call to the next. */
struct rest {
	uint8_t *data; /* NULL: none */
	size_t at, len;
};

/* A connection, or (session NULL) a listener. */
struct tls {
	struct iw_stream s;
	struct iw_stream *below; /* owned */
	struct iw_tls *creds;    /* counted */
	struct iw_tls_stream *session;
	char *name; /* initiator, until the session begins: of the peer */
	bool initiator;
	bool open;      /* the handshake has succeeded */
	bool failed;    /* the session has failed, and has sent an alert */
	bool eof;       /* below has ended */
	bool closed;    /* this end has sent its close_notify */
	bool fin_due;   /* the FIN follows when unsent ciphertext is sent */
	bool shut;      /* the FIN was sent */
	uint64_t taken; /* octets of plaintext that were accepted */
	struct rest in, out;
	int below_err; /* below has failed, with below_why, after the last octets */
	struct iw_fault below_why;
};

static struct tls *tls_of(struct iw_stream *l)
{
	return iw_container_of(l, struct tls, s);
}

/* The fields are those of the stream below. */
static void mirror(struct tls *t)
{
	const struct iw_stream *b = t->below;

	t->s.fd = b->fd;
	memcpy(t->s.local, b->local, sizeof(t->s.local));
	memcpy(t->s.peer, b->peer, sizeof(t->s.peer));
	t->s.local_port = b->local_port;
	t->s.emss = b->emss;
	t->s.untried = b->untried;
}

static void mirror_counts(struct tls *t)
{
	t->s.sends = t->below->sends;
	t->s.recvs = t->below->recvs;
}

/* ---------------------------------------------------------------- texts */

/* Puts the peer before the text of the session, which is a sentence without a subject. */
static int name_fault(const struct tls *t, int err, struct iw_fault *why)
{
	struct iw_fault of_session;

	if (!why || err != IW_E_TLS)
		return err;
	of_session = *why;
	return iw_fail(why, err,
		       t->open || !t->initiator ? "TLS with %s: %s" : "connect to %s: TLS: %s",
		       t->s.peer, of_session.text);
}

static int closed_in_handshake(const struct tls *t, struct iw_fault *why)
{
	(void)iw_fail(why, IW_E_TLS, "the peer closed the connection during the handshake%s",
		      t->initiator ? "; does it use TLS (--tls)?" : "");
	return name_fault(t, IW_E_TLS, why);
}

/*
 * RFC 8446 6.1: without a close_notify, anyone on the path may have ended the stream. After our own
 * end that takes nothing away.
 */
static int64_t below_ended(struct tls *t, struct iw_fault *why)
{
	if (t->below_err) {
		if (why)
			*why = t->below_why;
		return t->below_err;
	}
	if (t->shut)
		return 0;
	(void)iw_fail(why, IW_E_TLS,
		      "the stream was truncated: its FIN came without a close_notify");
	return name_fault(t, IW_E_TLS, why);
}

/* ---------------------------------------------------------------- ciphertext */

static int no_memory(struct iw_fault *why)
{
	return iw_fail(why, IW_E_NOMEM, "TLS: no memory for ciphertext");
}

/* Keeps a copy of ciphertext; r has none. */
static int rest_keep(struct rest *r, const uint8_t *data, size_t len, struct iw_fault *why)
{
	if (len == 0)
		return 0;
	r->data = malloc(len);
	if (!r->data)
		return no_memory(why);
	memcpy(r->data, data, len);
	r->at = 0;
	r->len = len;
	return 0;
}

static void rest_used(struct rest *r, size_t octets)
{
	r->at += octets;
	if (r->at < r->len)
		return;
	free(r->data);
	*r = (struct rest){ 0 };
}

/* Sends octets to the stream below. Returns their number, less than len if it takes no more. */
static int64_t send_below(struct tls *t, const uint8_t *data, size_t len, struct iw_fault *why)
{
	size_t done = 0;

	while (done < len) {
		/* The stream only reads what an iw_vec of send points to. */
		struct iw_vec v = { (void *)(uintptr_t)(data + done), len - done };
		int64_t n = t->below->ops->send(t->below, &v, 1, false, why);

		if (n == IW_E_AGAIN)
			break;
		if (n < 0)
			return n;
		done += (size_t)n;
	}
	mirror_counts(t);
	return (int64_t)done;
}

/* Sends new ciphertext, and keeps what the stream below does not take. */
static int send_out(struct tls *t, const uint8_t *data, size_t len, struct iw_fault *why)
{
	int64_t n = send_below(t, data, len, why);
	int err;

	if (n < 0)
		return (int)n;
	err = rest_keep(&t->out, data + n, len - (size_t)n, why);
	t->s.unsent = t->out.data != NULL;
	return err;
}

/* Sends the close_notify, which precedes the FIN (RFC 8446 6.1). Nothing is unsent. */
static int send_close_notify(struct tls *t, struct iw_fault *why)
{
	uint8_t *scratch = iw_tls_creds_scratch_out(t->creds);

	t->closed = true;
	iw_tls_stream_output(t->session, scratch, IW_TLS_SCRATCH);
	iw_tls_stream_close(t->session);
	return send_out(t, scratch, iw_tls_stream_output(t->session, NULL, 0), why);
}

static int tls_flush(struct iw_stream *l, struct iw_fault *why)
{
	struct tls *t = tls_of(l);
	int64_t n;
	int err;

	if (t->out.data) {
		n = send_below(t, t->out.data + t->out.at, t->out.len - t->out.at, why);
		if (n < 0)
			return (int)n;
		rest_used(&t->out, (size_t)n);
		if (t->out.data)
			return IW_E_AGAIN;
	}
	l->unsent = false;
	if (!t->fin_due)
		return 0;
	if (!t->closed) {
		err = send_close_notify(t, why);
		if (err)
			return err;
		if (l->unsent)
			return IW_E_AGAIN;
	}
	t->fin_due = false;
	t->shut = true;
	return t->below->ops->shutdown(t->below, why);
}

/* ---------------------------------------------------------------- input */

/* Provides the session with input, and with room for output unless some is unsent. */
static void lend(struct tls *t, const uint8_t *data, size_t len)
{
	iw_tls_stream_input(t->session, data, len);
	if (t->out.data)
		iw_tls_stream_output(t->session, NULL, 0);
	else
		iw_tls_stream_output(t->session, iw_tls_creds_scratch_out(t->creds),
				     IW_TLS_SCRATCH);
}

/* Ends the loan: keeps the unused octets of data, unless they were kept before; sends the output. */
static int settle(struct tls *t, const uint8_t *data, size_t len, struct iw_fault *why)
{
	size_t taken = iw_tls_stream_taken(t->session);
	size_t put = iw_tls_stream_output(t->session, NULL, 0);
	int err = 0;

	if (t->in.data)
		rest_used(&t->in, taken);
	else
		err = rest_keep(&t->in, data + taken, len - taken, why);
	if (!err && put)
		err = send_out(t, iw_tls_creds_scratch_out(t->creds), put, why);
	return err;
}

/* Decrypts len octets (or those that were kept) to vec after skip. As iw_tls_stream_read. */
static int64_t decrypt(struct tls *t, const uint8_t *data, size_t len, const struct iw_vec *vec,
		       size_t nvec, size_t skip, struct iw_fault *why)
{
	struct iw_fault of_output;
	int64_t n;
	int err;

	if (t->in.data) {
		data = t->in.data + t->in.at;
		len = t->in.len - t->in.at;
	}
	lend(t, data, len);
	n = iw_tls_stream_read(t->session, vec, nvec, skip, why);
	err = settle(t, data, len, &of_output);
	t->failed |= n == IW_E_TLS;
	/* A failure to send is reported by the next send. */
	if (err == IW_E_NOMEM && n >= 0) {
		if (why)
			*why = of_output;
		return err;
	}
	return n < 0 ? name_fault(t, (int)n, why) : n;
}

static size_t vec_octets(const struct iw_vec *vec, size_t nvec)
{
	size_t sum = 0;

	for (size_t i = 0; i < nvec; i++)
		sum += vec[i].len;
	return sum;
}

static int64_t read_below(struct tls *t, size_t cap, bool wait, struct iw_fault *why)
{
	const struct iw_vec v = { iw_tls_creds_scratch_in(t->creds), cap };
	int64_t n = (wait ? t->below->ops->recv_wait : t->below->ops->recv)(t->below, &v, 1, why);

	mirror_counts(t);
	return n;
}

/* The end of the stream below, or its failure, follows the octets that it has returned. */
static void note_end(struct tls *t, int64_t n, const struct iw_fault *why)
{
	t->eof = true;
	if (n == 0)
		return;
	t->below_err = (int)n;
	t->below_why = *why;
}

/*
 * Receives until vec is full or the socket is empty. wait: may wait in the first system call. The
 * parts of a record arrive with several calls, so that none of its octets is returned yet.
 */
static int64_t receive(struct tls *t, const struct iw_vec *vec, size_t nvec, bool wait,
		       struct iw_fault *why)
{
	size_t asked = vec_octets(vec, nvec), total = 0;
	struct iw_fault last = { 0 };
	int64_t n;

	if (t->in.data || t->failed || iw_tls_stream_pending(t->session)) {
		n = decrypt(t, NULL, 0, vec, nvec, 0, why);
		if (n != IW_E_AGAIN && n <= 0)
			return n;
		total = n > 0 ? (size_t)n : 0;
	}
	while (total < asked && !t->in.data && !t->eof) {
		size_t cap =
			IW_MIN(IW_MAX(asked - total, (size_t)READ_LEAST), (size_t)IW_TLS_SCRATCH);
		int64_t got = read_below(t, cap, wait && total == 0, &last);

		if (got == IW_E_AGAIN || got == IW_E_CANCELED) {
			if (total == 0)
				return got;
			break;
		}
		if (got <= 0) {
			note_end(t, got, &last);
			break;
		}
		n = decrypt(t, iw_tls_creds_scratch_in(t->creds), (size_t)got, vec, nvec, total,
			    why);
		if (n < 0 && n != IW_E_AGAIN)
			return total ? (int64_t)total : n;
		if (n == 0)
			return (int64_t)total;
		total += n > 0 ? (size_t)n : 0;
		/* cap has room for a record: a peer that sends others than data waits for its turn. */
		if ((size_t)got < cap || n == IW_E_AGAIN)
			break;
	}
	if (total)
		return (int64_t)total;
	return t->eof ? below_ended(t, why) : IW_E_AGAIN;
}

static int64_t tls_recv(struct iw_stream *l, const struct iw_vec *vec, size_t nvec,
			struct iw_fault *why)
{
	return receive(tls_of(l), vec, nvec, false, why);
}

static int64_t tls_recv_wait(struct iw_stream *l, const struct iw_vec *vec, size_t nvec,
			     struct iw_fault *why)
{
	return receive(tls_of(l), vec, nvec, true, why);
}

static bool tls_pending(struct iw_stream *l)
{
	const struct tls *t = tls_of(l);

	if (!t->open)
		return false;
	if (iw_tls_stream_held(t->session) && l->unsent)
		return false; /* continues after flush */
	return t->in.data || t->eof || t->failed || iw_tls_stream_pending(t->session);
}

/* ---------------------------------------------------------------- output */

static int64_t tls_send(struct iw_stream *l, const struct iw_vec *vec, size_t nvec, bool eor,
			struct iw_fault *why)
{
	size_t asked = vec_octets(vec, nvec), total = 0;
	struct tls *t = tls_of(l);
	uint8_t *scratch = iw_tls_creds_scratch_out(t->creds);
	int err;

	(void)eor; /* records and segments are not aligned */
	if (l->unsent) {
		err = tls_flush(l, why);
		if (err)
			return err;
	}
	while (total < asked && !l->unsent) {
		int64_t n;

		iw_tls_stream_output(t->session, scratch, IW_TLS_SCRATCH);
		n = iw_tls_stream_write(t->session, vec, nvec, total, why);
		err = send_out(t, scratch, iw_tls_stream_output(t->session, NULL, 0), why);
		if (n < 0)
			return name_fault(t, (int)n, why);
		/* Octets of this record are lost: the stream cannot continue. */
		if (err)
			return err == IW_E_NOMEM
				       ? iw_fail(why, IW_E_TLS, "TLS: no memory for ciphertext")
				       : err;
		total += (size_t)n;
		t->taken += (uint64_t)n;
	}
	return (int64_t)total;
}

static uint64_t tls_unacked(struct iw_stream *l)
{
	struct tls *t = tls_of(l);

	return t->below->ops->unacked(t->below) + t->out.len - t->out.at;
}

static int tls_shutdown(struct iw_stream *l, struct iw_fault *why)
{
	struct tls *t = tls_of(l);
	int err;

	t->fin_due = true;
	err = tls_flush(l, why);
	if (err != IW_E_AGAIN)
		return err;
	l->unsent = true; /* the rest, the close_notify or the FIN follows with flush */
	return 0;
}

/* ---------------------------------------------------------------- the handshake */

static int begin_session(struct tls *t, struct iw_fault *why)
{
	int err = iw_tls_stream_new(&t->session, t->creds, t->initiator, t->name, why);

	free(t->name);
	t->name = NULL;
	return err;
}

/* One step with data, or with what was kept. As iw_tls_stream_handshake. */
static int shake(struct tls *t, const uint8_t *data, size_t len, struct iw_fault *why)
{
	struct iw_fault of_output;
	int ret, err;

	if (t->in.data) {
		data = t->in.data + t->in.at;
		len = t->in.len - t->in.at;
	}
	lend(t, data, len);
	ret = iw_tls_stream_handshake(t->session, why);
	err = settle(t, data, len, &of_output);
	t->failed |= ret == IW_E_TLS;
	if (ret == IW_E_TLS)
		return name_fault(t, ret, why);
	if (err) {
		if (why)
			*why = of_output;
		return err;
	}
	return ret;
}

static int handshake(struct tls *t, struct iw_fault *why)
{
	int64_t got;
	int err;

	if (t->s.unsent) {
		err = tls_flush(&t->s, why);
		if (err)
			return err;
	}
	err = shake(t, NULL, 0, why);
	while (err == IW_E_AGAIN && !t->s.unsent) {
		got = read_below(t, IW_TLS_SCRATCH, false, why);
		if (got == 0 || got == IW_E_CLOSED)
			return closed_in_handshake(t, why);
		if (got < 0)
			return (int)got;
		err = shake(t, iw_tls_creds_scratch_in(t->creds), (size_t)got, why);
	}
	if (err)
		return err;
	t->open = true;
	t->s.handshake = false;
	return 0;
}

static int tls_connected(struct iw_stream *l, struct iw_fault *why)
{
	struct tls *t = tls_of(l);
	int err;

	if (!l->handshake) {
		err = t->below->ops->connected(t->below, why);
		mirror(t);
		if (err)
			return err;
		err = begin_session(t, why);
		if (err)
			return err;
		l->handshake = true;
	}
	return handshake(t, why);
}

static int tls_try_next(struct iw_stream *l, struct iw_fault *why)
{
	struct tls *t = tls_of(l);
	int err = t->below->ops->try_next(t->below, why);

	mirror(t);
	return err;
}

static int tls_no_answer(struct iw_stream *l, uint64_t waited, struct iw_fault *why)
{
	struct tls *t = tls_of(l);

	if (!l->handshake)
		return t->below->ops->no_answer(t->below, waited, why);
	return iw_fail(why, IW_E_TIMEOUT,
		       t->initiator
			       ? "connect to %s: the TLS handshake did not finish within %t; does "
				 "the peer use TLS (--tls)?"
			       : "TLS with %s: the handshake did not finish within %t",
		       l->peer, waited);
}

/* ---------------------------------------------------------------- the rest of the operations */

static void tls_refresh(struct iw_stream *l)
{
	struct tls *t = tls_of(l);

	t->below->ops->refresh(t->below);
	l->emss = t->below->emss;
}

static int tls_set_cc(struct iw_stream *l, const char *name, struct iw_fault *why)
{
	return tls_of(l)->below->ops->set_cc(tls_of(l)->below, name, why);
}

static void tls_facts(struct iw_stream *l, struct iw_llp_facts *out)
{
	struct tls *t = tls_of(l);
	uint64_t unacked = tls_unacked(l);

	t->below->ops->facts(t->below, out);
	/* Of plaintext: at least so many, because its records are longer. */
	out->acked = t->taken - IW_MIN(t->taken, unacked);
}

static bool tls_sample(struct iw_stream *l, struct iw_stream_sample *out)
{
	return tls_of(l)->below->ops->sample(tls_of(l)->below, out);
}

static bool tls_info(struct iw_stream *l, struct iw_tls_info *out)
{
	const struct tls *t = tls_of(l);

	return t->session && iw_tls_stream_info(t->session, out);
}

static void tls_close(struct iw_stream *l, bool abort)
{
	struct tls *t = tls_of(l);
	struct iw_fault ignored;

	/* If the socket does not take these octets, the peer reports a truncated stream. */
	if (t->open && !abort && !t->closed && !t->failed && !l->unsent)
		(void)send_close_notify(t, &ignored);
	/* A reset would destroy the alert, which has the reason for the peer. */
	t->below->ops->close(t->below, abort && !t->failed);
	iw_tls_stream_free(t->session);
	free(t->in.data);
	free(t->out.data);
	free(t->name);
	iw_tls_creds_put(t->creds);
	free(t);
}

static int wrap(struct iw_stream **out, struct iw_stream *below, struct iw_tls *creds,
		const char *name, struct iw_fault *why);

static int tls_accept(struct iw_stream *l, struct iw_stream **out, struct iw_fault *why)
{
	struct tls *t = tls_of(l), *accepted;
	struct iw_stream *below;
	int err = t->below->ops->accept(t->below, &below, why);

	if (err)
		return err;
	err = wrap(out, below, t->creds, NULL, why);
	if (err)
		return IW_E_OS; /* wrap has closed this connection; others may work */
	accepted = tls_of(*out);
	err = begin_session(accepted, why);
	if (err) {
		tls_close(*out, true);
		return IW_E_OS;
	}
	accepted->s.handshake = true;
	return 0;
}

static const struct iw_stream_ops tls_ops = {
	.name = "tcp",
	.accept = tls_accept,
	.recv = tls_recv,
	.recv_wait = tls_recv_wait,
	.send = tls_send,
	.flush = tls_flush,
	.pending = tls_pending,
	.unacked = tls_unacked,
	.shutdown = tls_shutdown,
	.refresh = tls_refresh,
	.connected = tls_connected,
	.try_next = tls_try_next,
	.no_answer = tls_no_answer,
	.set_cc = tls_set_cc,
	.facts = tls_facts,
	.tls = tls_info,
	.sample = tls_sample,
	.close = tls_close,
};

/* Takes ownership of below, on failure too. name NULL: a listener, or accepted. */
static int wrap(struct iw_stream **out, struct iw_stream *below, struct iw_tls *creds,
		const char *name, struct iw_fault *why)
{
	struct tls *t = calloc(1, sizeof(*t));
	char *copy = name ? strdup(name) : NULL;

	if (!t || (name && !copy)) {
		free(t);
		free(copy);
		below->ops->close(below, true);
		return iw_fail(why, IW_E_NOMEM, "TLS: no memory for a connection");
	}
	t->s.ops = &tls_ops;
	t->below = below;
	t->creds = iw_tls_creds_get(creds);
	t->name = copy;
	t->initiator = name != NULL;
	mirror(t);
	*out = &t->s;
	return 0;
}

int iw_stream_open(struct iw_stream **out, const struct iw_stream_ops *ops,
		   const struct iw_llp_cfg *cfg, struct iw_fault *why)
{
	struct iw_stream *below;
	int err = cfg->tls && cfg->listen ? iw_tls_creds_listen(cfg->tls, why) : 0;

	if (!err)
		err = ops->open(&below, cfg, why);
	if (err)
		return err;
	if (cfg->tls)
		return wrap(out, below, cfg->tls,
			    cfg->listen     ? NULL
			    : cfg->tls_name ? cfg->tls_name
					    : cfg->host,
			    why);
	*out = below;
	return 0;
}
