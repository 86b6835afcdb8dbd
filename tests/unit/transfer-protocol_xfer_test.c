// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Source and sink against each other, with either as initiator, in all modes; and each one against
 * a misbehaving peer.
 */
#include "transfer/protocol/xfer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "transfer/protocol/msg.h"
#include "transfer/protocol/pack.h"
#include "unit/transfer-protocol_pair.h"
#include "util/num.h"

#define MIB (UINT64_C(1) << 20)

static struct xpair pair; /* too large for the stack */

/* Emulated machines move a hundredth of the octets in the same time. */
#if defined(__x86_64__) || defined(__aarch64__)
#define SEEDS      6
#define MANY_SEEDS 300
#else
#define SEEDS      1
#define MANY_SEEDS 6
#endif

static const enum iw_xfer_mode modes[] = { IW_XFER_WRITE, IW_XFER_READ, IW_XFER_SEND };

static void start(bool pull, enum iw_xfer_mode mode, uint64_t seed)
{
	const struct xpair_opts o = {
		.pull = pull, .mode = mode, .digest = IW_XFER_XXH3, .seed = seed
	};

	xpair_init(&pair, &o);
}

static void assert_all_well(void)
{
	assert_true(pair.source.ended && pair.sink.ended);
	if (pair.source.fault.err != IW_OK || pair.sink.fault.err != IW_OK)
		fail_msg("source: %s; sink: %s", pair.source.fault.text, pair.sink.fault.text);
	assert_true(pair.source.closed && pair.sink.closed);
	for (unsigned i = 0; i < pair.nfiles; i++) {
		const struct xpair_file *f = &pair.file[i];

		assert_true(f->source_done && f->sink_done);
		if (f->mishap == FINE && iw_xfer_has_data(f->kind))
			assert_true(f->committed);
		if (f->mishap == FINE) {
			assert_int_equal(f->source_code, IW_XFER_CODE_OK);
			assert_int_equal(f->sink_code, IW_XFER_CODE_OK);
		}
	}
	for (size_t i = 0; i < IW_XFER_WINDOWS; i++)
		assert_false(pair.source.reg[i].live || pair.sink.reg[i].live);
}

static void each_way(void (*fill)(void), void (*check)(void))
{
	for (unsigned pull = 0; pull < 2; pull++) {
		for (size_t m = 0; m < IW_ARRAY_LEN(modes); m++) {
			for (uint64_t seed = 1; seed <= SEEDS; seed++) {
				start(pull, modes[m], seed);
				fill();
				xpair_run(&pair);
				check();
				xpair_fini(&pair);
			}
		}
	}
}

/* --- what must work --- */

static void fill_sizes(void)
{
	xpair_add(&pair, IW_XFER_FILE, "empty", 0);
	xpair_add(&pair, IW_XFER_FILE, "one", 1);
	xpair_add(&pair, IW_XFER_FILE, "chunk-1", MIB - 1);
	xpair_add(&pair, IW_XFER_FILE, "chunk", MIB);
	xpair_add(&pair, IW_XFER_FILE, "chunk+1", MIB + 1);
	xpair_add(&pair, IW_XFER_FILE, "pieces", 3 * 256 * 1024 + 5);
	xpair_add(&pair, IW_XFER_FILE, "many", 9 * MIB + 77);
}

/* APP-01, APP-03, APP-06, APP-08, APP-09, APP-12, APP-14, SEC-22, SEC-24, SEC-25 */
static void every_size_arrives_in_every_mode_and_direction(void **state)
{
	(void)state;
	each_way(fill_sizes, assert_all_well);
}

static void fill_holes(void)
{
	xpair_add(&pair, IW_XFER_FILE, "all hole", 5 * MIB)->data_every = 1000;
	xpair_add(&pair, IW_XFER_FILE, "huge", UINT64_C(1) << 40)->data_every = 400000;
	xpair_add(&pair, IW_XFER_FILE, "sparse", 200 * MIB + 3)->data_every = 40;
	xpair_add(&pair, IW_XFER_FILE, "zeros", 7 * MIB + 1)->zeros = true;
	xpair_add(&pair, IW_XFER_FILE, "fine", 400 * MIB)->data_every = 2;
	pair.file[4].zeros = true;
}

static void check_holes(void)
{
	assert_all_well();
	/* No octet of zeros moves: at most 1 + 3 + 6 chunks of data. */
	assert_true(iw_xfer_counts(pair.source.x)->octets <= 10 * MIB);
	assert_int_equal(iw_xfer_counts(pair.sink.x)->settled,
			 iw_xfer_counts(pair.sink.x)->announced);
	assert_int_equal(iw_xfer_counts(pair.source.x)->settled,
			 iw_xfer_counts(pair.source.x)->announced);
}

/* Holes and zeros are not moved: a file of 1 TiB takes only as long as its data. */
static void holes_and_zeros_are_not_moved(void **state)
{
	(void)state;
	each_way(fill_holes, check_holes);
}

static void fill_streams(void)
{
	static const uint64_t sizes[] = { 0, 1, MIB, MIB + 1, 3 * MIB - 1, 12 * MIB + 9 };

	for (size_t i = 0; i < IW_ARRAY_LEN(sizes); i++) {
		char name[8] = { 's', (char)('0' + i) };

		xpair_add(&pair, IW_XFER_STREAM, name, sizes[i]);
	}
	xpair_add(&pair, IW_XFER_STREAM, "zeros", 2 * MIB + 5)->zeros = true;
}

static void streams_of_unknown_length_end_at_end_of_file(void **state)
{
	(void)state;
	each_way(fill_streams, assert_all_well);
}

static void fill_many(void)
{
	for (unsigned i = 0; i < 250; i++) {
		char name[16];

		memset(name, 0, sizeof(name));
		name[0] = 'f';
		name[1] = (char)('a' + i / 100);
		name[2] = (char)('a' + i / 10 % 10);
		name[3] = (char)('a' + i % 10);
		xpair_add(&pair, i % 50 == 7 ? IW_XFER_DIR : IW_XFER_FILE, name,
			  i % 50 == 7 ? 0 : i * 37);
	}
}

static void more_files_than_may_be_open_at_once(void **state)
{
	(void)state;
	each_way(fill_many, assert_all_well);
}

static void nothing(void)
{
}

static void no_file_at_all_is_a_transfer_too(void **state)
{
	(void)state;
	each_way(nothing, assert_all_well);
}

static void fill_mishaps(void)
{
	for (unsigned i = 0; i < 40; i++) {
		char name[3] = { (char)('A' + i / 8), (char)('a' + i % 8) };

		xpair_add(&pair, i % 5 == 1 ? IW_XFER_STREAM : IW_XFER_FILE, name,
			  i % 3 * 2 * MIB + i * 3000)
			->mishap = i % 8;
	}
}

static void check_mishaps(void)
{
	/* The result at each side; 0: it depends on the size. */
	static const uint32_t codes[] = {
		[FINE] = IW_XFER_CODE_OK,         [CANNOT_OPEN] = IW_XFER_CODE_NOENT,
		[SHRINKS] = IW_XFER_CODE_CHANGED, [CHANGES] = IW_XFER_CODE_CHANGED,
		[EXISTS] = IW_XFER_CODE_SAME,     [CANNOT_CREATE] = IW_XFER_CODE_PERM,
		[DISK_FULL] = IW_XFER_CODE_SPACE, [CANNOT_COMMIT] = IW_XFER_CODE_IO,
	};
	unsigned failed = 0;

	for (unsigned i = 0; i < pair.nfiles; i++) {
		const struct xpair_file *f = &pair.file[i];
		bool harmless = (f->mishap == DISK_FULL && f->size <= MIB) ||
				(f->mishap == SHRINKS && f->size == 0 && f->kind == IW_XFER_FILE);
		uint32_t want = harmless ? IW_XFER_CODE_OK : codes[f->mishap];

		assert_true(f->source_done && f->sink_done);
		assert_int_equal(f->sink_code, want);
		if (f->source_code != want)
			fail_msg("file %u: mishap %d, size %lu, kind %d", i, f->mishap,
				 (unsigned long)f->size, f->kind);
		assert_int_equal(f->committed, want == IW_XFER_CODE_OK);
		failed += want != IW_XFER_CODE_OK && want != IW_XFER_CODE_SAME;
	}
	assert_int_equal(pair.source.fault.err, IW_OK);
	assert_int_equal(pair.sink.fault.err, IW_OK);
	assert_int_equal(iw_xfer_counts(pair.source.x)->files_failed, failed);
	assert_int_equal(iw_xfer_counts(pair.sink.x)->files_failed, failed);
	assert_int_equal(iw_xfer_counts(pair.source.x)->peer_failed, failed);
	assert_int_equal(iw_xfer_counts(pair.sink.x)->peer_failed, failed);
}

/*
 * The failure of one file, on either side and at any stage, does not affect the others; no
 * incomplete file is committed.
 */
static void one_failure_does_not_stop_the_others(void **state)
{
	(void)state;
	each_way(fill_mishaps, check_mishaps);
}

static void fill_slow_store(void)
{
	fill_sizes();
	xpair_add(&pair, IW_XFER_STREAM, "stream", 30 * MIB);
	pair.hold_store = 40;
}

static void fill_slow_load(void)
{
	fill_sizes();
	xpair_add(&pair, IW_XFER_STREAM, "stream", 10 * MIB);
	pair.hold_load = 40;
}

/* The sink waits for its disk, or the source for its pipe. */
static void slow_files_delay_the_transfer_without_failing_it(void **state)
{
	(void)state;
	each_way(fill_slow_store, assert_all_well);
	each_way(fill_slow_load, assert_all_well);
}

/* Transfers work without digests, and with one slot. */
static void one_slot_and_no_digest(void **state)
{
	(void)state;
	for (size_t m = 0; m < IW_ARRAY_LEN(modes); m++) {
		const struct xpair_opts o = { .mode = modes[m],
					      .digest = IW_XFER_NONE,
					      .source_slots = 1,
					      .sink_slots = 1,
					      .seed = m };

		xpair_init(&pair, &o);
		fill_sizes();
		xpair_run(&pair);
		assert_all_well();
		xpair_fini(&pair);
	}
}

static void a_digest_that_differs_fails_the_file(void **state)
{
	(void)state;
	for (size_t m = 0; m < IW_ARRAY_LEN(modes); m++) {
		const struct xpair_opts o = { .mode = modes[m],
					      .digest = IW_XFER_SHA256,
					      .seed = m };

		xpair_init(&pair, &o);
		xpair_add(&pair, IW_XFER_FILE, "f", 2 * MIB);
		xpair_add(&pair, IW_XFER_STREAM, "s", MIB + 1);
		xpair_add(&pair, IW_XFER_FILE, "empty", 0);
		pair.spoil = true;
		xpair_run(&pair);
		assert_int_equal(pair.sink.fault.err, IW_OK);
		assert_int_equal(pair.file[0].source_code, IW_XFER_CODE_DIGEST);
		assert_int_equal(pair.file[1].sink_code, IW_XFER_CODE_DIGEST);
		assert_true(pair.file[0].abandoned && pair.file[1].abandoned &&
			    pair.file[2].committed);
		xpair_fini(&pair);
	}
}

/* The options of the initiator reach the peer. */
static void open_carries_path_and_flags(void **state)
{
	(void)state;
	start(false, IW_XFER_WRITE, 3);
	xpair_run(&pair);
	assert_true(pair.opened);
	assert_string_equal(pair.path, "in/here");
	xpair_fini(&pair);
	start(true, IW_XFER_WRITE, 3);
	xpair_run(&pair);
	assert_int_equal(pair.paths, 2);
	xpair_fini(&pair);
}

/* An earlier transfer has stored these chunks: they are reported, not moved. */
static void fill_resumed(void)
{
	xpair_add(&pair, IW_XFER_FILE, "half", 9 * MIB + 77)->had = 5;
	xpair_add(&pair, IW_XFER_FILE, "all", 3 * MIB)->had = 3;
	xpair_add(&pair, IW_XFER_FILE, "none", 4 * MIB);
	xpair_add(&pair, IW_XFER_SYMLINK, "link", 0);
}

static void check_resumed(void)
{
	assert_all_well();
	assert_int_equal(pair.file[0].stores, 5);
	assert_int_equal(pair.file[1].stores, 0);
	assert_int_equal(pair.file[2].stores, 4);
	assert_int_equal(iw_xfer_counts(pair.source.x)->settled,
			 iw_xfer_counts(pair.source.x)->announced);
	assert_int_equal(pair.finals, 1);
	assert_int_equal(iw_xfer_counts(pair.source.x)->gone, 3);
}

static void what_the_sink_has_is_not_moved_again(void **state)
{
	(void)state;
	each_way(fill_resumed, check_resumed);
}

/* A chunk that differs at the source is moved, and replaces the old one. */
static void fill_differing(void)
{
	fill_resumed();
	pair.file[0].differs = 2;
	pair.file[1].differs = 2;
}

static void check_differing(void)
{
	const struct iw_xfer_counts *at_source = iw_xfer_counts(pair.source.x),
				    *at_sink = iw_xfer_counts(pair.sink.x);

	assert_all_well();
	assert_int_equal(pair.file[0].stores, 6);
	assert_int_equal(pair.file[1].stores, 1);
	assert_int_equal(pair.file[2].stores, 4);
	assert_int_equal(at_source->settled, at_source->announced);
	assert_int_equal(at_sink->settled, at_sink->announced);
	assert_int_equal(at_source->octets, at_sink->octets);
}

static void chunks_that_differ_at_the_sink_are_moved(void **state)
{
	(void)state;
	each_way(fill_differing, check_differing);
}

/*
 * The source may have to read a file to find the chunks that the sink lacks. That is work of the
 * source, and does not delay other files.
 */
static void a_range_may_be_answered_later(void **state)
{
	(void)state;
	for (int mode = IW_XFER_WRITE; mode <= (int)IW_XFER_SEND; mode++) {
		struct xpair_file *f;

		start(false, (enum iw_xfer_mode)mode, 1);
		f = xpair_add(&pair, IW_XFER_FILE, "late", 9 * MIB);
		f->range_late = true;
		xpair_add(&pair, IW_XFER_FILE, "other", 3 * MIB);
		pair.stop_after = 5000;
		xpair_run(&pair);
		assert_int_equal(f->stores, 0);
		assert_int_equal(pair.file[1].stores, 3);
		/* A NOP is due then; the transfer does not fail. */
		pair.now = iw_xfer_deadline(pair.source.x);
		iw_xfer_timeout(pair.source.x, pair.now);
		assert_false(pair.source.ended);
		iw_xfer_range(pair.source.x, 1, 0, f->size, true);
		pair.stop_after = 0;
		xpair_run(&pair);
		assert_all_well();
		xpair_fini(&pair);
	}
}

static void fill_packs(void)
{
	for (unsigned i = 0; i < 100; i++) {
		char name[16];
		struct xpair_file *f;
		struct iw_xfer_pack_out o;
		struct iw_xfer_meta m = {
			.kind = IW_XFER_FILE, .name = "m", .name_len = 1, .size = 99
		};

		snprintf(name, sizeof(name), "p%u", i);
		f = xpair_add(&pair, IW_XFER_PACK, name, 1 + i * 1000);
		iw_xfer_pack_begin(&o, f->list, sizeof(f->list));
		for (int n = 0; n < 3; n++)
			assert_true(iw_xfer_pack_add(&o, &m));
		f->list_len = iw_xfer_pack_end(&o);
		f->want = (uint8_t)(i << 5);
	}
}

static void check_packs(void)
{
	const struct iw_xfer_counts *c = iw_xfer_counts(pair.source.x);

	assert_all_well();
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(pair.file[i].wanted, (uint8_t)(i << 5));
	/* Each has three members. */
	assert_int_equal(c->files_done, 300);
	assert_int_equal(iw_xfer_counts(pair.sink.x)->files_done, 300);
}

static void packs_send_only_the_requested_members(void **state)
{
	(void)state;
	each_way(fill_packs, check_packs);
}

/* --- time --- */

/* SEC-29 */
static void a_peer_that_sends_nothing_is_disconnected(void **state)
{
	const struct iw_fault none = { .err = IW_OK };
	struct iw_xfer_act a;

	(void)state;
	start(false, IW_XFER_WRITE, 1);
	/* The sink waits for OPEN; its deadline is stall_ns after the start. */
	assert_int_equal(iw_xfer_deadline(pair.sink.x), IW_SEC(1030));
	iw_xfer_timeout(pair.sink.x, IW_SEC(1030) - 1);
	assert_false(iw_xfer_next(pair.sink.x, &a, IW_SEC(1030)));
	iw_xfer_timeout(pair.sink.x, IW_SEC(1030));
	assert_true(iw_xfer_next(pair.sink.x, &a, IW_SEC(1030)));
	assert_int_equal(a.type, IW_XFER_ACT_END);
	assert_int_equal(a.fault.err, IW_E_TIMEOUT);
	assert_true(iw_xfer_next(pair.sink.x, &a, IW_SEC(1030)));
	assert_int_equal(a.type, IW_XFER_ACT_DROP);
	assert_false(iw_xfer_next(pair.sink.x, &a, IW_SEC(1030)));
	assert_true(iw_xfer_is_over(pair.sink.x));
	iw_xfer_lost(pair.sink.x, &none);
	xpair_fini(&pair);
}

/* SEC-29: only OPEN ends the wait for it, not its first octets. */
static void octets_do_not_extend_the_time_for_open(void **state)
{
	(void)state;
	start(false, IW_XFER_WRITE, 1);
	for (unsigned i = 0; i < 3; i++) {
		pair.now += IW_SEC(8);
		iw_xfer_touch(pair.sink.x, pair.now);
		iw_xfer_moved(pair.sink.x, pair.now);
	}
	assert_int_equal(iw_xfer_deadline(pair.sink.x), IW_SEC(1030));
	xpair_fini(&pair);
}

/* A source that waits for its pipe sends NOPs, so the sink waits for minutes too. */
static void peer_that_waits_for_its_own_files_is_not_disconnected(void **state)
{
	(void)state;
	for (unsigned pull = 0; pull < 2; pull++) {
		start(pull, IW_XFER_WRITE, 5);
		xpair_add(&pair, IW_XFER_STREAM, "s", 3 * MIB);
		pair.hold_load = 60;
		/* pass_time advances by minutes between steps while nothing moves. */
		xpair_run(&pair);
		assert_all_well();
		xpair_fini(&pair);
	}
}

static bool swallow_all_but_open(struct xpair *p, bool from_source, uint8_t *msg, size_t *len,
				 size_t cap)
{
	(void)msg;
	(void)len;
	(void)cap;
	return !from_source || p->source.sends <= 1;
}

static void a_peer_that_stops_is_disconnected_after_the_stall_time(void **state)
{
	(void)state;
	start(false, IW_XFER_WRITE, 9);
	xpair_add(&pair, IW_XFER_FILE, "f", 2 * MIB);
	pair.meddle = swallow_all_but_open;
	xpair_run(&pair);
	assert_true(pair.source.ended && pair.sink.ended);
	assert_true(pair.source.fault.err != IW_OK && pair.sink.fault.err != IW_OK);
	assert_int_equal(
		pair.sink.fault.err == IW_E_TIMEOUT || pair.source.fault.err == IW_E_TIMEOUT, 1);
	assert_false(pair.file[0].committed);
	xpair_fini(&pair);
}

/* --- cut off --- */

/* At any moment: each file has a result, and files that are not committed are abandoned. */
static void a_lost_connection_leaves_no_incomplete_file(void **state)
{
	const struct iw_fault lost = { .err = IW_E_MPA_LOST, .clause = "", .text = "reset" };

	(void)state;
	for (uint64_t seed = 1; seed < MANY_SEEDS; seed++) {
		struct iw_xfer_act a;

		start(seed & 1, modes[seed % 3], seed);
		fill_sizes();
		xpair_add(&pair, IW_XFER_STREAM, "s", 3 * MIB);
		pair.stop_after = seed * 3;
		xpair_run(&pair);
		iw_xfer_lost(pair.source.x, &lost);
		iw_xfer_lost(pair.sink.x, &lost);
		xpair_drain(&pair);
		for (unsigned i = 0; i < pair.nfiles; i++) {
			const struct xpair_file *f = &pair.file[i];

			assert_false(f->committed && f->abandoned);
			assert_true(!f->sink_done ||
				    f->committed == (f->sink_code == IW_XFER_CODE_OK));
			assert_true(f->created == (f->committed || f->abandoned));
		}
		assert_true(pair.sink.ended && pair.source.ended);
		assert_false(iw_xfer_next(pair.sink.x, &a, pair.now));
		xpair_fini(&pair);
	}
}

static void giving_up_sends_the_reason_to_the_peer(void **state)
{
	const struct iw_fault why = { .err = IW_E_INVAL,
				      .clause = "",
				      .text = "the target is no directory" };

	(void)state;
	start(false, IW_XFER_WRITE, 11);
	xpair_add(&pair, IW_XFER_FILE, "f", 2 * MIB);
	pair.stop_after = 60;
	xpair_run(&pair);
	iw_xfer_fail(pair.sink.x, &why);
	pair.stop_after = 0;
	xpair_run(&pair);
	assert_int_equal(pair.source.fault.err, IW_E_REJECTED);
	assert_true(pair.source.fault.from_peer);
	assert_non_null(strstr(pair.source.fault.text, "the target is no directory"));
	assert_int_equal(pair.sink.fault.err, IW_E_INVAL);
	xpair_fini(&pair);
}

/* --- peers that break the rules --- */

/* Makes a message as a peer could; LIST has nlist entries, ENDS nends. */
static size_t make(uint8_t *buf, uint32_t type, const struct iw_xfer_entry *list, size_t nlist,
		   const struct iw_xfer_entry *ends, size_t nends)
{
	struct iw_cbor_out o;

	iw_cbor_out_init(&o, buf, IW_XFER_MSG_MAX);
	iw_cbor_map(&o, 2 + (list != NULL) + (ends != NULL) + (type == IW_XFER_MSG_NOP));
	iw_cbor_uint(&o, IW_XFER_KEY_TYPE);
	iw_cbor_uint(&o, type);
	iw_cbor_uint(&o, IW_XFER_KEY_CREDIT);
	iw_cbor_uint(&o, 1000);
	if (type == IW_XFER_MSG_NOP) {
		iw_cbor_uint(&o, IW_XFER_KEY_BUSY);
		iw_cbor_bool(&o, true);
	}
	if (list) {
		iw_cbor_uint(&o, IW_XFER_KEY_LIST);
		iw_cbor_array(&o, nlist);
		for (size_t i = 0; i < nlist; i++)
			iw_xfer_entry_put(&o, &list[i]);
	}
	if (ends) {
		iw_cbor_uint(&o, IW_XFER_KEY_ENDS);
		iw_cbor_array(&o, nends);
		for (size_t i = 0; i < nends; i++)
			iw_xfer_entry_put(&o, &ends[i]);
	}
	assert_false(o.full);
	return o.len;
}

#define ID    IW_XFER_HAS(ID)
#define RANGE (IW_XFER_HAS(ID) | IW_XFER_HAS(OFF) | IW_XFER_HAS(LEN))
#define FILE_                                                                                      \
	(IW_XFER_HAS(ID) | IW_XFER_HAS(NAME) | IW_XFER_HAS(KIND) | IW_XFER_HAS(SIZE) |             \
	 IW_XFER_HAS(MODE))

static struct xpair_side *victim;

static void let(struct xpair_side *s)
{
	xpair_act_all(&pair, s);
}

static void send_to(struct xpair_side *s, uint32_t type, const struct iw_xfer_entry *list,
		    size_t nlist, const struct iw_xfer_entry *ends, size_t nends)
{
	uint8_t buf[IW_XFER_MSG_MAX];

	xpair_inject(&pair, s, buf, make(buf, type, list, nlist, ends, nends));
	let(s);
}

/* Opens a sink whose two small receives are used or replaced. */
static void open_sink_with(enum iw_xfer_mode mode, uint32_t opts)
{
	uint8_t buf[64];
	struct iw_cbor_out o;

	start(false, mode, 1);
	pair.lone = true;
	victim = &pair.sink;
	iw_cbor_out_init(&o, buf, sizeof(buf));
	iw_cbor_map(&o, 5);
	iw_cbor_uint(&o, IW_XFER_KEY_TYPE);
	iw_cbor_uint(&o, IW_XFER_MSG_OPEN);
	iw_cbor_uint(&o, IW_XFER_KEY_CREDIT);
	iw_cbor_uint(&o, 1000);
	iw_cbor_uint(&o, IW_XFER_KEY_PATH);
	iw_cbor_bytes(&o, "x", 1);
	iw_cbor_uint(&o, IW_XFER_KEY_OPTS);
	iw_cbor_uint(&o, opts);
	iw_cbor_uint(&o, IW_XFER_KEY_CONNS);
	iw_cbor_uint(&o, 1);
	xpair_inject(&pair, victim, buf, o.len);
	let(victim);
	assert_true(pair.opened);
}

static void open_sink(enum iw_xfer_mode mode)
{
	open_sink_with(mode, 0);
}

/* Opens a source that has announced one file of that size. */
static void open_source_with(enum iw_xfer_mode mode, uint64_t size, bool more_later)
{
	start(false, mode, 1);
	pair.lone = true;
	pair.more_later = more_later;
	victim = &pair.source;
	xpair_add(&pair, IW_XFER_FILE, "f", size);
	let(victim);
	/* OPEN used one of two credits; FILES and WANT need more. */
	send_to(victim, IW_XFER_MSG_NOP, NULL, 0, NULL, 0);
}

static void open_source(enum iw_xfer_mode mode, uint64_t size)
{
	open_source_with(mode, size, false);
}

static void assert_breach(const char *text)
{
	assert_true(victim->ended);
	assert_int_equal(victim->fault.err, IW_E_FORMAT);
	if (!strstr(victim->fault.text, text))
		fail_msg("expected \"%s\" in: %s", text, victim->fault.text);
	assert_true(iw_xfer_is_over(victim->x));
	xpair_fini(&pair);
}

static struct iw_xfer_entry file_entry(uint32_t id, const char *name, uint64_t size)
{
	return (struct iw_xfer_entry){ .has = FILE_,
				       .id = id,
				       .name = name,
				       .name_len = strlen(name),
				       .size = size,
				       .mode = 0644 };
}

static void add_victim_file(const char *name, uint64_t size)
{
	struct iw_xfer_entry e = file_entry(pair.nfiles + 1, name, size);

	xpair_add(&pair, IW_XFER_FILE, name, size);
	pair.any_meta = true;
	send_to(&pair.sink, IW_XFER_MSG_FILES, &e, 1, NULL, 0);
}

static void octets_that_are_not_a_message_end_the_transfer(void **state)
{
	static const struct {
		const char *octets;
		size_t len;
		const char *text;
	} rows[] = {
		{ "\xff", 1, "not a CBOR map" },
		{ "", 0, "an empty message" },
		{ "\xa0", 1, "key 0 is missing" },
		{ "\xa1\x00\x00", 3, "key 1 is missing" },
		{ "\xa2\x00\x00\x01\x20", 5, "key 1 is not an unsigned integer" },
		{ "\xa2\x00\x00\x01", 4, "is not CBOR" },
		{ "\xa3\x00\x00\x01\x02\x00\x00", 7, "appears twice" },
		{ "\xbf\x00\x00\x01\x02\xff", 6, "not a CBOR map of definite length" },
		{ "\xa2\x00\x00\x01\x02\x00", 6, "1 octets after a message" },
		{ "\xbb\xff\xff\xff\xff\xff\xff\xff\xff\x00", 10,
		  "not a CBOR map of definite length" },
		{ "\xa2\x00\x18\x63\x01\x19\x03\xe8", 8, "message unknown (99)" },
		{ "\xa2\x00\x01\x01\x19\x03\xe8", 7, "OPEN comes twice" },
		{ "\xa2\x00\x00\x01\x00", 5, "credit went back" },
		{ "\xa2\x00\x00\x01\x1b\x7f\xff\xff\xff\xff\xff\xff\xff", 13, "credit went from" },
		{ "\x00\x00\x00\x00", 4, "a bad header" },
		{ "\x00\x01\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00x", 17,
		  "a bad header" },
		{ "\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00x", 17,
		  "in a mode other than send" },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		open_sink(IW_XFER_WRITE);
		xpair_inject(&pair, victim, (const uint8_t *)rows[i].octets, rows[i].len);
		let(victim);
		assert_breach(rows[i].text);
	}
}

static void unknown_keys_and_messages_are_ignored(void **state)
{
	/* NOP with keys 9 (an array in a map), -1 and "k", and a message of type 200. */
	static const uint8_t nop[] = { 0xa5, 0x00, 0x00, 0x01, 0x19, 0x03, 0xe8, 0x09, 0xa1,
				       0x00, 0x82, 0x01, 0xf6, 0x20, 0xfb, 0,    0,    0,
				       0,    0,    0,    0,    0,    0x61, 'k',  0xc1, 0x00 };
	static const uint8_t newer[] = { 0xa2, 0x00, 0x18, 0xc8, 0x01, 0x19, 0x03, 0xe8 };

	(void)state;
	open_sink(IW_XFER_WRITE);
	xpair_inject(&pair, victim, nop, sizeof(nop));
	xpair_inject(&pair, victim, newer, sizeof(newer));
	let(victim);
	assert_false(victim->ended);
	xpair_fini(&pair);
}

static void the_first_message_is_open(void **state)
{
	struct iw_xfer_entry e = file_entry(1, "f", 5);
	uint8_t buf[128];

	(void)state;
	start(false, IW_XFER_WRITE, 1);
	pair.lone = true;
	victim = &pair.sink;
	xpair_inject(&pair, victim, buf, make(buf, IW_XFER_MSG_FILES, &e, 1, NULL, 0));
	let(victim);
	assert_breach("its first message is FILES, expected OPEN");
}

/* Names that are refused without asking the file system, such as path escapes. */
static void names_that_are_refused(void **state)
{
	static const struct {
		const char *name;
		size_t len;
		const char *text;
	} rows[] = {
		{ "..", 2, "\"..\"" },
		{ "../x", 4, "\"..\"" },
		{ "a/../../x", 9, "\"..\"" },
		{ "a/..", 4, "\"..\"" },
		{ ".", 1, "\".\"" },
		{ "/etc/passwd", 11, "absolute" },
		{ "", 0, "empty" },
		{ "a//b", 4, "empty component" },
		{ "a/", 2, "ends in a slash" },
		{ "a\0b", 3, "NUL" },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		struct iw_xfer_entry e = file_entry(1, "", 5);

		open_sink(IW_XFER_WRITE);
		e.name = rows[i].name;
		e.name_len = rows[i].len;
		send_to(victim, IW_XFER_MSG_FILES, &e, 1, NULL, 0);
		/* The file fails, the transfer continues, nothing was created. */
		assert_false(victim->ended);
		assert_int_equal(pair.creates, 0);
		assert_int_equal(iw_xfer_counts(victim->x)->files_failed, 1);
		assert_non_null(strstr(pair.last_text, rows[i].text));
		xpair_fini(&pair);
	}
}

static void invalid_announcements_end_the_transfer(void **state)
{
	struct iw_xfer_entry e[130];

	(void)state;
	open_sink(IW_XFER_WRITE);
	e[0] = file_entry(2, "f", 1);
	send_to(victim, IW_XFER_MSG_FILES, e, 1, NULL, 0);
	assert_breach("file 2, expected 1");

	open_sink(IW_XFER_WRITE);
	e[0] = file_entry(1, "f", 1);
	e[1] = file_entry(1, "g", 1);
	send_to(victim, IW_XFER_MSG_FILES, e, 2, NULL, 0);
	assert_breach("file 1, expected 2");

	open_sink(IW_XFER_WRITE);
	pair.any_meta = pair.tolerant = true;
	xpair_add(&pair, IW_XFER_FILE, "f", 1);
	for (uint32_t i = 0; i < 130; i++)
		e[i] = file_entry(i + 1, "f", 1);
	send_to(victim, IW_XFER_MSG_FILES, e, 130, NULL, 0);
	assert_breach("more than 64 at once");

	/* 2^63 octets: the limit is 2^63 - 1. */
	open_sink(IW_XFER_WRITE);
	e[0] = file_entry(1, "f", UINT64_C(1) << 63);
	send_to(victim, IW_XFER_MSG_FILES, e, 1, NULL, 0);
	assert_breach("more than 9223372036854775807");

	open_sink(IW_XFER_WRITE);
	e[0] = file_entry(1, "f", 1);
	e[0].has &= ~IW_XFER_HAS(KIND);
	send_to(victim, IW_XFER_MSG_FILES, e, 1, NULL, 0);
	assert_breach("FILES entry: key 10 is missing");
}

static void invalid_ranges_end_the_transfer(void **state)
{
	static const struct {
		uint64_t off, len;
	} rows[] = {
		{ 0, 0 },
		{ 1, MIB },
		{ 0, MIB + 1 },
		{ 0, 10 * MIB },
		{ 9 * MIB, MIB },
		{ MIB, 5 },
		{ INT64_MAX & ~(MIB - 1), MIB },
		{ 0, INT64_MAX },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		struct iw_xfer_entry e = {
			.has = RANGE, .id = 1, .off = rows[i].off, .len = rows[i].len
		};

		open_sink(IW_XFER_WRITE);
		add_victim_file("f", 5 * MIB);
		send_to(victim, IW_XFER_MSG_WANT, &e, 1, NULL, 0);
		assert_breach("WANT of");
	}
	/* The same range twice, and too many ranges. */
	open_sink(IW_XFER_WRITE);
	add_victim_file("f", 5 * MIB);
	send_to(victim, IW_XFER_MSG_WANT,
		(const struct iw_xfer_entry[]){ { .has = RANGE, .id = 1, .off = 0, .len = MIB },
						{ .has = RANGE, .id = 1, .off = 0, .len = MIB } },
		2, NULL, 0);
	assert_breach("WANT of");

	open_sink(IW_XFER_WRITE);
	add_victim_file("f", 1000 * MIB);
	for (uint64_t n = 0; n < 200 && !victim->ended; n++) {
		struct iw_xfer_entry e = { .has = RANGE, .id = 1, .off = 2 * n * MIB, .len = MIB };

		send_to(victim, IW_XFER_MSG_WANT, &e, 1, NULL, 0);
	}
	assert_true(victim->most_regs <= 8);
	assert_breach("more than 128 ranges");

	open_sink(IW_XFER_WRITE);
	send_to(victim, IW_XFER_MSG_WANT,
		(const struct iw_xfer_entry[]){ { .has = RANGE, .id = 1, .off = 0, .len = MIB } },
		1, NULL, 0);
	assert_breach("which is not announced");
}

static struct iw_xfer_entry done_entry(uint32_t id, uint64_t off, uint64_t len)
{
	return (struct iw_xfer_entry){ .has = RANGE | IW_XFER_HAS(DIGEST),
				       .id = id,
				       .off = off,
				       .len = len,
				       .digest = { .len = 16 } };
}

/*
 * RFC 5042 6.3.2: octets that were not written are not stored, whatever the memory of the window
 * held before. SEC-23
 */
static void done_of_a_window_that_was_not_written_is_a_breach(void **state)
{
	static const uint64_t written[] = { 0, 1, MIB - 1, MIB };
	struct iw_xfer_entry want = { .has = RANGE, .id = 1, .off = 0, .len = MIB }, d;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		open_sink(IW_XFER_WRITE);
		add_victim_file("f", 5 * MIB);
		send_to(victim, IW_XFER_MSG_WANT, &want, 1, NULL, 0);
		for (unsigned k = 0; k < IW_XFER_WINDOWS; k++)
			victim->reg[k].written = written[i];
		d = done_entry(1, 0, MIB);
		send_to(victim, IW_XFER_MSG_DONE, &d, 1, NULL, 0);
		if (i < 3) {
			assert_int_equal(pair.file[0].stores, 0);
			assert_breach("of them were written");
			continue;
		}
		assert_false(victim->ended); /* octets with another digest fail only the file */
		xpair_fini(&pair);
	}
}

static void invalid_dones_end_the_transfer(void **state)
{
	struct iw_xfer_entry want = { .has = RANGE, .id = 1, .off = 0, .len = MIB }, d;

	(void)state;
	/* A window that was never granted. */
	open_sink(IW_XFER_WRITE);
	add_victim_file("f", 5 * MIB);
	d = done_entry(1, 0, MIB);
	send_to(victim, IW_XFER_MSG_DONE, &d, 1, NULL, 0);
	assert_breach("no such window is open");

	/* Longer than the window; shorter; without a digest; the same twice; for no file. */
	for (unsigned i = 0; i < 6; i++) {
		static const char *const texts[] = {
			"the window has 1048576", "the window has 1048576", "a digest of 0 octets",
			"no such window is open", "which is not going",     "at its end"
		};
		struct iw_xfer_entry both[2],
			end = { .has = ID | IW_XFER_HAS(CODE), .id = 1, .code = IW_XFER_CODE_IO };

		open_sink(IW_XFER_WRITE);
		add_victim_file("f", 5 * MIB);
		send_to(victim, IW_XFER_MSG_WANT, &want, 1, NULL, 0);
		assert_int_equal(victim->most_regs, 1);
		both[0] = both[1] = done_entry(1, 0, i == 0 ? MIB + 1 : i == 1 ? MIB - 1 : MIB);
		if (i == 2)
			both[0].has &= ~IW_XFER_HAS(DIGEST);
		if (i == 4)
			both[0].id = 2;
		if (i == 5)
			send_to(victim, IW_XFER_MSG_DONE, NULL, 0, &end, 1);
		else
			end.has = 0;
		if (i == 5) {
			/*
			 * RESULT was sent and END has arrived: the file is forgotten, and later
			 * messages about it are ignored.
			 */
			send_to(victim, IW_XFER_MSG_DONE, both, 1, NULL, 0);
			assert_false(victim->ended);
			assert_int_equal(iw_xfer_counts(victim->x)->files_failed, 1);
			xpair_fini(&pair);
			continue;
		}
		send_to(victim, IW_XFER_MSG_DONE, both, i == 3 ? 2 : 1, NULL, 0);
		assert_breach(texts[i]);
	}
}

static void invalid_ends_end_the_transfer(void **state)
{
	struct iw_xfer_entry end = { .has = ID | IW_XFER_HAS(SIZE) | IW_XFER_HAS(DIGEST),
				     .id = 1,
				     .size = 5 * MIB,
				     .digest = { .len = 16 } };
	struct iw_xfer_entry want = { .has = RANGE, .id = 1, .off = 0, .len = MIB };

	(void)state;
	/* For a file that is not announced. */
	open_sink(IW_XFER_WRITE);
	send_to(victim, IW_XFER_MSG_DONE, NULL, 0, &end, 1);
	assert_breach("which is not announced");

	/* Twice in one message. */
	open_sink(IW_XFER_WRITE);
	add_victim_file("f", 5 * MIB);
	send_to(victim, IW_XFER_MSG_DONE, NULL, 0, (const struct iw_xfer_entry[]){ end, end }, 2);
	assert_breach("has ended");

	/* Without its size, although it did not fail. */
	open_sink(IW_XFER_WRITE);
	add_victim_file("f", 5 * MIB);
	send_to(victim, IW_XFER_MSG_DONE, NULL, 0,
		&(const struct iw_xfer_entry){ .has = ID, .id = 1 }, 1);
	assert_breach("without its size");

	/*
	 * Before the requested ranges have arrived: only that file fails, and its window is
	 * revoked.
	 */
	open_sink(IW_XFER_WRITE);
	add_victim_file("f", 5 * MIB);
	send_to(victim, IW_XFER_MSG_WANT, &want, 1, NULL, 0);
	send_to(victim, IW_XFER_MSG_DONE, NULL, 0, &end, 1);
	assert_false(victim->ended);
	assert_int_equal(pair.file[0].sink_code, IW_XFER_CODE_PROTOCOL);
	assert_true(pair.file[0].abandoned);
	for (size_t i = 0; i < IW_XFER_WINDOWS; i++)
		assert_false(victim->reg[i].live);
	xpair_fini(&pair);

	/* With a size other than the announced one. */
	open_sink(IW_XFER_WRITE);
	add_victim_file("f", 5 * MIB);
	end.size = 6 * MIB;
	send_to(victim, IW_XFER_MSG_DONE, NULL, 0, &end, 1);
	assert_int_equal(pair.file[0].sink_code, IW_XFER_CODE_CHANGED);
	xpair_fini(&pair);
}

/*
 * Opens a sink with these options. The source sends the code for a file in its announcement or at
 * its end. Returns the code of the result.
 */
static uint32_t settled_code(uint32_t opts, uint32_t code, bool at_end, bool top)
{
	struct iw_xfer_entry e = file_entry(1, "f", MIB);
	const struct iw_xfer_entry end = { .has = ID | IW_XFER_HAS(CODE), .id = 1, .code = code };
	uint32_t got;

	open_sink_with(IW_XFER_WRITE, opts);
	pair.any_meta = pair.tolerant = true;
	xpair_add(&pair, IW_XFER_FILE, "f", MIB);
	e.has |= IW_XFER_HAS(TOP);
	e.top = top;
	if (!at_end) {
		e.has |= IW_XFER_HAS(CODE);
		e.code = code;
	}
	send_to(victim, IW_XFER_MSG_FILES, &e, 1, NULL, 0);
	if (at_end)
		send_to(victim, IW_XFER_MSG_DONE, NULL, 0, &end, 1);
	assert_false(victim->ended);
	got = pair.file[0].sink_code;
	xpair_fini(&pair);
	return got;
}

static void codes_that_only_a_sink_can_determine_are_rejected(void **state)
{
	static const uint32_t sinks[] = { IW_XFER_CODE_OK,    IW_XFER_CODE_SAME,
					  IW_XFER_CODE_WOULD, IW_XFER_CODE_EXISTS,
					  IW_XFER_CODE_NEWER, IW_XFER_CODE_EXCLUDED };

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(sinks); i++) {
		assert_int_equal(settled_code(0, sinks[i], false, false), IW_XFER_CODE_PROTOCOL);
		assert_int_equal(settled_code(IW_XFER_OPT_DELETE, sinks[i], false, true),
				 IW_XFER_CODE_PROTOCOL);
		assert_int_equal(settled_code(0, sinks[i], true, false), IW_XFER_CODE_PROTOCOL);
		assert_int_equal(settled_code(IW_XFER_OPT_DELETE, sinks[i], true, false),
				 IW_XFER_CODE_PROTOCOL);
	}
	/* An excluded file must not be removed. */
	assert_int_equal(settled_code(IW_XFER_OPT_DELETE, IW_XFER_CODE_EXCLUDED, false, false),
			 IW_XFER_CODE_EXCLUDED);
	assert_int_equal(settled_code(IW_XFER_OPT_DELETE, IW_XFER_CODE_SAME, false, false),
			 IW_XFER_CODE_PROTOCOL);
	/* A source may send failures, also those of newer versions. */
	assert_int_equal(settled_code(0, IW_XFER_CODE_PERM, false, true), IW_XFER_CODE_PERM);
	assert_int_equal(settled_code(0, 99, true, true), 99);
}

/* HAVE is accepted within the file, once, and before GO. */
static void invalid_haves_end_the_transfer(void **state)
{
	const unsigned has = RANGE | IW_XFER_HAS(CHUNKS);
	static const uint8_t octets[4 * IW_XFER_DIGEST_MAX];
	static const uint64_t offs[] = { 1, 0, MIB, 4 * MIB, 0, 0 },
			      lens[] = { MIB, 4 * MIB, MIB + 1, MIB, 0, MIB };

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		size_t digest;
		struct iw_xfer_entry e = { .has = has, .id = 1, .off = offs[i], .len = lens[i] };

		open_source(IW_XFER_WRITE, 3 * MIB);
		digest = iw_xfer_digest_len(pair.source_cfg.mine.digest);
		e.chunks = octets;
		e.chunks_len = (size_t)((lens[i] + MIB - 1) / MIB) * digest;
		/* The last one is correct except for its digests. */
		e.chunks_len += i == 5;
		send_to(victim, IW_XFER_MSG_HAVE, &e, 1, NULL, 0);
		assert_breach("HAVE of");
	}
	for (unsigned i = 0; i < 2; i++) {
		struct iw_xfer_entry e = { .has = has, .id = 1 + i, .len = 2 * MIB };

		open_source(IW_XFER_WRITE, 3 * MIB);
		e.chunks = octets;
		e.chunks_len = 2 * iw_xfer_digest_len(pair.source_cfg.mine.digest);
		send_to(victim, IW_XFER_MSG_HAVE, (const struct iw_xfer_entry[]){ e, e }, 2, NULL,
			0);
		assert_breach(i == 0 ? "HAVE of more octets than" : "not announced");
	}
}

static void go_for_a_failed_pack_takes_no_memory(void **state)
{
	static const uint8_t bits[1] = { 0xe0 }, octets[2 * IW_XFER_DIGEST_MAX];
	const struct iw_xfer_entry go = {
		.has = ID | IW_XFER_HAS(WANTED), .id = 2, .wanted = bits, .wanted_len = 1
	};
	struct iw_xfer_entry have = {
		.has = RANGE | IW_XFER_HAS(CHUNKS), .id = 1, .len = 2 * MIB, .chunks = octets
	};
	struct iw_xfer_meta m = { .kind = IW_XFER_FILE, .name = "m", .name_len = 1, .size = 99 };
	struct iw_xfer_pack_out o;
	struct xpair_file *pack;
	size_t before = 0;

	(void)state;
	start(false, IW_XFER_WRITE, 1);
	pair.lone = true;
	victim = &pair.source;
	xpair_add(&pair, IW_XFER_FILE, "f", 3 * MIB);
	pack = xpair_add(&pair, IW_XFER_PACK, "p", 300);
	iw_xfer_pack_begin(&o, pack->list, sizeof(pack->list));
	for (int n = 0; n < 3; n++)
		assert_true(iw_xfer_pack_add(&o, &m));
	pack->list_len = iw_xfer_pack_end(&o);
	let(victim);
	send_to(victim, IW_XFER_MSG_NOP, NULL, 0, NULL, 0);
	/* The report waits for the GO of the first file, and later ones wait after it. */
	have.chunks_len = 2 * iw_xfer_digest_len(pair.source_cfg.mine.digest);
	send_to(victim, IW_XFER_MSG_HAVE, &have, 1, NULL, 0);
	iw_xfer_file_failed(victim->x, 2, IW_XFER_CODE_IO, "", pair.now);
	let(victim);
	for (int i = 0; i < 200; i++) {
		send_to(victim, IW_XFER_MSG_GO, &go, 1, NULL, 0);
		/* Until then the source may have allocated its message buffers. */
		if (i == 99)
			before = xpair_allocated;
	}
	assert_false(victim->ended);
	assert_int_equal(xpair_allocated, before);
	xpair_fini(&pair);
}

/* Attributes before an announcement belong to the next file, come in pieces, and are limited. */
static void invalid_attributes_end_the_transfer(void **state)
{
	static const uint8_t octets[IW_XFER_XATTR_PIECE];
	struct iw_xfer_entry e = { .has = ID | IW_XFER_HAS(XATTR), .id = 2, .xattr = octets };
	struct iw_xfer_entry f = file_entry(1, "f", MIB);

	(void)state;
	e.xattr_len = 1;
	open_sink(IW_XFER_WRITE);
	send_to(victim, IW_XFER_MSG_ATTRS, &e, 1, NULL, 0);
	assert_breach("ATTRS: file 2, expected 1");
	e.id = 1;
	e.xattr_len = 0;
	open_sink(IW_XFER_WRITE);
	send_to(victim, IW_XFER_MSG_ATTRS, &e, 1, NULL, 0);
	assert_breach("ATTRS: 0 octets");
	e.xattr_len = sizeof(octets);
	open_sink(IW_XFER_WRITE);
	send_to(victim, IW_XFER_MSG_NOP, NULL, 0, NULL, 0); /* uses the last small receive */
	for (unsigned i = 0; i < IW_XFER_XATTR_MAX / IW_XFER_XATTR_PIECE; i++) {
		send_to(victim, IW_XFER_MSG_ATTRS, &e, 1, NULL, 0);
		assert_false(victim->ended);
	}
	send_to(victim, IW_XFER_MSG_ATTRS, &e, 1, NULL, 0);
	assert_breach("ATTRS: 294912 octets");

	/* The last octets are in FILES. */
	open_sink(IW_XFER_WRITE);
	send_to(victim, IW_XFER_MSG_NOP, NULL, 0, NULL, 0);
	for (unsigned i = 0; i < IW_XFER_XATTR_MAX / IW_XFER_XATTR_PIECE; i++)
		send_to(victim, IW_XFER_MSG_ATTRS, &e, 1, NULL, 0);
	f.has |= IW_XFER_HAS(XATTR);
	f.xattr = octets;
	f.xattr_len = 1;
	send_to(victim, IW_XFER_MSG_FILES, &f, 1, NULL, 0);
	assert_breach("FILES: 262145 octets of attributes");
}

static void invalid_parts_and_packs_end_the_transfer(void **state)
{
	static const uint64_t offs[] = { 1, 0, MIB, 9 * MIB }, lens[] = { MIB, 0, MIB + 1, MIB };
	struct iw_xfer_entry e, go = { .has = ID | IW_XFER_HAS(WANTED), .id = 1 };

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		open_sink(IW_XFER_WRITE);
		e = file_entry(1, "f", 5 * MIB);
		e.has |= RANGE | IW_XFER_HAS(SHARE);
		e.share = 1;
		e.off = offs[i];
		e.len = lens[i];
		send_to(victim, IW_XFER_MSG_FILES, &e, 1, NULL, 0);
		assert_breach("FILES: part of");
	}
	open_sink(IW_XFER_WRITE);
	e = file_entry(1, "p", 0);
	e.kind = IW_XFER_PACK;
	e.has |= IW_XFER_HAS(LIST);
	e.list = (const uint8_t *)"\x80";
	e.list_len = 1;
	send_to(victim, IW_XFER_MSG_FILES, &e, 1, NULL, 0);
	assert_breach("FILES: pack 1: its list");
	go.wanted = (const uint8_t *)"\xff";
	go.wanted_len = 1;
	open_source(IW_XFER_WRITE, 1);
	send_to(victim, IW_XFER_MSG_GO, &go, 1, NULL, 0);
	assert_breach("GO for file 1 with the members");
	open_source(IW_XFER_WRITE, 1);
	go.has = ID | IW_XFER_HAS(CODE) | IW_XFER_HAS(CODES);
	go.code = IW_XFER_CODE_PERM;
	go.codes = go.wanted;
	go.codes_len = 1;
	send_to(victim, IW_XFER_MSG_RESULT, &go, 1, NULL, 0);
	assert_breach("RESULT of 1 members");
}

static void invalid_byes_end_the_transfer(void **state)
{
	uint8_t buf[64];
	struct iw_cbor_out o;

	(void)state;
	iw_cbor_out_init(&o, buf, sizeof(buf));
	iw_cbor_map(&o, 4);
	for (unsigned k = 0; k < 4; k++) {
		static const unsigned keys[] = { IW_XFER_KEY_TYPE, IW_XFER_KEY_CREDIT,
						 IW_XFER_KEY_FILES, IW_XFER_KEY_FAILED };
		static const unsigned values[] = { IW_XFER_MSG_BYE, 1000, 0, 0 };

		iw_cbor_uint(&o, keys[k]);
		iw_cbor_uint(&o, values[k]);
	}
	open_sink(IW_XFER_WRITE);
	add_victim_file("f", 5 * MIB);
	xpair_inject(&pair, victim, buf, o.len);
	let(victim);
	assert_breach("BYE before file 1");

	/* After BYE a source may send only NOP and ABORT. */
	for (unsigned i = 0; i < 6; i++) {
		static const uint32_t types[] = { IW_XFER_MSG_FILES, IW_XFER_MSG_ATTRS,
						  IW_XFER_MSG_WANT, IW_XFER_MSG_DONE,
						  IW_XFER_MSG_BYE };
		static const char *const texts[] = {
			"FILES after BYE", "ATTRS after BYE", "WANT after BYE",
			"DONE after BYE",  "BYE after BYE",   "data of file 1 after BYE"
		};
		static uint8_t piece[IW_XFER_MSG_MAX];

		open_sink(IW_XFER_SEND);
		xpair_inject(&pair, victim, buf, o.len);
		xpair_inject(&pair, victim, piece, make(piece, IW_XFER_MSG_NOP, NULL, 0, NULL, 0));
		if (i < IW_ARRAY_LEN(types)) {
			xpair_inject(&pair, victim, piece, make(piece, types[i], NULL, 0, NULL, 0));
		} else {
			iw_xfer_data_encode(piece, 1, 0);
			xpair_inject(&pair, victim, piece, 100);
		}
		let(victim);
		assert_breach(texts[i]);
	}

	open_source(IW_XFER_WRITE, MIB);
	xpair_inject(&pair, victim, buf, o.len);
	let(victim);
	assert_breach("BYE from the sink before the source's BYE");

	/* The driver may pass several messages before it performs an action. */
	start(false, IW_XFER_WRITE, 1);
	pair.lone = true;
	victim = &pair.source;
	let(victim);
	send_to(victim, IW_XFER_MSG_NOP, NULL, 0, NULL, 0);
	xpair_inject(&pair, victim, buf, o.len);
	xpair_inject(&pair, victim, buf, o.len);
	let(victim);
	assert_breach("BYE from the sink comes twice");
}

static void invalid_sends_end_the_transfer(void **state)
{
	static uint8_t piece[IW_XFER_PIECE + IW_XFER_DATA_HDR];
	struct iw_xfer_entry d = done_entry(1, 0, 2 * IW_XFER_PIECE);

	(void)state;
	/* Data for a file that was not requested; not at the start of a chunk; out of order. */
	for (unsigned i = 0; i < 4; i++) {
		static const char *const texts[] = { "which is not going", "out of order",
						     "out of order", "not what was sent" };
		static const uint64_t offs[] = { 0, 5, 0, 0 };

		open_sink(IW_XFER_SEND);
		if (i > 0)
			add_victim_file("f", 5 * MIB);
		/* The first receives are small: use them up. */
		send_to(victim, IW_XFER_MSG_NOP, NULL, 0, NULL, 0);
		iw_xfer_data_encode(piece, 1, offs[i]);
		xpair_inject(&pair, victim, piece, sizeof(piece));
		let(victim);
		if (i == 2) {
			iw_xfer_data_encode(piece, 1, 2 * IW_XFER_PIECE);
			xpair_inject(&pair, victim, piece, sizeof(piece));
		}
		if (i == 3)
			send_to(victim, IW_XFER_MSG_DONE, &d, 1, NULL, 0);
		let(victim);
		assert_breach(texts[i]);
	}
}

/* SEC-29: inside a chunk only octets of the chunk are progress, not messages. */
static void a_chunk_that_is_begun_is_completed_within_the_stall_time(void **state)
{
	static uint8_t piece[IW_XFER_PIECE + IW_XFER_DATA_HDR];
	uint64_t begun = 0;

	(void)state;
	open_sink(IW_XFER_SEND);
	add_victim_file("f", 5 * MIB);
	send_to(victim, IW_XFER_MSG_NOP, NULL, 0, NULL, 0);
	iw_xfer_data_encode(piece, 1, 0);
	xpair_inject(&pair, victim, piece, sizeof(piece));
	let(victim);
	for (unsigned i = 1; i < 5; i++) {
		pair.now += IW_SEC(10);
		iw_xfer_timeout(victim->x, pair.now);
		if (i == 2) {
			begun = pair.now;
			iw_xfer_moved(victim->x, pair.now);
		}
		send_to(victim, IW_XFER_MSG_NOP, NULL, 0, NULL, 0);
	}
	assert_false(victim->ended);
	assert_true(iw_xfer_deadline(victim->x) <= begun + IW_SEC(30));
	pair.now = begun + IW_SEC(30);
	iw_xfer_timeout(victim->x, pair.now);
	let(victim);
	assert_true(victim->ended);
	assert_int_equal(victim->fault.err, IW_E_TIMEOUT);
	assert_non_null(strstr(victim->fault.text, "in the middle of a chunk"));
	xpair_fini(&pair);
}

/*
 * Reports for the window of slot i: n octets were written, whole of them from its start without a
 * gap.
 */
static void report_window(uint32_t i, uint64_t n, uint64_t whole)
{
	struct iw_xfer_window w[IW_XFER_WINDOWS] = { 0 };

	w[i] = (struct iw_xfer_window){ n, whole };
	iw_xfer_windows(victim->x, w, pair.now);
}

/* Opens a sink that has granted windows over 8 MiB; returns the slot of one. */
static uint32_t open_windows(void)
{
	struct iw_xfer_entry want = { .has = RANGE, .id = 1, .len = 8 * MIB };

	open_sink(IW_XFER_WRITE);
	add_victim_file("f", 8 * MIB);
	send_to(victim, IW_XFER_MSG_WANT, &want, 1, NULL, 0);
	let(victim);
	for (uint32_t i = 0; i < IW_XFER_WINDOWS; i++)
		if (victim->reg[i].live)
			return i;
	fail_msg("no window was granted");
	return 0;
}

/*
 * SEC-29: only octets of the window are progress, not messages. An empty window stays open, because
 * the source may still be loading its octets.
 */
static void a_window_that_is_begun_is_completed_within_the_stall_time(void **state)
{
	uint64_t begun = 0;
	uint32_t slot;

	(void)state;
	slot = open_windows();
	for (unsigned i = 0; i < 20; i++) {
		pair.now += IW_SEC(10);
		report_window(slot, 0, 0);
		iw_xfer_timeout(victim->x, pair.now);
		send_to(victim, IW_XFER_MSG_NOP, NULL, 0, NULL, 0);
	}
	assert_false(victim->ended);
	begun = pair.now;
	for (unsigned i = 0; i < 3; i++) {
		report_window(slot, 1 + i, 1 + i);
		iw_xfer_timeout(victim->x, pair.now);
		send_to(victim, IW_XFER_MSG_NOP, NULL, 0, NULL, 0);
		pair.now += IW_SEC(10);
	}
	assert_false(victim->ended);
	assert_int_equal(pair.now, begun + IW_SEC(30));
	report_window(slot, 4, 4);
	iw_xfer_timeout(victim->x, pair.now);
	let(victim);
	assert_true(victim->ended);
	assert_int_equal(victim->fault.err, IW_E_TIMEOUT);
	assert_non_null(strstr(victim->fault.text, "in the middle of a chunk"));
	xpair_fini(&pair);
}

/* A NOP in which a sink reports its progress. */
static void send_nop(struct xpair_side *s, bool busy, uint64_t arrived)
{
	struct iw_cbor_out o;
	uint8_t buf[64];

	iw_cbor_out_init(&o, buf, sizeof(buf));
	iw_cbor_map(&o, 4);
	iw_cbor_uint(&o, IW_XFER_KEY_TYPE);
	iw_cbor_uint(&o, IW_XFER_MSG_NOP);
	iw_cbor_uint(&o, IW_XFER_KEY_CREDIT);
	iw_cbor_uint(&o, 1000);
	iw_cbor_uint(&o, IW_XFER_KEY_BUSY);
	iw_cbor_bool(&o, busy);
	iw_cbor_uint(&o, IW_XFER_KEY_ARRIVED);
	iw_cbor_uint(&o, arrived);
	xpair_inject(&pair, s, buf, o.len);
	let(s);
}

/* 10 s pass, n times; each time the peer sends that NOP. */
static void pass_with_nops(unsigned n, bool busy, uint64_t step)
{
	for (unsigned i = 1; i <= n && !victim->ended; i++) {
		pair.now += IW_SEC(10);
		iw_xfer_timeout(victim->x, pair.now);
		let(victim);
		if (!victim->ended)
			send_nop(victim, busy, i * step);
	}
}

/* Both sides are alive, and each waits for the other. */
static void sides_that_wait_for_each_other_end(void **state)
{
	(void)state;
	open_sink(IW_XFER_WRITE);
	add_victim_file("f", 5 * MIB);
	pass_with_nops(2, false, 0);
	assert_false(victim->ended);
	pass_with_nops(2, false, 0);
	assert_true(victim->ended);
	assert_int_equal(victim->fault.err, IW_E_TIMEOUT);
	assert_non_null(strstr(victim->fault.text, "the peer answers, but nothing advances"));
	assert_true(iw_xfer_was_lost(victim->x));
	xpair_fini(&pair);
}

/*
 * Octets that the transport accepted may be far from the sink: only the sink's report is progress.
 */
static void a_sink_that_receives_slowly_is_not_disconnected(void **state)
{
	(void)state;
	open_source(IW_XFER_WRITE, 8 * MIB);
	pass_with_nops(100, false, 1000);
	assert_false(victim->ended);
	pass_with_nops(5, false, 0);
	assert_true(victim->ended);
	assert_int_equal(victim->fault.err, IW_E_TIMEOUT);
	xpair_fini(&pair);
}

/*
 * Octets acknowledged by its transport are progress too, if they exceed the messages of this side.
 */
static void octets_that_are_acknowledged_slowly_are_progress(void **state)
{
	uint64_t acked = 100000;

	(void)state;
	open_source(IW_XFER_WRITE, 8 * MIB);
	for (unsigned i = 1; i < 100; i++) {
		pair.now += IW_SEC(20);
		acked += 512;
		iw_xfer_traffic(victim->x,
				&(struct iw_xfer_traffic){ .received = i, .acked = acked },
				pair.now);
		iw_xfer_timeout(victim->x, pair.now);
		let(victim);
	}
	assert_false(victim->ended);
	for (unsigned i = 100; i < 110 && !victim->ended; i++) {
		pair.now += IW_SEC(5);
		acked += 24;
		iw_xfer_traffic(victim->x,
				&(struct iw_xfer_traffic){ .received = i, .acked = acked },
				pair.now);
		iw_xfer_timeout(victim->x, pair.now);
		let(victim);
	}
	assert_true(victim->ended);
	assert_non_null(strstr(victim->fault.text, "the peer answers, but nothing advances"));
	xpair_fini(&pair);
}

/* The transport of a peer may acknowledge octets after the peer has stopped. */
static void acknowledged_octets_are_not_a_sign_of_life(void **state)
{
	(void)state;
	open_source(IW_XFER_WRITE, 8 * MIB);
	for (unsigned i = 1; i < 10 && !victim->ended; i++) {
		pair.now += IW_SEC(10);
		iw_xfer_traffic(victim->x, &(struct iw_xfer_traffic){ .acked = i * 100000 },
				pair.now);
		iw_xfer_timeout(victim->x, pair.now);
		let(victim);
	}
	assert_true(victim->ended);
	assert_non_null(strstr(victim->fault.text, "nothing was heard"));
	xpair_fini(&pair);
}

/* Without credit for messages, zero-length RDMA Writes are the signs of life. */
static void nops_need_no_credit(void **state)
{
	(void)state;
	open_sink(IW_XFER_WRITE);
	victim->beats = 0;
	for (unsigned i = 1; i < 1100; i++) {
		pair.now += IW_SEC(5);
		iw_xfer_traffic(victim->x, &(struct iw_xfer_traffic){ .received = i, .arrived = i },
				pair.now);
		iw_xfer_timeout(victim->x, pair.now);
		let(victim);
	}
	assert_false(victim->ended);
	assert_true(victim->beats > 50);
	xpair_fini(&pair);
}

/* A source that waits for files of other connections still needs answers about its own. */
static void waiting_for_more_files_hides_no_stall(void **state)
{
	(void)state;
	open_source_with(IW_XFER_WRITE, 8 * MIB, true);
	pass_with_nops(5, false, 0);
	assert_true(victim->ended);
	assert_int_equal(victim->fault.err, IW_E_TIMEOUT);
	xpair_fini(&pair);
}

static void octets_that_arrive_slowly_are_progress(void **state)
{
	(void)state;
	open_sink(IW_XFER_WRITE);
	add_victim_file("f", 5 * MIB);
	for (unsigned i = 1; i < 100; i++) {
		pair.now += IW_SEC(20);
		iw_xfer_traffic(victim->x,
				&(struct iw_xfer_traffic){ .received = i * 512,
							   .arrived = i * 512 },
				pair.now);
		iw_xfer_timeout(victim->x, pair.now);
	}
	let(victim);
	assert_false(victim->ended);
	pair.now += IW_SEC(30);
	iw_xfer_traffic(victim->x, &(struct iw_xfer_traffic){ .arrived = 99 * 512 }, pair.now);
	iw_xfer_timeout(victim->x, pair.now);
	let(victim);
	assert_true(victim->ended);
	xpair_fini(&pair);
}

/*
 * Work of this side does not hide a dead peer: a live one sends something four times within its
 * patience.
 */
static void a_silent_peer_is_lost_though_this_side_has_work(void **state)
{
	(void)state;
	open_source(IW_XFER_WRITE, 8 * MIB);
	pair.hold_load = 1000;
	send_nop(victim, false, 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_false(victim->ended);
		pair.now += IW_SEC(10);
		iw_xfer_touch(victim->x, pair.now);
		iw_xfer_timeout(victim->x, pair.now);
		let(victim);
	}
	assert_true(victim->ended && victim->dropped);
	assert_non_null(strstr(victim->fault.text, "nothing was heard"));
	assert_true(iw_xfer_was_lost(victim->x));
	xpair_fini(&pair);
}

/* Each side sends something every quarter of the peer's patience, even while it only waits. */
static void waiting_peer_sends_nops(void **state)
{
	uint64_t before;

	(void)state;
	open_sink(IW_XFER_WRITE);
	before = iw_xfer_counts(victim->x)->msgs_sent;
	for (unsigned i = 0; i < 4; i++) {
		pair.now = iw_xfer_deadline(victim->x);
		iw_xfer_timeout(victim->x, pair.now);
		let(victim);
	}
	assert_false(victim->ended);
	assert_int_equal(iw_xfer_counts(victim->x)->msgs_sent, before + 4);
	assert_true(pair.now <= IW_SEC(1030));
	xpair_fini(&pair);
}

static bool flip_one_bit(struct xpair *p, bool from_source, uint8_t *msg, size_t *len, size_t cap)
{
	(void)from_source;
	(void)cap;
	if (msg[0] == 0 || p->meddled++ != p->flip_at)
		return true;
	msg[xpair_rand(p) % *len] ^= (uint8_t)(1u << xpair_rand(p) % 8);
	/* The first octet of a data Send is 0; that of a message is not. */
	p->flipped = msg[0] != 0;
	return true;
}

/*
 * A change of any bit of a control message is detected, be it in a name, a mode, a time or an end.
 */
static void a_changed_control_message_ends_the_connection(void **state)
{
	unsigned found = 0;

	(void)state;
	for (unsigned at = 0; at < 24; at++) {
		start(at & 1, IW_XFER_WRITE + at % 3, at);
		xpair_seal(&pair);
		xpair_add(&pair, IW_XFER_FILE, "f", 3 * MIB);
		xpair_add(&pair, IW_XFER_FILE, "g", 100);
		pair.meddle = flip_one_bit;
		pair.flip_at = at / 2;
		xpair_run(&pair);
		assert_true(pair.source.ended && pair.sink.ended);
		if (pair.flipped) {
			assert_true(iw_xfer_was_lost(pair.source.x) ||
				    iw_xfer_was_lost(pair.sink.x));
			found++;
		} else {
			assert_all_well();
		}
		xpair_fini(&pair);
	}
	assert_true(found > 8);
}

static void writes_that_leave_a_gap_in_a_window_are_a_breach(void **state)
{
	uint32_t slot;

	(void)state;
	slot = open_windows();
	report_window(slot, 4096, 4096);
	let(victim);
	assert_false(victim->ended);
	report_window(slot, 4097, 4096);
	let(victim);
	assert_breach("are not in ascending order");
}

/* Without a partial chunk, messages keep the connection: the peer is waiting for a pipe. */
static void messages_keep_a_peer_without_a_partial_chunk_connected(void **state)
{
	(void)state;
	open_sink(IW_XFER_WRITE);
	add_victim_file("f", 5 * MIB);
	for (unsigned i = 0; i < 100; i++) {
		pair.now += IW_SEC(20);
		iw_xfer_timeout(victim->x, pair.now);
		send_to(victim, IW_XFER_MSG_NOP, NULL, 0, NULL, 0);
	}
	assert_false(victim->ended);
	xpair_fini(&pair);
}

static void invalid_offers_end_the_transfer(void **state)
{
	struct iw_xfer_entry o = { .has = RANGE | IW_XFER_HAS(STAG) | IW_XFER_HAS(DIGEST),
				   .id = 1,
				   .len = MIB,
				   .stag = 7,
				   .digest = { .len = 16 } };

	(void)state;
	open_sink(IW_XFER_READ);
	send_to(victim, IW_XFER_MSG_OFFER, &o, 1, NULL, 0);
	assert_breach("which is not going");
	open_sink(IW_XFER_READ);
	add_victim_file("f", 5 * MIB);
	o.len = 2 * MIB;
	send_to(victim, IW_XFER_MSG_OFFER, &o, 1, NULL, 0);
	assert_breach("OFFER: 2097152 octets at 0");
	/* More than permitted at once; none completes. */
	open_sink(IW_XFER_READ);
	add_victim_file("f", 1000 * MIB);
	o.len = MIB;
	for (uint64_t n = 0; n < 100 && !victim->ended; n++) {
		o.off = n * MIB;
		send_to(victim, IW_XFER_MSG_OFFER, &o, 1, NULL, 0);
	}
	assert_breach("more than 64 offers");
	open_sink(IW_XFER_WRITE);
	send_to(victim, IW_XFER_MSG_OFFER, &o, 1, NULL, 0);
	assert_breach("OFFER in mode write");
}

static void grants_that_were_not_requested_end_the_transfer(void **state)
{
	struct iw_xfer_entry g = { .has = RANGE | IW_XFER_HAS(STAG),
				   .id = 1,
				   .len = MIB,
				   .stag = 7 },
			     go = { .has = ID, .id = 1 };

	(void)state;
	/* Before GO; for a range that was not requested; twice. */
	open_source(IW_XFER_WRITE, 3 * MIB);
	send_to(victim, IW_XFER_MSG_GRANT, &g, 1, NULL, 0);
	assert_breach("before GO");
	for (unsigned i = 0; i < 5; i++) {
		static const uint64_t offs[] = { MIB, 0, 0, 3 * MIB, 0 },
				      lens[] = { MIB, 2 * MIB, 0, MIB, 5 };

		open_source(IW_XFER_WRITE, 3 * MIB);
		send_to(victim, IW_XFER_MSG_GO, &go, 1, NULL, 0);
		g.off = offs[i];
		g.len = lens[i];
		send_to(victim, IW_XFER_MSG_GRANT, &g, 1, NULL, 0);
		assert_breach("not the next range of WANT");
	}
	g.off = 0;
	g.len = MIB;
	open_source(IW_XFER_WRITE, 3 * MIB);
	send_to(victim, IW_XFER_MSG_GO, (const struct iw_xfer_entry[]){ go, go }, 2, NULL, 0);
	assert_breach("GO for file 1 comes twice");
	open_source(IW_XFER_WRITE, 3 * MIB);
	go.id = 2;
	send_to(victim, IW_XFER_MSG_GO, &go, 1, NULL, 0);
	assert_breach("which is not announced");
	/* DONE although nothing was sent; settled twice. */
	open_source(IW_XFER_WRITE, 3 * MIB);
	send_to(victim, IW_XFER_MSG_RESULT,
		&(const struct iw_xfer_entry){ .has = ID | IW_XFER_HAS(CODE), .id = 1 }, 1, NULL,
		0);
	assert_breach("before it has ended");
	open_source(IW_XFER_WRITE, 3 * MIB);
	send_to(victim, IW_XFER_MSG_RESULT,
		&(const struct iw_xfer_entry){ .has = ID | IW_XFER_HAS(CODE), .id = 9 }, 1, NULL,
		0);
	assert_breach("not announced");
	open_source(IW_XFER_READ, 3 * MIB);
	send_to(victim, IW_XFER_MSG_RELEASE, &(const struct iw_xfer_entry){ .has = RANGE, .id = 1 },
		1, NULL, 0);
	assert_breach("which is not offered");
	open_source(IW_XFER_WRITE, 3 * MIB);
	send_to(victim, IW_XFER_MSG_GET, NULL, 0, NULL, 0);
	assert_breach("GET to a source that pushes");
	open_source(IW_XFER_WRITE, 3 * MIB);
	send_to(victim, IW_XFER_MSG_FILES, NULL, 0, NULL, 0);
	assert_breach("message FILES (3) from a sink");
}

static bool flip(struct xpair *p, bool from_source, uint8_t *msg, size_t *len, size_t cap)
{
	(void)from_source;
	(void)cap;
	if (msg[0] == 0 || xpair_rand(p) % 20 != 0)
		return true;
	p->meddled++;
	if (xpair_rand(p) % 4 == 0)
		*len = xpair_rand(p) % (*len + 1);
	else if (*len > 0)
		msg[xpair_rand(p) % *len] ^= (uint8_t)(1u << xpair_rand(p) % 8);
	return true;
}

/* Messages with random changes: they may only cause an orderly failure. */
static void spoilt_messages_never_commit_a_wrong_file(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < MANY_SEEDS; seed++) {
		start(seed & 1, modes[seed / 2 % 3], seed);
		fill_sizes();
		pair.meddle = flip;
		pair.tolerant = true;
		xpair_run(&pair);
		xpair_fini(&pair);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_size_arrives_in_every_mode_and_direction),
		cmocka_unit_test(holes_and_zeros_are_not_moved),
		cmocka_unit_test(streams_of_unknown_length_end_at_end_of_file),
		cmocka_unit_test(more_files_than_may_be_open_at_once),
		cmocka_unit_test(no_file_at_all_is_a_transfer_too),
		cmocka_unit_test(one_failure_does_not_stop_the_others),
		cmocka_unit_test(slow_files_delay_the_transfer_without_failing_it),
		cmocka_unit_test(one_slot_and_no_digest),
		cmocka_unit_test(a_digest_that_differs_fails_the_file),
		cmocka_unit_test(what_the_sink_has_is_not_moved_again),
		cmocka_unit_test(packs_send_only_the_requested_members),
		cmocka_unit_test(open_carries_path_and_flags),
		cmocka_unit_test(a_peer_that_sends_nothing_is_disconnected),
		cmocka_unit_test(octets_do_not_extend_the_time_for_open),
		cmocka_unit_test(peer_that_waits_for_its_own_files_is_not_disconnected),
		cmocka_unit_test(a_peer_that_stops_is_disconnected_after_the_stall_time),
		cmocka_unit_test(a_lost_connection_leaves_no_incomplete_file),
		cmocka_unit_test(giving_up_sends_the_reason_to_the_peer),
		cmocka_unit_test(octets_that_are_not_a_message_end_the_transfer),
		cmocka_unit_test(unknown_keys_and_messages_are_ignored),
		cmocka_unit_test(the_first_message_is_open),
		cmocka_unit_test(names_that_are_refused),
		cmocka_unit_test(invalid_announcements_end_the_transfer),
		cmocka_unit_test(invalid_ranges_end_the_transfer),
		cmocka_unit_test(codes_that_only_a_sink_can_determine_are_rejected),
		cmocka_unit_test(done_of_a_window_that_was_not_written_is_a_breach),
		cmocka_unit_test(invalid_dones_end_the_transfer),
		cmocka_unit_test(invalid_ends_end_the_transfer),
		cmocka_unit_test(chunks_that_differ_at_the_sink_are_moved),
		cmocka_unit_test(a_range_may_be_answered_later),
		cmocka_unit_test(invalid_haves_end_the_transfer),
		cmocka_unit_test(go_for_a_failed_pack_takes_no_memory),
		cmocka_unit_test(invalid_attributes_end_the_transfer),
		cmocka_unit_test(invalid_parts_and_packs_end_the_transfer),
		cmocka_unit_test(invalid_byes_end_the_transfer),
		cmocka_unit_test(invalid_sends_end_the_transfer),
		cmocka_unit_test(a_chunk_that_is_begun_is_completed_within_the_stall_time),
		cmocka_unit_test(a_window_that_is_begun_is_completed_within_the_stall_time),
		cmocka_unit_test(writes_that_leave_a_gap_in_a_window_are_a_breach),
		cmocka_unit_test(messages_keep_a_peer_without_a_partial_chunk_connected),
		cmocka_unit_test(sides_that_wait_for_each_other_end),
		cmocka_unit_test(a_sink_that_receives_slowly_is_not_disconnected),
		cmocka_unit_test(waiting_for_more_files_hides_no_stall),
		cmocka_unit_test(octets_that_arrive_slowly_are_progress),
		cmocka_unit_test(octets_that_are_acknowledged_slowly_are_progress),
		cmocka_unit_test(acknowledged_octets_are_not_a_sign_of_life),
		cmocka_unit_test(nops_need_no_credit),
		cmocka_unit_test(a_silent_peer_is_lost_though_this_side_has_work),
		cmocka_unit_test(waiting_peer_sends_nops),
		cmocka_unit_test(a_changed_control_message_ends_the_connection),
		cmocka_unit_test(invalid_offers_end_the_transfer),
		cmocka_unit_test(grants_that_were_not_requested_end_the_transfer),
		cmocka_unit_test(spoilt_messages_never_commit_a_wrong_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
