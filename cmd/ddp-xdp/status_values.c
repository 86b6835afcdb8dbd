// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Values that both writers of a status show: addresses, ports, rates, counts. */
#include "ddp-xdp/internal.h"

#include <stdio.h>
#include <string.h>

#include "util/num.h"
#include "util/text.h"

const char *iw_status_addr(char buf[static IW_ADDR_TEXT], const void *addr)
{
	static const uint8_t any[16];
	struct iw_addr a = { .in6 = { .sin6_family = AF_INET6 }, .len = sizeof(a.in6) };

	if (memcmp(addr, any, sizeof(any)) == 0) {
		snprintf(buf, IW_ADDR_TEXT, "*");
		return buf;
	}
	memcpy(&a.in6.sin6_addr, addr, 16);
	if (IN6_IS_ADDR_V4MAPPED(&a.in6.sin6_addr)) {
		a.in = (struct sockaddr_in){ .sin_family = AF_INET };
		memcpy(&a.in.sin_addr, (const uint8_t *)addr + 12, 4);
		a.len = sizeof(a.in);
	}
	return iw_addr_host(buf, &a);
}

uint16_t iw_status_port(const uint16_t *port)
{
	return iw_get_be16((const uint8_t *)port);
}

uint64_t iw_status_rate(const struct iw_status *l, uint64_t n)
{
	uint64_t ns = l->at - l->at_before;

	return l->at_before && ns ? (uint64_t)((double)n * 1e9 / (double)ns) : 0;
}

static int count_one(void *ctx, const void *key, const void *value)
{
	(void)key;
	(void)value;
	++*(uint64_t *)ctx;
	return 0;
}

uint64_t iw_status_count(const struct iw_status *l, enum iw_steer_what what)
{
	uint64_t n = 0;

	(void)iw_steer_each(l->steer, what, count_one, &n);
	return n;
}

double iw_status_aligned(const struct iw_xdp_mpa *m)
{
	return m->followed ? (double)m->aligned / (double)m->followed : 0;
}

int iw_status_end_line(struct iw_json *w, struct iw_fault *why)
{
	int err = iw_json_end(w);

	return err ? iw_fail(why, err, "standard output: %s", iw_err_text(err)) : 0;
}
