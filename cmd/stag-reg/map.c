// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Mappings that survive the loss of their file. */
#include "stag-reg/map.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os.h"
#include "util/num.h"
#include "util/text.h"

static struct iw_list maps = { &maps, &maps };
static volatile sig_atomic_t lost_any;
static struct sigaction before; /* the previous handler, for faults at other addresses */
static size_t page;             /* bytes; set before the first mapping of a file */

static struct iw_map *find(const uint8_t *addr)
{
	for (struct iw_list *l = maps.next; l != &maps; l = l->next) {
		struct iw_map *m = iw_container_of(l, struct iw_map, all);

		if (addr >= m->base && addr < m->base + m->span)
			return m;
	}
	return NULL;
}

/*
 * A fault is synchronous: it happens during a copy from or to a mapping, never while the list is
 * changed. mmap is safe here, because it is only a system call.
 */
static void on_sigbus(int sig, siginfo_t *info, void *context)
{
	uint8_t *addr = info->si_addr;
	struct iw_map *m = find(addr);
	int saved = errno;

	(void)context;
	if (m) {
		uint8_t *from = m->base + (size_t)(addr - m->base) / page * page;

		if (mmap(from, m->span - (size_t)(from - m->base), PROT_READ | PROT_WRITE,
			 MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			 0) != MAP_FAILED) {
			m->lost = 1;
			lost_any = 1;
			errno = saved;
			return;
		}
	}
	/* The access is repeated, and the signal then goes to the previous handler. */
	(void)sigaction(sig, &before, NULL);
	errno = saved;
}

static int handle_sigbus(struct iw_fault *why)
{
	struct sigaction sa = { .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO }, now;

	page = (size_t)sysconf(_SC_PAGESIZE);
	if (sigaction(SIGBUS, NULL, &now) < 0)
		return iw_os_fail(why, errno, "read the handler of SIGBUS");
	if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_sigbus)
		return 0;
	if (sigaction(SIGBUS, &sa, &before) < 0)
		return iw_os_fail(why, errno, "set the handler of SIGBUS");
	return 0;
}

static int check_file(int fd, struct stat *st, uint64_t off, uint64_t *len, struct iw_fault *why)
{
	uint64_t size;

	if (fstat(fd, st) < 0)
		return iw_os_fail(why, errno, "read the attributes of the file");
	if (!S_ISREG(st->st_mode))
		return iw_fail(why, IW_E_INVAL,
			       "not a regular file; only regular files can be registered");
	size = (uint64_t)st->st_size;
	if (size == 0)
		return iw_fail(why, IW_E_INVAL,
			       "the file is empty: set its size first (truncate -s)");
	if (*len == 0 && off < size)
		*len = size - off;
	if (*len == 0)
		return iw_fail(
			why, IW_E_INVAL,
			"range %U: begins at the end of the file or after it; the file has %U octets",
			off, size);
	if (off > size || *len > size - off)
		return iw_fail(why, IW_E_INVAL,
			       "range %U:%U: not within the file, which has %U octets", off, *len,
			       size);
	return 0;
}

int iw_map_file(struct iw_map *m, int fd, uint64_t off, uint64_t len, bool writable,
		struct iw_fault *why)
{
	uint64_t lead = 0;
	struct stat st;
	void *p;
	int err = check_file(fd, &st, off, &len, why);

	if (!err)
		err = handle_sigbus(why);
	if (!err)
		lead = off % page;
	if (!err && len > SIZE_MAX - lead)
		err = iw_fail(why, IW_E_LIMIT, "%U octets: more than this machine can map", len);
	if (err)
		goto fail;
	p = mmap(NULL, (size_t)(lead + len), PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED,
		 fd, (off_t)(off - lead));
	if (p == MAP_FAILED) {
		err = iw_os_fail(why, errno, "map %llu octets of the file",
				 (unsigned long long)len);
		goto fail;
	}
	*m = (struct iw_map){ .base = p,
			      .span = (size_t)(lead + len),
			      .addr = (uint8_t *)p + lead,
			      .len = (size_t)len,
			      .fd = fd,
			      .end = off + len,
			      .dev = st.st_dev,
			      .ino = st.st_ino };
	iw_list_add_tail(&maps, &m->all);
	return 0;
fail:
	close(fd);
	return err;
}

int iw_map_memory(struct iw_map *m, uint64_t len, struct iw_fault *why)
{
	void *p;

	if (len == 0 || len > SIZE_MAX)
		return iw_fail(
			why, IW_E_INVAL,
			"%U octets of memory: expected at least 1, and no more than this machine can map",
			len);
	p = mmap(NULL, (size_t)len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return iw_os_fail(why, errno, "map %llu octets of memory", (unsigned long long)len);
	*m = (struct iw_map){
		.base = p, .span = (size_t)len, .addr = p, .len = (size_t)len, .fd = -1
	};
	iw_list_add_tail(&maps, &m->all);
	return 0;
}

void iw_map_close(struct iw_map *m)
{
	iw_list_del(&m->all);
	munmap(m->base, m->span);
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
}

bool iw_map_lost_any(void)
{
	if (!lost_any)
		return false;
	lost_any = 0;
	return true;
}

bool iw_map_whole(const struct iw_map *m)
{
	struct stat st;

	return !m->lost &&
	       (m->fd < 0 || (fstat(m->fd, &st) == 0 && (uint64_t)st.st_size >= m->end));
}

bool iw_map_overlaps(const struct iw_map *a, const struct iw_map *b)
{
	return a->fd >= 0 && b->fd >= 0 && a->dev == b->dev && a->ino == b->ino &&
	       a->end - a->len < b->end && b->end - b->len < a->end;
}
