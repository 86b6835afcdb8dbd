// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Orderly shutdown of an association (RFC 9260 9.2), and the peer's ABORT (9.1). */
#include "sctp/internal.h"

#define GUARD_RTOS 5 /* duration of T5 in RTO.Max */

void iw_sctp_shutdown(struct iw_sctp_assoc *a, uint64_t now)
{
	if (a->state == IW_SCTP_COOKIE_WAIT || a->state == IW_SCTP_COOKIE_ECHOED)
		iw_sctp_kill(a, IW_SCTP_CAUSE_USER, NULL, 0, IW_E_CANCELED,
			     "sctp: shut down before the association was established");
	if (a->state != IW_SCTP_ESTABLISHED)
		return;
	iw_sctp_set_state(a, IW_SCTP_SHUTDOWN_PENDING);
	iw_sctp_shutdown_progress(a, now);
	iw_sctp_touch(a);
}

/* Starts T2 for a SHUTDOWN or SHUTDOWN ACK, and T5 with the first one (9.2). */
static void start_t2(struct iw_sctp_assoc *a, uint64_t now)
{
	a->tries = 0;
	a->shutdown_path = a->from;
	a->setup_rto = a->paths[a->from].rto;
	a->setup_at = iw_time_add(now, a->setup_rto);
	if (a->guard_at == IW_TIME_NEVER)
		a->guard_at = iw_time_add(now, GUARD_RTOS * a->s->cfg.times.rto_max);
}

static void acknowledge_shutdown(struct iw_sctp_assoc *a, uint64_t now)
{
	iw_sctp_set_state(a, IW_SCTP_SHUTDOWN_ACK_SENT);
	a->tx = (a->tx & ~(unsigned)(TX_SHUTDOWN | TX_SACK)) | TX_SHUTDOWN_ACK;
	a->in.sack_at = IW_TIME_NEVER;
	start_t2(a, now);
}

void iw_sctp_shutdown_progress(struct iw_sctp_assoc *a, uint64_t now)
{
	if (a->out.una < a->out.end)
		return;
	if (a->state == IW_SCTP_SHUTDOWN_PENDING) {
		iw_sctp_set_state(a, IW_SCTP_SHUTDOWN_SENT);
		a->tx |= TX_SHUTDOWN;
		start_t2(a, now);
	} else if (a->state == IW_SCTP_SHUTDOWN_RECEIVED) {
		acknowledge_shutdown(a, now);
	}
}

void iw_sctp_guard_timeout(struct iw_sctp_assoc *a)
{
	if (iw_sctp_tracing(a))
		iw_sctp_trace_timer(a, a->from, "shutdown_guard",
				    GUARD_RTOS * a->s->cfg.times.rto_max);
	iw_sctp_kill(a, IW_SCTP_CAUSE_USER, NULL, 0, IW_E_TIMEOUT,
		     "sctp: the shutdown did not complete in time (RFC 9260 9.2)");
}

void iw_sctp_shutdown_timeout(struct iw_sctp_assoc *a, uint64_t now)
{
	const struct iw_sctp_times *t = &a->s->cfg.times;

	if (iw_sctp_tracing(a))
		iw_sctp_trace_timer(a, a->from, "shutdown", a->setup_rto);
	if (a->tries++ >= t->assoc_max_retrans) {
		iw_sctp_down(a, IW_E_TIMEOUT, "sctp: no answer to %s (RFC 9260 9.2)",
			     a->state == IW_SCTP_SHUTDOWN_SENT ? "SHUTDOWN" : "SHUTDOWN ACK");
		return;
	}
	a->tx |= a->state == IW_SCTP_SHUTDOWN_SENT ? TX_SHUTDOWN : TX_SHUTDOWN_ACK;
	/*
	 * 6.4: uses another address than the last time, even if a packet of the peer has arrived
	 * from the last one since.
	 */
	a->shutdown_path = iw_sctp_turn_path(a, a->shutdown_path);
	a->from = a->shutdown_path;
	a->setup_rto = IW_MIN(2 * a->setup_rto, t->rto_max);
	a->setup_at = iw_time_add(now, a->setup_rto);
}

void iw_sctp_on_shutdown(struct iw_sctp_assoc *a, const struct iw_sctp_chunk *c, uint64_t now)
{
	if (c->value_len < 4 || !iw_sctp_on_cum(a, iw_get_be32(c->value), now))
		return;
	switch (a->state) {
	case IW_SCTP_ESTABLISHED:
	case IW_SCTP_SHUTDOWN_PENDING:
		iw_sctp_set_state(a, IW_SCTP_SHUTDOWN_RECEIVED);
		iw_sctp_raise(a, IW_SCTP_EV_ENDING);
		iw_sctp_shutdown_progress(a, now);
		break;
	case IW_SCTP_SHUTDOWN_SENT: /* both ends shut down at the same time */
		acknowledge_shutdown(a, now);
		break;
	case IW_SCTP_SHUTDOWN_ACK_SENT: /* our SHUTDOWN ACK was lost */
		a->tx |= TX_SHUTDOWN_ACK;
		break;
	case IW_SCTP_SHUTDOWN_RECEIVED:
	case IW_SCTP_COOKIE_WAIT:
	case IW_SCTP_COOKIE_ECHOED:
	case IW_SCTP_CLOSED:
		break;
	}
	iw_sctp_touch(a);
}

void iw_sctp_on_shutdown_ack(struct iw_sctp_assoc *a)
{
	iw_sctp_assoc_reply(a, IW_SCTP_SHUTDOWN_COMPLETE, NULL, 0);
	iw_sctp_down(a, 0, "sctp: shut down");
}

/* RFC 9260 8.5.1 B, C: our tag if T is clear, the peer's tag if T is set. */
static bool tag_fits(const struct iw_sctp_assoc *a, uint8_t flags)
{
	return a->s->cur.hdr.vtag == (flags & IW_SCTP_T ? a->peer_tag : a->my_tag);
}

void iw_sctp_on_shutdown_complete(struct iw_sctp_assoc *a, const struct iw_sctp_chunk *c)
{
	if (tag_fits(a, c->flags))
		iw_sctp_down(a, 0, "sctp: shut down");
}

void iw_sctp_on_abort(struct iw_sctp_assoc *a, const struct iw_sctp_chunk *c)
{
	struct iw_sctp_param cause;
	char text[80];
	struct iw_text t;

	if (!tag_fits(a, c->flags))
		return;
	iw_text_init(&t, text, sizeof(text));
	if (iw_wire_sctp_param_decode(&cause, c->value, c->value_len) > 0) {
		iw_text_str(&t, ": ");
		iw_wire_sctp_cause_print(&t, &cause);
		if (cause.type == IW_SCTP_CAUSE_USER && cause.value_len > 0) {
			iw_text_str(&t, ", ");
			for (size_t i = 0; i < cause.value_len; i++) {
				char one[2] = { (char)cause.value[i], '\0' };

				iw_text_str(&t, one[0] >= ' ' && one[0] <= '~' ? one : ".");
			}
		}
	}
	/*
	 * Both ends have all messages. The peer's SHUTDOWN COMPLETE was lost, and it has answered a
	 * late packet of ours after it had freed the association.
	 */
	if (a->state == IW_SCTP_SHUTDOWN_ACK_SENT) {
		iw_sctp_down(a, 0, "sctp: shut down");
		return;
	}
	a->why.from_peer = true;
	iw_sctp_down(a, IW_E_CLOSED, "sctp: the peer has aborted the association%s", text);
}
