// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Encrypted connections through the public API, over TCP on the loopback. */
#include "verbs_both.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "llp/stream.h"
#include "tls/tls.h"
#include "tls_keys.h"

#define BIG (8u << 20)

static struct key alice, bob;
static const uint8_t secret[32] = "0123456789abcdef0123456789abcde";
static uint8_t source[BIG], sink[BIG];

static struct iw_tls *creds(struct iw_tls_attr attr)
{
	struct iw_fault why;
	struct iw_tls *t;

	attr.size = sizeof(attr);
	if (iw_tls_new(&t, &attr, &why) != 0)
		fail_msg("%s", why.text);
	return t;
}

#define OWN(k) .cert_file = (k).cert_file, .key_file = (k).key_file
#define PSK    .psk = secret, .psk_len = sizeof(secret)

static uint32_t buffers; /* octets of the sockets; 0: as the system chooses */

/* Listens at b and connects a; NULL: plain. The credentials are freed: the connections keep them. */
static void begin(struct iw_tls *of_a, struct iw_tls *of_b)
{
	struct conn_param p = { .at.host = "127.0.0.1",
				.at.tls = of_b,
				.at.sndbuf = buffers,
				.at.rcvbuf = buffers,
				/* Its Writes would send what a mistake has left. */
				.protocol.siw_first_fpdu = IW_QUIRK_OFF };

	end_listen_with(&b, p);
	p.at.tls = of_a;
	end_connect_to(&a, "127.0.0.1", iw_listener_port(b.listener), p);
	iw_tls_free(of_a);
	iw_tls_free(of_b);
}

static void join(struct iw_tls *of_a, struct iw_tls *of_b)
{
	begin(of_a, of_b);
	end_until(&a, &b, a.seen[IW_EV_ESTABLISHED] && b.seen[IW_EV_ESTABLISHED]);
}

static void part(void)
{
	iw_disconnect(a.qp);
	end_until(&a, &b, b.seen[IW_EV_PEER_CLOSED]);
	iw_disconnect(b.qp);
	end_until(&a, &b, a.seen[IW_EV_CLOSED] && b.seen[IW_EV_CLOSED]);
	assert_int_equal(a.fault.err, IW_OK);
	assert_int_equal(b.fault.err, IW_OK);
}

static struct iw_mr *region(struct end *e, void *octets, size_t len)
{
	return end_reg(e, octets, len,
		       IW_ACCESS_REMOTE_READ | IW_ACCESS_REMOTE_WRITE | IW_ACCESS_READ_SINK);
}

static void fill(void)
{
	for (size_t i = 0; i < BIG; i++)
		source[i] = (uint8_t)(i * 31 + i / 4096);
	memset(sink, 0, BIG);
}

/* Writes all of source from one end to the other. */
static void write_all(struct end *from, struct end *to)
{
	struct iw_mr *mr = region(to, sink, BIG);

	fill();
	assert_int_equal(iw_post_recv(to->qp, 1, NULL, 0, NULL), 0);
	assert_int_equal(end_write(from, 1, source, BIG, iw_mr_stag(mr), 0, 0), 0);
	assert_int_equal(end_send(from, 2, NULL, 0, 0), 0);
	end_until(from, to, end_wc(to, 1));
	assert_memory_equal(source, sink, BIG);
	iw_mr_revoke(mr);
}

static void data_flows_in_both_directions(void **state)
{
	struct iw_tls_info x = { .size = sizeof(x) }, y = { .size = sizeof(y) };

	(void)state;
	join(creds((struct iw_tls_attr){ 0 }), creds((struct iw_tls_attr){ OWN(bob) }));
	assert_int_equal(iw_qp_tls(a.qp, &x), 0);
	assert_int_equal(iw_qp_tls(b.qp, &y), 0);
	assert_string_equal(x.version, "TLSv1.3");
	assert_true(x.has_peer_pin);
	assert_memory_equal(x.binding, y.binding, sizeof(x.binding));
	assert_int_equal(x.size, sizeof(x));
	write_all(&a, &b);
	part();
	/* Still known when the transport is closed. */
	y.version = NULL;
	assert_int_equal(iw_qp_tls(b.qp, &y), 0);
	assert_string_equal(y.version, "TLSv1.3");
}

static void responder_writes_and_initiator_reads(void **state)
{
	struct iw_mr *from, *to;

	(void)state;
	join(creds((struct iw_tls_attr){ PSK }), creds((struct iw_tls_attr){ PSK }));
	fill();
	from = region(&b, source, BIG);
	to = region(&a, sink, BIG);
	assert_int_equal(end_read(&a, 1, to, 0, BIG, iw_mr_stag(from), 0), 0);
	end_until(&a, &b, end_wc(&a, 1));
	assert_memory_equal(source, sink, BIG);
	part();
}

static void plain_connection_has_no_info(void **state)
{
	struct iw_tls_info x = { .size = sizeof(x) };

	(void)state;
	assert_int_equal(iw_qp_tls(a.qp, &x), IW_E_STATE);
	join(NULL, NULL);
	assert_int_equal(iw_qp_tls(a.qp, &x), IW_E_STATE);
	part();
}

static void request_shows_the_encryption(void **state)
{
	struct iw_tls_info x = { .size = sizeof(x) }, bad = { .size = 2 };
	struct iw_tls *t = creds((struct iw_tls_attr){ OWN(alice) });
	uint8_t pin[1][IW_TLS_PIN_LEN];

	(void)state;
	assert_int_equal(iw_tls_own_pin(t, pin[0]), 0);
	b.keep_requests = true;
	begin(t, creds((struct iw_tls_attr){ OWN(bob), .pins = pin, .npins = 1 }));
	end_until(&a, &b, b.req);
	assert_int_equal(iw_req_tls(b.req, &bad), IW_E_INVAL);
	assert_int_equal(iw_req_tls(b.req, &x), 0);
	assert_int_equal(x.auth, IW_TLS_AUTH_PIN);
	assert_memory_equal(x.peer_pin, pin[0], IW_TLS_PIN_LEN);
	end_accept(&b);
	end_until(&a, &b, a.seen[IW_EV_ESTABLISHED] && b.seen[IW_EV_ESTABLISHED]);
	part();
}

static void expect_closed_at_a(const char *text)
{
	end_until(&a, &b, a.seen[IW_EV_CLOSED]);
	assert_int_equal(a.fault.err, IW_E_TLS);
	if (!strstr(a.fault.text, text))
		fail_msg("\"%s\" does not contain \"%s\"", a.fault.text, text);
	assert_int_equal(b.seen[IW_EV_CONNECT_REQUEST], 0);
}

static void refused_certificate_ends_the_connection_at_both_ends(void **state)
{
	(void)state;
	begin(creds((struct iw_tls_attr){ .ca_file = alice.cert_file }),
	      creds((struct iw_tls_attr){ OWN(bob) }));
	expect_closed_at_a("TLS: the peer's certificate is refused");
	assert_non_null(strstr(a.fault.text, "connect to 127.0.0.1:"));
}

static void missing_certificate_is_reported_to_the_initiator(void **state)
{
	uint8_t pin[1][IW_TLS_PIN_LEN] = { { 1 } };

	(void)state;
	begin(creds((struct iw_tls_attr){ 0 }),
	      creds((struct iw_tls_attr){ OWN(bob), .pins = pin, .npins = 1 }));
	expect_closed_at_a("it requires a certificate");
}

static void wrong_key_is_reported_to_the_initiator(void **state)
{
	static const uint8_t other[16] = "x";

	(void)state;
	begin(creds((struct iw_tls_attr){ .psk = other, .psk_len = sizeof(other) }),
	      creds((struct iw_tls_attr){ PSK }));
	expect_closed_at_a("its pre-shared key is another one");
}

static void one_use_keys_serve_the_second_attempt_too(void **state)
{
	(void)state;
	join(creds((struct iw_tls_attr){ PSK, .psk_one_use = true }),
	     creds((struct iw_tls_attr){ PSK, .psk_one_use = true }));
	part();
}

static void tls_to_a_plain_listener_is_reported(void **state)
{
	(void)state;
	begin(creds((struct iw_tls_attr){ 0 }), NULL);
	end_until(&a, &b, a.seen[IW_EV_CLOSED]);
	assert_int_equal(a.fault.err, IW_E_TLS);
	assert_non_null(strstr(a.fault.text, "does it use TLS (--tls)?"));
}

static void plain_to_a_tls_listener_ends(void **state)
{
	(void)state;
	begin(NULL, creds((struct iw_tls_attr){ OWN(bob) }));
	end_until(&a, &b, a.seen[IW_EV_CLOSED]);
	assert_int_not_equal(a.fault.err, IW_OK);
	assert_int_equal(b.seen[IW_EV_CONNECT_REQUEST], 0);
}

static int raw_connect(uint16_t port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static bool is_closed(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char octets[100];

	return poll(&p, 1, 0) == 1 && recv(fd, octets, sizeof(octets), MSG_DONTWAIT) <= 0;
}

/* The time limit of the set-up includes the handshake. */
static void silent_peer_is_dropped(void **state)
{
	struct iw_tls *t = creds((struct iw_tls_attr){ OWN(bob) });
	int fd;

	(void)state;
	end_listen_with(&b, (struct conn_param){ .at.host = "127.0.0.1", .at.tls = t });
	iw_tls_free(t);
	fd = raw_connect(iw_listener_port(b.listener));
	end_until(&b, NULL, is_closed(fd));
	close(fd);
}

/* Silent connections fill the backlog, and a genuine peer still gets in. */
static void silent_peers_do_not_block_others(void **state)
{
	struct iw_tls *t = creds((struct iw_tls_attr){ OWN(bob) });
	struct iw_tls *of_a = creds((struct iw_tls_attr){ 0 });
	int fd[3];

	(void)state;
	end_listen_with(
		&b, (struct conn_param){ .at.host = "127.0.0.1", .at.tls = t, .at.backlog = 3 });
	iw_tls_free(t);
	for (int i = 0; i < 3; i++)
		fd[i] = raw_connect(iw_listener_port(b.listener));
	end_run(&b, NULL, 1100);
	end_connect_to(&a, "127.0.0.1", iw_listener_port(b.listener),
		       (struct conn_param){ .at.tls = of_a });
	iw_tls_free(of_a);
	end_until(&a, &b, a.seen[IW_EV_ESTABLISHED]);
	for (int i = 0; i < 3; i++)
		close(fd[i]);
}

/* A proxy that ends the stream without the keys of the session. */
static void truncated_stream_is_an_error(void **state)
{
	struct iw_tls *of_a = creds((struct iw_tls_attr){ 0 });
	struct iw_tls *of_b = creds((struct iw_tls_attr){ OWN(bob) });
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), from, to;
	bool cut = false;

	(void)state;
	assert_int_equal(bind(l, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(l, 1), 0);
	assert_int_equal(getsockname(l, (struct sockaddr *)&at, &len), 0);
	end_listen_with(&b, (struct conn_param){ .at.host = "127.0.0.1", .at.tls = of_b });
	end_connect_to(&a, "127.0.0.1", ntohs(at.sin_port), (struct conn_param){ .at.tls = of_a });
	iw_tls_free(of_a);
	iw_tls_free(of_b);
	from = accept4(l, NULL, NULL, SOCK_CLOEXEC);
	to = raw_connect(iw_listener_port(b.listener));
	for (double limit = end_clock() + 10; !a.seen[IW_EV_CLOSED];) {
		char octets[20000];
		ssize_t n;

		assert_true(end_clock() < limit);
		end_step(&a, 100000);
		end_step(&b, 100000);
		n = recv(from, octets, sizeof(octets), MSG_DONTWAIT);
		if (n > 0)
			assert_int_equal(send(to, octets, (size_t)n, 0), n);
		n = recv(to, octets, sizeof(octets), MSG_DONTWAIT);
		if (n > 0)
			assert_int_equal(send(from, octets, (size_t)n, 0), n);
		if (a.seen[IW_EV_ESTABLISHED] && b.seen[IW_EV_ESTABLISHED] && !cut) {
			shutdown(from, SHUT_WR);
			cut = true;
		}
	}
	assert_int_equal(a.fault.err, IW_E_TLS);
	assert_non_null(strstr(a.fault.text, "truncated"));
	close(from);
	close(to);
	close(l);
}

/* The session accepts the whole message, and the socket a part of it. */
static void rest_of_the_last_message_is_sent(void **state)
{
	enum { SIZE = 120000 };

	(void)state;
	buffers = 20000;
	join(creds((struct iw_tls_attr){ 0 }), creds((struct iw_tls_attr){ OWN(bob) }));
	fill();
	assert_int_equal(iw_post_recv(b.qp, 1, sink, SIZE, NULL), 0);
	assert_int_equal(end_send(&a, 2, source, SIZE, 0), 0);
	end_until_ms(&a, &b, end_wc(&b, 1), 1500);
	assert_memory_equal(source, sink, SIZE);
	part();
	buffers = 0;
}

/* Many Sends fill the buffers of the socket in both directions; nothing is lost. */
static void full_sockets_lose_nothing(void **state)
{
	enum { COUNT = 50, SIZE = 65536 };
	static uint8_t got[2][COUNT][SIZE];
	struct end *ends[2] = { &a, &b };

	(void)state;
	buffers = 20000;
	join(creds((struct iw_tls_attr){ 0 }), creds((struct iw_tls_attr){ OWN(bob) }));
	fill();
	for (int e = 0; e < 2; e++)
		for (unsigned i = 0; i < COUNT; i++)
			assert_int_equal(iw_post_recv(ends[e]->qp, 1000 + i, got[e][i], SIZE, NULL),
					 0);
	assert_int_equal(end_send(&a, 1, source, SIZE, 0), 0);
	end_until(&a, &b, end_wc(&b, 1000));
	for (unsigned i = 0; i < COUNT; i++) {
		if (i)
			assert_int_equal(end_send(&a, 1 + i, source + i * SIZE, SIZE, 0), 0);
		assert_int_equal(end_send(&b, 1 + i, source + i * SIZE, SIZE, 0), 0);
	}
	end_until(&a, &b, end_wc(&a, 1000 + COUNT - 1) && end_wc(&b, 1000 + COUNT - 1));
	for (int e = 0; e < 2; e++)
		assert_memory_equal(got[e], source, sizeof(got[e]));
	part();
	buffers = 0;
}

static int make_keys(void **state)
{
	(void)state;
	keys_make_dir();
	key_make(&alice, "alice", NULL, NULL);
	key_make(&bob, "bob", NULL, NULL);
	return 0;
}

static int free_keys(void **state)
{
	(void)state;
	key_free(&alice);
	key_free(&bob);
	keys_remove();
	return 0;
}

#define BOTH(name) cmocka_unit_test_setup_teardown(name, open_both, close_both)

/* --- a peer that sends records without data --------------------------------------------------- */

#define UPDATES 4000 /* key updates, much more than one read takes */

/* Sends what the session has put to out. */
static void send_output(int fd, struct iw_tls_stream *s, uint8_t *out, size_t cap)
{
	size_t n = iw_tls_stream_output(s, out, cap);

	assert_int_equal(send(fd, out, n, 0), n);
}

/* Finishes the handshake of the session on the socket fd with the accepted stream far. */
static void shake(int fd, struct iw_tls_stream *s, struct iw_stream *far)
{
	static uint8_t in[8192], out[8192];
	struct iw_fault why = { .text = "" };
	int err, of_far = IW_E_AGAIN;

	iw_tls_stream_output(s, out, sizeof(out));
	while ((err = iw_tls_stream_handshake(s, &why)) == IW_E_AGAIN) {
		send_output(fd, s, out, sizeof(out));
		of_far = far->ops->connected(far, &why);
		assert_int_equal(of_far, IW_E_AGAIN);
		(void)iw_tls_stream_taken(s);
		iw_tls_stream_input(s, in, (size_t)recv(fd, in, sizeof(in), 0));
	}
	assert_int_equal(err, 0);
	(void)iw_tls_stream_taken(s);
	send_output(fd, s, out, sizeof(out));
	while (of_far == IW_E_AGAIN)
		of_far = far->ops->connected(far, &why);
	if (of_far != 0)
		fail_msg("%s", why.text);
	iw_tls_stream_output(s, NULL, 0);
}

static void records_without_data_leave_others_their_turn(void **state)
{
	struct iw_tls *ta = creds((struct iw_tls_attr){ PSK }),
		      *tb = creds((struct iw_tls_attr){ PSK });
	const struct iw_llp_cfg cfg = {
		.host = "127.0.0.1", .listen = true, .backlog = 1, .tls = tb
	};
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), left = 0;
	static uint8_t out[4096], octets[1000];
	const struct iw_vec vec = { octets, sizeof(octets) };
	struct iw_stream *listener, *far;
	struct iw_tls_stream *s;
	struct iw_fault why;

	(void)state;
	assert_int_equal(iw_stream_open(&listener, &iw_stream_tcp_ops, &cfg, &why), 0);
	to.sin_port = htons(listener->local_port);
	assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(listener->ops->accept(listener, &far, &why), 0);
	assert_int_equal(iw_tls_stream_new(&s, ta, true, NULL, &why), 0);
	shake(fd, s, far);
	iw_tls_stream_output(s, out, sizeof(out));
	for (unsigned i = 0; i < UPDATES; i++) {
		assert_int_equal(iw_tls_stream_update_key(s), 0);
		assert_int_equal(iw_tls_stream_read(s, &vec, 1, 0, &why), IW_E_AGAIN);
		send_output(fd, s, out, sizeof(out));
	}
	assert_int_equal(far->ops->recv(far, &vec, 1, &why), IW_E_AGAIN);
	assert_int_equal(ioctl(far->fd, FIONREAD, &left), 0);
	assert_true(left > UPDATES);
	iw_tls_stream_free(s);
	far->ops->close(far, true);
	listener->ops->close(listener, true);
	close(fd);
	iw_tls_free(ta);
	iw_tls_free(tb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(data_flows_in_both_directions),
		BOTH(responder_writes_and_initiator_reads),
		BOTH(plain_connection_has_no_info),
		BOTH(request_shows_the_encryption),
		BOTH(refused_certificate_ends_the_connection_at_both_ends),
		BOTH(missing_certificate_is_reported_to_the_initiator),
		BOTH(wrong_key_is_reported_to_the_initiator),
		BOTH(one_use_keys_serve_the_second_attempt_too),
		BOTH(tls_to_a_plain_listener_is_reported),
		BOTH(plain_to_a_tls_listener_ends),
		BOTH(silent_peer_is_dropped),
		BOTH(silent_peers_do_not_block_others),
		BOTH(truncated_stream_is_an_error),
		BOTH(rest_of_the_last_message_is_sent),
		BOTH(full_sockets_lose_nothing),
		cmocka_unit_test(records_without_data_leave_others_their_turn),
	};

	return cmocka_run_group_tests(tests, make_keys, free_keys);
}
