/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lab 2: tagged placement. The expected codes and the expected contents of memory are those of the
 * engine: lib/wire decodes the header, lib/ddp checks the access and places the payload in a copy of
 * the module's memory. Only the choice of STags is modelled here, because the lab has its own rule.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddp/ddp.h"
#include "ddp/stag.h"
#include "labs/02-tagged/tagged.h"
#include "labs/grader/lab.h"
#include "os/os.h"
#include "trace/trace.h"
#include "util/num.h"
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

/* --- names ------------------------------------------------------------------------------------ */

static const struct {
	enum tagged_code code;
	const char *name;
} code_names[] = {
	{ TAGGED_OK, "TAGGED_OK (0)" },
	{ TAGGED_DROPPED, "TAGGED_DROPPED (1)" },
	{ TAGGED_LOCAL, "TAGGED_LOCAL (0x1000)" },
	{ TAGGED_INVALID_STAG, "TAGGED_INVALID_STAG (0x1100)" },
	{ TAGGED_BOUNDS, "TAGGED_BOUNDS (0x1101)" },
	{ TAGGED_NOT_ASSOCIATED, "TAGGED_NOT_ASSOCIATED (0x1102)" },
	{ TAGGED_WRAP, "TAGGED_WRAP (0x1103)" },
	{ TAGGED_DDP_VERSION, "TAGGED_DDP_VERSION (0x1104)" },
	{ TAGGED_RDMAP_VERSION, "TAGGED_RDMAP_VERSION (0x0205)" },
	{ TAGGED_OPCODE, "TAGGED_OPCODE (0x0206)" },
	{ TAGGED_READ_INVALID_STAG, "TAGGED_READ_INVALID_STAG (0x0100)" },
	{ TAGGED_READ_BOUNDS, "TAGGED_READ_BOUNDS (0x0101)" },
	{ TAGGED_READ_RIGHTS, "TAGGED_READ_RIGHTS (0x0102)" },
	{ TAGGED_READ_NOT_ASSOCIATED, "TAGGED_READ_NOT_ASSOCIATED (0x0103)" },
	{ TAGGED_READ_WRAP, "TAGGED_READ_WRAP (0x0104)" },
};

static const char *code_name(uint32_t code)
{
	for (size_t i = 0; i < IW_ARRAY_LEN(code_names); i++)
		if (code_names[i].code == code)
			return code_names[i].name;
	return "a number that is not in enum tagged_code";
}

static bool expect_code(struct world *w, const char *what, uint32_t expected, uint32_t seen)
{
	const char *names[] = { code_name(expected), code_name(seen) };

	return lab_expect_name(w->run, what, names, 2, 0, expected == seen ? 0 : 1);
}

/* --- the engine beside the module ------------------------------------------------------------- */

/* STags of the engine need not be secret, only different. */
static int engine_random(void *ctx, void *buf, size_t len)
{
	struct world *w = ctx;
	uint32_t v;

	for (size_t i = 0; i + sizeof(v) <= len; i += sizeof(v)) {
		v = ++w->engine_drawn * 0x9e3779b1u;
		memcpy((uint8_t *)buf + i, &v, sizeof(v));
	}
	return 0;
}

/* The first octets of the Terminate that reports the error. */
static enum tagged_code code_of(int err)
{
	return err ? (enum tagged_code)(iw_err_term(err) & 0xffff) : TAGGED_OK;
}

/* 0: no region of the engine has this STag. */
static uint32_t engine_stag(const struct world *w, uint32_t stag)
{
	const struct slot *slot = &w->slots[stag >> TAGGED_KEY_BITS];

	return slot->live && slot->key == (stag & KEY_MASK) ? slot->engine : 0;
}

/* The checks that need no table, as rdmap does them: RFC 5040 7.2. */
static enum tagged_code judge_header(struct iw_ddp *h, const uint8_t *segment, size_t len)
{
	if (iw_wire_ddp_decode(h, segment, len) <= 0 || !h->tagged)
		return TAGGED_LOCAL;
	if (h->dv != TAGGED_VERSION)
		return code_of(IW_E_DDP_VERSION_T);
	if (h->rv != TAGGED_VERSION)
		return code_of(IW_E_RO_VERSION);
	if (!iw_opcode_info(h->opcode)->tagged)
		return code_of(IW_E_RO_OPCODE);
	return TAGGED_OK;
}

/* Places the segment in the copy of the memory. */
static enum tagged_code engine_place(struct world *w, struct stream *s, const uint8_t *segment,
				     size_t len)
{
	struct iw_fault why = { 0 };
	struct iw_ddp h;
	uint8_t right;

	if (s->error != TAGGED_OK)
		return TAGGED_DROPPED;
	s->error = judge_header(&h, segment, len);
	if (s->error != TAGGED_OK)
		return s->error;
	right = h.opcode == IW_OP_WRITE ? IW_RIGHT_REMOTE_WRITE : IW_RIGHT_READ_SINK;
	h.stag = engine_stag(w, h.stag);
	s->error = code_of(iw_ddp_place(s->engine, &h, segment + IW_DDP_TAGGED_LEN,
					len - IW_DDP_TAGGED_LEN, right, 0, &why));
	return s->error;
}

/* Sets *where to the source in the copy of the memory. */
static enum tagged_code engine_read(struct world *w, struct stream *s, uint32_t stag, uint64_t to,
				    uint32_t len, uint8_t **where)
{
	struct iw_stag_use use = {
		.pd = s->pd,
		.stream = s->id,
		.right = IW_RIGHT_REMOTE_READ,
		.to = to,
		.len = len,
	};
	enum iw_stag_verdict v;

	if (s->error != TAGGED_OK)
		return TAGGED_DROPPED;
	if (len == 0)
		return TAGGED_OK;
	v = iw_stag_check(w->stags, engine_stag(w, stag), &use, where);
	if (v != IW_STAG_OK)
		s->error =
			code_of(iw_stag_rdmap_error(w->stags, v, engine_stag(w, stag), &use, NULL));
	return s->error;
}

/* --- the world -------------------------------------------------------------------------------- */

static bool begin(struct world *w, struct lab_run *run)
{
	w->run = run;
	if (iw_stag_table_new(&w->stags, &iw_os_heap, engine_random, w))
		return lab_fail(run, "the grader has no memory");
	return true;
}

static void end(struct world *w)
{
	for (size_t i = 0; i < STREAMS; i++)
		iw_ddp_free(w->streams[i].engine);
	for (size_t i = 0; i < MEMORIES; i++)
		free(w->memories[i].octets);
	iw_stag_table_free(w->stags);
}

/* Runs the cases with a table and an engine of their own. */
static bool in_world(struct lab_run *run, bool (*cases)(struct world *w))
{
	struct world *w = calloc(1, sizeof(*w));
	bool passed;

	if (!w)
		return lab_fail(run, "the grader has no memory");
	passed = begin(w, run) && cases(w);
	end(w);
	free(w);
	return passed;
}

/* Makes the module's table. The first values of its random source are given. */
static bool new_table(struct world *w, const uint32_t *values, size_t count)
{
	w->count = count;
	w->used = 0;
	lab_call(w->run, "new");
	lab_put_u32(w->run, (uint32_t)count);
	for (size_t i = 0; i < count; i++) {
		w->values[i] = values[i];
		lab_put_u32(w->run, values[i]);
	}
	if (!lab_run_call(w->run))
		return false;
	return lab_expect_true(w->run, lab_get_u8(w->run), "tagged_new() returned NULL") &&
	       lab_results_end(w->run);
}

static bool new_random_table(struct world *w)
{
	uint32_t values[8];

	lab_fill(w->run, values, sizeof(values));
	return new_table(w, values, IW_ARRAY_LEN(values));
}

/* Makes memory with random octets. */
static bool new_memory(struct world *w, uint32_t number, size_t len)
{
	uint8_t *octets = malloc(len + 1);

	if (!octets)
		return lab_fail(w->run, "the grader has no memory");
	lab_fill(w->run, octets, len);
	free(w->memories[number].octets);
	w->memories[number].octets = octets;
	w->memories[number].len = len;
	lab_call(w->run, "memory");
	lab_put_u32(w->run, number);
	lab_put_octets(w->run, octets, len);
	return lab_run_call(w->run) && lab_results_end(w->run);
}

/* Makes or resets a stream. */
static bool new_stream(struct world *w, uint8_t number, uint32_t pd, uint32_t id)
{
	struct iw_ddp_cfg cfg = {
		.mem = &iw_os_heap,
		.stags = w->stags,
		.pd = pd,
		.stream = id,
		.dv = TAGGED_VERSION,
	};
	struct stream *s = &w->streams[number];
	struct iw_fault why = { 0 };

	iw_ddp_free(s->engine);
	*s = (struct stream){ .pd = pd, .id = id };
	if (iw_ddp_new(&s->engine, &cfg, &why))
		return lab_fail(w->run, "the grader has no memory");
	lab_call(w->run, "stream");
	lab_put_u8(w->run, number);
	lab_put_u32(w->run, pd);
	lab_put_u32(w->run, id);
	return lab_run_call(w->run) && lab_results_end(w->run);
}

/* After an error, the stream begins anew, so that each case is by itself. */
static bool reset_stream(struct world *w, uint8_t number)
{
	const struct stream *s = &w->streams[number];

	return s->error == TAGGED_OK || new_stream(w, number, s->pd, s->id);
}

/* Compares all memory of the module with the copy. */
static bool same_memory(struct world *w, const char *what)
{
	for (uint32_t i = 0; i < MEMORIES; i++) {
		struct lab_octets seen;

		if (!w->memories[i].octets)
			continue;
		lab_call(w->run, "octets");
		lab_put_u32(w->run, i);
		if (!lab_run_call(w->run))
			return false;
		if (!lab_expect_true(w->run, lab_get_u8(w->run),
				     "octets just before the memory of a region were changed"))
			return false;
		seen = lab_get_octets(w->run);
		if (!lab_expect_octets(w->run, what, w->memories[i].octets, w->memories[i].len,
				       seen.at, seen.len) ||
		    !lab_results_end(w->run))
			return false;
	}
	return true;
}

/* --- registrations ---------------------------------------------------------------------------- */

static uint32_t next_value(struct world *w)
{
	size_t n = w->used++;

	return n < w->count ? w->values[n] : (uint32_t)n * 0x9e3779b9u;
}

static struct slot *free_slot(struct world *w)
{
	for (uint32_t i = 0; i < TAGGED_SLOTS; i++) {
		struct slot *slot = &w->slots[(w->next + i) % TAGGED_SLOTS];

		if (!slot->live)
			return slot;
	}
	return NULL;
}

/* True if the engine accepts the region. */
static bool engine_add(struct world *w, const struct region *r, uint32_t *stag)
{
	struct iw_region region = {
		.rights = r->rights,
		.pd = r->pd,
		.stream = r->stream,
		.base = r->memory == NO_MEMORY ? NULL : w->memories[r->memory].octets,
		.len = r->len,
		.to = r->base,
		.expires = IW_TIME_NEVER,
		.uses = UINT32_MAX,
	};
	struct iw_fault why = { 0 };

	return iw_stag_add(w->stags, &region, stag, &why) == 0;
}

/* The registration by the rule of tagged.h. False: it must be refused. */
static bool model_register(struct world *w, const struct region *r, uint32_t *stag)
{
	struct slot *slot = free_slot(w);
	uint32_t engine, key, n;

	if (!slot || !engine_add(w, r, &engine))
		return false;
	do
		key = next_value(w) & KEY_MASK;
	while (key == 0 || key == slot->key);
	*slot = (struct slot){ .live = true, .key = key, .engine = engine, .region = *r };
	n = (uint32_t)(slot - w->slots);
	w->next = (n + 1) % TAGGED_SLOTS;
	*stag = n << TAGGED_KEY_BITS | key;
	return true;
}

static bool expect_stag(struct world *w, uint32_t expected, uint32_t seen)
{
	return lab_expect_true(w->run, expected == seen,
			       "the STag is 0x%08x (slot %u, key 0x%06x), not 0x%08x (slot %u, "
			       "key 0x%06x)",
			       seen, seen >> TAGGED_KEY_BITS, seen & KEY_MASK, expected,
			       expected >> TAGGED_KEY_BITS, expected & KEY_MASK);
}

static void describe(struct world *w, const char *what, const struct region *r)
{
	lab_case(w->run, "%s: base 0x%llx, %llu octets%s, PD %u, stream %u, rights 0x%x", what,
		 (unsigned long long)r->base, (unsigned long long)r->len,
		 r->memory == NO_MEMORY ? " at NULL" : "", r->pd, r->stream, r->rights);
}

/* Registers r in both. *stag is 0 if it must be refused, and was. */
static bool register_region(struct world *w, const char *what, const struct region *r,
			    uint32_t *stag)
{
	bool expected, seen;
	uint32_t seen_stag;

	describe(w, what, r);
	*stag = 0;
	expected = model_register(w, r, stag);
	lab_call(w->run, "register");
	lab_put_u32(w->run, r->memory);
	lab_put_u64(w->run, r->len);
	lab_put_u64(w->run, r->base);
	lab_put_u32(w->run, r->pd);
	lab_put_u32(w->run, r->stream);
	lab_put_u8(w->run, r->rights);
	if (!lab_run_call(w->run))
		return false;
	seen = lab_get_u8(w->run);
	seen_stag = lab_get_u32(w->run);
	if (!lab_results_end(w->run))
		return false;
	if (expected != seen)
		return lab_fail(w->run, "tagged_register() returned %s, not %s",
				seen ? "true" : "false", expected ? "true" : "false");
	return !expected || expect_stag(w, *stag, seen_stag);
}

static bool same_region(struct world *w, const struct region *r)
{
	struct lab_run *run = w->run;

	return lab_expect_true(run, lab_get_u32(run) == r->memory,
			       "the region that tagged_lookup() returns has other memory") &&
	       lab_expect_number(run, "len of the region", r->len, lab_get_u64(run)) &&
	       lab_expect_number(run, "base of the region", r->base, lab_get_u64(run)) &&
	       lab_expect_number(run, "pd of the region", r->pd, lab_get_u32(run)) &&
	       lab_expect_number(run, "stream of the region", r->stream, lab_get_u32(run)) &&
	       lab_expect_number(run, "rights of the region", r->rights, lab_get_u8(run)) &&
	       lab_results_end(run);
}

static bool look_up(struct world *w, const char *what, uint32_t stag)
{
	bool expected = engine_stag(w, stag), seen;

	lab_case(w->run, "%s, STag 0x%08x", what, stag);
	lab_call(w->run, "lookup");
	lab_put_u32(w->run, stag);
	if (!lab_run_call(w->run))
		return false;
	seen = lab_get_u8(w->run);
	if (expected != seen)
		return lab_fail(w->run, "tagged_lookup() returned %s",
				seen ? "a region, not NULL" : "NULL, not the region");
	if (!seen)
		return lab_results_end(w->run);
	return same_region(w, &w->slots[stag >> TAGGED_KEY_BITS].region);
}

static bool deregister(struct world *w, const char *what, uint32_t stag)
{
	uint32_t engine = engine_stag(w, stag);
	bool seen;

	lab_case(w->run, "%s, STag 0x%08x", what, stag);
	if (engine) {
		iw_stag_del(w->stags, engine);
		w->slots[stag >> TAGGED_KEY_BITS].live = false;
	}
	lab_call(w->run, "deregister");
	lab_put_u32(w->run, stag);
	if (!lab_run_call(w->run))
		return false;
	seen = lab_get_u8(w->run);
	if (seen != (engine != 0))
		return lab_fail(w->run, "tagged_deregister() returned %s, not %s",
				seen ? "true" : "false", seen ? "false" : "true");
	return lab_results_end(w->run);
}

/* Frees the table, and expects that no block of the module is left. */
static bool free_table(struct lab_run *run, uint64_t blocks)
{
	lab_case(run, "after tagged_free()");
	lab_call(run, "free");
	return lab_run_call(run) && lab_results_end(run) && lab_expect_freed(run, blocks);
}

/* --- access ----------------------------------------------------------------------------------- */

static struct iw_ddp to_stag(uint8_t opcode, uint32_t stag, uint64_t to)
{
	return (struct iw_ddp){
		.tagged = true,
		.last = true,
		.dv = TAGGED_VERSION,
		.rv = TAGGED_VERSION,
		.opcode = opcode,
		.stag = stag,
		.to = to,
	};
}

/* Describes the case: what is asked for, and the region with this STag. */
static void describe_access(struct world *w, const char *what, const struct stream *s,
			    const char *operation, uint32_t stag, uint64_t to, uint64_t len)
{
	const struct slot *slot = &w->slots[stag >> TAGGED_KEY_BITS];
	char region[120] = "no region has this STag";

	if (engine_stag(w, stag))
		snprintf(region, sizeof(region),
			 "its region: base 0x%llx, %llu octets, PD %u, stream %u, rights 0x%x",
			 (unsigned long long)slot->region.base,
			 (unsigned long long)slot->region.len, slot->region.pd, slot->region.stream,
			 slot->region.rights);
	lab_case(w->run, "%s: %s, %llu octet%s, STag 0x%08x, TO 0x%llx, by stream %u of PD %u; %s",
		 what, operation, (unsigned long long)len, len == 1 ? "" : "s", stag,
		 (unsigned long long)to, s->id, s->pd, region);
}

static bool expect_error(struct world *w, const struct stream *s, uint32_t seen)
{
	return !w->look_at_error || expect_code(w, "s->error", s->error, seen);
}

/* Places the first len octets of w->segment. */
static bool place_segment(struct world *w, uint8_t stream, size_t len)
{
	struct stream *s = &w->streams[stream];
	enum tagged_code expected = engine_place(w, s, w->segment, len);
	uint16_t code, error;

	lab_call(w->run, "place");
	lab_put_u8(w->run, stream);
	lab_put_octets(w->run, w->segment, len);
	if (!lab_run_call(w->run))
		return false;
	code = lab_get_u16(w->run);
	error = lab_get_u16(w->run);
	return lab_results_end(w->run) &&
	       expect_code(w, "the result of tagged_place()", expected, code) &&
	       same_memory(w, expected == TAGGED_OK
				      ? "the memory"
				      : "the memory, in which nothing may be placed,") &&
	       expect_error(w, s, error);
}

/* Builds a segment with a random payload, and places it. */
static bool place(struct world *w, const char *what, uint8_t stream, const struct iw_ddp *h,
		  size_t len)
{
	describe_access(w, what, &w->streams[stream], iw_opcode_name(h->opcode), h->stag, h->to,
			len);
	if (iw_wire_ddp_encode(w->segment, sizeof(w->segment), h) < 0)
		return lab_fail(w->run, "the grader cannot build a segment");
	lab_fill(w->run, w->segment + TAGGED_HEADER_LEN, len);
	return place_segment(w, stream, TAGGED_HEADER_LEN + len);
}

static bool write_to(struct world *w, const char *what, uint8_t stream, uint32_t stag, uint64_t to,
		     size_t len)
{
	struct iw_ddp h = to_stag(IW_OP_WRITE, stag, to);

	return place(w, what, stream, &h, len) && reset_stream(w, stream);
}

static bool respond_to(struct world *w, const char *what, uint8_t stream, uint32_t stag,
		       uint64_t to, size_t len)
{
	struct iw_ddp h = to_stag(IW_OP_RRESP, stag, to);

	return place(w, what, stream, &h, len) && reset_stream(w, stream);
}

/* The octets that a read must give: the source, or those of new memory. */
static bool same_read(struct world *w, enum tagged_code code, const uint8_t *where, uint32_t len)
{
	struct lab_octets seen = lab_get_octets(w->run);
	uint8_t untouched[REFUSED_SHOWN];
	size_t shown = len < READ_MAX ? len : REFUSED_SHOWN;

	if (code == TAGGED_OK)
		return lab_expect_octets(w->run, "dst", where, len, seen.at, seen.len);
	memset(untouched, FILL, sizeof(untouched));
	shown = IW_MIN(shown, (size_t)REFUSED_SHOWN);
	return lab_expect_octets(w->run, "dst, which must be unchanged,", untouched, shown, seen.at,
				 IW_MIN(seen.len, shown));
}

/* Without reset_stream(). */
static bool read_once(struct world *w, const char *what, uint8_t stream, uint32_t stag, uint64_t to,
		      uint32_t len)
{
	struct stream *s = &w->streams[stream];
	uint8_t *where = NULL;
	enum tagged_code expected;
	uint16_t code, error;
	bool intact;

	describe_access(w, what, s, "source of a Read Request", stag, to, len);
	expected = engine_read(w, s, stag, to, len, &where);
	lab_call(w->run, "read");
	lab_put_u8(w->run, stream);
	lab_put_u32(w->run, stag);
	lab_put_u64(w->run, to);
	lab_put_u32(w->run, len);
	if (!lab_run_call(w->run))
		return false;
	code = lab_get_u16(w->run);
	error = lab_get_u16(w->run);
	intact = lab_get_u8(w->run);
	return expect_code(w, "the result of tagged_read()", expected, code) &&
	       lab_expect_true(w->run, intact, "octets before dst were changed") &&
	       same_read(w, expected, where, len) && lab_results_end(w->run) &&
	       expect_error(w, s, error) && same_memory(w, "the memory after a read");
}

static bool read_from(struct world *w, const char *what, uint8_t stream, uint32_t stag, uint64_t to,
		      uint32_t len)
{
	return read_once(w, what, stream, stag, to, len) && reset_stream(w, stream);
}

/* --- step header ------------------------------------------------------------------------------ */

static bool parse(struct lab_run *run, const char *what, const uint8_t *segment, size_t len)
{
	struct iw_ddp h;
	const char *names[2];
	enum tagged_code expected = judge_header(&h, segment, len), seen;

	lab_case(run, "%s; the segment has %zu octets: %02x %02x ...", what, len,
		 len > 0 ? segment[0] : 0, len > 1 ? segment[1] : 0);
	lab_call(run, "parse");
	lab_put_octets(run, segment, len);
	if (!lab_run_call(run))
		return false;
	seen = lab_get_u16(run);
	names[0] = code_name(expected);
	names[1] = code_name(seen);
	if (!lab_expect_name(run, "the result of tagged_parse()", names, 2, 0, expected != seen))
		return false;
	if (expected != TAGGED_OK)
		return lab_results_end(run);
	return lab_expect_number(run, "the opcode", h.opcode, lab_get_u8(run)) &&
	       lab_expect_number(run, "last", h.last, lab_get_u8(run)) &&
	       lab_expect_number(run, "the STag", h.stag, lab_get_u32(run)) &&
	       lab_expect_number(run, "the TO", h.to, lab_get_u64(run)) &&
	       lab_expect_number(run, "the place of the payload in the segment", TAGGED_HEADER_LEN,
				 lab_get_u64(run)) &&
	       lab_expect_number(run, "the length of the payload", len - TAGGED_HEADER_LEN,
				 lab_get_u64(run)) &&
	       lab_results_end(run);
}

/* A valid header, then its two control octets as given. */
static bool parse_control(struct lab_run *run, const char *what, uint8_t ddp, uint8_t rdmap)
{
	uint8_t segment[TAGGED_HEADER_LEN + 8];

	lab_fill(run, segment, sizeof(segment));
	segment[0] = ddp;
	segment[1] = rdmap;
	return parse(run, what, segment, sizeof(segment));
}

static bool parse_fixed(struct lab_run *run)
{
	static const uint8_t low[] = { 0xc1, 0x40, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 };
	static const uint8_t high[] = { 0x81, 0x42, 0xff, 0xfe, 0xfd, 0xfc, 0xfb, 0xfa,
					0xf9, 0xf8, 0xf7, 0xf6, 0xf5, 0xf4, 0xf3 };

	return parse(run, "an RDMA Write with the last flag", low, sizeof(low)) &&
	       parse(run, "a Read Response without it", high, sizeof(high)) &&
	       parse(run, "an RDMA Write without payload", low, TAGGED_HEADER_LEN) &&
	       parse(run, "a header with an octet too few", low, TAGGED_HEADER_LEN - 1) &&
	       parse(run, "one octet", low, 1) && parse(run, "no octets", low, 0);
}

static bool header(struct lab_run *run)
{
	uint8_t segment[TAGGED_HEADER_LEN + 64];

	if (!parse_fixed(run) || !parse_control(run, "T is 0", 0x41, 0x40) ||
	    !parse_control(run, "reserved bits of DDP are set", 0xfd, 0x40) ||
	    !parse_control(run, "reserved bits of RDMAP are set", 0xc1, 0x72))
		return false;
	for (uint8_t dv = 0; dv < 4; dv++)
		if (!parse_control(run, "each DV", 0xc0 | dv, 0x40))
			return false;
	for (uint8_t rv = 0; rv < 4; rv++)
		if (!parse_control(run, "each RV", 0xc1, (uint8_t)(rv << 6)))
			return false;
	for (uint8_t opcode = 0; opcode < 16; opcode++)
		if (!parse_control(run, "each opcode", 0xc1, 0x40 | opcode))
			return false;
	if (!parse_control(run, "T, DV, RV and the opcode are wrong", 0x40, 0x03) ||
	    !parse_control(run, "DV, RV and the opcode are wrong", 0xc2, 0x83) ||
	    !parse_control(run, "RV and the opcode are wrong", 0xc1, 0xc3))
		return false;
	for (size_t i = 0; i < 40; i++) {
		size_t len = lab_below(run, sizeof(segment) + 1);

		lab_fill(run, segment, sizeof(segment));
		if (lab_below(run, 4)) {
			segment[0] = 0x81 | (segment[0] & 0x7c);
			segment[1] = (uint8_t)(0x40 | (segment[1] & 0x30) | lab_below(run, 2) << 1);
		}
		if (!parse(run, "random octets", segment, len))
			return false;
	}
	return true;
}

/* --- step register ---------------------------------------------------------------------------- */

static const struct region usual = { 0, LEN, BASE, 7, 0, ALL_RIGHTS };

static struct region random_region(struct world *w)
{
	return (struct region){
		.memory = 0,
		.len = lab_below(w->run, LEN + 1),
		.base = lab_random(w->run) >> 1,
		.pd = (uint32_t)lab_random(w->run),
		.stream = lab_below(w->run, 2) ? (uint32_t)lab_random(w->run) : 0,
		.rights = (uint8_t)(1 + lab_below(w->run, ALL_RIGHTS)),
	};
}

static bool register_keys(struct world *w)
{
	uint32_t stag;
	/* The second and the third begin with key 0, which no STag may have. */
	bool passed = register_region(w, "the first registration", &usual, &stag) &&
		      look_up(w, "the first registration", stag) &&
		      register_region(w, "random() returns 0 and 0xff000000, then another value",
				      &usual, &stag) &&
		      look_up(w, "the second registration", stag) &&
		      look_up(w, "the same slot with another key", stag ^ 1) &&
		      look_up(w, "the same slot with another key", stag ^ 0x800000) &&
		      look_up(w, "another slot with the same key", stag ^ 0x02000000) &&
		      look_up(w, "a slot that was never used, with key 0", 0x05000000) &&
		      look_up(w, "the last slot, never used, with key 0", 0xff000000);

	return passed && look_up(w, "STag 0", 0) && look_up(w, "all bits set", 0xffffffff);
}

static bool register_limits(struct world *w)
{
	static const struct {
		const char *what;
		struct region region;
	} cases[] = {
		{ "no rights", { 0, LEN, BASE, 7, 0, 0 } },
		{ "an unknown right", { 0, LEN, BASE, 7, 0, 8 } },
		{ "an unknown right beside a known one", { 0, LEN, BASE, 7, 0, 0x82 } },
		{ "octets at NULL", { NO_MEMORY, 1, BASE, 7, 0, 1 } },
		{ "no octets at NULL", { NO_MEMORY, 0, BASE, 7, 0, 1 } },
		{ "base + len is 2^64 - 1", { 0, LEN, UINT64_MAX - LEN, 7, 0, 2 } },
		{ "base + len is 2^64", { 0, LEN, UINT64_MAX - LEN + 1, 7, 0, 2 } },
		{ "base + len wraps", { 0, LEN, UINT64_MAX - 1, 7, 0, 2 } },
		{ "no octets at base 2^64 - 1", { 0, 0, UINT64_MAX, 7, 0, 4 } },
		{ "base 0", { 0, LEN, 0, 0, 0, 4 } },
	};
	uint32_t stag;

	for (size_t i = 0; i < IW_ARRAY_LEN(cases); i++)
		if (!register_region(w, cases[i].what, &cases[i].region, &stag) ||
		    (stag && !look_up(w, cases[i].what, stag)))
			return false;
	return true;
}

static bool register_all(struct world *w)
{
	uint32_t stags[TAGGED_SLOTS], n = 0;
	struct region r;

	while (free_slot(w)) {
		r = random_region(w);
		if (!register_region(w, "one after the other", &r, &stags[n++]))
			return false;
	}
	if (!register_region(w, "all slots are in use", &usual, &stags[n]))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!look_up(w, "all slots are in use", stags[i]))
			return false;
	return true;
}

static bool register_cases(struct world *w)
{
	static const uint32_t values[] = { 0xabcdef01, 0, 0xff000000, 0x12345678, 0xff000001 };

	return new_table(w, values, IW_ARRAY_LEN(values)) && new_memory(w, 0, LEN) &&
	       register_keys(w) && register_limits(w) && register_all(w);
}

static bool register_step(struct lab_run *run)
{
	uint64_t blocks;

	return lab_allocated(run, &blocks) && in_world(run, register_cases) &&
	       free_table(run, blocks);
}

/* --- step place ------------------------------------------------------------------------------- */

static bool place_fixed(struct world *w, uint32_t stag, uint32_t second)
{
	struct iw_ddp bad = to_stag(IW_OP_WRITE, stag, BASE + 16);

	if (!write_to(w, "in the middle of the region", 0, stag, BASE + 100, 17) ||
	    !write_to(w, "one octet", 0, stag, BASE + 101, 1) ||
	    !write_to(w, "the same place again", 0, stag, BASE + 100, 17) ||
	    !write_to(w, "another region", 0, second, 0x20, 33) ||
	    !write_to(w, "most of the region", 0, second, 0x10, LEN - 32))
		return false;
	bad.dv = 0;
	if (!place(w, "DV is 0", 0, &bad, 8) || !reset_stream(w, 0))
		return false;
	bad.dv = TAGGED_VERSION;
	bad.rv = 0;
	return place(w, "RV is 0", 0, &bad, 8) && reset_stream(w, 0);
}

/* A message of 24 segments, which arrive in any order: each one is placed by itself. */
static bool place_shuffled(struct world *w, uint32_t stag)
{
	enum { SEGMENTS = 24, SIZE = 150 };
	uint32_t order[SEGMENTS];

	for (uint32_t i = 0; i < SEGMENTS; i++) {
		uint32_t j = (uint32_t)lab_below(w->run, i + 1);

		order[i] = order[j];
		order[j] = i;
	}
	for (uint32_t i = 0; i < SEGMENTS; i++) {
		struct iw_ddp h = to_stag(IW_OP_WRITE, stag, BASE + 64 + SIZE * order[i]);

		h.last = order[i] == SEGMENTS - 1;
		if (!place(w, "segments of one message, out of order", 0, &h, SIZE))
			return false;
	}
	return true;
}

/* Both regions have all rights, for the one stream: the checks of other steps cannot refuse. */
static bool place_cases(struct world *w)
{
	static const struct region one = { 0, LEN, BASE, 7, 1, ALL_RIGHTS };
	static const struct region other = { 1, LEN, 0, 7, 1, ALL_RIGHTS };
	uint32_t stag, second;

	if (!new_random_table(w) || !new_memory(w, 0, LEN) || !new_memory(w, 1, LEN) ||
	    !new_stream(w, 0, 7, 1) || !register_region(w, "first", &one, &stag) ||
	    !register_region(w, "second", &other, &second) || !place_fixed(w, stag, second) ||
	    !place_shuffled(w, stag))
		return false;
	for (size_t i = 0; i < 30; i++) {
		uint64_t at = 1 + lab_below(w->run, LEN - 2);
		size_t len = 1 + lab_below(w->run, LEN - 1 - at);
		bool first = lab_below(w->run, 2);

		if (!write_to(w, "random places", 0, first ? stag : second, first ? BASE + at : at,
			      len))
			return false;
	}
	return true;
}

static bool place_step(struct lab_run *run)
{
	return in_world(run, place_cases);
}

/* --- step stag -------------------------------------------------------------------------------- */

/* Streams 0 and 1 are in PD 7, with ids 1 and 2; stream 2 is in PD 8, with id 1. */
static bool three_streams(struct world *w)
{
	return new_stream(w, 0, 7, 1) && new_stream(w, 1, 7, 2) && new_stream(w, 2, 8, 1);
}

static bool stag_unknown(struct world *w, uint32_t stag)
{
	lab_clause(w->run, "RFC 5041 7.1, check 1");
	return write_to(w, "the key has a wrong bit", 0, stag ^ 1, BASE, 9) &&
	       write_to(w, "the key has a wrong bit", 0, stag ^ 0x800000, BASE, 9) &&
	       write_to(w, "the slot is wrong", 0, stag ^ 0x40000000, BASE, 9) &&
	       write_to(w, "STag 0", 0, 0, BASE, 9) &&
	       write_to(w, "all bits of the STag are set", 0, 0xffffffff, BASE, 9) &&
	       respond_to(w, "the key has a wrong bit", 0, stag ^ 0x10, BASE, 9);
}

static bool stag_scope(struct world *w, uint32_t shared, uint32_t own)
{
	lab_clause(w->run, "RFC 5041 8.2");
	return write_to(w, "a stream of the PD", 0, shared, BASE + 8, 9) &&
	       write_to(w, "another stream of the PD", 1, shared, BASE + 9, 9) &&
	       write_to(w, "a stream of another PD", 2, shared, BASE + 8, 9) &&
	       write_to(w, "the stream of the region", 0, own, BASE + 10, 9) &&
	       write_to(w, "another stream of the same PD", 1, own, BASE + 8, 9) &&
	       write_to(w, "the same stream id in another PD", 2, own, BASE + 8, 9) &&
	       respond_to(w, "a Read Response by another stream", 1, own, BASE + 8, 9);
}

static bool stag_cases(struct world *w)
{
	static const struct region only_first = { 0, LEN, BASE, 7, 1, ALL_RIGHTS };
	uint32_t stags[8];

	if (!new_random_table(w) || !new_memory(w, 0, LEN) || !three_streams(w) ||
	    !register_region(w, "for all streams of PD 7", &usual, &stags[0]) ||
	    !register_region(w, "for stream 1 of PD 7", &only_first, &stags[1]) ||
	    !stag_unknown(w, stags[0]) || !stag_scope(w, stags[0], stags[1]))
		return false;
	for (size_t i = 2; i < IW_ARRAY_LEN(stags); i++) {
		struct region r = usual;

		r.pd = 7 + (uint32_t)lab_below(w->run, 2);
		r.stream = (uint32_t)lab_below(w->run, 3);
		if (!register_region(w, "random scope", &r, &stags[i]))
			return false;
	}
	for (size_t i = 0; i < 40; i++) {
		uint32_t stag = stags[lab_below(w->run, IW_ARRAY_LEN(stags))];
		uint32_t wrong = lab_below(w->run, 4) ? 0 : 1u << lab_below(w->run, 32);

		lab_clause(w->run, wrong ? "RFC 5041 7.1, check 1" : "RFC 5041 8.2");
		if (!write_to(w, "random scope", (uint8_t)lab_below(w->run, 3), stag ^ wrong,
			      BASE + 1 + lab_below(w->run, LEN - 64), 32))
			return false;
	}
	return true;
}

static bool stag_step(struct lab_run *run)
{
	return in_world(run, stag_cases);
}

/* --- step rights ------------------------------------------------------------------------------ */

static bool rights_cases(struct world *w)
{
	uint32_t stags[ALL_RIGHTS + 1];
	struct region r = usual;

	if (!new_random_table(w) || !new_memory(w, 0, LEN) || !three_streams(w))
		return false;
	for (r.rights = 1; r.rights <= ALL_RIGHTS; r.rights++)
		if (!register_region(w, "each set of rights", &r, &stags[r.rights]))
			return false;
	for (uint8_t rights = 1; rights <= ALL_RIGHTS; rights++)
		if (!write_to(w, "each set of rights", 0, stags[rights], BASE + 16, 9) ||
		    !respond_to(w, "each set of rights", 1, stags[rights], BASE + 32, 9))
			return false;
	lab_clause(w->run, "the order of the checks in tagged.h");
	if (!write_to(w, "another PD, and the right is missing", 2, stags[TAGGED_REMOTE_READ],
		      BASE + 16, 9) ||
	    !respond_to(w, "another PD, and the right is missing", 2, stags[TAGGED_REMOTE_WRITE],
			BASE + 16, 9))
		return false;
	lab_clause(w->run, NULL);
	for (size_t i = 0; i < 30; i++) {
		uint32_t stag = stags[1 + lab_below(w->run, ALL_RIGHTS)];
		uint8_t stream = (uint8_t)lab_below(w->run, 3);
		uint64_t to = BASE + 1 + lab_below(w->run, LEN - 64);

		if (!(lab_below(w->run, 2) ? write_to : respond_to)(w, "random rights", stream,
								    stag, to, 20))
			return false;
	}
	return true;
}

static bool rights_step(struct lab_run *run)
{
	return in_world(run, rights_cases);
}

/* --- step bounds ------------------------------------------------------------------------------ */

struct bounds_case {
	const char *what;
	uint64_t to;
	size_t len;
};

static bool write_cases(struct world *w, uint32_t stag, const struct bounds_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!write_to(w, cases[i].what, 0, stag, cases[i].to, cases[i].len))
			return false;
	return true;
}

static bool bounds_middle(struct world *w, uint32_t stag)
{
	static const struct bounds_case cases[] = {
		{ "the first octet of the region", BASE, 1 },
		{ "the last octet of the region", BASE + LEN - 1, 1 },
		{ "the whole region", BASE, LEN },
		{ "an octet before the region", BASE - 1, 1 },
		{ "an octet after the region", BASE + LEN, 1 },
		{ "the first octet is before the region", BASE - 1, 2 },
		{ "the last octet is after the region", BASE + LEN - 1, 2 },
		{ "the last octet is after the region", BASE, LEN + 1 },
		{ "larger than the region at both ends", BASE - 1, LEN + 2 },
		{ "ends where the region begins", BASE - 16, 16 },
		{ "far below the region", 0, 16 },
		{ "far above the region", BASE << 8, 16 },
		{ "TO differs from a valid one in bit 32", BASE ^ 0x100000000, 16 },
		{ "TO differs from a valid one in bit 63", BASE ^ 0x8000000000000000, 16 },
		{ "TO has only the low 32 bits of a valid one", (uint32_t)BASE, 16 },
	};

	lab_clause(w->run, "RFC 5041 7.1, checks 3 and 4");
	return write_cases(w, stag, cases, IW_ARRAY_LEN(cases));
}

/* high ends at 2^64 - 1, low begins at 0. */
static bool bounds_wrap(struct world *w, uint32_t high, uint32_t low)
{
	static const struct bounds_case at_high[] = {
		{ "the last octet that can exist", UINT64_MAX - 1, 1 },
		{ "the end of the largest TO", UINT64_MAX - 16, 16 },
		{ "TO + length is 2^64", UINT64_MAX, 1 },
		{ "TO + length is 2^64", UINT64_MAX - 15, 16 },
		{ "TO + length is 2^64 + 1", UINT64_MAX - 1, 3 },
		{ "TO + length wraps", UINT64_MAX - 100, 200 },
	};
	static const struct bounds_case at_low[] = {
		{ "the first octet that can exist", 0, 1 },
		{ "TO + length wraps to the region", UINT64_MAX - 15, 32 },
		{ "TO + length wraps to the first octet of the region", UINT64_MAX, 2 },
		{ "the largest sum that does not wrap", UINT64_MAX - 16, 16 },
	};

	lab_clause(w->run, "RFC 5041 7.1, check 5");
	return write_cases(w, high, at_high, IW_ARRAY_LEN(at_high)) &&
	       write_cases(w, low, at_low, IW_ARRAY_LEN(at_low));
}

/* RFC 5041 5.2: STag and TO MUST NOT be checked. */
static bool bounds_zero(struct world *w, uint32_t stag)
{
	struct iw_ddp bad = to_stag(IW_OP_WRITE, stag, BASE);

	lab_clause(w->run, "RFC 5041 5.2");
	if (!write_to(w, "zero length at a valid TO", 0, stag, BASE, 0) ||
	    !write_to(w, "zero length, TO out of bounds", 0, stag, BASE + LEN + 1, 0) ||
	    !write_to(w, "zero length, TO 2^64 - 1", 0, stag, UINT64_MAX, 0) ||
	    !write_to(w, "zero length, unknown STag", 0, stag ^ 1, BASE, 0) ||
	    !write_to(w, "zero length, another PD", 2, stag, BASE, 0) ||
	    !respond_to(w, "zero length, STag and TO are 0", 0, 0, 0, 0))
		return false;
	bad.dv = 2;
	lab_clause(w->run, "RFC 5041 4.1");
	return place(w, "zero length, DV is 2", 0, &bad, 0) && reset_stream(w, 0);
}

static bool bounds_order(struct world *w, uint32_t stag, uint32_t read_only)
{
	lab_clause(w->run, "the order of the checks in tagged.h");
	return write_to(w, "unknown STag, and out of bounds", 0, stag ^ 1, 0, 9) &&
	       write_to(w, "another PD, and out of bounds", 2, stag, 0, 9) &&
	       write_to(w, "the right is missing, and out of bounds", 0, read_only, 0, 9) &&
	       write_to(w, "the right is missing, and TO wraps", 0, read_only, UINT64_MAX, 9);
}

static bool bounds_random(struct world *w, uint32_t stag)
{
	lab_clause(w->run, "RFC 5041 7.1, checks 3 and 4");
	for (size_t i = 0; i < 60; i++) {
		uint64_t to = BASE - 40 + lab_below(w->run, 80);
		size_t len = lab_below(w->run, 80);

		if (lab_below(w->run, 2))
			to += LEN;
		if (lab_below(w->run, 4) == 0)
			len += LEN - 60;
		if (!write_to(w, "random places near the ends", 0, stag, to, len))
			return false;
	}
	return true;
}

static bool bounds_cases(struct world *w)
{
	static const struct region high = { 0, LEN, UINT64_MAX - LEN, 7, 0, ALL_RIGHTS };
	static const struct region low = { 0, LEN, 0, 7, 0, ALL_RIGHTS };
	static const struct region empty = { 0, 0, BASE, 7, 0, ALL_RIGHTS };
	static const struct region read_only = { 0, LEN, BASE, 7, 0, TAGGED_REMOTE_READ };
	static const struct bounds_case nothing[] = { { "a region without octets", BASE, 1 },
						      { "the same", BASE - 1, 1 } };
	uint32_t stags[5];

	return new_random_table(w) && new_memory(w, 0, LEN) && three_streams(w) &&
	       register_region(w, "in the middle", &usual, &stags[0]) &&
	       register_region(w, "ends at 2^64 - 1", &high, &stags[1]) &&
	       register_region(w, "begins at 0", &low, &stags[2]) &&
	       register_region(w, "no octets", &empty, &stags[3]) &&
	       register_region(w, "only to be read", &read_only, &stags[4]) &&
	       bounds_middle(w, stags[0]) && write_cases(w, stags[3], nothing, 2) &&
	       bounds_wrap(w, stags[1], stags[2]) && bounds_zero(w, stags[0]) &&
	       bounds_order(w, stags[0], stags[4]) && bounds_random(w, stags[0]);
}

static bool bounds_step(struct lab_run *run)
{
	return in_world(run, bounds_cases);
}

/* --- step revoke ------------------------------------------------------------------------------ */

/* The program frees memory that it has deregistered: a segment that is still placed crashes. */
static bool revoke_freed(struct world *w)
{
	static const struct region own = { 1, LEN, BASE, 7, 0, ALL_RIGHTS };
	uint32_t stag;

	if (!new_memory(w, 1, LEN) || !register_region(w, "with memory of its own", &own, &stag) ||
	    !write_to(w, "while it is registered", 0, stag, BASE + 1, 9) ||
	    !deregister(w, "before its memory is freed", stag))
		return false;
	free(w->memories[1].octets);
	w->memories[1].octets = NULL;
	lab_call(w->run, "drop");
	lab_put_u32(w->run, 1);
	return lab_run_call(w->run) && lab_results_end(w->run) &&
	       write_to(w, "the memory was freed", 0, stag, BASE + 1, 9);
}

static bool revoke_one(struct world *w, uint32_t first, uint32_t second)
{
	return write_to(w, "while it is registered", 0, first, BASE + 1, 9) &&
	       deregister(w, "the key has a wrong bit", first ^ 1) &&
	       deregister(w, "a slot that was never used", 0x70000000) &&
	       write_to(w, "still registered", 0, first, BASE + 2, 9) &&
	       deregister(w, "the first time", first) &&
	       look_up(w, "no longer registered", first) &&
	       write_to(w, "no longer registered", 0, first, BASE + 3, 9) &&
	       deregister(w, "the second time", first) &&
	       write_to(w, "another STag of the same memory", 0, second, BASE + 4, 9);
}

/* Registers until the slot of the STag is used again. */
static bool revoke_come_back(struct world *w, uint32_t old, uint32_t *new)
{
	uint32_t slot = old >> TAGGED_KEY_BITS;

	for (;;) {
		if (!register_region(w, "one registration, and its end", &usual, new))
			return false;
		if (*new >> TAGGED_KEY_BITS == slot)
			return true;
		if (!deregister(w, "one registration, and its end", *new))
			return false;
	}
}

static bool revoke_reuse(struct world *w, uint32_t old)
{
	uint32_t new;

	if (!revoke_come_back(w, old, &new))
		return false;
	return look_up(w, "the slot is used again, old key", old) &&
	       write_to(w, "the slot is used again, old key", 0, old, BASE + 5, 9) &&
	       deregister(w, "the slot is used again, old key", old) &&
	       write_to(w, "the slot is used again, new key", 0, new, BASE + 6, 9);
}

/* All slots but one are in use: the free one is found, even if it was the last one given. */
static bool revoke_only_free(struct world *w)
{
	uint32_t stags[TAGGED_SLOTS], n = 0, stag = 0, last;

	while (free_slot(w))
		if (!register_region(w, "until all slots are in use", &usual, &stags[n++]))
			return false;
	last = n - 1;
	for (uint32_t i = 0; i < 20; i++) {
		uint32_t *victim = &stags[i % 2 ? lab_below(w->run, n) : last];

		last = (uint32_t)(victim - stags);
		if (!deregister(w, "only one slot is free", *victim) ||
		    !register_region(w, "only one slot is free", &usual, &stag) ||
		    !look_up(w, "its old STag", *victim))
			return false;
		*victim = stag;
	}
	return true;
}

/* The random source repeats the key that the slot had: value 256 is like value 0. Then it gives 0. */
static bool revoke_key_twice(struct world *w)
{
	uint32_t values[VALUES], first, stag;

	lab_fill(w->run, values, sizeof(values));
	for (size_t i = 0; i < VALUES; i++)
		values[i] |= 1;
	values[TAGGED_SLOTS] = values[0] ^ 0x5a000000;
	values[TAGGED_SLOTS + 1] = 0x77000000;
	return new_table(w, values, VALUES) && new_memory(w, 0, LEN) && new_stream(w, 0, 7, 1) &&
	       register_region(w, "a new table", &usual, &first) &&
	       deregister(w, "a new table", first) && revoke_come_back(w, first, &stag) &&
	       look_up(w, "random() repeated the last key of the slot", first) &&
	       write_to(w, "random() repeated the last key of the slot", 0, first, BASE + 9, 9);
}

static bool revoke_cases(struct world *w)
{
	uint32_t first, second;

	return new_random_table(w) && new_memory(w, 0, LEN) && new_stream(w, 0, 7, 1) &&
	       register_region(w, "first", &usual, &first) &&
	       register_region(w, "second", &usual, &second) && revoke_one(w, first, second) &&
	       revoke_freed(w) && revoke_reuse(w, first) && revoke_only_free(w);
}

static bool revoke_step(struct lab_run *run)
{
	uint64_t blocks;

	return lab_allocated(run, &blocks) && in_world(run, revoke_cases) &&
	       in_world(run, revoke_key_twice) && free_table(run, blocks);
}

/* --- step stop -------------------------------------------------------------------------------- */

/* A segment with the error h, then valid ones: they are dropped, and the error stays. */
static bool stop_after(struct world *w, const char *what, struct iw_ddp h, uint32_t stag)
{
	struct iw_ddp valid = to_stag(IW_OP_WRITE, stag, BASE + 7);
	struct iw_ddp wrong = to_stag(IW_OP_WRITE, stag ^ 1, BASE);

	return place(w, what, 0, &h, 9) && place(w, "the next segment is valid", 0, &valid, 9) &&
	       place(w, "the next segment has no payload", 0, &valid, 0) &&
	       place(w, "the next segment has another error", 0, &wrong, 9) &&
	       place(w, "another stream of the PD", 1, &valid, 9) && reset_stream(w, 0);
}

static bool stop_cases(struct world *w)
{
	uint32_t stag;
	struct iw_ddp h;

	w->look_at_error = true;
	if (!new_random_table(w) || !new_memory(w, 0, LEN) || !three_streams(w) ||
	    !register_region(w, "for all streams of PD 7", &usual, &stag))
		return false;
	h = to_stag(IW_OP_WRITE, stag ^ 1, BASE);
	if (!stop_after(w, "unknown STag", h, stag))
		return false;
	h = to_stag(IW_OP_WRITE, stag, BASE - 1);
	if (!stop_after(w, "out of bounds", h, stag))
		return false;
	h = to_stag(IW_OP_RRESP, stag, UINT64_MAX);
	if (!stop_after(w, "TO wraps", h, stag))
		return false;
	h = to_stag(IW_OP_SEND, stag, BASE);
	if (!stop_after(w, "a Send in a tagged segment", h, stag))
		return false;
	h = to_stag(IW_OP_WRITE, stag, BASE);
	h.dv = 3;
	return stop_after(w, "DV is 3", h, stag);
}

static bool stop_step(struct lab_run *run)
{
	return in_world(run, stop_cases);
}

/* --- step read -------------------------------------------------------------------------------- */

static bool read_fixed(struct world *w, uint32_t stag)
{
	return read_from(w, "in the middle of the region", 0, stag, BASE + 10, 33) &&
	       read_from(w, "the whole region", 0, stag, BASE, LEN) &&
	       read_from(w, "the last octet", 0, stag, BASE + LEN - 1, 1) &&
	       read_from(w, "unknown STag", 0, stag ^ 1, BASE, 9) &&
	       read_from(w, "another PD", 2, stag, BASE, 9) &&
	       read_from(w, "an octet before the region", 0, stag, BASE - 1, 2) &&
	       read_from(w, "an octet after the region", 0, stag, BASE + LEN - 1, 2) &&
	       read_from(w, "a size of 2^16 + 9", 0, stag, BASE, 0x10009) &&
	       read_from(w, "the largest size", 0, stag, BASE, UINT32_MAX) &&
	       read_from(w, "TO + size is 2^64", 0, stag, UINT64_MAX - 8, 9) &&
	       read_from(w, "TO + size wraps", 0, stag, UINT64_MAX - 8, UINT32_MAX);
}

static bool read_zero(struct world *w, uint32_t stag)
{
	lab_clause(w->run, "RFC 5040 5.2.1");
	return read_from(w, "zero length, TO out of bounds", 0, stag, BASE + LEN + 1, 0) &&
	       read_from(w, "zero length, unknown STag", 0, stag ^ 1, BASE, 0) &&
	       read_from(w, "zero length, another PD", 2, stag, BASE, 0);
}

static bool read_rights(struct world *w)
{
	struct region r = usual;
	uint32_t stag;

	lab_clause(w->run, "RFC 5040 4.8");
	r.stream = 2;
	for (r.rights = 1; r.rights <= ALL_RIGHTS; r.rights++)
		if (!register_region(w, "each set of rights", &r, &stag) ||
		    !read_from(w, "each set of rights", 1, stag, BASE + r.rights, 9) ||
		    !read_from(w, "another stream of the PD", 0, stag, BASE + r.rights, 9) ||
		    !read_from(w, "each set of rights, and out of bounds", 1, stag, 0, 9))
			return false;
	return true;
}

/* Reads and segments share the stream and its error. */
static bool read_stop(struct world *w, uint32_t stag)
{
	struct iw_ddp valid = to_stag(IW_OP_WRITE, stag, BASE + 7);
	struct iw_ddp wrong = to_stag(IW_OP_WRITE, stag, 0);

	lab_clause(w->run, "RFC 5041 7.1");
	w->look_at_error = true;
	return place(w, "before a read of the same octets", 0, &valid, 9) &&
	       read_once(w, "what was placed just now", 0, stag, BASE + 7, 9) &&
	       read_once(w, "unknown STag", 0, stag ^ 1, BASE, 9) &&
	       place(w, "a segment after the error of a read", 0, &valid, 9) &&
	       read_once(w, "a read after the error of a read", 0, stag, BASE, 9) &&
	       reset_stream(w, 0) && place(w, "out of bounds", 0, &wrong, 9) &&
	       read_once(w, "a read after the error of a segment", 0, stag, BASE, 9) &&
	       read_once(w, "a read without octets after an error", 0, stag, BASE, 0) &&
	       reset_stream(w, 0);
}

static bool read_random(struct world *w, uint32_t stag)
{
	lab_clause(w->run, NULL);
	for (size_t i = 0; i < 40; i++) {
		uint64_t to = BASE - 20 + lab_below(w->run, LEN + 20);
		uint32_t len = (uint32_t)lab_below(w->run, 300);

		if (!read_from(w, "random places", (uint8_t)lab_below(w->run, 2), stag, to, len))
			return false;
	}
	return true;
}

static bool read_cases(struct world *w)
{
	uint32_t stag;

	return new_random_table(w) && new_memory(w, 0, LEN) && three_streams(w) &&
	       register_region(w, "for all streams of PD 7", &usual, &stag) &&
	       read_fixed(w, stag) && read_zero(w, stag) && read_rights(w) && read_stop(w, stag) &&
	       read_random(w, stag);
}

static bool read_step(struct lab_run *run)
{
	return in_world(run, read_cases);
}

/* --- trace ------------------------------------------------------------------------------------ */

/*
 * Two messages arrive at the same time: an RDMA Write, of which an LLP delivers some segments late,
 * and a Read Response in order. Then the first STag is revoked, and a last segment must be refused.
 * The trace has what the module did: a range counts as placed if the memory has changed there.
 */
enum {
	TRACE_SIZE = 1434, /* payload of a segment: MULPDU of Ethernet, less the header */
	TRACE_WRITES = 44,
	TRACE_RESPONSES = 22,
	TRACE_LEN = TRACE_SIZE * TRACE_WRITES,
};

struct tracing {
	struct world *w;
	FILE *file;
	uint64_t events, placed;
	uint32_t stags[2]; /* of memory 0 and 1 */
	uint64_t bases[2];
	uint8_t seen[2][TRACE_LEN]; /* the module's memory before the present segment */
};

static void emit(struct tracing *t, struct iw_trace_event *ev)
{
	char line[IW_TRACE_LINE];

	ev->now = iw_os_now();
	ev->wall = iw_os_wall();
	ev->stream = 1;
	iw_trace_json(line, sizeof(line), ev);
	fprintf(t->file, "%s\n", line);
	t->events++;
}

static void emit_received(struct tracing *t, const struct iw_ddp *h)
{
	struct iw_trace_event ev = { .kind = IW_TRACE_segment_received };

	ev.segment_received.opcode = iw_opcode_name(h->opcode);
	ev.segment_received.octets = TRACE_SIZE;
	ev.segment_received.stag = h->stag;
	ev.segment_received.to = h->to;
	ev.segment_received.tagged = true;
	ev.segment_received.last = h->last;
	emit(t, &ev);
}

static void emit_refused(struct tracing *t, uint16_t code)
{
	struct iw_trace_event ev = { .kind = IW_TRACE_terminate };

	ev.terminate.layer = code >> 12;
	ev.terminate.etype = code >> 8 & 0xf;
	ev.terminate.code = code & 0xff;
	ev.terminate.error = code_name(code);
	ev.terminate.clause = "RFC 5041 7.1";
	ev.terminate.text = "the module refused a segment";
	emit(t, &ev);
}

/* From the first to the last octet of memory m that has changed. */
static void emit_changed(struct tracing *t, uint32_t m, const uint8_t *now, size_t len)
{
	struct iw_trace_event ev = { .kind = IW_TRACE_placed };
	size_t first = 0, last = len;

	while (first < len && now[first] == t->seen[m][first])
		first++;
	while (last > first && now[last - 1] == t->seen[m][last - 1])
		last--;
	if (first == last)
		return;
	memcpy(t->seen[m], now, len);
	ev.placed.octets = last - first;
	ev.placed.stag = t->stags[m];
	ev.placed.to = t->bases[m] + first;
	ev.placed.tagged = true;
	emit(t, &ev);
	t->placed++;
}

static bool look_at_memory(struct tracing *t, uint32_t m)
{
	struct lab_run *run = t->w->run;
	struct lab_octets now;

	lab_call(run, "octets");
	lab_put_u32(run, m);
	if (!lab_run_call(run))
		return false;
	lab_get_u8(run);
	now = lab_get_octets(run);
	if (!lab_results_end(run))
		return false;
	if (now.len != t->w->memories[m].len)
		return lab_fail(run, "the memory has %zu octets; was calls.c changed?", now.len);
	emit_changed(t, m, now.at, now.len);
	return true;
}

/* Segment n of the message to memory m. Each octet of it changes the memory. */
static bool trace_segment(struct tracing *t, uint32_t m, uint8_t opcode, uint32_t n, uint32_t count)
{
	struct world *w = t->w;
	size_t at = (size_t)n * TRACE_SIZE;
	struct iw_ddp h = to_stag(opcode, t->stags[m], t->bases[m] + at);
	uint16_t code;

	h.last = n == count - 1;
	iw_wire_ddp_encode(w->segment, sizeof(w->segment), &h);
	for (size_t i = 0; i < TRACE_SIZE; i++)
		w->segment[TAGGED_HEADER_LEN + i] = t->seen[m][at + i] ^
						    (uint8_t)(1 + lab_below(w->run, 255));
	emit_received(t, &h);
	lab_call(w->run, "place");
	lab_put_u8(w->run, 0);
	lab_put_octets(w->run, w->segment, TAGGED_HEADER_LEN + TRACE_SIZE);
	if (!lab_run_call(w->run))
		return false;
	code = lab_get_u16(w->run);
	if (code > TAGGED_DROPPED)
		emit_refused(t, code);
	return look_at_memory(t, m);
}

/* Segments 9, 10 and 27 are late. */
static uint32_t late(uint32_t i)
{
	static const uint32_t order[TRACE_WRITES] = {
		0,  1,  2,  3,  4,  5,  6,  7,  8,  11, 12, 13, 14, 15, 16,
		17, 18, 19, 20, 9,  10, 21, 22, 23, 24, 25, 26, 28, 29, 30,
		31, 32, 33, 34, 35, 36, 37, 27, 38, 39, 40, 41, 42, 43,
	};

	return order[i];
}

static bool trace_messages(struct tracing *t)
{
	for (uint32_t i = 0; i < TRACE_WRITES; i++)
		if (!trace_segment(t, 0, IW_OP_WRITE, late(i), TRACE_WRITES) ||
		    (i % 2 && !trace_segment(t, 1, IW_OP_RRESP, i / 2, TRACE_RESPONSES)))
			return false;
	return deregister(t->w, "the first buffer", t->stags[0]) &&
	       trace_segment(t, 0, IW_OP_WRITE, 0, TRACE_WRITES);
}

static bool trace_register(struct tracing *t)
{
	static const struct region target = { 0, TRACE_LEN, BASE, 7, 0, TAGGED_REMOTE_WRITE };
	static const struct region sink = {
		1, TRACE_SIZE * TRACE_RESPONSES, 0x1000, 7, 0, TAGGED_READ_SINK,
	};
	struct world *w = t->w;

	if (!new_random_table(w) || !new_memory(w, 0, target.len) || !new_memory(w, 1, sink.len) ||
	    !new_stream(w, 0, 7, 1) ||
	    !register_region(w, "of an RDMA Write", &target, &t->stags[0]) ||
	    !register_region(w, "of an RDMA Read", &sink, &t->stags[1]))
		return false;
	t->bases[0] = target.base;
	t->bases[1] = sink.base;
	for (size_t m = 0; m < 2; m++)
		memcpy(t->seen[m], w->memories[m].octets, w->memories[m].len);
	return true;
}

static bool trace_to(struct tracing *t)
{
	struct iw_trace_event ev = { .kind = IW_TRACE_trace_end };
	bool done = trace_register(t) && trace_messages(t);

	ev.trace_end.events = t->events;
	emit(t, &ev);
	if (done && t->placed == 0)
		return lab_fail(t->w->run, "the module has placed nothing");
	return done;
}

static bool trace(struct lab_run *run, const char *path)
{
	static struct tracing t;
	struct world *w = calloc(1, sizeof(*w));
	bool done = w && begin(w, run);

	t = (struct tracing){ .w = w, .file = done ? fopen(path, "w") : NULL };
	if (done && !t.file)
		done = lab_fail(run, "%s cannot be written", path);
	done = done && trace_to(&t);
	if (t.file && fclose(t.file) && done)
		done = lab_fail(run, "%s cannot be written", path);
	if (w)
		end(w);
	free(w);
	return done;
}

/* --- speed ------------------------------------------------------------------------------------ */

enum {
	SPEED_SEGMENTS = 64,
	SPEED_SMALL = 64,
	SPEED_LARGE = 8192,
	SPEED_TIMES = 3,
	SPEED_MS = 60000,
};
#define SPEED_NS (uint64_t)300000000 /* of one measurement */

/* The segments one after the other; each is placed after the one before it. */
struct load {
	uint8_t *octets;
	size_t segment_len; /* with its header */
};

static bool make_load(struct world *w, struct load *load, uint32_t stag, size_t payload)
{
	load->segment_len = TAGGED_HEADER_LEN + payload;
	load->octets = malloc(SPEED_SEGMENTS * load->segment_len);
	if (!load->octets)
		return lab_fail(w->run, "the grader has no memory");
	lab_fill(w->run, load->octets, SPEED_SEGMENTS * load->segment_len);
	for (size_t i = 0; i < SPEED_SEGMENTS; i++) {
		struct iw_ddp h = to_stag(IW_OP_WRITE, stag, BASE + i * payload);

		iw_wire_ddp_encode(load->octets + i * load->segment_len, TAGGED_HEADER_LEN, &h);
	}
	return true;
}

/* Places the load with the engine, into the copy of the memory. Returns ns; 0: it was refused. */
static uint64_t run_engine(struct world *w, const struct load *load, uint32_t engine,
			   uint32_t times)
{
	struct iw_ddp_stream *s = w->streams[0].engine;
	struct iw_fault why = { 0 };
	uint64_t begun = lab_now();

	for (uint32_t n = 0; n < times; n++)
		for (size_t i = 0; i < SPEED_SEGMENTS; i++) {
			const uint8_t *segment = load->octets + i * load->segment_len;
			struct iw_ddp h;

			if (judge_header(&h, segment, load->segment_len) != TAGGED_OK)
				return 0;
			h.stag = engine;
			if (iw_ddp_place(s, &h, segment + TAGGED_HEADER_LEN,
					 load->segment_len - TAGGED_HEADER_LEN,
					 IW_RIGHT_REMOTE_WRITE, 0, &why))
				return 0;
		}
	return IW_MAX(lab_now() - begun, 1);
}

/* The same with the module. Returns ns, or 0 after lab_fail(). */
static uint64_t run_module(struct world *w, const struct load *load, uint32_t times)
{
	uint64_t ns, expected = (uint64_t)times * SPEED_SEGMENTS;

	lab_call(w->run, "place_many");
	lab_put_u8(w->run, 0);
	lab_put_u32(w->run, times);
	lab_put_u32(w->run, (uint32_t)load->segment_len);
	lab_put_octets(w->run, load->octets, SPEED_SEGMENTS * load->segment_len);
	ns = lab_now();
	if (!lab_run_call_within(w->run, SPEED_MS))
		return 0;
	ns = lab_now() - ns;
	if (!lab_expect_number(w->run, "segments placed", expected, lab_get_u64(w->run)) ||
	    !lab_results_end(w->run) || !same_memory(w, "the memory"))
		return 0;
	return IW_MAX(ns, 1);
}

static double median(const double v[static SPEED_TIMES])
{
	double low = IW_MIN(v[0], v[1]), high = IW_MAX(v[0], v[1]);

	return v[2] < low ? low : v[2] > high ? high : v[2];
}

/* The engine runs first, so that the copy has what the module's memory must have afterwards. */
static bool fill_copy(struct world *w, const struct load *load, uint32_t engine)
{
	return lab_expect_true(w->run, run_engine(w, load, engine, 1),
			       "the engine refused a segment");
}

/* Repetitions that take the module about as long as a measurement should. 0 after lab_fail(). */
static uint32_t choose_times(struct world *w, const struct load *load)
{
	const uint32_t times = 100;
	uint64_t ns = run_module(w, load, times);

	if (!ns)
		return 0;
	return (uint32_t)IW_MIN(IW_MAX(times * SPEED_NS / ns, 10), 1000000);
}

/* scale: what one segment is in the unit of the result. */
static bool measure_load(struct world *w, const struct load *load, uint32_t engine, double scale,
			 struct lab_speed *result)
{
	double student[SPEED_TIMES], ours[SPEED_TIMES];
	uint32_t times = choose_times(w, load);

	for (size_t i = 0; i < SPEED_TIMES; i++) {
		uint64_t ns = times ? run_module(w, load, times) : 0;
		double segments = (double)times * SPEED_SEGMENTS;

		if (!ns)
			return false;
		student[i] = segments * scale / (double)ns;
		ours[i] = segments * scale / (double)run_engine(w, load, engine, times);
	}
	result->student = median(student);
	result->ours = median(ours);
	return true;
}

/* Other regions are registered too, so that the table is not empty. */
static bool measure_payload(struct world *w, size_t payload, double scale, struct lab_speed *result)
{
	struct region r = { 0, SPEED_SEGMENTS * payload, BASE, 7, 0, TAGGED_REMOTE_WRITE };
	struct load load = { 0 };
	uint32_t stag;
	bool done;

	if (!new_random_table(w) || !new_memory(w, 0, r.len) || !new_stream(w, 0, 7, 1))
		return false;
	for (size_t i = 0; i < TAGGED_SLOTS / 2; i++)
		if (!register_region(w, "half of the slots", &r, &stag))
			return false;
	lab_case(w->run, "RDMA Writes of %zu octets", payload);
	done = make_load(w, &load, stag, payload) && fill_copy(w, &load, engine_stag(w, stag)) &&
	       measure_load(w, &load, engine_stag(w, stag), scale, result);
	free(load.octets);
	return done;
}

static int speed(struct lab_run *run, struct lab_speed *results, size_t cap)
{
	static const struct {
		const char *what, *unit;
		size_t payload;
		double scale; /* of segments per ns */
	} loads[] = {
		{ "RDMA Writes of 64 octets, placed", "million/s", SPEED_SMALL, 1e3 },
		{ "RDMA Writes of 8,192 octets, placed", "Gb/s", SPEED_LARGE, 8.0 * SPEED_LARGE },
	};
	size_t n = IW_MIN(cap, IW_ARRAY_LEN(loads));

	for (size_t i = 0; i < n; i++) {
		struct world *w = calloc(1, sizeof(*w));
		bool done = w && begin(w, run) &&
			    measure_payload(w, loads[i].payload, loads[i].scale, &results[i]);

		results[i].what = loads[i].what;
		results[i].unit = loads[i].unit;
		if (w)
			end(w);
		free(w);
		if (!done)
			return -1;
	}
	return (int)n;
}

/* --- the lab ---------------------------------------------------------------------------------- */

static const struct lab_step steps[] = {
	{ "header", "reads the header of a tagged segment", 10, "RFC 5041 4.1", 0, header },
	{ "register", "gives each region an STag, and finds it", 10, "RFC 5042 6.1.1", 0,
	  register_step },
	{ "place", "places the payload of an RDMA Write", 10, "RFC 5041 4.2", 0, place_step },
	{ "stag", "refuses unknown STags, other PDs and streams", 10, "RFC 5041 8.2", 0,
	  stag_step },
	{ "rights", "refuses what the region was not registered for", 10, "RFC 5041 8.3.1, item 5",
	  0, rights_step },
	{ "bounds", "refuses octets outside of the region", 15, "RFC 5041 7.1", 0, bounds_step },
	{ "revoke", "places nothing after the end of a registration", 10, "RFC 5041 8.3.1, item 6",
	  0, revoke_step },
	{ "stop", "drops all segments after an error", 5, "RFC 5041 7.1", 0, stop_step },
	{ "read", "reads the source of a Read Request", 10, "RFC 5040 7.2", 0, read_step },
	{ 0 },
};

const struct lab lab_tagged = {
	.number = 2,
	.folder = "02-tagged",
	.title = "Tagged placement",
	.steps = steps,
	.trace = trace,
	.speed = speed,
};
