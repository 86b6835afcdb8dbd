// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The TCP transport over loopback: addresses, octets, ends, and the texts of its errors; the list
 * of transports.
 */
#include "llp/stream.h"
#include "llp/port.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/os.h"
#include "os/sock.h"
#include "util/num.h"

static bool connect_is_refused; /* by the system, with EAGAIN */

int connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	if (!connect_is_refused)
		return (int)syscall(SYS_connect, fd, addr, len);
	errno = EAGAIN;
	return -1;
}

static const struct iw_stream_ops *tcp(void)
{
	return iw_stream_find("tcp");
}

static bool ready(int fd, short events, int ms)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, ms) == 1;
}

static struct iw_stream *listen_on(const char *host, uint16_t port, uint32_t sndbuf)
{
	struct iw_llp_cfg cfg = {
		.host = host, .port = port, .backlog = 16, .sndbuf = sndbuf, .listen = true
	};
	struct iw_fault why;
	struct iw_stream *l;

	if (tcp()->open(&l, &cfg, &why) != 0)
		fail_msg("%s", why.text);
	return l;
}

/* Drives a connect to its end; returns 0 or the error. */
static int finish(struct iw_stream *l, struct iw_fault *why)
{
	int err;

	do {
		if (!ready(l->fd, POLLOUT, 5000))
			return IW_E_TIMEOUT;
		err = l->ops->connected(l, why);
	} while (err == IW_E_AGAIN);
	return err;
}

struct pair {
	struct iw_stream *listener, *a, *b; /* a connects, b is accepted */
};

static void open_pair_with(struct pair *p, const char *host, struct iw_llp_cfg cfg)
{
	struct iw_fault why = { 0 };

	p->listener = listen_on(host, 0, cfg.sndbuf);
	cfg.host = host;
	cfg.port = p->listener->local_port;
	if (tcp()->open(&p->a, &cfg, &why) != 0 || finish(p->a, &why) != 0)
		fail_msg("%s", why.text);
	assert_true(ready(p->listener->fd, POLLIN, 5000));
	assert_int_equal(tcp()->accept(p->listener, &p->b, &why), 0);
}

static void open_pair(struct pair *p, const char *host)
{
	open_pair_with(p, host, (struct iw_llp_cfg){ 0 });
}

static void close_pair(struct pair *p)
{
	if (p->a)
		tcp()->close(p->a, true);
	if (p->b)
		tcp()->close(p->b, true);
	tcp()->close(p->listener, false);
}

static int64_t put(struct iw_stream *l, const void *octets, size_t len, struct iw_fault *why)
{
	struct iw_vec v = { (void *)(uintptr_t)octets, len };

	return l->ops->send(l, &v, 1, false, why);
}

static int64_t get(struct iw_stream *l, void *octets, size_t len, struct iw_fault *why)
{
	struct iw_vec v = { octets, len };

	ready(l->fd, POLLIN, 5000);
	return l->ops->recv(l, &v, 1, why);
}

static void five_transports_are_listed_and_four_of_them_are_ports(void **state)
{
	static const char *const expected[] = { "tcp", "sctp", "udp", "raw", "xdp", NULL };
	const char *const *names = iw_llp_names();

	(void)state;
	for (size_t i = 0; expected[i]; i++) {
		const struct iw_stream_ops *ops = iw_stream_find(expected[i]);
		struct iw_fault why = { 0 };

		assert_string_equal(names[i], expected[i]);
		if (i == 0) {
			assert_string_equal(ops->name, expected[i]);
			assert_int_equal(iw_llp_available(expected[i], &why), 0);
			assert_null(iw_port_find(expected[i]));
			continue;
		}
		assert_string_equal(iw_port_find(expected[i])->name, expected[i]);
		assert_null(ops);
		/* Availability depends on the machine; the transport must report it. */
		if (iw_llp_available(expected[i], &why) != 0)
			assert_string_not_equal(why.text, "");
	}
	assert_null(names[5]);
}

static void unknown_transport_is_invalid(void **state)
{
	struct iw_fault why;

	(void)state;
	assert_null(iw_stream_find("ib"));
	assert_int_equal(iw_llp_available("ib", &why), IW_E_INVAL);
	assert_non_null(strstr(why.text, "\"ib\""));
}

static void octets_arrive_over_both_families(void **state)
{
	static const char *const hosts[] = { "127.0.0.1", "::1" };

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(hosts); i++) {
		char buf[16];
		struct pair p;

		if (i == 1 && access("/proc/net/if_inet6", F_OK) != 0) {
			print_message("# needs ipv6: this kernel has none\n");
			skip();
		}
		open_pair(&p, hosts[i]);
		assert_int_equal(put(p.a, "octets", 6, NULL), 6);
		assert_int_equal(get(p.b, buf, sizeof(buf), NULL), 6);
		assert_memory_equal(buf, "octets", 6);
		assert_string_equal(p.a->local, p.b->peer);
		assert_string_equal(p.a->peer, p.b->local);
		assert_int_equal(p.a->sends, 1);
		assert_int_equal(p.b->recvs, 1);
		assert_true(p.a->emss > 0);
		close_pair(&p);
	}
}

static void batch_of_pieces_is_one_send(void **state)
{
	enum { PIECES = 1024 };
	static struct iw_vec v[PIECES];
	static char got[PIECES + 1];
	static char octets[PIECES];
	struct pair p;

	(void)state;
	open_pair(&p, "127.0.0.1");
	for (int i = 0; i < PIECES; i++) {
		octets[i] = (char)i;
		v[i] = (struct iw_vec){ &octets[i], 1 };
	}
	assert_int_equal(tcp()->send(p.a, v, PIECES, true, NULL), PIECES);
	assert_int_equal(p.a->sends, 1);
	assert_int_equal(get(p.b, got, sizeof(got), NULL), PIECES);
	assert_memory_equal(got, octets, PIECES);
	close_pair(&p);
}

static void received_octets_fill_two_pieces(void **state)
{
	char first[3], second[8];
	struct iw_vec v[2] = { { first, sizeof(first) }, { second, sizeof(second) } };
	struct pair p;

	(void)state;
	open_pair(&p, "127.0.0.1");
	assert_int_equal(put(p.a, "abcdefg", 7, NULL), 7);
	assert_true(ready(p.b->fd, POLLIN, 5000));
	assert_int_equal(tcp()->recv(p.b, v, 2, NULL), 7);
	assert_memory_equal(first, "abc", 3);
	assert_memory_equal(second, "defg", 4);
	close_pair(&p);
}

/* MPA-25 */
static void segment_that_is_not_full_waits_while_it_is_held(void **state)
{
	uint64_t begun = iw_os_now();
	char buf[8];
	struct pair p;
	bool early;

	(void)state;
	open_pair(&p, "127.0.0.1");
	assert_int_equal(tcp()->hold_short(p.a, true, NULL), 0);
	assert_int_equal(put(p.a, "part", 4, NULL), 4);
	/* The system gives up after 200 ms, which may have passed on a busy machine. */
	early = ready(p.b->fd, POLLIN, 30);
	assert_true(!early || iw_os_now() - begun > IW_MSEC(150));
	assert_int_equal(tcp()->hold_short(p.a, false, NULL), 0);
	assert_true(ready(p.b->fd, POLLIN, 100));
	assert_int_equal(get(p.b, buf, sizeof(buf), NULL), 4);
	close_pair(&p);
}

static void empty_socket_returns_again(void **state)
{
	char c;
	struct iw_vec v = { &c, 1 };
	struct pair p;

	(void)state;
	open_pair(&p, "127.0.0.1");
	assert_int_equal(tcp()->recv(p.b, &v, 1, NULL), IW_E_AGAIN);
	assert_int_equal(tcp()->accept(p.listener, &p.b, NULL), IW_E_AGAIN);
	close_pair(&p);
}

static void small_send_buffer_accepts_less_and_then_returns_again(void **state)
{
	enum { LEN = 1 << 20 };
	char *octets = calloc(1, LEN);
	int64_t n, sum = 0;
	struct pair p;

	(void)state;
	assert_non_null(octets);
	open_pair_with(&p, "127.0.0.1", (struct iw_llp_cfg){ .sndbuf = 1, .rcvbuf = 1 });
	while ((n = put(p.a, octets, LEN, NULL)) > 0) {
		assert_true(n < LEN);
		sum += n;
	}
	assert_int_equal(n, IW_E_AGAIN);
	/* All octets arrive. */
	while (sum > 0) {
		n = get(p.b, octets, LEN, NULL);
		assert_true(n > 0);
		sum -= n;
	}
	close_pair(&p);
	free(octets);
}

static void shutdown_ends_one_direction(void **state)
{
	struct pair p;
	char c;

	(void)state;
	open_pair(&p, "127.0.0.1");
	assert_int_equal(tcp()->shutdown(p.a, NULL), 0);
	assert_int_equal(get(p.b, &c, 1, NULL), 0);
	assert_int_equal(put(p.b, "x", 1, NULL), 1);
	assert_int_equal(get(p.a, &c, 1, NULL), 1);
	close_pair(&p);
}

/* RDMAP-37: the last octets sent, for example a Terminate, are not destroyed by a reset */
static void orderly_close_with_unread_input_loses_nothing_sent(void **state)
{
	char buf[16];
	struct pair p;

	(void)state;
	open_pair(&p, "127.0.0.1");
	assert_int_equal(put(p.b, "unread", 6, NULL), 6);
	assert_true(ready(p.a->fd, POLLIN, 5000));
	assert_int_equal(put(p.a, "last words", 10, NULL), 10);
	tcp()->close(p.a, false);
	p.a = NULL;
	assert_int_equal(get(p.b, buf, sizeof(buf), NULL), 10);
	assert_memory_equal(buf, "last words", 10);
	assert_int_equal(get(p.b, buf, sizeof(buf), NULL), 0);
	close_pair(&p);
}

static void abort_resets_and_the_peer_can_read_the_reason(void **state)
{
	struct iw_fault why;
	struct pair p;
	char c;

	(void)state;
	open_pair(&p, "127.0.0.1");
	tcp()->close(p.a, true);
	p.a = NULL;
	assert_int_equal(get(p.b, &c, 1, &why), IW_E_CLOSED);
	assert_int_equal(why.err, IW_E_CLOSED);
	assert_int_equal(why.os_errno, ECONNRESET);
	assert_non_null(strstr(why.text, "receive from 127.0.0.1:"));
	assert_non_null(strstr(why.text, "connection reset by peer"));
	/* No signal is raised: */
	assert_int_equal(put(p.b, "x", 1, &why), IW_E_CLOSED);
	assert_int_equal(why.os_errno, EPIPE);
	assert_non_null(strstr(why.text, "send to 127.0.0.1:"));
	close_pair(&p);
}

/* Returns a port of the loopback without a listener. */
static uint16_t free_port(void)
{
	struct iw_stream *l = listen_on("127.0.0.1", 0, 0);
	uint16_t port = l->local_port;

	tcp()->close(l, true);
	return port;
}

static void refused_connect_names_the_peer(void **state)
{
	struct iw_llp_cfg cfg = { .host = "127.0.0.1", .port = free_port() };
	struct iw_fault why = { 0 };
	struct iw_stream *l;
	int err;

	(void)state;
	err = tcp()->open(&l, &cfg, &why);
	if (err == 0) {
		err = finish(l, &why);
		tcp()->close(l, true);
	}
	assert_int_equal(err, IW_E_OS);
	assert_int_equal(why.os_errno, ECONNREFUSED);
	assert_non_null(strstr(why.text, "connect to 127.0.0.1 port "));
	assert_non_null(strstr(why.text, "connection refused"));
}

static void connect_that_fails_with_eagain_is_not_waited_for(void **state)
{
	struct iw_llp_cfg cfg = { .host = "127.0.0.1", .port = 1 };
	struct iw_fault why = { 0 };
	struct iw_stream *l;

	(void)state;
	connect_is_refused = true;
	assert_int_equal(tcp()->open(&l, &cfg, &why), IW_E_OS);
	connect_is_refused = false;
	assert_int_equal(why.err, IW_E_OS);
	assert_int_equal(why.os_errno, EAGAIN);
}

/* An empty host means 127.0.0.1, then ::1: with a listener on ::1 alone, the first connection is
 * refused. */
static void next_address_is_tried_when_one_is_refused(void **state)
{
	struct iw_llp_cfg cfg = { 0 };
	struct iw_fault why = { 0 };
	struct iw_stream *listener, *a;

	(void)state;
	if (access("/proc/net/if_inet6", F_OK) != 0) {
		print_message("# needs ipv6: this kernel has none\n");
		skip();
	}
	listener = listen_on("::1", 0, 0);
	cfg.port = listener->local_port;
	assert_int_equal(tcp()->open(&a, &cfg, &why), 0);
	assert_int_equal(finish(a, &why), 0);
	assert_int_equal(strncmp(a->peer, "[::1]:", 6), 0);
	assert_int_equal(a->untried, 0);
	tcp()->close(a, true);
	tcp()->close(listener, true);
}

static void an_attempt_can_be_abandoned_for_the_next_address(void **state)
{
	struct iw_llp_cfg cfg = { 0 };
	struct iw_fault why = { 0 };
	struct iw_stream *listener, *a;
	int fill[8];
	struct iw_addr at;

	(void)state;
	if (access("/proc/net/if_inet6", F_OK) != 0) {
		print_message("# needs ipv6: this kernel has none\n");
		skip();
	}
	/* A listener with a full queue does not answer. */
	assert_int_equal(iw_addr_parse(&at, "127.0.0.1", 0), 0);
	assert_int_equal(iw_tcp_listen(&fill[0], &at, 0, &(struct iw_sock_cfg){ 0 }, &why), 0);
	assert_int_equal(iw_sock_local(fill[0], &at), 0);
	for (int i = 1; i < 8; i++)
		assert_int_equal(iw_tcp_connect(&fill[i], &at, &(struct iw_sock_cfg){ 0 }, &why),
				 0);
	cfg.port = iw_addr_port(&at);
	listener = listen_on("::1", cfg.port, 0);

	assert_int_equal(tcp()->open(&a, &cfg, &why), 0);
	assert_int_equal(a->untried, 1);
	assert_false(ready(a->fd, POLLOUT, 50));
	assert_int_equal(tcp()->try_next(a, &why), IW_E_AGAIN);
	assert_int_equal(a->untried, 0);
	assert_int_equal(finish(a, &why), 0);
	assert_int_equal(strncmp(a->peer, "[::1]:", 6), 0);
	tcp()->close(a, true);
	tcp()->close(listener, true);
	for (int i = 0; i < 8; i++)
		close(fill[i]);
}

static void last_abandoned_attempt_is_a_time_out(void **state)
{
	struct iw_stream *listener = listen_on("127.0.0.1", 0, 0);
	struct iw_llp_cfg cfg = { .host = "127.0.0.1", .port = listener->local_port };
	struct iw_fault why = { 0 };
	struct iw_stream *a;

	(void)state;
	assert_int_equal(tcp()->open(&a, &cfg, &why), 0);
	assert_int_equal(tcp()->try_next(a, &why), IW_E_TIMEOUT);
	assert_non_null(strstr(why.text, "no answer"));
	tcp()->close(a, true);
	tcp()->close(listener, true);
}

static void source_address_is_the_one_asked_for(void **state)
{
	struct pair p;

	(void)state;
	open_pair_with(&p, "127.0.0.1", (struct iw_llp_cfg){ .bind_addr = "127.0.0.9" });
	assert_int_equal(strncmp(p.b->peer, "127.0.0.9:", 10), 0);
	close_pair(&p);
}

static void source_address_of_another_family_is_refused(void **state)
{
	struct iw_llp_cfg cfg = { .host = "127.0.0.1", .port = 1, .bind_addr = "::1" };
	struct iw_fault why = { 0 };
	struct iw_stream *a;

	(void)state;
	assert_int_equal(tcp()->open(&a, &cfg, &why), IW_E_INVAL);
	assert_non_null(strstr(why.text, "another address family"));
}

static void unknown_interface_and_congestion_control_are_named(void **state)
{
	struct iw_llp_cfg cfg = { .host = "127.0.0.1", .port = 1, .interface = "no-such-if0" };
	struct iw_fault why = { 0 };
	struct iw_stream *a;

	(void)state;
	assert_true(tcp()->open(&a, &cfg, &why) < 0);
	assert_non_null(strstr(why.text, "no-such-if0"));
	cfg = (struct iw_llp_cfg){ .host = "127.0.0.1", .port = 1, .cc = "no-such-cc" };
	assert_true(tcp()->open(&a, &cfg, &why) < 0);
	assert_non_null(strstr(why.text, "no-such-cc"));
	cfg = (struct iw_llp_cfg){ .host = "127.0.0.1",
				   .port = 1,
				   .cc = "a-name-that-is-far-too-long-for-one" };
	assert_int_equal(tcp()->open(&a, &cfg, &why), IW_E_INVAL);
}

static void busy_port_cannot_be_listened_on(void **state)
{
	struct iw_stream *listener = listen_on("127.0.0.1", 0, 0);
	struct iw_llp_cfg cfg = {
		.host = "127.0.0.1", .port = listener->local_port, .backlog = 1, .listen = true
	};
	struct iw_fault why = { 0 };
	struct iw_stream *l;

	(void)state;
	assert_true(tcp()->open(&l, &cfg, &why) < 0);
	assert_int_equal(why.os_errno, EADDRINUSE);
	tcp()->close(listener, true);
}

static void error_of_a_listener_need_not_be_explained(void **state)
{
	struct iw_stream *listener = listen_on("127.0.0.1", 0, 0);
	struct iw_llp_cfg cfg = {
		.host = "127.0.0.1", .port = listener->local_port, .backlog = 1, .listen = true
	};
	struct iw_stream *l;

	(void)state;
	assert_int_equal(tcp()->open(&l, &cfg, NULL), IW_E_OS);
	tcp()->close(listener, true);
}

/* An empty host means 127.0.0.1 and ::1: if 127.0.0.1 is in use, ::1 must not be used instead. */
static void busy_port_is_not_listened_on_at_another_address(void **state)
{
	struct iw_stream *listener = listen_on("127.0.0.1", 0, 0);
	struct iw_llp_cfg cfg = { .port = listener->local_port, .backlog = 1, .listen = true };
	struct iw_fault why = { 0 };
	struct iw_stream *l = NULL;

	(void)state;
	assert_int_equal(tcp()->open(&l, &cfg, &why), IW_E_OS);
	assert_int_equal(why.os_errno, EADDRINUSE);
	assert_non_null(strstr(why.text, "127.0.0.1"));
	assert_null(l);
	listener->ops->close(listener, true);
}

/* MPA-25 */
static void refresh_reads_the_emss_again(void **state)
{
	struct pair p;
	uint32_t emss;

	(void)state;
	open_pair(&p, "127.0.0.1");
	emss = p.a->emss;
	assert_true(emss > 1);
	p.a->emss = 1; /* as if the connect had failed with it */
	tcp()->refresh(p.a);
	assert_int_equal(p.a->emss, emss);
	close_pair(&p);
}

static void sample_has_the_window_and_round_trip_of_the_kernel(void **state)
{
	struct iw_stream_sample s;
	struct iw_fault why = { 0 };
	char octet = 'x';
	struct pair p;

	(void)state;
	open_pair(&p, "127.0.0.1");
	assert_int_equal(put(p.a, &octet, 1, &why), 1);
	assert_int_equal(get(p.b, &octet, 1, &why), 1);
	assert_true(tcp()->sample(p.a, &s));
	assert_true(s.cwnd >= p.a->emss && s.ssthresh > 0);
	assert_in_range(s.srtt, 1000, IW_SEC(10));
	assert_true(s.rto >= s.srtt && s.retransmits == 0);
	close_pair(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sample_has_the_window_and_round_trip_of_the_kernel),
		cmocka_unit_test(five_transports_are_listed_and_four_of_them_are_ports),
		cmocka_unit_test(unknown_transport_is_invalid),
		cmocka_unit_test(octets_arrive_over_both_families),
		cmocka_unit_test(batch_of_pieces_is_one_send),
		cmocka_unit_test(received_octets_fill_two_pieces),
		cmocka_unit_test(segment_that_is_not_full_waits_while_it_is_held),
		cmocka_unit_test(empty_socket_returns_again),
		cmocka_unit_test(small_send_buffer_accepts_less_and_then_returns_again),
		cmocka_unit_test(shutdown_ends_one_direction),
		cmocka_unit_test(orderly_close_with_unread_input_loses_nothing_sent),
		cmocka_unit_test(abort_resets_and_the_peer_can_read_the_reason),
		cmocka_unit_test(refused_connect_names_the_peer),
		cmocka_unit_test(connect_that_fails_with_eagain_is_not_waited_for),
		cmocka_unit_test(next_address_is_tried_when_one_is_refused),
		cmocka_unit_test(an_attempt_can_be_abandoned_for_the_next_address),
		cmocka_unit_test(last_abandoned_attempt_is_a_time_out),
		cmocka_unit_test(source_address_is_the_one_asked_for),
		cmocka_unit_test(source_address_of_another_family_is_refused),
		cmocka_unit_test(unknown_interface_and_congestion_control_are_named),
		cmocka_unit_test(busy_port_cannot_be_listened_on),
		cmocka_unit_test(error_of_a_listener_need_not_be_explained),
		cmocka_unit_test(busy_port_is_not_listened_on_at_another_address),
		cmocka_unit_test(refresh_reads_the_emss_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
