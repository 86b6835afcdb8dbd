// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The requests of a manager as calls. */
#include "stag-reg/admin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "os/os.h"
#include "stag-reg/control.h"
#include "stag-reg/uri.h"
#include "util/text.h"

static int connect_once(struct iw_manager_admin *a, struct iw_fault *why)
{
	char by_default[IW_MANAGER_PATH_MAX];
	const char *path = a->path;
	int err = 0;

	if (a->fd >= 0)
		return 0;
	if (!path) {
		err = iw_manager_default_path(by_default, a->port, why);
		path = by_default;
	}
	return err ? err : iw_manager_connect(&a->fd, path, a->path ? -1 : a->port, why);
}

static int ask(struct iw_manager_admin *a, const struct iw_manager_request *q, int file,
	       struct iw_fault *why)
{
	int err = connect_once(a, why);

	return err ? err : iw_manager_ask(a->fd, q, file, a->timeout_ns, why);
}

int iw_manager_admin_next(struct iw_manager_admin *a, struct iw_manager_reply *r,
			  struct iw_fault *why)
{
	int err = iw_manager_answer(a->fd, r, a->timeout_ns, why);

	return err ? err : r->kind != IW_MANAGER_END;
}

/* Reads the rest of an answer; *end is its END. */
static int finish(struct iw_manager_admin *a, struct iw_manager_reply *end, struct iw_fault *why)
{
	int more;

	while ((more = iw_manager_admin_next(a, end, why)) > 0)
		;
	return more;
}

static int open_file(int *fd, const char *file, unsigned access, struct iw_fault *why)
{
	bool writes = access & IW_CLAIM_WRITE;

	/* O_NONBLOCK: opening a FIFO would wait for its other end. */
	*fd = open(file, (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK);
	if (*fd >= 0)
		return 0;
	if (errno == EACCES || errno == EPERM || errno == EROFS || errno == ETXTBSY)
		return iw_os_fail(why, errno, "%s: cannot open for %s (--access %s)", file,
				  writes ? "writing" : "reading", iw_access_text(access));
	return iw_os_fail(why, errno, "%s", file);
}

/* Adds the name of the file, which the manager does not know, to its text. */
static void name_file(struct iw_fault *why, const char *file)
{
	struct iw_fault what;

	if (!why)
		return;
	what = *why;
	snprintf(why->text, sizeof(why->text), "%.80s: %.110s", file, what.text);
}

int iw_manager_admin_add(struct iw_manager_admin *a, const struct iw_manager_request *q,
			 const char *file, struct iw_manager_buffer *out, struct iw_fault *why)
{
	struct iw_manager_request labelled = *q;
	struct iw_manager_reply r;
	int fd = -1, err = 0;

	if (file) {
		err = open_file(&fd, file, q->access, why);
		snprintf(labelled.label, sizeof(labelled.label), "%s", file);
	}
	if (!err)
		err = ask(a, &labelled, fd, why);
	if (fd >= 0)
		close(fd);
	if (!err)
		err = iw_manager_answer(a->fd, &r, a->timeout_ns, why);
	if (err == IW_E_INVAL && file)
		name_file(why, file);
	if (err)
		return err;
	if (r.kind != IW_MANAGER_BUFFER)
		return iw_fail(why, IW_E_FORMAT,
			       "control socket: an unexpected answer: expected the new buffer");
	*out = r.buffer;
	return finish(a, &r, why);
}

int iw_manager_admin_list(struct iw_manager_admin *a, uint32_t stag, bool peers,
			  struct iw_fault *why)
{
	return ask(
		a,
		&(struct iw_manager_request){ .op = IW_MANAGER_LIST, .stag = stag, .peers = peers },
		-1, why);
}

int iw_manager_admin_revoke(struct iw_manager_admin *a, uint32_t stag, uint64_t *revoked,
			    struct iw_fault *why)
{
	const struct iw_manager_request q = { .op = IW_MANAGER_REVOKE, .stag = stag };
	struct iw_manager_reply end;
	int err = ask(a, &q, -1, why);

	if (!err)
		err = finish(a, &end, why);
	*revoked = err ? 0 : end.count;
	return err;
}

void iw_manager_admin_close(struct iw_manager_admin *a)
{
	if (a->fd >= 0)
		close(a->fd);
	a->fd = -1;
}
