// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Subcommands. */
#include "cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text.h"
#include "cli/usage.h"

struct choice {
	struct iw_cli *cli;
	const struct iw_command *table;
	const struct iw_command *found;
	int first; /* index of the command in argv */
	int argc;  /* what was parsed: options of configuration files come first */
	char **argv;
};

static const struct iw_command *find(const struct iw_command *table, const char *name)
{
	for (; table->name; table++)
		if (strcmp(table->name, name) == 0)
			return table;
	return NULL;
}

static void list_names(char names[static 300], const struct iw_command *table)
{
	names[0] = '\0';
	for (const struct iw_command *c = table; c->name; c++) {
		size_t len = strlen(names);

		snprintf(names + len, 300 - len, "%s%s", len ? ", " : "", c->name);
	}
}

static void missing(const struct argp_state *state, const struct iw_command *table)
{
	char names[300];

	list_names(names, table);
	argp_error(state, "no command given; expected one of %s", names);
}

static void unknown(const struct argp_state *state, const struct iw_command *table,
		    const char *name)
{
	char shown[60], names[300];

	list_names(names, table);
	iw_printable(shown, sizeof(shown), name, strlen(name), true);
	argp_error(state, "\"%s\": no such command; expected one of %s", shown, names);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct choice *choice = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = choice->cli;
		return 0;
	case ARGP_KEY_ARGS:
		/*
		 * Takes all remaining arguments, which belong to the command, and so ends this
		 * parse.
		 */
		choice->first = state->next;
		choice->argc = state->argc;
		choice->argv = state->argv;
		choice->found = find(choice->table, state->argv[state->next]);
		if (!choice->found)
			unknown(state, choice->table, state->argv[state->next]);
		return 0;
	case ARGP_KEY_END:
		if (!choice->found)
			missing(state, choice->table);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* The list of commands, below the options. */
static char *help_filter(int key, const char *text, void *input)
{
	const struct choice *choice = input;
	size_t size = 0;
	char *out = NULL;
	FILE *f;

	if (key != ARGP_KEY_HELP_POST_DOC || !choice)
		return (char *)(uintptr_t)text;
	f = open_memstream(&out, &size);
	if (!f)
		return NULL;
	fputs("Commands:\n", f);
	for (const struct iw_command *c = choice->table; c->name; c++)
		fprintf(f, "  %-12s %s\n", c->name, c->help);
	fprintf(f, "\n%s COMMAND --help lists the options of a command.", choice->cli->tool);
	if (fclose(f) != 0) {
		free(out);
		return NULL;
	}
	return out;
}

int iw_cli_command(struct iw_cli *cli, const struct iw_command *table, const struct argp *common,
		   const char *doc, int argc, char **argv)
{
	const struct argp_child kids[] = {
		{ common, 0, "Common options:", -1 },
		{ 0 },
	};
	const struct argp argp = {
		.parser = parse,
		.args_doc = "COMMAND [ARG...]",
		.doc = doc,
		.children = kids,
		.help_filter = help_filter,
	};
	struct choice choice = { .cli = cli, .table = table };
	char name[80];

	iw_cli_parse(cli, &argp, argc, argv, ARGP_IN_ORDER, &choice);
	if (!choice.found)
		return IW_EXIT_USAGE;
	snprintf(name, sizeof(name), "%s %s", cli->tool, choice.found->name);
	choice.argv[choice.first] = name;
	return choice.found->run(cli, choice.argc - choice.first, choice.argv + choice.first);
}
