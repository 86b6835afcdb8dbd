/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The set-up of an iWARP connection over TCP: MPA Request and Reply (RFC 5044 7.1), with the
 * enhanced data of RFC 6581. You write these functions in startup.c. README.md has the steps.
 *
 * The module does no input or output. Its caller owns the TCP connection:
 *
 *	initiator                                   responder
 *	startup_new()                               startup_new()
 *	startup_output()  ---- Request ---------->  startup_receive()
 *	                                            startup_answer()
 *	startup_receive() <--- Reply -------------  startup_output()
 *	startup_rtr() and startup_may_send()
 *	                  ---- first FPDU ------->  startup_fpdu_received()
 *	                  <--- FPDUs -------------  startup_may_send() is true now
 */
#ifndef STARTUP_H
#define STARTUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	KEY_LEN = 16,  /* octets */
	HEAD_LEN = 20, /* octets: key, flags, Rev, PD_Length */
	PD_MAX = 512,  /* octets of Private Data in a frame, the enhanced data included */
	FRAME_MAX = HEAD_LEN + PD_MAX,
	ENHANCED_LEN = 4, /* octets of enhanced data, the first ones of the Private Data */
	/* As an IRD or ORD: the ULPs agree on the value by themselves (RFC 6581 9.1). */
	NOT_NEGOTIATED = 0x3fff,
};

/* The octet of flags (RFC 5044 7.1.1, RFC 6581 6). The low four bits are reserved. */
enum {
	FLAG_M = 0x80, /* the sender of the frame wants markers in the FPDUs that it receives */
	FLAG_C = 0x40, /* the sender of the frame wants CRC, in both directions */
	FLAG_R = 0x20, /* Reply: the responder rejects the connection */
	FLAG_S = 0x10, /* Rev 2: the Private Data begins with enhanced data */
};

enum startup_result {
	STARTUP_DONE,     /* a complete and valid frame; at the initiator: the Reply accepts */
	STARTUP_REJECTED, /* initiator: a complete and valid Reply, which rejects */
	STARTUP_MORE,     /* more octets are needed */
	/* Invalid frames, error 4 of RFC 5044 8. The caller closes TCP and sends nothing. */
	STARTUP_BAD_KEY,    /* it does not begin with the key that must come */
	STARTUP_BAD_REV,    /* a revision that this end does not support */
	STARTUP_BAD_LENGTH, /* PD_Length is above 512, or below 4 in an enhanced frame */
	STARTUP_BAD_FORMAT, /* initiator: either the Request or the Reply is enhanced, not both */
	/* Error 1 of RFC 5044 8. */
	STARTUP_LOST, /* the stream ended before the frame was complete */
	/* Initiator: the caller sends a Terminate (RFC 6581 8) with Layer 2, Error Type 0, and */
	STARTUP_NO_IRD, /* Error Code 6: the responder's ORD exceeds the IRD of this end */
	STARTUP_NO_RTR, /* Error Code 7: no common form of RTR, or the other connection model */
};

/* --- frames (steps build and parse) ---------------------------------------------------------- */

enum frame_kind {
	FRAME_REQUEST, /* key "MPA ID Req Frame" */
	FRAME_REPLY,   /* key "MPA ID Rep Frame" */
};

struct frame {
	enum frame_kind kind;
	bool m, c, r, s; /* the flags */
	uint8_t rev;
	const uint8_t *pd; /* Private Data, the enhanced data included if s is set; borrowed */
	size_t pd_len;     /* octets */
};

/*
 * Writes the frame f to dst, which has cap octets. Reserved bits are 0. Returns its length; 0 if
 * pd_len is above PD_MAX or the frame is longer than cap, and nothing is written then.
 * RFC 5044 7.1.1.
 */
size_t frame_build(uint8_t *dst, size_t cap, const struct frame *f);

/*
 * Looks for a frame of the given kind at the begin of the octets src, which are all that have
 * arrived. max_rev is the highest revision that the caller supports, 1 or 2.
 *
 * STARTUP_DONE: *f is the frame, with pd inside of src, and *used its length. Later octets, if
 * any, do not belong to it. For each other result, *f and *used do not matter.
 *
 * Every error is returned as soon as the octets prove it: STARTUP_BAD_KEY after the first octet
 * that differs, since a peer of another protocol may never send sixteen; the others after 20
 * octets, since the Private Data of an invalid frame need not be waited for. If several errors
 * are in a frame, the first of this order is returned: key, revision, length.
 *
 * Ignored are the reserved bits, FLAG_R of a Request, and FLAG_S in a frame of Rev 1, in which
 * this bit is a reserved one: f->s is then false. f->r is false for each Request.
 * RFC 5044 7.1.1 and 7.1.2, RFC 6581 6.
 */
enum startup_result frame_parse(struct frame *f, size_t *used, enum frame_kind kind,
				uint8_t max_rev, const uint8_t *src, size_t len);

/* --- enhanced data (step enhanced) ----------------------------------------------------------- */

/* Forms of the RTR, "ready to receive": the first FPDU of the initiator (RFC 6581 9.2). */
enum {
	RTR_SEND = 1,  /* B: a zero-length Send */
	RTR_WRITE = 2, /* C: a zero-length RDMA Write */
	RTR_READ = 4,  /* D: a zero-length RDMA Read */
};

struct enhanced {
	bool peer_to_peer; /* A: the peer-to-peer model; false: the client-server model */
	uint8_t rtr;       /* sum of the forms above; 0 without peer_to_peer */
	uint16_t ird, ord; /* 14 bits each */
};

/*
 * Writes 4 octets to dst. Without e->peer_to_peer, B, C and D are 0 whatever e->rtr is
 * (RFC 6581 9.2). Higher bits of ird and ord than 14 are not written.
 */
void enhanced_put(uint8_t *dst, const struct enhanced *e);

/* Reads 4 octets from src. Without A, the peer's B, C and D are ignored: e->rtr is 0. */
void enhanced_get(struct enhanced *e, const uint8_t *src);

/* --- an end of a connection (the other steps) ------------------------------------------------ */

struct config {
	bool initiator;
	uint8_t rev;  /* initiator: that of its Request; responder: the highest it supports: 1, 2 */
	bool markers; /* this end wants markers in the FPDUs that it receives */
	bool crc;     /* this end wants CRC */
	uint8_t rtr;  /* forms it can send (initiator) or take (responder); at least one in Rev 2 */
	/* Only for an initiator. A responder gets these values with startup_answer(). */
	bool peer_to_peer; /* asks for this model; only with Rev 2 */
	uint16_t ird, ord; /* at most NOT_NEGOTIATED */
	uint16_t ird_max;  /* the IRD can be raised up to this; below ird: it cannot be raised */
	const uint8_t *pd; /* Private Data of the ULP; copied by startup_new() */
	size_t pd_len;     /* octets */
};

/*
 * What both ends agreed on. Valid after STARTUP_DONE; ird and ord of a responder: after
 * startup_answer().
 */
struct agreed {
	uint8_t rev;     /* the lower one of both ends */
	bool enhanced;   /* the peer's frame has enhanced data */
	bool crc;        /* in use, in both directions: if at least one end wants it */
	bool tx_markers; /* in the FPDUs that this end sends: if the peer wants them */
	bool rx_markers; /* in the FPDUs that this end receives: if this end wants them */
	bool peer_to_peer;
	uint8_t rtr; /* forms, of which the initiator sends one first; 0 without peer_to_peer */
	uint16_t peer_ird, peer_ord; /* as in the peer's frame; 0 if it is not enhanced */
	uint16_t ird, ord;           /* in use at this end */
	/* The peer's Private Data, without the enhanced data. It belongs to the object. */
	const uint8_t *pd;
	size_t pd_len;
};

struct startup; /* you define it in startup.c */

/*
 * Creates an end. The Request of an initiator is then pending (startup_output()). It is enhanced if
 * the revision is 2 and there is something to negotiate: the peer-to-peer model, or an IRD or ORD
 * other than NOT_NEGOTIATED. Otherwise it MUST NOT be enhanced (RFC 6581 10). cfg is valid; it is
 * copied, with its Private Data.
 *
 * Returns NULL if pd is too long for the frame, or memory is short. The caller frees the object
 * with startup_free(); NULL is allowed there.
 */
struct startup *startup_new(const struct config *cfg);
void startup_free(struct startup *s);

/*
 * Copies the next octets of the pending start-up frame to dst, at most cap of them, because TCP may
 * take a part only. Returns their number; 0 if nothing is pending. They are pending no longer.
 */
size_t startup_output(struct startup *s, uint8_t *dst, size_t cap);

/*
 * Octets of the peer, in any split. Sets *taken to the number of octets that belong to the peer's
 * frame; the others are the caller's, for they are FPDUs, or belong to the ULP after a rejection.
 * The octets are valid only during the call.
 *
 * Returns as frame_parse(), or one of the initiator's results. The responder supports Requests up
 * to cfg.rev; the initiator accepts a Reply of Rev 1 or 2. After the frame, and after an error, it
 * takes nothing more and returns the same again.
 *
 * An enhanced Reply that accepts changes the initiator's parameters (RFC 6581 9.1 and 9.2):
 *  - ORD becomes at most the responder's IRD;
 *  - IRD becomes at least the responder's ORD; if that is above cfg.ird_max: STARTUP_NO_IRD;
 *  - NOT_NEGOTIATED in the Reply leaves the opposite one here unchanged;
 *  - flag A must be that of the Request, otherwise: STARTUP_NO_RTR;
 *  - if A is set, agreed.rtr has the forms of the Reply that this end can send, but not RTR_READ if
 *    the responder's IRD is 0. If no form is left: STARTUP_NO_RTR. If RTR_READ is among them, ORD
 *    becomes at least 1, because the Read needs it.
 *
 * If several rules are broken, the initiator returns the first of this order: the results of
 * frame_parse(), STARTUP_BAD_FORMAT, STARTUP_NO_IRD, STARTUP_NO_RTR. The last three are
 * returned when the frame is complete.
 *
 * A rejecting Reply that is not enhanced is STARTUP_REJECTED even if the Request was enhanced,
 * because a responder without RFC 6581 cannot reject in another way. IRD and ORD of a rejecting
 * Reply change only peer_ird and peer_ord. A Reply of Rev 2 to a Request of Rev 1 is valid if it is
 * not enhanced.
 */
enum startup_result startup_receive(struct startup *s, const uint8_t *octets, size_t len,
				    size_t *taken);

/*
 * The responder's ULP accepts or rejects the Request, with its IRD, ORD and Private Data (copied).
 * The Reply is then pending. Its Rev is that of agreed.rev. It is enhanced if the Request was. Flag
 * C is set if CRC is in use, because some initiators refuse a Reply with C = 0 although one flag
 * of the two is enough.
 *
 * In an enhanced Reply (also a rejecting one):
 *  - ORD is at most the initiator's IRD;
 *  - an IRD or ORD of NOT_NEGOTIATED in the Request is answered with NOT_NEGOTIATED as the opposite
 *    one, and agreed has the value that was passed here (RFC 6581 9.1);
 *  - in the peer-to-peer model the forms of RTR are those that both ends can use; without any,
 *    those of this end (RFC 6581 9.2);
 *  - in an accepting one, the IRD is at least 1 if RTR_READ is among them.
 *
 * Returns false, and changes nothing, if no Request waits for an answer or pd is too long for the
 * Reply; otherwise true.
 */
bool startup_answer(struct startup *s, bool accept, uint16_t ird, uint16_t ord, const uint8_t *pd,
		    size_t pd_len);

/* Returns the agreed parameters; they belong to the object. Never NULL. */
const struct agreed *startup_agreed(const struct startup *s);

/*
 * Initiator, after STARTUP_DONE: returns the one form of RTR that must be its first FPDU; 0 if no
 * RTR is due, or it was sent. Prefers RTR_WRITE, which uses no resource of either end, to RTR_READ,
 * and this to RTR_SEND, which uses a receive buffer of the peer.
 */
uint8_t startup_rtr(const struct startup *s);
/* The caller has sent that FPDU. */
void startup_rtr_sent(struct startup *s);

/* Responder: the caller has received a complete FPDU of the peer, with a valid CRC. */
void startup_fpdu_received(struct startup *s);

/*
 * Returns true if the ULP's FPDUs may be sent now:
 *  - initiator: the Reply accepts, and the RTR was sent, if there must be one (RFC 6581 9.2);
 *  - responder: it has accepted, startup_output() has returned the whole Reply, and an FPDU was
 *    received (RFC 5044 7.1.2 rule 4).
 */
bool startup_may_send(const struct startup *s);

/*
 * The peer has ended its stream. Returns STARTUP_LOST if its frame is not complete, otherwise what
 * startup_receive() has returned last. Later calls of startup_receive() return the same.
 */
enum startup_result startup_closed(struct startup *s);

/*
 * Initiator: returns true if the peer may be one that has only Rev 1, so that a new connection with
 * Rev 1 can succeed (RFC 6581 10):
 *  - the whole Request of Rev 2 was sent, and the stream ended before the first octet of a Reply;
 *  - or a complete and valid Reply that is not enhanced, accepting or rejecting, has answered an
 *    enhanced Request.
 */
bool startup_retry_rev1(const struct startup *s);

#endif
