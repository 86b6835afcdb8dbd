// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sessions of TLS. The first octet selects the credentials, and how the rest is used: as octets that
 * one end receives in place of those of a peer (after its own ClientHello), or as changes to a real
 * conversation: handshake, data in both directions, and the end.
 *
 * For any input: an end reads only what the other end has written, in order; a session that has
 * failed does nothing more; both ends agree on the channel binding.
 */
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tls/tls.h"
#include "util/num.h"

#include "fuzz/input.h"

enum { CLIENT = 1, RAW = 2, KEY = 4, ONE_USE = 8, AUTHENTICATED = 16 };
enum { PIPE = 64 * 1024, DATA = 3000, TURNS = 200, CHANGES = 32 };

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x))                                                                          \
			abort();                                                                   \
	} while (0)

struct change {
	uint16_t at;
	uint8_t how, value;
};

struct end {
	struct iw_tls_stream *s;
	uint8_t in[PIPE]; /* octets for it */
	size_t in_len;
	size_t passed; /* octets that it has received, changes included */
	struct change change[CHANGES];
	unsigned nchanges;
	uint8_t got[2 * DATA];
	size_t got_len, put_len;
	bool up, over;
};

static char cert_file[32], key_file[32];
static struct iw_tls *cert_creds, *open_creds, *ca_creds, *key_creds;
static uint8_t data[DATA];

/* --- credentials: made once, in files in memory ----------------------------------------------- */

static FILE *memory_file(char path[32])
{
	int fd = memfd_create("key", 0);
	FILE *f = fdopen(fd, "w");

	CHECK(f);
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return f; /* stays open, because its path needs it */
}

static void make_certificate(void)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *x = X509_new();
	X509_NAME *name;
	FILE *f;

	CHECK(key && x);
	name = X509_get_subject_name(x);
	X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"fuzz", -1, -1,
				   0);
	X509_set_version(x, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
	X509_gmtime_adj(X509_getm_notBefore(x), -3600);
	X509_gmtime_adj(X509_getm_notAfter(x), 3600L * 24 * 30);
	X509_set_pubkey(x, key);
	X509_set_issuer_name(x, name);
	CHECK(X509_sign(x, key, EVP_sha256()) > 0);
	f = memory_file(cert_file);
	CHECK(PEM_write_X509(f, x) == 1 && fflush(f) == 0);
	f = memory_file(key_file);
	CHECK(PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL) == 1 && fflush(f) == 0);
	X509_free(x);
	EVP_PKEY_free(key);
}

static struct iw_tls *creds(struct iw_tls_attr attr)
{
	struct iw_tls *t;

	attr.size = sizeof(attr);
	CHECK(iw_tls_creds_new(&t, &attr, NULL) == 0);
	return t;
}

static void prepare(void)
{
	if (cert_creds)
		return;
	make_certificate();
	for (size_t i = 0; i < DATA; i++)
		data[i] = (uint8_t)(i * 11 + i / 256);
	cert_creds = creds((struct iw_tls_attr){ .cert_file = cert_file, .key_file = key_file });
	ca_creds = creds((struct iw_tls_attr){
		.cert_file = cert_file, .key_file = key_file, .ca_file = cert_file });
	open_creds = creds((struct iw_tls_attr){ 0 });
	key_creds = creds((struct iw_tls_attr){ .psk = data, .psk_len = 32 });
}

/* Returns new credentials, which the caller releases. */
static struct iw_tls *pick(uint8_t how, bool initiator)
{
	if (how & KEY)
		return how & ONE_USE ? creds((struct iw_tls_attr){
					       .psk = data, .psk_len = 32, .psk_one_use = true })
				     : iw_tls_creds_get(key_creds);
	if (how & AUTHENTICATED)
		return iw_tls_creds_get(initiator ? cert_creds : ca_creds);
	return iw_tls_creds_get(initiator ? open_creds : cert_creds);
}

/* --- one end ---------------------------------------------------------------------------------- */

static void begin(struct end *e, uint8_t how, bool initiator)
{
	struct iw_tls *t = pick(how, initiator);

	CHECK(iw_tls_stream_new(&e->s, t, initiator, "fuzz", NULL) == 0);
	iw_tls_creds_put(t);
}

/* Applies the changes whose place in the stream is in the new octets at p. */
static void change(struct end *e, uint8_t *p, size_t len)
{
	for (unsigned i = 0; i < e->nchanges; i++) {
		const struct change *c = &e->change[i];

		if (c->at < e->passed || c->at >= e->passed + len)
			continue;
		if (c->how & 1)
			p[c->at - e->passed] ^= c->value;
		else
			p[c->at - e->passed] = c->value;
	}
	e->passed += len;
}

static void read_all(struct end *e, const struct end *peer)
{
	uint8_t *dst = e->got + e->got_len;
	struct iw_vec v[2] = { { dst, 7 }, { dst + 7, sizeof(e->got) - e->got_len - 7 } };
	int64_t n = iw_tls_stream_read(e->s, v, 2, 0, NULL);

	CHECK(n >= 0 || n == IW_E_AGAIN || n == IW_E_TLS);
	if (n > 0) {
		CHECK(e->got_len + (size_t)n <= peer->put_len);
		CHECK(memcmp(e->got, data, e->got_len + (size_t)n) == 0);
		e->got_len += (size_t)n;
	} else if (n != IW_E_AGAIN) {
		e->over = true;
	}
}

static void write_some(struct end *e)
{
	struct iw_vec v = { data, DATA };
	int64_t n;

	if (e->put_len == DATA) {
		iw_tls_stream_close(e->s);
		return;
	}
	n = iw_tls_stream_write(e->s, &v, 1, e->put_len, NULL);
	CHECK(n > 0 || n == IW_E_AGAIN || n == IW_E_TLS);
	e->put_len += n > 0 ? (size_t)n : 0;
}

static void step(struct end *e, struct end *peer, size_t give)
{
	size_t n = IW_MIN(give, e->in_len), put, taken;
	int err = 0;

	iw_tls_stream_input(e->s, e->in, n);
	iw_tls_stream_output(e->s, peer->in + peer->in_len, PIPE - peer->in_len);
	if (!e->up) {
		err = iw_tls_stream_handshake(e->s, NULL);
		CHECK(err == 0 || err == IW_E_AGAIN || err == IW_E_TLS);
		e->up = err == 0;
		e->over |= err == IW_E_TLS;
	}
	if (e->up && !e->over) {
		read_all(e, peer);
		write_some(e);
	}
	put = iw_tls_stream_output(e->s, NULL, 0);
	change(peer, peer->in + peer->in_len, put);
	peer->in_len += put;
	taken = iw_tls_stream_taken(e->s);
	CHECK(taken <= n);
	e->in_len -= taken;
	memmove(e->in, e->in + taken, e->in_len);
	if (e->over)
		CHECK(iw_tls_stream_read(e->s, &(struct iw_vec){ e->got, 1 }, 1, 0, NULL) <= 0);
}

/* --- the two uses ----------------------------------------------------------------------------- */

static void raw(struct input *in, uint8_t how)
{
	static struct end e, nobody;

	memset(&e, 0, sizeof(e));
	memset(&nobody, 0, sizeof(nobody));
	begin(&e, how, how & CLIENT);
	step(&e, &nobody, 0);
	while (in->len && !e.over) {
		size_t n = 1 + (size_t)u8(in) * 16;
		const uint8_t *p = take(in, &n);

		n = IW_MIN(n, PIPE - e.in_len);
		memcpy(e.in + e.in_len, p, n);
		e.in_len += n;
		nobody.in_len = 0;
		step(&e, &nobody, e.in_len);
	}
	CHECK(!e.up);
	iw_tls_stream_free(e.s);
}

static void take_changes(struct input *in, struct end *a, struct end *b)
{
	while (in->len >= 4) {
		uint8_t how = u8(in);
		struct end *e = how & 2 ? a : b;
		struct change c = { .how = how };

		c.at = u16(in);
		c.value = u8(in);
		if (e->nchanges < CHANGES)
			e->change[e->nchanges++] = c;
	}
}

static void conversation(struct input *in, uint8_t how)
{
	static struct end a, b;
	size_t portion = 1 + (size_t)u8(in) * 32;
	struct iw_tls_info x, y;

	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	take_changes(in, &a, &b);
	begin(&a, how, true);
	begin(&b, how, false);
	for (int i = 0; i < TURNS * (portion < 64 ? 64 : 1) && !(a.over && b.over); i++) {
		if (!a.over)
			step(&a, &b, portion);
		if (!b.over)
			step(&b, &a, portion);
		if (i > 4 && !a.in_len && !b.in_len)
			break;
	}
	if (iw_tls_stream_info(a.s, &x) && iw_tls_stream_info(b.s, &y))
		CHECK(memcmp(x.binding, y.binding, sizeof(x.binding)) == 0);
	iw_tls_stream_free(a.s);
	iw_tls_stream_free(b.s);
}

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len)
{
	struct input in = { octets, len };
	uint8_t how = u8(&in);

	prepare();
	if (how & RAW)
		raw(&in, how);
	else
		conversation(&in, how);
	return 0;
}
