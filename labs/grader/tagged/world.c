/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "labs/grader/tagged/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"
#include "util/num.h"

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

const char *world_code_name(uint32_t code)
{
	for (size_t i = 0; i < IW_ARRAY_LEN(code_names); i++)
		if (code_names[i].code == code)
			return code_names[i].name;
	return "a number that is not in enum tagged_code";
}

static bool expect_code(struct world *w, const char *what, uint32_t expected, uint32_t seen)
{
	const char *names[] = { world_code_name(expected), world_code_name(seen) };

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
uint32_t world_engine_stag(const struct world *w, uint32_t stag)
{
	const struct slot *slot = &w->slots[stag >> TAGGED_KEY_BITS];

	return slot->live && slot->key == (stag & KEY_MASK) ? slot->engine : 0;
}

/* The checks that need no table, as rdmap does them: RFC 5040 7.2. */
enum tagged_code world_judge(struct iw_ddp *h, const uint8_t *segment, size_t len)
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
	s->error = world_judge(&h, segment, len);
	if (s->error != TAGGED_OK)
		return s->error;
	right = h.opcode == IW_OP_WRITE ? IW_RIGHT_REMOTE_WRITE : IW_RIGHT_READ_SINK;
	h.stag = world_engine_stag(w, h.stag);
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
	v = iw_stag_check(w->stags, world_engine_stag(w, stag), &use, where);
	if (v != IW_STAG_OK)
		s->error = code_of(
			iw_stag_rdmap_error(w->stags, v, world_engine_stag(w, stag), &use, NULL));
	return s->error;
}

/* --- the world -------------------------------------------------------------------------------- */

bool world_begin(struct world *w, struct lab_run *run)
{
	w->run = run;
	if (iw_stag_table_new(&w->stags, &iw_os_heap, engine_random, w))
		return lab_fail(run, "the grader has no memory");
	return true;
}

void world_end(struct world *w)
{
	for (size_t i = 0; i < STREAMS; i++)
		iw_ddp_free(w->streams[i].engine);
	for (size_t i = 0; i < MEMORIES; i++)
		free(w->memories[i].octets);
	iw_stag_table_free(w->stags);
}

/* Runs the cases with a table and an engine of their own. */
bool world_run(struct lab_run *run, bool (*cases)(struct world *w))
{
	struct world *w = calloc(1, sizeof(*w));
	bool passed;

	if (!w)
		return lab_fail(run, "the grader has no memory");
	passed = world_begin(w, run) && cases(w);
	world_end(w);
	free(w);
	return passed;
}

/* Makes the module's table. The first values of its random source are given. */
bool world_table(struct world *w, const uint32_t *values, size_t count)
{
	w->count = count;
	w->used = 0;
	lab_call(w->run, "tagged_new");
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

bool world_random_table(struct world *w)
{
	uint32_t values[8];

	lab_fill(w->run, values, sizeof(values));
	return world_table(w, values, IW_ARRAY_LEN(values));
}

/* Makes memory with random octets. */
bool world_memory(struct world *w, uint32_t number, size_t len)
{
	uint8_t *octets = malloc(len + 1);

	if (!octets)
		return lab_fail(w->run, "the grader has no memory");
	lab_fill(w->run, octets, len);
	free(w->memories[number].octets);
	w->memories[number].octets = octets;
	w->memories[number].len = len;
	lab_help(w->run, "memory");
	lab_put_u32(w->run, number);
	lab_put_octets(w->run, octets, len);
	return lab_run_call(w->run) && lab_results_end(w->run);
}

bool world_drop_memory(struct world *w, uint32_t number)
{
	free(w->memories[number].octets);
	w->memories[number].octets = NULL;
	lab_help(w->run, "drop");
	lab_put_u32(w->run, number);
	return lab_run_call(w->run) && lab_results_end(w->run);
}

/* Makes or resets a stream. */
bool world_stream(struct world *w, uint8_t number, uint32_t pd, uint32_t id)
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
	lab_help(w->run, "stream");
	lab_put_u8(w->run, number);
	lab_put_u32(w->run, pd);
	lab_put_u32(w->run, id);
	return lab_run_call(w->run) && lab_results_end(w->run);
}

/* After an error, the stream begins anew, so that each case is by itself. */
bool world_reset_stream(struct world *w, uint8_t number)
{
	const struct stream *s = &w->streams[number];

	return s->error == TAGGED_OK || world_stream(w, number, s->pd, s->id);
}

/* Compares all memory of the module with the copy. */
bool world_same_memory(struct world *w, const char *what)
{
	for (uint32_t i = 0; i < MEMORIES; i++) {
		struct lab_octets seen;

		if (!w->memories[i].octets)
			continue;
		lab_help(w->run, "octets");
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

struct slot *world_free_slot(struct world *w)
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
	struct slot *slot = world_free_slot(w);
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
bool world_register(struct world *w, const char *what, const struct region *r, uint32_t *stag)
{
	bool expected, seen;
	uint32_t seen_stag;

	describe(w, what, r);
	*stag = 0;
	expected = model_register(w, r, stag);
	lab_call(w->run, "tagged_register");
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

bool world_look_up(struct world *w, const char *what, uint32_t stag)
{
	bool expected = world_engine_stag(w, stag), seen;

	lab_case(w->run, "%s, STag 0x%08x", what, stag);
	lab_call(w->run, "tagged_lookup");
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

bool world_deregister(struct world *w, const char *what, uint32_t stag)
{
	uint32_t engine = world_engine_stag(w, stag);
	bool seen;

	lab_case(w->run, "%s, STag 0x%08x", what, stag);
	if (engine) {
		iw_stag_del(w->stags, engine);
		w->slots[stag >> TAGGED_KEY_BITS].live = false;
	}
	lab_call(w->run, "tagged_deregister");
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
bool world_free_table(struct lab_run *run, uint64_t blocks)
{
	lab_case(run, "after tagged_free()");
	lab_call(run, "tagged_free");
	return lab_run_call(run) && lab_results_end(run) && lab_expect_freed(run, blocks);
}

/* --- access ----------------------------------------------------------------------------------- */

struct iw_ddp world_header(uint8_t opcode, uint32_t stag, uint64_t to)
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

	if (world_engine_stag(w, stag))
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

	lab_call(w->run, "tagged_place");
	lab_put_u8(w->run, stream);
	lab_put_octets(w->run, w->segment, len);
	if (!lab_run_call(w->run))
		return false;
	code = lab_get_u16(w->run);
	error = lab_get_u16(w->run);
	return lab_results_end(w->run) &&
	       expect_code(w, "the result of tagged_place()", expected, code) &&
	       world_same_memory(w, expected == TAGGED_OK
					    ? "the memory"
					    : "the memory, in which nothing may be placed,") &&
	       expect_error(w, s, error);
}

/* Builds a segment with a random payload, and places it. */
bool world_place(struct world *w, const char *what, uint8_t stream, const struct iw_ddp *h,
		 size_t len)
{
	describe_access(w, what, &w->streams[stream], iw_opcode_name(h->opcode), h->stag, h->to,
			len);
	if (iw_wire_ddp_encode(w->segment, sizeof(w->segment), h) < 0)
		return lab_fail(w->run, "the grader cannot build a segment");
	lab_fill(w->run, w->segment + TAGGED_HEADER_LEN, len);
	return place_segment(w, stream, TAGGED_HEADER_LEN + len);
}

bool world_write(struct world *w, const char *what, uint8_t stream, uint32_t stag, uint64_t to,
		 size_t len)
{
	struct iw_ddp h = world_header(IW_OP_WRITE, stag, to);

	return world_place(w, what, stream, &h, len) && world_reset_stream(w, stream);
}

bool world_respond(struct world *w, const char *what, uint8_t stream, uint32_t stag, uint64_t to,
		   size_t len)
{
	struct iw_ddp h = world_header(IW_OP_RRESP, stag, to);

	return world_place(w, what, stream, &h, len) && world_reset_stream(w, stream);
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

/* Without world_reset_stream(). */
bool world_read_once(struct world *w, const char *what, uint8_t stream, uint32_t stag, uint64_t to,
		     uint32_t len)
{
	struct stream *s = &w->streams[stream];
	uint8_t *where = NULL;
	enum tagged_code expected;
	uint16_t code, error;
	bool intact;

	describe_access(w, what, s, "source of a Read Request", stag, to, len);
	expected = engine_read(w, s, stag, to, len, &where);
	lab_call(w->run, "tagged_read");
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
	       expect_error(w, s, error) && world_same_memory(w, "the memory after a read");
}

bool world_read(struct world *w, const char *what, uint8_t stream, uint32_t stag, uint64_t to,
		uint32_t len)
{
	return world_read_once(w, what, stream, stag, to, len) && world_reset_stream(w, stream);
}
