/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to the room: the hub that turns, and its sessions, one for each connection. */
#ifndef IW_FILE_INTERNAL_H
#define IW_FILE_INTERNAL_H

#include <iwarp/verbs.h>

#include "file/digest.h"
#include "file/links.h"
#include "file/pack.h"
#include "file/report.h"
#include "file/src.h"
#include "file/target.h"
#include "file/transfer.h"
#include "file/walk.h"
#include "file/worker.h"
#include "rm/rm.h"
#include "util/heap.h"
#include "util/list.h"
#include "util/num.h"
#include "util/pool.h"
#include "xfer/xfer.h"

#define SLOTS_SOURCE_WRITE                                                                         \
	4                 /* chunks read ahead of the socket: few, so that they stay in the cache */
#define SLOTS        8    /* windows, or offers, open at once */
#define SLOTS_MOST   1024 /* of all sessions together; each may have one in any case */
#define TURN_COST    IW_XFER_CHUNK /* octets of file input or output in one turn of a session */
#define STORES       4 /* chunks on their way to files: beside the windows, in memory of their own */
#define GRACE        IW_SEC(10) /* a listener told to stop lets transfers go on that long */
#define LEAVE        IW_SEC(5)  /* for the peer's part of the end of a connection */
/* A lost connection is set up again after that long, then twice as long, and so on up to: */
#define REDIAL_FIRST IW_MSEC(100)
#define REDIAL_MOST  IW_SEC(5)
#define WAITING_MOST 256 /* transfers that a listener keeps for those whose connections were lost */

/* A chunk on its way into a file, or a pack into many, in the worker's hands. */
struct store {
	struct iw_task task;
	struct session *s; /* NULL: free */
	struct file *file;
	uint32_t id, len;
	uint64_t off;
	void *buf; /* of the hub's slots */
	struct iw_xdigest digest;
	int r; /* when it is done */
	struct iw_file_fault why;
};

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
	struct iw_worker worker;
	struct store store[STORES];
	unsigned stores; /* in use */
	struct iw_list sessions, ready, starved, groups;
	size_t nsessions;
	size_t nwaiting;             /* of them, those without a connection */
	int root;                    /* listener: the served directory */
	int epoll;                   /* signals, standard input and output */
	int watched_in, watched_out; /* in it, or -1 */
	uint64_t now;
	unsigned turns;
	bool stopping; /* a signal came */
	uint64_t stop_by;
	struct group *taken;   /* once: the one transfer that has come */
	bool over;             /* once: and gone */
	struct iw_place place; /* initiator that is a sink: until its session takes it */
	int status;            /* of the one transfer, or of the listener */
	struct iw_fault fault; /* of the hub itself */
	uint64_t total_hint;   /* initiator: octets of its operands; 0: not known */
	uint64_t pace_at;      /* --bwlimit: before that no more octets are moved */
};

/* One transfer: the connections with one id. */
struct group {
	struct iw_list link;
	struct hub *hub;
	uint8_t id[IW_XFER_ID_LEN];
	bool initiator;
	bool opened;     /* what is wanted is known: opts, conns, and a sink's place */
	bool final_done; /* a sink has given directories their times */
	bool ended_well; /* a connection came to its orderly end: everything is settled */
	bool stream;     /* a stream was in hand: it cannot be begun anew */
	bool answered;   /* sink: a file was announced */
	uint32_t opts, conns;
	unsigned sessions; /* connections there are */
	unsigned waiting;  /* of them, those whose machine wants a file when there is one */
	uint64_t began_at, moved_at;
	struct iw_xfer_counts counts; /* of connections that have ended */
	/* Of the connection that ended last. */
	struct iw_transfer_report end;
	char peer[64];
	/* Connections set up again: in all, and in a row without anything having moved since lost_at. */
	uint64_t redials;
	unsigned attempts;
	uint64_t lost_at, moved_then;
	/* sink */
	struct iw_place place;
	/* source */
	struct iw_walk *walk; /* NULL until it is needed */
	size_t paths;         /* given to it */
	bool walked;          /* it has come to its end */
	unsigned out;         /* files in the machines' hands */
	struct iw_list again; /* files whose connection was lost */
	struct iw_list later; /* other names of files, for when those are there */
	struct iw_links links;
	struct iw_pack_src *pack; /* being filled */
	struct file *split;       /* a file that is handed out in parts */
	uint64_t split_at;
	uint32_t next_share;
};

enum phase {
	PH_CONNECTING, /* the connection is being set up */
	PH_WAITING, /* there is none: an initiator is about to set it up again, a responder waits for that */
	PH_UP,
	PH_LEAVING, /* disconnected, the peer's end is awaited */
	PH_GONE,    /* closed: to be freed */
};

/* What a session has once its peer has asked for something; an idle one is kept small. */
struct work {
	struct iw_hasher hasher;
	struct iw_hasher far; /* the worker's */
	void *slot[IW_XFER_WINDOWS];
	struct iw_mr *mr[IW_XFER_WINDOWS];
	uint32_t nslots;                 /* that have memory */
	struct iw_xact load, store, reg; /* waiting to be done */
	bool load_waits, store_waits, reg_waits;
	bool store_paced; /* --bwlimit has let the store through that waits for something else */
	struct iw_list commits; /* files that wait to be committed */
	bool next_open;         /* source: the machine's NEXT_FILE has no answer yet */
	bool next_waits;        /* source: the machine wants a file, and there is none yet */
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
	struct group *group;
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
	bool stood;    /* the connection did */
	bool mended;   /* another one will take its place */
	uint32_t conn; /* initiator: which one of the transfer's, from 1 on */
	struct iw_fault closed_why, fault;
	struct iw_hello mine, peer;
	struct work *work;
	struct recv *recv;
	uint32_t nrecvs;
	struct slab *slabs;
	uint64_t seen_octets; /* by the watchdog */
	uint64_t leave_by;
	uint64_t pace_at;    /* --bwlimit: when it may go on */
	unsigned stores;     /* of its chunks, in the worker's hands */
	uint64_t requeued;   /* files that its machine counted as failed, and others have now */
	struct file *moving; /* of which a chunk was had in hand last, for the progress line */
	char peer_text[64];
};

/* One file in the machine's hands. */
struct file {
	struct iw_list link; /* source: in a group's list; sink: in a session's, of commits */
	char *name;          /* owned */
	uint64_t done, size; /* octets moved or there before, and of how many; size 0: not known */
	bool share;          /* a part of it */
	/* source */
	struct iw_xmeta meta; /* points to what is owned here */
	struct iw_src src;
	bool has_src;
	char *to;                 /* owned: of a link */
	uint8_t *xattr;           /* owned */
	struct iw_pack_src *pack; /* owned */
	struct iw_linked *linked; /* the group's: it has other names */
	/* sink */
	struct iw_target target;
	struct iw_pack_sink *packed; /* owned */
	unsigned stores;             /* of its chunks, in the worker's hands */
	bool dropped;                /* what becomes of them does not matter any more */
	struct iw_xact commit;       /* that waits */
};

/* --- hub.c --- */
void iw_hub_watch_in(struct hub *h, int fd); /* standard input is waited for; -1: not */
void iw_hub_watch_out(struct hub *h, int fd);
void iw_hub_slot_freed(struct hub *h);
/* --bwlimit: may n octets move now? False: s is to try again at s->pace_at. */
bool iw_hub_pace(struct hub *h, struct session *s, uint64_t n);

/* --- group.c --- */
/* The one with that id, made if there is none; NULL: no memory. The session is counted. */
struct group *iw_group_get(struct hub *h, const uint8_t id[static IW_XFER_ID_LEN], bool initiator);
/* The one with that id, if there is one. */
struct group *iw_group_find(struct hub *h, const uint8_t id[static IW_XFER_ID_LEN], bool initiator);
/* s has ended: will another connection take its place? */
bool iw_group_mends(const struct group *g, const struct session *s);
/* Makes the session that waits for it. */
void iw_group_mend(struct group *g, struct session *s);
/* Transfers whose connections were lost hold that temporary no longer: somebody else goes on with it. ctx: the group. */
void iw_group_let_go(void *ctx, const char *temp);
/* The session has ended; the last one ends the group, of which everybody is told. */
void iw_group_leave(struct group *g, struct session *s);
/* A file is settled, or has come back: those that wait for files may go on. */
void iw_group_wake(struct group *g);
/* What all of its connections have done so far. */
struct iw_xfer_counts iw_group_counts(const struct group *g);

/* --- session.c --- */
/* IW_E_NOMEM and what the calls below it say. The initiator's connects. */
int iw_session_new(struct session **out, struct hub *h, struct group *g, bool initiator,
		   struct iw_fault *why);
/* first: of its transfer. */
int iw_session_connect(struct session *s, bool first, struct iw_fault *why);
/* Consumes req, also when it fails. */
int iw_session_accept(struct session *s, struct iw_conn_req *req, const struct iw_hello *request,
		      struct iw_fault *why);
void iw_session_free(struct session *s);
void iw_session_up(struct session *s);
/* PH_WAITING: the time has come. */
void iw_session_redial(struct session *s);
/* What it has in hand will be done by another connection. */
bool iw_session_hands_on(const struct session *s);
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
/* Receives whose octets are not needed any more. */
void iw_session_repost(struct session *s, const struct iw_xact *a);
struct work *iw_session_work(struct session *s);
/* There is such memory; else the transfer has failed for want of it. */
bool iw_session_may_act(struct session *s);

/* --- source_side.c, sink_side.c: what the machine wants of files; octets of input and output
 * that it cost --- */
uint64_t iw_source_act(struct session *s, const struct iw_xact *a);
uint64_t iw_source_load(struct session *s, const struct iw_xact *a);
/* A path of the local user's. */
int iw_source_path(struct session *s, const char *path);
/* The machine's NEXT_FILE, which had to wait. */
void iw_source_next(struct session *s);
/* A file's RESULT. True: others will send it, and nobody is to be told. */
bool iw_source_result(struct session *s, const struct iw_xact *a);
bool iw_sink_result(struct session *s, const struct iw_xact *a);
uint64_t iw_sink_act(struct session *s, const struct iw_xact *a);
uint64_t iw_sink_store(struct session *s, const struct iw_xact *a);
/* Those commits that had to wait. */
uint64_t iw_sink_commits(struct session *s);
/* The worker has come back with it. */
void iw_sink_stored(struct hub *h, struct iw_task *t);
/* Waits for those chunks of f that the worker has, and forgets what became of them. */
void iw_sink_drop(struct hub *h, struct file *f);
/* An initiator's own wishes for the place that it found. */
void iw_sink_place(struct session *s);
void iw_file_free(struct file *f);
/* The len octets of a peer's name with a NUL behind them, to be freed; NULL without memory. */
char *iw_name_terminated(const char *name, size_t len);

#endif
