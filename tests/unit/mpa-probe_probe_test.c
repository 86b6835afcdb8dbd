// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The whole probe, against each personality and against listeners that violate the protocol. */
#include "mpa-probe/probe.h"

#include <fcntl.h>

#include "mpa-probe_peer.h"

static struct peer peer;
static struct iw_probe_result r;
static struct iw_fault why;

static struct iw_probe_cfg config(uint16_t port)
{
	return (struct iw_probe_cfg){
		.host = "127.0.0.1", .port = port, .stop_fd = -1, .per_second = 10000
	};
}

static void probe(const struct iw_probe_cfg *cfg)
{
	if (iw_probe(&r, cfg, &why) != 0)
		fail_msg("%s", why.text);
}

static struct iw_shim shim_of(const char *name)
{
	for (size_t i = 0; i < IW_PERSONALITIES; i++)
		if (strcmp(iw_personalities[i].name, name) == 0)
			return (struct iw_shim){ .personality = { .row = &iw_personalities[i] } };
	fail_msg("no personality %s", name);
	return (struct iw_shim){ 0 };
}

static bool says(const struct iw_verdict *v, enum iw_fact fact, bool is)
{
	for (size_t i = 0; i < v->npro; i++)
		if (v->pro[i].fact == fact && v->pro[i].is == is)
			return true;
	return false;
}

/* --- personalities --- */

static void each_personality_is_identified_by_its_answers(void **state)
{
	static const struct {
		const char *personality;
		enum iw_impl impl;
		enum iw_fact fact;
		size_t attempts;
		uint8_t rev;
	} t[] = {
		{ "rfc", IW_IMPL_LIBIWARP, IW_FACT_RTR_ALL, 4, 2 },
		{ "siw", IW_IMPL_SIW, IW_FACT_MARKERS_REFUSED, 4, 2 },
		{ "chelsio", IW_IMPL_CHELSIO, IW_FACT_DEPTH_32, 4, 2 },
		{ "windows", IW_IMPL_WINDOWS, IW_FACT_SMBD_HEADER, 5, 1 },
		{ "plain", IW_IMPL_PLAIN, IW_FACT_REV1_ONLY, 5, 1 },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(t); i++) {
		struct iw_shim shim = shim_of(t[i].personality);
		struct iw_probe_cfg cfg;

		peer_sink(&peer, &shim);
		cfg = config(peer.port);
		probe(&cfg);
		assert_true(r.iwarp);
		assert_string_equal(iw_impl_name(r.verdict.impl), iw_impl_name(t[i].impl));
		assert_true(says(&r.verdict, t[i].fact, true));
		assert_int_equal(r.verdict.ncontra, 0);
		assert_int_equal(r.nattempts, t[i].attempts);
		assert_int_equal(r.main->answer.rev, t[i].rev);
		assert_int_equal(r.main->answer.proof, IW_PROOF_WORKS);
		assert_true(r.main->answer.rtt_ns > 0);
		iw_probe_free(&r);
		peer_end(&peer);
	}
}

static unsigned count(enum iw_outcome o, uint8_t rev)
{
	unsigned n = 0;

	for (size_t i = 0; i < r.nattempts; i++)
		n += r.attempts[i].purpose == IW_PURPOSE_GRID && r.attempts[i].ask.rev == rev &&
		     r.attempts[i].answer.outcome == o;
	return n;
}

static void grid_shows_what_is_accepted_and_how_the_rest_ends(void **state)
{
	/* Rev 2 is tried in five forms with each C and M, the other revisions in one. */
	static const struct {
		const char *personality;
		unsigned rev2, rev1;  /* accepted */
		enum iw_outcome rev3; /* outcome of Rev 3 */
		bool stag0_fatal;
	} t[] = {
		{ "rfc", 20, 4, IW_OUTCOME_ACCEPTED, false },
		{ "siw", 10, 2, IW_OUTCOME_ACCEPTED, false },
		{ "chelsio", 20, 4, IW_OUTCOME_RESET, true },
		{ "plain", 0, 4, IW_OUTCOME_CLOSED, false },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(t); i++) {
		struct iw_shim shim = shim_of(t[i].personality);
		const struct iw_probe_attempt *stag0;
		struct iw_probe_cfg cfg;

		peer_sink(&peer, &shim);
		cfg = config(peer.port);
		cfg.grid = true;
		probe(&cfg);
		assert_false(r.gone);
		assert_int_equal(count(IW_OUTCOME_ACCEPTED, 2), t[i].rev2);
		assert_int_equal(count(IW_OUTCOME_ACCEPTED, 1), t[i].rev1);
		if (t[i].rev3 != IW_OUTCOME_ACCEPTED)
			assert_int_equal(count(t[i].rev3, 3), 4);
		stag0 = iw_probe_find(&r, IW_PURPOSE_STAG0);
		assert_non_null(stag0);
		assert_int_equal(stag0->answer.proof == IW_PROOF_BROKEN, t[i].stag0_fatal);
		iw_probe_free(&r);
		peer_end(&peer);
	}
}

/* --- Requests --- */

static unsigned told;

static void on_attempt(void *ctx, const struct iw_probe_attempt *c)
{
	assert_ptr_equal(ctx, &told);
	assert_in_range(c->answer.outcome, 0, IW_OUTCOMES - 1);
	told++;
}

static void one_connection_when_one_is_asked_for(void **state)
{
	static const struct iw_ask own = { .rev = 1, .crc = false };
	struct iw_shim shim = shim_of("rfc");
	struct iw_probe_cfg cfg;

	(void)state;
	peer_sink(&peer, &shim);
	cfg = config(peer.port);
	cfg.on_attempt = on_attempt;
	cfg.attempt_ctx = &told;
	told = 0;
	cfg.single = true;
	probe(&cfg);
	assert_int_equal(r.nattempts, 1);
	assert_int_equal(told, 1);
	assert_true(r.main->ask.peer_to_peer);
	iw_probe_free(&r);
	cfg.single = false;
	cfg.only = &own;
	probe(&cfg);
	assert_int_equal(r.nattempts, 1);
	assert_int_equal(r.main->ask.rev, 1);
	assert_int_equal(r.main->answer.rev, 1);
	assert_true(r.iwarp);
	iw_probe_free(&r);
	peer_end(&peer);
}

static void private_data_is_sent_with_every_usual_request(void **state)
{
	static const uint8_t pd[] = { 'h', 'i', 0 };
	struct iw_shim shim = shim_of("siw");
	struct iw_probe_cfg cfg;

	(void)state;
	shim.personality.pd = (const uint8_t *)"welcome";
	shim.personality.pd_len = 7;
	peer_sink(&peer, &shim);
	cfg = config(peer.port);
	cfg.pd = pd;
	cfg.pd_len = sizeof(pd);
	probe(&cfg);
	for (size_t i = 0; i < r.nattempts; i++)
		assert_int_equal(r.attempts[i].ask.pd_len, sizeof(pd));
	assert_int_equal(r.main->answer.pd_len, 7);
	assert_memory_equal(r.main->answer.raw + r.main->answer.pd_off, "welcome", 7);
	iw_probe_free(&r);
	peer_end(&peer);
}

static void connections_keep_to_the_rate(void **state)
{
	static const uint64_t least = IW_MSEC(30);
	struct iw_shim shim = shim_of("plain");
	struct iw_probe_cfg cfg;

	(void)state;
	peer_sink(&peer, &shim);
	cfg = config(peer.port);
	cfg.grid = true;
	cfg.per_second = 33;
	probe(&cfg);
	assert_true(r.nattempts > 30);
	assert_true(r.took_ns > (r.nattempts - 5) * least);
	iw_probe_free(&r);
	peer_end(&peer);
}

/* --- other listeners --- */

static void refusal_to_all_is_no_endpoint(void **state)
{
	struct iw_shim shim = shim_of("rfc");
	struct iw_probe_cfg cfg;

	(void)state;
	shim = shim_of("siw");
	shim.personality.reject = true;
	shim.personality.pd = (const uint8_t *)"not you";
	shim.personality.pd_len = 7;
	peer_sink(&peer, &shim);
	cfg = config(peer.port);
	probe(&cfg);
	assert_false(r.iwarp);
	assert_int_equal(r.main->answer.outcome, IW_OUTCOME_REFUSED);
	assert_memory_equal(r.main->answer.raw + r.main->answer.pd_off, "not you", 7);
	/* Three Requests, and no more. */
	assert_int_equal(r.nattempts, 3);
	iw_probe_free(&r);
	peer_end(&peer);
}

static void silent_peer_is_nudged_once(void **state)
{
	static const struct step steps[] = { { .kind = STEP_QUIET, .for_ns = PEER_LIMIT } };
	static const struct script s[] = { SCRIPT(steps) };
	struct iw_probe_cfg cfg;

	(void)state;
	peer_start(&peer, s, 1);
	cfg = config(peer.port);
	cfg.timeout_ns = IW_MSEC(150);
	probe(&cfg);
	assert_false(r.iwarp);
	assert_int_equal(r.nattempts, 1);
	assert_int_equal(r.main->answer.outcome, IW_OUTCOME_SILENT);
	assert_int_equal(r.verdict.impl, IW_IMPL_UNKNOWN);
	assert_in_range(r.took_ns, IW_MSEC(150), IW_SEC(2));
	iw_probe_free(&r);
	peer_end(&peer);
}

/* The listener answers four connections correctly, then it closes. */
static void listener_that_closes_ends_the_grid(void **state)
{
	static const struct step steps[] = {
		{ .kind = STEP_WAIT, .want = 24, .for_ns = PEER_LIMIT },
		{ .kind = STEP_SEND,
		  .octets = REPLY("\x50", "\x02", "\0\x04") "\0\x10\0\x10",
		  .len = 24,
		  .for_ns = PEER_LIMIT },
		{ .kind = STEP_WAIT, .want = SIZE_MAX, .for_ns = IW_MSEC(200) },
	};
	static const struct script s[] = { SCRIPT(steps), SCRIPT(steps), SCRIPT(steps),
					   SCRIPT(steps), SCRIPT(steps), SCRIPT(steps) };
	struct iw_probe_cfg cfg;

	(void)state;
	peer_start(&peer, s, IW_ARRAY_LEN(s));
	cfg = config(peer.port);
	cfg.grid = true;
	probe(&cfg);
	assert_true(r.iwarp);
	assert_true(r.gone);
	/* Some more may connect before the socket is closed; the whole grid has over thirty. */
	assert_true(r.nattempts <= 2 * IW_ARRAY_LEN(s));
	assert_int_equal(r.attempts[r.nattempts - 1].purpose, IW_PURPOSE_CHECK);
	/* Unanswered Requests are no evidence. */
	assert_false(says(&r.verdict, IW_FACT_REV3_RESET, true));
	iw_probe_free(&r);
	peer_end(&peer);
}

/*
 * The listener answers only the main Request. A check follows each other one, so the grid makes as
 * many connections as a grid can.
 */
static void grid_of_a_listener_that_ignores_most_requests_is_complete(void **state)
{
	static const struct step answer[] = {
		{ .kind = STEP_WAIT, .want = 24, .for_ns = PEER_LIMIT },
		{ .kind = STEP_SEND,
		  .octets = REPLY("\x50", "\x02", "\0\x04") "\0\0\0\0",
		  .len = 24,
		  .for_ns = PEER_LIMIT },
		{ .kind = STEP_WAIT, .want = SIZE_MAX, .for_ns = PEER_LIMIT },
	};
	static const struct step ignore[] = {
		{ .kind = STEP_WAIT, .want = SIZE_MAX, .for_ns = PEER_LIMIT },
	};
	/* Main, flags, markers, Rev 1; then the grid, with a check after each revision. */
	static struct script s[4 + 2 * 32 + 4 + 1];
	struct iw_probe_cfg cfg;
	size_t n = 0, grid[] = { 20, 4, 4, 4 };

	(void)state;
	s[n++] = (struct script)SCRIPT(answer);
	for (int i = 0; i < 3; i++)
		s[n++] = (struct script)SCRIPT(ignore);
	for (size_t rev = 0; rev < IW_ARRAY_LEN(grid); rev++) {
		for (size_t i = 0; i < grid[rev]; i++) {
			s[n++] = (struct script)SCRIPT(ignore);
			s[n++] = (struct script)SCRIPT(answer);
		}
		s[n++] = (struct script)SCRIPT(answer);
	}
	s[n++] = (struct script)SCRIPT(answer);
	assert_int_equal(n, IW_ARRAY_LEN(s));
	peer_start(&peer, s, n);
	cfg = config(peer.port);
	cfg.grid = true;
	cfg.timeout_ns = IW_MSEC(100);
	probe(&cfg);
	assert_true(r.iwarp);
	assert_false(r.gone);
	assert_int_equal(r.nattempts, n);
	assert_int_equal(r.attempts[n - 1].purpose, IW_PURPOSE_STAG0);
	iw_probe_free(&r);
	peer_end(&peer);
}

/* The listener answers the first Request with FIN, the second with R = 1, and accepts the third. */
static void other_requests_follow_when_the_first_is_not_understood(void **state)
{
	static const struct step fin[] = {
		{ .kind = STEP_WAIT, .want = 24, .for_ns = PEER_LIMIT },
		{ .kind = STEP_SHUT },
		{ .kind = STEP_QUIET, .for_ns = IW_MSEC(20) },
	};
	static const struct step refuse[] = {
		{ .kind = STEP_WAIT, .want = 24, .for_ns = PEER_LIMIT },
		{ .kind = STEP_SEND,
		  .octets = REPLY("\x20", "\x01", "\0\0"),
		  .len = 20,
		  .for_ns = PEER_LIMIT },
		{ .kind = STEP_SHUT },
		{ .kind = STEP_QUIET, .for_ns = IW_MSEC(20) },
	};
	static const struct step accept[] = {
		{ .kind = STEP_WAIT, .want = 20, .for_ns = PEER_LIMIT },
		{ .kind = STEP_SEND,
		  .octets = REPLY("\0", "\x01", "\0\0"),
		  .len = 20,
		  .for_ns = PEER_LIMIT },
		{ .kind = STEP_WAIT, .want = SIZE_MAX, .for_ns = IW_MSEC(200) },
	};
	static const struct script s[] = { SCRIPT(fin), SCRIPT(refuse), SCRIPT(accept),
					   SCRIPT(accept), SCRIPT(accept) };
	struct iw_probe_cfg cfg;

	(void)state;
	peer_start(&peer, s, IW_ARRAY_LEN(s));
	cfg = config(peer.port);
	probe(&cfg);
	assert_true(r.iwarp);
	assert_ptr_equal(r.main, &r.attempts[2]);
	assert_true(r.attempts[0].ask.peer_to_peer);
	assert_false(r.attempts[1].ask.peer_to_peer);
	assert_int_equal(r.attempts[1].ask.rev, 2);
	assert_int_equal(r.attempts[2].ask.rev, 1);
	assert_true(says(&r.verdict, IW_FACT_REV1_ONLY, true));
	iw_probe_free(&r);
	peer_end(&peer);
}

static void unknown_host_name_is_an_error(void **state)
{
	struct iw_probe_cfg cfg = config(7471);

	(void)state;
	cfg.host = "no.such.host.invalid";
	assert_int_equal(iw_probe(&r, &cfg, &why), IW_E_NOENT);
	assert_null(r.main);
	assert_string_equal(r.target, "no.such.host.invalid");
	iw_probe_free(&r);
}

static void a_stop_request_ends_the_client(void **state)
{
	static const struct step steps[] = { { .kind = STEP_QUIET, .for_ns = PEER_LIMIT } };
	static const struct script s[] = { SCRIPT(steps) };
	struct iw_probe_cfg cfg;
	int fd[2];

	(void)state;
	peer_start(&peer, s, 1);
	assert_int_equal(pipe(fd), 0);
	assert_int_equal(write(fd[1], "x", 1), 1);
	cfg = config(peer.port);
	cfg.stop_fd = fd[0];
	cfg.timeout_ns = PEER_LIMIT;
	assert_int_equal(iw_probe(&r, &cfg, &why), IW_E_CANCELED);
	assert_true(r.took_ns < IW_SEC(2));
	iw_probe_free(&r);
	close(fd[0]);
	close(fd[1]);
	peer_end(&peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_personality_is_identified_by_its_answers),
		cmocka_unit_test(grid_shows_what_is_accepted_and_how_the_rest_ends),
		cmocka_unit_test(one_connection_when_one_is_asked_for),
		cmocka_unit_test(private_data_is_sent_with_every_usual_request),
		cmocka_unit_test(connections_keep_to_the_rate),
		cmocka_unit_test(refusal_to_all_is_no_endpoint),
		cmocka_unit_test(silent_peer_is_nudged_once),
		cmocka_unit_test(listener_that_closes_ends_the_grid),
		cmocka_unit_test(grid_of_a_listener_that_ignores_most_requests_is_complete),
		cmocka_unit_test(other_requests_follow_when_the_first_is_not_understood),
		cmocka_unit_test(unknown_host_name_is_an_error),
		cmocka_unit_test(a_stop_request_ends_the_client),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
