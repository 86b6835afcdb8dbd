/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lab 2: tagged placement. tagged.h says what each function must do; the README says in which order
 * to write them.
 */
#include <stdlib.h>
#include <string.h>

#include "tagged.h"

/* TODO (step register): the slots, the slot of the previous registration, the random source. */
struct tagged_table {
	uint32_t (*random)(void *ctx);
	void *ctx;
};

/* --- step header ----------------------------------------------------------------------------- */

enum tagged_code tagged_parse(struct tagged_header *h, const uint8_t *segment, size_t len)
{
	/* TODO (step header): check the length and the fixed fields, then read the others. All
	 * integers are big-endian. TO has 64 bits: a uint32_t shifted by 32 bits is undefined. */
	return TAGGED_LOCAL;
}

/* --- steps register and revoke --------------------------------------------------------------- */

struct tagged_table *tagged_new(uint32_t (*random)(void *ctx), void *ctx)
{
	/* TODO (step register): an empty table. */
	return NULL;
}

void tagged_free(struct tagged_table *t)
{
	/* TODO (step register): free what tagged_new() has allocated. */
}

bool tagged_register(struct tagged_table *t, const struct tagged_region *region, uint32_t *stag)
{
	/* TODO (step register): check the region, find a slot, draw a key. */
	return false;
}

const struct tagged_region *tagged_lookup(const struct tagged_table *t, uint32_t stag)
{
	/* TODO (step register): the slot, then its key. The peer chooses the STag, so any value of
	 * 32 bits may come. */
	return NULL;
}

bool tagged_deregister(struct tagged_table *t, uint32_t stag)
{
	/* TODO (step revoke) */
	return false;
}

/* --- access ---------------------------------------------------------------------------------- */

enum tagged_code tagged_place(struct tagged_table *t, struct tagged_stream *s,
			      const uint8_t *segment, size_t len)
{
	/* TODO (step place): the header, then the copy. Steps stag, rights, bounds and stop add the
	 * checks between the two. */
	return TAGGED_LOCAL;
}

enum tagged_code tagged_read(const struct tagged_table *t, struct tagged_stream *s, uint32_t stag,
			     uint64_t to, uint32_t len, uint8_t *dst)
{
	/* TODO (step read): the same checks for the source of a Read Request, with other codes. */
	return TAGGED_READ_INVALID_STAG;
}
