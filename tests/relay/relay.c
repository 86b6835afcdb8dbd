// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A bad link: forwards Ethernet frames between two interfaces and disturbs them as
 * ddp-impair/link describes, with separate settings for each direction. It is independent of the protocols above.
 * The ends are other interfaces, each joined to one of these two by a veth pair; this program's
 * host has no address on that network.
 *
 *   relay [--seed N] [--both WHAT] [--ab WHAT] [--ba WHAT] [--seconds N] [--json] A B
 *
 * WHAT is a list: loss=1%,delay=10ms,jitter=1ms,late=2%,late-by=5ms,duplicate=1%,corrupt=0.1%,
 *                 swap=0.1%,rate=100M,queue=64K,drop=17,min=200,max=400,hold=64M
 *
 * Prints "relaying" when it is ready, and its counters when it ends: by SIGINT or SIGTERM, or after
 * --seconds. Segmentation and checksum offload must be switched off on the interfaces of the ends,
 * otherwise they send data that is not a complete frame. Such data is dropped, and the exit status
 * is 1, as when the relay itself could not keep up.
 */
#include <argp.h>
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/exit.h"
#include "cli/json.h"
#include "cli/log.h"
#include "cli/parse.h"
#include "cli/signals.h"
#include "ddp-impair/link/link.h"
#include "os/os.h"
#include "util/num.h"

enum {
	BATCH = 64,
	FRAME_MAX = 9216 + 18, /* jumbo frames, with a VLAN tag */
	SOCKET_BUFFER = 32 << 20,
};

/* One interface: frames that arrive here leave on the other side, through the link of this side. */
struct side {
	const char *name;
	int fd;
	struct iw_link *link;
	uint64_t offloaded; /* arrived without a checksum, or larger than a frame can be */
	uint64_t overrun;   /* lost before this program received them */
	uint64_t refused;   /* rejected by the other interface */
};

struct opts {
	const char *name[2];
	struct iw_link_cfg cfg[2];
	uint64_t seconds;
	bool json;
};

/* --- options --------------------------------------------------------------------------------- */

enum word {
	W_LOSS,
	W_DUPLICATE,
	W_CORRUPT,
	W_SWAP,
	W_LATE, /* the chances, in this order */
	W_DELAY,
	W_JITTER,
	W_LATE_BY,
	W_RATE,
	W_QUEUE,
	W_DROP,
	W_MIN,
	W_MAX,
	W_HOLD,
	WORDS,
};
static const char *const words[WORDS] = {
	[W_LOSS] = "loss",     [W_DUPLICATE] = "duplicate", [W_CORRUPT] = "corrupt",
	[W_SWAP] = "swap",     [W_LATE] = "late",           [W_DELAY] = "delay",
	[W_JITTER] = "jitter", [W_LATE_BY] = "late-by",     [W_RATE] = "rate",
	[W_QUEUE] = "queue",   [W_DROP] = "drop",           [W_MIN] = "min",
	[W_MAX] = "max",       [W_HOLD] = "hold",
};

/* "2%", "0.05%" */
static int parse_chance(uint32_t *out, const char *text, const char **why)
{
	char *end;
	double percent = strtod(text, &end);

	*why = "expected a percentage from 0% to 100%, as 0.5%";
	if (end == text || strcmp(end, "%") != 0 || !(percent >= 0 && percent <= 100))
		return IW_E_INVAL;
	*out = (uint32_t)(percent * (IW_LINK_ALL / 100.0) + 0.5);
	return 0;
}

static int parse_octets(uint32_t *out, const char *text, const char **why)
{
	uint64_t v = *out;
	int err = iw_parse_size(&v, text, 0, IW_LINK_QUEUE_MAX, why);

	*out = (uint32_t)v;
	return err;
}

static int parse_word(struct iw_link_cfg *c, enum word w, const char *text, const char **why)
{
	const uint64_t hour = IW_SEC(3600);

	switch (w) {
	case W_LOSS:
		return parse_chance(&c->loss, text, why);
	case W_DUPLICATE:
		return parse_chance(&c->duplicate, text, why);
	case W_CORRUPT:
		return parse_chance(&c->corrupt, text, why);
	case W_SWAP:
		return parse_chance(&c->swap, text, why);
	case W_LATE:
		return parse_chance(&c->late, text, why);
	case W_DELAY:
		return iw_parse_duration(&c->delay_ns, text, 0, hour, why);
	case W_JITTER:
		return iw_parse_duration(&c->jitter_ns, text, 0, hour, why);
	case W_LATE_BY:
		return iw_parse_duration(&c->late_ns, text, 0, hour, why);
	case W_RATE:
		return iw_parse_rate(&c->rate_bits, text, 1000, UINT64_C(1000000000000), why);
	case W_QUEUE:
		return parse_octets(&c->queue_bytes, text, why);
	case W_DROP:
		return iw_parse_u64(&c->drop_nth, text, 1, UINT64_MAX, why);
	case W_MIN:
		return parse_octets(&c->min_len, text, why);
	case W_MAX:
		return parse_octets(&c->max_len, text, why);
	case W_HOLD:
		return parse_octets(&c->hold_bytes, text, why);
	case WORDS:
		break;
	}
	return IW_E_INVAL;
}

static void parse_what(const struct argp_state *state, struct iw_link_cfg *c, const char *list)
{
	char *copy = strdup(list), *rest = copy, *item;

	if (!copy)
		argp_failure(state, IW_EXIT_FAILED, errno, "%s", list);
	while ((item = strsep(&rest, ","))) {
		char *value = strchr(item, '=');
		const char *why = "expected NAME=VALUE";
		size_t w = WORDS;

		if (value)
			*value++ = '\0';
		if (value && iw_parse_enum(&w, item, words, WORDS, &why) == 0 &&
		    parse_word(c, (enum word)w, value, &why) == 0)
			continue;
		argp_error(state, "\"%s\": %s%s%s: %s", list, item, value ? "=" : "",
			   value ? value : "", why);
	}
	free(copy);
}

enum { KEY_BOTH = 0x100, KEY_AB, KEY_BA, KEY_SEED, KEY_SECONDS, KEY_JSON };

/* clang-format off */
static const struct argp_option options[] = {
	{ "both", KEY_BOTH, "WHAT", 0, "What happens to frames in both directions", 0 },
	{ "ab", KEY_AB, "WHAT", 0, "... on the way from A to B", 0 },
	{ "ba", KEY_BA, "WHAT", 0, "... on the way from B to A", 0 },
	{ "seed", KEY_SEED, "N", 0, "The same seed makes the same decisions for the n-th frame (default 1)", 0 },
	{ "seconds", KEY_SECONDS, "N", 0, "End after this time (default 600)", 0 },
	{ "json", KEY_JSON, NULL, 0, "Print the counters as a line of JSON for each direction", 0 },
	{ 0 },
};
/* clang-format on */

static uint64_t parse_number(const struct argp_state *state, const char *option, const char *arg)
{
	const char *why;
	uint64_t v = 0;

	if (iw_parse_u64(&v, arg, 1, UINT32_MAX, &why) < 0)
		argp_error(state, "%s \"%s\": %s", option, arg, why);
	return v;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;

	switch (key) {
	case KEY_BOTH:
		parse_what(state, &o->cfg[0], arg);
		parse_what(state, &o->cfg[1], arg);
		return 0;
	case KEY_AB:
		parse_what(state, &o->cfg[0], arg);
		return 0;
	case KEY_BA:
		parse_what(state, &o->cfg[1], arg);
		return 0;
	case KEY_SEED:
		/* Two links with the same seed would make the same decisions. */
		o->cfg[0].seed = 2 * parse_number(state, "--seed", arg);
		o->cfg[1].seed = o->cfg[0].seed + 1;
		return 0;
	case KEY_SECONDS:
		o->seconds = parse_number(state, "--seconds", arg);
		return 0;
	case KEY_JSON:
		o->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num > 1)
			argp_error(state, "\"%s\": one interface too many", arg);
		o->name[state->arg_num] = arg;
		return 0;
	case ARGP_KEY_END:
		if (state->arg_num < 2)
			argp_error(state, "expected the two interfaces A and B");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* --- frames in and out ------------------------------------------------------------------------ */

static int open_socket(const char *name, struct iw_fault *why)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	struct packet_mreq all = { .mr_type = PACKET_MR_PROMISC };
	int fd, on = 1, size = SOCKET_BUFFER;

	at.sll_ifindex = all.mr_ifindex = (int)if_nametoindex(name);
	if (at.sll_ifindex == 0)
		return iw_os_fail(why, errno, "interface %s", name);
	/* The protocol is 0, so that the socket receives nothing until it is bound to its
	 * interface. */
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return iw_os_fail(why, errno, "packet socket");
	/* Do not receive the frames that this program sends. */
	if (setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all)) < 0 ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0) {
		iw_os_fail(why, errno, "packet socket on %s", name);
		close(fd);
		return why->err;
	}
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	return fd;
}

/* One octet larger than a frame: a read that fills it is too long. */
static uint8_t buffer[BATCH][FRAME_MAX + 1];
union control {
	struct cmsghdr align;
	char room[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
};

static bool is_whole(struct msghdr *m, size_t len)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	struct tpacket_auxdata aux;

	if (len > FRAME_MAX)
		return false;
	if (!c || c->cmsg_level != SOL_PACKET || c->cmsg_type != PACKET_AUXDATA)
		return true;
	memcpy(&aux, CMSG_DATA(c), sizeof(aux));
	return !(aux.tp_status & TP_STATUS_CSUMNOTREADY);
}

static int take_in(struct side *s, struct iw_fault *why)
{
	struct mmsghdr msg[BATCH];
	struct iovec iov[BATCH];
	union control control[BATCH];
	uint64_t now;
	int n;

	for (int i = 0; i < BATCH; i++) {
		iov[i] = (struct iovec){ buffer[i], sizeof(buffer[i]) };
		msg[i].msg_hdr = (struct msghdr){ .msg_iov = &iov[i],
						  .msg_iovlen = 1,
						  .msg_control = &control[i],
						  .msg_controllen = sizeof(control[i]) };
	}
	n = recvmmsg(s->fd, msg, BATCH, MSG_DONTWAIT, NULL);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR
			       ? 0
			       : iw_os_fail(why, errno, "read from %s", s->name);
	now = iw_os_now();
	for (int i = 0; i < n; i++) {
		if (is_whole(&msg[i].msg_hdr, msg[i].msg_len))
			iw_link_push(s->link, buffer[i], msg[i].msg_len, now);
		else
			s->offloaded++;
	}
	return 0;
}

/* Sends the frames that are due on the other side. */
static void give_out(struct side *s, const struct side *other)
{
	struct iw_link_frame *frames[BATCH];
	struct mmsghdr msg[BATCH];
	struct iovec iov[BATCH];
	uint64_t now = iw_os_now();
	int n, sent;

	do {
		for (n = 0; n < BATCH && (frames[n] = iw_link_pop(s->link, now)); n++) {
			iov[n] = (struct iovec){ (void *)(uintptr_t)frames[n]->data,
						 frames[n]->len };
			msg[n].msg_hdr = (struct msghdr){ .msg_iov = &iov[n], .msg_iovlen = 1 };
		}
		/* A rejected frame is lost, as on a wire. */
		for (int done = 0; done < n; done += sent) {
			sent = sendmmsg(other->fd, msg + done, (unsigned)(n - done), 0);
			if (sent <= 0) {
				s->refused++;
				sent = 1;
			}
		}
		for (int i = 0; i < n; i++)
			iw_link_put(s->link, frames[i]);
	} while (n == BATCH);
}

static int wait_for(const struct side *side, uint64_t end, struct iw_fault *why)
{
	struct pollfd fds[] = { { .fd = side[0].fd, .events = POLLIN },
				{ .fd = side[1].fd, .events = POLLIN },
				{ .fd = iw_signals_fd(), .events = POLLIN } };
	uint64_t at =
		IW_MIN(end, IW_MIN(iw_link_deadline(side[0].link), iw_link_deadline(side[1].link)));
	uint64_t now = iw_os_now(), left = at > now ? at - now : 0;
	struct timespec time = { (time_t)(left / IW_SEC(1)), (long)(left % IW_SEC(1)) };

	if (ppoll(fds, IW_ARRAY_LEN(fds), &time, NULL) < 0 && errno != EINTR)
		return iw_os_fail(why, errno, "poll");
	return 0;
}

static int relay(struct side *side, uint64_t end, struct iw_fault *why)
{
	int err = 0;

	while (!err && !iw_signals_stop() && iw_os_now() < end) {
		for (int i = 0; i < 2 && !err; i++)
			err = take_in(&side[i], why);
		for (int i = 0; i < 2; i++)
			give_out(&side[i], &side[!i]);
		if (!err)
			err = wait_for(side, end, why);
	}
	return err;
}

/* --- report ----------------------------------------------------------------------------------- */

#define COUNTS 14
struct count {
	const char *name;
	uint64_t n;
};

static void counts_of(struct count out[static COUNTS], const struct side *s)
{
	const struct iw_link_stat *st = iw_link_stat(s->link);
	const struct count all[COUNTS] = {
		{ "frames", st->frames },       { "octets", st->bytes },
		{ "passed", st->passed },       { "passed_octets", st->passed_bytes },
		{ "lost", st->lost },           { "duplicated", st->duplicated },
		{ "corrupted", st->corrupted }, { "swapped", st->swapped },
		{ "late", st->late },           { "queue_full", st->queue_full },
		{ "hold_full", st->hold_full }, { "offloaded", s->offloaded },
		{ "overrun", s->overrun },      { "refused", s->refused },
	};

	memcpy(out, all, sizeof(all));
}

static int tell(const struct side *s, const struct side *other, bool json)
{
	struct count counts[COUNTS];
	struct iw_json w;
	int err = 0;

	counts_of(counts, s);
	if (json) {
		iw_json_init(&w, STDOUT_FILENO);
		iw_json_begin(&w, "direction");
		iw_json_str(&w, "from", s->name);
		iw_json_str(&w, "to", other->name);
		for (size_t i = 0; i < COUNTS; i++)
			iw_json_u64(&w, counts[i].name, counts[i].n);
		err = iw_json_end(&w);
		iw_json_fini(&w);
		return err;
	}
	printf("%s to %s:", s->name, other->name);
	for (size_t i = 0; i < COUNTS; i++)
		if (counts[i].n || i == 0)
			printf(" %s %" PRIu64, counts[i].name, counts[i].n);
	printf("\n");
	return fflush(stdout) == 0 ? 0 : IW_E_OS;
}

/* Returns whether the link did exactly what the options say. */
static bool was_sound(struct side *s)
{
	struct tpacket_stats kernel = { 0 };
	socklen_t len = sizeof(kernel);

	if (getsockopt(s->fd, SOL_PACKET, PACKET_STATISTICS, &kernel, &len) == 0)
		s->overrun = kernel.tp_drops;
	if (s->offloaded)
		iw_log_error("%s: %" PRIu64
			     " of what came are no frames yet: switch offloads off at the"
			     " other end of it (ethtool -K IF tso off gso off tx off)",
			     s->name, s->offloaded);
	if (s->overrun || s->refused || iw_link_stat(s->link)->hold_full)
		iw_log_error("%s: the relay did not keep up", s->name);
	return !s->offloaded && !s->overrun && !s->refused && !iw_link_stat(s->link)->hold_full;
}

/* --- main ------------------------------------------------------------------------------------- */

static int fail(const struct iw_fault *why)
{
	iw_log_error("%s", why->text);
	return iw_exit_status(why->err);
}

int main(int argc, char **argv)
{
	static const struct argp argp = { .options = options, .parser = parse, .args_doc = "A B" };
	const struct iw_link_cfg usual = { .queue_bytes = 256 << 10, .hold_bytes = 256 << 20 };
	struct opts o = { .cfg = { usual, usual }, .seconds = 600 };
	struct side side[2] = { 0 };
	struct iw_fault why = { 0 };
	bool sound = true;
	int err;

	argp_err_exit_status = IW_EXIT_USAGE;
	iw_log_setup("relay", IW_LOG_WARN);
	o.cfg[0].seed = 2;
	o.cfg[1].seed = 3;
	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (iw_signals_init(&why) < 0)
		return fail(&why);
	/* Delays must be exact: the default timer slack would add 50 us. */
	(void)prctl(PR_SET_TIMERSLACK, 1UL);
	for (int i = 0; i < 2; i++) {
		side[i].name = o.name[i];
		side[i].fd = open_socket(o.name[i], &why);
		if (side[i].fd < 0)
			return fail(&why);
		if (iw_link_new(&side[i].link, &o.cfg[i], &iw_os_heap) < 0)
			return IW_EXIT_FAILED;
	}
	fprintf(stderr, "relaying between %s and %s\n", o.name[0], o.name[1]);

	err = relay(side, iw_os_now() + IW_SEC(o.seconds), &why);
	for (int i = 0; i < 2; i++) {
		sound = was_sound(&side[i]) && sound;
		if (tell(&side[i], &side[!i], o.json) < 0)
			err = IW_E_OS;
	}
	for (int i = 0; i < 2; i++) {
		iw_link_free(side[i].link);
		close(side[i].fd);
	}
	if (err)
		return why.err ? fail(&why) : IW_EXIT_FAILED;
	return sound ? IW_EXIT_OK : IW_EXIT_NO;
}
