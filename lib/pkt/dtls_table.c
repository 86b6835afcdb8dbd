// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The DTLS sessions of a carrier: a hash table, and a list of each state by age. */
#include "pkt/dtls_table.h"

#include <stdlib.h>
#include <string.h>

#include "os/os.h"
#include "util/num.h"

#define BUCKETS_MIN 64
#define SILENT_NS   IW_SEC(60) /* two HEARTBEATs are missing */

/*
 * How long a session may stay in each state. SCTP sends a HEARTBEAT every 30 s on a silent path (RFC
 * 9260 8.3), so a session without packets for five minutes has no association.
 */
static const uint64_t lifetime[IW_PKT_SESSION_STATES] = { IW_SEC(10), IW_SEC(30), IW_SEC(300) };

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
	x = (x ^ x >> 29) * 0x9fb21c651e98df25u;
	return x ^ x >> 32;
}

/* The secret numbers keep an attacker from choosing addresses of one bucket. */
static uint64_t hash_of(const struct iw_pkt_sessions *t, const struct iw_addr *a)
{
	uint64_t half[2] = { 0 }, h = t->secret[0] ^ iw_addr_port(a);

	if (a->sa.sa_family == AF_INET)
		memcpy(half, &a->in.sin_addr, 4);
	else
		memcpy(half, &a->in6.sin6_addr, 16);
	h = mix(h ^ half[0]) + t->secret[1];
	return mix(h ^ half[1]);
}

int iw_pkt_sessions_init(struct iw_pkt_sessions *t)
{
	memset(t, 0, sizeof(*t));
	for (int i = 0; i < IW_PKT_SESSION_STATES; i++)
		iw_list_init(&t->list[i]);
	t->mask = BUCKETS_MIN - 1;
	t->bucket = calloc(BUCKETS_MIN, sizeof(struct iw_pkt_session *));
	return t->bucket ? iw_os_random(t->secret, sizeof(t->secret)) : IW_E_NOMEM;
}

void iw_pkt_sessions_fini(struct iw_pkt_sessions *t)
{
	struct iw_list *n;

	for (int i = 0; t->bucket && i < IW_PKT_SESSION_STATES; i++)
		while ((n = iw_list_first(&t->list[i])))
			iw_pkt_session_free(t, iw_container_of(n, struct iw_pkt_session, order));
	free(t->bucket);
	t->bucket = NULL;
}

struct iw_pkt_session *iw_pkt_session_find(const struct iw_pkt_sessions *t,
					   const struct iw_addr *peer, bool established)
{
	uint64_t hash = hash_of(t, peer);

	for (struct iw_pkt_session *s = t->bucket[hash & t->mask]; s; s = s->chain)
		if (s->hash == hash && (s->state != IW_PKT_SESSION_NEW) == established &&
		    iw_addr_equal(&s->peer, peer))
			return s;
	return NULL;
}

/* Doubles the buckets. Without memory, the chains become longer. */
static void grow(struct iw_pkt_sessions *t)
{
	size_t n = (t->mask + 1) * 2;
	struct iw_pkt_session **bucket = calloc(n, sizeof(struct iw_pkt_session *));

	if (!bucket)
		return;
	for (size_t i = 0; i <= t->mask; i++) {
		struct iw_pkt_session *s = t->bucket[i], *next;

		for (; s; s = next) {
			next = s->chain;
			s->chain = bucket[s->hash & (n - 1)];
			bucket[s->hash & (n - 1)] = s;
		}
	}
	free(t->bucket);
	t->bucket = bucket;
	t->mask = n - 1;
}

static size_t total(const struct iw_pkt_sessions *t)
{
	return t->count[IW_PKT_SESSION_NEW] + t->count[IW_PKT_SESSION_IDLE] +
	       t->count[IW_PKT_SESSION_USED];
}

struct iw_pkt_session *iw_pkt_session_new(struct iw_pkt_sessions *t, const struct iw_addr *peer,
					  struct iw_dtls *dtls, uint64_t now)
{
	struct iw_list *oldest = iw_list_first(&t->list[IW_PKT_SESSION_NEW]);
	struct iw_pkt_session *s = calloc(1, sizeof(*s));

	if (!s) {
		iw_dtls_free(dtls);
		return NULL;
	}
	if (t->count[IW_PKT_SESSION_NEW] == IW_PKT_HANDSHAKES_MAX)
		iw_pkt_session_free(t, iw_container_of(oldest, struct iw_pkt_session, order));
	if (total(t) > t->mask)
		grow(t);
	s->peer = *peer;
	s->dtls = dtls;
	s->since = now;
	s->hash = hash_of(t, peer);
	s->chain = t->bucket[s->hash & t->mask];
	t->bucket[s->hash & t->mask] = s;
	iw_list_add_tail(&t->list[IW_PKT_SESSION_NEW], &s->order);
	t->count[IW_PKT_SESSION_NEW]++;
	return s;
}

void iw_pkt_session_free(struct iw_pkt_sessions *t, struct iw_pkt_session *s)
{
	struct iw_pkt_session **at = &t->bucket[s->hash & t->mask];

	while (*at != s)
		at = &(*at)->chain;
	*at = s->chain;
	if (t->last == s)
		t->last = NULL;
	iw_list_del(&s->order);
	t->count[s->state]--;
	iw_dtls_free(s->dtls);
	free(s->kept);
	free(s);
}

void iw_pkt_session_move(struct iw_pkt_sessions *t, struct iw_pkt_session *s,
			 enum iw_pkt_session_state state, uint64_t now)
{
	struct iw_pkt_session *old =
		state == IW_PKT_SESSION_IDLE ? iw_pkt_session_find(t, &s->peer, true) : NULL;

	if (old)
		iw_pkt_session_free(t, old);
	t->count[s->state]--;
	t->count[state]++;
	s->state = state;
	s->since = now;
	iw_list_del(&s->order);
	iw_list_add_tail(&t->list[state], &s->order);
}

bool iw_pkt_sessions_make_room(struct iw_pkt_sessions *t, uint64_t now)
{
	struct iw_list *idle = iw_list_first(&t->list[IW_PKT_SESSION_IDLE]);
	struct iw_list *used = iw_list_first(&t->list[IW_PKT_SESSION_USED]);
	struct iw_pkt_session *s;

	if (t->count[IW_PKT_SESSION_IDLE] + t->count[IW_PKT_SESSION_USED] < IW_PKT_SESSIONS_MAX)
		return true;
	s = iw_container_of(idle ? idle : used, struct iw_pkt_session, order);
	if (!idle && s->since + SILENT_NS > now)
		return false;
	iw_pkt_session_free(t, s);
	return true;
}

uint64_t iw_pkt_sessions_deadline(const struct iw_pkt_sessions *t)
{
	uint64_t at = IW_TIME_NEVER;

	for (int i = 0; i < IW_PKT_SESSION_STATES; i++) {
		struct iw_list *n = iw_list_first(&t->list[i]);
		const struct iw_pkt_session *s;

		if (!n)
			continue;
		s = iw_container_of(n, struct iw_pkt_session, order);
		at = IW_MIN(at, s->since + lifetime[i]);
	}
	return at;
}

void iw_pkt_sessions_expire(struct iw_pkt_sessions *t, uint64_t now)
{
	for (int i = 0; i < IW_PKT_SESSION_STATES; i++) {
		struct iw_list *n;

		while ((n = iw_list_first(&t->list[i]))) {
			struct iw_pkt_session *s = iw_container_of(n, struct iw_pkt_session, order);

			if (s->since + lifetime[i] > now)
				break;
			iw_pkt_session_free(t, s);
		}
	}
}
