// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is attached to an interface. */
#include "pkt/attach.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/os.h"
#include "util/num.h"
#include "util/text.h"

const char *iw_xdp_owner_name(enum iw_xdp_owner owner)
{
	switch (owner) {
	case IW_XDP_NOBODY:
		return "nobody";
	case IW_XDP_STEER:
		return "steer";
	case IW_XDP_OBSERVE:
		return "observe";
	case IW_XDP_STRANGE:
		return "another version";
	case IW_XDP_DISPATCHER:
		return "dispatcher";
	case IW_XDP_FOREIGN:
		return "foreign";
	}
	return "unknown";
}

int iw_xdp_ifindex(unsigned *out, const char *interface, struct iw_fault *why)
{
	*out = if_nametoindex(interface);
	if (*out == 0)
		return iw_fail(why, IW_E_NOENT, "interface %s: there is none of that name here",
			       interface);
	return 0;
}

unsigned iw_xdp_queues(const char *interface)
{
	struct ethtool_channels channels = { .cmd = ETHTOOL_GCHANNELS };
	struct ifreq r = { .ifr_data = (char *)&channels };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	unsigned n = 0;

	memcpy(r.ifr_name, interface, IW_MIN(strlen(interface), sizeof(r.ifr_name) - 1));
	if (fd >= 0 && ioctl(fd, SIOCETHTOOL, &r) == 0)
		n = channels.rx_count + channels.combined_count;
	if (fd >= 0)
		close(fd);
	/* A driver that has no channels to set has one queue. */
	return IW_MAX(n, 1u);
}

#ifndef IW_HAVE_XDP

int iw_xdp_attached(struct iw_xdp_attached *out, unsigned ifindex, struct iw_fault *why)
{
	(void)out;
	(void)ifindex;
	return iw_fail(why, IW_E_NOTSUP, "xdp: built without libxdp");
}

int iw_xdp_detach(const struct iw_xdp_attached *a, unsigned ifindex, struct iw_fault *why)
{
	(void)a;
	(void)ifindex;
	return iw_fail(why, IW_E_NOTSUP, "xdp: built without libxdp");
}

#else

#include <stdio.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>

#include "pkt/bpf.h"
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
		return IW_XDP_STRANGE;
	return strcmp(name, "xdp_dispatcher") == 0 ? IW_XDP_DISPATCHER : IW_XDP_FOREIGN;
}

/* The link that holds a program, as a descriptor; -1: none. Interfaces of different namespaces may have
 * one index, programs are what they are. */
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

/* What may be known of it needs CAP_SYS_ADMIN; that it is there does not. */
static void ask_program(struct iw_xdp_attached *a)
{
	struct bpf_prog_info info;
	int fd = bpf_prog_get_fd_by_id(a->program);

	snprintf(a->name, sizeof(a->name), "?");
	if (fd < 0)
		return;
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

int iw_xdp_attached(struct iw_xdp_attached *out, unsigned ifindex, struct iw_fault *why)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, q);
	int err = bpf_xdp_query((int)ifindex, 0, &q);

	memset(out, 0, sizeof(*out));
	if (err == -ENODEV)
		return iw_fail(why, IW_E_NOENT, "xdp: the interface is gone");
	if (err < 0)
		return iw_os_fail(why, -err, "xdp: ask what is attached");
	out->native = q.drv_prog_id != 0 || q.hw_prog_id != 0;
	/* There may be one of each mode; what packets meet first is told. */
	out->program = q.hw_prog_id    ? q.hw_prog_id
		       : q.drv_prog_id ? q.drv_prog_id
		       : q.skb_prog_id ? q.skb_prog_id
				       : q.prog_id;
	if (out->program == 0)
		return 0;
	out->owner = IW_XDP_FOREIGN;
	ask_program(out);
	return 0;
}

int iw_xdp_detach(const struct iw_xdp_attached *a, unsigned ifindex, struct iw_fault *why)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, opts);
	int fd, err;

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

#endif
