/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A layer between the engine of a responder and its transport (verbs/wrap.h) that answers Requests
 * as a personality does. It gives the engine a Request that leads to the same agreement, and
 * discards the Reply of the engine. After start-up it passes octets unchanged. It reports the
 * start-up of each connection once.
 *
 * With lose_early_fpdus it imitates a fault of Linux siw, against which our initiator has the quirk
 * siw-first-fpdu: siw sends its Reply before it watches for FPDUs. An FPDU that arrives within a
 * millisecond or two stays unnoticed in the socket until more octets arrive.
 */
#ifndef IW_MPA_PROBE_SHIM_H
#define IW_MPA_PROBE_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llp/stream.h"
#include "mpa-probe/personality.h"

/* The start-up of one connection, as on the wire. */
struct iw_shim_report {
	char peer[64];
	const uint8_t *request, *reply; /* borrowed; NULL: not sent */
	size_t request_len, reply_len;
	const struct iw_personality *personality;
	enum iw_personality_verdict verdict;
	const char *text; /* the reason of the verdict, or "" */
	bool legacy_little;
};

struct iw_shim {
	struct iw_personality_cfg personality; /* personality.row is set */
	uint8_t rev_most;                      /* highest Rev that a native engine accepts; 0: 2 */
	bool rdmac;                            /* --profile rdmac was given; explains rev_most */
	bool lose_early_fpdus;                 /* does not notice FPDUs that arrive too soon */
	void (*report)(void *report_ctx, const struct iw_shim_report *r); /* NULL: not called */
	void *report_ctx;
	/*
	 * Connections whose Request was received, even in part, and not accepted. Counted by the
	 * shim.
	 */
	uint64_t turned_away;
};

/*
 * For iw_ctx_wrap_stream(). shim is a struct iw_shim, borrowed until the last connection is closed.
 * Returns llp itself for an initiator; NULL if out of memory, and then llp is closed.
 */
struct iw_stream *iw_shim_wrap(void *shim, struct iw_stream *llp, bool initiator);

#endif
