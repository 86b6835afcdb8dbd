/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lab 6, the trace: attack_reuse as RDMAP messages. */
#include <stdio.h>
#include <string.h>

#include "labs/grader/picture.h"
#include "labs/grader/security/internal.h"
#include "labs/grader/security/siege.h"
#include "wire/ddp.h"

enum {
	ANY = 2,          /* variant of the server, as scenario_start() */
	SINK_STAG = 0x51, /* of the attacker: where Read Responses go */
	ULPDU_CAP = IW_DDP_UNTAGGED_LEN + MEMORY,
};

struct drawing {
	struct lab_picture *picture;
	uint32_t msn[2][3]; /* next of each side and queue, less 1 */
};

/* An untagged message of one segment. invalidate: the Invalidate STag, or 0. */
static void draw_untagged(struct drawing *d, enum lab_side from, enum iw_opcode opcode,
			  uint32_t invalidate, const void *payload, size_t len)
{
	uint8_t ulpdu[256];
	struct iw_ddp h = {
		.last = true,
		.dv = 1,
		.rv = 1,
		.opcode = (uint8_t)opcode,
		.inval_stag = invalidate,
		.qn = iw_opcode_info((uint8_t)opcode)->qn,
	};
	int head;

	h.msn = ++d->msn[from][h.qn];
	head = iw_wire_ddp_encode(ulpdu, sizeof(ulpdu), &h);
	if (head < 0 || len > sizeof(ulpdu) - (size_t)head)
		return;
	memcpy(ulpdu + head, payload, len);
	lab_picture_ulpdu(d->picture, from, ulpdu, (size_t)head + len);
}

static void draw_tagged(struct drawing *d, enum lab_side from, enum iw_opcode opcode, uint32_t stag,
			uint64_t to, const void *payload, size_t len)
{
	static uint8_t ulpdu[ULPDU_CAP];
	struct iw_ddp h = {
		.tagged = true,
		.last = true,
		.dv = 1,
		.rv = 1,
		.opcode = (uint8_t)opcode,
		.stag = stag,
		.to = to,
	};
	int head = iw_wire_ddp_encode(ulpdu, sizeof(ulpdu), &h);

	if (head < 0 || len > sizeof(ulpdu) - (size_t)head)
		return;
	if (len)
		memcpy(ulpdu + head, payload, len);
	lab_picture_ulpdu(d->picture, from, ulpdu, (size_t)head + len);
}

static void draw_text(struct drawing *d, enum lab_side from, const char *text)
{
	draw_untagged(d, from, IW_OP_SEND, 0, text, strlen(text));
}

/* The Terminate Message for a refused access (RFC 5040 4.8), without the headers of the access. */
static void draw_terminate(struct drawing *d, int status)
{
	static const uint8_t codes[] = {
		[INVALID_STAG] = 0,   [BASE_OR_BOUNDS] = 1, [ACCESS_RIGHTS] = 2,
		[NOT_ASSOCIATED] = 3, [TO_WRAP] = 4,        [CANNOT_INVALIDATE] = 9,
	};
	struct iw_terminate term = { .layer = IW_LAYER_RDMAP, .etype = 1, .len_absent = true };
	uint8_t octets[IW_RDMAP_TERM_MAX];
	int len;

	if (status <= ALLOWED || status > CANNOT_INVALIDATE)
		return;
	term.code = codes[status];
	len = iw_terminate_encode(octets, sizeof(octets), &term);
	if (len > 0)
		draw_untagged(d, LAB_RESPONDER, IW_OP_TERM, 0, octets, (size_t)len);
}

static void draw_read(struct drawing *d, const struct request *q, const struct reply *r)
{
	uint8_t octets[IW_RDMAP_RREQ_LEN];
	struct iw_rreq rreq = {
		.sink_stag = SINK_STAG,
		.size = q->len,
		.src_stag = q->stag,
		.src_to = q->to,
	};

	if (iw_rreq_encode(octets, sizeof(octets), &rreq) < 0)
		return;
	draw_untagged(d, LAB_INITIATOR, IW_OP_RREQ, 0, octets, sizeof(octets));
	if (r->status == ALLOWED)
		draw_tagged(d, LAB_RESPONDER, IW_OP_RRESP, SINK_STAG, 0, r->data, r->len);
	else
		draw_terminate(d, r->status);
}

static void draw_request(void *ctx, const struct request *q, const struct reply *r)
{
	struct drawing *d = ctx;
	char text[64];

	/* The capture has one connection. */
	if (r->status == STREAM_ENDED || r->status == BUDGET_SPENT || r->status == SERVER_CRASHED)
		return;
	switch (q->kind) {
	case REQUEST_CONNECT:
		return;
	case REQUEST_READ:
		draw_read(d, q, r);
		return;
	case REQUEST_WRITE:
		draw_tagged(d, LAB_INITIATOR, IW_OP_WRITE, q->stag, q->to, q->data, q->len);
		draw_terminate(d, r->status);
		return;
	case REQUEST_REGISTER:
		draw_text(d, LAB_INITIATOR, "a buffer, please");
		snprintf(text, sizeof(text), "STag 0x%08x", r->lease.stag);
		draw_text(d, LAB_RESPONDER, r->status == ALLOWED ? text : "no buffer is free");
		return;
	case REQUEST_RELEASE:
		snprintf(text, sizeof(text), "STag 0x%08x is free", q->stag);
		draw_untagged(d, LAB_INITIATOR, IW_OP_SEND_INV, q->stag, text, strlen(text));
		return;
	case REQUEST_WAIT:
		draw_text(d, LAB_INITIATOR, "no hurry");
		draw_text(d, LAB_RESPONDER, "other clients were served");
		return;
	}
}

bool security_trace(struct lab_run *run, const char *path)
{
	struct drawing d = { .picture = lab_picture_new(run, path, true) };
	const struct watcher watcher = { .see = draw_request, .ctx = &d };
	struct siege s = { .run = run, .watcher = &watcher };
	bool ok;

	if (!d.picture)
		return false;
	lab_case(run, "against the server of the picture");
	ok = siege_run(&s, ATTACK_REUSE, ANY);
	return lab_picture_close(run, d.picture) && ok;
}
