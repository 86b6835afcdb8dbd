// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The manager: protection domains, the buffers in them, and the peers admitted to them. */
#include "stag-reg/rm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "cli/param.h"
#include "cli/human.h"
#include "cli/log.h"
#include "os/os.h"
#include "stag-reg/internal.h"
#include "util/text.h"
#include "cbor/cbor.h"

/* Time for a peer without a buffer to get its next operation refused, with the reason. */
#define LEAVE IW_SEC(5)
#define BEAT  IW_SEC(1)

_Static_assert((int)IW_CLAIM_READ == IW_ACCESS_REMOTE_READ &&
		       (int)IW_CLAIM_WRITE == IW_ACCESS_REMOTE_WRITE,
	       "rights");

/* --- looking things up --- */

/* All bits of an STag are random, so its low bits serve as a hash. */
static struct iw_list *stag_bucket(struct iw_rm *rm, uint32_t stag)
{
	return &rm->buffers_by_stag[stag % BUCKETS];
}

static struct iw_list *qp_bucket(struct iw_rm *rm, const struct iw_qp *qp)
{
	return &rm->peers_by_qp[(uintptr_t)qp / 64 % BUCKETS];
}

struct buffer *iw_rm_find(struct iw_rm *rm, uint32_t stag)
{
	const struct iw_list *bucket = stag_bucket(rm, stag);

	for (struct iw_list *l = bucket->next; l != bucket; l = l->next) {
		struct buffer *b = iw_container_of(l, struct buffer, by_stag);

		if (b->stag == stag)
			return b;
	}
	return NULL;
}

static struct peer *find_peer(struct iw_rm *rm, const struct iw_qp *qp)
{
	const struct iw_list *bucket = qp_bucket(rm, qp);

	for (struct iw_list *l = bucket->next; l != bucket; l = l->next) {
		struct peer *p = iw_container_of(l, struct peer, by_qp);

		if (p->qp == qp)
			return p;
	}
	return NULL;
}

/* Finds a connected peer by the number under which it is listed. */
static struct peer *find_stream(struct iw_rm *rm, uint32_t stream)
{
	for (size_t i = 0; i < BUCKETS; i++) {
		const struct iw_list *bucket = &rm->peers_by_qp[i];

		for (struct iw_list *l = bucket->next; l != bucket; l = l->next) {
			struct peer *p = iw_container_of(l, struct peer, by_qp);

			if (p->stream == stream)
				return p;
		}
	}
	return NULL;
}

/* --- protection domains --- */

static struct domain *find_domain(struct iw_rm *rm, const char *name)
{
	for (struct iw_list *l = rm->domains.next; l != &rm->domains; l = l->next) {
		struct domain *d = iw_container_of(l, struct domain, all);

		if (strcmp(d->name, name) == 0)
			return d;
	}
	return NULL;
}

static struct domain *new_domain(struct iw_rm *rm, const char *name, struct iw_fault *why)
{
	struct domain *d = calloc(1, sizeof(*d));

	if (!d || iw_pd_new(&d->pd, rm->ctx) != 0) {
		free(d);
		iw_fail(why, IW_E_NOMEM, "no memory for a protection domain");
		return NULL;
	}
	snprintf(d->name, sizeof(d->name), "%s", name);
	d->leave.at = IW_TIME_NEVER;
	iw_list_init(&d->buffers);
	iw_list_init(&d->peers);
	iw_list_add_tail(&rm->domains, &d->all);
	return d;
}

static void forget_peer(struct iw_rm *rm, struct peer *p)
{
	iw_rm_control_forget_peer(rm, p);
	iw_list_del(&p->in_domain);
	free(p);
}

/*
 * Frees a domain without buffers and connected peers. If only peers are left, starts the timer that
 * disconnects them.
 */
static void settle_domain(struct iw_rm *rm, struct domain *d)
{
	struct iw_list *l;

	if (!iw_list_empty(&d->buffers)) {
		iw_heap_del(&rm->leaves, &d->leave);
		return;
	}
	if (d->live > 0) {
		if (iw_heap_set(&rm->leaves, &d->leave, iw_time_add(rm->now, LEAVE)) != 0)
			iw_log_warn("no memory for a timer: peers without a buffer stay connected");
		return;
	}
	while ((l = iw_list_first(&d->peers)) != NULL)
		forget_peer(rm, iw_container_of(l, struct peer, in_domain));
	iw_rm_control_forget_domain(rm, d);
	iw_heap_del(&rm->leaves, &d->leave);
	iw_list_del(&d->all);
	(void)iw_pd_free(d->pd);
	free(d);
}

/* --- buffers --- */

/* The domain for a buffer: that of its connection (*peer), the named one, or a new one. */
static struct domain *domain_for(struct iw_rm *rm, const struct iw_rm_request *r,
				 struct peer **peer, struct iw_fault *why)
{
	struct domain *d = *r->domain ? find_domain(rm, r->domain) : NULL;

	*peer = r->stream ? find_stream(rm, r->stream) : NULL;
	if (r->stream && !*peer) {
		iw_fail(why, IW_E_NOENT,
			"stream %u: no such connection; stag-reg show lists those of a buffer",
			r->stream);
		return NULL;
	}
	if (*peer)
		return (*peer)->domain;
	return d ? d : new_domain(rm, r->domain, why);
}

static int report_memory(const struct iw_rm *rm, uint64_t len, struct iw_fault *why)
{
	char asked[IW_HUMAN_TEXT], most[IW_HUMAN_TEXT], used[IW_HUMAN_TEXT];

	return iw_xfer_fault(why, IW_E_LIMIT,
			     "--size %s exceeds the receiver's --max-memory (%s, %s in use)",
			     iw_human_size(asked, len), iw_human_size(most, rm->memory_max),
			     iw_human_size(used, rm->memory));
}

static int map_buffer(const struct iw_rm *rm, struct buffer *b, const struct iw_rm_request *r,
		      int file, struct iw_fault *why)
{
	if (!r->memory && file >= 0)
		return iw_map_file(&b->map, file, r->off, r->len, r->access & IW_CLAIM_WRITE, why);
	if (file >= 0)
		close(file);
	if (!r->memory)
		return iw_fail(why, IW_E_INVAL, "the request has no file descriptor");
	if (r->off != 0)
		return iw_fail(why, IW_E_INVAL, "new memory has no offset: --range is for files");
	if (rm->memory_max && r->len > rm->memory_max - rm->memory)
		return report_memory(rm, r->len, why);
	return iw_map_memory(&b->map, r->len, why);
}

static int report_alias(struct iw_fault *why, const struct buffer *b, const struct buffer *other)
{
	char text[9];

	snprintf(text, sizeof(text), "%08x", other->stag);
	return iw_xfer_fault(
		why, IW_E_BUSY,
		"STag %s, in another protection domain, lets peers %s these octets, and this buffer would let peers %s them: revoke that one, or use one --pd for both",
		text, other->access & IW_CLAIM_WRITE ? "write" : "read",
		b->access & IW_CLAIM_WRITE ? "write" : "read");
}

static struct iw_list *file_bucket(struct iw_rm *rm, const struct iw_map *m)
{
	return &rm->buffers_by_file[(m->dev ^ m->ino) % BUCKETS];
}

/*
 * RFC 5042 6.3.6: peers of two domains need not trust each other. Where one of them writes to an
 * octet, the other must neither write there (it would overwrite) nor read there (it would see what
 * the first one wrote). Only files can be mapped twice: new memory belongs to one buffer.
 */
static int check_alias(struct iw_rm *rm, const struct buffer *b, struct iw_fault *why)
{
	struct iw_list *bucket = file_bucket(rm, &b->map);

	if (b->map.fd < 0)
		return 0;
	for (struct iw_list *l = bucket->next; l != bucket; l = l->next) {
		const struct buffer *other = iw_container_of(l, struct buffer, by_file);

		if (other->domain != b->domain && (other->access | b->access) & IW_CLAIM_WRITE &&
		    iw_map_overlaps(&b->map, &other->map))
			return report_alias(why, b, other);
	}
	return 0;
}

static int register_buffer(struct iw_rm *rm, struct buffer *b, const struct iw_rm_request *r,
			   struct iw_fault *why)
{
	struct iw_mr_attr attr = { .addr = b->map.addr,
				   .len = b->map.len,
				   .to = b->to,
				   .access = b->access,
				   .qp = b->peer ? b->peer->qp : NULL,
				   .lifetime_ns = IW_MSEC(r->lifetime_ms),
				   .uses = b->uses,
				   .tally = true };
	int err = check_alias(rm, b, why);

	if (err)
		return err;
	if (b->key.set)
		err = iw_os_random(b->key.octets, sizeof(b->key.octets));
	if (err)
		return iw_fail(why, err, "no random number for the key");
	if (r->lifetime_ms)
		err = iw_heap_set(&rm->expiries, &b->expiry,
				  iw_time_add(rm->now, attr.lifetime_ns));
	if (err)
		return iw_fail(why, err, "no memory for a timer");
	err = iw_mr_reg(&b->mr, b->domain->pd, &attr, why);
	if (err)
		return err;
	b->stag = iw_mr_stag(b->mr);
	return 0;
}

/* Fills a buffer from the request. Nothing is mapped or registered yet. */
static struct buffer *new_buffer(const struct iw_rm_request *r, struct domain *d, struct peer *peer)
{
	struct buffer *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->domain = d;
	b->peer = peer;
	b->access = r->access;
	b->uses = r->uses;
	b->to = r->off;
	b->key.set = !r->open;
	b->expiry.at = IW_TIME_NEVER;
	iw_list_init(&b->by_file);
	memcpy(b->label, r->label, sizeof(b->label));
	memcpy(b->host, r->host, sizeof(b->host));
	return b;
}

/* Returns the buffer, mapped and registered, or NULL with *why filled. Takes ownership of file. */
static struct buffer *make_buffer(struct iw_rm *rm, const struct iw_rm_request *r, struct domain *d,
				  struct peer *peer, int file, struct iw_fault *why)
{
	struct buffer *b = new_buffer(r, d, peer);

	if (!b) {
		if (file >= 0)
			close(file);
		iw_fail(why, IW_E_NOMEM, "no memory for a buffer");
		return NULL;
	}
	if (map_buffer(rm, b, r, file, why) != 0) {
		free(b);
		return NULL;
	}
	if (register_buffer(rm, b, r, why) != 0) {
		iw_heap_del(&rm->expiries, &b->expiry);
		iw_map_close(&b->map);
		free(b);
		return NULL;
	}
	return b;
}

static struct domain *admit(struct iw_rm *rm, const struct iw_rm_request *r, struct peer **peer,
			    struct iw_fault *why)
{
	iw_rm_reap(rm);
	if (rm->nbuffers < IW_RM_BUFFERS_MAX)
		return domain_for(rm, r, peer, why);
	iw_fail(why, IW_E_LIMIT, "%u buffers are registered, which is the limit: revoke some",
		rm->nbuffers);
	return NULL;
}

int iw_rm_add(struct iw_rm *rm, const struct iw_rm_request *r, int file, struct iw_rm_buffer *out,
	      struct iw_fault *why)
{
	struct peer *peer;
	struct domain *d = admit(rm, r, &peer, why);
	struct buffer *b;

	if (!d) {
		if (file >= 0)
			close(file);
		return why->err;
	}
	b = make_buffer(rm, r, d, peer, file, why);
	if (!b) {
		settle_domain(rm, d);
		return why->err;
	}
	iw_list_add_tail(&rm->buffers, &b->all);
	iw_list_add_tail(&d->buffers, &b->in_domain);
	iw_list_add_tail(stag_bucket(rm, b->stag), &b->by_stag);
	if (b->map.fd >= 0)
		iw_list_add_tail(file_bucket(rm, &b->map), &b->by_file);
	rm->nbuffers++;
	rm->memory += b->map.fd < 0 ? b->map.len : 0;
	settle_domain(rm, d);
	iw_log_info("STag %08x: registered, %llu octets of %s", b->stag,
		    (unsigned long long)b->map.len, b->map.fd < 0 ? "new memory" : b->label);
	iw_rm_tell_buffer(rm, b, true, out);
	return 0;
}

void iw_rm_drop(struct iw_rm *rm, struct buffer *b, const char *why)
{
	struct domain *d = b->domain;

	iw_mr_revoke(b->mr);
	iw_log_info("STag %08x: %s", b->stag, why);
	iw_rm_control_forget_buffer(rm, b);
	iw_heap_del(&rm->expiries, &b->expiry);
	iw_list_del(&b->all);
	iw_list_del(&b->by_stag);
	iw_list_del(&b->by_file);
	iw_list_del(&b->in_domain);
	rm->nbuffers--;
	rm->memory -= b->map.fd < 0 ? b->map.len : 0;
	iw_map_close(&b->map);
	free(b);
	settle_domain(rm, d);
}

/*
 * Since the loss, peers of the domain may have read zeros, and their Writes may not be in the file.
 * Their connections are aborted, so that no peer takes its operations for successful.
 */
static void lose(struct iw_rm *rm, struct buffer *b)
{
	struct domain *d = b->domain;

	iw_log_warn(
		"STag %08x: %s is shorter than the registered range, or its storage failed: revoked",
		b->stag, b->label);
	for (struct iw_list *l = d->peers.next; l != &d->peers; l = l->next) {
		struct peer *p = iw_container_of(l, struct peer, in_domain);

		if (p->qp)
			iw_abort(p->qp);
	}
	iw_rm_drop(rm, b, "revoked: its file was truncated, or its storage failed");
}

/*
 * True if all permitted operations have ended. One in progress is not cut off. The tally has no operations that failed: the
 * uses that these took are seen when no peer is left.
 */
static bool is_spent(const struct buffer *b)
{
	struct iw_tally t;

	if (!b->uses)
		return false;
	iw_mr_tally(b->mr, &t);
	return t.writes + t.reads >= b->uses || (b->domain->live == 0 && !iw_mr_valid(b->mr));
}

/* Drops the buffer if it is lost or spent, and returns false then. */
static bool look_at(struct iw_rm *rm, struct buffer *b)
{
	if (!iw_map_whole(&b->map)) {
		lose(rm, b);
		return false;
	}
	if (is_spent(b)) {
		iw_rm_drop(rm, b, "revoked after its last use");
		return false;
	}
	return true;
}

static void look_at_all(struct iw_rm *rm, bool (*wanted)(const struct buffer *b))
{
	struct iw_list *l, *next;

	for (l = rm->buffers.next; l != &rm->buffers; l = next) {
		struct buffer *b = iw_container_of(l, struct buffer, all);

		next = l->next;
		if (wanted(b))
			look_at(rm, b);
	}
}

static bool is_lost(const struct buffer *b)
{
	return b->map.lost;
}

static bool has_peers(const struct buffer *b)
{
	return b->domain->live > 0;
}

void iw_rm_reap(struct iw_rm *rm)
{
	look_at_all(rm, is_spent);
}

/* --- peers --- */

static int reject(struct iw_conn_req *req, struct iw_fault *why, enum iw_xcode code,
		  const char *text)
{
	struct iw_claim answer;
	uint8_t pd[IW_XFER_PD_MAX];

	iw_claim_reject(&answer, code, text);
	iw_reject(req, pd, iw_claim_encode(pd, &answer));
	return iw_xfer_fault(why, IW_E_REJECTED, "%s", text);
}

static int new_peer(struct peer **out, struct iw_rm *rm, struct domain *d, struct iw_fault *why)
{
	struct iw_qp_attr attr = { .size = sizeof(attr),
				   .send_cq = rm->cq,
				   .recv_cq = rm->cq,
				   .sq_depth = 1,
				   .rq_depth = 1 };
	struct peer *p = calloc(1, sizeof(*p));

	*out = p;
	if (!p)
		return iw_fail(why, IW_E_NOMEM, "no memory for a connection");
	attr.user = p;
	return iw_qp_new(&p->qp, d->pd, &attr, why);
}

static int let_in(struct iw_rm *rm, struct iw_conn_req *req, const struct buffer *b,
		  const char *addr, struct iw_fault *why)
{
	struct domain *d = b->domain;
	struct iw_claim answer = { .form = IW_CLAIM_ACCEPT,
				   .version_max = IW_CLAIM_VERSION,
				   .version_min = IW_CLAIM_VERSION,
				   .to = b->to,
				   .len = b->map.len,
				   .rights = b->access };
	uint8_t pd[IW_XFER_PD_MAX];
	struct iw_protocol_attr protocol = { .size = sizeof(protocol), .private_data = pd };
	struct peer *p;
	int err = new_peer(&p, rm, d, why);

	if (err) {
		free(p);
		return reject(req, why, IW_XC_LIMIT, "no room for another connection");
	}
	protocol.private_data_len = iw_claim_encode(pd, &answer);
	err = iw_accept(req, p->qp, &protocol, why);
	if (err) {
		iw_qp_free(p->qp);
		free(p);
		return err;
	}
	snprintf(p->addr, sizeof(p->addr), "%s", addr);
	p->domain = d;
	p->qp_first = iw_qp_memory(p->qp);
	p->stream = ++rm->last_stream;
	p->since = rm->now;
	iw_list_add_tail(qp_bucket(rm, p->qp), &p->by_qp);
	iw_list_add_tail(&d->peers, &p->in_domain);
	d->live++;
	rm->npeers++;
	rm->beat_at = IW_MIN(rm->beat_at, iw_time_add(rm->now, BEAT));
	iw_log_info("%s: stream %u, admitted to STag %08x", addr, p->stream, b->stag);
	return 0;
}

/* The buffer has a key, and the claim names it. */
static bool has_right_key(const struct buffer *b, const struct iw_claim *claim)
{
	return b && b->key.set && iw_claim_key_fits(&b->key, &claim->key);
}

/* Rejects the claim without a check: the answer is the same for every claim. */
static int hold_off(struct iw_conn_req *req, uint64_t wait, struct iw_fault *why)
{
	char text[IW_XFER_TEXT_MAX + 1];

	snprintf(text, sizeof(text), "too many wrong claims: try again in %llu s",
		 (unsigned long long)((wait + IW_SEC(1) - 1) / IW_SEC(1)));
	(void)reject(req, why, IW_XC_LIMIT, text);
	return iw_xfer_fault(why, IW_E_LIMIT, "%s", text);
}

int iw_rm_claim(struct iw_rm *rm, struct iw_conn_req *req, struct iw_fault *why)
{
	struct iw_req_info info;
	struct iw_claim claim;
	struct buffer *b;
	uint64_t wait = 0;
	char addr[64];

	rm->now = iw_os_now();
	iw_req_info(req, &info);
	snprintf(addr, sizeof(addr), "%s", info.peer);
	if (iw_claim_decode(&claim, false, info.private_data, info.private_data_len, why) != 0) {
		char text[sizeof(why->text)];

		memcpy(text, why->text, sizeof(text));
		return reject(req, why, IW_XC_PROTOCOL, text);
	}
	if (!iw_claim_speaks(&claim))
		return reject(req, why, IW_XC_VERSION, "no common version of claims on buffers");
	b = iw_rm_find(rm, claim.stag);
	if (!has_right_key(b, &claim))
		wait = iw_guess_wait(&rm->guesses, addr, rm->now);
	if (wait > 0)
		return hold_off(req, wait, why);
	if (b && !look_at(rm, b))
		b = NULL;
	/* One answer for all three cases, so that no peer learns which STags exist. */
	if (!b || b->peer || !iw_claim_key_fits(&b->key, &claim.key)) {
		iw_guess_wrong(&rm->guesses, addr, rm->now);
		return reject(
			req, why, IW_XC_REFUSED,
			"not registered with this key, revoked, expired or used up; get a new URI with stag-reg add");
	}
	if (rm->npeers >= rm->peers_max)
		return reject(req, why, IW_XC_LIMIT, "too many connections to registered buffers");
	return let_in(rm, req, b, addr, why);
}

static void drop_stream_buffers(struct iw_rm *rm, const struct peer *p)
{
	struct iw_list *l, *next;

	for (l = p->domain->buffers.next; l != &p->domain->buffers; l = next) {
		struct buffer *b = iw_container_of(l, struct buffer, in_domain);

		next = l->next;
		if (b->peer == p)
			iw_rm_drop(rm, b, "revoked: its connection has ended");
	}
}

/* Forgets the oldest ended peers above IW_RM_ENDED_MAX. */
static void trim_ended(struct iw_rm *rm, struct domain *d)
{
	for (struct iw_list *l = d->peers.next; l != &d->peers && d->ended > IW_RM_ENDED_MAX;) {
		struct peer *p = iw_container_of(l, struct peer, in_domain);

		l = l->next;
		if (p->qp)
			continue;
		forget_peer(rm, p);
		d->ended--;
	}
}

static void end_peer(struct iw_rm *rm, struct peer *p, const struct iw_fault *why)
{
	struct domain *d = p->domain;
	size_t len = 0;

	if (why->err)
		len = iw_cbor_cut(why->text, sizeof(why->text) - 1);
	memcpy(p->why, why->text, len);
	iw_log_info("%s: stream %u ended%s%s", p->addr, p->stream, len ? ": " : "", p->why);
	/* d->live still includes this peer, so the domain is not freed here. */
	drop_stream_buffers(rm, p);
	iw_qp_tally(p->qp, &p->tally);
	iw_list_del(&p->by_qp);
	iw_qp_free(p->qp);
	p->qp = NULL;
	p->since = rm->now;
	rm->npeers--;
	d->live--;
	d->ended++;
	trim_ended(rm, d);
	settle_domain(rm, d);
}

/* The peer has closed its side. Its Writes are checked before our close confirms success to it. */
static void on_peer_closed(struct iw_rm *rm, struct peer *p)
{
	struct domain *d = p->domain;
	struct iw_list *l, *next;

	for (l = d->buffers.next; l != &d->buffers; l = next) {
		next = l->next;
		look_at(rm, iw_container_of(l, struct buffer, in_domain));
	}
	/* This does nothing if look_at has aborted the connection. */
	iw_disconnect(p->qp);
}

bool iw_rm_event(struct iw_rm *rm, const struct iw_async_event *ev)
{
	struct peer *p = ev->qp ? find_peer(rm, ev->qp) : NULL;

	if (!p)
		return false;
	rm->now = iw_os_now();
	switch (ev->type) {
	case IW_EV_CONNECT_REQUEST:
	case IW_EV_ESTABLISHED:
	case IW_EV_REJECTED:
		break;
	case IW_EV_PEER_CLOSED:
		on_peer_closed(rm, p);
		break;
	case IW_EV_CLOSED:
		end_peer(rm, p, &ev->fault);
		break;
	}
	return true;
}

/* --- accounts --- */

static uint64_t ms_between(uint64_t from, uint64_t to)
{
	return to > from ? (to - from) / IW_MSEC(1) : 0;
}

void iw_rm_tell_buffer(struct iw_rm *rm, struct buffer *b, bool with_key, struct iw_rm_buffer *out)
{
	memset(out, 0, sizeof(*out));
	out->stag = b->stag;
	out->to = b->to;
	out->len = b->map.len;
	out->access = b->access;
	memcpy(out->domain, b->domain->name, sizeof(out->domain));
	out->stream = b->peer ? b->peer->stream : 0;
	out->left_ms = b->expiry.at == IW_TIME_NEVER ? UINT64_MAX
						     : ms_between(rm->now, b->expiry.at);
	out->uses = b->uses;
	if (with_key)
		out->key = b->key;
	out->open = !b->key.set;
	out->memory = b->map.fd < 0;
	memcpy(out->label, b->label, sizeof(out->label));
	snprintf(out->transport, sizeof(out->transport), "%s", rm->transport);
	snprintf(out->host, sizeof(out->host), "%s", b->host[0] ? b->host : rm->host);
	out->port = rm->port;
	iw_mr_tally(b->mr, &out->tally);
}

void iw_rm_tell_peer(struct iw_rm *rm, const struct peer *p, struct iw_rm_peer *out)
{
	memset(out, 0, sizeof(*out));
	out->stream = p->stream;
	memcpy(out->addr, p->addr, sizeof(out->addr));
	out->age_ms = ms_between(p->since, rm->now);
	out->ended = !p->qp;
	out->tally = p->tally;
	if (p->qp)
		iw_qp_tally(p->qp, &out->tally);
	memcpy(out->why, p->why, sizeof(out->why));
}

/* --- turns --- */

static void drop_leavers(struct iw_rm *rm, struct domain *d)
{
	iw_heap_del(&rm->leaves, &d->leave);
	for (struct iw_list *l = d->peers.next; l != &d->peers; l = l->next) {
		struct peer *p = iw_container_of(l, struct peer, in_domain);

		if (p->qp)
			iw_abort(p->qp);
	}
}

static bool due(const struct iw_heap *h, uint64_t now, struct iw_timer **t)
{
	*t = iw_heap_first(h);
	return *t && (*t)->at <= now;
}

void iw_rm_turn(struct iw_rm *rm, uint64_t now)
{
	struct iw_timer *t;

	rm->now = now;
	if (iw_map_lost_any())
		look_at_all(rm, is_lost);
	while (due(&rm->expiries, now, &t))
		iw_rm_drop(rm, iw_container_of(t, struct buffer, expiry),
			   "revoked after --expires");
	while (due(&rm->leaves, now, &t))
		drop_leavers(rm, iw_container_of(t, struct domain, leave));
	if (now >= rm->beat_at) {
		look_at_all(rm, has_peers);
		rm->beat_at = rm->npeers > 0 ? iw_time_add(now, BEAT) : IW_TIME_NEVER;
	}
	iw_rm_control_timers(rm);
}

static uint64_t first_at(const struct iw_heap *h)
{
	const struct iw_timer *t = iw_heap_first(h);

	return t ? t->at : IW_TIME_NEVER;
}

uint64_t iw_rm_memory(const struct iw_rm *rm)
{
	return rm->memory;
}

uint64_t iw_rm_peer_memory(const struct iw_rm *rm)
{
	uint64_t all = 0;

	for (size_t i = 0; i < BUCKETS; i++)
		for (struct iw_list *l = rm->peers_by_qp[i].next; l != &rm->peers_by_qp[i];
		     l = l->next) {
			const struct peer *p = iw_container_of(l, struct peer, by_qp);
			size_t now = iw_qp_memory(p->qp);

			all += now - IW_MIN(now, p->qp_first);
		}
	return all;
}

unsigned iw_rm_peers(const struct iw_rm *rm)
{
	return rm->npeers;
}

uint64_t iw_rm_deadline(const struct iw_rm *rm)
{
	uint64_t at = IW_MIN(first_at(&rm->expiries), first_at(&rm->leaves));
	uint64_t patience = first_at(&rm->patience);

	at = IW_MIN(at, patience);
	at = IW_MIN(at, rm->rest_until);
	return IW_MIN(at, rm->beat_at);
}

const char *iw_rm_path(const struct iw_rm *rm)
{
	return rm->path;
}

int iw_rm_fd(const struct iw_rm *rm)
{
	return rm->epoll;
}

/* --- beginning and end --- */

/* Copies the host from "127.0.0.1:7471" or "[::1]:7471", without brackets and port. */
static void take_host(struct iw_rm *rm, const char *addr)
{
	const char *colon = strrchr(addr, ':');
	bool v6 = addr[0] == '[';
	size_t len = colon ? (size_t)(colon - addr) : strlen(addr);

	if (v6 && len >= 2)
		snprintf(rm->host, sizeof(rm->host), "%.*s", (int)(len - 2), addr + 1);
	else
		snprintf(rm->host, sizeof(rm->host), "%.*s", (int)len, addr);
}

int iw_rm_new(struct iw_rm **out, const struct iw_rm_cfg *cfg, struct iw_fault *why)
{
	struct iw_rm *rm = calloc(1, sizeof(*rm));
	int err;

	*out = NULL;
	if (!rm)
		return iw_fail(why, IW_E_NOMEM, "no memory for a resource manager");
	rm->ctx = cfg->ctx;
	rm->transport = cfg->transport;
	take_host(rm, cfg->addr);
	rm->port = cfg->port;
	rm->memory_max = cfg->memory;
	rm->peers_max = IW_MIN(cfg->peers, IW_RM_PEERS_MAX);
	rm->now = iw_os_now();
	rm->beat_at = rm->rest_until = IW_TIME_NEVER;
	rm->sock = -1;
	iw_list_init(&rm->domains);
	iw_list_init(&rm->buffers);
	iw_list_init(&rm->clients);
	for (size_t i = 0; i < BUCKETS; i++) {
		iw_list_init(&rm->buffers_by_stag[i]);
		iw_list_init(&rm->buffers_by_file[i]);
		iw_list_init(&rm->peers_by_qp[i]);
	}
	iw_guesses_init(&rm->guesses, rm->now);
	iw_heap_init(&rm->expiries, &iw_os_heap);
	iw_heap_init(&rm->leaves, &iw_os_heap);
	iw_heap_init(&rm->patience, &iw_os_heap);
	rm->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (rm->epoll < 0)
		err = iw_os_fail(why, errno, "epoll for a resource manager");
	else
		err = iw_cq_new(&rm->cq, rm->ctx);
	if (err) {
		if (rm->epoll >= 0) {
			iw_fail(why, err, "completion queue: %s", iw_err_text(err));
			close(rm->epoll);
		}
		free(rm);
		return err;
	}
	*out = rm;
	return 0;
}

void iw_rm_free(struct iw_rm *rm)
{
	const struct iw_fault none = { .err = IW_OK, .text = "" };
	struct iw_list *l;

	if (!rm)
		return;
	iw_rm_control_close(rm);
	for (size_t i = 0; i < BUCKETS; i++)
		while ((l = iw_list_first(&rm->peers_by_qp[i])) != NULL)
			end_peer(rm, iw_container_of(l, struct peer, by_qp), &none);
	while ((l = iw_list_first(&rm->buffers)) != NULL)
		iw_rm_drop(rm, iw_container_of(l, struct buffer, all), "revoked: the server ends");
	iw_guesses_fini(&rm->guesses);
	iw_heap_fini(&rm->expiries);
	iw_heap_fini(&rm->leaves);
	iw_heap_fini(&rm->patience);
	(void)iw_cq_free(rm->cq);
	close(rm->epoll);
	free(rm);
}
