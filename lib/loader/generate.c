// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Loads the generator and fills in its tables. */
#include "loader/generate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "loader/bpf.h"
#include "os/os.h"
#include "util/num.h"
#include "util/text.h"
#include "wire/crc32c.h"

#include "xdp/shared.h"

#include <generate.skel.h>

#ifndef BPF_F_TEST_XDP_LIVE_FRAMES
#define BPF_F_TEST_XDP_LIVE_FRAMES (1u << 1)
#endif

#define BATCH   64
#define CRC_AT  8
#define SEG_AT  (12 + 16 + 2) /* SCTP, chunk, DDP-SSN */
#define DATA_AT (SEG_AT + 14) /* after the tagged header */

struct iw_generate {
	struct generate_bpf *skel;
	unsigned ifindex;
	size_t len;
	uint8_t frame[4096];
};

int iw_generate_counter_open(struct iw_generate_counter *g, struct iw_fault *why)
{
	LIBBPF_OPTS(bpf_map_create_opts, o, .map_flags = BPF_F_MMAPABLE);
	int err;

	g->arrived = NULL;
	iw_bpf_begin();
	g->map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "counter", sizeof(uint32_t), sizeof(uint64_t),
				1, &o);
	err = g->map < 0 ? iw_bpf_fail(why, errno, "xdp: create a map for the generator") : 0;
	iw_bpf_end();
	if (err)
		return err;
	g->arrived = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED,
			  g->map, 0);
	if (g->arrived != MAP_FAILED)
		return 0;
	err = iw_os_fail(why, errno, "xdp: map the generator's counter");
	g->arrived = NULL;
	iw_generate_counter_close(g);
	return err;
}

void iw_generate_counter_close(struct iw_generate_counter *g)
{
	if (g->arrived)
		munmap((void *)(uintptr_t)g->arrived, (size_t)sysconf(_SC_PAGESIZE));
	if (g->map >= 0)
		close(g->map);
	*g = (struct iw_generate_counter){ .map = -1 };
}

/*
 * Returns the offset, from the start of SCTP, of an octet that changes: rows 0 to 3 are the TSN, 4
 * and 5 the DDP-SSN, 6 to 13 the Tagged Offset.
 */
static size_t place(unsigned row)
{
	return row < 4 ? 16 + row : row < 6 ? 28 + (row - 4) : 36 + (row - 6);
}

static bool is_model(const uint8_t *f, size_t len)
{
	const uint8_t *sctp = f + IW_XDP_GENERATE_AT;

	return len >= IW_XDP_GENERATE_AT + DATA_AT + 1 && len <= 4096 && f[12] == 8 &&
	       f[14] == 0x45 && f[23] == 132 && sctp[12] == 0 && sctp[SEG_AT] & 0x80;
}

static int make_tables(struct iw_xdp_generate *g, uint8_t *sctp, size_t len, struct iw_fault *why)
{
	uint8_t *zero = calloc(1, len);
	uint32_t none;

	if (!zero)
		return iw_fail(why, IW_E_NOMEM, "xdp: no memory");
	none = iw_crc32c(0, zero, len);
	memset(sctp + CRC_AT, 0, 4);
	for (unsigned row = 0; row < 14; row++)
		sctp[place(row)] = 0;
	g->base = iw_crc32c(0, sctp, len);
	for (unsigned row = 0; row < 14; row++)
		for (unsigned v = 0; v < 256; v++) {
			zero[place(row)] = (uint8_t)v;
			g->crc[row][v] = iw_crc32c(0, zero, len) ^ none;
			zero[place(row)] = 0;
		}
	free(zero);
	return 0;
}

static int load(struct iw_generate *g, const struct iw_generate_cfg *cfg, struct iw_fault *why)
{
	uint8_t *sctp = g->frame + IW_XDP_GENERATE_AT;
	struct iw_xdp_generate *ro;
	size_t chunk = iw_get_be16(sctp + 14);
	int err;

	g->skel = generate_bpf__open();
	if (!g->skel)
		return iw_bpf_fail(why, errno, "xdp: open the generator");
	/* The program's constants can be written until it is loaded. */
	ro = (struct iw_xdp_generate *)(uintptr_t)&g->skel->rodata->cfg;
	ro->to = cfg->to;
	ro->slots = cfg->slots;
	ro->ahead = cfg->ahead;
	ro->payload = chunk - (DATA_AT - 12);
	g->skel->bss->tsn = cfg->tsn;
	g->skel->bss->ssn = cfg->ssn;
	g->skel->bss->sent = cfg->sent;
	g->skel->bss->to = cfg->to;
	err = bpf_map__reuse_fd(g->skel->maps.counter, cfg->counter->map);
	if (err)
		return iw_bpf_fail(why, err, "xdp: share the generator's counter");
	err = make_tables(ro, sctp, g->len - IW_XDP_GENERATE_AT, why);
	return err ? err : iw_bpf_load(g->skel->obj, "the generator", why);
}

int iw_generate_open(struct iw_generate **out, const struct iw_generate_cfg *cfg,
		     struct iw_fault *why)
{
	struct iw_generate *g;
	int err;

	if (!is_model(cfg->frame, cfg->len))
		return iw_fail(why, IW_E_INVAL,
			       "xdp: the generator needs a template of a tagged segment");
	g = calloc(1, sizeof(*g));
	if (!g)
		return iw_fail(why, IW_E_NOMEM, "xdp: no memory");
	g->ifindex = cfg->ifindex;
	g->len = cfg->len;
	memcpy(g->frame, cfg->frame, cfg->len);
	iw_bpf_begin();
	err = load(g, cfg, why);
	iw_bpf_end();
	if (err) {
		iw_generate_close(g);
		return err;
	}
	*out = g;
	return 0;
}

int iw_generate_run(struct iw_generate *g, unsigned n, struct iw_fault *why)
{
	struct xdp_md ctx = { .data_end = (uint32_t)g->len, .ingress_ifindex = g->ifindex };
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = g->frame, .data_size_in = (uint32_t)g->len,
		    .ctx_in = &ctx, .ctx_size_in = sizeof(ctx), .repeat = (int)n,
		    .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .batch_size = BATCH);
	int err = bpf_prog_test_run_opts(bpf_program__fd(g->skel->progs.iw_generate), &o);

	return err ? iw_os_fail(why, -err, "xdp: run the generator on live frames") : 0;
}

uint64_t iw_generate_sent(const struct iw_generate *g)
{
	struct generate_bpf__bss now = { 0 };
	const uint32_t zero = 0;

	/* The skeleton's copy has the values from before loading. */
	(void)bpf_map_lookup_elem(bpf_map__fd(g->skel->maps.bss), &zero, &now);
	return now.sent;
}

void iw_generate_close(struct iw_generate *g)
{
	if (!g)
		return;
	generate_bpf__destroy(g->skel);
	free(g);
}
