/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "labs/grader/read/engine.h"

#include <string.h>

#include "os/os.h"
#include "util/num.h"

enum { PD = 1 };

struct read_engine read_engine;

static int random_stags(void *run, void *buf, size_t len)
{
	lab_fill(run, buf, len);
	return 0;
}

void read_engine_free(void)
{
	iw_rdmap_free(read_engine.rdmap);
	iw_stag_table_free(read_engine.table);
	read_engine.rdmap = NULL;
	read_engine.table = NULL;
}

static int engine_register(uint8_t rights, uint8_t *base, uint32_t *stag, struct iw_fault *why)
{
	struct iw_region r = {
		.rights = rights,
		.pd = PD,
		.base = base,
		.len = READ_ENGINE_MEMORY,
		.expires = IW_TIME_NEVER,
		.uses = UINT32_MAX,
	};

	return iw_stag_add(read_engine.table, &r, stag, why);
}

static int engine_start(struct lab_run *run, struct iw_fault *why)
{
	struct iw_rdmap_cfg cfg = { .mem = &iw_os_heap,
				    .pd = PD,
				    .stream = READ_STREAM,
				    .sq_depth = 16,
				    .rq_depth = READ_ENGINE_RECEIVES };
	struct iw_rdmap_params params = { .dv = 1, .ird = 4, .ord = 4 };
	int err = iw_stag_table_new(&read_engine.table, &iw_os_heap, random_stags, run);

	cfg.stags = read_engine.table;
	if (!err)
		err = engine_register(IW_RIGHT_REMOTE_READ | IW_RIGHT_REMOTE_WRITE,
				      read_engine.source, &read_engine.source_stag, why);
	if (!err)
		err = engine_register(IW_RIGHT_READ_SINK, read_engine.sink, &read_engine.sink_stag,
				      why);
	if (!err)
		err = iw_rdmap_new(&read_engine.rdmap, &cfg, why);
	if (!err)
		err = iw_rdmap_start(read_engine.rdmap, &params, why);
	for (uint64_t i = 0; !err && i < READ_ENGINE_RECEIVES; i++)
		err = iw_rdmap_post_recv(read_engine.rdmap, i, read_engine.receives[i],
					 sizeof(read_engine.receives[i]));
	return err;
}

bool read_engine_new(struct lab_run *run)
{
	struct iw_fault why = { 0 };

	read_engine_free();
	read_engine.pos = 0;
	lab_fill(run, read_engine.source, sizeof(read_engine.source));
	if (engine_start(run, &why) == 0)
		return true;
	read_engine_free();
	return lab_fail(run, "the grader's own end cannot start: %s", why.text);
}

size_t read_engine_segment(uint8_t *out, size_t mulpdu)
{
	struct iw_segment seg;
	size_t len;

	if (iw_rdmap_pull(read_engine.rdmap, mulpdu, &seg, 0) == 0)
		return 0;
	len = seg.hdr_len;
	memcpy(out, seg.hdr, len);
	for (size_t i = 0; i < seg.npayload; i++) {
		memcpy(out + len, seg.payload[i].base, seg.payload[i].len);
		len += seg.payload[i].len;
	}
	read_engine.pos += len;
	iw_rdmap_pulled(read_engine.rdmap, read_engine.pos);
	iw_rdmap_sent(read_engine.rdmap, read_engine.pos, read_engine.pos);
	return len;
}
