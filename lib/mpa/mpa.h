/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * MPA: ULPDUs over a TCP stream (RFC 5044), with enhanced set-up (RFC 6581).
 *
 * It has the start-up exchange of both roles with all that it negotiates, and FPDUs, markers and
 * CRC in both directions. lib/conn drives it, lib/wire encodes and decodes. Of DDP it knows only
 * the least header length.
 *
 * It makes no system call, reads no clock and takes no lock: a struct iw_mpa belongs to one thread
 * at a time.
 *
 * To receive:   n = iw_mpa_rx_vec(m, scratch, vec);     where to put the next octets of the stream
 *               iw_mpa_received(m, bytes);              bytes of them were put there
 *               while (iw_mpa_next(m, &u, why) > 0) ... start-up events, then checked ULPDUs
 *               iw_mpa_rx_end(m)                        an incomplete FPDU moves out of scratch
 *
 * Any split of the stream gives the same units. During start-up it asks for exactly the octets of
 * the frame. What follows a Request stays in TCP until the ULP has decided, and what follows a
 * rejecting Reply stays there for the ULP.
 *
 * To send:      while ((max = iw_mpa_room(m, t)) > 0) ... cut a segment of at most max octets;
 *               iw_mpa_wrap() appends its FPDU to the batch t;
 *               start-up frames come from iw_mpa_tx_startup()
 */
#ifndef IW_MPA_MPA_H
#define IW_MPA_MPA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "agree/agree.h"
#include "util/pool.h"
#include "util/txbuf.h"
#include "util/vec.h"
#include "wire/mpa.h"

/* Size of a spill buffer (cfg.spill->size): one FPDU of the largest size with all its markers. */
#define IW_MPA_SPILL_LEN    (66 * 1024)
/* Most runs of octets in the payload of one FPDU. */
#define IW_MPA_PAYLOAD_VECS 16
/* The shortest DDP header, and so the shortest ULPDU (RFC 5041 4.2). */
#define IW_MPA_ULPDU_MIN    14

enum iw_mpa_state {
	IW_MPA_IDLE,         /* not started */
	IW_MPA_WAIT_REQUEST, /* responder */
	IW_MPA_DECIDING,     /* responder: the ULP decides on the Request; reading pauses */
	IW_MPA_WAIT_REPLY,   /* initiator */
	IW_MPA_FULL_RX,      /* responder: replied, no valid FPDU yet (RFC 5044 7.1.2 rule 4) */
	IW_MPA_FULL,         /* full operation */
	IW_MPA_STREAMING,    /* rejected: MPA is over, TCP stays open for the ULP */
	IW_MPA_FAILED,       /* after a fault: nothing more is delivered */
};
const char *iw_mpa_state_name(enum iw_mpa_state s);

struct iw_mpa_cfg {
	struct iw_pool *spill; /* borrowed until iw_mpa_fini(); buffers of IW_MPA_SPILL_LEN */
	bool initiator;
	/*
	 * 1 or 2; 0, with rdmac: an RDMAC peer. Initiator: offered. Responder: the highest
	 * accepted.
	 */
	uint8_t rev;
	/*
	 * Accepts peers of the RDMA Consortium, Rev 0: markers and CRC both ways, DV = RV = 0
	 * (RFC 5044 appendix C, permissive).
	 */
	bool rdmac;
	/*
	 * WANTED: C = 1, and CRC is in use whatever the peer sets (the default, RFC 5044 4.4).
	 * REQUIRED: a Reply with C = 0 is also refused. OFF: C = 0, and no CRC if the peer also
	 * sets C = 0; only for an administrator's explicit request.
	 */
	enum iw_crc_policy crc;
	bool markers; /* M = 1: the peer must send markers */
	/*
	 * peer_to_peer needs Rev 2. A Rev 2 Request for which iw_offer_is_enhanced() is false is
	 * sent unenhanced (RFC 6581 10). Initiator: iw_mpa_init() copies pd, which has at most
	 * 512 octets minus enhanced data minus block.
	 */
	struct iw_offer offer;
	/*
	 * Above 0: offers and accepts ULPDUs up to this size, beyond the MSS, with the block of the
	 * library (IW_MPA_BLOCK_LEN octets) before the ULP's Private Data. 0: FPDUs fit the EMSS.
	 */
	uint32_t max_ulpdu;
	/* Limit for the peer's frame; 0: 10 s for a Reply, 5 s for a Request. */
	uint64_t timeout_ns;
};

/*
 * The library's block, before the ULP's Private Data: 'i' 'w' 'L' 0x01, then the largest ULPDU that
 * this end accepts, 32 bits big-endian. An initiator sends it if max_ulpdu is set. A responder
 * sends its own only in answer to one, and never in a rejecting Reply.
 */
#define IW_MPA_BLOCK_LEN 8

enum iw_mpa_unit_kind {
	IW_MPA_UNIT_REQUEST, /* responder: iw_mpa_agreed() is filled; accept or reject it */
	IW_MPA_UNIT_REPLY,   /* initiator: accepted; full operation */
	IW_MPA_UNIT_REJECT,  /* initiator: rejected; pd, peer IRD and ORD are filled; STREAMING */
	IW_MPA_UNIT_ULPDU,   /* data, len: a checked ULPDU */
};

struct iw_mpa_unit {
	enum iw_mpa_unit_kind kind;
	const uint8_t *data; /* borrowed until the next call of any iw_mpa_ function */
	size_t len;
	/* Position of the FPDU's first octet; 0 is the first octet of full operation. */
	uint64_t pos;
	size_t fpdu_len; /* ULPDU: octets of its FPDU, markers included */
	/*
	 * The first octets of the next ULPDU in the same read, unchecked: only to prefetch (its
	 * STag). ahead_len 0: not received yet, or there may be markers.
	 */
	const uint8_t *ahead;
	size_t ahead_len;
};

struct iw_mpa;
/* Returns the size of the object, so that conn can allocate it within its own. */
size_t iw_mpa_size(void);
/*
 * Initializes *m. cfg is copied. Returns 0, or
 *  - IW_E_INVAL: a value of cfg is not possible; why has the value and the limits.
 */
IW_MUST_CHECK int iw_mpa_init(struct iw_mpa *m, const struct iw_mpa_cfg *cfg, struct iw_fault *why);
/* Returns the spill buffer to its pool. */
void iw_mpa_fini(struct iw_mpa *m);
/*
 * To be called when TCP is established: the initiator's Request can be sent, the time limit begins.
 */
void iw_mpa_start(struct iw_mpa *m, uint64_t now);
/* Returns the deadline of start-up; IW_TIME_NEVER outside start-up, and while the ULP decides. */
uint64_t iw_mpa_deadline(const struct iw_mpa *m);
/*
 * Checks the deadline. Returns 0, or
 *  - IW_E_TIMEOUT: it has passed; the state is FAILED.
 */
int iw_mpa_timeout(struct iw_mpa *m, uint64_t now, struct iw_fault *why);

enum iw_mpa_state iw_mpa_state(const struct iw_mpa *m);
/*
 * Returns the agreement. It is filled when a Request or Reply is received, and final in states
 * FULL_RX and FULL.
 */
const struct iw_agreed *iw_mpa_agreed(const struct iw_mpa *m);

/* --- receiving -------------------------------------------------------------------------------- */

/*
 * Returns in vec where to put the next octets. Returns the number of elements: 0 if reading pauses
 * (IDLE, DECIDING, STREAMING, FAILED), 1 or 2; or
 *  - IW_E_NOMEM: no spill buffer is free; nothing has changed, read later.
 *
 * All connections of a thread share scratch (at least one octet). It is lent until iw_mpa_rx_end(),
 * which must follow each call that returned more than 0, even if nothing was received. In full
 * operation it asks for a whole number of FPDUs of the last size, so that reads seldom split a
 * steady stream.
 */
IW_MUST_CHECK int iw_mpa_rx_vec(struct iw_mpa *m, struct iw_vec scratch, struct iw_vec vec[2]);
/* Takes the octets put into vec: at most as many as asked for. */
void iw_mpa_received(struct iw_mpa *m, size_t bytes);
/*
 * Returns 1 and the next unit in *u, 0 if it needs more octets, or a fault. After a fault the state
 * is FAILED, and nothing more is delivered (RFC 5044 8).
 *  - IW_E_MPA_FRAME: the start-up frame is invalid: close TCP at once. A refused Rev 0 Request
 *    leaves a Reply in iw_mpa_tx_startup() (RFC 5044 C.2.1): send it if TCP takes it, then close.
 *  - IW_E_MPA_IRD, IW_E_MPA_RTR, IW_E_MPA_LOCAL at an initiator's Reply, and IW_E_MPA_CRC,
 *    IW_E_MPA_MARKER, IW_E_MPA_LOCAL (ULPDU_Length below 14 or above 64768) in full operation: the
 *    ULP may send one Terminate if iw_mpa_may_send() is true, and then closes.
 */
IW_MUST_CHECK int iw_mpa_next(struct iw_mpa *m, struct iw_mpa_unit *u, struct iw_fault *why);
/*
 * Ends a read: scratch belongs to the caller again. If the caller stopped calling iw_mpa_next()
 * while units were left, they are dropped, and the receiving half fails with IW_E_CANCELED.
 */
void iw_mpa_rx_end(struct iw_mpa *m);
/*
 * Takes the end of the stream, FIN or reset, after the last iw_mpa_rx_end(). Returns 0 at the end
 * of an FPDU and in STREAMING, the earlier error if the state is FAILED, or
 *  - IW_E_MPA_LOST: it ended within an FPDU or during start-up; the state is FAILED.
 */
IW_MUST_CHECK int iw_mpa_rx_eof(struct iw_mpa *m, struct iw_fault *why);
/*
 * Returns true if start-up failed in a way that suggests a peer without support for Rev 2 or
 * enhanced frames: it ended the connection without a Reply to our Rev 2 Request (known after
 * iw_mpa_rx_eof()), or it answered an enhanced Request with an unenhanced Reply, accepting or
 * rejecting. The caller MAY then try Rev 1 on a new connection (RFC 6581 10).
 */
bool iw_mpa_should_retry_rev1(const struct iw_mpa *m);

/*
 * The responder's decision. ird and ord are those of this end; the Reply follows RFC 6581 9.1 (ORD
 * at most the peer's IRD; IRD at least 1 for a Read RTR). pd is copied. Returns 0, or
 *  - IW_E_STATE: no Request is pending;
 *  - IW_E_INVAL: pd is too long, or a depth is above 0x3fff; nothing has changed.
 */
IW_MUST_CHECK int iw_mpa_accept(struct iw_mpa *m, uint16_t ird, uint16_t ord, const uint8_t *pd,
				size_t pd_len, struct iw_fault *why);
IW_MUST_CHECK int iw_mpa_reject(struct iw_mpa *m, const uint8_t *pd, size_t pd_len,
				struct iw_fault *why);
/*
 * Rejects because the initiator's IRD is too small. The Reply has the ORD that this end needs
 * (RFC 6581 9.1). For an unenhanced peer it is iw_mpa_reject().
 */
IW_MUST_CHECK int iw_mpa_reject_ord(struct iw_mpa *m, uint16_t ord, const uint8_t *pd,
				    size_t pd_len, struct iw_fault *why);

/* --- sending ---------------------------------------------------------------------------------- */

/*
 * Returns the pending start-up octets, borrowed until iw_mpa_tx_startup_sent(); len 0: no octets
 * are pending.
 */
struct iw_vec iw_mpa_tx_startup(const struct iw_mpa *m);
void iw_mpa_tx_startup_sent(struct iw_mpa *m, size_t bytes);
/* Returns true if no start-up octet was queued: the peer still sees streaming mode. */
bool iw_mpa_is_mute(const struct iw_mpa *m);
/* Returns the raw octets received during start-up (borrowed). */
struct iw_vec iw_mpa_startup_in(const struct iw_mpa *m);
/*
 * Returns true if FPDUs may be sent: full operation was reached (responder: after a valid FPDU,
 * RFC 5044 7.1.2 rule 4), and all start-up octets are sent. Stays true after a fault of the
 * receiving half, for the ULP's last message (RFC 5044 8).
 */
bool iw_mpa_may_send(const struct iw_mpa *m);
/* Sets TCP's effective maximum segment size. Call it after each change; the default is 536. */
void iw_mpa_set_emss(struct iw_mpa *m, size_t emss);
size_t iw_mpa_emss(const struct iw_mpa *m);
/*
 * Returns the largest ULPDU for a segment, 128 to 64768: from the EMSS (RFC 5044 4.5), or as agreed
 * with the library's blocks.
 */
size_t iw_mpa_mulpdu_now(const struct iw_mpa *m);
/*
 * Returns the largest ULPDU that iw_mpa_wrap() is sure to take into t now, iw_mpa_mulpdu_now(). 0:
 * send the batch first.
 */
size_t iw_mpa_room(const struct iw_mpa *m, const struct iw_txbuf *t);
/*
 * Returns true if each FPDU must begin a TCP segment. t->eor is then set if the batch must be sent
 * with MSG_EOR, because its last FPDU does not fill a segment.
 */
bool iw_mpa_aligned(const struct iw_mpa *m);
/*
 * Appends one FPDU to t: hdr (copied), payload, pad and CRC, with markers where they are due. Sets
 * t->eor (see iw_mpa_aligned()). Returns the length of the FPDU in the stream, or 0 if t has no
 * room (nothing is appended).
 *
 * With copy, payload is copied and the CRC is calculated over the copy, for memory that may change
 * meanwhile. Otherwise t may refer to payload, which its owner keeps until the octets are sent;
 * short payload is copied nevertheless.
 *
 * hdr and payload together have 14 to 64768 octets, payload at most IW_MPA_PAYLOAD_VECS runs, and
 * iw_mpa_may_send() is true. Anything else is an error of the caller (assert).
 */
IW_MUST_CHECK size_t iw_mpa_wrap(struct iw_mpa *m, struct iw_txbuf *t, const uint8_t *hdr,
				 size_t hdr_len, const struct iw_vec *payload, size_t npayload,
				 bool copy);

#endif
