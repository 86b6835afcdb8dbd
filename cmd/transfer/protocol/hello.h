/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The words, numbers and limits of the transfer protocol, and its Private Data: what each side says of itself in the MPA Request
 * and Reply (man/ddp-transfer.7), before any segment.
 */
#ifndef IW_XFER_HELLO_H
#define IW_XFER_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#define IW_XFER_MAGIC     "ddp-transfer"
#define IW_XFER_MAJOR     3 /* the highest version spoken */
#define IW_XFER_MAJOR_MIN 3 /* the lowest */
#define IW_XFER_PD_MAX                                                                             \
	200 /* octets of Private Data: leaves room for RFC 6581's and the library's own below 252 */

#define IW_XFER_CHUNK        (1u << 20)   /* octets of a chunk, and of the largest window */
#define IW_XFER_PIECE        (256u << 10) /* octets of a file in one data Send */
#define IW_XFER_DATA_HDR     16           /* octets before them */
#define IW_XFER_MSG_FIRST    4096u /* a responder's first receives: an idle connection costs little */
#define IW_XFER_MSG_MAX      65536u /* the largest control message this side makes, and takes */
#define IW_XFER_NAME_MAX     4095u  /* octets of a name */
#define IW_XFER_PATH_MAX     4000u  /* octets of a path in OPEN, which must fit IW_XFER_MSG_FIRST */
#define IW_XFER_TEXT_MAX     200u   /* octets of a reason */
#define IW_XFER_DIGEST_MAX   32u    /* octets of the longest digest */
#define IW_XFER_IDENT_MAX    16u    /* octets that tell one state of a source file from another */
#define IW_XFER_XATTR_MAX    262144u /* octets of a file's extended attributes, as they travel */
#define IW_XFER_XATTR_PIECE  32768u  /* of them, in one message */
#define IW_XFER_LIST_MAX     32768u  /* octets of a pack's list */
#define IW_XFER_MEMBERS      256u    /* files in a pack */
#define IW_XFER_CONNS_MAX    256u    /* connections of one transfer */
#define IW_XFER_ID_LEN       16u
#define IW_XFER_SIZE_MAX     ((uint64_t)INT64_MAX) /* octets of a file */
#define IW_XFER_SIZE_UNKNOWN UINT64_MAX            /* a stream's, until it ends */
#define IW_XFER_WINDOWS      64u    /* most windows, or offers, open at once on a connection */
#define IW_XFER_FILES        64u    /* files announced and not finished, as this side takes them */
#define IW_XFER_RANGES       128u   /* ranges asked for and not granted, likewise */
#define IW_XFER_FILES_MAX    65536u /* the most that a peer's figures are believed */
#define IW_XFER_KEEPALIVE_NS 5000000000u /* each side sends a message that often, or more often */
#define IW_XFER_PATIENCE_MS  30000u      /* of a peer that does not say */

enum iw_xfer_role { IW_XFER_SOURCE = 1, IW_XFER_SINK = 2 };
enum iw_xfer_mode { IW_XFER_WRITE = 1, IW_XFER_READ = 2, IW_XFER_SEND = 3 };
enum iw_xfer_digest { IW_XFER_NONE = 0, IW_XFER_XXH3 = 1, IW_XFER_SHA256 = 2 };
const char *iw_xfer_role_name(enum iw_xfer_role r);     /* "source", "sink" */
const char *iw_xfer_mode_name(enum iw_xfer_mode m);     /* "write", "read", "send" */
const char *iw_xfer_digest_name(enum iw_xfer_digest d); /* "none", "xxh3", "sha256" */
/* Octets of such a digest: 0, 16, 32. */
size_t iw_xfer_digest_len(enum iw_xfer_digest d);

/* Why a file, or all of a transfer, did not happen. The numbers are the wire's. */
/* clang-format off */
#define IW_XCODE_LIST(X)                                                  \
	X(OK,       0,  "done")                                           \
	X(SAME,     1,  "skipped: same size and time")                    \
	X(NAME,     2,  "name refused")                                   \
	X(NOENT,    3,  "not found")                                      \
	X(PERM,     4,  "permission denied")                              \
	X(SPACE,    5,  "no space left")                                  \
	X(IO,       6,  "input or output error")                          \
	X(DIGEST,   7,  "digests differ")                                 \
	X(CHANGED,  8,  "changed while it was being sent")                \
	X(LIMIT,    9,  "above a limit")                                  \
	X(KIND,     10, "not a kind of file that is sent")                \
	X(CANCELED, 11, "canceled")                                       \
	X(TARGET,   12, "not a possible target")                          \
	X(PROTOCOL, 13, "protocol error")                                 \
	X(TIMEOUT,  14, "time ran out")                                   \
	X(VERSION,  15, "no common version")                              \
	X(REFUSED,  16, "refused")                                        \
	X(WOULD,    17, "would be sent")                                  \
	X(EXISTS,   18, "skipped: it exists")                             \
	X(NEWER,    19, "skipped: it is newer")                           \
	X(EXCLUDED, 20, "skipped: excluded")
/* clang-format on */

enum iw_xcode {
#define IW_X_(name, number, text) IW_XC_##name = number,
	IW_XCODE_LIST(IW_X_)
#undef IW_X_
};

/* "SAME", and its phrase; for numbers of newer peers "UNKNOWN" and a phrase that says so. */
const char *iw_xcode_name(uint32_t code);
const char *iw_xcode_text(uint32_t code);
/* Not a failure: it is there already, or was to be left as it is. */
static inline bool iw_xcode_is_skip(uint32_t code)
{
	return code == IW_XC_SAME || (code >= IW_XC_EXISTS && code <= IW_XC_EXCLUDED);
}
/* Not a failure: done, skipped, or would have been done. */
static inline bool iw_xcode_is_fine(uint32_t code)
{
	return code == IW_XC_OK || code == IW_XC_WOULD || iw_xcode_is_skip(code);
}

/* What the initiator wants of a transfer as a whole: a set, in OPEN. */
enum iw_xopt {
	IW_XOPT_FORCE = 1,      /* also what is there with the same size and time */
	IW_XOPT_MANY = 2,       /* push: more than one source: the target must be a directory */
	IW_XOPT_NO_CLOBBER = 4, /* what exists is left as it is */
	IW_XOPT_UPDATE = 8,     /* what is newer at the target is left as it is */
	IW_XOPT_DRY_RUN = 16,   /* nothing is changed, only told */
	IW_XOPT_DELETE = 32,    /* what a directory holds beside what is sent is removed */
	IW_XOPT_OWNER = 64,     /* owners and groups, by number */
	IW_XOPT_XATTR = 128,    /* extended attributes */
	IW_XOPT_VERIFY = 256,   /* the target is read again from storage */
	IW_XOPT_SETID = 512,    /* with OWNER: set-user-ID and set-group-ID bits */
	IW_XOPT_NAMES = 1024,   /* with DELETE: the sink reports the removed names */
	IW_XOPT_LISTED = 2048,  /* with DELETE: only names are removed that the source lists */
	/* contents of a directory: the target is a directory, made if missing */
	IW_XOPT_CONTENTS = 4096,
	IW_XOPT_CHECKSUM = 8192, /* files of the same size are compared by digest, not by time */
	IW_XOPT_TOTAL = 16384, /* pull: the source reports the octets of all files, IW_XKEY_TOTAL */
	IW_XOPT_ALL = 32767
};

struct iw_xdigest {
	uint8_t len; /* 0: none */
	uint8_t octets[IW_XFER_DIGEST_MAX];
};

struct iw_hello {
	uint32_t major_max, major_min; /* in a Reply both are the version chosen */
	enum iw_xfer_role role;        /* the speaker's */
	enum iw_xfer_mode mode;
	enum iw_xfer_digest digest;
	/* The transfer's, drawn by the initiator: what several connections of one have in
	 * common. */
	uint8_t id[IW_XFER_ID_LEN];
	uint32_t recvs, recv_size; /* receives posted before the first message, octets of each */
	uint32_t files, ranges;    /* a sink's limits */
	uint32_t patience_ms;      /* without a sign of life for so long the speaker gives up */
	/* A Request's: which of the transfer's connections it is, from 1 on (0: not said), and whether it takes the place of one that was
	 * lost: the responder then knows the transfer. */
	uint32_t conn;
	bool again;
	/* Only in a Reply that rejects: */
	uint32_t code; /* enum iw_xcode; IW_XC_OK: no rejection */
	char text[IW_XFER_TEXT_MAX + 1];
};

/* Into pd; returns the length. A text that does not fit is cut. */
size_t iw_hello_encode(uint8_t pd[static IW_XFER_PD_MAX], const struct iw_hello *h);

/* True if it is Private Data of this protocol, of any version. */
bool iw_hello_is_ours(const uint8_t *pd, size_t len);
/*
 * IW_E_FORMAT: no Private Data of this protocol, or one that breaks its rules; IW_E_LIMIT: a number out of range. A Request of a
 * version that is not ours is decoded as far as the versions, and is for iw_hello_answer to judge.
 */
IW_MUST_CHECK int iw_hello_decode(struct iw_hello *out, const uint8_t *pd, size_t len,
				  struct iw_fault *why);

/*
 * The responder's verdict on a Request: role is the one it can play, digests a set of 1 << enum iw_xfer_digest. 0: *answer is filled
 * but for recvs, recv_size, files and ranges. IW_E_REJECTED: *answer is the rejection to be encoded, *why says the same.
 */
IW_MUST_CHECK int iw_hello_answer(struct iw_hello *answer, const struct iw_hello *request,
				  enum iw_xfer_role role, unsigned digests, struct iw_fault *why);

/*
 * As iw_fail, for faults of the transfer protocol: an error that has a clause of an RFC where the library means it has none here.
 */
int iw_xfer_fault(struct iw_fault *why, int err, const char *fmt, ...);

/* *answer is a rejection with this reason. */
void iw_hello_reject(struct iw_hello *answer, enum iw_xcode code, const char *text);

/* The initiator's verdict on a Reply that accepted: IW_E_FORMAT when it does not fit what was
 * asked. */
IW_MUST_CHECK int iw_hello_check(const struct iw_hello *reply, const struct iw_hello *request,
				 struct iw_fault *why);

#endif
