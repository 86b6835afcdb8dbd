// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The xdp carrier on kernels that lack what it needs. They are emulated: a seccomp filter gives a
 * child process the errors of such a kernel. (The guest has a real one without frames of several
 * buffers.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pkt/pkt.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader/steer.h"
#include "os/probe.h"

#define AF_XDP_ 44

/* The result of a call in a child process. */
struct said {
	int err;
	struct iw_fault why;
};

/* From now on, system call @nr with @arg0 as its first argument (UINT32_MAX: any) fails with
 * @errnum. */
static void kernel_without(uint32_t nr, uint32_t arg0, uint32_t errnum)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | (arg0 == UINT32_MAX ? BPF_JA : BPF_JEQ) | BPF_K,
			 arg0 == UINT32_MAX ? 0 : arg0, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | errnum),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { sizeof(f) / sizeof(f[0]), f };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p) < 0)
		_exit(9);
}

static int is_available(struct iw_fault *why)
{
	return iw_pkt_xdp_ops.available(why);
}

static int load(struct iw_fault *why)
{
	uint32_t insns;

	return iw_steer_try(&insns, why);
}

/* Calls what in a child with this filter. 0; -1: no filter can be set here. */
static int ask(struct said *said, int (*what)(struct iw_fault *), uint32_t nr, uint32_t arg0,
	       uint32_t errnum)
{
	int pipe_fd[2], status;
	pid_t pid;

	assert_int_equal(pipe(pipe_fd), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		kernel_without(nr, arg0, errnum);
		memset(said, 0, sizeof(*said));
		said->err = what(&said->why);
		_exit(write(pipe_fd[1], said, sizeof(*said)) == (ssize_t)sizeof(*said) ? 0 : 8);
	}
	close(pipe_fd[1]);
	if (read(pipe_fd[0], said, sizeof(*said)) != (ssize_t)sizeof(*said))
		said->err = 1;
	close(pipe_fd[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

static void a_kernel_without_af_xdp_is_reported(void **state)
{
	struct iw_fault why;
	struct said said;

	(void)state;
	if (iw_pkt_xdp_ops.available(&why) < 0) {
		print_message("# needs xdp: %s\n", why.text);
		skip();
	}
	if (ask(&said, is_available, SYS_socket, AF_XDP_, EAFNOSUPPORT) < 0) {
		print_message("# needs seccomp: the filter cannot be set here\n");
		skip();
	}
	assert_int_equal(said.err, IW_E_NOTSUP);
	assert_non_null(strstr(said.why.text, "AF_XDP sockets: not in this kernel"));
	/* The filter applied to the child only. */
	assert_int_equal(iw_os_probe_xdp(&why), 0);
}

static void a_kernel_without_bpf_is_reported(void **state)
{
	struct iw_fault why;
	struct said said;

	(void)state;
	if (load(&why) < 0) {
		print_message("# needs xdp: %s\n", why.text);
		skip();
	}
	if (ask(&said, load, SYS_bpf, UINT32_MAX, ENOSYS) < 0) {
		print_message("# needs seccomp: the filter cannot be set here\n");
		skip();
	}
	assert_int_equal(said.err, IW_E_NOTSUP);
	assert_non_null(strstr(said.why.text, "this kernel has no BPF"));
}

/* A verifier that rejects the program: EINVAL if it lacks a function, EACCES if it cannot prove an
 * access valid. */
static void a_kernel_that_rejects_the_program_is_reported(void **state)
{
	static const int says[] = { EINVAL, EACCES, E2BIG };
	struct iw_fault why;
	struct said said;

	(void)state;
	if (load(&why) < 0) {
		print_message("# needs xdp: %s\n", why.text);
		skip();
	}
	for (size_t i = 0; i < sizeof(says) / sizeof(says[0]); i++) {
		/* BPF_PROG_LOAD is 5. */
		if (ask(&said, load, SYS_bpf, 5, (uint32_t)says[i]) < 0) {
			print_message("# needs seccomp: the filter cannot be set here\n");
			skip();
		}
		assert_int_equal(said.err, IW_E_NOTSUP);
		assert_non_null(strstr(said.why.text, "Linux 6.1 or later"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kernel_without_af_xdp_is_reported),
		cmocka_unit_test(a_kernel_without_bpf_is_reported),
		cmocka_unit_test(a_kernel_that_rejects_the_program_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
