/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to the room: the hub that turns, and its sessions, one for each connection. */
#ifndef IW_FILE_INTERNAL_H
#define IW_FILE_INTERNAL_H

#include <iwarp/verbs.h>

#include "file/digest.h"
#include "file/report.h"
#include "file/src.h"
#include "file/target.h"
#include "file/transfer.h"
#include "file/walk.h"
#include "rm/rm.h"
#include "util/heap.h"
#include "util/list.h"
#include "util/num.h"
#include "util/pool.h"
#include "xfer/xfer.h"

#define SLOTS_SOURCE_WRITE                                                                         \
	4               /* chunks read ahead of the socket: few, so that they stay in the cache */
#define SLOTS      8    /* windows, or offers, open at once */
#define SLOTS_MOST 1024 /* of all sessions together; each may have one in any case */
#define TURN_COST  IW_XFER_CHUNK /* octets of file input or output in one turn of a session */
#define GRACE      IW_SEC(10)    /* a listener told to stop lets transfers go on that long */
#define LEAVE      IW_SEC(5)     /* for the peer's part of the end of a connection */

struct hub {
	const struct iw_transfer_cfg *cfg;
	struct iw_cli *cli;
	struct iw_report report;
	struct iw_ctx *ctx;
	struct iw_pd *pd;
	struct iw_cq *cq;
	struct iw_listener *listener;
	struct iw_rm *rm; /* listening sink: registered buffers; NULL: none here */
	struct iw_heap timers;
	struct iw_pool slots;
	struct iw_list sessions, ready, starved;
	size_t nsessions;
	int root;                    /* listener: the served directory */
	int epoll;                   /* signals, standard input and output */
	int watched_in, watched_out; /* in it, or -1 */
	uint64_t now;
	unsigned turns;
	bool stopping; /* a signal came */
	uint64_t stop_by;
	bool taken;            /* once: the one transfer has come */
	struct iw_place place; /* initiator that is a sink: until its session takes it */
	int status;            /* of the one transfer, or of the listener */
	struct iw_fault fault; /* of the hub itself */
	uint64_t total_hint;   /* initiator: octets of its operands; 0: not known */
};

enum phase {
	PH_CONNECTING, /* the connection is being set up */
	PH_UP,
	PH_LEAVING, /* disconnected, the peer's end is awaited */
	PH_GONE,    /* closed: to be freed */
};

/* What a session has once its peer has asked for something; an idle one is kept small. */
struct work {
	struct iw_hasher hasher;
	void *slot[IW_XFER_WINDOWS];
	struct iw_mr *mr[IW_XFER_WINDOWS];
	uint32_t nslots;                         /* that have memory */
	struct iw_xact load, store, commit, reg; /* waiting to be done */
	bool load_waits, store_waits, commit_waits, reg_waits;
	struct iw_walk walk;   /* source */
	struct iw_place place; /* sink */
};

struct recv {
	uint8_t *p;
	uint32_t size;
};

struct slab {
	struct slab *next;
	size_t len;
	void *p;
};

struct session {
	struct hub *hub;
	struct iw_list all, ready, starved;
	struct iw_timer timer;
	struct iw_qp *qp;
	struct iw_xfer *x;
	enum phase phase;
	bool closed;      /* CLOSED has come: closed_why */
	bool peer_closed; /* the peer sends no more */
	bool ended;       /* END has been handed out */
	bool stuck;       /* posting failed: CLOSED is on its way */
	bool initiator;
	struct iw_fault closed_why, fault;
	struct iw_hello mine, peer;
	struct work *work;
	struct recv *recv;
	uint32_t nrecvs;
	struct slab *slabs;
	uint64_t seen_octets; /* by the watchdog */
	uint64_t leave_by;
	uint64_t began_at;
	const char *name; /* of a file that moves, for the progress line */
	char peer_text[64];
};

/* One file in the machine's hands. */
struct file {
	struct iw_src src; /* source */
	bool has_src;
	struct iw_target target; /* sink */
	char *name;              /* owned; a source's meta points to it */
};

/* --- hub.c --- */
extern const struct iw_mem iw_file_heap;     /* the C library's */
void iw_hub_watch_in(struct hub *h, int fd); /* standard input is waited for; -1: not */
void iw_hub_watch_out(struct hub *h, int fd);
void iw_hub_slot_freed(struct hub *h);

/* --- session.c --- */
/* IW_E_NOMEM and what the calls below it say. The initiator's connects. */
int iw_session_new(struct session **out, struct hub *h, bool initiator, struct iw_fault *why);
int iw_session_connect(struct session *s, struct iw_fault *why);
/* Consumes req, also when it fails. */
int iw_session_accept(struct session *s, struct iw_conn_req *req, const struct iw_hello *request,
		      struct iw_fault *why);
void iw_session_free(struct session *s);
void iw_session_up(struct session *s);
void iw_session_rejected(struct session *s, const struct iw_fault *why);
void iw_session_completion(struct session *s, const struct iw_wc *wc);
/* CLOSED has come, and all completions were taken. */
void iw_session_closed(struct session *s);
/* Does what there is to do, up to one turn's worth; true: there is more. */
bool iw_session_run(struct session *s);
void iw_session_timeout(struct session *s);
void iw_session_set_timer(struct session *s);
/* The user, or a signal, wants it to end. */
void iw_session_stop(struct session *s, const char *text);
void iw_session_make_ready(struct session *s);
bool iw_session_slot(struct session *s, uint32_t i);
struct work *iw_session_work(struct session *s);

/* --- source_side.c, sink_side.c: what the machine wants of files; octets of input and output
 * that it cost --- */
uint64_t iw_source_act(struct session *s, const struct iw_xact *a);
uint64_t iw_source_load(struct session *s, const struct iw_xact *a);
uint64_t iw_sink_act(struct session *s, const struct iw_xact *a);
uint64_t iw_sink_store(struct session *s, const struct iw_xact *a);
uint64_t iw_sink_commit(struct session *s, const struct iw_xact *a);
void iw_file_free(struct file *f);
/* The len octets of a peer's name with a NUL behind them, to be freed; NULL without memory. */
char *iw_name_terminated(const char *name, size_t len);

#endif
