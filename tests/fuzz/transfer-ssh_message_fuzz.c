// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A message on ssh's pipe. For any input that is accepted: the number of paths is as announced, no
 * path has a NUL, and the same message, encoded again, is accepted again with equal values.
 */
#include "transfer/ssh/message.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz/property.h"

static char *list[IW_SSH_PATHS_MAX];

/* Makes the paths ready for the encoder. */
static void list_paths(struct iw_ssh_paths *paths)
{
	struct iw_ssh_paths rest = *paths;
	const char *p;
	size_t len, n = 0;

	while (iw_ssh_path_next(&rest, &p, &len)) {
		must(n < paths->n && !memchr(p, '\0', len));
		/* Not strndup, which a sanitizer expects to be called with a NUL after the path. */
		list[n] = calloc(len + 1, 1);
		must(list[n] != NULL);
		memcpy(list[n++], p, len);
	}
	must(n == paths->n);
	paths->list = list;
}

static void check_again(struct iw_ssh_msg *m, struct iw_ssh_paths *paths)
{
	static uint8_t buf[IW_SSH_MSG_MAX];
	struct iw_ssh_msg again;
	size_t len;

	if (paths)
		list_paths(paths);
	len = iw_ssh_msg_encode(buf, m);
	must(len == 0 || iw_ssh_msg_decode(&again, buf, len, NULL) == 0);
	must(len == 0 || again.type == m->type);
	if (len > 0 && m->type == IW_SSH_READY)
		must(memcmp(again.ready.secret, m->ready.secret, IW_SSH_SECRET_LEN) == 0);
	for (size_t i = 0; paths && i < paths->n; i++)
		free(list[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct iw_fault why;
	struct iw_ssh_msg m;

	if (len > IW_SSH_MSG_MAX || iw_ssh_msg_decode(&m, data, len, &why) != 0)
		return 0;
	if (m.type == IW_SSH_REQUEST && m.request.protocol == IW_SSH_PROTOCOL)
		check_again(&m, &m.request.paths);
	else if (m.type != IW_SSH_REQUEST)
		check_again(&m, m.type == IW_SSH_READY ? &m.ready.paths : NULL);
	return 0;
}
