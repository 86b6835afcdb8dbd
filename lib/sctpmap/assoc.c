// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The association: set-up, streams, the session for each message, pending control messages. */
#include "sctpmap/sctpmap.h"

#include <assert.h>
#include <string.h>

#include "sctpmap/internal.h"

#define BACKLOG    128
/* Bytes of DDP's record of an early segment, with its share of the table. */
#define EARLY_COST 48

/* --- construction ----------------------------------------------------------------------------- */

static size_t refused_words(const struct iw_sctpmap *a)
{
	return (a->cfg.streams + 63u) / 64;
}

int iw_sctpmap_new(struct iw_sctpmap **out, const struct iw_sctpmap_cfg *cfg, struct iw_fault *why)
{
	struct iw_sctpmap *a;

	*out = NULL;
	if (cfg->streams == 0)
		return iw_fail(why, IW_E_INVAL,
			       "sctp: an association with 0 streams: use at least 1");
	a = iw_mem_alloc(cfg->mem, sizeof(*a));
	if (!a)
		return iw_fail(why, IW_E_NOMEM, "sctp: no memory for an association");
	a->cfg = *cfg;
	a->profile = cfg->profile ? cfg->profile : &iw_sctpmap_rfc;
	if (a->cfg.backlog == 0)
		a->cfg.backlog = BACKLOG;
	a->streams = cfg->streams;
	a->mulpdu = IW_SCTPMAP_SEGMENT_MIN;
	a->window = IW_SCTPMAP_PENDING_MAX;
	a->bytes = sizeof(*a) + cfg->streams * (sizeof(*a->by_stream) + sizeof(*a->former)) +
		   refused_words(a) * sizeof(*a->refused);
	iw_list_init(&a->all);
	iw_list_init(&a->due);
	a->by_stream = iw_mem_array(cfg->mem, cfg->streams, sizeof(*a->by_stream));
	a->former = iw_mem_array(cfg->mem, cfg->streams, sizeof(*a->former));
	a->refused = iw_mem_array(cfg->mem, refused_words(a), sizeof(*a->refused));
	if (!a->by_stream || !a->former || !a->refused) {
		iw_sctpmap_free(a);
		return iw_fail(why, IW_E_NOMEM, "sctp: no memory for %u streams",
			       (uint32_t)cfg->streams);
	}
	*out = a;
	return 0;
}

void iw_sctpmap_free(struct iw_sctpmap *a)
{
	if (!a)
		return;
	while (iw_list_first(&a->all))
		iw_dss_free(iw_container_of(iw_list_first(&a->all), struct iw_dss, all));
	iw_mem_free(a->cfg.mem, a->by_stream, a->cfg.streams * sizeof(*a->by_stream));
	iw_mem_free(a->cfg.mem, a->former, a->cfg.streams * sizeof(*a->former));
	iw_mem_free(a->cfg.mem, a->refused, refused_words(a) * sizeof(*a->refused));
	iw_mem_free(a->cfg.mem, a, sizeof(*a));
}

const struct iw_sctpmap_profile *iw_sctpmap_profile(const struct iw_sctpmap *a)
{
	return a->profile;
}

uint16_t iw_sctpmap_streams(const struct iw_sctpmap *a)
{
	return a->streams;
}

size_t iw_sctpmap_memory(const struct iw_sctpmap *a)
{
	return a->bytes;
}

size_t iw_sctpmap_held(const struct iw_sctpmap *a)
{
	return a->held + (size_t)a->early * EARLY_COST;
}

uint32_t iw_sctpmap_sessions(const struct iw_sctpmap *a)
{
	return a->sessions;
}

bool iw_sctpmap_sessions_ended(const struct iw_sctpmap *a)
{
	for (struct iw_list *n = a->all.next; n != &a->all; n = n->next) {
		const struct iw_dss *s = iw_container_of(n, struct iw_dss, all);

		if (!s->tx_last || !s->rx_done)
			return false;
	}
	return a->nrefused == 0;
}

void iw_sctpmap_set_chunk(struct iw_sctpmap *a, size_t user_data)
{
	a->mulpdu = IW_MAX(user_data, IW_SCTPMAP_SEGMENT_MIN + IW_SCTP_SSN_LEN) - IW_SCTP_SSN_LEN;
}

size_t iw_sctpmap_mulpdu(const struct iw_sctpmap *a)
{
	return a->mulpdu;
}

/* --- up and down ------------------------------------------------------------------------------ */

/* Checks the peer's Adaptation Indication by the table of RFC 5043 11.1. */
static int check_indication(const struct iw_sctpmap *a, const struct iw_sctpmap_peer *peer,
			    struct iw_fault *why)
{
	if (!peer->indicated)
		return iw_fail(
			why, IW_E_DSS_NODDP,
			"sctp: the peer sent no adaptation indication: its SCTP does not speak DDP");
	if (peer->adaptation != a->profile->adaptation)
		return iw_fail(
			why, IW_E_DSS_NODDP,
			"sctp: the peer's adaptation indication is %x, this end has %x: use the same --profile at both ends",
			peer->adaptation, a->profile->adaptation);
	return 0;
}

int iw_sctpmap_up(struct iw_sctpmap *a, const struct iw_sctpmap_peer *peer, struct iw_fault *why)
{
	struct iw_list *n, *next;
	int err = check_indication(a, peer, why);

	if (err < 0)
		return err;
	a->streams = IW_MIN(a->cfg.streams, IW_MIN(peer->in, peer->out));
	if (peer->window > 0)
		a->window = peer->window;
	a->up = true;
	for (n = a->all.next; n != &a->all; n = next) {
		struct iw_dss *s = iw_container_of(n, struct iw_dss, all);

		next = n->next;
		if (s->stream >= a->streams) {
			iw_fail(&s->fault, IW_E_LIMIT,
				"sctp: stream %u: the association has %u (ours %u, the peer's %u)",
				(uint32_t)s->stream, (uint32_t)a->streams, (uint32_t)peer->out,
				(uint32_t)peer->in);
			iw_dss_fail(s);
		}
		iw_dss_update(s);
	}
	return 0;
}

void iw_sctpmap_down(struct iw_sctpmap *a)
{
	struct iw_list *n, *next;

	a->down = true;
	for (n = a->all.next; n != &a->all; n = next) {
		struct iw_dss *s = iw_container_of(n, struct iw_dss, all);

		next = n->next;
		if (s->released)
			iw_dss_free(s);
		else
			iw_dss_update(s);
	}
}

/* --- in --------------------------------------------------------------------------------------- */

static void flip_refused(struct iw_sctpmap *a, uint16_t stream)
{
	a->refused[stream / 64] ^= (uint64_t)1 << stream % 64;
}

/*
 * Queues a Terminate that belongs to no session, so nothing is allocated for it. RFC 5043 10 limits
 * the unacknowledged messages of a stream. Without acknowledgements of single messages their number
 * is not known, and the send buffer of SCTP is the limit.
 */
static void refuse(struct iw_sctpmap *a, uint16_t stream)
{
	bool full = a->former[stream] >= IW_SCTPMAP_WINDOW;

	if (iw_sctpmap_refuses(a, stream) || (full && !a->cfg.all_acked_only))
		return;
	flip_refused(a, stream);
	a->nrefused++;
}

/* Handles the peer's Initiate, as responder. */
static struct iw_dss *begin(struct iw_sctpmap *a, uint16_t stream, const struct iw_sctp_control *c)
{
	struct iw_dss *s;

	/* A Terminate is pending on the stream: the peer will take it as the answer. */
	if (iw_sctpmap_refuses(a, stream))
		return NULL;
	/* RFC 5043 6.4: the number of sessions that wait for the ULP is limited. */
	s = a->deciding < a->cfg.backlog ? iw_dss_new(a, stream, false) : NULL;
	if (!s) {
		refuse(a, stream);
		return NULL;
	}
	s->rx_next = s->rx_end = 1;
	iw_dss_take_initiate(s, c);
	iw_dss_report(s, IW_DSS_REQUEST);
	return s;
}

static bool is_initiate(const struct iw_sctpmap *a, const struct iw_sctp_control *c)
{
	bool enhanced = c->fn == IW_SCTP_FN_ENH_INITIATE && iw_sctpmap_enhanced(a);
	size_t least = enhanced ? IW_DSS_ENHANCED_LEN : 0;

	return (c->fn == IW_SCTP_FN_INITIATE || enhanced) && c->ssn == a->profile->first_ssn &&
	       c->pd_len >= least && c->pd_len <= IW_SCTP_PD_MAX;
}

/* Handles a message on a stream without a session. */
static struct iw_dss *stray(struct iw_sctpmap *a, uint16_t stream, uint32_t ppid,
			    const uint8_t *data, size_t len)
{
	struct iw_sctp_control c;
	bool control = ppid == a->profile->ppid_control &&
		       iw_wire_sctp_control_decode(&c, data, len) > 0;

	if (control && !a->cfg.initiator && is_initiate(a, &c))
		return begin(a, stream, &c);
	/*
	 * A Terminate is not answered here: otherwise two ends without a session would answer each
	 * other for ever. Later messages are not answered until the first answer is acknowledged.
	 */
	if (a->former[stream] == 0 && (!control || c.fn != IW_SCTP_FN_TERMINATE))
		refuse(a, stream);
	return NULL;
}

/* Handles an Initiate on a stream where this end has sent the last message of a session. */
static struct iw_dss *take_next(struct iw_sctpmap *a, struct iw_dss *s,
				const struct iw_sctp_control *c)
{
	uint16_t stream = s->stream;

	/*
	 * The peer initiates again only if nothing is outstanding: the missing message was never
	 * sent.
	 */
	if (s->state == IW_DSS_OPEN && s->early > 0) {
		iw_fail(&s->fault, IW_E_DSS_ILLEGAL,
			"sctp: stream %u: Initiate before message %U of the previous session arrived (RFC 5043 6.6)",
			(uint32_t)stream, s->rx_next);
		iw_dss_fail(s);
	}
	a->replaced = s; /* reset when the session is freed, which iw_dss_leave may do */
	iw_dss_leave(s);
	return begin(a, stream, c);
}

/* Returns the session of the control message; NULL: no caller holds one. */
static struct iw_dss *take_control(struct iw_sctpmap *a, struct iw_dss *s, const uint8_t *data,
				   size_t len)
{
	struct iw_sctp_control c;

	if (!s->active && iw_dss_may_leave(s) && iw_wire_sctp_control_decode(&c, data, len) > 0 &&
	    is_initiate(a, &c))
		return take_next(a, s, &c);
	iw_dss_control_arrived(s, data, len);
	return iw_dss_update(s) || s->released ? NULL : s;
}

/* Processes the message. Returns its session, with a segment for the owner in *seg. */
static struct iw_dss *take_message(struct iw_sctpmap *a, uint16_t stream, uint32_t ppid,
				   const uint8_t *data, size_t len, struct iw_dss_segment *seg)
{
	struct iw_dss *s;

	if (!a->up || a->down || stream >= a->streams)
		return NULL;
	s = a->by_stream[stream];
	if (!s)
		return stray(a, stream, ppid, data, len);
	if (iw_likely(ppid == a->profile->ppid_segment)) {
		iw_dss_segment_arrived(s, data, len, seg);
	} else if (ppid == a->profile->ppid_control) {
		return take_control(a, s, data, len);
	} else {
		iw_fail(&s->fault, IW_E_DSS_ILLEGAL,
			"sctp: stream %u: payload protocol %u is not one of DDP", (uint32_t)stream,
			ppid);
		iw_dss_fail(s);
	}
	if (iw_likely(ppid == a->profile->ppid_segment && !s->rx_done && !s->released &&
		      !s->ending))
		return s;
	return iw_dss_update(s) || s->released ? NULL : s;
}

struct iw_dss *iw_sctpmap_receive(struct iw_sctpmap *a, uint16_t stream, uint32_t ppid,
				  const uint8_t *data, size_t len, struct iw_dss_segment *seg)
{
	struct iw_dss *s;

	*seg = (struct iw_dss_segment){ 0 };
	s = take_message(a, stream, ppid, data, len, seg);
	if (iw_likely(s != NULL))
		seg->more = iw_dss_has_unit(s);
	else
		seg->data = NULL;
	return s;
}

struct iw_dss *iw_sctpmap_replaced(struct iw_sctpmap *a)
{
	struct iw_dss *s = a->replaced;

	a->replaced = NULL;
	return s;
}

struct iw_dss *iw_sctpmap_session(const struct iw_sctpmap *a, uint16_t stream)
{
	return stream < a->cfg.streams ? a->by_stream[stream] : NULL;
}

/* Returns how many of n acknowledged messages do not belong to former sessions. */
static uint32_t former_acked(struct iw_sctpmap *a, uint16_t stream, uint32_t n)
{
	uint16_t former = (uint16_t)IW_MIN(n, (uint32_t)a->former[stream]);

	a->former[stream] -= former;
	if (a->former[stream] == 0)
		iw_dss_stream_changed(a, stream);
	return n - former;
}

struct iw_dss *iw_sctpmap_acked(struct iw_sctpmap *a, uint16_t stream, uint32_t n)
{
	struct iw_dss *s;

	if (stream >= a->cfg.streams)
		return NULL;
	if (iw_unlikely(a->former[stream] > 0))
		n = former_acked(a, stream, n);
	s = a->by_stream[stream];
	if (!s)
		return NULL;
	/* SCTP rejects acknowledgements of messages that were never sent. */
	s->tx_acked = IW_MIN(s->tx_acked + n, s->tx_next);
	return iw_dss_update(s) || s->released ? NULL : s;
}

void iw_sctpmap_all_acked(struct iw_sctpmap *a)
{
	struct iw_list *n, *next;

	memset(a->former, 0, a->cfg.streams * sizeof(*a->former));
	a->lowest = 0;
	a->draining = false;
	for (n = a->all.next; n != &a->all; n = next) {
		struct iw_dss *s = iw_container_of(n, struct iw_dss, all);

		next = n->next;
		s->tx_acked = s->tx_next;
		iw_dss_update(s);
	}
}

/* --- out -------------------------------------------------------------------------------------- */

/* Returns the lowest stream on which a refusal is pending; nrefused is above 0. */
static uint16_t first_refused(const struct iw_sctpmap *a)
{
	size_t i = 0;

	while (a->refused[i] == 0)
		i++;
	return (uint16_t)(i * 64 + (unsigned)__builtin_ctzll(a->refused[i]));
}

/* Fills *m with a Terminate for the lowest stream on which a refusal is pending. */
static void refusal(struct iw_sctpmap *a, struct iw_sctpmap_msg *m)
{
	struct iw_sctp_control c = { a->profile->first_ssn, IW_SCTP_FN_TERMINATE, NULL, 0 };
	int len = iw_wire_sctp_control_encode(a->terminate, sizeof(a->terminate), &c);

	assert(len > 0);
	*m = (struct iw_sctpmap_msg){
		.stream = first_refused(a),
		.ppid = a->profile->ppid_control,
		.data = a->terminate,
		.len = (size_t)len,
	};
}

bool iw_sctpmap_control(struct iw_sctpmap *a, struct iw_sctpmap_msg *m)
{
	struct iw_list *n = iw_list_first(&a->due);

	if (iw_unlikely(a->nrefused > 0 && !a->down)) {
		refusal(a, m);
		return true;
	}
	return n && iw_dss_control(iw_container_of(n, struct iw_dss, due), m);
}

void iw_sctpmap_control_taken(struct iw_sctpmap *a, uint16_t stream)
{
	if (iw_likely(!iw_sctpmap_refuses(a, stream))) {
		iw_dss_control_taken(a->by_stream[stream]);
		return;
	}
	flip_refused(a, stream);
	a->nrefused--;
	a->former[stream] += a->former[stream] < UINT16_MAX;
}
