// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Formats and parses the URI of an Advertisement. */
#include "stag-reg/uri.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/parse.h"
#include "util/num.h"

#define SCHEME "ddp+"
#define PATH   "/stag/"

static const char *const access_names[] = {
	[IW_CLAIM_READ] = "r", [IW_CLAIM_WRITE] = "w", [IW_CLAIM_READ | IW_CLAIM_WRITE] = "rw"
};

const char *iw_access_text(unsigned access)
{
	return access > 0 && access < IW_ARRAY_LEN(access_names) ? access_names[access] : "none";
}

/* --- out --- */

/* Writes an IPv6 address in brackets, with the % of its zone escaped. */
static void format_host(char *buf, size_t cap, const char *host)
{
	const char *zone = strchr(host, '%');

	if (!strchr(host, ':'))
		snprintf(buf, cap, "%s", host);
	else if (zone)
		snprintf(buf, cap, "[%.*s%%25%s]", (int)(zone - host), host, zone + 1);
	else
		snprintf(buf, cap, "[%s]", host);
}

const char *iw_uri_format(char buf[static IW_URI_TEXT], const struct iw_uri *u)
{
	char host[sizeof(u->host) + 5];
	size_t len;

	format_host(host, sizeof(host), u->host);
	len = (size_t)snprintf(buf, IW_URI_TEXT,
			       SCHEME "%s://%s:%u" PATH "%08x?to=%llu&len=%llu&access=%s",
			       u->transport, host, (unsigned)u->port, (unsigned)u->stag,
			       (unsigned long long)u->to, (unsigned long long)u->len,
			       iw_access_text(u->access));
	if (!u->key.set)
		return buf;
	len += (size_t)snprintf(buf + len, IW_URI_TEXT - len, "&key=");
	for (size_t i = 0; i < IW_CLAIM_KEY_LEN; i++, len += 2)
		snprintf(buf + len, IW_URI_TEXT - len, "%02x", u->key.octets[i]);
	return buf;
}

/* --- in --- */

static int bad(const char **why, const char *text)
{
	*why = text;
	return IW_E_INVAL;
}

/* Parses exactly 2 * n digits into n octets. */
static bool parse_hex(uint8_t *out, size_t n, const char *text, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	if (len != 2 * n)
		return false;
	memset(out, 0, n);
	for (size_t i = 0; i < len; i++) {
		const char *d = memchr(digits, tolower((unsigned char)text[i]), 16);

		if (!d)
			return false;
		out[i / 2] = (uint8_t)(out[i / 2] << 4 | (d - digits));
	}
	return true;
}

static bool parse_number(uint64_t *out, const char *text, size_t len, uint64_t min, uint64_t max)
{
	const char *why;
	char buf[24];

	if (len >= sizeof(buf))
		return false;
	memcpy(buf, text, len);
	buf[len] = '\0';
	return iw_parse_u64(out, buf, min, max, &why) == 0;
}

/* Moves *text to the first octet that is in ends, or to its end. Returns the length of the part. */
static size_t take(const char **text, const char *ends)
{
	size_t len = strcspn(*text, ends);

	*text += len;
	return len;
}

static int parse_transport(struct iw_uri *out, const char **p, const char **why)
{
	const char *name;
	size_t len;

	if (strncmp(*p, SCHEME, strlen(SCHEME)) != 0)
		return bad(
			why,
			"expected a URI such as ddp+tcp://HOST:PORT/stag/...; stag-reg add --uri prints it; @FILE reads it from a file");
	name = *p += strlen(SCHEME);
	len = take(p, ":/");
	if (len == 0 || len >= sizeof(out->transport) ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyz") != len || strncmp(*p, "://", 3) != 0)
		return bad(why, "expected a transport after ddp+, then ://");
	memcpy(out->transport, name, len);
	*p += 3;
	return 0;
}

/* Parses an address in brackets, with %25 before its zone, or a name. */
static int parse_host(struct iw_uri *out, const char **p, const char **why)
{
	bool v6 = **p == '[';
	const char *host = *p += v6;
	size_t len = take(p, v6 ? "]/?" : ":/?[]@"), n = 0;

	if (len == 0 || len >= sizeof(out->host) || (v6 && **p != ']') || (!v6 && **p != ':'))
		return bad(why, "expected HOST:PORT, an IPv6 address in brackets");
	*p += v6;
	for (size_t i = 0; i < len; i++) {
		bool zone = host[i] == '%';
		unsigned char c = (unsigned char)host[i];

		if (c <= ' ' || c >= 0x7f ||
		    (zone &&
		     (!v6 || strncmp(host + i, "%25", 3) != 0 || memchr(out->host, '%', n))))
			return bad(why,
				   "the host has a character that names and addresses do not have");
		out->host[n++] = host[i];
		if (zone)
			i += 2;
	}
	if (v6 && !memchr(out->host, ':', n))
		return bad(why, "the text in brackets is not an IPv6 address");
	return 0;
}

static int parse_port(struct iw_uri *out, const char **p, const char **why)
{
	const char *port;
	uint64_t v;

	if (**p != ':')
		return bad(why, "expected :PORT after the host");
	port = ++*p;
	if (!parse_number(&v, port, take(p, "/?"), 1, UINT16_MAX))
		return bad(why, "expected a port from 1 to 65535");
	out->port = (uint16_t)v;
	return 0;
}

static int parse_stag(struct iw_uri *out, const char **p, const char **why)
{
	const char *stag;
	uint8_t octets[4];

	if (strncmp(*p, PATH, strlen(PATH)) != 0)
		return bad(why, "expected " PATH "STAG after the port");
	stag = *p += strlen(PATH);
	if (!parse_hex(octets, sizeof(octets), stag, take(p, "?")))
		return bad(why, "expected an STag of eight hexadecimal digits");
	out->stag = iw_get_be32(octets);
	return 0;
}

static bool parse_access(struct iw_uri *out, const char *text, size_t len)
{
	for (unsigned a = 1; a < IW_ARRAY_LEN(access_names); a++) {
		if (strlen(access_names[a]) == len && memcmp(access_names[a], text, len) == 0)
			out->access = a;
	}
	return out->access != 0;
}

static bool parse_value(struct iw_uri *out, unsigned which, const char *text, size_t len)
{
	switch (which) {
	case 0:
		return parse_number(&out->to, text, len, 0, UINT64_MAX);
	case 1:
		return parse_number(&out->len, text, len, 0, UINT64_MAX);
	case 2:
		return parse_access(out, text, len);
	default:
		out->key.set = parse_hex(out->key.octets, IW_CLAIM_KEY_LEN, text, len);
		return out->key.set;
	}
}

static int parse_query(struct iw_uri *out, const char **p, const char **why)
{
	static const char *const names[] = { "to=", "len=", "access=", "key=" };
	static const char *const expected[] = { "to=: expected a number", "len=: expected a number",
						"access=: expected r, w or rw",
						"key=: expected 32 hexadecimal digits" };
	unsigned seen = 0;
	uint64_t end;

	while (**p) {
		const char *part = ++*p;
		size_t len = take(p, "&");

		for (unsigned i = 0; i < IW_ARRAY_LEN(names); i++) {
			size_t n = strlen(names[i]);

			if (len < n || strncmp(part, names[i], n) != 0)
				continue;
			if (seen & 1u << i)
				return bad(why,
					   "to, len, access and key: expected each of them once");
			seen |= 1u << i;
			if (!parse_value(out, i, part + n, len - n))
				return bad(why, expected[i]);
		}
	}
	if ((seen & 7) != 7)
		return bad(
			why,
			"expected ?to=N&len=N&access=r, w or rw after the STag; the shell cuts an unquoted URI at &: quote it");
	if (iw_add_wraps(out->to, out->len, &end))
		return bad(why, "to and len together exceed 2^64 - 1");
	return 0;
}

int iw_uri_parse(struct iw_uri *out, const char *text, const char **why)
{
	const char *p = text;
	int err;

	memset(out, 0, sizeof(*out));
	if (strlen(text) >= IW_URI_TEXT)
		return bad(why, "too long for a URI of a buffer");
	err = parse_transport(out, &p, why);
	if (!err)
		err = parse_host(out, &p, why);
	if (!err)
		err = parse_port(out, &p, why);
	if (!err)
		err = parse_stag(out, &p, why);
	return err ? err : parse_query(out, &p, why);
}
