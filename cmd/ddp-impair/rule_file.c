// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Files of rules, and files of octets for the action inject. */
#include "ddp-impair/rule_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "os/os.h"
#include "util/text.h"

static int add_line(struct iw_rules *r, const char *path, size_t number, char *line, ssize_t len,
		    struct iw_fault *why)
{
	struct iw_fault rule = { 0 };
	int err;

	if (len > 0 && line[len - 1] == '\n')
		line[--len] = '\0';
	line += strspn(line, " \t");
	if (line[0] == '\0' || line[0] == '#')
		return 0;
	err = iw_rules_add(r, line, &rule);
	if (err < 0)
		iw_fail(why, err, "%s:%U: %s", path, (uint64_t)number, rule.text);
	return err;
}

int iw_relay_rules_add(struct iw_rules *r, const char *path, struct iw_fault *why)
{
	FILE *f = fopen(path, "re");
	size_t cap = 0, number = 0;
	char *line = NULL;
	ssize_t len;
	int err = 0;

	if (!f)
		return iw_os_fail(why, errno, "%s", path);
	while (err == 0 && (len = getline(&line, &cap, f)) >= 0)
		err = add_line(r, path, ++number, line, len, why);
	if (err == 0 && ferror(f))
		err = iw_os_fail(why, errno, "%s", path);
	free(line);
	(void)fclose(f);
	return err;
}

int iw_relay_rules_load(void *ctx, uint8_t *dst, size_t cap, const char *path, struct iw_fault *why)
{
	FILE *f = fopen(path, "re");
	size_t n;
	int err = 0;

	(void)ctx;
	if (!f)
		return iw_os_fail(why, errno, "%s", path);
	n = fread(dst, 1, cap, f);
	if (ferror(f))
		err = iw_os_fail(why, errno, "%s", path);
	else if (n == cap && fgetc(f) != EOF)
		err = iw_fail(why, IW_E_INVAL, "%s: more than %U octets", path, (uint64_t)cap);
	else if (n == 0)
		err = iw_fail(why, IW_E_INVAL, "%s: empty", path);
	(void)fclose(f);
	return err < 0 ? err : (int)n;
}
