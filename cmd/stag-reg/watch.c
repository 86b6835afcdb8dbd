// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Compares each poll of a manager with the previous one. */
#include "stag-reg/watch.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/signals.h"
#include "os/os.h"
#include "util/num.h"
#include "util/text.h"

/* The last report of a buffer (stream 0) or of one of its peers. */
struct seen {
	uint32_t stag, stream;
	struct iw_tally tally;
	bool ended, there;
};

struct watch {
	struct iw_manager_admin *admin;
	const struct iw_manager_print *print;
	uint32_t stag; /* 0: all */
	struct seen *seen;
	size_t n, cap;
	size_t hint; /* where the last one was found: answers have the same order each time */
	uint64_t now, before; /* times of this poll and the previous one; 0: none yet */
};

static struct seen *find_seen(struct watch *w, uint32_t stag, uint32_t stream)
{
	for (size_t i = 0; i < w->n; i++) {
		size_t at = (w->hint + i) % w->n;

		if (w->seen[at].stag != stag || w->seen[at].stream != stream)
			continue;
		w->hint = at + 1;
		return &w->seen[at];
	}
	return NULL;
}

static struct seen *new_seen(struct watch *w, uint32_t stag, uint32_t stream, struct iw_fault *why)
{
	if (w->n == w->cap) {
		size_t cap = w->cap ? w->cap * 2 : 16;
		struct seen *more = reallocarray(w->seen, cap, sizeof(*more));

		if (!more) {
			(void)iw_fail(why, IW_E_NOMEM,
				      "no memory for the list of buffers and peers");
			return NULL;
		}
		w->seen = more;
		w->cap = cap;
	}
	w->seen[w->n] = (struct seen){ .stag = stag, .stream = stream, .there = true };
	return &w->seen[w->n++];
}

static int on_buffer(struct watch *w, const struct iw_manager_buffer *b, struct iw_fault *why)
{
	struct seen *s = find_seen(w, b->stag, 0);

	if (s) {
		s->there = true;
		return 0;
	}
	return new_seen(w, b->stag, 0, why) ? iw_manager_print_registered(w->print, b, why)
					    : IW_E_NOMEM;
}

/* Prints a line if the peer did something new. */
static int on_peer(struct watch *w, uint32_t stag, const struct iw_manager_peer *p,
		   struct iw_fault *why)
{
	struct seen *s = find_seen(w, stag, p->stream);
	bool news = !s || s->ended != p->ended || memcmp(&s->tally, &p->tally, sizeof(s->tally));
	struct iw_tally fresh = p->tally;

	if (!s)
		s = new_seen(w, stag, p->stream, why);
	if (!s)
		return IW_E_NOMEM;
	fresh.writes -= s->tally.writes;
	fresh.write_octets -= s->tally.write_octets;
	fresh.reads -= s->tally.reads;
	fresh.read_octets -= s->tally.read_octets;
	s->tally = p->tally;
	s->ended = p->ended;
	s->there = true;
	return news ? iw_manager_print_interval(w->print, stag, p, &fresh,
						w->before ? w->now - w->before : 0, why)
		    : 0;
}

/* Forgets buffers and peers that are missing in this poll, and reports the buffers. */
static int sweep(struct watch *w, struct iw_fault *why)
{
	size_t kept = 0;
	int err = 0;

	for (size_t i = 0; i < w->n; i++) {
		struct seen *s = &w->seen[i];

		if (s->there)
			w->seen[kept++] = *s;
		else if (!err && s->stream == 0)
			err = iw_manager_print_gone(w->print, s->stag, why);
	}
	w->n = kept;
	return err;
}

/* Polls once. Returns 1: buffers exist; 0: none. */
static int poll_manager(struct watch *w, struct iw_fault *why)
{
	struct iw_manager_reply r;
	uint32_t stag = 0;
	int more, err = iw_manager_admin_list(w->admin, w->stag, true, why);

	if (err)
		return err;
	w->now = iw_os_now();
	for (size_t i = 0; i < w->n; i++)
		w->seen[i].there = false;
	while (!err && (more = iw_manager_admin_next(w->admin, &r, why)) != 0) {
		if (more < 0)
			return more;
		if (r.kind == IW_MANAGER_BUFFER) {
			stag = r.buffer.stag;
			err = on_buffer(w, &r.buffer, why);
		} else if (r.kind == IW_MANAGER_PEER) {
			err = on_peer(w, stag, &r.peer, why);
		}
	}
	if (!err)
		err = sweep(w, why);
	w->before = w->now;
	/* A program that reads the output needs it at once. */
	if (!err && fflush(stdout) != 0)
		err = iw_fail(why, IW_E_CLOSED, "cannot write to standard output");
	return err ? err : r.count > 0;
}

/* Waits. Returns true if a signal asked the process to stop. */
static bool pause_for(uint64_t ns)
{
	struct pollfd pfd = { .fd = iw_signals_fd(), .events = POLLIN };

	return poll(&pfd, 1, (int)((ns + IW_MSEC(1) - 1) / IW_MSEC(1))) > 0;
}

int iw_manager_watch(struct iw_manager_admin *a, const struct iw_manager_print *p,
		     const struct iw_manager_watch_cfg *cfg, bool *found, struct iw_fault *why)
{
	struct watch w = { .admin = a, .print = p, .stag = cfg->stag };
	int more = poll_manager(&w, why);

	*found = more != 0 || cfg->stag == 0;
	for (uint64_t n = 1; more >= 0 && (more > 0 || cfg->stag == 0) && n != cfg->count; n++) {
		if (pause_for(cfg->interval_ns))
			break;
		more = poll_manager(&w, why);
	}
	free(w.seen);
	return more < 0 ? more : 0;
}
