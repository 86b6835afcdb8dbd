// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Decisions: taken from the rules or from a record, counted, recorded, and reported. */
#include "ddp-impair/decision_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/log.h"
#include "ddp-impair/replay.h"
#include "os/os.h"
#include "util/num.h"
#include "util/text.h"

struct iw_relay_log {
	struct iw_relay_log_cfg cfg;
	const char *path; /* of the record */
	int fd;           /* of the record; -1: none */
	struct iw_json record;
	struct iw_replay *replay; /* NULL: the rules decide */
	uint64_t count[IW_ACTIONS];
};

int iw_relay_log_open(struct iw_relay_log **out, const struct iw_relay_log_cfg *cfg,
		      struct iw_fault *why)
{
	struct iw_relay_log *l = calloc(1, sizeof(*l));

	if (!l)
		return iw_fail(why, IW_E_NOMEM, "out of memory");
	*out = l;
	l->cfg = *cfg;
	l->fd = -1;
	return cfg->replay ? iw_replay_open(&l->replay, cfg->replay, cfg->rules, why) : 0;
}

int iw_relay_log_record(struct iw_relay_log *l, const char *path, struct iw_fault *why)
{
	l->path = path;
	l->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (l->fd < 0)
		return iw_os_fail(why, errno, "%s", path);
	iw_json_init(&l->record, l->fd);
	return 0;
}

int iw_relay_log_close(struct iw_relay_log *l, struct iw_fault *why)
{
	int err = 0;

	if (!l)
		return 0;
	if (l->fd >= 0) {
		if (l->record.err)
			err = iw_os_fail(why, l->record.os_errno, "%s", l->path);
		iw_json_fini(&l->record);
		if (close(l->fd) < 0 && err == 0)
			err = iw_os_fail(why, errno, "%s", l->path);
	}
	iw_replay_close(l->replay);
	free(l);
	return err;
}

/* The opcodes of the unit, separated by commas. */
static const char *ops_text(char *buf, size_t cap, uint64_t ops)
{
	struct iw_text t;

	iw_text_init(&t, buf, cap);
	for (unsigned op = 0; op < IW_UNIT_OPS; op++) {
		if (!(ops & 1ull << op))
			continue;
		iw_text_str(&t, t.len ? "," : "");
		iw_text_str(&t, iw_unit_op_name(op));
	}
	return buf;
}

/* time: with the time of day. */
static void write_line(struct iw_json *w, const struct iw_unit *u, const struct iw_decision *d,
		       bool time)
{
	char ops[200];

	iw_json_begin(w, "decision");
	if (time)
		iw_json_decimal(w, "time_ns", iw_os_wall());
	iw_json_u64(w, "connection", u->conn);
	iw_json_str(w, "from", iw_unit_from_name(u->from));
	iw_json_str(w, "unit", iw_unit_kind_name(u->kind));
	iw_json_u64(w, "number", u->number);
	if (u->ops)
		iw_json_str(w, "opcode", ops_text(ops, sizeof(ops), u->ops));
	iw_json_u64(w, "unit_octets", u->len);
	iw_json_u64(w, "rule", d->rule);
	iw_json_str(w, "action", d->action->text);
	iw_json_u64(w, "choice", d->pick);
	if (d->ns && d->ns != IW_TIME_NEVER)
		iw_json_u64(w, "wait_ns", d->ns);
	/* A failure is kept in w and reported at the end. */
	(void)!iw_json_end(w);
}

static void note(struct iw_relay_log *l, const struct iw_unit *u, const struct iw_decision *d)
{
	char ops[200];

	l->count[d->action->kind]++;
	if (l->fd >= 0)
		write_line(&l->record, u, d, false);
	if (l->cfg.cli->json)
		write_line(&l->cfg.cli->out, u, d, true);
	if (iw_log_on(IW_LOG_INFO))
		iw_log_info("connection %u, from the %s, unit %llu (%s%s%s): rule %u: %s", u->conn,
			    iw_unit_from_name(u->from), (unsigned long long)u->number,
			    iw_unit_kind_name(u->kind), u->ops ? " " : "",
			    ops_text(ops, sizeof(ops), u->ops), d->rule, d->action->text);
}

size_t iw_relay_log_decide(struct iw_relay_log *l, struct iw_rules_flow *f, const struct iw_unit *u,
			   struct iw_decision out[static IW_DECISIONS_MAX])
{
	size_t n = l->replay ? iw_replay_decide(l->replay, u, out)
			     : iw_rules_decide(l->cfg.rules, f, u, out);

	for (size_t i = 0; i < n; i++)
		note(l, u, &out[i]);
	return n;
}

uint64_t iw_relay_log_unused(const struct iw_relay_log *l)
{
	return l->replay ? iw_replay_unused(l->replay) : 0;
}

void iw_relay_log_show_json(const struct iw_relay_log *l, struct iw_json *out)
{
	iw_json_open_array(out, "decisions");
	for (unsigned k = 0; k < IW_ACTIONS; k++) {
		if (!l->count[k])
			continue;
		iw_json_open_object(out, NULL);
		iw_json_str(out, "kind", iw_action_name(k));
		iw_json_u64(out, "count", l->count[k]);
		iw_json_close(out);
	}
	iw_json_close(out);
	if (l->replay)
		iw_json_u64(out, "unused", iw_relay_log_unused(l));
}

void iw_relay_log_show(const struct iw_relay_log *l)
{
	bool any = false;

	for (unsigned k = 0; k < IW_ACTIONS; k++) {
		if (!l->count[k])
			continue;
		printf("%s%llu %s", any ? ", " : "decisions: ", (unsigned long long)l->count[k],
		       iw_action_name(k));
		any = true;
	}
	printf("%s", any ? "" : "no decisions");
	if (iw_relay_log_unused(l))
		printf("; %llu decisions of the record had no unit",
		       (unsigned long long)iw_relay_log_unused(l));
	printf("\n");
}
