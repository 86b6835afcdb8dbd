/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Personalities: how other implementations answer an MPA Request, as a table. From a row and a
 * Request, iw_personality_answer makes two frames: the Reply to the peer, and a Request for our
 * engine. The rows follow the sources that they cite; the devices themselves were not available.
 *
 * No system call, no state.
 */
#ifndef IW_MPA_PROBE_PERSONALITY_H
#define IW_MPA_PROBE_PERSONALITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/verbs.h>

#include "cli/param.h"
#include "mpa-probe/ask.h"

/* C of the Reply. */
enum iw_personality_crc {
	IW_PERSONALITY_CRC_ECHO, /* as in the Request */
	IW_PERSONALITY_CRC_ALWAYS,
	IW_PERSONALITY_CRC_NEVER
};
/* The RTR forms that the Reply names if the Request asks for the peer-to-peer model. */
enum iw_personality_rtr {
	IW_PERSONALITY_RTR_NONE,  /* no support for the peer-to-peer model */
	IW_PERSONALITY_RTR_WRITE, /* Write if offered, else Read if offered, else Write */
	IW_PERSONALITY_RTR_READ,  /* Read if Write or Read was offered, else client-server */
};

struct iw_personality {
	const char *name;
	bool native; /* the engine answers by itself; of the rest only request_ns applies */
	uint8_t rev_least, rev_most;
	bool enhanced;   /* it supports RFC 6581 */
	bool echo_flags; /* the Reply has the reserved bits and, in Rev 1, S of the Request */
	enum iw_personality_crc crc;
	bool refuses_markers;
	/* Maximum IRD and ORD of the Reply. Below it, IRD is the Request's ORD, and ORD its IRD. */
	uint16_t depth;
	enum iw_personality_rtr rtr;
	uint16_t pd_max;
	bool extra_is_bad; /* octets that follow the Request before the Reply end the connection */
	bool bad_by_reset; /* it ends the connection by a reset; false: by FIN */
	bool drops_stag0;  /* tagged segments with STag 0 are fatal, even if they are empty */
	bool smbd_header;  /* Private Data of the Reply begins with IRD and ORD of [MS-SMBD] 6.1 */
	uint64_t request_ns; /* time limit for the Request */
};

#define IW_PERSONALITIES 5
extern const struct iw_personality iw_personalities[IW_PERSONALITIES];
/* The names in the same order, then NULL. */
extern const char *const iw_personality_names[IW_PERSONALITIES + 1];

/* A personality, and the settings of the user that override it. */
struct iw_personality_cfg {
	const struct iw_personality *row;
	bool set_crc; /* crc below overrides that of the row */
	enum iw_personality_crc crc;
	bool markers;      /* M = 1 in the Reply */
	uint8_t rev_most;  /* 0: as in the row */
	uint8_t rtr;       /* set of forms that the Reply may name; 0: as in the row */
	bool reject;       /* R = 1 in each Reply */
	const uint8_t *pd; /* Private Data of the Reply (borrowed) */
	size_t pd_len;
};

enum iw_personality_verdict {
	IW_PERSONALITY_MORE,   /* the Request is incomplete: read until it has `need` octets */
	IW_PERSONALITY_ACCEPT, /* send reply to the peer, pass request to the engine */
	IW_PERSONALITY_REJECT, /* send reply, then FIN */
	IW_PERSONALITY_CLOSE,  /* send FIN without a Reply */
	IW_PERSONALITY_RESET,
};
/* Returns "accept", "reject", ... */
const char *iw_personality_verdict_name(enum iw_personality_verdict v);

struct iw_personality_answer {
	enum iw_personality_verdict verdict;
	size_t need;    /* MORE: octets of the Request in all, as far as is known */
	char text[120]; /* REJECT, CLOSE, RESET: the reason */
	uint8_t reply[IW_ASK_MAX];
	size_t reply_len;
	/* ACCEPT: a Request with Rev 2 that brings the engine to the agreement on the wire. */
	uint8_t request[IW_ASK_MAX];
	size_t request_len;
	bool crc;           /* in use */
	bool legacy_little; /* the IRD/ORD Negotiate Header of the Request is little-endian */
};

/*
 * Sets how the engine has to listen so that it can follow every decision of the personality: crc,
 * markers, rev, rtr, ird and ord of param. A native personality takes the settings of cfg, and also
 * sets the Private Data (borrowed from cfg).
 */
void iw_personality_engine(struct iw_cli_param *param, const struct iw_personality_cfg *cfg);

/*
 * Answers a Request of which octets, len of them, have been received. extra: more octets follow the
 * Request.
 */
void iw_personality_answer(struct iw_personality_answer *out, const struct iw_personality_cfg *cfg,
			   const uint8_t *octets, size_t len, bool extra);

#endif
