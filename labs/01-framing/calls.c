/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the grader can call: see harness.h. */
#include <string.h>

#include "framing.h"
#include "harness.h"

static struct framer *framer;

static void call_crc32c(struct message *in, struct message *out)
{
	size_t len;
	const uint8_t *octets = get_octets(in, &len);
	uint8_t *copy = memory_copy(octets, len);

	put_u32(out, crc32c(copy, len));
	memory_free(copy);
}

static void call_fpdu_size(struct message *in, struct message *out)
{
	put_u64(out, fpdu_size(get_u64(in)));
}

/* Arguments: cap, ULPDU. Results: the return value, dst, whether the octets before dst are unchanged. */
static void call_fpdu_build(struct message *in, struct message *out)
{
	size_t cap = get_u32(in), len;
	const uint8_t *octets = get_octets(in, &len);
	uint8_t *ulpdu = memory_copy(octets, len), *dst = memory_new(cap);

	put_u64(out, fpdu_build(dst, cap, ulpdu, len));
	put_octets(out, dst, cap);
	put_u8(out, memory_check(dst));
	memory_free(ulpdu);
	memory_free(dst);
}

/* As fpdu_build, with pos before the ULPDU. */
static void call_fpdu_build_marked(struct message *in, struct message *out)
{
	size_t cap = get_u32(in), len;
	uint32_t pos = get_u32(in);
	const uint8_t *octets = get_octets(in, &len);
	uint8_t *ulpdu = memory_copy(octets, len), *dst = memory_new(cap);

	put_u64(out, fpdu_build_marked(dst, cap, pos, ulpdu, len));
	put_octets(out, dst, cap);
	put_u8(out, memory_check(dst));
	memory_free(ulpdu);
	memory_free(dst);
}

/* Results: the status; if it is FPDU_OK, where the ULPDU begins in the stream, its octets, the size. */
static void call_fpdu_parse(struct message *in, struct message *out)
{
	size_t len;
	const uint8_t *octets = get_octets(in, &len);
	uint8_t *stream = memory_copy(octets, len);
	struct fpdu fpdu = { 0 };
	enum fpdu_status status = fpdu_parse(stream, len, &fpdu);

	put_u8(out, (uint8_t)status);
	if (status == FPDU_OK) {
		put_u64(out, fpdu.ulpdu ? (uint64_t)(fpdu.ulpdu - stream) : UINT64_MAX);
		put_u64(out, fpdu.ulpdu_len);
		put_u64(out, fpdu.size);
	}
	memory_free(stream);
}

static void call_framer_new(struct message *in, struct message *out)
{
	(void)in;
	framer = framer_new();
	put_u8(out, framer != NULL);
}

static void call_framer_free(struct message *in, struct message *out)
{
	(void)in;
	(void)out;
	framer_free(framer);
	framer = NULL;
}

static void call_framer_put(struct message *in, struct message *out)
{
	size_t len;
	const uint8_t *octets = get_octets(in, &len);
	uint8_t *copy = memory_copy(octets, len);

	put_u8(out, framer && framer_put(framer, copy, len));
	memory_free(copy); /* so the receiver must have its own copy */
}

/* Results: the status; if it is FPDU_OK, the ULPDU. */
static void call_framer_next(struct message *in, struct message *out)
{
	const uint8_t *ulpdu = NULL;
	size_t len = 0;
	enum fpdu_status status = framer ? framer_next(framer, &ulpdu, &len) : FPDU_MORE;

	(void)in;
	put_u8(out, (uint8_t)status);
	if (status == FPDU_OK)
		put_octets(out, ulpdu, len);
}

/* For --speed. Arguments: n, ULPDU. Builds and parses its FPDU n times. Results: the last FPDU and
 * status. */
static void call_repeat(struct message *in, struct message *out)
{
	uint32_t n = get_u32(in);
	size_t len, cap, size = 0;
	const uint8_t *octets = get_octets(in, &len);
	uint8_t *ulpdu = memory_copy(octets, len), *dst;
	struct fpdu fpdu = { 0 };
	enum fpdu_status status = FPDU_MORE;

	cap = len + 16;
	dst = memory_new(cap);
	while (n--) {
		size = fpdu_build(dst, cap, ulpdu, len);
		status = fpdu_parse(dst, size < cap ? size : cap, &fpdu);
	}
	put_octets(out, dst, size < cap ? size : cap);
	put_u8(out, (uint8_t)status);
	memory_free(ulpdu);
	memory_free(dst);
}

const struct call calls[] = {
	{ "crc32c", call_crc32c },
	{ "fpdu_size", call_fpdu_size },
	{ "fpdu_build", call_fpdu_build },
	{ "fpdu_build_marked", call_fpdu_build_marked },
	{ "fpdu_parse", call_fpdu_parse },
	{ "framer_new", call_framer_new },
	{ "framer_free", call_framer_free },
	{ "framer_put", call_framer_put },
	{ "framer_next", call_framer_next },
	{ "repeat", call_repeat },
	{ 0 },
};
