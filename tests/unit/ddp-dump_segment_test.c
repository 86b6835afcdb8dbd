// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Rules of segments: opcodes, queues, versions, order, Read Requests and Terminates; deviations. */
#include "ddp-dump/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture_maker.h"

struct talk {
	struct maker m;
	uint64_t pos[2];
};

static void begin_rev(struct talk *t, uint8_t rev)
{
	maker_init(&t->m, NULL);
	handshake(&t->m);
	say_mpa(&t->m, 0, false, 0, rev, NULL, 0);
	say_mpa(&t->m, 1, true, 0, rev, NULL, 0);
	t->pos[0] = t->pos[1] = 0;
}

static void begin(struct talk *t)
{
	begin_rev(t, 1);
}

static void end(struct talk *t)
{
	maker_finish(&t->m);
	assert_true(maker_fini(&t->m));
}

static void say_ulpdu(struct talk *t, unsigned from, const uint8_t *ulpdu, size_t len)
{
	uint8_t fpdu[2000];
	size_t n = make_fpdu(fpdu, t->pos[from], false, false, ulpdu, len);

	say(&t->m, from, fpdu, n);
	t->pos[from] += n;
}

static void say_ddp(struct talk *t, unsigned from, const struct iw_ddp *h, const void *payload,
		    size_t len)
{
	uint8_t ulpdu[1500];
	int n = iw_wire_ddp_encode(ulpdu, sizeof(ulpdu), h);

	assert_true(n > 0);
	if (len)
		memcpy(ulpdu + n, payload, len);
	say_ulpdu(t, from, ulpdu, (size_t)n + len);
}

static const struct iw_cap_ddp *last_ddp(const struct talk *t)
{
	for (size_t i = t->m.n; i-- > 0;)
		if (t->m.told[i].ev.kind == IW_CAP_DDP)
			return &t->m.told[i].ev.ddp;
	return NULL;
}

static const struct told *last_told_ddp(const struct talk *t)
{
	for (size_t i = t->m.n; i-- > 0;)
		if (t->m.told[i].ev.kind == IW_CAP_DDP)
			return &t->m.told[i];
	return NULL;
}

static const uint8_t zeros[64];

/* --- headers --- */

struct row {
	uint8_t opcode;
	bool tagged;
	uint8_t qn;
	size_t payload;
};

/* RFC 5040 figure 4, RFC 7306 figure 2. */
static const struct row good[] = {
	{ IW_OP_WRITE, true, 0, 10 },       { IW_OP_RREQ, false, 1, 28 },
	{ IW_OP_RRESP, true, 0, 10 },       { IW_OP_SEND, false, 0, 10 },
	{ IW_OP_SEND_INV, false, 0, 10 },   { IW_OP_SEND_SE, false, 0, 10 },
	{ IW_OP_SEND_SE_INV, false, 0, 0 }, { IW_OP_IMM, false, 0, 8 },
	{ IW_OP_IMM_SE, false, 0, 8 },      { IW_OP_ATOMIC_REQ, false, 1, 52 },
	{ IW_OP_ATOMIC_RSP, false, 3, 12 }, { IW_OP_TERM, false, 2, 4 },
};

static void a_valid_segment_of_every_opcode_is_not_an_error(void **state)
{
	uint32_t msn[4] = { 1, 1, 1, 1 };
	struct talk t;

	(void)state;
	begin(&t);
	for (size_t i = 0; i < IW_ARRAY_LEN(good); i++) {
		struct iw_ddp h = { .tagged = good[i].tagged,
				    .last = true,
				    .dv = 1,
				    .rv = 1,
				    .opcode = good[i].opcode };

		if (!h.tagged) {
			h.qn = good[i].qn;
			h.msn = msn[h.qn]++;
		}
		say_ddp(&t, 0, &h, zeros, good[i].payload);
		assert_int_equal(last_ddp(&t)->hdr.opcode, good[i].opcode);
		assert_int_equal(last_ddp(&t)->len, good[i].payload);
	}
	assert_int_equal(count_kind(&t.m, IW_CAP_ERROR), 0);
	assert_int_equal(iw_cap_totals(t.m.cap)->segments, IW_ARRAY_LEN(good));
	end(&t);
}

/* Sends one segment in a new stream. Returns its error, or 0. */
static int error_of(const struct iw_ddp *h, size_t payload)
{
	struct talk t;
	int err = 0;

	begin(&t);
	say_ddp(&t, 0, h, zeros, payload);
	assert_int_equal(count_kind(&t.m, IW_CAP_DDP), 1);
	if (count_kind(&t.m, IW_CAP_ERROR)) {
		assert_int_equal(count_kind(&t.m, IW_CAP_ERROR), 1);
		err = nth(&t.m, IW_CAP_ERROR, 0)->ev.error.err;
		assert_true(nth(&t.m, IW_CAP_ERROR, 0)->ev.error.text[0] != '\0');
	}
	end(&t);
	return err;
}

static void headers_that_break_a_rule_are_errors(void **state)
{
	static const struct {
		struct iw_ddp h;
		size_t payload;
		int err;
	} rows[] = {
		{ { .dv = 2, .rv = 1, .opcode = 3, .msn = 1, .last = true },
		  0,
		  IW_E_DDP_VERSION_U },
		{ { .dv = 0, .rv = 1, .opcode = 3, .msn = 1, .last = true },
		  0,
		  IW_E_DDP_VERSION_U },
		{ { .tagged = true, .dv = 3, .rv = 1, .opcode = 0, .last = true },
		  0,
		  IW_E_DDP_VERSION_T },
		{ { .dv = 1, .rv = 2, .opcode = 3, .msn = 1, .last = true }, 0, IW_E_RO_VERSION },
		{ { .dv = 1, .rv = 0, .opcode = 3, .msn = 1, .last = true }, 0, IW_E_RO_VERSION },
		{ { .dv = 1, .rv = 1, .opcode = 12, .msn = 1, .last = true }, 0, IW_E_RO_OPCODE },
		{ { .dv = 1, .rv = 1, .opcode = 15, .msn = 1, .last = true }, 0, IW_E_RO_OPCODE },
		{ { .tagged = true, .dv = 1, .rv = 1, .opcode = 3, .last = true },
		  0,
		  IW_E_RO_OPCODE },
		{ { .dv = 1, .rv = 1, .opcode = 0, .msn = 1, .last = true }, 0, IW_E_RO_OPCODE },
		{ { .dv = 1, .rv = 1, .opcode = 3, .qn = 1, .msn = 1, .last = true },
		  0,
		  IW_E_DDP_QN },
		{ { .dv = 1, .rv = 1, .opcode = 3, .qn = 77, .msn = 1, .last = true },
		  0,
		  IW_E_DDP_QN },
		{ { .dv = 1, .rv = 1, .opcode = 1, .qn = 0, .msn = 1, .last = true },
		  28,
		  IW_E_DDP_QN },
		{ { .dv = 1, .rv = 1, .opcode = 1, .qn = 1, .msn = 1, .last = true },
		  27,
		  IW_E_FORMAT },
		{ { .dv = 1, .rv = 1, .opcode = 1, .qn = 1, .msn = 1, .last = true },
		  29,
		  IW_E_FORMAT },
		{ { .dv = 1, .rv = 1, .opcode = 7, .qn = 2, .msn = 1, .last = true },
		  3,
		  IW_E_FORMAT },
		{ { .dv = 1, .rv = 1, .opcode = 7, .qn = 2, .msn = 1, .last = true },
		  53,
		  IW_E_FORMAT },
		{ { .dv = 1, .rv = 1, .opcode = 8, .msn = 1, .last = true }, 9, IW_E_FORMAT },
		{ { .dv = 1, .rv = 1, .opcode = 3, .msn = 2, .last = true }, 0, IW_E_DDP_MSN },
		{ { .dv = 1, .rv = 1, .opcode = 3, .msn = 1, .mo = 4, .last = true },
		  0,
		  IW_E_DDP_MO },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++)
		assert_int_equal(error_of(&rows[i].h, rows[i].payload), rows[i].err);
}

static void a_segment_shorter_than_its_header_is_an_error(void **state)
{
	uint8_t ulpdu[18] = { 0x41, 0x43 };

	(void)state;
	for (size_t len = 0; len < 18; len++) {
		struct talk t;

		begin(&t);
		/* RFC 5041 4.2: a tagged header has 14 octets */
		ulpdu[0] = len < 14 ? 0xc1 : 0x41;
		say_ulpdu(&t, 0, ulpdu, len);
		if (len == 0) {
			/* Markers are not agreed, but four zeros look like one, because RFC 5044
			 * has no ULPDU of length 0. */
			assert_int_equal(count_kind(&t.m, IW_CAP_ERROR), 1);
			end(&t);
			continue;
		}
		assert_int_equal(count_kind(&t.m, IW_CAP_ERROR), 1);
		assert_int_equal(nth(&t.m, IW_CAP_ERROR, 0)->ev.error.err, IW_E_FORMAT);
		assert_false(last_ddp(&t)->has_header);
		assert_int_equal(iw_cap_totals(t.m.cap)->headless, 1);
		end(&t);
	}
}

/* RFC 5044 appendix C: version 0 belongs to Rev 0. */
static void version_zero_is_right_for_rdmac_peers_only(void **state)
{
	struct iw_ddp h = { .opcode = 3, .msn = 1, .last = true };
	struct talk t;

	(void)state;
	begin_rev(&t, 0);
	say_ddp(&t, 0, &h, NULL, 0);
	/* siw answers with Rev 0, and its segments have version 1 */
	h.dv = h.rv = 1;
	h.msn = 2;
	say_ddp(&t, 0, &h, NULL, 0);
	assert_int_equal(count_kind(&t.m, IW_CAP_ERROR), 0);
	h.dv = 2;
	h.msn = 3;
	say_ddp(&t, 0, &h, NULL, 0);
	assert_int_equal(count_kind(&t.m, IW_CAP_ERROR), 1);
	end(&t);
}

static void reserved_bits_are_a_deviation(void **state)
{
	struct iw_ddp h = { .dv = 1, .rv = 1, .opcode = 3, .msn = 1, .last = true, .rsvd_ddp = 5 };
	struct talk t;

	(void)state;
	begin(&t);
	say_ddp(&t, 0, &h, NULL, 0);
	assert_int_equal(last_told_ddp(&t)->ev.deviations, IW_CAP_DEV_RESERVED);
	h.rsvd_ddp = 0;
	h.rsvd_rdmap = 2;
	h.msn = 2;
	say_ddp(&t, 0, &h, NULL, 0);
	assert_int_equal(last_told_ddp(&t)->ev.deviations, IW_CAP_DEV_RESERVED);
	assert_int_equal(count_kind(&t.m, IW_CAP_ERROR), 0);
	end(&t);
}

/* --- order --- */

static void messages_of_several_segments_and_wrapping_msns_are_in_order(void **state)
{
	struct iw_ddp h = { .dv = 1, .rv = 1, .opcode = 3, .msn = 1 };
	struct talk t;

	(void)state;
	begin(&t);
	for (int i = 0; i < 4; i++) {
		h.mo = (uint32_t)i * 50;
		h.last = i == 3;
		say_ddp(&t, 0, &h, zeros, 50);
	}
	h.msn = 2;
	h.mo = 0;
	say_ddp(&t, 0, &h, zeros, 50);
	assert_int_equal(count_kind(&t.m, IW_CAP_ERROR), 0);
	/* each direction and each queue has its own numbers */
	h = (struct iw_ddp){ .dv = 1, .rv = 1, .opcode = 1, .qn = 1, .msn = 1, .last = true };
	say_ddp(&t, 0, &h, zeros, 28);
	say_ddp(&t, 1, &h, zeros, 28);
	assert_int_equal(count_kind(&t.m, IW_CAP_ERROR), 0);
	/* one error for each jump: then the order continues from the new number */
	h.msn = 0xffffffff;
	say_ddp(&t, 0, &h, zeros, 28);
	assert_int_equal(count_kind(&t.m, IW_CAP_ERROR), 1);
	h.msn = 0;
	say_ddp(&t, 0, &h, zeros, 28);
	assert_int_equal(count_kind(&t.m, IW_CAP_ERROR), 1);
	end(&t);
}

/* RFC 5040 5.4 */
static void segment_after_a_terminate_is_an_error(void **state)
{
	struct iw_ddp h = { .dv = 1, .rv = 1, .opcode = 7, .qn = 2, .msn = 1, .last = true };
	struct talk t;

	(void)state;
	begin(&t);
	say_ddp(&t, 0, &h, zeros, 4);
	assert_int_equal(iw_cap_totals(t.m.cap)->terminates, 1);
	assert_int_equal(count_kind(&t.m, IW_CAP_ERROR), 0);
	h = (struct iw_ddp){ .dv = 1, .rv = 1, .opcode = 3, .msn = 1, .last = true };
	say_ddp(&t, 0, &h, zeros, 4);
	assert_int_equal(nth(&t.m, IW_CAP_ERROR, 0)->ev.error.err, IW_E_STATE);
	/* the other direction may continue */
	say_ddp(&t, 1, &h, zeros, 4);
	assert_int_equal(count_kind(&t.m, IW_CAP_ERROR), 1);
	end(&t);
}

/* --- messages with RDMAP headers --- */

static void a_read_request_is_decoded(void **state)
{
	const struct iw_rreq want = { .sink_stag = 0x01020304,
				      .sink_to = 0x1122334455667788,
				      .size = 70000,
				      .src_stag = 5,
				      .src_to = 6 };
	struct iw_ddp h = { .dv = 1, .rv = 1, .opcode = 1, .qn = 1, .msn = 1, .last = true };
	uint8_t payload[28];
	struct talk t;

	(void)state;
	assert_int_equal(iw_rreq_encode(payload, sizeof(payload), &want), 28);
	begin(&t);
	say_ddp(&t, 0, &h, payload, sizeof(payload));
	assert_non_null(last_ddp(&t)->rreq);
	assert_int_equal(last_told_ddp(&t)->rreq.sink_stag, want.sink_stag);
	assert_int_equal(last_told_ddp(&t)->rreq.sink_to, want.sink_to);
	assert_int_equal(last_told_ddp(&t)->rreq.size, want.size);
	assert_int_equal(last_told_ddp(&t)->rreq.src_stag, want.src_stag);
	assert_int_equal(last_told_ddp(&t)->rreq.src_to, want.src_to);
	end(&t);
}

static void say_terminate(struct talk *t, const void *payload, size_t len)
{
	struct iw_ddp h = { .dv = 1, .rv = 1, .opcode = 7, .qn = 2, .msn = 1, .last = true };

	begin(t);
	say_ddp(t, 1, &h, payload, len);
	assert_non_null(last_ddp(t)->term);
}

static void a_terminate_in_the_order_of_rfc_5040_is_read_in_that_order(void **state)
{
	const struct iw_terminate want = { .layer = 1,
					   .etype = 1,
					   .code = 1,
					   .m = true,
					   .d = true,
					   .ddp_len = 22,
					   .ddp_hdr_len = 14,
					   .ddp = { 0xc1, 0x40 } };
	uint8_t payload[52];
	struct talk t;
	int n = iw_terminate_encode(payload, sizeof(payload), &want);

	(void)state;
	assert_true(n > 0);
	say_terminate(&t, payload, (size_t)n);
	assert_null(last_ddp(&t)->term_exchanged);
	assert_int_equal(
		last_told_ddp(&t)->ev.deviations & (IW_CAP_DEV_TERM_BITS | IW_CAP_DEV_TERM_LEN), 0);
	assert_int_equal(last_told_ddp(&t)->term.code, 1);
	assert_int_equal(last_told_ddp(&t)->term.ddp_len, 22);
	end(&t);
}

/* Linux siw on a little-endian machine: octets of traces/term-badread, term-norecv and
 * term-oobwrite. */
static void a_terminate_with_exchanged_bits_is_reported_in_both_readings(void **state)
{
	static const struct {
		uint8_t control[4];
		size_t len;
		uint8_t layer, etype, code;
		bool r;
	} rows[] = {
		{ { 0x10, 0x00, 0x07, 0x00 }, 52, 0, 1, 0x00, true },  /* an invalid Read */
		{ { 0x21, 0x02, 0x03, 0x00 }, 24, 1, 2, 0x02, false }, /* no posted receive */
		{ { 0x11, 0x01, 0x03, 0x00 },
		  20,
		  1,
		  1,
		  0x01,
		  false }, /* a Write out of bounds: layer and type are equal */
		{ { 0x00, 0xff, 0x03, 0x00 }, 20, 0, 0, 0xff, false }, /* a local error */
		{ { 0x02, 0x02, 0x00, 0x00 },
		  4,
		  2,
		  0,
		  0x02,
		  false }, /* a CRC error: the RFC's reading has no such code */
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		uint8_t payload[52] = { 0 };
		const struct iw_terminate *e;
		struct talk t;

		memcpy(payload, rows[i].control, 4);
		payload[6] = rows[i].len == 20 ? 0xc1 : 0x41;
		say_terminate(&t, payload, rows[i].len);
		assert_true(last_told_ddp(&t)->ev.deviations & IW_CAP_DEV_TERM_BITS);
		assert_non_null(last_ddp(&t)->term_exchanged);
		e = &last_told_ddp(&t)->term_exchanged;
		assert_int_equal(e->layer, rows[i].layer);
		assert_int_equal(e->etype, rows[i].etype);
		assert_int_equal(e->code, rows[i].code);
		assert_int_equal(e->m, rows[i].len > 4);
		assert_int_equal(e->r, rows[i].r);
		/* the RFC's reading is reported too */
		assert_int_equal(last_told_ddp(&t)->term.layer, rows[i].control[0] >> 4);
		assert_int_equal(count_kind(&t.m, IW_CAP_ERROR), 0);
		end(&t);
	}
}

/* If both readings are valid, the RFC's applies. */
static void an_ambiguous_terminate_is_read_in_the_order_of_the_rfc(void **state)
{
	static const uint8_t both[][4] = {
		{ 0x20, 0x07, 0x00,
		  0x00 }, /* LLP, no matching RTR; or RDMAP, catastrophic error of the stream */
		{ 0x11, 0x00, 0x00, 0x00 }, /* layer 1, type 1 in both orders */
		{ 0x00, 0xff, 0x00, 0x00 }, /* a local catastrophic error: the code is not used */
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(both); i++) {
		struct talk t;

		say_terminate(&t, both[i], 4);
		assert_null(last_ddp(&t)->term_exchanged);
		assert_int_equal(last_told_ddp(&t)->ev.deviations & IW_CAP_DEV_TERM_BITS, 0);
		end(&t);
	}
}

static void a_terminate_invalid_in_both_orders_is_not_reordered(void **state)
{
	static const uint8_t neither[4] = { 0x99, 0x77, 0x1f, 0x01 };
	struct talk t;

	(void)state;
	say_terminate(&t, neither, 4);
	assert_null(last_ddp(&t)->term_exchanged);
	end(&t);
}

static void a_length_without_the_header_is_a_deviation(void **state)
{
	const struct iw_terminate siw = { .layer = 1,
					  .etype = 1,
					  .code = 1,
					  .m = true,
					  .d = true,
					  .ddp_len = 8,
					  .ddp_hdr_len = 14,
					  .ddp = { 0xc1, 0x40 } };
	uint8_t payload[52];
	struct talk t;
	int n = iw_terminate_encode(payload, sizeof(payload), &siw);

	(void)state;
	say_terminate(&t, payload, (size_t)n);
	assert_true(last_told_ddp(&t)->ev.deviations & IW_CAP_DEV_TERM_LEN);
	end(&t);
}

/* --- RFC 7306 --- */

static void say_atomic(struct talk *t, uint32_t msn, const struct iw_atomic_req *r)
{
	uint8_t p[IW_RDMAP_ATOMIC_REQ_LEN];

	assert_int_equal(iw_atomic_req_encode(p, sizeof(p), r), sizeof(p));
	say_ddp(t, 0,
		&(struct iw_ddp){ .last = true,
				  .dv = 1,
				  .rv = 1,
				  .opcode = IW_OP_ATOMIC_REQ,
				  .qn = IW_QN_RREQ,
				  .msn = msn },
		p, sizeof(p));
}

/* RFC 7306 5.2.1: AOpCode 1 is reserved, 3 and above are not assigned. */
static void an_atomic_of_no_operation_is_an_error(void **state)
{
	struct talk t;

	(void)state;
	begin(&t);
	for (uint8_t op = 0; op < 16; op++) {
		size_t before = count_kind(&t.m, IW_CAP_ERROR);
		bool assigned = op == IW_ATOMIC_FETCH_ADD || op == IW_ATOMIC_CMP_SWAP;

		say_atomic(&t, op + 1u, &(struct iw_atomic_req){ .op = op, .stag = 7 });
		assert_int_equal(last_told_ddp(&t)->atomic_req.op, op);
		assert_int_equal(count_kind(&t.m, IW_CAP_ERROR) - before, assigned ? 0 : 1);
	}
	assert_string_equal(nth(&t.m, IW_CAP_ERROR, 0)->ev.error.clause, "RFC 7306 5.2.1");
	/* reserved bits are reported */
	assert_int_equal(last_told_ddp(&t)->ev.deviations, 0);
	say_atomic(&t, 17, &(struct iw_atomic_req){ .rsvd = 1 });
	assert_int_equal(last_told_ddp(&t)->ev.deviations, IW_CAP_DEV_RESERVED);
	end(&t);
}

/* RFC 7306 6.3: exactly 8 octets. */
static void immediate_data_are_eight_octets(void **state)
{
	struct talk t;

	(void)state;
	begin(&t);
	for (size_t len = 7; len < 10; len++) {
		struct iw_ddp h = { .last = true,
				    .dv = 1,
				    .rv = 1,
				    .opcode = IW_OP_IMM,
				    .msn = (uint32_t)len - 6 };

		say_ddp(&t, 0, &h, "123456789", len);
		assert_int_equal(last_ddp(&t)->imm != NULL, len >= 8);
	}
	assert_int_equal(count_kind(&t.m, IW_CAP_ERROR), 2);
	assert_string_equal(nth(&t.m, IW_CAP_ERROR, 0)->ev.error.clause, "RFC 7306 6.3");
	end(&t);
}

static void a_send_with_invalidate_of_no_stag_is_a_deviation(void **state)
{
	struct iw_ddp h = { .last = true, .dv = 1, .rv = 1, .opcode = IW_OP_SEND_INV, .msn = 1 };
	struct talk t;

	(void)state;
	begin(&t);
	say_ddp(&t, 0, &h, NULL, 0);
	assert_int_equal(last_told_ddp(&t)->ev.deviations, IW_CAP_DEV_INVALIDATE);
	h.msn++;
	h.inval_stag = 1;
	say_ddp(&t, 0, &h, NULL, 0);
	assert_int_equal(last_told_ddp(&t)->ev.deviations, 0);
	end(&t);
}

static void a_terminate_without_the_headers_it_announces_is_reported(void **state)
{
	static const uint8_t control[][6] = { { 0x11, 0, 0xc0, 0, 0, 22 },
					      { 0x11, 0, 0x80, 0, 0, 22 } };
	struct talk t;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		begin(&t);
		say_ddp(&t, 0,
			&(struct iw_ddp){ .last = true,
					  .dv = 1,
					  .rv = 1,
					  .opcode = IW_OP_TERM,
					  .qn = IW_QN_TERM,
					  .msn = 1 },
			control[i], 6);
		assert_int_equal(last_told_ddp(&t)->ev.deviations & IW_CAP_DEV_TERM_HDRS,
				 i ? 0 : IW_CAP_DEV_TERM_HDRS);
		end(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_valid_segment_of_every_opcode_is_not_an_error),
		cmocka_unit_test(headers_that_break_a_rule_are_errors),
		cmocka_unit_test(a_segment_shorter_than_its_header_is_an_error),
		cmocka_unit_test(version_zero_is_right_for_rdmac_peers_only),
		cmocka_unit_test(reserved_bits_are_a_deviation),
		cmocka_unit_test(messages_of_several_segments_and_wrapping_msns_are_in_order),
		cmocka_unit_test(segment_after_a_terminate_is_an_error),
		cmocka_unit_test(a_read_request_is_decoded),
		cmocka_unit_test(a_terminate_in_the_order_of_rfc_5040_is_read_in_that_order),
		cmocka_unit_test(a_terminate_with_exchanged_bits_is_reported_in_both_readings),
		cmocka_unit_test(an_ambiguous_terminate_is_read_in_the_order_of_the_rfc),
		cmocka_unit_test(a_terminate_invalid_in_both_orders_is_not_reordered),
		cmocka_unit_test(a_length_without_the_header_is_a_deviation),
		cmocka_unit_test(an_atomic_of_no_operation_is_an_error),
		cmocka_unit_test(immediate_data_are_eight_octets),
		cmocka_unit_test(a_send_with_invalidate_of_no_stag_is_a_deviation),
		cmocka_unit_test(a_terminate_without_the_headers_it_announces_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
