// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Events as lines of JSON, by tables that are generated from the list of events. */
#include "trace/trace.h"

#include <string.h>

#include "os/os.h"
#include "util/num.h"

/*
 * 2^53 - 1, the largest integer that programs read exactly if they store numbers as doubles
 * (RFC 8259 6). The monotonic clock exceeds it after 104 days, and is written modulo 2^53.
 */
#define NUMBER_MAX UINT64_C(9007199254740991)

enum type { U64, HEX, HEX32, BOOL, STR };

struct field {
	const char *name;
	const char *key; /* ,"name": */
	size_t key_len;
	enum type type;
	size_t offset;
};

#define BEGIN(ev) static const struct field ev##_fields[] = {
#define FIELD(ev, type, field)                                                                     \
	{ #field, ",\"" #field "\":", sizeof(",\"" #field "\":") - 1, type,                        \
	  offsetof(struct iw_trace_event, ev.field) },
#define END(ev)                                                                                    \
	}                                                                                          \
	;
#include "util/events.def"
#undef BEGIN
#undef FIELD
#undef END

static const struct {
	const char *name;
	const struct field *fields;
	size_t n;
} kinds[] = {
#define BEGIN(ev) [IW_TRACE_##ev] = { #ev, ev##_fields, IW_ARRAY_LEN(ev##_fields) },
#define FIELD(ev, type, field)
#define END(ev)
#include "util/events.def"
#undef BEGIN
#undef FIELD
#undef END
};

/*
 * A line to which whole pieces are appended; a piece that does not fit changes nothing. tail: bytes
 * that are reserved for the end of the line.
 */
struct line {
	char *buf;
	size_t cap, len, tail;
};

static bool put_octets(struct line *l, const char *s, size_t len)
{
	if (len + l->tail >= l->cap - l->len)
		return false;
	memcpy(l->buf + l->len, s, len);
	l->len += len;
	return true;
}

static bool put_str(struct line *l, const char *s)
{
	return put_octets(l, s, strlen(s));
}

/* Not by printf, which is several times slower: most of a trace is numbers. */
static bool put_number(struct line *l, uint64_t v)
{
	char text[20];
	size_t at = sizeof(text);

	do
		text[--at] = (char)('0' + v % 10);
	while (v /= 10);
	return put_octets(l, text + at, sizeof(text) - at);
}

static bool put_hex(struct line *l, uint64_t v, size_t digits)
{
	char text[16];

	for (size_t at = digits; at-- > 0; v >>= 4)
		text[at] = "0123456789abcdef"[v & 15];
	return put_octets(l, text, digits);
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/*
 * RFC 8259 7: quotation mark, reverse solidus and control characters are escaped. Octets that are
 * not ASCII are escaped too, so that the line is valid even if the text is not UTF-8.
 */
static bool put_quoted(struct line *l, const char *s)
{
	bool fits = put_str(l, "\"");

	while (*s && fits) {
		size_t n = 0;

		while (is_plain((unsigned char)s[n]))
			n++;
		fits = put_octets(l, s, n);
		s += n;
		if (!*s || !fits)
			break;
		if (*s == '"' || *s == '\\')
			fits = put_str(l, "\\") && put_octets(l, s, 1);
		else
			fits = put_str(l, "\\u00") && put_hex(l, (unsigned char)*s, 2);
		s++;
	}
	return fits && put_str(l, "\"");
}

static uint64_t number_at(const struct iw_trace_event *ev, const struct field *f)
{
	return *(const uint64_t *)(const void *)((const char *)ev + f->offset);
}

static bool bool_at(const struct iw_trace_event *ev, const struct field *f)
{
	return *(const bool *)(const void *)((const char *)ev + f->offset);
}

static const char *text_at(const struct iw_trace_event *ev, const struct field *f)
{
	return *(const char *const *)(const void *)((const char *)ev + f->offset);
}

static bool json_value(struct line *l, const struct iw_trace_event *ev, const struct field *f)
{
	switch (f->type) {
	case U64:
		return put_number(l, IW_MIN(number_at(ev, f), NUMBER_MAX));
	case HEX:
		return put_str(l, "\"0x") && put_hex(l, number_at(ev, f), 16) && put_str(l, "\"");
	case HEX32:
		return put_str(l, "\"") && put_hex(l, number_at(ev, f), 8) && put_str(l, "\"");
	case BOOL:
		return put_str(l, bool_at(ev, f) ? "true" : "false");
	case STR:
		return put_quoted(l, text_at(ev, f));
	}
	return false;
}

static bool put_head(struct line *l, const struct iw_trace_event *ev)
{
	return put_str(l, "{\"schema\":1,\"event\":\"") && put_str(l, kinds[ev->kind].name) &&
	       put_str(l, "\",\"t_ns\":") && put_number(l, ev->now & NUMBER_MAX) &&
	       put_str(l, ",\"time_ns\":\"") && put_number(l, ev->wall) &&
	       put_str(l, "\",\"stream\":") && put_number(l, ev->stream);
}

size_t iw_trace_json(char *buf, size_t cap, const struct iw_trace_event *ev)
{
	struct line l = { .buf = buf, .cap = cap, .tail = 1 };

	buf[0] = '\0';
	if (!put_head(&l, ev)) {
		buf[0] = '\0';
		return 0;
	}
	for (size_t i = 0; i < kinds[ev->kind].n; i++) {
		const struct field *f = &kinds[ev->kind].fields[i];
		size_t before = l.len;

		if (!put_octets(&l, f->key, f->key_len) || !json_value(&l, ev, f))
			l.len = before;
	}
	l.tail = 0;
	put_str(&l, "}");
	buf[l.len] = '\0';
	return l.len;
}

void iw_trace_emit(void *sink, struct iw_trace_event *ev)
{
	const struct iw_trace_sink *to = sink;
	char line[IW_TRACE_LINE];

	if (to->probes)
		iw_trace_probe(ev);
	if (!to->line)
		return;
	ev->now = iw_os_now();
	ev->wall = iw_os_wall();
	iw_trace_json(line, sizeof(line), ev);
	to->line(to->ctx, line);
}
