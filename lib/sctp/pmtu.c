// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The path MTU (RFC 9260 7.3, RFC 8899). It begins with a size that nearly every path supports.
 * Probes raise it: HEARTBEATs padded to the probed size. The first probe has the carrier's largest
 * size, which usually passes; further ones halve the range between a size that passes and one that
 * fails. ICMP lowers the path MTU. So do two consecutive timeouts, and a chunk that is lost
 * repeatedly while others, perhaps in smaller packets, are acknowledged.
 *
 * If a probe of the first size fails, or timeouts continue (the error state of RFC 8899 5.2), the
 * path MTU falls to the minimum and is raised from there. IPv4 packets of the minimum size are sent
 * without DF: routers fragment those that are still too large.
 */
#include "sctp/internal.h"

#define TRIES       3  /* probes of one size before it counts as failed */
#define FINE        16 /* the search ends when the range is at most this many octets */
#define BLACK_HOLES 2  /* consecutive timeouts */
#define BLACK_SENDS 5  /* transmissions of one chunk while others are acknowledged */

uint32_t iw_sctp_overhead(const struct path *p)
{
	return iw_sctp_overhead_to(p->a->s, &p->addr);
}

uint32_t iw_sctp_payload(const struct path *p)
{
	return (p->pmtu - iw_sctp_overhead(p)) & ~3u;
}

/* Returns the size with which the search begins (BASE_PLPMTU of RFC 8899 5.1.2). */
static uint32_t base_of(const struct path *p)
{
	return IW_MIN(iw_sctp_addr_is_ipv4(&p->addr) ? IW_SCTP_MTU_BASE : IW_SCTP_MTU_MIN6,
		      p->a->s->cfg.mtu);
}

/* Returns the smallest path MTU of the address family that the search falls to. */
static uint32_t least_of(const struct path *p)
{
	return iw_sctp_addr_is_ipv4(&p->addr) ? IW_SCTP_MTU_MIN : base_of(p);
}

bool iw_sctp_pmtu_fragments(const struct path *p)
{
	return p->pmtu == IW_SCTP_MTU_MIN && iw_sctp_addr_is_ipv4(&p->addr);
}

uint32_t iw_sctp_proven_payload(const struct path *p)
{
	uint32_t mtu = p->pmtu_proven ? p->pmtu : IW_MIN(p->pmtu, least_of(p));

	return (mtu - iw_sctp_overhead(p)) & ~3u;
}

void iw_sctp_pmtu_init(struct path *p)
{
	p->pmtu = base_of(p);
	p->probe_fails = p->a->s->cfg.mtu + 1;
}

static void prove(struct path *p)
{
	p->pmtu_proven = true;
	iw_sctp_check_max(p->a);
}

static void set_pmtu(struct path *p, uint32_t mtu)
{
	p->pmtu = mtu;
	p->cc.pmdcs = iw_sctp_payload(p);
	if (iw_sctp_tracing(p->a))
		iw_sctp_trace_path(p);
	iw_sctp_check_max(p->a);
}

/* The largest packet of at most size octets: chunk lengths are multiples of four. */
static uint32_t whole(const struct path *p, uint32_t size)
{
	uint32_t overhead = iw_sctp_overhead(p);

	return overhead + ((size - overhead) & ~3u);
}

static void probe_next(struct path *p, uint32_t size, uint64_t now)
{
	p->probe_size = whole(p, size);
	p->probe_tries = 0;
	p->probe_due = true;
	p->probe_sent = 0;
	p->probe_at = iw_time_add(now, p->rto);
}

/*
 * Sends the next probe, of a size between pmtu and probe_fails. If that range is small enough, the
 * search pauses for pmtu_raise.
 */
static void search(struct path *p, uint64_t now)
{
	uint32_t most = p->a->s->cfg.mtu;

	if (!p->pmtu_proven && p->pmtu > least_of(p)) {
		probe_next(p, p->pmtu, now);
		return;
	}
	if (p->probe_fails > most && p->pmtu < whole(p, most)) { /* no size has failed */
		probe_next(p, most, now);
		return;
	}
	if (p->probe_fails - p->pmtu > FINE) {
		probe_next(p, p->pmtu + (p->probe_fails - p->pmtu) / 2, now);
		return;
	}
	p->probe_size = 0;
	p->probe_due = false;
	p->probe_at = iw_time_add(now, p->a->s->cfg.times.pmtu_raise);
}

void iw_sctp_pmtu_start(struct path *p, uint64_t now)
{
	uint32_t most = p->a->s->cfg.mtu;

	p->probe_fails = most + 1;
	if (p->pmtu < whole(p, most) || (!p->pmtu_proven && p->pmtu > least_of(p)))
		probe_next(p, most, now);
}

void iw_sctp_pmtu_answered(struct path *p, uint64_t now)
{
	uint32_t size = p->probe_size;

	iw_sctp_rtt(p, now - p->probe_sent);
	p->probe_size = 0;
	prove(p);
	if (size > p->pmtu && size < p->probe_fails)
		set_pmtu(p, size);
	search(p, now);
}

void iw_sctp_pmtu_retry(struct path *p, uint64_t now)
{
	if (p->probe_size == 0)
		return;
	p->probe_due = true;
	p->probe_at = iw_time_add(now, p->rto);
}

static void probe_failed(struct path *p, uint64_t now)
{
	bool more = p->probe_size > p->pmtu;

	/* A packet of the path MTU itself has not passed: the error state. */
	if (!more) {
		p->probe_fails = p->pmtu;
		set_pmtu(p, least_of(p));
		search(p, now);
		return;
	}
	p->probe_fails = p->probe_size;
	search(p, now);
}

/* The timers of RFC 8899 5.1.1. A probe that still waits to be sent has not timed out. */
IW_TRACES static void trace_timeout(const struct path *p, uint64_t now)
{
	if (p->probe_size == 0)
		iw_sctp_trace_timer(p->a, p->index, "pmtu_raise", p->a->s->cfg.times.pmtu_raise);
	else if (!p->probe_due && p->probe_sent)
		iw_sctp_trace_timer(p->a, p->index, "pmtu_probe", now - p->probe_sent);
}

void iw_sctp_pmtu_timeout(struct path *p, uint64_t now)
{
	if (iw_sctp_tracing(p->a))
		trace_timeout(p, now);
	if (p->probe_size == 0) { /* pmtu_raise has passed */
		p->probe_at = IW_TIME_NEVER;
		iw_sctp_pmtu_start(p, now);
		return;
	}
	/*
	 * A probe that waits to be sent, or was not made because random numbers failed, has not
	 * failed. After errors of the path, packets of every size are lost, so a lost probe proves
	 * nothing.
	 */
	if (p->probe_due || !p->probe_sent || p->errors > 0) {
		p->probe_due |= !p->probe_sent;
		p->probe_at = iw_time_add(now, p->rto);
		return;
	}
	/* The size in use must be proven before the larger size is probed again. */
	if (!p->pmtu_proven && p->probe_size > p->pmtu && p->pmtu > least_of(p)) {
		probe_next(p, p->pmtu, now);
		return;
	}
	if (++p->probe_tries < TRIES) {
		p->probe_due = true;
		p->probe_at = iw_time_add(now, p->rto);
		return;
	}
	probe_failed(p, now);
}

/*
 * Chunks in flight that exceed the new path MTU will not arrive: they are sent again, with IP
 * fragmentation. This is no sign of congestion.
 */
static void send_again(struct path *p)
{
	struct iw_sctp_assoc *a = p->a;
	struct outq *q = &a->out;

	for (uint64_t seq = q->una; seq < q->next; seq++) {
		const struct out_chunk *c = chunk_at(q, seq);

		if (STATE_OF(*state_at(q, seq)) != CHUNK_FLIGHT || c->path != p->index ||
		    chunk_octets(c->len) <= iw_sctp_payload(p))
			continue;
		if (iw_sctp_tracing(a))
			iw_sctp_trace_lost(a, seq, "mtu");
		iw_sctp_mark_lost(a, seq, NULL);
	}
}

void iw_sctp_pmtu_lower(struct path *p, uint32_t mtu, uint64_t now)
{
	if (mtu == 0)
		mtu = IW_SCTP_MTU_BASE; /* not reported: the size with which the search began */
	mtu = IW_MIN(IW_MAX(mtu, least_of(p)), p->a->s->cfg.mtu);
	if (p->probe_size > mtu) {
		p->probe_fails = IW_MIN(p->probe_fails, p->probe_size);
		p->probe_size = 0;
	}
	if (mtu < p->pmtu) {
		p->probe_fails = mtu + 1;
		set_pmtu(p, mtu);
		send_again(p);
	} else {
		p->probe_fails = IW_MIN(p->probe_fails, mtu + 1);
		/* The size that the router reports is probed at once. */
		if (p->probe_size == 0 && mtu > p->pmtu) {
			probe_next(p, mtu, now);
			return;
		}
	}
	if (p->probe_size == 0)
		search(p, now);
}

static void black_hole(struct path *p, uint64_t now)
{
	uint32_t old = p->pmtu, to = old > base_of(p) ? base_of(p) : least_of(p);

	if (old <= to)
		return;
	p->pmtu_proven = false;
	set_pmtu(p, to);
	/*
	 * All packets may have been lost for a while, whatever their size: probe the old size
	 * first.
	 */
	probe_next(p, old, now);
}

void iw_sctp_pmtu_timed_out(struct path *p, uint64_t now)
{
	if (p->errors >= BLACK_HOLES)
		black_hole(p, now);
}

void iw_sctp_pmtu_lost(struct path *p, unsigned sends, uint64_t now)
{
	if (sends >= BLACK_SENDS)
		black_hole(p, now);
}
