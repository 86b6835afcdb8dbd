// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Detaches a program, unless it is in use or not one of ours. */
#include "keeper/detach.h"

#include <stdio.h>

#include "cli/log.h"
#include "keeper/internal.h"
#include "util/text.h"

/* True if it may be detached; otherwise the log has the reason. */
static bool may_go(const char *name, const struct iw_xdp_attached *a)
{
	uint32_t pid = a->owner == IW_XDP_STEER || a->inside ? iw_steer_used_by(name) : 0;

	if (pid) {
		iw_log_error(
			"%s: process %u receives through the program; end that process first, or use --force-clean",
			name, pid);
		return false;
	}
	if (a->owner == IW_XDP_FOREIGN || (a->owner == IW_XDP_DISPATCHER && !a->inside)) {
		iw_log_error(
			"%s: the program %s (id %u) is not part of iwarp-tools; --force-clean detaches it "
			"nevertheless",
			name, a->name, a->program);
		return false;
	}
	return true;
}

int iw_keep_detach(struct iw_detached *out, bool *done, const char *name, const char *pins,
		   bool force, struct iw_fault *why)
{
	enum iw_xdp_pinned pinned;
	unsigned ifindex, left;
	int err = iw_xdp_ifindex(&ifindex, name, why);

	*out = (struct iw_detached){ .pin = false };
	*done = false;
	if (!err)
		err = iw_xdp_attached(&out->a, ifindex, why);
	if (err)
		return err;
	/* The kernel shows programs only with this capability. */
	if (out->a.owner == IW_XDP_UNKNOWN)
		return iw_fail(
			why, IW_E_PERM,
			"%s: this user may not look at program %u: it needs CAP_SYS_ADMIN: be root",
			name, out->a.program);
	pinned = iw_xdp_pinned(pins, name);
	left = iw_xdp_dispatchers_left(ifindex, out->a.program);
	if (out->a.program == 0 && !(force && (pinned != IW_XDP_NO_PIN || left > 0))) {
		iw_log_error(
			"%s: no XDP program is attached%s", name,
			pinned != IW_XDP_NO_PIN
				? ", but a pin is left over; --force-clean removes it"
			: left > 0
				? ", but files of a dispatcher are left over; --force-clean removes them"
				: "");
		return 0;
	}
	if (out->a.program && !force && !may_go(name, &out->a))
		return 0;
	if (out->a.program)
		err = iw_xdp_detach(&out->a, ifindex, why);
	if (!err && pinned != IW_XDP_NO_PIN)
		err = iw_xdp_unpin(pins, name, why);
	if (!err && force)
		err = iw_xdp_clean_dispatchers(ifindex, why);
	out->pin = pinned != IW_XDP_NO_PIN;
	out->left = force ? left : 0;
	*done = err == 0;
	return err;
}

int iw_detached_json(struct iw_json *w, const struct iw_detached *d, const char *interface,
		     struct iw_fault *why)
{
	iw_json_begin(w, "result");
	iw_json_str(w, "interface", interface);
	iw_json_u64(w, "program_id", d->a.program);
	if (d->a.program)
		iw_json_str(w, "name", d->a.name);
	iw_json_bool(w, "pin_removed", d->pin);
	iw_json_u64(w, "dispatchers_removed", d->left);
	return iw_keeper_end_line(w, why);
}

void iw_detached_print(const struct iw_detached *d, const char *interface, const char *pins)
{
	if (d->a.program)
		printf("%s: %s detached\n", interface, d->a.name);
	if (d->pin)
		printf("%s: %s/%s removed\n", interface, pins, interface);
	if (d->left)
		printf("%s: leftovers of dispatchers (%u) in /sys/fs/bpf/xdp removed\n", interface,
		       d->left);
}
