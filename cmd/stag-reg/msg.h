/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The control protocol between stag-reg and a resource manager, over a Unix socket of type
 * SOCK_SEQPACKET. A message is a CBOR map of at most IW_MANAGER_MSG_MAX octets. A request is one
 * message. To register a file, the client passes its descriptor, so that the client's rights to the
 * file apply, not the manager's. The answer consists of any number of BUFFER and PEER messages,
 * then END or ERROR. A reader skips unknown keys.
 *
 * Both directions are decoded as untrusted input.
 */
#ifndef IW_STAG_REG_MSG_H
#define IW_STAG_REG_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/verbs.h>

#include "stag-reg/claim.h"

#define IW_MANAGER_MSG_MAX    1024u
#define IW_MANAGER_OCTETS_MAX INT64_MAX        /* offset and length of a buffer */
#define IW_MANAGER_USES_MAX   (UINT32_MAX - 1) /* UINT32_MAX means "no limit" in the STag table */
#define IW_MANAGER_LABEL_MAX  255u /* octets of the name of a file, as the user typed it */
#define IW_MANAGER_HOST_MAX   200u /* octets of the name or address of a host */
#define IW_MANAGER_NAME_MAX   32u  /* of a protection domain: letters, digits, . _ - */

enum iw_manager_op { IW_MANAGER_ADD = 1, IW_MANAGER_LIST = 2, IW_MANAGER_REVOKE = 3 };

struct iw_manager_request {
	enum iw_manager_op op;
	/* ADD */
	bool memory;                          /* new memory, not a file */
	uint64_t off, len;                    /* of the file; len 0: to its end */
	unsigned access;                      /* set of enum iw_claim_right, not empty */
	bool open;                            /* no key: the STag alone is enough */
	char domain[IW_MANAGER_NAME_MAX + 1]; /* "": a domain of its own, unless stream is set */
	/* Only this connection may use it, and domain is "". 0: every peer of the domain. */
	uint32_t stream;
	uint64_t lifetime_ms; /* 0: no limit */
	uint32_t uses;        /* operations; 0: no limit */
	char label[IW_MANAGER_LABEL_MAX + 1];
	/* For Advertisements. "": the address that the server listens on. */
	char host[IW_MANAGER_HOST_MAX + 1];
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
	uint64_t left_ms;        /* until it is revoked; UINT64_MAX: no limit */
	uint32_t uses;           /* as registered; 0: no limit */
	struct iw_claim_key key; /* in the answer to ADD, and to LIST of this buffer only */
	bool open;               /* it has no key */
	bool memory;
	char label[IW_MANAGER_LABEL_MAX + 1];
	char transport[8], host[IW_MANAGER_HOST_MAX + 1]; /* to which peers connect */
	uint16_t port;
	struct iw_tally tally;
};

/* A peer that is or was connected to the protection domain of a buffer. */
struct iw_manager_peer {
	uint32_t stream;
	char addr[64];
	struct iw_tally tally;
	uint64_t age_ms; /* since its admission, or since the end */
	bool ended;
	char why[IW_XFER_TEXT_MAX + 1]; /* ended: "" for an orderly end */
};

struct iw_manager_reply {
	enum iw_manager_kind kind;
	uint64_t count; /* END: buffers that were listed or revoked */
	int err; /* ERROR: negative enum iw_err; IW_E_OS for one that only a newer version has */
	char text[IW_XFER_TEXT_MAX + 1];
	struct iw_manager_buffer buffer;
	struct iw_manager_peer peer;
};

/*
 * True if host is safe in a URI and in quotes of a shell: no blank, control character, quote, / ? #
 * @ [ ] or \.
 */
bool iw_manager_host_valid(const char *host);

/* True if this is a valid name of a protection domain. */
bool iw_manager_name_valid(const char *name, size_t len);

/* Encode to buf and return the length. Every value of the structs fits. */
size_t iw_manager_request_encode(uint8_t buf[static IW_MANAGER_MSG_MAX],
				 const struct iw_manager_request *r);
size_t iw_manager_reply_encode(uint8_t buf[static IW_MANAGER_MSG_MAX],
			       const struct iw_manager_reply *r);

/* Decode. IW_E_FORMAT, IW_E_TRUNC: malformed; IW_E_LIMIT: a value out of range. */
IW_MUST_CHECK int iw_manager_request_decode(struct iw_manager_request *out, const uint8_t *msg,
					    size_t len, struct iw_fault *why);
IW_MUST_CHECK int iw_manager_reply_decode(struct iw_manager_reply *out, const uint8_t *msg,
					  size_t len, struct iw_fault *why);

#endif
