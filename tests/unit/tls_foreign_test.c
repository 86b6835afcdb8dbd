// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Our sessions with plain OpenSSL at the other end, which agrees on less than we require. */
#include "tls/tls.h"

#include <openssl/bio.h>
#include <openssl/ssl.h>

#include "tls_keys.h"

#include "util/num.h"

static struct key bob;

struct foreign {
	SSL_CTX *ctx;
	SSL *ssl;
	BIO *in, *out; /* octets to it, and from it; owned by ssl */
	int err;       /* of its handshake, as SSL_get_error */
};

static struct iw_tls_stream *ours;
static struct iw_fault why;
static int result;

static void begin_ours(bool initiator)
{
	struct iw_tls_attr a = { .size = sizeof(a) };
	struct iw_tls *t;

	if (!initiator) {
		a.cert_file = bob.cert_file;
		a.key_file = bob.key_file;
	}
	assert_int_equal(iw_tls_creds_new(&t, &a, &why), 0);
	assert_int_equal(iw_tls_stream_new(&ours, t, initiator, "localhost", &why), 0);
	iw_tls_creds_put(t);
	result = IW_E_AGAIN;
}

static void open_foreign(struct foreign *f)
{
	f->ctx = SSL_CTX_new(TLS_method());
	assert_non_null(f->ctx);
	assert_int_equal(SSL_CTX_use_certificate(f->ctx, bob.cert), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey(f->ctx, bob.pkey), 1);
}

static void begin_foreign(struct foreign *f, bool initiator)
{
	f->ssl = SSL_new(f->ctx);
	f->in = BIO_new(BIO_s_mem());
	f->out = BIO_new(BIO_s_mem());
	assert_true(f->ssl && f->in && f->out);
	BIO_set_mem_eof_return(f->in, -1);
	SSL_set_bio(f->ssl, f->in, f->out);
	if (initiator)
		SSL_set_connect_state(f->ssl);
	else
		SSL_set_accept_state(f->ssl);
}

static void close_both(struct foreign *f)
{
	SSL_free(f->ssl);
	SSL_CTX_free(f->ctx);
	iw_tls_stream_free(ours);
}

/* Both handshakes, until neither moves. */
static void shake(struct foreign *f)
{
	static uint8_t to_us[65536], from_us[65536];

	for (int i = 0; i < 10; i++) {
		char *octets;
		long len;

		f->err = SSL_get_error(f->ssl, SSL_do_handshake(f->ssl));
		len = BIO_get_mem_data(f->out, &octets);
		assert_in_range(len, 0, sizeof(to_us));
		if (len)
			memcpy(to_us, octets, (size_t)len);
		iw_tls_stream_input(ours, to_us, (size_t)len);
		iw_tls_stream_output(ours, from_us, sizeof(from_us));
		if (result == IW_E_AGAIN)
			result = iw_tls_stream_handshake(ours, &why);
		(void)iw_tls_stream_taken(ours);
		(void)BIO_reset(f->out);
		len = (long)iw_tls_stream_output(ours, NULL, 0);
		if (len)
			assert_int_equal(BIO_write(f->in, from_us, (int)len), len);
	}
}

static void expect_refusal(const char *text)
{
	assert_int_equal(result, IW_E_TLS);
	if (!strstr(why.text, text))
		fail_msg("\"%s\" does not contain \"%s\"", why.text, text);
}

static void run(bool initiator, void (*set)(struct foreign *f))
{
	struct foreign f = { 0 };

	open_foreign(&f);
	if (set)
		set(&f);
	begin_foreign(&f, !initiator);
	begin_ours(initiator);
	shake(&f);
	close_both(&f);
}

static void offer_iwarp(struct foreign *f)
{
	assert_int_equal(SSL_CTX_set_alpn_protos(f->ctx, (const unsigned char *)"\2h2\5iwarp", 9),
			 0);
}

static void offer_http(struct foreign *f)
{
	assert_int_equal(SSL_CTX_set_alpn_protos(f->ctx, (const unsigned char *)"\2h2", 3), 0);
}

static void offer_tls_12(struct foreign *f)
{
	offer_iwarp(f);
	assert_int_equal(SSL_CTX_set_max_proto_version(f->ctx, TLS1_2_VERSION), 1);
}

static void initiator_with_iwarp_among_others_is_accepted(void **state)
{
	(void)state;
	run(false, offer_iwarp);
	assert_int_equal(result, 0);
}

static void initiator_without_alpn_is_refused(void **state)
{
	(void)state;
	run(false, NULL);
	expect_refusal("does not offer the protocol \"iwarp\"");
}

static void initiator_with_another_protocol_is_refused(void **state)
{
	(void)state;
	run(false, offer_http);
	expect_refusal("does not offer the protocol \"iwarp\"");
}

static void older_version_is_refused(void **state)
{
	(void)state;
	run(false, offer_tls_12);
	expect_refusal("offers only other versions of TLS");
	run(true, offer_tls_12);
	expect_refusal("alert 70");
}

static void responder_without_alpn_is_refused(void **state)
{
	(void)state;
	run(true, NULL);
	expect_refusal("does not select the protocol \"iwarp\"");
}

static int make_keys(void **state)
{
	(void)state;
	keys_make_dir();
	key_make(&bob, "bob", NULL, NULL);
	return 0;
}

static int free_keys(void **state)
{
	(void)state;
	key_free(&bob);
	keys_remove();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(initiator_with_iwarp_among_others_is_accepted),
		cmocka_unit_test(initiator_without_alpn_is_refused),
		cmocka_unit_test(initiator_with_another_protocol_is_refused),
		cmocka_unit_test(older_version_is_refused),
		cmocka_unit_test(responder_without_alpn_is_refused),
	};

	return cmocka_run_group_tests(tests, make_keys, free_keys);
}
