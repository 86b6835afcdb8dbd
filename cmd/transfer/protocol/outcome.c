// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The results of files, and their counts. */
#include "transfer/protocol/internal.h"

#include <string.h>

#include "transfer/protocol/pack.h"

void iw_xfer_set_outcome(struct outcome *o, uint32_t code, const char *text, size_t text_len,
			 bool by_peer)
{
	if (o->known)
		return;
	o->known = true;
	o->by_peer = by_peer;
	o->code = code;
	if (text_len > IW_XFER_TEXT_MAX) {
		/* Cuts between characters, because it is sent as a text string. */
		text_len = IW_XFER_TEXT_MAX;
		while (text_len > 0 && ((uint8_t)text[text_len] & 0xc0) == 0x80)
			text_len--;
	}
	if (text_len > 0)
		memcpy(o->text, text, text_len);
	o->text[text_len] = '\0';
}

void iw_xfer_outcome_entry(struct iw_xfer_entry *e, const struct outcome *o)
{
	e->has |= IW_XFER_HAS(CODE);
	e->code = o->code;
	if (o->text[0] == '\0')
		return;
	e->has |= IW_XFER_HAS(TEXT);
	e->text = o->text;
	e->text_len = strlen(o->text);
}

static uint64_t count_one(struct iw_xfer_counts *c, uint32_t code, uint32_t kind)
{
	if (kind == IW_XFER_DIR && iw_xfer_code_is_fine(code) && code != IW_XFER_CODE_EXCLUDED) {
		c->dirs++;
	} else if (code == IW_XFER_CODE_EXCLUDED) {
		c->files_excluded++;
	} else if (iw_xfer_code_is_skip(code)) {
		c->files_same++;
		c->exist += code == IW_XFER_CODE_EXISTS;
		c->newer += code == IW_XFER_CODE_NEWER;
	} else if (iw_xfer_code_is_fine(code)) {
		c->files_done++;
		c->links += kind == IW_XFER_SYMLINK || kind == IW_XFER_HARDLINK;
	} else {
		c->files_failed++;
	}
	return !iw_xfer_code_is_fine(code);
}

/* In a pack, a code octet precedes the contents of each member; it was counted with them. */
static void discount_code(struct iw_xfer_counts *c)
{
	c->octets -= IW_MIN(c->octets, UINT64_C(1));
	c->announced -= IW_MIN(c->announced, UINT64_C(1));
	c->settled -= IW_MIN(c->settled, UINT64_C(1));
}

/* The list has the kinds of the members. */
static uint64_t count_pack(struct iw_xfer_counts *c, const struct outcome *o,
			   const struct iw_xfer_meta *m, const uint8_t *codes, size_t ncodes)
{
	struct iw_xfer_entries l = { .left = 0 };
	struct iw_xfer_entry e;
	struct iw_fault why;
	uint64_t failed = 0;

	if (iw_xfer_pack_open(&l, (const uint8_t *)m->target, m->target_len, &why) != 0)
		l.left = 0;
	for (uint32_t i = 0; i < m->members; i++) {
		bool known = iw_xfer_entries_next(&l, &e, &why) == 1;
		uint32_t code = i < ncodes ? codes[i] : o->code;

		failed += count_one(c, code, known ? e.kind : IW_XFER_FILE);
		if (!known || e.kind != IW_XFER_FILE)
			continue;
		if (code == IW_XFER_CODE_OK)
			discount_code(c);
		else
			c->dropped += e.size;
	}
	return failed;
}

uint64_t iw_xfer_count_result(struct iw_xfer *x, const struct outcome *o,
			      const struct iw_xfer_meta *m, uint64_t settled, const uint8_t *codes,
			      size_t ncodes)
{
	struct iw_xfer_counts *c = &x->counts;
	uint64_t size = iw_xfer_meta_size(m), failed = 0;

	if (m->kind == IW_XFER_PACK)
		failed = count_pack(c, o, m, codes, ncodes);
	/* A file in parts is counted with its first part. */
	else if (!m->share || m->part_off == 0 || !iw_xfer_code_is_fine(o->code))
		failed = count_one(c, o->code, m->kind);
	if (o->code == IW_XFER_CODE_OK) {
		c->settled += size - IW_MIN(size, settled); /* its holes */
		return failed;
	}
	c->announced -= IW_MIN(c->announced, size);
	c->dropped += size;
	c->settled -= IW_MIN(c->settled, settled);
	return failed;
}

void iw_xfer_result_act(struct iw_xfer_act *act, uint32_t id, void *file,
			const struct iw_xfer_meta *meta, const struct outcome *o)
{
	act->type = IW_XFER_ACT_RESULT;
	act->id = id;
	act->file = file;
	act->meta = meta;
	act->code = o->code;
	act->text = o->text;
	act->told_by_peer = o->by_peer;
}
