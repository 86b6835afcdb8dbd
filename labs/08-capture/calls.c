/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calls your functions for the grader. You do not change this file. */
#include "fault.h"
#include "harness.h"

static void call_find(struct message *in, struct message *out)
{
	enum transport over = (enum transport)get_u8(in);
	size_t n = get_u32(in), at = SIZE_MAX;
	struct unit *units = (struct unit *)(void *)memory_new(n * sizeof(*units));

	for (size_t i = 0; i < n; i++) {
		const uint8_t *octets;

		units[i].from = (enum end)get_u8(in);
		units[i].kind = (enum unit_kind)get_u8(in);
		octets = get_octets(in, &units[i].len);
		units[i].octets = memory_copy(octets, units[i].len);
	}
	put_u8(out, (uint8_t)fault_find(over, units, n, &at));
	put_u64(out, at);
	for (size_t i = 0; i < n; i++)
		memory_free((uint8_t *)(uintptr_t)units[i].octets);
	memory_free((uint8_t *)units);
}

const struct call calls[] = {
	{ "fault_find", call_find },
	{ 0 },
};
