// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The object: creation, start, time-out, failure; and the permitted changes of its state. */
#include "mpa/mpa.h"

#include <assert.h>
#include <string.h>

#include "mpa/internal.h"

/* RFC 5044 7.1.2 rule 8 requires a time-out but gives no value. These are those of Linux siw. */
#define REPLY_TIMEOUT   IW_SEC(10)
#define REQUEST_TIMEOUT IW_SEC(5)

#define EMSS_DEFAULT 536 /* RFC 9293 3.7.1, until iw_mpa_set_emss */

/* clang-format off */
static const char *const state_names[] = {
	[IW_MPA_IDLE]         = "idle",
	[IW_MPA_WAIT_REQUEST] = "wait-request",
	[IW_MPA_DECIDING]     = "deciding",
	[IW_MPA_WAIT_REPLY]   = "wait-reply",
	[IW_MPA_FULL_RX]      = "full-rx",
	[IW_MPA_FULL]         = "full",
	[IW_MPA_STREAMING]    = "streaming",
	[IW_MPA_FAILED]       = "failed",
};
/* clang-format on */

const char *iw_mpa_state_name(enum iw_mpa_state s)
{
	return (size_t)s < IW_ARRAY_LEN(state_names) ? state_names[s] : "unknown";
}

#define TO(state) (1u << IW_MPA_##state)

/* clang-format off */
static const unsigned next_states[] = {
	[IW_MPA_IDLE]         = TO(WAIT_REQUEST) | TO(WAIT_REPLY) | TO(FAILED),
	[IW_MPA_WAIT_REQUEST] = TO(DECIDING) | TO(FAILED),
	[IW_MPA_DECIDING]     = TO(FULL_RX) | TO(STREAMING) | TO(FAILED),
	[IW_MPA_WAIT_REPLY]   = TO(FULL) | TO(STREAMING) | TO(FAILED),
	[IW_MPA_FULL_RX]      = TO(FULL) | TO(FAILED),
	[IW_MPA_FULL]         = TO(FAILED),
	[IW_MPA_STREAMING]    = 0,
	[IW_MPA_FAILED]       = 0,
};
/* clang-format on */

/* A change that is not in the table is a bug in lib/mpa. */
void iw_mpa_set_state(struct iw_mpa *m, enum iw_mpa_state to)
{
	assert(next_states[m->state] & 1u << to);
	m->state = to;
}

static void drop_spill(struct iw_mpa *m)
{
	if (m->rx.spill)
		iw_pool_put(m->cfg.spill, m->rx.spill);
	m->rx.spill = NULL;
	m->rx.spilled = 0;
}

int iw_mpa_failed(struct iw_mpa *m, int err, struct iw_fault *why)
{
	if (why)
		why->offset = m->rx.pos;
	m->err = err;
	m->deadline = IW_TIME_NEVER;
	m->rx.cur = m->rx.end;
	drop_spill(m);
	iw_mpa_set_state(m, IW_MPA_FAILED);
	return err;
}

size_t iw_mpa_size(void)
{
	return sizeof(struct iw_mpa);
}

int iw_mpa_init(struct iw_mpa *m, const struct iw_mpa_cfg *cfg, struct iw_fault *why)
{
	struct iw_mpa_cfg own = *cfg;
	int ret;

	own.offer.enhanced = cfg->rev >= 2 && iw_offer_is_enhanced(&cfg->offer);
	ret = iw_mpa_check_cfg(&own, why);
	if (ret < 0)
		return ret;
	memset(m, 0, sizeof(*m));
	m->cfg = own;
	m->cfg.offer.pd = NULL;
	m->state = IW_MPA_IDLE;
	m->deadline = IW_TIME_NEVER;
	m->tx.emss = EMSS_DEFAULT;
	m->agreed.ird = cfg->offer.ird;
	m->agreed.ord = cfg->offer.ord;
	if (cfg->initiator)
		iw_mpa_build_request(m, cfg->offer.pd, cfg->offer.pd_len);
	return 0;
}

void iw_mpa_fini(struct iw_mpa *m)
{
	drop_spill(m);
}

static uint64_t wait_ns(const struct iw_mpa *m)
{
	if (m->cfg.timeout_ns)
		return m->cfg.timeout_ns;
	return m->cfg.initiator ? REPLY_TIMEOUT : REQUEST_TIMEOUT;
}

void iw_mpa_start(struct iw_mpa *m, uint64_t now)
{
	m->deadline = iw_time_add(now, wait_ns(m));
	iw_mpa_set_state(m, m->cfg.initiator ? IW_MPA_WAIT_REPLY : IW_MPA_WAIT_REQUEST);
}

uint64_t iw_mpa_deadline(const struct iw_mpa *m)
{
	return m->deadline;
}

int iw_mpa_timeout(struct iw_mpa *m, uint64_t now, struct iw_fault *why)
{
	int ret;

	if (now < m->deadline)
		return 0;
	/* RFC 5044 7.1.2 rules 8 and 10. Two responders also detect each other this way. */
	if (m->cfg.initiator && m->in_len == 0)
		ret = iw_fail(
			why, IW_E_TIMEOUT,
			"no answer to the MPA Request within %t; another program may use that port: give the iWARP listener's port with -p",
			wait_ns(m));
	else
		ret = iw_fail(
			why, IW_E_TIMEOUT,
			"no complete MPA %s within %t (%u octets of it arrived); is the peer an iWARP %s?",
			m->cfg.initiator ? "Reply" : "Request", wait_ns(m), (uint32_t)m->in_len,
			m->cfg.initiator ? "listener" : "initiator");
	if (why)
		why->clause = "RFC 5044 7.1.2";
	return iw_mpa_failed(m, ret, why);
}

enum iw_mpa_state iw_mpa_state(const struct iw_mpa *m)
{
	return m->state;
}

const struct iw_agreed *iw_mpa_agreed(const struct iw_mpa *m)
{
	return &m->agreed;
}

bool iw_mpa_should_retry_rev1(const struct iw_mpa *m)
{
	return m->retry_rev1;
}
