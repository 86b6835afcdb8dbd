// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* MPA Requests with any bit set, and known contents of Private Data. */
#include "mpa-probe/ask.h"

#include <string.h>

#include "mpa/mpa.h"
#include "util/num.h"

static const uint8_t block_magic[4] = { 'i', 'w', 'L', 0x01 };

static size_t put_pd(uint8_t *pd, const struct iw_ask *a)
{
	size_t n = 0, rest;

	if (a->enhanced) {
		struct iw_mpa_enhanced e = { .peer_to_peer = a->peer_to_peer,
					     .ird = a->ird,
					     .ord = a->ord };

		iw_agree_put_rtr(&e, a->rtr);
		n += (size_t)iw_wire_mpa_enhanced_encode(pd, IW_MPA_ENHANCED_LEN, &e);
	}
	if (a->block) {
		memcpy(pd + n, block_magic, sizeof(block_magic));
		iw_put_be32(pd + n + sizeof(block_magic), a->block);
		n += IW_MPA_BLOCK_LEN;
	}
	rest = IW_MIN(a->pd_len, IW_MPA_PD_MAX - n);
	if (rest)
		memcpy(pd + n, a->pd, rest);
	return n + rest;
}

size_t iw_ask_encode(uint8_t dst[static IW_ASK_MAX], const struct iw_ask *a)
{
	struct iw_mpa_frame f = { .kind = IW_MPA_REQUEST, .rev = a->rev };

	f.flags = (uint8_t)((a->markers ? IW_MPA_M : 0) | (a->crc ? IW_MPA_C : 0) |
			    (a->enhanced ? IW_MPA_S : 0) | (a->reserved & IW_MPA_RES));
	f.pd_len = (uint16_t)put_pd(dst + IW_MPA_FRAME_LEN, a);
	iw_wire_mpa_frame_encode(dst, IW_MPA_FRAME_LEN, &f);
	return IW_MPA_FRAME_LEN + f.pd_len;
}

const char *iw_ask_rtr_name(uint8_t rtr)
{
	return rtr == IW_RTR_SEND    ? "send"
	       : rtr == IW_RTR_WRITE ? "write"
	       : rtr == IW_RTR_READ  ? "read"
				     : "none";
}

void iw_ask_rtr_print(struct iw_text *t, uint8_t rtr)
{
	static const struct {
		uint8_t bit;
		const char *name;
	} forms[] = { { IW_RTR_SEND, "Send" }, { IW_RTR_WRITE, "Write" }, { IW_RTR_READ, "Read" } };
	const char *blank = "";

	for (size_t i = 0; i < IW_ARRAY_LEN(forms); i++) {
		if (!(rtr & forms[i].bit))
			continue;
		iw_text_fmt(t, "%s%s", blank, forms[i].name);
		blank = " ";
	}
	if (!(rtr & IW_RTR_ALL))
		iw_text_str(t, "none");
}

void iw_ask_print(struct iw_text *t, const struct iw_ask *a)
{
	iw_text_fmt(t, "Rev %u C=%u M=%u", (uint32_t)a->rev, (uint32_t)a->crc,
		    (uint32_t)a->markers);
	if (a->reserved & IW_MPA_RES)
		iw_text_fmt(t, " reserved %b", (uint32_t)(a->reserved & IW_MPA_RES));
	if (a->enhanced) {
		iw_text_str(t, a->peer_to_peer ? " peer-to-peer RTR " : " client-server");
		if (a->peer_to_peer)
			iw_ask_rtr_print(t, a->rtr);
		iw_text_fmt(t, " IRD %u ORD %u", (uint32_t)a->ird, (uint32_t)a->ord);
	} else if (a->rev >= 2) {
		iw_text_str(t, " not enhanced");
	}
	if (a->block)
		iw_text_fmt(t, " block %u", a->block);
	if (a->pd_len)
		iw_text_fmt(t, " Private Data %U", (uint64_t)a->pd_len);
}

bool iw_ask_is_block(const uint8_t *pd, size_t len, uint32_t *ulpdu)
{
	if (len < IW_MPA_BLOCK_LEN || memcmp(pd, block_magic, sizeof(block_magic)) != 0)
		return false;
	*ulpdu = iw_get_be32(pd + sizeof(block_magic));
	return true;
}

static bool plausible(uint32_t ird, uint32_t ord)
{
	return ird > 0 && ird <= UINT16_MAX && ord > 0 && ord <= UINT16_MAX;
}

enum iw_smbd iw_smbd_decode(const uint8_t *pd, size_t len, uint32_t *ird, uint32_t *ord)
{
	if (len < IW_SMBD_LEN)
		return IW_SMBD_NONE;
	*ird = iw_get_be32(pd);
	*ord = iw_get_be32(pd + 4);
	if (plausible(*ird, *ord))
		return IW_SMBD_BIG;
	*ird = iw_get_le32(pd);
	*ord = iw_get_le32(pd + 4);
	return plausible(*ird, *ord) ? IW_SMBD_LITTLE : IW_SMBD_NONE;
}

void iw_smbd_encode(uint8_t dst[static IW_SMBD_LEN], uint32_t ird, uint32_t ord)
{
	iw_put_be32(dst, ird);
	iw_put_be32(dst + 4, ord);
}
