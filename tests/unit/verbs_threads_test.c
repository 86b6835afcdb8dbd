// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Contexts are independent: several threads, each with its own, at the same time. For the thread
 * sanitizer.
 */
#include "verbs_end.h"

#include <pthread.h>
#include <stdatomic.h>

#define PAIRS    3
#define MESSAGES 300u

struct side {
	struct end e;
	pthread_t thread;
	_Atomic uint16_t *port; /* the responder passes its port to the initiator */
	unsigned char board[4096];
	bool ok;
};

static void open_side(struct side *s)
{
	struct iw_ctx_attr a = { .size = sizeof(a) };

	end_open_with(&s->e, &a, 0, 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(iw_post_recv(s->e.qp, 0, s->board, sizeof(s->board), NULL), 0);
}

/*
 * Posts a receive and counts messages until the end. Each message is answered; the last one is
 * answered by ending the connection.
 */
static bool talk(struct side *s, unsigned messages, bool first)
{
	struct end *e = &s->e;
	unsigned got = 0, seen = 0;
	bool begun = false;

	while (!e->seen[IW_EV_CLOSED]) {
		if (iw_cq_wait(e->cq, (int64_t)MS(10000)) != 1)
			return false;
		end_take(e);
		if (first && !begun && e->seen[IW_EV_ESTABLISHED]) {
			begun = true;
			if (end_send(e, 0, s->board, sizeof(s->board), IW_WR_UNSIGNALED) != 0)
				return false;
		}
		for (; seen < e->nwc; seen++) {
			if (e->wc[seen].op != IW_WC_RECV || e->wc[seen].status != IW_OK)
				continue;
			if (++got == messages)
				iw_disconnect(e->qp);
			else if (iw_post_recv(e->qp, 0, s->board, sizeof(s->board), NULL) != 0 ||
				 end_send(e, 0, s->board, sizeof(s->board), IW_WR_UNSIGNALED) != 0)
				return false;
		}
		if (e->seen[IW_EV_PEER_CLOSED])
			iw_disconnect(e->qp);
	}
	return got == messages && e->fault.err == IW_OK;
}

static void *initiate(void *arg)
{
	struct side *s = arg;

	open_side(s);
	while (!*s->port)
		usleep(1000);
	end_connect_to(&s->e, "127.0.0.1", *s->port, (struct conn_param){ 0 });
	s->ok = talk(s, MESSAGES, true);
	end_close(&s->e);
	return NULL;
}

static void *respond(void *arg)
{
	struct side *s = arg;

	open_side(s);
	end_listen_with(&s->e, (struct conn_param){ 0 });
	*s->port = iw_listener_port(s->e.listener);
	/* Answers the last message too; then the connection ends. */
	talk(s, MESSAGES + 1, false);
	s->ok = s->e.fault.err == IW_OK && s->e.seen[IW_EV_CLOSED] == 1 && s->e.nwc > MESSAGES;
	end_close(&s->e);
	return NULL;
}

static void each_thread_has_its_own_context(void **state)
{
	static struct side a[PAIRS], b[PAIRS];
	static _Atomic uint16_t port[PAIRS];

	(void)state;
	for (int i = 0; i < PAIRS; i++) {
		a[i].port = b[i].port = &port[i];
		assert_int_equal(pthread_create(&a[i].thread, NULL, initiate, &a[i]), 0);
		assert_int_equal(pthread_create(&b[i].thread, NULL, respond, &b[i]), 0);
	}
	for (int i = 0; i < PAIRS; i++) {
		assert_int_equal(pthread_join(a[i].thread, NULL), 0);
		assert_int_equal(pthread_join(b[i].thread, NULL), 0);
		assert_true(a[i].ok);
		assert_true(b[i].ok);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_thread_has_its_own_context),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
