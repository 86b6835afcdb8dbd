/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The attacker's connection to the careless server.
 *
 * Each function below sends one request and waits for its answer. A request costs one unit of the
 * attack's budget, also if it is refused.
 *
 * After a refused RDMA Read or RDMA Write the server sends a Terminate Message and ends the stream,
 * as RFC 5040 7 asks for. Requests on an ended stream give STREAM_ENDED until wire_connect().
 */
#ifndef WIRE_H
#define WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "security.h"

enum {
	SECRET_LEN = 16,
	MARK_LEN = 8,
};
/* These MARK_LEN octets precede the secret in the memory of the server. */
#define MARK "SECRET->"

/* The answer to a request: 0 (ALLOWED) or another enum verdict, or one of these. */
enum wire_status {
	STREAM_ENDED = 32, /* there was a Terminate: connect first */
	NO_BUFFER,         /* wire_register: the server has no free buffer; the stream stays open */
	NO_CONNECTION,     /* wire_connect: the server accepts no more connections of this client */
	SERVER_CRASHED,    /* the request made the server access memory that it does not have */
	BUDGET_SPENT,      /* no request is answered any more */
};

/* A registered buffer, as the server describes it to the client to which it belongs. */
struct lease {
	uint32_t stag;
	uint32_t len;
	uint64_t to;
	uint32_t rights; /* set of enum right */
};

enum request_kind {
	REQUEST_CONNECT,
	REQUEST_READ,
	REQUEST_WRITE,
	REQUEST_REGISTER,
	REQUEST_RELEASE,
	REQUEST_WAIT,
};

struct request {
	enum request_kind kind;
	uint32_t stag;       /* READ, WRITE, RELEASE */
	uint64_t to;         /* READ, WRITE */
	uint32_t len;        /* READ, WRITE */
	uint32_t rights;     /* REGISTER */
	const uint8_t *data; /* WRITE: len octets */
};

struct reply {
	int status;          /* enum verdict or enum wire_status */
	struct lease lease;  /* REGISTER: the new buffer */
	const uint8_t *data; /* READ: the octets; valid until the next request */
	uint32_t len;
};

/* Carries requests. In the grader's check they leave this process; in tests.c they do not. */
struct wire {
	void (*exchange)(struct wire *w, const struct request *q, struct reply *r);
};

/* Opens a new stream. The client stays the same: its buffers are still its own. */
int wire_connect(struct wire *w);

/* RDMA Read of len octets from TO `to` of the server's buffer stag into dst. */
int wire_read(struct wire *w, uint32_t stag, uint64_t to, uint8_t *dst, uint32_t len);

/* RDMA Write, in one segment, of len octets from src. */
int wire_write(struct wire *w, uint32_t stag, uint64_t to, const uint8_t *src, uint32_t len);

/*
 * Asks for a buffer with these rights (a Send). ALLOWED: *lease describes it. The server may grant
 * fewer rights than the client asked for.
 */
int wire_register(struct wire *w, uint32_t rights, struct lease *lease);

/* Says that the client needs a buffer no longer (a Send with Invalidate). */
int wire_release(struct wire *w, uint32_t stag);

/* Lets the server work for its other clients, which make four accesses to their own buffers. */
int wire_wait(struct wire *w);

/*
 * Looks for MARK in len octets. If all of the secret follows it, copies the secret and returns
 * true.
 */
bool find_secret(const uint8_t *octets, size_t len, uint8_t secret[SECRET_LEN]);

#endif
