/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to lib/mpa: the object, and the functions that its files share. */
#ifndef IW_MPA_INTERNAL_H
#define IW_MPA_INTERNAL_H

#include "mpa/mpa.h"

#include "util/num.h"
#include "util/text.h"

#define FRAME_MAX (IW_MPA_FRAME_LEN + IW_MPA_PD_MAX)

/* The receiving half in full operation. A read lasts from iw_mpa_rx_vec() to iw_mpa_rx_end(). */
struct mpa_rx {
	uint64_t pos;       /* position of the FPDU being received: stream octets since SeqStart */
	uint8_t *cur, *end; /* the rest of this read in scratch; equal between reads */
	uint8_t *spill;     /* from the pool: during a read, and between reads if spilled > 0 */
	size_t spilled;     /* octets in spill: the beginning of the FPDU at pos */
	size_t to_spill;    /* octets at the beginning of this read that go to spill */
	size_t asked;       /* octets asked for by iw_mpa_rx_vec */
	size_t last_fpdu;   /* length of the previous FPDU in the stream */
};

/* The sending half in full operation. */
struct mpa_tx {
	uint64_t pos; /* position of the next FPDU */
	size_t emss;
	bool open; /* FPDUs may be sent once the start-up octets are sent */
};

struct iw_mpa {
	struct iw_mpa_cfg cfg; /* without Private Data: the Request is encoded at once */
	enum iw_mpa_state state;
	int err; /* in state FAILED: the error */
	uint64_t deadline;
	bool saw_block; /* responder: the Request has the library's block */
	bool retry_rev1;
	struct iw_agreed agreed;
	struct mpa_rx rx;
	struct mpa_tx tx;

	/* Start-up: the peer's frame as received, and ours until it is sent. */
	size_t in_len;
	size_t out_len, out_sent;
	uint8_t in[FRAME_MAX];
	uint8_t out[FRAME_MAX];
};

/* state.c */
void iw_mpa_set_state(struct iw_mpa *m, enum iw_mpa_state to);
/*
 * Sets state FAILED and returns err. why (may be NULL): filled by the caller, with iw_fail(); its
 * offset is set here.
 */
int iw_mpa_failed(struct iw_mpa *m, int err, struct iw_fault *why);

/* startup.c */
int iw_mpa_startup_rx_vec(struct iw_mpa *m, struct iw_vec vec[2]);
int iw_mpa_startup_next(struct iw_mpa *m, struct iw_mpa_unit *u, struct iw_fault *why);

/* negotiate.c: encodes and evaluates frames. No function changes the state. pd is borrowed. */
/* Returns 0, or IW_E_INVAL: a value is not possible. */
int iw_mpa_check_cfg(const struct iw_mpa_cfg *cfg, struct iw_fault *why);
void iw_mpa_build_request(struct iw_mpa *m, const uint8_t *pd, size_t pd_len);
/*
 * Encode the accepting or the rejecting Reply. Return 0, or IW_E_INVAL: pd is too long, or a depth
 * is above 0x3fff; nothing has changed.
 */
int iw_mpa_build_accept(struct iw_mpa *m, uint16_t ird, uint16_t ord, const uint8_t *pd,
			size_t pd_len, struct iw_fault *why);
int iw_mpa_build_reject(struct iw_mpa *m, const uint8_t *pd, size_t pd_len, struct iw_fault *why);
/*
 * Checks flags, Rev and PD_Length of the peer's frame, whose Private Data may be incomplete.
 * Returns 0 or IW_E_MPA_FRAME.
 */
int iw_mpa_check_head(struct iw_mpa *m, const struct iw_mpa_frame *f, struct iw_fault *why);
/* Fill `agreed` from a complete frame that iw_mpa_check_head() accepted. */
void iw_mpa_take_request(struct iw_mpa *m, const struct iw_mpa_frame *f);
void iw_mpa_take_reject(struct iw_mpa *m, const struct iw_mpa_frame *f);
/*
 * The same for an accepting Reply. Returns 0, or the cause why this end cannot continue: errors of
 * iw_agreed_take_reply(), or IW_E_MPA_LOCAL (the Reply has C = 0, and this end requires CRC). After
 * an error, `agreed` has what the Terminate needs.
 */
int iw_mpa_take_reply(struct iw_mpa *m, const struct iw_mpa_frame *f, struct iw_fault *why);

#endif
