/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * SOURCE and TARGET arguments of the transfer tools, by scp's rule: a colon before the first slash
 * means a host.
 *
 *   dir/a:b    ./a:b    :a        local
 *   HOST:      HOST:PATH          remote; an empty PATH is the served directory itself
 *   [fe80::1%eth0]:PATH           remote, an IPv6 address in brackets
 *   -                             standard input or output
 */
#ifndef IW_CLI_ENDPOINT_H
#define IW_CLI_ENDPOINT_H

#include <stdbool.h>

struct iw_endpoint {
	bool is_remote;
	bool is_stdio;
	char host[256];   /* remote: without brackets */
	const char *path; /* borrowed from the text; stays valid as long as that does */
};

/*
 * Takes @text apart into *@out. Returns 0, or IW_E_INVAL with @why (static text) when the text is
 * empty, is a URL, names no host between brackets, lacks the closing bracket, has a host name that
 * is too long or carries a user name, or looks like an IPv6 address without brackets; the caller
 * reports it. Whether the host exists is not checked here.
 */
int iw_endpoint_parse(struct iw_endpoint *out, const char *text, const char **why);

#endif
