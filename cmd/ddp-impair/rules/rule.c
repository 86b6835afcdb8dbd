// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sets of rules. */
#include "ddp-impair/rules/rule.h"

#include <string.h>

#include "ddp-impair/rules/internal.h"
#include "util/num.h"
#include "util/text.h"

int iw_rules_new(struct iw_rules **out, enum iw_rule_carrier carrier, uint64_t seed,
		 iw_rule_load_fn *load, void *load_ctx, const struct iw_mem *mem)
{
	struct iw_rules *r = iw_mem_alloc(mem, sizeof(*r));

	if (!r)
		return IW_E_NOMEM;
	*r = (struct iw_rules){
		.mem = mem, .carrier = carrier, .seed = seed, .load = load, .load_ctx = load_ctx
	};
	*out = r;
	return 0;
}

/* A rule and the text that it refers to. */
struct owned {
	struct iw_rule rule;
	size_t size;
	char text[];
};

static void rule_free(struct iw_rules *r, struct iw_rule *rule)
{
	struct owned *o = iw_container_of(rule, struct owned, rule);

	iw_mem_free(r->mem, (void *)(uintptr_t)rule->action.octets, IW_RULE_INJECT_MAX);
	iw_mem_free(r->mem, o, o->size);
}

void iw_rules_free(struct iw_rules *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->rules; i++)
		rule_free(r, r->rule[i]);
	for (size_t i = 0; i < r->extra_actions; i++)
		rule_free(r, r->extra_action[i]);
	iw_mem_free(r->mem, r->rule, r->cap * sizeof(struct iw_rule *));
	iw_mem_free(r->mem, r->extra_action, r->extra_cap * sizeof(struct iw_rule *));
	iw_mem_free(r->mem, r, sizeof(*r));
}

static struct iw_rule *rule_new(struct iw_rules *r, const char *text)
{
	size_t len = strlen(text), size = sizeof(struct owned) + len + 1;
	struct owned *o = iw_mem_alloc(r->mem, size);

	if (!o)
		return NULL;
	o->size = size;
	memcpy(o->text, text, len + 1);
	o->rule = (struct iw_rule){ .from = 3,
				    .len = { 0, UINT64_MAX },
				    .until_ns = IW_TIME_NEVER,
				    .prob = IW_RULE_PROB_ALL };
	return &o->rule;
}

static int append(struct iw_rules *r, struct iw_rule ***list, size_t *n, size_t *cap,
		  struct iw_rule *rule)
{
	if (*n == *cap) {
		size_t more = *cap ? 2 * *cap : 8;
		struct iw_rule **p = iw_mem_array(r->mem, more, sizeof(struct iw_rule *));

		if (!p)
			return IW_E_NOMEM;
		if (*n)
			memcpy(p, *list, *n * sizeof(struct iw_rule *));
		iw_mem_free(r->mem, *list, *cap * sizeof(struct iw_rule *));
		*list = p;
		*cap = more;
	}
	(*list)[(*n)++] = rule;
	return 0;
}

static struct iw_rule_parse start(struct iw_rules *r, struct iw_rule *rule, struct iw_fault *why)
{
	struct owned *o = iw_container_of(rule, struct owned, rule);

	return (struct iw_rule_parse){
		.text = o->text, .len = strlen(o->text), .set = r, .rule = rule, .why = why
	};
}

int iw_rules_add(struct iw_rules *r, const char *text, struct iw_fault *why)
{
	struct iw_rule *rule;
	struct iw_rule_parse s;
	int err;

	if (strlen(text) > IW_RULE_TEXT)
		return iw_fail(
			why, IW_E_INVAL,
			"rule of %U characters: expected at most %U; inject takes long octets from @FILE",
			(uint64_t)strlen(text), (uint64_t)IW_RULE_TEXT);
	if (r->rules == IW_RULES_MAX)
		return iw_fail(why, IW_E_LIMIT, "more than %U rules", (uint64_t)IW_RULES_MAX);
	rule = rule_new(r, text);
	if (!rule)
		return iw_fail(why, IW_E_NOMEM, "out of memory");
	s = start(r, rule, why);
	err = iw_rule_parse_conditions(&s);
	if (err == 0)
		err = iw_rule_parse_action(&s);
	if (err == 0 && append(r, &r->rule, &r->rules, &r->cap, rule) < 0)
		err = iw_fail(why, IW_E_NOMEM, "out of memory");
	if (err < 0)
		rule_free(r, rule);
	else
		r->kinds |= 1u << rule->kind;
	return err;
}

int iw_rules_add_action(struct iw_rules *r, enum iw_unit_kind kind, const char *text,
			const struct iw_action **out, struct iw_fault *why)
{
	struct iw_rule *rule;
	struct iw_rule_parse s;
	int err;

	for (size_t i = 0; i < r->extra_actions; i++) {
		rule = r->extra_action[i];
		if (rule->kind == kind && strcmp(rule->action.text, text) == 0) {
			*out = &rule->action;
			return 0;
		}
	}
	rule = rule_new(r, text);
	if (!rule)
		return iw_fail(why, IW_E_NOMEM, "out of memory");
	rule->kind = kind;
	s = start(r, rule, why);
	err = iw_rule_parse_action(&s);
	if (err == 0 && append(r, &r->extra_action, &r->extra_actions, &r->extra_cap, rule) < 0)
		err = iw_fail(why, IW_E_NOMEM, "out of memory");
	if (err < 0)
		rule_free(r, rule);
	else
		*out = &rule->action;
	return err;
}

size_t iw_rules_count(const struct iw_rules *r)
{
	return r->rules;
}

bool iw_rules_use(const struct iw_rules *r, enum iw_unit_kind kind)
{
	return r->kinds & 1u << kind;
}

int iw_rules_flow_init(struct iw_rules_flow *f, const struct iw_rules *r)
{
	f->n = r->rules;
	f->count = NULL;
	if (f->n == 0)
		return 0;
	f->count = iw_mem_array(r->mem, f->n, sizeof(*f->count));
	return f->count ? 0 : IW_E_NOMEM;
}

void iw_rules_flow_fini(struct iw_rules_flow *f, const struct iw_rules *r)
{
	iw_mem_free(r->mem, f->count, f->n * sizeof(*f->count));
	f->count = NULL;
	f->n = 0;
}
