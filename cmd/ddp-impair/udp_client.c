// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The clients of the carrier of datagrams, and their sockets towards the server. */
#include "ddp-impair/udp.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/gso.h"
#include "os/os.h"
#include "util/num.h"

#define SOCKET_BUFFER (32 << 20)
#define ADDRS_MAX     8

/* --- sockets ---------------------------------------------------------------------------------- */

static void set_options(int fd)
{
	int size = SOCKET_BUFFER;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	/* Without it, each datagram is a run of its own. */
	(void)iw_gro_enable(fd);
}

static int open_socket(int family)
{
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0)
		set_options(fd);
	return fd;
}

static int watch(struct iw_udp *u, int fd, uint64_t key)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u64 = key };

	return epoll_ctl(u->epoll, EPOLL_CTL_ADD, fd, &e);
}

/* Binds to the first address of a family that this host has. */
static int listen_on(struct iw_udp *u, struct iw_fault *why)
{
	struct iw_addr at[ADDRS_MAX];
	char text[IW_ADDR_TEXT];
	bool no_family;
	size_t n;
	int err = iw_addr_resolve(at, ADDRS_MAX, &n, u->r->listen_host, u->r->listen_port, why);

	for (size_t i = 0; i < n && err == 0; i++) {
		u->local = at[i];
		u->fd = open_socket(at[i].sa.sa_family);
		if (u->fd >= 0 && bind(u->fd, &at[i].sa, at[i].len) == 0) {
			socklen_t len = sizeof(u->local.in6);

			return getsockname(u->fd, &u->local.sa, &len) == 0
				       ? 0
				       : iw_os_fail(why, errno, "getsockname");
		}
		no_family = errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL;
		iw_os_fail(why, errno, "--listen: bind to UDP %s", iw_addr_format(text, &at[i]));
		if (u->fd >= 0)
			close(u->fd);
		u->fd = -1;
		if (!no_family)
			break;
	}
	return err ? err : why->err;
}

int iw_udp_open(struct iw_udp *u, struct iw_fault *why)
{
	struct iw_addr to[ADDRS_MAX];
	size_t n;
	int err = iw_addr_resolve(to, ADDRS_MAX, &n, u->r->to_host, u->r->to_port, why);

	if (err)
		return err;
	u->server = to[0];
	iw_list_init(&u->list);
	u->buf = malloc((size_t)IW_UDP_BATCH * IW_UDP_RUN);
	u->by_number = calloc(IW_UDP_CLIENTS_MAX, sizeof(*u->by_number));
	if (!u->buf || !u->by_number)
		return iw_os_fail(why, ENOMEM, "buffers");
	u->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (u->epoll < 0)
		return iw_os_fail(why, errno, "epoll");
	err = listen_on(u, why);
	if (!err && watch(u, u->fd, 0) < 0)
		err = iw_os_fail(why, errno, "epoll");
	return err;
}

/* --- clients ---------------------------------------------------------------------------------- */

static struct iw_udp_client **bucket_of(struct iw_udp *u, const struct iw_addr *a)
{
	const uint8_t *p = a->sa.sa_family == AF_INET ? (const uint8_t *)&a->in.sin_addr
						      : a->in6.sin6_addr.s6_addr;
	size_t len = a->sa.sa_family == AF_INET ? 4 : 16;
	uint32_t h = 2166136261u ^ iw_addr_port(a);

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 16777619u;
	return &u->bucket[(h ^ h >> 16) % IW_UDP_BUCKETS];
}

static struct iw_udp_client **slot_of(struct iw_udp *u, uint32_t number)
{
	return &u->by_number[number % IW_UDP_CLIENTS_MAX];
}

struct iw_udp_client *iw_udp_client_find(struct iw_udp *u, const struct iw_addr *addr)
{
	struct iw_udp_client *c = *bucket_of(u, addr);

	while (c && !iw_addr_equal(&c->addr, addr))
		c = c->next;
	return c;
}

struct iw_udp_client *iw_udp_client_get(struct iw_udp *u, uint32_t number)
{
	struct iw_udp_client *c = *slot_of(u, number);

	return c && c->number == number ? c : NULL;
}

static void drop(struct iw_udp *u, struct iw_udp_client *c)
{
	struct iw_udp_client **at = bucket_of(u, &c->addr);

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	*slot_of(u, c->number) = NULL;
	iw_list_del(&c->list);
	iw_flow_fini(&c->flow);
	close(c->fd);
	free(c);
}

static struct iw_udp_client *client_at(struct iw_list *l)
{
	return iw_container_of(l, struct iw_udp_client, list);
}

static int connect_client(struct iw_udp *u, struct iw_udp_client *c)
{
	c->fd = open_socket(u->server.sa.sa_family);
	if (c->fd < 0)
		return -1;
	if (connect(c->fd, &u->server.sa, u->server.len) == 0 && watch(u, c->fd, c->number) == 0)
		return 0;
	close(c->fd);
	return -1;
}

struct iw_udp_client *iw_udp_client_add(struct iw_udp *u, const struct iw_addr *addr, uint64_t now)
{
	struct iw_udp_client *c = calloc(1, sizeof(*c)), *old = *slot_of(u, u->clients + 1);

	if (!c)
		return NULL;
	c->addr = *addr;
	c->number = u->clients + 1;
	if (iw_flow_init(&c->flow, &u->flow_cfg, c->number, now) < 0) {
		free(c);
		return NULL;
	}
	if (connect_client(u, c) < 0) {
		iw_flow_fini(&c->flow);
		free(c);
		return NULL;
	}
	if (old)
		drop(u, old);
	u->clients++;
	*slot_of(u, c->number) = c;
	c->next = *bucket_of(u, addr);
	*bucket_of(u, addr) = c;
	iw_list_init(&c->list);
	iw_list_add_tail(&u->list, &c->list);
	return c;
}

void iw_udp_client_rebind(struct iw_udp *u, struct iw_udp_client *c)
{
	int old = c->fd;

	/* The old socket stays open until then, so that the new one gets another port. */
	if (connect_client(u, c) == 0)
		close(old);
	else
		c->fd = old;
}

void iw_udp_clients_sweep(struct iw_udp *u, uint64_t since)
{
	struct iw_list *next;

	for (struct iw_list *l = u->list.next; l != &u->list; l = next) {
		next = l->next;
		if (client_at(l)->used < since)
			drop(u, client_at(l));
	}
}

void iw_udp_close(struct iw_udp *u)
{
	struct iw_list *l;

	while (u->list.next && (l = iw_list_first(&u->list)))
		drop(u, client_at(l));
	if (u->fd >= 0)
		close(u->fd);
	if (u->epoll >= 0)
		close(u->epoll);
	free(u->buf);
	free(u->by_number);
}
