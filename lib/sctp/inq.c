// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Received DATA: which TSNs have arrived, which messages the user gets, and when a SACK is due
 * (RFC 9260 6.2). A TSN in sequence costs one addition. The bit map is allocated only when a TSN is
 * missing.
 */
#include "sctp/internal.h"

#include <string.h>

#define MAP_MIN 512
#define MAP_MAX 65536 /* a gap block reaches no further than 65535 above cum */

void iw_sctp_inq_init(struct inq *q, uint32_t peer_tsn)
{
	*q = (struct inq){ .cum = peer_tsn - 1, .high = peer_tsn - 1, .sack_at = IW_TIME_NEVER };
}

void iw_sctp_inq_fini(struct iw_sctp_assoc *a)
{
	struct inq *q = &a->in;

	iw_sctp_fragments_fini(a);
	iw_mem_free(a->s->cfg.mem, q->map, q->map_bits / 8);
	q->map = NULL;
	q->map_bits = 0;
}

/* --- the map ---------------------------------------------------------------------------------- */

static uint64_t *word_of(const struct inq *q, uint32_t tsn)
{
	return &q->map[(tsn & (q->map_bits - 1)) / 64];
}

static uint64_t bit_of(uint32_t tsn)
{
	return (uint64_t)1 << (tsn & 63);
}

static bool has(const struct inq *q, uint32_t tsn)
{
	if (!iw_seq32_before(q->cum, tsn))
		return true;
	if (!q->map || iw_seq32_before(q->high, tsn))
		return false;
	return *word_of(q, tsn) & bit_of(tsn);
}

void iw_sctp_inq_forget(struct inq *q, uint32_t tsn)
{
	if (!q->map || !iw_seq32_before(q->cum, tsn))
		return;
	*word_of(q, tsn) &= ~bit_of(tsn);
	/*
	 * Searches word by word: the next received TSN may be far below. No bit up to cum is set.
	 */
	while (q->high != q->cum) {
		uint64_t upto = *word_of(q, q->high) << (63 - (q->high & 63));

		if (upto) {
			q->high -= (uint32_t)__builtin_clzll(upto);
			return;
		}
		q->high -= IW_MIN((q->high & 63) + 1, q->high - q->cum);
	}
}

/*
 * Makes the map large enough for a TSN that is `ahead` above cum. Returns false if the TSN is too
 * far ahead, or there is no memory.
 */
static bool reach(struct iw_sctp_assoc *a, uint32_t ahead)
{
	struct inq *q = &a->in;
	struct inq bigger = *q;

	if (ahead < q->map_bits || (ahead == 1 && !q->map))
		return true;
	if (ahead >= MAP_MAX)
		return false;
	bigger.map_bits = IW_MAX(q->map_bits, (uint32_t)MAP_MIN);
	while (bigger.map_bits <= ahead)
		bigger.map_bits *= 2;
	bigger.map = iw_mem_alloc(a->s->cfg.mem, bigger.map_bits / 8);
	if (!bigger.map)
		return false;
	for (uint32_t tsn = q->cum + 1; q->map && !iw_seq32_before(q->high, tsn); tsn++)
		if (*word_of(q, tsn) & bit_of(tsn))
			*word_of(&bigger, tsn) |= bit_of(tsn);
	iw_mem_free(a->s->cfg.mem, q->map, q->map_bits / 8);
	*q = bigger;
	return true;
}

static void advance(struct inq *q)
{
	q->cum++;
	if (q->map)
		*word_of(q, q->cum) &= ~bit_of(q->cum);
}

static void record(struct inq *q, uint32_t tsn)
{
	if (tsn != q->cum + 1) {
		*word_of(q, tsn) |= bit_of(tsn);
		if (iw_seq32_before(q->high, tsn))
			q->high = tsn;
		return;
	}
	advance(q);
	while (q->high != q->cum && iw_seq32_before(q->cum, q->high) &&
	       *word_of(q, q->cum + 1) & bit_of(q->cum + 1))
		advance(q);
	if (iw_seq32_before(q->high, q->cum))
		q->high = q->cum;
}

/* --- the window ------------------------------------------------------------------------------- */

static uint32_t window_of(const struct iw_sctp_assoc *a)
{
	uint64_t used = (uint64_t)a->in.held + a->in.fragment_octets;
	uint32_t rwnd = a->s->cfg.rwnd;

	return used < rwnd ? rwnd - (uint32_t)used : 0;
}

/*
 * 6.2, RFC 1122 4.2.3.3: reports a window below a full packet as 0. Otherwise the peer would fill
 * it with small packets (silly window syndrome).
 */
uint32_t iw_sctp_shown_window(const struct iw_sctp_assoc *a)
{
	uint32_t window = window_of(a), least = IW_MIN(a->s->cfg.rwnd / 4, a->s->cfg.mtu);

	return window < least ? 0 : window;
}

/* 6.2: sends an update if a closed window opens, or has grown by a quarter. */
void iw_sctp_set_held(struct iw_sctp_assoc *a, uint32_t octets)
{
	uint32_t window;

	a->in.held = octets;
	if (!a->linked || a->peer_tag == 0 || a->state < IW_SCTP_ESTABLISHED)
		return;
	window = iw_sctp_shown_window(a);
	if (window > a->in.advertised &&
	    (window - a->in.advertised >= a->s->cfg.rwnd / 4 || a->in.advertised == 0) &&
	    a->state <= IW_SCTP_SHUTDOWN_SENT) {
		a->tx |= TX_SACK;
		iw_sctp_touch(a);
	}
}

/* --- DATA ------------------------------------------------------------------------------------- */

static void note_duplicate(struct iw_sctp_assoc *a, uint32_t tsn)
{
	struct inq *q = &a->in;

	a->count.duplicates++;
	if (q->ndups < DUPS_MAX)
		q->dups[q->ndups++] = tsn;
}

static void report_invalid_stream(struct iw_sctp_assoc *a, uint16_t stream)
{
	uint8_t info[4] = { 0 };

	iw_put_be16(info, stream);
	iw_sctp_assoc_error(a, IW_SCTP_CAUSE_STREAM, info, sizeof(info));
}

/* Ends the association and returns true if the DATA chunk is a violation. */
static bool is_violation(struct iw_sctp_assoc *a, const struct iw_sctp_chunk *c,
			 const struct iw_sctp_data *d)
{
	static const char ordered[] = "ordered DATA";
	uint8_t tsn[4];

	if (d->data == NULL) {
		iw_sctp_kill(a, IW_SCTP_CAUSE_PROTOCOL, NULL, 0, IW_E_FORMAT,
			     "sctp: DATA chunk of %u octets", (uint32_t)c->len);
		return true;
	}
	if (d->len == 0) {
		iw_put_be32(tsn, d->tsn);
		iw_sctp_kill(a, IW_SCTP_CAUSE_NO_DATA, tsn, sizeof(tsn), IW_E_FORMAT,
			     "sctp: DATA chunk without user data (RFC 9260 6.2)");
		return true;
	}
	if (!(c->flags & IW_SCTP_DATA_U)) {
		iw_sctp_kill(a, IW_SCTP_CAUSE_PROTOCOL, ordered, sizeof(ordered) - 1, IW_E_FORMAT,
			     "sctp: ordered DATA on stream %u (RFC 5043 10)", (uint32_t)d->stream);
		return true;
	}
	return false;
}

bool iw_sctp_on_data(struct iw_sctp_assoc *a, const struct iw_sctp_chunk *c,
		     struct iw_sctp_recv *out)
{
	const uint8_t one_chunk = IW_SCTP_DATA_B | IW_SCTP_DATA_E;
	struct inq *q = &a->in;
	struct iw_sctp_data d;
	bool message = true;

	(void)iw_wire_sctp_data_decode(&d, c->value, c->value_len);
	if (is_violation(a, c, &d))
		return false;
	q->data_seen = true;
	if (has(q, d.tsn)) {
		note_duplicate(a, d.tsn);
		return false;
	}
	/* The map or the window has no room: drops the chunk and sends a SACK at once (6.2). */
	if (!reach(a, d.tsn - q->cum) || (window_of(a) == 0 && iw_seq32_before(q->high, d.tsn))) {
		q->sack_now = true;
		return false;
	}
	*out = (struct iw_sctp_recv){
		.assoc = a, .stream = d.stream, .ppid = d.ppid, .data = d.data, .len = d.len
	};
	if (d.stream >= a->streams_in) {
		report_invalid_stream(a, d.stream);
		message = false;
	} else if ((c->flags & one_chunk) != one_chunk) {
		int got = iw_sctp_fragment(a, c, &d, out);

		if (got < 0) {
			q->sack_now = true;
			return false;
		}
		message = got > 0;
	}
	/*
	 * RFC 5681 4.2: a chunk that fills a gap is acknowledged at once, like one that opens it.
	 */
	if (q->high != q->cum)
		q->sack_now = q->urgent = true;
	record(q, d.tsn);
	q->new_seen = true;
	a->count.received++;
	if (c->flags & IW_SCTP_DATA_I || !q->any)
		q->sack_now = q->urgent = true;
	q->any = true;
	return message;
}

void iw_sctp_inq_packet_done(struct iw_sctp_assoc *a, uint64_t now)
{
	struct inq *q = &a->in;

	iw_mem_free(a->s->cfg.mem, q->whole, q->whole_len);
	q->whole = NULL;
	q->whole_len = 0;
	if (!q->data_seen)
		return;
	q->data_seen = false;
	q->packets++;
	if (a->state == IW_SCTP_SHUTDOWN_SENT) { /* 9.2 */
		a->tx |= TX_SHUTDOWN;
		a->tries = 0;
		a->setup_at = iw_time_add(now, a->setup_rto);
		if (q->high == q->cum && q->ndups == 0)
			return;
	}
	/*
	 * 6.4: the packet had only duplicates. Our SACKs may be lost on the path to their source,
	 * so every second SACK is sent to another address of the peer.
	 */
	if (!q->new_seen) {
		q->detour = !q->detour;
		if (q->detour)
			a->from = iw_sctp_turn_path(a, a->from);
	}
	if (!q->new_seen || q->high != q->cum || q->packets >= 2)
		q->sack_now = true;
	if (q->sack_now) {
		a->tx |= TX_SACK;
		q->sack_at = IW_TIME_NEVER;
	} else if (q->sack_at == IW_TIME_NEVER) {
		q->sack_at = iw_time_add(now, a->s->cfg.times.sack_delay);
	}
}
