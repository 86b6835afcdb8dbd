/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The output of sctp-ddp-ping, as text or JSON lines. */
#ifndef IW_SCTP_DDP_PING_SHOW_H
#define IW_SCTP_DDP_PING_SHOW_H

#include <stdio.h>

#include "cli/json.h"
#include "sctp-ddp-ping/ping.h"

struct iw_ping_show {
	struct iw_json *json;         /* borrowed; NULL: text to standard output */
	const char *transport, *host; /* borrowed; host: of a client */
	uint32_t size;                /* octets of a message */
	bool any_port; /* the system chooses the port, so it is shown even if quiet */
	bool quiet;    /* write statistics only */
	bool replies;  /* write a line for each reply */
	bool mtu;      /* write each change of the path MTU, and the peer's addresses at the end */
};

/* All functions write text or one JSON object. Their errors are those of iw_json_end and
 * iw_cli_flush. */

/* Writes an event; nothing for DONE. */
IW_MUST_CHECK int iw_ping_show_event(const struct iw_ping_show *s, const struct iw_ping *p,
				     const struct iw_ping_event *n);
/*
 * Writes the statistics of each stream and of all streams. JSON also has *why if its err is not 0,
 * and the exit status. IW_E_NOMEM, too.
 */
IW_MUST_CHECK int iw_ping_show_result(const struct iw_ping_show *s, const struct iw_ping *p,
				      const struct iw_fault *why, int status);
/* Writes the Private Data of a Reject; as text, only if the text of *why does not explain it. */
IW_MUST_CHECK int iw_ping_show_rejected(const struct iw_ping_show *s, const struct iw_fault *why,
					const uint8_t *pd, size_t len);
/* Writes the address and ports of a server. by_default: the user gave no address. */
IW_MUST_CHECK int iw_ping_show_listening(const struct iw_ping_show *s,
					 const struct iw_ping_server *server, bool by_default);
/* Writes an event of a server. */
IW_MUST_CHECK int iw_ping_show_server_event(const struct iw_ping_show *s,
					    const struct iw_ping_server_event *v);
/* Writes the diagnosis of the far end over one transport. */
IW_MUST_CHECK int iw_ping_show_diagnosis(const struct iw_ping_show *s,
					 const struct iw_ping_diagnosis *d);

#endif
