// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The text of a configuration file. */
#include "cli/config_file.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/option.h"
#include "cli/text.h"
#include "util/num.h"
#include "util/text.h"

void iw_config_keys_fini(struct iw_config_keys *k)
{
	for (size_t i = 0; i < k->n; i++) {
		free(k->at[i].key);
		free(k->at[i].value);
	}
	free(k->at);
	*k = (struct iw_config_keys){ 0 };
}

#ifdef IW_HAVE_INIH

#include <ini.h>

#define SHOWN 80

static const char *const tools[] = { "ddp-bench", "ddp-dump",      "ddp-impair",
				     "ddp-recv",  "ddp-send",      "ddp-xdp",
				     "mpa-probe", "sctp-ddp-ping", "stag-reg" };

struct parse {
	struct iw_config_keys *out;
	const char *file, *tool;
	const char *next, *end; /* of the text */
	unsigned line;          /* the last line that was read, from 1 */
	int err;
	unsigned err_line;
	struct iw_fault *why;
};

static int is_tool(const char *section)
{
	for (size_t i = 0; i < IW_ARRAY_LEN(tools); i++)
		if (strcmp(section, tools[i]) == 0)
			return true;
	return false;
}

static void list_sections(struct iw_text *t)
{
	iw_text_str(t, "all");
	for (size_t i = 0; i < IW_ARRAY_LEN(tools); i++)
		iw_text_fmt(t, ", %s", tools[i]);
}

/* Keeps the first error. */
static void fail(struct parse *p, int err, const char *text)
{
	if (p->err)
		return;
	p->err = iw_fail(p->why, err, "%s:%u: %s", p->file, p->line, text);
	p->err_line = p->line;
}

static void fail_at(struct parse *p, int err, const char *object, const char *expected)
{
	char shown[SHOWN], text[300];
	struct iw_text t;

	iw_printable(shown, sizeof(shown), object, strlen(object), true);
	iw_text_init(&t, text, sizeof(text));
	iw_text_fmt(&t, "\"%s\": %s", shown, expected);
	fail(p, err, text);
}

static bool has_control(const char *line, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (((unsigned char)line[i] < ' ' && line[i] != '\t') || line[i] == 0x7f)
			return true;
	return false;
}

/*
 * The next line for inih. Leading blanks are left out: inih would take an indented line for the
 * continuation of a value.
 */
static char *read_line(char *dst, int cap, void *arg)
{
	struct parse *p = arg;
	const char *eol = p->next == p->end ? NULL
					    : memchr(p->next, '\n', (size_t)(p->end - p->next));
	const char *stop = eol ? eol : p->end, *from = p->next;
	size_t len;

	if (p->err || p->next == p->end)
		return NULL;
	p->line++;
	p->next = eol ? eol + 1 : p->end;
	if (stop > from && stop[-1] == '\r')
		stop--;
	while (from < stop && (*from == ' ' || *from == '\t'))
		from++;
	len = (size_t)(stop - from);
	if (has_control(from, len)) {
		fail(p, IW_E_FORMAT, "a control character; expected text");
		return NULL;
	}
	if (len > IW_CONFIG_LINE_MAX || len + 2 > (size_t)cap) {
		fail(p, IW_E_LIMIT,
		     "a line of more than " IW_CLI_TEXT(IW_CONFIG_LINE_MAX) " octets");
		return NULL;
	}
	memcpy(dst, from, len);
	dst[len] = '\n';
	dst[len + 1] = '\0';
	return dst;
}

static int append(struct parse *p, bool all, const char *key, const char *value)
{
	struct iw_config_keys *k = p->out;
	struct iw_config_key *at;

	if (k->n == IW_CONFIG_KEYS_MAX) {
		fail(p, IW_E_LIMIT, "more than " IW_CLI_TEXT(IW_CONFIG_KEYS_MAX) " keys");
		return 0;
	}
	if (k->n == k->cap) {
		at = realloc(k->at, (k->cap + 16) * sizeof(*at));
		if (!at) {
			fail(p, IW_E_NOMEM, "no memory");
			return 0;
		}
		k->at = at;
		k->cap += 16;
	}
	k->at[k->n] = (struct iw_config_key){
		.line = p->line, .all = all, .key = strdup(key), .value = strdup(value)
	};
	k->n++;
	if (k->at[k->n - 1].key && k->at[k->n - 1].value)
		return 1;
	fail(p, IW_E_NOMEM, "no memory");
	return 0;
}

static void unknown_section(struct parse *p, const char *section)
{
	char expected[200];
	struct iw_text t;

	iw_text_init(&t, expected, sizeof(expected));
	iw_text_str(&t, "unknown section; expected ");
	list_sections(&t);
	fail_at(p, IW_E_FORMAT, section, expected);
}

/* Called by inih. 0: an error. */
static int take_key(void *arg, const char *section, const char *key, const char *value)
{
	struct parse *p = arg;
	bool all = strcmp(section, "all") == 0;

	if (p->err)
		return 0;
	/* Some builds of inih report the start of a section, or a key without a value. */
	if (!key)
		return 1;
	if (!value || key[0] == '\0') {
		fail_at(p, IW_E_FORMAT, key, "expected KEY = VALUE");
		return 0;
	}
	if (section[0] == '\0') {
		fail_at(p, IW_E_FORMAT, key,
			"before the first section; write [all] or the name of a tool, such as [ddp-recv], above it");
		return 0;
	}
	if (!all && !is_tool(section)) {
		unknown_section(p, section);
		return 0;
	}
	if (!all && strcmp(section, p->tool) != 0)
		return 1;
	return append(p, all, key, value);
}

int iw_config_parse(struct iw_config_keys *out, const char *file, const char *text, size_t len,
		    const char *tool, struct iw_fault *why)
{
	struct parse p = {
		.out = out, .file = file, .tool = tool, .next = text, .end = text + len, .why = why
	};
	int line = ini_parse_stream(read_line, &p, take_key, &p);

	/* inih continues after an error, and reports the line of its first one at the end. */
	if (line > 0 && (!p.err || (unsigned)line < p.err_line)) {
		p.err = 0;
		p.line = (unsigned)line;
		fail(&p, IW_E_FORMAT, "expected [SECTION], KEY = VALUE or a comment");
	} else if (line < 0) {
		fail(&p, IW_E_NOMEM, "no memory");
	}
	return p.err;
}

#else

int iw_config_parse(struct iw_config_keys *out, const char *file, const char *text, size_t len,
		    const char *tool, struct iw_fault *why)
{
	(void)out;
	(void)text;
	(void)len;
	(void)tool;
	return iw_fail(why, IW_E_NOTSUP, "%s: ignored, because this program was built without inih",
		       file);
}

#endif
