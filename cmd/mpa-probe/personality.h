/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Personalities: what other implementations answer to an MPA Request, as tables. One function makes of
 * a table and a Request the Reply that goes out, and what the engine is to know of it. Emulated, all of
 * them: from the sources that each row names, not from the devices.
 *
 * No system call, no state.
 */
#ifndef IW_PROBE_PERSONALITY_H
#define IW_PROBE_PERSONALITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/verbs.h>

#include "mpa-probe/ask.h"

/* How C of its Reply is found. */
enum iw_personality_crc {
	IW_PERSONALITY_CRC_ECHO,
	IW_PERSONALITY_CRC_ALWAYS,
	IW_PERSONALITY_CRC_NEVER
};
/* Which RTR forms its Reply names when it was asked for some. */
enum iw_personality_rtr {
	IW_PERSONALITY_RTR_NONE,  /* it knows no peer-to-peer model */
	IW_PERSONALITY_RTR_WRITE, /* Write if offered, else Read if offered, else Write */
	IW_PERSONALITY_RTR_READ, /* Read, if Write or Read was offered; else it stays client-server */
};

struct iw_personality {
	const char *name;
	bool native; /* the engine's own answers; nothing below counts */
	uint8_t rev_least, rev_most;
	bool enhanced;
	bool echo_flags; /* reserved bits, and M of a refusal apart all that the Request says */
	enum iw_personality_crc crc;
	bool refuses_markers;
	uint16_t depth; /* IRD and ORD are the Request's, but not more */
	enum iw_personality_rtr rtr;
	uint16_t pd_max;
	bool extra_is_bad;   /* octets right behind the Request: it ends the connection */
	bool bad_by_reset;   /* ... and so for whatever it cannot use; else by FIN */
	bool drops_stag0;    /* tagged segments with STag 0 are fatal, though they have no octets */
	bool smbd_header;    /* its Private Data begins with IRD and ORD of [MS-SMBD] 6.1 */
	uint64_t request_ns; /* how long it waits for the Request */
};

#define IW_PERSONALITIES 5
extern const struct iw_personality iw_personalities[IW_PERSONALITIES];
/* Their names, ending with NULL, in the same order. */
extern const char *const iw_personality_names[IW_PERSONALITIES + 1];

/* What whoever runs it wants otherwise. */
struct iw_personality_cfg {
	const struct iw_personality *row;
	bool set_crc; /* crc below in place of the personality's own */
	enum iw_personality_crc crc;
	bool markers;      /* M = 1 in the Reply */
	uint8_t rev_most;  /* 0: the personality's */
	uint8_t rtr;       /* set of forms it may name; 0: the personality's choice */
	bool reject;       /* R = 1 to everybody */
	const uint8_t *pd; /* Private Data of the Reply (borrowed) */
	size_t pd_len;
};

enum iw_personality_verdict {
	IW_PERSONALITY_MORE,   /* the Request is not complete: need octets in all */
	IW_PERSONALITY_ACCEPT, /* reply goes out, request to the engine */
	IW_PERSONALITY_REJECT, /* reply goes out, then FIN */
	IW_PERSONALITY_CLOSE,  /* FIN without a Reply */
	IW_PERSONALITY_RESET,
};
/* "accept", "reject", ... */
const char *iw_personality_verdict_name(enum iw_personality_verdict v);

struct iw_personality_answer {
	enum iw_personality_verdict verdict;
	size_t need;    /* MORE */
	char text[120]; /* REJECT, CLOSE, RESET: why */
	uint8_t reply[IW_ASK_MAX];
	size_t reply_len;
	/* ACCEPT: a Request that brings the engine to where the wire is: the same agreement, Rev
	 * 2. */
	uint8_t request[IW_ASK_MAX];
	size_t request_len;
	bool crc;           /* in use */
	bool legacy_little; /* the Request's IRD/ORD Negotiate Header is in little-endian order */
};

/* How the engine behind it is to listen: what the personality decides for each connection it must be able to
 * follow. Of param crc, markers, rev, rtr, ird and ord are set; a native one follows cfg itself. */
void iw_personality_engine(struct iw_conn_param *param, const struct iw_personality_cfg *cfg);

/* octets: what has come of the Request, len of them; extra: more was behind it. */
void iw_personality_answer(struct iw_personality_answer *out, const struct iw_personality_cfg *cfg,
			   const uint8_t *octets, size_t len, bool extra);

#endif
