// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The text of configuration files: keys that are read have a line, a name and a value without
 * control characters; a message names the line.
 */
#include "cli/config_file.h"

#include "fuzz/property.h"

static void must_be_clean(const char *s)
{
	for (; *s; s++)
		must((unsigned char)*s >= ' ' || *s == '\t');
}

static unsigned lines(const uint8_t *data, size_t len)
{
	unsigned n = 1;

	for (size_t i = 0; i < len; i++)
		n += data[i] == '\n';
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct iw_config_keys keys = { 0 };
	struct iw_fault why = { 0 };
	/* A block of exactly this size, so that the sanitizer sees each read past its end. */
	char *text = malloc(len ? len : 1);
	unsigned last = 0;
	int err;

	must(text);
	if (len)
		memcpy(text, data, len);
	err = iw_config_parse(&keys, "file", text, len, "ddp-recv", &why);
	free(text);
	must(!err || strncmp(why.text, "file:", 5) == 0);
	must(keys.n <= IW_CONFIG_KEYS_MAX);
	for (size_t i = 0; i < keys.n; i++) {
		const struct iw_config_key *k = &keys.at[i];

		must(k->line > last && k->line <= lines(data, len));
		must(k->key[0] && strlen(k->key) + strlen(k->value) < IW_CONFIG_LINE_MAX);
		must_be_clean(k->key);
		must_be_clean(k->value);
		last = k->line;
	}
	iw_config_keys_fini(&keys);
	return 0;
}
