// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Ports of the user-space SCTP engine: an endpoint (lib/sctp) on a packet carrier (lib/pkt). A
 * listener has one socket for all its associations. Each outgoing association has its own socket.
 */
#include "llp/port.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "llp/internal.h"
#include "llp/sctp_engine.h"
#include "os/os.h"
#include "os/sock.h"
#include "util/num.h"
#include "util/text.h"

#define ASSOCS_MAX 65536 /* associations of one listener */
#define RWND_MIN   65536 /* octets: limits of the receive window */
#define RWND_MAX   (4 * 1024 * 1024)
/*
 * BURST: packets that one call sends with segmentation offload. The peer acknowledges all of them
 * at once, so L lets cwnd grow by more than one PMDCS for that SACK (RFC 9260 7.2.1).
 */
#define BURST      44
#define ABC_L      8

/* --- open ------------------------------------------------------------------------------------- */

static int engine_random(void *ctx, void *buf, size_t len)
{
	(void)ctx;
	return iw_os_random(buf, len);
}

/* Prints the addresses on which a listener receives: one, all ("*"), or all of an interface. */
static void place_of(struct iw_text *out, const struct iw_addr *bind, const char *interface)
{
	char text[IW_ADDR_TEXT];

	if (bind->len > 0 && !iw_addr_is_any(bind))
		iw_text_fmt(out, "%s", iw_addr_host(text, bind));
	else if (interface)
		iw_text_fmt(out, "*%%%s", interface);
	else
		iw_text_fmt(out, "*");
}

/*
 * Reserves an SCTP port for a carrier on IP, where the kernel assigns none. Sets *port if it is 0.
 * Initiators of one machine thus never share a port. Listeners on different addresses may share
 * one. On the same address, each would abort the associations of the other one (RFC 9260 8.4).
 */
static int reserve_port(struct user_port *u, uint16_t *port, const struct iw_pkt_cfg *pc,
			struct iw_fault *why)
{
	bool listens = *port != 0;
	char place[IW_ADDR_TEXT + IF_NAMESIZE];
	struct iw_text text;
	int err = iw_sock_reserve_sctp_port(&u->reserved, port, why);

	if (!listens || (err && err != IW_E_BUSY))
		return err;
	/* The UDP port keeps listeners apart. */
	if (pc->udp)
		return 0;
	iw_text_init(&text, place, sizeof(place));
	place_of(&text, &pc->bind, pc->interface);
	if (!err || strcmp(place, "*") != 0)
		err = iw_sock_reserve_sctp_place(&u->place, *port, place, why);
	if (err == IW_E_BUSY)
		(void)iw_fail(
			why, err,
			"listen on %s port %u (-t %s): another listener has this SCTP port: stop it, or give another port with -p",
			place, (uint32_t)*port, u->port.ops->name);
	return err;
}

static int open_engine(struct user_port *u, const struct iw_port_cfg *cfg, uint16_t port,
		       struct iw_fault *why)
{
	size_t rwnd = u->pkt->rcvbuf / 2;
	struct iw_sctp_cfg sc = {
		.mem = &iw_os_heap,
		.random = engine_random,
		.port = port,
		.listen = cfg->llp.listen,
		.streams = cfg->llp.streams,
		.adaptation = cfg->adaptation,
		/* lib/sctpmap checks the peer's indication and reports a mismatch. */
		.adaptation_required = false,
		.rwnd = (uint32_t)IW_MIN(IW_MAX(rwnd, (size_t)RWND_MIN), (size_t)RWND_MAX),
		/* On an interface with a smaller MTU, packets of this size are fragmented by IP. */
		.mtu = IW_MAX(u->pkt->mtu, (uint32_t)IW_SCTP_MTU_MIN),
		.dtls_overhead = u->pkt->overhead,
		.assocs_max = cfg->llp.listen ? ASSOCS_MAX : 1,
		.burst = BURST,
		.abc_l = ABC_L,
		.tracer = cfg->tracer,
	};
	int err = iw_port_pick_cc(&sc.cc, cfg->llp.cc, why);

	u->port.window = sc.rwnd;
	return err ? err : iw_sctp_new(&u->sctp, &sc, why);
}

/*
 * Sets *out to the address to bind to: the listener's own, or the initiator's source. len 0: any.
 */
static int bind_address(struct iw_addr *out, const struct iw_llp_cfg *cfg, struct iw_fault *why)
{
	const char *host = cfg->bind_addr ? cfg->bind_addr : cfg->host;
	struct iw_addr all[ADDR_MAX];
	size_t n;
	int err;

	memset(out, 0, sizeof(*out));
	if (!cfg->listen && !cfg->bind_addr)
		return 0;
	if (host && strcmp(host, "*") == 0)
		return 0;
	err = iw_addr_resolve(all, ADDR_MAX, &n, host, 0, why);
	if (!err)
		*out = all[0];
	return err;
}

static int user_open(struct iw_port **out, const struct iw_port_cfg *cfg,
		     const struct iw_port_ops *ops, const struct iw_pkt_ops *carrier,
		     struct iw_fault *why)
{
	struct user_port *u = calloc(1, sizeof(*u));
	char text[IW_ADDR_TEXT];
	uint16_t port = cfg->llp.listen ? cfg->llp.port : 0;
	struct iw_pkt_cfg pc = {
		.interface = cfg->llp.interface,
		.udp = carrier != &iw_pkt_raw_ops &&
		       (cfg->llp.udp_port != 0 || cfg->llp.any_udp_port),
		.udp_port = cfg->llp.listen && !cfg->llp.any_udp_port ? cfg->llp.udp_port : 0,
		.sndbuf = cfg->llp.sndbuf,
		.rcvbuf = cfg->llp.rcvbuf,
		.xdp = cfg->llp.xdp,
		.ppid_segment = cfg->ppid_segment,
		.ppid_control = cfg->ppid_control,
		.tls = cfg->llp.tls,
		.tls_name = cfg->llp.tls_name,
	};
	int err;

	if (!u)
		return iw_fail(why, IW_E_NOMEM, "%s: no memory", ops->name);
	u->port.ops = ops;
	u->port.fd = u->reserved = u->place = -1;
	u->udp_port = cfg->llp.udp_port;
	u->adaptation = cfg->adaptation;
	err = bind_address(&pc.bind, &cfg->llp, why);
	if (!err && !cfg->llp.listen)
		err = iw_addr_resolve(u->target, ADDR_MAX, &u->ntargets, cfg->llp.host,
				      cfg->llp.port, why);
	if (!err && carrier != &iw_pkt_udp_ops)
		err = reserve_port(u, &port, &pc, why);
	pc.sctp_port = port;
	u->bind = pc.bind;
	if (cfg->llp.interface)
		snprintf(u->interface, sizeof(u->interface), "%s", cfg->llp.interface);
	if (u->ntargets > 0)
		pc.peer = u->target[0];
	if (!err)
		err = carrier->open(&u->pkt, &pc, why);
	if (!err && cfg->llp.listen)
		err = iw_sock_check_interface(&pc.bind, cfg->llp.interface, why);
	/*
	 * In UDP: the kernel assigns UDP ports, so no other initiator of this machine has this one.
	 */
	if (!err && port == 0)
		port = u->pkt->udp_port;
	if (!err)
		err = open_engine(u, cfg, port, why);
	if (err) {
		ops->close(&u->port);
		return err;
	}
	u->port.fd = u->pkt->fd;
	u->port.waits = u->pkt->ops->recv_wait != NULL;
	u->port.loans = u->pkt->loans;
	u->port.local_port = port;
	u->port.local_udp_port = u->pkt->udp_port;
	if (pc.bind.len == 0) {
		pc.bind.in = (struct sockaddr_in){ .sin_family = AF_INET };
		pc.bind.len = sizeof(pc.bind.in);
	}
	iw_addr_set_port(&pc.bind, port);
	snprintf(u->port.local, sizeof(u->port.local), "%s", iw_addr_format(text, &pc.bind));
	*out = &u->port;
	return 0;
}

static void user_close(struct iw_port *p)
{
	struct user_port *u = port_of(p);

	iw_sctp_free(u->sctp);
	if (u->pkt)
		u->pkt->ops->close(u->pkt);
	if (u->reserved >= 0)
		close(u->reserved);
	if (u->place >= 0)
		close(u->place);
	free(u);
}

/* --- memory that is sent without a copy ------------------------------------------------------- */

int iw_port_memory_new(struct iw_xdp_memory **out, const struct iw_llp_cfg *cfg, size_t len,
		       struct iw_fault *why)
{
	const struct iw_pkt_cfg pc = { .interface = cfg->interface, .xdp = cfg->xdp };

	return iw_pkt_memory_new(out, &pc, len, why);
}

void *iw_port_memory_addr(struct iw_xdp_memory *m)
{
	return iw_pkt_memory_addr(m);
}

void iw_port_memory_free(struct iw_xdp_memory *m)
{
	iw_pkt_memory_free(m);
}

/* --- the ports -------------------------------------------------------------------------------- */

static void user_stag(struct iw_port *p, uint32_t stag, uint32_t pd, uint32_t stream,
		      uint64_t expires)
{
	struct iw_pkt *c = port_of(p)->pkt;

	c->ops->stag(c, stag, pd, stream, expires);
}

static void user_session(struct iw_assoc *a, uint16_t number, uint32_t pd, uint32_t stream)
{
	struct iw_pkt *c = port_of(a->port)->pkt;

	c->ops->session(c, assoc_of(a)->tag, number, pd, stream);
}

/*
 * The operations of one carrier. Carriers differ in name and packet operations. Only "xdp" checks
 * STags and sessions, and can be polled without a system call.
 */
#define USER_PORT(carrier, on_stag, on_session, on_peek, on_rest)                                  \
	static int carrier##_open(struct iw_port **out, const struct iw_port_cfg *cfg,             \
				  struct iw_fault *why)                                            \
	{                                                                                          \
		return user_open(out, cfg, &iw_port_##carrier##_ops, &iw_pkt_##carrier##_ops,      \
				 why);                                                             \
	}                                                                                          \
                                                                                                   \
	static int carrier##_available(struct iw_fault *why)                                       \
	{                                                                                          \
		return iw_pkt_##carrier##_ops.available(why);                                      \
	}                                                                                          \
                                                                                                   \
	const struct iw_port_ops iw_port_##carrier##_ops = {                                       \
		.name = #carrier,                                                                  \
		.available = carrier##_available,                                                  \
		.open = carrier##_open,                                                            \
		.connect = iw_port_user_connect,                                                   \
		.no_answer = iw_port_user_no_answer,                                               \
		.input = iw_port_user_input,                                                       \
		.input_wait = iw_port_user_input_wait,                                             \
		.next_msg = iw_port_user_next_msg,                                                 \
		.lend = iw_port_user_lend,                                                         \
		.next_event = iw_port_user_next_event,                                             \
		.send = iw_port_user_send,                                                         \
		.release_memory = iw_port_user_release_memory,                                     \
		.held = iw_port_user_held,                                                         \
		.peek = on_peek,                                                                   \
		.rest = on_rest,                                                                   \
		.stag = on_stag,                                                                   \
		.session = on_session,                                                             \
		.output = iw_port_user_output,                                                     \
		.deadline = iw_port_user_deadline,                                                 \
		.timeout = iw_port_user_timeout,                                                   \
		.shutdown = iw_port_user_shutdown,                                                 \
		.abort = iw_port_user_abort,                                                       \
		.release = iw_port_user_release,                                                   \
		.facts = iw_port_user_facts,                                                       \
		.set_cc = iw_port_user_set_cc,                                                     \
		.paths = iw_port_user_paths,                                                       \
		.tls = iw_port_user_tls,                                                           \
		.close = user_close,                                                               \
	}

USER_PORT(udp, NULL, NULL, NULL, NULL);
USER_PORT(raw, NULL, NULL, NULL, NULL);
USER_PORT(xdp, user_stag, user_session, iw_port_user_peek, iw_port_user_rest);
