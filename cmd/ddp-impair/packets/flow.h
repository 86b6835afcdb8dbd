/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rules over packets that pass one by one: a flow is a TCP connection or an SCTP association. For
 * each packet the flow reads its units, lets the rules decide, edits the packet in place, and
 * reports what becomes of it.
 *
 * Over TCP, frames are not stopped until a unit is complete. An edit is therefore a list of changed
 * octets at places of the stream, before or after the frame at hand: the difference of the CRC is
 * known without the octets between. The same changes apply to a retransmission, which is not a new
 * unit. A decision about a unit whose octets have left already is counted as missed.
 *
 * Trusts nothing. No I/O: the time is an argument. One thread at a time.
 */
#ifndef IW_DDP_IMPAIR_PACKETS_FLOW_H
#define IW_DDP_IMPAIR_PACKETS_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "ddp-impair/rules/decision.h"
#include "ddp-impair/rules/framer.h"
#include "ddp-impair/rules/rule.h"
#include "util/mem.h"

/* Decides as iw_rules_decide(). */
typedef size_t iw_flow_decide_fn(void *ctx, struct iw_rules_flow *counts, const struct iw_unit *u,
				 struct iw_decision out[static IW_DECISIONS_MAX]);

struct iw_flow_cfg {
	const struct iw_rules *rules; /* borrowed */
	iw_flow_decide_fn *decide;
	void *ctx; /* of decide */
	const struct iw_mem *mem;
	size_t *early; /* octets of early segments of all flows (early.h), borrowed; NULL: not counted */
};

#define IW_FATE_INJECTS 8    /* further ones are ignored */
#define IW_FATE_COPIES  1000 /* at most */

/* What becomes of a packet. */
struct iw_fate {
	bool dropped;    /* it does not leave */
	bool changed;    /* its octets were edited: the checksum of TCP or UDP is no longer right */
	size_t len;      /* octets that leave: fewer if a chunk was cut out */
	uint32_t copies; /* that follow it */
	uint32_t overtaken_by; /* packets of its flow and direction that leave before it */
	uint64_t delay_ns;
	bool rebind; /* the client gets another port before it leaves */
	/* Datagrams that leave before it or after it, in this order; borrowed from the rules. */
	const struct iw_action *inject[IW_FATE_INJECTS];
	size_t injects;
};

struct iw_flow_dir;

struct iw_flow {
	const struct iw_flow_cfg *cfg;
	uint32_t conn;
	uint64_t begun;                 /* time of the first packet */
	struct iw_rules_flow counts[2]; /* by enum iw_unit_from */
	uint64_t number[2];             /* units */
	bool discard[2];
	uint64_t stalled_until[2];
	uint64_t missed; /* decisions about units that had left */
	unsigned unread; /* TCP: directions that ended because an early segment was not kept */
	struct iw_framer framer;
	struct iw_flow_dir *dir[2]; /* TCP; NULL before its first octet */
};

/* Begins the connection with the number conn, from 1. cfg is borrowed until iw_flow_fini().
 * IW_E_NOMEM. */
IW_MUST_CHECK int iw_flow_init(struct iw_flow *f, const struct iw_flow_cfg *cfg, uint32_t conn,
			       uint64_t now);
void iw_flow_fini(struct iw_flow *f);

/*
 * A datagram of len octets from one end (enum iw_unit_from): an SCTP packet, or octets of another
 * protocol. Edits it in place; fills *out.
 */
void iw_flow_datagram(struct iw_flow *f, unsigned from, uint8_t *octets, size_t len, uint64_t now,
		      struct iw_fate *out);
/* A TCP segment: its payload of len octets. syn: it has the flag SYN. Edits it in place; fills *out.
 * Without memory, or after too many segments whose predecessor is missing (early.h), later units of
 * this direction are not found. */
void iw_flow_segment(struct iw_flow *f, unsigned from, uint32_t seq, bool syn, uint8_t *payload,
		     size_t len, uint64_t now, struct iw_fate *out);

#endif
