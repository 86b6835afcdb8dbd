// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Finds the files that a source announces: walks its paths, fills packs, and divides large files
 * into parts.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transfer/files/attr.h"
#include "transfer/files/space.h"
#include "transfer/internal.h"
#include "transfer/protocol/name.h"
#include "util/text.h"

#define PART          (64u << 20) /* octets of a part, if several connections send a file */
/* Measured paths of a peer. Each costs a walk, which the peer's credit does not slow down. */
#define MEASURED_MOST 64

void iw_source_no_memory(struct session *s, const char *what)
{
	struct iw_fault why;

	iw_fail(&why, IW_E_NOMEM, "no memory for %s", what);
	iw_xfer_fail(s->x, &why);
}

/*
 * Returns the walk of the group, created if necessary. Takes the options from the machine, because
 * the peer may have chosen them.
 */
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
		iw_source_no_memory(s, "a tree");
		return NULL;
	}
	iw_walk_init(g->walk, g->initiator ? AT_FDCWD : s->hub->root);
	g->walk->filter = &s->hub->cfg->filter;
	g->walk->stream = g->initiator ? s->hub->cfg->path : NULL;
	return g->walk;
}

int iw_source_path(struct session *s, const char *path)
{
	struct iw_walk *w = walk_of(s);

	s->group->paths++;
	return w ? iw_walk_add(w, path, strlen(path)) : IW_E_NOMEM;
}

/* In the worker, which may be walking the tree. */
static void add_path_now(struct iw_task *t)
{
	struct group_task *e = iw_container_of(t, struct group_task, task);

	e->r = iw_walk_add(e->group->walk, e->text, e->len);
}

static void add_path_back(struct iw_task *t)
{
	struct group_task *e = iw_container_of(t, struct group_task, task);
	struct group *g = e->group;

	if (e->r != 0 && e->s)
		iw_source_no_memory(e->s, "a path");
	iw_group_task_free(e);
	iw_group_task_done(g);
}

static void add_path(struct session *s, const struct iw_xfer_act *a)
{
	struct group_task *e = iw_group_task_new(s->group, s);

	if (e)
		e->text = iw_name_terminated(a->name, a->name_len);
	if (!e || !e->text) {
		iw_group_task_free(e);
		iw_source_no_memory(s, "a path");
		return;
	}
	e->len = a->name_len;
	e->task = (struct iw_task){ .run = add_path_now, .back = add_path_back };
	iw_group_queue(s->group, &s->group->names, &e->task);
}

void iw_source_take_path(struct session *s, const struct iw_xfer_act *a)
{
	struct iw_walk *w = walk_of(s);
	struct iw_fault why;

	/* All connections of a transfer request the same paths in the same order. */
	if (++s->paths <= s->group->paths) {
		if (s->paths == s->group->measured_paths)
			iw_xfer_total(s->x, s->group->measured, s->paths);
		return;
	}
	if (a->name_len > 0 && memchr(a->name, '\0', a->name_len)) {
		iw_fail(&why, IW_E_INVAL, "a requested path contains a NUL octet");
		iw_xfer_fail(s->x, &why);
	} else if (w) {
		add_path(s, a);
		if (s->group->opts & IW_XFER_OPT_TOTAL && s->group->paths < MEASURED_MOST)
			iw_source_measure(s->group, a->name, a->name_len);
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
	iw_list_init(&f->of);
	f->name = iw_name_terminated(name, len);
	if (!f->name) {
		free(f);
		return NULL;
	}
	f->meta.name = f->name;
	f->meta.name_len = len;
	return f;
}

static void announce(struct session *s, struct file *f)
{
	const struct iw_file_fault *why = &f->why;
	const char *fault = f->pack ? NULL
				    : iw_xfer_entry_fault(f->meta.name, f->meta.name_len,
							  f->meta.kind == IW_XFER_DIR, f->meta.top,
							  s->group->opts);

	if (!s->work->next_open) {
		/* NEXT_FILE was answered already: keeps f for the next one. */
		iw_list_add_tail(&s->group->again, &f->link);
		return;
	}
	s->work->next_open = false;
	s->group->stream |= f->has_src && f->src.stream;
	s->group->out++;
	f->group = s->group;
	if (f->has_src && !f->open)
		iw_hub_count_open(s->hub, f);
	f->done = 0;
	f->size = f->meta.kind == IW_XFER_FILE ? f->meta.size : 0;
	f->share = f->meta.share != 0;
	if (why->code != IW_XFER_CODE_OK)
		iw_xfer_add_failed(s->x, &f->meta, f, why->code, why->text, s->hub->now);
	else if (fault)
		iw_xfer_add_failed(s->x, &f->meta, f, IW_XFER_CODE_NAME, fault, s->hub->now);
	else
		iw_xfer_add(s->x, &f->meta, f, s->hub->now);
}

/* Omits bits that the options exclude. */
static uint32_t mode_of(const struct group *g, mode_t mode)
{
	uint32_t bits = 0777;

	if (g->opts & IW_XFER_OPT_OWNER)
		bits |= g->opts & IW_XFER_OPT_SETID ? 07000 : 01000;
	return mode & bits;
}

/* Converts an entry of the walk, except its name and what is owned. */
static void meta_of(const struct group *g, const struct iw_entry *e, struct iw_xfer_meta *m)
{
	static const enum iw_xfer_kind kinds[] = { [IW_WALKED_FILE] = IW_XFER_FILE,
						   [IW_WALKED_DIR] = IW_XFER_DIR,
						   [IW_WALKED_LINK] = IW_XFER_SYMLINK };

	*m = (struct iw_xfer_meta){ .name = e->name, .name_len = e->name_len, .top = e->top };
	if (e->what == IW_WALKED_STREAM)
		m->kind = IW_XFER_STREAM;
	if ((size_t)e->what >= IW_ARRAY_LEN(kinds) || e->what == IW_WALKED_STREAM)
		return;
	m->kind = kinds[e->what];
	m->size = m->kind == IW_XFER_FILE ? (uint64_t)e->st.st_size : 0;
	m->mode = mode_of(g, e->st.st_mode);
	m->mtime_s = e->st.st_mtim.tv_sec;
	m->mtime_ns = (uint32_t)e->st.st_mtim.tv_nsec;
	m->target = e->target;
	m->target_len = e->target ? strlen(e->target) : 0;
	if (g->opts & IW_XFER_OPT_OWNER) {
		m->owned = true;
		m->uid = e->st.st_uid;
		m->gid = e->st.st_gid;
	}
}

/* True if the entry may be in a pack: small, with one name, and without attributes to read. */
static bool packs(const struct group *g, const struct iw_entry *e)
{
	if (e->top || g->opts & IW_XFER_OPT_XATTR)
		return false;
	if (iw_xfer_name_fault(e->name, e->name_len))
		return false;
	return e->what == IW_WALKED_DIR || e->what == IW_WALKED_LINK ||
	       (e->what == IW_WALKED_FILE && !(g->opts & IW_XFER_OPT_CHECKSUM) &&
		e->st.st_size <= IW_PACK_FILE_MAX && e->st.st_nlink == 1);
}

/* The result of a step of the walk. Owned by the worker until its task is done. */
struct found {
	struct group_task e;
	/* The file to announce; if its why is set, it cannot be sent. NULL: none. */
	struct file *f;
	struct iw_list more;  /* further files, announced afterwards */
	struct iw_list later; /* further hard links to files */
	const char *lacks;    /* what there was no memory for; NULL: nothing */
	bool excluded;        /* the patterns excluded an entry */
	bool end;             /* all paths were walked */
	size_t paths;         /* number of paths at the start */
	enum iw_xfer_digest_kind digest;
};

static void take(struct found *o, struct file *f)
{
	if (!o->f)
		o->f = f;
	else
		iw_list_add_tail(&o->more, &f->link);
}

/* Completes the current pack. */
static void take_pack(struct found *o)
{
	struct group *g = o->e.group;
	struct file *f = new_file("", 0);

	if (!f) {
		o->lacks = "a pack";
		return;
	}
	f->pack = g->pack;
	g->pack = NULL;
	iw_packer_meta(f->pack, &f->meta);
	take(o, f);
}

static int read_attrs(const struct group *g, struct file *f, int fd, struct iw_file_fault *why)
{
	size_t len;

	if (!(g->opts & IW_XFER_OPT_XATTR))
		return 0;
	if (iw_attr_read(fd, g->opts & IW_XFER_OPT_OWNER, &f->xattr, &len, why) != 0)
		return -1;
	f->meta.xattr = f->xattr ? f->xattr : (const uint8_t *)"";
	f->meta.xattr_len = len;
	return 0;
}

/* True if f is a further hard link, which waits until the first one is settled. */
static bool is_other_name(struct found *o, struct file *f, const struct iw_entry *e)
{
	struct group *g = o->e.group;
	bool first;

	if (e->top || e->what != IW_WALKED_FILE || e->st.st_nlink < 2)
		return false;
	f->linked = iw_links_get(&g->links, &e->st, f->name, f->meta.name_len, &first);
	if (!f->linked) {
		o->lacks = "links";
		return false;
	}
	if (first)
		return false;
	f->meta.kind = IW_XFER_HARDLINK;
	f->meta.size = 0;
	f->meta.target = f->linked->name;
	f->meta.target_len = strlen(f->linked->name);
	iw_list_add_tail(&o->later, &f->link);
	return true;
}

/* Computes the digest of the whole file, which the sink compares with that of its own file. */
static int add_digest(struct file *f, struct iw_file_fault *why)
{
	struct iw_fault fault;

	if (iw_hasher_init(&f->hasher, f->digest, &fault) != 0)
		return iw_file_fail(why, IW_XFER_CODE_LIMIT, "no memory for digests");
	f->has_hasher = true;
	return iw_src_digest(&f->src, &f->hasher, &f->meta.digest, why);
}

/*
 * Opens the file of e. What the walk found about its name is replaced by what the open file shows.
 */
static void open_file(const struct group *g, struct file *f, struct iw_entry *e)
{
	int fd = iw_walk_open(e, &e->why);
	struct iw_xfer_meta m = f->meta;

	if (fd < 0) {
		e->what = IW_WALKED_FAILED;
		return;
	}
	f->has_src = iw_src_open(&f->src, fd, &e->why) == 0;
	if (!f->has_src || read_attrs(g, f, fd, &e->why) != 0) {
		e->what = IW_WALKED_FAILED;
		return;
	}
	m.xattr = f->meta.xattr;
	m.xattr_len = f->meta.xattr_len;
	f->meta = m;
	iw_src_meta(&f->src, &f->meta);
	f->meta.mode = mode_of(g, f->meta.mode);
	if (f->meta.size > IW_XFER_CHUNK)
		f->meta.data = iw_space_data(fd, f->meta.size);
	if (g->opts & IW_XFER_OPT_CHECKSUM && add_digest(f, &e->why) != 0)
		e->what = IW_WALKED_FAILED;
}

/* True if f is large enough to be sent in parts. */
static bool splits(const struct group *g, const struct file *f)
{
	return g->conns > 1 && f->meta.kind == IW_XFER_FILE && f->meta.size >= 2u * PART;
}

static void split_next(struct group *g)
{
	struct iw_list *l = g->split ? NULL : iw_list_first(&g->to_split);

	if (!l)
		return;
	iw_list_del(l);
	g->split = iw_container_of(l, struct file, link);
	g->split_at = 0;
	g->split->meta.share = ++g->next_share;
}

/* Announces the next part of g->split. */
static void announce_part(struct session *s)
{
	struct group *g = s->group;
	const struct file *whole = g->split;
	struct file *f = new_file(whole->name, whole->meta.name_len);
	uint64_t left = whole->meta.size - g->split_at;
	const char *name;

	if (!f) {
		iw_source_no_memory(s, "a file");
		return;
	}
	if (whole->xattr) {
		f->xattr = malloc(whole->meta.xattr_len);
		if (!f->xattr) {
			iw_session_file_free(f);
			iw_source_no_memory(s, "a file's attributes");
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
	/* A short remainder belongs to the last part. */
	f->meta.part_len = left < 2u * PART ? left : PART;
	iw_src_part(&f->src, f->meta.part_off, f->meta.part_len);
	g->split_at += f->meta.part_len;
	if (g->split_at == whole->meta.size) {
		iw_session_file_free(g->split);
		g->split = NULL;
		split_next(g);
	}
	if (f->src.fd < 0)
		iw_file_errno(&f->why, errno, "hold it open");
	announce(s, f);
}

static void take_entry(struct found *o, struct iw_entry *e)
{
	struct group *g = o->e.group;
	struct file *f = new_file(e->name, e->name_len);

	if (!f) {
		if (e->what == IW_WALKED_FILE && e->fd >= 0)
			close(e->fd);
		o->lacks = "a file";
		return;
	}
	meta_of(g, e, &f->meta);
	f->meta.name = f->name;
	/* Only for reports, which show the name if there is no memory. */
	if (e->top && e->what != IW_WALKED_STREAM)
		f->operand = strdup(e->operand);
	if (e->what == IW_WALKED_LINK) {
		f->to = strdup(e->target);
		f->meta.target = f->to;
		f->meta.target_len = f->to ? f->meta.target_len : 0;
	}
	if (is_other_name(o, f, e))
		return;
	f->digest = o->digest;
	if (e->what == IW_WALKED_FILE) {
		open_file(g, f, e);
	} else if (e->what == IW_WALKED_DIR) {
		if (read_attrs(g, f, e->fd, &e->why) != 0)
			e->what = IW_WALKED_FAILED;
	} else if (e->what == IW_WALKED_STREAM) {
		iw_src_open_stream(&f->src, e->fd);
		f->has_src = true;
		iw_src_meta(&f->src, &f->meta);
	}
	if (e->what == IW_WALKED_FAILED)
		f->why = e->why;
	take(o, f);
}

/* Adds e to the pack; a full pack is completed, and another one started. */
static void pack_entry(struct found *o, struct iw_entry *e)
{
	struct group *g = o->e.group;
	struct iw_xfer_meta m;

	meta_of(g, e, &m);
	for (int tries = 0; tries < 2; tries++) {
		if (!g->pack)
			g->pack = iw_packer_new();
		if (!g->pack) {
			o->lacks = "a pack";
			return;
		}
		if (iw_packer_add(g->pack, &m, e->root, e->path, &e->st))
			return;
		if (g->pack->n == 0 || tries == 1) {
			take_entry(o, e);
			return;
		}
		take_pack(o);
	}
}

/* In the worker: finds one file or one pack. */
static void find_now(struct iw_task *t)
{
	struct found *o = iw_container_of(t, struct found, e.task);
	struct group *g = o->e.group;

	while (!o->f && !o->lacks) {
		struct iw_entry e;

		iw_walk_next(g->walk, &e);
		o->end = e.what == IW_WALKED_END;
		if (o->end)
			break;
		o->excluded |= e.what == IW_WALKED_FAILED && e.why.code == IW_XFER_CODE_EXCLUDED;
		/*
		 * A directory whose contents are sent has no name. Without IW_XFER_OPT_CONTENTS the
		 * sink expects only the contents. Excluded entries are reported only with --delete,
		 * because they must not be removed.
		 */
		if ((e.what == IW_WALKED_DIR && e.name_len == 0 &&
		     !(g->opts & IW_XFER_OPT_CONTENTS)) ||
		    (e.what == IW_WALKED_FAILED && e.why.code == IW_XFER_CODE_EXCLUDED &&
		     !(g->opts & IW_XFER_OPT_DELETE)))
			continue;
		if (packs(g, &e))
			pack_entry(o, &e);
		else
			take_entry(o, &e);
	}
	if (!o->f && g->pack && g->pack->n > 0)
		take_pack(o);
}

static void announce_found(struct session *s, struct file *f)
{
	struct group *g = s->group;

	if (f->why.code != IW_XFER_CODE_OK || !splits(g, f)) {
		announce(s, f);
		return;
	}
	/*
	 * Another connection may have found a large file meanwhile, and not all its parts are
	 * announced.
	 */
	iw_list_add_tail(&g->to_split, &f->link);
	split_next(g);
	announce_part(s);
}

static void move_all(struct iw_list *to, struct iw_list *from)
{
	struct iw_list *l;

	while ((l = iw_list_first(from)) != NULL) {
		iw_list_del(l);
		iw_list_add_tail(to, l);
	}
}

static void next(struct session *s);

static void find_back(struct iw_task *t)
{
	struct found *o = iw_container_of(t, struct found, e.task);
	struct group *g = o->e.group;
	struct session *s = o->e.s;

	move_all(&g->later, &o->later);
	g->excluded |= o->excluded;
	if (s && o->lacks)
		iw_source_no_memory(s, o->lacks);
	if (o->end && o->paths == g->paths)
		g->walked = true;
	s = s && !s->ended && s->work->next_open ? s : NULL;
	if (s && o->f)
		announce_found(s, o->f);
	else if (o->f)
		iw_list_add_tail(&g->again, &o->f->link);
	else if (s && !o->lacks)
		next(s);
	move_all(&g->again, &o->more);
	if (o->e.s)
		iw_session_make_ready(o->e.s);
	iw_group_wake(g);
	iw_group_task_free(&o->e);
	iw_group_task_done(g);
}

static void find(struct session *s)
{
	struct group *g = s->group;
	struct found *o = calloc(1, sizeof(*o));

	if (!o) {
		iw_source_no_memory(s, "a tree");
		return;
	}
	o->e.group = g;
	o->e.s = s;
	iw_list_init(&o->more);
	iw_list_init(&o->later);
	o->paths = g->paths;
	o->digest = s->mine.digest;
	iw_list_init(&o->e.of);
	iw_list_add_tail(&s->group_tasks, &o->e.of);
	o->e.task = (struct iw_task){ .run = find_now, .back = find_back };
	iw_group_queue(g, &g->names, &o->e.task);
}

/* Announces a further hard link to a file that is settled. */
static void announce_later(struct session *s)
{
	struct iw_list *l = iw_list_first(&s->group->later);
	struct file *f = iw_container_of(l, struct file, link);

	iw_list_del(l);
	if (f->linked->failed)
		iw_file_fail(&f->why, IW_XFER_CODE_NOENT,
			     "it is a hard link to a file that did not arrive");
	announce(s, f);
}

static void announce_again(struct session *s)
{
	struct iw_list *l = iw_list_first(&s->group->again);
	struct file *f = iw_container_of(l, struct file, link);

	iw_list_del(l);
	announce(s, f);
}

/* Call it after privileges are dropped, because the worker's threads inherit them. */
static void measure_operands(struct group *g)
{
	const struct iw_transfer_cfg *cfg = g->hub->cfg;

	if (g->measuring || !g->initiator || !g->hub->shows_progress)
		return;
	g->measuring = true;
	for (size_t i = 0; i < cfg->npaths; i++)
		iw_source_measure(g, cfg->paths[i], strlen(cfg->paths[i]));
}

static void wait_for_file(struct session *s)
{
	s->work->next_waits = true;
	s->group->waiting++;
}

/* Announces the next file, starts the search for one, or waits until there is one. */
static void next(struct session *s)
{
	struct group *g = s->group;

	if (!iw_list_empty(&g->again)) {
		announce_again(s);
		return;
	}
	/* There are no descriptors for more files until announced ones are closed. */
	if (iw_hub_is_crowded(g)) {
		wait_for_file(s);
		return;
	}
	if (g->split) {
		announce_part(s);
		return;
	}
	if (g->paths > 0 && !g->walked) {
		measure_operands(g);
		find(s);
		return;
	}
	if (g->out == 0 && g->walked && !iw_list_empty(&g->later)) {
		announce_later(s);
		return;
	}
	/* Other connections may return files, and the peer may request further paths. */
	if (!g->walked || !iw_list_empty(&g->later) || (g->conns > 1 && g->out > 0)) {
		wait_for_file(s);
		return;
	}
	iw_xfer_no_more(s->x, s->hub->now);
	iw_group_wake(g);
}

void iw_source_next(struct session *s)
{
	if (s->work->next_waits)
		s->group->waiting--;
	s->work->next_waits = false;
	s->work->next_open = true;
	if (walk_of(s))
		next(s);
}
