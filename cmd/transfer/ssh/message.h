/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The messages of the two ends on ssh's pipe: CBOR maps (RFC 8949) with small unsigned keys. Pure:
 * encodes into and decodes from memory of the caller.
 *
 *   far -> local   the line "iwarp-ssh 1 VERSION"   (ssh/link.h)
 *   local -> far   REQUEST
 *   far -> local   READY or ERROR
 *   local -> far   FALLBACK, if the data port does not answer
 *   far -> local   AGREED: the next octets in both directions are MPA's
 *
 * The far end may send ERROR at any time before AGREED. The end of the pipe ends both sides.
 */
#ifndef IW_TRANSFER_SSH_MESSAGE_H
#define IW_TRANSFER_SSH_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/verbs.h>

#include "cbor/cbor.h"

#define IW_SSH_PROTOCOL    1     /* the number in the first line and in REQUEST */
#define IW_SSH_MSG_MAX     65536 /* octets of a message, without its length */
#define IW_SSH_PATHS_MAX   4096  /* number of paths in a message */
#define IW_SSH_SECRET_LEN  32
#define IW_SSH_VERSION_MAX 32  /* octets of a program version, without NUL */
#define IW_SSH_TEXT_MAX    255 /* octets of the text of ERROR, without NUL */
#define IW_SSH_CC_MAX      15  /* octets of the name of a congestion control, without NUL */
#define IW_SSH_ADDR_MAX    63  /* octets of an address, without NUL */
#define IW_SSH_JOBS_MAX    1024
#define IW_SSH_MS_MAX      (UINT64_C(1) << 40) /* of a time in milliseconds */

enum iw_ssh_type {
	IW_SSH_REQUEST = 1,
	IW_SSH_READY = 2,
	IW_SSH_ERROR = 3,
	IW_SSH_FALLBACK = 4,
	IW_SSH_AGREED = 5,
};

/*
 * Paths: for the encoder the n strings at list (borrowed); from the decoder the n items of in, for
 * iw_ssh_path_next.
 */
struct iw_ssh_paths {
	char *const *list;
	size_t n;
	struct iw_cbor_in in;
};

/* What the local end wants of the far end. */
struct iw_ssh_request {
	uint32_t protocol; /* IW_SSH_PROTOCOL */
	char version[IW_SSH_VERSION_MAX + 1];
	bool source;                /* the far end sends files; else it stores them */
	bool udp;                   /* transport: "udp" with DTLS; else "tcp" with TLS */
	bool markers;               /* of struct iw_protocol_attr, as are crc and mulpdu */
	bool verbose;               /* report what happens on standard error */
	uint32_t crc;               /* enum iw_crc_policy */
	uint32_t mulpdu;            /* 0, or IW_MULPDU_MIN to IW_MULPDU_MAX */
	uint32_t opts;              /* permitted: set of enum iw_xfer_opt */
	uint32_t jobs;              /* connections: 1 to IW_SSH_JOBS_MAX */
	uint64_t timeout_ms;        /* without progress: 1 to IW_SSH_MS_MAX */
	uint64_t setup_ms;          /* to set up a connection: likewise */
	uint16_t first, last;       /* ports to try; 0, 0: any free port */
	char cc[IW_SSH_CC_MAX + 1]; /* congestion control; "": the default */
	struct iw_ssh_paths paths;  /* sink: one, the target; source: at least one */
};

struct iw_ssh_ready {
	char version[IW_SSH_VERSION_MAX + 1];
	/* Numeric; an IPv6 address may have a zone of the far end. */
	char addr[IW_SSH_ADDR_MAX + 1];
	uint16_t port;
	uint16_t udp_port; /* 0 unless udp */
	uint8_t secret[IW_SSH_SECRET_LEN];
	struct iw_ssh_paths paths; /* those of REQUEST, relative to the served directory */
};

struct iw_ssh_msg {
	enum iw_ssh_type type;
	union {
		struct iw_ssh_request request;
		struct iw_ssh_ready ready;
		char error[IW_SSH_TEXT_MAX + 1];
	};
};

/*
 * Writes *m to buf, of IW_SSH_MSG_MAX octets. Returns the length; 0: the paths are too long, or
 * more than IW_SSH_PATHS_MAX. Texts of *m that are not UTF-8 must not occur; paths may be any
 * octets.
 */
size_t iw_ssh_msg_encode(uint8_t buf[static IW_SSH_MSG_MAX], const struct iw_ssh_msg *m);

/*
 * Reads one message of len octets at p (borrowed by out->...paths). IW_E_TRUNC, IW_E_FORMAT: not
 * such a message; IW_E_LIMIT: a value is out of its range; *why names the field. A REQUEST of
 * another protocol has only protocol and version; the rest is 0. Keys that are not known are
 * ignored.
 */
IW_MUST_CHECK int iw_ssh_msg_decode(struct iw_ssh_msg *out, const uint8_t *p, size_t len,
				    struct iw_fault *why);

/*
 * Takes the next path of a decoded message: *len octets at *p, a slice of its input, without NUL.
 * False: no further path.
 */
bool iw_ssh_path_next(struct iw_ssh_paths *paths, const char **p, size_t *len);

#endif
