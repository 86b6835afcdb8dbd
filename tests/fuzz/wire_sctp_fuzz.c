// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* SCTP packets: the header, all chunks with their values, and the same octets as parameters. */
#include "wire/sctp.h"

#include "fuzz/property.h"

/* Decoding and encoding give the same octets, except for padding that is missing or not zero. */
static void chunk_comes_back(const struct iw_sctp_chunk *c, const uint8_t *data, size_t n)
{
	size_t whole = c->len + iw_sctp_pad(c->len);
	uint8_t *out = malloc(whole);

	must(out && n <= whole && n >= c->len && c->value == data + 4 &&
	     c->value_len == c->len - 4u);
	must(iw_wire_sctp_chunk_encode(out, whole, c) == (int)whole);
	must(memcmp(out, data, c->len) == 0);
	must(iw_wire_sctp_chunk_encode(out, whole - 1, c) == IW_E_INVAL);
	free(out);
}

static void values(const struct iw_sctp_chunk *c)
{
	uint8_t out[65536];
	struct iw_sctp_data d;
	struct iw_sctp_init i;
	struct iw_sctp_sack s;
	int n = iw_wire_sctp_data_decode(&d, c->value, c->value_len);

	must((size_t)n == (c->value_len < 12 ? 0 : c->value_len));
	if (n) {
		must(iw_wire_sctp_data_encode(out, 16, c->flags, &d) == 16);
		must(memcmp(out + 4, c->value, 12) == 0 && iw_get_be16(out + 2) == c->len);
	}
	n = iw_wire_sctp_init_decode(&i, c->value, c->value_len);
	must((size_t)n == (c->value_len < 16 ? 0 : c->value_len));
	if (n) {
		must(iw_wire_sctp_init_encode(out, (size_t)n, &i) == n);
		must(memcmp(out, c->value, (size_t)n) == 0);
		must(iw_wire_sctp_init_encode(out, (size_t)n - 1, &i) == IW_E_INVAL);
	}
	n = iw_wire_sctp_sack_decode(&s, c->value, c->value_len);
	if (n) {
		must((size_t)n <= c->value_len);
		must(iw_wire_sctp_sack_encode(out, (size_t)n, &s) == n);
		must(memcmp(out, c->value, (size_t)n) == 0);
		must(iw_wire_sctp_sack_encode(out, (size_t)n - 1, &s) == IW_E_INVAL);
	}
}

static void params(const uint8_t *data, size_t len)
{
	struct iw_sctp_param p;
	uint8_t out[65540];
	char text[200];
	struct iw_text t;
	int n;

	while ((n = iw_wire_sctp_param_decode(&p, data, len)) > 0) {
		must((size_t)n <= len && p.value_len == p.len - 4u);
		must(iw_wire_sctp_param_encode(out, sizeof(out), &p) >= n);
		must(memcmp(out, data, p.len) == 0);
		iw_text_init(&t, text, sizeof(text));
		iw_wire_sctp_cause_print(&t, &p);
		must_be_one_line(&t);
		data += n;
		len -= (size_t)n;
	}
	must(n == 0 || n == IW_E_FORMAT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct iw_sctp_hdr h;
	struct iw_sctp_chunk c;
	int n = iw_wire_sctp_hdr_decode(&h, data, len);

	must(n == (len < IW_SCTP_HDR_LEN ? 0 : IW_SCTP_HDR_LEN));
	if (n == 0)
		return 0;
	MUST_ENCODE_BACK(&h, n, iw_wire_sctp_hdr_encode);
	must(iw_wire_sctp_checksum(data, len) == iw_wire_sctp_checksum(data, len));
	data += n;
	len -= (size_t)n;
	params(data, len);
	while ((n = iw_wire_sctp_chunk_decode(&c, data, len)) > 0) {
		must((size_t)n <= len);
		chunk_comes_back(&c, data, (size_t)n);
		values(&c);
		params(c.value, c.value_len);
		data += n;
		len -= (size_t)n;
	}
	must(n == 0 || n == IW_E_FORMAT);
	return 0;
}
