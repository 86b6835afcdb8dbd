// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* XDP programs on interfaces: attach, find and detach them; pins; libxdp's dispatcher. */
#include "loader/attach.h"

#include <dirent.h>
#include <errno.h>
#include <linux/capability.h>
#include <linux/if_link.h>
#include <linux/limits.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <xdp/libxdp.h>

#include "loader/bpf.h"
#include "loader/interface.h"
#include "loader/steer.h"
#include "os/os.h"
#include "os/probe.h"
#include "util/text.h"

#include "xdp/shared.h"

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static enum iw_xdp_owner owner_of(const char *name)
{
	if (strcmp(name, IW_XDP_PROGRAM) == 0)
		return IW_XDP_STEER;
	if (strcmp(name, IW_XDP_OBSERVER) == 0)
		return IW_XDP_OBSERVE;
	if (begins(name, "iw_steer") || begins(name, "iw_observe"))
		return IW_XDP_OTHER_VERSION;
	return strcmp(name, "xdp_dispatcher") == 0 ? IW_XDP_DISPATCHER : IW_XDP_FOREIGN;
}

/*
 * Returns a descriptor of the link that holds a program; -1: none. Looks for the program, because
 * interfaces in different namespaces may have the same index.
 */
static int link_of(uint32_t program)
{
	uint32_t id = 0;

	while (bpf_link_get_next_id(id, &id) == 0) {
		struct bpf_link_info info = { 0 };
		uint32_t len = sizeof(info);
		int fd = bpf_link_get_fd_by_id(id);

		if (fd < 0)
			continue;
		if (bpf_obj_get_info_by_fd(fd, &info, &len) == 0 &&
		    info.type == BPF_LINK_TYPE_XDP && info.prog_id == program &&
		    info.xdp.ifindex != 0)
			return fd;
		close(fd);
	}
	return -1;
}

/* Returns our program among those that a dispatcher calls. */
static struct xdp_program *ours_in(struct xdp_multiprog *m)
{
	struct xdp_program *p = NULL;

	while ((p = xdp_multiprog__next_prog(p, m)))
		if (strcmp(xdp_program__name(p), IW_XDP_PROGRAM) == 0)
			return p;
	return NULL;
}

static void ask_dispatcher(struct iw_xdp_attached *a, unsigned ifindex)
{
	struct xdp_multiprog *m;
	struct xdp_program *p;

	iw_bpf_begin();
	m = xdp_multiprog__get_from_ifindex((int)ifindex);
	p = libxdp_get_error(m) ? NULL : ours_in(m);
	if (p)
		a->inside = xdp_program__id(p);
	if (!libxdp_get_error(m))
		xdp_multiprog__close(m);
	iw_bpf_end();
}

/* Details of a program need CAP_SYS_ADMIN; its id does not. */
static void ask_program(struct iw_xdp_attached *a)
{
	struct bpf_prog_info info;
	int fd = bpf_prog_get_fd_by_id(a->program);

	snprintf(a->name, sizeof(a->name), "?");
	if (fd < 0) {
		a->owner = errno == EPERM ? IW_XDP_UNKNOWN : IW_XDP_FOREIGN;
		return;
	}
	if (iw_bpf_prog_info(fd, &info, NULL, NULL) == 0) {
		snprintf(a->name, sizeof(a->name), "%s", info.name);
		a->owner = owner_of(info.name);
		a->run_ns = info.run_time_ns;
		a->runs = info.run_cnt;
		a->insns = info.verified_insns;
	}
	close(fd);
	fd = link_of(a->program);
	if (fd < 0)
		return;
	a->link = iw_bpf_link_id(fd);
	close(fd);
}

int iw_attach_query(struct iw_xdp_attached *out, unsigned ifindex, struct iw_fault *why)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, q);
	int err = bpf_xdp_query((int)ifindex, 0, &q);

	memset(out, 0, sizeof(*out));
	if (err == -ENODEV)
		return iw_fail(why, IW_E_NOENT, "xdp: the interface is gone");
	if (err < 0)
		return iw_os_fail(why, -err, "xdp: query the attached programs");
	out->native = q.drv_prog_id != 0 || q.hw_prog_id != 0;
	/* There may be one program per mode; report the one that packets meet first. */
	out->program = q.hw_prog_id    ? q.hw_prog_id
		       : q.drv_prog_id ? q.drv_prog_id
		       : q.skb_prog_id ? q.skb_prog_id
				       : q.prog_id;
	if (out->program == 0)
		return 0;
	out->owner = IW_XDP_FOREIGN;
	ask_program(out);
	if (out->owner == IW_XDP_DISPATCHER)
		ask_dispatcher(out, ifindex);
	return 0;
}

/* --- attach --- */

static int try_attach(int prog, unsigned ifindex, uint32_t flags)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = flags);

	return bpf_link_create(prog, (int)ifindex, BPF_XDP, &opts);
}

/* Explains that the requested program is attached already, so that there may be nothing to do. */
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

/*
 * EEXIST without a program on the interface: Linux does not attach one while an interface stacked
 * on it (VLAN, bridge, bond, macvlan) has a program.
 */
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
		/*
		 * sysfs may show another network namespace: this one may have no interface of that
		 * name.
		 */
		ifindex = if_nametoindex(above);
		found = ifindex && iw_attach_query(&a, ifindex, NULL) == 0 && a.program;
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

int iw_attach_busy(const char *interface, unsigned ifindex, int prog, int errnum,
		   struct iw_fault *why)
{
	struct bpf_prog_info requested;
	struct iw_xdp_attached a;
	uint32_t user;

	if (iw_attach_query(&a, ifindex, NULL) < 0)
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

int iw_attach_program(int *link, bool *native, int prog, const char *interface, unsigned ifindex,
		      enum iw_xdp_mode mode, const char *remedy, struct iw_fault *why)
{
	int fd = -EOPNOTSUPP;

	if (mode != IW_XDP_GENERIC)
		fd = try_attach(prog, ifindex, XDP_FLAGS_DRV_MODE);
	*native = fd >= 0;
	/* EBUSY and EPERM would be the same in generic mode. */
	if (fd < 0 && mode != IW_XDP_NATIVE && fd != -EBUSY && fd != -EPERM)
		fd = try_attach(prog, ifindex, XDP_FLAGS_SKB_MODE);
	if (fd >= 0) {
		*link = fd;
		return 0;
	}
	if (fd == -EBUSY || fd == -EEXIST)
		return iw_attach_busy(interface, ifindex, prog, -fd, why);
	if (fd == -EOPNOTSUPP)
		return iw_fail(why, IW_E_NOTSUP,
			       "xdp: the driver of %s has no native XDP, only generic mode; %s",
			       interface, remedy);
	/* A veth driver checks the size of the frames that its other end may send. */
	if (fd == -ERANGE && iw_interface_is_veth(interface))
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

/* --- detach --- */

static int detach_inside(const struct iw_xdp_attached *a, unsigned ifindex, struct iw_fault *why)
{
	struct xdp_multiprog *m;
	struct xdp_program *p;
	int err;

	iw_bpf_begin();
	m = xdp_multiprog__get_from_ifindex((int)ifindex);
	err = libxdp_get_error(m) ? -ENOENT : 0;
	if (err == 0) {
		p = ours_in(m);
		err = p ? xdp_program__detach(p, (int)ifindex,
					      a->native ? XDP_MODE_NATIVE : XDP_MODE_SKB, 0)
			: -ENOENT;
		xdp_multiprog__close(m);
	}
	if (err)
		err = iw_bpf_fail(why, err, "xdp: remove the program %u from the dispatcher",
				  a->inside);
	iw_bpf_end();
	return err;
}

int iw_attach_detach(const struct iw_xdp_attached *a, unsigned ifindex, struct iw_fault *why)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, opts);
	int fd, err;

	if (a->inside)
		return detach_inside(a, ifindex, why);
	if (a->link) {
		fd = bpf_link_get_fd_by_id(a->link);
		if (fd < 0)
			return iw_os_fail(why, errno, "xdp: open the link %u", a->link);
		err = bpf_link_detach(fd);
		close(fd);
		return err < 0 ? iw_os_fail(why, -err, "xdp: detach the link %u", a->link) : 0;
	}
	opts.old_prog_fd = bpf_prog_get_fd_by_id(a->program);
	if (opts.old_prog_fd < 0)
		return iw_os_fail(why, errno, "xdp: open the program %u", a->program);
	err = bpf_xdp_detach(
		(int)ifindex,
		XDP_FLAGS_REPLACE | (a->native ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE), &opts);
	close(opts.old_prog_fd);
	return err < 0 ? iw_bpf_fail(why, err, "xdp: detach the program %s (id %u)", a->name,
				     a->program)
		       : 0;
}

/* --- pins ------------------------------------------------------------------------------------- */

#define BPF_FS_MAGIC_ 0xcafe4a11 /* linux/magic.h; older headers lack it */

/* Creates "/sys/fs/bpf/iwarp" if "/sys/fs/bpf" exists. */
static int make_dir(const char *dir, struct iw_fault *why)
{
	char above[PATH_MAX];
	struct statfs fs = { 0 };

	if (mkdir(dir, 0700) < 0 && errno != EEXIST && errno != ENOENT)
		return iw_os_fail(why, errno, "xdp: create the directory %s", dir);
	if (statfs(dir, &fs) == 0 && (uint32_t)fs.f_type == BPF_FS_MAGIC_)
		return 0;
	/* Find the lowest directory above it that exists. */
	snprintf(above, sizeof(above), "%s", dir);
	while (statfs(above, &fs) < 0 && errno == ENOENT && strchr(above + 1, '/'))
		*strrchr(above, '/') = '\0';
	if (access(dir, F_OK) < 0 && (uint32_t)fs.f_type == BPF_FS_MAGIC_)
		return iw_fail(why, IW_E_NOENT, "xdp: %s: no such directory: mkdir -p %s", dir,
			       dir);
	return iw_fail(
		why, IW_E_NOTSUP,
		"xdp: %s is not on a BPF file system: mount -t bpf bpf /sys/fs/bpf, and use a directory there",
		dir);
}

static void pin_path(char path[static PATH_MAX], const char *dir, const char *interface)
{
	snprintf(path, PATH_MAX, "%s/%s", dir, interface);
}

int iw_attach_pin(int link, const char *dir, const char *interface, struct iw_fault *why)
{
	char path[PATH_MAX];
	int err = make_dir(dir, why);

	if (err)
		return err;
	pin_path(path, dir, interface);
	err = bpf_obj_pin(link, path);
	if (err == -EEXIST)
		return iw_fail(
			why, IW_E_BUSY,
			"xdp: %s exists already; `ddp-xdp detach -I %s --force-clean` removes it",
			path, interface);
	return err < 0 ? iw_bpf_fail(why, err, "xdp: pin the link as %s", path) : 0;
}

bool iw_attach_link_holds(int link)
{
	struct bpf_link_info info = { 0 };
	uint32_t len = sizeof(info);

	/* Older kernels report this only to processes with capabilities. */
	if (bpf_obj_get_info_by_fd(link, &info, &len) < 0)
		return errno == EPERM;
	return info.type == BPF_LINK_TYPE_XDP && info.xdp.ifindex != 0;
}

enum iw_xdp_pinned iw_attach_pinned(const char *dir, const char *interface)
{
	enum iw_xdp_pinned ret = IW_XDP_STALE;
	char path[PATH_MAX];
	int fd;

	pin_path(path, dir, interface);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return access(path, F_OK) == 0 ? IW_XDP_PINNED : IW_XDP_NO_PIN;
	if (iw_attach_link_holds(fd))
		ret = IW_XDP_PINNED;
	close(fd);
	return ret;
}

int iw_attach_unpin(const char *dir, const char *interface, struct iw_fault *why)
{
	char path[PATH_MAX];

	pin_path(path, dir, interface);
	if (unlink(path) < 0 && errno != ENOENT && errno != ENOTDIR)
		return iw_os_fail(why, errno, "xdp: remove %s", path);
	return 0;
}

/* --- dispatchers ------------------------------------------------------------------------------ */

int iw_attach_check_dispatcher(struct iw_fault *why)
{
	/* A program that only returns 0. */
	static const struct bpf_insn nothing[] = { { .code = BPF_ALU64 | BPF_MOV | BPF_K },
						   { .code = BPF_JMP | BPF_EXIT } };
	struct statfs fs;
	int fd = bpf_prog_load(BPF_PROG_TYPE_EXT, "iw_replace", "GPL", nothing, 2, NULL);

	if (fd >= 0)
		close(fd);
	/* EINVAL: the kernel permits such programs, but this one names no function to replace. */
	if (fd >= 0 || errno != EPERM)
		return statfs("/sys/fs/bpf", &fs) == 0 && (uint32_t)fs.f_type == BPF_FS_MAGIC_
			       ? 0
			       : iw_fail(why, IW_E_NOTSUP,
					 "xdp: the dispatcher needs a BPF file system: mount -t "
					 "bpf bpf /sys/fs/bpf");
	if (!iw_os_has_cap(CAP_SYS_ADMIN) &&
	    !(iw_os_has_cap(CAP_NET_ADMIN) && iw_os_has_cap(CAP_BPF) && iw_os_has_cap(CAP_PERFMON)))
		return iw_fail(why, IW_E_PERM,
			       "xdp: the dispatcher needs CAP_NET_ADMIN, CAP_BPF and CAP_PERFMON: "
			       "be root");
	return iw_fail(
		why, IW_E_NOTSUP,
		"xdp: this kernel does not permit programs that replace functions of "
		"another (type EXT), which the dispatcher of libxdp needs; use `ddp-xdp attach` "
		"without --dispatcher");
}

/* libxdp keeps the pins of a dispatcher in a directory of its own: dispatch-IFINDEX-PROGRAM. */
unsigned iw_attach_dispatchers_left(unsigned ifindex, uint32_t program)
{
	DIR *d = opendir("/sys/fs/bpf/xdp");
	const struct dirent *e;
	unsigned left = 0, of, id;

	while (d && (e = readdir(d)))
		if (sscanf(e->d_name, "dispatch-%u-%u", &of, &id) == 2 && of == ifindex &&
		    id != program)
			left++;
	if (d)
		closedir(d);
	return left;
}

int iw_attach_clean_dispatchers(unsigned ifindex, struct iw_fault *why)
{
	struct statfs fs;
	int err;

	if (statfs("/sys/fs/bpf", &fs) < 0 || (uint32_t)fs.f_type != BPF_FS_MAGIC_)
		return 0;
	iw_bpf_begin();
	err = libxdp_clean_references((int)ifindex);
	iw_bpf_end();
	if (err == -ENOENT)
		return 0;
	return err < 0 ? iw_os_fail(why, -err, "xdp: clean up after dispatchers") : 0;
}
