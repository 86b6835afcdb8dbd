// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The probe: which Requests it sends, in which order, and what the answers show together. */
#include "mpa-probe/probe.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpa/mpa.h"
#include "os/addr.h"
#include "os/os.h"
#include "util/num.h"

#define ADDRS       8
#define PER_SECOND  20
#define AT_ONCE     5
#define DEPTH       16    /* requested depth; most peers have at least that */
#define DEPTH_LARGE 16382 /* the largest depth that is a number (RFC 6581 9.1) */
#define RESERVED    0x07  /* not 0x08, with which siw agrees to FPDUs above the MSS */
#define READ_NS     IW_MSEC(300)
#define WAIT_NS     IW_SEC(5)
#define WAIT_NEAR   IW_MSEC(500)

static const char *const purposes[] = {
	"main", "flags", "markers", "rev1", "stag0", "grid", "check"
};

const char *iw_purpose_name(enum iw_purpose p)
{
	return p < IW_ARRAY_LEN(purposes) ? purposes[p] : "?";
}

const struct iw_probe_attempt *iw_probe_find(const struct iw_probe_result *r, enum iw_purpose p)
{
	for (size_t i = 0; i < r->nattempts; i++)
		if (r->attempts[i].purpose == p)
			return &r->attempts[i];
	return NULL;
}

/* A probe in progress. */
struct probe {
	const struct iw_probe_cfg *cfg;
	struct iw_probe_result *out;
	struct iw_addr addr[ADDRS];
	size_t naddr;
	char host[IW_ADDR_TEXT]; /* the address probed */
	struct iw_attempt_cfg attempt;
	uint64_t began, due; /* due: when the next connection may begin */
	unsigned number;
	struct iw_fault *why;
};

/* --- connections --- */

static void pick_address(struct probe *s, const struct iw_addr *a)
{
	uint64_t wait = s->cfg->timeout_ns;

	if (!wait)
		wait = iw_addr_is_loopback(a) ? WAIT_NEAR : WAIT_NS;
	(void)iw_addr_host(s->host, a);
	(void)iw_addr_format(s->out->target, a);
	s->attempt = (struct iw_attempt_cfg){
		.play = { .host = s->host,
			  .port = s->cfg->port,
			  .bind_addr = s->cfg->bind_addr,
			  .interface = s->cfg->interface,
			  .secure = s->cfg->secure,
			  .name = s->cfg->host,
			  .stop_fd = s->cfg->stop_fd,
			  .trace = s->cfg->trace,
			  .trace_ctx = s->cfg->trace_ctx },
		.connect_ns = wait,
		.reply_ns = wait,
		.read_ns = IW_MIN(wait, READ_NS),
	};
}

/* Waits until the rate allows the next connection. The first ones need not wait. */
static int keep_pace(struct probe *s)
{
	uint64_t gap = IW_SEC(1) / (s->cfg->per_second ? s->cfg->per_second : PER_SECOND), now;
	struct pollfd fd = { .fd = s->cfg->stop_fd, .events = POLLIN };

	while (s->number >= AT_ONCE && (now = iw_os_now()) < s->due) {
		struct timespec ts = { .tv_sec = (time_t)((s->due - now) / IW_SEC(1)),
				       .tv_nsec = (long)((s->due - now) % IW_SEC(1)) };

		if (ppoll(&fd, 1, &ts, NULL) > 0)
			return iw_fail(s->why, IW_E_CANCELED, "interrupted");
	}
	s->due = iw_time_add(iw_os_now(), gap);
	return 0;
}

/* Makes one connection. *attempt is set if attempt is not NULL. */
static int try(struct probe *s, enum iw_purpose purpose, const struct iw_ask *ask,
	       const struct iw_probe_attempt **attempt)
{
	struct iw_probe_attempt *at = &s->out->attempts[s->out->nattempts];
	int err;

	if (s->out->nattempts == IW_PROBE_ATTEMPTS_MAX)
		return iw_fail(s->why, IW_E_LIMIT, "the probe needs more than %u connections",
			       IW_PROBE_ATTEMPTS_MAX);
	err = keep_pace(s);
	if (err)
		return err;
	*at = (struct iw_probe_attempt){ .purpose = purpose, .ask = *ask };
	s->attempt.play.number = ++s->number;
	s->attempt.stag0 = purpose == IW_PURPOSE_STAG0;
	err = iw_attempt(&s->attempt, &at->ask, &at->answer, s->why);
	if (err)
		return err;
	s->out->nattempts++;
	if (attempt)
		*attempt = at;
	if (s->cfg->on_attempt)
		s->cfg->on_attempt(s->cfg->attempt_ctx, at);
	return 0;
}

static struct iw_ask usual(const struct probe *s)
{
	return (struct iw_ask){ .rev = 2,
				.crc = true,
				.enhanced = true,
				.ird = DEPTH,
				.ord = DEPTH,
				.pd = s->cfg->pd,
				.pd_len = s->cfg->pd_len };
}

/* --- the main Request --- */

static bool replied(const struct iw_probe_attempt *at)
{
	return at && (at->answer.outcome == IW_OUTCOME_ACCEPTED ||
		      at->answer.outcome == IW_OUTCOME_REFUSED);
}

static bool accepted(const struct iw_probe_attempt *at)
{
	return at && at->answer.outcome == IW_OUTCOME_ACCEPTED;
}

/*
 * True if a simpler Request may succeed. A peer that closes without a Reply may not understand the
 * Request (RFC 6581 10). One that refuses may object to the Request or to its Private Data. The
 * other outcomes do not depend on the Request.
 */
static bool worth_another(enum iw_outcome o)
{
	return o == IW_OUTCOME_CLOSED || o == IW_OUTCOME_RESET || o == IW_OUTCOME_REFUSED ||
	       o == IW_OUTCOME_BAD_REPLY;
}

/*
 * Uses the first address that can be reached. A local error may concern only one address: --bind
 * names an address of one family.
 */
static int try_addresses(struct probe *s, const struct iw_ask *ask,
			 const struct iw_probe_attempt **attempt)
{
	int err = 0;

	for (size_t i = 0; i < s->naddr; i++) {
		pick_address(s, &s->addr[i]);
		s->out->nattempts = 0;
		err = try(s, IW_PURPOSE_MAIN, ask, attempt);
		if (err == IW_E_OS)
			continue;
		if (err || ((*attempt)->answer.outcome != IW_OUTCOME_UNREACHABLE &&
			    (*attempt)->answer.outcome != IW_OUTCOME_PORT_CLOSED))
			break;
	}
	return err;
}

static int try_main(struct probe *s)
{
	struct iw_ask ask = usual(s);
	const struct iw_probe_attempt *at = NULL;
	int err;

	if (s->cfg->only)
		ask = *s->cfg->only;
	else {
		ask.peer_to_peer = true;
		ask.rtr = IW_RTR_ALL;
	}
	err = try_addresses(s, &ask, &at);
	if (err)
		return err;
	s->out->main = at;
	if (s->cfg->only || s->cfg->single)
		return 0;
	if (worth_another(at->answer.outcome)) {
		ask.peer_to_peer = false;
		ask.rtr = 0;
		err = try(s, IW_PURPOSE_MAIN, &ask, &at);
	}
	if (!err && worth_another(at->answer.outcome)) {
		ask.rev = 1;
		ask.enhanced = false;
		err = try(s, IW_PURPOSE_MAIN, &ask, &at);
	}
	/*
	 * If no Request is accepted, the report describes the first Reply, or else the first
	 * connection.
	 */
	for (size_t i = 0; i < s->out->nattempts && !err && !replied(s->out->main); i++)
		if (replied(&s->out->attempts[i]))
			s->out->main = &s->out->attempts[i];
	if (!err && accepted(at))
		s->out->main = at;
	return err;
}

/* --- the other Requests --- */

static int try_others(struct probe *s)
{
	struct iw_ask ask = usual(s);
	bool rev1 = s->out->main->ask.rev == 1;
	int err;

	ask.rev = rev1 ? 1 : 2;
	ask.enhanced = !rev1;
	ask.crc = false;
	ask.reserved = RESERVED;
	ask.ird = ask.ord = DEPTH_LARGE;
	/* Before the user's Private Data, where the library puts it. */
	ask.block = IW_MPA_ULPDU_MAX;
	err = try(s, IW_PURPOSE_FLAGS, &ask, NULL);
	if (err)
		return err;
	ask = s->out->main->ask;
	ask.markers = true;
	err = try(s, IW_PURPOSE_MARKERS, &ask, NULL);
	if (err || rev1)
		return err;
	ask = usual(s);
	ask.rev = 1;
	ask.enhanced = false;
	return try(s, IW_PURPOSE_REV1, &ask, NULL);
}

/*
 * Repeats the main Request, to distinguish a Request without an answer from a listener that is
 * gone.
 */
static int check(struct probe *s)
{
	const struct iw_probe_attempt *at;
	int err = try(s, IW_PURPOSE_CHECK, &s->out->main->ask, &at);

	if (!err)
		s->out->gone = at->answer.outcome != IW_OUTCOME_ACCEPTED;
	return err;
}

static int try_cell(struct probe *s, const struct iw_ask *ask)
{
	const struct iw_probe_attempt *at;
	int err;

	if (s->out->gone)
		return 0;
	err = try(s, IW_PURPOSE_GRID, ask, &at);
	if (!err && (at->answer.outcome == IW_OUTCOME_SILENT ||
		     at->answer.outcome == IW_OUTCOME_PORT_CLOSED ||
		     at->answer.outcome == IW_OUTCOME_UNREACHABLE))
		err = check(s);
	return err;
}

static int try_forms(struct probe *s, struct iw_ask ask)
{
	static const uint8_t forms[] = { IW_RTR_SEND, IW_RTR_WRITE, IW_RTR_READ, IW_RTR_ALL };
	int err;

	ask.enhanced = ask.rev >= 2;
	err = try_cell(s, &ask);
	if (err || ask.rev != 2)
		return err;
	ask.peer_to_peer = true;
	for (size_t i = 0; i < IW_ARRAY_LEN(forms) && !err; i++) {
		ask.rtr = forms[i];
		err = try_cell(s, &ask);
	}
	return err;
}

static int try_grid(struct probe *s)
{
	static const uint8_t revs[] = { 2, 1, 0, 3 };
	struct iw_ask ask = usual(s);
	int err = 0;

	for (size_t i = 0; i < IW_ARRAY_LEN(revs) && !err; i++) {
		for (int cm = 0; cm < 4 && !err; cm++) {
			ask.rev = revs[i];
			ask.crc = !(cm & 1);
			ask.markers = cm & 2;
			err = try_forms(s, ask);
		}
		if (!err && !s->out->gone)
			err = check(s);
	}
	if (err || s->out->gone)
		return err;
	ask = usual(s);
	ask.rev = s->out->main->ask.rev;
	ask.enhanced = ask.rev >= 2;
	return try(s, IW_PURPOSE_STAG0, &ask, NULL);
}

/* --- facts --- */

static void know(struct iw_facts *f, enum iw_fact fact, bool is)
{
	f->is[fact] = is ? IW_YES : IW_NO;
}

static bool dropped(const struct iw_probe_attempt *at)
{
	return at &&
	       (at->answer.outcome == IW_OUTCOME_CLOSED || at->answer.outcome == IW_OUTCOME_RESET);
}

static bool contains(const uint8_t *hay, size_t len, const char *needle)
{
	size_t n = strlen(needle);

	for (size_t i = 0; i + n <= len; i++)
		if (memcmp(hay + i, needle, n) == 0)
			return true;
	return false;
}

static bool of_own_tool(const uint8_t *pd, size_t len)
{
	return contains(pd, len, "ddp-transfer") || (len >= 3 && memcmp(pd, "iwB", 3) == 0);
}

static void learn_from_main(struct iw_facts *f, const struct iw_probe_attempt *at)
{
	const struct iw_answer *a = &at->answer;
	const uint8_t *pd = a->raw + a->pd_off;
	uint32_t ird, ord;

	if (!replied(at))
		return;
	know(f, IW_FACT_REPLY_REV0, a->rev == 0 && at->ask.rev != 0);
	if (of_own_tool(pd, a->pd_len))
		know(f, IW_FACT_OWN_TOOL, true);
	if (!accepted(at))
		return;
	know(f, IW_FACT_MARKERS_WANTED, a->flags & IW_MPA_M);
	know(f, IW_FACT_SMBD_HEADER,
	     !a->enhanced && iw_smbd_decode(pd, a->pd_len, &ird, &ord) != IW_SMBD_NONE);
	if (at->ask.crc && !(a->flags & IW_MPA_C))
		know(f, IW_FACT_C_NEVER, true);
	if (a->nudged)
		know(f, IW_FACT_FIRST_FPDU_LOST, true);
	if (!a->enhanced || at->ask.rtr != IW_RTR_ALL)
		return;
	know(f, IW_FACT_RTR_WRITE_ALONE, a->rtr == IW_RTR_WRITE);
	know(f, IW_FACT_RTR_READ_ALONE, a->rtr == IW_RTR_READ);
	know(f, IW_FACT_RTR_ALL, a->rtr == IW_RTR_ALL);
}

static void learn_from_flags(struct iw_facts *f, const struct iw_probe_attempt *at,
			     const struct iw_probe_attempt *main)
{
	const struct iw_answer *a = &at->answer;

	if (main->ask.peer_to_peer && accepted(main) && !accepted(at))
		know(f, IW_FACT_NEEDS_P2P, dropped(at));
	else if (main->ask.peer_to_peer && accepted(main))
		know(f, IW_FACT_NEEDS_P2P, false);
	if (!replied(at))
		return;
	know(f, IW_FACT_ECHOES_RESERVED, (a->flags & RESERVED) == RESERVED);
	if (!accepted(at))
		return;
	know(f, IW_FACT_C_ALWAYS, a->flags & IW_MPA_C);
	know(f, IW_FACT_C_FOLLOWS, !(a->flags & IW_MPA_C) && !(f->is[IW_FACT_C_NEVER] == IW_YES));
	if (f->is[IW_FACT_C_NEVER] != IW_YES)
		know(f, IW_FACT_C_NEVER, false);
	know(f, IW_FACT_BLOCK, a->block > 0);
	if (!a->enhanced)
		return;
	know(f, IW_FACT_DEPTH_128, a->e.ird == 128);
	know(f, IW_FACT_DEPTH_32, a->e.ird == 32);
	know(f, IW_FACT_DEPTH_16, a->e.ird == 16);
}

static void learn_from_markers(struct iw_facts *f, const struct iw_probe_attempt *at)
{
	const struct iw_answer *a = &at->answer;
	const struct iw_mpa_enhanced *e = &a->e;

	if (!replied(at) && !dropped(at))
		return;
	know(f, IW_FACT_MARKERS_OBEYED, accepted(at));
	know(f, IW_FACT_MARKERS_REFUSED,
	     a->outcome == IW_OUTCOME_REFUSED && !(a->flags & IW_MPA_M) && a->pd_len == 0 &&
		     !e->peer_to_peer && e->ird == 0 && e->ord == 0 && a->ending != IW_ENDING_OPEN);
}

static void learn_from_grid(struct iw_facts *f, const struct iw_probe_attempt *at)
{
	const struct iw_answer *a = &at->answer;

	/*
	 * IW_PURPOSE_FLAGS changes several things at once. This Request shows whether the model
	 * mattered.
	 */
	if (at->ask.rev == 2 && !at->ask.peer_to_peer && at->ask.crc && !at->ask.markers &&
	    accepted(at))
		know(f, IW_FACT_NEEDS_P2P, false);
	if (at->ask.rev == 0 && !at->ask.markers && !at->ask.crc) {
		know(f, IW_FACT_REV0_ACCEPTED, accepted(at));
		know(f, IW_FACT_REV0_ANSWERED_1, a->outcome == IW_OUTCOME_REFUSED && a->rev == 1);
	}
	if (at->ask.rev == 3 && dropped(at)) {
		know(f, IW_FACT_REV3_RESET, a->outcome == IW_OUTCOME_RESET);
		know(f, IW_FACT_REV3_CLOSED, a->outcome == IW_OUTCOME_CLOSED);
	}
}

static void learn(struct iw_facts *f, const struct iw_probe_result *r)
{
	const struct iw_probe_attempt *at;

	learn_from_main(f, r->main);
	if (accepted(r->main) && r->main != r->attempts)
		know(f, IW_FACT_REV1_ONLY, r->main->ask.rev == 1);
	else if (accepted(r->main))
		know(f, IW_FACT_REV1_ONLY, false);
	for (size_t i = 0; i < r->nattempts; i++) {
		at = &r->attempts[i];
		if (at->answer.terminated &&
		    (at->answer.siw_order || f->is[IW_FACT_TERMINATE_ORDER] != IW_YES))
			know(f, IW_FACT_TERMINATE_ORDER, at->answer.siw_order);
		switch (at->purpose) {
		case IW_PURPOSE_FLAGS:
			learn_from_flags(f, at, r->main);
			break;
		case IW_PURPOSE_MARKERS:
			learn_from_markers(f, at);
			break;
		case IW_PURPOSE_STAG0:
			if (accepted(at) && at->answer.proof != IW_PROOF_NONE)
				know(f, IW_FACT_STAG0_FATAL, at->answer.proof == IW_PROOF_BROKEN);
			break;
		case IW_PURPOSE_GRID:
			/*
			 * If the listener went away during the grid, it is unknown which Requests
			 * it answered.
			 */
			if (!r->gone)
				learn_from_grid(f, at);
			break;
		case IW_PURPOSE_MAIN:
		case IW_PURPOSE_REV1:
		case IW_PURPOSE_CHECK:
			break;
		}
	}
}

/* --- the probe --- */

static int run(struct probe *s)
{
	const struct iw_probe_cfg *cfg = s->cfg;
	int err;

	err = iw_addr_resolve(s->addr, ADDRS, &s->naddr, cfg->host, cfg->port, s->why);
	if (err)
		return err;
	err = try_main(s);
	if (err || cfg->only)
		return err;
	if (s->out->main->answer.outcome != IW_OUTCOME_ACCEPTED || cfg->single)
		return 0;
	err = try_others(s);
	if (!err && cfg->grid)
		err = try_grid(s);
	return err;
}

int iw_probe(struct iw_probe_result *out, const struct iw_probe_cfg *cfg, struct iw_fault *why)
{
	struct probe s = { .cfg = cfg, .out = out, .began = iw_os_now(), .why = why };
	struct iw_facts facts = { { IW_NOT_KNOWN } };
	int err;

	*out = (struct iw_probe_result){ .attempts = calloc(IW_PROBE_ATTEMPTS_MAX,
							    sizeof(*out->attempts)) };
	if (!out->attempts)
		return iw_fail(why, IW_E_NOMEM, "out of memory");
	snprintf(out->target, sizeof(out->target), "%s", cfg->host);
	err = run(&s);
	if (out->main) {
		out->iwarp = out->main->answer.outcome == IW_OUTCOME_ACCEPTED;
		learn(&facts, out);
		iw_identify(&out->verdict, &facts);
	}
	out->took_ns = iw_os_now() - s.began;
	return err;
}

void iw_probe_free(struct iw_probe_result *r)
{
	free(r->attempts);
	r->attempts = NULL;
}
