// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The carrier of Ethernet frames: forwards them between two interfaces. The ends are other
 * interfaces, each joined to one of these two, by a veth pair for example; this host has no address
 * on that network.
 *
 * Segmentation and checksum offload must be switched off on the interfaces of the ends, otherwise
 * they send data that is not a complete frame. Such data is dropped, and the exit status is 1, as
 * when the relay itself could not keep up.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/confine.h"
#include "cli/log.h"
#include "cli/signals.h"
#include "ddp-impair/impair.h"
#include "ddp-impair/lane.h"
#include "ddp-impair/packets/table.h"
#include "os/os.h"
#include "util/num.h"

enum {
	BATCH = 64,
	FRAME_MAX = 9216 + 18, /* jumbo frames, with a VLAN tag */
	SOCKET_BUFFER = 32 << 20,
};

/* One interface: frames that arrive here leave on the other side, through the lane of this side. */
struct side {
	const char *name;
	int fd;
	struct iw_relay_lane lane;
	uint64_t offloaded; /* arrived without a checksum, or larger than a frame can be */
	uint64_t overrun;   /* lost before this program received them */
	uint64_t refused;   /* rejected by the other interface */
};

struct frames {
	struct iw_relay *r;
	struct iw_flows *flows; /* NULL: there are no rules */
	struct side side[2];
};

/* --- frames in and out ------------------------------------------------------------------------ */

static void set_buffers(int fd)
{
	int size = SOCKET_BUFFER;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
}

static int open_socket(const char *name, struct iw_fault *why)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	struct packet_mreq all = { .mr_type = PACKET_MR_PROMISC };
	int fd, on = 1;

	at.sll_ifindex = all.mr_ifindex = (int)if_nametoindex(name);
	if (at.sll_ifindex == 0)
		return iw_os_fail(why, errno, "interface %s", name);
	/* The protocol is 0, so that the socket receives nothing until it is bound to its
	 * interface. */
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return iw_os_fail(why, errno, "--between: packet socket (needs CAP_NET_RAW)");
	/* Do not receive the frames that this program sends. */
	if (setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all)) < 0 ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0) {
		iw_os_fail(why, errno, "packet socket on %s", name);
		close(fd);
		return why->err;
	}
	set_buffers(fd);
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

static void take_frame(struct frames *f, struct side *s, uint8_t *frame, size_t len, uint64_t now)
{
	struct iw_fate fate;
	uint64_t flow;

	if (!f->flows) {
		iw_link_push(s->lane.link, frame, len, now);
		return;
	}
	flow = iw_flows_frame(f->flows, frame, len, now, &fate);
	iw_reorder_push(&s->lane.order, flow, frame, fate.len, &fate, now);
}

static int take_in(struct frames *f, struct side *s, struct iw_fault *why)
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
			take_frame(f, s, buffer[i], msg[i].msg_len, now);
		else
			s->offloaded++;
	}
	return 0;
}

/* Sends frames; one that the interface rejects is lost, as on a wire. */
static void send_frames(struct side *s, int fd, struct mmsghdr *msg, int n)
{
	int sent;

	for (int done = 0; done < n; done += sent) {
		sent = sendmmsg(fd, msg + done, (unsigned)(n - done), 0);
		if (sent <= 0) {
			s->refused++;
			sent = 1;
		}
	}
}

/* Sends the frames that are due on the other side. */
static void give_out(struct frames *f, struct side *s, const struct side *other)
{
	struct iw_link_frame *frames[BATCH];
	struct mmsghdr msg[BATCH];
	struct iovec iov[BATCH];
	uint64_t now = iw_os_now();
	int n;

	iw_reorder_tick(&s->lane.order, now);
	do {
		for (n = 0; n < BATCH && (frames[n] = iw_link_pop(s->lane.link, now)); n++) {
			iov[n] = (struct iovec){ (void *)(uintptr_t)frames[n]->data,
						 frames[n]->len };
			msg[n].msg_hdr = (struct msghdr){ .msg_iov = &iov[n], .msg_iovlen = 1 };
		}
		send_frames(s, other->fd, msg, n);
		for (int i = 0; i < n; i++) {
			if (f->r->tap)
				iw_tap_frame(f->r->tap, frames[i]->data, frames[i]->len);
			iw_link_put(s->lane.link, frames[i]);
		}
	} while (n == BATCH);
}

static int wait_for(const struct frames *f, struct iw_fault *why)
{
	const struct side *side = f->side;
	struct pollfd fds[] = { { .fd = side[0].fd, .events = POLLIN },
				{ .fd = side[1].fd, .events = POLLIN },
				{ .fd = iw_signals_fd(), .events = POLLIN } };
	uint64_t at = IW_MIN(f->r->end_ns, IW_MIN(iw_relay_lane_deadline(&side[0].lane),
						  iw_relay_lane_deadline(&side[1].lane)));
	uint64_t now = iw_os_now(), left = at > now ? at - now : 0;
	struct timespec time = { (time_t)(left / IW_SEC(1)), (long)(left % IW_SEC(1)) };

	if (ppoll(fds, IW_ARRAY_LEN(fds), at == IW_TIME_NEVER ? NULL : &time, NULL) < 0 &&
	    errno != EINTR)
		return iw_os_fail(why, errno, "poll");
	return 0;
}

static int relay(struct frames *f, struct iw_fault *why)
{
	int err = 0;

	while (!err && !iw_signals_stop() && iw_os_now() < f->r->end_ns) {
		for (int i = 0; i < 2 && !err; i++)
			err = take_in(f, &f->side[i], why);
		for (int i = 0; i < 2; i++)
			give_out(f, &f->side[i], &f->side[!i]);
		if (!err)
			err = wait_for(f, why);
	}
	return err;
}

/* --- begin and end ---------------------------------------------------------------------------- */

static int open_sides(struct frames *f, struct iw_fault *why)
{
	struct iw_flow_cfg cfg = iw_relay_flow_cfg(f->r);
	int err = 0;

	if (f->r->need_units && iw_flows_new(&f->flows, &cfg) < 0)
		return iw_fail(why, IW_E_NOMEM, "out of memory");
	for (int i = 0; i < 2 && !err; i++) {
		struct side *s = &f->side[i];

		s->name = f->r->between[i];
		s->fd = open_socket(s->name, why);
		err = s->fd < 0 ? why->err : iw_relay_lane_init(&s->lane, &f->r->link[i], why);
	}
	return err ? err : iw_confine_plain(f->r->cli, IW_CONFINE_LISTENS, why);
}

/* Returns whether the link did exactly what the options say. */
static bool was_sound(struct side *s)
{
	struct tpacket_stats kernel = { 0 };
	socklen_t len = sizeof(kernel);
	bool slow;

	if (getsockopt(s->fd, SOL_PACKET, PACKET_STATISTICS, &kernel, &len) == 0)
		s->overrun = kernel.tp_drops;
	slow = s->overrun || s->refused || iw_link_stat(s->lane.link)->hold_full;
	if (s->offloaded)
		iw_log_error("%s: %" PRIu64
			     " of what came are no frames yet: switch offloads off at the"
			     " other end of it (ethtool -K IF tso off gso off tx off)",
			     s->name, s->offloaded);
	if (slow)
		iw_log_error("%s: the relay did not keep up", s->name);
	return !s->offloaded && !slow;
}

static int report(struct frames *f)
{
	const struct iw_relay_count flows[] = {
		{ "connections", f->flows ? iw_flows_count(f->flows) : 0 },
		{ "missed", f->flows ? iw_flows_missed(f->flows) : 0 },
		{ NULL, 0 },
	};
	bool sound = true;
	int err = 0;

	for (int i = 0; i < 2; i++)
		sound = was_sound(&f->side[i]) && sound;
	for (int i = 0; i < 2 && !err; i++) {
		struct side *s = &f->side[i];
		const struct iw_relay_count counts[] = { { "offloaded", s->offloaded },
							 { "overrun", s->overrun },
							 { "refused", s->refused },
							 { NULL, 0 } };

		err = iw_relay_report(f->r, &s->lane, s->name, f->side[!i].name, counts);
	}
	return err ? IW_EXIT_FAILED : iw_relay_report_end(f->r, flows, sound);
}

int iw_relay_frames(struct iw_relay *r)
{
	static struct frames f;
	struct iw_fault why = { 0 };
	int err, status;

	f = (struct frames){ .r = r, .side = { { .fd = -1 }, { .fd = -1 } } };
	/* Delays must be exact: the default timer slack would add 50 us. */
	(void)prctl(PR_SET_TIMERSLACK, 1UL);
	err = open_sides(&f, &why);
	if (!err) {
		if (!r->cli->quiet)
			fprintf(stderr, "%s: relaying between %s and %s\n", r->cli->tool,
				r->between[0], r->between[1]);
		err = relay(&f, &why);
	}
	status = err ? iw_cli_fail(r->cli, &why) : report(&f);
	for (int i = 0; i < 2; i++) {
		iw_relay_lane_fini(&f.side[i].lane);
		if (f.side[i].fd >= 0)
			close(f.side[i].fd);
	}
	iw_flows_free(f.flows);
	return status;
}
