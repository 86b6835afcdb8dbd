// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * One attempt: connects, sends the Request, evaluates the answer, tests the connection, and closes
 * it. After the Request it sends only what every iWARP responder must accept: zero-length RDMA
 * Writes and Reads, which touch no memory (RFC 5041 5.2, RFC 5040 5.2.1), and the zero-length Send
 * if that is the only RTR form agreed (RFC 6581 9.2).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/text.h"
#include "mpa-probe/codec.h"
#include "mpa-probe/probe.h"
#include "mpa/mpa.h"
#include "util/num.h"

/* To recognize another protocol: how many octets to read, and for how long. */
#define BANNER       160
#define BANNER_NS    IW_MSEC(100)
/*
 * Pause between the Reply and the first FPDU. It shows whether the responder sends first. Linux siw
 * loses an FPDU that arrives too soon. A peer that replied slowly, such as an emulated machine,
 * gets a longer pause.
 */
#define SETTLE_LEAST IW_MSEC(10)
#define SETTLE_MOST  IW_MSEC(100)
/* Time for the peer to act by itself, after a refusal or our FIN. */
#define LINGER_NS    IW_MSEC(50)
/* If the first FPDU is not answered within this time, more octets are sent. */
#define NUDGE_NS     IW_MSEC(60)
/* Nothing is placed, so any STag is valid. Some RNICs drop STag 0 nevertheless. */
#define PROBE_STAG   1

static const char *const outcome_names[IW_OUTCOMES] = {
	[IW_OUTCOME_ACCEPTED] = "accepted",       [IW_OUTCOME_REFUSED] = "refused",
	[IW_OUTCOME_CLOSED] = "closed",           [IW_OUTCOME_RESET] = "reset",
	[IW_OUTCOME_SILENT] = "silent",           [IW_OUTCOME_NOT_MPA] = "not_mpa",
	[IW_OUTCOME_BAD_REPLY] = "bad_reply",     [IW_OUTCOME_PORT_CLOSED] = "port_closed",
	[IW_OUTCOME_UNREACHABLE] = "unreachable",
};

const char *iw_outcome_name(enum iw_outcome o)
{
	return o < IW_OUTCOMES ? outcome_names[o] : "?";
}

const char *iw_ending_name(enum iw_ending e)
{
	static const char *const names[] = { "open", "fin", "reset" };

	return e < IW_ARRAY_LEN(names) ? names[e] : "?";
}

const char *iw_proof_name(enum iw_proof p)
{
	static const char *const names[] = { "none", "works", "taken", "silent", "broken" };

	return p < IW_ARRAY_LEN(names) ? names[p] : "?";
}

/* One attempt in progress. */
struct attempt {
	const struct iw_attempt_cfg *cfg;
	const struct iw_ask *ask;
	struct iw_answer *out;
	struct iw_play play;
	struct iw_codec *codec;
	uint64_t asked_ns; /* when the Request was sent */
	size_t fed;        /* octets of play.rx passed to the codec */
	size_t fpdu0;      /* position of the first FPDU in play.rx */
	uint32_t read_msn; /* of the next Read Request */
	unsigned pending;  /* Reads not answered yet */
	bool over;         /* no more FPDUs: they are invalid, or a Terminate was received */
};

/* --- no Reply --- */

static const struct {
	const char *prefix;
	size_t len;
	const char *what;
} banners[] = {
#define BANNER_(prefix, what)                                                                      \
	{                                                                                          \
		prefix, sizeof(prefix) - 1, what                                                   \
	}
	BANNER_("HTTP/", "HTTP"),
	BANNER_("<!DOCTYPE", "HTTP"),
	BANNER_("<html", "HTTP"),
	BANNER_("SSH-", "SSH"),
	BANNER_("220 ", "SMTP or FTP"),
	BANNER_("220-", "SMTP or FTP"),
	BANNER_("+OK", "POP3"),
	BANNER_("* OK", "IMAP"),
	BANNER_("RFB ", "VNC"),
	BANNER_("\x15\x03", "TLS"),
	BANNER_("\x16\x03", "TLS"),
	BANNER_("@RSYNCD", "rsync"),
	BANNER_("MPA ID Req Frame", "MPA, as an initiator: a Request instead of a Reply"),
#undef BANNER_
};

/* Describes what the peer sent: HTTP ("HTTP/1.1 400 Bad Request"). */
static void describe_banner(struct attempt *t)
{
	const uint8_t *rx = t->play.rx;
	size_t len = IW_MIN(t->play.rx_len, (size_t)BANNER), line = 0;
	const char *what = "a protocol other than MPA";
	uint8_t request[IW_ASK_MAX];
	size_t sent = iw_ask_encode(request, t->ask);
	char text[120];

	for (size_t i = 0; i < IW_ARRAY_LEN(banners); i++)
		if (len >= banners[i].len && memcmp(rx, banners[i].prefix, banners[i].len) == 0)
			what = banners[i].what;
	if (t->play.rx_len >= sent && memcmp(rx, request, sent) == 0)
		what = "an echo protocol: it sends back what it receives";
	while (line < len && line < 60 && rx[line] != '\r' && rx[line] != '\n')
		line++;
	iw_printable(text, sizeof(text), (const char *)rx, line, true);
	snprintf(t->out->text, sizeof(t->out->text), "%s (\"%s\")", what, text);
}

/* Returns the number of octets, up to the length of the key, that equal the key of a Reply. */
static size_t same_as_key(const uint8_t *rx, size_t len)
{
	const struct iw_mpa_frame f = { .kind = IW_MPA_REPLY };
	uint8_t want[IW_MPA_FRAME_LEN];
	size_t i = 0;

	iw_wire_mpa_frame_encode(want, sizeof(want), &f);
	len = IW_MIN(len, (size_t)IW_MPA_KEY_LEN);
	while (i < len && rx[i] == want[i])
		i++;
	return i;
}

static bool is_foreign(const struct iw_play *p)
{
	return same_as_key(p->rx, p->rx_len) < IW_MIN(p->rx_len, (size_t)IW_MPA_KEY_LEN);
}

/* --- the Reply --- */

static void keep_raw(struct attempt *t)
{
	t->out->raw_len = IW_MIN(t->play.rx_len, sizeof(t->out->raw));
	if (t->out->raw_len)
		memcpy(t->out->raw, t->play.rx, t->out->raw_len);
}

static uint64_t since_asked(const struct attempt *t, const struct iw_play_note *n)
{
	return n && n->at_ns > t->asked_ns ? n->at_ns - t->asked_ns : 0;
}

static void note_ending(struct attempt *t)
{
	const struct iw_play *p = &t->play;
	const struct iw_play_note *n;

	n = p->reset ? iw_play_find(p, IW_PLAY_RESET, 0)
	    : p->fin ? iw_play_find(p, IW_PLAY_FIN, 0)
		     : NULL;
	t->out->ending = p->reset ? IW_ENDING_RESET : p->fin ? IW_ENDING_FIN : IW_ENDING_OPEN;
	if (n)
		t->out->ended_ns = since_asked(t, n);
}

static int no_reply(struct attempt *t, enum iw_outcome outcome)
{
	struct iw_answer *a = t->out;

	a->outcome = outcome;
	keep_raw(t);
	note_ending(t);
	return 0;
}

/* The peer does not speak MPA. Reads a little more to recognize the protocol. */
static int foreign(struct attempt *t)
{
	struct iw_play *p = &t->play;
	const struct iw_play_note *first = iw_play_find(p, IW_PLAY_RECEIVED, 0);
	size_t i;
	int err;

	t->out->reply_ns = since_asked(t, first);
	err = iw_play_wait(p, BANNER, BANNER_NS);
	if (err < 0)
		return err;
	i = same_as_key(p->rx, p->rx_len);
	describe_banner(t);
	(void)iw_fail(&t->out->why, IW_E_MPA_FRAME,
		      "not an MPA Reply: octet %U received is %b; it speaks %s", (uint64_t)i,
		      (uint32_t)p->rx[i], t->out->text);
	return no_reply(t, IW_OUTCOME_NOT_MPA);
}

/* No answer in time. Some servers respond only to a FIN, so one is sent. */
static int silent(struct attempt *t)
{
	struct iw_play *p = &t->play;
	int err;

	iw_play_shut(p);
	err = iw_play_wait(p, 1, IW_MIN(t->cfg->reply_ns, LINGER_NS));
	if (err < 0)
		return err;
	if (p->rx_len && is_foreign(p))
		return foreign(t);
	(void)iw_fail(
		&t->out->why, IW_E_TIMEOUT,
		"no answer to the Request within %t; another program may use that port (-p), and --timeout allows more time",
		t->cfg->reply_ns);
	return no_reply(t, IW_OUTCOME_SILENT);
}

static int cut_short(struct attempt *t)
{
	struct iw_mpa_frame f = { 0 };
	struct iw_play *p = &t->play;
	struct iw_fault *why = &t->out->why;

	if (p->rx_len) {
		/* The length of the Reply is known once its header has been received. */
		(void)iw_wire_mpa_frame_decode(&f, p->rx, p->rx_len);
		(void)iw_fail(
			why, IW_E_MPA_FRAME,
			"%U of %s%U octets of a Reply were received, then %s; see the log of that listener, and of a relay before it",
			(uint64_t)p->rx_len, p->rx_len < IW_MPA_FRAME_LEN ? "at least " : "",
			(uint64_t)IW_MPA_FRAME_LEN + f.pd_len,
			p->reset || p->lost ? "a reset"
			: p->fin            ? "the end of the stream"
					    : "nothing more");
		return no_reply(t, IW_OUTCOME_BAD_REPLY);
	}
	if (p->fin) {
		(void)iw_fail(why, IW_E_CLOSED, "the peer closed the connection without a Reply");
		return no_reply(t, IW_OUTCOME_CLOSED);
	}
	(void)iw_fail(why, IW_E_CLOSED, "the peer reset the connection");
	return no_reply(t, IW_OUTCOME_RESET);
}

/* Returns true if the header of the Reply is complete and invalid; t->out->why has the reason. */
static bool is_malformed(struct attempt *t, const struct iw_mpa_frame *f)
{
	struct iw_fault *why = &t->out->why;

	if (t->play.rx_len < IW_MPA_FRAME_LEN)
		return false;
	if (f->pd_len > IW_MPA_PD_MAX) {
		(void)iw_fail(why, IW_E_MPA_FRAME,
			      "PD_Length of the Reply is %u: expected at most %u (RFC 5044 7.1.1)",
			      (uint32_t)f->pd_len, (uint32_t)IW_MPA_PD_MAX);
		return true;
	}
	/* A refusal is valid without IRD and ORD. */
	if (f->rev >= 2 && f->flags & IW_MPA_S && !(f->flags & IW_MPA_R) &&
	    f->pd_len < IW_MPA_ENHANCED_LEN) {
		(void)iw_fail(
			why, IW_E_MPA_FRAME,
			"PD_Length of the enhanced Reply is %u: expected at least %u, for IRD and ORD (RFC 6581 9)",
			(uint32_t)f->pd_len, (uint32_t)IW_MPA_ENHANCED_LEN);
		why->clause = "RFC 6581 9";
		return true;
	}
	return false;
}

/*
 * Waits for the Reply. Returns 1 if play.rx has all of it; 0 if not, with the outcome in t->out; or
 * an error of iw_play_wait(). The limit applies to each pause, since a peer that sends octet by
 * octet is not silent.
 */
static int await_reply(struct attempt *t, struct iw_mpa_frame *f)
{
	struct iw_play *p = &t->play;

	for (;;) {
		int ret = iw_wire_mpa_frame_decode(f, p->rx, p->rx_len);

		if (is_foreign(p))
			return foreign(t);
		if (is_malformed(t, f))
			return no_reply(t, IW_OUTCOME_BAD_REPLY);
		if (ret > 0)
			return 1;
		if (iw_play_over(p))
			return cut_short(t);
		ret = iw_play_wait(p, p->rx_len + 1, t->cfg->reply_ns);
		if (ret < 0)
			return ret;
		if (ret == 0 && !iw_play_over(p))
			return p->rx_len ? cut_short(t) : silent(t);
	}
}

static void take_reply(struct attempt *t, const struct iw_mpa_frame *f)
{
	struct iw_answer *a = t->out;
	size_t off = IW_MPA_FRAME_LEN, end = IW_MPA_FRAME_LEN + f->pd_len;

	keep_raw(t);
	a->raw_len = end;
	a->flags = f->flags;
	a->rev = f->rev;
	/* In Rev 0 and 1, S is a reserved bit. */
	a->enhanced = f->rev >= 2 && f->flags & IW_MPA_S && f->pd_len >= IW_MPA_ENHANCED_LEN;
	if (a->enhanced)
		off += (size_t)iw_wire_mpa_enhanced_decode(&a->e, a->raw + off, end - off);
	if (t->ask->block && iw_ask_is_block(a->raw + off, end - off, &a->block))
		off += IW_MPA_BLOCK_LEN;
	a->pd_off = off;
	a->pd_len = end - off;
	t->fpdu0 = t->fed = end;
	for (size_t i = 0; i < t->play.nnotes; i++) {
		const struct iw_play_note *n = &t->play.notes[i];

		if (n->kind == IW_PLAY_RECEIVED && n->off + n->len >= end) {
			a->reply_ns = since_asked(t, n);
			break;
		}
	}
}

/* Sets what Request and Reply agree on (RFC 5044 7.1.1, RFC 6581 9). */
static void agree(struct attempt *t)
{
	const struct iw_ask *ask = t->ask;
	struct iw_answer *a = t->out;
	uint8_t theirs = iw_agree_get_rtr(&a->e);

	a->crc = ask->crc || a->flags & IW_MPA_C;
	a->tx_markers = a->flags & IW_MPA_M;
	a->rx_markers = ask->markers;
	if (!ask->enhanced || !ask->peer_to_peer || !a->enhanced || !a->e.peer_to_peer)
		return;
	a->rtr = theirs & ask->rtr;
	/*
	 * RFC 6581 9.2: a responder that supports none of the offered forms names one that it
	 * supports. An initiator would have to send a Terminate here. We support all forms, and the
	 * kernel of Linux siw crashes when a connection ends before its RTR (iw_cm: BUG in
	 * cm_work_handler, 6.1).
	 */
	a->rtr_unasked = a->rtr == IW_RTR_NONE;
	if (a->rtr_unasked)
		a->rtr = theirs;
}

/* --- FPDUs --- */

static void broken(struct attempt *t, const struct iw_fault *why)
{
	if (t->over)
		return;
	t->over = true;
	t->out->proof = IW_PROOF_BROKEN;
	t->out->broken = *why;
}

static void began_a_read(struct attempt *t, uint64_t pos)
{
	size_t at = t->fpdu0 + (size_t)pos;

	for (size_t i = 0; i < t->play.nnotes; i++)
		if (t->play.notes[i].kind == IW_PLAY_RECEIVED && t->play.notes[i].off == at)
			t->out->aligned++;
}

static void terminate_received(struct attempt *t, const uint8_t *payload, size_t len)
{
	struct iw_terminate *m = &t->out->terminate, meant;
	struct iw_fault why = { 0 };
	char what[120];
	struct iw_text text;

	t->out->terminated = iw_terminate_decode(m, payload, len) > 0;
	iw_text_init(&text, what, sizeof(what));
	if (t->out->terminated) {
		t->out->siw_order = iw_terminate_decode_siw(&meant, m, payload, len);
		if (t->out->siw_order)
			*m = meant;
		iw_wire_term_print(&text, IW_TERM((uint32_t)m->layer, (uint32_t)m->etype, m->code));
	}
	(void)iw_fail(&why, IW_E_PEER_TERMINATE, "the peer sent a Terminate: %s%s",
		      t->out->terminated ? what : "too short to decode",
		      t->out->siw_order ? " (siw: layer and type exchanged)" : "");
	broken(t, &why);
}

/* Responses come in the order of the Reads, and all of ours name the same sink (RFC 5040 5.2.2). */
static void response_received(struct attempt *t, const struct iw_ddp *h, size_t len)
{
	struct iw_fault why = { 0 };

	if (t->pending && len == 0 && h->last) {
		t->pending--;
		t->out->reads++;
		return;
	}
	(void)iw_fail(&why, IW_E_RO_OPCODE,
		      "a Read Response of %U octets, but no RDMA Read is outstanding",
		      (uint64_t)len);
	broken(t, &why);
}

static void ulpdu_received(struct attempt *t, const struct iw_codec_ulpdu *u)
{
	struct iw_fault why = { 0 };
	struct iw_ddp h;
	int n = iw_wire_ddp_decode(&h, u->data, u->len);

	t->out->fpdus++;
	began_a_read(t, u->pos);
	if (n <= 0) {
		(void)iw_fail(&why, IW_E_DDP_LOCAL,
			      "an FPDU of %U octets, too short for a DDP header", (uint64_t)u->len);
		broken(t, &why);
	} else if (h.opcode == IW_OP_TERM) {
		terminate_received(t, u->data + n, u->len - (size_t)n);
	} else if (h.opcode == IW_OP_RRESP) {
		response_received(t, &h, u->len - (size_t)n);
	}
}

/* Passes received octets to the codec, and evaluates the FPDUs. */
static void receive_fpdus(struct attempt *t)
{
	struct iw_codec_ulpdu u;
	struct iw_fault why = { 0 };
	int err = 0;

	if (t->play.rx_len > t->fed && !t->over)
		err = iw_codec_feed(t->codec, t->play.rx + t->fed, t->play.rx_len - t->fed, &why);
	t->fed = t->play.rx_len;
	while (iw_codec_next(t->codec, &u))
		ulpdu_received(t, &u);
	if (err)
		broken(t, &why);
	if (!t->over && iw_play_over(&t->play)) {
		(void)iw_fail(&why, IW_E_CLOSED, "the peer %s the connection",
			      t->play.fin ? "closed" : "reset");
		broken(t, &why);
	}
}

static int send_ulpdu(struct attempt *t, const struct iw_ddp *h, const uint8_t *body,
		      size_t body_len)
{
	uint8_t ulpdu[IW_DDP_HDR_MAX + IW_RDMAP_TERM_MAX];
	const uint8_t *octets;
	size_t len = (size_t)iw_wire_ddp_encode(ulpdu, sizeof(ulpdu), h);
	int err;

	if (body_len)
		memcpy(ulpdu + len, body, body_len);
	len += body_len;
	len = iw_codec_put(t->codec, ulpdu, len, &octets);
	err = iw_play_send(&t->play, octets, len, 0, 0, t->cfg->reply_ns);
	return err == IW_E_CLOSED || err == IW_E_TIMEOUT ? 0 : err;
}

static int send_write(struct attempt *t, uint32_t stag)
{
	return send_ulpdu(t,
			  &(struct iw_ddp){ .tagged = true,
					    .last = true,
					    .dv = 1,
					    .rv = 1,
					    .opcode = IW_OP_WRITE,
					    .stag = stag },
			  NULL, 0);
}

static int send_empty(struct attempt *t)
{
	return send_ulpdu(t,
			  &(struct iw_ddp){ .last = true,
					    .dv = 1,
					    .rv = 1,
					    .opcode = IW_OP_SEND,
					    .qn = IW_QN_SEND,
					    .msn = 1 },
			  NULL, 0);
}

/* An initiator that cannot accept the Reply ends with a Terminate (RFC 6581 9.2). */
static int send_terminate(struct attempt *t, int of)
{
	const struct iw_terminate why = { .layer = IW_TERM_LAYER(iw_err_term(of)),
					  .etype = IW_TERM_ETYPE(iw_err_term(of)),
					  .code = IW_TERM_CODE(iw_err_term(of)) };
	uint8_t body[IW_RDMAP_TERM_MAX];
	int n = iw_terminate_encode(body, sizeof(body), &why);

	return send_ulpdu(t,
			  &(struct iw_ddp){ .last = true,
					    .dv = 1,
					    .rv = 1,
					    .opcode = IW_OP_TERM,
					    .qn = IW_QN_TERM,
					    .msn = 1 },
			  body, (size_t)n);
}

static int send_read(struct attempt *t)
{
	uint8_t body[IW_RDMAP_RREQ_LEN];
	int n = iw_rreq_encode(body, sizeof(body),
			       &(struct iw_rreq){ .sink_stag = PROBE_STAG,
						  .src_stag = PROBE_STAG });

	t->pending++;
	return send_ulpdu(t,
			  &(struct iw_ddp){ .last = true,
					    .dv = 1,
					    .rv = 1,
					    .opcode = IW_OP_RREQ,
					    .qn = IW_QN_RREQ,
					    .msn = ++t->read_msn },
			  body, (size_t)n);
}

/*
 * Waits until at most `pending` Reads are pending. Returns 1, 0 if the connection or the time
 * ended, or an error.
 */
static int await_answers(struct attempt *t, unsigned pending, uint64_t limit_ns)
{
	uint64_t until = iw_time_add(iw_play_now(&t->play), limit_ns), now;
	int err;

	for (;;) {
		receive_fpdus(t);
		if (t->pending <= pending)
			return 1;
		now = iw_play_now(&t->play);
		if (t->over || now >= until)
			return 0;
		err = iw_play_wait(&t->play, t->play.rx_len + 1, until - now);
		if (err < 0)
			return err;
	}
}

/*
 * Sends the first FPDU: an RTR form that was agreed on (RFC 6581 9.2). A Read is preferred because
 * it proves most; a Send is last because it uses a buffer of the peer. Without peer-to-peer it is a
 * zero-length RDMA Write, since the first FPDU must be the initiator's (RFC 5044 7.1.2 rule 4).
 */
static int send_first(struct attempt *t)
{
	struct iw_answer *a = t->out;

	if (t->cfg->stag0)
		return send_write(t, 0);
	if (a->rtr & IW_RTR_READ && a->e.ird > 0) {
		a->rtr_sent = IW_RTR_READ;
		return send_read(t);
	}
	if (a->rtr & IW_RTR_WRITE)
		a->rtr_sent = IW_RTR_WRITE;
	else if (a->rtr & IW_RTR_SEND)
		a->rtr_sent = IW_RTR_SEND;
	return a->rtr_sent == IW_RTR_SEND ? send_empty(t) : send_write(t, PROBE_STAG);
}

/* The peer accepts no Reads, so it can only reject the FPDU. */
static int watch_for_rejection(struct attempt *t)
{
	int err = iw_play_wait(&t->play, t->play.rx_len + 1, LINGER_NS);

	if (err < 0)
		return err;
	receive_fpdus(t);
	if (!t->over)
		t->out->proof = IW_PROOF_TAKEN;
	return 0;
}

static int read_once(struct attempt *t, bool first)
{
	uint64_t sent = iw_play_now(&t->play), rtt;
	int err;

	/* If the RTR was a Read, it is the first one. */
	if (!t->pending) {
		err = send_read(t);
		if (err)
			return err;
	}
	err = await_answers(t, 0, first ? IW_MIN(NUDGE_NS, t->cfg->read_ns) : t->cfg->read_ns);
	if (err == 0 && first && !t->over) {
		err = send_write(t, PROBE_STAG);
		if (!err)
			err = await_answers(t, 0, t->cfg->read_ns);
		t->out->nudged = err == 1;
		return err;
	}
	rtt = iw_play_now(&t->play) - sent;
	if (err == 1 && !first && (!t->out->rtt_ns || rtt < t->out->rtt_ns))
		t->out->rtt_ns = rtt;
	return err;
}

static int prove_by_reads(struct attempt *t)
{
	/* The first Read is not timed: caches are cold, and the peer may not be ready. */
	for (int i = 0; i <= IW_ATTEMPT_ROUNDS; i++) {
		int ret = read_once(t, i == 0);

		if (ret < 0)
			return ret;
		if (ret == 0) {
			if (!t->over)
				t->out->proof = IW_PROOF_SILENT;
			return 0;
		}
	}
	t->out->proof = IW_PROOF_WORKS;
	return 0;
}

static bool can_read(const struct iw_answer *a)
{
	return !a->enhanced || (a->e.ird > 0 && a->e.ird != IW_MPA_IRD_ORD_MAX);
}

/* Rev 0 has another DDP version (RFC 5044 appendix C), which this tool does not speak here. */
static bool can_speak(const struct attempt *t)
{
	return t->ask->rev != 0 && t->out->rev != 0;
}

static bool nothing_in_common(const struct attempt *t)
{
	const struct iw_answer *a = t->out;

	return t->ask->enhanced && t->ask->peer_to_peer && a->enhanced && a->e.peer_to_peer &&
	       !a->rtr;
}

static int settle(struct attempt *t)
{
	uint64_t ns = IW_MAX(SETTLE_LEAST, IW_MIN(t->out->reply_ns / 4, SETTLE_MOST));
	int err = iw_play_wait(&t->play, SIZE_MAX, ns);

	t->out->sent_first = t->play.rx_len > t->fpdu0;
	return err < 0 ? err : 0;
}

static int prove(struct attempt *t, struct iw_fault *why)
{
	struct iw_answer *a = t->out;
	const struct iw_codec_cfg cc = { .crc = a->crc,
					 .tx_markers = a->tx_markers,
					 .rx_markers = a->rx_markers };
	int err;

	err = settle(t);
	if (err || !can_speak(t))
		return err;
	err = iw_codec_new(&t->codec, &cc, why);
	if (err)
		return err;
	receive_fpdus(t);
	if (t->over)
		return 0;
	if (nothing_in_common(t))
		return send_terminate(t, IW_E_MPA_RTR);
	err = send_first(t);
	if (!err)
		err = can_read(a) ? prove_by_reads(t) : watch_for_rejection(t);
	return err < 0 ? err : 0;
}

/* --- the whole attempt --- */

static int exchange(struct attempt *t, struct iw_fault *why)
{
	uint8_t request[IW_ASK_MAX];
	size_t len = iw_ask_encode(request, t->ask);
	struct iw_mpa_frame f;
	int err;

	t->asked_ns = iw_play_now(&t->play);
	err = iw_play_send(&t->play, request, len, 0, 0, t->cfg->reply_ns);
	if (err < 0 && err != IW_E_CLOSED && err != IW_E_TIMEOUT)
		return err;
	err = await_reply(t, &f);
	if (err <= 0)
		return err;
	take_reply(t, &f);
	if (f.flags & IW_MPA_R) {
		t->out->outcome = IW_OUTCOME_REFUSED;
		(void)iw_fail(
			&t->out->why, IW_E_REJECTED,
			"the peer refused the Request (R = 1), with %U octets of Private Data",
			(uint64_t)t->out->pd_len);
		/*
		 * TCP stays open after a refusal (RFC 5044 7.1.2). A peer that closes it does so at
		 * once.
		 */
		err = iw_play_wait(&t->play, SIZE_MAX, LINGER_NS);
		note_ending(t);
		return err < 0 ? err : 0;
	}
	t->out->outcome = IW_OUTCOME_ACCEPTED;
	agree(t);
	return prove(t, why);
}

/* Sends our FIN, and waits briefly for that of the peer. */
static int end_connection(struct attempt *t)
{
	int err;

	if (t->out->outcome == IW_OUTCOME_ACCEPTED)
		note_ending(t);
	iw_play_shut(&t->play);
	err = iw_play_wait(&t->play, SIZE_MAX, LINGER_NS);
	return err < 0 ? err : 0;
}

/*
 * True for errors caused by the peer, by a router or by lost packets; others are of this machine.
 */
static bool is_of_the_network(int err, int os_errno)
{
	return err == IW_E_TIMEOUT || err == IW_E_CLOSED || os_errno == ECONNREFUSED ||
	       os_errno == ECONNRESET || os_errno == EHOSTUNREACH || os_errno == ENETUNREACH ||
	       os_errno == EHOSTDOWN || os_errno == EPROTO;
}

/* Connecting failed. Returns 0 if the error is an outcome. */
static int not_connected(struct iw_answer *out, int err, struct iw_fault *why)
{
	if (!is_of_the_network(err, why->os_errno))
		return err;
	out->outcome = why->os_errno == ECONNREFUSED ? IW_OUTCOME_PORT_CLOSED
		       : why->os_errno == ECONNRESET ? IW_OUTCOME_RESET
						     : IW_OUTCOME_UNREACHABLE;
	out->why = *why;
	return 0;
}

int iw_attempt(const struct iw_attempt_cfg *cfg, const struct iw_ask *ask, struct iw_answer *out,
	       struct iw_fault *why)
{
	struct attempt t = { .cfg = cfg, .ask = ask, .out = out };
	const struct iw_play_note *n;
	int err;

	*out = (struct iw_answer){ .outcome = IW_OUTCOME_UNREACHABLE };
	err = iw_play_connect(&t.play, &cfg->play, cfg->connect_ns, why);
	if (err) {
		iw_play_end(&t.play);
		return not_connected(out, err, why);
	}
	n = iw_play_find(&t.play, IW_PLAY_CONNECTED, 0);
	out->connect_ns = n->at_ns;
	err = exchange(&t, why);
	iw_play_facts(&t.play, &out->facts);
	if (!err)
		err = end_connection(&t);
	if (err == IW_E_CANCELED)
		(void)iw_fail(why, err, "interrupted");
	else if (err)
		(void)iw_fail(why, err, "out of memory");
	iw_codec_free(t.codec);
	iw_play_end(&t.play);
	return err;
}
