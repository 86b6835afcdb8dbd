// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The state of an association, its marks for the endpoint, and its end. */
#include "sctp/internal.h"

#include <assert.h>
#include <string.h>

const char *iw_sctp_state_name(enum iw_sctp_state state)
{
	switch (state) {
	case IW_SCTP_CLOSED:
		return "CLOSED";
	case IW_SCTP_COOKIE_WAIT:
		return "COOKIE-WAIT";
	case IW_SCTP_COOKIE_ECHOED:
		return "COOKIE-ECHOED";
	case IW_SCTP_ESTABLISHED:
		return "ESTABLISHED";
	case IW_SCTP_SHUTDOWN_PENDING:
		return "SHUTDOWN-PENDING";
	case IW_SCTP_SHUTDOWN_SENT:
		return "SHUTDOWN-SENT";
	case IW_SCTP_SHUTDOWN_RECEIVED:
		return "SHUTDOWN-RECEIVED";
	case IW_SCTP_SHUTDOWN_ACK_SENT:
		return "SHUTDOWN-ACK-SENT";
	}
	return "unknown";
}

#define TO(state) (1u << (state))

/* RFC 9260 4. Every state can also change to CLOSED. */
static const unsigned transitions[] = {
	[IW_SCTP_CLOSED] = TO(IW_SCTP_COOKIE_WAIT) | TO(IW_SCTP_ESTABLISHED),
	[IW_SCTP_COOKIE_WAIT] = TO(IW_SCTP_COOKIE_ECHOED) | TO(IW_SCTP_ESTABLISHED),
	[IW_SCTP_COOKIE_ECHOED] = TO(IW_SCTP_ESTABLISHED) | TO(IW_SCTP_COOKIE_WAIT),
	[IW_SCTP_ESTABLISHED] = TO(IW_SCTP_SHUTDOWN_PENDING) | TO(IW_SCTP_SHUTDOWN_RECEIVED),
	[IW_SCTP_SHUTDOWN_PENDING] = TO(IW_SCTP_SHUTDOWN_SENT) | TO(IW_SCTP_SHUTDOWN_RECEIVED),
	[IW_SCTP_SHUTDOWN_SENT] = TO(IW_SCTP_SHUTDOWN_ACK_SENT),
	[IW_SCTP_SHUTDOWN_RECEIVED] = TO(IW_SCTP_SHUTDOWN_ACK_SENT),
	[IW_SCTP_SHUTDOWN_ACK_SENT] = 0,
};

void iw_sctp_set_state(struct iw_sctp_assoc *a, enum iw_sctp_state to)
{
	assert(to == IW_SCTP_CLOSED || transitions[a->state] & TO(to));
	a->state = to;
}

/* --- marks ------------------------------------------------------------------------------------ */

void iw_sctp_raise(struct iw_sctp_assoc *a, enum iw_sctp_event_kind kind)
{
	a->events |= 1u << kind;
	if (iw_list_empty(&a->pending))
		iw_list_add_tail(&a->s->pending, &a->pending);
}

void iw_sctp_touch(struct iw_sctp_assoc *a)
{
	if (a->linked && iw_list_empty(&a->ready))
		iw_list_add_tail(&a->s->ready, &a->ready);
}

/* --- the end ---------------------------------------------------------------------------------- */

void iw_sctp_forget_setup(struct iw_sctp_assoc *a)
{
	iw_mem_free(a->s->cfg.mem, a->cookie, a->cookie_len);
	iw_mem_free(a->s->cfg.mem, a->report, a->report_len);
	a->cookie = a->report = NULL;
	a->cookie_len = a->report_len = 0;
}

/* Ends an association that is not closed yet, and records why. */
static void went_down(struct iw_sctp_assoc *a, int err, const char *fmt, va_list ap)
{
	struct iw_text t;

	iw_text_init(&t, a->why.text, sizeof(a->why.text));
	iw_text_vfmt(&t, fmt, ap);
	a->why.err = err;
	a->why.clause = "RFC 9260";
	iw_sctp_set_state(a, IW_SCTP_CLOSED);
	iw_sctp_link_out(a);
	iw_sctp_forget_setup(a);
	if (a->out.first < a->out.end)
		iw_sctp_raise(a, IW_SCTP_EV_DONE);
	iw_sctp_raise(a, IW_SCTP_EV_DOWN);
}

void iw_sctp_down(struct iw_sctp_assoc *a, int err, const char *fmt, ...)
{
	va_list ap;

	if (a->state == IW_SCTP_CLOSED)
		return;
	va_start(ap, fmt);
	went_down(a, err, fmt, ap);
	va_end(ap);
}

void iw_sctp_kill(struct iw_sctp_assoc *a, uint16_t cause, const void *info, size_t info_len,
		  int err, const char *fmt, ...)
{
	struct iw_sctp_packet to;
	va_list ap;

	if (a->state == IW_SCTP_CLOSED)
		return;
	if (a->peer_tag) {
		iw_sctp_address(a, &a->paths[a->from], &to);
		iw_sctp_reply_cause(a->s, &to, a->peer_port, a->peer_tag, IW_SCTP_ABORT, 0, cause,
				    info, info_len);
	}
	va_start(ap, fmt);
	went_down(a, err, fmt, ap);
	va_end(ap);
}

void iw_sctp_abort(struct iw_sctp_assoc *a, const char *reason, uint64_t now)
{
	(void)now;
	iw_sctp_kill(a, IW_SCTP_CAUSE_USER, reason, reason ? strlen(reason) : 0, IW_E_CANCELED,
		     "sctp: aborted by this end");
}
