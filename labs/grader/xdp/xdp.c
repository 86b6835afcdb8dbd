/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lab 9: an XDP program that steers DDP segments to AF_XDP sockets. */
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "labs/grader/xdp/bench.h"
#include "util/num.h"

static const char *const places[] = {
	[XDP_NOWHERE] = "nowhere",
	[XDP_SOCKET_A] = "the AF_XDP socket of the even slots",
	[XDP_SOCKET_B] = "the AF_XDP socket of the odd slots",
	[XDP_KERNEL] = "the kernel's network stack",
	[XDP_TWICE] = "several times",
	[XDP_CHANGED] = "with other octets",
};

/* --- the steps that run natively --------------------------------------------------------------------------- */

static bool natively(struct lab_run *run, bool (*frames)(struct xdp_bench *))
{
	static struct xdp_bench b;

	return xdp_open_bench(&b, run, NULL) && frames(&b);
}

static bool step_path(struct lab_run *run)
{
	return natively(run, xdp_frames_of_path);
}

static bool step_truncated(struct lab_run *run)
{
	return natively(run, xdp_frames_of_truncated);
}

static bool step_ipv4(struct lab_run *run)
{
	return natively(run, xdp_frames_of_ipv4);
}

static bool step_vlan(struct lab_run *run)
{
	return natively(run, xdp_frames_of_vlan);
}

static bool step_udp(struct lab_run *run)
{
	return natively(run, xdp_frames_of_udp);
}

static bool step_ipv6(struct lab_run *run)
{
	return natively(run, xdp_frames_of_ipv6);
}

static bool step_chunks(struct lab_run *run)
{
	return natively(run, xdp_frames_of_chunks);
}

static bool step_socket(struct lab_run *run)
{
	return natively(run, xdp_frames_of_socket);
}

/* --- steps 9 and 10: the kernel ------------------------------------------------------------------------------ */

static void free_set(struct xdp_set *set)
{
	for (size_t i = 0; set && i < set->n; i++)
		free((void *)(uintptr_t)set->cases[i].frame);
	free(set);
}

/* The object file, if it is there. */
static bool object_file(struct lab_run *run, char *path, size_t cap)
{
	struct stat st;

	lab_case(run, "build/steer.o, which clang makes of steer.bpf.c");
	snprintf(path, cap, "%s/build/steer.o", lab_folder(run));
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return lab_fail(
			run,
			"there is no build/steer.o: `make bpf` says why; it needs clang and libbpf-dev");
	return true;
}

static const struct xdp_kernel_result *in_kernel(struct xdp_bench *b, enum xdp_kernel_work work)
{
	const struct xdp_kernel_result *r;
	char path[4096];

	if (!object_file(b->run, path, sizeof(path)))
		return NULL;
	r = xdp_kernel_run(path, work, &b->tables, b->set);
	if (!r)
		lab_fail(b->run, "no process for the program");
	else if (!r->ok)
		lab_fail(b->run, "%s", r->text);
	return r && r->ok ? r : NULL;
}

static void describe_case(struct xdp_bench *b, size_t i)
{
	const struct xdp_case *c = &b->set->cases[i];
	char text[250];

	xdp_describe(text, sizeof(text), c->text, c->frame, c->len);
	lab_case(b->run, "in the kernel: %s", text);
}

static bool compare_test_run(struct xdp_bench *b, const struct xdp_kernel_result *r)
{
	for (size_t i = 0; i < b->set->n; i++) {
		const struct xdp_case *c = &b->set->cases[i];
		struct xdp_verdict expected = xdp_judge(&b->tables, c->frame, c->len, 0);

		describe_case(b, i);
		if (!lab_expect_name(b->run, "the counter that had 1 added", xdp_counter_names,
				     XDP_COUNTERS + 1, expected.counter, r->of[i].counter) ||
		    !lab_expect_name(b->run, "the result of the program", xdp_actions, XDP_ACTIONS,
				     xdp_redirects(expected.counter) ? XDP_REDIRECT : XDP_PASS,
				     r->of[i].action))
			return false;
	}
	return true;
}

static bool collect_all(struct xdp_bench *b)
{
	return xdp_frames_of_path(b) && xdp_frames_of_truncated(b) && xdp_frames_of_ipv4(b) &&
	       xdp_frames_of_vlan(b) && xdp_frames_of_udp(b) && xdp_frames_of_ipv6(b) &&
	       xdp_frames_of_chunks(b) && xdp_frames_of_socket(b);
}

static bool step_verifier(struct lab_run *run)
{
	static struct xdp_bench b;
	struct xdp_set *set = calloc(1, sizeof(*set));
	const struct xdp_kernel_result *r = NULL;

	if (!set)
		return lab_fail(run, "no memory");
	if (xdp_open_bench(&b, run, set) && collect_all(&b))
		r = in_kernel(&b, XDP_TEST_RUN);
	if (r && !compare_test_run(&b, r))
		r = NULL;
	free_set(set);
	return r;
}

/* Frames of several kinds, of at least 60 octets, for streams whose slots alternate. */
static bool collect_mixture(struct xdp_bench *b)
{
	struct xdp_plan p;

	for (unsigned i = 0; i < 64; i++) {
		const struct xdp_stream *s = &b->tables.streams[i % STREAMS];

		xdp_plan_for(b, &p, s);
		p.r.v6 = i % 2;
		p.r.udp = i / 2 % 2;
		p.r.tag ^= i % 7 == 3 ? 0x100 : 0;
		p.r.fragment = i % 16 == 6 ? MF : 0;
		if (i % 5 == 4)
			xdp_chunk(&p.chunks, SACK, 0, b->noise, 12);
		if (i % 11 == 10)
			xdp_data(&p.chunks, XDP_DATA_WHOLE, s->stream, XDP_PPID_CONTROL, b->noise,
				 30);
		else
			xdp_add_segment(b, &p.chunks,
					i % 3 ? XDP_SEGMENT_TAGGED : XDP_SEGMENT_UNTAGGED,
					s->stream, 20 + lab_below(b->run, 1300));
		if (!xdp_try_plan(b, &p, "frame %u, %s%s", i, p.r.v6 ? "IPv6" : "IPv4",
				  p.r.udp ? " with UDP" : ""))
			return false;
	}
	return true;
}

static bool compare_places(struct xdp_bench *b, const struct xdp_kernel_result *r)
{
	for (size_t i = 0; i < b->set->n; i++) {
		const struct xdp_case *c = &b->set->cases[i];
		struct xdp_verdict v = xdp_judge(&b->tables, c->frame, c->len, 0);
		enum xdp_where expected = xdp_redirects(v.counter) ? xdp_socket_of(v.entry)
								   : XDP_KERNEL;

		describe_case(b, i);
		if (!lab_expect_name(
			    b->run,
			    "the place where the frame arrived after it crossed a veth pair",
			    places, IW_ARRAY_LEN(places), expected, r->of[i].where))
			return false;
	}
	return true;
}

static bool step_veth(struct lab_run *run)
{
	static struct xdp_bench b;
	struct xdp_set *set = calloc(1, sizeof(*set));
	const struct xdp_kernel_result *r = NULL;

	if (!set)
		return lab_fail(run, "no memory");
	if (xdp_open_bench(&b, run, set) && collect_mixture(&b))
		r = in_kernel(&b, XDP_VETH);
	if (r && !compare_places(&b, r))
		r = NULL;
	free_set(set);
	return r;
}

/* --- speed -------------------------------------------------------------------------------------------------- */

enum { RUNS = 3, TIMES = 6000000, TIMES_OURS = 20000000 };

static double median(double v[static RUNS])
{
	double low = IW_MIN(v[0], v[1]), high = IW_MAX(v[0], v[1]);

	return v[2] < low ? low : v[2] > high ? high : v[2];
}

/* Returns million frames a second; 0 after lab_fail(). */
static double student_speed(struct xdp_bench *b, const struct xdp_frame *f,
			    struct xdp_verdict expected)
{
	uint64_t begin = lab_now(), ns;

	lab_call(b->run, "repeat");
	lab_put_u32(b->run, TIMES);
	lab_put_u32(b->run, 0);
	lab_put_octets(b->run, f->at, f->len);
	if (!lab_run_call_within(b->run, 20000))
		return 0;
	ns = lab_now() - begin;
	if (!lab_expect_number(b->run, "the result of the program", XDP_REDIRECT,
			       lab_get_u32(b->run)) ||
	    !lab_expect_number(b->run, "the entry of the last run", expected.entry,
			       lab_get_u32(b->run)))
		return 0;
	return 1e3 * TIMES / (double)ns;
}

static double our_speed(const struct xdp_bench *b, const struct xdp_frame *f,
			struct xdp_verdict expected)
{
	uint64_t begin = lab_now(), right = 0;
	struct xdp_verdict v;

	for (unsigned i = 0; i < TIMES_OURS; i++) {
		v = xdp_judge(&b->tables, f->at, f->len, 0);
		right += v.entry == expected.entry;
		asm volatile("" ::: "memory"); /* parse it again */
	}
	return right == TIMES_OURS ? 1e3 * TIMES_OURS / (double)(lab_now() - begin) : 0;
}

static int native_speed(struct xdp_bench *b, const struct xdp_frame *f, struct lab_speed *out)
{
	struct xdp_verdict expected = xdp_judge(&b->tables, f->at, f->len, 0);
	double student[RUNS], ours[RUNS];

	for (unsigned i = 0; i < RUNS; i++) {
		student[i] = student_speed(b, f, expected);
		ours[i] = our_speed(b, f, expected);
		if (student[i] <= 0)
			return -1;
	}
	*out = (struct lab_speed){ "frames, natively, beside the grader's", "million/s",
				   median(student), median(ours) };
	return 1;
}

/* Without root, or without clang, there is no such measurement. */
static int kernel_speed(struct xdp_bench *b, const struct xdp_frame *f, struct lab_speed *out)
{
	static struct xdp_set set;
	const struct xdp_kernel_result *r;
	char path[4096];

	set.n = 1;
	set.cases[0] = (struct xdp_case){ .frame = f->at, .len = f->len };
	snprintf(path, sizeof(path), "%s/build/steer.o", lab_folder(b->run));
	if (geteuid() || access(path, R_OK))
		return 0;
	r = xdp_kernel_run(path, XDP_SPEED, &b->tables, &set);
	if (!r || !r->ok) {
		lab_fail(b->run, "%s", r ? r->text : "no process for the program");
		return -1;
	}
	*out = (struct lab_speed){ "frames, in the kernel, beside ddp-xdp's", "million/s",
				   1e3 / r->student_ns, 1e3 / r->ours_ns };
	return 1;
}

static int speed(struct lab_run *run, struct lab_speed *results, size_t cap)
{
	static struct xdp_bench b;
	struct xdp_frame f;
	struct xdp_plan p;
	int n, more;

	if (cap < 2 || !xdp_open_bench(&b, run, NULL))
		return -1;
	xdp_plan_for(&b, &p, &b.tables.streams[0]);
	p.r.udp = true;
	xdp_add_segment(&b, &p.chunks, XDP_SEGMENT_TAGGED, b.tables.streams[0].stream, 1000);
	xdp_build(&f, &p.r);
	n = native_speed(&b, &f, results);
	if (n < 0)
		return -1;
	more = kernel_speed(&b, &f, results + n);
	return more < 0 ? -1 : n + more;
}

/* --- the lab ------------------------------------------------------------------------------------------------ */

static const struct lab_step steps[] = {
	{ "path", "segments on SCTP and IPv4 are recognised", 10, "RFC 5043 5.2", 0, step_path },
	{ "truncated", "nothing is read after the end of a frame", 12, "RFC 791 3.1, RFC 9260 3.2",
	  0, step_truncated },
	{ "ipv4", "options, fragments, padding of Ethernet", 10, "RFC 791 3.1", 0, step_ipv4 },
	{ "vlan", "up to two VLAN tags", 6, "IEEE 802.1Q 9.6", 0, step_vlan },
	{ "udp", "SCTP in UDP", 7, "RFC 6951 5.1", 0, step_udp },
	{ "ipv6", "IPv6 with extension headers", 12, "RFC 8200 3, 4", 0, step_ipv6 },
	{ "chunks", "chunks before the segment; kinds of segments", 13, "RFC 9260 3.2, 6.10", 0,
	  step_chunks },
	{ "socket", "the socket of the slot, for the queue", 5, "README, step 8", 0, step_socket },
	{ "verifier", "the kernel accepts and runs the program", 15, "README, step 9",
	  LAB_NEEDS_ROOT, step_verifier },
	{ "veth", "frames arrive at AF_XDP sockets", 10, "README, step 10", LAB_NEEDS_ROOT,
	  step_veth },
	{ 0 },
};

const struct lab lab_xdp = {
	.number = 9,
	.folder = "09-xdp",
	.title = "steering with XDP",
	.steps = steps,
	.trace = xdp_trace,
	.speed = speed,
};
