// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Data and its completions through the public API, over real sockets: the three operations,
 * accounting, ends, revocation.
 */
#include "verbs_both.h"

#include <errno.h>

#include "verbs/wrap.h"

/* Recreates a, with short queues and a completion queue of the minimum size. */
static void shorten_a(uint32_t sq, uint32_t rq)
{
	struct iw_ctx_attr attr = { .size = sizeof(attr),
				    .setup_ns = MS(2000),
				    .stall_ns = MS(2000) };

	end_close(&a);
	end_open_with(&a, &attr, sq, rq);
}

static void fill(void *p, size_t len, unsigned seed)
{
	unsigned char *o = p;

	for (size_t i = 0; i < len; i++)
		o[i] = (unsigned char)(i * 31 + i / 251 + seed);
}

static void *octets(size_t len, unsigned seed)
{
	void *p = malloc(len ? len : 1);

	assert_non_null(p);
	fill(p, len, seed);
	return p;
}

/* ---------------------------------------------------------------- the three operations */

/* RDMAP-22, DDP-68 */
static void send_fills_a_posted_buffer_and_reports_its_length(void **state)
{
	char got[64];

	(void)state;
	assert_int_equal(iw_post_recv(b.qp, 5, got, sizeof(got), NULL), 0);
	end_join(&a, &b);
	assert_int_equal(end_send(&a, 9, "over the wire", 13, IW_WR_SOLICITED), 0);
	end_until(&a, &b, end_wc(&a, 9) && end_wc(&b, 5));
	assert_int_equal(end_wc(&a, 9)->op, IW_WC_SEND);
	assert_int_equal(end_wc(&a, 9)->status, IW_OK);
	assert_ptr_equal(end_wc(&a, 9)->qp, a.qp);
	assert_int_equal(end_wc(&b, 5)->op, IW_WC_RECV);
	assert_int_equal(end_wc(&b, 5)->len, 13);
	assert_true(end_wc(&b, 5)->solicited);
	assert_ptr_equal(iw_qp_user(end_wc(&b, 5)->qp), &b);
	assert_memory_equal(got, "over the wire", 13);
}

static void pieces_of_memory_become_one_message(void **state)
{
	struct iw_sge g[IW_SGE_MAX] = { { "one ", 4 }, { NULL, 0 }, { "two ", 4 }, { "three", 5 } };
	struct iw_send_wr w = { .wr_id = 1, .op = IW_WR_SEND, .sge = g, .nsge = 4 };
	char got[64];

	(void)state;
	assert_int_equal(iw_post_recv(b.qp, 5, got, sizeof(got), NULL), 0);
	end_join(&a, &b);
	assert_int_equal(iw_post_send(a.qp, &w, NULL), 0);
	end_until(&a, &b, end_wc(&b, 5));
	assert_int_equal(end_wc(&b, 5)->len, 13);
	assert_memory_equal(got, "one two three", 13);
}

/*
 * Sizes around those of one segment, one FPDU and one batch, with every framing. RDMAP-10,
 * RDMAP-13, RDMAP-15, MPA-10
 */
static void writes_and_reads_of_every_size_arrive_unchanged(void **state)
{
	static const size_t sizes[] = { 0,     1,      2,      3,      127,    128,   1447,
					1448,  1449,   16383,  32768,  65461,  65535, 65536,
					65537, 262143, 262144, 262145, 3000001 };
	static const struct conn_param framings[] = {
		{ .protocol.mulpdu = 0 },
		{ .protocol.mulpdu = 64768 },
		{ .protocol.markers = true },
		{ .protocol.crc = IW_CRC_OFF },
		{ .protocol.mulpdu = 16384, .protocol.markers = true },
	};
	const size_t largest = 3000001;
	unsigned char *src = octets(largest, 1), *dst = octets(largest, 0);

	(void)state;
	for (size_t f = 0; f < sizeof(framings) / sizeof(framings[0]); f++) {
		struct iw_mr *target, *source, *sink;

		if (f > 0) {
			close_both(NULL);
			open_both(NULL);
		}
		end_join_with(&a, &b, framings[f]);
		target = end_reg(&b, dst, largest, IW_ACCESS_REMOTE_WRITE);
		source = end_reg(&b, src, largest, IW_ACCESS_REMOTE_READ);
		sink = end_reg(&a, dst, largest, IW_ACCESS_READ_SINK);
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			size_t len = sizes[i];
			char note;

			a.nwc = b.nwc = 0;
			fill(src, len, (unsigned)i);
			memset(dst, 0xee, len + (len < largest));
			assert_int_equal(iw_post_recv(b.qp, 1, &note, 1, NULL), 0);
			assert_int_equal(end_write(&a, 1, src, len, iw_mr_stag(target), 0,
						   IW_WR_UNSIGNALED),
					 0);
			assert_int_equal(end_send(&a, 2, "!", 1, 0), 0);
			end_until(&a, &b, end_wc(&a, 2) && end_wc(&b, 1));
			assert_memory_equal(dst, src, len);
			assert_true(len == largest || dst[len] == 0xee);
			assert_null(end_wc(&a, 1));

			memset(dst, 0xee, len + (len < largest));
			assert_int_equal(
				end_read(&a, 3, sink, 0, (uint32_t)len, iw_mr_stag(source), 0), 0);
			end_until(&a, &b, end_wc(&a, 3));
			assert_int_equal(end_wc(&a, 3)->op, IW_WC_READ);
			assert_int_equal(end_wc(&a, 3)->len, len);
			assert_memory_equal(dst, src, len);
			assert_true(len == largest || dst[len] == 0xee);
		}
	}
	free(src);
	free(dst);
}

/* RDMAP-31, RDMAP-36 */
static void more_reads_than_ord_wait_their_turn_and_complete_in_order(void **state)
{
	enum { READS = 64 };
	static uint32_t from[READS], to[READS];
	struct iw_mr *source, *sink;

	(void)state;
	for (unsigned i = 0; i < READS; i++)
		from[i] = i * 77777;
	end_join_with(&a, &b, (struct conn_param){ .protocol.ird = 4, .protocol.ord = 2 });
	source = end_reg(&b, from, sizeof(from), IW_ACCESS_REMOTE_READ);
	sink = end_reg(&a, to, sizeof(to), IW_ACCESS_READ_SINK);
	for (unsigned i = 0; i < READS; i++)
		assert_int_equal(end_read(&a, i, sink, 4 * i, 4, iw_mr_stag(source), 4 * i), 0);
	end_until(&a, &b, a.nwc == READS);
	for (unsigned i = 0; i < READS; i++) {
		assert_int_equal(a.wc[i].wr_id, i);
		assert_int_equal(a.wc[i].status, IW_OK);
	}
	assert_memory_equal(from, to, sizeof(from));
}

/* RDMAP-24, APP-09 */
static void send_with_invalidate_revokes_at_the_peer(void **state)
{
	char board[16] = "";
	struct iw_mr_attr ma = {
		.addr = board, .len = sizeof(board), .access = IW_ACCESS_REMOTE_WRITE, .qp = b.qp
	};
	struct iw_send_wr w = { .wr_id = 2, .op = IW_WR_SEND, .flags = IW_WR_INVALIDATE };
	struct iw_mr *mr;

	(void)state;
	assert_int_equal(iw_post_recv(b.qp, 5, NULL, 0, NULL), 0);
	end_join(&a, &b);
	assert_int_equal(iw_mr_reg(&mr, b.pd, &ma, &b.why), 0);
	assert_true(iw_mr_valid(mr));
	assert_int_equal(end_write(&a, 1, "written", 8, iw_mr_stag(mr), 0, 0), 0);
	w.inval_stag = iw_mr_stag(mr);
	assert_int_equal(iw_post_send(a.qp, &w, NULL), 0);
	end_until(&a, &b, end_wc(&b, 5));
	assert_true(end_wc(&b, 5)->invalidated);
	assert_int_equal(end_wc(&b, 5)->inval_stag, iw_mr_stag(mr));
	assert_string_equal(board, "written");
	assert_false(iw_mr_valid(mr));
	iw_mr_revoke(mr); /* safe: it only frees the region */
}

/* ---------------------------------------------------------------- regions */

/* DDP-113, DDP-116, SEC-06, DDP-106 */
static void write_after_revocation_is_refused_and_places_nothing(void **state)
{
	char board[8] = "";
	struct iw_mr *mr;
	uint32_t stag;

	(void)state;
	assert_int_equal(iw_post_recv(b.qp, 1, NULL, 0, NULL), 0);
	assert_int_equal(iw_post_recv(b.qp, 2, NULL, 0, NULL), 0);
	end_join(&a, &b);
	mr = end_reg(&b, board, sizeof(board), IW_ACCESS_REMOTE_WRITE);
	stag = iw_mr_stag(mr);
	assert_int_equal(end_write(&a, 1, "first", 6, stag, 0, 0), 0);
	assert_int_equal(end_send(&a, 2, NULL, 0, 0), 0);
	end_until(&a, &b, end_wc(&b, 1));
	assert_string_equal(board, "first");
	iw_mr_revoke(mr);
	assert_int_equal(end_write(&a, 3, "second", 7, stag, 0, 0), 0);
	assert_int_equal(end_send(&a, 4, NULL, 0, 0), 0);
	end_until(&a, &b, a.seen[IW_EV_CLOSED] && b.seen[IW_EV_CLOSED]);
	assert_string_equal(board, "first");
	assert_int_equal(b.fault.err, IW_E_DDP_STAG);
	assert_false(b.fault.from_peer);
	/* The Terminate arrived before the end, so the initiator reports its cause. */
	assert_true(a.fault.from_peer);
	assert_int_equal(a.fault.err, IW_E_PEER_TERMINATE);
	assert_int_equal(a.fault.term, iw_err_term(IW_E_DDP_STAG));
	/* The Send after it was not delivered. */
	assert_int_equal(end_wc(&b, 2)->status, IW_E_CANCELED);
}

/* DDP-109, DDP-111, SEC-02: a region of one queue pair; SEC-01: of one protection domain */
static void region_of_another_stream_or_domain_is_refused(void **state)
{
	(void)state;
	for (int domain = 0; domain < 2; domain++) {
		char board[8] = "";
		struct iw_mr_attr ma = { .addr = board,
					 .len = sizeof(board),
					 .access = IW_ACCESS_REMOTE_WRITE };
		struct iw_pd *other;
		struct iw_mr *mr;

		if (domain) {
			close_both(NULL);
			open_both(NULL);
		}
		end_join(&a, &b);
		if (domain) {
			assert_int_equal(iw_pd_new(&other, b.ctx), 0);
			assert_int_equal(iw_mr_reg(&mr, other, &ma, &b.why), 0);
			assert_int_equal(iw_pd_free(other), IW_E_BUSY);
			ma.qp = b.qp;
			assert_int_equal(iw_mr_reg(&mr, other, &ma, &b.why), IW_E_INVAL);
			ma.qp = NULL;
			assert_int_equal(iw_mr_reg(&mr, other, &ma, &b.why), 0);
		} else {
			ma.qp = end_add_qp(&b, 1, 1);
			assert_int_equal(iw_mr_reg(&mr, b.pd, &ma, &b.why), 0);
		}
		assert_int_equal(end_write(&a, 1, "x", 1, iw_mr_stag(mr), 0, 0), 0);
		end_until(&a, &b, a.seen[IW_EV_CLOSED] && b.seen[IW_EV_CLOSED]);
		/* This side reports the real error; the Terminate names an unknown STag. */
		assert_int_equal(b.fault.err, IW_E_DDP_ASSOC);
		assert_int_equal(b.fault.term, iw_err_term(IW_E_DDP_STAG));
		assert_int_equal(a.fault.term, iw_err_term(IW_E_DDP_STAG));
		assert_int_equal(board[0], '\0');
	}
}

static void region_with_a_lifetime_or_a_number_of_uses_ends(void **state)
{
	char board[8] = "";
	struct iw_mr_attr ma = { .addr = board,
				 .len = sizeof(board),
				 .access = IW_ACCESS_REMOTE_WRITE,
				 .lifetime_ns = MS(50) };
	struct iw_mr *mortal, *once;

	(void)state;
	end_join(&a, &b);
	assert_int_equal(iw_mr_reg(&mortal, b.pd, &ma, &b.why), 0);
	ma.lifetime_ns = 0;
	ma.uses = 1;
	assert_int_equal(iw_mr_reg(&once, b.pd, &ma, &b.why), 0);
	assert_true(iw_mr_valid(mortal) && iw_mr_valid(once));
	assert_int_equal(end_write(&a, 1, "x", 1, iw_mr_stag(once), 0, 0), 0);
	end_until(&a, &b, !iw_mr_valid(once));
	assert_int_equal(board[0], 'x');
	end_until(&a, &b, !iw_mr_valid(mortal));
	assert_int_equal(end_write(&a, 2, "y", 1, iw_mr_stag(mortal), 0, 0), 0);
	end_until(&a, &b, b.seen[IW_EV_CLOSED]);
	assert_int_equal(b.fault.err, IW_E_DDP_STAG);
	assert_int_equal(board[0], 'x');
}

/* SEC-23: the owner can check whether a peer has written a buffer, over every transport. */
static void octets_written_without_a_gap_are_counted_from_the_first_on(void **state)
{
	const size_t len = 3000001;
	unsigned char *src = octets(len, 1), *board = octets(len, 0);
	const struct iw_mr_attr counted = {
		.addr = board, .len = len, .access = IW_ACCESS_REMOTE_WRITE, .tally = true
	};
	struct iw_mr *mr, *empty, *plain;
	struct iw_tally t;

	(void)state;
	end_join(&a, &b);
	mr = end_reg_with(&b, &counted);
	empty = end_reg_with(&b, &counted);
	plain = end_reg(&b, board, len, IW_ACCESS_REMOTE_WRITE);
	assert_int_equal(iw_mr_written(mr) + iw_mr_written(empty), 0);
	assert_int_equal(end_write(&a, 1, src, 1000, iw_mr_stag(mr), 0, 0), 0);
	assert_int_equal(end_write(&a, 2, src, 1000, iw_mr_stag(mr), 0, 0), 0);
	assert_int_equal(end_write(&a, 3, src, len - 2000, iw_mr_stag(mr), 2000, 0), 0);
	assert_int_equal(end_write(&a, 4, src, 5, iw_mr_stag(plain), 0, 0), 0);
	end_until(&a, &b, (iw_qp_tally(b.qp, &t), t.writes == 4));
	assert_int_equal(iw_mr_written(mr), 1000);
	assert_int_equal(iw_mr_written(plain), 0); /* registered without tally */
	assert_int_equal(end_write(&a, 5, src, len - 1000, iw_mr_stag(mr), 1000, 0), 0);
	end_until(&a, &b, (iw_qp_tally(b.qp, &t), t.writes == 5));
	assert_int_equal(iw_mr_written(mr), len);
	assert_int_equal(iw_mr_written(empty), 0);
	free(src);
	free(board);
}

/* Only payload is counted: zero-length operations and Read Requests have none. */
static void payload_is_counted_without_zero_length_operations(void **state)
{
	unsigned char *src = octets(5000, 1), *board = octets(5000, 0);
	struct iw_mr *mr, *sink;

	(void)state;
	end_join(&a, &b);
	mr = end_reg(&b, board, 5000, IW_ACCESS_REMOTE_READ | IW_ACCESS_REMOTE_WRITE);
	sink = end_reg(&a, src, 5000, IW_ACCESS_READ_SINK);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(iw_post_recv(b.qp, 10 + i, board, 5000, NULL), 0);
	assert_int_equal(end_write(&a, 1, src, 0, 1, 0, 0), 0);
	assert_int_equal(end_read(&a, 2, sink, 0, 0, 1, 0), 0);
	assert_int_equal(end_send(&a, 3, src, 0, 0), 0);
	end_until(&a, &b, end_wc(&a, 2) && end_wc(&b, 10));
	assert_int_equal(iw_qp_rx_payload(a.qp), 0);
	assert_int_equal(iw_qp_rx_payload(b.qp), 0);
	assert_int_equal(end_write(&a, 4, src, 5000, iw_mr_stag(mr), 0, 0), 0);
	assert_int_equal(end_send(&a, 5, src, 3000, 0), 0);
	assert_int_equal(end_read(&a, 6, sink, 0, 1000, iw_mr_stag(mr), 0), 0);
	end_until(&a, &b, end_wc(&a, 6) && end_wc(&b, 11));
	assert_int_equal(iw_qp_rx_payload(b.qp), 8000);
	assert_int_equal(iw_qp_rx_payload(a.qp), 1000);
	free(src);
	free(board);
}

/* Complete operations are counted for each region, octets as they move for each peer; zero-length
 * operations are not counted. */
static void octets_of_a_peer_are_counted_by_region_and_by_peer(void **state)
{
	const size_t len = 3000001;
	unsigned char *src = octets(len, 1), *board = octets(len, 0);
	struct iw_tally t;
	size_t memory;
	struct iw_mr *mr, *other, *sink;

	(void)state;
	end_join(&a, &b);
	mr = end_reg_with(&b, &(struct iw_mr_attr){
				      .addr = board,
				      .len = len,
				      .access = IW_ACCESS_REMOTE_READ | IW_ACCESS_REMOTE_WRITE,
				      .tally = true,
			      });
	other = end_reg(&b, board, len, IW_ACCESS_REMOTE_WRITE);
	sink = end_reg(&a, src, len, IW_ACCESS_READ_SINK);
	memory = iw_qp_memory(b.qp);
	iw_mr_tally(mr, &t);
	assert_int_equal(t.writes + t.reads, 0);
	assert_int_equal(end_write(&a, 1, src, len, iw_mr_stag(mr), 0, 0), 0);
	assert_int_equal(end_write(&a, 2, src, 7, iw_mr_stag(mr), 7, 0), 0);
	assert_int_equal(end_write(&a, 3, src, 0, iw_mr_stag(mr), 0, 0), 0);
	assert_int_equal(end_write(&a, 4, src, 5, iw_mr_stag(other), 0, 0), 0);
	assert_int_equal(end_read(&a, 5, sink, 0, 1000, iw_mr_stag(mr), 0), 0);
	assert_int_equal(end_read(&a, 6, sink, 0, 0, iw_mr_stag(mr), 0), 0);
	end_until(&a, &b, end_wc(&a, 6));
	iw_mr_tally(mr, &t);
	assert_int_equal(t.writes, 2);
	assert_int_equal(t.write_octets, len + 7);
	assert_int_equal(t.reads, 1);
	assert_int_equal(t.read_octets, 1000);
	iw_mr_tally(other, &t); /* registered without tally */
	assert_int_equal(t.writes, 0);
	iw_qp_tally(b.qp, &t);
	assert_int_equal(t.writes, 3);
	assert_int_equal(t.write_octets, len + 7 + 5);
	assert_int_equal(t.reads, 1);
	assert_int_equal(t.read_octets, 1000);
	iw_qp_tally(a.qp, &t);
	assert_int_equal(t.writes + t.reads, 0);
	/* Segments in order need no record. */
	assert_in_range(iw_qp_memory(b.qp), 1, memory + 4096);
	free(src);
	free(board);
}

/*
 * In the middle of a long Write and of a long Read Response: after the call, nothing that the owner
 * writes to the memory is overwritten or sent to the peer. SEC-06, DDP-113
 */
static void revocation_in_mid_operation_is_final(void **state)
{
	(void)state;
	for (int reading = 0; reading < 2; reading++) {
		const size_t len = 64 << 20;
		unsigned char *far = malloc(len), *board = malloc(len);
		struct iw_mr *mr, *sink = NULL;
		struct iw_tally t;

		assert_true(far && board);
		memset(far, 1, len);
		memset(board, 2, len);
		if (reading) {
			close_both(NULL);
			open_both(NULL);
		}
		end_join_with(&a, &b, (struct conn_param){ .protocol.mulpdu = 64768 });
		mr = end_reg(&b, board, len,
			     reading ? IW_ACCESS_REMOTE_READ : IW_ACCESS_REMOTE_WRITE);
		if (reading) {
			sink = end_reg(&a, far, len, IW_ACCESS_READ_SINK);
			assert_int_equal(end_read(&a, 1, sink, 0, (uint32_t)len, iw_mr_stag(mr), 0),
					 0);
		} else {
			assert_int_equal(end_write(&a, 1, far, len, iw_mr_stag(mr), 0, 0), 0);
		}
		end_until(&a, &b,
			  (iw_qp_tally(b.qp, &t), t.write_octets + t.read_octets > 1 << 20));
		iw_mr_revoke(mr);
		iw_qp_tally(b.qp, &t);
		assert_true(t.write_octets + t.read_octets < len);
		memset(board, 3, len);
		end_until(&a, &b, a.seen[IW_EV_CLOSED] && b.seen[IW_EV_CLOSED]);
		for (size_t i = 0; i < len; i++) {
			if (board[i] != 3 || far[i] == 3)
				fail_msg("octet %zu of a %s", i, reading ? "Read" : "Write");
		}
		assert_int_equal(b.fault.err, reading ? IW_E_RP_STAG : IW_E_DDP_STAG);
		iw_mr_revoke(sink);
		free(far);
		free(board);
	}
}

static void impossible_regions_are_refused(void **state)
{
	char c;
	const struct iw_mr_attr bad[] = {
		{ .addr = &c, .len = 1 },
		{ .addr = NULL, .len = 1, .access = IW_ACCESS_REMOTE_READ },
		{ .addr = &c, .len = 2, .to = UINT64_MAX, .access = IW_ACCESS_REMOTE_READ },
		{ .addr = &c, .len = 1, .access = 8 },
		{ .addr = &c, .len = 1, .access = 0x101 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct iw_mr *mr;

		assert_int_equal(iw_mr_reg(&mr, a.pd, &bad[i], &a.why), IW_E_INVAL);
		assert_null(mr);
	}
}

/* SEC-26: an octet that one peer may write is neither written nor read by another peer. */
static void exclusive_region_refuses_aliases_of_other_peers(void **state)
{
	enum { R = IW_ACCESS_REMOTE_READ, W = IW_ACCESS_REMOTE_WRITE, SINK = IW_ACCESS_READ_SINK };
	static const struct {
		unsigned there, here;
		size_t at, len;
		bool same_domain;
		int err;
	} rows[] = {
		{ W, W, 0, 8, false, IW_E_BUSY },
		{ W, R, 0, 8, false, IW_E_BUSY },
		{ R, W, 0, 8, false, IW_E_BUSY },
		{ R, R, 0, 8, false, 0 },
		{ SINK, R, 0, 8, false, IW_E_BUSY },
		{ R, SINK, 0, 8, false, IW_E_BUSY },
		{ W, W, 0, 8, true, 0 },
		{ W, W, 7, 8, false, IW_E_BUSY },
		{ W, W, 8, 8, false, 0 },
		{ W, W, 4, 0, false, 0 },
	};
	char memory[16];
	struct iw_pd *other;

	(void)state;
	assert_int_equal(iw_pd_new(&other, b.ctx), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct iw_mr_attr ma = { .addr = memory, .len = 8, .access = rows[i].there };
		struct iw_mr *there, *here;

		assert_int_equal(iw_mr_reg(&there, rows[i].same_domain ? b.pd : other, &ma, &b.why),
				 0);
		ma = (struct iw_mr_attr){ .addr = memory + rows[i].at,
					  .len = rows[i].len,
					  .access = rows[i].here,
					  .exclusive = true };
		assert_int_equal(iw_mr_reg(&here, b.pd, &ma, &b.why), rows[i].err);
		iw_mr_revoke(there);
		if (rows[i].err) {
			assert_null(here);
			assert_non_null(strstr(b.why.text, "RFC 5042 6.3.6"));
			/* A revoked region does not block a registration. */
			assert_int_equal(iw_mr_reg(&here, b.pd, &ma, &b.why), 0);
		}
		iw_mr_revoke(here);
	}
	assert_int_equal(iw_pd_free(other), 0);
}

/* SEC-26: one domain, but two connections; an expired region does not block. */
static void exclusive_region_belongs_to_one_connection(void **state)
{
	char memory[8];
	struct iw_mr_attr ma = { .addr = memory,
				 .len = sizeof(memory),
				 .access = IW_ACCESS_REMOTE_WRITE,
				 .qp = b.qp,
				 .exclusive = true,
				 .lifetime_ns = MS(50) };
	struct iw_mr *one, *two;

	(void)state;
	assert_int_equal(iw_mr_reg(&one, b.pd, &ma, &b.why), 0);
	ma.qp = end_add_qp(&b, 1, 1);
	assert_int_equal(iw_mr_reg(&two, b.pd, &ma, &b.why), IW_E_BUSY);
	end_until(&a, &b, !iw_mr_valid(one));
	assert_int_equal(iw_mr_reg(&two, b.pd, &ma, &b.why), 0);
}

static void impossible_work_is_refused(void **state)
{
	struct iw_sge many[IW_SGE_MAX + 1] = { { NULL, 0 } }, null = { NULL, 1 };
	char sink[8];
	struct iw_send_wr w = { .op = IW_WR_SEND };
	struct iw_mr *mr, *target, *other;

	(void)state;
	assert_int_equal(iw_post_send(a.qp, &w, NULL), IW_E_STATE); /* not connected */
	end_join(&a, &b);
	mr = end_reg(&a, sink, sizeof(sink), IW_ACCESS_READ_SINK);
	target = end_reg(&a, sink, sizeof(sink), IW_ACCESS_REMOTE_WRITE);
	w = (struct iw_send_wr){ .op = IW_WR_SEND, .sge = many, .nsge = IW_SGE_MAX + 1 };
	assert_int_equal(iw_post_send(a.qp, &w, NULL), IW_E_INVAL);
	w = (struct iw_send_wr){ .op = IW_WR_SEND, .sge = &null, .nsge = 1 };
	assert_int_equal(iw_post_send(a.qp, &w, NULL), IW_E_INVAL);
	w = (struct iw_send_wr){ .op = IW_WR_WRITE, .flags = IW_WR_SOLICITED };
	assert_int_equal(iw_post_send(a.qp, &w, NULL), IW_E_INVAL);
	w = (struct iw_send_wr){ .op = IW_WR_SEND, .flags = 1u << 20 };
	assert_int_equal(iw_post_send(a.qp, &w, NULL), IW_E_INVAL);
	w = (struct iw_send_wr){ .op = (enum iw_wr_op)17 };
	assert_int_equal(iw_post_send(a.qp, &w, NULL), IW_E_INVAL);
	assert_int_equal(end_read(&a, 1, NULL, 0, 4, 1, 0), IW_E_INVAL);
	assert_int_equal(end_read(&a, 1, target, 0, 4, 1, 0), IW_E_INVAL);
	assert_int_equal(end_read(&a, 1, mr, 0, 9, 1, 0), IW_E_INVAL);
	assert_int_equal(end_read(&a, 1, mr, 8, 1, 1, 0), IW_E_INVAL);
	assert_int_equal(end_read(&a, 1, mr, 9, 0, 1, 0), IW_E_INVAL);
	assert_int_equal(end_read(&a, 1, mr, UINT64_MAX, 1, 1, 0), IW_E_INVAL);
	other = end_reg_with(&a, &(struct iw_mr_attr){ .addr = sink,
						       .len = sizeof(sink),
						       .access = IW_ACCESS_READ_SINK,
						       .qp = end_add_qp(&a, 1, 1) });
	w = (struct iw_send_wr){ .op = IW_WR_READ, .sink = other, .len = 8 };
	assert_int_equal(iw_post_send(a.qp, &w, &a.why), IW_E_INVAL);
	assert_non_null(strstr(a.why.text, "the sink is not valid on this connection"));
	assert_int_equal(iw_post_recv(a.qp, 1, NULL, 1, NULL), IW_E_INVAL);
	/* None of the failures had an effect. */
	assert_int_equal(iw_post_recv(b.qp, 1, NULL, 0, NULL), 0);
	assert_int_equal(end_send(&a, 1, NULL, 0, 0), 0);
	end_until(&a, &b, end_wc(&b, 1));
}

/* SEC-12 */
static void reads_are_refused_where_none_were_agreed_on(void **state)
{
	char sink[8];
	struct iw_mr *mr;

	(void)state;
	end_join_with(&a, &b, (struct conn_param){ .protocol.no_reads = true });
	mr = end_reg(&a, sink, sizeof(sink), IW_ACCESS_READ_SINK);
	assert_int_equal(end_read(&a, 1, mr, 0, 8, 1, 0), IW_E_LIMIT);
}

/* ---------------------------------------------------------------- queues and their depth */

static void queue_deeper_than_the_limit_is_refused(void **state)
{
	const uint32_t bad[][2] = { { IW_DEPTH_MAX + 1, 1 }, { 1, IW_DEPTH_MAX + 1 } };
	struct iw_qp_attr qa = { .size = sizeof(qa), .send_cq = a.cq, .recv_cq = a.cq };
	struct iw_qp *qp;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		qa.sq_depth = bad[i][0];
		qa.rq_depth = bad[i][1];
		assert_int_equal(iw_qp_new(&qp, a.pd, &qa, &a.why), IW_E_INVAL);
		assert_null(qp);
		assert_true(a.why.text[0]);
	}
	qa.sq_depth = IW_DEPTH_MAX;
	qa.rq_depth = 1;
	assert_int_equal(iw_qp_new(&qp, a.pd, &qa, &a.why), 0);
	iw_qp_free(qp);
}

static void full_send_queue_has_room_after_completions_are_polled(void **state)
{
	uint64_t id = 0;

	(void)state;
	shorten_a(4, 4);
	end_join(&a, &b);
	for (int i = 0; i < 8; i++)
		assert_int_equal(iw_post_recv(b.qp, 100, NULL, 0, NULL), 0);
	while (end_send(&a, id, NULL, 0, 0) == 0)
		id++;
	assert_int_equal(id, 4);
	assert_int_equal(end_send(&a, 4, NULL, 0, 0), IW_E_FULL);
	end_until(&a, &b, a.nwc == 4);
	assert_int_equal(end_send(&a, 4, NULL, 0, 0), 0);
	end_until(&a, &b, a.nwc == 5);
}

static void unsignaled_work_needs_no_polling(void **state)
{
	unsigned board = 0, numbers[100];
	struct iw_mr *mr;

	(void)state;
	shorten_a(2, 2);
	end_join(&a, &b);
	mr = end_reg(&b, &board, sizeof(board), IW_ACCESS_REMOTE_WRITE);
	a.hold = true;
	for (unsigned i = 0; i < 100; i++) {
		int err;

		numbers[i] = i;
		while ((err = end_write(&a, i, &numbers[i], sizeof(i), iw_mr_stag(mr), 0,
					IW_WR_UNSIGNALED)) == IW_E_FULL)
			end_step(&a, 0);
		assert_int_equal(err, 0);
	}
	end_until(&a, &b, board == 99);
	a.hold = false;
	end_take(&a);
	assert_int_equal(a.nwc, 0);
}

/*
 * SEC-11, SEC-17, SEC-20: completions that the program does not poll stall their own queue pair and
 * nothing else
 */
static void completions_that_are_not_polled_are_kept(void **state)
{
	enum { DEPTH = 4 };
	struct iw_qp *second, *peer;
	struct iw_cq *own;
	struct iw_qp_attr qa = { .size = sizeof(qa), .sq_depth = DEPTH, .rq_depth = DEPTH };
	struct conn_param p = { CONN_PARAM_SIZES, .at.host = "127.0.0.1" };
	unsigned posted = 0;

	(void)state;
	shorten_a(DEPTH, DEPTH);
	end_join(&a, &b);
	for (int i = 0; i < 64; i++)
		assert_int_equal(iw_post_recv(b.qp, 1000, NULL, 0, NULL), 0);
	a.hold = true;
	for (int i = 0; i < 60; i++) {
		if (end_send(&a, posted, NULL, 0, 0) == 0)
			posted++;
		end_step(&a, 0);
		end_step(&b, 0);
	}
	/* Those in the queue, and those that keep their slot because the queue is full. */
	assert_in_range(posted, DEPTH, 3 * DEPTH + 1);

	/* Another queue pair with queues of its own is not disturbed. */
	assert_int_equal(iw_cq_new(&own, a.ctx), 0);
	qa.send_cq = qa.recv_cq = own;
	assert_int_equal(iw_qp_new(&second, a.pd, &qa, &a.why), 0);
	peer = b.qp;
	b.qp = end_add_qp(&b, 0, 0);
	assert_int_equal(iw_post_recv(b.qp, 2000, NULL, 0, NULL), 0);
	p.at.port = iw_listener_port(b.listener);
	assert_int_equal(iw_connect(second, &p.at, &p.protocol, &a.why), 0);
	end_until(&a, &b, a.seen[IW_EV_ESTABLISHED] == 2);
	assert_int_equal(iw_post_send(second, &(struct iw_send_wr){ .wr_id = 7, .op = IW_WR_SEND },
				      NULL),
			 0);
	end_until(&a, &b, end_wc(&b, 2000));
	assert_int_equal(iw_cq_poll(own, a.wc, 1), 1);
	assert_int_equal(a.wc[0].wr_id, 7);
	b.qp = peer;

	/* All completions of the first queue pair are delivered in order when the program polls. */
	a.hold = false;
	a.nwc = 0;
	end_until(&a, &b, a.nwc == posted);
	for (unsigned i = 0; i < posted; i++)
		assert_int_equal(a.wc[i].wr_id, i);
}

static void completions_without_room_follow_when_another_queue_pair_is_freed(void **state)
{
	enum { DEPTH = 4 };
	struct conn_param p = { CONN_PARAM_SIZES, .at.host = "127.0.0.1" };
	struct iw_send_wr w = { .wr_id = 7, .op = IW_WR_SEND };
	struct iw_qp *second;

	(void)state;
	shorten_a(DEPTH, DEPTH);
	end_join(&a, &b);
	for (int i = 0; i < 64; i++)
		assert_int_equal(iw_post_recv(b.qp, 1000, NULL, 0, NULL), 0);
	second = end_add_qp(&a, DEPTH, DEPTH);
	b.qp = end_add_qp(&b, 0, 0);
	assert_int_equal(iw_post_recv(b.qp, 2000, NULL, 0, NULL), 0);
	p.at.port = iw_listener_port(b.listener);
	assert_int_equal(iw_connect(second, &p.at, &p.protocol, &a.why), 0);
	end_until(&a, &b, a.seen[IW_EV_ESTABLISHED] == 2 && b.seen[IW_EV_ESTABLISHED] == 2);
	/* Completions of the first queue pair fill the queue. */
	a.hold = true;
	for (int i = 0; i < 60; i++) {
		(void)end_send(&a, 1, NULL, 0, 0);
		end_step(&a, 0);
		end_step(&b, 0);
	}
	assert_int_equal(iw_post_send(second, &w, NULL), 0);
	end_until(&a, &b, end_wc(&b, 2000));
	iw_qp_free(a.qp);
	assert_int_equal(iw_cq_wait(a.cq, 0), 1);
	assert_int_equal(iw_cq_poll(a.cq, a.wc, 2), 1);
	assert_int_equal(a.wc[0].wr_id, 7);
}

static void end_is_reported_after_completions_that_had_no_room(void **state)
{
	enum { DEPTH = 4 };
	struct iw_qp_attr qa = { .size = sizeof(qa), .sq_depth = DEPTH, .rq_depth = 16 };
	struct iw_async_event ev;
	unsigned posted = 0, polled = 0;
	struct iw_cq *sends, *recvs;
	struct iw_wc wc;

	(void)state;
	iw_qp_free(a.qp);
	assert_int_equal(iw_cq_new(&sends, a.ctx), 0);
	assert_int_equal(iw_cq_new(&recvs, a.ctx), 0);
	qa.send_cq = sends;
	qa.recv_cq = recvs;
	assert_int_equal(iw_qp_new(&a.qp, a.pd, &qa, &a.why), 0);
	assert_int_equal(iw_cq_free(sends), IW_E_BUSY);
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(iw_post_recv(a.qp, 100 + i, NULL, 0, NULL), 0);
	end_join(&a, &b);
	for (int i = 0; i < 64; i++)
		assert_int_equal(iw_post_recv(b.qp, 1000, NULL, 0, NULL), 0);
	a.hold = true;
	for (int i = 0; i < 60; i++) {
		if (iw_post_send(a.qp, &(struct iw_send_wr){ .wr_id = posted, .op = IW_WR_SEND },
				 NULL) == 0)
			posted++;
		end_step(&a, 0);
		end_step(&b, 0);
	}
	assert_true(posted > DEPTH);
	iw_abort(a.qp);
	for (int i = 0; i < 20; i++)
		end_step(&a, 0);
	assert_int_equal(a.seen[IW_EV_CLOSED], 0);
	while (!a.seen[IW_EV_CLOSED]) {
		assert_true(polled < posted);
		assert_int_equal(iw_cq_poll(sends, &wc, 1), 1);
		assert_int_equal(wc.wr_id, polled++);
		while (iw_next_event(a.ctx, &ev))
			a.seen[ev.type]++;
	}
	while (iw_cq_poll(sends, &wc, 1) == 1)
		assert_int_equal(wc.wr_id, polled++);
	assert_int_equal(polled, posted);
	for (unsigned i = 0; i < 16; i++) {
		assert_int_equal(iw_cq_poll(recvs, &wc, 1), 1);
		assert_int_equal(wc.wr_id, 100 + i);
		assert_int_equal(wc.op, IW_WC_RECV);
		assert_int_equal(wc.status, IW_E_CANCELED);
	}
	assert_int_equal(iw_cq_poll(recvs, &wc, 1), 0);
}

/* ---------------------------------------------------------------- accounting */

/* Each posted request of e completed exactly once. */
static void assert_all_completed_once(const struct end *e, unsigned nsend, unsigned nrecv)
{
	unsigned char seen[END_WCS] = { 0 };

	assert_int_equal(e->nwc, nsend + nrecv);
	for (unsigned i = 0; i < e->nwc; i++) {
		assert_true(e->wc[i].wr_id < nsend + nrecv);
		assert_int_equal(seen[e->wc[i].wr_id]++, 0);
		assert_int_equal(e->wc[i].op == IW_WC_RECV, e->wc[i].wr_id >= nsend);
	}
}

/* RDMAP-38, DDP-83, DDP-80 */
static void reset_in_the_middle_completes_everything_once(void **state)
{
	enum { WORK = 48 };
	const size_t len = 4 << 20;
	unsigned char *src = octets(len, 3), *dst = octets(len, 0);
	struct iw_mr *target, *source, *sink;
	unsigned failed = 0;

	(void)state;
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(iw_post_recv(a.qp, WORK + i, NULL, 0, NULL), 0);
	end_join(&a, &b);
	target = end_reg(&b, dst, len, IW_ACCESS_REMOTE_WRITE);
	source = end_reg(&b, src, len, IW_ACCESS_REMOTE_READ);
	sink = end_reg(&a, dst, len, IW_ACCESS_READ_SINK);
	for (unsigned i = 0; i < WORK; i++)
		assert_int_equal(i % 3 ? end_write(&a, i, src, len, iw_mr_stag(target), 0,
						   i % 3 == 2 ? IW_WR_UNSIGNALED : 0)
				       : end_read(&a, i, sink, 0, (uint32_t)len, iw_mr_stag(source),
						  0),
				 0);
	end_until(&a, &b, a.nwc > 2);
	iw_abort(b.qp);
	end_until(&a, &b, a.seen[IW_EV_CLOSED] && b.seen[IW_EV_CLOSED]);
	assert_int_equal(a.fault.err, IW_E_CLOSED);
	assert_int_equal(a.fault.os_errno, ECONNRESET);
	assert_int_equal(a.nwc, a.wcs_at_closed);
	/* Unsignaled operations that succeeded have no completion. */
	for (unsigned i = 0; i < a.nwc; i++)
		failed += a.wc[i].status != IW_OK;
	assert_true(failed > 16);
	for (unsigned i = 0; i < WORK; i++)
		if (i % 3 == 2 && !end_wc(&a, i)) {
			a.wc[a.nwc++] = (struct iw_wc){ .wr_id = i, .op = IW_WC_WRITE };
			assert_true(a.nwc < END_WCS);
		}
	assert_all_completed_once(&a, WORK, 16);
	assert_int_equal(iw_post_recv(a.qp, 1, NULL, 0, NULL), IW_E_STATE);
	assert_int_equal(end_send(&a, 1, NULL, 0, 0), IW_E_STATE);
	free(src);
	free(dst);
}

static void abort_completes_everything_once_without_a_terminate(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(iw_post_recv(a.qp, 8 + i, NULL, 0, NULL), 0);
	end_join(&a, &b);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(end_send(&a, i, NULL, 0, 0), 0);
	iw_abort(a.qp);
	end_until(&a, &b, a.seen[IW_EV_CLOSED] && b.seen[IW_EV_CLOSED]);
	assert_all_completed_once(&a, 8, 8);
	assert_int_equal(a.fault.err, IW_E_CANCELED);
	assert_false(b.fault.from_peer);
	/* Repeated calls have no further effect. */
	iw_abort(a.qp);
	iw_disconnect(a.qp);
	end_run(&a, &b, 10);
	assert_int_equal(a.seen[IW_EV_CLOSED], 1);
}

static void queue_pair_that_never_connected_can_be_ended(void **state)
{
	(void)state;
	assert_int_equal(iw_post_recv(a.qp, 0, NULL, 0, NULL), 0);
	assert_int_equal(iw_post_recv(a.qp, 1, NULL, 0, NULL), 0);
	iw_disconnect(a.qp);
	end_until(&a, NULL, a.seen[IW_EV_CLOSED]);
	assert_all_completed_once(&a, 0, 2);
	assert_int_equal(iw_post_recv(a.qp, 1, NULL, 0, NULL), IW_E_STATE);
}

static void freed_queue_pair_drops_its_events_and_completions(void **state)
{
	struct iw_async_event ev;

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(iw_post_recv(b.qp, i, NULL, 0, NULL), 0);
	end_join(&a, &b);
	a.hold = b.hold = true;
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(end_send(&a, i, NULL, 0, 0), 0);
	for (int i = 0; i < 50; i++) {
		end_step(&a, 100000);
		assert_true(iw_progress(b.ctx, 100000) >= 0);
	}
	iw_abort(a.qp);
	for (int i = 0; i < 50; i++) {
		assert_true(iw_progress(a.ctx, 100000) >= 0);
		assert_true(iw_progress(b.ctx, 100000) >= 0);
	}
	assert_true(iw_progress(a.ctx, 0) > 0);
	assert_true(iw_progress(b.ctx, 0) >= 5);
	iw_qp_free(a.qp);
	iw_qp_free(b.qp);
	assert_int_equal(iw_progress(a.ctx, 0), 0);
	assert_int_equal(iw_progress(b.ctx, 0), 0);
	assert_false(iw_next_event(a.ctx, &ev));
	assert_false(iw_next_event(b.ctx, &ev));
	assert_int_equal(iw_cq_poll(b.cq, b.wc, 16), 0);
	assert_int_equal(iw_cq_free(b.cq), 0);
	assert_int_equal(iw_pd_free(b.pd), 0);
}

/* ---------------------------------------------------------------- ends */

/* DDP-74, DDP-75, DDP-77, DDP-79, MPA-49 */
static void half_closed_connection_still_carries_the_other_direction(void **state)
{
	const size_t len = 2000000;
	unsigned char *src = octets(len, 5), *dst = octets(len, 0);
	struct iw_mr *mr;

	(void)state;
	assert_int_equal(iw_post_recv(a.qp, 50, NULL, 0, NULL), 0);
	assert_int_equal(iw_post_recv(b.qp, 60, NULL, 0, NULL), 0);
	end_join(&a, &b);
	mr = end_reg(&a, dst, len, IW_ACCESS_REMOTE_WRITE);
	/* Operations posted before the end are sent; later ones are refused. */
	assert_int_equal(end_send(&a, 1, NULL, 0, 0), 0);
	iw_disconnect(a.qp);
	assert_int_equal(end_send(&a, 2, NULL, 0, 0), IW_E_STATE);
	end_until(&a, &b, b.seen[IW_EV_PEER_CLOSED]);
	assert_int_equal(end_wc(&b, 60)->status, IW_OK);
	assert_int_equal(b.seen[IW_EV_CLOSED], 0);
	assert_int_equal(end_write(&b, 3, src, len, iw_mr_stag(mr), 0, 0), 0);
	assert_int_equal(end_send(&b, 4, NULL, 0, 0), 0);
	end_until(&a, &b, end_wc(&a, 50));
	assert_memory_equal(src, dst, len);
	iw_disconnect(b.qp);
	end_until(&a, &b, a.seen[IW_EV_CLOSED] && b.seen[IW_EV_CLOSED]);
	assert_int_equal(a.fault.err, IW_OK);
	assert_int_equal(b.fault.err, IW_OK);
	free(src);
	free(dst);
}

static void send_buffer_of_one_octet_changes_nothing_but_the_pace(void **state)
{
	static const uint32_t mulpdu[] = { 0, 64768 };
	const size_t len = 400000;
	unsigned char *src = octets(len, 8), *dst = octets(len, 0);

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct conn_param p = { .at.sndbuf = 1,
					.at.rcvbuf = 1,
					.protocol.mulpdu = mulpdu[i] };
		struct iw_mr *mr, *sink;
		struct iw_qp_info info;

		if (i > 0) {
			close_both(NULL);
			open_both(NULL);
		}
		memset(dst, 0, len);
		assert_int_equal(iw_post_recv(b.qp, 60, NULL, 0, NULL), 0);
		end_join_with(&a, &b, p);
		mr = end_reg(&b, dst, len, IW_ACCESS_REMOTE_WRITE | IW_ACCESS_REMOTE_READ);
		sink = end_reg(&a, src, len, IW_ACCESS_READ_SINK);
		assert_int_equal(end_write(&a, 1, src, len, iw_mr_stag(mr), 0, 0), 0);
		assert_int_equal(end_send(&a, 2, NULL, 0, 0), 0);
		end_until(&a, &b, end_wc(&b, 60));
		assert_memory_equal(src, dst, len);
		iw_qp_info(a.qp, &info);
		assert_true(info.tx_sends > 20);
		memset(src, 0, len);
		assert_int_equal(end_read(&a, 3, sink, 0, (uint32_t)len, iw_mr_stag(mr), 0), 0);
		end_until(&a, &b, end_wc(&a, 3));
		assert_memory_equal(src, dst, len);
	}
	free(src);
	free(dst);
}

/* SEC-29 */
static void peer_that_answers_no_read_is_a_time_out(void **state)
{
	struct iw_ctx_attr attr = { .size = sizeof(attr), .stall_ns = MS(150) };
	char sink[8], source[8] = "1234567";
	struct iw_mr *mr, *from;

	(void)state;
	end_close(&a);
	end_open_with(&a, &attr, 0, 0);
	end_join(&a, &b);
	mr = end_reg(&a, sink, sizeof(sink), IW_ACCESS_READ_SINK);
	from = end_reg(&b, source, sizeof(source), IW_ACCESS_REMOTE_READ);
	assert_int_equal(end_read(&a, 1, mr, 0, 8, iw_mr_stag(from), 0), 0);
	/* Only a makes progress. */
	end_until(&a, NULL, a.seen[IW_EV_CLOSED]);
	assert_int_equal(a.fault.err, IW_E_TIMEOUT);
	assert_int_equal(end_wc(&a, 1)->status, IW_E_TIMEOUT);
}

/* SEC-29 */
static void peer_that_reads_no_octets_is_a_time_out(void **state)
{
	struct iw_ctx_attr attr = { .size = sizeof(attr), .stall_ns = MS(150) };
	const size_t len = 32 << 20;
	unsigned char *src = octets(len, 1);

	(void)state;
	end_close(&a);
	end_open_with(&a, &attr, 0, 0);
	end_join(&a, &b);
	assert_int_equal(end_write(&a, 1, src, len, 1, 0, 0), 0);
	end_until(&a, NULL, a.seen[IW_EV_CLOSED]);
	assert_int_equal(a.fault.err, IW_E_TIMEOUT);
	assert_int_equal(end_wc(&a, 1)->status, IW_E_TIMEOUT);
	free(src);
}

/*
 * The responder terminates while the initiator is in the middle of a long Write: the Terminate
 * arrives nevertheless. RDMAP-37
 */
static void terminate_reaches_a_peer_that_is_busy_sending(void **state)
{
	const size_t len = 32 << 20;
	unsigned char *src = octets(len, 1), board[8] = { 0 };
	struct iw_mr *mr;

	(void)state;
	end_join(&a, &b);
	mr = end_reg(&b, board, sizeof(board), IW_ACCESS_REMOTE_WRITE);
	assert_int_equal(end_write(&a, 1, src, len, iw_mr_stag(mr), 0, 0), 0);
	end_until(&a, &b, a.seen[IW_EV_CLOSED] && b.seen[IW_EV_CLOSED]);
	assert_int_equal(b.fault.err, IW_E_DDP_BOUNDS);
	assert_true(a.fault.from_peer);
	assert_int_equal(a.fault.err, IW_E_PEER_TERMINATE);
	assert_int_equal(a.fault.term, iw_err_term(IW_E_DDP_BOUNDS));
	assert_int_equal(end_wc(&a, 1)->status != IW_OK, 1);
	for (size_t i = 0; i < sizeof(board); i++)
		assert_int_equal(board[i], 0);
	free(src);
}

#define test(name) cmocka_unit_test_setup_teardown(name, open_both, close_both)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(send_fills_a_posted_buffer_and_reports_its_length),
		test(pieces_of_memory_become_one_message),
		test(writes_and_reads_of_every_size_arrive_unchanged),
		test(more_reads_than_ord_wait_their_turn_and_complete_in_order),
		test(send_with_invalidate_revokes_at_the_peer),
		test(write_after_revocation_is_refused_and_places_nothing),
		test(region_of_another_stream_or_domain_is_refused),
		test(region_with_a_lifetime_or_a_number_of_uses_ends),
		test(octets_written_without_a_gap_are_counted_from_the_first_on),
		test(payload_is_counted_without_zero_length_operations),
		test(octets_of_a_peer_are_counted_by_region_and_by_peer),
		test(revocation_in_mid_operation_is_final),
		test(impossible_regions_are_refused),
		test(exclusive_region_refuses_aliases_of_other_peers),
		test(exclusive_region_belongs_to_one_connection),
		test(impossible_work_is_refused),
		test(reads_are_refused_where_none_were_agreed_on),
		test(full_send_queue_has_room_after_completions_are_polled),
		test(unsignaled_work_needs_no_polling),
		test(queue_deeper_than_the_limit_is_refused),
		test(completions_that_are_not_polled_are_kept),
		test(completions_without_room_follow_when_another_queue_pair_is_freed),
		test(end_is_reported_after_completions_that_had_no_room),
		test(reset_in_the_middle_completes_everything_once),
		test(abort_completes_everything_once_without_a_terminate),
		test(queue_pair_that_never_connected_can_be_ended),
		test(freed_queue_pair_drops_its_events_and_completions),
		test(half_closed_connection_still_carries_the_other_direction),
		test(send_buffer_of_one_octet_changes_nothing_but_the_pace),
		test(peer_that_answers_no_read_is_a_time_out),
		test(peer_that_reads_no_octets_is_a_time_out),
		test(terminate_reaches_a_peer_that_is_busy_sending),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
