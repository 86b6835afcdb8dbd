/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads JSON that a student hands in, with json-c. Any text is safe input: arrays and objects are
 * nested at most 16 deep.
 */
#ifndef LABS_GRADER_JSON_TEXT_H
#define LABS_GRADER_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_object;

struct json_text {
	struct json_object *value; /* owned */
};

/*
 * Returns true if the text is one object or array, with white space around it; the caller then calls
 * json_text_free(). text is not kept.
 */
bool json_text_parse(const char *text, size_t len, struct json_text *out);
void json_text_free(struct json_text *text);

/*
 * The value of the member at a path such as "result.client.cc". False if it is missing, has another
 * type, or does not fit.
 */
bool json_text_u64(const struct json_text *object, const char *path, uint64_t *out);
bool json_text_double(const struct json_text *object, const char *path, double *out);
bool json_text_bool(const struct json_text *object, const char *path, bool *out);
/* A string without control characters. */
bool json_text_string(const struct json_text *object, const char *path, char *dst, size_t cap);

#endif
