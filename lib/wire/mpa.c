// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Decodes and encodes MPA start-up frames, enhanced data and markers; prints the first two. */
#include "wire/mpa.h"

#include <string.h>

#include <iwarp/err.h>

#include "util/num.h"

static const char *const keys[] = {
	[IW_MPA_REQUEST] = IW_MPA_REQUEST_KEY,
	[IW_MPA_REPLY] = IW_MPA_REPLY_KEY,
};

static enum iw_mpa_kind kind_of(const uint8_t *key)
{
	if (memcmp(key, keys[IW_MPA_REQUEST], IW_MPA_KEY_LEN) == 0)
		return IW_MPA_REQUEST;
	if (memcmp(key, keys[IW_MPA_REPLY], IW_MPA_KEY_LEN) == 0)
		return IW_MPA_REPLY;
	return IW_MPA_OTHER;
}

int iw_wire_mpa_frame_decode(struct iw_mpa_frame *out, const uint8_t *src, size_t len)
{
	*out = (struct iw_mpa_frame){ .kind = IW_MPA_OTHER };
	if (len < IW_MPA_FRAME_LEN)
		return 0;
	out->kind = kind_of(src);
	memcpy(out->key, src, IW_MPA_KEY_LEN);
	out->flags = src[16];
	out->rev = src[17];
	out->pd_len = iw_get_be16(src + 18);
	if (len - IW_MPA_FRAME_LEN < out->pd_len)
		return 0;
	out->pd = src + IW_MPA_FRAME_LEN;
	return IW_MPA_FRAME_LEN + out->pd_len;
}

int iw_wire_mpa_frame_encode(uint8_t *dst, size_t cap, const struct iw_mpa_frame *in)
{
	size_t pd_len = in->pd ? in->pd_len : 0;

	if (cap < IW_MPA_FRAME_LEN || cap - IW_MPA_FRAME_LEN < pd_len)
		return IW_E_INVAL;
	if (in->kind == IW_MPA_OTHER)
		memcpy(dst, in->key, IW_MPA_KEY_LEN);
	else
		memcpy(dst, keys[in->kind], IW_MPA_KEY_LEN);
	dst[16] = in->flags;
	dst[17] = in->rev;
	iw_put_be16(dst + 18, in->pd_len);
	if (pd_len)
		memcpy(dst + IW_MPA_FRAME_LEN, in->pd, pd_len);
	return (int)(IW_MPA_FRAME_LEN + pd_len);
}

void iw_wire_mpa_frame_print(struct iw_text *t, const struct iw_mpa_frame *f)
{
	switch (f->kind) {
	case IW_MPA_REQUEST:
		iw_text_str(t, "MPA Request");
		break;
	case IW_MPA_REPLY:
		iw_text_str(t, "MPA Reply");
		break;
	case IW_MPA_OTHER:
		iw_text_str(t, "MPA frame with unknown key ");
		iw_text_octets(t, f->key, sizeof(f->key));
		break;
	}
	iw_text_fmt(t, " Rev %u", (uint32_t)f->rev);
	if (f->flags & IW_MPA_M)
		iw_text_str(t, " M");
	if (f->flags & IW_MPA_C)
		iw_text_str(t, " C");
	if (f->flags & IW_MPA_R)
		iw_text_str(t, " R");
	if (f->flags & IW_MPA_S)
		iw_text_str(t, " S");
	if (f->flags & IW_MPA_RES) {
		iw_text_str(t, " Res ");
		iw_text_hex(t, f->flags & IW_MPA_RES, 1);
	}
	iw_text_fmt(t, " PD_Length %u", (uint32_t)f->pd_len);
}

/* RFC 6581 9: two words of 16 bits, each with two flags and a number of 14 bits. */
#define WORD_FLAG1 0x8000
#define WORD_FLAG2 0x4000

static uint16_t enhanced_word(bool flag1, bool flag2, uint16_t depth)
{
	return (uint16_t)((flag1 ? WORD_FLAG1 : 0) | (flag2 ? WORD_FLAG2 : 0) |
			  (depth & IW_MPA_IRD_ORD_MAX));
}

int iw_wire_mpa_enhanced_decode(struct iw_mpa_enhanced *out, const uint8_t *src, size_t len)
{
	*out = (struct iw_mpa_enhanced){ 0 };
	if (len < IW_MPA_ENHANCED_LEN)
		return 0;

	uint16_t w0 = iw_get_be16(src);
	uint16_t w1 = iw_get_be16(src + 2);

	out->peer_to_peer = w0 & WORD_FLAG1;
	out->rtr_send = w0 & WORD_FLAG2;
	out->ird = w0 & IW_MPA_IRD_ORD_MAX;
	out->rtr_write = w1 & WORD_FLAG1;
	out->rtr_read = w1 & WORD_FLAG2;
	out->ord = w1 & IW_MPA_IRD_ORD_MAX;
	return IW_MPA_ENHANCED_LEN;
}

int iw_wire_mpa_enhanced_encode(uint8_t *dst, size_t cap, const struct iw_mpa_enhanced *in)
{
	if (cap < IW_MPA_ENHANCED_LEN)
		return IW_E_INVAL;
	iw_put_be16(dst, enhanced_word(in->peer_to_peer, in->rtr_send, in->ird));
	iw_put_be16(dst + 2, enhanced_word(in->rtr_write, in->rtr_read, in->ord));
	return IW_MPA_ENHANCED_LEN;
}

static void depth_print(struct iw_text *t, const char *name, uint16_t depth)
{
	iw_text_fmt(t, " %s ", name);
	if (depth == IW_MPA_IRD_ORD_MAX)
		iw_text_str(t, "0x3fff (no automatic negotiation)");
	else
		iw_text_u64(t, depth);
}

void iw_wire_mpa_enhanced_print(struct iw_text *t, const struct iw_mpa_enhanced *e)
{
	iw_text_str(t, e->peer_to_peer ? "peer-to-peer" : "client-server");
	if (e->rtr_send || e->rtr_write || e->rtr_read) {
		iw_text_str(t, " RTR");
		if (e->rtr_send)
			iw_text_str(t, " Send");
		if (e->rtr_write)
			iw_text_str(t, " Write");
		if (e->rtr_read)
			iw_text_str(t, " Read");
	}
	depth_print(t, "IRD", e->ird);
	depth_print(t, "ORD", e->ord);
}

int iw_wire_mpa_marker_decode(struct iw_mpa_marker *out, const uint8_t *src, size_t len)
{
	*out = (struct iw_mpa_marker){ 0 };
	if (len < IW_MPA_MARKER_LEN)
		return 0;
	out->reserved = iw_get_be16(src);
	out->fpduptr = iw_get_be16(src + 2);
	return IW_MPA_MARKER_LEN;
}

int iw_wire_mpa_marker_encode(uint8_t *dst, size_t cap, const struct iw_mpa_marker *in)
{
	if (cap < IW_MPA_MARKER_LEN)
		return IW_E_INVAL;
	iw_put_be16(dst, in->reserved);
	iw_put_be16(dst + 2, in->fpduptr);
	return IW_MPA_MARKER_LEN;
}

size_t iw_wire_mpa_fpdu_len_marked(uint32_t pos, size_t ulpdu_len)
{
	/* Octets between two markers, and from pos to the first marker. */
	const size_t run = IW_MPA_MARKER_SPACING - IW_MPA_MARKER_LEN;
	size_t before = (0 - pos) % IW_MPA_MARKER_SPACING;
	size_t len = iw_mpa_fpdu_len(ulpdu_len);

	/*
	 * A marker directly after the CRC belongs to the next FPDU. A marker at pos belongs to this
	 * one.
	 */
	if (len <= before)
		return len;
	return len + (len - before + run - 1) / run * IW_MPA_MARKER_LEN;
}

size_t iw_wire_mpa_mulpdu(size_t emss, bool markers)
{
	size_t over = IW_MPA_HEAD_LEN + IW_MPA_CRC_LEN + emss % 4;

	/* Ceiling(EMSS / 512) markers, without a sum that could wrap. */
	if (markers)
		over += IW_MPA_MARKER_LEN *
			(emss / IW_MPA_MARKER_SPACING + (emss % IW_MPA_MARKER_SPACING != 0));
	if (emss < over + IW_MPA_ULPDU_MIN_MAX)
		return IW_MPA_ULPDU_MIN_MAX;
	return IW_MIN(emss - over, (size_t)IW_MPA_ULPDU_MAX);
}
