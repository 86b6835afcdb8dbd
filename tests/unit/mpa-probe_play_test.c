// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Connections driven octet by octet, at both ends: sent and recorded octets, and their end. */
#include "mpa-probe/play.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "mpa-probe_peer.h"

static struct peer peer;
static struct iw_play play;
static struct iw_fault why;
static const struct iw_play_cfg here = { .host = "127.0.0.1", .stop_fd = -1 };

static void join(const struct script *s)
{
	struct iw_play_cfg cfg = here;

	peer_start(&peer, s, 1);
	cfg.port = peer.port;
	if (iw_play_connect(&play, &cfg, PEER_LIMIT, &why) != 0)
		fail_msg("%s", why.text);
}

static void leave(void)
{
	iw_play_end(&play);
	peer_done(&peer);
}

static unsigned count(enum iw_play_kind kind)
{
	unsigned n = 0;

	for (size_t i = 0; i < play.nnotes; i++)
		n += play.notes[i].kind == kind;
	return n;
}

static void octets_arrive_in_both_directions(void **state)
{
	static const struct step echo[] = {
		{ .kind = STEP_WAIT, .want = 5, .for_ns = PEER_LIMIT },
		{ .kind = STEP_SEND, .octets = "world", .len = 5, .for_ns = PEER_LIMIT },
		{ .kind = STEP_QUIET, .for_ns = PEER_LIMIT },
	};
	static const struct script s = SCRIPT(echo);
	const struct iw_play_note *sent, *got;

	(void)state;
	join(&s);
	assert_int_equal(iw_play_send(&play, "hello", 5, 0, 0, PEER_LIMIT), 0);
	assert_int_equal(iw_play_wait(&play, 5, PEER_LIMIT), 1);
	assert_int_equal(play.rx_len, 5);
	assert_memory_equal(play.rx, "world", 5);
	assert_int_equal(play.notes[0].kind, IW_PLAY_CONNECTED);
	sent = iw_play_find(&play, IW_PLAY_SENT, 0);
	got = iw_play_find(&play, IW_PLAY_RECEIVED, 0);
	assert_int_equal(sent->len, 5);
	assert_int_equal(got->off, 0);
	assert_int_equal(got->len, 5);
	assert_true(got->at_ns >= sent->at_ns && sent->at_ns >= play.notes[0].at_ns);
	leave();
}

static void each_read_is_traced_with_its_place(void **state)
{
	static const struct step drip[] = {
		{ .kind = STEP_SEND,
		  .octets = "abcdef",
		  .len = 6,
		  .piece = 2,
		  .gap_ns = IW_MSEC(20),
		  .for_ns = PEER_LIMIT },
		{ .kind = STEP_SHUT },
		{ .kind = STEP_QUIET, .for_ns = PEER_LIMIT },
	};
	static const struct script s = SCRIPT(drip);

	(void)state;
	join(&s);
	assert_int_equal(iw_play_wait(&play, SIZE_MAX, PEER_LIMIT), 0);
	assert_true(play.fin && iw_play_over(&play));
	assert_memory_equal(play.rx, "abcdef", 6);
	assert_int_equal(count(IW_PLAY_RECEIVED), 3);
	assert_int_equal(play.notes[2].off, 2);
	assert_int_equal(count(IW_PLAY_FIN), 1);
	leave();
}

static void pieces_are_sent_apart(void **state)
{
	static const struct step listen[] = {
		{ .kind = STEP_WAIT, .want = 4, .for_ns = PEER_LIMIT },
		{ .kind = STEP_SEND, .octets = "!", .len = 1, .for_ns = PEER_LIMIT },
		{ .kind = STEP_QUIET, .for_ns = PEER_LIMIT },
	};
	static const struct script s = SCRIPT(listen);
	uint64_t began;

	(void)state;
	join(&s);
	began = iw_play_now(&play);
	assert_int_equal(iw_play_send(&play, "wxyz", 4, 1, IW_MSEC(5), PEER_LIMIT), 0);
	assert_true(iw_play_now(&play) - began >= IW_MSEC(15));
	assert_int_equal(count(IW_PLAY_SENT), 4);
	assert_int_equal(play.sent, 4);
	assert_int_equal(iw_play_wait(&play, 1, PEER_LIMIT), 1);
	leave();
}

static void reset_is_distinguished_from_fin(void **state)
{
	static const struct step reset[] = {
		{ .kind = STEP_WAIT, .want = 1, .for_ns = PEER_LIMIT },
		{ .kind = STEP_RESET },
	};
	static const struct script s = SCRIPT(reset);

	(void)state;
	join(&s);
	assert_int_equal(iw_play_send(&play, "x", 1, 0, 0, PEER_LIMIT), 0);
	assert_int_equal(iw_play_wait(&play, 1, PEER_LIMIT), 0);
	assert_true(play.reset);
	assert_false(play.fin);
	assert_int_equal(count(IW_PLAY_RESET), 1);
	assert_int_equal(iw_play_send(&play, "x", 1, 0, 0, PEER_LIMIT), IW_E_CLOSED);
	leave();
}

static void time_runs_out(void **state)
{
	static const struct step silent[] = { { .kind = STEP_QUIET, .for_ns = PEER_LIMIT } };
	static const struct script s = SCRIPT(silent);
	uint64_t began, took;

	(void)state;
	join(&s);
	began = iw_play_now(&play);
	assert_int_equal(iw_play_wait(&play, 1, IW_MSEC(50)), 0);
	took = iw_play_now(&play) - began;
	assert_true(took >= IW_MSEC(50) && took < IW_SEC(2));
	assert_false(iw_play_over(&play));
	leave();
}

static void peer_that_reads_nothing_uses_no_more_than_the_limit(void **state)
{
	static const struct step deaf[] = {
		/* Nothing is read, but the connection stays open during the test. */
		{ .kind = STEP_SEND,
		  .octets = "ab",
		  .len = 2,
		  .piece = 1,
		  .gap_ns = IW_MSEC(800),
		  .for_ns = PEER_LIMIT },
	};
	static const struct script s = SCRIPT(deaf);
	static uint8_t much[16 * 1024 * 1024];

	(void)state;
	join(&s);
	assert_int_equal(iw_play_send(&play, much, sizeof(much), 0, 0, IW_MSEC(100)), IW_E_TIMEOUT);
	assert_true(play.sent > 0 && play.sent < sizeof(much));
	iw_play_end(&play);
	peer_end(&peer);
}

static void octets_beyond_the_limit_are_counted_and_not_kept(void **state)
{
	static uint8_t much[2 * IW_PLAY_RX_MAX];
	static const struct step flood[] = {
		{ .kind = STEP_SEND, .octets = much, .len = sizeof(much), .for_ns = PEER_LIMIT },
		{ .kind = STEP_SHUT },
		{ .kind = STEP_QUIET, .for_ns = PEER_LIMIT },
	};
	static const struct script s = SCRIPT(flood);

	(void)state;
	join(&s);
	assert_int_equal(iw_play_wait(&play, SIZE_MAX, PEER_LIMIT), 0);
	assert_true(play.fin);
	assert_int_equal(play.rx_len, IW_PLAY_RX_MAX);
	assert_int_equal(play.rx_lost, sizeof(much) - IW_PLAY_RX_MAX);
	assert_true(play.nnotes <= IW_PLAY_NOTES);
	leave();
}

static void our_fin_leaves_the_other_direction_open(void **state)
{
	static const struct step rest[] = {
		{ .kind = STEP_QUIET, .for_ns = PEER_LIMIT },
		{ .kind = STEP_SEND, .octets = "late", .len = 4, .for_ns = PEER_LIMIT },
	};
	static const struct script s = SCRIPT(rest);

	(void)state;
	join(&s);
	iw_play_shut(&play);
	assert_int_equal(iw_play_wait(&play, 4, PEER_LIMIT), 1);
	assert_memory_equal(play.rx, "late", 4);
	assert_int_equal(count(IW_PLAY_SHUT), 1);
	iw_play_shut(&play);
	assert_int_equal(count(IW_PLAY_SHUT), 1);
	leave();
}

static void port_without_a_listener_is_refused(void **state)
{
	struct iw_play_cfg cfg = here;

	(void)state;
	peer_start(&peer, NULL, 0);
	peer_done(&peer);
	cfg.port = peer.port;
	why = (struct iw_fault){ 0 };
	assert_int_equal(iw_play_connect(&play, &cfg, PEER_LIMIT, &why), IW_E_OS);
	assert_int_equal(why.os_errno, ECONNREFUSED);
	assert_int_equal(count(IW_PLAY_CONNECTED), 0);
	iw_play_end(&play);
}

static void a_stop_request_ends_the_run(void **state)
{
	static const struct step silent[] = { { .kind = STEP_QUIET, .for_ns = PEER_LIMIT } };
	static const struct script s = SCRIPT(silent);
	int fd[2];

	(void)state;
	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	join(&s);
	play.stop_fd = fd[0];
	assert_int_equal(iw_play_wait(&play, 1, IW_MSEC(20)), 0);
	assert_int_equal(write(fd[1], "x", 1), 1);
	assert_int_equal(iw_play_wait(&play, 1, PEER_LIMIT), IW_E_CANCELED);
	assert_int_equal(iw_play_send(&play, "ab", 2, 1, IW_SEC(60), PEER_LIMIT), IW_E_CANCELED);
	close(fd[0]);
	close(fd[1]);
	leave();
}

static char lines[4096];

static void on_line(void *ctx, const char *line)
{
	(void)ctx;
	snprintf(lines + strlen(lines), sizeof(lines) - strlen(lines), "%s\n", line);
}

static void trace_has_a_line_for_each_note(void **state)
{
	static const struct step hi[] = {
		{ .kind = STEP_SEND, .octets = "\x01\xff", .len = 2, .for_ns = PEER_LIMIT },
		{ .kind = STEP_QUIET, .for_ns = PEER_LIMIT },
	};
	static const struct script s = SCRIPT(hi);
	struct iw_play_cfg cfg = here;
	unsigned n = 0;

	(void)state;
	lines[0] = '\0';
	peer_start(&peer, &s, 1);
	cfg.port = peer.port;
	cfg.trace = on_line;
	cfg.number = 7;
	assert_int_equal(iw_play_connect(&play, &cfg, PEER_LIMIT, &why), 0);
	assert_int_equal(iw_play_wait(&play, 2, PEER_LIMIT), 1);
	for (const char *p = lines; (p = strchr(p, '\n')); p++)
		n++;
	assert_int_equal(n, play.nnotes);
	assert_memory_equal(lines, "{\"schema\":1,\"event\":\"played\",\"t_ns\":", 36);
	assert_non_null(strstr(lines, ",\"time_ns\":\"1"));
	assert_non_null(strstr(lines, "\",\"connection\":7,"));
	assert_non_null(strstr(
		lines, "\"what\":\"received\",\"offset_octets\":0,\"octets\":2,\"hex\":\"01ff\"}"));
	leave();
}

static void facts_name_the_ends_and_the_segment(void **state)
{
	static const struct step silent[] = { { .kind = STEP_QUIET, .for_ns = PEER_LIMIT } };
	static const struct script s = SCRIPT(silent);
	struct iw_play_facts f;
	char expected[64];

	(void)state;
	join(&s);
	iw_play_facts(&play, &f);
	snprintf(expected, sizeof(expected), "127.0.0.1:%u", peer.port);
	assert_string_equal(f.peer, expected);
	assert_memory_equal(f.local, "127.0.0.1:", 10);
	assert_true(f.mss > 500 && f.pmtu > f.mss);
	leave();
	iw_play_facts(&play, &f);
	assert_int_equal(f.mss, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(octets_arrive_in_both_directions),
		cmocka_unit_test(each_read_is_traced_with_its_place),
		cmocka_unit_test(pieces_are_sent_apart),
		cmocka_unit_test(reset_is_distinguished_from_fin),
		cmocka_unit_test(time_runs_out),
		cmocka_unit_test(peer_that_reads_nothing_uses_no_more_than_the_limit),
		cmocka_unit_test(octets_beyond_the_limit_are_counted_and_not_kept),
		cmocka_unit_test(our_fin_leaves_the_other_direction_open),
		cmocka_unit_test(port_without_a_listener_is_refused),
		cmocka_unit_test(a_stop_request_ends_the_run),
		cmocka_unit_test(trace_has_a_line_for_each_note),
		cmocka_unit_test(facts_name_the_ends_and_the_segment),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
