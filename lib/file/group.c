// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Transfers: what the connections of one have in common. */
#include <stdlib.h>
#include <string.h>

#include "file/internal.h"

struct group *iw_group_get(struct hub *h, const uint8_t id[static IW_XFER_ID_LEN], bool initiator)
{
	struct group *g;

	for (struct iw_list *l = h->groups.next; l != &h->groups; l = l->next) {
		g = iw_container_of(l, struct group, link);
		if (g->initiator == initiator && memcmp(g->id, id, sizeof(g->id)) == 0) {
			g->sessions++;
			return g;
		}
	}
	g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	g->hub = h;
	g->initiator = initiator;
	memcpy(g->id, id, sizeof(g->id));
	g->sessions = 1;
	g->conns = 1;
	g->began_at = h->now;
	iw_place_reset(&g->place);
	iw_list_init(&g->again);
	iw_list_init(&g->later);
	iw_list_add_tail(&h->groups, &g->link);
	return g;
}

static void free_files(struct iw_list *l)
{
	struct iw_list *i;

	while ((i = iw_list_first(l)) != NULL) {
		iw_list_del(i);
		iw_file_free(iw_container_of(i, struct file, link));
	}
}

static void group_free(struct group *g)
{
	iw_list_del(&g->link);
	free_files(&g->again);
	free_files(&g->later);
	iw_file_free(g->split);
	iw_pack_src_free(g->pack);
	iw_links_fini(&g->links);
	if (g->walk)
		iw_walk_fini(g->walk);
	free(g->walk);
	iw_place_close(&g->place);
	free(g);
}

static void add_counts(struct iw_xfer_counts *to, const struct iw_xfer_counts *c)
{
	to->files_done += c->files_done;
	to->files_same += c->files_same;
	to->files_failed += c->files_failed;
	to->octets += c->octets;
	to->zeros += c->zeros;
	to->announced += c->announced;
	to->settled += c->settled;
	to->msgs_sent += c->msgs_sent;
	to->msgs_received += c->msgs_received;
	to->peer_failed += c->peer_failed;
	to->gone += c->gone;
}

struct iw_xfer_counts iw_group_counts(const struct group *g)
{
	struct iw_xfer_counts all = g->counts;
	const struct hub *h = g->hub;

	for (struct iw_list *l = h->sessions.next; l != &h->sessions; l = l->next) {
		const struct session *s = iw_container_of(l, struct session, all);

		if (s->group == g && s->x)
			add_counts(&all, iw_xfer_counts(s->x));
	}
	return all;
}

void iw_group_wake(struct group *g)
{
	struct hub *h = g->hub;

	/* A listener may hold thousands of connections of others. */
	if (g->waiting == 0)
		return;
	for (struct iw_list *l = h->sessions.next; l != &h->sessions; l = l->next) {
		struct session *s = iw_container_of(l, struct session, all);

		if (s->group == g && s->work && s->work->next_waits)
			iw_session_make_ready(s);
	}
}

/* The transfer is over: s was its last connection. */
static void tell_end(struct group *g, struct session *s)
{
	struct hub *h = g->hub;
	struct iw_transfer_report t = { .peer = s->peer_text,
					.role = s->mine.role,
					.mode = s->mine.mode,
					.digest = s->mine.digest,
					.counts = g->counts };
	bool ours = g->initiator || h->cfg->once;

	/* What one connection lost, others have moved: the transfer is well when one of them came to its orderly end. */
	if (!g->ended_well)
		t.fault = g->fault;
	t.duration_ns = h->now - g->began_at;
	iw_qp_info(s->qp, &t.info);
	if (t.fault.err != IW_OK) {
		if (ours)
			h->status = iw_cli_fail(h->cli, &t.fault);
		else
			/* Who connected and asked for nothing is not worth a warning. */
			iw_log(t.counts.msgs_received > 0 ? IW_LOG_WARN : IW_LOG_INFO, "%s: %s",
			       t.peer, t.fault.text[0] ? t.fault.text : iw_err_text(t.fault.err));
	} else if (ours) {
		h->status = iw_report_status(&t);
	}
	/* Who connected and asked for nothing made no transfer. */
	if (g->initiator || t.counts.msgs_received > 0)
		iw_report_transfer(&h->report, &t);
}

void iw_group_leave(struct group *g, struct session *s)
{
	struct hub *h = g->hub;

	if (s->x) {
		struct iw_xfer_counts c = *iw_xfer_counts(s->x);

		c.files_failed -= IW_MIN(c.files_failed, s->requeued);
		add_counts(&g->counts, &c);
	}
	if (s->ended && s->fault.err == IW_OK)
		g->ended_well = true;
	else if (s->ended)
		g->fault = s->fault;
	if (s->work && s->work->next_waits)
		g->waiting--;
	s->group = NULL;
	if (--g->sessions > 0) {
		if (s->ended && s->fault.err != IW_OK)
			iw_log_warn("%s: %s: the others go on", s->peer_text,
				    s->fault.text[0] ? s->fault.text : iw_err_text(s->fault.err));
		iw_group_wake(g);
		return;
	}
	if (s->x && s->ended)
		tell_end(g, s);
	if (h->taken == g) {
		h->taken = NULL;
		h->over = true;
	}
	group_free(g);
}
