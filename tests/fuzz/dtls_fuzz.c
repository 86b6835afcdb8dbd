// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * DTLS between an initiator and a listener. The input decides what happens to each datagram: it
 * arrives, is lost, repeated, changed in one octet or cut, or arbitrary octets arrive in its place.
 * A session never begins without a cookie. An established session never fails, because it drops
 * records that are not authentic. Each packet that arrives was sent by the other end.
 */
#include <string.h>

#include "fuzz/input.h"
#include "fuzz/property.h"
#include "tls/tls.h"

#define STEPS_MAX 64

struct side {
	struct iw_dtls *s;
	bool up, failed;
	uint8_t in[IW_DTLS_HELLO + 64]; /* the datagram that arrives next */
	size_t len;
};

static struct iw_tls *creds;
static struct iw_dtls_listener *listener;
static struct side a, b; /* a begins, b answers */
static uint8_t plain[IW_DTLS_PLAIN_MAX];
static bool cookie_sent; /* a has sent a ClientHello after a HelloVerifyRequest */
static const uint8_t packet[] = "the packet";

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const struct iw_tls_attr attr = { .size = sizeof(attr),
					  .psk = (const uint8_t *)"a secret of two ends",
					  .psk_len = 20 };
	struct iw_fault why;

	(void)argc;
	(void)argv;
	must(iw_tls_creds_new(&creds, &attr, &why) == 0);
	must(iw_dtls_listener_new(&listener, creds, &why) == 0);
	return 0;
}

static void greet(const uint8_t *data, size_t len)
{
	static const uint8_t key[6] = { 1, 2, 3, 4, 5, 6 };
	uint8_t reply[IW_DTLS_HELLO];
	size_t n;
	int err = iw_dtls_accept(&b.s, listener, key, sizeof(key), data, len, reply, &n, 1);

	must((err == 0) == (b.s != NULL));
	must(!b.s || cookie_sent);
	must(n <= sizeof(reply) && n < len + 1);
	if (n > 0) {
		memcpy(a.in, reply, n);
		a.len = n;
	}
}

static void arrive(struct side *to, const uint8_t *data, size_t len)
{
	struct iw_fault why;
	int64_t n = 0;

	if (!to->s) {
		greet(data, len);
		return;
	}
	if (to->failed)
		return;
	do {
		n = iw_dtls_input(to->s, data, len, plain, sizeof(plain), &why);
		len = 0;
		must(n <= 0 || (n == sizeof(packet) && memcmp(plain, packet, (size_t)n) == 0));
	} while (n > 0 && iw_dtls_pending(to->s));
	to->failed = n < 0;
	must(!to->up || !to->failed);
}

/* Delivers what waits for to, as the input says. */
static void deliver(struct side *to, struct input *in)
{
	uint8_t what = u8(in);
	size_t len = to->len, junk = u8(in);
	uint16_t at = u16(in);
	const uint8_t *octets;

	to->len = 0;
	switch (what % 8) {
	case 0: /* lost */
		return;
	case 1:
		arrive(to, to->in, len);
		break;
	case 2:
		if (len > 0)
			to->in[at % len] ^= (uint8_t)(junk | 1);
		break;
	case 3:
		len = len ? at % len : 0;
		break;
	case 4: /* a real header, and then octets of the input */
		at = 13;
		octets = take(in, &junk);
		memcpy(to->in + at, octets, junk);
		len = at + junk;
		break;
	case 5:
		octets = take(in, &junk);
		memcpy(to->in, octets, junk);
		len = junk;
		break;
	default:
		break;
	}
	if (len > 0)
		arrive(to, to->in, len);
}

static void step(struct side *x, struct side *peer, struct input *in)
{
	uint8_t out[IW_DTLS_HELLO];
	struct iw_fault why;
	size_t n;
	int err;

	deliver(x, in);
	if (!x->s || x->failed)
		return;
	err = iw_dtls_handshake(x->s, &why);
	x->failed = err && err != IW_E_AGAIN;
	x->up = !err;
	while ((n = iw_dtls_next(x->s, out)) > 0) {
		/* Before the next one of a flight, this one arrives. */
		if (peer->len > 0)
			deliver(peer, in);
		memcpy(peer->in, out, n);
		peer->len = n;
		/* The second record of the initiator is the ClientHello with the cookie. */
		cookie_sent |= x == &a && n > 14 && out[10] != 0;
	}
	if (!err && peer->len == 0) {
		int64_t len =
			iw_dtls_seal(x->s, peer->in, sizeof(peer->in), packet, sizeof(packet));

		must(len <= (int64_t)sizeof(packet) + IW_DTLS_MORE);
		peer->len = len > 0 ? (size_t)len : 0;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct iw_fault why;

	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	cookie_sent = false;
	must(iw_dtls_connect(&a.s, creds, NULL, &why) == 0);
	for (int i = 0; i < STEPS_MAX && in.len > 0; i++) {
		step(&a, &b, &in);
		step(&b, &a, &in);
	}
	iw_dtls_free(a.s);
	iw_dtls_free(b.s);
	return 0;
}
