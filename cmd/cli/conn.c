// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The options of connections. */
#include "cli/conn.h"

#include <string.h>

#include "cli/option.h"
#include "cli/param.h"
#include "cli/parse.h"
#include "util/num.h"
#include "wire/sctp.h"

#define CC_MAX (sizeof(((struct iw_qp_info *)NULL)->cc) - 1)

enum {
	/* No characters: long options only. Distinct from the keys of common options and of tools. */
	KEY_CC = 0xb001,
	KEY_MULPDU,
	KEY_CRC,
	KEY_MARKERS,
	KEY_REV,
	KEY_UDP_PORT,
	KEY_PROFILE,
	KEY_REQUIRE,
	KEY_XDP,
};

/* clang-format off */
static const struct argp_option options[] = {
	{ "cc", KEY_CC, "NAME", 0, "Congestion control: over tcp one that the kernel has (default the system's); over udp, raw and xdp auto (default: bbr if a round trip takes more than 1 ms, else cubic), bbr, cubic or rfc9260", 0 },
	{ "mulpdu", KEY_MULPDU, "auto|emss|N", 0,
	  "Longest DDP segment: auto (default) lets an FPDU span TCP segments; emss fits each FPDU into one TCP segment,"
	  " as hardware needs; N is an upper bound in octets (" IW_CLI_TEXT(IW_MULPDU_MIN) " to " IW_CLI_TEXT(IW_MULPDU_MAX) ")", 0 },
	{ "crc", KEY_CRC, "wanted|required|off", 0,
	  "MPA's CRC32c (default wanted): on unless both ends have off", 0 },
	{ "markers", KEY_MARKERS, NULL, 0, "Demand MPA markers in what this end receives", 0 },
	{ "rev", KEY_REV, "1|2", 0, "Set-up of connections: 2 with the enhancements of RFC 6581, 1 without (default 2, then 1)", 0 },
	{ "udp-port", KEY_UDP_PORT, "N", 0, "UDP port of the listener, for -t udp (default " IW_CLI_TEXT(IW_SCTP_UDP_PORT) ") and -t xdp (default: no UDP); 0: any free port", 0 },
	{ "require", KEY_REQUIRE, "native,zerocopy", 0, IW_CLI_REQUIRE_HELP, 0 },
	{ "xdp", KEY_XDP, "generic,copy,busy-poll", 0, IW_CLI_XDP_HELP, 0 },
	{ "profile", KEY_PROFILE, "rfc|rdmac|sctp-draft-02", 0,
	  "Edition of the wire protocols: rfc (default); over tcp rdmac (RDMA Consortium, version 0 of MPA, DDP and RDMAP);"
	  " over SCTP sctp-draft-02", 0 },
	{ 0 },
};
/* clang-format on */

static uint32_t parse_mulpdu(const struct argp_state *state, const char *arg)
{
	uint64_t octets = 0;
	const char *why;

	if (strcmp(arg, "auto") == 0)
		return IW_MULPDU_MAX;
	if (strcmp(arg, "emss") == 0)
		return 0;
	if (iw_parse_size(&octets, arg, IW_MULPDU_MIN, IW_MULPDU_MAX, &why) != 0)
		argp_error(state, "--mulpdu \"%s\": expected auto, emss, or octets from %u to %u",
			   arg, IW_MULPDU_MIN, IW_MULPDU_MAX);
	return (uint32_t)octets;
}

static const char *parse_cc(const struct argp_state *state, const char *arg)
{
	if (arg[0] == '\0' || strlen(arg) > CC_MAX)
		argp_error(
			state,
			"--cc \"%s\": not a congestion control; expected a name of 1 to %zu characters",
			arg, CC_MAX);
	return arg;
}

/* clang-format off */
static const struct {
	const char *option, *word;
	unsigned want, against;
} xdp_words[] = {
	{ "--require", "native",    IW_XDP_WANT_NATIVE,    IW_XDP_WANT_GENERIC },
	{ "--require", "zerocopy",  IW_XDP_WANT_ZEROCOPY,  IW_XDP_WANT_COPY },
	{ "--xdp",     "generic",   IW_XDP_WANT_GENERIC,   IW_XDP_WANT_NATIVE },
	{ "--xdp",     "copy",      IW_XDP_WANT_COPY,      IW_XDP_WANT_ZEROCOPY },
	{ "--xdp",     "busy-poll", IW_XDP_WANT_BUSY_POLL, 0 },
};
/* clang-format on */

unsigned iw_cli_xdp(const struct argp_state *state, const char *option, const char *arg,
		    unsigned want)
{
	const char *at = arg;

	for (;;) {
		size_t len = strcspn(at, ","), i = 0;

		while (i < IW_ARRAY_LEN(xdp_words) && !(strcmp(xdp_words[i].option, option) == 0 &&
							strlen(xdp_words[i].word) == len &&
							memcmp(xdp_words[i].word, at, len) == 0))
			i++;
		if (i == IW_ARRAY_LEN(xdp_words)) {
			argp_error(state, "%s: \"%.*s\" is not one of %s", option, (int)len, at,
				   strcmp(option, "--xdp") == 0 ? "generic, copy and busy-poll"
								: "native and zerocopy");
			return want;
		}
		if (want & xdp_words[i].against)
			argp_error(
				state,
				"--require and --xdp contradict each other: %s; leave out one of them",
				xdp_words[i].word);
		want |= xdp_words[i].want;
		if (at[len] == '\0')
			return want;
		at += len + 1;
	}
}

const char *iw_cli_profile(const struct argp_state *state, const char *arg)
{
	static const char *const profiles[] = { "rfc", "sctp-draft-02", NULL };

	return profiles[iw_cli_enum(state, "--profile", arg, profiles)];
}

/* iw_cli_conn_check checks whether it applies to the transport. */
static const char *any_profile(const struct argp_state *state, const char *arg)
{
	static const char *const profiles[] = { "rfc", "rdmac", "sctp-draft-02", NULL };

	return profiles[iw_cli_enum(state, "--profile", arg, profiles)];
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	static const char *const crc[] = { "wanted", "required", "off", NULL };
	struct iw_cli_conn *o = state->input;

	switch (key) {
	case KEY_CC:
		o->cc = parse_cc(state, arg);
		break;
	case KEY_MULPDU:
		o->mulpdu = parse_mulpdu(state, arg);
		break;
	case KEY_CRC:
		o->crc = (enum iw_crc_policy)iw_cli_enum(state, "--crc", arg, crc);
		break;
	case KEY_MARKERS:
		o->markers = true;
		break;
	case KEY_REV:
		o->rev = (int)iw_cli_u64(state, "--rev", arg, 1, 2);
		break;
	case KEY_UDP_PORT:
		o->udp_port = (uint16_t)iw_cli_u64(state, "--udp-port", arg, 0, UINT16_MAX);
		o->any_udp_port = o->udp_port == 0;
		break;
	case KEY_REQUIRE:
		o->xdp = iw_cli_xdp(state, "--require", arg, o->xdp);
		break;
	case KEY_XDP:
		o->xdp = iw_cli_xdp(state, "--xdp", arg, o->xdp);
		break;
	case KEY_PROFILE:
		o->profile = any_profile(state, arg);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	o->given |= 1u << (key - KEY_CC);
	return 0;
}

/* clang-format off */
static const struct {
	const char *option, *transports, *what;
	int key;
} scopes[] = {
	{ "--cc",       "tcp, udp, raw or xdp", "congestion control to choose", KEY_CC },
	{ "--crc",      "tcp",                  "MPA CRC",                      KEY_CRC },
	{ "--markers",  "tcp",                  "MPA markers",                  KEY_MARKERS },
	{ "--udp-port", "udp or xdp",           "UDP port",                     KEY_UDP_PORT },
	{ "--require",  "xdp",                  "XDP program",                  KEY_REQUIRE },
	{ "--xdp",      "xdp",                  "XDP program",                  KEY_XDP },
};
/* clang-format on */

static void check_scope(const struct argp_state *state, size_t i, const char *transport)
{
	if (!strstr(scopes[i].transports, transport))
		argp_error(state, "%s: -t %s has no %s; use it with -t %s", scopes[i].option,
			   transport, scopes[i].what, scopes[i].transports);
}

void iw_cli_fits(const struct argp_state *state, const char *option, const char *transport)
{
	for (size_t i = 0; i < IW_ARRAY_LEN(scopes); i++)
		if (strcmp(scopes[i].option, option) == 0)
			check_scope(state, i, transport);
}

static bool is_engine_cc(const char *name)
{
	static const char *const names[] = { "auto", "bbr", "cubic", "rfc9260" };

	for (size_t i = 0; i < IW_ARRAY_LEN(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

void iw_cli_conn_check(const struct argp_state *state, const struct iw_cli_conn *o,
		       const char *transport)
{
	for (size_t i = 0; i < IW_ARRAY_LEN(scopes); i++)
		if (o->given & 1u << (scopes[i].key - KEY_CC))
			check_scope(state, i, transport);
	/* Over TCP the kernel checks the name. */
	if (o->cc && strcmp(transport, "tcp") != 0 && !is_engine_cc(o->cc))
		argp_error(state,
			   "--cc %s: not known for -t %s; expected auto, bbr, cubic or rfc9260",
			   o->cc, transport);
}

bool iw_cli_conn_gives_crc(const struct iw_cli_conn *o)
{
	return o->given & 1u << (KEY_CRC - KEY_CC);
}

const char *iw_cli_conn_given(const struct iw_cli_conn *o)
{
	for (const struct argp_option *x = options; x->name || x->doc; x++)
		if (x->name && o->given & 1u << (x->key - KEY_CC))
			return x->name;
	return NULL;
}

const struct argp iw_cli_conn_argp = { .options = options, .parser = parse };

void iw_cli_check_udp_port(const struct argp_state *state, bool any_udp_port, bool listen)
{
	if (any_udp_port && !listen)
		argp_error(
			state,
			"--udp-port 0: the system chooses the UDP port of a listener only; give the listener's UDP port here");
}

void iw_cli_conn_init(struct iw_cli_conn *o)
{
	*o = (struct iw_cli_conn){ .mulpdu = IW_MULPDU_MAX };
}

void iw_cli_conn_param(const struct iw_cli_conn *o, const struct iw_cli *cli, const char *peer,
		       struct iw_cli_param *p)
{
	*p = (struct iw_cli_param){
		IW_CLI_PARAM_SIZES,
		.at.transport = cli->transport,
		.at.host = peer ? peer : cli->bind,
		.at.bind_addr = peer ? cli->bind : NULL,
		.at.interface = cli->interface,
		.at.port = cli->port,
		.at.cc = o->cc,
		.protocol.mulpdu = o->mulpdu,
		.protocol.crc = o->crc,
		.protocol.markers = o->markers,
		.protocol.rev = o->rev,
		.at.udp_port = o->udp_port,
		.at.any_udp_port = o->any_udp_port,
		.protocol.profile = o->profile,
		.at.xdp = o->xdp,
	};
}
