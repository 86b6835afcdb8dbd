/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Opens a configuration file, if it exists and can be trusted, and reads its keys. */
#ifndef IW_CLI_CONFIG_READ_H
#define IW_CLI_CONFIG_READ_H

#include "cli/config.h"
#include "cli/config_file.h"

/*
 * Fills *f, and reads the keys for tool into *keys (iw_config_keys_fini frees them). user: the file
 * of this user, otherwise the system's. A file that does not exist is no error. Nor is one in a
 * build without inih: f->ignored.
 * IW_E_PERM: not a regular file; owned by another user than root or, with user, the effective user;
 * or its group or others can write to it. IW_E_OS: it exists and cannot be read. IW_E_LIMIT: more
 * than IW_CONFIG_SIZE_MAX octets. Other errors are those of iw_config_parse.
 */
IW_MUST_CHECK int iw_config_read(struct iw_config_file *f, struct iw_config_keys *keys, bool user,
				 const char *tool, struct iw_fault *why);
/* The same for one path; owner: a user besides root who may own it. */
IW_MUST_CHECK int iw_config_read_path(struct iw_config_file *f, struct iw_config_keys *keys,
				      const char *path, uint32_t owner, const char *tool,
				      struct iw_fault *why);

#endif
