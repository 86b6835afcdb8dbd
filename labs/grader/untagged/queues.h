/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lab 3: the receiver in the student's process, and a small model of it that says what each call
 * must return. One receiver at a time. A function that returns bool (or a pointer) calls the
 * student's module; false (or NULL): the result was wrong, and lab_fail() has it.
 */
#ifndef LABS_GRADER_UNTAGGED_QUEUES_H
#define LABS_GRADER_UNTAGGED_QUEUES_H

#include "labs/grader/lab.h"
#include "wire/ddp.h"

enum {
	QUEUES = 3,
	DEPTH_MAX = 256,
	MESSAGES = 1024, /* of a case */
	POOL = 4 << 20,  /* octets of the messages of a case */
	FILL = 0xee,     /* a new buffer in the student's process */
	SEGMENTS = 512,  /* of a shuffled case */
	PAYLOAD_MAX = 1 << 16,
};

/* Results of untagged_receive(), as in untagged.h. The errors are the engine's: CODE(IW_E_DDP_QN). */
enum result { PLACED = 0, NOTHING_NEW = 1, DROPPED = 2 };
#define CODE(err) (iw_err_term(err) & 0xffffu)

/* A message of the peer, and the buffer that is posted for it. */
struct message {
	uint32_t qn, msn, len;
	uint8_t control;
	uint32_t rsvdulp;
	uint32_t size; /* of the buffer */
	uint64_t cookie;
	uint8_t *octets;  /* len of the message */
	uint8_t *buffer;  /* size: what the buffer must have */
	uint8_t *arrived; /* len flags: this octet was placed */
	bool has_end;
};

/* A part of a message, as one segment carries it. */
struct part {
	struct message *m;
	uint32_t mo, len;
	bool last;
};

/* The receiver in the student's process, as the grader knows it. */
struct queues {
	struct lab_run *run;
	uint32_t depth[QUEUES], first[QUEUES];
	struct message messages[MESSAGES];
	size_t count;
	uint32_t posted[QUEUES];    /* messages of each queue so far */
	uint32_t delivered[QUEUES]; /* of them */
	uint8_t pool[POOL];
	size_t used;
	struct part parts[SEGMENTS]; /* in the order in which they will arrive */
	size_t part_count;
};

extern struct queues queues;

/* What untagged_deliver() has returned. */
struct delivery {
	uint8_t is;
	uint64_t cookie;
	uint32_t msn, length;
	uint8_t control;
	uint32_t rsvdulp;
	uint8_t own_memory, intact;
	struct lab_octets buffer;
};

/* Octets for a message of the case, each with the value fill. */
uint8_t *queues_pool(size_t len, int fill);

/* A new receiver. depth and first: the depths and first MSNs of queues 0 to 2. */
bool queues_begin(struct lab_run *run, const uint32_t depth[QUEUES], const uint32_t first[QUEUES]);
/* The same depth for all queues, and first MSN 1. */
bool queues_begin_plain(struct lab_run *run, uint32_t depth);
/* Frees the receiver. */
bool queues_end(void);

/* Posts a buffer that no message of the model uses. expected: is it accepted? */
bool queues_post(uint32_t qn, uint32_t size, uint64_t cookie, bool expected);
/* Adds the next message of a queue, of random octets, and posts a buffer of `size` for it. */
struct message *queues_add(uint32_t qn, uint32_t len, uint32_t size);
/* Returns the message that is the next to be delivered on the queue; NULL: none is posted. */
struct message *queues_next(uint32_t qn);
bool queues_complete(const struct message *m);
bool queues_delivered(const struct message *m);

/* The header of a segment of the message. */
struct iw_ddp queues_header(const struct message *m, uint32_t mo, bool last);
/* Places a segment in the model only. */
enum result queues_model(struct message *m, uint32_t mo, uint32_t len, bool last);
/* The module receives these octets; expected: the result. */
bool queues_receive(const uint8_t *segment, size_t len, uint32_t expected);
bool queues_receive_header(const struct iw_ddp *h, const uint8_t *payload, size_t len,
			   uint32_t expected);
/* The module receives a valid segment of the message. */
bool queues_send(struct message *m, uint32_t mo, uint32_t len, bool last);
bool queues_send_whole(struct message *m);
/* A valid segment that must be dropped, because reception has ended. */
bool queues_send_dropped(const struct message *m);

/* The buffer of a message that is not delivered has exactly the octets that have arrived. */
bool queues_expect_placed(const struct message *m);
/* Nothing is delivered on the queue; why: for the report. */
bool queues_expect_none(uint32_t qn, const char *why);
/* The message is delivered now. */
bool queues_expect_message(const struct message *m);
/* All that can be delivered on the queue is delivered, and no more. */
bool queues_expect_deliveries(uint32_t qn);
bool queues_expect_all_deliveries(void);
/* Delivers without any expectation. */
bool queues_deliver(uint32_t qn, struct delivery *d);
/* Flushes one buffer, or all of them in order. */
bool queues_flush(uint32_t qn, bool expected, uint64_t expected_cookie);
bool queues_expect_flush(void);

/* Appends to queues.parts. */
void queues_part(struct message *m, uint32_t mo, uint32_t len, bool last);
void queues_shuffle(struct lab_run *run);

/* `make trace` and `./check --speed` */
bool untagged_trace(struct lab_run *run, const char *path);
int untagged_speed(struct lab_run *run, struct lab_speed *results, size_t cap);

#endif
