/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the two ends of ddp-bench say to each other; ddp-bench(1) has it in full. RUN is the
 * Private Data of the MPA Request, REFUSED may be that of a rejecting Reply. All others are Sends
 * with Solicited Event, so that they are never taken for data, which travels in plain Sends.
 *
 *     octets 0..2   "iwB"
 *            3      type
 *            4..5   how many numbers follow
 *            6..7   how many octets of text follow those
 *            8..    the numbers, 64 bits each, then the text
 *
 * All big-endian. Numbers that a reader does not know are skipped, those that it misses are 0: so
 * both ends may grow.
 */
#ifndef IW_BENCH_MSG_H
#define IW_BENCH_MSG_H

#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "ddp-bench/sample.h"

#define IW_BENCH_VERSION 1
#define IW_BENCH_NUMBERS 24  /* most of a message that we write */
#define IW_BENCH_TEXT    200 /* most octets of text */
#define IW_BENCH_MSG_MAX 512 /* a receive for messages is at least that long */

enum iw_bench_type {
	IW_BENCH_RUN = 1,     /* client: requests a run; text: congestion control, or empty */
	IW_BENCH_GO = 2,      /* client: the first Send, before which no responder may speak */
	IW_BENCH_READY = 3,   /* server: all is prepared; text: its kernel's release */
	IW_BENCH_MARK = 4,    /* client, after its data: requests a REPORT */
	IW_BENCH_REPORT = 5,  /* server: the answer to a MARK; text: its congestion control */
	IW_BENCH_CREDIT = 6,  /* server: so many Sends came, and their receives are posted again */
	IW_BENCH_CHECK = 7,   /* client, after the last MARK: requests a digest of the memory */
	IW_BENCH_CHECKED = 8, /* server: the answer */
	IW_BENCH_REFUSED = 9, /* server: no; text: why */
};

/* Numbers only, in the order in which they travel. */
struct iw_bench_run {
	uint64_t version; /* IW_BENCH_VERSION */
	uint64_t mode;    /* enum iw_bench_mode */
	uint64_t size;    /* octets of an operation */
	uint64_t depth;   /* operations outstanding, each with memory of its own at both ends */
	uint64_t seed;    /* read: of what the server's memory is to hold */
	uint64_t loan;    /* 1: Sends are read where they came, if that can be */
};

struct iw_bench_ready {
	uint64_t stag, to; /* write, read: the server's memory, depth times size octets */
};

struct iw_bench_mark {
	uint64_t number;
	uint64_t octets; /* write: sent since the beginning */
	uint64_t last;   /* 1: no data follows */
};

struct iw_bench_report {
	uint64_t number;
	uint64_t messages, octets; /* write: octets alone, what MARK said; send: received */
	uint64_t clients;          /* of this server at the moment, this one included */
	struct iw_bench_sample sample;
	uint64_t loans; /* messages that were read where they came */
};

struct iw_bench_credit {
	uint64_t messages;
};

struct iw_bench_check {
	uint64_t slots; /* write: of how many operations' memory, from the first on */
};

struct iw_bench_checked {
	uint64_t digest;      /* XXH3, 64 bits */
	uint64_t first, last; /* send: first..last-1 are still there, and in the digest */
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

/* Into @buf (borrowed, IW_BENCH_MSG_MAX octets): how many octets it takes. Text behind
 * IW_BENCH_TEXT octets is cut. */
size_t iw_bench_msg_encode(uint8_t buf[static IW_BENCH_MSG_MAX], const struct iw_bench_msg *m);
/* 0; IW_E_TRUNC, IW_E_FORMAT: no such message, why says what is wrong. @m->text always ends. */
IW_MUST_CHECK int iw_bench_msg_decode(struct iw_bench_msg *m, const uint8_t *buf, size_t len,
				      struct iw_fault *why);
/* "RUN"; "?" for what is no type. */
const char *iw_bench_type_name(enum iw_bench_type type);

#endif
