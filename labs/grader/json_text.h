/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads JSON (RFC 8259) that a student hands in. A value is a part of the text, which is borrowed;
 * nothing is allocated. Any text is safe input: arrays and objects are nested at most 16 deep.
 */
#ifndef LABS_GRADER_JSON_TEXT_H
#define LABS_GRADER_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_text {
	const char *at, *end;
};

/* True if the text is one value, with white space around it. */
bool json_text_parse(const char *text, size_t len, struct json_text *out);
/* The member "result.client.cc" of an object. False if it is missing. */
bool json_text_find(const struct json_text *object, const char *path, struct json_text *out);

/* The values of members; false if one is missing or has another type or does not fit. */
bool json_text_u64(const struct json_text *object, const char *path, uint64_t *out);
bool json_text_double(const struct json_text *object, const char *path, double *out);
bool json_text_bool(const struct json_text *object, const char *path, bool *out);
/* A string without escapes and control characters. */
bool json_text_string(const struct json_text *object, const char *path, char *dst, size_t cap);

#endif
