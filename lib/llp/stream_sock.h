/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Private to lib/llp: what stream transports on sockets share. Each call works on l->fd, and never
 * blocks unless it says so.
 */
#ifndef IW_LLP_STREAM_SOCK_H
#define IW_LLP_STREAM_SOCK_H

#include "llp/stream.h"

/* As the calls of struct iw_stream_ops. recv counts in l->recvs, send in l->sends. */
int64_t iw_stream_sock_recv(struct iw_stream *l, const struct iw_vec *vec, size_t nvec,
			    struct iw_fault *why);
int iw_stream_sock_shutdown(struct iw_stream *l, struct iw_fault *why);
/* flags: MSG_DONTWAIT, or 0 to wait as long as SO_RCVTIMEO of the socket says. */
int64_t iw_stream_sock_recv_wait(struct iw_stream *l, const struct iw_vec *vec, size_t nvec,
				 int flags, struct iw_fault *why);
/* flags: MSG_EOR or 0. */
int64_t iw_stream_sock_send(struct iw_stream *l, const struct iw_vec *vec, size_t nvec, int flags,
			    struct iw_fault *why);

/*
 * The callers wait for the socket after IW_E_AGAIN. If a call has failed with it, for example
 * because no port is free, no event would follow, so this makes it IW_E_OS. Returns other errors
 * unchanged.
 */
int iw_stream_sock_not_again(int err, struct iw_fault *why);

/* The two kinds of sockets of iw_stream_adopt. After an error *out is unchanged. */
IW_MUST_CHECK int iw_stream_sock_adopt_tcp(struct iw_stream **out, int fd, struct iw_fault *why);
IW_MUST_CHECK int iw_stream_sock_adopt_unix(struct iw_stream **out, int fd, struct iw_fault *why);

#endif
