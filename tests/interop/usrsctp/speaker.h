/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A second implementation of DDP over SCTP (RFC 5043), with Sends, RDMA Writes and RDMA Reads of
 * RDMAP. It was written from the RFCs, and uses only the layouts of lib/wire. A received message
 * that violates the RFCs is reported on standard error.
 *
 * No I/O: the caller carries its messages over SCTP. One association.
 */
#ifndef TESTS_INTEROP_USRSCTP_SPEAKER_H
#define TESTS_INTEROP_USRSCTP_SPEAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum speaker_job {
	JOB_SERVE,  /* accepts sessions: returns messages, or has a buffer for Writes and Reads */
	JOB_PING,   /* sends messages to a peer that returns them, and compares */
	JOB_BUFFER, /* fills the peer's buffer by RDMA Write, reads it by RDMA Read, and compares */
};

struct speaker_cfg {
	enum speaker_job job;
	bool plain;       /* without the additions of RFC 6581 to RFC 5043 */
	uint16_t streams; /* JOB_PING: sessions */
	uint32_t count;   /* JOB_PING: messages of each */
	uint32_t size;    /* octets of a message, or of the buffer */
	uint32_t stag;    /* of the buffer */
	uint8_t *buffer;  /* JOB_SERVE: size octets, borrowed until speaker_free() */
	bool has_key;     /* JOB_BUFFER */
	uint8_t key[16];
	size_t mulpdu; /* the longest segment to send, in octets; at most 60,000 */
};

struct speaker;

/* streams: the number that SCTP agreed on. The program exits if no memory is available. */
struct speaker *speaker_new(const struct speaker_cfg *cfg, uint16_t streams);
void speaker_free(struct speaker *s);

/* Processes a received message. Returns false if it, or an earlier one, violates the RFCs. */
bool speaker_message(struct speaker *s, uint16_t stream, uint32_t ppid, bool unordered,
		     const uint8_t *data, size_t len);

struct speaker_out {
	uint16_t stream;
	uint32_t ppid;
	const uint8_t *data;
	size_t len;
};
/*
 * Returns the next message to send, unordered; false if none is pending. *out borrows it until
 * speaker_taken(), which removes it from the queue.
 */
bool speaker_next(struct speaker *s, struct speaker_out *out);
void speaker_taken(struct speaker *s);

/* True if all sessions are closed or rejected, and no output is pending. */
bool speaker_finished(const struct speaker *s);
struct speaker_facts {
	/* refused: enhanced Initiates that a plain speaker answered with Terminate */
	unsigned sessions, rejected, refused;
	/* Received Sends, Writes and Read Responses. */
	uint64_t messages, octets;
	/* Messages that arrived before one with a lower DDP-SSN. */
	uint64_t early;
	/* Messages passed to SCTP, and messages received from it. */
	uint64_t sent, received;
};
void speaker_facts(const struct speaker *s, struct speaker_facts *out);

#endif
