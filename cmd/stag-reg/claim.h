/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The claim of a Tagged Buffer (man/ddp-transfer.7, "CLAIMING A BUFFER"): a session other than a
 * transfer, in which the initiator does RDMA Writes and RDMA Reads on one registered buffer,
 * without control messages. The Private Data of the Request has the STag and the key from the
 * Advertisement; that of the Reply describes the buffer.
 */
#ifndef IW_STAG_REG_CLAIM_H
#define IW_STAG_REG_CLAIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "transfer/protocol/hello.h"

#define IW_CLAIM_MAGIC   "ddp-buffer"
#define IW_CLAIM_VERSION 1 /* the highest and the lowest */
#define IW_CLAIM_KEY_LEN 16

enum iw_claim_right { IW_CLAIM_READ = 1, IW_CLAIM_WRITE = 2 }; /* a set: what peers may do */
#define IW_CLAIM_RIGHTS 3u

/* A secret of the buffer, so that a guessed STag is not enough. */
struct iw_claim_key {
	bool set; /* false: the STag alone is enough */
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
	uint32_t code; /* enum iw_xfer_code, or a newer peer's number; not IW_XFER_CODE_OK */
	char text[IW_XFER_TEXT_MAX + 1];
};

/* True if the Private Data is that of a claim, by its first key. */
bool iw_claim_is(const uint8_t *pd, size_t len);

/* Writes at most IW_XFER_PD_MAX octets and returns the length. Cuts a text that does not fit. */
size_t iw_claim_encode(uint8_t pd[static IW_XFER_PD_MAX], const struct iw_claim *c);

/*
 * Decodes a Request, or (reply) a Reply. Of a Request with versions that are not supported, only
 * the versions are decoded; check them first (iw_claim_speaks). IW_E_FORMAT: not a claim, or
 * malformed; IW_E_LIMIT: a number out of range.
 */
IW_MUST_CHECK int iw_claim_decode(struct iw_claim *out, bool reply, const uint8_t *pd, size_t len,
				  struct iw_fault *why);

/* True if one of the versions of the Request is supported. */
bool iw_claim_speaks(const struct iw_claim *c);

/*
 * True if the key fits. A buffer without a key accepts any. The time does not depend on where the
 * keys differ.
 */
bool iw_claim_key_fits(const struct iw_claim_key *lock, const struct iw_claim_key *key);

/* Makes *c a rejection with this reason. */
void iw_claim_reject(struct iw_claim *c, enum iw_xfer_code code, const char *text);

#endif
