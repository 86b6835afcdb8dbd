// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Describes units: kinds, opcodes, and the places of their headers. */
#include "ddp-impair/rules/unit.h"

#include <string.h>

#include "util/num.h"
#include "wire/atomic.h"
#include "wire/ddp.h"
#include "wire/mpa.h"

const char *iw_unit_kind_name(enum iw_unit_kind kind)
{
	static const char *const names[IW_UNIT_KINDS] = {
		[IW_UNIT_REQUEST] = "mpa-request", [IW_UNIT_REPLY] = "mpa-reply",
		[IW_UNIT_FPDU] = "fpdu",           [IW_UNIT_PACKET] = "packet",
		[IW_UNIT_CHUNK] = "chunk",         [IW_UNIT_OCTETS] = "octets",
	};

	return kind < IW_UNIT_KINDS ? names[kind] : "unknown";
}

const char *iw_unit_op_name(unsigned op)
{
	static const char *const names[IW_UNIT_OPS] = {
		[IW_OP_WRITE] = "write",
		[IW_OP_RREQ] = "read-request",
		[IW_OP_RRESP] = "read-response",
		[IW_OP_SEND] = "send",
		[IW_OP_SEND_INV] = "send-inv",
		[IW_OP_SEND_SE] = "send-se",
		[IW_OP_SEND_SE_INV] = "send-se-inv",
		[IW_OP_TERM] = "terminate",
		[IW_OP_IMM] = "immediate",
		[IW_OP_IMM_SE] = "immediate-se",
		[IW_OP_ATOMIC_REQ] = "atomic-request",
		[IW_OP_ATOMIC_RSP] = "atomic-response",
		[IW_UNIT_OP_OTHER] = "other",
		[IW_UNIT_OP_DATA] = "data",
		[IW_UNIT_OP_INIT] = "init",
		[IW_UNIT_OP_INIT_ACK] = "init-ack",
		[IW_UNIT_OP_SACK] = "sack",
		[IW_UNIT_OP_HEARTBEAT] = "heartbeat",
		[IW_UNIT_OP_HEARTBEAT_ACK] = "heartbeat-ack",
		[IW_UNIT_OP_ABORT] = "abort",
		[IW_UNIT_OP_SHUTDOWN] = "shutdown",
		[IW_UNIT_OP_SHUTDOWN_ACK] = "shutdown-ack",
		[IW_UNIT_OP_ERROR] = "error",
		[IW_UNIT_OP_COOKIE_ECHO] = "cookie-echo",
		[IW_UNIT_OP_COOKIE_ACK] = "cookie-ack",
		[IW_UNIT_OP_SHUTDOWN_COMPLETE] = "shutdown-complete",
		[IW_UNIT_OP_SESSION] = "session-initiate",
		[IW_UNIT_OP_SESSION + 1] = "session-accept",
		[IW_UNIT_OP_SESSION + 2] = "session-reject",
		[IW_UNIT_OP_SESSION + 3] = "session-terminate",
	};

	return op < IW_UNIT_OPS ? names[op] : "unknown";
}

const char *iw_unit_from_name(unsigned from)
{
	return from == IW_UNIT_INITIATOR ? "initiator" : "responder";
}

void iw_unit_add(struct iw_unit *u, const struct iw_layout *layout, size_t off)
{
	if (u->headers < IW_UNIT_HEADERS)
		u->header[u->headers++] = (struct iw_unit_header){ layout, (uint32_t)off };
}

/* The RDMAP header after the DDP header of an opcode; NULL: none. */
static const struct iw_layout *rdmap_layout(uint8_t opcode)
{
	switch (opcode) {
	case IW_OP_RREQ:
		return &iw_wire_layout_rreq;
	case IW_OP_TERM:
		return &iw_wire_layout_terminate;
	case IW_OP_IMM:
	case IW_OP_IMM_SE:
		return &iw_wire_layout_immediate;
	case IW_OP_ATOMIC_REQ:
		return &iw_wire_layout_atomic_req;
	case IW_OP_ATOMIC_RSP:
		return &iw_wire_layout_atomic_rsp;
	default:
		return NULL;
	}
}

size_t iw_unit_read_segment(struct iw_unit *u, size_t off, size_t seg_len)
{
	size_t avail = off < u->have ? IW_MIN(u->have - off, seg_len) : 0, n;
	const uint8_t *p = u->octets + off;
	const struct iw_layout *ddp, *rdmap;
	uint8_t opcode;

	if (avail < 2) {
		u->ops |= 1ull << IW_UNIT_OP_OTHER;
		return avail;
	}
	opcode = p[1] & 0xf;
	u->ops |= 1ull << (opcode <= IW_OP_ATOMIC_RSP ? opcode : (unsigned)IW_UNIT_OP_OTHER);
	ddp = p[0] & 0x80 ? &iw_wire_layout_ddp_tagged : &iw_wire_layout_ddp_untagged;
	if (avail < ddp->len)
		return avail;
	iw_unit_add(u, ddp, off);
	n = ddp->len;
	rdmap = rdmap_layout(opcode);
	if (rdmap && avail - n >= rdmap->len) {
		iw_unit_add(u, rdmap, off + n);
		n += rdmap->len;
	}
	return n;
}

void iw_unit_read_fpdu(struct iw_unit *u)
{
	size_t ulpdu = iw_get_be16(u->octets);

	u->kind = IW_UNIT_FPDU;
	u->ops = 0;
	u->headers = 0;
	u->len = iw_mpa_fpdu_len(ulpdu);
	u->trailer_len = u->len - IW_MPA_HEAD_LEN - ulpdu;
	iw_unit_add(u, &iw_wire_layout_mpa_fpdu, 0);
	u->header_len = IW_MPA_HEAD_LEN + iw_unit_read_segment(u, IW_MPA_HEAD_LEN, ulpdu);
	iw_unit_add(u, &iw_wire_layout_mpa_crc, u->len - IW_MPA_CRC_LEN);
}

void iw_unit_read_mpa(struct iw_unit *u, enum iw_unit_kind kind)
{
	size_t pd = iw_get_be16(u->octets + IW_MPA_FRAME_LEN - 2);

	u->kind = kind;
	u->ops = 0;
	u->headers = 0;
	u->len = IW_MPA_FRAME_LEN + pd;
	u->header_len = IW_MPA_FRAME_LEN;
	u->trailer_len = 0;
	iw_unit_add(u, &iw_wire_layout_mpa_frame, 0);
	if (!(u->octets[IW_MPA_KEY_LEN] & IW_MPA_S) || pd < IW_MPA_ENHANCED_LEN)
		return;
	iw_unit_add(u, &iw_wire_layout_mpa_enhanced, IW_MPA_FRAME_LEN);
	u->header_len += IW_MPA_ENHANCED_LEN;
}

const struct iw_field *iw_unit_field_place(const struct iw_unit *u, const struct iw_unit_field *f,
					   size_t *off)
{
	for (size_t i = 0; i < u->headers; i++) {
		for (size_t k = 0; k < f->places; k++) {
			const struct iw_field *field = f->place[k].field;
			size_t at = u->header[i].off;

			if (u->header[i].layout != f->place[k].layout ||
			    at + field->off + field->len > u->have)
				continue;
			*off = at;
			return field;
		}
	}
	return NULL;
}
