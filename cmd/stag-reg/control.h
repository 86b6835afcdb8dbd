/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The control socket: a Unix socket with mode 0600, on which a resource manager answers its owner
 * and root, with the messages of stag-reg/msg.h. A client cannot block the manager: the manager
 * never waits for a client, sends an answer as fast as the client reads, and drops a client that
 * reads nothing for IW_MANAGER_PATIENCE.
 */
#ifndef IW_STAG_REG_CONTROL_H
#define IW_STAG_REG_CONTROL_H

#include <stddef.h>

#include "stag-reg/manager.h"
#include "stag-reg/msg.h"

#define IW_MANAGER_CLIENTS_MAX 64u /* at once; others wait in the queue of the socket */
#define IW_MANAGER_PATIENCE    IW_SEC(10)
#define IW_MANAGER_IDLE        IW_SEC(120) /* between two requests */
#define IW_MANAGER_PATH_MAX    108         /* bytes of a socket's path with its NUL */

/*
 * Sets path to $XDG_RUNTIME_DIR/iwarp/recv-PORT.sock, or /run/iwarp/recv-PORT.sock. IW_E_LIMIT: too
 * long for the path of a socket.
 */
IW_MUST_CHECK int iw_manager_default_path(char path[static IW_MANAGER_PATH_MAX], uint16_t port,
					  struct iw_fault *why);

/*
 * Makes the manager listen at path (copied). iw_manager_free removes the socket. make_dir: creates
 * the directory if it is missing. Replaces a socket on which no process listens any more.
 * IW_E_BUSY: another process listens there, or a file of this name exists; IW_E_NOENT: no such
 * directory; IW_E_PERM: the directory is not writable; IW_E_LIMIT: the path is too long, or no free
 * descriptors; IW_E_OS: another system call failed.
 */
IW_MUST_CHECK int iw_manager_listen(struct iw_manager *m, const char *path, bool make_dir,
				    struct iw_fault *why);

/* --- the client --- */

/*
 * Connects to the manager at path; waits at most 10 s while it has its maximum of clients. The
 * caller closes *fd. port, for messages: that of the listener, if path is the default for it; -1:
 * the user has given the path. IW_E_STATE: no ddp-recv answers there, or path is not a control
 * socket; IW_E_TIMEOUT: it still has too many clients; IW_E_PERM: the socket belongs to another
 * user; IW_E_LIMIT: the path is too long, or no free descriptors; IW_E_OS.
 */
IW_MUST_CHECK int iw_manager_connect(int *fd, const char *path, int port, struct iw_fault *why);
/*
 * Sends a request and the descriptor file (borrowed; -1: none). Waits at most timeout_ns until the
 * socket is writable. IW_E_TIMEOUT: it was not; IW_E_CLOSED: the manager closed the connection;
 * IW_E_OS.
 */
IW_MUST_CHECK int iw_manager_ask(int fd, const struct iw_manager_request *r, int file,
				 uint64_t timeout_ns, struct iw_fault *why);
/*
 * Receives the next message of the answer, within timeout_ns. For an ERROR, returns its error with
 * its text in *why. IW_E_TIMEOUT: no message arrived; IW_E_CLOSED: the manager closed the
 * connection; errors of iw_manager_reply_decode: the message is malformed; IW_E_OS.
 */
IW_MUST_CHECK int iw_manager_answer(int fd, struct iw_manager_reply *r, uint64_t timeout_ns,
				    struct iw_fault *why);

#endif
