// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Programs into the kernel and onto an interface, and why they do not get there. */
#include "loader/bpf.h"

#ifdef IW_HAVE_XDP

#include <dirent.h>
#include <errno.h>
#include <net/if.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/capability.h>
#include <linux/if_link.h>
#include <xdp/libxdp.h>

#include "os/os.h"
#include "os/probe.h"
#include "loader/steer.h"
#include "util/text.h"

#define MAPS_MAX 16 /* of a program, with those that the compiler makes */

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
/* Under the lock. */
static unsigned depth;
static libbpf_print_fn_t libbpf_before;
static libxdp_print_fn_t libxdp_before;
static char complaint[120];

__attribute__((format(printf, 1, 0))) static void keep(const char *fmt, va_list ap)
{
	if (complaint[0])
		return;
	vsnprintf(complaint, sizeof(complaint), fmt, ap);
	complaint[strcspn(complaint, "\n")] = '\0';
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
	complaint[0] = '\0';
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
	char text[120];
	va_list ap;

	errnum = errnum < 0 ? -errnum : errnum;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (errnum == EPERM)
		return iw_fail(why, IW_E_PERM, "%s: not permitted: %s", text, missing());
	if (complaint[0])
		return iw_os_fail(why, errnum, "%s (%s)", text, complaint);
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
	/* Without CAP_PERFMON the verifier permits less. */
	if (err == -EACCES && !may_load())
		return iw_bpf_fail(why, EPERM, "xdp: load the program %s", what);
	/* The verifier of a kernel that lacks a function it is asked for says EINVAL; one that cannot see
	 * that an access is good, EACCES; one that gives up, E2BIG. */
	if (err == -EINVAL || err == -ENOTSUP || err == -EACCES || err == -E2BIG)
		return iw_fail(why, IW_E_NOTSUP,
			       "xdp: this kernel rejects the program %s, which needs Linux 6.1 or "
			       "later (%s)",
			       what, complaint);
	if (err == -EPERM && may_load())
		return iw_fail(
			why, IW_E_PERM,
			"xdp: load the program %s: not permitted, although CAP_BPF and "
			"CAP_NET_ADMIN are present: the limit of locked memory may be too low (ulimit -l)",
			what);
	return iw_bpf_fail(why, err, "xdp: load the program %s", what);
}

static int try_attach(int prog, unsigned ifindex, uint32_t flags)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = flags);

	return bpf_link_create(prog, (int)ifindex, BPF_XDP, &opts);
}

/* It was requested already, so there may be nothing to do. */
static int busy_alike(const char *interface, const struct iw_xdp_attached *a, struct iw_fault *why)
{
	const uint32_t user = a->owner == IW_XDP_STEER ? iw_steer_used_by(interface) : 0;
	char name[16], kept[32] = "";
	int pid;

	if (user)
		return iw_fail(
			why, IW_E_BUSY,
			"xdp: %s has the requested program %s (id %u) already, and process %u uses it: nothing to do; for other options, end that process first",
			interface, a->name, a->program, user);
	pid = iw_attach_holder(a->link, name);
	if (pid)
		snprintf(kept, sizeof(kept), ", kept by process %d", pid);
	return iw_fail(
		why, IW_E_BUSY,
		"xdp: %s has the requested program %s (id %u) already%s: nothing to do; for other options, first `ddp-xdp detach -I %s`",
		interface, a->name, a->program, kept, interface);
}

/* EEXIST without a program on the interface: Linux does not attach one while an interface stacked on it
 * (VLAN, bridge, bond, macvlan) has a program. */
static int busy_above(const char *interface, struct iw_fault *why)
{
	char path[sizeof("/sys/class/net/") + IF_NAMESIZE], above[IF_NAMESIZE];
	struct iw_xdp_attached a;
	const struct dirent *e;
	unsigned ifindex;
	bool found = false;
	DIR *d;

	snprintf(path, sizeof(path), "/sys/class/net/%s", interface);
	d = opendir(path);
	while (d && !found && (e = readdir(d))) {
		if (sscanf(e->d_name, "upper_%15s", above) != 1)
			continue;
		/* sysfs may show another network namespace: this one may have no interface of that name. */
		ifindex = if_nametoindex(above);
		found = ifindex && iw_attach_is_attached(&a, ifindex, NULL) == 0 && a.program;
	}
	if (d)
		closedir(d);
	if (!found)
		return iw_fail(
			why, IW_E_BUSY,
			"xdp: attach to %s: an interface stacked on it (VLAN, bridge, bond, macvlan; perhaps in another network namespace) has a program, so Linux refuses: detach that program; to have both, attach to %s first",
			interface, interface);
	if (a.owner == IW_XDP_UNKNOWN)
		return iw_fail(
			why, IW_E_BUSY,
			"xdp: attach to %s: %s, which is stacked on it, has program %u, which this user may not look at, so Linux refuses: be root to detach it",
			interface, above, a.program);
	if (iw_xdp_foreign(&a))
		return iw_fail(
			why, IW_E_BUSY,
			"xdp: attach to %s: %s, which is stacked on it, has the program %s (id %u), which is not part of iwarp-tools, so Linux refuses: `ddp-xdp detach -I %s --force-clean` detaches it",
			interface, above, a.name, a.program, above);
	return iw_fail(
		why, IW_E_BUSY,
		"xdp: attach to %s: %s, which is stacked on it, has the program %s (id %u), so Linux refuses: end its process or `ddp-xdp detach -I %s`; to have both, attach to %s first",
		interface, above, a.name, a.program, above, interface);
}

int iw_bpf_busy(const char *interface, unsigned ifindex, int prog, int errnum, struct iw_fault *why)
{
	struct bpf_prog_info requested;
	struct iw_xdp_attached a;
	uint32_t user;

	if (iw_attach_is_attached(&a, ifindex, NULL) < 0)
		return iw_os_fail(why, errnum, "xdp: attach to %s", interface);
	if (a.program == 0)
		return errnum == EEXIST ? busy_above(interface, why)
					: iw_os_fail(why, errnum, "xdp: attach to %s", interface);
	if (a.owner == IW_XDP_UNKNOWN)
		return iw_fail(
			why, IW_E_BUSY,
			"xdp: %s has program %u already, which this user may not look at: be root",
			interface, a.program);
	if (iw_xdp_foreign(&a))
		return iw_fail(
			why, IW_E_BUSY,
			"xdp: %s has the program %s (id %u) already, which is not part of iwarp-tools; "
			"`ddp-xdp detach -I %s --force-clean` detaches it",
			interface, a.name, a.program, interface);
	if (iw_bpf_prog_info(prog, &requested, NULL, NULL) == 0 &&
	    strcmp(a.name, requested.name) == 0)
		return busy_alike(interface, &a, why);
	user = a.owner == IW_XDP_STEER || a.inside ? iw_steer_used_by(interface) : 0;
	if (user)
		return iw_fail(
			why, IW_E_BUSY,
			"xdp: %s has the program %s (id %u) already, and process %u uses it; end "
			"that process first",
			interface, a.name, a.program, user);
	return iw_fail(
		why, IW_E_BUSY,
		"xdp: %s has the program %s (id %u) already; detach it with `ddp-xdp detach -I %s`",
		interface, a.name, a.program, interface);
}

int iw_bpf_attach(int *link, bool *native, int prog, const char *interface, unsigned ifindex,
		  enum iw_xdp_mode mode, const char *remedy, struct iw_fault *why)
{
	int fd = -EOPNOTSUPP;

	if (mode != IW_XDP_GENERIC)
		fd = try_attach(prog, ifindex, XDP_FLAGS_DRV_MODE);
	*native = fd >= 0;
	/* EBUSY and EPERM would be the same once more. */
	if (fd < 0 && mode != IW_XDP_NATIVE && fd != -EBUSY && fd != -EPERM)
		fd = try_attach(prog, ifindex, XDP_FLAGS_SKB_MODE);
	if (fd >= 0) {
		*link = fd;
		return 0;
	}
	if (fd == -EBUSY || fd == -EEXIST)
		return iw_bpf_busy(interface, ifindex, prog, -fd, why);
	if (fd == -EOPNOTSUPP)
		return iw_fail(why, IW_E_NOTSUP,
			       "xdp: the driver of %s has no native XDP, only generic mode; %s",
			       interface, remedy);
	/* To a veth driver, the frames that its other end may send matter. */
	if (fd == -ERANGE && iw_attach_is_veth(interface))
		return iw_fail(
			why, IW_E_LIMIT,
			"xdp: the other end of %s has an MTU above about 3500: lower it there (ip link set PEER mtu 1500), or %s",
			interface, remedy);
	if (fd == -ERANGE || fd == -EINVAL)
		return iw_fail(
			why, IW_E_LIMIT,
			"xdp: the driver of %s rejects the program, perhaps because of its MTU, queues or "
			"offloads (LRO): lower the MTU, or %s",
			interface, remedy);
	return iw_bpf_fail(why, fd, "xdp: attach to %s", interface);
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

/* Keeps the map's descriptor when it is one of those. The kernel cuts names at 15 octets. */
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

#endif
