/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Keys and certificates for tests: made anew by each test program, in a directory of its own, which
 * keys_remove removes.
 */
#ifndef TESTS_TLS_KEYS_H
#define TESTS_TLS_KEYS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#define KEYS_DAY (24L * 60 * 60)

struct key {
	char cert_file[64], key_file[64];
	X509 *cert;
	EVP_PKEY *pkey;
};

static char keys_dir[32];

static inline void keys_make_dir(void)
{
	snprintf(keys_dir, sizeof(keys_dir), "/tmp/iw-keys-XXXXXX");
	assert_non_null(mkdtemp(keys_dir));
}

static inline FILE *keys_create(char path[64], const char *name, const char *what)
{
	FILE *f;

	snprintf(path, 64, "%s/%.16s.%.8s", keys_dir, name, what);
	f = fopen(path, "we");
	assert_non_null(f);
	return f;
}

static inline void key_add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *e;

	X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
	e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	assert_non_null(e);
	assert_int_equal(X509_add_ext(cert, e, -1), 1);
	X509_EXTENSION_free(e);
}

/* alt: subjectAltName, such as "DNS:localhost"; NULL: none. The certificate is valid from..to, s. */
static inline void key_make_for(struct key *k, const char *name, const char *alt,
				struct key *issuer, long from, long to)
{
	X509 *cert = X509_new();
	X509_NAME *subject = X509_NAME_new();
	FILE *f;

	memset(k, 0, sizeof(*k));
	k->pkey = EVP_EC_gen("P-256");
	assert_true(k->pkey && cert && subject);
	X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1,
				   0);
	X509_set_version(cert, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), (long)getpid());
	X509_gmtime_adj(X509_getm_notBefore(cert), from);
	X509_gmtime_adj(X509_getm_notAfter(cert), to);
	X509_set_pubkey(cert, k->pkey);
	X509_set_subject_name(cert, subject);
	X509_set_issuer_name(cert, issuer ? X509_get_subject_name(issuer->cert) : subject);
	key_add_extension(cert, issuer ? issuer->cert : cert, NID_basic_constraints,
			  issuer ? "critical,CA:FALSE" : "critical,CA:TRUE");
	if (alt)
		key_add_extension(cert, cert, NID_subject_alt_name, alt);
	assert_true(X509_sign(cert, issuer ? issuer->pkey : k->pkey, EVP_sha256()) > 0);
	X509_NAME_free(subject);
	k->cert = cert;
	f = keys_create(k->cert_file, name, "crt");
	assert_int_equal(PEM_write_X509(f, cert), 1);
	fclose(f);
	f = keys_create(k->key_file, name, "key");
	assert_int_equal(PEM_write_PrivateKey(f, k->pkey, NULL, NULL, 0, NULL, NULL), 1);
	fclose(f);
}

static inline void key_make(struct key *k, const char *name, const char *alt, struct key *issuer)
{
	key_make_for(k, name, alt, issuer, -KEYS_DAY, KEYS_DAY);
}

static inline void key_free(struct key *k)
{
	unlink(k->cert_file);
	unlink(k->key_file);
	X509_free(k->cert);
	EVP_PKEY_free(k->pkey);
}

static inline void keys_remove(void)
{
	assert_int_equal(rmdir(keys_dir), 0);
}

#endif
