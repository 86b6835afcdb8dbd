// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Processes without DDP: they send and receive frames over AF_XDP, or octets over the kernel's TCP.
 * They do not read the received data, unless bench.reads is set.
 */
#include "ddp-bench/xdp_run.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/os.h"
#include "pkt/xsk.h"
#include "util/num.h"
#include "util/text.h"
#include "wire/crc32c.h"

#define BATCH IW_XSK_BATCH /* packets per receive or send, as in the library */

/* --- bare AF_XDP ------------------------------------------------------------------------------ */

static int open_bare(struct bench *b, enum iw_lab_side side, struct iw_xsk **x)
{
	struct iw_xsk_cfg cfg = {
		.interface = b->lab.interface[side],
		.mtu = b->mtu,
		.frame_size = b->frame_size,
	};
	struct iw_fault why;
	struct iw_addr any = { 0 };
	uint32_t id;
	int err = iw_xsk_open(x, &cfg, &why);

	if (!err && side == IW_LAB_LEFT)
		err = iw_steer_endpoint_add(iw_xsk_steer(*x), &id, &any, PORT, 0, iw_xsk_worker(*x),
					    NULL, &why);
	return err ? iw_bench_xdp_run_fail(b, &why) : 0;
}

int iw_bench_xdp_bare_receiver(void *arg)
{
	struct bench *b = arg;
	struct shared *s = b->s;
	struct window w = { 0 };
	uint64_t seen = 0;
	uint32_t read = 0;
	unsigned got;
	struct iw_xsk_rx rx[BATCH];
	struct iw_xsk *x;
	struct pollfd p;
	const int *fd;
	uint64_t now, busy_at = 0;

	*b->counter.arrived = 0;
	if (open_bare(b, IW_LAB_LEFT, &x))
		return 1;
	(void)iw_xsk_fds(x, &fd);
	p = (struct pollfd){ .fd = fd[0], .events = POLLIN };
	atomic_store(&s->ready, 1);
	while (!atomic_load_explicit(&s->stop, memory_order_relaxed)) {
		/* As the library does when it polls its rings. */
		now = iw_os_now();
		if (!iw_xsk_ripe(x, now)) {
			if (now - busy_at > SPIN && iw_xsk_waiting(x) == 0)
				(void)poll(&p, 1, 10);
			continue;
		}
		busy_at = now;
		got = iw_xsk_recv(x, rx, BATCH);
		seen += got;
		*b->counter.arrived = seen;
		for (unsigned i = 0; i < got && b->reads; i++)
			read ^= iw_crc32c(0, rx[i].data, rx[i].len);
		atomic_store_explicit(&s->frames, seen, memory_order_release);
		atomic_store_explicit(&s->octets, seen * (b->frame - HEADER_LEN),
				      memory_order_release);
		(void)iw_bench_xdp_run_window(b, &w);
	}
	iw_xsk_close(x);
	atomic_store(&s->read, read);
	return 0;
}

/*
 * Sends frames that are all equal, with the addresses of the endpoints. Only the headers are
 * written; the payload is whatever the UMEM holds.
 */
int iw_bench_xdp_bare_sender(void *arg)
{
	struct bench *b = arg;
	uint8_t head[HEADER_LEN] = { 0 };
	struct iw_xsk_tx tx[BATCH];
	struct iw_fault why;
	struct iw_xsk *x;
	uint32_t sum = 0;
	int err = 0;

	if (open_bare(b, IW_LAB_RIGHT, &x))
		return 1;
	memcpy(head, b->lab.mac[IW_LAB_LEFT], 6);
	memcpy(head + 6, b->lab.mac[IW_LAB_RIGHT], 6);
	head[12] = 8;
	head[14] = 0x45;
	iw_put_be16(head + 16, (uint16_t)(b->frame - 14));
	head[20] = 0x40;
	head[22] = 64;
	head[23] = 132;
	(void)inet_pton(AF_INET, iw_lab_address[IW_LAB_RIGHT], head + 26);
	(void)inet_pton(AF_INET, iw_lab_address[IW_LAB_LEFT], head + 30);
	for (int i = 14; i < 34; i += 2)
		sum += iw_get_be16(head + i);
	sum = (sum & 0xffff) + (sum >> 16);
	iw_put_be16(head + 24, (uint16_t) ~(sum + (sum >> 16)));
	iw_put_be16(head + SCTP_AT + 2, PORT);
	for (int i = 0; i < BATCH; i++)
		tx[i] = (struct iw_xsk_tx){ .head = head,
					    .head_len = HEADER_LEN,
					    .len = b->frame - HEADER_LEN };
	while (b->s->ns == 0 && b->s->why.err == 0 && err != IW_E_OS) {
		err = iw_xsk_send(x, tx, BATCH, &why);
	}
	iw_xsk_close(x);
	return err == IW_E_OS ? iw_bench_xdp_run_fail(b, &why) : 0;
}

/* --- the kernel's TCP ------------------------------------------------------------------------- */

/* Octets of one call, as many as iperf3 moves. The memory has the size that the DDP runs use. */
#define PIECE ((size_t)128 << 10)

static int socket_fail(struct bench *b, int fd, void *memory, const char *step)
{
	struct iw_fault why;

	(void)iw_os_fail(&why, errno, "TCP: %s", step);
	if (fd >= 0)
		close(fd);
	free(memory);
	return iw_bench_xdp_run_fail(b, &why);
}

static struct sockaddr_in left_address(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	(void)inet_pton(AF_INET, iw_lab_address[IW_LAB_LEFT], &a.sin_addr);
	return a;
}

int iw_bench_xdp_socket_receiver(void *arg)
{
	struct bench *b = arg;
	struct sockaddr_in a = left_address();
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd;
	uint8_t *memory = calloc(1, MEMORY);
	struct window w = { 0 };
	size_t at = 0;
	ssize_t n;

	if (!memory || listener < 0 || bind(listener, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    listen(listener, 1) < 0)
		return socket_fail(b, listener, memory, "listen");
	atomic_store(&b->s->ready, 1);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	close(listener);
	if (fd < 0)
		return socket_fail(b, fd, memory, "accept");
	while ((n = recv(fd, memory + at, PIECE, 0)) > 0) {
		at = (at + (size_t)n) % (MEMORY - PIECE);
		atomic_fetch_add(&b->s->octets, (uint64_t)n);
		(void)iw_bench_xdp_run_window(b, &w);
	}
	/* After the window an error is expected: the sender closes with octets in flight. */
	if (n < 0 && b->s->ns == 0)
		return socket_fail(b, fd, memory, "receive");
	close(fd);
	free(memory);
	return 0;
}

int iw_bench_xdp_socket_sender(void *arg)
{
	struct bench *b = arg;
	struct sockaddr_in a = left_address();
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint8_t *memory = calloc(1, MEMORY);
	size_t at = 0;
	ssize_t n = 0;

	if (!memory || fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		return socket_fail(b, fd, memory, "connect");
	while (b->s->ns == 0 && b->s->why.err == 0 && n >= 0) {
		n = send(fd, memory + at, PIECE, MSG_NOSIGNAL);
		at = (at + PIECE) % MEMORY;
	}
	if (n < 0 && b->s->ns == 0)
		return socket_fail(b, fd, memory, "send");
	close(fd);
	free(memory);
	return 0;
}
