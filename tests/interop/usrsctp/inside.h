/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The library's engine of SCTP (lib/sctp) with a speaker on it, in the same program as usrsctp, and a seeded bad
 * link between the two. Time is a number here: an hour of retransmissions takes no time.
 */
#ifndef TESTS_INTEROP_USRSCTP_INSIDE_H
#define TESTS_INTEROP_USRSCTP_INSIDE_H

#include "impair/impair.h"
#include "interop/usrsctp/speaker.h"

struct inside;

struct inside_cfg {
	bool listen;
	uint16_t port; /* of whoever listens; the other one's is one more */
	struct speaker_cfg speaker;
	struct iw_impair_cfg link; /* in both directions; seed is that of everything else, too */
};

struct inside *inside_new(const struct inside_cfg *cfg);
void inside_free(struct inside *in);

/* A packet of usrsctp's, onto the link. */
void inside_from(struct inside *in, const void *packet, size_t len);
/*
 * So much time goes by; what arrives for usrsctp is handed to give. False: the engine's side found fault, or its
 * association failed.
 */
bool inside_step(struct inside *in, uint64_t ns,
		 void (*give)(void *ctx, const void *packet, size_t len), void *ctx);
/* Its association came up and has ended in order, all said. */
bool inside_over(const struct inside *in);
/*
 * usrsctp keeps back what it was given, as it does at times after losses (its issue 750): the engine has delivered
 * every chunk that was sent to it, and knows that all of its own are acknowledged. @said: messages that usrsctp
 * was given.
 */
bool inside_waits(const struct inside *in, uint64_t said);

#endif
