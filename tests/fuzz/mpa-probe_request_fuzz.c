// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A Request from an unknown peer, as each personality answers it. The answer is the same whether
 * the Request arrives octet by octet or at once. The resulting Reply to the peer and Request to our
 * engine are valid frames.
 */
#include <string.h>

#include "mpa-probe/personality.h"
#include "mpa-probe/show.h"
#include "wire/mpa.h"

#include "fuzz/property.h"

static void must_be_frame(struct iw_mpa_frame *f, enum iw_mpa_kind kind, const uint8_t *octets,
			  size_t len)
{
	must(len >= IW_MPA_FRAME_LEN && len <= IW_ASK_MAX);
	must(iw_wire_mpa_frame_decode(f, octets, len) == (int)len);
	must(f->kind == kind);
}

/* As the shim reads: what is needed and no more. */
static size_t read_request(struct iw_personality_answer *out, const struct iw_personality_cfg *cfg,
			   const uint8_t *data, size_t len)
{
	size_t have = 0;

	for (;;) {
		iw_personality_answer(out, cfg, data, have, have >= IW_MPA_FRAME_LEN && have < len);
		if (out->verdict != IW_PERSONALITY_MORE)
			return have;
		must(out->need > have && out->need <= IW_ASK_MAX);
		if (have == len)
			return have;
		have++;
	}
}

/* The output may go to a terminal: no octet may be a control character. */
static void show(const uint8_t *octets, size_t len)
{
	char line[1600];
	struct iw_text t;

	iw_text_init(&t, line, sizeof(line));
	iw_probe_frame_show(&t, octets, len);
	must(strlen(line) == t.len);
	for (size_t i = 0; i < t.len; i++) {
		uint8_t c = (uint8_t)line[i], next = (uint8_t)line[i + 1];

		must(c >= ' ' && c != 0x7f);
		must(c != 0xc2 || next >= 0xa0);
	}
}

static void look(const struct iw_personality_answer *a, const struct iw_personality_cfg *cfg,
		 const uint8_t *data, size_t len)
{
	struct iw_mpa_frame asked, f;

	if (a->verdict != IW_PERSONALITY_ACCEPT)
		must(a->verdict == IW_PERSONALITY_MORE || a->text[0] != '\0');
	if (a->verdict != IW_PERSONALITY_ACCEPT && a->verdict != IW_PERSONALITY_REJECT) {
		must(a->reply_len == 0);
		return;
	}
	must_be_frame(&asked, IW_MPA_REQUEST, data, len);
	must_be_frame(&f, IW_MPA_REPLY, a->reply, a->reply_len);
	must(f.rev == asked.rev);
	must(!!(f.flags & IW_MPA_R) == (a->verdict == IW_PERSONALITY_REJECT));
	show(a->reply, a->reply_len);
	if (a->verdict == IW_PERSONALITY_REJECT)
		return;
	must(!cfg->reject);
	must_be_frame(&f, IW_MPA_REQUEST, a->request, a->request_len);
	must(f.rev == 2 && (f.flags & IW_MPA_M) == (asked.flags & IW_MPA_M));
	must(!!(f.flags & IW_MPA_C) == a->crc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct iw_personality_answer one, all;
	struct iw_personality_cfg cfg = { 0 };
	size_t used;

	if (len < 2)
		return 0;
	/* The first two octets choose the listener's options. */
	cfg.row = &iw_personalities[data[0] % IW_PERSONALITIES];
	cfg.reject = data[1] & 1;
	cfg.markers = data[1] & 2;
	cfg.rtr = data[1] >> 2 & 7;
	cfg.rev_most = data[1] >> 5 & 3;
	data += 2;
	len -= 2;
	if (len > 0)
		show(data, len);
	if (cfg.row->native)
		return 0; /* the engine answers itself */
	used = read_request(&one, &cfg, data, len);
	look(&one, &cfg, data, used);
	if (one.verdict == IW_PERSONALITY_MORE)
		return 0;
	iw_personality_answer(&all, &cfg, data, used, used < len);
	must(all.verdict == one.verdict && all.reply_len == one.reply_len);
	must(memcmp(all.reply, one.reply, one.reply_len) == 0);
	return 0;
}
