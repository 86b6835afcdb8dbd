/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * MPA: ULPDUs over a TCP stream (RFC 5044), with enhanced set-up (RFC 6581).
 *
 * Job: the start-up exchange of both roles with everything it negotiates; FPDUs, markers and CRC
 * in both directions.
 * Neighbours: lib/conn drives it; lib/wire describes the octets. It knows nothing of DDP but the
 * length of its header.
 * Threads: none, no locks; one struct iw_mpa belongs to one thread at a time. It makes no system
 * call and reads no clock.
 *
 * The way in:   n = iw_mpa_rx_vec(m, scratch, vec);     where the next octets of the stream go
 *               iw_mpa_received(m, bytes);              that many arrived there
 *               while (iw_mpa_next(m, &u, why) > 0) ... start-up events, then checked ULPDUs
 *               iw_mpa_rx_end(m)                        a part of an FPDU moves out of scratch
 *
 * Any split of the stream gives the same units. During start-up exactly the frame is asked for,
 * never an octet behind it: what follows a Request stays in TCP until the ULP has decided, what
 * follows a rejecting Reply stays there for the ULP.
 *
 * The way out:  while ((max = iw_mpa_room(m, t)) > 0) ... cut a segment of at most max octets,
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

/* Spill buffers (cfg.spill->size) hold one split FPDU of the largest size with all its markers. */
#define IW_MPA_SPILL_LEN    (66 * 1024)
/* The payload of one FPDU lies in at most so many runs of octets. */
#define IW_MPA_PAYLOAD_VECS 16
/* The shortest DDP header: a ULPDU below it cannot be one (RFC 5041 4.2). */
#define IW_MPA_ULPDU_MIN    14

enum iw_mpa_state {
	IW_MPA_IDLE,         /* not started */
	IW_MPA_WAIT_REQUEST, /* responder */
	IW_MPA_DECIDING,     /* responder: the Request is with the ULP; reading pauses */
	IW_MPA_WAIT_REPLY,   /* initiator */
	IW_MPA_FULL_RX,      /* responder: replied, no valid FPDU yet (RFC 5044 7.1.2 rule 4) */
	IW_MPA_FULL,         /* full operation */
	IW_MPA_STREAMING,    /* rejected: MPA has left, TCP stays open for the ULP */
	IW_MPA_FAILED,       /* a fault: nothing more is passed up */
};
const char *iw_mpa_state_name(enum iw_mpa_state s);

struct iw_mpa_cfg {
	struct iw_pool *spill; /* borrowed for life; buffers of IW_MPA_SPILL_LEN */
	bool initiator;
	/* 1 or 2; 0 (with rdmac): be an RDMAC peer. Initiator: offered. Responder: the highest
	 * accepted. */
	uint8_t rev;
	/* Accept RDMA Consortium peers, Rev 0: markers and CRC both ways, DV = RV = 0 (RFC 5044
	 * appendix C, permissive). */
	bool rdmac;
	/*
	 * WANTED: C = 1, and CRC in use whatever the peer says (the default, RFC 5044 4.4). REQUIRED:
	 * also refuses a Reply with C = 0. OFF: C = 0, and no CRC if the peer says so too (an
	 * administrator's explicit choice only).
	 */
	enum iw_crc_policy crc;
	bool markers; /* M = 1: the peer must send markers */
	/*
	 * peer_to_peer: Rev 2 only. A Rev 2 Request for which iw_offer_is_enhanced is false is sent
	 * unenhanced (RFC 6581 10). Initiator: pd is copied by init; at most 512 octets less those
	 * of the enhanced data and of the block.
	 */
	struct iw_offer offer;
	/* Above 0: offer and accept ULPDUs up to that size beyond the MSS, by the library's own
	 * block in front of the ULP's Private Data (IW_MPA_BLOCK_LEN octets). 0: FPDUs fit the
	 * EMSS. */
	uint32_t max_ulpdu;
	/* For the wait of this end; 0: 10 s for a Reply, 5 s for a Request. */
	uint64_t timeout_ns;
};

/* The library's block in front of the ULP's Private Data: 'i' 'w' 'L' 0x01, then the largest ULPDU
 * this end accepts, 32 bits big-endian. An initiator sends it when max_ulpdu is set; a responder
 * answers with its own only when it saw one, and never in a rejecting Reply. */
#define IW_MPA_BLOCK_LEN 8

enum iw_mpa_unit_kind {
	IW_MPA_UNIT_REQUEST, /* responder: params are filled; iw_mpa_accept or iw_mpa_reject */
	IW_MPA_UNIT_REPLY,   /* initiator: accepted; full operation */
	IW_MPA_UNIT_REJECT,  /* initiator: rejected; pd, peer IRD and ORD are filled; STREAMING */
	IW_MPA_UNIT_ULPDU,   /* data, len: a checked ULPDU */
};

struct iw_mpa_unit {
	enum iw_mpa_unit_kind kind;
	const uint8_t *data; /* borrowed until the next call of any iw_mpa_ function */
	size_t len;
	uint64_t pos; /* stream octets since full operation began, of the FPDU's first octet */
	/* What follows in the same read: the next ULPDU's first octets, unchecked, for prefetching
	 * only (its STag). ahead_len 0: nothing there yet, or markers are in the way. */
	const uint8_t *ahead;
	size_t ahead_len;
};

struct iw_mpa;
/* Size of the object, for construction in place: conn embeds it by allocating that much. */
size_t iw_mpa_size(void);
/* IW_E_INVAL: a value of cfg is impossible; why says which and what is possible. */
IW_MUST_CHECK int iw_mpa_init(struct iw_mpa *m, const struct iw_mpa_cfg *cfg, struct iw_fault *why);
/* Gives the spill buffer back. */
void iw_mpa_fini(struct iw_mpa *m);
/* TCP is established: the initiator's Request becomes sendable, the time-out begins. */
void iw_mpa_start(struct iw_mpa *m, uint64_t now);
/* IW_TIME_NEVER outside start-up, and while the ULP decides. */
uint64_t iw_mpa_deadline(const struct iw_mpa *m);
/* Past the deadline: IW_E_TIMEOUT with why, state FAILED; else 0. */
int iw_mpa_timeout(struct iw_mpa *m, uint64_t now, struct iw_fault *why);

enum iw_mpa_state iw_mpa_state(const struct iw_mpa *m);
/* Filled when a Request or Reply has arrived, final in states FULL_RX and FULL. */
const struct iw_agreed *iw_mpa_agreed(const struct iw_mpa *m);

/* --- in --------------------------------------------------------------------------------------- */

/* Where the next octets go: vec[0..n). Returns n: 0 (reading pauses: IDLE, DECIDING, STREAMING,
 * FAILED), 1 or 2. scratch (at least one octet) is shared by all connections of a thread and is
 * lent until iw_mpa_rx_end, which must follow each call that returned more than 0, also when
 * nothing arrived. In full operation the length asked for is a whole number of FPDUs of the size
 * seen last, so that a steady stream is rarely split.
 * IW_E_NOMEM: no spill buffer just now; nothing has changed, read later. */
IW_MUST_CHECK int iw_mpa_rx_vec(struct iw_mpa *m, struct iw_vec scratch, struct iw_vec vec[2]);
/* At most as many as asked for. */
void iw_mpa_received(struct iw_mpa *m, size_t bytes);
/* 1: *u is the next unit; 0: more octets are needed; negative: a fault, why filled, state FAILED
 * for good (RFC 5044 8: nothing more is passed up on this half).
 *  - IW_E_MPA_FRAME: the start-up frame cannot be used: close TCP at once. (A Rev 0 Request that
 *    is refused leaves a last Reply in iw_mpa_tx_startup, RFC 5044 C.2.1: send it if TCP takes it,
 *    then close.)
 *  - IW_E_MPA_IRD, _RTR, _LOCAL at an initiator's Reply; IW_E_MPA_CRC, _MARKER, _LOCAL
 *    (ULPDU_Length below 14 or above 64768) in full operation: the ULP may still send one
 *    Terminate when iw_mpa_may_send says so, then closes. */
IW_MUST_CHECK int iw_mpa_next(struct iw_mpa *m, struct iw_mpa_unit *u, struct iw_fault *why);
/* Ends a read: scratch is the caller's again. A caller that stopped calling iw_mpa_next while it
 * still returned 1 wants nothing more: the rest of the read is dropped and the receiving half has
 * FAILED, with IW_E_CANCELED. */
void iw_mpa_rx_end(struct iw_mpa *m);
/* The stream ended: FIN or reset, behind the last iw_mpa_rx_end. IW_E_MPA_LOST with why, state
 * FAILED, when inside an FPDU or during start-up; 0 at an FPDU boundary and when STREAMING; after
 * a fault that fault's error. */
IW_MUST_CHECK int iw_mpa_rx_eof(struct iw_mpa *m, struct iw_fault *why);
/* The start-up failed in a way that says: the peer does not know Rev 2 or enhanced frames. It
 * answered our Rev 2 Request by ending the connection without a Reply (iw_mpa_rx_eof was told), or
 * an enhanced one by an unenhanced Reply, accepting or rejecting. The caller MAY then try Rev 1 on
 * a new connection (RFC 6581 10). */
bool iw_mpa_should_retry_rev1(const struct iw_mpa *m);

/* The responder's decision. ird, ord: ours; what goes on the wire follows RFC 6581 9.1 (ORD at
 * most the peer's IRD; IRD raised to 1 for a Read RTR). pd copied.
 * IW_E_STATE: no Request waits. IW_E_INVAL: pd too long, or a depth above 0x3fff; decide again. */
IW_MUST_CHECK int iw_mpa_accept(struct iw_mpa *m, uint16_t ird, uint16_t ord, const uint8_t *pd,
				size_t pd_len, struct iw_fault *why);
IW_MUST_CHECK int iw_mpa_reject(struct iw_mpa *m, const uint8_t *pd, size_t pd_len,
				struct iw_fault *why);
/* Rejects because the initiator's IRD is too small: the Reply carries the ORD that this end needs
 * (RFC 6581 9.1). Towards an unenhanced peer it is iw_mpa_reject. */
IW_MUST_CHECK int iw_mpa_reject_ord(struct iw_mpa *m, uint16_t ord, const uint8_t *pd,
				    size_t pd_len, struct iw_fault *why);

/* --- out -------------------------------------------------------------------------------------- */

/* Start-up octets still to be sent (borrowed until _sent), len 0: none. */
struct iw_vec iw_mpa_tx_startup(const struct iw_mpa *m);
void iw_mpa_tx_startup_sent(struct iw_mpa *m, size_t bytes);
/* True if no octet of start-up was queued: for the peer this side is still in streaming mode. */
bool iw_mpa_is_mute(const struct iw_mpa *m);
/* The raw octets received during start-up (borrowed). */
struct iw_vec iw_mpa_startup_in(const struct iw_mpa *m);
/* FPDUs may go: full operation was reached (responder: a valid FPDU came first, RFC 5044 7.1.2
 * rule 4) and the start-up octets are all sent. Stays true after a fault of the receiving half,
 * for the ULP's last message (RFC 5044 8). */
bool iw_mpa_may_send(const struct iw_mpa *m);
/* The TCP connection's effective maximum segment size, whenever it changes. Before the first
 * call: 536. */
void iw_mpa_set_emss(struct iw_mpa *m, size_t emss);
size_t iw_mpa_emss(const struct iw_mpa *m);
/* The largest ULPDU for a segment: from the EMSS (RFC 5044 4.5), or the size agreed by the
 * library's blocks. 128..64768. */
size_t iw_mpa_mulpdu_now(const struct iw_mpa *m);
/* The largest ULPDU that iw_mpa_wrap is sure to take into t now: iw_mpa_mulpdu_now. 0: the batch
 * must go first. */
size_t iw_mpa_room(const struct iw_mpa *m, const struct iw_txbuf *t);
/* True when FPDUs are to be aligned with TCP segments: each begins one. t->eor then says that the
 * batch must be sent with MSG_EOR, because its last FPDU does not fill a segment. */
bool iw_mpa_aligned(const struct iw_mpa *m);
/* Appends one FPDU: hdr (copied) then payload, then pad and CRC, markers where they are due.
 * copy: payload is copied, and the CRC taken of the copy (memory that may change under us); else
 * it may be referred to (kept by its owner until the octets are sent); short payload is copied
 * anyway. Sets t->eor as iw_mpa_aligned says. Returns the FPDU's stream octets, 0 when t has no
 * room for it (nothing appended).
 * hdr_len and payload together are 14..64768 octets, payload at most IW_MPA_PAYLOAD_VECS runs:
 * anything else is a mistake of the caller (assert), as is a call when iw_mpa_may_send is false. */
IW_MUST_CHECK size_t iw_mpa_wrap(struct iw_mpa *m, struct iw_txbuf *t, const uint8_t *hdr,
				 size_t hdr_len, const struct iw_vec *payload, size_t npayload,
				 bool copy);

#endif
