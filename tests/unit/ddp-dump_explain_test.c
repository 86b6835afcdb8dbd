// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Explained fields have the octets, value and clause of the RFC. */
#include "ddp-dump/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture_maker.h"

static struct iw_cap_field field[IW_CAP_FIELDS_MAX];
static struct iw_cap_scratch scratch;
static size_t fields;
static char text[131072];
static size_t events;

/* Explains the event, and keeps the explanation of the last event that has one. */
static void look_at(const struct iw_cap_event *ev)
{
	struct iw_cap_explanation x = { .field = field };
	size_t n = iw_cap_explain(field, IW_ARRAY_LEN(field), &scratch, ev), at = 0;
	struct iw_text t;

	if (!n)
		return;
	events++;
	x.n = fields = n;
	for (;;) {
		iw_text_init(&t, text + at, sizeof(text) - at - 1);
		if (!iw_cap_explain_line(&x, &t))
			break;
		at += t.len;
		text[at++] = '\n';
		text[at] = '\0';
	}
}

static const struct iw_cap_field *named(const char *header, const char *name)
{
	for (size_t i = 0; i < fields; i++)
		if (strcmp(field[i].header, header) == 0 && strcmp(field[i].name, name) == 0)
			return &field[i];
	fail_msg("no %s in %s", name, header);
	return NULL;
}

static void begin(struct maker *m, uint8_t request, uint8_t reply)
{
	maker_init(m, NULL);
	m->each = look_at;
	set_up(m, request, reply);
}

static void end(struct maker *m)
{
	maker_finish(m);
	assert_true(maker_fini(m));
}

static void say_fpdu(struct maker *m, bool markers, bool crc, const uint8_t *ulpdu, size_t len)
{
	uint8_t fpdu[72000];

	say(m, 0, fpdu, make_fpdu(fpdu, 0, markers, crc, ulpdu, len));
}

static void an_fpdu_is_explained_from_its_length_to_its_crc(void **state)
{
	uint8_t ulpdu[64];
	size_t len = make_write(ulpdu, 0x01020304, 0x1122334455667788, true, 5), off = 0;
	struct maker m;

	(void)state;
	begin(&m, IW_MPA_C, IW_MPA_C);
	say_fpdu(&m, false, true, ulpdu, len);
	assert_int_equal(named("MPA FPDU", "ULPDU_Length")->value, 19);
	assert_int_equal(named("DDP tagged, RDMAP", "T")->value, 1);
	assert_int_equal(named("DDP tagged, RDMAP", "L")->value, 1);
	assert_int_equal(named("DDP tagged, RDMAP", "DV")->value, 1);
	assert_int_equal(named("DDP tagged, RDMAP", "RV")->value, 1);
	assert_int_equal(named("DDP tagged, RDMAP", "Opcode")->value, 0);
	assert_string_equal(named("DDP tagged, RDMAP", "Opcode")->meaning, "RDMA Write");
	assert_int_equal(named("DDP tagged, RDMAP", "STag")->value, 0x01020304);
	assert_string_equal(named("DDP tagged, RDMAP", "STag")->clause, "RFC 5041 4.2");
	assert_true(named("DDP tagged, RDMAP", "TO")->value == 0x1122334455667788);
	assert_string_equal(named("CRC", "CRC")->meaning, "good");
	assert_string_equal(named("PAD", "PAD")->clause, "RFC 5044 4.1");
	/* The fields contain all octets of the FPDU, in order. */
	for (size_t i = 0; i < fields; i++) {
		assert_true(field[i].off <= off);
		off = IW_MAX(off, (size_t)field[i].off + field[i].len);
	}
	assert_int_equal(off, iw_mpa_fpdu_len(len));
	end(&m);
}

static void bits_are_shown_at_their_place_in_the_octet(void **state)
{
	uint8_t ulpdu[64];
	struct maker m;

	(void)state;
	begin(&m, 0, 0);
	say_fpdu(&m, false, false, ulpdu, make_send(ulpdu, 1, 0, true, 0));
	assert_non_null(strstr(text,
			       "    0002  41 43 00 00 00 00 00 00  00 00 00 00 00 01 00 00    "
			       "DDP untagged, RDMAP\n    0012  00 00\n"));
	assert_non_null(strstr(text, "T             0.......          0  "));
	assert_non_null(strstr(text, "L             .1......          1  "));
	assert_non_null(strstr(text, "DV            ......01          1  "));
	assert_non_null(strstr(text, "Opcode        ....0011          3                   Send "
				     "[RFC 5040 4.1]\n"));
	end(&m);
}

static void markers_are_listed_with_their_place(void **state)
{
	uint8_t ulpdu[2000];
	struct maker m;

	(void)state;
	begin(&m, 0, IW_MPA_M);
	say_fpdu(&m, true, false, ulpdu, make_write(ulpdu, 1, 0, true, 1404));
	/* wire-formats: of an FPDU of 1,418 octets of ULPDU the markers are 0, 0x1fc and 0x3fc */
	assert_string_equal(field[fields - 6].name, "RESERVED");
	assert_int_equal(field[fields - 5].off, 2);
	assert_int_equal(field[fields - 5].value, 0);
	assert_int_equal(field[fields - 3].off, 512 + 2);
	assert_int_equal(field[fields - 3].value, 0x1fc);
	assert_int_equal(field[fields - 1].off, 1024 + 2);
	assert_int_equal(field[fields - 1].value, 0x3fc);
	end(&m);
}

static void the_greatest_fpdu_has_room_for_all_of_its_markers(void **state)
{
	static uint8_t ulpdu[65535], fpdu[72000];
	size_t len = make_write(ulpdu, 1, 0, true, 65535 - 14), n;
	struct maker m;

	(void)state;
	begin(&m, 0, IW_MPA_M);
	n = make_fpdu(fpdu, 0, true, false, ulpdu, len);
	for (size_t at = 0; at < n; at += 1400)
		say(&m, 0, fpdu + at, IW_MIN((size_t)1400, n - at));
	assert_int_equal(nth(&m, IW_CAP_DDP, 0)->ev.ddp.markers, (n + 511) / 512);
	assert_int_equal(field[fields - 1].off, (n - 1) / 512 * 512 + 2);
	end(&m);
}

static void set_up_frames_are_explained_with_the_enhanced_data(void **state)
{
	static const uint8_t pd[] = { 0x80, 0x20, 0x40, 0x01, 'h', 'i' };
	struct maker m;

	(void)state;
	maker_init(&m, NULL);
	m.each = look_at;
	handshake(&m);
	say_mpa(&m, 0, false, IW_MPA_C | IW_MPA_S, 2, pd, sizeof(pd));
	assert_int_equal(named("MPA frame", "C")->value, 1);
	assert_int_equal(named("MPA frame", "M")->value, 0);
	assert_int_equal(named("MPA frame", "Rev")->value, 2);
	assert_int_equal(named("MPA frame", "PD_Length")->value, 6);
	assert_int_equal(named("Enhanced data", "A")->value, 1);
	assert_int_equal(named("Enhanced data", "IRD")->value, 32);
	assert_int_equal(named("Enhanced data", "D")->value, 1);
	assert_int_equal(named("Enhanced data", "ORD")->value, 1);
	assert_int_equal(named("Private Data", "Private Data")->off, 24);
	assert_int_equal(named("Private Data", "Private Data")->len, 2);
	assert_non_null(strstr(text, "    0018  68 69"));
	end(&m);
}

/* RFC 7306 */
static void atomics_and_immediate_data_are_explained(void **state)
{
	uint8_t ulpdu[100];
	struct iw_ddp h = {
		.last = true, .dv = 1, .rv = 1, .opcode = IW_OP_ATOMIC_REQ, .qn = 1, .msn = 1
	};
	struct iw_atomic_req req = { .op = IW_ATOMIC_CMP_SWAP, .id = 9, .stag = 7, .compare = 5 };
	struct maker m;
	int n;

	(void)state;
	begin(&m, 0, 0);
	n = iw_wire_ddp_encode(ulpdu, sizeof(ulpdu), &h);
	n += iw_atomic_req_encode(ulpdu + n, sizeof(ulpdu) - (size_t)n, &req);
	say_fpdu(&m, false, false, ulpdu, (size_t)n);
	assert_string_equal(named("Atomic Request", "AOpCode")->meaning, "CmpSwap");
	assert_int_equal(named("Atomic Request", "Compare Data")->value, 5);
	assert_string_equal(named("Atomic Request", "Compare Data")->clause, "RFC 7306 5.2.1");
	h.opcode = IW_OP_ATOMIC_RSP;
	h.qn = 3;
	n = iw_wire_ddp_encode(ulpdu, sizeof(ulpdu), &h);
	n += iw_atomic_rsp_encode(ulpdu + n, sizeof(ulpdu) - (size_t)n,
				  &(struct iw_atomic_rsp){ 9, 8 });
	say_fpdu(&m, false, false, ulpdu, (size_t)n);
	assert_int_equal(named("Atomic Response", "Original Remote Data Value")->value, 8);
	h.opcode = IW_OP_IMM;
	h.qn = 0;
	n = iw_wire_ddp_encode(ulpdu, sizeof(ulpdu), &h);
	memcpy(ulpdu + n, "12345678", 8);
	say_fpdu(&m, false, false, ulpdu, (size_t)n + 8);
	assert_string_equal(named("Immediate Data", "Immediate Data")->clause, "RFC 7306 6.2");
	assert_int_equal(count_kind(&m, IW_CAP_ERROR), 0);
	end(&m);
}

/* RFC 5040 4.8 */
static void a_terminate_is_explained_with_what_it_copies(void **state)
{
	uint8_t ulpdu[100];
	struct iw_ddp h = {
		.last = true, .dv = 1, .rv = 1, .opcode = IW_OP_TERM, .qn = IW_QN_TERM, .msn = 1
	};
	struct iw_ddp bad = { .last = true, .dv = 1, .rv = 1, .opcode = IW_OP_RREQ, .qn = 1 };
	struct iw_terminate term = { .etype = 1,
				     .m = true,
				     .d = true,
				     .r = true,
				     .ddp_len = 46,
				     .ddp_hdr_len = IW_DDP_UNTAGGED_LEN,
				     .has_rreq = true,
				     .rreq = { .src_stag = 0xdead } };
	struct maker m;
	int n;

	(void)state;
	begin(&m, 0, 0);
	assert_int_equal(iw_wire_ddp_encode(term.ddp, sizeof(term.ddp), &bad), IW_DDP_UNTAGGED_LEN);
	n = iw_wire_ddp_encode(ulpdu, sizeof(ulpdu), &h);
	n += iw_terminate_encode(ulpdu + n, sizeof(ulpdu) - (size_t)n, &term);
	say_fpdu(&m, false, false, ulpdu, (size_t)n);
	assert_string_equal(named("RDMAP Terminate", "Layer")->meaning, "RDMAP");
	assert_string_equal(named("RDMAP Terminate", "Error Code")->meaning,
			    "RDMAP remote protection error: invalid STag");
	assert_int_equal(named("RDMAP Terminate", "R")->value, 1);
	assert_int_equal(named("RDMAP Terminate", "DDP Segment Length")->value, 46);
	assert_int_equal(named("its DDP header", "Opcode")->value, IW_OP_RREQ);
	assert_int_equal(named("its DDP header", "QN")->off, 2 + 18 + 4 + 2 + 6);
	assert_int_equal(named("its Read Request", "Data Source STag")->value, 0xdead);
	end(&m);
}

static void over_sctp_the_packet_is_explained_first(void **state)
{
	uint8_t segment[64];
	struct maker m;

	(void)state;
	maker_init(&m, NULL);
	m.each = look_at;
	say_init(&m, 0, 1, 16, 1);
	assert_int_equal(named("INIT chunk", "Initiate Tag")->value, m.tag[0]);
	assert_int_equal(named("INIT chunk", "Number of Outbound Streams")->value, 16);
	say_init(&m, 1, 2, 16, 1);
	say_control(&m, 0, 3, 0, 5, "\x80\x01\x80\x01hi", 6);
	assert_int_equal(named("SCTP packet", "Destination Port")->value, m.port[1]);
	assert_int_equal(named("DATA chunk", "PPID")->value, 17);
	assert_int_equal(named("DATA chunk", "U")->value, 1);
	assert_int_equal(named("DDP Stream Session Control", "Function Code")->off, 12 + 16 + 2);
	assert_int_equal(named("Enhanced data", "IRD")->value, 1);
	assert_int_equal(named("Private Data", "Private Data")->len, 2);
	say_segment(&m, 0, 3, 1, segment, make_send(segment, 1, 0, true, 9));
	assert_int_equal(named("DDP Segment chunk", "DDP-SSN")->value, 1);
	assert_int_equal(named("DDP untagged, RDMAP", "MSN")->off, 12 + 16 + 2 + 10);
	assert_int_equal(named("Payload", "Payload")->len, 9);
	end(&m);
}

static void event_without_a_header_has_no_fields(void **state)
{
	struct iw_cap_event ev = { .kind = IW_CAP_TCP };

	(void)state;
	assert_int_equal(iw_cap_explain(field, IW_ARRAY_LEN(field), &scratch, &ev), 0);
	ev.kind = IW_CAP_ALIGN;
	assert_int_equal(iw_cap_explain(field, IW_ARRAY_LEN(field), &scratch, &ev), 0);
	ev.kind = IW_CAP_ERROR;
	assert_int_equal(iw_cap_explain(field, IW_ARRAY_LEN(field), &scratch, &ev), 0);
}

static void no_more_fields_than_there_is_room_for(void **state)
{
	struct iw_cap_event ev = { .kind = IW_CAP_MPA };

	(void)state;
	ev.mpa.frame.kind = IW_MPA_REQUEST;
	for (size_t max = 0; max < 9; max++)
		assert_int_equal(iw_cap_explain(field, max, &scratch, &ev), IW_MIN(max, (size_t)8));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_fpdu_is_explained_from_its_length_to_its_crc),
		cmocka_unit_test(bits_are_shown_at_their_place_in_the_octet),
		cmocka_unit_test(markers_are_listed_with_their_place),
		cmocka_unit_test(the_greatest_fpdu_has_room_for_all_of_its_markers),
		cmocka_unit_test(set_up_frames_are_explained_with_the_enhanced_data),
		cmocka_unit_test(atomics_and_immediate_data_are_explained),
		cmocka_unit_test(a_terminate_is_explained_with_what_it_copies),
		cmocka_unit_test(over_sctp_the_packet_is_explained_first),
		cmocka_unit_test(event_without_a_header_has_no_fields),
		cmocka_unit_test(no_more_fields_than_there_is_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
