/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The text of a configuration file (iwarp-config(5)): sections, and keys with values. inih divides
 * the lines. What the keys mean is not known here (cli/config.h).
 */
#ifndef IW_CLI_CONFIG_FILE_H
#define IW_CLI_CONFIG_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include <iwarp/err.h>

#define IW_CONFIG_KEYS_MAX 256   /* keys of a file that a tool reads */
#define IW_CONFIG_SIZE_MAX 65536 /* octets of a file */
#define IW_CONFIG_LINE_MAX 196   /* octets of a line; inih has no room for more */

/* Key and value are owned by the list. */
struct iw_config_key {
	unsigned line;
	bool all; /* of the section [all], not of the tool's own */
	char *key, *value;
};

struct iw_config_keys {
	struct iw_config_key *at;
	size_t n, cap;
};

/*
 * Appends the keys in the sections [all] and [tool] of text (len octets, borrowed), in their order.
 * file: its name, for messages. On an error, out has the keys before it; *why begins with
 * "FILE:LINE: ".
 * IW_E_FORMAT: a line is neither a section, a comment nor KEY = VALUE, or has a control character;
 * a key precedes the first section; a key without a name; a section that no tool has.
 * IW_E_LIMIT: a line longer than IW_CONFIG_LINE_MAX, or too many keys. IW_E_NOMEM.
 * IW_E_NOTSUP: built without inih.
 */
IW_MUST_CHECK int iw_config_parse(struct iw_config_keys *out, const char *file, const char *text,
				  size_t len, const char *tool, struct iw_fault *why);
/* Frees the keys. *k may be zero. */
void iw_config_keys_fini(struct iw_config_keys *k);

#endif
