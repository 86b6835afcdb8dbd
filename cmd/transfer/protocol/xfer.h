/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * xfer: the transfer protocol of ddp-send and ddp-recv (man/ddp-transfer.7) as two state machines,
 * source and sink, without I/O.
 *
 * A machine decides which files, ranges, windows and chunks its messages name, and in which order
 * they are moved. It also keeps credits and deadlines. One machine serves one connection. Either
 * role may be the initiator: a source that pushes, or a sink that pulls.
 *
 * cmd/transfer drives a machine with a queue pair and a file system; tests drive two of them
 * against each other. All times are in nanoseconds, from one monotonic clock of the driver. The
 * machine has no locks: it belongs to one thread at a time.
 *
 *   in:    iw_xfer_start, iw_xfer_received, iw_xfer_completed, iw_xfer_lost, and an answer to
 *          each action that needs one
 *   out:   while (iw_xfer_next(x, &act, now)) do what act says
 *   time:  iw_xfer_deadline -> iw_xfer_timeout
 *
 * Slots: buffers of IW_XFER_CHUNK octets, owned by the driver. The machine knows only their
 * numbers. From the action that first names a slot to the one that ends its use, the driver changes
 * the contents only as the machine's actions say.
 *
 * Files: the driver passes its own pointer for a file (borrowed) in iw_xfer_add,
 * iw_xfer_add_failed, iw_xfer_created or iw_xfer_made. Each later action about the file repeats it;
 * IW_XFER_ACT_RESULT is the last one.
 */
#ifndef IW_TRANSFER_PROTOCOL_XFER_H
#define IW_TRANSFER_PROTOCOL_XFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "transfer/protocol/hello.h"
#include "util/mem.h"

struct iw_xfer;

enum iw_xfer_kind {
	IW_XFER_FILE = 0,
	IW_XFER_DIR = 1,
	IW_XFER_STREAM = 2,
	IW_XFER_SYMLINK = 3,
	IW_XFER_HARDLINK = 4, /* a further name of a file that was sent */
	IW_XFER_PACK = 5,     /* many small files as one stream of at most one chunk: see pack.h */
	IW_XFER_KINDS
};

/* True if octets of such a file are moved. */
static inline bool iw_xfer_has_data(enum iw_xfer_kind k)
{
	return k == IW_XFER_FILE || k == IW_XFER_STREAM || k == IW_XFER_PACK;
}

/* True if the length is known only at the end. */
static inline bool iw_xfer_is_stream(enum iw_xfer_kind k)
{
	return k == IW_XFER_STREAM || k == IW_XFER_PACK;
}

/* What a source announces about a file. */
struct iw_xfer_meta {
	enum iw_xfer_kind kind;
	const char *name; /* relative, any octets except NUL; not terminated */
	size_t name_len;
	/*
	 * Named by the user, not found below a directory. A single one may get the last component
	 * of the target's path as its name.
	 */
	bool top;
	uint64_t size; /* in octets; IW_XFER_SIZE_UNKNOWN for a stream or a pack */
	/* FILE: at least so many octets are outside holes; 0: not known */
	uint64_t data;
	/* Permission, set-id and sticky bits. The sink decides which ones apply. */
	uint32_t mode;
	int64_t mtime_s; /* seconds since 1970 */
	uint32_t mtime_ns;
	/* SYMLINK: its contents; HARDLINK: the name that was sent; PACK: the list */
	const char *target;
	size_t target_len;
	bool owned; /* uid and gid are valid */
	uint32_t uid, gid;
	/* NULL: not sent; otherwise packed as in transfer/files/attr.h */
	const uint8_t *xattr;
	size_t xattr_len;
	/* FILE: changes with the source file's contents and metadata; ident_len 0: not known */
	uint8_t ident[IW_XFER_IDENT_MAX];
	uint8_t ident_len;
	/* FILE, with IW_XFER_OPT_CHECKSUM: digest of the whole file; len 0: not known */
	struct iw_xfer_digest digest;
	/*
	 * If share is not 0: a part of a file, part_len octets at part_off. Other parts with the
	 * same share move on other connections.
	 */
	uint32_t share;
	uint64_t part_off, part_len;
	uint32_t members; /* PACK: number of members; the sink's machine has checked each of them */
};

struct iw_xfer_cfg {
	const struct iw_mem *mem; /* borrowed until iw_xfer_free */
	enum iw_xfer_role role;
	bool initiator;
	/* Buffers of IW_XFER_CHUNK octets that the machine may use: 1 to IW_XFER_WINDOWS. */
	uint32_t slots;
	uint32_t sq_depth; /* at least 4: operations that may be posted and not completed */
	/* Own patience: the transfer fails after this time without progress, or without octets. */
	uint64_t stall_ns;
	/* What both sides said. iw_xfer_start sets an initiator's peer. */
	struct iw_hello mine, peer;
	/*
	 * Computes the digest of a control message, of the agreed kind; called for each one that is
	 * sent or received. False: it failed, and so does the transfer. NULL: control messages have
	 * no digest.
	 */
	bool (*digest)(void *ctx, const uint8_t *msg, size_t len, struct iw_xfer_digest *out);
	void *digest_ctx;
	/* Contents of the initiator's OPEN: */
	uint32_t opts;  /* set of enum iw_xfer_opt */
	uint32_t conns; /* connections of the transfer, this one included; 0 means 1 */
	/*
	 * Push with IW_XFER_OPT_LISTED: the names that may be removed, each terminated by NUL;
	 * NULL: none. Borrowed until iw_xfer_free.
	 */
	const char *listed;
	size_t listed_len;
	/* Push: the path of the target, at most IW_XFER_PATH_MAX octets; copied. NULL: "". */
	const char *path;
};

/*
 * Creates a machine. *cfg is copied. *out: owned by the caller, who frees it with iw_xfer_free.
 * IW_E_NOMEM: no memory. IW_E_INVAL: slots, sq_depth or the length of path is out of range.
 */
IW_MUST_CHECK int iw_xfer_new(struct iw_xfer **out, const struct iw_xfer_cfg *cfg,
			      struct iw_fault *why);
/* Frees the machine; x may be NULL. */
void iw_xfer_free(struct iw_xfer *x);

/*
 * Reports that the connection is established. peer: the responder's parameters, from the Reply
 * (copied); NULL for a responder, whose cfg.peer is from the Request. A lack of memory fails the
 * transfer.
 */
void iw_xfer_start(struct iw_xfer *x, const struct iw_hello *peer, uint64_t now);
/*
 * Reports that TLS or DTLS encrypts the connection, with its channel binding (copied). Call it
 * before iw_xfer_start, or not at all for a plain connection. Each side then sends the binding in
 * its first message. The transfer fails with IW_E_TLS, before anything is named or placed, if that
 * of the peer differs or is missing: another party decrypts the connection between both ends (RFC
 * 9266). It also fails if only the peer sends one.
 */
void iw_xfer_bind(struct iw_xfer *x, const uint8_t binding[static IW_XFER_BINDING_LEN]);

/* ---------------------------------------------------------------- actions */

enum iw_xfer_act_type {
	/* Of the queue pair: */
	IW_XFER_ACT_POST_RECVS, /* post count more receives of size32 octets */
	IW_XFER_ACT_REPOST,     /* post the held receives of piece[0..npieces) again */
	IW_XFER_ACT_SEND,       /* post msg as a Send */
	IW_XFER_ACT_DATA,       /* post a Send of msg followed by len octets of slot at slot_off */
	/*
	 * Post a zero-length RDMA Write to STag 0 (RFC 5041 5.2): it shows that this side is alive,
	 * and uses no receive of the peer.
	 */
	IW_XFER_ACT_BEAT,
	/* post an RDMA Write of the first len octets of slot to Tagged Offset to of stag */
	IW_XFER_ACT_WRITE,
	/*
	 * Post an RDMA Read of len octets from Tagged Offset to of stag into slot, at the same
	 * offset there.
	 */
	IW_XFER_ACT_READ,
	/*
	 * Register the first len octets of slot with base Tagged Offset to and with right. Answer
	 * iw_xfer_registered, now or when there is memory for the slot.
	 */
	IW_XFER_ACT_REGISTER,
	/*
	 * Revoke the registration of slot: afterwards the peer can neither place nor read octets
	 * (RFC 5042 6.2.2). A sink in mode write answers iw_xfer_written at once.
	 */
	IW_XFER_ACT_REVOKE,
	IW_XFER_ACT_CLOSE, /* disconnect in order; the last action */
	IW_XFER_ACT_DROP,  /* failure: end the connection at once; the last action */
	/* Of a source's files: */
	IW_XFER_ACT_PATH, /* pull: the peer requests name, name_len (valid until the next action) */
	/*
	 * Name the next file to announce: answer iw_xfer_add, iw_xfer_add_failed or
	 * iw_xfer_no_more, now or later.
	 */
	IW_XFER_ACT_NEXT_FILE,
	/*
	 * The sink reports that it has len octets of file at off, in whole chunks except at the end
	 * of the file, with the digests name, name_len (valid until the next action). Compare these
	 * with file: iw_xfer_had, before the answer to the next NEXT_RANGE.
	 */
	IW_XFER_ACT_HAVE,
	/*
	 * The members of a pack that the sink wants: name, name_len, one bit each, the first is bit
	 * 7 of octet 0 (valid until the next action).
	 */
	IW_XFER_ACT_WANTED,
	/*
	 * Find data of file at or after off that the sink lacks. Answer iw_xfer_range or
	 * iw_xfer_file_failed, now or later.
	 */
	IW_XFER_ACT_NEXT_RANGE,
	/*
	 * Read len octets of file at off into slot. Answer iw_xfer_loaded or iw_xfer_file_failed,
	 * now or later. One LOAD at a time: if the file of the last one has ended, a new LOAD
	 * replaces it, and the last one is not answered.
	 */
	IW_XFER_ACT_LOAD,
	/*
	 * All size octets of file were read: check that it is unchanged. Answer iw_xfer_finished or
	 * iw_xfer_file_failed, now or later.
	 */
	IW_XFER_ACT_FINISH,
	/* the sink removed, or would remove, name, name_len (valid until the next action) */
	IW_XFER_ACT_GONE,
	/* Of a sink's files: */
	/*
	 * The peer's OPEN: name, name_len (the path of the target), opts. No answer; iw_xfer_fail
	 * if the target cannot be used.
	 */
	IW_XFER_ACT_OPENED,
	/*
	 * Create the file meta. Answer iw_xfer_created, iw_xfer_made or iw_xfer_file_failed (with
	 * IW_XFER_CODE_SAME too), now or later. One CREATE at a time. A RESULT of that id without a
	 * file means that the answer is no longer needed, or was too late.
	 */
	IW_XFER_ACT_CREATE,
	/*
	 * Store piece[0..npieces), len octets of file at off, if they have that digest. Answer
	 * iw_xfer_stored or iw_xfer_file_failed, now or later. With the answer, post the receives
	 * that hold the pieces again.
	 */
	IW_XFER_ACT_STORE,
	/*
	 * file is complete: it has size octets, and digest. Answer iw_xfer_committed or
	 * iw_xfer_file_failed, now or later.
	 */
	IW_XFER_ACT_COMMIT,
	IW_XFER_ACT_ABANDON, /* file will not be complete, because of code. Remove what is useless */
	/* IW_XFER_OPT_LISTED: name, name_len may be removed (valid until the next action) */
	IW_XFER_ACT_REMOVE,
	/*
	 * The source has no more files: set times of directories, remove names. Answer
	 * iw_xfer_final, now or later.
	 */
	IW_XFER_ACT_FINAL,
	/* Of both: */
	/* the result of file (may be NULL), id, meta: code, text. The machine forgets the file */
	IW_XFER_ACT_RESULT,
	/*
	 * The result of the transfer: fault.err is IW_OK if it is complete. Issued once, before
	 * CLOSE or DROP.
	 */
	IW_XFER_ACT_END,
};

enum iw_xfer_right {
	IW_XFER_RIGHT_REMOTE_READ,
	IW_XFER_RIGHT_REMOTE_WRITE,
	IW_XFER_RIGHT_READ_SINK
};

/* A piece of a chunk, in the buffer where it arrived. */
struct iw_xfer_piece {
	/*
	 * in_recv: in the receive buffer recv, after IW_XFER_DATA_HDR octets. Otherwise at the
	 * start of the slot recv.
	 */
	bool in_recv;
	uint32_t recv;
	uint32_t len;
};
#define IW_XFER_PIECES (IW_XFER_CHUNK / IW_XFER_PIECE)

struct iw_xfer_act {
	enum iw_xfer_act_type type;
	uint64_t cookie;    /* SEND, DATA, BEAT, WRITE, READ: pass it to iw_xfer_completed */
	const uint8_t *msg; /* valid until completed */
	size_t msg_len;
	uint32_t slot, slot_off;
	uint32_t stag;
	uint64_t to;
	enum iw_xfer_right right;
	uint32_t count, size32; /* POST_RECVS */
	uint32_t id;            /* the file's number */
	void *file;             /* the driver's pointer for it */
	/* CREATE, RESULT; owned by the machine, valid until the next action after RESULT */
	const struct iw_xfer_meta *meta;
	uint64_t off, len; /* in octets */
	uint64_t size;     /* FINISH, COMMIT */
	struct iw_xfer_digest digest;
	struct iw_xfer_piece piece[IW_XFER_PIECES];
	size_t npieces;
	/* Not terminated; owned by the machine, valid until the next action. */
	const char *name;
	size_t name_len;
	uint32_t opts;        /* OPENED */
	const uint8_t *codes; /* RESULT of a pack: the codes of its members; NULL: all have code */
	size_t ncodes;
	uint32_t code;         /* RESULT, ABANDON: enum iw_xfer_code, or a number of a newer peer */
	const char *text;      /* RESULT: details, or "" */
	bool told_by_peer;     /* RESULT: code and text come from the peer */
	struct iw_fault fault; /* END */
};

/*
 * Returns true with the next action in *act, which the driver performs before the next call. Call
 * it after one or several inputs, until it returns false.
 */
bool iw_xfer_next(struct iw_xfer *x, struct iw_xfer_act *act, uint64_t now);

/* ---------------------------------------------------------------- the queue pair's side */

enum iw_xfer_verdict {
	IW_XFER_RECV_REPOST, /* post the receive again at once */
	IW_XFER_RECV_HOLD,   /* it holds a piece of a chunk; a later STORE or REPOST names it */
	IW_XFER_RECV_RETIRE, /* do not post it again */
};

/*
 * Reports a Send that has arrived in receive buffer recv: len octets at msg, borrowed until the
 * call returns. With HOLD the driver keeps them until STORE or REPOST names the receive. A breach
 * of the protocol fails the transfer.
 */
enum iw_xfer_verdict iw_xfer_received(struct iw_xfer *x, uint32_t recv, const uint8_t *msg,
				      size_t len, uint64_t now);
/* Reports that a posted operation has completed; status is as in struct iw_wc. */
void iw_xfer_completed(struct iw_xfer *x, uint64_t cookie, int status, uint64_t now);
/* Answer to REGISTER: the STag. */
void iw_xfer_registered(struct iw_xfer *x, uint32_t slot, uint32_t stag);
/*
 * Answer to REVOKE: octets at the start of the slot that the peer has written without a gap. Fewer
 * than its DONE said is a breach (RFC 5042 6.3.2).
 */
void iw_xfer_written(struct iw_xfer *x, uint32_t slot, uint64_t octets);
/* True if the peer waits for work of this side. */
bool iw_xfer_busy_here(const struct iw_xfer *x);
/* The octets that completed RDMA Writes have placed in the window of a slot. */
struct iw_xfer_window {
	uint64_t octets; /* in all */
	uint64_t whole;  /* from its start without a gap */
};
/*
 * Sink in mode write: reports how far the windows are filled. w has IW_XFER_WINDOWS entries, one
 * per slot; entries of slots without a window are ignored. A gap in a window is a breach. Call it
 * about once a second, and before iw_xfer_timeout.
 */
void iw_xfer_windows(struct iw_xfer *x, const struct iw_xfer_window *w, uint64_t now);
/* What the connection has moved so far. */
struct iw_xfer_traffic {
	uint64_t received; /* octets of any kind that arrived */
	uint64_t arrived;  /* received octets of files and of incomplete messages */
	/* octets of this connection that the peer's transport has acknowledged; 0: not known */
	uint64_t acked;
};
/*
 * Reports *l; call it before iw_xfer_timeout. More received octets than last time show that the
 * peer is alive. More octets of files, received or at a source acknowledged, show that the transfer
 * advances. Ignored before OPEN.
 */
void iw_xfer_traffic(struct iw_xfer *x, const struct iw_xfer_traffic *l, uint64_t now);
/*
 * An upper bound of the octets that the control messages and BEATs of this side took on the
 * connection, headers included.
 */
uint64_t iw_xfer_own_octets(const struct iw_xfer *x);
/* Asks the peer to send a message at once; iw_xfer_heard_at shows the answer. */
void iw_xfer_ask(struct iw_xfer *x);
/*
 * Pull, source: sets the total size, in octets, of the files of the first paths requested paths. It
 * is sent if the sink set IW_XFER_OPT_TOTAL.
 */
void iw_xfer_total(struct iw_xfer *x, uint64_t octets, uint64_t paths);
/* The time when octets of the peer last arrived, as far as the machine was informed. */
uint64_t iw_xfer_heard_at(const struct iw_xfer *x);
/*
 * True if no action or operation refers to the slot, and its next use does not need its contents:
 * its memory may be used elsewhere.
 */
bool iw_xfer_slot_is_free(const struct iw_xfer *x, uint32_t slot);
/*
 * Reports work of this side for the transfer: restarts the timer of progress, except before OPEN.
 */
void iw_xfer_touch(struct iw_xfer *x, uint64_t now);
/* The same when octets of files have moved: also restarts the timer of a partly received chunk. */
void iw_xfer_moved(struct iw_xfer *x, uint64_t now);
/*
 * Ends the transfer because of *why (copied), and sends the peer an ABORT if possible. The results
 * of all unfinished files follow, then END, then CLOSE if the ABORT was sent, otherwise DROP.
 */
void iw_xfer_fail(struct iw_xfer *x, const struct iw_fault *why);
/* Reports that the connection has ended because of *why (err IW_OK: in order). */
void iw_xfer_lost(struct iw_xfer *x, const struct iw_fault *why);
/*
 * True if the transfer ended because the connection was lost, because a side saw no progress on it,
 * or because octets were changed in transit. It may continue on another connection.
 */
bool iw_xfer_was_lost(const struct iw_xfer *x);
/* When to call iw_xfer_timeout; IW_TIME_NEVER: not at all. */
uint64_t iw_xfer_deadline(const struct iw_xfer *x);
/*
 * Fails the transfer if a timer has expired, or queues a sign of life if one is due. Does nothing
 * before the deadline.
 */
void iw_xfer_timeout(struct iw_xfer *x, uint64_t now);
/* True if the last action was issued: free the machine. */
bool iw_xfer_is_over(const struct iw_xfer *x);
/*
 * True if no file is open or announced and the peer has requested nothing: the transfer may be
 * ended without loss.
 */
bool iw_xfer_is_idle(const struct iw_xfer *x);

/* ---------------------------------------------------------------- answers */

/*
 * Pull, sink: requests a path from the source, before or after the start. len in octets; the path
 * is copied. IW_E_NOMEM: no memory. IW_E_LIMIT: above IW_XFER_NAME_MAX octets, or too many paths.
 */
IW_MUST_CHECK int iw_xfer_want_path(struct iw_xfer *x, const char *path, size_t len);
/* Pull, sink: no more paths follow. GET is sent after this. */
void iw_xfer_want_end(struct iw_xfer *x);

/* Answer to NEXT_FILE. What meta points to must stay valid until the file's RESULT. */
void iw_xfer_add(struct iw_xfer *x, const struct iw_xfer_meta *meta, void *file, uint64_t now);
/*
 * The same for a file that cannot be sent: the peer is informed, and it counts as failed. file may
 * be NULL.
 */
void iw_xfer_add_failed(struct iw_xfer *x, const struct iw_xfer_meta *meta, void *file,
			enum iw_xfer_code code, const char *text, uint64_t now);
/* Answer to NEXT_FILE: there are no more files. */
void iw_xfer_no_more(struct iw_xfer *x, uint64_t now);
/*
 * Answer to NEXT_RANGE: len octets of data at off, which is at least the off of the action. last:
 * no data follow. len 0: no data are left.
 */
void iw_xfer_range(struct iw_xfer *x, uint32_t id, uint64_t off, uint64_t len, bool last);
/* len octets that HAVE named have the same digests in this file: no range will contain them. */
void iw_xfer_had(struct iw_xfer *x, uint32_t id, uint64_t len, uint64_t now);

/* Answer to LOAD: len octets were read; fewer than requested only at the end of a stream. */
struct iw_xfer_chunk {
	uint32_t len;
	bool zero; /* all octets are zero: nothing need be sent */
	struct iw_xfer_digest digest;
};
/* Answer to the LOAD of file id into slot; ignored if that LOAD was replaced. */
void iw_xfer_loaded(struct iw_xfer *x, uint32_t id, uint32_t slot, const struct iw_xfer_chunk *l,
		    uint64_t now);
/* Answer to FINISH. */
void iw_xfer_finished(struct iw_xfer *x, uint32_t id, const struct iw_xfer_digest *digest,
		      uint64_t now);

/*
 * Before the iw_xfer_created of a file: reports n chunks from octet off on that an earlier transfer
 * has stored, with their digests (copied). The source sends those whose digest differs; STORE then
 * replaces them. False: no memory; the source sends all of these chunks again.
 */
bool iw_xfer_have(struct iw_xfer *x, uint32_t id, uint64_t off, const uint8_t *digests, size_t n);
/* Before the iw_xfer_created of a pack: the members that are wanted (copied). */
void iw_xfer_wanted(struct iw_xfer *x, uint32_t id, const uint8_t *bits, size_t len);
/*
 * Before the iw_xfer_committed, iw_xfer_made or iw_xfer_file_failed of a pack: the codes of its
 * members, and the reason of the first one that failed, or "" (both copied).
 */
void iw_xfer_codes(struct iw_xfer *x, uint32_t id, const uint8_t *codes, size_t n, const char *why);
/*
 * Before iw_xfer_final: the names that were or would be removed, each terminated by NUL (borrowed
 * until iw_xfer_free). They are sent if the peer set IW_XFER_OPT_NAMES. stayed: names that were
 * kept because REMOVE did not list them. made: directories that did not exist before.
 */
void iw_xfer_gone(struct iw_xfer *x, const char *names, size_t len, uint64_t stayed, uint64_t made);
/* Answer to FINAL. gone: names removed; failed: failures beside those of files with a RESULT. */
void iw_xfer_final(struct iw_xfer *x, uint64_t gone, uint64_t failed, uint64_t now);

/* Answer to CREATE: its data are wanted. */
void iw_xfer_created(struct iw_xfer *x, uint32_t id, void *file, uint64_t now);
/* Answer to CREATE: it exists and needs no data (a directory, a link). file may be NULL. */
void iw_xfer_made(struct iw_xfer *x, uint32_t id, void *file, uint64_t now);
/* Answer to STORE. kept: no later connection or transfer need move the chunk again. */
void iw_xfer_stored(struct iw_xfer *x, bool kept, uint64_t now);
/* Answer to COMMIT. */
void iw_xfer_committed(struct iw_xfer *x, uint32_t id, uint64_t now);

/*
 * The file fails. Answers CREATE, LOAD, FINISH, STORE, NEXT_RANGE or COMMIT, or is called at any
 * time. text is copied, and cut at IW_XFER_TEXT_MAX.
 */
void iw_xfer_file_failed(struct iw_xfer *x, uint32_t id, enum iw_xfer_code code, const char *text,
			 uint64_t now);

struct iw_xfer_counts {
	uint64_t files_done, files_same, files_excluded, files_failed; /* files with a RESULT */
	uint64_t exist, newer; /* of files_same: kept because of --no-clobber or --update */
	uint64_t dirs;   /* directories at the target, created or not; they are not in files_done */
	uint64_t links;  /* symbolic and hard links in files_done */
	uint64_t made;   /* of dirs, those that the sink created */
	uint64_t octets; /* octets of files that were moved */
	/* octets that were not moved because they are zeros inside a wanted range */
	uint64_t zeros;
	/* Octets of all announced files of known size, without those of skipped or failed files. */
	uint64_t announced;
	/* Octets of skipped or failed files. announced + dropped are all announced octets. */
	uint64_t dropped;
	/*
	 * Pull, sink: octets of all files that it requested, as reported by the source; 0: not
	 * known.
	 */
	uint64_t total;
	/* of announced: octets that are done, because they were moved or are in holes */
	uint64_t settled;
	uint64_t had; /* of settled: octets that an earlier transfer had stored */
	uint64_t msgs_sent, msgs_received;
	uint64_t control_sent, control_received; /* octets of control messages */
	/*
	 * Octets of files that the sink has stored, so that no later connection need move them
	 * again.
	 */
	uint64_t kept;
	uint64_t peer_failed; /* failed files, from the peer's BYE */
	uint64_t gone;        /* removed at the target */
	uint64_t stayed;      /* not removed, because they were not listed */
};
/*
 * The options of the initiator, a set of enum iw_xfer_opt. A responder knows them from its first
 * action on.
 */
uint32_t iw_xfer_opts(const struct iw_xfer *x);
/* The number of connections of the transfer, at least 1. */
uint32_t iw_xfer_conns(const struct iw_xfer *x);

/* The counts so far; owned by the machine, and valid until iw_xfer_free. */
const struct iw_xfer_counts *iw_xfer_counts(const struct iw_xfer *x);

#endif
