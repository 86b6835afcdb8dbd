// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Drops privileges. Calls capget and capset directly: libc has no function for them, and libcap
 * would be one more library for two calls whose structures are part of the kernel's ABI.
 */
#include "os/priv.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/os.h"

static int get_caps(struct __user_cap_data_struct data[static _LINUX_CAPABILITY_U32S_3])
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return (int)syscall(SYS_capget, &head, data);
}

uint64_t iw_os_priv_caps(void)
{
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	if (get_caps(data) < 0)
		return 0;
	return (uint64_t)data[1].permitted << 32 | data[0].permitted;
}

int iw_os_priv_no_new(struct iw_fault *why)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return iw_os_fail(why, errno, "give up new privileges");
	return 0;
}

int iw_os_priv_keep(uint64_t caps, struct iw_fault *why)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0 } };
	uint64_t kept = iw_os_priv_caps() & caps;

	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		data[i].permitted = data[i].effective = (uint32_t)(kept >> 32 * i);
	if (syscall(SYS_capset, &head, data) < 0)
		return iw_os_fail(why, errno, "give up capabilities");
	return 0;
}

static int not_here(struct iw_fault *why, const char *step, unsigned id)
{
	int errnum = errno;

	if (errnum != EPERM && errnum != EINVAL)
		return iw_os_fail(why, errnum, "%s %u", step, id);
	(void)iw_os_fail(why, errnum, "%s %u", step, id);
	return 1;
}

int iw_os_priv_become(uid_t uid, gid_t gid, struct iw_fault *why)
{
	/* Without this option, setresuid from uid 0 drops all capabilities. */
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
		return iw_os_fail(why, errno, "keep capabilities");
	if (setgroups(0, NULL) < 0)
		return not_here(why, "leave all groups except", gid);
	if (setresgid(gid, gid, gid) < 0)
		return not_here(why, "change to group", gid);
	if (setresuid(uid, uid, uid) < 0)
		return not_here(why, "change to user", uid);
	return 0;
}

int iw_os_priv_drop(struct iw_fault *why)
{
	/* Otherwise an execve as root would regain the capabilities. */
	int err = iw_os_priv_no_new(why);

	return err ? err : iw_os_priv_keep(0, why);
}
