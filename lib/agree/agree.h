/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The negotiation of two ends that set up a connection: IRD, ORD, the peer-to-peer model and its
 * RTR (RFC 6581 9). The structs also hold the parameters that only MPA has.
 *
 * Job: the rules of RFC 6581 9.1 and 9.2, for both adaptations. Neighbours: lib/mpa puts the
 * enhanced data into MPA frames, lib/sctpmap into session control messages (RFC 6581 7); lib/conn
 * and lib/verbs read the result. Threads: none; no state.
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
/* The most octets of Private Data, in MPA (RFC 5044 7.1.1) and in a session (RFC 5043 6). */
#define IW_AGREED_PD_MAX 512

/* What this end offers. */
struct iw_offer {
	/*
	 * Initiator: the Request is enhanced (RFC 6581 7 and 9). lib/mpa sets it itself, from its
	 * revision and iw_offer_is_enhanced.
	 */
	bool enhanced;
	bool peer_to_peer; /* initiator: requests this model */
	/*
	 * Set of enum iw_rtr: the forms that this end can send (initiator) or receive (responder).
	 */
	uint8_t rtr;
	uint16_t ird, ord; /* IW_MPA_IRD_ORD_MAX: not negotiated (RFC 6581 9.1) */
	/*
	 * Initiator: the limit to which the responder's ORD may raise the IRD; below ird: no raise.
	 */
	uint16_t ird_max;
	const uint8_t *pd; /* Private Data of the ULP, borrowed */
	size_t pd_len;
};

/* The agreed parameters. */
struct iw_agreed {
	uint8_t rev; /* in use; over SCTP 2 for an enhanced session, else 1 */
	uint8_t peer_rev;
	bool enhanced;
	bool crc; /* in use, in both directions; over SCTP always */
	bool tx_markers, rx_markers;
	uint16_t peer_ird, peer_ord; /* as received, for the ULP (RFC 6581 9.1); 0: not enhanced */
	uint16_t ird, ord;           /* of this end, after negotiation */
	bool peer_to_peer;
	uint8_t rtr;             /* the agreed set; the initiator sends one of these forms first */
	uint32_t peer_max_ulpdu; /* octets, from the peer's block (mpa/mpa.h); 0: no block */
	uint8_t dv;              /* DDP and RDMAP version of every segment: 1, or 0 for RDMAC */
	uint8_t pd[IW_AGREED_PD_MAX]; /* the peer's Private Data for the ULP */
	size_t pd_len;
};

/* The words of an adaptation, for the texts of faults. */
struct iw_agree_words {
	const char *layer;           /* "mpa", "sctp" */
	const char *request, *reply; /* names of its messages */
};

/*
 * Checks the depths and RTR forms of an offer. Returns 0. IW_E_INVAL: a depth is above 0x3fff, or a
 * form is unknown; *why names the value and the limit.
 */
IW_MUST_CHECK int iw_offer_check(const struct iw_offer *o, const char *layer, struct iw_fault *why);
/* Checks one depth, called name. IW_E_INVAL: it is above 0x3fff (RFC 6581 9). */
IW_MUST_CHECK int iw_offer_check_depth(const char *layer, const char *name, uint16_t depth,
				       struct iw_fault *why);
/* True if the offer has values that only an enhanced Request can carry (RFC 6581 10). */
bool iw_offer_is_enhanced(const struct iw_offer *o);
/* Initiator: returns the enhanced data of its Request. */
struct iw_mpa_enhanced iw_offer_request(const struct iw_offer *o);

/* Return the RTR flags of enhanced data as a set of enum iw_rtr, and set them from such a set. */
uint8_t iw_agree_get_rtr(const struct iw_mpa_enhanced *e);
void iw_agree_put_rtr(struct iw_mpa_enhanced *e, uint8_t rtr);

/*
 * Initiator: returns the form to send, from the agreed set. Prefers a Write, which uses no resource
 * of either end.
 */
uint8_t iw_agreed_rtr_form(uint8_t set);

/*
 * Responder: returns the forms that both ends support. Without a common form it returns those of
 * this end (RFC 6581 9.2).
 */
uint8_t iw_agreed_rtr(uint8_t requested, uint8_t ours);
/*
 * Responder: accepts an enhanced Request with ird and ord. Reads peer_ird, peer_ord, peer_to_peer
 * and rtr of a, and sets its ird and ord. Returns the enhanced data of the Reply: ORD at most the
 * peer's IRD, and IRD at least 1 for a Read as RTR (RFC 6581 9.1).
 */
struct iw_mpa_enhanced iw_agreed_accept(struct iw_agreed *a, uint16_t ird, uint16_t ord);
/* Responder: returns the enhanced data of a rejecting Reply. */
struct iw_mpa_enhanced iw_agreed_reject(const struct iw_agreed *a, uint16_t ird, uint16_t ord);
/*
 * Initiator: adapts ird, ord and rtr of a to an enhanced Reply. On entry a->ird and a->ord are
 * those of the offer. Returns 0. After an error the connection ends with a Terminate, which may be
 * sent with the values in a. IW_E_MPA_IRD: the responder's ORD is above the limit of this end's IRD
 * (RFC 6581 9.1). IW_E_MPA_RTR: the Reply has another model, or no common form (RFC 6581 9.2).
 */
IW_MUST_CHECK int iw_agreed_take_reply(struct iw_agreed *a, const struct iw_offer *o,
				       const struct iw_mpa_enhanced *e,
				       const struct iw_agree_words *w, struct iw_fault *why);

#endif
