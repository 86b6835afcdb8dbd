// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Paths: round trips (RFC 9260 6.3.1), heartbeats (8.3), failure (8.1, 8.2), confirmation (5.4). */
#include "sctp/internal.h"

#include <string.h>

/* Heartbeat Info, which the HEARTBEAT ACK returns unchanged. */
#define INFO_LEN 12 /* path, kind, nonce */

void iw_sctp_path_init(struct path *p, struct iw_sctp_assoc *a, const struct iw_sctp_addr *addr,
		       unsigned index)
{
	*p = (struct path){
		.a = a,
		.addr = *addr,
		.index = (uint8_t)index,
		.rto = a->s->cfg.times.rto_initial,
		.rtt_min = UINT64_MAX,
		.t3_at = IW_TIME_NEVER,
		.pace_at = IW_TIME_NEVER,
		.hb_at = IW_TIME_NEVER,
		.probe_at = IW_TIME_NEVER,
	};
	iw_sctp_pmtu_init(p);
	iw_sctp_cc_init(&p->cc, iw_sctp_payload(p), iw_sctp_addr_is_ipv4(addr));
}

void iw_sctp_rtt(struct path *p, uint64_t rtt)
{
	const struct iw_sctp_times *t = &p->a->s->cfg.times;

	p->rtt_min = IW_MIN(p->rtt_min, rtt);
	if (p->rtt_samples < UINT8_MAX)
		p->rtt_samples++;
	if (p->srtt == 0) {
		p->srtt = rtt;
		p->rttvar = rtt / 2;
	} else {
		uint64_t off = p->srtt > rtt ? p->srtt - rtt : rtt - p->srtt;

		p->rttvar = p->rttvar - p->rttvar / 4 + off / 4;
		p->srtt = p->srtt - p->srtt / 8 + rtt / 8;
	}
	p->rttvar = IW_MAX(p->rttvar, (uint64_t)1);
	p->rto = IW_MAX(p->srtt + 4 * p->rttvar, t->rto_min);
	p->rto = IW_MIN(p->rto, t->rto_max);
	if (iw_sctp_tracing(p->a))
		iw_sctp_trace_rtt(p, rtt);
}

static void set_path_state(struct path *p, enum iw_sctp_path_state state)
{
	if (p->state == state)
		return;
	p->state = state;
	if (iw_sctp_tracing(p->a))
		iw_sctp_trace_path(p);
	iw_sctp_raise(p->a, IW_SCTP_EV_PATH);
	iw_sctp_check_max(p->a);
}

void iw_sctp_path_alive(struct path *p, uint64_t now)
{
	bool failed = p->errors > 0;

	p->errors = 0;
	p->a->errors = 0;
	set_path_state(p, IW_SCTP_PATH_ACTIVE);
	if (failed)
		iw_sctp_pmtu_retry(p, now);
}

static void confirm(struct path *p, uint64_t now)
{
	if (p->confirmed)
		return;
	iw_sctp_set_confirmed(p);
	p->verify_due = false;
	if (iw_sctp_tracing(p->a))
		iw_sctp_trace_path(p);
	iw_sctp_raise(p->a, IW_SCTP_EV_PATH);
	iw_sctp_check_max(p->a);
	iw_sctp_pmtu_start(p, now);
}

bool iw_sctp_path_failed(struct path *p, bool heartbeat)
{
	struct iw_sctp_assoc *a = p->a;
	const struct iw_sctp_times *t = &a->s->cfg.times;
	/*
	 * 8.1: unanswered HEARTBEATs of other paths do not count: idle unreachable addresses would
	 * end an association whose data path works.
	 */
	bool counts = !heartbeat || p == iw_sctp_data_path(a);

	if (++p->errors > t->path_max_retrans)
		set_path_state(p, IW_SCTP_PATH_INACTIVE);
	if (!counts || ++a->errors <= t->assoc_max_retrans)
		return true;
	iw_sctp_down(a, IW_E_TIMEOUT, "sctp: the peer no longer answers (RFC 9260 8.1)");
	return false;
}

/* --- path selection --------------------------------------------------------------------------- */

struct path *iw_sctp_other_path(const struct iw_sctp_assoc *a, struct path *p)
{
	for (unsigned i = 1; i < a->npaths; i++) {
		struct path *other = &a->paths[(p->index + i) % a->npaths];

		if (path_is_usable(other))
			return other;
	}
	return p;
}

/*
 * Returns the next confirmed path after the last alternate one, except p; inactive ones only if
 * inactive is true. Returns p if there is no other.
 */
static struct path *next_alternate(struct iw_sctp_assoc *a, struct path *p, bool inactive)
{
	for (unsigned i = 1; i <= a->npaths; i++) {
		struct path *next = &a->paths[(a->alternate + i) % a->npaths];

		if (next != p && next->confirmed && (inactive || path_is_usable(next))) {
			a->alternate = next->index;
			return next;
		}
	}
	return p;
}

struct path *iw_sctp_rtx_path(struct iw_sctp_assoc *a, struct path *p)
{
	struct path *data = iw_sctp_data_path(a);

	return p == data ? next_alternate(a, p, false) : data;
}

unsigned iw_sctp_turn_path(struct iw_sctp_assoc *a, unsigned from)
{
	struct path *data = iw_sctp_data_path(a);

	return from == data->index ? next_alternate(a, data, true)->index : data->index;
}

struct path *iw_sctp_data_path(const struct iw_sctp_assoc *a)
{
	struct path *p = &a->paths[0];

	return path_is_usable(p) ? p : iw_sctp_other_path(a, p);
}

/* --- heartbeats ------------------------------------------------------------------------------- */

/*
 * Returns the wait for the next HEARTBEAT, 8.3: HB.interval and an RTO, up to half an RTO less or
 * more.
 */
static uint64_t hb_pause(struct path *p)
{
	uint64_t extra = p->rto * (iw_next_jitter(&p->a->s->jitter) >> 24) / 256;

	/*
	 * 5.4: an unconfirmed address gets one about every RTO until it is confirmed or inactive.
	 */
	if (!p->confirmed && p->state == IW_SCTP_PATH_ACTIVE)
		return p->rto + extra / 2;
	return p->a->s->cfg.times.hb_interval + p->rto / 2 + extra;
}

/*
 * 5.4: HB.Max.Burst is 1: an association sends one HEARTBEAT an RTO to its unconfirmed addresses,
 * in turn. The endpoint limits those of all associations, since many of them may list the address
 * of one uninvolved host.
 */
void iw_sctp_verify_next(struct iw_sctp_assoc *a, uint64_t now)
{
	uint64_t rto = a->s->cfg.times.rto_initial;
	unsigned last = a->verify_turn;

	a->verify_at = IW_TIME_NEVER;
	for (unsigned i = 1; i <= a->npaths; i++) {
		struct path *p = &a->paths[(last + i) % a->npaths];

		if (!p->verify_due)
			continue;
		if (now >= a->verify_from && !iw_sctp_within_rate(&a->s->verify_at, now))
			a->verify_from = iw_time_add(now, rto);
		if (now < a->verify_from) {
			a->verify_at = a->verify_from;
			return;
		}
		p->verify_due = false;
		p->hb_due = true;
		a->verify_turn = p->index;
		a->verify_from = iw_time_add(now, rto);
	}
}

static void verify_later(struct path *p, uint64_t now)
{
	p->verify_due = true;
	iw_sctp_verify_next(p->a, now);
}

void iw_sctp_hb_start(struct path *p, uint64_t now)
{
	p->hb_at = iw_time_add(now, hb_pause(p));
	if (!p->confirmed)
		verify_later(p, now);
}

void iw_sctp_hb_timeout(struct path *p, uint64_t now)
{
	struct iw_sctp_assoc *a = p->a;
	const struct iw_sctp_times *t = &a->s->cfg.times;
	bool busy = p->nflight > 0 || (path_is_usable(p) && now - p->last_sent < t->hb_interval);

	if (p->hb_out) {
		p->hb_out = false;
		if (iw_sctp_tracing(a))
			iw_sctp_trace_timer(a, p->index, "heartbeat", now - p->hb_sent);
		if (!iw_sctp_path_failed(p, true))
			return;
		p->rto = IW_MIN(2 * p->rto, t->rto_max);
	}
	p->hb_at = iw_time_add(now, hb_pause(p));
	if (!p->confirmed)
		verify_later(p, now);
	else if (!busy)
		p->hb_due = true;
}

size_t iw_sctp_put_heartbeat(struct path *p, uint8_t *dst, size_t cap, bool probe, uint64_t now)
{
	struct iw_sctp *s = p->a->s;
	uint8_t info[INFO_LEN], value[INFO_LEN + IW_SCTP_CHUNK_HDR_LEN];
	uint8_t *nonce = probe ? p->probe_nonce : p->hb_nonce;
	struct iw_sctp_param param = { .type = IW_SCTP_PARAM_HEARTBEAT_INFO,
				       .value = info,
				       .value_len = INFO_LEN };
	struct iw_sctp_chunk c = { .type = IW_SCTP_HEARTBEAT,
				   .value = value,
				   .value_len = sizeof(value) };
	int n;

	if (s->cfg.random(s->cfg.random_ctx, nonce, 8) < 0)
		return 0;
	iw_put_be16(info, p->index);
	iw_put_be16(info + 2, probe);
	memcpy(info + 4, nonce, 8);
	if (iw_wire_sctp_param_encode(value, sizeof(value), &param) < 0)
		return 0;
	n = iw_wire_sctp_chunk_encode(dst, cap, &c);
	if (n < 0)
		return 0;
	if (!probe) {
		p->hb_due = false;
		p->hb_out = true;
		p->hb_sent = now;
		/* An answer is due within the RTO; an unconfirmed address is asked again then. */
		p->hb_at = iw_time_add(now, hb_pause(p));
	} else {
		p->probe_sent = now;
	}
	return (size_t)n;
}

void iw_sctp_on_heartbeat_ack(struct iw_sctp_assoc *a, const struct iw_sctp_chunk *c, uint64_t now)
{
	struct iw_sctp_param param;
	unsigned index;
	struct path *p;

	if (iw_wire_sctp_param_decode(&param, c->value, c->value_len) <= 0 ||
	    param.type != IW_SCTP_PARAM_HEARTBEAT_INFO || param.value_len != INFO_LEN)
		return;
	index = iw_get_be16(param.value);
	if (index >= a->npaths)
		return;
	p = &a->paths[index];
	if (iw_get_be16(param.value + 2)) {
		/* The nonce is that of an earlier size until a probe of this size is sent. */
		if (p->probe_size && p->probe_sent &&
		    memcmp(p->probe_nonce, param.value + 4, 8) == 0) {
			/* 8.1: any HEARTBEAT ACK proves that the path is alive. */
			iw_sctp_path_alive(p, now);
			iw_sctp_pmtu_answered(p, now);
		}
		return;
	}
	if (!p->hb_out || memcmp(p->hb_nonce, param.value + 4, 8) != 0)
		return;
	p->hb_out = false;
	iw_sctp_rtt(p, now - p->hb_sent);
	iw_sctp_path_alive(p, now);
	confirm(p, now);
	p->hb_at = iw_time_add(now, hb_pause(p));
}
