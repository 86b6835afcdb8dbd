/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The keys of peers that this user has connected to, in the file known_hosts of the directory of
 * keys (cli/private_file.h). A line is one of
 *
 *   HOST SHA256:KEY            the port is 7471
 *   [HOST]:PORT SHA256:KEY
 *   # a comment, or nothing
 *
 * A host may have several lines: each of its keys is accepted. Any other line is an error,
 * because it could be the one that protects the connection.
 */
#ifndef IW_CLI_KNOWN_HOSTS_H
#define IW_CLI_KNOWN_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/verbs.h>

#include "cli/private_file.h"

#define IW_KNOWN_NAME 280 /* characters of a peer in the file, with the zero */

struct iw_known_line {
	const char *name; /* len octets of the line; NULL: a comment or an empty line */
	size_t len;
	uint8_t pin[IW_TLS_PIN_LEN];
};
/*
 * Parses a line of len octets without its newline. IW_E_INVAL, and *why is the reason (static). The
 * name points into text.
 */
IW_MUST_CHECK int iw_known_parse(struct iw_known_line *out, const char *text, size_t len,
				 const char **why);
/*
 * Writes how the file names this peer: in lower case, with the port unless it is 7471. IW_E_INVAL:
 * host is too long, or has a character that the file cannot have.
 */
IW_MUST_CHECK int iw_known_name(char name[IW_KNOWN_NAME], const char *host, uint16_t port,
				struct iw_fault *why);

struct iw_known_hosts {
	char path[IW_CONFIG_PATH]; /* of the file */
	int fd;                    /* to append; -1: not open */
	uint8_t (*pins)[IW_TLS_PIN_LEN];
	size_t npins, first_line; /* the keys of the peer; the line of the first */
};
void iw_known_init(struct iw_known_hosts *k);
/*
 * Finds the keys of the peer. Without one, creates the file if it does not exist, and opens it for
 * iw_known_add, which a confined process may call.
 * IW_E_INVAL: a line is malformed; *why names the file and the line. IW_E_PERM: other users may
 * write to the file. IW_E_NOENT, IW_E_OS, IW_E_TIMEOUT, IW_E_NOMEM: it cannot be read, or created.
 */
IW_MUST_CHECK int iw_known_find(struct iw_known_hosts *k, const char *name, struct iw_fault *why);
/*
 * Remembers the first key of the peer, after iw_known_find found none. Sets *added to false if
 * another process has added a key for this peer meanwhile; k->pins then has it. Otherwise the line
 * is on disk on return. Errors as iw_known_find.
 */
IW_MUST_CHECK int iw_known_add(struct iw_known_hosts *k, const char *name,
			       const uint8_t pin[IW_TLS_PIN_LEN], bool *added,
			       struct iw_fault *why);
bool iw_known_has(const struct iw_known_hosts *k, const uint8_t pin[IW_TLS_PIN_LEN]);
/* Closes and frees. k can be used again. */
void iw_known_fini(struct iw_known_hosts *k);

#endif
