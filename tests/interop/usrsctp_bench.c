// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The throughput of usrsctp, as the peer of two figures of scripts/bench, which compiles this file
 * if libusrsctp-dev is installed. Over UDP in the fastest configuration: one thread, no sockets of
 * its own (AF_CONN), its packets in the datagrams of one UDP socket of this program, read in
 * batches. With port 0 directly on IP, with the stack's threads and raw sockets, as only the stack
 * itself can do it. The tsctp of its examples prints every packet.
 *
 *   usrsctp_bench listen ADDR PORT             serves one association; prints its octets per second at its end
 *   usrsctp_bench send ADDR PORT SECONDS       sends messages for that time, after a warm-up of a second
 */
#define _GNU_SOURCE
#define INET
#define INET6
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <usrsctp.h>

#define MSG_LEN    65536
#define BUFFERS    (4 * 1024 * 1024)
#define MTU        1472 /* an SCTP packet that fills 1500 octets with the IP and UDP headers */
#define BATCH      32
#define PACKET_LEN 2048
#define SCTP_PORT  5001
#define WARM_UP_NS 1000000000ull

static int fd = -1; /* -1: on raw IP */
static struct sockaddr_in udp;
static char message[MSG_LEN];

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void fail(const char *what)
{
	fprintf(stderr, "usrsctp_bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Sends a packet of the stack. If the socket is full, the packet is lost, as on a network. */
static int put_packet(void *addr, void *buf, size_t len, uint8_t tos, uint8_t df)
{
	(void)addr;
	(void)tos;
	(void)df;
	return send(fd, buf, len, 0) < 0 ? errno : 0;
}

/* Passes packets to the stack: all that have arrived, after waiting at most @wait_ms for the
 * first. */
static void get_packets(int wait_ms)
{
	static char buf[BATCH][PACKET_LEN];
	struct mmsghdr m[BATCH] = { 0 };
	struct iovec iov[BATCH];
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n;

	if (fd < 0)
		return;
	if (wait_ms > 0)
		(void)poll(&p, 1, wait_ms);
	for (int i = 0; i < BATCH; i++) {
		iov[i] = (struct iovec){ buf[i], PACKET_LEN };
		m[i].msg_hdr.msg_iov = &iov[i];
		m[i].msg_hdr.msg_iovlen = 1;
	}
	n = recvmmsg(fd, m, BATCH, MSG_DONTWAIT, NULL);
	for (int i = 0; i < n; i++)
		usrsctp_conninput(&fd, buf[i], m[i].msg_len, 0);
}

static void run_timers(void)
{
	static uint64_t last;
	uint64_t ms = now_ns() / 1000000;

	if (fd >= 0 && last && ms > last)
		usrsctp_handle_timers((uint32_t)(ms - last));
	last = ms;
}

static void open_udp(const char *addr, int port, bool listen)
{
	const int len = BUFFERS;

	udp = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	if (inet_pton(AF_INET, addr, &udp.sin_addr) != 1)
		fail(addr);
	if (port == 0)
		return;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || (listen ? bind(fd, (struct sockaddr *)&udp, sizeof(udp))
			      : connect(fd, (struct sockaddr *)&udp, sizeof(udp))) < 0)
		fail("UDP socket");
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &len, sizeof(len)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &len, sizeof(len));
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &len, sizeof(len)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &len, sizeof(len));
}

/* The listener answers the peer that sends first. */
static void await_first(void)
{
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	char c;

	if (recvfrom(fd, &c, 1, MSG_PEEK, (struct sockaddr *)&from, &len) < 0 ||
	    connect(fd, (struct sockaddr *)&from, len) < 0)
		fail("first packet");
}

/* The address of both ends. There is only one path, the UDP socket; on raw IP, it is the listener's
 * address. */
static socklen_t address(struct sockaddr_storage *out, bool any)
{
	struct sockaddr_conn c = {
		.sconn_family = AF_CONN,
		.sconn_port = htons(SCTP_PORT),
		.sconn_addr = &fd,
	};
	struct sockaddr_in in = udp;

	memset(out, 0, sizeof(*out));
	if (fd >= 0) {
		memcpy(out, &c, sizeof(c));
		return sizeof(c);
	}
	in.sin_port = any ? 0 : htons(SCTP_PORT);
	if (any)
		in.sin_addr.s_addr = INADDR_ANY;
	memcpy(out, &in, sizeof(in));
	return sizeof(in);
}

/* Larger buffers than its default would overflow those of its raw sockets. */
static void set_buffers(struct socket *s)
{
	const int len = BUFFERS;

	if (fd >= 0 && (usrsctp_set_non_blocking(s, 1) < 0 ||
			usrsctp_setsockopt(s, SOL_SOCKET, SO_SNDBUF, &len, sizeof(len)) < 0 ||
			usrsctp_setsockopt(s, SOL_SOCKET, SO_RCVBUF, &len, sizeof(len)) < 0))
		fail("buffers");
}

static struct socket *open_sctp(bool listen)
{
	struct sockaddr_storage here;
	struct socket *s;
	const int on = 1;

	if (fd >= 0)
		usrsctp_init_nothreads(0, put_packet, NULL);
	else
		usrsctp_init(0, NULL, NULL);
	usrsctp_sysctl_set_sctp_no_csum_on_loopback(0);
	usrsctp_register_address(&fd);
	s = usrsctp_socket(fd >= 0 ? AF_CONN : AF_INET, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0,
			   NULL);
	if (!s)
		fail("SCTP socket");
	set_buffers(s);
	if (usrsctp_setsockopt(s, IPPROTO_SCTP, SCTP_NODELAY, &on, sizeof(on)) < 0 ||
	    usrsctp_bind(s, (struct sockaddr *)&here, address(&here, !listen)) < 0)
		fail("SCTP socket");
	return s;
}

/* AF_CONN has no path MTU discovery. */
static void set_mtu(struct socket *s)
{
	struct sctp_paddrparams p = { .spp_flags = SPP_PMTUD_DISABLE, .spp_pathmtu = MTU };

	(void)address(&p.spp_address, false);
	if (fd >= 0 &&
	    usrsctp_setsockopt(s, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, &p, sizeof(p)) < 0)
		fail("path MTU");
}

static ssize_t take(struct socket *s)
{
	struct sctp_rcvinfo info;
	socklen_t info_len = sizeof(info), from_len = 0;
	unsigned type = 0;
	int flags = 0;

	return usrsctp_recvv(s, message, sizeof(message), NULL, &from_len, &info, &info_len, &type,
			     &flags);
}

static void serve(void)
{
	struct socket *l = open_sctp(true), *s = NULL;
	uint64_t first = 0, begun = 0, last = 0, octets = 0;
	bool over = false;

	if (usrsctp_listen(l, 1) < 0)
		fail("listen");
	if (fd >= 0)
		await_first();
	while (!over) {
		get_packets(10);
		run_timers();
		if (!s)
			s = usrsctp_accept(l, NULL, NULL);
		while (s) {
			ssize_t n = take(s);

			if (n <= 0) {
				over = n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
				break;
			}
			last = now_ns();
			first = first ? first : last;
			if (last - first < WARM_UP_NS)
				continue;
			begun = begun ? begun : last;
			octets += (uint64_t)n;
		}
	}
	printf("%.0f\n", last > begun ? (double)octets * 1e9 / (double)(last - begun) : 0.0);
	/* Send the last packets of the stack. */
	for (int i = 0; i < 20; i++) {
		get_packets(10);
		run_timers();
	}
}

static void move(double seconds)
{
	struct sctp_sendv_spa spa = {
		.sendv_flags = SCTP_SEND_SNDINFO_VALID,
		.sendv_sndinfo.snd_flags = SCTP_UNORDERED,
	};
	struct sockaddr_storage there;
	struct socket *s = open_sctp(false);
	uint64_t end = now_ns() + WARM_UP_NS + (uint64_t)(seconds * 1e9);

	if (usrsctp_connect(s, (struct sockaddr *)&there, address(&there, false)) < 0 &&
	    errno != EINPROGRESS)
		fail("connect");
	while (!(usrsctp_get_events(s) & SCTP_EVENT_WRITE) && now_ns() < end) {
		get_packets(10);
		run_timers();
	}
	set_mtu(s);
	while (now_ns() < end) {
		bool full = false;

		for (int i = 0; i < 4 && !full; i++)
			full = usrsctp_sendv(s, message, MSG_LEN, NULL, 0, &spa, sizeof(spa),
					     SCTP_SENDV_SPA, 0) < 0;
		get_packets(full ? 1 : 0);
		run_timers();
	}
	usrsctp_close(s);
	for (end = now_ns() + WARM_UP_NS; now_ns() < end;) {
		get_packets(10);
		run_timers();
	}
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "listen") == 0) {
		open_udp(argv[2], (int)strtol(argv[3], NULL, 10), true);
		serve();
	} else if (argc == 5 && strcmp(argv[1], "send") == 0) {
		open_udp(argv[2], (int)strtol(argv[3], NULL, 10), false);
		move(strtod(argv[4], NULL));
	} else {
		fprintf(stderr, "usage: usrsctp_bench listen ADDR PORT | send ADDR PORT SECONDS\n");
		return 2;
	}
	return 0;
}
