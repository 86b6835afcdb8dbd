/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The URI of an Advertisement: everything that a peer needs to write to a registered buffer or to
 * read from it.
 *
 *   ddp+tcp://host:7471/stag/0123abcd?to=0&len=1048576&access=rw&key=00112233445566778899aabbccddeeff
 *
 * host is a name, an IPv4 address, or an IPv6 address in brackets, with its zone after %25 (RFC
 * 6874). to and len are decimal; access is r, w or rw; key is present if the buffer has one. The
 * parts after the question mark have any order. A reader ignores unknown parts, so that later
 * versions can add some.
 */
#ifndef IW_STAG_REG_URI_H
#define IW_STAG_REG_URI_H

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

/* The longest URI with its NUL, in bytes. */
#define IW_URI_TEXT 512

/* Maximum octets of an operation of ddp-send --to and ddp-recv --from. */
#define IW_URI_OPERATION (1u << 20)

/* The number of operations that read len octets. */
static inline uint64_t iw_uri_operations(uint64_t len)
{
	return len / IW_URI_OPERATION + (len % IW_URI_OPERATION != 0);
}

/* "r", "w" or "rw". */
const char *iw_access_text(unsigned access);

/* Writes the URI to buf and returns buf. */
const char *iw_uri_format(char buf[static IW_URI_TEXT], const struct iw_uri *u);

/* IW_E_INVAL: malformed, with the reason in *why (static). */
IW_MUST_CHECK int iw_uri_parse(struct iw_uri *out, const char *text, const char **why);

#endif
