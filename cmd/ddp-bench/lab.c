// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The lab: network namespaces, each kept by a child process. */
#include "ddp-bench/lab.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
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

#include "os/addr.h"
#include "os/os.h"
#include "util/num.h"
#include "util/text.h"

const char *const iw_lab_address[2] = { "10.99.0.1", "10.99.0.2" };
static const char *const veth_name[2] = { "left0", "right0" };

#define IP_TIME      IW_SEC(10)
#define CARRIER_TIME IW_SEC(10)

/* In a child: lets the kernel kill it when its parent ends. */
static void belong(pid_t parent)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
}

/*
 * Binds the process to a CPU of its side, if there are two CPUs. Otherwise the scheduler might run
 * both sides on one.
 */
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

/* As iw_lab_start; lab NULL: in the namespace of this process. */
static int start(const struct iw_lab *lab, enum iw_lab_side side, pid_t *child, int (*run)(void *),
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
		_exit(lab && enter(lab, side) < 0 ? 125 : run(arg));
	}
	*child = pid;
	return 0;
}

int iw_lab_start(const struct iw_lab *lab, enum iw_lab_side side, pid_t *child, int (*run)(void *),
		 void *arg, struct iw_fault *why)
{
	return start(lab, side, child, run, arg, why);
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

/* --- creation --------------------------------------------------------------------------------- */

struct ip_command {
	const char *argv[24];
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
	int err = start(lab, side, &child, run_ip, &c, why);
	int status = err ? 0 : iw_lab_wait(child, IP_TIME);

	if (err || status == 0)
		return err;
	if (status == 127)
		return iw_fail(why, IW_E_NOTSUP, "no ip command in PATH; install iproute2");
	return iw_fail(why, IW_E_OS, "ip %s %s %s failed; its own message is above", c.argv[1],
		       c.argv[2], c.argv[3]);
}

#define IP(side, ...) ip(lab, side, (struct ip_command){ { "ip", __VA_ARGS__, NULL } }, why)
#define IP_HERE(...)  ip(NULL, 0, (struct ip_command){ { "ip", __VA_ARGS__, NULL } }, why)

/* Starts the process that keeps the network namespace of a side. */
static int hold(struct iw_lab *lab, enum iw_lab_side side, struct iw_fault *why)
{
	pid_t parent = getpid(), pid;
	int up[2], failed = 0;

	if (pipe2(up, O_CLOEXEC) < 0)
		return iw_os_fail(why, errno, "create a pipe");
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		belong(parent);
		failed = unshare(CLONE_NEWNET) < 0 ? errno : 0;
		if (write(up[1], &failed, sizeof(failed)) != sizeof(failed) || failed)
			_exit(1);
		/* Close the parent's descriptors: a reader of its output must not wait for this
		 * process. */
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
	return failed ? iw_os_fail(why, failed, "create a network namespace") : 0;
}

static int address(const struct iw_lab *lab, enum iw_lab_side side, struct iw_fault *why)
{
	const char *name = lab->interface[side];
	const uint8_t *m = lab->mac[!side];
	char with_prefix[24], mac[18];
	int err;

	snprintf(with_prefix, sizeof(with_prefix), "%s/24", iw_lab_address[side]);
	snprintf(mac, sizeof(mac), "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4],
		 m[5]);
	err = IP(side, "address", "add", with_prefix, "dev", name);
	if (!err)
		err = IP(side, "link", "set", name, "up");
	if (!err)
		err = IP(side, "neigh", "replace", iw_lab_address[!side], "lladdr", mac, "dev",
			 name, "nud", "permanent");
	return err;
}

static int make_veth(struct iw_lab *lab, const char *mtu, struct iw_fault *why)
{
	static const uint8_t mac[2][6] = { { 2, 0, 0, 0, 0x99, 1 }, { 2, 0, 0, 0, 0x99, 2 } };
	char holder[16];

	memcpy(lab->mac, mac, sizeof(mac));
	lab->interface[0] = veth_name[0];
	lab->interface[1] = veth_name[1];
	snprintf(holder, sizeof(holder), "%d", (int)lab->holder[IW_LAB_RIGHT]);
	return IP(IW_LAB_LEFT, "link", "add", veth_name[0], "address", "02:00:00:00:99:01", "mtu",
		  mtu, "type", "veth", "peer", "name", veth_name[1], "address", "02:00:00:00:99:02",
		  "mtu", mtu, "netns", holder);
}

/* --- interfaces of this machine --------------------------------------------------------------- */

/* Fails if the interface has an address, which it would lose. The kernel adds link-local IPv6
 * addresses again itself. */
static int refuse_addresses(const char *name, struct iw_fault *why)
{
	struct ifaddrs *all, *i;
	char text[IW_ADDR_TEXT];
	int err = 0;

	if (getifaddrs(&all) < 0)
		return iw_os_fail(why, errno, "list the addresses of %s", name);
	for (i = all; i && !err; i = i->ifa_next) {
		const struct sockaddr_in6 *six = (const void *)i->ifa_addr;
		struct iw_addr a = { 0 };

		if (strcmp(i->ifa_name, name) != 0 || !i->ifa_addr ||
		    (i->ifa_addr->sa_family != AF_INET && i->ifa_addr->sa_family != AF_INET6) ||
		    (i->ifa_addr->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr)))
			continue;
		a.len = i->ifa_addr->sa_family == AF_INET ? sizeof(a.in) : sizeof(a.in6);
		memcpy(&a.sa, i->ifa_addr, a.len);
		err = iw_fail(
			why, IW_E_BUSY,
			"interface %s: has the address %s, which it would lose; expected an interface without addresses (ip address flush dev %s)",
			name, iw_addr_host(text, &a), name);
	}
	freeifaddrs(all);
	return err;
}

static int look_at(struct iw_lab *lab, enum iw_lab_side side, struct iw_fault *why)
{
	const char *name = lab->interface[side];
	struct iw_lab_loan *loan = &lab->loan[side];
	struct ifreq r = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;

	if (fd < 0)
		return iw_os_fail(why, errno, "open a socket");
	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", name);
	if (ioctl(fd, SIOCGIFHWADDR, &r) < 0)
		err = errno == ENODEV
			      ? iw_fail(why, IW_E_NOENT,
					"interface %s: no interface has this name; ip link lists them",
					name)
			      : iw_os_fail(why, errno, "interface %s: read its address", name);
	else if (r.ifr_hwaddr.sa_family != ARPHRD_ETHER)
		err = iw_fail(why, IW_E_NOTSUP,
			      "interface %s: not an Ethernet interface; expected one", name);
	memcpy(lab->mac[side], r.ifr_hwaddr.sa_data, 6);
	if (!err && ioctl(fd, SIOCGIFMTU, &r) == 0)
		loan->mtu = (uint32_t)r.ifr_mtu;
	if (!err && ioctl(fd, SIOCGIFFLAGS, &r) == 0)
		loan->up = r.ifr_flags & IFF_UP;
	close(fd);
	return err ? err : refuse_addresses(name, why);
}

static int wait_for_carrier(void *name)
{
	const struct timespec nap = { .tv_nsec = 10000000 };
	uint64_t until = iw_os_now() + CARRIER_TIME;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq r = { 0 };

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", (const char *)name);
	while (fd >= 0 && ioctl(fd, SIOCGIFFLAGS, &r) == 0 && iw_os_now() < until) {
		if (r.ifr_flags & IFF_RUNNING)
			return 0;
		(void)nanosleep(&nap, NULL);
	}
	return 1;
}

static int borrow(struct iw_lab *lab, enum iw_lab_side side, const char *mtu, struct iw_fault *why)
{
	char holder[16];
	int err = look_at(lab, side, why);

	snprintf(holder, sizeof(holder), "%d", (int)lab->holder[side]);
	lab->loan[side].offloads = -1;
	if (!err)
		err = IP_HERE("link", "set", lab->interface[side], "netns", holder);
	if (err)
		return err;
	lab->loan[side].moved = true;
	return IP(side, "link", "set", lab->interface[side], "mtu", mtu);
}

static int wait_for_both(const struct iw_lab *lab, struct iw_fault *why)
{
	for (int side = 0; side < 2; side++) {
		pid_t child;
		int err = start(lab, (enum iw_lab_side)side, &child, wait_for_carrier,
				(void *)(uintptr_t)lab->interface[side], why);

		if (err)
			return err;
		if (iw_lab_wait(child, CARRIER_TIME + IP_TIME) != 0)
			return iw_fail(
				why, IW_E_TIMEOUT,
				"interface %s: no carrier within 10 s; is it connected to the other interface?",
				lab->interface[side]);
	}
	return 0;
}

static int set_offloads(const struct iw_lab *lab, enum iw_lab_side side, int bits);

/* Restores an interface and returns it to the namespace of this process. If a command of ip fails,
 * ip prints the reason, and the remaining ones run nevertheless. */
static void give_back(struct iw_lab *lab, enum iw_lab_side side)
{
	const struct iw_lab_loan *loan = &lab->loan[side];
	const char *name = lab->interface[side];
	struct iw_fault no, *why = &no;
	char mtu[16], here[16];

	snprintf(mtu, sizeof(mtu), "%u", (unsigned)loan->mtu);
	snprintf(here, sizeof(here), "%d", (int)getpid());
	if (loan->offloads >= 0)
		(void)set_offloads(lab, side, loan->offloads);
	(void)!IP(side, "link", "set", name, "down");
	(void)!IP(side, "link", "set", name, "mtu", mtu);
	(void)!IP(side, "link", "set", name, "netns", here);
	if (loan->up)
		(void)!IP_HERE("link", "set", name, "up");
}

/* --- open and close --------------------------------------------------------------------------- */

int iw_lab_open(struct iw_lab *lab, const char *const given[2], uint32_t mtu, struct iw_fault *why)
{
	char mtu_text[16];
	int err;

	*lab = (struct iw_lab){ 0 };
	if (geteuid() != 0)
		return iw_fail(why, IW_E_PERM,
			       "ddp-bench xdp creates two network namespaces; run it as root");
	err = hold(lab, IW_LAB_LEFT, why);
	if (!err)
		err = hold(lab, IW_LAB_RIGHT, why);
	snprintf(mtu_text, sizeof(mtu_text), "%u", (unsigned)mtu);
	if (!err && !given)
		err = make_veth(lab, mtu_text, why);
	for (int side = 0; side < 2 && given && !err; side++) {
		lab->interface[side] = given[side];
		err = borrow(lab, (enum iw_lab_side)side, mtu_text, why);
	}
	if (!err)
		err = address(lab, IW_LAB_LEFT, why);
	if (!err)
		err = address(lab, IW_LAB_RIGHT, why);
	if (!err && given)
		err = wait_for_both(lab, why);
	if (err)
		iw_lab_close(lab);
	return err;
}

void iw_lab_close(struct iw_lab *lab)
{
	for (int i = 0; i < 2; i++) {
		if (lab->holder[i] <= 0)
			continue;
		if (lab->loan[i].moved)
			give_back(lab, (enum iw_lab_side)i);
		kill(lab->holder[i], SIGKILL);
		(void)waitpid(lab->holder[i], NULL, 0);
		lab->holder[i] = 0;
	}
}

/* --- offloads --------------------------------------------------------------------------------- */

enum { OFFLOADS = 4, OFFLOADS_ALL = (1 << OFFLOADS) - 1, NO_ANSWER = 100 };

static const uint32_t offload_set[OFFLOADS] = { ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO,
						ETHTOOL_STXCSUM };
static const uint32_t offload_get[OFFLOADS] = { ETHTOOL_GTSO, ETHTOOL_GGSO, ETHTOOL_GGRO,
						ETHTOOL_GTXCSUM };

struct offload_task {
	const char *interface;
	int bits;
};

static bool ethtool(const char *interface, struct ethtool_value *v)
{
	struct ifreq r = { .ifr_data = (void *)v };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool ok;

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", interface);
	ok = fd >= 0 && ioctl(fd, SIOCETHTOOL, &r) == 0;
	if (fd >= 0)
		close(fd);
	return ok;
}

static int read_task(void *arg)
{
	const struct offload_task *t = arg;
	int bits = 0;

	for (int i = 0; i < OFFLOADS; i++) {
		struct ethtool_value v = { .cmd = offload_get[i] };

		if (!ethtool(t->interface, &v))
			return NO_ANSWER;
		bits |= v.data ? 1 << i : 0;
	}
	return bits;
}

static int set_task(void *arg)
{
	const struct offload_task *t = arg;
	bool up = t->bits & 1 << (OFFLOADS - 1);

	/* Checksums last when switching off, and first when switching on: segmentation needs
	 * them. */
	for (int k = 0; k < OFFLOADS; k++) {
		int i = up ? OFFLOADS - 1 - k : k;
		struct ethtool_value v = { .cmd = offload_set[i], .data = t->bits >> i & 1 };

		if (!ethtool(t->interface, &v))
			return 1;
	}
	return 0;
}

/* Runs task on that side and returns its result; negative: it did not return. */
static int offload(const struct iw_lab *lab, enum iw_lab_side side, int (*task)(void *), int bits)
{
	struct offload_task t = { lab->interface[side], bits };
	struct iw_fault no;
	pid_t child;

	if (start(lab, side, &child, task, &t, &no) < 0)
		return -1;
	return iw_lab_wait(child, IP_TIME);
}

static int set_offloads(const struct iw_lab *lab, enum iw_lab_side side, int bits)
{
	return offload(lab, side, set_task, bits);
}

int iw_lab_offloads(struct iw_lab *lab, bool on, struct iw_fault *why)
{
	for (int side = 0; side < 2; side++) {
		struct iw_lab_loan *loan = &lab->loan[side];
		int before = loan->moved && loan->offloads < 0
				     ? offload(lab, (enum iw_lab_side)side, read_task, 0)
				     : -1;

		if (before >= 0 && before < NO_ANSWER)
			loan->offloads = before;
		if (set_offloads(lab, (enum iw_lab_side)side, on ? OFFLOADS_ALL : 0) != 0)
			return iw_fail(
				why, IW_E_NOTSUP,
				"interface %s: its driver cannot switch segmentation and checksum offloads %s; use other interfaces",
				lab->interface[side], on ? "on" : "off");
	}
	return 0;
}
