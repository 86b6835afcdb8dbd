// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sessions of DTLS over datagrams in memory: loss, reordering and repetition in the handshake,
 * cookies, records that are repeated or forged, keys that differ, and the end of a session.
 */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "os/os.h"
#include "tls/tls.h"
#include "util/num.h"

#define FLIGHT 64

struct datagram {
	uint8_t data[IW_DTLS_HELLO];
	size_t len;
};

struct side {
	struct iw_tls *creds;
	struct iw_dtls *s;
	struct iw_fault why;
	int result; /* of the handshake */
	struct datagram in[FLIGHT];
	unsigned queued;
};

static struct side a, b; /* a begins, b answers */
static struct iw_dtls_listener *listener;
static const uint8_t key_a[6] = { 1, 2, 10, 0, 0, 1 };
static uint8_t plain[IW_DTLS_PLAIN_MAX];
/* What the network does. */
static unsigned sent;        /* datagrams so far, of both directions */
static unsigned lose;        /* the datagram with this number is lost; 0: none */
static bool reverse, repeat; /* each flight arrives in the reverse order; each datagram twice */

static struct iw_tls *creds(const char *secret, const char *identity, bool one_use)
{
	const struct iw_tls_attr attr = { .size = sizeof(attr),
					  .psk = (const uint8_t *)secret,
					  .psk_len = strlen(secret),
					  .psk_identity = identity,
					  .psk_one_use = one_use };
	struct iw_fault why;
	struct iw_tls *t;

	if (iw_tls_creds_new(&t, &attr, &why) != 0)
		fail_msg("%s", why.text);
	return t;
}

static void begin_with(struct iw_tls *ta, struct iw_tls *tb)
{
	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	sent = lose = 0;
	reverse = repeat = false;
	a.creds = ta;
	b.creds = tb;
	if (iw_dtls_connect(&a.s, ta, NULL, &a.why) != 0)
		fail_msg("%s", a.why.text);
	if (iw_dtls_listener_new(&listener, tb, &b.why) != 0)
		fail_msg("%s", b.why.text);
	a.result = b.result = IW_E_AGAIN;
}

static void begin(void)
{
	begin_with(creds("a secret of two ends", NULL, false),
		   creds("a secret of two ends", NULL, false));
}

static void finish(void)
{
	iw_dtls_free(a.s);
	iw_dtls_free(b.s);
	iw_dtls_listener_free(listener);
	iw_tls_creds_put(a.creds);
	iw_tls_creds_put(b.creds);
}

static void deliver(struct side *to, const uint8_t *data, size_t len)
{
	unsigned at = reverse ? 0 : to->queued;

	if (++sent == lose)
		return;
	for (int i = 0; i < (repeat ? 2 : 1); i++) {
		assert_true(to->queued < FLIGHT);
		memmove(&to->in[at + 1], &to->in[at], (to->queued - at) * sizeof(to->in[0]));
		memcpy(to->in[at].data, data, len);
		to->in[at].len = len;
		to->queued++;
	}
}

static void flush(struct side *from, struct side *to)
{
	uint8_t out[IW_DTLS_HELLO];
	size_t len;

	while (from->s && (len = iw_dtls_next(from->s, out)) > 0)
		deliver(to, out, len);
}

/* b takes a datagram without a session. */
static int greet(const uint8_t *key, size_t key_len, const struct datagram *d)
{
	uint8_t reply[IW_DTLS_HELLO];
	size_t len;
	int err = iw_dtls_accept(&b.s, listener, key, key_len, d->data, d->len, reply, &len,
				 iw_os_now());

	/* RFC 6347 4.2.1: an answer without a session must not amplify. */
	assert_true(len < d->len);
	if (len > 0)
		deliver(&a, reply, len);
	return err;
}

static void take(struct side *x, const struct datagram *d)
{
	int64_t n;

	if (x == &b && !b.s) {
		(void)!greet(key_a, sizeof(key_a), d);
		return;
	}
	n = iw_dtls_input(x->s, d->data, d->len, plain, sizeof(plain), &x->why);
	if (n < 0)
		x->result = (int)n;
	else
		assert_int_equal(n, 0);
}

static void step(struct side *x, struct side *peer)
{
	struct datagram in[FLIGHT];
	unsigned n = x->queued;

	memcpy(in, x->in, n * sizeof(in[0]));
	x->queued = 0;
	for (unsigned i = 0; i < n; i++)
		take(x, &in[i]);
	if (x->s && x->result == IW_E_AGAIN)
		x->result = iw_dtls_handshake(x->s, &x->why);
	flush(x, peer);
}

/* Waits for the first timer of both ends, and handles it. */
static void wait_timer(void)
{
	uint64_t now = iw_os_now(), at = IW_TIME_NEVER;
	struct side *all[] = { &a, &b };
	struct timespec ts;

	for (int i = 0; i < 2; i++)
		if (all[i]->s && all[i]->result == IW_E_AGAIN)
			at = IW_MIN(at, iw_dtls_deadline(all[i]->s, now));
	assert_true(at < now + IW_SEC(10));
	ts.tv_sec = 0;
	for (; now < at; now = iw_os_now()) {
		ts.tv_nsec = (long)IW_MIN(at - now, IW_MSEC(50));
		nanosleep(&ts, NULL);
	}
	for (int i = 0; i < 2; i++)
		if (all[i]->s && all[i]->result == IW_E_AGAIN &&
		    iw_dtls_timeout(all[i]->s, &all[i]->why) != 0)
			all[i]->result = all[i]->why.err;
}

/* Until a has finished, and b unless it can never do so. */
static void shake(void)
{
	uint64_t until = iw_os_now() + IW_SEC(30);

	while (a.result == IW_E_AGAIN || (a.result == 0 && b.result == IW_E_AGAIN)) {
		assert_true(iw_os_now() < until);
		step(&a, &b);
		step(&b, &a);
		if (a.queued == 0 && b.queued == 0 && a.result == IW_E_AGAIN)
			wait_timer();
	}
	step(&b, &a);
	step(&a, &b);
}

static size_t seal(struct side *from, uint8_t *dst, size_t cap, const char *text)
{
	int64_t n = iw_dtls_seal(from->s, dst, cap, (const uint8_t *)text, strlen(text));

	assert_true(n > 0);
	assert_true((size_t)n <= strlen(text) + IW_DTLS_MORE);
	return (size_t)n;
}

static int64_t open_record(struct side *to, const uint8_t *data, size_t len)
{
	return iw_dtls_input(to->s, data, len, plain, sizeof(plain), &to->why);
}

static void assert_works(void)
{
	uint8_t out[200];
	struct iw_tls_info x = { 0 }, y = { 0 };
	size_t n;

	if (a.result != 0 || b.result != 0)
		fail_msg("a: %s, b: %s", a.why.text, b.why.text);
	n = seal(&a, out, sizeof(out), "from a");
	assert_int_equal(open_record(&b, out, n), 6);
	assert_memory_equal(plain, "from a", 6);
	n = seal(&b, out, sizeof(out), "and back");
	assert_int_equal(open_record(&a, out, n), 8);
	assert_true(iw_dtls_info(a.s, &x));
	assert_true(iw_dtls_info(b.s, &y));
	assert_string_equal(x.version, "DTLSv1.2");
	assert_memory_equal(x.binding, y.binding, sizeof(x.binding));
	assert_int_equal(x.auth, IW_TLS_AUTH_PSK);
}

static void up(void)
{
	begin();
	shake();
	assert_works();
}

static void handshake_finishes_and_packets_arrive(void **state)
{
	(void)state;
	up();
	finish();
}

static void each_lost_datagram_is_retransmitted(void **state)
{
	unsigned all;

	(void)state;
	up();
	all = sent;
	finish();
	assert_in_range(all, 5, 12);
	for (unsigned i = 1; i <= all; i++) {
		begin();
		lose = i;
		shake();
		assert_works();
		finish();
	}
}

static void reordered_and_repeated_flights_are_accepted(void **state)
{
	(void)state;
	for (int i = 1; i < 4; i++) {
		begin();
		reverse = i & 1;
		repeat = i & 2;
		shake();
		assert_works();
		finish();
	}
}

/* RFC 6347 4.2.1 */
static void hello_without_a_cookie_leaves_no_session(void **state)
{
	(void)state;
	begin();
	step(&a, &b);
	assert_int_equal(b.queued, 1);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(greet(key_a, sizeof(key_a), &b.in[0]), IW_E_AGAIN);
		assert_int_equal(a.queued, 1);
		a.queued = 0;
	}
	assert_null(b.s);
	finish();
}

static void cookie_of_another_address_leaves_no_session(void **state)
{
	static const uint8_t other[6] = { 1, 2, 10, 0, 0, 2 };

	(void)state;
	begin();
	step(&a, &b);
	step(&b, &a);
	step(&a, &b); /* the ClientHello with the cookie */
	assert_int_equal(b.queued, 1);
	assert_int_equal(greet(other, sizeof(other), &b.in[0]), IW_E_AGAIN);
	assert_null(b.s);
	assert_int_equal(greet(key_a, sizeof(key_a), &b.in[0]), 0);
	assert_non_null(b.s);
	finish();
}

/* RFC 6347 4.1.2.6, DDP-119 */
static void repeated_record_is_dropped(void **state)
{
	uint8_t out[3][100];
	size_t len[3];

	(void)state;
	up();
	for (int i = 0; i < 3; i++)
		len[i] = seal(&a, out[i], sizeof(out[i]), "packet");
	assert_int_equal(open_record(&b, out[2], len[2]), 6);
	assert_int_equal(open_record(&b, out[0], len[0]), 6);
	for (int i = 0; i < 3; i++)
		assert_int_equal(open_record(&b, out[i], len[i]), i == 1 ? 6 : 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(open_record(&b, out[i], len[i]), 0);
	finish();
}

/* RFC 6347 4.1.2.7, DDP-119 */
static void forged_record_is_dropped_and_the_session_continues(void **state)
{
	uint8_t out[100], bad[100];
	size_t len;

	(void)state;
	up();
	len = seal(&a, out, sizeof(out), "packet");
	for (size_t i = 0; i < len; i++) {
		memcpy(bad, out, len);
		bad[i] ^= 0x40;
		assert_int_equal(open_record(&b, bad, len), 0);
	}
	for (size_t i = 1; i < len; i++)
		assert_int_equal(open_record(&b, out, i), 0);
	assert_int_equal(open_record(&b, out, len), 6);
	finish();
}

/* RFC 6347 4.1.2.7 */
static void forged_short_record_is_dropped_and_the_session_continues(void **state)
{
	uint8_t out[100], bad[40];
	size_t len;

	(void)state;
	up();
	len = seal(&a, out, sizeof(out), "packet");
	for (uint8_t type = 20; type < 25; type++) {
		for (uint8_t n = 0; n < len - 13; n++) {
			memcpy(bad, out, sizeof(bad));
			bad[0] = type;
			bad[12] = n;
			assert_int_equal(open_record(&b, bad, sizeof(bad)), 0);
			assert_int_equal(open_record(&b, bad, 13 + n), 0);
		}
	}
	assert_int_equal(open_record(&b, out, len), 6);
	finish();
}

/* RFC 6347 4.1.2.7: nothing protects a handshake before its end, but these are never valid. */
static void unknown_record_does_not_end_a_handshake(void **state)
{
	uint8_t bad[30] = { 0, 0xfe, 0xfd, [12] = 17 };

	(void)state;
	begin();
	step(&a, &b);
	step(&b, &a);
	for (unsigned type = 0; type < 256; type++) {
		bad[0] = (uint8_t)type;
		if (type < 20 || type > 23)
			assert_int_equal(open_record(&a, bad, sizeof(bad)), 0);
	}
	shake();
	assert_works();
	finish();
}

static void records_in_one_datagram_are_returned_one_by_one(void **state)
{
	uint8_t out[200];
	size_t len;

	(void)state;
	up();
	len = seal(&a, out, sizeof(out), "one");
	len += seal(&a, out + len, sizeof(out) - len, "second");
	assert_int_equal(open_record(&b, out, len), 3);
	assert_true(iw_dtls_pending(b.s));
	assert_int_equal(open_record(&b, NULL, 0), 6);
	assert_memory_equal(plain, "second", 6);
	assert_false(iw_dtls_pending(b.s));
	finish();
}

static void another_key_is_reported_by_the_initiator(void **state)
{
	(void)state;
	begin_with(creds("a secret of two ends", NULL, false),
		   creds("the secret of a third end", NULL, false));
	shake();
	assert_int_equal(a.result, IW_E_TLS);
	assert_non_null(strstr(a.why.text, "another pre-shared key"));
	assert_int_equal(b.result, IW_E_AGAIN);
	finish();
}

static void another_identity_is_refused_by_the_responder(void **state)
{
	(void)state;
	begin_with(creds("a secret of two ends", "alice", false),
		   creds("a secret of two ends", "bob", false));
	shake();
	assert_int_equal(a.result, IW_E_TLS);
	assert_int_equal(b.result, IW_E_TLS);
	finish();
}

/* DDP-119 */
static void one_use_key_is_accepted_once(void **state)
{
	struct iw_tls *ta, *tb = creds("a secret of two ends", NULL, true);

	(void)state;
	for (int i = 0; i < 2; i++) {
		ta = creds("a secret of two ends", NULL, true); /* begins with use 0 again */
		begin_with(ta, iw_tls_creds_get(tb));
		shake();
		if (i == 0)
			assert_works();
		else
			assert_int_equal(a.result, IW_E_TLS);
		finish();
	}
	iw_tls_creds_put(tb);
}

static void close_is_reported_to_the_peer(void **state)
{
	uint8_t out[IW_DTLS_HELLO];
	size_t len;

	(void)state;
	up();
	iw_dtls_close(a.s);
	len = iw_dtls_next(a.s, out);
	assert_true(len > 0);
	assert_int_equal(open_record(&b, out, len), IW_E_CLOSED);
	assert_int_equal(iw_dtls_seal(b.s, out, sizeof(out), plain, 10), IW_E_TLS);
	finish();
}

static void key_at_its_limit_encrypts_nothing(void **state)
{
	uint8_t out[100];

	(void)state;
	up();
	iw_dtls_set_limit(a.s, 2);
	(void)seal(&a, out, sizeof(out), "one");
	(void)seal(&a, out, sizeof(out), "two");
	assert_int_equal(iw_dtls_seal(a.s, out, sizeof(out), plain, 10), IW_E_TLS);
	finish();
}

static void largest_packet_fits_a_record(void **state)
{
	static uint8_t data[IW_DTLS_PLAIN_MAX], out[IW_DTLS_PLAIN_MAX + IW_DTLS_MORE];
	int64_t n;

	(void)state;
	up();
	memset(data, 'x', sizeof(data));
	n = iw_dtls_seal(a.s, out, sizeof(out), data, sizeof(data));
	assert_in_range(n, sizeof(data) + 1, sizeof(out));
	assert_int_equal(open_record(&b, out, (size_t)n), sizeof(data));
	assert_memory_equal(plain, data, sizeof(data));
	finish();
}

/* Until b has a session, which waits for the second flight of a. */
static void half_open(void)
{
	begin();
	for (int i = 0; i < 2; i++) {
		step(&a, &b);
		step(&b, &a);
	}
	assert_non_null(b.s);
	assert_int_equal(b.result, IW_E_AGAIN);
}

/* b takes junk of a peer without a key. */
static void take_junk(const uint8_t *junk, size_t len)
{
	assert_int_equal(open_record(&b, junk, len), 0);
}

static void put_header(uint8_t *to, uint8_t type, uint8_t epoch, uint8_t seq, uint8_t len)
{
	const uint8_t hdr[13] = { type, 0xfe, 0xfd, 0, epoch, 0, 0, 0, 0, 0, seq, 0, len };

	memcpy(to, hdr, sizeof(hdr));
}

/*
 * OpenSSL keeps records of the next epoch until the handshake has finished, each in a buffer for the
 * largest record. A peer without a key can send many of them.
 */
static void early_records_take_little_memory(void **state)
{
	uint8_t junk[13 + 40] = { 0 };
	size_t before;

	(void)state;
	half_open();
	before = mallinfo2().uordblks;
	for (unsigned i = 0; i < 200; i++) {
		put_header(junk, 23, 1, (uint8_t)i, 40);
		take_junk(junk, sizeof(junk));
	}
	assert_in_range(mallinfo2().uordblks - before, 0, 500000);
	shake();
	assert_works();
	finish();
}

/*
 * The same after the peer's ChangeCipherSpec: OpenSSL keeps handshake records of the epoch after the
 * next, too.
 */
static void records_of_later_epochs_take_no_memory(void **state)
{
	uint8_t junk[13 + 40] = { 0 };
	size_t before, end = 0;

	(void)state;
	half_open();
	step(&a, &b);
	for (unsigned i = 0; i < b.queued && end == 0; i++) {
		const struct datagram *d = &b.in[i];

		for (size_t at = 0; at < d->len && end == 0;
		     at += 13 + ((size_t)d->data[at + 11] << 8 | d->data[at + 12]))
			if (d->data[at] == 20) /* ChangeCipherSpec */
				end = at + 13 + 1;
		assert_int_equal(open_record(&b, d->data, end ? end : d->len), 0);
	}
	assert_true(end > 0);
	before = mallinfo2().uordblks;
	for (unsigned i = 0; i < 100; i++) {
		put_header(junk, 22, 2, (uint8_t)i, 40);
		take_junk(junk, sizeof(junk));
	}
	assert_in_range(mallinfo2().uordblks - before, 0, 500000);
	shake();
	assert_works();
	finish();
}

/* RFC 6347 4.1.2.7: anyone can send it. OpenSSL 3.0 would end the session. */
static void record_without_room_for_its_tag_is_dropped(void **state)
{
	uint8_t junk[2 * 13 + 40], out[200];

	(void)state;
	for (unsigned i = 0; i < 40; i++) {
		half_open();
		memset(junk, 0, sizeof(junk));
		put_header(junk, 23, 1, 50, (uint8_t)i);
		take_junk(junk, 13 + i);
		shake();
		assert_works();
		/* After a record that is authentic, in the same datagram. */
		put_header(junk, 23, 1, 60, (uint8_t)i);
		take_junk(junk, 13 + i);
		take_junk(junk, 7);
		assert_works();
		finish();
	}
	up();
	memset(out, 0, sizeof(out));
	for (uint8_t i = 0; i < 40; i++) {
		size_t n = seal(&a, out, sizeof(out), "from a");

		put_header(out + n, 23, 1, 100, i);
		assert_int_equal(open_record(&b, out, n + 13 + i), 6);
		if (iw_dtls_pending(b.s))
			assert_int_equal(iw_dtls_input(b.s, NULL, 0, plain, sizeof(plain), &b.why),
					 0);
		assert_works();
	}
	finish();
}

/* OpenSSL allocates a message when it receives the first of its fragments. */
static void fragments_take_little_memory(void **state)
{
	/* A Certificate of 100,000 octets, of which one octet arrives. */
	uint8_t junk[13 + 13] = { [13] = 11, [14] = 1, [15] = 0x86, [16] = 0xa0, [24] = 1 };
	size_t before;

	(void)state;
	half_open();
	before = mallinfo2().uordblks;
	for (uint8_t i = 0; i < 10; i++) {
		put_header(junk, 22, 0, (uint8_t)(100 + i), 13);
		junk[18] = (uint8_t)(3 + i); /* the number of the message */
		if (open_record(&b, junk, sizeof(junk)) < 0)
			break;
	}
	assert_in_range(mallinfo2().uordblks - before, 0, 400000);
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(handshake_finishes_and_packets_arrive),
		cmocka_unit_test(each_lost_datagram_is_retransmitted),
		cmocka_unit_test(reordered_and_repeated_flights_are_accepted),
		cmocka_unit_test(hello_without_a_cookie_leaves_no_session),
		cmocka_unit_test(cookie_of_another_address_leaves_no_session),
		cmocka_unit_test(repeated_record_is_dropped),
		cmocka_unit_test(forged_record_is_dropped_and_the_session_continues),
		cmocka_unit_test(forged_short_record_is_dropped_and_the_session_continues),
		cmocka_unit_test(unknown_record_does_not_end_a_handshake),
		cmocka_unit_test(records_in_one_datagram_are_returned_one_by_one),
		cmocka_unit_test(another_key_is_reported_by_the_initiator),
		cmocka_unit_test(another_identity_is_refused_by_the_responder),
		cmocka_unit_test(one_use_key_is_accepted_once),
		cmocka_unit_test(close_is_reported_to_the_peer),
		cmocka_unit_test(key_at_its_limit_encrypts_nothing),
		cmocka_unit_test(largest_packet_fits_a_record),
		cmocka_unit_test(early_records_take_little_memory),
		cmocka_unit_test(records_of_later_epochs_take_no_memory),
		cmocka_unit_test(record_without_room_for_its_tag_is_dropped),
		cmocka_unit_test(fragments_take_little_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
