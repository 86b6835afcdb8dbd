/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calls your functions for the grader. You do not change this file. */
#include "fault.h"
#include "harness.h"

static struct unit *get_units(struct message *in, size_t n)
{
	struct unit *units = (struct unit *)(void *)memory_new(n * sizeof(*units));

	for (size_t i = 0; i < n; i++) {
		const uint8_t *octets;

		units[i].from = (enum end)get_u8(in);
		units[i].kind = (enum unit_kind)get_u8(in);
		octets = get_octets(in, &units[i].len);
		units[i].octets = memory_copy(octets, units[i].len);
	}
	return units;
}

static void find(struct message *in, struct message *out, size_t times)
{
	enum transport over = (enum transport)get_u8(in);
	size_t n = get_u32(in), at = SIZE_MAX;
	struct unit *units = get_units(in, n);
	enum fault fault = FAULT_NONE;

	while (times--)
		fault = fault_find(over, units, n, &at);
	put_u8(out, (uint8_t)fault);
	put_u64(out, at);
	for (size_t i = 0; i < n; i++)
		memory_free((uint8_t *)(uintptr_t)units[i].octets);
	memory_free((uint8_t *)units);
}

static void call_find(struct message *in, struct message *out)
{
	find(in, out, 1);
}

/* For ./check --speed. */
static void call_repeat(struct message *in, struct message *out)
{
	size_t times = get_u32(in);

	find(in, out, times);
}

const struct call calls[] = {
	{ "fault_find", call_find },
	{ "fault_find_repeat", call_repeat },
	{ 0 },
};
