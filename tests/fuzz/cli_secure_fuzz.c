// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Text with keys. The first octet chooses a line of known_hosts, a PSK file or a pin. What is
 * accepted is printed so that it parses to the same.
 */
#include "cli/known_hosts.h"
#include "cli/psk_file.h"
#include "cli/secure.h"
#include "fuzz/property.h"

static void line(const char *text, size_t len)
{
	char again[IW_KNOWN_NAME + IW_CLI_PIN_TEXT], key[IW_CLI_PIN_TEXT];
	struct iw_known_line l, m;
	const char *why = NULL;
	int n;

	if (iw_known_parse(&l, text, len, &why) != 0) {
		must(why && *why);
		return;
	}
	if (!l.name)
		return;
	must(l.len > 0 && l.len < IW_KNOWN_NAME && l.name == text);
	iw_cli_pin_text(key, l.pin);
	n = snprintf(again, sizeof(again), "%.*s %s", (int)l.len, l.name, key);
	must(iw_known_parse(&m, again, (size_t)n, &why) == 0 && m.name);
	must(m.len == l.len && memcmp(m.name, l.name, l.len) == 0);
	must(memcmp(m.pin, l.pin, sizeof(l.pin)) == 0);
}

static void secret(const char *text, size_t len)
{
	char again[2 * IW_TLS_PSK_MAX + 1];
	struct iw_psk p, q;
	const char *why = NULL;

	if (iw_psk_parse(&p, text, len, &why) != 0) {
		must(why && *why && p.len == 0);
		return;
	}
	must(p.len >= IW_TLS_PSK_MIN && p.len <= IW_TLS_PSK_MAX && len >= 2 * p.len);
	for (size_t i = 0; i < p.len; i++)
		snprintf(again + 2 * i, 3, "%02x", p.key[i]);
	must(iw_psk_parse(&q, again, 2 * p.len, &why) == 0);
	must(q.len == p.len && memcmp(q.key, p.key, p.len) == 0);
}

static void pin(const char *text)
{
	uint8_t a[IW_TLS_PIN_LEN], b[IW_TLS_PIN_LEN];
	char again[IW_CLI_PIN_TEXT];

	if (iw_cli_pin_parse(a, text) != 0)
		return;
	iw_cli_pin_text(again, a);
	must(iw_cli_pin_parse(b, again) == 0 && memcmp(a, b, sizeof(a)) == 0);
	/* In this form each pin has one text. */
	must(text[0] != 'S' || strcmp(text, again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	size_t n = len ? len - 1 : 0;
	char *text = malloc(n + 1);

	must(text);
	if (n)
		memcpy(text, data + 1, n);
	text[n] = '\0';
	if (len && data[0] % 3 == 0)
		line(text, n);
	else if (len && data[0] % 3 == 1)
		secret(text, n);
	else
		pin(text);
	free(text);
	return 0;
}
