// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Capabilities, kernel features, limits and sysctls. */
#include "os/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "os/gso.h"
#include "os/os.h"
#include "util/text.h"

/* For C libraries older than these features; the numbers are the kernel's ABI. */
#ifndef AF_XDP
#define AF_XDP 44
#endif
bool iw_os_has_cap(int cap)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	memset(data, 0, sizeof(data));
	if (syscall(SYS_capget, &head, data) < 0)
		return false;
	return data[CAP_TO_INDEX(cap)].effective & CAP_TO_MASK(cap);
}

/* Returns a descriptor that the caller closes, or a negative error. */
static int try_socket(int family, int type, int protocol, const char *what, struct iw_fault *why)
{
	int fd = socket(family, type | SOCK_CLOEXEC, protocol);

	if (fd >= 0)
		return fd;
	switch (iw_os_err(errno)) {
	case IW_E_PERM:
		return iw_fail(why, IW_E_PERM, "%s: needs CAP_NET_RAW", what);
	case IW_E_NOTSUP:
		return iw_fail(why, IW_E_NOTSUP, "%s: not in this kernel", what);
	default:
		return iw_os_fail(why, errno, "%s: open a socket", what);
	}
}

static int probe_socket(int family, int type, int protocol, const char *what, struct iw_fault *why)
{
	int fd = try_socket(family, type, protocol, what, why);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* True if modules.dep lists /sctp.ko, perhaps compressed, as a module. */
static bool has_module(const char *release)
{
	char path[sizeof("/lib/modules//modules.dep") + sizeof(((struct utsname *)0)->release)];
	char *line = NULL, *at;
	bool found = false;
	size_t cap = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/lib/modules/%s/modules.dep", release);
	f = fopen(path, "re");
	while (f && !found && getline(&line, &cap, f) > 0) {
		at = strchr(line, ':');
		if (at)
			*at = '\0';
		found = strstr(line, "/sctp.ko") != NULL;
	}
	free(line);
	if (f)
		fclose(f);
	return found;
}

int iw_os_probe_sctp(struct iw_fault *why)
{
	int err = probe_socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP, "kernel SCTP", why);
	struct utsname u = { .release = "" };

	(void)uname(&u);
	if (err == IW_E_NOTSUP && has_module(u.release))
		return iw_fail(
			why, err,
			"kernel SCTP: its module is not loaded, although it is in "
			"/lib/modules/%s: modprobe.d forbids it, or this kernel loads no more modules; "
			"`modprobe sctp` as root shows which",
			u.release);
	if (err == IW_E_NOTSUP)
		return iw_fail(why, err,
			       "kernel SCTP: not in this kernel; use -t udp at both ends");
	return err;
}

int iw_os_look_sctp(struct iw_fault *why)
{
	struct utsname u = { .release = "" };

	if (access("/proc/net/sctp", F_OK) == 0)
		return iw_os_probe_sctp(why);
	(void)uname(&u);
	if (!has_module(u.release))
		return iw_fail(why, IW_E_NOTSUP,
			       "kernel SCTP: not in this kernel, and no module in /lib/modules/%s",
			       u.release);
	(void)iw_fail(
		why, 0,
		"kernel SCTP: not loaded; the first -t sctp loads it, unless modprobe.d forbids that");
	return 1;
}

int iw_os_probe_raw(struct iw_fault *why)
{
	return probe_socket(AF_INET, SOCK_RAW, IPPROTO_SCTP, "raw IP sockets", why);
}

int iw_os_probe_xdp(struct iw_fault *why)
{
	return probe_socket(AF_XDP, SOCK_RAW, 0, "AF_XDP sockets", why);
}

int iw_os_probe_packet(struct iw_fault *why)
{
	return probe_socket(AF_PACKET, SOCK_RAW, 0, "packet sockets", why);
}

int iw_os_probe_udp_gso(struct iw_fault *why)
{
	static const char what[] = "UDP segmentation offload";
	int fd, err = 0;

	fd = try_socket(AF_INET, SOCK_DGRAM, 0, what, why);
	if (fd < 0)
		return fd;
	if (!iw_gso_is_supported(fd) || !iw_gro_enable(fd))
		err = iw_os_fail(why, errno, "%s", what);
	close(fd);
	return err;
}

static void limit(int which, uint64_t *soft, uint64_t *hard)
{
	struct rlimit r = { RLIM_INFINITY, RLIM_INFINITY };

	/* Fails only for an invalid resource or pointer. */
	(void)getrlimit(which, &r);
	if (soft)
		*soft = r.rlim_cur == RLIM_INFINITY ? UINT64_MAX : r.rlim_cur;
	if (hard)
		*hard = r.rlim_max == RLIM_INFINITY ? UINT64_MAX : r.rlim_max;
}

void iw_os_memlock(uint64_t *soft, uint64_t *hard)
{
	limit(RLIMIT_MEMLOCK, soft, hard);
}

void iw_os_nofile(uint64_t *soft, uint64_t *hard)
{
	limit(RLIMIT_NOFILE, soft, hard);
}

int iw_os_read_line(char *buf, size_t cap, const char *path, struct iw_fault *why)
{
	ssize_t n;
	int fd, err = 0;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return iw_os_fail(why, errno, "open %s", path);
	n = read(fd, buf, cap - 1);
	if (n < 0) {
		err = iw_os_fail(why, errno, "read %s", path);
		n = 0;
	}
	close(fd);
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	for (char *p = buf; *p; p++)
		if (*p == '\t')
			*p = ' ';
	return err;
}

int iw_os_sysctl(char *buf, size_t cap, const char *name, struct iw_fault *why)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/sys/%s", name);
	return iw_os_read_line(buf, cap, path, why);
}

int iw_os_sysctl_u64(uint64_t *out, const char *name, struct iw_fault *why)
{
	char text[64];
	uint64_t v = 0;
	int err;

	err = iw_os_sysctl(text, sizeof(text), name, why);
	if (err)
		return err;
	if (text[0] == '\0' || text[strspn(text, "0123456789")] != '\0')
		return iw_fail(why, IW_E_FORMAT, "/proc/sys/%s: \"%s\" is not a number", name,
			       text);
	for (const char *p = text; *p; p++)
		if (__builtin_mul_overflow(v, UINT64_C(10), &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return iw_fail(why, IW_E_FORMAT, "/proc/sys/%s: %s does not fit 64 bits",
				       name, text);
	*out = v;
	return 0;
}
