// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Translates errno into a reason that can be sent. */
#include "transfer/files/fault.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "os/os.h"

static enum iw_xfer_code code_of(int errnum)
{
	switch (errnum) {
	case ENOENT:
		return IW_XFER_CODE_NOENT;
	case EACCES:
	case EPERM:
		return IW_XFER_CODE_PERM;
	case ENOSPC:
	case EDQUOT:
		return IW_XFER_CODE_SPACE;
	case ENAMETOOLONG:
	case EILSEQ:
	case EXDEV:
		return IW_XFER_CODE_NAME;
	case EROFS:
	case EISDIR:
	case ENOTDIR:
	case ENOTEMPTY:
	case ELOOP:
	case EEXIST:
		return IW_XFER_CODE_TARGET;
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case EFBIG: /* it cannot fit later either, so no partial file is kept */
		return IW_XFER_CODE_LIMIT;
	default:
		return IW_XFER_CODE_IO;
	}
}

static void limit_phrase(char *phrase, size_t cap, int errnum)
{
	struct rlimit r = { .rlim_cur = RLIM_INFINITY };

	(void)getrlimit(errnum == EFBIG ? RLIMIT_FSIZE : RLIMIT_NOFILE, &r);
	if (errnum == EMFILE)
		snprintf(phrase, cap, "too many open files: the limit is %llu (ulimit -n)",
			 (unsigned long long)r.rlim_cur);
	else if (r.rlim_cur != RLIM_INFINITY)
		snprintf(phrase, cap, "file too large: the limit is %llu octets (ulimit -f)",
			 (unsigned long long)r.rlim_cur);
	else
		snprintf(phrase, cap, "file too large for this file system");
}

int iw_file_errno(struct iw_file_fault *f, int errnum, const char *step)
{
	char phrase[100];

	f->code = code_of(errnum);
	/* EXDEV comes from openat2. Callers report an absolute path and ".." themselves. */
	if (errnum == EXDEV)
		snprintf(phrase, sizeof(phrase),
			 "a symbolic link in the path leads out of the served directory");
	else if (errnum == ELOOP)
		snprintf(phrase, sizeof(phrase), "a component of the path is a symbolic link");
	else if (errnum == EMFILE || errnum == EFBIG)
		limit_phrase(phrase, sizeof(phrase), errnum);
	else if (errnum == ENAMETOOLONG)
		snprintf(phrase, sizeof(phrase),
			 "file name too long: at most 255 octets, and 4095 in a path");
	else
		iw_os_strerror(phrase, sizeof(phrase), errnum);
	snprintf(f->text, sizeof(f->text), "cannot %s: %s", step, phrase);
	return -1;
}

int iw_file_fail(struct iw_file_fault *f, enum iw_xfer_code code, const char *text)
{
	f->code = code;
	snprintf(f->text, sizeof(f->text), "%s", text);
	return -1;
}

const char iw_file_no_dir[] =
	"a directory cannot be written to standard output; name one file, or give a directory as TARGET";

const char iw_file_no_dir_there[] =
	"the listener is `ddp-recv -`, which takes one file: start it as `ddp-recv DIR`, or send a stream: tar c DIR | ddp-send - HOST:";

const char *iw_file_kind(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "a regular file";
	case S_IFDIR:
		return "a directory";
	case S_IFLNK:
		return "a symbolic link";
	case S_IFIFO:
		return "a named pipe";
	case S_IFSOCK:
		return "a socket";
	case S_IFCHR:
		return "a character device";
	case S_IFBLK:
		return "a block device";
	default:
		return "an object of unknown kind";
	}
}

bool iw_is_zero(const void *p, size_t len)
{
	const uint8_t *o = p;

	/*
	 * Nearly always the first octets decide. For the rest memcmp compares the run with itself,
	 * shifted by one octet, at full speed.
	 */
	for (size_t i = 0; i < len && i < 16; i++)
		if (o[i] != 0)
			return false;
	return len <= 16 || memcmp(o, o + 1, len - 1) == 0;
}
