/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One run of octets. It has the layout of struct iovec, so transports pass arrays of it to the
 * kernel unchanged.
 */
#ifndef IW_UTIL_VEC_H
#define IW_UTIL_VEC_H

#include <stddef.h>
#include <stdint.h>

struct iw_vec {
	void *base;
	size_t len;
};

#endif
