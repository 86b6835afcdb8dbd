// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "labs/grader/json_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/num.h"

enum { DEPTH_MAX = 16, NUMBER_MAX = 40 };

static bool value(struct json_text *in, unsigned int depth);

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static void space(struct json_text *in)
{
	while (in->at < in->end &&
	       (*in->at == ' ' || *in->at == '\t' || *in->at == '\n' || *in->at == '\r'))
		in->at++;
}

static bool character(struct json_text *in, char c)
{
	space(in);
	if (in->at == in->end || *in->at != c)
		return false;
	in->at++;
	return true;
}

static bool word(struct json_text *in, const char *w)
{
	size_t len = strlen(w);

	if ((size_t)(in->end - in->at) < len || memcmp(in->at, w, len) != 0)
		return false;
	in->at += len;
	return true;
}

static bool string(struct json_text *in)
{
	if (!character(in, '"'))
		return false;
	for (; in->at < in->end && (unsigned char)*in->at >= ' '; in->at++) {
		if (*in->at == '"') {
			in->at++;
			return true;
		}
		if (*in->at == '\\' && ++in->at == in->end)
			return false;
	}
	return false;
}

static bool digits(struct json_text *in)
{
	const char *begin = in->at;

	while (in->at < in->end && is_digit(*in->at))
		in->at++;
	return in->at > begin;
}

static bool number(struct json_text *in)
{
	const char *begin = in->at;

	if (in->at < in->end && *in->at == '-')
		in->at++;
	if (!digits(in))
		return false;
	if (in->at < in->end && *in->at == '.') {
		in->at++;
		if (!digits(in))
			return false;
	}
	if (in->at < in->end && (*in->at == 'e' || *in->at == 'E')) {
		in->at++;
		if (in->at < in->end && (*in->at == '+' || *in->at == '-'))
			in->at++;
		if (!digits(in))
			return false;
	}
	return in->at - begin < NUMBER_MAX;
}

/* Members or elements after the opening bracket. */
static bool list(struct json_text *in, char close, unsigned int depth)
{
	if (depth == DEPTH_MAX)
		return false;
	if (character(in, close))
		return true;
	do {
		if (close == '}' && (!string(in) || !character(in, ':')))
			return false;
		if (!value(in, depth + 1))
			return false;
	} while (character(in, ','));
	return character(in, close);
}

static bool value(struct json_text *in, unsigned int depth)
{
	space(in);
	if (in->at == in->end)
		return false;
	switch (*in->at) {
	case '{':
		in->at++;
		return list(in, '}', depth);
	case '[':
		in->at++;
		return list(in, ']', depth);
	case '"':
		return string(in);
	case 't':
		return word(in, "true");
	case 'f':
		return word(in, "false");
	case 'n':
		return word(in, "null");
	default:
		return number(in);
	}
}

bool json_text_parse(const char *text, size_t len, struct json_text *out)
{
	struct json_text in = { text, text + len };

	space(&in);
	out->at = in.at;
	if (!value(&in, 0))
		return false;
	out->end = in.at;
	space(&in);
	return in.at == in.end;
}

/* The object was parsed before, so its syntax is good. */
static bool member(const struct json_text *object, const char *name, size_t len,
		   struct json_text *out)
{
	struct json_text in = *object;

	if (!character(&in, '{'))
		return false;
	for (;;) {
		const char *key;
		bool same;

		space(&in);
		key = in.at + 1;
		if (!string(&in))
			return false;
		same = (size_t)(in.at - 1 - key) == len && !memcmp(key, name, len);
		if (!character(&in, ':'))
			return false;
		space(&in);
		out->at = in.at;
		if (!value(&in, 0))
			return false;
		out->end = in.at;
		if (same)
			return true;
		if (!character(&in, ','))
			return false;
	}
}

bool json_text_find(const struct json_text *object, const char *path, struct json_text *out)
{
	struct json_text in = *object;

	for (;;) {
		size_t len = strcspn(path, ".");

		if (!member(&in, path, len, out))
			return false;
		if (!path[len])
			return true;
		in = *out;
		path += len + 1;
	}
}

/* Copies a value, for functions of the C library. */
static bool copy(const struct json_text *v, char *dst, size_t cap)
{
	size_t len = (size_t)(v->end - v->at);

	if (len >= cap)
		return false;
	memcpy(dst, v->at, len);
	dst[len] = '\0';
	return true;
}

bool json_text_u64(const struct json_text *object, const char *path, uint64_t *out)
{
	struct json_text v;
	uint64_t n = 0;

	if (!json_text_find(object, path, &v))
		return false;
	for (; v.at < v.end; v.at++) {
		uint64_t digit = (uint64_t)(*v.at - '0');

		if (!is_digit(*v.at) || n > (UINT64_MAX - digit) / 10)
			return false;
		n = 10 * n + digit;
	}
	*out = n;
	return true;
}

bool json_text_double(const struct json_text *object, const char *path, double *out)
{
	char text[NUMBER_MAX];
	struct json_text v;

	if (!json_text_find(object, path, &v) || (*v.at != '-' && !is_digit(*v.at)) ||
	    !copy(&v, text, sizeof(text)))
		return false;
	*out = strtod(text, NULL);
	return isfinite(*out);
}

bool json_text_bool(const struct json_text *object, const char *path, bool *out)
{
	struct json_text v;

	if (!json_text_find(object, path, &v) || (*v.at != 't' && *v.at != 'f'))
		return false;
	*out = *v.at == 't';
	return true;
}

bool json_text_string(const struct json_text *object, const char *path, char *dst, size_t cap)
{
	struct json_text v;

	if (!json_text_find(object, path, &v) || *v.at != '"')
		return false;
	v.at++;
	v.end--;
	for (const char *c = v.at; c < v.end; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c > '~' || *c == '\\')
			return false;
	return copy(&v, dst, cap);
}
