/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The file of --psk-file: a secret that both ends know, as one line of hex digits. */
#ifndef IW_CLI_PSK_FILE_H
#define IW_CLI_PSK_FILE_H

#include <stddef.h>
#include <stdint.h>

#include <iwarp/verbs.h>

struct iw_psk {
	uint8_t key[IW_TLS_PSK_MAX];
	size_t len; /* octets */
};

/*
 * Parses the len octets of such a file: 32 to 128 hex digits, and at most one newline after them.
 * IW_E_INVAL, and *why is the reason (static): the file is empty, has another character or another
 * number of digits. *out is then wiped.
 */
IW_MUST_CHECK int iw_psk_parse(struct iw_psk *out, const char *text, size_t len, const char **why);
/*
 * Reads the file. IW_E_INVAL: as iw_psk_parse, or not a regular file; IW_E_PERM: users other than
 * its owner have rights on it; IW_E_NOENT, IW_E_OS, IW_E_PERM: it cannot be read. *why names the
 * file, but nothing of its contents.
 */
IW_MUST_CHECK int iw_psk_read(struct iw_psk *out, const char *path, struct iw_fault *why);
/* Overwrites the secret. */
void iw_psk_wipe(struct iw_psk *psk);

#endif
