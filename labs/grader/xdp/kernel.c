/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "labs/grader/xdp/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "labs/grader/lab.h"
#include "util/num.h"

static struct xdp_kernel_result *result; /* shared with the process that does the work */

/* The first cause remains. Returns false. */
static bool fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

static bool fail(const char *format, ...)
{
	va_list args;

	if (result->text[0])
		return false;
	va_start(args, format);
	vsnprintf(result->text, sizeof(result->text), format, args);
	va_end(args);
	return false;
}

#ifdef IW_HAVE_XDP

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <xdp/xsk.h>

#include "loader/steer.h"
#include "xdp/shared.h"

enum {
	NOBODY = 65534,
	OBJECT_MAX = 1 << 20,
	LOG_SIZE = 8 << 20,
	TIME_MS = 6000, /* for all of the work */
	ARRIVE_MS = 1000,
	SPEED_RUNS = 3,
	SPEED_TIMES = 1000000,
	CPUS_MAX = 8192, /* the largest CONFIG_NR_CPUS: the kernel writes a value for each */
};

/* What the process works with. It ends after the work, so it frees nothing. */
struct work {
	const struct xdp_tables *tables;
	const struct xdp_set *set;
	struct bpf_object *object;
	struct bpf_program *program;
	int prog, streams, xsks, counters;
	uint64_t seen[XDP_COUNTERS];
	char *log;
};

/* --- the rights of the process ------------------------------------------------------------------ */

static void limit(int what, rlim_t value)
{
	struct rlimit l = { value, value };

	setrlimit(what, &l);
}

/*
 * CAP_PERFMON lets the verifier accept arithmetic with pointers, which the usual way to write a
 * parser needs. What else it would allow needs helpers that check_helpers() refuses.
 */
static bool drop_rights(void)
{
	const uint64_t caps = 1ull << CAP_BPF | 1ull << CAP_NET_ADMIN | 1ull << CAP_NET_RAW |
			      1ull << CAP_PERFMON;
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	for (unsigned i = 0; i < 2; i++) {
		uint32_t part = (uint32_t)(caps >> 32 * i);

		data[i] = (struct __user_cap_data_struct){ part, part, 0 };
	}
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_FSIZE, 0);
	limit(RLIMIT_CPU, 20);
	limit(RLIMIT_NOFILE, 64);
	limit(RLIMIT_AS, (rlim_t)1 << 30);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_KEEPCAPS, 1) ||
	    setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY) || syscall(SYS_capset, &head, data))
		return fail("the rights of root cannot be reduced (%m)");
	return true;
}

/* --- the object ----------------------------------------------------------------------------------- */

static const struct shape {
	const char *name;
	enum bpf_map_type type;
	uint32_t key, value, entries;
} shapes[] = {
	{ "streams", BPF_MAP_TYPE_HASH, 8, 4, 64 },
	{ "xsks", BPF_MAP_TYPE_XSKMAP, 4, 4, XDP_ENTRIES },
	{ "counters", BPF_MAP_TYPE_PERCPU_ARRAY, 4, 8, XDP_COUNTERS },
};

/* The compiler makes maps for constants and variables. */
static bool is_of_compiler(const struct bpf_map *m)
{
	return bpf_map__is_internal(m) && bpf_map__value_size(m) <= 65536;
}

static bool check_map(const struct bpf_map *m)
{
	const char *name = bpf_map__name(m);

	if (bpf_map__pin_path(m))
		return fail("the map %s is to be pinned; use the maps as they are in steer.bpf.c",
			    name);
	for (size_t i = 0; i < IW_ARRAY_LEN(shapes); i++) {
		const struct shape *s = &shapes[i];

		if (!strcmp(s->name, name) && bpf_map__type(m) == s->type &&
		    bpf_map__key_size(m) == s->key && bpf_map__value_size(m) == s->value &&
		    bpf_map__max_entries(m) == s->entries)
			return true;
	}
	return is_of_compiler(m) ||
	       fail("the object has a map %s that is not one of steer.h", name);
}

static bool check_object(struct work *w)
{
	struct bpf_program *p;
	struct bpf_map *m;
	unsigned programs = 0;

	bpf_object__for_each_program(p, w->object)
	{
		programs++;
		if (strcmp(bpf_program__name(p), "steer") ||
		    bpf_program__type(p) != BPF_PROG_TYPE_XDP ||
		    strncmp(bpf_program__section_name(p), "xdp", 3) ||
		    strchr(bpf_program__section_name(p), '/'))
			return fail(
				"the object has a program %s in section %s; expected: steer in section xdp",
				bpf_program__name(p), bpf_program__section_name(p));
		w->program = p;
	}
	if (programs != 1)
		return fail("the object has %u programs; expected: one, steer", programs);
	bpf_object__for_each_map(m, w->object) if (!check_map(m)) return false;
	return true;
}

/* The helpers of native_bpf.h. All others are refused, see xdp_kernel.h. */
static bool check_helpers(const struct work *w)
{
	static const int32_t allowed[] = { BPF_FUNC_map_lookup_elem,  BPF_FUNC_map_update_elem,
					   BPF_FUNC_map_delete_elem,  BPF_FUNC_redirect_map,
					   BPF_FUNC_xdp_get_buff_len, BPF_FUNC_trace_printk };
	const struct bpf_insn *insn = bpf_program__insns(w->program);

	for (size_t i = 0; i < bpf_program__insn_cnt(w->program); i++) {
		bool found = false;

		if (insn[i].code != (BPF_JMP | BPF_CALL) || insn[i].src_reg == BPF_PSEUDO_CALL)
			continue;
		for (size_t k = 0; k < IW_ARRAY_LEN(allowed); k++)
			found = found || (!insn[i].src_reg && insn[i].imm == allowed[k]);
		if (!found)
			return fail(
				"the program calls helper %d of linux/bpf.h, which is not in native_bpf.h",
				insn[i].imm);
	}
	return true;
}

static int silent(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

/* The last lines of the verifier's log, as far as the text has room. */
static bool refused(const struct work *w, int err)
{
	const char *head = "the verifier refuses the program. The end of its log:";
	const char *end = strstr(w->log, "\nprocessed "), *at;
	size_t room = sizeof(result->text) - strlen(head) - 40;

	if (!w->log[0])
		return fail("the kernel refuses the program or a map: %s", strerror(-err));
	if (!end)
		end = w->log + strlen(w->log);
	at = end;
	for (const char *line = end; line > w->log; line--)
		if (line[-1] == '\n' && end > line) {
			if ((size_t)(end - line) > room)
				break;
			at = line;
		}
	return fail("%s\n%.*s", head, (int)(end - at), at);
}

static bool load(struct work *w, const void *object, size_t len)
{
	int err;

	libbpf_set_print(silent);
	w->object = bpf_object__open_mem(object, len, NULL);
	if (!w->object)
		return fail("build/steer.o is not a BPF object that libbpf can read");
	w->log = calloc(1, LOG_SIZE);
	if (!w->log)
		return fail("no memory");
	if (!check_object(w))
		return false;
	bpf_program__set_log_buf(w->program, w->log, LOG_SIZE);
	err = bpf_object__load(w->object);
	if (err == -EPERM)
		return fail("this kernel does not let the grader load BPF programs (%s)",
			    strerror(-err));
	if (err)
		return refused(w, err);
	w->prog = bpf_program__fd(w->program);
	w->streams = bpf_object__find_map_fd_by_name(w->object, "streams");
	w->xsks = bpf_object__find_map_fd_by_name(w->object, "xsks");
	w->counters = bpf_object__find_map_fd_by_name(w->object, "counters");
	if (w->streams < 0 || w->xsks < 0 || w->counters < 0)
		return fail("the object lacks one of the maps streams, xsks and counters");
	return check_helpers(w);
}

static void read_facts(const struct work *w)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	if (bpf_obj_get_info_by_fd(w->prog, &info, &len))
		return;
	result->instructions = info.xlated_prog_len / 8;
	result->verified = info.verified_insns;
}

/* --- maps ------------------------------------------------------------------------------------------ */

static bool fill_streams(const struct work *w)
{
	for (size_t i = 0; i < w->tables->n; i++) {
		const struct xdp_stream *s = &w->tables->streams[i];
		struct {
			uint32_t tag;
			uint16_t port, stream;
		} key = { s->tag, s->port, s->stream };

		if (bpf_map_update_elem(w->streams, &key, &s->slot, BPF_ANY))
			return fail("the map streams accepts no entry (%m)");
	}
	return true;
}

/* socket[0] for even slots, socket[1] for odd ones. */
static bool fill_sockets(const struct work *w, const int socket[2])
{
	for (uint32_t i = 0; i < XDP_ENTRIES; i++)
		if (w->tables->socket[i] &&
		    bpf_map_update_elem(w->xsks, &i, &socket[i % 2], BPF_ANY))
			return fail("the map xsks accepts no socket (%m)");
	return true;
}

/* The sum of a counter over all CPUs. Their number is unknown where /sys is missing. */
static uint64_t sum_of(const struct work *w, uint32_t counter)
{
	static uint64_t values[CPUS_MAX];
	int cpus = libbpf_num_possible_cpus();
	uint64_t sum = 0;

	if (bpf_map_lookup_elem(w->counters, &counter, values))
		return 0;
	for (int i = 0; i < (cpus > 0 ? cpus : CPUS_MAX); i++)
		sum += values[i];
	return sum;
}

/* Returns the counter that had 1 added since the last call; XDP_NONE: none, or several. */
static enum xdp_counter counted(struct work *w)
{
	enum xdp_counter found = XDP_NONE;
	unsigned n = 0;

	for (uint32_t i = 0; i < XDP_COUNTERS; i++) {
		uint64_t sum = sum_of(w, i);

		if (sum != w->seen[i]) {
			found = sum == w->seen[i] + 1 ? i : XDP_NONE;
			n++;
		}
		w->seen[i] = sum;
	}
	return n == 1 ? found : XDP_NONE;
}

/* --- test runs --------------------------------------------------------------------------------------- */

/* An entry of the map xsks needs a socket with a receive ring; it need not be bound. */
static int open_socket(void)
{
	int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0), size = 64;

	if (fd >= 0 && setsockopt(fd, SOL_XDP, XDP_RX_RING, &size, sizeof(size)) == 0)
		return fd;
	fail("no AF_XDP socket (%m)");
	return -1;
}

static bool test_run(struct work *w)
{
	int fd = open_socket();

	if (fd < 0 || !fill_streams(w) || !fill_sockets(w, (int[]){ fd, fd }))
		return false;
	counted(w);
	for (size_t i = 0; i < w->set->n; i++) {
		LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = w->set->cases[i].frame,
			    .data_size_in = (uint32_t)w->set->cases[i].len);
		int err = bpf_prog_test_run_opts(w->prog, &o);

		if (err)
			return fail("BPF_PROG_TEST_RUN of a frame of %zu octets failed: %s",
				    w->set->cases[i].len, strerror(-err));
		result->of[i].action = o.retval;
		result->of[i].counter = (uint8_t)counted(w);
	}
	return true;
}

/* --- speed ------------------------------------------------------------------------------------------- */

/* Nanoseconds of a frame; 0 after fail(). */
static double measure(int prog, const struct xdp_case *c)
{
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = c->frame, .data_size_in = (uint32_t)c->len,
		    .repeat = SPEED_TIMES);
	int err = bpf_prog_test_run_opts(prog, &o);

	if (err || o.retval != XDP_REDIRECT) {
		fail("BPF_PROG_TEST_RUN gave %u, not XDP_REDIRECT (%s)", o.retval, strerror(-err));
		return 0;
	}
	return o.duration ? o.duration : 1;
}

/* The steering program of ddp-xdp, with the same stream. */
static int open_ours(const struct xdp_stream *s, int socket)
{
	struct iw_steer_cfg cfg = { .interface = "lo", .load_only = true };
	struct iw_addr any = { .len = 0 };
	struct iw_fault why = { .text = "" };
	struct iw_steer *steer;
	uint32_t worker, endpoint;

	if (iw_steer_open(&steer, &cfg, &why) ||
	    iw_steer_worker_add(steer, &worker, &socket, 1, &why) ||
	    iw_steer_endpoint_add(steer, &endpoint, &any, s->port, XDP_UDP_PORT, worker, NULL,
				  &why) ||
	    iw_steer_assoc_add(steer, endpoint, s->tag, worker, &why)) {
		fail("the project's steering program cannot be loaded: %s", why.text);
		return -1;
	}
	return iw_steer_prog_fd(steer);
}

static double median(double v[static SPEED_RUNS])
{
	double low = IW_MIN(v[0], v[1]), high = IW_MAX(v[0], v[1]);

	return v[2] < low ? low : v[2] > high ? high : v[2];
}

static bool measure_speed(struct work *w)
{
	double student[SPEED_RUNS], ours[SPEED_RUNS];
	int fd = open_socket(), prog;

	if (fd < 0 || !fill_streams(w) || !fill_sockets(w, (int[]){ fd, fd }))
		return false;
	prog = open_ours(&w->tables->streams[0], fd);
	if (prog < 0)
		return false;
	for (unsigned i = 0; i < SPEED_RUNS; i++) {
		student[i] = measure(w->prog, w->set->cases);
		ours[i] = measure(prog, w->set->cases);
	}
	result->student_ns = median(student);
	result->ours_ns = median(ours);
	return !result->text[0];
}

/* --- a veth pair -------------------------------------------------------------------------------------- */

#define NEAR "lab9near" /* frames are sent through it */
#define FAR  "lab9far"  /* has the program and the sockets */

struct request {
	struct nlmsghdr head;
	struct ifinfomsg link;
	uint8_t attributes[256];
};

static struct rtattr *add(struct request *r, unsigned short type, const void *data, size_t len)
{
	struct rtattr *a = (struct rtattr *)(void *)((uint8_t *)r + NLMSG_ALIGN(r->head.nlmsg_len));

	a->rta_type = type;
	a->rta_len = (unsigned short)RTA_LENGTH(len);
	if (len)
		memcpy(RTA_DATA(a), data, len);
	r->head.nlmsg_len = (uint32_t)(NLMSG_ALIGN(r->head.nlmsg_len) + RTA_ALIGN(RTA_LENGTH(len)));
	return a;
}

static void close_attribute(const struct request *r, struct rtattr *a)
{
	a->rta_len = (unsigned short)((const uint8_t *)r + r->head.nlmsg_len - (const uint8_t *)a);
}

/* Asks rtnetlink. Returns 0 or an errno. */
static int ask(const struct request *r)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	union {
		struct nlmsghdr head;
		uint8_t octets[4096];
	} answer;
	const struct nlmsgerr *e = NLMSG_DATA(&answer.head);
	ssize_t n = -1;

	if (fd >= 0 && send(fd, r, r->head.nlmsg_len, 0) >= 0)
		n = recv(fd, &answer, sizeof(answer), 0);
	if (fd >= 0)
		close(fd);
	if (n < (ssize_t)NLMSG_LENGTH(sizeof(*e)) || answer.head.nlmsg_type != NLMSG_ERROR)
		return EIO;
	return -e->error;
}

static bool make_pair(void)
{
	struct request r = { .head = { .nlmsg_len = NLMSG_LENGTH(sizeof(r.link)),
				       .nlmsg_type = RTM_NEWLINK,
				       .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE |
						      NLM_F_EXCL } };
	static const struct ifinfomsg peer_link;
	struct rtattr *info, *data, *peer;
	int err;

	add(&r, IFLA_IFNAME, NEAR, sizeof(NEAR));
	info = add(&r, IFLA_LINKINFO, NULL, 0);
	add(&r, IFLA_INFO_KIND, "veth", 4);
	data = add(&r, IFLA_INFO_DATA, NULL, 0);
	peer = add(&r, VETH_INFO_PEER, &peer_link, sizeof(peer_link));
	add(&r, IFLA_IFNAME, FAR, sizeof(FAR));
	close_attribute(&r, peer);
	close_attribute(&r, data);
	close_attribute(&r, info);
	err = ask(&r);
	return !err || fail("no veth pair can be made: %s", strerror(err));
}

static bool set_up(const char *interface)
{
	struct ifreq r = { .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool ok;

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", interface);
	ok = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &r) == 0;
	if (fd >= 0)
		close(fd);
	return ok || fail("%s cannot be set up (%m)", interface);
}

/* --- frames that cross it ------------------------------------------------------------------------------ */

enum { RING = 128, FRAME_SIZE = 2048 };

/* Two AF_XDP sockets of queue 0, with one UMEM, and a socket for what reaches the kernel. */
struct receiver {
	uint8_t *area;
	struct xsk_umem *umem;
	struct xsk_ring_prod fill;
	struct xsk_ring_cons done, rx[2];
	struct xsk_socket *xsk[2];
	int kernel;
};

static int open_packet_socket(const char *interface)
{
	struct sockaddr_ll a = { .sll_family = AF_PACKET,
				 .sll_protocol = htons(ETH_P_ALL),
				 .sll_ifindex = (int)if_nametoindex(interface) };
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a))) {
		fail("no packet socket on %s (%m)", interface);
		return -1;
	}
	return fd;
}

static bool open_receiver(struct receiver *r)
{
	const struct xsk_umem_config umem = { .fill_size = RING,
					      .comp_size = RING,
					      .frame_size = FRAME_SIZE };
	const struct xsk_socket_config cfg = { .rx_size = RING,
					       .libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD,
					       .bind_flags = XDP_COPY };
	uint32_t at;
	int err;

	r->area = mmap(NULL, RING * FRAME_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
	if (r->area == MAP_FAILED)
		return fail("no memory");
	err = xsk_umem__create(&r->umem, r->area, RING * FRAME_SIZE, &r->fill, &r->done, &umem);
	for (unsigned i = 0; i < 2 && !err; i++)
		err = xsk_socket__create(&r->xsk[i], FAR, 0, r->umem, &r->rx[i], NULL, &cfg);
	if (err)
		return fail("no AF_XDP socket on a veth interface: %s", strerror(-err));
	if (xsk_ring_prod__reserve(&r->fill, RING, &at) != RING)
		return fail("the fill ring has no room");
	for (uint32_t i = 0; i < RING; i++)
		*xsk_ring_prod__fill_addr(&r->fill, at + i) = (uint64_t)i * FRAME_SIZE;
	xsk_ring_prod__submit(&r->fill, RING);
	r->kernel = open_packet_socket(FAR);
	return r->kernel >= 0;
}

/* The frame of the set with that number in its source address; NULL: another frame. */
static const struct xdp_case *which(const struct work *w, const uint8_t *frame, size_t len,
				    size_t *i)
{
	if (len < 14 || frame[6] != 2 || frame[7] || frame[8] || frame[9])
		return NULL;
	*i = iw_get_be16(frame + 10) - 1u;
	return *i < w->set->n ? &w->set->cases[*i] : NULL;
}

static void note(struct work *w, const uint8_t *frame, size_t len, enum xdp_where where)
{
	size_t i;
	const struct xdp_case *c = which(w, frame, len, &i);

	if (!c)
		return;
	if (len != c->len || memcmp(frame, c->frame, len))
		where = XDP_CHANGED;
	result->of[i].where = (uint8_t)(result->of[i].where == XDP_NOWHERE ? where : XDP_TWICE);
}

static void take_frames(struct work *w, struct receiver *r)
{
	uint8_t frame[FRAME_SIZE];
	ssize_t len;

	for (unsigned i = 0; i < 2; i++) {
		uint32_t at, n = xsk_ring_cons__peek(&r->rx[i], RING, &at);

		for (uint32_t k = 0; k < n; k++) {
			const struct xdp_desc *d = xsk_ring_cons__rx_desc(&r->rx[i], at + k);

			note(w, xsk_umem__get_data(r->area, d->addr), d->len,
			     i ? XDP_SOCKET_B : XDP_SOCKET_A);
		}
		xsk_ring_cons__release(&r->rx[i], n);
	}
	while ((len = recv(r->kernel, frame, sizeof(frame), MSG_TRUNC)) > 0)
		note(w, frame, IW_MIN((size_t)len, sizeof(frame)), XDP_KERNEL);
}

static bool all_arrived(const struct work *w)
{
	for (size_t i = 0; i < w->set->n; i++)
		if (result->of[i].where == XDP_NOWHERE)
			return false;
	return true;
}

static bool attach(const struct work *w)
{
	int ifindex = (int)if_nametoindex(FAR);
	int err = bpf_xdp_attach(ifindex, w->prog, XDP_FLAGS_DRV_MODE, NULL);

	if (err)
		err = bpf_xdp_attach(ifindex, w->prog, XDP_FLAGS_SKB_MODE, NULL);
	return !err ||
	       fail("the program cannot be attached to a veth interface: %s", strerror(-err));
}

static bool cross(struct work *w)
{
	static struct receiver r;
	uint64_t deadline;
	int sender;

	if (!make_pair() || !set_up(NEAR) || !set_up(FAR) || !open_receiver(&r) ||
	    !fill_streams(w) ||
	    !fill_sockets(w, (int[]){ xsk_socket__fd(r.xsk[0]), xsk_socket__fd(r.xsk[1]) }) ||
	    !attach(w))
		return false;
	sender = open_packet_socket(NEAR);
	if (sender < 0)
		return false;
	/* The queue of an interface that has just been set up may still drop frames. */
	if (setsockopt(sender, SOL_PACKET, PACKET_QDISC_BYPASS, &(int){ 1 }, sizeof(int)))
		return fail("a packet socket cannot bypass the queue of its interface (%m)");
	for (size_t i = 0; i < w->set->n; i++)
		if (send(sender, w->set->cases[i].frame, w->set->cases[i].len, 0) < 0)
			return fail("a frame of %zu octets cannot be sent (%m)",
				    w->set->cases[i].len);
	deadline = lab_now() + (uint64_t)ARRIVE_MS * 1000000;
	while (!all_arrived(w) && lab_now() < deadline) {
		take_frames(w, &r);
		usleep(1000);
	}
	/* A frame that arrives a second time is wrong, too. */
	usleep(20000);
	take_frames(w, &r);
	return true;
}

/* --- the process ---------------------------------------------------------------------------------------- */

static void do_work(enum xdp_kernel_work what, struct work *w, const void *object, size_t len)
{
	if (unshare(CLONE_NEWNET)) {
		fail("no new network namespace (%m): in a container, allow CAP_SYS_ADMIN");
		return;
	}
	if (!drop_rights() || !load(w, object, len))
		return;
	read_facts(w);
	switch (what) {
	case XDP_TEST_RUN:
		result->ok = test_run(w);
		break;
	case XDP_VETH:
		result->ok = cross(w);
		break;
	case XDP_SPEED:
		result->ok = measure_speed(w);
		break;
	}
}

static void wait_for(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0), status = 0;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (poll(&p, 1, TIME_MS) != 1) {
		kill(pid, SIGKILL);
		fail("the kernel did not finish the work within %d s", TIME_MS / 1000);
		result->ok = false;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (fd >= 0)
		close(fd);
	if (!result->ok)
		fail("the process that loads the program ended with status 0x%x", (unsigned)status);
}

static bool run(enum xdp_kernel_work what, const struct xdp_tables *t, const struct xdp_set *set,
		const void *object, size_t len)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return false;
	if (pid == 0) {
		struct work w = { .tables = t, .set = set };

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		do_work(what, &w, object, len);
		_exit(0);
	}
	wait_for(pid);
	return true;
}

#else

enum { OBJECT_MAX = 1 << 20 };

static bool run(enum xdp_kernel_work what, const struct xdp_tables *t, const struct xdp_set *set,
		const void *object, size_t len)
{
	(void)what;
	(void)t;
	(void)set;
	(void)object;
	(void)len;
	fail("this grader was built without libxdp");
	return true;
}

#endif

/* Reads a file of the student: its kind and size are not known. */
static uint8_t *read_object(const char *path, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint8_t *object = malloc(OBJECT_MAX + 1);
	ssize_t n;

	*len = 0;
	while (fd >= 0 && object && *len <= OBJECT_MAX &&
	       (n = read(fd, object + *len, OBJECT_MAX + 1 - *len)) > 0)
		*len += (size_t)n;
	if (fd >= 0)
		close(fd);
	if (object && *len && *len <= OBJECT_MAX)
		return object;
	free(object);
	return NULL;
}

const struct xdp_kernel_result *xdp_kernel_run(const char *object, enum xdp_kernel_work work,
					       const struct xdp_tables *t,
					       const struct xdp_set *set)
{
	size_t len;
	uint8_t *octets;
	bool ok;

	if (!result)
		result = mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (result == MAP_FAILED) {
		result = NULL;
		return NULL;
	}
	memset(result, 0, sizeof(*result));
	octets = read_object(object, &len);
	if (!octets) {
		fail("%s cannot be read, or has more than 1 MiB", object);
		return result;
	}
	ok = run(work, t, set, octets, len);
	free(octets);
	return ok ? result : NULL;
}
