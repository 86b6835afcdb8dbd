/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Detaches a program, and removes its pin and leftovers. */
#ifndef IW_DDP_XDP_DETACH_H
#define IW_DDP_XDP_DETACH_H

#include <stdbool.h>

#include "cli/json.h"
#include "loader/attach.h"

struct iw_detached {
	struct iw_xdp_attached a; /* program 0: none was attached */
	bool pin;                 /* a pin was removed as well */
	unsigned left;            /* dispatchers whose leftovers were removed */
};

/*
 * Detaches the program of the interface and removes its pin in the directory pins (NULL: in
 * IW_XDP_PINS, if it is there). With force, also detaches a program that a process uses, that is
 * pinned elsewhere, or that is not part of iwarp-tools, and removes leftovers of former dispatchers
 * and pins.
 *
 * Returns 0 with *done false and the reason in *why if there was nothing to detach, or without
 * force a reason not to: no program is attached; it is not pinned in pins, or (NULL) it is pinned
 * elsewhere; a process uses it; it is not part of iwarp-tools.
 * Errors: those of iw_interface_index, iw_attach_query, iw_attach_detach, iw_attach_unpin and
 * iw_attach_clean_dispatchers; IW_E_PERM: this user may not see which program it is.
 */
IW_MUST_CHECK int iw_detach_program(struct iw_detached *out, bool *done, const char *interface,
				    const char *pins, bool force, struct iw_fault *why);

/* Writes the "result" event. Errors: those of iw_json_end. */
IW_MUST_CHECK int iw_detached_json(struct iw_json *w, const struct iw_detached *d,
				   const char *interface, struct iw_fault *why);
/* Writes the same facts as text; pins is the directory of the removed pin. */
void iw_detached_print(const struct iw_detached *d, const char *interface, const char *pins);

#endif
