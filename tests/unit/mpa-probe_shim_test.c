// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The shim: what it sends on the wire, and what it reports. */
#include "mpa-probe/shim.h"

#include <pthread.h>
#include <stdio.h>

#include "mpa-probe_peer.h"

#include "mpa-probe/codec.h"
#include "mpa-probe/rping_run.h"
#include "wire/ddp.h"

#define REQ     "MPA ID Req Frame"
#define REP     "MPA ID Rep Frame"
#define REPORTS 4

/* Reports of the shim. */
struct told {
	struct iw_shim_report r;
	uint8_t request[IW_ASK_MAX], reply[IW_ASK_MAX];
	char text[200];
};
static struct told told[REPORTS];
static unsigned ntold;

static void on_report(void *ctx, const struct iw_shim_report *r)
{
	struct told *t = &told[ntold++];

	assert_ptr_equal(ctx, &told);
	assert_true(ntold <= REPORTS);
	t->r = *r;
	memcpy(t->request, r->request ? r->request : t->request, r->request_len);
	memcpy(t->reply, r->reply ? r->reply : t->reply, r->reply_len);
	snprintf(t->text, sizeof(t->text), "%s", r->text);
}

static struct iw_shim shim;

static void be(const char *name)
{
	memset(told, 0, sizeof(told));
	ntold = 0;
	for (size_t i = 0; i < IW_PERSONALITIES; i++)
		if (strcmp(iw_personalities[i].name, name) == 0)
			shim = (struct iw_shim){ .personality = { .row = &iw_personalities[i] },
						 .report = on_report,
						 .report_ctx = &told };
}

/* --- a responder in a thread, and a peer by hand --- */

static struct iw_probe_sink *sink;
static struct iw_probe_sink_news left;
static pthread_t thread;
static struct iw_play play;
static struct iw_fault why;

static void *serve(void *arg)
{
	struct iw_probe_sink_news news;

	(void)arg;
	while (iw_probe_sink_next(sink, &news, &why) == 0 && news.kind != IW_PROBE_SINK_STOPPED)
		if (news.kind == IW_PROBE_SINK_LEFT)
			left = news;
	return NULL;
}

static void connect_to_it(void)
{
	const struct iw_play_cfg to = { .host = "127.0.0.1",
					.port = iw_probe_sink_port(sink),
					.stop_fd = -1 };

	if (iw_play_connect(&play, &to, PEER_LIMIT, &why) != 0)
		fail_msg("%s", why.text);
}

static void open_to_it(void)
{
	struct iw_probe_sink_cfg cfg = {
		.shim = &shim, .once = true, .setup_ns = IW_SEC(5), .idle_ns = IW_SEC(5)
	};

	memset(&left, 0, sizeof(left));
	iw_personality_engine(&cfg.conn, &shim.personality);
	if (iw_probe_sink_new(&sink, &cfg, &why) != 0)
		fail_msg("%s", why.text);
	assert_int_equal(pthread_create(&thread, NULL, serve, NULL), 0);
	connect_to_it();
}

static void say(const void *octets, size_t len, size_t piece)
{
	assert_int_equal(iw_play_send(&play, octets, len, piece, IW_MSEC(1), PEER_LIMIT), 0);
}

/* Expects exactly these octets. */
static void hear(const char *octets, size_t len)
{
	assert_int_equal(iw_play_wait(&play, len, PEER_LIMIT), 1);
	assert_int_equal(play.rx_len, len);
	assert_memory_equal(play.rx, octets, len);
}

static void leave(void)
{
	iw_play_end(&play);
	pthread_join(thread, NULL);
	iw_probe_sink_free(sink);
}

#define SAY(s)  say(s, sizeof(s) - 1, 0)
#define HEAR(s) hear(s, sizeof(s) - 1)

static void refusal_is_sent_and_then_fin(void **state)
{
	(void)state;
	be("siw");
	open_to_it();
	SAY(REQ "\xc0\x02\0\0");
	HEAR(REP "\x60\x02\0\0");
	assert_int_equal(iw_play_wait(&play, SIZE_MAX, PEER_LIMIT), 0);
	assert_true(play.fin);
	assert_int_equal(play.rx_len, 20);
	leave();
	assert_int_equal(ntold, 1);
	assert_int_equal(told[0].r.verdict, IW_PERSONALITY_REJECT);
	assert_int_equal(told[0].r.request_len, 20);
	assert_memory_equal(told[0].request, REQ "\xc0\x02\0\0", 20);
	assert_int_equal(told[0].r.reply_len, 20);
	assert_memory_equal(told[0].reply, REP "\x60\x02\0\0", 20);
	assert_non_null(strstr(told[0].text, "markers"));
	assert_string_equal(told[0].r.personality->name, "siw");
}

static void rejection_without_a_reply_resets_or_closes(void **state)
{
	(void)state;
	be("chelsio");
	open_to_it();
	SAY(REQ "\x40\x03\0\0");
	assert_int_equal(iw_play_wait(&play, SIZE_MAX, PEER_LIMIT), 0);
	assert_true(play.reset);
	leave();
	assert_int_equal(told[0].r.verdict, IW_PERSONALITY_RESET);
	assert_null(told[0].r.reply);
	be("plain");
	open_to_it();
	SAY(REQ "\x40\x02\0\0");
	assert_int_equal(iw_play_wait(&play, SIZE_MAX, PEER_LIMIT), 0);
	assert_true(play.fin);
	assert_int_equal(play.rx_len, 0);
	leave();
	assert_int_equal(told[0].r.verdict, IW_PERSONALITY_CLOSE);
}

/* Every bit of the Reply is the personality's; after it the engine is in full operation. */
static void accepted_connection_carries_fpdus_after_the_personalitys_reply(void **state)
{
	static const uint8_t send[] = { 0x41, 0x43, 0, 0, 0, 0, 0, 0,   0,   0,   0,
					0,    0,    1, 0, 0, 0, 0, 'p', 'i', 'n', 'g' };
	const struct iw_codec_cfg cfg = { .crc = false };
	struct iw_codec *codec;
	const uint8_t *octets;
	size_t len;

	(void)state;
	be("siw");
	open_to_it();
	/* One octet at a time, with C = 0 and all reserved bits but the highest. */
	say(REQ "\x17\x02\0\x06\0\x01\0\x02hi", 26, 1);
	HEAR(REP "\x17\x02\0\x04\0\x02\0\x01");
	assert_int_equal(iw_codec_new(&codec, &cfg, &why), 0);
	len = iw_codec_put(codec, send, sizeof(send), &octets);
	say(octets, len, 3);
	iw_play_shut(&play);
	assert_int_equal(iw_play_wait(&play, SIZE_MAX, PEER_LIMIT), 0);
	assert_true(play.fin);
	assert_int_equal(play.rx_len, 24);
	leave();
	iw_codec_free(codec);
	assert_int_equal(left.sends, 1);
	assert_int_equal(left.octets, 4);
	assert_string_equal(left.fault.text, "");
	assert_int_equal(ntold, 1);
	assert_int_equal(told[0].r.verdict, IW_PERSONALITY_ACCEPT);
	assert_int_equal(told[0].r.request_len, 26);
	assert_memory_equal(told[0].request, REQ "\x17\x02\0\x06\0\x01\0\x02hi", 26);
	assert_memory_equal(told[0].reply, REP "\x17\x02\0\x04\0\x02\0\x01", 24);
}

static void peer_that_closes_within_its_request_is_reported(void **state)
{
	(void)state;
	be("siw");
	open_to_it();
	SAY("MPA ID Re");
	iw_play_shut(&play);
	assert_int_equal(iw_play_wait(&play, SIZE_MAX, PEER_LIMIT), 0);
	leave();
	assert_int_equal(ntold, 1);
	assert_int_equal(told[0].r.request_len, 9);
	assert_non_null(strstr(told[0].text, "before its Request"));
}

static void peer_that_sends_nothing_is_neither_reported_nor_turned_away(void **state)
{
	(void)state;
	be("siw");
	open_to_it();
	iw_play_shut(&play);
	assert_int_equal(iw_play_wait(&play, SIZE_MAX, PEER_LIMIT), 0);
	iw_play_end(&play);
	/* The sink, which serves once, still serves. */
	connect_to_it();
	SAY("MPA ID Re");
	iw_play_shut(&play);
	assert_int_equal(iw_play_wait(&play, SIZE_MAX, PEER_LIMIT), 0);
	assert_true(play.fin || play.reset);
	leave();
	assert_int_equal(ntold, 1);
	assert_int_equal(told[0].r.request_len, 9);
	assert_int_equal(shim.turned_away, 1);
}

static void answers_of_the_engine_pass_and_are_reported(void **state)
{
	(void)state;
	be("rfc");
	open_to_it();
	SAY(REQ "\x47\x01\0\0");
	/* RFC 5044 7.1.1: reserved bits are sent as zero. */
	HEAR(REP "\x40\x01\0\0");
	iw_play_shut(&play);
	assert_int_equal(iw_play_wait(&play, SIZE_MAX, PEER_LIMIT), 0);
	leave();
	assert_int_equal(ntold, 1);
	assert_memory_equal(told[0].request, REQ "\x47\x01\0\0", 20);
	assert_memory_equal(told[0].reply, REP "\x40\x01\0\0", 20);
	assert_int_equal(told[0].r.verdict, IW_PERSONALITY_ACCEPT);
}

/* --- STag 0 --- */

static void write_to_stag_0(const char *name, bool fatal)
{
	static const uint8_t write[14] = { 0xc1, 0x40 };
	const struct iw_codec_cfg cfg = { .crc = true };
	struct iw_codec_ulpdu u;
	struct iw_terminate t;
	struct iw_codec *codec;
	const uint8_t *octets;
	size_t len;

	be(name);
	open_to_it();
	SAY(REQ "\x40\x01\0\0");
	HEAR(REP "\x40\x01\0\0");
	assert_int_equal(iw_codec_new(&codec, &cfg, &why), 0);
	len = iw_codec_put(codec, write, sizeof(write), &octets);
	say(octets, len, 0);
	if (!fatal)
		iw_play_shut(&play);
	assert_int_equal(iw_play_wait(&play, SIZE_MAX, PEER_LIMIT), 0);
	assert_true(play.fin);
	assert_int_equal(iw_codec_feed(codec, play.rx + 20, play.rx_len - 20, &why), 0);
	assert_int_equal(iw_codec_next(codec, &u), fatal);
	if (fatal) {
		assert_true(iw_terminate_decode(&t, u.data + IW_DDP_UNTAGGED_LEN,
						u.len - IW_DDP_UNTAGGED_LEN) > 0);
		assert_int_equal(t.layer, 0);
		assert_int_equal(t.etype, 1);
		assert_int_equal(t.code, 0);
	}
	iw_codec_free(codec);
	leave();
}

static void stag_0_ends_the_connection_of_a_peer_that_rejects_it(void **state)
{
	(void)state;
	write_to_stag_0("chelsio", true);
	write_to_stag_0("siw", false);
	write_to_stag_0("rfc", false);
}

/* --- the first FPDU --- */

static struct iw_rping_run *server;
static struct iw_rping_run_news served;

static void *ping_serve(void *arg)
{
	struct iw_rping_run_news news;

	(void)arg;
	while (iw_rping_run_next(server, &news, &why) == 0 && news.kind != IW_RPING_RUN_STOPPED)
		if (news.kind == IW_RPING_RUN_LEFT)
			served = news;
	return NULL;
}

/* Runs rping against a responder with `shim` in front. Returns the client's last news. */
static struct iw_rping_run_news ping(enum iw_quirk quirk)
{
	struct iw_rping_run_cfg s = { .ping = { .verify = true }, .shim = &shim, .once = true };
	struct iw_rping_run_cfg c = {
		.ping = { .client = true, .size = 300, .count = 3, .verify = true },
		.conn = { .at.host = "127.0.0.1", .protocol.siw_first_fpdu = quirk }
	};
	struct iw_rping_run_news news = { 0 }, last = { 0 };
	struct iw_fault fault = { 0 };
	struct iw_rping_run *run;

	s.setup_ns = s.timeout_ns = c.setup_ns = PEER_LIMIT;
	c.timeout_ns = quirk == IW_QUIRK_OFF ? IW_MSEC(300) : PEER_LIMIT;
	iw_personality_engine(&s.conn, &shim.personality);
	if (iw_rping_run_new(&server, &s, &why) != 0)
		fail_msg("%s", why.text);
	assert_int_equal(pthread_create(&thread, NULL, ping_serve, NULL), 0);
	c.conn.at.port = iw_rping_run_port(server);
	if (iw_rping_run_new(&run, &c, &fault) != 0)
		fail_msg("%s", fault.text);
	while (news.kind != IW_RPING_RUN_STOPPED || !last.kind) {
		if (iw_rping_run_next(run, &news, &fault) != 0)
			fail_msg("%s", fault.text);
		if (news.kind == IW_RPING_RUN_LEFT)
			last = news;
	}
	iw_rping_run_free(run);
	pthread_join(thread, NULL);
	iw_rping_run_free(server);
	return last;
}

/*
 * The quirk is detected because nothing arrives, or is configured. Without it the connection hangs.
 */
static void lost_first_fpdu_is_detected_after_a_nudge(void **state)
{
	struct iw_rping_run_news last;

	(void)state;
	be("siw");
	shim.lose_early_fpdus = true;
	last = ping(IW_QUIRK_AUTO);
	assert_string_equal(last.fault.text, "");
	assert_int_equal(last.result.rounds, 3);
	assert_int_equal(last.info.nudges, 1);
	assert_true(last.result.max_ns >= IW_MSEC(500));
	be("siw");
	shim.lose_early_fpdus = true;
	last = ping(IW_QUIRK_ON);
	assert_string_equal(last.fault.text, "");
	assert_int_equal(last.result.rounds, 3);
	assert_true(last.info.nudges >= 1);
	be("siw");
	shim.lose_early_fpdus = true;
	last = ping(IW_QUIRK_OFF);
	assert_int_equal(last.fault.err, IW_E_TIMEOUT);
	assert_int_equal(last.result.rounds, 0);
	assert_int_equal(last.info.nudges, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refusal_is_sent_and_then_fin),
		cmocka_unit_test(rejection_without_a_reply_resets_or_closes),
		cmocka_unit_test(accepted_connection_carries_fpdus_after_the_personalitys_reply),
		cmocka_unit_test(peer_that_closes_within_its_request_is_reported),
		cmocka_unit_test(peer_that_sends_nothing_is_neither_reported_nor_turned_away),
		cmocka_unit_test(answers_of_the_engine_pass_and_are_reported),
		cmocka_unit_test(stag_0_ends_the_connection_of_a_peer_that_rejects_it),
		cmocka_unit_test(lost_first_fpdu_is_detected_after_a_nudge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
