/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One end of an RDMAP stream: RDMA Reads in both directions, and the order of everything that this
 * end sends (RFC 5040).
 *
 *                        your module                              the transport
 *              +---------------------------------------+
 *   post  ---> | operations: Send, RDMA Write and Read |
 *              |                    one segment each ->| ---> stream_next_segment()
 *              | Read Requests of the peer: Responses  |
 *              |                                       | <--- stream_request()
 *   next  <--- | completions      Responses to us:     | <--- stream_response()
 *              |                  placed in the sink   |
 *              +---------------------------------------+
 *
 * The transport keeps order and loses nothing, as MPA over TCP does. The layers below have checked
 * everything that labs 1 to 3 are about; each function says what you can rely on. Sends and RDMA
 * Writes of the peer do not pass through this module.
 *
 * No function waits, and no threads are involved.
 */
#ifndef READ_H
#define READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Results. Those below 0x2000 are also in the Terminate to the peer, which ends the stream: layer
 * (4 bits), error type (4 bits) and error code (8 bits), RFC 5040 figure 9 and RFC 5041 7.2.
 */
enum error {
	ERR_NONE = 0,
	ERR_SOURCE_STAG = 0x0100,   /* RDMAP, protection error: invalid STag */
	ERR_SOURCE_BOUNDS = 0x0101, /* base or bounds violation */
	ERR_SOURCE_RIGHTS = 0x0102, /* access rights violation */
	ERR_SOURCE_STREAM = 0x0103, /* STag not associated with the stream */
	ERR_SOURCE_WRAP = 0x0104,   /* TO wrap */
	ERR_UNEXPECTED = 0x0206,    /* RDMAP, operation error: unexpected OpCode */
	ERR_REQUEST = 0x0207,       /* catastrophic error of the stream: malformed Request */
	ERR_SINK_STAG = 0x1100,     /* DDP, tagged buffer error: invalid STag */
	ERR_SINK_BOUNDS = 0x1101,   /* base or bounds violation */
	ERR_NO_BUFFER = 0x1202,     /* DDP, untagged buffer error: no buffer for the MSN */

	ERR_FULL = 0x2000, /* local results, which the peer never sees */
	ERR_LIMIT,
	ERR_ENDED,
	ERR_CANCELED,
};

/* --- step "header" ---------------------------------------------------------------------------- */

#define READ_REQUEST_LEN 28

/*
 * An RDMA Read Request (RFC 5040 4.4). The sink is with the requester, the source with the
 * responder.
 */
struct read_request {
	uint32_t sink_stag;
	uint64_t sink_to;
	uint32_t size; /* octets to read */
	uint32_t source_stag;
	uint64_t source_to;
};

/* Writes the header, without a DDP header before it: READ_REQUEST_LEN octets. */
void request_encode(uint8_t *out, const struct read_request *r);
/*
 * Reads the message of len octets, without a DDP header. ERR_REQUEST: len is not READ_REQUEST_LEN;
 * then *r stays unchanged.
 */
enum error request_decode(struct read_request *r, const uint8_t *message, size_t len);

/* --- step "source" ---------------------------------------------------------------------------- */

/* Rights to a region. */
enum right { RIGHT_REMOTE_READ = 1, RIGHT_REMOTE_WRITE = 2 };

/* Registered memory, to which the peer has access by its STag. */
struct region {
	uint32_t stag;
	uint32_t stream; /* the number of the only stream that may use it; 0: every stream may */
	uint32_t rights; /* set of enum right */
	uint64_t to;     /* Tagged Offset of its first octet; to + len is below 2^64 */
	uint64_t len;    /* octets */
	uint8_t *base;
};

/*
 * Decides whether the peer may read the source of the request on the stream of that number, and
 * sets *source to its first octet. The checks (RFC 5040 7.2), the first error is the result:
 *   - ERR_SOURCE_STAG: no region has this STag;
 *   - ERR_SOURCE_STREAM: the region belongs to another stream;
 *   - ERR_SOURCE_RIGHTS: the region may not be read by a peer;
 *   - ERR_SOURCE_WRAP: source TO + size is 2^64 or more;
 *   - ERR_SOURCE_BOUNDS: one of the octets is outside of the region.
 * If the size is 0, none of this is checked (RFC 5040 5.2.1): ERR_NONE, and *source is NULL.
 * *source is NULL after an error too.
 */
enum error source_check(const struct region *regions, size_t n, uint32_t stream,
			const struct read_request *r, const uint8_t **source);

/* --- the stream ------------------------------------------------------------------------------- */

struct stream_config {
	uint32_t number; /* for source_check() */
	uint32_t ird;    /* Read Requests of the peer that may be outstanding; may be 0 */
	uint32_t ord;    /* Read Requests of this end that may be outstanding; may be 0 */
	uint32_t depth;  /* operations that are posted and not completed: at least 1 */
	/* Borrowed until stream_free(). The octets may change at any time. */
	const struct region *regions;
	size_t n_regions;
};

struct stream; /* in read.c */

/* Creates a stream; the configuration is copied. NULL: no memory. */
struct stream *stream_new(const struct stream_config *config);
/* Frees it, whatever its state. NULL is allowed. */
void stream_free(struct stream *s);

/* --- steps "response" and "queue": the peer reads --------------------------------------------- */

/*
 * A message of queue 1 was delivered: its len octets (borrowed for the call) without the DDP
 * header. A Request is outstanding from here until stream_next_segment() has returned the last
 * segment of its Response. The checks, in this order; an error ends the stream:
 *   - ERR_ENDED: the stream has ended before; nothing happens;
 *   - ERR_NO_BUFFER: `ird` Requests are outstanding already (RFC 5040 6.1, RFC 5041 7.2);
 *   - ERR_REQUEST: the length is wrong;
 *   - those of source_check().
 */
enum error stream_request(struct stream *s, const uint8_t *message, size_t len);

/*
 * Writes the next segment to out, DDP header included. mulpdu (at least DDP_MULPDU_MIN) is its
 * largest length, and the size of out. It may be another one with each call. Returns the length; 0:
 * nothing can be sent now.
 *
 * Messages are cut such that each segment except the last one of a message has mulpdu octets. Only
 * the last one has the L bit (RFC 5041 5.2). A message of 0 octets is one segment without payload.
 * A message that was begun is continued to its end before another one begins (RFC 5041 5.3).
 *
 * Read Responses are sent in the order of the Requests (RFC 5040 5.2.2), with STag and TO of the
 * sink as requested. Operations are sent in the order of their posts. No rule orders Responses and
 * operations among each other (RFC 5040 5.5, rule 2): you may choose between them.
 */
size_t stream_next_segment(struct stream *s, uint8_t *out, size_t mulpdu);

/* --- steps "post" and "limits": this end's operations ----------------------------------------- */

enum kind { KIND_SEND, KIND_WRITE, KIND_READ };

struct operation {
	uint64_t id; /* for its completion; chosen by the caller */
	enum kind kind;
	/*
	 * Does not begin, and nothing after it does, while a Read before it is outstanding (RFC
	 * 5040 5.5, rule 12).
	 */
	bool fence;
	uint32_t len;        /* octets of the message; of a Read: octets to read */
	const uint8_t *data; /* Send, Write: the len octets, unchanged until the completion */
	uint8_t *sink;       /* Read: where its len octets go; valid until the completion */
	uint32_t sink_stag;  /* Read: STag and TO of the sink, for the Request */
	uint64_t sink_to;
	uint32_t remote_stag; /* Write: the sink; Read: the source */
	uint64_t remote_to;
};

/*
 * Queues an operation, which is copied. Send: untagged, queue 0. Write: tagged, to the remote STag
 * and TO. Read: a Read Request in queue 1. The MSN of each queue begins with 1. A Read is
 * outstanding from the segment of its Request until the last segment of its Response has arrived.
 * If `ord` Reads are outstanding, the next one does not begin (RFC 5040 6.1), and nothing that was
 * posted after it does (RFC 5040 5.5, rule 13). Responses to the peer do not wait for this.
 *
 * ERR_ENDED: the stream has ended. ERR_FULL: stream_next_completion() has not yet returned `depth`
 * operations. ERR_LIMIT: a Read, and ord is 0, so it could never begin.
 */
enum error stream_post(struct stream *s, const struct operation *op);

/* --- steps "place" and "errors": Responses to this end's Reads -------------------------------- */

/*
 * A segment of a Read Response has arrived: len octets (borrowed for the call), of which the first
 * DDP_TAGGED_LEN are a tagged header with a valid version and the opcode of a Read Response.
 *
 * It belongs to the oldest outstanding Read (RFC 5040 5.2.2). Its octets are placed in the sink,
 * and with the L bit the Read is answered. The checks come before anything is placed, in this
 * order; an error ends the stream:
 *   - ERR_ENDED: the stream has ended before; nothing happens;
 *   - ERR_UNEXPECTED: no Read is outstanding;
 *   - ERR_SINK_STAG: the STag is not that of the sink;
 *   - ERR_SINK_BOUNDS: the TO is not that of the next octet of the sink, or there are more octets
 *     than the Read has left, or the segment has the L bit and there are fewer.
 * STag and TO of a segment without octets are not checked (RFC 5041 5.2).
 */
enum error stream_response(struct stream *s, const uint8_t *segment, size_t len);

/* --- step "completion" ------------------------------------------------------------------------ */

struct completion {
	uint64_t id;
	enum kind kind;
	enum error status; /* ERR_NONE or ERR_CANCELED */
};

/*
 * Sets *c and returns true if the oldest operation is complete: a Send or Write when
 * stream_next_segment() has returned its last segment, a Read when it is answered. Operations
 * complete in the order of their posts (RFC 5040 5.5, rule 15), each of them once.
 *
 * After the stream has ended, the operations that have not succeeded complete with ERR_CANCELED, in
 * the same order (RFC 5040 6.2.1). stream_next_segment() then returns 0, also in the middle of a
 * message.
 */
bool stream_next_completion(struct stream *s, struct completion *c);

#endif
