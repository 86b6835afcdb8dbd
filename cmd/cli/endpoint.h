/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * SOURCE and TARGET arguments of the transfer tools, by scp's rule: a colon before the first slash
 * ends the name of a host.
 *
 *   dir/a:b    ./a:b    :a        local
 *   HOST:      HOST:PATH          remote; an empty PATH is the served directory itself
 *   [fe80::1%eth0]:PATH           remote, an IPv6 address in brackets
 *   USER@HOST:PATH                remote, started by ssh; HOST as above; the last @ ends USER
 *   -                             standard input or output
 */
#ifndef IW_CLI_ENDPOINT_H
#define IW_CLI_ENDPOINT_H

#include <stdbool.h>

struct iw_endpoint {
	bool is_remote;
	bool is_stdio;
	char user[64];    /* remote: "": not given */
	char host[256];   /* remote: without user and brackets */
	const char *path; /* points into the text */
};

/*
 * Splits text into *out. IW_E_INVAL, with the reason in *why (static): text is empty or a URL; the
 * brackets are empty or not closed; the host or the user is too long, the user is empty, or a host
 * with a user is empty; or text looks like an IPv6 address without brackets. Does not check whether
 * the host exists.
 */
int iw_endpoint_parse(struct iw_endpoint *out, const char *text, const char **why);

#endif
