// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The processes of P6: the generator of segments, and the receiver that checks and places them. */
#include "ddp-bench/xdp_run.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <iwarp/verbs.h>

#include "cli/param.h"
#include "loader/attach.h"
#include "os/os.h"
#include "pkt/xsk.h"
#include "util/num.h"
#include "util/text.h"

/* Generated frames in flight. With two buffers each they fill three quarters of a receive ring. */
#define AHEAD 800
/* Runs of the generating program in one call. Most of them make no segment, because the receiver
 * has no room. */
#define TRIES 1000000

/* An end of a connection, and the memory that it registers or writes from. */
struct end {
	struct iw_ctx *ctx;
	struct iw_pd *pd;
	struct iw_cq *cq;
	struct iw_qp *qp;
	struct iw_mr *mr;
	struct iw_listener *listener;
	uint8_t *memory;
};

static int end_new(struct end *e, struct iw_fault *why)
{
	struct iw_ctx_attr ca = { .size = sizeof(ca), .setup_ns = IW_SEC(5), .spin_ns = SPIN };
	struct iw_qp_attr qa = { .size = sizeof(qa) };
	int err = iw_ctx_new(&e->ctx, &ca, why);

	if (err)
		return err;
	e->memory = calloc(1, MEMORY);
	if (!e->memory || iw_pd_new(&e->pd, e->ctx) < 0 || iw_cq_new(&e->cq, e->ctx) < 0)
		return iw_fail(why, IW_E_NOMEM, "out of memory");
	qa.send_cq = qa.recv_cq = e->cq;
	return iw_qp_new(&e->qp, e->pd, &qa, why);
}

static void end_free(struct end *e)
{
	iw_ctx_free(e->ctx);
	free(e->memory);
}

/* Makes progress until the connection is established. */
static int establish(struct end *e, struct shared *s, struct iw_fault *why)
{
	uint64_t end = iw_os_now() + IW_SEC(5);
	struct iw_async_event ev;

	while (iw_os_now() < end && !atomic_load(&s->stop)) {
		int err = iw_progress(e->ctx, 1000000);

		if (err < 0)
			return iw_fail(why, err, "make progress on the connection: %s",
				       iw_err_text(err));
		while (iw_next_event(e->ctx, &ev)) {
			if (ev.type == IW_EV_ESTABLISHED)
				return 0;
			if (ev.type == IW_EV_CLOSED) {
				*why = ev.fault;
				return ev.fault.err ? ev.fault.err : IW_E_CLOSED;
			}
			if (ev.type == IW_EV_CONNECT_REQUEST) {
				err = iw_accept(ev.req, e->qp, NULL, why);
				if (err)
					return err;
			}
		}
	}
	return iw_fail(why, IW_E_TIMEOUT,
		       "p6: no connection for the generated segments within 5 s");
}

/* Returns an octet of the first RDMA Write, which precedes all generated segments. */
static uint8_t first_octet(size_t at)
{
	return (uint8_t)(at * 2654435761u >> 13);
}

static bool is_first(const uint8_t *memory, size_t at, size_t len)
{
	for (size_t i = at; i < at + len; i++)
		if (memory[i] != first_octet(i))
			return false;
	return true;
}

/*
 * Checks the placed data. Each slot holds the octets of the first Write or those of a generated
 * segment; segments fill the slots in turn. A short run does not reach all slots, and some segments
 * may be lost.
 */
static int check_memory(const struct end *e, const struct shared *s, uint64_t octets,
			struct iw_fault *why)
{
	size_t payload = s->model_len - HEADER_LEN, slots = MEMORY / payload, filled = 0;
	uint64_t arrived = (octets - IW_MIN(octets, (uint64_t)MEMORY)) / payload;
	size_t least = arrived >= 2 * slots ? slots : (size_t)IW_MIN(arrived, slots) / 2;

	for (size_t i = 0; i < slots; i++) {
		if (memcmp(e->memory + i * payload, s->model + HEADER_LEN, payload) == 0)
			filled++;
		else if (!is_first(e->memory, i * payload, payload))
			return iw_fail(why, IW_E_FORMAT,
				       "p6: slot %u of the memory holds octets that were not sent",
				       (unsigned)i);
	}
	if (filled >= least)
		return 0;
	return iw_fail(
		why, IW_E_FORMAT,
		"p6: %u slots of the memory hold the generated payload, expected at least %u of %u",
		(unsigned)filled, (unsigned)least, (unsigned)slots);
}

/* Reads how often the steering program has run, and for how long, since the kernel has measured
 * it. */
static int look_at_program(const struct bench *b, struct iw_xdp_attached *a, struct iw_fault *why)
{
	return iw_attach_query(a, if_nametoindex(b->lab.interface[IW_LAB_LEFT]), why);
}

static int place_until_stopped(struct bench *b, struct end *e, struct iw_fault *why)
{
	struct shared *s = b->s;
	struct iw_xdp_attached before, after;
	struct iw_tally t = { 0 };
	struct iw_async_event ev;
	struct window w = { 0 };
	int err = look_at_program(b, &before, why);

	if (err)
		return err;
	while (!atomic_load_explicit(&s->stop, memory_order_relaxed)) {
		err = iw_progress(e->ctx, 10000000);
		if (err < 0)
			return iw_fail(why, err, "progress: %s", iw_err_text(err));
		while (iw_next_event(e->ctx, &ev))
			if (ev.type == IW_EV_CLOSED) {
				/* The generator's side ends when the window is over. */
				if (w.closed)
					return check_memory(e, s, t.write_octets, why);
				*why = ev.fault;
				return ev.fault.err ? ev.fault.err : IW_E_CLOSED;
			}
		iw_qp_tally(e->qp, &t);
		atomic_store_explicit(&s->octets, t.write_octets, memory_order_release);
		if (s->model_len > 0) {
			uint64_t n = t.write_octets / (s->model_len - HEADER_LEN);

			*b->counter.arrived = n;
			atomic_store_explicit(&s->frames, n, memory_order_release);
			if (t.write_octets > MEMORY / 4 && iw_bench_xdp_run_window(b, &w) &&
			    look_at_program(b, &after, why) == 0) {
				s->program_runs = after.runs - before.runs;
				s->program_ns = after.run_ns - before.run_ns;
			}
		}
	}
	return check_memory(e, s, t.write_octets, why);
}

int iw_bench_xdp_placer(void *arg)
{
	struct bench *b = arg;
	struct end e = { 0 };
	struct iw_cli_param p = iw_bench_xdp_run_param(b, IW_LAB_LEFT);
	struct iw_fault why;
	int err = end_new(&e, &why);
	struct iw_mr_attr ma = { .addr = e.memory,
				 .len = MEMORY,
				 .access = IW_ACCESS_REMOTE_WRITE };

	if (!err)
		err = iw_mr_reg(&e.mr, e.pd, &ma, &why);
	if (!err)
		err = iw_listen(&e.listener, e.ctx, &p.at, &p.protocol, &why);
	if (!err) {
		b->s->stag = iw_mr_stag(e.mr);
		atomic_store(&b->s->ready, 1);
		err = establish(&e, b->s, &why);
	}
	if (!err)
		err = place_until_stopped(b, &e, &why);
	end_free(&e);
	return err ? iw_bench_xdp_run_fail(b, &why) : 0;
}

/* Opens a packet socket that captures the frames on the right side's interface. */
static int open_tap(const struct bench *b, struct iw_fault *why)
{
	struct sockaddr_ll a = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(0x0003), /* ETH_P_ALL */
		.sll_ifindex = (int)if_nametoindex(b->lab.interface[IW_LAB_RIGHT]),
	};
	const int size = 8 << 20;
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		return iw_os_fail(why, errno, "capture on %s", b->lab.interface[IW_LAB_RIGHT]);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	return fd;
}

/*
 * Reads the captured frames. The longest frame with a tagged segment alone becomes the model; the
 * generated TSNs and DDP-SSNs continue those of the last DATA chunk.
 */
static int read_tap(const struct bench *b, int fd, struct iw_fault *why)
{
	struct shared *s = b->s;
	uint8_t f[65536];
	bool any = false;
	ssize_t n;

	while ((n = recv(fd, f, sizeof(f), 0)) > 0) {
		size_t len = (size_t)n, at = SCTP_AT + 12;

		if (len < HEADER_LEN || f[14] != 0x45 || f[23] != 132 ||
		    memcmp(f, b->lab.mac[IW_LAB_LEFT], 6) != 0)
			continue;
		while (len - at >= 18) {
			size_t chunk = iw_get_be16(f + at + 2);
			uint32_t tsn = iw_get_be32(f + at + 4);

			if (chunk < 4 || chunk > len - at)
				break;
			if (f[at] == 0 && (!any || !iw_seq32_before(tsn, s->tsn - 1))) {
				any = true;
				s->tsn = tsn + 1;
				s->ssn = (uint16_t)(iw_get_be16(f + at + 16) + 1);
			}
			at += (chunk + 3) & ~(size_t)3;
			if (at >= len)
				break;
		}
		/* Tagged, and the only chunk of its packet. */
		if (f[SCTP_AT + 12] == 0 && f[SCTP_AT + 30] & 0x80 && len <= FRAME_MOST &&
		    len == SCTP_AT + 12u + iw_get_be16(f + SCTP_AT + 14) && len > s->model_len) {
			memcpy(s->model, f, len);
			s->model_len = len;
		}
	}
	return s->model_len ? 0
			    : iw_fail(why, IW_E_OS,
				      "p6: no segment was captured as a model for the generator");
}

/*
 * Opens a connection over raw, sends a Write and captures its packets. After that the connection
 * sends nothing, and the generator sends in its place.
 */
static int begin_stream(struct bench *b, struct end *e, struct iw_fault *why)
{
	struct bench raw = *b;
	struct iw_cli_param p;
	struct iw_send_wr wr = { .op = IW_WR_WRITE, .nsge = 1, .remote_stag = b->s->stag };
	struct iw_sge sge;
	struct iw_wc wc;
	int fd, err = end_new(e, why);
	uint64_t end = iw_os_now() + IW_SEC(5);

	raw.transport = "raw";
	p = iw_bench_xdp_run_param(&raw, IW_LAB_RIGHT);
	if (err)
		return err;
	fd = open_tap(b, why);
	if (fd < 0)
		return fd;
	for (size_t i = 0; i < MEMORY; i++)
		e->memory[i] = first_octet(i);
	err = iw_connect(e->qp, &p.at, &p.protocol, why);
	if (!err)
		err = establish(e, b->s, why);
	sge = (struct iw_sge){ e->memory, MEMORY };
	wr.sge = &sge;
	if (!err)
		err = iw_post_send(e->qp, &wr, why);
	while (!err && iw_os_now() < end) {
		if (iw_cq_poll(e->cq, &wc, 1) == 1) {
			err = wc.status;
			break;
		}
		(void)!iw_cq_wait(e->cq, 10000000);
	}
	/* Receive all acknowledgements, so that this end retransmits nothing. */
	for (int i = 0; i < 50 && !err; i++)
		(void)!iw_progress(e->ctx, 1000000);
	if (!err)
		err = read_tap(b, fd, why);
	close(fd);
	return err;
}

static int generate(struct bench *b, struct iw_fault *why)
{
	struct shared *s = b->s;
	size_t payload = s->model_len - HEADER_LEN;
	struct iw_generate_cfg cfg = {
		.ifindex = if_nametoindex(b->lab.interface[IW_LAB_RIGHT]),
		.frame = s->model,
		.len = s->model_len,
		.tsn = s->tsn,
		.ssn = s->ssn,
		.slots = MEMORY / payload,
		.counter = &b->counter,
		.ahead = AHEAD,
	};
	uint64_t octets = atomic_load(&s->octets);
	struct iw_generate *g;
	int err;

	/*
	 * Lower the priority, so that the kernel empties the driver's queue on this CPU before the
	 * generator continues.
	 */
	(void)setpriority(PRIO_PROCESS, 0, 5);
	/* The receiver also counts what arrived before, in segments of this length. */
	cfg.sent = octets / payload;
	err = iw_generate_open(&g, &cfg, why);
	if (err)
		return err;
	while (!err && s->ns == 0 && s->why.err == 0)
		err = iw_generate_run(g, TRIES, why);
	/* A segment not placed within 100 ms is lost. */
	for (int i = 0; i < 100 && !err; i++) {
		s->lost = iw_generate_sent(g) - cfg.sent -
			  (atomic_load(&s->octets) - octets) / payload;
		if (s->lost == 0)
			break;
		iw_bench_xdp_run_nap(1000000);
	}
	iw_generate_close(g);
	return err;
}

int iw_bench_xdp_generator(void *arg)
{
	struct bench *b = arg;
	struct end e = { 0 };
	struct iw_fault why;
	int err = b->bare ? 0 : begin_stream(b, &e, &why);

	if (!err)
		err = generate(b, &why);
	/* Report the fault before the other side notices that this one has ended. */
	if (err)
		(void)iw_bench_xdp_run_fail(b, &why);
	end_free(&e);
	return err != 0;
}
