// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* errno as a reason that travels. */
#include "file/fault.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "os/os.h"

static enum iw_xcode code_of(int errnum)
{
	switch (errnum) {
	case ENOENT:
		return IW_XC_NOENT;
	case EACCES:
	case EPERM:
		return IW_XC_PERM;
	case ENOSPC:
	case EDQUOT:
		return IW_XC_SPACE;
	case ENAMETOOLONG:
	case EILSEQ:
	case EXDEV:
		return IW_XC_NAME;
	case EROFS:
	case EISDIR:
	case ENOTDIR:
	case ENOTEMPTY:
	case ELOOP:
	case EEXIST:
		return IW_XC_TARGET;
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case EFBIG: /* it will not fit later either: nothing of it is kept */
		return IW_XC_LIMIT;
	default:
		return IW_XC_IO;
	}
}

int iw_file_errno(struct iw_file_fault *f, int errnum, const char *step)
{
	char phrase[80];

	f->code = code_of(errnum);
	/* What openat2 says about a path that would leave its directory deserves better words. */
	if (errnum == EXDEV)
		snprintf(phrase, sizeof(phrase),
			 "the path leads out of the served directory; paths are relative to it");
	else if (errnum == ELOOP)
		snprintf(phrase, sizeof(phrase), "a component of the path is a symbolic link");
	else if (errnum == EMFILE)
		snprintf(phrase, sizeof(phrase), "too many open files (ulimit -n)");
	else if (errnum == EFBIG)
		snprintf(phrase, sizeof(phrase),
			 "file too large for the receiver's `ulimit -f' or its file system");
	else
		iw_os_strerror(phrase, sizeof(phrase), errnum);
	snprintf(f->text, sizeof(f->text), "cannot %s: %s", step, phrase);
	return -1;
}

int iw_file_fail(struct iw_file_fault *f, enum iw_xcode code, const char *text)
{
	f->code = code;
	snprintf(f->text, sizeof(f->text), "%s", text);
	return -1;
}

const char iw_file_no_dir[] =
	"a directory cannot be written to standard output; name one file, or give a directory as TARGET";

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

	/* The first octets decide nearly always; memcmp of a run with itself, one octet on, does
	 * the rest at full speed. */
	for (size_t i = 0; i < len && i < 16; i++)
		if (o[i] != 0)
			return false;
	return len <= 16 || memcmp(o, o + 1, len - 1) == 0;
}
