/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Private to the room. A hub runs the loop. A group is a transfer. A session is one connection of a
 * group.
 */
#ifndef IW_TRANSFER_INTERNAL_H
#define IW_TRANSFER_INTERNAL_H

#include <stdatomic.h>

#include <iwarp/verbs.h>

#include "stag-reg/manager.h"
#include "transfer/files/asked.h"
#include "transfer/files/budget.h"
#include "transfer/files/digest.h"
#include "transfer/files/links.h"
#include "transfer/files/missing.h"
#include "transfer/files/pack.h"
#include "transfer/files/src.h"
#include "transfer/files/target.h"
#include "transfer/files/walk.h"
#include "transfer/files/worker.h"
#include "transfer/protocol/xfer.h"
#include "transfer/report.h"
#include "transfer/transfer.h"
#include "util/heap.h"
#include "util/list.h"
#include "util/num.h"
#include "util/pool.h"

/* Chunks that a source of RDMA Writes reads ahead: few, so that they stay in the cache. */
#define SLOTS_SOURCE_WRITE 4
/* Windows or offers that a session has open at once. */
#define SLOTS              8
/* Slots of all sessions together. Each session may always have one. */
#define SLOTS_MOST         1024
/* Octets of file input or output in one turn of a session. */
#define TURN_COST          IW_XFER_CHUNK
/* The charge of an idle connection: its queue pair, its first receives and its machine. */
#define SESSION_BASE       (24u << 10)
/* Chunks of a transfer that wait for the worker, in memory of their own, not in slots. */
#define STORES             4
/* Lanes that write to files. More would take the worker's threads from other transfers. */
#define DATA_LANES         2
/* The time for a stopping listener to end its transfers and connections. */
#define GRACE              IW_SEC(10)
/* The part of GRACE, at most, for ABORT and the end of the connections. */
#define GRACE_END          IW_SEC(1)
/* The time for the peer to close its side of a connection. */
#define LEAVE              IW_SEC(5)
/* The wait before a lost connection is set up again. It doubles each time, up to REDIAL_MOST. */
#define REDIAL_FIRST       IW_MSEC(100)
#define REDIAL_MOST        IW_SEC(5)
/* Transfers that a listener keeps after all their connections are lost. */
#define WAITING_MOST       256
/* Receives that a session posts: at a responder first few, because some peers only connect. */
#define RECVS_FIRST        2u
#define RECVS_MORE         16u
/* Instead of RECVS_MORE, for a sink in mode send. */
#define RECVS_DATA         64u
/* Depths of the send queue. */
#define SQ_SINK            32u
#define SQ_SOURCE          64u
/* wr_id of a receive. The machine's cookies have this bit clear. */
#define RECV_BIT           (UINT64_C(1) << 63)
/* Another transfer wants the same file: the time for the peer of this one to answer. */
#define ANSWER             IW_SEC(2)

/*
 * A chunk to be written to a file, or a pack to be written to many files. The worker owns it from
 * iw_group_queue until its task is done.
 */
struct store {
	struct iw_task task;
	struct file *file; /* NULL: this store is free */
	uint32_t len;
	uint64_t off;
	void *buf; /* from the hub's slots */
	struct iw_xfer_digest digest;
	bool checked; /* against the digest */
	int r;        /* the result of the task */
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
	struct iw_list reporting; /* in the hub's list, until all names in text are reported */
	size_t reported;          /* bytes of text that have been reported */
	/* of these, the bytes at the start of text that were overwritten with the removed names */
	size_t kept;
	uint32_t opts;          /* of the transfer: how to interpret the path */
	enum iw_xfer_kind kind; /* of the name */
	bool complete;          /* at the end of the transfer: nothing failed */
	bool unsure;            /* nothing may be removed */
	bool first;             /* the first task of this kind at the end of the transfer */
	/* At the end of the transfer: the group's list; files that did not arrive. */
	struct iw_missing_list returned, missing;
	bool failed_unnamed; /* no memory for the name of a missing file */
	uint64_t gone, failed, begun;
	uint64_t unconfirmed, made; /* those of the place; 0 unless first is set */
	int r;
	struct iw_file_fault why;
};

/* A directory to be searched for abandoned temporaries. */
struct sweep {
	struct iw_task task;
	struct hub *hub;
	int fd; /* owned */
};

/* The state of the whole process. */
struct hub {
	const struct iw_transfer_cfg *cfg;
	struct iw_cli *cli;
	struct iw_report report;
	struct iw_ctx *ctx;
	struct iw_pd *pd;
	struct iw_cq *cq;
	struct iw_listener *listener;
	uint64_t assoc_bytes;       /* held by associations without a transfer, when last counted */
	struct iw_manager *manager; /* listening sink: registered buffers; NULL: not offered */
	struct iw_heap timers;
	struct iw_pool slots;
	struct iw_worker worker;
	struct iw_lane sweeps; /* low priority: at most one thread */
	unsigned nsweeps;      /* tasks in that lane */
	atomic_bool no_sweeps;
	size_t tasks;     /* in the worker */
	size_t closing;   /* files and transfers that will soon close their temporaries */
	size_t questions; /* transfers with answer_by */
	/*
	 * Files to be created again when closing files have freed something: a temporary that
	 * another transfer holds, or room below a limit.
	 */
	struct iw_list held;
	/*
	 * Files whose temporary another transfer holds: the hub asks for it after the worker's
	 * tasks were taken.
	 */
	struct iw_list wanting;
	/* All sessions; those with pending work; those that wait for memory; all transfers. */
	struct iw_list sessions, ready, starved, groups;
	struct iw_list reporting; /* group tasks with removed names to report */
	uint64_t last_serial;     /* of groups */
	uint64_t max_conns; /* connections of transfers and to registered buffers; 0: no limit */
	size_t nsessions;
	size_t nwaiting;           /* of these sessions, those without a connection */
	struct iw_account account; /* the charges of all transfers */
	/*
	 * Files that are open for a transfer, with one to three descriptors each. Above most_open
	 * no further files are opened.
	 */
	uint64_t open_files, most_open;
	bool crowded;                /* a session waits for one of them to be closed */
	bool digest_required;        /* listening sink: reject transfers without one */
	int root;                    /* listener: the served directory */
	int epoll;                   /* signals, standard input and output */
	int watched_in, watched_out; /* descriptors in epoll, or -1 */
	uint64_t now;
	unsigned turns;
	bool stopping; /* a signal has arrived */
	/*
	 * Stopping listener: the times when it ends its transfers and when it ends their
	 * connections.
	 */
	uint64_t stop_by, end_by;
	struct group *taken;     /* --once: the one transfer whose files have begun to move */
	bool over;               /* --once: that transfer has ended */
	struct iw_place place;   /* initiating sink: until its session takes it */
	struct iw_asked asked;   /* initiating sink: the names that it requested */
	int status;              /* exit status of the one transfer, or of the listener */
	struct iw_fault fault;   /* of the hub itself */
	struct iw_budget budget; /* memory of this process that peers hold */
	/*
	 * When to close the largest idle holder because memory is short; IW_TIME_NEVER: not needed.
	 */
	uint64_t relieve_at;
	uint64_t trim_at;   /* when iw_hub_trim frees chunks; IW_TIME_NEVER: not now */
	uint64_t reckon_at; /* the next time that iw_hub_reckon updates its figures */
	/*
	 * the next time that iw_group_take_answers checks for answers; IW_TIME_NEVER: it awaits
	 * none
	 */
	uint64_t answer_at;
	bool shows_progress;
	/*
	 * ssh start-up, listener: when the first connection is due; IW_TIME_NEVER: it has arrived,
	 * or none is due.
	 */
	uint64_t first_by;
	/* The pipe in place of a connection: a listener's queue pair, and its session. */
	struct iw_qp *pipe_qp;
	struct session *pipe_session; /* NULL: no request has arrived */
	int pipe;                     /* its socket, until the connection is established; or -1 */
	bool pipe_used;               /* the listener's only connection has begun, or has failed */
	/* Why the hub stops. */
	char stop_text[sizeof(((struct iw_fault *)NULL)->text)];
	uint64_t total_hint; /* initiating source: octets of its operands; 0: not known */
	uint64_t pace_at; /* --bwlimit: nothing moves before this time; 0: nothing has moved yet */
};

/* The sum of the sizes of all files to be sent. */
struct measure {
	struct iw_walk walk;
	struct iw_links links;
	uint64_t octets;
	bool unknown; /* a stream is among the paths, or an allocation failed */
};

/* One transfer: the connections with the same id. */
struct group {
	struct iw_list link;
	struct hub *hub;
	uint8_t id[IW_XFER_ID_LEN];
	uint64_t serial; /* the number of this transfer in this process, from 1 */
	bool initiator;
	bool opened;      /* opts, conns and (sink) place are known */
	bool final_done;  /* sink: the times of directories were set */
	bool established; /* a connection was established */
	bool unanswered;  /* no listener answered when this side connected again */
	bool excluded;    /* source: the patterns excluded an entry */
	bool ended_well;  /* a connection ended in order, so everything is settled */
	bool stream;      /* a stream was being sent: it cannot be sent again */
	uint32_t opts, conns;
	unsigned sessions; /* number of its sessions */
	unsigned waiting;  /* of these sessions, those with next_waits */
	uint64_t began_at, moved_at;
	/* --once: when this transfer was taken, or when octets of its files last moved. */
	uint64_t payload_at;
	struct iw_xfer_counts counts; /* of sessions that have ended */
	struct iw_holder *holder;     /* the holder of bytes; NULL: not known yet */
	uint64_t bytes;               /* charged: for place, returned, and chunks in the worker */
	uint64_t place_bytes;         /* of bytes, the charge for its place */
	/* Of the connection that ended last. */
	struct iw_transfer_report end;
	char peer[64];
	/* The reason that was last logged for the loss of a connection; "": none. */
	char last_loss[sizeof(((struct iw_fault *)NULL)->text)];
	uint64_t redials;              /* how often a connection was set up again */
	uint64_t tx_octets, rx_octets; /* of connections that have ended */
	uint64_t connections;          /* all that were established, again or for the first time */
	/*
	 * Lane names opens, names and removes files. The lanes of data write chunks to open files:
	 * the first one to single files, each of them to packs, because small files take more time
	 * to create than to receive. A source reads in the first one. The tasks of a file run one
	 * at a time: it changes lanes only when it has no task in the worker.
	 */
	struct iw_lane names, data[DATA_LANES];
	unsigned tasks;  /* in the worker */
	unsigned ending; /* failed files whose temporaries are still open */
	bool waits;      /* a session waits until ending is 0 */
	bool unsure;     /* no memory for a name: --delete removes nothing */
	/*
	 * Another transfer waits for a temporary of this one, whose peer was asked at asked_at and
	 * must answer by answer_by. 0: no.
	 */
	uint64_t asked_at, answer_by;
	bool over;                /* the last connection has ended */
	struct group_task *close; /* the last task: closes the transfer; allocated in advance */
	/* sink: */
	struct iw_place place;       /* owned by the tasks of lane names, from the first one */
	struct iw_fault place_fault; /* err is set: the place cannot be opened */
	/* Also owned by those tasks: a temporary that another transfer holds. */
	char wanted[IW_TEMP_NAME];
	struct store *store; /* STORES of them; NULL before the first chunk */
	unsigned most;       /* the most sessions at once */
	size_t unfinished;   /* files with missing parts, as the last task counted them */
	/* names that the source permits to be removed; constant after final_done */
	struct iw_names listed;
	uint64_t undone;      /* failed files that were counted as done with their first part */
	struct share *shares; /* those of files in parts */
	uint64_t repeated;    /* failed parts of files of which another part has failed */
	/* files of lost connections that had no RESULT since then */
	struct iw_missing_list returned;
	/* source: */
	struct iw_walk *walk; /* NULL until it is needed */
	size_t paths;         /* paths added to walk */
	bool walked;          /* walk is at its end */
	unsigned out;         /* files announced to machines, and not settled */
	uint64_t open_files;  /* of hub->open_files, those of this transfer */
	struct iw_list again; /* files to announce first, most of them from lost connections */
	/* further hard links to files, announced when those files are settled */
	struct iw_list later;
	struct iw_links links;
	/* The size of all files, for the progress line. */
	struct iw_lane measures;
	struct measure *measure; /* owned by the tasks of that lane */
	atomic_bool no_measure;  /* stops these tasks */
	bool measuring;          /* initiating source: its paths are being measured */
	uint64_t measured;       /* octets of the first measured_paths paths */
	size_t measured_paths;
	/*
	 * --delete: directories that stay at the target because an excluded name is in them; number
	 * of all names that stay
	 */
	struct iw_names kept;
	uint64_t spared;
	struct iw_packer *pack;  /* being filled */
	struct file *split;      /* a file that is being announced in parts */
	struct iw_list to_split; /* files to announce in parts after split */
	uint64_t split_at;
	uint32_t next_share;
};

enum phase {
	PH_CONNECTING, /* the connection is being set up */
	/* no connection: an initiator will connect again, a responder waits for its peer */
	PH_WAITING,
	PH_UP,
	PH_LEAVING, /* disconnected; waits for the peer to close its side */
	PH_GONE,    /* closed, to be freed */
};

/* Allocated when the peer first requests something, so that an idle session stays small. */
struct work {
	struct iw_hasher hasher;
	void *slot[IW_XFER_WINDOWS];
	struct iw_mr *mr[IW_XFER_WINDOWS];
	uint32_t paced[IW_XFER_WINDOWS]; /* sink: octets of its window that --bwlimit has counted */
	uint32_t nslots;                 /* slots with memory */
	struct iw_xfer_act load, store, reg, create, commit; /* the actions that wait */
	bool load_waits, store_waits, reg_waits, create_waits, final_waits;
	bool commit_waits;    /* only of the file on standard output */
	struct file *loading; /* source: the file from which the worker reads a chunk */
	bool store_paced; /* --bwlimit has permitted store, which still waits for something else */
	bool next_open;   /* source: the machine's NEXT_FILE has no answer yet */
	bool next_waits;  /* source: the machine waits for a file, and none is available yet */
};

/* A receive buffer, in one of the session's slabs. */
struct recv {
	uint8_t *p;
	uint32_t size, used; /* its octets; those that are charged */
};

/* A mapping that holds receive buffers. */
struct slab {
	struct slab *next;
	size_t len;
	void *p;
};

/* One connection of a transfer. */
struct session {
	struct hub *hub;
	struct group *group;
	struct iw_list all, ready, starved;
	struct iw_timer timer;
	struct iw_qp *qp;
	struct iw_xfer *x;
	enum phase phase;
	bool closed;      /* the connection has ended; closed_why is the reason */
	bool peer_closed; /* the peer sends no more */
	bool ended;       /* the machine has issued END */
	bool stuck;       /* a work request could not be posted; CLOSED follows */
	bool initiator;
	bool established;         /* the connection was established */
	bool replaced;            /* another connection will replace this one */
	bool evicted;             /* closed to free its memory */
	struct iw_mem mem;        /* the allocator of the machine; charged */
	struct iw_holder *holder; /* NULL: an initiator's session */
	uint64_t bytes;           /* charged */
	/* Memory of the queue pair: its first size, and the charge for its growth. */
	size_t qp_first, qp_bytes;
	uint32_t conn; /* initiator: its number in the transfer, from 1 */
	/*
	 * How often this connection was set up again in succession, without progress since lost_at.
	 */
	unsigned attempts;
	uint64_t lost_at, moved_then;
	size_t paths; /* source: the paths that the peer has requested on this connection */
	struct iw_fault closed_why, fault;
	struct iw_hello mine, peer;
	struct work *work;
	struct recv *recv;
	uint32_t nrecvs;
	struct slab *slabs;
	uint64_t seen_payload; /* octets of files when payload_at was last set */
	uint64_t lent_octets;  /* of all windows and offers so far */
	uint64_t payload_at;   /* when octets of files last moved */
	uint64_t leave_by;
	uint64_t pace_at;   /* --bwlimit: when it may continue */
	uint64_t paced_own; /* octets of its messages that --bwlimit has counted */
	/* Sink: the files without a RESULT; source: the files that the worker reads. */
	struct iw_list files;
	struct iw_list group_tasks; /* the tasks that will report to it */
	/* Files that the machine counts as failed, but that other sessions transfer. */
	uint64_t requeued;
	struct file *moving; /* the file of the last chunk, for the progress line */
	char *gone;          /* owned: removed names, until the machine is freed */
	char peer_text[64];
};

/*
 * A file that is being transferred. While tasks is not 0, the worker owns a sink's file except the
 * fields marked (*).
 */
struct file {
	/* source: in a list of the group; sink: in held or wanting of the hub */
	struct iw_list link;
	char *name; /* owned */
	/* (*) Octets moved now or stored earlier; the whole size, or 0 if it is not known. */
	uint64_t done, size;
	bool share;               /* one of several parts of a file */
	struct iw_xfer_meta meta; /* its pointers refer to memory owned here */
	/* source: */
	struct iw_src src;
	bool has_src;
	char *operand;  /* owned: the path that the local user or the peer named; NULL: none */
	char *to;       /* owned: the target of a symbolic link */
	uint8_t *xattr; /* owned */
	struct iw_packer *pack;   /* owned */
	struct iw_linked *linked; /* borrowed from the group: the file has further hard links */
	/* (*) its connection was lost while the worker read it: another connection sends it */
	bool again;
	uint32_t slot; /* (*) for the chunk at octet off that is read into buf */
	uint64_t off, len;
	void *buf; /* from the hub's slots */
	struct iw_xfer_chunk loaded;
	struct search {
		struct iw_task task; /* finds the next data to send, from off */
		uint64_t off;
		uint64_t at, len;    /* the data that was found */
		bool last, compared; /* compared: the sink has reported this chunk */
		bool same;
		int r;
		struct iw_file_fault why;
	} search;
	struct iw_xfer_digest whole;
	/* sink: */
	struct iw_list of;   /* (*) in the session's list */
	struct session *s;   /* (*) NULL: freed, or it has sent the RESULT */
	struct group *group; /* (*) */
	uint32_t id;         /* (*) */
	char *text;          /* owned: the octets that meta points to */
	size_t place_bytes;  /* memory that the place uses after the CREATE of this file */
	struct iw_target target;
	bool has_target;
	struct iw_pack_sink *packed; /* owned */
	struct iw_hasher hasher;
	bool has_hasher;
	struct iw_task task;  /* any task except a store or a search: one at a time */
	unsigned tasks;       /* (*) in the worker, including stores */
	unsigned tries;       /* (*) attempts left to create it */
	unsigned conns;       /* (*) group->most at the time of its CREATE */
	size_t unfinished;    /* for group->unfinished, as the task counted them */
	enum iw_created made; /* result of the creation */
	enum iw_xfer_digest_kind digest;
	bool busy;    /* result of the creation: another transfer holds the temporary wanted */
	bool limited; /* it exceeded a limit, and is created again */
	char wanted[IW_TEMP_NAME];
	/* owned: directories in which it is the first file of the transfer */
	struct iw_place_sweep *sweeps;
	uint32_t code;     /* (*) the reason why it is abandoned */
	bool dropped;      /* (*) its chunks are discarded */
	bool returns;      /* (*) not stored; the peer will announce it again */
	bool ending;       /* (*) counted in group->ending */
	bool open;         /* (*) counted in hub->open_files */
	bool commit_waits; /* (*) the commit waits until all its chunks are stored */
	struct iw_xfer_act commit;
	int r; /* result of task */
	struct iw_file_fault why;
};

/*
 * The files of the room, from top to bottom; each uses those below it:
 *
 *   hub.c                           the loop
 *   open.c, request.c               begin and end; a listener's requests
 *   relief.c, recover.c             idle and lost connections
 *   group.c                         transfers
 *   session.c                       one connection
 *   ssh_pipe.c                      ssh start-up: the pipe to the other end
 *   source_side.c, source_find.c, measure.c; sink_side.c, sink_final.c
 *   once.c, lost.c, progress.c, results.c, tasks.c, session_memory.c, memory.c, sched.c
 */

/* --- open.c --- */
/* Returns a new hub, owned by the caller, that borrows cfg. NULL: no memory. */
struct hub *iw_hub_new(const struct iw_transfer_cfg *cfg);
/*
 * Opens the listener, or the connections of the initiator, and confines the process. 0, or a
 * negative enum iw_err: *why.
 */
IW_MUST_CHECK int iw_hub_open(struct hub *h, struct iw_fault *why);
/* Releases what h holds. True: the caller may free h; false: threads of the worker still use it. */
bool iw_hub_close(struct hub *h);

/* --- request.c --- */
/* A listener's request: accepts or rejects it. Consumes req. */
void iw_hub_request(struct hub *h, struct iw_conn_req *req);

/* --- ssh_pipe.c --- */
/* Watches the pipe of cfg->link, if there is one. A listener awaits its first connection. */
IW_MUST_CHECK int iw_hub_watch_pipe(struct hub *h, struct iw_fault *why);
/*
 * Reads the messages of the other end, and answers FALLBACK. True: all transfers must end, because
 * of h->stop_text.
 */
bool iw_hub_take_pipe(struct hub *h);
/* Returns true, and sets h->stop_text, if the first connection has not arrived in time. */
bool iw_hub_first_is_overdue(struct hub *h);
/* Call it when a connection is established. */
void iw_hub_connected(struct hub *h);
/* The session of a queue pair; NULL: none yet, or qp is NULL. */
struct session *iw_hub_session(const struct hub *h, const struct iw_qp *qp);
/* The pipe's queue pair has ended, and no session uses it. */
void iw_hub_pipe_failed(struct hub *h, const struct iw_fault *why);

/* --- relief.c --- */
/*
 * Call it in each turn. Once a second it updates the charges for queue pairs, the octets written
 * into windows, and the memory of associations without a transfer.
 */
void iw_hub_reckon(struct hub *h);
/* Call it in each turn. Does little before relieve_at; then closes the largest idle holders. */
void iw_hub_relieve(struct hub *h);
/*
 * Call it when no more connections fit. Closes the one that has been idle for longest, if it has no
 * pending work and moved nothing for --timeout.
 */
void iw_hub_end_idlest(struct hub *h);

/* --- recover.c --- */
/*
 * Frees s, which is in PH_GONE. If another connection is to replace its connection, creates the
 * session that waits for it.
 */
void iw_session_finish(struct session *s);
/* Ends a connection whose loss was not noticed yet, gives up its unfinished files, and frees s. */
void iw_session_drop(struct session *s, const char *why);
/*
 * Another transfer holds temp, a temporary that g could resume. Transfers without a connection
 * close it. A transfer with one is asked whether its peer is still there: a client that failed
 * silently may have started again as g.
 */
void iw_group_release_temp(const struct group *g, const char *temp);
/*
 * Call it in each turn: processes the answers. Returns the time when the next one is due;
 * IW_TIME_NEVER: none is.
 */
uint64_t iw_group_take_answers(struct hub *h);

/* --- group.c --- */
/*
 * Returns the transfer with that id, created if it does not exist, and counts one more session in
 * it. NULL: no memory.
 */
struct group *iw_group_get(struct hub *h, const uint8_t id[static IW_XFER_ID_LEN], bool initiator);
/* The transfer with that id, or NULL. */
struct group *iw_group_find(struct hub *h, const uint8_t id[static IW_XFER_ID_LEN], bool initiator);
/*
 * Removes s from its transfer and frees it. If it was the last session, the transfer ends, and its
 * outcome is reported to the user.
 */
void iw_group_remove(struct session *s);

/* --- session.c --- */
/*
 * Creates a session of g, which iw_group_get has counted already. The hub owns *out. IW_E_NOMEM: g
 * is NULL, or no memory; then g counts one session less.
 */
int iw_session_new(struct session **out, struct hub *h, struct group *g, bool initiator,
		   struct iw_fault *why);
/*
 * Creates queue pair and machine, and begins to connect. first: the first connection of the
 * transfer; a source then takes its paths. IW_E_NOMEM: no memory. Also errors of iw_qp_new,
 * iw_xfer_want_path and iw_connect.
 */
int iw_session_connect(struct session *s, bool first, struct iw_fault *why);
/*
 * Accepts req with the parameters of *request. Consumes req, also when it fails. Errors as
 * iw_session_connect, and of iw_accept.
 */
int iw_session_accept(struct session *s, struct iw_conn_req *req, const struct iw_hello *request,
		      struct iw_fault *why);
/* Frees s, which has left its transfer. Called by iw_group_remove only. */
void iw_session_free(struct session *s);
/* Call it when the connection is established, or its first message has arrived. */
void iw_session_up(struct session *s);
/* Call it when the peer has rejected the connection: *why has the reason of the transport. */
void iw_session_rejected(struct session *s, const struct iw_fault *why);
/* Passes a completion of s to its machine. */
void iw_session_completion(struct session *s, const struct iw_wc *wc);
/* Call it when the connection has ended, and all its completions were taken. */
void iw_session_closed(struct session *s);
/* Does the pending work of s, at most that of one turn. True: there is more. */
bool iw_session_run(struct session *s);
/* Call it when the timer of s expires. Sets PH_GONE if s must end. */
void iw_session_timeout(struct session *s);

/* --- source_side.c, source_find.c: the actions of a source's machine on files --- */
/* Performs the action *a. Returns the octets of file input that it took. */
uint64_t iw_source_act(struct session *s, const struct iw_xfer_act *a);
/* Performs a LOAD, the first time or again. Returns the same. */
uint64_t iw_source_load(struct session *s, const struct iw_xfer_act *a);
/* Processes the RESULT of a file. True: another connection will transfer it; do not report it. */
bool iw_source_result(struct session *s, const struct iw_xfer_act *a);
/* Call it when s ends: the files that the worker still reads no longer report to it. */
void iw_source_leave(struct session *s);
/* Adds a path that the local user has given. IW_E_NOMEM: no memory. */
int iw_source_path(struct session *s, const char *path);
/* Adds a path that the peer requests. */
void iw_source_take_path(struct session *s, const struct iw_xfer_act *a);
/* Answers the machine's NEXT_FILE, or sets next_waits if no file is available yet. */
void iw_source_next(struct session *s);
/* Fails s: no memory for what. */
void iw_source_no_memory(struct session *s, const char *what);

/* --- measure.c --- */
/*
 * Adds the octets of the files below a path to the total that progress is compared with. The path
 * is copied.
 */
void iw_source_measure(struct group *g, const char *path, size_t len);

/* --- sink_side.c: the actions of a sink's machine on files --- */
/* Performs the action *a. Returns the octets of file output that it took. */
uint64_t iw_sink_act(struct session *s, const struct iw_xfer_act *a);
/* Performs a STORE, the first time or again. Returns the same. */
uint64_t iw_sink_store(struct session *s, const struct iw_xfer_act *a);
/* As iw_source_result. */
bool iw_sink_result(struct session *s, const struct iw_xfer_act *a);
/* Resumes the actions that had to wait. */
void iw_sink_retry(struct session *s);
/* Call it when s ends: abandons its files; its tasks no longer report to it. */
void iw_sink_leave(struct session *s);
/* Call it after the RESULT of f: f is freed when the worker has no more tasks for it. */
void iw_sink_forget(struct file *f);
/* Sets the options of the place that an initiator has opened. */
void iw_sink_place(struct session *s);

/* --- sink_final.c --- */
/* Performs FINAL, or sets final_waits while failed files of the transfer are still open. */
void iw_sink_final(struct session *s);
/*
 * Call it in each turn. Reports removed names, for at most ns, so that many of them do not delay
 * other sessions.
 */
void iw_sink_report_removed(struct hub *h, uint64_t ns);
/*
 * Call it when the last connection has ended. Reports the files that did not arrive completely, and
 * returns their number.
 */
uint64_t iw_sink_count_missing(struct group *g);

/* --- once.c: --once, and ddp-recv - --- */
/*
 * Call it before files of the transfer of s move. From then on the listener serves this transfer
 * only; the connections of other transfers end. False: another transfer was first, and s has
 * failed.
 */
bool iw_group_begin(struct session *s);
/*
 * True if no octets of the files of g have moved for --timeout, and this side had no work to do for
 * it meanwhile. Makes system calls.
 */
bool iw_group_is_stalled(struct group *g);
/*
 * True if g is the transfer that the listener accepted: it moved files, or ended in order without
 * any.
 */
bool iw_group_is_the_one(const struct group *g);
/* Ends the sessions of all transfers except g. before: the transfer that g replaces, or NULL. */
void iw_group_end_others(struct hub *h, const struct group *g, const struct group *before);

/* --- lost.c --- */
/* Adds *c to *to. */
void iw_group_add_counts(struct iw_xfer_counts *to, const struct iw_xfer_counts *c);
/* The sum of the counts of all its sessions, including those that have ended. */
struct iw_xfer_counts iw_group_counts(const struct group *g);
/*
 * Returns the octets and files that another connection need not move again. The number never
 * decreases, and it is bounded.
 */
uint64_t iw_group_moved(const struct group *g);
/* True if g has advanced since the connection with the number of s was lost for the first time. */
bool iw_group_has_moved(const struct group *g, const struct session *s);
/* True if another connection will replace that of s, which has ended. */
bool iw_group_replaces(const struct group *g, const struct session *s);
/* True if another connection will transfer the unfinished files of s. */
bool iw_session_hands_on(const struct session *s);

/* --- progress.c --- */
/*
 * Reports arrived octets to the machine; sets payload_at if octets of files have moved since the
 * last call. Makes system calls.
 */
void iw_session_sample(struct session *s);
/* Reports to the machine the octets that the peer has written into windows before their DONE. */
void iw_session_windows(struct session *s);

/* --- results.c --- */
/*
 * Reports the RESULT a to the user: of a file once, also if it has parts; of a pack for each
 * member.
 */
void iw_session_report(struct session *s, const struct iw_xfer_act *a);
/*
 * The path of the file m as the local user gave it, or, at a listening source, as the peer did; f:
 * the source's own. NULL: not known.
 */
const char *iw_session_typed(const struct session *s, const struct iw_xfer_meta *m,
			     const struct file *f);
void iw_group_free_shares(struct group *g);

/* --- tasks.c --- */
/* Queues t in a lane of g. Its back function must call iw_group_task_done at its end. */
void iw_group_queue(struct group *g, struct iw_lane *lane, struct iw_task *t);
/* Counts a task as done. May free g. */
void iw_group_task_done(struct group *g);
/*
 * Call it when the last connection has ended and the worker has no task of g: the last task closes
 * and frees g.
 */
void iw_group_close(struct group *g);
/* Ends the question to the peer of g, which has answered, or whose connections have ended. */
void iw_group_end_question(struct group *g);
/*
 * Returns a new task of s, or, if s is NULL, of no session; owned by the caller. NULL: no memory.
 */
struct group_task *iw_group_task_new(struct group *g, struct session *s);
void iw_group_task_free(struct group_task *e);
/* Frees f, closes what it has open, and stops counting it as open. f may be NULL. */
void iw_session_file_free(struct file *f);
/* Call it when a file or transfer counted in h->closing has closed its temporaries. */
void iw_hub_closed(struct hub *h);
/* Queues another attempt to create f. */
void iw_hub_create_again(struct file *f);
/* Queues the removal of abandoned temporaries in those directories. Takes ownership of list. */
void iw_hub_sweep(struct hub *h, struct iw_place_sweep *list);

/* --- session_memory.c --- */
/*
 * Posts n more receives of size octets each. IW_E_NOMEM: no memory. IW_E_LIMIT: above --max-memory.
 * Also errors of iw_post_recv.
 */
IW_MUST_CHECK int iw_session_add_recvs(struct session *s, uint32_t n, uint32_t size);
/* Posts the receives of a again: their octets are no longer needed. */
void iw_session_repost(struct session *s, const struct iw_xfer_act *a);
/* Returns s->work, allocated if necessary. NULL: no memory, or as in s->fault. */
struct work *iw_session_work(struct session *s);
/* True if s has its struct work. If it could not be allocated, the transfer has failed. */
bool iw_session_may_act(struct session *s);
/*
 * Returns memory for a chunk of g, from h->slots; the caller returns it with iw_pool_put. It is
 * zeroed if another transfer used it before (RFC 5042 6.3.2). NULL: no memory.
 */
void *iw_hub_chunk_get(struct hub *h, const struct group *g);
/*
 * Call it in each turn. When no session has had a connection for a second, frees the chunks that
 * h->slots keeps for reuse. So a listener without work holds none, whatever it had to do before.
 */
void iw_hub_trim(struct hub *h);
/* Gives slot i its memory. False: no memory now. If no transfer can get memory, s fails. */
bool iw_session_slot(struct session *s, uint32_t i);
/*
 * The same for s, if necessary with the memory of free slots of any session. NULL: no memory now; s
 * fails if no chunk is in use.
 */
void *iw_session_chunk(struct session *s);
/* Fails s because the machine has no memory for a chunk, unless chunks in use will become free. */
void iw_session_lacks_chunk(struct session *s);
/* Returns the memory of the free slots of s. False: they had none. */
bool iw_session_return_slots(struct session *s);
/* Revokes the registrations of all slots of s, and returns their memory. s->work is not NULL. */
void iw_session_free_slots(struct session *s);
/* Frees the receives, the slots and s->work. */
void iw_session_free_memory(struct session *s);

/* --- memory.c --- */
/* True if s may hold n octets more. If not, the largest idle holder will soon be closed. */
bool iw_session_may_take(struct session *s, uint64_t n);
/* Charges s and its holder for n octets; above the limit too. */
void iw_session_charge(struct session *s, uint64_t n);
/* Returns n octets that were charged. */
void iw_session_credit(struct session *s, uint64_t n);
/* Charges a new connection; settle credits all its charges. Set s->holder before, if s has one. */
void iw_session_account(struct session *s);
void iw_session_settle(struct session *s);
/* Charges the memory of r in which len octets have arrived. */
void iw_session_used(struct session *s, struct recv *r, size_t len);
/* Charges the transfer, which may outlive its sessions. s is one of its sessions. */
void iw_group_charge(struct group *g, const struct session *s, uint64_t n);
/* Returns n octets that were charged. */
void iw_group_credit(struct group *g, uint64_t n);
/* Charges g for the bytes that its place needs now. Above the limit, s fails. */
void iw_group_account(struct group *g, struct session *s, uint64_t bytes);
/* Fails s if the charges exceed the limit. bytes: memory of the names, for the message. */
void iw_group_check(struct group *g, struct session *s, uint64_t bytes);
/* Credits all charges of g. */
void iw_group_settle(struct group *g);

/* --- sched.c --- */
/* Queues s for a turn as soon as possible. */
void iw_session_make_ready(struct session *s);
/* Sets the timer of s to its next deadline. Call it after a deadline has changed. */
void iw_session_set_timer(struct session *s);
/* Ends s before its transfer is complete. text is the reason, reported with IW_E_CANCELED. */
void iw_session_stop(struct session *s, const char *text);
/* Call it when a file is settled or returned: sessions with next_waits try again. */
void iw_group_wake(struct group *g);
/* Queues every session for a turn. */
void iw_hub_wake_all(struct hub *h);
/* Ends the hub's waits when fd is readable (in) or writable (out); -1: no longer. */
void iw_hub_watch_in(struct hub *h, int fd);
void iw_hub_watch_out(struct hub *h, int fd);
/* s waits for memory. */
void iw_session_starve(struct session *s);
/* Call it when memory was freed: sessions that wait for memory try again. */
void iw_hub_slot_freed(struct hub *h);
/* --bwlimit. True: n octets may move now, and are counted. False: try again at s->pace_at. */
bool iw_hub_pace(struct hub *h, struct session *s, uint64_t n);
/* Uncounts n octets that iw_hub_pace has counted, and that have not moved. */
void iw_hub_unpace(struct hub *h, uint64_t n);
/*
 * Counts f, whose group is set, as open until iw_hub_count_closed, which iw_session_file_free
 * calls. Not for the worker.
 */
void iw_hub_count_open(struct hub *h, struct file *f);
void iw_hub_count_closed(struct file *f);
/*
 * True if the process has few descriptors left: g, which has open files, waits until one is closed.
 */
static inline bool iw_hub_is_crowded(const struct group *g)
{
	return g->open_files > 0 && g->hub->open_files >= g->hub->most_open;
}

#endif
