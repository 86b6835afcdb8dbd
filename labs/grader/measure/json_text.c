// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "labs/grader/measure/json_text.h"

#include <json-c/json.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH_MAX = 16, PATH_MAX_LEN = 128 };

bool json_text_parse(const char *text, size_t len, struct json_text *out)
{
	struct json_tokener *parser = json_tokener_new_ex(DEPTH_MAX);
	bool whole = false;

	out->value = NULL;
	if (!parser)
		return false;
	json_tokener_set_flags(parser, JSON_TOKENER_STRICT);
	/* Only an object or an array ends by itself; no student hands in another value. */
	if (len < INT_MAX)
		out->value = json_tokener_parse_ex(parser, text, (int)len);
	whole = out->value && json_tokener_get_error(parser) == json_tokener_success;
	for (size_t at = json_tokener_get_parse_end(parser); whole && at < len; at++)
		whole = text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n';
	json_tokener_free(parser);
	if (!whole)
		json_text_free(out);
	return whole;
}

void json_text_free(struct json_text *text)
{
	json_object_put(text->value);
	text->value = NULL;
}

/* The member "result.client.cc", or NULL. */
static struct json_object *find(const struct json_text *object, const char *path)
{
	struct json_object *value = object->value;
	char names[PATH_MAX_LEN], *rest = NULL;

	if ((size_t)snprintf(names, sizeof(names), "%s", path) >= sizeof(names))
		return NULL;
	for (char *name = strtok_r(names, ".", &rest); name; name = strtok_r(NULL, ".", &rest))
		if (!json_object_is_type(value, json_type_object) ||
		    !json_object_object_get_ex(value, name, &value))
			return NULL;
	return value;
}

bool json_text_u64(const struct json_text *object, const char *path, uint64_t *out)
{
	struct json_object *value = find(object, path);

	/* json-c returns 0 for a negative number. */
	if (!json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 0)
		return false;
	*out = json_object_get_uint64(value);
	return true;
}

bool json_text_double(const struct json_text *object, const char *path, double *out)
{
	struct json_object *value = find(object, path);

	if (!json_object_is_type(value, json_type_int) &&
	    !json_object_is_type(value, json_type_double))
		return false;
	*out = json_object_get_double(value);
	return isfinite(*out);
}

bool json_text_bool(const struct json_text *object, const char *path, bool *out)
{
	struct json_object *value = find(object, path);

	if (!json_object_is_type(value, json_type_boolean))
		return false;
	*out = json_object_get_boolean(value);
	return true;
}

bool json_text_string(const struct json_text *object, const char *path, char *dst, size_t cap)
{
	struct json_object *value = find(object, path);
	const char *text;
	size_t len;

	if (!json_object_is_type(value, json_type_string))
		return false;
	text = json_object_get_string(value);
	len = (size_t)json_object_get_string_len(value);
	if (len >= cap || strlen(text) != len)
		return false;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ')
			return false;
	memcpy(dst, text, len + 1);
	return true;
}
