/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A layer between the engine and the transport (verbs/wrap.h) that looks at MPA's start-up and, where it
 * is told to, changes it:
 *   responder  answers Requests as a personality does: the engine gets a Request that brings it to the
 *              same agreement, and the Reply it makes of that goes nowhere
 *   initiator  sets a reserved flag bit in the Request, which RFC 5044 7.1.1 lets nobody look at; a Reply
 *              that has it looks like Linux siw's, and then the first FPDU waits (the quirk below)
 * Behind start-up octets pass untouched. Each connection's start-up is reported once.
 *
 * The quirk siw-first-fpdu: a siw responder sends its Reply before it listens for FPDUs, and one that
 * arrives within a millisecond or two lies there until more octets come.
 */
#ifndef IW_PROBE_SHIM_H
#define IW_PROBE_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llp/llp.h"
#include "probe/persona.h"

enum iw_quirk { IW_QUIRK_AUTO, IW_QUIRK_ON, IW_QUIRK_OFF };

/* The start-up of one connection, as it was on the wire. */
struct iw_shim_report {
	bool initiator;
	char peer[64];
	const uint8_t *request, *reply; /* borrowed; NULL: there was none */
	size_t request_len, reply_len;
	const struct iw_persona *persona; /* responder */
	enum iw_persona_verdict verdict;  /* responder */
	const char *text;                 /* of the verdict, or "" */
	bool legacy_little;
	bool looks_like_siw; /* initiator: the reserved bit came back */
	bool paused;         /* initiator: so the first FPDU waited */
};

struct iw_shim {
	struct iw_persona_cfg persona; /* responder; persona.persona is set */
	enum iw_quirk
		/* responder: ON: FPDUs that come too soon are not noticed, as siw's are not */
		quirk;
	uint64_t pause_ns; /* initiator; 0: 10 to 100 ms, longer for a peer that is slow to reply */
	void (*report)(void *report_ctx, const struct iw_shim_report *r); /* or NULL */
	void *report_ctx;
	/* Counted here, responder: connections whose Request came, or began to, and was not
	 * accepted. */
	uint64_t turned_away;
};

/* For iw_ctx_wrap_llp: shim is a struct iw_shim (borrowed as long as there are connections). */
struct iw_llp *iw_shim_wrap(void *shim, struct iw_llp *llp, bool initiator);

#endif
