// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Units of an SCTP packet. */
#include "ddp-impair/packets/chunk.h"

#include <string.h>

#include "util/num.h"
#include "wire/sctp.h"
#include "wire/sctpddp.h"

/* The bit of a chunk type in the set ops; IW_UNIT_OP_OTHER: no RFC that this library implements. */
static unsigned op_of(uint8_t type)
{
	static const uint8_t op[] = {
		[IW_SCTP_DATA] = IW_UNIT_OP_DATA,
		[IW_SCTP_INIT] = IW_UNIT_OP_INIT,
		[IW_SCTP_INIT_ACK] = IW_UNIT_OP_INIT_ACK,
		[IW_SCTP_SACK] = IW_UNIT_OP_SACK,
		[IW_SCTP_HEARTBEAT] = IW_UNIT_OP_HEARTBEAT,
		[IW_SCTP_HEARTBEAT_ACK] = IW_UNIT_OP_HEARTBEAT_ACK,
		[IW_SCTP_ABORT] = IW_UNIT_OP_ABORT,
		[IW_SCTP_SHUTDOWN] = IW_UNIT_OP_SHUTDOWN,
		[IW_SCTP_SHUTDOWN_ACK] = IW_UNIT_OP_SHUTDOWN_ACK,
		[IW_SCTP_ERROR] = IW_UNIT_OP_ERROR,
		[IW_SCTP_COOKIE_ECHO] = IW_UNIT_OP_COOKIE_ECHO,
		[IW_SCTP_COOKIE_ACK] = IW_UNIT_OP_COOKIE_ACK,
		[IW_SCTP_SHUTDOWN_COMPLETE] = IW_UNIT_OP_SHUTDOWN_COMPLETE,
	};

	/* 0 is the bit of an RDMAP opcode, so it marks the gaps of the table. */
	return type < IW_ARRAY_LEN(op) && op[type] ? op[type] : IW_UNIT_OP_OTHER;
}

/* RFC 6581 7: an enhanced message has the function of the one three before it in the table. */
static unsigned session_op(uint16_t fn)
{
	if (fn >= IW_SCTP_FN_ENH_INITIATE && fn <= IW_SCTP_FN_ENH_REJECT)
		fn -= IW_SCTP_FN_ENH_INITIATE - IW_SCTP_FN_INITIATE;
	return fn >= IW_SCTP_FN_INITIATE && fn <= IW_SCTP_FN_TERMINATE
		       ? IW_UNIT_OP_SESSION + fn - IW_SCTP_FN_INITIATE
		       : IW_UNIT_OP_OTHER;
}

/* The user data of a first fragment: a segment, or a message of Session Control (RFC 5043 5.2). */
static void read_user_data(struct iw_unit *u, const struct iw_sctp_data *data)
{
	size_t at = IW_SCTP_DATA_HDR_LEN;

	if (data->ppid == IW_SCTP_PPID_SEGMENT && data->len > IW_SCTP_SSN_LEN) {
		iw_unit_add(u, &iw_wire_layout_ddp_ssn, at);
		u->header_len += IW_SCTP_SSN_LEN;
		u->header_len +=
			iw_unit_read_segment(u, at + IW_SCTP_SSN_LEN, data->len - IW_SCTP_SSN_LEN);
	} else if (data->ppid == IW_SCTP_PPID_CONTROL && data->len >= IW_SCTP_CONTROL_LEN) {
		iw_unit_add(u, &iw_wire_layout_session, at);
		u->header_len += IW_SCTP_CONTROL_LEN;
		u->ops |= UINT64_C(1) << session_op(iw_get_be16(data->data + IW_SCTP_SSN_LEN));
	}
}

static void read_chunk(struct iw_unit *u, const struct iw_sctp_chunk *c, size_t len)
{
	struct iw_sctp_data data;
	struct iw_sctp_init init;
	struct iw_sctp_sack sack;

	u->ops = UINT64_C(1) << op_of(c->type);
	u->header_len = IW_SCTP_CHUNK_HDR_LEN;
	u->trailer_len = len - IW_SCTP_CHUNK_HDR_LEN - c->value_len; /* padding */
	if (c->type == IW_SCTP_DATA &&
	    iw_wire_sctp_data_decode(&data, c->value, c->value_len) > 0) {
		u->stream = data.stream;
		u->header_len = IW_SCTP_DATA_HDR_LEN;
		iw_unit_add(u, &iw_wire_layout_sctp_data, 0);
		if (c->flags & IW_SCTP_DATA_B)
			read_user_data(u, &data);
	} else if ((c->type == IW_SCTP_INIT || c->type == IW_SCTP_INIT_ACK) &&
		   iw_wire_sctp_init_decode(&init, c->value, c->value_len) > 0) {
		u->header_len = IW_SCTP_CHUNK_HDR_LEN + IW_SCTP_INIT_LEN;
		iw_unit_add(u, &iw_wire_layout_sctp_init, 0);
	} else if (c->type == IW_SCTP_SACK &&
		   iw_wire_sctp_sack_decode(&sack, c->value, c->value_len) > 0) {
		u->header_len = IW_SCTP_CHUNK_HDR_LEN + IW_SCTP_SACK_LEN;
		iw_unit_add(u, &iw_wire_layout_sctp_sack, 0);
	}
	iw_unit_add(u, &iw_wire_layout_sctp_chunk, 0);
}

static void begin(struct iw_unit *u, enum iw_unit_kind kind, unsigned from, const uint8_t *octets,
		  size_t len)
{
	memset(u, 0, sizeof(*u));
	u->kind = kind;
	u->from = (uint8_t)from;
	u->octets = octets;
	u->have = u->len = len;
	u->wire_len = (uint32_t)len;
}

size_t iw_chunks_read(struct iw_unit out[static IW_CHUNKS_MAX + 1], unsigned from,
		      const uint8_t *octets, size_t len)
{
	struct iw_sctp_chunk c;
	size_t n = 1, at = IW_SCTP_HDR_LEN;
	int step;

	if (len < IW_SCTP_HDR_LEN + IW_SCTP_CHUNK_HDR_LEN || len > UINT16_MAX)
		return 0;
	begin(&out[0], IW_UNIT_PACKET, from, octets, len);
	out[0].sealed = true;
	out[0].header_len = IW_SCTP_HDR_LEN;
	iw_unit_add(&out[0], &iw_wire_layout_sctp, 0);
	for (; at < len; at += (size_t)step) {
		step = iw_wire_sctp_chunk_decode(&c, octets + at, len - at);
		if (step <= 0)
			return 0;
		if (n > IW_CHUNKS_MAX)
			continue;
		begin(&out[n], IW_UNIT_CHUNK, from, octets + at, (size_t)step);
		read_chunk(&out[n], &c, (size_t)step);
		out[0].ops |= out[n++].ops;
	}
	return n;
}
