// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The memory of a session: receives, slots for chunks, and the state for moving files. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "transfer/internal.h"
#include "util/text.h"

/* The pages of a new chunk cost more than those of a kept one, so the next client may find some. */
#define TRIM_AFTER IW_SEC(1)

/* --- receives --- */

/*
 * One mapping for all n receives: an idle connection uses only the pages that octets have arrived
 * in.
 */
int iw_session_add_recvs(struct session *s, uint32_t n, uint32_t size)
{
	size_t each = ((size_t)size + 63) / 64 * 64, len = each * n;
	struct recv *more = reallocarray(s->recv, s->nrecvs + n, sizeof(*more));
	struct slab *slab;
	void *p;

	if (!more)
		return IW_E_NOMEM;
	s->recv = more;
	/* Receives for data are large, and all of them may be filled. */
	if (size > IW_XFER_MSG_MAX && !s->initiator && !iw_session_may_take(s, len))
		return IW_E_LIMIT;
	slab = malloc(sizeof(*slab));
	p = slab ? mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
		 : MAP_FAILED;
	if (p == MAP_FAILED) {
		free(slab);
		return IW_E_NOMEM;
	}
	*slab = (struct slab){ .next = s->slabs, .len = len, .p = p };
	s->slabs = slab;
	for (uint32_t i = 0; i < n; i++) {
		struct recv *r = &s->recv[s->nrecvs];
		int err;

		*r = (struct recv){ .p = (uint8_t *)p + i * each, .size = size };
		if (size > IW_XFER_MSG_MAX)
			iw_session_used(s, r, size);
		err = iw_post_recv(s->qp, RECV_BIT | s->nrecvs, r->p, size, NULL);
		if (err)
			return err;
		s->nrecvs++;
	}
	return 0;
}

void iw_session_repost(struct session *s, const struct iw_xfer_act *a)
{
	for (size_t i = 0; i < a->npieces; i++) {
		struct recv *r = &s->recv[a->piece[i].recv];

		if (a->piece[i].in_recv &&
		    iw_post_recv(s->qp, RECV_BIT | a->piece[i].recv, r->p, r->size, NULL) != 0)
			s->stuck = true;
	}
}

/* --- slots --- */

struct work *iw_session_work(struct session *s)
{
	if (s->work)
		return s->work;
	s->work = calloc(1, sizeof(*s->work));
	if (!s->work)
		return NULL;
	if (iw_hasher_init(&s->work->hasher, s->mine.digest, &s->fault) != 0) {
		free(s->work);
		s->work = NULL;
	}
	return s->work;
}

bool iw_session_may_act(struct session *s)
{
	struct iw_fault why;

	if (iw_session_work(s))
		return true;
	why = s->fault;
	if (!why.err)
		iw_fail(&why, IW_E_NOMEM, "no memory for a transfer");
	iw_xfer_fail(s->x, &why);
	return false;
}

void iw_session_free_slots(struct session *s)
{
	struct work *w = s->work;

	for (uint32_t i = 0; i < IW_XFER_WINDOWS; i++) {
		/* Registrations must end before their memory is freed. */
		if (w->mr[i])
			iw_mr_revoke(w->mr[i]);
		w->mr[i] = NULL;
		if (!w->slot[i])
			continue;
		iw_pool_put(&s->hub->slots, w->slot[i]);
		w->slot[i] = NULL;
		w->nslots--;
		iw_session_credit(s, IW_XFER_CHUNK);
	}
}

void iw_session_free_memory(struct session *s)
{
	if (s->work) {
		iw_session_free_slots(s);
		iw_hasher_fini(&s->work->hasher);
		free(s->work);
		s->work = NULL;
	}
	while (s->slabs) {
		struct slab *next = s->slabs->next;

		munmap(s->slabs->p, s->slabs->len);
		free(s->slabs);
		s->slabs = next;
	}
	free(s->recv);
	s->recv = NULL;
}

/* A free slot keeps its buffer until another one needs it. */
static bool take_from_free_slot(struct session *s, uint32_t i)
{
	struct work *w = s->work;

	for (uint32_t k = 0; k < IW_XFER_WINDOWS && w->nslots > 0; k++) {
		if (!w->slot[k] || w->mr[k] || !iw_xfer_slot_is_free(s->x, k))
			continue;
		w->slot[i] = w->slot[k];
		w->slot[k] = NULL;
		return true;
	}
	return false;
}

void iw_session_lacks_chunk(struct session *s)
{
	struct iw_fault why;

	if (s->hub->slots.out > 0)
		return;
	iw_fail(&why, IW_E_NOMEM, "no memory for a chunk of %u octets: see ulimit -v",
		IW_XFER_CHUNK);
	iw_xfer_fail(s->x, &why);
}

bool iw_session_return_slots(struct session *s)
{
	struct work *w = s->work;
	bool any = false;

	for (uint32_t k = 0; w && k < IW_XFER_WINDOWS && w->nslots > 0; k++) {
		if (!w->slot[k] || w->mr[k] || !iw_xfer_slot_is_free(s->x, k))
			continue;
		iw_pool_put(&s->hub->slots, w->slot[k]);
		w->slot[k] = NULL;
		w->nslots--;
		iw_session_credit(s, IW_XFER_CHUNK);
		any = true;
	}
	return any;
}

/*
 * The serial of the transfer that used the chunk last, stored after it; 0: new from the system, so
 * zeroed.
 */
static uint64_t *owner_of(void *chunk)
{
	return (uint64_t *)((char *)chunk + IW_XFER_CHUNK);
}

void *iw_hub_chunk_get(struct hub *h, const struct group *g)
{
	void *p = iw_pool_get(&h->slots);

	if (!p)
		return NULL;
	if (*owner_of(p) != 0 && *owner_of(p) != g->serial)
		memset(p, 0, IW_XFER_CHUNK);
	else
		memset(p, 0, sizeof(void *)); /* overwritten by the pool */
	*owner_of(p) = g->serial;
	return p;
}

void iw_hub_trim(struct hub *h)
{
	if (h->nsessions > h->nwaiting || h->slots.out > 0 || h->slots.spare == 0) {
		h->trim_at = IW_TIME_NEVER;
	} else if (h->trim_at == IW_TIME_NEVER) {
		h->trim_at = iw_time_add(h->now, TRIM_AFTER);
	} else if (h->now >= h->trim_at) {
		iw_pool_trim(&h->slots, 0);
		h->trim_at = IW_TIME_NEVER;
	}
}

void *iw_session_chunk(struct session *s)
{
	struct hub *h = s->hub;
	void *p = iw_hub_chunk_get(h, s->group);
	bool any = false;

	/* Connections without work keep the buffers of their slots. */
	for (struct iw_list *l = h->sessions.next; !p && l != &h->sessions; l = l->next)
		any |= iw_session_return_slots(iw_container_of(l, struct session, all));
	if (any)
		p = iw_hub_chunk_get(h, s->group);
	if (!p)
		iw_session_lacks_chunk(s);
	return p;
}

bool iw_session_slot(struct session *s, uint32_t i)
{
	struct work *w = s->work;
	struct hub *h = s->hub;

	if (w->slot[i] || take_from_free_slot(s, i))
		return true;
	if (h->slots.out >= SLOTS_MOST && w->nslots > 0)
		return false;
	/* Keeps a sixteenth of the memory for connections themselves, which need little. */
	if (!iw_session_may_take(s, IW_XFER_CHUNK + h->budget.limit / 16))
		return false;
	w->slot[i] = iw_session_chunk(s);
	if (!w->slot[i])
		return false;
	w->nslots++;
	iw_session_charge(s, IW_XFER_CHUNK);
	return true;
}
