// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Rules over SCTP packets and their chunks. */
#include "ddp-impair/packets/flow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "ddp-impair/packets/chunk.h"
#include "impair_maker.h"
#include "util/num.h"

static struct impair_maker m;
static struct iw_flow flow;
static uint8_t packet[1500], before[1500];
static size_t len;
static struct iw_fate fate;

static void begin(const char *rules)
{
	impair_init(&m, IW_RULE_UDP, 1, rules);
	assert_int_equal(iw_flow_init(&flow, &m.cfg, 1, 0), 0);
}

static void end(void)
{
	iw_flow_fini(&flow);
	impair_fini(&m);
}

/* The next packet of the initiator. */
static void pass(uint32_t tsn, uint64_t now)
{
	len = impair_packet(packet, tsn);
	memcpy(before, packet, len);
	iw_flow_datagram(&flow, IW_UNIT_INITIATOR, packet, len, now, &fate);
}

static void units_are_the_packet_and_its_chunks(void **state)
{
	static struct iw_unit u[IW_CHUNKS_MAX + 1];

	(void)state;
	len = impair_packet(packet, 1);
	assert_int_equal(iw_chunks_read(u, IW_UNIT_RESPONDER, packet, len), 4);
	assert_int_equal(u[0].kind, IW_UNIT_PACKET);
	assert_int_equal(u[0].len, len);
	assert_int_equal(u[0].ops, UINT64_C(1) << IW_UNIT_OP_SACK | UINT64_C(1) << IW_UNIT_OP_DATA |
					   UINT64_C(1) << IW_OP_WRITE);
	assert_int_equal(u[1].ops, UINT64_C(1) << IW_UNIT_OP_SACK);
	assert_int_equal(u[2].stream, 3);
	assert_int_equal(u[3].stream, 4);
	assert_int_equal(u[3].header_len, 16 + 2 + 14);
	/* 62 octets of value are padded by two */
	assert_int_equal(u[2].trailer_len, 2);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(u[i].from, IW_UNIT_RESPONDER);
	/* Neither a part of a chunk, nor octets of another protocol. */
	assert_int_equal(iw_chunks_read(u, 0, packet, len - 10), 0);
	assert_int_equal(iw_chunks_read(u, 0, packet, 13), 0);
	memset(packet + 12, 0, 4);
	assert_int_equal(iw_chunks_read(u, 0, packet, len), 0);
}

static void a_dropped_chunk_is_cut_out_and_the_checksum_is_right(void **state)
{
	static struct iw_unit u[IW_CHUNKS_MAX + 1];

	(void)state;
	begin("chunk opcode=data tsn=11: drop");
	pass(10, 0);
	assert_false(fate.dropped);
	assert_true(fate.changed);
	assert_int_equal(fate.len, len - (16 + 2 + 14 + 32));
	assert_true(impair_is_sealed(packet, fate.len));
	assert_int_equal(iw_chunks_read(u, 0, packet, fate.len), 3);
	assert_int_equal(u[2].stream, 3);
	/* The first of two cuts moves the second. */
	pass(11, 0);
	assert_int_equal(iw_chunks_read(u, 0, packet, fate.len), 3);
	assert_int_equal(u[2].stream, 4);
	end();
	begin("chunk: drop");
	pass(10, 0);
	assert_true(fate.dropped);
	end();
	/* A later chunk of the packet is edited at its new place. */
	begin("chunk opcode=sack: drop\nchunk opcode=data nth=2: set tsn=77 fix-crc");
	pass(10, 0);
	assert_true(impair_is_sealed(packet, fate.len));
	assert_int_equal(iw_get_be32(packet + fate.len - 60), 77);
	end();
}

static void corruption_is_detected_unless_the_checksum_is_repaired(void **state)
{
	(void)state;
	begin("chunk opcode=write nth=1: flip-bit payload");
	pass(1, 0);
	assert_true(fate.changed);
	assert_int_equal(fate.len, len);
	assert_false(impair_is_sealed(packet, len));
	assert_memory_equal(packet, before, 12 + 16 + 32);
	pass(3, 0);
	assert_false(fate.changed);
	assert_memory_equal(packet, before, len);
	end();
	begin("chunk opcode=write nth=1: flip-bit payload fix-crc");
	pass(1, 0);
	assert_true(impair_is_sealed(packet, len));
	assert_memory_not_equal(packet + 12, before + 12, len - 12);
	end();
	begin("packet nth=2: flip-bit any");
	pass(1, 0);
	assert_memory_equal(packet, before, len);
	pass(2, 0);
	assert_memory_not_equal(packet, before, len);
	end();
}

static void a_field_of_a_chunk_is_set(void **state)
{
	struct iw_sctp_data d;
	struct iw_ddp h;

	(void)state;
	begin("chunk opcode=write nth=2: set stag=0x99 fix-crc\n"
	      "chunk opcode=write nth=2: set tsn=77 fix-crc");
	pass(1, 0);
	assert_true(impair_is_sealed(packet, len));
	assert_int_equal(iw_wire_sctp_data_decode(&d, packet + len - 60, 60), 60);
	assert_int_equal(d.tsn, 77);
	assert_int_equal(iw_wire_ddp_decode(&h, d.data + 2, d.len - 2), 14);
	assert_int_equal(h.stag, 0x99);
	end();
}

static void fields_of_every_chunk_are_conditions_and_can_be_set(void **state)
{
	struct iw_sctp_sack s;

	(void)state;
	begin("chunk sack.a-rwnd=0 nth=2: set cumulative-tsn-ack=99 fix-crc\n"
	      "chunk chunk.type=4: drop");
	pass(1, 0);
	assert_false(fate.changed);
	pass(3, 0);
	assert_true(fate.changed && impair_is_sealed(packet, len));
	assert_int_equal(iw_wire_sctp_sack_decode(&s, packet + 16, 12), 12);
	assert_int_equal(s.cum, 99);
	len = IW_SCTP_HDR_LEN + impair_chunk(packet + IW_SCTP_HDR_LEN, IW_SCTP_HEARTBEAT, 8);
	iw_flow_datagram(&flow, 0, packet, len, 0, &fate);
	assert_true(fate.dropped);
	end();
	/* Without the name of a header, "type" is that of any chunk. */
	begin("chunk type=3: drop");
	pass(1, 0);
	assert_int_equal(fate.len, len - 16);
	end();
}

static void a_packet_is_dropped_copied_delayed_and_overtaken(void **state)
{
	(void)state;
	begin("packet nth=1: drop\npacket nth=2: duplicate 3\npacket nth=3: delay 20ms\n"
	      "packet nth=4: reorder 2\nchunk opcode=sack nth=5: delay 1ms");
	pass(1, 0);
	assert_true(fate.dropped);
	pass(2, 0);
	assert_int_equal(fate.copies, 3);
	pass(3, 0);
	assert_int_equal(fate.delay_ns, IW_MSEC(20));
	pass(4, 0);
	assert_int_equal(fate.overtaken_by, 2);
	pass(5, 0);
	assert_int_equal(fate.delay_ns, IW_MSEC(1));
	pass(6, 0);
	assert_false(fate.dropped || fate.copies || fate.delay_ns || fate.overtaken_by ||
		     fate.changed);
	end();
}

static void copies_and_injected_datagrams_of_all_rules_add_up(void **state)
{
	(void)state;
	begin("packet: duplicate 2\nchunk opcode=data: duplicate\npacket: inject 00\n"
	      "chunk opcode=sack: inject 01 after\npacket nth=2: duplicate 1000");
	pass(1, 0);
	assert_int_equal(fate.copies, 4);
	assert_int_equal(fate.injects, 2);
	assert_false(fate.inject[0]->after);
	assert_true(fate.inject[1]->after);
	pass(3, 0);
	assert_int_equal(fate.copies, IW_FATE_COPIES);
	end();
}

static void a_stalled_direction_holds_its_packets_and_a_discarding_one_loses_them(void **state)
{
	(void)state;
	begin("packet from=initiator nth=2: stall 30ms\npacket from=initiator nth=5: discard");
	pass(1, IW_MSEC(1));
	assert_int_equal(fate.delay_ns, 0);
	pass(2, IW_MSEC(1));
	assert_int_equal(fate.delay_ns, IW_MSEC(30));
	pass(3, IW_MSEC(11));
	assert_int_equal(fate.delay_ns, IW_MSEC(20));
	/* The other direction does not stall. */
	iw_flow_datagram(&flow, IW_UNIT_RESPONDER, packet, len, IW_MSEC(12), &fate);
	assert_int_equal(fate.delay_ns, 0);
	pass(4, IW_MSEC(40));
	assert_false(fate.dropped);
	for (uint32_t i = 0; i < 3; i++) {
		pass(5 + i, IW_MSEC(40));
		assert_true(fate.dropped);
	}
	end();
}

static void truncated_chunks_have_a_right_length_if_asked(void **state)
{
	static struct iw_unit u[IW_CHUNKS_MAX + 1];

	(void)state;
	begin("chunk opcode=write nth=2: truncate 40\nchunk opcode=write nth=4: truncate 38 fix-length");
	pass(1, 0);
	assert_int_equal(fate.len, len - 24);
	assert_int_equal(iw_chunks_read(u, 0, packet, fate.len), 0);
	assert_false(impair_is_sealed(packet, fate.len));
	pass(3, 0);
	assert_int_equal(fate.len, len - 24);
	assert_int_equal(iw_chunks_read(u, 0, packet, fate.len), 4);
	assert_int_equal(u[3].trailer_len, 2);
	assert_true(impair_is_sealed(packet, fate.len));
	end();
	/* The padding does not become a part of the value: a chunk of 82 octets is padded to 84. */
	begin("chunk opcode=write nth=1: truncate 83 fix-length");
	pass(1, 0);
	assert_int_equal(fate.len, len);
	assert_int_equal(iw_get_be16(packet + 12 + 16 + 2), 82);
	end();
}

static void chunks_of_a_truncated_packet_are_neither_cut_nor_edited(void **state)
{
	static const char *const rules[] = {
		"packet: truncate 30 fix-length\nchunk opcode=data: drop",
		"packet: truncate 30 fix-length\nchunk opcode=data: set tsn=77 fix-crc",
		"packet: truncate 30 fix-length\nchunk opcode=data: truncate 20 fix-length",
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rules); i++) {
		begin(rules[i]);
		pass(1, 0);
		assert_int_equal(fate.len, 30);
		assert_memory_equal(packet + 30, before + 30, len - 30);
		end();
	}
}

static void a_packet_is_truncated_to_any_length(void **state)
{
	(void)state;
	begin("packet nth=1: truncate 12\npacket nth=2: truncate 5 fix-length\npacket nth=3: truncate 0");
	pass(1, 0);
	assert_true(!fate.dropped && fate.len == 12);
	assert_memory_equal(packet, before, 12);
	pass(2, 0);
	assert_true(!fate.dropped && fate.len == 5);
	pass(3, 0);
	assert_true(!fate.dropped && fate.len == 0);
	end();
}

/* 64 chunks, each of them with as many decisions as a unit can have. */
static void all_decisions_about_a_packet_are_carried_out(void **state)
{
	(void)state;
	begin("chunk: delay 1ms\nchunk: delay 1ms\nchunk: delay 1ms\nchunk: delay 1ms\n"
	      "chunk: delay 1ms\nchunk: delay 1ms\nchunk: delay 1ms\n"
	      "chunk: set chunk.flags=5 fix-crc");
	(void)impair_packet(packet, 1);
	len = IW_SCTP_HDR_LEN;
	for (size_t i = 0; i < IW_CHUNKS_MAX; i++)
		len += impair_chunk(packet + len, IW_SCTP_HEARTBEAT, 8);
	iw_flow_datagram(&flow, 0, packet, len, 0, &fate);
	assert_int_equal(fate.delay_ns, IW_CHUNKS_MAX * 7 * IW_MSEC(1));
	for (size_t i = 0; i < IW_CHUNKS_MAX; i++)
		assert_int_equal(packet[IW_SCTP_HDR_LEN + i * 12 + 1], 5);
	end();
}

static void other_datagrams_are_units_of_octets(void **state)
{
	(void)state;
	begin("packet: drop\nchunk: drop");
	memset(packet, 0xab, 100);
	iw_flow_datagram(&flow, 0, packet, 100, 0, &fate);
	assert_false(fate.dropped || fate.changed);
	assert_int_equal(fate.len, 100);
	iw_flow_datagram(&flow, 0, packet, 0, 0, &fate);
	assert_false(fate.dropped);
	end();
	begin("octets nth=2: drop");
	for (uint32_t i = 1; i < 4; i++) {
		iw_flow_datagram(&flow, 0, packet, 100, 0, &fate);
		assert_int_equal(fate.dropped, i == 2);
	}
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units_are_the_packet_and_its_chunks),
		cmocka_unit_test(a_dropped_chunk_is_cut_out_and_the_checksum_is_right),
		cmocka_unit_test(corruption_is_detected_unless_the_checksum_is_repaired),
		cmocka_unit_test(a_field_of_a_chunk_is_set),
		cmocka_unit_test(fields_of_every_chunk_are_conditions_and_can_be_set),
		cmocka_unit_test(a_packet_is_dropped_copied_delayed_and_overtaken),
		cmocka_unit_test(copies_and_injected_datagrams_of_all_rules_add_up),
		cmocka_unit_test(
			a_stalled_direction_holds_its_packets_and_a_discarding_one_loses_them),
		cmocka_unit_test(truncated_chunks_have_a_right_length_if_asked),
		cmocka_unit_test(chunks_of_a_truncated_packet_are_neither_cut_nor_edited),
		cmocka_unit_test(a_packet_is_truncated_to_any_length),
		cmocka_unit_test(all_decisions_about_a_packet_are_carried_out),
		cmocka_unit_test(other_datagrams_are_units_of_octets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
