/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "labs/grader/xdp/frame.h"

#include <string.h>

#include "packet/repair.h"
#include "util/num.h"
#include "wire/crc32c.h"

enum {
	TYPE_IPV4 = 0x0800,
	TYPE_IPV6 = 0x86dd,
	TYPE_VLAN = 0x8100,
	TYPE_SERVICE = 0x88a8,
	PROTOCOL_UDP = 17,
	PROTOCOL_SCTP = 132,
	HOP_BY_HOP = 0,
	FRAGMENT = 44,
	DESTINATION = 60,
	ETHER_LEN = 14,
	UDP_LEN = 8,
	SCTP_LEN = 12,
	DATA_LEN = 16,
};

const char *const xdp_counter_names[XDP_COUNTERS + 1] = {
	[XDP_TAGGED] = "REDIRECTED_TAGGED",       [XDP_UNTAGGED] = "REDIRECTED_UNTAGGED",
	[XDP_PART] = "REDIRECTED_PART",           [XDP_MALFORMED] = "PASSED_MALFORMED",
	[XDP_NOT_IP] = "PASSED_NOT_IP",           [XDP_VLANS] = "PASSED_VLANS",
	[XDP_FRAGMENT] = "PASSED_FRAGMENT",       [XDP_EXTENSIONS] = "PASSED_EXTENSIONS",
	[XDP_NOT_SCTP] = "PASSED_NOT_SCTP",       [XDP_NO_DATA] = "PASSED_NO_DATA",
	[XDP_NOT_SEGMENT] = "PASSED_NOT_SEGMENT", [XDP_UNKNOWN] = "PASSED_UNKNOWN",
	[XDP_NO_SOCKET] = "PASSED_NO_SOCKET",     [XDP_NONE] = "no counter",
};

/* --- chunks ----------------------------------------------------------------------------------- */

void xdp_chunk(struct xdp_chunks *c, uint8_t type, uint8_t flags, const void *value, size_t len)
{
	uint8_t *at = c->at + c->len;
	size_t padded = (4 + len + 3) / 4 * 4;

	memset(at, 0, padded);
	at[0] = type;
	at[1] = flags;
	iw_put_be16(at + 2, (uint16_t)(4 + len));
	if (value && len)
		memcpy(at + 4, value, len);
	c->len += padded;
}

void xdp_data(struct xdp_chunks *c, uint8_t flags, uint16_t stream, uint32_t ppid, const void *user,
	      size_t len)
{
	uint8_t value[1500] = { 0 };

	iw_put_be32(value, 0x10000 + (uint32_t)c->len); /* TSN */
	iw_put_be16(value + 4, stream);
	iw_put_be32(value + 8, ppid);
	memcpy(value + 12, user, len);
	xdp_chunk(c, 0, flags, value, 12 + len);
}

/* --- frames ----------------------------------------------------------------------------------- */

static uint8_t *build_ethernet(uint8_t *at, const struct xdp_recipe *r)
{
	static const uint8_t addresses[12] = { 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 0 };

	memcpy(at, addresses, sizeof(addresses));
	iw_put_be16(at + 10, r->number);
	at += sizeof(addresses);
	for (unsigned i = 0; i < r->vlans; i++) {
		iw_put_be16(at, r->vlan[i].type);
		iw_put_be16(at + 2, r->vlan[i].control);
		at += 4;
	}
	iw_put_be16(at, r->type ? r->type : r->v6 ? TYPE_IPV6 : TYPE_IPV4);
	return at + 2;
}

static uint8_t protocol_of(const struct xdp_recipe *r)
{
	return r->protocol ? r->protocol : r->udp ? PROTOCOL_UDP : PROTOCOL_SCTP;
}

static uint8_t *build_ipv4(uint8_t *at, const struct xdp_recipe *r)
{
	size_t options = 4u * r->options;

	memset(at, 0, 20);
	at[0] = (uint8_t)(0x45 + r->options);
	iw_put_be16(at + 4, r->number);
	iw_put_be16(at + 6, r->fragment);
	at[8] = 64;
	at[9] = protocol_of(r);
	memcpy(at + 12, (uint8_t[]){ 10, 99, 0, 1, 10, 99, 0, 2 }, 8);
	if (options)
		memcpy(at + 20, r->noise, options);
	return at + 20 + options;
}

static uint8_t *build_ipv6(uint8_t *at, const struct xdp_recipe *r)
{
	uint8_t *next = at + 6;

	memset(at, 0, 40);
	at[0] = 0x60;
	at[7] = 64;
	at[8] = at[24] = 0xfd;
	at[23] = 1;
	at[39] = 2;
	at += 40;
	for (unsigned i = 0; i < r->extensions; i++) {
		bool fragment = r->extension[i].next == FRAGMENT;
		size_t len = fragment ? 8 : 8 * (1 + (size_t)r->extension[i].len);

		*next = r->extension[i].next;
		next = at;
		memcpy(at, r->noise, len);
		at[1] = r->extension[i].len;
		if (fragment)
			iw_put_be16(at + 2, r->extension[i].fragment);
		at += len;
	}
	*next = protocol_of(r);
	return at;
}

/* Sets the lengths and checksums of a frame whose IP packet ends at `end`. */
static void complete(struct xdp_frame *f, const struct xdp_recipe *r, size_t end)
{
	uint8_t *ip = f->at + f->ip, *payload = f->at + f->payload, *sctp = f->at + f->sctp;

	if (end >= f->ip + (r->v6 ? 40 : 20)) {
		iw_put_be16(ip + (r->v6 ? 4 : 2), (uint16_t)(end - f->ip - (r->v6 ? 40 : 0)));
		if (!r->v6) {
			iw_put_be16(ip + 10, 0);
			iw_put_be16(ip + 10, iw_packet_sum(ip, f->payload - f->ip));
		}
	}
	if (r->udp && end >= f->payload + UDP_LEN)
		iw_put_be16(payload + 4, (uint16_t)(end - f->payload));
	if (end >= f->sctp + SCTP_LEN) {
		memset(sctp + 8, 0, 4);
		iw_put_le32(sctp + 8, iw_crc32c(0, sctp, end - f->sctp));
	}
}

void xdp_build(struct xdp_frame *f, const struct xdp_recipe *r)
{
	uint8_t *at = build_ethernet(f->at, r);
	size_t end;

	f->ip = (size_t)(at - f->at);
	at = r->v6 ? build_ipv6(at, r) : build_ipv4(at, r);
	f->payload = (size_t)(at - f->at);
	if (r->udp) {
		iw_put_be16(at, r->udp_source ? r->udp_source : XDP_UDP_PORT);
		iw_put_be16(at + 2, r->udp_port ? r->udp_port : XDP_UDP_PORT);
		iw_put_be16(at + 6, 0);
		at += UDP_LEN;
	}
	f->sctp = (size_t)(at - f->at);
	iw_put_be16(at, 5001);
	iw_put_be16(at + 2, r->port);
	iw_put_be32(at + 4, r->tag);
	f->chunks = f->sctp + SCTP_LEN;
	memcpy(f->at + f->chunks, r->chunks->at, r->chunks->len);
	end = f->chunks + r->chunks->len;
	complete(f, r, end);
	if (r->trailer_len)
		memcpy(f->at + end, r->trailer, r->trailer_len);
	f->len = end + r->trailer_len;
}

void xdp_cut(struct xdp_frame *f, const struct xdp_recipe *r, size_t end)
{
	f->len = end;
	complete(f, r, end);
}

/* --- the model -------------------------------------------------------------------------------- */

/* The rest of a packet. */
struct rest {
	const uint8_t *at;
	size_t len;
};

static void skip(struct rest *r, size_t len)
{
	r->at += len;
	r->len -= len;
}

static bool is_tag(unsigned type)
{
	return type == TYPE_VLAN || type == TYPE_SERVICE;
}

/* XDP_NONE: continue with the next layer. */
static enum xdp_counter ethernet(struct rest *r, unsigned *type)
{
	if (r->len < ETHER_LEN)
		return XDP_MALFORMED;
	*type = iw_get_be16(r->at + 12);
	skip(r, ETHER_LEN);
	for (unsigned tags = 0; is_tag(*type); tags++) {
		if (tags == 2)
			return XDP_VLANS;
		if (r->len < 4)
			return XDP_MALFORMED;
		*type = iw_get_be16(r->at + 2);
		skip(r, 4);
	}
	return XDP_NONE;
}

static enum xdp_counter ipv4(struct rest *r, uint8_t *protocol)
{
	size_t header, total;

	if (r->len < 20 || r->at[0] >> 4 != 4)
		return XDP_MALFORMED;
	header = 4u * (r->at[0] & 15);
	total = iw_get_be16(r->at + 2);
	if (header < 20 || total < header || total > r->len)
		return XDP_MALFORMED;
	if (iw_get_be16(r->at + 6) & 0x3fff)
		return XDP_FRAGMENT;
	*protocol = r->at[9];
	r->len = total;
	skip(r, header);
	return XDP_NONE;
}

static enum xdp_counter extensions(struct rest *r, uint8_t *next)
{
	for (unsigned n = 0; *next == HOP_BY_HOP || *next == FRAGMENT || *next == DESTINATION;
	     n++) {
		size_t len;

		if (n == 4)
			return XDP_EXTENSIONS;
		if (r->len < 8)
			return XDP_MALFORMED;
		if (*next == FRAGMENT && iw_get_be16(r->at + 2) & 0xfff9)
			return XDP_FRAGMENT;
		len = *next == FRAGMENT ? 8 : 8u * (r->at[1] + 1u);
		if (len > r->len)
			return XDP_MALFORMED;
		*next = r->at[0];
		skip(r, len);
	}
	return XDP_NONE;
}

static enum xdp_counter ipv6(struct rest *r, uint8_t *protocol)
{
	size_t payload;

	if (r->len < 40 || r->at[0] >> 4 != 6)
		return XDP_MALFORMED;
	payload = iw_get_be16(r->at + 4);
	if (payload > r->len - 40)
		return XDP_MALFORMED;
	*protocol = r->at[6];
	skip(r, 40);
	r->len = payload;
	return extensions(r, protocol);
}

static enum xdp_counter udp(struct rest *r)
{
	size_t len;

	if (r->len < UDP_LEN)
		return XDP_MALFORMED;
	if (iw_get_be16(r->at + 2) != XDP_UDP_PORT)
		return XDP_NOT_SCTP;
	len = iw_get_be16(r->at + 4);
	if (len < UDP_LEN || len > r->len)
		return XDP_MALFORMED;
	r->len = len;
	skip(r, UDP_LEN);
	return XDP_NONE;
}

/* Reduces *r to the first DATA chunk, without padding. */
static enum xdp_counter data_chunk(struct rest *r)
{
	for (unsigned n = 0; n < 8 && r->len; n++) {
		size_t len;

		if (r->len < 4)
			return XDP_MALFORMED;
		len = iw_get_be16(r->at + 2);
		if (len < 4 || len > r->len)
			return XDP_MALFORMED;
		if (r->at[0] == 0) {
			r->len = len;
			return len < DATA_LEN ? XDP_MALFORMED : XDP_NONE;
		}
		len = (len + 3) / 4 * 4;
		skip(r, IW_MIN(len, r->len));
	}
	return XDP_NO_DATA;
}

static enum xdp_counter kind(const struct rest *data)
{
	if (!(data->at[1] & XDP_DATA_B) || data->len < DATA_LEN + 3)
		return XDP_PART;
	return data->at[DATA_LEN + 2] & 0x80 ? XDP_TAGGED : XDP_UNTAGGED;
}

static const struct xdp_stream *find(const struct xdp_tables *t, const uint8_t *sctp,
				     const uint8_t *data)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct xdp_stream *s = &t->streams[i];

		if (s->tag == iw_get_be32(sctp + 4) && s->port == iw_get_be16(sctp + 2) &&
		    s->stream == iw_get_be16(data + 8))
			return s;
	}
	return NULL;
}

static enum xdp_counter find_sctp(struct rest *r)
{
	uint8_t protocol = 0;
	unsigned type = 0;
	enum xdp_counter c = ethernet(r, &type);

	if (c != XDP_NONE)
		return c;
	if (type != TYPE_IPV4 && type != TYPE_IPV6)
		return XDP_NOT_IP;
	c = type == TYPE_IPV4 ? ipv4(r, &protocol) : ipv6(r, &protocol);
	if (c == XDP_NONE && protocol == PROTOCOL_UDP)
		c = udp(r);
	else if (c == XDP_NONE && protocol != PROTOCOL_SCTP)
		c = XDP_NOT_SCTP;
	if (c == XDP_NONE && r->len < SCTP_LEN)
		c = XDP_MALFORMED;
	return c;
}

struct xdp_verdict xdp_judge(const struct xdp_tables *t, const uint8_t *frame, size_t len,
			     uint32_t queue)
{
	struct xdp_verdict v = { XDP_NONE, UINT32_MAX };
	struct rest r = { frame, len };
	const struct xdp_stream *s;
	const uint8_t *sctp;

	v.counter = find_sctp(&r);
	if (v.counter != XDP_NONE)
		return v;
	sctp = r.at;
	skip(&r, SCTP_LEN);
	v.counter = data_chunk(&r);
	if (v.counter != XDP_NONE)
		return v;
	s = find(t, sctp, r.at);
	if (iw_get_be32(r.at + 12) != XDP_PPID_SEGMENT)
		v.counter = XDP_NOT_SEGMENT;
	else if (!s)
		v.counter = XDP_UNKNOWN;
	else if (s->slot >= XDP_SLOTS || queue >= XDP_QUEUES ||
		 !t->socket[queue * XDP_SLOTS + s->slot])
		v.counter = XDP_NO_SOCKET;
	else
		v = (struct xdp_verdict){ kind(&r), queue * XDP_SLOTS + s->slot };
	return v;
}
