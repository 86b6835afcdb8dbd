// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Namespaces, held by processes of ours. */
#include "bench/lab.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"
#include "util/num.h"
#include "util/text.h"

const char *const iw_lab_interface[2] = { "left0", "right0" };
const char *const iw_lab_address[2] = { "10.99.0.1", "10.99.0.2" };
const uint8_t iw_lab_mac[2][6] = { { 2, 0, 0, 0, 0x99, 1 }, { 2, 0, 0, 0, 0x99, 2 } };
static const char *const mac_text[2] = { "02:00:00:00:99:01", "02:00:00:00:99:02" };

#define IP_TIME IW_SEC(10)

/* The child's first steps: it does not outlive its parent. */
static void belong(pid_t parent)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
}

/* A processor for each side, where there are two: who shares one is the scheduler's whim else. */
static void settle(enum iw_lab_side side)
{
	cpu_set_t may, one;
	int nth = 0;

	if (sched_getaffinity(0, sizeof(may), &may) < 0 || CPU_COUNT(&may) < 2)
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &may) && nth++ == (int)side) {
			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
			(void)sched_setaffinity(0, sizeof(one), &one);
			return;
		}
}

static int enter(const struct iw_lab *lab, enum iw_lab_side side)
{
	char path[64];
	int fd, err;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)lab->holder[side]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	err = setns(fd, CLONE_NEWNET);
	close(fd);
	return err;
}

int iw_lab_start(const struct iw_lab *lab, enum iw_lab_side side, pid_t *child, int (*run)(void *),
		 void *arg, struct iw_fault *why)
{
	pid_t parent = getpid(), pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return iw_os_fail(why, errno, "start a process");
	if (pid == 0) {
		belong(parent);
		settle(side);
		_exit(enter(lab, side) < 0 ? 125 : run(arg));
	}
	*child = pid;
	return 0;
}

int iw_lab_wait(pid_t child, uint64_t timeout_ns)
{
	const struct timespec nap = { .tv_nsec = 2000000 };
	uint64_t until = iw_time_add(iw_os_now(), timeout_ns);
	int status;
	pid_t got;

	while ((got = waitpid(child, &status, WNOHANG)) == 0 || (got < 0 && errno == EINTR)) {
		if (iw_os_now() >= until) {
			kill(child, SIGKILL);
			until = UINT64_MAX;
		}
		(void)nanosleep(&nap, NULL);
	}
	return got == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* --- making it -------------------------------------------------------------------------------- */

struct ip_command {
	const char *argv[16];
};

static int run_ip(void *arg)
{
	struct ip_command *c = arg;

	execvp("ip", (char **)(uintptr_t)c->argv);
	return 127;
}

static int ip(const struct iw_lab *lab, enum iw_lab_side side, struct ip_command c,
	      struct iw_fault *why)
{
	pid_t child;
	int err = iw_lab_start(lab, side, &child, run_ip, &c, why);
	int status = err ? 0 : iw_lab_wait(child, IP_TIME);

	if (err || status == 0)
		return err;
	if (status == 127)
		return iw_fail(why, IW_E_NOTSUP, "there is no ip: install iproute2");
	return iw_fail(why, IW_E_OS, "ip %s %s %s failed: its own words are above", c.argv[1],
		       c.argv[2], c.argv[3]);
}

#define IP(side, ...) ip(lab, side, (struct ip_command){ { "ip", __VA_ARGS__, NULL } }, why)

/* A process with a network namespace of its own. */
static int hold(struct iw_lab *lab, enum iw_lab_side side, struct iw_fault *why)
{
	pid_t parent = getpid(), pid;
	int up[2], failed = 0;

	if (pipe2(up, O_CLOEXEC) < 0)
		return iw_os_fail(why, errno, "make a pipe");
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		belong(parent);
		failed = unshare(CLONE_NEWNET) < 0 ? errno : 0;
		if (write(up[1], &failed, sizeof(failed)) != sizeof(failed) || failed)
			_exit(1);
		/* It needs nothing of the parent's any more, its output least of all. */
		for (int fd = 0; fd < 1024; fd++)
			close(fd);
		for (;;)
			pause();
	}
	close(up[1]);
	if (pid < 0) {
		close(up[0]);
		return iw_os_fail(why, errno, "start a process");
	}
	lab->holder[side] = pid;
	if (read(up[0], &failed, sizeof(failed)) != sizeof(failed))
		failed = ECHILD;
	close(up[0]);
	return failed ? iw_os_fail(why, failed, "make a network namespace") : 0;
}

static int address(const struct iw_lab *lab, enum iw_lab_side side, struct iw_fault *why)
{
	const char *name = iw_lab_interface[side];
	char with_prefix[24];
	int err;

	snprintf(with_prefix, sizeof(with_prefix), "%s/24", iw_lab_address[side]);
	err = IP(side, "link", "set", name, "address", mac_text[side]);
	if (!err)
		err = IP(side, "address", "add", with_prefix, "dev", name);
	if (!err)
		err = IP(side, "link", "set", name, "up");
	if (!err)
		err = IP(side, "neigh", "replace", iw_lab_address[!side], "lladdr", mac_text[!side],
			 "dev", name, "nud", "permanent");
	return err;
}

int iw_lab_open(struct iw_lab *lab, uint32_t mtu, struct iw_fault *why)
{
	char mtu_text[16], holder[16];
	int err;

	*lab = (struct iw_lab){ 0 };
	if (geteuid() != 0)
		return iw_fail(why, IW_E_PERM, "two network namespaces are made: be root");
	err = hold(lab, IW_LAB_LEFT, why);
	if (!err)
		err = hold(lab, IW_LAB_RIGHT, why);
	snprintf(mtu_text, sizeof(mtu_text), "%u", (unsigned)mtu);
	snprintf(holder, sizeof(holder), "%d", (int)lab->holder[IW_LAB_RIGHT]);
	if (!err)
		err = IP(IW_LAB_LEFT, "link", "add", iw_lab_interface[0], "mtu", mtu_text, "type",
			 "veth", "peer", "name", iw_lab_interface[1], "mtu", mtu_text, "netns",
			 holder);
	if (!err)
		err = address(lab, IW_LAB_LEFT, why);
	if (!err)
		err = address(lab, IW_LAB_RIGHT, why);
	if (err)
		iw_lab_close(lab);
	return err;
}

void iw_lab_close(struct iw_lab *lab)
{
	for (int i = 0; i < 2; i++) {
		if (lab->holder[i] <= 0)
			continue;
		kill(lab->holder[i], SIGKILL);
		(void)waitpid(lab->holder[i], NULL, 0);
		lab->holder[i] = 0;
	}
}

/* --- offloads --------------------------------------------------------------------------------- */

struct offload_task {
	const char *interface;
	bool on;
};

static int set_offloads(void *arg)
{
	static const uint32_t what[] = { ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO,
					 ETHTOOL_STXCSUM };
	struct offload_task *t = arg;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	/* Checksums last, or first: segmentation needs them. */
	for (size_t i = 0; i < IW_ARRAY_LEN(what); i++) {
		size_t k = t->on ? IW_ARRAY_LEN(what) - 1 - i : i;
		struct ethtool_value v = { .cmd = what[k], .data = t->on };
		struct ifreq r = { .ifr_data = (void *)&v };

		strncpy(r.ifr_name, t->interface, sizeof(r.ifr_name) - 1);
		if (fd < 0 || ioctl(fd, SIOCETHTOOL, &r) < 0)
			return 1;
	}
	return 0;
}

int iw_lab_offloads(const struct iw_lab *lab, bool on, struct iw_fault *why)
{
	for (int side = 0; side < 2; side++) {
		struct offload_task t = { iw_lab_interface[side], on };
		pid_t child;
		int err = iw_lab_start(lab, (enum iw_lab_side)side, &child, set_offloads, &t, why);

		if (!err && iw_lab_wait(child, IP_TIME) != 0)
			err = iw_fail(why, IW_E_OS, "set the offloads of %s", t.interface);
		if (err)
			return err;
	}
	return 0;
}
