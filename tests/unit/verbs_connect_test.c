// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Connections through the public API: set-up, its failures and time-outs, over real sockets on the
 * loopback.
 */
#include "verbs_both.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "os/sock.h"
#include "wire/mpa.h"

static bool have_ipv6(void)
{
	if (access("/proc/net/if_inet6", F_OK) == 0)
		return true;
	print_message("# needs ipv6: this kernel has none\n");
	return false;
}

/* Ends both in order. */
static void part(void)
{
	iw_disconnect(a.qp);
	end_until(&a, &b, b.seen[IW_EV_PEER_CLOSED]);
	iw_disconnect(b.qp);
	end_until(&a, &b, a.seen[IW_EV_CLOSED] && b.seen[IW_EV_CLOSED]);
	assert_int_equal(a.fault.err, IW_OK);
	assert_int_equal(b.fault.err, IW_OK);
}

static void profile_rdmac_is_revision_0_with_markers_and_crc(void **state)
{
	struct iw_qp_info ia, ib;

	(void)state;
	end_join_with(&a, &b, (struct conn_param){ .protocol.profile = "rdmac" });
	iw_qp_info(a.qp, &ia);
	iw_qp_info(b.qp, &ib);
	assert_int_equal(ia.rev, 0);
	assert_int_equal(ib.rev, 0);
	assert_true(ia.crc && ia.tx_markers && ia.rx_markers);
	assert_int_equal(iw_post_recv(b.qp, 1, NULL, 0, NULL), 0);
	assert_int_equal(end_send(&a, 1, NULL, 0, 0), 0);
	end_until(&a, &b, end_wc(&b, 1));
	part();
}

static void profile_must_match_transport_revision_and_crc(void **state)
{
	static const struct {
		struct conn_param p;
		const char *text;
	} bad[] = {
		{ { .protocol.profile = "rdmac", .at.transport = "udp" },
		  "transport tcp, not udp" },
		{ { .protocol.profile = "rdmac", .protocol.rev = 1 },
		  "leave out rev 1, or use profile rfc" },
		{ { .protocol.profile = "rdmac", .protocol.peer_to_peer = true },
		  "profile rdmac uses MPA Rev 0: leave out peer-to-peer, or use profile rfc" },
		{ { .protocol.profile = "rdmac", .protocol.crc = IW_CRC_OFF }, "always on" },
		{ { .protocol.profile = "sctp-draft-02" }, "transport sctp, udp, raw or xdp" },
		{ { .protocol.profile = "sctp-draft-02", .at.transport = "udp", .protocol.rev = 2 },
		  "profile sctp-draft-02 has no enhanced sessions (RFC 6581): leave out rev 2, or use profile rfc" },
		{ { .protocol.profile = "sctp-draft-02",
		    .at.transport = "udp",
		    .protocol.peer_to_peer = true },
		  "leave out peer-to-peer, or use profile rfc" },
		{ { .protocol.profile = "rdma" }, "use rfc, rdmac or sctp-draft-02" },
		{ { .protocol.rev = -1, .at.transport = "udp" },
		  "rev -1: MPA Rev 0 needs transport tcp, not udp; use rev 0, 1 or 2" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct conn_param p = bad[i].p;

		p.at.size = sizeof(p.at);
		p.protocol.size = sizeof(p.protocol);
		p.at.host = "127.0.0.1";
		p.at.port = 1;
		assert_int_equal(iw_connect(a.qp, &p.at, &p.protocol, &a.why), IW_E_INVAL);
		assert_non_null(strstr(a.why.text, bad[i].text));
		assert_int_equal(iw_listen(&a.listener, a.ctx, &p.at, &p.protocol, &a.why),
				 IW_E_INVAL);
	}
}

/* APP-01, APP-02, MPA-36, ENH-07 */
static void both_ends_report_private_data_and_the_agreed_parameters(void **state)
{
	struct conn_param p = { .protocol.private_data = "from a",
				.protocol.private_data_len = 6,
				.protocol.ird = 3,
				.protocol.ord = 5 };
	struct iw_qp_info ia, ib;

	(void)state;
	b.answer = "from b";
	b.answer_len = 6;
	end_join_with(&a, &b, p);
	iw_qp_info(a.qp, &ia);
	iw_qp_info(b.qp, &ib);
	assert_int_equal(ia.state, IW_QP_ESTABLISHED);
	assert_int_equal(ib.state, IW_QP_ESTABLISHED);
	assert_string_equal(ia.local, ib.peer);
	assert_string_equal(ia.peer, ib.local);
	assert_string_equal(ib.local, iw_listener_addr(b.listener));
	assert_int_equal(ia.private_data_len, 6);
	assert_memory_equal(ia.private_data, "from b", 6);
	assert_int_equal(ib.private_data_len, 6);
	assert_memory_equal(ib.private_data, "from a", 6);
	assert_int_equal(ia.rev, 2);
	assert_true(ia.crc && ib.crc);
	assert_int_equal(ib.peer_ird, 3);
	assert_int_equal(ib.peer_ord, 5);
	assert_true(ib.ord <= 3);
	assert_true(ia.mulpdu > 0 && ia.emss > 0);
	assert_false(ia.large_fpdus);
	part();
	/* The facts stay available until the queue pair is freed. */
	iw_qp_info(a.qp, &ia);
	assert_int_equal(ia.state, IW_QP_CLOSED);
	assert_memory_equal(ia.private_data, "from b", 6);
	assert_string_equal(ia.local, ib.peer);
	assert_true(ia.tx_sends > 0 && ia.rx_sends > 0);
}

static void request_reports_what_the_peer_wants(void **state)
{
	struct conn_param p = { .protocol.private_data = "hello",
				.protocol.private_data_len = 5,
				.protocol.ird = 7,
				.protocol.ord = 9,
				.protocol.markers = true,
				.protocol.peer_to_peer = true };
	struct iw_req_info info;

	(void)state;
	b.keep_requests = true;
	end_listen_with(&b, (struct conn_param){ 0 });
	end_connect_to(&a, "127.0.0.1", iw_listener_port(b.listener), p);
	end_until(&a, &b, b.req);
	iw_req_info(b.req, &info);
	assert_int_equal(strncmp(info.peer, "127.0.0.1:", 10), 0);
	assert_int_equal(info.private_data_len, 5);
	assert_memory_equal(info.private_data, "hello", 5);
	assert_int_equal(info.ird, 7);
	assert_int_equal(info.ord, 9);
	assert_int_equal(info.rev, 2);
	assert_true(info.markers);
	assert_true(info.peer_to_peer);
	end_accept(&b);
	end_until(&a, &b, a.seen[IW_EV_ESTABLISHED] && b.seen[IW_EV_ESTABLISHED]);
	part();
}

static void connects_over_ipv6(void **state)
{
	struct iw_qp_info info;

	(void)state;
	if (!have_ipv6())
		skip();
	end_join_with(&a, &b, (struct conn_param){ .at.host = "::1" });
	assert_int_equal(strncmp(iw_listener_addr(b.listener), "[::1]:", 6), 0);
	iw_qp_info(a.qp, &info);
	assert_string_equal(info.peer, iw_listener_addr(b.listener));
	part();
}

/* The loopback is 127.0.0.1, then ::1: the first is refused here. */
static void connects_to_the_address_that_answers(void **state)
{
	(void)state;
	if (!have_ipv6())
		skip();
	end_listen_with(&b, (struct conn_param){ .at.host = "::1" });
	end_connect_to(&a, NULL, iw_listener_port(b.listener), (struct conn_param){ 0 });
	end_until(&a, &b, a.seen[IW_EV_ESTABLISHED] && b.seen[IW_EV_ESTABLISHED]);
	part();
}

static void connects_by_name(void **state)
{
	struct addrinfo *known;

	(void)state;
	if (getaddrinfo("localhost", NULL, NULL, &known) != 0) {
		print_message("# needs localhost: the name does not resolve\n");
		skip();
	}
	freeaddrinfo(known);
	end_listen_with(&b, (struct conn_param){ .at.host = "127.0.0.1" });
	end_connect_to(&a, "localhost", iw_listener_port(b.listener), (struct conn_param){ 0 });
	end_until(&a, &b, a.seen[IW_EV_ESTABLISHED] && b.seen[IW_EV_ESTABLISHED]);
	part();
}

static void listener_on_every_address_takes_both_families(void **state)
{
	static const char *const hosts[] = { "127.0.0.1", "::1" };

	(void)state;
	if (!have_ipv6())
		skip();
	end_listen_with(&b, (struct conn_param){ .at.host = "*" });
	for (int i = 0; i < 2; i++) {
		end_connect_to(&a, hosts[i], iw_listener_port(b.listener),
			       (struct conn_param){ 0 });
		end_until(&a, &b, a.seen[IW_EV_ESTABLISHED] && b.seen[IW_EV_ESTABLISHED]);
		part();
		iw_qp_free(a.qp);
		iw_qp_free(b.qp);
		a.qp = end_add_qp(&a, 0, 0);
		b.qp = end_add_qp(&b, 0, 0);
		memset(a.seen, 0, sizeof(a.seen));
		memset(b.seen, 0, sizeof(b.seen));
	}
}

static void source_address_is_the_one_asked_for(void **state)
{
	struct iw_qp_info info;

	(void)state;
	end_join_with(&a, &b, (struct conn_param){ .at.bind_addr = "127.0.0.7" });
	iw_qp_info(b.qp, &info);
	assert_int_equal(strncmp(info.peer, "127.0.0.7:", 10), 0);
	part();
}

/* Creates a socket on a port of the loopback. backlog -1: it does not listen. */
static int raw_socket(uint16_t *port, int backlog)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
	if (backlog >= 0)
		assert_int_equal(listen(fd, backlog), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*port = ntohs(at.sin_port);
	return fd;
}

static int raw_connect(uint16_t port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr = { htonl(INADDR_LOOPBACK) },
				  .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) != 0)
		assert_int_equal(errno, EINPROGRESS);
	return fd;
}

/* DDP-80 */
static void refused_connection_ends_with_the_reason(void **state)
{
	struct conn_param p = { CONN_PARAM_SIZES, .at.host = "127.0.0.1" };
	uint16_t port;
	int fd = raw_socket(&port, -1);
	int err;

	(void)state;
	assert_int_equal(iw_post_recv(a.qp, 1, NULL, 0, NULL), 0);
	p.at.port = port;
	err = iw_connect(a.qp, &p.at, &p.protocol, &a.fault);
	if (err) {
		/* Refused at once: nothing has begun, and the queue pair may be used again. */
		assert_int_equal(err, a.fault.err);
	} else {
		end_until(&a, NULL, a.seen[IW_EV_CLOSED]);
		assert_int_equal(a.nwc, 1);
	}
	assert_int_equal(a.fault.os_errno, ECONNREFUSED);
	assert_non_null(strstr(a.fault.text, "connect to 127.0.0.1 port "));
	assert_int_equal(a.seen[IW_EV_ESTABLISHED] + a.seen[IW_EV_REJECTED], 0);
	close(fd);
}

/* MPA-47, SEC-29 */
static void listener_that_accepts_no_connection_is_a_time_out(void **state)
{
	struct iw_ctx_attr attr = { .size = sizeof(attr), .setup_ns = MS(150) };
	int fd[8];
	uint16_t port;
	double begun;

	(void)state;
	end_close(&a);
	end_open_with(&a, &attr, 0, 0);
	fd[0] = raw_socket(&port, 0);
	for (int i = 1; i < 8; i++)
		fd[i] = raw_connect(port);
	begun = end_clock();
	end_connect_to(&a, "127.0.0.1", port, (struct conn_param){ 0 });
	end_until(&a, NULL, a.seen[IW_EV_CLOSED]);
	assert_true(end_clock() - begun > 0.14);
	assert_int_equal(a.fault.err, IW_E_TIMEOUT);
	assert_non_null(strstr(a.fault.text, "connect to 127.0.0.1:"));
	for (int i = 0; i < 8; i++)
		close(fd[i]);
}

/* MPA-47, SEC-29 */
static void listener_that_never_answers_is_a_time_out(void **state)
{
	struct iw_ctx_attr attr = { .size = sizeof(attr), .setup_ns = MS(150) };
	uint16_t port;
	int fd;

	(void)state;
	end_close(&a);
	end_open_with(&a, &attr, 0, 0);
	fd = raw_socket(&port, 8);
	assert_int_equal(iw_post_recv(a.qp, 7, NULL, 0, NULL), 0);
	end_connect_to(&a, "127.0.0.1", port, (struct conn_param){ 0 });
	end_until(&a, NULL, a.seen[IW_EV_CLOSED]);
	assert_int_equal(a.fault.err, IW_E_TIMEOUT);
	assert_int_equal(a.nwc, 1);
	assert_int_equal(a.wc[0].wr_id, 7);
	assert_true(a.wc[0].status != 0);
	close(fd);
}

/* Returns whether the peer of fd closes it within that time. */
static bool closed_by_peer(struct end *e, int fd, int ms)
{
	double limit = end_clock() + ms / 1e3;
	char buf[256];

	while (end_clock() < limit) {
		ssize_t n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);

		if (n == 0 || (n < 0 && errno != EAGAIN && errno != ENOTCONN))
			return true;
		end_step(e, 100000);
	}
	return false;
}

/* MPA-47, SEC-29 */
static void connection_without_a_request_is_closed(void **state)
{
	struct iw_ctx_attr attr = { .size = sizeof(attr), .setup_ns = MS(100) };
	int fd;

	(void)state;
	end_close(&b);
	end_open_with(&b, &attr, 0, 0);
	end_listen_with(&b, (struct conn_param){ 0 });
	fd = raw_connect(iw_listener_port(b.listener));
	assert_true(closed_by_peer(&b, fd, 5000));
	assert_int_equal(b.seen[IW_EV_CONNECT_REQUEST], 0);
	close(fd);
}

/* MPA-31, MPA-40 */
static void garbage_instead_of_a_request_is_closed_at_once(void **state)
{
	double begun;
	int fd;

	(void)state;
	end_listen_with(&b, (struct conn_param){ 0 });
	fd = raw_connect(iw_listener_port(b.listener));
	end_run(&b, NULL, 20);
	begun = end_clock();
	assert_int_equal(send(fd, "GET / HTTP/1.0\r\n\r\n...", 21, MSG_NOSIGNAL), 21);
	assert_true(closed_by_peer(&b, fd, 5000));
	assert_true(end_clock() - begun < 1.5);
	assert_int_equal(b.seen[IW_EV_CONNECT_REQUEST], 0);
	close(fd);
}

static void peer_that_vanishes_before_its_request_is_whole_leaves_no_trace(void **state)
{
	int fd;

	(void)state;
	end_listen_with(&b, (struct conn_param){ .at.backlog = 1 });
	fd = raw_connect(iw_listener_port(b.listener));
	end_run(&b, NULL, 20);
	assert_int_equal(send(fd, "MPA ID Req", 10, MSG_NOSIGNAL), 10);
	end_run(&b, NULL, 20);
	close(fd);
	end_run(&b, NULL, 20);
	assert_int_equal(b.seen[IW_EV_CONNECT_REQUEST], 0);
	/* The backlog of one has space again. */
	end_join(&a, &b);
	part();
}

/* MPA-41, MPA-43, ENH-07 */
static void rejection_carries_private_data_and_ends_the_queue_pair(void **state)
{
	struct iw_qp_info info;

	(void)state;
	b.keep_requests = true;
	end_listen_with(&b, (struct conn_param){ 0 });
	assert_int_equal(iw_post_recv(a.qp, 1, NULL, 0, NULL), 0);
	end_connect_to(&a, "127.0.0.1", iw_listener_port(b.listener), (struct conn_param){ 0 });
	end_until(&a, &b, b.req);
	iw_reject(b.req, "not today", 9);
	end_until(&a, &b, a.seen[IW_EV_CLOSED]);
	assert_int_equal(a.seen[IW_EV_REJECTED], 1);
	assert_int_equal(a.seen[IW_EV_ESTABLISHED], 0);
	assert_int_equal(a.fault.err, IW_E_REJECTED);
	iw_qp_info(a.qp, &info);
	assert_int_equal(info.state, IW_QP_CLOSED);
	assert_int_equal(info.private_data_len, 9);
	assert_memory_equal(info.private_data, "not today", 9);
	assert_int_equal(a.nwc, 1);
	/* The responder gets no further event; another initiator may connect. */
	assert_int_equal(b.seen[IW_EV_CLOSED], 0);
	iw_qp_free(a.qp);
	a.qp = end_add_qp(&a, 0, 0);
	b.keep_requests = false;
	end_connect_to(&a, "127.0.0.1", iw_listener_port(b.listener), (struct conn_param){ 0 });
	end_until(&a, &b, a.seen[IW_EV_ESTABLISHED] && b.seen[IW_EV_ESTABLISHED]);
}

/* SEC-29 */
static void request_without_a_decision_expires_and_accept_then_fails(void **state)
{
	struct iw_ctx_attr attr = { .size = sizeof(attr), .setup_ns = MS(100) };

	(void)state;
	end_close(&b);
	end_open_with(&b, &attr, 0, 0);
	b.keep_requests = true;
	end_listen_with(&b, (struct conn_param){ 0 });
	end_connect_to(&a, "127.0.0.1", iw_listener_port(b.listener),
		       (struct conn_param){ .protocol.rev = 2 });
	end_until(&a, &b, a.seen[IW_EV_CLOSED]);
	assert_int_equal(b.seen[IW_EV_CONNECT_REQUEST], 1);
	assert_int_equal(iw_accept(b.req, b.qp, NULL, &b.why), IW_E_TIMEOUT);
	/* The queue pair can be used like a new one. */
	iw_qp_free(a.qp);
	a.qp = end_add_qp(&a, 0, 0);
	b.keep_requests = false;
	end_connect_to(&a, "127.0.0.1", iw_listener_port(b.listener), (struct conn_param){ 0 });
	end_until(&a, &b, a.seen[IW_EV_ESTABLISHED] && b.seen[IW_EV_ESTABLISHED]);
}

static void request_that_died_unseen_is_not_offered(void **state)
{
	(void)state;
	b.keep_requests = true;
	end_listen_with(&b, (struct conn_param){ 0 });
	end_connect_to(&a, "127.0.0.1", iw_listener_port(b.listener), (struct conn_param){ 0 });
	/* b makes progress, but does not take its events. */
	for (int i = 0; i < 100; i++) {
		end_step(&a, 100000);
		assert_true(iw_progress(b.ctx, 100000) >= 0);
	}
	iw_abort(a.qp);
	for (int i = 0; i < 100; i++) {
		end_step(&a, 100000);
		assert_true(iw_progress(b.ctx, 100000) >= 0);
	}
	end_take(&b);
	assert_int_equal(b.seen[IW_EV_CONNECT_REQUEST], 0);
}

static void backlog_limits_connections_in_set_up_and_queues_the_others(void **state)
{
	struct iw_qp *qp[4];
	struct conn_param p = { CONN_PARAM_SIZES, .at.host = "127.0.0.1" };

	(void)state;
	b.keep_requests = true;
	end_listen_with(&b, (struct conn_param){ .at.backlog = 2 });
	p.at.port = iw_listener_port(b.listener);
	for (int i = 0; i < 4; i++) {
		qp[i] = end_add_qp(&a, 1, 1);
		assert_int_equal(iw_connect(qp[i], &p.at, &p.protocol, &a.why), 0);
	}
	end_until(&a, &b, b.seen[IW_EV_CONNECT_REQUEST] == 2);
	end_run(&a, &b, 50);
	assert_int_equal(b.seen[IW_EV_CONNECT_REQUEST], 2);
	/* One answer makes space for one Request. */
	end_accept(&b);
	end_until(&a, &b, b.seen[IW_EV_CONNECT_REQUEST] == 3);
	end_run(&a, &b, 50);
	assert_int_equal(b.seen[IW_EV_CONNECT_REQUEST], 3);
	iw_listener_free(b.listener);
	end_until(&a, &b, a.seen[IW_EV_CLOSED] == 3 && a.seen[IW_EV_ESTABLISHED] == 1);
	end_run(&a, &b, 20);
	assert_int_equal(b.seen[IW_EV_CLOSED], 0); /* the accepted connection stays */
}

/* SEC-29 */
static void silent_connections_do_not_keep_others_out(void **state)
{
	int fd[4];
	double t;

	(void)state;
	end_listen_with(&b, (struct conn_param){ .at.backlog = 4 });
	for (int i = 0; i < 4; i++)
		fd[i] = raw_connect(iw_listener_port(b.listener));
	end_run(&b, NULL, 50);
	t = end_clock();
	end_join(&a, &b);
	/* After a fair share of the time, and before the time-out of set-up (2 s). */
	assert_in_range((end_clock() - t) * 1e3, 800, 1600);
	assert_true(closed_by_peer(&b, fd[0], 1000));
	for (int i = 0; i < 4; i++)
		close(fd[i]);
}

/* SEC-29: the peers read the Reply that rejects them, and do not close. */
static void rejected_connections_do_not_keep_others_out(void **state)
{
	static const char request[] = "MPA ID Req Frame\x40\x01\0\0";
	int fd[4];
	double t;

	(void)state;
	b.keep_requests = true;
	end_listen_with(&b, (struct conn_param){ .at.backlog = 4 });
	for (int i = 0; i < 4; i++) {
		fd[i] = raw_connect(iw_listener_port(b.listener));
		assert_int_equal(send(fd[i], request, 20, MSG_NOSIGNAL), 20);
		while (b.seen[IW_EV_CONNECT_REQUEST] == (unsigned)i)
			end_run(&b, NULL, 10);
		iw_reject(b.req, NULL, 0);
	}
	b.keep_requests = false;
	t = end_clock();
	end_join(&a, &b);
	assert_in_range((end_clock() - t) * 1e3, 0, 1600);
	for (int i = 0; i < 4; i++)
		close(fd[i]);
}

static void queue_pair_is_used_once(void **state)
{
	struct conn_param p = { CONN_PARAM_SIZES, .at.host = "127.0.0.1", .at.port = 1 };

	(void)state;
	end_join(&a, &b);
	assert_int_equal(iw_connect(a.qp, &p.at, &p.protocol, &a.why), IW_E_STATE);
	part();
	assert_int_equal(iw_connect(a.qp, &p.at, &p.protocol, &a.why), IW_E_STATE);
}

static void impossible_parameters_are_refused_with_a_reason(void **state)
{
	static const struct conn_param bad[] = {
		{ CONN_PARAM_SIZES, .protocol.rev = 3 },
		{ CONN_PARAM_SIZES, .protocol.rev = -2 },
		{ CONN_PARAM_SIZES, .protocol.rtr = 64, .protocol.peer_to_peer = true },
		{ CONN_PARAM_SIZES, .protocol.mulpdu = IW_MULPDU_MIN - 1 },
		{ CONN_PARAM_SIZES, .protocol.mulpdu = IW_MULPDU_MAX + 1 },
		{ CONN_PARAM_SIZES, .protocol.private_data_len = 4 },
		{ CONN_PARAM_SIZES, .protocol.private_data = &a,
		  .protocol.private_data_len = IW_PRIVATE_DATA_MAX + 1 },
		{ CONN_PARAM_SIZES, .at.transport = "carrier-pigeon" },
		{ CONN_PARAM_SIZES, .at.host = "127.0.0.1" }, /* port 0 */
		{ .at.size = 1 },
		{ CONN_PARAM_SIZES, .at.any_udp_port = true, .at.udp_port = 1 },
		{ CONN_PARAM_SIZES, .at.xdp = IW_XDP_WANT_NATIVE | IW_XDP_WANT_GENERIC },
		{ CONN_PARAM_SIZES, .at.xdp = 64 },
		{ CONN_PARAM_SIZES, .protocol.no_reads = true, .protocol.ird = 1 },
		{ CONN_PARAM_SIZES, .protocol.ord = IW_ORD_NO_NEGOTIATION + 1 },
		{ CONN_PARAM_SIZES, .protocol.rev = 1, .protocol.peer_to_peer = true },
		{ CONN_PARAM_SIZES, .protocol.rev = -1, .protocol.crc = IW_CRC_OFF },
		{ CONN_PARAM_SIZES, .protocol.crc = (enum iw_crc_policy)(IW_CRC_OFF + 1) },
	};
	uint16_t port;
	int fd = raw_socket(&port, 8);

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct conn_param p = bad[i];

		if (!p.at.host) {
			p.at.host = "127.0.0.1";
			p.at.port = port;
		}
		memset(&a.why, 0, sizeof(a.why));
		assert_int_equal(iw_connect(a.qp, &p.at, &p.protocol, &a.why), IW_E_INVAL);
		assert_true(a.why.text[0]);
	}
	/* None of the failures has used the queue pair. */
	end_join(&a, &b);
	close(fd);
}

static void struct_of_a_newer_version_is_refused_when_it_asks_for_more(void **state)
{
	struct {
		struct iw_endpoint_attr at;
		uint64_t more;
	} to = { .at = { .size = sizeof(to), .host = "127.0.0.1" } };
	struct {
		struct iw_protocol_attr p;
		uint64_t more;
	} newer = { .p = { .size = sizeof(newer) } };

	(void)state;
	end_listen_with(&b, (struct conn_param){ 0 });
	to.at.port = iw_listener_port(b.listener);
	to.more = 1;
	assert_int_equal(iw_connect(a.qp, &to.at, &newer.p, &a.why), IW_E_INVAL);
	to.more = 0;
	newer.more = 1;
	assert_int_equal(iw_connect(a.qp, &to.at, &newer.p, &a.why), IW_E_INVAL);
	newer.more = 0;
	assert_int_equal(iw_connect(a.qp, &to.at, &newer.p, &a.why), 0);
	end_until(&a, &b, a.seen[IW_EV_ESTABLISHED]);
}

/* A struct that was not initialized must not be read to an end far away. */
static void size_that_no_struct_has_is_refused(void **state)
{
	struct iw_endpoint_attr to = { .host = "127.0.0.1" };

	(void)state;
	for (size_t size = 0; size < sizeof(size); size++) {
		to.size = size;
		assert_int_equal(iw_connect(a.qp, &to, NULL, &a.why), IW_E_INVAL);
	}
	to.size = SIZE_MAX;
	assert_int_equal(iw_connect(a.qp, &to, NULL, &a.why), IW_E_INVAL);
	assert_non_null(strstr(a.why.text, "set it to sizeof"));
}

/* AF_XDP does not work on a loopback interface, and without libxdp on none. */
static void a_transport_that_cannot_run_gives_a_reason(void **state)
{
	struct conn_param p = { CONN_PARAM_SIZES, .at.transport = "xdp", .at.host = "127.0.0.1",
				.at.interface = "lo", .at.port = 1 };
	struct iw_listener *l;

	(void)state;
	assert_int_equal(iw_connect(a.qp, &p.at, &p.protocol, &a.why), IW_E_NOTSUP);
	assert_non_null(strstr(a.why.text, "xdp"));
	assert_int_equal(iw_listen(&l, a.ctx, &p.at, &p.protocol, &a.why), IW_E_NOTSUP);
	assert_non_null(strstr(a.why.text, "xdp"));
}

static void a_passed_listener_needs_tcp(void **state)
{
	struct conn_param p = { CONN_PARAM_SIZES, .at.transport = "udp", .at.listen_fd = 3 };
	struct iw_listener *l;

	(void)state;
	assert_int_equal(iw_listen(&l, a.ctx, &p.at, &p.protocol, &a.why), IW_E_INVAL);
	assert_non_null(strstr(a.why.text, "needs transport tcp, not udp"));
}

static void connect_refuses_a_listening_socket(void **state)
{
	struct conn_param p = { CONN_PARAM_SIZES, .at.host = "127.0.0.1", .at.port = 1 };

	(void)state;
	p.at.listen_fd = 3;
	assert_int_equal(iw_connect(a.qp, &p.at, &p.protocol, &a.why), IW_E_INVAL);
	assert_string_equal(a.why.text,
			    "connect: listen_fd 3: only iw_listen uses it; set it to 0");
	p.at.listen_fd = -1;
	assert_int_equal(iw_connect(a.qp, &p.at, &p.protocol, &a.why), IW_E_INVAL);
	assert_non_null(strstr(a.why.text, "listen_fd -1:"));
	/* The failures have not used the queue pair. */
	end_join(&a, &b);
}

static void sharing_an_association_needs_connect_over_sctp(void **state)
{
	struct conn_param p = { CONN_PARAM_SIZES, .at.host = "127.0.0.1", .at.port = 1 };
	struct iw_listener *l;

	(void)state;
	p.at.beside = a.qp;
	assert_int_equal(iw_connect(a.qp, &p.at, &p.protocol, &a.why), IW_E_INVAL);
	assert_string_equal(
		a.why.text,
		"connect: beside: needs transport sctp, udp, raw or xdp, not tcp; set it to NULL");
	p.at.transport = "udp";
	assert_int_equal(iw_listen(&l, a.ctx, &p.at, &p.protocol, &a.why), IW_E_INVAL);
	assert_string_equal(a.why.text, "listen: beside: only iw_connect uses it; set it to NULL");
	/* The failure has not used the queue pair. */
	end_join(&a, &b);
}

/* ENH-13, ENH-14, ENH-16 */
static void each_rtr_form_is_agreed_on(void **state)
{
	static const unsigned forms[] = { IW_RTR_SEND, IW_RTR_WRITE, IW_RTR_READ };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct iw_qp_info info;

		if (i > 0) {
			close_both(NULL);
			open_both(NULL);
		}
		end_join_with(&a, &b,
			      (struct conn_param){ .protocol.peer_to_peer = true,
						   .protocol.rtr = forms[i] });
		iw_qp_info(a.qp, &info);
		assert_int_equal(info.rtr, forms[i]);
		/* The responder may send first. */
		assert_int_equal(iw_post_recv(a.qp, 5, NULL, 0, NULL), 0);
		assert_int_equal(end_send(&b, 1, NULL, 0, 0), 0);
		end_until(&a, &b, end_wc(&a, 5) && end_wc(&b, 1));
		part();
	}
}

static void large_fpdus_are_agreed_on_between_two_of_us(void **state)
{
	struct iw_qp_info info;

	(void)state;
	end_join_with(&a, &b, (struct conn_param){ .protocol.mulpdu = 64768 });
	iw_qp_info(a.qp, &info);
	assert_true(info.large_fpdus);
	assert_int_equal(info.mulpdu, 64768);
	part();
}

static void large_fpdus_are_not_used_when_one_side_does_not_want_them(void **state)
{
	struct iw_qp_info info;

	(void)state;
	end_listen_with(&b, (struct conn_param){ 0 });
	end_connect_to(&a, "127.0.0.1", iw_listener_port(b.listener),
		       (struct conn_param){ .protocol.mulpdu = 64768 });
	end_until(&a, &b, a.seen[IW_EV_ESTABLISHED] && b.seen[IW_EV_ESTABLISHED]);
	iw_qp_info(a.qp, &info);
	assert_false(info.large_fpdus);
	assert_true(info.mulpdu <= info.emss);
	part();
}

/* ---------------------------------------------------------------- peers of Rev 1 */

/*
 * A peer that supports only Rev 1. The test sends its octets between the steps of the end under
 * test.
 */
static int next_connection(struct end *e, int listener)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };
	double limit = end_clock() + 5;

	while (poll(&p, 1, 0) == 0) {
		assert_true(end_clock() < limit);
		end_step(e, 100000);
	}
	return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

static size_t read_all(struct end *e, int fd, uint8_t *buf, size_t want)
{
	double limit = end_clock() + 5;
	size_t got = 0;

	while (got < want) {
		ssize_t n = recv(fd, buf + got, want - got, 0);

		assert_true(end_clock() < limit);
		if (n > 0)
			got += (size_t)n;
		else if (n == 0)
			break;
		end_step(e, 100000);
	}
	return got;
}

static int rev1_reply(int fd, uint8_t flags)
{
	uint8_t reply[20] = "MPA ID Rep Frame";

	reply[16] = flags;
	reply[17] = 1;
	return (int)send(fd, reply, sizeof(reply), MSG_NOSIGNAL);
}

/* ENH-06 */
static void peer_that_closes_on_rev_2_is_tried_with_rev_1(void **state)
{
	struct iw_qp_info info;
	uint8_t req[24];
	uint16_t port;
	int l = raw_socket(&port, 8), fd;
	bool reset;

	(void)state;
	/* It closes after reading the octets, or without reading them, which causes a reset: both
	 * mean the same. */
	for (reset = false;; reset = true) {
		assert_int_equal(iw_post_recv(a.qp, 11, NULL, 0, NULL), 0);
		end_connect_to(&a, "127.0.0.1", port, (struct conn_param){ 0 });
		fd = next_connection(&a, l);
		if (!reset) {
			assert_int_equal(read_all(&a, fd, req, 24), 24);
			assert_int_equal(req[17], 2);
		} else {
			end_run(&a, NULL, 30);
		}
		close(fd);
		fd = next_connection(&a, l);
		assert_int_equal(read_all(&a, fd, req, 20), 20);
		assert_int_equal(req[17], 1);
		assert_int_equal(rev1_reply(fd, IW_MPA_C), 20);
		end_until(&a, NULL, a.seen[IW_EV_ESTABLISHED]);
		/* The user sees one connection, and its receives are still posted. */
		assert_int_equal(a.seen[IW_EV_ESTABLISHED], 1);
		assert_int_equal(a.seen[IW_EV_CLOSED], 0);
		assert_int_equal(a.nwc, 0);
		iw_qp_info(a.qp, &info);
		assert_int_equal(info.rev, 1);
		close(fd);
		end_until(&a, NULL, a.seen[IW_EV_PEER_CLOSED] || a.seen[IW_EV_CLOSED]);
		iw_disconnect(a.qp);
		end_until(&a, NULL, a.seen[IW_EV_CLOSED]);
		assert_int_equal(a.nwc, 1);
		if (reset)
			break;
		end_close(&a);
		end_open(&a);
	}
	close(l);
}

/* ENH-05 */
static void unenhanced_rejection_of_rev_2_is_tried_with_rev_1(void **state)
{
	uint8_t req[24];
	uint16_t port;
	int l = raw_socket(&port, 8), fd;

	(void)state;
	end_connect_to(&a, "127.0.0.1", port, (struct conn_param){ 0 });
	fd = next_connection(&a, l);
	assert_int_equal(read_all(&a, fd, req, 24), 24);
	assert_int_equal(rev1_reply(fd, IW_MPA_C | IW_MPA_R), 20);
	close(fd);
	fd = next_connection(&a, l);
	assert_int_equal(read_all(&a, fd, req, 20), 20);
	assert_int_equal(req[17], 1);
	/* The second rejection is final. */
	assert_int_equal(rev1_reply(fd, IW_MPA_C | IW_MPA_R), 20);
	close(fd);
	end_until(&a, NULL, a.seen[IW_EV_CLOSED]);
	assert_int_equal(a.seen[IW_EV_REJECTED], 1);
	close(l);
}

static void rev_2_alone_and_peer_to_peer_are_not_tried_with_rev_1(void **state)
{
	static const struct conn_param wishes[] = { { .protocol.rev = 2 },
						    { .protocol.peer_to_peer = true } };
	uint8_t req[24];
	uint16_t port;
	int l = raw_socket(&port, 8), fd;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(iw_post_recv(a.qp, 1, NULL, 0, NULL), 0);
		end_connect_to(&a, "127.0.0.1", port, wishes[i]);
		fd = next_connection(&a, l);
		assert_int_equal(read_all(&a, fd, req, 24), 24);
		close(fd);
		end_until(&a, NULL, a.seen[IW_EV_CLOSED]);
		assert_int_equal(a.nwc, 1);
		end_close(&a);
		end_open(&a);
	}
	close(l);
}

static void second_attempt_that_is_refused_ends_with_a_reason(void **state)
{
	uint8_t req[24];
	uint16_t port;
	int l = raw_socket(&port, 8), fd;

	(void)state;
	assert_int_equal(iw_post_recv(a.qp, 1, NULL, 0, NULL), 0);
	end_connect_to(&a, "127.0.0.1", port, (struct conn_param){ 0 });
	fd = next_connection(&a, l);
	assert_int_equal(read_all(&a, fd, req, 24), 24);
	close(l);
	close(fd);
	end_until(&a, NULL, a.seen[IW_EV_CLOSED]);
	assert_int_equal(a.fault.os_errno, ECONNREFUSED);
	assert_int_equal(a.nwc, 1);
	assert_true(a.wc[0].status != 0);
}

/* ---------------------------------------------------------------- limits of the system */

static char traced[8192];

static void remember(void *ctx, const char *line)
{
	size_t have = strlen(traced);

	(void)ctx;
	snprintf(traced + have, sizeof(traced) - have, "%s\n", line);
}

static unsigned count(const char *what)
{
	unsigned n = 0;

	for (const char *p = traced; (p = strstr(p, what)); p++)
		n++;
	return n;
}

static void second_attempt_is_traced_as_a_connection_of_its_own(void **state)
{
	struct iw_ctx_attr attr = { .size = sizeof(attr), .trace = remember };
	uint8_t req[24];
	uint16_t port;
	int l = raw_socket(&port, 8), fd;

	(void)state;
	traced[0] = '\0';
	end_close(&a);
	end_open_with(&a, &attr, 0, 0);
	end_connect_to(&a, "127.0.0.1", port, (struct conn_param){ 0 });
	fd = next_connection(&a, l);
	assert_int_equal(read_all(&a, fd, req, 24), 24);
	close(fd);
	fd = next_connection(&a, l);
	assert_int_equal(read_all(&a, fd, req, 20), 20);
	assert_int_equal(count("\"event\":\"retry\""), 1);
	assert_int_equal(count("\"event\":\"connected\""), 2);
	close(fd);
	close(l);
}

static void listener_rests_while_there_are_no_descriptors(void **state)
{
	struct iw_ctx_attr attr = { .size = sizeof(attr), .setup_ns = MS(5000), .trace = remember };
	struct rlimit old, none;
	struct timespec t0, t1;
	int spare[64], n = 0;

	(void)state;
	traced[0] = '\0';
	end_close(&b);
	end_open_with(&b, &attr, 0, 0);
	end_listen_with(&b, (struct conn_param){ 0 });
	end_connect_to(&a, "127.0.0.1", iw_listener_port(b.listener), (struct conn_param){ 0 });
	/* Use every descriptor up to the limit. */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	spare[n] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(spare[n] >= 0);
	none = old;
	none.rlim_cur = (rlim_t)spare[n++] + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	while (n < 64 && (spare[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		n++;
	assert_int_equal(errno, EMFILE);

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t0);
	for (double end = end_clock() + 0.35; end_clock() < end;)
		end_step(&b, (int64_t)MS(20));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	/* No busy loop: few attempts, and little processor time. */
	assert_int_equal(count("\"event\":\"accept_paused\""), 1);
	assert_true((double)(t1.tv_sec - t0.tv_sec) + (double)(t1.tv_nsec - t0.tv_nsec) / 1e9 <
		    0.2);
	for (int i = 0; i < n; i++)
		close(spare[i]);
	end_until(&a, &b, a.seen[IW_EV_ESTABLISHED] && b.seen[IW_EV_ESTABLISHED]);
}

static void trace_reports_a_connection_in_lines_of_json(void **state)
{
	struct iw_ctx_attr attr = { .size = sizeof(attr), .trace = remember };
	static char in[8];

	(void)state;
	traced[0] = '\0';
	end_close(&a);
	end_open_with(&a, &attr, 0, 0);
	end_join(&a, &b);
	assert_int_equal(iw_post_recv(b.qp, 1, in, sizeof(in), NULL), 0);
	assert_int_equal(iw_post_recv(a.qp, UINT64_MAX, in, sizeof(in), NULL), 0);
	assert_int_equal(end_send(&a, 77, "three", 5, 0), 0);
	end_until(&a, &b, end_wc(&a, 77) && end_wc(&b, 1));
	assert_int_equal(end_wc(&a, 77)->len, 0);
	part();
	assert_int_equal(count("{\"schema\":1,\"event\":\"connected\","), 1);
	assert_int_equal(count("\"event\":\"established\""), 1);
	assert_int_equal(count("\"from\":\"setup\",\"to\":\"open\""), 1);
	assert_int_equal(count("\"event\":\"posted\","), 2);
	assert_int_equal(count("\"op\":\"recv\",\"wr_id\":\"0xffffffffffffffff\",\"octets\":8}"),
			 1);
	assert_int_equal(count("\"op\":\"send\",\"wr_id\":\"0x000000000000004d\",\"octets\":5}"),
			 1);
	assert_int_equal(count("\"op\":\"send\",\"wr_id\":\"0x000000000000004d\",\"octets\":5,"
			       "\"status\":\"OK\""),
			 1);
	assert_int_equal(count("\"event\":\"closed\""), 1);
	assert_int_equal(count("\"event\":\"fault\""), 0);
}

#define test(name) cmocka_unit_test_setup_teardown(name, open_both, close_both)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(both_ends_report_private_data_and_the_agreed_parameters),
		test(profile_rdmac_is_revision_0_with_markers_and_crc),
		test(profile_must_match_transport_revision_and_crc),
		test(request_reports_what_the_peer_wants),
		test(connects_over_ipv6),
		test(connects_to_the_address_that_answers),
		test(connects_by_name),
		test(listener_on_every_address_takes_both_families),
		test(source_address_is_the_one_asked_for),
		test(refused_connection_ends_with_the_reason),
		test(listener_that_accepts_no_connection_is_a_time_out),
		test(listener_that_never_answers_is_a_time_out),
		test(connection_without_a_request_is_closed),
		test(garbage_instead_of_a_request_is_closed_at_once),
		test(peer_that_vanishes_before_its_request_is_whole_leaves_no_trace),
		test(rejection_carries_private_data_and_ends_the_queue_pair),
		test(request_without_a_decision_expires_and_accept_then_fails),
		test(request_that_died_unseen_is_not_offered),
		test(backlog_limits_connections_in_set_up_and_queues_the_others),
		test(rejected_connections_do_not_keep_others_out),
		test(silent_connections_do_not_keep_others_out),
		test(queue_pair_is_used_once),
		test(impossible_parameters_are_refused_with_a_reason),
		test(struct_of_a_newer_version_is_refused_when_it_asks_for_more),
		test(size_that_no_struct_has_is_refused),
		test(a_transport_that_cannot_run_gives_a_reason),
		test(a_passed_listener_needs_tcp),
		test(connect_refuses_a_listening_socket),
		test(sharing_an_association_needs_connect_over_sctp),
		test(each_rtr_form_is_agreed_on),
		test(large_fpdus_are_agreed_on_between_two_of_us),
		test(large_fpdus_are_not_used_when_one_side_does_not_want_them),
		test(peer_that_closes_on_rev_2_is_tried_with_rev_1),
		test(unenhanced_rejection_of_rev_2_is_tried_with_rev_1),
		test(rev_2_alone_and_peer_to_peer_are_not_tried_with_rev_1),
		test(second_attempt_that_is_refused_ends_with_a_reason),
		test(second_attempt_is_traced_as_a_connection_of_its_own),
		test(listener_rests_while_there_are_no_descriptors),
		test(trace_reports_a_connection_in_lines_of_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
