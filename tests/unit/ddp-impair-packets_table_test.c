// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Rules over Ethernet frames: flows and their directions, checksums, packets that others overtake. */
#include "ddp-impair/packets/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "ddp-impair/packets/reorder.h"
#include "impair_maker.h"
#include "packet/packet.h"

static struct impair_maker m;
static struct iw_flows *flows;
static struct iw_fate fate;
static uint8_t frame[2000];
static size_t len;

static void begin(const char *rules)
{
	impair_init(&m, IW_RULE_FRAMES, 1, rules);
	assert_int_equal(iw_flows_new(&flows, &m.cfg), 0);
}

static void end(void)
{
	iw_flows_free(flows);
	impair_fini(&m);
}

static uint64_t tcp(bool v6, unsigned from, uint32_t seq, uint8_t flags, const void *payload,
		    size_t n)
{
	len = impair_frame(frame, v6, from, 6, 7471, seq, flags, payload, n);
	return iw_flows_frame(flows, frame, len, 0, &fate);
}

static void edited_frames_have_right_checksums(void **state)
{
	uint8_t request[20], reply[20], fpdu[200];
	size_t n = impair_fpdu(fpdu, 0, 60);

	(void)state;
	(void)impair_mpa_frame(request, false, IW_MPA_C);
	(void)impair_mpa_frame(reply, true, IW_MPA_C);
	for (int v6 = 0; v6 < 2; v6++) {
		begin("fpdu nth=1: flip-bit payload fix-crc");
		assert_int_equal(tcp(v6, 0, 99, IW_TCP_SYN, NULL, 0), 1);
		assert_int_equal(tcp(v6, 1, 499, IW_TCP_SYN | IW_TCP_ACK, NULL, 0), 2);
		assert_int_equal(tcp(v6, 0, 100, IW_TCP_ACK, request, 20), 1);
		assert_int_equal(tcp(v6, 1, 500, IW_TCP_ACK, reply, 20), 2);
		assert_false(fate.changed);
		assert_int_equal(tcp(v6, 0, 120, IW_TCP_ACK, fpdu, n), 1);
		assert_true(fate.changed);
		assert_int_equal(fate.len, len);
		assert_true(impair_frame_is_right(frame, v6));
		assert_memory_not_equal(frame + len - n, fpdu, n);
		assert_int_equal(iw_flows_count(flows), 1);
		end();
	}
}

static void the_initiator_is_the_end_that_opens(void **state)
{
	(void)state;
	begin("fpdu: drop");
	/* The answer is seen first. */
	assert_int_equal(tcp(false, 1, 499, IW_TCP_SYN | IW_TCP_ACK, NULL, 0), 2);
	assert_int_equal(tcp(false, 0, 100, IW_TCP_ACK, "x", 1), 1);
	/* A retransmitted SYN opens nothing, another one does. */
	assert_int_equal(tcp(true, 0, 1, IW_TCP_SYN, NULL, 0), 3);
	assert_int_equal(tcp(true, 0, 1, IW_TCP_SYN, NULL, 0), 3);
	assert_int_equal(tcp(true, 0, 2, IW_TCP_SYN, NULL, 0), 5);
	/* Neither: the end of the first frame. */
	assert_int_equal(iw_flows_count(flows), 3);
	end();
}

static void sctp_in_udp_and_on_ip_is_cut_with_its_headers(void **state)
{
	uint8_t packet[500];
	size_t n = impair_packet(packet, 1);
	struct iw_packet p;

	(void)state;
	begin("chunk opcode=sack: drop");
	len = impair_frame(frame, false, 0, 17, 9899, 0, 0, packet, n);
	assert_int_equal(iw_flows_frame(flows, frame, len, 0, &fate), 1);
	assert_int_equal(fate.len, len - 16);
	assert_true(impair_frame_is_right(frame, false));
	assert_int_equal(iw_packet_parse(&p, IW_PACKET_ETHERNET, frame, fate.len, fate.len, 0),
			 IW_PACKET_SCTP);
	assert_true(impair_is_sealed(p.data, p.len));
	end();
}

static void frames_with_vlan_tags_have_the_same_units(void **state)
{
	uint8_t packet[500], tagged[600];
	size_t n = impair_packet(packet, 1);

	(void)state;
	begin("chunk opcode=write nth=1: flip-bit payload fix-crc");
	len = impair_frame(frame, true, 0, 17, 9899, 0, 0, packet, n);
	memcpy(tagged, frame, 12);
	iw_put_be32(tagged + 12, 0x81000007);
	memcpy(tagged + 16, frame + 12, len - 12);
	assert_int_equal(iw_flows_frame(flows, tagged, len + 4, 0, &fate), 1);
	assert_true(fate.changed);
	assert_int_equal(iw_get_be32(tagged + 12), 0x81000007);
	memcpy(frame + 12, tagged + 16, len - 12);
	assert_true(impair_frame_is_right(frame, true));
	assert_true(impair_is_sealed(frame + len - n, n));
	assert_memory_not_equal(frame + len - n, packet, n);
	end();
}

static void frames_of_other_protocols_pass(void **state)
{
	(void)state;
	begin("fpdu: drop\npacket: drop\noctets: drop");
	memset(frame, 0xff, sizeof(frame));
	assert_int_equal(iw_flows_frame(flows, frame, 60, 0, &fate), 0);
	assert_false(fate.dropped || fate.changed);
	assert_int_equal(iw_flows_frame(flows, frame, 5, 0, &fate), 0);
	assert_int_equal(fate.len, 5);
	end();
}

static void a_full_table_forgets_the_flow_that_was_idle_longest(void **state)
{
	(void)state;
	begin("fpdu: drop");
	for (uint32_t i = 0; i < IW_FLOWS_MAX + 10; i++) {
		len = impair_frame(frame, false, 0, 6, (uint16_t)(1 + i), 5, IW_TCP_SYN, NULL, 0);
		assert_int_equal(iw_flows_frame(flows, frame, len, 0, &fate), 2 * i + 1);
	}
	len = impair_frame(frame, false, 0, 6, 1, 5, IW_TCP_SYN, NULL, 0);
	assert_int_equal(iw_flows_frame(flows, frame, len, 0, &fate), 2 * (IW_FLOWS_MAX + 10) + 1);
	end();
}

/* --- packets that others overtake --- */

static struct iw_link *link_;
static struct iw_reorder order;

static void begin_order(void)
{
	struct iw_link_cfg cfg = { .seed = 1, .hold_bytes = 1 << 20 };

	counting_mem_init(&m.mem);
	assert_int_equal(iw_link_new(&link_, &cfg, &m.mem.mem), 0);
	iw_reorder_init(&order, link_, &m.mem.mem);
}

static void end_order(void)
{
	iw_reorder_fini(&order);
	iw_link_free(link_);
	assert_int_equal(m.mem.blocks, 0);
}

static void push(uint64_t flow, char name, struct iw_fate f)
{
	iw_reorder_push(&order, flow, &name, 1, &f, 0);
}

/* What leaves until that time. */
static const char *left(uint64_t now)
{
	static char text[50];
	struct iw_link_frame *f;
	size_t n = 0;

	iw_reorder_tick(&order, now);
	while ((f = iw_link_pop(link_, now))) {
		text[n++] = (char)f->data[0];
		iw_link_put(link_, f);
	}
	text[n] = '\0';
	return text;
}

static void overtaken_packets_leave_after_as_many_of_their_flow(void **state)
{
	(void)state;
	begin_order();
	push(1, 'a', (struct iw_fate){ .overtaken_by = 2 });
	push(2, 'x', (struct iw_fate){ 0 });
	push(1, 'b', (struct iw_fate){ 0 });
	push(1, 'c', (struct iw_fate){ .dropped = true });
	push(1, 'd', (struct iw_fate){ 0 });
	push(1, 'e', (struct iw_fate){ 0 });
	assert_string_equal(left(100), "xbdae");
	push(1, 'f', (struct iw_fate){ .overtaken_by = 1 });
	assert_string_equal(left(100), "");
	assert_int_equal(iw_reorder_deadline(&order), IW_REORDER_MAX_NS);
	assert_string_equal(left(IW_REORDER_MAX_NS + 1), "f");
	end_order();
}

static void copies_follow_and_delayed_packets_are_overtaken(void **state)
{
	(void)state;
	begin_order();
	push(1, 'a', (struct iw_fate){ .copies = 2 });
	push(1, 'b', (struct iw_fate){ .delay_ns = 1000 });
	push(1, 'c', (struct iw_fate){ .delay_ns = 1000 });
	push(1, 'd', (struct iw_fate){ .delay_ns = 1000 });
	push(1, 'e', (struct iw_fate){ 0 });
	assert_string_equal(left(900), "aaae");
	assert_string_equal(left(1100), "bcd");
	/* The copies of a packet that is overtaken leave with it. */
	push(1, 'f', (struct iw_fate){ .overtaken_by = 1, .copies = 2 });
	push(1, 'g', (struct iw_fate){ 0 });
	assert_string_equal(left(1200), "gfff");
	push(1, 'h', (struct iw_fate){ .overtaken_by = 1 });
	end_order();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edited_frames_have_right_checksums),
		cmocka_unit_test(the_initiator_is_the_end_that_opens),
		cmocka_unit_test(sctp_in_udp_and_on_ip_is_cut_with_its_headers),
		cmocka_unit_test(frames_with_vlan_tags_have_the_same_units),
		cmocka_unit_test(frames_of_other_protocols_pass),
		cmocka_unit_test(a_full_table_forgets_the_flow_that_was_idle_longest),
		cmocka_unit_test(overtaken_packets_leave_after_as_many_of_their_flow),
		cmocka_unit_test(copies_follow_and_delayed_packets_are_overtaken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
