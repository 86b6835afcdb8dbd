// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The Private Data of a claim. */
#include "stag-reg/claim.h"

#include <string.h>

#include "cbor/cbor.h"
#include "transfer/protocol/reject.h"
#include "util/num.h"
#include "util/text.h"

/* The keys of the map. Keys that are also in the Private Data of a transfer mean the same. */
enum {
	KEY_MAGIC = 0,
	KEY_VERSION_MAX = 1,
	KEY_VERSION_MIN = 2,
	KEY_STAG = 3,
	KEY_KEY = 4,
	KEY_TO = 5,
	KEY_LEN = 6,
	KEY_RIGHTS = 7,
};

static bool magic_fits(const struct iw_cbor_rec *rec)
{
	const uint8_t *text;
	size_t len;

	return iw_cbor_get_string(rec, KEY_MAGIC, IW_CBOR_TEXT, IW_XFER_PD_MAX, &text, &len,
				  NULL) == 0 &&
	       len == strlen(IW_CLAIM_MAGIC) && memcmp(text, IW_CLAIM_MAGIC, len) == 0;
}

bool iw_claim_is(const uint8_t *pd, size_t len)
{
	struct iw_cbor_in in = { .p = pd, .len = len };
	struct iw_cbor_rec rec;

	return iw_cbor_rec_next(&rec, &in, "Private Data", NULL) == 1 && magic_fits(&rec);
}

bool iw_claim_speaks(const struct iw_claim *c)
{
	return c->version_min <= IW_CLAIM_VERSION && c->version_max >= IW_CLAIM_VERSION;
}

bool iw_claim_key_fits(const struct iw_claim_key *lock, const struct iw_claim_key *key)
{
	uint8_t differ = 0;

	if (!lock->set)
		return true;
	if (!key->set)
		return false;
	for (size_t i = 0; i < IW_CLAIM_KEY_LEN; i++)
		differ |= lock->octets[i] ^ key->octets[i];
	return differ == 0;
}

void iw_claim_reject(struct iw_claim *c, enum iw_xfer_code code, const char *text)
{
	size_t len = iw_cbor_cut(text, IW_XFER_TEXT_MAX);

	memset(c, 0, sizeof(*c));
	c->form = IW_CLAIM_REJECT;
	c->version_max = c->version_min = IW_CLAIM_VERSION;
	c->code = code;
	memcpy(c->text, text, len);
}

/* --- out --- */

static void put_uint(struct iw_cbor_out *o, unsigned key, uint64_t v)
{
	iw_cbor_uint(o, key);
	iw_cbor_uint(o, v);
}

size_t iw_claim_encode(uint8_t pd[static IW_XFER_PD_MAX], const struct iw_claim *c)
{
	static const size_t own[] = {
		[IW_CLAIM_REQUEST] = 1, [IW_CLAIM_ACCEPT] = 3, [IW_CLAIM_REJECT] = 2
	};
	struct iw_cbor_out o;

	iw_cbor_out_init(&o, pd, IW_XFER_PD_MAX);
	iw_cbor_map(&o, 3 + own[c->form] + (c->form == IW_CLAIM_REQUEST && c->key.set));
	iw_cbor_uint(&o, KEY_MAGIC);
	iw_cbor_text(&o, IW_CLAIM_MAGIC, strlen(IW_CLAIM_MAGIC));
	put_uint(&o, KEY_VERSION_MAX, c->version_max);
	put_uint(&o, KEY_VERSION_MIN, c->version_min);
	switch (c->form) {
	case IW_CLAIM_REQUEST:
		put_uint(&o, KEY_STAG, c->stag);
		if (c->key.set) {
			iw_cbor_uint(&o, KEY_KEY);
			iw_cbor_bytes(&o, c->key.octets, IW_CLAIM_KEY_LEN);
		}
		break;
	case IW_CLAIM_ACCEPT:
		put_uint(&o, KEY_TO, c->to);
		put_uint(&o, KEY_LEN, c->len);
		put_uint(&o, KEY_RIGHTS, c->rights);
		break;
	case IW_CLAIM_REJECT:
		iw_rejection_encode(&o, c->code, c->text);
		break;
	}
	return o.len;
}

/* --- in --- */

static int decode_request(struct iw_claim *out, const struct iw_cbor_rec *rec, struct iw_fault *why)
{
	const uint8_t *key;
	size_t len;
	int err = iw_cbor_get_u32(rec, KEY_STAG, UINT32_MAX, &out->stag, why);

	if (err || !iw_cbor_has(rec, KEY_KEY))
		return err;
	err = iw_cbor_get_string(rec, KEY_KEY, IW_CBOR_BYTES, IW_CLAIM_KEY_LEN, &key, &len, why);
	if (err)
		return err;
	if (len != IW_CLAIM_KEY_LEN)
		return iw_fail(why, IW_E_FORMAT, "Private Data: key of %u octets, expected %u",
			       (uint32_t)len, (uint32_t)IW_CLAIM_KEY_LEN);
	out->key.set = true;
	memcpy(out->key.octets, key, len);
	return 0;
}

static int decode_accept(struct iw_claim *out, const struct iw_cbor_rec *rec, struct iw_fault *why)
{
	uint32_t rights;
	uint64_t end;
	int err = iw_cbor_get_uint(rec, KEY_TO, UINT64_MAX, &out->to, why);

	if (!err)
		err = iw_cbor_get_uint(rec, KEY_LEN, UINT64_MAX, &out->len, why);
	if (!err)
		err = iw_cbor_get_u32(rec, KEY_RIGHTS, IW_CLAIM_RIGHTS, &rights, why);
	if (err)
		return err;
	if (rights == 0)
		return iw_fail(why, IW_E_FORMAT, "Private Data: a buffer without rights");
	if (iw_add_wraps(out->to, out->len, &end))
		return iw_fail(why, IW_E_LIMIT, "Private Data: TO %X and length %U exceed 2^64 - 1",
			       out->to, out->len);
	out->rights = rights;
	return 0;
}

int iw_claim_decode(struct iw_claim *out, bool reply, const uint8_t *pd, size_t len,
		    struct iw_fault *why)
{
	struct iw_cbor_in in = { .p = pd, .len = len };
	struct iw_cbor_rec rec;
	int err = iw_cbor_rec_next(&rec, &in, "Private Data", why);

	memset(out, 0, sizeof(*out));
	if (err < 0)
		return err;
	if (err == 0 || !magic_fits(&rec))
		return iw_fail(why, IW_E_FORMAT, "Private Data: not that of a claim on a buffer");
	err = iw_cbor_get_u32(&rec, KEY_VERSION_MAX, UINT32_MAX, &out->version_max, why);
	if (!err)
		err = iw_cbor_get_u32(&rec, KEY_VERSION_MIN, out->version_max, &out->version_min,
				      why);
	if (err)
		return err;
	if (!reply) {
		out->form = IW_CLAIM_REQUEST;
		return iw_claim_speaks(out) ? decode_request(out, &rec, why) : 0;
	}
	out->form = iw_cbor_has(&rec, IW_REJECTION_CODE) ? IW_CLAIM_REJECT : IW_CLAIM_ACCEPT;
	if (out->form == IW_CLAIM_REJECT)
		return iw_rejection_decode(&rec, &out->code, out->text, why);
	if (!iw_claim_speaks(out))
		return iw_fail(why, IW_E_FORMAT, "Private Data: the peer chose version %u to %u",
			       out->version_min, out->version_max);
	return decode_accept(out, &rec, why);
}
