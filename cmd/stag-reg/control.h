/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The control socket: a Unix socket in the file system with mode 0600, on which a resource manager
 * answers its owner (and root), by the messages of stag-reg/msg.h. Nobody who asks can hold up the
 * manager: messages are taken and given without waiting, an answer goes out as its reader takes it,
 * who takes none for IW_MANAGER_PATIENCE is dropped.
 */
#ifndef IW_MANAGER_CONTROL_H
#define IW_MANAGER_CONTROL_H

#include <stddef.h>

#include "stag-reg/msg.h"
#include "stag-reg/manager.h"

#define IW_MANAGER_CLIENTS_MAX 64u /* at once; more wait in the socket's queue */
#define IW_MANAGER_PATIENCE    IW_SEC(10)
#define IW_MANAGER_IDLE        IW_SEC(120) /* between two requests */
#define IW_MANAGER_PATH_MAX    108         /* octets of a socket's path with its NUL */

/*
 * $XDG_RUNTIME_DIR/iwarp/recv-PORT.sock, or /run/iwarp/recv-PORT.sock. IW_E_LIMIT: longer than a
 * socket's path can be.
 */
IW_MUST_CHECK int iw_manager_default_path(char path[static IW_MANAGER_PATH_MAX], uint16_t port,
					  struct iw_fault *why);

/*
 * The manager answers at path (copied), until its end, which removes it. make_dir: the directory is
 * made when it is not there. A socket that nobody answers on any more is taken over. IW_E_BUSY:
 * somebody does; IW_E_PERM, IW_E_NOENT, IW_E_LIMIT, IW_E_OS.
 */
IW_MUST_CHECK int iw_manager_listen(struct iw_manager *m, const char *path, bool make_dir,
				    struct iw_fault *why);

/* --- who asks --- */

/*
 * Connects to the manager at path. *fd is the caller's to close. port: the listener's, if path is the
 * default for it; -1: the user has given the path. IW_E_STATE: no ddp-recv answers
 * there; IW_E_TIMEOUT, IW_E_PERM, IW_E_OS.
 */
IW_MUST_CHECK int iw_manager_connect(int *fd, const char *path, int port, struct iw_fault *why);
/*
 * Sends a request; file: a descriptor to go along, or -1. Waits at most timeout_ns for room.
 * IW_E_TIMEOUT, IW_E_CLOSED, IW_E_OS.
 */
IW_MUST_CHECK int iw_manager_ask(int fd, const struct iw_manager_request *r, int file,
				 uint64_t timeout_ns, struct iw_fault *why);
/*
 * The next message of the answer. An ERROR is returned as its error, its text in *why.
 * IW_E_TIMEOUT, IW_E_CLOSED, IW_E_FORMAT, IW_E_OS.
 */
IW_MUST_CHECK int iw_manager_answer(int fd, struct iw_manager_reply *r, uint64_t timeout_ns,
				    struct iw_fault *why);

#endif
