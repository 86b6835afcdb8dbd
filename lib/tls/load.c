// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Certificates and keys of files. */
#include "tls/internal.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/text.h"

#define FILE_MAX (1024 * 1024) /* octets of a file */

static int no_memory(struct iw_fault *why)
{
	return iw_fail(why, IW_E_NOMEM, "TLS: no memory for credentials");
}

static int file_failed(struct iw_fault *why, const char *file, int errnum)
{
	int err = errnum == ENOENT                      ? IW_E_NOENT
		  : errnum == EACCES || errnum == EPERM ? IW_E_PERM
							: IW_E_OS;

	(void)iw_fail(why, err, "%s: cannot be read: %s", file, strerrordesc_np(errnum));
	if (why)
		why->os_errno = errnum;
	return err;
}

/* Reads a file to memory for OpenSSL. *out and *buf are owned by the caller; see close_file. */
static int open_file(BIO **out, uint8_t **buf, const char *file, struct iw_fault *why)
{
	FILE *f = fopen(file, "rbe");
	size_t len;
	int err = 0;

	*out = NULL;
	*buf = NULL;
	if (!f)
		return file_failed(why, file, errno);
	*buf = malloc(FILE_MAX);
	if (!*buf) {
		fclose(f);
		return no_memory(why);
	}
	setvbuf(f, NULL, _IONBF, 0); /* no copy of a private key in a buffer of stdio */
	errno = 0;
	len = fread(*buf, 1, FILE_MAX, f);
	if (ferror(f))
		err = file_failed(why, file, errno);
	else if (len == FILE_MAX)
		err = iw_fail(why, IW_E_INVAL, "%s: longer than 1 MiB; expected a PEM file", file);
	fclose(f);
	if (err)
		return err;
	*out = BIO_new_mem_buf(*buf, (int)len);
	return *out ? 0 : no_memory(why);
}

static void close_file(BIO *bio, uint8_t *buf)
{
	BIO_free(bio);
	if (buf)
		OPENSSL_cleanse(buf, FILE_MAX);
	free(buf);
}

/*
 * Reads the next certificate. IW_E_NOENT: there is no further one.
 */
static int next_cert(X509 **out, BIO *bio, const char *file, struct iw_fault *why)
{
	unsigned long e;

	ERR_clear_error();
	*out = PEM_read_bio_X509_AUX(bio, NULL, NULL, NULL);
	if (*out)
		return 0;
	e = ERR_peek_last_error();
	ERR_clear_error();
	if (ERR_GET_LIB(e) == ERR_LIB_PEM && ERR_GET_REASON(e) == PEM_R_NO_START_LINE)
		return IW_E_NOENT;
	return iw_fail(why, IW_E_INVAL, "%s: a damaged certificate; expected PEM", file);
}

static int no_certificate(struct iw_fault *why, const char *file)
{
	return iw_fail(why, IW_E_INVAL,
		       "%s: no certificate in it; expected PEM, \"BEGIN CERTIFICATE\"", file);
}

static int load_chain(struct iw_tls_own *out, const char *file, struct iw_fault *why)
{
	uint8_t *buf;
	X509 *cert;
	BIO *bio;
	int err = open_file(&bio, &buf, file, why);

	if (!err)
		err = next_cert(&out->cert, bio, file, why);
	if (err == IW_E_NOENT && bio)
		err = no_certificate(why, file);
	while (!err) {
		err = next_cert(&cert, bio, file, why);
		if (!err && !sk_X509_push(out->chain, cert)) {
			X509_free(cert);
			err = no_memory(why);
		}
	}
	if (err == IW_E_NOENT && bio)
		err = 0;
	close_file(bio, buf);
	return err;
}

/* Called for an encrypted key: no password is known. */
static int no_password(char *buf, int size, int writing, void *encrypted)
{
	(void)buf;
	(void)size;
	(void)writing;
	*(bool *)encrypted = true;
	return -1;
}

static int load_key(EVP_PKEY **out, const char *file, struct iw_fault *why)
{
	bool encrypted = false;
	uint8_t *buf;
	BIO *bio;
	int err = open_file(&bio, &buf, file, why);

	if (!err) {
		*out = PEM_read_bio_PrivateKey(bio, NULL, no_password, &encrypted);
		ERR_clear_error();
	}
	if (!err && encrypted)
		err = iw_fail(why, IW_E_INVAL,
			      "%s: the private key is encrypted; expected one without a password",
			      file);
	else if (!err && !*out)
		err = iw_fail(why, IW_E_INVAL,
			      "%s: no private key in it; expected PEM, \"BEGIN PRIVATE KEY\"",
			      file);
	close_file(bio, buf);
	return err;
}

/* Formats a time as "2026-11-27 19:40:00 UTC". */
static void put_date(char out[32], const ASN1_TIME *t)
{
	struct tm tm = { 0 };

	if (ASN1_TIME_to_tm(t, &tm) != 1 || strftime(out, 32, "%Y-%m-%d %H:%M:%S UTC", &tm) == 0)
		snprintf(out, 32, "an unknown time");
}

static int check_dates(const X509 *cert, const char *file, struct iw_fault *why)
{
	const ASN1_TIME *from = X509_get0_notBefore(cert), *to = X509_get0_notAfter(cert);
	char date[32];

	if (X509_cmp_current_time(to) <= 0) {
		put_date(date, to);
		return iw_fail(why, IW_E_INVAL, "%s: the certificate has expired on %s", file,
			       date);
	}
	if (X509_cmp_current_time(from) > 0) {
		put_date(date, from);
		return iw_fail(why, IW_E_INVAL, "%s: the certificate is not valid before %s", file,
			       date);
	}
	return 0;
}

int iw_tls_load_own(struct iw_tls_own *out, const char *cert_file, const char *key_file,
		    struct iw_fault *why)
{
	int err;

	*out = (struct iw_tls_own){ .chain = sk_X509_new_null() };
	if (!out->chain)
		return no_memory(why);
	err = load_chain(out, cert_file, why);
	if (!err)
		err = load_key(&out->key, key_file, why);
	if (!err)
		err = check_dates(out->cert, cert_file, why);
	if (!err && X509_check_private_key(out->cert, out->key) != 1) {
		ERR_clear_error();
		err = iw_fail(why, IW_E_INVAL,
			      "%s: the private key does not belong to the certificate in %s",
			      key_file, cert_file);
	}
	return err;
}

void iw_tls_own_free(struct iw_tls_own *o)
{
	X509_free(o->cert);
	sk_X509_pop_free(o->chain, X509_free);
	EVP_PKEY_free(o->key);
	*o = (struct iw_tls_own){ 0 };
}

int iw_tls_load_ca(X509_STORE **out, const char *file, struct iw_fault *why)
{
	unsigned count = 0;
	uint8_t *buf;
	X509 *cert;
	BIO *bio;
	int err;

	*out = X509_STORE_new();
	if (!*out)
		return no_memory(why);
	err = open_file(&bio, &buf, file, why);
	while (!err) {
		err = next_cert(&cert, bio, file, why);
		if (err)
			break;
		count++;
		if (X509_STORE_add_cert(*out, cert) != 1)
			err = no_memory(why);
		X509_free(cert);
	}
	if (err == IW_E_NOENT && bio)
		err = count ? 0 : no_certificate(why, file);
	close_file(bio, buf);
	return err;
}

bool iw_tls_pin_of(const X509 *cert, uint8_t pin[IW_TLS_PIN_LEN])
{
	uint8_t *der = NULL;
	int len = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(cert), &der);
	bool done = len > 0 && EVP_Digest(der, (size_t)len, pin, NULL, EVP_sha256(), NULL) == 1;

	OPENSSL_free(der);
	return done;
}
