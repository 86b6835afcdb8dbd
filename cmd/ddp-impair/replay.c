// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Records of decisions: lines of JSON, as --record writes them, sorted by their units. */
#include "ddp-impair/replay.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"
#include "util/num.h"
#include "util/text.h"

struct entry {
	uint32_t conn;
	enum iw_unit_kind kind;
	unsigned from;
	uint64_t number;
	uint64_t line; /* decisions of one unit keep their order */
	struct iw_decision decision;
};

struct iw_replay {
	struct entry *entry; /* owned, sorted */
	size_t entries, cap;
	uint64_t used;
};

static int compare_units(const struct entry *a, const struct entry *b)
{
	if (a->conn != b->conn)
		return a->conn < b->conn ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static int compare(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;
	int d = compare_units(a, b);

	return d ? d : a->line < b->line ? -1 : a->line > b->line;
}

/* --- lines --- */

/* The line being read. */
struct line {
	const char *path;
	uint64_t number;
	struct json_object *object;
	struct iw_fault *why;
	int err;
};

static void bad(struct line *l, const char *key, const char *expected)
{
	if (l->err == 0)
		l->err = iw_fail(l->why, IW_E_FORMAT, "%s:%U: \"%s\": expected %s", l->path,
				 l->number, key, expected);
}

static uint64_t number(struct line *l, const char *key, uint64_t max, bool needed)
{
	struct json_object *v;
	int64_t n;

	if (!json_object_object_get_ex(l->object, key, &v)) {
		if (needed)
			bad(l, key, "a number");
		return 0;
	}
	n = json_object_get_int64(v);
	if (!json_object_is_type(v, json_type_int) || n < 0 || (uint64_t)n > max)
		bad(l, key, "a number that --record writes");
	return n < 0 ? 0 : (uint64_t)n;
}

static const char *string(struct line *l, const char *key)
{
	struct json_object *v;

	if (json_object_object_get_ex(l->object, key, &v) &&
	    json_object_is_type(v, json_type_string))
		return json_object_get_string(v);
	bad(l, key, "a string");
	return "";
}

static unsigned name(struct line *l, const char *key, const char *(*name_of)(unsigned), unsigned n)
{
	const char *text = string(l, key);

	for (unsigned i = 0; i < n; i++)
		if (strcmp(text, name_of(i)) == 0)
			return i;
	bad(l, key, "a name that --record writes");
	return 0;
}

static const char *kind_name(unsigned kind)
{
	return iw_unit_kind_name(kind);
}

static void read_entry(struct line *l, struct entry *e, struct iw_rules *rules)
{
	struct iw_fault why = { 0 };
	struct json_object *wait;
	const char *action;

	*e = (struct entry){ .line = l->number };
	e->conn = (uint32_t)number(l, "connection", UINT32_MAX, true);
	e->from = name(l, "from", iw_unit_from_name, 2);
	e->kind = name(l, "unit", kind_name, IW_UNIT_KINDS);
	e->number = number(l, "number", INT64_MAX, true);
	e->decision.rule = (uint32_t)number(l, "rule", UINT32_MAX, true);
	e->decision.pick = number(l, "choice", INT64_MAX, true);
	e->decision.ns = number(l, "wait_ns", IW_SEC(86400), false);
	action = string(l, "action");
	if (l->err == 0 &&
	    iw_rules_add_action(rules, e->kind, action, &e->decision.action, &why) < 0)
		l->err = iw_fail(l->why, why.err, "%s:%U: %s", l->path, l->number, why.text);
	/* A wait without end is not written as a number. */
	if (l->err == 0 && e->decision.action->kind == IW_ACTION_STALL &&
	    !json_object_object_get_ex(l->object, "wait_ns", &wait))
		e->decision.ns = IW_TIME_NEVER;
}

static int grow(struct iw_replay *r, struct iw_fault *why)
{
	size_t cap = r->cap ? 2 * r->cap : 64;
	struct entry *p;

	if (r->entries < r->cap)
		return 0;
	p = reallocarray(r->entry, cap, sizeof(*p));
	if (!p)
		return iw_fail(why, IW_E_NOMEM, "out of memory");
	r->entry = p;
	r->cap = cap;
	return 0;
}

static int read_line(struct iw_replay *r, struct line *l, const char *text, struct iw_rules *rules)
{
	const char *event;

	l->object = json_tokener_parse(text);
	l->err = grow(r, l->why);
	if (l->err == 0 && !json_object_is_type(l->object, json_type_object))
		l->err = iw_fail(l->why, IW_E_FORMAT,
				 "%s:%U: not JSON: expected a line that --record wrote", l->path,
				 l->number);
	if (l->err == 0) {
		event = string(l, "event");
		/* The standard output of --json may be used too: other events are skipped. */
		if (l->err == 0 && strcmp(event, "decision") == 0)
			read_entry(l, &r->entry[r->entries++], rules);
	}
	json_object_put(l->object);
	return l->err;
}

static int read_file(struct iw_replay *r, FILE *f, const char *path, struct iw_rules *rules,
		     struct iw_fault *why)
{
	struct line l = { .path = path, .why = why };
	size_t cap = 0;
	char *text = NULL;
	int err = 0;

	while (err == 0 && getline(&text, &cap, f) >= 0) {
		l.number++;
		err = read_line(r, &l, text, rules);
	}
	if (err == 0 && ferror(f))
		err = iw_os_fail(why, errno, "%s", path);
	free(text);
	return err;
}

int iw_replay_open(struct iw_replay **out, const char *path, struct iw_rules *rules,
		   struct iw_fault *why)
{
	struct iw_replay *r = calloc(1, sizeof(*r));
	FILE *f;
	int err;

	if (!r)
		return iw_fail(why, IW_E_NOMEM, "out of memory");
	*out = r;
	f = fopen(path, "re");
	if (!f)
		return iw_os_fail(why, errno, "%s", path);
	err = read_file(r, f, path, rules, why);
	(void)fclose(f);
	if (err == 0 && r->entries)
		qsort(r->entry, r->entries, sizeof(*r->entry), compare);
	return err;
}

void iw_replay_close(struct iw_replay *r)
{
	if (!r)
		return;
	free(r->entry);
	free(r);
}

/* The first entry that is not before the unit. */
static size_t seek(const struct iw_replay *r, const struct entry *key)
{
	size_t low = 0, high = r->entries;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (compare_units(&r->entry[mid], key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

size_t iw_replay_decide(struct iw_replay *r, const struct iw_unit *u,
			struct iw_decision out[static IW_DECISIONS_MAX])
{
	struct entry key = {
		.conn = u->conn, .kind = u->kind, .from = u->from, .number = u->number
	};
	size_t n = 0;

	for (size_t i = seek(r, &key); i < r->entries && n < IW_DECISIONS_MAX; i++) {
		if (compare_units(&r->entry[i], &key) != 0)
			break;
		out[n++] = r->entry[i].decision;
	}
	r->used += n;
	return n;
}

uint64_t iw_replay_unused(const struct iw_replay *r)
{
	return r->entries - IW_MIN(r->used, (uint64_t)r->entries);
}
