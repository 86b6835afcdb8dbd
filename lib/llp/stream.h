/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stream transports: a connection that carries octets in order. "tcp" is one, an adopted Unix socket
 * another; a tool may wrap it (verbs/wrap.h). Threads: none, no locks; a stream belongs to one
 * thread at a time.
 */
#ifndef IW_LLP_STREAM_H
#define IW_LLP_STREAM_H

#include "llp/llp.h"
#include "util/vec.h"

/* The state of the transport's congestion control. 0: not known. */
struct iw_stream_sample {
	uint64_t cwnd, ssthresh, flight; /* octets */
	uint64_t retransmits;            /* segments so far */
	uint64_t srtt, rttvar, rto;      /* ns */
};

struct iw_tls_info;
struct iw_stream;
struct iw_stream_ops {
	const char *name;
	/*
	 * Starts to connect, or opens a listener. Blocks only for name resolution. *out is owned by
	 * the caller until close. Returns 0; IW_E_NOMEM; IW_E_INVAL: a name in cfg is too long;
	 * other errors: resolving, binding or connecting failed for every address (*why: the last
	 * failure).
	 */
	int (*open)(struct iw_stream **out, const struct iw_llp_cfg *cfg, struct iw_fault *why);
	/*
	 * Listener: accepts the next connection. *out is owned by the caller. Returns 0;
	 * IW_E_AGAIN: none is pending; IW_E_OS: this connection failed, continue accepting;
	 * IW_E_LIMIT: no descriptors or memory are left, pause accepting.
	 */
	int (*accept)(struct iw_stream *l, struct iw_stream **out, struct iw_fault *why);
	/*
	 * Receives octets into vec (borrowed). Returns their number, or 0 at the end of the stream.
	 * IW_E_AGAIN: none are pending; IW_E_CLOSED: the peer has reset the connection; IW_E_OS:
	 * the socket failed.
	 */
	int64_t (*recv)(struct iw_stream *l, const struct iw_vec *vec, size_t nvec,
			struct iw_fault *why);
	/*
	 * Optional. Like recv, but waits about 10 ms for the first octet. IW_E_AGAIN: none arrived;
	 * IW_E_CANCELED: interrupted by a signal. For a process with one connection this wakes
	 * faster than a poll.
	 */
	int64_t (*recv_wait)(struct iw_stream *l, const struct iw_vec *vec, size_t nvec,
			     struct iw_fault *why);
	/*
	 * Sends octets of vec (borrowed). eor: the octets that follow begin a new TCP segment.
	 * Returns how many the socket took. IW_E_AGAIN: none, retry when it is writable;
	 * IW_E_CLOSED: the peer has reset the connection; IW_E_OS: the socket failed.
	 */
	int64_t (*send)(struct iw_stream *l, const struct iw_vec *vec, size_t nvec, bool eor,
			struct iw_fault *why);
	/*
	 * Optional. While on, only full TCP segments are sent, except before a new segment that eor
	 * requested. Switching it off sends the rest. Returns 0, or IW_E_OS: the socket refused it.
	 */
	int (*hold_short)(struct iw_stream *l, bool on, struct iw_fault *why);
	/* Optional. Returns how many sent octets the peer's transport has not acknowledged. */
	uint64_t (*unacked)(struct iw_stream *l);
	/* Of an adopted connection: takes ownership of it, so that closing the stream closes it. */
	void (*keep)(struct iw_stream *l);
	/*
	 * Optional; needed if unsent is ever set. Sends the rest of the octets that send accepted.
	 * Call it when the socket is writable and unsent is set. Returns 0: unsent is clear;
	 * IW_E_AGAIN; other errors as send.
	 */
	int (*flush)(struct iw_stream *l, struct iw_fault *why);
	/*
	 * Optional. True if recv has octets, or the end of the stream, although the socket may not
	 * be readable.
	 */
	bool (*pending)(struct iw_stream *l);
	/*
	 * Closes the sending direction: the FIN follows the octets sent. Returns 0; IW_E_CLOSED:
	 * the peer has reset the connection; IW_E_OS: the socket failed.
	 */
	int (*shutdown)(struct iw_stream *l, struct iw_fault *why);
	/* Reads emss again, by a system call. If that fails, emss is unchanged. */
	void (*refresh)(struct iw_stream *l);
	/*
	 * Call it when the socket of a pending connect is writable; during a handshake, also of an
	 * accepted stream, when it is readable, or writable if unsent is set. Returns 0: connected;
	 * IW_E_AGAIN: still pending, or the next address is being tried, and fd is a new descriptor
	 * that must be watched. Other errors: every address has failed, or the handshake (*why: the
	 * last failure).
	 */
	int (*connected)(struct iw_stream *l, struct iw_fault *why);
	/*
	 * Abandons the pending attempt and tries the next address. Returns what connected returns;
	 * IW_E_TIMEOUT: there is no further address.
	 */
	int (*try_next)(struct iw_stream *l, struct iw_fault *why);
	/*
	 * Reports that the peer has not answered within waited ns. Always returns IW_E_TIMEOUT;
	 * *why says what to check.
	 */
	int (*no_answer)(struct iw_stream *l, uint64_t waited, struct iw_fault *why);
	/*
	 * Selects the congestion control of this end. Returns 0, or an error that leaves it
	 * unchanged. IW_E_NOTSUP: the system does not have it; IW_E_PERM: it is not permitted (*why
	 * lists those that are); IW_E_OS.
	 */
	int (*set_cc)(struct iw_stream *l, const char *name, struct iw_fault *why);
	/* Optional. Fills *out. Makes system calls: not for the data path. */
	void (*facts)(struct iw_stream *l, struct iw_llp_facts *out);
	/* Optional. Fills *out except its size. False: the stream is not encrypted. */
	bool (*tls)(struct iw_stream *l, struct iw_tls_info *out);
	/* Optional. Fills *out, by a system call. Returns false if that fails. */
	bool (*sample)(struct iw_stream *l, struct iw_stream_sample *out);
	/* Closes the connection and frees l. abort: resets the connection. */
	void (*close)(struct iw_stream *l, bool abort);
};

struct iw_stream {
	const struct iw_stream_ops *ops;
	int fd;                   /* to be polled; owned by the stream */
	char local[64], peer[64]; /* "192.0.2.1:7471", "[::1]:7471" */
	uint16_t local_port;
	uint32_t emss;    /* octets, as last read */
	unsigned untried; /* while connecting: addresses that have not been tried */
	/*
	 * The connection is up, and the handshake of its encryption is not finished: connected
	 * continues it. No other address is tried then.
	 */
	bool handshake;
	bool unsent;           /* flush has octets, or a FIN, that the socket did not take */
	bool up;               /* while connecting: connected succeeds already */
	bool at_end;           /* a receive has found the end of the peer's octets */
	uint64_t sends, recvs; /* system calls that moved octets */
};

/* Fills *out with the two ends of s. */
void iw_stream_ends(const struct iw_stream *s, struct iw_llp_ends *out);

extern const struct iw_stream_ops iw_stream_tcp_ops;
/*
 * Makes a stream of an established TCP connection, or of a connected Unix stream socket, whose
 * addresses are the text "unix". The stream uses a duplicate of fd (borrowed). Until
 * ops->keep is called, closing the stream does not close the connection. *out is owned by the
 * caller. IW_E_INVAL: fd is not such a socket. IW_E_NOMEM: no memory. IW_E_LIMIT, IW_E_OS:
 * duplicating fd or setting TCP_NODELAY failed.
 */
IW_MUST_CHECK int iw_stream_adopt(struct iw_stream **out, int fd, struct iw_fault *why);

/* Returns the stream transport with this name, or NULL. */
const struct iw_stream_ops *iw_stream_find(const char *name);
/*
 * As open of ops. With cfg->tls the stream, or each stream that it accepts, is encrypted by TLS 1.3:
 * its octets are plaintext, its facts those of the transport. IW_E_INVAL also: a listener without
 * a certificate or a PSK. connected then also has the errors of iw_tls_stream_new. IW_E_TLS in the
 * handshake and later: the peer or its records are not accepted, or the peer's FIN came without a
 * close_notify (RFC 8446 6.1).
 */
IW_MUST_CHECK int iw_stream_open(struct iw_stream **out, const struct iw_stream_ops *ops,
				 const struct iw_llp_cfg *cfg, struct iw_fault *why);

#endif
