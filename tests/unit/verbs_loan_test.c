// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Received Sends that stay in the UMEM, through the public API, over "xdp" between two network
 * namespaces. Debug builds count the frames when the interface is closed: a lost loan fails there.
 */
#include "verbs_end.h"

#include <fcntl.h>
#include <sched.h>

#include "os/probe.h"
#include "util/text.h"

#include "ip_command.h"

#define LEFT  "10.77.0.1"
#define RIGHT "10.77.0.2"
#define LEN   1000
#define POSTS 1024

static struct iw_fault refused;
static bool ready;
static int here, there; /* network namespaces of b, the receiver, and of a */

static void go(int ns)
{
	assert_int_equal(setns(ns, CLONE_NEWNET), 0);
}

/* A namespace that lives as long as this process has it open. */
static int new_ns(void)
{
	return unshare(CLONE_NEWNET) == 0 ? open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)
					  : -1;
}

static int set_up(void **state)
{
	char pid[32], fd[64];

	(void)state;
	if (iw_os_probe_xdp(&refused) != 0)
		return 0;
	there = new_ns();
	here = new_ns();
	(void)iw_fail(&refused, IW_E_NOTSUP, "no network namespaces with a veth pair between them");
	if (here < 0 || there < 0)
		return 0;
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	snprintf(fd, sizeof(fd), "/proc/%s/fd/%d", pid, there);
	ready = IP("link", "add", "left", "type", "veth", "peer", "name", "right", "netns", fd) ==
			0 &&
		IP("addr", "add", LEFT "/24", "dev", "left") == 0 &&
		IP("link", "set", "left", "up") == 0;
	go(there);
	ready = ready && IP("addr", "add", RIGHT "/24", "dev", "right") == 0 &&
		IP("link", "set", "right", "up") == 0;
	return 0;
}

#define NEEDS_XDP()                                                                                \
	do {                                                                                       \
		if (!ready) {                                                                      \
			print_message("# needs xdp: %s\n", refused.text);                          \
			skip();                                                                    \
		}                                                                                  \
	} while (0)

static uint8_t sent[POSTS][LEN], buffer[POSTS][LEN];

/* Connects a to b, which has POSTS receives posted, on a queue pair with or without loans. */
static void open_both(struct end *a, struct end *b, bool loans)
{
	struct conn_param p = { .at.transport = "xdp", .at.interface = "left", .at.host = LEFT };
	struct iw_qp_attr qa = { .size = sizeof(qa), .rq_depth = POSTS, .loans = loans };

	for (size_t i = 0; i < POSTS; i++)
		for (size_t k = 0; k < LEN; k++)
			sent[i][k] = (uint8_t)(i * 13 + k);
	memset(buffer, 0, sizeof(buffer));
	go(here);
	end_open(b);
	iw_qp_free(b->qp);
	qa.send_cq = qa.recv_cq = b->cq;
	qa.user = b;
	assert_int_equal(iw_qp_new(&b->qp, b->pd, &qa, &b->why), 0);
	for (uint64_t i = 0; i < POSTS; i++)
		assert_int_equal(iw_post_recv(b->qp, i, buffer[i], LEN, NULL), 0);
	end_listen_with(b, p);
	go(there);
	end_open(a);
	p.at.interface = "right";
	end_connect_to(a, LEFT, iw_listener_port(b->listener), p);
	end_until(a, b, a->seen[IW_EV_ESTABLISHED] && b->seen[IW_EV_ESTABLISHED]);
}

/* Number of receives that b has polled. */
static unsigned received(const struct end *b)
{
	unsigned n = 0;

	for (unsigned i = 0; i < b->nwc; i++)
		n += b->wc[i].op == IW_WC_RECV && b->wc[i].status == 0;
	return n;
}

/* Sends messages first..last-1 of len octets each, until b has received them. */
static void send_some(struct end *a, struct end *b, uint64_t first, uint64_t last, size_t len)
{
	for (uint64_t i = first; i < last; i++) {
		assert_int_equal(end_send(a, i, sent[i], len, 0), 0);
		if (i % 16 == 0 || i + 1 == last)
			end_until(a, b, received(b) == i + 1);
	}
}

static const struct iw_wc *receive_of(struct end *b, uint64_t i)
{
	const struct iw_wc *wc = end_wc(b, i);

	assert_non_null(wc);
	assert_int_equal(wc->op, IW_WC_RECV);
	return wc;
}

/* A loan has the correct octets in place, and its buffer is untouched; otherwise the buffer has
 * them. */
static void must_be_right(const struct iw_wc *wc, bool loan, size_t len)
{
	static const uint8_t nothing[LEN];

	assert_int_equal(wc->len, len);
	assert_true((wc->loan > 0) == loan);
	assert_memory_equal(loan ? wc->data : buffer[wc->wr_id], sent[wc->wr_id], len);
	if (loan)
		assert_memory_equal(buffer[wc->wr_id], nothing, LEN);
}

static void give_back(struct end *b, uint64_t i)
{
	assert_int_equal(iw_loan_return(b->ctx, receive_of(b, i)->loan, &b->why), 0);
}

static void sends_are_lent_and_returned(void **state)
{
	struct end a, b;

	(void)state;
	NEEDS_XDP();
	open_both(&a, &b, true);
	for (uint64_t i = 0; i < POSTS; i++) {
		send_some(&a, &b, i, i + 1, LEN);
		must_be_right(receive_of(&b, i), true, LEN);
		give_back(&b, i);
	}
	assert_int_equal(iw_loan_return(b.ctx, receive_of(&b, 5)->loan, &b.why), IW_E_INVAL);
	assert_non_null(strstr(b.why.text, "already returned"));
	end_close(&a);
	end_close(&b);
}

static void short_sends_and_those_of_others_are_copied(void **state)
{
	struct end a, b;

	(void)state;
	NEEDS_XDP();
	open_both(&a, &b, true);
	send_some(&a, &b, 0, 1, 511);
	send_some(&a, &b, 1, 2, 512);
	must_be_right(receive_of(&b, 0), false, 511);
	must_be_right(receive_of(&b, 1), true, 512);
	end_close(&a);
	end_close(&b);
	open_both(&a, &b, false);
	send_some(&a, &b, 0, 1, LEN);
	must_be_right(receive_of(&b, 0), false, LEN);
	end_close(&a);
	end_close(&b);
}

/* Above the limit messages are copied. The outstanding loans stay unchanged. */
static void receiver_with_too_many_loans_gets_copies(void **state)
{
	enum { MOST = 512 };
	struct end a, b;

	(void)state;
	NEEDS_XDP();
	open_both(&a, &b, true);
	send_some(&a, &b, 0, POSTS - 1, LEN);
	for (uint64_t i = 0; i < POSTS - 1; i++)
		must_be_right(receive_of(&b, i), i < MOST, LEN);
	give_back(&b, 0);
	send_some(&a, &b, POSTS - 1, POSTS, LEN);
	must_be_right(receive_of(&b, POSTS - 1), true, LEN);
	/* All other loans are returned with the context. */
	end_close(&a);
	end_close(&b);
}

/* The connection is lost, its queue pair is freed, and the listener is closed: outstanding loans
 * stay unchanged. */
static void loans_outlive_their_connection(void **state)
{
	struct end a, b;

	(void)state;
	NEEDS_XDP();
	open_both(&a, &b, true);
	send_some(&a, &b, 0, 3, LEN);
	iw_abort(a.qp);
	end_until(&a, &b, b.seen[IW_EV_PEER_CLOSED]);
	iw_abort(b.qp);
	end_until(&a, &b, a.seen[IW_EV_CLOSED] && b.seen[IW_EV_CLOSED]);
	end_close(&a);
	give_back(&b, 0);
	iw_qp_free(b.qp);
	iw_listener_free(b.listener);
	end_run(&b, NULL, 50);
	must_be_right(receive_of(&b, 1), true, LEN);
	give_back(&b, 1);
	assert_int_equal(iw_loan_return(b.ctx, receive_of(&b, 1)->loan, &b.why), IW_E_INVAL);
	must_be_right(receive_of(&b, 2), true, LEN);
	end_close(&b);
	/* The interface works as before. */
	open_both(&a, &b, true);
	send_some(&a, &b, 0, 3, LEN);
	end_close(&a);
	end_close(&b);
}

/* The program never polled these loans, so freeing their queue pair returns them. */
static void loans_that_were_not_polled_are_returned_with_their_queue_pair(void **state)
{
	struct conn_param p = {
		CONN_PARAM_SIZES, .at.transport = "xdp",      .at.interface = "left",
		.at.host = LEFT,  .at.xdp = IW_XDP_WANT_COPY,
	};
	double limit = end_clock() + 10;
	struct iw_listener *again;
	struct end a, b;

	(void)state;
	NEEDS_XDP();
	open_both(&a, &b, true);
	b.hold = true;
	for (uint64_t i = 0; i < 8; i++)
		assert_int_equal(end_send(&a, i, sent[i], LEN, 0), 0);
	end_until(&a, &b, a.nwc == 8);
	iw_qp_free(b.qp);
	iw_qp_free(a.qp);
	end_run(&a, &b, 50);
	iw_listener_free(b.listener);
	end_run(&a, &b, 50);
	/* After the end of the association nothing holds the interface any more: another use of it
	 * is possible. */
	go(here);
	while (iw_listen(&again, b.ctx, &p.at, &p.protocol, &b.why) != 0) {
		if (end_clock() > limit)
			fail_msg("%s", b.why.text);
		end_run(&a, &b, 20);
	}
	end_close(&a);
	end_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sends_are_lent_and_returned),
		cmocka_unit_test(short_sends_and_those_of_others_are_copied),
		cmocka_unit_test(receiver_with_too_many_loans_gets_copies),
		cmocka_unit_test(loans_outlive_their_connection),
		cmocka_unit_test(loans_that_were_not_polled_are_returned_with_their_queue_pair),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
