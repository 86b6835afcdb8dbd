// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Queue pairs over SCTP in UDP, through the public API: two contexts on the loopback. */
#include <iwarp/verbs.h>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "os/os.h"
#include "sctp/sctp.h"
#include "util/num.h"
#include "wire/sctp.h"
#include "wire/sctpddp.h"

#include "verbs_both.h"

static uint16_t udp_port;

/* Each test uses a UDP port of its own, so that no packets of an earlier test arrive there. */
static void listen_at(struct conn_param p)
{
	p.at.transport = "udp";
	p.at.size = sizeof(p.at);
	p.protocol.size = sizeof(p.protocol);
	for (int tries = 0; tries < 100; tries++) {
		udp_port = (uint16_t)(20000 + ((unsigned)getpid() * 31 + (unsigned)rand()) % 40000);
		p.at.udp_port = udp_port;
		if (iw_listen(&b.listener, b.ctx, &p.at, &p.protocol, &b.why) == 0)
			return;
	}
	fail_msg("%s", b.why.text);
}

static struct conn_param to_b(void)
{
	return (struct conn_param){ CONN_PARAM_SIZES, .at.transport = "udp", .at.host = "127.0.0.1",
				    .at.port = iw_listener_port(b.listener),
				    .at.udp_port = udp_port };
}

static void connect_qp(struct iw_qp *qp, struct conn_param p)
{
	if (iw_connect(qp, &p.at, &p.protocol, &a.why) != 0)
		fail_msg("%s", a.why.text);
}

static void establish(struct conn_param listener)
{
	listen_at(listener);
	connect_qp(a.qp, to_b());
	end_until(&a, &b, a.seen[IW_EV_ESTABLISHED] && b.seen[IW_EV_ESTABLISHED]);
}

static void fill(uint8_t *p, size_t len, unsigned seed)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)(i * 7 + (i >> 9) + seed);
}

static unsigned done(const struct end *e, enum iw_wc_op op)
{
	unsigned n = 0;

	for (unsigned i = 0; i < e->nwc; i++) {
		assert_int_equal(e->wc[i].status, IW_OK);
		n += e->wc[i].op == op;
	}
	return n;
}

static void post(struct iw_qp *qp, enum iw_wr_op op, const void *mem, size_t len, uint32_t stag)
{
	struct iw_sge sge = { mem, len };
	struct iw_send_wr wr = { .op = op, .sge = &sge, .nsge = 1, .remote_stag = stag };

	assert_int_equal(iw_post_send(qp, &wr, NULL), 0);
}

/* SCTP-05, SCTP-23, SCTP-24: Write, Send, Read, and the orderly end */
static void data_move_both_ways_and_the_end_is_orderly(void **state)
{
	enum { LEN = 3000000 };
	uint8_t *out = malloc(LEN), *in = calloc(1, LEN), *back = calloc(1, LEN);
	struct iw_mr *target, *sink;
	struct iw_qp_info info;
	uint8_t msg[16];

	(void)state;
	fill(out, LEN, 1);
	establish((struct conn_param){ 0 });
	assert_int_equal(iw_mr_reg(&target, b.pd,
				   &(struct iw_mr_attr){ .addr = in,
							 .len = LEN,
							 .access = IW_ACCESS_REMOTE_WRITE |
								   IW_ACCESS_REMOTE_READ },
				   &b.why),
			 0);
	assert_int_equal(iw_mr_reg(&sink, a.pd,
				   &(struct iw_mr_attr){ .addr = back,
							 .len = LEN,
							 .access = IW_ACCESS_READ_SINK },
				   &a.why),
			 0);
	assert_int_equal(iw_post_recv(b.qp, 1, msg, sizeof(msg), NULL), 0);
	post(a.qp, IW_WR_WRITE, out, LEN, iw_mr_stag(target));
	post(a.qp, IW_WR_SEND, "written", 8, 0);
	end_until(&a, &b, done(&b, IW_WC_RECV) == 1);
	/* Data that was written before a Send has been placed when the Send is delivered. */
	assert_memory_equal(in, out, LEN);
	assert_string_equal((char *)msg, "written");
	assert_int_equal(iw_post_send(a.qp,
				      &(struct iw_send_wr){ .op = IW_WR_READ,
							    .remote_stag = iw_mr_stag(target),
							    .sink = sink,
							    .len = LEN },
				      NULL),
			 0);
	end_until(&a, &b, done(&a, IW_WC_READ) == 1);
	assert_memory_equal(back, out, LEN);
	iw_qp_info(a.qp, &info);
	assert_int_equal(info.rev, 2);
	assert_true(info.crc);
	assert_true(info.mulpdu >= 516);
	assert_non_null(strstr(info.peer, "127.0.0.1:"));
	iw_disconnect(a.qp);
	end_until(&a, &b, b.seen[IW_EV_PEER_CLOSED]);
	iw_disconnect(b.qp);
	end_until(&a, &b, a.seen[IW_EV_CLOSED] && b.seen[IW_EV_CLOSED]);
	assert_int_equal(a.fault.err, IW_OK);
	assert_int_equal(b.fault.err, IW_OK);
	free(out);
	free(in);
	free(back);
}

/* --- an observed link between the two ends --- */

static struct {
	int fd;
	uint16_t port;
	struct sockaddr_in caller;
	unsigned completes; /* SHUTDOWN COMPLETEs: one for each orderly end of an association */
	/*
	 * Session control: its payload protocol; the Function Codes, '1' to '7', in order of
	 * transmission.
	 */
	uint32_t control;
	char functions[16];
} wire;

static void wire_open(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);

	wire.completes = 0;
	wire.control = 17;
	memset(wire.functions, 0, sizeof(wire.functions));
	wire.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(wire.fd >= 0);
	assert_int_equal(bind(wire.fd, (struct sockaddr *)&at, len), 0);
	assert_int_equal(getsockname(wire.fd, (struct sockaddr *)&at, &len), 0);
	wire.port = ntohs(at.sin_port);
}

static unsigned octets_at(const uint8_t *p, size_t n)
{
	unsigned v = 0;

	while (n-- > 0)
		v = v << 8 | *p++;
	return v;
}

/*
 * Records the session control of a packet. DATA is type 0; its payload protocol is at 12, its user
 * data at 16.
 */
static void wire_note(const uint8_t *packet, size_t n)
{
	for (size_t at = 12; at + 20 <= n; at += (octets_at(packet + at + 2, 2) + 3u) & ~3u) {
		size_t used = strlen(wire.functions);

		if (octets_at(packet + at + 2, 2) < 4)
			return;
		if (packet[at] == 0 && octets_at(packet + at + 12, 4) == wire.control &&
		    used + 1 < sizeof(wire.functions))
			wire.functions[used] = (char)('0' + octets_at(packet + at + 18, 2));
	}
}

/* Forwards received packets to the other end. */
static void wire_carry(void)
{
	struct sockaddr_in to_b = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				    .sin_port = htons(udp_port) };
	static uint8_t packet[65536];
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	ssize_t n;

	while ((n = recvfrom(wire.fd, packet, sizeof(packet), MSG_DONTWAIT,
			     (struct sockaddr *)&from, &len)) > 0) {
		bool forth = from.sin_port != to_b.sin_port;

		if (forth)
			wire.caller = from;
		wire.completes += packet[12] == IW_SCTP_SHUTDOWN_COMPLETE;
		wire_note(packet, (size_t)n);
		(void)!sendto(wire.fd, packet, (size_t)n, 0,
			      (const struct sockaddr *)(forth ? &to_b : &wire.caller), len);
	}
}

#define carry_until(cond) end_until(&a, &b, (wire_carry(), (cond)))

/*
 * DDP-12: the association ends after its last stream. The first stream ends without error, the
 * second in error.
 */
static void association_ends_with_its_last_stream(void **state)
{
	struct conn_param p;
	struct iw_qp *first, *second;
	double end;

	(void)state;
	wire_open();
	listen_at((struct conn_param){ 0 });
	p = to_b();
	p.at.udp_port = wire.port;
	connect_qp(a.qp, p);
	carry_until(a.seen[IW_EV_ESTABLISHED] && b.seen[IW_EV_ESTABLISHED]);
	first = b.qp;
	b.qp = end_add_qp(&b, 4, 4);
	second = end_add_qp(&a, 4, 4);
	p.at.beside = a.qp;
	connect_qp(second, p);
	carry_until(a.seen[IW_EV_ESTABLISHED] == 2 && b.seen[IW_EV_ESTABLISHED] == 2);
	iw_disconnect(a.qp);
	carry_until(b.seen[IW_EV_PEER_CLOSED]);
	iw_disconnect(first);
	carry_until(a.seen[IW_EV_CLOSED] == 1 && b.seen[IW_EV_CLOSED] == 1);
	for (end = end_clock() + 0.2; end_clock() < end;) {
		end_step(&a, 10000);
		end_step(&b, 10000);
		wire_carry();
	}
	assert_int_equal(wire.completes, 0);
	post(second, IW_WR_SEND, "x", 2, 0); /* b has no receive buffer */
	carry_until(a.seen[IW_EV_CLOSED] == 2 && b.seen[IW_EV_CLOSED] == 2);
	assert_int_equal(b.fault.err, IW_E_DDP_NOBUF);
	carry_until(wire.completes > 0);
	close(wire.fd);
}

/* SCTP-13, SCTP-28 */
static void rejection_reaches_the_initiator_with_its_private_data(void **state)
{
	struct iw_qp_info info;

	(void)state;
	b.keep_requests = true;
	listen_at((struct conn_param){ 0 });
	connect_qp(a.qp, to_b());
	end_until(&a, &b, b.req);
	iw_reject(b.req, "no room", 7);
	end_until(&a, &b, a.seen[IW_EV_CLOSED]);
	assert_int_equal(a.seen[IW_EV_REJECTED], 1);
	assert_int_equal(a.fault.err, IW_E_REJECTED);
	iw_qp_info(a.qp, &info);
	assert_int_equal(info.private_data_len, 7);
	assert_memory_equal(info.private_data, "no room", 7);
}

/* SCTP-47, SCTP-49, SCTP-74, DDP-08: queue pairs share an association, and one ends in error. */
static void queue_pairs_share_an_association_and_end_alone(void **state)
{
	enum { N = 20 };
	struct iw_qp *qa[N], *qb[N];
	struct iw_qp_info first, other;
	uint8_t in[N][64];

	(void)state;
	b.keep_requests = true;
	listen_at((struct conn_param){ .at.streams = N });
	for (int i = 0; i < N; i++) {
		struct conn_param p = to_b();

		qa[i] = i ? end_add_qp(&a, 4, 4) : a.qp;
		qb[i] = end_add_qp(&b, 4, 4);
		assert_int_equal(iw_post_recv(qb[i], (uint64_t)i, in[i], sizeof(in[i]), NULL), 0);
		p.at.beside = i ? a.qp : NULL;
		connect_qp(qa[i], p);
		end_until(&a, &b, b.req);
		assert_int_equal(iw_accept(b.req, qb[i], NULL, &b.why), 0);
		b.req = NULL;
		end_until(&a, &b, a.seen[IW_EV_ESTABLISHED] == (unsigned)i + 1);
	}
	iw_qp_info(qb[0], &first);
	iw_qp_info(qb[N - 1], &other);
	assert_string_equal(first.peer, other.peer);
	/* All streams are taken. */
	{
		struct conn_param p = to_b();

		p.at.beside = a.qp;
		assert_int_equal(iw_connect(end_add_qp(&a, 4, 4), &p.at, &p.protocol, &a.why),
				 IW_E_LIMIT);
	}
	/* Queue pair 3 has no buffer for a second Send: its stream ends, the others continue. */
	post(qa[3], IW_WR_SEND, "x", 2, 0);
	post(qa[3], IW_WR_SEND, "y", 2, 0);
	end_until(&a, &b, a.seen[IW_EV_CLOSED] && b.seen[IW_EV_CLOSED]);
	assert_int_equal(b.fault.err, IW_E_DDP_NOBUF);
	assert_int_equal(a.fault.err, IW_E_PEER_TERMINATE);
	for (int i = 0; i < N; i++)
		if (i != 3)
			post(qa[i], IW_WR_SEND, "still here", 11, 0);
	end_until(&a, &b, b.nwc >= N);
	for (int i = 0; i < N; i++)
		if (i != 3)
			assert_string_equal((char *)in[i], "still here");
	assert_int_equal(a.seen[IW_EV_CLOSED], 1);
}

/* SEC-14: the limits for each peer include the memory of an association once. */
static void memory_of_an_association_is_counted_with_its_first_accepted_session(void **state)
{
	enum { N = 3 };
	struct iw_qp *qa[N], *qb[N];
	size_t one, before = 0;

	(void)state;
	b.keep_requests = true;
	listen_at((struct conn_param){ .at.streams = 1000 });
	for (int i = 0; i < N; i++) {
		struct conn_param p = to_b();

		qa[i] = i ? end_add_qp(&a, 4, 4) : a.qp;
		qb[i] = end_add_qp(&b, 4, 4);
		p.at.beside = i ? a.qp : NULL;
		p.at.streams = 1000;
		before = i ? iw_qp_memory(qb[0]) : 0;
		connect_qp(qa[i], p);
		end_until(&a, &b, b.req);
		if (i == 0)
			assert_true(iw_listener_memory(b.listener) > 8000);
		else
			assert_true(iw_qp_memory(qb[0]) >= before + 64); /* the new session */
		if (i == N - 1)
			break;
		assert_int_equal(iw_accept(b.req, qb[i], NULL, &b.why), 0);
		b.req = NULL;
		end_until(&a, &b, a.seen[IW_EV_ESTABLISHED] == (unsigned)i + 1);
		assert_int_equal(iw_listener_memory(b.listener), 0);
	}
	one = iw_qp_memory(qb[1]);
	/* The association has memory for each of its streams. */
	assert_true(iw_qp_memory(qb[0]) > one + 8000);
	iw_abort(qb[0]);
	end_until(&a, &b, a.seen[IW_EV_CLOSED] && b.seen[IW_EV_CLOSED]);
	assert_true(iw_qp_memory(qb[1]) > one + 8000);
	assert_int_equal(iw_listener_memory(b.listener), 0);
}

/*
 * SEC-29: the association's last session has ended, and its queue of messages is still large. Its
 * Terminate must reach the peer, which would report an ABORT as a failure.
 */
static void limit_of_memory_does_not_cut_off_the_end_of_the_last_session(void **state)
{
	enum { N = 3000 };
	uint8_t octet = 0;
	const struct iw_mr_attr region = { .addr = &octet,
					   .len = 1,
					   .access = IW_ACCESS_REMOTE_WRITE };
	struct iw_mr *mr;
	struct iw_qp *qa = end_add_qp(&a, 4, 4), *qb = end_add_qp(&b, N, 4);

	(void)state;
	b.keep_requests = true;
	assert_int_equal(iw_mr_reg(&mr, a.pd, &region, &a.why), 0);
	listen_at((struct conn_param){ 0 });
	iw_listener_limit_memory(b.listener, 0);
	connect_qp(qa, to_b());
	end_until(&a, &b, b.req);
	assert_int_equal(iw_accept(b.req, qb, NULL, &b.why), 0);
	end_until(&a, &b, a.seen[IW_EV_ESTABLISHED] && b.seen[IW_EV_ESTABLISHED]);
	b.qp = qb;
	for (uint64_t i = 0; i < N; i++)
		assert_int_equal(end_write(&b, i, "x", 1, iw_mr_stag(mr), 0, 0), 0);
	while (b.nwc < N) {
		end_step(&a, 100000);
		end_step(&b, 100000);
	}
	/* This is more than the limit of one address. */
	assert_true(iw_qp_memory(qb) > 256 * 1024);
	iw_disconnect(qa);
	end_until(&a, &b, b.seen[IW_EV_PEER_CLOSED]);
	iw_disconnect(qb);
	end_until(&a, &b, a.seen[IW_EV_CLOSED] && b.seen[IW_EV_CLOSED]);
	assert_int_equal(a.fault.err, 0);
}

/*
 * A queue pair is aborted with data in flight, while its association stays up. The memory is the
 * caller's again as soon as the abort is reported; the caller then changes and frees it.
 */
static void memory_is_the_posters_again_when_a_queue_pair_is_aborted(void **state)
{
	struct iw_qp *second;
	struct conn_param p;
	enum { LEN = 1000000 };
	uint8_t *out = malloc(LEN), *in = calloc(1, LEN), *is = malloc(LEN), msg[16] = { 0 };
	struct iw_qp_info info;
	struct iw_mr *target;

	(void)state;
	fill(is, LEN, 3);
	memcpy(out, is, LEN);
	establish((struct conn_param){ 0 });
	second = end_add_qp(&a, 4, 4);
	b.qp = end_add_qp(&b, 4, 4);
	p = to_b();
	p.at.beside = a.qp;
	connect_qp(second, p);
	end_until(&a, &b, a.seen[IW_EV_ESTABLISHED] == 2 && b.seen[IW_EV_ESTABLISHED] == 2);
	assert_int_equal(iw_mr_reg(&target, b.pd,
				   &(struct iw_mr_attr){ .addr = in,
							 .len = LEN,
							 .access = IW_ACCESS_REMOTE_WRITE },
				   &b.why),
			 0);
	post(a.qp, IW_WR_WRITE, out, LEN, iw_mr_stag(target));
	do {
		end_step(&a, 0);
		iw_qp_info(a.qp, &info);
	} while (info.tx_fpdus < 3);
	iw_abort(a.qp);
	end_until(&a, NULL, a.seen[IW_EV_CLOSED]);
	assert_int_equal(a.nwc, 1);
	assert_int_equal(a.wc[0].status, IW_E_CANCELED);
	a.nwc = 0;
	memset(out, 0xee, LEN);
	assert_int_equal(iw_post_recv(b.qp, 1, msg, sizeof(msg), NULL), 0);
	post(second, IW_WR_SEND, "still here", 11, 0);
	end_until(&a, &b, done(&b, IW_WC_RECV) == 1 && in[2 * info.mulpdu]);
	assert_string_equal((char *)msg, "still here");
	/* The part of the Write that has arrived is the original data. */
	assert_true(info.mulpdu * 2 < LEN);
	assert_memory_equal(in, is, info.mulpdu);
	for (size_t i = 0; i < LEN; i++)
		assert_true(in[i] == 0 || in[i] == is[i]);
	free(out);
	free(in);
	free(is);
}

/* SCTP-73: all queue pairs on an association are notified that the peer is gone */
static void end_of_the_peer_is_reported_to_all_queue_pairs(void **state)
{
	struct conn_param p;
	struct iw_qp *second;

	(void)state;
	establish((struct conn_param){ 0 });
	b.qp = end_add_qp(&b, 4, 4);
	second = end_add_qp(&a, 4, 4);
	p = to_b();
	p.at.beside = a.qp;
	connect_qp(second, p);
	end_until(&a, &b, a.seen[IW_EV_ESTABLISHED] == 2);
	end_close(&b);
	end_until(&a, NULL, a.seen[IW_EV_CLOSED] == 2);
	assert_true(a.fault.err == IW_E_CLOSED || a.fault.err != IW_OK);
	end_open(&b);
}

/*
 * SCTP-02: iw_qp_assoc returns the peer's indication, the negotiated streams and the paths, but
 * only while the association is up.
 */
static void an_association_is_reported_while_it_is_up(void **state)
{
	struct iw_assoc_info i = { .size = sizeof(i) }, theirs = { .size = sizeof(theirs) };
	struct conn_param p;
	struct iw_qp *second;

	(void)state;
	assert_int_equal(iw_qp_assoc(a.qp, &i, NULL), IW_E_STATE);
	establish((struct conn_param){ .at.streams = 7 });
	b.qp = end_add_qp(&b, 4, 4);
	second = end_add_qp(&a, 4, 4);
	p = to_b();
	p.at.beside = a.qp;
	connect_qp(second, p);
	end_until(&a, &b, a.seen[IW_EV_ESTABLISHED] == 2 && b.seen[IW_EV_ESTABLISHED] == 2);
	assert_int_equal(iw_qp_assoc(second, &i, NULL), 0);
	assert_int_equal(i.in, 7);
	assert_int_equal(i.out, 7);
	assert_int_equal(i.stream, 1);
	assert_true(i.indicated);
	assert_int_equal(i.adaptation, 1);
	assert_int_equal(i.late, 0);
	assert_int_equal(i.npaths, 1);
	assert_true(i.path[0].primary && i.path[0].active);
	assert_true(i.path[0].mtu >= 576);
	assert_non_null(strstr(i.path[0].addr, "127.0.0.1:"));
	assert_int_equal(iw_qp_assoc(b.qp, &theirs, NULL), 0);
	assert_int_equal(theirs.stream, 1);
	/* An older program has a smaller struct, and gets only the fields that fit. */
	memset(&i, 0xaa, sizeof(i));
	i.size = offsetof(struct iw_assoc_info, indicated);
	assert_int_equal(iw_qp_assoc(a.qp, &i, NULL), 0);
	assert_int_equal(i.stream, 0);
	assert_int_equal(i.adaptation, 0xaaaaaaaa);
	i.size = sizeof(i) + 1;
	assert_int_equal(iw_qp_assoc(a.qp, &i, NULL), IW_E_INVAL);
	i.size = sizeof(i);
	end_close(&b);
	end_until(&a, NULL, a.seen[IW_EV_CLOSED] == 2);
	assert_int_equal(iw_qp_assoc(a.qp, &i, NULL), IW_E_STATE);
	end_open(&b);
}

static bool readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

/* A program with an event loop of its own must learn that it has something to send. */
static void descriptor_is_readable_when_an_association_must_be_served(void **state)
{
	int initiator, listener;

	(void)state;
	establish((struct conn_param){ 0 });
	initiator = iw_ctx_fd(a.ctx, &a.why);
	listener = iw_ctx_fd(b.ctx, &b.why);
	while (readable(initiator) || readable(listener)) {
		end_step(&a, 0);
		end_step(&b, 0);
	}
	iw_qp_free(a.qp);
	assert_true(readable(initiator));
	end_step(&a, 0);
	assert_false(readable(initiator));
	iw_listener_free(b.listener);
	assert_true(readable(listener));
	end_until(&b, NULL, b.seen[IW_EV_CLOSED] || b.seen[IW_EV_PEER_CLOSED]);
}

/* No socket has the UDP port open: ICMP reports that at once. */
static void closed_port_is_refused(void **state)
{
	double since = end_clock();

	(void)state;
	listen_at((struct conn_param){ 0 });
	{
		struct conn_param p = to_b();

		iw_listener_free(b.listener);
		end_step(&b, 0);
		connect_qp(a.qp, p);
	}
	end_until(&a, &b, a.seen[IW_EV_CLOSED]);
	assert_true(a.fault.err < 0);
	assert_true(end_clock() - since < 3);
}

/* --- a peer that the test controls --- */

static struct {
	int fd;
	struct iw_sctp *s;
	struct iw_sctp_assoc *a;
	bool up;
	unsigned accepts, terminates;
	uint64_t octets; /* of segments */
} hand;

static int randomness(void *ctx, void *buf, size_t len)
{
	(void)ctx;
	return iw_os_random(buf, len);
}

static void hand_send(uint16_t ssn, uint16_t fn)
{
	uint8_t octets[4];
	const struct iw_vec vec = { octets, sizeof(octets) };
	const struct iw_sctp_send m = {
		.ppid = IW_SCTP_PPID_CONTROL, .vec = &vec, .nvec = 1, .copy = true
	};

	iw_put_be16(octets, ssn);
	iw_put_be16(octets + 2, fn);
	assert_int_equal(iw_sctp_send(hand.a, &m, NULL), 0);
}

static void hand_take(const uint8_t *packet, size_t len)
{
	struct iw_sctp_packet p = { .data = packet, .len = len };
	struct iw_sctp_control c;
	struct iw_sctp_recv m;

	p.peer = (struct iw_sctp_addr){ .ip = { [10] = 0xff, 0xff, 127, 0, 0, 1 },
					.udp_port = udp_port };
	iw_sctp_input(hand.s, &p, iw_os_now());
	while (iw_sctp_next(hand.s, &m)) {
		if (m.ppid != IW_SCTP_PPID_CONTROL) {
			hand.octets += m.len;
		} else if (iw_wire_sctp_control_decode(&c, m.data, m.len) > 0) {
			hand.accepts += c.fn == IW_SCTP_FN_ACCEPT;
			hand.terminates += c.fn == IW_SCTP_FN_TERMINATE;
		}
	}
}

/* Receives all packets, handles events and timers, and sends all pending packets. */
static void hand_step(void)
{
	static uint8_t packet[65536];
	struct iw_sctp_packet p;
	struct iw_sctp_event ev;
	ssize_t n;

	while ((n = recv(hand.fd, packet, sizeof(packet), MSG_DONTWAIT)) > 0)
		hand_take(packet, (size_t)n);
	while (iw_sctp_next_event(hand.s, &ev))
		hand.up = hand.up || ev.kind == IW_SCTP_EV_UP;
	if (iw_sctp_deadline(hand.s) <= iw_os_now())
		iw_sctp_timeout(hand.s, iw_os_now());
	while ((n = (ssize_t)iw_sctp_output(hand.s, packet, 1400, &p, iw_os_now())) > 0)
		(void)!send(hand.fd, packet, (size_t)n, 0);
}

#define hand_until(cond) end_until(&b, NULL, (hand_step(), (cond)))

static void hand_open(void)
{
	const struct iw_sctp_addr to = { .ip = { [10] = 0xff, 0xff, 127, 0, 0, 1 },
					 .udp_port = udp_port };
	const struct iw_sctp_cfg cfg = { .mem = &iw_os_heap,
					 .random = randomness,
					 .port = 10000,
					 .streams = 1,
					 .adaptation = IW_SCTP_ADAPTATION_DDP,
					 .adaptation_required = true,
					 .rwnd = 1 << 20,
					 .mtu = 1400,
					 .assocs_max = 1 };
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				  .sin_port = htons(udp_port) };

	memset(&hand, 0, sizeof(hand));
	hand.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(hand.fd >= 0);
	assert_int_equal(connect(hand.fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(iw_sctp_new(&hand.s, &cfg, &b.why), 0);
	assert_int_equal(iw_sctp_connect(hand.s, &hand.a, &to, iw_listener_port(b.listener), NULL,
					 iw_os_now()),
			 0);
	hand_until(hand.up);
}

static void hand_close(void)
{
	iw_sctp_free(hand.s);
	close(hand.fd);
}

/*
 * SCTP-37: RFC 5043 6.2 requires at least one Terminate, and this end has sent it. The queue pair
 * ends without error when the next Initiate arrives.
 */
static void queue_pair_ends_when_the_peer_begins_the_next_session(void **state)
{
	struct iw_qp *next;
	enum { LEN = 100000 };
	uint8_t *out = malloc(LEN);

	(void)state;
	memset(out, 7, LEN);
	listen_at((struct conn_param){ 0 });
	hand_open();
	hand_send(0, IW_SCTP_FN_INITIATE);
	hand_until(hand.accepts == 1);
	post(b.qp, IW_WR_WRITE, out, LEN, 1);
	hand_until(hand.octets > LEN);
	iw_disconnect(b.qp);
	hand_until(hand.terminates == 1);
	assert_int_equal(b.seen[IW_EV_CLOSED], 0);
	/* The next session belongs to another queue pair. */
	next = b.qp = end_add_qp(&b, 4, 4);
	hand_send(0, IW_SCTP_FN_INITIATE);
	hand_until(hand.accepts == 2 && b.seen[IW_EV_CLOSED] == 1);
	assert_int_equal(b.fault.err, IW_OK);
	assert_int_equal(done(&b, IW_WC_WRITE), 1);
	memset(out, 8, LEN);
	free(out);
	hand.octets = 0;
	post(next, IW_WR_WRITE, "next", 5, 1);
	hand_until(hand.octets > 5);
	assert_int_equal(hand.terminates, 1);
	assert_int_equal(b.seen[IW_EV_CLOSED], 1);
	hand_close();
}

/* SCTP-22, SCTP-37: an Initiate during a session ends that session. The next one is accepted. */
static void initiate_in_the_middle_costs_no_stream(void **state)
{
	(void)state;
	listen_at((struct conn_param){ 0 });
	hand_open();
	hand_send(0, IW_SCTP_FN_INITIATE);
	hand_until(hand.accepts == 1);
	b.qp = end_add_qp(&b, 4, 4);
	hand_send(0, IW_SCTP_FN_INITIATE);
	hand_until(hand.terminates == 1 && b.seen[IW_EV_CLOSED] == 1);
	assert_int_equal(b.fault.err, IW_E_DSS_ILLEGAL);
	hand_send(0, IW_SCTP_FN_INITIATE);
	hand_until(hand.accepts == 2);
	hand_close();
}

/* The queue pair whose association is to be shared must have one. */
static void beside_needs_an_association(void **state)
{
	struct iw_qp *other = end_add_qp(&a, 4, 4);
	struct conn_param p;

	(void)state;
	listen_at((struct conn_param){ 0 });
	p = to_b();
	p.at.beside = other;
	assert_int_equal(iw_connect(a.qp, &p.at, &p.protocol, &a.why), IW_E_INVAL);
	p.at.beside = NULL;
	connect_qp(a.qp, p);
	end_until(&a, &b, a.seen[IW_EV_ESTABLISHED]);
}

/* IPv6 works through the same kind of socket */
static void ipv6_works_too(void **state)
{
	struct conn_param p;

	(void)state;
	listen_at((struct conn_param){ .at.host = "*" });
	p = to_b();
	p.at.host = "::1";
	connect_qp(a.qp, p);
	end_until(&a, &b, a.seen[IW_EV_ESTABLISHED]);
}

static void unknown_editions_are_refused(void **state)
{
	struct conn_param p = { CONN_PARAM_SIZES, .at.transport = "udp",
				.protocol.profile = "sctp-draft-99" };

	(void)state;
	assert_int_equal(iw_listen(&b.listener, b.ctx, &p.at, &p.protocol, &b.why), IW_E_INVAL);
	assert_non_null(strstr(b.why.text, "sctp-draft-99"));
	listen_at((struct conn_param){ .protocol.profile = "rfc" });
	p = to_b();
	p.protocol.profile = "";
	assert_int_equal(iw_connect(a.qp, &p.at, &p.protocol, &a.why), IW_E_INVAL);
}

/*
 * SCTP-39: both ends can use an earlier edition. The caller of the API chooses the Adaptation
 * Indication.
 */
static void an_earlier_edition_moves_the_same_octets(void **state)
{
	struct conn_param p;
	struct iw_assoc_info info = { .size = sizeof(info) };

	(void)state;
	listen_at((struct conn_param){ .protocol.profile = "sctp-draft-02" });
	p = to_b();
	p.protocol.profile = "sctp-draft-02";
	connect_qp(a.qp, p);
	end_until(&a, &b, a.seen[IW_EV_ESTABLISHED] && b.seen[IW_EV_ESTABLISHED]);
	assert_int_equal(iw_qp_assoc(a.qp, &info, NULL), 0);
	assert_true(info.indicated);
	assert_int_equal(info.adaptation, 2);
}

static int rev_of(const struct iw_qp *qp)
{
	struct iw_qp_info info;

	iw_qp_info(qp, &info);
	return (int)info.rev;
}

/* Draft 02 2.2.3: Function Codes 1 and 2 are used. Those of RFC 6581 are not even tried. */
static void an_earlier_edition_begins_with_its_own_initiate(void **state)
{
	struct conn_param p;

	(void)state;
	wire_open();
	wire.control = 2;
	listen_at((struct conn_param){ .protocol.profile = "sctp-draft-02" });
	p = to_b();
	p.at.udp_port = wire.port;
	p.protocol.profile = "sctp-draft-02";
	connect_qp(a.qp, p);
	carry_until(a.seen[IW_EV_ESTABLISHED] && b.seen[IW_EV_ESTABLISHED]);
	assert_string_equal(wire.functions, "12");
	assert_int_equal(rev_of(a.qp), 1);
	assert_int_equal(rev_of(b.qp), 1);
	close(wire.fd);
}

/* A connection on a shared association uses the forms that the association's edition has. */
static void an_edition_belongs_to_the_association(void **state)
{
	struct iw_qp *second, *first;
	struct conn_param p;

	(void)state;
	listen_at((struct conn_param){ .protocol.profile = "sctp-draft-02" });
	p = to_b();
	p.protocol.profile = "sctp-draft-02";
	connect_qp(a.qp, p);
	end_until(&a, &b, a.seen[IW_EV_ESTABLISHED] && b.seen[IW_EV_ESTABLISHED]);
	first = b.qp;
	b.qp = end_add_qp(&b, 4, 4);
	second = end_add_qp(&a, 4, 4);
	p.protocol.profile = NULL;
	p.at.beside = a.qp;
	p.protocol.rev = 2;
	assert_int_equal(iw_connect(second, &p.at, &p.protocol, &a.why), IW_E_INVAL);
	assert_non_null(strstr(a.why.text, "no enhanced sessions"));
	p.protocol.rev = 0;
	connect_qp(second, p);
	end_until(&a, &b, a.seen[IW_EV_ESTABLISHED] == 2 && b.seen[IW_EV_ESTABLISHED] == 2);
	assert_int_equal(rev_of(second), 1);
	assert_int_equal(rev_of(first), 1);
}

/*
 * ENH-06: a listener of rev 1 uses RFC 5043 alone, as over TCP. Its Terminate makes the initiator
 * try again.
 */
static void a_listener_of_rev_1_has_no_enhanced_sessions(void **state)
{
	struct conn_param p;

	(void)state;
	wire_open();
	listen_at((struct conn_param){ .protocol.rev = 1 });
	p = to_b();
	p.at.udp_port = wire.port;
	connect_qp(a.qp, p);
	carry_until(a.seen[IW_EV_ESTABLISHED] && b.seen[IW_EV_ESTABLISHED]);
	assert_string_equal(wire.functions, "5412");
	assert_int_equal(rev_of(a.qp), 1);
	a.qp = end_add_qp(&a, 4, 4);
	p.protocol.rev = 2;
	connect_qp(a.qp, p);
	carry_until(a.seen[IW_EV_CLOSED]);
	assert_int_equal(a.fault.err, IW_E_REJECTED);
	close(wire.fd);
}

/* An initiator of rev 1 tries no enhanced session */
static void an_initiator_of_rev_1_begins_plain(void **state)
{
	struct conn_param p;

	(void)state;
	wire_open();
	listen_at((struct conn_param){ 0 });
	p = to_b();
	p.at.udp_port = wire.port;
	p.protocol.rev = 1;
	connect_qp(a.qp, p);
	carry_until(a.seen[IW_EV_ESTABLISHED] && b.seen[IW_EV_ESTABLISHED]);
	assert_string_equal(wire.functions, "12");
	close(wire.fd);
}

/* ENH-04, RFC 6581 10: without depths or a model to negotiate, the Initiate is plain (RFC 5043). */
static void without_negotiation_the_initiate_is_plain(void **state)
{
	struct conn_param p;

	(void)state;
	wire_open();
	listen_at((struct conn_param){ 0 });
	p = to_b();
	p.at.udp_port = wire.port;
	p.protocol.ird = p.protocol.ord = IW_ORD_NO_NEGOTIATION;
	connect_qp(a.qp, p);
	carry_until(a.seen[IW_EV_ESTABLISHED] && b.seen[IW_EV_ESTABLISHED]);
	assert_string_equal(wire.functions, "12");
	close(wire.fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_both, close_both)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(unknown_editions_are_refused),
		TEST(an_earlier_edition_moves_the_same_octets),
		TEST(an_earlier_edition_begins_with_its_own_initiate),
		TEST(an_edition_belongs_to_the_association),
		TEST(a_listener_of_rev_1_has_no_enhanced_sessions),
		TEST(an_initiator_of_rev_1_begins_plain),
		TEST(without_negotiation_the_initiate_is_plain),
		TEST(data_move_both_ways_and_the_end_is_orderly),
		TEST(association_ends_with_its_last_stream),
		TEST(rejection_reaches_the_initiator_with_its_private_data),
		TEST(queue_pairs_share_an_association_and_end_alone),
		TEST(memory_of_an_association_is_counted_with_its_first_accepted_session),
		TEST(limit_of_memory_does_not_cut_off_the_end_of_the_last_session),
		TEST(memory_is_the_posters_again_when_a_queue_pair_is_aborted),
		TEST(end_of_the_peer_is_reported_to_all_queue_pairs),
		TEST(an_association_is_reported_while_it_is_up),
		TEST(descriptor_is_readable_when_an_association_must_be_served),
		TEST(closed_port_is_refused),
		TEST(beside_needs_an_association),
		TEST(queue_pair_ends_when_the_peer_begins_the_next_session),
		TEST(initiate_in_the_middle_costs_no_stream),
		TEST(ipv6_works_too),
	};

	srand((unsigned)time(NULL));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
