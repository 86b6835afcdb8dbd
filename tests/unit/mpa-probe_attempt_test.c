// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* One attempt against peers with each kind of answer, valid and invalid. */
#include "mpa-probe/probe.h"

#include <errno.h>

#include "mpa-probe_peer.h"

#include "mpa-probe/codec.h"
#include "mpa/mpa.h"

#define REP "MPA ID Rep Frame"

static struct peer peer;
static struct iw_answer a;
static struct iw_fault why;

static const struct iw_ask p2p = { .rev = 2,
				   .crc = true,
				   .enhanced = true,
				   .peer_to_peer = true,
				   .rtr = IW_RTR_ALL,
				   .ird = 16,
				   .ord = 16 };
static const struct iw_ask rev1 = { .rev = 1, .crc = true };

static struct iw_attempt_cfg config(uint16_t port)
{
	return (struct iw_attempt_cfg){
		.play = { .host = "127.0.0.1", .port = port, .stop_fd = -1 },
		.connect_ns = PEER_LIMIT,
		.reply_ns = IW_MSEC(400),
		.read_ns = IW_MSEC(300),
	};
}

static void attempt(const struct script *s, const struct iw_ask *ask)
{
	struct iw_attempt_cfg cfg;

	peer_start(&peer, s, 1);
	cfg = config(peer.port);
	if (iw_attempt(&cfg, ask, &a, &why) != 0)
		fail_msg("%s", why.text);
	peer_end(&peer);
}

/* A peer that receives the Request, sends its answer, and keeps the connection. */
#define SAYS(name, text)                                                                           \
	static const struct step name##_steps[] = {                                                \
		{ .kind = STEP_WAIT, .want = 20, .for_ns = PEER_LIMIT },                           \
		{ .kind = STEP_SEND,                                                               \
		  .octets = text,                                                                  \
		  .len = sizeof(text) - 1,                                                         \
		  .for_ns = PEER_LIMIT },                                                          \
		{ .kind = STEP_QUIET, .for_ns = PEER_LIMIT },                                      \
	};                                                                                         \
	static const struct script name = SCRIPT(name##_steps)

/* --- no Reply --- */

static void silent_peer_is_reported_as_silent(void **state)
{
	static const struct step steps[] = { { .kind = STEP_QUIET, .for_ns = PEER_LIMIT } };
	static const struct script s = SCRIPT(steps);

	(void)state;
	attempt(&s, &p2p);
	assert_int_equal(a.outcome, IW_OUTCOME_SILENT);
	assert_int_equal(a.why.err, IW_E_TIMEOUT);
	assert_int_equal(a.raw_len, 0);
	assert_true(a.connect_ns > 0 && a.facts.mss > 0);
}

static void fin_and_reset_are_distinguished(void **state)
{
	static const struct step fin[] = {
		{ .kind = STEP_WAIT, .want = 20, .for_ns = PEER_LIMIT },
		{ .kind = STEP_SHUT },
		{ .kind = STEP_QUIET, .for_ns = PEER_LIMIT },
	};
	static const struct step reset[] = {
		{ .kind = STEP_WAIT, .want = 20, .for_ns = PEER_LIMIT },
		{ .kind = STEP_RESET },
	};
	static const struct script f = SCRIPT(fin), r = SCRIPT(reset);

	(void)state;
	attempt(&f, &p2p);
	assert_int_equal(a.outcome, IW_OUTCOME_CLOSED);
	assert_int_equal(a.ending, IW_ENDING_FIN);
	assert_true(a.ended_ns > 0);
	attempt(&r, &p2p);
	assert_int_equal(a.outcome, IW_OUTCOME_RESET);
	assert_int_equal(a.ending, IW_ENDING_RESET);
}

static void closed_port_is_reported(void **state)
{
	struct iw_attempt_cfg cfg;

	(void)state;
	peer_start(&peer, NULL, 0);
	peer_done(&peer);
	cfg = config(peer.port);
	assert_int_equal(iw_attempt(&cfg, &p2p, &a, &why), 0);
	assert_int_equal(a.outcome, IW_OUTCOME_PORT_CLOSED);
	assert_int_equal(a.why.os_errno, ECONNREFUSED);
}

static void error_of_this_machine_is_not_an_answer_of_the_peer(void **state)
{
	struct iw_attempt_cfg cfg = config(7471);

	(void)state;
	cfg.play.bind_addr = "198.51.100.1";
	assert_int_equal(iw_attempt(&cfg, &p2p, &a, &why), IW_E_OS);
	assert_int_equal(why.os_errno, EADDRNOTAVAIL);
}

/* --- other protocols --- */

static void other_protocols_are_named(void **state)
{
	SAYS(http, "HTTP/1.1 400 Bad Request\r\nServer: x\r\n\r\n");
	SAYS(garbage, "\x00\x01\x02\x1b[31mred");
	SAYS(request, "MPA ID Req Frame\x40\x01\0\0");

	(void)state;
	attempt(&http, &p2p);
	assert_int_equal(a.outcome, IW_OUTCOME_NOT_MPA);
	assert_string_equal(a.text, "HTTP (\"HTTP/1.1 400 Bad Request\")");
	attempt(&garbage, &p2p);
	assert_int_equal(a.outcome, IW_OUTCOME_NOT_MPA);
	/* Received text cannot control the terminal. */
	assert_non_null(strstr(a.text, "a protocol other than MPA"));
	assert_null(strchr(a.text, '\x1b'));
	attempt(&request, &p2p);
	assert_int_equal(a.outcome, IW_OUTCOME_NOT_MPA);
	assert_non_null(strstr(a.text, "as an initiator"));
}

static void server_that_sends_first_is_named_at_once(void **state)
{
	static const struct step ssh[] = {
		{ .kind = STEP_SEND, .octets = "SSH-2.0-x\r\n", .len = 11, .for_ns = PEER_LIMIT },
		{ .kind = STEP_QUIET, .for_ns = PEER_LIMIT },
	};
	static const struct script s = SCRIPT(ssh);

	(void)state;
	attempt(&s, &p2p);
	assert_int_equal(a.outcome, IW_OUTCOME_NOT_MPA);
	assert_string_equal(a.text, "SSH (\"SSH-2.0-x\")");
}

static void server_that_answers_only_our_fin_is_still_named(void **state)
{
	static const struct step http[] = {
		{ .kind = STEP_WAIT, .want = 24, .for_ns = PEER_LIMIT },
		/* Waits for more until the FIN. */
		{ .kind = STEP_QUIET, .for_ns = PEER_LIMIT },
		{ .kind = STEP_SEND,
		  .octets = "HTTP/1.0 400\r\n\r\n",
		  .len = 16,
		  .for_ns = PEER_LIMIT },
	};
	static const struct script s = SCRIPT(http);

	(void)state;
	attempt(&s, &p2p);
	assert_int_equal(a.outcome, IW_OUTCOME_NOT_MPA);
	assert_string_equal(a.text, "HTTP (\"HTTP/1.0 400\")");
}

static void incomplete_replies_are_not_mpa(void **state)
{
	static const struct step cut[] = {
		{ .kind = STEP_WAIT, .want = 20, .for_ns = PEER_LIMIT },
		{ .kind = STEP_SEND, .octets = REP "\x40\x01", .len = 18, .for_ns = PEER_LIMIT },
		{ .kind = STEP_SHUT },
		{ .kind = STEP_QUIET, .for_ns = PEER_LIMIT },
	};
	static const struct script c = SCRIPT(cut);
	SAYS(half, REP "\x40\x01\0\4ab");
	SAYS(greedy, REP "\x40\x01\x02\x01");

	(void)state;
	attempt(&c, &p2p);
	assert_int_equal(a.outcome, IW_OUTCOME_BAD_REPLY);
	assert_non_null(strstr(a.why.text, "18 of at least 20 octets"));
	assert_int_equal(a.ending, IW_ENDING_FIN);
	attempt(&half, &p2p);
	assert_int_equal(a.outcome, IW_OUTCOME_BAD_REPLY);
	assert_non_null(
		strstr(a.why.text, "22 of 24 octets of a Reply were received, then nothing more"));
	attempt(&greedy, &p2p);
	assert_int_equal(a.outcome, IW_OUTCOME_BAD_REPLY);
	assert_non_null(strstr(a.why.text, "PD_Length of the Reply is 513"));
}

/* MPA-37, MPA-48 */
static void malformed_reply_is_not_accepted_when_it_is_complete(void **state)
{
	static char octets[20 + 2046];
	static const struct step steps[] = {
		{ .kind = STEP_WAIT, .want = 20, .for_ns = PEER_LIMIT },
		{ .kind = STEP_SEND,
		  .octets = octets,
		  .len = sizeof(octets),
		  .for_ns = PEER_LIMIT },
		{ .kind = STEP_QUIET, .for_ns = PEER_LIMIT },
	};
	static const struct script large = SCRIPT(steps);
	SAYS(small, REP "\x50\x02\0\3abc");
	SAYS(refusal, REP "\x70\x02\0\0");

	(void)state;
	memcpy(octets, REP "\x40\x01\x07\xfe", 20);
	attempt(&large, &rev1);
	assert_int_equal(a.outcome, IW_OUTCOME_BAD_REPLY);
	assert_string_equal(
		a.why.text,
		"PD_Length of the Reply is 2046: expected at most 512 (RFC 5044 7.1.1)");
	assert_int_equal(a.raw_len, sizeof(a.raw));
	attempt(&small, &p2p);
	assert_int_equal(a.outcome, IW_OUTCOME_BAD_REPLY);
	assert_non_null(
		strstr(a.why.text, "PD_Length of the enhanced Reply is 3: expected at least 4"));
	attempt(&refusal, &p2p);
	assert_int_equal(a.outcome, IW_OUTCOME_REFUSED);
}

/* --- Replies --- */

static void reply_of_single_octets_is_a_reply(void **state)
{
	static const struct step drip[] = {
		{ .kind = STEP_WAIT, .want = 20, .for_ns = PEER_LIMIT },
		{ .kind = STEP_SEND,
		  .octets = REP "\x60\x01\0\3abc",
		  .len = 23,
		  .piece = 1,
		  .gap_ns = IW_MSEC(30),
		  .for_ns = PEER_LIMIT },
		{ .kind = STEP_QUIET, .for_ns = PEER_LIMIT },
	};
	static const struct script s = SCRIPT(drip);

	(void)state;
	/* The Reply as a whole exceeds the limit, but no pause between two octets does. */
	attempt(&s, &rev1);
	assert_int_equal(a.outcome, IW_OUTCOME_REFUSED);
	assert_int_equal(a.pd_len, 3);
	assert_memory_equal(a.raw + a.pd_off, "abc", 3);
	assert_true(a.reply_ns > IW_MSEC(22 * 30));
}

static void refusal_has_its_private_data_and_what_follows(void **state)
{
	static const struct step closing[] = {
		{ .kind = STEP_WAIT, .want = 20, .for_ns = PEER_LIMIT },
		{ .kind = STEP_SEND,
		  .octets = REP "\x30\x02\0\6\0\3\0\4no",
		  .len = 26,
		  .for_ns = PEER_LIMIT },
		{ .kind = STEP_SHUT },
		{ .kind = STEP_QUIET, .for_ns = PEER_LIMIT },
	};
	static const struct script s = SCRIPT(closing);
	SAYS(open, REP "\x20\x01\0\0");

	(void)state;
	attempt(&s, &p2p);
	assert_int_equal(a.outcome, IW_OUTCOME_REFUSED);
	assert_int_equal(a.why.err, IW_E_REJECTED);
	assert_true(a.enhanced);
	assert_int_equal(a.e.ird, 3);
	assert_int_equal(a.e.ord, 4);
	assert_int_equal(a.pd_len, 2);
	assert_memory_equal(a.raw + a.pd_off, "no", 2);
	assert_int_equal(a.ending, IW_ENDING_FIN);
	attempt(&open, &rev1);
	assert_int_equal(a.outcome, IW_OUTCOME_REFUSED);
	assert_int_equal(a.ending, IW_ENDING_OPEN);
}

/* A Reply, followed by the FPDUs of a peer that answers zero-length RDMA Reads. */
#define READ_RSP "\0\x0e\xc1\x42\0\0\0\1\0\0\0\0\0\0\0\0"

static uint8_t responses[8][20];

/* The codec has tests of its own for CRCs. */
static void make_responses(void)
{
	const struct iw_codec_cfg cc = { .crc = true };
	struct iw_codec *c;

	assert_int_equal(iw_codec_new(&c, &cc, &why), 0);
	for (size_t i = 0; i < IW_ARRAY_LEN(responses); i++) {
		const uint8_t *octets;

		assert_int_equal(iw_codec_put(c, (const uint8_t *)READ_RSP + 2, 14, &octets), 20);
		memcpy(responses[i], octets, 20);
	}
	iw_codec_free(c);
}

#define FPDU_WRITE 20
#define FPDU_READ  52

static void reads_prove_that_a_connection_works(void **state)
{
	/* The Request has 24 octets, the RTR is a Read: four Reads follow. */
	static const struct step steps[] = {
		{ .kind = STEP_WAIT, .want = 24, .for_ns = PEER_LIMIT },
		{ .kind = STEP_SEND,
		  .octets = REP "\x50\x02\0\4\x80\7\xc0\5",
		  .len = 24,
		  .for_ns = PEER_LIMIT },
		{ .kind = STEP_WAIT, .want = 24 + FPDU_READ, .for_ns = PEER_LIMIT },
		{ .kind = STEP_SEND, .octets = responses[0], .len = 20, .for_ns = PEER_LIMIT },
		{ .kind = STEP_WAIT, .want = 24 + 2 * FPDU_READ, .for_ns = PEER_LIMIT },
		{ .kind = STEP_SEND, .octets = responses[1], .len = 20, .for_ns = PEER_LIMIT },
		{ .kind = STEP_WAIT, .want = 24 + 3 * FPDU_READ, .for_ns = PEER_LIMIT },
		{ .kind = STEP_SEND,
		  .octets = responses[2],
		  .len = 20,
		  .piece = 10,
		  .gap_ns = IW_MSEC(5),
		  .for_ns = PEER_LIMIT },
		{ .kind = STEP_WAIT, .want = 24 + 4 * FPDU_READ, .for_ns = PEER_LIMIT },
		{ .kind = STEP_SEND, .octets = responses[3], .len = 20, .for_ns = PEER_LIMIT },
		{ .kind = STEP_QUIET, .for_ns = PEER_LIMIT },
	};
	static const struct script s = SCRIPT(steps);

	(void)state;
	attempt(&s, &p2p);
	assert_int_equal(a.outcome, IW_OUTCOME_ACCEPTED);
	assert_int_equal(a.proof, IW_PROOF_WORKS);
	assert_true(a.crc);
	assert_int_equal(a.rtr, IW_RTR_WRITE | IW_RTR_READ);
	assert_int_equal(a.rtr_sent, IW_RTR_READ);
	assert_int_equal(a.fpdus, 4);
	assert_int_equal(a.reads, 4);
	assert_int_equal(a.aligned, 4);
	assert_true(a.rtt_ns > 0 && a.rtt_ns < IW_SEC(1));
	assert_false(a.nudged || a.sent_first || a.rtr_unasked);
	assert_int_equal(a.ending, IW_ENDING_OPEN);
}

static void unanswered_first_fpdu_is_followed_by_a_nudge(void **state)
{
	/* The peer answers only after a Write has followed the first Read. */
	static const struct step steps[] = {
		{ .kind = STEP_WAIT, .want = 20, .for_ns = PEER_LIMIT },
		{ .kind = STEP_SEND,
		  .octets = REP "\x40\x01\0\0",
		  .len = 20,
		  .for_ns = PEER_LIMIT },
		{ .kind = STEP_WAIT,
		  .want = 20 + FPDU_WRITE + FPDU_READ + FPDU_WRITE,
		  .for_ns = PEER_LIMIT },
		{ .kind = STEP_SEND, .octets = responses, .len = 4 * 20, .for_ns = PEER_LIMIT },
		{ .kind = STEP_QUIET, .for_ns = PEER_LIMIT },
	};
	static const struct script s = SCRIPT(steps);

	(void)state;
	attempt(&s, &rev1);
	assert_int_equal(a.outcome, IW_OUTCOME_ACCEPTED);
	assert_true(a.nudged);
	/* Responses to Reads that were not sent yet are not counted. */
	assert_int_equal(a.proof, IW_PROOF_BROKEN);
	assert_int_equal(a.reads, 1);
}

static void reads_that_are_never_answered_count_as_silence(void **state)
{
	SAYS(s, REP "\x40\x01\0\0");

	(void)state;
	attempt(&s, &rev1);
	assert_int_equal(a.outcome, IW_OUTCOME_ACCEPTED);
	assert_int_equal(a.proof, IW_PROOF_SILENT);
	assert_false(a.nudged);
}

static void peer_that_accepts_no_reads_is_sent_none(void **state)
{
	SAYS(s, REP "\x50\x02\0\4\0\0\0\0");
	static const struct iw_ask cs = {
		.rev = 2, .crc = true, .enhanced = true, .ird = 1, .ord = 1
	};

	(void)state;
	attempt(&s, &cs);
	assert_int_equal(a.proof, IW_PROOF_TAKEN);
	assert_int_equal(a.reads, 0);
}

static void wrong_crc_and_a_closed_connection_are_reported(void **state)
{
	static uint8_t bad[20];
	static const struct step wrong[] = {
		{ .kind = STEP_WAIT, .want = 20, .for_ns = PEER_LIMIT },
		{ .kind = STEP_SEND,
		  .octets = REP "\x40\x01\0\0",
		  .len = 20,
		  .for_ns = PEER_LIMIT },
		{ .kind = STEP_WAIT, .want = 20 + FPDU_WRITE + FPDU_READ, .for_ns = PEER_LIMIT },
		{ .kind = STEP_SEND, .octets = bad, .len = 20, .for_ns = PEER_LIMIT },
		{ .kind = STEP_QUIET, .for_ns = PEER_LIMIT },
	};
	static const struct step closing[] = {
		{ .kind = STEP_WAIT, .want = 20, .for_ns = PEER_LIMIT },
		{ .kind = STEP_SEND,
		  .octets = REP "\x40\x01\0\0",
		  .len = 20,
		  .for_ns = PEER_LIMIT },
		{ .kind = STEP_SHUT },
		{ .kind = STEP_QUIET, .for_ns = PEER_LIMIT },
	};
	static const struct script w = SCRIPT(wrong), c = SCRIPT(closing);

	(void)state;
	memcpy(bad, responses[0], 20);
	bad[16] ^= 0x80;
	attempt(&w, &rev1);
	assert_int_equal(a.proof, IW_PROOF_BROKEN);
	assert_int_equal(a.broken.err, IW_E_MPA_CRC);
	attempt(&c, &rev1);
	assert_int_equal(a.outcome, IW_OUTCOME_ACCEPTED);
	assert_int_equal(a.proof, IW_PROOF_BROKEN);
	assert_int_equal(a.broken.err, IW_E_CLOSED);
	assert_int_equal(a.ending, IW_ENDING_FIN);
}

static void a_responder_that_sends_fpdus_first_is_reported(void **state)
{
	static uint8_t both[20 + 20];
	static const struct step steps[] = {
		{ .kind = STEP_WAIT, .want = 20, .for_ns = PEER_LIMIT },
		{ .kind = STEP_SEND, .octets = both, .len = 40, .piece = 20, .for_ns = PEER_LIMIT },
		{ .kind = STEP_QUIET, .for_ns = PEER_LIMIT },
	};
	static const struct script s = SCRIPT(steps);

	(void)state;
	memcpy(both, REP "\x40\x01\0\0", 20);
	memcpy(both + 20, responses[0], 20);
	attempt(&s, &rev1);
	assert_true(a.sent_first);
	assert_int_equal(a.fpdus, 1);
}

/* siw sends Terminates with layer and type swapped (tests/vectors/traces/term-badread). */
static void terminates_are_read_in_both_orders(void **state)
{
	static uint8_t fpdu[2][40];
	static const struct step siw[] = {
		{ .kind = STEP_WAIT, .want = 20, .for_ns = PEER_LIMIT },
		{ .kind = STEP_SEND,
		  .octets = REP "\x40\x01\0\0",
		  .len = 20,
		  .for_ns = PEER_LIMIT },
		{ .kind = STEP_WAIT, .want = 20 + FPDU_WRITE, .for_ns = PEER_LIMIT },
		{ .kind = STEP_SEND, .octets = fpdu[0], .len = 28, .for_ns = PEER_LIMIT },
		{ .kind = STEP_QUIET, .for_ns = PEER_LIMIT },
	};
	static const struct step rfc[] = {
		{ .kind = STEP_WAIT, .want = 20, .for_ns = PEER_LIMIT },
		{ .kind = STEP_SEND,
		  .octets = REP "\x40\x01\0\0",
		  .len = 20,
		  .for_ns = PEER_LIMIT },
		{ .kind = STEP_WAIT, .want = 20 + FPDU_WRITE, .for_ns = PEER_LIMIT },
		{ .kind = STEP_SEND, .octets = fpdu[1], .len = 28, .for_ns = PEER_LIMIT },
		{ .kind = STEP_QUIET, .for_ns = PEER_LIMIT },
	};
	static const struct script s = SCRIPT(siw), r = SCRIPT(rfc);
	static const uint8_t control[2][4] = { { 0x10, 0x00, 0x07, 0x00 },
					       { 0x01, 0x00, 0x00, 0x00 } };
	const struct iw_codec_cfg cc = { .crc = true };
	uint8_t ulpdu[22] = { 0x41, 0x47, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		const uint8_t *octets;
		struct iw_codec *c;

		assert_int_equal(iw_codec_new(&c, &cc, &why), 0);
		memcpy(ulpdu + 18, control[i], 4);
		assert_int_equal(iw_codec_put(c, ulpdu, 22, &octets), 28);
		memcpy(fpdu[i], octets, 28);
		iw_codec_free(c);
	}
	attempt(&s, &rev1);
	assert_int_equal(a.proof, IW_PROOF_BROKEN);
	assert_true(a.terminated && a.siw_order);
	assert_int_equal(a.terminate.layer, 0);
	assert_int_equal(a.terminate.etype, 1);
	assert_int_equal(a.terminate.code, 0);
	attempt(&r, &rev1);
	assert_true(a.terminated && !a.siw_order);
	assert_int_equal(a.terminate.layer, 0);
	assert_int_equal(a.terminate.etype, 1);
}

/* A form that was not offered is sent nevertheless: to end without an RTR would be worse. */
static void form_that_the_reply_names_unasked_is_sent(void **state)
{
	SAYS(s, REP "\x50\x02\0\4\x80\1\x80\1");
	struct iw_ask send = p2p;

	(void)state;
	send.rtr = IW_RTR_SEND;
	attempt(&s, &send);
	assert_true(a.rtr_unasked);
	assert_int_equal(a.rtr, IW_RTR_WRITE);
	assert_int_equal(a.rtr_sent, IW_RTR_WRITE);
}

static void rev_0_is_not_spoken(void **state)
{
	SAYS(s, REP "\xc0\0\0\0");
	static const struct iw_ask rev0 = { .rev = 0, .crc = true, .markers = true };

	(void)state;
	attempt(&s, &rev0);
	assert_int_equal(a.outcome, IW_OUTCOME_ACCEPTED);
	assert_int_equal(a.proof, IW_PROOF_NONE);
}

static void block_of_this_library_is_removed_from_private_data(void **state)
{
	SAYS(s, REP "\x50\x02\0\x0e\0\1\0\1iwL\x01\0\0\xfd\0hi");
	struct iw_ask ask = {
		.rev = 2, .crc = true, .enhanced = true, .ird = 1, .ord = 1, .block = 64768
	};

	(void)state;
	attempt(&s, &ask);
	assert_int_equal(a.block, 64768);
	assert_int_equal(a.pd_len, 2);
	/* If no block was offered, it is Private Data of the ULP. */
	ask.block = 0;
	attempt(&s, &ask);
	assert_int_equal(a.block, 0);
	assert_int_equal(a.pd_len, 10);
}

static void a_stop_request_ends_the_run(void **state)
{
	static const struct step steps[] = { { .kind = STEP_QUIET, .for_ns = PEER_LIMIT } };
	static const struct script s = SCRIPT(steps);
	struct iw_attempt_cfg cfg;
	int fd[2];

	(void)state;
	assert_int_equal(pipe(fd), 0);
	assert_int_equal(write(fd[1], "x", 1), 1);
	peer_start(&peer, &s, 1);
	cfg = config(peer.port);
	cfg.play.stop_fd = fd[0];
	assert_int_equal(iw_attempt(&cfg, &p2p, &a, &why), IW_E_CANCELED);
	peer_end(&peer);
	close(fd[0]);
	close(fd[1]);
}

static int prepare(void **state)
{
	(void)state;
	make_responses();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(silent_peer_is_reported_as_silent),
		cmocka_unit_test(fin_and_reset_are_distinguished),
		cmocka_unit_test(closed_port_is_reported),
		cmocka_unit_test(error_of_this_machine_is_not_an_answer_of_the_peer),
		cmocka_unit_test(other_protocols_are_named),
		cmocka_unit_test(server_that_sends_first_is_named_at_once),
		cmocka_unit_test(server_that_answers_only_our_fin_is_still_named),
		cmocka_unit_test(incomplete_replies_are_not_mpa),
		cmocka_unit_test(malformed_reply_is_not_accepted_when_it_is_complete),
		cmocka_unit_test(reply_of_single_octets_is_a_reply),
		cmocka_unit_test(refusal_has_its_private_data_and_what_follows),
		cmocka_unit_test(reads_prove_that_a_connection_works),
		cmocka_unit_test(unanswered_first_fpdu_is_followed_by_a_nudge),
		cmocka_unit_test(reads_that_are_never_answered_count_as_silence),
		cmocka_unit_test(peer_that_accepts_no_reads_is_sent_none),
		cmocka_unit_test(wrong_crc_and_a_closed_connection_are_reported),
		cmocka_unit_test(a_responder_that_sends_fpdus_first_is_reported),
		cmocka_unit_test(terminates_are_read_in_both_orders),
		cmocka_unit_test(form_that_the_reply_names_unasked_is_sent),
		cmocka_unit_test(rev_0_is_not_spoken),
		cmocka_unit_test(block_of_this_library_is_removed_from_private_data),
		cmocka_unit_test(a_stop_request_ends_the_run),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, prepare, NULL);
}
