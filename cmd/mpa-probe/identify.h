/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Identifies the implementation of a peer. It compares the facts that a probe found with a table of
 * fingerprints, whose sources identify.c cites. No system call, no state.
 */
#ifndef IW_MPA_PROBE_IDENTIFY_H
#define IW_MPA_PROBE_IDENTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum iw_known { IW_NOT_KNOWN, IW_NO, IW_YES };

/* X(fact, key in JSON, text if it holds, text if it does not hold) */
/* clang-format off */
#define IW_FACT_LIST(X) \
	X(ECHOES_RESERVED, "echoes_reserved", \
	  "its Reply echoes the reserved flag bits of the Request", \
	  "its Reply does not echo the reserved flag bits of the Request") \
	X(C_FOLLOWS, "c_follows", \
	  "C of its Reply is C of the Request", \
	  "C of its Reply is not always C of the Request") \
	X(C_ALWAYS, "c_always", \
	  "C = 1 in its Reply to a Request with C = 0", \
	  "C = 0 in its Reply to a Request with C = 0") \
	X(C_NEVER, "c_never", \
	  "C = 0 in its Reply to a Request with C = 1", \
	  "C = 1 in its Reply to a Request with C = 1") \
	X(MARKERS_REFUSED, "markers_refused", \
	  "it refuses M = 1 with R = 1, M = 0, IRD and ORD 0, and closes", \
	  "it does not refuse M = 1 with R = 1, M = 0, IRD and ORD 0") \
	X(MARKERS_OBEYED, "markers_obeyed", \
	  "it accepts a Request with M = 1", \
	  "it does not accept a Request with M = 1") \
	X(MARKERS_WANTED, "markers_wanted", \
	  "M = 1 in its Reply: it demands markers", \
	  "M = 0 in its Reply: it does not demand markers") \
	X(DEPTH_128, "depth_128", \
	  "IRD and ORD of 16382 become 128", \
	  "IRD and ORD of 16382 do not become 128") \
	X(DEPTH_32, "depth_32", \
	  "IRD and ORD of 16382 become 32", \
	  "IRD and ORD of 16382 do not become 32") \
	X(DEPTH_16, "depth_16", \
	  "IRD and ORD of 16382 become 16", \
	  "IRD and ORD of 16382 do not become 16") \
	X(RTR_WRITE_ALONE, "rtr_write_alone", \
	  "of three RTR forms it selects Write", \
	  "of three RTR forms it does not select only Write") \
	X(RTR_READ_ALONE, "rtr_read_alone", \
	  "of three RTR forms it selects Read", \
	  "of three RTR forms it does not select only Read") \
	X(RTR_ALL, "rtr_all", \
	  "it supports all three RTR forms", \
	  "it does not support all three RTR forms") \
	X(NEEDS_P2P, "needs_peer_to_peer", \
	  "it refuses the client-server model, but not peer-to-peer", \
	  "it does not refuse the client-server model") \
	X(REV1_ONLY, "rev1_only", \
	  "it accepts Rev 1, but not Rev 2", \
	  "it does not accept only Rev 1") \
	X(REV0_ACCEPTED, "rev0_accepted", \
	  "it accepts Rev 0 without markers and CRC", \
	  "it does not accept Rev 0 without markers and CRC") \
	X(REV0_ANSWERED_1, "rev0_answered_by_rev1", \
	  "it answers Rev 0 with Rev 1 and R = 1", \
	  "it does not answer Rev 0 with Rev 1 and R = 1") \
	X(REPLY_REV0, "reply_rev0", \
	  "its Reply to a Request of another revision has Rev 0", \
	  "its Reply to a Request of another revision does not have Rev 0") \
	X(REV3_RESET, "rev3_reset", \
	  "it answers Rev 3 with a reset", \
	  "it does not answer Rev 3 with a reset") \
	X(REV3_CLOSED, "rev3_closed", \
	  "it answers Rev 3 by closing", \
	  "it does not answer Rev 3 by closing") \
	X(STAG0_FATAL, "stag0_fatal", \
	  "a zero-length RDMA Write to STag 0 ends the connection", \
	  "a zero-length RDMA Write to STag 0 does not end the connection") \
	X(SMBD_HEADER, "smbd_header", \
	  "its Private Data begins with IRD and ORD in 32-bit words", \
	  "its Private Data does not begin with IRD and ORD in 32-bit words") \
	X(BLOCK, "libiwarp_block", \
	  "its Private Data has the block of libiwarp", \
	  "its Private Data does not have the block of libiwarp") \
	X(OWN_TOOL, "iwarp_tools", \
	  "its Private Data is that of ddp-recv, ddp-send or ddp-bench", \
	  "its Private Data is not that of ddp-recv, ddp-send or ddp-bench") \
	X(TERMINATE_ORDER, "terminate_bit_order", \
	  "its Terminate has layer and type swapped", \
	  "its Terminate does not have layer and type swapped") \
	X(FIRST_FPDU_LOST, "first_fpdu_lost", \
	  "it answered the first FPDU only after more octets followed", \
	  "it answered the first FPDU at once")
/* clang-format on */

enum iw_fact {
#define IW_X_(name, key, text, not_text) IW_FACT_##name,
	IW_FACT_LIST(IW_X_)
#undef IW_X_
		IW_FACTS
};
/* Return the key, and the text for a fact that holds (is) or does not hold. */
const char *iw_fact_name(enum iw_fact f);
const char *iw_fact_text(enum iw_fact f, bool is);

struct iw_facts {
	enum iw_known is[IW_FACTS];
};

enum iw_impl {
	IW_IMPL_UNKNOWN,
	IW_IMPL_LIBIWARP,
	IW_IMPL_SIW,
	IW_IMPL_CHELSIO,
	IW_IMPL_INTEL,
	IW_IMPL_WINDOWS,
	IW_IMPL_PLAIN,
	IW_IMPL_RDMAC,
};
#define IW_IMPLS 8
/* Return "siw", and "Linux siw (software iWARP)". */
const char *iw_impl_name(enum iw_impl i);
const char *iw_impl_text(enum iw_impl i);

struct iw_evidence {
	enum iw_fact fact;
	bool is; /* true: the fact holds; false: it does not hold */
};

struct iw_verdict {
	enum iw_impl impl;
	/* Evidence for it and against it. UNKNOWN: pro has the facts that hold, contra is empty. */
	struct iw_evidence pro[IW_FACTS], contra[IW_FACTS];
	size_t npro, ncontra;
	unsigned score; /* weights of pro minus weights of contra */
};

/*
 * Finds the implementation that fits the facts best. UNKNOWN: no fit is good enough, or two are
 * equal.
 */
void iw_identify(struct iw_verdict *out, const struct iw_facts *facts);

#endif
