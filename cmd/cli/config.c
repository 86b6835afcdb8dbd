// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Configuration files: from keys to arguments.
 *
 * A key whose option occurs again with a higher rank is replaced: the command line, then the user's
 * file, then the system's; in a file the section of the tool, then [all].
 */
#include "cli/config.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/config_file.h"
#include "cli/config_read.h"
#include "cli/config_trial.h"
#include "cli/conn.h"
#include "cli/secure.h"
#include "cli/text.h"
#include "cli/value.h"
#include "util/num.h"

#define TEXT 400

/* A key, with the option that it sets. */
struct setting {
	const struct iw_config_key *key;
	unsigned file;
	const struct argp_option *option;
	char *arg;     /* "--option=value"; NULL: the value is no. Owned */
	bool replaced; /* by one of a higher rank */
	bool used;
	char why[TEXT]; /* it was left out; "": not */
};

static struct {
	bool applied;
	bool withheld; /* no setting is used, because the parser refuses the command line alone */
	struct iw_config result;
	struct iw_config_keys keys[IW_CONFIG_FILES];
	struct setting *at;
	size_t n;
	char **argv; /* of the parser */
} config;

/* The parse for which the settings are. */
struct parse {
	const struct argp *argp;
	int argc;
	char **argv;
	unsigned int flags;
	void *input;
};

__attribute__((noreturn, format(printf, 3, 4))) static void end(const struct parse *p, int status,
								const char *fmt, ...)
{
	const char *slash = strrchr(p->argv[0], '/');
	va_list ap;

	fprintf(stderr, "%s: ", slash ? slash + 1 : p->argv[0]);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(status);
}

/* --- from a key to an option ------------------------------------------------------------------- */

/* The options for [all]. */
static const struct argp *const shared[] = { &iw_cli_argp,         &iw_cli_interface_argp,
					     &iw_cli_control_argp, &iw_cli_report_argp,
					     &iw_cli_conn_argp,    &iw_cli_secure_argp };

/* Options of encryption. Leaving one out must not go unnoticed. */
static const char *const protecting[] = {
	"tls", "cert", "key", "ca", "psk-file", "pin", "require-encryption"
};
#define REQUIRE "require-encryption"

/* Options that choose what the tool does, and those that act at once. */
static const char *const refused[] = { "help",   "usage", "version", "doctor",  "no-config",
				       "listen", "to",    "from",    "show-key" };

static bool is_in(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static bool is_shared(const struct argp *argp)
{
	for (size_t i = 0; i < IW_ARRAY_LEN(shared); i++)
		if (shared[i] == argp)
			return true;
	return false;
}

/*
 * only_shared: the options for [all]. Options without help text are not for users. A tool may use
 * the name of a shared option for an option of its own.
 */
static const struct argp_option *find(const struct argp *argp, const char *name, bool only_shared)
{
	const struct argp_option *found = NULL;
	bool fits = !only_shared || is_shared(argp);

	for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc); o++)
		if (fits && o->name && strcmp(o->name, name) == 0 && !(o->flags & OPTION_HIDDEN))
			return o;
	for (const struct argp_child *c = argp->children; c && c->argp && !found; c++)
		found = find(c->argp, name, !fits);
	return found;
}

static bool exists_for_all(const char *name)
{
	for (size_t i = 0; i < IW_ARRAY_LEN(shared); i++)
		if (find(shared[i], name, false))
			return true;
	return false;
}

/* Returns the option of a key. NULL: one of [all] that this tool does not have. */
static const struct argp_option *option_of(const struct parse *p, const struct iw_cli *cli,
					   const char *path, const struct iw_config_key *key)
{
	const struct argp_option *o;
	char shown[80];

	iw_printable(shown, sizeof(shown), key->key, strlen(key->key), true);
	if (is_in(refused, IW_ARRAY_LEN(refused), key->key))
		end(p, IW_EXIT_USAGE, "%s:%u: \"%s\": only for the command line; leave it out",
		    path, key->line, shown);
	o = find(p->argp, key->key, key->all);
	if (o || (key->all && exists_for_all(key->key)))
		return o;
	if (key->all)
		end(p, IW_EXIT_USAGE,
		    "%s:%u: \"%s\": not an option that tools share; write it into the section of a tool, such as [%s]",
		    path, key->line, shown, cli->tool);
	end(p, IW_EXIT_USAGE, "%s:%u: \"%s\": not a long option of %s; %s --help lists them", path,
	    key->line, shown, cli->tool, cli->tool);
}

/* --- from a value to an argument --------------------------------------------------------------- */

/* An option without an argument, or the words yes and no for one that may have an argument. */
static bool is_switch(const struct argp_option *o, const char *value)
{
	bool yes_no = strcmp(value, "yes") == 0 || strcmp(value, "no") == 0;

	return !o->arg || (o->flags & OPTION_ARG_OPTIONAL && yes_no);
}

/* Such as --require-encryption=no. */
static bool takes_no(const struct argp_option *o)
{
	return o->arg && (strcmp(o->arg, "no") == 0 || strcmp(o->arg, "yes|no") == 0);
}

static char *join(const char *name, const char *value)
{
	char *arg = NULL;

	if (asprintf(&arg, value ? "--%s=%s" : "--%s", name, value) < 0)
		return NULL;
	return arg;
}

static void add_setting(const struct parse *p, unsigned file, const struct iw_config_key *key,
			const struct argp_option *o)
{
	const char *path = config.result.files[file].path, *value = key->value;
	struct setting *s = &config.at[config.n++];
	char shown[80];

	*s = (struct setting){ .key = key, .file = file, .option = o };
	if (!is_switch(o, value)) {
		s->arg = join(o->name, value);
	} else if (strcmp(value, "yes") == 0) {
		s->arg = join(o->name, NULL);
	} else if (strcmp(value, "no") == 0) {
		if (!takes_no(o))
			return;
		s->arg = join(o->name, value);
	} else {
		iw_printable(shown, sizeof(shown), value, strlen(value), true);
		end(p, IW_EXIT_USAGE, "%s:%u: %s \"%s\": expected yes or no", path, key->line,
		    o->name, shown);
	}
	if (!s->arg)
		end(p, IW_EXIT_FAILED, "%s:%u: no memory", path, key->line);
}

/* --- precedence -------------------------------------------------------------------------------- */

static unsigned rank(const struct setting *s)
{
	return 2 * s->file + !s->key->all;
}

/* An option with a value may occur several times in one section, such as --pin. */
static bool replaces(const struct setting *s, const struct setting *old)
{
	if (s->option != old->option || s == old)
		return false;
	if (rank(s) != rank(old))
		return rank(s) > rank(old);
	return !s->option->arg && s > old;
}

static void replace_lower(void)
{
	for (size_t i = 0; i < config.n; i++)
		for (size_t j = 0; j < config.n; j++)
			if (replaces(&config.at[j], &config.at[i]))
				config.at[i].replaced = true;
}

/* Called for an option of the command line. */
static void replace_given(const struct argp_option *o, void *ctx)
{
	(void)ctx;
	for (size_t i = 0; i < config.n; i++)
		if (config.at[i].option == o)
			config.at[i].replaced = true;
}

/* --- which options the parser accepts ---------------------------------------------------------- */

static bool is_candidate(const struct setting *s)
{
	return s->arg && !s->replaced;
}

/* Fills config.argv: the settings that are used, then the command line. Returns their number. */
static int fill_argv(const struct parse *p)
{
	int n = 0;

	config.argv[n++] = p->argv[0];
	for (size_t i = 0; i < config.n; i++)
		if (config.at[i].used)
			config.argv[n++] = config.at[i].arg;
	for (int i = 1; i < p->argc; i++)
		config.argv[n++] = p->argv[i];
	config.argv[n] = NULL;
	return n;
}

static void use_only(const struct setting *only)
{
	for (size_t i = 0; i < config.n; i++)
		config.at[i].used = &config.at[i] == only;
}

/* True if the parser accepts the settings that are used together with the command line. */
static bool accepted(const struct parse *p, char text[static TEXT])
{
	int argc = fill_argv(p);

	return iw_config_try(p->argp, argc, config.argv, p->flags, p->input, false, text, TEXT);
}

/* A value that is wrong is an error of the file, whatever the command line has. */
static void check_values(const struct parse *p)
{
	struct parse alone = *p;
	char text[TEXT];

	alone.argc = 1;
	for (size_t i = 0; i < config.n; i++) {
		const struct setting *s = &config.at[i];

		if (!s->arg)
			continue;
		use_only(s);
		if (!iw_config_try(p->argp, fill_argv(&alone), config.argv, p->flags, p->input,
				   true, text, sizeof(text)))
			end(p, IW_EXIT_USAGE, "%s:%u: %s", config.result.files[s->file].path,
			    s->key->line, text);
	}
}

/*
 * --require-encryption stays, or the tool ends. Returns false if the command line is wrong by
 * itself: its own message is the one to show.
 */
static bool begin_with_required(const struct parse *p)
{
	struct setting *require = NULL;
	char text[TEXT];

	for (size_t i = 0; i < config.n; i++)
		if (is_candidate(&config.at[i]) && strcmp(config.at[i].option->name, REQUIRE) == 0)
			require = &config.at[i];
	use_only(NULL);
	if (!accepted(p, text))
		return false;
	use_only(require);
	if (!require || accepted(p, text))
		return true;
	end(p, IW_EXIT_USAGE, "%s:%u: %s", config.result.files[require->file].path,
	    require->key->line, text);
}

/* Uses each further setting with which the parser accepts the whole. */
static bool add_accepted(const struct parse *p)
{
	bool more = false;

	for (size_t i = config.n; i-- > 0;) {
		struct setting *s = &config.at[i];

		if (!is_candidate(s) || s->used)
			continue;
		s->used = true;
		s->used = accepted(p, s->why);
		more = more || s->used;
	}
	return more;
}

static void choose(const struct parse *p)
{
	char text[TEXT];

	for (size_t i = 0; i < config.n; i++)
		config.at[i].used = is_candidate(&config.at[i]);
	if (accepted(p, text))
		return;
	check_values(p);
	config.withheld = !begin_with_required(p);
	if (config.withheld)
		return;
	/* Again, because an option may need another one of the file. */
	while (add_accepted(p))
		;
}

/* --- the calls ---------------------------------------------------------------------------------- */

/*
 * The parser has accepted what it refused on trial. Without the settings, encryption could be
 * missing.
 */
void iw_cli_config_parsed(const struct iw_cli *cli)
{
	if (!config.withheld)
		return;
	iw_log_setup(cli->tool, cli->level);
	iw_log_error(
		"the configuration files do not fit these arguments; change them, or give --no-config");
	exit(IW_EXIT_FAILED);
}

static void note_exempt(const struct argp_option *o, void *ctx)
{
	/* What the end that ssh starts does is the choice of the end that starts it. */
	static const char *const names[] = { "help", "usage", "version", "no-config",
					     "ssh-server" };
	bool *exempt = ctx;

	*exempt = *exempt || o->key == 'h' ||
		  (o->name && is_in(names, IW_ARRAY_LEN(names), o->name));
}

/* The command line has an option with which no file is read. Also after the name of a command. */
static bool is_exempt(const struct parse *p)
{
	bool exempt = false;

	iw_cli_each_option(p->argp, p->argc, p->argv, p->flags, note_exempt, &exempt);
	for (int i = 1; i < p->argc && strcmp(p->argv[i], "--") != 0; i++)
		exempt = exempt || strcmp(p->argv[i], "--no-config") == 0;
	return exempt;
}

static void read_files(const struct parse *p, const struct iw_cli *cli)
{
	struct iw_fault why = { 0 };
	int err;

	for (unsigned i = 0; i < IW_CONFIG_FILES; i++) {
		struct iw_config_file *f = &config.result.files[i];

		err = iw_config_read(f, &config.keys[i], i > 0, cli->tool, &why);
		if (err)
			end(p, err == IW_E_FORMAT ? IW_EXIT_USAGE : iw_exit_status(err), "%s",
			    why.text);
	}
}

static void make_settings(const struct parse *p, const struct iw_cli *cli)
{
	size_t n = config.keys[0].n + config.keys[1].n;

	config.at = calloc(n + 1, sizeof(*config.at));
	config.argv = calloc(n + (size_t)p->argc + 1, sizeof(*config.argv));
	if (!config.at || !config.argv)
		end(p, IW_EXIT_FAILED, "no memory for the configuration files");
	for (unsigned i = 0; i < IW_CONFIG_FILES; i++) {
		for (size_t j = 0; j < config.keys[i].n; j++) {
			const struct iw_config_key *key = &config.keys[i].at[j];
			const struct argp_option *o =
				option_of(p, cli, config.result.files[i].path, key);

			if (o)
				add_setting(p, i, key, o);
		}
	}
}

/* Writes down which settings the parser gets, and which not. */
static void write_result(const struct parse *p)
{
	struct iw_config *r = &config.result;

	r->notes = calloc(config.n + 1, sizeof(*r->notes));
	if (!r->notes)
		end(p, IW_EXIT_FAILED, "no memory for the configuration files");
	for (size_t i = 0; i < config.n; i++) {
		const struct setting *s = &config.at[i];
		const char *name = s->option->name;
		struct iw_config_note *note = &r->notes[r->nnotes];

		r->files[s->file].used += s->used;
		if (!is_candidate(s) || s->used)
			continue;
		note->warn = is_in(protecting, IW_ARRAY_LEN(protecting), name);
		if (asprintf(&note->text, "%s:%u: %s: left out: %s", r->files[s->file].path,
			     s->key->line, name, s->why) < 0)
			end(p, IW_EXIT_FAILED, "no memory for the configuration files");
		r->nnotes++;
	}
}

void iw_cli_config_apply(struct iw_cli *cli, const struct argp *argp, int *argc, char ***argv,
			 unsigned int flags, void *input)
{
	const struct parse p = {
		.argp = argp, .argc = *argc, .argv = *argv, .flags = flags, .input = input
	};

	if (config.applied)
		return;
	config.applied = true;
	if (is_exempt(&p))
		return;
	cli->config = &config.result;
	read_files(&p, cli);
	if (config.keys[0].n + config.keys[1].n == 0)
		return;
	make_settings(&p, cli);
	replace_lower();
	iw_cli_each_option(argp, *argc, *argv, flags, replace_given, NULL);
	choose(&p);
	write_result(&p);
	*argc = fill_argv(&p);
	*argv = config.argv;
}
