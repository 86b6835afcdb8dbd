/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The names, numbers and limits of the transfer protocol, and its Private Data: the parameters that
 * both sides send in the MPA Request and Reply, before any segment (man/ddp-transfer.7).
 */
#ifndef IW_TRANSFER_PROTOCOL_HELLO_H
#define IW_TRANSFER_PROTOCOL_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#define IW_XFER_MAGIC     "ddp-transfer"
#define IW_XFER_MAJOR     3 /* the highest version of this side */
#define IW_XFER_MAJOR_MIN 3 /* the lowest version of this side */
/* octets of Private Data; with those of RFC 6581 and of the library at most 252 */
#define IW_XFER_PD_MAX    200

#define IW_XFER_CHUNK        (1u << 20)   /* octets of a chunk, and of the largest window */
#define IW_XFER_PIECE        (256u << 10) /* octets of a file in one data Send */
#define IW_XFER_DATA_HDR     16           /* octets of the header before the piece */
/* first receives of a responder: small, so that an idle connection costs little */
#define IW_XFER_FIRST_RECV   4096u
/* the largest control message that this side sends or accepts */
#define IW_XFER_MSG_MAX      65536u
#define IW_XFER_NAME_MAX     4095u /* octets of a name */
#define IW_XFER_PATH_MAX     4000u /* octets of a path in OPEN, which must fit IW_XFER_FIRST_RECV */
#define IW_XFER_TEXT_MAX     200u  /* octets of a reason */
#define IW_XFER_DIGEST_MAX   32u   /* octets of the longest digest */
/* octets of the identifier that distinguishes versions of a source file */
#define IW_XFER_IDENT_MAX    16u
#define IW_XFER_XATTR_MAX    262144u /* octets of a file's extended attributes, as sent */
#define IW_XFER_XATTR_PIECE  32768u  /* of these, in one message */
#define IW_XFER_LIST_MAX     32768u  /* octets of a pack's list */
#define IW_XFER_MEMBERS      256u    /* files in a pack */
#define IW_XFER_CONNS_MAX    256u    /* connections of one transfer */
#define IW_XFER_ID_LEN       16u
#define IW_XFER_BINDING_LEN  32u /* octets of the channel binding tls-exporter (RFC 9266) */
#define IW_XFER_SIZE_MAX     ((uint64_t)INT64_MAX) /* octets of a file */
#define IW_XFER_SIZE_UNKNOWN UINT64_MAX            /* size of a stream until it ends */
#define IW_XFER_WINDOWS      64u    /* windows or offers open at once on a connection */
#define IW_XFER_FILES        64u    /* files announced and not finished that this side accepts */
#define IW_XFER_RANGES       128u   /* ranges requested and not granted that this side accepts */
#define IW_XFER_FILES_MAX    65536u /* larger values of a peer are reduced to this */
#define IW_XFER_KEEPALIVE_NS 5000000000u /* each side sends something at least this often */
#define IW_XFER_PATIENCE_MS  30000u      /* of a peer that does not report it */

enum iw_xfer_role { IW_XFER_SOURCE = 1, IW_XFER_SINK = 2 };
enum iw_xfer_mode { IW_XFER_WRITE = 1, IW_XFER_READ = 2, IW_XFER_SEND = 3 };
enum iw_xfer_digest_kind { IW_XFER_NONE = 0, IW_XFER_XXH3 = 1, IW_XFER_SHA256 = 2 };
const char *iw_xfer_role_name(enum iw_xfer_role r);          /* "source", "sink" */
const char *iw_xfer_mode_name(enum iw_xfer_mode m);          /* "write", "read", "send" */
const char *iw_xfer_digest_name(enum iw_xfer_digest_kind d); /* "none", "xxh3", "sha256" */
/* The octets of such a digest: 0, 16 or 32. */
size_t iw_xfer_digest_len(enum iw_xfer_digest_kind d);

/* Why a file, or the whole transfer, failed or was skipped. The numbers are those on the wire. */
/* clang-format off */
#define IW_XFER_CODE_LIST(X)                                                  \
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

enum iw_xfer_code {
#define IW_X_(name, number, text) IW_XFER_CODE_##name = number,
	IW_XFER_CODE_LIST(IW_X_)
#undef IW_X_
};

/* The name in capitals, such as "SAME"; "UNKNOWN" for a number of a newer peer. */
const char *iw_xfer_code_name(uint32_t code);
/* The text for people; for a number of a newer peer a text that says so. */
const char *iw_xfer_code_text(uint32_t code);
/* True if the file was left out, or exists already and is kept: not a failure. */
static inline bool iw_xfer_code_is_skip(uint32_t code)
{
	return code == IW_XFER_CODE_SAME ||
	       (code >= IW_XFER_CODE_EXISTS && code <= IW_XFER_CODE_EXCLUDED);
}
/* True if the file is done, was skipped or would have been sent: not a failure. */
static inline bool iw_xfer_code_is_fine(uint32_t code)
{
	return code == IW_XFER_CODE_OK || code == IW_XFER_CODE_WOULD || iw_xfer_code_is_skip(code);
}

/* The options of a transfer, chosen by the initiator: a set, in OPEN. */
enum iw_xfer_opt {
	IW_XFER_OPT_FORCE = 1,      /* send files that exist with the same size and time too */
	IW_XFER_OPT_MANY = 2,       /* push: several operands: the target must be a directory */
	IW_XFER_OPT_NO_CLOBBER = 4, /* keep files that exist */
	IW_XFER_OPT_UPDATE = 8,     /* keep files that are newer at the target */
	IW_XFER_OPT_DRY_RUN = 16,   /* change nothing, only report */
	IW_XFER_OPT_DELETE = 32,    /* remove names in directories that were not sent */
	IW_XFER_OPT_OWNER = 64,     /* set owners and groups, by number */
	IW_XFER_OPT_XATTR = 128,    /* set extended attributes */
	IW_XFER_OPT_VERIFY = 256,   /* read files back from storage */
	IW_XFER_OPT_SETID = 512,    /* with OWNER: set-user-ID and set-group-ID bits */
	IW_XFER_OPT_NAMES = 1024,   /* with DELETE: the sink reports the removed names */
	IW_XFER_OPT_LISTED = 2048,  /* with DELETE: only names are removed that the source lists */
	/*
	 * Contents of a directory are sent: the target is a directory, created if it does not
	 * exist.
	 */
	IW_XFER_OPT_CONTENTS = 4096,
	IW_XFER_OPT_CHECKSUM = 8192, /* compare files of the same size by digest, not by time */
	IW_XFER_OPT_TOTAL =
		16384, /* pull: the source reports the size of all files, IW_XFER_KEY_TOTAL */
	IW_XFER_OPT_ALL = 32767
};

struct iw_xfer_digest {
	uint8_t len; /* 0: no digest */
	uint8_t octets[IW_XFER_DIGEST_MAX];
};

/* The contents of the Private Data. */
struct iw_hello {
	uint32_t major_max, major_min; /* in a Reply both are the chosen version */
	enum iw_xfer_role role;        /* of the side that sends this */
	enum iw_xfer_mode mode;
	enum iw_xfer_digest_kind digest;
	/* Identifies the transfer on all its connections; chosen at random by the initiator. */
	uint8_t id[IW_XFER_ID_LEN];
	uint32_t recvs, recv_size; /* receives posted before the first message; octets of each */
	uint32_t files, ranges;    /* limits of a sink */
	uint32_t patience_ms;      /* the sender ends the connection after this time of silence */
	/*
	 * In a Request: the number of the connection in the transfer, from 1 (0: not given); and
	 * whether it replaces a lost one, so that the responder must know the transfer.
	 */
	uint32_t conn;
	bool again;
	/* Only in a Reply that rejects: */
	uint32_t code; /* enum iw_xfer_code; IW_XFER_CODE_OK: no rejection */
	char text[IW_XFER_TEXT_MAX + 1];
};

/* Encodes into pd; returns the length. A text that does not fit is cut. */
size_t iw_hello_encode(uint8_t pd[static IW_XFER_PD_MAX], const struct iw_hello *h);

/* True if pd is Private Data of this protocol, of any version. */
bool iw_hello_is_ours(const uint8_t *pd, size_t len);
/*
 * Decodes a Request or a Reply. Of a Request of another version only the versions are decoded;
 * iw_hello_answer rejects it. IW_E_FORMAT: not Private Data of this protocol, or malformed.
 * IW_E_LIMIT: a number or string out of range.
 */
IW_MUST_CHECK int iw_hello_decode(struct iw_hello *out, const uint8_t *pd, size_t len,
				  struct iw_fault *why);

/*
 * The responder's decision about a Request. role: its own; digests: the kinds that it supports, a
 * set of 1 << enum iw_xfer_digest_kind. 0: *answer is an acceptance, in which the caller sets its
 * own recvs, recv_size, files, ranges and patience_ms. IW_E_REJECTED: *answer is the rejection to
 * encode; *why has the same reason.
 */
IW_MUST_CHECK int iw_hello_answer(struct iw_hello *answer, const struct iw_hello *request,
				  enum iw_xfer_role role, unsigned digests, struct iw_fault *why);

/*
 * As iw_fail, for faults of the transfer protocol: *why cites no clause, where the library's
 * function would cite one of an RFC.
 */
int iw_xfer_fault(struct iw_fault *why, int err, const char *fmt, ...);

/*
 * Makes *answer a rejection with this reason. text is copied, and cut at IW_XFER_TEXT_MAX octets.
 */
void iw_hello_reject(struct iw_hello *answer, enum iw_xfer_code code, const char *text);

/*
 * The initiator's check of a Reply. IW_E_REJECTED: the Reply rejects the Request. IW_E_FORMAT: it
 * does not match the Request.
 */
IW_MUST_CHECK int iw_hello_check(const struct iw_hello *reply, const struct iw_hello *request,
				 struct iw_fault *why);

#endif
