/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to the room: what a manager is made of. */
#ifndef IW_RM_INTERNAL_H
#define IW_RM_INTERNAL_H

#include "rm/control.h"
#include "rm/guess.h"
#include "rm/map.h"
#include "rm/msg.h"
#include "rm/rm.h"
#include "util/heap.h"
#include "util/list.h"
#include "util/num.h"

#define BUCKETS 1024u /* of buffers by STag and by file, and of peers by queue pair */

/* A protection domain with the buffers in it and the peers connected to it. */
struct domain {
	struct iw_list all;
	struct iw_timer leave; /* no buffer is left: its peers are dropped then */
	struct iw_pd *pd;
	char name[IW_RM_NAME_MAX + 1]; /* "": of one buffer, or of those of its connections */
	struct iw_list buffers,
		peers; /* peers in the order they came, those that ended among them */
	unsigned live, ended;
};

struct buffer {
	struct iw_list all, by_stag, in_domain;
	struct iw_list by_file; /* buffers of files only, not of new memory */
	struct iw_timer expiry;
	struct domain *domain;
	struct peer *peer; /* of this connection alone; NULL: of the domain */
	struct iw_mr *mr;
	struct iw_map map;
	uint32_t stag;
	uint64_t to;
	unsigned access;
	uint32_t uses;
	struct iw_claim_key key;
	char label[IW_RM_LABEL_MAX + 1];
};

struct peer {
	struct iw_list by_qp, in_domain; /* by_qp: while it is connected */
	struct domain *domain;
	struct iw_qp *qp; /* NULL: it has ended */
	size_t qp_first;  /* iw_qp_memory when it was let in */
	uint32_t stream;  /* the manager's number for it */
	char addr[64];
	uint64_t since;        /* it was let in, or ended */
	struct iw_tally tally; /* when it has ended */
	char why[IW_XFER_TEXT_MAX + 1];
};

/*
 * What is left of the answer to a LIST: the next buffer to tell, or the next peer of the one told
 * last.
 */
struct cursor {
	struct buffer *buffer;
	struct domain *domain; /* whose peers are being told */
	struct peer *peer;
	bool one; /* this buffer alone */
	uint64_t told;
};

enum client_state { CLIENT_IDLE, CLIENT_LISTING, CLIENT_ENDING };

struct client {
	struct iw_list all;
	struct iw_timer timer;
	int fd;
	enum client_state state;
	bool wants_peers;
	struct cursor at;
	uint8_t out[IW_RM_MSG_MAX]; /* a message that waits for room */
	size_t out_len;
};

struct iw_rm {
	struct iw_ctx *ctx;
	struct iw_cq *cq; /* of queue pairs on which nothing is ever posted */
	const char *transport;
	char host[64];
	uint16_t port;
	uint64_t now;

	struct iw_list domains, buffers;
	struct iw_list buffers_by_stag[BUCKETS], buffers_by_file[BUCKETS], peers_by_qp[BUCKETS];
	unsigned nbuffers, npeers;
	uint64_t memory,
		memory_max; /* octets of new memory: registered, and the most; 0: no limit */
	uint64_t peers_max;
	uint32_t last_stream;
	struct iw_heap expiries, leaves, patience; /* of buffers, domains, clients */
	struct iw_guesses guesses;
	uint64_t beat_at; /* while peers are connected: the next look at all buffers */

	int epoll, sock; /* sock -1: no control socket */
	char path[IW_RM_PATH_MAX];
	uint64_t inode;      /* of path: it is removed if it is still ours */
	bool resting;        /* no room for a client: the listening socket is not looked at */
	uint64_t rest_until; /* there was no descriptor for one; IW_TIME_NEVER: there was */
	struct iw_list clients;
	unsigned nclients;
};

/* --- rm.c, for control.c --- */
/* file: given (-1: none), also when it fails. The answer's buffer is filled, with its key. */
int iw_rm_add(struct iw_rm *rm, const struct iw_rm_request *r, int file, struct iw_rm_buffer *out,
	      struct iw_fault *why);
struct buffer *iw_rm_find(struct iw_rm *rm, uint32_t stag);
/* Revoked when it returns. why: for the log. */
void iw_rm_drop(struct iw_rm *rm, struct buffer *b, const char *why);
void iw_rm_tell_buffer(struct iw_rm *rm, struct buffer *b, bool with_key, struct iw_rm_buffer *out);
void iw_rm_tell_peer(struct iw_rm *rm, const struct peer *p, struct iw_rm_peer *out);
/* Buffers whose uses are spent or whose time has come go. */
void iw_rm_reap(struct iw_rm *rm);

/* --- control.c, for rm.c --- */
void iw_rm_control_timers(struct iw_rm *rm);
void iw_rm_control_close(struct iw_rm *rm);
/* Answers under way go on behind what is about to be freed. */
void iw_rm_control_forget_buffer(struct iw_rm *rm, const struct buffer *b);
void iw_rm_control_forget_peer(struct iw_rm *rm, const struct peer *p);
void iw_rm_control_forget_domain(struct iw_rm *rm, const struct domain *d);

#endif
