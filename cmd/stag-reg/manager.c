// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The manager: protection domains, the buffers in them, and the peers admitted to them. */
#include "stag-reg/manager.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "cbor/cbor.h"
#include "cli/human.h"
#include "cli/log.h"
#include "cli/param.h"
#include "os/os.h"
#include "stag-reg/internal.h"
#include "util/text.h"

/* Time for a peer without a buffer to get its next operation refused, with the reason. */
#define LEAVE IW_SEC(5)
/* Interval at which buffers with connected peers are checked. */
#define BEAT  IW_SEC(1)

_Static_assert((int)IW_CLAIM_READ == IW_ACCESS_REMOTE_READ &&
		       (int)IW_CLAIM_WRITE == IW_ACCESS_REMOTE_WRITE,
	       "rights");

/* --- lookup --- */

/* All bits of an STag are random, so its low bits serve as a hash. */
static struct iw_list *stag_bucket(struct iw_manager *m, uint32_t stag)
{
	return &m->buffers_by_stag[stag % BUCKETS];
}

static struct iw_list *qp_bucket(struct iw_manager *m, const struct iw_qp *qp)
{
	return &m->peers_by_qp[(uintptr_t)qp / 64 % BUCKETS];
}

struct buffer *iw_manager_find(struct iw_manager *m, uint32_t stag)
{
	const struct iw_list *bucket = stag_bucket(m, stag);

	for (struct iw_list *l = bucket->next; l != bucket; l = l->next) {
		struct buffer *b = iw_container_of(l, struct buffer, by_stag);

		if (b->stag == stag)
			return b;
	}
	return NULL;
}

static struct peer *find_peer(struct iw_manager *m, const struct iw_qp *qp)
{
	const struct iw_list *bucket = qp_bucket(m, qp);

	for (struct iw_list *l = bucket->next; l != bucket; l = l->next) {
		struct peer *p = iw_container_of(l, struct peer, by_qp);

		if (p->qp == qp)
			return p;
	}
	return NULL;
}

/* Finds a connected peer by the number under which it is listed. */
static struct peer *find_stream(struct iw_manager *m, uint32_t stream)
{
	for (size_t i = 0; i < BUCKETS; i++) {
		const struct iw_list *bucket = &m->peers_by_qp[i];

		for (struct iw_list *l = bucket->next; l != bucket; l = l->next) {
			struct peer *p = iw_container_of(l, struct peer, by_qp);

			if (p->stream == stream)
				return p;
		}
	}
	return NULL;
}

/* --- protection domains --- */

static struct domain *find_domain(struct iw_manager *m, const char *name)
{
	for (struct iw_list *l = m->domains.next; l != &m->domains; l = l->next) {
		struct domain *d = iw_container_of(l, struct domain, all);

		if (strcmp(d->name, name) == 0)
			return d;
	}
	return NULL;
}

static struct domain *new_domain(struct iw_manager *m, const char *name, struct iw_fault *why)
{
	struct domain *d = calloc(1, sizeof(*d));

	if (!d || iw_pd_new(&d->pd, m->ctx) != 0) {
		free(d);
		iw_fail(why, IW_E_NOMEM, "no memory for a protection domain");
		return NULL;
	}
	snprintf(d->name, sizeof(d->name), "%s", name);
	d->leave.at = IW_TIME_NEVER;
	iw_list_init(&d->buffers);
	iw_list_init(&d->peers);
	iw_list_add_tail(&m->domains, &d->all);
	return d;
}

static void forget_peer(struct iw_manager *m, struct peer *p)
{
	iw_manager_control_forget_peer(m, p);
	iw_list_del(&p->in_domain);
	free(p);
}

/*
 * Frees a domain without buffers and connected peers. If only peers are left, starts the timer that
 * disconnects them.
 */
static void settle_domain(struct iw_manager *m, struct domain *d)
{
	struct iw_list *l;

	if (!iw_list_empty(&d->buffers)) {
		iw_heap_del(&m->leaves, &d->leave);
		return;
	}
	if (d->live > 0) {
		if (iw_heap_set(&m->leaves, &d->leave, iw_time_add(m->now, LEAVE)) != 0)
			iw_log_warn("no memory for a timer: peers without a buffer stay connected");
		return;
	}
	while ((l = iw_list_first(&d->peers)) != NULL)
		forget_peer(m, iw_container_of(l, struct peer, in_domain));
	iw_manager_control_forget_domain(m, d);
	iw_heap_del(&m->leaves, &d->leave);
	iw_list_del(&d->all);
	(void)iw_pd_free(d->pd);
	free(d);
}

/* --- buffers --- */

/* The domain for a buffer: that of its connection (*peer), the named one, or a new one. */
static struct domain *domain_for(struct iw_manager *m, const struct iw_manager_request *r,
				 struct peer **peer, struct iw_fault *why)
{
	struct domain *d = *r->domain ? find_domain(m, r->domain) : NULL;

	*peer = r->stream ? find_stream(m, r->stream) : NULL;
	if (r->stream && !*peer) {
		iw_fail(why, IW_E_NOENT,
			"stream %u: no such connection; stag-reg show lists those of a buffer",
			r->stream);
		return NULL;
	}
	if (*peer)
		return (*peer)->domain;
	return d ? d : new_domain(m, r->domain, why);
}

static int report_memory(const struct iw_manager *m, uint64_t len, struct iw_fault *why)
{
	char asked[IW_HUMAN_TEXT], most[IW_HUMAN_TEXT], used[IW_HUMAN_TEXT];

	return iw_xfer_fault(why, IW_E_LIMIT,
			     "--size %s exceeds the receiver's --max-memory (%s, %s in use)",
			     iw_human_size(asked, len), iw_human_size(most, m->memory_max),
			     iw_human_size(used, m->memory));
}

static int map_buffer(const struct iw_manager *m, struct buffer *b,
		      const struct iw_manager_request *r, int file, struct iw_fault *why)
{
	if (!r->memory && file >= 0)
		return iw_map_file(&b->map, file, r->off, r->len, r->access & IW_CLAIM_WRITE, why);
	if (file >= 0)
		close(file);
	if (!r->memory)
		return iw_fail(why, IW_E_INVAL, "the request has no file descriptor");
	if (r->off != 0)
		return iw_fail(why, IW_E_INVAL, "new memory has no offset: --range is for files");
	if (m->memory_max && r->len > m->memory_max - m->memory)
		return report_memory(m, r->len, why);
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

static struct iw_list *file_bucket(struct iw_manager *m, const struct iw_map *map)
{
	return &m->buffers_by_file[(map->dev ^ map->ino) % BUCKETS];
}

/*
 * RFC 5042 6.3.6: peers of two domains need not trust each other. Where one of them writes to an
 * octet, the other must neither write there (it would overwrite) nor read there (it would see what
 * the first one wrote). Only files can be mapped twice: new memory belongs to one buffer.
 */
static int check_alias(struct iw_manager *m, const struct buffer *b, struct iw_fault *why)
{
	struct iw_list *bucket = file_bucket(m, &b->map);

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

static int register_buffer(struct iw_manager *m, struct buffer *b,
			   const struct iw_manager_request *r, struct iw_fault *why)
{
	struct iw_mr_attr attr = { .addr = b->map.addr,
				   .len = b->map.len,
				   .to = b->to,
				   .access = b->access,
				   .qp = b->peer ? b->peer->qp : NULL,
				   .lifetime_ns = IW_MSEC(r->lifetime_ms),
				   .uses = b->uses,
				   .tally = true };
	int err = check_alias(m, b, why);

	if (err)
		return err;
	if (b->key.set)
		err = iw_os_random(b->key.octets, sizeof(b->key.octets));
	if (err)
		return iw_fail(why, err, "no random number for the key");
	if (r->lifetime_ms)
		err = iw_heap_set(&m->expiries, &b->expiry, iw_time_add(m->now, attr.lifetime_ns));
	if (err)
		return iw_fail(why, err, "no memory for a timer");
	err = iw_mr_reg(&b->mr, b->domain->pd, &attr, why);
	if (err)
		return err;
	b->stag = iw_mr_stag(b->mr);
	return 0;
}

/* Fills a buffer from the request. Nothing is mapped or registered yet. */
static struct buffer *new_buffer(const struct iw_manager_request *r, struct domain *d,
				 struct peer *peer)
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
static struct buffer *make_buffer(struct iw_manager *m, const struct iw_manager_request *r,
				  struct domain *d, struct peer *peer, int file,
				  struct iw_fault *why)
{
	struct buffer *b = new_buffer(r, d, peer);

	if (!b) {
		if (file >= 0)
			close(file);
		iw_fail(why, IW_E_NOMEM, "no memory for a buffer");
		return NULL;
	}
	if (map_buffer(m, b, r, file, why) != 0) {
		free(b);
		return NULL;
	}
	if (register_buffer(m, b, r, why) != 0) {
		iw_heap_del(&m->expiries, &b->expiry);
		iw_map_close(&b->map);
		free(b);
		return NULL;
	}
	return b;
}

static struct domain *admit(struct iw_manager *m, const struct iw_manager_request *r,
			    struct peer **peer, struct iw_fault *why)
{
	iw_manager_reap(m);
	if (m->nbuffers < IW_MANAGER_BUFFERS_MAX)
		return domain_for(m, r, peer, why);
	iw_fail(why, IW_E_LIMIT, "%u buffers are registered, which is the limit: revoke some",
		m->nbuffers);
	return NULL;
}

int iw_manager_add(struct iw_manager *m, const struct iw_manager_request *r, int file,
		   struct iw_manager_buffer *out, struct iw_fault *why)
{
	struct peer *peer;
	struct domain *d = admit(m, r, &peer, why);
	struct buffer *b;

	if (!d) {
		if (file >= 0)
			close(file);
		return why->err;
	}
	b = make_buffer(m, r, d, peer, file, why);
	if (!b) {
		settle_domain(m, d);
		return why->err;
	}
	iw_list_add_tail(&m->buffers, &b->all);
	iw_list_add_tail(&d->buffers, &b->in_domain);
	iw_list_add_tail(stag_bucket(m, b->stag), &b->by_stag);
	if (b->map.fd >= 0)
		iw_list_add_tail(file_bucket(m, &b->map), &b->by_file);
	m->nbuffers++;
	m->memory += b->map.fd < 0 ? b->map.len : 0;
	settle_domain(m, d);
	iw_log_info("STag %08x: registered, %llu octets of %s", b->stag,
		    (unsigned long long)b->map.len, b->map.fd < 0 ? "new memory" : b->label);
	iw_manager_describe_buffer(m, b, true, out);
	return 0;
}

void iw_manager_drop(struct iw_manager *m, struct buffer *b, const char *why)
{
	struct domain *d = b->domain;

	iw_mr_revoke(b->mr);
	iw_log_info("STag %08x: %s", b->stag, why);
	iw_manager_control_forget_buffer(m, b);
	iw_heap_del(&m->expiries, &b->expiry);
	iw_list_del(&b->all);
	iw_list_del(&b->by_stag);
	iw_list_del(&b->by_file);
	iw_list_del(&b->in_domain);
	m->nbuffers--;
	m->memory -= b->map.fd < 0 ? b->map.len : 0;
	iw_map_close(&b->map);
	free(b);
	settle_domain(m, d);
}

/*
 * Since the loss, peers of the domain may have read zeros, and their Writes may not be in the file.
 * Their connections are aborted, so that no peer takes its operations for successful.
 */
static void lose(struct iw_manager *m, struct buffer *b)
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
	iw_manager_drop(m, b, "revoked: its file was truncated, or its storage failed");
}

/*
 * True if all permitted operations have ended. An operation in progress is not cut off. The tally
 * does not include failed operations; the uses that they took are detected when no peer is left.
 */
static bool is_spent(const struct buffer *b)
{
	struct iw_tally t;

	if (!b->uses)
		return false;
	iw_mr_tally(b->mr, &t);
	return t.writes + t.reads >= b->uses || (b->domain->live == 0 && !iw_mr_valid(b->mr));
}

/* Returns false if the buffer is lost or spent, after dropping it. */
static bool check_buffer(struct iw_manager *m, struct buffer *b)
{
	if (!iw_map_whole(&b->map)) {
		lose(m, b);
		return false;
	}
	if (is_spent(b)) {
		iw_manager_drop(m, b, "revoked after its last use");
		return false;
	}
	return true;
}

static void check_buffers(struct iw_manager *m, bool (*wanted)(const struct buffer *b))
{
	struct iw_list *l, *next;

	for (l = m->buffers.next; l != &m->buffers; l = next) {
		struct buffer *b = iw_container_of(l, struct buffer, all);

		next = l->next;
		if (wanted(b))
			check_buffer(m, b);
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

void iw_manager_reap(struct iw_manager *m)
{
	check_buffers(m, is_spent);
}

/* --- peers --- */

static int reject(struct iw_conn_req *req, struct iw_fault *why, enum iw_xfer_code code,
		  const char *text)
{
	struct iw_claim answer;
	uint8_t pd[IW_XFER_PD_MAX];

	iw_claim_reject(&answer, code, text);
	iw_reject(req, pd, iw_claim_encode(pd, &answer));
	return iw_xfer_fault(why, IW_E_REJECTED, "%s", text);
}

static int new_peer(struct peer **out, struct iw_manager *m, struct domain *d, struct iw_fault *why)
{
	struct iw_qp_attr attr = { .size = sizeof(attr),
				   .send_cq = m->cq,
				   .recv_cq = m->cq,
				   .sq_depth = 1,
				   .rq_depth = 1 };
	struct peer *p = calloc(1, sizeof(*p));

	*out = p;
	if (!p)
		return iw_fail(why, IW_E_NOMEM, "no memory for a connection");
	attr.user = p;
	return iw_qp_new(&p->qp, d->pd, &attr, why);
}

static int admit_peer(struct iw_manager *m, struct iw_conn_req *req, const struct buffer *b,
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
	int err = new_peer(&p, m, d, why);

	if (err) {
		free(p);
		return reject(req, why, IW_XFER_CODE_LIMIT, "no room for another connection");
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
	p->stream = ++m->last_stream;
	p->since = m->now;
	iw_list_add_tail(qp_bucket(m, p->qp), &p->by_qp);
	iw_list_add_tail(&d->peers, &p->in_domain);
	d->live++;
	m->npeers++;
	m->beat_at = IW_MIN(m->beat_at, iw_time_add(m->now, BEAT));
	iw_log_info("%s: stream %u, admitted to STag %08x", addr, p->stream, b->stag);
	return 0;
}

/* The buffer has a key, and the claim names it. */
static bool has_right_key(const struct buffer *b, const struct iw_claim *claim)
{
	return b && b->key.set && iw_claim_key_fits(&b->key, &claim->key);
}

/* Rejects the claim without a check: the answer is the same for every claim. */
static int reject_unchecked(struct iw_conn_req *req, uint64_t wait, struct iw_fault *why)
{
	char text[IW_XFER_TEXT_MAX + 1];

	snprintf(text, sizeof(text), "too many wrong claims: try again in %llu s",
		 (unsigned long long)((wait + IW_SEC(1) - 1) / IW_SEC(1)));
	(void)reject(req, why, IW_XFER_CODE_LIMIT, text);
	return iw_xfer_fault(why, IW_E_LIMIT, "%s", text);
}

int iw_manager_claim(struct iw_manager *m, struct iw_conn_req *req, struct iw_fault *why)
{
	struct iw_req_info info;
	struct iw_claim claim;
	struct buffer *b;
	uint64_t wait = 0;
	char addr[64];

	m->now = iw_os_now();
	iw_req_info(req, &info);
	snprintf(addr, sizeof(addr), "%s", info.peer);
	if (iw_claim_decode(&claim, false, info.private_data, info.private_data_len, why) != 0) {
		char text[sizeof(why->text)];

		memcpy(text, why->text, sizeof(text));
		return reject(req, why, IW_XFER_CODE_PROTOCOL, text);
	}
	if (!iw_claim_speaks(&claim))
		return reject(req, why, IW_XFER_CODE_VERSION,
			      "no common version of claims on buffers");
	b = iw_manager_find(m, claim.stag);
	if (!has_right_key(b, &claim))
		wait = iw_guess_wait(&m->guesses, addr, m->now);
	if (wait > 0)
		return reject_unchecked(req, wait, why);
	if (b && !check_buffer(m, b))
		b = NULL;
	/* One answer for all three cases, so that no peer learns which STags exist. */
	if (!b || b->peer || !iw_claim_key_fits(&b->key, &claim.key)) {
		iw_guess_wrong(&m->guesses, addr, m->now);
		return reject(
			req, why, IW_XFER_CODE_REFUSED,
			"not registered with this key, revoked, expired or used up; get a new URI with stag-reg add");
	}
	if (m->npeers >= m->peers_max)
		return reject(req, why, IW_XFER_CODE_LIMIT,
			      "too many connections to registered buffers");
	return admit_peer(m, req, b, addr, why);
}

static void drop_stream_buffers(struct iw_manager *m, const struct peer *p)
{
	struct iw_list *l, *next;

	for (l = p->domain->buffers.next; l != &p->domain->buffers; l = next) {
		struct buffer *b = iw_container_of(l, struct buffer, in_domain);

		next = l->next;
		if (b->peer == p)
			iw_manager_drop(m, b, "revoked: its connection has ended");
	}
}

/* Forgets the oldest ended peers above IW_MANAGER_ENDED_MAX. */
static void trim_ended(struct iw_manager *m, struct domain *d)
{
	for (struct iw_list *l = d->peers.next;
	     l != &d->peers && d->ended > IW_MANAGER_ENDED_MAX;) {
		struct peer *p = iw_container_of(l, struct peer, in_domain);

		l = l->next;
		if (p->qp)
			continue;
		forget_peer(m, p);
		d->ended--;
	}
}

static void end_peer(struct iw_manager *m, struct peer *p, const struct iw_fault *why)
{
	struct domain *d = p->domain;
	size_t len = 0;

	if (why->err)
		len = iw_cbor_cut(why->text, sizeof(why->text) - 1);
	memcpy(p->why, why->text, len);
	iw_log_info("%s: stream %u ended%s%s", p->addr, p->stream, len ? ": " : "", p->why);
	/* d->live still includes this peer, so the domain is not freed here. */
	drop_stream_buffers(m, p);
	iw_qp_tally(p->qp, &p->tally);
	iw_list_del(&p->by_qp);
	iw_qp_free(p->qp);
	p->qp = NULL;
	p->since = m->now;
	m->npeers--;
	d->live--;
	d->ended++;
	trim_ended(m, d);
	settle_domain(m, d);
}

/* The peer has closed its side. Its Writes are checked before our close confirms success to it. */
static void on_peer_closed(struct iw_manager *m, struct peer *p)
{
	struct domain *d = p->domain;
	struct iw_list *l, *next;

	for (l = d->buffers.next; l != &d->buffers; l = next) {
		next = l->next;
		check_buffer(m, iw_container_of(l, struct buffer, in_domain));
	}
	/* This does nothing if check_buffer has aborted the connection. */
	iw_disconnect(p->qp);
}

bool iw_manager_event(struct iw_manager *m, const struct iw_async_event *ev)
{
	struct peer *p = ev->qp ? find_peer(m, ev->qp) : NULL;

	if (!p)
		return false;
	m->now = iw_os_now();
	switch (ev->type) {
	case IW_EV_CONNECT_REQUEST:
	case IW_EV_ESTABLISHED:
	case IW_EV_REJECTED:
		break;
	case IW_EV_PEER_CLOSED:
		on_peer_closed(m, p);
		break;
	case IW_EV_CLOSED:
		end_peer(m, p, &ev->fault);
		break;
	}
	return true;
}

/* --- descriptions for the control socket --- */

static uint64_t ms_between(uint64_t from, uint64_t to)
{
	return to > from ? (to - from) / IW_MSEC(1) : 0;
}

void iw_manager_describe_buffer(struct iw_manager *m, struct buffer *b, bool with_key,
				struct iw_manager_buffer *out)
{
	memset(out, 0, sizeof(*out));
	out->stag = b->stag;
	out->to = b->to;
	out->len = b->map.len;
	out->access = b->access;
	memcpy(out->domain, b->domain->name, sizeof(out->domain));
	out->stream = b->peer ? b->peer->stream : 0;
	out->left_ms = b->expiry.at == IW_TIME_NEVER ? UINT64_MAX
						     : ms_between(m->now, b->expiry.at);
	out->uses = b->uses;
	if (with_key)
		out->key = b->key;
	out->open = !b->key.set;
	out->memory = b->map.fd < 0;
	memcpy(out->label, b->label, sizeof(out->label));
	snprintf(out->transport, sizeof(out->transport), "%s", m->transport);
	snprintf(out->host, sizeof(out->host), "%s", b->host[0] ? b->host : m->host);
	out->port = m->port;
	iw_mr_tally(b->mr, &out->tally);
}

void iw_manager_describe_peer(struct iw_manager *m, const struct peer *p,
			      struct iw_manager_peer *out)
{
	memset(out, 0, sizeof(*out));
	out->stream = p->stream;
	memcpy(out->addr, p->addr, sizeof(out->addr));
	out->age_ms = ms_between(p->since, m->now);
	out->ended = !p->qp;
	out->tally = p->tally;
	if (p->qp)
		iw_qp_tally(p->qp, &out->tally);
	memcpy(out->why, p->why, sizeof(out->why));
}

/* --- timers, and calls of the loop --- */

static void drop_leavers(struct iw_manager *m, struct domain *d)
{
	iw_heap_del(&m->leaves, &d->leave);
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

void iw_manager_turn(struct iw_manager *m, uint64_t now)
{
	struct iw_timer *t;

	m->now = now;
	if (iw_map_lost_any())
		check_buffers(m, is_lost);
	while (due(&m->expiries, now, &t))
		iw_manager_drop(m, iw_container_of(t, struct buffer, expiry),
				"revoked after --expires");
	while (due(&m->leaves, now, &t))
		drop_leavers(m, iw_container_of(t, struct domain, leave));
	if (now >= m->beat_at) {
		check_buffers(m, has_peers);
		m->beat_at = m->npeers > 0 ? iw_time_add(now, BEAT) : IW_TIME_NEVER;
	}
	iw_manager_control_timers(m);
}

static uint64_t first_at(const struct iw_heap *h)
{
	const struct iw_timer *t = iw_heap_first(h);

	return t ? t->at : IW_TIME_NEVER;
}

uint64_t iw_manager_memory(const struct iw_manager *m)
{
	return m->memory;
}

uint64_t iw_manager_peer_memory(const struct iw_manager *m)
{
	uint64_t all = 0;

	for (size_t i = 0; i < BUCKETS; i++)
		for (struct iw_list *l = m->peers_by_qp[i].next; l != &m->peers_by_qp[i];
		     l = l->next) {
			const struct peer *p = iw_container_of(l, struct peer, by_qp);
			size_t now = iw_qp_memory(p->qp);

			all += now - IW_MIN(now, p->qp_first);
		}
	return all;
}

unsigned iw_manager_peers(const struct iw_manager *m)
{
	return m->npeers;
}

uint64_t iw_manager_deadline(const struct iw_manager *m)
{
	uint64_t at = IW_MIN(first_at(&m->expiries), first_at(&m->leaves));
	uint64_t patience = first_at(&m->patience);

	at = IW_MIN(at, patience);
	at = IW_MIN(at, m->rest_until);
	return IW_MIN(at, m->beat_at);
}

const char *iw_manager_path(const struct iw_manager *m)
{
	return m->path;
}

int iw_manager_fd(const struct iw_manager *m)
{
	return m->epoll;
}

/* --- creation --- */

/* Copies the host from "127.0.0.1:7471" or "[::1]:7471", without brackets and port. */
static void take_host(struct iw_manager *m, const char *addr)
{
	const char *colon = strrchr(addr, ':');
	bool v6 = addr[0] == '[';
	size_t len = colon ? (size_t)(colon - addr) : strlen(addr);

	if (v6 && len >= 2)
		snprintf(m->host, sizeof(m->host), "%.*s", (int)(len - 2), addr + 1);
	else
		snprintf(m->host, sizeof(m->host), "%.*s", (int)len, addr);
}

int iw_manager_new(struct iw_manager **out, const struct iw_manager_cfg *cfg, struct iw_fault *why)
{
	struct iw_manager *m = calloc(1, sizeof(*m));
	int err;

	*out = NULL;
	if (!m)
		return iw_fail(why, IW_E_NOMEM, "no memory for a resource manager");
	m->ctx = cfg->ctx;
	m->transport = cfg->transport;
	take_host(m, cfg->addr);
	m->port = cfg->port;
	m->memory_max = cfg->memory;
	m->peers_max = IW_MIN(cfg->peers, IW_MANAGER_PEERS_MAX);
	m->now = iw_os_now();
	m->beat_at = m->rest_until = IW_TIME_NEVER;
	m->sock = -1;
	iw_list_init(&m->domains);
	iw_list_init(&m->buffers);
	iw_list_init(&m->clients);
	for (size_t i = 0; i < BUCKETS; i++) {
		iw_list_init(&m->buffers_by_stag[i]);
		iw_list_init(&m->buffers_by_file[i]);
		iw_list_init(&m->peers_by_qp[i]);
	}
	iw_guesses_init(&m->guesses, m->now);
	iw_heap_init(&m->expiries, &iw_os_heap);
	iw_heap_init(&m->leaves, &iw_os_heap);
	iw_heap_init(&m->patience, &iw_os_heap);
	m->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (m->epoll < 0)
		err = iw_os_fail(why, errno, "epoll for a resource manager");
	else
		err = iw_cq_new(&m->cq, m->ctx);
	if (err) {
		if (m->epoll >= 0) {
			iw_fail(why, err, "completion queue: %s", iw_err_text(err));
			close(m->epoll);
		}
		free(m);
		return err;
	}
	*out = m;
	return 0;
}

void iw_manager_free(struct iw_manager *m)
{
	const struct iw_fault none = { .err = IW_OK, .text = "" };
	struct iw_list *l;

	if (!m)
		return;
	iw_manager_control_close(m);
	for (size_t i = 0; i < BUCKETS; i++)
		while ((l = iw_list_first(&m->peers_by_qp[i])) != NULL)
			end_peer(m, iw_container_of(l, struct peer, by_qp), &none);
	while ((l = iw_list_first(&m->buffers)) != NULL)
		iw_manager_drop(m, iw_container_of(l, struct buffer, all),
				"revoked: the server ends");
	iw_guesses_fini(&m->guesses);
	iw_heap_fini(&m->expiries);
	iw_heap_fini(&m->leaves);
	iw_heap_fini(&m->patience);
	(void)iw_cq_free(m->cq);
	close(m->epoll);
	free(m);
}
