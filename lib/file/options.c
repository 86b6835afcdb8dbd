// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The options of both transfer tools. */
#include "file/options.h"

#include <string.h>

#include "cli/option.h"
#include "file/digest.h"

#define MULPDU_LEAST 512 /* as <iwarp/verbs.h> has it */
#define MULPDU_MOST  64768

enum {
	KEY_DIGEST = 0xa001, /* no character: long only; not those of the common options */
	KEY_FORCE,
	KEY_ONCE,
	KEY_CC,
	KEY_MULPDU,
	KEY_CRC,
	KEY_MARKERS,
	KEY_REV,
};

/* clang-format off */
static const struct argp_option options[] = {
	{ "mode", 'm', "write|read|send", 0,
	  "How data move: by RDMA Write (default), RDMA Read or Send; the choice of who connects", 1 },
	{ "digest", KEY_DIGEST, "none|xxh3|sha256", 0,
	  "What both ends compare (default xxh3); the choice of who connects", 1 },
	{ "force", KEY_FORCE, NULL, 0, "Write also where a file of the same size and time is there already", 1 },
	{ "once", KEY_ONCE, NULL, 0, "Listening: take one transfer, then exit with its status", 1 },

	{ "cc", KEY_CC, "NAME", 0, "TCP congestion control (default the system's)", 2 },
	{ "mulpdu", KEY_MULPDU, "auto|emss|N", 0,
	  "Longest segment: auto lets an FPDU span TCP segments, emss makes each FPDU one TCP segment"
	  " as RNICs need, N is an upper bound in octets (512 to 64768)", 2 },
	{ "crc", KEY_CRC, "wanted|required|off", 0,
	  "MPA's CRC32c (default wanted); it is off when both ends say so", 2 },
	{ "markers", KEY_MARKERS, NULL, 0, "Demand MPA markers in what this end receives", 2 },
	{ "rev", KEY_REV, "1|2", 0, "MPA revision (default 2, falling back to 1)", 2 },
	{ 0 },
};
/* clang-format on */

static uint32_t parse_mulpdu(const struct argp_state *state, const char *arg)
{
	if (strcmp(arg, "auto") == 0)
		return MULPDU_MOST;
	if (strcmp(arg, "emss") == 0)
		return 0;
	return (uint32_t)iw_cli_size(state, "--mulpdu", arg, MULPDU_LEAST, MULPDU_MOST);
}

static const char *parse_cc(const struct argp_state *state, const char *arg)
{
	if (arg[0] == '\0' || strlen(arg) > 15)
		argp_error(state, "--cc \"%s\": expected a name of 1 to 15 characters", arg);
	return arg;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	static const char *const modes[] = { "write", "read", "send", NULL };
	static const char *const digests[] = { "none", "xxh3", "sha256", NULL };
	static const char *const crc[] = { "wanted", "required", "off", NULL };
	struct iw_transfer_opts *o = state->input;
	struct iw_transfer_cfg *cfg = &o->cfg;

	switch (key) {
	case 'm':
		cfg->mode = (enum iw_xfer_mode)(iw_cli_enum(state, "--mode", arg, modes) + 1);
		o->choice = "--mode";
		return 0;
	case KEY_DIGEST:
		cfg->digest = (enum iw_xfer_digest)iw_cli_enum(state, "--digest", arg, digests);
		o->choice = "--digest";
		return 0;
	case KEY_FORCE:
		cfg->force = true;
		return 0;
	case KEY_ONCE:
		cfg->once = true;
		return 0;
	case KEY_CC:
		cfg->conn.cc = parse_cc(state, arg);
		return 0;
	case KEY_MULPDU:
		cfg->conn.mulpdu = parse_mulpdu(state, arg);
		return 0;
	case KEY_CRC:
		cfg->conn.crc = (enum iw_crc_policy)iw_cli_enum(state, "--crc", arg, crc);
		return 0;
	case KEY_MARKERS:
		cfg->conn.markers = true;
		return 0;
	case KEY_REV:
		cfg->conn.rev = (int)iw_cli_u64(state, "--rev", arg, 1, 2);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp iw_transfer_argp = { .options = options, .parser = parse };

void iw_transfer_opts_init(struct iw_transfer_opts *o)
{
	*o = (struct iw_transfer_opts){ .cfg = { .mode = IW_XFER_WRITE, .digest = IW_XFER_XXH3 } };
	o->cfg.conn = (struct iw_conn_param){ .size = sizeof(o->cfg.conn), .mulpdu = MULPDU_MOST };
}

void iw_transfer_opts_check(struct iw_transfer_opts *o, const struct argp_state *state)
{
	if (o->cfg.listen && o->choice)
		argp_error(state, "%s is the choice of who connects, not of a listener", o->choice);
	if (!o->cfg.listen && o->cfg.once)
		argp_error(state, "--once is for listeners");
	if (!o->cfg.listen && o->cfg.cli->port == 0)
		argp_error(state, "--port 0: who connects needs the listener's");
	if (o->cfg.to_stdout && o->cfg.cli->json)
		argp_error(state, "--json: the data go to standard output");
}

void iw_transfer_endpoint(struct iw_endpoint *e, const char *text, const struct argp_state *state)
{
	const char *why;

	if (iw_endpoint_parse(e, text, &why) != 0)
		argp_error(state, "\"%s\": %s", text, why);
}

void iw_transfer_opts_finish(struct iw_transfer_opts *o, struct iw_cli *cli, const char *host)
{
	struct iw_conn_param *p = &o->cfg.conn;

	p->transport = cli->transport;
	p->host = o->cfg.listen ? cli->bind : host;
	p->bind_addr = o->cfg.listen ? NULL : cli->bind;
	p->interface = cli->interface;
	p->port = cli->port;
	/* As many as can connect in the same moment. */
	p->backlog = 1024;
}
