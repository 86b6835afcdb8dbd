/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * file: trees, temporaries, digests, holes, and the driver that joins them, cmd/transfer/protocol and the public API into what ddp-send and ddp-recv
 * do. The tools fill struct iw_transfer_cfg and call one function.
 *
 * Rooms: cmd/transfer/protocol decides, this room acts. One context, one thread: a listener serves all its peers in turns of a chunk each. A second
 * thread takes chunks, digests them and writes them (worker.h), so that a disk does not hold up the network.
 */
#ifndef IW_FILE_TRANSFER_H
#define IW_FILE_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>

#include <iwarp/verbs.h>

#include "cli/param.h"
#include "cli/cli.h"
#include "transfer/files/filter.h"
#include "transfer/files/place.h"
#include "transfer/files/removals.h"
#include "transfer/protocol/hello.h"

/* Octets of memory with which a listener can serve one transfer by RDMA Write or RDMA Read. */
#define IW_TRANSFER_MEMORY (UINT64_C(4) << 20)

struct iw_transfer_cfg {
	struct iw_cli *cli; /* started */
	enum iw_xfer_role role;
	bool listen;
	bool stats; /* print totals at the end */
	bool once;  /* listen: one transfer, then the end */
	uint32_t
		opts; /* set of enum iw_xopt; a listener: those that it lets others choose, of owners, attributes and removal */
	unsigned jobs; /* connections */
	/* initiator: attempts, without progress, to set a lost connection up again; 0: its loss is the end */
	unsigned redials;
	uint64_t rate; /* bits a second at most; 0: no limit */
	/* With IW_XOPT_DRY_RUN: nothing is printed but the reason of a failure, and if the transfer ends in order, the number of names that would
	 * be removed is stored here. NULL: not requested */
	uint64_t *look;
	/* initiator: a dry run lists here what would be removed; a sink's later run removes only that. NULL: no list */
	struct iw_removals *removals;
	/* source, with IW_XOPT_LISTED: the only names that may be removed, each with a NUL after it. Borrowed */
	const char *listed;
	size_t listed_len;
	uint64_t spared;   /* number of unlisted names that the patterns exclude */
	bool drop_partial; /* sink: remove partial files of a transfer that failed */
	bool safe_links;   /* sink: leave out symbolic links that lead out of their tree */
	struct iw_filter filter;
	struct iw_limits limits;
	struct iw_cli_param conn; /* but for the Private Data */
	enum iw_xfer_mode mode;   /* the initiator's choice, as is digest */
	enum iw_xfer_digest digest;
	/* Listening sink: reject transfers without digests. By default yes, unless it listens on a loopback address. */
	enum { IW_DIGEST_BY_ADDRESS, IW_DIGEST_REQUIRED, IW_DIGEST_OPTIONAL } require_digest;
	char *const *paths; /* initiator: a source's own operands, or what a sink wants */
	size_t npaths;
	/* source: the peer's target. Sink: the own one. Listener: the served directory */
	const char *path;
	bool to_stdout; /* sink: standard output is the target */
	/* listening sink: path of the control socket, "none"; NULL: the default if that can be */
	const char *control;
	/* octets of memory for peers and stag-reg together; 0: no limit */
	uint64_t memory;
};

/* The measures that confine such a run: returns a set of enum iw_confine_how, and adds capabilities to *caps. */
unsigned iw_transfer_confine(const struct iw_transfer_cfg *cfg, uint64_t *caps);

/* Runs it to its end. Returns the exit status; the user has been told everything. */
IW_MUST_CHECK int iw_transfer_run(const struct iw_transfer_cfg *cfg);

#endif
