/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A small iWARP end over TCP for labs 1 to 5. It has rping's conversation (Send, RDMA Read, RDMA
 * Write; see mpa-probe/rping.h) with any peer. Its layers are functions: those of one lab call the
 * student's module, the others are the ones of peer_own.c.
 *
 * All functions return false after lab_fail().
 */
#ifndef LABS_GRADER_PEER_H
#define LABS_GRADER_PEER_H

#include "labs/grader/lab.h"
#include "wire/ddp.h"
#include "wire/mpa.h"

enum {
	PEER_PORT = 7174,       /* rping's */
	PEER_PING_MAX = 65535,  /* octets */
	PEER_RECEIVES = 8,      /* buffers posted for Sends */
	PEER_RECEIVE_LEN = 256, /* octets of each */
	PEER_READS = 4,         /* IRD and ORD */
};

/* Octets in memory that grows. */
struct peer_octets {
	uint8_t *at;
	size_t len, cap;
};

/* Appends octets. src NULL: zeros. */
void peer_append(struct peer_octets *o, const void *src, size_t len);
/* Removes octets at the begin. */
void peer_remove(struct peer_octets *o, size_t len);

/* Memory that the remote end reads or writes, or that a Read of this end fills. */
struct peer_buffer {
	uint32_t number; /* 0: source, 1: sink */
	uint8_t data[PEER_PING_MAX];
	uint32_t stag;
	uint64_t to;
};

struct peer;

struct peer_layers {
	/* Before the first octet. NULL: nothing to do. */
	bool (*begin)(struct peer *p);
	/* MPA's start-up, with peer_write() and peer_read(). Sets p->rtr if one must be sent. */
	bool (*start_up)(struct peer *p);
	/* Framing: appends the FPDU of a ULPDU to p->out; takes octets; returns the next ULPDU. */
	bool (*frame)(struct peer *p, const uint8_t *ulpdu, size_t len);
	bool (*arrived)(struct peer *p, const uint8_t *octets, size_t len);
	bool (*next_ulpdu)(struct peer *p, bool *is, struct peer_octets *ulpdu);
	/* Tagged buffers: registers b, with its data; copies the present octets to b->data. */
	bool (*expose)(struct peer *p, struct peer_buffer *b);
	bool (*fill)(struct peer *p, struct peer_buffer *b, size_t len);
	bool (*place)(struct peer *p, const uint8_t *segment, size_t len);
	bool (*contents)(struct peer *p, struct peer_buffer *b, size_t len);
	/* The source of a Read Request: copies its octets to dst. */
	bool (*source)(struct peer *p, const struct iw_rreq *r, uint8_t *dst);
	/* Queue 0. */
	bool (*post)(struct peer *p);
	bool (*untagged)(struct peer *p, const uint8_t *segment, size_t len);
	bool (*deliver)(struct peer *p, bool *is, struct peer_octets *message);
	/* Operations of this end, and Reads of the peer. */
	bool (*send)(struct peer *p, const void *octets, size_t len);
	bool (*write)(struct peer *p, uint32_t stag, uint64_t to, const void *octets, size_t len);
	bool (*read)(struct peer *p, struct peer_buffer *sink, uint32_t stag, uint64_t to,
		     uint32_t len);
	bool (*request)(struct peer *p, const uint8_t *message, size_t len);
	bool (*response)(struct peer *p, const uint8_t *segment, size_t len);
	bool (*read_done)(struct peer *p, bool *is);
	/* The next segment to send, at most p->mulpdu octets. *len 0: none. */
	bool (*segment)(struct peer *p, uint8_t *dst, size_t *len);
};

enum peer_rtr { PEER_RTR_SEND = 1, PEER_RTR_WRITE = 2, PEER_RTR_READ = 4 };

struct peer {
	struct lab_run *run;
	struct peer_layers layers;
	bool initiator;
	int socket;
	bool closed; /* the remote end has ended its stream */
	uint64_t deadline;
	size_t mulpdu;
	unsigned int rtr;       /* the form that this end must send first, or 0 */
	struct peer_octets out; /* FPDUs to write */
	struct peer_buffer source, sink;
	/* Own layers. */
	struct peer_octets stream; /* received, not yet parsed */
	struct peer_octets queue;  /* segments to send, each after its length (32 bits) */
	struct peer_octets message, messages; /* being received; complete, each after its length */
	uint32_t msn[3];                      /* of the last message sent on each queue */
	uint32_t read_len, read_got;
	bool reading;
	/* Of the layers that are the student's. */
	uint64_t operations, read_id;
	bool read_complete;
};

extern const struct peer_layers peer_own;
/* The layers with those of the lab in their place; lab: 1 to 5. */
struct peer_layers peer_layers_of(unsigned int lab);

/* Writes octets to the socket, or reads at least one. *len 0: the remote end has ended its stream. */
bool peer_write(struct peer *p, const void *octets, size_t len);
bool peer_read(struct peer *p, uint8_t *dst, size_t cap, size_t *len);

/* The step `peer`: rping's conversations with mpa-probe, as its server and as its client. */
bool lab_peer_step(struct lab_run *run);

struct peer_cfg {
	const char *to; /* connect to this host; NULL: listen */
	const char *bind;
	uint16_t port;
	uint64_t rounds; /* client */
	uint32_t size;   /* client: octets of a ping */
};
/* `iwarp-lab peer`: one conversation with the program of a user. Prints what happens. */
bool lab_peer_run(struct lab_run *run, const struct peer_cfg *cfg);

#define LAB_PEER_STEP                                                                              \
	{                                                                                          \
		"peer", "a conversation with mpa-probe, as rping", 10, "RFC 5040, 5041, 5044", 0,  \
			lab_peer_step                                                              \
	}

#endif
