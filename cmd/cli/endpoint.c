// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* HOST:PATH, [v6]:PATH, USER@HOST:PATH, PATH and "-". */
#include "cli/endpoint.h"

#include <string.h>

#include <iwarp/err.h>

/* Returns the place after "USER@" in front of a host, or text. */
static const char *user_end(const char *text)
{
	const char *end = text + strcspn(text, ":/[");
	const char *at = end > text ? memrchr(text, '@', (size_t)(end - text)) : NULL;

	/* A bracket inside a name begins no address. */
	return at && (*end != '[' || at + 1 == end) ? at + 1 : text;
}

/* Returns the colon after the host, or NULL if text is local. */
static const char *host_end(const char *text)
{
	const char *host = user_end(text), *end;

	if (host[0] == '[') {
		const char *close = strchr(host, ']');

		return close && close[1] == ':' ? close + 1 : NULL;
	}
	if (text[0] == ':')
		return NULL;
	end = host + strcspn(host, ":/");
	return *end == ':' ? end : NULL;
}

/* True if text begins with "::" and has only characters of an IPv6 address before a slash. */
static bool is_bare_ipv6(const char *text)
{
	size_t len = strspn(text, "0123456789abcdefABCDEF:.");

	return strncmp(text, "::", 2) == 0 && (text[len] == '\0' || text[len] == '/');
}

/* True if text begins with a bracket and an address, and has no closing bracket. */
static bool is_unclosed(const char *text)
{
	size_t len = strspn(text + 1, "0123456789abcdefABCDEF:."), colons = 0, dots = 0;

	for (size_t i = 1; i <= len; i++) {
		colons += text[i] == ':';
		dots += text[i] == '.';
	}
	return (colons >= 2 || dots == 3) && !strchr(text, ']');
}

/* Why text, which has no host by scp's rule, is not a local name either; NULL: it is one. */
static const char *local_fault(const char *text)
{
	if (is_bare_ipv6(text))
		return "an IPv6 address goes in brackets, [ADDRESS]:PATH; "
		       "a local file of this name is written ./NAME";
	if (text[0] == '[' && is_unclosed(text))
		return "the ] after the address is missing, as in [ADDRESS]:PATH; "
		       "a local file of this name is written ./NAME";
	return NULL;
}

int iw_endpoint_parse(struct iw_endpoint *out, const char *text, const char **why)
{
	const char *end = host_end(text), *host = user_end(text);
	size_t user = (size_t)(host - text), len;

	*out = (struct iw_endpoint){ .path = text };
	if (text[0] == '\0') {
		*why = "an empty argument; expected a name or HOST:[PATH]; is a shell variable empty?";
		return IW_E_INVAL;
	}
	if (!end) {
		*why = local_fault(text);
		if (*why)
			return IW_E_INVAL;
		out->is_stdio = strcmp(text, "-") == 0;
		return 0;
	}
	len = (size_t)(end - host);
	if (host[0] == '[') {
		host++;
		len -= 2;
	} else if (end[1] == ':') {
		*why = "write an IPv6 address in brackets, [ADDRESS]:PATH, "
		       "and a path that begins with a colon as HOST:./:PATH";
		return IW_E_INVAL;
	}
	if (strncmp(text, "ddp+", 4) == 0 && strncmp(end, "://", 3) == 0) {
		*why = "the URI of a registered buffer; expected HOST:[PATH]; "
		       "use `ddp-send --to URI` to write to it, `ddp-recv --from URI` to read it";
		return IW_E_INVAL;
	}
	if (strncmp(end, "://", 3) == 0 && !memchr(host, '.', len)) {
		*why = "a URL; expected HOST:[PATH], such as 192.0.2.1:photos";
		return IW_E_INVAL;
	}
	if (len == 0) {
		*why = user > 0 ? "no host after the @; expected USER@HOST:[PATH]; "
				  "write a local file of this name as ./NAME"
				: "no host between the brackets";
		return IW_E_INVAL;
	}
	if (memchr(host, '@', len)) {
		*why = "write a user name before the brackets, USER@[ADDRESS]:PATH";
		return IW_E_INVAL;
	}
	if (user == 1 || user > sizeof(out->user)) {
		*why = user == 1 ? "no user before the @; expected USER@HOST:[PATH]; "
				   "write a local file of this name as ./NAME"
				 : "the user name is longer than 63 octets";
		return IW_E_INVAL;
	}
	if (len >= sizeof(out->host)) {
		*why = "the host name is longer than 255 octets";
		return IW_E_INVAL;
	}
	memcpy(out->user, text, user > 0 ? user - 1 : 0);
	memcpy(out->host, host, len);
	out->is_remote = true;
	out->path = end + 1;
	return 0;
}
