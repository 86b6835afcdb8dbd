// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Pins of public keys, as text. */
#include <string.h>

#include "cli/secure.h"
#include "cli/text.h"

#define PREFIX       "SHA256:"
#define PREFIX_LEN   7
#define BASE64_CHARS 43 /* of 32 octets, without padding */

void iw_cli_pin_text(char out[IW_CLI_PIN_TEXT], const uint8_t pin[IW_TLS_PIN_LEN])
{
	char base64[IW_BASE64_SIZE(IW_TLS_PIN_LEN)];

	iw_base64(base64, sizeof(base64), pin, IW_TLS_PIN_LEN);
	memcpy(out, PREFIX, PREFIX_LEN);
	memcpy(out + PREFIX_LEN, base64, BASE64_CHARS);
	out[PREFIX_LEN + BASE64_CHARS] = '\0';
}

/* Returns the place of c in digits, or -1. */
static int value_of(const char *digits, char c)
{
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

static int from_base64(uint8_t pin[IW_TLS_PIN_LEN], const char *text)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned bits = 0, held = 0;
	size_t n = 0;

	for (size_t i = 0; i < BASE64_CHARS; i++) {
		int v = value_of(digits, text[i]);

		if (v < 0)
			return IW_E_INVAL;
		held = held << 6 | (unsigned)v;
		bits += 6;
		if (bits < 8)
			continue;
		bits -= 8;
		pin[n++] = (uint8_t)(held >> bits);
		held &= (1u << bits) - 1;
	}
	/* Each pin has one text: the bits that are left must be zero (RFC 4648 3.5). */
	return held == 0 ? 0 : IW_E_INVAL;
}

static int from_hex(uint8_t pin[IW_TLS_PIN_LEN], const char *text)
{
	for (size_t i = 0; i < IW_TLS_PIN_LEN; i++) {
		int high = value_of("0123456789abcdef", (char)(text[2 * i] | 0x20));
		int low = value_of("0123456789abcdef", (char)(text[2 * i + 1] | 0x20));

		if (high < 0 || low < 0)
			return IW_E_INVAL;
		pin[i] = (uint8_t)(high << 4 | low);
	}
	return 0;
}

int iw_cli_pin_parse(uint8_t pin[IW_TLS_PIN_LEN], const char *text)
{
	uint8_t parsed[IW_TLS_PIN_LEN];
	size_t len = strlen(text);
	int err = IW_E_INVAL;

	if (len == 2 * IW_TLS_PIN_LEN)
		err = from_hex(parsed, text);
	else if (len == PREFIX_LEN + BASE64_CHARS && strncmp(text, PREFIX, PREFIX_LEN) == 0)
		err = from_base64(parsed, text + PREFIX_LEN);
	if (!err)
		memcpy(pin, parsed, sizeof(parsed));
	return err;
}
