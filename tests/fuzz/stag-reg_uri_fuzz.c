// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* URIs of Advertisements: a parsed URI is printed so that it parses to the same. */
#include "stag-reg/uri.h"

#include "fuzz/property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1), buf[IW_URI_TEXT];
	struct iw_uri u, again;
	const char *why = NULL;

	must(text);
	if (len)
		memcpy(text, data, len);
	text[len] = '\0';
	if (iw_uri_parse(&u, text, &why) != 0) {
		must(why && *why);
	} else {
		must(u.port && u.access && u.host[0] && u.to + u.len >= u.to);
		must(iw_uri_parse(&again, iw_uri_format(buf, &u), &why) == 0);
		must(memcmp(&u, &again, sizeof(u)) == 0);
	}
	free(text);
	return 0;
}
