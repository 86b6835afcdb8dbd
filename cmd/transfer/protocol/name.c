// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Checks names without the file system. */
#include "transfer/protocol/name.h"

#include <string.h>

#include "transfer/protocol/hello.h"
#include "util/num.h"

#define COMPONENT_MAX 255 /* NAME_MAX of Linux */

static const char *common_fault(const char *name, size_t len, size_t max)
{
	if (len > max)
		return "is too long";
	if (len > 0 && memchr(name, '\0', len))
		return "contains a NUL octet";
	if (len > 0 && name[0] == '/')
		return "is absolute";
	return NULL;
}

/* The length of the component at name. */
static size_t component(const char *name, size_t len)
{
	const char *slash = memchr(name, '/', len);

	return slash ? (size_t)(slash - name) : len;
}

static bool is_dots(const char *c, size_t len, size_t dots)
{
	return len == dots && memcmp(c, "..", dots) == 0;
}

const char *iw_xfer_name_fault(const char *name, size_t len)
{
	const char *fault = common_fault(name, len, IW_XFER_NAME_MAX);

	if (fault)
		return fault;
	if (len == 0)
		return "is empty";
	for (;;) {
		size_t n = component(name, len);

		if (n == 0)
			return "has an empty component";
		if (n > COMPONENT_MAX)
			return "has a component of more than 255 octets";
		if (is_dots(name, n, 1) || is_dots(name, n, 2))
			return "has a component \".\" or \"..\"";
		if (n == len)
			return NULL;
		name += n + 1;
		len -= n + 1;
		if (len == 0)
			return "ends in a slash";
	}
}

const char *iw_xfer_entry_fault(const char *name, size_t len, bool dir, bool top, uint32_t opts)
{
	if (len == 0 && dir && top && opts & IW_XFER_OPT_CONTENTS)
		return NULL;
	return iw_xfer_name_fault(name, len);
}

bool iw_xfer_link_leaves(const char *name, size_t name_len, const char *to, size_t to_len,
			 size_t top)
{
	size_t dirs = 0;
	bool down = false;

	for (size_t i = 0; i < name_len; i++)
		dirs += name[i] == '/';
	if (to_len == 0 || to[0] == '/' || dirs < top)
		return true;
	for (dirs -= top; to_len > 0;) {
		size_t n = component(to, to_len);

		if (is_dots(to, n, 2)) {
			/* The component before ".." may itself be a link. */
			if (down || dirs-- == 0)
				return true;
		} else if (n > 0 && !is_dots(to, n, 1)) {
			down = true;
		}
		n += n < to_len;
		to += n;
		to_len -= n;
	}
	return false;
}

const char *iw_xfer_path_fault(const char *path, size_t len)
{
	const char *fault = common_fault(path, len, IW_XFER_PATH_MAX);

	if (fault)
		return fault;
	while (len > 0) {
		size_t n = component(path, len);

		if (n > COMPONENT_MAX)
			return "has a component of more than 255 octets";
		if (is_dots(path, n, 2))
			return "has a component \"..\"";
		n += n < len;
		path += n;
		len -= n;
	}
	return NULL;
}
