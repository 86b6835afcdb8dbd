/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names on the wire: what a sink accepts from a peer, before it uses the file system. */
#ifndef IW_TRANSFER_PROTOCOL_NAME_H
#define IW_TRANSFER_PROTOCOL_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Returns NULL if the len octets at name are a relative path that stays below its start: 1 to
 * IW_XFER_NAME_MAX octets; components of 1 to 255 octets separated by single slashes; no "." or
 * ".."; no NUL. All other octets are permitted. Otherwise returns the reason, a static text: "is
 * empty", "is absolute", ...
 */
const char *iw_xfer_name_fault(const char *name, size_t len);

/*
 * The same for the name of an entry. With IW_XFER_OPT_CONTENTS in opts, a directory that the user
 * named (top) may have an empty name: it is the target itself.
 */
const char *iw_xfer_entry_fault(const char *name, size_t len, bool dir, bool top, uint32_t opts);

/*
 * The same for a path given by a user. It may also be empty or "." (the served directory), end in
 * slashes, and contain repeated slashes and "." components. ".." is refused.
 */
const char *iw_xfer_path_fault(const char *path, size_t len);

/*
 * True if a symbolic link with that name and target may point outside its tree; the root of the
 * tree is the first top components of the name. The target does so if it is absolute or empty, has
 * ".." after another component, or begins with more ".." than the link has directories above it in
 * the tree.
 */
bool iw_xfer_link_leaves(const char *name, size_t name_len, const char *to, size_t to_len,
			 size_t top);

#endif
