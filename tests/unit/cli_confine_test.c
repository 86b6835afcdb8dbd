// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Each test confines a child process, which then tries to use the privileges that it gave up. */
#include "cli/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/priv.h"

#if defined(IW_HAVE_SECCOMP) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define FILTERED 1
#else
#define FILTERED 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define READS_LIMITED 0
#else
#define READS_LIMITED 1
#endif

static void need_root(void)
{
	if (geteuid() == 0)
		return;
	print_message("# needs root: an ordinary user has nothing to give up\n");
	skip();
}

static void need_landlock(int abi)
{
	if (iw_landlock_abi() >= abi)
		return;
	print_message("# needs landlock: ABI %d, this kernel has %d\n", abi, iw_landlock_abi());
	skip();
}

static void need_filter(void)
{
	if (FILTERED)
		return;
	print_message("# needs seccomp: built without libseccomp, or with a sanitizer\n");
	skip();
}

/* --- a child ---------------------------------------------------------------------------------- */

static char top[] = "/tmp/iw-confine-XXXXXX", served[64], outside[64];

/* Returns the wait status of a child that runs f. */
static int in_child(int (*f)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(f());
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* The child's exit status is 0, or the line of the check that failed. */
#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what))                                                                       \
			return __LINE__ % 200 + 1;                                                 \
	} while (0)

static void all_well(int (*f)(void))
{
	int status = in_child(f);

	if (!WIFEXITED(status))
		fail_msg("ended by signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status) != 0)
		fail_msg("the check at line %d, modulo 200, failed", WEXITSTATUS(status) - 1);
}

static int confine_as(const char *transport, unsigned how, enum iw_landlock_right right)
{
	static struct iw_cli cli;
	struct iw_fault why = { 0 };
	struct iw_confine c;
	int err;

	cli.transport = transport;
	iw_confine_init(&c, &cli, how);
	if (how & (IW_CONFINE_READS | IW_CONFINE_WRITES))
		iw_confine_allow_path(&c, served, right);
	err = iw_confine(&c, &why);
	if (err)
		fprintf(stderr, "%s\n", why.text);
	return err;
}

static int confine_sink(void)
{
	return confine_as("tcp", IW_CONFINE_LISTENS | IW_CONFINE_READS | IW_CONFINE_WRITES,
			  IW_LANDLOCK_WRITE);
}

static int confine_source(void)
{
	return confine_as("tcp", IW_CONFINE_LISTENS | IW_CONFINE_READS, IW_LANDLOCK_READ);
}

static int confine_plain(void)
{
	return confine_as("tcp", IW_CONFINE_LISTENS, IW_LANDLOCK_READ);
}

static const char *in(char buf[static 128], const char *dir, const char *name)
{
	snprintf(buf, 128, "%s/%s", dir, name);
	return buf;
}

static bool opens(const char *dir, const char *name, int flags)
{
	char path[128];
	int fd = open(in(path, dir, name), flags | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool is_refused(const char *dir, const char *name, int flags)
{
	errno = 0;
	return !opens(dir, name, flags) && errno == EACCES;
}

/* --- files ------------------------------------------------------------------------------------ */

static int sink(void)
{
	char a[128], b[128];

	CHECK(confine_sink() == 0);
	CHECK(opens(served, "new", O_RDWR | O_CREAT));
	CHECK(opens(served, "new", O_WRONLY | O_TRUNC));
	CHECK(mkdir(in(a, served, "dir"), 0700) == 0);
	/*
	 * A name in another directory: hard links of a tree, a file that is renamed over another.
	 */
	CHECK(link(in(a, served, "new"), in(b, served, "dir/link")) == 0);
	CHECK(rename(in(a, served, "dir/link"), in(b, served, "moved")) == 0);
	CHECK(symlink("x", in(a, served, "sym")) == 0);
	CHECK(unlink(in(a, served, "moved")) == 0 && rmdir(in(a, served, "dir")) == 0);
	CHECK(is_refused(outside, "new", O_RDWR | O_CREAT));
	CHECK(is_refused(outside, "old", O_WRONLY));
	CHECK(unlink(in(a, outside, "old")) < 0 && errno == EACCES);
	CHECK(link(in(a, served, "new"), in(b, outside, "link")) < 0);
	/* Through a symbolic link, which the kernel follows. */
	CHECK(is_refused(served, "out", O_WRONLY));
	CHECK(mknod(in(a, served, "dev"), S_IFCHR | 0600, 0x0103) < 0);
	CHECK(!READS_LIMITED ||
	      (is_refused(outside, "old", O_RDONLY) && is_refused("/etc", "passwd", O_RDONLY)));
	return 0;
}

static void sink_writes_only_in_its_directory(void **state)
{
	(void)state;
	need_landlock(2);
	all_well(sink);
}

static int source(void)
{
	CHECK(confine_source() == 0);
	CHECK(opens(served, "shown", O_RDONLY));
	CHECK(is_refused(served, "shown", O_WRONLY));
	CHECK(is_refused(served, "new2", O_WRONLY | O_CREAT));
	CHECK(!READS_LIMITED || is_refused(outside, "old", O_RDONLY));
	return 0;
}

static void source_reads_only_in_its_directory(void **state)
{
	(void)state;
	need_landlock(1);
	all_well(source);
}

static int plain(void)
{
	CHECK(confine_plain() == 0);
	CHECK(is_refused("/tmp", "iw-confine-none", O_WRONLY | O_CREAT));
	CHECK(opens("/proc/sys/net/core", "somaxconn", O_RDONLY));
	return 0;
}

static void tool_without_files_writes_nowhere(void **state)
{
	(void)state;
	need_landlock(1);
	all_well(plain);
}

static int dial(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(9) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(confine_plain() == 0);
	CHECK(connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0 && errno == EACCES);
	CHECK(bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 && errno == EACCES);
	return 0;
}

static void listener_cannot_connect(void **state)
{
	(void)state;
	need_landlock(4);
	all_well(dial);
}

static int signal_parent(void)
{
	CHECK(confine_plain() == 0);
	return kill(getppid(), 0) < 0 && errno == EPERM ? 0 : 1;
}

static void listener_signals_no_other_process(void **state)
{
	(void)state;
	need_landlock(6);
	all_well(signal_parent);
}

/* --- privileges ------------------------------------------------------------------------------- */

static int user(void)
{
	CHECK(confine_plain() == 0);
	CHECK(getuid() == IW_CONFINE_UID && geteuid() == IW_CONFINE_UID);
	CHECK(getgid() == IW_CONFINE_UID && getegid() == IW_CONFINE_UID);
	CHECK(getgroups(0, NULL) == 0);
	CHECK(iw_os_priv_caps() == 0);
	CHECK(setuid(0) < 0);
	CHECK(is_refused("/etc", "shadow", O_RDONLY));
	return 0;
}

static void tool_without_files_changes_to_user_nobody(void **state)
{
	(void)state;
	need_root();
	all_well(user);
}

static int files_caps(void)
{
	CHECK(confine_sink() == 0);
	CHECK(getuid() == 0);
	CHECK(iw_os_priv_caps() == (IW_OS_CAP(CAP_DAC_OVERRIDE) | IW_OS_CAP(CAP_FOWNER)));
	return 0;
}

static int read_caps(void)
{
	CHECK(confine_source() == 0);
	CHECK(iw_os_priv_caps() == IW_OS_CAP(CAP_DAC_READ_SEARCH));
	return 0;
}

static int raw_caps(void)
{
	CHECK(confine_as("raw", IW_CONFINE_LISTENS, IW_LANDLOCK_READ) == 0);
	CHECK(iw_os_priv_caps() == 0);
	CHECK(socket(AF_INET, SOCK_RAW, 132) < 0);
	return 0;
}

static int raw_again(void)
{
	CHECK(confine_as("raw", IW_CONFINE_REOPENS, IW_LANDLOCK_READ) == 0);
	CHECK(getuid() == IW_CONFINE_UID);
	CHECK(iw_os_priv_caps() == (IW_OS_CAP(CAP_NET_RAW) | IW_OS_CAP(CAP_NET_ADMIN)));
	CHECK(socket(AF_INET, SOCK_RAW, 132) >= 0);
	return 0;
}

static int xdp_caps(void)
{
	CHECK(confine_as("xdp", IW_CONFINE_LISTENS, IW_LANDLOCK_READ) == 0);
	CHECK(iw_os_priv_caps() == IW_OS_CAP(CAP_BPF));
	return 0;
}

static void capabilities_that_are_needed_later_are_kept_and_no_others(void **state)
{
	(void)state;
	need_root();
	all_well(files_caps);
	all_well(read_caps);
	all_well(raw_caps);
	all_well(raw_again);
	all_well(xdp_caps);
}

static void *look_in_thread(void *arg)
{
	int fd = open("/etc/hostname", O_RDONLY | O_CLOEXEC);

	*(bool *)arg = iw_os_priv_caps() == 0 && socket(AF_INET, SOCK_RAW, 132) < 0 &&
		       prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 0;
	if (fd >= 0)
		close(fd);
	return NULL;
}

static int threads(void)
{
	bool same = false;
	pthread_t t;

	CHECK(confine_plain() == 0);
	CHECK(pthread_create(&t, NULL, look_in_thread, &same) == 0);
	CHECK(pthread_join(t, NULL) == 0);
	CHECK(same);
	return 0;
}

static void threads_that_start_later_are_confined_too(void **state)
{
	(void)state;
	all_well(threads);
}

static void *wait_for_end(void *arg)
{
	char c;

	(void)!read(*(int *)arg, &c, 1);
	return NULL;
}

static int too_late(void)
{
	struct iw_cli cli = { .transport = "tcp" };
	struct iw_fault why = { 0 };
	pthread_t t;
	int fds[2];

	CHECK(pipe(fds) == 0);
	CHECK(pthread_create(&t, NULL, wait_for_end, &fds[0]) == 0);
	CHECK(iw_confine_plain(&cli, IW_CONFINE_LISTENS, &why) == IW_E_PERM);
	CHECK(strstr(why.text, " threads are running already; expected "));
	CHECK(!cli.confined);
	close(fds[1]);
	CHECK(pthread_join(t, NULL) == 0);
	return 0;
}

static void process_with_threads_is_refused(void **state)
{
	(void)state;
	all_well(too_late);
}

static int twice(void)
{
	struct iw_cli cli = { .transport = "tcp" };
	struct iw_fault why = { 0 };

	CHECK(iw_confine_plain(&cli, IW_CONFINE_LISTENS, &why) == 0 && cli.confined);
	CHECK(iw_confine_plain(&cli, IW_CONFINE_LISTENS, &why) == 0);
	return 0;
}

static void second_call_does_nothing(void **state)
{
	(void)state;
	all_well(twice);
}

static int off(void)
{
	uint64_t had = iw_os_priv_caps();

	setenv("IWARP_UNCONFINED", "1", 1);
	CHECK(confine_plain() == 0);
	CHECK(iw_os_priv_caps() == had && geteuid() == 0);
	CHECK(opens(outside, "new", O_WRONLY | O_CREAT));
	return 0;
}

static void environment_variable_disables_confinement(void **state)
{
	(void)state;
	need_root();
	all_well(off);
}

/* --- system calls ----------------------------------------------------------------------------- */

static int run_program(void)
{
	char *argv[] = { (char *)(uintptr_t) "true", NULL };

	if (confine_sink() == 0)
		(void)execve("/bin/true", argv, argv + 1);
	return 0;
}

static int trace(void)
{
	return confine_sink() == 0 && syscall(SYS_ptrace, 16, getppid(), 0, 0) ? 0 : 1;
}

static int leave(void)
{
	return confine_sink() == 0 && syscall(SYS_unshare, 0x10000000) ? 0 : 1;
}

static int load(void)
{
	return confine_sink() == 0 && syscall(SYS_bpf, 0, NULL, 0) ? 0 : 1;
}

static int ring(void)
{
	return confine_sink() == 0 && syscall(SYS_io_uring_setup, 1, NULL) ? 0 : 1;
}

static int xdp_load(void)
{
	CHECK(confine_as("xdp", IW_CONFINE_LISTENS, IW_LANDLOCK_READ) == 0);
	CHECK(syscall(SYS_bpf, 5, NULL, 0) < 0 && errno == EPERM);
	CHECK(syscall(SYS_bpf, 1, NULL, 0) < 0 && errno != EPERM);
	return 0;
}

static int other_calls(void)
{
	CHECK(confine_sink() == 0);
	CHECK(syscall(SYS_sethostname, "x", 1) < 0 && errno == EPERM);
	CHECK(fork() < 0 && errno == EPERM);
	CHECK(syscall(SYS_clone3, NULL, 0) < 0 && errno == ENOSYS);
	CHECK(socket(AF_PACKET, SOCK_RAW, 0) < 0 && errno == EPERM);
	CHECK(ioctl(STDIN_FILENO, TIOCSTI, "x") < 0 && errno == EPERM);
	CHECK(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 && errno == EPERM);
	return 0;
}

static void system_call_of_an_exploit_ends_the_process(void **state)
{
	int (*const f[])(void) = { run_program, trace, leave, load, ring };

	(void)state;
	need_filter();
	for (size_t i = 0; i < sizeof(f) / sizeof(f[0]); i++) {
		int status = in_child(f[i]);

		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGSYS);
	}
}

static void other_system_calls_fail(void **state)
{
	(void)state;
	need_filter();
	all_well(other_calls);
	all_well(xdp_load);
}

/* --- reports ---------------------------------------------------------------------------------- */

static void trial_reports_the_measures_in_force(void **state)
{
	struct iw_cli cli = { .transport = "tcp" };
	struct iw_confine_state s;
	struct iw_fault why = { 0 };

	(void)state;
	assert_int_equal(iw_confine_try(&s, &cli, IW_CONFINE_LISTENS, 0, &why), 0);
	assert_int_equal(s.uid, geteuid() == 0 ? IW_CONFINE_UID : geteuid());
	assert_int_equal(s.caps, 0);
	assert_true(s.no_new_privs);
	assert_int_equal(s.filtered, FILTERED);
	assert_int_equal(s.landlock, iw_landlock_abi());
	assert_int_equal(s.left_out[0] == '\0', FILTERED && iw_landlock_abi() > 0);
	/* Only the child was confined. */
	assert_false(cli.confined);
}

static void capabilities_have_names(void **state)
{
	char buf[80];

	(void)state;
	assert_string_equal(iw_confine_caps(buf, sizeof(buf), 0), "none");
	assert_string_equal(iw_confine_caps(buf, sizeof(buf),
					    IW_OS_CAP(CAP_BPF) | IW_OS_CAP(CAP_CHOWN) | 1ull << 60),
			    "CAP_CHOWN CAP_BPF others (0x1000000000000000)");
}

/* --- */

static int set_up(void **state)
{
	char a[128];
	int fd;

	(void)state;
	if (!mkdtemp(top))
		return -1;
	snprintf(served, sizeof(served), "%s/served", top);
	snprintf(outside, sizeof(outside), "%s/outside", top);
	if (mkdir(served, 0700) < 0 || mkdir(outside, 0700) < 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		fd = open(i ? in(a, outside, "old") : in(a, served, "shown"), O_CREAT | O_WRONLY,
			  0600);
		if (fd < 0)
			return -1;
		close(fd);
	}
	return symlink("../outside/old", in(a, served, "out"));
}

static int tear_down(void **state)
{
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		execlp("rm", "rm", "-rf", top, (char *)NULL);
		_exit(1);
	}
	return waitpid(pid, NULL, 0) == pid ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sink_writes_only_in_its_directory),
		cmocka_unit_test(source_reads_only_in_its_directory),
		cmocka_unit_test(tool_without_files_writes_nowhere),
		cmocka_unit_test(listener_cannot_connect),
		cmocka_unit_test(listener_signals_no_other_process),
		cmocka_unit_test(tool_without_files_changes_to_user_nobody),
		cmocka_unit_test(capabilities_that_are_needed_later_are_kept_and_no_others),
		cmocka_unit_test(threads_that_start_later_are_confined_too),
		cmocka_unit_test(process_with_threads_is_refused),
		cmocka_unit_test(second_call_does_nothing),
		cmocka_unit_test(environment_variable_disables_confinement),
		cmocka_unit_test(system_call_of_an_exploit_ends_the_process),
		cmocka_unit_test(other_system_calls_fail),
		cmocka_unit_test(trial_reports_the_measures_in_force),
		cmocka_unit_test(capabilities_have_names),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
