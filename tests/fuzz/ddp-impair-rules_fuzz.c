// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Rules and units. The first line of the input is a rule; what follows are octets of an initiator
 * and of a responder. What is parsed must be decided and edited without a fault, the units must cover
 * the octets, and a second run must decide the same.
 */
#include <stdlib.h>

#include "ddp-impair/rules/edit.h"
#include "ddp-impair/rules/framer.h"
#include "fuzz/property.h"
#include "os/os.h"
#include "util/num.h"

#define DECIDED 64

struct run {
	struct iw_rules *rules;
	struct iw_framer framer;
	struct iw_rules_flow flow[2];
	uint64_t pick[DECIDED];
	size_t decided;
};

static void edit(struct run *r, struct iw_unit *u, const uint8_t *p)
{
	struct iw_decision d[IW_DECISIONS_MAX];
	uint8_t *flat = malloc(u->len + 1);
	size_t n, len;

	must(flat);
	iw_framer_unmark(u, flat, p);
	u->octets = flat;
	u->have = u->len;
	n = iw_rules_decide(r->rules, &r->flow[u->from], u, d);
	for (size_t i = 0; i < n; i++) {
		if (r->decided < DECIDED)
			r->pick[r->decided++] = d[i].pick ^ d[i].ns;
		len = u->len;
		if (iw_edit_is(d[i].action->kind) && iw_edit_apply(&d[i], u, flat, &len))
			must(len <= u->len);
	}
	iw_framer_take(&r->framer, u, NULL);
	free(flat);
}

static void read_side(struct run *r, unsigned from, const uint8_t *p, size_t len)
{
	struct iw_unit u;

	while (len && iw_framer_peek(&r->framer, from, p, len, true, 0, &u)) {
		must(u.wire_len > 0);
		must(u.header_len + u.trailer_len <= u.len || u.kind != IW_UNIT_FPDU);
		if (u.wire_len > len)
			break;
		edit(r, &u, p);
		p += u.wire_len;
		len -= u.wire_len;
	}
	must(len == 0);
}

static void run(struct run *r, const char *rule, const uint8_t *data, size_t len)
{
	struct iw_fault why = { 0 };
	size_t half = len ? IW_MIN(len - 1, (size_t)data[0] * 16) : 0;

	must(iw_rules_new(&r->rules, IW_RULE_TCP, 5, NULL, NULL, &iw_os_heap) == 0);
	if (iw_rules_add(r->rules, rule, &why) < 0) {
		must(why.text[0]);
		must(iw_rules_add(r->rules, "fpdu: flip-bit any fix-crc", &why) == 0);
	}
	for (unsigned i = 0; i < 2; i++)
		must(iw_rules_flow_init(&r->flow[i], r->rules) == 0);
	iw_framer_init(&r->framer, 1);
	/* The Reply is read before the FPDUs of the initiator. */
	if (len) {
		struct iw_unit u;

		if (iw_framer_peek(&r->framer, 0, data + 1, half, false, 0, &u) &&
		    u.wire_len <= half) {
			iw_framer_take(&r->framer, &u, NULL);
			read_side(r, 1, data + 1 + half, len - 1 - half);
			read_side(r, 0, data + 1 + u.wire_len, half - u.wire_len);
		} else {
			read_side(r, 0, data + 1, half);
			read_side(r, 1, data + 1 + half, len - 1 - half);
		}
	}
	for (unsigned i = 0; i < 2; i++)
		iw_rules_flow_fini(&r->flow[i], r->rules);
	iw_rules_free(r->rules);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct run a, b;
	const uint8_t *line = len ? memchr(data, '\n', len) : NULL;
	size_t n = line ? (size_t)(line - data) : IW_MIN(len, (size_t)200);
	char rule[300] = "";

	if (n >= sizeof(rule))
		return 0;
	if (n)
		memcpy(rule, data, n);
	n += line != NULL;
	a.decided = b.decided = 0;
	run(&a, rule, data + n, len - n);
	run(&b, rule, data + n, len - n);
	must(a.decided == b.decided && memcmp(a.pick, b.pick, a.decided * sizeof(a.pick[0])) == 0);
	return 0;
}
