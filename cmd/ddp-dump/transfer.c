// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The transfer protocol of ddp-send and ddp-recv (man/ddp-transfer.7): detects the streams that
 * carry it, and decodes its messages. A message in one segment is decoded in place. The segments of
 * a longer one are reassembled by their MO in any order, because over SCTP they may arrive in any
 * order.
 */
#include "ddp-dump/internal.h"

#include <string.h>

#include "cbor/cbor.h"
#include "transfer/protocol/hello.h"
#include "transfer/protocol/msg.h"

/* The library sends this before the Private Data of its caller, to offer long FPDUs. */
static const uint8_t block_magic[4] = { 'i', 'w', 'L', 0x01 };
#define BLOCK_OCTETS 8

#define CLAUSE_PRIVATE  "ddp-transfer(7) PRIVATE DATA"
#define CLAUSE_MESSAGES "ddp-transfer(7) MESSAGES"

/* --- Private Data --- */

static bool has_magic(const uint8_t *pd, size_t len)
{
	struct iw_cbor_in in = { .p = pd, .len = len };
	struct iw_cbor_rec rec;
	const uint8_t *magic;
	size_t n;

	return iw_cbor_rec_next(&rec, &in, "Private Data", NULL) > 0 &&
	       iw_cbor_get_string(&rec, 0, IW_CBOR_TEXT, 64, &magic, &n, NULL) == 0 &&
	       n == strlen(IW_XFER_MAGIC) && memcmp(magic, IW_XFER_MAGIC, n) == 0;
}

void iw_cap_transfer_drop(struct iw_cap *c, struct transfer *t)
{
	for (unsigned d = 0; d < 2; d++)
		for (unsigned i = 0; i < TRANSFER_PARTS; i++) {
			iw_mem_free(c->mem, t->part[d][i].room, sizeof(*t->part[d][i].room));
			c->message_rooms -= t->part[d][i].room != NULL;
		}
	*t = (struct transfer){ .on = false };
}

int iw_cap_transfer_hello(struct iw_cap *c, struct transfer *t, bool request, const uint8_t *pd,
			  size_t len, struct iw_cap_transfer *out, struct iw_fault *why)
{
	struct iw_hello hello;
	int err;

	if (len >= BLOCK_OCTETS && memcmp(pd, block_magic, sizeof(block_magic)) == 0) {
		pd += BLOCK_OCTETS;
		len -= BLOCK_OCTETS;
	}
	if (request)
		iw_cap_transfer_drop(c, t);
	if (!has_magic(pd, len)) {
		t->on = false;
		return 0;
	}
	out->kind = IW_CAP_TRANSFER_HELLO;
	out->p = pd;
	out->len = len;
	err = iw_hello_decode(&hello, pd, len, why);
	if (err < 0) {
		out->malformed = true;
		why->clause = CLAUSE_PRIVATE;
		return err;
	}
	t->on = hello.code == IW_XFER_CODE_OK;
	t->digest_len = (uint8_t)iw_xfer_digest_len(hello.digest);
	return 0;
}

/* --- messages --- */

static bool is_send(const struct iw_cap_ddp *e)
{
	const struct iw_ddp *h = &e->hdr;

	return e->has_header && !h->tagged && h->qn == IW_QN_SEND && h->opcode >= IW_OP_SEND &&
	       h->opcode <= IW_OP_SEND_SE_INV;
}

bool iw_cap_payload_wanted(const struct iw_cap *c, const struct transfer *t, const uint8_t *segment,
			   size_t have)
{
	uint8_t opcode;

	if (c->payload)
		return true;
	if (!t->on || have < 2 || segment[0] & 0x80)
		return false;
	opcode = segment[1] & 0xf;
	return opcode >= IW_OP_SEND && opcode <= IW_OP_SEND_SE_INV;
}

/* Decodes the entries under one of the keys that hold them. */
static int check_list(const struct iw_xfer_msg *m, unsigned key, struct iw_fault *why)
{
	struct iw_xfer_entry e;
	struct iw_xfer_entries l;
	int r = iw_xfer_entries_open(&l, m, key, why);

	while (r >= 0 && (r = iw_xfer_entries_next(&l, &e, why)) > 0)
		;
	return r;
}

bool iw_cap_transfer_has_entries(uint32_t type)
{
	return (type >= IW_XFER_MSG_FILES && type <= IW_XFER_MSG_RESULT) ||
	       type == IW_XFER_MSG_HAVE || type == IW_XFER_MSG_ATTRS;
}

static int check_message(const uint8_t *p, size_t len, struct iw_fault *why)
{
	struct iw_xfer_msg m;
	int err = iw_xfer_msg_decode(&m, p, len, why);

	if (err < 0)
		return err;
	if (m.type >= IW_XFER_MSG_COUNT && m.type < IW_XFER_MSG_OPTIONAL)
		return iw_fail(why, IW_E_FORMAT, "message type %u is not assigned", m.type);
	if (iw_cap_transfer_has_entries(m.type))
		err = check_list(&m, IW_XFER_KEY_LIST, why);
	if (err == 0 && m.type == IW_XFER_MSG_DONE)
		err = check_list(&m, IW_XFER_KEY_ENDS, why);
	return err;
}

/* A complete message. */
static int on_message(const struct transfer *t, struct iw_cap_transfer *out, const uint8_t *p,
		      size_t len, struct iw_fault *why)
{
	int err = 0;

	out->kind = IW_CAP_TRANSFER_MESSAGE;
	out->p = p;
	out->len = len;
	if (len < t->digest_len) {
		err = iw_fail(why, IW_E_TRUNC, "message of %u octets, expected at least %u",
			      (uint32_t)len, (uint32_t)t->digest_len + 1);
	} else {
		out->len = len - t->digest_len;
		out->digest_len = t->digest_len;
		err = check_message(p, out->len, why);
	}
	if (err < 0) {
		out->malformed = true;
		why->clause = CLAUSE_MESSAGES;
	}
	return err;
}

/* The first segment of a data message: its first octet is 0. */
static int on_data(struct iw_cap_transfer *out, const uint8_t *p, size_t len, struct iw_fault *why)
{
	int err = 0;

	out->kind = IW_CAP_TRANSFER_DATA;
	out->p = p;
	out->len = len;
	if (iw_xfer_data_decode(p, len, &out->file, &out->offset, &err) && err == 0)
		return 0;
	out->malformed = true;
	iw_fail(why, IW_E_FORMAT, "the header of a data message is malformed");
	why->clause = CLAUSE_MESSAGES;
	return IW_E_FORMAT;
}

/* --- messages of several segments --- */

static struct transfer_part *part_find(struct transfer *t, unsigned d, uint32_t msn)
{
	for (unsigned i = 0; i < TRANSFER_PARTS; i++)
		if (t->part[d][i].used && t->part[d][i].msn == msn)
			return &t->part[d][i];
	return NULL;
}

/* Stops the reassembly of a message: it is data, or too long, or octets are missing. */
static void part_give_up(struct iw_cap *c, struct transfer_part *p)
{
	c->message_rooms -= p->room != NULL;
	iw_mem_free(c->mem, p->room, sizeof(*p->room));
	p->room = NULL;
}

/* Returns a free entry, or that of the oldest message. */
static struct transfer_part *part_new(struct iw_cap *c, struct transfer *t, unsigned d,
				      uint32_t msn)
{
	struct transfer_part *p = &t->part[d][0];

	for (unsigned i = 1; i < TRANSFER_PARTS && p->used; i++)
		if (!t->part[d][i].used || iw_seq32_before(t->part[d][i].msn, p->msn))
			p = &t->part[d][i];
	part_give_up(c, p);
	*p = (struct transfer_part){ .used = true, .msn = msn };
	if (c->message_rooms < c->limits.messages)
		p->room = iw_mem_alloc(c->mem, sizeof(*p->room));
	c->message_rooms += p->room != NULL;
	return p;
}

/* Stores octets, and returns how many of them are new. */
static uint32_t fill(struct transfer_room *room, uint32_t at, const uint8_t *p, size_t len)
{
	uint32_t n = 0;

	memcpy(room->octets + at, p, len);
	for (size_t i = at; i < at + len; i++) {
		uint8_t bit = (uint8_t)(1u << i % 8);

		n += !(room->have[i / 8] & bit);
		room->have[i / 8] |= bit;
	}
	return n;
}

/* True: the message is complete, in c->message. */
static bool add_part(struct iw_cap *c, struct transfer_part *p, const struct iw_cap_ddp *e,
		     const uint8_t *payload, size_t have)
{
	const struct iw_ddp *h = &e->hdr;

	if (h->last)
		p->total = h->mo + (uint32_t)e->len;
	p->ended |= h->last;
	if (!p->room)
		return false;
	if (have < e->len || h->mo > IW_XFER_MSG_MAX || e->len > IW_XFER_MSG_MAX - h->mo) {
		part_give_up(c, p);
		return false;
	}
	p->got += fill(p->room, h->mo, payload, e->len);
	if (!p->ended || p->got != p->total)
		return false;
	c->message_rooms -= c->message != NULL;
	iw_mem_free(c->mem, c->message, sizeof(*c->message));
	c->message = p->room;
	p->room = NULL;
	return true;
}

int iw_cap_transfer_segment(struct iw_cap *c, struct transfer *t, unsigned d,
			    struct iw_cap_event *ev, const uint8_t *payload, size_t have,
			    struct iw_fault *why)
{
	struct iw_cap_ddp *e = &ev->ddp;
	struct transfer_part *p;
	bool data;

	if (!t->on || !is_send(e) || e->crc == IW_CAP_CRC_BAD)
		return 0;
	data = e->hdr.mo == 0 && have > 0 && payload[0] == 0;
	p = part_find(t, d, e->hdr.msn);
	if (!p && e->hdr.mo == 0 && e->hdr.last) {
		if (data)
			return on_data(&e->transfer, payload, have, why);
		return have < e->len ? 0 : on_message(t, &e->transfer, payload, have, why);
	}
	if (!p)
		p = part_new(c, t, d, e->hdr.msn);
	if (data) {
		part_give_up(c, p);
		return on_data(&e->transfer, payload, have, why);
	}
	if (!add_part(c, p, e, payload, have))
		return 0;
	p->used = false;
	return on_message(t, &e->transfer, c->message->octets, p->total, why);
}
