/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names as they travel: what a sink may take from a peer before it asks the file system at all. */
#ifndef IW_XFER_NAME_H
#define IW_XFER_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * NULL when the len octets at name are a relative path that cannot leave the directory it starts from by itself: 1 to
 * IW_XFER_NAME_MAX octets, components of 1 to 255 octets joined by single slashes, none of them "." or "..", no NUL. Any other octet
 * may stand in it. Else the reason, as static text: "is empty", "is absolute", ...
 */
const char *iw_xfer_name_fault(const char *name, size_t len);

/*
 * The same for the name of an entry. With IW_XOPT_CONTENTS in opts a directory that the user named, top, may have the empty name: it is
 * the target itself.
 */
const char *iw_xfer_entry_fault(const char *name, size_t len, bool dir, bool top, uint32_t opts);

/*
 * The same for the path of a file or directory named by a user, which may also be empty or "." (the served directory), end in slashes
 * and have repeated slashes and "." between. ".." is refused.
 */
const char *iw_xfer_path_fault(const char *path, size_t len);

/*
 * True if a symbolic link of that name and with the target to can lead out of its tree, whose root is the first top
 * components of its name: to is absolute or empty, or has ".." after another component, or begins with more ".." than
 * the link has directories above it in the tree.
 */
bool iw_xfer_link_leaves(const char *name, size_t name_len, const char *to, size_t to_len,
			 size_t top);

#endif
