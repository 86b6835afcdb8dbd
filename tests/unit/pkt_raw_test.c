// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Raw IP sockets on the loopback of a network namespace: which packets a carrier receives. */
#include "pkt/pkt.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "util/num.h"
#include "wire/sctp.h"

enum { OURS = 5000, OTHERS = 6000, ROUNDS = 400, PROTO_SCTP = 132 };

static bool lo_up(void)
{
	struct ifreq r = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	bool ok = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &r) == 0;

	close(fd);
	return ok;
}

/* Sends SCTP headers for another port without a pause. */
static void flood(void)
{
	uint8_t packet[IW_SCTP_HDR_LEN + 4] = { 0 };
	struct iw_sctp_hdr h = { .sport = 1, .dport = OTHERS, .vtag = 7 };
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_RAW, PROTO_SCTP);

	(void)iw_wire_sctp_hdr_encode(packet, sizeof(packet), &h);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		(void)!sendto(fd, packet, sizeof(packet), 0, (struct sockaddr *)&to, sizeof(to));
}

/*
 * A packet that arrived before the filter was attached would be answered with ABORT, which would
 * end another process's association.
 */
static void packet_for_another_port_is_never_received(void **state)
{
	struct iw_pkt_cfg cfg = { .sctp_port = OURS };
	unsigned received = 0;
	pid_t child;

	(void)state;
	cfg.bind.in.sin_family = AF_INET;
	cfg.bind.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cfg.bind.len = sizeof(cfg.bind.in);
	if (unshare(CLONE_NEWNET) < 0 || !lo_up()) {
		print_message("# needs root: no network namespace can be made\n");
		skip();
	}
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		flood();
	for (int i = 0; i < ROUNDS; i++) {
		struct iw_pkt_rx rx[IW_PKT_BATCH];
		struct iw_fault why = { 0 };
		struct iw_pkt *c;

		if (iw_pkt_raw_ops.open(&c, &cfg, &why) != 0)
			fail_msg("%s", why.text);
		received += (unsigned)IW_MAX(c->ops->recv(c, rx, &why), 0);
		c->ops->close(c);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(received, 0);
}

/* Counts the ICMP messages that @fd has received. */
static unsigned icmp_received(int fd)
{
	uint8_t packet[2048];
	unsigned n = 0;

	while (recv(fd, packet, sizeof(packet), MSG_DONTWAIT) > 0)
		n++;
	return n;
}

/* The sender would have to treat such a message as an ABORT (RFC 9260 section 10, ICMP8). */
static void full_buffer_causes_no_icmp(void **state)
{
	enum { PACKETS = 400, LEN = 1400 };
	struct iw_pkt_cfg cfg = { .sctp_port = OURS, .rcvbuf = 8192 };
	struct iw_sctp_hdr h = { .sport = 1, .dport = OURS, .vtag = 7 };
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	uint8_t packet[LEN] = { 0 };
	struct iw_pkt_rx rx[IW_PKT_BATCH];
	struct iw_fault why = { 0 };
	struct iw_pkt *c;
	unsigned icmp = 0, received = 0;
	int sender, listener, n;

	(void)state;
	cfg.bind.in.sin_family = AF_INET;
	cfg.bind.in.sin_addr = to.sin_addr;
	cfg.bind.len = sizeof(cfg.bind.in);
	if (unshare(CLONE_NEWNET) < 0 || !lo_up()) {
		print_message("# needs root: no network namespace can be made\n");
		skip();
	}
	if (iw_pkt_raw_ops.open(&c, &cfg, &why) != 0)
		fail_msg("%s", why.text);
	/* Bound to another address, so that it receives none of the packets itself. */
	sender = socket(AF_INET, SOCK_RAW, PROTO_SCTP);
	listener = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	assert_int_equal(bind(sender, (struct sockaddr *)&to, sizeof(to)), 0);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_true(listener >= 0);
	(void)iw_wire_sctp_hdr_encode(packet, sizeof(packet), &h);
	for (int i = 0; i < PACKETS; i++) {
		assert_int_equal(sendto(sender, packet, LEN, 0, (struct sockaddr *)&to, sizeof(to)),
				 LEN);
		icmp += icmp_received(listener);
	}
	while ((n = c->ops->recv(c, rx, &why)) > 0)
		received += (unsigned)n;
	assert_in_range(received, 1, PACKETS - 1); /* the buffer was full */
	assert_int_equal(icmp, 0);
	c->ops->close(c);
	close(sender);
	close(listener);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packet_for_another_port_is_never_received),
		cmocka_unit_test(full_buffer_causes_no_icmp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
