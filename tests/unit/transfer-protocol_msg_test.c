// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Control messages: each field is encoded and decoded; mandatory and ignored fields. */
#include "transfer/protocol/msg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "util/num.h"

static size_t message(uint8_t *buf, size_t cap, uint32_t type, const struct iw_xfer_entry *e,
		      unsigned key)
{
	struct iw_cbor_out o;

	iw_cbor_out_init(&o, buf, cap);
	iw_cbor_map(&o, 3);
	iw_cbor_uint(&o, IW_XFER_KEY_TYPE);
	iw_cbor_uint(&o, type);
	iw_cbor_uint(&o, key);
	iw_cbor_array(&o, 1);
	iw_xfer_entry_put(&o, e);
	iw_cbor_uint(&o, IW_XFER_KEY_CREDIT);
	iw_cbor_uint(&o, 9);
	assert_false(o.full);
	return o.len;
}

static struct iw_xfer_entry full_entry(void)
{
	struct iw_xfer_entry e = { .has = (1u << IW_XFER_FIELD_COUNT) - 1,
				   .id = 4000000000u,
				   .off = IW_XFER_SIZE_MAX,
				   .len = 5,
				   .stag = 0xdeadbeef,
				   .zero = true,
				   .size = IW_XFER_SIZE_MAX,
				   .code = 77,
				   .text = "why not",
				   .text_len = 7,
				   .name = "a\n\xff/b",
				   .name_len = 5,
				   .kind = 2,
				   .mode = 0755,
				   .mtime_s = -1234567890123,
				   .mtime_ns = 999999999,
				   .top = true };

	e.digest.len = IW_XFER_DIGEST_MAX;
	memset(e.digest.octets, 0xa5, sizeof(e.digest.octets));
	return e;
}

static void every_field_decodes_to_what_was_encoded(void **state)
{
	struct iw_xfer_entry e = full_entry(), back;
	uint8_t buf[512];
	struct iw_xfer_msg m;
	struct iw_xfer_entries l;
	struct iw_fault why;
	size_t len = message(buf, sizeof(buf), IW_XFER_MSG_FILES, &e, IW_XFER_KEY_LIST);

	(void)state;
	assert_int_equal(iw_xfer_msg_decode(&m, buf, len, &why), 0);
	assert_int_equal(m.type, IW_XFER_MSG_FILES);
	assert_int_equal(m.credit, 9);
	assert_false(m.resized);
	assert_int_equal(iw_xfer_entries_open(&l, &m, IW_XFER_KEY_LIST, &why), 0);
	assert_int_equal(iw_xfer_entries_next(&l, &back, &why), 1);
	assert_int_equal(back.has, e.has);
	assert_memory_equal(back.name, e.name, e.name_len);
	assert_memory_equal(back.text, e.text, e.text_len);
	back.name = e.name;
	back.text = e.text;
	assert_true(back.id == e.id && back.off == e.off && back.len == e.len &&
		    back.stag == e.stag && back.zero == e.zero && back.size == e.size &&
		    back.code == e.code && back.kind == e.kind && back.mode == e.mode &&
		    back.mtime_s == e.mtime_s && back.mtime_ns == e.mtime_ns && back.top == e.top &&
		    back.name_len == e.name_len && back.text_len == e.text_len);
	assert_memory_equal(&back.digest, &e.digest, sizeof(e.digest));
	assert_int_equal(iw_xfer_entries_next(&l, &back, &why), 0);
	/* A message that is cut anywhere is refused. */
	for (size_t cut = 0; cut < len; cut++)
		assert_true(iw_xfer_msg_decode(&m, buf, cut, &why) < 0);
}

static void each_message_demands_its_fields(void **state)
{
	static const struct {
		uint32_t type;
		unsigned key, need;
	} rows[] = {
		{ IW_XFER_MSG_FILES, IW_XFER_KEY_LIST,
		  1u << IW_XFER_FIELD_ID | 1u << IW_XFER_FIELD_NAME | 1u << IW_XFER_FIELD_KIND },
		{ IW_XFER_MSG_GO, IW_XFER_KEY_LIST, 1u << IW_XFER_FIELD_ID },
		{ IW_XFER_MSG_WANT, IW_XFER_KEY_LIST,
		  1u << IW_XFER_FIELD_ID | 1u << IW_XFER_FIELD_OFF | 1u << IW_XFER_FIELD_LEN },
		{ IW_XFER_MSG_GRANT, IW_XFER_KEY_LIST,
		  1u << IW_XFER_FIELD_ID | 1u << IW_XFER_FIELD_OFF | 1u << IW_XFER_FIELD_LEN |
			  1u << IW_XFER_FIELD_STAG },
		{ IW_XFER_MSG_DONE, IW_XFER_KEY_LIST,
		  1u << IW_XFER_FIELD_ID | 1u << IW_XFER_FIELD_OFF | 1u << IW_XFER_FIELD_LEN },
		{ IW_XFER_MSG_DONE, IW_XFER_KEY_ENDS, 1u << IW_XFER_FIELD_ID },
		{ IW_XFER_MSG_OFFER, IW_XFER_KEY_LIST,
		  1u << IW_XFER_FIELD_ID | 1u << IW_XFER_FIELD_OFF | 1u << IW_XFER_FIELD_LEN |
			  1u << IW_XFER_FIELD_STAG },
		{ IW_XFER_MSG_RELEASE, IW_XFER_KEY_LIST,
		  1u << IW_XFER_FIELD_ID | 1u << IW_XFER_FIELD_OFF },
		{ IW_XFER_MSG_RESULT, IW_XFER_KEY_LIST,
		  1u << IW_XFER_FIELD_ID | 1u << IW_XFER_FIELD_CODE },
	};

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		for (unsigned f = 0; f <= IW_XFER_FIELD_COUNT; f++) {
			struct iw_xfer_entry e = full_entry(), back;
			uint8_t buf[512];
			struct iw_xfer_msg m;
			struct iw_xfer_entries l;
			struct iw_fault why;
			bool demanded = rows[i].need >> f & 1;
			size_t len;

			e.has = rows[i].need & ~(f < IW_XFER_FIELD_COUNT ? 1u << f : 0);
			len = message(buf, sizeof(buf), rows[i].type, &e, rows[i].key);
			assert_int_equal(iw_xfer_msg_decode(&m, buf, len, &why), 0);
			assert_int_equal(iw_xfer_entries_open(&l, &m, rows[i].key, &why), 0);
			assert_int_equal(iw_xfer_entries_next(&l, &back, &why),
					 demanded ? IW_E_FORMAT : 1);
			if (demanded)
				assert_non_null(strstr(why.text, "is missing"));
		}
	}
}

/* SEC-30 */
static void fields_have_limits(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		struct iw_xfer_entry e = full_entry(), back;
		static char text[IW_XFER_TEXT_MAX + 2];
		uint8_t buf[1024];
		struct iw_xfer_msg m;
		struct iw_xfer_entries l;
		struct iw_fault why;
		size_t len;

		memset(text, 'x', sizeof(text));
		if (i == 0)
			e.off = IW_XFER_SIZE_MAX + 1;
		if (i == 1)
			e.len = UINT64_MAX;
		if (i == 2)
			e.size = UINT64_C(1) << 63;
		if (i == 3)
			e.mtime_ns = 1000000000;
		if (i == 4) {
			e.text = text;
			e.text_len = IW_XFER_TEXT_MAX + 1;
		}
		len = message(buf, sizeof(buf), IW_XFER_MSG_FILES, &e, IW_XFER_KEY_LIST);
		assert_int_equal(iw_xfer_msg_decode(&m, buf, len, &why), 0);
		assert_int_equal(iw_xfer_entries_open(&l, &m, IW_XFER_KEY_LIST, &why), 0);
		assert_int_equal(iw_xfer_entries_next(&l, &back, &why), IW_E_LIMIT);
	}
}

static void the_header_of_a_data_message_is_not_a_cbor_map(void **state)
{
	uint8_t hdr[IW_XFER_DATA_HDR + 1] = { 0 };
	uint32_t id;
	uint64_t off;
	int err;

	(void)state;
	iw_xfer_data_encode(hdr, 0x01020304, UINT64_C(0x1122334455667788));
	assert_memory_equal(hdr, "\0\0\0\0\x01\x02\x03\x04\x11\x22\x33\x44\x55\x66\x77\x88", 16);
	assert_true(iw_xfer_data_decode(hdr, sizeof(hdr), &id, &off, &err));
	assert_int_equal(err, 0);
	assert_int_equal(id, 0x01020304);
	assert_int_equal(off, UINT64_C(0x1122334455667788));
	/* no octets of data */
	assert_true(iw_xfer_data_decode(hdr, IW_XFER_DATA_HDR, &id, &off, &err));
	assert_int_equal(err, IW_E_FORMAT);
	hdr[0] = 0xa1;
	assert_false(iw_xfer_data_decode(hdr, sizeof(hdr), &id, &off, &err));
	assert_false(iw_xfer_data_decode(hdr, 0, &id, &off, &err));
}

static void names_of_messages(void **state)
{
	(void)state;
	assert_string_equal(iw_xfer_msg_name(IW_XFER_MSG_NOP), "NOP");
	assert_string_equal(iw_xfer_msg_name(IW_XFER_MSG_ABORT), "ABORT");
	assert_string_equal(iw_xfer_msg_name(4711), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_decodes_to_what_was_encoded),
		cmocka_unit_test(each_message_demands_its_fields),
		cmocka_unit_test(fields_have_limits),
		cmocka_unit_test(the_header_of_a_data_message_is_not_a_cbor_map),
		cmocka_unit_test(names_of_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
