/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * MPA set-up: your module. startup.h says what each function does, README.md in which order to
 * write them. Each TODO names a step of README.md.
 */
#include "startup.h"

#include <stdlib.h>
#include <string.h>

/* --- given: octets ---------------------------------------------------------------------------
 * Integers on the wire are big-endian: the most significant octet comes first. */

__attribute__((unused)) static void put16(uint8_t *dst, unsigned int v)
{
	dst[0] = (uint8_t)(v >> 8);
	dst[1] = (uint8_t)v;
}

__attribute__((unused)) static uint16_t get16(const uint8_t *src)
{
	return (uint16_t)(src[0] << 8 | src[1]);
}

__attribute__((unused)) static size_t min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The NUL at the end of a C string is not sent: a key has 16 octets. */
__attribute__((unused)) static const char *const keys[] = {
	[FRAME_REQUEST] = "MPA ID Req Frame",
	[FRAME_REPLY] = "MPA ID Rep Frame",
};

/* --- frames ---------------------------------------------------------------------------------- */

size_t frame_build(uint8_t *dst, size_t cap, const struct frame *f)
{
	/* TODO step build: check the lengths; then key, flags, Rev, PD_Length, Private Data. */
	return 0;
}

enum startup_result frame_parse(struct frame *f, size_t *used, enum frame_kind kind,
				uint8_t max_rev, const uint8_t *src, size_t len)
{
	/* TODO step parse: the key as far as it has arrived, the head, Rev, PD_Length, the rest. */
	return STARTUP_MORE;
}

/* --- enhanced data --------------------------------------------------------------------------- */

void enhanced_put(uint8_t *dst, const struct enhanced *e)
{
	/* TODO step enhanced: two words of 16 bits. */
}

void enhanced_get(struct enhanced *e, const uint8_t *src)
{
	/* TODO step enhanced: the inverse, with what a receiver ignores. */
}

/* --- an end ---------------------------------------------------------------------------------- */

/* A proposal: change it, and add what you need. */
struct startup {
	struct config cfg; /* its pd is valid only in startup_new() */
	struct agreed agreed;
	enum startup_result result; /* of the peer's frame */
	size_t in_len;
	uint8_t in[FRAME_MAX]; /* the peer's frame, as far as it has arrived */
	size_t out_len, out_sent;
	uint8_t out[FRAME_MAX]; /* the frame of this end, and how much of it was sent */
};

struct startup *startup_new(const struct config *cfg)
{
	struct startup *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->cfg = *cfg;
	s->cfg.pd = NULL;
	s->result = STARTUP_MORE;
	/* TODO step stream: the Request of an initiator. What if its Private Data is too long? */
	return s;
}

void startup_free(struct startup *s)
{
	free(s);
}

size_t startup_output(struct startup *s, uint8_t *dst, size_t cap)
{
	/* TODO step stream. */
	return 0;
}

enum startup_result startup_receive(struct startup *s, const uint8_t *octets, size_t len,
				    size_t *taken)
{
	/*
	 * TODO step stream: collect the frame in s->in, but not one octet after it; frame_parse().
	 * TODO step answer: fill s->agreed from the frame; the results of an initiator.
	 * TODO step depths and step rtr: what an enhanced frame negotiates.
	 */
	*taken = 0;
	return s->result;
}

bool startup_answer(struct startup *s, bool accept, uint16_t ird, uint16_t ord, const uint8_t *pd,
		    size_t pd_len)
{
	/* TODO step answer: the Reply; step depths and step rtr: its enhanced data. */
	return false;
}

const struct agreed *startup_agreed(const struct startup *s)
{
	return &s->agreed;
}

/* --- which end sends first ------------------------------------------------------------------- */

uint8_t startup_rtr(const struct startup *s)
{
	/* TODO step rtr. */
	return 0;
}

void startup_rtr_sent(struct startup *s)
{
	/* TODO step order. */
}

void startup_fpdu_received(struct startup *s)
{
	/* TODO step order. */
}

bool startup_may_send(const struct startup *s)
{
	/* TODO step order. */
	return false;
}

enum startup_result startup_closed(struct startup *s)
{
	/* TODO step retry. */
	return s->result;
}

bool startup_retry_rev1(const struct startup *s)
{
	/* TODO step retry. */
	return false;
}
