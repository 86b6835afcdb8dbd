// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The MPA engine with octets from an attacker. The first octets of the input select the role, what
 * was agreed, how the stream is made from the rest, and how it is split:
 *
 * - from start-up, with the rest as it is;
 * - in full operation, with the rest as it is (reaches deep code only without CRC);
 * - in full operation, with FPDUs made from the rest, with correct CRCs and markers, sometimes
 *   wrong on purpose.
 *
 * For any input: all at once, octet by octet and in random pieces give the same units, the same
 * fault, and the same state. Correct FPDUs are delivered unchanged, and our own sender makes the
 * same stream from them.
 */
#include "mpa/mpa.h"

#include "fuzz/property.h"
#include "mpa_end.h"
#include "mpa_ref.h"
#include "rng.h"

struct plan {
	bool initiator, crc, markers, rdmac, p2p, reject;
	uint8_t rev, crc_policy;
	uint32_t large;
	enum { FROM_START, RAW, MADE } stream;
	uint64_t seed;
};

#define PLAN_OCTETS 4
#define SINGLES     1500 /* octets that are fed singly; after them, pieces of 61 save time */

static struct plan read_plan(const uint8_t *p)
{
	struct plan plan = {
		.initiator = p[0] & 1,
		.crc = p[0] & 2,
		.markers = p[0] & 4,
		.rdmac = p[0] & 8,
		.p2p = p[0] & 16,
		.reject = p[0] & 32,
		.stream = (p[0] >> 6) % 3,
		.rev = 1 + (p[1] & 1),
		.crc_policy = (p[1] >> 1) % 3,
		.large = p[1] & 0x10 ? 64768 : 0,
		.seed = (uint64_t)p[2] << 8 | p[3],
	};

	if (plan.rdmac && p[1] & 0x20) {
		plan.rev = 0;
		plan.crc_policy = IW_CRC_WANTED;
	}
	return plan;
}

static void open_end_cold(struct mpa_end *e, const struct plan *plan)
{
	struct iw_mpa_cfg cfg = mpa_cfg(plan->initiator, plan->rev);

	if (plan->stream != FROM_START) {
		ref_open_full(e, plan->initiator, plan->crc, plan->markers, plan->large);
		return;
	}
	cfg.rdmac = plan->rdmac;
	cfg.crc = (enum iw_crc_policy)plan->crc_policy;
	cfg.markers = plan->markers;
	cfg.offer.peer_to_peer = plan->p2p && plan->initiator && plan->rev == 2;
	cfg.max_ulpdu = plan->large;
	cfg.offer.ird_max = 8;
	mpa_end_open(e, cfg);
	e->accept = !plan->reject;
}

static void open_end(struct mpa_end *e, const struct plan *plan)
{
	open_end_cold(e, plan);
	e->spill.spare_max = 1; /* allocating a buffer for each read would take most of the time */
}

/* Records of four octets: the length, and the deviation from the RFC. The ULPDU's octets come from
 * a generator. */
static bool make_stream(struct octets *out, struct octets *ulpdus, const struct plan *plan,
			const uint8_t *p, size_t len)
{
	bool all_right = true;
	struct mpa_end sender;
	struct octets sent = { 0 };

	ref_open_full(&sender, true, plan->crc, plan->markers, 64768);
	for (; len >= 4 && out->len < 12000; p += 4, len -= 4) {
		struct rng r = { iw_get_be32(p) };
		size_t n = iw_get_be16(p) % 2048;
		struct ref_odd odd = {
			.pad = p[2] & 1 ? 0x5a : 0,
			.reserved = p[2] & 2 ? 0x1234 : 0,
			.low_bits = p[2] >> 2 & 3,
			.bad_marker = p[2] & 0x10 ? p[3] & 7 : 0,
			.length = p[2] & 0x20 ? (uint16_t)(n + (p[3] & 15)) : 0,
			.zero_length = (p[2] & 0xc0) == 0xc0,
		};
		uint8_t ulpdu[2048];

		rng_fill(&r, ulpdu, n);
		ref_fpdu_odd(out, out->len, plan->markers, plan->crc, ulpdu, n, &odd);
		if (n < IW_MPA_ULPDU_MIN || p[2]) {
			all_right = false;
		} else if (all_right) {
			struct iw_vec v = { ulpdu + 14, n - 14 };

			must(iw_mpa_wrap(sender.m, sender.t, ulpdu, 14, &v, 1, true) > 0);
			mpa_end_drain(&sender, &sent);
			octets_add(ulpdus, ulpdu, n);
		}
	}
	must(sent.len <= out->len && (sent.len == 0 || memcmp(sent.p, out->p, sent.len) == 0));
	octets_free(&sent);
	mpa_end_close(&sender);
	return all_right;
}

static void must_be_the_same(const struct mpa_end *a, const struct mpa_end *b)
{
	must(a->log.len == b->log.len);
	must(a->log.len == 0 || memcmp(a->log.p, b->log.p, a->log.len) == 0);
	must(a->err == b->err);
	must(iw_mpa_state(a->m) == iw_mpa_state(b->m));
	must(iw_mpa_may_send(a->m) == iw_mpa_may_send(b->m));
	must(iw_mpa_should_retry_rev1(a->m) == iw_mpa_should_retry_rev1(b->m));
	must(memcmp(iw_mpa_agreed(a->m), iw_mpa_agreed(b->m), sizeof(struct iw_agreed)) == 0);
}

static void must_be_sound(struct mpa_end *e)
{
	struct iw_text t = { e->why.text, sizeof(e->why.text), strlen(e->why.text) };
	struct iw_mpa_unit u;

	if (e->err) {
		must(iw_mpa_state(e->m) == IW_MPA_FAILED);
		must(e->why.err == e->err && e->why.clause && t.len > 0);
		must_be_one_line(&t);
		must(iw_mpa_next(e->m, &u, NULL) == e->err);
		must(e->spill.out == 0);
	}
	must(iw_mpa_mulpdu_now(e->m) >= 128 && iw_mpa_mulpdu_now(e->m) <= 64768);
	must(iw_mpa_agreed(e->m)->pd_len <= IW_MPA_PD_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct octets stream = { 0 }, ulpdus = { 0 };
	struct mpa_end whole, single, pieces;
	bool all_right = false;
	struct plan plan;
	struct rng r;
	size_t done = 0, took;

	if (len < PLAN_OCTETS)
		return 0;
	plan = read_plan(data);
	if (plan.stream == MADE)
		all_right =
			make_stream(&stream, &ulpdus, &plan, data + PLAN_OCTETS, len - PLAN_OCTETS);
	else
		octets_add(&stream, data + PLAN_OCTETS, len - PLAN_OCTETS);

	open_end(&whole, &plan);
	open_end(&single, &plan);
	open_end(&pieces, &plan);
	took = mpa_end_feed(&whole, stream.p, stream.len, SIZE_MAX);
	must(mpa_end_feed(&single, stream.p, IW_MIN(stream.len, (size_t)SINGLES), 1) <= stream.len);
	if (stream.len > SINGLES)
		mpa_end_feed(&single, stream.p + SINGLES, stream.len - SINGLES, 61);
	r.state = plan.seed;
	while (done < stream.len) {
		size_t n = 1 + rng_below(&r, rng_below(&r, 2) ? 8 : 3000), got;

		pieces.scratch_len = 1 + rng_below(&r, 4000);
		got = mpa_end_read(&pieces, stream.p + done, IW_MIN(n, stream.len - done));
		if (!got)
			break;
		done += got;
	}
	must_be_the_same(&whole, &single);
	must_be_the_same(&whole, &pieces);
	must_be_sound(&whole);
	must_be_sound(&single);
	must_be_sound(&pieces);
	if (!whole.err)
		must(took == done);
	if (plan.stream == MADE) {
		must(whole.data.len >= ulpdus.len);
		must(ulpdus.len == 0 || memcmp(whole.data.p, ulpdus.p, ulpdus.len) == 0);
		if (all_right)
			must(whole.err == 0 && iw_mpa_rx_eof(whole.m, NULL) == 0);
	}
	octets_free(&stream);
	octets_free(&ulpdus);
	mpa_end_close(&whole);
	mpa_end_close(&single);
	mpa_end_close(&pieces);
	return 0;
}
