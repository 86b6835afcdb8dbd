// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Listeners in the loop: of a stream transport, which accept connections one by one; and on a port
 * of the session transport, whose associations carry requested sessions.
 */
#include "loop/loop.h"

#include <string.h>
#include <sys/epoll.h>

#include "loop/internal.h"
#include "os/os.h"
#include "util/text.h"

/* A listener from which nothing can be accepted stays readable: do not watch it for this long. */
#define REST_NS IW_MSEC(100)

struct listener_ops {
	void (*free)(struct iw_loop_listener *g);
	void (*ends)(struct iw_loop_listener *g, struct iw_llp_ends *out);
	/* NULL on a port. */
	void (*rest)(struct iw_loop_listener *g);
	void (*resume)(struct iw_loop_listener *g);
	/* NULL over a stream. */
	size_t (*memory)(struct iw_loop_listener *g);
	void (*limit_unused)(struct iw_loop_listener *g, size_t octets);
};

static void init(struct iw_loop_listener *g, const struct listener_ops *ops, struct iw_loop *l,
		 void *owner)
{
	g->ops = ops;
	g->loop = l;
	g->owner = owner;
	iw_list_init(&g->ready);
}

/* --- of a stream transport -------------------------------------------------------------------- */

struct stream_listener {
	struct iw_loop_listener base;
	struct watch watch;
	struct iw_stream *stream; /* owned */
	bool watched;
};

static struct stream_listener *stream_of(struct iw_loop_listener *g)
{
	return iw_container_of(g, struct stream_listener, base);
}

static void set_watched(struct stream_listener *s, bool on)
{
	struct iw_loop *l = s->base.loop;
	struct iw_fault why;

	if (on == s->watched)
		return;
	if (!on) {
		iw_loop_unwatch(l, s->stream->fd);
		s->watched = false;
	} else if (iw_loop_watch(l, s->stream->fd, EPOLLIN, &s->watch, true, &why) == 0) {
		s->watched = true;
	} else {
		/* The kernel has no memory to watch it: try again later. */
		iw_loop_set_timer(l, &s->watch, iw_os_now() + REST_NS);
	}
}

void iw_loop_listener_ready(struct watch *w)
{
	struct stream_listener *s = iw_container_of(w, struct stream_listener, watch);

	iw_loop_note(&s->base.loop->ready_listeners, &s->base.ready);
}

void iw_loop_listener_timer(struct watch *w)
{
	struct stream_listener *s = iw_container_of(w, struct stream_listener, watch);

	iw_loop_set_timer(s->base.loop, w, NO_DEADLINE);
	set_watched(s, true);
}

static void stream_rest(struct iw_loop_listener *g)
{
	struct stream_listener *s = stream_of(g);

	set_watched(s, false);
	iw_loop_set_timer(g->loop, &s->watch, iw_os_now() + REST_NS);
}

static void stream_resume(struct iw_loop_listener *g)
{
	iw_loop_listener_timer(&stream_of(g)->watch);
}

static void stream_ends(struct iw_loop_listener *g, struct iw_llp_ends *out)
{
	iw_stream_ends(stream_of(g)->stream, out);
}

static void stream_free(struct iw_loop_listener *g)
{
	struct stream_listener *s = stream_of(g);

	s->stream->ops->close(s->stream, true);
	iw_heap_del(&g->loop->timers, &s->watch.timer);
	iw_mem_free(g->loop->mem, s, sizeof(*s));
}

static const struct listener_ops stream_ops = {
	.free = stream_free,
	.ends = stream_ends,
	.rest = stream_rest,
	.resume = stream_resume,
};

int iw_loop_listener_new(struct iw_loop_listener **out, struct iw_loop *l, struct iw_stream *stream,
			 void *owner, struct iw_fault *why)
{
	struct stream_listener *s = iw_mem_alloc(l->mem, sizeof(*s));
	int err;

	if (!s) {
		stream->ops->close(stream, true);
		return iw_fail(why, IW_E_NOMEM, "loop: no memory for a listener");
	}
	init(&s->base, &stream_ops, l, owner);
	s->watch.kind = WATCH_LISTENER;
	s->stream = stream;
	err = iw_loop_add_timer(l, &s->watch, NO_DEADLINE, why);
	if (!err)
		err = iw_loop_watch(l, stream->fd, EPOLLIN, &s->watch, true, why);
	if (err) {
		iw_loop_listener_free(&s->base);
		return err;
	}
	s->watched = true;
	*out = &s->base;
	return 0;
}

int iw_loop_listener_accept(struct iw_loop_listener *g, struct iw_stream **out,
			    struct iw_fault *why)
{
	struct iw_stream *stream = stream_of(g)->stream;
	int err = stream->ops->accept(stream, out, why);

	if (err == IW_E_LIMIT)
		stream_rest(g);
	return err;
}

/* --- on a port -------------------------------------------------------------------------------- */

static struct port_listener *port_of(struct iw_loop_listener *g)
{
	return iw_container_of(g, struct port_listener, base);
}

static void port_ends(struct iw_loop_listener *g, struct iw_llp_ends *out)
{
	const struct iw_port *p = port_of(g)->port->llp;

	*out = (struct iw_llp_ends){
		.transport = p->ops->name,
		.local_port = p->local_port,
		.local_udp_port = p->local_udp_port,
	};
	memcpy(out->local, p->local, sizeof(out->local));
}

static size_t port_memory(struct iw_loop_listener *g)
{
	return iw_loop_port_memory(port_of(g)->port);
}

static void port_limit_unused(struct iw_loop_listener *g, size_t octets)
{
	iw_loop_port_limit_unused(port_of(g)->port, octets);
}

/* The port stays open for accepted connections. Pending requests are refused. */
static void port_free(struct iw_loop_listener *g)
{
	struct port_listener *p = port_of(g);
	struct iw_loop_assoc *t;
	struct iw_dss *s;

	while (iw_loop_listener_next_session(g, &t, &s))
		iw_dss_release(s);
	iw_loop_port_close_listener(p->port);
	iw_mem_free(g->loop->mem, p, sizeof(*p));
}

static const struct listener_ops port_ops = {
	.free = port_free,
	.ends = port_ends,
	.memory = port_memory,
	.limit_unused = port_limit_unused,
};

int iw_loop_listener_new_port(struct iw_loop_listener **out, struct iw_loop *l,
			      struct iw_port *port, const struct iw_sctpmap_cfg *cfg, void *owner,
			      struct iw_fault *why)
{
	struct port_listener *p = iw_mem_alloc(l->mem, sizeof(*p));
	int err;

	if (!p) {
		port->ops->close(port);
		return iw_fail(why, IW_E_NOMEM, "loop: no memory for a listener");
	}
	p->map_cfg = *cfg;
	iw_list_init(&p->requested);
	err = iw_loop_port_new(&p->port, l, port, cfg->unused_ns, why);
	if (err) {
		iw_mem_free(l->mem, p, sizeof(*p));
		return err;
	}
	init(&p->base, &port_ops, l, owner);
	p->port->listener = p;
	*out = &p->base;
	return 0;
}

bool iw_loop_listener_next_session(struct iw_loop_listener *g, struct iw_loop_assoc **assoc,
				   struct iw_dss **session)
{
	return iw_loop_assoc_next_request(port_of(g), assoc, session);
}

/* --- of both ---------------------------------------------------------------------------------- */

size_t iw_loop_listener_memory(struct iw_loop_listener *g)
{
	return g->ops->memory ? g->ops->memory(g) : 0;
}

void iw_loop_listener_limit_unused(struct iw_loop_listener *g, size_t octets)
{
	if (g->ops->limit_unused)
		g->ops->limit_unused(g, octets);
}

void iw_loop_listener_rest(struct iw_loop_listener *g)
{
	if (g->ops->rest)
		g->ops->rest(g);
}

void iw_loop_listener_resume(struct iw_loop_listener *g)
{
	if (g->ops->resume)
		g->ops->resume(g);
}

void iw_loop_listener_free(struct iw_loop_listener *g)
{
	if (!g)
		return;
	iw_list_del(&g->ready);
	g->ops->free(g);
}

void *iw_loop_listener_owner(struct iw_loop_listener *g)
{
	return g->owner;
}

void iw_loop_listener_ends(struct iw_loop_listener *g, struct iw_llp_ends *out)
{
	g->ops->ends(g, out);
}
