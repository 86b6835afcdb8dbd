// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Recognizes the listeners of iwarp-tools by their Rejects. */
#include "cli/listener.h"

#include <stdio.h>
#include <string.h>

#include "util/num.h"

const char *iw_cli_listener(const void *private_data, size_t len)
{
	static const struct {
		const char *start;
		size_t len;
		const char *command;
	} known[] = {
		/* A CBOR map of 5 pairs; key 0 is the magic, a text of 12 octets. */
		{ "\xa5\x00\x6c"
		  "ddp-transfer",
		  15, "ddp-recv" },
		{ "iwB", 3, "ddp-bench --listen" },
		{ "this listener serves only sctp-ddp-ping", 39, "sctp-ddp-ping --listen" },
	};

	for (size_t i = 0; i < IW_ARRAY_LEN(known); i++)
		if (len >= known[i].len && memcmp(private_data, known[i].start, known[i].len) == 0)
			return known[i].command;
	return NULL;
}

void iw_cli_wrong_listener(struct iw_fault *why, const void *private_data, size_t len,
			   const char *peer, const char *needed)
{
	const char *found = iw_cli_listener(private_data, len);

	if (found && strcmp(found, needed) != 0)
		snprintf(
			why->text, sizeof(why->text),
			"connect to %s: %s listens there, not %s; start that there, or give its port with -p",
			peer, found, needed);
}
