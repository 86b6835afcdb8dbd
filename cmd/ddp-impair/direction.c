// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A direction of packets, and the report of its counters. */
#include "ddp-impair/direction.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/exit.h"
#include "cli/json.h"
#include "os/os.h"
#include "util/num.h"
#include "util/text.h"

int iw_relay_direction_init(struct iw_relay_direction *d, const struct iw_link_cfg *cfg,
			    struct iw_fault *why)
{
	int err = iw_link_new(&d->link, cfg, &iw_os_heap);

	if (err < 0)
		return iw_fail(why, err, "a link of this kind cannot be made");
	iw_reorder_init(&d->order, d->link, &iw_os_heap);
	return 0;
}

void iw_relay_direction_fini(struct iw_relay_direction *d)
{
	if (!d->link)
		return;
	iw_reorder_fini(&d->order);
	iw_link_free(d->link);
	d->link = NULL;
}

uint64_t iw_relay_direction_deadline(const struct iw_relay_direction *d)
{
	return IW_MIN(iw_link_deadline(d->link), iw_reorder_deadline(&d->order));
}

size_t iw_relay_decide(void *ctx, struct iw_rules_flow *counts, const struct iw_unit *u,
		       struct iw_decision out[static IW_DECISIONS_MAX])
{
	struct iw_relay *r = ctx;

	return iw_relay_log_decide(r->log, counts, u, out);
}

struct iw_flow_cfg iw_relay_flow_cfg(struct iw_relay *r)
{
	return (struct iw_flow_cfg){
		.rules = r->rules, .decide = iw_relay_decide, .ctx = r, .mem = &iw_os_heap
	};
}

/* --- report ----------------------------------------------------------------------------------- */

/* For people only those that are not 0. */
static void show_counts(struct iw_json *out, const struct iw_relay_count *c)
{
	for (; c->name; c++)
		if (out)
			iw_json_u64(out, c->name, c->n);
		else if (c->n)
			printf(" %s %" PRIu64, c->name, c->n);
}

int iw_relay_report(struct iw_relay *r, const struct iw_relay_direction *d, const char *from,
		    const char *to, const struct iw_relay_count *more)
{
	const struct iw_link_stat *st = iw_link_stat(d->link);
	const struct iw_relay_count counts[] = {
		{ "frames", st->frames },       { "octets", st->bytes },
		{ "passed", st->passed },       { "passed_octets", st->passed_bytes },
		{ "lost", st->lost },           { "duplicated", st->duplicated },
		{ "corrupted", st->corrupted }, { "swapped", st->swapped },
		{ "late", st->late },           { "queue_full", st->queue_full },
		{ "hold_full", st->hold_full }, { NULL, 0 },
	};
	struct iw_json *out = r->cli->json ? &r->cli->out : NULL;

	if (!out && r->cli->quiet)
		return 0;
	if (out) {
		iw_json_begin(out, "direction");
		iw_json_str(out, "from", from);
		iw_json_str(out, "to", to);
	} else {
		printf("%s to %s:", from, to);
	}
	show_counts(out, counts);
	show_counts(out, more);
	if (out)
		return iw_json_end(out);
	printf("\n");
	return iw_cli_flush();
}

static int end_json(struct iw_relay *r, const struct iw_relay_count *counts, int status)
{
	struct iw_json *out = &r->cli->out;

	iw_json_begin(out, "result");
	iw_json_str(out, "tool", "ddp-impair");
	show_counts(out, counts);
	iw_relay_log_show_json(r->log, out);
	iw_json_u64(out, "status", (uint64_t)status);
	return iw_json_end(out);
}

static int end_text(const struct iw_relay *r, const struct iw_relay_count *counts)
{
	for (const struct iw_relay_count *c = counts; c->name; c++)
		printf("%s%" PRIu64 " %s", c > counts ? ", " : "", c->n, c->name);
	printf("; ");
	iw_relay_log_show(r->log);
	return iw_cli_flush();
}

int iw_relay_report_end(struct iw_relay *r, const struct iw_relay_count *counts, bool sound)
{
	int status = sound && !iw_relay_log_unused(r->log) ? IW_EXIT_OK : IW_EXIT_NO, err = 0;

	if (r->cli->json)
		err = end_json(r, counts, status);
	else if (!r->cli->quiet)
		err = end_text(r, counts);
	return err < 0 ? IW_EXIT_FAILED : status;
}
