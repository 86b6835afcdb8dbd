/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stream transports: octets in order over a connection. "tcp" is one; a tool may wrap it
 * (verbs/wrap.h). Threads: none, no locks; a stream belongs to one thread at a time.
 */
#ifndef IW_LLP_STREAM_H
#define IW_LLP_STREAM_H

#include "llp/llp.h"
#include "util/vec.h"

struct iw_stream;
struct iw_stream_ops {
	const char *name;
	/* Starts a connection or a listener; never blocks but for name resolution. */
	int (*open)(struct iw_stream **out, const struct iw_llp_cfg *cfg, struct iw_fault *why);
	/*
	 * Listener: the next connection. 0, IW_E_AGAIN: none now, IW_E_OS: this one failed (why),
	 * go on accepting; IW_E_LIMIT: out of descriptors, pause accepting.
	 */
	int (*accept)(struct iw_stream *l, struct iw_stream **out, struct iw_fault *why);
	/*
	 * Receives octets into vec (borrowed). Returns their number, 0 at the end of the stream;
	 * IW_E_AGAIN: none now; IW_E_CLOSED, IW_E_OS: why.
	 */
	int64_t (*recv)(struct iw_stream *l, const struct iw_vec *vec, size_t nvec,
			struct iw_fault *why);
	/*
	 * NULL: not possible. As recv, but waits for the first octet, some 10 ms (IW_E_AGAIN: none
	 * arrived) or until a signal (IW_E_CANCELED). If a process has one connection, it wakes up
	 * sooner here than in a poll.
	 */
	int64_t (*recv_wait)(struct iw_stream *l, const struct iw_vec *vec, size_t nvec,
			     struct iw_fault *why);
	/*
	 * Sends octets of vec (borrowed). eor: the octets after them begin a new TCP segment.
	 * Returns how many the socket took; IW_E_AGAIN: none, retry when it is writable.
	 */
	int64_t (*send)(struct iw_stream *l, const struct iw_vec *vec, size_t nvec, bool eor,
			struct iw_fault *why);
	/*
	 * NULL: not possible. While on, only full TCP segments are sent, except before a new one
	 * that eor requested. Switching it off sends the rest. 0 or IW_E_OS.
	 */
	int (*hold_short)(struct iw_stream *l, bool on, struct iw_fault *why);
	/* NULL: not known. Octets sent that the peer's transport has not acknowledged. */
	uint64_t (*unacked)(struct iw_stream *l);
	/* This end sends no more: FIN after the octets sent. */
	int (*shutdown)(struct iw_stream *l, struct iw_fault *why);
	/* Reads the EMSS again (a system call). */
	void (*refresh)(struct iw_stream *l);
	/*
	 * Call it when the socket of a connect in progress is writable. 0: connected; IW_E_AGAIN:
	 * not yet, or the next address is being tried, then fd is a new descriptor to be watched;
	 * other errors: every address has failed, why is about the last one.
	 */
	int (*connected)(struct iw_stream *l, struct iw_fault *why);
	/* Gives up the pending attempt, and tries the next address. Results as of connected. */
	int (*try_next)(struct iw_stream *l, struct iw_fault *why);
	/* Returns IW_E_TIMEOUT: no answer within waited ns; why says what to check. */
	int (*no_answer)(struct iw_stream *l, uint64_t waited, struct iw_fault *why);
	/*
	 * Selects the congestion control of this end. IW_E_NOTSUP, IW_E_PERM (why lists those that
	 * can be chosen), IW_E_OS: unchanged.
	 */
	int (*set_cc)(struct iw_stream *l, const char *name, struct iw_fault *why);
	/* Makes system calls: not for the data path. */
	void (*facts)(struct iw_stream *l, struct iw_llp_facts *out);
	/* Frees l. abort: the connection is reset. */
	void (*close)(struct iw_stream *l, bool abort);
};

struct iw_stream {
	const struct iw_stream_ops *ops;
	int fd;                   /* to be polled */
	char local[64], peer[64]; /* "192.0.2.1:7471", "[::1]:7471" */
	uint16_t local_port;
	uint32_t emss;         /* as last read, octets */
	unsigned untried;      /* while connecting: addresses after the one that is being tried */
	uint64_t sends, recvs; /* system calls that moved octets */
};

/* Copies what s knows of its ends. */
void iw_stream_ends(const struct iw_stream *s, struct iw_llp_ends *out);

extern const struct iw_stream_ops iw_stream_tcp_ops;
/*
 * An established TCP connection, over a duplicate of fd (borrowed). Before iw_stream_keep_tcp, closing it
 * leaves the connection as it was. IW_E_INVAL: not a connected TCP socket; IW_E_NOMEM, IW_E_OS.
 */
IW_MUST_CHECK int iw_stream_adopt_tcp(struct iw_stream **out, int fd, struct iw_fault *why);
void iw_stream_keep_tcp(struct iw_stream *l);

/* NULL: not the name of a stream transport. */
const struct iw_stream_ops *iw_stream_find(const char *name);

#endif
