/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The URI of an Advertisement: all that somebody elsewhere needs to write to a registered buffer,
 * or to read from it.
 *
 *   ddp+tcp://host:7471/stag/0123abcd?to=0&len=1048576&access=rw&key=00112233445566778899aabbccddeeff
 *
 * host is a name, an IPv4 address, or an IPv6 address in brackets, its zone behind %25 (RFC 6874).
 * to and len are decimal, access is r, w or rw, key is there when the STag alone does not admit.
 * The parts behind the question mark stand in any order; those with other names are passed over, so
 * that there can be more.
 */
#ifndef IW_MANAGER_URI_H
#define IW_MANAGER_URI_H

#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "stag-reg/claim.h"

struct iw_uri {
	char transport[8]; /* "tcp" */
	char host[256];    /* without brackets */
	uint16_t port;     /* not 0 */
	uint32_t stag;
	uint64_t to, len; /* to + len does not wrap */
	unsigned access;  /* set of enum iw_claim_right, not empty */
	struct iw_claim_key key;
};

/* Octets of the longest one with its NUL. */
#define IW_URI_TEXT 512

/* Octets of an operation of ddp-send --to and ddp-recv --from, at most. */
#define IW_URI_OPERATION (1u << 20)

/* Operations that reading len octets takes. */
static inline uint64_t iw_uri_operations(uint64_t len)
{
	return len / IW_URI_OPERATION + (len % IW_URI_OPERATION != 0);
}

/* "r", "w" or "rw". */
const char *iw_access_text(unsigned access);

/* Into buf, which is returned. */
const char *iw_uri_format(char buf[static IW_URI_TEXT], const struct iw_uri *u);

/* 0, or IW_E_INVAL with *why (static text): what is wrong with it. */
IW_MUST_CHECK int iw_uri_parse(struct iw_uri *out, const char *text, const char **why);

#endif
