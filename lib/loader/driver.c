// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the driver of an interface can do with XDP: the kernel tells it through generic netlink from 6.3 on. */
#include "loader/attach.h"

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/num.h"

/* linux/netdev.h, which older headers lack. */
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

/* False: no answer. The attribute's value is @len octets of @value. */
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

/* The value of the attribute of that type, @len octets of it; zeroes: none. */
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

bool iw_attach_driver(struct iw_xdp_driver *out, unsigned ifindex)
{
	static const char netdev[] = "netdev";
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	uint32_t index = ifindex;
	uint16_t family = 0;
	uint64_t can = 0;
	union answer a;
	bool told;

	told = fd >= 0 && ask(fd, &a, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME,
			      netdev, sizeof(netdev));
	if (told)
		find(&family, sizeof(family), &a, CTRL_ATTR_FAMILY_ID);
	told = told &&
	       ask(fd, &a, family, NETDEV_CMD_DEV_GET, NETDEV_A_DEV_IFINDEX, &index, sizeof(index));
	if (told)
		find(&can, sizeof(can), &a, NETDEV_A_DEV_XDP_FEATURES);
	if (fd >= 0)
		close(fd);
	*out = (struct iw_xdp_driver){
		.native = can & NETDEV_XDP_ACT_BASIC && can & NETDEV_XDP_ACT_REDIRECT,
		.transmit = (can & NETDEV_XDP_ACT_NDO_XMIT) != 0,
		.zerocopy = (can & NETDEV_XDP_ACT_ZEROCOPY) != 0,
		.multi_buffer = (can & NETDEV_XDP_ACT_RX_SG) != 0,
	};
	return told;
}
