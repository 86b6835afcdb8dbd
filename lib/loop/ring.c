// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Ports over rings in memory (AF_XDP). Waking the process for each packet costs the kernel's
 * receive path more than the packet itself. So while packets arrive, the loop polls the rings, and
 * their input does not wake the process. When no packet has arrived for RING_NS, the loop watches
 * the rings like any other descriptor, and sleeps.
 */
#include "loop/loop.h"

#include "loop/internal.h"
#include "os/os.h"

/* Some round trips of a fast network, 50 us. */
#define RING_NS UINT64_C(50000)

static void rest(struct iw_loop *l, bool on)
{
	l->polls_rings = !on;
	for (struct iw_list *n = l->ports.next; n != &l->ports; n = n->next) {
		struct iw_loop_port *d = iw_container_of(n, struct iw_loop_port, all);

		if (d->llp->ops->peek)
			d->llp->ops->rest(d->llp, on);
	}
}

static bool peek(const struct iw_loop_port *d, uint64_t now)
{
	return d->llp->ops->peek && d->llp->ops->peek(d->llp, now);
}

bool iw_loop_rest(struct iw_loop *l)
{
	uint64_t now;
	bool any = false;

	if (!l->polls_rings)
		return true;
	now = iw_os_now();
	rest(l, true);
	for (struct iw_list *n = l->ports.next; n != &l->ports; n = n->next)
		any |= peek(iw_container_of(n, struct iw_loop_port, all), now);
	return !any;
}

static bool serve_rings(struct iw_loop *l, uint64_t now)
{
	bool any = false;

	for (struct iw_list *n = l->ports.next; n != &l->ports; n = n->next) {
		struct iw_loop_port *d = iw_container_of(n, struct iw_loop_port, all);

		if (!peek(d, now))
			continue;
		iw_loop_port_ready(d, now);
		any = true;
	}
	if (!any)
		return false;
	l->ring_at = now;
	/* A program with an event loop of its own sleeps in it, so the rings must wake it. */
	if (!l->polls_rings && l->kick_fd < 0)
		rest(l, false);
	return true;
}

enum iw_ring_turn iw_loop_turn_rings(struct iw_loop *l, uint64_t until)
{
	bool served, recent;

	do {
		uint64_t now = iw_os_now();

		served = serve_rings(l, now);
		served |= iw_loop_fire_timers(l, now);
		if (!iw_list_empty(&l->dirty))
			iw_loop_port_flush_all(l, now);
		recent = l->polls_rings && now < l->ring_at + RING_NS;
		if (iw_loop_poll_all_due(l, now))
			return served ? IW_RING_LOOK : recent ? IW_RING_AGAIN : IW_RING_WAIT;
		if (now >= iw_loop_wait_end(l, until))
			served = true;
	} while (!served && recent);
	return served ? IW_RING_DONE : IW_RING_WAIT;
}
