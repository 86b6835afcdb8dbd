// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The privileges that each kind of tool gives up, in this order. */
#include "cli/confine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/seccomp.h"
#include "os/os.h"
#include "os/priv.h"
#include "util/num.h"
#include "util/text.h"

/* For kernel headers before Linux 5.8. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

/*
 * On exit a sanitizer lists the threads and maps of the process and attaches to it: /proc, clone,
 * ptrace.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

/* The thread sanitizer keeps one thread of its own, which is not confined. */
#ifdef __SANITIZE_THREAD__
#define OWN_THREADS 2
#else
#define OWN_THREADS 1
#endif

#define FILES (IW_CONFINE_READS | IW_CONFINE_WRITES)

/*
 * To open -t xdp: its sockets, program, maps and pinned memory, and a program that another process
 * keeps.
 */
#define XDP_CAPS                                                                                   \
	(IW_OS_CAP(CAP_NET_RAW) | IW_OS_CAP(CAP_NET_ADMIN) | IW_OS_CAP(CAP_BPF) |                  \
	 IW_OS_CAP(CAP_PERFMON) | IW_OS_CAP(CAP_IPC_LOCK) | IW_OS_CAP(CAP_SYS_ADMIN))

/* Files that the C library reads to resolve a name, and the modules that it loads for that. */
static const char *const resolver[] = {
	"/etc/hosts",           "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/host.conf",
	"/etc/gai.conf",        "/etc/services",    "/etc/protocols",     "/etc/localtime",
	"/run/systemd/resolve", "/run/nscd",        "/run/resolvconf",    "/var/lib/sss",
};
/* Libraries and their settings: OpenSSL's providers, what pthread_exit() loads. */
static const char *const libraries[] = {
	"/usr/lib",         "/usr/lib64",           "/lib", "/lib64", "/usr/local/lib",
	"/etc/ld.so.cache", "/etc/ssl/openssl.cnf",
};

static bool uses(const struct iw_confine *c, const char *transport)
{
	return strcmp(c->cli->transport, transport) == 0;
}

/* --- which capabilities --- */

static uint64_t caps_of_transport(const struct iw_confine *c)
{
	uint64_t caps = 0;

	/* For names outside of net.ipv4.tcp_allowed_congestion_control. */
	if (c->how & IW_CONFINE_CC && uses(c, "tcp"))
		caps |= IW_OS_CAP(CAP_NET_ADMIN);
	/* Before Linux 5.19 updating maps and running programs by descriptor needs it. */
	if (!(c->how & IW_CONFINE_REOPENS))
		return uses(c, "xdp") ? IW_OS_CAP(CAP_BPF) : caps;
	if (uses(c, "xdp"))
		return XDP_CAPS;
	if (uses(c, "raw"))
		caps |= IW_OS_CAP(CAP_NET_RAW);
	/* For socket buffers beyond net.core.rmem_max. */
	if (uses(c, "raw") || uses(c, "udp"))
		caps |= IW_OS_CAP(CAP_NET_ADMIN);
	/* For SO_BINDTODEVICE before Linux 5.7. */
	if (c->cli->interface)
		caps |= IW_OS_CAP(CAP_NET_RAW);
	return caps;
}

static uint64_t caps_of_files(unsigned how)
{
	if (how & IW_CONFINE_WRITES)
		return IW_OS_CAP(CAP_DAC_OVERRIDE) | IW_OS_CAP(CAP_FOWNER);
	if (how & IW_CONFINE_READS)
		return IW_OS_CAP(CAP_DAC_READ_SEARCH);
	if (how & IW_CONFINE_RUNS)
		return IW_OS_CAP(CAP_DAC_OVERRIDE);
	return 0;
}

/* --- which files --- */

static void allow_list(struct iw_confine *c, const char *const *paths, size_t n)
{
	for (size_t i = 0; i < n; i++)
		iw_confine_allow_path(c, paths[i], IW_LANDLOCK_READ);
}

static void leave_out(struct iw_confine *c, const char *what)
{
	size_t len = strlen(c->left_out);

	snprintf(c->left_out + len, sizeof(c->left_out) - len, "%s%s", len ? "; " : "", what);
}

static void no_landlock(struct iw_confine *c, const char *reason)
{
	if (c->files.ruleset >= 0)
		close(c->files.ruleset);
	c->files.ruleset = -1;
	leave_out(c, reason);
}

static void begin_files(struct iw_confine *c)
{
	bool reads = c->how & FILES && !SANITIZED;
	int err;

	c->files = (struct iw_landlock){ .ruleset = -1 };
	/* The tool runs another program, whose files are not known. */
	if (c->how & IW_CONFINE_RUNS)
		return;
	err = iw_landlock_begin(&c->files, reads, c->how & IW_CONFINE_LISTENS, &c->why);
	if (err > 0) {
		leave_out(c, c->why.text);
		c->why = (struct iw_fault){ 0 };
	}
	if (err || !reads)
		return;
	allow_list(c, libraries, IW_ARRAY_LEN(libraries));
	if (c->how & IW_CONFINE_REOPENS)
		allow_list(c, resolver, IW_ARRAY_LEN(resolver));
	/* Properties of an interface and its queues. */
	if (uses(c, "xdp") || uses(c, "raw"))
		iw_confine_allow_path(c, "/sys", IW_LANDLOCK_READ);
	if (uses(c, "xdp"))
		iw_confine_allow_path(c, "/proc", IW_LANDLOCK_READ);
}

void iw_confine_init(struct iw_confine *c, struct iw_cli *cli, unsigned how)
{
	*c = (struct iw_confine){ .cli = cli, .how = how };
	c->caps = caps_of_transport(c) | caps_of_files(how);
	begin_files(c);
}

void iw_confine_allow(struct iw_confine *c, int fd, enum iw_landlock_right right)
{
	/* Under Landlock, Linux before 5.19 allows no rename or link between directories. */
	if (right == IW_LANDLOCK_WRITE && c->files.ruleset >= 0 && c->files.abi == 1)
		no_landlock(c, "Landlock: ABI 1 of this kernel forbids links between directories");
	if (!c->why.err)
		(void)!iw_landlock_allow(&c->files, fd, right, &c->why);
}

void iw_confine_allow_path(struct iw_confine *c, const char *path, enum iw_landlock_right right)
{
	if (!c->why.err)
		(void)!iw_landlock_allow_path(&c->files, path, right, &c->why);
}

/* --- the steps --- */

static int count_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *de;
	int n = 0;

	while (dir && (de = readdir(dir)) != NULL)
		n += de->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return n;
}

static int change_user(struct iw_confine *c, struct iw_fault *why)
{
	int err;

	if (geteuid() != 0 || c->how & (FILES | IW_CONFINE_RUNS))
		return 0;
	err = iw_os_priv_become(IW_CONFINE_UID, IW_CONFINE_UID, why);
	if (err > 0) {
		leave_out(c, why->text);
		err = 0;
	}
	/* After the change only root may inspect the process (PR_SET_DUMPABLE). */
	if (SANITIZED)
		(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	return err;
}

static int filter_calls(struct iw_confine *c, struct iw_fault *why)
{
	unsigned also = !uses(c, "xdp")               ? 0
			: c->how & IW_CONFINE_REOPENS ? IW_SECCOMP_LOAD_BPF
						      : IW_SECCOMP_XDP;
	int err;

	if (c->how & IW_CONFINE_RUNS)
		return 0;
	if (SANITIZED) {
		leave_out(c, "seccomp: not used with a sanitizer, which traces the process");
		return 0;
	}
	err = iw_seccomp(also, why);
	if (err > 0) {
		leave_out(c, why->text);
		err = 0;
	}
	return err;
}

static int steps(struct iw_confine *c, struct iw_fault *why)
{
	int threads = count_threads(), err = c->why.err;

	if (err)
		*why = c->why;
	else if (threads > OWN_THREADS)
		err = iw_fail(why, IW_E_INVAL, "%u threads are running already; expected %u",
			      (uint32_t)threads, (uint32_t)OWN_THREADS);
	if (!err)
		err = iw_os_priv_no_new(why);
	if (!err)
		err = iw_landlock_enforce(&c->files, why);
	if (!err)
		err = change_user(c, why);
	if (!err)
		err = iw_os_priv_keep(c->caps, why);
	return err ? err : filter_calls(c, why);
}

/* --- all of it --- */

/* Why this tool keeps its privileges; NULL: it gives them up. */
static const char *off_because(void)
{
#ifdef IW_COVERAGE
	return "all privileges: this build writes its coverage counts on exit";
#else
	const char *off = getenv("IWARP_UNCONFINED");

	return off && strcmp(off, "1") == 0 ? "all privileges: IWARP_UNCONFINED is set" : NULL;
#endif
}

int iw_confine_early(struct iw_fault *why)
{
	const char *off = getenv("IWARP_UNCONFINED");

	if (off && strcmp(off, "1") != 0)
		iw_log_warn("IWARP_UNCONFINED=%s is ignored: expected 1", off);
	return off_because() ? 0 : iw_os_priv_no_new(why);
}

static int confine(struct iw_confine *c, struct iw_fault *why)
{
	char text[sizeof(why->text)];
	const char *off = off_because();

	if (off) {
		no_landlock(c, off);
		return 0;
	}
	if (steps(c, why) == 0)
		return 0;
	snprintf(text, sizeof(text), "%s", why->text);
	return iw_fail(
		why, IW_E_PERM,
		"cannot give up privileges: %s; set IWARP_UNCONFINED=1 to run with all privileges",
		text);
}

int iw_confine(struct iw_confine *c, struct iw_fault *why)
{
	int err;

	if (c->cli->confined) {
		no_landlock(c, "");
		return 0;
	}
	err = confine(c, why);
	c->cli->confined = !err;
	if (c->left_out[0])
		iw_log_info("not given up: %s", c->left_out);
	return err;
}

int iw_confine_plain(struct iw_cli *cli, unsigned how, struct iw_fault *why)
{
	struct iw_confine c;

	iw_confine_init(&c, cli, how);
	return iw_confine(&c, why);
}

/* --- measures in force --- */

static uint64_t field(const char *status, const char *name, int base)
{
	const char *at = strstr(status, name);

	return at ? strtoull(at + strlen(name), NULL, base) : 0;
}

static void read_state(struct iw_confine_state *s, int fd)
{
	char status[8192];
	ssize_t n = pread(fd, status, sizeof(status) - 1, 0);

	status[n > 0 ? n : 0] = '\0';
	s->uid = (uint32_t)field(status, "\nUid:", 10);
	s->gid = (uint32_t)field(status, "\nGid:", 10);
	s->caps = field(status, "\nCapPrm:", 16);
	s->no_new_privs = field(status, "\nNoNewPrivs:", 10) == 1;
	s->filtered = field(status, "\nSeccomp:", 10) == 2;
}

struct answer {
	int err;
	struct iw_confine_state state;
	char text[256];
};

/* Runs in the child. Opens its status file first, because confinement may forbid that. */
static void try_it(struct answer *a, struct iw_cli *cli, unsigned how, uint64_t caps)
{
	int status = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	struct iw_fault why = { 0 };
	struct iw_confine c;

	iw_confine_init(&c, cli, how);
	c.caps |= caps;
	a->err = confine(&c, &why);
	a->state.landlock = c.files.enforced ? c.files.abi : 0;
	snprintf(a->text, sizeof(a->text), "%s", why.text);
	snprintf(a->state.left_out, sizeof(a->state.left_out), "%s", c.left_out);
	read_state(&a->state, status);
}

static bool read_answer(int fd, struct answer *a)
{
	size_t got = 0;
	ssize_t n = 1;

	while (got < sizeof(*a) && n > 0) {
		n = read(fd, (char *)a + got, sizeof(*a) - got);
		got += n > 0 ? (size_t)n : 0;
	}
	return got == sizeof(*a);
}

unsigned iw_confine_listener(struct iw_cli *cli, uint64_t *caps)
{
	(void)cli;
	(void)caps;
	return IW_CONFINE_LISTENS;
}

int iw_confine_try(struct iw_confine_state *out, struct iw_cli *cli, unsigned how, uint64_t caps,
		   struct iw_fault *why)
{
	struct answer a = { .err = 0 };
	int fds[2], status;
	bool answered;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return iw_os_fail(why, errno, "make a pipe");
	pid = fork();
	if (pid == 0) {
		try_it(&a, cli, how, caps);
		_exit(write(fds[1], &a, sizeof(a)) == sizeof(a) ? 0 : 1);
	}
	close(fds[1]);
	answered = pid > 0 && read_answer(fds[0], &a);
	close(fds[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!answered)
		return iw_fail(why, IW_E_OS,
			       "the process that tried to give up privileges exited at once");
	*out = a.state;
	return a.err ? iw_fail(why, a.err, "%s", a.text) : 0;
}

const char *iw_confine_caps(char *buf, size_t cap, uint64_t caps)
{
	static const struct {
		int cap;
		const char *name;
	} names[] = {
		{ CAP_CHOWN, "CAP_CHOWN" },
		{ CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE" },
		{ CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH" },
		{ CAP_FOWNER, "CAP_FOWNER" },
		{ CAP_FSETID, "CAP_FSETID" },
		{ CAP_NET_ADMIN, "CAP_NET_ADMIN" },
		{ CAP_NET_RAW, "CAP_NET_RAW" },
		{ CAP_IPC_LOCK, "CAP_IPC_LOCK" },
		{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN" },
		{ CAP_PERFMON, "CAP_PERFMON" },
		{ CAP_BPF, "CAP_BPF" },
	};
	size_t len = 0;

	snprintf(buf, cap, "none");
	for (size_t i = 0; i < IW_ARRAY_LEN(names); i++) {
		if (!(caps & IW_OS_CAP(names[i].cap)) || len >= cap)
			continue;
		len += (size_t)snprintf(buf + len, cap - len, "%s%s", len ? " " : "",
					names[i].name);
		caps &= ~IW_OS_CAP(names[i].cap);
	}
	if (caps && len < cap)
		snprintf(buf + len, cap - len, "%sothers (0x%" PRIx64 ")", len ? " " : "", caps);
	return buf;
}
