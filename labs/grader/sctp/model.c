/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "labs/grader/sctp/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"
#include "wire/sctpddp.h"

static const char *const arrival_names[ARRIVALS] = {
	"ARRIVAL_PLACED",    "ARRIVAL_DUPLICATE", "ARRIVAL_BEYOND",  "ARRIVAL_STAG",
	"ARRIVAL_NO_BUFFER", "ARRIVAL_BOUNDS",    "ARRIVAL_STOPPED",
};

static void *must(void *p)
{
	if (!p)
		abort();
	return p;
}

/* --- the link --------------------------------------------------------------------------------- */

void sctp_plan_init(struct plan *plan)
{
	*plan = (struct plan){ .next = 1, .msn = 1 };
}

void sctp_plan_free(struct plan *plan)
{
	free(plan->packets);
	plan->packets = NULL;
}

static struct packet *add(struct plan *plan)
{
	if (plan->n == plan->cap) {
		plan->cap = plan->cap ? 2 * plan->cap : 64;
		plan->packets = must(realloc(plan->packets, plan->cap * sizeof(*plan->packets)));
	}
	return &plan->packets[plan->n++];
}

/* Adds the segments of a message; `first` is the header of its first one. */
static void add_message(struct plan *plan, struct lab_run *run, const uint8_t *pool,
			struct iw_ddp first, size_t len, size_t longest)
{
	size_t done = 0;

	do {
		size_t rest = len - done, most = rest < longest ? rest : longest;
		size_t now = most ? 1 + lab_below(run, most) : 0;
		struct packet *p = add(plan);

		*p = (struct packet){ .number = plan->next++, .ddp = first, .len = now };
		p->payload = pool + lab_below(run, POOL_LEN - now + 1);
		p->ddp.to += first.tagged ? done : 0;
		p->ddp.mo += first.tagged ? 0 : (uint32_t)done;
		done += now;
		p->ddp.last = done == len;
	} while (done < len);
}

void sctp_plan_tagged(struct plan *plan, struct lab_run *run, const uint8_t *pool, uint32_t stag,
		      uint64_t to, size_t len, size_t longest)
{
	struct iw_ddp h = { .tagged = true, .dv = 1, .rv = 1, .stag = stag, .to = to };

	add_message(plan, run, pool, h, len, longest);
}

void sctp_plan_untagged(struct plan *plan, struct lab_run *run, const uint8_t *pool, size_t len,
			size_t longest)
{
	struct iw_ddp h = { .dv = 1, .rv = 1, .opcode = IW_OP_SEND, .msn = plan->msn++ };

	add_message(plan, run, pool, h, len, longest);
}

static int by_arrival(const void *a, const void *b)
{
	const struct packet *x = a, *y = b;

	if (x->arrived != y->arrived)
		return x->arrived > y->arrived ? 1 : -1;
	return (x->number > y->number) - (x->number < y->number);
}

static uint64_t transmit(const struct link *link, struct lab_run *run, uint64_t sent)
{
	for (unsigned i = 0; i < link->losses && lab_below(run, 1000) < link->loss; i++)
		sent += link->rtt;
	return sent + link->one_way + lab_below(run, link->jitter + 1);
}

void sctp_link_carry(const struct link *link, struct lab_run *run, struct plan *plan)
{
	size_t n = plan->n;

	for (size_t i = 0; i < n; i++) {
		struct packet *p = &plan->packets[i];

		p->sent = i * link->gap;
		p->arrived = transmit(link, run, p->sent);
		if (lab_below(run, 1000) < link->again) {
			struct packet copy = *p;

			copy.arrived += 1 + lab_below(run, link->rtt + 1);
			*add(plan) = copy;
		}
	}
	qsort(plan->packets, plan->n, sizeof(*plan->packets), by_arrival);
}

/* --- the session ------------------------------------------------------------------------------ */

static int stag_random(void *ctx, void *buf, size_t len)
{
	lab_fill(ctx, buf, len);
	return 0;
}

bool sctp_succeeds(struct lab_run *run, const char *what)
{
	if (!lab_run_call(run))
		return false;
	return lab_expect_true(run, lab_get_u8(run) == 1, "%s failed: expected success", what) &&
	       lab_results_end(run);
}

struct session *sctp_session_new(struct lab_run *run, uint32_t window)
{
	struct session *s = must(calloc(1, sizeof(*s)));
	struct iw_ddp_cfg cfg = {
		.mem = &iw_os_heap,
		.pd = 1,
		.stream = 1,
		.dv = 1,
		.queue_depth = { BUFFERS_POSTED },
		.early_max = window - 1,
	};

	s->run = run;
	s->window = window;
	if (iw_stag_table_new(&s->stags, &iw_os_heap, stag_random, run))
		abort();
	cfg.stags = s->stags;
	/* early_max 0 would be a transport that keeps order. */
	cfg.early_max += window == 1;
	if (iw_ddp_new(&s->ddp, &cfg, NULL))
		abort();
	lab_call(run, "receiver_new");
	lab_put_u32(run, window);
	if (!sctp_succeeds(run, "receiver_new()")) {
		sctp_session_free(s);
		return NULL;
	}
	return s;
}

void sctp_session_free(struct session *s)
{
	if (!s)
		return;
	iw_ddp_free(s->ddp);
	iw_stag_table_free(s->stags);
	while (s->nmemories)
		free(s->memories[--s->nmemories].at);
	free(s);
}

bool sctp_session_end(struct session *s)
{
	struct lab_run *run;

	if (!s)
		return true;
	run = s->run;
	sctp_session_free(s);
	lab_call(run, "receiver_free");
	return lab_run_call(run) && lab_results_end(run);
}

/* Memory with the octets that memory_new() of the harness writes. */
static uint8_t *add_memory(struct session *s, size_t len)
{
	if (s->nmemories == MEMORIES_MAX)
		abort();
	s->memories[s->nmemories].at = must(malloc(len + 1));
	s->memories[s->nmemories].len = len;
	memset(s->memories[s->nmemories].at, 0xee, len);
	return s->memories[s->nmemories++].at;
}

bool sctp_session_register(struct session *s, uint64_t to, uint32_t len, uint32_t *stag)
{
	struct iw_region r = {
		.rights = IW_RIGHT_REMOTE_WRITE,
		.pd = 1,
		.stream = 1,
		.base = add_memory(s, len),
		.len = len,
		.to = to,
		.expires = UINT64_MAX,
		.uses = UINT32_MAX,
	};

	if (iw_stag_add(s->stags, &r, stag, NULL))
		abort();
	snprintf(s->memories[s->nmemories - 1].name, sizeof(s->memories->name),
		 "the Tagged Buffer of STag 0x%08x", *stag);
	lab_call(s->run, "receiver_register");
	lab_put_u32(s->run, *stag);
	lab_put_u64(s->run, to);
	lab_put_u32(s->run, len);
	return sctp_succeeds(s->run, "receiver_register()");
}

bool sctp_session_post(struct session *s, uint32_t len)
{
	if (iw_ddp_post(s->ddp, IW_QN_SEND, add_memory(s, len), len, 0))
		abort();
	snprintf(s->memories[s->nmemories - 1].name, sizeof(s->memories->name),
		 "the Untagged Buffer of MSN %u", ++s->posted);
	lab_call(s->run, "receiver_post");
	lab_put_u32(s->run, len);
	return sctp_succeeds(s->run, "receiver_post()");
}

/* --- a segment arrives ------------------------------------------------------------------------ */

size_t sctp_chunk_encode(uint8_t *dst, const struct packet *p)
{
	size_t len = (size_t)iw_wire_sctp_segment_encode(dst, IW_SCTP_SSN_LEN, (uint16_t)p->number);

	len += (size_t)iw_wire_ddp_encode(dst + len, IW_DDP_HDR_MAX, &p->ddp);
	if (p->len)
		memcpy(dst + len, p->payload, p->len);
	return len + p->len;
}

static void describe(struct session *s, const struct packet *p)
{
	unsigned long long number = p->number, to = p->ddp.to;
	const char *last = p->ddp.last ? ", L" : "";
	char header[80];

	if (p->ddp.tagged)
		snprintf(header, sizeof(header), "tagged, STag 0x%08x, TO 0x%llx", p->ddp.stag, to);
	else
		snprintf(header, sizeof(header), "untagged, QN %u, MSN %u, MO %u", p->ddp.qn,
			 p->ddp.msn, p->ddp.mo);
	lab_case(s->run, "DDP-SSN %u arrives (number %llu, window %u): %s, %zu octets%s",
		 (unsigned)(uint16_t)number, number, s->window, header, p->len, last);
}

static enum arrival result_of(int err)
{
	switch (err) {
	case 0:
		return ARRIVAL_PLACED;
	case IW_E_DDP_STAG:
		return ARRIVAL_STAG;
	case IW_E_DDP_QN:
	case IW_E_DDP_NOBUF:
	case IW_E_DDP_MSN:
		return ARRIVAL_NO_BUFFER;
	case IW_E_DDP_BOUNDS:
	case IW_E_DDP_WRAP:
	case IW_E_DDP_MO:
	case IW_E_DDP_TOOLONG:
		return ARRIVAL_BOUNDS;
	}
	abort();
}

static uint64_t next_number(const struct session *s)
{
	return iw_ddp_next_seq(s->ddp) + 1;
}

/* What the engine does. */
static enum arrival expected_arrival(struct session *s, const struct packet *p)
{
	uint64_t next = next_number(s);
	enum arrival result;

	if (s->stopped)
		return ARRIVAL_STOPPED;
	if (p->number >= next + s->window) {
		s->stopped = true;
		return ARRIVAL_BEYOND;
	}
	if (p->number < next || s->seen[p->number])
		return ARRIVAL_DUPLICATE;
	result = result_of(
		iw_ddp_place(s->ddp, &p->ddp, p->payload, p->len, IW_RIGHT_REMOTE_WRITE, 0, NULL));
	s->stopped = result != ARRIVAL_PLACED;
	if (s->stopped)
		return result;
	s->seen[p->number] = true;
	s->arrived++;
	if (iw_ddp_arrive(s->ddp, p->number - 1, &p->ddp, p->len, NULL))
		abort();
	return result;
}

static bool judge_delivery(struct session *s, const struct iw_ddp_msg *m, unsigned i)
{
	struct lab_run *run = s->run;
	char what[64];
	uint8_t tagged = lab_get_u8(run);
	uint32_t stag = lab_get_u32(run);
	uint64_t to = lab_get_u64(run);
	uint32_t msn = lab_get_u32(run);
	uint64_t len = lab_get_u64(run);

	snprintf(what, sizeof(what), "delivered message %u", i + 1);
	if (!lab_expect_true(run, tagged == m->tagged, "%s is %s: expected %s", what,
			     tagged ? "tagged" : "untagged", m->tagged ? "tagged" : "untagged"))
		return false;
	snprintf(what, sizeof(what), "the %s of delivered message %u", m->tagged ? "STag" : "MSN",
		 i + 1);
	if (!lab_expect_number(run, what, m->tagged ? m->stag : m->msn, m->tagged ? stag : msn))
		return false;
	snprintf(what, sizeof(what), "the TO of delivered message %u", i + 1);
	if (m->tagged && !lab_expect_number(run, what, m->to, to))
		return false;
	snprintf(what, sizeof(what), "the length of delivered message %u", i + 1);
	return lab_expect_number(run, what, m->len, len);
}

enum { AT_ONCE_MAX = 256 }; /* DELIVERIES_MAX of calls.c */

static bool judge_deliveries(struct session *s)
{
	uint32_t seen = lab_get_u32(s->run), n = 0;
	struct iw_ddp_msg messages[AT_ONCE_MAX];

	while (n < AT_ONCE_MAX && iw_ddp_deliver(s->ddp, &messages[n], NULL) == 1)
		s->delivered += !messages[n++].tagged;
	if (!lab_expect_number(s->run, "the number of messages delivered now", n, seen))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!judge_delivery(s, &messages[i], i))
			return false;
	return true;
}

/* Where another rule applies than the step's. */
static const char *clause_of(const struct packet *p, enum arrival expected)
{
	if (expected == ARRIVAL_BEYOND)
		return "RFC 5043 10";
	if (expected == ARRIVAL_DUPLICATE)
		return "RFC 5041 3 (item 11), 5.3";
	if (expected == ARRIVAL_PLACED && p->ddp.tagged && p->len == 0)
		return "RFC 5041 5.2";
	return NULL;
}

static bool judge_arrival(struct session *s, const struct packet *p, unsigned judge)
{
	enum arrival expected;
	uint64_t early;

	describe(s, p);
	if (!lab_expect_true(s->run, lab_get_u8(s->run) == 1, "calls.c or chunk.h were changed"))
		return false;
	expected = expected_arrival(s, p);
	lab_clause(s->run, clause_of(p, expected));
	if (!lab_expect_name(s->run, "receiver_arrive()", arrival_names, ARRIVALS, expected,
			     lab_get_u8(s->run)))
		return false;
	if (!(judge & JUDGE_DELIVERY))
		return true;
	if (!judge_deliveries(s))
		return false;
	early = s->arrived - (next_number(s) - 1);
	return lab_expect_number(s->run, "receiver_early()", early, lab_get_u32(s->run));
}

bool sctp_session_arrive_all(struct session *s, const struct packet *p, size_t n, unsigned judge)
{
	uint8_t chunk[CHUNK_LEN];

	if (n == 1)
		describe(s, p);
	else
		lab_case(s->run, "%zu segments in one session, window %u", n, s->window);
	lab_call(s->run, "receiver_arrive");
	lab_put_u8(s->run, (judge & JUDGE_DELIVERY) != 0);
	lab_put_u32(s->run, (uint32_t)n);
	for (size_t i = 0; i < n; i++)
		lab_put_octets(s->run, chunk, sctp_chunk_encode(chunk, &p[i]));
	if (!lab_run_call_within(s->run, n == 1 ? 2000 : 8000))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!judge_arrival(s, &p[i], judge))
			return false;
	return lab_results_end(s->run) &&
	       (!(judge & JUDGE_MEMORY) || sctp_session_compare_memories(s));
}

bool sctp_session_arrive(struct session *s, const struct packet *p, unsigned judge)
{
	return sctp_session_arrive_all(s, p, 1, judge);
}

bool sctp_session_compare_memories(struct session *s)
{
	lab_call(s->run, "memories");
	if (!lab_run_call(s->run) ||
	    !lab_expect_number(s->run, "the number of buffers", s->nmemories, lab_get_u32(s->run)))
		return false;
	for (size_t i = 0; i < s->nmemories; i++) {
		struct lab_octets o = lab_get_octets(s->run);

		if (!lab_expect_octets(s->run, s->memories[i].name, s->memories[i].at,
				       s->memories[i].len, o.at, o.len))
			return false;
	}
	return lab_expect_true(s->run, lab_get_u8(s->run) == 1,
			       "octets before the first one of a buffer were changed") &&
	       lab_results_end(s->run);
}
