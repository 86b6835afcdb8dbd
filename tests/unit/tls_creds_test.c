// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Credentials of files: what is accepted, and the text of each refusal. */
#include "tls/tls.h"

#include "tls_keys.h"

#include "util/num.h"

static struct key good, other, expired, future;
static char empty_file[64], encrypted_file[64], missing_file[64], long_file[64];
static const uint8_t secret[65] = "secret";

static void expect(struct iw_tls_attr a, int err, const char *file, const char *text)
{
	struct iw_fault why = { 0 };
	struct iw_tls *t;

	a.size = sizeof(a);
	assert_int_equal(iw_tls_creds_new(&t, &a, &why), err);
	assert_null(t);
	if (!strstr(why.text, text) || (file && !strstr(why.text, file)))
		fail_msg("\"%s\" does not contain \"%s\" and \"%s\"", why.text, file ? file : "",
			 text);
}

static void own(const char *cert, const char *key, int err, const char *file, const char *text)
{
	expect((struct iw_tls_attr){ .cert_file = cert, .key_file = key }, err, file, text);
}

static void bad_files_are_named(void **state)
{
	(void)state;
	own(missing_file, good.key_file, IW_E_NOENT, missing_file, "No such file");
	own(good.cert_file, missing_file, IW_E_NOENT, missing_file, "No such file");
	own(keys_dir, good.key_file, IW_E_OS, keys_dir, "Is a directory");
	own(empty_file, good.key_file, IW_E_INVAL, empty_file, "no certificate in it");
	own(good.cert_file, empty_file, IW_E_INVAL, empty_file, "no private key in it");
	own(good.key_file, good.key_file, IW_E_INVAL, good.key_file, "no certificate in it");
	own(good.cert_file, encrypted_file, IW_E_INVAL, encrypted_file, "is encrypted");
	own(long_file, good.key_file, IW_E_INVAL, long_file, "longer than 1 MiB");
	own(good.cert_file, other.key_file, IW_E_INVAL, other.key_file, "does not belong");
	own(expired.cert_file, expired.key_file, IW_E_INVAL, expired.cert_file,
	    "has expired on 20");
	own(future.cert_file, future.key_file, IW_E_INVAL, future.cert_file, "not valid before 20");
	expect((struct iw_tls_attr){ .ca_file = missing_file }, IW_E_NOENT, missing_file,
	       "No such file");
	expect((struct iw_tls_attr){ .ca_file = empty_file }, IW_E_INVAL, empty_file,
	       "no certificate in it");
}

static void impossible_combinations_are_refused(void **state)
{
	(void)state;
	expect((struct iw_tls_attr){ .cert_file = good.cert_file }, IW_E_INVAL, NULL,
	       "cert_file without key_file");
	expect((struct iw_tls_attr){ .key_file = good.key_file }, IW_E_INVAL, NULL,
	       "key_file without cert_file");
	expect((struct iw_tls_attr){ .psk_one_use = true }, IW_E_INVAL, NULL, "without psk");
	expect((struct iw_tls_attr){ .psk = secret, .psk_len = 15 }, IW_E_INVAL, NULL,
	       "of 15 octets; expected 16 to 64");
	expect((struct iw_tls_attr){ .psk = secret, .psk_len = 65 }, IW_E_INVAL, NULL,
	       "of 65 octets; expected 16 to 64");
	expect((struct iw_tls_attr){ .psk = secret, .psk_len = 32, .ca_file = good.cert_file },
	       IW_E_INVAL, NULL, "use one of them");
	expect((struct iw_tls_attr){ .psk = secret, .psk_len = 32, .psk_identity = "" }, IW_E_INVAL,
	       NULL, "is empty");
	expect((struct iw_tls_attr){ .npins = 1 }, IW_E_INVAL, NULL, "npins 1 without pins");
}

static void longest_identity_is_accepted(void **state)
{
	char identity[IW_TLS_IDENTITY_MAX + 2];
	struct iw_tls_attr a = { .size = sizeof(a),
				 .psk = secret,
				 .psk_len = IW_TLS_PSK_MAX,
				 .psk_identity = identity };
	struct iw_fault why;
	struct iw_tls *t;

	(void)state;
	memset(identity, 'x', sizeof(identity));
	identity[IW_TLS_IDENTITY_MAX] = '\0';
	assert_int_equal(iw_tls_creds_new(&t, &a, &why), 0);
	iw_tls_creds_put(t);
	identity[IW_TLS_IDENTITY_MAX] = 'x';
	identity[IW_TLS_IDENTITY_MAX + 1] = '\0';
	assert_int_equal(iw_tls_creds_new(&t, &a, &why), IW_E_INVAL);
}

static void listener_needs_an_identity(void **state)
{
	struct iw_tls_attr a = { .size = sizeof(a) };
	uint8_t pin[IW_TLS_PIN_LEN];
	struct iw_fault why;
	struct iw_tls *t;

	(void)state;
	assert_int_equal(iw_tls_creds_new(&t, &a, &why), 0);
	assert_int_equal(iw_tls_creds_listen(t, &why), IW_E_INVAL);
	assert_int_equal(iw_tls_creds_pin(t, pin), IW_E_STATE);
	iw_tls_creds_put(t);
	a.cert_file = good.cert_file;
	a.key_file = good.key_file;
	assert_int_equal(iw_tls_creds_new(&t, &a, &why), 0);
	assert_int_equal(iw_tls_creds_listen(t, &why), 0);
	iw_tls_creds_put(t);
}

static void credentials_live_until_the_last_user(void **state)
{
	struct iw_tls_attr a = { .size = sizeof(a), .psk = secret, .psk_len = 16 };
	struct iw_tls_stream *s;
	struct iw_fault why;
	struct iw_tls *t;

	(void)state;
	assert_int_equal(iw_tls_creds_new(&t, &a, &why), 0);
	assert_int_equal(iw_tls_stream_new(&s, t, true, "localhost", &why), 0);
	iw_tls_creds_put(t);
	assert_int_equal(iw_tls_stream_handshake(s, &why), IW_E_AGAIN);
	iw_tls_stream_free(s);
}

static int make_keys(void **state)
{
	FILE *f;

	(void)state;
	keys_make_dir();
	key_make(&good, "good", NULL, NULL);
	key_make(&other, "other", NULL, NULL);
	key_make_for(&expired, "expired", NULL, NULL, -2 * KEYS_DAY, -KEYS_DAY);
	key_make_for(&future, "future", NULL, NULL, KEYS_DAY, 2 * KEYS_DAY);
	snprintf(missing_file, sizeof(missing_file), "%s/missing", keys_dir);
	fclose(keys_create(empty_file, "empty", "crt"));
	f = keys_create(encrypted_file, "encrypt", "key");
	assert_int_equal(PEM_write_PrivateKey(f, good.pkey, EVP_aes_128_cbc(),
					      (const unsigned char *)"secret", 6, NULL, NULL),
			 1);
	fclose(f);
	f = keys_create(long_file, "long", "crt");
	assert_int_equal(ftruncate(fileno(f), 2 << 20), 0);
	fclose(f);
	return 0;
}

static int free_keys(void **state)
{
	(void)state;
	key_free(&good);
	key_free(&other);
	key_free(&expired);
	key_free(&future);
	unlink(empty_file);
	unlink(encrypted_file);
	unlink(long_file);
	keys_remove();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_files_are_named),
		cmocka_unit_test(impossible_combinations_are_refused),
		cmocka_unit_test(longest_identity_is_accepted),
		cmocka_unit_test(listener_needs_an_identity),
		cmocka_unit_test(credentials_live_until_the_last_user),
	};

	return cmocka_run_group_tests(tests, make_keys, free_keys);
}
