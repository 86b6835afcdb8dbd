// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Bursts through BPF_PROG_RUN. A run of several frames adds its program to the kernel's XDP
 * dispatcher and removes it afterwards. Each costs an RCU grace period, about 15 ms, unless the
 * program is attached somewhere. The steering program is attached, so it sends the packets, and not
 * a program of its own.
 */
#include "loader/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "loader/interface.h"
#include "util/num.h"

#include "xdp/shared.h"

#ifndef BPF_F_TEST_XDP_LIVE_FRAMES
#define BPF_F_TEST_XDP_LIVE_FRAMES (1u << 1)
#endif

#define BATCH   32        /* frames made before the far end receives them: its queue holds 256 */
#define ASK_NS  IW_SEC(1) /* how long the driver's report is used */
#define OWN_NS  "/proc/thread-self/ns/net"
#define PACKETS (1 + IW_XDP_LIVE_BURST)

struct iw_live {
	struct iw_steer *steer;
	uint32_t worker;
	unsigned ifindex;
	int map;
	struct iw_xdp_live *packet; /* the memory of the map, PACKETS entries */
	size_t mapped;
	unsigned n; /* pending packets: 1 .. n */
	bool ready, failed;
	uint64_t ask_at;
	struct stat ns; /* network namespace of ifindex */
	/* The first octets of each frame. */
	struct {
		struct iw_xdp_order order;
		uint8_t rest[IW_XDP_LIVE_ORDER + IW_XDP_LIVE_FRAME - sizeof(struct iw_xdp_order)];
	} data;
};

_Static_assert(sizeof(struct iw_xdp_order) + sizeof(struct iw_xdp_meta) <= IW_XDP_LIVE_ORDER,
	       "our own program at the far end leaves the order");
_Static_assert(sizeof(struct iw_xdp_live) % 128 == 64, "packets do not meet in one set of a cache");

/* Runs the program without packets. That fails on Linux before 5.18, which has no live frames. */
static bool can_run(struct iw_live *l)
{
	return iw_live_send(l) == 0 && !l->failed;
}

static bool make_packets(struct iw_live *l)
{
	LIBBPF_OPTS(bpf_map_create_opts, o, .map_flags = BPF_F_MMAPABLE);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at;

	l->map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "packets", sizeof(uint32_t),
				sizeof(struct iw_xdp_live), PACKETS, &o);
	if (l->map < 0)
		return false;
	l->mapped = (PACKETS * sizeof(struct iw_xdp_live) + page - 1) / page * page;
	at = mmap(NULL, l->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, l->map, 0);
	if (at == MAP_FAILED)
		return false;
	l->packet = at;
	l->data.order.worker = l->worker;
	l->data.order.type = IW_XDP_LIVE_TYPE;
	l->packet[0].ifindex = l->ifindex;
	return iw_steer_live_add(l->steer, l->worker, l->map) == 0;
}

struct iw_live *iw_live_new(struct iw_steer *s, uint32_t worker, const char *interface,
			    uint32_t mtu)
{
	struct iw_live *l;

	if (mtu + IW_XDP_LIVE_HEAD > IW_XDP_LIVE_FRAME || !iw_interface_is_veth(interface))
		return NULL;
	l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	*l = (struct iw_live){
		.steer = s, .worker = worker, .ifindex = iw_steer_facts(s)->ifindex, .map = -1
	};
	if (stat(OWN_NS, &l->ns) == 0 && make_packets(l) && can_run(l))
		return l;
	iw_live_free(l);
	return NULL;
}

void iw_live_free(struct iw_live *l)
{
	if (!l)
		return;
	iw_steer_live_remove(l->steer, l->worker);
	if (l->packet)
		munmap(l->packet, l->mapped);
	if (l->map >= 0)
		close(l->map);
	free(l);
}

/*
 * True if the thread is in the network namespace of the interface: BPF_PROG_RUN looks up the index
 * there. An AF_XDP socket works in any namespace.
 */
static bool is_at_home(const struct iw_live *l)
{
	struct stat ns;

	return stat(OWN_NS, &ns) == 0 && ns.st_ino == l->ns.st_ino && ns.st_dev == l->ns.st_dev;
}

bool iw_live_ready(struct iw_live *l, uint64_t now)
{
	struct iw_xdp_driver can;

	if (l->failed || now < l->ask_at)
		return l->ready && !l->failed;
	l->ask_at = now + ASK_NS;
	l->ready = is_at_home(l) && iw_interface_driver(&can, l->ifindex) && can.transmit;
	return l->ready;
}

uint8_t *iw_live_room(struct iw_live *l, size_t *cap)
{
	*cap = IW_XDP_LIVE_FRAME - IW_XDP_LIVE_HEAD;
	return l->n < IW_XDP_LIVE_BURST ? l->packet[l->n + 1].octets + IW_XDP_LIVE_HEAD : NULL;
}

void iw_live_put(struct iw_live *l, const uint8_t *head, size_t head_len, size_t len)
{
	struct iw_xdp_live *p = &l->packet[++l->n];

	p->at = (uint32_t)(IW_XDP_LIVE_HEAD - head_len);
	p->len = (uint32_t)(head_len + len);
	memcpy(p->octets + p->at, head, head_len);
}

unsigned iw_live_waiting(const struct iw_live *l)
{
	return l->n;
}

const uint8_t *iw_live_packet(const struct iw_live *l, unsigned i, size_t *len)
{
	*len = l->packet[i + 1].len;
	return l->packet[i + 1].octets + l->packet[i + 1].at;
}

/* Runs the program n times, for the packets from number `next`. Returns 0 or a negative errno. */
static int run(struct iw_live *l, uint32_t next, unsigned n)
{
	/* The most common length in a burst; the program shortens or extends other frames. */
	uint32_t len = IW_XDP_LIVE_ORDER + IW_MAX(l->packet[1].len, 64u);
	/* Without a context, frames arrive on the loopback interface: IW_XDP_LIVE_INGRESS. */
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = &l->data, .data_size_in = len,
		    .repeat = (int)n, .flags = BPF_F_TEST_XDP_LIVE_FRAMES,
		    .batch_size = IW_MIN(n, (unsigned)BATCH));

	l->packet[0].last = l->n;
	l->packet[0].next = next;
	return bpf_prog_test_run_opts(iw_steer_prog_fd(l->steer), &o);
}

unsigned iw_live_send(struct iw_live *l)
{
	unsigned sent = 0;

	do {
		int err = run(l, 1 + sent, IW_MAX(l->n - sent, 1u));
		unsigned now = l->packet[0].next - 1;

		/* A signal ends a call early. */
		l->failed = err < 0 ? err != -EINTR : now < l->n;
		sent = now;
	} while (sent < l->n && !l->failed);
	return sent;
}

void iw_live_clear(struct iw_live *l)
{
	l->n = 0;
}
