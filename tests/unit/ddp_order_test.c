// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Arrival in any order, delivery of each message once in the sender's order, rules of order. */
#include "ddp/ddp.h"

#include "ddp_fixture.h"

static const uint8_t data[512] = "Placement is not Delivery.";

/*
 * Processes a segment like an LLP that keeps order. Returns the result of the first failing step.
 */
static int in_order(struct fixture *f, struct iw_ddp h, size_t len)
{
	int ret = iw_ddp_in_order(f->d, &h, len, &f->why);

	if (ret == 0)
		ret = place(f, h, data, len);
	if (ret == 0)
		ret = iw_ddp_arrive(f->d, iw_ddp_next_seq(f->d), &h, len, &f->why);
	return ret;
}

/* The same for an LLP that does not keep order. */
static int out_of_order(struct fixture *f, uint64_t seq, struct iw_ddp h, size_t len)
{
	int ret = place(f, h, data, len);

	return ret == 0 ? iw_ddp_arrive(f->d, seq, &h, len, &f->why) : ret;
}

static int deliver(struct fixture *f, struct iw_ddp_msg *m)
{
	return iw_ddp_deliver(f->d, m, &f->why);
}

static void post(struct fixture *f, uint32_t qn, size_t n, uint32_t cap)
{
	for (size_t i = 0; i < n; i++) {
		size_t at = (qn * 8 + iw_ddp_posted(f->d, qn)) * 128;

		assert_int_equal(iw_ddp_post(f->d, qn, area_at(&f->area, at), cap,
					     100 * qn + iw_ddp_posted(f->d, qn)),
				 0);
	}
}

/* Compares the encoded headers. */
static void same_header(const struct iw_ddp *a, const struct iw_ddp *b)
{
	uint8_t x[IW_DDP_HDR_MAX], y[IW_DDP_HDR_MAX];
	int n = iw_wire_ddp_encode(x, sizeof(x), a);

	assert_true(n > 0);
	assert_int_equal(iw_wire_ddp_encode(y, sizeof(y), b), n);
	assert_memory_equal(x, y, (size_t)n);
}

/* --- delivered messages ----------------------------------------------------------------------- */

/* DDP-20, DDP-36, DDP-67..69 */
static void untagged_message_is_delivered_with_length_rsvdulp_and_buffer(void **state)
{
	struct fixture f;
	struct iw_ddp_msg m;
	struct iw_ddp h;

	(void)state;
	fixture_init(&f, 0);
	post(&f, 0, 2, 128);
	h = untagged(0, 1, 0, false);
	h.opcode = IW_OP_SEND_SE_INV;
	h.inval_stag = 0xabcd0123;
	assert_int_equal(in_order(&f, h, 100), 0);
	assert_int_equal(deliver(&f, &m), 0);
	h.mo = 100;
	h.last = true;
	assert_int_equal(in_order(&f, h, 23), 0);
	assert_int_equal(deliver(&f, &m), 1);
	assert_false(m.tagged);
	assert_int_equal(m.rv, 1);
	assert_int_equal(m.opcode, IW_OP_SEND_SE_INV);
	assert_int_equal(m.inval_stag, 0xabcd0123);
	assert_int_equal(m.len, 123);
	assert_int_equal(m.qn, 0);
	assert_int_equal(m.msn, 1);
	assert_ptr_equal(m.base, area_at(&f.area, 0));
	assert_int_equal(m.cookie, 0);
	same_header(&m.last, &h);
	assert_int_equal(m.last_len, 23);
	assert_int_equal(deliver(&f, &m), 0); /* DDP-65: once */
	assert_int_equal(iw_ddp_posted(f.d, 0), 1);
	fixture_fini(&f);
}

/* DDP-20, DDP-27, DDP-31, DDP-67, DDP-69 */
static void tagged_message_is_delivered_with_stag_and_rsvdulp(void **state)
{
	struct fixture f;
	struct iw_ddp_msg m;
	struct iw_ddp h;
	uint32_t stag;

	(void)state;
	fixture_init(&f, 0);
	stag = add(&f, region(&f, 0, 512, 0x5000, IW_RIGHT_REMOTE_WRITE));
	h = tagged(stag, 0x5010, false);
	h.rv = 2;
	h.opcode = 9;
	assert_int_equal(in_order(&f, h, 100), 0);
	h.to += 100;
	assert_int_equal(in_order(&f, h, 50), 0);
	assert_int_equal(deliver(&f, &m), 0);
	h.to += 50;
	h.last = true;
	assert_int_equal(in_order(&f, h, 7), 0);
	assert_int_equal(deliver(&f, &m), 1);
	assert_true(m.tagged);
	assert_int_equal(m.rv, 2);
	assert_int_equal(m.opcode, 9);
	assert_int_equal(m.stag, stag);
	assert_int_equal(m.to, 0x5010);
	assert_int_equal(m.len, 157);
	assert_null(m.base);
	same_header(&m.last, &h);
	assert_int_equal(m.last_len, 7);
	assert_int_equal(deliver(&f, &m), 0);
	fixture_fini(&f);
}

/* DDP-38: if RsvdULP differs between segments, that of the last one is delivered. */
static void rsvdulp_of_an_untagged_message_is_its_last_segments(void **state)
{
	struct fixture f;
	struct iw_ddp_msg m;
	struct iw_ddp h;

	(void)state;
	fixture_init(&f, 0);
	post(&f, 0, 1, 128);
	h = untagged(0, 1, 0, false);
	h.inval_stag = 1;
	assert_int_equal(in_order(&f, h, 10), 0);
	h = untagged(0, 1, 10, true);
	h.inval_stag = 2;
	h.opcode = IW_OP_SEND_INV;
	assert_int_equal(in_order(&f, h, 10), 0);
	assert_int_equal(deliver(&f, &m), 1);
	assert_int_equal(m.inval_stag, 2);
	assert_int_equal(m.opcode, IW_OP_SEND_INV);
	fixture_fini(&f);
}

/* DDP-55, DDP-56, DDP-68 */
static void zero_length_messages_are_delivered(void **state)
{
	struct fixture f;
	struct iw_ddp_msg m;

	(void)state;
	fixture_init(&f, 0);
	post(&f, 0, 1, 128);
	assert_int_equal(in_order(&f, tagged(0x77, 0x99, true), 0), 0);
	assert_int_equal(deliver(&f, &m), 1);
	assert_true(m.tagged);
	assert_int_equal(m.stag, 0x77);
	assert_int_equal(m.to, 0x99);
	assert_int_equal(m.len, 0);
	assert_int_equal(in_order(&f, untagged(0, 1, 0, true), 0), 0);
	assert_int_equal(deliver(&f, &m), 1);
	assert_false(m.tagged);
	assert_int_equal(m.len, 0);
	assert_ptr_equal(m.base, area_at(&f.area, 0));
	fixture_fini(&f);
}

/* DDP-45, DDP-57 */
static void segments_without_payload_add_nothing_to_a_message(void **state)
{
	struct fixture f;
	struct iw_ddp_msg m;
	uint32_t stag;

	(void)state;
	fixture_init(&f, 0);
	post(&f, 0, 1, 128);
	stag = add(&f, region(&f, 2048, 512, 0x5000, IW_RIGHT_REMOTE_WRITE));
	/* Their STag and TO are ignored before, between and after the other segments. */
	assert_int_equal(in_order(&f, tagged(1, 1, false), 0), 0);
	assert_int_equal(in_order(&f, tagged(stag, 0x5000, false), 10), 0);
	assert_int_equal(in_order(&f, tagged(2, UINT64_MAX, false), 0), 0);
	assert_int_equal(in_order(&f, tagged(stag, 0x500a, false), 10), 0);
	assert_int_equal(in_order(&f, tagged(3, 3, true), 0), 0);
	assert_int_equal(deliver(&f, &m), 1);
	assert_int_equal(m.stag, stag);
	assert_int_equal(m.to, 0x5000);
	assert_int_equal(m.len, 20);
	assert_int_equal(in_order(&f, tagged(stag, 0x500a, false), 10), 0);
	assert_int_equal(in_order(&f, tagged(stag, 0x5000, false), 10), 0);
	assert_int_equal(in_order(&f, tagged(4, UINT64_MAX, true), 0), 0);
	assert_int_equal(deliver(&f, &m), 1);
	assert_int_equal(m.to, 0x5000);
	assert_int_equal(m.len, 20);

	assert_int_equal(in_order(&f, untagged(0, 1, 0, false), 0), 0);
	assert_int_equal(in_order(&f, untagged(0, 1, 0, false), 10), 0);
	assert_int_equal(in_order(&f, untagged(0, 1, 10, true), 0), 0);
	assert_int_equal(deliver(&f, &m), 1);
	assert_int_equal(m.len, 10);
	fixture_fini(&f);
}

/* --- order ------------------------------------------------------------------------------------ */

/* The segments of a conversation in order: Sends, Writes, Read Requests of one or more segments. */
#define SEGMENTS 64
struct conversation {
	struct iw_ddp h[SEGMENTS];
	size_t len[SEGMENTS];
	size_t n;
	size_t ends[SEGMENTS]; /* the L segments */
	size_t nends;
	size_t posted[2]; /* buffers that it needs on QN 0 and QN 1 */
};

static void make_conversation(struct fixture *f, struct conversation *c, uint32_t stag)
{
	uint32_t msn[2] = { 1, 1 };

	memset(c, 0, sizeof(*c));
	for (;;) {
		size_t pieces = 1 + rng_below(&f->rng, 4);
		size_t kind = rng_below(&f->rng, 3);
		size_t qn = kind == 2 && c->posted[1] < 2;
		bool is_tagged = kind == 1 || c->posted[qn] == (qn ? 2 : 8);

		if (c->n + pieces > SEGMENTS)
			return;
		for (size_t at = 0, k = 0; k < pieces; k++) {
			bool last = k + 1 == pieces;
			size_t len = rng_below(&f->rng, 30);

			c->h[c->n] = is_tagged
					     ? tagged(stag, 0x1000 + at, last)
					     : untagged((uint32_t)qn, msn[qn], (uint32_t)at, last);
			/* kept with an early segment, like the rest of its header */
			c->h[c->n].rsvd_rdmap = k & 3;
			c->len[c->n++] = len;
			at += len;
		}
		c->ends[c->nends++] = c->n - 1;
		if (!is_tagged) {
			msn[qn]++;
			c->posted[qn]++;
		}
	}
}

/* DDP-20, DDP-59, DDP-63..69 */
static void any_order_of_arrival_gives_the_senders_order_once(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct fixture f;
		struct conversation c;
		size_t order[2 * SEGMENTS], n = 0, delivered = 0;
		bool arrived[SEGMENTS] = { false };

		fixture_init(&f, SEGMENTS);
		f.rng.state = seed;
		make_conversation(&f, &c,
				  add(&f, region(&f, 3000, 256, 0x1000, IW_RIGHT_REMOTE_WRITE)));
		post(&f, 0, c.posted[0], 128);
		post(&f, 1, c.posted[1], 128);
		/* Each segment once, some twice, shuffled within a window. */
		for (size_t i = 0; i < c.n; i++) {
			order[n++] = i;
			if (rng_below(&f.rng, 4) == 0)
				order[n++] = i;
		}
		for (size_t i = 0; i < n; i++) {
			size_t k = i + rng_below(&f.rng, IW_MIN(n - i, 1 + seed % SEGMENTS));
			size_t swap = order[i];

			order[i] = order[k];
			order[k] = swap;
		}
		for (size_t i = 0; i < n; i++) {
			size_t seq = order[i];
			struct iw_ddp_msg m;
			int ret;

			/*
			 * RFC 5041 3, item 11: the LLP does not repeat a segment that was in order.
			 */
			if (seq < iw_ddp_next_seq(f.d))
				assert_int_equal(
					iw_ddp_arrive(f.d, seq, &c.h[seq], c.len[seq], &f.why), 0);
			else
				assert_int_equal(out_of_order(&f, seq, c.h[seq], c.len[seq]), 0);
			arrived[seq] = true;
			while ((ret = deliver(&f, &m)) > 0) {
				size_t end = c.ends[delivered++];

				for (size_t k = 0; k <= end; k++)
					assert_true(arrived[k]);
				same_header(&m.last, &c.h[end]);
				assert_int_equal(m.last_len, c.len[end]);
				if (!m.tagged)
					assert_int_equal(m.len, c.h[end].mo + c.len[end]);
			}
			assert_int_equal(ret, 0);
			/* All complete messages have been delivered. */
			for (size_t k = 0; delivered < c.nends && k <= c.ends[delivered]; k++) {
				if (!arrived[k])
					break;
				assert_int_not_equal(k, c.ends[delivered]);
			}
		}
		assert_int_equal(delivered, c.nends);
		assert_int_equal(iw_ddp_next_seq(f.d), c.n);
		fixture_fini(&f);
	}
}

/* DDP-20, DDP-66, DDP-67 */
static void whole_message_waits_for_all_before_it(void **state)
{
	struct fixture f;
	struct iw_ddp_msg m;
	uint32_t stag;

	(void)state;
	fixture_init(&f, 8);
	post(&f, 0, 2, 128);
	stag = add(&f, region(&f, 3000, 256, 0, IW_RIGHT_REMOTE_WRITE));
	assert_int_equal(out_of_order(&f, 3, untagged(0, 2, 0, true), 10), 0);
	assert_int_equal(deliver(&f, &m), 0);
	assert_int_equal(out_of_order(&f, 2, untagged(0, 1, 0, true), 10), 0);
	assert_int_equal(deliver(&f, &m), 0);
	assert_int_equal(out_of_order(&f, 0, tagged(stag, 0, false), 10), 0);
	assert_int_equal(deliver(&f, &m), 0);
	assert_int_equal(out_of_order(&f, 1, tagged(stag, 10, true), 10), 0);
	assert_int_equal(deliver(&f, &m), 1);
	assert_true(m.tagged);
	assert_int_equal(deliver(&f, &m), 1);
	assert_int_equal(m.msn, 1);
	assert_int_equal(deliver(&f, &m), 1);
	assert_int_equal(m.msn, 2);
	assert_int_equal(deliver(&f, &m), 0);
	fixture_fini(&f);
}

static void early_segments_are_kept_up_to_the_configured_distance(void **state)
{
	struct fixture f;
	struct iw_ddp_msg m;
	struct iw_ddp h = tagged(0, 0, true);
	uint64_t far = 5;
	size_t n = 0;

	(void)state;
	fixture_init(&f, 5);
	assert_int_equal(iw_ddp_arrive(f.d, far + 1, &h, 0, &f.why), IW_E_LIMIT);
	assert_fault(&f, IW_E_LIMIT);
	assert_int_equal(iw_ddp_arrive(f.d, UINT64_MAX, &h, 0, &f.why), IW_E_LIMIT);
	assert_false(f.d->failed);
	for (uint64_t seq = far; seq > 0; seq--)
		assert_int_equal(iw_ddp_arrive(f.d, seq, &h, 0, &f.why), 0);
	assert_int_equal(deliver(&f, &m), 0);
	assert_int_equal(iw_ddp_arrive(f.d, 0, &h, 0, &f.why), 0);
	while (deliver(&f, &m) > 0)
		n++;
	assert_int_equal(n, 6);
	/* The segment that was too far ahead arrives again. */
	assert_int_equal(iw_ddp_arrive(f.d, far + 1, &h, 0, &f.why), 0);
	assert_int_equal(deliver(&f, &m), 1);
	assert_int_equal(iw_ddp_next_seq(f.d), 7);
	fixture_fini(&f);
}

/* DDP-63, DDP-66: early segments are kept and removed many times. */
static void early_segments_are_kept_repeatedly(void **state)
{
	(void)state;
	for (uint32_t early_max = 1; early_max <= 9; early_max++) {
		struct fixture f;
		struct iw_ddp_msg m;
		uint64_t next = 0;

		fixture_init(&f, early_max);
		/* early_max + 1 segments in reverse order, repeatedly. */
		for (uint64_t from = 0; from < 100; from += early_max + 1) {
			for (uint64_t k = early_max + 1; k-- > 0;) {
				struct iw_ddp h = tagged((uint32_t)(from + k), 0, true);

				assert_int_equal(deliver(&f, &m), 0);
				assert_int_equal(out_of_order(&f, from + k, h, 0), 0);
			}
			for (uint64_t k = 0; k <= early_max; k++) {
				assert_int_equal(deliver(&f, &m), 1);
				assert_int_equal(m.stag, next++);
			}
		}
		assert_int_equal(iw_ddp_next_seq(f.d), next);

		/*
		 * An undelivered message does not reduce the number of early segments that are
		 * kept.
		 */
		for (uint64_t k = 0; k <= early_max + 1; k++) {
			struct iw_ddp h = tagged((uint32_t)(next + k), 0, true);

			assert_int_equal(out_of_order(&f, next + k, h, 0), 0);
		}
		for (uint64_t k = 0; k <= early_max + 1; k++) {
			assert_int_equal(deliver(&f, &m), 1);
			assert_int_equal(m.stag, next++);
		}
		assert_int_equal(deliver(&f, &m), 0);
		fixture_fini(&f);
	}
}

/* SEC-14: a segment at the end of the window needs memory for one segment only. */
static void early_segments_use_memory_for_those_held_not_for_the_gap(void **state)
{
	enum { FAR = 32767, EACH = 72, FIRST = 1024 };
	struct fixture f;
	struct iw_ddp h = tagged(0, 0, true);
	struct iw_ddp_msg m;
	size_t before, n;

	(void)state;
	fixture_init(&f, FAR);
	before = f.mem.bytes;
	assert_int_equal(iw_ddp_arrive(f.d, FAR, &h, 0, &f.why), 0);
	assert_true(f.mem.bytes - before <= FIRST);
	for (n = 1; n < FAR; n++) {
		assert_int_equal(iw_ddp_arrive(f.d, FAR - n, &h, 0, &f.why), 0);
		assert_true(f.mem.bytes - before <= FIRST + (n + 1) * EACH);
	}
	assert_int_equal(iw_ddp_arrive(f.d, 0, &h, 0, &f.why), 0);
	for (n = 0; deliver(&f, &m) > 0; n++)
		continue;
	assert_int_equal(n, FAR + 1);
	/* The memory of a burst of reordering is freed. */
	assert_true(f.mem.bytes - before <= FIRST);
	fixture_fini(&f);
}

/* DDP-63, DDP-66: numbers that share their low bits are found and removed one by one. */
static void early_segments_with_equal_low_bits_are_kept_apart(void **state)
{
	struct fixture f;
	struct iw_ddp_msg m;
	uint64_t seq;

	(void)state;
	fixture_init(&f, 32767);
	for (int round = 0; round < 3; round++) {
		uint64_t from = iw_ddp_next_seq(f.d);

		for (seq = from + 64; seq < from + 4096; seq += 64) {
			struct iw_ddp h = tagged((uint32_t)seq, 0, true);

			assert_int_equal(iw_ddp_arrive(f.d, seq, &h, 0, &f.why), 0);
			assert_int_equal(iw_ddp_arrive(f.d, seq, &h, 0, &f.why), 0);
		}
		for (seq = from; seq < from + 4096; seq++) {
			struct iw_ddp h = tagged((uint32_t)seq, 0, true);

			if (seq == from || seq % 64 != from % 64)
				assert_int_equal(iw_ddp_arrive(f.d, seq, &h, 0, &f.why), 0);
			assert_int_equal(deliver(&f, &m), 1);
			assert_int_equal(m.stag, (uint32_t)seq);
		}
	}
	fixture_fini(&f);
}

static void without_memory_for_early_segments_the_stream_continues(void **state)
{
	struct fixture f;
	struct iw_ddp_msg m;
	struct iw_ddp h = tagged(0, 0, true);

	(void)state;
	fixture_init(&f, 5);
	f.mem.fail_from = f.mem.calls + 1;
	assert_int_equal(iw_ddp_arrive(f.d, 1, &h, 0, &f.why), IW_E_NOMEM);
	assert_fault(&f, IW_E_NOMEM);
	assert_false(f.d->failed);
	assert_int_equal(iw_ddp_arrive(f.d, 0, &h, 0, &f.why), 0);
	assert_int_equal(deliver(&f, &m), 1);
	f.mem.fail_from = 0;
	assert_int_equal(iw_ddp_arrive(f.d, 2, &h, 0, &f.why), 0);
	assert_int_equal(iw_ddp_arrive(f.d, 1, &h, 0, &f.why), 0);
	assert_int_equal(deliver(&f, &m), 1);
	assert_int_equal(deliver(&f, &m), 1);
	fixture_fini(&f);
}

static void order_that_is_kept_allocates_nothing(void **state)
{
	struct fixture f;
	struct iw_ddp_msg m;
	uint32_t stag;
	size_t calls;

	(void)state;
	fixture_init(&f, 64);
	stag = add(&f, region(&f, 0, 256, 0, IW_RIGHT_REMOTE_WRITE));
	calls = f.mem.calls;
	for (uint64_t seq = 0; seq < 100; seq++) {
		bool last = seq % 3 == 2;

		assert_int_equal(out_of_order(&f, seq, tagged(stag, seq % 3 * 10, last), 10), 0);
		assert_int_equal(deliver(&f, &m), last);
	}
	assert_int_equal(f.mem.calls, calls);
	assert_int_equal(out_of_order(&f, 101, tagged(stag, 0, false), 10), 0);
	assert_int_equal(out_of_order(&f, 103, tagged(stag, 0, false), 10), 0);
	assert_int_equal(f.mem.calls, calls + 1);
	fixture_fini(&f);
}

/* DDP-65 */
static void segment_received_twice_is_counted_once(void **state)
{
	struct fixture f;
	struct iw_ddp_msg m;
	struct iw_ddp first, second;

	(void)state;
	fixture_init(&f, 8);
	post(&f, 0, 2, 128);
	first = untagged(0, 1, 0, true);
	second = untagged(0, 2, 0, true);
	assert_int_equal(out_of_order(&f, 1, second, 10), 0);
	assert_int_equal(out_of_order(&f, 1, second, 10), 0);
	assert_int_equal(out_of_order(&f, 0, first, 10), 0);
	/* Complete and in order, but not delivered yet. */
	assert_int_equal(out_of_order(&f, 0, first, 10), 0);
	assert_int_equal(out_of_order(&f, 1, second, 10), 0);
	assert_int_equal(deliver(&f, &m), 1);
	assert_int_equal(m.msn, 1);
	assert_int_equal(iw_ddp_arrive(f.d, 0, &first, 10, &f.why), 0);
	assert_int_equal(deliver(&f, &m), 1);
	assert_int_equal(m.msn, 2);
	assert_int_equal(iw_ddp_arrive(f.d, 1, &second, 10, &f.why), 0);
	assert_int_equal(deliver(&f, &m), 0);
	fixture_fini(&f);
}

/* DDP-65 */
static void early_segment_repeated_at_its_turn_is_counted_once(void **state)
{
	struct fixture f;
	struct iw_ddp_msg m;
	struct iw_ddp first = untagged(0, 1, 0, false), second = untagged(0, 1, 10, true);

	(void)state;
	fixture_init(&f, 8);
	post(&f, 0, 2, 128);
	assert_int_equal(out_of_order(&f, 1, second, 10), 0);
	assert_int_equal(out_of_order(&f, 0, first, 10), 0);
	assert_int_equal(out_of_order(&f, 1, second, 10), 0);
	assert_int_equal(deliver(&f, &m), 1);
	assert_int_equal(m.len, 20);
	assert_int_equal(deliver(&f, &m), 0);
	assert_int_equal(iw_ddp_next_seq(f.d), 2);
	for (uint64_t seq = 2; seq < 40; seq++) {
		assert_int_equal(out_of_order(&f, seq, tagged(0, 0, false), 0), 0);
		assert_int_equal(deliver(&f, &m), 0);
		assert_int_equal(iw_ddp_next_seq(f.d), seq + 1);
	}
	fixture_fini(&f);
}

static void kept_order_wants_each_message_delivered_before_the_next(void **state)
{
	struct fixture f;
	struct iw_ddp_msg m;
	struct iw_ddp h = tagged(0, 0, true);

	(void)state;
	fixture_init(&f, 0);
	assert_int_equal(in_order(&f, h, 0), 0);
	assert_int_equal(iw_ddp_in_order(f.d, &h, 0, &f.why), IW_E_STATE);
	assert_int_equal(iw_ddp_arrive(f.d, iw_ddp_next_seq(f.d), &h, 0, &f.why), IW_E_STATE);
	assert_false(f.d->failed);
	assert_int_equal(deliver(&f, &m), 1);
	assert_int_equal(in_order(&f, h, 0), 0);
	assert_int_equal(iw_ddp_arrive(f.d, iw_ddp_next_seq(f.d) + 1, &h, 0, &f.why), IW_E_LIMIT);
	assert_int_equal(deliver(&f, &m), 1);
	fixture_fini(&f);
}

/* --- the rules -------------------------------------------------------------------------------- */

/*
 * DDP-19, DDP-49: increasing MO and TO is only a SHOULD for the source (RFC 5041 5.3), so the sink
 * accepts any order.
 */
static void segments_of_a_message_may_be_sent_in_any_order_before_the_last(void **state)
{
	struct fixture f;
	struct iw_ddp_msg m;
	uint32_t stag;

	(void)state;
	fixture_init(&f, 0);
	post(&f, 0, 1, 128);
	stag = add(&f, region(&f, 3000, 256, 0x1000, IW_RIGHT_REMOTE_WRITE));
	assert_int_equal(in_order(&f, untagged(0, 1, 40, false), 20), 0);
	assert_int_equal(in_order(&f, untagged(0, 1, 0, false), 10), 0);
	assert_int_equal(in_order(&f, untagged(0, 1, 10, false), 30), 0);
	assert_int_equal(in_order(&f, untagged(0, 1, 60, true), 5), 0);
	assert_int_equal(deliver(&f, &m), 1);
	assert_int_equal(m.len, 65);
	assert_int_equal(in_order(&f, tagged(stag, 0x1020, false), 0x20), 0);
	assert_int_equal(in_order(&f, tagged(stag, 0x1010, false), 0x10), 0);
	assert_int_equal(in_order(&f, tagged(stag, 0x1040, true), 0x08), 0);
	assert_int_equal(deliver(&f, &m), 1);
	assert_int_equal(m.to, 0x1010);
	assert_int_equal(m.len, 0x38);
	assert_true(m.scattered);
	fixture_fini(&f);
}

/*
 * Overlapping segments can add up to the length of the message and leave a gap: scattered reports
 * this. It depends on the sender's order, not on the order of arrival. Segments without payload are
 * ignored.
 */
static void message_with_a_gap_under_an_overlap_is_scattered(void **state)
{
	static const struct {
		uint32_t seq, at, len;
	} fine[] = { { 2, 0x20, 8 }, { 0, 0, 0x10 }, { 1, 0x10, 0x10 } },
	  bad[] = { { 3, 0, 0x10 }, { 4, 0, 0x10 }, { 5, 0x20, 8 } };
	struct iw_ddp h;
	struct fixture f;
	struct iw_ddp_msg m;
	uint32_t stag;

	(void)state;
	fixture_init(&f, 8);
	stag = add(&f, region(&f, 0, 64, 0, IW_RIGHT_REMOTE_WRITE));
	for (size_t i = 0; i < 3; i++) {
		h = tagged(stag, fine[i].at, fine[i].seq == 2);
		assert_int_equal(iw_ddp_arrive(f.d, fine[i].seq, &h, fine[i].len, &f.why), 0);
	}
	assert_int_equal(deliver(&f, &m), 1);
	assert_int_equal(m.len, 0x28);
	assert_false(m.scattered);
	for (size_t i = 0; i < 3; i++) {
		h = tagged(stag, bad[i].at, bad[i].seq == 5);
		assert_int_equal(iw_ddp_arrive(f.d, bad[i].seq, &h, bad[i].len, &f.why), 0);
	}
	assert_int_equal(deliver(&f, &m), 1);
	assert_int_equal(m.len, 0x28); /* the announced length, though 0x10..0x20 never arrived */
	assert_true(m.scattered);
	h = tagged(stag, 0, false);
	assert_int_equal(iw_ddp_arrive(f.d, 6, &h, 8, &f.why), 0);
	h = tagged(0, 0xffff, true);
	assert_int_equal(iw_ddp_arrive(f.d, 7, &h, 0, &f.why), 0);
	assert_int_equal(deliver(&f, &m), 1);
	assert_false(m.scattered);
	fixture_fini(&f);
}

struct step {
	/*
	 * 0: untagged; 1: tagged; 2: tagged, another STag; 3: tagged, another opcode; -1: no
	 * segment
	 */
	int kind;
	uint32_t qn, msn;
	uint32_t at; /* MO, or TO */
	size_t len;
	bool last;
};

static struct iw_ddp step_header(const struct step *s, const uint32_t stag[2])
{
	struct iw_ddp h;

	if (s->kind == 0)
		return untagged(s->qn, s->msn, s->at, s->last);
	h = tagged(stag[s->kind == 2], s->at, s->last);
	if (s->kind == 3)
		h.opcode = IW_OP_RRESP;
	return h;
}

static const struct rule {
	const char *what;
	struct step steps[4]; /* the last one is refused */
	int err;
} rules[] = {
	{ "L segment not at the highest MO",
	  { { 0, 0, 1, 10, 10, false }, { 0, 0, 1, 0, 10, true } },
	  IW_E_DDP_MO },
	{ "L segment inside what came",
	  { { 0, 0, 1, 0, 20, false }, { 0, 0, 1, 10, 10, true } },
	  IW_E_DDP_MO },
	{ "hole before the L segment",
	  { { 0, 0, 1, 0, 10, false }, { 0, 0, 1, 11, 10, true } },
	  IW_E_DDP_MO },
	{ "L segment below the highest MO, though as many octets came",
	  { { 0, 0, 1, 0, 10, false }, { 0, 0, 1, 15, 5, false }, { 0, 0, 1, 15, 10, true } },
	  IW_E_DDP_MO },
	{ "only segment does not begin at 0", { { 0, 0, 1, 1, 10, true } }, IW_E_DDP_MO },
	{ "empty L segment after a gap",
	  { { 0, 0, 1, 0, 10, false }, { 0, 0, 1, 50, 0, true } },
	  IW_E_DDP_MO },
	{ "octets twice, others never",
	  { { 0, 0, 1, 0, 10, false }, { 0, 0, 1, 0, 10, false }, { 0, 0, 1, 10, 10, true } },
	  IW_E_DDP_MO },
	{ "octets twice, and as many missing before the L segment",
	  { { 0, 0, 1, 0, 10, false }, { 0, 0, 1, 0, 10, false }, { 0, 0, 1, 20, 10, true } },
	  IW_E_DDP_MO },
	{ "segment after the L segment",
	  { { 0, 0, 1, 0, 10, true }, { 0, 0, 1, 10, 10, false } },
	  IW_E_DDP_MSN },
	{ "MSN leaves one out", { { 0, 0, 2, 0, 10, true } }, IW_E_DDP_MSN },
	{ "MSN changes within a message",
	  { { 0, 0, 1, 0, 10, false }, { 0, 0, 2, 10, 10, true } },
	  IW_E_DDP_MSN },
	{ "QN changes within a message",
	  { { 0, 0, 1, 0, 10, false }, { 0, 1, 1, 10, 10, true } },
	  IW_E_DDP_MSN },
	{ "Send inside a Write",
	  { { 1, 0, 0, 0, 10, false }, { 0, 0, 1, 0, 10, true } },
	  IW_E_DDP_MSN },
	{ "Write inside a Send",
	  { { 0, 0, 1, 0, 10, false }, { 1, 0, 0, 0, 10, true } },
	  IW_E_DDP_STAG },
	{ "zero-length Write inside a Send",
	  { { 0, 0, 1, 0, 10, false }, { 1, 0, 0, 0, 0, true } },
	  IW_E_DDP_STAG },
	{ "STag changes within a message",
	  { { 1, 0, 0, 0, 10, false }, { 2, 0, 0, 10, 10, true } },
	  IW_E_DDP_STAG },
	{ "STag changes after an empty segment",
	  { { 2, 0, 0, 0, 0, false }, { 1, 0, 0, 0, 10, false }, { 2, 0, 0, 10, 10, false } },
	  IW_E_DDP_STAG },
	{ "opcode changes within a message",
	  { { 1, 0, 0, 0, 10, false }, { 3, 0, 0, 10, 10, true } },
	  IW_E_RO_OPCODE },
	{ "TO leaves octets out",
	  { { 1, 0, 0, 0, 10, false }, { 1, 0, 0, 11, 10, true } },
	  IW_E_DDP_BOUNDS },
	{ "TO goes back",
	  { { 1, 0, 0, 0, 20, false }, { 1, 0, 0, 10, 10, true } },
	  IW_E_DDP_BOUNDS },
	{ "empty segment ends a message with a gap",
	  { { 1, 0, 0, 0, 10, false }, { 1, 0, 0, 20, 10, false }, { 1, 0, 0, 0, 0, true } },
	  IW_E_DDP_BOUNDS },
	{ "Terminate after another Terminate's first segment",
	  { { 0, 2, 1, 0, 10, false }, { 0, 0, 1, 0, 10, true } },
	  IW_E_DDP_MSN },
};

static size_t steps_of(const struct rule *r)
{
	size_t n = 0;

	while (n < IW_ARRAY_LEN(r->steps) && (r->steps[n].len > 0 || r->steps[n].last))
		n++;
	/* A row may contain empty segments, so search its end backwards. */
	for (size_t i = IW_ARRAY_LEN(r->steps); i-- > n;)
		if (r->steps[i].len > 0 || r->steps[i].last)
			return i + 1;
	return n;
}

static void rules_fixture(struct fixture *f, uint32_t early_max, uint32_t stag[2])
{
	fixture_init(f, early_max);
	post(f, 0, 3, 128);
	post(f, 1, 1, 128);
	post(f, 2, 1, 128);
	stag[0] = add(f, region(f, 3000, 256, 0, IW_RIGHT_REMOTE_WRITE));
	stag[1] = add(f, region(f, 3300, 256, 0, IW_RIGHT_REMOTE_WRITE));
}

/*
 * DDP-16, DDP-17, DDP-19, DDP-28, DDP-32, DDP-37, DDP-39, DDP-40, DDP-43, DDP-44, DDP-50, DDP-52,
 * DDP-59, DDP-101, DDP-102
 */
static void segments_out_of_order_are_a_fault_and_are_not_placed(void **state)
{
	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rules); i++) {
		const struct rule *r = &rules[i];
		size_t n = steps_of(r);
		struct fixture f;
		struct iw_ddp_msg m;
		struct iw_ddp h;
		uint32_t stag[2];

		rules_fixture(&f, 0, stag);
		for (size_t k = 0; k + 1 < n; k++) {
			h = step_header(&r->steps[k], stag);
			assert_int_equal(in_order(&f, h, r->steps[k].len), 0);
			assert_int_equal(deliver(&f, &m), r->steps[k].last);
		}
		memcpy(f.area.model, f.area.real, sizeof(f.area.model));
		h = step_header(&r->steps[n - 1], stag);
		if (in_order(&f, h, r->steps[n - 1].len) != r->err)
			fail_msg("%s: %s, not %s", r->what, iw_err_name(f.why.err),
				 iw_err_name(r->err));
		assert_fault(&f, r->err);
		area_check(&f.area);
		assert_true(f.d->failed);
		assert_int_equal(deliver(&f, &m), 0);
		fixture_fini(&f);
	}
}

/* DDP-67, DDP-103: the same rules for early segments; delivery names the segment at fault. */
static void early_segment_that_breaks_the_order_is_reported_at_its_turn(void **state)
{
	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rules); i++) {
		const struct rule *r = &rules[i];
		size_t n = steps_of(r), whole = 0;
		struct fixture f;
		struct iw_ddp_msg m;
		struct iw_ddp h;
		uint32_t stag[2];
		int ret;

		rules_fixture(&f, 8, stag);
		/* The first message, which arrives last. */
		for (size_t k = n; k > 0; k--) {
			h = step_header(&r->steps[k - 1], stag);
			assert_int_equal(out_of_order(&f, k, h, r->steps[k - 1].len), 0);
			assert_int_equal(deliver(&f, &m), 0);
			whole += k < n && r->steps[k - 1].last;
		}
		h = tagged(0, 0, true);
		assert_int_equal(out_of_order(&f, 0, h, 0), 0);
		for (size_t k = 0; k < 1 + whole; k++)
			assert_int_equal(deliver(&f, &m), 1);
		ret = deliver(&f, &m);
		if (ret != r->err)
			fail_msg("%s: %s, not %s", r->what, iw_err_name(ret), iw_err_name(r->err));
		assert_fault(&f, r->err);
		h = step_header(&r->steps[n - 1], stag);
		same_header(&m.last, &h);
		assert_int_equal(m.last_len, r->steps[n - 1].len);
		assert_true(f.d->failed);
		assert_int_equal(deliver(&f, &m), 0);
		fixture_fini(&f);
	}
}

/* DDP-24, DDP-87: version and QN of a segment are checked before its order. */
static void order_is_checked_after_version_and_queue(void **state)
{
	struct fixture f;
	struct iw_ddp h = untagged(77, 77, 77, true);
	uint32_t stag[2];

	(void)state;
	rules_fixture(&f, 0, stag);
	assert_int_equal(in_order(&f, tagged(stag[0], 0, false), 10), 0);
	assert_int_equal(iw_ddp_in_order(f.d, &h, 10, &f.why), IW_E_DDP_QN);
	fixture_fini(&f);

	rules_fixture(&f, 0, stag);
	h.dv = 2;
	assert_int_equal(in_order(&f, tagged(stag[0], 0, false), 10), 0);
	assert_int_equal(iw_ddp_in_order(f.d, &h, 10, &f.why), IW_E_DDP_VERSION_U);
	fixture_fini(&f);

	/* The rules of order do not check for a buffer. */
	fixture_init(&f, 0);
	assert_int_equal(in_order(&f, untagged(0, 1, 0, true), 10), IW_E_DDP_NOBUF);
	fixture_fini(&f);
}

/* RFC 5040 5.4 */
static void terminate_may_cut_off_the_message_before_it(void **state)
{
	(void)state;
	for (uint32_t early_max = 0; early_max <= 8; early_max += 8) {
		for (int kind = 0; kind < 2; kind++) {
			struct step begun = { kind, 0, 1, 0, 10, false };
			struct fixture f;
			struct iw_ddp_msg m;
			uint32_t stag[2];

			rules_fixture(&f, early_max, stag);
			assert_int_equal(in_order(&f, step_header(&begun, stag), 10), 0);
			assert_int_equal(deliver(&f, &m), 0);
			assert_int_equal(in_order(&f, untagged(IW_QN_TERM, 1, 0, false), 10), 0);
			assert_int_equal(deliver(&f, &m), 0);
			assert_int_equal(in_order(&f, untagged(IW_QN_TERM, 1, 10, true), 9), 0);
			assert_int_equal(deliver(&f, &m), 1);
			assert_int_equal(m.qn, IW_QN_TERM);
			assert_int_equal(m.len, 19);
			assert_int_equal(m.cookie, 200);
			fixture_fini(&f);
		}
	}
}

/* DDP-67, DDP-104 */
static void messages_complete_before_a_fault_are_delivered_and_none_after_it(void **state)
{
	struct fixture f;
	struct iw_ddp_msg m;

	(void)state;
	fixture_init(&f, 8);
	post(&f, 0, 3, 128);
	assert_int_equal(out_of_order(&f, 0, untagged(0, 1, 0, true), 10), 0);
	assert_int_equal(out_of_order(&f, 1, untagged(0, 2, 0, true), 10), 0);
	assert_int_equal(out_of_order(&f, 2, tagged(1, 0, true), 10), IW_E_DDP_STAG);
	assert_int_equal(deliver(&f, &m), 1);
	assert_int_equal(m.msn, 1);
	assert_int_equal(deliver(&f, &m), 0);
	assert_int_equal(iw_ddp_posted(f.d, 0), 2);
	fixture_fini(&f);
}

/* DDP-65, SEC-06: the caller owns the buffer again, and nothing is placed in it. */
static void delivered_buffer_is_no_longer_written(void **state)
{
	struct fixture f;
	struct iw_ddp_msg m;

	(void)state;
	fixture_init(&f, 8);
	post(&f, 0, 3, 128);
	assert_int_equal(out_of_order(&f, 0, untagged(0, 1, 0, true), 10), 0);
	assert_int_equal(deliver(&f, &m), 1);
	area_expect(&f.area, 0, data, 10);
	area_check(&f.area);
	assert_int_equal(place(&f, untagged(0, 1, 10, true), data, 10), IW_E_DDP_MSN);
	area_check(&f.area);
	fixture_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(untagged_message_is_delivered_with_length_rsvdulp_and_buffer),
		cmocka_unit_test(tagged_message_is_delivered_with_stag_and_rsvdulp),
		cmocka_unit_test(rsvdulp_of_an_untagged_message_is_its_last_segments),
		cmocka_unit_test(zero_length_messages_are_delivered),
		cmocka_unit_test(segments_without_payload_add_nothing_to_a_message),
		cmocka_unit_test(any_order_of_arrival_gives_the_senders_order_once),
		cmocka_unit_test(whole_message_waits_for_all_before_it),
		cmocka_unit_test(early_segments_are_kept_up_to_the_configured_distance),
		cmocka_unit_test(early_segments_are_kept_repeatedly),
		cmocka_unit_test(early_segments_use_memory_for_those_held_not_for_the_gap),
		cmocka_unit_test(early_segments_with_equal_low_bits_are_kept_apart),
		cmocka_unit_test(without_memory_for_early_segments_the_stream_continues),
		cmocka_unit_test(order_that_is_kept_allocates_nothing),
		cmocka_unit_test(segment_received_twice_is_counted_once),
		cmocka_unit_test(early_segment_repeated_at_its_turn_is_counted_once),
		cmocka_unit_test(kept_order_wants_each_message_delivered_before_the_next),
		cmocka_unit_test(segments_of_a_message_may_be_sent_in_any_order_before_the_last),
		cmocka_unit_test(message_with_a_gap_under_an_overlap_is_scattered),
		cmocka_unit_test(segments_out_of_order_are_a_fault_and_are_not_placed),
		cmocka_unit_test(early_segment_that_breaks_the_order_is_reported_at_its_turn),
		cmocka_unit_test(order_is_checked_after_version_and_queue),
		cmocka_unit_test(terminate_may_cut_off_the_message_before_it),
		cmocka_unit_test(messages_complete_before_a_fault_are_delivered_and_none_after_it),
		cmocka_unit_test(delivered_buffer_is_no_longer_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
