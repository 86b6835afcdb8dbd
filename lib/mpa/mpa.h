/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * MPA: ULPDUs over a TCP stream (RFC 5044), with enhanced set-up (RFC 6581).
 *
 * Job: the start-up exchange of both roles with everything it negotiates; FPDUs, markers and CRC in both directions.
 * Neighbours: lib/conn drives it; lib/wire describes the octets. It knows nothing of DDP but the length of its header.
 * Threads: none, no locks; one struct iw_mpa belongs to one thread at a time. It makes no system call and reads no clock.
 *
 * The way in:   n = iw_mpa_rx_vec(m, scratch, vec);     where the next octets of the stream go
 *               iw_mpa_received(m, bytes);              that many arrived there
 *               while (iw_mpa_next(m, &u, why) > 0) ... start-up events, then ULPDUs, checked, where they lie
 *               iw_mpa_rx_end(m)                        an unfinished FPDU moves out of the shared scratch
 * Any split of the stream gives the same units.
 *
 * The way out:  iw_mpa_wrap() appends one FPDU to a batch; start-up frames come from iw_mpa_tx_startup().
 */
#ifndef IW_MPA_MPA_H
#define IW_MPA_MPA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

#include "util/pool.h"
#include "util/txbuf.h"
#include "util/vec.h"
#include "wire/mpa.h"

/* Spill buffers (cfg.spill->size) hold one split FPDU of the largest size with all its markers. */
#define IW_MPA_SPILL_LEN (66 * 1024)

enum iw_mpa_crc {
	IW_MPA_CRC_WANTED,   /* C = 1; on whatever the peer says (the default, RFC 5044 4.4) */
	IW_MPA_CRC_REQUIRED, /* as WANTED, and a Reply with C = 0 to our C = 1 is refused */
	IW_MPA_CRC_OFF,      /* C = 0: off when the peer says so too (explicit request of an administrator only) */
};

enum iw_mpa_rtr { IW_RTR_NONE = 0, IW_RTR_SEND = 1, IW_RTR_WRITE = 2, IW_RTR_READ = 4 };

enum iw_mpa_state {
	IW_MPA_IDLE,          /* not started */
	IW_MPA_WAIT_REQUEST,  /* responder */
	IW_MPA_DECIDING,      /* responder: the Request is with the ULP; reading pauses */
	IW_MPA_WAIT_REPLY,    /* initiator */
	IW_MPA_FULL_RX,       /* responder: replied, may not send FPDUs before a valid one came (RFC 5044 7.1.2) */
	IW_MPA_FULL,          /* full operation */
	IW_MPA_STREAMING,     /* rejected: MPA has left, TCP stays open for the ULP */
	IW_MPA_FAILED,        /* a fault: nothing more is passed up */
};
const char *iw_mpa_state_name(enum iw_mpa_state s);

struct iw_mpa_cfg {
	struct iw_pool *spill;     /* borrowed for life; buffers of IW_MPA_SPILL_LEN */
	bool initiator;
	uint8_t rev;               /* 1 or 2. Initiator: offered. Responder: the highest accepted. 0 with rdmac. */
	bool rdmac;                /* accept RDMA Consortium peers, Rev 0: markers and CRC both ways, DV = RV = 0 (RFC 5044 app. C,
	                              permissive); as an initiator with rev 0: be one */
	enum iw_mpa_crc crc;
	bool markers;              /* M = 1: we demand markers in what we receive */
	bool peer_to_peer;         /* initiator, Rev 2: A = 1 */
	uint8_t rtr;               /* set of enum iw_mpa_rtr that this end can send (initiator) or take (responder) */
	uint16_t ird, ord;         /* ours; IW_MPA_IRD_ORD_MAX: do not negotiate (RFC 6581 9.1) */
	uint32_t max_ulpdu;        /* above 0: offer and accept ULPDUs up to that size beyond the MSS, by the library's own block in front of
	                              the ULP's Private Data (IW_MPA_BLOCK_LEN octets); 0: FPDUs fit the EMSS */
	const uint8_t *pd;         /* initiator: the ULP's Private Data, copied by init */
	size_t pd_len;             /* at most 512 less enhanced data less block */
	uint64_t timeout_ns;       /* for the whole start-up; 0: 10 s waiting for a Reply, 5 s for a Request */
};

/* The library's block in front of the ULP's Private Data: 'i' 'w' 'L' 0x01, then the largest ULPDU this end accepts, 32 bits
 * big-endian. An initiator sends it when max_ulpdu is set; a responder answers with its own only when it saw one. */
#define IW_MPA_BLOCK_LEN 8

/* What start-up has agreed; filled when a Request or Reply arrived, final once state is FULL_RX or FULL. */
struct iw_mpa_params {
	uint8_t rev;               /* in force */
	uint8_t peer_rev;
	bool enhanced;
	bool crc;                  /* in use, both directions */
	bool tx_markers, rx_markers;
	uint16_t peer_ird, peer_ord; /* as the peer said them, handed to the ULP (RFC 6581 9.1); 0 when not enhanced */
	uint16_t ird, ord;         /* ours, after negotiation */
	bool peer_to_peer;
	uint8_t rtr;               /* negotiated set; the initiator sends one of them first */
	uint32_t peer_max_ulpdu;   /* from the peer's block; 0: none seen */
	uint8_t dv;                /* 1, or 0 for RDMAC: DDP and RDMAP version of every segment */
	uint8_t pd[IW_MPA_PD_MAX]; /* the ULP's part of the peer's Private Data */
	size_t pd_len;
};

enum iw_mpa_unit_kind {
	IW_MPA_UNIT_REQUEST, /* responder: decide with iw_mpa_accept or iw_mpa_reject; params are filled */
	IW_MPA_UNIT_REPLY,   /* initiator: accepted; full operation */
	IW_MPA_UNIT_REJECT,  /* initiator: rejected, params.pd and peer IRD/ORD are filled; state STREAMING */
	IW_MPA_UNIT_ULPDU,   /* data, len: a checked ULPDU */
};

struct iw_mpa_unit {
	enum iw_mpa_unit_kind kind;
	const uint8_t *data; /* in scratch or spill: valid until the next call of any iw_mpa_ function */
	size_t len;
	uint64_t pos;        /* stream octets since full operation began, of the FPDU's first octet */
};

struct iw_mpa;
/* Size of the object, and in-place construction: conn embeds it by allocating that much. */
size_t iw_mpa_size(void);
/* IW_E_INVAL: a value of cfg is impossible; why says which and what is possible. */
IW_MUST_CHECK int iw_mpa_init(struct iw_mpa *m, const struct iw_mpa_cfg *cfg, struct iw_fault *why);
void iw_mpa_fini(struct iw_mpa *m); /* gives the spill buffer back */
/* TCP is established: the initiator's Request becomes sendable, the time-out begins. */
void iw_mpa_start(struct iw_mpa *m, uint64_t now);
uint64_t iw_mpa_deadline(const struct iw_mpa *m); /* IW_TIME_NEVER outside start-up (and while the ULP decides) */
/* Past the deadline: IW_E_TIMEOUT with why, state FAILED; else 0. */
int iw_mpa_timeout(struct iw_mpa *m, uint64_t now, struct iw_fault *why);

enum iw_mpa_state iw_mpa_state(const struct iw_mpa *m);
const struct iw_mpa_params *iw_mpa_params(const struct iw_mpa *m);

/* --- in --- */
/* Where the next octets go: vec[0..n), n 0 (reading pauses: DECIDING, STREAMING, FAILED), 1 or 2. scratch is shared by all
 * connections of a thread and is lent until iw_mpa_rx_end. In full operation the length asked for is a whole number of FPDUs of
 * the size seen last, so that a steady stream is rarely split. IW_E_NOMEM: no spill buffer just now, try again later. */
int iw_mpa_rx_vec(struct iw_mpa *m, struct iw_vec scratch, struct iw_vec vec[2]);
void iw_mpa_received(struct iw_mpa *m, size_t bytes);
/* 1: *u is the next unit; 0: more octets are needed; negative: a fault, why filled, state FAILED for good (RFC 5044 8: nothing
 * more is passed up on this half). IW_E_MPA_FRAME and time-outs: close TCP at once. IW_E_MPA_CRC, IW_E_MPA_MARKER: the ULP may still
 * send one Terminate, then closes. A ULPDU shorter than ulpdu_min or above 64768 is a fault too (IW_E_MPA_LOCAL-like, see .c). */
int iw_mpa_next(struct iw_mpa *m, struct iw_mpa_unit *u, struct iw_fault *why);
/* Must follow the last iw_mpa_next of a read. IW_E_NOMEM: no spill buffer: the connection cannot go on. */
IW_MUST_CHECK int iw_mpa_rx_end(struct iw_mpa *m, struct iw_fault *why);
/* The stream ended (FIN). IW_E_MPA_LOST with why when inside a frame or FPDU or during start-up; 0 at an FPDU boundary. */
int iw_mpa_rx_eof(struct iw_mpa *m, struct iw_fault *why);
/* STREAMING: octets that arrived behind the rejecting Reply, the ULP's (borrowed). */
struct iw_vec iw_mpa_rest(const struct iw_mpa *m);

/* The responder's decision. ird/ord: ours; what goes on the wire follows RFC 6581 9.1 (ORD at most the peer's IRD; IRD raised to 1 for a
 * Read RTR). pd copied. IW_E_STATE, IW_E_INVAL (pd too long). */
IW_MUST_CHECK int iw_mpa_accept(struct iw_mpa *m, uint16_t ird, uint16_t ord, const uint8_t *pd, size_t pd_len, struct iw_fault *why);
IW_MUST_CHECK int iw_mpa_reject(struct iw_mpa *m, const uint8_t *pd, size_t pd_len, struct iw_fault *why);

/* --- out --- */
/* Start-up octets still to be sent (borrowed until _sent), len 0: none. */
struct iw_vec iw_mpa_tx_startup(const struct iw_mpa *m);
void iw_mpa_tx_startup_sent(struct iw_mpa *m, size_t bytes);
/* FULL, with start-up octets all sent: FPDUs may go (RFC 5044 7.1.2 rule 4). */
bool iw_mpa_may_send(const struct iw_mpa *m);
/* The TCP connection's effective maximum segment size, whenever it changes. */
void iw_mpa_set_emss(struct iw_mpa *m, size_t emss);
size_t iw_mpa_emss(const struct iw_mpa *m);
/* The largest ULPDU for the next segment: from the EMSS (RFC 5044 4.5), or the size agreed by the library's blocks. */
size_t iw_mpa_mulpdu_now(const struct iw_mpa *m);
/* True when FPDUs are to be aligned with TCP segments: the batch must end (MSG_EOR) behind an FPDU that is not exactly EMSS long. */
bool iw_mpa_aligned(const struct iw_mpa *m);
/* Appends one FPDU: hdr (copied into the arena) then payload, then pad and CRC, markers where they are due.
 * copy: payload is copied with its CRC in one pass (memory that may change under us); else referred to (kept by its owner until
 * the octets are sent). Returns the FPDU's stream octets, 0 when t has no room (nothing appended). The ULPDU is at most
 * 64768 octets: larger is a mistake of the caller (assert). Sets t->eor as iw_mpa_aligned says. */
size_t iw_mpa_wrap(struct iw_mpa *m, struct iw_txbuf *t, const uint8_t *hdr, size_t hdr_len, const struct iw_vec *payload, size_t npayload,
		   bool copy);

#endif
