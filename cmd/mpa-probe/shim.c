// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Observes and changes the start-up of MPA between the engine and the transport. */
#include "mpa-probe/shim.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#include "mpa-probe/codec.h"
#include "mpa/mpa.h"
#include "os/os.h"
#include "util/num.h"
#include "util/text.h"
#include "wire/ddp.h"

/*
 * A siw responder misses FPDUs for one or two milliseconds after its Reply. A longer time makes
 * tests reliable.
 */
#define EARLY_NS IW_MSEC(50)
#define NAP_NS   IW_MSEC(1)

enum phase {
	PHASE_REQUEST, /* receives the Request from the peer */
	PHASE_SERVE,   /* gives a Request to the engine */
	PHASE_REPLY,   /* waits for the Reply of the engine */
	PHASE_OPERATION,
	PHASE_OVER, /* not accepted; the engine receives nothing more */
};

struct shim_llp {
	struct iw_stream llp;
	struct iw_stream *inner; /* owned */
	struct iw_shim *shim;
	bool native;
	enum phase phase;
	uint8_t request[IW_ASK_MAX], reply[IW_ASK_MAX]; /* as on the wire */
	size_t request_len, reply_len;
	struct iw_personality_answer answer;
	size_t served; /* octets of answer.request given to the engine */
	bool reset;    /* end the connection by a reset */
	uint64_t early_until;
	int unnoticed;          /* octets in the socket that are not noticed */
	struct iw_codec *watch; /* decodes FPDUs to find STag 0 */
	bool left;              /* the peer ended the connection */
	bool reported;
};

static struct shim_llp *shim_of(struct iw_stream *l)
{
	return iw_container_of(l, struct shim_llp, llp);
}

/* The fields are always those of the inner transport. */
static void mirror(struct shim_llp *s)
{
	const struct iw_stream *in = s->inner;

	s->llp.fd = in->fd;
	memcpy(s->llp.local, in->local, sizeof(s->llp.local));
	memcpy(s->llp.peer, in->peer, sizeof(s->llp.peer));
	s->llp.local_port = in->local_port;
	s->llp.emss = in->emss;
	s->llp.untried = in->untried;
	s->llp.handshake = in->handshake;
	s->llp.unsent = in->unsent;
	s->llp.sends = in->sends;
	s->llp.recvs = in->recvs;
}

static void nap(uint64_t ns)
{
	const struct timespec ts = { .tv_sec = (time_t)(ns / IW_SEC(1)),
				     .tv_nsec = (long)(ns % IW_SEC(1)) };

	(void)nanosleep(&ts, NULL);
}

static void report(struct shim_llp *s, enum iw_personality_verdict verdict, const char *text)
{
	struct iw_shim_report r = {
		.request = s->request_len ? s->request : NULL,
		.request_len = s->request_len,
		.reply = s->reply_len ? s->reply : NULL,
		.reply_len = s->reply_len,
		.personality = s->shim->personality.row,
		.verdict = verdict,
		.text = text,
		.legacy_little = s->answer.legacy_little,
	};

	if (s->reported)
		return;
	s->reported = true;
	s->shim->turned_away += verdict != IW_PERSONALITY_ACCEPT;
	if (!s->shim->report)
		return;
	memcpy(r.peer, s->llp.peer, sizeof(r.peer));
	s->shim->report(s->shim->report_ctx, &r);
}

/* Copies passing octets up to the end of the frame. Returns true if the frame is complete. */
static bool gather(uint8_t *frame, size_t *len, const struct iw_vec *vec, size_t nvec, size_t bytes)
{
	for (size_t i = 0; i < nvec && bytes > 0; i++) {
		const uint8_t *p = vec[i].base;
		size_t n = IW_MIN(vec[i].len, bytes);

		bytes -= n;
		while (n-- > 0) {
			size_t need = IW_MPA_FRAME_LEN;

			if (*len >= IW_MPA_FRAME_LEN)
				need += IW_MIN((size_t)iw_get_be16(frame + 18),
					       (size_t)IW_MPA_PD_MAX);
			if (*len == need)
				return true;
			frame[(*len)++] = *p++;
		}
	}
	return *len >= IW_MPA_FRAME_LEN &&
	       *len == IW_MPA_FRAME_LEN +
			       IW_MIN((size_t)iw_get_be16(frame + 18), (size_t)IW_MPA_PD_MAX);
}

/* --- the Request --- */

static int64_t inner_recv(struct shim_llp *s, const struct iw_vec *vec, size_t nvec,
			  struct iw_fault *why)
{
	int64_t n = s->inner->ops->recv(s->inner, vec, nvec, why);

	s->left |= n <= 0 && n != IW_E_AGAIN;
	mirror(s);
	return n;
}

static int send_all(struct shim_llp *s, const uint8_t *octets, size_t len, struct iw_fault *why)
{
	union {
		const uint8_t *in;
		void *out;
	} u = { .in = octets }; /* senders only read what an iw_vec points to */
	struct iw_vec vec = { u.out, len };
	int64_t n = s->inner->ops->send(s->inner, &vec, 1, true, why);

	mirror(s);
	if (n < 0 && n != IW_E_AGAIN)
		return (int)n;
	/* Nothing was sent before, so every socket has room for it. */
	return n == (int64_t)len
		       ? 0
		       : iw_fail(why, IW_E_OS, "the socket did not accept the whole Reply");
}

static bool more_follows(const struct shim_llp *s)
{
	uint8_t octet;

	return recv(s->inner->fd, &octet, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* Answers a Request that is not accepted, and closes. The engine sees a peer that closed. */
static int64_t turn_away(struct shim_llp *s)
{
	struct iw_fault ignored = { 0 };

	s->phase = PHASE_OVER;
	if (s->answer.verdict == IW_PERSONALITY_REJECT) {
		memcpy(s->reply, s->answer.reply, s->answer.reply_len);
		s->reply_len = s->answer.reply_len;
		/* An error means that the peer is gone and needs no Reply. */
		(void)send_all(s, s->reply, s->reply_len, &ignored);
	}
	s->reset = s->answer.verdict == IW_PERSONALITY_RESET;
	if (!s->reset)
		(void)s->inner->ops->shutdown(s->inner, &ignored);
	report(s, s->answer.verdict, s->answer.text);
	return 0;
}

/*
 * Reads the Request and nothing after it. Returns 1 if there is a verdict, else the result of recv.
 */
static int64_t take_request(struct shim_llp *s, struct iw_fault *why)
{
	for (;;) {
		struct iw_vec vec;
		int64_t n;

		iw_personality_answer(&s->answer, &s->shim->personality, s->request, s->request_len,
				      s->request_len > IW_MPA_FRAME_LEN - 1 && more_follows(s));
		if (s->answer.verdict != IW_PERSONALITY_MORE)
			return 1;
		vec = (struct iw_vec){ s->request + s->request_len,
				       s->answer.need - s->request_len };
		n = inner_recv(s, &vec, 1, why);
		if (n <= 0) {
			/* A connection without an octet, such as a port scan, is not a start-up. */
			if (n != IW_E_AGAIN && s->request_len > 0)
				report(s, IW_PERSONALITY_CLOSE,
				       "the peer closed the connection before its Request was complete");
			return n;
		}
		s->request_len += (size_t)n;
	}
}

static int64_t serve(struct shim_llp *s, const struct iw_vec *vec)
{
	size_t left = s->answer.request_len - s->served, n = IW_MIN(left, vec[0].len);

	memcpy(vec[0].base, s->answer.request + s->served, n);
	s->served += n;
	if (s->served == s->answer.request_len)
		s->phase = PHASE_REPLY;
	return (int64_t)n;
}

static int64_t recv_request(struct shim_llp *s, const struct iw_vec *vec, struct iw_fault *why)
{
	int64_t n = take_request(s, why);

	if (n <= 0)
		return n;
	if (s->answer.verdict != IW_PERSONALITY_ACCEPT)
		return turn_away(s);
	s->phase = PHASE_SERVE;
	return serve(s, vec);
}

/* --- STag 0 --- */

/*
 * Sends a Terminate without headers, as that hardware does. It can be framed because nothing was
 * sent before, so that its position in the stream is known.
 */
static void send_terminate(struct shim_llp *s)
{
	const struct iw_ddp h = {
		.last = true, .dv = 1, .rv = 1, .opcode = IW_OP_TERM, .qn = IW_QN_TERM, .msn = 1
	};
	const struct iw_terminate t = { .layer = IW_TERM_LAYER(iw_err_term(IW_E_RP_STAG)),
					.etype = IW_TERM_ETYPE(iw_err_term(IW_E_RP_STAG)),
					.code = IW_TERM_CODE(iw_err_term(IW_E_RP_STAG)) };
	uint8_t ulpdu[IW_DDP_HDR_MAX + IW_RDMAP_TERM_MIN];
	struct iw_fault ignored = { 0 };
	const uint8_t *octets;
	size_t len = (size_t)iw_wire_ddp_encode(ulpdu, sizeof(ulpdu), &h);

	len += (size_t)iw_terminate_encode(ulpdu + len, sizeof(ulpdu) - len, &t);
	len = iw_codec_put(s->watch, ulpdu, len, &octets);
	(void)send_all(s, octets, len, &ignored);
}

static bool is_stag0(const struct iw_codec_ulpdu *u)
{
	struct iw_ddp h;

	return iw_wire_ddp_decode(&h, u->data, u->len) > 0 && h.tagged && h.stag == 0;
}

/* Looks for STag 0 in octets on their way to the engine. True: end the connection. */
static bool has_stag0(struct shim_llp *s, const struct iw_vec *vec, size_t nvec, size_t bytes)
{
	struct iw_codec_ulpdu u;
	struct iw_fault why = { 0 };
	bool found = false;

	for (size_t i = 0; i < nvec && bytes > 0; i++) {
		size_t n = IW_MIN(vec[i].len, bytes);

		if (iw_codec_feed(s->watch, vec[i].base, n, &why) != 0)
			break; /* the engine reports the fault */
		bytes -= n;
	}
	while (iw_codec_next(s->watch, &u))
		found |= is_stag0(&u);
	return found;
}

static int64_t drop_for_stag0(struct shim_llp *s)
{
	struct iw_fault ignored = { 0 };

	send_terminate(s);
	(void)s->inner->ops->shutdown(s->inner, &ignored);
	s->phase = PHASE_OVER;
	return 0;
}

static void watch_stag0(struct shim_llp *s)
{
	const struct iw_codec_cfg cfg = { .crc = s->answer.crc,
					  .tx_markers = s->request[16] & IW_MPA_M,
					  .rx_markers = s->reply[16] & IW_MPA_M };
	struct iw_fault ignored = { 0 };

	/* Out of memory: this connection does not emulate STag 0, and works otherwise. */
	if (s->shim->personality.row->drops_stag0)
		(void)!iw_codec_new(&s->watch, &cfg, &ignored);
}

/* --- lost FPDUs of siw --- */

/* Returns true if the octets in the socket must not be noticed yet. */
static bool is_unnoticed(struct shim_llp *s)
{
	struct pollfd fd = { .fd = s->inner->fd, .events = POLLRDHUP };
	int there = 0;

	if (!s->early_until || ioctl(s->inner->fd, FIONREAD, &there) != 0)
		return false;
	if (!s->unnoticed && iw_os_now() < s->early_until)
		s->unnoticed = there;
	if (s->unnoticed && there <= s->unnoticed && poll(&fd, 1, 0) == 0) {
		/* The socket is readable, so the loop polls it again at once. */
		nap(NAP_NS);
		return true;
	}
	if (s->unnoticed || iw_os_now() >= s->early_until)
		s->early_until = 0;
	return false;
}

/* --- the vtable --- */

static int64_t shim_recv(struct iw_stream *l, const struct iw_vec *vec, size_t nvec,
			 struct iw_fault *why)
{
	struct shim_llp *s = shim_of(l);
	int64_t n;

	if (s->phase == PHASE_OVER)
		return 0;
	if (s->phase == PHASE_REQUEST && !s->native)
		return recv_request(s, vec, why);
	if (s->phase == PHASE_SERVE)
		return serve(s, vec);
	if (s->phase == PHASE_OPERATION && is_unnoticed(s))
		return IW_E_AGAIN;
	n = inner_recv(s, vec, nvec, why);
	if (s->phase == PHASE_REQUEST && s->native && n > 0 &&
	    gather(s->request, &s->request_len, vec, nvec, (size_t)n))
		s->phase = PHASE_REPLY;
	if (s->watch && n > 0 && has_stag0(s, vec, nvec, (size_t)n))
		return drop_for_stag0(s);
	return n;
}

/* Sends our Reply instead of the engine's. A refusal is a decision of the ULP and passes. */
static int64_t swap_reply(struct shim_llp *s, const struct iw_vec *vec, struct iw_fault *why)
{
	const uint8_t *theirs = vec[0].base;
	size_t len = vec[0].len;
	bool refusal = theirs[16] & IW_MPA_R;
	int err;

	memcpy(s->reply, refusal ? theirs : s->answer.reply, refusal ? len : s->answer.reply_len);
	s->reply_len = refusal ? len : s->answer.reply_len;
	err = send_all(s, s->reply, s->reply_len, why);
	if (err)
		return err;
	s->phase = PHASE_OPERATION;
	if (!refusal) {
		watch_stag0(s);
		if (s->shim->lose_early_fpdus)
			s->early_until = iw_time_add(iw_os_now(), EARLY_NS);
	}
	report(s, refusal ? IW_PERSONALITY_REJECT : IW_PERSONALITY_ACCEPT, "");
	return (int64_t)len;
}

static int64_t shim_send(struct iw_stream *l, const struct iw_vec *vec, size_t nvec, bool eor,
			 struct iw_fault *why)
{
	struct shim_llp *s = shim_of(l);
	int64_t n;

	/* The engine sends its Reply in one piece. */
	if (!s->native && s->phase == PHASE_REPLY && vec[0].len >= IW_MPA_FRAME_LEN &&
	    vec[0].len <= sizeof(s->reply))
		return swap_reply(s, vec, why);
	n = s->inner->ops->send(s->inner, vec, nvec, eor, why);
	mirror(s);
	/* The engine may send a Reply before the Request is complete (RFC 5044 appendix C). */
	if (s->native && s->phase <= PHASE_REPLY && n > 0 &&
	    gather(s->reply, &s->reply_len, vec, nvec, (size_t)n)) {
		s->phase = PHASE_OPERATION;
		if (s->shim->lose_early_fpdus)
			s->early_until = iw_time_add(iw_os_now(), EARLY_NS);
		report(s, s->reply[16] & IW_MPA_R ? IW_PERSONALITY_REJECT : IW_PERSONALITY_ACCEPT,
		       "");
	}
	return n;
}

static int shim_shutdown(struct iw_stream *l, struct iw_fault *why)
{
	struct shim_llp *s = shim_of(l);
	int err;

	if (s->phase == PHASE_OVER)
		return 0;
	err = s->inner->ops->shutdown(s->inner, why);
	mirror(s);
	return err;
}

static void shim_refresh(struct iw_stream *l)
{
	shim_of(l)->inner->ops->refresh(shim_of(l)->inner);
	mirror(shim_of(l));
}

static int shim_connected(struct iw_stream *l, struct iw_fault *why)
{
	int err = shim_of(l)->inner->ops->connected(shim_of(l)->inner, why);

	mirror(shim_of(l));
	return err;
}

static int shim_try_next(struct iw_stream *l, struct iw_fault *why)
{
	int err = shim_of(l)->inner->ops->try_next(shim_of(l)->inner, why);

	mirror(shim_of(l));
	return err;
}

static int shim_set_cc(struct iw_stream *l, const char *name, struct iw_fault *why)
{
	return shim_of(l)->inner->ops->set_cc(shim_of(l)->inner, name, why);
}

static int shim_flush(struct iw_stream *l, struct iw_fault *why)
{
	int err = shim_of(l)->inner->ops->flush(shim_of(l)->inner, why);

	mirror(shim_of(l));
	return err;
}

static bool inner_pending(struct iw_stream *inner)
{
	return inner->ops->pending && inner->ops->pending(inner);
}

static bool shim_pending(struct iw_stream *l)
{
	const struct shim_llp *s = shim_of(l);

	return s->phase == PHASE_SERVE || inner_pending(s->inner);
}

static bool shim_tls(struct iw_stream *l, struct iw_tls_info *out)
{
	struct iw_stream *inner = shim_of(l)->inner;

	return inner->ops->tls && inner->ops->tls(inner, out);
}

static void shim_facts(struct iw_stream *l, struct iw_llp_facts *out)
{
	shim_of(l)->inner->ops->facts(shim_of(l)->inner, out);
}

/*
 * Reports a start-up that the engine ended without a Reply, with the reason if the Request shows
 * it.
 */
static void report_no_reply(struct shim_llp *s)
{
	uint8_t most = s->shim->rev_most ? s->shim->rev_most : 2;
	struct iw_mpa_frame f;
	char text[160] = "the set-up ended without a Reply";
	struct iw_text t;
	int whole;

	if (s->reported || s->request_len == 0)
		return;
	whole = iw_wire_mpa_frame_decode(&f, s->request, s->request_len);
	iw_text_init(&t, text, sizeof(text));
	if (s->native && f.kind == IW_MPA_REQUEST && f.rev > most)
		/* The engine rejects it by its header, and reads no more. */
		iw_text_fmt(&t, "Rev %u: at most %u is accepted here%s", (uint32_t)f.rev,
			    (uint32_t)most,
			    s->shim->rdmac
				    ? " (--profile rdmac); both ends must use the same --profile"
				    : "");
	else if (s->left && whole <= 0)
		iw_text_str(&t, "the peer closed the connection before its Request was complete");
	else
		iw_text_str(&t, "the set-up ended without a Reply");
	report(s, IW_PERSONALITY_CLOSE, text);
}

static void shim_close(struct iw_stream *l, bool abort)
{
	struct shim_llp *s = shim_of(l);

	report_no_reply(s);
	/* A rejected peer must receive the Reply, so no abort destroys it. */
	s->inner->ops->close(s->inner, s->phase == PHASE_OVER ? s->reset : abort);
	iw_codec_free(s->watch);
	free(s);
}

static const struct iw_stream_ops shim_ops = {
	.name = "tcp",
	.recv = shim_recv,
	.send = shim_send,
	.flush = shim_flush,
	.pending = shim_pending,
	.tls = shim_tls,
	.shutdown = shim_shutdown,
	.refresh = shim_refresh,
	.connected = shim_connected,
	.try_next = shim_try_next,
	.set_cc = shim_set_cc,
	.facts = shim_facts,
	.close = shim_close,
};

struct iw_stream *iw_shim_wrap(void *shim, struct iw_stream *llp, bool initiator)
{
	struct shim_llp *s;

	if (initiator)
		return llp;
	s = calloc(1, sizeof(*s));
	if (!s) {
		llp->ops->close(llp, true);
		return NULL;
	}
	s->llp.ops = &shim_ops;
	s->inner = llp;
	s->shim = shim;
	s->native = s->shim->personality.row->native;
	mirror(s);
	return &s->llp;
}
