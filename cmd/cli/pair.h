/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A private key and a self-signed certificate for it, by OpenSSL. */
#ifndef IW_CLI_PAIR_H
#define IW_CLI_PAIR_H

#include <stdio.h>

#include <iwarp/err.h>

struct iw_pair; /* a private key */

/* Makes an ECDSA key on P-256. IW_E_NOTSUP: built without OpenSSL; IW_E_OS: OpenSSL failed. */
IW_MUST_CHECK int iw_pair_new(struct iw_pair **out, struct iw_fault *why);
/*
 * Reads an unencrypted private key in PEM. path is for the message. IW_E_NOTSUP; IW_E_INVAL: the
 * file has none.
 */
IW_MUST_CHECK int iw_pair_read(struct iw_pair **out, FILE *f, const char *path,
			       struct iw_fault *why);
void iw_pair_free(struct iw_pair *pair); /* NULL does nothing */
/* Writes the private key as unencrypted PEM (PKCS #8). IW_E_OS. */
IW_MUST_CHECK int iw_pair_write_key(const struct iw_pair *pair, FILE *f, struct iw_fault *why);
/* Writes a certificate that is valid for 10 years, as PEM. IW_E_OS. */
IW_MUST_CHECK int iw_pair_write_cert(const struct iw_pair *pair, FILE *f, struct iw_fault *why);

#endif
