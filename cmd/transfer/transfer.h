/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The transfers of ddp-send and ddp-recv. A tool fills struct iw_transfer_cfg and calls
 * iw_transfer_run.
 *
 * cmd/transfer/protocol decides what to do next; this room does it, with the public API and
 * cmd/transfer/files. One thread runs all connections: each gets a turn of about one chunk. Worker
 * threads digest and write chunks (transfer/files/worker.h), so that a disk does not delay the
 * network.
 */
#ifndef IW_TRANSFER_TRANSFER_H
#define IW_TRANSFER_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>

#include <iwarp/verbs.h>

#include "cli/cli.h"
#include "cli/param.h"
#include "cli/secure.h"
#include "transfer/files/filter.h"
#include "transfer/files/place.h"
#include "transfer/files/removals.h"
#include "transfer/protocol/hello.h"

struct iw_ssh_link;

/* With this many octets of memory a listener can serve one transfer by RDMA Write or RDMA Read. */
#define IW_TRANSFER_MEMORY (UINT64_C(4) << 20)

struct iw_transfer_cfg {
	struct iw_cli *cli; /* started */
	enum iw_xfer_role role;
	bool listen;
	bool stats; /* print totals at the end */
	bool once;  /* listener: end after one transfer */
	/*
	 * A set of enum iw_xfer_opt. A listener: the options for owners, attributes and removal
	 * that peers may request.
	 */
	uint32_t opts;
	unsigned jobs; /* connections */
	/*
	 * Initiator: how often a lost connection is set up again without progress. 0: the loss of a
	 * connection ends the transfer.
	 */
	unsigned redials;
	uint64_t rate; /* at most this many bits per second; 0: no limit */
	/*
	 * With IW_XFER_OPT_DRY_RUN: prints nothing except the reason of a failure. If the transfer
	 * ends in order, *would_remove is the number of names that would be removed. NULL: not
	 * requested.
	 */
	uint64_t *would_remove;
	/*
	 * Initiator: a dry run adds the names that would be removed; a later run as sink removes
	 * only those. NULL: no list.
	 */
	struct iw_removals *removals;
	/*
	 * Source, with IW_XFER_OPT_LISTED: the only names that may be removed, each terminated by
	 * NUL. Borrowed.
	 */
	const char *listed;
	size_t listed_len;
	uint64_t spared;   /* number of unlisted names that the patterns exclude */
	bool drop_partial; /* sink: remove partial files of a transfer that failed */
	bool safe_links;   /* sink: omit symbolic links that lead out of their tree */
	struct iw_filter filter;
	struct iw_limits limits;
	struct iw_cli_param conn; /* except the Private Data */
	/* Initiator: for the key of the peer. NULL: the peer is authenticated in another way. */
	struct iw_cli_secure *secure;
	enum iw_xfer_mode mode; /* chosen by the initiator, as is digest */
	enum iw_xfer_digest_kind digest;
	/*
	 * Listening sink: reject transfers without digests. IW_DIGEST_BY_ADDRESS: only if it does
	 * not listen on a loopback address.
	 */
	enum { IW_DIGEST_BY_ADDRESS, IW_DIGEST_REQUIRED, IW_DIGEST_OPTIONAL } require_digest;
	/* initiator: the operands of a source, or the paths that a sink requests */
	char *const *paths;
	size_t npaths;
	/* Source: the path at the peer. Sink: its own target. Listener: the served directory. */
	const char *path;
	bool to_stdout; /* sink: standard output is the target */
	/*
	 * Listening sink: the path of the control socket, or "none". NULL: the default path, if the
	 * socket can be created there.
	 */
	const char *control;
	/* Octets of memory for peers and stag-reg together; 0: no limit. */
	uint64_t memory;
	/*
	 * ssh start-up: the pipe to the other end. Its end, or an ERROR, ends all transfers. A
	 * listener answers FALLBACK: then the pipe carries the one connection. NULL: none.
	 */
	struct iw_ssh_link *link;
	/* Initiator: a socket that is the connection, as for iw_adopt; owned. 0: connect to conn.at. */
	int pipe;
	/* Listener: ports to try. 0, 0: that of conn.at. Over UDP they are UDP ports. */
	uint16_t port_first, port_last;
	/*
	 * Listener: called in place of the report that it listens, before octets of peers are read.
	 * An error ends the run. NULL: report it.
	 */
	int (*listening)(void *ctx, uint16_t port, uint16_t udp_port, struct iw_fault *why);
	/* Called in place of the report that the run cannot begin; returns the exit status. */
	int (*failed)(void *ctx, const struct iw_fault *why);
	void *ctx; /* for both */
};

/*
 * Returns the measures that confine such a run, a set of enum iw_confine_how. Adds the capabilities
 * that it needs to *caps.
 */
unsigned iw_transfer_confine(const struct iw_transfer_cfg *cfg, uint64_t *caps);

/*
 * Runs the transfers to their end. Returns the exit status; the reason of a failure has been
 * reported to the user.
 */
IW_MUST_CHECK int iw_transfer_run(const struct iw_transfer_cfg *cfg);

#endif
