// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a source's machine wants of the files: names, ranges of data, octets. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file/attr.h"
#include "file/internal.h"
#include "util/text.h"
#include "xfer/name.h"

#define PART (64u << 20) /* octets of a part, when a file is spread over connections */

static void out_of_memory(struct session *s, const char *what)
{
	struct iw_fault why;

	iw_fail(&why, IW_E_NOMEM, "no memory for %s", what);
	iw_xfer_fail(s->x, &why);
}

/* The group's walk, and what the peer chose when it is the initiator. */
static struct iw_walk *walk_of(struct session *s)
{
	struct group *g = s->group;

	if (!g->opened) {
		g->opts = iw_xfer_opts(s->x);
		g->conns = iw_xfer_conns(s->x);
		g->opened = true;
	}
	if (g->walk)
		return g->walk;
	g->walk = malloc(sizeof(*g->walk));
	if (!g->walk) {
		out_of_memory(s, "a tree");
		return NULL;
	}
	iw_walk_init(g->walk, g->initiator ? AT_FDCWD : s->hub->root);
	g->walk->filter = &s->hub->cfg->filter;
	return g->walk;
}

int iw_source_path(struct session *s, const char *path)
{
	struct iw_walk *w = walk_of(s);

	s->group->paths++;
	return w ? iw_walk_add(w, path, strlen(path)) : IW_E_NOMEM;
}

static void take_path(struct session *s, const struct iw_xact *a)
{
	struct iw_walk *w = walk_of(s);
	struct iw_fault why;

	if (a->name_len > 0 && memchr(a->name, '\0', a->name_len)) {
		iw_fail(&why, IW_E_INVAL, "a path that is asked for contains a NUL octet");
		iw_xfer_fail(s->x, &why);
	} else if (w && iw_walk_add(w, a->name, a->name_len) != 0) {
		out_of_memory(s, "a path");
	}
	s->group->paths++;
	s->group->walked = false;
	iw_group_wake(s->group);
}

/* --- a file to be announced --- */

static struct file *new_file(const char *name, size_t len)
{
	struct file *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	iw_list_init(&f->link);
	f->name = iw_name_terminated(name, len);
	if (!f->name) {
		free(f);
		return NULL;
	}
	f->meta.name = f->name;
	f->meta.name_len = len;
	return f;
}

static void announce(struct session *s, struct file *f, const struct iw_file_fault *why)
{
	const char *fault = f->pack ? NULL : iw_xfer_name_fault(f->meta.name, f->meta.name_len);

	if (!s->work->next_open) {
		/* One answer to each question: it is the next one's. */
		iw_list_add_tail(&s->group->again, &f->link);
		return;
	}
	s->work->next_open = false;
	s->group->out++;
	f->done = 0;
	f->size = f->meta.kind == IW_XFER_FILE ? f->meta.size : 0;
	f->share = f->meta.share != 0;
	if (why && why->code != IW_XC_OK)
		iw_xfer_add_failed(s->x, &f->meta, f, why->code, why->text, s->hub->now);
	else if (fault)
		iw_xfer_add_failed(s->x, &f->meta, f, IW_XC_NAME, fault, s->hub->now);
	else
		iw_xfer_add(s->x, &f->meta, f, s->hub->now);
}

/* The walk's entry in terms of the protocol, but for its name and what is owned. */
static void meta_of(const struct group *g, const struct iw_entry *e, struct iw_xmeta *m)
{
	static const enum iw_xfer_kind kinds[] = { [IW_WALKED_FILE] = IW_XFER_FILE,
						   [IW_WALKED_DIR] = IW_XFER_DIR,
						   [IW_WALKED_LINK] = IW_XFER_SYMLINK };

	*m = (struct iw_xmeta){ .name = e->name, .name_len = e->name_len, .top = e->top };
	if (e->what == IW_WALKED_STREAM)
		m->kind = IW_XFER_STREAM;
	if ((size_t)e->what >= IW_ARRAY_LEN(kinds) || e->what == IW_WALKED_STREAM)
		return;
	m->kind = kinds[e->what];
	m->size = m->kind == IW_XFER_FILE ? (uint64_t)e->st.st_size : 0;
	m->mode = e->st.st_mode & 07777;
	m->mtime_s = e->st.st_mtim.tv_sec;
	m->mtime_ns = (uint32_t)e->st.st_mtim.tv_nsec;
	m->target = e->target;
	m->target_len = e->target ? strlen(e->target) : 0;
	if (g->opts & IW_XOPT_OWNER) {
		m->owned = true;
		m->uid = e->st.st_uid;
		m->gid = e->st.st_gid;
	}
}

/* Small, with one name, and without attributes that would have to be fetched: it may travel in a pack. */
static bool packs(const struct group *g, const struct iw_entry *e)
{
	if (e->top || g->opts & IW_XOPT_XATTR)
		return false;
	if (iw_xfer_name_fault(e->name, e->name_len))
		return false;
	return e->what == IW_WALKED_DIR || e->what == IW_WALKED_LINK ||
	       (e->what == IW_WALKED_FILE && e->st.st_size <= IW_PACK_FILE_MAX &&
		e->st.st_nlink == 1);
}

/* The pack that was being filled is announced. */
static void announce_pack(struct session *s)
{
	struct group *g = s->group;
	struct file *f = new_file("", 0);

	if (!f) {
		out_of_memory(s, "a pack");
		return;
	}
	f->pack = g->pack;
	g->pack = NULL;
	iw_pack_src_meta(f->pack, &f->meta);
	announce(s, f, NULL);
}

static int read_attrs(const struct group *g, struct file *f, int fd, struct iw_file_fault *why)
{
	size_t len;

	if (!(g->opts & IW_XOPT_XATTR))
		return 0;
	if (iw_attr_read(fd, &f->xattr, &len, why) != 0)
		return -1;
	f->meta.xattr = f->xattr ? f->xattr : (const uint8_t *)"";
	f->meta.xattr_len = len;
	return 0;
}

/* Another name of a file that was announced before waits until that is there. */
static bool is_other_name(struct session *s, struct file *f, const struct iw_entry *e)
{
	struct group *g = s->group;
	bool first;

	if (e->top || e->what != IW_WALKED_FILE || e->st.st_nlink < 2)
		return false;
	f->linked = iw_links_get(&g->links, &e->st, f->name, f->meta.name_len, &first);
	if (!f->linked) {
		out_of_memory(s, "links");
		return false;
	}
	if (first)
		return false;
	f->meta.kind = IW_XFER_HARDLINK;
	f->meta.size = 0;
	f->meta.target = f->linked->name;
	f->meta.target_len = strlen(f->linked->name);
	iw_list_add_tail(&g->later, &f->link);
	return true;
}

/* A file, opened; what was found out about its name does not count any more. */
static void open_file(struct session *s, struct file *f, struct iw_entry *e)
{
	int fd = iw_walk_open(e, &e->why);
	struct iw_xmeta m = f->meta;

	if (fd < 0) {
		e->what = IW_WALKED_FAILED;
		return;
	}
	f->has_src = iw_src_open(&f->src, fd, &e->why) == 0;
	if (!f->has_src || read_attrs(s->group, f, fd, &e->why) != 0) {
		e->what = IW_WALKED_FAILED;
		return;
	}
	m.xattr = f->meta.xattr;
	m.xattr_len = f->meta.xattr_len;
	f->meta = m;
	iw_src_meta(&f->src, &f->meta);
}

/* Large enough to be handed out in parts. */
static bool splits(const struct group *g, const struct file *f)
{
	return g->conns > 1 && f->meta.kind == IW_XFER_FILE && f->meta.size >= 2u * PART;
}

/* The next part of the file that is being handed out. */
static void announce_part(struct session *s)
{
	struct group *g = s->group;
	const struct file *whole = g->split;
	struct file *f = new_file(whole->name, whole->meta.name_len);
	uint64_t left = whole->meta.size - g->split_at;
	const char *name;

	if (!f) {
		out_of_memory(s, "a file");
		return;
	}
	if (whole->xattr) {
		f->xattr = malloc(whole->meta.xattr_len);
		if (!f->xattr) {
			iw_file_free(f);
			out_of_memory(s, "a file's attributes");
			return;
		}
		memcpy(f->xattr, whole->xattr, whole->meta.xattr_len);
	}
	name = f->name;
	f->meta = whole->meta;
	f->meta.name = name;
	if (f->xattr)
		f->meta.xattr = f->xattr;
	f->linked = whole->linked;
	f->src = whole->src;
	f->src.fd = fcntl(whole->src.fd, F_DUPFD_CLOEXEC, 3);
	f->has_src = true;
	f->meta.part_off = g->split_at;
	/* A short rest goes with the last one. */
	f->meta.part_len = left < 2u * PART ? left : PART;
	iw_src_part(&f->src, f->meta.part_off, f->meta.part_len);
	g->split_at += f->meta.part_len;
	if (g->split_at == whole->meta.size) {
		iw_file_free(g->split);
		g->split = NULL;
	}
	if (f->src.fd < 0) {
		struct iw_file_fault why;

		iw_file_errno(&why, errno, "keep it open");
		announce(s, f, &why);
		return;
	}
	announce(s, f, NULL);
}

static void announce_entry(struct session *s, struct iw_entry *e)
{
	struct group *g = s->group;
	struct file *f = new_file(e->name, e->name_len);

	if (!f) {
		if (e->what == IW_WALKED_FILE && e->fd >= 0)
			close(e->fd);
		out_of_memory(s, "a file");
		return;
	}
	meta_of(g, e, &f->meta);
	f->meta.name = f->name;
	if (e->what == IW_WALKED_LINK) {
		f->to = strdup(e->target);
		f->meta.target = f->to;
		f->meta.target_len = f->to ? f->meta.target_len : 0;
	}
	if (is_other_name(s, f, e))
		return;
	if (e->what == IW_WALKED_FILE) {
		open_file(s, f, e);
	} else if (e->what == IW_WALKED_DIR) {
		if (read_attrs(g, f, e->fd, &e->why) != 0)
			e->what = IW_WALKED_FAILED;
	} else if (e->what == IW_WALKED_STREAM) {
		iw_src_open_stream(&f->src, e->fd);
		g->stream = true;
		f->has_src = true;
		iw_src_meta(&f->src, &f->meta);
	}
	if (e->what != IW_WALKED_FAILED && splits(g, f)) {
		g->split = f;
		g->split_at = 0;
		f->meta.share = ++g->next_share;
		announce_part(s);
		return;
	}
	announce(s, f, e->what == IW_WALKED_FAILED ? &e->why : NULL);
}

/* One entry of the walk, or a pack of them. False: it has ended. */
static bool next_of_walk(struct session *s, struct iw_walk *w)
{
	struct group *g = s->group;
	unsigned out = g->out;

	while (g->out == out) {
		struct iw_xmeta m;
		struct iw_entry e;

		iw_walk_next(w, &e);
		if (e.what == IW_WALKED_END)
			break;
		/* The served directory itself has no name; what is left out is told only where it must not be removed. */
		if ((e.what == IW_WALKED_DIR && e.name_len == 0) ||
		    (e.what == IW_WALKED_FAILED && e.why.code == IW_XC_EXCLUDED &&
		     !(g->opts & IW_XOPT_DELETE)))
			continue;
		if (!packs(g, &e)) {
			announce_entry(s, &e);
			continue;
		}
		meta_of(g, &e, &m);
		for (int tries = 0; tries < 2; tries++) {
			if (!g->pack)
				g->pack = iw_pack_src_new();
			if (!g->pack) {
				out_of_memory(s, "a pack");
				return true;
			}
			if (iw_pack_src_add(g->pack, &m, e.root, e.path, &e.st))
				break;
			if (g->pack->n == 0 || tries == 1) {
				announce_entry(s, &e);
				break;
			}
			announce_pack(s);
		}
	}
	if (g->out == out && g->pack && g->pack->n > 0)
		announce_pack(s);
	return g->out != out;
}

/* Other names of files that are there, or are not. */
static void announce_later(struct session *s)
{
	struct iw_list *l = iw_list_first(&s->group->later);
	struct file *f = iw_container_of(l, struct file, link);
	struct iw_file_fault why = { .code = IW_XC_OK };

	iw_list_del(l);
	if (f->linked->failed)
		iw_file_fail(&why, IW_XC_NOENT,
			     "the file that it is another name of did not arrive");
	announce(s, f, &why);
}

static void announce_again(struct session *s)
{
	struct iw_list *l = iw_list_first(&s->group->again);
	struct file *f = iw_container_of(l, struct file, link);

	iw_list_del(l);
	announce(s, f, NULL);
}

void iw_source_next(struct session *s)
{
	struct group *g = s->group;
	struct iw_walk *w = walk_of(s);

	if (s->work->next_waits)
		g->waiting--;
	s->work->next_waits = false;
	s->work->next_open = true;
	if (!w)
		return;
	if (!iw_list_empty(&g->again)) {
		announce_again(s);
		return;
	}
	if (g->split) {
		announce_part(s);
		return;
	}
	if (g->paths > 0 && !g->walked) {
		if (next_of_walk(s, w))
			return;
		g->walked = true;
	}
	if (g->out == 0 && g->walked && !iw_list_empty(&g->later)) {
		announce_later(s);
		return;
	}
	/* Nothing now; but who knows what comes back from other connections, or what the peer still asks for. */
	if (!g->walked || !iw_list_empty(&g->later) || (g->conns > 1 && g->out > 0)) {
		s->work->next_waits = true;
		g->waiting++;
		return;
	}
	iw_xfer_no_more(s->x, s->hub->now);
	iw_group_wake(g);
}

/* --- data --- */

static void next_range(struct session *s, const struct iw_xact *a)
{
	struct file *f = a->file;
	struct iw_file_fault why;
	uint64_t at, len;
	bool last;

	if (f->pack)
		iw_xfer_range(s->x, a->id, 0, f->pack->octets > 0 ? IW_XFER_CHUNK : 0, true);
	else if (iw_src_next_data(&f->src, a->off, &at, &len, &last, &why) != 0)
		iw_xfer_file_failed(s->x, a->id, why.code, why.text, s->hub->now);
	else
		iw_xfer_range(s->x, a->id, at, len, last);
}

static int load_pack(struct session *s, struct file *f, void *buf, struct iw_xloaded *l,
		     struct iw_file_fault *why)
{
	struct iovec iov = { .iov_base = buf, .iov_len = iw_pack_src_load(f->pack, buf) };

	*l = (struct iw_xloaded){ .len = (uint32_t)iov.iov_len };
	if (iw_hasher_chunk(&s->work->hasher, &iov, 1, &l->digest) != 0)
		return iw_file_fail(why, IW_XC_IO, "no digest could be made");
	if (l->len > 0 && iw_chunk_list_add(&f->src.chunks, 0, &l->digest) != 0)
		return iw_file_fail(why, IW_XC_LIMIT, "no memory for its digests");
	return 0;
}

uint64_t iw_source_load(struct session *s, const struct iw_xact *a)
{
	struct work *w = s->work;
	struct file *f = a->file;
	struct iw_file_fault why;
	struct iw_xloaded l;
	int r;

	s->moving = f;
	w->load = *a;
	w->load_waits = !iw_session_slot(s, a->slot);
	if (w->load_waits) {
		if (iw_list_empty(&s->starved))
			iw_list_add_tail(&s->hub->starved, &s->starved);
		return 0;
	}
	w->load_waits = !iw_hub_pace(s->hub, s, a->len);
	if (w->load_waits)
		return 0;
	r = f->pack ? load_pack(s, f, w->slot[a->slot], &l, &why)
		    : iw_src_load(&f->src, &w->hasher, a->off, (uint32_t)a->len, w->slot[a->slot],
				  &l, &why);
	w->load_waits = r == 1;
	if (f->src.stream)
		iw_hub_watch_in(s->hub, r == 1 ? f->src.fd : -1);
	if (r < 0)
		iw_xfer_file_failed(s->x, a->id, why.code, why.text, s->hub->now);
	else if (r == 0)
		iw_xfer_loaded(s->x, a->slot, &l, s->hub->now);
	if (r == 0)
		f->done += l.len;
	return r == 1 ? 0 : IW_MAX(a->len, (uint64_t)1);
}

static void finish(struct session *s, const struct iw_xact *a)
{
	struct file *f = a->file;
	struct iw_file_fault why;
	struct iw_xdigest digest;
	int r;

	if (f->pack)
		r = iw_chunk_list_digest(&f->src.chunks, &s->work->hasher, a->size, &digest) == 0
			    ? 0
			    : iw_file_fail(&why, IW_XC_IO, "no digest could be made");
	else
		r = iw_src_finish(&f->src, &s->work->hasher, a->size, &digest, &why);
	if (r != 0)
		iw_xfer_file_failed(s->x, a->id, why.code, why.text, s->hub->now);
	else
		iw_xfer_finished(s->x, a->id, &digest, s->hub->now);
}

static void take_have(struct session *s, const struct iw_xact *a)
{
	struct file *f = a->file;
	size_t n = (size_t)((a->len + IW_XFER_CHUNK - 1) / IW_XFER_CHUNK);

	f->done += a->len;
	if (iw_src_have(&f->src, a->off, (const uint8_t *)a->name,
			iw_xfer_digest_len(s->mine.digest), n) != 0)
		out_of_memory(s, "what the sink has");
}

static void take_wanted(struct session *s, const struct iw_xact *a)
{
	struct file *f = a->file;
	struct iw_fault why;

	if (f->pack && iw_pack_src_want(f->pack, (const uint8_t *)a->name, a->name_len))
		return;
	iw_xfer_fault(&why, IW_E_FORMAT, "the peer broke the protocol: GO for %U octets of members",
		      (uint64_t)a->name_len);
	iw_xfer_fail(s->x, &why);
}

/* --- the end of a file --- */

bool iw_source_result(struct session *s, const struct iw_xact *a)
{
	struct group *g = s->group;
	struct file *f = a->file;
	bool lost = a->code == IW_XC_CANCELED && !a->told_by_peer && iw_session_hands_on(s) &&
		    !(f->has_src && f->src.stream);

	g->out--;
	if (lost) {
		/* Its connection was lost, and there are others, or will be. */
		iw_src_again(&f->src);
		iw_list_add_tail(&g->again, &f->link);
		s->requeued += f->pack ? f->pack->n
				       : !f->meta.share || f->meta.part_off == 0 ||
						 !iw_xcode_is_fine(a->code);
	} else if (f->linked && f->meta.kind != IW_XFER_HARDLINK && !iw_xcode_is_fine(a->code)) {
		f->linked->failed = true;
	}
	iw_group_wake(g);
	return lost;
}

uint64_t iw_source_act(struct session *s, const struct iw_xact *a)
{
	if (!iw_session_may_act(s))
		return 0;
	switch (a->type) {
	case IW_XACT_PATH:
		take_path(s, a);
		return 0;
	case IW_XACT_NEXT_FILE:
		iw_source_next(s);
		return 0;
	case IW_XACT_HAVE:
		take_have(s, a);
		return 0;
	case IW_XACT_WANTED:
		take_wanted(s, a);
		return 0;
	case IW_XACT_NEXT_RANGE:
		next_range(s, a);
		return 0;
	case IW_XACT_LOAD:
		return iw_source_load(s, a);
	case IW_XACT_FINISH:
		finish(s, a);
		return 0;
	default:
		return 0;
	}
}
