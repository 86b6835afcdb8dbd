// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Detects missing values of options, because getopt takes the next option as the value. */
#include "cli/value.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/text.h"
#include "util/num.h"

struct wanted {
	int letter; /* 0: the long name */
	const char *name;
	size_t len;
	bool prefix; /* the name may be abbreviated */
};

/* The options that argp adds to every parser. */
static const struct argp_option argp_own[] = {
	{ "help", '?', NULL, 0, NULL, 0 },
	{ "usage", 1, NULL, 0, NULL, 0 },
	{ "version", 'V', NULL, 0, NULL, 0 },
	{ 0 },
};

static bool fits(const struct argp_option *o, const struct wanted *w)
{
	if (w->letter)
		return o->key == w->letter;
	return o->name && strncmp(o->name, w->name, w->len) == 0 &&
	       (w->prefix || o->name[w->len] == '\0');
}

static const struct argp_option *find(const struct argp *argp, const struct wanted *w)
{
	const struct argp_option *found = NULL;

	for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc); o++)
		if (fits(o, w))
			return o;
	for (const struct argp_child *c = argp->children; c && c->argp && !found; c++)
		found = find(c->argp, w);
	return found;
}

static const struct argp_option *find_any(const struct argp *argp, const struct wanted *w)
{
	const struct argp own = { .options = argp_own };
	const struct argp_option *found = find(argp, w);

	return found ? found : find(&own, w);
}

static const struct argp_option *find_long(const struct argp *argp, const char *name)
{
	struct wanted w = { .name = name, .len = strcspn(name, "=") };
	const struct argp_option *found = find_any(argp, &w);

	w.prefix = true;
	return found ? found : find_any(argp, &w);
}

static bool needs_value(const struct argp_option *o)
{
	return o->arg && !(o->flags & OPTION_ARG_OPTIONAL);
}

/*
 * True if arg consists of options of the tool. Sets *next to the option whose value is the next
 * argument; NULL: none.
 */
static bool is_option(const struct argp *argp, const char *arg, const struct argp_option **next)
{
	const struct argp_option *o = NULL;

	*next = NULL;
	if (arg[0] != '-' || arg[1] == '\0')
		return false;
	if (strncmp(arg, "--", 2) == 0) {
		if (arg[2] == '\0')
			return true;
		o = find_long(argp, arg + 2);
		*next = o && needs_value(o) && !strchr(arg, '=') ? o : NULL;
		return o;
	}
	for (const char *p = arg + 1; *p != '\0'; p++) {
		o = find_any(argp, &(struct wanted){ .letter = *p });
		if (!o || o->arg) {
			*next = o && needs_value(o) && p[1] == '\0' ? o : NULL;
			return o;
		}
	}
	return true;
}

/* True for an option whose value may begin with a dash. */
static bool is_text(const struct argp_option *o)
{
	static const char *const kinds[] = { "PATTERN", "FILE", "PATH", "DIR", "DATA", "COMMAND" };

	for (size_t i = 0; i < IW_ARRAY_LEN(kinds); i++)
		if (strcmp(o->arg, kinds[i]) == 0)
			return true;
	return false;
}

static void complain(const struct argp_state *state, const struct argp_option *o,
		     const char *option, const char *value)
{
	bool is_long = option[1] == '-';
	const char *dash = is_long ? "" : "-";
	const char *name = is_long ? option : option + strlen(option) - 1;
	char shown[100];

	iw_printable(shown, sizeof(shown), value, strlen(value), true);
	if (!is_text(o))
		argp_error(state, "%s%s needs a value, %s; `%s` is an option", dash, name, o->arg,
			   shown);
	argp_error(state,
		   "%s%s needs a value, %s; `%s` is an option (write %s%s%s%s if that is meant)",
		   dash, name, o->arg, shown, dash, name, is_long ? "=" : "", shown);
}

void iw_cli_check_values(const struct argp *argp, int argc, char **argv, unsigned int flags)
{
	const char *slash = strrchr(argv[0], '/');
	char *name = slash ? argv[0] + (slash + 1 - argv[0]) : argv[0];
	const struct argp_state state = { .root_argp = argp, .name = name, .err_stream = stderr };

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		const struct argp_option *next, *ignored;

		if (!is_option(argp, argv[i], &next) && argv[i][0] != '-' && flags & ARGP_IN_ORDER)
			return;
		if (!next || ++i == argc)
			continue;
		if (is_option(argp, argv[i], &ignored))
			complain(&state, next, argv[i - 1], argv[i]);
	}
}

/* Returns the last option in arg; NULL: it has none that is known. */
static const struct argp_option *call_each(const struct argp *argp, const char *arg,
					   void (*fn)(const struct argp_option *o, void *ctx),
					   void *ctx)
{
	const struct argp_option *o = NULL;

	if (arg[1] == '-') {
		o = find_long(argp, arg + 2);
		if (o)
			fn(o, ctx);
		return o;
	}
	for (const char *p = arg + 1; *p != '\0'; p++) {
		o = find_any(argp, &(struct wanted){ .letter = *p });
		if (!o)
			return NULL;
		fn(o, ctx);
		if (o->arg)
			return o;
	}
	return o;
}

void iw_cli_each_option(const struct argp *argp, int argc, char **argv, unsigned int flags,
			void (*fn)(const struct argp_option *o, void *ctx), void *ctx)
{
	const struct argp_option *next, *last;

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (argv[i][0] != '-' || argv[i][1] == '\0') {
			if (flags & ARGP_IN_ORDER)
				return;
			continue;
		}
		last = call_each(argp, argv[i], fn, ctx);
		(void)is_option(argp, argv[i], &next);
		if (last && next)
			i++;
	}
}
