/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The options of connections, an argp child for the tools that open them. */
#ifndef IW_CLI_CONN_H
#define IW_CLI_CONN_H

#include <argp.h>
#include <stdbool.h>

#include <iwarp/verbs.h>

#include "cli/cli.h"
#include "cli/param.h"

struct iw_cli_conn {
	const char *cc;  /* congestion control; NULL: the system's */
	uint32_t mulpdu; /* as in struct iw_protocol_attr */
	enum iw_crc_policy crc;
	bool markers;
	int rev;
	uint16_t udp_port;   /* 0: the default */
	bool any_udp_port;   /* --udp-port 0: the system chooses that of a listener */
	const char *profile; /* edition of the protocols; NULL: the RFCs */
	unsigned xdp;        /* set of enum iw_xdp_want */
	unsigned given;      /* a bit for each option that was given */
};

/* The input is a struct iw_cli_conn. */
extern const struct argp iw_cli_conn_argp;

/*
 * Adds arg, the words of --require or --xdp separated by commas, to want, a set of enum
 * iw_xdp_want. Returns the new set. A word that is unknown or contradicts want is a usage error.
 */
unsigned iw_cli_xdp(const struct argp_state *state, const char *option, const char *arg,
		    unsigned want);
#define IW_CLI_REQUIRE_HELP                                                                        \
	"With -t xdp, what the interface must support, otherwise exit status 3: native (the driver runs the XDP program), zerocopy (the driver reads and writes this process's frames)"
#define IW_CLI_XDP_HELP                                                                            \
	"With -t xdp: generic (the network stack runs the XDP program), copy (never zero-copy), busy-poll (this process drives the driver's queues)"
/* Parses --profile of a tool that uses only SCTP: returns "rfc" or "sctp-draft-02" (static). */
const char *iw_cli_profile(const struct argp_state *state, const char *arg);

/*
 * Call at the end of parsing. Reports a usage error if an option of this list, such as
 * "--udp-port", does not apply to the transport.
 */
void iw_cli_fits(const struct argp_state *state, const char *option, const char *transport);
/* The same for all options that were given. */
void iw_cli_conn_check(const struct argp_state *state, const struct iw_cli_conn *o,
		       const char *transport);

/* Returns whether --crc was given. */
bool iw_cli_conn_gives_crc(const struct iw_cli_conn *o);
/* Returns the first option that was given, without its hyphens, such as "crc". NULL: none. */
const char *iw_cli_conn_given(const struct iw_cli_conn *o);

/* Sets the defaults. Call it before parsing. */
void iw_cli_conn_init(struct iw_cli_conn *o);

/*
 * Call after parsing. Fills *p from o and the common options. peer: the host to connect to; NULL: a
 * listener. *p borrows the strings of o and cli, and peer.
 */
void iw_cli_conn_param(const struct iw_cli_conn *o, const struct iw_cli *cli, const char *peer,
		       struct iw_cli_param *p);

/* Call after parsing: rejects --udp-port 0 without --listen. */
void iw_cli_check_udp_port(const struct argp_state *state, bool any_udp_port, bool listen);

#endif
