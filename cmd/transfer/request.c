// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Accepts or rejects the connection requests to a listener. */
#include <stdio.h>
#include <string.h>

#include "stag-reg/claim.h"
#include "transfer/internal.h"
#include "util/text.h"

static void reject(struct hub *h, struct iw_conn_req *req, const char *peer, enum iw_xfer_code code,
		   const struct iw_fault *why)
{
	struct iw_hello answer;
	uint8_t pd[IW_XFER_PD_MAX];

	iw_hello_reject(&answer, code, why->text);
	iw_report_rejected(&h->report, peer, why);
	iw_reject(req, pd, iw_hello_encode(pd, &answer));
}

/* Checks the limits of the hub as a whole. */
static int find_place(struct hub *h, const struct iw_hello *request, struct iw_fault *why)
{
	size_t conns = h->nsessions - h->nwaiting + (h->manager ? iw_manager_peers(h->manager) : 0);

	if (h->stopping)
		return iw_xfer_fault(why, IW_E_REJECTED, "this listener is shutting down");
	if (h->digest_required && request->digest == IW_XFER_NONE)
		return iw_xfer_fault(why, IW_E_REJECTED,
				     "this listener requires a digest (--require-digest): use "
				     "--digest xxh3 or sha256");
	if (h->cfg->once &&
	    (h->over || (h->taken && memcmp(h->taken->id, request->id, sizeof(request->id)) != 0 &&
			 !iw_group_is_stalled(h->taken))))
		return iw_xfer_fault(
			why, IW_E_REJECTED,
			"this listener accepts one transfer (--once, or ddp-recv -), which has begun");
	if (h->max_conns && conns >= h->max_conns) {
		iw_hub_end_idlest(h);
		return iw_xfer_fault(
			why, IW_E_REJECTED,
			"all of the listener's connections are in use (--max-connections %U): try again later",
			h->max_conns);
	}
	return 0;
}

/*
 * Sets s->holder. IW_E_LIMIT: too many connections from that address, or --max-memory is too small
 * or used up. IW_E_NOMEM: no memory.
 */
static int find_share(struct hub *h, struct session *s, const char *peer, struct iw_fault *why)
{
	if (h->cfg->memory && h->cfg->memory < IW_TRANSFER_MEMORY)
		return iw_xfer_fault(
			why, IW_E_LIMIT,
			"this listener's --max-memory (%U octets) is too small: a transfer needs 4M",
			h->cfg->memory);
	s->holder = iw_budget_join(&h->budget, peer);
	if (!s->holder)
		return iw_fail(why, IW_E_NOMEM, "no memory for a connection");
	s->holder->conns++;
	if (iw_budget_crowds(s->holder, h->max_conns))
		return iw_xfer_fault(
			why, IW_E_LIMIT,
			"this listener accepts at most %U connections from one address",
			(uint64_t)s->holder->conns - 1);
	if (!iw_session_may_take(s, SESSION_BASE))
		return iw_xfer_fault(
			why, IW_E_LIMIT,
			"this listener's memory for peers (--max-memory %U) is used up: try again later",
			h->budget.limit);
	return 0;
}

static void make_way(struct hub *h, const struct group *g, uint32_t conn)
{
	for (struct iw_list *l = h->sessions.next, *next; l != &h->sessions; l = next) {
		struct session *s = iw_container_of(l, struct session, all);

		next = l->next;
		/*
		 * This side may not have noticed that the old connection is lost. The new one needs
		 * the files that it holds.
		 */
		if (s->group == g && s->x && s->peer.conn == conn && s->phase != PH_GONE)
			iw_session_drop(s, "the peer has set the connection up again");
	}
}

/* Ends the sessions of g that waited for a new connection, which has arrived. */
static void end_wait(struct hub *h, const struct group *g)
{
	for (struct iw_list *l = h->sessions.next, *next; h->nwaiting > 0 && l != &h->sessions;
	     l = next) {
		struct session *s = iw_container_of(l, struct session, all);

		next = l->next;
		if (s->group == g && s->phase == PH_WAITING)
			iw_group_remove(s);
	}
}

/* Checks a request that replaces a lost connection: its transfer must be known. */
static int find_again(struct hub *h, const struct iw_hello *request, struct iw_fault *why)
{
	const struct group *g = iw_group_find(h, request->id, false);

	if (!g)
		return iw_xfer_fault(
			why, IW_E_REJECTED,
			"the listener no longer knows this transfer, for example after a restart: run the command again to resume");
	if (request->conn > 0)
		make_way(h, g, request->conn);
	return 0;
}

void iw_hub_request(struct hub *h, struct iw_conn_req *req)
{
	struct iw_hello request, answer;
	struct iw_req_info info;
	struct session *s = NULL;
	char peer[64];
	struct iw_fault why;

	iw_req_info(req, &info);
	snprintf(peer, sizeof(peer), "%s", info.peer);
	if (h->manager && iw_claim_is(info.private_data, info.private_data_len)) {
		int err = iw_manager_claim(h->manager, req, &why);

		if (err != 0 && err != IW_E_LIMIT)
			iw_report_rejected(&h->report, peer, &why);
		return;
	}
	if (iw_hello_decode(&request, info.private_data, info.private_data_len, &why) != 0) {
		reject(h, req, peer, IW_XFER_CODE_PROTOCOL, &why);
		return;
	}
	if (iw_hello_answer(&answer, &request, h->cfg->role, iw_digests_built(), &why) != 0) {
		reject(h, req, peer, (enum iw_xfer_code)answer.code, &why);
		return;
	}
	if ((request.again && find_again(h, &request, &why) != 0) ||
	    find_place(h, &request, &why) != 0) {
		reject(h, req, peer, IW_XFER_CODE_REFUSED, &why);
		return;
	}
	if (iw_session_new(&s, h, iw_group_get(h, request.id, false), false, &why) != 0) {
		reject(h, req, peer, IW_XFER_CODE_LIMIT, &why);
		return;
	}
	if (find_share(h, s, peer, &why) != 0) {
		reject(h, req, peer, IW_XFER_CODE_LIMIT, &why);
		iw_group_remove(s);
		return;
	}
	snprintf(s->peer_text, sizeof(s->peer_text), "%s", peer);
	if (iw_session_accept(s, req, &request, &why) != 0) {
		iw_log_warn("%s: %s", peer, why.text);
		iw_group_remove(s);
		return;
	}
	end_wait(h, s->group);
	s->group->redials += request.again;
}
