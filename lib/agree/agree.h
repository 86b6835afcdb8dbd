/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What two ends offer and agree on when they set up a connection: IRD, ORD, the peer-to-peer model
 * and its RTR (RFC 6581 9), and the parameters that only MPA has.
 *
 * Job: the rules of RFC 6581 9.1 and 9.2, for both adaptations. Neighbours: lib/mpa puts the enhanced
 * data into MPA frames, lib/sctpmap into session control messages (RFC 6581 7); lib/conn and lib/verbs
 * read the result. Threads: none; no state.
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
/* Octets of Private Data, of MPA (RFC 5044 7.1.1) and of a session (RFC 5043 6). */
#define IW_AGREED_PD_MAX 512

/* What this end offers. */
struct iw_offer {
	/*
	 * Initiator: the Request is enhanced (RFC 6581 7 and 9). lib/mpa sets it itself, from its
	 * revision and iw_offer_is_enhanced.
	 */
	bool enhanced;
	bool peer_to_peer; /* initiator: requests this model */
	uint8_t rtr; /* set of enum iw_rtr: what this end can send (initiator) or take (responder) */
	uint16_t ird, ord; /* IW_MPA_IRD_ORD_MAX: not negotiated (RFC 6581 9.1) */
	/* Initiator: IRD may be raised to this if the responder's ORD needs it; below ird: not at all. */
	uint16_t ird_max;
	const uint8_t *pd; /* Private Data of the ULP, borrowed */
	size_t pd_len;
};

/* What was agreed on. */
struct iw_agreed {
	uint8_t rev; /* in force; over SCTP 2 for an enhanced session, else 1 */
	uint8_t peer_rev;
	bool enhanced;
	bool crc; /* in use, both directions; over SCTP always */
	bool tx_markers, rx_markers;
	uint16_t peer_ird, peer_ord; /* as received, for the ULP (RFC 6581 9.1); 0: not enhanced */
	uint16_t ird, ord;           /* of this end, after negotiation */
	bool peer_to_peer;
	uint8_t rtr;             /* the set agreed on; the initiator sends one of them first */
	uint32_t peer_max_ulpdu; /* from the peer's block (mpa/mpa.h); 0: it sent none */
	uint8_t dv;              /* DDP and RDMAP version of every segment: 1, or 0 for RDMAC */
	uint8_t pd[IW_AGREED_PD_MAX]; /* the peer's Private Data for the ULP */
	size_t pd_len;
};

/* The words of an adaptation, for texts of faults. */
struct iw_agree_words {
	const char *layer;           /* "mpa", "sctp" */
	const char *request, *reply; /* names of its messages */
};

/*
 * Checks depths and RTR forms of an offer. IW_E_INVAL: a depth above 0x3fff, or an unknown form; why
 * says which value and what is possible.
 */
IW_MUST_CHECK int iw_offer_check(const struct iw_offer *o, const char *layer, struct iw_fault *why);
IW_MUST_CHECK int iw_offer_check_depth(const char *layer, const char *name, uint16_t depth,
				       struct iw_fault *why);
/* True if the offer has something that only an enhanced Request can say (RFC 6581 10). */
bool iw_offer_is_enhanced(const struct iw_offer *o);
/* The enhanced data of the initiator's Request. */
struct iw_mpa_enhanced iw_offer_request(const struct iw_offer *o);

/* The RTR flags of enhanced data as a set of enum iw_rtr, and the reverse. */
uint8_t iw_agree_get_rtr(const struct iw_mpa_enhanced *e);
void iw_agree_put_rtr(struct iw_mpa_enhanced *e, uint8_t rtr);

/* Initiator: the form to send, of the set agreed on. A Write uses up no resource of either end. */
uint8_t iw_agreed_rtr_form(uint8_t set);

/* Responder: the forms that both ends support; if there is none, those of this end (RFC 6581 9.2). */
uint8_t iw_agreed_rtr(uint8_t requested, uint8_t ours);
/*
 * Responder: accepts an enhanced Request with ird and ord. a: peer_ird, peer_ord, peer_to_peer and rtr
 * are filled in; ird and ord are filled. Returns the enhanced data of the Reply: ORD at most the
 * peer's IRD; IRD at least 1 for a Read as RTR (RFC 6581 9.1).
 */
struct iw_mpa_enhanced iw_agreed_accept(struct iw_agreed *a, uint16_t ird, uint16_t ord);
/* Responder: the enhanced data of a Reply that rejects. Changes nothing. */
struct iw_mpa_enhanced iw_agreed_reject(const struct iw_agreed *a, uint16_t ird, uint16_t ord);
/*
 * Initiator: fits ird, ord and rtr of a to an enhanced Reply. a->ird and a->ord are those of the offer.
 * IW_E_MPA_IRD: the responder's ORD is above what this end can raise its IRD to (RFC 6581 9.1).
 * IW_E_MPA_RTR: another model, or no common form (RFC 6581 9.2). After an error the connection ends
 * with a Terminate; a has values that it may be sent with.
 */
IW_MUST_CHECK int iw_agreed_take_reply(struct iw_agreed *a, const struct iw_offer *o,
				       const struct iw_mpa_enhanced *e,
				       const struct iw_agree_words *w, struct iw_fault *why);

#endif
