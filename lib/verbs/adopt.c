// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RDMA on a connection that already carries octets (RFC 5044 7.1, RFC 5045 6.9.2): TCP, or a Unix
 * stream socket.
 */
#include "verbs/internal.h"

#include <string.h>

#include "os/os.h"

/*
 * Passes the octets that the program has already read to conn, as if they arrived now.
 * IW_E_INVAL: more octets follow the Request; IW_E_MPA_FRAME: they are not a Request; IW_E_NOMEM.
 */
static int feed(struct iw_conn *conn, const struct iw_adopt *how, struct iw_fault *why)
{
	const uint8_t *at = how->octets;
	size_t left = how->len;
	uint8_t none[1] = { 0 }; /* scratch memory; conn does not use it in start-up */

	while (left > 0) {
		struct iw_vec vec[2];
		int n = iw_conn_rx_vec(conn, (struct iw_vec){ none, sizeof(none) }, vec);
		size_t take;

		if (n < 0)
			return iw_fail(why, n, "adopt: no memory");
		if (n == 0)
			return iw_fail(why, IW_E_INVAL,
				       "adopt: %U octets follow the MPA Request, before its Reply",
				       (uint64_t)left);
		take = IW_MIN(left, vec[0].len);
		memcpy(vec[0].base, at, take);
		iw_conn_received(conn, take, iw_os_now());
		if (iw_conn_state(conn) == IW_CONN_CLOSED)
			return iw_fail(why, IW_E_MPA_FRAME,
				       "adopt: the octets passed are not an MPA Request");
		at += take;
		left -= take;
	}
	return 0;
}

static int begin(struct iw_qp *qp, const struct iw_adopt *how, const struct iw_protocol_attr *p,
		 struct iw_fault *why)
{
	struct iw_ctx *ctx = qp->ctx;
	struct iw_conn_cfg cfg;
	struct iw_stream *stream;
	int err = iw_stream_adopt(&stream, how->fd, why);

	if (err)
		return err;
	iw_verbs_conn_cfg(&cfg, ctx, p, !how->responder, p->rev);
	cfg.rdmap = how->responder ? NULL : qp->rdmap;
	cfg.keep_stream = true;
	err = iw_conn_new(&qp->conn, &cfg, iw_os_now(), why);
	if (!err)
		err = feed(qp->conn, how, why);
	if (err) {
		stream->ops->close(stream, false);
		goto fail;
	}
	qp->adoption->stream = stream;
	err = iw_loop_stream_new(&qp->loop_conn, ctx->loop, stream, qp->conn, &qp->owner, false,
				 why);
	if (!err)
		return 0;
fail:
	iw_conn_free(qp->conn);
	qp->conn = NULL;
	return err;
}

static int check(const struct iw_qp *qp, const struct iw_adopt *how, struct iw_fault *why)
{
	if (qp->used)
		return iw_fail(why, IW_E_STATE, "adopt: the queue pair was used before");
	if (how->len && !how->octets)
		return iw_fail(why, IW_E_INVAL, "adopt: octets is NULL");
	if (how->len && !how->responder)
		return iw_fail(why, IW_E_INVAL,
			       "adopt: %U octets precede the MPA Request of the initiator",
			       (uint64_t)how->len);
	return 0;
}

static void keep_protocol(struct adoption *a, const struct iw_protocol_attr *p)
{
	a->protocol = *p;
	if (p->private_data_len)
		memcpy(a->private_data, p->private_data, p->private_data_len);
	a->protocol.private_data = a->private_data;
}

int iw_adopt(struct iw_qp *qp, const struct iw_adopt *how, const struct iw_protocol_attr *protocol,
	     struct iw_fault *why)
{
	struct iw_protocol_attr p;
	struct iw_adopt h;
	int err = iw_verbs_take(&h, sizeof(h), how, how ? how->size : 0, "struct iw_adopt", why);

	if (!err)
		err = iw_verbs_take_protocol(&p, protocol, "tcp", "adopt", why);
	if (!err)
		err = check(qp, &h, why);
	if (err)
		return err;
	qp->adoption = iw_verbs_alloc(qp->ctx, sizeof(*qp->adoption));
	if (!qp->adoption)
		return iw_fail(why, IW_E_NOMEM, "adopt: no memory");
	if (h.responder)
		keep_protocol(qp->adoption, &p);
	err = begin(qp, &h, &p, why);
	if (err) {
		iw_verbs_free(qp->ctx, qp->adoption, sizeof(*qp->adoption));
		qp->adoption = NULL;
		return err;
	}
	qp->used = true;
	qp->initiator = !h.responder;
	return 0;
}

void iw_verbs_adopt_request(struct iw_qp *qp)
{
	struct adoption *a = qp->adoption;

	a->req.adopter = qp;
	a->req.conn = qp->conn;
	memcpy(a->req.peer, a->stream->peer, sizeof(a->req.peer));
	iw_verbs_event(qp->ctx, &qp->owner.events, IW_EV_CONNECT_REQUEST);
	if (iw_verbs_traced(qp->ctx))
		iw_verbs_trace_request(qp->ctx, iw_rdmap_stream(qp->rdmap), &a->req);
}

static int answer(struct iw_qp *qp, const struct iw_qp *chosen,
		  const struct iw_protocol_attr *protocol, struct iw_fault *why)
{
	struct iw_protocol_attr p = qp->adoption->protocol;
	struct iw_conn_cfg cfg;
	int err = 0;

	if (protocol)
		err = iw_verbs_take_protocol(&p, protocol, "tcp", "accept", why);
	if (!err && chosen != qp)
		err = iw_fail(why, IW_E_INVAL,
			      "accept: the queue pair is not the one that adopted the connection");
	if (err)
		return err;
	iw_verbs_conn_cfg(&cfg, qp->ctx, &p, false, p.rev);
	return iw_conn_accept(qp->conn, qp->rdmap, cfg.mpa.offer.ird, cfg.mpa.offer.ord,
			      p.private_data, p.private_data_len, iw_os_now(), why);
}

int iw_verbs_adopt_accept(struct iw_qp *qp, const struct iw_qp *chosen,
			  const struct iw_protocol_attr *protocol, struct iw_fault *why)
{
	struct iw_fault local = { 0 };
	int err;

	if (qp->ended) {
		if (why)
			*why = qp->fault;
		return qp->fault.err ? qp->fault.err
				     : iw_fail(why, IW_E_CLOSED,
					       "accept: the peer has closed the connection");
	}
	if (iw_conn_state(qp->conn) != IW_CONN_SETUP)
		return iw_fail(why, IW_E_STATE, "accept: the request was answered before");
	err = answer(qp, chosen, protocol, &local);
	if (!err) {
		iw_loop_conn_kick(qp->loop_conn);
	} else {
		iw_verbs_qp_end(qp, &local, false);
		iw_verbs_qp_complete(qp);
		if (why)
			*why = local;
	}
	iw_verbs_sync_wakeups(qp->ctx);
	return err;
}

void iw_verbs_adopt_reject(struct iw_qp *qp, const void *private_data, size_t len)
{
	if (qp->ended)
		return;
	iw_conn_reject(qp->conn, private_data, len, iw_os_now());
	iw_loop_conn_kick(qp->loop_conn);
	iw_verbs_sync_wakeups(qp->ctx);
}

void iw_verbs_adopt_kept(struct iw_qp *qp)
{
	if (qp->adoption)
		qp->adoption->stream->ops->keep(qp->adoption->stream);
}

int iw_adopt_streaming(const struct iw_qp *qp, const void **octets, size_t *len)
{
	struct iw_vec v;

	*octets = NULL;
	*len = 0;
	if (!qp->adoption || !qp->ended || !qp->conn || !iw_conn_is_streaming(qp->conn, &v))
		return IW_E_STATE;
	*octets = v.len ? v.base : NULL;
	*len = v.len;
	return 0;
}
