/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the first violation of a rule in a conversation of two iWARP ends.
 *
 * A conversation is an array of units, in the order in which they were sent. All units of an end
 * are there; no unit is repeated or lost on the way. Integers are big-endian: use field().
 */
#ifndef FAULT_H
#define FAULT_H

#include <stddef.h>
#include <stdint.h>

enum transport {
	OVER_TCP,  /* MPA, RFC 5044 and RFC 6581 */
	OVER_SCTP, /* RFC 5043 */
};

/* The initiator sends the first unit: the MPA Request over TCP, the Initiate over SCTP. */
enum end { INITIATOR, RESPONDER };

enum unit_kind {
	/*
	 * TCP: an MPA Request or Reply, from its key to its last octet of Private Data (RFC 5044
	 * 7.1.1). SCTP: user data with PPID 17: DDP-SSN, Function Code, Private Data (RFC 5043
	 * 5.2.3). Function Codes are 1 Initiate, 2 Accept and 4 Terminate. These units are correct
	 * and complete, except for faults ord and ssn.
	 */
	UNIT_STARTUP,
	/*
	 * TCP: a ULPDU, so a DDP segment; FPDU header, PAD, CRC and markers are removed. SCTP: user
	 * data with PPID 16: DDP-SSN and a DDP segment (RFC 5043 5.2.2).
	 */
	UNIT_SEGMENT,
};

struct unit {
	enum end from;
	enum unit_kind kind;
	const uint8_t *octets; /* exactly len octets: reading one more crashes */
	size_t len;            /* may be 0 */
};

/*
 * The kinds of violations. The README says for each where its rule is, and which unit breaks it. A
 * conversation breaks at most one rule first, so the order of your checks does not matter, except
 * that a check must not read fields that an earlier one has found missing or wrong.
 */
enum fault {
	FAULT_NONE,
	/* Step headers */
	FAULT_SHORT,   /* shorter than the DDP header, or than the RDMAP header after it */
	FAULT_VERSION, /* DV or RV is not 1 */
	FAULT_OPCODE,  /* opcode above 7, or T is not that of the opcode */
	FAULT_QUEUE,   /* QN is not that of the opcode */
	/* Step order */
	FAULT_MSN,  /* neither the MSN of the present message nor the next one of the queue */
	FAULT_MO,   /* MO is not the number of octets of the message so far */
	FAULT_LAST, /* the next message of the queue begins, and the present one had no L */
	/* Step buffers */
	FAULT_STAG,        /* an STag that the peer has not advertised */
	FAULT_INVALIDATED, /* an STag that the sender has invalidated */
	FAULT_BOUNDS,      /* octets outside the advertised buffer */
	FAULT_RIGHTS,      /* a write to a buffer for reads, or a read of one for writes */
	/* Step startup */
	FAULT_ORD,   /* the Reply's ORD is above the Request's IRD */
	FAULT_FIRST, /* the responder sends a segment before the initiator's first one */
	FAULT_RTR,   /* the initiator's first segment is not an RTR that the Reply has */
	/* Step reads */
	FAULT_UNREQUESTED, /* a Read Response, and no request of the peer is outstanding */
	FAULT_RESPONSE, /* not the STag, the TO or the length of the oldest outstanding request */
	FAULT_READS,    /* more requests outstanding than the peer's IRD */
	/* Step sessions */
	FAULT_SSN,       /* DDP-SSN is not one more than that of the sender's last unit */
	FAULT_EARLY,     /* a segment before the sender's own Initiate or Accept */
	FAULT_AFTER,     /* a segment after the sender's RDMAP Terminate or Session Terminate */
	FAULT_TERMINATE, /* a Terminate with a layer and error type that no RFC defines */
};

/*
 * Returns the first violation in the n units (n may be 0), and sets *at to the index of the unit
 * that breaks the rule. FAULT_NONE: no rule is broken; *at is unchanged. The units are borrowed.
 * Memory that it allocates must be freed before it returns. A conversation has at most 64
 * advertisements and 64 outstanding requests of an end.
 */
enum fault fault_find(enum transport over, const struct unit *units, size_t n, size_t *at);

/* The big-endian integer of 1 to 8 octets at `at`. */
static inline uint64_t field(const uint8_t *at, size_t octets)
{
	uint64_t v = 0;

	for (size_t i = 0; i < octets; i++)
		v = v << 8 | at[i];
	return v;
}

#endif
