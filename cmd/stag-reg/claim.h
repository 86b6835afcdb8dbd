/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The other kind of session beside a transfer: who connects claims one registered Tagged Buffer
 * (man/ddp-transfer.7, "CLAIMING A BUFFER") and then does RDMA Writes and RDMA Reads on it, with no
 * control messages. All that is said stands in Private Data: the STag and the key that its
 * Advertisement carries in the Request, what the buffer is in the Reply.
 */
#ifndef IW_XFER_CLAIM_H
#define IW_XFER_CLAIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "transfer/protocol/hello.h"

#define IW_CLAIM_MAGIC   "ddp-buffer"
#define IW_CLAIM_VERSION 1 /* the highest and the lowest */
#define IW_CLAIM_KEY_LEN 16

enum iw_claim_right { IW_CLAIM_READ = 1, IW_CLAIM_WRITE = 2 }; /* what peers may do: a set */
#define IW_CLAIM_RIGHTS 3u

/* What stands beside an STag so that a guess at one is not enough. */
struct iw_claim_key {
	bool set; /* false: the STag alone admits */
	uint8_t octets[IW_CLAIM_KEY_LEN];
};

enum iw_claim_form { IW_CLAIM_REQUEST, IW_CLAIM_ACCEPT, IW_CLAIM_REJECT };

struct iw_claim {
	enum iw_claim_form form;
	uint32_t version_max, version_min; /* in a Reply both are the version chosen */
	/* Request */
	uint32_t stag;
	struct iw_claim_key key;
	/* Accept: the buffer as it is now */
	uint64_t to, len; /* to + len does not wrap */
	unsigned rights;  /* set of enum iw_claim_right, not empty */
	/* Reject */
	uint32_t code; /* enum iw_xcode, or a newer peer's number; not IW_XC_OK */
	char text[IW_XFER_TEXT_MAX + 1];
};

/* Whether Private Data is of this kind of session: its first key says so. */
bool iw_claim_is(const uint8_t *pd, size_t len);

/* Into pd, at most IW_XFER_PD_MAX octets; returns the length. A text that does not fit is cut. */
size_t iw_claim_encode(uint8_t pd[static IW_XFER_PD_MAX], const struct iw_claim *c);

/*
 * A Request, or (reply) one of the two Replies. IW_E_FORMAT: not of this kind, or against its
 * rules; IW_E_LIMIT: a number out of range. A Request of versions that are not ours is decoded as
 * far as these: the caller looks at them first.
 */
IW_MUST_CHECK int iw_claim_decode(struct iw_claim *out, bool reply, const uint8_t *pd, size_t len,
				  struct iw_fault *why);

/* Whether a Request with these versions can be answered. */
bool iw_claim_speaks(const struct iw_claim *c);

/*
 * Compares in a time that tells nothing about where two keys differ. A buffer without a key takes
 * any.
 */
bool iw_claim_key_fits(const struct iw_claim_key *lock, const struct iw_claim_key *key);

/* *c is a rejection with this reason. */
void iw_claim_reject(struct iw_claim *c, enum iw_xcode code, const char *text);

#endif
