// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The carrier with DTLS on loopback: runs, the first packet, peers that restart, ages of sessions. */
#include "pkt/pkt.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/gso.h"
#include "os/os.h"
#include "tls/tls.h"
#include "util/num.h"

#define SEG 1000

static struct iw_tls *tls;
static struct iw_pkt *server, *client;
static uint8_t got[100 * SEG];
static size_t got_len, got_seg;

static struct iw_addr loopback(uint16_t port)
{
	struct iw_addr a = { .len = sizeof(a.in) };

	a.in.sin_family = AF_INET;
	a.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a.in.sin_port = htons(port);
	return a;
}

static struct iw_pkt *open_with(const char *secret, uint16_t peer, uint16_t port)
{
	const struct iw_tls_attr attr = { .size = sizeof(attr),
					  .psk = (const uint8_t *)secret,
					  .psk_len = strlen(secret) };
	struct iw_pkt_cfg cfg = { .bind = loopback(0), .udp_port = port };
	struct iw_fault why = { 0 };
	struct iw_pkt *c;

	if (peer)
		cfg.peer = loopback(peer);
	if (iw_tls_creds_new(&cfg.tls, &attr, &why) != 0 ||
	    iw_pkt_udp_ops.open(&c, &cfg, &why) != 0)
		fail_msg("%s", why.text);
	iw_tls_creds_put(cfg.tls);
	return c;
}

static int open_ends(void **state)
{
	const struct iw_tls_attr attr = { .size = sizeof(attr),
					  .psk = (const uint8_t *)"a secret of two ends",
					  .psk_len = 20 };
	struct iw_fault why;

	(void)state;
	server = open_with("a secret of two ends", 0, 0);
	client = open_with("a secret of two ends", server->udp_port, 0);
	got_len = 0;
	return iw_tls_creds_new(&tls, &attr, &why);
}

static int close_ends(void **state)
{
	(void)state;
	client->ops->close(client);
	server->ops->close(server);
	iw_tls_creds_put(tls);
	return 0;
}

static void send_run(struct iw_pkt *from, uint16_t port, const void *data, size_t len, size_t seg)
{
	struct iw_pkt_tx tx = { .peer = loopback(port), .data = data, .len = len, .seg = seg };
	uint32_t mtu;

	assert_int_equal(from->ops->send(from, &tx, &mtu), 0);
}

/* Receives at c, adds its packets to got, and handles its timers. */
static void turn(struct iw_pkt *c)
{
	struct iw_pkt_rx rx[IW_PKT_BATCH];
	struct iw_fault why;
	int n = c->ops->recv(c, rx, &why);

	assert_true(n >= 0);
	for (int i = 0; i < n; i++) {
		assert_true(got_len + rx[i].len <= sizeof(got));
		memcpy(got + got_len, rx[i].data, rx[i].len);
		got_len += rx[i].len;
		got_seg = rx[i].seg;
	}
	if (c->ops->deadline(c) <= iw_os_now())
		c->ops->timeout(c, iw_os_now());
}

/* Until a and b have received len octets together, at most ten seconds. */
static void run_until(struct iw_pkt *a, struct iw_pkt *b, size_t len)
{
	uint64_t until = iw_os_now() + IW_SEC(10);
	struct pollfd p[] = { { a->fd, POLLIN, 0 }, { b->fd, POLLIN, 0 } };

	while (got_len < len && !a->failed.err) {
		assert_true(iw_os_now() < until);
		(void)poll(p, 2, 10);
		turn(a);
		turn(b);
	}
}

/* Both receive all pending datagrams, also the answers to them. */
static void settle(struct iw_pkt *a, struct iw_pkt *b)
{
	for (int i = 0; i < 20; i++) {
		turn(a);
		turn(b);
	}
}

static void up(void)
{
	send_run(client, server->udp_port, "first", 5, 5);
	run_until(client, server, 5);
	assert_int_equal(got_len, 5);
	assert_memory_equal(got, "first", 5);
	got_len = 0;
}

static void first_packet_waits_for_the_handshake(void **state)
{
	(void)state;
	up();
	send_run(server, client->udp_port, "answer", 6, 6);
	run_until(client, server, 6);
	assert_memory_equal(got, "answer", 6);
}

static void only_the_latest_packet_waits_for_the_handshake(void **state)
{
	(void)state;
	send_run(client, server->udp_port, "first", 5, 5);
	send_run(client, server->udp_port, "repeated", 8, 8);
	run_until(client, server, 8);
	assert_memory_equal(got, "repeated", 8);
	settle(client, server);
	assert_int_equal(got_len, 8);
}

static void run_of_packets_arrives_as_runs(void **state)
{
	uint8_t data[40 * SEG + 7];
	uint64_t sends;

	(void)state;
	up();
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + i / SEG);
	sends = client->sends;
	send_run(client, server->udp_port, data, sizeof(data), SEG);
	assert_in_range(client->sends - sends, 1, iw_gso_is_supported(client->fd) ? 1 : 41);
	run_until(client, server, sizeof(data));
	assert_int_equal(got_len, sizeof(data));
	assert_memory_equal(got, data, sizeof(data));
}

/* RFC 8261 6.1: SCTP cannot continue without the session. */
static void packet_of_a_listener_to_a_peer_that_has_ended_is_reported(void **state)
{
	uint16_t port = client->udp_port;
	struct iw_pkt_error e;

	(void)state;
	up();
	assert_false(server->ops->next_error(server, &e));
	client->ops->close(client);
	client = open_with("a secret of two ends", server->udp_port, 0);
	settle(client, server);
	send_run(server, port, "late", 4, 4);
	assert_true(server->ops->next_error(server, &e));
	assert_int_equal(e.kind, IW_PKT_NO_PROTOCOL);
	assert_int_equal(iw_addr_port(&e.peer), port);
	assert_int_equal(e.len, 4);
	assert_memory_equal(e.head, "late", 4);
	assert_false(server->ops->next_error(server, &e));
}

static void another_address_of_the_host_ends_the_handshake_with_the_first(void **state)
{
	struct iw_pkt *silent = open_with("a secret of two ends", 9, 0);

	(void)state;
	send_run(client, silent->udp_port, "first", 5, 5);
	up();
	client->ops->timeout(client, iw_os_now() + IW_SEC(1));
	assert_true(client->ops->deadline(client) == IW_TIME_NEVER);
	silent->ops->close(silent);
}

static void plain_datagrams_are_dropped(void **state)
{
	struct iw_addr to;

	(void)state;
	up();
	to = loopback(server->udp_port);
	for (size_t len = 0; len < 200; len++) {
		uint8_t junk[200];

		memset(junk, (int)len, sizeof(junk));
		assert_int_equal(sendto(client->fd, junk, len, 0, &to.sa, to.len), len);
	}
	settle(client, server);
	assert_int_equal(got_len, 0);
	send_run(client, server->udp_port, "alive", 5, 5);
	run_until(client, server, 5);
}

/* RFC 6347 4.2.8: with the same address and port, after a crash without close_notify. */
static void peer_that_restarts_replaces_its_session(void **state)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	uint16_t port;

	(void)state;
	up();
	port = client->udp_port;
	assert_true(dup2(null, client->fd) >= 0);
	close(null);
	client->ops->close(client);
	client = open_with("a secret of two ends", server->udp_port, port);
	up();
	send_run(server, port, "answer", 6, 6);
	run_until(client, server, 6);
	assert_memory_equal(got, "answer", 6);
}

/* Sends what s has to send from the socket of the client. */
static void send_handshake(struct iw_dtls *s)
{
	struct iw_addr to = loopback(server->udp_port);
	uint8_t out[IW_DTLS_HELLO];
	struct iw_fault why;
	size_t len;

	(void)!iw_dtls_handshake(s, &why);
	while ((len = iw_dtls_next(s, out)) > 0)
		assert_int_equal(sendto(client->fd, out, len, 0, &to.sa, to.len), len);
}

/* Begins a second session from the socket of the client, up to the ClientHello with the cookie. */
static struct iw_dtls *begin_second(void)
{
	struct pollfd p = { client->fd, POLLIN, 0 };
	uint8_t in[IW_DTLS_HELLO];
	struct iw_fault why;
	struct iw_dtls *s;
	ssize_t n;

	assert_int_equal(iw_dtls_connect(&s, tls, NULL, &why), 0);
	send_handshake(s);
	settle(server, server);
	assert_int_equal(poll(&p, 1, 1000), 1);
	n = recv(client->fd, in, sizeof(in), MSG_DONTWAIT);
	assert_true(n > 0);
	assert_int_equal(iw_dtls_input(s, in, (size_t)n, got, sizeof(got), &why), 0);
	send_handshake(s);
	settle(server, server);
	return s;
}

/* RFC 6347 4.2.8: until the new handshake has finished, the old session continues. */
static void handshake_that_does_not_finish_replaces_nothing(void **state)
{
	struct iw_pkt *other = open_with("a secret of two ends", server->udp_port, 0);
	struct iw_dtls *s;

	(void)state;
	up();
	s = begin_second();
	/* The server has then used another session last. */
	send_run(other, server->udp_port, "other", 5, 5);
	run_until(other, server, 5);
	send_run(client, server->udp_port, "alive", 5, 5);
	run_until(client, server, 10);
	assert_memory_equal(got, "otheralive", 10);
	other->ops->close(other);
	/* It expires after ten seconds. */
	assert_true(server->ops->deadline(server) < iw_os_now() + IW_SEC(10));
	server->ops->timeout(server, iw_os_now() + IW_SEC(10));
	assert_true(server->ops->deadline(server) > iw_os_now() + IW_SEC(200));
	send_run(client, server->udp_port, "still", 5, 5);
	run_until(client, server, 15);
	iw_dtls_free(s);
}

static void silent_session_expires(void **state)
{
	(void)state;
	up();
	server->ops->timeout(server, iw_os_now() + IW_SEC(299));
	send_run(client, server->udp_port, "alive", 5, 5);
	run_until(client, server, 5);
	server->ops->timeout(server, iw_os_now() + IW_SEC(300));
	assert_true(server->ops->deadline(server) == IW_TIME_NEVER);
	send_run(client, server->udp_port, "lost", 4, 4);
	settle(client, server);
	assert_int_equal(got_len, 5);
}

static void end_of_the_peer_is_reported_to_an_initiator(void **state)
{
	uint64_t until = iw_os_now() + IW_SEC(10);

	(void)state;
	up();
	server->ops->close(server);
	while (!client->failed.err) {
		assert_true(iw_os_now() < until);
		turn(client);
	}
	assert_int_equal(client->failed.err, IW_E_TLS);
	assert_string_equal(client->failed.text, "the peer has ended the session");
	server = open_with("a secret of two ends", 0, 0);
}

static void another_key_is_reported_to_an_initiator(void **state)
{
	struct iw_pkt *other = open_with("the secret of a third end", server->udp_port, 0);

	(void)state;
	send_run(other, server->udp_port, "first", 5, 5);
	run_until(other, server, 5);
	assert_int_equal(other->failed.err, IW_E_TLS);
	assert_int_equal(got_len, 0);
	other->ops->close(other);
}

static void closed_port_is_reported_with_the_packet_that_waits(void **state)
{
	uint64_t until = iw_os_now() + IW_SEC(10);
	struct iw_pkt *none = open_with("a secret of two ends", 9, 0);
	struct iw_pkt_error e;

	(void)state;
	send_run(none, 9, "first", 5, 5);
	while (!none->ops->next_error(none, &e))
		assert_true(iw_os_now() < until);
	assert_int_equal(e.kind, IW_PKT_NO_PROTOCOL);
	assert_int_equal(e.len, 5);
	assert_memory_equal(e.head, "first", 5);
	none->ops->close(none);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_ends, close_ends)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(first_packet_waits_for_the_handshake),
		TEST(only_the_latest_packet_waits_for_the_handshake),
		TEST(run_of_packets_arrives_as_runs),
		TEST(packet_of_a_listener_to_a_peer_that_has_ended_is_reported),
		TEST(another_address_of_the_host_ends_the_handshake_with_the_first),
		TEST(plain_datagrams_are_dropped),
		TEST(peer_that_restarts_replaces_its_session),
		TEST(handshake_that_does_not_finish_replaces_nothing),
		TEST(silent_session_expires),
		TEST(end_of_the_peer_is_reported_to_an_initiator),
		TEST(another_key_is_reported_to_an_initiator),
		TEST(closed_port_is_reported_with_the_packet_that_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
