// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Arrival in the sender's order, early segments, and delivery (RFC 5041 4.1, 5.3, 5.4). */
#include "ddp/ddp.h"

#include <assert.h>

#include "ddp/internal.h"
#include "util/num.h"
#include "util/text.h"

/* --- the rules of order ----------------------------------------------------------------------- */

/*
 * Returns the current message if h belongs to it; NULL: h begins a message. QN 2 carries the
 * Terminate, the last message of its sender (RFC 5040 5.4). It may interrupt the current message,
 * for example a Read Response whose source was revoked.
 */
static const struct under_way *message_of(const struct iw_ddp_stream *d, const struct iw_ddp *h)
{
	const struct under_way *m = &d->msg;
	bool cuts_off = !h->tagged && h->qn == IW_QN_TERM && (m->tagged || m->qn != IW_QN_TERM);

	return m->open && !cuts_off ? m : NULL;
}

static int check_untagged(struct iw_ddp_stream *d, const struct iw_ddp *h, struct iw_fault *why)
{
	const struct under_way *m = message_of(d, h);
	const struct queue *q = queue_of(d, h->qn);
	uint64_t octets = m ? m->octets : 0, high = m ? m->high : 0;

	if (!q)
		return iw_ddp_fault_qn(d, h, why);
	if (m && m->tagged)
		return iw_fail(why, IW_E_DDP_MSN,
			       "ddp: QN %u MSN %u: begins inside an unfinished tagged message",
			       h->qn, h->msn);
	if (m && m->qn != h->qn)
		return iw_fail(why, IW_E_DDP_MSN,
			       "ddp: QN %u MSN %u: begins inside an unfinished message of QN %u",
			       h->qn, h->msn, m->qn);
	if (h->msn != q->first)
		return iw_fail(why, IW_E_DDP_MSN, "ddp: QN %u MSN %u: expected %u", h->qn, h->msn,
			       q->first);
	/*
	 * RFC 5041 4.1: the L segment has the highest MO; 5.2: all data of the message is sent. So
	 * the segments before it end at its MO, and have that many octets.
	 */
	if (h->last && (h->mo != high || h->mo != octets))
		return iw_fail(
			why, IW_E_DDP_MO,
			"ddp: QN %u MSN %u: last segment at MO %u, before it %U octets up to MO %U",
			h->qn, h->msn, h->mo, octets, high);
	return 0;
}

static int check_tagged(const struct iw_ddp_stream *d, const struct iw_ddp *h, size_t len,
			struct iw_fault *why)
{
	const struct under_way *m = message_of(d, h);
	uint64_t low, high, octets;

	if (!m)
		/* The first segment may have any TO, and cannot leave a gap. */
		return 0;
	if (!m->tagged)
		return iw_fail(why, IW_E_DDP_STAG,
			       "ddp: STag %x: begins inside an unfinished message of QN %u",
			       h->stag, m->qn);
	/* RFC 5041 4.2: RsvdULP and STag are the same in all segments of a message. */
	if (h->opcode != m->opcode)
		return iw_fail(why, IW_E_RO_OPCODE,
			       "ddp: STag %x: opcode %u inside an unfinished message of opcode %u",
			       h->stag, (uint32_t)h->opcode, (uint32_t)m->opcode);
	if (len > 0 && m->octets > 0 && h->stag != m->stag)
		return iw_fail(why, IW_E_DDP_STAG,
			       "ddp: STag %x: inside an unfinished message for STag %x", h->stag,
			       m->stag);
	if (!h->last || m->octets == 0)
		return 0;
	octets = m->octets + len;
	low = len > 0 ? IW_MIN(m->low, h->to) : m->low;
	high = len > 0 ? IW_MAX(m->high, h->to + len) : m->high;
	if (high - low != octets)
		return iw_fail(why, IW_E_DDP_BOUNDS,
			       "ddp: STag %x: a message of %U octets spread from TO %X to %X",
			       m->stag, octets, low, high);
	return 0;
}

static int check_rules(struct iw_ddp_stream *d, const struct iw_ddp *h, size_t len,
		       struct iw_fault *why)
{
	return h->tagged ? check_tagged(d, h, len, why) : check_untagged(d, h, why);
}

static void add_to_message(struct iw_ddp_stream *d, const struct iw_ddp *h, size_t len)
{
	struct under_way *m = &d->msg;
	uint64_t at = h->tagged ? h->to : h->mo;

	if (!message_of(d, h))
		*m = (struct under_way){
			.open = true,
			.tagged = h->tagged,
			.opcode = h->opcode,
			.stag = h->stag,
			.qn = h->qn,
			.low = h->tagged ? UINT64_MAX : 0,
		};
	if (len == 0)
		return;
	/* RFC 5041 5.2: STag and TO of segments without payload are ignored. */
	m->stag = h->stag;
	m->scattered = m->scattered || (h->tagged && m->octets > 0 && at != m->high);
	m->low = IW_MIN(m->low, at);
	m->high = IW_MAX(m->high, at + len);
	m->octets += len;
}

/* Processes the segment that is next in order. */
static int take(struct iw_ddp_stream *d, const struct iw_ddp *h, size_t len, struct iw_fault *why)
{
	int ret = check_rules(d, h, len, why);

	if (iw_unlikely(ret < 0)) {
		d->failed = true;
		return ret;
	}
	add_to_message(d, h, len);
	d->next_seq++;
	if (h->last) {
		d->complete = true;
		d->last = *h;
		d->last_len = len;
	}
	return 0;
}

int iw_ddp_in_order(struct iw_ddp_stream *d, const struct iw_ddp *h, size_t len,
		    struct iw_fault *why)
{
	int ret;

	if (iw_unlikely(d->failed))
		return 0;
	if (iw_unlikely(d->complete))
		return iw_fail(why, IW_E_STATE, "ddp: a complete message is not delivered yet");
	ret = iw_ddp_check_version(d, h, why);
	if (ret == 0)
		ret = check_rules(d, h, len, why);
	if (iw_unlikely(ret < 0))
		d->failed = true;
	return ret;
}

/* --- early segments --------------------------------------------------------------------------- */

static bool is_kept(const struct iw_ddp_stream *d, uint64_t seq)
{
	return d->early.held > 0 && iw_ddp_early_find(&d->early, seq);
}

static int keep(struct iw_ddp_stream *d, uint64_t seq, const struct iw_ddp *h, size_t len,
		struct iw_fault *why)
{
	uint64_t ahead = seq - d->next_seq;
	struct early *e;
	int written;

	/* The next segment of an LLP that keeps order: the message before was not delivered. */
	if (ahead == 0 && d->cfg.early_max == 0)
		return iw_fail(why, IW_E_STATE, "ddp: a complete message is not delivered yet");
	if (ahead > d->cfg.early_max)
		return iw_fail(why, IW_E_LIMIT, "ddp: segment %U, expected %U: more than %u ahead",
			       seq, d->next_seq, d->cfg.early_max);
	if (is_kept(d, seq))
		return 0;
	e = iw_ddp_early_add(&d->early, d->cfg.mem, seq);
	if (!e)
		return iw_fail(why, IW_E_NOMEM, "ddp: no memory for %u early segments",
			       d->early.held + 1);
	written = iw_wire_ddp_encode(e->hdr, sizeof(e->hdr), h);
	assert(written > 0);
	(void)written;
	e->len = (uint32_t)len;
	return 0;
}

int iw_ddp_arrive(struct iw_ddp_stream *d, uint64_t seq, const struct iw_ddp *h, size_t len,
		  struct iw_fault *why)
{
	if (iw_unlikely(d->failed) || seq < d->next_seq)
		return 0;
	if (iw_likely(seq == d->next_seq && !d->complete && !is_kept(d, seq)))
		return take(d, h, len, why);
	return keep(d, seq, h, len, why);
}

bool iw_ddp_is_next(const struct iw_ddp_stream *d, uint64_t seq, const struct iw_ddp *h)
{
	return !h->tagged && h->last && h->mo == 0 && seq == d->next_seq && !d->complete &&
	       !d->msg.open && !is_kept(d, seq);
}

uint64_t iw_ddp_next_seq(const struct iw_ddp_stream *d)
{
	return d->next_seq;
}

/* --- delivery --------------------------------------------------------------------------------- */

static void hand_over(struct iw_ddp_stream *d, struct iw_ddp_msg *m)
{
	const struct under_way *u = &d->msg;
	const struct iw_ddp *last = &d->last;

	m->tagged = last->tagged;
	m->rv = last->rv;
	m->opcode = last->opcode;
	m->last = *last;
	m->last_len = d->last_len;
	if (last->tagged) {
		m->inval_stag = 0;
		m->stag = u->octets > 0 ? u->stag : last->stag;
		m->to = u->octets > 0 ? u->low : last->to;
		m->len = u->octets;
		m->scattered = u->scattered;
		m->qn = m->msn = 0;
		m->base = NULL;
		m->cookie = 0;
	} else {
		struct untagged_buf b = iw_ddp_take_buf(&d->queues[last->qn]);

		m->inval_stag = last->inval_stag;
		m->scattered = false;
		m->stag = 0;
		m->to = 0;
		m->len = (uint64_t)last->mo + d->last_len; /* RFC 5041 5.4 */
		m->qn = last->qn;
		m->msn = last->msn;
		m->base = b.base;
		m->cookie = b.cookie;
	}
	d->complete = false;
	d->msg.open = false;
}

int iw_ddp_deliver(struct iw_ddp_stream *d, struct iw_ddp_msg *m, struct iw_fault *why)
{
	while (!d->complete) {
		const struct early *e = d->failed ? NULL
						  : iw_ddp_early_find(&d->early, d->next_seq);
		struct iw_ddp h;
		size_t len;
		int ret;

		if (!e)
			return 0;
		len = e->len;
		ret = iw_wire_ddp_decode(&h, e->hdr, sizeof(e->hdr));
		assert(ret > 0);
		iw_ddp_early_remove(&d->early, d->cfg.mem, d->next_seq);
		ret = take(d, &h, len, why);
		if (ret < 0) {
			*m = (struct iw_ddp_msg){ .last = h, .last_len = len };
			return ret;
		}
	}
	hand_over(d, m);
	return 1;
}
