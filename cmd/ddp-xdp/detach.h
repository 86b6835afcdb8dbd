/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Detaches a program, and removes leftovers. */
#ifndef IW_KEEPER_DETACH_H
#define IW_KEEPER_DETACH_H

#include <stdbool.h>

#include "cli/json.h"
#include "loader/attach.h"

struct iw_detached {
	struct iw_xdp_attached a; /* program 0: nothing was attached */
	bool pin;                 /* a pin went, too */
	unsigned left;            /* dispatchers that had left something behind, and it went */
};

/*
 * Detaches the program of the interface and removes its pin in @pins (NULL: in IW_XDP_PINS, if a pin is there).
 * @force: also detaches a program that a process uses or that is not part of iwarp-tools, and removes the
 * dispatchers and pins that former programs left. *done false: nothing is attached, the program is not pinned in
 * @pins (NULL: it is pinned elsewhere), a process uses it, or it is not part of iwarp-tools; *why has the reason.
 * Errors as iw_attach_detach, iw_attach_unpin and iw_attach_clean_dispatchers.
 */
IW_MUST_CHECK int iw_keep_detach(struct iw_detached *out, bool *done, const char *interface,
				 const char *pins, bool force, struct iw_fault *why);

/* The "result" event. IW_E_CLOSED: standard output takes nothing more. */
IW_MUST_CHECK int iw_detached_json(struct iw_json *w, const struct iw_detached *d,
				   const char *interface, struct iw_fault *why);
void iw_detached_print(const struct iw_detached *d, const char *interface, const char *pins);

#endif
