// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Interfaces: index, queues and offloads through ethtool; XDP features of the driver through
 * netlink.
 */
#include "loader/interface.h"

#include <linux/ethtool.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/num.h"
#include "util/text.h"

int iw_interface_index(unsigned *out, const char *interface, struct iw_fault *why)
{
	*out = if_nametoindex(interface);
	if (*out == 0)
		return iw_fail(why, IW_E_NOENT,
			       "interface %s: no such interface; `ip link` lists them", interface);
	return 0;
}

static bool ask_ethtool(const char *interface, void *cmd)
{
	struct ifreq r = { .ifr_data = cmd };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool ok;

	memcpy(r.ifr_name, interface, IW_MIN(strlen(interface), sizeof(r.ifr_name) - 1));
	ok = fd >= 0 && ioctl(fd, SIOCETHTOOL, &r) == 0;
	if (fd >= 0)
		close(fd);
	return ok;
}

bool iw_interface_is_veth(const char *interface)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };

	return ask_ethtool(interface, &info) && strcmp(info.driver, "veth") == 0;
}

unsigned iw_interface_queues(const char *interface)
{
	struct ethtool_channels channels = { .cmd = ETHTOOL_GCHANNELS };
	unsigned n = 0;

	if (ask_ethtool(interface, &channels))
		n = channels.rx_count + channels.combined_count;
	/* A driver without configurable channels has one queue. */
	return IW_MAX(n, 1u);
}

static const struct {
	enum iw_xdp_offload bit;
	uint32_t cmd, mask;
	const char *name;
} offloads[] = {
	{ IW_XDP_TSO, ETHTOOL_GTSO, 1, "tso" },
	{ IW_XDP_GSO, ETHTOOL_GGSO, 1, "gso" },
	{ IW_XDP_GRO, ETHTOOL_GGRO, 1, "gro" },
	{ IW_XDP_LRO, ETHTOOL_GFLAGS, ETH_FLAG_LRO, "lro" },
	{ IW_XDP_RX_CSUM, ETHTOOL_GRXCSUM, 1, "rx-checksum" },
	{ IW_XDP_TX_CSUM, ETHTOOL_GTXCSUM, 1, "tx-checksum" },
};

unsigned iw_interface_offloads(const char *interface)
{
	unsigned on = 0;

	for (size_t i = 0; i < IW_ARRAY_LEN(offloads); i++) {
		struct ethtool_value v = { .cmd = offloads[i].cmd };

		if (ask_ethtool(interface, &v) && v.data & offloads[i].mask)
			on |= offloads[i].bit;
	}
	return on;
}

const char *iw_interface_offload_name(enum iw_xdp_offload offload)
{
	for (size_t i = 0; i < IW_ARRAY_LEN(offloads); i++)
		if (offloads[i].bit == offload)
			return offloads[i].name;
	return "unknown";
}

/* --- XDP features of the driver, through generic netlink (Linux 6.3) --- */

/* From linux/netdev.h; older headers lack them. */
#define NETDEV_CMD_DEV_GET        1
#define NETDEV_A_DEV_IFINDEX      1
#define NETDEV_A_DEV_XDP_FEATURES 3
#define NETDEV_XDP_ACT_BASIC      (1 << 0)
#define NETDEV_XDP_ACT_REDIRECT   (1 << 1)
#define NETDEV_XDP_ACT_NDO_XMIT   (1 << 2)
#define NETDEV_XDP_ACT_ZEROCOPY   (1 << 3)
#define NETDEV_XDP_ACT_RX_SG      (1 << 5)

#define ANSWER_LEN 4096

struct question {
	struct nlmsghdr h;
	struct genlmsghdr g;
	struct nlattr a;
	union {
		char name[8];
		uint32_t ifindex;
	};
};

union answer {
	struct nlmsghdr h;
	uint8_t octets[ANSWER_LEN];
};

/* Sends a request with one attribute. False: no reply. */
static bool ask(int fd, union answer *out, uint16_t family, uint8_t cmd, uint16_t type,
		const void *value, uint16_t len)
{
	struct question q = {
		.h = { .nlmsg_type = family, .nlmsg_flags = NLM_F_REQUEST },
		.g = { .cmd = cmd, .version = 1 },
		.a = { .nla_type = type, .nla_len = (uint16_t)(NLA_HDRLEN + len) },
	};
	ssize_t got;

	memcpy(q.name, value, len);
	q.h.nlmsg_len = (uint32_t)(sizeof(q) - sizeof(q.name)) + NLA_ALIGN(len);
	if (send(fd, &q, q.h.nlmsg_len, 0) < 0)
		return false;
	got = recv(fd, out, sizeof(*out), 0);
	return got > 0 && NLMSG_OK(&out->h, (size_t)got) && out->h.nlmsg_type != NLMSG_ERROR &&
	       out->h.nlmsg_len >= NLMSG_LENGTH(GENL_HDRLEN);
}

/* Copies the first len octets of the attribute of that type; zeroes: it is missing. */
static void find(void *value, size_t len, const union answer *from, uint16_t type)
{
	size_t at = NLMSG_LENGTH(GENL_HDRLEN), end = IW_MIN(from->h.nlmsg_len, sizeof(*from));
	struct nlattr a;

	memset(value, 0, len);
	for (; at + NLA_HDRLEN <= end; at += NLA_ALIGN(a.nla_len)) {
		memcpy(&a, from->octets + at, sizeof(a));
		if (a.nla_len < NLA_HDRLEN || a.nla_len > end - at)
			return;
		if ((a.nla_type & NLA_TYPE_MASK) == type && a.nla_len >= NLA_HDRLEN + len) {
			memcpy(value, from->octets + at + NLA_HDRLEN, len);
			return;
		}
	}
}

bool iw_interface_driver(struct iw_xdp_driver *out, unsigned ifindex)
{
	static const char netdev[] = "netdev";
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	uint32_t index = ifindex;
	uint16_t family = 0;
	uint64_t can = 0;
	union answer a;
	bool reported;

	reported = fd >= 0 && ask(fd, &a, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME,
				  netdev, sizeof(netdev));
	if (reported)
		find(&family, sizeof(family), &a, CTRL_ATTR_FAMILY_ID);
	reported = reported && ask(fd, &a, family, NETDEV_CMD_DEV_GET, NETDEV_A_DEV_IFINDEX, &index,
				   sizeof(index));
	if (reported)
		find(&can, sizeof(can), &a, NETDEV_A_DEV_XDP_FEATURES);
	if (fd >= 0)
		close(fd);
	*out = (struct iw_xdp_driver){
		.native = can & NETDEV_XDP_ACT_BASIC && can & NETDEV_XDP_ACT_REDIRECT,
		.transmit = (can & NETDEV_XDP_ACT_NDO_XMIT) != 0,
		.zerocopy = (can & NETDEV_XDP_ACT_ZEROCOPY) != 0,
		.multi_buffer = (can & NETDEV_XDP_ACT_RX_SG) != 0,
	};
	return reported;
}
