// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Buffers and peers as text, tables, assignments, URIs and JSON. */
#include "stag-reg/print.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/human.h"
#include "cli/text.h"
#include "stag-reg/uri.h"
#include "util/num.h"
#include "util/text.h"

/* --- texts --- */

/* The contents of an Advertisement. */
struct advert {
	char endpoint[300]; /* HOST:PORT */
	char key[2 * IW_CLAIM_KEY_LEN + 1];
	char uri[IW_URI_TEXT];
};

/* True for "any address", to which no peer can connect. */
static bool is_any(const char *host)
{
	return strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
}

static void make_advert(struct advert *a, const struct iw_manager_print *p,
			const struct iw_manager_buffer *b)
{
	struct iw_uri u = { .port = b->port,
			    .stag = b->stag,
			    .to = b->to,
			    .len = b->len,
			    .access = b->access,
			    .key = b->key };
	bool v6;

	*a = (struct advert){ 0 };
	snprintf(u.transport, sizeof(u.transport), "%s", b->transport);
	if (p->host)
		snprintf(u.host, sizeof(u.host), "%s", p->host);
	else if (!is_any(b->host) || gethostname(u.host, sizeof(u.host)) < 0)
		snprintf(u.host, sizeof(u.host), "%s", b->host);
	u.host[sizeof(u.host) - 1] = '\0';
	v6 = strchr(u.host, ':') != NULL;
	snprintf(a->endpoint, sizeof(a->endpoint), "%s%s%s:%u", v6 ? "[" : "", u.host,
		 v6 ? "]" : "", (unsigned)u.port);
	for (size_t i = 0; b->key.set && i < IW_CLAIM_KEY_LEN; i++)
		snprintf(a->key + 2 * i, 3, "%02x", b->key.octets[i]);
	iw_uri_format(a->uri, &u);
}

static const char *what_text(const struct iw_manager_buffer *b)
{
	return b->memory ? "new memory" : b->label[0] ? b->label : "a file";
}

static const char *life_text(char buf[static IW_HUMAN_TEXT], uint64_t left_ms)
{
	return left_ms == UINT64_MAX ? "" : iw_human_time(buf, IW_MSEC(left_ms));
}

/* Prints a line with text from outside, made harmless for the terminal. */
static void print_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void print_line(const char *fmt, ...)
{
	char raw[1024], line[4 * sizeof(raw)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	iw_printable(line, sizeof(line), raw, strlen(raw), true);
	puts(line);
}

static int write_table(struct iw_table *t, struct iw_fault *why)
{
	int err = iw_table_write(t, stdout, 0);

	iw_table_fini(t);
	return err ? iw_fail(why, err, "no memory for the table") : 0;
}

/* --- JSON --- */

static int end_line(struct iw_json *w, struct iw_fault *why)
{
	return iw_json_end(w) == 0 ? 0
				   : iw_fail(why, IW_E_CLOSED, "cannot write to standard output");
}

static void put_stag(struct iw_json *w, uint32_t stag)
{
	char text[9];

	snprintf(text, sizeof(text), "%08x", stag);
	iw_json_str(w, "stag", text);
}

static void put_tally(struct iw_json *w, const struct iw_tally *t)
{
	iw_json_u64(w, "writes", t->writes);
	iw_json_u64(w, "write_octets", t->write_octets);
	iw_json_u64(w, "reads", t->reads);
	iw_json_u64(w, "read_octets", t->read_octets);
}

static int buffer_json(const struct iw_manager_print *p, const struct iw_manager_buffer *b,
		       bool advert, struct iw_fault *why)
{
	struct iw_json *w = p->json;
	struct advert a;

	make_advert(&a, p, b);
	iw_json_begin(w, "buffer");
	put_stag(w, b->stag);
	iw_json_hex(w, "to", b->to);
	iw_json_u64(w, "length_octets", b->len);
	iw_json_str(w, "access", iw_access_text(b->access));
	iw_json_str(w, "endpoint", a.endpoint);
	iw_json_str(w, "transport", b->transport);
	iw_json_str(w, "kind", b->memory ? "memory" : "file");
	if (!b->memory)
		iw_json_str(w, "file", b->label);
	if (b->domain[0])
		iw_json_str(w, "pd", b->domain);
	if (b->stream)
		iw_json_u64(w, "stream", b->stream);
	if (b->left_ms != UINT64_MAX)
		iw_json_u64(w, "left_ns", IW_MSEC(b->left_ms));
	if (b->uses)
		iw_json_u64(w, "uses", b->uses);
	iw_json_bool(w, "needs_key", !b->open);
	if (advert && b->key.set)
		iw_json_str(w, "key", a.key);
	if (advert)
		iw_json_str(w, "uri", a.uri);
	put_tally(w, &b->tally);
	return end_line(w, why);
}

static void put_peer(struct iw_json *w, const struct iw_manager_peer *peer)
{
	iw_json_str(w, "peer", peer->addr);
	iw_json_u64(w, "stream", peer->stream);
	iw_json_bool(w, "ended", peer->ended);
	if (peer->ended)
		iw_json_str(w, "text", peer->why);
}

static int peer_json(struct iw_json *w, const struct iw_manager_peer *peer, struct iw_fault *why)
{
	iw_json_begin(w, "peer");
	put_peer(w, peer);
	iw_json_u64(w, "age_ns", IW_MSEC(peer->age_ms));
	put_tally(w, &peer->tally);
	return end_line(w, why);
}

int iw_manager_print_result(const struct iw_manager_print *p, const char *key, uint64_t n,
			    struct iw_fault *why)
{
	if (!p->json) {
		printf("%s %" PRIu64 "\n", key, n);
		return 0;
	}
	iw_json_begin(p->json, "result");
	iw_json_u64(p->json, key, n);
	return end_line(p->json, why);
}

/* --- an Advertisement --- */

/*
 * No value can have an apostrophe: stag-reg/msg.h has validated the host and the transport, or the
 * host is an address or the name of this host.
 */
static void write_shell(const struct advert *a, const struct iw_manager_buffer *b)
{
	printf("IW_STAG='%08x'\nIW_TO='%" PRIu64 "'\nIW_LEN='%" PRIu64 "'\nIW_ACCESS='%s'\n",
	       b->stag, b->to, b->len, iw_access_text(b->access));
	printf("IW_ENDPOINT='%s'\nIW_TRANSPORT='%s'\n", a->endpoint, b->transport);
	printf("IW_KEY='%s'\nIW_URI='%s'\n", a->key, a->uri);
}

static void add_row(struct iw_table *t, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void add_row(struct iw_table *t, const char *name, const char *fmt, ...)
{
	char text[IW_URI_TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	iw_table_add(t, name);
	iw_table_add(t, text);
}

static int write_text(const struct advert *a, const struct iw_manager_buffer *b,
		      struct iw_fault *why)
{
	char size[IW_HUMAN_TEXT], left[IW_HUMAN_TEXT];
	struct iw_table t;

	iw_table_init(&t, "ll");
	add_row(&t, "STag", "%08x", b->stag);
	add_row(&t, "TO", "%" PRIu64, b->to);
	add_row(&t, "length", "%" PRIu64 " (%s)", b->len, iw_human_size(size, b->len));
	add_row(&t, "access", "%s", iw_access_text(b->access));
	add_row(&t, "endpoint", "%s, %s", a->endpoint, b->transport);
	add_row(&t, "source", "%s", what_text(b));
	if (b->domain[0])
		add_row(&t, "PD", "%s", b->domain);
	if (b->stream)
		add_row(&t, "stream", "%u", b->stream);
	if (b->left_ms != UINT64_MAX)
		add_row(&t, "expires in", "%s", life_text(left, b->left_ms));
	if (b->uses)
		add_row(&t, "uses", "%" PRIu64 " of %u", b->tally.writes + b->tally.reads, b->uses);
	add_row(&t, "URI", "%s", a->uri);
	return write_table(&t, why);
}

int iw_manager_print_advert(const struct iw_manager_print *p, const struct iw_manager_buffer *b,
			    struct iw_fault *why)
{
	struct advert a;

	if (p->json)
		return buffer_json(p, b, true, why);
	make_advert(&a, p, b);
	switch (p->form) {
	case IW_MANAGER_FORM_TEXT:
		return write_text(&a, b, why);
	case IW_MANAGER_FORM_SHELL:
		write_shell(&a, b);
		return 0;
	case IW_MANAGER_FORM_URI:
		puts(a.uri);
		return 0;
	}
	return 0;
}

/* --- lists --- */

static void add_heads(struct iw_table *t, const char *const *heads, size_t n)
{
	for (size_t i = 0; i < n; i++)
		iw_table_add(t, heads[i]);
}

static void begin_table(struct iw_table *t, enum iw_manager_kind kind)
{
	static const char *const of_buffers[] = { "STag", "access",     "length", "written",
						  "read", "expires in", "PD",     "source" };
	static const char *const of_peers[] = { "stream", "peer", "writes", "written",
						"reads",  "read", "state" };

	if (kind == IW_MANAGER_BUFFER) {
		iw_table_init(t, "llrrrlll");
		add_heads(t, of_buffers, IW_ARRAY_LEN(of_buffers));
	} else {
		iw_table_init(t, "rlrrrrl");
		add_heads(t, of_peers, IW_ARRAY_LEN(of_peers));
	}
}

static void buffer_row(struct iw_table *t, const struct iw_manager_buffer *b)
{
	char size[IW_HUMAN_TEXT], in[IW_HUMAN_TEXT], out[IW_HUMAN_TEXT], left[IW_HUMAN_TEXT];
	char scope[18];

	snprintf(scope, sizeof(scope), "stream %u", b->stream);
	iw_table_addf(t, "%08x", b->stag);
	iw_table_add(t, iw_access_text(b->access));
	iw_table_add(t, iw_human_size(size, b->len));
	iw_table_add(t, iw_human_size(in, b->tally.write_octets));
	iw_table_add(t, iw_human_size(out, b->tally.read_octets));
	iw_table_add(t, life_text(left, b->left_ms));
	iw_table_add(t, b->stream ? scope : b->domain);
	iw_table_add(t, what_text(b));
}

static void peer_row(struct iw_table *t, const struct iw_manager_peer *p)
{
	char in[IW_HUMAN_TEXT], out[IW_HUMAN_TEXT];

	iw_table_addf(t, "%u", p->stream);
	iw_table_add(t, p->addr);
	iw_table_addf(t, "%" PRIu64, p->tally.writes);
	iw_table_add(t, iw_human_size(in, p->tally.write_octets));
	iw_table_addf(t, "%" PRIu64, p->tally.reads);
	iw_table_add(t, iw_human_size(out, p->tally.read_octets));
	iw_table_addf(t, "%s%s%s", p->ended ? "ended" : "connected", p->why[0] ? ": " : "", p->why);
}

int iw_manager_list_add(struct iw_manager_list *l, const struct iw_manager_reply *r,
			struct iw_fault *why)
{
	bool peer = r->kind == IW_MANAGER_PEER;

	if (l->p->json)
		return peer ? peer_json(l->p->json, &r->peer, why)
			    : buffer_json(l->p, &r->buffer, false, why);
	if (l->rows++ == 0) {
		l->kind = r->kind;
		begin_table(&l->t, r->kind);
	}
	if (peer)
		peer_row(&l->t, &r->peer);
	else
		buffer_row(&l->t, &r->buffer);
	return 0;
}

int iw_manager_list_end(struct iw_manager_list *l, int failed, struct iw_fault *why)
{
	if (l->rows == 0)
		return failed;
	if (failed) {
		iw_table_fini(&l->t);
		return failed;
	}
	if (l->kind == IW_MANAGER_PEER)
		putchar('\n');
	return write_table(&l->t, why);
}

/* --- events of watch --- */

int iw_manager_print_registered(const struct iw_manager_print *p, const struct iw_manager_buffer *b,
				struct iw_fault *why)
{
	char size[IW_HUMAN_TEXT];

	if (p->json)
		return buffer_json(p, b, false, why);
	print_line("%08x  registered: %s, %s of %s", b->stag, iw_access_text(b->access),
		   iw_human_size(size, b->len), what_text(b));
	return 0;
}

int iw_manager_print_gone(const struct iw_manager_print *p, uint32_t stag, struct iw_fault *why)
{
	if (!p->json) {
		printf("%08x  gone\n", stag);
		return 0;
	}
	iw_json_begin(p->json, "gone");
	put_stag(p->json, stag);
	return end_line(p->json, why);
}

static int interval_json(struct iw_json *w, uint32_t stag, const struct iw_manager_peer *peer,
			 const struct iw_tally *fresh, uint64_t interval_ns, struct iw_fault *why)
{
	iw_json_begin(w, "interval");
	put_stag(w, stag);
	put_peer(w, peer);
	put_tally(w, &peer->tally);
	iw_json_u64(w, "new_write_octets", fresh->write_octets);
	iw_json_u64(w, "new_read_octets", fresh->read_octets);
	iw_json_u64(w, "interval_ns", interval_ns);
	return end_line(w, why);
}

int iw_manager_print_interval(const struct iw_manager_print *p, uint32_t stag,
			      const struct iw_manager_peer *peer, const struct iw_tally *fresh,
			      uint64_t interval_ns, struct iw_fault *why)
{
	char in[IW_HUMAN_TEXT], out[IW_HUMAN_TEXT], in_rate[IW_HUMAN_TEXT], out_rate[IW_HUMAN_TEXT];
	const struct iw_tally *t = &peer->tally;

	if (p->json)
		return interval_json(p->json, stag, peer, fresh, interval_ns, why);
	print_line("%08x  %-21s  written %s in %" PRIu64 " (%s)  read %s in %" PRIu64 " (%s)%s%s%s",
		   stag, peer->addr, iw_human_size(in, t->write_octets), t->writes,
		   iw_human_rate(in_rate, iw_bits_per_second(fresh->write_octets, interval_ns)),
		   iw_human_size(out, t->read_octets), t->reads,
		   iw_human_rate(out_rate, iw_bits_per_second(fresh->read_octets, interval_ns)),
		   peer->ended ? "  ended" : "", peer->why[0] ? ": " : "", peer->why);
	return 0;
}
