// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Temporaries: created or resumed, shared by the parts of a file, renamed when the file is
 * complete, kept or removed otherwise.
 */
#include "transfer/files/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "os/os.h"
#include "transfer/files/space.h"
#include "transfer/files/temp.h"
#include "util/num.h"

#define VERIFY_RUN   8 /* chunks that are read back in one call */
#define CREATE_TRIES 8
#define DROPS_MOST   256 /* partial files to be removed at the end; each keeps a descriptor open */

/* --- temporaries --- */

static void name_part(struct iw_part *t, uint64_t number)
{
	snprintf(t->name, sizeof(t->name), ".iw-%016llx.part", (unsigned long long)number);
	snprintf(t->journal_name, sizeof(t->journal_name), ".iw-%016llx.journal",
		 (unsigned long long)number);
}

/* Sets the names that all transfers of this user use for the temporary of this file. */
static void name_again(struct iw_part *t)
{
	name_part(t, XXH3_64bits_withSeed(t->leaf, strlen(t->leaf), geteuid()));
}

static void remove_part(struct iw_part *t)
{
	/* A failure cannot be reported any more. */
	(void)unlinkat(t->parent, t->name, 0);
	(void)unlinkat(t->parent, t->journal_name, 0);
}

/*
 * Opens the temporary that all transfers use for this name. False: another transfer is using it, or
 * another user has created a file of its name (transfer/files/temp.h); then the caller uses a
 * random name, and nothing is resumed. Users who share a directory get different names.
 */
static bool open_again(struct iw_part *t, struct iw_place *p, const struct iw_xfer_meta *m,
		       enum iw_xfer_digest_kind digest)
{
	struct stat st;

	name_again(t);
	t->fd = iw_temp_open(t->parent, t->name);
	/*
	 * Even if the other transfer closes it now, it is not opened here: the caller abandons this
	 * target, which would remove the octets to be resumed.
	 */
	if (t->fd < 0 && errno == EWOULDBLOCK && p->on_locked)
		p->on_locked(p->on_locked_ctx, t->name);
	if (t->fd < 0)
		return false;
	if (fstat(t->fd, &st) < 0)
		goto none;
	(void)iw_journal_open(&t->journal, t->parent, t->journal_name, t->fd, m, digest,
			      &t->chunks);
	iw_account_resume(&p->account, &st);
	if (t->journal.fd >= 0 && fstat(t->journal.fd, &st) == 0)
		iw_account_resume(&p->account, &st);
	if (fstat(t->fd, &st) < 0)
		goto none;
	t->high = (uint64_t)st.st_size;
	if (t->chunks.n > 0 && t->high <= m->size)
		return true;
	/* The temporary belongs to another file, or has no journal. */
	iw_chunk_list_free(&t->chunks);
	t->high = 0;
	if (ftruncate(t->fd, 0) == 0)
		return true;
none:
	/* The journal is that of this file: it must not get the chunks of another one. */
	iw_journal_close(&t->journal);
	iw_chunk_list_free(&t->chunks);
	t->high = 0;
	close(t->fd);
	t->fd = -1;
	return false;
}

/* Streams, packs and files of less than a chunk are sent again as a whole. */
static bool is_resumable(const struct iw_xfer_meta *m)
{
	return m->kind == IW_XFER_FILE && m->size > IW_XFER_CHUNK;
}

/* Removes an old temporary, and returns its charge. */
static void remove_left(struct iw_place *p, struct iw_part *old)
{
	struct stat st;

	if (fstat(old->fd, &st) == 0)
		iw_account_resume(&p->account, &st);
	if (fstatat(old->parent, old->journal_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		iw_account_resume(&p->account, &st);
	remove_part(old);
}

/*
 * Removes the temporary that an earlier transfer left: of m, which is complete under its name; or,
 * if m is NULL, of any version.
 */
static void remove_old(struct iw_place *p, int parent, const char *leaf,
		       const struct iw_xfer_meta *m)
{
	struct iw_part old = { .parent = parent };

	snprintf(old.leaf, sizeof(old.leaf), "%s", leaf);
	name_again(&old);
	old.fd = iw_temp_open_old(parent, old.name);
	if (old.fd < 0)
		return; /* it does not exist, or a transfer is using it */
	if (!m || !iw_journal_is_other(parent, old.journal_name, m))
		remove_left(p, &old);
	close(old.fd);
}

/*
 * Opens a temporary that no other transfer will resume. unnamed: without a name, if the file system
 * supports that, because a file that cannot be resumed should not survive this process.
 */
static int open_part(struct iw_part *t, bool unnamed, struct iw_file_fault *why)
{
	t->name[0] = '\0';
	if (unnamed)
		t->fd = iw_temp_open_unnamed(t->parent, 0600);
	if (t->fd >= 0)
		return 0;
	for (int i = 0; i < CREATE_TRIES; i++) {
		uint64_t number;

		if (iw_os_random(&number, sizeof(number)) != 0)
			return iw_file_fail(why, IW_XFER_CODE_IO,
					    "no random number for the temporary file");
		name_part(t, number);
		t->fd = openat(t->parent, t->name,
			       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (t->fd >= 0 && flock(t->fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (t->fd >= 0 || errno != EEXIST)
			break;
	}
	/* The directory is the last one that iw_place_parent returned. */
	return iw_place_no_temp(t->place, errno, t->place->parent_name,
				strlen(t->place->parent_name), why);
}

static void leave_one(struct iw_account *a, int fd, bool is_file)
{
	struct stat st;

	if (fstat(fd, &st) == 0)
		iw_account_leave(a, &st, is_file);
}

/*
 * Returns the charge of a file that is not stored. If its temporary stays on storage, charges that.
 */
static void settle_charge(struct iw_part *t, bool keep)
{
	if (!t->account || t->named)
		return;
	iw_account_return(t->account, t->charged, t->files);
	if (!keep)
		return;
	leave_one(t->account, t->fd, true);
	leave_one(t->account, t->journal.fd, false);
}

/* True if the announced file exists and is complete. */
static bool is_there(const struct iw_part *t)
{
	struct stat st;

	return fstatat(t->parent, t->leaf, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	       (uint64_t)st.st_size == t->meta_size && st.st_mtim.tv_sec == t->mtime_s &&
	       (uint32_t)st.st_mtim.tv_nsec == t->mtime_ns;
}

/* A partial file, removed at the end of the transfer unless another connection completes it. */
struct drop {
	struct iw_list link;
	int parent;
	char leaf[];
};

/* Notes the temporary for removal at the end of the transfer. False: remove it now. */
static bool drop_later(struct iw_place *p, const struct iw_part *t)
{
	size_t len = strlen(t->leaf) + 1;
	struct drop *d = p->ndrops < DROPS_MOST ? malloc(sizeof(*d) + len) : NULL;

	if (!d)
		return false;
	memcpy(d->leaf, t->leaf, len);
	d->parent = fcntl(t->parent, F_DUPFD_CLOEXEC, 3);
	if (d->parent < 0) {
		free(d);
		return false;
	}
	iw_list_add_tail(&p->drops, &d->link);
	p->ndrops++;
	return true;
}

static void drop_now(struct iw_place *p)
{
	struct iw_list *l;

	while ((l = iw_list_first(&p->drops)) != NULL) {
		struct drop *d = iw_container_of(l, struct drop, link);

		iw_list_del(l);
		remove_old(p, d->parent, d->leaf, NULL);
		close(d->parent);
		free(d);
	}
	p->ndrops = 0;
}

/* True if the temporary is kept for a resume. */
static bool stays(struct iw_part *t)
{
	if (t->useless || t->unstored || t->journal.fd < 0 || t->chunks.n == 0 ||
	    (!t->was_there && is_there(t)))
		return false;
	return !t->place->drop_partial || (t->lost && !t->named && drop_later(t->place, t));
}

/* Keeps the temporary for a resume or removes it, settles its charge, and frees t. */
static void end_part(struct iw_part *t)
{
	bool keep = stays(t);

	iw_list_del(&t->link);
	if (t->resting)
		iw_account_wake(t->account);
	settle_charge(t, keep);
	if (!t->named && !keep && t->name[0])
		remove_part(t);
	iw_journal_close(&t->journal);
	if (t->fd >= 0)
		close(t->fd);
	if (t->parent >= 0)
		close(t->parent);
	iw_chunk_list_free(&t->chunks);
	pthread_mutex_destroy(&t->lock);
	free(t->announced);
	free(t->done);
	free(t);
}

static void part_put(struct iw_part *t)
{
	if (--t->refs > 0)
		return;
	/* Only this process knows which parts are complete; the others will arrive. */
	if (t->ndone > 0 && !t->named && !t->useless) {
		t->resting = true;
		iw_account_rest(t->account);
		return;
	}
	end_part(t);
}

void iw_target_forget(struct iw_place *p)
{
	struct iw_list *l;

	while ((l = iw_list_first(&p->parts)) != NULL) {
		struct iw_part *t = iw_container_of(l, struct iw_part, link);

		t->lost = false;
		end_part(t);
	}
	drop_now(p);
}

static bool is_unfinished(const struct iw_part *t)
{
	return t->ndone > 0 && !t->named && !t->useless && !t->reported;
}

size_t iw_target_count_unfinished(const struct iw_place *p)
{
	size_t n = 0;

	for (struct iw_list *l = p->parts.next; l != &p->parts; l = l->next)
		n += is_unfinished(iw_container_of(l, struct iw_part, link));
	return n;
}

static bool has_begin(const struct iw_part *t)
{
	for (size_t i = 0; i < t->ndone; i++)
		if (t->done[i].off == 0)
			return true;
	return false;
}

bool iw_target_unfinished(struct iw_place *p, struct iw_missing_list *missing, uint64_t *begun)
{
	bool lost = false;

	for (struct iw_list *l = p->parts.next; l != &p->parts; l = l->next) {
		struct iw_part *t = iw_container_of(l, struct iw_part, link);
		const struct iw_xfer_meta m = { .kind = IW_XFER_FILE,
						.name = t->announced,
						.name_len = t->announced_len,
						.size = t->size };

		if (!is_unfinished(t))
			continue;
		t->reported = true;
		*begun += has_begin(t);
		(void)iw_missing_add(missing, &m, "parts of it were not sent", &lost);
	}
	return !lost;
}

bool iw_target_holds(struct iw_place *p, const char *temp)
{
	for (struct iw_list *l = p->parts.next; l != &p->parts; l = l->next)
		if (strcmp(iw_container_of(l, struct iw_part, link)->name, temp) == 0)
			return true;
	return false;
}

static struct iw_part *find_part(struct iw_place *p, uint32_t share)
{
	for (struct iw_list *l = p->parts.next; share && l != &p->parts; l = l->next) {
		struct iw_part *t = iw_container_of(l, struct iw_part, link);

		if (t->share == share && !t->useless && !t->named)
			return t;
	}
	return NULL;
}

/* The first announcement was admitted only for its own name and size. */
static int check_part(const struct iw_part *t, const struct iw_xfer_meta *m,
		      struct iw_file_fault *why)
{
	if (t->size == m->size && t->announced_len == m->name_len &&
	    memcmp(t->announced, m->name, m->name_len) == 0)
		return 0;
	return iw_file_fail(why, IW_XFER_CODE_PROTOCOL,
			    "a part of a file that differs from the others in name or size");
}

static bool find_done(const struct iw_part *t, const struct iw_xfer_meta *m)
{
	for (size_t i = 0; i < t->ndone; i++)
		if (t->done[i].off == m->part_off && t->done[i].len == m->part_len)
			return true;
	return false;
}

/* Overlapping parts would be counted twice, and hide missing octets. */
static int check_overlap(const struct iw_part *t, const struct iw_xfer_meta *m,
			 struct iw_file_fault *why)
{
	for (size_t i = 0; i < t->ndone; i++)
		if (t->done[i].off < m->part_off + m->part_len &&
		    m->part_off < t->done[i].off + t->done[i].len)
			return iw_file_fail(why, IW_XFER_CODE_PROTOCOL,
					    "a part of a file that overlaps another part");
	return 0;
}

static int keep_announced(struct iw_part *t, const struct iw_xfer_meta *m,
			  struct iw_file_fault *why)
{
	t->size = m->size;
	t->announced = malloc(m->name_len + 1);
	if (!t->announced)
		return iw_file_fail(why, IW_XFER_CODE_LIMIT, "no memory for a file");
	memcpy(t->announced, m->name, m->name_len);
	t->announced_len = m->name_len;
	return 0;
}

/* True if a part of that file has failed: further parts may still arrive. */
static bool has_failed(const struct iw_place *p, uint32_t share)
{
	for (size_t i = 0; share && i < IW_ARRAY_LEN(p->failed); i++)
		if (p->failed[i] == share)
			return true;
	return false;
}

static void note_failed(struct iw_place *p, uint32_t share)
{
	if (share && !has_failed(p, share))
		p->failed[p->nfailed++ % IW_ARRAY_LEN(p->failed)] = share;
}

/*
 * Chunks of an earlier transfer need no further space. A file that is replaced occupies its space
 * until then.
 */
static int check_space(const struct iw_part *t, const struct iw_xfer_meta *m,
		       struct iw_file_fault *why)
{
	struct stat st;
	uint64_t held = fstat(t->fd, &st) == 0 ? (uint64_t)st.st_blocks * 512 : m->data;

	return iw_space_check(t->fd, m->data - IW_MIN(m->data, held), why);
}

static struct iw_part *new_part(struct iw_place *p, const char *name, const struct iw_xfer_meta *m,
				enum iw_xfer_digest_kind digest, struct iw_file_fault *why)
{
	struct iw_part *t;
	const char *leaf;
	int parent = iw_place_parent(p, name, &leaf, why);
	bool there, again = is_resumable(m);

	if (parent < 0)
		return NULL;
	if (m->share && iw_account_may_rest(&p->account, why) != 0)
		return NULL;
	if (iw_place_check_old(p, parent, leaf, m, &there, why) != 0) {
		if (again && why->code == IW_XFER_CODE_SAME && !(p->opts & IW_XFER_OPT_DRY_RUN))
			remove_old(p, parent, leaf, m);
		return NULL;
	}
	t = calloc(1, sizeof(*t));
	if (!t) {
		iw_file_fail(why, IW_XFER_CODE_LIMIT, "no memory for a file");
		return NULL;
	}
	iw_list_init(&t->link);
	pthread_mutex_init(&t->lock, NULL);
	t->refs = 1;
	t->place = p;
	t->share = m->share;
	t->meta_size = m->size;
	t->mtime_s = m->mtime_s;
	t->mtime_ns = m->mtime_ns;
	t->fd = t->journal.fd = -1;
	snprintf(t->leaf, sizeof(t->leaf), "%s", leaf);
	t->parent = fcntl(parent, F_DUPFD_CLOEXEC, 3);
	if (t->parent < 0)
		iw_file_errno(why, errno, "hold its directory open");
	if (t->parent < 0 || (m->share && keep_announced(t, m, why) != 0) ||
	    (!(again && open_again(t, p, m, digest)) &&
	     open_part(t, m->kind == IW_XFER_FILE && !again, why) != 0)) {
		t->name[0] = '\0';
		part_put(t);
		return NULL;
	}
	t->was_there = is_there(t);
	t->account = &p->account;
	t->reported = has_failed(p, m->share);
	/* A resumed temporary was charged before: a nearly complete file needs little quota. */
	if (iw_place_charge(p, m, why) != 0) {
		part_put(t);
		return NULL;
	}
	t->charged = iw_place_cost(p, m);
	t->files = 1;
	if (check_space(t, m, why) != 0) {
		part_put(t);
		return NULL;
	}
	if (m->share)
		iw_list_add_tail(&p->parts, &t->link);
	return t;
}

/*
 * Returns how many rows of l, from i on, belong to one chunk. *d: its digest; of length 0 if they
 * differ, because the chunk was replaced.
 */
static size_t rows_of_one(const struct iw_chunk_list *l, size_t i, uint64_t *off,
			  struct iw_xfer_digest *d)
{
	struct iw_xfer_digest other;
	uint64_t at;
	size_t n = 1;

	iw_chunk_list_row(l, i, off, d);
	for (; i + n < l->n; n++) {
		iw_chunk_list_row(l, i + n, &at, &other);
		if (at != *off)
			break;
		if (!iw_xfer_digest_equal(&other, d))
			d->len = 0;
	}
	return n;
}

/*
 * Takes the chunks of the temporary that belong to t. All other octets are zeroed, because they
 * have no digest.
 */
static int take_rows(struct iw_target *t, uint64_t begin, uint64_t end, uint64_t size,
		     struct iw_file_fault *why)
{
	struct iw_chunk_list *l = &t->part->chunks;
	struct iw_xfer_digest d;
	uint64_t off, to = begin;

	iw_chunk_list_sort(l);
	for (size_t i = 0; i < l->n;) {
		i += rows_of_one(l, i, &off, &d);
		if (off < begin || off >= end || d.len == 0)
			continue;
		if (iw_chunk_list_add(&t->chunks, off, &d) != 0)
			return iw_file_fail(why, IW_XFER_CODE_LIMIT, "no memory for its digests");
		if (iw_target_clear(t->part->fd, to, IW_MIN(off, size), why) != 0)
			return -1;
		to = off + IW_XFER_CHUNK;
	}
	return iw_target_clear(t->part->fd, to, IW_MIN(end, size), why);
}

static int take_chunks(struct iw_target *t, struct iw_file_fault *why)
{
	const struct iw_xfer_meta *m = t->meta;
	uint64_t begin = m->share ? m->part_off : 0,
		 end = begin + (m->share ? m->part_len : m->size);
	struct stat st;
	int r;

	if (m->kind != IW_XFER_FILE)
		return 0;
	if (fstat(t->part->fd, &st) < 0)
		return iw_file_errno(why, errno, "get the attributes of its temporary file");
	pthread_mutex_lock(&t->part->lock);
	r = take_rows(t, begin, end, (uint64_t)st.st_size, why);
	pthread_mutex_unlock(&t->part->lock);
	t->had = t->chunks.n;
	return r;
}

static void target_close(struct iw_target *t)
{
	if (t->part)
		part_put(t->part);
	t->part = NULL;
	iw_chunk_list_free(&t->chunks);
}

/* Octets written to standard output stay charged even if the file fails. */
static int create_stdout(struct iw_place *p, const struct iw_xfer_meta *m,
			 struct iw_file_fault *why)
{
	if (p->used_up)
		return iw_file_fail(
			why, IW_XFER_CODE_TARGET,
			p->listens
				? iw_file_no_dir_there
				: "standard output accepts only one file; give a directory as TARGET");
	/* A file below a directory must not be mistaken for the requested one. */
	if (!m->top || !iw_xfer_has_data(m->kind) || m->kind == IW_XFER_PACK)
		return iw_file_fail(why, IW_XFER_CODE_TARGET,
				    p->listens ? iw_file_no_dir_there : iw_file_no_dir);
	if (m->share)
		return iw_file_fail(
			why, IW_XFER_CODE_TARGET,
			"standard output does not accept the parts of a file; use --jobs 1, or give a directory as TARGET");
	if ((m->kind == IW_XFER_FILE && iw_place_size(p, m->size, why) != 0) ||
	    iw_account_take(&p->account, iw_place_cost(p, m), 1, why) != 0)
		return -1;
	p->used_up = true;
	return 0;
}

/* Creates a directory or link. */
static enum iw_created make(struct iw_place *p, const char *name, const struct iw_xfer_meta *m,
			    struct iw_file_fault *why)
{
	/* The target itself existed, or was charged when it was created. */
	bool charged = name[0] != '\0';

	if (charged && iw_place_charge(p, m, why) != 0)
		return IW_CREATE_FAILED;
	if (iw_place_make(p, name, m, why) == 0)
		return IW_MADE;
	if (charged)
		iw_place_uncharge(p, m, why->code);
	return IW_CREATE_FAILED;
}

enum iw_created iw_target_create(struct iw_target *t, struct iw_place *p,
				 const struct iw_xfer_meta *m, enum iw_xfer_digest_kind digest,
				 struct iw_file_fault *why)
{
	char name[PATH_MAX];

	*t = (struct iw_target){ .place = p, .meta = m, .to_stdout = p->to_stdout };
	if (iw_place_accept(p, m, why) != 0)
		return IW_CREATE_FAILED;
	if (t->to_stdout)
		return create_stdout(p, m, why) == 0 ? IW_CREATED : IW_CREATE_FAILED;
	if (m->kind == IW_XFER_STREAM && !p->as) {
		iw_file_fail(
			why, IW_XFER_CODE_TARGET,
			"the target is a directory: a stream needs the name of a file, such as HOST:NAME");
		return IW_CREATE_FAILED;
	}
	t->part = find_part(p, m->share);
	if (t->part) {
		if (check_part(t->part, m, why) != 0) {
			t->part = NULL;
			return IW_CREATE_FAILED;
		}
		if (t->part->resting)
			iw_account_wake(t->part->account);
		t->part->resting = false;
		t->part->refs++;
		/* The part is complete: its first RESULT was lost with the connection. */
		if (find_done(t->part, m)) {
			target_close(t);
			iw_file_fail(why, IW_XFER_CODE_SAME, "");
			return IW_CREATE_FAILED;
		}
		if (check_overlap(t->part, m, why) != 0) {
			target_close(t);
			return IW_CREATE_FAILED;
		}
	} else {
		if (iw_place_admit(p, m, name, sizeof(name), why) != 0)
			return IW_CREATE_FAILED;
		if (!iw_xfer_has_data(m->kind))
			return make(p, name, m, why);
		t->part = new_part(p, name, m, digest, why);
		if (!t->part) {
			iw_place_would(p, m, why);
			return IW_CREATE_FAILED;
		}
	}
	if (take_chunks(t, why) != 0) {
		target_close(t);
		return IW_CREATE_FAILED;
	}
	return IW_CREATED;
}

/* --- the end --- */

/* umask(2) reads the mask only by changing it, for all threads. */
static mode_t mask;

static void read_mask(void)
{
	mask = umask(0);
	umask(mask);
}

void iw_target_prepare(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, read_mask);
}

uint32_t iw_target_umask(void)
{
	iw_target_prepare();
	return mask;
}

/*
 * In a directory without the sticky bit, other users can replace the temporary by their own file.
 */
static int take_name(struct iw_part *part, struct iw_file_fault *why)
{
	int err;

	if (part->name[0] && !iw_temp_is_named(part->fd, part->parent, part->name))
		return iw_file_fail(
			why, IW_XFER_CODE_IO,
			"its temporary file was removed or replaced during the transfer");
	err = part->name[0] ? renameat(part->parent, part->name, part->parent, part->leaf)
			    : iw_temp_name(part->fd, part->parent, part->leaf);
	if (err < 0)
		return iw_file_errno(why, errno, "give it its name");
	part->named = true;
	if (!iw_temp_is_named(part->fd, part->parent, part->leaf))
		return iw_file_fail(why, IW_XFER_CODE_IO,
				    "another user replaced it when it was renamed");
	return 0;
}

static int give_name(struct iw_target *t, struct iw_file_fault *why)
{
	struct iw_part *part = t->part;
	struct iw_xfer_meta m = *t->meta;

	/* The error was reported to another part of the file. */
	if (part->unstored)
		return iw_target_unstored(part, EIO, why);
	/* A stream has no mode: it gets that of a new file. */
	if (m.kind == IW_XFER_STREAM)
		m.mode = 0666 & ~t->place->umask;
	if (iw_place_set_attrs(t->place, part->fd, &m, why) != 0)
		return -1;
	if (fsync(part->fd) < 0)
		return iw_target_unstored(part, errno, why);
	if (take_name(part, why) != 0)
		return -1;
	if (part->journal.fd >= 0)
		(void)unlinkat(part->parent, part->journal_name, 0);
	else if (is_resumable(&m))
		/* Another transfer had the usual temporary, and may have left it since. */
		remove_old(t->place, part->parent, part->leaf, &m);
	/*
	 * The file has its name now. A failure from here on means that it may not survive a power
	 * failure.
	 */
	if (fsync(part->parent) < 0 && errno != EINVAL && errno != EROFS)
		return iw_file_errno(why, errno, "write its directory to storage");
	return 0;
}

/* Reads a chunk back and compares its digest. */
static int verify_chunk(struct iw_target *t, struct iw_hasher *h, uint64_t off, uint8_t *buf,
			const struct iw_xfer_digest *want, uint64_t size, struct iw_file_fault *why)
{
	size_t len = (size_t)IW_MIN((uint64_t)IW_XFER_CHUNK, size - off), have = 0;
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	struct iw_xfer_digest own;

	while (have < len) {
		ssize_t n = pread(t->part->fd, buf + have, len - have, (off_t)(off + have));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return iw_file_errno(why, errno, "read it again");
		if (n == 0)
			break;
		have += (size_t)n;
	}
	/* The zeros at the end of a file are a hole, and it gets its length only after this. */
	memset(buf + have, 0, len - have);
	if (iw_hasher_chunk(h, &iov, 1, &own) != 0)
		return iw_file_fail(why, IW_XFER_CODE_IO, "its digest could not be computed");
	if (!iw_xfer_digest_equal(&own, want))
		return iw_file_fail(why, IW_XFER_CODE_DIGEST,
				    "the data read back from storage differ from the data written");
	return 0;
}

/*
 * Verifies some chunks. 1: more are left. The first call drops the file from the page cache, so
 * that its chunks are read from storage.
 */
static int verify(struct iw_target *t, struct iw_hasher *h, uint64_t size,
		  struct iw_file_fault *why)
{
	uint8_t *buf = malloc(IW_XFER_CHUNK);
	struct iw_xfer_digest d;
	uint64_t off;
	int r = 0;

	if (!buf)
		return iw_file_fail(why, IW_XFER_CODE_LIMIT, "no memory to verify it");
	if (t->verify_at == 0) {
		if (fsync(t->part->fd) < 0)
			r = iw_target_unstored(t->part, errno, why);
		(void)posix_fadvise(t->part->fd, 0, 0, POSIX_FADV_DONTNEED);
	}
	for (int i = 0; i < VERIFY_RUN && r == 0 && t->verify_at < t->chunks.n; i++) {
		iw_chunk_list_row(&t->chunks, t->verify_at++, &off, &d);
		r = verify_chunk(t, h, off, buf, &d, size, why);
	}
	free(buf);
	return r == 0 && t->verify_at < t->chunks.n ? 1 : r;
}

/* Notes that the part of t is complete. *all: all parts of the file are. */
static int part_done(struct iw_target *t, uint64_t size, bool *all, struct iw_file_fault *why)
{
	struct iw_part *part = t->part;
	struct iw_range *done;

	*all = !t->meta->share;
	/* it arrived twice, because its connection was lost */
	if (*all || find_done(part, t->meta))
		return 0;
	if (check_overlap(part, t->meta, why) != 0)
		return -1;
	*all = part->done_octets + t->meta->part_len == size;
	if (*all)
		return 0;
	done = reallocarray(part->done, part->ndone + 1, sizeof(*done));
	if (!done)
		return iw_file_fail(why, IW_XFER_CODE_LIMIT, "no memory for a part");
	part->done = done;
	part->done[part->ndone++] =
		(struct iw_range){ .off = t->meta->part_off, .len = t->meta->part_len };
	part->done_octets += t->meta->part_len;
	return 0;
}

int iw_target_commit(struct iw_target *t, struct iw_hasher *h, uint64_t size,
		     const struct iw_xfer_digest *digest, struct iw_file_fault *why)
{
	struct iw_xfer_digest own;
	bool all;
	int r;

	if (t->verify_at == 0) {
		if (iw_chunk_list_digest(&t->chunks, h, size, &own) != 0)
			return iw_file_fail(why, IW_XFER_CODE_IO,
					    "its digest could not be computed");
		if (!iw_xfer_digest_equal(&own, digest))
			return iw_file_fail(why, IW_XFER_CODE_DIGEST,
					    "its digest differs from the source's");
	}
	if (iw_target_reach(t, size, why) != 0)
		return -1;
	if (t->to_stdout) {
		r = iw_target_fill(t, size, why);
		if (r == 0)
			target_close(t);
		return r;
	}
	if (t->place->opts & IW_XFER_OPT_VERIFY) {
		r = verify(t, h, size, why);
		if (r != 0)
			return r;
	}
	if (part_done(t, size, &all, why) != 0)
		return -1;
	if (all) {
		if (t->part->high != size && ftruncate(t->part->fd, (off_t)size) < 0)
			return iw_file_errno(why, errno, "set its length");
		if (give_name(t, why) != 0)
			return -1;
	}
	target_close(t);
	return 0;
}

/* False: a resume would fail in the same way, or use octets that cannot be trusted. */
static bool resume_helps(uint32_t code)
{
	return code == IW_XFER_CODE_CANCELED || code == IW_XFER_CODE_SPACE ||
	       code == IW_XFER_CODE_IO || code == IW_XFER_CODE_TIMEOUT || code == IW_XFER_CODE_PERM;
}

bool iw_target_is_kept(const struct iw_target *t)
{
	return t->part && t->part->journal.fd >= 0 && !t->part->unstored && !t->place->drop_partial;
}

void iw_target_abandon(struct iw_target *t, uint32_t code)
{
	if (t->part && !resume_helps(code))
		t->part->useless = true;
	if (t->part)
		t->part->lost = code == IW_XFER_CODE_CANCELED;
	/* The connection of a canceled file was lost, so the file may be announced again. */
	if (t->part && code != IW_XFER_CODE_CANCELED) {
		t->part->reported = true;
		note_failed(t->place, t->part->share);
	}
	target_close(t);
}
