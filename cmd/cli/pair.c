// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Private keys and self-signed certificates. */
#include "cli/pair.h"

#include "util/num.h"
#include "util/text.h"

#ifdef IW_HAVE_OPENSSL

#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#define SERIAL_BITS 127 /* positive, at most 20 octets (RFC 5280 4.1.2.2) */
#define VALID_DAYS  3653
#define DAY_S       86400L
#define NAME        "iwarp" /* of every certificate: it must not identify the user */

/* An EVP_PKEY under a name of this project. */
static EVP_PKEY *key_of(const struct iw_pair *pair)
{
	return (EVP_PKEY *)(uintptr_t)pair;
}

static int failed(struct iw_fault *why, const char *what)
{
	char text[120];
	unsigned long code = ERR_get_error();

	ERR_error_string_n(code, text, sizeof(text));
	ERR_clear_error();
	return iw_fail(why, IW_E_OS, "%s: OpenSSL: %s", what, code ? text : "no reason given");
}

int iw_pair_new(struct iw_pair **out, struct iw_fault *why)
{
	ERR_clear_error();
	*out = (struct iw_pair *)EVP_EC_gen("P-256");
	return *out ? 0 : failed(why, "make a private key");
}

/* A key that is encrypted is refused: nothing asks for a password. */
static int no_password(char *buf, int size, int writes, void *ctx)
{
	(void)buf;
	(void)size;
	(void)writes;
	(void)ctx;
	return -1;
}

int iw_pair_read(struct iw_pair **out, FILE *f, const char *path, struct iw_fault *why)
{
	ERR_clear_error();
	*out = (struct iw_pair *)PEM_read_PrivateKey(f, NULL, no_password, NULL);
	ERR_clear_error();
	if (*out)
		return 0;
	return iw_fail(
		why, IW_E_INVAL,
		"%s: not an unencrypted private key in PEM; restore it, or remove it so that a new one is made",
		path);
}

void iw_pair_free(struct iw_pair *pair)
{
	EVP_PKEY_free(key_of(pair));
}

int iw_pair_write_key(const struct iw_pair *pair, FILE *f, struct iw_fault *why)
{
	ERR_clear_error();
	if (PEM_write_PKCS8PrivateKey(f, key_of(pair), NULL, NULL, 0, NULL, NULL) == 1)
		return 0;
	return failed(why, "write a private key");
}

static bool set_serial(X509 *x)
{
	BIGNUM *n = BN_new();
	bool ok = n && BN_rand(n, SERIAL_BITS, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
		  BN_to_ASN1_INTEGER(n, X509_get_serialNumber(x));

	BN_free(n);
	return ok;
}

static bool add_extension(X509 *x, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *e;
	bool ok;

	X509V3_set_ctx(&ctx, x, x, NULL, NULL, 0);
	e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	ok = e && X509_add_ext(x, e, -1) == 1;
	X509_EXTENSION_free(e);
	return ok;
}

/* A clock of a peer that is a day late accepts the certificate too. */
static bool fill(X509 *x, EVP_PKEY *key)
{
	X509_NAME *name = X509_get_subject_name(x);

	return X509_set_version(x, X509_VERSION_3) == 1 && set_serial(x) &&
	       X509_gmtime_adj(X509_getm_notBefore(x), -DAY_S) &&
	       X509_time_adj_ex(X509_getm_notAfter(x), VALID_DAYS, 0, NULL) &&
	       X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)NAME, -1,
					  -1, 0) == 1 &&
	       X509_set_issuer_name(x, name) == 1 && X509_set_pubkey(x, key) == 1 &&
	       add_extension(x, NID_basic_constraints, "critical,CA:FALSE") &&
	       add_extension(x, NID_key_usage, "critical,digitalSignature") &&
	       X509_sign(x, key, EVP_sha256()) > 0;
}

int iw_pair_write_cert(const struct iw_pair *pair, FILE *f, struct iw_fault *why)
{
	X509 *x;
	bool ok;

	ERR_clear_error();
	x = X509_new();
	ok = x && fill(x, key_of(pair)) && PEM_write_X509(f, x) == 1;
	X509_free(x);
	return ok ? 0 : failed(why, "make a certificate");
}

#else

static int absent(struct iw_fault *why)
{
	return iw_fail(why, IW_E_NOTSUP,
		       "TLS: built without OpenSSL; install libssl-dev and build again");
}

int iw_pair_new(struct iw_pair **out, struct iw_fault *why)
{
	*out = NULL;
	return absent(why);
}

int iw_pair_read(struct iw_pair **out, FILE *f, const char *path, struct iw_fault *why)
{
	(void)f;
	(void)path;
	*out = NULL;
	return absent(why);
}

void iw_pair_free(struct iw_pair *pair)
{
	(void)pair;
}

int iw_pair_write_key(const struct iw_pair *pair, FILE *f, struct iw_fault *why)
{
	(void)pair;
	(void)f;
	return absent(why);
}

int iw_pair_write_cert(const struct iw_pair *pair, FILE *f, struct iw_fault *why)
{
	(void)pair;
	(void)f;
	return absent(why);
}

#endif
