// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Routes and neighbours through rtnetlink. */
#include "pkt/neigh.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/os.h"
#include "util/num.h"
#include "util/text.h"

#define HOPS       1024         /* slots of the hash table of next hops; each has one entry */
#define KEEP_NS    IW_SEC(10)   /* an entry is valid for this time */
#define UNKNOWN_NS IW_MSEC(100) /* one without a known next hop, for this time */
#define NUDGE_NS   IW_SEC(1)
#define REPLY_LEN  8192
#define VALID      (NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE)

struct iw_neigh {
	int request, notify; /* netlink sockets: for requests; for notifications */
	unsigned ifindex;
	char name[IF_NAMESIZE];
	uint8_t mac[6];
	uint32_t mtu;
	bool gone;
	uint64_t changes;
	uint32_t seq;
	struct iw_hop hop[HOPS];
	union {
		struct nlmsghdr align;
		uint8_t octets[REPLY_LEN];
	} reply;
};

struct request {
	struct nlmsghdr h;
	union {
		struct rtmsg route;
		struct ndmsg neigh;
		struct ifinfomsg link;
	};
	uint8_t attrs[128];
};

/* --- messages --------------------------------------------------------------------------------- */

static void begin(struct request *r, uint16_t type, size_t body)
{
	memset(r, 0, sizeof(*r));
	r->h.nlmsg_len = (uint32_t)NLMSG_LENGTH(body);
	r->h.nlmsg_type = type;
	r->h.nlmsg_flags = NLM_F_REQUEST;
}

static void add(struct request *r, uint16_t type, const void *value, size_t len)
{
	struct rtattr *a = (struct rtattr *)(void *)((uint8_t *)r + NLMSG_ALIGN(r->h.nlmsg_len));

	a->rta_type = type;
	a->rta_len = (unsigned short)RTA_LENGTH(len);
	memcpy(RTA_DATA(a), value, len);
	r->h.nlmsg_len = (uint32_t)(NLMSG_ALIGN(r->h.nlmsg_len) + RTA_ALIGN(a->rta_len));
}

static const void *address_of(const struct iw_addr *a, size_t *len)
{
	*len = a->sa.sa_family == AF_INET ? 4 : 16;
	return a->sa.sa_family == AF_INET ? (const void *)&a->in.sin_addr
					  : (const void *)&a->in6.sin6_addr;
}

/* Sends a request and waits for its reply. The reply is in n->reply. NULL: failed, by errno. */
static struct nlmsghdr *request(struct iw_neigh *n, struct request *r)
{
	struct nlmsghdr *h = &n->reply.align;
	ssize_t got;

	r->h.nlmsg_seq = ++n->seq;
	if (send(n->request, r, r->h.nlmsg_len, 0) < 0)
		return NULL;
	do {
		do
			got = recv(n->request, n->reply.octets, sizeof(n->reply), 0);
		while (got < 0 && errno == EINTR);
		if (got < 0)
			return NULL;
		/* Skip replies to earlier requests. */
	} while (!NLMSG_OK(h, (size_t)got) || h->nlmsg_seq != n->seq);
	if (h->nlmsg_type == NLMSG_ERROR) {
		const struct nlmsgerr *e = NLMSG_DATA(h);

		errno = h->nlmsg_len >= NLMSG_LENGTH(sizeof(*e)) ? -e->error : EPROTO;
		return NULL;
	}
	return h;
}

/* Returns the attribute of that type among the len octets of attributes; NULL: none. */
static struct rtattr *find(void *at, size_t len, uint16_t type)
{
	struct rtattr *a = at;

	while (RTA_OK(a, len)) {
		if ((a->rta_type & NLA_TYPE_MASK) == type)
			return a;
		len -= RTA_ALIGN(a->rta_len);
		a = (struct rtattr *)(void *)((uint8_t *)a + RTA_ALIGN(a->rta_len));
	}
	return NULL;
}

static struct rtattr *attr(struct nlmsghdr *h, size_t body, uint16_t type)
{
	size_t skip = NLMSG_LENGTH(NLMSG_ALIGN(body));

	if (h->nlmsg_len < skip)
		return NULL;
	return find((uint8_t *)h + skip, h->nlmsg_len - skip, type);
}

static bool take_u32(uint32_t *out, struct rtattr *a)
{
	if (!a || RTA_PAYLOAD(a) < sizeof(*out))
		return false;
	memcpy(out, RTA_DATA(a), sizeof(*out));
	return true;
}

static bool take_address(struct iw_addr *out, int family, const void *data, size_t len)
{
	memset(out, 0, sizeof(*out));
	if (family == AF_INET && len == 4) {
		out->in.sin_family = AF_INET;
		memcpy(&out->in.sin_addr, data, 4);
		out->len = sizeof(out->in);
	} else if (family == AF_INET6 && len == 16) {
		out->in6.sin6_family = AF_INET6;
		memcpy(&out->in6.sin6_addr, data, 16);
		out->len = sizeof(out->in6);
	}
	return out->len > 0;
}

/* --- the interface ---------------------------------------------------------------------------- */

static void take_link(struct iw_neigh *n, struct nlmsghdr *h)
{
	struct rtattr *mac = attr(h, sizeof(struct ifinfomsg), IFLA_ADDRESS);

	(void)take_u32(&n->mtu, attr(h, sizeof(struct ifinfomsg), IFLA_MTU));
	if (mac && RTA_PAYLOAD(mac) == sizeof(n->mac))
		memcpy(n->mac, RTA_DATA(mac), sizeof(n->mac));
}

static int look_at_link(struct iw_neigh *n, struct iw_fault *why)
{
	struct nlmsghdr *h;
	const struct ifinfomsg *i;
	struct request r;

	begin(&r, RTM_GETLINK, sizeof(r.link));
	r.link.ifi_index = (int)n->ifindex;
	h = request(n, &r);
	if (!h)
		return iw_os_fail(why, errno, "xdp: query interface %s", n->name);
	i = NLMSG_DATA(h);
	if (i->ifi_type != ARPHRD_ETHER)
		return iw_fail(why, IW_E_NOTSUP,
			       "xdp: interface %s is not Ethernet, which -t xdp needs: choose "
			       "another with -I, or use udp or raw",
			       n->name);
	take_link(n, h);
	return 0;
}

static int open_netlink(int *fd, uint32_t groups, int flags, struct iw_fault *why)
{
	struct sockaddr_nl a = { .nl_family = AF_NETLINK, .nl_groups = groups };

	*fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | flags, NETLINK_ROUTE);
	if (*fd < 0 || bind(*fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		return iw_os_fail(why, errno, "xdp: open netlink");
	return 0;
}

int iw_neigh_open(struct iw_neigh **out, const char *interface, struct iw_fault *why)
{
	struct iw_neigh *n = calloc(1, sizeof(*n));
	int err = 0;

	if (!n)
		return iw_fail(why, IW_E_NOMEM, "xdp: no memory");
	n->request = n->notify = -1;
	n->changes = 1;
	strncpy(n->name, interface, sizeof(n->name) - 1);
	n->ifindex = if_nametoindex(interface);
	if (n->ifindex == 0)
		err = iw_fail(why, IW_E_NOENT,
			      "interface %s: no such interface; `ip link` lists them", interface);
	if (!err)
		err = open_netlink(&n->request, 0, 0, why);
	if (!err)
		err = open_netlink(&n->notify,
				   RTMGRP_LINK | RTMGRP_NEIGH | RTMGRP_IPV4_ROUTE |
					   RTMGRP_IPV6_ROUTE | RTMGRP_IPV4_IFADDR |
					   RTMGRP_IPV6_IFADDR,
				   SOCK_NONBLOCK, why);
	if (!err)
		err = look_at_link(n, why);
	if (err) {
		iw_neigh_close(n);
		return err;
	}
	*out = n;
	return 0;
}

void iw_neigh_close(struct iw_neigh *n)
{
	if (!n)
		return;
	if (n->request >= 0)
		close(n->request);
	if (n->notify >= 0)
		close(n->notify);
	free(n);
}

int iw_neigh_fd(const struct iw_neigh *n)
{
	return n->notify;
}

uint32_t iw_neigh_mtu(const struct iw_neigh *n)
{
	return n->mtu;
}

static void take_news(struct iw_neigh *n, struct nlmsghdr *h)
{
	const struct ifinfomsg *i = NLMSG_DATA(h);

	n->changes++;
	if (h->nlmsg_type != RTM_NEWLINK && h->nlmsg_type != RTM_DELLINK)
		return;
	if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*i)) || i->ifi_index != (int)n->ifindex ||
	    i->ifi_family != AF_UNSPEC)
		return;
	if (h->nlmsg_type == RTM_DELLINK)
		n->gone = true;
	else
		take_link(n, h);
}

enum iw_neigh_news iw_neigh_follow(struct iw_neigh *n)
{
	uint64_t before = n->changes;

	while (!n->gone) {
		ssize_t got = recv(n->notify, n->reply.octets, sizeof(n->reply), MSG_DONTWAIT);
		struct nlmsghdr *h = &n->reply.align;
		size_t left = got > 0 ? (size_t)got : 0;

		/* Notifications were lost, so all entries are invalid now. */
		if (got < 0 && errno == ENOBUFS) {
			struct iw_fault why;

			n->changes++;
			n->gone = look_at_link(n, &why) != 0;
			continue;
		}
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		for (; NLMSG_OK(h, left); left -= NLMSG_ALIGN(h->nlmsg_len),
					  h = (void *)((uint8_t *)h + NLMSG_ALIGN(h->nlmsg_len))) {
			take_news(n, h);
			if (NLMSG_ALIGN(h->nlmsg_len) > left)
				break;
		}
	}
	if (n->gone)
		return IW_NEIGH_GONE;
	return n->changes != before ? IW_NEIGH_CHANGED : IW_NEIGH_SAME;
}

/* --- the next hop to a peer ------------------------------------------------------------------- */

/* Sets *next to the address of the next hop, and MTU and source address in h. False: the route
 * leads through another interface, or is not a unicast route, or is not known. */
static bool ask_route(struct iw_neigh *n, struct iw_hop *h, struct iw_addr *next)
{
	int family = h->peer.sa.sa_family;
	struct rtattr *a, *mtu;
	struct nlmsghdr *m;
	const struct rtmsg *route;
	uint32_t oif = n->ifindex;
	struct request r;
	const void *ip;
	size_t len;

	begin(&r, RTM_GETROUTE, sizeof(r.route));
	r.route.rtm_family = (unsigned char)family;
	ip = address_of(&h->peer, &len);
	r.route.rtm_dst_len = (unsigned char)(len * 8);
	add(&r, RTA_DST, ip, len);
	if (h->asked.len > 0 && !iw_addr_is_any(&h->asked)) {
		ip = address_of(&h->asked, &len);
		r.route.rtm_src_len = (unsigned char)(len * 8);
		add(&r, RTA_SRC, ip, len);
	}
	add(&r, RTA_OIF, &oif, sizeof(oif));
	m = request(n, &r);
	if (!m || m->nlmsg_type != RTM_NEWROUTE || m->nlmsg_len < NLMSG_LENGTH(sizeof(*route)))
		return false;
	route = NLMSG_DATA(m);
	if (route->rtm_type != RTN_UNICAST || !take_u32(&oif, attr(m, sizeof(*route), RTA_OIF)) ||
	    oif != n->ifindex)
		return false;
	h->mtu = n->mtu;
	a = attr(m, sizeof(*route), RTA_METRICS);
	mtu = a ? find(RTA_DATA(a), RTA_PAYLOAD(a), RTAX_MTU) : NULL;
	if (take_u32(&oif, mtu) && oif > 0)
		h->mtu = IW_MIN(h->mtu, oif);
	a = attr(m, sizeof(*route), RTA_PREFSRC);
	if (h->asked.len > 0 && !iw_addr_is_any(&h->asked)) {
		h->local = h->asked;
		iw_addr_set_port(&h->local, 0);
	} else if (!a || !take_address(&h->local, family, RTA_DATA(a), RTA_PAYLOAD(a))) {
		return false;
	}
	*next = h->peer;
	a = attr(m, sizeof(*route), RTA_GATEWAY);
	if (a)
		return take_address(next, family, RTA_DATA(a), RTA_PAYLOAD(a));
	a = attr(m, sizeof(*route), RTA_VIA);
	if (a && RTA_PAYLOAD(a) > sizeof(struct rtvia)) {
		const struct rtvia *via = RTA_DATA(a);

		return take_address(next, via->rtvia_family, via->rtvia_addr,
				    RTA_PAYLOAD(a) - sizeof(*via));
	}
	return true;
}

bool iw_neigh_is_own(struct iw_neigh *n, const struct iw_addr *peer)
{
	const struct rtmsg *route;
	struct nlmsghdr *m;
	struct request r;
	const void *ip;
	size_t len;

	if (iw_addr_is_loopback(peer))
		return true;
	begin(&r, RTM_GETROUTE, sizeof(r.route));
	r.route.rtm_family = (unsigned char)peer->sa.sa_family;
	ip = address_of(peer, &len);
	r.route.rtm_dst_len = (unsigned char)(len * 8);
	add(&r, RTA_DST, ip, len);
	add(&r, RTA_OIF, &n->ifindex, sizeof(n->ifindex));
	m = request(n, &r);
	if (!m || m->nlmsg_type != RTM_NEWROUTE || m->nlmsg_len < NLMSG_LENGTH(sizeof(*route)))
		return false;
	route = NLMSG_DATA(m);
	return route->rtm_type == RTN_LOCAL;
}

static bool ask_neighbour(struct iw_neigh *n, struct iw_hop *h, const struct iw_addr *next)
{
	struct nlmsghdr *m;
	const struct ndmsg *d;
	struct rtattr *mac;
	struct request r;
	const void *ip;
	size_t len;

	begin(&r, RTM_GETNEIGH, sizeof(r.neigh));
	r.neigh.ndm_family = (unsigned char)next->sa.sa_family;
	r.neigh.ndm_ifindex = (int)n->ifindex;
	ip = address_of(next, &len);
	add(&r, NDA_DST, ip, len);
	m = request(n, &r);
	if (!m || m->nlmsg_type != RTM_NEWNEIGH || m->nlmsg_len < NLMSG_LENGTH(sizeof(*d)))
		return false;
	d = NLMSG_DATA(m);
	mac = attr(m, sizeof(*d), NDA_LLADDR);
	if (!(d->ndm_state & VALID) || !mac || RTA_PAYLOAD(mac) != 6)
		return false;
	h->stale = (d->ndm_state & NUD_STALE) != 0;
	memcpy(h->ether, RTA_DATA(mac), 6);
	memcpy(h->ether + 6, n->mac, 6);
	iw_put_be16(h->ether + 12, h->peer.sa.sa_family == AF_INET ? 0x0800 : 0x86dd);
	return true;
}

static bool same(const struct iw_addr *a, const struct iw_addr *b)
{
	return a->len == b->len && (a->len == 0 || iw_addr_equal(a, b));
}

static struct iw_hop *slot_of(struct iw_neigh *n, const struct iw_addr *peer)
{
	size_t len;
	const uint8_t *ip = address_of(peer, &len);
	uint32_t h = 0x811c9dc5;

	for (size_t i = 0; i < len; i++)
		h = (h ^ ip[i]) * 0x01000193;
	return &n->hop[(h ^ h >> 16) % HOPS];
}

const struct iw_hop *iw_neigh_hop(struct iw_neigh *n, const struct iw_addr *peer,
				  const struct iw_addr *local, uint64_t now)
{
	struct iw_hop *h = slot_of(n, peer);
	uint64_t nudged = h->nudged;
	struct iw_addr next;

	if (iw_likely(h->since == n->changes && now < h->until && same(&h->peer, peer) &&
		      same(&h->asked, local)))
		return h;
	if (!same(&h->peer, peer))
		nudged = 0;
	*h = (struct iw_hop){ .peer = *peer, .asked = *local, .since = n->changes, .mtu = n->mtu };
	h->nudged = nudged;
	h->direct = ask_route(n, h, &next) && ask_neighbour(n, h, &next);
	h->until = iw_time_add(now, h->direct ? KEEP_NS : UNKNOWN_NS);
	return h;
}

bool iw_neigh_nudge(struct iw_neigh *n, const struct iw_addr *peer, uint64_t now)
{
	struct iw_hop *h = slot_of(n, peer);

	if (!h->stale || now < h->nudged + NUDGE_NS)
		return false;
	h->nudged = now;
	return true;
}
