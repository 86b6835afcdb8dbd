// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sessions of TLS over memory: authentication in all ways, refusals, data in any portions, alerts. */
#include "tls/tls.h"

#include "tls_keys.h"

#include "util/num.h"

#define PIPE (256 * 1024)

static struct key ca, alice, bob, carol, other_ca;
static const uint8_t secret[32] = "0123456789abcdef0123456789abcde";

/* Octets that one end has sent and the other one has not taken. */
struct pipe {
	uint8_t data[PIPE];
	size_t len;
};

struct side {
	struct iw_tls *creds;
	struct iw_tls_stream *s;
	struct iw_fault why;
	int result;  /* of the handshake */
	size_t step; /* octets given to it at once; 0: all */
	struct pipe in;
};

static struct side a, b; /* a begins, b answers */

static struct iw_tls *creds(struct iw_tls_attr attr)
{
	struct iw_fault why;
	struct iw_tls *t;

	attr.size = sizeof(attr);
	if (iw_tls_creds_new(&t, &attr, &why) != 0)
		fail_msg("%s", why.text);
	return t;
}

static void begin(struct iw_tls_attr at_a, struct iw_tls_attr at_b, const char *name)
{
	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	a.creds = creds(at_a);
	b.creds = creds(at_b);
	assert_int_equal(iw_tls_stream_new(&a.s, a.creds, true, name, &a.why), 0);
	assert_int_equal(iw_tls_stream_new(&b.s, b.creds, false, NULL, &b.why), 0);
	a.result = b.result = IW_E_AGAIN;
}

static void end(void)
{
	iw_tls_stream_free(a.s);
	iw_tls_stream_free(b.s);
	iw_tls_creds_put(a.creds);
	iw_tls_creds_put(b.creds);
}

/* Provides input and output, calls act, and moves the octets. Returns what act returned. */
static int64_t with_io(struct side *x, struct side *peer, int64_t (*act)(struct side *x, void *arg),
		       void *arg)
{
	size_t give = x->step ? IW_MIN(x->step, x->in.len) : x->in.len, taken;
	int64_t ret;

	iw_tls_stream_input(x->s, x->in.data, give);
	iw_tls_stream_output(x->s, peer->in.data + peer->in.len, PIPE - peer->in.len);
	ret = act(x, arg);
	peer->in.len += iw_tls_stream_output(x->s, NULL, 0);
	taken = iw_tls_stream_taken(x->s);
	x->in.len -= taken;
	memmove(x->in.data, x->in.data + taken, x->in.len);
	return ret;
}

static int64_t do_handshake(struct side *x, void *arg)
{
	(void)arg;
	return iw_tls_stream_handshake(x->s, &x->why);
}

static int64_t do_read(struct side *x, void *arg)
{
	struct iw_vec *v = arg;

	return iw_tls_stream_read(x->s, v, 1, 0, &x->why);
}

static int64_t do_write(struct side *x, void *arg)
{
	struct iw_vec *v = arg;

	return iw_tls_stream_write(x->s, v, 1, 0, &x->why);
}

static int64_t do_close(struct side *x, void *arg)
{
	(void)arg;
	iw_tls_stream_close(x->s);
	return 0;
}

static void step(struct side *x, struct side *peer)
{
	if (x->result == IW_E_AGAIN)
		x->result = (int)with_io(x, peer, do_handshake, NULL);
}

/* Both ends, until both have finished or nothing moves. */
static void shake(void)
{
	for (int i = 0; i < 20000 && (a.result == IW_E_AGAIN || b.result == IW_E_AGAIN); i++) {
		step(&a, &b);
		step(&b, &a);
	}
}

static int64_t read_some(struct side *x, struct side *peer, void *dst, size_t cap)
{
	struct iw_vec v = { dst, cap };

	return with_io(x, peer, do_read, &v);
}

static void expect_text(struct side *x, int result, const char *text)
{
	assert_int_equal(result, IW_E_TLS);
	if (!strstr(x->why.text, text))
		fail_msg("\"%s\" does not contain \"%s\"", x->why.text, text);
}

/* After a handshake that a has finished and b refused: a learns it by an alert. */
static void expect_alert_at_a(const char *text)
{
	uint8_t octet;

	if (a.result == 0)
		a.result = (int)read_some(&a, &b, &octet, 1);
	expect_text(&a, a.result, text);
}

static void exchange(void)
{
	uint8_t sent[50000], got[60000];
	struct iw_vec v = { sent, sizeof(sent) };
	size_t have = 0;

	for (size_t i = 0; i < sizeof(sent); i++)
		sent[i] = (uint8_t)(i * 7 + i / 256);
	assert_int_equal(with_io(&a, &b, do_write, &v), sizeof(sent));
	for (int i = 0; i < 100000 && have < sizeof(sent); i++) {
		int64_t n = read_some(&b, &a, got + have, IW_MIN(sizeof(got) - have, 7001u));

		assert_true(n > 0 || n == IW_E_AGAIN);
		have += n > 0 ? (size_t)n : 0;
	}
	assert_int_equal(have, sizeof(sent));
	assert_memory_equal(got, sent, sizeof(sent));
}

static void expect_success(enum iw_tls_auth auth_of_a, enum iw_tls_auth auth_of_b)
{
	struct iw_tls_info x, y;

	if (a.result || b.result)
		fail_msg("a: %s; b: %s", a.why.text, b.why.text);
	assert_true(iw_tls_stream_info(a.s, &x) && iw_tls_stream_info(b.s, &y));
	assert_string_equal(x.version, "TLSv1.3");
	assert_string_equal(x.cipher, "TLS_AES_128_GCM_SHA256");
	assert_memory_equal(x.binding, y.binding, sizeof(x.binding));
	assert_int_equal(x.auth, auth_of_a);
	assert_int_equal(y.auth, auth_of_b);
	exchange();
}

#define OWN(k) .cert_file = (k).cert_file, .key_file = (k).key_file
#define PSK    .psk = secret, .psk_len = sizeof(secret)

static void pin(uint8_t out[IW_TLS_PIN_LEN], struct key *k)
{
	struct iw_tls *t = creds((struct iw_tls_attr){ OWN(*k) });

	assert_int_equal(iw_tls_creds_pin(t, out), 0);
	iw_tls_creds_put(t);
}

/* ---------------------------------------------------------------- success */

static void any_certificate_is_accepted_and_its_pin_reported(void **state)
{
	struct iw_tls_info x, y;
	uint8_t expected[IW_TLS_PIN_LEN];

	(void)state;
	begin((struct iw_tls_attr){ 0 }, (struct iw_tls_attr){ OWN(bob) }, "localhost");
	shake();
	expect_success(IW_TLS_AUTH_NONE, IW_TLS_AUTH_NONE);
	assert_true(iw_tls_stream_info(a.s, &x) && iw_tls_stream_info(b.s, &y));
	assert_true(x.has_peer_pin);
	assert_false(y.has_peer_pin);
	pin(expected, &bob);
	assert_memory_equal(x.peer_pin, expected, sizeof(expected));
	end();
}

/* DDP-119 */
static void pins_authenticate_both_ends(void **state)
{
	uint8_t pins_of_a[2][IW_TLS_PIN_LEN] = { { 0 } }, pin_of_b[1][IW_TLS_PIN_LEN];

	(void)state;
	pin(pins_of_a[1], &bob);
	pin(pin_of_b[0], &alice);
	begin((struct iw_tls_attr){ OWN(alice), .pins = pins_of_a, .npins = 2 },
	      (struct iw_tls_attr){ OWN(bob), .pins = pin_of_b, .npins = 1 }, "other.example");
	shake();
	expect_success(IW_TLS_AUTH_PIN, IW_TLS_AUTH_PIN);
	end();
}

static void pin_that_comes_later_authenticates_nothing(void **state)
{
	uint8_t other[IW_TLS_PIN_LEN] = { 1 };

	(void)state;
	begin((struct iw_tls_attr){ 0 }, (struct iw_tls_attr){ OWN(bob) }, "localhost");
	step(&a, &b);          /* ClientHello */
	step(&b, &a);          /* the certificate */
	a.step = a.in.len - 1; /* all but the end of the Finished */
	step(&a, &b);
	a.step = 0;
	assert_int_equal(a.result, IW_E_AGAIN);
	assert_int_equal(iw_tls_creds_add_pin(a.creds, other), 0);
	shake();
	expect_success(IW_TLS_AUTH_NONE, IW_TLS_AUTH_NONE);
	end();
}

/* DDP-119 */
static void an_authority_authenticates_both_ends(void **state)
{
	(void)state;
	begin((struct iw_tls_attr){ OWN(alice), .ca_file = ca.cert_file },
	      (struct iw_tls_attr){ OWN(bob), .ca_file = ca.cert_file }, "bob.example");
	shake();
	expect_success(IW_TLS_AUTH_CA, IW_TLS_AUTH_CA);
	end();
	begin((struct iw_tls_attr){ .ca_file = ca.cert_file }, (struct iw_tls_attr){ OWN(bob) },
	      "192.0.2.7");
	shake();
	expect_success(IW_TLS_AUTH_CA, IW_TLS_AUTH_NONE);
	end();
}

/* DDP-119 */
static void a_pre_shared_key_authenticates_both_ends(void **state)
{
	(void)state;
	begin((struct iw_tls_attr){ PSK }, (struct iw_tls_attr){ PSK }, "localhost");
	shake();
	expect_success(IW_TLS_AUTH_PSK, IW_TLS_AUTH_PSK);
	end();
}

static void octets_may_arrive_one_by_one(void **state)
{
	(void)state;
	begin((struct iw_tls_attr){ OWN(alice), .ca_file = ca.cert_file },
	      (struct iw_tls_attr){ OWN(bob), .ca_file = ca.cert_file }, "bob.example");
	a.step = b.step = 1;
	shake();
	expect_success(IW_TLS_AUTH_CA, IW_TLS_AUTH_CA);
	end();
}

/* ---------------------------------------------------------------- refused by the initiator */

static void other_pin_is_refused(void **state)
{
	uint8_t pins[1][IW_TLS_PIN_LEN];

	(void)state;
	pin(pins[0], &alice);
	begin((struct iw_tls_attr){ .pins = pins, .npins = 1 }, (struct iw_tls_attr){ OWN(bob) },
	      "localhost");
	shake();
	expect_text(&a, a.result, "the peer's key SHA256:");
	expect_text(&b, b.result, "alert 42 \"bad certificate\": it does not accept");
	end();
}

static void unknown_authority_is_refused(void **state)
{
	(void)state;
	begin((struct iw_tls_attr){ .ca_file = other_ca.cert_file },
	      (struct iw_tls_attr){ OWN(bob) }, "bob.example");
	shake();
	expect_text(&a, a.result, "unable to get local issuer certificate");
	expect_text(&b, b.result, "alert 48");
	end();
}

static void other_name_is_refused(void **state)
{
	(void)state;
	begin((struct iw_tls_attr){ .ca_file = ca.cert_file }, (struct iw_tls_attr){ OWN(bob) },
	      "carol.example");
	shake();
	expect_text(&a, a.result, "not for \"carol.example\"");
	end();
	begin((struct iw_tls_attr){ .ca_file = ca.cert_file }, (struct iw_tls_attr){ OWN(bob) },
	      "192.0.2.8");
	shake();
	expect_text(&a, a.result, "not for the address 192.0.2.8");
	end();
}

static void name_of_the_subject_does_not_apply(void **state)
{
	(void)state;
	begin((struct iw_tls_attr){ .ca_file = ca.cert_file }, (struct iw_tls_attr){ OWN(carol) },
	      "carol.example");
	shake();
	expect_text(&a, a.result, "not for \"carol.example\"");
	end();
}

static void zone_of_an_address_is_ignored(void **state)
{
	(void)state;
	begin((struct iw_tls_attr){ .ca_file = ca.cert_file }, (struct iw_tls_attr){ OWN(bob) },
	      "fe80::7%eth0");
	shake();
	expect_success(IW_TLS_AUTH_CA, IW_TLS_AUTH_NONE);
	end();
}

static void certificate_in_place_of_the_key_is_refused(void **state)
{
	(void)state;
	begin((struct iw_tls_attr){ PSK }, (struct iw_tls_attr){ OWN(bob) }, "localhost");
	shake();
	expect_text(&a, a.result, "does not have the pre-shared key");
	end();
}

/* ---------------------------------------------------------------- refused by the responder */

static void missing_certificate_is_refused(void **state)
{
	(void)state;
	begin((struct iw_tls_attr){ 0 }, (struct iw_tls_attr){ OWN(bob), .ca_file = ca.cert_file },
	      "bob.example");
	shake();
	expect_text(&b, b.result, "sent no certificate");
	expect_alert_at_a("alert 116 \"certificate required\": it requires a certificate");
	end();
}

static void other_key_is_refused(void **state)
{
	static const uint8_t other[32] = "other";

	(void)state;
	begin((struct iw_tls_attr){ .psk = other, .psk_len = sizeof(other) },
	      (struct iw_tls_attr){ PSK }, "localhost");
	shake();
	expect_text(&b, b.result, "another pre-shared key");
	expect_alert_at_a("its pre-shared key is another one");
	end();
	begin((struct iw_tls_attr){ PSK, .psk_identity = "other" }, (struct iw_tls_attr){ PSK },
	      "localhost");
	shake();
	expect_text(&b, b.result, "not known here");
	expect_alert_at_a("it does not know this pre-shared key");
	end();
}

static void certificate_at_a_listener_with_a_key_is_refused(void **state)
{
	(void)state;
	begin((struct iw_tls_attr){ OWN(alice) }, (struct iw_tls_attr){ PSK }, "localhost");
	shake();
	expect_text(&b, b.result, "does not use a pre-shared key");
	expect_alert_at_a("alert 40 \"handshake failure\"");
	end();
}

static void plain_mpa_is_named(void **state)
{
	static const uint8_t alert[] = { 21, 3, 3, 0, 2, 2, 10 };

	(void)state;
	for (size_t step = 0; step < 2; step++) {
		begin((struct iw_tls_attr){ 0 }, (struct iw_tls_attr){ OWN(bob) }, "localhost");
		memcpy(b.in.data, "MPA ID Req Frame\x40\x02\x00\x00", 20);
		b.in.len = 20;
		b.step = step;
		for (int i = 0; i < 30; i++)
			b.result = (int)with_io(&b, &a, do_handshake, NULL);
		expect_text(&b, b.result, "does not use TLS, it begins with plain MPA");
		/* The engine of a plain peer reports TLS by it. */
		assert_int_equal(a.in.len, sizeof(alert));
		assert_memory_equal(a.in.data, alert, sizeof(alert));
		end();
	}
}

/* ---------------------------------------------------------------- one-use keys */

static void run_one(struct iw_tls *ta, struct iw_tls *tb, int expected)
{
	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	assert_int_equal(iw_tls_stream_new(&a.s, ta, true, "localhost", &a.why), 0);
	assert_int_equal(iw_tls_stream_new(&b.s, tb, false, NULL, &b.why), 0);
	a.result = b.result = IW_E_AGAIN;
	shake();
	assert_int_equal(b.result, expected);
	iw_tls_stream_free(a.s);
	iw_tls_stream_free(b.s);
}

static void added_pin_applies_to_later_handshakes(void **state)
{
	struct iw_tls *user = creds((struct iw_tls_attr){ 0 });
	struct iw_tls *as_alice = creds((struct iw_tls_attr){ OWN(alice) });
	struct iw_tls *as_bob = creds((struct iw_tls_attr){ OWN(bob) });
	struct iw_tls *secretive = creds((struct iw_tls_attr){ PSK });
	uint8_t key[IW_TLS_PIN_LEN];

	(void)state;
	run_one(user, as_alice, 0);
	run_one(user, as_bob, 0);
	pin(key, &alice);
	assert_int_equal(iw_tls_creds_add_pin(user, key), 0);
	run_one(user, as_alice, 0);
	run_one(user, as_bob, IW_E_TLS);
	assert_non_null(strstr(a.why.text, "is not an expected one"));
	pin(key, &bob);
	assert_int_equal(iw_tls_creds_add_pin(user, key), 0);
	run_one(user, as_bob, 0);
	run_one(user, as_alice, 0);
	assert_int_equal(iw_tls_creds_add_pin(secretive, key), IW_E_STATE);
	iw_tls_creds_put(user);
	iw_tls_creds_put(as_alice);
	iw_tls_creds_put(as_bob);
	iw_tls_creds_put(secretive);
}

/* DDP-119 */
static void each_one_use_key_is_accepted_once(void **state)
{
	struct iw_tls *first = creds((struct iw_tls_attr){ PSK, .psk_one_use = true });
	struct iw_tls *replay = creds((struct iw_tls_attr){ PSK, .psk_one_use = true });
	struct iw_tls *listener = creds((struct iw_tls_attr){ PSK, .psk_one_use = true });
	struct iw_tls *plain = creds((struct iw_tls_attr){ PSK });

	(void)state;
	run_one(first, listener, 0);
	run_one(first, listener, 0);
	run_one(replay, listener, IW_E_TLS); /* number 0 again */
	assert_non_null(strstr(b.why.text, "already used"));
	run_one(replay, listener, IW_E_TLS); /* and 1 */
	run_one(replay, listener, 0);
	run_one(plain, listener, IW_E_TLS); /* the secret itself is not a key */
	iw_tls_creds_put(first);
	iw_tls_creds_put(replay);
	iw_tls_creds_put(listener);
	iw_tls_creds_put(plain);
}

static void one_use_keys_are_limited(void **state)
{
	struct iw_tls *t = creds((struct iw_tls_attr){ PSK, .psk_one_use = true });
	struct iw_tls_stream *s;
	struct iw_fault why;

	(void)state;
	for (int i = 0; i < IW_TLS_USES_MAX; i++) {
		assert_int_equal(iw_tls_stream_new(&s, t, true, "localhost", &why), 0);
		iw_tls_stream_free(s);
	}
	assert_int_equal(iw_tls_stream_new(&s, t, true, "localhost", &why), IW_E_LIMIT);
	iw_tls_creds_put(t);
}

/* ---------------------------------------------------------------- established sessions */

static void open_plain_session(void)
{
	begin((struct iw_tls_attr){ 0 }, (struct iw_tls_attr){ OWN(bob) }, "localhost");
	shake();
	expect_success(IW_TLS_AUTH_NONE, IW_TLS_AUTH_NONE);
}

static void close_notify_ends_the_input(void **state)
{
	uint8_t got[8];
	struct iw_vec v = { got, 3 };

	(void)state;
	open_plain_session();
	assert_int_equal(with_io(&a, &b, do_write, &v), 3);
	(void)with_io(&a, &b, do_close, NULL);
	assert_int_equal(read_some(&b, &a, got, sizeof(got)), 3);
	assert_int_equal(read_some(&b, &a, got, sizeof(got)), 0);
	/* The other direction stays open. */
	assert_int_equal(with_io(&b, &a, do_write, &v), 3);
	assert_int_equal(read_some(&a, &b, got, sizeof(got)), 3);
	end();
}

/* DDP-119 */
static void changed_record_is_refused(void **state)
{
	uint8_t got[64];
	struct iw_vec v = { got, 40 };

	(void)state;
	open_plain_session();
	assert_int_equal(with_io(&a, &b, do_write, &v), 40);
	b.in.data[20] ^= 1;
	assert_int_equal(read_some(&b, &a, got, sizeof(got)), IW_E_TLS);
	assert_non_null(strstr(b.why.text, "not authentic"));
	assert_int_equal(read_some(&b, &a, got, sizeof(got)), IW_E_TLS);
	assert_int_equal(read_some(&a, &b, got, sizeof(got)), IW_E_TLS);
	assert_non_null(strstr(a.why.text, "alert 20"));
	end();
}

static void key_update_of_both_directions_keeps_the_session(void **state)
{
	uint8_t octet = 7;
	struct iw_vec v = { &octet, 1 };

	(void)state;
	open_plain_session();
	for (int i = 0; i < 3; i++) {
		assert_int_equal(iw_tls_stream_update_key(a.s), 0);
		exchange();
		/* The update of b precedes its next record. */
		assert_int_equal(with_io(&b, &a, do_write, &v), 1);
		assert_true(a.in.len > 2 * (5 + 1 + 1 + 16));
		assert_int_equal(read_some(&a, &b, &octet, 1), 1);
		exchange();
	}
	end();
}

/* Returns the octets of a record with one octet: more if an update of the key precedes it. */
static size_t record_of_a(void)
{
	uint8_t octet = 1;
	struct iw_vec v = { &octet, 1 };
	size_t before = b.in.len;

	assert_int_equal(with_io(&a, &b, do_write, &v), 1);
	return b.in.len - before;
}

static void key_is_updated_before_its_limit(void **state)
{
	uint8_t got[16];

	(void)state;
	open_plain_session();
	iw_tls_stream_limit_key(a.s, 6);
	/* Four records were sent by exchange(): two more with this key. */
	assert_int_equal(record_of_a(), 5 + 1 + 1 + 16);
	assert_int_equal(record_of_a(), 5 + 1 + 1 + 16);
	assert_int_equal(record_of_a(), (5 + 5 + 1 + 16) + (5 + 1 + 1 + 16));
	assert_int_equal(record_of_a(), 5 + 1 + 1 + 16);
	assert_int_equal(read_some(&b, &a, got, sizeof(got)), 4);
	exchange();
	end();
}

static void write_fills_the_output_and_no_more(void **state)
{
	static uint8_t dst[40000], big[60000];
	struct iw_vec v[3] = { { big, 100 }, { big + 100, 30000 }, { big + 30100, 29900 } };

	(void)state;
	open_plain_session();
	iw_tls_stream_output(a.s, dst, sizeof(dst));
	assert_in_range(iw_tls_stream_write(a.s, v, 3, 0, &a.why), 32768, 40000);
	assert_in_range(iw_tls_stream_output(a.s, dst, 200), 32768, 40000);
	assert_int_equal(iw_tls_stream_write(a.s, v, 3, 0, &a.why), IW_E_AGAIN);
	assert_int_equal(iw_tls_stream_output(a.s, NULL, 0), 0);
	end();
}

static int make_keys(void **state)
{
	(void)state;
	keys_make_dir();
	key_make(&ca, "ca", NULL, NULL);
	key_make(&other_ca, "other", NULL, NULL);
	key_make(&alice, "alice", "DNS:alice.example", &ca);
	key_make(&carol, "carol.example", NULL, &ca);
	key_make(&bob, "bob", "DNS:bob.example,IP:192.0.2.7,IP:fe80::7", &ca);
	return 0;
}

static int free_keys(void **state)
{
	(void)state;
	key_free(&ca);
	key_free(&other_ca);
	key_free(&alice);
	key_free(&carol);
	key_free(&bob);
	keys_remove();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_certificate_is_accepted_and_its_pin_reported),
		cmocka_unit_test(pins_authenticate_both_ends),
		cmocka_unit_test(pin_that_comes_later_authenticates_nothing),
		cmocka_unit_test(an_authority_authenticates_both_ends),
		cmocka_unit_test(a_pre_shared_key_authenticates_both_ends),
		cmocka_unit_test(octets_may_arrive_one_by_one),
		cmocka_unit_test(other_pin_is_refused),
		cmocka_unit_test(unknown_authority_is_refused),
		cmocka_unit_test(other_name_is_refused),
		cmocka_unit_test(name_of_the_subject_does_not_apply),
		cmocka_unit_test(zone_of_an_address_is_ignored),
		cmocka_unit_test(certificate_in_place_of_the_key_is_refused),
		cmocka_unit_test(missing_certificate_is_refused),
		cmocka_unit_test(other_key_is_refused),
		cmocka_unit_test(certificate_at_a_listener_with_a_key_is_refused),
		cmocka_unit_test(plain_mpa_is_named),
		cmocka_unit_test(added_pin_applies_to_later_handshakes),
		cmocka_unit_test(each_one_use_key_is_accepted_once),
		cmocka_unit_test(one_use_keys_are_limited),
		cmocka_unit_test(close_notify_ends_the_input),
		cmocka_unit_test(changed_record_is_refused),
		cmocka_unit_test(key_update_of_both_directions_keeps_the_session),
		cmocka_unit_test(key_is_updated_before_its_limit),
		cmocka_unit_test(write_fills_the_output_and_no_more),
	};

	return cmocka_run_group_tests(tests, make_keys, free_keys);
}
