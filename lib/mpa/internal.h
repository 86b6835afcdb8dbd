/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of this room share: the object, its one way to change state, its one way to
 * fail. */
#ifndef IW_MPA_INTERNAL_H
#define IW_MPA_INTERNAL_H

#include "mpa/mpa.h"

#include "util/num.h"
#include "util/text.h"

#define FRAME_MAX (IW_MPA_FRAME_LEN + IW_MPA_PD_MAX)

/* The receiving half in full operation. A read cycle lasts from iw_mpa_rx_vec to iw_mpa_rx_end. */
struct mpa_rx {
	uint64_t pos;       /* of the FPDU being received: stream octets since SeqStart */
	uint8_t *cur, *end; /* what is left of this read in scratch; equal between reads */
	uint8_t *spill;     /* held during a read, and between reads while spilled > 0 */
	size_t spilled;     /* octets there: the beginning of the FPDU at pos */
	size_t to_spill;    /* this read's first octets go to the spill buffer: so many */
	size_t asked;       /* octets asked for by iw_mpa_rx_vec */
	size_t last_fpdu;   /* stream octets of the FPDU before */
};

/* The sending half in full operation. */
struct mpa_tx {
	uint64_t pos; /* of the next FPDU */
	size_t emss;
	bool open; /* FPDUs may go, once the start-up octets went */
};

struct iw_mpa {
	struct iw_mpa_cfg cfg; /* without Private Data: the Request is encoded at once */
	enum iw_mpa_state state;
	int err; /* FAILED: why */
	uint64_t deadline;
	bool saw_block; /* responder: the Request carries the library's block */
	bool retry_rev1;
	struct iw_agreed agreed;
	struct mpa_rx rx;
	struct mpa_tx tx;

	/* Start-up: the peer's frame as it arrives, ours until it is sent. */
	size_t in_len;
	size_t out_len, out_sent;
	uint8_t in[FRAME_MAX];
	uint8_t out[FRAME_MAX];
};

/* state.c */
void iw_mpa_set_state(struct iw_mpa *m, enum iw_mpa_state to);
/* The one way into FAILED: why is filled by the caller (iw_fail, whose result err is); its offset
 * is set here. Returns err. */
int iw_mpa_failed(struct iw_mpa *m, int err, struct iw_fault *why);

/* startup.c */
int iw_mpa_startup_rx_vec(struct iw_mpa *m, struct iw_vec vec[2]);
int iw_mpa_startup_next(struct iw_mpa *m, struct iw_mpa_unit *u, struct iw_fault *why);

/* negotiate.c: what a frame says and what comes of it. None of them changes the state; pd is
 * borrowed. */
/* IW_E_INVAL: a value is impossible. */
int iw_mpa_check_cfg(const struct iw_mpa_cfg *cfg, struct iw_fault *why);
void iw_mpa_build_request(struct iw_mpa *m, const uint8_t *pd, size_t pd_len);
/* IW_E_INVAL: pd too long, or a depth above 0x3fff; nothing has changed. ord NULL: what accepting
 * would have said. */
int iw_mpa_build_accept(struct iw_mpa *m, uint16_t ird, uint16_t ord, const uint8_t *pd,
			size_t pd_len, struct iw_fault *why);
int iw_mpa_build_reject(struct iw_mpa *m, const uint16_t *ord, const uint8_t *pd, size_t pd_len,
			struct iw_fault *why);
/* Flags, Rev and PD_Length of the peer's frame, whose Private Data may not be there yet.
 * IW_E_MPA_FRAME. */
int iw_mpa_check_head(struct iw_mpa *m, const struct iw_mpa_frame *f, struct iw_fault *why);
/* Fill params from a whole frame that passed. */
void iw_mpa_take_request(struct iw_mpa *m, const struct iw_mpa_frame *f);
void iw_mpa_take_reject(struct iw_mpa *m, const struct iw_mpa_frame *f);
/* IW_E_MPA_IRD, IW_E_MPA_RTR, IW_E_MPA_LOCAL: the two ends do not fit; params are filled as far
 * as a Terminate needs them. */
int iw_mpa_take_reply(struct iw_mpa *m, const struct iw_mpa_frame *f, struct iw_fault *why);

#endif
