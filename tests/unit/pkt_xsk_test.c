// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Workers of one process on one interface with two queues: what each receives, on whichever queue
 * it arrives, and what the others lose when one does not read. In a network namespace of its own.
 * Debug builds count the frames when the last worker closes.
 */
#include "pkt/xsk.h"

#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "os/os.h"
#include "os/probe.h"
#include "pkt/frame.h"
#include "util/num.h"
#include "util/text.h"

#include "ip_command.h"

#define PORT    7471
#define WORKERS 2
#define SCTP_AT 34
#define LEN     200        /* of an SCTP packet */
#define TIME    IW_SEC(20) /* nothing here takes that long */

static struct iw_fault refused;
static bool ready;

/* Each test has a network of its own, so that a failed test does not disturb the next one. */
static int set_up(void **state)
{
	(void)state;
	if (iw_os_probe_xdp(&refused) != 0)
		return 0;
	ready = unshare(CLONE_NEWNET) == 0 &&
		IP("link", "add", "one", "numtxqueues", "2", "numrxqueues", "2", "type", "veth",
		   "peer", "name", "two", "numtxqueues", "2", "numrxqueues", "2") == 0 &&
		IP("link", "set", "one", "up") == 0 && IP("link", "set", "two", "up") == 0;
	if (!ready)
		(void)iw_fail(&refused, IW_E_NOTSUP, "no network namespace with a veth pair in it");
	return 0;
}

#define NEEDS_XDP()                                                                                \
	do {                                                                                       \
		if (!ready) {                                                                      \
			print_message("# needs xdp: %s\n", refused.text);                          \
			skip();                                                                    \
		}                                                                                  \
	} while (0)

struct net {
	struct iw_xsk *in[WORKERS];  /* on "one"; tag i + 1 is worker i's */
	struct iw_xsk *out[WORKERS]; /* on "two"; worker i sends on queue i */
	uint8_t head[IW_FRAME_HEAD_MAX];
};

static void must(int err)
{
	if (err)
		fail_msg("%s", refused.text);
}

static void open_net(struct net *n)
{
	struct iw_xsk_cfg cfg = { .interface = "one", .mtu = 1500 };
	struct iw_addr src, dst, any = { 0 };
	const uint8_t ether[14] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00 };
	uint32_t endpoint;

	for (int i = 0; i < WORKERS; i++)
		must(iw_xsk_open(&n->in[i], &cfg, &refused));
	cfg.interface = "two";
	for (int i = 0; i < WORKERS; i++)
		must(iw_xsk_open(&n->out[i], &cfg, &refused));
	assert_int_equal(iw_steer_endpoint_add(iw_xsk_steer(n->in[0]), &endpoint, &any, PORT, 0,
					       iw_xsk_worker(n->in[0]), NULL, &refused),
			 0);
	for (uint32_t i = 0; i < WORKERS; i++)
		assert_int_equal(iw_steer_assoc_add(iw_xsk_steer(n->in[0]), endpoint, i + 1,
						    iw_xsk_worker(n->in[i]), &refused),
				 0);
	assert_int_equal(iw_addr_parse(&src, "10.0.0.2", 0), 0);
	assert_int_equal(iw_addr_parse(&dst, "10.0.0.1", 0), 0);
	assert_int_equal(iw_frame_head(n->head, ether, &src, &dst, NULL, LEN), SCTP_AT);
}

static void close_net(struct net *n)
{
	for (int i = 0; i < WORKERS; i++) {
		iw_xsk_close(n->out[i]);
		iw_xsk_close(n->in[i]);
	}
}

/* Puts a packet with that tag and number on that queue. */
static void put_one(struct net *n, int queue, uint32_t tag, uint32_t number)
{
	uint64_t end = iw_os_now() + TIME;
	uint8_t *room, sctp[LEN] = { 0 };
	size_t cap;

	iw_put_be16(sctp + 2, PORT);
	iw_put_be32(sctp + 4, tag);
	iw_put_be32(sctp + 12, number);
	while ((room = iw_xsk_room(n->out[queue], &cap)) == NULL) {
		assert_true(iw_os_now() < end);
		(void)iw_xsk_retry(n->out[queue]);
	}
	assert_true(cap >= LEN);
	memcpy(room, sctp, LEN);
	iw_xsk_put(n->out[queue], n->head, SCTP_AT, LEN, NULL, 0);
}

/* Puts a packet and sends it. */
static void send_one(struct net *n, int queue, uint32_t tag, uint32_t number)
{
	put_one(n, queue, tag, number);
	assert_int_equal(iw_xsk_flush(n->out[queue], &refused), 0);
}

#define EACH  6000 /* packets of each queue for each worker: more than all frames */
#define AHEAD 400  /* of those in flight at most: fewer than a ring holds */

/* The packets that a worker has received: packet k of queue q has the number 2 k + q. */
struct got {
	struct net *net;
	uint32_t tag;
	uint8_t has[WORKERS * EACH];
	atomic_uint n, wrong;
};

static void take_one(struct got *g, const struct iw_xsk_rx *rx)
{
	struct iw_frame f;
	uint32_t number;

	if (!rx->meta || !iw_frame_from_meta(&f, rx->data, rx->len, rx->meta) || f.len != LEN ||
	    iw_get_be32(rx->data + f.at + 4) != g->tag) {
		g->wrong++;
		return;
	}
	number = iw_get_be32(rx->data + f.at + 12);
	if (number >= WORKERS * EACH || g->has[number]++)
		g->wrong++;
	g->n++;
}

static void *receive(void *arg)
{
	struct got *g = arg;
	uint64_t end = iw_os_now() + TIME;
	struct iw_xsk_rx rx[IW_XSK_BATCH];

	while (g->n < WORKERS * EACH && iw_os_now() < end) {
		unsigned n = iw_xsk_recv(g->net->in[g->tag - 1], rx, IW_XSK_BATCH);

		for (unsigned i = 0; i < n; i++)
			take_one(g, &rx[i]);
		if (n == 0)
			sched_yield();
	}
	return NULL;
}

static void each_worker_gets_its_own_packets_from_either_queue(void **state)
{
	static struct got g[WORKERS];
	uint64_t end = iw_os_now() + TIME;
	pthread_t t[WORKERS];
	struct net n;

	(void)state;
	NEEDS_XDP();
	open_net(&n);
	for (uint32_t i = 0; i < WORKERS; i++) {
		g[i] = (struct got){ .net = &n, .tag = i + 1 };
		assert_int_equal(pthread_create(&t[i], NULL, receive, &g[i]), 0);
	}
	for (uint32_t k = 0; k < EACH; k++) {
		for (uint32_t tag = 1; tag <= WORKERS; tag++)
			for (int q = 0; q < WORKERS; q++)
				send_one(&n, q, tag, k << 1 | (uint32_t)q);
		for (int i = 0; i < WORKERS; i++)
			while (g[i].n + WORKERS * AHEAD < WORKERS * k && iw_os_now() < end)
				sched_yield();
	}
	for (int i = 0; i < WORKERS; i++) {
		assert_int_equal(pthread_join(t[i], NULL), 0);
		assert_int_equal(g[i].wrong, 0);
		assert_int_equal(g[i].n, WORKERS * EACH);
	}
	close_net(&n);
}

/* Receives until `want` packets with that tag have arrived, or TIME is over. */
static uint32_t take(struct iw_xsk *x, uint32_t tag, uint32_t want)
{
	uint64_t end = iw_os_now() + TIME;
	struct iw_xsk_rx rx[IW_XSK_BATCH];
	uint32_t got = 0;
	unsigned n;

	while ((n = iw_xsk_recv(x, rx, IW_XSK_BATCH)) > 0 || (got < want && iw_os_now() < end))
		for (unsigned i = 0; i < n; i++)
			got += iw_get_be32(rx[i].data + SCTP_AT + 4) == tag;
	return got;
}

/* Only its own share of the frames is blocked. Packets for it are dropped and counted. When it
 * reads again, it receives as before. */
static void a_worker_that_does_not_read_takes_no_frames_from_others(void **state)
{
	uint64_t end = iw_os_now() + TIME;
	struct iw_xsk_facts f;
	struct net n;

	(void)state;
	NEEDS_XDP();
	open_net(&n);
	iw_xsk_facts(n.in[0], &f);
	assert_int_equal(f.queues, WORKERS);
	for (uint32_t k = 0; k < 3 * f.ring_rx; k++)
		for (int q = 0; q < WORKERS; q++) {
			send_one(&n, q, 2, k);
			send_one(&n, q, 1, k);
			assert_int_equal(take(n.in[0], 1, 1), 1);
		}
	do
		iw_xsk_facts(n.in[1], &f);
	while (f.rx_ring_full < WORKERS * 2 * f.ring_rx && iw_os_now() < end);
	assert_int_equal(f.rx_ring_full, WORKERS * 2 * f.ring_rx);
	assert_int_equal(take(n.in[1], 2, WORKERS * f.ring_rx), WORKERS * f.ring_rx);
	for (int q = 0; q < WORKERS; q++)
		send_one(&n, q, 2, 0);
	assert_int_equal(take(n.in[1], 2, WORKERS), WORKERS);
	close_net(&n);
}

/* The other worker continues, and so does the one that takes the free place. Neither loses frames
 * because of unread packets and frames in flight. */
static void a_worker_that_closes_does_not_affect_others(void **state)
{
	enum { TIMES = 20 };
	struct iw_xsk_cfg cfg = { .interface = "two", .mtu = 1500 };
	struct net n;

	(void)state;
	NEEDS_XDP();
	open_net(&n);
	for (uint32_t k = 0; k < TIMES; k++) {
		send_one(&n, 1, 2, k);
		iw_xsk_close(n.out[1]);
		must(iw_xsk_open(&n.out[1], &cfg, &refused));
		send_one(&n, 0, 1, k);
		assert_int_equal(take(n.in[0], 1, 1), 1);
	}
	assert_int_equal(take(n.in[1], 2, TIMES), TIMES);
	close_net(&n);
}

/* Each packet arrives complete and once, in small bursts and in bursts larger than one call sends.
 * The sending processor determines the queue, and so the order. */
static void bursts_are_sent_by_the_program_whole_and_once(void **state)
{
	static const unsigned burst[] = { 1, 15, 16, 17, 64, 255, 256, 257, 400 };
	struct iw_xsk_facts before, after;
	struct iw_xsk_rx rx[IW_XSK_BATCH];
	struct net n;

	(void)state;
	NEEDS_XDP();
	open_net(&n);
	for (size_t b = 0; b < IW_ARRAY_LEN(burst); b++) {
		uint64_t end = iw_os_now() + TIME;
		uint32_t number = 0;
		uint8_t has[400] = { 0 };

		iw_xsk_facts(n.out[0], &before);
		for (uint32_t k = 0; k < burst[b]; k++)
			put_one(&n, 0, 1, k);
		assert_true(iw_xsk_unsent(n.out[0]));
		assert_int_equal(iw_xsk_flush(n.out[0], &refused), 0);
		assert_false(iw_xsk_unsent(n.out[0]));
		iw_xsk_facts(n.out[0], &after);
		assert_int_equal(after.tx - before.tx, burst[b]);
		if (!after.live && burst[b] >= 16) {
			close_net(&n);
			print_message("# needs xdp: a kernel that reports what drivers send\n");
			skip();
		}
		/* The rest after a whole burst may be too small for a call. */
		assert_int_equal(after.live - before.live, burst[b] < 16     ? 0
							   : burst[b] == 257 ? 256
									     : burst[b]);
		while (number < burst[b]) {
			unsigned got = iw_xsk_recv(n.in[0], rx, IW_XSK_BATCH);

			for (unsigned i = 0; i < got; i++, number++) {
				static const uint8_t zeroes[LEN];
				const uint8_t *sctp = rx[i].data + SCTP_AT;

				assert_int_equal(rx[i].len, SCTP_AT + LEN);
				assert_memory_equal(rx[i].data, n.head, SCTP_AT);
				assert_int_equal(iw_get_be32(sctp + 4), 1);
				assert_true(iw_get_be32(sctp + 12) < burst[b]);
				assert_int_equal(has[iw_get_be32(sctp + 12)]++, 0);
				assert_memory_equal(sctp + 16, zeroes, LEN - 16);
			}
			assert_true(got > 0 || iw_os_now() < end);
		}
	}
	close_net(&n);
}

/* A frame from the wire makes the program send nothing, although a packet is pending; the kernel
 * gets the frame. */
static void a_transmit_order_from_the_wire_is_ignored(void **state)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET };
	struct iw_xdp_order order[4] = { { .worker = 0 } };
	struct iw_xdp_counters before, after;
	uint64_t end = iw_os_now() + TIME;
	struct net n;
	int fd;

	(void)state;
	NEEDS_XDP();
	open_net(&n);
	put_one(&n, 0, 1, 0);
	to.sll_ifindex = (int)if_nametoindex("one");
	fd = socket(AF_PACKET, SOCK_RAW, 0);
	assert_true(fd >= 0);
	assert_int_equal(iw_steer_counters(iw_xsk_steer(n.out[0]), &before), 0);
	for (unsigned i = 0; i < 8; i++) {
		memset(order[0].unused, (int)i & 1, sizeof(order[0].unused));
		order[0].worker = (const uint32_t[]){ iw_xsk_worker(n.out[0]), IW_XDP_WORKERS - 1,
						      IW_XDP_WORKERS, UINT32_MAX }[i / 2];
		order[0].type = IW_XDP_LIVE_TYPE;
		assert_int_equal(sendto(fd, order, sizeof(order), 0, (struct sockaddr *)&to,
					sizeof(to)),
				 sizeof(order));
	}
	do {
		assert_int_equal(iw_steer_counters(iw_xsk_steer(n.out[0]), &after), 0);
		assert_true(iw_os_now() < end);
	} while (after.passed[IW_XDP_PASS_ETHER] - before.passed[IW_XDP_PASS_ETHER] < 8);
	close(fd);
	close_net(&n);
}

/* A program at the far end: reads the memory before a frame, and passes all of it to the kernel. */
static void read_headroom(const char *interface)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2, .imm = -IW_XDP_LIVE_ORDER },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_xdp_adjust_head },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = XDP_PASS },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "far_end", "GPL", insns, IW_ARRAY_LEN(insns),
			       NULL);

	assert_true(fd >= 0);
	assert_int_equal(
		bpf_xdp_attach((int)if_nametoindex(interface), fd, XDP_FLAGS_DRV_MODE, NULL), 0);
	close(fd);
}

static int packet_socket(const char *interface)
{
	struct sockaddr_ll a = { .sll_family = AF_PACKET,
				 .sll_protocol = htons(ETH_P_ALL),
				 .sll_ifindex = (int)if_nametoindex(interface) };
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETH_P_ALL));

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

/* Receives a frame that the program has sent, with the memory before it. */
static void take_whole(int fd, uint8_t buf[static IW_XDP_LIVE_ORDER + SCTP_AT + LEN])
{
	uint64_t end = iw_os_now() + TIME;
	ssize_t n;

	do {
		n = recv(fd, buf, IW_XDP_LIVE_ORDER + SCTP_AT + LEN, 0);
		assert_true(iw_os_now() < end);
	} while (n != IW_XDP_LIVE_ORDER + SCTP_AT + LEN);
}

/* The program at the far end reads the memory before a frame. Sent back, these octets are not a
 * transmit order. */
static void octets_read_by_the_far_end_do_not_make_an_order(void **state)
{
	enum { MANY = 32, BACK = 8 };
	struct iw_xsk_cfg cfg = { .interface = "two", .mtu = 1500 };
	const uint8_t ether[14] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00 };
	uint8_t whole[IW_XDP_LIVE_ORDER + SCTP_AT + LEN];
	struct iw_xdp_counters before, after;
	uint64_t end = iw_os_now() + TIME;
	struct iw_addr src, dst;
	struct iw_xsk_facts facts;
	struct net n = { .in = { NULL } };
	int fd;

	(void)state;
	NEEDS_XDP();
	read_headroom("one");
	fd = packet_socket("one");
	must(iw_xsk_open(&n.out[0], &cfg, &refused));
	assert_int_equal(iw_addr_parse(&src, "10.0.0.2", 0), 0);
	assert_int_equal(iw_addr_parse(&dst, "10.0.0.1", 0), 0);
	assert_int_equal(iw_frame_head(n.head, ether, &src, &dst, NULL, LEN), SCTP_AT);
	for (uint32_t k = 0; k < MANY; k++)
		put_one(&n, 0, 1, k);
	assert_int_equal(iw_xsk_flush(n.out[0], &refused), 0);
	iw_xsk_facts(n.out[0], &facts);
	if (facts.live == 0) {
		print_message("# needs xdp: a kernel that reports what drivers send\n");
		skip();
	}
	take_whole(fd, whole);
	assert_int_equal(iw_steer_counters(iw_xsk_steer(n.out[0]), &before), 0);
	for (unsigned i = 0; i < BACK; i++)
		assert_int_equal(send(fd, whole, sizeof(whole), 0), sizeof(whole));
	do {
		assert_int_equal(iw_steer_counters(iw_xsk_steer(n.out[0]), &after), 0);
		assert_true(iw_os_now() < end);
	} while (after.passed[IW_XDP_PASS_ETHER] - before.passed[IW_XDP_PASS_ETHER] < BACK);
	iw_xsk_close(n.out[0]);
	close(fd);
}

/* In another network namespace, the same interface index names another interface. */
static void a_burst_from_another_network_namespace_is_not_sent(void **state)
{
	enum { MANY = 64 };
	struct iw_xsk_facts facts;
	struct net n;

	(void)state;
	NEEDS_XDP();
	open_net(&n);
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	for (uint32_t k = 0; k < MANY; k++)
		put_one(&n, 0, 1, k);
	assert_int_equal(iw_xsk_flush(n.out[0], &refused), 0);
	iw_xsk_facts(n.out[0], &facts);
	assert_int_equal(facts.live, 0);
	assert_int_equal(take(n.in[0], 1, MANY), MANY);
	close_net(&n);
}

/* The packets of a burst may have different lengths, from an ACK's to the MTU's. */
static void a_burst_may_have_packets_of_any_length(void **state)
{
	enum { MANY = 100 };
	struct iw_xsk_rx rx[IW_XSK_BATCH];
	uint64_t end = iw_os_now() + TIME;
	uint8_t head[MANY][IW_FRAME_HEAD_MAX];
	struct iw_addr src, dst;
	struct net n;
	uint8_t has[MANY] = { 0 };
	uint32_t number = 0;

	(void)state;
	NEEDS_XDP();
	open_net(&n);
	assert_int_equal(iw_addr_parse(&src, "10.0.0.2", 0), 0);
	assert_int_equal(iw_addr_parse(&dst, "10.0.0.1", 0), 0);
	for (uint32_t k = 0; k < MANY; k++) {
		size_t cap, len = 28 + k * 7919 % (1480 - 28 + 1);
		uint8_t *room = iw_xsk_room(n.out[0], &cap);

		assert_non_null(room);
		assert_true(cap >= 1480);
		for (size_t i = 0; i < len; i++)
			room[i] = (uint8_t)(i + k);
		iw_put_be16(room + 2, PORT);
		iw_put_be32(room + 4, 1);
		iw_put_be32(room + 12, k);
		assert_int_equal(iw_frame_head(head[k], n.head, &src, &dst, NULL, len), SCTP_AT);
		iw_xsk_put(n.out[0], head[k], SCTP_AT, len, NULL, 0);
	}
	assert_int_equal(iw_xsk_flush(n.out[0], &refused), 0);
	while (number < MANY) {
		unsigned got = iw_xsk_recv(n.in[0], rx, IW_XSK_BATCH);

		for (unsigned g = 0; g < got; g++, number++) {
			uint32_t k = iw_get_be32(rx[g].data + SCTP_AT + 12);
			size_t len;

			assert_true(k < MANY);
			assert_int_equal(has[k]++, 0);
			len = 28 + k * 7919 % (1480 - 28 + 1);
			assert_int_equal(rx[g].len, SCTP_AT + len);
			assert_memory_equal(rx[g].data, head[k], SCTP_AT);
			for (size_t i = 16; i < len; i++)
				assert_int_equal(rx[g].data[SCTP_AT + i], (uint8_t)(i + k));
		}
		assert_true(got > 0 || iw_os_now() < end);
	}
	close_net(&n);
}

/* Octets in application memory arrive, also across the ends of frames, and are nowhere else in the
 * UMEM: the packet's own frame has the headers only. */
static void octets_in_the_umem_are_sent_from_there(void **state)
{
	enum { MEMORY = 3 * 2048, AT = 1500, REST = 1000, HEAD = 32 };
	struct iw_xsk_cfg cfg = { .interface = "two", .mtu = 1500 };
	struct iw_xdp_memory *m;
	struct iw_xsk_rx rx = { 0 };
	struct iw_xsk_facts facts;
	uint64_t end = iw_os_now() + TIME;
	uint8_t *memory, *room, head[IW_FRAME_HEAD_MAX];
	struct iw_addr src, dst;
	struct iw_frame f;
	struct net n;
	size_t cap;

	(void)state;
	NEEDS_XDP();
	must(iw_xsk_memory_new(&m, &cfg, MEMORY, &refused));
	memory = iw_xsk_memory_at(m);
	for (size_t i = 0; i < MEMORY; i++)
		memory[i] = (uint8_t)(i * 7 + i / 256);
	open_net(&n);
	iw_xsk_facts(n.out[0], &facts);
	if (!facts.multi_buffer) {
		close_net(&n);
		iw_xsk_memory_free(m);
		print_message("# needs xdp: frames of several buffers\n");
		skip();
	}
	assert_true(iw_xsk_owns(n.out[0], memory + AT, REST));
	assert_false(iw_xsk_owns(n.out[0], memory + AT, MEMORY));
	assert_false(iw_xsk_owns(n.out[0], memory - 1, 1));
	assert_false(iw_xsk_owns(n.out[0], head, 1));
	assert_int_equal(iw_addr_parse(&src, "10.0.0.2", 0), 0);
	assert_int_equal(iw_addr_parse(&dst, "10.0.0.1", 0), 0);
	assert_int_equal(iw_frame_head(head, n.head, &src, &dst, NULL, HEAD + REST), SCTP_AT);
	room = iw_xsk_room(n.out[0], &cap);
	assert_non_null(room);
	memset(room, 0, cap);
	iw_put_be16(room + 2, PORT);
	iw_put_be32(room + 4, 1);
	iw_xsk_put(n.out[0], head, SCTP_AT, HEAD, memory + AT, REST);
	assert_int_equal(iw_xsk_flush(n.out[0], &refused), 0);
	while (iw_xsk_recv(n.in[0], &rx, 1) == 0)
		assert_true(iw_os_now() < end);
	assert_true(iw_frame_parse(&f, rx.data, rx.len));
	assert_int_equal(f.len, HEAD + REST);
	assert_memory_equal(rx.data + f.at + HEAD, memory + AT, REST);
	must(iw_xsk_settle(n.out[0], &refused));
	for (size_t i = HEAD; i < cap; i++)
		assert_int_equal(room[i], 0);
	assert_int_equal(iw_xsk_in_place(n.out[0]), REST);
	/* Workers that send from the memory keep it. */
	iw_xsk_memory_free(m);
	memory[0]++;
	close_net(&n);
}

/* Sends len octets of application memory after a head, as far as the interface is up. */
static void send_from(struct net *n, const uint8_t *memory, size_t len)
{
	uint8_t *room, head[IW_FRAME_HEAD_MAX];
	struct iw_addr src, dst;
	size_t cap;

	assert_int_equal(iw_addr_parse(&src, "10.0.0.2", 0), 0);
	assert_int_equal(iw_addr_parse(&dst, "10.0.0.1", 0), 0);
	assert_int_equal(iw_frame_head(head, n->head, &src, &dst, NULL, LEN + len), SCTP_AT);
	room = iw_xsk_room(n->out[0], &cap);
	assert_non_null(room);
	memset(room, 0, LEN);
	iw_put_be16(room + 2, PORT);
	iw_put_be32(room + 4, 1);
	iw_xsk_put(n->out[0], head, SCTP_AT, LEN, memory, len);
	assert_int_equal(iw_xsk_flush(n->out[0], &refused), 0);
}

/* Packets queued while the interface is down are never sent. Packets queued after it is up again
 * are sent, however often and quickly the state changes. */
static void an_interface_that_is_down_keeps_no_memory(void **state)
{
	enum { MEMORY = 8192, PACKETS = 40 };
	struct iw_xsk_cfg cfg = { .interface = "two", .mtu = 1500 };
	struct iw_xdp_memory *m;
	struct iw_xsk_facts facts;
	uint8_t *memory;
	struct net n;

	(void)state;
	NEEDS_XDP();
	must(iw_xsk_memory_new(&m, &cfg, MEMORY, &refused));
	memory = iw_xsk_memory_at(m);
	open_net(&n);
	iw_xsk_facts(n.out[0], &facts);
	if (!facts.multi_buffer) {
		print_message("# needs xdp: frames of several buffers\n");
		skip();
	}
	for (uint32_t round = 0; round < 5; round++) {
		uint64_t begun;

		send_one(&n, 0, 1, 0);
		assert_int_equal(take(n.in[0], 1, 1), 1);
		assert_int_equal(IP("link", "set", "two", "down"), 0);
		for (int i = 0; i < PACKETS; i++)
			send_from(&n, memory + 100 * i, 1000);
		begun = iw_os_now();
		must(iw_xsk_settle(n.out[0], &refused));
		assert_true(iw_os_now() - begun < IW_MSEC(900));
		assert_int_equal(IP("link", "set", "two", "up"), 0);
		/* The link takes a while to come up; then a packet is sent at once, alone. */
		begun = iw_os_now();
		do {
			assert_true(iw_os_now() - begun < TIME);
			send_one(&n, 1, 2, round);
			usleep(1000);
		} while (take(n.in[1], 2, 0) == 0);
		send_one(&n, 0, 1, round);
		assert_int_equal(take(n.in[0], 1, 1), 1);
	}
	iw_xsk_memory_free(m);
	close_net(&n);
}

/* The error says whether the memory or the interface is in use, and the remedy. */
static void umem_memory_is_allocated_once_and_before_the_interface_opens(void **state)
{
	struct iw_xsk_cfg cfg = { .interface = "two", .mtu = 1500 };
	struct iw_xdp_memory *m, *again;
	struct net n;

	(void)state;
	NEEDS_XDP();
	must(iw_xsk_memory_new(&m, &cfg, 3000, &refused));
	assert_int_equal(iw_xsk_memory_new(&again, &cfg, 4000, &refused), IW_E_BUSY);
	assert_non_null(strstr(refused.text, "has 3000 octets of memory"));
	assert_non_null(strstr(refused.text, "allocate 7000 at once"));
	iw_xsk_memory_free(m);
	must(iw_xsk_memory_new(&m, &cfg, 7000, &refused));
	iw_xsk_memory_free(m);
	open_net(&n);
	assert_int_equal(iw_xsk_memory_new(&m, &cfg, 7000, &refused), IW_E_BUSY);
	assert_non_null(strstr(refused.text, "before its first connection"));
	close_net(&n);
	must(iw_xsk_memory_new(&m, &cfg, 7000, &refused));
	iw_xsk_memory_free(m);
}

/* The octets that a loan must contain until it is returned. */
struct lent {
	struct iw_lender *from;
	const uint8_t *data;
	uint32_t number;
};

static void must_hold(const struct lent *l)
{
	assert_int_equal(iw_get_be32(l->data), l->number);
}

static void give_back(const struct lent *l)
{
	must_hold(l);
	l->from->take_back(l->from, l->data);
}

/* Sends packets number .. number + count - 1 to worker w, one by one, and receives them. Lends the
 * lendable ones, up to cap of them, into out. Returns how many. */
static uint32_t lend(struct net *n, uint32_t w, uint32_t number, uint32_t count, struct lent *out,
		     uint32_t cap)
{
	uint64_t end = iw_os_now() + TIME;
	struct iw_xsk_rx rx;
	uint32_t lent = 0;

	for (uint32_t i = number; i < number + count; i++) {
		send_one(n, (int)(i % WORKERS), w + 1, i);
		while (iw_xsk_recv(n->in[w], &rx, 1) == 0)
			assert_true(iw_os_now() < end);
		assert_int_equal(iw_get_be32(rx.data + SCTP_AT + 12), i);
		if (lent == cap || !rx.lendable)
			continue;
		out[lent] = (struct lent){ .data = rx.data + SCTP_AT + 12, .number = i };
		out[lent].from = iw_xsk_lend(n->in[w], out[lent].data);
		lent++;
	}
	return lent;
}

/* Application memory holds the interface while there is no worker. */
static void an_interface_that_is_held_takes_workers_again(void **state)
{
	struct iw_xsk_cfg cfg = { .interface = "one", .mtu = 1500 };
	struct iw_xdp_memory *m;
	struct lent l;
	struct net n;

	(void)state;
	NEEDS_XDP();
	must(iw_xsk_memory_new(&m, &cfg, 1, &refused));
	for (int i = 0; i < 2; i++) {
		open_net(&n);
		assert_int_equal(lend(&n, 0, 0, 10, &l, 0), 0);
		close_net(&n);
	}
	iw_xsk_memory_free(m);
}

/* Meanwhile the worker receives so much that all of its frames are used. Returned frames are
 * reused. */
static void lent_frame_is_not_reused_until_it_is_returned(void **state)
{
	struct iw_xsk_facts f;
	struct lent l[5];
	struct net n;

	(void)state;
	NEEDS_XDP();
	open_net(&n);
	iw_xsk_facts(n.in[0], &f);
	assert_int_equal(lend(&n, 0, 0, 4, l, 4), 4);
	/* Lent twice: the frame is free again after two returns. */
	l[4] = l[3];
	assert_ptr_equal(iw_xsk_lend(n.in[0], l[4].data), l[3].from);
	/* The loan is returned before its batch has ended. */
	give_back(&l[4]);
	assert_int_equal(lend(&n, 0, 4, WORKERS * 2 * f.ring_rx, NULL, 0), 0);
	for (int i = 0; i < 4; i++)
		give_back(&l[i]);
	assert_int_equal(lend(&n, 0, 7, WORKERS * 2 * f.ring_rx, NULL, 0), 0);
	close_net(&n);
}

/* At most a quarter of a ring; the other frames continue to receive packets. */
static void worker_with_too_many_loans_gets_no_more_and_others_continue(void **state)
{
	static struct lent l[1024];
	struct iw_xsk_facts f;
	uint32_t most;
	struct net n;

	(void)state;
	NEEDS_XDP();
	open_net(&n);
	iw_xsk_facts(n.in[0], &f);
	most = f.ring_rx / 4;
	assert_true(most < IW_ARRAY_LEN(l));
	assert_int_equal(lend(&n, 0, 0, most + 10, l, IW_ARRAY_LEN(l)), most);
	assert_int_equal(lend(&n, 0, 5000, WORKERS * 2 * f.ring_rx, l, IW_ARRAY_LEN(l)), 0);
	/* Each returned frame can be lent again, also the one returned before its batch ended. */
	give_back(&l[0]);
	assert_int_equal(lend(&n, 0, 9000, 2, l, 2), 1);
	for (uint32_t i = 0; i < most; i++)
		give_back(&l[i]);
	close_net(&n);
}

/* The loan stays readable. When it is returned, its frame is free for all workers. */
static void loans_outlive_their_worker(void **state)
{
	struct iw_xsk_cfg cfg = { .interface = "one", .mtu = 1500 };
	struct iw_xsk_facts f;
	struct lent l[3];
	struct net n;

	(void)state;
	NEEDS_XDP();
	open_net(&n);
	iw_xsk_facts(n.in[0], &f);
	assert_int_equal(lend(&n, 1, 0, 3, l, 3), 3);
	iw_xsk_close(n.in[1]);
	assert_int_equal(lend(&n, 0, 3, WORKERS * 2 * f.ring_rx, NULL, 0), 0);
	give_back(&l[0]);
	/* The last worker. */
	iw_xsk_close(n.in[0]);
	give_back(&l[1]);
	must_hold(&l[2]);
	/* A new worker, while only loans hold the interface. */
	must(iw_xsk_open(&n.in[0], &cfg, &refused));
	must(iw_xsk_open(&n.in[1], &cfg, &refused));
	give_back(&l[2]);
	close_net(&n);
}

/* The worker that takes its place has a whole share; debug builds count the frames of both when the
 * interface is closed. */
static void a_worker_that_replaces_one_with_loans_gets_a_whole_share(void **state)
{
	struct iw_xsk_cfg cfg = { .interface = "one", .mtu = 1500 };
	struct lent l[3];
	struct net n;

	(void)state;
	NEEDS_XDP();
	open_net(&n);
	assert_int_equal(lend(&n, 1, 0, 3, l, 3), 3);
	iw_xsk_close(n.in[1]);
	must(iw_xsk_open(&n.in[1], &cfg, &refused));
	for (int i = 0; i < 3; i++)
		give_back(&l[i]);
	close_net(&n);
}

/* Sends `many` packets to worker 0 and waits until they are pending. */
static void gather(struct net *n, unsigned many)
{
	uint64_t end = iw_os_now() + TIME;

	for (uint32_t k = iw_xsk_waiting(n->in[0]); k < many; k++)
		send_one(n, 0, 1, k);
	while (iw_xsk_waiting(n->in[0]) < many)
		assert_true(iw_os_now() < end);
}

/* The test passes the times as arguments, and does not wait. */
static void packets_close_together_are_read_in_batches(void **state)
{
	enum { MANY = 64 };
	struct iw_xsk_rx rx[IW_XSK_BATCH];
	uint64_t t = IW_SEC(1);
	struct iw_xsk *x;
	struct net n;

	(void)state;
	NEEDS_XDP();
	open_net(&n);
	x = n.in[0];
	/* Long after the last batch, the worker receives at once. */
	assert_false(iw_xsk_ripe(x, t));
	gather(&n, 1);
	assert_true(iw_xsk_ripe(x, t + IW_MSEC(1)));
	assert_int_equal(iw_xsk_recv(x, rx, IW_XSK_BATCH), 1);
	/* Shortly after a batch, it receives after a pause, */
	assert_false(iw_xsk_ripe(x, t + IW_MSEC(2)));
	gather(&n, 1);
	assert_false(iw_xsk_ripe(x, t + IW_MSEC(2) + 1000));
	assert_false(iw_xsk_ripe(x, t + IW_MSEC(2) + 3000));
	gather(&n, 2);
	assert_false(iw_xsk_ripe(x, t + IW_MSEC(2) + 6000));
	assert_true(iw_xsk_ripe(x, t + IW_MSEC(3)));
	assert_int_equal(iw_xsk_recv(x, rx, IW_XSK_BATCH), 2);
	/* or as soon as enough packets are pending. */
	assert_false(iw_xsk_ripe(x, t + IW_MSEC(4)));
	gather(&n, MANY);
	assert_true(iw_xsk_ripe(x, t + IW_MSEC(4) + 1000));
	assert_int_equal(iw_xsk_recv(x, rx, IW_XSK_BATCH), MANY);
	assert_false(iw_xsk_ripe(x, t + IW_MSEC(5)));
	close_net(&n);
}

#define IN_NET(test) cmocka_unit_test_setup(test, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_NET(each_worker_gets_its_own_packets_from_either_queue),
		IN_NET(a_worker_that_does_not_read_takes_no_frames_from_others),
		IN_NET(a_worker_that_closes_does_not_affect_others),
		IN_NET(bursts_are_sent_by_the_program_whole_and_once),
		IN_NET(a_transmit_order_from_the_wire_is_ignored),
		IN_NET(octets_read_by_the_far_end_do_not_make_an_order),
		IN_NET(a_burst_from_another_network_namespace_is_not_sent),
		IN_NET(a_burst_may_have_packets_of_any_length),
		IN_NET(octets_in_the_umem_are_sent_from_there),
		IN_NET(an_interface_that_is_down_keeps_no_memory),
		IN_NET(umem_memory_is_allocated_once_and_before_the_interface_opens),
		IN_NET(packets_close_together_are_read_in_batches),
		IN_NET(an_interface_that_is_held_takes_workers_again),
		IN_NET(lent_frame_is_not_reused_until_it_is_returned),
		IN_NET(worker_with_too_many_loans_gets_no_more_and_others_continue),
		IN_NET(loans_outlive_their_worker),
		IN_NET(a_worker_that_replaces_one_with_loans_gets_a_whole_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
