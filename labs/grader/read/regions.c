/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "labs/grader/read/regions.h"

#include "os/os.h"
#include "util/num.h"

/* --- results ---------------------------------------------------------------------------------- */

static const struct {
	uint32_t value;
	const char *name;
} errors[] = {
	{ READ_OK, "ERR_NONE" },
	{ READ_SOURCE_STAG, "ERR_SOURCE_STAG" },
	{ 0x0101, "ERR_SOURCE_BOUNDS" },
	{ 0x0102, "ERR_SOURCE_RIGHTS" },
	{ 0x0103, "ERR_SOURCE_STREAM" },
	{ 0x0104, "ERR_SOURCE_WRAP" },
	{ READ_UNEXPECTED, "ERR_UNEXPECTED" },
	{ READ_REQUEST, "ERR_REQUEST" },
	{ READ_SINK_STAG, "ERR_SINK_STAG" },
	{ READ_SINK_BOUNDS, "ERR_SINK_BOUNDS" },
	{ READ_NO_BUFFER, "ERR_NO_BUFFER" },
	{ READ_FULL, "ERR_FULL" },
	{ READ_LIMIT, "ERR_LIMIT" },
	{ READ_ENDED, "ERR_ENDED" },
	{ READ_CANCELED, "ERR_CANCELED" },
};

static uint32_t index_of(uint32_t error)
{
	uint32_t i = 0;

	while (i < IW_ARRAY_LEN(errors) && errors[i].value != error)
		i++;
	return i;
}

bool read_expect_error(struct lab_run *run, uint32_t expected, uint32_t seen)
{
	const char *names[IW_ARRAY_LEN(errors)];

	if (index_of(seen) == IW_ARRAY_LEN(errors))
		return lab_fail(run, "the result is 0x%x, which is not an enum error: expected %s",
				seen, errors[index_of(expected)].name);
	for (size_t i = 0; i < IW_ARRAY_LEN(errors); i++)
		names[i] = errors[i].name;
	return lab_expect_name(run, "the result", names, IW_ARRAY_LEN(names), index_of(expected),
			       index_of(seen));
}

/* --- registered memory ------------------------------------------------------------------------ */

static int random_stags(void *run, void *buf, size_t len)
{
	lab_fill(run, buf, len);
	return 0;
}

bool read_regions_clear(struct lab_run *run, struct read_regions *r)
{
	iw_stag_table_free(r->table);
	r->table = NULL;
	r->n = 0;
	if (iw_stag_table_new(&r->table, &iw_os_heap, random_stags, run) == 0)
		return true;
	return lab_fail(run, "the grader has no memory");
}

bool read_regions_add(struct lab_run *run, struct read_regions *r, uint32_t stream, uint8_t rights,
		      uint64_t to, size_t len)
{
	struct read_region *added = &r->list[r->n];
	struct iw_fault why = { 0 };
	uint32_t stag;

	lab_fill(run, added->octets, len);
	added->region = (struct iw_region){
		.rights = rights,
		.stream = stream,
		.base = added->octets,
		.len = len,
		.to = to,
		.expires = IW_TIME_NEVER,
		.uses = UINT32_MAX,
	};
	if (iw_stag_add(r->table, &added->region, &stag, &why))
		return lab_fail(run, "the grader could not register memory: %s", why.text);
	added->region.stag = stag;
	r->n++;
	return true;
}

void read_regions_put(struct lab_run *run, const struct read_regions *r)
{
	lab_put_u32(run, r->n);
	for (uint32_t i = 0; i < r->n; i++) {
		const struct iw_region *region = &r->list[i].region;

		lab_put_u32(run, region->stag);
		lab_put_u32(run, region->stream);
		lab_put_u32(run, region->rights);
		lab_put_u64(run, region->to);
		lab_put_octets(run, r->list[i].octets, region->len);
	}
}

uint32_t read_regions_check(struct read_regions *r, uint32_t stream, const struct iw_rreq *q,
			    const uint8_t **where)
{
	struct iw_stag_use use = {
		.stream = stream, .right = IW_RIGHT_REMOTE_READ, .to = q->src_to, .len = q->size
	};
	enum iw_stag_verdict v;
	struct iw_fault why;
	uint8_t *at = NULL;

	*where = NULL;
	if (q->size == 0)
		return READ_OK;
	v = iw_stag_check(r->table, q->src_stag, &use, &at);
	if (v != IW_STAG_OK)
		return iw_err_term(iw_stag_rdmap_error(r->table, v, q->src_stag, &use, &why)) &
		       0xffff;
	*where = at;
	return READ_OK;
}
