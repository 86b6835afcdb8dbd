/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The parameters that two ends negotiate when they set up a connection: IRD, ORD, the peer-to-peer
 * model and its RTR (RFC 6581 9). The structs also hold the parameters that only MPA negotiates.
 *
 * Job: the rules of RFC 6581 9.1 and 9.2, over TCP and over SCTP. Neighbours: lib/mpa puts the
 * enhanced data into MPA frames, lib/sctpmap into session control messages (RFC 6581 7); lib/conn
 * and lib/verbs read the result. Threads: none; the functions keep no state.
 *
 *   initiator:  iw_offer_request()      -> the enhanced data of its Request
 *               iw_agreed_take_reply()  <- that of the Reply
 *   responder:  iw_agreed_rtr(), iw_agreed_accept()  -> the enhanced data of its Reply
 */
#ifndef IW_AGREE_AGREE_H
#define IW_AGREE_AGREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>
#include <iwarp/verbs.h>

#include "wire/mpa.h"

#define IW_RTR_ALL       (IW_RTR_SEND | IW_RTR_WRITE | IW_RTR_READ)
/* The limit for Private Data, octets: in MPA (RFC 5044 7.1.1) and in a session (RFC 5043 6). */
#define IW_AGREED_PD_MAX 512

/* What this end offers. */
struct iw_offer {
	/*
	 * Initiator: the Request is enhanced (RFC 6581 7 and 9). lib/mpa ignores the caller's value
	 * and derives its own from the revision and iw_offer_is_enhanced().
	 */
	bool enhanced;
	bool peer_to_peer; /* initiator: requests this model */
	/*
	 * Set of enum iw_rtr: the forms of RTR that this end can send (initiator) or receive
	 * (responder).
	 */
	uint8_t rtr;
	uint16_t ird, ord; /* IW_MPA_IRD_ORD_MAX: not negotiated (RFC 6581 9.1) */
	/*
	 * Initiator: a responder whose ORD is above ird raises the IRD up to this value. Below ird:
	 * the IRD is never raised.
	 */
	uint16_t ird_max;
	const uint8_t *pd; /* Private Data of the ULP, borrowed */
	size_t pd_len;
};

/* The agreed parameters. */
struct iw_agreed {
	uint8_t rev; /* in use; over SCTP: 2 for an enhanced session, else 1 */
	uint8_t peer_rev;
	bool enhanced;
	bool crc; /* in use, in both directions; over SCTP always */
	bool tx_markers, rx_markers;
	uint16_t peer_ird, peer_ord; /* as received, for the ULP (RFC 6581 9.1); 0: not enhanced */
	uint16_t ird, ord;           /* in use at this end */
	bool peer_to_peer;
	uint8_t rtr;             /* the agreed set; the initiator sends one of these forms first */
	uint32_t peer_max_ulpdu; /* octets, from the peer's block (mpa/mpa.h); 0: no block */
	uint8_t dv;              /* DDP and RDMAP version of every segment: 1, or 0 for RDMAC */
	uint8_t pd[IW_AGREED_PD_MAX]; /* the peer's Private Data for the ULP */
	size_t pd_len;
};

/* The terms of MPA or of SCTP, for the texts of faults. */
struct iw_agree_words {
	const char *layer;           /* "mpa", "sctp" */
	const char *request, *reply; /* names of its messages */
};

/*
 * Checks the depths (IRD, ORD and ird_max) and the RTR forms of an offer. Returns 0. IW_E_INVAL: a
 * depth is above 0x3fff (RFC 6581 9), or a form is unknown; *why names the value and the limit.
 */
IW_MUST_CHECK int iw_offer_check(const struct iw_offer *o, const char *layer, struct iw_fault *why);
/* Checks one depth; name is for the text. Returns 0. IW_E_INVAL: above 0x3fff (RFC 6581 9). */
IW_MUST_CHECK int iw_offer_check_depth(const char *layer, const char *name, uint16_t depth,
				       struct iw_fault *why);
/* True if the offer has values that only an enhanced Request can carry (RFC 6581 10). */
bool iw_offer_is_enhanced(const struct iw_offer *o);
/* Initiator: returns the enhanced data of its Request (RFC 6581 9). */
struct iw_mpa_enhanced iw_offer_request(const struct iw_offer *o);

/* Convert the RTR flags B, C and D of enhanced data to a set of enum iw_rtr, and back. */
uint8_t iw_agree_get_rtr(const struct iw_mpa_enhanced *e);
void iw_agree_put_rtr(struct iw_mpa_enhanced *e, uint8_t rtr);

/*
 * Initiator: returns the one form to send, from the agreed set; 0 if that is empty. Prefers a
 * Write, which uses no resource of either end.
 */
uint8_t iw_agreed_rtr_form(uint8_t set);

/*
 * Responder: returns the forms for the Reply: those that both ends support. If there is no such
 * form, those of this end; the initiator then ends the connection (RFC 6581 9.2).
 */
uint8_t iw_agreed_rtr(uint8_t requested, uint8_t ours);
/*
 * Responder: accepts an enhanced Request with ird and ord. Reads peer_ird, peer_ord, peer_to_peer
 * and rtr of a, and sets its ird and ord. Returns the enhanced data of the Reply: ORD at most the
 * peer's IRD, and IRD at least 1 for a Read as RTR (RFC 6581 9.1).
 */
struct iw_mpa_enhanced iw_agreed_accept(struct iw_agreed *a, uint16_t ird, uint16_t ord);
/*
 * Responder: returns the enhanced data of a rejecting Reply: the same as an accepting one with this
 * ird and ord would have, but without the raise for a Read as RTR. Does not change a.
 */
struct iw_mpa_enhanced iw_agreed_reject(const struct iw_agreed *a, uint16_t ird, uint16_t ord);
/*
 * Initiator: adapts ird, ord and rtr of a to an enhanced Reply. On entry a->ird and a->ord are
 * those of the offer. Returns 0. IW_E_MPA_IRD: the responder's ORD is above the limit of this end's
 * IRD (RFC 6581 9.1). IW_E_MPA_RTR: the Reply has the other model, or no form in common with this
 * end (RFC 6581 9.2). After an error, a has the values for the stream that sends the Terminate.
 */
IW_MUST_CHECK int iw_agreed_take_reply(struct iw_agreed *a, const struct iw_offer *o,
				       const struct iw_mpa_enhanced *e,
				       const struct iw_agree_words *w, struct iw_fault *why);

#endif
