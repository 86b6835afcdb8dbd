/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lab 4: an end of the project's own, with which the student's module talks in a trace and is
 * compared in a measurement. There is one at a time.
 */
#ifndef LABS_GRADER_READ_ENGINE_H
#define LABS_GRADER_READ_ENGINE_H

#include "labs/grader/lab.h"
#include "rdmap/rdmap.h"

enum {
	READ_STREAM = 1,            /* its number */
	READ_ENGINE_MEMORY = 65536, /* octets of each region */
	READ_ENGINE_RECEIVES = 4,
	READ_ENGINE_SEGMENT = 65536, /* room for every segment, octets */
};

struct read_engine {
	struct iw_stag_table *table;
	struct iw_rdmap *rdmap;
	/* Both regions begin at TO 0. The peer may read and write the source. */
	uint32_t source_stag, sink_stag;
	uint8_t source[READ_ENGINE_MEMORY], sink[READ_ENGINE_MEMORY];
	uint8_t receives[READ_ENGINE_RECEIVES][1024];
	uint64_t pos; /* of its outgoing stream */
};
extern struct read_engine read_engine;

/* Begins a stream with IRD and ORD 4, in place of an earlier one. False after lab_fail(). */
bool read_engine_new(struct lab_run *run);
void read_engine_free(void);
/* Writes the next segment to out, with its payload, and returns its length. 0: nothing to send. */
size_t read_engine_segment(uint8_t *out, size_t mulpdu);

#endif
