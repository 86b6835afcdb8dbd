// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* JSON lines, with json-c. */
#include "cli/json.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include <json-c/json.h>

#include "cli/text.h"
#include "util/num.h"

void iw_json_init(struct iw_json *w, int fd)
{
	*w = (struct iw_json){ .fd = fd };
}

void iw_json_fini(struct iw_json *w)
{
	if (w->depth > 0)
		json_object_put(w->stack[0]);
	w->depth = 0;
}

static void stick(struct iw_json *w, int err, int os_errno)
{
	if (w->err)
		return;
	w->err = err;
	w->os_errno = os_errno;
}

/* Puts value (given; NULL: out of memory) into the innermost open object or array. */
static bool put(struct iw_json *w, const char *key, struct json_object *value)
{
	struct json_object *in;
	int failed;

	if (!value) {
		stick(w, IW_E_NOMEM, 0);
		return false;
	}
	if (w->err) {
		json_object_put(value);
		return false;
	}
	assert(w->depth > 0);
	in = w->stack[w->depth - 1];
	if (json_object_is_type(in, json_type_array)) {
		assert(!key);
		failed = json_object_array_add(in, value);
	} else {
		assert(key && !json_object_object_get_ex(in, key, NULL));
		failed = json_object_object_add(in, key, value);
	}
	if (failed) {
		json_object_put(value);
		stick(w, IW_E_NOMEM, 0);
	}
	return !failed;
}

static void push(struct iw_json *w, const char *key, struct json_object *value)
{
	assert(w->err || w->depth < IW_JSON_DEPTH);
	if (put(w, key, value))
		w->stack[w->depth++] = value;
}

void iw_json_begin(struct iw_json *w, const char *event)
{
	if (w->err)
		return;
	assert(w->depth == 0);
	w->stack[0] = json_object_new_object();
	if (!w->stack[0]) {
		stick(w, IW_E_NOMEM, 0);
		return;
	}
	w->depth = 1;
	iw_json_u64(w, "schema", IW_JSON_SCHEMA);
	iw_json_str(w, "event", event);
}

void iw_json_open_object(struct iw_json *w, const char *key)
{
	push(w, key, json_object_new_object());
}

void iw_json_open_array(struct iw_json *w, const char *key)
{
	push(w, key, json_object_new_array());
}

void iw_json_close(struct iw_json *w)
{
	if (w->err)
		return;
	assert(w->depth > 1);
	w->depth--;
}

void iw_json_u64(struct iw_json *w, const char *key, uint64_t v)
{
	put(w, key, json_object_new_uint64(IW_MIN(v, (uint64_t)IW_JSON_MAX)));
}

void iw_json_i64(struct iw_json *w, const char *key, int64_t v)
{
	put(w, key, json_object_new_int64(IW_MAX(IW_MIN(v, IW_JSON_MAX), -IW_JSON_MAX)));
}

void iw_json_hex(struct iw_json *w, const char *key, uint64_t v)
{
	char text[19];

	snprintf(text, sizeof(text), "0x%016" PRIx64, v);
	iw_json_str(w, key, text);
}

void iw_json_decimal(struct iw_json *w, const char *key, uint64_t v)
{
	char text[21];

	snprintf(text, sizeof(text), "%" PRIu64, v);
	iw_json_str(w, key, text);
}

void iw_json_bool(struct iw_json *w, const char *key, bool v)
{
	put(w, key, json_object_new_boolean(v));
}

void iw_json_f64(struct iw_json *w, const char *key, double v)
{
	char text[40];

	assert(isfinite(v));
	if (!isfinite(v))
		return;
	/*
	 * A double needs at most seventeen digits, and mostly fewer. The tools use the C locale, so
	 * the decimal separator is a point.
	 */
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	/* A number stays a fraction in the text even if its value is whole. */
	if (text[strcspn(text, ".e")] == '\0')
		memcpy(text + strlen(text), ".0", 3);
	put(w, key, json_object_new_double_s(v, text));
}

static struct json_object *new_string(const char *s, size_t len)
{
	return len > INT_MAX ? NULL : json_object_new_string_len(s, (int)len);
}

static void put_b64(struct iw_json *w, const char *key, const void *octets, size_t len)
{
	char *text = malloc(IW_BASE64_SIZE(len));
	char name[64];

	assert(strlen(key) <= 40);
	snprintf(name, sizeof(name), "%.40s_b64", key);
	if (text)
		iw_base64(text, IW_BASE64_SIZE(len), octets, len);
	put(w, name, text ? new_string(text, strlen(text)) : NULL);
	free(text);
}

/* For text that is not UTF-8: a readable form, and the exact octets. */
static void put_both(struct iw_json *w, const char *key, const char *s, size_t len)
{
	size_t need = iw_printable(NULL, 0, s, len, false);
	char *text = malloc(need + 1);

	if (text)
		iw_printable(text, need + 1, s, len, false);
	put(w, key, text ? new_string(text, need) : NULL);
	put_b64(w, key, s, len);
	free(text);
}

void iw_json_text(struct iw_json *w, const char *key, const void *s, size_t len)
{
	if (w->err)
		return;
	if (iw_utf8_valid(s, len)) {
		put(w, key, new_string(s, len));
	} else if (key) {
		put_both(w, key, s, len);
	} else {
		iw_json_open_object(w, NULL);
		put_both(w, "text", s, len);
		iw_json_close(w);
	}
}

void iw_json_str(struct iw_json *w, const char *key, const char *s)
{
	if (s)
		iw_json_text(w, key, s, strlen(s));
}

static void write_line(struct iw_json *w, const char *text, size_t len)
{
	/* writev does not write through the pointer. */
	struct iovec iov[2] = { { (void *)(uintptr_t)text, len }, { (void *)(uintptr_t) "\n", 1 } };
	struct pollfd writable = { .fd = w->fd, .events = POLLOUT };
	struct iovec *v = iov;

	while (v < iov + 2) {
		ssize_t n = writev(w->fd, v, (int)(iov + 2 - v));

		if (n < 0 && errno == EAGAIN) {
			/*
			 * Another process made the descriptor non-blocking. Wait until it is
			 * writable.
			 */
			(void)poll(&writable, 1, -1);
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			stick(w, errno == EPIPE ? IW_E_CLOSED : IW_E_OS, errno);
			return;
		}
		for (; v < iov + 2 && (size_t)n >= v->iov_len; v++)
			n -= (ssize_t)v->iov_len;
		if (v < iov + 2) {
			v->iov_base = (char *)v->iov_base + n;
			v->iov_len -= (size_t)n;
		}
	}
}

int iw_json_end(struct iw_json *w)
{
	const char *text = NULL;
	size_t len = 0;

	if (!w->err) {
		assert(w->depth == 1);
		text = json_object_to_json_string_length(
			w->stack[0], JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &len);
		if (text)
			write_line(w, text, len);
		else
			stick(w, IW_E_NOMEM, 0);
	}
	iw_json_fini(w);
	return w->err;
}
