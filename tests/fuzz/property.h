/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Properties of every decoder and encoder of wire/. A violation ends the process, so that the
 * fuzzer keeps the input. */
#ifndef TESTS_FUZZ_PROPERTY_H
#define TESTS_FUZZ_PROPERTY_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define must(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition);    \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* A text is one line of visible ASCII, and its length is correct. */
static inline void must_be_one_line(const struct iw_text *t)
{
	must(strlen(t->buf) == t->len);
	for (size_t i = 0; i < t->len; i++)
		must(t->buf[i] >= ' ' && t->buf[i] <= '~');
}

/*
 * decode has decoded n octets of data as *x. encode must restore them in a block of exactly that
 * size, and refuse a smaller one.
 */
#define MUST_ENCODE_BACK(x, n, encode)                                                             \
	do {                                                                                       \
		uint8_t *out_ = malloc((n) ? (size_t)(n) : 1);                                     \
                                                                                                   \
		must(out_);                                                                        \
		must(encode(out_, (size_t)(n), (x)) == (int)(n));                                  \
		must((n) == 0 || memcmp(out_, data, (size_t)(n)) == 0);                            \
		must((n) == 0 || encode(out_, (size_t)(n)-1, (x)) == IW_E_INVAL);                  \
		free(out_);                                                                        \
	} while (0)

/*
 * The same, and the print function writes one line, and a prefix of it if the buffer is too small.
 */
#define MUST_COME_BACK(x, n, encode, print)                                                        \
	do {                                                                                       \
		char whole_[2048], cut_[40];                                                       \
		struct iw_text t_;                                                                 \
                                                                                                   \
		MUST_ENCODE_BACK(x, n, encode);                                                    \
		iw_text_init(&t_, whole_, sizeof(whole_));                                         \
		print(&t_, (x));                                                                   \
		must_be_one_line(&t_);                                                             \
		iw_text_init(&t_, cut_, sizeof(cut_));                                             \
		print(&t_, (x));                                                                   \
		must_be_one_line(&t_);                                                             \
		must(strncmp(whole_, cut_, t_.len) == 0);                                          \
	} while (0)

#endif
