// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Pins of public keys, as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/secure.h"

/* printf '\x00\x01...\x1f' | openssl base64 */
#define COUNTED "SHA256:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"

static void pin_has_the_text_that_ssh_prints(void **state)
{
	uint8_t pin[IW_TLS_PIN_LEN];
	char text[IW_CLI_PIN_TEXT];

	(void)state;
	for (size_t i = 0; i < sizeof(pin); i++)
		pin[i] = (uint8_t)i;
	iw_cli_pin_text(text, pin);
	assert_string_equal(text, COUNTED);
}

static void both_forms_are_parsed(void **state)
{
	static const char *const forms[] = {
		COUNTED,
		"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
		"000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F",
	};
	uint8_t pin[IW_TLS_PIN_LEN];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		memset(pin, 0xee, sizeof(pin));
		assert_int_equal(iw_cli_pin_parse(pin, forms[i]), 0);
		for (size_t k = 0; k < sizeof(pin); k++)
			assert_int_equal(pin[k], k);
	}
}

static void other_text_is_refused_and_leaves_the_pin(void **state)
{
	static const char *const bad[] = {
		"",
		"SHA256:",
		"sha256:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
		"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
		COUNTED "=",
		COUNTED " ",
		/* the last two bits are not zero */
		"SHA256:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9",
		"SHA256:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh-",
		"SHA256:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh",
		"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1",
		"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1g",
		"00:01:02:03:04:05:06:07:08:09:0a:0b:0c:0d:0e:0f:10:11:12:13:14:15",
	};
	uint8_t pin[IW_TLS_PIN_LEN];

	(void)state;
	memset(pin, 0xee, sizeof(pin));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (iw_cli_pin_parse(pin, bad[i]) != IW_E_INVAL)
			fail_msg("\"%s\" was accepted", bad[i]);
	assert_int_equal(pin[0], 0xee);
	assert_int_equal(pin[31], 0xee);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pin_has_the_text_that_ssh_prints),
		cmocka_unit_test(both_forms_are_parsed),
		cmocka_unit_test(other_text_is_refused_and_leaves_the_pin),
	};

	return cmocka_run_group_tests_name("cli/pin", tests, NULL, NULL);
}
