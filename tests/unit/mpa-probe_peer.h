/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Peers for the tests of mpa-probe, each in its own process on a port of loopback: one plays
 * scripts, one is a sink with a personality in front. They end with the test.
 */
#ifndef TESTS_PROBE_PEER_H
#define TESTS_PROBE_PEER_H

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "mpa-probe/play.h"
#include "mpa-probe/sink.h"
#include "util/num.h"

struct peer {
	pid_t pid;
	uint16_t port;
};

enum step_kind {
	STEP_SEND,  /* octets, len, piece, gap_ns */
	STEP_WAIT,  /* until `want` octets are received in all */
	STEP_QUIET, /* receives for the time for_ns */
	STEP_SHUT,
	STEP_RESET,
};

struct step {
	enum step_kind kind;
	const void *octets; /* borrowed */
	size_t len, piece;
	uint64_t gap_ns;
	size_t want;
	uint64_t for_ns; /* limit of SEND and WAIT, duration of QUIET */
};

struct script {
	const struct step *steps;
	size_t n;
};
#define SCRIPT(steps)                                                                              \
	{                                                                                          \
		steps, IW_ARRAY_LEN(steps)                                                         \
	}

/* Only failing tests reach this limit. */
#define PEER_LIMIT IW_SEC(5)

static inline void peer_ends_with_us(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
}

/*
 * Plays one step. Returns 1 if the script continues, 0 if the connection ended or time ran out
 * before the step was complete, or IW_E_NOMEM.
 */
static inline int peer_step(struct iw_play *p, const struct step *s)
{
	int err;

	switch (s->kind) {
	case STEP_SEND:
		err = iw_play_send(p, s->octets, s->len, s->piece, s->gap_ns, s->for_ns);
		return err == IW_E_CLOSED || err == IW_E_TIMEOUT ? 0 : err < 0 ? err : 1;
	case STEP_WAIT:
		return iw_play_wait(p, s->want, s->for_ns);
	case STEP_QUIET:
		err = iw_play_wait(p, SIZE_MAX, s->for_ns);
		return err < 0 ? err : 1;
	case STEP_SHUT:
		iw_play_shut(p);
		return p->reset || p->lost ? 0 : 1;
	case STEP_RESET:
		p->llp->ops->close(p->llp, true);
		p->llp = NULL;
		return 0;
	}
	return 0;
}

static inline void peer_play(struct iw_stream *listener, const struct script *s)
{
	struct iw_play p = { .stop_fd = -1 };
	int err, ret = 1;

	while ((err = listener->ops->accept(listener, &p.llp, NULL)) == IW_E_AGAIN)
		usleep(200);
	if (err)
		_exit(2);
	for (size_t i = 0; i < s->n && ret > 0; i++)
		ret = peer_step(&p, &s->steps[i]);
	if (ret < 0)
		_exit(3);
	iw_play_end(&p);
}

/* Each connection gets the next script. After the last one the port is closed. */
static inline void peer_start(struct peer *p, const struct script *scripts, size_t n)
{
	const struct iw_llp_cfg cfg = { .listen = true, .host = "127.0.0.1", .backlog = 8 };
	struct iw_stream *listener = NULL;
	struct iw_fault why = { 0 };
	pid_t parent = getpid();

	if (iw_stream_find("tcp")->open(&listener, &cfg, &why) != 0)
		fail_msg("%s", why.text);
	p->port = listener->local_port;
	p->pid = fork();
	assert_true(p->pid >= 0);
	if (p->pid == 0) {
		peer_ends_with_us(parent);
		for (size_t i = 0; i < n; i++)
			peer_play(listener, &scripts[i]);
		_exit(0);
	}
	listener->ops->close(listener, false);
}

/*
 * Starts a sink with that shim in front, until the test ends it. The shim runs in the other
 * process, so its report is not seen here.
 */
static inline void peer_sink(struct peer *p, struct iw_shim *shim)
{
	struct iw_probe_sink_cfg cfg = { .shim = shim,
					 .setup_ns = IW_SEC(5),
					 .idle_ns = IW_SEC(20) };
	struct iw_fault why = { 0 };
	struct iw_probe_sink_news news;
	struct iw_probe_sink *sink;
	pid_t parent = getpid();

	iw_personality_engine(&cfg.conn, &shim->personality);
	cfg.conn.at.host = "127.0.0.1";
	if (iw_probe_sink_new(&sink, &cfg, &why) != 0)
		fail_msg("%s", why.text);
	p->port = iw_probe_sink_port(sink);
	p->pid = fork();
	assert_true(p->pid >= 0);
	if (p->pid == 0) {
		peer_ends_with_us(parent);
		while (iw_probe_sink_next(sink, &news, &why) == 0 &&
		       news.kind != IW_PROBE_SINK_STOPPED)
			continue;
		_exit(0);
	}
	iw_probe_sink_free(sink);
}

/* Ends the peer. */
static inline void peer_end(struct peer *p)
{
	int status;

	kill(p->pid, SIGKILL);
	assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
}

/* Waits for the peer, which must have played all scripts without a local error. */
static inline void peer_done(struct peer *p)
{
	int status;

	assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* A Reply of 20 octets and its Private Data, for scripts. */
#define REPLY(flags, rev, pd_len) "MPA ID Rep Frame" flags rev pd_len

#endif
