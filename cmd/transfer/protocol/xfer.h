/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * xfer: the transfer protocol of ddp-send and ddp-recv (man/ddp-transfer.7) as two state machines, source and sink, without I/O.
 *
 * Job: what is announced, asked for, granted, moved, acknowledged and given up, and in which order; credits; deadlines. One machine
 * serves one connection. Either role may be the initiator of the connection: a source that pushes, a sink that pulls.
 * Neighbours: cmd/transfer drives it with a queue pair and a file system, tests drive two of them against each other; it uses util
 * and, for CBOR, libcbor's functions that work on the caller's memory.
 * Threads: none, no locks; a machine belongs to one thread at a time.
 *
 *   in:    iw_xfer_start, iw_xfer_received, iw_xfer_completed, iw_xfer_lost, and an answer to each action that asks for one
 *   out:   while (iw_xfer_next(x, &act, now)) do what act says
 *   time:  iw_xfer_deadline -> iw_xfer_timeout
 *
 * Buffers: the machine knows slots, numbers of buffers of IW_XFER_CHUNK octets, which its driver owns. Between the action that
 * first names a slot and the one that ends its use the driver leaves its contents to the machine's orders.
 * The driver's own word for a file is a void *, given with the answer that makes the machine know the file, and repeated in every
 * later action about it; IW_XACT_RESULT is the last one.
 */
#ifndef IW_XFER_XFER_H
#define IW_XFER_XFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "util/mem.h"
#include "transfer/protocol/hello.h"

struct iw_xfer;

enum iw_xfer_kind {
	IW_XFER_FILE = 0,
	IW_XFER_DIR = 1,
	IW_XFER_STREAM = 2,
	IW_XFER_SYMLINK = 3,
	IW_XFER_HARDLINK = 4, /* another name of a file that was sent */
	IW_XFER_PACK = 5,     /* many small files as one stream of a chunk at most: see pack.h */
	IW_XFER_KINDS
};

/* Whether octets of such a file are moved at all. */
static inline bool iw_xfer_has_data(enum iw_xfer_kind k)
{
	return k == IW_XFER_FILE || k == IW_XFER_STREAM || k == IW_XFER_PACK;
}

/* Whether its length is known only at its end. */
static inline bool iw_xfer_is_stream(enum iw_xfer_kind k)
{
	return k == IW_XFER_STREAM || k == IW_XFER_PACK;
}

/* What a source announces of a file. */
struct iw_xmeta {
	enum iw_xfer_kind kind;
	const char *name; /* relative, any octets but NUL; not terminated */
	size_t name_len;
	/* named by the user, not found below a directory: a single one takes the target's name */
	bool top;
	uint64_t size; /* IW_XFER_SIZE_UNKNOWN: a stream's */
	/* FILE: octets outside of holes, at least; 0: not known */
	uint64_t data;
	/* permission, set-id and sticky bits; the sink decides which apply */
	uint32_t mode;
	int64_t mtime_s; /* seconds since 1970 */
	uint32_t mtime_ns;
	const char *
		target; /* SYMLINK: what it says; HARDLINK: the name that was sent; PACK: the list */
	size_t target_len;
	bool owned; /* uid and gid count */
	uint32_t uid, gid;
	/* NULL: not sent; otherwise packed as in transfer/files/attr.h */
	const uint8_t *xattr;
	size_t xattr_len;
	uint8_t ident[IW_XFER_IDENT_MAX];
	uint8_t ident_len;
	/* FILE, with IW_XOPT_CHECKSUM: of the whole file; len 0: not known */
	struct iw_xdigest digest;
	/* A part of a file, as others of it travel on other connections: share is not 0, and chunks from off on, len octets, are meant. */
	uint32_t share;
	uint64_t part_off, part_len;
	uint32_t members; /* of a pack; a sink's machine has looked at each of them */
};

struct iw_xfer_cfg {
	const struct iw_mem *mem; /* borrowed for life */
	enum iw_xfer_role role;
	bool initiator;
	uint32_t
		/* buffers of IW_XFER_CHUNK octets it may use at once: 1 to IW_XFER_WINDOWS */
		slots;
	uint32_t sq_depth; /* operations posted and not completed: at least 4 */
	uint64_t stall_ns; /* without progress for so long: failed */
	struct iw_hello mine,
		peer; /* what both sides said; for the initiator peer follows with iw_xfer_start */
	/*
	 * Makes the digest, of the kind agreed on, of the len octets of a control message: each one sent and received. False: it could not
	 * be made, and the transfer fails. NULL: control messages have none.
	 */
	bool (*digest)(void *ctx, const uint8_t *msg, size_t len, struct iw_xdigest *out);
	void *digest_ctx;
	/* What the initiator's OPEN says. */
	uint32_t opts;  /* set of enum iw_xopt */
	uint32_t conns; /* connections that make the transfer, this one among them; 0: 1 */
	/* push with IW_XOPT_LISTED: the names that may be removed, each with a NUL after it. Borrowed for life */
	const char *listed;
	size_t listed_len;
	const char *
		/* push: the target's path, at most IW_XFER_PATH_MAX octets; borrowed until started. NULL: "" */
		path;
};

/* IW_E_NOMEM, IW_E_INVAL. */
IW_MUST_CHECK int iw_xfer_new(struct iw_xfer **out, const struct iw_xfer_cfg *cfg,
			      struct iw_fault *why);
void iw_xfer_free(struct iw_xfer *x);

/* The connection is up. peer: what the Reply said, for the initiator; NULL for the responder, who knew it before. */
void iw_xfer_start(struct iw_xfer *x, const struct iw_hello *peer, uint64_t now);

/* ---------------------------------------------------------------- actions */

enum iw_xact_type {
	/* The queue pair. */
	IW_XACT_POST_RECVS, /* post count receives of size octets more */
	IW_XACT_REPOST,     /* part[0..nparts): these held receives are to be posted again */
	IW_XACT_SEND,       /* post msg as a Send */
	IW_XACT_DATA, /* post a Send of msg and, behind it, len octets of slot from slot_off on */
	IW_XACT_BEAT, /* post a zero-length RDMA Write: a sign of life that uses no receive of the peer */
	IW_XACT_WRITE, /* post an RDMA Write of the first len octets of slot to stag, to */
	/* post an RDMA Read of len octets from stag, to into slot, at Tagged Offset to there */
	IW_XACT_READ,
	IW_XACT_REGISTER, /* register the first len octets of slot, base Tagged Offset to, with right: iw_xfer_registered,
			     * now or later (when there is memory for the slot) */
	/* revoke that registration: after this nothing is placed or read. A sink of mode write: iw_xfer_written, at once */
	IW_XACT_REVOKE,
	IW_XACT_CLOSE, /* orderly end: disconnect. The last action but for results */
	IW_XACT_DROP, /* all is lost: end the connection at once. The last action but for results */
	/* A source's files. */
	IW_XACT_PATH, /* pull: the peer wants this: name, name_len (kept until the next action) */
	IW_XACT_NEXT_FILE, /* iw_xfer_add, iw_xfer_add_failed or iw_xfer_no_more, now or later */
	/* the sink has len octets of file from off on, in whole chunks: name, name_len are their digests */
	IW_XACT_HAVE,
	/* the members of a pack that the sink wants: name, name_len, a bit each */
	IW_XACT_WANTED,
	/* where are data in file at or after off that the sink lacks? iw_xfer_range or iw_xfer_file_failed, now or later */
	IW_XACT_NEXT_RANGE,
	/*
	 * read len octets of file at off into slot: iw_xfer_loaded or iw_xfer_file_failed, now or later. One at a time: where the
	 * file of the last one has ended meanwhile, this one takes its place, and the last one is not answered any more
	 */
	IW_XACT_LOAD,
	/* all size octets of file are read: check that it is unchanged. iw_xfer_finished or iw_xfer_file_failed,
	 * now or later */
	IW_XACT_FINISH,
	IW_XACT_GONE, /* the sink removed, or would remove, name, name_len (kept until the next action) */
	/* A sink's files. */
	/* the peer's OPEN: name (the target's path), opts. Nothing to answer; iw_xfer_fail if it cannot be */
	IW_XACT_OPENED,
	/*
	 * meta: iw_xfer_created, iw_xfer_made or iw_xfer_file_failed (also IW_XC_SAME), now or later; one at a time. A RESULT of that id
	 * without a file means that the answer is no longer needed, or was too late
	 */
	IW_XACT_CREATE,
	IW_XACT_STORE, /* part[0..nparts) are len octets of file at off, zeros when nparts is 0; digest is what they must have:
			     * iw_xfer_stored or iw_xfer_file_failed, now or later. The parts are the driver's again then. */
	/* file is whole, has size octets, and digest: iw_xfer_committed or iw_xfer_file_failed, now or later */
	IW_XACT_COMMIT,
	IW_XACT_ABANDON, /* file will not become whole, for the reason code: remove what is of no use */
	IW_XACT_REMOVE, /* IW_XOPT_LISTED: name, name_len may be removed (kept until the next action) */
	IW_XACT_FINAL, /* the source has no more: times of directories, removals: iw_xfer_final, now or later */
	/* Both. */
	IW_XACT_RESULT, /* file (may be NULL), id, meta: code, text; the machine forgets it */
	/* the whole transfer: fault.err is IW_OK when it came to its end. Once, before CLOSE or DROP */
	IW_XACT_END,
};

enum iw_xright { IW_XRIGHT_REMOTE_READ, IW_XRIGHT_REMOTE_WRITE, IW_XRIGHT_READ_SINK };

/* A piece of a chunk where it lies. */
struct iw_xpart {
	/* in the receive buffer recv, from IW_XFER_DATA_HDR on; else in slot recv from 0 on */
	bool in_recv;
	uint32_t recv;
	uint32_t len;
};
#define IW_XPARTS (IW_XFER_CHUNK / IW_XFER_PIECE)

struct iw_xact {
	enum iw_xact_type type;
	uint64_t cookie;    /* SEND, DATA, BEAT, WRITE, READ: for iw_xfer_completed */
	const uint8_t *msg; /* kept until completed */
	size_t msg_len;
	uint32_t slot, slot_off;
	uint32_t stag;
	uint64_t to;
	enum iw_xright right;
	uint32_t count, size32; /* POST_RECVS */
	uint32_t id;            /* the file's number */
	void *file;             /* the driver's word for it */
	const struct iw_xmeta *
		meta; /* CREATE, RESULT; owned by the machine, until the next action after RESULT */
	uint64_t off, len;
	uint64_t size; /* FINISH, COMMIT */
	struct iw_xdigest digest;
	struct iw_xpart part[IW_XPARTS];
	size_t nparts;
	const char *
		name; /* PATH, OPENED: not terminated, owned by the machine until the next action */
	size_t name_len;
	uint32_t opts;        /* OPENED */
	const uint8_t *codes; /* RESULT of a pack: of its members; NULL: all as code */
	size_t ncodes;
	uint32_t code;         /* RESULT: enum iw_xcode, or a newer peer's number */
	const char *text;      /* RESULT: more about it, or "" */
	bool told_by_peer;     /* RESULT: code and text are the peer's words */
	struct iw_fault fault; /* END */
};

/* True when *act is to be done now. Call until false after everything that went in. */
bool iw_xfer_next(struct iw_xfer *x, struct iw_xact *act, uint64_t now);

/* ---------------------------------------------------------------- the queue pair's side */

enum iw_xverdict {
	IW_XRECV_REPOST, /* post the receive again, at once */
	IW_XRECV_HOLD,   /* it holds a piece of a chunk: STORE or REPOST will name it */
	IW_XRECV_RETIRE, /* do not post it again */
};

/* A Send has arrived in receive buffer recv: len octets at msg (borrowed, but for HOLD). A breach of the protocol fails the transfer. */
enum iw_xverdict iw_xfer_received(struct iw_xfer *x, uint32_t recv, const uint8_t *msg, size_t len,
				  uint64_t now);
/* A posted operation is complete; status as in struct iw_wc. */
void iw_xfer_completed(struct iw_xfer *x, uint64_t cookie, int status, uint64_t now);
void iw_xfer_registered(struct iw_xfer *x, uint32_t slot, uint32_t stag);
/* REVOKE: octets at the start of the slot that the peer has written without a gap. Fewer than in its DONE: a breach. */
void iw_xfer_written(struct iw_xfer *x, uint32_t slot, uint64_t octets);
/* This side has work to do for the transfer, and the peer waits for it. */
bool iw_xfer_busy_here(const struct iw_xfer *x);
/* The octets that completed RDMA Writes have put into the window of a slot. */
struct iw_xwindow {
	uint64_t octets; /* in all */
	uint64_t whole;  /* at its start, without a gap */
};
/*
 * Sink in mode write: w[IW_XFER_WINDOWS], by slot; entries of slots without a window are ignored. Call it about once a second, and before
 * iw_xfer_timeout.
 */
void iw_xfer_windows(struct iw_xfer *x, const struct iw_xwindow *w, uint64_t now);
/* What the connection has moved so far. */
struct iw_xline {
	uint64_t received; /* octets of any kind that arrived */
	uint64_t arrived;  /* octets of files and of incomplete messages that arrived */
	uint64_t
		acked; /* octets of this connection that the peer's transport has acknowledged; 0: not known */
};
/*
 * More octets of any kind than the last time show that the peer is there. More that arrived, and at a source more that were acknowledged
 * than messages have, show that the transfer advances. Call it before iw_xfer_timeout. Ignored before OPEN.
 */
void iw_xfer_line(struct iw_xfer *x, const struct iw_xline *l, uint64_t now);
/* Octets, at most, that the messages and signs of life of this side have taken on the connection, with their headers. */
uint64_t iw_xfer_own_octets(const struct iw_xfer *x);
/* Asks the peer for a message at once, which iw_xfer_heard_at then shows. */
void iw_xfer_ask(struct iw_xfer *x);
/*
 * Pull, source: sets the total, octets, of the files under the first so many requested paths. It is
 * sent to the sink if the sink set IW_XOPT_TOTAL.
 */
void iw_xfer_total(struct iw_xfer *x, uint64_t octets, uint64_t paths);
/* When octets of the peer arrived last, as reported to the machine. */
uint64_t iw_xfer_heard_at(const struct iw_xfer *x);
/* No action or operation refers to the slot, nor does its next use need its contents: its memory may serve another one. */
bool iw_xfer_slot_is_free(const struct iw_xfer *x, uint32_t slot);
/* Work of this side for the transfer is done: the time for progress starts again. */
void iw_xfer_touch(struct iw_xfer *x, uint64_t now);
/* Octets of files have moved: the same, for the deadline of a partly received chunk. */
void iw_xfer_moved(struct iw_xfer *x, uint64_t now);
/* This side gives the transfer up; the peer is told when it can be. Everything unfinished ends; END and DROP follow. */
void iw_xfer_fail(struct iw_xfer *x, const struct iw_fault *why);
/* The connection has ended, with this fault (err IW_OK: orderly). */
void iw_xfer_lost(struct iw_xfer *x, const struct iw_fault *why);
/*
 * The transfer ended here because the connection was lost, one of the sides saw no progress on it, or octets were changed on their way;
 * the transfer may continue on another connection.
 */
bool iw_xfer_was_lost(const struct iw_xfer *x);
uint64_t iw_xfer_deadline(const struct iw_xfer *x);
void iw_xfer_timeout(struct iw_xfer *x, uint64_t now);
/* The last END has been handed out: nothing is left to do but to forget the machine. */
bool iw_xfer_is_over(const struct iw_xfer *x);
/* No file is open or announced and the peer was asked for nothing: may be ended without loss. */
bool iw_xfer_is_idle(const struct iw_xfer *x);

/* ---------------------------------------------------------------- answers */

/* Pull, the sink: paths wanted from the source, copied; before or after start. IW_E_NOMEM, IW_E_LIMIT: above IW_XFER_NAME_MAX octets. */
IW_MUST_CHECK int iw_xfer_want_path(struct iw_xfer *x, const char *path, size_t len);
void iw_xfer_want_end(struct iw_xfer *x);

/* NEXT_FILE. meta->name is kept until the file's RESULT. */
void iw_xfer_add(struct iw_xfer *x, const struct iw_xmeta *meta, void *file, uint64_t now);
/* A file that cannot be sent: the peer is told, and it counts as failed. file may be NULL. */
void iw_xfer_add_failed(struct iw_xfer *x, const struct iw_xmeta *meta, void *file,
			enum iw_xcode code, const char *text, uint64_t now);
void iw_xfer_no_more(struct iw_xfer *x, uint64_t now);
/* NEXT_RANGE: len octets of data from off on (off as asked or above); last: none behind. len 0: none at all. */
void iw_xfer_range(struct iw_xfer *x, uint32_t id, uint64_t off, uint64_t len, bool last);
/* len octets that HAVE named are the same here, and will be in no range. */
void iw_xfer_had(struct iw_xfer *x, uint32_t id, uint64_t len, uint64_t now);

/* LOAD: len octets are there; fewer than asked only at the end of a stream. */
struct iw_xloaded {
	uint32_t len;
	bool zero; /* every octet is zero: nothing needs to be sent */
	struct iw_xdigest digest;
};
void iw_xfer_loaded(struct iw_xfer *x, uint32_t slot, const struct iw_xloaded *l, uint64_t now);
/* FINISH */
void iw_xfer_finished(struct iw_xfer *x, uint32_t id, const struct iw_xdigest *digest,
		      uint64_t now);

/*
 * CREATE, before iw_xfer_created: digests of n chunks from octet off on that an earlier transfer has stored (copied). The source sends
 * those that differ from its own: STORE then replaces a chunk. False: no memory: they will be sent again.
 */
bool iw_xfer_have(struct iw_xfer *x, uint32_t id, uint64_t off, const uint8_t *digests, size_t n);
/* CREATE of a pack, before iw_xfer_created: which members are wanted (copied). */
void iw_xfer_wanted(struct iw_xfer *x, uint32_t id, const uint8_t *bits, size_t len);
/* A pack, before its iw_xfer_committed, iw_xfer_made or iw_xfer_file_failed: what became of its members, and the reason of the first one that
 * failed, or "" (both copied). */
void iw_xfer_codes(struct iw_xfer *x, uint32_t id, const uint8_t *codes, size_t n, const char *why);
/*
 * FINAL, before iw_xfer_final: the names that were removed, or would be, each with a NUL after it; sent if the peer wants them. Borrowed
 * for life. stayed: names that would have been removed, but that REMOVE did not have.
 * made: directories and links that did not exist.
 */
void iw_xfer_gone(struct iw_xfer *x, const char *names, size_t len, uint64_t stayed, uint64_t made);
/* FINAL */
void iw_xfer_final(struct iw_xfer *x, uint64_t gone, uint64_t failed, uint64_t now);

/* CREATE: data are wanted. */
void iw_xfer_created(struct iw_xfer *x, uint32_t id, void *file, uint64_t now);
/* CREATE: it is there and needs no data (a directory, a link). file may be NULL. */
void iw_xfer_made(struct iw_xfer *x, uint32_t id, void *file, uint64_t now);
/* STORE. kept: a later connection, or transfer, need not move the chunk again. */
void iw_xfer_stored(struct iw_xfer *x, bool kept, uint64_t now);
void iw_xfer_committed(struct iw_xfer *x, uint32_t id, uint64_t now);

/* Answer to CREATE, LOAD, FINISH, STORE, NEXT_RANGE, COMMIT, or at any time: this file will not be. text is copied, cut at IW_XFER_TEXT_MAX. */
void iw_xfer_file_failed(struct iw_xfer *x, uint32_t id, enum iw_xcode code, const char *text,
			 uint64_t now);

struct iw_xfer_counts {
	uint64_t files_done, files_same, files_excluded, files_failed; /* with a RESULT */
	uint64_t exist, newer; /* of files_same: --no-clobber or --update kept them */
	uint64_t dirs;   /* directories at the target, created or not; they are not in files_done */
	uint64_t links;  /* symbolic and hard links in files_done */
	uint64_t made;   /* of these and of links, those that the sink created */
	uint64_t octets; /* of files, moved */
	uint64_t zeros;  /* not moved because they are zeros inside a wanted range */
	uint64_t
		/* octets of all files announced so far whose size is known, less those of files skipped or failed */
		announced;
	/* octets of files that were skipped or failed; with announced, all that were announced */
	uint64_t dropped;
	/* pull, the sink: octets of all files that it has requested, as the source reported; 0: not known */
	uint64_t total;
	uint64_t settled; /* octets of them that need nothing more: moved, holes passed over */
	uint64_t had;     /* of them, octets that an earlier transfer had stored */
	uint64_t msgs_sent, msgs_received;
	uint64_t control_sent, control_received; /* octets of control messages */
	/* octets of files that the sink has stored so that a later connection need not move them again */
	uint64_t kept;
	uint64_t peer_failed; /* failed files, from the peer's BYE */
	uint64_t gone;        /* removed at the target */
	uint64_t stayed;      /* not removed: they were not listed */
};
/* The initiator's wishes: a set of enum iw_xopt. A responder knows them from its first action on. */
uint32_t iw_xfer_opts(const struct iw_xfer *x);
uint32_t iw_xfer_conns(const struct iw_xfer *x);

const struct iw_xfer_counts *iw_xfer_counts(const struct iw_xfer *x);

#endif
