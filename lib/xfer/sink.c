// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The sink: says which files it wants, makes room for their chunks (mode write: windows; read: buffers for its RDMA Reads; send:
 * receives), has them stored, and says what became of each file.
 *
 * A file's way: QUEUED -(CREATE answered)-> OPEN -(its END, and all is stored)-> COMMITTING -(answered)-> SETTLED. It may become
 * SETTLED, with a reason, from any of them, and is forgotten when its RESULT is out and its END has come, if it was told GO.
 */
#include <assert.h>
#include <string.h>

#include "util/text.h"
#include "xfer/internal.h"
#include "xfer/name.h"

/*
 * Twice what a source may have at once: it may announce a file as soon as the RESULT of the one that many before is on its way, which
 * comes after that one has been shown and its windows revoked, but one round before it is forgotten.
 */
#define TABLE    (2 * IW_XFER_FILES)
#define RANGES   IW_XFER_RANGES
#define JOBS     IW_XFER_WINDOWS
#define OPEN_MAX 32u /* files created and not settled: each one is an open descriptor or two */

enum file_state { FREE, QUEUED, OPEN, COMMITTING, SETTLED };

struct file {
	enum file_state state;
	uint32_t id;
	void *user;
	bool has_user; /* CREATE was answered with a file: COMMIT or ABANDON is due */
	struct iw_xmeta meta;
	char *name;                  /* owned; meta.name */
	bool creating, went, go_due; /* CREATE is out; GO was decided; and has yet to be told */
	bool ended;                  /* its END has come, or is not needed */
	bool told, shown;            /* RESULT has gone to the peer, to the driver */
	bool commit_due;
	uint64_t asked_to;            /* ranges lie behind one another: the end of the last one */
	uint64_t asked;               /* octets in all ranges */
	uint64_t settled;             /* octets stored or zero */
	uint64_t high;                /* end of the last chunk */
	uint32_t slots, jobs, offers; /* in use for it */
	uint64_t end_size;
	struct iw_xdigest end_digest;
	struct outcome outcome;
};

struct range {
	uint32_t id; /* 0: dropped */
	uint64_t next, end;
};

enum slot_state {
	S_FREE,
	S_REGISTERING,
	S_GRANTED,  /* mode write: the peer may write */
	S_REVOKING, /* mode write: dropped, its registration is to end */
	S_READABLE, /* mode read: registered, the RDMA Read is due */
	S_READING,
	S_STORING, /* it belongs to a job */
};

struct slot {
	enum slot_state state;
	uint32_t id;
	uint64_t off;
	uint32_t len;
	uint32_t stag; /* mode write: ours; mode read: the peer's */
	bool grant_due;
	struct iw_xdigest digest; /* mode read */
};

/* mode read: what the source offers. */
struct offer {
	uint32_t id;
	uint64_t off;
	uint32_t len, stag;
	struct iw_xdigest digest;
};

/* A chunk that is there, to be stored. */
struct job {
	uint32_t id;
	uint64_t off;
	uint32_t len;
	bool open;       /* mode send: its DONE has yet to come */
	bool registered; /* its slot: to be revoked before anybody looks at it (RFC 5042 6.2.2) */
	struct iw_xdigest digest;
	struct iw_xpart part[IW_XPARTS];
	uint32_t nparts;
};

struct release {
	uint32_t id;
	uint64_t off;
};

struct sink {
	struct file file[TABLE]; /* number id is in place id % TABLE */
	uint32_t next_id, create_id, nfiles, nopen;
	struct range range[RANGES];
	uint32_t range_head, nranges;
	struct slot slot[IW_XFER_WINDOWS];
	uint32_t registering; /* the slot, or IW_XFER_WINDOWS */
	uint32_t ngrants;     /* slots with grant_due */
	struct fifo readable; /* slots in state READABLE */
	struct fifo revoking;
	struct offer offer[IW_XFER_WINDOWS];
	uint32_t offer_head, noffers;
	struct release release[IW_XFER_WINDOWS];
	uint32_t nreleases;
	struct job job[JOBS];
	uint32_t job_head, njobs;
	bool storing; /* STORE of the first job is unanswered */
	bool opened_due, bye_due;
	struct iw_list paths; /* pull: to be asked for */
	uint32_t npaths;
	bool paths_end, paths_told;
};

int sink_new(struct iw_xfer *x)
{
	struct sink *s = iw_mem_alloc(x->mem, sizeof(*s));

	if (!s)
		return IW_E_NOMEM;
	iw_list_init(&s->paths);
	s->next_id = s->create_id = 1;
	s->registering = IW_XFER_WINDOWS;
	s->opened_due = !x->cfg.initiator;
	x->snk = s;
	return 0;
}

static void free_name(struct iw_xfer *x, char *name, size_t len)
{
	iw_mem_free(x->mem, name, name ? len : 0);
}

void sink_free(struct iw_xfer *x)
{
	struct sink *s = x->snk;
	struct path *p;

	while ((p = xf_path_take(&s->paths)) != NULL)
		xf_path_free(x, p);
	for (uint32_t i = 0; i < TABLE; i++)
		if (s->file[i].state != FREE)
			free_name(x, s->file[i].name, s->file[i].meta.name_len);
	iw_mem_free(x->mem, s, sizeof(*s));
	x->snk = NULL;
}

static struct file *find(struct sink *s, uint32_t id)
{
	struct file *f = &s->file[id % TABLE];

	return id != 0 && f->state != FREE && f->id == id ? f : NULL;
}

/* A file that has been forgotten: messages about it were on the way. */
static bool is_past(const struct sink *s, uint32_t id)
{
	return id != 0 && id < s->next_id;
}

static enum iw_xfer_mode mode(const struct iw_xfer *x)
{
	return x->cfg.mine.mode;
}

/* --- pull: what is wanted --- */

int iw_xfer_want_path(struct iw_xfer *x, const char *name, size_t len)
{
	if (!x->snk && sink_new(x) != 0)
		return IW_E_NOMEM;
	if (len > IW_XFER_NAME_MAX || x->snk->npaths >= XF_PATHS_MAX)
		return IW_E_LIMIT;
	if (!xf_path_add(x, &x->snk->paths, name, len))
		return IW_E_NOMEM;
	x->snk->npaths++;
	return 0;
}

void iw_xfer_want_end(struct iw_xfer *x)
{
	if (x->snk || sink_new(x) == 0)
		x->snk->paths_end = true;
}

static bool send_get(struct iw_xfer *x, struct iw_xact *act, uint64_t now)
{
	struct sink *s = x->snk;
	struct iw_list *l;
	struct draft d;
	size_t place, n = 0;

	if (!x->cfg.initiator || !s->paths_end || s->paths_told ||
	    !draft_begin(x, &d, IW_XMSG_GET, 2, true))
		return false;
	iw_cbor_uint(&d.o, IW_XKEY_LIST);
	place = iw_cbor_array_begin(&d.o);
	while ((l = iw_list_first(&s->paths)) != NULL) {
		struct path *p = iw_container_of(l, struct path, link);
		size_t before = d.o.len;

		iw_cbor_bytes(&d.o, p->octets, p->len);
		/* Two octets behind the list: LAST and its value. */
		if (d.o.full || d.o.cap - d.o.len < 2) {
			d.o.full = false;
			d.o.len = before;
			break;
		}
		iw_list_del(l);
		xf_path_free(x, p);
		n++;
	}
	iw_cbor_array_end(&d.o, place, n);
	iw_cbor_uint(&d.o, IW_XKEY_LAST);
	iw_cbor_bool(&d.o, iw_list_empty(&s->paths));
	if (n == 0 && !iw_list_empty(&s->paths)) {
		/* Too long for the peer's first, small receives. */
		draft_drop(x, &d);
		if (x->link.tx_from != UINT64_MAX && x->link.tx_count + 1 < x->link.tx_from)
			x->link.nop_due = true;
		return false;
	}
	s->paths_told = iw_list_empty(&s->paths);
	draft_send(x, &d, act, now);
	return true;
}

/* --- slots, ranges, offers --- */

static void free_slot(struct iw_xfer *x, uint32_t i)
{
	struct sink *s = x->snk;
	struct slot *sl = &s->slot[i];
	struct file *f = find(s, sl->id);

	if (f)
		f->slots--;
	if (sl->grant_due)
		s->ngrants--;
	*sl = (struct slot){ .state = S_FREE };
	xf_slot_put(x, i);
}

static struct range *range_at(struct sink *s, uint32_t i)
{
	return &s->range[(s->range_head + i) % RANGES];
}

static void trim_ranges(struct sink *s)
{
	while (s->nranges > 0 && range_at(s, 0)->id == 0) {
		s->range_head = (s->range_head + 1) % RANGES;
		s->nranges--;
	}
}

/* The others close ranks, so that what is dropped does not count against the peer. */
static void drop_ranges(struct sink *s, uint32_t id)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < s->nranges; i++)
		if (range_at(s, i)->id != id)
			*range_at(s, kept++) = *range_at(s, i);
	s->nranges = kept;
}

static void drop_window(struct sink *s, uint32_t i)
{
	struct slot *sl = &s->slot[i];

	if (sl->grant_due)
		s->ngrants--;
	sl->grant_due = false;
	sl->state = S_REVOKING;
	fifo_put(&s->revoking, i);
}

/* Those windows of f of which the peer has not been told, or all. */
static void drop_windows(struct sink *s, const struct file *f, bool all)
{
	for (uint32_t i = 0; i < IW_XFER_WINDOWS; i++)
		if (s->slot[i].id == f->id && s->slot[i].state == S_GRANTED &&
		    (all || s->slot[i].grant_due))
			drop_window(s, i);
}

static struct job *job_at(struct sink *s, uint32_t i)
{
	return &s->job[(s->job_head + i) % JOBS];
}

static void push_job(struct sink *s, struct file *f, const struct job *j)
{
	assert(s->njobs < JOBS);
	*job_at(s, s->njobs++) = *j;
	f->jobs++;
}

static void put_release(struct sink *s, uint32_t id, uint64_t off)
{
	/* One for each offer, of which there are no more at once. */
	assert(s->nreleases < IW_XFER_WINDOWS);
	s->release[s->nreleases++] = (struct release){ .id = id, .off = off };
}

/* --- files --- */

static void settle_len(struct iw_xfer *x, struct file *f, uint32_t code, const char *text,
		       size_t text_len, bool by_peer)
{
	struct sink *s = x->snk;

	if (f->state == SETTLED)
		return;
	if (f->state != QUEUED)
		s->nopen--;
	f->state = SETTLED;
	f->commit_due = false;
	/* A GO that has not been told is as good as none: the peer owes no END. */
	f->went = f->went && !f->go_due;
	f->go_due = false;
	xf_outcome(&f->outcome, code, text, text_len, by_peer);
	drop_ranges(s, f->id);
	drop_windows(s, f, !f->went);
}

static void settle(struct iw_xfer *x, struct file *f, uint32_t code, const char *text)
{
	settle_len(x, f, code, text, text ? strlen(text) : 0, false);
}

static void forget(struct iw_xfer *x, struct file *f)
{
	free_name(x, f->name, f->meta.name_len);
	f->state = FREE;
	f->name = NULL;
	x->snk->nfiles--;
}

static void finish_job(struct iw_xfer *x, const struct job *j, bool stored)
{
	struct sink *s = x->snk;
	struct file *f = find(s, j->id);

	f->jobs--;
	if (stored) {
		f->settled += j->len;
		f->high = IW_MAX(f->high, j->off + j->len);
		x->counts.settled += j->len;
		x->counts.octets += j->len;
	}
	if (!j->part[0].in_recv) {
		if (mode(x) == IW_XFER_READ)
			put_release(s, j->id, j->off);
		free_slot(x, j->part[0].recv);
	} else {
		link_reposted(x, j->nparts);
	}
	s->job_head = (s->job_head + 1) % JOBS;
	s->njobs--;
	s->storing = false;
}

void sink_file_failed(struct iw_xfer *x, uint32_t id, enum iw_xcode code, const char *text)
{
	struct sink *s = x->snk;
	struct file *f = find(s, id);

	if (s->storing && job_at(s, 0)->id == id) {
		const struct job j = *job_at(s, 0);

		finish_job(x, &j, false);
	}
	if (!f)
		return;
	f->creating = false;
	settle(x, f, code, text);
}

static int take_file(struct iw_xfer *x, const struct iw_xentry *e)
{
	struct sink *s = x->snk;
	struct file *f = &s->file[s->next_id % TABLE];
	const char *fault;

	if (e->id != s->next_id || s->next_id == UINT32_MAX)
		return xf_breach(x, "FILES: file %u, expected %u", e->id, s->next_id);
	if (f->state != FREE)
		return xf_breach(x,
				 "FILES: file %u before file %u is done with: more than %u at once",
				 e->id, f->id, IW_XFER_FILES);
	*f = (struct file){ .state = QUEUED, .id = e->id };
	f->meta = (struct iw_xmeta){ .kind = (enum iw_xfer_kind)e->kind,
				     .top = e->top,
				     .size = e->has & IW_XBIT(IW_XF_SIZE) ? e->size
									  : IW_XFER_SIZE_UNKNOWN,
				     .mode = e->mode & 0777,
				     .mtime_s = e->mtime_s,
				     .mtime_ns = e->mtime_ns };
	f->name = iw_mem_alloc(x->mem, e->name_len > 0 ? e->name_len : 1);
	if (!f->name) {
		struct iw_fault why;

		f->state = FREE;
		iw_fail(&why, IW_E_NOMEM, "no memory for a name");
		iw_xfer_fail(x, &why);
		return IW_E_NOMEM;
	}
	memcpy(f->name, e->name, e->name_len);
	f->meta.name = f->name;
	f->meta.name_len = e->name_len;
	s->next_id++;
	s->nfiles++;
	if (e->kind != IW_XFER_FILE)
		f->meta.size = e->kind == IW_XFER_STREAM ? IW_XFER_SIZE_UNKNOWN : 0;
	if (e->has & IW_XBIT(IW_XF_CODE)) {
		settle_len(x, f, e->code == IW_XC_OK ? (uint32_t)IW_XC_PROTOCOL : e->code, e->text,
			   e->text_len, true);
		return 0;
	}
	if (f->meta.size != IW_XFER_SIZE_UNKNOWN)
		x->counts.announced += f->meta.size;
	fault = iw_xfer_name_fault(e->name, e->name_len);
	if (fault) {
		char buf[64];
		struct iw_text t;

		iw_text_init(&t, buf, sizeof(buf));
		iw_text_fmt(&t, "the name %s", fault);
		settle(x, f, IW_XC_NAME, buf);
	} else if (e->kind > IW_XFER_STREAM) {
		settle(x, f, IW_XC_KIND, NULL);
	} else if (e->kind == IW_XFER_FILE && !(e->has & IW_XBIT(IW_XF_SIZE))) {
		settle(x, f, IW_XC_PROTOCOL, "a file without a size");
	}
	return 0;
}

static bool next_create(struct iw_xfer *x, struct iw_xact *act)
{
	struct sink *s = x->snk;

	if (s->opened_due)
		return false;
	for (; s->create_id < s->next_id; s->create_id++) {
		struct file *f = find(s, s->create_id);

		if (!f || f->state != QUEUED)
			continue;
		if (f->creating || s->nopen >= OPEN_MAX)
			return false;
		f->creating = true;
		act->type = IW_XACT_CREATE;
		act->id = f->id;
		act->meta = &f->meta;
		return true;
	}
	return false;
}

void iw_xfer_created(struct iw_xfer *x, uint32_t id, void *user, uint64_t now)
{
	struct file *f = x->snk ? find(x->snk, id) : NULL;

	xf_progress(x, now);
	if (!f || f->state != QUEUED || !f->creating)
		return;
	f->creating = false;
	f->user = user;
	f->has_user = true;
	f->state = OPEN;
	f->went = f->go_due = true;
	x->snk->nopen++;
	x->snk->create_id = IW_MAX(x->snk->create_id, id + 1);
}

void iw_xfer_made(struct iw_xfer *x, uint32_t id, uint64_t now)
{
	struct file *f = x->snk ? find(x->snk, id) : NULL;

	xf_progress(x, now);
	if (!f || f->state != QUEUED || !f->creating)
		return;
	f->creating = false;
	settle(x, f, IW_XC_OK, NULL);
}

void iw_xfer_committed(struct iw_xfer *x, uint32_t id, uint64_t now)
{
	struct file *f = x->snk ? find(x->snk, id) : NULL;

	xf_progress(x, now);
	if (!f || f->state != COMMITTING)
		return;
	f->has_user = false;
	settle(x, f, IW_XC_OK, NULL);
}

/* Is all there that the END speaks of? */
static void judge_end(struct iw_xfer *x, struct file *f)
{
	if (f->meta.size != IW_XFER_SIZE_UNKNOWN && f->end_size != f->meta.size)
		settle(x, f, IW_XC_CHANGED, "it ended with another size than announced");
	else if (f->meta.kind == IW_XFER_STREAM ? f->settled != f->end_size
						: f->settled != f->asked || f->high > f->end_size)
		settle(x, f, IW_XC_PROTOCOL, "it ended before all of it was there");
	else if (f->end_digest.len != iw_xfer_digest_len(x->cfg.mine.digest))
		settle(x, f, IW_XC_PROTOCOL, "its digest is of another kind than agreed");
	else
		f->commit_due = true;
}

static bool next_commit(struct iw_xfer *x, struct iw_xact *act)
{
	struct sink *s = x->snk;

	for (uint32_t i = 0; i < TABLE && s->nopen > 0; i++) {
		struct file *f = &s->file[i];

		if (f->state == OPEN && f->ended && f->jobs == 0 && f->slots == 0 &&
		    f->offers == 0 && !f->commit_due)
			judge_end(x, f);
		if (f->state != OPEN || !f->commit_due)
			continue;
		f->state = COMMITTING;
		f->commit_due = false;
		act->type = IW_XACT_COMMIT;
		act->id = f->id;
		act->file = f->user;
		act->size = f->end_size;
		act->digest = f->end_digest;
		return true;
	}
	return false;
}

static bool next_abandon(struct iw_xfer *x, struct iw_xact *act)
{
	struct sink *s = x->snk;

	for (uint32_t i = 0; i < TABLE; i++) {
		struct file *f = &s->file[i];

		if (f->state != SETTLED || !f->has_user ||
		    (s->storing && job_at(s, 0)->id == f->id))
			continue;
		f->has_user = false;
		act->type = IW_XACT_ABANDON;
		act->id = f->id;
		act->file = f->user;
		return true;
	}
	return false;
}

static bool next_result(struct iw_xfer *x, struct iw_xact *act)
{
	struct sink *s = x->snk;

	for (uint32_t i = 0; i < TABLE && s->nfiles > 0; i++) {
		struct file *f = &s->file[i];

		if (f->state != SETTLED)
			continue;
		if (!f->shown) {
			if (f->has_user)
				continue; /* ABANDON waits for the end of a STORE */
			f->shown = true;
			xf_count_result(x, &f->outcome, f->meta.size, f->settled);
			xf_result_act(act, f->id, f->user, &f->meta, &f->outcome);
			return true;
		}
		/* Told, ended, and none of its chunks under way: nothing can refer to it any more. */
		if (f->told && (f->ended || !f->went) && f->slots == 0 && f->jobs == 0 &&
		    f->offers == 0)
			forget(x, f);
	}
	return false;
}

/* --- chunks --- */

static bool next_register(struct iw_xfer *x, struct iw_xact *act)
{
	struct sink *s = x->snk;
	struct slot chunk = { .state = S_REGISTERING };
	struct file *f;
	uint32_t i;

	if (s->registering != IW_XFER_WINDOWS)
		return false;
	if (mode(x) == IW_XFER_WRITE) {
		struct range *r;
		uint64_t end;

		trim_ranges(s);
		if (s->nranges == 0)
			return false;
		r = range_at(s, 0);
		f = find(s, r->id);
		if (f->state != OPEN)
			return false; /* CREATE has yet to be answered */
		if (!xf_slot_get(x, &i))
			return false;
		end = IW_MIN((r->next / IW_XFER_CHUNK + 1) * IW_XFER_CHUNK, r->end);
		chunk.id = r->id;
		chunk.off = r->next;
		chunk.len = (uint32_t)(end - r->next);
		r->next = end;
		if (end == r->end)
			r->id = 0;
	} else {
		const struct offer *o = &s->offer[s->offer_head];

		if (mode(x) != IW_XFER_READ)
			return false;
		for (; s->noffers > 0;
		     s->noffers--, s->offer_head = (s->offer_head + 1) % IW_XFER_WINDOWS) {
			o = &s->offer[s->offer_head];
			f = find(s, o->id);
			if (f->state == OPEN)
				break;
			f->offers--;
			put_release(s, o->id, o->off);
		}
		if (s->noffers == 0 || !xf_slot_get(x, &i))
			return false;
		chunk.id = o->id;
		chunk.off = o->off;
		chunk.len = o->len;
		chunk.stag = o->stag;
		chunk.digest = o->digest;
		f->offers--;
		s->noffers--;
		s->offer_head = (s->offer_head + 1) % IW_XFER_WINDOWS;
	}
	s->slot[i] = chunk;
	s->registering = i;
	find(s, chunk.id)->slots++;
	act->type = IW_XACT_REGISTER;
	act->slot = i;
	act->to = chunk.off;
	act->len = chunk.len;
	act->right = mode(x) == IW_XFER_WRITE ? IW_XRIGHT_REMOTE_WRITE : IW_XRIGHT_READ_SINK;
	return true;
}

void sink_registered(struct iw_xfer *x, uint32_t i, uint32_t stag)
{
	struct sink *s = x->snk;
	struct slot *sl = &s->slot[i];
	struct file *f;

	if (s->registering != i)
		return;
	s->registering = IW_XFER_WINDOWS;
	f = find(s, sl->id);
	if (mode(x) == IW_XFER_READ) {
		sl->state = S_READABLE;
		fifo_put(&s->readable, i);
		return;
	}
	sl->stag = stag;
	if (!f || f->state != OPEN || f->ended) {
		/* Nobody was told of it. */
		sl->state = S_REVOKING;
		fifo_put(&s->revoking, i);
		return;
	}
	sl->state = S_GRANTED;
	sl->grant_due = true;
	s->ngrants++;
}

static bool next_read(struct iw_xfer *x, struct iw_xact *act)
{
	struct sink *s = x->snk;
	struct slot *sl;
	uint32_t i;

	if (s->readable.n == 0 || !link_sq_room(x))
		return false;
	i = fifo_take(&s->readable);
	sl = &s->slot[i];
	sl->state = S_READING;
	act->type = IW_XACT_READ;
	act->cookie = cookie(CK_SLOT, i);
	act->slot = i;
	act->stag = sl->stag;
	act->to = sl->off;
	act->len = sl->len;
	link_posted(x);
	return true;
}

void sink_completed(struct iw_xfer *x, uint32_t i, uint64_t now)
{
	struct sink *s = x->snk;
	struct slot *sl;
	struct job j;

	(void)now;
	if (i >= IW_XFER_WINDOWS || s->slot[i].state != S_READING)
		return;
	sl = &s->slot[i];
	sl->state = S_STORING;
	j = (struct job){ .id = sl->id,
			  .off = sl->off,
			  .len = sl->len,
			  .registered = true,
			  .digest = sl->digest,
			  .nparts = 1 };
	j.part[0] = (struct iw_xpart){ .recv = i, .len = sl->len };
	push_job(s, find(s, sl->id), &j);
}

static void repost_act(struct iw_xact *act, const struct job *j)
{
	act->type = IW_XACT_REPOST;
	memcpy(act->part, j->part, sizeof(act->part));
	act->nparts = j->nparts;
}

static bool next_job(struct iw_xfer *x, struct iw_xact *act)
{
	struct sink *s = x->snk;

	while (s->njobs > 0 && !s->storing && !job_at(s, 0)->open) {
		struct job *j = job_at(s, 0);
		struct file *f = find(s, j->id);

		if (j->registered) {
			j->registered = false;
			act->type = IW_XACT_REVOKE;
			act->slot = j->part[0].recv;
			return true;
		}
		if (f->state != OPEN) {
			const struct job dead = *j;

			finish_job(x, &dead, false);
			if (!dead.part[0].in_recv)
				continue;
			repost_act(act, &dead);
			return true;
		}
		s->storing = true;
		act->type = IW_XACT_STORE;
		act->id = f->id;
		act->file = f->user;
		act->off = j->off;
		act->len = j->len;
		act->digest = j->digest;
		memcpy(act->part, j->part, sizeof(act->part));
		act->nparts = j->nparts;
		return true;
	}
	return false;
}

void iw_xfer_stored(struct iw_xfer *x, uint64_t now)
{
	xf_progress(x, now);
	if (x->snk && x->snk->storing) {
		const struct job j = *job_at(x->snk, 0);

		finish_job(x, &j, true);
	}
}

static bool next_revoke(struct iw_xfer *x, struct iw_xact *act)
{
	struct sink *s = x->snk;

	if (s->revoking.n == 0)
		return false;
	act->type = IW_XACT_REVOKE;
	act->slot = fifo_take(&s->revoking);
	free_slot(x, act->slot);
	return true;
}

/* --- messages out --- */

static bool send_go(struct iw_xfer *x, struct iw_xact *act, uint64_t now)
{
	struct sink *s = x->snk;
	struct draft d;
	size_t place, n = 0;
	bool due = false;

	for (uint32_t i = 0; i < TABLE && !due; i++)
		due = s->file[i].go_due;
	if (!due || !draft_begin(x, &d, IW_XMSG_GO, 1, true))
		return false;
	iw_cbor_uint(&d.o, IW_XKEY_LIST);
	place = iw_cbor_array_begin(&d.o);
	for (uint32_t i = 0; i < TABLE; i++) {
		struct file *f = &s->file[i];
		struct iw_xentry e = { .has = IW_XBIT(IW_XF_ID), .id = f->id };

		if (!f->go_due)
			continue;
		if (!draft_entry(&d, &e))
			break;
		f->go_due = false;
		n++;
	}
	iw_cbor_array_end(&d.o, place, n);
	draft_send(x, &d, act, now);
	return true;
}

static bool send_grants(struct iw_xfer *x, struct iw_xact *act, uint64_t now)
{
	struct sink *s = x->snk;
	struct draft d;
	size_t place, n = 0;
	struct fifo order = { .n = 0 };

	if (s->ngrants == 0 || !draft_begin(x, &d, IW_XMSG_GRANT, 1, true))
		return false;
	/* In the order of the ranges: by file, then by offset. */
	for (uint32_t i = 0; i < IW_XFER_WINDOWS; i++) {
		uint32_t at = order.n;

		if (!s->slot[i].grant_due)
			continue;
		for (; at > 0; at--) {
			const struct slot *o = &s->slot[order.item[at - 1]];

			if (o->id < s->slot[i].id ||
			    (o->id == s->slot[i].id && o->off < s->slot[i].off))
				break;
			order.item[at] = order.item[at - 1];
		}
		order.item[at] = (uint8_t)i;
		order.n++;
	}
	iw_cbor_uint(&d.o, IW_XKEY_LIST);
	place = iw_cbor_array_begin(&d.o);
	for (; n < order.n; n++) {
		struct slot *sl = &s->slot[order.item[n]];
		struct iw_xentry e = { .has = IW_XBIT(IW_XF_ID) | IW_XBIT(IW_XF_OFF) |
					      IW_XBIT(IW_XF_LEN) | IW_XBIT(IW_XF_STAG),
				       .id = sl->id,
				       .off = sl->off,
				       .len = sl->len,
				       .stag = sl->stag };

		if (!draft_entry(&d, &e))
			break;
		sl->grant_due = false;
		s->ngrants--;
	}
	iw_cbor_array_end(&d.o, place, n);
	draft_send(x, &d, act, now);
	return true;
}

static bool send_releases(struct iw_xfer *x, struct iw_xact *act, uint64_t now)
{
	struct sink *s = x->snk;
	struct draft d;
	size_t place, n = 0;

	if (s->nreleases == 0 || !draft_begin(x, &d, IW_XMSG_RELEASE, 1, true))
		return false;
	iw_cbor_uint(&d.o, IW_XKEY_LIST);
	place = iw_cbor_array_begin(&d.o);
	for (; n < s->nreleases; n++) {
		struct iw_xentry e = { .has = IW_XBIT(IW_XF_ID) | IW_XBIT(IW_XF_OFF),
				       .id = s->release[n].id,
				       .off = s->release[n].off };

		if (!draft_entry(&d, &e))
			break;
	}
	iw_cbor_array_end(&d.o, place, n);
	s->nreleases -= (uint32_t)n;
	memmove(s->release, s->release + n, s->nreleases * sizeof(s->release[0]));
	draft_send(x, &d, act, now);
	return true;
}

static bool send_results(struct iw_xfer *x, struct iw_xact *act, uint64_t now)
{
	struct sink *s = x->snk;
	struct draft d;
	size_t place, n = 0;
	bool due = false;

	for (uint32_t i = 0; i < TABLE && !due; i++)
		due = s->file[i].state == SETTLED && !s->file[i].told;
	if (!due || !draft_begin(x, &d, IW_XMSG_RESULT, 1, true))
		return false;
	iw_cbor_uint(&d.o, IW_XKEY_LIST);
	place = iw_cbor_array_begin(&d.o);
	for (uint32_t i = 0; i < TABLE; i++) {
		struct file *f = &s->file[i];
		struct iw_xentry e = { .has = IW_XBIT(IW_XF_ID), .id = f->id };

		if (f->state != SETTLED || f->told)
			continue;
		xf_outcome_entry(&e, &f->outcome);
		if (!draft_entry(&d, &e))
			break;
		f->told = true;
		n++;
	}
	iw_cbor_array_end(&d.o, place, n);
	draft_send(x, &d, act, now);
	return true;
}

static bool send_bye(struct iw_xfer *x, struct iw_xact *act, uint64_t now)
{
	struct sink *s = x->snk;
	struct draft d;

	if (!s->bye_due || s->nfiles > 0 || !draft_begin(x, &d, IW_XMSG_BYE, 2, true))
		return false;
	s->bye_due = false;
	iw_cbor_uint(&d.o, IW_XKEY_FILES);
	iw_cbor_uint(&d.o, s->next_id - 1);
	iw_cbor_uint(&d.o, IW_XKEY_FAILED);
	iw_cbor_uint(&d.o, x->counts.files_failed);
	draft_send(x, &d, act, now);
	xf_set_state(x, ST_CLOSING);
	return true;
}

static bool next_opened(struct iw_xfer *x, struct iw_xact *act)
{
	if (!x->snk->opened_due)
		return false;
	x->snk->opened_due = false;
	act->type = IW_XACT_OPENED;
	act->name = x->path ? x->path : "";
	act->name_len = x->path_len;
	act->force = x->cfg.force;
	act->many = x->cfg.many;
	return true;
}

bool sink_next(struct iw_xfer *x, struct iw_xact *act, uint64_t now)
{
	struct sink *s = x->snk;

	/* Grants keep the peer going, so a few of them do not wait for the storing of what is there. */
	return next_opened(x, act) || next_revoke(x, act) ||
	       (s->ngrants >= 2 && send_go(x, act, now)) ||
	       (s->ngrants >= 2 && send_grants(x, act, now)) || next_read(x, act) ||
	       next_job(x, act) || next_register(x, act) || next_create(x, act) ||
	       send_go(x, act, now) || send_grants(x, act, now) || send_releases(x, act, now) ||
	       next_commit(x, act) || next_abandon(x, act) || next_result(x, act) ||
	       send_results(x, act, now) || send_get(x, act, now) || send_bye(x, act, now);
}

/* --- messages in --- */

static int on_want(struct iw_xfer *x, const struct iw_xentry *e)
{
	struct sink *s = x->snk;
	struct file *f = find(s, e->id);
	uint64_t limit;

	if (mode(x) != IW_XFER_WRITE)
		return xf_breach(x, "WANT in mode %s", iw_xfer_mode_name(mode(x)));
	if (!f && is_past(s, e->id))
		return 0;
	if (!f)
		return xf_breach(x, "WANT for file %u, which is not announced", e->id);
	if (f->state == SETTLED)
		return 0;
	limit = f->meta.size == IW_XFER_SIZE_UNKNOWN ? IW_XFER_SIZE_MAX : f->meta.size;
	if (f->ended || f->meta.kind == IW_XFER_DIR || e->len == 0 || e->off % IW_XFER_CHUNK != 0 ||
	    e->off < f->asked_to || e->off > limit || e->len > limit - e->off ||
	    (e->off + e->len != limit && (e->off + e->len) % IW_XFER_CHUNK != 0))
		return xf_breach(x, "WANT of %U octets at %U of file %u", e->len, e->off, e->id);
	trim_ranges(s);
	if (s->nranges == RANGES)
		return xf_breach(x, "more than %u ranges at once", RANGES);
	*range_at(s, s->nranges++) =
		(struct range){ .id = e->id, .next = e->off, .end = e->off + e->len };
	f->asked_to = e->off + e->len;
	f->asked += e->len;
	return 0;
}

/* Mode read and send: a chunk that the source offers or has sent. */
static int take_range(struct iw_xfer *x, struct file *f, uint64_t off, uint64_t len,
		      const char *what)
{
	uint64_t limit = f->meta.size == IW_XFER_SIZE_UNKNOWN ? IW_XFER_SIZE_MAX : f->meta.size;

	if (f->ended || f->meta.kind == IW_XFER_DIR || len == 0 || len > IW_XFER_CHUNK ||
	    off % IW_XFER_CHUNK != 0 || off > limit || len > limit - off)
		return xf_breach(x, "%s: %U octets at %U of file %u", what, len, off, f->id);
	f->asked += len;
	return 0;
}

static int check_digest(struct iw_xfer *x, const struct iw_xentry *e)
{
	if (!e->zero && e->digest.len != iw_xfer_digest_len(x->cfg.mine.digest))
		return xf_breach(x, "octet %U of file %u: a digest of %u octets, expected %u",
				 e->off, e->id, (uint32_t)e->digest.len,
				 (uint32_t)iw_xfer_digest_len(x->cfg.mine.digest));
	return 0;
}

static int on_offer(struct iw_xfer *x, const struct iw_xentry *e)
{
	struct sink *s = x->snk;
	struct file *f = find(s, e->id);

	if (mode(x) != IW_XFER_READ)
		return xf_breach(x, "OFFER in mode %s", iw_xfer_mode_name(mode(x)));
	if (s->noffers + s->nreleases + (x->cfg.slots - x->nfree) >= IW_XFER_WINDOWS)
		return xf_breach(x, "more than %u offers", IW_XFER_WINDOWS);
	if (!f || !f->went || f->ended)
		return xf_breach(x, "OFFER for file %u, which is %s", e->id,
				 f && f->ended ? "at its end" : "not going");
	if (check_digest(x, e) != 0)
		return IW_E_FORMAT;
	if (f->state == OPEN) {
		int err = take_range(x, f, e->off, e->len, "OFFER");

		if (err)
			return err;
	}
	s->offer[(s->offer_head + s->noffers++) % IW_XFER_WINDOWS] =
		(struct offer){ .id = e->id,
				.off = e->off,
				.len = (uint32_t)e->len,
				.stag = e->stag,
				.digest = e->digest };
	f->offers++;
	return 0;
}

int sink_data(struct iw_xfer *x, uint32_t recv, uint32_t id, uint64_t off, uint32_t len,
	      enum iw_xverdict *verdict)
{
	struct sink *s = x->snk;
	struct file *f = find(s, id);
	struct job *p = s->njobs > 0 ? job_at(s, s->njobs - 1) : NULL;

	*verdict = IW_XRECV_REPOST;
	if (!f && is_past(s, id))
		return 0;
	if (!f || !f->went || f->ended)
		return xf_breach(x, "data of file %u, which is %s", id,
				 f && f->ended ? "at its end" : "not going");
	if (len > IW_XFER_PIECE)
		return xf_breach(x, "%u octets of data in one Send", len);
	/* Pieces of a chunk come one behind the other, all but the last of full size. */
	if (off % IW_XFER_CHUNK == 0) {
		const struct job j = { .id = id, .off = off, .open = true };

		if (s->njobs == JOBS)
			return xf_breach(x, "more than %u chunks at once", JOBS);
		push_job(s, f, &j);
		p = job_at(s, s->njobs - 1);
	} else if (!p || !p->open || p->id != id || off != p->off + p->len ||
		   p->len % IW_XFER_PIECE != 0) {
		return xf_breach(x, "data at octet %U of file %u: not what follows", off, id);
	}
	p->part[p->nparts++] = (struct iw_xpart){ .in_recv = true, .recv = recv, .len = len };
	p->len += len;
	*verdict = IW_XRECV_HOLD;
	return 0;
}

/* Zeros have not been moved, and need no storing: what is not written reads as zero. */
static void take_zeros(struct iw_xfer *x, struct file *f, uint64_t off, uint64_t len)
{
	f->settled += len;
	f->high = IW_MAX(f->high, off + len);
	x->counts.settled += len;
	x->counts.zeros += len;
}

/* Mode send: the DONE that belongs to the pieces that came first. */
static int done_pieces(struct iw_xfer *x, struct file *f, const struct iw_xentry *e)
{
	struct sink *s = x->snk;

	for (uint32_t i = 0; i < s->njobs; i++) {
		struct job *j = job_at(s, i);

		if (!j->open)
			continue;
		if (j->id != e->id || j->off != e->off || j->len != e->len)
			break;
		if (f->state == OPEN && take_range(x, f, e->off, e->len, "DONE") != 0)
			return IW_E_FORMAT;
		j->digest = e->digest;
		j->open = false;
		return 0;
	}
	return xf_breach(x, "DONE of %U octets at %U of file %u: not what was sent", e->len, e->off,
			 e->id);
}

/* Mode write: the window that the DONE names. */
static int done_window(struct iw_xfer *x, struct file *f, const struct iw_xentry *e)
{
	struct sink *s = x->snk;
	struct job j = { .id = e->id,
			 .off = e->off,
			 .len = (uint32_t)e->len,
			 .digest = e->digest,
			 .registered = true,
			 .nparts = 1 };

	for (uint32_t i = 0; i < IW_XFER_WINDOWS; i++) {
		struct slot *sl = &s->slot[i];

		if (sl->state != S_GRANTED || sl->grant_due || sl->id != e->id || sl->off != e->off)
			continue;
		/* Only a stream may end in mid-window. */
		if (e->len > sl->len || e->len == 0 ||
		    (e->len < sl->len && f->meta.kind != IW_XFER_STREAM))
			return xf_breach(x, "DONE of %U octets at %U of file %u: the window has %u",
					 e->len, e->off, e->id, sl->len);
		f->asked -= sl->len - (uint32_t)e->len;
		if (f->state != OPEN || e->zero) {
			drop_window(s, i);
			if (f->state == OPEN)
				take_zeros(x, f, e->off, e->len);
			return 0;
		}
		sl->state = S_STORING;
		j.part[0] = (struct iw_xpart){ .recv = i, .len = j.len };
		push_job(s, f, &j);
		return 0;
	}
	return xf_breach(x, "DONE of octet %U of file %u: no such window is open", e->off, e->id);
}

static int on_done(struct iw_xfer *x, const struct iw_xentry *e)
{
	struct sink *s = x->snk;
	struct file *f = find(s, e->id);

	if (!f && is_past(s, e->id))
		return 0;
	if (!f || !f->went || f->ended)
		return xf_breach(x, "DONE for file %u, which is %s", e->id,
				 f && f->ended ? "at its end" : "not going");
	if (check_digest(x, e) != 0)
		return IW_E_FORMAT;
	if (mode(x) == IW_XFER_WRITE)
		return done_window(x, f, e);
	if (!e->zero)
		return mode(x) == IW_XFER_SEND ? done_pieces(x, f, e)
					       : xf_breach(x, "DONE of data in mode read");
	if (f->state != OPEN)
		return 0;
	if (take_range(x, f, e->off, e->len, "DONE") != 0)
		return IW_E_FORMAT;
	take_zeros(x, f, e->off, e->len);
	return 0;
}

static int on_end(struct iw_xfer *x, const struct iw_xentry *e)
{
	struct sink *s = x->snk;
	struct file *f = find(s, e->id);

	if (!f && is_past(s, e->id))
		return 0;
	if (!f || f->ended)
		return xf_breach(x, "end of file %u, which %s", e->id,
				 f ? "has ended" : "is not announced");
	for (uint32_t i = 0; i < s->njobs; i++)
		if (job_at(s, i)->open && job_at(s, i)->id == e->id)
			return xf_breach(x, "end of file %u amid the chunk at octet %U", e->id,
					 job_at(s, i)->off);
	f->ended = true;
	drop_ranges(s, f->id);
	drop_windows(s, f, true);
	if (f->state == SETTLED)
		return 0;
	if (e->has & IW_XBIT(IW_XF_CODE)) {
		settle_len(x, f, e->code == IW_XC_OK ? (uint32_t)IW_XC_PROTOCOL : e->code, e->text,
			   e->text_len, true);
		return 0;
	}
	if (!f->went || !(e->has & IW_XBIT(IW_XF_SIZE)))
		return xf_breach(x, "end of file %u %s", e->id,
				 f->went ? "without its size" : "before GO");
	f->end_size = e->size;
	f->end_digest = e->digest;
	return 0;
}

static int on_bye(struct iw_xfer *x, const struct iw_xmsg *m)
{
	struct sink *s = x->snk;
	struct iw_fault why;

	/* Those whose RESULT is out wait only to be forgotten. */
	for (uint32_t i = 0; i < TABLE; i++)
		if (s->file[i].state != FREE &&
		    (!s->file[i].told || (s->file[i].went && !s->file[i].ended)))
			return xf_breach(x, "BYE before file %u is done with", s->file[i].id);
	if (x->state != ST_RUN)
		return xf_breach(x, "BYE twice");
	if (iw_cbor_get_uint(&m->rec, IW_XKEY_FAILED, UINT64_MAX, &x->counts.peer_failed, &why) !=
	    0)
		return xf_breach(x, "%s", why.text);
	s->bye_due = true;
	xf_set_state(x, ST_BYE);
	return 0;
}

int sink_message(struct iw_xfer *x, const struct iw_xmsg *m, uint64_t now)
{
	int err;

	(void)now;
	switch (m->type) {
	case IW_XMSG_FILES:
		return xf_each(x, m, IW_XKEY_LIST, take_file);
	case IW_XMSG_WANT:
		return xf_each(x, m, IW_XKEY_LIST, on_want);
	case IW_XMSG_OFFER:
		return xf_each(x, m, IW_XKEY_LIST, on_offer);
	case IW_XMSG_DONE:
		err = xf_each(x, m, IW_XKEY_LIST, on_done);
		return err ? err : xf_each(x, m, IW_XKEY_ENDS, on_end);
	case IW_XMSG_BYE:
		return on_bye(x, m);
	default:
		return xf_breach(x, "message %s (%u) from a source", iw_xmsg_name(m->type),
				 m->type);
	}
}

/* --- the end --- */

bool sink_cleanup(struct iw_xfer *x, struct iw_xact *act)
{
	struct sink *s = x->snk;

	s->storing = false;
	for (uint32_t i = 0; i < TABLE; i++)
		if (s->file[i].state != FREE && s->file[i].state != SETTLED)
			settle(x, &s->file[i], IW_XC_CANCELED, NULL);
	if (next_abandon(x, act))
		return true;
	for (uint32_t i = 0; i < TABLE; i++) {
		struct file *f = &s->file[i];

		if (f->state == FREE || f->shown)
			continue;
		f->shown = true;
		xf_count_result(x, &f->outcome, f->meta.size, f->settled);
		xf_result_act(act, f->id, f->user, &f->meta, &f->outcome);
		return true;
	}
	return false;
}

bool sink_busy_here(const struct iw_xfer *x)
{
	const struct sink *s = x->snk;

	if (s->storing || s->registering < IW_XFER_WINDOWS)
		return true;
	for (uint32_t i = 0; i < TABLE && s->nopen > 0; i++)
		if (s->file[i].state == COMMITTING)
			return true;
	return false;
}

bool sink_idle(const struct iw_xfer *x)
{
	return x->snk->nfiles == 0 && (!x->cfg.initiator || x->snk->paths_told);
}
