/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The library's SCTP engine (lib/sctp) with a DDP peer (speaker.h) on it, in the same program as
 * usrsctp, and a seeded bad link between the two. Time is simulated: an hour of retransmissions
 * takes no time.
 */
#ifndef TESTS_INTEROP_USRSCTP_INSIDE_H
#define TESTS_INTEROP_USRSCTP_INSIDE_H

#include "ddp-impair/link/link.h"
#include "interop/usrsctp/speaker.h"

struct inside;

struct inside_cfg {
	bool listen;
	/* SCTP port of the listening end; the initiator uses the next port. */
	uint16_t port;
	struct speaker_cfg speaker;
	/* For both directions. Its seed also determines the engine's random numbers. */
	struct iw_link_cfg link;
};

struct inside *inside_new(const struct inside_cfg *cfg);
void inside_free(struct inside *in);

/* Sends a packet of usrsctp over the link. */
void inside_from(struct inside *in, const void *packet, size_t len);
/*
 * Advances the time by ns, and passes each packet that arrives for usrsctp to give(). Returns false
 * if usrsctp's messages violate the RFCs, or the engine's association failed.
 */
bool inside_step(struct inside *in, uint64_t ns,
		 void (*give)(void *ctx, const void *packet, size_t len), void *ctx);
/* True if the engine's association was established, has ended, and all messages were exchanged. */
bool inside_over(const struct inside *in);
/*
 * True if usrsctp does not send messages that it has accepted, as sometimes after losses (its issue
 * 750): the engine has delivered every chunk that usrsctp sent, and usrsctp has acknowledged all
 * chunks of the engine. @accepted: number of messages that usrsctp has accepted.
 */
bool inside_waits(const struct inside *in, uint64_t accepted);

#endif
