// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Giving privileges up. */
#include "os/priv.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/os.h"

int iw_os_priv_drop(struct iw_fault *why)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	/* An execve would give root its capabilities back. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return iw_os_fail(why, errno, "give up new privileges");
	/* libc has no function for it, libcap would be one more library. */
	if (syscall(SYS_capset, &header, none) < 0)
		return iw_os_fail(why, errno, "give up capabilities");
	return 0;
}
