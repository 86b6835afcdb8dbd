/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The directory that the far end serves, from the paths that the user gave. A listener serves one
 * directory and takes paths below it; the user's paths may lead anywhere, with the rights of the
 * far user.
 */
#ifndef IW_TRANSFER_SSH_ROOT_H
#define IW_TRANSFER_SSH_ROOT_H

#include <stdbool.h>
#include <stddef.h>

#include <iwarp/err.h>

struct iw_ssh_paths;

/* Owned. */
struct iw_ssh_root {
	char *dir;    /* the directory to serve */
	char **paths; /* n paths below it; "": the directory itself */
	size_t n;
};

/*
 * Sets *out from the paths of a REQUEST, in their order. "" is the working directory; "~" and "~/"
 * at the start are the home directory (HOME), where ssh starts programs.
 *
 * Sink: a path that is a directory is served itself, and its relative path is "". Otherwise its
 * parent is served, and the relative path is its last component, as with scp.
 * Source: serves the common parent of all paths, without symbolic links in it. A relative path that
 * ends with a slash, or "", names the contents of a directory.
 *
 * IW_E_NOENT: a directory of a path does not exist, or is not a directory; IW_E_PERM, IW_E_OS: it
 * cannot be searched; IW_E_INVAL: "~user"; IW_E_NOMEM. *why names the path.
 */
IW_MUST_CHECK int iw_ssh_root_find(struct iw_ssh_root *out, struct iw_ssh_paths paths, bool source,
				   struct iw_fault *why);
void iw_ssh_root_fini(struct iw_ssh_root *r);

#endif
