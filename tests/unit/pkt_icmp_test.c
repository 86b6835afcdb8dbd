// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Forged ICMP messages on the loopback of a network namespace, and how a carrier handles them. */
#include "pkt/pkt.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "util/num.h"

enum { FAR_PORT = 40000 };

static bool lo_up(void)
{
	struct ifreq r = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	bool ok = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &r) == 0;

	close(fd);
	return ok;
}

static void set_lo_mtu(int mtu)
{
	struct ifreq r = { .ifr_name = "lo", .ifr_mtu = mtu };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	assert_int_equal(ioctl(fd, SIOCSIFMTU, &r), 0);
	close(fd);
}

static void new_network(void)
{
	if (unshare(CLONE_NEWNET) < 0 || !lo_up()) {
		print_message("# needs root: no network namespace can be made\n");
		skip();
	}
}

static struct sockaddr_in loopback(uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons(port),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static struct iw_pkt *open_on(const struct iw_pkt_ops *ops)
{
	struct iw_pkt_cfg cfg = { .sctp_port = 7471,
				  .bind.len = sizeof(struct sockaddr_in),
				  .peer.len = sizeof(struct sockaddr_in) };
	struct iw_fault why = { 0 };
	struct iw_pkt *c;

	cfg.bind.in = loopback(0);
	cfg.peer.in = loopback(FAR_PORT);
	if (ops->open(&c, &cfg, &why) != 0)
		fail_msg("%s", why.text);
	return c;
}

static struct iw_pkt *open_udp(void)
{
	return open_on(&iw_pkt_udp_ops);
}

static uint16_t sum_of(const uint8_t *p, size_t len)
{
	uint32_t sum = 0;

	for (size_t i = 0; i + 1 < len; i += 2)
		sum += (uint32_t)(p[i] << 8 | p[i + 1]);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Sends "fragmentation needed" about a packet that was never sent, from that UDP port. */
static void forge(uint16_t from)
{
	struct {
		struct icmphdr icmp;
		struct iphdr ip;
		struct udphdr udp;
		uint8_t sctp[12];
	} m = { .icmp = { .type = ICMP_DEST_UNREACH, .code = ICMP_FRAG_NEEDED } };
	struct sockaddr_in to = loopback(0);
	int fd = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);

	m.ip.version = 4;
	m.ip.ihl = 5;
	m.ip.tot_len = htons(1000);
	m.ip.ttl = 64;
	m.ip.protocol = IPPROTO_UDP;
	m.ip.saddr = m.ip.daddr = htonl(INADDR_LOOPBACK);
	m.ip.check = htons(sum_of((const uint8_t *)&m.ip, sizeof(m.ip)));
	m.udp.source = htons(from);
	m.udp.dest = htons(FAR_PORT);
	m.udp.len = htons(980);
	m.icmp.checksum = htons(sum_of((const uint8_t *)&m, sizeof(m)));
	assert_int_equal(sendto(fd, &m, sizeof(m), 0, (struct sockaddr *)&to, sizeof(to)),
			 sizeof(m));
	close(fd);
}

/*
 * RFC 9260 10: the kernel updates its route cache with the message, and reports it as an error of
 * the next send. Neither proves anything about packets of this carrier: the engine checks the
 * quoted packet.
 */
static void forged_message_changes_no_mtu_and_rejects_no_packet(void **state)
{
	static const uint8_t data[1000];
	struct iw_pkt_tx tx = { .data = data, .len = sizeof(data), .seg = sizeof(data) };
	struct iw_pkt *c, *later;
	struct iw_pkt_error e;
	uint32_t mtu = 0;

	(void)state;
	new_network();
	c = open_udp();
	tx.peer.in = loopback(FAR_PORT);
	tx.peer.len = sizeof(tx.peer.in);
	forge(c->udp_port);
	assert_int_equal(poll(&(struct pollfd){ .fd = c->fd }, 1, 5000), 1);
	assert_int_equal(c->ops->send(c, &tx, &mtu), 0);
	assert_int_equal(mtu, 0);
	assert_true(c->ops->next_error(c, &e));
	assert_int_equal(e.kind, IW_PKT_TOO_BIG);
	assert_false(e.local);
	later = open_udp();
	assert_int_equal(later->mtu, c->mtu);
	later->ops->close(later);
	c->ops->close(c);
}

static void check_rejected_packets(const struct iw_pkt_ops *ops)
{
	static const uint8_t data[2000];
	struct iw_pkt_tx tx = { .data = data, .len = sizeof(data), .seg = sizeof(data) };
	struct iw_pkt *c = open_on(ops);
	struct iw_pkt_error e;
	uint32_t mtu;

	tx.peer.in = loopback(FAR_PORT);
	tx.peer.len = sizeof(tx.peer.in);
	for (int now = 1000; now <= 1400; now += 200) {
		set_lo_mtu(now);
		mtu = 0;
		assert_int_equal(c->ops->send(c, &tx, &mtu), IW_E_LIMIT);
		assert_int_equal(mtu, now);
		assert_false(c->ops->next_error(c, &e));
	}
	c->ops->close(c);
}

/*
 * Each rejected packet leaves an error in the queue of the socket. An error that is read later
 * would lower the path MTU of another peer.
 */
static void rejected_packet_leaves_no_error_for_the_next_one(void **state)
{
	(void)state;
	new_network();
	check_rejected_packets(&iw_pkt_udp_ops);
	check_rejected_packets(&iw_pkt_raw_ops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forged_message_changes_no_mtu_and_rejects_no_packet),
		cmocka_unit_test(rejected_packet_leaves_no_error_for_the_next_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
