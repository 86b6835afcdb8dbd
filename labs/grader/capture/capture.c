// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Lab 8: find the fault in captures. The first half of the steps reads answers.txt: the captures
 * are made again from the number in captures/seed, so changed files in captures/ change nothing.
 * The others give conversations to the module's fault_find().
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddp-dump/capture.h"
#include "labs/grader/capture/conversation.h"
#include "labs/grader/handed_in.h"
#include "labs/grader/lab.h"
#include "os/os.h"
#include "util/num.h"

/* --- the answer sheet ------------------------------------------------------------------------- */

enum { SHEET_MAX = 8192, WORD_MAX = 64 };

/* Sections with a rule that the fault breaks: the RFC, the section, a comma. */
static const char *const clauses[FAULT_COUNT] = {
	[FAULT_SHORT] = "5041 4, 5041 4.1, 5041 4.2, 5041 4.3, 5041 4.4, 5040 4.4, 5040 4.8, ",
	[FAULT_VERSION] = "5041 4.1, 5040 4.1, 5040 7.2, ",
	[FAULT_OPCODE] =
		"5040 4.1, 5040 4.2, 5040 5.1, 5040 5.2.1, 5040 5.2.2, 5040 5.3, 5040 7.2, ",
	[FAULT_QUEUE] = "5040 3.1, 5040 4.1, 5040 4.2, 5040 5.2.1, 5040 5.3, 5040 5.4, 5041 7.1, ",
	[FAULT_MSN] = "5041 4.3, ",
	[FAULT_MO] = "5041 4.3, 5041 5.2, ",
	[FAULT_LAST] = "5041 4.1, ",
	[FAULT_ORD] = "6581 9.1, ",
	[FAULT_FIRST] = "5044 7.1.2, ",
	[FAULT_RTR] = "6581 9.2, 6581 9.3, ",
	[FAULT_STAG] = "5041 7.1, 5040 5.1, 5040 5.2.1, 5040 7.2, ",
	[FAULT_INVALIDATED] = "5041 7.1, 5041 8.3, 5041 8.3.1, 5040 7.2, 5040 8.1.1, ",
	[FAULT_BOUNDS] = "5041 7.1, 5041 8.3, 5041 8.3.1, 5040 7.2, 5040 8.1.1, ",
	[FAULT_RIGHTS] = "5041 7.1, 5041 8.3.1, 5040 7.2, 5040 8.1.1, ",
	[FAULT_UNREQUESTED] = "5040 5.2, 5040 5.2.2, ",
	[FAULT_RESPONSE] = "5040 4.4, 5040 4.5, 5040 5.2.1, 5040 5.2.2, 5040 5.5, ",
	[FAULT_READS] = "5040 6.1, 6581 9.1, ",
	[FAULT_SSN] = "5043 5.2.1, 5043 6.1, ",
	[FAULT_EARLY] = "5043 6.1, 5043 6.2, 5043 6.6, ",
	[FAULT_AFTER] = "5040 5.4, 5043 6.2, ",
	[FAULT_TERMINATE] = "5040 4.8, 5041 7.2, 5044 8, 6580 3.1, 6580 3.2, 6580 3.3, ",
	[FAULT_CRC] = "5044 4.4, ",
	[FAULT_MARKER] = "5044 4.2, 5044 4.3, ",
	[FAULT_PAD] = "5044 4.1, ",
};

/* The rule of a fault, for a failure of the module. */
static const char *const rules[FAULT_COUNT] = {
	[FAULT_SHORT] = "RFC 5041 4.1",
	[FAULT_VERSION] = "RFC 5041 4.1 (DV), RFC 5040 4.1 (RV)",
	[FAULT_OPCODE] = "RFC 5040 4.1",
	[FAULT_QUEUE] = "RFC 5040 4.1",
	[FAULT_MSN] = "RFC 5041 4.3",
	[FAULT_MO] = "RFC 5041 5.2",
	[FAULT_LAST] = "RFC 5041 4.1",
	[FAULT_ORD] = "RFC 6581 9.1",
	[FAULT_FIRST] = "RFC 5044 7.1.2",
	[FAULT_RTR] = "RFC 6581 9.2",
	[FAULT_STAG] = "RFC 5041 7.1, RFC 5040 7.2",
	[FAULT_INVALIDATED] = "RFC 5041 7.1, RFC 5040 7.2",
	[FAULT_BOUNDS] = "RFC 5041 7.1, RFC 5040 7.2",
	[FAULT_RIGHTS] = "RFC 5041 7.1, RFC 5040 7.2",
	[FAULT_UNREQUESTED] = "RFC 5040 5.2",
	[FAULT_RESPONSE] = "RFC 5040 5.2.2",
	[FAULT_READS] = "RFC 5040 6.1, RFC 6581 9.1",
	[FAULT_SSN] = "RFC 5043 5.2.1",
	[FAULT_EARLY] = "RFC 5043 6.2",
	[FAULT_AFTER] = "RFC 5040 5.4, RFC 5043 6.2",
	[FAULT_TERMINATE] = "RFC 5040 4.8",
};

static bool read_seed(struct lab_run *run, uint64_t *seed)
{
	char text[SHEET_MAX], *end;

	if (!lab_read_file(run, "captures/seed", text, sizeof(text)))
		return false;
	*seed = strtoull(text, &end, 10);
	if (end == text || *text == '-')
		return lab_fail(run, "captures/seed has no number; it is a file of the lab");
	return true;
}

/* One line of the sheet, split at its commas. */
struct answer {
	char frame[WORD_MAX], kind[WORD_MAX], clause[WORD_MAX];
};

static void copy_word(char *dst, const char *from, const char *to)
{
	size_t len;

	while (from < to && isspace((unsigned char)*from))
		from++;
	while (to > from && isspace((unsigned char)to[-1]))
		to--;
	len = IW_MIN((size_t)(to - from), (size_t)WORD_MAX - 1);
	/* The word may be printed. */
	for (size_t i = 0; i < len; i++)
		dst[i] = isprint((unsigned char)from[i]) ? from[i] : '?';
	dst[len] = '\0';
}

/* The line that begins with "number:". */
static bool find_answer(const char *sheet, unsigned int number, struct answer *out)
{
	for (const char *line = sheet; *line;) {
		const char *end = line + strcspn(line, "\n"), *comma[2];
		char *colon;
		unsigned long n = strtoul(line, &colon, 10);

		if (n == number && colon > line && *colon == ':') {
			comma[0] = memchr(colon, ',', (size_t)(end - colon));
			comma[1] = comma[0]
					   ? memchr(comma[0] + 1, ',', (size_t)(end - comma[0] - 1))
					   : NULL;
			if (!comma[1])
				return false;
			copy_word(out->frame, colon + 1, comma[0]);
			copy_word(out->kind, comma[0] + 1, comma[1]);
			copy_word(out->clause, comma[1] + 1, end);
			return true;
		}
		line = *end ? end + 1 : end;
	}
	return false;
}

/* "17" or "frame 17". 0: something else. */
static unsigned long frame_number(const char *word)
{
	char *end;
	unsigned long n;

	if (!strncasecmp(word, "frame", 5))
		word += 5;
	n = strtoul(word, &end, 10);
	return *end || *word == '-' ? 0 : n;
}

/* "RFC 5041 4.3", "RFC5041 section 4.3" and similar texts. */
static bool has_clause(const char *word, enum fault fault)
{
	char normal[2 * WORD_MAX + 4] = "", number[2][WORD_MAX] = { "", "" };

	for (size_t i = 0; i < 2; i++) {
		size_t n;

		word += strcspn(word, "0123456789");
		n = strspn(word, "0123456789.");
		memcpy(number[i], word, n);
		word += n;
		while (n && number[i][n - 1] == '.')
			number[i][--n] = '\0';
	}
	if (!*number[1])
		return false;
	snprintf(normal, sizeof(normal), "%s %s, ", number[0], number[1]);
	return strstr(clauses[fault], normal) != NULL;
}

static bool judge_answer(struct lab_run *run, const struct answer *a, const struct conversation *c)
{
	static const char look[] = "see the steps of part A in the README";

	if (frame_number(a->frame) != c->units[c->fault_at].frame)
		return lab_fail(
			run, "expected the number of the frame that breaks a rule, seen \"%s\": %s",
			a->frame, look);
	if (strcasecmp(a->kind, fault_names[c->fault]) != 0)
		return lab_fail(run, "the frame is right; \"%s\" is not the kind of its fault: %s",
				a->kind, look);
	if (!has_clause(a->clause, c->fault))
		return lab_fail(
			run,
			"frame and kind are right; \"%s\" is not a section that has the rule, "
			"written as RFC, number, section",
			a->clause);
	return true;
}

static bool judge_capture(struct lab_run *run, const char *sheet, uint64_t seed,
			  unsigned int number)
{
	struct conversation *c;
	struct answer a;
	bool ok;

	lab_case(run, "line %u of answers.txt, about captures/%u.pcap of seed %llu", number, number,
		 (unsigned long long)seed);
	if (!find_answer(sheet, number, &a))
		return lab_fail(run, "expected a line \"%u: frame, kind, clause\", seen none",
				number);
	c = conversation_capture(seed, number);
	if (!c || conversation_frames(c, NULL, NULL))
		ok = lab_fail(run, "the grader is out of memory");
	else
		ok = judge_answer(run, &a, c);
	free(c);
	return ok;
}

static bool captures(struct lab_run *run, unsigned int first)
{
	char sheet[SHEET_MAX];
	uint64_t seed;

	return read_seed(run, &seed) && lab_read_file(run, "answers.txt", sheet, sizeof(sheet)) &&
	       judge_capture(run, sheet, seed, first) && judge_capture(run, sheet, seed, first + 1);
}

static bool captures_1(struct lab_run *run)
{
	return captures(run, 1);
}

static bool captures_3(struct lab_run *run)
{
	return captures(run, 3);
}

static bool captures_5(struct lab_run *run)
{
	return captures(run, 5);
}

static bool captures_7(struct lab_run *run)
{
	return captures(run, 7);
}

/* --- fault_find() ----------------------------------------------------------------------------- */

struct verdict {
	uint8_t fault;
	uint64_t at;
};

static void put_conversation(struct lab_run *run, const struct conversation *c)
{
	lab_put_u8(run, (uint8_t)c->over);
	lab_put_u32(run, (uint32_t)c->n);
	for (size_t i = 0; i < c->n; i++) {
		lab_put_u8(run, c->units[i].from);
		lab_put_u8(run, c->units[i].kind);
		lab_put_octets(run, c->units[i].octets, c->units[i].len);
	}
}

static bool get_verdict(struct lab_run *run, struct verdict *out)
{
	out->fault = lab_get_u8(run);
	out->at = lab_get_u64(run);
	return lab_results_end(run);
}

static bool call_find(struct lab_run *run, const struct conversation *c, struct verdict *out)
{
	lab_call(run, "fault_find");
	put_conversation(run, c);
	return lab_run_call(run) && get_verdict(run, out);
}

static const char *name_of(unsigned int fault)
{
	return fault < FAULT_COUNT ? fault_names[fault] : "a number that is not in fault.h";
}

static bool is_right(const struct conversation *c, const struct verdict *v)
{
	return v->fault == c->fault && (!c->fault || v->at == c->fault_at);
}

/* The unit in words and its first octets: what the student needs to repeat the case. */
static void describe(const struct conversation *c, uint64_t at, char *text, size_t cap)
{
	const struct unit *u;
	int n;

	if (at >= c->n) {
		snprintf(text, cap, "there is no unit %llu", (unsigned long long)at);
		return;
	}
	u = &c->units[at];
	n = snprintf(text, cap,
		     "unit %llu, a %s of %zu octets from the %s:", (unsigned long long)at,
		     u->kind == UNIT_STARTUP ? "start-up message" : "segment", u->len,
		     u->from ? "responder" : "initiator");
	for (size_t i = 0; i < u->len && i < 56 && n > 0 && (size_t)n + 4 < cap; i++)
		n += snprintf(text + n, cap - (size_t)n, i % 4 ? "%02x" : " %02x", u->octets[i]);
}

static bool judge(struct lab_run *run, const struct conversation *c, const struct verdict *v)
{
	char expected[256], seen[256];

	if (is_right(c, v))
		return true;
	describe(c, c->fault_at, expected, sizeof(expected));
	describe(c, v->at, seen, sizeof(seen));
	if (!c->fault)
		return lab_fail(run, "expected none, seen %s at %s", name_of(v->fault), seen);
	if (!v->fault)
		return lab_fail(run, "expected %s, seen none; it is at %s", name_of(c->fault),
				expected);
	if (v->at == c->fault_at)
		return lab_fail(run, "expected %s, seen %s at %s", name_of(c->fault),
				name_of(v->fault), expected);
	return lab_fail(run, "expected %s at %s; seen %s at %s", name_of(c->fault), expected,
			name_of(v->fault), seen);
}

static bool find_in(struct lab_run *run, uint64_t seed, unsigned int features, enum fault fault,
		    unsigned int variant)
{
	struct conversation *c = conversation_new(seed, features, fault, variant);
	struct verdict v;
	bool ok;

	if (!c)
		return lab_fail(run, "the grader is out of memory");
	lab_case(run, "a conversation of %zu units over %s", c->n, c->over ? "SCTP" : "TCP");
	lab_clause(run, rules[fault]);
	ok = call_find(run, c, &v) && judge(run, c, &v);
	free(c);
	return ok;
}

/*
 * Each form of each fault of the group, among conversations without a fault. The steps add features
 * one after the other, so that a step that a student has not reached yet does not matter.
 */
static bool find_faults(struct lab_run *run, unsigned int features, enum fault first,
			enum fault last)
{
	enum { FORMS = 28, FIXED_SEED = 1000 };

	for (unsigned int form = 0; form < FORMS; form++) {
		bool fixed = form < FORMS / 2;

		for (enum fault f = first; f <= last; f++)
			if (!find_in(run, fixed ? FIXED_SEED + form : lab_random(run), features, f,
				     form))
				return false;
		if (!find_in(run, lab_random(run), features, FAULT_NONE, 0))
			return false;
	}
	return true;
}

enum {
	FOR_ORDER = WITH_MANY,
	FOR_BUFFERS = FOR_ORDER | WITH_BUFFERS,
	FOR_STARTUP = FOR_BUFFERS | WITH_ENHANCED,
	FOR_READS = FOR_STARTUP | WITH_READS,
	FOR_SESSIONS = WITH_ALL,
};

static bool headers(struct lab_run *run)
{
	return find_faults(run, 0, FAULT_SHORT, FAULT_QUEUE);
}

static bool order(struct lab_run *run)
{
	return find_faults(run, FOR_ORDER, FAULT_MSN, FAULT_LAST);
}

static bool buffers(struct lab_run *run)
{
	return find_faults(run, FOR_BUFFERS, FAULT_STAG, FAULT_RIGHTS);
}

static bool startup(struct lab_run *run)
{
	return find_faults(run, FOR_STARTUP, FAULT_ORD, FAULT_RTR);
}

static bool reads(struct lab_run *run)
{
	return find_faults(run, FOR_READS, FAULT_UNREQUESTED, FAULT_READS);
}

static bool sessions(struct lab_run *run)
{
	return find_faults(run, FOR_SESSIONS, FAULT_SSN, FAULT_TERMINATE);
}

static const struct lab_step steps[] = {
	{ "captures-1-2", "answers.txt: captures 1 and 2, faults of FPDUs", 10, "RFC 5044 4", 0,
	  captures_1 },
	{ "captures-3-4", "answers.txt: captures 3 and 4, faults of headers and order", 10,
	  "RFC 5041 4", 0, captures_3 },
	{ "captures-5-6", "answers.txt: captures 5 and 6, faults about buffers", 10, "RFC 5041 7.1",
	  0, captures_5 },
	{ "captures-7-8", "answers.txt: captures 7 and 8, faults of conversations", 10,
	  "RFC 5040 5", 0, captures_7 },
	{ "headers", "fault.c: short, version, opcode, queue", 10, "RFC 5040 4.1", 0, headers },
	{ "order", "fault.c: msn, mo, last", 10, "RFC 5041 4.3", 0, order },
	{ "buffers", "fault.c: stag, invalidated, bounds, rights", 10, "RFC 5041 7.1", 0, buffers },
	{ "startup", "fault.c: ord, first, rtr", 10, "RFC 6581 9", 0, startup },
	{ "reads", "fault.c: unrequested, response, reads", 10, "RFC 5040 5.2.2", 0, reads },
	{ "sessions", "fault.c: ssn, early, after, terminate", 10, "RFC 5043 6", 0, sessions },
	{ 0 },
};

/* --- trace ------------------------------------------------------------------------------------ */

static void print_verdict(const struct conversation *c, const struct verdict *v)
{
	printf("%s, %zu units: the fault is %s", c->over ? "SCTP" : "TCP", c->n,
	       fault_names[c->fault]);
	if (c->fault)
		printf(" at unit %zu, frame %u", c->fault_at, c->units[c->fault_at].frame);
	printf("; fault_find() says %s", name_of(v->fault));
	if (v->fault && v->at < c->n)
		printf(" at unit %llu, frame %u", (unsigned long long)v->at, c->units[v->at].frame);
	printf("\n");
}

static unsigned int features_for(enum fault fault)
{
	if (fault <= FAULT_QUEUE)
		return 0;
	if (fault <= FAULT_LAST)
		return FOR_ORDER;
	if (fault <= FAULT_RIGHTS)
		return FOR_BUFFERS;
	if (fault <= FAULT_RTR)
		return FOR_STARTUP;
	return fault <= FAULT_READS ? FOR_READS : FOR_SESSIONS;
}

/*
 * Gives the module conversations in the order of the steps, every other one without a fault. Writes
 * the first one that it judges wrongly, otherwise the last one, and prints both verdicts.
 */
static bool trace(struct lab_run *run, const char *path)
{
	enum { FORMS = 9, KINDS = FAULT_CRC - 1, TRIES = 2 * FORMS * KINDS };

	for (unsigned int i = 0; i < TRIES; i++) {
		enum fault kind = (enum fault)(1 + i / (2 * FORMS));
		struct conversation *c = conversation_new(lab_random(run), features_for(kind),
							  i % 2 ? FAULT_NONE : kind, i / 2 % FORMS);
		bool ok, done = false;
		struct verdict v;

		if (!c)
			return lab_fail(run, "the grader is out of memory");
		ok = call_find(run, c, &v);
		if (ok && (i == TRIES - 1 || !is_right(c, &v))) {
			done = true;
			ok = !conversation_write(c, path) ||
			     lab_fail(run, "%s cannot be written", path);
			if (ok)
				print_verdict(c, &v);
		}
		free(c);
		if (!ok || done)
			return ok;
	}
	return true;
}

/* --- speed ------------------------------------------------------------------------------------ */

/* The packets of a conversation in memory. */
struct packets {
	struct iw_cap_frame frames[2 * UNITS_MAX];
	size_t n;
	uint8_t octets[2 * OCTETS_MAX];
	size_t used;
};

static void keep_packet(void *to, uint64_t time_ns, const uint8_t *packet, size_t len)
{
	struct packets *p = to;

	if (p->n == IW_ARRAY_LEN(p->frames) || len > sizeof(p->octets) - p->used)
		return;
	p->frames[p->n] = (struct iw_cap_frame){ .number = p->n + 1,
						 .time_ns = time_ns,
						 .link = IW_PACKET_RAW,
						 .data = p->octets + p->used,
						 .len = len,
						 .wire_len = len };
	memcpy(p->octets + p->used, packet, len);
	p->used += len;
	p->n++;
}

/* The decoder of ddp-dump. Returns the frame of the first error; 0: none, or out of memory. */
static uint64_t decode(const struct packets *p)
{
	const struct iw_cap_cfg cfg = { .mem = &iw_os_heap,
					.limits = { .flows = 4, .streams = 4 } };
	const struct iw_cap_event *ev;
	struct iw_cap *cap;
	uint64_t frame = 0;

	if (iw_cap_new(&cap, &cfg))
		return 0;
	for (size_t i = 0; i < p->n; i++) {
		if (iw_cap_push(cap, &p->frames[i]))
			break;
		while ((ev = iw_cap_next(cap)))
			if (ev->kind == IW_CAP_ERROR && !frame)
				frame = ev->frame;
	}
	iw_cap_free(cap);
	return frame;
}

static bool call_repeat(struct lab_run *run, const struct conversation *c, uint32_t times)
{
	struct verdict v;

	lab_call(run, "fault_find_repeat");
	lab_put_u32(run, times);
	put_conversation(run, c);
	return lab_run_call_within(run, 30000) && get_verdict(run, &v) && judge(run, c, &v);
}

static double median(const double *v)
{
	double low = IW_MIN(v[0], v[1]), high = IW_MAX(v[0], v[1]);

	return IW_MIN(IW_MAX(low, v[2]), high);
}

/* Three runs of both, one after the other; rates in million units a second. */
static bool measure(struct lab_run *run, const struct conversation *c, const struct packets *p,
		    struct lab_speed *out)
{
	enum { RUNS = 3, FIRST_TIMES = 1000, RUN_NS = 200000000 };
	double student[RUNS], own[RUNS];
	uint64_t begin = lab_now(), ns;
	uint32_t times;

	if (!call_repeat(run, c, FIRST_TIMES))
		return false;
	ns = IW_MAX(lab_now() - begin, (uint64_t)1000);
	times = (uint32_t)IW_MAX((uint64_t)FIRST_TIMES * RUN_NS / ns, (uint64_t)10);
	for (size_t i = 0; i < RUNS; i++) {
		uint32_t done = 0;

		begin = lab_now();
		if (!call_repeat(run, c, times))
			return false;
		student[i] = 1e3 * (double)c->n * times / (double)(lab_now() - begin);
		begin = lab_now();
		for (; lab_now() - begin < RUN_NS; done++)
			if (decode(p) != c->units[c->fault_at].frame)
				return lab_fail(run, "the decoder of ddp-dump has another result");
		own[i] = 1e3 * (double)c->n * done / (double)(lab_now() - begin);
	}
	*out = (struct lab_speed){ .what = "units of a conversation; ours: ddp-dump",
				   .unit = "million/s",
				   .student = median(student),
				   .ours = median(own) };
	return true;
}

/*
 * A conversation whose fault the decoder of ddp-dump finds too. The work is not the same: the decoder
 * also has TCP, framing and CRCs to do, but follows neither buffers nor reads.
 */
static int speed(struct lab_run *run, struct lab_speed *results, size_t cap)
{
	struct conversation *c =
		conversation_new(6, WITH_ALL & ~(unsigned int)WITH_SCTP, FAULT_MSN, 0);
	struct packets *p = calloc(1, sizeof(*p));
	int n = -1;

	if (!c || !p || conversation_frames(c, keep_packet, p))
		lab_fail(run, "the grader is out of memory");
	else if (!cap)
		n = 0;
	else if (measure(run, c, p, &results[0]))
		n = 1;
	free(c);
	free(p);
	return n;
}

const struct lab lab_capture = {
	.number = 8,
	.folder = "08-capture",
	.title = "Read a capture: find the fault",
	.steps = steps,
	.trace = trace,
	.speed = speed,
};
