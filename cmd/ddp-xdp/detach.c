// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Detaches a program, unless it is in use or not one of ours. */
#include "ddp-xdp/detach.h"

#include <stdio.h>

#include "cli/log.h"
#include "ddp-xdp/internal.h"
#include "loader/interface.h"
#include "util/text.h"

/* Returns IW_E_BUSY if process pid (0: none) uses the program, or if the program is not part of
 * iwarp-tools. */
static int check_use(const char *name, const struct iw_xdp_attached *a, uint32_t pid,
		     struct iw_fault *why)
{
	if (pid)
		return iw_fail(
			why, IW_E_BUSY,
			"%s: process %u receives through the program; end that process first, or use --force-clean",
			name, pid);
	if (iw_xdp_foreign(a))
		return iw_fail(
			why, IW_E_BUSY,
			"%s: the program %s (id %u) is not part of iwarp-tools; --force-clean detaches it "
			"nevertheless",
			name, a->name, a->program);
	return 0;
}

/* Returns IW_E_NOENT if there is nothing to detach: no program is attached, or (unless pins is
 * NULL) it is not pinned in pins. */
static int check_there(const struct iw_detached *d, const char *name, const char *pins,
		       enum iw_xdp_pinned pinned, unsigned left, struct iw_fault *why)
{
	if (d->a.program == 0)
		return iw_fail(
			why, IW_E_NOENT, "%s: no XDP program is attached%s", name,
			pinned != IW_XDP_NO_PIN
				? ", but a pin is left over; --force-clean removes it"
			: left > 0
				? ", but files of a dispatcher are left over; --force-clean removes them"
				: "");
	if (pins && pinned == IW_XDP_NO_PIN)
		return iw_fail(
			why, IW_E_NOENT,
			"%s: the program %s (id %u) is not pinned in %s; leave out --pin, or give the directory of its pin",
			name, d->a.name, d->a.program, pins);
	return 0;
}

/*
 * Returns IW_E_BUSY if the program must be pinned elsewhere, because neither a process nor a pin in
 * dir holds its link.
 */
static int check_pin(const char *name, const struct iw_xdp_attached *a, const char *dir,
		     enum iw_xdp_pinned pinned, struct iw_fault *why)
{
	char holder[16];

	if (!a->link || pinned != IW_XDP_NO_PIN || iw_attach_holder(a->link, holder))
		return 0;
	return iw_fail(
		why, IW_E_BUSY,
		"%s: the program %s (id %u) is pinned, but not in %s; give the directory with --pin, or use --force-clean",
		name, a->name, a->program, dir);
}

int iw_detach_program(struct iw_detached *out, bool *done, const char *name, const char *pins,
		      bool force, struct iw_fault *why)
{
	const char *dir = pins ? pins : IW_XDP_PINS;
	enum iw_xdp_pinned pinned;
	unsigned ifindex, left;
	uint32_t pid;
	int err = iw_interface_index(&ifindex, name, why);

	*out = (struct iw_detached){ .pin = false };
	*done = false;
	if (!err)
		err = iw_attach_query(&out->a, ifindex, why);
	if (err)
		return err;
	/* The kernel shows programs only with this capability. */
	if (out->a.owner == IW_XDP_UNKNOWN)
		return iw_fail(
			why, IW_E_PERM,
			"%s: this user may not look at program %u: it needs CAP_SYS_ADMIN: be root",
			name, out->a.program);
	pinned = iw_attach_pinned(dir, name);
	left = iw_attach_dispatchers_left(ifindex, out->a.program);
	if (!(force && (out->a.program || pinned != IW_XDP_NO_PIN || left > 0)) &&
	    check_there(out, name, pins, pinned, left, why) != 0)
		return 0;
	pid = out->a.owner == IW_XDP_STEER || out->a.inside ? iw_steer_used_by(name) : 0;
	if (!force && (check_use(name, &out->a, pid, why) != 0 ||
		       check_pin(name, &out->a, dir, pinned, why) != 0))
		return 0;
	if (out->a.program)
		err = iw_attach_detach(&out->a, ifindex, why);
	if (!err && pid)
		iw_log_warn("%s: process %u now receives through the kernel, without XDP", name,
			    pid);
	if (!err && pinned != IW_XDP_NO_PIN)
		err = iw_attach_unpin(dir, name, why);
	if (!err && force)
		err = iw_attach_clean_dispatchers(ifindex, why);
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
	return iw_status_end_line(w, why);
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
