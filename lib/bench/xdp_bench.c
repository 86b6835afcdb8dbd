// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The fast path beside its baselines. Each run is two processes, one a side; what they tell each other and us lies
 * in memory that all share. */
#include "bench/xdp_bench.h"

#include "util/text.h"

#ifndef IW_HAVE_XDP

int iw_xdp_bench(struct iw_xdp_bench *out, const struct iw_xdp_bench_cfg *cfg, struct iw_fault *why)
{
	(void)out;
	(void)cfg;
	return iw_fail(why, IW_E_NOTSUP, "ddp-bench xdp: built without libxdp");
}

#else

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/lab.h"
#include "cli/signals.h"
#include "os/os.h"
#include "pkt/generate.h"
#include "pkt/xsk.h"
#include "util/num.h"

#define PORT       7471
#define WINDOW     IW_MSEC(500)
#define WARMUP     IW_MSEC(150)
#define RUN_TIME   IW_SEC(20) /* no run takes that long */
#define BATCH      32
/* Frames on their way from the generator: of two buffers each they fill three quarters of a receive ring. */
#define AHEAD      800
/* One run of the generator: most tries find the gate closed. */
#define TRIES      1000000
/* Nobody sleeps before he has looked that long in vain, neither ours nor the bare receiver (LOOKS take about as long). */
#define SPIN       IW_MSEC(1)
#define LOOKS      20000
/* Octets of a frame before the payload of a tagged segment: Ethernet, IPv4, SCTP, DATA, DDP-SSN, DDP. */
#define SCTP_AT    34
#define HEAD_LEN   (SCTP_AT + 12 + 16 + 2 + 14)
#define MEMORY     ((size_t)1 << 20)
#define FRAME_MOST 4096

/* What the processes of one run share. */
struct shared {
	atomic_int ready, stop;
	/* What was received, by whoever receives. */
	atomic_uint_fast64_t frames, octets;
	/* Of the window. */
	uint64_t ns, in_frames, in_octets, lost;
	uint32_t mulpdu;
	struct iw_fault why; /* of the child that failed */
	/* The generator's model, and where its segments go. */
	uint8_t model[FRAME_MOST];
	size_t model_len;
	uint32_t tsn, stag;
	uint16_t ssn;
	uint64_t to;
};

struct bench {
	const struct iw_xdp_bench_cfg *cfg;
	struct iw_lab lab;
	struct shared *s;
	struct iw_generate_gate gate;
	/* Of the run under way: */
	const char *transport;
	unsigned xdp;
	uint32_t mtu, frame, frame_size;
	bool bare;
};

/* --- processes -------------------------------------------------------------------------------- */

static void nap(uint64_t ns)
{
	const struct timespec t = { .tv_nsec = (long)ns };

	(void)nanosleep(&t, NULL);
}

static bool until(const atomic_int *flag, const struct shared *s, uint64_t ns)
{
	uint64_t end = iw_os_now() + ns;

	while (!atomic_load(flag) && s->why.err == 0 && iw_os_now() < end)
		nap(500000);
	return atomic_load(flag);
}

static int fail(struct bench *b, const struct iw_fault *why)
{
	if (b->s->why.err == 0)
		b->s->why = *why;
	return 1;
}

/* Two processes: the left one first, the other one when that is ready; the window's figures are in b->s. */
static int run_pair(struct bench *b, int (*left)(void *), int (*right)(void *),
		    struct iw_fault *why)
{
	struct shared *s = b->s;
	pid_t child[2];
	int err, status[2];

	s->why.err = 0;
	atomic_store(&s->ready, 0);
	atomic_store(&s->stop, 0);
	atomic_store(&s->frames, 0);
	atomic_store(&s->octets, 0);
	s->ns = s->in_frames = s->in_octets = s->lost = 0;
	if (iw_signals_stop())
		return iw_fail(why, IW_E_CANCELED, "asked to stop");
	err = iw_lab_start(&b->lab, IW_LAB_LEFT, &child[0], left, b, why);
	if (err)
		return err;
	(void)until(&s->ready, s, RUN_TIME);
	err = iw_lab_start(&b->lab, IW_LAB_RIGHT, &child[1], right, b, why);
	status[1] = err ? 0 : iw_lab_wait(child[1], RUN_TIME);
	atomic_store(&s->stop, 1);
	status[0] = iw_lab_wait(child[0], IW_SEC(5));
	if (err)
		return err;
	if (s->why.err) {
		*why = s->why;
		return why->err;
	}
	if (status[0] != 0 || status[1] != 0 || s->ns == 0)
		return iw_fail(why, IW_E_OS,
			       "a process of the measurement ended by itself (%u, %u)",
			       (unsigned)status[0], (unsigned)status[1]);
	return 0;
}

/* Counts what comes: a window behind a warm-up, both from the first frame on. */
static bool in_window(struct bench *b, uint64_t *began, uint64_t *from, uint64_t *frames,
		      uint64_t *octets)
{
	uint64_t now = iw_os_now(), window = b->cfg->window_ns ? b->cfg->window_ns : WINDOW;
	struct shared *s = b->s;

	if (*began == 0)
		*began = now;
	if (*from == 0 && now - *began >= WARMUP) {
		*from = now;
		*frames = atomic_load(&s->frames);
		*octets = atomic_load(&s->octets);
	}
	if (*from == 0 || now - *from < window)
		return true;
	s->ns = now - *from;
	s->in_frames = atomic_load(&s->frames) - *frames;
	s->in_octets = atomic_load(&s->octets) - *octets;
	return false;
}

/* --- bare AF_XDP ------------------------------------------------------------------------------ */

static int open_bare(struct bench *b, enum iw_lab_side side, struct iw_xsk **x)
{
	struct iw_xsk_cfg cfg = {
		.interface = iw_lab_interface[side],
		.mtu = b->mtu,
		.frame_size = b->frame_size,
	};
	struct iw_fault why;
	struct iw_addr any = { 0 };
	uint32_t id;
	int err = iw_xsk_open(x, &cfg, &why);

	if (!err && side == IW_LAB_LEFT)
		err = iw_steer_endpoint_add(iw_xsk_steer(*x), &id, &any, PORT, 0, iw_xsk_worker(*x),
					    &why);
	return err ? fail(b, &why) : 0;
}

static int bare_receiver(void *arg)
{
	struct bench *b = arg;
	struct shared *s = b->s;
	uint64_t began = 0, from = 0, frames = 0, octets = 0, seen = 0;
	struct iw_xsk_rx rx[BATCH];
	struct iw_xsk *x;
	struct pollfd p;
	const int *fd;
	unsigned looks = 0;
	bool open = true;

	iw_xsk_count_at(b->gate.arrived);
	if (open_bare(b, IW_LAB_LEFT, &x))
		return 1;
	(void)iw_xsk_fds(x, &fd);
	p = (struct pollfd){ .fd = fd[0], .events = POLLIN };
	atomic_store(&s->ready, 1);
	while (!atomic_load_explicit(&s->stop, memory_order_relaxed)) {
		unsigned n = iw_xsk_recv(x, rx, BATCH);

		if (n == 0) {
			if (++looks > LOOKS)
				(void)poll(&p, 1, 10);
			continue;
		}
		looks = 0;
		seen += n;
		atomic_store_explicit(&s->frames, seen, memory_order_release);
		atomic_store_explicit(&s->octets, seen * (b->frame - HEAD_LEN),
				      memory_order_release);
		if (open)
			open = in_window(b, &began, &from, &frames, &octets);
	}
	iw_xsk_close(x);
	return 0;
}

/* Frames of an endpoint of theirs, all alike; but for their heads they lie in the UMEM already. */
static int bare_sender(void *arg)
{
	struct bench *b = arg;
	uint8_t head[HEAD_LEN] = { 0 };
	struct iw_xsk_tx tx[BATCH];
	struct iw_fault why;
	struct iw_xsk *x;
	uint32_t sum = 0;
	int err = 0;

	if (open_bare(b, IW_LAB_RIGHT, &x))
		return 1;
	memcpy(head, iw_lab_mac[IW_LAB_LEFT], 6);
	memcpy(head + 6, iw_lab_mac[IW_LAB_RIGHT], 6);
	head[12] = 8;
	head[14] = 0x45;
	iw_put_be16(head + 16, (uint16_t)(b->frame - 14));
	head[20] = 0x40;
	head[22] = 64;
	head[23] = 132;
	(void)inet_pton(AF_INET, iw_lab_address[IW_LAB_RIGHT], head + 26);
	(void)inet_pton(AF_INET, iw_lab_address[IW_LAB_LEFT], head + 30);
	for (int i = 14; i < 34; i += 2)
		sum += iw_get_be16(head + i);
	sum = (sum & 0xffff) + (sum >> 16);
	iw_put_be16(head + 24, (uint16_t) ~(sum + (sum >> 16)));
	iw_put_be16(head + SCTP_AT + 2, PORT);
	for (int i = 0; i < BATCH; i++)
		tx[i] = (struct iw_xsk_tx){ .head = head,
					    .head_len = HEAD_LEN,
					    .len = b->frame - HEAD_LEN };
	while (b->s->ns == 0 && b->s->why.err == 0 && err != IW_E_OS) {
		err = iw_xsk_send(x, tx, BATCH, &why);
	}
	iw_xsk_close(x);
	return err == IW_E_OS ? fail(b, &why) : 0;
}

/* --- DDP, by the library's own means ---------------------------------------------------------- */

static struct iw_conn_param param(const struct bench *b, enum iw_lab_side side)
{
	return (struct iw_conn_param){
		.size = sizeof(struct iw_conn_param),
		.transport = b->transport,
		.host = iw_lab_address[IW_LAB_LEFT],
		.bind_addr = side == IW_LAB_RIGHT ? iw_lab_address[IW_LAB_RIGHT] : NULL,
		.interface = strcmp(b->transport, "xdp") == 0 ? iw_lab_interface[side] : NULL,
		.port = PORT,
		.xdp = b->xdp,
	};
}

static int ddp_server(void *arg)
{
	struct bench *b = arg;
	struct iw_bench_server_cfg cfg = {
		.conn = param(b, IW_LAB_LEFT),
		.once = true,
		.setup_ns = IW_SEC(5),
		.timeout_ns = IW_SEC(5),
		.spin_ns = SPIN,
	};
	struct iw_bench_news news = { .kind = IW_BENCH_CAME };
	struct iw_bench_server *s;
	struct iw_fault why;
	int err = iw_bench_server_new(&s, &cfg, &why);

	if (err)
		return fail(b, &why);
	atomic_store(&b->s->ready, 1);
	while (err == 0 && news.kind != IW_BENCH_STOPPED)
		err = iw_bench_server_next(s, &news, &why);
	iw_bench_server_free(s);
	return err ? fail(b, &why) : 0;
}

static int ddp_client(void *arg)
{
	struct bench *b = arg;
	struct iw_bench_cfg cfg = {
		.mode = IW_BENCH_WRITE,
		.conn = param(b, IW_LAB_RIGHT),
		.size = MEMORY,
		.depth = 2,
		.time_ns = b->cfg->window_ns ? b->cfg->window_ns : WINDOW,
		.warmup_ns = WARMUP,
		.verify = true,
		.setup_ns = IW_SEC(5),
		.timeout_ns = IW_SEC(5),
		.spin_ns = SPIN,
	};
	struct iw_bench_interval iv;
	const struct iw_bench_result *r;
	struct iw_bench_client *c;
	struct iw_fault why;
	int err = iw_bench_client_new(&c, &cfg, &why);

	if (err)
		return fail(b, &why);
	do
		err = iw_bench_client_next(c, &iv, &why);
	while (err == IW_BENCH_INTERVAL);
	r = err ? NULL : iw_bench_client_result(c);
	if (r && r->verdict != IW_BENCH_GOOD)
		err = iw_fail(&why, IW_E_FORMAT, "%s: the data is not what was sent: %s",
			      b->transport, r->mismatch);
	if (!err) {
		b->s->in_octets = r->octets;
		b->s->mulpdu = r->info.mulpdu;
		b->s->lost = r->info.retransmits;
		b->s->ns = r->duration_ns;
	}
	iw_bench_client_free(c);
	return err ? fail(b, &why) : 0;
}

/* --- segments out of the generator ------------------------------------------------------------ */

/* One end of a connection, and the memory that it lends or writes from. */
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

/* Goes on until the connection stands. */
static int establish(struct end *e, struct shared *s, struct iw_fault *why)
{
	uint64_t end = iw_os_now() + IW_SEC(5);
	struct iw_async_event ev;

	while (iw_os_now() < end && !atomic_load(&s->stop)) {
		int err = iw_progress(e->ctx, 1000000);

		if (err < 0)
			return iw_fail(why, err, "progress: %s", iw_err_text(err));
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
	return iw_fail(why, IW_E_TIMEOUT, "no connection for the generator's segments");
}

/* Every slot holds what every segment carried. */
static int check_memory(const struct end *e, const struct shared *s, struct iw_fault *why)
{
	size_t payload = s->model_len - HEAD_LEN, slots = MEMORY / payload;

	for (size_t i = 0; i < slots; i++)
		if (memcmp(e->memory + i * payload, s->model + HEAD_LEN, payload) != 0)
			return iw_fail(why, IW_E_FORMAT,
				       "generated segments: slot %u holds something else",
				       (unsigned)i);
	return 0;
}

static int place_until_stopped(struct bench *b, struct end *e, struct iw_fault *why)
{
	uint64_t began = 0, from = 0, frames = 0, octets = 0;
	struct shared *s = b->s;
	struct iw_tally t = { 0 };
	struct iw_async_event ev;
	bool open = true;

	while (!atomic_load_explicit(&s->stop, memory_order_relaxed)) {
		int err = iw_progress(e->ctx, 10000000);

		if (err < 0)
			return iw_fail(why, err, "progress: %s", iw_err_text(err));
		while (iw_next_event(e->ctx, &ev))
			if (ev.type == IW_EV_CLOSED) {
				/* The generator's side ends when the window is over. */
				if (!open)
					return check_memory(e, s, why);
				*why = ev.fault;
				return ev.fault.err ? ev.fault.err : IW_E_CLOSED;
			}
		iw_qp_tally(e->qp, &t);
		atomic_store_explicit(&s->octets, t.write_octets, memory_order_release);
		if (s->model_len > 0) {
			uint64_t n = t.write_octets / (s->model_len - HEAD_LEN);

			atomic_store_explicit(&s->frames, n, memory_order_release);
			if (open && t.write_octets > MEMORY / 4)
				open = in_window(b, &began, &from, &frames, &octets);
		}
	}
	return check_memory(e, s, why);
}

static int placer(void *arg)
{
	struct bench *b = arg;
	struct end e = { 0 };
	struct iw_conn_param p = param(b, IW_LAB_LEFT);
	struct iw_fault why;
	int err = end_new(&e, &why);
	struct iw_mr_attr ma = { .addr = e.memory,
				 .len = MEMORY,
				 .access = IW_ACCESS_REMOTE_WRITE };

	iw_xsk_count_at(b->gate.arrived);
	if (!err)
		err = iw_mr_reg(&e.mr, e.pd, &ma, &why);
	if (!err)
		err = iw_listen(&e.listener, e.ctx, &p, &why);
	if (!err) {
		b->s->stag = iw_mr_stag(e.mr);
		atomic_store(&b->s->ready, 1);
		err = establish(&e, b->s, &why);
	}
	if (!err)
		err = place_until_stopped(b, &e, &why);
	end_free(&e);
	return err ? fail(b, &why) : 0;
}

/* What this side sends, as the network sees it. */
static int open_tap(struct iw_fault *why)
{
	struct sockaddr_ll a = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(0x0003), /* ETH_P_ALL */
		.sll_ifindex = (int)if_nametoindex(iw_lab_interface[IW_LAB_RIGHT]),
	};
	const int size = 8 << 20;
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		return iw_os_fail(why, errno, "capture on %s", iw_lab_interface[IW_LAB_RIGHT]);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	return fd;
}

/* The longest tagged segment that was sent becomes the model; behind the last of all chunks the sequence goes on. */
static int read_tap(struct shared *s, int fd, struct iw_fault *why)
{
	uint8_t f[65536];
	bool any = false;
	ssize_t n;

	while ((n = recv(fd, f, sizeof(f), 0)) > 0) {
		size_t len = (size_t)n, at = SCTP_AT + 12;

		if (len < HEAD_LEN || f[14] != 0x45 || f[23] != 132 ||
		    memcmp(f, iw_lab_mac[IW_LAB_LEFT], 6) != 0)
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
		/* Tagged, and its chunk is the packet. */
		if (f[SCTP_AT + 12] == 0 && f[SCTP_AT + 30] & 0x80 && len <= FRAME_MOST &&
		    len == SCTP_AT + 12u + iw_get_be16(f + SCTP_AT + 14) && len > s->model_len) {
			memcpy(s->model, f, len);
			s->model_len = len;
		}
	}
	return s->model_len ? 0 : iw_fail(why, IW_E_OS, "no segment was captured for a model");
}

/* A connection through raw: its packets are captured, and then it keeps still, while the generator speaks for it. */
static int begin_stream(struct bench *b, struct end *e, struct iw_fault *why)
{
	struct bench raw = *b;
	struct iw_conn_param p;
	struct iw_send_wr wr = { .op = IW_WR_WRITE, .nsge = 1, .remote_stag = b->s->stag };
	struct iw_sge sge;
	struct iw_wc wc;
	int fd, err = end_new(e, why);
	uint64_t end = iw_os_now() + IW_SEC(5);

	raw.transport = "raw";
	p = param(&raw, IW_LAB_RIGHT);
	if (err)
		return err;
	fd = open_tap(why);
	if (fd < 0)
		return fd;
	for (size_t i = 0; i < MEMORY; i++)
		e->memory[i] = (uint8_t)(i * 2654435761u >> 13);
	err = iw_connect(e->qp, &p, why);
	if (!err)
		err = establish(e, b->s, why);
	sge = (struct iw_sge){ e->memory, MEMORY };
	wr.sge = &sge;
	if (!err && (err = iw_post_send(e->qp, &wr)) != 0)
		iw_fail(why, err, "post a write: %s", iw_err_text(err));
	while (!err && iw_os_now() < end) {
		if (iw_cq_poll(e->cq, &wc, 1) == 1) {
			err = wc.status;
			break;
		}
		(void)!iw_cq_wait(e->cq, 10000000);
	}
	/* Acknowledgements of it all, so that nothing is sent again from here. */
	for (int i = 0; i < 50 && !err; i++)
		(void)!iw_progress(e->ctx, 1000000);
	if (!err)
		err = read_tap(b->s, fd, why);
	close(fd);
	return err;
}

static int generate(struct bench *b, struct iw_fault *why)
{
	struct shared *s = b->s;
	size_t payload = s->model_len - HEAD_LEN;
	struct iw_generate_cfg cfg = {
		.ifindex = if_nametoindex(iw_lab_interface[IW_LAB_RIGHT]),
		.frame = s->model,
		.len = s->model_len,
		.tsn = s->tsn,
		.ssn = s->ssn,
		.slots = MEMORY / payload,
		.gate = &b->gate,
		.ahead = AHEAD,
	};
	uint64_t octets = atomic_load(&s->octets);
	struct iw_generate *g;
	int err;

	/* Behind everybody else on this processor: the driver's queue, which is there as well, is emptied first. */
	(void)setpriority(PRIO_PROCESS, 0, 5);
	cfg.sent = *b->gate.arrived;
	err = iw_generate_open(&g, &cfg, why);
	if (err)
		return err;
	while (!err && s->ns == 0 && s->why.err == 0)
		err = iw_generate_run(g, TRIES, why);
	/* All of it, or it is lost. */
	for (int i = 0; i < 100 && !err; i++) {
		s->lost = iw_generate_sent(g) - cfg.sent -
			  (atomic_load(&s->octets) - octets) / payload;
		if (s->lost == 0)
			break;
		nap(1000000);
	}
	iw_generate_close(g);
	return err;
}

static int generator(void *arg)
{
	struct bench *b = arg;
	struct end e = { 0 };
	struct iw_fault why;
	int err = b->bare ? 0 : begin_stream(b, &e, &why);

	if (!err)
		err = generate(b, &why);
	/* Before the other side hears that this one is gone. */
	if (err)
		fail(b, &why);
	end_free(&e);
	return err != 0;
}

/* --- figures ---------------------------------------------------------------------------------- */

static double bits(const struct shared *s)
{
	return s->ns ? (double)s->in_octets * 8e9 / (double)s->ns : 0;
}

static double frames(const struct shared *s, double octets_each)
{
	return s->ns ? (double)s->in_octets / octets_each * 1e9 / (double)s->ns : 0;
}

static int p5_pair(struct bench *b, struct iw_xdp_figure *f, struct iw_xdp_pair *p,
		   struct iw_fault *why)
{
	double each;
	int err;

	b->transport = "xdp";
	err = run_pair(b, ddp_server, ddp_client, why);
	if (err)
		return err;
	/* Of a full frame; the DDP-SSN is in front of what the MULPDU counts. */
	each = b->s->mulpdu - 14;
	f->frame = b->frame = HEAD_LEN - 14 + b->s->mulpdu;
	p->ours = bits(b->s);
	p->ours_frames = frames(b->s, each);
	p->lost = b->s->lost;
	err = run_pair(b, bare_receiver, bare_sender, why);
	p->bare = bits(b->s);
	p->bare_frames = frames(b->s, each);
	return err;
}

static int p6_pair(struct bench *b, struct iw_xdp_figure *f, struct iw_xdp_pair *p,
		   struct iw_fault *why)
{
	int err;

	b->transport = "xdp";
	b->bare = false;
	b->s->model_len = 0;
	err = run_pair(b, placer, generator, why);
	if (err)
		return err;
	f->frame = b->frame = (uint32_t)b->s->model_len;
	p->ours = bits(b->s);
	p->ours_frames = frames(b->s, b->frame - HEAD_LEN);
	p->lost = b->s->lost;
	b->bare = true;
	err = run_pair(b, bare_receiver, generator, why);
	p->bare = bits(b->s);
	p->bare_frames = frames(b->s, b->frame - HEAD_LEN);
	p->lost += b->s->lost;
	return err;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(double *v, unsigned n)
{
	qsort(v, n, sizeof(*v), by_value);
	return v[n / 2];
}

static void conclude(struct iw_xdp_figure *f)
{
	double v[5][IW_XDP_BENCH_PAIRS] = { { 0 } };

	for (unsigned i = 0; i < f->pairs; i++) {
		const struct iw_xdp_pair *p = &f->pair[i];

		v[0][i] = p->bare > 0 ? p->ours / p->bare : 0;
		v[1][i] = p->ours;
		v[2][i] = p->bare;
		v[3][i] = p->ours_frames;
		v[4][i] = p->bare_frames;
		f->median.lost += p->lost;
	}
	f->ratio = median(v[0], f->pairs);
	f->ratio_min = v[0][0];
	f->ratio_max = v[0][f->pairs - 1];
	f->median.ours = median(v[1], f->pairs);
	f->median.bare = median(v[2], f->pairs);
	f->median.ours_frames = median(v[3], f->pairs);
	f->median.bare_frames = median(v[4], f->pairs);
}

static const struct {
	const char *id, *buffers;
	uint32_t mtu, frame_size;
	int (*pair)(struct bench *, struct iw_xdp_figure *, struct iw_xdp_pair *,
		    struct iw_fault *);
} plan[4] = {
	{ "p5", "single", 1500, 0, p5_pair },
	{ "p5", "multi", 9000, 0, p5_pair },
	{ "p6", "single", 1500, 0, p6_pair },
	{ "p6", "multi", 3000, 2048, p6_pair },
};

static int figure(struct bench *b, struct iw_xdp_figure *f, size_t k, struct iw_fault *why)
{
	int err = iw_lab_open(&b->lab, plan[k].mtu, why);

	*f = (struct iw_xdp_figure){ .id = plan[k].id,
				     .buffers = plan[k].buffers,
				     .mtu = plan[k].mtu };
	b->mtu = plan[k].mtu;
	b->frame_size = plan[k].frame_size;
	b->xdp = plan[k].frame_size == 2048 ? IW_XDP_WANT_SMALL_FRAMES : 0;
	while (!err && f->pairs < (b->cfg->pairs ? b->cfg->pairs : IW_XDP_BENCH_PAIRS)) {
		struct iw_xdp_pair *p = &f->pair[f->pairs];

		err = plan[k].pair(b, f, p, why);
		if (err)
			break;
		f->pairs++;
		if (b->cfg->on_pair)
			b->cfg->on_pair(b->cfg->ctx, f, p);
	}
	if (f->pairs > 0)
		conclude(f);
	iw_lab_close(&b->lab);
	return err;
}

static int baselines(struct bench *b, struct iw_xdp_bench *out, struct iw_fault *why)
{
	static const struct {
		const char *name, *transport;
		bool offloads;
	} what[IW_XDP_BENCH_BASELINES] = {
		{ "tcp", "tcp", true },
		{ "tcp_without_offloads", "tcp", false },
		{ "udp", "udp", true },
		{ "raw", "raw", true },
	};
	int err = iw_lab_open(&b->lab, 1500, why);

	b->xdp = 0;
	for (size_t i = 0; i < IW_XDP_BENCH_BASELINES && !err; i++) {
		b->transport = what[i].transport;
		err = iw_lab_offloads(&b->lab, what[i].offloads, why);
		if (!err)
			err = run_pair(b, ddp_server, ddp_client, why);
		out->baseline[i] = (struct iw_xdp_baseline){ what[i].name, bits(b->s) };
		if (!err && b->cfg->on_baseline)
			b->cfg->on_baseline(b->cfg->ctx, &out->baseline[i]);
	}
	iw_lab_close(&b->lab);
	return err;
}

int iw_xdp_bench(struct iw_xdp_bench *out, const struct iw_xdp_bench_cfg *cfg, struct iw_fault *why)
{
	struct bench b = { .cfg = cfg };
	int err = 0;

	*out = (struct iw_xdp_bench){ 0 };
	b.s = mmap(NULL, sizeof(*b.s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (b.s == MAP_FAILED)
		return iw_fail(why, IW_E_NOMEM, "out of memory");
	err = iw_generate_gate_open(&b.gate, why);
	for (size_t k = 0; k < IW_ARRAY_LEN(plan) && !err; k++)
		err = figure(&b, &out->figure[k], k, why);
	if (!err)
		err = baselines(&b, out, why);
	iw_generate_gate_close(&b.gate);
	munmap(b.s, sizeof(*b.s));
	return err;
}

#endif
