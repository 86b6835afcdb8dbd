// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Opens many SCTP associations to one listener, from one UDP socket (RFC 6951). Each has a port of
 * its own and a DDP stream session on its first stream. All are held until the program is
 * interrupted.
 *
 *   crowd ADDR PORT UDP-PORT N < PRIVATE-DATA
 *
 * The octets on standard input are the Private Data of each Initiate. Prints "held N" when N
 * sessions are accepted. If no further one is accepted for 40 seconds, prints how many are, and
 * exits with 1.
 *
 * Over loopback the listener sends a path MTU probe of 64 KiB on each association. A default
 * receive buffer (208 KiB) holds three; packets that arrive after them are lost. Therefore the
 * socket has a large buffer. If the system limits the buffer, T1 has time to retransmit a COOKIE
 * ECHO after 1, 2, 4, 8 and 16 seconds.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/signals.h"
#include "os/os.h"
#include "os/sock.h"
#include "program.h"
#include "sctp/sctp.h"
#include "util/num.h"
#include "wire/sctpddp.h"

enum {
	PORT_FIRST = 10000,
	MEMBERS_MAX = 50000,
	AT_ONCE = 64,
	MTU = 1400,
	LATE_S = 40,
	RCVBUF = 8 << 20
};

struct member {
	struct iw_sctp *s;
	struct iw_sctp_assoc *a;
	bool accepted;
};

struct crowd {
	int fd;
	uint16_t port;
	struct iw_sctp_addr listener;
	uint8_t initiate[IW_SCTP_PD_MAX + 4];
	size_t initiate_len;
	struct member *member;
	uint32_t wanted, begun, accepted, lost;
};

static int randomness(void *ctx, void *buf, size_t len)
{
	(void)ctx;
	return iw_os_random(buf, len);
}

/* --- one association -------------------------------------------------------------------------- */

static void give_out(const struct crowd *c, struct member *m, uint64_t now)
{
	struct iw_sctp_packet p;
	uint8_t packet[MTU];
	size_t n;

	/* A packet that the kernel refuses is lost, as on any network. */
	while ((n = iw_sctp_output(m->s, packet, sizeof(packet), &p, now)) > 0)
		(void)!send(c->fd, packet, n, 0);
}

static void take_events(struct crowd *c, struct member *m)
{
	const struct iw_vec octets = { c->initiate, c->initiate_len };
	const struct iw_sctp_send initiate = {
		.ppid = IW_SCTP_PPID_CONTROL, .vec = &octets, .nvec = 1, .copy = true
	};
	struct iw_sctp_event ev;
	struct iw_sctp_done done;

	while (iw_sctp_next_event(m->s, &ev)) {
		if (ev.kind == IW_SCTP_EV_UP && iw_sctp_send(m->a, &initiate, NULL) < 0)
			die("send", "refused");
		if (ev.kind == IW_SCTP_EV_DONE)
			while (iw_sctp_next_done(m->a, &done))
				continue;
		if (ev.kind == IW_SCTP_EV_DOWN) {
			c->lost++;
			iw_sctp_assoc_free(m->a);
			m->a = NULL;
		}
	}
}

static void begin(struct crowd *c, uint64_t now)
{
	struct member *m = &c->member[c->begun];
	const struct iw_sctp_cfg cfg = { .mem = &iw_os_heap,
					 .random = randomness,
					 .port = (uint16_t)(PORT_FIRST + c->begun),
					 .streams = 1,
					 .adaptation = IW_SCTP_ADAPTATION_DDP,
					 .adaptation_required = true,
					 .rwnd = 1 << 16,
					 .mtu = MTU,
					 .assocs_max = 1 };
	struct iw_fault why;

	if (iw_sctp_new(&m->s, &cfg, &why) < 0)
		die("association", why.text);
	if (iw_sctp_connect(m->s, &m->a, &c->listener, c->port, NULL, now) < 0)
		die("association", "cannot be set up");
	c->begun++;
	give_out(c, m, now);
}

static void take_in(struct crowd *c, const uint8_t *packet, size_t len, uint64_t now)
{
	const struct iw_sctp_packet p = { .peer = c->listener, .data = packet, .len = len };
	struct iw_sctp_control said;
	struct iw_sctp_recv msg;
	struct member *m;
	unsigned i;

	if (len < 4)
		return;
	i = iw_get_be16(packet + 2) - PORT_FIRST;
	if (i >= c->begun)
		return;
	m = &c->member[i];
	iw_sctp_input(m->s, &p, now);
	while (iw_sctp_next(m->s, &msg)) {
		if (m->accepted || msg.ppid != IW_SCTP_PPID_CONTROL ||
		    iw_wire_sctp_control_decode(&said, msg.data, msg.len) <= 0)
			continue;
		m->accepted = said.fn == IW_SCTP_FN_ACCEPT;
		c->accepted += m->accepted;
	}
	take_events(c, m);
	give_out(c, m, now);
}

/* --- all associations ------------------------------------------------------------------------- */

static void read_packets(struct crowd *c)
{
	static uint8_t packet[1 << 16];
	ssize_t n;

	while ((n = recv(c->fd, packet, sizeof(packet), MSG_DONTWAIT)) >= 0)
		take_in(c, packet, (size_t)n, iw_os_now());
}

static void look_at_clock(struct crowd *c, uint64_t now)
{
	for (uint32_t i = 0; i < c->begun; i++) {
		struct member *m = &c->member[i];

		if (iw_sctp_deadline(m->s) > now)
			continue;
		iw_sctp_timeout(m->s, now);
		take_events(c, m);
		give_out(c, m, now);
	}
}

static bool gather(struct crowd *c)
{
	struct pollfd fds[] = { { .fd = c->fd, .events = POLLIN },
				{ .fd = iw_signals_fd(), .events = POLLIN } };
	uint64_t late = iw_os_now() + IW_SEC(LATE_S), now;
	uint32_t before = 0;

	while (c->accepted < c->wanted && !c->lost && !iw_signals_stop()) {
		now = iw_os_now();
		if (c->accepted > before)
			late = now + IW_SEC(LATE_S);
		else if (now > late)
			break;
		before = c->accepted;
		while (c->begun < c->wanted && c->begun - c->accepted < AT_ONCE)
			begin(c, now);
		(void)poll(fds, IW_ARRAY_LEN(fds), 100);
		read_packets(c);
		look_at_clock(c, iw_os_now());
	}
	printf("held %" PRIu32 "\n", c->accepted);
	fflush(stdout);
	if (c->lost)
		fprintf(stderr, "crowd: %" PRIu32 " were lost while the others began\n", c->lost);
	else if (iw_os_now() > late)
		fprintf(stderr, "crowd: %" PRIu32 " were not accepted within %d s\n",
			c->begun - c->accepted, LATE_S);
	return c->accepted == c->wanted;
}

/* Keeps the associations up: they answer heartbeats, and none may be lost. */
static bool stay(struct crowd *c)
{
	struct pollfd fds[] = { { .fd = c->fd, .events = POLLIN },
				{ .fd = iw_signals_fd(), .events = POLLIN } };

	while (!iw_signals_stop() && !c->lost) {
		(void)poll(fds, IW_ARRAY_LEN(fds), 1000);
		read_packets(c);
		look_at_clock(c, iw_os_now());
	}
	if (c->lost)
		fprintf(stderr, "crowd: %" PRIu32 " were lost\n", c->lost);
	return !c->lost;
}

static void part(struct crowd *c)
{
	for (uint32_t i = 0; i < c->begun; i++) {
		if (c->member[i].a)
			iw_sctp_abort(c->member[i].a, NULL, iw_os_now());
		give_out(c, &c->member[i], iw_os_now());
		iw_sctp_free(c->member[i].s);
	}
}

int main(int argc, char **argv)
{
	static struct crowd c;
	struct sockaddr_in at = { .sin_family = AF_INET };
	struct iw_sctp_control initiate = { .fn = IW_SCTP_FN_INITIATE };
	uint8_t pd[IW_SCTP_PD_MAX];
	struct iw_fault why;
	ssize_t n;
	bool good;

	if (argc != 5 || inet_pton(AF_INET, argv[1], &at.sin_addr) != 1) {
		fprintf(stderr, "usage: crowd ADDR PORT UDP-PORT N <PRIVATE-DATA\n");
		return PROGRAM_USAGE;
	}
	c.port = (uint16_t)number(argv[2], UINT16_MAX);
	at.sin_port = htons((uint16_t)number(argv[3], UINT16_MAX));
	c.wanted = (uint32_t)number(argv[4], MEMBERS_MAX);
	n = read(STDIN_FILENO, pd, sizeof(pd));
	if (n < 0 || iw_signals_init(&why) < 0)
		die("begin", n < 0 ? strerror(errno) : why.text);
	initiate.pd = pd;
	initiate.pd_len = (size_t)n;
	c.initiate_len =
		(size_t)iw_wire_sctp_control_encode(c.initiate, sizeof(c.initiate), &initiate);

	c.listener = (struct iw_sctp_addr){ .ip = { [10] = 0xff, [11] = 0xff } };
	memcpy(c.listener.ip + 12, &at.sin_addr, 4);
	c.listener.udp_port = ntohs(at.sin_port);
	c.member = calloc(c.wanted, sizeof(*c.member));
	c.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (!c.member || c.fd < 0 || connect(c.fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    iw_sock_set_buffers(c.fd, 0, RCVBUF) < 0)
		die("UDP socket", strerror(errno));
	good = gather(&c) && stay(&c);
	part(&c);
	free(c.member);
	close(c.fd);
	return good ? 0 : 1;
}
