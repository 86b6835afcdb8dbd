/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What sctp-ddp-ping prints, for people and as JSON lines. */
#ifndef IW_PING_SHOW_H
#define IW_PING_SHOW_H

#include <stdio.h>

#include "cli/json.h"
#include "sctp-ddp-ping/ping.h"

struct iw_ping_show {
	struct iw_json *json; /* NULL: for people, on standard output */
	const char *transport, *host;
	uint32_t size;
	bool any_port; /* the system chooses the port: it is shown though quiet */
	bool quiet;    /* statistics alone */
	bool replies;  /* a line for each reply */
	bool mtu;      /* one whenever the path MTU changes, and one for each address at the end */
};

/* One piece of news but DONE. 0, or what iw_json_end() says. */
IW_MUST_CHECK int iw_ping_show_event(const struct iw_ping_show *s, const struct iw_ping *p,
				     const struct iw_ping_event *n);
/* Statistics of each stream and of all; as JSON also @why, if it failed (err is not 0). As above, or
 * IW_E_NOMEM. */
IW_MUST_CHECK int iw_ping_show_result(const struct iw_ping_show *s, const struct iw_ping *p,
				      const struct iw_fault *why, int status);
/* The Private Data that a session was rejected with. For people only if the text of @why does not
 * explain it. */
IW_MUST_CHECK int iw_ping_show_rejected(const struct iw_ping_show *s, const struct iw_fault *why,
					const uint8_t *pd, size_t len);
/* Where a server listens; by_default: nobody named the address. */
IW_MUST_CHECK int iw_ping_show_listening(const struct iw_ping_show *s,
					 const struct iw_ping_server *server, bool by_default);
/* What a visitor of a server did. */
IW_MUST_CHECK int iw_ping_show_server_event(const struct iw_ping_show *s,
					    const struct iw_ping_server_event *v);
/* What answers at the far end, over one transport. */
IW_MUST_CHECK int iw_ping_show_diagnosis(const struct iw_ping_show *s,
					 const struct iw_ping_diagnosis *d);

#endif
