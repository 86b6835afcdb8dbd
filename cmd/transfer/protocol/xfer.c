// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What both roles share: start, the next action, received messages, deadlines. */
#include "transfer/protocol/xfer.h"

#include <string.h>

#include "transfer/protocol/internal.h"
#include "util/text.h"

#define BEAT_LEAST   IW_MSEC(25) /* the shortest time between signs of life */
#define CREDIT_LOW   6           /* with less credit, BEAT replaces NOP as the sign of life */
#define MSG_OVERHEAD 64          /* octets of headers per message, at most */

/* --- life --- */

static bool keep_path(struct iw_xfer *x, const void *path, size_t len)
{
	if (len == 0)
		return true;
	x->path = iw_mem_alloc(x->mem, len);
	if (!x->path)
		return false;
	memcpy(x->path, path, len);
	x->path_len = len;
	return true;
}

int iw_xfer_new(struct iw_xfer **out, const struct iw_xfer_cfg *cfg, struct iw_fault *why)
{
	struct iw_xfer *x;

	if (cfg->slots < 1 || cfg->slots > IW_XFER_WINDOWS || cfg->sq_depth < 4)
		return iw_fail(why, IW_E_INVAL, "%u slots, send queue of %u", cfg->slots,
			       cfg->sq_depth);
	if (cfg->path && strlen(cfg->path) > IW_XFER_PATH_MAX)
		return iw_fail(why, IW_E_INVAL, "the target's path has %U octets, more than %u",
			       (uint64_t)strlen(cfg->path), IW_XFER_PATH_MAX);
	x = iw_mem_alloc(cfg->mem, sizeof(*x));
	if (!x)
		return iw_fail(why, IW_E_NOMEM, "no memory for a transfer");
	x->cfg = *cfg;
	x->mem = cfg->mem;
	x->cfg.path = NULL;
	if (cfg->path && !keep_path(x, cfg->path, strlen(cfg->path))) {
		iw_mem_free(cfg->mem, x, sizeof(*x));
		return iw_fail(why, IW_E_NOMEM, "no memory for a transfer");
	}
	iw_xfer_link_init(x);
	iw_list_init(&x->names);
	if (cfg->initiator && cfg->role == IW_XFER_SOURCE && cfg->opts & IW_XFER_OPT_LISTED) {
		x->names_at = cfg->listed;
		x->names_left = cfg->listed_len;
	}
	x->nfree = cfg->slots;
	for (uint32_t i = 0; i < cfg->slots; i++)
		x->free_slots[i] = (uint8_t)(cfg->slots - 1 - i);
	*out = x;
	return 0;
}

void iw_xfer_free(struct iw_xfer *x)
{
	if (!x)
		return;
	if (x->src)
		iw_xfer_source_free(x);
	if (x->snk)
		iw_xfer_sink_free(x);
	iw_xfer_link_fini(x);
	iw_xfer_names_fini(x);
	iw_mem_free(x->mem, x->path, x->path_len);
	iw_mem_free(x->mem, x, sizeof(*x));
}

/* Creates the state of the role, which an idle responder does not have. */
static int make_role(struct iw_xfer *x)
{
	int err = 0;

	if (x->cfg.role == IW_XFER_SOURCE && !x->src)
		err = iw_xfer_source_new(x);
	if (x->cfg.role == IW_XFER_SINK && !x->snk)
		err = iw_xfer_sink_new(x);
	if (err) {
		struct iw_fault why;

		iw_fail(&why, IW_E_NOMEM, "no memory for a transfer");
		iw_xfer_fail(x, &why);
	}
	return err;
}

void iw_xfer_start(struct iw_xfer *x, const struct iw_hello *peer, uint64_t now)
{
	if (x->state != ST_NEW)
		return;
	if (peer)
		x->cfg.peer = *peer;
	iw_xfer_link_peer(x);
	x->link.sent_at = x->heard_at = now;
	iw_xfer_note_progress(x, now);
	iw_xfer_set_state(x, ST_OPENING);
	if (x->cfg.initiator)
		(void)make_role(x); /* fails the transfer without memory */
}

void iw_xfer_ask(struct iw_xfer *x)
{
	x->link.nop_due = x->link.ask_due = true;
}

void iw_xfer_total(struct iw_xfer *x, uint64_t octets, uint64_t paths)
{
	if (x->cfg.role != IW_XFER_SOURCE || !(x->cfg.opts & IW_XFER_OPT_TOTAL))
		return;
	x->total = IW_MIN(octets, IW_XFER_SIZE_MAX);
	x->total_paths = paths;
	x->link.total_due = true;
}

uint64_t iw_xfer_heard_at(const struct iw_xfer *x)
{
	return x->heard_at;
}

bool iw_xfer_slot_is_free(const struct iw_xfer *x, uint32_t slot)
{
	for (uint32_t i = 0; i < x->nfree; i++)
		if (x->free_slots[i] == slot)
			return true;
	return false;
}

void iw_xfer_lost(struct iw_xfer *x, const struct iw_fault *why)
{
	struct iw_fault own = *why;

	x->abort_due = x->aborted = false;
	if (x->state == ST_CLOSING || x->state == ST_OVER)
		return;
	if (own.err == IW_OK)
		iw_xfer_fault(&own, IW_E_CLOSED,
			      "the peer closed the connection before the transfer was complete");
	x->lost |= x->state != ST_FAILING;
	iw_xfer_give_up(x, &own, false);
}

bool iw_xfer_was_lost(const struct iw_xfer *x)
{
	return x->lost;
}

static int on_abort(struct iw_xfer *x, const struct iw_xfer_msg *m)
{
	const uint8_t *text = NULL;
	struct iw_fault why;
	char buf[IW_XFER_TEXT_MAX + 1];
	uint32_t code;
	size_t len = 0;

	if (iw_cbor_get_u32(&m->rec, IW_XFER_KEY_CODE, UINT32_MAX, &code, &why) != 0 ||
	    (iw_cbor_has(&m->rec, IW_XFER_KEY_TEXT) &&
	     iw_cbor_get_string(&m->rec, IW_XFER_KEY_TEXT, IW_CBOR_TEXT, IW_XFER_TEXT_MAX, &text,
				&len, &why) != 0))
		return iw_xfer_breach(x, "%s", why.text);
	if (len > 0)
		memcpy(buf, text, len);
	buf[len] = '\0';
	iw_xfer_fault(&why, IW_E_REJECTED, "the peer ended the transfer: %s%s%s",
		      iw_xfer_code_text(code), len > 0 ? ": " : "", buf);
	why.from_peer = true;
	/* The peer saw no progress on this connection; on another one the transfer may advance. */
	x->lost |= code == IW_XFER_CODE_TIMEOUT;
	iw_xfer_give_up(x, &why, false);
	/* The peer closes as well: this side can close in order. */
	x->aborted = true;
	return 0;
}

/* The code for the peer that corresponds to the fault. */
static enum iw_xfer_code fault_code(const struct iw_fault *f)
{
	switch (f->err) {
	case IW_E_FORMAT:
	case IW_E_TRUNC:
		return IW_XFER_CODE_PROTOCOL;
	case IW_E_TIMEOUT:
		return IW_XFER_CODE_TIMEOUT;
	case IW_E_PERM:
		return IW_XFER_CODE_PERM;
	case IW_E_NOENT:
		return IW_XFER_CODE_NOENT;
	case IW_E_LIMIT:
	case IW_E_NOMEM:
		return IW_XFER_CODE_LIMIT;
	case IW_E_OS:
		return IW_XFER_CODE_IO;
	case IW_E_INVAL:
		return IW_XFER_CODE_TARGET;
	case IW_E_TLS:
		return IW_XFER_CODE_REFUSED;
	default:
		return IW_XFER_CODE_CANCELED;
	}
}

static bool send_abort(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now)
{
	struct draft d;
	size_t len = strlen(x->fault.text);

	x->abort_due = false;
	if (!iw_xfer_draft_begin(x, &d, IW_XFER_MSG_ABORT, 2, false))
		return false;
	/* Faults are ASCII, except for what they quote. */
	for (size_t i = 0; i < len; i++)
		if ((uint8_t)x->fault.text[i] >= 0x80)
			x->fault.text[i] = '?';
	iw_cbor_uint(&d.o, IW_XFER_KEY_CODE);
	iw_cbor_uint(&d.o, fault_code(&x->fault));
	iw_cbor_uint(&d.o, IW_XFER_KEY_TEXT);
	iw_cbor_text(&d.o, x->fault.text, IW_MIN(len, (size_t)IW_XFER_TEXT_MAX));
	iw_xfer_draft_send(x, &d, act, now);
	x->aborted = true;
	return true;
}

static bool end_act(struct iw_xfer *x, struct iw_xfer_act *act)
{
	act->type = IW_XFER_ACT_END;
	act->fault = x->fault;
	x->end_given = true;
	return true;
}

static bool next_failing(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now)
{
	if (x->abort_due && send_abort(x, act, now))
		return true;
	if (x->src && iw_xfer_source_cleanup(x, act))
		return true;
	if (x->snk && iw_xfer_sink_cleanup(x, act))
		return true;
	if (!x->end_given)
		return end_act(x, act);
	act->type = x->aborted ? IW_XFER_ACT_CLOSE : IW_XFER_ACT_DROP;
	iw_xfer_set_state(x, ST_OVER);
	return true;
}

/* --- out --- */

static bool send_open(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now)
{
	bool push = x->cfg.role == IW_XFER_SOURCE;
	struct draft d;

	if (!iw_xfer_draft_begin(x, &d, IW_XFER_MSG_OPEN, push ? 3 : 2, true))
		return false;
	if (push) {
		iw_cbor_uint(&d.o, IW_XFER_KEY_PATH);
		iw_cbor_bytes(&d.o, x->path, x->path_len);
	}
	iw_cbor_uint(&d.o, IW_XFER_KEY_OPTS);
	iw_cbor_uint(&d.o, x->cfg.opts);
	iw_cbor_uint(&d.o, IW_XFER_KEY_CONNS);
	iw_cbor_uint(&d.o, iw_xfer_conns(x));
	iw_xfer_draft_send(x, &d, act, now);
	iw_xfer_set_state(x, ST_RUN);
	return true;
}

static bool post_recvs(struct iw_xfer *x, struct iw_xfer_act *act)
{
	struct link *l = &x->link;

	if (!l->post_due)
		return false;
	l->post_due = false;
	l->size_due = true;
	l->rx_limit += l->rx_more;
	act->type = IW_XFER_ACT_POST_RECVS;
	act->count = l->rx_more;
	act->size32 = l->rx_size;
	return true;
}

static bool send_beat(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now)
{
	x->link.beat_due = false;
	x->link.beats++;
	x->link.sent_at = now;
	iw_xfer_link_posted(x);
	act->type = IW_XFER_ACT_BEAT;
	act->cookie = cookie(CK_MSG, OUT_BUFS);
	return true;
}

static bool send_nop(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now)
{
	struct draft d;

	if (x->link.beat_due && x->link.sq_used < x->cfg.sq_depth)
		return send_beat(x, act, now);
	if (!iw_xfer_link_wants_nop(x) ||
	    !iw_xfer_draft_begin(x, &d, IW_XFER_MSG_NOP, x->link.total_due ? 4 : 2, false))
		return false;
	iw_cbor_uint(&d.o, IW_XFER_KEY_BUSY);
	iw_cbor_bool(&d.o, iw_xfer_busy_here(x));
	iw_cbor_uint(&d.o, IW_XFER_KEY_ANSWER);
	iw_cbor_bool(&d.o, x->link.ask_due);
	x->link.ask_due = false;
	if (x->link.total_due) {
		iw_cbor_uint(&d.o, IW_XFER_KEY_TOTAL);
		iw_cbor_uint(&d.o, x->total);
		iw_cbor_uint(&d.o, IW_XFER_KEY_PATHS);
		iw_cbor_uint(&d.o, x->total_paths);
	}
	x->link.total_due = false;
	iw_xfer_draft_send(x, &d, act, now);
	return true;
}

static bool next_running(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now)
{
	if (post_recvs(x, act))
		return true;
	if (x->unproved)
		return send_nop(x, act, now);
	if (x->cfg.role == IW_XFER_SOURCE ? iw_xfer_source_next(x, act, now)
					  : iw_xfer_sink_next(x, act, now)) {
		if (act->type == IW_XFER_ACT_READ)
			x->payload_at = now; /* the peer's time to answer starts now */
		return true;
	}
	/* Other messages carry the credit too, so a NOP comes last. */
	return x->state != ST_FAILING && send_nop(x, act, now);
}

/* Without memory for messages the transfer cannot continue, and no ABORT can be sent. */
static void fail_lacking(struct iw_xfer *x)
{
	struct iw_fault why;

	iw_fail(&why, IW_E_NOMEM, "no memory for %s", x->lacks);
	iw_xfer_give_up(x, &why, false);
}

bool iw_xfer_next(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now)
{
	memset(act, 0, sizeof(*act));
	if (x->lacks)
		fail_lacking(x);
	if (x->state != ST_FAILING && iw_xfer_show_name(x, act))
		return true;
	switch (x->state) {
	case ST_NEW:
	case ST_OVER:
		return false;
	case ST_OPENING:
		if (x->cfg.initiator)
			return send_open(x, act, now);
		return false;
	case ST_RUN:
	case ST_BYE:
		if (next_running(x, act, now))
			return true;
		if (x->lacks)
			fail_lacking(x);
		/* The transfer may have ended or failed in this step. */
		if (x->state == ST_RUN || x->state == ST_BYE)
			return false;
		return iw_xfer_next(x, act, now);
	case ST_CLOSING:
		if (!x->end_given)
			return end_act(x, act);
		act->type = IW_XFER_ACT_CLOSE;
		iw_xfer_set_state(x, ST_OVER);
		return true;
	case ST_FAILING:
		return next_failing(x, act, now);
	case ST_COUNT:
		break;
	}
	return false;
}

/* --- in --- */

static int on_open(struct iw_xfer *x, const struct iw_xfer_msg *m)
{
	const uint8_t *path = NULL;
	struct iw_fault why;
	size_t len = 0;
	int err = 0;

	if (x->cfg.initiator || x->open_seen)
		return iw_xfer_breach(x, "OPEN %s",
				      x->open_seen ? "comes twice" : "from a responder");
	if (x->cfg.role == IW_XFER_SINK) {
		err = iw_cbor_get_string(&m->rec, IW_XFER_KEY_PATH, IW_CBOR_BYTES, IW_XFER_PATH_MAX,
					 &path, &len, &why);
	}
	/* Unknown options are refused, because the peer relies on them. */
	if (!err)
		err = iw_cbor_get_u32(&m->rec, IW_XFER_KEY_OPTS, IW_XFER_OPT_ALL, &x->cfg.opts,
				      &why);
	if (!err)
		err = iw_cbor_get_u32(&m->rec, IW_XFER_KEY_CONNS, IW_XFER_CONNS_MAX, &x->cfg.conns,
				      &why);
	if (err)
		return iw_xfer_breach(x, "%s", why.text);
	if (!keep_path(x, path, len)) {
		iw_fail(&why, IW_E_NOMEM, "no memory for a path");
		iw_xfer_fail(x, &why);
		return IW_E_NOMEM;
	}
	x->open_seen = true;
	x->link.post_due = true;
	iw_xfer_set_state(x, ST_RUN);
	return make_role(x);
}

static int dispatch(struct iw_xfer *x, const struct iw_xfer_msg *m, uint64_t now)
{
	if (!x->cfg.initiator && !x->open_seen && m->type != IW_XFER_MSG_OPEN)
		return iw_xfer_breach(x, "its first message is %s, expected OPEN",
				      iw_xfer_msg_name(m->type));
	x->link.nop_due |= m->answer;
	if (m->paths > 0 && x->snk)
		iw_xfer_sink_total(x, m);
	if (m->type == IW_XFER_MSG_NOP || m->type >= IW_XFER_MSG_OPTIONAL)
		return 0;
	if (m->type == IW_XFER_MSG_OPEN)
		return on_open(x, m);
	if (m->type == IW_XFER_MSG_ABORT)
		return on_abort(x, m);
	if (x->cfg.role == IW_XFER_SOURCE)
		return iw_xfer_source_message(x, m, now);
	return iw_xfer_sink_message(x, m, now);
}

static void receive_message(struct iw_xfer *x, const uint8_t *msg, size_t len, uint64_t now)
{
	struct iw_fault why;
	struct iw_xfer_msg m;

	if (iw_xfer_link_check(x, msg, &len) != 0)
		return;
	if (iw_xfer_msg_decode(&m, msg, len, &why) != 0) {
		iw_xfer_breach(x, "%s", why.text);
		return;
	}
	if (iw_xfer_check_binding(x, &m) != 0)
		return;
	if (iw_xfer_link_received(x, &m, now) != 0)
		return;
	(void)dispatch(x, &m, now); /* a breach has failed the transfer already */
}

enum iw_xfer_verdict iw_xfer_received(struct iw_xfer *x, uint32_t recv, const uint8_t *msg,
				      size_t len, uint64_t now)
{
	enum iw_xfer_verdict verdict = IW_XFER_RECV_REPOST;
	uint64_t off = 0;
	uint32_t id = 0;
	int err;

	if (x->state == ST_NEW || x->state == ST_FAILING || x->state == ST_OVER)
		return IW_XFER_RECV_RETIRE;
	x->link.rx_count++;
	x->counts.msgs_received++;
	x->heard_at = now;
	if (iw_xfer_data_decode(msg, len, &id, &off, &err)) {
		iw_xfer_note_moved(x, now);
		if (err || !x->snk || x->cfg.mine.mode != IW_XFER_SEND)
			iw_xfer_breach(x, "a data Send of %U octets %s", (uint64_t)len,
				       err ? "with a bad header" : "in a mode other than send");
		else
			(void)iw_xfer_sink_data(x, recv, id, off,
						(uint32_t)(len - IW_XFER_DATA_HDR), &verdict);
	} else {
		x->counts.control_received += len;
		receive_message(x, msg, len, now);
	}
	return verdict == IW_XFER_RECV_HOLD ? verdict : iw_xfer_link_consumed(x);
}

void iw_xfer_completed(struct iw_xfer *x, uint64_t ck, int status, uint64_t now)
{
	uint32_t index = (uint32_t)ck;

	if (x->link.sq_used > 0)
		x->link.sq_used--;
	if ((ck >> 32) == CK_MSG && index < OUT_BUFS)
		x->link.out[index].busy = false;
	/*
	 * A failed operation means that the connection is lost. iw_xfer_lost follows with the
	 * reason.
	 */
	if (status != IW_OK || x->state == ST_OVER || x->state == ST_FAILING)
		return;
	if ((ck >> 32) == CK_MSG)
		return;
	/* Octets of a completed operation of a source may not have reached the peer yet. */
	if (x->src) {
		iw_xfer_source_completed(x, index, (ck >> 32) == CK_PIECE, now);
	} else if (x->snk) {
		x->heard_at = now;
		iw_xfer_note_moved(x, now);
		iw_xfer_sink_completed(x, index, now);
	}
}

void iw_xfer_registered(struct iw_xfer *x, uint32_t slot, uint32_t stag)
{
	if (x->src)
		iw_xfer_source_registered(x, slot, stag);
	else if (x->snk)
		iw_xfer_sink_registered(x, slot, stag);
}

void iw_xfer_file_failed(struct iw_xfer *x, uint32_t id, enum iw_xfer_code code, const char *text,
			 uint64_t now)
{
	iw_xfer_note_progress(x, now);
	if (x->src)
		iw_xfer_source_file_failed(x, id, code, text);
	else if (x->snk)
		iw_xfer_sink_file_failed(x, id, code, text);
}

/* --- time --- */

/* A responder before OPEN accepts no octets of files. */
static bool waits_for_open(const struct iw_xfer *x)
{
	return x->state == ST_OPENING && !x->cfg.initiator;
}

void iw_xfer_touch(struct iw_xfer *x, uint64_t now)
{
	if (!waits_for_open(x))
		iw_xfer_note_progress(x, now);
}

uint64_t iw_xfer_own_octets(const struct iw_xfer *x)
{
	const struct iw_xfer_counts *c = &x->counts;

	return c->control_sent + MSG_OVERHEAD * (c->msgs_sent + x->link.beats);
}

/* An acknowledged message does not show progress; acknowledged octets of files do. */
static bool has_moved_out(struct iw_xfer *x, uint64_t acked)
{
	uint64_t own = iw_xfer_own_octets(x), files = acked - IW_MIN(acked, own);

	if (files <= x->acked)
		return false;
	x->acked = files;
	return x->cfg.role == IW_XFER_SOURCE;
}

void iw_xfer_traffic(struct iw_xfer *x, const struct iw_xfer_traffic *l, uint64_t now)
{
	bool heard = l->received > x->received, moved = l->arrived > x->arrived;

	x->received = l->received;
	/* May be less than before: octets of a message are not counted once it is complete. */
	x->arrived = l->arrived;
	moved = has_moved_out(x, l->acked) || moved;
	if (waits_for_open(x))
		return;
	/*
	 * Acknowledgments come from the peer's transport, and do not show that the peer itself is
	 * alive.
	 */
	if (heard)
		x->heard_at = now;
	if (moved)
		iw_xfer_note_progress(x, now);
}

void iw_xfer_moved(struct iw_xfer *x, uint64_t now)
{
	if (!waits_for_open(x))
		iw_xfer_note_moved(x, now);
}

bool iw_xfer_busy_here(const struct iw_xfer *x)
{
	return x->src ? iw_xfer_source_busy_here(x) : x->snk ? iw_xfer_sink_busy_here(x) : false;
}

/* When this side must send a sign of life. */
static uint64_t keepalive_at(const struct iw_xfer *x)
{
	uint64_t beat;

	if (x->state != ST_RUN && x->state != ST_BYE)
		return IW_TIME_NEVER;
	beat = IW_MIN(IW_MSEC(x->cfg.peer.patience_ms) / 4, IW_XFER_KEEPALIVE_NS);
	return iw_time_add(x->link.sent_at, IW_MAX(beat, BEAT_LEAST));
}

/*
 * A peer that has started a chunk must complete it. Other messages do not extend the deadline (RFC
 * 5042 6.4.2).
 */
static uint64_t chunk_deadline(const struct iw_xfer *x)
{
	if (!x->snk || !iw_xfer_sink_amid_chunk(x))
		return IW_TIME_NEVER;
	return iw_xfer_stall_at(x, IW_MAX(x->payload_at, x->windows_at));
}

/* While the peer waits for work of this side there is no deadline. */
static uint64_t progress_deadline(const struct iw_xfer *x)
{
	return iw_xfer_busy_here(x) ? IW_TIME_NEVER : iw_xfer_stall_at(x, x->progress_at);
}

/* A live peer always sends something within this time. */
static uint64_t silence_deadline(const struct iw_xfer *x)
{
	return waits_for_open(x) ? IW_TIME_NEVER : iw_xfer_stall_at(x, x->heard_at);
}

uint64_t iw_xfer_deadline(const struct iw_xfer *x)
{
	uint64_t at;

	if (x->state != ST_OPENING && x->state != ST_RUN && x->state != ST_BYE)
		return IW_TIME_NEVER;
	at = IW_MIN(progress_deadline(x), silence_deadline(x));
	at = IW_MIN(at, keepalive_at(x));
	return IW_MIN(at, chunk_deadline(x));
}

static void fail_late(struct iw_xfer *x, const char *what, bool with_abort)
{
	bool whole = x->cfg.stall_ns % IW_SEC(1) == 0;
	struct iw_fault why;

	iw_fail(&why, IW_E_TIMEOUT, "%s for %U %s", what,
		x->cfg.stall_ns / (whole ? IW_SEC(1) : IW_MSEC(1)), whole ? "s" : "ms");
	iw_xfer_give_up(x, &why, with_abort);
}

/* Sends no ABORT, which the peer would not receive. */
static void give_silent_up(struct iw_xfer *x)
{
	x->lost = true;
	fail_late(x, "nothing was heard from the peer", false);
}

void iw_xfer_timeout(struct iw_xfer *x, uint64_t now)
{
	if (now < iw_xfer_deadline(x))
		return;
	if (now >= silence_deadline(x)) {
		give_silent_up(x);
	} else if (now >= chunk_deadline(x)) {
		x->lost = true;
		fail_late(x, "no octets arrived in the middle of a chunk", true);
	} else if (waits_for_open(x) && now >= progress_deadline(x)) {
		fail_late(x, "the peer connected and sent no OPEN", true);
	} else if (now >= progress_deadline(x)) {
		x->lost = true;
		fail_late(x, "no progress: the peer answers, but nothing advances", true);
	} else {
		/*
		 * On a slow line new credit may take minutes. Keeps the last credits for other
		 * messages.
		 */
		if (x->link.tx_limit - x->link.tx_count > CREDIT_LOW)
			x->link.nop_due = true;
		else
			x->link.beat_due = true;
		/* If the send queue is full, the next attempt is one period later. */
		x->link.sent_at = now;
	}
}

bool iw_xfer_is_over(const struct iw_xfer *x)
{
	return x->state == ST_OVER;
}

bool iw_xfer_is_idle(const struct iw_xfer *x)
{
	if (x->state == ST_NEW || x->state == ST_OPENING || x->state == ST_OVER)
		return true;
	return x->src ? iw_xfer_source_idle(x) : x->snk ? iw_xfer_sink_idle(x) : true;
}

uint32_t iw_xfer_conns(const struct iw_xfer *x)
{
	return IW_MAX(x->cfg.conns, 1u);
}

uint32_t iw_xfer_opts(const struct iw_xfer *x)
{
	return x->cfg.opts;
}

const struct iw_xfer_counts *iw_xfer_counts(const struct iw_xfer *x)
{
	return &x->counts;
}
