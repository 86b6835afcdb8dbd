// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Extended attributes. */
#include "transfer/files/attr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "util/num.h"

#define NAMES_MAX 65536 /* XATTR_LIST_MAX of Linux */
#define HEAD      3

static bool travels(const char *name, bool acls)
{
	return strncmp(name, "user.", 5) == 0 ||
	       (acls && (strcmp(name, "system.posix_acl_access") == 0 ||
			 strcmp(name, "system.posix_acl_default") == 0));
}

/*
 * Reads the names of the attributes of fd into *names, owned by the caller: *len octets, each name
 * terminated by NUL.
 */
static int list_names(int fd, char **names, ssize_t *len, struct iw_file_fault *why)
{
	*names = malloc(NAMES_MAX);
	if (!*names)
		return iw_file_fail(why, IW_XFER_CODE_LIMIT, "no memory for extended attributes");
	*len = flistxattr(fd, *names, NAMES_MAX);
	if (*len >= 0)
		return 0;
	*len = 0;
	if (errno == ENOTSUP)
		return 0;
	iw_file_errno(why, errno, "list its extended attributes");
	free(*names);
	return -1;
}

/* Appends the attribute name at *at. Ignores an attribute that was removed meanwhile. */
static int add(int fd, const char *name, uint8_t *buf, size_t *at, struct iw_file_fault *why)
{
	size_t n = strlen(name), room = IW_XFER_XATTR_MAX - *at;
	ssize_t v;

	if (room < HEAD + n)
		return iw_file_fail(why, IW_XFER_CODE_LIMIT,
				    "its extended attributes exceed 256 KiB");
	v = fgetxattr(fd, name, buf + *at + HEAD + n, room - HEAD - n);
	if (v < 0 && errno == ENODATA)
		return 0;
	if (v > UINT16_MAX || (v < 0 && errno == ERANGE && room - HEAD - n > UINT16_MAX))
		return iw_file_fail(why, IW_XFER_CODE_LIMIT,
				    "one of its extended attributes has 64 KiB or more");
	if (v < 0 && errno == ERANGE)
		return iw_file_fail(why, IW_XFER_CODE_LIMIT,
				    "its extended attributes exceed 256 KiB");
	if (v < 0)
		return iw_file_errno(why, errno, "read an extended attribute");
	buf[*at] = (uint8_t)n;
	iw_put_be16(buf + *at + 1, (uint16_t)v);
	memcpy(buf + *at + HEAD, name, n);
	*at += HEAD + n + (size_t)v;
	return 0;
}

int iw_attr_read(int fd, bool acls, uint8_t **out, size_t *len, struct iw_file_fault *why)
{
	uint8_t *buf = NULL;
	char *names;
	ssize_t all;
	int err = 0;

	*out = NULL;
	*len = 0;
	if (list_names(fd, &names, &all, why) != 0)
		return -1;
	for (ssize_t i = 0; i < all && !err; i += (ssize_t)strlen(names + i) + 1) {
		if (!travels(names + i, acls))
			continue;
		if (!buf)
			buf = malloc(IW_XFER_XATTR_MAX);
		if (!buf)
			err = iw_file_fail(why, IW_XFER_CODE_LIMIT,
					   "no memory for extended attributes");
		else
			err = add(fd, names + i, buf, len, why);
	}
	free(names);
	if (err || *len == 0) {
		free(buf);
		*len = 0;
		return err;
	}
	/* Usually the attributes are short: free the rest of the buffer. */
	*out = malloc(*len);
	if (!*out) {
		*out = buf;
		return 0;
	}
	memcpy(*out, buf, *len);
	free(buf);
	return 0;
}

/* Takes the next attribute of p. False: malformed. */
static bool next(const uint8_t **p, size_t *len, char name[256], const uint8_t **value,
		 size_t *vlen)
{
	size_t n;

	if (*len < HEAD)
		return false;
	n = (*p)[0];
	*vlen = iw_get_be16(*p + 1);
	if (n == 0 || *len - HEAD < n || *len - HEAD - n < *vlen || memchr(*p + HEAD, '\0', n))
		return false;
	memcpy(name, *p + HEAD, n);
	name[n] = '\0';
	*value = *p + HEAD + n;
	*p += HEAD + n + *vlen;
	*len -= HEAD + n + *vlen;
	return true;
}

static bool is_among(const char *name, const uint8_t *p, size_t len)
{
	const uint8_t *value;
	char other[256];
	size_t vlen;

	while (len > 0 && next(&p, &len, other, &value, &vlen))
		if (strcmp(name, other) == 0)
			return true;
	return false;
}

/* True if each attribute of p is in q, with the same value. */
static bool all_among(const uint8_t *p, size_t len, const uint8_t *q, size_t qlen)
{
	const uint8_t *value, *other_value;
	char name[256], other[256];
	size_t vlen, other_vlen;

	while (len > 0) {
		const uint8_t *at = q;
		size_t left = qlen;
		bool found = false;

		if (!next(&p, &len, name, &value, &vlen))
			return false;
		while (!found && left > 0 && next(&at, &left, other, &other_value, &other_vlen))
			found = strcmp(name, other) == 0 && vlen == other_vlen &&
				memcmp(value, other_value, vlen) == 0;
		if (!found)
			return false;
	}
	return true;
}

bool iw_attr_same(int fd, bool acls, const uint8_t *p, size_t len)
{
	struct iw_file_fault why;
	uint8_t *own;
	size_t own_len;
	bool same;

	if (iw_attr_read(fd, acls, &own, &own_len, &why) != 0)
		return false;
	same = all_among(p, len, own, own_len) && all_among(own, own_len, p, len);
	free(own);
	return same;
}

int iw_attr_check(bool acls, const uint8_t *p, size_t len, struct iw_file_fault *why)
{
	const uint8_t *value;
	char name[256];
	size_t vlen;

	while (len > 0) {
		if (!next(&p, &len, name, &value, &vlen))
			return iw_file_fail(why, IW_XFER_CODE_PROTOCOL,
					    "its extended attributes are malformed");
		if (!travels(name, acls))
			return iw_file_fail(why, IW_XFER_CODE_PROTOCOL,
					    "an extended attribute that is never transferred");
	}
	return 0;
}

int iw_attr_write(int fd, bool acls, const uint8_t *p, size_t len, struct iw_file_fault *why)
{
	const uint8_t *all = p, *value;
	size_t all_len = len, vlen;
	char name[256], *names;
	ssize_t have;

	if (iw_attr_check(acls, p, len, why) != 0)
		return -1;
	while (len > 0 && next(&p, &len, name, &value, &vlen)) {
		if (fsetxattr(fd, name, value, vlen, 0) < 0)
			return iw_file_errno(why, errno, "set an extended attribute");
	}
	if (list_names(fd, &names, &have, why) != 0)
		return -1;
	for (ssize_t i = 0; i < have; i += (ssize_t)strlen(names + i) + 1)
		if (travels(names + i, acls) && !is_among(names + i, all, all_len))
			/* a default ACL that stays does no harm */
			(void)fremovexattr(fd, names + i);
	free(names);
	return 0;
}
