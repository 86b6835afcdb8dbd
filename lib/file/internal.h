/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to the room: the hub that turns, and its sessions, one for each connection. */
#ifndef IW_FILE_INTERNAL_H
#define IW_FILE_INTERNAL_H

#include <stdatomic.h>

#include <iwarp/verbs.h>

#include "file/asked.h"
#include "file/budget.h"
#include "file/digest.h"
#include "file/links.h"
#include "file/missing.h"
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
	4               /* chunks read ahead of the socket: few, so that they stay in the cache */
#define SLOTS      8    /* windows, or offers, open at once */
#define SLOTS_MOST 1024 /* of all sessions together; each session may always have one */
#define TURN_COST  IW_XFER_CHUNK /* octets of file input or output in one turn of a session */
#define SESSION_BASE                                                                               \
	(24u << 10) /* the charge of an idle connection: its queue pair, first receives, machine */
#define STORES       4 /* chunks on their way to files: beside the windows, in memory of their own */
#define GRACE        IW_SEC(10) /* a listener told to stop: for its transfers and connections */
#define GRACE_END    IW_SEC(1)  /* of it, at most: for ABORT, and the end of the connections */
#define LEAVE        IW_SEC(5)  /* for the peer's part of the end of a connection */
/* A lost connection is set up again after that long, then twice as long, and so on up to: */
#define REDIAL_FIRST IW_MSEC(100)
#define REDIAL_MOST  IW_SEC(5)
#define WAITING_MOST 256 /* transfers that a listener keeps for those whose connections were lost */

/* A chunk to be written to a file, or a pack to many. The worker owns it from iw_group_give until its task is done. */
struct store {
	struct iw_task task;
	struct file *file; /* NULL: free */
	uint32_t len;
	uint64_t off;
	void *buf; /* of the hub's slots */
	struct iw_xdigest digest;
	int r; /* when it is done */
	struct iw_file_fault why;
};

/* A task of a whole transfer, not of one file. */
struct group_task {
	struct iw_task task;
	struct group *group;
	struct session *s;        /* the session that requested it; NULL: freed since */
	struct iw_list of;        /* in the session's list */
	char *text;               /* owned: a path, a name, or the notes of note_final */
	size_t len, cap;          /* of text */
	struct iw_list reporting; /* in the hub's, while names in text are still to be reported */
	size_t reported;          /* bytes of text that are reported */
	bool many;                /* the path must be a directory */
	bool unsure;              /* nothing may be removed */
	bool first;               /* the first one at the end of the transfer */
	struct iw_list returned, missing; /* at the end: of the group; files that did not arrive */
	bool failed_unnamed;              /* no memory for one of them */
	uint64_t gone, failed, begun;
	int r;
	struct iw_file_fault why;
};

/* A directory that is searched for temporaries. */
struct sweep {
	struct iw_task task;
	struct hub *hub;
	int fd; /* owned */
};

struct hub {
	const struct iw_transfer_cfg *cfg;
	struct iw_cli *cli;
	struct iw_report report;
	struct iw_ctx *ctx;
	struct iw_pd *pd;
	struct iw_cq *cq;
	struct iw_listener *listener;
	uint64_t assoc_bytes; /* that associations without a transfer held when last counted */
	struct iw_rm *rm;     /* listening sink: registered buffers; NULL: none here */
	struct iw_heap timers;
	struct iw_pool slots;
	struct iw_worker worker;
	struct iw_lane sweeps; /* low priority: one thread at most */
	unsigned nsweeps;      /* in that lane */
	atomic_bool no_sweeps;
	size_t tasks;   /* in the worker */
	size_t closing; /* files and transfers that are about to close their temporaries */
	/* files whose temporary another, closing transfer still holds */
	struct iw_list held;
	struct iw_list sessions, ready, starved, groups;
	struct iw_list reporting; /* group tasks with removed names to report */
	uint64_t last_serial;     /* of groups */
	uint64_t max_conns; /* connections of transfers and to registered buffers; 0: no limit */
	size_t nsessions;
	size_t nwaiting;             /* of them, those without a connection */
	struct iw_account account;   /* the charges of all transfers */
	bool digest_required;        /* listening sink: reject transfers without one */
	int root;                    /* listener: the served directory */
	int epoll;                   /* signals, standard input and output */
	int watched_in, watched_out; /* in it, or -1 */
	uint64_t now;
	unsigned turns;
	bool stopping; /* a signal came */
	/* a listener that is stopping: when transfers are given up, and when their connections are */
	uint64_t stop_by, end_by;
	struct group *taken;     /* once: the one transfer whose files have begun to move */
	bool over;               /* once: it has ended */
	struct iw_place place;   /* initiator that is a sink: until its session takes it */
	struct iw_asked asked;   /* likewise: the names that it requested */
	int status;              /* of the one transfer, or of the listener */
	struct iw_fault fault;   /* of the hub itself */
	struct iw_budget budget; /* this process's memory that peers hold */
	uint64_t
		relieve_at; /* a session waits for memory: then the largest idle holder is closed */
	/* the next reading of iw_qp_memory, and of the octets written into windows; IW_TIME_NEVER: not needed */
	uint64_t reckon_at;
	uint64_t total_hint; /* initiator: octets of its operands; 0: not known */
	uint64_t pace_at;    /* --bwlimit: no octets are moved before */
};

/* One transfer: the connections with one id. */
struct group {
	struct iw_list link;
	struct hub *hub;
	uint8_t id[IW_XFER_ID_LEN];
	uint64_t serial; /* of this process: from 1 on */
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
	uint64_t payload_at; /* once: when this transfer was taken, or octets of its files moved */
	struct iw_xfer_counts counts; /* of connections that have ended */
	struct iw_holder *holder;     /* of bytes; NULL: none yet */
	uint64_t bytes;               /* charged: its place, chunks in the worker */
	uint64_t place_bytes;         /* of them, for its place */
	/* Of the connection that ended last. */
	struct iw_transfer_report end;
	char peer[64];
	/* Connections set up again: in all, and in a row without anything having moved since lost_at. */
	uint64_t redials;
	unsigned attempts;
	uint64_t lost_at, moved_then;
	/*
	 * Tasks run in two lanes: one opens, names and removes files, the other writes chunks to open files.
	 * The tasks of a file run one at a time: it changes lanes only when it has no task in the worker.
	 */
	struct iw_lane names, data;
	unsigned tasks;           /* in the worker */
	unsigned ending;          /* failed files whose temporaries are still open */
	bool waits;               /* a connection waits for that */
	bool unsure;              /* no memory for a name: --delete removes nothing */
	bool over;                /* the last connection has ended */
	struct group_task *close; /* the task for that time: the last one */
	/* sink */
	struct iw_place place; /* owned by the tasks of the lane names from the first one on */
	struct iw_fault place_fault; /* err: it cannot be opened */
	/* likewise owned by that lane: a temporary that another transfer holds */
	char wanted[IW_TEMP_NAME];
	struct store *store;     /* STORES of them; NULL until there is a chunk */
	unsigned most;           /* the most connections at once */
	size_t unfinished;       /* files with missing parts, when a task last looked */
	uint64_t undone;         /* failed files that were counted as done with their first part */
	struct iw_list returned; /* files of lost connections, without a RESULT since */
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
	struct iw_list to_split;  /* files found meanwhile, to be handed out in parts after it */
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
	void *slot[IW_XFER_WINDOWS];
	struct iw_mr *mr[IW_XFER_WINDOWS];
	uint32_t nslots;                                 /* that have memory */
	struct iw_xact load, store, reg, create, commit; /* waiting to be done */
	bool load_waits, store_waits, reg_waits, create_waits, final_waits;
	bool commit_waits;    /* standard output's one file */
	struct file *loading; /* source: the file of which the worker reads a chunk */
	bool store_paced; /* --bwlimit has let the store through that waits for something else */
	bool next_open;   /* source: the machine's NEXT_FILE has no answer yet */
	bool next_waits; /* source: the machine waits for a file, and the walk has not found one yet */
};

struct recv {
	uint8_t *p;
	uint32_t size, used; /* octets; octets of them that are charged */
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
	bool stood;               /* the connection was established */
	bool mended;              /* another connection will replace it */
	bool evicted;             /* closed because of its memory, which is released at once */
	struct iw_mem mem;        /* the allocator of the machine; charged */
	struct iw_holder *holder; /* NULL: this side connected */
	uint64_t bytes;           /* charged */
	/* of the queue pair: memory when it was new; charge for later growth */
	size_t qp_first, qp_bytes;
	uint32_t conn; /* initiator: its number in the transfer, from 1 */
	struct iw_fault closed_why, fault;
	struct iw_hello mine, peer;
	struct work *work;
	struct recv *recv;
	uint32_t nrecvs;
	struct slab *slabs;
	/* by the watchdog, octets of files: at the last look, and when they last counted for a chunk */
	uint64_t seen_any, seen_payload;
	uint64_t lent_octets; /* of windows and offers */
	uint64_t payload_at;  /* when octets of files last moved */
	uint64_t leave_by;
	uint64_t pace_at; /* --bwlimit: when it may continue */
	/* a sink's, until their RESULT; a source's, while the worker reads them */
	struct iw_list files;
	struct iw_list group_tasks; /* those whose result it waits for */
	uint64_t
		requeued; /* files that its machine counts as failed, and other sessions took over */
	struct file *moving; /* the file of the last chunk, for the progress line */
	char peer_text[64];
};

/* A file that is being transferred. While tasks is not 0, the worker owns a sink's file except the fields marked (*). */
struct file {
	struct iw_list link; /* source: in a group's list; sink: in the hub's, of held ones */
	char *name;          /* owned */
	uint64_t done,
		size; /* (*) octets moved or stored before, and the whole size; 0: not known */
	bool share;   /* one of several parts of a file */
	struct iw_xmeta meta; /* points to what is owned here */
	/* source */
	struct iw_src src;
	bool has_src;
	char *to;                 /* owned: of a link */
	uint8_t *xattr;           /* owned */
	struct iw_pack_src *pack; /* owned */
	struct iw_linked *linked; /* the group's: it has other names */
	bool again;    /* (*) its connection was lost while it was read: another one sends it */
	uint32_t slot; /* (*) of the chunk at octet off that is read into buf */
	uint64_t off, len;
	void *buf; /* of the hub's slots */
	struct iw_xloaded loaded;
	struct search {
		struct iw_task task; /* for data to be sent, from off on */
		uint64_t off;
		uint64_t at, len;    /* the data that was found */
		bool last, compared; /* compared: the sink has reported this chunk */
		bool same;
		int r;
		struct iw_file_fault why;
	} search;
	struct iw_xdigest whole;
	/* sink */
	struct iw_list of;   /* (*) in the session's list */
	struct session *s;   /* (*) NULL: freed, or it has sent the RESULT */
	struct group *group; /* (*) */
	uint32_t id;         /* (*) */
	char *text;          /* owned: the octets that meta points to */
	size_t place_bytes;  /* of memory that the place needs after its CREATE */
	struct iw_target target;
	bool has_target;
	struct iw_pack_sink *packed; /* owned */
	struct iw_hasher hasher;
	bool has_hasher;
	struct iw_task task;  /* any except a store or a comparison: one at a time */
	unsigned tasks;       /* (*) in the worker, stores among them */
	unsigned tries;       /* (*) attempts to create it */
	unsigned conns;       /* (*) the most connections of the group, at that time */
	size_t unfinished;    /* that of the group, after a task */
	enum iw_created made; /* of the creation */
	enum iw_xfer_digest digest;
	bool busy; /* likewise: another transfer holds the temporary of this name */
	char wanted[IW_TEMP_NAME];
	struct iw_place_sweep *sweeps; /* owned: directories of which it is the first file */
	uint32_t code;                 /* (*) why it is abandoned */
	bool dropped;                  /* (*) its chunks are discarded */
	bool returns;      /* (*) the peer will announce it again, and it is not stored */
	bool ending;       /* (*) counted in group->ending */
	bool commit_waits; /* (*) for its chunks */
	struct iw_xact commit;
	int r; /* of the task */
	struct iw_file_fault why;
};

/* --- hub.c --- */
void iw_hub_watch_in(struct hub *h, int fd); /* standard input is waited for; -1: not */
void iw_hub_watch_out(struct hub *h, int fd);
void iw_hub_slot_freed(struct hub *h);
/* Memory for a chunk of g, from h->slots; NULL: used up. Zeroed if another transfer used it before (RFC 5042 6.3.2). */
void *iw_hub_chunk_get(struct hub *h, const struct group *g);
/* --bwlimit: may n octets move now? False: s is to try again at s->pace_at. */
bool iw_hub_pace(struct hub *h, struct session *s, uint64_t n);
/* A file or transfer that is counted in h->closing has closed its temporaries. */
void iw_hub_closed(struct hub *h);
/* Takes ownership of the list. Abandoned temporaries in those directories are removed later. */
void iw_hub_sweep(struct hub *h, struct iw_place_sweep *list);

/* --- group.c --- */
/* The one with that id, made if there is none; NULL: no memory. The session is counted. */
struct group *iw_group_get(struct hub *h, const uint8_t id[static IW_XFER_ID_LEN], bool initiator);
/* The one with that id, if there is one. */
struct group *iw_group_find(struct hub *h, const uint8_t id[static IW_XFER_ID_LEN], bool initiator);
/* s has ended: will another connection take its place? */
bool iw_group_mends(const struct group *g, const struct session *s);
/* Makes the session that waits for it. */
void iw_group_mend(struct group *g, struct session *s);
/* Makes transfers that wait for a new connection close that temporary, so that g can resume it. */
void iw_group_let_go(const struct group *g, const char *temp);
/* Queues t in a lane of g. Its back function must call iw_group_taken at its end. */
void iw_group_give(struct group *g, struct iw_lane *lane, struct iw_task *t);
/* A task is done. May free g. */
void iw_group_taken(struct group *g);
/* A new task of s, or, if s is NULL, of no session. NULL: no memory. */
struct group_task *iw_group_task_new(struct group *g, struct session *s);
void iw_group_task_free(struct group_task *e);
/* The session has ended; the last one ends the group, of which everybody is told. */
void iw_group_leave(struct group *g, struct session *s);
/* A file is settled, or has come back: those that wait for files may go on. */
void iw_group_wake(struct group *g);
/*
 * --once: files of the transfer of s are about to move, so it becomes the one that the listener serves. The
 * connections of others end. False: another transfer was first, and s has failed.
 */
bool iw_group_begin(struct session *s);
/* What all of its connections have done so far. */
struct iw_xfer_counts iw_group_counts(const struct group *g);

/* --- memory.c --- */
/* True if s may hold n octets more. If not, the largest idle holder will soon be closed. */
bool iw_session_may_take(struct session *s, uint64_t n);
void iw_session_charge(struct session *s, uint64_t n);
void iw_session_credit(struct session *s, uint64_t n);
/* Charges a new connection, and ends that. s->holder is set before, if it has one. */
void iw_session_account(struct session *s);
void iw_session_settle(struct session *s);
/* len octets have arrived in r. */
void iw_session_used(struct session *s, struct recv *r, size_t len);
/* Charged to the transfer, which may outlive its sessions; s is one of them. */
void iw_group_charge(struct group *g, const struct session *s, uint64_t n);
void iw_group_credit(struct group *g, uint64_t n);
/* Charges it for the octets that its place needs now. s fails if that is too much. */
void iw_group_account(struct group *g, struct session *s, uint64_t bytes);
void iw_group_settle(struct group *g);
/* Called in each turn: updates the charges for queue pairs, once a second if segments may arrive out of order. */
void iw_hub_reckon(struct hub *h);
/* once: the transfer that the listener accepted has moved no octets for --timeout, and this side has no work for it: another may replace it. */
bool iw_group_is_stalled(struct group *g);
/* In each turn; costs little until relieve_at. */
void iw_hub_relieve(struct hub *h);
/* No more connections fit: closes the one that has been idle for longest, if that is longer than --timeout. */
void iw_hub_end_idlest(struct hub *h);

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
/* Sets payload_at if octets of files have moved since the last call. Makes system calls. */
void iw_session_look(struct session *s);
/* Reports to the machine the octets that the peer has written into windows before their DONE. */
void iw_session_windows(struct session *s);
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
/* The session ends without results for files that the worker reads. */
void iw_source_leave(struct session *s);
/* A path of the local user's. */
int iw_source_path(struct session *s, const char *path);
/* The machine's NEXT_FILE, which had to wait. */
void iw_source_next(struct session *s);
/* A file's RESULT. True: others will send it, and nobody is to be told. */
bool iw_source_result(struct session *s, const struct iw_xact *a);
bool iw_sink_result(struct session *s, const struct iw_xact *a);
uint64_t iw_sink_act(struct session *s, const struct iw_xact *a);
uint64_t iw_sink_store(struct session *s, const struct iw_xact *a);
/* In each turn: reports removed names, for ns at most, so that many of them do not delay other sessions. */
void iw_sink_report_removed(struct hub *h, uint64_t ns);
/* Resumes the steps that had to wait. */
void iw_sink_retry(struct session *s);
/* The session ends without results for its files. */
void iw_sink_leave(struct session *s);
/* The last connection has ended. Reports the files that did not arrive completely; returns their number. */
uint64_t iw_sink_count_missing(struct group *g);
/* The RESULT of f has been sent. */
void iw_sink_forget(struct file *f);
/* Another attempt to create f. */
void iw_sink_create_again(struct file *f);
/* An initiator's own wishes for the place that it found. */
void iw_sink_place(struct session *s);
void iw_file_free(struct file *f);
/* The len octets of a peer's name with a NUL behind them, to be freed; NULL without memory. */
char *iw_name_terminated(const char *name, size_t len);

#endif
