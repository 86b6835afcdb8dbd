/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Private to cmd/stag-reg: the objects of a manager, and the calls between manager.c and control.c.
 */
#ifndef IW_STAG_REG_INTERNAL_H
#define IW_STAG_REG_INTERNAL_H

#include "stag-reg/control.h"
#include "stag-reg/guess.h"
#include "stag-reg/manager.h"
#include "stag-reg/map.h"
#include "stag-reg/msg.h"
#include "util/heap.h"
#include "util/list.h"
#include "util/num.h"

/* Of each hash table: buffers by STag, buffers by file, peers by queue pair. */
#define BUCKETS 1024u

/* A protection domain with the buffers in it and the peers connected to it. */
struct domain {
	struct iw_list all;
	struct iw_timer leave; /* set while no buffer is left: when the peers are disconnected */
	struct iw_pd *pd;
	/* "": made for one buffer; also has buffers that only one of its connections may use. */
	char name[IW_MANAGER_NAME_MAX + 1];
	/* Peers are in the order of admission; ended ones stay in the list. */
	struct iw_list buffers, peers;
	unsigned live, ended;
};

struct buffer {
	struct iw_list all, by_stag, in_domain;
	struct iw_list by_file; /* in m->buffers_by_file; empty for new memory */
	struct iw_timer expiry;
	struct domain *domain;
	struct peer *peer; /* only this connection may use it; NULL: all of the domain may */
	struct iw_mr *mr;
	struct iw_map map;
	uint32_t stag;
	uint64_t to;
	unsigned access;
	uint32_t uses;
	struct iw_claim_key key;
	char label[IW_MANAGER_LABEL_MAX + 1];
	char host[IW_MANAGER_HOST_MAX + 1]; /* "": the address that the server listens on */
};

struct peer {
	struct iw_list by_qp, in_domain; /* by_qp: while it is connected */
	struct domain *domain;
	struct iw_qp *qp; /* NULL: the connection has ended */
	size_t qp_first;  /* iw_qp_memory at admission */
	uint32_t stream;  /* the number under which it is listed */
	char addr[64];
	uint64_t since;        /* time of admission, or of the end */
	struct iw_tally tally; /* final; valid after the end */
	char why[IW_XFER_TEXT_MAX + 1];
};

/* The rest of the answer to a LIST: the remaining peers of a domain, then the next buffers. */
struct cursor {
	struct buffer *buffer;
	struct domain *domain; /* whose peers are being reported; NULL: none */
	struct peer *peer;
	bool one; /* report this buffer alone */
	uint64_t reported;
};

enum client_state { CLIENT_IDLE, CLIENT_LISTING, CLIENT_ENDING };

struct client {
	struct iw_list all;
	struct iw_timer timer;
	int fd;
	enum client_state state;
	bool wants_peers;
	struct cursor at;
	uint8_t out[IW_MANAGER_MSG_MAX]; /* the next reply, until the socket has room for it */
	size_t out_len;
};

struct iw_manager {
	struct iw_ctx *ctx;
	struct iw_cq *cq; /* for the queue pairs of peers, on which nothing is ever posted */
	const char *transport;
	char host[64];
	uint16_t port;
	uint64_t now;

	struct iw_list domains, buffers;
	struct iw_list buffers_by_stag[BUCKETS], buffers_by_file[BUCKETS], peers_by_qp[BUCKETS];
	unsigned nbuffers, npeers;
	/* Octets of new memory: registered, and their limit (0: none). */
	uint64_t memory, memory_max;
	uint64_t peers_max;
	uint32_t last_stream;
	struct iw_heap expiries, leaves, patience; /* timers of buffers, domains, clients */
	struct iw_guesses guesses;
	uint64_t beat_at; /* while peers are connected: the next check of their buffers */

	int epoll, sock; /* sock -1: no control socket */
	char path[IW_MANAGER_PATH_MAX];
	uint64_t inode; /* of path: at the end, path is removed only if it still has this inode */
	/* The listening socket is not polled: there are too many clients, or no descriptors. */
	bool resting;
	uint64_t rest_until; /* no descriptor for a client: when to retry; else IW_TIME_NEVER */
	struct iw_list clients;
	unsigned nclients;
};

/* --- manager.c, for control.c --- */
/*
 * Registers a buffer and fills *out, with the key. file (-1: none) is given, also after an error.
 * IW_E_LIMIT: too many buffers, or too much new memory; IW_E_NOENT: no connection has the number
 * r->stream; IW_E_BUSY: a buffer of another domain covers the same octets of the file (RFC 5042
 * 6.3.6); IW_E_NOMEM; errors of iw_map_file, iw_map_memory and iw_mr_reg.
 */
int iw_manager_add(struct iw_manager *m, const struct iw_manager_request *r, int file,
		   struct iw_manager_buffer *out, struct iw_fault *why);
/* Returns the buffer with this STag; NULL: not registered. */
struct buffer *iw_manager_find(struct iw_manager *m, uint32_t stag);
/* Revokes and frees b. It is revoked when the call returns. why is for the log. */
void iw_manager_drop(struct iw_manager *m, struct buffer *b, const char *why);
/* Fill *out with the present state of a buffer, of a peer. */
void iw_manager_describe_buffer(struct iw_manager *m, struct buffer *b, bool with_key,
				struct iw_manager_buffer *out);
void iw_manager_describe_peer(struct iw_manager *m, const struct peer *p,
			      struct iw_manager_peer *out);
/* Drops the buffers whose uses are spent. iw_manager_turn drops those whose lifetime is over. */
void iw_manager_reap(struct iw_manager *m);

/* --- control.c, for manager.c --- */
/* Drops clients whose time is over, and accepts new ones again after a lack of descriptors. */
void iw_manager_control_timers(struct iw_manager *m);
/* Closes all clients and the control socket, and removes its file. */
void iw_manager_control_close(struct iw_manager *m);
/* Called before the object is freed: unfinished answers skip it. */
void iw_manager_control_forget_buffer(struct iw_manager *m, const struct buffer *b);
void iw_manager_control_forget_peer(struct iw_manager *m, const struct peer *p);
void iw_manager_control_forget_domain(struct iw_manager *m, const struct domain *d);

#endif
