// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A set-up that failed: the likely cause, from the answer of the peer, ICMP or silence, and what to
 * check at both ends.
 */
#include "llp/sctp_engine.h"

#include <stdio.h>
#include <string.h>

#include "os/sock.h"
#include "tls/tls.h"
#include "util/text.h"
#include "wire/sctp.h"

int iw_port_check_route(const struct user_port *u, const struct iw_addr *t, struct iw_fault *why)
{
	const struct iw_sock_cfg way = {
		.bind = u->bind.len > 0 && !iw_addr_is_any(&u->bind) ? &u->bind : NULL,
		.interface = u->interface[0] ? u->interface : NULL,
	};

	return iw_sock_check_route(t, &way, why);
}

/*
 * True if no text names the cause: ICMP answered, or an ABORT without a cause, as RFC 9260 8.4
 * prescribes for an INIT to a port where nothing listens.
 */
static bool is_silent(const struct iw_fault *why)
{
	return !why->from_peer || !strstr(why->text, "association:");
}

/* Returns ", UDP port 9899" with the port of u, or "" if it is not in UDP. */
static const char *udp_text(char buf[static 32], const struct user_port *u)
{
	buf[0] = '\0';
	if (u->pkt->udp_port)
		snprintf(buf, 32, ", UDP port %u", (unsigned)u->udp_port);
	return buf;
}

/* Names the cause if an ABORT without a cause, or ICMP, has answered the set-up. */
static void name_wrong_port(struct iw_fault *named, const struct iw_fault *why, const char *peer,
			    const struct user_port *u)
{
	const struct iw_addr *t = &u->target[u->next_target - 1];
	const char *colon = strrchr(peer, ':');
	char udp[32];

	if (why->from_peer)
		iw_fail(named, why->err,
			"connect to %s%s: SCTP answers there, but nothing listens on SCTP port %s: give the listener's port with -p",
			peer, udp_text(udp, u), colon ? colon + 1 : "");
	else if (!u->pkt->udp_port)
		iw_fail(named, why->err,
			"connect to %s: %s; is a listener with -t sctp, raw or xdp%s running there?",
			peer, why->text, iw_sock_bind_hint(t));
	else
		iw_fail(named, why->err,
			"connect to %s%s: unreachable; is a listener with -t udp%s running there, and does it have --udp-port %u%s?",
			peer, udp_text(udp, u), iw_sock_bind_hint(t), (uint32_t)u->udp_port,
			u->udp_port == IW_SCTP_UDP_PORT ? " (the default)" : "");
}

/*
 * Names the cause if the peer has aborted the set-up. If its INIT ACK had another Adaptation Layer
 * Indication, that is the cause.
 */
static void name_abort(struct iw_fault *named, const struct iw_fault *why,
		       const struct user_port *u, const struct user_assoc *x)
{
	struct iw_sctp_facts f;
	char udp[32];

	iw_sctp_facts(x->a, &f);
	if (f.peer_has_adaptation && f.peer_adaptation != u->adaptation)
		iw_fail(named, IW_E_DSS_NODDP,
			"connect to %s%s: the peer aborted the association: its adaptation indication is %x, this end has %x; use the same --profile at both ends",
			x->assoc.peer, udp_text(udp, u), f.peer_adaptation, u->adaptation);
	else
		iw_fail(named, why->err, "connect to %s%s: %s", x->assoc.peer, udp_text(udp, u),
			why->text);
}

/* Names what to check if x got no answer. what: the missing answer, and the time waited. */
static void name_silence(struct iw_fault *named, const struct user_port *u,
			 const struct user_assoc *x, const char *what)
{
	const struct iw_addr *t = &u->target[u->next_target - 1];
	char udp[32], hint[IW_SOCK_HINT];
	struct iw_fault route = { 0 };

	udp_text(udp, u);
	if (iw_port_check_route(u, t, &route) != 0)
		iw_fail(named, IW_E_TIMEOUT, "%s", route.text);
	else if (iw_sock_why_silent(hint, t, u->interface[0] ? u->interface : NULL))
		iw_fail(named, IW_E_TIMEOUT, "connect to %s%s: %s; %s", x->assoc.peer, udp, what,
			hint);
	else
		iw_fail(named, IW_E_TIMEOUT,
			"connect to %s%s: %s; is the address right, is a listener with -t %s%s%s there, %sand does a firewall let %s through?",
			x->assoc.peer, udp, what, u->pkt->udp_port ? "udp" : "sctp, raw or xdp",
			u->pkt->overhead ? " and encryption (--tls)" : "", iw_sock_bind_hint(t),
			/* A listener with DTLS does not answer a plain INIT. */
			u->pkt->udp_port && !u->pkt->overhead ? "does it use --tls, " : "",
			u->pkt->udp_port ? "UDP" : "SCTP");
}

void iw_port_user_no_answer(struct iw_assoc *a, uint64_t waited, struct iw_fault *why)
{
	struct iw_tls_info info;
	struct iw_text text;
	char what[64];
	bool waits_for_dtls = port_of(a->port)->pkt->overhead > 0 && !iw_port_user_tls(a, &info);

	iw_text_init(&text, what, sizeof(what));
	iw_text_fmt(&text, "no answer to the %s within %t (-t %s)",
		    waits_for_dtls ? "DTLS ClientHello" : "INIT", waited, a->port->ops->name);
	name_silence(why, port_of(a->port), assoc_of(a), what);
}

void iw_port_name_carrier(const struct user_port *u, struct user_assoc *x)
{
	const struct iw_fault *why = &u->pkt->failed;
	char udp[32];

	x->assoc.why = *why;
	iw_fail(&x->assoc.why, why->err, "%s %s%s: DTLS: %s",
		x->assoc.up ? "connection to" : "connect to", x->assoc.peer, udp_text(udp, u),
		why->text);
}

void iw_port_name_peer(const struct user_port *u, struct user_assoc *x)
{
	struct iw_fault *why = &x->assoc.why;
	struct iw_fault named = { 0 };

	if (x->assoc.up || !x->assoc.peer[0] || u->next_target == 0 ||
	    (why->err != IW_E_TIMEOUT && why->err != IW_E_CLOSED))
		return;
	if (why->err == IW_E_TIMEOUT)
		name_silence(&named, u, x, why->text);
	else if (is_silent(why))
		name_wrong_port(&named, why, x->assoc.peer, u);
	else
		name_abort(&named, why, u, x);
	if (named.err != why->err) {
		why->err = named.err;
		why->clause = named.clause;
	}
	memcpy(why->text, named.text, sizeof(why->text));
}
