// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Socket options and control messages of GSO and GRO. */
#include "os/gso.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

bool iw_gso_is_supported(int fd)
{
	const int none = 0;

	return setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &none, sizeof(none)) == 0;
}

void iw_gso_add(struct msghdr *m, size_t seg)
{
	uint16_t size = (uint16_t)seg;
	struct cmsghdr *c =
		(struct cmsghdr *)(void *)((uint8_t *)m->msg_control + m->msg_controllen);

	memset(c, 0, IW_GSO_CONTROL);
	c->cmsg_level = IPPROTO_UDP;
	c->cmsg_type = UDP_SEGMENT;
	c->cmsg_len = CMSG_LEN(sizeof(size));
	memcpy(CMSG_DATA(c), &size, sizeof(size));
	m->msg_controllen += IW_GSO_CONTROL;
}

bool iw_gro_enable(int fd)
{
	const int on = 1;

	return setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof(on)) == 0;
}

size_t iw_gro_size(struct msghdr *m, size_t len)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
		if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
			int seg;

			memcpy(&seg, CMSG_DATA(c), sizeof(seg));
			if (seg > 0)
				return (size_t)seg;
		}
	return len;
}
