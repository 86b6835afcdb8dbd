// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Finds attached programs and reads their counters. */
#include "ddp-xdp/status.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddp-xdp/internal.h"
#include "loader/interface.h"
#include "os/os.h"
#include "util/text.h"

/* Reads the facts that all reports share, and opens the maps of a program of iwarp-tools. */
static int open_status(struct iw_status *l, struct iw_fault *why)
{
	int err;

	l->queues = iw_interface_queues(l->name);
	l->holder_pid = iw_attach_holder(l->a.link, l->holder_name);
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

static int read_status(struct iw_status *l, struct iw_fault *why)
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

int iw_status_find(struct iw_status **out, size_t *n, const char *interface, const char *pins,
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
		struct iw_status *l = &(*out)[*n];
		bool named = interface && strcmp(interface, all[i].if_name) == 0;

		if (interface && !named)
			continue;
		*l = (struct iw_status){ .pins = pins, .ifindex = all[i].if_index };
		snprintf(l->name, sizeof(l->name), "%s", all[i].if_name);
		err = iw_attach_query(&l->a, l->ifindex, why);
		if (err || (!named && l->a.program == 0))
			continue;
		++*n;
		err = open_status(l, why);
	}
	if_freenameindex(all);
	return err;
}

void iw_status_free(struct iw_status *l, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		iw_steer_close(l[i].steer);
		iw_observe_close(l[i].observe);
	}
	free(l);
}

int iw_status_report(struct iw_status *l, size_t n, struct iw_json *json, bool samples,
		     struct iw_fault *why)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		err = read_status(&l[i], why);
		if (!err)
			err = json ? iw_status_json(json, &l[i], why) : iw_status_print(&l[i], why);
		if (!err && samples)
			err = iw_status_samples(&l[i], json, why);
	}
	if (!err && fflush(stdout) != 0)
		err = iw_fail(why, IW_E_CLOSED, "standard output: cannot write");
	return err;
}
