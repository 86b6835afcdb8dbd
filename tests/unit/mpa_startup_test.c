// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Requests and Replies, sent and received in both roles: lib/mpa/startup.c. */
#include "mpa/mpa.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "mpa_end.h"
#include "vectors/mpa.h"

static const uint8_t reply_rev1[] = { KEY_REP, 0x40, 0x01, 0x00, 0x00 };

static struct iw_mpa_cfg unenhanced(bool initiator)
{
	return mpa_cfg(initiator, 1);
}

static void expect_sent(struct mpa_end *e, const void *octets, size_t len)
{
	struct octets out = { 0 };

	mpa_end_drain(e, &out);
	assert_int_equal(out.len, len);
	assert_memory_equal(out.p, octets, len);
	octets_free(&out);
}

/* MPA-38, MPA-31, MPA-35 */
static void initiator_sends_its_request_first_and_once(void **state)
{
	struct mpa_end e;

	(void)state;
	assert_int_equal(mpa_end_init(&e, unenhanced(true)), 0);
	assert_int_equal(iw_mpa_tx_startup(e.m).len, 0);
	iw_mpa_start(e.m, 0);
	assert_int_equal(iw_mpa_state(e.m), IW_MPA_WAIT_REPLY);
	expect_sent(&e, request_rev1, sizeof(request_rev1));
	assert_int_equal(iw_mpa_tx_startup(e.m).len, 0);
	mpa_end_close(&e);
}

/* MPA-38 */
static void request_can_be_taken_octet_by_octet(void **state)
{
	struct mpa_end e;

	(void)state;
	mpa_end_open(&e, unenhanced(true));
	for (size_t i = 0; i < sizeof(request_rev1); i++) {
		struct iw_vec v = iw_mpa_tx_startup(e.m);

		assert_int_equal(v.len, sizeof(request_rev1) - i);
		assert_int_equal(*(uint8_t *)v.base, request_rev1[i]);
		iw_mpa_tx_startup_sent(e.m, 1);
	}
	assert_int_equal(iw_mpa_tx_startup(e.m).len, 0);
	mpa_end_close(&e);
}

/* MPA-39, MPA-31, MPA-42, MPA-34 */
static void responder_sends_nothing_before_a_request(void **state)
{
	struct mpa_end e;
	uint8_t request[sizeof(request_rev1)];

	(void)state;
	memcpy(request, request_rev1, sizeof(request));
	request[16] |= IW_MPA_R; /* not checked in a Request */
	mpa_end_open(&e, unenhanced(false));
	assert_int_equal(iw_mpa_state(e.m), IW_MPA_WAIT_REQUEST);
	for (size_t i = 0; i < sizeof(request); i++) {
		assert_int_equal(iw_mpa_tx_startup(e.m).len, 0);
		assert_int_equal(e.units, 0);
		assert_int_equal(mpa_end_feed(&e, request + i, 1, 1), 1);
	}
	assert_int_equal(e.units, 1);
	assert_int_equal(e.last_kind, IW_MPA_UNIT_REQUEST);
	assert_int_equal(iw_mpa_state(e.m), IW_MPA_FULL_RX);
	expect_sent(&e, reply_rev1, sizeof(reply_rev1));
	mpa_end_close(&e);
}

/* MPA-29, MPA-30: octets after a Request stay in TCP until the decision, and are FPDUs after it. */
static void octets_after_a_request_wait_for_the_decision(void **state)
{
	struct octets stream = { 0 };

	(void)state;
	octets_add(&stream, request_rev1, sizeof(request_rev1));
	octets_add(&stream, fpdu_send_hello, sizeof(fpdu_send_hello));
	for (size_t split = 0; split <= stream.len; split++) {
		struct mpa_end e;
		size_t took;

		mpa_end_open(&e, unenhanced(false));
		e.accept = false;
		took = mpa_end_feed_split(&e, stream.p, stream.len, split);
		assert_int_equal(took, sizeof(request_rev1));
		assert_int_equal(iw_mpa_state(e.m), IW_MPA_DECIDING);
		assert_int_equal(iw_mpa_accept(e.m, 0, 0, NULL, 0, NULL), 0);
		mpa_end_feed(&e, stream.p + took, stream.len - took, SIZE_MAX);
		assert_int_equal(e.ulpdus, 1);
		assert_int_equal(e.data.len, 23);
		assert_memory_equal(e.data.p, fpdu_send_hello + 2, 23);
		assert_int_equal(iw_mpa_state(e.m), IW_MPA_FULL);
		mpa_end_close(&e);
	}
	octets_free(&stream);
}

/*
 * MPA-29, MPA-43: FPDUs of a responder that sends first (Linux siw does) are accepted, in the same
 * read and at any split.
 */
static void octets_after_a_reply_are_fpdus(void **state)
{
	struct octets stream = { 0 };

	(void)state;
	octets_add(&stream, reply_rev1, sizeof(reply_rev1));
	octets_add(&stream, fpdu_send_hello, sizeof(fpdu_send_hello));
	for (size_t split = 0; split <= stream.len; split++) {
		struct mpa_end e;

		mpa_end_open(&e, unenhanced(true));
		assert_int_equal(mpa_end_feed_split(&e, stream.p, stream.len, split), stream.len);
		assert_int_equal(e.units, 2);
		assert_int_equal(e.ulpdus, 1);
		assert_int_equal(e.last_pos, 0);
		assert_int_equal(e.err, 0);
		mpa_end_close(&e);
	}
	octets_free(&stream);
}

static void expect_fault(struct iw_mpa_cfg cfg, const void *octets, size_t len, int err,
			 const char *words)
{
	struct mpa_end e;

	mpa_end_open(&e, cfg);
	mpa_end_feed(&e, octets, len, 1);
	assert_int_equal(e.err, err);
	assert_int_equal(e.why.err, err);
	assert_non_null(strstr(e.why.text, words));
	assert_int_equal(iw_mpa_state(e.m), IW_MPA_FAILED);
	assert_int_equal(iw_mpa_deadline(e.m), IW_TIME_NEVER);
	assert_false(iw_mpa_may_send(e.m));
	mpa_end_close(&e);
}

/*
 * MPA-31, MPA-40, MPA-43, MPA-50, MPA-51: a wrong octet is detected at once, at each position of
 * the key.
 */
static void a_wrong_octet_of_the_key_is_found_at_once(void **state)
{
	(void)state;
	for (int initiator = 0; initiator <= 1; initiator++) {
		const uint8_t *right = initiator ? reply_rev1 : request_rev1;

		for (size_t i = 0; i < IW_MPA_KEY_LEN; i++) {
			struct mpa_end e;
			uint8_t key[IW_MPA_KEY_LEN];

			memcpy(key, right, sizeof(key));
			key[i] ^= 0x20;
			mpa_end_open(&e, unenhanced(initiator));
			mpa_end_feed(&e, key, i, 1);
			assert_int_equal(e.err, 0);
			mpa_end_feed(&e, key + i, 1, 1);
			assert_int_equal(e.err, IW_E_MPA_FRAME);
			assert_int_equal(e.why.term, IW_TERM(2, 0, 4));
			mpa_end_close(&e);

			/* The text is the same if all octets are received at once. */
			mpa_end_open(&e, unenhanced(initiator));
			mpa_end_feed(&e, key, sizeof(key), sizeof(key));
			assert_int_equal(e.err, IW_E_MPA_FRAME);
			assert_non_null(strstr(e.why.text, initiator ? "not an MPA Reply"
								     : "not an MPA Request"));
			mpa_end_close(&e);
		}
	}
}

/* MPA-31, MPA-50 */
static void another_protocol_is_reported_at_once(void **state)
{
	(void)state;
	expect_fault(
		unenhanced(false), "GET /", 5, IW_E_MPA_FRAME,
		"not an MPA Request: an HTTP client begins like this (octet 0 of the key is 0x47, expected 0x4d)");
	expect_fault(
		unenhanced(true), "<html", 5, IW_E_MPA_FRAME,
		"not an iWARP listener: an HTTP server answers like this; give the listener's port with -p (octet 0 of the MPA key is 0x3c, expected 0x4d)");
	expect_fault(
		unenhanced(true), "SSH-2", 5, IW_E_MPA_FRAME,
		"not an iWARP listener: an SSH server answers like this; give the listener's port with -p (octet 0 of the MPA key is 0x53, expected 0x4d)");
	expect_fault(unenhanced(true), "HTTP/1.1", 8, IW_E_MPA_FRAME,
		     "an HTTP server answers like this");
	expect_fault(unenhanced(true), "220 mail", 8, IW_E_MPA_FRAME,
		     "an SMTP or FTP server answers like this");
	expect_fault(unenhanced(true), "MQ", 2, IW_E_MPA_FRAME, "octet 1 of the key is 0x51");
}

/* MPA-31, MPA-50 */
static void tls_of_the_peer_is_reported_with_the_option(void **state)
{
	static const char expects[] =
		"the peer expects TLS: a TLS server answers like this; give --tls";

	(void)state;
	/* An alert, and a record of the handshake; also of a single octet. */
	expect_fault(unenhanced(true), "\x15\x03\x03\x00\x02", 5, IW_E_MPA_FRAME, expects);
	expect_fault(unenhanced(true), "\x16\x03\x03", 3, IW_E_MPA_FRAME, expects);
	expect_fault(unenhanced(true), "\x15", 1, IW_E_MPA_FRAME, expects);
	expect_fault(
		unenhanced(false), "\x16\x03\x01", 3, IW_E_MPA_FRAME,
		"mpa: the peer speaks TLS: a TLS client begins like this; start the listener with --tls, or the peer without it (octet 0 of the MPA key is 0x16, expected 0x4d)");
	/* No TLS client begins with an alert. */
	expect_fault(unenhanced(false), "\x15\x03\x01", 3, IW_E_MPA_FRAME,
		     "not an MPA Request: octet 0 of the key is 0x15");
}

/* MPA-46 */
static void two_initiators_are_detected_by_the_key(void **state)
{
	(void)state;
	expect_fault(
		unenhanced(true), request_rev1, sizeof(request_rev1), IW_E_MPA_FRAME,
		"got an MPA Request, expected a Reply: both ends are initiators, or an echo service is there; give the listener's port with -p");
	expect_fault(unenhanced(false), reply_rev1, sizeof(reply_rev1), IW_E_MPA_FRAME,
		     "got an MPA Reply, expected a Request");
}

/* MPA-37, MPA-48, MPA-40, MPA-43 */
static void private_data_above_512_octets_is_refused_by_its_length(void **state)
{
	static const uint16_t lengths[] = { 513, 514, 0x8000, 0xffff };

	(void)state;
	for (int initiator = 0; initiator <= 1; initiator++) {
		for (size_t i = 0; i < IW_ARRAY_LEN(lengths); i++) {
			uint8_t frame[IW_MPA_FRAME_LEN];

			memcpy(frame, initiator ? reply_rev1 : request_rev1, sizeof(frame));
			iw_put_be16(frame + 18, lengths[i]);
			expect_fault(unenhanced(initiator), frame, sizeof(frame), IW_E_MPA_FRAME,
				     "at most 512");
		}
	}
}

/*
 * MPA-37, MPA-48: up to 512 octets are passed to the ULP unchanged, at every split; no octet after
 * them is taken.
 */
static void private_data_up_to_512_octets_is_passed_on(void **state)
{
	static const uint16_t lengths[] = { 0, 1, 7, 8, 255, 256, 511, 512 };

	(void)state;
	for (int initiator = 0; initiator <= 1; initiator++) {
		for (size_t i = 0; i < IW_ARRAY_LEN(lengths); i++) {
			size_t frame_len = IW_MPA_FRAME_LEN + lengths[i];
			uint8_t frame[IW_MPA_FRAME_LEN + 512 + 1];

			memset(frame, 0xee, sizeof(frame));
			memcpy(frame, initiator ? reply_rev1 : request_rev1, IW_MPA_FRAME_LEN);
			frame[16] |= IW_MPA_R; /* the initiator stops after the frame */
			iw_put_be16(frame + 18, lengths[i]);
			for (size_t k = 0; k < lengths[i]; k++)
				frame[IW_MPA_FRAME_LEN + k] = (uint8_t)(k * 7);
			for (size_t split = 0; split <= frame_len; split++) {
				struct mpa_end e;

				mpa_end_open(&e, unenhanced(initiator));
				e.accept = false;
				assert_int_equal(mpa_end_feed_split(&e, frame, frame_len + 1,
								    split),
						 frame_len);
				assert_int_equal(e.units, 1);
				assert_int_equal(iw_mpa_agreed(e.m)->pd_len, lengths[i]);
				assert_memory_equal(iw_mpa_agreed(e.m)->pd,
						    frame + IW_MPA_FRAME_LEN, lengths[i]);
				mpa_end_close(&e);
			}
		}
	}
}

/* MPA-36, MPA-40, MPA-43 */
static void a_revision_that_is_not_known_is_refused(void **state)
{
	uint8_t frame[IW_MPA_FRAME_LEN];

	(void)state;
	for (unsigned rev = 0; rev < 256; rev++) {
		if (rev == 1 || rev == 2)
			continue;
		memcpy(frame, request_rev1, sizeof(frame));
		frame[17] = (uint8_t)rev;
		expect_fault(mpa_cfg(false, 2), frame, sizeof(frame), IW_E_MPA_FRAME, "Rev ");
		memcpy(frame, reply_rev1, sizeof(frame));
		frame[17] = (uint8_t)rev;
		expect_fault(unenhanced(true), frame, sizeof(frame), IW_E_MPA_FRAME, "Rev ");
	}
}

/* ENH-06: a responder without Rev 2 closes; ENH-02: one with Rev 2 also accepts Rev 1. */
static void a_responder_takes_revisions_up_to_its_own(void **state)
{
	struct mpa_end e;

	(void)state;
	expect_fault(unenhanced(false), request_enhanced, sizeof(request_enhanced), IW_E_MPA_FRAME,
		     "Rev 2: expected at most 1");
	mpa_end_open(&e, mpa_cfg(false, 2));
	mpa_end_feed(&e, request_rev1, sizeof(request_rev1), SIZE_MAX);
	assert_int_equal(iw_mpa_state(e.m), IW_MPA_FULL_RX);
	expect_sent(&e, reply_rev1, sizeof(reply_rev1));
	mpa_end_close(&e);
}

/* MPA-36, MPA-05 */
static void revision_in_force_is_reported(void **state)
{
	static const uint8_t reply[] = { KEY_REP, 0x40, 0x01, 0x00, 0x00 };
	struct iw_mpa_cfg cfg = mpa_cfg(true, 2);
	struct mpa_end e;

	(void)state;
	cfg.offer.ird = cfg.offer.ord = IW_MPA_IRD_ORD_MAX; /* not enhanced: Rev 2 with S = 0 */
	mpa_end_open(&e, cfg);
	mpa_end_feed(&e, reply, sizeof(reply), SIZE_MAX);
	assert_int_equal(e.last_kind, IW_MPA_UNIT_REPLY);
	assert_int_equal(iw_mpa_agreed(e.m)->rev, 1);
	assert_int_equal(iw_mpa_agreed(e.m)->peer_rev, 1);
	assert_int_equal(iw_mpa_agreed(e.m)->dv, 1);
	mpa_end_close(&e);
	mpa_end_open(&e, mpa_cfg(false, 2));
	mpa_end_feed(&e, request_enhanced, sizeof(request_enhanced), SIZE_MAX);
	assert_int_equal(iw_mpa_agreed(e.m)->rev, 2);
	mpa_end_close(&e);
}

/* MPA-41, MPA-43: MPA is over, and TCP belongs to the ULP, including octets after the Reply. */
static void a_rejecting_reply_ends_mpa_and_leaves_tcp_open(void **state)
{
	struct octets stream = { 0 };

	(void)state;
	octets_add(&stream, reply_rejecting, sizeof(reply_rejecting));
	octets_add(&stream, "hello", 5);
	for (size_t split = 0; split <= stream.len; split++) {
		struct iw_fault why;
		struct mpa_end e;

		mpa_end_open(&e, unenhanced(true));
		assert_int_equal(mpa_end_feed_split(&e, stream.p, stream.len, split),
				 sizeof(reply_rejecting));
		assert_int_equal(e.units, 1);
		assert_int_equal(e.last_kind, IW_MPA_UNIT_REJECT);
		assert_int_equal(e.err, 0);
		assert_int_equal(iw_mpa_state(e.m), IW_MPA_STREAMING);
		assert_int_equal(iw_mpa_agreed(e.m)->pd_len, 3);
		assert_memory_equal(iw_mpa_agreed(e.m)->pd, "no", 3);
		assert_false(iw_mpa_may_send(e.m));
		assert_int_equal(iw_mpa_deadline(e.m), IW_TIME_NEVER);
		assert_int_equal(iw_mpa_rx_eof(e.m, &why), 0);
		mpa_end_close(&e);
	}
	octets_free(&stream);
}

/* MPA-41 */
static void a_rejecting_responder_sends_private_data(void **state)
{
	struct mpa_end e;

	(void)state;
	mpa_end_open(&e, unenhanced(false));
	e.accept = false;
	mpa_end_feed(&e, request_rev1, sizeof(request_rev1), SIZE_MAX);
	assert_int_equal(iw_mpa_reject(e.m, (const uint8_t *)"no", 3, NULL), 0);
	assert_int_equal(iw_mpa_state(e.m), IW_MPA_STREAMING);
	expect_sent(&e, reply_rejecting, sizeof(reply_rejecting));
	assert_false(iw_mpa_may_send(e.m));
	assert_int_equal(mpa_end_feed(&e, "x", 1, 1), 0);
	mpa_end_close(&e);
}

/* MPA-42 */
static void accept_and_reject_are_valid_once_and_only_after_a_request(void **state)
{
	struct iw_fault why;
	struct mpa_end e;

	(void)state;
	mpa_end_open(&e, unenhanced(false));
	e.accept = false;
	assert_int_equal(iw_mpa_accept(e.m, 0, 0, NULL, 0, &why), IW_E_STATE);
	assert_non_null(strstr(why.text, "wait-request"));
	assert_int_equal(iw_mpa_reject(e.m, NULL, 0, &why), IW_E_STATE);
	mpa_end_feed(&e, request_rev1, sizeof(request_rev1), SIZE_MAX);
	assert_int_equal(iw_mpa_accept(e.m, 0, 0, NULL, 513, &why), IW_E_INVAL);
	assert_int_equal(iw_mpa_accept(e.m, IW_MPA_IRD_ORD_MAX + 1, 0, NULL, 0, &why), IW_E_INVAL);
	assert_int_equal(iw_mpa_accept(e.m, 0, IW_MPA_IRD_ORD_MAX + 1, NULL, 0, &why), IW_E_INVAL);
	assert_int_equal(iw_mpa_state(e.m), IW_MPA_DECIDING);
	assert_int_equal(iw_mpa_accept(e.m, 0, 0, NULL, 0, &why), 0);
	assert_int_equal(iw_mpa_accept(e.m, 0, 0, NULL, 0, &why), IW_E_STATE);
	assert_int_equal(iw_mpa_reject(e.m, NULL, 0, &why), IW_E_STATE);
	mpa_end_close(&e);
}

/* MPA-44: nothing may be sent before the first valid FPDU, nor after an invalid first one. */
static void a_responder_sends_only_after_a_valid_fpdu(void **state)
{
	uint8_t bad[sizeof(fpdu_send_hello)];
	struct mpa_end e;

	(void)state;
	mpa_end_open(&e, unenhanced(false));
	mpa_end_feed(&e, request_rev1, sizeof(request_rev1), SIZE_MAX);
	expect_sent(&e, reply_rev1, sizeof(reply_rev1));
	for (size_t i = 0; i < sizeof(fpdu_send_hello); i++) {
		assert_false(iw_mpa_may_send(e.m));
		assert_int_equal(iw_mpa_state(e.m), IW_MPA_FULL_RX);
		mpa_end_feed(&e, fpdu_send_hello + i, 1, 1);
	}
	assert_true(iw_mpa_may_send(e.m));
	assert_int_equal(iw_mpa_state(e.m), IW_MPA_FULL);
	mpa_end_close(&e);

	memcpy(bad, fpdu_send_hello, sizeof(bad));
	bad[20] ^= 1;
	mpa_end_open(&e, unenhanced(false));
	mpa_end_feed(&e, request_rev1, sizeof(request_rev1), SIZE_MAX);
	expect_sent(&e, reply_rev1, sizeof(reply_rev1));
	mpa_end_feed(&e, bad, sizeof(bad), SIZE_MAX);
	assert_int_equal(e.err, IW_E_MPA_CRC);
	assert_false(iw_mpa_may_send(e.m));
	mpa_end_close(&e);
}

/* MPA-44, MPA-43: no FPDU is sent before all octets of the start-up frame. */
static void fpdus_wait_for_the_start_up_octets(void **state)
{
	struct octets sink = { 0 };
	struct mpa_end e;

	(void)state;
	mpa_end_open(&e, unenhanced(true));
	mpa_end_feed(&e, reply_rev1, sizeof(reply_rev1), SIZE_MAX);
	assert_int_equal(iw_mpa_state(e.m), IW_MPA_FULL);
	iw_mpa_tx_startup_sent(e.m, sizeof(request_rev1) - 1);
	assert_false(iw_mpa_may_send(e.m));
	iw_mpa_tx_startup_sent(e.m, 1);
	assert_true(iw_mpa_may_send(e.m));
	mpa_end_close(&e);

	mpa_end_open(&e, unenhanced(false));
	mpa_end_feed(&e, request_rev1, sizeof(request_rev1), SIZE_MAX);
	mpa_end_feed(&e, fpdu_send_hello, sizeof(fpdu_send_hello), SIZE_MAX);
	assert_int_equal(iw_mpa_state(e.m), IW_MPA_FULL);
	assert_false(iw_mpa_may_send(e.m));
	mpa_end_drain(&e, &sink);
	assert_true(iw_mpa_may_send(e.m));
	octets_free(&sink);
	mpa_end_close(&e);
}

/* MPA-47 */
static void each_wait_of_start_up_has_a_time_out(void **state)
{
	struct iw_fault why;
	struct mpa_end e;

	(void)state;
	for (int initiator = 0; initiator <= 1; initiator++) {
		uint64_t wait = initiator ? IW_SEC(10) : IW_SEC(5);
		struct iw_mpa_cfg cfg = unenhanced(initiator);

		assert_int_equal(mpa_end_init(&e, cfg), 0);
		assert_int_equal(iw_mpa_deadline(e.m), IW_TIME_NEVER);
		iw_mpa_start(e.m, 1000);
		assert_int_equal(iw_mpa_deadline(e.m), 1000 + wait);
		/* Octets that arrive one by one do not extend the time. */
		mpa_end_feed(&e, initiator ? reply_rev1 : request_rev1, 19, 1);
		assert_int_equal(iw_mpa_deadline(e.m), 1000 + wait);
		assert_int_equal(iw_mpa_timeout(e.m, 999 + wait, &why), 0);
		assert_int_equal(iw_mpa_timeout(e.m, 1000 + wait, &why), IW_E_TIMEOUT);
		assert_non_null(strstr(why.text, initiator ? "no complete MPA Reply"
							   : "no complete MPA Request"));
		assert_non_null(strstr(why.text, "19 octets"));
		assert_non_null(strstr(why.text, initiator ? "within 10 s" : "within 5 s"));
		assert_int_equal(iw_mpa_state(e.m), IW_MPA_FAILED);
		assert_int_equal(iw_mpa_deadline(e.m), IW_TIME_NEVER);
		assert_int_equal(iw_mpa_timeout(e.m, IW_TIME_NEVER - 1, &why), 0);
		mpa_end_close(&e);

		cfg.timeout_ns = IW_MSEC(1500);
		assert_int_equal(mpa_end_init(&e, cfg), 0);
		iw_mpa_start(e.m, 1000);
		assert_int_equal(iw_mpa_deadline(e.m), 1000 + IW_MSEC(1500));
		assert_int_equal(iw_mpa_timeout(e.m, IW_SEC(2), &why), IW_E_TIMEOUT);
		assert_string_equal(
			why.text,
			initiator ? "no answer to the MPA Request within 1.5 s; another program "
				    "may use that port: give the iWARP listener's port with -p"
				  : "no complete MPA Request within 1.5 s (0 octets of it "
				    "arrived); is the peer an iWARP initiator?");
		mpa_end_close(&e);
	}
}

/* MPA-47: no time limit while the ULP decides, nor in full operation. */
static void there_is_no_deadline_outside_the_waits(void **state)
{
	struct mpa_end e;

	(void)state;
	mpa_end_open(&e, unenhanced(false));
	e.accept = false;
	mpa_end_feed(&e, request_rev1, sizeof(request_rev1), SIZE_MAX);
	assert_int_equal(iw_mpa_deadline(e.m), IW_TIME_NEVER);
	assert_int_equal(iw_mpa_accept(e.m, 0, 0, NULL, 0, NULL), 0);
	assert_int_equal(iw_mpa_deadline(e.m), IW_TIME_NEVER);
	mpa_end_close(&e);
	mpa_end_open(&e, unenhanced(true));
	mpa_end_feed(&e, reply_rev1, sizeof(reply_rev1), SIZE_MAX);
	assert_int_equal(iw_mpa_deadline(e.m), IW_TIME_NEVER);
	mpa_end_close(&e);
}

/* MPA-37, MPA-48, MPA-50: a stream that ends during start-up, at every octet. */
static void the_end_of_the_stream_in_start_up_is_a_loss(void **state)
{
	struct iw_fault why;

	(void)state;
	for (int initiator = 0; initiator <= 1; initiator++) {
		const uint8_t *frame = initiator ? reply_rejecting : request_siw;
		size_t len = initiator ? sizeof(reply_rejecting) : sizeof(request_siw);

		for (size_t cut = 0; cut < len; cut++) {
			struct mpa_end e;

			mpa_end_open(&e, initiator ? unenhanced(true) : mpa_cfg(false, 2));
			mpa_end_feed(&e, frame, cut, SIZE_MAX);
			assert_int_equal(e.units, 0);
			assert_int_equal(iw_mpa_rx_eof(e.m, &why), IW_E_MPA_LOST);
			assert_int_equal(why.term, IW_TERM(2, 0, 1));
			assert_non_null(strstr(why.text, !initiator ? "octets of an MPA Request"
							 : cut > 0  ? "octets of its MPA Reply"
								    : "before it answered"));
			assert_int_equal(iw_mpa_state(e.m), IW_MPA_FAILED);
			assert_false(iw_mpa_should_retry_rev1(e.m));
			mpa_end_close(&e);
		}
	}
}

/* MPA-50 */
static void the_end_of_the_stream_before_the_decision_is_a_loss(void **state)
{
	struct iw_fault why;
	struct mpa_end e;

	(void)state;
	mpa_end_open(&e, unenhanced(false));
	e.accept = false;
	mpa_end_feed(&e, request_rev1, sizeof(request_rev1), SIZE_MAX);
	assert_int_equal(iw_mpa_rx_eof(e.m, &why), IW_E_MPA_LOST);
	assert_int_equal(iw_mpa_accept(e.m, 0, 0, NULL, 0, &why), IW_E_STATE);
	mpa_end_close(&e);
}

/* ENH-06: retry only if the peer closed after our Rev 2 Request. */
static void rev_1_is_tried_when_a_rev_2_request_is_answered_by_closing(void **state)
{
	static const struct {
		uint8_t rev;
		bool sent;
		size_t reply_octets;
		bool retry;
	} rows[] = {
		{ 2, true, 0, true },
		{ 2, false, 0, false }, /* the peer has not received the whole Request */
		{ 2, true, 1, false },
		{ 1, true, 0, false },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		struct octets sink = { 0 };
		struct iw_fault why;
		struct mpa_end e;

		mpa_end_open(&e, mpa_cfg(true, rows[i].rev));
		if (rows[i].sent)
			mpa_end_drain(&e, &sink);
		assert_false(iw_mpa_should_retry_rev1(e.m));
		mpa_end_feed(&e, reply_rev1, rows[i].reply_octets, SIZE_MAX);
		assert_int_equal(iw_mpa_rx_eof(e.m, &why), IW_E_MPA_LOST);
		assert_int_equal(iw_mpa_should_retry_rev1(e.m), rows[i].retry);
		octets_free(&sink);
		mpa_end_close(&e);
	}
}

/* MPA-52, MPA-51 */
static void nothing_is_read_after_a_bad_frame(void **state)
{
	struct iw_fault why;
	struct mpa_end e;

	(void)state;
	mpa_end_open(&e, unenhanced(false));
	mpa_end_feed(&e, "X", 1, 1);
	assert_int_equal(e.err, IW_E_MPA_FRAME);
	assert_int_equal(mpa_end_feed(&e, request_rev1, sizeof(request_rev1), SIZE_MAX), 0);
	assert_int_equal(e.units, 0);
	assert_int_equal(iw_mpa_rx_eof(e.m, &why), IW_E_MPA_FRAME);
	mpa_end_close(&e);
}

/* MPA-29: the engine requests only the octets of the frame from TCP. */
static void reading_never_goes_beyond_the_frame(void **state)
{
	uint8_t scratch[4096];
	struct iw_vec vec[2];
	struct mpa_end e;

	(void)state;
	mpa_end_open(&e, mpa_cfg(false, 2));
	assert_int_equal(iw_mpa_rx_vec(e.m, (struct iw_vec){ scratch, sizeof(scratch) }, vec), 1);
	assert_int_equal(vec[0].len, IW_MPA_FRAME_LEN);
	iw_mpa_rx_end(e.m);
	mpa_end_feed(&e, request_siw, 20, SIZE_MAX);
	assert_int_equal(iw_mpa_rx_vec(e.m, (struct iw_vec){ scratch, sizeof(scratch) }, vec), 1);
	assert_int_equal(vec[0].len, 10);
	memcpy(vec[0].base, request_siw + 20, 10);
	iw_mpa_received(e.m, 10);
	iw_mpa_rx_end(e.m);
	/* also before iw_mpa_next() has seen the octets */
	assert_int_equal(iw_mpa_rx_vec(e.m, (struct iw_vec){ scratch, sizeof(scratch) }, vec), 0);
	mpa_end_close(&e);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(initiator_sends_its_request_first_and_once),
		cmocka_unit_test(request_can_be_taken_octet_by_octet),
		cmocka_unit_test(responder_sends_nothing_before_a_request),
		cmocka_unit_test(octets_after_a_request_wait_for_the_decision),
		cmocka_unit_test(octets_after_a_reply_are_fpdus),
		cmocka_unit_test(a_wrong_octet_of_the_key_is_found_at_once),
		cmocka_unit_test(another_protocol_is_reported_at_once),
		cmocka_unit_test(tls_of_the_peer_is_reported_with_the_option),
		cmocka_unit_test(two_initiators_are_detected_by_the_key),
		cmocka_unit_test(private_data_above_512_octets_is_refused_by_its_length),
		cmocka_unit_test(private_data_up_to_512_octets_is_passed_on),
		cmocka_unit_test(a_revision_that_is_not_known_is_refused),
		cmocka_unit_test(a_responder_takes_revisions_up_to_its_own),
		cmocka_unit_test(revision_in_force_is_reported),
		cmocka_unit_test(a_rejecting_reply_ends_mpa_and_leaves_tcp_open),
		cmocka_unit_test(a_rejecting_responder_sends_private_data),
		cmocka_unit_test(accept_and_reject_are_valid_once_and_only_after_a_request),
		cmocka_unit_test(a_responder_sends_only_after_a_valid_fpdu),
		cmocka_unit_test(fpdus_wait_for_the_start_up_octets),
		cmocka_unit_test(each_wait_of_start_up_has_a_time_out),
		cmocka_unit_test(there_is_no_deadline_outside_the_waits),
		cmocka_unit_test(the_end_of_the_stream_in_start_up_is_a_loss),
		cmocka_unit_test(the_end_of_the_stream_before_the_decision_is_a_loss),
		cmocka_unit_test(rev_1_is_tried_when_a_rev_2_request_is_answered_by_closing),
		cmocka_unit_test(nothing_is_read_after_a_bad_frame),
		cmocka_unit_test(reading_never_goes_beyond_the_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
