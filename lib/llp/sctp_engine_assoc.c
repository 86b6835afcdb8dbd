// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Associations of an engine's port: set-up, events, facts, end. */
#include "llp/sctp_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/sock.h"
#include "sctp/cc.h"
#include "util/text.h"

int iw_port_pick_cc(const struct iw_sctp_cc_ops **out, const char *name, struct iw_fault *why)
{
	*out = iw_sctp_cc_find(name ? name : "auto");
	if (!*out)
		return iw_fail(why, IW_E_NOTSUP,
			       "congestion control %s: expected auto, bbr, cubic or rfc9260"
			       " for this SCTP",
			       name);
	return 0;
}

/*
 * Reports the association to a carrier that checks packets before this process reads them. Returns
 * the local Verification Tag.
 */
static uint32_t notify_carrier(struct user_port *u, const struct iw_sctp_assoc *a, bool up)
{
	struct iw_sctp_facts f;

	iw_sctp_facts(a, &f);
	if (u->pkt->ops->assoc)
		u->pkt->ops->assoc(u->pkt, f.tag, up);
	return f.tag;
}

/* Frees the engine's association. Nothing more is reported about it. */
static void free_engines(struct user_port *u, struct iw_sctp_assoc *a)
{
	if (u->stashed && u->stash.assoc == a)
		u->stashed = false;
	(void)notify_carrier(u, a, false);
	iw_sctp_assoc_free(a);
}

static struct user_assoc *assoc_new(struct user_port *u)
{
	struct user_assoc *x = calloc(1, sizeof(*x));

	if (x)
		x->assoc.port = &u->port;
	return x;
}

/* Sends an INIT to the next address of the host that has a route. */
static int connect_next(struct user_port *u, struct user_assoc *x, uint64_t now,
			struct iw_fault *why)
{
	int err = iw_fail(why, IW_E_NOENT, "connect: no address");

	while (u->next_target < u->ntargets) {
		const struct iw_addr *t = &u->target[u->next_target++];
		struct iw_sctp_addr peer;
		char text[IW_ADDR_TEXT];

		iw_port_to_engine(&peer, t, false);
		if (u->pkt->udp_port)
			peer.udp_port = u->udp_port;
		snprintf(x->assoc.peer, sizeof(x->assoc.peer), "%s", iw_addr_format(text, t));
		err = iw_port_check_route(u, t, why);
		if (err)
			continue;
		err = iw_sctp_connect(u->sctp, &x->a, &peer, iw_addr_port(t), x, now);
		if (err == 0)
			return 0;
		iw_fail(why, err, "connect to %s: %s", text, iw_err_text(err));
	}
	return err;
}

int iw_port_user_connect(struct iw_port *p, struct iw_assoc **out, uint64_t now,
			 struct iw_fault *why)
{
	struct user_port *u = port_of(p);
	struct user_assoc *x = assoc_new(u);
	int err;

	if (!x)
		return iw_fail(why, IW_E_NOMEM, "%s: no memory", p->ops->name);
	x->connecting = true;
	err = connect_next(u, x, now, why);
	if (err) {
		free(x);
		return err;
	}
	u->only = x;
	*out = &x->assoc;
	return 0;
}

void iw_port_user_release(struct iw_assoc *a)
{
	struct user_assoc *x = assoc_of(a);
	struct user_port *u = port_of(a->port);

	if (u->done == x)
		u->done = NULL;
	if (u->only == x)
		u->only = NULL;
	if (x->a)
		free_engines(u, x->a);
	free(x);
}

void iw_port_user_shutdown(struct iw_assoc *a, uint64_t now)
{
	if (assoc_of(a)->a)
		iw_sctp_shutdown(assoc_of(a)->a, advance(port_of(a->port), now));
}

void iw_port_user_facts(struct iw_assoc *a, struct iw_llp_facts *out)
{
	struct iw_sctp_facts f;

	if (!assoc_of(a)->a)
		return;
	iw_sctp_facts(assoc_of(a)->a, &f);
	out->retransmits = f.resent;
	out->acked = f.acked_octets;
	out->xdp_mode = port_of(a->port)->pkt->xdp_mode;
	out->in_place = port_of(a->port)->pkt->in_place;
	out->memory = f.memory;
	snprintf(out->cc, sizeof(out->cc), "%s", f.cc);
}

int iw_port_user_set_cc(struct iw_assoc *a, const char *name, struct iw_fault *why)
{
	const struct iw_sctp_cc_ops *cc;
	int err = iw_port_pick_cc(&cc, name, why);

	if (!err && assoc_of(a)->a)
		iw_sctp_set_cc(assoc_of(a)->a, cc);
	return err;
}

unsigned iw_port_user_paths(struct iw_assoc *a, struct iw_assoc_path *out, unsigned cap)
{
	struct user_assoc *x = assoc_of(a);
	struct iw_sctp_facts f;
	struct iw_sctp_path p;
	struct iw_addr addr;
	char text[IW_ADDR_TEXT];
	unsigned n = 0;

	if (!x->a)
		return 0;
	iw_sctp_facts(x->a, &f);
	while (n < f.paths && n < cap && iw_sctp_path(x->a, n, &p) == 0) {
		out[n] = (struct iw_assoc_path){
			.active = p.confirmed && p.state == IW_SCTP_PATH_ACTIVE,
			.primary = n == f.primary,
			.mtu = p.mtu,
			.srtt_ns = p.srtt,
		};
		iw_port_from_engine(&addr, &p.addr, f.peer_port);
		if (addr.len)
			snprintf(out[n].addr, sizeof(out[n].addr), "%s",
				 iw_addr_format(text, &addr));
		n++;
	}
	return n;
}

bool iw_port_user_tls(struct iw_assoc *a, struct iw_tls_info *out)
{
	struct user_assoc *x = assoc_of(a);
	struct iw_pkt *c = port_of(a->port)->pkt;
	struct iw_sctp_facts f;
	struct iw_sctp_path path;
	struct iw_addr peer;

	if (!x->a || !c->ops->tls_info)
		return false;
	iw_sctp_facts(x->a, &f);
	if (iw_sctp_path(x->a, f.primary, &path) != 0)
		return false;
	iw_port_from_engine(&peer, &path.addr, path.addr.udp_port);
	return c->ops->tls_info(c, &peer, out);
}

/* After UP: copies what is known of the peer and the association into x->assoc. */
static void note_peer(struct user_assoc *x)
{
	struct iw_sctp_facts f;
	struct iw_sctp_path path;
	struct iw_addr a;
	char text[IW_ADDR_TEXT];

	iw_sctp_facts(x->a, &f);
	x->assoc.indicated = f.peer_has_adaptation;
	x->assoc.adaptation = f.peer_adaptation;
	x->assoc.in = f.streams_in;
	x->assoc.out = f.streams_out;
	x->assoc.max_message = iw_sctp_max_message(x->a);
	if (iw_sctp_path(x->a, f.primary, &path) == 0) {
		memcpy(x->assoc.peer_ip, path.addr.ip, sizeof(x->assoc.peer_ip));
		iw_port_from_engine(&a, &path.addr, f.peer_port);
		if (a.len)
			snprintf(x->assoc.peer, sizeof(x->assoc.peer), "%s",
				 iw_addr_format(text, &a));
	}
	snprintf(x->assoc.local, sizeof(x->assoc.local), "%s", x->assoc.port->local);
}

/* Takes the next acknowledgements of the association u->done. False: there are no more. */
static bool next_acked(struct user_port *u, struct iw_assoc_event *ev)
{
	struct user_assoc *x = u->done;
	uint16_t stream = 0;
	uint32_t n = x && x->a ? iw_sctp_next_acked(x->a, &stream) : 0;

	if (n == 0)
		u->done = NULL;
	else
		*ev = (struct iw_assoc_event){ IW_ASSOC_ACKED, &x->assoc, stream, n };
	return n > 0;
}

/* Tries the next address of the host. False: x was established before, or no address is left. */
static bool try_next(struct user_port *u, struct user_assoc *x)
{
	struct iw_fault why;

	if (!x->connecting || u->next_target == u->ntargets)
		return false;
	free_engines(u, x->a);
	x->a = NULL;
	return connect_next(u, x, u->now, &why) == 0;
}

/*
 * The engine's association has ended. Returns false if another address is tried, or if the caller
 * has no pointer to x.
 */
static bool went_down(struct user_port *u, struct user_assoc *x, struct iw_assoc_event *ev)
{
	struct iw_sctp_done d;

	x->assoc.why = *iw_sctp_why(x->a);
	iw_port_name_peer(u, x);
	while (iw_sctp_next_done(x->a, &d))
		continue;
	if (try_next(u, x))
		return false;
	if (x->a)
		free_engines(u, x->a);
	x->a = NULL;
	x->assoc.up = false;
	*ev = (struct iw_assoc_event){ .what = IW_ASSOC_DOWN, .assoc = &x->assoc };
	/* The caller does not know the association. */
	if (!x->assoc.user) {
		iw_port_user_release(&x->assoc);
		return false;
	}
	return true;
}

/* Makes *ev of an event of the engine. False: the event is not for the caller. */
static bool translate(struct user_port *u, const struct iw_sctp_event *e, struct iw_assoc_event *ev)
{
	struct user_assoc *x = iw_sctp_user(e->assoc);

	if (!x && e->kind == IW_SCTP_EV_UP) {
		x = assoc_new(u);
		if (!x) {
			iw_sctp_abort(e->assoc, "out of memory", u->now);
			return false;
		}
		x->a = e->assoc;
		iw_sctp_set_user(e->assoc, x);
	}
	if (!x) {
		if (e->kind == IW_SCTP_EV_DOWN)
			free_engines(u, e->assoc);
		return false;
	}
	*ev = (struct iw_assoc_event){ .assoc = &x->assoc };
	switch (e->kind) {
	case IW_SCTP_EV_UP:
		x->connecting = false;
		x->assoc.up = true;
		note_peer(x);
		x->tag = notify_carrier(u, x->a, true);
		ev->what = IW_ASSOC_UP;
		return true;
	case IW_SCTP_EV_MTU:
		x->assoc.max_message = iw_sctp_max_message(x->a);
		ev->what = IW_ASSOC_MTU;
		return true;
	case IW_SCTP_EV_ROOM:
		ev->what = IW_ASSOC_ROOM;
		return true;
	case IW_SCTP_EV_DONE:
		u->done = x;
		return next_acked(u, ev);
	case IW_SCTP_EV_DOWN:
		return went_down(u, x, ev);
	case IW_SCTP_EV_PATH:
	case IW_SCTP_EV_ENDING: /* DOWN follows */
		return false;
	}
	return false;
}

/* The carrier has failed: ends the association without a packet. Another address is not tried. */
static bool lose(struct user_port *u, struct iw_assoc_event *ev)
{
	struct user_assoc *x = u->only;

	if (!x || !x->a)
		return false;
	iw_port_name_carrier(u, x);
	free_engines(u, x->a);
	x->a = NULL;
	x->assoc.up = false;
	u->only = NULL;
	*ev = (struct iw_assoc_event){ .what = IW_ASSOC_DOWN, .assoc = &x->assoc };
	return true;
}

bool iw_port_user_next_event(struct iw_port *p, struct iw_assoc_event *out)
{
	struct user_port *u = port_of(p);
	struct iw_sctp_event e;

	if (iw_unlikely(u->pkt->failed.err) && lose(u, out))
		return true;
	if (u->done && next_acked(u, out))
		return true;
	while (iw_sctp_next_event(u->sctp, &e))
		if (translate(u, &e, out))
			return true;
	return false;
}
