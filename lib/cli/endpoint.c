// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* HOST:PATH, [v6]:PATH, PATH and "-". */
#include "cli/endpoint.h"

#include <string.h>

#include <iwarp/err.h>

/* The colon that ends the host part, or NULL when @text is local. */
static const char *host_end(const char *text)
{
	if (text[0] == '[') {
		const char *close = strchr(text, ']');

		return close && close[1] == ':' ? close + 1 : NULL;
	}
	if (text[0] == ':')
		return NULL;
	text += strcspn(text, ":/");
	return *text == ':' ? text : NULL;
}

int iw_endpoint_parse(struct iw_endpoint *out, const char *text, const char **why)
{
	const char *end = host_end(text);
	const char *host = text;
	size_t len;

	*out = (struct iw_endpoint){ .path = text };
	if (text[0] == '\0') {
		*why = "empty";
		return IW_E_INVAL;
	}
	if (!end) {
		out->is_stdio = strcmp(text, "-") == 0;
		return 0;
	}
	len = (size_t)(end - text);
	if (host[0] == '[') {
		host++;
		len -= 2;
	} else if (end[1] == ':') {
		*why = "an IPv6 address goes in brackets, [ADDRESS]:PATH, "
		       "and a path that begins with a colon is written HOST:./:PATH";
		return IW_E_INVAL;
	}
	if (len == 0) {
		*why = "no host between the brackets";
		return IW_E_INVAL;
	}
	if (memchr(host, '@', len)) {
		*why = "there are no user names here; a local file of this name is written ./NAME";
		return IW_E_INVAL;
	}
	if (len >= sizeof(out->host)) {
		*why = "the host name is longer than 255 octets";
		return IW_E_INVAL;
	}
	memcpy(out->host, host, len);
	out->is_remote = true;
	out->path = end + 1;
	return 0;
}
