// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* MPA start-up in captures: where it begins, what is agreed, and missing frames (RFC 5044 7.1, RFC
 * 6581). */
#include "ddp-dump/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture_maker.h"

/* Sends a Send from an end, with an MSN, at a position of the stream. Returns its length. */
static size_t say_send(struct maker *m, unsigned from, uint64_t pos, uint32_t msn, bool markers,
		       bool crc)
{
	uint8_t ulpdu[100], fpdu[200];
	size_t n = make_fpdu(fpdu, pos, markers, crc, ulpdu, make_send(ulpdu, msn, 0, true, 40));

	say(m, from, fpdu, n);
	return n;
}

static const struct iw_cap_mpa *mpa(const struct maker *m, size_t i)
{
	const struct told *t = nth(m, IW_CAP_MPA, i);

	assert_non_null(t);
	return &t->ev.mpa;
}

static const struct iw_cap_ddp *ddp(const struct maker *m, size_t i)
{
	const struct told *t = nth(m, IW_CAP_DDP, i);

	assert_non_null(t);
	return &t->ev.ddp;
}

static void end(struct maker *m)
{
	maker_finish(m);
	assert_true(maker_fini(m));
}

/* --- agreement --- */

/* RFC 5044 7.1.1: C of either frame turns on the CRC; M of a frame requests markers in the octets
 * that its sender receives. */
static void flags_of_both_frames_decide(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 16; i++) {
		uint8_t request = (uint8_t)((i & 1 ? IW_MPA_C : 0) | (i & 2 ? IW_MPA_M : 0));
		uint8_t reply = (uint8_t)((i & 4 ? IW_MPA_C : 0) | (i & 8 ? IW_MPA_M : 0));
		bool crc = i & 5, to_initiator = i & 2, to_responder = i & 8;
		struct maker m;

		maker_init(&m, NULL);
		set_up(&m, request, reply);
		assert_false(mpa(&m, 0)->agreed);
		assert_true(mpa(&m, 1)->agreed);
		assert_int_equal(mpa(&m, 1)->crc_on, crc);
		assert_int_equal(mpa(&m, 1)->markers_to_initiator, to_initiator);
		assert_int_equal(mpa(&m, 1)->markers_to_responder, to_responder);
		say_send(&m, 0, 0, 1, to_responder, crc);
		say_send(&m, 1, 0, 1, to_initiator, crc);
		assert_int_equal(count_kind(&m, IW_CAP_DDP), 2);
		assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
		for (size_t k = 0; k < 2; k++)
			assert_int_equal(ddp(&m, k)->crc, crc ? IW_CAP_CRC_GOOD : IW_CAP_CRC_OFF);
		assert_int_equal(ddp(&m, 0)->marker,
				 to_responder ? IW_CAP_MARKER_GOOD : IW_CAP_MARKER_OFF);
		assert_int_equal(ddp(&m, 1)->marker,
				 to_initiator ? IW_CAP_MARKER_GOOD : IW_CAP_MARKER_OFF);
		end(&m);
	}
}

/* RFC 5044 appendix C */
static void an_rdmac_reply_puts_markers_and_crc_on_both_ways(void **state)
{
	struct maker m;

	(void)state;
	maker_init(&m, NULL);
	handshake(&m);
	say_mpa(&m, 0, false, 0, 1, NULL, 0);
	say_mpa(&m, 1, true, IW_MPA_M | IW_MPA_C, 0, NULL, 0);
	assert_true(mpa(&m, 1)->crc_on && mpa(&m, 1)->markers_to_initiator &&
		    mpa(&m, 1)->markers_to_responder);
	say_send(&m, 0, 0, 1, true, true);
	say_send(&m, 1, 0, 1, true, true);
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 2);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	end(&m);
}

static void enhanced_data_and_private_data_are_distinguished(void **state)
{
	static const uint8_t pd[] = { 0xbf, 0xff, 0x40, 0x07, 'h', 'i' };
	struct maker m;

	(void)state;
	maker_init(&m, NULL);
	handshake(&m);
	say_mpa(&m, 0, false, IW_MPA_S, 2, pd, sizeof(pd));
	assert_true(mpa(&m, 0)->enhanced);
	assert_true(mpa(&m, 0)->enh.peer_to_peer && mpa(&m, 0)->enh.rtr_read);
	assert_int_equal(mpa(&m, 0)->enh.ird, 0x3fff);
	assert_int_equal(mpa(&m, 0)->enh.ord, 7);
	assert_int_equal(mpa(&m, 0)->pd_len, 2);
	assert_memory_equal(nth(&m, IW_CAP_MPA, 0)->pd, "hi", 2);
	/* RFC 5044: in Rev 1 the bit is reserved, and all octets are Private Data */
	m.port[0]++;
	handshake(&m);
	say_mpa(&m, 0, false, IW_MPA_S, 1, pd, sizeof(pd));
	assert_false(mpa(&m, 1)->enhanced);
	assert_int_equal(mpa(&m, 1)->pd_len, 6);
	end(&m);
}

static void private_data_of_the_longest_size_is_kept_whole(void **state)
{
	uint8_t pd[IW_MPA_PD_MAX];
	struct maker m;

	(void)state;
	for (size_t i = 0; i < sizeof(pd); i++)
		pd[i] = (uint8_t)i;
	maker_init(&m, NULL);
	handshake(&m);
	say_mpa(&m, 0, false, 0, 1, pd, sizeof(pd));
	say_mpa(&m, 1, true, 0, 1, pd, sizeof(pd));
	say_send(&m, 0, 0, 1, false, false);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(mpa(&m, i)->pd_len, sizeof(pd));
		assert_memory_equal(nth(&m, IW_CAP_MPA, i)->pd, pd, sizeof(pd));
	}
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 1);
	end(&m);
}

/* --- where it begins --- */

static void streaming_mode_may_come_first(void **state)
{
	struct maker m;
	char talk[3000];

	(void)state;
	memset(talk, 'M', sizeof(talk));
	maker_init(&m, NULL);
	handshake(&m);
	say(&m, 0, talk, sizeof(talk));
	say(&m, 1, "220 hello\r\n", 11);
	say(&m, 0, "MPA ID Re", 9);
	say(&m, 0, "x", 1);
	say_mpa(&m, 0, false, 0, 1, NULL, 0);
	say(&m, 1, "250 MPA ID R", 12);
	say_mpa(&m, 1, true, 0, 1, NULL, 0);
	say_send(&m, 0, 0, 1, false, false);
	say_send(&m, 1, 0, 1, false, false);
	assert_int_equal(count_kind(&m, IW_CAP_MPA), 2);
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 2);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	end(&m);
}

static void the_octets_of_set_up_may_be_split_anywhere(void **state)
{
	uint8_t request[40], reply[40];
	size_t request_len = make_mpa(request, false, IW_MPA_C, 1, "abc", 3),
	       reply_len = make_mpa(reply, true, 0, 1, "de", 2);

	(void)state;
	for (size_t cut = 1; cut < request_len; cut++) {
		struct maker m;

		maker_init(&m, NULL);
		handshake(&m);
		say(&m, 0, request, cut);
		say(&m, 0, request + cut, request_len - cut);
		say(&m, 1, reply, IW_MIN(cut, reply_len));
		if (cut < reply_len)
			say(&m, 1, reply + cut, reply_len - cut);
		say_send(&m, 0, 0, 1, false, true);
		assert_int_equal(count_kind(&m, IW_CAP_MPA), 2);
		assert_int_equal(mpa(&m, 0)->pd_len, 3);
		assert_int_equal(ddp(&m, 0)->crc, IW_CAP_CRC_GOOD);
		end(&m);
	}
}

static void fpdus_in_the_segment_of_the_reply_are_found(void **state)
{
	uint8_t p[200], ulpdu[64];
	struct maker m;
	size_t n;

	(void)state;
	maker_init(&m, NULL);
	handshake(&m);
	say_mpa(&m, 0, false, 0, 1, NULL, 0);
	n = make_mpa(p, true, 0, 1, NULL, 0);
	n += make_fpdu(p + n, 0, false, false, ulpdu, make_send(ulpdu, 1, 0, true, 10));
	say(&m, 1, p, n);
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 1);
	/* and the responder sent too early */
	assert_int_equal(nth(&m, IW_CAP_DDP, 0)->ev.deviations, IW_CAP_DEV_EARLY);
	assert_false(iw_cap_aligned(ddp(&m, 0)));
	end(&m);
}

static void only_the_responders_first_fpdu_can_be_early(void **state)
{
	struct maker m;

	(void)state;
	maker_init(&m, NULL);
	set_up(&m, 0, 0);
	say_send(&m, 1, 0, 1, false, false);
	say_send(&m, 1, 64, 2, false, false);
	assert_int_equal(nth(&m, IW_CAP_DDP, 0)->ev.deviations, IW_CAP_DEV_EARLY);
	assert_int_equal(nth(&m, IW_CAP_DDP, 1)->ev.deviations, 0);
	m.port[0]++;
	set_up(&m, 0, 0);
	say_send(&m, 0, 0, 1, false, false);
	say_send(&m, 1, 0, 1, false, false);
	assert_int_equal(nth(&m, IW_CAP_DDP, 2)->ev.deviations, 0);
	assert_int_equal(nth(&m, IW_CAP_DDP, 3)->ev.deviations, 0);
	/* and the two Replies that agree on no CRCs */
	assert_int_equal(iw_cap_totals(m.cap)->deviations, 1 + 2);
	end(&m);
}

static void text_about_mpa_is_not_mpa(void **state)
{
	static const char text[] =
		"the key is \"MPA ID Req Frame\" for a Request and MPA ID Rep Frame for a Reply, MPA ID Req Frame.";
	struct maker m;

	(void)state;
	maker_init(&m, NULL);
	handshake(&m);
	say(&m, 1, text, sizeof(text) - 1);
	say(&m, 0, "thanks", 6);
	/* The real key follows directly: its "MPA" is where flags and Rev of a frame would be. */
	say(&m, 0, "see MPA ID Req FrameMP", 22);
	say(&m, 0, "A ID Req Frame\0\1\0\0", 18);
	assert_int_equal(count_kind(&m, IW_CAP_MPA), 1);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	say_mpa(&m, 1, true, 0, 1, NULL, 0);
	say_send(&m, 0, 0, 1, false, false);
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 1);
	end(&m);
}

static void the_key_is_searched_up_to_a_limit_and_at_each_segment_start(void **state)
{
	static const struct iw_cap_limits limits = { .search_octets = 10000 };
	uint8_t junk[1000] = { 0 }, both[1020];
	struct maker m;

	(void)state;
	maker_init(&m, &limits);
	handshake(&m);
	for (int i = 0; i < 100; i++) {
		say(&m, 0, junk, sizeof(junk));
		say(&m, 1, junk, sizeof(junk));
	}
	/* within a segment, after the search limit: not found */
	memset(both, 0, sizeof(both));
	make_mpa(both + 1000, false, 0, 1, NULL, 0);
	say(&m, 0, both, sizeof(both));
	assert_int_equal(count_kind(&m, IW_CAP_MPA), 0);
	/* at the start of a segment: found */
	say_mpa(&m, 0, false, 0, 1, NULL, 0);
	say_mpa(&m, 1, true, 0, 1, NULL, 0);
	say_send(&m, 0, 0, 1, false, false);
	assert_int_equal(count_kind(&m, IW_CAP_MPA), 2);
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 1);
	end(&m);
}

static void a_capture_that_begins_in_mid_connection_finds_a_later_request(void **state)
{
	struct maker m;

	(void)state;
	maker_init(&m, NULL);
	say(&m, 1, "before", 6);
	say(&m, 0, "before", 6);
	say_mpa(&m, 0, false, 0, 1, NULL, 0);
	say_mpa(&m, 1, true, 0, 1, NULL, 0);
	say_send(&m, 0, 0, 1, false, false);
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 1);
	assert_int_equal(nth(&m, IW_CAP_DDP, 0)->flow.initiator, 1);
	end(&m);
}

/* RFC 5044 7.1.2: after R = 1 TCP stays open, and the ULP may try MPA again. */
static void a_reject_leaves_room_for_another_request(void **state)
{
	struct maker m;

	(void)state;
	maker_init(&m, NULL);
	handshake(&m);
	say_mpa(&m, 0, false, IW_MPA_M, 1, NULL, 0);
	say_mpa(&m, 1, true, IW_MPA_R, 1, "no", 2);
	assert_false(mpa(&m, 1)->agreed);
	say(&m, 0, "then without", 12);
	say_mpa(&m, 0, false, 0, 1, NULL, 0);
	say_mpa(&m, 1, true, 0, 1, NULL, 0);
	say_send(&m, 0, 0, 1, false, false);
	assert_int_equal(count_kind(&m, IW_CAP_MPA), 4);
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 1);
	assert_int_equal(ddp(&m, 0)->marker, IW_CAP_MARKER_OFF);
	assert_int_equal(iw_cap_totals(m.cap)->iwarp_flows, 1);
	end(&m);
}

/* --- faulty frames --- */

static void broken_frames_are_errors(void **state)
{
	static const uint8_t pd[600];
	static const struct {
		const char *what;
		bool reply;
		uint8_t flags, rev;
		size_t pd_len;
		const char *clause;
	} rows[] = {
		{ "PD_Length above 512", false, 0, 1, 513, "RFC 5044 7.1.2" },
		{ "a Reply with PD_Length above 512", true, 0, 1, 600, "RFC 5044 7.1.2" },
		{ "S without enhanced data", false, IW_MPA_S, 2, 3, "RFC 6581 6" },
		{ "an enhanced Reply to a plain Request", true, IW_MPA_S, 2, 4, "RFC 6581 6" },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		struct maker m;

		maker_init(&m, NULL);
		handshake(&m);
		if (rows[i].reply)
			say_mpa(&m, 0, false, 0, 2, NULL, 0);
		say_mpa(&m, rows[i].reply, rows[i].reply, rows[i].flags, rows[i].rev, pd,
			rows[i].pd_len);
		assert_int_equal(count_kind(&m, IW_CAP_ERROR), 1);
		assert_int_equal(nth(&m, IW_CAP_ERROR, 0)->ev.error.err, IW_E_MPA_FRAME);
		assert_string_equal(nth(&m, IW_CAP_ERROR, 0)->ev.error.clause, rows[i].clause);
		assert_int_equal(nth(&m, IW_CAP_ERROR, 0)->ev.from, rows[i].reply);
		end(&m);
	}
}

static void two_initiators_are_an_error_of_the_second(void **state)
{
	struct maker m;

	(void)state;
	maker_init(&m, NULL);
	handshake(&m);
	say_mpa(&m, 0, false, 0, 1, NULL, 0);
	say_mpa(&m, 1, false, 0, 1, NULL, 0);
	assert_int_equal(count_kind(&m, IW_CAP_MPA), 2);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 1);
	assert_int_equal(nth(&m, IW_CAP_ERROR, 0)->ev.from, 1);
	say_send(&m, 0, 0, 1, false, false);
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 0);
	end(&m);
}

/* --- frames out of order or missing --- */

static void a_reply_captured_before_its_request_is_understood(void **state)
{
	uint8_t request[20], reply[20];
	struct maker m;

	(void)state;
	make_mpa(request, false, IW_MPA_M, 1, NULL, 0);
	make_mpa(reply, true, IW_MPA_C, 1, NULL, 0);
	maker_init(&m, NULL);
	handshake(&m);
	(void)tcp(&m, 1, ACK, m.seq[1], m.seq[0] + 20, reply, 20);
	(void)tcp(&m, 0, ACK, m.seq[0], m.seq[1], request, 20);
	m.seq[0] += 20;
	m.seq[1] += 20;
	assert_int_equal(count_kind(&m, IW_CAP_MPA), 2);
	assert_int_equal(mpa(&m, 0)->frame.kind, IW_MPA_REPLY);
	assert_true(mpa(&m, 1)->agreed && mpa(&m, 1)->crc_on && mpa(&m, 1)->markers_to_initiator);
	say_send(&m, 0, 0, 1, false, true);
	say_send(&m, 1, 0, 1, true, true);
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 2);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	assert_int_equal(count_kind(&m, IW_CAP_TCP), 0);
	end(&m);
}

static void fpdus_captured_before_the_reply_wait_for_it(void **state)
{
	uint8_t reply[20];
	struct maker m;
	uint32_t at;

	(void)state;
	make_mpa(reply, true, IW_MPA_C | IW_MPA_M, 1, NULL, 0);
	maker_init(&m, NULL);
	handshake(&m);
	say_mpa(&m, 0, false, 0, 1, NULL, 0);
	at = m.seq[1];
	m.seq[1] += 20;
	say_send(&m, 0, 0, 1, true, true);
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 0);
	(void)tcp(&m, 1, ACK, at, m.seq[0] - 68, reply, 20);
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 1);
	assert_int_equal(ddp(&m, 0)->crc, IW_CAP_CRC_GOOD);
	assert_int_equal(ddp(&m, 0)->marker, IW_CAP_MARKER_GOOD);
	assert_int_equal(ddp(&m, 0)->first_frame, 5);
	end(&m);
}

/* The Reply was not captured; the octets show what it agreed. */
static void without_the_reply_markers_and_crc_are_seen_from_the_octets(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		bool markers = i & 1, crc = i & 2;
		struct maker m;

		maker_init(&m, NULL);
		handshake(&m);
		say_mpa(&m, 0, false, 0, 1, NULL, 0);
		m.seq[1] += 20;
		say_send(&m, 0, 0, 1, markers, crc);
		say_send(&m, 1, 0, 1, false, crc);
		for (uint32_t k = 2; k < 30; k++) {
			say_send(&m, 0, (markers ? 4 : 0) + 64 * (k - 1), k, markers && k < 9, crc);
			if (k == 8)
				break;
			say_send(&m, 1, 64 * (k - 1), k, false, crc);
		}
		maker_finish(&m);
		assert_int_equal(count_tcp(&m, IW_CAP_TCP_LOSS), 1);
		assert_int_equal(nth(&m, IW_CAP_TCP, 0)->ev.tcp.octets, 20);
		assert_int_equal(nth(&m, IW_CAP_TCP, 0)->ev.from, 1);
		assert_int_equal(count_kind(&m, IW_CAP_DDP), 8 + 7);
		for (size_t k = 0; k < 15; k++)
			assert_int_equal(ddp(&m, k)->crc, crc ? IW_CAP_CRC_GOOD : IW_CAP_CRC_OFF);
		assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
		assert_true(maker_fini(&m));
	}
}

static void without_the_request_its_end_is_known_from_the_replys_ack(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		bool markers = i & 1, crc = i & 2;
		uint8_t reply[20];
		struct maker m;

		make_mpa(reply, true, (uint8_t)((markers ? IW_MPA_M : 0) | (crc ? IW_MPA_C : 0)), 1,
			 NULL, 0);
		maker_init(&m, NULL);
		handshake(&m);
		m.seq[0] += 20;
		say(&m, 1, reply, 20);
		say_send(&m, 0, 0, 1, markers, crc);
		say_send(&m, 1, 0, 1, false, crc);
		for (uint32_t k = 2; k < 8; k++) {
			say_send(&m, 0, (markers ? 4 : 0) + 64 * (k - 1), k, markers, crc);
			say_send(&m, 1, 64 * (k - 1), k, false, crc);
		}
		maker_finish(&m);
		assert_int_equal(nth(&m, IW_CAP_MPA, 0)->flow.initiator, 0);
		assert_true(count_tcp(&m, IW_CAP_TCP_LOSS) > 0);
		assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
		assert_int_equal(count_kind(&m, IW_CAP_DDP), 14);
		for (size_t k = 0; k < 14; k++)
			assert_int_equal(ddp(&m, k)->crc, crc ? IW_CAP_CRC_GOOD : IW_CAP_CRC_OFF);
		assert_true(maker_fini(&m));
	}
}

static void a_capture_that_begins_with_the_reply_is_followed(void **state)
{
	struct maker m;

	(void)state;
	maker_init(&m, NULL);
	/* the first packet is the Reply; its ACK is the end of the Request */
	say_mpa(&m, 1, true, IW_MPA_C, 1, NULL, 0);
	say_send(&m, 0, 0, 1, false, true);
	say_send(&m, 1, 0, 1, false, true);
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 2);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	assert_int_equal(nth(&m, IW_CAP_DDP, 0)->ev.from,
			 (unsigned)nth(&m, IW_CAP_DDP, 0)->flow.initiator);
	end(&m);
}

static void private_data_cut_by_a_snap_length_is_reported_as_short(void **state)
{
	uint8_t pd[300];
	struct maker m;

	(void)state;
	memset(pd, 'p', sizeof(pd));
	maker_init(&m, NULL);
	m.snap = 40 + 80;
	handshake(&m);
	say_mpa(&m, 0, false, 0, 1, pd, sizeof(pd));
	say_mpa(&m, 1, true, IW_MPA_C, 1, pd, sizeof(pd));
	m.snap = 0;
	say_send(&m, 0, 0, 1, false, true);
	say_send(&m, 1, 0, 1, false, true);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(mpa(&m, i)->frame.pd_len, 300);
		assert_int_equal(mpa(&m, i)->pd_len, 60);
	}
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 2);
	assert_int_equal(ddp(&m, 1)->crc, IW_CAP_CRC_GOOD);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	end(&m);
}

static void a_frame_header_that_is_not_whole_ends_the_direction(void **state)
{
	struct maker m;

	(void)state;
	maker_init(&m, NULL);
	m.snap = 40 + 18;
	handshake(&m);
	say_mpa(&m, 0, false, 0, 1, "abcdef", 6);
	assert_int_equal(count_kind(&m, IW_CAP_MPA), 0);
	assert_int_equal(count_tcp(&m, IW_CAP_TCP_LOSS), 1);
	assert_false(nth(&m, IW_CAP_TCP, 0)->ev.tcp.sync);
	end(&m);
}

static void octets_queued_for_a_missing_reply_are_read_at_the_end(void **state)
{
	struct maker m;

	(void)state;
	maker_init(&m, NULL);
	handshake(&m);
	say_mpa(&m, 0, false, IW_MPA_C, 1, NULL, 0);
	say_send(&m, 0, 0, 1, false, true);
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 0);
	maker_finish(&m);
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 1);
	assert_int_equal(ddp(&m, 0)->crc, IW_CAP_CRC_GOOD);
	assert_true(maker_fini(&m));
}

static void octets_queued_for_a_reply_are_limited(void **state)
{
	static const struct iw_cap_limits limits = { .direction_octets = 16 * 1024 };
	struct maker m;

	(void)state;
	maker_init(&m, &limits);
	handshake(&m);
	say_mpa(&m, 0, false, IW_MPA_C, 1, NULL, 0);
	for (uint32_t k = 1; k <= 100; k++)
		say_send(&m, 0, 64 * (k - 1), k, false, true);
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 100);
	end(&m);
}

static void a_connection_closed_instead_of_a_reply_is_no_error(void **state)
{
	struct maker m;

	(void)state;
	maker_init(&m, NULL);
	handshake(&m);
	say_mpa(&m, 0, false, 0, 3, NULL, 0);
	say_fin(&m, 1);
	say_fin(&m, 0);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	assert_int_equal(count_tcp(&m, IW_CAP_TCP_FIN), 2);
	assert_string_equal(nth(&m, IW_CAP_TCP, 1)->ev.tcp.where, "MPA set-up");
	end(&m);
}

static void first_fpdu_after_a_cut_off_frame_is_searched_for(void **state)
{
	uint8_t p[1000], pd[100], ulpdu[64];
	struct maker m;
	size_t n;

	(void)state;
	memset(pd, 'p', sizeof(pd));
	maker_init(&m, NULL);
	handshake(&m);
	say_mpa(&m, 0, false, IW_MPA_C, 1, NULL, 0);
	/* the Reply and two FPDUs in one segment, cut within the Private Data */
	n = make_mpa(p, true, IW_MPA_C, 1, pd, sizeof(pd));
	n += make_fpdu(p + n, 0, false, true, ulpdu, make_send(ulpdu, 1, 0, true, 40));
	n += make_fpdu(p + n, 64, false, true, ulpdu, make_send(ulpdu, 2, 0, true, 40));
	m.snap = 40 + 50;
	say(&m, 1, p, n);
	m.snap = 0;
	say_send(&m, 1, 128, 3, false, true);
	say_send(&m, 0, 0, 1, false, true);
	assert_int_equal(mpa(&m, 1)->pd_len, 30);
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 2);
	assert_int_equal(ddp(&m, 0)->hdr.msn, 3);
	assert_int_equal(ddp(&m, 0)->position, 128);
	assert_int_equal(ddp(&m, 0)->crc, IW_CAP_CRC_GOOD);
	assert_int_equal(count_tcp(&m, IW_CAP_TCP_RESYNC), 1);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	end(&m);
}

static void the_search_for_a_reply_begins_with_the_request(void **state)
{
	static const struct iw_cap_limits limits = { .search_octets = 10000 };
	uint8_t junk[1000] = { 0 }, p[1020] = { 0 };
	struct maker m;

	(void)state;
	maker_init(&m, &limits);
	handshake(&m);
	for (int i = 0; i < 10; i++)
		say(&m, 1, junk, sizeof(junk));
	say_mpa(&m, 0, false, 0, 1, NULL, 0);
	/* the end of streaming mode, followed by the Reply in the same segment */
	make_mpa(p + 1000, true, 0, 1, NULL, 0);
	for (int i = 0; i < 5; i++)
		say(&m, 1, junk, sizeof(junk));
	say(&m, 1, p, sizeof(p));
	assert_int_equal(count_kind(&m, IW_CAP_MPA), 2);
	end(&m);
}

/* --- deviations --- */

static unsigned reply_to(uint8_t request, uint8_t request_rev, const void *pd, size_t pd_len,
			 uint8_t reply, uint8_t reply_rev, const void *answer, size_t answer_len)
{
	struct maker m;
	unsigned dev;

	maker_init(&m, NULL);
	handshake(&m);
	say_mpa(&m, 0, false, request, request_rev, pd, pd_len);
	say_mpa(&m, 1, true, reply, reply_rev, answer, answer_len);
	dev = nth(&m, IW_CAP_MPA, 1)->ev.deviations;
	end(&m);
	return dev;
}

static void deviations_of_a_reply_from_its_request_are_reported(void **state)
{
	static const uint8_t one[] = { 0, 1, 0, 1 }, two[] = { 0, 1, 0, 2 }, none[4],
			     max[] = { 0, 1, 0x3f, 0xff };
	const uint8_t c = IW_MPA_C, m = IW_MPA_M, r = IW_MPA_R, s = IW_MPA_S;

	(void)state;
	/* RFC 5044 4.4 */
	assert_int_equal(reply_to(0, 1, NULL, 0, 0, 1, NULL, 0), IW_CAP_DEV_NO_CRC);
	assert_int_equal(reply_to(c, 1, NULL, 0, 0, 1, NULL, 0), 0);
	assert_int_equal(reply_to(0, 1, NULL, 0, c, 1, NULL, 0), 0);
	/* RFC 5044 4.3 */
	assert_int_equal(reply_to(m, 1, NULL, 0, r, 1, NULL, 0), IW_CAP_DEV_NO_MARKS);
	assert_int_equal(reply_to(m | s, 2, one, 4, r | s, 2, none, 4), IW_CAP_DEV_NO_MARKS);
	/* the ULP rejects for its own reasons */
	assert_int_equal(reply_to(m, 1, NULL, 0, r, 1, "no", 2), 0);
	assert_int_equal(reply_to(0, 1, NULL, 0, r, 1, NULL, 0), 0);
	/* RFC 5044 C */
	assert_int_equal(reply_to(c, 0, NULL, 0, c, 0, NULL, 0), IW_CAP_DEV_REV_0);
	assert_int_equal(reply_to(c | m, 0, NULL, 0, c | m, 0, NULL, 0), 0);
	/* RFC 6581 9.1 */
	assert_int_equal(reply_to(c | s, 2, one, 4, c | s, 2, one, 4), 0);
	assert_int_equal(reply_to(c | s, 2, one, 4, c | s, 2, two, 4), IW_CAP_DEV_ORD);
	assert_int_equal(reply_to(c | s, 2, one, 4, c | s, 2, max, 4), 0);
	/* RFC 5044 7.1.1; S is reserved before revision 2 */
	assert_int_equal(reply_to(c, 1, NULL, 0, c | 1, 1, NULL, 0), IW_CAP_DEV_FRAME_RES);
	assert_int_equal(reply_to(c, 1, NULL, 0, c | s, 1, NULL, 0), IW_CAP_DEV_FRAME_RES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flags_of_both_frames_decide),
		cmocka_unit_test(an_rdmac_reply_puts_markers_and_crc_on_both_ways),
		cmocka_unit_test(enhanced_data_and_private_data_are_distinguished),
		cmocka_unit_test(private_data_of_the_longest_size_is_kept_whole),
		cmocka_unit_test(streaming_mode_may_come_first),
		cmocka_unit_test(the_octets_of_set_up_may_be_split_anywhere),
		cmocka_unit_test(fpdus_in_the_segment_of_the_reply_are_found),
		cmocka_unit_test(only_the_responders_first_fpdu_can_be_early),
		cmocka_unit_test(text_about_mpa_is_not_mpa),
		cmocka_unit_test(the_key_is_searched_up_to_a_limit_and_at_each_segment_start),
		cmocka_unit_test(a_capture_that_begins_in_mid_connection_finds_a_later_request),
		cmocka_unit_test(a_reject_leaves_room_for_another_request),
		cmocka_unit_test(broken_frames_are_errors),
		cmocka_unit_test(two_initiators_are_an_error_of_the_second),
		cmocka_unit_test(a_reply_captured_before_its_request_is_understood),
		cmocka_unit_test(fpdus_captured_before_the_reply_wait_for_it),
		cmocka_unit_test(without_the_reply_markers_and_crc_are_seen_from_the_octets),
		cmocka_unit_test(without_the_request_its_end_is_known_from_the_replys_ack),
		cmocka_unit_test(a_capture_that_begins_with_the_reply_is_followed),
		cmocka_unit_test(private_data_cut_by_a_snap_length_is_reported_as_short),
		cmocka_unit_test(a_frame_header_that_is_not_whole_ends_the_direction),
		cmocka_unit_test(octets_queued_for_a_missing_reply_are_read_at_the_end),
		cmocka_unit_test(octets_queued_for_a_reply_are_limited),
		cmocka_unit_test(a_connection_closed_instead_of_a_reply_is_no_error),
		cmocka_unit_test(first_fpdu_after_a_cut_off_frame_is_searched_for),
		cmocka_unit_test(the_search_for_a_reply_begins_with_the_request),
		cmocka_unit_test(deviations_of_a_reply_from_its_request_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
