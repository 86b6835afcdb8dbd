// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Landlock by system calls: libc has no functions for it, and older kernel headers lack constants.
 */
#include "cli/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/os.h"
#include "util/text.h"

/* These numbers are the same on every architecture. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule       445
#define SYS_landlock_restrict_self  446
#endif

/* linux/landlock.h: file system rights, and the first ABI that can limit each. */
#define EXECUTE     (UINT64_C(1) << 0)
#define WRITE_FILE  (UINT64_C(1) << 1)
#define READ_FILE   (UINT64_C(1) << 2)
#define READ_DIR    (UINT64_C(1) << 3)
#define REMOVE_DIR  (UINT64_C(1) << 4)
#define REMOVE_FILE (UINT64_C(1) << 5)
#define MAKE_CHAR   (UINT64_C(1) << 6)
#define MAKE_DIR    (UINT64_C(1) << 7)
#define MAKE_REG    (UINT64_C(1) << 8)
#define MAKE_SOCK   (UINT64_C(1) << 9)
#define MAKE_FIFO   (UINT64_C(1) << 10)
#define MAKE_BLOCK  (UINT64_C(1) << 11)
#define MAKE_SYM    (UINT64_C(1) << 12)
#define ABI_1       ((UINT64_C(1) << 13) - 1)
#define REFER       (UINT64_C(1) << 13) /* ABI 2 */
#define TRUNCATE    (UINT64_C(1) << 14) /* ABI 3 */
#define IOCTL_DEV   (UINT64_C(1) << 15) /* ABI 5 */

#define READS    (EXECUTE | READ_FILE | READ_DIR)
#define OF_FILES (EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV)

struct ruleset_attr {
	uint64_t fs, net, scoped;
};
struct path_beneath {
	uint64_t allowed;
	int32_t parent;
} __attribute__((packed));

#define VERSION             1u /* flag: return the ABI */
#define PATH_BENEATH        1  /* type of a rule */
#define NET_BIND            1u
#define NET_CONNECT         2u
#define SCOPE_ABSTRACT_UNIX 1u
#define SCOPE_SIGNAL        2u

int iw_landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, VERSION);

	return abi > 0 ? (int)abi : 0;
}

static uint64_t rights_of(int abi)
{
	return ABI_1 | (abi >= 2 ? REFER : 0) | (abi >= 3 ? TRUNCATE : 0) |
	       (abi >= 5 ? IOCTL_DEV : 0);
}

/* The size of the structure must not include members that this kernel does not know. */
static size_t attr_size(int abi)
{
	size_t members = abi >= 6 ? 3 : abi >= 4 ? 2 : 1;

	return members * sizeof(uint64_t);
}

int iw_landlock_begin(struct iw_landlock *l, bool reads, bool net, struct iw_fault *why)
{
	struct ruleset_attr attr = { 0 };

	*l = (struct iw_landlock){ .abi = iw_landlock_abi(), .ruleset = -1 };
	if (l->abi == 0) {
		(void)iw_fail(why, IW_E_NOTSUP,
			      "Landlock: not supported by this kernel, or not in its lsm= list");
		return 1;
	}
	attr.fs = l->limited = rights_of(l->abi) & ~(reads ? 0 : READS);
	attr.net = net ? NET_BIND | NET_CONNECT : 0;
	attr.scoped = net ? SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL : 0;
	l->ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, attr_size(l->abi), 0u);
	return l->ruleset < 0 ? iw_os_fail(why, errno, "Landlock: create a ruleset") : 0;
}

static uint64_t allowed_by(enum iw_landlock_right right)
{
	switch (right) {
	case IW_LANDLOCK_READ:
		return READ_FILE | READ_DIR;
	case IW_LANDLOCK_WRITE:
		return ~(EXECUTE | MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV);
	case IW_LANDLOCK_UNLINK:
		return REMOVE_FILE;
	}
	return 0;
}

int iw_landlock_allow(struct iw_landlock *l, int fd, enum iw_landlock_right right,
		      struct iw_fault *why)
{
	struct path_beneath rule = { .allowed = allowed_by(right) & l->limited, .parent = fd };
	struct stat st;

	if (l->ruleset < 0)
		return 0;
	if (fstat(fd, &st) < 0)
		return iw_os_fail(why, errno, "Landlock: fstat a file");
	if (!S_ISDIR(st.st_mode))
		rule.allowed &= OF_FILES;
	/* EBADFD: a pipe or a socket, to which rules do not apply. */
	if (rule.allowed == 0 ||
	    syscall(SYS_landlock_add_rule, l->ruleset, PATH_BENEATH, &rule, 0u) == 0 ||
	    errno == EBADFD)
		return 0;
	return iw_os_fail(why, errno, "Landlock: add a rule");
}

int iw_landlock_allow_path(struct iw_landlock *l, const char *path, enum iw_landlock_right right,
			   struct iw_fault *why)
{
	int fd = l->ruleset >= 0 ? open(path, O_PATH | O_CLOEXEC) : -1;
	int err = 0;

	if (fd < 0)
		return 0;
	err = iw_landlock_allow(l, fd, right, why);
	close(fd);
	return err;
}

int iw_landlock_enforce(struct iw_landlock *l, struct iw_fault *why)
{
	int err = 0;

	if (l->ruleset < 0)
		return 0;
	if (syscall(SYS_landlock_restrict_self, l->ruleset, 0u) < 0)
		err = iw_os_fail(why, errno, "Landlock: enforce the rules");
	l->enforced = !err;
	close(l->ruleset);
	l->ruleset = -1;
	return err;
}
