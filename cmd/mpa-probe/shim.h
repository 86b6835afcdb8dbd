/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A layer in front of a responder, between the engine and the transport (verbs/wrap.h), that
 * answers Requests as a personality does: the engine gets a Request that brings it to the same
 * agreement, and the Reply it makes of that goes nowhere. Behind start-up octets pass untouched.
 * Each connection's start-up is reported once.
 *
 * deaf plays Linux siw's fault, the other side of the quirk siw-first-fpdu: it sends its Reply
 * before it listens for FPDUs, and one that arrives within a millisecond or two lies there until
 * more octets come.
 */
#ifndef IW_PROBE_SHIM_H
#define IW_PROBE_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llp/stream.h"
#include "mpa-probe/personality.h"

/* The start-up of one connection, as it was on the wire. */
struct iw_shim_report {
	char peer[64];
	const uint8_t *request, *reply; /* borrowed; NULL: there was none */
	size_t request_len, reply_len;
	const struct iw_personality *personality;
	enum iw_personality_verdict verdict;
	const char *text; /* of the verdict, or "" */
	bool legacy_little;
};

struct iw_shim {
	struct iw_personality_cfg personality; /* personality.row is set */
	uint8_t rev_most; /* highest Rev that the engine accepts if it answers by itself; 0: 2 */
	bool rdmac;       /* of --profile rdmac: the reason for rev_most */
	bool lose_early_fpdus; /* ignores FPDUs that arrive too soon */
	void (*report)(void *report_ctx, const struct iw_shim_report *r); /* or NULL */
	void *report_ctx;
	/* Counted here: connections whose Request came, or began to, and was not accepted. */
	uint64_t turned_away;
};

/* For iw_ctx_wrap_stream: shim is a struct iw_shim (borrowed as long as there are connections). */
struct iw_stream *iw_shim_wrap(void *shim, struct iw_stream *llp, bool initiator);

#endif
