// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Finds and reads attached programs and their counters; helpers of the writers. */
#include "ddp-xdp/look.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddp-xdp/internal.h"
#include "loader/interface.h"
#include "os/os.h"
#include "util/num.h"
#include "util/text.h"

/* Once for an interface. */
static int open_look(struct iw_look *l, struct iw_fault *why)
{
	int err;

	l->queues = iw_interface_queues(l->name);
	l->holder = iw_attach_holder(l->a.link, l->holder_name);
	l->pinned = iw_attach_pinned(l->pins, l->name);
	l->dispatchers_left = iw_attach_dispatchers_left(l->ifindex, l->a.program);
	if (l->a.owner == IW_XDP_STEER || l->a.inside)
		err = iw_steer_look(&l->steer, l->name, why);
	else if (l->a.owner == IW_XDP_OBSERVE)
		err = iw_observe_look(&l->observe, l->name, why);
	else
		return 0;
	return err;
}

static int read_look(struct iw_look *l, struct iw_fault *why)
{
	char name[IF_NAMESIZE];
	int err;

	/* The kernel reports a removed interface as one without a program. */
	if (!if_indextoname(l->ifindex, name))
		return iw_fail(why, IW_E_NOENT, "interface %s: it was removed", l->name);
	err = iw_attach_query(&l->a, l->ifindex, why);
	if (err)
		return err;
	l->at_before = l->at;
	l->at = iw_os_now();
	l->before = l->count;
	if (l->steer && iw_steer_counters(l->steer, &l->count) < 0)
		return iw_fail(
			why, IW_E_OS,
			"interface %s: cannot read the counters of the program; was it detached?",
			l->name);
	if (l->observe && iw_observe_counters(l->observe, &l->mpa) < 0)
		return iw_fail(
			why, IW_E_OS,
			"interface %s: cannot read the counters of the program; was it detached?",
			l->name);
	return 0;
}

int iw_looks_find(struct iw_look **out, size_t *n, const char *interface, const char *pins,
		  struct iw_fault *why)
{
	struct if_nameindex *all = if_nameindex();
	size_t count = 0;
	int err = 0;

	*n = 0;
	*out = NULL;
	if (!all)
		return iw_os_fail(why, errno, "list the interfaces");
	while (all[count].if_index)
		count++;
	*out = calloc(count + 1, sizeof(**out));
	if (!*out)
		err = iw_fail(why, IW_E_NOMEM, "out of memory");
	for (size_t i = 0; i < count && !err; i++) {
		struct iw_look *l = &(*out)[*n];
		bool named = interface && strcmp(interface, all[i].if_name) == 0;

		if (interface && !named)
			continue;
		*l = (struct iw_look){ .pins = pins, .ifindex = all[i].if_index };
		snprintf(l->name, sizeof(l->name), "%s", all[i].if_name);
		err = iw_attach_query(&l->a, l->ifindex, why);
		if (err || (!named && l->a.program == 0))
			continue;
		++*n;
		err = open_look(l, why);
	}
	if_freenameindex(all);
	return err;
}

void iw_looks_free(struct iw_look *l, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		iw_steer_close(l[i].steer);
		iw_observe_close(l[i].observe);
	}
	free(l);
}

int iw_looks_tell(struct iw_look *l, size_t n, struct iw_json *json, bool samples,
		  struct iw_fault *why)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		err = read_look(&l[i], why);
		if (!err)
			err = json ? iw_look_json(json, &l[i], why) : iw_look_print(&l[i], why);
		if (!err && samples)
			err = iw_look_samples(&l[i], json, why);
	}
	if (!err && fflush(stdout) != 0)
		err = iw_fail(why, IW_E_CLOSED, "standard output: cannot write");
	return err;
}

/* --- for the writers --------------------------------------------------------------------------- */

const char *iw_look_addr(char buf[static IW_ADDR_TEXT], const void *addr)
{
	static const uint8_t any[16];
	struct iw_addr a = { .in6 = { .sin6_family = AF_INET6 }, .len = sizeof(a.in6) };

	if (memcmp(addr, any, sizeof(any)) == 0) {
		snprintf(buf, IW_ADDR_TEXT, "*");
		return buf;
	}
	memcpy(&a.in6.sin6_addr, addr, 16);
	if (IN6_IS_ADDR_V4MAPPED(&a.in6.sin6_addr)) {
		a.in = (struct sockaddr_in){ .sin_family = AF_INET };
		memcpy(&a.in.sin_addr, (const uint8_t *)addr + 12, 4);
		a.len = sizeof(a.in);
	}
	return iw_addr_host(buf, &a);
}

uint16_t iw_look_port(const uint16_t *port)
{
	return iw_get_be16((const uint8_t *)port);
}

uint64_t iw_look_rate(const struct iw_look *l, uint64_t n)
{
	uint64_t ns = l->at - l->at_before;

	return l->at_before && ns ? (uint64_t)((double)n * 1e9 / (double)ns) : 0;
}

static int count_one(void *ctx, const void *key, const void *value)
{
	(void)key;
	(void)value;
	++*(uint64_t *)ctx;
	return 0;
}

uint64_t iw_look_count(const struct iw_look *l, enum iw_steer_what what)
{
	uint64_t n = 0;

	(void)iw_steer_each(l->steer, what, count_one, &n);
	return n;
}

double iw_look_aligned(const struct iw_xdp_mpa *m)
{
	return m->followed ? (double)m->aligned / (double)m->followed : 0;
}

int iw_keeper_end_line(struct iw_json *w, struct iw_fault *why)
{
	int err = iw_json_end(w);

	return err ? iw_fail(why, err, "standard output: %s", iw_err_text(err)) : 0;
}
