// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A listener in the loop. */
#include "loop/loop.h"

#include <string.h>
#include <sys/epoll.h>

#include "loop/internal.h"
#include "os/os.h"
#include "util/text.h"

/* Where nothing can be accepted a listener stays readable: how long it is not looked at. */
#define REST_NS IW_MSEC(100)

static void set_watched(struct iw_gate *g, bool on)
{
	struct iw_fault why;

	if (on == g->watched)
		return;
	if (!on) {
		iw_loop_unwatch(g->loop, g->llp->fd);
		g->watched = false;
	} else if (iw_loop_watch(g->loop, g->llp->fd, EPOLLIN, &g->watch, true, &why) == 0) {
		g->watched = true;
	} else {
		/* The system is out of memory for it: later. */
		iw_loop_set_timer(g->loop, &g->watch, iw_os_now() + REST_NS);
	}
}

void iw_gate_ready(struct iw_gate *g)
{
	iw_loop_note(&g->loop->gate_news, &g->news);
}

void iw_gate_timer(struct iw_gate *g)
{
	iw_loop_set_timer(g->loop, &g->watch, FAR_AWAY);
	set_watched(g, true);
}

void iw_gate_rest(struct iw_gate *g)
{
	/* What a port's gate has too much of is refused, not left waiting. */
	if (g->dock)
		return;
	set_watched(g, false);
	iw_loop_set_timer(g->loop, &g->watch, iw_os_now() + REST_NS);
}

int iw_gate_new(struct iw_gate **out, struct iw_loop *l, struct iw_llp *llp, void *owner,
		struct iw_fault *why)
{
	struct iw_gate *g = iw_mem_alloc(l->mem, sizeof(*g));
	int err;

	if (!g) {
		llp->ops->close(llp, true);
		return iw_fail(why, IW_E_NOMEM, "loop: no memory for a listener");
	}
	g->watch.kind = WATCH_GATE;
	g->loop = l;
	g->llp = llp;
	g->owner = owner;
	iw_list_init(&g->news);
	iw_list_init(&g->asked);
	l->gates++;
	err = iw_loop_add_timer(l, &g->watch, FAR_AWAY, why);
	if (!err)
		err = iw_loop_watch(l, llp->fd, EPOLLIN, &g->watch, true, why);
	if (err) {
		iw_gate_free(g);
		return err;
	}
	g->watched = true;
	*out = g;
	return 0;
}

int iw_gate_new_port(struct iw_gate **out, struct iw_loop *l, struct iw_port *port,
		     const struct iw_sctpmap_cfg *cfg, void *owner, struct iw_fault *why)
{
	struct iw_gate *g = iw_mem_alloc(l->mem, sizeof(*g));
	int err;

	if (!g) {
		port->ops->close(port);
		return iw_fail(why, IW_E_NOMEM, "loop: no memory for a listener");
	}
	g->watch.kind = WATCH_GATE;
	g->loop = l;
	g->owner = owner;
	g->map_cfg = *cfg;
	g->face = (struct iw_llp){
		.ops = iw_llp_find(port->ops->name),
		.fd = -1,
		.local_port = port->local_port,
		.local_udp_port = port->local_udp_port,
	};
	memcpy(g->face.local, port->local, sizeof(g->face.local));
	g->llp = &g->face;
	iw_list_init(&g->news);
	iw_list_init(&g->asked);
	err = iw_dock_new(&g->dock, l, port, cfg->unused_ns, why);
	if (err) {
		iw_mem_free(l->mem, g, sizeof(*g));
		return err;
	}
	g->dock->gate = g;
	l->gates++;
	*out = g;
	return 0;
}

/* Connections that were accepted keep the port; sessions that nobody has taken on are refused. */
static void leave_dock(struct iw_gate *g)
{
	struct iw_trunk *t;
	struct iw_dss *s;

	while (iw_gate_next_session(g, &t, &s))
		iw_dss_release(s);
	iw_dock_close_gate(g->dock);
}

size_t iw_gate_memory(const struct iw_gate *g)
{
	return g->dock ? iw_dock_memory(g->dock) : 0;
}

void iw_gate_limit_unused(struct iw_gate *g, size_t octets)
{
	if (g->dock)
		iw_dock_limit_unused(g->dock, octets);
}

void iw_gate_free(struct iw_gate *g)
{
	if (!g)
		return;
	if (g->dock)
		leave_dock(g);
	else
		g->llp->ops->close(g->llp, true);
	if (!g->dock)
		iw_heap_del(&g->loop->timers, &g->watch.timer);
	iw_list_del(&g->news);
	g->loop->gates--;
	iw_mem_free(g->loop->mem, g, sizeof(*g));
}

int iw_gate_accept(struct iw_gate *g, struct iw_llp **out, struct iw_fault *why)
{
	int err = g->llp->ops->accept(g->llp, out, why);

	if (err == IW_E_LIMIT)
		iw_gate_rest(g);
	return err;
}

void iw_gate_go_on(struct iw_gate *g)
{
	if (!g->dock)
		iw_gate_timer(g);
}

void *iw_gate_owner(const struct iw_gate *g)
{
	return g->owner;
}

const struct iw_llp *iw_gate_llp(const struct iw_gate *g)
{
	return g->llp;
}
