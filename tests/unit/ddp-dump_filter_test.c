// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Filters by STag, by stream and by errors. */
#include "ddp-dump/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util/num.h"

static const struct iw_cap_flow tcp = { .id = 3 };
static const struct iw_cap_flow sctp = { .id = 4, .over = IW_CAP_OVER_SCTP };

static struct iw_cap_event segment(const struct iw_cap_flow *flow, const struct iw_ddp *h)
{
	struct iw_cap_event ev = { .kind = IW_CAP_DDP, .flow = flow, .frame = 9 };

	ev.ddp.has_header = true;
	ev.ddp.hdr = *h;
	return ev;
}

static bool passes(struct iw_cap_filter f, const struct iw_cap_event *ev)
{
	return iw_cap_filter(&f, ev);
}

static void empty_filter_passes_every_event(void **state)
{
	struct iw_cap_event ev = { .kind = IW_CAP_TCP, .flow = &tcp };

	(void)state;
	assert_true(passes((struct iw_cap_filter){ 0 }, &ev));
}

static void an_stag_is_found_wherever_a_segment_names_it(void **state)
{
	static const uint32_t stag[] = { 5, 0x77 };
	const struct iw_cap_filter f = { .stag = stag, .stags = 2 };
	struct iw_rreq rreq = { .sink_stag = 0x77 }, other = { .sink_stag = 1, .src_stag = 2 };
	struct iw_atomic_req atomic = { .stag = 0x77 };
	struct iw_terminate term = { .d = true, .ddp_hdr_len = IW_DDP_TAGGED_LEN };
	struct iw_ddp h = { .tagged = true, .stag = 0x77 };
	struct iw_cap_event ev = segment(&tcp, &h);

	(void)state;
	assert_true(passes(f, &ev));
	ev.ddp.hdr.stag = 6;
	assert_false(passes(f, &ev));
	ev.ddp.hdr = (struct iw_ddp){ .opcode = IW_OP_SEND_INV, .inval_stag = 5 };
	assert_true(passes(f, &ev));
	ev.ddp.hdr.opcode = IW_OP_SEND_SE_INV;
	assert_true(passes(f, &ev));
	/* this message does not use the field */
	ev.ddp.hdr.opcode = IW_OP_SEND;
	assert_false(passes(f, &ev));
	ev.ddp.rreq = &other;
	assert_false(passes(f, &ev));
	ev.ddp.rreq = &rreq;
	assert_true(passes(f, &ev));
	rreq = (struct iw_rreq){ .src_stag = 5 };
	assert_true(passes(f, &ev));
	ev.ddp.rreq = NULL;
	ev.ddp.atomic_req = &atomic;
	assert_true(passes(f, &ev));
	ev.ddp.atomic_req = NULL;
	ev.ddp.term = &term;
	assert_int_equal(iw_wire_ddp_encode(term.ddp, sizeof(term.ddp), &h), IW_DDP_TAGGED_LEN);
	assert_true(passes(f, &ev));
	ev.ddp.term = NULL;
	ev.ddp.has_header = false;
	assert_false(passes(f, &ev));
	/* an event that is not a segment names no STag */
	ev = (struct iw_cap_event){ .kind = IW_CAP_MPA, .flow = &tcp };
	assert_false(passes(f, &ev));
}

static void a_stream_is_a_connection_or_one_of_an_association(void **state)
{
	static const struct iw_cap_stream stream[] = { { .flow = 3, .any = true },
						       { .flow = 4, .sid = 17 } };
	const struct iw_cap_filter f = { .stream = stream, .streams = 2 };
	struct iw_cap_event ev = segment(&tcp, &(struct iw_ddp){ 0 });

	(void)state;
	assert_true(passes(f, &ev));
	ev.flow = &sctp;
	assert_false(passes(f, &ev));
	ev.ddp.chunk.stream = 17;
	assert_true(passes(f, &ev));
	ev = (struct iw_cap_event){ .kind = IW_CAP_SESSION, .flow = &sctp };
	assert_false(passes(f, &ev));
	ev.session.chunk.stream = 17;
	assert_true(passes(f, &ev));
	/* events of the association belong to all of its streams */
	ev = (struct iw_cap_event){ .kind = IW_CAP_SCTP, .flow = &sctp };
	assert_true(passes(f, &ev));
	ev.flow = &(const struct iw_cap_flow){ .id = 5 };
	assert_false(passes(f, &ev));
	/* an error belongs to its stream, or to all */
	ev = (struct iw_cap_event){ .kind = IW_CAP_ERROR, .flow = &sctp, .sid = 16 };
	assert_false(passes(f, &ev));
	ev.sid = 17;
	assert_true(passes(f, &ev));
	ev.sid = -1;
	assert_true(passes(f, &ev));
}

static void error_filter_selects_errors_deviations_rejections_and_losses(void **state)
{
	static const struct {
		bool trouble;
		struct iw_cap_event ev;
	} rows[] = {
		{ true, { .kind = IW_CAP_ERROR } },
		{ true, { .kind = IW_CAP_MPA, .deviations = IW_CAP_DEV_NO_CRC } },
		{ false, { .kind = IW_CAP_MPA, .mpa.frame.kind = IW_MPA_REPLY } },
		{ true,
		  { .kind = IW_CAP_MPA,
		    .mpa.frame = { .kind = IW_MPA_REPLY, .flags = IW_MPA_R } } },
		{ false, { .kind = IW_CAP_SESSION, .session.control.fn = IW_SCTP_FN_ACCEPT } },
		{ true, { .kind = IW_CAP_SESSION, .session.control.fn = IW_SCTP_FN_REJECT } },
		{ true, { .kind = IW_CAP_SESSION, .session.control.fn = IW_SCTP_FN_ENH_REJECT } },
		{ false, { .kind = IW_CAP_DDP } },
		{ true, { .kind = IW_CAP_DDP, .ddp.faulty = true } },
		{ true, { .kind = IW_CAP_TCP, .tcp.kind = IW_CAP_TCP_LOSS } },
		{ true, { .kind = IW_CAP_TCP, .tcp.kind = IW_CAP_TCP_RESET } },
		{ false, { .kind = IW_CAP_TCP, .tcp.kind = IW_CAP_TCP_FIN } },
		{ false, { .kind = IW_CAP_TCP, .tcp.kind = IW_CAP_TCP_AGAIN } },
		{ true,
		  { .kind = IW_CAP_TCP,
		    .tcp = { .kind = IW_CAP_TCP_AGAIN, .why = IW_CAP_WHY_DIFFERS } } },
		{ false, { .kind = IW_CAP_SCTP, .sctp.kind = IW_CAP_SCTP_INIT } },
		{ true, { .kind = IW_CAP_SCTP, .sctp.kind = IW_CAP_SCTP_ABORT } },
		{ false, { .kind = IW_CAP_ALIGN } },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		struct iw_cap_event ev = rows[i].ev;

		ev.flow = &tcp;
		if (passes((struct iw_cap_filter){ .errors = true }, &ev) != rows[i].trouble)
			fail_msg("row %zu", i);
	}
}

static void an_error_is_reported_with_its_segment(void **state)
{
	static const uint32_t stag[] = { 5 };
	struct iw_cap_filter f = { .stag = stag, .stags = 1 };
	struct iw_cap_event ev = segment(&tcp, &(struct iw_ddp){ .tagged = true, .stag = 5 });
	struct iw_cap_event error = { .kind = IW_CAP_ERROR, .flow = &tcp, .frame = 9 };

	(void)state;
	assert_true(iw_cap_filter(&f, &ev));
	assert_true(iw_cap_filter(&f, &error));
	/* and so does the second error of the segment */
	assert_true(iw_cap_filter(&f, &error));
	error.frame = 8;
	assert_false(iw_cap_filter(&f, &error));
	ev.ddp.hdr.stag = 6;
	error.frame = 9;
	assert_false(iw_cap_filter(&f, &ev));
	assert_false(iw_cap_filter(&f, &error));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_filter_passes_every_event),
		cmocka_unit_test(an_stag_is_found_wherever_a_segment_names_it),
		cmocka_unit_test(a_stream_is_a_connection_or_one_of_an_association),
		cmocka_unit_test(error_filter_selects_errors_deviations_rejections_and_losses),
		cmocka_unit_test(an_error_is_reported_with_its_segment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
