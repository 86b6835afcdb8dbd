// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* TCP sockets over loopback: connect, listen, accept, options, and the texts of their errors. */
#include "os/sock.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/cc.h"
#include "os/os.h"

static const struct iw_sock_cfg plain;

static struct iw_addr addr(const char *text, uint16_t port)
{
	struct iw_addr a;

	assert_int_equal(iw_addr_parse(&a, text, port), 0);
	return a;
}

static void wait_for(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	assert_int_equal(poll(&p, 1, 5000), 1);
}

/* Opens a listener on a port that the system chose; *at is its address. */
static int listener(const char *text, const struct iw_sock_cfg *cfg, struct iw_addr *at)
{
	struct iw_addr a = addr(text, 0);
	struct iw_fault why;
	int fd;

	if (iw_tcp_listen(&fd, &a, 8, cfg, &why) != 0)
		fail_msg("%s", why.text);
	assert_int_equal(iw_sock_local(fd, at), 0);
	assert_int_not_equal(iw_addr_port(at), 0);
	return fd;
}

static void assert_refused(int given, const char *text)
{
	struct iw_fault why;
	int fd = -1;

	assert_int_equal(iw_tcp_listen_on(&fd, given, &plain, &why), IW_E_INVAL);
	assert_int_equal(fd, -1);
	assert_non_null(strstr(why.text, text));
}

static void a_listener_of_another_program_is_duplicated(void **state)
{
	const struct iw_sock_cfg large = { .rcvbuf = 300000 };
	struct iw_addr at, same;
	struct iw_fault why;
	int given = listener("127.0.0.1", &plain, &at), fd, size = 0;
	socklen_t len = sizeof(size);

	(void)state;
	assert_int_equal(fcntl(given, F_SETFL, 0), 0);
	assert_int_equal(iw_tcp_listen_on(&fd, given, &large, &why), 0);
	assert_int_not_equal(fd, given);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, &len), 0);
	assert_true(size >= 300000);
	close(given);
	assert_int_equal(iw_sock_local(fd, &same), 0);
	assert_true(iw_addr_equal(&at, &same));
	assert_int_equal(iw_tcp_accept(&given, NULL, fd, &why), IW_E_AGAIN);
	close(fd);
}

static void socket_that_does_not_listen_is_refused_as_a_listener(void **state)
{
	int unbound = socket(AF_INET, SOCK_STREAM, 0), udp = socket(AF_INET, SOCK_DGRAM, 0);
	int file = open("/dev/null", O_RDONLY);

	(void)state;
	assert_refused(unbound, "does not listen");
	assert_refused(udp, "not of TCP");
	assert_refused(file, "not a socket");
	close(unbound);
	close(udp);
	close(file);
	assert_refused(file, "not open");
}

struct pair {
	int listener, client, server;
	struct iw_addr at, from;
};

static void open_pair(struct pair *p, const char *text, const struct iw_sock_cfg *cfg)
{
	struct iw_fault why;

	p->listener = listener(text, &plain, &p->at);
	if (iw_tcp_connect(&p->client, &p->at, cfg, &why) != 0)
		fail_msg("%s", why.text);
	wait_for(p->client, POLLOUT);
	assert_int_equal(iw_tcp_connect_result(p->client, &p->at, NULL, &why), 0);
	wait_for(p->listener, POLLIN);
	assert_int_equal(iw_tcp_accept(&p->server, &p->from, p->listener, &why), 0);
}

static void close_pair(struct pair *p)
{
	close(p->listener);
	close(p->client);
	close(p->server);
}

static struct iw_addr peer_of(int fd)
{
	struct iw_addr a = { .len = sizeof(a.in6) };

	assert_int_equal(getpeername(fd, &a.sa, &a.len), 0);
	return a;
}

static void check_connects(const char *text)
{
	struct iw_addr local;
	struct pair p;
	char octet = 'x';

	open_pair(&p, text, &plain);
	assert_int_equal(iw_sock_local(p.client, &local), 0);
	assert_true(iw_addr_equal(&local, &p.from));
	local = peer_of(p.client);
	assert_true(iw_addr_equal(&local, &p.at));
	assert_int_equal(write(p.client, &octet, 1), 1);
	wait_for(p.server, POLLIN);
	assert_int_equal(read(p.server, &octet, 1), 1);
	close_pair(&p);
}

static void connects_over_ipv4(void **state)
{
	(void)state;
	check_connects("127.0.0.1");
}

static bool have_ipv6(void)
{
	struct iw_addr a = addr("::1", 0);
	int fd;

	if (iw_tcp_listen(&fd, &a, 1, &plain, NULL) != 0)
		return false;
	close(fd);
	return true;
}

static void connects_over_ipv6(void **state)
{
	(void)state;
	if (!have_ipv6()) {
		print_message("skipped: no IPv6 loopback\n");
		skip();
	}
	check_connects("::1");
}

static void every_socket_is_nonblocking_and_closes_on_exec(void **state)
{
	struct pair p;

	(void)state;
	open_pair(&p, "127.0.0.1", &plain);
	for (int i = 0; i < 3; i++) {
		int fd = (const int[]){ p.listener, p.client, p.server }[i];

		assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
		assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	}
	close_pair(&p);
}

static void accept_without_a_connection_returns_again(void **state)
{
	struct iw_addr at;
	int fd, l;

	(void)state;
	l = listener("127.0.0.1", &plain, &at);
	assert_int_equal(iw_tcp_accept(&fd, NULL, l, NULL), IW_E_AGAIN);
	close(l);
}

static void accept_without_descriptors_returns_limit(void **state)
{
	struct rlimit before, low;
	struct iw_fault why;
	struct iw_addr at;
	int l, client, fd, err;

	(void)state;
	l = listener("127.0.0.1", &plain, &at);
	assert_int_equal(iw_tcp_connect(&client, &at, &plain, NULL), 0);
	wait_for(l, POLLIN);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	low = before;
	low.rlim_cur = 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	err = iw_tcp_accept(&fd, NULL, l, &why);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(err, IW_E_LIMIT);
	assert_int_equal(why.os_errno, EMFILE);
	assert_int_equal(iw_tcp_accept(&fd, NULL, l, &why), 0);
	close(fd);
	close(client);
	close(l);
}

static void refusal_names_address_and_port(void **state)
{
	struct iw_fault why = { 0 };
	struct iw_addr at;
	char expected[160];
	int l, fd, err;

	(void)state;
	l = listener("127.0.0.1", &plain, &at);
	close(l);
	err = iw_tcp_connect(&fd, &at, &plain, &why);
	if (!err) {
		wait_for(fd, POLLOUT);
		err = iw_tcp_connect_result(fd, &at, NULL, &why);
		close(fd);
	}
	assert_int_equal(err, IW_E_OS);
	assert_int_equal(why.os_errno, ECONNREFUSED);
	snprintf(expected, sizeof(expected),
		 "connect to 127.0.0.1 port %u: connection refused"
		 "; is a listener with -t tcp running on this machine?",
		 iw_addr_port(&at));
	assert_string_equal(why.text, expected);
}

static void port_zero_cannot_be_reached(void **state)
{
	struct iw_addr at = addr("127.0.0.1", 0);
	struct iw_fault why = { 0 };
	int fd;

	(void)state;
	assert_int_equal(iw_tcp_connect(&fd, &at, &plain, &why), IW_E_INVAL);
	assert_non_null(strstr(why.text, "port 0"));
}

static void unconnected_socket_is_still_under_way(void **state)
{
	struct iw_addr at = addr("127.0.0.1", 9);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)state;
	assert_int_equal(iw_tcp_connect_result(fd, &at, NULL, NULL), IW_E_AGAIN);
	close(fd);
}

static void socket_joined_to_itself_is_refused(void **state)
{
	struct iw_sock_cfg cfg = { 0 };
	struct iw_fault why = { 0 };
	struct iw_addr at, peer;
	int l, fd;

	(void)state;
	l = listener("127.0.0.1", &plain, &at);
	close(l);
	cfg.bind = &at;
	assert_int_equal(iw_tcp_connect(&fd, &at, &cfg, &why), 0);
	peer = peer_of(fd);
	assert_true(iw_addr_equal(&peer, &at));
	assert_int_equal(iw_tcp_connect_result(fd, &at, NULL, &why), IW_E_OS);
	assert_int_equal(why.os_errno, ECONNREFUSED);
	close(fd);
}

static void source_address_is_the_one_asked_for(void **state)
{
	struct iw_addr source = addr("127.9.8.7", 0);
	struct iw_sock_cfg cfg = { .bind = &source };
	char text[IW_ADDR_TEXT];
	struct pair p;

	(void)state;
	open_pair(&p, "127.0.0.1", &cfg);
	assert_string_equal(iw_addr_host(text, &p.from), "127.9.8.7");
	close_pair(&p);
}

static void a_source_address_of_another_host_is_named(void **state)
{
	struct iw_addr source = addr("192.0.2.77", 0), at = addr("127.0.0.1", 9);
	struct iw_sock_cfg cfg = { .bind = &source };
	struct iw_fault why = { 0 };
	int fd;

	(void)state;
	assert_int_equal(iw_tcp_connect(&fd, &at, &cfg, &why), IW_E_OS);
	assert_int_equal(why.os_errno, EADDRNOTAVAIL);
	assert_string_equal(
		why.text,
		"bind to 192.0.2.77: cannot assign requested address; not an address of this machine, `ip address` lists them");
}

static void route_is_checked_without_sending(void **state)
{
	struct iw_addr source = addr("::1", 0), at = addr("127.0.0.1", 9);
	struct iw_sock_cfg cfg = { 0 };
	struct iw_fault why = { 0 };

	(void)state;
	assert_int_equal(iw_sock_check_route(&at, &cfg, &why), 0);
	assert_int_equal(why.err, 0);
	cfg.bind = &source;
	assert_int_equal(iw_sock_check_route(&at, &cfg, &why), IW_E_INVAL);
	assert_string_equal(
		why.text,
		"connect to 127.0.0.1:9: the local address ::1 (-b) has another address family; use one of IPv4, or leave it out");
	source = addr("127.0.0.1", 9);
	assert_int_equal(iw_sock_check_route(&at, &cfg, &why), 0);
	at = addr("fe80::1", 9);
	cfg.bind = NULL;
	assert_int_equal(iw_sock_check_route(&at, &cfg, &why), IW_E_INVAL);
	assert_non_null(strstr(why.text, "needs its interface"));
}

static void interface_loopback_connects_and_unknown_is_named(void **state)
{
	struct iw_sock_cfg cfg = { .interface = "lo" };
	struct iw_fault why = { 0 };
	struct pair p;
	int fd;

	(void)state;
	open_pair(&p, "127.0.0.1", &cfg);
	cfg.interface = "iw-none0";
	assert_int_equal(iw_tcp_connect(&fd, &p.at, &cfg, &why), IW_E_NOENT);
	assert_string_equal(why.text, "-I iw-none0: no such interface; `ip link` lists them");
	close_pair(&p);
}

static void link_local_address_needs_an_interface(void **state)
{
	struct iw_addr at = addr("fe80::1:2:3:4", 9);
	struct iw_sock_cfg cfg = { 0 };
	struct iw_fault why = { 0 };
	int fd;

	(void)state;
	if (!have_ipv6()) {
		print_message("skipped: no IPv6 loopback\n");
		skip();
	}
	assert_int_equal(iw_tcp_connect(&fd, &at, &cfg, &why), IW_E_INVAL);
	assert_non_null(strstr(why.text, "fe80::1:2:3:4%eth0"));
	assert_int_equal(iw_tcp_listen(&fd, &at, 1, &cfg, &why), IW_E_INVAL);
	cfg.bind = &at;
	assert_int_equal(iw_tcp_connect(&fd, &at, &cfg, &why), IW_E_INVAL);
	cfg.interface = "lo";
	assert_int_not_equal(iw_tcp_listen(&fd, &at, 1, &cfg, &why), IW_E_INVAL);
	assert_non_null(strstr(why.text, "listen on fe80::1:2:3:4 port 9"));
}

static void taken_port_is_named(void **state)
{
	struct iw_fault why = { 0 };
	struct iw_addr at;
	int l, fd;

	(void)state;
	l = listener("127.0.0.1", &plain, &at);
	assert_int_equal(iw_tcp_listen(&fd, &at, 1, &plain, &why), IW_E_OS);
	assert_int_equal(why.os_errno, EADDRINUSE);
	assert_non_null(strstr(why.text, "listen on 127.0.0.1 port"));
	close(l);
}

static void dual_listener_takes_ipv4_unless_v6only(void **state)
{
	struct iw_sock_cfg only = { .v6only = true };
	struct iw_addr at, v4;
	int l, fd, err;

	(void)state;
	if (!have_ipv6()) {
		print_message("skipped: no IPv6 loopback\n");
		skip();
	}
	for (int v6only = 0; v6only < 2; v6only++) {
		l = listener("::", v6only ? &only : &plain, &at);
		v4 = addr("127.0.0.1", iw_addr_port(&at));
		err = iw_tcp_connect(&fd, &v4, &plain, NULL);
		if (!err) {
			wait_for(fd, POLLOUT);
			err = iw_tcp_connect_result(fd, &v4, NULL, NULL);
			close(fd);
		}
		assert_int_equal(err, v6only ? IW_E_OS : 0);
		close(l);
	}
}

static void options_take_effect(void **state)
{
	struct iw_sock_cfg cfg = { .nodelay = true, .sndbuf = 50000, .rcvbuf = 60000 };
	size_t snd, rcv;
	socklen_t len;
	struct pair p;
	int value = 0;

	(void)state;
	open_pair(&p, "127.0.0.1", &cfg);
	len = sizeof(value);
	assert_int_equal(getsockopt(p.client, IPPROTO_TCP, TCP_NODELAY, &value, &len), 0);
	assert_int_not_equal(value, 0);
	assert_int_equal(iw_tcp_nodelay(p.client, false), 0);
	assert_int_equal(getsockopt(p.client, IPPROTO_TCP, TCP_NODELAY, &value, &len), 0);
	assert_int_equal(value, 0);
	assert_int_equal(iw_sock_buffers(p.client, &snd, &rcv), 0);
	assert_int_equal(snd, 50000);
	assert_int_equal(rcv, 60000);
	close_pair(&p);
}

static void tiny_buffers_are_raised_by_the_kernel_not_refused(void **state)
{
	size_t snd, rcv;
	struct pair p;

	(void)state;
	open_pair(&p, "127.0.0.1", &plain);
	assert_int_equal(iw_sock_set_buffers(p.client, 1, 1), 0);
	assert_int_equal(iw_sock_buffers(p.client, &snd, &rcv), 0);
	assert_true(snd > 1 && snd < 65536);
	assert_true(rcv > 1 && rcv < 65536);
	assert_int_equal(iw_sock_set_buffers(p.client, SIZE_MAX, 0), 0);
	close_pair(&p);
}

static void emss_is_a_payload_that_the_path_can_carry(void **state)
{
	uint32_t emss = 0;
	struct pair p;

	(void)state;
	open_pair(&p, "127.0.0.1", &plain);
	assert_int_equal(iw_tcp_emss(p.client, &emss), 0);
	assert_true(emss >= 500 && emss < 65536);
	close_pair(&p);
	assert_int_equal(iw_tcp_emss(-1, &emss), IW_E_OS);
}

static void congestion_control_is_set_and_read_back(void **state)
{
	char list[200], now[IW_CC_NAME];
	struct iw_fault why = { 0 };
	struct pair p;
	char *save, *name;

	(void)state;
	open_pair(&p, "127.0.0.1", &plain);
	iw_tcp_cc_list(list, sizeof(list));
	for (name = strtok_r(list, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
		assert_int_equal(iw_tcp_set_cc(p.client, name, &why), 0);
		assert_int_equal(iw_tcp_cc(p.client, now), 0);
		assert_string_equal(now, name);
	}
	close_pair(&p);
}

static void unknown_congestion_control_lists_the_known(void **state)
{
	static const char *const rows[] = { "iw-no-such", "", "a-name-of-sixteen", "reno\n" };
	struct iw_sock_cfg cfg = { 0 };
	struct iw_addr at = addr("127.0.0.1", 9);
	char list[120];
	int fd;

	(void)state;
	iw_tcp_cc_list(list, sizeof(list));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct iw_fault why = { 0 };

		cfg.cc = rows[i];
		assert_int_equal(iw_tcp_connect(&fd, &at, &cfg, &why), IW_E_NOTSUP);
		assert_non_null(strstr(why.text, rows[i]));
		assert_non_null(strstr(why.text, list));
	}
}

static void reserved_sctp_ports_differ(void **state)
{
	enum { PORTS = 300 };
	int fd[PORTS], more;
	uint16_t port[PORTS] = { 0 }, same;
	struct iw_fault why;

	(void)state;
	for (int i = 0; i < PORTS; i++) {
		assert_int_equal(iw_sock_reserve_sctp_port(&fd[i], &port[i], &why), 0);
		assert_true(port[i] >= 49152);
		for (int k = 0; k < i; k++)
			assert_int_not_equal(port[i], port[k]);
	}
	same = port[7];
	assert_int_equal(iw_sock_reserve_sctp_port(&more, &same, &why), IW_E_BUSY);
	assert_non_null(strstr(why.text, "reserved"));
	close(fd[7]);
	assert_int_equal(iw_sock_reserve_sctp_port(&fd[7], &same, &why), 0);
	assert_int_equal(same, port[7]);
	for (int i = 0; i < PORTS; i++)
		close(fd[i]);
}

static void listeners_share_an_sctp_port_at_different_places(void **state)
{
	static const char *const place[] = { "10.0.0.1", "10.0.0.2", "*%v0" };
	uint16_t port = 0;
	int fd[3], all, more;
	struct iw_fault why;

	(void)state;
	assert_int_equal(iw_sock_reserve_sctp_port(&all, &port, &why), 0);
	close(all);
	for (int i = 0; i < 3; i++)
		assert_int_equal(iw_sock_reserve_sctp_place(&fd[i], port, place[i], &why), 0);
	assert_int_equal(iw_sock_reserve_sctp_place(&more, port, place[1], &why), IW_E_BUSY);
	assert_int_equal(more, -1);
	close(fd[1]);
	assert_int_equal(iw_sock_reserve_sctp_place(&all, port, "*", &why), 0);
	assert_int_equal(iw_sock_reserve_sctp_place(&more, port, place[1], &why), IW_E_BUSY);
	assert_int_equal(iw_sock_reserve_sctp_place(&more, port, "*", &why), IW_E_BUSY);
	assert_non_null(strstr(why.text, "reserved"));
	close(all);
	assert_int_equal(iw_sock_reserve_sctp_place(&fd[1], port, place[1], &why), 0);
	for (int i = 0; i < 3; i++)
		close(fd[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_listener_of_another_program_is_duplicated),
		cmocka_unit_test(socket_that_does_not_listen_is_refused_as_a_listener),
		cmocka_unit_test(connects_over_ipv4),
		cmocka_unit_test(connects_over_ipv6),
		cmocka_unit_test(every_socket_is_nonblocking_and_closes_on_exec),
		cmocka_unit_test(accept_without_a_connection_returns_again),
		cmocka_unit_test(accept_without_descriptors_returns_limit),
		cmocka_unit_test(refusal_names_address_and_port),
		cmocka_unit_test(port_zero_cannot_be_reached),
		cmocka_unit_test(unconnected_socket_is_still_under_way),
		cmocka_unit_test(socket_joined_to_itself_is_refused),
		cmocka_unit_test(source_address_is_the_one_asked_for),
		cmocka_unit_test(a_source_address_of_another_host_is_named),
		cmocka_unit_test(route_is_checked_without_sending),
		cmocka_unit_test(interface_loopback_connects_and_unknown_is_named),
		cmocka_unit_test(link_local_address_needs_an_interface),
		cmocka_unit_test(taken_port_is_named),
		cmocka_unit_test(dual_listener_takes_ipv4_unless_v6only),
		cmocka_unit_test(options_take_effect),
		cmocka_unit_test(tiny_buffers_are_raised_by_the_kernel_not_refused),
		cmocka_unit_test(emss_is_a_payload_that_the_path_can_carry),
		cmocka_unit_test(congestion_control_is_set_and_read_back),
		cmocka_unit_test(unknown_congestion_control_lists_the_known),
		cmocka_unit_test(reserved_sctp_ports_differ),
		cmocka_unit_test(listeners_share_an_sctp_port_at_different_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
