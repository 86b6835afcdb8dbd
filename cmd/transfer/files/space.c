// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Checks of free space. */
#include "transfer/files/space.h"

#include <linux/magic.h>
#include <stdio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cli/human.h"
#include "util/num.h"

#define RUNS     256         /* runs of data that are summed */
#define SEARCHED (64L << 20) /* up to this size any file system is searched for holes quickly */

bool iw_space_in_memory(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

bool iw_space_holes(int fd, const struct stat *st)
{
	return st->st_size < SEARCHED || st->st_blocks < st->st_size / 512 ||
	       !iw_space_in_memory(fd);
}

uint64_t iw_space_data(int fd, uint64_t size)
{
	uint64_t data = 0;
	struct stat st;
	off_t at = 0;

	if (fstat(fd, &st) < 0)
		return 0;
	if (!iw_space_holes(fd, &st))
		return size;
	for (int i = 0; i < RUNS && (uint64_t)at < size; i++) {
		off_t begin = lseek(fd, at, SEEK_DATA);

		at = begin < 0 ? -1 : lseek(fd, begin, SEEK_HOLE);
		if (at < 0)
			break; /* only a hole follows */
		data += (uint64_t)(at - begin);
	}
	return IW_MIN(IW_MIN(data, size), (uint64_t)st.st_blocks * 512);
}

/*
 * Only ext2 to ext4, XFS, tmpfs, FAT and exFAT. Others may compress, share blocks, or not know
 * their free space.
 */
static bool is_plain(const struct statfs *fs)
{
	static const uint32_t types[] = { 0xef53, 0x58465342, 0x01021994, 0x4d44, 0x2011bab0 };

	for (size_t i = 0; i < IW_ARRAY_LEN(types); i++)
		if ((uint32_t)fs->f_type == types[i])
			return true;
	return false;
}

int iw_space_check(int fd, uint64_t octets, struct iw_file_fault *why)
{
	char needs[IW_HUMAN_TEXT], has[IW_HUMAN_TEXT];
	struct statfs fs;
	uint64_t left;

	/* A tmpfs without a limit reports 0 blocks. */
	if (octets == 0 || fstatfs(fd, &fs) < 0 || !is_plain(&fs) || fs.f_blocks == 0)
		return 0;
	left = (geteuid() == 0 ? fs.f_bfree : fs.f_bavail) * (uint64_t)fs.f_bsize;
	if (octets <= left)
		return 0;
	why->code = IW_XFER_CODE_SPACE;
	snprintf(why->text, sizeof(why->text), "needs %s, the file system has %s free",
		 iw_human_size(needs, octets), iw_human_size(has, left));
	return -1;
}
