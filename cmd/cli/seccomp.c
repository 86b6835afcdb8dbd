// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The filter lists the allowed calls, not the forbidden ones, because every kernel version adds
 * calls. A call that is not listed fails with EPERM, as under a container's filter; a new libc then
 * falls back to an older call.
 */
#include "cli/seccomp.h"

#include "util/text.h"

#ifndef IW_HAVE_SECCOMP

int iw_seccomp(unsigned also, struct iw_fault *why)
{
	(void)also;
	(void)iw_fail(why, IW_E_NOTSUP, "built without libseccomp");
	return 1;
}

#else

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "os/os.h"
#include "util/num.h"

#ifndef AF_XDP
#define AF_XDP 44
#endif
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

/* clang-format off */
static const char *const allowed[] = {
	/* memory */
	"brk", "madvise", "mincore", "mlock", "mlock2", "mmap", "mmap2", "mprotect", "mremap", "msync", "munlock", "munmap",
	/* threads */
	"exit", "exit_group", "futex", "futex_time64", "futex_wait", "futex_wake", "get_robust_list", "getcpu", "gettid", "membarrier",
	"rseq", "sched_getaffinity", "sched_getparam", "sched_getscheduler", "sched_setaffinity", "sched_yield", "set_robust_list",
	"set_tid_address", "tgkill", "arch_prctl", "get_thread_area", "set_thread_area",
	/* signals */
	"restart_syscall", "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait",
	"rt_sigtimedwait_time64", "sigaltstack", "signalfd4", "sigreturn",
	/* time */
	"clock_getres", "clock_getres_time64", "clock_gettime", "clock_gettime64", "clock_nanosleep", "clock_nanosleep_time64",
	"getitimer", "getrusage", "gettimeofday", "nanosleep", "setitimer", "time", "timerfd_create", "timerfd_gettime",
	"timerfd_gettime64", "timerfd_settime", "timerfd_settime64", "times",
	/* waiting */
	"_newselect", "epoll_create", "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait", "eventfd2", "poll",
	"ppoll", "ppoll_time64", "pselect6", "pselect6_time64", "select", "wait4", "waitid", "waitpid",
	/* descriptors */
	"_llseek", "close", "close_range", "copy_file_range", "dup", "dup2", "dup3", "fcntl", "fcntl64", "flock", "lseek", "pipe",
	"pipe2", "pread64", "preadv", "preadv2", "pwrite64", "pwritev", "pwritev2", "read", "readv", "sendfile", "sendfile64",
	"splice", "tee", "vmsplice", "write", "writev",
	/* network */
	"accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt", "listen", "recv", "recvfrom", "recvmmsg",
	"recvmmsg_time64", "recvmsg", "send", "sendmmsg", "sendmsg", "sendto", "setsockopt", "shutdown", "socketpair",
	/* files */
	"access", "chdir", "chmod", "chown", "chown32", "creat", "faccessat", "faccessat2", "fadvise64", "fadvise64_64", "fallocate",
	"fchdir", "fchmod", "fchmodat", "fchmodat2", "fchown", "fchown32", "fchownat", "fdatasync", "fgetxattr", "flistxattr",
	"fremovexattr", "fsetxattr", "fstat", "fstat64", "fstatat64", "fstatfs", "fstatfs64", "fsync", "ftruncate", "ftruncate64",
	"futimesat", "getcwd", "getdents", "getdents64", "getxattr", "inotify_add_watch", "inotify_init1", "inotify_rm_watch",
	"lchown", "lchown32", "lgetxattr", "link", "linkat", "listxattr", "llistxattr", "lremovexattr", "lsetxattr", "lstat",
	"lstat64", "memfd_create", "mkdir", "mkdirat", "newfstatat", "open", "openat", "openat2", "readahead", "readlink",
	"readlinkat", "removexattr", "rename", "renameat", "renameat2", "rmdir", "setxattr", "stat", "stat64", "statfs", "statfs64",
	"statx", "symlink", "symlinkat", "sync_file_range", "sync_file_range2", "syncfs", "truncate", "truncate64", "umask", "unlink", "unlinkat",
	"utimensat", "utimensat_time64",
	/* this process and the machine */
	"capget", "getegid", "getegid32", "geteuid", "geteuid32", "getgid", "getgid32", "getgroups", "getpgrp", "getpid", "getppid",
	"getpriority", "getrandom", "getresgid", "getresuid", "getrlimit", "getuid", "getuid32", "prlimit64", "sched_get_priority_max",
	"sched_get_priority_min", "setrlimit", "sysinfo", "ugetrlimit", "uname",
};

/* No tool makes these calls; only code of an attacker does. */
static const char *const deadly[] = {
	"acct", "add_key", "adjtimex", "chroot", "clock_adjtime", "clock_settime", "delete_module", "execve", "execveat",
	"finit_module", "fsconfig", "fsmount", "fsopen", "init_module", "io_uring_enter", "io_uring_register", "io_uring_setup",
	"ioperm", "iopl", "kcmp", "kexec_file_load", "kexec_load", "keyctl", "mount", "mount_setattr", "move_mount",
	"open_by_handle_at", "open_tree", "perf_event_open", "personality", "pidfd_getfd", "pivot_root", "process_madvise",
	"process_vm_readv", "process_vm_writev", "ptrace", "quotactl", "reboot", "request_key", "setns", "settimeofday", "swapoff",
	"swapon", "umount", "umount2", "unshare", "userfaultfd",
};
/* clang-format on */

/* Not TIOCSTI, which inserts input into a terminal. */
static const unsigned long ioctls[] = { FIONBIO,      FIONREAD,    TCGETS,       TIOCGWINSZ,
					SIOCGIFINDEX, SIOCGIFNAME, SIOCGIFFLAGS, SIOCGIFMTU,
					SIOCETHTOOL,  SIOCOUTQ };
static const int prctls[] = { PR_SET_NAME, PR_GET_NAME, PR_SET_VMA, PR_GET_DUMPABLE };
static const int families[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };
/*
 * bpf(2) on open descriptors: look up, update and delete map elements, get keys, run a program, get
 * info.
 */
static const int bpf_uses[] = { 1, 2, 3, 4, 10, 15 };

#ifdef __s390__
#define CLONE_FLAGS 1 /* argument */
#else
#define CLONE_FLAGS 0
#endif

/* A call that this architecture lacks needs no rule: libseccomp returns -EINVAL or no number. */
static int rule(scmp_filter_ctx f, uint32_t action, const char *name)
{
	int nr = seccomp_syscall_resolve_name(name);
	int err = nr == __NR_SCMP_ERROR ? 0 : seccomp_rule_add(f, action, nr, 0);

	return err == -EINVAL || err == -EDOM || err == -EACCES ? 0 : err;
}

/* Compares the low 32 bits of the argument: the kernel ignores the others of an int. */
static int rule_if(scmp_filter_ctx f, const char *name, unsigned arg, uint32_t value)
{
	return seccomp_rule_add(f, SCMP_ACT_ALLOW, seccomp_syscall_resolve_name(name), 1,
				SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, UINT32_MAX, value));
}

static int add_lists(scmp_filter_ctx f)
{
	int err = 0;

	for (size_t i = 0; i < IW_ARRAY_LEN(allowed) && !err; i++)
		err = rule(f, SCMP_ACT_ALLOW, allowed[i]);
	for (size_t i = 0; i < IW_ARRAY_LEN(deadly) && !err; i++)
		err = rule(f, SCMP_ACT_KILL_PROCESS, deadly[i]);
	for (size_t i = 0; i < IW_ARRAY_LEN(ioctls) && !err; i++)
		err = rule_if(f, "ioctl", 1, (uint32_t)ioctls[i]);
	for (size_t i = 0; i < IW_ARRAY_LEN(prctls) && !err; i++)
		err = rule_if(f, "prctl", 0, (uint32_t)prctls[i]);
	for (size_t i = 0; i < IW_ARRAY_LEN(families) && !err; i++)
		err = rule_if(f, "socket", 0, (uint32_t)families[i]);
	return err;
}

/*
 * Allows threads, not processes. A filter cannot read the flags of clone3 in memory: libc falls
 * back to clone.
 */
static int add_clone(scmp_filter_ctx f)
{
	int err = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				   SCMP_CMP(CLONE_FLAGS, SCMP_CMP_MASKED_EQ, CLONE_THREAD,
					    CLONE_THREAD));

	return err ? err : rule(f, SCMP_ACT_ERRNO(ENOSYS), "clone3");
}

static int add_bpf(scmp_filter_ctx f, unsigned also)
{
	int err = 0;

	if (also & (IW_SECCOMP_XDP | IW_SECCOMP_LOAD_BPF))
		err = rule_if(f, "socket", 0, AF_XDP);
	if (err || also & IW_SECCOMP_LOAD_BPF)
		return err ? err : rule(f, SCMP_ACT_ALLOW, "bpf");
	if (!(also & IW_SECCOMP_XDP))
		return rule(f, SCMP_ACT_KILL_PROCESS, "bpf");
	for (size_t i = 0; i < IW_ARRAY_LEN(bpf_uses) && !err; i++)
		err = rule_if(f, "bpf", 0, (uint32_t)bpf_uses[i]);
	return err;
}

static int set_up(scmp_filter_ctx f)
{
	int err = seccomp_attr_set(f, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);

	if (!err)
		err = seccomp_attr_set(f, SCMP_FLTATR_CTL_TSYNC, 1);
	if (err)
		return err;
	/*
	 * A binary tree is faster than a list. Speculative stores stay enabled: Linux before 5.16
	 * disables them in a filtered process and so slows it down, but no foreign code runs here.
	 * Older versions of libseccomp lack both.
	 */
	(void)seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	(void)seccomp_attr_set(f, SCMP_FLTATR_CTL_SSB, 1);
	return 0;
}

int iw_seccomp(unsigned also, struct iw_fault *why)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int err;

	if (!f)
		return iw_fail(why, IW_E_NOMEM, "seccomp: no memory for a filter");
	err = set_up(f);
	if (!err)
		err = add_lists(f);
	if (!err)
		err = add_clone(f);
	if (!err)
		err = add_bpf(f, also);
	if (err) {
		seccomp_release(f);
		return iw_os_fail(why, -err, "seccomp: create a filter");
	}
	err = seccomp_load(f);
	seccomp_release(f);
	/* A kernel without CONFIG_SECCOMP_FILTER returns EINVAL. */
	if (err == -EINVAL || err == -ENOSYS || err == -EOPNOTSUPP) {
		(void)iw_os_fail(why, -err, "seccomp: not supported by this kernel");
		return 1;
	}
	return err ? iw_os_fail(why, -err, "seccomp: load the filter") : 0;
}

#endif
