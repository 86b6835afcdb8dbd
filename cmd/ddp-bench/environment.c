// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Reads the properties of the machine and of the interface towards the peer. */
#include "ddp-bench/environment.h"

#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "loader/bpf.h"
#include "loader/interface.h"
#include "loader/steer.h"
#include "os/addr.h"
#include "util/num.h"

/* Reads the first line of a file without its newline; "" if it cannot be read. */
static void first_line(char *out, size_t cap, const char *path)
{
	FILE *f = fopen(path, "re");

	out[0] = '\0';
	if (!f)
		return;
	if (!fgets(out, (int)cap, f))
		out[0] = '\0';
	out[strcspn(out, "\n")] = '\0';
	fclose(f);
}

/* Reads the CPU's model from /proc/cpuinfo, where its key depends on the architecture. */
static void cpu_model(char *out, size_t cap)
{
	static const char *const names[] = { "model name", "Model", "cpu model", "machine" };
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[256];

	out[0] = '\0';
	while (f && out[0] == '\0' && fgets(line, sizeof(line), f))
		for (size_t i = 0; i < IW_ARRAY_LEN(names); i++) {
			const char *value = strchr(line, ':');

			if (!value || strncmp(line, names[i], strlen(names[i])) != 0)
				continue;
			value += 1 + strspn(value + 1, " \t");
			snprintf(out, cap, "%.*s", (int)strcspn(value, "\n"), value);
			break;
		}
	if (f)
		fclose(f);
}

static void the_machine(struct iw_bench_environment *e)
{
	struct utsname u;
	cpu_set_t may;

	if (uname(&u) == 0) {
		snprintf(e->kernel, sizeof(e->kernel), "%s", u.release);
		snprintf(e->machine, sizeof(e->machine), "%s", u.machine);
	}
	cpu_model(e->cpu, sizeof(e->cpu));
	e->cpus = sched_getaffinity(0, sizeof(may), &may) == 0 ? (unsigned)CPU_COUNT(&may) : 1;
	first_line(e->governor, sizeof(e->governor),
		   "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
	first_line(e->cc, sizeof(e->cc), "/proc/sys/net/ipv4/tcp_congestion_control");
	iw_bpf_version(e->libbpf, sizeof(e->libbpf));
}

/* Finds the interface that has the source address of the route to the peer. */
static void by_route(struct iw_bench_environment *e, const char *peer)
{
	int fd;
	struct iw_addr to, from = { .len = sizeof(from.in6) };
	char host[IW_ADDR_TEXT];
	const char *colon = strrchr(peer, ':');
	struct ifaddrs *all;

	snprintf(host, sizeof(host), "%.*s", colon ? (int)(colon - peer) : 0, peer);
	if (iw_addr_parse(&to, host, 9) != 0)
		return;
	fd = socket(to.sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (connect(fd, &to.sa, to.len) < 0 || getsockname(fd, &from.sa, &from.len) < 0)
		from.len = 0;
	close(fd);
	if (from.len == 0 || getifaddrs(&all) < 0)
		return;
	iw_addr_set_port(&from, 0);
	for (struct ifaddrs *i = all; i && e->interface[0] == '\0'; i = i->ifa_next) {
		struct iw_addr a = { .len = from.len };

		if (!i->ifa_addr || i->ifa_addr->sa_family != from.sa.sa_family)
			continue;
		memcpy(&a.sa, i->ifa_addr, from.len);
		if (iw_addr_equal(&a, &from))
			snprintf(e->interface, sizeof(e->interface), "%.15s", i->ifa_name);
	}
	freeifaddrs(all);
}

static void the_interface(struct iw_bench_environment *e)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	struct ifreq r = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	memcpy(r.ifr_name, e->interface, sizeof(e->interface));
	if (ioctl(fd, SIOCGIFMTU, &r) == 0)
		e->mtu = (uint32_t)r.ifr_mtu;
	r.ifr_data = (void *)&info;
	if (ioctl(fd, SIOCETHTOOL, &r) == 0)
		snprintf(e->driver, sizeof(e->driver), "%.31s", info.driver);
	close(fd);
	e->offloads = iw_interface_offloads(e->interface);
}

/* Finds the features of an AF_XDP socket of this process. */
static int look_at_socket(void *ctx, const void *key, const void *value)
{
	struct iw_bench_environment *e = ctx;
	const struct iw_xdp_sock *s = value;

	(void)key;
	if (s->pid != (uint32_t)getpid())
		return 0;
	e->zerocopy = s->flags & IW_XDP_SOCK_ZEROCOPY;
	e->busy_poll = s->flags & IW_XDP_SOCK_BUSY_POLL;
	e->multi_buffer = s->flags & IW_XDP_SOCK_SG;
	return 1;
}

static void the_program(struct iw_bench_environment *e)
{
	struct iw_steer *s;

	if (iw_steer_look(&s, e->interface, NULL) != 0)
		return;
	e->xdp = true;
	e->native = iw_steer_facts(s)->native;
	(void)iw_steer_each(s, IW_STEER_SOCKETS, look_at_socket, e);
	iw_steer_close(s);
}

void iw_bench_environment(struct iw_bench_environment *e, const char *transport,
			  const char *interface, const char *peer)
{
	*e = (struct iw_bench_environment){ 0 };
	the_machine(e);
	if (interface)
		snprintf(e->interface, sizeof(e->interface), "%.15s", interface);
	else
		by_route(e, peer);
	if (e->interface[0] == '\0')
		return;
	the_interface(e);
	if (transport && strcmp(transport, "xdp") == 0)
		the_program(e);
}
