/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A second implementation of DDP over SCTP (RFC 5043), with Sends, RDMA Writes and RDMA Reads of
 * RDMAP. It was written from the RFCs, and uses only the layouts of lib/wire. A message that violates
 * the RFCs ends the program, with a line on standard error.
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
	uint8_t *buffer;  /* JOB_SERVE: kept; size octets */
	bool has_key;     /* JOB_BUFFER */
	uint8_t key[16];
	size_t mulpdu; /* octets of the longest segment it sends; 60,000 at most */
};

struct speaker;

/* Ends the program if there is no memory. streams: as SCTP agreed on. */
struct speaker *speaker_new(const struct speaker_cfg *cfg, uint16_t streams);
void speaker_free(struct speaker *s);

/* A message came. false: it, or one before it, is against the RFCs. */
bool speaker_message(struct speaker *s, uint16_t stream, uint32_t ppid, bool unordered,
		     const uint8_t *data, size_t len);

struct speaker_out {
	uint16_t stream;
	uint32_t ppid;
	const uint8_t *data;
	size_t len;
};
/* The next message to send, unordered; false: none now. */
bool speaker_next(struct speaker *s, struct speaker_out *out);
void speaker_taken(struct speaker *s);

/* All is said, also by the other side. */
bool speaker_finished(const struct speaker *s);
/* What was done, for a line of text. */
struct speaker_facts {
	unsigned sessions, rejected, refused; /* refused: enhanced Initiates, by a plain speaker */
	uint64_t messages, octets;            /* that came, of Sends, Writes and Read Responses */
	uint64_t early;                       /* messages that came before one of a lower DDP-SSN */
	uint64_t said, heard;                 /* chunks' worth of messages, to SCTP and from it */
};
void speaker_facts(const struct speaker *s, struct speaker_facts *out);

#endif
