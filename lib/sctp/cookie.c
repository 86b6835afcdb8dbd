// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The state cookie (RFC 9260 5.1.3): the state of a future association, authenticated with a MAC,
 * so that an INIT allocates no memory. Fields are in network order. Only this endpoint reads them.
 */
#include "sctp/internal.h"

#include <string.h>

/* Write position in a cookie. Seal and open must process the same fields in the same order. */
struct octets {
	uint8_t *p;
};

static void put16(struct octets *o, uint16_t v)
{
	iw_put_be16(o->p, v);
	o->p += 2;
}

static void put32(struct octets *o, uint32_t v)
{
	iw_put_be32(o->p, v);
	o->p += 4;
}

/* Read position in a cookie. */
struct reader {
	const uint8_t *p;
};

static uint16_t get16(struct reader *r)
{
	r->p += 2;
	return iw_get_be16(r->p - 2);
}

static uint32_t get32(struct reader *r)
{
	r->p += 4;
	return iw_get_be32(r->p - 4);
}

#define ADDRS_POS (COOKIE_MAX - 16 * IW_SCTP_PATHS_MAX) /* where the addresses begin */
#define ADDR_LEN  16

int iw_sctp_cookie_keys_init(struct iw_sctp *s)
{
	struct cookie_keys *k = &s->keys;

	return s->cfg.random(s->cfg.random_ctx, k->key[0], SIP_KEY_LEN);
}

/*
 * RFC 9260 5.1.3: the key changes hourly. Cookies of the previous key are accepted for one more
 * hour.
 */
static int renew_key(struct iw_sctp *s, uint64_t now)
{
	struct cookie_keys *k = &s->keys;
	uint8_t fresh[SIP_KEY_LEN];
	int err;

	if (k->born == 0)
		k->born = now;
	if (now - k->born < COOKIE_KEY_LIFE)
		return 0;
	err = s->cfg.random(s->cfg.random_ctx, fresh, sizeof(fresh));
	if (err < 0)
		return err;
	k->current++;
	memcpy(k->key[k->current & 1], fresh, sizeof(fresh));
	k->previous = true;
	k->born = now;
	return 0;
}

int iw_sctp_cookie_seal(struct iw_sctp *s, uint8_t dst[static COOKIE_MAX], const struct cookie *c,
			uint64_t now)
{
	struct octets o = { dst + SIP_MAC_LEN + 1 };
	int err = renew_key(s, now);

	if (err < 0)
		return err;
	dst[SIP_MAC_LEN] = s->keys.current;
	put32(&o, (uint32_t)(c->made >> 32));
	put32(&o, (uint32_t)c->made);
	put32(&o, c->my_tag);
	put32(&o, c->peer_tag);
	put32(&o, c->my_tsn);
	put32(&o, c->peer_tsn);
	put32(&o, c->peer_rwnd);
	put32(&o, c->tie_local);
	put32(&o, c->tie_peer);
	put16(&o, c->my_port);
	put16(&o, c->peer_port);
	put16(&o, c->streams_out);
	put16(&o, c->streams_in);
	*o.p++ = (uint8_t)(c->peer_has_adaptation | c->peer_zero_checksum << 1);
	put32(&o, c->peer_adaptation);
	*o.p++ = (uint8_t)c->npeers;
	put32(&o, c->peer[0].scope);
	put16(&o, c->peer[0].udp_port);
	for (unsigned i = 0; i < c->npeers; i++, o.p += ADDR_LEN)
		memcpy(o.p, c->peer[i].ip, ADDR_LEN);
	iw_sctp_siphash(dst, s->keys.key[s->keys.current & 1], dst + SIP_MAC_LEN,
			(size_t)(o.p - dst) - SIP_MAC_LEN);
	return (int)(o.p - dst);
}

/* In constant time: the time must not reveal where the MACs differ. */
static bool same_mac(const uint8_t *a, const uint8_t *b)
{
	uint8_t differ = 0;

	for (int i = 0; i < SIP_MAC_LEN; i++)
		differ |= a[i] ^ b[i];
	return differ == 0;
}

bool iw_sctp_cookie_open(const struct iw_sctp *s, struct cookie *c, const uint8_t *src, size_t len)
{
	struct reader r = { src + SIP_MAC_LEN + 1 };
	uint8_t mac[SIP_MAC_LEN], key;

	if (len < ADDRS_POS + ADDR_LEN || len > COOKIE_MAX)
		return false;
	key = src[SIP_MAC_LEN];
	if (key != s->keys.current && !(s->keys.previous && key == (uint8_t)(s->keys.current - 1)))
		return false;
	iw_sctp_siphash(mac, s->keys.key[key & 1], src + SIP_MAC_LEN, len - SIP_MAC_LEN);
	if (!same_mac(mac, src))
		return false;
	/* The cookie is authentic: its fields need no checks. */
	*c = (struct cookie){ 0 };
	c->made = (uint64_t)get32(&r) << 32;
	c->made |= get32(&r);
	c->my_tag = get32(&r);
	c->peer_tag = get32(&r);
	c->my_tsn = get32(&r);
	c->peer_tsn = get32(&r);
	c->peer_rwnd = get32(&r);
	c->tie_local = get32(&r);
	c->tie_peer = get32(&r);
	c->my_port = get16(&r);
	c->peer_port = get16(&r);
	c->streams_out = get16(&r);
	c->streams_in = get16(&r);
	c->peer_has_adaptation = *r.p & 1;
	c->peer_zero_checksum = *r.p++ >> 1 & 1;
	c->peer_adaptation = get32(&r);
	c->npeers = *r.p++;
	c->peer[0].scope = get32(&r);
	c->peer[0].udp_port = get16(&r);
	for (unsigned i = 0; i < c->npeers; i++, r.p += ADDR_LEN) {
		memcpy(c->peer[i].ip, r.p, ADDR_LEN);
		c->peer[i].udp_port = c->peer[0].udp_port;
		if (iw_sctp_addr_has_scope(&c->peer[i]))
			c->peer[i].scope = c->peer[0].scope;
	}
	return true;
}
