/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Inside ddp-impair: what main passes to a carrier. A carrier moves units between two ends: tcp.c
 * relays streams, udp.c datagrams, frames.c Ethernet frames between two interfaces.
 */
#ifndef IW_DDP_IMPAIR_IMPAIR_H
#define IW_DDP_IMPAIR_IMPAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/cli.h"
#include "ddp-impair/decision_log.h"
#include "ddp-impair/link/link.h"
#include "ddp-impair/rules/rule.h"
#include "ddp-impair/capture.h"

struct iw_relay {
	struct iw_cli *cli;
	const char *listen_host, *to_host; /* NULL: the default address; --to always names a host */
	uint16_t listen_port, to_port;
	const char *between[2]; /* --between */
	struct iw_link_cfg
		link[2]; /* by the direction: from [0] the initiator, [1] the responder */
	bool linked[2];  /* the direction has settings */
	uint64_t seed;
	uint64_t end_ns; /* iw_os_now() at which to end; IW_TIME_NEVER: by a signal */
	uint64_t connect_timeout_ns;
	struct iw_rules *rules;           /* never NULL */
	struct iw_relay_log *log;         /* never NULL: what decides, records and replays */
	struct iw_relay_capture *capture; /* --pcap; NULL: none */
	bool need_units; /* rules, a record or a replay: without them pass octets as they are */
};

/*
 * The carriers. Each opens its sockets, confines the process (iw_confine), reports on standard error
 * that it is ready, relays until a signal or end_ns, and writes its summary or the "result" event.
 * Returns an exit status; failures have been reported.
 */
IW_MUST_CHECK int iw_relay_tcp(struct iw_relay *r);
IW_MUST_CHECK int iw_relay_udp(struct iw_relay *r);
IW_MUST_CHECK int iw_relay_frames(struct iw_relay *r);

#endif
