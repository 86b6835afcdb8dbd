// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * ddp-xdp: keeps the XDP programs on an interface, tells what they see, and takes them away.
 */
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/human.h"
#include "cli/option.h"
#include "cli/signals.h"
#include "cli/table.h"
#include "os/addr.h"
#include "os/os.h"
#include "os/priv.h"
#include "pkt/attach.h"
#include "pkt/observe.h"
#include "pkt/steer.h"
#include "util/num.h"
#include "util/text.h"
#include "wire/ddp.h"

enum {
	KEY_MODE = 0xb801, /* no character: long only */
	KEY_PROGRAM,
	KEY_PIN,
	KEY_FOREGROUND,
	KEY_DISPATCHER,
	KEY_SAMPLE,
	KEY_ASSOCIATIONS,
	KEY_STAGS,
	KEY_INTERVAL,
	KEY_EVENTS,
	KEY_FORCE_CLEAN,
};

#define INTERVAL_MIN IW_MSEC(10)
#define INTERVAL_MAX IW_SEC(3600)
#define ENTRIES_MAX  (1u << 26) /* of a map */
#define EVENTS_MAX   64         /* taken at once */
#define STREAMS_MAX  64         /* told for people; JSON has them all */

/* How the program stays. */
enum keep { KEEP_HOLDER, KEEP_FOREGROUND, KEEP_PIN, KEEP_DISPATCHER };
static const char *const keep_names[] = { "holder", "foreground", "pin", "dispatcher" };
static const char *const mode_names[] = { "any", "native", "generic", NULL };
enum program { PROGRAM_STEER, PROGRAM_MPA };
static const char *const program_names[] = { "steer", "mpa", NULL };

struct opts {
	struct iw_cli *cli;
	/* attach */
	enum iw_xdp_mode mode;
	enum program program;
	enum keep keep;
	const char *pins; /* the directory of pinned links */
	uint32_t sample, associations, stags;
	/* status */
	bool again, events;
	uint64_t interval_ns, count;
	/* detach */
	bool force;
};

static int end_line(struct opts *o, struct iw_fault *why)
{
	int err = iw_json_end(&o->cli->out);

	return err ? iw_fail(why, err, "standard output: %s", iw_err_text(err)) : 0;
}

/* --- options ----------------------------------------------------------------------------------- */

/* clang-format off */
static const struct argp_option attach_options[] = {
	{ "program", KEY_PROGRAM, "NAME", 0,
	  "steer, which gives packets to -t xdp, or mpa, which watches MPA over TCP (default steer)", 0 },
	{ "mode", KEY_MODE, "MODE", 0,
	  "any, native or generic (default any: native, and generic where the driver has none)", 0 },
	{ "foreground", KEY_FOREGROUND, NULL, 0, "Stay, and keep it until interrupted", 1 },
	{ "pin", KEY_PIN, "DIR", OPTION_ARG_OPTIONAL,
	  "No process keeps it: it is pinned in DIR on a mounted bpf (default " IW_XDP_PINS ")", 1 },
	{ "dispatcher", KEY_DISPATCHER, NULL, 0,
	  "Through libxdp's dispatcher, beside other programs; needs /sys/fs/bpf", 1 },
	{ "sample", KEY_SAMPLE, "N", 0, "Tell one event of N (default 256)", 2 },
	{ "associations", KEY_ASSOCIATIONS, "N", 0, "Room for N associations (default 65536)", 2 },
	{ "stags", KEY_STAGS, "N", 0, "Room for N STags (default 1048576)", 2 },
	{ 0 },
};

static const struct argp_option status_options[] = {
	{ "interval", KEY_INTERVAL, "TIME", 0, "Look again that often, and tell rates", 0 },
	{ "count", 'c', "N", 0, "End after N looks (default: 1, or never with --interval)", 0 },
	{ "events", KEY_EVENTS, NULL, 0, "Tell sampled events, too; who reads one has it alone", 0 },
	{ 0 },
};

static const struct argp_option detach_options[] = {
	{ "force-clean", KEY_FORCE_CLEAN, NULL, 0,
	  "Whatever it is, whoever uses it; and what others left behind", 0 },
	{ "pin", KEY_PIN, "DIR", 0, "Where it was pinned (default " IW_XDP_PINS ")", 0 },
	{ 0 },
};
/* clang-format on */

static error_t parse_common(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = o->cli;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "\"%s\": no argument is expected", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t need_interface(const struct argp_state *state)
{
	const struct opts *o = state->input;

	if (!o->cli->interface)
		argp_error(state, "--interface is missing");
	return 0;
}

static void set_keep(const struct argp_state *state, struct opts *o, enum keep keep)
{
	if (o->keep != KEEP_HOLDER && o->keep != keep)
		argp_error(state, "--%s and --%s exclude each other", keep_names[o->keep],
			   keep_names[keep]);
	o->keep = keep;
}

static const char *directory(const struct argp_state *state, const char *arg)
{
	if (arg[0] != '/')
		argp_error(state, "--pin \"%s\": expected an absolute path", arg);
	return arg;
}

static error_t parse_attach(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;

	switch (key) {
	case KEY_PROGRAM:
		o->program = (enum program)iw_cli_enum(state, "--program", arg, program_names);
		return 0;
	case KEY_MODE:
		o->mode = (enum iw_xdp_mode)iw_cli_enum(state, "--mode", arg, mode_names);
		return 0;
	case KEY_FOREGROUND:
		set_keep(state, o, KEEP_FOREGROUND);
		return 0;
	case KEY_PIN:
		set_keep(state, o, KEEP_PIN);
		if (arg)
			o->pins = directory(state, arg);
		return 0;
	case KEY_DISPATCHER:
		set_keep(state, o, KEEP_DISPATCHER);
		return 0;
	case KEY_SAMPLE:
		o->sample = (uint32_t)iw_cli_u64(state, "--sample", arg, 1, UINT32_MAX);
		return 0;
	case KEY_ASSOCIATIONS:
		o->associations =
			(uint32_t)iw_cli_u64(state, "--associations", arg, 1, ENTRIES_MAX);
		return 0;
	case KEY_STAGS:
		o->stags = (uint32_t)iw_cli_u64(state, "--stags", arg, 1, ENTRIES_MAX);
		return 0;
	case ARGP_KEY_END:
		if (o->program == PROGRAM_MPA &&
		    (o->mode == IW_XDP_GENERIC || o->keep == KEEP_DISPATCHER))
			argp_error(state, "--program mpa: native mode only, without --dispatcher");
		return need_interface(state);
	default:
		return parse_common(key, arg, state);
	}
}

static error_t parse_status(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;

	switch (key) {
	case KEY_INTERVAL:
		o->interval_ns =
			iw_cli_duration(state, "--interval", arg, INTERVAL_MIN, INTERVAL_MAX);
		o->again = true;
		return 0;
	case 'c':
		o->count = iw_cli_u64(state, "--count", arg, 1, UINT64_MAX);
		return 0;
	case KEY_EVENTS:
		o->events = true;
		return 0;
	case ARGP_KEY_END:
		if (o->count == 0 && !o->again)
			o->count = 1;
		return 0;
	default:
		return parse_common(key, arg, state);
	}
}

static error_t parse_detach(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;

	switch (key) {
	case KEY_FORCE_CLEAN:
		o->force = true;
		return 0;
	case KEY_PIN:
		o->pins = directory(state, arg);
		return 0;
	case ARGP_KEY_END:
		return need_interface(state);
	default:
		return parse_common(key, arg, state);
	}
}

/* --- attach ------------------------------------------------------------------------------------ */

/* What was attached, and what that did. */
struct done {
	struct iw_steer *steer; /* one of these two */
	struct iw_observe *observe;
	struct iw_xdp_attached a;
	unsigned ifindex, queues;
	unsigned on_before, on_after; /* enum iw_xdp_offload */
	int holder;                   /* process; 0: none */
	int link;
};

static int attach_program(struct opts *o, struct done *d, struct iw_fault *why)
{
	const struct iw_steer_cfg cfg = {
		.interface = o->cli->interface,
		.mode = o->mode,
		.assocs_max = o->associations,
		.stags_max = o->stags,
		.sample = o->sample,
		.alone = true,
		.dispatcher = o->keep == KEEP_DISPATCHER,
	};
	int err;

	if (o->program == PROGRAM_STEER) {
		err = iw_steer_open(&d->steer, &cfg, why);
		d->link = err ? -1 : iw_steer_link_fd(d->steer);
	} else {
		err = iw_observe_open(&d->observe, o->cli->interface, why);
		d->link = err ? -1 : iw_observe_link_fd(d->observe);
	}
	return err;
}

static void free_done(struct done *d)
{
	iw_steer_close(d->steer);
	iw_observe_close(d->observe);
}

/* Nothing but the link stays open; the program goes with it, or it with the program. */
_Noreturn static void hold(int link)
{
	static const int only = STDERR_FILENO + 1;
	struct iw_fault why;
	sigset_t none;

	(void)setsid();
	if (chdir("/") < 0 || !freopen("/dev/null", "r", stdin) ||
	    !freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr) ||
	    (link != only && dup2(link, only) < 0))
		_exit(IW_EXIT_FAILED);
	(void)close_range((unsigned)only + 1, ~0u, 0);
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* It has no work to do, so it needs no rights; where they cannot be dropped it does no harm. */
	if (iw_os_priv_drop(&why) < 0)
		errno = 0;
	while (iw_xdp_link_holds(only))
		(void)poll(NULL, 0, 1000);
	_exit(IW_EXIT_OK);
}

static int start_holder(struct done *d, struct iw_fault *why)
{
	d->holder = fork();
	if (d->holder < 0)
		return iw_os_fail(why, errno, "start a holder");
	if (d->holder == 0)
		hold(d->link);
	return 0;
}

static int keep_it(struct opts *o, struct done *d, struct iw_fault *why)
{
	switch (o->keep) {
	case KEEP_HOLDER:
		return start_holder(d, why);
	case KEEP_PIN:
		return iw_xdp_pin(d->link, o->pins, o->cli->interface, why);
	case KEEP_FOREGROUND:
		d->holder = getpid();
		return 0;
	case KEEP_DISPATCHER:
		return 0;
	}
	return 0;
}

static void put_offloads_json(struct iw_json *w, const char *key, unsigned bits)
{
	iw_json_open_array(w, key);
	for (unsigned bit = 1; bit <= IW_XDP_TX_CSUM; bit <<= 1)
		if (bits & bit)
			iw_json_str(w, NULL, iw_xdp_offload_name((enum iw_xdp_offload)bit));
	iw_json_close(w);
}

static int attached_json(struct opts *o, const struct done *d, struct iw_fault *why)
{
	struct iw_json *w = &o->cli->out;

	iw_json_begin(w, "attached");
	iw_json_str(w, "interface", o->cli->interface);
	iw_json_u64(w, "ifindex", d->ifindex);
	iw_json_str(w, "program", program_names[o->program]);
	iw_json_str(w, "mode", d->a.native ? "native" : "generic");
	iw_json_bool(w, "multi_buffer", o->program == PROGRAM_STEER);
	iw_json_u64(w, "queues", d->queues);
	iw_json_u64(w, "program_id", d->a.program);
	iw_json_u64(w, "link_id", d->a.link);
	iw_json_u64(w, "verified_insns", d->a.insns);
	iw_json_str(w, "kept_by", keep_names[o->keep]);
	if (d->holder)
		iw_json_u64(w, "holder_pid", (uint64_t)d->holder);
	if (o->keep == KEEP_PIN)
		iw_json_str(w, "pin", o->pins);
	put_offloads_json(w, "offloads", d->on_after);
	put_offloads_json(w, "offloads_lost", d->on_before & ~d->on_after);
	return end_line(o, why);
}

static void attached_text(const struct opts *o, const struct done *d)
{
	const char *name = o->cli->interface;
	unsigned lost = d->on_before & ~d->on_after;

	printf("%s: %s attached, %s mode, %u queue%s, program %u", name, program_names[o->program],
	       d->a.native ? "native" : "generic", d->queues, d->queues == 1 ? "" : "s",
	       d->a.program);
	if (o->keep == KEEP_PIN)
		printf(", pinned in %s\n", o->pins);
	else if (o->keep == KEEP_DISPATCHER)
		printf(", in a dispatcher\n");
	else
		printf(", kept by process %d\n", d->holder);
	for (unsigned bit = 1; bit <= IW_XDP_TX_CSUM; bit <<= 1)
		if (lost & bit)
			printf("%s: %s went off\n", name,
			       iw_xdp_offload_name((enum iw_xdp_offload)bit));
	if (o->program == PROGRAM_MPA)
		printf("%s: while it is there no frame may be larger than one buffer: lro stays off, and the "
		       "other end of a veth pair sends without segmentation offload\n",
		       name);
	(void)fflush(stdout);
}

/* Until somebody asks to stop, or takes the program away. */
static int stay(const struct done *d, const char *interface, struct iw_fault *why)
{
	struct pollfd pfd = { .fd = iw_signals_fd(), .events = POLLIN };

	while (poll(&pfd, 1, 1000) <= 0)
		if (!iw_xdp_link_holds(d->link))
			return iw_fail(why, IW_E_NOENT, "xdp: the program on %s was detached",
				       interface);
	return 0;
}

static void warn_of_leftovers(const char *name, unsigned ifindex)
{
	struct iw_xdp_attached a;

	if (iw_xdp_attached(&a, ifindex, NULL) == 0 &&
	    iw_xdp_dispatchers_left(ifindex, a.program) > 0)
		iw_log_warn("/sys/fs/bpf/xdp: left behind, of a dispatcher that %s has no more: "
			    "`ddp-xdp detach -I %s --force-clean`",
			    name, name);
}

static int work_attach(struct opts *o, int *status, struct iw_fault *why)
{
	const char *name = o->cli->interface;
	struct done d = { .link = -1 };
	int err = iw_xdp_ifindex(&d.ifindex, name, why);

	(void)status;
	if (err)
		return err;
	warn_of_leftovers(name, d.ifindex);
	if (iw_xdp_pinned(o->pins, name) == IW_XDP_STALE)
		iw_log_warn("%s/%s: left behind, of a link to nothing: `ddp-xdp detach -I %s "
			    "--force-clean`",
			    o->pins, name, name);
	d.on_before = iw_xdp_offloads(name);
	err = attach_program(o, &d, why);
	if (!err)
		err = iw_xdp_attached(&d.a, d.ifindex, why);
	if (!err) {
		d.on_after = iw_xdp_offloads(name);
		d.queues = iw_xdp_queues(name);
		err = keep_it(o, &d, why);
	}
	if (!err && o->cli->json)
		err = attached_json(o, &d, why);
	else if (!err && !o->cli->quiet)
		attached_text(o, &d);
	if (!err && o->keep == KEEP_FOREGROUND)
		err = stay(&d, name, why);
	free_done(&d);
	return err;
}

/* --- status: what there is --------------------------------------------------------------------- */

struct look {
	char name[IF_NAMESIZE];
	unsigned ifindex, queues;
	struct iw_xdp_attached a;
	int holder;
	char holder_name[16];
	enum iw_xdp_pinned pinned;
	unsigned dispatchers_left;
	struct iw_steer *steer; /* NULL: not ours, or not to be looked into */
	struct iw_observe *observe;
	struct iw_xdp_counters count, before;
	struct iw_xdp_mpa mpa, mpa_before;
	uint64_t at, at_before;
};

static void close_look(struct look *l)
{
	iw_steer_close(l->steer);
	iw_observe_close(l->observe);
}

/* Once for an interface. */
static int open_look(const struct opts *o, struct look *l, struct iw_fault *why)
{
	int err;

	l->queues = iw_xdp_queues(l->name);
	l->holder = iw_xdp_holder(l->a.link, l->holder_name);
	l->pinned = iw_xdp_pinned(o->pins, l->name);
	l->dispatchers_left = iw_xdp_dispatchers_left(l->ifindex, l->a.program);
	if (l->a.owner == IW_XDP_STEER || l->a.inside)
		err = iw_steer_look(&l->steer, l->name, why);
	else if (l->a.owner == IW_XDP_OBSERVE)
		err = iw_observe_look(&l->observe, l->name, why);
	else
		return 0;
	return err;
}

static int read_look(struct look *l, struct iw_fault *why)
{
	int err = iw_xdp_attached(&l->a, l->ifindex, why);

	if (err)
		return err;
	l->at_before = l->at;
	l->at = iw_os_now();
	l->before = l->count;
	l->mpa_before = l->mpa;
	if (l->steer && iw_steer_counters(l->steer, &l->count) < 0)
		return iw_fail(why, IW_E_OS, "%s: the counters cannot be read", l->name);
	if (l->observe && iw_observe_counters(l->observe, &l->mpa) < 0)
		return iw_fail(why, IW_E_OS, "%s: the counters cannot be read", l->name);
	return 0;
}

static uint64_t per_second(const struct look *l, uint64_t n)
{
	uint64_t ns = l->at - l->at_before;

	return l->at_before && ns ? (uint64_t)((double)n * 1e9 / (double)ns) : 0;
}

/* --- status: JSON ------------------------------------------------------------------------------ */

static const char *address_text(char buf[static IW_ADDR_TEXT], const void *addr)
{
	static const uint8_t any[16];
	struct iw_addr a = { .in6 = { .sin6_family = AF_INET6 }, .len = sizeof(a.in6) };

	if (memcmp(addr, any, sizeof(any)) == 0) {
		snprintf(buf, IW_ADDR_TEXT, "*");
		return buf;
	}
	memcpy(&a.in6.sin6_addr, addr, 16);
	if (IN6_IS_ADDR_V4MAPPED(&a.in6.sin6_addr)) {
		a.in = (struct sockaddr_in){ .sin_family = AF_INET };
		memcpy(&a.in.sin_addr, (const uint8_t *)addr + 12, 4);
		a.len = sizeof(a.in);
	}
	return iw_addr_host(buf, &a);
}

static uint16_t wire_port(const uint16_t *port)
{
	return iw_get_be16((const uint8_t *)port);
}

static int endpoint_json(void *ctx, const void *key, const void *value)
{
	const struct iw_xdp_endpoint_key *k = key;
	const struct iw_xdp_endpoint *e = value;
	struct iw_json *w = ctx;
	char text[IW_ADDR_TEXT];

	iw_json_open_object(w, NULL);
	iw_json_str(w, "address", address_text(text, k->addr));
	iw_json_u64(w, "sctp_port", wire_port(&k->sctp_port));
	iw_json_u64(w, "udp_port", wire_port(&k->udp_port));
	iw_json_u64(w, "worker", e->worker);
	iw_json_close(w);
	return 0;
}

static int socket_json(void *ctx, const void *key, const void *value)
{
	const struct iw_xdp_sock *s = value;
	struct iw_json *w = ctx;
	uint32_t slot;

	memcpy(&slot, key, sizeof(slot));
	iw_json_open_object(w, NULL);
	iw_json_u64(w, "queue", slot / IW_XDP_WORKERS);
	iw_json_u64(w, "worker", slot % IW_XDP_WORKERS);
	iw_json_u64(w, "pid", s->pid);
	iw_json_bool(w, "zerocopy", s->flags & IW_XDP_SOCK_ZEROCOPY);
	iw_json_bool(w, "need_wakeup", s->flags & IW_XDP_SOCK_NEED_WAKEUP);
	iw_json_bool(w, "multi_buffer", s->flags & IW_XDP_SOCK_SG);
	iw_json_bool(w, "busy_poll", s->flags & IW_XDP_SOCK_BUSY_POLL);
	iw_json_u64(w, "rx_packets", s->rx);
	iw_json_u64(w, "tx_packets", s->tx);
	iw_json_u64(w, "rx_dropped", s->rx_dropped);
	iw_json_u64(w, "rx_ring_full", s->rx_ring_full);
	iw_json_u64(w, "rx_fill_empty", s->rx_fill_empty);
	iw_json_u64(w, "tx_invalid", s->tx_invalid);
	iw_json_close(w);
	return 0;
}

static int stream_json(void *ctx, const void *key, const void *value)
{
	const struct iw_xdp_stream_key *k = key;
	const struct iw_xdp_stream *s = value;
	struct iw_json *w = ctx;

	iw_json_open_object(w, NULL);
	iw_json_u64(w, "tag", k->tag);
	iw_json_u64(w, "stream", k->stream);
	iw_json_u64(w, "segments", s->segments);
	iw_json_u64(w, "octets", s->octets);
	iw_json_close(w);
	return 0;
}

static int count_one(void *ctx, const void *key, const void *value)
{
	(void)key;
	(void)value;
	++*(uint64_t *)ctx;
	return 0;
}

static uint64_t how_many(const struct look *l, enum iw_steer_what what)
{
	uint64_t n = 0;

	(void)iw_steer_each(l->steer, what, count_one, &n);
	return n;
}

/* clang-format off */
#define IW_X_(name, key, text) key,
static const char *const pass_keys[] = { IW_XDP_PASS_LIST(IW_X_) };
static const char *const seen_keys[] = { IW_XDP_SEEN_LIST(IW_X_) };
#undef IW_X_
#define IW_X_(name, text) #name,
static const char *const mpa_keys[] = { IW_XDP_MPA_LIST(IW_X_) };
#undef IW_X_
#define IW_X_(name, key, text) text,
static const char *const pass_texts[] = { IW_XDP_PASS_LIST(IW_X_) };
static const char *const seen_texts[] = { IW_XDP_SEEN_LIST(IW_X_) };
#undef IW_X_
/* clang-format on */
static const char *const tl_keys[] = { "untagged", "untagged_last", "tagged", "tagged_last" };

static void put_list_json(struct iw_json *w, const char *key, const char *const *keys,
			  const uint64_t *value, size_t n)
{
	iw_json_open_object(w, key);
	for (size_t i = 0; i < n; i++)
		iw_json_u64(w, keys[i], value[i]);
	iw_json_close(w);
}

static void put_opcodes_json(struct iw_json *w, const struct iw_xdp_counters *c)
{
	iw_json_open_array(w, "opcodes");
	for (uint8_t i = 0; i < 16; i++) {
		if (c->opcode[i] == 0)
			continue;
		iw_json_open_object(w, NULL);
		iw_json_u64(w, "opcode", i);
		iw_json_str(w, "name", iw_opcode_name(i));
		iw_json_u64(w, "segments", c->opcode[i]);
		iw_json_close(w);
	}
	iw_json_close(w);
}

static void put_steer_json(struct iw_json *w, const struct look *l)
{
	const struct iw_xdp_counters *c = &l->count;

	iw_json_bool(w, "multi_buffer", true);
	iw_json_open_array(w, "endpoints");
	(void)iw_steer_each(l->steer, IW_STEER_ENDPOINTS, endpoint_json, w);
	iw_json_close(w);
	iw_json_u64(w, "associations", how_many(l, IW_STEER_ASSOCS));
	iw_json_open_array(w, "sockets");
	(void)iw_steer_each(l->steer, IW_STEER_SOCKETS, socket_json, w);
	iw_json_close(w);
	iw_json_u64(w, "packets", c->packets);
	iw_json_u64(w, "octets", c->octets);
	if (l->at_before) {
		iw_json_u64(w, "packets_per_second", per_second(l, c->packets - l->before.packets));
		iw_json_u64(w, "bits_per_second", 8 * per_second(l, c->octets - l->before.octets));
	}
	iw_json_u64(w, "chunks", c->chunks);
	iw_json_u64(w, "data", c->data);
	iw_json_u64(w, "segments", c->segments);
	iw_json_u64(w, "controls", c->controls);
	iw_json_u64(w, "foreign", c->foreign);
	iw_json_u64(w, "tagged_octets", c->tagged_octets);
	iw_json_u64(w, "untagged_octets", c->untagged_octets);
	iw_json_u64(w, "events_lost", c->events_lost);
	put_list_json(w, "tl", tl_keys, c->tl, 4);
	put_opcodes_json(w, c);
	put_list_json(w, "passed", pass_keys, c->passed, IW_XDP_PASS_COUNT);
	put_list_json(w, "seen", seen_keys, c->seen, IW_XDP_SEEN_COUNT);
	iw_json_open_array(w, "streams");
	(void)iw_steer_each(l->steer, IW_STEER_STREAMS, stream_json, w);
	iw_json_close(w);
}

static int flow_json(void *ctx, const struct iw_xdp_flow_key *k, const struct iw_xdp_flow *f)
{
	struct iw_json *w = ctx;
	char text[IW_ADDR_TEXT];

	iw_json_open_object(w, NULL);
	iw_json_str(w, "source", address_text(text, k->src));
	iw_json_u64(w, "source_port", wire_port(&k->sport));
	iw_json_str(w, "destination", address_text(text, k->dst));
	iw_json_u64(w, "destination_port", wire_port(&k->dport));
	iw_json_u64(w, "segments", f->segments);
	iw_json_u64(w, "followed", f->followed);
	iw_json_u64(w, "aligned", f->aligned);
	iw_json_u64(w, "fpdus", f->fpdus);
	iw_json_u64(w, "holes", f->holes);
	iw_json_u64(w, "resent", f->resent);
	iw_json_bool(w, "markers", f->markers == IW_XDP_MARKERS);
	iw_json_bool(w, "lost", f->lost);
	iw_json_close(w);
	return 0;
}

static double aligned_share(const struct iw_xdp_mpa *m)
{
	return m->followed ? (double)m->aligned / (double)m->followed : 0;
}

static void put_mpa_json(struct iw_json *w, const struct look *l)
{
	const uint64_t *value = (const uint64_t *)&l->mpa;

	_Static_assert(sizeof(l->mpa) == sizeof(mpa_keys) / sizeof(mpa_keys[0]) * sizeof(*value),
		       "a key for each");
	iw_json_open_object(w, "mpa");
	for (size_t i = 0; i < IW_ARRAY_LEN(mpa_keys); i++)
		iw_json_u64(w, mpa_keys[i], value[i]);
	iw_json_f64(w, "aligned_share", aligned_share(&l->mpa));
	iw_json_open_array(w, "connections");
	(void)iw_observe_each(l->observe, flow_json, w);
	iw_json_close(w);
	iw_json_close(w);
}

static int look_json(struct opts *o, const struct look *l, struct iw_fault *why)
{
	struct iw_json *w = &o->cli->out;

	iw_json_begin(w, "status");
	iw_json_str(w, "interface", l->name);
	iw_json_u64(w, "ifindex", l->ifindex);
	iw_json_str(w, "owner", iw_xdp_owner_name(l->a.owner));
	iw_json_u64(w, "queues", l->queues);
	if (l->a.program) {
		iw_json_str(w, "name", l->a.name);
		iw_json_str(w, "mode", l->a.native ? "native" : "generic");
		iw_json_u64(w, "program_id", l->a.program);
		iw_json_u64(w, "link_id", l->a.link);
		iw_json_u64(w, "verified_insns", l->a.insns);
		iw_json_u64(w, "runs", l->a.runs);
		iw_json_u64(w, "run_ns", l->a.run_ns);
	}
	if (l->holder) {
		iw_json_u64(w, "holder_pid", (uint64_t)l->holder);
		iw_json_str(w, "holder", l->holder_name);
	}
	if (l->pinned != IW_XDP_NO_PIN) {
		iw_json_str(w, "pin", o->pins);
		iw_json_bool(w, "pin_stale", l->pinned == IW_XDP_STALE);
	}
	if (l->dispatchers_left)
		iw_json_u64(w, "dispatchers_left", l->dispatchers_left);
	if (l->steer)
		put_steer_json(w, l);
	if (l->observe)
		put_mpa_json(w, l);
	return end_line(o, why);
}

/* --- status: for people ------------------------------------------------------------------------- */

static void print_who(const struct look *l, const struct opts *o)
{
	if (l->a.program == 0) {
		printf("%s: no XDP program\n", l->name);
		return;
	}
	printf("%s: %s (%s), %s mode, program %u", l->name, iw_xdp_owner_name(l->a.owner),
	       l->a.name, l->a.native ? "native" : "generic", l->a.program);
	if (l->holder)
		printf(", kept by process %d (%s)\n", l->holder, l->holder_name);
	else if (l->pinned == IW_XDP_PINNED)
		printf(", pinned in %s\n", o->pins);
	else
		printf(", %s\n", l->a.link ? "kept by a link" : "until somebody detaches it");
}

static int print_socket(void *ctx, const void *key, const void *value)
{
	const struct iw_xdp_sock *s = value;
	uint32_t slot;

	(void)ctx;
	memcpy(&slot, key, sizeof(slot));
	printf("  socket of process %u: queue %u, worker %u, %s%s%s; %" PRIu64 " in, %" PRIu64
	       " out; lost: %" PRIu64 " ring full, %" PRIu64 " no frame, %" PRIu64 " other\n",
	       s->pid, slot / IW_XDP_WORKERS, slot % IW_XDP_WORKERS,
	       s->flags & IW_XDP_SOCK_ZEROCOPY ? "zero-copy" : "copy",
	       s->flags & IW_XDP_SOCK_SG ? ", multi-buffer" : "",
	       s->flags & IW_XDP_SOCK_BUSY_POLL ? ", busy-poll" : "", s->rx, s->tx, s->rx_ring_full,
	       s->rx_fill_empty, s->rx_dropped);
	return 0;
}

static int print_endpoint(void *ctx, const void *key, const void *value)
{
	const struct iw_xdp_endpoint_key *k = key;
	char text[IW_ADDR_TEXT];

	(void)ctx;
	(void)value;
	printf("  endpoint %s, SCTP port %u", address_text(text, k->addr),
	       wire_port(&k->sctp_port));
	if (k->udp_port)
		printf(" in UDP port %u", wire_port(&k->udp_port));
	putchar('\n');
	return 0;
}

static int print_stream(void *ctx, const void *key, const void *value)
{
	const struct iw_xdp_stream_key *k = key;
	const struct iw_xdp_stream *s = value;
	unsigned *n = ctx;
	char size[IW_HUMAN_TEXT];

	if (++*n > STREAMS_MAX)
		return 1;
	printf("  association %08x, stream %u: %" PRIu64 " segments, %s\n", k->tag, k->stream,
	       s->segments, iw_human_size(size, s->octets));
	return 0;
}

/* What is not zero. */
static void add_counts(struct iw_table *t, const char *const *texts, const uint64_t *value,
		       size_t n, const char *where)
{
	for (size_t i = 0; i < n; i++) {
		if (value[i] == 0)
			continue;
		iw_table_addf(t, "  %" PRIu64, value[i]);
		iw_table_addf(t, "%s%s", where, texts[i]);
	}
}

static int print_steer(const struct look *l, struct iw_fault *why)
{
	const struct iw_xdp_counters *c = &l->count;
	char size[IW_HUMAN_TEXT], rate[IW_HUMAN_TEXT];
	struct iw_table t;
	unsigned n = 0;
	int err;

	(void)iw_steer_each(l->steer, IW_STEER_ENDPOINTS, print_endpoint, NULL);
	(void)iw_steer_each(l->steer, IW_STEER_SOCKETS, print_socket, NULL);
	printf("  %" PRIu64 " associations; steered %" PRIu64 " packets, %s",
	       how_many(l, IW_STEER_ASSOCS), c->packets, iw_human_size(size, c->octets));
	if (l->at_before)
		printf(" (%" PRIu64 "/s, %s)", per_second(l, c->packets - l->before.packets),
		       iw_human_rate(rate, 8 * per_second(l, c->octets - l->before.octets)));
	if (l->a.runs)
		printf("; the program takes %" PRIu64 " ns", l->a.run_ns / l->a.runs);
	putchar('\n');
	iw_table_init(&t, "rl");
	for (uint8_t i = 0; i < 16; i++) {
		const char *name = iw_opcode_name(i);

		add_counts(&t, &name, &c->opcode[i], 1, "segments of ");
	}
	add_counts(&t, seen_texts, c->seen, IW_XDP_SEEN_COUNT, "ours: ");
	add_counts(&t, pass_texts, c->passed, IW_XDP_PASS_COUNT, "to the kernel: ");
	err = iw_table_write(&t, stdout, 0);
	iw_table_fini(&t);
	(void)iw_steer_each(l->steer, IW_STEER_STREAMS, print_stream, &n);
	return err ? iw_fail(why, err, "no memory") : 0;
}

static int print_flow(void *ctx, const struct iw_xdp_flow_key *k, const struct iw_xdp_flow *f)
{
	char a[IW_ADDR_TEXT], b[IW_ADDR_TEXT];
	unsigned *n = ctx;

	if (++*n > STREAMS_MAX)
		return 1;
	printf("  %s port %u to %s port %u: %" PRIu64 " of %" PRIu64
	       " segments begin with one of %" PRIu64 " FPDUs%s%s\n",
	       address_text(a, k->src), wire_port(&k->sport), address_text(b, k->dst),
	       wire_port(&k->dport), f->aligned, f->followed, f->fpdus,
	       f->markers == IW_XDP_MARKERS ? ", with markers" : "",
	       f->lost ? "; not followed any more" : "");
	return 0;
}

static void print_mpa(const struct look *l)
{
	const struct iw_xdp_mpa *m = &l->mpa;
	unsigned n = 0;

	printf("  %" PRIu64 " flows of MPA; %" PRIu64 " FPDUs; %" PRIu64 " of %" PRIu64
	       " TCP segments begin with one (%.1f %%)\n",
	       m->flows, m->fpdus, m->aligned, m->followed, 100 * aligned_share(m));
	if (m->holes || m->resent || m->lost)
		printf("  %" PRIu64 " holes, %" PRIu64 " segments again, %" PRIu64
		       " flows lost sight of\n",
		       m->holes, m->resent, m->lost);
	(void)iw_observe_each(l->observe, print_flow, &n);
}

static int print_look(const struct opts *o, const struct look *l, struct iw_fault *why)
{
	int err = 0;

	print_who(l, o);
	if (l->pinned == IW_XDP_STALE)
		printf("  %s/%s: left behind, of a link to nothing: `ddp-xdp detach -I %s --force-clean`\n",
		       o->pins, l->name, l->name);
	if (l->dispatchers_left)
		printf("  /sys/fs/bpf/xdp: left behind by dispatchers that it has no more (%u): "
		       "`ddp-xdp detach -I %s --force-clean`\n",
		       l->dispatchers_left, l->name);
	if (l->steer)
		err = print_steer(l, why);
	if (l->observe)
		print_mpa(l);
	return err;
}

/* --- events ------------------------------------------------------------------------------------ */

static const char *event_name(uint32_t kind)
{
	switch ((enum iw_xdp_event_kind)kind) {
	case IW_XDP_EV_STAG:
		return "stag_unknown";
	case IW_XDP_EV_CHUNK:
		return "chunk_bad";
	case IW_XDP_EV_FRAGMENT:
		return "fragment";
	}
	return "unknown";
}

static int event_json(struct opts *o, const struct look *l, const struct iw_xdp_event *e,
		      struct iw_fault *why)
{
	struct iw_json *w = &o->cli->out;
	char hex[2 * IW_XDP_HEAD + 1];
	struct iw_text t;

	iw_text_init(&t, hex, sizeof(hex));
	iw_text_octets(&t, e->head, IW_MIN((size_t)e->head_len, sizeof(e->head)));
	iw_json_begin(w, "sample");
	iw_json_str(w, "interface", l->name);
	iw_json_str(w, "kind", event_name(e->kind));
	iw_json_u64(w, "time_ns", e->time_ns);
	iw_json_u64(w, "every", e->every);
	iw_json_u64(w, "frame_octets", e->len);
	if (e->kind != IW_XDP_EV_FRAGMENT)
		iw_json_u64(w, "tag", e->tag);
	if (e->kind == IW_XDP_EV_STAG) {
		iw_json_u64(w, "stag", e->stag);
		iw_json_u64(w, "stream", e->stream);
	}
	iw_json_str(w, "head", hex);
	return end_line(o, why);
}

static void print_event(const struct iw_xdp_event *e)
{
	printf("  one of %u: %s, frame of %u octets", e->every, event_name(e->kind), e->len);
	if (e->kind != IW_XDP_EV_FRAGMENT)
		printf(", association %08x", e->tag);
	if (e->kind == IW_XDP_EV_STAG)
		printf(", stream %u, STag %08x", e->stream, e->stag);
	putchar('\n');
}

static int tell_events(struct opts *o, struct look *l, struct iw_fault *why)
{
	struct iw_xdp_event e[EVENTS_MAX];
	int n, err = 0;

	if (!l->steer)
		return 0;
	do {
		n = iw_steer_events(l->steer, e, EVENTS_MAX);
		if (n < 0)
			return iw_fail(why, n, "%s: the events cannot be read", l->name);
		for (int i = 0; i < n && !err; i++) {
			if (o->cli->json)
				err = event_json(o, l, &e[i], why);
			else
				print_event(&e[i]);
		}
	} while (n == EVENTS_MAX && !err);
	return err;
}

/* --- status ------------------------------------------------------------------------------------ */

/* The interface named; without a name those that have a program. *out is the caller's to free. */
static int find_looks(struct opts *o, struct look **out, size_t *n, struct iw_fault *why)
{
	struct if_nameindex *all = if_nameindex();
	size_t count = 0;
	int err = 0;

	*n = 0;
	if (!all)
		return iw_os_fail(why, errno, "list the interfaces");
	while (all[count].if_index)
		count++;
	*out = calloc(count + 1, sizeof(**out));
	if (!*out)
		err = iw_fail(why, IW_E_NOMEM, "no memory");
	for (size_t i = 0; i < count && !err; i++) {
		struct look *l = &(*out)[*n];
		bool named = o->cli->interface && strcmp(o->cli->interface, all[i].if_name) == 0;

		if (o->cli->interface && !named)
			continue;
		memset(l, 0, sizeof(*l));
		snprintf(l->name, sizeof(l->name), "%s", all[i].if_name);
		l->ifindex = all[i].if_index;
		err = iw_xdp_attached(&l->a, l->ifindex, why);
		if (err || (!named && l->a.program == 0))
			continue;
		++*n;
		err = open_look(o, l, why);
	}
	if_freenameindex(all);
	return err;
}

static int tell_looks(struct opts *o, struct look *l, size_t n, struct iw_fault *why)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		err = read_look(&l[i], why);
		if (!err)
			err = o->cli->json ? look_json(o, &l[i], why) : print_look(o, &l[i], why);
		if (!err && o->events)
			err = tell_events(o, &l[i], why);
	}
	if (!err && fflush(stdout) != 0)
		err = iw_fail(why, IW_E_CLOSED, "standard output takes nothing more");
	return err;
}

static int result_json(struct opts *o, uint64_t n, struct iw_fault *why)
{
	iw_json_begin(&o->cli->out, "result");
	iw_json_u64(&o->cli->out, "interfaces", n);
	return end_line(o, why);
}

static int work_status(struct opts *o, int *status, struct iw_fault *why)
{
	struct pollfd pfd = { .fd = iw_signals_fd(), .events = POLLIN };
	struct look *l = NULL;
	unsigned ifindex;
	size_t n = 0;
	int err = 0;

	(void)status;
	if (o->cli->interface)
		err = iw_xdp_ifindex(&ifindex, o->cli->interface, why);
	if (!err)
		err = find_looks(o, &l, &n, why);
	if (!err && n == 0 && !o->cli->json && !o->cli->quiet)
		printf("no interface here has an XDP program\n");
	for (uint64_t looks = 1; !err; looks++) {
		err = tell_looks(o, l, n, why);
		if (looks == o->count ||
		    poll(&pfd, 1, (int)((o->interval_ns + IW_MSEC(1) - 1) / IW_MSEC(1))) > 0)
			break;
	}
	if (!err && o->cli->json)
		err = result_json(o, n, why);
	for (size_t i = 0; i < n; i++)
		close_look(&l[i]);
	free(l);
	return err;
}

/* --- detach ------------------------------------------------------------------------------------ */

/* A process that lives and has a socket there. */
static int find_user(void *ctx, const void *key, const void *value)
{
	const struct iw_xdp_sock *s = value;

	(void)key;
	if (kill((pid_t)s->pid, 0) < 0 && errno == ESRCH)
		return 0;
	*(uint32_t *)ctx = s->pid;
	return 1;
}

static uint32_t used_by(const char *interface)
{
	struct iw_steer *s = NULL;
	struct iw_fault why;
	uint32_t pid = 0;

	if (iw_steer_look(&s, interface, &why) == 0)
		(void)iw_steer_each(s, IW_STEER_SOCKETS, find_user, &pid);
	iw_steer_close(s);
	return pid;
}

/* Whether it may go: true, or the user has been told. */
static bool may_go(const struct opts *o, const struct iw_xdp_attached *a)
{
	const char *name = o->cli->interface;
	uint32_t pid = a->owner == IW_XDP_STEER || a->inside ? used_by(name) : 0;

	if (o->force)
		return true;
	if (pid) {
		iw_log_error("%s: process %u receives through it: end that first, or --force-clean",
			     name, pid);
		return false;
	}
	if (a->owner == IW_XDP_FOREIGN || (a->owner == IW_XDP_DISPATCHER && !a->inside)) {
		iw_log_error(
			"%s: the program %s (id %u) is not ours: --force-clean takes it away all "
			"the same",
			name, a->name, a->program);
		return false;
	}
	return true;
}

/* left: dispatchers that had left something behind. */
static int tell_detached(struct opts *o, const struct iw_xdp_attached *a, bool pin, unsigned left,
			 struct iw_fault *why)
{
	struct iw_json *w = &o->cli->out;

	if (!o->cli->json) {
		if (a->program && !o->cli->quiet)
			printf("%s: %s detached\n", o->cli->interface, a->name);
		if (pin && !o->cli->quiet)
			printf("%s: %s/%s removed\n", o->cli->interface, o->pins,
			       o->cli->interface);
		if (left && !o->cli->quiet)
			printf("%s: what dispatchers (%u) left in /sys/fs/bpf/xdp removed\n",
			       o->cli->interface, left);
		return 0;
	}
	iw_json_begin(w, "result");
	iw_json_str(w, "interface", o->cli->interface);
	iw_json_u64(w, "program_id", a->program);
	if (a->program)
		iw_json_str(w, "name", a->name);
	iw_json_bool(w, "pin_removed", pin);
	iw_json_u64(w, "dispatchers_removed", left);
	return end_line(o, why);
}

static int work_detach(struct opts *o, int *status, struct iw_fault *why)
{
	const char *name = o->cli->interface;
	enum iw_xdp_pinned pinned;
	struct iw_xdp_attached a;
	unsigned ifindex, left;
	bool is_left;
	int err = iw_xdp_ifindex(&ifindex, name, why);

	if (!err)
		err = iw_xdp_attached(&a, ifindex, why);
	if (err)
		return err;
	pinned = iw_xdp_pinned(o->pins, name);
	left = iw_xdp_dispatchers_left(ifindex, a.program);
	is_left = pinned != IW_XDP_NO_PIN || left > 0;
	if (a.program == 0 && !(o->force && is_left)) {
		iw_log_error("%s: no XDP program is attached%s", name,
			     pinned != IW_XDP_NO_PIN ? ", but a pin is left: --force-clean"
			     : left > 0 ? ", but a dispatcher has left something: --force-clean"
					: "");
		*status = IW_EXIT_NO;
		return 0;
	}
	if (a.program && !may_go(o, &a)) {
		*status = IW_EXIT_NO;
		return 0;
	}
	if (a.program)
		err = iw_xdp_detach(&a, ifindex, why);
	if (!err && pinned != IW_XDP_NO_PIN)
		err = iw_xdp_unpin(o->pins, name, why);
	if (!err && o->force)
		err = iw_xdp_clean_dispatchers(ifindex, why);
	return err ? err : tell_detached(o, &a, pinned != IW_XDP_NO_PIN, o->force ? left : 0, why);
}

/* --- doctor ------------------------------------------------------------------------------------ */

/* Behind what this machine can run: who is on which interface. */
static int doctor_also(struct iw_cli *cli, int status)
{
	struct opts o = { .cli = cli, .pins = IW_XDP_PINS };
	struct iw_fault why = { 0 };
	struct look *l = NULL;
	size_t n = 0;

	o.cli->interface = NULL;
	if (find_looks(&o, &l, &n, &why) == 0 && tell_looks(&o, l, n, &why) < 0)
		status = IW_EXIT_FAILED;
	for (size_t i = 0; i < n; i++)
		close_look(&l[i]);
	free(l);
	return status;
}

/* --- commands ---------------------------------------------------------------------------------- */

static const struct argp_child kids[] = {
	{ &iw_cli_argp, 0, "Common options:", -1 },
	{ 0 },
};

static int run(struct iw_cli *cli, int argc, char **argv, const struct argp *argp,
	       int (*work)(struct opts *o, int *status, struct iw_fault *why))
{
	struct opts o = { .cli = cli, .pins = IW_XDP_PINS };
	struct iw_fault why = { 0 };
	int status;

	argp_parse(argp, argc, argv, 0, NULL, &o);
	status = iw_cli_start(cli);
	if (status == IW_EXIT_OK && work(&o, &status, &why) != 0)
		status = iw_cli_fail(cli, &why);
	return status;
}

static int cmd_attach(struct iw_cli *cli, int argc, char **argv)
{
	static const struct argp argp = {
		.options = attach_options,
		.parser = parse_attach,
		.doc = "Attach a program and keep it there, by a process in the background if nothing else is "
		       "asked for.",
		.children = kids,
	};

	return run(cli, argc, argv, &argp, work_attach);
}

static int cmd_status(struct iw_cli *cli, int argc, char **argv)
{
	static const struct argp argp = {
		.options = status_options,
		.parser = parse_status,
		.doc = "Tell who is attached, and what our programs count.",
		.children = kids,
	};

	return run(cli, argc, argv, &argp, work_status);
}

static int cmd_detach(struct iw_cli *cli, int argc, char **argv)
{
	static const struct argp argp = {
		.options = detach_options,
		.parser = parse_detach,
		.doc = "Take the program away that is there, if it is ours and nobody uses it.",
		.children = kids,
	};

	return run(cli, argc, argv, &argp, work_detach);
}

static const struct iw_command commands[] = {
	{ "attach", cmd_attach, "keep a program on an interface" },
	{ "status", cmd_status, "who is attached, what was counted" },
	{ "detach", cmd_detach, "take a program away" },
	{ 0 },
};

int main(int argc, char **argv)
{
	struct iw_cli cli;
	int status;

	iw_cli_init(&cli, "ddp-xdp", "xdp");
	cli.doctor_also = doctor_also;
	status = iw_cli_command(&cli, commands,
				"Attaches, inspects and detaches the XDP programs of the suite.",
				argc, argv);
	return iw_cli_finish(&cli, status);
}
