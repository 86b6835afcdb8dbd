// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Received packets: from the carrier to the engine, and the messages in them to the caller. */
#include "llp/sctp_engine.h"

#include "os/os.h"
#include "util/num.h"

#define FETCH_MAX 2048 /* octets of a packet that are prefetched */

/*
 * For more_input: how long it waits for a batch, and between two outputs in all; the time between
 * two attempts, which would delay the sender's processor; after how many packets a SACK is sent at
 * the latest (four full runs of a GSO sender); the most batches without a wait after unsuccessful
 * ones.
 */
#define MORE_NS      20000u
#define MORE_ALL_NS  200000u
#define MORE_STEP_NS 1500u
#define MORE_PACKETS 180
#define NO_WAIT_MAX  256u

void iw_port_take_errors(struct user_port *u, uint64_t now)
{
	struct iw_pkt_error e;

	while (u->pkt->ops->next_error(u->pkt, &e)) {
		struct iw_sctp_addr peer;

		iw_port_to_engine(&peer, &e.peer, u->pkt->udp_port != 0);
		switch (e.kind) {
		case IW_PKT_TOO_BIG:
			iw_sctp_too_big(u->sctp, &peer, e.head, e.len, e.mtu, now);
			break;
		case IW_PKT_NO_PROTOCOL:
			iw_sctp_unreachable(u->sctp, &peer, e.head, e.len, now);
			break;
		/* Ignored (RFC 9260 10, ICMP9): the error counters detect a failed path. */
		case IW_PKT_UNREACHABLE:
		case IW_PKT_ERROR_OTHER:
			break;
		}
	}
}

/*
 * Begins to process the n runs of packets that the carrier has read into rx. n negative: the
 * carrier has failed. Returns what input returns.
 */
static int begin_batch(struct user_port *u, int n, uint64_t now)
{
	now = advance(u, now);
	u->nrx = IW_MAX(n, 0);
	u->irx = 0;
	u->at = 0;
	u->port.recvs = u->pkt->recvs;
	if (n == 0)
		iw_port_take_errors(u, now);
	return IW_MIN(n, 1);
}

int iw_port_user_input(struct iw_port *p, uint64_t now, struct iw_fault *why)
{
	struct user_port *u = port_of(p);

	return begin_batch(u, u->pkt->ops->recv(u->pkt, u->rx, why), now);
}

int iw_port_user_input_wait(struct iw_port *p, uint64_t *now, struct iw_fault *why)
{
	struct user_port *u = port_of(p);
	int n = u->pkt->ops->recv_wait(u->pkt, u->rx, why);

	*now = iw_os_now();
	return begin_batch(u, n, *now);
}

bool iw_port_user_peek(struct iw_port *p, uint64_t now)
{
	struct iw_pkt *c = port_of(p)->pkt;

	return c->ops->peek(c, now);
}

void iw_port_user_rest(struct iw_port *p, bool on)
{
	struct iw_pkt *c = port_of(p)->pkt;

	c->ops->rest(c, on);
}

/*
 * Prefetches the packet after the next one, because another processor has written the octets of the
 * ring. For a long packet the hardware prefetcher loads the rest. Must be inlined: gcc removes a
 * call of a function that only prefetches, as one without effect.
 */
__attribute__((always_inline)) static inline void expect_packets(const struct user_port *u)
{
	if (!u->pkt->ops->peek)
		return;
	for (int i = u->irx == 0 ? 1 : u->irx + 2; i <= u->irx + 2 && i < u->nrx; i++) {
		const struct iw_pkt_rx *r = &u->rx[i];

		for (size_t at = 0; at < IW_MIN(r->len, (size_t)FETCH_MAX); at += 64)
			__builtin_prefetch(r->data + at);
	}
}

/* Returns the time at least ns from now. */
static uint64_t spin(uint64_t ns)
{
	uint64_t now = iw_os_now(), until = now + ns;

	while (now < until)
		now = iw_os_now();
	return now;
}

/*
 * After a batch of bulk data: reads the next one before the SACK for this one is sent. At high rates
 * it arrives within microseconds. Each SACK costs a system call at both ends, and if this end slept
 * meanwhile, waking it would cost the sender even more. Waits only while that succeeds: after an
 * unsuccessful wait the next batches do without, up to NO_WAIT_MAX of them. Returns true if there is
 * a batch.
 */
static bool more_input(struct user_port *u)
{
	uint64_t now = iw_os_now(), until = now + MORE_NS;
	struct iw_fault why;
	int n;

	if (u->nrx == 0)
		return false;
	u->nrx = u->irx = 0;
	if (u->packets < 2 || u->packets >= MORE_PACKETS || !iw_sctp_sack_can_wait(u->sctp))
		return false;
	if (u->no_wait > 0) {
		u->no_wait--;
		return false;
	}
	if (u->more_until == 0)
		u->more_until = now + MORE_ALL_NS;
	if (now >= u->more_until)
		return false;
	until = IW_MIN(until, u->more_until);
	do {
		n = u->pkt->ops->recv(u->pkt, u->rx, &why);
		now = spin(n == 0 ? MORE_STEP_NS : 0);
	} while (n == 0 && now < until);
	u->now = now;
	u->port.recvs = u->pkt->recvs;
	if (n > 0) {
		u->no_wait_next = 0;
		u->nrx = n;
		u->at = 0;
		return true;
	}
	/* A failure is reported by the next receive. */
	u->no_wait_next = IW_MIN(2 * u->no_wait_next + 1, NO_WAIT_MAX);
	u->no_wait = u->no_wait_next;
	return false;
}

/* Passes the next packet of the batch to the engine. False: the batch is finished. */
static bool next_packet(struct user_port *u)
{
	struct iw_sctp_packet *p = &u->in;
	struct iw_pkt_rx *r;

	while (u->irx < u->nrx && u->at >= u->rx[u->irx].len) {
		u->irx++;
		u->at = 0;
	}
	if (u->irx == u->nrx && !more_input(u))
		return false;
	r = &u->rx[u->irx];
	if (u->at == 0) {
		iw_port_to_engine(&p->peer, &r->peer, u->pkt->udp_port != 0);
		iw_port_to_engine(&p->local, &r->local, false);
	}
	p->data = r->data + u->at;
	p->len = IW_MIN(r->seg, r->len - u->at);
	u->at += p->len;
	u->lendable = r->lendable;
	u->packets++;
	expect_packets(u);
	iw_sctp_input(u->sctp, p, u->now);
	return true;
}

/* True if data is in the packet itself, false if the engine has reassembled it from fragments. */
static bool is_in_packet(const struct iw_sctp_packet *p, const uint8_t *data)
{
	return data >= p->data && data < p->data + p->len;
}

/* Fills *out. False: the caller has not taken UP of the association yet. */
static bool fill_msg(const struct user_port *u, const struct iw_sctp_recv *m,
		     struct iw_port_msg *out)
{
	struct user_assoc *x = iw_sctp_user(m->assoc);

	if (!x || !x->assoc.user)
		return false;
	*out = (struct iw_port_msg){
		.assoc = &x->assoc,
		.stream = m->stream,
		.ppid = m->ppid,
		.data = m->data,
		.len = m->len,
		.lendable = u->lendable && is_in_packet(&u->in, m->data),
	};
	return true;
}

bool iw_port_user_next_msg(struct iw_port *p, struct iw_port_msg *out)
{
	struct user_port *u = port_of(p);

	if (iw_unlikely(u->stashed)) {
		u->stashed = false;
		/*
		 * The caller has taken UP by now. If it has not set assoc.user, it does not want
		 * the association, and the message is dropped.
		 */
		if (fill_msg(u, &u->stash, out))
			return true;
	}
	for (;;) {
		while (u->in_packet && iw_sctp_next(u->sctp, &u->stash)) {
			if (iw_likely(fill_msg(u, &u->stash, out)))
				return true;
			u->stashed = true;
			return false;
		}
		u->in_packet = next_packet(u);
		if (!u->in_packet)
			return false;
	}
}

struct iw_lender *iw_port_user_lend(struct iw_port *p, const uint8_t *data)
{
	struct iw_pkt *c = port_of(p)->pkt;

	return c->ops->lend(c, data);
}

void iw_port_user_held(struct iw_assoc *a, size_t octets)
{
	if (assoc_of(a)->a)
		iw_sctp_set_held(assoc_of(a)->a, (uint32_t)IW_MIN(octets, (size_t)UINT32_MAX));
}
