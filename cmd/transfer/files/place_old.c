// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Files that exist at the target: whether one is the announced file already, or the announced file
 * may replace it. Sets the attributes of files.
 */
#include "transfer/files/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/text.h"
#include "transfer/files/attr.h"
#include "transfer/files/src.h"

/*
 * Returns the bits of m's mode that apply to a file that has the mode old now. Set-id bits give the
 * rights of the owner, so they apply only if the owner is set too, and if requested. A directory
 * keeps the bits that a peer may not set: a set-group-ID bit passes on the group of the directory.
 */
static uint32_t mode_of(const struct iw_place *p, const struct iw_xfer_meta *m, mode_t old)
{
	uint32_t bits = 0777, mode;

	if (iw_place_gets_owner(p, m))
		bits |= (S_ISDIR(old) ? 01000 : 0) | (p->opts & IW_XFER_OPT_SETID ? 06000 : 0);
	mode = m->mode & bits & (iw_place_gets_owner(p, m) ? 07777 : ~p->umask);
	return mode | (S_ISDIR(old) ? old & 07000 & ~bits : 0);
}

mode_t iw_place_first_mode(const struct iw_place *p, const struct iw_xfer_meta *m)
{
	return (mode_of(p, m, S_IFREG) & 0777) | 0600;
}

int iw_place_set_attrs_of(const struct iw_place *p, int fd, mode_t old,
			  const struct iw_xfer_meta *m, struct iw_file_fault *why)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
					   { .tv_sec = (time_t)m->mtime_s,
					     .tv_nsec = (long)m->mtime_ns } };
	bool acls = p->opts & IW_XFER_OPT_OWNER, owner = iw_place_gets_owner(p, m);
	bool xattr = m->xattr && p->opts & IW_XFER_OPT_XATTR;
	mode_t mode = mode_of(p, m, old);

	/* The owner comes first: chown(2) clears set-id bits, and an ACL changes the mode. */
	if (owner && fchown(fd, m->uid, m->gid) < 0)
		return iw_file_errno(why, errno, "set its owner");
	if (xattr && iw_attr_write(fd, acls, m->xattr, m->xattr_len, why) != 0)
		return -1;
	if ((owner || xattr || (old & 07777) != mode) && fchmod(fd, mode) < 0)
		return iw_file_errno(why, errno, "set its mode");
	if (!iw_xfer_is_stream(m->kind) && futimens(fd, times) < 0)
		return iw_file_errno(why, errno, "set its time");
	return 0;
}

int iw_place_set_attrs(const struct iw_place *p, int fd, const struct iw_xfer_meta *m,
		       struct iw_file_fault *why)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return iw_file_errno(why, errno, "get its attributes");
	return iw_place_set_attrs_of(p, fd, st.st_mode, m, why);
}

/* True if the file fd has the attributes of m. */
static bool has_attrs(const struct iw_place *p, int fd, const struct stat *st,
		      const struct iw_xfer_meta *m)
{
	if ((st->st_mode & 07777) != mode_of(p, m, st->st_mode) || !iw_place_same_time(m, st))
		return false;
	if (iw_place_gets_owner(p, m) && (st->st_uid != m->uid || st->st_gid != m->gid))
		return false;
	return !m->xattr || !(p->opts & IW_XFER_OPT_XATTR) ||
	       iw_attr_same(fd, p->opts & IW_XFER_OPT_OWNER, m->xattr, m->xattr_len);
}

/*
 * The file may differ in its attributes only: sets them. Errors are ignored, because the contents
 * are right. False: the file has other hard links, perhaps outside the directory, whose attributes
 * must not change: replace it.
 */
static bool update_attrs(struct iw_place *p, int parent, const char *leaf, const struct stat *seen,
			 const struct iw_xfer_meta *m)
{
	struct iw_file_fault why;
	bool right = true;
	struct stat st;
	int fd;

	if ((seen->st_mode & 07777) == mode_of(p, m, seen->st_mode) &&
	    iw_place_same_time(m, seen) && !(p->opts & (IW_XFER_OPT_OWNER | IW_XFER_OPT_XATTR)))
		return true;
	fd = openat(parent, leaf, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return true;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && !has_attrs(p, fd, &st, m)) {
		right = st.st_nlink == 1;
		if (right && !(p->opts & IW_XFER_OPT_DRY_RUN) &&
		    iw_place_set_attrs(p, fd, m, &why) != 0)
			(void)why;
	}
	close(fd);
	return right;
}

/* True if the contents of leaf have the announced digest. False if leaf cannot be read. */
static bool has_digest(const struct iw_place *p, int parent, const char *leaf,
		       const struct iw_xfer_meta *m)
{
	int fd = openat(parent, leaf, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct iw_file_fault why;
	struct iw_xfer_digest own;
	struct iw_hasher h;
	struct iw_fault f;
	struct iw_src src;
	bool same;

	if (fd < 0 || iw_src_open(&src, fd, &why) != 0)
		return false;
	if (iw_hasher_init(&h, p->digest, &f) != 0) {
		iw_src_close(&src);
		return false;
	}
	same = iw_src_digest(&src, &h, &own, &why) == 0 && iw_xfer_digest_equal(&own, &m->digest);
	iw_hasher_fini(&h);
	iw_src_close(&src);
	return same;
}

/*
 * True if leaf is the announced file: it has the same size and time, or with IW_XFER_OPT_CHECKSUM
 * the same size and digest.
 */
static bool is_same(struct iw_place *p, int parent, const char *leaf, const struct stat *st,
		    const struct iw_xfer_meta *m)
{
	if (!S_ISREG(st->st_mode) || m->kind != IW_XFER_FILE || (uint64_t)st->st_size != m->size)
		return false;
	if (!(p->opts & IW_XFER_OPT_CHECKSUM))
		return iw_place_same_time(m, st);
	if (m->digest.len == 0)
		return false;
	/*
	 * The parts of a file are announced one after another, each with the digest of the whole
	 * file: compare once.
	 */
	if (m->share == 0 || m->share != p->compared)
		p->same = has_digest(p, parent, leaf, m);
	p->compared = m->share;
	return p->same;
}

static bool is_older(const struct iw_xfer_meta *m, const struct stat *st)
{
	return m->mtime_s < st->st_mtim.tv_sec ||
	       (m->mtime_s == st->st_mtim.tv_sec && m->mtime_ns < (uint32_t)st->st_mtim.tv_nsec);
}

/* The text says that standard output can write to a device or pipe of the local user. */
static int not_regular(const struct iw_place *p, bool link, const struct stat *st,
		       struct iw_file_fault *why)
{
	char name[80];
	bool one = p->typed && p->as && !S_ISSOCK(st->st_mode) &&
		   strlen(p->typed) < sizeof(name) / 2;

	if (one)
		iw_printable(name, sizeof(name), p->typed, strlen(p->typed), false);
	why->code = IW_XFER_CODE_TARGET;
	snprintf(why->text, sizeof(why->text), "the target is %s%s, not a regular file%s%s",
		 link ? "a symbolic link to " : "", iw_file_kind(st->st_mode),
		 one ? "; to write there, use - as TARGET, and >" : "", one ? name : "");
	return -1;
}

/*
 * True if leaf is a link to a device, a pipe or a socket; *st describes that. Links to other
 * objects are replaced. The peer may have created the link, and must not learn what such links
 * point to.
 */
static bool leads_to_special(int parent, const char *leaf, struct stat *st)
{
	return fstatat(parent, leaf, st, 0) == 0 && !S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode);
}

static int directory_in_way(const char *leaf, struct iw_file_fault *why)
{
	char name[100];

	iw_printable(name, sizeof(name), leaf, strlen(leaf), true);
	why->code = IW_XFER_CODE_TARGET;
	snprintf(why->text, sizeof(why->text),
		 "at the target, %s is a directory, not a file; remove it, or name another target",
		 name);
	return -1;
}

int iw_place_check_old(struct iw_place *p, int parent, const char *leaf,
		       const struct iw_xfer_meta *m, bool *there, struct iw_file_fault *why)
{
	struct stat st, end;

	*there = fstatat(parent, leaf, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (!*there && errno != ENOENT)
		return iw_file_errno(why, errno, "get the attributes of the old file");
	if (*there) {
		if (S_ISDIR(st.st_mode))
			return directory_in_way(leaf, why);
		if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
			return not_regular(p, false, &st, why);
		if (S_ISLNK(st.st_mode) && m->kind != IW_XFER_SYMLINK &&
		    leads_to_special(parent, leaf, &end))
			return not_regular(p, true, &end, why);
		if (p->opts & IW_XFER_OPT_NO_CLOBBER)
			return iw_file_fail(why, IW_XFER_CODE_EXISTS, "");
		if (p->opts & IW_XFER_OPT_UPDATE && !iw_xfer_is_stream(m->kind) && is_older(m, &st))
			return iw_file_fail(why, IW_XFER_CODE_NEWER, "");
		if (!(p->opts & IW_XFER_OPT_FORCE) && is_same(p, parent, leaf, &st, m) &&
		    update_attrs(p, parent, leaf, &st, m))
			return iw_file_fail(why, IW_XFER_CODE_SAME, "");
	}
	if (p->opts & IW_XFER_OPT_DRY_RUN)
		return iw_file_fail(why, IW_XFER_CODE_WOULD, "");
	return 0;
}
