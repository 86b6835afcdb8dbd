// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* RDMA on a TCP connection that already carries octets, and the return to streaming mode without RDMA. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "verbs_end.h"

static struct end a, b;
static int fds[2]; /* descriptors of the initiator and of the responder */

static void connect_pair(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &len), 0);
	fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fds[0], (struct sockaddr *)&at, sizeof(at)), 0);
	fds[1] = accept(listener, NULL, NULL);
	assert_true(fds[1] >= 0);
	close(listener);
}

static void say(int from, int to, const char *text)
{
	char got[64] = "";

	assert_int_equal(send(from, text, strlen(text), 0), strlen(text));
	assert_int_equal(recv(to, got, strlen(text), MSG_WAITALL), strlen(text));
	assert_string_equal(got, text);
}

static int set_up(void **state)
{
	const struct timeval limit = { .tv_sec = 10 };

	(void)state;
	end_open(&a);
	end_open(&b);
	connect_pair();
	for (int i = 0; i < 2; i++)
		assert_int_equal(setsockopt(fds[i], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)),
				 0);
	/* Octets of the programs' own protocol. */
	say(fds[0], fds[1], "may we?");
	say(fds[1], fds[0], "yes");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	end_close(&a);
	end_close(&b);
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return 0;
}

static int adopt(struct end *e, int fd, bool responder, const void *octets, size_t len)
{
	struct iw_adopt how = {
		.size = sizeof(how), .fd = fd, .responder = responder, .octets = octets, .len = len
	};
	struct conn_param p = { CONN_PARAM_SIZES,
				.protocol.private_data = responder ? "from b" : "from a",
				.protocol.private_data_len = 6 };

	return iw_adopt(e->qp, &how, &p.protocol, &e->why);
}

static int streaming(struct end *e, const void **octets, size_t *len)
{
	return iw_adopt_streaming(e->qp, octets, len);
}

/* A Request that the test answers. */
static void ask(void)
{
	b.keep_requests = true;
	assert_int_equal(adopt(&b, fds[1], true, NULL, 0), 0);
	assert_int_equal(adopt(&a, fds[0], false, NULL, 0), 0);
	end_until(&a, &b, b.seen[IW_EV_CONNECT_REQUEST]);
	assert_ptr_equal(b.req_qp, b.qp);
}

/* APP-05, MPA-36: after that it is a connection like any other; the descriptors may be closed */
static void both_roles_carry_rdma_after_octets_of_the_program(void **state)
{
	const void *octets;
	char board[8] = "";
	struct iw_qp_info info;
	struct iw_mr *mr;
	size_t len;

	(void)state;
	ask();
	assert_int_equal(iw_accept(b.req, b.qp, NULL, &b.why), 0);
	end_until(&a, &b, a.seen[IW_EV_ESTABLISHED] && b.seen[IW_EV_ESTABLISHED]);
	for (int i = 0; i < 2; i++) {
		close(fds[i]);
		fds[i] = -1;
	}
	iw_qp_info(a.qp, &info);
	assert_memory_equal(info.private_data, "from b", 6);
	iw_qp_info(b.qp, &info);
	assert_memory_equal(info.private_data, "from a", 6);
	mr = end_reg(&b, board, sizeof(board), IW_ACCESS_REMOTE_WRITE);
	assert_int_equal(end_write(&a, 1, "x", 1, iw_mr_stag(mr), 0, 0), 0);
	end_until(&a, &b, board[0] == 'x');
	iw_disconnect(a.qp);
	end_until(&a, &b, b.seen[IW_EV_PEER_CLOSED]);
	iw_disconnect(b.qp);
	end_until(&a, &b, a.seen[IW_EV_CLOSED] && b.seen[IW_EV_CLOSED]);
	assert_int_equal(a.fault.err, IW_OK);
	assert_int_equal(b.fault.err, IW_OK);
	assert_int_equal(streaming(&a, &octets, &len), IW_E_STATE);
	assert_int_equal(streaming(&b, &octets, &len), IW_E_STATE);
}

/* APP-05: the peer's Reply rejects (RFC 5044 7.1.2 rule 3); the octets after it can still be read */
static void rejected_initiator_continues_streaming(void **state)
{
	static const char reply[] = "MPA ID Rep Frame\x60\x01\0\4no, and plain text";
	const void *octets;
	char request[256];
	int nodelay = -1;
	socklen_t size = sizeof(nodelay);
	size_t len;

	(void)state;
	assert_int_equal(adopt(&a, fds[0], false, NULL, 0), 0);
	end_step(&a, 0);
	assert_true(recv(fds[1], request, sizeof(request), 0) >= 20);
	assert_memory_equal(request, "MPA ID Req Frame", 16);
	assert_int_equal(send(fds[1], reply, sizeof(reply) - 1, 0), sizeof(reply) - 1);
	end_until(&a, NULL, a.seen[IW_EV_CLOSED]);
	assert_int_equal(a.seen[IW_EV_REJECTED], 1);
	assert_int_equal(a.fault.err, IW_E_REJECTED);
	assert_int_equal(streaming(&a, &octets, &len), 0);
	assert_int_equal(len, 0);
	/* Unchanged: no FIN, no socket option of the library, and the octets after the Reply are
	 * there. */
	assert_int_equal(getsockopt(fds[0], IPPROTO_TCP, TCP_NODELAY, &nodelay, &size), 0);
	assert_int_equal(nodelay, 0);
	assert_int_equal(fcntl(fds[0], F_GETFL) & O_NONBLOCK, 0);
	assert_int_equal(recv(fds[0], request, 14, MSG_WAITALL), 14);
	assert_memory_equal(request, "and plain text", 14);
}

static void assert_streams(struct end *e)
{
	const void *octets;
	size_t len;

	assert_int_equal(streaming(e, &octets, &len), 0);
	assert_int_equal(len, 0);
}

static void assert_streams_no_more(struct end *e)
{
	const void *octets;
	size_t len;

	assert_int_equal(streaming(e, &octets, &len), IW_E_STATE);
}

/* MPA-41, MPA-43, APP-05: TCP stays open on both sides */
static void rejecting_leaves_both_ends_in_streaming_mode(void **state)
{
	struct iw_req_info req;
	struct iw_qp_info info;
	char helo[4];

	(void)state;
	ask();
	iw_req_info(b.req, &req);
	assert_int_equal(req.private_data_len, 6);
	assert_memory_equal(req.private_data, "from a", 6);
	assert_int_equal(strncmp(req.peer, "127.0.0.1:", 10), 0);
	assert_streams_no_more(&b);
	iw_reject(b.req, "no room", 7);
	end_until(&b, NULL, b.seen[IW_EV_CLOSED]);
	assert_int_equal(b.fault.err, IW_E_REJECTED);
	assert_int_equal(b.seen[IW_EV_REJECTED], 0); /* the initiator's event */
	assert_streams(&b);
	/* Sent directly after the Reply, which the initiator has not read yet. */
	assert_int_equal(send(fds[1], "HELO", 4, 0), 4);
	end_until(&a, NULL, a.seen[IW_EV_CLOSED]);
	assert_int_equal(a.seen[IW_EV_REJECTED], 1);
	assert_int_equal(a.fault.err, IW_E_REJECTED);
	iw_qp_info(a.qp, &info);
	assert_int_equal(info.private_data_len, 7);
	assert_memory_equal(info.private_data, "no room", 7);
	assert_streams(&a);
	/* The context ignores the octets: its epoll set must not hold the socket any more. */
	end_run(&a, &b, 5);
	assert_int_equal(iw_progress(a.ctx, 0), 0);
	assert_int_equal(recv(fds[0], helo, 4, MSG_WAITALL), 4);
	assert_memory_equal(helo, "HELO", 4);
	say(fds[0], fds[1], "plain text");
	say(fds[1], fds[0], "as before");
	/* The Request is answered: a second answer is an error. */
	assert_int_equal(iw_accept(b.req, b.qp, NULL, &b.why), IW_E_REJECTED);
	iw_reject(b.req, NULL, 0);
	assert_streams(&b);
}

/* Each attempt needs another queue pair. */
static void rejected_connection_can_be_adopted_again(void **state)
{
	struct iw_qp *first_a = a.qp, *first_b = b.qp;

	(void)state;
	ask();
	iw_reject(b.req, NULL, 0);
	end_until(&a, &b, a.seen[IW_EV_CLOSED] && b.seen[IW_EV_CLOSED]);
	a.qp = end_add_qp(&a, 0, 0);
	b.qp = end_add_qp(&b, 0, 0);
	iw_qp_free(first_a);
	iw_qp_free(first_b);
	say(fds[0], fds[1], "and now?");
	b.keep_requests = false;
	assert_int_equal(adopt(&b, fds[1], true, NULL, 0), 0);
	assert_int_equal(adopt(&a, fds[0], false, NULL, 0), 0);
	end_until(&a, &b, a.seen[IW_EV_ESTABLISHED] && b.seen[IW_EV_ESTABLISHED]);
}

/* The octets belong to the program, even if the initiator sent them before the Reply. */
static void octets_after_a_rejected_request_remain_unread(void **state)
{
	static const char request[] = "MPA ID Req Frame\x40\x01\0\0plain text";
	char got[11] = "";

	(void)state;
	b.keep_requests = true;
	assert_int_equal(adopt(&b, fds[1], true, NULL, 0), 0);
	assert_int_equal(send(fds[0], request, sizeof(request) - 1, 0), sizeof(request) - 1);
	end_until(&b, NULL, b.seen[IW_EV_CONNECT_REQUEST]);
	iw_reject(b.req, NULL, 0);
	end_until(&b, NULL, b.seen[IW_EV_CLOSED]);
	assert_streams(&b);
	assert_int_equal(recv(fds[1], got, 10, MSG_WAITALL), 10);
	assert_string_equal(got, "plain text");
}

/* The initiator still waits for a Reply, so it cannot return to streaming mode. */
static void request_without_an_answer_ends_the_connection(void **state)
{
	(void)state;
	ask();
	end_until(&b, NULL, b.seen[IW_EV_CLOSED]);
	assert_int_equal(b.fault.err, IW_E_TIMEOUT);
	assert_streams_no_more(&b);
	assert_int_equal(iw_accept(b.req, b.qp, NULL, &b.why), IW_E_TIMEOUT);
	iw_reject(b.req, NULL, 0);
	assert_streams_no_more(&b);
}

static void answer_that_cannot_be_given_ends_the_connection(void **state)
{
	static const uint8_t many[513];
	struct conn_param p = { CONN_PARAM_SIZES, .protocol.private_data = many,
				.protocol.private_data_len = sizeof(many) };
	struct iw_qp *other = end_add_qp(&b, 0, 0);

	(void)state;
	for (int how = 0; how < 3; how++) {
		ask();
		if (how == 0)
			assert_int_equal(iw_accept(b.req, other, NULL, &b.why), IW_E_INVAL);
		else if (how == 1)
			assert_int_equal(iw_accept(b.req, b.qp, &p.protocol, &b.why), IW_E_INVAL);
		else
			iw_reject(b.req, many, sizeof(many));
		end_until(&b, NULL, b.seen[IW_EV_CLOSED]);
		assert_int_equal(b.fault.err, IW_E_INVAL);
		assert_streams_no_more(&b);
		tear_down(NULL);
		assert_int_equal(set_up(NULL), 0);
		other = end_add_qp(&b, 0, 0);
	}
}

static void accepted_request_is_not_answered_again(void **state)
{
	(void)state;
	ask();
	assert_int_equal(iw_accept(b.req, b.qp, NULL, &b.why), 0);
	assert_int_equal(iw_accept(b.req, b.qp, NULL, &b.why), IW_E_STATE);
	iw_reject(b.req, NULL, 0);
	end_until(&a, &b, a.seen[IW_EV_ESTABLISHED] && b.seen[IW_EV_ESTABLISHED]);
	end_run(&a, &b, 20);
	assert_int_equal(a.seen[IW_EV_CLOSED] + b.seen[IW_EV_CLOSED], 0);
}

/* APP-05: a peer that continues its own protocol gets an answer; none of its octets is lost */
static void responder_without_a_request_continues_streaming(void **state)
{
	const char plain[] = "MPA? No, HELO";
	char all[64] = "";
	const void *octets;
	size_t len;

	(void)state;
	assert_int_equal(adopt(&b, fds[1], true, NULL, 0), 0);
	assert_int_equal(send(fds[0], plain, sizeof(plain), 0), sizeof(plain));
	end_until(&b, NULL, b.seen[IW_EV_CLOSED]);
	assert_int_equal(b.seen[IW_EV_ESTABLISHED], 0);
	assert_int_equal(b.fault.err, IW_E_MPA_FRAME);
	assert_int_equal(streaming(&b, &octets, &len), 0);
	assert_in_range(len, 1, sizeof(plain));
	memcpy(all, octets, len);
	if (len < sizeof(plain))
		assert_int_equal(recv(fds[1], all + len, sizeof(plain) - len, MSG_WAITALL),
				 sizeof(plain) - len);
	assert_string_equal(all, plain);
	say(fds[1], fds[0], "250");
	say(fds[0], fds[1], "QUIT");
}

static void responder_without_octets_continues_streaming_after_the_deadline(void **state)
{
	const void *octets;
	size_t len;

	(void)state;
	assert_int_equal(adopt(&b, fds[1], true, NULL, 0), 0);
	assert_int_equal(streaming(&b, &octets, &len), IW_E_STATE); /* not yet */
	end_until(&b, NULL, b.seen[IW_EV_CLOSED]);
	assert_int_equal(b.fault.err, IW_E_TIMEOUT);
	assert_int_equal(streaming(&b, &octets, &len), 0);
	assert_int_equal(len, 0);
	say(fds[0], fds[1], "still here");
}

/* The initiator's Request is in the stream, so it cannot return to streaming mode. */
static void initiator_without_a_reply_cannot_return_to_streaming(void **state)
{
	const void *octets;
	size_t len;

	(void)state;
	assert_int_equal(adopt(&a, fds[0], false, NULL, 0), 0);
	end_until(&a, NULL, a.seen[IW_EV_CLOSED]);
	assert_int_equal(a.fault.err, IW_E_TIMEOUT);
	assert_int_equal(streaming(&a, &octets, &len), IW_E_STATE);
}

/* Tested for every number of octets of the Request that the program may have read. */
static void octets_read_by_the_program_are_passed_to_the_library(void **state)
{
	char request[256];
	size_t len = 0;

	(void)state;
	for (size_t cut = 0;; cut++) {
		assert_int_equal(adopt(&a, fds[0], false, NULL, 0), 0);
		end_step(&a, 0);
		if (len == 0)
			len = (size_t)recv(fds[1], request, sizeof(request), MSG_PEEK);
		assert_int_equal(recv(fds[1], request, cut, MSG_WAITALL), cut);
		assert_int_equal(adopt(&b, fds[1], true, request, cut), 0);
		end_until(&a, &b, a.seen[IW_EV_ESTABLISHED] && b.seen[IW_EV_ESTABLISHED]);
		if (cut == len)
			return;
		tear_down(NULL);
		assert_int_equal(set_up(NULL), 0);
	}
}

static void connection_that_cannot_be_adopted_is_refused_and_unchanged(void **state)
{
	int udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int fresh = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	assert_int_equal(adopt(&a, -1, false, NULL, 0), IW_E_INVAL);
	assert_int_equal(adopt(&a, udp, false, NULL, 0), IW_E_INVAL);
	assert_int_equal(adopt(&a, fresh, false, NULL, 0), IW_E_INVAL);
	assert_int_equal(adopt(&a, fds[0], false, "x", 1), IW_E_INVAL);
	assert_int_equal(adopt(&a, fds[0], true, NULL, 1), IW_E_INVAL);
	assert_int_equal(adopt(&a, fds[0], true, "HELO", 4), IW_E_MPA_FRAME);
	say(fds[0], fds[1], "nothing happened");
	/* The queue pair is unchanged. */
	assert_int_equal(adopt(&b, fds[1], true, NULL, 0), 0);
	assert_int_equal(adopt(&a, fds[0], false, NULL, 0), 0);
	assert_int_equal(adopt(&a, fds[0], false, NULL, 0), IW_E_STATE);
	end_until(&a, &b, a.seen[IW_EV_ESTABLISHED] && b.seen[IW_EV_ESTABLISHED]);
	close(udp);
	close(fresh);
}

#define test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(both_roles_carry_rdma_after_octets_of_the_program),
		test(rejected_initiator_continues_streaming),
		test(rejecting_leaves_both_ends_in_streaming_mode),
		test(rejected_connection_can_be_adopted_again),
		test(octets_after_a_rejected_request_remain_unread),
		test(request_without_an_answer_ends_the_connection),
		test(answer_that_cannot_be_given_ends_the_connection),
		test(accepted_request_is_not_answered_again),
		test(responder_without_a_request_continues_streaming),
		test(responder_without_octets_continues_streaming_after_the_deadline),
		test(initiator_without_a_reply_cannot_return_to_streaming),
		test(octets_read_by_the_program_are_passed_to_the_library),
		test(connection_that_cannot_be_adopted_is_refused_and_unchanged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
