// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Look-up of associations by Verification Tag, and of paths by address. */
#include "sctp/internal.h"

#include <string.h>

static uint64_t addr_hash(const struct iw_sctp *s, const struct iw_sctp_addr *addr, uint16_t port)
{
	uint8_t key[20], mac[SIP_MAC_LEN];

	memcpy(key, addr->ip, 16);
	iw_put_be16(key + 16, addr->udp_port);
	iw_put_be16(key + 18, port);
	iw_sctp_siphash(mac, s->hash_key, key, sizeof(key));
	return iw_get_be64(mac);
}

struct iw_sctp_assoc *iw_sctp_by_tag(const struct iw_sctp *s, uint32_t tag)
{
	struct link *l = iw_sctp_table_find(&s->tags, tag);

	return l ? iw_container_of(l, struct iw_sctp_assoc, by_tag) : NULL;
}

struct path *iw_sctp_by_addr(const struct iw_sctp *s, const struct iw_sctp_addr *addr,
			     uint16_t port)
{
	struct link *l = iw_sctp_table_find(&s->addrs, addr_hash(s, addr, port));

	for (; l; l = iw_sctp_table_next(l)) {
		struct path *p = iw_container_of(l, struct path, by_addr);

		if (p->a->peer_port == port && p->addr.udp_port == addr->udp_port &&
		    memcmp(p->addr.ip, addr->ip, 16) == 0)
			return p;
	}
	return NULL;
}

struct path *iw_sctp_path_of(const struct iw_sctp_assoc *a, const struct iw_sctp_addr *addr)
{
	for (unsigned i = 0; i < a->npaths; i++) {
		struct path *p = &a->paths[i];

		if (memcmp(p->addr.ip, addr->ip, 16) != 0)
			continue;
		/* Another UDP port is another DTLS session, of another peer (RFC 8261 6.1). */
		if (a->s->cfg.dtls_overhead > 0 && p->addr.udp_port != addr->udp_port)
			continue;
		return p;
	}
	return NULL;
}

/*
 * The address table has confirmed paths only. Otherwise many associations could list the same
 * unverified address, and each look-up of that address would walk a long chain.
 */
static bool is_in_table(const struct path *p)
{
	return p->a->linked && p->confirmed;
}

static void add_to_table(struct path *p)
{
	if (is_in_table(p))
		iw_sctp_table_add(&p->a->s->addrs, &p->by_addr,
				  addr_hash(p->a->s, &p->addr, p->a->peer_port));
}

static void remove_from_table(struct path *p)
{
	if (is_in_table(p))
		iw_sctp_table_del(&p->a->s->addrs, &p->by_addr);
}

void iw_sctp_set_confirmed(struct path *p)
{
	if (p->confirmed)
		return;
	p->confirmed = true;
	add_to_table(p);
}

void iw_sctp_set_udp_port(struct path *p, uint16_t udp_port)
{
	if (p->addr.udp_port == udp_port)
		return;
	remove_from_table(p);
	p->addr.udp_port = udp_port;
	add_to_table(p);
}

void iw_sctp_unlist_paths(struct iw_sctp_assoc *a)
{
	for (unsigned i = 0; i < a->npaths; i++)
		remove_from_table(&a->paths[i]);
}

void iw_sctp_link_in(struct iw_sctp_assoc *a)
{
	struct iw_sctp *s = a->s;

	a->linked = true;
	s->count++;
	iw_sctp_table_add(&s->tags, &a->by_tag, a->my_tag);
	for (unsigned i = 0; i < a->npaths; i++)
		add_to_table(&a->paths[i]);
}

void iw_sctp_link_out(struct iw_sctp_assoc *a)
{
	struct iw_sctp *s = a->s;

	if (!a->linked)
		return;
	iw_sctp_unlist_paths(a);
	a->linked = false;
	s->count--;
	iw_sctp_table_del(&s->tags, &a->by_tag);
	iw_heap_del(&s->timers, &a->timer);
	iw_list_del(&a->ready);
	if (s->cur.a == a) {
		s->cur.a = NULL;
		s->cur.open = false;
	}
}
