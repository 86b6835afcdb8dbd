/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lab 4: results of the module, and registered memory. Both are compared with lib/ddp. */
#ifndef LABS_GRADER_READ_REGIONS_H
#define LABS_GRADER_READ_REGIONS_H

#include "ddp/stag.h"
#include "labs/grader/lab.h"
#include "wire/ddp.h"

/* Results of the module: see labs/04-read/read.h. */
enum read_error {
	READ_OK = 0,
	READ_SOURCE_STAG = 0x0100,
	READ_UNEXPECTED = 0x0206,
	READ_REQUEST = 0x0207,
	READ_SINK_STAG = 0x1100,
	READ_SINK_BOUNDS = 0x1101,
	READ_NO_BUFFER = 0x1202,
	READ_FULL = 0x2000,
	READ_LIMIT,
	READ_ENDED,
	READ_CANCELED,
};
bool read_expect_error(struct lab_run *run, uint32_t expected, uint32_t seen);

enum {
	READ_REGIONS_MAX = 8,
	READ_SOURCE_MAX = 70000, /* octets of the largest region */
};

struct read_region {
	struct iw_region region; /* its STag is that of the engine's table */
	uint8_t octets[READ_SOURCE_MAX];
};

struct read_regions {
	struct iw_stag_table *table;
	struct read_region list[READ_REGIONS_MAX];
	uint32_t n;
};
/* Removes all regions. */
bool read_regions_clear(struct lab_run *run, struct read_regions *r);
/* Registers a region, with octets from lab_fill(). */
bool read_regions_add(struct lab_run *run, struct read_regions *r, uint32_t stream, uint8_t rights,
		      uint64_t to, size_t len);
/* Appends them to the present call, as get_regions() of calls.c reads them. */
void read_regions_put(struct lab_run *run, const struct read_regions *r);
/* What source_check() must return. *where: the source, or NULL. */
uint32_t read_regions_check(struct read_regions *r, uint32_t stream, const struct iw_rreq *q,
			    const uint8_t **where);

#endif
