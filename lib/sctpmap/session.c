// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A session: initiation, answer, states, end, release, and the messages that it sends. */
#include "sctpmap/session.h"

#include <assert.h>
#include <string.h>

#include "sctpmap/internal.h"

/* clang-format off */
static const char *const state_names[] = {
	[IW_DSS_INITIATING] = "initiating",
	[IW_DSS_DECIDING]   = "deciding",
	[IW_DSS_OPEN]       = "open",
	[IW_DSS_ENDING]     = "ending",
};
/* clang-format on */

const char *iw_dss_state_name(enum iw_dss_state s)
{
	return (size_t)s < IW_ARRAY_LEN(state_names) ? state_names[s] : "unknown";
}

#define TO(s) (1u << IW_DSS_##s)

/* clang-format off */
static const unsigned next_states[] = {
	[IW_DSS_INITIATING] = TO(OPEN) | TO(ENDING),
	[IW_DSS_DECIDING]   = TO(OPEN) | TO(ENDING),
	[IW_DSS_OPEN]       = TO(ENDING),
	[IW_DSS_ENDING]     = 0,
};
/* clang-format on */

#undef TO

/* --- memory ----------------------------------------------------------------------------------- */

/* Until a session is accepted, the peer determines how much memory it needs. */
static bool is_pending(const struct iw_dss *s)
{
	return s->state != IW_DSS_OPEN && !s->accepted;
}

bool iw_dss_may_hold(const struct iw_dss *s, size_t n)
{
	const struct iw_sctpmap *a = s->a;

	return !is_pending(s) || a->pending - a->objects + n <= a->window;
}

static void charge(struct iw_dss *s, size_t n)
{
	s->bytes += n;
	s->a->bytes += n;
}

static void charge_pending(struct iw_dss *s, size_t n)
{
	s->pending += n;
	s->a->pending += n;
}

/* The session is accepted or ends: its memory is no longer charged to the peer. */
static void settle_pending(struct iw_dss *s)
{
	s->a->pending -= s->pending;
	s->a->objects -= s->object;
	s->pending = s->object = 0;
}

void *iw_dss_alloc(struct iw_dss *s, size_t n)
{
	void *p = iw_mem_alloc(s->a->cfg.mem, n);

	if (!p)
		return NULL;
	charge(s, n);
	if (is_pending(s))
		charge_pending(s, n);
	return p;
}

void iw_dss_dealloc(struct iw_dss *s, void *p, size_t n)
{
	size_t pending = IW_MIN(n, s->pending);

	if (!p)
		return;
	iw_mem_free(s->a->cfg.mem, p, n);
	s->bytes -= n;
	s->a->bytes -= n;
	s->pending -= pending;
	s->a->pending -= pending;
}

size_t iw_dss_memory(const struct iw_dss *s)
{
	return s->bytes;
}

void iw_dss_drop_held(struct iw_dss *s)
{
	iw_dss_dealloc(s, s->held, s->held_size);
	s->a->held -= s->held_size;
	s->held = NULL;
	s->held_size = s->held_len = s->held_at = 0;
}

static void drop_seen(struct iw_dss *s)
{
	if (!s->seen)
		return;
	for (size_t i = 0; i < SEEN_PAGES; i++)
		iw_dss_dealloc(s, s->seen[i], PAGE_WORDS * sizeof(**s->seen));
	iw_dss_dealloc(s, s->seen, SEEN_PAGES * sizeof(*s->seen));
	s->seen = NULL;
}

/* --- states ----------------------------------------------------------------------------------- */

void iw_dss_set_state(struct iw_dss *s, enum iw_dss_state to)
{
	assert(next_states[s->state] & 1u << to);
	if (s->state == IW_DSS_DECIDING)
		s->a->deciding--;
	if (to == IW_DSS_ENDING)
		iw_dss_drop_held(s);
	if (to == IW_DSS_OPEN) {
		s->accepted = true;
		settle_pending(s);
	}
	s->state = to;
}

/* True if one more session of the peer stays within IW_SCTPMAP_PENDING_MAX. */
static bool peer_may_begin(const struct iw_sctpmap *a)
{
	return a->objects + sizeof(struct iw_dss) + sizeof(struct setup) <= IW_SCTPMAP_PENDING_MAX;
}

struct iw_dss *iw_dss_new(struct iw_sctpmap *a, uint16_t stream, bool active)
{
	struct iw_dss *s = NULL;

	if (active || peer_may_begin(a))
		s = iw_mem_alloc(a->cfg.mem, sizeof(*s));
	if (!s)
		return NULL;
	s->setup = iw_mem_alloc(a->cfg.mem, sizeof(*s->setup));
	if (!s->setup) {
		iw_mem_free(a->cfg.mem, s, sizeof(*s));
		return NULL;
	}
	s->a = a;
	charge(s, sizeof(*s) + sizeof(*s->setup));
	if (!active) {
		charge_pending(s, s->bytes);
		s->object = s->bytes;
		a->objects += s->object;
	}
	s->stream = stream;
	s->active = active;
	s->state = active ? IW_DSS_INITIATING : IW_DSS_DECIDING;
	s->rx_last = NEVER;
	iw_list_init(&s->due);
	iw_list_add_tail(&a->all, &s->all);
	a->by_stream[stream] = s;
	a->sessions++;
	if (!active)
		a->deciding++;
	return s;
}

static void leave_stream(struct iw_dss *s)
{
	if (s->a->by_stream[s->stream] != s)
		return;
	s->a->by_stream[s->stream] = NULL;
	s->a->sessions--;
	iw_dss_stream_changed(s->a, s->stream);
}

static uint64_t unacked(const struct iw_dss *s)
{
	return s->tx_next - s->tx_acked;
}

bool iw_dss_may_leave(const struct iw_dss *s)
{
	const struct iw_sctpmap *a = s->a;

	/* a->former has 16 bits. Only a peer that does not acknowledge reaches the limit. */
	return s->tx_last &&
	       (a->cfg.all_acked_only || unacked(s) <= (uint64_t)UINT16_MAX - a->former[s->stream]);
}

void iw_dss_leave(struct iw_dss *s)
{
	struct iw_sctpmap *a = s->a;

	a->former[s->stream] = (uint16_t)IW_MIN(a->former[s->stream] + unacked(s), UINT16_MAX);
	s->tx_acked = s->tx_next;
	s->rx_done = true;
	iw_dss_update(s);
}

void iw_dss_free(struct iw_dss *s)
{
	const struct iw_mem *mem = s->a->cfg.mem;

	if (s->state == IW_DSS_DECIDING)
		s->a->deciding--;
	iw_dss_drop_held(s);
	drop_seen(s);
	settle_pending(s);
	s->a->early -= s->early;
	s->a->bytes -= s->bytes;
	iw_list_del(&s->due);
	iw_list_del(&s->all);
	leave_stream(s);
	if (s->a->replaced == s)
		s->a->replaced = NULL;
	iw_mem_free(mem, s->setup, sizeof(*s->setup));
	iw_mem_free(mem, s, sizeof(*s));
}

struct iw_sctpmap *iw_dss_assoc(const struct iw_dss *s)
{
	return s->a;
}

uint16_t iw_dss_stream(const struct iw_dss *s)
{
	return s->stream;
}

enum iw_dss_state iw_dss_state(const struct iw_dss *s)
{
	return s->state;
}

const struct iw_agreed *iw_dss_agreed(const struct iw_dss *s)
{
	return &s->setup->agreed;
}

void iw_dss_set_owner(struct iw_dss *s, void *owner)
{
	s->owner = owner;
}

void *iw_dss_owner(const struct iw_dss *s)
{
	return s->owner;
}

/* --- initiation and answer -------------------------------------------------------------------- */

static bool is_free(const struct iw_sctpmap *a, uint16_t stream)
{
	return !a->by_stream[stream] && a->former[stream] == 0 && !iw_sctpmap_refuses(a, stream);
}

void iw_dss_stream_changed(struct iw_sctpmap *a, uint16_t stream)
{
	struct iw_dss *s = a->by_stream[stream];

	if (s)
		iw_dss_update(s);
	else if (is_free(a, stream))
		a->lowest = IW_MIN(a->lowest, stream);
}

/*
 * True if only acknowledgements are missing: neither end sends, and no caller holds a session
 * there.
 */
static bool will_be_free(const struct iw_sctpmap *a, uint16_t stream)
{
	const struct iw_dss *s = a->by_stream[stream];

	if (iw_sctpmap_refuses(a, stream))
		return false;
	return !s || (s->released && s->rx_done && iw_dss_may_leave(s));
}

/*
 * Sets *out to the lowest free stream, or to one that will become free, where the Initiate waits.
 * If SCTP reports only that all messages are acknowledged, the other sessions pause until then:
 * otherwise the wait could last for ever.
 */
static int take_stream(struct iw_sctpmap *a, uint16_t *out)
{
	for (uint32_t i = a->lowest; i < a->streams; i++)
		if (is_free(a, (uint16_t)i)) {
			*out = a->lowest = (uint16_t)i;
			return 0;
		}
	a->lowest = a->streams;
	for (uint32_t i = 0; i < a->streams; i++)
		if (will_be_free(a, (uint16_t)i)) {
			*out = (uint16_t)i;
			if (a->by_stream[i])
				iw_dss_leave(a->by_stream[i]);
			a->draining = a->cfg.all_acked_only;
			return 0;
		}
	return IW_E_LIMIT;
}

/* Returns how many sessions have sent their last message and wait for that of the peer. */
static uint32_t half_ended(const struct iw_sctpmap *a)
{
	uint32_t n = 0;

	for (struct iw_list *l = a->all.next; l != &a->all; l = l->next) {
		const struct iw_dss *s = iw_container_of(l, struct iw_dss, all);

		n += s->tx_last && !s->rx_done;
	}
	return n;
}

int iw_dss_initiate(struct iw_dss **out, struct iw_sctpmap *a, const struct iw_offer *o,
		    struct iw_fault *why)
{
	struct iw_dss *s;
	uint16_t stream;
	int err;

	*out = NULL;
	if (a->down || !a->cfg.initiator)
		return iw_fail(why, IW_E_STATE, "sctp: this end cannot begin a session: %s",
			       a->down ? "the association is down" : "it is the responder");
	if (o->enhanced && !iw_sctpmap_enhanced(a))
		return iw_fail(
			why, IW_E_INVAL,
			"sctp: profile %s: it has no enhanced sessions (RFC 6581); use a plain one",
			a->profile->name);
	err = iw_dss_check_offer(o, true, why);
	if (err < 0)
		return err;
	if (take_stream(a, &stream) != 0)
		return iw_fail(
			why, IW_E_LIMIT,
			"sctp: all %u streams have sessions; %u of them wait for the peer's Terminate",
			(uint32_t)a->streams, half_ended(a));
	s = iw_dss_new(a, stream, true);
	if (!s)
		return iw_fail(why, IW_E_NOMEM, "sctp: no memory for a session");
	iw_dss_build_initiate(s, o);
	iw_dss_update(s);
	*out = s;
	return 0;
}

int iw_dss_accept(struct iw_dss *s, const struct iw_offer *o, struct iw_fault *why)
{
	int err;

	if (s->state != IW_DSS_DECIDING)
		return iw_fail(why, IW_E_STATE, "sctp: no Initiate is pending");
	err = iw_dss_check_offer(o, false, why);
	if (err == 0)
		err = iw_dss_build_accept(s, o, why);
	if (err < 0)
		return err;
	iw_dss_set_state(s, IW_DSS_OPEN);
	iw_dss_update(s);
	return 0;
}

int iw_dss_reject(struct iw_dss *s, const uint8_t *pd, size_t pd_len, struct iw_fault *why)
{
	int err;

	if (s->state != IW_DSS_DECIDING)
		return iw_fail(why, IW_E_STATE, "sctp: no Initiate is pending");
	err = iw_dss_build_reject(s, pd, pd_len, why);
	if (err < 0)
		return err;
	s->rx_done = true;
	iw_dss_set_state(s, IW_DSS_ENDING);
	iw_dss_update(s);
	return 0;
}

/* --- ends ------------------------------------------------------------------------------------- */

/* Ends a session whose Initiate was not sent: the peer does not know it. */
static void skip_session(struct iw_dss *s)
{
	s->out_len = 0;
	s->tx_last = s->rx_done = true;
}

/* Queues our last message, or does nothing if it is queued or sent already. */
static void end(struct iw_dss *s)
{
	bool rejecting = !s->active && s->state == IW_DSS_ENDING && s->out_len > 0;

	/* A rejection is the last message, as a Terminate is. */
	if (s->tx_last || s->ending || rejecting)
		return;
	if (s->state == IW_DSS_INITIATING && s->out_len > 0)
		skip_session(s);
	else
		s->ending = true;
	/* The Terminate is the answer to the peer's Initiate, so the peer sends nothing more. */
	if (s->state == IW_DSS_DECIDING)
		s->rx_done = true;
	if (s->state == IW_DSS_INITIATING || s->state == IW_DSS_DECIDING)
		iw_dss_set_state(s, IW_DSS_ENDING);
}

void iw_dss_terminate(struct iw_dss *s)
{
	end(s);
	iw_dss_update(s);
}

void iw_dss_rejected(struct iw_dss *s)
{
	s->ending = false;
	s->tx_last = s->rx_done = true;
	if (s->state != IW_DSS_ENDING)
		iw_dss_set_state(s, IW_DSS_ENDING);
}

void iw_dss_report(struct iw_dss *s, enum iw_dss_unit_kind kind)
{
	s->report_due = true;
	s->report_kind = kind;
}

void iw_dss_fail(struct iw_dss *s)
{
	if (s->state == IW_DSS_ENDING)
		return;
	iw_dss_terminate(s);
	if (s->state != IW_DSS_ENDING)
		iw_dss_set_state(s, IW_DSS_ENDING);
	iw_dss_report(s, IW_DSS_FAULT);
}

void iw_dss_release(struct iw_dss *s)
{
	if (!s)
		return;
	s->released = true;
	s->owner = NULL;
	if (s->a->down) {
		iw_dss_free(s);
		return;
	}
	end(s);
	if (s->state != IW_DSS_ENDING)
		iw_dss_set_state(s, IW_DSS_ENDING);
	iw_dss_update(s);
}

bool iw_dss_over(const struct iw_dss *s)
{
	return s->tx_last && s->rx_done && s->tx_acked == s->tx_next;
}

bool iw_dss_update(struct iw_dss *s)
{
	struct iw_sctpmap_msg m;

	if (iw_dss_over(s)) {
		leave_stream(s);
		if (s->released) {
			iw_dss_free(s);
			return true;
		}
	}
	if (!iw_dss_control(s, &m))
		iw_list_del(&s->due);
	else if (iw_list_empty(&s->due))
		iw_list_add_tail(&s->a->due, &s->due);
	return false;
}

/* --- out -------------------------------------------------------------------------------------- */

static uint16_t ssn_of(const struct iw_dss *s, uint64_t number)
{
	return (uint16_t)(s->a->profile->first_ssn + number);
}

/*
 * True if our first message has arrived: it was acknowledged or answered. Segments answer an
 * Accept. A Terminate as the peer's second message does not: the peer may have cancelled its
 * Initiate before the Accept arrived.
 */
static bool first_arrived(const struct iw_dss *s)
{
	bool segments = s->rx_end > 1 && s->rx_last != 1;

	return s->tx_acked > 0 || (s->active ? s->answered : segments);
}

/* RFC 5043 6.6: our Terminate must not arrive before our Initiate or our answer. */
static bool may_terminate(const struct iw_dss *s)
{
	return s->tx_next == 0 || first_arrived(s);
}

bool iw_dss_waits_for_stream(const struct iw_dss *s)
{
	return s->active && s->tx_next == 0 && s->a->former[s->stream] > 0;
}

bool iw_dss_control(struct iw_dss *s, struct iw_sctpmap_msg *m)
{
	size_t len = s->out_len;
	bool last = len == 0;
	const uint8_t *data = last ? s->terminate : s->setup->out;

	if (!s->a->up || s->a->down || iw_dss_waits_for_stream(s))
		return false;
	if (last) {
		if (!s->ending || !may_terminate(s))
			return false;
		len = iw_dss_encode_head(s, s->terminate, sizeof(s->terminate),
					 IW_SCTP_FN_TERMINATE);
	}
	*m = (struct iw_sctpmap_msg){
		.stream = s->stream,
		.ppid = s->a->profile->ppid_control,
		.data = data,
		.len = len,
		.ack_now = last && s->active,
	};
	return true;
}

void iw_dss_control_taken(struct iw_dss *s)
{
	bool answer_or_initiate = s->out_len > 0;

	s->tx_next++;
	s->out_len = 0;
	if (!answer_or_initiate || (!s->active && s->state == IW_DSS_ENDING && !s->ending)) {
		s->tx_last = true;
		s->ending = false;
	}
	iw_dss_update(s);
}

/*
 * The passive side may send directly after its Accept (RFC 5043 6.2), but the active side must hold
 * segments that overtake the Accept. So the first segment waits until the Accept has arrived.
 */
static bool accept_arrived(const struct iw_dss *s)
{
	return s->active || first_arrived(s);
}

uint32_t iw_dss_room(const struct iw_dss *s)
{
	uint64_t outstanding = unacked(s);

	if (s->state != IW_DSS_OPEN || s->out_len > 0 || s->ending || s->tx_last || s->a->down ||
	    s->a->draining || !accept_arrived(s) || outstanding >= IW_SCTPMAP_WINDOW)
		return 0;
	return (uint32_t)(IW_SCTPMAP_WINDOW - outstanding);
}

uint16_t iw_dss_ssn(const struct iw_dss *s)
{
	return ssn_of(s, s->tx_next);
}

void iw_dss_taken(struct iw_dss *s)
{
	assert(s->state == IW_DSS_OPEN && unacked(s) < IW_SCTPMAP_WINDOW);
	s->tx_next++;
}

bool iw_dss_control_due(const struct iw_dss *s)
{
	return s->out_len > 0 || s->ending;
}

uint64_t iw_dss_sent(const struct iw_dss *s)
{
	/* The first message was the Initiate or the Accept. */
	return s->tx_next > 0 ? s->tx_next - 1 : 0;
}

uint64_t iw_dss_acked(const struct iw_dss *s)
{
	return s->tx_acked > 0 ? s->tx_acked - 1 : 0;
}

uint64_t iw_dss_late(const struct iw_dss *s)
{
	return s->late;
}

bool iw_dss_outstanding(const struct iw_dss *s)
{
	return s->tx_acked < s->tx_next;
}
