// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Events and totals, as lines. */
#include "ddp-dump/show.h"

#include <errno.h>
#include <stdio.h>
#include <stdio_ext.h>

#include "cli/log.h"
#include "util/num.h"

static void put_line(struct iw_cap_show *s)
{
	if (puts(s->line) < 0 && !s->lost)
		s->lost = errno;
}

/* Local time of day, in the format of tcpdump. */
static void print_time(struct iw_cap_show *s, struct iw_text *t, uint64_t time_ns)
{
	time_t sec = (time_t)(time_ns / 1000000000u);
	uint32_t us = (uint32_t)(time_ns % 1000000000u / 1000);
	char digits[] = ".000000 ";

	if (sec != s->hms_of || !s->hms[0]) {
		struct tm tm;

		if (!localtime_r(&sec, &tm) ||
		    strftime(s->hms, sizeof(s->hms), "%H:%M:%S", &tm) == 0)
			s->hms[0] = '\0';
		s->hms_of = sec;
	}
	for (size_t i = 6; i > 0; i--, us /= 10)
		digits[i] = (char)('0' + us % 10);
	iw_text_str(t, s->hms);
	iw_text_str(t, digits);
}

static size_t explain(struct iw_cap_show *s, const struct iw_cap_event *ev)
{
	return iw_cap_explain(s->field, IW_ARRAY_LEN(s->field), &s->scratch, ev);
}

static void write_explanation(struct iw_cap_show *s, const struct iw_cap_event *ev)
{
	struct iw_cap_explanation x = { .field = s->field, .n = explain(s, ev) };
	struct iw_text t;

	for (;;) {
		iw_text_init(&t, s->line, sizeof(s->line));
		if (!iw_cap_explain_line(&x, &t))
			return;
		put_line(s);
	}
}

static void write_transfer(struct iw_cap_show *s, const struct iw_cap_event *ev)
{
	struct iw_text t;

	if (!iw_cap_transfer_of(ev))
		return;
	iw_text_init(&t, s->line, sizeof(s->line));
	iw_text_str(&t, "    ");
	iw_cap_transfer_print(&t, iw_cap_transfer_of(ev));
	put_line(s);
}

static void write_payload(struct iw_cap_show *s, const struct iw_cap_ddp *e)
{
	struct iw_text t;

	for (size_t at = 0; at < e->payload_len;) {
		iw_text_init(&t, s->line, sizeof(s->line));
		at += iw_cap_hex_line(&t, e->payload, e->payload_len, at);
		put_line(s);
	}
	if (e->payload_len == e->len)
		return;
	iw_text_init(&t, s->line, sizeof(s->line));
	iw_text_fmt(&t, "    %U more octets of payload are not available",
		    (uint64_t)(e->len - e->payload_len));
	put_line(s);
}

static void write_histogram(struct iw_cap_show *s, const struct iw_cap_align *a)
{
	struct iw_text t;
	unsigned at = 0;

	for (;;) {
		iw_text_init(&t, s->line, sizeof(s->line));
		if (!iw_cap_align_line(a, &at, &t))
			return;
		put_line(s);
	}
}

static void write_human(struct iw_cap_show *s, const struct iw_cap_event *ev)
{
	struct iw_text t;

	iw_text_init(&t, s->line, sizeof(s->line));
	if (ev->kind != IW_CAP_ALIGN) {
		print_time(s, &t, ev->time_ns);
		iw_text_fmt(&t, "%U ", ev->frame);
	}
	iw_text_fmt(&t, "#%u %s > %s ", ev->flow->id, ev->flow->name[ev->from],
		    ev->flow->name[1 - ev->from]);
	if (ev->kind == IW_CAP_ALIGN) {
		iw_text_fmt(&t, "%U FPDU%s", ev->align.fpdus, ev->align.fpdus == 1 ? "" : "s");
		put_line(s);
		write_histogram(s, &ev->align);
		return;
	}
	iw_cap_event_print(&t, ev);
	put_line(s);
	write_transfer(s, ev);
	if (s->explain)
		write_explanation(s, ev);
	if (s->payload && ev->kind == IW_CAP_DDP && ev->ddp.has_header)
		write_payload(s, &ev->ddp);
}

static void write_json(struct iw_cap_show *s, const struct iw_cap_event *ev)
{
	struct iw_text t;

	iw_text_init(&t, s->line, sizeof(s->line));
	if (s->explain)
		iw_cap_event_json_explained(&t, ev, s->field, explain(s, ev));
	else
		iw_cap_event_json(&t, ev);
	put_line(s);
}

void iw_cap_show_event(struct iw_cap_show *s, const struct iw_cap_event *ev)
{
	if (s->json)
		write_json(s, ev);
	else
		write_human(s, ev);
}

void iw_cap_show_flush(struct iw_cap_show *s)
{
	if (fflush(stdout) != 0 && !s->lost)
		s->lost = errno;
}

bool iw_cap_show_cut(struct iw_cap_show *s)
{
	if (!s->lost)
		iw_cap_show_flush(s);
	if (s->lost != EPIPE)
		return false;
	__fpurge(stdout);
	clearerr(stdout);
	return true;
}

/* Counters of 0 are omitted, except for dropped frames of a live capture. */
static void totals_human(const struct iw_cap_totals *totals, bool live)
{
	static const struct {
		const char *text;
		size_t offset;
	} rows[] = {
#define IW_X_(name, what) { what, offsetof(struct iw_cap_totals, name) },
		IW_CAP_TOTALS_LIST(IW_X_)
#undef IW_X_
	};
	bool headed = false;

	if (!iw_log_on(IW_LOG_WARN))
		return;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		uint64_t v =
			*(const uint64_t *)(const void *)((const char *)totals + rows[i].offset);
		bool drops = rows[i].offset == offsetof(struct iw_cap_totals, kernel_dropped) ||
			     rows[i].offset == offsetof(struct iw_cap_totals, interface_dropped);

		if (!v && !iw_log_on(IW_LOG_INFO) && !(live && drops))
			continue;
		/* Under the heading of a column, a plural is right for 1 too. */
		if (!headed)
			fprintf(stderr, "%12s\n", "number of");
		headed = true;
		fprintf(stderr, "%12llu %s\n", (unsigned long long)v, rows[i].text);
	}
}

void iw_cap_show_totals(struct iw_cap_show *s, const struct iw_cap_totals *totals, bool live,
			bool complete, int exit_status)
{
	struct iw_text t;

	if (!s->json) {
		totals_human(totals, live);
		return;
	}
	iw_text_init(&t, s->line, sizeof(s->line));
	iw_cap_totals_json(&t, totals, complete, exit_status);
	put_line(s);
}
