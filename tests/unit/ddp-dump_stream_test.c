// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* TCP reassembly: the FPDUs are the same for each segmentation and order; holes are reported. */
#include "ddp-dump/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture_maker.h"
#include "rng.h"

#define MESSAGES   60
#define STREAM_MAX (256 * 1024)

/* Octets of an initiator in full operation: Sends and Writes of all sizes, and their ULPDUs. */
struct stream {
	uint8_t octets[STREAM_MAX];
	size_t len;
	size_t at[MESSAGES]; /* the beginning of each FPDU */
	size_t ulpdu[MESSAGES];
};

static struct stream *new_stream(bool markers, uint64_t seed)
{
	struct stream *s = calloc(1, sizeof(*s));
	struct rng r = { seed };
	uint8_t ulpdu[8192];

	assert_non_null(s);
	for (uint32_t i = 0; i < MESSAGES; i++) {
		size_t payload = rng_below(&r, i % 7 == 0 ? 6000 : 900), n;

		n = i % 2 ? make_send(ulpdu, i / 2 + 1, 0, true, payload)
			  : make_write(ulpdu, i, (uint64_t)i << 32, true, payload);
		s->at[i] = s->len;
		s->ulpdu[i] = n;
		s->len += make_fpdu(s->octets + s->len, s->len, markers, true, ulpdu, n);
		assert_true(s->len < STREAM_MAX - 10000);
	}
	return s;
}

/* All FPDUs were reported, in order, with a good CRC. */
static void assert_all_told(const struct maker *m, const struct stream *s, bool markers)
{
	assert_int_equal(count_kind(m, IW_CAP_DDP), MESSAGES);
	assert_int_equal(count_kind(m, IW_CAP_ERROR), 0);
	for (size_t i = 0; i < MESSAGES; i++) {
		const struct iw_cap_ddp *e = &nth(m, IW_CAP_DDP, i)->ev.ddp;

		assert_true(e->has_header);
		assert_int_equal(e->position, s->at[i]);
		assert_int_equal(e->segment_len, s->ulpdu[i]);
		assert_int_equal(e->crc, IW_CAP_CRC_GOOD);
		assert_int_equal(e->hdr.tagged, i % 2 == 0);
		if (i % 2)
			assert_int_equal(e->hdr.msn, i / 2 + 1);
		else
			assert_int_equal(e->hdr.to, (uint64_t)i << 32);
		if (markers)
			assert_true(e->marker == IW_CAP_MARKER_GOOD ||
				    e->marker == IW_CAP_MARKER_NONE);
		else
			assert_int_equal(e->marker, IW_CAP_MARKER_OFF);
	}
}

/* Does MPA set-up with CRCs, and markers to the responder if requested. */
static void begin(struct maker *m, const struct iw_cap_limits *limits, bool markers)
{
	maker_init(m, limits);
	set_up(m, IW_MPA_C, (uint8_t)(IW_MPA_C | (markers ? IW_MPA_M : 0)));
}

static void end(struct maker *m)
{
	maker_finish(m);
	assert_true(maker_fini(m));
}

static void segments_of_one_size(bool markers, size_t size)
{
	struct stream *s = new_stream(markers, size);
	struct maker m;

	begin(&m, NULL, markers);
	for (size_t at = 0; at < s->len; at += size)
		say(&m, 0, s->octets + at, IW_MIN(size, s->len - at));
	assert_all_told(&m, s, markers);
	end(&m);
	free(s);
}

static void any_size_of_segments_gives_the_same_fpdus(void **state)
{
	static const size_t sizes[] = { 1, 2, 3, 5, 17, 508, 511, 512, 513, 1448, 9000, 65000 };

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(sizes); i++) {
		segments_of_one_size(false, sizes[i]);
		segments_of_one_size(true, sizes[i]);
	}
}

static void ipv6_is_decoded_like_ipv4(void **state)
{
	struct stream *s = new_stream(false, 6);
	struct maker m;

	(void)state;
	maker_init(&m, NULL);
	m.v6 = true;
	set_up(&m, IW_MPA_C, IW_MPA_C);
	for (size_t at = 0; at < s->len; at += 1000)
		say(&m, 0, s->octets + at, IW_MIN((size_t)1000, s->len - at));
	assert_all_told(&m, s, false);
	assert_string_equal(m.told[0].flow.name[0], "[fd00::1]:40000");
	assert_string_equal(m.told[0].flow.name[1], "[fd00::2]:7471");
	end(&m);
	free(s);
}

/* --- out of order --- */

struct piece {
	size_t at, len;
};

/* Cuts the stream into pieces, some repeated, some overlapping, and moves each by at most reach
 * places. */
static size_t shuffle(struct rng *r, const struct stream *s, struct piece *out, size_t cap,
		      size_t reach)
{
	size_t n = 0, at = 0;

	while (at < s->len) {
		size_t len = 1 + rng_below(r, 1448);

		assert_true(n + 2 < cap);
		out[n++] = (struct piece){ at, IW_MIN(len, s->len - at) };
		if (rng_below(r, 10) == 0) {
			size_t back = rng_below(r, IW_MIN(at, (size_t)3000) + 1);
			size_t more = back + rng_below(r, 2000);

			out[n++] = (struct piece){ at - back, IW_MIN(more, s->len - (at - back)) };
		}
		at += IW_MIN(len, s->len - at);
	}
	for (size_t i = 0; i < n; i++) {
		size_t k = i + rng_below(r, IW_MIN(reach, n - i));
		struct piece p = out[i];

		out[i] = out[k];
		out[k] = p;
	}
	return n;
}

static size_t count_repeats(const struct maker *m)
{
	return count_tcp(m, IW_CAP_TCP_AGAIN) + count_tcp(m, IW_CAP_TCP_OVERLAP);
}

static void any_order_with_repeats_and_overlaps_gives_the_same_fpdus(void **state)
{
	static struct piece pieces[4096];

	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		bool markers = seed % 2;
		struct stream *s = new_stream(markers, seed);
		struct rng r = { seed };
		size_t n = shuffle(&r, s, pieces, IW_ARRAY_LEN(pieces), 1 + seed % 30);
		struct maker m;

		begin(&m, NULL, markers);
		for (size_t i = 0; i < n; i++)
			(void)tcp(&m, 0, ACK, m.seq[0] + (uint32_t)pieces[i].at, m.seq[1],
				  s->octets + pieces[i].at, pieces[i].len);
		assert_all_told(&m, s, markers);
		assert_int_equal(count_kind(&m, IW_CAP_TCP), count_repeats(&m));
		assert_true(iw_cap_totals(m.cap)->repeated_octets > 0 && count_repeats(&m) > 0);
		end(&m);
		free(s);
	}
}

static void retransmitted_octets_are_reported_with_their_former_state(void **state)
{
	static const struct {
		size_t at, len;
		enum iw_cap_tcp_kind kind;
		uint64_t again;
		bool differs;
	} rows[] = {
		{ 0, 500, IW_CAP_TCP_AGAIN, 500, false },     /* already decoded */
		{ 900, 300, IW_CAP_TCP_OVERLAP, 100, false }, /* the end of it */
		{ 1500, 500, IW_CAP_TCP_AGAIN, 500, false },  /* it is queued */
		{ 1500, 500, IW_CAP_TCP_AGAIN, 500, true },
		{ 1400, 700, IW_CAP_TCP_OVERLAP, 500, false },
	};
	struct stream *s = new_stream(false, 3);
	uint8_t junk[1000];
	struct maker m;

	(void)state;
	memset(junk, 0xee, sizeof(junk));
	begin(&m, NULL, false);
	(void)tcp(&m, 0, ACK, m.seq[0], m.seq[1], s->octets, 1000);
	(void)tcp(&m, 0, ACK, m.seq[0] + 1500, m.seq[1], s->octets + 1500, 500);
	assert_int_equal(count_kind(&m, IW_CAP_TCP), 0);
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		const struct iw_cap_tcp *e;

		m.n = 0;
		(void)tcp(&m, 0, ACK, m.seq[0] + (uint32_t)rows[i].at, m.seq[1],
			  rows[i].differs ? junk : s->octets + rows[i].at, rows[i].len);
		assert_int_equal(count_kind(&m, IW_CAP_TCP), 1);
		e = &nth(&m, IW_CAP_TCP, 0)->ev.tcp;
		assert_int_equal(e->kind, rows[i].kind);
		assert_int_equal(e->octets, rows[i].again);
		assert_int_equal(e->seq, m.seq[0] + (uint32_t)rows[i].at);
		assert_int_equal(e->why, rows[i].differs ? IW_CAP_WHY_DIFFERS : IW_CAP_WHY_NONE);
	}
	end(&m);
	free(s);
}

static void the_first_of_two_differing_copies_applies(void **state)
{
	struct stream *s = new_stream(false, 3);
	uint8_t junk[1000];
	struct maker m;

	(void)state;
	memset(junk, 0xee, sizeof(junk));
	begin(&m, NULL, false);
	/* early; again with other octets; then the octets before; then the same again */
	(void)tcp(&m, 0, ACK, m.seq[0] + 500, m.seq[1], s->octets + 500, 500);
	(void)tcp(&m, 0, ACK, m.seq[0] + 500, m.seq[1], junk, 500);
	(void)tcp(&m, 0, ACK, m.seq[0], m.seq[1], s->octets, 600);
	(void)tcp(&m, 0, ACK, m.seq[0], m.seq[1], junk, 1000);
	(void)tcp(&m, 0, ACK, m.seq[0] + 1000, m.seq[1], s->octets + 1000, 1000);
	(void)tcp(&m, 0, ACK, m.seq[0] + 2000, m.seq[1], s->octets + 2000, s->len - 2000);
	assert_all_told(&m, s, false);
	end(&m);
	free(s);
}

static void alignment_is_that_of_the_segment_that_brought_the_first_octet(void **state)
{
	struct stream *s = new_stream(false, 9);
	struct maker m;

	(void)state;
	begin(&m, NULL, false);
	for (size_t i = 0; i < MESSAGES; i++) {
		size_t to = i + 1 < MESSAGES ? s->at[i + 1] : s->len;

		/* every third FPDU is in one segment with the next */
		if (i % 3 == 0 && i + 1 < MESSAGES)
			to = i + 2 < MESSAGES ? s->at[++i + 1] : s->len;
		say(&m, 0, s->octets + (m.seq[0] - 20 - 0xfffffff1u),
		    to - (m.seq[0] - 20 - 0xfffffff1u));
	}
	assert_all_told(&m, s, false);
	for (size_t i = 0; i < MESSAGES; i++)
		assert_int_equal(iw_cap_aligned(&nth(&m, IW_CAP_DDP, i)->ev.ddp), i % 3 != 1);
	end(&m);
	free(s);
}

/* --- holes --- */

/* Sends the stream in segments of 1,000 octets, without one of them. Returns the octets left
 * out. */
static size_t say_all_but(struct maker *m, const struct stream *s, size_t skip)
{
	size_t lost = 0;

	for (size_t at = 0; at < s->len; at += 1000) {
		size_t n = IW_MIN((size_t)1000, s->len - at);

		if (at == skip) {
			m->seq[0] += (uint32_t)n;
			lost = n;
			continue;
		}
		say(m, 0, s->octets + at, n);
		/* the peer acknowledges all octets */
		(void)tcp(m, 1, ACK, m->seq[1], m->seq[0], NULL, 0);
	}
	return lost;
}

static void a_hole_that_was_acknowledged_is_skipped_and_reported(void **state)
{
	struct stream *s = new_stream(false, 11);
	const struct iw_cap_tcp *e;
	struct maker m;
	size_t lost;

	(void)state;
	begin(&m, NULL, false);
	lost = say_all_but(&m, s, 20000);
	assert_int_equal(count_tcp(&m, IW_CAP_TCP_LOSS), 1);
	e = &nth(&m, IW_CAP_TCP, 0)->ev.tcp;
	assert_int_equal(e->octets, lost);
	assert_int_equal(e->why, IW_CAP_WHY_GAP);
	assert_int_equal(e->seq, 0xfffffff0u + 1 + 20 + 20000);
	assert_int_equal(iw_cap_totals(m.cap)->lost_octets, lost);
	end(&m);
	free(s);
}

static void a_hole_is_not_skipped_before_the_peer_acknowledged_it(void **state)
{
	struct stream *s = new_stream(false, 12);
	struct maker m;

	(void)state;
	begin(&m, NULL, false);
	for (size_t at = 1000; at < s->len; at += 1000)
		(void)tcp(&m, 0, ACK, m.seq[0] + (uint32_t)at, m.seq[1], s->octets + at,
			  IW_MIN((size_t)1000, s->len - at));
	/* for an hour the peer's ACKs show that the first octets are missing */
	for (int i = 0; i < 100; i++) {
		m.now_ns += IW_SEC(36);
		(void)tcp(&m, 1, ACK, m.seq[1], m.seq[0], NULL, 0);
	}
	assert_int_equal(count_kind(&m, IW_CAP_TCP), 0);
	(void)tcp(&m, 0, ACK, m.seq[0], m.seq[1], s->octets, 1000);
	assert_all_told(&m, s, false);
	assert_int_equal(count_kind(&m, IW_CAP_TCP), 0);
	end(&m);
	free(s);
}

static void a_segment_captured_after_its_ack_is_still_used(void **state)
{
	struct stream *s = new_stream(false, 13);
	struct maker m;

	(void)state;
	begin(&m, NULL, false);
	(void)tcp(&m, 0, ACK, m.seq[0] + 1000, m.seq[1], s->octets + 1000, 1000);
	for (int i = 0; i < 10; i++)
		(void)tcp(&m, 1, ACK, m.seq[1], m.seq[0] + 2000, NULL, 0);
	(void)tcp(&m, 0, ACK, m.seq[0], m.seq[1], s->octets, 1000);
	for (size_t at = 2000; at < s->len; at += 1000)
		(void)tcp(&m, 0, ACK, m.seq[0] + (uint32_t)at, m.seq[1], s->octets + at,
			  IW_MIN((size_t)1000, s->len - at));
	assert_all_told(&m, s, false);
	assert_int_equal(count_kind(&m, IW_CAP_TCP), 0);
	end(&m);
	free(s);
}

/* The places of markers count from the first octet of full operation (RFC 5044 4.3). */
static void a_hole_within_the_first_four_octets_moves_no_marker(void **state)
{
	struct stream *s = new_stream(true, 17);

	(void)state;
	for (size_t first = 0; first < 4; first++) {
		const struct iw_cap_ddp *e;
		struct maker m;

		begin(&m, NULL, true);
		say(&m, 0, s->octets, first);
		m.seq[0] += 700;
		for (size_t at = first + 700; at < s->len; at += 1000)
			say(&m, 0, s->octets + at, IW_MIN((size_t)1000, s->len - at));
		maker_finish(&m);
		assert_int_equal(count_tcp(&m, IW_CAP_TCP_RESYNC), 1);
		assert_int_equal(nth(&m, IW_CAP_TCP, 1)->ev.tcp.why, IW_CAP_WHY_MARKER);
		assert_true(count_kind(&m, IW_CAP_DDP) > MESSAGES / 2);
		e = &nth(&m, IW_CAP_DDP, count_kind(&m, IW_CAP_DDP) - 1)->ev.ddp;
		assert_int_equal(e->position, s->at[MESSAGES - 1]);
		assert_true(maker_fini(&m));
	}
	free(s);
}

static void a_hole_at_the_end_of_the_capture_is_reported(void **state)
{
	struct stream *s = new_stream(false, 14);
	struct maker m;

	(void)state;
	begin(&m, NULL, false);
	say(&m, 0, s->octets, 1000);
	(void)tcp(&m, 0, ACK, m.seq[0] + 1000, m.seq[1], s->octets + 2000, 500);
	assert_int_equal(count_kind(&m, IW_CAP_TCP), 0);
	maker_finish(&m);
	assert_int_equal(count_tcp(&m, IW_CAP_TCP_LOSS), 1);
	assert_int_equal(nth(&m, IW_CAP_TCP, 0)->ev.tcp.octets, 1000);
	assert_int_equal(nth(&m, IW_CAP_TCP, 0)->ev.tcp.why, IW_CAP_WHY_END);
	assert_true(maker_fini(&m));
	free(s);
}

static void octets_acknowledged_but_never_captured_are_reported_at_the_end(void **state)
{
	struct stream *s = new_stream(false, 15);
	struct maker m;

	(void)state;
	begin(&m, NULL, false);
	say(&m, 0, s->octets, 1000);
	(void)tcp(&m, 1, ACK, m.seq[1], m.seq[0] + 700, NULL, 0);
	maker_finish(&m);
	assert_int_equal(count_tcp(&m, IW_CAP_TCP_LOSS), 1);
	assert_int_equal(nth(&m, IW_CAP_TCP, 0)->ev.tcp.octets, 700);
	assert_true(maker_fini(&m));
	free(s);
}

static void the_fin_that_was_not_captured_is_no_loss(void **state)
{
	struct stream *s = new_stream(false, 16);
	struct maker m;

	(void)state;
	begin(&m, NULL, false);
	say(&m, 0, s->octets, s->at[3]);
	(void)tcp(&m, 1, ACK, m.seq[1], m.seq[0] + 1, NULL, 0);
	maker_finish(&m);
	assert_int_equal(count_kind(&m, IW_CAP_TCP), 0);
	assert_true(maker_fini(&m));
	free(s);
}

/* --- limits --- */

static void queued_octets_are_limited_per_direction(void **state)
{
	static const struct iw_cap_limits limits = { .direction_octets = 64 * 1024 };
	uint8_t octets[1000] = { 0 };
	struct maker m;
	size_t before;

	(void)state;
	begin(&m, &limits, false);
	before = m.mem.bytes;
	for (uint32_t i = 1; i <= 10000; i++)
		(void)tcp(&m, 0, ACK, m.seq[0] + i * 1000, m.seq[1], octets, sizeof(octets));
	assert_true(m.mem.bytes - before <= 64 * 1024);
	assert_true(count_tcp(&m, IW_CAP_TCP_LOSS) > 0);
	assert_int_equal(nth(&m, IW_CAP_TCP, 0)->ev.tcp.why, IW_CAP_WHY_LIMIT);
	assert_int_equal(nth(&m, IW_CAP_TCP, 0)->ev.tcp.octets, 1000);
	end(&m);
}

static void queued_octets_are_limited_for_all_connections(void **state)
{
	static const struct iw_cap_limits limits = { .total_octets = 256 * 1024 };
	uint8_t octets[1000] = { 0 };
	struct maker m;

	(void)state;
	maker_init(&m, &limits);
	for (uint16_t port = 1; port <= 50; port++) {
		m.port[0] = port;
		m.seq[0] = 1;
		m.seq[1] = 1;
		set_up(&m, 0, 0);
		for (uint32_t i = 1; i <= 30; i++)
			(void)tcp(&m, 0, ACK, m.seq[0] + i * 1000, m.seq[1], octets,
				  sizeof(octets));
	}
	/* the limit does not include the three tables of 65,536 entries and the fifty
	 * connections */
	assert_true(m.mem.bytes < 256 * 1024 + 3 * 65536 * sizeof(void *) + 50 * 8192 + 65536);
	end(&m);
}

static void connections_are_limited_and_each_dropped_one_is_reported(void **state)
{
	static const struct iw_cap_limits limits = { .flows = 100 };
	struct maker m;

	(void)state;
	maker_init(&m, &limits);
	/* one iWARP connection stays among a thousand others */
	set_up(&m, 0, 0);
	for (uint16_t port = 1; port <= 1000; port++) {
		m.port[0] = port;
		handshake(&m);
		say(&m, 0, "GET / HTTP/1.0\r\n\r\n", 18);
	}
	assert_int_equal(iw_cap_totals(m.cap)->forgotten, 1001 - 100);
	assert_int_equal(count_tcp(&m, IW_CAP_TCP_FORGOTTEN), 0);
	/* a hundred iWARP connections replace it, which is reported */
	for (uint16_t port = 2001; port <= 2100; port++) {
		m.port[0] = port;
		set_up(&m, 0, 0);
	}
	assert_int_equal(count_tcp(&m, IW_CAP_TCP_FORGOTTEN), 1);
	end(&m);
}

static void closed_connections_are_forgotten_first(void **state)
{
	static const struct iw_cap_limits limits = { .flows = 10 };
	struct maker m;

	(void)state;
	maker_init(&m, &limits);
	for (uint16_t port = 1; port <= 100; port++) {
		m.port[0] = port;
		set_up(&m, 0, 0);
		say_fin(&m, 0);
		say_fin(&m, 1);
	}
	assert_int_equal(iw_cap_totals(m.cap)->forgotten, 0);
	assert_int_equal(iw_cap_totals(m.cap)->iwarp_flows, 100);
	end(&m);
}

static void nothing_is_allocated_for_what_arrives_in_order(void **state)
{
	struct stream *s = new_stream(true, 21);
	struct maker m;
	size_t calls;

	(void)state;
	begin(&m, NULL, true);
	/* a direction with markers has a list from its first marker on */
	say(&m, 0, s->octets, 700);
	calls = m.mem.calls;
	for (size_t at = 700; at < s->len; at += 700)
		say(&m, 0, s->octets + at, IW_MIN((size_t)700, s->len - at));
	assert_all_told(&m, s, true);
	assert_int_equal(m.mem.calls, calls);
	end(&m);
	free(s);
}

static void freed_blocks_are_reused(void **state)
{
	struct stream *s = new_stream(false, 22);
	struct maker m;
	size_t calls = 0;

	(void)state;
	begin(&m, NULL, false);
	for (size_t at = 0; at + 2000 <= s->len; at += 2000) {
		(void)tcp(&m, 0, ACK, m.seq[0] + 1000, m.seq[1], s->octets + at + 1000, 1000);
		(void)tcp(&m, 0, ACK, m.seq[0], m.seq[1], s->octets + at, 1000);
		m.seq[0] += 2000;
		if (!calls)
			calls = m.mem.calls;
		assert_int_equal(m.mem.calls, calls);
	}
	end(&m);
	free(s);
}

static void running_out_of_memory_anywhere_leaks_and_crashes_nowhere(void **state)
{
	struct stream *s = new_stream(false, 23);

	(void)state;
	for (size_t fail = 1; fail < 40; fail++) {
		struct counting_mem mem;
		struct iw_cap_cfg cfg = { .mem = &mem.mem };
		struct maker m;

		counting_mem_init(&mem);
		mem.fail_from = fail;
		memset(&m, 0, sizeof(m));
		if (iw_cap_new(&m.cap, &cfg) < 0) {
			assert_int_equal(mem.blocks, 0);
			continue;
		}
		m.port[0] = 1;
		m.port[1] = 2;
		set_up(&m, 0, 0);
		for (size_t at = 0; at + 2000 <= s->len; at += 2000) {
			(void)tcp(&m, 0, ACK, m.seq[0] + 1000, m.seq[1], s->octets + at + 1000,
				  1000);
			(void)tcp(&m, 0, ACK, m.seq[0], m.seq[1], s->octets + at, 1000);
			m.seq[0] += 2000;
		}
		maker_finish(&m);
		iw_cap_free(m.cap);
		free(m.told);
		assert_int_equal(mem.blocks, 0);
		assert_int_equal(mem.wrong_size, 0);
	}
	free(s);
}

/* --- FIN and RST --- */

static void fin_is_reported_once_after_all_octets(void **state)
{
	struct stream *s = new_stream(false, 31);
	struct maker m;

	(void)state;
	begin(&m, NULL, false);
	/* the FIN is captured first */
	(void)tcp(&m, 0, FIN | ACK, m.seq[0] + (uint32_t)s->len, m.seq[1], NULL, 0);
	assert_int_equal(count_kind(&m, IW_CAP_TCP), 0);
	for (size_t at = 0; at < s->len; at += 1000)
		say(&m, 0, s->octets + at, IW_MIN((size_t)1000, s->len - at));
	assert_all_told(&m, s, false);
	assert_int_equal(count_tcp(&m, IW_CAP_TCP_FIN), 1);
	say_fin(&m, 0);
	say_fin(&m, 1);
	assert_int_equal(count_tcp(&m, IW_CAP_TCP_FIN), 2);
	end(&m);
	free(s);
}

static void fin_within_an_fpdu_is_an_error(void **state)
{
	struct stream *s = new_stream(false, 32);
	const struct told *e;
	struct maker m;

	(void)state;
	begin(&m, NULL, false);
	say(&m, 0, s->octets, s->at[2] + 30);
	say_fin(&m, 0);
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 2);
	e = nth(&m, IW_CAP_ERROR, 0);
	assert_non_null(e);
	assert_int_equal(e->ev.error.err, IW_E_MPA_LOST);
	assert_int_equal(e->ev.error.offset, s->at[2]);
	assert_int_equal(iw_cap_totals(m.cap)->undecoded_octets, 30);
	end(&m);
	free(s);
}

static void reset_is_reported_after_the_loss_of_queued_octets(void **state)
{
	struct stream *s = new_stream(false, 33);
	struct maker m;

	(void)state;
	begin(&m, NULL, false);
	(void)tcp(&m, 0, ACK, m.seq[0] + 1000, m.seq[1], s->octets + 1000, 1000);
	(void)tcp(&m, 1, RST, m.seq[1], 0, NULL, 0);
	assert_int_equal(count_tcp(&m, IW_CAP_TCP_LOSS), 1);
	assert_int_equal(count_tcp(&m, IW_CAP_TCP_RESET), 1);
	assert_int_equal(m.told[m.n - 1].ev.tcp.kind, IW_CAP_TCP_RESET);
	assert_int_equal(m.told[m.n - 1].ev.from, 1);
	end(&m);
	free(s);
}

static void the_same_ports_used_again_are_another_connection(void **state)
{
	struct stream *s = new_stream(false, 34);
	struct maker m;

	(void)state;
	begin(&m, NULL, false);
	say(&m, 0, s->octets, s->at[2]);
	m.seq[0] += 70000;
	m.seq[1] += 70000;
	set_up(&m, IW_MPA_C, IW_MPA_C);
	say(&m, 0, s->octets, s->at[3]);
	assert_int_equal(count_kind(&m, IW_CAP_MPA), 4);
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 5);
	assert_int_equal(nth(&m, IW_CAP_DDP, 4)->flow.id, 1);
	assert_int_equal(iw_cap_totals(m.cap)->iwarp_flows, 2);
	/* a repeated SYN is not */
	(void)tcp(&m, 0, SYN, m.seq[0] - (uint32_t)s->at[3] - 21, 0, NULL, 0);
	say(&m, 0, s->octets + s->at[3], s->at[4] - s->at[3]);
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 6);
	assert_int_equal(iw_cap_totals(m.cap)->flows, 2);
	end(&m);
	free(s);
}

static void keep_alives_and_window_probes_do_no_harm(void **state)
{
	struct stream *s = new_stream(false, 35);
	struct maker m;

	(void)state;
	begin(&m, NULL, false);
	for (size_t at = 0; at < s->len; at += 1000) {
		say(&m, 0, s->octets + at, IW_MIN((size_t)1000, s->len - at));
		(void)tcp(&m, 0, ACK, m.seq[0] - 1, m.seq[1], NULL, 0);
		(void)tcp(&m, 0, ACK, m.seq[0] - 1, m.seq[1], "x", 1);
		(void)tcp(&m, 1, ACK, m.seq[1] - 1, m.seq[0], NULL, 0);
	}
	assert_all_told(&m, s, false);
	end(&m);
	free(s);
}

/* --- snap length --- */

static void payload_cut_by_a_snap_length_keeps_the_stream_readable(void **state)
{
	struct stream *s = new_stream(false, 41);
	struct maker m;
	size_t whole = 0;

	(void)state;
	begin(&m, NULL, false);
	m.snap = 40 + 100;
	for (size_t i = 0; i < MESSAGES; i++) {
		size_t n = (i + 1 < MESSAGES ? s->at[i + 1] : s->len) - s->at[i];

		say(&m, 0, s->octets + s->at[i], n);
		whole += n <= 100;
	}
	assert_int_equal(count_kind(&m, IW_CAP_DDP), MESSAGES);
	for (size_t i = 0; i < MESSAGES; i++) {
		const struct iw_cap_ddp *e = &nth(&m, IW_CAP_DDP, i)->ev.ddp;
		size_t n = (i + 1 < MESSAGES ? s->at[i + 1] : s->len) - s->at[i];

		assert_true(e->has_header);
		assert_int_equal(e->segment_len, s->ulpdu[i]);
		assert_int_equal(e->crc, n <= 100 ? IW_CAP_CRC_GOOD : IW_CAP_CRC_ABSENT);
		assert_int_equal(e->missing, n <= 100 ? 0 : n - 100);
	}
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	/* reported once */
	assert_int_equal(count_tcp(&m, IW_CAP_TCP_LOSS), 1);
	assert_int_equal(nth(&m, IW_CAP_TCP, 0)->ev.tcp.why, IW_CAP_WHY_SNAP);
	assert_true(nth(&m, IW_CAP_TCP, 0)->ev.tcp.sync);
	assert_int_equal(iw_cap_totals(m.cap)->losses, MESSAGES - whole);
	end(&m);
	free(s);
}

static void cut_frames_out_of_order_are_put_in_order_too(void **state)
{
	struct stream *s = new_stream(false, 42);
	struct maker m;

	(void)state;
	begin(&m, NULL, false);
	m.snap = 40 + 100;
	for (size_t i = MESSAGES; i-- > 0;) {
		size_t n = (i + 1 < MESSAGES ? s->at[i + 1] : s->len) - s->at[i];

		(void)tcp(&m, 0, ACK, m.seq[0] + (uint32_t)s->at[i], m.seq[1], s->octets + s->at[i],
			  n);
	}
	assert_int_equal(count_kind(&m, IW_CAP_DDP), MESSAGES);
	for (size_t i = 0; i < MESSAGES; i++)
		assert_int_equal(nth(&m, IW_CAP_DDP, i)->ev.ddp.position, s->at[i]);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	end(&m);
	free(s);
}

static void a_frame_cut_in_its_tcp_header_loses_the_payload_only(void **state)
{
	struct stream *s = new_stream(false, 43);
	struct maker m;

	(void)state;
	begin(&m, NULL, false);
	say(&m, 0, s->octets, s->at[2]);
	m.snap = 40;
	say(&m, 0, s->octets + s->at[2], s->at[3] - s->at[2]);
	m.snap = 0;
	say(&m, 0, s->octets + s->at[3], s->at[5] - s->at[3]);
	assert_int_equal(count_tcp(&m, IW_CAP_TCP_LOSS), 1);
	assert_false(nth(&m, IW_CAP_TCP, 0)->ev.tcp.sync);
	assert_int_equal(count_tcp(&m, IW_CAP_TCP_RESYNC), 1);
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 4);
	end(&m);
	free(s);
}

static void the_order_of_calls_is_kept(void **state)
{
	struct counting_mem mem;
	struct iw_cap_cfg cfg = { .mem = &mem.mem };
	struct iw_cap *c;
	uint8_t p[100];
	struct maker m = { .port = { 1, 2 } };
	struct iw_cap_frame f = { .link = IW_PACKET_RAW, .data = p };

	(void)state;
	counting_mem_init(&mem);
	assert_int_equal(iw_cap_new(&c, &cfg), 0);
	f.len = f.wire_len = make_ip(&m, p, 0, ACK, 1, 1, "x", 1);
	assert_int_equal(iw_cap_push(c, &f), 0);
	assert_int_equal(iw_cap_push(c, &f), IW_E_STATE);
	assert_null(iw_cap_next(c));
	assert_int_equal(iw_cap_push(c, &f), 0);
	iw_cap_free(c);
	iw_cap_free(NULL);
	assert_int_equal(mem.blocks, 0);
}

/* ddp-dump ends in this way if a frame cannot be written to its output file. */
static void finish_reports_the_events_that_were_not_fetched(void **state)
{
	uint8_t request[64], p[128];
	struct iw_cap_frame f = { .number = 9, .link = IW_PACKET_RAW, .data = p };
	struct maker m;

	(void)state;
	maker_init(&m, NULL);
	handshake(&m);
	f.len = f.wire_len = make_ip(&m, p, 0, ACK, m.seq[0], m.seq[1], request,
				     make_mpa(request, false, IW_MPA_C, 1, "private", 7));
	assert_int_equal(iw_cap_push(m.cap, &f), 0);
	maker_finish(&m);
	assert_int_equal(count_kind(&m, IW_CAP_MPA), 1);
	assert_null(iw_cap_next(m.cap));
	assert_true(maker_fini(&m));
}

/* One in three segments is missing, and the peer acknowledges all: at most a window is queued. */
static void many_holes_are_skipped_together(void **state)
{
	struct stream *s = new_stream(false, 25);
	size_t before, holes = 0;
	struct maker m;

	(void)state;
	begin(&m, NULL, false);
	before = m.mem.bytes;
	for (size_t at = 0, i = 0; at < s->len; at += 100, i++) {
		if (i % 3 == 1) {
			holes++;
			continue;
		}
		(void)tcp(&m, 0, ACK, m.seq[0] + (uint32_t)at, m.seq[1], s->octets + at,
			  IW_MIN((size_t)100, s->len - at));
		(void)tcp(&m, 1, ACK, m.seq[1], m.seq[0] + (uint32_t)at, NULL, 0);
	}
	assert_true(holes > 100);
	assert_true(m.mem.bytes < before + 80 * 2048);
	maker_finish(&m);
	assert_int_equal(count_tcp(&m, IW_CAP_TCP_LOSS), iw_cap_totals(m.cap)->losses);
	assert_true(iw_cap_totals(m.cap)->losses >= holes - 1);
	for (size_t i = 0; i < m.n; i++)
		if (m.told[i].ev.kind == IW_CAP_TCP)
			assert_int_not_equal(m.told[i].ev.tcp.why, IW_CAP_WHY_LIMIT);
	assert_true(maker_fini(&m));
	free(s);
}

static void octets_retransmitted_while_queued_are_kept_once(void **state)
{
	static const struct iw_cap_limits limits = { .direction_octets = 16 * 1024 };
	struct stream *s = new_stream(false, 24);
	struct maker m;

	(void)state;
	begin(&m, &limits, false);
	for (int i = 0; i < 1000; i++)
		(void)tcp(&m, 0, ACK, m.seq[0] + 1000 + (uint32_t)i % 2 * 500, m.seq[1],
			  s->octets + 1000 + i % 2 * 500, 1000);
	(void)tcp(&m, 0, ACK, m.seq[0], m.seq[1], s->octets, 1000);
	for (size_t at = 2000; at < s->len; at += 1000)
		(void)tcp(&m, 0, ACK, m.seq[0] + (uint32_t)at, m.seq[1], s->octets + at,
			  IW_MIN((size_t)1000, s->len - at));
	assert_all_told(&m, s, false);
	assert_int_equal(count_kind(&m, IW_CAP_TCP), count_repeats(&m));
	end(&m);
	free(s);
}

/* A reset may be forged or late: decoding continues at the same octet. */
static void octets_after_a_reset_are_still_read(void **state)
{
	struct stream *s = new_stream(true, 36);
	uint8_t frame[40];
	struct maker m;

	(void)state;
	/* in an FPDU, in the first four octets, and in a start-up frame */
	for (size_t at = 2; at < 3000; at += 900) {
		begin(&m, NULL, true);
		say(&m, 0, s->octets, at);
		(void)tcp(&m, 1, RST, m.seq[1], 0, NULL, 0);
		for (size_t i = at; i < s->len; i += 1000)
			say(&m, 0, s->octets + i, IW_MIN((size_t)1000, s->len - i));
		assert_all_told(&m, s, true);
		assert_int_equal(count_tcp(&m, IW_CAP_TCP_RESET), 1);
		end(&m);
	}
	for (size_t at = 1; at < 26; at++) {
		maker_init(&m, NULL);
		handshake(&m);
		make_mpa(frame, false, IW_MPA_C, 1, "abcdef", 6);
		say(&m, 0, frame, at);
		(void)tcp(&m, 1, RST, m.seq[1], 0, NULL, 0);
		say(&m, 0, frame + at, 26 - at);
		assert_int_equal(count_kind(&m, IW_CAP_MPA), 1);
		assert_memory_equal(nth(&m, IW_CAP_MPA, 0)->pd, "abcdef", 6);
		end(&m);
	}
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_size_of_segments_gives_the_same_fpdus),
		cmocka_unit_test(ipv6_is_decoded_like_ipv4),
		cmocka_unit_test(any_order_with_repeats_and_overlaps_gives_the_same_fpdus),
		cmocka_unit_test(retransmitted_octets_are_reported_with_their_former_state),
		cmocka_unit_test(the_first_of_two_differing_copies_applies),
		cmocka_unit_test(alignment_is_that_of_the_segment_that_brought_the_first_octet),
		cmocka_unit_test(a_hole_that_was_acknowledged_is_skipped_and_reported),
		cmocka_unit_test(a_hole_is_not_skipped_before_the_peer_acknowledged_it),
		cmocka_unit_test(a_segment_captured_after_its_ack_is_still_used),
		cmocka_unit_test(a_hole_within_the_first_four_octets_moves_no_marker),
		cmocka_unit_test(a_hole_at_the_end_of_the_capture_is_reported),
		cmocka_unit_test(octets_acknowledged_but_never_captured_are_reported_at_the_end),
		cmocka_unit_test(the_fin_that_was_not_captured_is_no_loss),
		cmocka_unit_test(queued_octets_are_limited_per_direction),
		cmocka_unit_test(queued_octets_are_limited_for_all_connections),
		cmocka_unit_test(connections_are_limited_and_each_dropped_one_is_reported),
		cmocka_unit_test(closed_connections_are_forgotten_first),
		cmocka_unit_test(nothing_is_allocated_for_what_arrives_in_order),
		cmocka_unit_test(freed_blocks_are_reused),
		cmocka_unit_test(running_out_of_memory_anywhere_leaks_and_crashes_nowhere),
		cmocka_unit_test(fin_is_reported_once_after_all_octets),
		cmocka_unit_test(fin_within_an_fpdu_is_an_error),
		cmocka_unit_test(reset_is_reported_after_the_loss_of_queued_octets),
		cmocka_unit_test(octets_after_a_reset_are_still_read),
		cmocka_unit_test(the_same_ports_used_again_are_another_connection),
		cmocka_unit_test(keep_alives_and_window_probes_do_no_harm),
		cmocka_unit_test(payload_cut_by_a_snap_length_keeps_the_stream_readable),
		cmocka_unit_test(cut_frames_out_of_order_are_put_in_order_too),
		cmocka_unit_test(a_frame_cut_in_its_tcp_header_loses_the_payload_only),
		cmocka_unit_test(the_order_of_calls_is_kept),
		cmocka_unit_test(finish_reports_the_events_that_were_not_fetched),
		cmocka_unit_test(many_holes_are_skipped_together),
		cmocka_unit_test(octets_retransmitted_while_queued_are_kept_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
