// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Probes distinguish a missing feature from a missing capability. */
#include "os/probe.h"

#include <errno.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/cc.h"

static void capability_bits_are_those_of_proc(void **state)
{
	unsigned long long eff = 0;
	char line[200];
	FILE *f = fopen("/proc/self/status", "r");

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "CapEff: %llx", &eff) == 1)
			break;
	fclose(f);
	for (int cap = 0; cap <= CAP_CHECKPOINT_RESTORE; cap++)
		assert_int_equal(iw_os_has_cap(cap), (int)(eff >> cap & 1));
}

/* Returns the result of @probe in a child without root; also checks the fault's text there. */
static int as_nobody(int (*probe)(struct iw_fault *), const char *text)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct iw_fault why = { 0 };
		int err;

		if (setgid(65534) != 0 || setuid(65534) != 0)
			_exit(100);
		err = probe(&why);
		_exit(err == why.err && strstr(why.text, text) ? -err : 101);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

static void raw_sockets_need_the_capability_that_is_named(void **state)
{
	(void)state;
	if (geteuid() != 0) {
		struct iw_fault why = { 0 };

		assert_int_equal(iw_os_probe_raw(&why), iw_os_has_cap(CAP_NET_RAW) ? 0 : IW_E_PERM);
		return;
	}
	assert_int_equal(as_nobody(iw_os_probe_raw, "CAP_NET_RAW"), IW_E_PERM);
	if (iw_os_has_cap(CAP_NET_RAW))
		assert_int_equal(iw_os_probe_raw(NULL), 0);
}

static void sctp_probe_agrees_with_a_socket_call(void **state)
{
	int fd = socket(AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP);
	struct iw_fault why = { 0 };
	int err = iw_os_probe_sctp(&why);

	(void)state;
	if (fd >= 0) {
		close(fd);
		assert_int_equal(err, 0);
	} else {
		assert_int_equal(err, IW_E_NOTSUP);
		assert_int_equal(strncmp(why.text, "kernel SCTP: not ", 17), 0);
	}
}

/* tests/interop/sctp-kernel.bats has a module that is not loaded. */
static void check_of_sctp_agrees_with_the_probe_and_loads_no_module(void **state)
{
	bool before = access("/proc/net/sctp", F_OK) == 0;
	struct iw_fault why = { 0 };
	int err = iw_os_look_sctp(&why);

	(void)state;
	assert_int_equal(access("/proc/net/sctp", F_OK) == 0, before);
	if (err == 1)
		assert_false(before);
	else
		assert_int_equal(err, iw_os_probe_sctp(NULL));
	if (err)
		assert_int_equal(strncmp(why.text, "kernel SCTP: not ", 17), 0);
}

static void probes_leave_no_descriptor_open(void **state)
{
	struct iw_fault why;
	int before = dup(0), after;

	(void)state;
	close(before);
	for (int i = 0; i < 3; i++) {
		int errs[] = { iw_os_look_sctp(&why), iw_os_probe_raw(&why), iw_os_probe_xdp(&why),
			       iw_os_probe_udp_gso(&why) };

		for (size_t j = 0; j < sizeof(errs) / sizeof(errs[0]); j++)
			assert_true(errs[j] <= 0);
	}
	after = dup(0);
	close(after);
	assert_int_equal(after, before);
}

static void limits_are_those_of_the_process(void **state)
{
	struct rlimit before, low;
	uint64_t soft, hard;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	low = before;
	low.rlim_cur = 64;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	iw_os_nofile(&soft, &hard);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(soft, 64);
	assert_true(hard >= soft);
	iw_os_memlock(&soft, &hard);
	assert_true(hard >= soft);
	iw_os_memlock(NULL, NULL);
}

static void sysctls_read_as_text_and_number(void **state)
{
	struct iw_fault why = { 0 };
	char text[64], tiny[4];
	uint64_t v = 0;

	(void)state;
	assert_int_equal(iw_os_sysctl(text, sizeof(text), "kernel/ostype", &why), 0);
	assert_string_equal(text, "Linux");
	assert_int_equal(iw_os_sysctl(tiny, sizeof(tiny), "kernel/ostype", &why), 0);
	assert_string_equal(tiny, "Lin");
	assert_int_equal(iw_os_sysctl_u64(&v, "kernel/pid_max", &why), 0);
	assert_true(v > 300);
	assert_int_equal(iw_os_sysctl_u64(&v, "kernel/ostype", &why), IW_E_FORMAT);
	assert_int_equal(iw_os_sysctl(text, sizeof(text), "kernel/iw-none", &why), IW_E_NOENT);
	assert_int_equal(why.os_errno, ENOENT);
	assert_non_null(strstr(why.text, "/proc/sys/kernel/iw-none"));
	assert_int_equal(iw_os_sysctl(text, sizeof(text), "net/ipv4/tcp_rmem", &why), 0);
	assert_null(strchr(text, '\t'));
}

static void congestion_control_list_is_not_empty(void **state)
{
	char list[200];

	(void)state;
	assert_true(strlen(iw_tcp_cc_list(list, sizeof(list))) > 0);
	assert_string_not_equal(list, "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(capability_bits_are_those_of_proc),
		cmocka_unit_test(raw_sockets_need_the_capability_that_is_named),
		cmocka_unit_test(sctp_probe_agrees_with_a_socket_call),
		cmocka_unit_test(check_of_sctp_agrees_with_the_probe_and_loads_no_module),
		cmocka_unit_test(probes_leave_no_descriptor_open),
		cmocka_unit_test(limits_are_those_of_the_process),
		cmocka_unit_test(sysctls_read_as_text_and_number),
		cmocka_unit_test(congestion_control_list_is_not_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
