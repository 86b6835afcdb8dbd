// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The file of --psk-file. */
#include "cli/psk_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/private_file.h"
#include "os/os.h"
#include "util/text.h"

#define DIGITS_MIN (2 * IW_TLS_PSK_MIN)
#define DIGITS_MAX (2 * IW_TLS_PSK_MAX)

void iw_psk_wipe(struct iw_psk *psk)
{
	explicit_bzero(psk, sizeof(*psk));
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *parse(struct iw_psk *out, const char *text, size_t len)
{
	if (len > 0 && text[len - 1] == '\n')
		len--;
	if (len > 0 && text[len - 1] == '\r')
		len--;
	if (len == 0)
		return "empty";
	for (size_t i = 0; i < len; i++)
		if (digit(text[i]) < 0)
			return "a character that is not a hex digit";
	if (len < DIGITS_MIN)
		return "too short";
	if (len > DIGITS_MAX)
		return "too long";
	if (len % 2)
		return "an odd number of hex digits";
	for (size_t i = 0; i < len / 2; i++)
		out->key[i] = (uint8_t)(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
	out->len = len / 2;
	return NULL;
}

int iw_psk_parse(struct iw_psk *out, const char *text, size_t len, const char **why)
{
	*why = parse(out, text, len);
	if (!*why)
		return 0;
	iw_psk_wipe(out);
	return IW_E_INVAL;
}

int iw_psk_read(struct iw_psk *out, const char *path, struct iw_fault *why)
{
	char text[DIGITS_MAX + 3]; /* more than the longest valid file, with CR and LF */
	const char *fault;
	ssize_t n;
	int fd = iw_private_open(path, "--psk-file", why), err;

	if (fd < 0)
		return fd;
	n = read(fd, text, sizeof(text));
	err = n < 0 ? iw_os_fail(why, errno, "--psk-file %s", path) : 0;
	close(fd);
	if (!err && iw_psk_parse(out, text, (size_t)n, &fault) != 0)
		err = iw_fail(
			why, IW_E_INVAL,
			"--psk-file %s: %s; expected one line of %u to %u hex digits; `openssl rand -hex 32` makes one",
			path, fault, (uint32_t)DIGITS_MIN, (uint32_t)DIGITS_MAX);
	explicit_bzero(text, sizeof(text));
	return err;
}
