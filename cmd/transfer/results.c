// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Reports the results of files to the user. */
#include <stdlib.h>
#include <string.h>

#include "transfer/internal.h"

/* --- files in parts --- */

/* A file in parts, of which one part failed or the first part has arrived. */
struct share {
	struct share *next;
	uint32_t number;
	bool counted, failed;
};

static struct share *share_of(struct group *g, uint32_t number)
{
	struct share *s = g->shares;

	while (s && s->number != number)
		s = s->next;
	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	*s = (struct share){ .next = g->shares, .number = number };
	g->shares = s;
	return s;
}

void iw_group_free_shares(struct group *g)
{
	while (g->shares) {
		struct share *next = g->shares->next;

		free(g->shares);
		g->shares = next;
	}
}

/*
 * Notes the result of a part of a file. True if it is to be reported: the arrival of the first
 * part, or the first failure of a part.
 */
static bool note_part(struct group *g, const struct iw_xfer_meta *m, uint32_t code)
{
	bool fine = iw_xfer_code_is_fine(code), before;
	struct share *s;

	if (!m->share)
		return true;
	if (fine && m->part_off > 0)
		return false;
	s = share_of(g, m->share);
	if (!s)
		return true;
	before = s->failed;
	s->failed |= !fine;
	s->counted |= fine;
	g->repeated += before && !fine;
	/* Its first part was counted as a complete file. */
	g->undone += s->counted && (fine ? before : !before);
	return !before;
}

/* --- results --- */

/* The code to which the text of a pack's RESULT belongs; IW_XFER_CODE_OK: no member failed. */
static uint32_t first_failure(const struct iw_xfer_act *a)
{
	for (size_t i = 0; i < a->ncodes; i++)
		if (!iw_xfer_code_is_fine(a->codes[i]))
			return a->codes[i];
	return IW_XFER_CODE_OK;
}

/* Reports each member of a pack, with the text of the side that knows the reason. */
static void report_pack(struct session *s, const struct iw_xfer_act *a)
{
	const struct file *file = a->file;
	uint32_t first = first_failure(a);

	for (uint32_t i = 0; i < a->meta->members; i++) {
		struct iw_xfer_meta m = { .kind = IW_XFER_FILE };
		struct iw_file_report f = { .peer = s->peer_text,
					    .meta = &m,
					    .code = i < a->ncodes ? a->codes[i] : a->code,
					    .text = i < a->ncodes && a->codes[i] != first ? ""
											  : a->text,
					    .told_by_peer = a->told_by_peer,
					    .dry_run = s->group->opts & IW_XFER_OPT_DRY_RUN };

		if (file->pack) {
			const struct iw_pack_member *p = &file->pack->member[i];

			m = (struct iw_xfer_meta){ .kind = p->kind,
						   .name = p->name,
						   .name_len = strlen(p->name),
						   .size = p->size };
			/* While the worker reads the file, it owns the members. */
			if (file->tasks == 0 && p->why.code != IW_XFER_CODE_OK &&
			    p->why.code == f.code) {
				f.text = p->why.text;
				f.told_by_peer = false;
			}
		} else {
			m = file->packed->member[i];
			if (file->packed->text[i])
				f.text = file->packed->text[i];
			else if (f.code == file->packed->why.code)
				f.text = file->packed->why.text;
			else if (i < a->ncodes) /* code of the source */
				f.told_by_peer = true;
		}
		iw_report_file(&s->hub->report, &f);
	}
}

/*
 * The only requested path with that last component, or, if the name is empty, for contents. NULL:
 * none, or several.
 */
static const char *requested(const struct iw_transfer_cfg *cfg, const struct iw_xfer_meta *m)
{
	const char *found = NULL;

	for (size_t i = 0; i < cfg->npaths; i++) {
		size_t len;
		const char *name = iw_walk_name(cfg->paths[i], &len);

		if (m->name_len == 0 ? !iw_walk_is_contents(cfg->paths[i])
				     : len != m->name_len || memcmp(name, m->name, len) != 0)
			continue;
		if (found)
			return NULL;
		found = cfg->paths[i];
	}
	return found && found[0] == '\0' ? "the served directory" : found;
}

const char *iw_session_typed(const struct session *s, const struct iw_xfer_meta *m,
			     const struct file *f)
{
	if (!m->top)
		return NULL;
	if (s->mine.role == IW_XFER_SOURCE)
		return f ? f->operand : NULL;
	return s->group->initiator ? requested(s->hub->cfg, m) : NULL;
}

void iw_session_report(struct session *s, const struct iw_xfer_act *a)
{
	const struct file *file = a->file;
	const struct iw_file_report f = { .peer = s->peer_text,
					  .meta = a->meta,
					  .typed = iw_session_typed(s, a->meta, file),
					  .code = a->code,
					  .text = a->text,
					  .told_by_peer = a->told_by_peer,
					  .dry_run = s->group->opts & IW_XFER_OPT_DRY_RUN };

	if (file && (file->pack || file->packed))
		report_pack(s, a);
	else if (note_part(s->group, a->meta, a->code))
		iw_report_file(&s->hub->report, &f);
}
