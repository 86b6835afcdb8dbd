/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The control protocol: what stag-reg and a resource manager say to each other over a Unix socket
 * of type SOCK_SEQPACKET. A message is one CBOR map of at most IW_MANAGER_MSG_MAX octets. A request is
 * one message; to register a file, its descriptor comes along, so that it is the asker's right to
 * the file that counts, and nobody's name for it. The answer is any number of BUFFER and PEER
 * messages, then END or ERROR. Keys that a reader does not know are passed over.
 *
 * Both directions are decoded here as foreign input.
 */
#ifndef IW_MANAGER_MSG_H
#define IW_MANAGER_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/verbs.h>

#include "stag-reg/claim.h"

#define IW_MANAGER_MSG_MAX    1024u
#define IW_MANAGER_OCTETS_MAX INT64_MAX /* offset and length of a buffer */
#define IW_MANAGER_USES_MAX   (UINT32_MAX - 1)
#define IW_MANAGER_LABEL_MAX  255u /* octets of a file's name as it was typed: to recognise it by */
#define IW_MANAGER_HOST_MAX   200u /* octets of a host's name or address */
#define IW_MANAGER_NAME_MAX   32u /* octets of a protection domain's name: letters, digits, . _ - */

enum iw_manager_op { IW_MANAGER_ADD = 1, IW_MANAGER_LIST = 2, IW_MANAGER_REVOKE = 3 };

struct iw_manager_request {
	enum iw_manager_op op;
	/* ADD */
	bool memory;                          /* new memory, not a file */
	uint64_t off, len;                    /* of the file; len 0: to its end */
	unsigned access;                      /* set of enum iw_claim_right, not empty */
	bool open;                            /* no key: the STag alone admits */
	char domain[IW_MANAGER_NAME_MAX + 1]; /* "": its own */
	uint32_t stream; /* this connection alone; 0: every one of the domain. Not both of them */
	uint64_t lifetime_ms; /* 0: no limit */
	uint32_t uses;        /* operations; 0: no limit */
	char label[IW_MANAGER_LABEL_MAX + 1];
	char host[IW_MANAGER_HOST_MAX +
		  1]; /* for Advertisements; "": the address that the server listens on */
	/* LIST, REVOKE */
	uint32_t stag; /* 0: all */
	/* LIST */
	bool peers;
};

enum iw_manager_kind {
	IW_MANAGER_END = 0,
	IW_MANAGER_ERROR = 1,
	IW_MANAGER_BUFFER = 2,
	IW_MANAGER_PEER = 3
};

/* One registered buffer. */
struct iw_manager_buffer {
	uint32_t stag;
	uint64_t to, len;
	unsigned access;
	char domain[IW_MANAGER_NAME_MAX + 1];
	uint32_t stream;
	uint64_t left_ms;        /* of its life; UINT64_MAX: no limit */
	uint32_t uses;           /* as registered; 0: no limit */
	struct iw_claim_key key; /* told to who registers it or asks for this one alone */
	bool open;               /* it has none */
	bool memory;
	char label[IW_MANAGER_LABEL_MAX + 1];
	char transport[8], host[IW_MANAGER_HOST_MAX + 1]; /* where peers connect to */
	uint16_t port;
	struct iw_tally tally;
};

/* One that has, or had, a connection to a buffer's protection domain. */
struct iw_manager_peer {
	uint32_t stream;
	char addr[64];
	struct iw_tally tally;
	uint64_t age_ms; /* of the connection, or of its end */
	bool ended;
	char why[IW_XFER_TEXT_MAX + 1]; /* ended: "" for an orderly end */
};

struct iw_manager_reply {
	enum iw_manager_kind kind;
	uint64_t count; /* END: buffers that were told, or revoked */
	int err; /* ERROR: negative enum iw_err; one that only a newer version knows is IW_E_OS */
	char text[IW_XFER_TEXT_MAX + 1];
	struct iw_manager_buffer buffer;
	struct iw_manager_peer peer;
};

/* Whether it can stand in a URI and in a shell's quotes: no blank, control character, quote, nor any of /?#@[]\ */
bool iw_manager_host_valid(const char *host);

/* Whether a protection domain may have that name. */
bool iw_manager_name_valid(const char *name, size_t len);

/* Each into buf; returns the length. What the structs can say fits. */
size_t iw_manager_request_encode(uint8_t buf[static IW_MANAGER_MSG_MAX],
				 const struct iw_manager_request *r);
size_t iw_manager_reply_encode(uint8_t buf[static IW_MANAGER_MSG_MAX],
			       const struct iw_manager_reply *r);

/* Each: 0, or IW_E_FORMAT, IW_E_TRUNC, IW_E_LIMIT with *why. */
IW_MUST_CHECK int iw_manager_request_decode(struct iw_manager_request *out, const uint8_t *msg,
					    size_t len, struct iw_fault *why);
IW_MUST_CHECK int iw_manager_reply_decode(struct iw_manager_reply *out, const uint8_t *msg,
					  size_t len, struct iw_fault *why);

#endif
