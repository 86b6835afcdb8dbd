// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* SCTP in captures: packets on IP and in UDP, checksums, TSNs, fragments, addresses. */
#include "ddp-dump/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture_maker.h"
#include "sctpmap/sctpmap.h"
#include "vectors/sctp.h"

static void begin_with(struct maker *m)
{
	sctp_set_up(m);
	say_control(m, 0, 0, 0, 1, NULL, 0);
	say_control(m, 1, 0, 0, 2, NULL, 0);
}

static void begin(struct maker *m)
{
	maker_init(m, NULL);
	begin_with(m);
}

static void end(struct maker *m)
{
	maker_finish(m);
	assert_true(maker_fini(m));
}

/* Makes a Send of 5 octets with this MSN, which is also its DDP-SSN on stream 0. */
static void say_send(struct maker *m, unsigned from, uint32_t msn)
{
	uint8_t segment[64];

	say_segment(m, from, 0, (uint16_t)msn, segment, make_send(segment, msn, 0, true, 5));
}

static const struct iw_cap_event *ddp(const struct maker *m, size_t i)
{
	const struct told *t = nth(m, IW_CAP_DDP, i);

	assert_non_null(t);
	return &t->ev;
}

static const struct iw_cap_totals *totals(const struct maker *m)
{
	return iw_cap_totals(m->cap);
}

/* --- packets --- */

/* The vectors of the wire: they share no code with the decoder. */
static void an_association_is_decoded_from_its_init(void **state)
{
	static const uint8_t *const packets[] = { sctp_init, sctp_initiate, sctp_segment,
						  sctp_terminate };
	static const size_t lens[] = { sizeof(sctp_init), sizeof(sctp_initiate),
				       sizeof(sctp_segment), sizeof(sctp_terminate) };
	struct maker m;

	(void)state;
	maker_init(&m, NULL);
	for (size_t i = 0; i < IW_ARRAY_LEN(packets); i++)
		push_sctp(&m, 0, packets[i], lens[i]);
	assert_int_equal(count_sctp(&m, IW_CAP_SCTP_INIT), 1);
	assert_int_equal(nth(&m, IW_CAP_SCTP, 0)->ev.sctp.adaptation, IW_SCTP_ADAPTATION_DDP);
	assert_int_equal(nth(&m, IW_CAP_SCTP, 0)->ev.sctp.os, 16);
	assert_int_equal(count_kind(&m, IW_CAP_SESSION), 2);
	assert_int_equal(nth(&m, IW_CAP_SESSION, 0)->ev.session.control.fn, IW_SCTP_FN_INITIATE);
	assert_memory_equal(nth(&m, IW_CAP_SESSION, 0)->pd, "abc", 3);
	assert_int_equal(ddp(&m, 0)->ddp.hdr.opcode, IW_OP_SEND);
	assert_int_equal(ddp(&m, 0)->ddp.len, 5);
	assert_int_equal(ddp(&m, 0)->ddp.chunk.ssn, 1);
	assert_true(ddp(&m, 0)->ddp.chunk.tsn == 0xaabbccde);
	assert_int_equal(ddp(&m, 0)->ddp.crc, IW_CAP_CRC_GOOD);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	assert_int_equal(totals(&m)->sctp_frames, 4);
	assert_int_equal(totals(&m)->iwarp_flows, 1);
	end(&m);
}

static void udp_is_decoded_on_port_9899_and_on_the_configured_port(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		const uint16_t port[4] = { 9899, 4000, 4000, 4001 };
		struct iw_cap_cfg cfg = { .seed = 1, .udp_port = i == 2 ? 4000 : 0 };
		struct maker m;

		maker_init(&m, NULL);
		iw_cap_free(m.cap);
		cfg.mem = &m.mem.mem;
		assert_int_equal(iw_cap_new(&m.cap, &cfg), 0);
		m.udp_port[0] = port[i];
		m.udp_port[1] = (uint16_t)(50000 + i);
		sctp_set_up(&m);
		assert_int_equal(count_kind(&m, IW_CAP_SCTP), i == 0 || i == 2 ? 2 : 0);
		if (count_kind(&m, IW_CAP_SCTP)) {
			assert_int_equal(m.told[0].flow.over, IW_CAP_OVER_UDP);
			assert_int_equal(m.told[0].flow.end[0].udp_port, port[i]);
		}
		end(&m);
	}
}

static void associations_in_udp_differ_by_their_udp_ports(void **state)
{
	struct maker m;

	(void)state;
	maker_init(&m, NULL);
	m.udp_port[1] = 9899;
	for (uint16_t i = 0; i < 3; i++) {
		m.udp_port[0] = (uint16_t)(50000 + i);
		sctp_set_up(&m);
	}
	assert_int_equal(totals(&m)->flows, 3);
	end(&m);
}

/* Segmentation offload at the sender: several packets in one captured frame. */
static void an_offloaded_frame_is_split_into_its_packets(void **state)
{
	uint8_t segment[64], data[80], chunk[128], p[4096];
	size_t n = 0, len;
	struct maker m;

	(void)state;
	begin(&m);
	m.udp_port[0] = m.udp_port[1] = 9899;
	m.tag[0]++;
	sctp_set_up(&m);
	for (uint32_t i = 0; i < 20; i++) {
		iw_put_be16(data, (uint16_t)i);
		len = make_write(segment, 1, i * 40, true, 40);
		memcpy(data + 2, segment, len);
		len = make_data(chunk, 7, m.tsn[0]++, 3, 16, data, 2 + len);
		n += make_sctp(&m, p + n, 0, m.tag[1], chunk, len);
	}
	push_sctp(&m, 0, p, n);
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 20);
	for (size_t i = 0; i < 20; i++) {
		assert_int_equal(ddp(&m, i)->ddp.crc, IW_CAP_CRC_GOOD);
		assert_int_equal(ddp(&m, i)->ddp.hdr.to, i * 40);
	}
	end(&m);
}

/* Payload that looks like the beginning of the next packet. */
static void a_packet_that_holds_its_own_header_is_one_packet(void **state)
{
	uint8_t inner[20], chunks[200];
	size_t n, len;
	struct maker m;

	(void)state;
	begin(&m);
	m.port[0] = 0x0305; /* as a chunk: SACK */
	m.port[1] = 12;     /* of that length */
	m.tag[0]++;
	sctp_set_up(&m);
	n = make_chunk(chunks, 11, 0, NULL, 0);
	len = make_sctp(&m, inner, 0, m.tag[1], NULL, 0);
	memcpy(chunks + n, inner, len);
	n += len;
	n += make_data(chunks + n, 7, m.tsn[0]++, 0, 17, "\0\0\0\1", 4);
	say_chunks(&m, 0, chunks, n);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	assert_int_equal(count_kind(&m, IW_CAP_SESSION), 3);
	end(&m);
}

static void a_packet_with_a_bad_checksum_is_an_error_and_is_ignored(void **state)
{
	struct maker m;

	(void)state;
	begin(&m);
	m.checksum_error = 1;
	say_send(&m, 0, 1);
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 0);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 1);
	/* sent again correctly: not a retransmission, because the receiver dropped the first one */
	m.checksum_error = 0;
	m.tsn[0]--;
	say_send(&m, 0, 1);
	assert_int_equal(ddp(&m, 0)->ddp.crc, IW_CAP_CRC_GOOD);
	assert_int_equal(count_sctp(&m, IW_CAP_SCTP_AGAIN), 0);
	end(&m);
}

static void a_checksum_that_hardware_was_to_fill_in_is_not_checked(void **state)
{
	uint8_t segment[64], data[80], chunk[128], p[256];
	size_t len;
	struct maker m;

	(void)state;
	begin(&m);
	iw_put_be16(data, 1);
	len = make_send(segment, 1, 0, true, 5);
	memcpy(data + 2, segment, len);
	len = make_data(chunk, 7, m.tsn[0]++, 0, 16, data, 2 + len);
	len = make_sctp(&m, p, 0, m.tag[1], chunk, len);
	iw_put_be32(p + 8, 0);
	push_sctp(&m, 0, p, len);
	assert_int_equal(ddp(&m, 0)->ddp.crc, IW_CAP_CRC_OFF);
	end(&m);
}

static void a_snap_length_leaves_the_verdict_absent(void **state)
{
	struct maker m;

	(void)state;
	begin(&m);
	m.snap = 20 + 12 + 16 + 2 + 18 + 1;
	say_send(&m, 0, 1);
	assert_int_equal(ddp(&m, 0)->ddp.crc, IW_CAP_CRC_ABSENT);
	assert_int_equal(ddp(&m, 0)->ddp.len, 5);
	assert_int_equal(ddp(&m, 0)->ddp.missing, 4);
	/* less than the DDP header */
	m.snap = 20 + 12 + 16 + 2 + 10;
	say_send(&m, 0, 2);
	assert_false(ddp(&m, 1)->ddp.has_header);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	end(&m);
}

static void chunks_that_do_not_fit_are_an_error(void **state)
{
	uint8_t chunk[64];
	struct maker m;

	(void)state;
	begin(&m);
	(void)make_chunk(chunk, 0, 7, "0123456789012345", 16);
	iw_put_be16(chunk + 2, 100);
	say_chunks(&m, 0, chunk, 20);
	iw_put_be16(chunk + 2, 3);
	say_chunks(&m, 0, chunk, 20);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 2);
	assert_string_equal(nth(&m, IW_CAP_ERROR, 0)->ev.error.clause, "RFC 9260 3.2");
	end(&m);
}

/* --- associations --- */

/* An association for DDP carries only DDP. */
static void other_ppids_in_a_ddp_association_are_one_error(void **state)
{
	struct maker m;

	(void)state;
	begin(&m);
	for (int i = 0; i < 5; i++)
		say_data(&m, 0, 0, 46, "x", 1);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 1);
	assert_string_equal(nth(&m, IW_CAP_ERROR, 0)->ev.error.clause, "RFC 5043 5.1");
	assert_int_equal(totals(&m)->undecoded_octets, 5);
	end(&m);
}

static void ddp_without_the_indication_of_both_is_an_error(void **state)
{
	struct maker m;

	(void)state;
	maker_init(&m, NULL);
	say_init(&m, 0, 1, 16, 1);
	say_init(&m, 1, 2, 16, 0);
	say_control(&m, 0, 0, 0, 1, NULL, 0);
	say_control(&m, 0, 0, 0, 1, NULL, 0);
	assert_true(count_kind(&m, IW_CAP_ERROR) >= 1);
	assert_string_equal(nth(&m, IW_CAP_ERROR, 0)->ev.error.clause, "RFC 5043 5.1");
	end(&m);
}

/* Session control and a segment of draft -02: PPIDs 2 and 1, DDP-SSN from @first. */
static void say_02(struct maker *m, uint16_t first)
{
	uint8_t control[] = { 0, (uint8_t)first, 0, 1 }, msg[64] = { 0, (uint8_t)(first + 1) };

	say_data(m, 0, 0, 2, control, sizeof(control));
	control[3] = 2;
	say_data(m, 1, 0, 2, control, sizeof(control));
	say_data(m, 0, 0, 1, msg, 2 + make_send(msg + 2, 1, 0, true, 5));
}

static void the_indication_of_draft_02_gives_its_numbers(void **state)
{
	struct maker m;

	(void)state;
	maker_init(&m, NULL);
	say_init(&m, 0, 1, 16, 2);
	say_init(&m, 1, 2, 16, 2);
	say_02(&m, 1);
	assert_int_equal(count_kind(&m, IW_CAP_SESSION), 2);
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 1);
	assert_int_equal(ddp(&m, 0)->ddp.chunk.ssn, 2);
	assert_int_equal(totals(&m)->out_of_order, 0);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	/* In that edition PPID 17 is foreign. */
	say_data(&m, 0, 0, 17, "x", 1);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 1);
	end(&m);

	/* A DDP-SSN from 0, as in RFC 5043, is wrong in that edition. */
	maker_init(&m, NULL);
	say_init(&m, 0, 1, 16, 2);
	say_init(&m, 1, 2, 16, 2);
	say_02(&m, 0);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 2);
	end(&m);
}

/* Draft 02 2.2.3: Function Codes 1 to 4. Those of RFC 6581 are shown by name, and reported. */
static void enhanced_sessions_are_an_error_in_draft_02(void **state)
{
	const uint8_t initiate[] = { 0, 1, 0, 5, 0, 16, 0, 16 },
		      accept[] = { 0, 1, 0, 6, 0, 16, 0, 16 };
	const uint8_t terminate[] = { 0, 2, 0, 4 };
	struct maker m;

	(void)state;
	maker_init(&m, NULL);
	say_init(&m, 0, 1, 16, 2);
	say_init(&m, 1, 2, 16, 2);
	say_data(&m, 0, 0, 2, initiate, sizeof(initiate));
	say_data(&m, 1, 0, 2, accept, sizeof(accept));
	say_data(&m, 0, 0, 2, terminate, sizeof(terminate));
	assert_int_equal(count_kind(&m, IW_CAP_SESSION), 3);
	assert_true(nth(&m, IW_CAP_SESSION, 0)->ev.session.enhanced);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 2);
	assert_string_equal(nth(&m, IW_CAP_ERROR, 0)->ev.error.clause,
			    "draft-ietf-rddp-sctp-02 2.2.3");
	end(&m);
}

static void without_an_init_the_edition_is_the_configured_one(void **state)
{
	struct maker m;

	(void)state;
	maker_init(&m, NULL);
	say_02(&m, 1);
	assert_int_equal(m.n, 0);
	end(&m);

	maker_init_of(&m, NULL, &iw_sctpmap_draft_02);
	say_02(&m, 1);
	assert_int_equal(count_kind(&m, IW_CAP_SESSION), 2);
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 1);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	end(&m);

	/* An INIT overrides the configured edition. */
	maker_init_of(&m, NULL, &iw_sctpmap_draft_02);
	begin_with(&m);
	say_send(&m, 0, 1);
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 1);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	end(&m);
}

static void other_associations_use_a_flow_and_report_nothing(void **state)
{
	struct maker m;

	(void)state;
	maker_init(&m, NULL);
	say_init(&m, 0, 1, 16, 0);
	say_init(&m, 1, 2, 16, 7);
	say_data(&m, 0, 0, 46, "x", 1);
	say_sack(&m, 1);
	say_chunk(&m, 0, 14, 0, NULL, 0);
	assert_int_equal(m.n, 0);
	assert_int_equal(totals(&m)->flows, 1);
	assert_int_equal(totals(&m)->iwarp_flows, 0);
	end(&m);
}

/* The number of streams is the smaller of both ends' limits. */
static void unequal_streams_are_a_deviation(void **state)
{
	static const struct {
		uint16_t out[2], in[2];
		unsigned deviations;
	} rows[] = {
		{ { 16, 16 }, { 16, 16 }, 0 },
		{ { 10, 10 }, { 65535, 65535 }, 0 }, /* as the kernel requests */
		{ { 20, 10 }, { 20, 10 }, 0 },
		{ { 20, 10 }, { 20, 20 }, IW_CAP_DEV_STREAMS },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		struct maker m;

		maker_init(&m, NULL);
		for (unsigned from = 0; from < 2; from++) {
			m.streams_in[from] = rows[i].in[from];
			say_init(&m, from, (uint8_t)(1 + from), rows[i].out[from], 1);
		}
		assert_int_equal(nth(&m, IW_CAP_SCTP, 1)->ev.deviations, rows[i].deviations);
		end(&m);
	}
}

/* RFC 9260 6.4 */
static void packets_from_another_address_belong_to_the_association_of_their_tag(void **state)
{
	struct maker m;

	(void)state;
	begin(&m);
	say_send(&m, 1, 1);
	m.other_addr = 3;
	say_send(&m, 0, 1);
	say_send(&m, 1, 2);
	say_send(&m, 0, 2);
	assert_int_equal(totals(&m)->flows, 1);
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 4);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	assert_int_equal(ddp(&m, 1)->from, 0);
	assert_int_equal(ddp(&m, 2)->from, 1);
	end(&m);
}

static void an_association_begun_before_the_capture_is_read_too(void **state)
{
	struct maker m;

	(void)state;
	maker_init(&m, NULL);
	say_send(&m, 0, 7);
	say_send(&m, 1, 9);
	say_send(&m, 0, 8);
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 3);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	assert_int_equal(totals(&m)->iwarp_flows, 1);
	end(&m);
}

static void an_init_after_the_end_begins_another_association(void **state)
{
	struct maker m;

	(void)state;
	begin(&m);
	say_chunk(&m, 0, 14, 0, NULL, 0);
	assert_int_equal(count_sctp(&m, IW_CAP_SCTP_COMPLETE), 1);
	sctp_set_up(&m);
	assert_int_equal(totals(&m)->flows, 2);
	/* so does an INIT with another tag, although the old association has not ended; an equal
	 * INIT is a retransmission */
	m.tag[0]++;
	sctp_set_up(&m);
	say_init(&m, 0, 1, 16, 1);
	assert_int_equal(totals(&m)->flows, 3);
	assert_int_equal(count_sctp(&m, IW_CAP_SCTP_INIT), 3);
	end(&m);
}

static void each_step_of_set_up_and_shutdown_is_reported(void **state)
{
	static const struct {
		unsigned from;
		uint8_t type;
		enum iw_cap_sctp_kind kind;
	} steps[] = {
		{ 0, IW_SCTP_COOKIE_ECHO, IW_CAP_SCTP_COOKIE_ECHO },
		{ 1, IW_SCTP_COOKIE_ACK, IW_CAP_SCTP_COOKIE_ACK },
		{ 0, IW_SCTP_SHUTDOWN, IW_CAP_SCTP_SHUTDOWN },
		{ 1, IW_SCTP_SHUTDOWN_ACK, IW_CAP_SCTP_SHUTDOWN_ACK },
		{ 0, IW_SCTP_SHUTDOWN_COMPLETE, IW_CAP_SCTP_COMPLETE },
	};
	struct maker m;

	(void)state;
	begin(&m);
	for (size_t i = 0; i < IW_ARRAY_LEN(steps); i++) {
		say_chunk(&m, steps[i].from, steps[i].type, 0, "\0\0\0\1", 4);
		assert_int_equal(m.told[m.n - 1].ev.kind, IW_CAP_SCTP);
		assert_int_equal(m.told[m.n - 1].ev.sctp.kind, steps[i].kind);
		assert_int_equal(m.told[m.n - 1].ev.from, steps[i].from);
	}
	end(&m);
	/* An association without DDP is not shown. */
	maker_init(&m, NULL);
	say_chunk(&m, 0, IW_SCTP_COOKIE_ECHO, 0, "\0\0\0\1", 4);
	assert_int_equal(m.n, 0);
	end(&m);
}

static void a_sack_is_reported_if_asked_for(void **state)
{
	static const uint8_t value[20] = { 0, 0, 1, 0xf4, 0, 2, 0, 0, 0, 1, 0, 1 };
	const struct iw_cap_sctp *e;
	struct maker m;

	(void)state;
	for (size_t all = 0; all < 2; all++) {
		maker_init_payload(&m, NULL, NULL, all);
		sctp_set_up(&m);
		say_chunk(&m, 0, IW_SCTP_SACK, 0, value, sizeof(value));
		assert_int_equal(count_sctp(&m, IW_CAP_SCTP_SACK), all);
		e = &m.told[m.n - 1].ev.sctp;
		if (all)
			assert_true(e->tsn == 500 && e->rwnd == 131072 && e->gaps == 1 &&
				    e->duplicates == 1);
		/* Too short for its fixed part. */
		say_chunk(&m, 0, IW_SCTP_SACK, 0, value, 8);
		assert_int_equal(count_sctp(&m, IW_CAP_SCTP_SACK), all);
		end(&m);
	}
}

static void an_abort_is_reported_with_its_first_cause(void **state)
{
	struct maker m;

	(void)state;
	begin(&m);
	say_chunk(&m, 1, 6, 0, "\0\14\0\4", 4);
	assert_int_equal(count_sctp(&m, IW_CAP_SCTP_ABORT), 1);
	assert_int_equal(m.told[m.n - 1].ev.sctp.cause, 12);
	end(&m);
}

/* --- TSNs --- */

static void a_retransmitted_chunk_is_reported_and_decoded_once(void **state)
{
	struct maker m;

	(void)state;
	begin(&m);
	for (uint32_t i = 1; i <= 3; i++)
		say_send(&m, 0, i);
	m.tsn[0] -= 2;
	say_send(&m, 0, 2);
	say_send(&m, 0, 3);
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 3);
	assert_int_equal(count_sctp(&m, IW_CAP_SCTP_AGAIN), 2);
	assert_true(totals(&m)->repeated_octets == 2 * (2 + 18 + 5));
	/* and after a hole */
	m.tsn[0]++;
	say_send(&m, 0, 5);
	m.tsn[0]--;
	say_send(&m, 0, 5);
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 4);
	assert_int_equal(count_sctp(&m, IW_CAP_SCTP_AGAIN), 3);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	end(&m);
}

/* RFC 5043 6.1: the order is that of the DDP-SSNs. */
static void any_order_of_chunks_is_no_error(void **state)
{
	static const uint32_t order[] = { 3, 1, 5, 4, 2, 8, 7, 6 };
	uint32_t first;
	struct maker m;

	(void)state;
	begin(&m);
	first = m.tsn[0];
	for (size_t i = 0; i < IW_ARRAY_LEN(order); i++) {
		m.tsn[0] = first + order[i] - 1;
		say_send(&m, 0, order[i]);
	}
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 8);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	assert_true(totals(&m)->out_of_order > 0);
	end(&m);
}

static void a_lost_chunk_is_reported_when_the_peer_acknowledges_beyond_it(void **state)
{
	struct maker m;

	(void)state;
	begin(&m);
	say_send(&m, 0, 1);
	m.tsn[0] += 3; /* DDP-SSN 2 to 4 */
	say_send(&m, 0, 5);
	/* nothing is lost before the peer acknowledges it */
	for (int i = 0; i < 40; i++)
		say_chunk(&m, 1, IW_SCTP_HEARTBEAT, 0, "\0\1\0\4", 4);
	assert_int_equal(count_sctp(&m, IW_CAP_SCTP_LOSS), 0);
	/* nor at once: captures hold packets slightly out of order */
	for (int i = 0; i < 20; i++)
		say_sack(&m, 1);
	assert_int_equal(count_sctp(&m, IW_CAP_SCTP_LOSS), 0);
	for (int i = 0; i < 20; i++)
		say_sack(&m, 1);
	assert_int_equal(count_sctp(&m, IW_CAP_SCTP_LOSS), 1);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	for (size_t i = 0; i < m.n; i++) {
		if (m.told[i].ev.kind == IW_CAP_SCTP &&
		    m.told[i].ev.sctp.kind == IW_CAP_SCTP_LOSS) {
			assert_int_equal(m.told[i].ev.sctp.chunks, 3);
			assert_true(m.told[i].ev.sctp.tsn == m.tsn[0] - 4);
			assert_int_equal(m.told[i].ev.sctp.why, IW_CAP_WHY_GAP);
		}
	}
	/* the order is checked again from the first message after the hole */
	m.n = 0;
	say_send(&m, 0, 6);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	say_send(&m, 0, 8);
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	say_segment(&m, 0, 0, 7, (const uint8_t[20]){ 0x41, 0x43, [13] = 9 }, 20);
	/* MSN 9, expected 7; then MSN 8, expected 10 */
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 2);
	end(&m);
}

static void chunks_acknowledged_but_never_captured_are_lost_at_the_end(void **state)
{
	struct maker m;

	(void)state;
	begin(&m);
	m.tsn[0] += 2;
	say_sack(&m, 1);
	maker_finish(&m);
	assert_int_equal(count_sctp(&m, IW_CAP_SCTP_LOSS), 1);
	assert_int_equal(m.told[m.n - 1].ev.sctp.chunks, 2);
	assert_int_equal(m.told[m.n - 1].ev.sctp.why, IW_CAP_WHY_END);
	assert_true(maker_fini(&m));
}

static void a_jump_beyond_the_window_is_reported_as_one_loss(void **state)
{
	struct maker m;

	(void)state;
	begin(&m);
	m.tsn[0] += 1u << 30;
	say_send(&m, 0, 1);
	assert_int_equal(count_sctp(&m, IW_CAP_SCTP_LOSS), 1);
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 1);
	end(&m);
}

/* --- fragments --- */

static void fragments_in_any_order_are_one_segment(void **state)
{
	static const uint8_t order[][4] = { { 0, 1, 2, 3 }, { 3, 2, 1, 0 }, { 2, 0, 3, 1 } };

	(void)state;
	for (size_t k = 0; k < IW_ARRAY_LEN(order); k++) {
		uint8_t data[2000], chunk[2100];
		size_t len;
		struct maker m;

		begin(&m);
		iw_put_be16(data, 1);
		len = 2 + make_write(data + 2, 7, 0, true, 1000);
		for (size_t i = 0; i < 4; i++) {
			size_t j = order[k][i];
			/* the first two together hold less than the header */
			size_t at[] = { 0, 5, 11, 500, len };
			uint8_t flags = (uint8_t)(4 | (j == 0 ? 2 : 0) | (j == 3 ? 1 : 0));

			assert_int_equal(count_kind(&m, IW_CAP_DDP), 0);
			say_chunks(&m, 0, chunk,
				   make_data(chunk, flags, m.tsn[0] + (uint32_t)j, 0, 16,
					     data + at[j], at[j + 1] - at[j]));
		}
		assert_int_equal(count_kind(&m, IW_CAP_DDP), 1);
		assert_int_equal(ddp(&m, 0)->ddp.hdr.stag, 7);
		assert_int_equal(ddp(&m, 0)->ddp.len, 1000);
		assert_int_equal(ddp(&m, 0)->ddp.chunk.fragments, 4);
		assert_int_equal(ddp(&m, 0)->deviations, IW_CAP_DEV_FRAGMENTS);
		assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
		end(&m);
	}
}

static void fragments_whose_rest_is_lost_are_dropped(void **state)
{
	uint8_t chunk[64];
	size_t bytes;
	struct maker m;

	(void)state;
	begin(&m);
	bytes = m.mem.bytes;
	for (int i = 0; i < 200; i++) {
		/* the first of three, and the last of them */
		say_chunks(&m, 0, chunk, make_data(chunk, 6, m.tsn[0], 0, 16, "0123", 4));
		m.tsn[0] += 2;
		say_chunks(&m, 0, chunk, make_data(chunk, 5, m.tsn[0]++, 0, 16, "0123", 4));
		say_sack(&m, 1);
	}
	for (int i = 0; i < 80; i++)
		say_sack(&m, 1);
	assert_true(count_sctp(&m, IW_CAP_SCTP_LOSS) > 1);
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 0);
	assert_true(m.mem.bytes < bytes + 100 * 2048);
	assert_int_equal(totals(&m)->undecoded_octets, 200 * 2 * 4);
	end(&m);
}

/* A message of more fragments than the limit allows must not keep their memory for ever. */
static void fragments_of_a_message_above_the_limit_are_dropped(void **state)
{
	static const struct iw_cap_limits limits = { .direction_octets = 8 << 10 };
	uint8_t chunk[128], data[64];
	size_t len;
	struct maker m;

	(void)state;
	maker_init(&m, &limits);
	begin_with(&m);
	for (int i = 0; i < 100; i++)
		say_chunks(&m, 0, chunk,
			   make_data(chunk,
				     i == 0    ? 6
				     : i == 99 ? 5
					       : 4,
				     m.tsn[0]++, 0, 16, "01", 2));
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 0);
	iw_put_be16(data, 2);
	len = 2 + make_write(data + 2, 7, 0, true, 10);
	for (int i = 0; i < 4; i++) {
		say_chunks(&m, 0, chunk, make_data(chunk, 6, m.tsn[0]++, 1, 16, data, 10));
		say_chunks(&m, 0, chunk,
			   make_data(chunk, 5, m.tsn[0]++, 1, 16, data + 10, len - 10));
	}
	assert_true(count_kind(&m, IW_CAP_DDP) >= 3);
	end(&m);
}

/* The second fragment must not be placed over octets of the first that were not captured. */
static void nothing_is_joined_across_a_hole(void **state)
{
	uint8_t chunk[64];
	struct maker m;

	(void)state;
	begin(&m);
	m.snap = 20 + 12 + 16 + 6;
	say_chunks(&m, 0, chunk,
		   make_data(chunk, 6, m.tsn[0]++, 0, 16, "\0\1\xc1\x40\0\0\0\0\0\0", 10));
	m.snap = 0;
	say_chunks(&m, 0, chunk,
		   make_data(chunk, 5, m.tsn[0]++, 0, 16, "01234567890123456789", 20));
	assert_int_equal(count_kind(&m, IW_CAP_DDP), 1);
	assert_false(ddp(&m, 0)->ddp.has_header);
	end(&m);
}

static void ordered_chunks_are_a_deviation(void **state)
{
	uint8_t data[64], chunk[128];
	size_t len;
	struct maker m;

	(void)state;
	begin(&m);
	iw_put_be16(data, 1);
	len = 2 + make_send(data + 2, 1, 0, true, 5);
	say_chunks(&m, 0, chunk, make_data(chunk, 3, m.tsn[0]++, 0, 16, data, len));
	assert_int_equal(ddp(&m, 0)->deviations, IW_CAP_DEV_ORDERED);
	end(&m);
}

/* --- limits --- */

static void queued_octets_are_limited(void **state)
{
	static const struct iw_cap_limits limits = {
		.direction_octets = 32 << 10, .total_octets = 64 << 10, .streams = 100, .flows = 8
	};
	size_t bytes = 0;
	struct maker m;

	(void)state;
	maker_init(&m, &limits);
	m.tag[0]++;
	sctp_set_up(&m);
	for (uint32_t i = 0; i < 3000; i++) {
		uint8_t segment[64];

		/* never the next one in order; on many streams */
		say_segment(&m, 0, (uint16_t)i, (uint16_t)(5 + i % 7), segment,
			    make_send(segment, 1, 0, true, 5));
		m.n = 0;
		if (i == 300)
			bytes = m.mem.bytes;
	}
	assert_true(m.mem.bytes <= bytes + (64 << 10));
	end(&m);
}

static void running_out_of_memory_anywhere_leaks_nothing(void **state)
{
	(void)state;
	for (size_t n = 1; n < 12; n++) {
		struct maker m;

		maker_init(&m, NULL);
		m.mem.fail_from = m.mem.calls + n;
		sctp_set_up(&m);
		say_control(&m, 0, 0, 0, 1, NULL, 0);
		say_control(&m, 1, 0, 0, 2, NULL, 0);
		say_send(&m, 0, 2);
		say_send(&m, 0, 1);
		end(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_association_is_decoded_from_its_init),
		cmocka_unit_test(udp_is_decoded_on_port_9899_and_on_the_configured_port),
		cmocka_unit_test(associations_in_udp_differ_by_their_udp_ports),
		cmocka_unit_test(an_offloaded_frame_is_split_into_its_packets),
		cmocka_unit_test(a_packet_that_holds_its_own_header_is_one_packet),
		cmocka_unit_test(a_packet_with_a_bad_checksum_is_an_error_and_is_ignored),
		cmocka_unit_test(a_checksum_that_hardware_was_to_fill_in_is_not_checked),
		cmocka_unit_test(a_snap_length_leaves_the_verdict_absent),
		cmocka_unit_test(chunks_that_do_not_fit_are_an_error),
		cmocka_unit_test(other_ppids_in_a_ddp_association_are_one_error),
		cmocka_unit_test(ddp_without_the_indication_of_both_is_an_error),
		cmocka_unit_test(the_indication_of_draft_02_gives_its_numbers),
		cmocka_unit_test(enhanced_sessions_are_an_error_in_draft_02),
		cmocka_unit_test(without_an_init_the_edition_is_the_configured_one),
		cmocka_unit_test(other_associations_use_a_flow_and_report_nothing),
		cmocka_unit_test(unequal_streams_are_a_deviation),
		cmocka_unit_test(
			packets_from_another_address_belong_to_the_association_of_their_tag),
		cmocka_unit_test(an_association_begun_before_the_capture_is_read_too),
		cmocka_unit_test(an_init_after_the_end_begins_another_association),
		cmocka_unit_test(each_step_of_set_up_and_shutdown_is_reported),
		cmocka_unit_test(a_sack_is_reported_if_asked_for),
		cmocka_unit_test(an_abort_is_reported_with_its_first_cause),
		cmocka_unit_test(a_retransmitted_chunk_is_reported_and_decoded_once),
		cmocka_unit_test(any_order_of_chunks_is_no_error),
		cmocka_unit_test(a_lost_chunk_is_reported_when_the_peer_acknowledges_beyond_it),
		cmocka_unit_test(chunks_acknowledged_but_never_captured_are_lost_at_the_end),
		cmocka_unit_test(a_jump_beyond_the_window_is_reported_as_one_loss),
		cmocka_unit_test(fragments_in_any_order_are_one_segment),
		cmocka_unit_test(fragments_whose_rest_is_lost_are_dropped),
		cmocka_unit_test(fragments_of_a_message_above_the_limit_are_dropped),
		cmocka_unit_test(nothing_is_joined_across_a_hole),
		cmocka_unit_test(ordered_chunks_are_a_deviation),
		cmocka_unit_test(queued_octets_are_limited),
		cmocka_unit_test(running_out_of_memory_anywhere_leaks_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
