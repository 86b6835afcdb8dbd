/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The options that ddp-send and ddp-recv have in common, beside those of all tools: an argp child. */
#ifndef IW_FILE_OPTIONS_H
#define IW_FILE_OPTIONS_H

#include <argp.h>
#include <stdbool.h>

#include "cli/endpoint.h"
#include "file/transfer.h"

struct iw_transfer_opts {
	struct iw_transfer_cfg cfg; /* cli, role, listen and the paths are the tool's to fill */
	const char *
		/* the first option given that is the initiator's alone, for complaints; NULL: none */
		choice;
	bool listen_given;
};

/* Its input is a struct iw_transfer_opts. */
extern const struct argp iw_transfer_argp;

/* Before parsing. */
void iw_transfer_opts_init(struct iw_transfer_opts *o);

/* In ARGP_KEY_END, when cfg.listen is decided: options that do not fit end the tool with a message. */
void iw_transfer_opts_check(struct iw_transfer_opts *o, const struct argp_state *state);

/* HOST:PATH, [v6]:PATH, PATH or -, as cli/endpoint.h has it; text that is none ends the tool with a message. */
void iw_transfer_endpoint(struct iw_endpoint *e, const char *text, const struct argp_state *state);

/* Behind iw_cli_start: fills cfg.conn from the options. host: of the peer; NULL for listeners. */
void iw_transfer_opts_finish(struct iw_transfer_opts *o, struct iw_cli *cli, const char *host);

#endif
