// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A DDP peer on libusrsctp: the speaker on another implementation of SCTP.
 *
 *   usrsctp-peer -t CARRIER [OPTION...] --listen                   serves associations, one after the other
 *   usrsctp-peer -t CARRIER [OPTION...] ping ADDR COUNT            pings sctp-ddp-ping --listen
 *   usrsctp-peer -t CARRIER [OPTION...] buffer ADDR STAG [KEY]     uses a buffer of stag-reg
 *
 * raw is SCTP on IP; udp is SCTP in UDP (RFC 6951); both use usrsctp's own sockets and threads.
 * conn is usrsctp without threads; this program carries its packets over a UDP socket. inside runs
 * the other end in this program: lib/sctp, over a bad link (--seed, --bad).
 *
 * Exit status 0: everything followed the RFCs, every octet is correct, and the association was shut
 * down in order; 1: otherwise; 5: failed, but usrsctp alone caused it (inside_waits); 6: as 0, and
 * the other end's SHUTDOWN arrived, but the rest of the sequence (RFC 9260 9.2) was lost until the
 * other end had exited.
 */
#include <argp.h>
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* The library is built with both address families. */
#define INET  1
#define INET6 1
#include <usrsctp.h>

#include "cli/parse.h"
#include "interop/usrsctp/inside.h"
#include "interop/usrsctp/speaker.h"
#include "os/os.h"
#include "util/num.h"

enum { RAW, UDP, CONN, INSIDE, CARRIERS };
static const char *const carriers[CARRIERS] = { "raw", "udp", "conn", "inside" };

enum { ADAPTATION_DDP = 1, STEP_MS = 10, MESSAGE = 1 << 20, EXIT_STALLED = 5, EXIT_CUT = 6 };
#define PART_NS IW_SEC(5) /* from a SHUTDOWN to the end; inside, no end leaves earlier */

struct opts {
	size_t carrier;
	bool listen, fragments;
	const char *bind;
	uint16_t port, udp_port, peer_udp_port;
	uint64_t timeout_ns, associations, seed;
	uint32_t bad;
	struct sockaddr_storage peer;
	struct speaker_cfg speaker;
};

struct peer {
	struct opts *o;
	struct socket *listener, *so;
	struct speaker *speaker;
	struct inside *inside;
	uint64_t virtual;            /* inside: the simulated time */
	int udp;                     /* conn: the socket */
	int wake_fd;                 /* raw, udp: an eventfd that usrsctp's threads write to */
	struct sockaddr_storage far; /* conn: destination of packets */
	socklen_t far_len;
	uint32_t adaptation;
	uint16_t streams;
	bool shut; /* this end has sent SHUTDOWN */
	/* when to give up after the other end's SHUTDOWN; UINT64_MAX: not received */
	uint64_t part;
	bool over, failed, stalled, cut;
};

static void die(const char *what)
{
	fprintf(stderr, "peer: %s: %s\n", what, strerror(errno));
	exit(4);
}

/* --- packets of conn -------------------------------------------------------------------------- */

static int packet_out(void *addr, void *buf, size_t len, uint8_t tos, uint8_t set_df)
{
	struct peer *p = addr;

	(void)tos;
	(void)set_df;
	if (p->inside) {
		inside_from(p->inside, buf, len);
		return 0;
	}
	return sendto(p->udp, buf, len, 0, (struct sockaddr *)&p->far, p->far_len) < 0 ? errno : 0;
}

static void packets_in(struct peer *p)
{
	static uint8_t buf[1 << 16];
	ssize_t n;

	for (;;) {
		/* There is one peer: answers go to the source of the last packet (RFC 6951 5.4). */
		p->far_len = p->far_len ? p->far_len : sizeof(p->far);
		n = recvfrom(p->udp, buf, sizeof(buf), MSG_DONTWAIT, (struct sockaddr *)&p->far,
			     &p->far_len);
		if (n <= 0)
			return;
		usrsctp_conninput(p, buf, (size_t)n, 0);
	}
}

static void open_udp(struct peer *p)
{
	struct sockaddr_storage at = p->o->peer;
	socklen_t len = at.ss_family == AF_INET ? sizeof(struct sockaddr_in)
						: sizeof(struct sockaddr_in6);

	((struct sockaddr_in *)(void *)&at)->sin_port = htons(p->o->udp_port);
	if (p->o->listen) {
		p->far_len = 0;
	} else {
		p->far = at;
		p->far_len = len;
		((struct sockaddr_in *)(void *)&p->far)->sin_port = htons(p->o->peer_udp_port);
		if (at.ss_family == AF_INET)
			((struct sockaddr_in *)(void *)&at)->sin_addr.s_addr = 0;
		else
			((struct sockaddr_in6 *)(void *)&at)->sin6_addr = in6addr_any;
	}
	p->udp = socket(at.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (p->udp < 0 || bind(p->udp, (struct sockaddr *)&at, len) < 0)
		die("UDP socket");
}

static void give_in(void *ctx, const void *packet, size_t len)
{
	usrsctp_conninput(ctx, packet, len, 0);
}

/* The other end performs the part that this one needs. */
static void open_inside(struct peer *p)
{
	struct inside_cfg cfg = {
		.listen = !p->o->listen,
		.port = p->o->port,
		.speaker = p->o->speaker,
		.link = { .seed = p->o->seed,
			  .loss = p->o->bad,
			  .duplicate = p->o->bad,
			  .corrupt = p->o->bad,
			  .late = p->o->bad,
			  .late_ns = IW_MSEC(15),
			  .delay_ns = IW_MSEC(5),
			  .jitter_ns = IW_MSEC(2),
			  .hold_bytes = 64 << 20 },
	};

	cfg.speaker.job = p->o->listen ? JOB_PING : JOB_SERVE;
	p->inside = inside_new(&cfg);
}

/* --- waiting ---------------------------------------------------------------------------------- */

static void ring(struct socket *so, void *arg, int flags)
{
	const struct peer *p = arg;
	uint64_t one = 1;

	(void)so;
	(void)flags;
	(void)!write(p->wake_fd, &one, sizeof(one));
}

static uint64_t time_of(const struct peer *p)
{
	return p->inside ? p->virtual : iw_os_now();
}

static void wait_for(struct peer *p)
{
	bool conn = p->o->carrier == CONN;
	struct pollfd fd = { .fd = conn ? p->udp : p->wake_fd, .events = POLLIN };
	uint64_t began = iw_os_now(), count;

	if (p->inside) {
		p->virtual += IW_MSEC(1);
		p->failed = p->failed || !inside_step(p->inside, IW_MSEC(1), give_in, p);
		p->over = p->over || p->failed;
		usrsctp_handle_timers(1);
		return;
	}
	(void)poll(&fd, 1, STEP_MS);
	if (conn) {
		packets_in(p);
		usrsctp_handle_timers((uint32_t)((iw_os_now() - began + 999999) / 1000000));
	} else if (fd.revents) {
		(void)!read(p->wake_fd, &count, sizeof(count));
	}
}

/* --- sockets ---------------------------------------------------------------------------------- */

static void set(struct socket *so, int option, const void *value, socklen_t len)
{
	if (usrsctp_setsockopt(so, IPPROTO_SCTP, option, value, len) < 0)
		die("socket option");
}

static socklen_t address(struct peer *p, struct sockaddr_storage *at, bool far)
{
	struct sockaddr_conn *sconn = (struct sockaddr_conn *)(void *)at;

	if (p->o->carrier >= CONN) {
		*sconn = (struct sockaddr_conn){ .sconn_family = AF_CONN,
						 .sconn_port = htons(p->o->port),
						 .sconn_addr = p };
		return sizeof(*sconn);
	}
	*at = p->o->peer;
	if (!far && !p->o->listen)
		memset((uint8_t *)at + offsetof(struct sockaddr_in, sin_addr), 0,
		       sizeof(*at) - offsetof(struct sockaddr_in, sin_addr));
	((struct sockaddr_in *)(void *)at)->sin_port = htons(far || p->o->listen ? p->o->port : 0);
	return at->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

static struct socket *open_socket(struct peer *p)
{
	static const uint16_t events[] = { SCTP_ASSOC_CHANGE, SCTP_ADAPTATION_INDICATION,
					   SCTP_SHUTDOWN_EVENT, SCTP_SEND_FAILED_EVENT };
	const struct sctp_initmsg streams = { .sinit_num_ostreams = 1000,
					      .sinit_max_instreams = 1000 };
	const struct sctp_setadaptation adaptation = { .ssb_adaptation_ind = ADAPTATION_DDP };
	const int on = 1, whole = !p->o->fragments;
	const int family = p->o->carrier >= CONN ? AF_CONN : p->o->peer.ss_family;
	struct sctp_udpencaps encaps = { .sue_address.ss_family = (sa_family_t)family,
					 .sue_port = htons(p->o->peer_udp_port) };
	struct socket *so = usrsctp_socket(family, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);

	if (!so)
		die("socket");
	usrsctp_set_non_blocking(so, 1);
	for (size_t i = 0; i < IW_ARRAY_LEN(events); i++) {
		struct sctp_event ev = { .se_assoc_id = SCTP_ALL_ASSOC,
					 .se_type = events[i],
					 .se_on = 1 };

		set(so, SCTP_EVENT, &ev, sizeof(ev));
	}
	set(so, SCTP_INITMSG, &streams, sizeof(streams));
	set(so, SCTP_ADAPTATION_LAYER, &adaptation, sizeof(adaptation));
	set(so, SCTP_NODELAY, &on, sizeof(on));
	set(so, SCTP_RECVRCVINFO, &on, sizeof(on));
	set(so, SCTP_DISABLE_FRAGMENTS, &whole, sizeof(whole));
	if (p->o->carrier == UDP && !p->o->listen)
		set(so, SCTP_REMOTE_UDP_ENCAPS_PORT, &encaps, sizeof(encaps));
	return so;
}

static void watch(struct peer *p, struct socket *so)
{
	usrsctp_set_non_blocking(so, 1);
	if (p->o->carrier < CONN && usrsctp_set_upcall(so, ring, p) < 0)
		die("upcall");
}

static void begin(struct peer *p)
{
	struct socket *so = open_socket(p);
	struct sockaddr_storage at = { 0 };
	socklen_t len = address(p, &at, false);

	if (p->o->carrier >= CONN)
		usrsctp_register_address(p);
	if (p->o->carrier == CONN)
		open_udp(p);
	if (p->o->carrier == INSIDE)
		open_inside(p);
	watch(p, so);
	if (usrsctp_bind(so, (struct sockaddr *)&at, len) < 0)
		die("bind");
	if (p->o->listen) {
		p->listener = so;
		if (usrsctp_listen(so, 1) < 0)
			die("listen");
		printf("listening\n");
		fflush(stdout);
		return;
	}
	p->so = so;
	len = address(p, &at, true);
	if (usrsctp_connect(so, (struct sockaddr *)&at, len) < 0 && errno != EINPROGRESS)
		die("connect");
}

/* --- input ------------------------------------------------------------------------------------ */

static void fail(struct peer *p, const char *why)
{
	fprintf(stderr, "peer: %s\n", why);
	p->failed = p->over = true;
}

/* Reports an association that was not shut down in order. */
static void lose(struct peer *p, const char *why)
{
	if (p->part == UINT64_MAX || !p->speaker || !speaker_finished(p->speaker)) {
		fail(p, why);
		return;
	}
	fprintf(stderr, "peer: after the SHUTDOWN: %s\n", why);
	p->cut = p->over = true;
}

static void on_change(struct peer *p, const struct sctp_assoc_change *c)
{
	switch (c->sac_state) {
	case SCTP_COMM_UP:
		p->streams = IW_MIN(c->sac_inbound_streams, c->sac_outbound_streams);
		break;
	case SCTP_SHUTDOWN_COMP:
		p->over = true;
		break;
	case SCTP_COMM_LOST:
		lose(p, "the association is lost");
		break;
	case SCTP_CANT_STR_ASSOC:
		fail(p, "no association");
		break;
	case SCTP_RESTART:
		fail(p, "a restart");
		break;
	}
}

static void on_notification(struct peer *p, const union sctp_notification *n)
{
	switch (n->sn_header.sn_type) {
	case SCTP_ASSOC_CHANGE:
		on_change(p, &n->sn_assoc_change);
		break;
	case SCTP_ADAPTATION_INDICATION:
		p->adaptation = n->sn_adaptation_event.sai_adaptation_ind;
		break;
	case SCTP_SHUTDOWN_EVENT:
		if (!p->inside)
			p->part = time_of(p) + PART_NS;
		break;
	case SCTP_SEND_FAILED_EVENT:
		fail(p, "a message could not be sent");
		break;
	}
	/* The notifications of the set-up arrive one by one. */
	if (!p->speaker && p->streams && p->adaptation) {
		if (p->adaptation != ADAPTATION_DDP)
			fail(p, "another adaptation indication than that of DDP");
		p->speaker = speaker_new(&p->o->speaker, p->streams);
	}
}

static void on_data(struct peer *p, const uint8_t *data, size_t len, const struct sctp_rcvinfo *r)
{
	if (!p->speaker) {
		fail(p, "data of a peer without adaptation indication");
		return;
	}
	if (!speaker_message(p->speaker, r->rcv_sid, ntohl(r->rcv_ppid),
			     r->rcv_flags & SCTP_UNORDERED, data, len))
		p->failed = p->over = true;
}

static void take_in(struct peer *p)
{
	static uint8_t buf[MESSAGE];
	struct sctp_rcvinfo r = { 0 };
	socklen_t from_len, info_len;
	unsigned type;
	ssize_t n;
	int flags;

	while (p->so && !p->over) {
		flags = 0;
		from_len = 0;
		info_len = sizeof(r);
		n = usrsctp_recvv(p->so, buf, sizeof(buf), NULL, &from_len, &r, &info_len, &type,
				  &flags);
		if (n < 0 && (errno == EWOULDBLOCK || errno == ENOTCONN || errno == EINPROGRESS))
			return;
		if (n <= 0) {
			if (n < 0)
				fail(p, strerror(errno));
			p->over = true;
		} else if (!(flags & MSG_EOR)) {
			fail(p, "part of a message");
		} else if (flags & MSG_NOTIFICATION) {
			on_notification(p, (const union sctp_notification *)(void *)buf);
		} else {
			on_data(p, buf, (size_t)n, &r);
		}
	}
}

static void give_out(struct peer *p)
{
	struct speaker_out m;

	while (p->speaker && !p->over && speaker_next(p->speaker, &m)) {
		struct sctp_sndinfo info = { .snd_sid = m.stream,
					     .snd_flags = SCTP_UNORDERED,
					     .snd_ppid = htonl(m.ppid) };

		if (usrsctp_sendv(p->so, m.data, m.len, NULL, 0, &info, sizeof(info),
				  SCTP_SENDV_SNDINFO, 0) < 0) {
			if (errno != EWOULDBLOCK)
				fail(p, strerror(errno));
			return;
		}
		speaker_taken(p->speaker);
	}
}

static void go_on(struct peer *p)
{
	if (p->listener && !p->so) {
		p->so = usrsctp_accept(p->listener, NULL, NULL);
		if (p->so)
			watch(p, p->so);
	}
	if (!p->so)
		return;
	take_in(p);
	give_out(p);
	/* The end that opened the sessions ends the association. */
	if (!p->over && !p->shut && !p->o->listen && p->speaker && speaker_finished(p->speaker)) {
		p->shut = true;
		if (usrsctp_shutdown(p->so, SHUT_WR) < 0)
			die("shutdown");
	}
}

/* --- options ---------------------------------------------------------------------------------- */

enum {
	KEY_UDP_PORT = 0x100,
	KEY_PEER_UDP,
	KEY_PLAIN,
	KEY_FRAGMENTS,
	KEY_MULPDU,
	KEY_STAG,
	KEY_ASSOCIATIONS,
	KEY_SEED,
	KEY_BAD
};

/* clang-format off */
static const struct argp_option options[] = {
	{ "transport", 't', "NAME", 0, "raw, udp or conn", 0 },
	{ "listen", 'l', NULL, 0, "Serve", 0 },
	{ "associations", KEY_ASSOCIATIONS, "N", 0, "So many (default 1)", 0 },
	{ "bind", 'b', "ADDR", 0, "Listener's address (default 127.0.0.1)", 0 },
	{ "port", 'p', "PORT", 0, "SCTP port", 0 },
	{ "udp-port", KEY_UDP_PORT, "PORT", 0, "Ours", 0 },
	{ "peer-udp-port", KEY_PEER_UDP, "PORT", 0, "The other's (default 9899)", 0 },
	{ "streams", 'n', "N", 0, "Sessions (default 1)", 0 },
	{ "size", 's', "SIZE", 0, "Octets of a message, or of the buffer (default 64)", 0 },
	{ "stag", KEY_STAG, "HEX8", 0, "A listener's buffer", 0 },
	{ "mulpdu", KEY_MULPDU, "N", 0, "Octets of a segment (default 1200)", 0 },
	{ "fragments", KEY_FRAGMENTS, NULL, 0, "SCTP may cut messages", 0 },
	{ "seed", KEY_SEED, "N", 0, "Of inside", 0 },
	{ "bad", KEY_BAD, "N", 0, "Chances of inside's link, each, of a million", 0 },
	{ "plain", KEY_PLAIN, NULL, 0, "RFC 5043 without RFC 6581", 0 },
	{ "timeout", 'T', "TIME", 0, "For everything (default 30s)", 0 },
	{ 0 },
};
/* clang-format on */

static uint64_t number(const struct argp_state *state, const char *arg, uint64_t max)
{
	uint64_t v = 0;
	const char *why;

	if (iw_parse_size(&v, arg, 0, max, &why) < 0)
		argp_error(state, "\"%s\": %s", arg, why);
	return v;
}

static void set_peer(const struct argp_state *state, struct opts *o, const char *text)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)(void *)&o->peer;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(void *)&o->peer;

	o->peer.ss_family = strchr(text, ':') ? AF_INET6 : AF_INET;
	if (inet_pton(o->peer.ss_family, text,
		      o->peer.ss_family == AF_INET ? (void *)&v4->sin_addr
						   : (void *)&v6->sin6_addr) != 1)
		argp_error(state, "\"%s\": expected an address", text);
}

static void set_key(const struct argp_state *state, struct opts *o, const char *text)
{
	o->speaker.has_key = true;
	for (size_t i = 0; i < sizeof(o->speaker.key); i++)
		if (strlen(text) != 32 || sscanf(text + 2 * i, "%2hhx", &o->speaker.key[i]) != 1)
			argp_error(state, "\"%s\": expected 32 digits", text);
}

static void argument(const struct argp_state *state, struct opts *o, char *arg)
{
	switch (state->arg_num) {
	case 0:
		if (strcmp(arg, "ping") != 0 && strcmp(arg, "buffer") != 0)
			argp_error(state, "\"%s\": expected ping or buffer", arg);
		o->speaker.job = arg[0] == 'p' ? JOB_PING : JOB_BUFFER;
		break;
	case 1:
		set_peer(state, o, arg);
		break;
	case 2:
		if (o->speaker.job == JOB_PING)
			o->speaker.count = (uint32_t)number(state, arg, UINT32_MAX);
		else
			o->speaker.stag = (uint32_t)strtoul(arg, NULL, 16);
		break;
	case 3:
		set_key(state, o, arg);
		break;
	default:
		argp_error(state, "\"%s\": one argument too many", arg);
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct opts *o = state->input;
	const char *why;

	switch (key) {
	case 't':
		if (iw_parse_enum(&o->carrier, arg, carriers, CARRIERS, &why) < 0)
			argp_error(state, "\"%s\": %s", arg, why);
		return 0;
	case 'l':
		o->listen = true;
		return 0;
	case 'b':
		o->bind = arg;
		return 0;
	case 'p':
		o->port = (uint16_t)number(state, arg, UINT16_MAX);
		return 0;
	case KEY_UDP_PORT:
		o->udp_port = (uint16_t)number(state, arg, UINT16_MAX);
		return 0;
	case KEY_PEER_UDP:
		o->peer_udp_port = (uint16_t)number(state, arg, UINT16_MAX);
		return 0;
	case 'n':
		o->speaker.streams = (uint16_t)number(state, arg, UINT16_MAX);
		return 0;
	case 's':
		o->speaker.size = (uint32_t)number(state, arg, 256 << 20);
		return 0;
	case KEY_STAG:
		o->speaker.stag = (uint32_t)strtoul(arg, NULL, 16);
		return 0;
	case KEY_MULPDU:
		o->speaker.mulpdu = number(state, arg, 60000);
		return 0;
	case KEY_FRAGMENTS:
		o->fragments = true;
		return 0;
	case KEY_ASSOCIATIONS:
		o->associations = number(state, arg, UINT16_MAX);
		return 0;
	case KEY_SEED:
		o->seed = number(state, arg, UINT32_MAX);
		return 0;
	case KEY_BAD:
		o->bad = (uint32_t)number(state, arg, IW_LINK_ALL);
		return 0;
	case KEY_PLAIN:
		o->speaker.plain = true;
		return 0;
	case 'T':
		if (iw_parse_duration(&o->timeout_ns, arg, 1, IW_SEC(3600), &why) < 0)
			argp_error(state, "\"%s\": %s", arg, why);
		return 0;
	case ARGP_KEY_ARG:
		argument(state, o, arg);
		return 0;
	case ARGP_KEY_END:
		if (o->listen == (state->arg_num > 0) || (!o->listen && state->arg_num < 3) ||
		    !o->port)
			argp_error(state, "expected --port, and either --listen or what to do");
		if (o->listen)
			set_peer(state, o, o->bind);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* --- main ------------------------------------------------------------------------------------- */

/*
 * Opens a raw socket that receives nothing, until this program ends. If the receive buffers of all raw
 * sockets of a protocol are full, Linux answers a packet with ICMP "protocol unreachable" (seen with
 * 6.18), which the peer must treat as an ABORT. The buffer of this socket is never full.
 */
static void open_spare(int family)
{
	struct sock_filter none = BPF_STMT(BPF_RET | BPF_K, 0);
	const struct sock_fprog filter = { .len = 1, .filter = &none };
	int fd = socket(family, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_SCTP);

	/* A family that this machine does not have needs none. */
	if (fd < 0 && errno == EAFNOSUPPORT)
		return;
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) < 0)
		die("raw socket");
}

static void start(const struct opts *o)
{
	if (o->carrier >= CONN)
		usrsctp_init_nothreads(0, packet_out, NULL);
	else
		usrsctp_init(o->carrier == UDP ? o->udp_port : 0, NULL, NULL);
	if (o->carrier == RAW) {
		open_spare(AF_INET);
		open_spare(AF_INET6);
	}
	usrsctp_sysctl_set_sctp_no_csum_on_loopback(0);
}

static void finish(struct peer *p)
{
	/* usrsctp_finish() fails while a socket lingers; this program can exit without it. */
	if (p->so)
		usrsctp_close(p->so);
	if (p->listener)
		usrsctp_close(p->listener);
	for (int i = 0; i < 100 && usrsctp_finish() != 0; i++)
		wait_for(p);
	inside_free(p->inside);
}

static bool is_over(const struct peer *p)
{
	return p->over && (!p->inside || p->failed || inside_over(p->inside));
}

/* Serves one association to its end. */
static void one(struct peer *p)
{
	struct speaker_facts f = { 0 };
	uint64_t end = time_of(p) + p->o->timeout_ns;

	p->over = p->shut = false;
	p->part = UINT64_MAX;
	while (!is_over(p) && time_of(p) < IW_MIN(end, p->part)) {
		go_on(p);
		if (!is_over(p))
			wait_for(p);
	}
	if (p->speaker)
		speaker_facts(p->speaker, &f);
	if (!is_over(p) && p->part != UINT64_MAX) {
		lose(p, "no SHUTDOWN COMPLETE");
	} else if (!is_over(p)) {
		p->stalled = p->inside && inside_waits(p->inside, f.sent);
		fail(p, p->stalled ? "usrsctp keeps back what it was given" : "time ran out");
	}
	if (!p->speaker)
		p->failed = true;
	else if (!p->failed && !speaker_finished(p->speaker))
		fail(p, "the association ended before its sessions");
	printf("sessions %u rejected %u refused %u messages %" PRIu64 " octets %" PRIu64
	       " early %" PRIu64 "\n",
	       f.sessions, f.rejected, f.refused, f.messages, f.octets, f.early);
	fflush(stdout);
	speaker_free(p->speaker);
	p->speaker = NULL;
	p->streams = 0;
	p->adaptation = 0;
	if (p->listener && p->so) {
		usrsctp_close(p->so);
		p->so = NULL;
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "ping ADDR COUNT\nbuffer ADDR STAG [KEY]\n--listen"
	};
	static struct peer p;
	struct opts o = { .carrier = UDP,
			  .bind = "127.0.0.1",
			  .peer_udp_port = 9899,
			  .timeout_ns = IW_SEC(30),
			  .associations = 1,
			  .seed = 1,
			  .speaker = { .streams = 1, .count = 20, .size = 64, .mulpdu = 1200 } };

	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &o);
	o.speaker.buffer = calloc(1, o.speaker.size + 1);
	p.o = &o;
	p.wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	start(&o);
	begin(&p);
	for (uint64_t i = 0; i < o.associations && !p.failed; i++)
		one(&p);
	finish(&p);
	free(o.speaker.buffer);
	return p.stalled ? EXIT_STALLED : p.failed ? 1 : p.cut ? EXIT_CUT : 0;
}
