// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The public API when any allocation fails: an error, or an end with a reason, no leak, and no use
 * after free. In the steady state nothing is allocated.
 */
#include "verbs_end.h"

#include "counting_mem.h"
#include "verbs/internal.h"

static struct counting_mem mem;

/* All steps of an initiator, while an allocation fails. Returns true if none failed. */
static bool life(struct end *b)
{
	struct iw_ctx_attr attr = { .size = sizeof(attr),
				    .setup_ns = MS(300),
				    .stall_ns = MS(300) };
	struct conn_param p = { CONN_PARAM_SIZES, .at.host = "127.0.0.1",
				.at.port = iw_listener_port(b->listener),
				.protocol.private_data = "pd", .protocol.private_data_len = 2 };
	double limit = end_clock() + 15;
	static char big[300000];
	bool whole = false;
	struct end a;

	memset(&a, 0, sizeof(a));
	if (iw_verbs_ctx_new(&a.ctx, &attr, &mem.mem, &a.why) != 0) {
		assert_int_equal(a.why.err, IW_E_NOMEM);
		return false;
	}
	if (iw_pd_new(&a.pd, a.ctx) == 0 && iw_cq_new(&a.cq, a.ctx) == 0) {
		struct iw_qp_attr qa = { .size = sizeof(qa), .send_cq = a.cq, .recv_cq = a.cq };
		struct iw_mr_attr ma = { .addr = big,
					 .len = sizeof(big),
					 .access = IW_ACCESS_READ_SINK };
		struct iw_listener *l;
		struct iw_mr *mr;

		if (iw_qp_new(&a.qp, a.pd, &qa, &a.why) == 0 &&
		    iw_post_recv(a.qp, 1, NULL, 0, NULL) == 0 &&
		    iw_mr_reg(&mr, a.pd, &ma, &a.why) == 0 &&
		    iw_listen(&l, a.ctx, &(struct conn_param){ CONN_PARAM_SIZES }.at,
			      &(struct conn_param){ CONN_PARAM_SIZES }.protocol, &a.why) == 0 &&
		    iw_connect(a.qp, &p.at, &p.protocol, &a.why) == 0) {
			bool sent = false;

			while (!a.seen[IW_EV_CLOSED]) {
				assert_true(end_clock() < limit);
				end_step(&a, 100000);
				end_step(b, 100000);
				if (a.seen[IW_EV_ESTABLISHED] && !sent) {
					sent = true;
					assert_int_equal(end_send(&a, 2, big, sizeof(big), 0), 0);
					iw_disconnect(a.qp);
				}
				if (b->seen[IW_EV_PEER_CLOSED])
					iw_disconnect(b->qp);
			}
			assert_non_null(end_wc(&a, 1));
			assert_true(!sent || end_wc(&a, 2));
			whole = a.fault.err == IW_OK;
		} else {
			assert_true(a.why.err == IW_E_NOMEM || a.why.err == IW_E_LIMIT);
		}
	}
	end_close(&a);
	return whole;
}

static void lack_of_memory_is_reported_and_leaks_nothing(void **state)
{
	bool whole = false;
	size_t n;

	(void)state;
	for (n = 1; !whole; n++) {
		static char buf[300000];
		struct end b;

		assert_true(n < 1000);
		end_open(&b);
		end_listen_with(&b, (struct conn_param){ 0 });
		assert_int_equal(iw_post_recv(b.qp, 1, buf, sizeof(buf), NULL), 0);
		counting_mem_init(&mem);
		mem.fail_from = n;
		whole = life(&b);
		assert_int_equal(mem.blocks, 0);
		assert_int_equal(mem.wrong_size, 0);
		end_close(&b);
	}
	assert_true(n > 10);
}

/* A responder without memory closes connections that it cannot keep, and continues to listen. */
static void listener_without_memory_resumes_when_memory_is_free(void **state)
{
	struct iw_ctx_attr attr = { .size = sizeof(attr), .setup_ns = MS(300) };
	struct conn_param p = { CONN_PARAM_SIZES };
	struct end a, b;

	(void)state;
	memset(&b, 0, sizeof(b));
	counting_mem_init(&mem);
	assert_int_equal(iw_verbs_ctx_new(&b.ctx, &attr, &mem.mem, &b.why), 0);
	assert_int_equal(iw_pd_new(&b.pd, b.ctx), 0);
	assert_int_equal(iw_cq_new(&b.cq, b.ctx), 0);
	b.qp = end_add_qp(&b, 0, 0);
	assert_int_equal(iw_listen(&b.listener, b.ctx, &p.at, &p.protocol, &b.why), 0);
	for (size_t n = 1; n < 4; n++) {
		end_open(&a);
		mem.calls = 0;
		mem.fail_from = n;
		end_connect_to(&a, "127.0.0.1", iw_listener_port(b.listener),
			       (struct conn_param){ .protocol.rev = 2 });
		end_until(&a, &b, a.seen[IW_EV_CLOSED]);
		assert_int_equal(b.seen[IW_EV_CONNECT_REQUEST], 0);
		end_close(&a);
	}
	mem.fail_from = 0;
	end_open(&a);
	end_connect_to(&a, "127.0.0.1", iw_listener_port(b.listener), (struct conn_param){ 0 });
	end_until(&a, &b, a.seen[IW_EV_ESTABLISHED] && b.seen[IW_EV_ESTABLISHED]);
	end_close(&a);
	end_close(&b);
	assert_int_equal(mem.blocks, 0);
}

static void steady_state_allocates_nothing(void **state)
{
	struct iw_ctx_attr attr = { .size = sizeof(attr) };
	static char src[200000], dst[200000];
	struct iw_mr *target, *source, *sink;
	struct end a, b;

	(void)state;
	memset(&a, 0, sizeof(a));
	counting_mem_init(&mem);
	assert_int_equal(iw_verbs_ctx_new(&a.ctx, &attr, &mem.mem, &a.why), 0);
	assert_int_equal(iw_pd_new(&a.pd, a.ctx), 0);
	assert_int_equal(iw_cq_new(&a.cq, a.ctx), 0);
	a.qp = end_add_qp(&a, 0, 0);
	end_open(&b);
	end_join(&a, &b);
	target = end_reg(&b, dst, sizeof(dst), IW_ACCESS_REMOTE_WRITE);
	source = end_reg(&b, src, sizeof(src), IW_ACCESS_REMOTE_READ);
	sink = end_reg(&a, dst, sizeof(dst), IW_ACCESS_READ_SINK);
	for (int i = 0; i < 40; i++) {
		if (i == 20)
			mem.calls = 0;
		a.nwc = b.nwc = 0;
		assert_int_equal(iw_post_recv(b.qp, 9, NULL, 0, NULL), 0);
		assert_int_equal(end_write(&a, 1, src, sizeof(src), iw_mr_stag(target), 0, 0), 0);
		assert_int_equal(end_read(&a, 2, sink, 0, sizeof(dst), iw_mr_stag(source), 0), 0);
		assert_int_equal(end_send(&a, 3, NULL, 0, 0), 0);
		end_until(&a, &b, a.nwc == 3 && b.nwc == 1);
	}
	assert_int_equal(mem.calls, 0);
	end_close(&a);
	end_close(&b);
	assert_int_equal(mem.blocks, 0);
}

/* A second attempt and a listener copy the caller's parameters. */
static void parameters_of_the_caller_are_copied(void **state)
{
	char profile[] = "rfc", host[] = "127.0.0.1", data[] = "pd";
	struct conn_param p = { CONN_PARAM_SIZES,
				.at.host = host,
				.at.bind_addr = host,
				.protocol.profile = profile,
				.protocol.private_data = data,
				.protocol.private_data_len = 2 };
	struct iw_listener *l;
	struct end a;

	(void)state;
	end_open(&a);
	assert_int_equal(iw_listen(&l, a.ctx, &p.at, &p.protocol, &a.why), 0);
	p.at.port = iw_listener_port(l);
	assert_int_equal(iw_connect(a.qp, &p.at, &p.protocol, &a.why), 0);
	memset(profile, 'x', sizeof(profile));
	memset(host, 'x', sizeof(host));
	memset(data, 'x', sizeof(data));
	assert_non_null(a.qp->plan);
	assert_string_equal(a.qp->plan->protocol.profile, "rfc");
	assert_string_equal(a.qp->plan->to.bind_addr, "127.0.0.1");
	assert_memory_equal(a.qp->plan->protocol.private_data, "pd", 2);
	assert_string_equal(l->protocol.profile, "rfc");
	assert_memory_equal(l->protocol.private_data, "pd", 2);
	assert_null(l->at.host);
	assert_null(l->at.bind_addr);
	end_close(&a);
}

/* The shared association may end before the second attempt. */
static void second_attempt_does_not_share_the_association(void **state)
{
	struct conn_param p = { CONN_PARAM_SIZES, .at.transport = "udp", .at.host = "127.0.0.1",
				.at.port = 1, .at.udp_port = 9 };
	struct iw_qp *second;
	struct end a;

	(void)state;
	end_open(&a);
	second = end_add_qp(&a, 4, 4);
	assert_int_equal(iw_connect(a.qp, &p.at, &p.protocol, &a.why), 0);
	p.at.beside = a.qp;
	assert_int_equal(iw_connect(second, &p.at, &p.protocol, &a.why), 0);
	assert_non_null(second->plan);
	assert_null(second->plan->to.beside);
	end_close(&a);
}

/* Two domains with the same number would share their regions. */
static void number_of_a_protection_domain_is_not_used_twice(void **state)
{
	struct iw_pd *pd, *next;
	struct end a;

	(void)state;
	end_open(&a);
	a.ctx->last_pd = UINT32_MAX - 1;
	assert_int_equal(iw_pd_new(&pd, a.ctx), 0);
	assert_int_equal(pd->number, UINT32_MAX);
	assert_int_equal(iw_pd_new(&next, a.ctx), 0);
	assert_int_not_equal(next->number, 0);
	assert_int_not_equal(next->number, a.pd->number);
	end_close(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parameters_of_the_caller_are_copied),
		cmocka_unit_test(second_attempt_does_not_share_the_association),
		cmocka_unit_test(number_of_a_protection_domain_is_not_used_twice),
		cmocka_unit_test(lack_of_memory_is_reported_and_leaks_nothing),
		cmocka_unit_test(listener_without_memory_resumes_when_memory_is_free),
		cmocka_unit_test(steady_state_allocates_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
