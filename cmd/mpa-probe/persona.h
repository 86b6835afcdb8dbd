/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Personalities: what other implementations answer to an MPA Request, as tables. One function makes of
 * a table and a Request the Reply that goes out, and what the engine is to know of it. Emulated, all of
 * them: from the sources that each row names, not from the devices.
 *
 * No system call, no state.
 */
#ifndef IW_PROBE_PERSONA_H
#define IW_PROBE_PERSONA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/verbs.h>

#include "mpa-probe/ask.h"

/* How C of its Reply is found. */
enum iw_persona_crc { IW_PERSONA_CRC_ECHO, IW_PERSONA_CRC_ALWAYS, IW_PERSONA_CRC_NEVER };
/* Which RTR forms its Reply names when it was asked for some. */
enum iw_persona_rtr {
	IW_PERSONA_RTR_NONE,  /* it knows no peer-to-peer model */
	IW_PERSONA_RTR_WRITE, /* Write if offered, else Read if offered, else Write */
	IW_PERSONA_RTR_READ,  /* Read, if Write or Read was offered; else it stays client-server */
};

struct iw_persona {
	const char *name;
	bool native; /* the engine's own answers; nothing below counts */
	uint8_t rev_least, rev_most;
	bool enhanced;
	bool echo_flags; /* reserved bits, and M of a refusal apart all that the Request says */
	enum iw_persona_crc crc;
	bool refuses_markers;
	uint16_t depth; /* IRD and ORD are the Request's, but not more */
	enum iw_persona_rtr rtr;
	uint16_t pd_max;
	bool extra_is_bad;   /* octets right behind the Request: it ends the connection */
	bool bad_by_reset;   /* ... and so for whatever it cannot use; else by FIN */
	bool drops_stag0;    /* tagged segments with STag 0 are fatal, though they have no octets */
	bool smbd_header;    /* its Private Data begins with IRD and ORD of [MS-SMBD] 6.1 */
	uint64_t request_ns; /* how long it waits for the Request */
};

#define IW_PERSONAS 5
extern const struct iw_persona iw_personas[IW_PERSONAS];
/* Their names, ending with NULL, in the same order. */
extern const char *const iw_persona_names[IW_PERSONAS + 1];

/* What whoever runs it wants otherwise. */
struct iw_persona_cfg {
	const struct iw_persona *persona;
	bool set_crc; /* crc below in place of the persona's own */
	enum iw_persona_crc crc;
	bool markers;      /* M = 1 in the Reply */
	uint8_t rev_most;  /* 0: the persona's */
	uint8_t rtr;       /* set of forms it may name; 0: the persona's choice */
	bool reject;       /* R = 1 to everybody */
	const uint8_t *pd; /* Private Data of the Reply (borrowed) */
	size_t pd_len;
};

enum iw_persona_verdict {
	IW_PERSONA_MORE,   /* the Request is not complete: need octets in all */
	IW_PERSONA_ACCEPT, /* reply goes out, request to the engine */
	IW_PERSONA_REJECT, /* reply goes out, then FIN */
	IW_PERSONA_CLOSE,  /* FIN without a Reply */
	IW_PERSONA_RESET,
};
/* "accept", "reject", ... */
const char *iw_persona_verdict_name(enum iw_persona_verdict v);

struct iw_persona_answer {
	enum iw_persona_verdict verdict;
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

/* How the engine behind it is to listen: what the persona decides for each connection it must be able to
 * follow. Of param crc, markers, rev, rtr, ird and ord are set; a native one follows cfg itself. */
void iw_persona_engine(struct iw_conn_param *param, const struct iw_persona_cfg *cfg);

/* octets: what has come of the Request, len of them; extra: more was behind it. */
void iw_persona_answer(struct iw_persona_answer *out, const struct iw_persona_cfg *cfg,
		       const uint8_t *octets, size_t len, bool extra);

#endif
