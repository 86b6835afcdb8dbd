/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lab 7: a simulated link, and a session in which the student's receiver and the engine of this
 * project get the same chunks in the same order. Their results are compared after each chunk.
 */
#ifndef LABS_GRADER_SCTP_MODEL_H
#define LABS_GRADER_SCTP_MODEL_H

#include "ddp/ddp.h"
#include "labs/grader/lab.h"

enum {
	BUFFERS_POSTED = 64, /* BUFFERS_MAX of arrival.h */
	MEMORIES_MAX = 512,
	NUMBERS_MAX = 80000, /* segments of a session */
	POOL_LEN = 4096,     /* octets from which payloads are taken */
};

/* As in arrival.h. */
enum arrival {
	ARRIVAL_PLACED,
	ARRIVAL_DUPLICATE,
	ARRIVAL_BEYOND,
	ARRIVAL_STAG,
	ARRIVAL_NO_BUFFER,
	ARRIVAL_BOUNDS,
	ARRIVAL_STOPPED,
	ARRIVALS,
};

/* --- the link --------------------------------------------------------------------------------- */

struct packet {
	uint64_t number; /* in the order of the sender; the first segment has 1 */
	struct iw_ddp ddp;
	const uint8_t *payload;
	size_t len;
	uint64_t sent, arrived; /* ns */
};

struct plan {
	struct packet *packets;
	size_t n, cap;
	uint64_t next; /* number */
	uint32_t msn;  /* next */
};

void sctp_plan_init(struct plan *plan);
void sctp_plan_free(struct plan *plan);
/*
 * Adds a message of len octets in segments of random lengths, at most `longest`. Payload is from
 * pool, which has POOL_LEN octets and is borrowed.
 */
void sctp_plan_tagged(struct plan *plan, struct lab_run *run, const uint8_t *pool, uint32_t stag,
		      uint64_t to, size_t len, size_t longest);
void sctp_plan_untagged(struct plan *plan, struct lab_run *run, const uint8_t *pool, size_t len,
			size_t longest);

struct link {
	uint64_t gap;     /* ns between two packets */
	uint64_t one_way; /* ns */
	uint64_t jitter;  /* ns, at most: packets overtake each other */
	uint64_t rtt;     /* ns from a loss to the retransmission */
	unsigned loss;    /* of 1,000 transmissions */
	unsigned losses;  /* of one packet, at most */
	unsigned again;   /* of 1,000 packets: arrive twice */
};

/* Sends the packets, and sorts them by their arrival. Copies are added to the plan. */
void sctp_link_carry(const struct link *link, struct lab_run *run, struct plan *plan);

/* --- the session ------------------------------------------------------------------------------ */

struct session {
	struct lab_run *run;
	struct iw_stag_table *stags;
	struct iw_ddp_stream *ddp;
	uint32_t window;
	struct {
		uint8_t *at;
		size_t len;
		char name[48];
	} memories[MEMORIES_MAX];
	size_t nmemories;
	uint32_t posted;    /* Untagged Buffers so far */
	uint32_t delivered; /* untagged messages */
	uint64_t arrived;   /* segments, each once */
	bool stopped;
	bool seen[NUMBERS_MAX];
};

/* What sctp_session_arrive compares. */
enum judge {
	/* The delivered messages and the early segments. Without it nothing is delivered. */
	JUDGE_DELIVERY = 1,
	JUDGE_MEMORY = 2, /* all buffers */
};

/* Runs a call whose only result is whether it succeeded. */
bool sctp_succeeds(struct lab_run *run, const char *what);

/* Creates the receiver, ours and the student's. NULL after lab_fail(). */
struct session *sctp_session_new(struct lab_run *run, uint32_t window);
/* Frees both. False after a failure of the student. NULL is allowed. */
bool sctp_session_end(struct session *s);
/* Frees ours alone: for a run that has failed. */
void sctp_session_free(struct session *s);

/* Registers a Tagged Buffer, posts an Untagged Buffer. False after a failure. */
bool sctp_session_register(struct session *s, uint64_t to, uint32_t len, uint32_t *stag);
bool sctp_session_post(struct session *s, uint32_t len);

/* Passes a packet to both receivers, and compares what they do. False after a failure. */
bool sctp_session_arrive(struct session *s, const struct packet *p, unsigned judge);
/* The same for many packets in one call. The buffers are compared at the end. */
bool sctp_session_arrive_all(struct session *s, const struct packet *p, size_t n, unsigned judge);
bool sctp_session_compare_memories(struct session *s);

/* The octets of a DDP Segment Chunk: at most CHUNK_LEN. Returns their number. */
#define CHUNK_LEN (IW_DDP_HDR_MAX + 2 + POOL_LEN)
size_t sctp_chunk_encode(uint8_t *dst, const struct packet *p);

#endif
