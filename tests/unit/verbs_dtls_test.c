// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Queue pairs over SCTP in DTLS in UDP (RFC 8261), through the public API: two contexts on the
 * loopback. */
#include <iwarp/verbs.h>

#include "util/num.h"

#include "verbs_both.h"

enum { LEN = 3000000 };

static uint16_t udp_port;
static struct iw_tls *tls_a, *tls_b, *tls_c;

static struct iw_tls *creds(const char *secret)
{
	const struct iw_tls_attr attr = { .size = sizeof(attr),
					  .psk = (const uint8_t *)secret,
					  .psk_len = strlen(secret) };
	struct iw_fault why;
	struct iw_tls *t;

	if (iw_tls_new(&t, &attr, &why) != 0)
		fail_msg("%s", why.text);
	return t;
}

static int open_ends(void **state)
{
	tls_a = creds("a secret of two ends");
	tls_b = creds("a secret of two ends");
	tls_c = creds("the secret of a third end");
	return open_both(state);
}

static int close_ends(void **state)
{
	/* Contexts keep credentials that they use. */
	iw_tls_free(tls_a);
	iw_tls_free(tls_b);
	iw_tls_free(tls_c);
	return close_both(state);
}

static void listen_with(struct iw_tls *tls)
{
	struct conn_param p = { CONN_PARAM_SIZES, .at.transport = "udp", .at.tls = tls };

	for (int tries = 0; tries < 100; tries++) {
		udp_port = (uint16_t)(20000 + ((unsigned)getpid() * 31 + (unsigned)rand()) % 40000);
		p.at.udp_port = udp_port;
		if (iw_listen(&b.listener, b.ctx, &p.at, &p.protocol, &b.why) == 0)
			return;
	}
	fail_msg("%s", b.why.text);
}

static void connect_with(struct iw_tls *tls, uint16_t udp)
{
	struct conn_param p = {
		CONN_PARAM_SIZES,       .at.transport = "udp",
		.at.host = "127.0.0.1", .at.port = b.listener ? iw_listener_port(b.listener) : 7471,
		.at.udp_port = udp,     .at.tls = tls
	};

	if (iw_connect(a.qp, &p.at, &p.protocol, &a.why) != 0)
		fail_msg("%s", a.why.text);
}

static void establish(void)
{
	listen_with(tls_b);
	connect_with(tls_a, udp_port);
	end_until(&a, &b, a.seen[IW_EV_ESTABLISHED] && b.seen[IW_EV_ESTABLISHED]);
}

static bool received(const struct end *e)
{
	for (unsigned i = 0; i < e->nwc; i++)
		if (e->wc[i].op == IW_WC_RECV)
			return true;
	return false;
}

static void write_all(const uint8_t *out, uint8_t *in)
{
	struct iw_mr *target = end_reg(&b, in, LEN, IW_ACCESS_REMOTE_WRITE);
	uint8_t msg[16];

	assert_int_equal(iw_post_recv(b.qp, 1, msg, sizeof(msg), NULL), 0);
	assert_int_equal(end_write(&a, 2, out, LEN, iw_mr_stag(target), 0, 0), 0);
	assert_int_equal(end_send(&a, 3, "written", 8, 0), 0);
	end_until(&a, &b, received(&b));
	assert_memory_equal(in, out, LEN);
	assert_string_equal((char *)msg, "written");
}

static void data_move_and_the_end_is_orderly(void **state)
{
	uint8_t *out = malloc(LEN), *in = calloc(1, LEN);
	struct iw_tls_info x = { .size = sizeof(x) }, y = { .size = sizeof(y) };

	(void)state;
	for (size_t i = 0; i < LEN; i++)
		out[i] = (uint8_t)(i * 7 + (i >> 9));
	establish();
	assert_int_equal(iw_qp_tls(a.qp, &x), 0);
	assert_int_equal(iw_qp_tls(b.qp, &y), 0);
	assert_string_equal(x.version, "DTLSv1.2");
	assert_int_equal(x.auth, IW_TLS_AUTH_PSK);
	assert_memory_equal(x.binding, y.binding, sizeof(x.binding));
	write_all(out, in);
	iw_disconnect(a.qp);
	end_until(&a, &b, b.seen[IW_EV_PEER_CLOSED]);
	iw_disconnect(b.qp);
	end_until(&a, &b, a.seen[IW_EV_CLOSED] && b.seen[IW_EV_CLOSED]);
	assert_int_equal(a.fault.err, IW_OK);
	assert_int_equal(b.fault.err, IW_OK);
	free(out);
	free(in);
}

static void another_key_fails_with_a_reason(void **state)
{
	const struct iw_ctx_attr patient = { .size = sizeof(patient), .setup_ns = MS(9000) };

	(void)state;
	end_close(&a);
	end_open_with(&a, &patient, 0, 0);
	listen_with(tls_b);
	connect_with(tls_c, udp_port);
	end_until(&a, &b, a.seen[IW_EV_CLOSED]);
	assert_int_equal(a.fault.err, IW_E_TLS);
	assert_non_null(strstr(a.fault.text, "DTLS: the peer does not finish the handshake"));
	assert_non_null(strstr(a.fault.text, "connect to 127.0.0.1:"));
	assert_int_equal(b.seen[IW_EV_CONNECT_REQUEST], 0);
}

static void plain_peer_gets_no_answer_from_a_listener_with_dtls(void **state)
{
	(void)state;
	listen_with(tls_b);
	connect_with(NULL, udp_port);
	end_until(&a, &b, a.seen[IW_EV_CLOSED]);
	assert_int_equal(a.fault.err, IW_E_TIMEOUT);
	assert_int_equal(b.seen[IW_EV_CONNECT_REQUEST], 0);
}

static void plain_listener_is_named_as_one_reason_of_silence(void **state)
{
	(void)state;
	listen_with(NULL);
	connect_with(tls_a, udp_port);
	end_until(&a, &b, a.seen[IW_EV_CLOSED]);
	assert_int_equal(a.fault.err, IW_E_TIMEOUT);
	assert_non_null(strstr(a.fault.text, "no answer to the DTLS ClientHello"));
	assert_non_null(strstr(a.fault.text, "encryption (--tls)"));
	assert_int_equal(b.seen[IW_EV_CONNECT_REQUEST], 0);
}

static void closed_port_ends_the_handshake_at_once(void **state)
{
	double begun = end_clock();

	(void)state;
	listen_with(tls_b);
	connect_with(tls_a, 9); /* discard: nothing listens there */
	end_until(&a, &b, a.seen[IW_EV_CLOSED]);
	assert_true(end_clock() - begun < 1.5);
	assert_int_equal(a.fault.err, IW_E_CLOSED);
	assert_non_null(strstr(a.fault.text, "unreachable"));
}

static void listener_without_certificate_or_key_is_refused(void **state)
{
	struct iw_tls_attr none = { .size = sizeof(none) };
	struct conn_param p = { CONN_PARAM_SIZES, .at.transport = "udp", .at.any_udp_port = true };

	(void)state;
	assert_int_equal(iw_tls_new(&p.at.tls, &none, &a.why), 0);
	assert_int_equal(iw_listen(&b.listener, b.ctx, &p.at, &p.protocol, &b.why), IW_E_INVAL);
	iw_tls_free(p.at.tls);
}

static void end_of_the_listener_ends_the_connection(void **state)
{
	(void)state;
	establish();
	end_close(&b);
	end_open(&b);
	end_until(&a, &b, a.seen[IW_EV_CLOSED]);
	assert_int_not_equal(a.fault.err, IW_E_TIMEOUT);
}

static void ten_connections_share_a_listener(void **state)
{
	struct end more[10];

	(void)state;
	establish();
	for (size_t i = 0; i < IW_ARRAY_LEN(more); i++) {
		struct conn_param p = {
			CONN_PARAM_SIZES,        .at.transport = "udp",
			.at.host = "127.0.0.1",  .at.port = iw_listener_port(b.listener),
			.at.udp_port = udp_port, .at.tls = tls_a
		};

		end_open(&more[i]);
		b.qp = end_add_qp(&b, 0, 0);
		assert_int_equal(iw_connect(more[i].qp, &p.at, &p.protocol, &more[i].why), 0);
		end_until(&more[i], &b,
			  more[i].seen[IW_EV_ESTABLISHED] && b.seen[IW_EV_ESTABLISHED] == i + 2);
	}
	for (size_t i = 0; i < IW_ARRAY_LEN(more); i++)
		end_close(&more[i]);
	end_until(&b, NULL, b.seen[IW_EV_CLOSED] == IW_ARRAY_LEN(more));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_ends, close_ends)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(data_move_and_the_end_is_orderly),
		TEST(another_key_fails_with_a_reason),
		TEST(plain_peer_gets_no_answer_from_a_listener_with_dtls),
		TEST(plain_listener_is_named_as_one_reason_of_silence),
		TEST(closed_port_ends_the_handshake_at_once),
		TEST(listener_without_certificate_or_key_is_refused),
		TEST(end_of_the_listener_ends_the_connection),
		TEST(ten_connections_share_a_listener),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
