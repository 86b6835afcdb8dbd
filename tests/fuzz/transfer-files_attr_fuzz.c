// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Extended attributes from a peer: for any input only user attributes and ACLs are set. */
#include "transfer/files/attr.h"

#include <sys/mman.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "fuzz/property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct iw_file_fault why;
	char names[4096];
	ssize_t n;
	int fd;

	if (len > IW_XFER_XATTR_MAX)
		return 0;
	fd = memfd_create("attr", MFD_CLOEXEC);
	must(fd >= 0);
	if (iw_attr_write(fd, true, data, len, &why) != 0)
		must(why.code != IW_XFER_CODE_OK && why.text[0]);
	n = flistxattr(fd, names, sizeof(names));
	for (ssize_t i = 0; i < n; i += (ssize_t)strlen(names + i) + 1)
		must(strncmp(names + i, "user.", 5) == 0 ||
		     strncmp(names + i, "system.posix_acl_", 17) == 0);
	close(fd);
	return 0;
}
