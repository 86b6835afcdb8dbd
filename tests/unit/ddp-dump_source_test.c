// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Capture files: byte orders, units of time, link types, damaged and other files. */
#include "ddp-dump/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture_maker.h"

static int open_file(struct iw_cap_source **s, const char *path, struct iw_fault *why)
{
	struct iw_cap_source_cfg cfg = { .file = path };

	return iw_cap_open(s, &cfg, why);
}

static char path[] = "/tmp/ddp-dump_source_test.XXXXXX";

static int make_path(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

static int drop_path(void **state)
{
	(void)state;
	return unlink(path);
}

struct out {
	uint8_t p[4096];
	size_t len;
	bool little;
};

static void put(struct out *o, uint32_t v, size_t octets)
{
	for (size_t i = 0; i < octets; i++)
		o->p[o->len++] = (uint8_t)(v >> 8 * (o->little ? i : octets - 1 - i));
}

/* The header of a pcap file: magic, version 2.4, zone, accuracy, snap length, link type. */
static void head(struct out *o, bool little, uint32_t magic, uint32_t link)
{
	*o = (struct out){ .little = little };
	put(o, magic, 4);
	put(o, 2, 2);
	put(o, 4, 2);
	put(o, 0, 4);
	put(o, 0, 4);
	put(o, 65535, 4);
	put(o, link, 4);
}

static void frame(struct out *o, uint32_t sec, uint32_t fraction, const void *data, size_t len,
		  size_t wire_len)
{
	put(o, sec, 4);
	put(o, fraction, 4);
	put(o, (uint32_t)len, 4);
	put(o, (uint32_t)wire_len, 4);
	memcpy(o->p + o->len, data, len);
	o->len += len;
}

static void save(const struct out *o, size_t len)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(o->p, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

#ifdef IW_HAVE_PCAP

static void both_octet_orders_and_both_time_units_are_read(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		bool nano = i & 2;
		struct iw_cap_source *s;
		struct iw_fault why;
		struct iw_cap_frame f;
		struct out o;

		head(&o, i & 1, nano ? 0xa1b23c4d : 0xa1b2c3d4, 1);
		frame(&o, 1700000000, 123456, "first", 5, 5);
		frame(&o, 1700000001, 7, "second", 6, 60);
		save(&o, o.len);
		assert_int_equal(open_file(&s, path, &why), 0);
		assert_int_equal(iw_cap_read(s, &f, &why), 1);
		assert_int_equal(f.number, 1);
		assert_int_equal(f.time_ns, 1700000000000000000 + (nano ? 123456 : 123456000));
		assert_int_equal(f.len, 5);
		assert_memory_equal(f.data, "first", 5);
		assert_int_equal(iw_cap_read(s, &f, &why), 1);
		assert_int_equal(f.number, 2);
		assert_int_equal(f.len, 6);
		assert_int_equal(f.wire_len, 60);
		assert_int_equal(iw_cap_read(s, &f, &why), 0);
		iw_cap_close(s);
	}
}

/* The numbers are LINKTYPE_ values of the file format. */
static void link_types_are_distinguished(void **state)
{
	static const struct {
		uint32_t number;
		enum iw_packet_link link;
	} rows[] = {
		{ 1, IW_PACKET_ETHERNET }, { 113, IW_PACKET_SLL },  { 276, IW_PACKET_SLL2 },
		{ 101, IW_PACKET_RAW },    { 228, IW_PACKET_RAW },  { 229, IW_PACKET_RAW },
		{ 0, IW_PACKET_NULL },     { 108, IW_PACKET_NULL },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		struct iw_cap_source *s;
		struct iw_fault why;
		struct iw_cap_frame f;
		struct out o;

		head(&o, true, 0xa1b2c3d4, rows[i].number);
		frame(&o, 1, 1, "x", 1, 1);
		save(&o, o.len);
		assert_int_equal(open_file(&s, path, &why), 0);
		assert_int_equal(iw_cap_read(s, &f, &why), 1);
		assert_int_equal(f.link, rows[i].link);
		iw_cap_close(s);
	}
}

static void other_link_types_are_refused_by_name(void **state)
{
	struct iw_cap_source *s;
	struct iw_fault why;
	struct out o;

	(void)state;
	head(&o, true, 0xa1b2c3d4, 105);
	save(&o, o.len);
	assert_int_equal(open_file(&s, path, &why), IW_E_FORMAT);
	assert_non_null(strstr(why.text, "105"));
	assert_non_null(strstr(why.text, "IEEE802_11"));
	assert_non_null(strstr(why.text, path));
}

static void a_file_that_ends_within_a_frame_is_damaged_there(void **state)
{
	struct out o;

	(void)state;
	head(&o, true, 0xa1b2c3d4, 1);
	frame(&o, 1, 1, "first", 5, 5);

	size_t whole = o.len;

	frame(&o, 1, 1, "second", 6, 6);
	for (size_t len = whole + 1; len < o.len; len++) {
		struct iw_cap_source *s;
		struct iw_cap_frame f;
		struct iw_fault why;

		save(&o, len);
		assert_int_equal(open_file(&s, path, &why), 0);
		assert_int_equal(iw_cap_read(s, &f, &why), 1);
		assert_int_equal(iw_cap_read(s, &f, &why), IW_E_FORMAT);
		assert_non_null(strstr(why.text, "frame 2"));
		iw_cap_close(s);
	}
}

static void file_that_is_not_a_capture_is_refused(void **state)
{
	struct iw_cap_source *s;
	struct iw_fault why;
	struct out o;

	(void)state;
	head(&o, true, 0x12345678, 1);
	save(&o, o.len);
	assert_int_equal(open_file(&s, path, &why), IW_E_FORMAT);
	save(&o, 0);
	assert_int_equal(open_file(&s, path, &why), IW_E_FORMAT);
	assert_int_equal(open_file(&s, "/", &why), IW_E_FORMAT);
	assert_int_equal(open_file(&s, "/nonexistent", &why), IW_E_NOENT);
	assert_int_equal(why.err, IW_E_NOENT);
	assert_non_null(strstr(why.text, "/nonexistent"));
	iw_cap_close(NULL);
}

#else

static void without_libpcap_every_file_is_refused_with_the_reason(void **state)
{
	struct iw_cap_source *s;
	struct iw_cap_frame f;
	struct iw_fault why;
	struct out o;

	(void)state;
	head(&o, true, 0xa1b2c3d4, 1);
	frame(&o, 1, 1, "first", 5, 5);
	save(&o, o.len);
	assert_int_equal(open_file(&s, path, &why), IW_E_NOTSUP);
	assert_non_null(strstr(why.text, "libpcap"));
	assert_int_equal(iw_cap_read(NULL, &f, &why), IW_E_NOTSUP);
	iw_cap_close(NULL);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef IW_HAVE_PCAP
		cmocka_unit_test(both_octet_orders_and_both_time_units_are_read),
		cmocka_unit_test(link_types_are_distinguished),
		cmocka_unit_test(other_link_types_are_refused_by_name),
		cmocka_unit_test(a_file_that_ends_within_a_frame_is_damaged_there),
		cmocka_unit_test(file_that_is_not_a_capture_is_refused),
#else
		cmocka_unit_test(without_libpcap_every_file_is_refused_with_the_reason),
#endif
	};

	return cmocka_run_group_tests(tests, make_path, drop_path);
}
