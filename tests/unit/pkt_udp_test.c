// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Packets in UDP on loopback: batches out, runs in, and the receive that waits. */
#include "pkt/pkt.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "os/os.h"
#include "util/num.h"

#define SEG 1000

static struct iw_pkt *open_one(void)
{
	struct iw_pkt_cfg cfg = { .bind = { .len = sizeof(struct sockaddr_in) } };
	struct iw_fault why = { 0 };
	struct iw_pkt *c;

	cfg.bind.in.sin_family = AF_INET;
	cfg.bind.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (iw_pkt_udp_ops.open(&c, &cfg, &why) != 0)
		fail_msg("%s", why.text);
	return c;
}

static void send_to(struct iw_pkt *from, const struct iw_pkt *to, const uint8_t *data, size_t len)
{
	struct iw_pkt_tx tx = { .data = data, .len = len, .seg = IW_MIN(len, (size_t)SEG) };
	uint32_t mtu;

	tx.peer.in.sin_family = AF_INET;
	tx.peer.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	tx.peer.in.sin_port = htons(to->udp_port);
	tx.peer.len = sizeof(tx.peer.in);
	assert_int_equal(from->ops->send(from, &tx, &mtu), 0);
}

/* Waits again if no packet arrived within a few ms. */
static int wait_for(struct iw_pkt *c, struct iw_pkt_rx rx[static IW_PKT_BATCH])
{
	uint64_t until = iw_os_now() + IW_SEC(10);
	struct iw_fault why;
	int n = IW_E_AGAIN;

	while (n == IW_E_AGAIN && iw_os_now() < until)
		n = c->ops->recv_wait(c, rx, &why);
	return n;
}

static void receive_buffer_above_2_gib_is_capped(void **state)
{
	struct iw_pkt_cfg cfg = { .rcvbuf = 3u << 30 };
	struct iw_fault why = { 0 };
	struct iw_pkt *c, *usual = open_one();

	(void)state;
	if (iw_pkt_udp_ops.open(&c, &cfg, &why) != 0)
		fail_msg("%s", why.text);
	assert_true(c->rcvbuf >= usual->rcvbuf);
	c->ops->close(c);
	usual->ops->close(usual);
}

static void waiting_returns_a_packet_with_its_sender(void **state)
{
	static const uint8_t data[] = "a packet";
	struct iw_pkt *a = open_one(), *b = open_one();
	struct iw_pkt_rx rx[IW_PKT_BATCH];

	(void)state;
	send_to(a, b, data, sizeof(data));
	assert_int_equal(wait_for(b, rx), 1);
	assert_int_equal(rx[0].len, sizeof(data));
	assert_int_equal(rx[0].seg, sizeof(data));
	assert_memory_equal(rx[0].data, data, sizeof(data));
	assert_int_equal(iw_addr_port(&rx[0].peer), a->udp_port);
	assert_int_equal(rx[0].local.sa.sa_family, AF_INET);
	a->ops->close(a);
	b->ops->close(b);
}

/* The xdp carrier passes elements that described lendable frames in an earlier receive. */
static void datagram_is_not_lendable(void **state)
{
	static const uint8_t data[] = "a packet";
	struct iw_pkt *a = open_one(), *b = open_one();
	struct iw_pkt_rx rx[IW_PKT_BATCH] = { { .lendable = true } };

	(void)state;
	send_to(a, b, data, sizeof(data));
	assert_int_equal(wait_for(b, rx), 1);
	assert_false(rx[0].lendable);
	a->ops->close(a);
	b->ops->close(b);
}

static void waiting_reads_all_segments_of_a_gro_packet(void **state)
{
	uint8_t data[10 * SEG + 7];
	struct iw_pkt *a = open_one(), *b = open_one();
	struct iw_pkt_rx rx[IW_PKT_BATCH];
	size_t got = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + i / SEG);
	send_to(a, b, data, sizeof(data));
	/* Without offload, each packet is a datagram. */
	while (got < sizeof(data)) {
		int n = wait_for(b, rx);

		assert_true(n > 0);
		for (int i = 0; i < n; i++) {
			assert_true(got + rx[i].len <= sizeof(data));
			assert_memory_equal(rx[i].data, data + got, rx[i].len);
			assert_true(rx[i].seg == SEG || rx[i].len == rx[i].seg);
			got += rx[i].len;
		}
	}
	a->ops->close(a);
	b->ops->close(b);
}

/* All packets are pending before the wait begins, and none is lost. */
static void packets_after_a_gro_packet_are_read_with_it(void **state)
{
	static const uint8_t run[3 * SEG], alone[SEG / 2];
	struct iw_pkt *a = open_one(), *b = open_one();
	struct iw_pkt_rx rx[IW_PKT_BATCH];
	size_t got = 0, all = 2 * sizeof(run) + sizeof(alone);

	(void)state;
	send_to(a, b, run, sizeof(run));
	send_to(a, b, alone, sizeof(alone));
	send_to(a, b, run, sizeof(run));
	while (got < all) {
		int n = wait_for(b, rx);

		assert_true(n > 0);
		for (int i = 0; i < n; i++)
			got += rx[i].len;
	}
	assert_int_equal(got, all);
	a->ops->close(a);
	b->ops->close(b);
}

static void waiting_for_nothing_ends_and_reading_never_waits(void **state)
{
	struct iw_pkt *a = open_one();
	struct iw_pkt_rx rx[IW_PKT_BATCH];
	struct iw_fault why;

	(void)state;
	assert_int_equal(a->ops->recv_wait(a, rx, &why), IW_E_AGAIN);
	assert_int_equal(a->ops->recv(a, rx, &why), 0);
	a->ops->close(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(receive_buffer_above_2_gib_is_capped),
		cmocka_unit_test(waiting_returns_a_packet_with_its_sender),
		cmocka_unit_test(datagram_is_not_lendable),
		cmocka_unit_test(waiting_reads_all_segments_of_a_gro_packet),
		cmocka_unit_test(packets_after_a_gro_packet_are_read_with_it),
		cmocka_unit_test(waiting_for_nothing_ends_and_reading_never_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
