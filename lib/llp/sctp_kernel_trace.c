// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The traced events of kernel SCTP: what the kernel reports about the primary address. */
#include "llp/sctp_kernel.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "util/num.h"
#include "util/trace.h"

/* While traced, the kernel is asked at most that often for each association. */
#define SAMPLE_NS IW_MSEC(10)

static void trace_path(const struct kport *k, struct kassoc *x, const struct sctp_status *s)
{
	const struct sctp_paddrinfo *p = &s->sstat_primary;
	struct iw_trace_event ev = { .kind = IW_TRACE_path };
	struct iw_addr addr = { .len = sizeof(struct sockaddr_in6) };
	char text[IW_ADDR_TEXT];

	if (memcmp(&x->traced, p, offsetof(struct sctp_paddrinfo, spinfo_cwnd)) == 0 &&
	    x->traced.spinfo_mtu == p->spinfo_mtu)
		return;
	x->traced = *p;
	if (((const struct sockaddr *)&p->spinfo_address)->sa_family == AF_INET)
		addr.len = sizeof(struct sockaddr_in);
	memcpy(&addr, &p->spinfo_address, addr.len);
	ev.path.assoc = (uint32_t)s->sstat_assoc_id;
	ev.path.address = iw_addr_host(text, &addr);
	ev.path.state = p->spinfo_state == SCTP_ACTIVE        ? "active"
			: p->spinfo_state == SCTP_UNCONFIRMED ? "unconfirmed"
							      : "inactive";
	ev.path.mtu_octets = p->spinfo_mtu;
	ev.path.primary = true;
	iw_trace(k->cfg.tracer, &ev);
}

void iw_port_kernel_sample(const struct kport *k, struct kassoc *x, uint64_t now)
{
	struct iw_trace_event window = { .kind = IW_TRACE_window };
	struct iw_trace_event rtt = { .kind = IW_TRACE_rtt };
	struct sctp_status s = { 0 };
	socklen_t len = sizeof(s);

	if (x->fd < 0 || x->connecting || now < iw_time_add(x->sampled_at, SAMPLE_NS) ||
	    getsockopt(x->fd, IPPROTO_SCTP, SCTP_STATUS, &s, &len) < 0)
		return;
	x->sampled_at = now;
	trace_path(k, x, &s);
	window.window.assoc = rtt.rtt.assoc = (uint32_t)s.sstat_assoc_id;
	window.window.cwnd_octets = s.sstat_primary.spinfo_cwnd;
	iw_trace(k->cfg.tracer, &window);
	rtt.rtt.srtt_ns = IW_MSEC(s.sstat_primary.spinfo_srtt);
	rtt.rtt.rto_ns = IW_MSEC(s.sstat_primary.spinfo_rto);
	iw_trace(k->cfg.tracer, &rtt);
}
