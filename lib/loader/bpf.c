// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Loads programs, opens their maps, and explains failures. */
#include "loader/bpf.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/capability.h>
#include <xdp/libxdp.h>

#include "os/os.h"
#include "os/probe.h"
#include "util/text.h"

#define MAPS_MAX 16 /* of a program, including those of the compiler */

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
/* Under the lock. */
static unsigned depth;
static libbpf_print_fn_t libbpf_before;
static libxdp_print_fn_t libxdp_before;
static char message[120];

__attribute__((format(printf, 1, 0))) static void keep(const char *fmt, va_list ap)
{
	if (message[0])
		return;
	vsnprintf(message, sizeof(message), fmt, ap);
	message[strcspn(message, "\n")] = '\0';
}

__attribute__((format(printf, 2, 0))) static int keep_libbpf(enum libbpf_print_level level,
							     const char *fmt, va_list ap)
{
	if (level == LIBBPF_WARN)
		keep(fmt, ap);
	return 0;
}

__attribute__((format(printf, 2, 0))) static int keep_libxdp(enum libxdp_print_level level,
							     const char *fmt, va_list ap)
{
	if (level == LIBXDP_WARN)
		keep(fmt, ap);
	return 0;
}

void iw_bpf_begin(void)
{
	pthread_mutex_lock(&lock);
	if (depth++ > 0)
		return;
	message[0] = '\0';
	libbpf_before = libbpf_set_print(keep_libbpf);
	libxdp_before = libxdp_set_print(keep_libxdp);
}

void iw_bpf_end(void)
{
	if (--depth == 0) {
		libbpf_set_print(libbpf_before);
		libxdp_set_print(libxdp_before);
	}
	pthread_mutex_unlock(&lock);
}

static bool may_load(void)
{
	return iw_os_has_cap(CAP_NET_ADMIN) &&
	       (iw_os_has_cap(CAP_SYS_ADMIN) ||
		(iw_os_has_cap(CAP_BPF) && iw_os_has_cap(CAP_PERFMON)));
}

static const char *missing(void)
{
	return may_load() ? "a security module or a user namespace forbids it"
			  : "it needs CAP_NET_ADMIN, CAP_BPF and CAP_PERFMON: be root";
}

int iw_bpf_fail(struct iw_fault *why, int errnum, const char *fmt, ...)
{
	char text[120], quoted[sizeof(message)] = "";
	va_list ap;

	/* Outside of iw_bpf_begin, message belongs to another thread or an earlier step. */
	pthread_mutex_lock(&lock);
	if (depth > 0)
		memcpy(quoted, message, sizeof(quoted));
	pthread_mutex_unlock(&lock);
	errnum = errnum < 0 ? -errnum : errnum;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (errnum == EPERM)
		return iw_fail(why, IW_E_PERM, "%s: not permitted: %s", text, missing());
	if (quoted[0])
		return iw_os_fail(why, errnum, "%s (%s)", text, quoted);
	return iw_os_fail(why, errnum, "%s", text);
}

int iw_bpf_load(struct bpf_object *o, const char *what, struct iw_fault *why)
{
	int err = bpf_object__load(o);

	if (err == 0)
		return 0;
	if (err == -ENOSYS)
		return iw_fail(why, IW_E_NOTSUP,
			       "xdp: this kernel has no BPF (CONFIG_BPF_SYSCALL)");
	/* Without CAP_PERFMON the verifier is stricter. */
	if (err == -EACCES && !may_load())
		return iw_bpf_fail(why, EPERM, "xdp: load the program %s", what);
	/*
	 * EINVAL: the kernel lacks a function that the program uses. EACCES: its verifier cannot
	 * prove that an access is valid. E2BIG: the verifier gave up.
	 */
	if (err == -EINVAL || err == -ENOTSUP || err == -EACCES || err == -E2BIG)
		return iw_fail(why, IW_E_NOTSUP,
			       "xdp: this kernel rejects the program %s, which needs Linux 6.1 or "
			       "later (%s)",
			       what, message);
	if (err == -EPERM && may_load())
		return iw_fail(
			why, IW_E_PERM,
			"xdp: load the program %s: not permitted, although CAP_BPF and "
			"CAP_NET_ADMIN are present: the limit of locked memory may be too low (ulimit -l)",
			what);
	return iw_bpf_fail(why, err, "xdp: load the program %s", what);
}

int iw_bpf_prog_info(int fd, struct bpf_prog_info *out, uint32_t *maps, uint32_t *nmaps)
{
	uint32_t len = sizeof(*out);

	memset(out, 0, sizeof(*out));
	out->map_ids = (uintptr_t)maps;
	out->nr_map_ids = maps ? *nmaps : 0;
	if (bpf_obj_get_info_by_fd(fd, out, &len) < 0)
		return -1;
	if (maps && out->nr_map_ids < *nmaps)
		*nmaps = out->nr_map_ids;
	return 0;
}

/*
 * Keeps the descriptor of the map if it is one of those. The kernel truncates names to 15 octets.
 */
static int take_map(uint32_t id, int *fd, const struct iw_bpf_shape *shape, unsigned n)
{
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);
	int map = bpf_map_get_fd_by_id(id);

	if (map < 0)
		return -errno;
	if (bpf_obj_get_info_by_fd(map, &info, &len) == 0)
		for (unsigned i = 0; i < n; i++)
			if (fd[i] < 0 && strcmp(info.name, shape[i].name) == 0 &&
			    info.key_size == shape[i].key && info.value_size == shape[i].value) {
				fd[i] = map;
				return 0;
			}
	close(map);
	return 0;
}

int iw_bpf_join(int prog, int *fd, const struct iw_bpf_shape *shape, unsigned n,
		const char *interface, struct iw_fault *why)
{
	struct bpf_prog_info info;
	uint32_t id[MAPS_MAX], nmaps = MAPS_MAX;
	int err = 0;

	if (iw_bpf_prog_info(prog, &info, id, &nmaps) < 0)
		return iw_os_fail(why, errno, "xdp: query the maps of the program on %s",
				  interface);
	for (uint32_t i = 0; i < nmaps && err == 0; i++)
		err = take_map(id[i], fd, shape, n);
	if (err)
		return iw_os_fail(why, -err, "xdp: open a map of the program on %s", interface);
	for (unsigned i = 0; i < n; i++)
		if (fd[i] < 0)
			return iw_fail(why, IW_E_BUSY,
				       "xdp: the program on %s has no map %s as this version "
				       "expects it: `ddp-xdp detach -I %s`, then attach again",
				       interface, shape[i].name, interface);
	return 0;
}

int iw_bpf_sum(void *out, size_t size, int map, const void *key)
{
	int cpus = libbpf_num_possible_cpus();
	size_t n = size / sizeof(uint64_t);
	uint64_t *each, *sum = out;
	int err = IW_E_OS;

	memset(out, 0, size);
	if (cpus <= 0)
		return IW_E_OS;
	each = calloc((size_t)cpus, size);
	if (!each)
		return IW_E_NOMEM;
	if (bpf_map_lookup_elem(map, key, each) == 0) {
		for (size_t i = 0; i < (size_t)cpus * n; i++)
			sum[i % n] += each[i];
		err = 0;
	}
	free(each);
	return err;
}

uint32_t iw_bpf_link_id(int link)
{
	struct bpf_link_info info = { 0 };
	uint32_t len = sizeof(info);

	return bpf_obj_get_info_by_fd(link, &info, &len) < 0 ? 0 : info.id;
}

void iw_bpf_version(char *out, size_t cap)
{
	snprintf(out, cap, "%u.%u", libbpf_major_version(), libbpf_minor_version());
}
