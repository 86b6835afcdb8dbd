// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Placeholders. */
#include "ddp-impair/tap.h"
int iw_tap_open(struct iw_tap **out, const char *path, bool ethernet, struct iw_fault *why)
{
	(void)path;
	(void)ethernet;
	(void)why;
	*out = 0;
	return 0;
}
int iw_tap_close(struct iw_tap *t, struct iw_fault *why)
{
	(void)t;
	(void)why;
	return 0;
}
