// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Negotiation in Request and Reply: lib/mpa/negotiate.c. */
#include "mpa/mpa.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "mpa_end.h"
#include "vectors/mpa.h"

/* Decodes a frame of one end. */
struct seen {
	struct octets octets;
	struct iw_mpa_frame f;
	struct iw_mpa_enhanced e;
};

static void see(struct seen *s, struct mpa_end *from)
{
	*s = (struct seen){ 0 };
	mpa_end_drain(from, &s->octets);
	assert_int_equal(iw_wire_mpa_frame_decode(&s->f, s->octets.p, s->octets.len),
			 s->octets.len);
	if (s->f.flags & IW_MPA_S)
		assert_int_equal(iw_wire_mpa_enhanced_decode(&s->e, s->f.pd, s->f.pd_len),
				 IW_MPA_ENHANCED_LEN);
}

/* Passes a frame made by hand to an end. */
static void give(struct mpa_end *to, enum iw_mpa_kind kind, uint8_t rev, uint8_t flags,
		 const struct iw_mpa_enhanced *e)
{
	uint8_t pd[IW_MPA_ENHANCED_LEN], octets[IW_MPA_FRAME_LEN + IW_MPA_ENHANCED_LEN];
	struct iw_mpa_frame f = { .kind = kind, .rev = rev, .flags = flags, .pd = pd };

	if (e) {
		f.flags |= IW_MPA_S;
		f.pd_len = (uint16_t)iw_wire_mpa_enhanced_encode(pd, sizeof(pd), e);
	}
	mpa_end_feed(to, octets, (size_t)iw_wire_mpa_frame_encode(octets, sizeof(octets), &f),
		     SIZE_MAX);
}

static void give_request(struct mpa_end *to, struct iw_mpa_enhanced e)
{
	give(to, IW_MPA_REQUEST, 2, IW_MPA_C, &e);
}

static void give_reply(struct mpa_end *to, struct iw_mpa_enhanced e)
{
	give(to, IW_MPA_REPLY, 2, IW_MPA_C, &e);
}

/* --- frames ----------------------------------------------------------------------------------- */

/* MPA-31, MPA-17, ENH-01, ENH-03, ENH-13 */
static void request_is_the_vector(void **state)
{
	struct iw_mpa_cfg cfg = mpa_cfg(true, 2);
	struct mpa_end e;
	struct octets out = { 0 };

	(void)state;
	cfg.offer.peer_to_peer = true;
	cfg.offer.rtr = IW_RTR_READ;
	cfg.offer.ird = 32;
	cfg.offer.ord = 1;
	mpa_end_open(&e, cfg);
	mpa_end_drain(&e, &out);
	assert_int_equal(out.len, sizeof(request_enhanced));
	assert_memory_equal(out.p, request_enhanced, out.len);
	octets_free(&out);
	mpa_end_close(&e);
}

/* MPA-31, ENH-05, ENH-08, ENH-14 */
static void reply_is_the_vector(void **state)
{
	struct iw_mpa_cfg cfg = mpa_cfg(false, 2);
	struct mpa_end e;
	struct octets out = { 0 };

	(void)state;
	cfg.offer.ird = 1;
	cfg.offer.ord = 64;
	mpa_end_open(&e, cfg);
	mpa_end_feed(&e, request_enhanced, sizeof(request_enhanced), SIZE_MAX);
	mpa_end_drain(&e, &out);
	assert_int_equal(out.len, sizeof(reply_enhanced));
	assert_memory_equal(out.p, reply_enhanced, out.len);
	octets_free(&out);
	mpa_end_close(&e);
}

/* MPA-35: reserved bits are sent as zero and ignored. */
static void reserved_bits_are_not_checked(void **state)
{
	struct iw_mpa_cfg cfg = mpa_cfg(true, 1);
	struct mpa_end e;
	struct seen s;

	(void)state;
	mpa_end_open(&e, mpa_cfg(false, 1));
	give(&e, IW_MPA_REQUEST, 1, IW_MPA_C | IW_MPA_R | IW_MPA_RES, NULL);
	assert_int_equal(iw_mpa_state(e.m), IW_MPA_FULL_RX);
	see(&s, &e);
	assert_int_equal(s.f.flags & IW_MPA_RES, 0);
	octets_free(&s.octets);
	mpa_end_close(&e);
	mpa_end_open(&e, cfg);
	see(&s, &e);
	assert_int_equal(s.f.flags & IW_MPA_RES, 0);
	octets_free(&s.octets);
	give(&e, IW_MPA_REPLY, 1, IW_MPA_C | IW_MPA_RES, NULL);
	assert_int_equal(iw_mpa_state(e.m), IW_MPA_FULL);
	mpa_end_close(&e);
}

/* ENH-01: in Rev 1, S is a reserved bit and ignored. */
static void s_is_ignored_in_rev_1(void **state)
{
	static const uint8_t request[] = { KEY_REQ, IW_MPA_C | IW_MPA_S, 1, 0, 2, 0xab, 0xcd };
	static const uint8_t reply[] = { KEY_REP, IW_MPA_C | IW_MPA_S, 1, 0, 2, 0xab, 0xcd };
	struct mpa_end e;
	struct seen s;

	(void)state;
	mpa_end_open(&e, mpa_cfg(false, 2));
	mpa_end_feed(&e, request, sizeof(request), SIZE_MAX);
	assert_int_equal(iw_mpa_state(e.m), IW_MPA_FULL_RX);
	assert_false(iw_mpa_agreed(e.m)->enhanced);
	assert_int_equal(iw_mpa_agreed(e.m)->pd_len, 2);
	see(&s, &e);
	assert_int_equal(s.f.flags & IW_MPA_S, 0);
	octets_free(&s.octets);
	mpa_end_close(&e);
	mpa_end_open(&e, mpa_cfg(true, 1));
	mpa_end_feed(&e, reply, sizeof(reply), SIZE_MAX);
	assert_int_equal(iw_mpa_state(e.m), IW_MPA_FULL);
	assert_int_equal(iw_mpa_agreed(e.m)->pd_len, 2);
	mpa_end_close(&e);
}

/* ENH-03: IRD and ORD have four octets. */
static void enhanced_frames_with_less_than_four_octets_are_malformed(void **state)
{
	(void)state;
	for (uint8_t len = 0; len < IW_MPA_ENHANCED_LEN; len++) {
		const uint8_t request[] = { KEY_REQ, IW_MPA_S, 2, 0, len, 0, 0, 0 };
		const uint8_t reply[] = { KEY_REP, IW_MPA_S, 2, 0, len, 0, 0, 0 };
		struct mpa_end e;

		mpa_end_open(&e, mpa_cfg(false, 2));
		mpa_end_feed(&e, request, sizeof(request), SIZE_MAX);
		assert_int_equal(e.err, IW_E_MPA_FRAME);
		mpa_end_close(&e);
		mpa_end_open(&e, mpa_cfg(true, 2));
		mpa_end_feed(&e, reply, sizeof(reply), SIZE_MAX);
		assert_int_equal(e.err, IW_E_MPA_FRAME);
		assert_false(iw_mpa_should_retry_rev1(e.m));
		mpa_end_close(&e);
	}
}

/* ENH-04 */
static void enhanced_format_is_used_only_when_something_of_it_is_wanted(void **state)
{
	static const struct {
		uint8_t rev;
		uint16_t ird, ord;
		bool p2p, enhanced;
	} rows[] = {
		{ 2, 4, 4, false, true },
		{ 2, 0, 0, false, true },
		{ 2, IW_MPA_IRD_ORD_MAX, 4, false, true },
		{ 2, 4, IW_MPA_IRD_ORD_MAX, false, true },
		{ 2, IW_MPA_IRD_ORD_MAX, IW_MPA_IRD_ORD_MAX, true, true },
		{ 2, IW_MPA_IRD_ORD_MAX, IW_MPA_IRD_ORD_MAX, false, false },
		{ 1, 4, 4, false, false },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		struct iw_mpa_cfg cfg = mpa_cfg(true, rows[i].rev);
		struct mpa_end e;
		struct seen s;

		cfg.offer.ird = rows[i].ird;
		cfg.offer.ord = rows[i].ord;
		cfg.offer.peer_to_peer = rows[i].p2p;
		mpa_end_open(&e, cfg);
		see(&s, &e);
		assert_int_equal(!!(s.f.flags & IW_MPA_S), rows[i].enhanced);
		assert_int_equal(s.f.rev, rows[i].rev);
		octets_free(&s.octets);
		mpa_end_close(&e);
	}
}

/* ENH-02, ENH-05 */
static void an_unenhanced_request_gets_an_unenhanced_reply(void **state)
{
	(void)state;
	for (uint8_t rev = 1; rev <= 2; rev++) {
		struct mpa_end e;
		struct seen s;

		mpa_end_open(&e, mpa_cfg(false, 2));
		give(&e, IW_MPA_REQUEST, rev, IW_MPA_C, NULL);
		see(&s, &e);
		assert_int_equal(s.f.kind, IW_MPA_REPLY);
		assert_int_equal(s.f.rev, rev);
		assert_int_equal(s.f.flags & IW_MPA_S, 0);
		assert_int_equal(s.f.pd_len, 0);
		assert_false(iw_mpa_agreed(e.m)->enhanced);
		/* The ULPs then negotiate depths. */
		assert_int_equal(iw_mpa_agreed(e.m)->ird, 4);
		assert_int_equal(iw_mpa_agreed(e.m)->ord, 4);
		octets_free(&s.octets);
		mpa_end_close(&e);
	}
}

/* ENH-05, ENH-06: the initiator's side, and when it may retry with Rev 1. */
static void a_reply_in_the_wrong_format_is_refused(void **state)
{
	struct iw_mpa_enhanced depths = { .ird = 4, .ord = 4 };

	(void)state;
	for (uint8_t rev = 1; rev <= 2; rev++) {
		struct mpa_end e;

		/* enhanced Request, unenhanced Reply */
		mpa_end_open(&e, mpa_cfg(true, 2));
		give(&e, IW_MPA_REPLY, rev, IW_MPA_C, NULL);
		assert_int_equal(e.err, IW_E_MPA_FRAME);
		assert_non_null(strstr(e.why.text, "the Request was enhanced"));
		assert_string_equal(e.why.clause, "RFC 6581 10");
		assert_true(iw_mpa_should_retry_rev1(e.m));
		mpa_end_close(&e);

		/* the same, rejecting: valid, so TCP stays open */
		mpa_end_open(&e, mpa_cfg(true, 2));
		give(&e, IW_MPA_REPLY, rev, IW_MPA_C | IW_MPA_R, NULL);
		assert_int_equal(e.last_kind, IW_MPA_UNIT_REJECT);
		assert_int_equal(iw_mpa_state(e.m), IW_MPA_STREAMING);
		assert_true(iw_mpa_should_retry_rev1(e.m));
		mpa_end_close(&e);

		/* unenhanced Request, enhanced Reply */
		mpa_end_open(&e, mpa_cfg(true, 1));
		give(&e, IW_MPA_REPLY, 2, IW_MPA_C, &depths);
		assert_int_equal(e.err, IW_E_MPA_FRAME);
		assert_false(iw_mpa_should_retry_rev1(e.m));
		mpa_end_close(&e);
	}
}

/* ENH-06: a ULP that rejects a Request it understood would reject Rev 1 too. */
static void an_enhanced_reject_is_no_reason_to_try_rev_1(void **state)
{
	struct iw_mpa_enhanced depths = { .ird = 4, .ord = 4 };
	struct mpa_end e;

	(void)state;
	mpa_end_open(&e, mpa_cfg(true, 2));
	give(&e, IW_MPA_REPLY, 2, IW_MPA_C | IW_MPA_R, &depths);
	assert_int_equal(iw_mpa_state(e.m), IW_MPA_STREAMING);
	assert_false(iw_mpa_should_retry_rev1(e.m));
	mpa_end_close(&e);
}

/* MPA-36: a Reply may have a later revision than the Request if its format is ours. */
static void a_rev_2_reply_without_enhanced_data_answers_rev_1(void **state)
{
	struct mpa_end e;

	(void)state;
	mpa_end_open(&e, mpa_cfg(true, 1));
	give(&e, IW_MPA_REPLY, 2, IW_MPA_C, NULL);
	assert_int_equal(iw_mpa_state(e.m), IW_MPA_FULL);
	assert_int_equal(iw_mpa_agreed(e.m)->rev, 1);
	assert_int_equal(iw_mpa_agreed(e.m)->peer_rev, 2);
	mpa_end_close(&e);
}

/* --- CRC and markers -------------------------------------------------------------------------- */

/* MPA-33, MPA-17..20: in use if either end wants it, not in use only if both do not. */
static void crc_is_on_when_either_end_wants_it(void **state)
{
	(void)state;
	for (int i = IW_CRC_WANTED; i <= IW_CRC_OFF; i++) {
		for (int r = IW_CRC_WANTED; r <= IW_CRC_OFF; r++) {
			struct iw_mpa_cfg ci = mpa_cfg(true, 2), cr = mpa_cfg(false, 2);
			bool on = i != IW_CRC_OFF || r != IW_CRC_OFF;
			struct mpa_end a, b;

			ci.crc = (enum iw_crc_policy)i;
			cr.crc = (enum iw_crc_policy)r;
			mpa_end_open(&a, ci);
			mpa_end_open(&b, cr);
			mpa_ends_exchange(&a, &b);
			assert_int_equal(iw_mpa_state(a.m), IW_MPA_FULL);
			assert_int_equal(iw_mpa_state(b.m), IW_MPA_FULL_RX);
			assert_int_equal(iw_mpa_agreed(a.m)->crc, on);
			assert_int_equal(iw_mpa_agreed(b.m)->crc, on);
			mpa_end_close(&a);
			mpa_end_close(&b);
		}
	}
}

/* MPA-17, MPA-18 */
static void crc_is_asked_for_unless_configured_off(void **state)
{
	(void)state;
	for (int policy = IW_CRC_WANTED; policy <= IW_CRC_OFF; policy++) {
		struct iw_mpa_cfg cfg = mpa_cfg(true, 1);
		struct mpa_end e;
		struct seen s;

		/* CRC is in use by default. */
		assert_int_equal(cfg.crc, IW_CRC_WANTED);
		cfg.crc = (enum iw_crc_policy)policy;
		mpa_end_open(&e, cfg);
		see(&s, &e);
		assert_int_equal(!!(s.f.flags & IW_MPA_C), policy != IW_CRC_OFF);
		octets_free(&s.octets);
		mpa_end_close(&e);
	}
}

/*
 * MPA-33: a peer that answers C = 1 with C = 0 is accepted or refused, as configured. (Linux siw
 * with its CRC off does not do this; others do.)
 */
static void a_reply_without_c_to_a_request_with_it(void **state)
{
	struct iw_mpa_cfg cfg = mpa_cfg(true, 1);
	struct mpa_end e;

	(void)state;
	mpa_end_open(&e, cfg);
	give(&e, IW_MPA_REPLY, 1, 0, NULL);
	assert_int_equal(iw_mpa_state(e.m), IW_MPA_FULL);
	assert_true(iw_mpa_agreed(e.m)->crc);
	mpa_end_close(&e);

	cfg.crc = IW_CRC_REQUIRED;
	mpa_end_open(&e, cfg);
	give(&e, IW_MPA_REPLY, 1, 0, NULL);
	assert_int_equal(e.err, IW_E_MPA_LOCAL);
	assert_int_equal(e.why.term, IW_TERM(2, 0, 5));
	assert_non_null(strstr(e.why.text, "this end requires CRC"));
	mpa_end_close(&e);
	mpa_end_open(&e, cfg);
	give(&e, IW_MPA_REPLY, 1, IW_MPA_C, NULL);
	assert_int_equal(iw_mpa_state(e.m), IW_MPA_FULL);
	mpa_end_close(&e);
}

/* MPA-18, MPA-33: some peers refuse a Reply with C = 0 to their C = 1. */
static void a_responder_with_crc_off_answers_c_with_c(void **state)
{
	struct iw_mpa_cfg cfg = mpa_cfg(false, 1);
	struct mpa_end e;
	struct seen s;

	(void)state;
	cfg.crc = IW_CRC_OFF;
	for (int c = 0; c <= 1; c++) {
		mpa_end_open(&e, cfg);
		give(&e, IW_MPA_REQUEST, 1, c ? IW_MPA_C : 0, NULL);
		see(&s, &e);
		assert_int_equal(!!(s.f.flags & IW_MPA_C), c);
		octets_free(&s.octets);
		mpa_end_close(&e);
	}
}

/* MPA-32, MPA-10: M applies to the direction towards the end that set it. */
static void markers_are_negotiated_for_each_direction(void **state)
{
	(void)state;
	for (int i = 0; i <= 1; i++) {
		for (int r = 0; r <= 1; r++) {
			struct iw_mpa_cfg ci = mpa_cfg(true, 1), cr = mpa_cfg(false, 1);
			struct mpa_end a, b;

			ci.markers = i;
			cr.markers = r;
			mpa_end_open(&a, ci);
			mpa_end_open(&b, cr);
			mpa_ends_exchange(&a, &b);
			assert_int_equal(iw_mpa_agreed(a.m)->rx_markers, i);
			assert_int_equal(iw_mpa_agreed(b.m)->tx_markers, i);
			assert_int_equal(iw_mpa_agreed(a.m)->tx_markers, r);
			assert_int_equal(iw_mpa_agreed(b.m)->rx_markers, r);
			mpa_end_close(&a);
			mpa_end_close(&b);
		}
	}
}

/* --- RDMA Consortium peers -------------------------------------------------------------------- */

struct kind {
	const char *name;
	uint8_t rev;
	bool rdmac, markers;
};

static const struct kind kinds[] = {
	{ "RDMAC", 0, true, false }, /* markers even if not demanded */
	{ "non-permissive M=0", 1, false, false },
	{ "non-permissive M=1", 1, false, true },
	{ "permissive M=0", 1, true, false },
	{ "permissive M=1", 1, true, true },
};

static struct iw_mpa_cfg kind_cfg(const struct kind *k, bool initiator)
{
	struct iw_mpa_cfg cfg = mpa_cfg(initiator, k->rev);

	cfg.rdmac = k->rdmac;
	cfg.markers = k->markers;
	return cfg;
}

/* MPA-55, MPA-36, MPA-05: figures 15, 16 and 17 of RFC 5044, every cell. */
static void rdmac_and_ietf_peers_interoperate_as_appendix_c_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(kinds); i++) {
		for (size_t r = 0; r < IW_ARRAY_LEN(kinds); r++) {
			bool rdmac = kinds[i].rev == 0 || kinds[r].rev == 0;
			bool close = rdmac && !(kinds[i].rdmac && kinds[r].rdmac);
			const struct iw_agreed *pa, *pb;
			struct mpa_end a, b;

			mpa_end_open(&a, kind_cfg(&kinds[i], true));
			mpa_end_open(&b, kind_cfg(&kinds[r], false));
			mpa_ends_exchange(&a, &b);
			pa = iw_mpa_agreed(a.m);
			pb = iw_mpa_agreed(b.m);
			if (close) {
				/* The initiator detects it, by the Rev of the Reply. */
				assert_int_equal(a.err, IW_E_MPA_FRAME);
				assert_non_null(strstr(a.why.text, "profile rdmac"));
				assert_int_equal(iw_mpa_state(a.m), IW_MPA_FAILED);
				assert_int_equal(b.err, kinds[r].rev ? IW_E_MPA_FRAME : 0);
			} else {
				assert_int_equal(iw_mpa_state(a.m), IW_MPA_FULL);
				assert_int_equal(iw_mpa_state(b.m), IW_MPA_FULL_RX);
				assert_int_equal(pa->dv, rdmac ? 0 : 1);
				assert_int_equal(pb->dv, rdmac ? 0 : 1);
				assert_int_equal(pa->rx_markers, rdmac || kinds[i].markers);
				assert_int_equal(pb->rx_markers, rdmac || kinds[r].markers);
				assert_int_equal(pb->tx_markers, pa->rx_markers);
				assert_int_equal(pa->tx_markers, pb->rx_markers);
				assert_true(pa->crc && pb->crc);
			}
			mpa_end_close(&a);
			mpa_end_close(&b);
		}
	}
}

/* MPA-55: an RDMAC responder answers every Request with Rev 0 and M (C.2.2, C.2.5). */
static void a_rev_0_reply_turns_a_permissive_initiator_into_rdmac(void **state)
{
	struct iw_mpa_cfg cfg = mpa_cfg(true, 1);
	struct mpa_end e;

	(void)state;
	mpa_end_open(&e, cfg);
	give(&e, IW_MPA_REPLY, 0, IW_MPA_M | IW_MPA_C, NULL);
	assert_int_equal(e.err, IW_E_MPA_FRAME);
	mpa_end_close(&e);

	cfg.rdmac = true;
	cfg.crc = IW_CRC_OFF;
	mpa_end_open(&e, cfg);
	give(&e, IW_MPA_REPLY, 0, IW_MPA_M | IW_MPA_C, NULL);
	assert_int_equal(iw_mpa_state(e.m), IW_MPA_FULL);
	assert_int_equal(iw_mpa_agreed(e.m)->dv, 0);
	assert_int_equal(iw_mpa_agreed(e.m)->rev, 0);
	assert_true(iw_mpa_agreed(e.m)->rx_markers);
	assert_true(iw_mpa_agreed(e.m)->tx_markers);
	assert_true(iw_mpa_agreed(e.m)->crc);
	mpa_end_close(&e);
}

/* MPA-55, MPA-36: Rev 0 without markers and CRC is invalid. */
static void rev_0_without_markers_or_crc_is_refused(void **state)
{
	static const uint8_t flags[] = { 0, IW_MPA_M, IW_MPA_C };

	(void)state;
	for (size_t i = 0; i < sizeof(flags); i++) {
		struct iw_mpa_cfg cfg = mpa_cfg(false, 2);
		struct mpa_end e;

		cfg.rdmac = true;
		mpa_end_open(&e, cfg);
		give(&e, IW_MPA_REQUEST, 0, flags[i], NULL);
		assert_int_equal(e.err, IW_E_MPA_FRAME);
		mpa_end_close(&e);
		cfg.initiator = true;
		cfg.rev = 1;
		mpa_end_open(&e, cfg);
		give(&e, IW_MPA_REPLY, 0, flags[i], NULL);
		assert_int_equal(e.err, IW_E_MPA_FRAME);
		mpa_end_close(&e);
	}
}

/* MPA-55: C.2.1, a last Reply of Rev 1 is sent, then the connection is closed. */
static void a_refused_rev_0_request_is_answered_by_rev_1(void **state)
{
	struct mpa_end e;
	struct seen s;

	(void)state;
	mpa_end_open(&e, mpa_cfg(false, 2));
	mpa_end_feed(&e, request_rdmac, sizeof(request_rdmac), SIZE_MAX);
	assert_int_equal(e.err, IW_E_MPA_FRAME);
	assert_int_equal(iw_mpa_state(e.m), IW_MPA_FAILED);
	see(&s, &e);
	assert_int_equal(s.f.kind, IW_MPA_REPLY);
	assert_int_equal(s.f.rev, 1);
	assert_true(s.f.flags & IW_MPA_R);
	assert_false(iw_mpa_may_send(e.m));
	octets_free(&s.octets);
	mpa_end_close(&e);
}

/* --- IRD and ORD ------------------------------------------------------------------------------ */

#define NONE IW_MPA_IRD_ORD_MAX

/* ENH-08, ENH-12, ENH-07: the responder in RFC 6581 9.1. */
static void responder_fits_its_depths_to_the_request(void **state)
{
	static const struct {
		uint16_t peer_ird, peer_ord; /* in the Request */
		uint16_t ird, ord;           /* of this end */
		uint16_t wire_ird, wire_ord; /* in the Reply */
		uint16_t own_ird, own_ord;   /* in force */
	} rows[] = {
		{ 4, 4, 8, 8, 8, 4, 8, 4 },
		{ 8, 8, 4, 4, 4, 4, 4, 4 },
		{ 0, 0, 8, 8, 8, 0, 8, 0 },
		{ 16, 2, 1, 16, 1, 16, 1, 16 },
		{ 0x3ffe, 1, 1, 0x3ffe, 1, 0x3ffe, 1, 0x3ffe },
		/* not negotiated: our values stay, the Reply mirrors */
		{ NONE, 4, 8, 8, 8, NONE, 8, 8 },
		{ 4, NONE, 8, 8, NONE, 4, 8, 4 },
		{ NONE, NONE, 8, 9, NONE, NONE, 8, 9 },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		const struct iw_agreed *p;
		struct mpa_end e;
		struct seen s;

		mpa_end_open(&e, mpa_cfg(false, 2));
		e.ird = rows[i].ird;
		e.ord = rows[i].ord;
		give_request(&e, (struct iw_mpa_enhanced){ .ird = rows[i].peer_ird,
							   .ord = rows[i].peer_ord });
		see(&s, &e);
		assert_int_equal(s.e.ird, rows[i].wire_ird);
		assert_int_equal(s.e.ord, rows[i].wire_ord);
		assert_false(s.e.peer_to_peer);
		p = iw_mpa_agreed(e.m);
		assert_int_equal(p->ird, rows[i].own_ird);
		assert_int_equal(p->ord, rows[i].own_ord);
		assert_int_equal(p->peer_ird, rows[i].peer_ird);
		assert_int_equal(p->peer_ord, rows[i].peer_ord);
		octets_free(&s.octets);
		mpa_end_close(&e);
	}
}

/* ENH-10, ENH-11, ENH-12, ENH-07: the initiator. */
static void initiator_fits_its_depths_to_the_reply(void **state)
{
	static const struct {
		uint16_t ird, ord, ird_max;
		uint16_t peer_ird, peer_ord; /* in the Reply */
		int err;
		uint16_t own_ird, own_ord;
	} rows[] = {
		{ 4, 4, 0, 8, 4, 0, 4, 4 },
		{ 4, 4, 0, 2, 1, 0, 4, 2 },
		{ 4, 4, 0, 0, 0, 0, 4, 0 },
		{ 4, 4, 8, 4, 8, 0, 8, 4 },
		{ 4, 4, 7, 4, 8, IW_E_MPA_IRD, 0, 0 },
		{ 4, 4, 0, 4, 5, IW_E_MPA_IRD, 0, 0 },
		{ 0, 0, 0, 0, 1, IW_E_MPA_IRD, 0, 0 },
		/* not negotiated */
		{ 4, 6, 0, NONE, 4, 0, 4, 6 },
		{ 4, 6, 0, 6, NONE, 0, 4, 6 },
		{ NONE, NONE, 0, NONE, NONE, 0, NONE, NONE },
		/*
		 * we did not negotiate, but the responder (Linux siw) sends numbers: to stay within
		 * them is safe
		 */
		{ NONE, NONE, 0, 128, 16, 0, NONE, 128 },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		struct iw_mpa_cfg cfg = mpa_cfg(true, 2);
		const struct iw_agreed *p;
		struct octets sink = { 0 };
		struct mpa_end e;

		cfg.offer.ird = rows[i].ird;
		cfg.offer.ord = rows[i].ord;
		cfg.offer.ird_max = rows[i].ird_max;
		cfg.offer.peer_to_peer = cfg.offer.ird == NONE;
		mpa_end_open(&e, cfg);
		mpa_end_drain(&e, &sink);
		octets_free(&sink);
		give_reply(&e, (struct iw_mpa_enhanced){ .peer_to_peer = cfg.offer.peer_to_peer,
							 .rtr_write = cfg.offer.peer_to_peer,
							 .ird = rows[i].peer_ird,
							 .ord = rows[i].peer_ord });
		p = iw_mpa_agreed(e.m);
		assert_int_equal(e.err, rows[i].err);
		assert_int_equal(p->peer_ird, rows[i].peer_ird);
		assert_int_equal(p->peer_ord, rows[i].peer_ord);
		if (rows[i].err) {
			/* The ULP can send the Terminate. */
			assert_int_equal(e.why.term, IW_TERM(2, 0, 6));
			assert_int_equal(iw_mpa_state(e.m), IW_MPA_FAILED);
			assert_true(iw_mpa_may_send(e.m));
			assert_int_equal(e.units, 0);
		} else {
			assert_int_equal(iw_mpa_state(e.m), IW_MPA_FULL);
			assert_int_equal(p->ird, rows[i].own_ird);
			assert_int_equal(p->ord, rows[i].own_ord);
		}
		mpa_end_close(&e);
	}
}

/*
 * ENH-09, ENH-07, ENH-05: a responder may reject with the ORD that it needs, which the initiator's
 * ULP receives. The responder of this library clamps it, so the test sets it in the Reply.
 */
static void a_responder_may_reject_for_too_small_an_ird(void **state)
{
	struct iw_mpa_cfg ci = mpa_cfg(true, 2);
	struct iw_fault why;
	struct mpa_end a, b;
	struct seen s;

	(void)state;
	ci.offer.ird = 2;
	ci.offer.ord = 3;
	mpa_end_open(&a, ci);
	mpa_end_open(&b, mpa_cfg(false, 2));
	b.accept = false;
	see(&s, &a);
	mpa_end_feed(&b, s.octets.p, s.octets.len, SIZE_MAX);
	octets_free(&s.octets);
	assert_int_equal(iw_mpa_agreed(b.m)->peer_ird, 2);
	assert_int_equal(iw_mpa_reject(b.m, NULL, 509, &why), IW_E_INVAL);
	assert_int_equal(iw_mpa_state(b.m), IW_MPA_DECIDING);
	assert_int_equal(iw_mpa_reject(b.m, (const uint8_t *)"why", 3, &why), 0);
	assert_int_equal(iw_mpa_state(b.m), IW_MPA_STREAMING);
	see(&s, &b);
	assert_true(s.f.flags & IW_MPA_R);
	assert_true(s.f.flags & IW_MPA_S);
	assert_int_equal(s.e.ord, 2);
	s.e.ord = 16;
	iw_wire_mpa_enhanced_encode(s.octets.p + IW_MPA_FRAME_LEN, IW_MPA_ENHANCED_LEN, &s.e);
	mpa_end_feed(&a, s.octets.p, s.octets.len, SIZE_MAX);
	octets_free(&s.octets);
	assert_int_equal(a.last_kind, IW_MPA_UNIT_REJECT);
	assert_int_equal(iw_mpa_agreed(a.m)->peer_ord, 16);
	assert_int_equal(iw_mpa_agreed(a.m)->peer_ird, 4);
	assert_int_equal(iw_mpa_agreed(a.m)->pd_len, 3);
	mpa_end_close(&a);
	mpa_end_close(&b);
}

/* ENH-05, ENH-08: a rejecting Reply is enhanced if the Request was. */
static void a_reject_answers_in_the_format_of_the_request(void **state)
{
	(void)state;
	for (int enhanced = 0; enhanced <= 1; enhanced++) {
		struct iw_mpa_enhanced depths = { .ird = 2, .ord = 3 };
		struct mpa_end e;
		struct seen s;

		mpa_end_open(&e, mpa_cfg(false, 2));
		e.accept = false;
		give(&e, IW_MPA_REQUEST, 2, 0, enhanced ? &depths : NULL);
		assert_int_equal(iw_mpa_reject(e.m, (const uint8_t *)"x", 1, NULL), 0);
		see(&s, &e);
		assert_int_equal(!!(s.f.flags & IW_MPA_S), enhanced);
		assert_int_equal(s.f.pd_len, enhanced ? 5 : 1);
		if (enhanced)
			assert_int_equal(s.e.ord, 2);
		octets_free(&s.octets);
		mpa_end_close(&e);
	}
}

/* --- peer-to-peer ----------------------------------------------------------------------------- */

static struct iw_mpa_enhanced with_rtr(bool p2p, uint8_t rtr, uint16_t ird, uint16_t ord)
{
	return (struct iw_mpa_enhanced){
		.peer_to_peer = p2p,
		.rtr_send = rtr & IW_RTR_SEND,
		.rtr_write = rtr & IW_RTR_WRITE,
		.rtr_read = rtr & IW_RTR_READ,
		.ird = ird,
		.ord = ord,
	};
}

static uint8_t rtr_of(const struct iw_mpa_enhanced *e)
{
	return (uint8_t)(e->rtr_send * IW_RTR_SEND | e->rtr_write * IW_RTR_WRITE |
			 e->rtr_read * IW_RTR_READ);
}

/*
 * ENH-13: A and each form that the initiator supports; without peer-to-peer, none of the four
 * flags.
 */
static void initiator_offers_the_rtr_it_supports(void **state)
{
	(void)state;
	for (uint8_t rtr = 1; rtr < 8; rtr++) {
		for (int p2p = 0; p2p <= 1; p2p++) {
			struct iw_mpa_cfg cfg = mpa_cfg(true, 2);
			struct mpa_end e;
			struct seen s;

			cfg.offer.rtr = rtr;
			cfg.offer.peer_to_peer = p2p;
			mpa_end_open(&e, cfg);
			see(&s, &e);
			assert_int_equal(s.e.peer_to_peer, p2p);
			assert_int_equal(rtr_of(&s.e), p2p ? rtr : 0);
			octets_free(&s.octets);
			mpa_end_close(&e);
		}
	}
}

/*
 * ENH-14, ENH-15: A is mirrored. The forms are those that both support, or else those of the
 * responder; with A = 0 none, whatever was set.
 */
static void responder_answers_every_rtr_offer(void **state)
{
	(void)state;
	for (uint8_t offered = 0; offered < 8; offered++) {
		for (uint8_t own = 1; own < 8; own++) {
			for (int p2p = 0; p2p <= 1; p2p++) {
				struct iw_mpa_cfg cfg = mpa_cfg(false, 2);
				uint8_t expected = offered & own ? offered & own : own;
				struct mpa_end e;
				struct seen s;

				cfg.offer.rtr = own;
				mpa_end_open(&e, cfg);
				give_request(&e, with_rtr(p2p, offered, 4, 4));
				see(&s, &e);
				assert_int_equal(s.e.peer_to_peer, p2p);
				assert_int_equal(rtr_of(&s.e), p2p ? expected : 0);
				assert_int_equal(iw_mpa_agreed(e.m)->peer_to_peer, p2p);
				assert_int_equal(iw_mpa_agreed(e.m)->rtr, p2p ? expected : 0);
				octets_free(&s.octets);
				mpa_end_close(&e);
			}
		}
	}
}

/*
 * ENH-15, ENH-08: a Read as RTR needs an IRD of 1, even if the ULP wants no Reads (RFC 6581 9.1).
 */
static void responder_raises_its_ird_for_a_read_rtr(void **state)
{
	static const struct {
		uint8_t offered;
		uint16_t ird, wire_ird;
	} rows[] = {
		{ IW_RTR_READ, 0, 1 },
		{ IW_RTR_READ, 7, 7 },
		{ IW_RTR_WRITE, 0, 0 },
		{ IW_RTR_WRITE | IW_RTR_READ, 0, 1 },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		struct mpa_end e;
		struct seen s;

		mpa_end_open(&e, mpa_cfg(false, 2));
		e.ird = rows[i].ird;
		give_request(&e, with_rtr(true, rows[i].offered, 0, 0));
		see(&s, &e);
		assert_int_equal(s.e.ird, rows[i].wire_ird);
		assert_int_equal(iw_mpa_agreed(e.m)->ird, rows[i].wire_ird);
		octets_free(&s.octets);
		mpa_end_close(&e);
	}
}

/* ENH-16, ENH-17, ENH-14: the forms that both support, or 2/0/7. */
static void initiator_finds_a_common_rtr_or_fails_with_the_reason(void **state)
{
	static const struct {
		uint8_t own, answered;
		uint16_t ord, peer_ird;
		uint8_t rtr; /* 0: a fault */
		uint16_t own_ord;
	} rows[] = {
		{ 7, 7, 4, 4, 7, 4 },
		{ 7, IW_RTR_WRITE, 4, 4, IW_RTR_WRITE, 4 },
		{ IW_RTR_WRITE, IW_RTR_READ, 4, 4, 0, 0 },
		{ IW_RTR_SEND, IW_RTR_WRITE | IW_RTR_READ, 4, 4, 0, 0 },
		{ 7, 0, 4, 4, 0, 0 },
		/* a Read needs an IRD of 1 at the responder, and an ORD of 1 at the initiator */
		{ IW_RTR_READ, IW_RTR_READ, 0, 1, IW_RTR_READ, 1 },
		{ IW_RTR_READ, IW_RTR_READ, 4, 0, 0, 0 },
		{ IW_RTR_READ | IW_RTR_WRITE, IW_RTR_READ | IW_RTR_WRITE, 4, 0, IW_RTR_WRITE, 0 },
		{ IW_RTR_READ, IW_RTR_READ, 4, NONE, IW_RTR_READ, 4 },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		struct iw_mpa_cfg cfg = mpa_cfg(true, 2);
		struct octets sink = { 0 };
		struct mpa_end e;

		cfg.offer.peer_to_peer = true;
		cfg.offer.rtr = rows[i].own;
		cfg.offer.ord = rows[i].ord;
		mpa_end_open(&e, cfg);
		mpa_end_drain(&e, &sink);
		octets_free(&sink);
		give_reply(&e, with_rtr(true, rows[i].answered, rows[i].peer_ird, 4));
		if (rows[i].rtr) {
			assert_int_equal(iw_mpa_state(e.m), IW_MPA_FULL);
			assert_true(iw_mpa_agreed(e.m)->peer_to_peer);
			assert_int_equal(iw_mpa_agreed(e.m)->rtr, rows[i].rtr);
			assert_int_equal(iw_mpa_agreed(e.m)->ord, rows[i].own_ord);
		} else {
			assert_int_equal(e.err, IW_E_MPA_RTR);
			assert_int_equal(e.why.term, IW_TERM(2, 0, 7));
			assert_true(iw_mpa_may_send(e.m));
		}
		mpa_end_close(&e);
	}
}

/* ENH-14, ENH-17: the models must be equal. With A = 0 in both, B, C and D are ignored. */
static void initiator_checks_that_a_is_mirrored(void **state)
{
	(void)state;
	for (int asked = 0; asked <= 1; asked++) {
		for (int answered = 0; answered <= 1; answered++) {
			struct iw_mpa_cfg cfg = mpa_cfg(true, 2);
			struct mpa_end e;

			cfg.offer.peer_to_peer = asked;
			mpa_end_open(&e, cfg);
			give_reply(&e, with_rtr(answered, 7, 4, 4));
			assert_int_equal(e.err, asked == answered ? 0 : IW_E_MPA_RTR);
			if (!asked && !answered) {
				assert_int_equal(iw_mpa_agreed(e.m)->rtr, 0);
				assert_false(iw_mpa_agreed(e.m)->peer_to_peer);
			}
			mpa_end_close(&e);
		}
	}
}

/* --- the library's block ---------------------------------------------------------------------- */

static void open_with(struct mpa_end *e, bool initiator, uint32_t max_ulpdu, const char *pd)
{
	struct iw_mpa_cfg cfg = mpa_cfg(initiator, 2);

	cfg.max_ulpdu = max_ulpdu;
	cfg.offer.pd = (const uint8_t *)pd;
	cfg.offer.pd_len = strlen(pd);
	mpa_end_open(e, cfg);
}

/* MPA-02: only between two ends that support it. The ULPs see only their own Private Data. */
static void long_ulpdus_are_agreed_if_both_ends_support_them(void **state)
{
	static const struct {
		uint32_t i, r;
		size_t mulpdu;
		bool aligned;
	} rows[] = {
		{ 0, 0, 1442, true },           { 64768, 0, 1442, true },
		{ 0, 64768, 1442, true },       { 64768, 64768, 64768, false },
		{ 64768, 32000, 32000, false }, { 32000, 64768, 32000, false },
		{ 1000, 64768, 1442, false }, /* never below the limit of the EMSS */
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		const struct iw_agreed *pa, *pb;
		struct mpa_end a, b;
		struct seen s;

		open_with(&a, true, rows[i].i, "from a");
		open_with(&b, false, rows[i].r, "");
		b.accept = false;
		see(&s, &a);
		mpa_end_feed(&b, s.octets.p, s.octets.len, SIZE_MAX);
		octets_free(&s.octets);
		pb = iw_mpa_agreed(b.m);
		assert_int_equal(pb->peer_max_ulpdu, rows[i].i);
		assert_int_equal(pb->pd_len, 6);
		assert_memory_equal(pb->pd, "from a", 6);
		assert_int_equal(iw_mpa_accept(b.m, 4, 4, (const uint8_t *)"from b", 6, NULL), 0);
		see(&s, &b);
		assert_int_equal(s.f.pd_len,
				 IW_MPA_ENHANCED_LEN + 6 +
					 (rows[i].i && rows[i].r ? IW_MPA_BLOCK_LEN : 0));
		mpa_end_feed(&a, s.octets.p, s.octets.len, SIZE_MAX);
		octets_free(&s.octets);
		pa = iw_mpa_agreed(a.m);
		assert_int_equal(pa->peer_max_ulpdu, rows[i].i ? rows[i].r : 0);
		assert_int_equal(pa->pd_len, 6);
		assert_memory_equal(pa->pd, "from b", 6);
		iw_mpa_set_emss(a.m, 1448);
		iw_mpa_set_emss(b.m, 1448);
		assert_int_equal(iw_mpa_mulpdu_now(a.m), rows[i].mulpdu);
		assert_int_equal(iw_mpa_mulpdu_now(b.m), rows[i].mulpdu);
		assert_int_equal(iw_mpa_aligned(a.m), rows[i].aligned);
		assert_int_equal(iw_mpa_aligned(b.m), rows[i].aligned);
		mpa_end_close(&a);
		mpa_end_close(&b);
	}
}

/* MPA-02: a peer's limit above that of MPA is ignored. */
static void an_agreed_size_stays_within_mpas_bounds(void **state)
{
	static const uint8_t request[] = { KEY_REQ, 0x40, 1,    0,    8,    'i', 'w',
					   'L',     0x01, 0xff, 0xff, 0xff, 0xff };
	struct mpa_end e;

	(void)state;
	open_with(&e, false, 64768, "");
	mpa_end_feed(&e, request, sizeof(request), SIZE_MAX);
	assert_int_equal(iw_mpa_agreed(e.m)->peer_max_ulpdu, UINT32_MAX);
	assert_int_equal(iw_mpa_mulpdu_now(e.m), 64768);
	mpa_end_close(&e);
}

/* MPA-37: Private Data that begins like the block, but is not one, belongs to the ULP. */
static void our_private_data_block_is_read_only_if_complete_and_configured(void **state)
{
	static const uint8_t request_short[] = { KEY_REQ, 0x40, 1,    0, 7, 'i',
						 'w',     'L',  0x01, 0, 1, 2 };
	static const uint8_t reply_block[] = { KEY_REP, 0x40, 1, 0, 8, 'i', 'w',
					       'L',     0x01, 0, 0, 4, 0 };
	struct iw_mpa_cfg cfg = mpa_cfg(true, 1);
	struct mpa_end e;

	(void)state;
	open_with(&e, false, 64768, "");
	mpa_end_feed(&e, request_short, sizeof(request_short), SIZE_MAX);
	assert_int_equal(iw_mpa_agreed(e.m)->pd_len, 7);
	assert_int_equal(iw_mpa_agreed(e.m)->peer_max_ulpdu, 0);
	mpa_end_close(&e);
	for (uint32_t max = 0; max <= 64768; max += 64768) {
		cfg.max_ulpdu = max;
		mpa_end_open(&e, cfg);
		mpa_end_feed(&e, reply_block, sizeof(reply_block), SIZE_MAX);
		assert_int_equal(iw_mpa_agreed(e.m)->pd_len, max ? 0 : 8);
		assert_int_equal(iw_mpa_agreed(e.m)->peer_max_ulpdu, max ? 1024 : 0);
		mpa_end_close(&e);
	}
}

/* MPA-37, ENH-03: the part of the 512 octets that is left for the ULP. */
static void private_data_must_fit_beside_what_the_library_adds(void **state)
{
	static const uint8_t pd[513];
	static const struct {
		uint8_t rev;
		uint32_t max_ulpdu;
		size_t most;
	} rows[] = { { 1, 0, 512 }, { 2, 0, 508 }, { 1, 64768, 504 }, { 2, 64768, 500 } };

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		struct iw_mpa_cfg cfg = mpa_cfg(true, rows[i].rev);
		struct iw_fault why;
		struct mpa_end e, r;
		struct seen s;

		cfg.max_ulpdu = rows[i].max_ulpdu;
		cfg.offer.pd = pd;
		cfg.offer.pd_len = rows[i].most + 1;
		assert_int_equal(mpa_end_init(&e, cfg), IW_E_INVAL);
		assert_non_null(strstr(e.why.text, "Private Data"));
		mpa_end_drop(&e);
		cfg.offer.pd_len = rows[i].most;
		mpa_end_open(&e, cfg);
		see(&s, &e);
		assert_int_equal(s.f.pd_len, 512);

		cfg.initiator = false;
		cfg.rev = 2;
		mpa_end_open(&r, cfg);
		r.accept = false;
		mpa_end_feed(&r, s.octets.p, s.octets.len, SIZE_MAX);
		assert_int_equal(iw_mpa_agreed(r.m)->pd_len, rows[i].most);
		assert_int_equal(iw_mpa_accept(r.m, 0, 0, pd, rows[i].most + 1, &why), IW_E_INVAL);
		assert_int_equal(iw_mpa_accept(r.m, 0, 0, pd, rows[i].most, &why), 0);
		octets_free(&s.octets);
		see(&s, &r);
		assert_int_equal(s.f.pd_len, 512);
		octets_free(&s.octets);
		mpa_end_close(&e);
		mpa_end_close(&r);
	}
}

/* --- configuration ---------------------------------------------------------------------------- */

/* ENH-20, ENH-15, ENH-01, MPA-02 */
static void impossible_configurations_are_refused_with_a_reason(void **state)
{
	static const struct {
		const char *words;
		bool initiator;
		uint8_t rev;
		bool rdmac, p2p;
		uint8_t rtr;
		uint16_t ird, ord, ird_max;
		uint32_t max_ulpdu;
		enum iw_crc_policy crc;
	} rows[] = {
		{ "revision 3", true, 3, true, false, 7, 0, 0, 0, 0, IW_CRC_WANTED },
		{ "revision 0", true, 0, false, false, 7, 0, 0, 0, 0, IW_CRC_WANTED },
		{ "always uses CRC", true, 0, true, false, 7, 0, 0, 0, 0, IW_CRC_OFF },
		{ "RTR set", true, 2, false, false, 8, 0, 0, 0, 0, IW_CRC_WANTED },
		{ "peer-to-peer", true, 1, false, true, 7, 0, 0, 0, 0, IW_CRC_WANTED },
		{ "peer-to-peer", false, 2, false, true, 7, 0, 0, 0, 0, IW_CRC_WANTED },
		{ "no RTR form", true, 2, false, true, 0, 0, 0, 0, 0, IW_CRC_WANTED },
		{ "no RTR form", false, 2, false, false, 0, 0, 0, 0, 0, IW_CRC_WANTED },
		{ "IRD 16384", true, 2, false, false, 7, 0x4000, 0, 0, 0, IW_CRC_WANTED },
		{ "ORD 16384", true, 2, false, false, 7, 0, 0x4000, 0, 0, IW_CRC_WANTED },
		{ "largest IRD 16384", true, 2, false, false, 7, 0, 0, 0x4000, 0, IW_CRC_WANTED },
		{ "largest ULPDU 127", true, 2, false, false, 7, 0, 0, 0, 127, IW_CRC_WANTED },
		{ "largest ULPDU 64769", true, 2, false, false, 7, 0, 0, 0, 64769, IW_CRC_WANTED },
	};
	struct mpa_end e;

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		struct iw_mpa_cfg cfg = {
			.initiator = rows[i].initiator,
			.rev = rows[i].rev,
			.rdmac = rows[i].rdmac,
			.offer.peer_to_peer = rows[i].p2p,
			.offer.rtr = rows[i].rtr,
			.offer.ird = rows[i].ird,
			.offer.ord = rows[i].ord,
			.offer.ird_max = rows[i].ird_max,
			.max_ulpdu = rows[i].max_ulpdu,
			.crc = rows[i].crc,
		};

		assert_int_equal(mpa_end_init(&e, cfg), IW_E_INVAL);
		assert_non_null(strstr(e.why.text, rows[i].words));
		mpa_end_drop(&e);
	}
	/* Without a fault to fill, and without a spill pool. */
	assert_int_equal(iw_mpa_init(NULL, &(struct iw_mpa_cfg){ .rev = 1 }, NULL), IW_E_INVAL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(request_is_the_vector),
		cmocka_unit_test(reply_is_the_vector),
		cmocka_unit_test(reserved_bits_are_not_checked),
		cmocka_unit_test(s_is_ignored_in_rev_1),
		cmocka_unit_test(enhanced_frames_with_less_than_four_octets_are_malformed),
		cmocka_unit_test(enhanced_format_is_used_only_when_something_of_it_is_wanted),
		cmocka_unit_test(an_unenhanced_request_gets_an_unenhanced_reply),
		cmocka_unit_test(a_reply_in_the_wrong_format_is_refused),
		cmocka_unit_test(an_enhanced_reject_is_no_reason_to_try_rev_1),
		cmocka_unit_test(a_rev_2_reply_without_enhanced_data_answers_rev_1),
		cmocka_unit_test(crc_is_on_when_either_end_wants_it),
		cmocka_unit_test(crc_is_asked_for_unless_configured_off),
		cmocka_unit_test(a_reply_without_c_to_a_request_with_it),
		cmocka_unit_test(a_responder_with_crc_off_answers_c_with_c),
		cmocka_unit_test(markers_are_negotiated_for_each_direction),
		cmocka_unit_test(rdmac_and_ietf_peers_interoperate_as_appendix_c_says),
		cmocka_unit_test(a_rev_0_reply_turns_a_permissive_initiator_into_rdmac),
		cmocka_unit_test(rev_0_without_markers_or_crc_is_refused),
		cmocka_unit_test(a_refused_rev_0_request_is_answered_by_rev_1),
		cmocka_unit_test(responder_fits_its_depths_to_the_request),
		cmocka_unit_test(initiator_fits_its_depths_to_the_reply),
		cmocka_unit_test(a_responder_may_reject_for_too_small_an_ird),
		cmocka_unit_test(a_reject_answers_in_the_format_of_the_request),
		cmocka_unit_test(initiator_offers_the_rtr_it_supports),
		cmocka_unit_test(responder_answers_every_rtr_offer),
		cmocka_unit_test(responder_raises_its_ird_for_a_read_rtr),
		cmocka_unit_test(initiator_finds_a_common_rtr_or_fails_with_the_reason),
		cmocka_unit_test(initiator_checks_that_a_is_mirrored),
		cmocka_unit_test(long_ulpdus_are_agreed_if_both_ends_support_them),
		cmocka_unit_test(an_agreed_size_stays_within_mpas_bounds),
		cmocka_unit_test(our_private_data_block_is_read_only_if_complete_and_configured),
		cmocka_unit_test(private_data_must_fit_beside_what_the_library_adds),
		cmocka_unit_test(impossible_configurations_are_refused_with_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
