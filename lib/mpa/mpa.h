/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * MPA: ULPDUs over a TCP stream (RFC 5044), with enhanced set-up (RFC 6581).
 *
 * Job: the start-up exchange of initiator and responder with all that it negotiates; FPDUs, markers
 * and CRC in both directions. Neighbours: lib/conn drives it, lib/wire encodes and decodes. Of DDP
 * this room knows only the shortest header. Threads: no locks; a struct iw_mpa belongs to one
 * thread at a time.
 *
 * To receive:   n = iw_mpa_rx_vec(m, scratch, vec);     memory for the next octets of the stream
 *               iw_mpa_received(m, bytes);              the caller has read bytes octets into vec
 *               while (iw_mpa_next(m, &u, why) > 0) ... start-up events, then checked ULPDUs
 *               iw_mpa_rx_end(m)                        an incomplete FPDU moves out of scratch
 *
 * However TCP splits the stream, the units are the same. During start-up iw_mpa_rx_vec() asks for
 * no octet after the frame. So octets after a Request stay in TCP until the ULP has decided, and
 * those after a rejecting Reply stay there for the ULP.
 *
 * To send:      while ((max = iw_mpa_room(m, t)) > 0) ... cut a segment of at most max octets;
 *               iw_mpa_wrap() appends its FPDU to the batch t;
 *               iw_mpa_tx_startup() returns the start-up frame
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

/* Bytes of a spill buffer (cfg.spill->size): the largest FPDU with all its markers. */
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
/* Returns the name, "wait-reply" for example. Never NULL. */
const char *iw_mpa_state_name(enum iw_mpa_state s);

struct iw_mpa_cfg {
	struct iw_pool *spill; /* borrowed until iw_mpa_fini(); buffers of IW_MPA_SPILL_LEN */
	bool initiator;
	/*
	 * The MPA revision: 1 or 2; 0 (only with rdmac): that of the RDMA Consortium. Initiator:
	 * the Rev of its Request. Responder: the highest Rev that it accepts.
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
	 * sent unenhanced (RFC 6581 10). Initiator: iw_mpa_init() copies pd. Its limit is 512
	 * octets minus the enhanced data (4, if any) minus the block (8, if max_ulpdu is set).
	 */
	struct iw_offer offer;
	/*
	 * Above 0: the largest ULPDU, in octets, that this end accepts, even if its FPDU exceeds
	 * the MSS. It is offered in the library's block (see IW_MPA_BLOCK_LEN). 0: FPDUs fit the
	 * EMSS.
	 */
	uint32_t max_ulpdu;
	/* The octets are encrypted before TCP cuts them to segments: do not align FPDUs. */
	bool unaligned;
	/* The limit for the peer's frame, ns; 0: 10 s for a Reply, 5 s for a Request. */
	uint64_t timeout_ns;
};

/*
 * The library's block (octets), before the ULP's Private Data: 'i' 'w' 'L' 0x01, then the largest
 * ULPDU that its sender accepts, 32 bits big-endian. An initiator sends it if max_ulpdu is set. A
 * responder sends one only if the Request had one, and never in a rejecting Reply.
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
	/* Position of the FPDU's first octet in the stream; 0: the first one of full operation. */
	uint64_t pos;
	size_t fpdu_len; /* ULPDU: octets of its FPDU, markers included */
	/*
	 * The first octets of the next ULPDU, if the same read contains them. They are unchecked:
	 * use them only to prefetch the registration of their STag. ahead_len 0: not received yet,
	 * or markers may be among them.
	 */
	const uint8_t *ahead;
	size_t ahead_len;
};

struct iw_mpa;
/* Returns the size of the object, so that conn can allocate it within its own. */
size_t iw_mpa_size(void);
/*
 * Initializes *m, which has iw_mpa_size() bytes. cfg is copied. Returns 0, or
 *  - IW_E_INVAL: a value of cfg is not possible; why has the value and the limits.
 */
IW_MUST_CHECK int iw_mpa_init(struct iw_mpa *m, const struct iw_mpa_cfg *cfg, struct iw_fault *why);
/* Returns the spill buffer to its pool. */
void iw_mpa_fini(struct iw_mpa *m);
/*
 * Call it when TCP is established: the initiator's Request is then pending, and the time limit for
 * the peer's frame begins (RFC 5044 7.1.2).
 */
void iw_mpa_start(struct iw_mpa *m, uint64_t now);
/*
 * Returns the deadline of start-up, ns; IW_TIME_NEVER before and after it, and while the ULP
 * decides.
 */
uint64_t iw_mpa_deadline(const struct iw_mpa *m);
/*
 * Checks the deadline. Returns 0, or
 *  - IW_E_TIMEOUT: it has passed; the state is FAILED.
 */
int iw_mpa_timeout(struct iw_mpa *m, uint64_t now, struct iw_fault *why);

enum iw_mpa_state iw_mpa_state(const struct iw_mpa *m);
/*
 * Returns the agreed parameters (borrowed). They are filled when a Request or Reply is received,
 * and final in the states FULL_RX and FULL.
 */
const struct iw_agreed *iw_mpa_agreed(const struct iw_mpa *m);

/* --- receiving -------------------------------------------------------------------------------- */

/*
 * Fills vec with the memory for the next octets. Returns the number of elements: 1 or 2; 0 if
 * reading pauses (IDLE, DECIDING, STREAMING, FAILED); or
 *  - IW_E_NOMEM: no spill buffer is free; nothing has changed, read later.
 *
 * scratch has at least one octet. All connections of a thread may share it: it is lent only until
 * iw_mpa_rx_end(), which must follow each call that returned more than 0, even if nothing was
 * received. In full operation vec has room for a whole number of FPDUs as long as the last one, so
 * that a read seldom ends inside an FPDU of a steady stream.
 */
IW_MUST_CHECK int iw_mpa_rx_vec(struct iw_mpa *m, struct iw_vec scratch, struct iw_vec vec[2]);
/* The caller has read bytes octets into vec, at most the sum of its lengths (asserted). */
void iw_mpa_received(struct iw_mpa *m, size_t bytes);
/*
 * Returns 1 and the next unit in *u; 0 if more octets are needed; or a fault. After a fault the
 * state is FAILED, and nothing more is delivered (RFC 5044 8).
 *  - IW_E_MPA_FRAME: the start-up frame is invalid: close TCP at once. A refused Rev 0 Request
 *    leaves a Reply in iw_mpa_tx_startup() (RFC 5044 C.2.1): send it if TCP takes it, then close.
 *  - IW_E_MPA_IRD, IW_E_MPA_RTR, IW_E_MPA_LOCAL at an initiator's Reply, and IW_E_MPA_CRC,
 *    IW_E_MPA_MARKER, IW_E_MPA_LOCAL (ULPDU_Length below 14 or above 64768) in full operation: the
 *    ULP may send one Terminate if iw_mpa_may_send() is true, and then closes.
 */
IW_MUST_CHECK int iw_mpa_next(struct iw_mpa *m, struct iw_mpa_unit *u, struct iw_fault *why);
/*
 * Ends a read: scratch belongs to the caller again. If iw_mpa_next() has not returned all complete
 * units of the read, the rest is dropped, and the receiving half fails with IW_E_CANCELED.
 */
void iw_mpa_rx_end(struct iw_mpa *m);
/*
 * The peer's stream has ended, by FIN or reset. Call it after the last iw_mpa_rx_end(). Returns 0
 * at the end of an FPDU and in STREAMING, the earlier error if the state is FAILED, or
 *  - IW_E_MPA_LOST: the stream ended inside an FPDU or during start-up; the state is FAILED.
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
 * The responder accepts or rejects the Request. ird and ord are those of this end; the Reply adapts
 * them (RFC 6581 9.1: ORD at most the peer's IRD; IRD at least 1 for a Read as RTR). pd is copied.
 * Returns 0, or
 *  - IW_E_STATE: no Request is pending;
 *  - IW_E_INVAL: pd is too long, or a depth is above 0x3fff; nothing has changed.
 */
IW_MUST_CHECK int iw_mpa_accept(struct iw_mpa *m, uint16_t ird, uint16_t ord, const uint8_t *pd,
				size_t pd_len, struct iw_fault *why);
IW_MUST_CHECK int iw_mpa_reject(struct iw_mpa *m, const uint8_t *pd, size_t pd_len,
				struct iw_fault *why);

/* --- sending ---------------------------------------------------------------------------------- */

/*
 * Returns the pending octets of the start-up frame, borrowed until iw_mpa_tx_startup_sent(). len 0:
 * nothing is pending.
 */
struct iw_vec iw_mpa_tx_startup(const struct iw_mpa *m);
/* TCP has taken the first bytes of them. */
void iw_mpa_tx_startup_sent(struct iw_mpa *m, size_t bytes);
/* Returns true if this end has queued no start-up frame, so its TCP stream is still untouched. */
bool iw_mpa_is_mute(const struct iw_mpa *m);
/* Returns the raw octets received during start-up (borrowed). */
struct iw_vec iw_mpa_startup_in(const struct iw_mpa *m);
/*
 * Returns true if FPDUs may be sent: full operation was reached (responder: after a valid FPDU,
 * RFC 5044 7.1.2 rule 4), and all start-up octets are sent. Stays true after a fault of the
 * receiving half, for the ULP's last message (RFC 5044 8).
 */
bool iw_mpa_may_send(const struct iw_mpa *m);
/* Sets TCP's effective maximum segment size, octets. Call it after each change. Default: 536. */
void iw_mpa_set_emss(struct iw_mpa *m, size_t emss);
/*
 * Returns the MULPDU, the largest ULPDU for DDP, 128 to 64768 octets: that of the EMSS (RFC 5044
 * 4.5), or a larger one that both ends have agreed on with the library's blocks.
 */
size_t iw_mpa_mulpdu_now(const struct iw_mpa *m);
/* Returns iw_mpa_mulpdu_now() if t has room for an FPDU of that size. 0: send the batch first. */
size_t iw_mpa_room(const struct iw_mpa *m, const struct iw_txbuf *t);
/*
 * Returns true if each FPDU must begin a TCP segment (RFC 5044 5.1). iw_mpa_wrap() then sets t->eor
 * if the batch must be sent with MSG_EOR, because its last FPDU does not fill a segment.
 */
bool iw_mpa_aligned(const struct iw_mpa *m);
/*
 * Appends one FPDU to t: hdr (copied), payload, pad and CRC, with markers where they are due. Sets
 * t->eor (see iw_mpa_aligned()). Returns the length of the FPDU in the stream, octets, or 0 if t
 * has no room (nothing is appended).
 *
 * copy: the memory of payload may change meanwhile, so payload is copied and the CRC is that of the
 * copy. Otherwise t may refer to payload, which is kept until the octets are sent; short payload is
 * copied nevertheless.
 *
 * The caller ensures (asserted): hdr and payload together have 14 to 64768 octets, payload has at
 * most IW_MPA_PAYLOAD_VECS runs, and iw_mpa_may_send() is true.
 */
IW_MUST_CHECK size_t iw_mpa_wrap(struct iw_mpa *m, struct iw_txbuf *t, const uint8_t *hdr,
				 size_t hdr_len, const struct iw_vec *payload, size_t npayload,
				 bool copy);

#endif
