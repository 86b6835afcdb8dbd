// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Events as lines for people. */
#include "ddp-dump/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "util/num.h"

static char buf[IW_CAP_LINE];

static const char *line(const struct iw_cap_event *ev)
{
	struct iw_text t;

	iw_text_init(&t, buf, sizeof(buf));
	iw_cap_event_print(&t, ev);
	return buf;
}

static const struct iw_cap_flow flow = { .end = { { .addr = { 10, 0, 0, 1 }, .port = 1 },
						  { .addr = { 10, 0, 0, 2 }, .port = 2 } } };

static const char *address(const struct iw_packet_end *e)
{
	struct iw_text t;

	iw_text_init(&t, buf, sizeof(buf));
	iw_cap_end_print(&t, e);
	return buf;
}

static void addresses_print_with_their_ports(void **state)
{
	static const struct iw_packet_end v4 = { .addr = { 192, 0, 2, 200 }, .port = 65535 };
	static const struct iw_packet_end v6 = { .v6 = true,
						 .addr = { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 },
						 .port = 7471 };

	(void)state;
	assert_string_equal(address(&v4), "192.0.2.200:65535");
	assert_string_equal(address(&v6), "[2001:db8::1]:7471");
}

static void octets_of_a_peer_print_as_ascii_without_controls(void **state)
{
	uint8_t all[256];
	struct iw_text t;

	(void)state;
	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (uint8_t)i;
	iw_text_init(&t, buf, sizeof(buf));
	iw_cap_octets_print(&t, all, sizeof(all));
	assert_int_equal(strlen(buf), 256);
	for (size_t i = 0; i < 256; i++)
		assert_int_equal(buf[i], i >= 0x20 && i < 0x7f ? (char)i : '.');
}

static void a_request_event_has_its_private_data_as_text_and_hex(void **state)
{
	struct iw_cap_event ev = { .kind = IW_CAP_MPA, .flow = &flow };

	(void)state;
	ev.mpa.frame = (struct iw_mpa_frame){
		.kind = IW_MPA_REQUEST, .flags = IW_MPA_S, .rev = 2, .pd_len = 9
	};
	ev.mpa.enhanced = true;
	ev.mpa.enh = (struct iw_mpa_enhanced){ .ird = 1, .ord = 2 };
	ev.mpa.pd = (const uint8_t *)"a\033[2J";
	ev.mpa.pd_len = 5;
	assert_string_equal(
		line(&ev),
		"MPA Request Rev 2 S PD_Length 9, client-server IRD 1 ORD 2, Private Data 5 \"a.[2J\" 611b5b324a");
	/* one of the five was not captured */
	ev.mpa.pd_len = 4;
	assert_non_null(
		strstr(line(&ev), "Private Data 5 \"a.[2\" 611b5b32, 1 octets of it not captured"));
}

static void a_reply_event_has_the_agreed_parameters(void **state)
{
	struct iw_cap_event ev = { .kind = IW_CAP_MPA, .flow = &flow };

	(void)state;
	ev.mpa.frame = (struct iw_mpa_frame){ .kind = IW_MPA_REPLY, .flags = IW_MPA_C, .rev = 1 };
	ev.mpa.agreed = ev.mpa.crc_on = ev.mpa.markers_to_initiator = true;
	assert_string_equal(
		line(&ev),
		"MPA Reply Rev 1 C PD_Length 0: CRC on, markers off to the responder, on to the initiator");
}

static void a_segment_event_has_verdicts_and_deviations(void **state)
{
	struct iw_cap_event ev = { .kind = IW_CAP_DDP, .flow = &flow };
	struct iw_cap_ddp *e = &ev.ddp;

	(void)state;
	e->has_header = true;
	e->hdr = (struct iw_ddp){
		.tagged = true, .last = true, .dv = 1, .rv = 1, .stag = 0xbeef, .to = 0x10
	};
	e->len = 5;
	e->offset = 0;
	e->crc = IW_CAP_CRC_GOOD;
	assert_string_equal(line(&ev), "RDMA Write L STag 0x0000beef TO 0x10, length 5, crc good");
	e->offset = 4;
	e->crc = IW_CAP_CRC_BAD;
	e->crc_wire = 1;
	e->crc_computed = 2;
	e->marker = IW_CAP_MARKER_GOOD;
	e->markers = 3;
	ev.deviations = IW_CAP_DEV_PAD | IW_CAP_DEV_RESERVED;
	assert_string_equal(
		line(&ev),
		"RDMA Write L STag 0x0000beef TO 0x10, length 5, crc bad (0x00000001, expected 0x00000002), 3 markers good, "
		"not aligned [pad-not-zero] [reserved-not-zero]");
	ev.deviations = 0;
	*e = (struct iw_cap_ddp){ .segment_len = 3, .crc = IW_CAP_CRC_ABSENT, .missing = 9 };
	assert_string_equal(line(&ev),
			    "FPDU with ULPDU_Length 3, crc absent, 9 octets not captured");
}

static void losses_and_ends_report_their_position(void **state)
{
	struct iw_cap_event ev = { .kind = IW_CAP_TCP, .flow = &flow };

	(void)state;
	ev.tcp = (struct iw_cap_tcp){ IW_CAP_TCP_LOSS, IW_CAP_WHY_GAP,  7, 1448,
				      false,           "full operation" };
	assert_string_equal(
		line(&ev),
		"TCP loss: 1448 octets from 7 on not captured (gap), in full operation; FPDU boundaries lost");
	ev.tcp = (struct iw_cap_tcp){ IW_CAP_TCP_LOSS,        IW_CAP_WHY_GAP, 7, 0, true,
				      "an MPA start-up frame" };
	assert_string_equal(line(&ev),
			    "TCP loss: an MPA start-up frame not captured; FPDU boundaries known");
	ev.tcp = (struct iw_cap_tcp){ IW_CAP_TCP_RESYNC, IW_CAP_WHY_MARKER, 7, 99, true,
				      "full operation" };
	assert_string_equal(line(&ev),
			    "FPDU boundaries found again (marker); 99 octets not decoded");
	ev.tcp = (struct iw_cap_tcp){ IW_CAP_TCP_FIN, IW_CAP_WHY_NONE, 7, 0, false, "MPA set-up" };
	assert_string_equal(line(&ev), "TCP FIN in MPA set-up");
	ev.tcp.kind = IW_CAP_TCP_RESET;
	assert_string_equal(line(&ev), "TCP reset in MPA set-up");
	ev.tcp.kind = IW_CAP_TCP_FORGOTTEN;
	assert_non_null(strstr(line(&ev), "no longer followed"));
}

static void an_error_has_its_clause(void **state)
{
	struct iw_cap_event ev = { .kind = IW_CAP_ERROR, .flow = &flow };

	(void)state;
	iw_fail(&ev.error, IW_E_MPA_CRC, "mpa: CRC %x", (uint32_t)1);
	assert_string_equal(line(&ev), "error: mpa: CRC 0x00000001 (RFC 5044 8)");
	ev.error.clause = "";
	assert_string_equal(line(&ev), "error: mpa: CRC 0x00000001");
}

static void every_value_has_a_name_of_its_own(void **state)
{
	const char *names[40];
	size_t n = 0;

	(void)state;
	for (int i = 0; i <= IW_CAP_ERROR; i++)
		names[n++] = iw_cap_kind_name((enum iw_cap_kind)i);
	for (int i = 0; i <= IW_CAP_TCP_FORGOTTEN; i++)
		names[n++] = iw_cap_tcp_name((enum iw_cap_tcp_kind)i);
	for (int i = IW_CAP_WHY_GAP; i <= IW_CAP_WHY_SHAPE; i++)
		names[n++] = iw_cap_why_name((enum iw_cap_why)i);
	for (unsigned i = 0; i < IW_CAP_DEV_COUNT; i++) {
		const struct iw_cap_deviation_info *d = iw_cap_deviation_info(i);

		names[n++] = d->name;
		assert_memory_equal(d->clause, "RFC ", 4);
		assert_true(d->text[0] != '\0');
	}
	assert_true(n <= IW_ARRAY_LEN(names));
	for (size_t i = 0; i < n; i++) {
		assert_true(names[i][0] != '\0');
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(names[i], names[k]);
	}
	for (int i = 0; i < IW_CAP_CRC_COUNT_; i++)
		assert_true(iw_cap_crc_name((enum iw_cap_crc)i)[0] != '\0');
	for (int i = 0; i < IW_CAP_MARKER_COUNT_; i++)
		assert_true(iw_cap_marker_name((enum iw_cap_marker)i)[0] != '\0');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_print_with_their_ports),
		cmocka_unit_test(octets_of_a_peer_print_as_ascii_without_controls),
		cmocka_unit_test(a_request_event_has_its_private_data_as_text_and_hex),
		cmocka_unit_test(a_reply_event_has_the_agreed_parameters),
		cmocka_unit_test(a_segment_event_has_verdicts_and_deviations),
		cmocka_unit_test(losses_and_ends_report_their_position),
		cmocka_unit_test(an_error_has_its_clause),
		cmocka_unit_test(every_value_has_a_name_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
