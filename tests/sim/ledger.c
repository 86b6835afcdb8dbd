// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sim/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "wire/sctp.h"

void ledger_init(struct ledger *l)
{
	memset(l, 0, sizeof(*l));
	l->rto_min = IW_SEC(1);
	l->hb_interval = IW_SEC(30);
	l->fast = 6; /* Path.Max.Retrans + 1 */
}

static struct ledger_entry *entry_of(struct ledger *l, const struct iw_sctp_addr *addr)
{
	uint32_t hash = 2166136261u;

	for (unsigned i = 0; i < 16; i++)
		hash = (hash ^ addr->ip[i]) * 16777619u;
	for (unsigned i = 0; i < LEDGER_SIZE; i++) {
		struct ledger_entry *e = &l->entry[(hash + i) % LEDGER_SIZE];

		if (e->used && memcmp(e->ip, addr->ip, 16) != 0)
			continue;
		e->used = true;
		memcpy(e->ip, addr->ip, 16);
		return e;
	}
	abort(); /* a scenario uses more addresses than the ledger has entries */
}

uint64_t ledger_octets(const struct iw_sctp_addr *peer, size_t len)
{
	return len + (iw_sctp_addr_is_ipv4(peer) ? 20 : 40) + (peer->udp_port ? 8 : 0);
}

static bool has_chunk(const uint8_t *data, size_t len, unsigned types)
{
	struct iw_sctp_chunk c;
	int n;

	for (size_t at = IW_SCTP_HDR_LEN;
	     (n = iw_wire_sctp_chunk_decode(&c, data + at, len - at)) > 0; at += (size_t)n)
		if (c.type < 32 && types & 1u << c.type)
			return true;
	return false;
}

bool ledger_is_link_local(const struct iw_sctp_addr *a)
{
	if (iw_sctp_addr_is_ipv4(a))
		return a->ip[12] == 169 && a->ip[13] == 254;
	return a->ip[0] == 0xfe && (a->ip[1] & 0xc0) == 0x80;
}

void ledger_came(struct ledger *l, const struct ledger_packet *p)
{
	struct ledger_entry *e = entry_of(l, p->peer);
	struct ledger_sum *sum = p->owned ? &e->owner : &e->forged;

	sum->came += ledger_octets(p->peer, p->len);
	if (p->owned &&
	    (p->unlimited ||
	     has_chunk(p->data, p->len, 1u << IW_SCTP_COOKIE_ECHO | 1u << IW_SCTP_HEARTBEAT_ACK)))
		sum->confirmed = true;
}

static bool is_heartbeat(const struct ledger_packet *p)
{
	struct iw_sctp_chunk c;
	size_t room = p->len - IW_SCTP_HDR_LEN;

	return iw_wire_sctp_chunk_decode(&c, p->data + IW_SCTP_HDR_LEN, room) == (int)room &&
	       c.type == IW_SCTP_HEARTBEAT;
}

static bool is_out_of_scope(const struct ledger *l, const struct iw_sctp_addr *a)
{
	static const uint8_t zero[15];

	if (ledger_is_link_local(a))
		return !l->link_local;
	if (iw_sctp_addr_is_ipv4(a))
		return a->ip[12] == 0 || a->ip[12] == 127 || a->ip[12] >= 224;
	return a->ip[0] == 0xff || (memcmp(a->ip, zero, 15) == 0 && a->ip[15] <= 1);
}

static struct ledger_beats *beats_of(struct ledger *l, const uint8_t *ip, uint32_t tag)
{
	struct ledger_beats *b;

	for (unsigned i = 0; i < l->nbeats; i++) {
		b = &l->beats[i];
		if (b->tag == tag && memcmp(b->ip, ip, 16) == 0)
			return b;
	}
	if (l->nbeats == LEDGER_BEATS)
		abort();
	b = &l->beats[l->nbeats++];
	memcpy(b->ip, ip, 16);
	b->tag = tag;
	return b;
}

void ledger_begin(struct ledger *l, uint32_t tag)
{
	for (unsigned i = 0; i < l->nbeats; i++)
		if (l->beats[i].tag == tag)
			l->beats[i].count = 0;
}

static const char *heartbeat_sent(struct ledger *l, const struct ledger_packet *p)
{
	static const uint8_t all[16];
	uint32_t tag = iw_get_be32(p->data + 4);
	struct ledger_beats *one = beats_of(l, p->peer->ip, tag), *any = beats_of(l, all, tag);
	uint64_t pause = one->count < l->fast ? l->rto_min : l->hb_interval;

	l->heartbeats++;
	if (p->len > HEARTBEAT_LEN)
		return "a padded HEARTBEAT";
	/* HB.Max.Burst 1 (RFC 9260 5.4, 16). */
	if (any->count++ > 0 && p->now - any->last < l->rto_min)
		return "two HEARTBEATs of one association to unconfirmed addresses within an RTO";
	if (one->count++ > 0 && p->now - one->last < pause)
		return one->count <= l->fast ? "two HEARTBEATs within an RTO"
					     : "two HEARTBEATs within HB.interval, after fast ones";
	one->last = any->last = p->now;
	return NULL;
}

/* ABORT and SHUTDOWN COMPLETE with the tag of the packet that they answer (RFC 9260 8.4). */
static bool is_reflected(const struct ledger_packet *p)
{
	uint8_t type = p->data[IW_SCTP_HDR_LEN];

	return (type == IW_SCTP_ABORT || type == IW_SCTP_SHUTDOWN_COMPLETE) &&
	       p->data[IW_SCTP_HDR_LEN + 1] & IW_SCTP_T;
}

const char *ledger_sent(struct ledger *l, const struct ledger_packet *p)
{
	struct ledger_entry *e = entry_of(l, p->peer);
	struct ledger_sum *sum = p->owned ? &e->owner : &e->forged;

	if (is_out_of_scope(l, p->peer))
		return "out of scope";
	/* The origin of the answered packet is unknown. The answer is charged to the forged packets
	 * as long as these allow it. */
	if (is_reflected(p) && e->forged.sent + ledger_octets(p->peer, p->len) > 3 * e->forged.came)
		sum = &e->owner;
	if (sum->confirmed || p->unlimited)
		return NULL;
	if (is_heartbeat(p))
		return heartbeat_sent(l, p);
	l->answers++;
	sum->sent += ledger_octets(p->peer, p->len);
	return sum->sent <= 3 * sum->came ? NULL : "more than three times the octets that came";
}

bool ledger_confirmed(struct ledger *l, const struct iw_sctp_addr *addr)
{
	return entry_of(l, addr)->owner.confirmed;
}
