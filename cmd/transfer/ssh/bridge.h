/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One socket for the two descriptors of a program that ssh has started. iw_adopt() needs one
 * descriptor for both directions, but sshd may give its program two pipes.
 */
#ifndef IW_TRANSFER_SSH_BRIDGE_H
#define IW_TRANSFER_SSH_BRIDGE_H

#include <iwarp/err.h>

/*
 * Sets *fd to a connected Unix stream socket (blocking, close-on-exec, owned by the caller). Reading
 * it returns what arrives at in; what is written to it leaves at out. in may equal out.
 *
 * If in and out are the same Unix stream socket, *fd is a duplicate. Otherwise a child process
 * copies both ways:
 * - The end of in is the end of *fd. After shutdown(*fd, SHUT_WR) out is closed when it has taken
 *   all octets. If the reader of out is gone, writing to *fd fails with EPIPE.
 * - When *fd is closed or this process ends, out gets the pending octets, and the child ends;
 *   at the latest after 10 s in which out took none.
 * - The child holds no other descriptor of this process, but a copy of its memory: call this
 *   function before there are keys, threads, large memory, or a seccomp filter that denies fork().
 *
 * On success in and out are closed; descriptors 0 and 1 refer to /dev/null instead. After an error
 * they are unchanged. IW_E_INVAL: in or out is not an open descriptor. IW_E_LIMIT: no free
 * descriptors. IW_E_NOMEM; IW_E_OS: no process could be started.
 */
IW_MUST_CHECK int iw_ssh_bridge(int *fd, int in, int out, struct iw_fault *why);

#endif
