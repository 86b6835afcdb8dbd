/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lab 4: a model of what one end of an RDMAP stream must do. Each function makes a call of the
 * student's module, computes what it must return, and compares. They return false after lab_fail().
 *
 * The model has the rules of RFC 5040 5.5 alone. Headers, segments and the checks of an STag are
 * those of lib/wire and lib/ddp. There is one model at a time.
 */
#ifndef LABS_GRADER_READ_MODEL_H
#define LABS_GRADER_READ_MODEL_H

#include "ddp/ddp.h"
#include "labs/grader/lab.h"
#include "labs/grader/read/regions.h"
#include "wire/ddp.h"

enum read_kind { READ_SEND, READ_WRITE, READ_READ };

enum {
	READ_OPS_MAX = 512,      /* posts of a model */
	READ_REQUESTS_MAX = 512, /* Requests of a model */
};

struct read_op {
	uint64_t id;
	enum read_kind kind;
	bool fence;
	uint32_t len;
	uint8_t *octets; /* Send, Write: the message; Read: the sink. Memory of the model */
	uint32_t sink_stag, remote_stag;
	uint64_t sink_to, remote_to;
	/* How far it is. */
	bool sent, answered;
	uint32_t got;
};

struct read_model {
	struct lab_run *run;
	uint32_t number, ird, ord, depth;
	bool ended, canceled; /* canceled: an operation has completed in error */
	uint64_t blocks;      /* allocated before stream_new() */
	/* Operations: completed below head, sent below next. */
	struct read_op ops[READ_OPS_MAX];
	uint32_t head, next, tail;
	/* Requests of the peer, and their sources: answered below first. */
	struct iw_rreq requests[READ_REQUESTS_MAX];
	const uint8_t *sources[READ_REQUESTS_MAX];
	uint32_t first, end;
	uint32_t send_msn, read_msn;
	enum { READ_NOTHING, READ_OPERATION, READ_RESPONSE } current;
	struct iw_ddp_out out; /* the current message */
	uint8_t rreq[IW_RDMAP_RREQ_LEN];
	/* The last events, for lab_case(), and the last one of them. */
	char events[200], event[100];
	unsigned int times;
};

/*
 * Creates a stream. Region 0: source_len octets, which every stream may read. Region 1: 300 octets
 * near the end of the 32-bit numbers, which this stream alone may read and write. Region 2: may be
 * written. Region 3: of another stream.
 */
bool read_new(struct read_model *m, struct lab_run *run, uint32_t ird, uint32_t ord, uint32_t depth,
	      uint32_t source_len);
/* Frees the stream, and expects that its memory is free. */
bool read_free(struct read_model *m);

/* Adds an event to the description of the case. */
void read_note(struct read_model *m, const char *text);

/* A Request that is valid: size octets of region 0 or 1, at a random place. */
struct iw_rreq read_valid(struct read_model *m, uint32_t size);
/* stream_request() with this Request. */
bool read_request(struct read_model *m, const struct iw_rreq *q);
/* stream_request() with a valid Request of size octets. */
bool read_request_of(struct read_model *m, uint32_t size);
/* The same with any octets. */
bool read_request_octets(struct read_model *m, const uint8_t *octets, size_t len);

/* stream_post() of an operation with random octets, STags and TOs. */
bool read_post(struct read_model *m, enum read_kind kind, uint32_t len, bool fence);

/* stream_next_segment(). *any: there was one. any may be NULL. */
bool read_segment(struct read_model *m, size_t mulpdu, bool *any);
/* The same until it returns 0. */
bool read_segments(struct read_model *m, size_t mulpdu);

/* stream_response() with this segment. */
bool read_response(struct read_model *m, const struct iw_ddp *h, const uint8_t *payload,
		   size_t len);
/* The header of the next segment of the Response that is expected, and the octets that are left. */
bool read_expected(struct read_model *m, struct iw_ddp *h, uint32_t *left);
/*
 * The same with a valid segment of at most `most` octets for the oldest Read; nothing without one.
 */
bool read_answer(struct read_model *m, uint32_t most);
/* Answers all outstanding Reads. */
bool read_answers(struct read_model *m, uint32_t most);
/* Compares the sinks of all Reads that are not completed. */
bool read_sinks(struct read_model *m);

/* stream_next_completion(). *any: there was one. any may be NULL. */
bool read_completion(struct read_model *m, bool *any);
bool read_completions(struct read_model *m);

/* Outstanding Reads of this end. */
uint32_t read_outstanding(const struct read_model *m);

#endif
