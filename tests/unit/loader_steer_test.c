// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The steering program and the decoders of lib/wire: both get the same frames (valid, cut, with
 * false lengths), and must give the same result. IW_STEER_INPUTS: the number of random frames
 * (20,000).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "os/os.h"
#include "loader/steer.h"
#include "util/num.h"

#include "rng.h"
#include "steer_ref.h"

static struct steer_rig rig;
static struct iw_fault refused;

static int set_up(void **state)
{
	(void)state;
	if (steer_rig_open(&rig, &refused) == 0)
		return 0;
	/* Each test reports the reason: missing permission is not a failure. */
	steer_rig_close(&rig);
	rig.steer = NULL;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	if (rig.steer)
		steer_rig_close(&rig);
	return 0;
}

#define NEEDS_XDP()                                                                                \
	do {                                                                                       \
		if (!rig.steer) {                                                                  \
			print_message("# needs xdp: %s\n", refused.text);                          \
			skip();                                                                    \
		}                                                                                  \
	} while (0)

static struct steer_frame f;

static void agree(void)
{
	assert_true(steer_agree(&rig, f.p, f.len));
}

/* How much one frame adds to a counter. */
#define ADDS(member, n)                                                                            \
	do {                                                                                       \
		struct iw_xdp_counters b_ = rig.before;                                            \
		agree();                                                                           \
		assert_int_equal(rig.before.member - b_.member, n);                                \
	} while (0)

static void segment_frame(uint8_t family, unsigned vlans, unsigned options, bool udp)
{
	steer_begin(&f, family, vlans, options, udp);
	steer_sctp(&f, STEER_PORT, STEER_TAG);
	steer_segment(&f, true, STEER_STAG, 3, 100);
	steer_finish(&f);
}

static void segment_is_found_after_tags_options_and_udp(void **state)
{
	(void)state;
	NEEDS_XDP();
	for (unsigned vlans = 0; vlans <= STEER_VLANS; vlans++)
		for (unsigned options = 0; options <= 40; options += 8)
			for (int udp = 0; udp < 2; udp++) {
				segment_frame(4, vlans, options, udp);
				ADDS(packets, 1);
				segment_frame(6, vlans, options / 8, udp);
				ADDS(packets, 1);
			}
}

/* IEEE 802.1Q, 802.1ad: whichever of the tags has the VLAN ID. */
static void frame_with_a_vlan_id_is_passed_to_the_kernel(void **state)
{
	(void)state;
	NEEDS_XDP();
	for (unsigned vlans = 1; vlans <= STEER_VLANS; vlans++)
		for (unsigned tagged = 0; tagged < vlans; tagged++)
			for (unsigned bit = 0; bit < 12; bit++) {
				segment_frame(bit & 1 ? 6 : 4, vlans, 0, bit & 2);
				f.p[14 + 4 * tagged] |= (uint8_t)(1u << bit >> 8);
				f.p[15 + 4 * tagged] |= (uint8_t)(1u << bit);
				ADDS(passed[IW_XDP_PASS_VLAN], 1);
			}
}

/* A transmit order for a worker without packets is treated like any frame of other senders. */
static void an_order_for_a_worker_without_packets_passes_to_the_kernel(void **state)
{
	const uint32_t workers[] = { rig.worker, rig.worker + 1, IW_XDP_WORKERS, UINT32_MAX };
	struct iw_xdp_order o = { .type = IW_XDP_LIVE_TYPE };

	(void)state;
	NEEDS_XDP();
	for (size_t w = 0; w < sizeof(workers) / sizeof(*workers); w++)
		for (unsigned other = 0; other < 2; other++) {
			segment_frame(4, 0, 0, false);
			o.worker = workers[w];
			memset(o.unused, (int)other, sizeof(o.unused));
			memcpy(f.p, &o, sizeof(o));
			ADDS(passed[IW_XDP_PASS_ETHER], 1);
		}
}

static void frame_with_too_many_tags_or_extensions_is_passed_to_the_kernel(void **state)
{
	(void)state;
	NEEDS_XDP();
	segment_frame(4, STEER_VLANS + 1, 0, false);
	ADDS(passed[IW_XDP_PASS_ETHER], 1);
	segment_frame(6, 0, STEER_EXTS, false);
	ADDS(passed[IW_XDP_PASS_IP_EXTENSION], 1);
}

static void every_cut_of_a_frame_is_classified_alike(void **state)
{
	(void)state;
	NEEDS_XDP();
	for (int v = 0; v < 4; v++) {
		segment_frame(v & 1 ? 6 : 4, 1, 8, v & 2);
		for (size_t whole = f.len; f.len >= 14; f.len--)
			if (f.len < whole)
				agree();
	}
}

/* The frame ends before or after the end that its headers give. */
static void every_length_field_may_be_wrong(void **state)
{
	(void)state;
	NEEDS_XDP();
	for (int v = 0; v < 4; v++) {
		size_t at[4], n = 0;

		segment_frame(v & 1 ? 6 : 4, 0, 0, v & 2);
		at[n++] = f.ip + (v & 1 ? 4 : 2);
		at[n++] = f.sctp + 12 + 2;
		if (v & 2)
			at[n++] = f.l4 + 4;
		for (size_t i = 0; i < n; i++) {
			uint16_t good = iw_get_be16(f.p + at[i]);

			for (unsigned lie = 0; lie < 400; lie++) {
				iw_put_be16(f.p + at[i], (uint16_t)lie);
				agree();
			}
			iw_put_be16(f.p + at[i], 0xffff);
			agree();
			iw_put_be16(f.p + at[i], good);
		}
	}
}

static void fragments_are_passed_to_the_kernel(void **state)
{
	static const uint16_t bits[] = { 0x2000, 0x0001, 0x1fff };

	(void)state;
	NEEDS_XDP();
	for (size_t i = 0; i < 3; i++) {
		segment_frame(4, 0, 0, false);
		iw_put_be16(f.p + f.ip + 6, bits[i]);
		ADDS(passed[IW_XDP_PASS_FRAGMENT], 1);
	}
	/* DF is not a fragment. */
	segment_frame(4, 0, 0, false);
	iw_put_be16(f.p + f.ip + 6, 0x4000);
	ADDS(packets, 1);
	/* RFC 6946: an IPv6 fragment header on a whole datagram. */
	segment_frame(6, 0, 1, false);
	f.p[f.ip + 6] = 44;
	iw_put_be16(f.p + f.ip + 42, 0);
	ADDS(packets, 1);
	iw_put_be16(f.p + f.ip + 42, 1);
	ADDS(passed[IW_XDP_PASS_FRAGMENT], 1);
	iw_put_be16(f.p + f.ip + 42, 8);
	ADDS(passed[IW_XDP_PASS_FRAGMENT], 1);
}

static void packet_with_segments_left_in_a_route_is_passed_to_the_kernel(void **state)
{
	(void)state;
	NEEDS_XDP();
	segment_frame(6, 0, 1, false);
	f.p[f.ip + 6] = 43;
	f.p[f.ip + 43] = 1;
	ADDS(passed[IW_XDP_PASS_IP_EXTENSION], 1);
	f.p[f.ip + 43] = 0;
	ADDS(packets, 1);
}

/* INITs, cookies, reflected tags: the packet is ours with any tag. */
static void any_tag_reaches_the_endpoint(void **state)
{
	(void)state;
	NEEDS_XDP();
	steer_begin(&f, 4, 0, 0, false);
	steer_sctp(&f, STEER_PORT, 0);
	steer_chunk(&f, IW_SCTP_INIT, 0, "0123456789abcdef", 16);
	steer_finish(&f);
	ADDS(seen[IW_XDP_SEEN_NO_ASSOC], 1);
	steer_begin(&f, 6, 0, 0, true);
	steer_sctp(&f, STEER_PORT, 0xdeadbeef);
	steer_chunk(&f, IW_SCTP_ABORT, IW_SCTP_T, "", 0);
	steer_finish(&f);
	ADDS(packets, 1);
}

static void packets_to_other_ports_and_addresses_are_passed_to_the_kernel(void **state)
{
	(void)state;
	NEEDS_XDP();
	steer_begin(&f, 4, 0, 0, false);
	steer_sctp(&f, STEER_PORT + 1, STEER_TAG);
	steer_finish(&f);
	ADDS(passed[IW_XDP_PASS_ENDPOINT], 1);
	steer_begin(&f, 4, 0, 0, false);
	steer_sctp(&f, STEER_HOST, 0);
	steer_finish(&f);
	ADDS(packets, 1);
	f.p[f.ip + 19] ^= 1;
	ADDS(passed[IW_XDP_PASS_ENDPOINT], 1);
	/* UDP to other ports. */
	segment_frame(4, 0, 0, true);
	iw_put_be16(f.p + f.l4 + 2, 53);
	ADDS(passed[IW_XDP_PASS_ENDPOINT], 1);
}

/* Builds a packet of the association with one segment for each STag: it goes to the socket,
 * whatever STags it names. */
static void name_stags(uint32_t tag, uint16_t stream, const uint32_t *stag, size_t n)
{
	steer_begin(&f, 4, 0, 0, false);
	steer_sctp(&f, STEER_PORT, tag);
	for (size_t i = 0; i < n; i++)
		steer_segment(&f, true, stag[i], stream, 10);
	steer_segment(&f, false, 0, stream, 10);
	steer_finish(&f);
}

static void unknown_stags_are_counted_and_reach_us(void **state)
{
	static const uint32_t stag[] = { STEER_STAG, STEER_STAG + 2, STEER_STAG, 0, STEER_STAG };

	(void)state;
	NEEDS_XDP();
	name_stags(STEER_TAG, 0, stag, 5);
	ADDS(seen[IW_XDP_SEEN_STAG_UNKNOWN], 2);
}

/* RFC 5041 8.2: an STag belongs to a Protection Domain, and to one of its streams or to all. */
static void stag_of_one_association_is_unknown_on_another(void **state)
{
	static const uint32_t stag[] = { STEER_STAG, STEER_STAG + 1 };

	(void)state;
	NEEDS_XDP();
	name_stags(STEER_TAG, STEER_ONE, stag, 2);
	ADDS(seen[IW_XDP_SEEN_STAG_UNKNOWN], 0);
	/* One directly after the other: what is remembered of the first does not apply to the
	 * second. */
	name_stags(STEER_TAG, STEER_ONE + 1, stag, 2);
	ADDS(seen[IW_XDP_SEEN_STAG_UNKNOWN], 1);
	name_stags(STEER_TAG2, STEER_ONE, stag, 2);
	ADDS(seen[IW_XDP_SEEN_STAG_UNKNOWN], 2);
	name_stags(STEER_TAG, STEER_STREAMS, stag, 2);
	ADDS(seen[IW_XDP_SEEN_NO_SESSION], 2);
}

/* Runs the frame and returns what it adds to the counters, without the reference. */
static void run_frame(struct iw_xdp_counters *delta)
{
	static uint8_t out[STEER_FRAME_MAX + 64];
	const uint64_t *before = (const uint64_t *)&rig.before;
	struct iw_xdp_counters now;
	size_t len = sizeof(out);
	uint32_t action = 0;

	assert_int_equal(
		steer_run(iw_steer_prog_fd(rig.steer), f.p, f.len, out, &len, &action, 1, NULL), 0);
	assert_int_equal(iw_steer_counters(rig.steer, &now), 0);
	for (size_t i = 0; i < sizeof(now) / sizeof(uint64_t); i++)
		((uint64_t *)delta)[i] = ((uint64_t *)&now)[i] - before[i];
	rig.before = now;
}

static int count_one(void *ctx, const void *key, const void *value)
{
	(void)key;
	(void)value;
	++*(uint64_t *)ctx;
	return 0;
}

static uint64_t count_of(enum iw_steer_what what)
{
	uint64_t n = 0;

	assert_int_equal(iw_steer_each(rig.steer, what, count_one, &n), 0);
	return n;
}

/* A full map drops no packet, and unknown entries are counted. */
static void full_maps_lose_statistics_but_no_packet(void **state)
{
	const struct iw_steer_cfg cfg = {
		.interface = "lo", .load_only = true, .assocs_max = 2, .stags_max = 2
	};
	static const struct iw_xdp_home home = { .pd = 1 };
	static const uint32_t stag[] = { 1, 2, 3 };
	struct steer_rig whole = rig;
	struct iw_addr any = { .len = 0 };
	struct iw_xdp_counters d;
	struct iw_fault why;
	uint32_t e;

	(void)state;
	NEEDS_XDP();
	rig = (struct steer_rig){ .xsk = -1 };
	assert_int_equal(iw_steer_open(&rig.steer, &cfg, &why), 0);
	rig.xsk = steer_rig_socket();
	assert_int_equal(iw_steer_worker_add(rig.steer, &rig.worker, &rig.xsk, 1, &why), 0);
	assert_int_equal(iw_steer_endpoint_add(rig.steer, &e, &any, STEER_PORT, 0, rig.worker, NULL,
					       &why),
			 0);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(iw_steer_assoc_add(rig.steer, e, i + 1, rig.worker, &why), 0);
		assert_int_equal(iw_steer_stag_add(rig.steer, e, stag[i], &home), 0);
	}
	assert_int_equal(iw_steer_assoc_add(rig.steer, e, 3, rig.worker, &why), IW_E_FULL);
	assert_int_equal(iw_steer_stag_add(rig.steer, e, stag[2], &home), IW_E_FULL);
	for (uint16_t i = 0; i < 4; i++)
		assert_int_equal(iw_steer_session_add(rig.steer, e, 1, i, &home), 0);
	assert_int_equal(iw_steer_session_add(rig.steer, e, 1, 4, &home), IW_E_FULL);
	assert_int_equal(count_of(IW_STEER_SESSIONS), 4);
	assert_int_equal(count_of(IW_STEER_STAGS), 2);
	name_stags(1, 3, stag, 3);
	run_frame(&d);
	assert_int_equal(d.packets, 1);
	assert_int_equal(d.seen[IW_XDP_SEEN_STAG_UNKNOWN], 1);
	name_stags(1, 4, stag, 3);
	run_frame(&d);
	assert_int_equal(d.packets, 1);
	assert_int_equal(d.seen[IW_XDP_SEEN_STAG_UNKNOWN], 0);
	assert_int_equal(d.seen[IW_XDP_SEEN_NO_SESSION], 3);
	name_stags(3, 0, stag, 3);
	run_frame(&d);
	assert_int_equal(d.packets, 1);
	assert_int_equal(d.seen[IW_XDP_SEEN_NO_ASSOC], 1);
	/* Entries that are removed make room, and an endpoint removes all of its entries. */
	iw_steer_session_remove(rig.steer, e, 1, 0);
	assert_int_equal(iw_steer_session_add(rig.steer, e, 1, 4, &home), 0);
	iw_steer_endpoint_remove(rig.steer, e);
	assert_int_equal(count_of(IW_STEER_ASSOCS), 0);
	assert_int_equal(count_of(IW_STEER_SESSIONS), 0);
	assert_int_equal(count_of(IW_STEER_STAGS), 0);
	steer_rig_close(&rig);
	rig = whole;
}

static void bundles_are_walked_to_their_end_and_no_further(void **state)
{
	(void)state;
	NEEDS_XDP();
	for (int n = STEER_CHUNKS - 1; n <= STEER_CHUNKS + 1; n++) {
		steer_begin(&f, 4, 0, 0, false);
		steer_sctp(&f, STEER_PORT, STEER_TAG);
		for (int i = 0; i < n; i++)
			steer_chunk(&f, IW_SCTP_SACK, 0, "", 0);
		steer_finish(&f);
		ADDS(seen[IW_XDP_SEEN_CHUNK_MORE], n > STEER_CHUNKS);
	}
}

static void fragments_of_messages_count_once(void **state)
{
	(void)state;
	NEEDS_XDP();
	for (uint8_t be = 0; be < 4; be++) {
		segment_frame(4, 0, 0, false);
		f.p[f.sctp + 13] = be;
		ADDS(seen[IW_XDP_SEEN_DATA_PART], be != 3);
		/* With only a few octets of the DDP header. */
		f.p[f.sctp + 15] = 20;
		agree();
	}
}

/* Jumbo frames: the headers of later chunks are in other buffers. */
static void chunks_in_further_buffers_are_found(void **state)
{
	(void)state;
	NEEDS_XDP();
	for (size_t payload = 3300; payload < 3600; payload++) {
		steer_begin(&f, 4, 0, 0, false);
		steer_sctp(&f, STEER_PORT, STEER_TAG);
		steer_segment(&f, true, STEER_STAG, 0, payload);
		steer_segment(&f, true, STEER_STAG + 1, 0, 100);
		steer_segment(&f, false, 0, 1, 4000);
		steer_segment(&f, true, STEER_STAG + 2, 0, 3);
		steer_finish(&f);
		ADDS(segments, 4);
	}
}

static void random_frame(struct rng *r)
{
	static const uint32_t tag[] = { STEER_TAG, STEER_TAG, STEER_TAG2, 0 };
	static const uint16_t port[] = { STEER_PORT, STEER_PORT, STEER_PORT, STEER_HOST, 1 };
	uint8_t family = rng_below(r, 2) ? 4 : 6, junk[64];
	unsigned options = (unsigned)rng_below(r, 4) ? 0 : (unsigned)rng_below(r, 10);

	rng_fill(r, junk, sizeof(junk));
	steer_begin(&f, family, rng_below(r, 4) ? 0 : (unsigned)rng_below(r, 6),
		    family == 4 ? options * 4 : options, rng_below(r, 2));
	steer_sctp(&f, port[rng_below(r, 5)], tag[rng_below(r, 4)]);
	for (size_t n = rng_below(r, 6); n > 0; n--) {
		size_t long_one = rng_below(r, 20) == 0 ? 3000 : 200;

		switch (rng_below(r, 4)) {
		case 0:
			steer_chunk(&f, (uint8_t)rng_below(r, 16), (uint8_t)rng_next(r), junk,
				    rng_below(r, sizeof(junk)));
			break;
		case 1:
			steer_chunk(&f, IW_SCTP_DATA, (uint8_t)rng_next(r), junk,
				    rng_below(r, sizeof(junk)));
			break;
		default:
			steer_segment(&f, rng_below(r, 2), STEER_STAG + (uint32_t)rng_below(r, 2),
				      (uint16_t)rng_below(r, 9), rng_below(r, long_one));
		}
	}
	steer_finish(&f);
}

/* Changes octets of headers, and cuts off the end. */
static void spoil(struct rng *r)
{
	for (size_t n = rng_below(r, 5); n > 0; n--) {
		size_t near = rng_below(r, 2) && f.len > 120 ? 120 : f.len;

		f.p[rng_below(r, near)] = rng_below(r, 2) ? (uint8_t)rng_next(r)
							  : (uint8_t)rng_below(r, 8);
	}
	if (rng_below(r, 8) == 0)
		f.len = 14 + rng_below(r, f.len - 13);
}

static void random_frames_are_classified_alike_by_both(void **state)
{
	const char *wanted = getenv("IW_STEER_INPUTS");
	size_t n = wanted ? strtoul(wanted, NULL, 10) : 20000, ours = 0;
	struct rng r = { 5041 };

	(void)state;
	NEEDS_XDP();
	for (size_t i = 0; i < n; i++) {
		uint64_t before = rig.before.packets;

		random_frame(&r);
		spoil(&r);
		agree();
		ours += rig.before.packets > before;
	}
	print_message("# %zu random frames, %zu of them ours\n", n, ours);
	/* The random frames must reach the program's paths. */
	assert_true(ours > n / 5 && ours < n * 19 / 20);
}

/* The program remembers the last packet's association, but not after a change. */
static void changed_maps_apply_to_the_next_packet(void **state)
{
	static const struct iw_xdp_home home = { .pd = 1 }, other = { .pd = 2, .stream = 1 };
	struct iw_xdp_home until = home;
	struct iw_addr any = { .len = 0 };
	struct iw_xdp_counters d;
	struct iw_fault why;

	(void)state;
	NEEDS_XDP();
	segment_frame(4, 0, 0, false);
	for (int i = 0; i < 2; i++) {
		run_frame(&d);
		assert_int_equal(d.packets, 1);
		assert_int_equal(d.seen[IW_XDP_SEEN_STAG_UNKNOWN], 0);
		assert_int_equal(d.seen[IW_XDP_SEEN_NO_ASSOC], 0);
	}
	iw_steer_stag_remove(rig.steer, rig.endpoint[0], STEER_STAG);
	run_frame(&d);
	assert_int_equal(d.seen[IW_XDP_SEEN_STAG_UNKNOWN], 1);
	assert_int_equal(iw_steer_stag_add(rig.steer, rig.endpoint[0], STEER_STAG, &home), 0);
	run_frame(&d);
	assert_int_equal(d.seen[IW_XDP_SEEN_STAG_UNKNOWN], 0);
	/* An STag expires without a call. */
	iw_steer_stag_remove(rig.steer, rig.endpoint[0], STEER_STAG);
	until.expires = iw_os_now() + IW_MSEC(200);
	assert_int_equal(iw_steer_stag_add(rig.steer, rig.endpoint[0], STEER_STAG, &until), 0);
	run_frame(&d);
	if (iw_os_now() < until.expires)
		assert_int_equal(d.seen[IW_XDP_SEEN_STAG_UNKNOWN], 0);
	while (iw_os_now() < until.expires)
		usleep(1000);
	run_frame(&d);
	assert_int_equal(d.seen[IW_XDP_SEEN_STAG_UNKNOWN], 1);
	iw_steer_stag_remove(rig.steer, rig.endpoint[0], STEER_STAG);
	assert_int_equal(iw_steer_stag_add(rig.steer, rig.endpoint[0], STEER_STAG, &home), 0);
	iw_steer_assoc_remove(rig.steer, rig.endpoint[0], STEER_TAG);
	run_frame(&d);
	assert_int_equal(d.seen[IW_XDP_SEEN_NO_ASSOC], 1);
	assert_int_equal(
		iw_steer_assoc_add(rig.steer, rig.endpoint[0], STEER_TAG, rig.worker, &why), 0);
	run_frame(&d);
	assert_int_equal(d.seen[IW_XDP_SEEN_NO_ASSOC], 0);
	assert_int_equal(d.seen[IW_XDP_SEEN_STAG_UNKNOWN], 0);
	/* The next session on the same streams may belong to another domain. */
	assert_int_equal(iw_steer_session_add(rig.steer, rig.endpoint[0], STEER_TAG, 3, &other), 0);
	run_frame(&d);
	assert_int_equal(d.seen[IW_XDP_SEEN_STAG_UNKNOWN], 1);
	assert_int_equal(iw_steer_session_add(rig.steer, rig.endpoint[0], STEER_TAG, 3, &home), 0);
	run_frame(&d);
	assert_int_equal(d.seen[IW_XDP_SEEN_STAG_UNKNOWN], 0);
	iw_steer_session_remove(rig.steer, rig.endpoint[0], STEER_TAG, 3);
	run_frame(&d);
	assert_int_equal(d.seen[IW_XDP_SEEN_NO_SESSION], 1);
	iw_steer_endpoint_remove(rig.steer, rig.endpoint[0]);
	run_frame(&d);
	assert_int_equal(d.packets, 0);
	assert_int_equal(d.passed[IW_XDP_PASS_ENDPOINT], 1);
	assert_int_equal(iw_steer_endpoint_add(rig.steer, &rig.endpoint[0], &any, STEER_PORT, 0,
					       rig.worker, NULL, &why),
			 0);
	run_frame(&d);
	assert_int_equal(d.packets, 1);
	/* The association was removed with the endpoint. */
	assert_int_equal(d.seen[IW_XDP_SEEN_NO_ASSOC], 1);
	assert_int_equal(steer_rig_assocs(&rig, rig.endpoint[0], &why), 0);
	agree();
}

struct tally {
	uint64_t segments[3], octets[3];
};

static int add_stream(void *ctx, const void *key, const void *value)
{
	const struct iw_xdp_stream_key *k = key;
	const struct iw_xdp_stream *s = value;
	struct tally *t = ctx;

	if (k->tag == STEER_TAG && k->endpoint == rig.endpoint[0] && k->stream >= 100 &&
	    k->stream < 103) {
		t->segments[k->stream - 100] += s->segments;
		t->octets[k->stream - 100] += s->octets;
	}
	return 0;
}

static void streams_add_up(void **state)
{
	struct rng r = { 5043 };
	struct tally sent = { { 0 }, { 0 } }, told = { { 0 }, { 0 } };

	(void)state;
	NEEDS_XDP();
	for (int i = 0; i < 200; i++) {
		size_t which = rng_below(&r, 3), n = 1 + rng_below(&r, 3);

		steer_begin(&f, 4, 0, 0, false);
		steer_sctp(&f, STEER_PORT, STEER_TAG);
		for (size_t k = 0; k < n; k++) {
			steer_segment(&f, true, STEER_STAG, (uint16_t)(100 + which), 10 * i);
			sent.segments[which]++;
			sent.octets[which] += 10 * (uint64_t)i;
			which = rng_below(&r, 8) ? which : rng_below(&r, 3);
		}
		steer_finish(&f);
		agree();
		memset(&told, 0, sizeof(told));
		assert_int_equal(iw_steer_each(rig.steer, IW_STEER_STREAMS, add_stream, &told), 0);
		assert_memory_equal(&told, &sent, sizeof(told));
	}
}

static void sampled_events_have_the_sampling_rate(void **state)
{
	struct iw_xdp_event e[4];
	size_t unknown = 0;

	(void)state;
	NEEDS_XDP();
	while (iw_steer_events(rig.steer, e, 4) == 4)
		;
	for (int i = 0; i < 1024; i++) {
		steer_begin(&f, 4, 0, 0, false);
		steer_sctp(&f, STEER_PORT, STEER_TAG);
		steer_segment(&f, true, STEER_STAG + 9, 6, 10);
		steer_finish(&f);
		agree();
	}
	/* The rig's program reports one event of 256; the test may have moved to another CPU. */
	for (int n; (n = iw_steer_events(rig.steer, e, 4)) > 0;)
		for (int i = 0; i < n; i++) {
			assert_int_equal(e[i].kind, IW_XDP_EV_STAG);
			assert_int_equal(e[i].every, 256);
			assert_int_equal(e[i].stag, STEER_STAG + 9);
			assert_int_equal(e[i].tag, STEER_TAG);
			assert_int_equal(e[i].stream, 6);
			assert_int_equal(e[i].len, f.len);
			assert_int_equal(e[i].head_len,
					 IW_MIN((size_t)IW_XDP_HEAD, f.len - f.sctp - 12));
			assert_memory_equal(e[i].head, f.p + f.sctp + 12, e[i].head_len);
			unknown++;
		}
	assert_in_range(unknown, 3, 3 + 2 * 64);
}

static void worker_without_a_socket_leaves_packets_to_the_kernel(void **state)
{
	struct iw_xdp_counters before, after;
	uint8_t out[2048];
	size_t len = sizeof(out);
	uint32_t action = 0;

	(void)state;
	NEEDS_XDP();
	segment_frame(4, 0, 0, false);
	iw_steer_worker_remove(rig.steer, rig.worker);
	assert_int_equal(iw_steer_counters(rig.steer, &before), 0);
	assert_int_equal(
		steer_run(iw_steer_prog_fd(rig.steer), f.p, f.len, out, &len, &action, 1, NULL), 0);
	assert_int_equal(action, XDP_PASS);
	assert_int_equal(iw_steer_counters(rig.steer, &after), 0);
	/* The endpoints were removed with their worker. */
	assert_int_equal(after.passed[IW_XDP_PASS_ENDPOINT] - before.passed[IW_XDP_PASS_ENDPOINT],
			 1);
	assert_int_equal(iw_steer_worker_add(rig.steer, &rig.worker, &rig.xsk, 1, &refused), 0);
	assert_int_equal(steer_rig_endpoints(&rig, &refused), 0);
	/* The kernel removes a closed socket. */
	close(rig.xsk);
	len = sizeof(out);
	assert_int_equal(
		steer_run(iw_steer_prog_fd(rig.steer), f.p, f.len, out, &len, &action, 1, NULL), 0);
	assert_int_equal(action, XDP_PASS);
	assert_int_equal(iw_steer_counters(rig.steer, &after), 0);
	assert_int_equal(after.passed[IW_XDP_PASS_SOCKET] - before.passed[IW_XDP_PASS_SOCKET], 1);
	rig.xsk = steer_rig_socket();
	iw_steer_worker_remove(rig.steer, rig.worker);
	assert_int_equal(iw_steer_worker_add(rig.steer, &rig.worker, &rig.xsk, 1, &refused), 0);
	assert_int_equal(steer_rig_endpoints(&rig, &refused), 0);
	assert_int_equal(iw_steer_counters(rig.steer, &rig.before), 0);
	ADDS(packets, 1);
}

static void every_worker_gets_a_number_until_there_are_none(void **state)
{
	uint32_t worker[IW_XDP_WORKERS];
	int xsk[IW_XDP_WORKERS], none = -1;
	struct iw_fault why;

	(void)state;
	NEEDS_XDP();
	for (int i = 1; i < IW_XDP_WORKERS; i++) {
		xsk[i] = steer_rig_socket();
		assert_int_equal(iw_steer_worker_add(rig.steer, &worker[i], &xsk[i], 1, &why), 0);
		assert_int_not_equal(worker[i], rig.worker);
	}
	xsk[0] = steer_rig_socket();
	assert_int_equal(iw_steer_worker_add(rig.steer, &worker[0], &xsk[0], 1, &why), IW_E_FULL);
	iw_steer_worker_remove(rig.steer, worker[9]);
	assert_int_equal(iw_steer_worker_add(rig.steer, &worker[0], &xsk[0], 1, &why), 0);
	assert_int_equal(worker[0], worker[9]);
	for (int i = 0; i < IW_XDP_WORKERS; i++) {
		if (i != 9)
			iw_steer_worker_remove(rig.steer, worker[i]);
		close(xsk[i]);
	}
	assert_int_equal(iw_steer_worker_add(rig.steer, &worker[0], &none, 1, &why), IW_E_INVAL);
	/* Not an AF_XDP socket. */
	none = STDERR_FILENO;
	assert_int_equal(iw_steer_worker_add(rig.steer, &worker[0], &none, 1, &why), IW_E_INVAL);
}

/* Runs a DATA chunk of this payload protocol to that endpoint, with a segment for an
 * unknown STag. */
static struct iw_xdp_counters with_ppid(uint16_t port, uint32_t tag, uint8_t ppid)
{
	struct iw_xdp_counters d;

	steer_begin(&f, 4, 0, 0, false);
	steer_sctp(&f, port, tag);
	steer_segment(&f, true, STEER_STAG + 9, 0, 10);
	steer_finish(&f);
	f.p[f.sctp + IW_SCTP_HDR_LEN + 15] = ppid;
	run_frame(&d);
	assert_int_equal(d.packets, 1);
	return d;
}

/* SCTP-04; draft 02 2.2: payload protocols 1 and 2 */
static void segments_are_found_by_the_payload_protocols_of_their_endpoint(void **state)
{
	const struct iw_steer_ppids draft = { 1, 2 };
	const struct iw_xdp_home home = { .pd = 1 };
	struct iw_addr any = { .len = 0 };
	struct iw_xdp_counters d;
	struct iw_fault why;
	uint32_t e;

	(void)state;
	NEEDS_XDP();
	assert_int_equal(iw_steer_endpoint_add(rig.steer, &e, &any, 9, 0, rig.worker, &draft, &why),
			 0);
	assert_int_equal(iw_steer_assoc_add(rig.steer, e, 7, rig.worker, &why), 0);
	assert_int_equal(iw_steer_session_add(rig.steer, e, 7, 0, &home), 0);
	d = with_ppid(9, 7, 1);
	assert_int_equal(d.segments, 1);
	assert_int_equal(d.tl[3], 1);
	assert_int_equal(d.seen[IW_XDP_SEEN_STAG_UNKNOWN], 1);
	assert_int_equal(with_ppid(9, 7, 2).controls, 1);
	assert_int_equal(with_ppid(9, 7, 16).foreign, 1);
	assert_int_equal(with_ppid(9, 7, 17).foreign, 1);
	/* A packet of another endpoint in between: its own protocols apply. */
	assert_int_equal(with_ppid(STEER_PORT, STEER_TAG, 16).segments, 1);
	assert_int_equal(with_ppid(STEER_PORT, STEER_TAG, 1).foreign, 1);
	assert_int_equal(with_ppid(9, 7, 1).segments, 1);
	iw_steer_endpoint_remove(rig.steer, e);
}

static void endpoint_is_added_once(void **state)
{
	struct iw_addr any = { .len = 0 };
	struct iw_fault why;
	uint32_t id, again;

	(void)state;
	NEEDS_XDP();
	assert_int_equal(iw_steer_endpoint_add(rig.steer, &id, &any, STEER_PORT, 0, rig.worker,
					       NULL, &why),
			 IW_E_BUSY);
	assert_int_equal(iw_steer_endpoint_add(rig.steer, &id, &any, 9, 0, rig.worker, NULL, &why),
			 0);
	steer_begin(&f, 4, 0, 0, false);
	steer_sctp(&f, 9, 1);
	iw_steer_endpoint_remove(rig.steer, id);
	assert_int_equal(
		iw_steer_endpoint_add(rig.steer, &again, &any, 9, 0, rig.worker, NULL, &why), 0);
	assert_int_not_equal(id, again);
	iw_steer_endpoint_remove(rig.steer, again);
}

static void interface_that_cannot_be_opened_is_an_error_with_the_reason(void **state)
{
	struct iw_steer_cfg cfg = { .interface = "no-such-if0" };
	struct iw_steer *s = NULL;
	struct iw_fault why;

	(void)state;
	NEEDS_XDP();
	assert_int_equal(iw_steer_open(&s, &cfg, &why), IW_E_NOENT);
	assert_non_null(strstr(why.text, "no-such-if0"));
	/* The loopback interface has no native XDP. */
	cfg.interface = "lo";
	cfg.mode = IW_XDP_NATIVE;
	assert_int_equal(iw_steer_open(&s, &cfg, &why), IW_E_NOTSUP);
	assert_non_null(strstr(why.text, "native"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(segment_is_found_after_tags_options_and_udp),
		cmocka_unit_test(frame_with_a_vlan_id_is_passed_to_the_kernel),
		cmocka_unit_test(an_order_for_a_worker_without_packets_passes_to_the_kernel),
		cmocka_unit_test(frame_with_too_many_tags_or_extensions_is_passed_to_the_kernel),
		cmocka_unit_test(every_cut_of_a_frame_is_classified_alike),
		cmocka_unit_test(every_length_field_may_be_wrong),
		cmocka_unit_test(fragments_are_passed_to_the_kernel),
		cmocka_unit_test(packet_with_segments_left_in_a_route_is_passed_to_the_kernel),
		cmocka_unit_test(any_tag_reaches_the_endpoint),
		cmocka_unit_test(packets_to_other_ports_and_addresses_are_passed_to_the_kernel),
		cmocka_unit_test(unknown_stags_are_counted_and_reach_us),
		cmocka_unit_test(stag_of_one_association_is_unknown_on_another),
		cmocka_unit_test(full_maps_lose_statistics_but_no_packet),
		cmocka_unit_test(bundles_are_walked_to_their_end_and_no_further),
		cmocka_unit_test(fragments_of_messages_count_once),
		cmocka_unit_test(chunks_in_further_buffers_are_found),
		cmocka_unit_test(random_frames_are_classified_alike_by_both),
		cmocka_unit_test(changed_maps_apply_to_the_next_packet),
		cmocka_unit_test(streams_add_up),
		cmocka_unit_test(sampled_events_have_the_sampling_rate),
		cmocka_unit_test(worker_without_a_socket_leaves_packets_to_the_kernel),
		cmocka_unit_test(every_worker_gets_a_number_until_there_are_none),
		cmocka_unit_test(endpoint_is_added_once),
		cmocka_unit_test(segments_are_found_by_the_payload_protocols_of_their_endpoint),
		cmocka_unit_test(interface_that_cannot_be_opened_is_an_error_with_the_reason),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
