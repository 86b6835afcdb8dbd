// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Received messages, in any order: their position by the DDP-SSN, the check for a legal sequence
 * (RFC 5043 6.2 to 6.4), and the units for the owner.
 */
#include "sctpmap/session.h"

#include <string.h>

#include "sctpmap/internal.h"

#define HELD_FIRST 256 /* octets of the buffer for the first segment that is held */

/* The header of each held segment. */
struct held {
	uint64_t seq;
	size_t len;
};

static size_t held_size(size_t len)
{
	return sizeof(struct held) + (len + 7) / 8 * 8;
}

/* --- numbers ---------------------------------------------------------------------------------- */

static uint64_t *page_of(const struct iw_dss *s, uint64_t number)
{
	return s->seen ? s->seen[number % SEEN_BITS / PAGE_BITS] : NULL;
}

static bool seen(const struct iw_dss *s, uint64_t number)
{
	const uint64_t *page = page_of(s, number);
	uint64_t bit = number % PAGE_BITS;

	return page && page[bit / 64] >> bit % 64 & 1;
}

/* Inverts the bit of the number. need_page has allocated its page. */
static void flip(struct iw_dss *s, uint64_t number)
{
	uint64_t bit = number % PAGE_BITS;

	page_of(s, number)[bit / 64] ^= (uint64_t)1 << bit % 64;
}

static int no_memory(struct iw_dss *s)
{
	return iw_fail(&s->fault, IW_E_NOMEM,
		       "sctp: stream %u: no memory for messages that arrived out of order",
		       (uint32_t)s->stream);
}

/*
 * Allocates the page of the number. IW_E_LIMIT: early messages of sessions that are not accepted
 * yet use the whole window. IW_E_NOMEM: no memory.
 */
static int need_page(struct iw_dss *s, uint64_t number)
{
	size_t head = SEEN_PAGES * sizeof(*s->seen), size = PAGE_WORDS * sizeof(**s->seen);
	uint64_t **page;

	if (!iw_dss_may_hold(s, size + (s->seen ? 0 : head)))
		return iw_fail(
			&s->fault, IW_E_LIMIT,
			"sctp: stream %u: out-of-order messages of sessions that are not accepted yet need more than %u octets of memory",
			(uint32_t)s->stream, (uint32_t)s->a->window);
	if (!s->seen)
		s->seen = iw_dss_alloc(s, head);
	if (!s->seen)
		return no_memory(s);
	page = &s->seen[number % SEEN_BITS / PAGE_BITS];
	*page = iw_dss_alloc(s, size);
	return *page ? 0 : no_memory(s);
}

static int fail_number(struct iw_dss *s, uint16_t ssn, const char *what)
{
	uint16_t next = (uint16_t)(s->a->profile->first_ssn + s->rx_next);

	iw_fail(&s->fault, IW_E_DSS_ILLEGAL, "sctp: stream %u: DDP-SSN %u %s: expected %u next",
		(uint32_t)s->stream, (uint32_t)ssn, what, (uint32_t)next);
	return IW_E_DSS_ILLEGAL;
}

/*
 * Sets *number to the number of the message. A sender has at most 32,767 unacknowledged messages
 * of a stream (RFC 5043 10), and the lowest missing one is among them. So a number further ahead is
 * illegal, or belongs to a message that was received before. Allocates only after these checks.
 * IW_E_DSS_ILLEGAL: the number is illegal; other errors: as need_page.
 */
static int number_of(struct iw_dss *s, uint16_t ssn, uint64_t *number)
{
	uint16_t ahead = (uint16_t)(ssn - s->a->profile->first_ssn - s->rx_next);

	*number = s->rx_next + ahead;
	if (ahead >= IW_SCTPMAP_WINDOW)
		return fail_number(s, ssn, "is outside the window");
	if (ahead > 0 && seen(s, *number))
		return fail_number(s, ssn, "was received before");
	if (*number > s->rx_last)
		return fail_number(s, ssn, "follows the peer's Terminate");
	if (iw_unlikely(ahead > 0 && !page_of(s, *number)))
		return need_page(s, *number);
	return 0;
}

/* Records that the message has arrived. */
static void note(struct iw_dss *s, uint64_t number)
{
	s->late += number + 1 < s->rx_end;
	s->rx_end = IW_MAX(s->rx_end, number + 1);
	if (number != s->rx_next) {
		flip(s, number);
		s->early++;
		s->a->early++;
		return;
	}
	s->rx_next++;
	while (iw_unlikely(s->early > 0) && seen(s, s->rx_next)) {
		flip(s, s->rx_next++);
		s->early--;
		s->a->early--;
	}
}

/* --- segments --------------------------------------------------------------------------------- */

/*
 * Makes room for n more octets. The buffer grows with the octets received, up to one limit for the
 * session and one for all sessions.
 */
static bool grow_held(struct iw_dss *s, size_t n)
{
	size_t need = s->held_len + n, size = IW_MAX(s->held_size, (size_t)HELD_FIRST);
	uint8_t *to;

	if (need > IW_SCTPMAP_HOLD_LEN)
		return false;
	while (size < need)
		size *= 2;
	if (size == s->held_size)
		return true;
	if (!iw_dss_may_hold(s, size - s->held_size))
		return false;
	to = iw_dss_alloc(s, size);
	if (!to)
		return false;
	if (s->held)
		memcpy(to, s->held, s->held_len);
	iw_dss_dealloc(s, s->held, s->held_size);
	s->a->held += size - s->held_size;
	s->held = to;
	s->held_size = size;
	return true;
}

/* Copies a segment that arrived before the session is open. IW_E_LIMIT: no room. */
static int hold(struct iw_dss *s, uint64_t seq, const uint8_t *data, size_t len)
{
	struct held h = { seq, len };

	if (!grow_held(s, held_size(len)))
		return iw_fail(
			&s->fault, IW_E_LIMIT,
			"sctp: stream %u: more segments than can be held arrived before the session "
			"was accepted",
			(uint32_t)s->stream);
	memcpy(s->held + s->held_len, &h, sizeof(h));
	memcpy(s->held + s->held_len + sizeof(h), data, len);
	s->held_len += held_size(len);
	return 0;
}

void iw_dss_segment_arrived(struct iw_dss *s, const uint8_t *data, size_t len,
			    struct iw_dss_segment *seg)
{
	uint64_t number;
	uint16_t ssn;
	int err;

	/* The peer has ended the session: allocate nothing for later segments. */
	if (iw_unlikely(s->rx_done && s->state == IW_DSS_ENDING))
		return;
	if (iw_wire_sctp_segment_decode(&ssn, data, len) == 0) {
		iw_fail(&s->fault, IW_E_DSS_ILLEGAL,
			"sctp: stream %u: a segment of %u octets, too short for a DDP-SSN and a header",
			(uint32_t)s->stream, (uint32_t)len);
		iw_dss_fail(s);
		return;
	}
	err = number_of(s, ssn, &number);
	if (err == 0 && number == 0)
		err = fail_number(s, ssn, "belongs to a segment, but the session is not open");
	if (err == 0)
		note(s, number);
	data += IW_SCTP_SSN_LEN;
	len -= IW_SCTP_SSN_LEN;
	/* A segment must not overtake IW_DSS_ACCEPTED, nor the segments held before. */
	if (err == 0 && iw_unlikely(s->state != IW_DSS_OPEN || s->report_due || s->held)) {
		if (s->state != IW_DSS_ENDING)
			err = hold(s, number - 1, data, len);
	} else if (err == 0) {
		seg->seq = number - 1;
		seg->data = data;
		seg->len = len;
	}
	if (iw_unlikely(err < 0))
		iw_dss_fail(s);
	if (iw_unlikely(s->rx_last < s->rx_next))
		s->rx_done = true;
}

/* --- control ---------------------------------------------------------------------------------- */

static int illegal(struct iw_dss *s, const struct iw_sctp_control *c, const char *why)
{
	return iw_fail(&s->fault, IW_E_DSS_ILLEGAL,
		       "sctp: stream %u: %s with DDP-SSN %u in state %s: %s", (uint32_t)s->stream,
		       iw_wire_sctp_fn_name(c->fn), (uint32_t)c->ssn, iw_dss_state_name(s->state),
		       why);
}

static int take_terminate(struct iw_dss *s, const struct iw_sctp_control *c, uint64_t number)
{
	if (s->rx_last != NEVER)
		return illegal(s, c, "a session has only one");
	if (number + 1 < s->rx_end)
		return illegal(s, c, "later messages were received before");
	s->rx_last = number;
	note(s, number);
	if (number == 0 && s->active) {
		/* The peer's layer answers with Terminate instead of Accept (RFC 5043 6.4). */
		if (s->state == IW_DSS_INITIATING)
			iw_dss_report(s, IW_DSS_REFUSED);
		iw_dss_rejected(s);
	}
	return 0;
}

static int take_accept(struct iw_dss *s, const struct iw_sctp_control *c)
{
	struct iw_fault *why = &s->fault;

	if (c->fn != (s->setup->agreed.enhanced ? IW_SCTP_FN_ENH_ACCEPT : IW_SCTP_FN_ACCEPT))
		return illegal(s, c, "it does not fit our Initiate");
	if (s->setup->agreed.enhanced && c->pd_len < IW_DSS_ENHANCED_LEN)
		return illegal(s, c, "it has no IRD and ORD");
	/* The session is open even if this end cannot accept the values: the fault reports that. */
	if (iw_dss_take_accept(s, c, why) == 0)
		*why = (struct iw_fault){ 0 };
	iw_dss_set_state(s, IW_DSS_OPEN);
	iw_dss_report(s, IW_DSS_ACCEPTED);
	return 0;
}

/* Handles the peer's first message, the answer to our Initiate. */
static int take_answer(struct iw_dss *s, const struct iw_sctp_control *c)
{
	int err = 0;

	switch ((enum iw_sctp_fn)c->fn) {
	case IW_SCTP_FN_ACCEPT:
	case IW_SCTP_FN_ENH_ACCEPT:
		/* In another state this end has ended the session: its Terminate answers. */
		if (s->state == IW_DSS_INITIATING)
			err = take_accept(s, c);
		break;
	case IW_SCTP_FN_REJECT:
	case IW_SCTP_FN_ENH_REJECT:
		iw_dss_take_reject(s, c);
		if (s->state == IW_DSS_INITIATING)
			iw_dss_report(s, IW_DSS_REJECTED);
		iw_dss_rejected(s);
		break;
	case IW_SCTP_FN_INITIATE:
	case IW_SCTP_FN_ENH_INITIATE:
	case IW_SCTP_FN_TERMINATE:
		return illegal(s, c, "it is not an answer to an Initiate");
	}
	if (err == 0) {
		s->answered = true;
		note(s, 0);
	}
	return err;
}

static uint16_t last_fn(const struct iw_sctpmap *a)
{
	return iw_sctpmap_enhanced(a) ? IW_SCTP_FN_ENH_REJECT : IW_SCTP_FN_TERMINATE;
}

static int take_control(struct iw_dss *s, const struct iw_sctp_control *c)
{
	uint64_t number;
	int err = number_of(s, c->ssn, &number);

	if (err < 0)
		return err;
	if (s->state == IW_DSS_INITIATING && s->out_len > 0)
		return illegal(s, c, "this end has not sent its Initiate yet");
	if (c->fn == IW_SCTP_FN_TERMINATE)
		return take_terminate(s, c, number);
	if (c->fn < IW_SCTP_FN_INITIATE || c->fn > last_fn(s->a))
		return illegal(s, c, "unknown Function Code");
	if (!s->active || number != 0)
		return illegal(s, c, "it must be the first message of a session");
	if (c->pd_len > IW_SCTP_PD_MAX)
		return illegal(s, c, "more than 512 octets of Private Data");
	return take_answer(s, c);
}

void iw_dss_control_arrived(struct iw_dss *s, const uint8_t *data, size_t len)
{
	struct iw_sctp_control c;
	int err;

	if (s->rx_done && s->state == IW_DSS_ENDING)
		return;
	if (iw_wire_sctp_control_decode(&c, data, len) > 0)
		err = take_control(s, &c);
	else
		err = iw_fail(
			&s->fault, IW_E_DSS_ILLEGAL,
			"sctp: stream %u: a control message of %u octets, too short for its header",
			(uint32_t)s->stream, (uint32_t)len);
	if (err < 0)
		iw_dss_fail(s);
	if (s->rx_last < s->rx_next)
		s->rx_done = true;
}

/* --- units ------------------------------------------------------------------------------------ */

static bool next_held(struct iw_dss *s, struct iw_dss_unit *u)
{
	struct held h;

	if (s->held_at == s->held_len)
		return false;
	memcpy(&h, s->held + s->held_at, sizeof(h));
	*u = (struct iw_dss_unit){
		.kind = IW_DSS_SEGMENT,
		.seq = h.seq,
		.data = s->held + s->held_at + sizeof(h),
		.len = h.len,
	};
	s->held_at += held_size(h.len);
	return true;
}

/* True if the peer has ended the session and iw_dss_next has not reported it yet. */
static bool end_unreported(const struct iw_dss *s)
{
	return s->rx_done && !s->end_reported &&
	       (s->state == IW_DSS_OPEN || s->state == IW_DSS_DECIDING);
}

bool iw_dss_has_unit(const struct iw_dss *s)
{
	return s->report_due || (s->state == IW_DSS_OPEN && s->held) || end_unreported(s);
}

bool iw_dss_next(struct iw_dss *s, struct iw_dss_unit *u)
{
	if (iw_unlikely(s->report_due)) {
		s->report_due = false;
		*u = (struct iw_dss_unit){ .kind = s->report_kind };
		if (s->fault.err)
			u->why = &s->fault;
		return true;
	}
	if (s->state == IW_DSS_OPEN) {
		if (iw_unlikely(s->held != NULL)) {
			if (next_held(s, u))
				return true;
			iw_dss_drop_held(s);
		}
	}
	if (iw_unlikely(end_unreported(s))) {
		s->end_reported = true;
		*u = (struct iw_dss_unit){ .kind = IW_DSS_TERMINATED };
		return true;
	}
	return false;
}
