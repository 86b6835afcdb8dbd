// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* This user's own key and certificate. */
#include "cli/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/log.h"
#include "cli/pair.h"
#include "os/os.h"
#include "util/text.h"

typedef int (*write_fn)(const struct iw_pair *pair, FILE *f, struct iw_fault *why);

static bool exists(int dir, const char *name)
{
	return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Closes f. The file must be on disk before it gets its name. */
static int finish(FILE *f, const char *path, int err, struct iw_fault *why)
{
	if (!err && (fflush(f) != 0 || fsync(fileno(f)) != 0))
		err = iw_os_fail(why, errno, "write %s", path);
	fclose(f);
	return err;
}

/* Writes a file under another name, and renames it when it is complete. The directory is locked. */
static int write_file(int dir, const char *name, const char *path, const struct iw_pair *pair,
		      write_fn write_it, struct iw_fault *why)
{
	char temp[32];
	FILE *f;
	int fd, err;

	snprintf(temp, sizeof(temp), ".%s.new", name);
	(void)unlinkat(dir, temp, 0);
	fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f) {
		err = iw_os_fail(why, errno, "create %s", path);
		if (fd >= 0)
			close(fd);
		return err;
	}
	err = finish(f, path, write_it(pair, f, why), why);
	if (!err && renameat(dir, temp, dir, name) < 0)
		err = iw_os_fail(why, errno, "create %s", path);
	if (!err && fsync(dir) < 0)
		err = iw_os_fail(why, errno, "write %s", path);
	if (err)
		(void)unlinkat(dir, temp, 0);
	return err;
}

static int read_key(struct iw_pair **out, const struct iw_identity *id, struct iw_fault *why)
{
	int fd = iw_private_open(id->key, "own key", why), err;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd < 0)
		return fd;
	if (!f) {
		err = iw_os_fail(why, errno, "read %s", id->key);
		close(fd);
		return err;
	}
	err = iw_pair_read(out, f, id->key, why);
	fclose(f);
	return err;
}

/* The key first: a certificate can be made again for it, with the same pin. */
static int make(int dir, const struct iw_identity *id, struct iw_fault *why)
{
	struct iw_pair *pair = NULL;
	bool has_key = exists(dir, "key.pem");
	int err = has_key ? read_key(&pair, id, why) : iw_pair_new(&pair, why);

	if (!err && !has_key)
		err = write_file(dir, "key.pem", id->key, pair, iw_pair_write_key, why);
	if (!err)
		err = write_file(dir, "cert.pem", id->cert, pair, iw_pair_write_cert, why);
	iw_pair_free(pair);
	if (!err)
		iw_log_info("made %s", has_key ? id->cert : id->key);
	return err;
}

static int make_if_missing(int dir, const struct iw_identity *id, const char *path,
			   struct iw_fault *why)
{
	int err = 0;

	if (exists(dir, "cert.pem") && exists(dir, "key.pem"))
		return 0;
	err = iw_config_lock(dir, LOCK_EX, path, why);
	if (err)
		return err;
	/* Another process may have made them meanwhile. */
	if (!exists(dir, "cert.pem"))
		err = make(dir, id, why);
	else if (!exists(dir, "key.pem"))
		err = iw_fail(
			why, IW_E_INVAL,
			"%s: its private key key.pem is missing; restore it, or remove the certificate so that a new pair is made",
			id->cert);
	(void)flock(dir, LOCK_UN);
	return err;
}

int iw_identity_open(struct iw_identity *id, struct iw_fault *why)
{
	char path[IW_CONFIG_PATH];
	int dir = iw_config_open(path, why), err = 0;

	if (dir < 0)
		return dir;
	if (snprintf(id->cert, sizeof(id->cert), "%s/cert.pem", path) >= IW_CONFIG_PATH ||
	    snprintf(id->key, sizeof(id->key), "%s/key.pem", path) >= IW_CONFIG_PATH)
		err = iw_fail(why, IW_E_LIMIT, "the path of the own key is too long");
	if (!err)
		err = make_if_missing(dir, id, path, why);
	close(dir);
	return err;
}
