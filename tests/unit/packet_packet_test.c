// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Finds TCP segments in frames: link types, IP options and extension headers, cut and contradictory
 * frames. */
#include "packet/packet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture_maker.h"

static const uint8_t payload[] = { 'o', 'c', 't', 'e', 't', 's' };

/* An IP datagram with payload, from 10.0.0.1:40000 to 10.0.0.2:7471 or fd00::1 to fd00::2. */
static size_t datagram(uint8_t *p, bool v6)
{
	struct maker m = { .v6 = v6, .port = { 40000, 7471 } };

	return make_ip(&m, p, 0, ACK, 1000, 2000, payload, sizeof(payload));
}

static enum iw_packet_kind parse_cut(struct iw_packet *out, enum iw_packet_link link,
				     const uint8_t *p, size_t len, size_t wire_len)
{
	uint8_t *exact = malloc(len ? len : 1);
	enum iw_packet_kind kind;

	assert_non_null(exact);
	memcpy(exact, p, len);
	kind = iw_packet_parse(out, link, exact, len, wire_len, 0);
	/* The copy is freed below, so its octets are compared here. */
	if (kind == IW_PACKET_TCP && out->len)
		assert_memory_equal(out->data, payload, out->len);
	free(exact);
	return kind;
}

static enum iw_packet_kind parse(struct iw_packet *out, enum iw_packet_link link, const uint8_t *p,
				 size_t len)
{
	return parse_cut(out, link, p, len, len);
}

static void assert_is_segment(const struct iw_packet *p, bool v6)
{
	assert_int_equal(p->end[0].v6, v6);
	assert_int_equal(p->end[0].addr[v6 ? 15 : 3], 1);
	assert_int_equal(p->end[1].addr[v6 ? 15 : 3], 2);
	assert_int_equal(p->end[0].port, 40000);
	assert_int_equal(p->end[1].port, 7471);
	assert_int_equal(p->seq, 1000);
	assert_int_equal(p->ack, 2000);
	assert_int_equal(p->flags, ACK);
	assert_int_equal(p->len, sizeof(payload));
	assert_int_equal(p->missing, 0);
}

/* Writes a link header of len octets, with the type at an offset, before a datagram. */
static size_t framed(uint8_t *p, size_t hdr, size_t type_at, bool v6)
{
	memset(p, 0, hdr);
	iw_put_be16(p + type_at, v6 ? 0x86dd : 0x0800);
	return hdr + datagram(p + hdr, v6);
}

static void every_link_type_leads_to_the_segment(void **state)
{
	struct iw_packet p;
	uint8_t f[256];

	(void)state;
	for (int v6 = 0; v6 < 2; v6++) {
		assert_int_equal(parse(&p, IW_PACKET_ETHERNET, f, framed(f, 14, 12, v6)),
				 IW_PACKET_TCP);
		assert_is_segment(&p, v6);
		assert_int_equal(parse(&p, IW_PACKET_SLL, f, framed(f, 16, 14, v6)), IW_PACKET_TCP);
		assert_is_segment(&p, v6);
		assert_int_equal(parse(&p, IW_PACKET_SLL2, f, framed(f, 20, 0, v6)), IW_PACKET_TCP);
		assert_is_segment(&p, v6);
		assert_int_equal(parse(&p, IW_PACKET_RAW, f, datagram(f, v6)), IW_PACKET_TCP);
		assert_is_segment(&p, v6);
	}
}

static void null_link_type_reads_the_family_in_either_byte_order(void **state)
{
	static const uint32_t families[] = { 2, 10, 23, 24, 28, 30 };
	struct iw_packet p;
	uint8_t f[256];
	size_t n;

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(families); i++) {
		bool v6 = families[i] != 2;

		n = 4 + datagram(f + 4, v6);
		iw_put_be32(f, families[i]);
		assert_int_equal(parse(&p, IW_PACKET_NULL, f, n), IW_PACKET_TCP);
		assert_is_segment(&p, v6);
		iw_put_le32(f, families[i]);
		assert_int_equal(parse(&p, IW_PACKET_NULL, f, n), IW_PACKET_TCP);
		assert_is_segment(&p, v6);
	}
	iw_put_be32(f, 7);
	assert_int_equal(parse(&p, IW_PACKET_NULL, f, n), IW_PACKET_OTHER);
}

static void vlan_tags_are_stepped_over_however_many(void **state)
{
	static const uint16_t tags[] = { 0x88a8, 0x8100, 0x9100 };
	struct iw_packet p;
	uint8_t f[256];
	size_t at = 12;

	(void)state;
	memset(f, 0, sizeof(f));
	for (size_t i = 0; i < IW_ARRAY_LEN(tags); i++) {
		iw_put_be16(f + at, tags[i]);
		at += 4;
	}
	iw_put_be16(f + at, 0x0800);
	assert_int_equal(parse(&p, IW_PACKET_ETHERNET, f, at + 2 + datagram(f + at + 2, false)),
			 IW_PACKET_TCP);
	assert_is_segment(&p, false);
}

static void ethernet_padding_is_no_payload(void **state)
{
	struct iw_packet p;
	uint8_t f[256];
	size_t n = framed(f, 14, 12, false);

	(void)state;
	memset(f + n, 0xee, 20);
	assert_int_equal(parse(&p, IW_PACKET_ETHERNET, f, n + 20), IW_PACKET_TCP);
	assert_is_segment(&p, false);
	n = framed(f, 14, 12, true);
	memset(f + n, 0xee, 20);
	assert_int_equal(parse(&p, IW_PACKET_ETHERNET, f, n + 20), IW_PACKET_TCP);
	assert_is_segment(&p, true);
}

static void ip_and_tcp_options_are_stepped_over(void **state)
{
	struct iw_packet p;
	uint8_t f[256], plain[128];
	size_t n = datagram(plain, false);

	(void)state;
	/* 12 octets of IP options, 8 of TCP options */
	memcpy(f, plain, 20);
	memset(f + 20, 1, 12);
	memcpy(f + 32, plain + 20, 20);
	memset(f + 52, 1, 8);
	memcpy(f + 60, plain + 40, n - 40);
	f[0] = 0x48;
	f[32 + 12] = 7 << 4;
	iw_put_be16(f + 2, (uint16_t)(n + 20));
	assert_int_equal(parse(&p, IW_PACKET_RAW, f, n + 20), IW_PACKET_TCP);
	assert_is_segment(&p, false);
}

/* Inserts an extension header of len octets after the IPv6 header. */
static size_t extended(uint8_t *p, uint8_t next, const uint8_t *ext, size_t len)
{
	uint8_t plain[128];
	size_t n = datagram(plain, true);

	memcpy(p, plain, 40);
	memcpy(p + 40, ext, len);
	memcpy(p + 40 + len, plain + 40, n - 40);
	iw_put_be16(p + 4, (uint16_t)(n - 40 + len));
	p[6] = next;
	return n + len;
}

static void ipv6_extension_headers_are_stepped_over(void **state)
{
	static const uint8_t kinds[] = { 0, 43, 60, 135, 139, 140 };
	struct iw_packet p;
	uint8_t f[256], ext[24] = { 6, 2 }, ah[16] = { 6, 2 }, atomic[8] = { 6 };

	(void)state;
	for (size_t i = 0; i < sizeof(kinds); i++) {
		assert_int_equal(parse(&p, IW_PACKET_RAW, f,
				       extended(f, kinds[i], ext, sizeof(ext))),
				 IW_PACKET_TCP);
		assert_is_segment(&p, true);
	}
	/* the length of AH is in words of four octets, minus two (RFC 4302 2.2) */
	assert_int_equal(parse(&p, IW_PACKET_RAW, f, extended(f, 51, ah, sizeof(ah))),
			 IW_PACKET_TCP);
	assert_is_segment(&p, true);
	/* RFC 6946: a fragment that is the whole datagram */
	assert_int_equal(parse(&p, IW_PACKET_RAW, f, extended(f, 44, atomic, sizeof(atomic))),
			 IW_PACKET_TCP);
	assert_is_segment(&p, true);
	/* ESP encrypts the next header */
	assert_int_equal(parse(&p, IW_PACKET_RAW, f, extended(f, 50, atomic, sizeof(atomic))),
			 IW_PACKET_OTHER);
}

static void fragments_of_different_datagrams_are_distinguished(void **state)
{
	struct iw_packet p;
	uint8_t f[256], more[8] = { 6, 0, 0x00, 0x01 }, later[8] = { 6, 0, 0x00, 0x08 };
	size_t n = datagram(f, false);

	(void)state;
	iw_put_be16(f + 6, 0x2000);
	assert_int_equal(parse(&p, IW_PACKET_RAW, f, n), IW_PACKET_FRAGMENT);
	iw_put_be16(f + 6, 0x0001);
	assert_int_equal(parse(&p, IW_PACKET_RAW, f, n), IW_PACKET_FRAGMENT);
	/* DF alone does not make a fragment */
	iw_put_be16(f + 6, 0x4000);
	assert_int_equal(parse(&p, IW_PACKET_RAW, f, n), IW_PACKET_TCP);
	assert_int_equal(parse(&p, IW_PACKET_RAW, f, extended(f, 44, more, 8)), IW_PACKET_FRAGMENT);
	assert_int_equal(parse(&p, IW_PACKET_RAW, f, extended(f, 44, later, 8)),
			 IW_PACKET_FRAGMENT);
}

static void a_length_of_zero_means_the_whole_frame(void **state)
{
	struct iw_packet p;
	uint8_t f[256];
	size_t n = datagram(f, false);

	(void)state;
	iw_put_be16(f + 2, 0);
	assert_int_equal(parse(&p, IW_PACKET_RAW, f, n), IW_PACKET_TCP);
	assert_is_segment(&p, false);
	n = datagram(f, true);
	iw_put_be16(f + 4, 0);
	assert_int_equal(parse(&p, IW_PACKET_RAW, f, n), IW_PACKET_TCP);
	assert_is_segment(&p, true);
}

static void other_protocols_are_other(void **state)
{
	struct iw_packet p;
	uint8_t f[256];
	size_t n = framed(f, 14, 12, false);

	(void)state;
	f[14 + 9] = 17;
	assert_int_equal(parse(&p, IW_PACKET_ETHERNET, f, n), IW_PACKET_OTHER);
	iw_put_be16(f + 12, 0x0806);
	assert_int_equal(parse(&p, IW_PACKET_ETHERNET, f, n), IW_PACKET_OTHER);
	f[0] = 0x10;
	assert_int_equal(parse(&p, IW_PACKET_RAW, f, n), IW_PACKET_OTHER);
}

static void lengths_that_contradict_are_malformed(void **state)
{
	struct iw_packet p;
	uint8_t f[256];
	size_t n = datagram(f, false);

	(void)state;
	f[0] = 0x44;
	assert_int_equal(parse(&p, IW_PACKET_RAW, f, n), IW_PACKET_MALFORMED);
	f[0] = 0x45;
	iw_put_be16(f + 2, (uint16_t)(n + 1));
	assert_int_equal(parse(&p, IW_PACKET_RAW, f, n), IW_PACKET_MALFORMED);
	iw_put_be16(f + 2, 19);
	assert_int_equal(parse(&p, IW_PACKET_RAW, f, n), IW_PACKET_MALFORMED);
	/* too short for TCP */
	iw_put_be16(f + 2, 39);
	assert_int_equal(parse(&p, IW_PACKET_RAW, f, n), IW_PACKET_MALFORMED);
	n = datagram(f, false);
	f[20 + 12] = 4 << 4;
	assert_int_equal(parse(&p, IW_PACKET_RAW, f, n), IW_PACKET_MALFORMED);
	f[20 + 12] = 15 << 4;
	assert_int_equal(parse(&p, IW_PACKET_RAW, f, n), IW_PACKET_MALFORMED);
	n = datagram(f, true);
	iw_put_be16(f + 4, (uint16_t)(n - 39));
	assert_int_equal(parse(&p, IW_PACKET_RAW, f, n), IW_PACKET_MALFORMED);
}

static void a_snap_length_leaves_the_payload_missing(void **state)
{
	struct iw_packet p;
	uint8_t f[256];
	size_t n = framed(f, 14, 12, false);

	(void)state;
	assert_int_equal(parse_cut(&p, IW_PACKET_ETHERNET, f, n - 4, n), IW_PACKET_TCP);
	assert_int_equal(p.len, sizeof(payload) - 4);
	assert_int_equal(p.missing, 4);
	/* within the TCP options: the length of the header is known */
	f[14 + 20 + 12] = 6 << 4;
	assert_int_equal(parse_cut(&p, IW_PACKET_ETHERNET, f, 14 + 40, n), IW_PACKET_TCP);
	assert_int_equal(p.len, 0);
	assert_int_equal(p.missing, sizeof(payload) - 4);
}

static void frames_cut_at_every_octet_are_cut_or_a_segment(void **state)
{
	static const struct {
		enum iw_packet_link link;
		size_t hdr, type_at;
	} rows[] = { { IW_PACKET_ETHERNET, 14, 12 },
		     { IW_PACKET_SLL, 16, 14 },
		     { IW_PACKET_SLL2, 20, 0 } };
	struct iw_packet p;
	uint8_t f[256];

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		for (int v6 = 0; v6 < 2; v6++) {
			size_t n = framed(f, rows[i].hdr, rows[i].type_at, v6);
			size_t headers = n - sizeof(payload);

			for (size_t len = 0; len < n; len++) {
				enum iw_packet_kind kind = parse_cut(&p, rows[i].link, f, len, n);

				assert_int_equal(kind,
						 len < headers ? IW_PACKET_CUT : IW_PACKET_TCP);
				/* The frame itself is too short: it was not cut by the snap
				 * length. */
				kind = parse(&p, rows[i].link, f, len);
				assert_int_equal(kind, IW_PACKET_MALFORMED);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_link_type_leads_to_the_segment),
		cmocka_unit_test(null_link_type_reads_the_family_in_either_byte_order),
		cmocka_unit_test(vlan_tags_are_stepped_over_however_many),
		cmocka_unit_test(ethernet_padding_is_no_payload),
		cmocka_unit_test(ip_and_tcp_options_are_stepped_over),
		cmocka_unit_test(ipv6_extension_headers_are_stepped_over),
		cmocka_unit_test(fragments_of_different_datagrams_are_distinguished),
		cmocka_unit_test(a_length_of_zero_means_the_whole_frame),
		cmocka_unit_test(other_protocols_are_other),
		cmocka_unit_test(lengths_that_contradict_are_malformed),
		cmocka_unit_test(a_snap_length_leaves_the_payload_missing),
		cmocka_unit_test(frames_cut_at_every_octet_are_cut_or_a_segment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
