// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The counts of a transfer, and whether another connection will replace a lost one. */
#include "transfer/internal.h"

#define LAYER_LLP 2 /* of a Terminate: RFC 5040 4.8 */

void iw_group_add_counts(struct iw_xfer_counts *to, const struct iw_xfer_counts *c)
{
	to->files_done += c->files_done;
	to->files_same += c->files_same;
	to->exist += c->exist;
	to->newer += c->newer;
	to->files_excluded += c->files_excluded;
	to->files_failed += c->files_failed;
	to->octets += c->octets;
	to->kept += c->kept;
	to->zeros += c->zeros;
	to->announced += c->announced;
	to->settled += c->settled;
	to->had += c->had;
	to->links += c->links;
	to->msgs_sent += c->msgs_sent;
	to->msgs_received += c->msgs_received;
	to->peer_failed += c->peer_failed;
	to->gone += c->gone;
	to->dirs += c->dirs;
	to->made += c->made;
	to->stayed += c->stayed;
	to->dropped += c->dropped;
	/* Several connections may have reported it. */
	to->total = IW_MAX(to->total, c->total);
}

struct iw_xfer_counts iw_group_counts(const struct group *g)
{
	struct iw_xfer_counts all = g->counts;
	const struct hub *h = g->hub;

	for (struct iw_list *l = h->sessions.next; l != &h->sessions; l = l->next) {
		const struct session *s = iw_container_of(l, struct session, all);

		if (s->group == g && s->x)
			iw_group_add_counts(&all, iw_xfer_counts(s->x));
	}
	return all;
}

uint64_t iw_group_moved(const struct group *g)
{
	const struct iw_xfer_counts c = iw_group_counts(g);

	return c.kept + c.files_done + c.files_same + c.files_excluded;
}

/*
 * True if the connection failed, and neither side ended the transfer. Errors found by MPA are
 * transmission errors.
 */
static bool was_cut(const struct session *s)
{
	const struct iw_fault *why = &s->closed_why;

	if (!s->x || !iw_xfer_was_lost(s->x))
		return false;
	/* A refused handshake is refused again, for example because a key has changed. */
	if (why->err == IW_E_TLS && !s->established)
		return false;
	if (why->term != IW_NOTERM && IW_TERM_LAYER(why->term) == LAYER_LLP)
		return true;
	return why->err != IW_E_REJECTED && why->err != IW_E_INVAL &&
	       why->err != IW_E_PEER_TERMINATE;
}

bool iw_group_has_moved(const struct group *g, const struct session *s)
{
	return s->attempts == 0 || iw_group_moved(g) != s->moved_then;
}

bool iw_group_replaces(const struct group *g, const struct session *s)
{
	const struct hub *h = g->hub;

	if (!was_cut(s) || h->stopping || g->stream || g->ended_well || h->cfg->to_stdout ||
	    h->cfg->pipe || h->pipe_used)
		return false;
	if (!g->initiator)
		return (g->opened || iw_group_counts(g).msgs_received > 0) &&
		       (g->sessions > 1 || h->nwaiting < WAITING_MOST);
	/* A connection that was never established is not lost. */
	if (!g->established || h->cfg->redials == 0)
		return false;
	return iw_group_has_moved(g, s) ||
	       (s->attempts < h->cfg->redials && h->now - s->lost_at < h->cli->timeout_ns);
}

bool iw_session_hands_on(const struct session *s)
{
	const struct group *g = s->group;

	return !s->hub->stopping && (g->sessions > 1 || iw_group_replaces(g, s));
}
