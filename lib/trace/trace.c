// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Events as lines: two writers, which use one table made from the list of events. */
#include "trace/trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/num.h"

/*
 * The largest integer, 2^53 - 1, that a program which keeps numbers as doubles reads exactly (RFC
 * 8259 6). The monotonic clock exceeds it after 104 days and is written modulo 2^53.
 */
#define NUMBER_MAX UINT64_C(9007199254740991)

enum type { U64, HEX, BOOL, STR };

struct field {
	const char *name;
	enum type type;
	size_t offset;
};

#define BEGIN(ev, text)        static const struct field ev##_fields[] = {
#define FIELD(ev, type, field) { #field, type, offsetof(struct iw_trace_event, ev.field) },
#define END(ev)                                                                                    \
	}                                                                                          \
	;
#include "util/events.def"
#undef BEGIN
#undef FIELD
#undef END

static const struct {
	const char *name, *meaning;
	const struct field *fields;
	size_t n;
} kinds[] = {
#define BEGIN(ev, text) [IW_TRACE_##ev] = { #ev, text, ev##_fields, IW_ARRAY_LEN(ev##_fields) },
#define FIELD(ev, type, field)
#define END(ev)
#include "util/events.def"
#undef BEGIN
#undef FIELD
#undef END
};

const char *iw_trace_name(enum iw_trace_kind kind)
{
	return kinds[kind].name;
}

const char *iw_trace_meaning(enum iw_trace_kind kind)
{
	return kinds[kind].meaning;
}

/*
 * A line that grows by whole pieces. A piece that does not fit is left out completely. tail: octets
 * that stay free for the end of the line.
 */
struct line {
	char *buf;
	size_t cap, len, tail;
};

__attribute__((format(printf, 2, 3))) static bool put(struct line *l, const char *fmt, ...)
{
	size_t room = l->cap - l->len;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(l->buf + l->len, room, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n + l->tail >= room) {
		l->buf[l->len] = '\0';
		return false;
	}
	l->len += (size_t)n;
	return true;
}

/*
 * RFC 8259 7: quotation mark, reverse solidus and control characters are escaped. So is each octet
 * that is not ASCII; therefore the line is valid for any text.
 */
static bool put_quoted(struct line *l, const char *s)
{
	bool fits = put(l, "\"");

	for (; *s && fits; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			fits = put(l, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			fits = put(l, "\\u%04x", c);
		else
			fits = put(l, "%c", c);
	}
	return fits && put(l, "\"");
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
		return put(l, "%llu", (unsigned long long)IW_MIN(number_at(ev, f), NUMBER_MAX));
	case HEX:
		return put(l, "\"0x%016llx\"", (unsigned long long)number_at(ev, f));
	case BOOL:
		return put(l, "%s", bool_at(ev, f) ? "true" : "false");
	case STR:
		return put_quoted(l, text_at(ev, f));
	}
	return false;
}

size_t iw_trace_json(char *buf, size_t cap, const struct iw_trace_event *ev)
{
	struct line l = { .buf = buf, .cap = cap, .tail = 1 };

	buf[0] = '\0';
	if (!put(&l,
		 "{\"schema\":1,\"event\":\"%s\",\"t_ns\":%llu,\"time_ns\":\"%llu\",\"stream\":%u",
		 kinds[ev->kind].name, (unsigned long long)(ev->now & NUMBER_MAX),
		 (unsigned long long)ev->wall, ev->stream))
		return 0;
	for (size_t i = 0; i < kinds[ev->kind].n; i++) {
		const struct field *f = &kinds[ev->kind].fields[i];
		size_t before = l.len;

		if (!put(&l, ",\"%s\":", f->name) || !json_value(&l, ev, f)) {
			l.len = before;
			l.buf[before] = '\0';
		}
	}
	l.tail = 0;
	put(&l, "}");
	return l.len;
}

static bool is_word(const char *s)
{
	for (; *s; s++)
		if (*s <= ' ' || *s == '"' || *s >= 0x7f)
			return false;
	return true;
}

static bool text_value(struct line *l, const struct iw_trace_event *ev, const struct field *f)
{
	const char *s;

	switch (f->type) {
	case U64:
		return put(l, " %s=%llu", f->name, (unsigned long long)number_at(ev, f));
	case HEX:
		return put(l, " %s=0x%llx", f->name, (unsigned long long)number_at(ev, f));
	case BOOL:
		return put(l, " %s=%s", f->name, bool_at(ev, f) ? "yes" : "no");
	case STR:
		s = text_at(ev, f);
		if (s[0] == '\0')
			return true;
		return put(l, " %s=", f->name) && (is_word(s) ? put(l, "%s", s) : put_quoted(l, s));
	}
	return false;
}

size_t iw_trace_text(char *buf, size_t cap, const struct iw_trace_event *ev)
{
	struct line l = { .buf = buf, .cap = cap };

	buf[0] = '\0';
	if (!put(&l, "%llu.%06llu", (unsigned long long)(ev->now / 1000000000u),
		 (unsigned long long)(ev->now % 1000000000u / 1000u)))
		return 0;
	if (ev->stream)
		put(&l, " stream %u", ev->stream);
	put(&l, " %s", kinds[ev->kind].name);
	for (size_t i = 0; i < kinds[ev->kind].n; i++) {
		size_t before = l.len;

		if (!text_value(&l, ev, &kinds[ev->kind].fields[i])) {
			l.len = before;
			l.buf[before] = '\0';
		}
	}
	return l.len;
}

void iw_trace_emit_json(void *lines, const struct iw_trace_event *ev)
{
	const struct iw_trace_lines *to = lines;
	char line[IW_TRACE_LINE];

	iw_trace_json(line, sizeof(line), ev);
	to->line(to->ctx, line);
}
