/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Conversations of lab 8: two ends that talk over MPA/TCP or DDP/SCTP, with at most one violation
 * of a rule. A number determines a conversation.
 *
 * A unit is a start-up frame of MPA, a ULPDU, or the user data of a DATA chunk. The ends advertise
 * buffers to each other in Sends of 20 octets, as the README of the lab describes.
 */
#ifndef LABS_GRADER_CONVERSATION_H
#define LABS_GRADER_CONVERSATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order of the lab's fault.h. The last three exist only in captures. */
enum fault {
	FAULT_NONE,
	FAULT_SHORT,
	FAULT_VERSION,
	FAULT_OPCODE,
	FAULT_QUEUE,
	FAULT_MSN,
	FAULT_MO,
	FAULT_LAST,
	FAULT_STAG,
	FAULT_INVALIDATED,
	FAULT_BOUNDS,
	FAULT_RIGHTS,
	FAULT_ORD,
	FAULT_FIRST,
	FAULT_RTR,
	FAULT_UNREQUESTED,
	FAULT_RESPONSE,
	FAULT_READS,
	FAULT_SSN,
	FAULT_EARLY,
	FAULT_AFTER,
	FAULT_TERMINATE,
	FAULT_CRC,
	FAULT_MARKER,
	FAULT_PAD,
	FAULT_COUNT
};

/* The word of an answer sheet, such as "msn". */
extern const char *const fault_names[FAULT_COUNT];

enum over { OVER_TCP, OVER_SCTP };
enum unit_kind { UNIT_STARTUP, UNIT_SEGMENT };

struct unit {
	uint8_t from; /* 0: initiator, 1: responder */
	uint8_t kind; /* enum unit_kind */
	uint8_t *octets;
	size_t len;
	unsigned int frame; /* in the capture, from 1; set by conversation_frames() */
};

#define UNITS_MAX  400
#define OCTETS_MAX (1u << 20)

struct conversation {
	enum over over;
	enum fault fault;
	size_t fault_at; /* the unit that breaks the rule */
	struct unit units[UNITS_MAX];
	size_t n;
	uint64_t seed;
	uint8_t octets[OCTETS_MAX];
	size_t used;
};

/* Random numbers that only the seed determines (SplitMix64). */
struct dice {
	uint64_t state;
};
uint64_t dice_next(struct dice *d);
/* 0 to n - 1; n is at least 1. */
uint64_t dice_below(struct dice *d, uint64_t n);

/* What a conversation has besides start-up and one Send of each end. */
enum feature {
	WITH_MANY = 1,     /* more Sends, some in several segments, and correct Terminates */
	WITH_BUFFERS = 2,  /* RDMA Writes and Sends with Invalidate */
	WITH_ENHANCED = 4, /* start-up frames of Rev 2: IRD, ORD, RTRs */
	WITH_READS = 8,
	WITH_SCTP = 16, /* DDP over SCTP; Sends to an end that has sent a Terminate */
	WITH_ALL = 31
};

/*
 * Returns a new conversation; the caller frees it with free(). NULL: out of memory. features: bits
 * of enum feature; a fault has what it needs in addition. variant selects
 * one of the forms of a fault; any number is allowed. The transport is that of the fault, or
 * follows from the seed.
 */
struct conversation *conversation_new(uint64_t seed, unsigned int features, enum fault fault,
				      unsigned int variant);

/* Takes an IP packet. time_ns: since the begin of the conversation. */
typedef void conversation_sink(void *to, uint64_t time_ns, const uint8_t *packet, size_t len);

/*
 * Gives the packets of the conversation to sink, and sets the frame of each unit. sink NULL: only
 * sets the frames. Returns 0, or -1 with errno ENOMEM.
 */
int conversation_frames(struct conversation *c, conversation_sink *sink, void *to);
/* Writes them as a capture file. Returns 0, or -1 with errno if a write failed. */
int conversation_write(struct conversation *c, const char *path);

/* Capture `number`, 1 to 8, of a seed; 0: the example of the README. NULL: out of memory. */
#define CAPTURES 8
struct conversation *conversation_capture(uint64_t seed, unsigned int number);

/*
 * The command `iwarp-lab captures --seed N --output DIR`: writes 1.pcap to 8.pcap, example.pcap and
 * the file seed. Returns 0, or -1 with errno.
 */
int captures_write(uint64_t seed, const char *dir);

#endif
