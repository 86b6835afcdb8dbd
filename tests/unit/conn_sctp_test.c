// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A connection over a DDP stream session: the differences from TCP. */
#include "conn/conn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pair.h"
#include "util/num.h"
#include "wire/ddp.h"
#include "wire/sctpddp.h"

static struct pair *pair(void)
{
	static struct pair p;

	pair_init(&p, 1);
	p.sctp = true;
	return &p;
}

static struct pair *open_pair(void)
{
	struct pair *p = pair();

	pair_start(p);
	pair_run(p);
	assert_int_equal(iw_conn_state(p->a.conn), IW_CONN_OPEN);
	assert_int_equal(iw_conn_state(p->b.conn), IW_CONN_OPEN);
	return p;
}

static void post_send(struct pair *p, struct end *e, void *mem, size_t len, uint64_t cookie)
{
	struct iw_op op = { .cookie = cookie, .kind = IW_OPK_SEND, .nsge = 1 };

	op.sge[0] = (struct iw_vec){ mem, len };
	assert_int_equal(iw_rdmap_post(e->rdmap, &op, p->now), 0);
}

static uint16_t control_fn(const struct wire_msg *m)
{
	return m->ppid == IW_SCTP_PPID_CONTROL ? iw_get_be16(m->data + 2) : 0;
}

/* SCTP-30: the ULPs see Private Data, depths, and each other's end as over TCP */
static void session_is_set_up_used_and_closed(void **state)
{
	struct pair *p = pair();
	uint8_t out[4000], in[4000];

	(void)state;
	p->a.cfg.mpa.offer.pd = (const uint8_t *)"hi";
	p->a.cfg.mpa.offer.pd_len = 2;
	p->b.ird = 2;
	pair_start(p);
	pair_run(p);
	assert_true(end_has_event(&p->b, IW_EVENT_REQUEST));
	assert_true(end_has_event(&p->a, IW_EVENT_ESTABLISHED));
	assert_memory_equal(iw_conn_agreed(p->b.conn)->pd, "hi", 2);
	assert_int_equal(iw_conn_agreed(p->a.conn)->rev, 2);
	assert_int_equal(iw_conn_agreed(p->a.conn)->ord, 2);
	assert_true(iw_conn_agreed(p->a.conn)->crc);
	assert_int_equal(iw_conn_mulpdu(p->a.conn), 1450);
	assert_false(iw_conn_aligned(p->a.conn));
	pattern_fill(out, sizeof(out), 1, 0);
	assert_int_equal(iw_rdmap_post_recv(p->b.rdmap, 9, in, sizeof(in)), 0);
	post_send(p, &p->a, out, sizeof(out), 3);
	pair_run(p);
	assert_int_equal(p->b.done[0].len, sizeof(in));
	assert_true(pattern_is(in, sizeof(in), 1, 0));
	/* The octets were copied: the operation is complete when SCTP has accepted them. */
	assert_int_equal(p->a.done[0].cookie, 3);
	assert_int_equal(iw_conn_counts(p->a.conn)->tx_fpdus, 3);
	assert_int_equal(iw_conn_counts(p->b.conn)->rx_fpdus, 3);
	iw_conn_close(p->a.conn, p->now);
	pair_run(p);
	assert_true(end_has_event(&p->b, IW_EVENT_PEER_CLOSED));
	assert_int_equal(iw_conn_state(p->a.conn), IW_CONN_FIN_SENT);
	iw_conn_close(p->b.conn, p->now);
	pair_run(p);
	assert_int_equal(end_closed_fault(&p->a)->err, 0);
	assert_int_equal(end_closed_fault(&p->b)->err, 0);
	assert_int_equal(iw_sctpmap_sessions(p->a.assoc), 0);
	assert_int_equal(iw_sctpmap_sessions(p->b.assoc), 0);
	pair_free(p);
}

/* SCTP-77: the peer's Terminate is answered after this end has sent all pending output */
static void other_side_may_continue_after_the_peers_terminate(void **state)
{
	struct pair *p = open_pair();
	uint8_t out[100] = { 7 }, in[100];

	(void)state;
	assert_int_equal(iw_rdmap_post_recv(p->a.rdmap, 1, in, sizeof(in)), 0);
	iw_conn_close(p->a.conn, p->now);
	pair_run(p);
	post_send(p, &p->b, out, sizeof(out), 1);
	pair_run(p);
	assert_int_equal(p->a.ndone, 1);
	assert_int_equal(p->a.done[0].status, 0);
	iw_conn_close(p->b.conn, p->now);
	pair_run(p);
	assert_non_null(end_closed_fault(&p->a));
	assert_int_equal(iw_sctpmap_sessions(p->a.assoc), 0);
	pair_free(p);
}

/* SCTP-47: a session sends on the stream with its number */
static void second_session_of_an_association_sends_on_its_own_stream(void **state)
{
	struct iw_dss_segment in;
	static const uint8_t accept[] = { 0, 0, 0, 2 };
	uint8_t octet = 'x';
	struct iw_op op = { .kind = IW_OPK_SEND, .nsge = 1, .sge = { { &octet, 1 } } };
	struct pair *p = open_pair();
	struct iw_conn_cfg cfg = p->a.cfg;
	struct iw_rdmap *rdmap;
	struct iw_sctpmap_msg m;
	struct iw_conn *conn;

	(void)state;
	assert_int_equal(iw_rdmap_new(&rdmap, &p->a.rcfg, NULL), 0);
	cfg.rdmap = rdmap;
	cfg.mpa.rev = 1;
	assert_int_equal(iw_conn_new(&conn, &cfg, p->now, NULL), 0);
	assert_int_equal(iw_dss_stream(iw_conn_session(conn)), 1);
	assert_true(iw_sctpmap_control(p->a.assoc, &m));
	assert_int_equal(m.stream, 1);
	iw_sctpmap_control_taken(p->a.assoc, 1);
	assert_ptr_equal(iw_sctpmap_receive(p->a.assoc, 1, IW_SCTP_PPID_CONTROL, accept, 4, &in),
			 iw_conn_session(conn));
	iw_conn_arrived(conn, &in, NULL, p->now);
	assert_int_equal(iw_conn_state(conn), IW_CONN_OPEN);
	assert_int_equal(iw_rdmap_post(rdmap, &op, p->now), 0);
	assert_int_equal(iw_conn_next_msg(conn, p->now)->stream, 1);
	iw_conn_free(conn);
	iw_rdmap_free(rdmap);
	pair_free(p);
}

/* DDP-76: DATA after the peer's Terminate ends the connection abortively */
static void segment_after_the_peers_terminate_ends_the_connection(void **state)
{
	struct iw_dss_segment in;
	static const uint8_t segment[] = {
		0, 3, 0x81, 0x40, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 'x'
	};
	struct pair *p = open_pair();

	(void)state;
	iw_conn_close(p->a.conn, p->now);
	pair_run(p);
	assert_true(end_has_event(&p->b, IW_EVENT_PEER_CLOSED));
	assert_null(end_closed_fault(&p->b));
	assert_ptr_equal(iw_sctpmap_receive(p->b.assoc, 0, IW_SCTP_PPID_SEGMENT, segment,
					    sizeof(segment), &in),
			 iw_conn_session(p->b.conn));
	iw_conn_arrived(p->b.conn, &in, NULL, p->now);
	pair_run(p);
	assert_int_equal(end_closed_fault(&p->b)->err, IW_E_DSS_ILLEGAL);
	pair_free(p);
}

/* SCTP-28, SCTP-13 */
static void rejection_brings_its_private_data(void **state)
{
	struct pair *p = pair();

	(void)state;
	p->b.reject = true;
	memcpy(p->b.pd, "busy", 4);
	p->b.pd_len = 4;
	pair_start(p);
	pair_run(p);
	assert_true(end_has_event(&p->a, IW_EVENT_REJECTED));
	assert_int_equal(end_closed_fault(&p->a)->err, IW_E_REJECTED);
	assert_int_equal(end_closed_fault(&p->b)->err, IW_E_REJECTED);
	assert_memory_equal(iw_conn_agreed(p->a.conn)->pd, "busy", 4);
	assert_false(iw_conn_retry_rev1(p->a.conn));
	assert_int_equal(iw_sctpmap_sessions(p->a.assoc), 0);
	pair_free(p);
}

/* A peer that supports only RFC 5043 answers an Enhanced Initiate with Terminate. */
static void refusal_of_the_layer_allows_another_try_without_enhancement(void **state)
{
	struct iw_dss_segment in;
	struct pair *p = pair();
	static const uint8_t terminate[] = { 0, 0, 0, 4 };

	(void)state;
	p->b.no_answer = true;
	pair_start(p);
	assert_ptr_equal(iw_sctpmap_receive(p->a.assoc, 0, IW_SCTP_PPID_CONTROL, terminate, 4, &in),
			 iw_conn_session(p->a.conn));
	iw_conn_arrived(p->a.conn, &in, NULL, p->now);
	end_poll(p, &p->a);
	assert_int_equal(end_closed_fault(&p->a)->err, IW_E_REJECTED);
	assert_true(iw_conn_retry_rev1(p->a.conn));
	pair_free(p);
}

/* ENH-04: with nothing to negotiate the Initiate is plain, and its refusal is final. */
static void refusal_of_a_plain_initiate_is_final(void **state)
{
	struct iw_dss_segment in;
	struct pair *p = pair();
	static const uint8_t terminate[] = { 0, 0, 0, 4 };

	(void)state;
	p->a.cfg.mpa.offer.ird = p->a.cfg.mpa.offer.ord = IW_MPA_IRD_ORD_MAX;
	p->b.no_answer = true;
	pair_start(p);
	assert_int_equal(iw_conn_agreed(p->b.conn)->rev, 1);
	assert_ptr_equal(iw_sctpmap_receive(p->a.assoc, 0, IW_SCTP_PPID_CONTROL, terminate, 4, &in),
			 iw_conn_session(p->a.conn));
	iw_conn_arrived(p->a.conn, &in, NULL, p->now);
	end_poll(p, &p->a);
	assert_int_equal(end_closed_fault(&p->a)->err, IW_E_REJECTED);
	assert_null(strstr(end_closed_fault(&p->a)->text, "Enhanced"));
	assert_false(iw_conn_retry_rev1(p->a.conn));
	pair_free(p);
}

/* SCTP-26, SCTP-74: RDMAP's Terminate is a segment; the session's Terminate follows */
static void fault_sends_a_terminate_segment_and_then_ends_the_session(void **state)
{
	struct pair *p = open_pair();
	uint8_t out[10] = { 0 };
	struct wire *w = &p->ba;
	struct iw_ddp h;

	(void)state;
	post_send(p, &p->a, out, sizeof(out), 1); /* b has no buffer for it */
	w->not_before = UINT64_MAX;
	for (int i = 0; i < 20; i++)
		(void)pair_step(p);
	assert_int_equal(w->nmsgs, 2);
	w->not_before = 0;
	assert_int_equal(w->msgs[0].ppid, IW_SCTP_PPID_SEGMENT);
	assert_true(iw_wire_ddp_decode(&h, w->msgs[0].data + 2, w->msgs[0].len - 2) > 0);
	assert_int_equal(h.opcode, IW_OP_TERM);
	assert_int_equal(control_fn(&w->msgs[1]), IW_SCTP_FN_TERMINATE);
	assert_int_equal(iw_get_be16(w->msgs[1].data), iw_get_be16(w->msgs[0].data) + 1);
	pair_run(p);
	assert_int_equal(end_closed_fault(&p->a)->err, IW_E_PEER_TERMINATE);
	assert_int_equal(end_closed_fault(&p->b)->err, IW_E_DDP_NOBUF);
	assert_int_equal(iw_sctpmap_sessions(p->a.assoc), 0);
	assert_int_equal(iw_sctpmap_sessions(p->b.assoc), 0);
	pair_free(p);
}

/* SCTP-72, SCTP-73: the association fails: all sessions are notified, and nothing is sent */
static void lost_association_ends_the_connection_without_sending(void **state)
{
	struct pair *p = open_pair();
	uint8_t out[10] = { 0 };
	struct iw_fault why = { 0 };

	(void)state;
	post_send(p, &p->a, out, sizeof(out), 1);
	iw_sctpmap_down(p->a.assoc);
	iw_fail(&why, IW_E_TIMEOUT, "test: no answer");
	iw_conn_lost(p->a.conn, &why, p->now);
	pair_step(p);
	assert_int_equal(p->ab.nmsgs, 0);
	assert_int_equal(end_closed_fault(&p->a)->err, IW_E_TIMEOUT);
	assert_int_equal(p->a.done[0].status, IW_E_TIMEOUT);
	pair_free(p);
}

/* SCTP-22 */
static void illegal_message_ends_the_connection(void **state)
{
	struct iw_dss_segment in;
	struct pair *p = open_pair();
	static const uint8_t reject[] = { 0, 1, 0, 3 };

	(void)state;
	(void)iw_sctpmap_receive(p->a.assoc, 0, IW_SCTP_PPID_CONTROL, reject, 4, &in);
	iw_conn_arrived(p->a.conn, &in, NULL, p->now);
	end_poll(p, &p->a);
	assert_int_equal(end_closed_fault(&p->a)->err, IW_E_DSS_ILLEGAL);
	pair_run(p);
	assert_true(end_has_event(&p->b, IW_EVENT_PEER_CLOSED));
	pair_free(p);
}

static void illegal_message_after_a_fault_does_not_replace_the_fault(void **state)
{
	static const uint8_t reject[] = { 0, 2, 0, 3 };
	struct iw_dss_segment in;
	struct pair *p = open_pair();
	uint8_t out[10] = { 0 };

	(void)state;
	post_send(p, &p->a, out, sizeof(out), 1); /* b has no buffer for it */
	p->ba.not_before = UINT64_MAX;
	for (int i = 0; i < 20; i++)
		(void)pair_step(p);
	assert_int_equal(iw_conn_state(p->b.conn), IW_CONN_FIN_SENT);
	(void)iw_sctpmap_receive(p->b.assoc, 0, IW_SCTP_PPID_CONTROL, reject, 4, &in);
	iw_conn_arrived(p->b.conn, &in, NULL, p->now);
	end_poll(p, &p->b);
	assert_int_equal(end_closed_fault(&p->b)->err, IW_E_DDP_NOBUF);
	pair_free(p);
}

/* A segment that waits for room is not sent in a session that has failed. */
static void second_fault_drops_a_segment_that_waits(void **state)
{
	/* A Write to an STag that does not exist, and a Reject, which is illegal here. */
	static const uint8_t write[] = {
		0, 1, 0xc1, 0x40, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 'x'
	};
	static const uint8_t reject[] = { 0, 2, 0, 3 };
	struct iw_dss_segment in;
	struct pair *p = open_pair();
	uint8_t out[2000] = { 0 };

	(void)state;
	post_send(p, &p->a, out, sizeof(out), 1);
	assert_non_null(iw_conn_next_msg(p->a.conn, p->now));
	iw_conn_msg_refused(p->a.conn);
	(void)iw_sctpmap_receive(p->a.assoc, 0, IW_SCTP_PPID_SEGMENT, write, sizeof(write), &in);
	iw_conn_arrived(p->a.conn, &in, NULL, p->now);
	assert_int_equal(iw_conn_state(p->a.conn), IW_CONN_TERMINATING);
	assert_non_null(iw_conn_next_msg(p->a.conn, p->now));
	(void)iw_sctpmap_receive(p->a.assoc, 0, IW_SCTP_PPID_CONTROL, reject, sizeof(reject), &in);
	iw_conn_arrived(p->a.conn, &in, NULL, p->now);
	assert_null(iw_conn_next_msg(p->a.conn, p->now));
	end_poll(p, &p->a);
	assert_int_equal(end_closed_fault(&p->a)->err, IW_E_DDP_STAG);
	pair_free(p);
}

static void initiator_waits_ten_seconds_for_an_answer(void **state)
{
	struct pair *p = pair();

	(void)state;
	p->b.no_answer = true;
	p->b.cfg.decide_ns = IW_SEC(100);
	pair_start(p);
	pair_run(p);
	assert_int_equal(iw_conn_deadline(p->a.conn), p->now + IW_SEC(10));
	assert_true(pair_tick(p));
	assert_int_equal(end_closed_fault(&p->a)->err, IW_E_TIMEOUT);
	/* The peer's ULP learns that the initiator has given up. */
	pair_run(p);
	assert_int_equal(end_closed_fault(&p->b)->err, IW_E_CLOSED);
	assert_int_equal(iw_sctpmap_sessions(p->a.assoc), 0);
	pair_free(p);
}

/* Without acknowledgements by SCTP there is no progress. */
static void silence_of_the_association_is_a_stall(void **state)
{
	struct pair *p = open_pair();
	uint8_t out[10] = { 0 };

	(void)state;
	post_send(p, &p->a, out, sizeof(out), 1);
	assert_non_null(iw_conn_next_msg(p->a.conn, p->now));
	iw_conn_msg_taken(p->a.conn, false, p->now);
	assert_int_equal(iw_conn_deadline(p->a.conn), p->now + IW_SEC(30));
	assert_true(pair_tick(p));
	assert_int_equal(end_closed_fault(&p->a)->err, IW_E_TIMEOUT);
	pair_free(p);
}

/* A segment that was built but not accepted is built again the same way, and leaves no gap if it is
 * dropped. */
static void message_stays_until_it_is_fetched(void **state)
{
	struct pair *p = open_pair();
	const struct iw_conn_msg *m;
	uint8_t out[10] = { 0 };
	uint16_t ssn;

	(void)state;
	post_send(p, &p->a, out, sizeof(out), 1);
	m = iw_conn_next_msg(p->a.conn, p->now);
	assert_non_null(m);
	assert_true(m->untagged);
	ssn = iw_get_be16(m->hdr);
	assert_ptr_equal(iw_conn_next_msg(p->a.conn, p->now), m);
	assert_int_equal(iw_get_be16(m->hdr), ssn);
	iw_conn_abort(p->a.conn, p->now);
	assert_null(iw_conn_next_msg(p->a.conn, p->now));
	end_poll(p, &p->a);
	pair_run(p);
	assert_true(end_has_event(&p->b, IW_EVENT_PEER_CLOSED));
	pair_free(p);
}

/* RFC 5040 5.5: memory that a pending message borrows is not returned to its owner. */
static void operation_of_a_message_in_flight_does_not_fail_before_it_was_taken(void **state)
{
	struct iw_dss_segment in;
	struct iw_ddp h = { .last = true, .dv = 1, .rv = 1, .opcode = IW_OP_SEND, .msn = 1 };
	struct pair *p = open_pair();
	struct iw_completion done;
	uint8_t out[2000] = { 0 }, seg[IW_SCTP_SSN_LEN + IW_DDP_UNTAGGED_LEN];

	(void)state;
	post_send(p, &p->a, out, sizeof(out), 1);
	assert_non_null(iw_conn_next_msg(p->a.conn, p->now));
	/* The peer sends a Send for which there is no buffer. */
	iw_put_be16(seg, 1);
	assert_true(iw_wire_ddp_encode(seg + IW_SCTP_SSN_LEN, IW_DDP_UNTAGGED_LEN, &h) > 0);
	(void)iw_sctpmap_receive(p->a.assoc, 0, IW_SCTP_PPID_SEGMENT, seg, sizeof(seg), &in);
	iw_conn_arrived(p->a.conn, &in, NULL, p->now);
	assert_int_equal(iw_conn_state(p->a.conn), IW_CONN_TERMINATING);
	assert_false(iw_rdmap_next_completion(p->a.rdmap, &done));
	iw_conn_msg_taken(p->a.conn, false, p->now);
	assert_true(iw_rdmap_next_completion(p->a.rdmap, &done));
	assert_true(done.status < 0);
	pair_free(p);
}

/* Memory that the association borrows is returned when SCTP acknowledges it; then that operation
 * and all later ones complete. */
static void operation_whose_memory_is_kept_completes_with_its_acknowledgement(void **state)
{
	struct pair *p = open_pair();
	struct iw_completion done;
	uint8_t out[1000] = { 0 };
	uint16_t stream;

	(void)state;
	post_send(p, &p->a, out, sizeof(out), 1);
	post_send(p, &p->a, out, sizeof(out), 2);
	stream = iw_conn_next_msg(p->a.conn, p->now)->stream;
	iw_conn_msg_taken(p->a.conn, true, p->now);
	assert_non_null(iw_conn_next_msg(p->a.conn, p->now));
	iw_conn_msg_taken(p->a.conn, false, p->now);
	assert_false(iw_rdmap_next_completion(p->a.rdmap, &done));
	(void)iw_sctpmap_acked(p->a.assoc, stream, 1);
	iw_conn_acked(p->a.conn, p->now);
	for (uint64_t n = 1; n <= 2; n++) {
		assert_true(iw_rdmap_next_completion(p->a.rdmap, &done));
		assert_int_equal(done.cookie, n);
		assert_int_equal(done.status, 0);
	}
	pair_free(p);
}

/* Passes the next message of x to y. */
static void pass_message(struct pair *p, struct end *x, struct end *y)
{
	const struct iw_conn_msg *m = iw_conn_next_msg(x->conn, p->now);
	struct iw_dss_segment in;
	uint8_t octets[2000];
	size_t len;

	assert_non_null(m);
	memcpy(octets, m->hdr, m->hdr_len);
	len = m->hdr_len;
	for (size_t i = 0; i < m->nvec; i++) {
		memcpy(octets + len, m->vec[i].base, m->vec[i].len);
		len += m->vec[i].len;
	}
	(void)iw_sctpmap_receive(y->assoc, m->stream, m->ppid, octets, len, &in);
	iw_conn_arrived(y->conn, &in, NULL, p->now);
	iw_conn_msg_taken(x->conn, false, p->now);
}

/* a reads 500 octets of b, and b's association has no room for the answer. */
static struct pair *refused_response(uint8_t *sink, uint8_t *source)
{
	struct pair *p = open_pair();
	struct iw_op op = { .kind = IW_OPK_READ, .len = 500 };

	pattern_fill(source, 500, 4, 0);
	op.remote_stag = end_register(&p->b, source, 500, 0, IW_RIGHT_REMOTE_READ, true);
	op.sink_stag = end_register(&p->a, sink, 500, 0, IW_RIGHT_READ_SINK, true);
	assert_int_equal(iw_rdmap_post(p->a.rdmap, &op, p->now), 0);
	pass_message(p, &p->a, &p->b);
	assert_non_null(iw_conn_next_msg(p->b.conn, p->now));
	return p;
}

/*
 * The source of a Read Response may be revoked and unmapped after the check, while the association
 * has no room.
 */
static void refused_response_does_not_refer_to_its_source(void **state)
{
	uint8_t sink[500], source[500];
	struct iw_completion done;
	struct pair *p;
	size_t live;

	(void)state;
	p = refused_response(sink, source);
	live = p->b.mem.live;
	iw_conn_msg_refused(p->b.conn);
	iw_conn_msg_refused(p->b.conn);
	memset(source, 0, sizeof(source));
	pass_message(p, &p->b, &p->a);
	assert_true(iw_rdmap_next_completion(p->a.rdmap, &done));
	assert_int_equal(done.status, 0);
	assert_true(pattern_is(sink, sizeof(sink), 4, 0));
	assert_int_equal(p->b.mem.live, live);
	pair_free(p);

	p = refused_response(sink, source);
	p->b.mem.fail_at = 1;
	iw_conn_msg_refused(p->b.conn);
	p->b.mem.fail_at = 0;
	assert_null(iw_conn_next_msg(p->b.conn, p->now));
	end_poll(p, &p->b);
	assert_int_equal(end_closed_fault(&p->b)->err, IW_E_NOMEM);
	pair_free(p);

	/* The connection ends with a copy that was not sent. */
	p = refused_response(sink, source);
	iw_conn_msg_refused(p->b.conn);
	pair_free(p);
}

/* Memory of a Send belongs to its operation until that completes: it is not copied. */
static void refused_send_is_not_copied(void **state)
{
	struct pair *p = open_pair();
	uint8_t out[100] = { 0 };
	const struct iw_conn_msg *m;

	(void)state;
	post_send(p, &p->a, out, sizeof(out), 1);
	m = iw_conn_next_msg(p->a.conn, p->now);
	iw_conn_msg_refused(p->a.conn);
	assert_ptr_equal(m->vec[0].base, out);
	pair_free(p);
}

/* SCTP-56, SCTP-57, SCTP-60: the first of 200 segments arrives last, and they still form one
 * message */
static void segments_far_ahead_are_placed_and_wait_for_the_first(void **state)
{
	enum { N = 200, LEN = N * (1450 - IW_DDP_UNTAGGED_LEN), FIRST = 50 };
	static uint8_t out[LEN], in[LEN];
	struct wire_msg order[N];
	struct pair *p = open_pair();
	struct wire *w = &p->ab;

	(void)state;
	pattern_fill(out, LEN, 3, 0);
	assert_int_equal(iw_rdmap_post_recv(p->b.rdmap, 1, in, LEN), 0);
	post_send(p, &p->a, out, LEN, 1);
	w->not_before = UINT64_MAX;
	for (int i = 0; i < 1000; i++)
		(void)pair_step(p);
	assert_int_equal(w->nmsgs, N);
	/* 50 to 199, 1 to 49, 0 */
	for (size_t i = 0; i < N; i++)
		order[i] = w->msgs[i < N - FIRST ? i + FIRST : (i + 1 + FIRST) % N];
	order[N - 1] = w->msgs[0];
	memcpy(w->msgs, order, sizeof(order));
	w->not_before = 0;
	while (w->nmsgs > 1)
		assert_true(pair_step(p));
	assert_int_equal(p->b.ndone, 0);
	pair_run(p);
	assert_int_equal(p->b.ndone, 1);
	assert_int_equal(p->b.done[0].status, 0);
	assert_true(pattern_is(in, LEN, 3, 0));
	pair_free(p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(session_is_set_up_used_and_closed),
		cmocka_unit_test(other_side_may_continue_after_the_peers_terminate),
		cmocka_unit_test(second_session_of_an_association_sends_on_its_own_stream),
		cmocka_unit_test(segment_after_the_peers_terminate_ends_the_connection),
		cmocka_unit_test(rejection_brings_its_private_data),
		cmocka_unit_test(refusal_of_the_layer_allows_another_try_without_enhancement),
		cmocka_unit_test(refusal_of_a_plain_initiate_is_final),
		cmocka_unit_test(fault_sends_a_terminate_segment_and_then_ends_the_session),
		cmocka_unit_test(lost_association_ends_the_connection_without_sending),
		cmocka_unit_test(illegal_message_ends_the_connection),
		cmocka_unit_test(illegal_message_after_a_fault_does_not_replace_the_fault),
		cmocka_unit_test(second_fault_drops_a_segment_that_waits),
		cmocka_unit_test(initiator_waits_ten_seconds_for_an_answer),
		cmocka_unit_test(silence_of_the_association_is_a_stall),
		cmocka_unit_test(message_stays_until_it_is_fetched),
		cmocka_unit_test(
			operation_of_a_message_in_flight_does_not_fail_before_it_was_taken),
		cmocka_unit_test(operation_whose_memory_is_kept_completes_with_its_acknowledgement),
		cmocka_unit_test(refused_response_does_not_refer_to_its_source),
		cmocka_unit_test(refused_send_is_not_copied),
		cmocka_unit_test(segments_far_ahead_are_placed_and_wait_for_the_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
