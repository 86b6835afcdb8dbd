/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For lab 2: a table of the module, and the engine beside it. The expected codes and the expected
 * contents of memory are those of the engine: lib/wire decodes the header, lib/ddp checks the access
 * and places the payload in a copy of the module's memory. Only the choice of STags is modelled,
 * because the lab has its own rule.
 *
 * Functions that return bool return false after lab_fail(). `what` describes the case.
 */
#ifndef LABS_GRADER_TAGGED_WORLD_H
#define LABS_GRADER_TAGGED_WORLD_H

#include "ddp/ddp.h"
#include "ddp/stag.h"
#include "labs/02-tagged/tagged.h"
#include "labs/grader/lab.h"
#include "wire/ddp.h"

enum {
	STREAMS = 8, /* as in calls.c */
	MEMORIES = 8,
	VALUES = TAGGED_SLOTS + 3, /* of the random source, given by the grader */
	PAYLOAD_MAX = 8192,
	READ_MAX = 1 << 20, /* as in calls.c */
	REFUSED_SHOWN = 64, /* octets of a larger read that calls.c returns */
	NO_MEMORY = 0xffffffff,
	KEY_MASK = (1 << TAGGED_KEY_BITS) - 1,
	ALL_RIGHTS = TAGGED_REMOTE_READ | TAGGED_REMOTE_WRITE | TAGGED_READ_SINK,
	FILL = 0xee, /* new memory of the harness */
};

/* The region that most steps use: base far above 32 bits, no round numbers. */
#define BASE 0x12345678a000u
#define LEN  4096u

/* A registration, as the grader asks for it. */
struct region {
	uint32_t memory; /* its number, or NO_MEMORY */
	uint64_t len, base;
	uint32_t pd, stream;
	uint8_t rights;
};

struct slot {
	bool live;
	uint32_t key;    /* the last one; 0: none yet */
	uint32_t engine; /* STag of the same region in the engine */
	struct region region;
};

struct stream {
	struct iw_ddp_stream *engine;
	uint32_t pd, id;
	enum tagged_code error;
};

/* What the module must hold, and the engine beside it. */
struct world {
	struct lab_run *run;
	struct iw_stag_table *stags;
	uint32_t engine_drawn;
	struct stream streams[STREAMS];
	struct slot slots[TAGGED_SLOTS];
	uint32_t next;      /* slot where the search begins */
	bool look_at_error; /* also compare s->error: a rule of the last steps alone */
	uint32_t values[VALUES];
	size_t count, used; /* of the random source, see calls.c */
	struct {
		uint8_t *octets; /* NULL: not in use */
		size_t len;
	} memories[MEMORIES];
	uint8_t segment[TAGGED_HEADER_LEN + PAYLOAD_MAX];
};

const char *world_code_name(uint32_t code);

/* --- the world -------------------------------------------------------------------------------- */

bool world_begin(struct world *w, struct lab_run *run);
void world_end(struct world *w);
/* Runs the cases with a table and an engine of their own. */
bool world_run(struct lab_run *run, bool (*cases)(struct world *w));

/* Makes the module's table. The first values of its random source are given. */
bool world_table(struct world *w, const uint32_t *values, size_t count);
bool world_random_table(struct world *w);
/* Frees the table, and expects that no block of the module is left. */
bool world_free_table(struct lab_run *run, uint64_t blocks);
/* Makes memory with random octets. */
bool world_memory(struct world *w, uint32_t number, size_t len);
/* Frees it, as a program does after it has deregistered it. */
bool world_drop_memory(struct world *w, uint32_t number);
/* Compares all memory of the module with the copy; what: the object, for the failure. */
bool world_same_memory(struct world *w, const char *what);
/* Makes or resets a stream. */
bool world_stream(struct world *w, uint8_t number, uint32_t pd, uint32_t id);
/* After an error, the stream begins anew, so that each case is by itself. */
bool world_reset_stream(struct world *w, uint8_t number);

/* --- registrations ---------------------------------------------------------------------------- */

/* The slot of the next registration; NULL: all are in use. */
struct slot *world_free_slot(struct world *w);
/* The engine's STag of the region with the module's STag; 0: no region has it. */
uint32_t world_engine_stag(const struct world *w, uint32_t stag);
/* Registers r in both. *stag is 0 if it must be refused, and was. */
bool world_register(struct world *w, const char *what, const struct region *r, uint32_t *stag);
bool world_look_up(struct world *w, const char *what, uint32_t stag);
bool world_deregister(struct world *w, const char *what, uint32_t stag);

/* --- access ----------------------------------------------------------------------------------- */

/* The checks that need no table, as rdmap does them: RFC 5040 7.2. */
enum tagged_code world_judge(struct iw_ddp *h, const uint8_t *segment, size_t len);
/* A valid header of a message of one segment. */
struct iw_ddp world_header(uint8_t opcode, uint32_t stag, uint64_t to);
/* Places a segment with this header and len random octets. A stream with an error keeps it. */
bool world_place(struct world *w, const char *what, uint8_t stream, const struct iw_ddp *h,
		 size_t len);
/* Places an RDMA Write, or a Read Response; the stream begins anew after an error. */
bool world_write(struct world *w, const char *what, uint8_t stream, uint32_t stag, uint64_t to,
		 size_t len);
bool world_respond(struct world *w, const char *what, uint8_t stream, uint32_t stag, uint64_t to,
		   size_t len);
/* Reads a source. A stream with an error keeps it, or begins anew. */
bool world_read_once(struct world *w, const char *what, uint8_t stream, uint32_t stag, uint64_t to,
		     uint32_t len);
bool world_read(struct world *w, const char *what, uint8_t stream, uint32_t stag, uint64_t to,
		uint32_t len);

#endif
