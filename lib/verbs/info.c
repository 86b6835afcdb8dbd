// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Queries of a queue pair: state, counters, association, memory. */
#include "verbs/internal.h"

#include <string.h>

#include "verbs/wrap.h"

static enum iw_qp_state state_of(const struct iw_qp *qp)
{
	if (qp->ended)
		return IW_QP_CLOSED;
	if (!qp->conn)
		return IW_QP_NEW;
	switch (iw_conn_state(qp->conn)) {
	case IW_CONN_SETUP:
		return IW_QP_CONNECTING;
	case IW_CONN_OPEN:
		return IW_QP_ESTABLISHED;
	case IW_CONN_CLOSING:
	case IW_CONN_TERMINATING:
	case IW_CONN_FIN_SENT:
		return IW_QP_CLOSING;
	case IW_CONN_CLOSED:
		return IW_QP_CLOSED;
	}
	return IW_QP_CLOSED;
}

static void transport_facts(const struct iw_qp *qp, struct iw_qp_info *info)
{
	struct iw_llp_facts facts = qp->facts;
	struct iw_llp_ends ends = qp->ends;

	if (qp->loop_conn) {
		iw_loop_conn_ends(qp->loop_conn, &ends);
		iw_loop_conn_facts(qp->loop_conn, &facts);
	}
	_Static_assert(sizeof(info->local) == sizeof(ends.local), "addresses");
	memcpy(info->local, ends.local, sizeof(info->local));
	memcpy(info->peer, ends.peer, sizeof(info->peer));
	info->emss = ends.emss;
	info->tx_sends = ends.sends;
	info->rx_sends = ends.recvs;
	_Static_assert(sizeof(info->cc) == sizeof(facts.cc), "a name of congestion control");
	memcpy(info->cc, facts.cc, sizeof(info->cc));
	info->retransmits = facts.retransmits;
	info->tx_acked = facts.acked;
}

void iw_qp_info(const struct iw_qp *qp, struct iw_qp_info *info)
{
	struct iw_conn_payload moved;
	const struct iw_conn_counts *n;
	const struct iw_agreed *p;

	memset(info, 0, sizeof(*info));
	info->state = state_of(qp);
	transport_facts(qp, info);
	info->waits = iw_loop_waits(qp->ctx->loop);
	if (!qp->conn)
		return;
	p = iw_conn_agreed(qp->conn);
	n = iw_conn_counts(qp->conn);
	info->rev = p->rev;
	info->crc = p->crc;
	info->tx_markers = p->tx_markers;
	info->rx_markers = p->rx_markers;
	info->large_fpdus = p->peer_max_ulpdu > 0;
	info->ird = p->ird;
	info->ord = p->ord;
	info->peer_ird = p->peer_ird;
	info->peer_ord = p->peer_ord;
	info->rtr = iw_conn_rtr(qp->conn);
	info->mulpdu = (uint32_t)iw_conn_mulpdu(qp->conn);
	info->tx_octets = n->tx_octets;
	info->rx_octets = n->rx_octets;
	info->tx_fpdus = n->tx_fpdus;
	info->rx_fpdus = n->rx_fpdus;
	info->nudges = n->nudges;
	iw_conn_payload(qp->conn, &moved);
	info->tx_payload = moved.tx;
	info->rx_payload = moved.rx;
	info->rx_part = moved.rx_part;
	info->private_data = p->pd;
	info->private_data_len = p->pd_len;
}

static void take_paths(struct iw_assoc *a, struct iw_assoc_info *out)
{
	struct iw_assoc_path p[IW_ASSOC_PATHS];
	unsigned n = a->port->ops->paths(a, p, IW_ASSOC_PATHS);

	_Static_assert(sizeof(p->addr) == sizeof(out->path->addr), "addresses");
	out->npaths = n;
	for (unsigned i = 0; i < n; i++) {
		memcpy(out->path[i].addr, p[i].addr, sizeof(p[i].addr));
		out->path[i].active = p[i].active;
		out->path[i].primary = p[i].primary;
		out->path[i].mtu = p[i].mtu;
		out->path[i].srtt_ns = p[i].srtt_ns;
	}
}

int iw_qp_assoc(const struct iw_qp *qp, struct iw_assoc_info *info, struct iw_fault *why)
{
	struct iw_loop_assoc *t = qp->loop_conn ? iw_loop_conn_assoc(qp->loop_conn) : NULL;
	struct iw_assoc *a = t ? iw_loop_assoc_llp(t) : NULL;
	struct iw_dss *session = a ? iw_conn_session(qp->conn) : NULL;
	struct iw_assoc_info all = { .size = info->size };
	struct iw_llp_facts facts;

	if (info->size <= sizeof(info->size) || info->size > sizeof(all))
		return iw_fail(why, IW_E_INVAL,
			       "struct iw_assoc_info: its size is %U: set it to sizeof",
			       (uint64_t)info->size);
	if (!session)
		return iw_fail(why, IW_E_STATE, "the queue pair has no association that is up");
	iw_loop_conn_facts(qp->loop_conn, &facts);
	all.in = a->in;
	all.out = a->out;
	all.stream = iw_dss_stream(session);
	all.indicated = a->indicated;
	all.adaptation = a->adaptation;
	all.late = iw_dss_late(session);
	all.retransmits = facts.retransmits;
	all.in_place_octets = facts.in_place;
	all.xdp_mode = facts.xdp_mode;
	take_paths(a, &all);
	memcpy(info, &all, info->size);
	return 0;
}

void iw_verbs_tally(struct iw_tally *out, const struct iw_stag_tally *t)
{
	*out = (struct iw_tally){ .writes = t->writes,
				  .write_octets = t->write_octets,
				  .reads = t->reads,
				  .read_octets = t->read_octets };
}

size_t iw_qp_memory(const struct iw_qp *qp)
{
	const struct iw_dss *session = qp->conn ? iw_conn_session(qp->conn) : NULL;

	return sizeof(*qp) + qp->held + (session ? iw_dss_memory(session) : 0) +
	       (qp->loop_conn ? iw_loop_conn_memory(qp->loop_conn) : 0);
}

uint64_t iw_qp_rx_payload(const struct iw_qp *qp)
{
	return iw_rdmap_moved(qp->rdmap)->rx_payload;
}

void iw_qp_tally(const struct iw_qp *qp, struct iw_tally *out)
{
	iw_verbs_tally(out, iw_rdmap_tally(qp->rdmap));
}
