/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The messages between the two ends of ddp-bench, documented in ddp-bench(1). RUN is the Private
 * Data of the MPA Request or the Session Initiate. REFUSED may be that of the rejection. All others
 * are Sends with Solicited Event, which distinguishes them from data in plain Sends.
 *
 *     octets 0..2   "iwB"
 *            3      type
 *            4..5   the number of numbers
 *            6..7   the number of octets of text
 *            8..    the numbers, 64 bits each, then the text
 *
 * All values are big-endian. A receiver skips numbers that it does not know, and takes missing ones
 * as 0, so that later versions can add numbers.
 */
#ifndef IW_DDP_BENCH_MSG_H
#define IW_DDP_BENCH_MSG_H

#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "ddp-bench/sample.h"

#define IW_BENCH_VERSION 1
#define IW_BENCH_NUMBERS 24  /* numbers in a message that we send, at most */
#define IW_BENCH_TEXT    200 /* octets of text, at most */
#define IW_BENCH_MSG_MAX 512 /* octets of a receive for messages, at least */

enum iw_bench_type {
	IW_BENCH_RUN = 1,     /* client: requests a run; text: congestion control, or empty */
	IW_BENCH_GO = 2,      /* client: the first Send, before which no responder may send */
	IW_BENCH_READY = 3,   /* server: it is prepared; text: its kernel's release */
	IW_BENCH_MARK = 4,    /* client, after data: requests a REPORT */
	IW_BENCH_REPORT = 5,  /* server: answers a MARK; text: its congestion control */
	IW_BENCH_CREDIT = 6,  /* server: Sends received whose receives are posted again */
	IW_BENCH_CHECK = 7,   /* client, after the last MARK: requests a digest of the memory */
	IW_BENCH_CHECKED = 8, /* server: answers a CHECK */
	IW_BENCH_REFUSED = 9, /* server: refuses the run; text: the reason */
};

/* Only numbers, in the order on the wire. */
struct iw_bench_run {
	uint64_t version; /* IW_BENCH_VERSION */
	uint64_t mode;    /* enum iw_bench_mode */
	uint64_t size;    /* octets of an operation */
	uint64_t depth;   /* operations outstanding, each with memory of its own at both ends */
	uint64_t seed;    /* read: seed of the data in the server's memory */
	uint64_t loan;    /* 1: read Sends in the receive buffers if possible */
};

struct iw_bench_ready {
	uint64_t stag, to; /* write, read: the server's memory, depth times size octets */
};

struct iw_bench_mark {
	uint64_t number;
	uint64_t octets; /* write: octets sent since the beginning */
	uint64_t last;   /* 1: no data follows */
};

struct iw_bench_report {
	uint64_t number;
	uint64_t messages, octets; /* write: only octets, as in the MARK; send: those received */
	uint64_t clients;          /* of the server now, including this one */
	struct iw_bench_sample sample;
	uint64_t loans; /* messages read in the receive buffers */
};

struct iw_bench_credit {
	uint64_t messages;
};

struct iw_bench_check {
	uint64_t slots; /* write: number of slots, from the first, in the digest */
};

struct iw_bench_checked {
	uint64_t digest;      /* XXH3, 64 bits */
	uint64_t first, last; /* send: messages first to last-1 are in the digest */
	uint64_t wrong;       /* send: messages whose length or stamp was wrong */
};

struct iw_bench_msg {
	enum iw_bench_type type;
	union {
		uint64_t number[IW_BENCH_NUMBERS];
		struct iw_bench_run run;
		struct iw_bench_ready ready;
		struct iw_bench_mark mark;
		struct iw_bench_report report;
		struct iw_bench_credit credit;
		struct iw_bench_check check;
		struct iw_bench_checked checked;
	};
	char text[IW_BENCH_TEXT + 1];
};

/* Encodes *m into buf, with at most IW_BENCH_TEXT octets of its text. Returns the length. */
size_t iw_bench_msg_encode(uint8_t buf[static IW_BENCH_MSG_MAX], const struct iw_bench_msg *m);
/*
 * Decodes a message. m->text is always terminated. Returns 0, or
 *  - IW_E_TRUNC: it is incomplete;
 *  - IW_E_FORMAT: it is not a valid message.
 */
IW_MUST_CHECK int iw_bench_msg_decode(struct iw_bench_msg *m, const uint8_t *buf, size_t len,
				      struct iw_fault *why);
/* Returns "RUN", ..., or "?" for an unknown type. */
const char *iw_bench_type_name(enum iw_bench_type type);

#endif
