/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This user's own private key and self-signed certificate: key.pem and cert.pem in the directory of
 * keys (cli/private_file.h).
 */
#ifndef IW_CLI_IDENTITY_H
#define IW_CLI_IDENTITY_H

#include <iwarp/err.h>

#include "cli/private_file.h"

struct iw_identity {
	char cert[IW_CONFIG_PATH], key[IW_CONFIG_PATH]; /* paths */
};
/*
 * Finds the two files. Makes both if there is neither; makes a certificate if there is only the
 * key, so that the pin stays the same. Several processes may do this at once.
 * IW_E_INVAL: there is a certificate without its key, or key.pem is not a key; IW_E_PERM: others
 * may read the key, or write to the directory; IW_E_NOTSUP: built without OpenSSL; IW_E_NOENT,
 * IW_E_OS, IW_E_TIMEOUT, IW_E_LIMIT: the directory or a file cannot be used.
 */
IW_MUST_CHECK int iw_identity_open(struct iw_identity *id, struct iw_fault *why);

#endif
