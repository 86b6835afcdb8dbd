// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RDMA on an adopted Unix stream socket: every operation and size, any split of the octets, the ends
 * of the connection.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include "verbs_both.h"

#define LARGEST ((size_t)8 << 20)

static int fds[2]; /* of the initiator, of the responder */

static void open_pair(int pair[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
}

static int set_up(void **state)
{
	open_both(state);
	open_pair(fds);
	return 0;
}

static int tear_down(void **state)
{
	close_both(state);
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return 0;
}

static int adopt_with(struct end *e, int fd, bool responder, struct iw_protocol_attr p)
{
	struct iw_adopt how = { .size = sizeof(how), .fd = fd, .responder = responder };

	p.size = sizeof(p);
	return iw_adopt(e->qp, &how, &p, &e->why);
}

/* The queue pairs own the connection: the test closes its descriptors. */
static void join_with(struct iw_protocol_attr p)
{
	assert_int_equal(adopt_with(&b, fds[1], true, p), 0);
	assert_int_equal(adopt_with(&a, fds[0], false, p), 0);
	end_until(&a, &b, a.seen[IW_EV_ESTABLISHED] && b.seen[IW_EV_ESTABLISHED]);
	for (int i = 0; i < 2; i++) {
		close(fds[i]);
		fds[i] = -1;
	}
}

static void join(void)
{
	join_with((struct iw_protocol_attr){ 0 });
}

static unsigned char *octets(size_t len, unsigned seed)
{
	unsigned char *o = malloc(len);

	assert_non_null(o);
	for (size_t i = 0; i < len; i++)
		o[i] = (unsigned char)(i * 31 + i / 251 + seed);
	return o;
}

/* --- data ------------------------------------------------------------------------------------- */

struct memory {
	unsigned char *src, *dst;
	struct iw_mr *target, *source, *sink;
};

static void write_then_send(const struct memory *m, size_t len)
{
	a.nwc = b.nwc = 0;
	memset(m->dst, 0xee, len);
	assert_int_equal(iw_post_recv(b.qp, 1, m->dst + LARGEST, LARGEST, NULL), 0);
	assert_int_equal(end_write(&a, 1, m->src, len, iw_mr_stag(m->target), 0, IW_WR_UNSIGNALED),
			 0);
	assert_int_equal(end_send(&a, 2, m->src, len, 0), 0);
	end_until(&a, &b, end_wc(&a, 2) && end_wc(&b, 1));
	assert_int_equal(end_wc(&b, 1)->len, len);
	assert_memory_equal(m->dst, m->src, len);
	assert_memory_equal(m->dst + LARGEST, m->src, len);
}

static void read_back(const struct memory *m, size_t len)
{
	memset(m->dst, 0xee, len);
	assert_int_equal(end_read(&a, 3, m->sink, 0, (uint32_t)len, iw_mr_stag(m->source), 0), 0);
	end_until(&a, &b, end_wc(&a, 3));
	assert_int_equal(end_wc(&a, 3)->len, len);
	assert_memory_equal(m->dst, m->src, len);
}

static void every_operation_moves_0_to_8_mib(void **state)
{
	static const size_t sizes[] = { 0, 1, 511, 65535, 64768, 64769, 212992, 1 << 20, LARGEST };
	static const struct iw_protocol_attr framings[] = {
		{ .mulpdu = 0 },
		{ .crc = IW_CRC_OFF },
		{ .markers = true },
	};
	struct memory m = { octets(LARGEST, 1), octets(2 * LARGEST, 0), NULL, NULL, NULL };

	for (size_t f = 0; f < sizeof(framings) / sizeof(framings[0]); f++) {
		if (f > 0) {
			tear_down(state);
			set_up(state);
		}
		join_with(framings[f]);
		m.target = end_reg(&b, m.dst, LARGEST, IW_ACCESS_REMOTE_WRITE);
		m.source = end_reg(&b, m.src, LARGEST, IW_ACCESS_REMOTE_READ);
		m.sink = end_reg(&a, m.dst, LARGEST, IW_ACCESS_READ_SINK);
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			write_then_send(&m, sizes[i]);
			read_back(&m, sizes[i]);
		}
	}
	free(m.src);
	free(m.dst);
}

/* --- any split of the octets ------------------------------------------------------------------ */

/* Passes what is readable at one socket to the other one, in a piece of at most max octets. */
static void pass(int from, int to, size_t max)
{
	char buf[8192];
	ssize_t n = recv(from, buf, max < sizeof(buf) ? max : sizeof(buf), MSG_DONTWAIT);

	if (n > 0)
		assert_int_equal(send(to, buf, (size_t)n, 0), n);
}

/* Both ends, and between them two sockets that pass the octets in pieces of 1 to max octets. */
static void drive_split(const int middle[2], unsigned *seed, size_t max)
{
	for (int i = 0; i < 2; i++) {
		*seed = *seed * 1103515245u + 12345u;
		pass(middle[i], middle[1 - i], 1 + (*seed >> 16) % max);
	}
	end_step(&a, 0);
	end_step(&b, 0);
}

static void any_split_gives_the_same_octets(void **state)
{
	static const size_t max[] = { 1, 7, 700, 8192 };
	unsigned char *src = octets(20000, 1), dst[20000];
	unsigned seed = 1;

	for (size_t i = 0; i < 4; i++) {
		size_t len = i == 0 ? 500 : sizeof(dst);
		double limit = end_clock() + 20;
		int left[2], right[2], middle[2];
		struct iw_mr *mr;

		if (i > 0) {
			tear_down(state);
			set_up(state);
		}
		open_pair(left);
		open_pair(right);
		middle[0] = left[1];
		middle[1] = right[1];
		mr = end_reg(&b, dst, sizeof(dst), IW_ACCESS_REMOTE_WRITE);
		assert_int_equal(adopt_with(&b, right[0], true, (struct iw_protocol_attr){ 0 }), 0);
		assert_int_equal(adopt_with(&a, left[0], false, (struct iw_protocol_attr){ 0 }), 0);
		while (!a.seen[IW_EV_ESTABLISHED] || !b.seen[IW_EV_ESTABLISHED]) {
			assert_true(end_clock() < limit);
			drive_split(middle, &seed, max[i]);
		}
		memset(dst, 0xee, len);
		assert_int_equal(end_write(&a, 1, src, len, iw_mr_stag(mr), 0, 0), 0);
		while (memcmp(dst, src, len) != 0) {
			assert_true(end_clock() < limit);
			drive_split(middle, &seed, max[i]);
		}
		for (int k = 0; k < 2; k++) {
			close(left[k]);
			close(right[k]);
		}
	}
	free(src);
}

/* --- facts ------------------------------------------------------------------------------------ */

static void facts_have_no_segments_and_no_congestion_control(void **state)
{
	struct iw_req_info req;
	struct iw_qp_info info;
	struct iw_protocol_attr p = { 0 };

	(void)state;
	b.keep_requests = true;
	assert_int_equal(adopt_with(&b, fds[1], true, p), 0);
	assert_int_equal(adopt_with(&a, fds[0], false, p), 0);
	end_until(&a, &b, b.seen[IW_EV_CONNECT_REQUEST]);
	iw_req_info(b.req, &req);
	assert_string_equal(req.peer, "unix");
	assert_int_equal(iw_req_set_cc(b.req, "cubic", &b.why), IW_E_NOTSUP);
	assert_int_equal(iw_accept(b.req, b.qp, NULL, &b.why), 0);
	end_until(&a, &b, a.seen[IW_EV_ESTABLISHED] && b.seen[IW_EV_ESTABLISHED]);
	iw_qp_info(a.qp, &info);
	assert_string_equal(info.local, "unix");
	assert_string_equal(info.peer, "unix");
	assert_string_equal(info.cc, "");
	assert_int_equal(info.mulpdu, 64768);
	assert_int_equal(info.retransmits, 0);
}

/* tx_acked never falls, and reaches everything when the peer has read everything. */
static void acknowledged_octets_are_those_that_the_peer_has_read(void **state)
{
	unsigned char *src = octets(LARGEST, 1), *dst = octets(LARGEST, 0);
	struct iw_qp_info info;
	uint64_t before = 0;
	struct iw_mr *mr;

	(void)state;
	join();
	mr = end_reg(&b, dst, LARGEST, IW_ACCESS_REMOTE_WRITE);
	assert_int_equal(end_write(&a, 1, src, LARGEST, iw_mr_stag(mr), 0, 0), 0);
	end_step(&a, 0);
	iw_qp_info(a.qp, &info);
	assert_true(info.tx_acked < 1000);
	while (memcmp(src + LARGEST - 64, dst + LARGEST - 64, 64) != 0) {
		end_step(&a, 0);
		end_step(&b, 0);
		iw_qp_info(a.qp, &info);
		assert_true(info.tx_acked >= before);
		before = info.tx_acked;
	}
	end_run(&a, &b, 5);
	iw_qp_info(a.qp, &info);
	assert_true(info.tx_acked > LARGEST);
	free(src);
	free(dst);
}

/* --- ends ------------------------------------------------------------------------------------- */

static void disconnect_closes_one_direction_and_the_other_still_carries_data(void **state)
{
	char got[8];

	(void)state;
	assert_int_equal(iw_post_recv(a.qp, 7, got, sizeof(got), NULL), 0);
	assert_int_equal(iw_post_recv(b.qp, 6, NULL, 0, NULL), 0);
	join();
	assert_int_equal(end_send(&a, 5, NULL, 0, 0), 0);
	iw_disconnect(a.qp);
	end_until(&a, &b, b.seen[IW_EV_PEER_CLOSED]);
	assert_int_equal(end_send(&b, 8, "late", 4, 0), 0);
	end_until(&a, &b, end_wc(&a, 7));
	assert_int_equal(end_wc(&a, 7)->status, IW_OK);
	assert_memory_equal(got, "late", 4);
	iw_disconnect(b.qp);
	end_until(&a, &b, a.seen[IW_EV_CLOSED] && b.seen[IW_EV_CLOSED]);
	assert_int_equal(a.fault.err, IW_OK);
	assert_int_equal(b.fault.err, IW_OK);
}

static void aborted_peer_is_a_lost_connection(void **state)
{
	char got[8];

	(void)state;
	assert_int_equal(iw_post_recv(b.qp, 7, got, sizeof(got), NULL), 0);
	join();
	iw_abort(a.qp);
	end_until(&a, &b, a.seen[IW_EV_CLOSED] && b.seen[IW_EV_CLOSED]);
	assert_int_equal(b.fault.err, IW_E_CLOSED);
	assert_int_equal(end_wc(&b, 7)->status, IW_E_CANCELED);
}

/* A process that dies with octets pending in both directions. */
static void peer_that_dies_in_a_write_is_a_lost_connection(void **state)
{
	unsigned char *src = octets(LARGEST, 1);
	struct iw_mr *mr;

	(void)state;
	mr = end_reg(&b, src, LARGEST, IW_ACCESS_REMOTE_WRITE);
	join();
	assert_int_equal(end_write(&a, 1, src, LARGEST, iw_mr_stag(mr), 0, 0), 0);
	end_step(&a, 0);
	end_step(&a, 0);
	end_close(&b);
	end_until(&a, NULL, a.seen[IW_EV_CLOSED]);
	assert_int_equal(a.fault.err, IW_E_CLOSED);
	assert_int_not_equal(end_wc(&a, 1)->status, IW_OK);
	free(src);
	end_open(&b);
}

static void end_of_the_stream_in_start_up_is_reported(void **state)
{
	(void)state;
	assert_int_equal(adopt_with(&a, fds[0], false, (struct iw_protocol_attr){ 0 }), 0);
	end_step(&a, 0);
	assert_int_equal(shutdown(fds[1], SHUT_WR), 0);
	end_until(&a, NULL, a.seen[IW_EV_CLOSED]);
	assert_int_not_equal(a.fault.err, IW_OK);
	assert_int_equal(a.seen[IW_EV_ESTABLISHED], 0);
}

/* RFC 5044 7.1.2 rule 3: the socket is the program's again, open in both directions. */
static void rejected_connection_is_the_programs_again(void **state)
{
	const void *rest;
	char got[8];
	size_t len;

	(void)state;
	b.keep_requests = true;
	assert_int_equal(adopt_with(&b, fds[1], true, (struct iw_protocol_attr){ 0 }), 0);
	assert_int_equal(adopt_with(&a, fds[0], false, (struct iw_protocol_attr){ 0 }), 0);
	end_until(&a, &b, b.seen[IW_EV_CONNECT_REQUEST]);
	iw_reject(b.req, NULL, 0);
	end_until(&b, NULL, b.seen[IW_EV_CLOSED]);
	/* Sent directly after the Reply, which the initiator has not read yet. */
	assert_int_equal(send(fds[1], "first", 5, 0), 5);
	end_until(&a, NULL, a.seen[IW_EV_CLOSED]);
	assert_int_equal(recv(fds[0], got, 5, MSG_DONTWAIT), 5);
	assert_int_equal(iw_adopt_streaming(a.qp, &rest, &len), 0);
	assert_int_equal(iw_adopt_streaming(b.qp, &rest, &len), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(fcntl(fds[i], F_GETFL) & O_NONBLOCK, 0);
		assert_int_equal(send(fds[i], "still us", 8, 0), 8);
		assert_int_equal(recv(fds[1 - i], got, 8, MSG_WAITALL), 8);
		assert_memory_equal(got, "still us", 8);
	}
}

static void other_unix_sockets_are_refused(void **state)
{
	struct iw_protocol_attr p = { 0 };
	int packets[2], fresh = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, packets), 0);
	assert_int_equal(adopt_with(&a, fresh, false, p), IW_E_INVAL);
	assert_int_equal(adopt_with(&a, packets[0], false, p), IW_E_INVAL);
	assert_non_null(strstr(a.why.text, "not a connected TCP or Unix stream socket"));
	/* The queue pair is unchanged. */
	join();
	close(fresh);
	close(packets[0]);
	close(packets[1]);
}

#define test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(every_operation_moves_0_to_8_mib),
		test(any_split_gives_the_same_octets),
		test(facts_have_no_segments_and_no_congestion_control),
		test(acknowledged_octets_are_those_that_the_peer_has_read),
		test(disconnect_closes_one_direction_and_the_other_still_carries_data),
		test(aborted_peer_is_a_lost_connection),
		test(peer_that_dies_in_a_write_is_a_lost_connection),
		test(end_of_the_stream_in_start_up_is_reported),
		test(rejected_connection_is_the_programs_again),
		test(other_unix_sockets_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
